/* SPDX-License-Identifier: MIT
 *
 * Deletions of cascades that are too large for one commit: they are marked, and
 * what is left is erased piece by piece.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "store/conformance/conformance.h"
#include "store/conformance/conformance_mail.h"

#define LARGE 1300 /* executions, and events */
#define PIECES (2 + LARGE / CASCADE_DELETE_ROWS_MAX)
#define PIECES_MAX (3 + 2 * LARGE / CASCADE_ERASE_ROWS_MIN)

/* In portions, as engines do. */
static cascade_uuid
start_large(mail_scene *it)
{
    cascade_uuid id = mail_own(it);
    int32_t next = 1;

    while (next < LARGE) {
        cascade_change *change = rows_write(it->rows, id, 0);

        for (int i = 0; i < 400 && next < LARGE; i++, next++) {
            rows_insert(it->rows, change, next, "large");
            rows_event(it->rows, change, next % 100, "key", "1");
        }
        change->cascade.fn_id = next - 1;
        assert_ok(mail_write(it, change));
    }
    return id;
}

static cascade_change *
deletion(mail_scene *it, cascade_uuid id)
{
    cascade_change *change = rows_write(it->rows, id, 0);

    change->run_action = CASCADE_RUN_DELETE;
    return change;
}

/* Commits the next batch, and the same once more, which tells the same. */
static bool
delete_twice(mail_scene *it, cascade_uuid id)
{
    cascade_change *change = deletion(it, id);
    bool marked = false;
    bool again = false;

    it->number++;
    assert_ok(
        db_commit(it->db, it->engine, 0, it->number, &change, 1, &marked));
    assert_ok(db_commit(it->db, it->engine, 0, it->number, &change, 1, &again));
    assert_int_equal(marked, again);
    return marked;
}

static cascade_uuid
mark_large(mail_scene *it)
{
    cascade_uuid id = start_large(it);

    assert_true(delete_twice(it, id));
    return id;
}

static bool
erase(mail_scene *it, const cascade_uuid *engine_id)
{
    bool more = false;

    assert_ok(conformance_manage(it->db->driver)
                  ->erase(it->db->self, engine_id, &more));
    return more;
}

/* How many pieces there were. */
static size_t
erase_all(mail_scene *it, const cascade_uuid *engine_id)
{
    size_t pieces = 1;
    cascade_totals totals;

    while (erase(it, engine_id))
        assert_true(++pieces < 2 * PIECES_MAX);
    assert_ok(
        conformance_manage(it->db->driver)->totals(it->db->self, &totals));
    assert_int_equal(totals.erasing, 0);
    return pieces;
}

static bool
is_taken(mail_scene *it, cascade_change *start)
{
    bool told = false;

    assert_ok(db_submit(it->db, &start, 1, &told));
    return told;
}

/* S39, S40, S41: to the eye it is gone with the first commit; its rows go in
 * pieces, and only when they have is its id free. */
static void
a_large_deletion_is_marked_and_erased(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid neighbour = mail_own(&it);
    char *picture = db_picture(it.db);
    cascade_uuid id = mark_large(&it);
    cascade_change *start = rows_start(it.rows, id);

    (void)neighbour;
    db_assert_unchanged(it.db, picture);
    picture = db_picture(it.db);
    assert_true(is_taken(&it, start));
    assert_in_range(erase_all(&it, &it.engine), PIECES, PIECES_MAX);
    assert_false(delete_twice(&it, id));
    assert_false(erase(&it, &it.engine));
    db_assert_unchanged(it.db, picture);
    assert_false(is_taken(&it, start));
}

/* S39: what fits into one commit is not marked. */
static void
a_small_deletion_leaves_nothing_to_be_erased(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);

    assert_false(delete_twice(&it, id));
    assert_false(erase(&it, NULL));
    assert_false(is_taken(&it, rows_start(it.rows, id)));
}

/* S39: the bound is that of the batch. */
static void
deletions_of_one_batch_share_its_bound(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid first = start_large(&it);
    cascade_uuid second = start_large(&it);
    cascade_change *changes[] = {deletion(&it, first), deletion(&it, second)};
    bool marked[2] = {false, false};

    assert_ok(db_commit(it.db, it.engine, 0, ++it.number, changes, 2, marked));
    assert_true(marked[0]);
    assert_true(marked[1]);
    assert_in_range(erase_all(&it, &it.engine),
                    2 * LARGE / CASCADE_DELETE_ROWS_MAX, 2 * PIECES_MAX);
    assert_false(is_taken(&it, rows_start(it.rows, first)));
    assert_false(is_taken(&it, rows_start(it.rows, second)));
}

/* ---- What is marked is absent -------------------------------------------- */

static cascade_err
fail_execution(void *context, const cascade_execution_row *row)
{
    (void)context;
    (void)row;
    return cascade_store_fail(CASCADE_ERR_CORRUPT, "an execution is given");
}

static cascade_err
fail_event(void *context, const cascade_event_row *row)
{
    (void)context;
    (void)row;
    return cascade_store_fail(CASCADE_ERR_CORRUPT, "an event is given");
}

static cascade_err
fail_cascade(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return cascade_store_fail(CASCADE_ERR_CORRUPT, "a cascade is given");
}

static cascade_err
fail_message(void *context, const cascade_message_row *row, bool repeated)
{
    (void)context;
    (void)row;
    (void)repeated;
    return cascade_store_fail(CASCADE_ERR_CORRUPT, "a message is given");
}

static cascade_err
fail_listed(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)run;
    return fail_cascade(context, row);
}

static const cascade_load_sink nothing = {.on_cascade = fail_cascade,
                                          .on_execution = fail_execution,
                                          .on_event = fail_event,
                                          .on_message = fail_message};

static void
check_scans(conformance_db *db, const cascade_uuid *id)
{
    const cascade_scan scans[] = {
        {.cascade_id = id, .limit = 10},
        {.cascade_id = id, .running_only = true, .limit = 10},
        {.cascade_id = id, .events = true, .limit = 10},
        {.limit = 10},
        {.running_only = true, .limit = 10}};

    for (size_t i = 0; i < sizeof(scans) / sizeof(scans[0]); i++)
        assert_ok(db->driver->scan(db->self, &scans[i], &nothing));
}

static void
check_lists(conformance_db *db, const cascade_uuid *id)
{
    const cascade_query queries[] = {
        {.limit = 10},
        {.id = id, .limit = 10},
        {.user_id = "user", .limit = 10},
        {.user_id = "user", .status = CASCADE_RUNNING, .limit = 10},
        {.node = "large", .limit = 10},
        {.queue = "default", .limit = 10},
        {.updated_before_ms = INT64_MAX, .limit = 10}};

    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
        assert_ok(db->driver->list(db->self, &queries[i], fail_listed, NULL));
}

static void
check_reads(conformance_db *db, const cascade_uuid *id)
{
    const unsigned parts[] = {CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS |
                                  CASCADE_LOAD_MESSAGES,
                              CASCADE_LOAD_FAMILY};
    cascade_totals totals;
    const char *path = "p";
    cascade_found found;

    assert_ok(conformance_chain(db->driver)->find(db->self, &path, 1, &found));
    assert_true(csc_uuid_is_nil(&found.id));
    for (size_t i = 0; i < 2; i++)
        assert_ok(db->driver->load(db->self, id, 1, parts[i], &nothing));
    check_scans(db, id);
    check_lists(db, id);
    assert_ok(conformance_manage(db->driver)->totals(db->self, &totals));
    assert_int_equal(totals.running + totals.completed + totals.failed, 0);
    assert_int_equal(totals.erasing, 1);
}

/* S40 */
static void
what_is_marked_is_absent_to_reads(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = start_large(&it);

    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
    assert_true(delete_twice(&it, id));
    check_reads(it.db, &id);
    (void)erase(&it, &it.engine);
    check_reads(it.db, &id);
}

/* S40: what is sent to it stays out, also what it has had; what was sent before
 * makes no claim. */
static void
what_is_marked_gets_nothing(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = start_large(&it);
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};

    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
    assert_true(delete_twice(&it, id));
    assert_int_equal(mail_send_path(&it, id, "q"), CASCADE_SENT_ABSENT);
    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT_ABSENT);
    assert_int_equal(mail_receive(&it, 10).count, 0);
    assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
    assert_int_equal(result.count, 0);
    assert_false(result.messages);
    (void)erase(&it, &it.engine);
    check_reads(it.db, &id);
}

/* S40 */
static void
what_is_marked_hides_no_path_of_others(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid marked = mark_large(&it);
    cascade_uuid other = start_large(&it);
    const char *path = "p";
    cascade_found found;

    assert_int_equal(mail_send_path(&it, other, path), CASCADE_SENT);
    assert_ok(
        conformance_chain(it.db->driver)->find(it.db->self, &path, 1, &found));
    assert_memory_equal(&found.id, &other, sizeof(other));
    assert_memory_not_equal(&found.id, &marked, sizeof(marked));
}

/* S40 */
static void
what_is_marked_is_neither_repaired_nor_purged(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mark_large(&it);
    cascade_repair repair = {
        .was = {.id = id, .status = CASCADE_RUNNING, .fn_id = LARGE - 1},
        .status = CASCADE_ERROR,
        .fn_id = LARGE - 1};
    bool done = true;
    size_t deleted = 1;

    assert_ok(conformance_manage(it.db->driver)
                  ->repair(it.db->self, &repair, 1, &done));
    assert_false(done);
    assert_ok(conformance_manage(it.db->driver)
                  ->purge(it.db->self, &id, 1, db_now(it.db) + DB_LONG_LEASE_MS,
                          &deleted));
    assert_int_equal(deleted, 0);
}

/* ---- Whose it is --------------------------------------------------------- */

/* S42 */
static void
an_erasure_is_one_incarnation_s(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid other = db_attach(it.db, 1, DB_LONG_LEASE_MS);
    cascade_uuid id = mark_large(&it);

    assert_true(erase(&it, &it.engine));
    assert_false(erase(&it, &other));
    assert_false(erase(&it, NULL));
    assert_true(is_taken(&it, rows_start(it.rows, id)));
    assert_ok(it.db->driver->detach(it.db->self, &it.engine));
    assert_true(erase(&it, &other));
    assert_false(erase(&it, NULL));
    (void)erase_all(&it, &other);
    assert_false(is_taken(&it, rows_start(it.rows, id)));
}

/* S42: a caller without an incarnation takes it from nobody. */
static void
an_erasure_needs_no_incarnation(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mark_large(&it);

    assert_true(erase(&it, NULL));
    assert_true(erase(&it, &it.engine));
    (void)erase_all(&it, &it.engine);
    assert_false(is_taken(&it, rows_start(it.rows, id)));
}

/* S39, S26: a purge marks what is too large. */
static void
a_large_purge_is_marked_and_erased(void **state)
{
    mail_scene it = mail_begin(*state);
    char *picture = db_picture(it.db);
    cascade_uuid ids[2] = {start_large(&it), mail_own(&it)};
    size_t deleted = 0;

    assert_ok(mail_end(&it, ids[0], CASCADE_COMPLETED));
    assert_ok(mail_end(&it, ids[1], CASCADE_COMPLETED));
    assert_ok(conformance_manage(it.db->driver)
                  ->purge(it.db->self, ids, 2, db_now(it.db) + DB_LONG_LEASE_MS,
                          &deleted));
    assert_int_equal(deleted, 2);
    check_reads(it.db, &ids[0]);
    assert_true(is_taken(&it, rows_start(it.rows, ids[0])));
    (void)erase_all(&it, NULL);
    db_assert_unchanged(it.db, picture);
    assert_false(is_taken(&it, rows_start(it.rows, ids[0])));
    assert_false(is_taken(&it, rows_start(it.rows, ids[1])));
}

conformance_group
conformance_erase(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_deletion_is_marked_and_erased),
        cmocka_unit_test(a_small_deletion_leaves_nothing_to_be_erased),
        cmocka_unit_test(deletions_of_one_batch_share_its_bound),
        cmocka_unit_test(what_is_marked_is_absent_to_reads),
        cmocka_unit_test(what_is_marked_gets_nothing),
        cmocka_unit_test(what_is_marked_hides_no_path_of_others),
        cmocka_unit_test(what_is_marked_is_neither_repaired_nor_purged),
        cmocka_unit_test(an_erasure_is_one_incarnation_s),
        cmocka_unit_test(an_erasure_needs_no_incarnation),
        cmocka_unit_test(a_large_purge_is_marked_and_erased),
    };

    return (conformance_group){"erase", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
