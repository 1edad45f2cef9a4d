/* SPDX-License-Identifier: MIT
 *
 * Keys, whose runs start one after the other, and deletions.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "store/conformance/conformance.h"
#include "store/conformance/conformance_mail.h"

/* ---- S22: keys ---------------------------------------------------------- */

static int32_t
number_of(mail_scene *it, const char *user_id, const char *key)
{
    int32_t number = -1;

    assert_ok(conformance_chain(it->db->driver)
                  ->key(it->db->self, user_id, key, &number));
    return number;
}

static cascade_change *
keyed_start(mail_scene *it, const char *key, int32_t run_number)
{
    cascade_change *start = rows_start(it->rows, rows_id(it->rows));

    start->key = key;
    start->run_number = run_number;
    return start;
}

/* Submits a start; whether it counted as existing. */
static bool
existed(mail_scene *it, cascade_change *start)
{
    bool told = false;

    assert_ok(db_submit(it->db, &start, 1, &told));
    return told;
}

static bool
is_there(mail_scene *it, const cascade_change *start)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char *picture = db_picture(it->db);
    bool found =
        strstr(picture,
               rows_text(it->rows, "cascade %s",
                         cascade_uuid_format(&start->cascade.id, id))) != NULL;

    csc_mem_free(picture);
    return found;
}

/* S22: the first run writes no row; from the second on there is one. */
static void
runs_of_a_key_start_one_after_the_other(void **state)
{
    mail_scene it = mail_begin(*state);

    assert_int_equal(number_of(&it, "user", "a"), 1);
    for (int32_t number = 1; number <= 4; number++) {
        cascade_change *start = keyed_start(&it, "a", number);

        assert_false(existed(&it, start));
        assert_true(is_there(&it, start));
        assert_int_equal(number_of(&it, "user", "a"), number);
    }
    assert_int_equal(number_of(&it, "user", "b"), 1);
}

/* S22: too early, too late. */
static void
a_start_that_is_not_the_next_run_counts_as_existing(void **state)
{
    static const int32_t wrong[] = {1, 2, 3, 5, 6, 1000000, INT32_MAX};
    mail_scene it = mail_begin(*state);
    cascade_change *start = keyed_start(&it, "a", 3);
    char *picture;

    assert_true(existed(&it, start));
    assert_false(is_there(&it, start));
    for (int32_t number = 1; number <= 3; number++)
        assert_false(existed(&it, keyed_start(&it, "a", number)));
    picture = db_picture(it.db);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_true(existed(&it, keyed_start(&it, "a", wrong[i])));
    db_assert_unchanged(it.db, picture);
    assert_false(existed(&it, keyed_start(&it, "a", 4)));
}

/* S22: the second may be the first that says its key. */
static void
the_second_run_of_a_key_needs_no_row(void **state)
{
    mail_scene it = mail_begin(*state);

    assert_false(existed(&it, keyed_start(&it, "a", 2)));
    assert_int_equal(number_of(&it, "user", "a"), 2);
    assert_true(existed(&it, keyed_start(&it, "a", 1)));
    assert_true(existed(&it, keyed_start(&it, "a", 2)));
    assert_false(existed(&it, keyed_start(&it, "a", 3)));
}

/* S6: also when the key has gone on, and with other starts of its number. */
static void
a_repeated_start_of_a_key_is_recognised(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_change *starts[4];
    char *picture;

    for (int32_t i = 0; i < 4; i++) {
        starts[i] = keyed_start(&it, "a", i + 1);
        assert_false(existed(&it, starts[i]));
        assert_false(existed(&it, starts[i]));
    }
    picture = db_picture(it.db);
    for (int i = 0; i < 4; i++) {
        cascade_change *twin = keyed_start(&it, "a", i + 1);

        assert_false(existed(&it, starts[i]));
        twin->cascade.id = starts[i]->cascade.id;
        assert_true(existed(&it, twin));
    }
    db_assert_unchanged(it.db, picture);
}

/* S3: a repeated batch tells the same as the first time, when other starts have
 * moved the key on. */
static void
a_repeated_batch_tells_the_same_of_its_keys(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_change *changes[3] = {keyed_start(&it, "a", 2),
                                  keyed_start(&it, "b", 3),
                                  keyed_start(&it, "c", 1)};
    const cascade_uuid wrong = changes[1]->cascade.id;
    cascade_change *sorted = rows_changes(it.rows, changes, 3);
    bool told[3];

    for (int round = 0; round < 3; round++) {
        memset(told, 0x55, sizeof(told));
        assert_ok(db_commit(it.db, it.engine, 0, 1, changes, 3, told));
        for (int i = 0; i < 3; i++)
            assert_int_equal(told[i],
                             csc_uuid_equal(&sorted[i].cascade.id, &wrong));
        assert_false(existed(&it, keyed_start(&it, "a", 3 + round)));
        assert_false(existed(&it, keyed_start(&it, "b", 2 + round)));
    }
    assert_int_equal(number_of(&it, "user", "a"), 5);
    assert_int_equal(number_of(&it, "user", "b"), 4);
}

/* S6, S22: what is beside it in the batch starts all the same. */
static void
a_start_that_is_not_the_next_run_keeps_no_neighbour(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_change *changes[4] = {
        keyed_start(&it, "a", 4), keyed_start(&it, "b", 2),
        rows_start(it.rows, rows_id(it.rows)), rows_write(it.rows, id, 7)};

    rows_send(it.rows, changes[0], rows_message(it.rows, id, "p"));
    rows_send(it.rows, changes[1], rows_message(it.rows, id, "q"));
    assert_ok(db_commit(it.db, it.engine, 0, it.number + 1, changes, 4, NULL));
    assert_false(is_there(&it, changes[0]));
    assert_true(is_there(&it, changes[1]));
    assert_true(is_there(&it, changes[2]));
    assert_int_equal(number_of(&it, "user", "a"), 1);
    assert_int_equal(number_of(&it, "user", "b"), 2);
    assert_int_equal(mail_receive(&it, 10).count, 1);
}

/* S2, S5, S22. */
static void
a_refused_batch_leaves_the_keys_alone(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_change *changes[3];
    char *picture;

    assert_false(existed(&it, keyed_start(&it, "a", 2)));
    for (int i = 0; i < 4; i++) {
        changes[0] = keyed_start(&it, "a", 3);
        changes[1] = keyed_start(&it, "b", 2);
        changes[2] = rows_write(it.rows, rows_id(it.rows), 1);
        picture = db_picture(it.db);
        assert_fails(CASCADE_ERR_REFUSED,
                     db_commit(it.db, it.engine, 0, 1, changes, 3, NULL));
        db_assert_unchanged(it.db, picture);
    }
    assert_false(existed(&it, keyed_start(&it, "a", 3)));
    assert_false(existed(&it, keyed_start(&it, "b", 2)));
}

/* S18: neither do users share keys, nor do texts run into one another. */
static void
keys_of_any_content_are_kept_apart(void **state)
{
    static const char *const texts[][2] = {
        {"user", "a"},  {"usera", ""},         {"", "usera"},
        {"use", "ra"},  {"1:user", "a"},       {"user", "'; DROP TABLE x; --"},
        {"User", "a"},  {"user", "%"},         {"user", "\xc3\xa4\n\t\x01"},
        {"user", "a "}, {"user", "\"$1\" ?1"}, {"user", "NULL"},
    };
    enum {
        COUNT = sizeof(texts) / sizeof(texts[0])
    };
    mail_scene it = mail_begin(*state);

    for (int i = 0; i < COUNT; i++) {
        for (int32_t number = 1; number <= 2 + i; number++) {
            cascade_change *start = keyed_start(&it, texts[i][1], number);

            start->cascade.user_id = texts[i][0];
            assert_false(existed(&it, start));
        }
    }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(number_of(&it, texts[i][0], texts[i][1]), 2 + i);
}

/* ---- S21: deletions ----------------------------------------------------- */

static cascade_change *
deletion(mail_scene *it, cascade_uuid id)
{
    cascade_change *change = rows_write(it->rows, id, 0);

    change->run_action = CASCADE_RUN_DELETE;
    return change;
}

/* S21: nothing is left, and all that was taken is free again. */
static void
a_deletion_leaves_no_row(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid neighbour = mail_own(&it);
    cascade_uuid id = rows_id(it.rows);
    cascade_change *start = rows_start(it.rows, id);
    char *before;

    assert_int_equal(mail_send_path(&it, neighbour, "n"), CASCADE_SENT);
    rows_insert(it.rows, start, 1, "second");
    rows_event(it.rows, start, 0, "key", "1");
    rows_event(it.rows, start, 1, "key", "2");
    before = db_picture(it.db);
    for (int round = 0; round < 3; round++) {
        assert_ok(db_submit_one(it.db, start));
        assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
        assert_int_equal(mail_send_path(&it, id, "q"), CASCADE_SENT);
        assert_ok(mail_write(&it, deletion(&it, id)));
        db_assert_unchanged(it.db, before);
        before = db_picture(it.db);
        assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT_ABSENT);
    }
    assert_int_equal(mail_send_path(&it, neighbour, "p"), CASCADE_SENT);
    csc_mem_free(before);
}

/* S21: an ended one, an owned one, and one that a message made claimable. */
static void
a_deletion_takes_a_cascade_in_any_state(void **state)
{
    mail_scene it = mail_begin(*state);
    mail_scene other = mail_begin(*state);
    cascade_uuid ids[4] = {mail_own(&it), mail_own(&it), mail_own(&it),
                           mail_own(&other)};
    cascade_change *changes[4];
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};

    assert_ok(mail_end(&it, ids[0], CASCADE_COMPLETED));
    assert_ok(mail_end(&it, ids[1], CASCADE_ERROR));
    assert_int_equal(mail_send_path(&it, ids[1], "p"), CASCADE_SENT_ENDED);
    assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
    assert_int_equal(result.count, 1);
    for (int i = 0; i < 4; i++)
        changes[i] = deletion(&it, ids[i]);
    assert_ok(db_commit(it.db, it.engine, 0, ++it.number, changes, 4, NULL));
    for (int i = 0; i < 4; i++)
        assert_false(is_there(&it, changes[i]));
    assert_int_equal(mail_receive(&it, 10).count, 0);
    assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
    assert_int_equal(result.count, 0);
    assert_false(result.messages);
    assert_ok(it.db->driver->detach(it.db->self, &it.engine));
    assert_ok(db_claim(it.db, other.engine, "default", 10, claimed, &result));
    assert_int_equal(result.count, 0);
}

/* Of what is gone, or never was; and a batch that is repeated, S3. */
static void
a_deletion_of_what_is_gone_is_no_error(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_change *change = deletion(&it, id);
    char *picture;

    assert_ok(mail_write(&it, change));
    picture = db_picture(it.db);
    assert_ok(db_commit_one(it.db, it.engine, it.number, change));
    assert_ok(mail_write(&it, change));
    assert_ok(mail_write(&it, deletion(&it, rows_id(it.rows))));
    db_assert_unchanged(it.db, picture);
}

/* S3: nor does a repeated deletion take what was started since. */
static void
a_repeated_deletion_spares_a_later_start(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_change *change = deletion(&it, id);
    char *picture;

    assert_ok(mail_write(&it, change));
    assert_ok(db_submit_one(it.db, rows_start(it.rows, id)));
    picture = db_picture(it.db);
    assert_ok(db_commit_one(it.db, it.engine, it.number, change));
    db_assert_unchanged(it.db, picture);
}

/* S2, S5. */
static void
a_refused_batch_deletes_nothing(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_uuid free_one = rows_id(it.rows);
    cascade_change *changes[3];
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};
    char *picture;

    assert_ok(db_submit_one(it.db, rows_start(it.rows, free_one)));
    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
    assert_int_equal(mail_send_path(&it, free_one, "q"), CASCADE_SENT);
    picture = db_picture(it.db);
    for (int i = 0; i < 4; i++) {
        changes[0] = deletion(&it, id);
        changes[1] = deletion(&it, free_one);
        changes[2] = rows_write(it.rows, rows_id(it.rows), 1);
        assert_fails(
            CASCADE_ERR_REFUSED,
            db_commit(it.db, it.engine, 0, it.number + 1, changes, 3, NULL));
    }
    db_assert_unchanged(it.db, picture);
    assert_int_equal(mail_receive(&it, 10).count, 1);
    assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_memory_equal(&claimed[0].cascade_id, &free_one, sizeof(free_one));
}

/* S21, S22: the key goes on where it was. */
static void
a_deletion_keeps_the_key(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_change *start = keyed_start(&it, "a", 2);

    assert_false(existed(&it, start));
    assert_ok(mail_write(&it, deletion(&it, start->cascade.id)));
    assert_int_equal(number_of(&it, "user", "a"), 2);
    assert_true(existed(&it, start));
    assert_false(is_there(&it, start));
    assert_false(existed(&it, keyed_start(&it, "a", 3)));
}

conformance_group
conformance_keys(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_a_key_start_one_after_the_other),
        cmocka_unit_test(a_start_that_is_not_the_next_run_counts_as_existing),
        cmocka_unit_test(the_second_run_of_a_key_needs_no_row),
        cmocka_unit_test(a_repeated_start_of_a_key_is_recognised),
        cmocka_unit_test(a_repeated_batch_tells_the_same_of_its_keys),
        cmocka_unit_test(a_start_that_is_not_the_next_run_keeps_no_neighbour),
        cmocka_unit_test(a_refused_batch_leaves_the_keys_alone),
        cmocka_unit_test(keys_of_any_content_are_kept_apart),
        cmocka_unit_test(a_deletion_leaves_no_row),
        cmocka_unit_test(a_deletion_takes_a_cascade_in_any_state),
        cmocka_unit_test(a_deletion_of_what_is_gone_is_no_error),
        cmocka_unit_test(a_repeated_deletion_spares_a_later_start),
        cmocka_unit_test(a_refused_batch_deletes_nothing),
        cmocka_unit_test(a_deletion_keeps_the_key),
    };

    return (conformance_group){"keys", tests, sizeof(tests) / sizeof(tests[0])};
}
