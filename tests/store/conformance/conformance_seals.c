/* SPDX-License-Identifier: MIT
 *
 * Seals: entered with what they are of, given with it, gone with it. What is in
 * one is nobody's business here.
 */
#include <string.h>

#include "base/data/arena.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "store/conformance/conformance_mail.h"

#define SEALS_MAX 64
#define LARGE 600 /* executions: more than go with one commit */

/* ---- Seeing ------------------------------------------------------------- */

/* What a move gave, in its order. */
typedef struct seal_list {
    test_rows *rows;
    cascade_seal_row items[SEALS_MAX];
    size_t count;
} seal_list;

static cascade_err
keep_seal(void *context, const cascade_seal_row *row)
{
    seal_list *list = context;

    assert_true(list->count < SEALS_MAX);
    list->items[list->count] = *row;
    list->items[list->count++].seal = rows_text(list->rows, "%s", row->seal);
    return CASCADE_OK;
}

static seal_list
load(mail_scene *it, const cascade_uuid *ids, size_t count)
{
    seal_list list = {.rows = it->rows};
    const cascade_load_sink sink = {.context = &list,
                                    .on_cascade = mail_pass_cascade,
                                    .on_seal = keep_seal};

    assert_ok(it->db->driver->load(it->db->self, ids, count, CASCADE_LOAD_SEALS,
                                   &sink));
    return list;
}

static seal_list
list(mail_scene *it, const cascade_uuid *after, size_t limit)
{
    seal_list found = {.rows = it->rows};

    assert_ok(conformance_integrity(it->db->driver)
                  ->seals(it->db->self, after, limit, keep_seal, &found));
    return found;
}

/* NULL `seal`: it has none. */
static void
expect(mail_scene *it, cascade_uuid id, int64_t number, const char *seal)
{
    seal_list found = load(it, &id, 1);

    assert_int_equal(found.count, seal != NULL);
    if (seal == NULL)
        return;
    assert_memory_equal(&found.items[0].cascade_id, &id, sizeof(id));
    assert_int_equal(found.items[0].number, number);
    assert_string_equal(found.items[0].seal, seal);
}

/* ---- Writing ------------------------------------------------------------ */

static const cascade_seal_row *
seal_of(mail_scene *it, int64_t number, const char *seal)
{
    cascade_seal_row *row = csc_arena_alloc(&it->rows->arena, 1, sizeof(*row));

    assert_non_null(row);
    row->number = number;
    row->seal = rows_text(it->rows, "%s", seal);
    return row;
}

static cascade_change *
start_sealed(mail_scene *it, cascade_uuid id, int64_t number, const char *seal)
{
    cascade_change *start = rows_start_owned(it->rows, id, it->engine);

    start->seal = seal_of(it, number, seal);
    return start;
}

static cascade_uuid
own_sealed(mail_scene *it, const char *seal)
{
    cascade_uuid id = rows_id(it->rows);

    assert_ok(mail_write(it, start_sealed(it, id, 1, seal)));
    return id;
}

/* As stores of an engine with integrity are opened. */
static mail_scene
begin_sealed(void **state)
{
    mail_scene it = mail_begin(*state);

    it.db->handles[0]->config.sealed = true;
    return it;
}

/* S78: by a commit and by a submit. */
static void
a_start_enters_its_seal(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = rows_id(it.rows);
    cascade_change *start = rows_start(it.rows, id);

    expect(&it, own_sealed(&it, "h1:'a%:00"), 1, "h1:'a%:00");
    start->seal = seal_of(&it, INT64_MAX, "\xc3\xa9");
    assert_ok(db_submit_one(it.db, start));
    expect(&it, id, INT64_MAX, "\xc3\xa9");
    expect(&it, mail_own(&it), 0, NULL);
}

/* S78: with a key, too. */
static void
a_keyed_start_enters_its_seal(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_change *first = start_sealed(&it, rows_id(it.rows), 1, "first");
    cascade_change *other = start_sealed(&it, rows_id(it.rows), 1, "other");
    cascade_change *second = start_sealed(&it, rows_id(it.rows), 1, "second");
    cascade_change *late = start_sealed(&it, rows_id(it.rows), 1, "late");

    first->key = second->key = late->key = "a";
    first->run_number = 1;
    second->run_number = 2;
    late->run_number = 2;
    assert_ok(mail_write(&it, first));
    assert_ok(mail_write(&it, other));
    assert_ok(mail_write(&it, second));
    assert_ok(mail_write(&it, late));
    expect(&it, first->cascade.id, 1, "first");
    expect(&it, other->cascade.id, 1, "other");
    expect(&it, second->cascade.id, 1, "second");
    assert_int_equal(list(&it, NULL, 100).count, 3);
}

/* S78, S6: also where it is the very start that made the cascade, and comes
 * once more when that has gone on. */
static void
a_start_that_does_nothing_enters_no_seal(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = rows_id(it.rows);
    cascade_uuid bare = mail_own(&it);
    cascade_change *start = rows_start(it.rows, id);
    cascade_change *other = rows_start(it.rows, id);
    cascade_change *late = rows_start(it.rows, bare);
    cascade_claim_result result = {.count = 0};
    cascade_claimed claimed;
    cascade_change *write = rows_write(it.rows, id, 0);

    start->seal = seal_of(&it, 1, "one");
    other->seal = seal_of(&it, 1, "other");
    late->seal = seal_of(&it, 1, "late");
    assert_ok(db_submit_one(it.db, start));
    assert_ok(db_claim(it.db, it.engine, "default", 1, &claimed, &result));
    write->seal = seal_of(&it, 2, "two");
    assert_ok(mail_write(&it, write));
    assert_ok(db_submit_one(it.db, start));
    assert_ok(db_submit_one(it.db, other));
    assert_ok(db_submit_one(it.db, late));
    expect(&it, id, 2, "two");
    expect(&it, bare, 0, NULL);
}

/* S78: with one, without, and one that had none. */
static void
a_write_replaces_the_seal_or_leaves_it(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[] = {own_sealed(&it, "a"), own_sealed(&it, "b"),
                          mail_own(&it)};
    cascade_change *writes[3];
    cascade_change *one = rows_write(it.rows, ids[0], 0);

    for (int i = 0; i < 3; i++)
        writes[i] = rows_write(it.rows, ids[i], 0);
    writes[0]->seal = seal_of(&it, 2, "a2");
    writes[2]->seal = seal_of(&it, 7, "c7");
    assert_ok(db_commit(it.db, it.engine, 0, ++it.number, writes, 3, NULL));
    assert_ok(db_commit(it.db, it.engine, 0, it.number, writes, 3, NULL));
    expect(&it, ids[0], 2, "a2");
    expect(&it, ids[1], 1, "b");
    expect(&it, ids[2], 7, "c7");
    one->seal = seal_of(&it, 1, "back");
    assert_ok(mail_write(&it, one));
    expect(&it, ids[0], 1, "back");
}

/* S2, S5: a batch that is refused enters none of its seals. */
static void
a_refused_batch_enters_no_seal(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = own_sealed(&it, "a");
    cascade_uuid born = rows_id(it.rows);
    cascade_change *changes[] = {rows_write(it.rows, id, 0),
                                 start_sealed(&it, born, 1, "born")};

    changes[0]->seal = seal_of(&it, 2, "a2");
    rows_update(it.rows, changes[0], 99, "{}");
    assert_fails(
        CASCADE_ERR_REFUSED,
        db_commit(it.db, it.engine, 0, it.number + 1, changes, 2, NULL));
    expect(&it, id, 1, "a");
    assert_int_equal(list(&it, NULL, 100).count, 1);
}

/* ---- Reading ------------------------------------------------------------ */

typedef struct seen_order {
    size_t cascades;
    size_t seals;
    size_t executions;
} seen_order;

static cascade_err
see_cascade(void *context, const cascade_row *row)
{
    seen_order *seen = context;

    (void)row;
    assert_int_equal(seen->seals + seen->executions, 0);
    seen->cascades++;
    return CASCADE_OK;
}

static cascade_err
see_seal(void *context, const cascade_seal_row *row)
{
    seen_order *seen = context;

    (void)row;
    assert_int_equal(seen->cascades, 3);
    assert_int_equal(seen->executions, 0);
    seen->seals++;
    return CASCADE_OK;
}

static cascade_err
see_execution(void *context, const cascade_execution_row *row)
{
    seen_order *seen = context;

    (void)row;
    assert_int_equal(seen->seals, 2);
    seen->executions++;
    return CASCADE_OK;
}

/* S79: behind the cascades, before their rows; not where they are not asked
 * for. */
static void
seals_come_behind_their_cascades(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[] = {own_sealed(&it, "a"), mail_own(&it),
                          own_sealed(&it, "b"), rows_id(it.rows)};
    seen_order seen = {.cascades = 0};
    const cascade_load_sink sink = {.context = &seen,
                                    .on_cascade = see_cascade,
                                    .on_seal = see_seal,
                                    .on_execution = see_execution};
    seal_list found = load(&it, ids, 4);

    assert_int_equal(found.count, 2);
    assert_true(csc_uuid_compare(&found.items[0].cascade_id,
                                 &found.items[1].cascade_id) < 0);
    assert_ok(it.db->driver->load(it.db->self, ids, 4,
                                  CASCADE_LOAD_SEALS | CASCADE_LOAD_EXECUTIONS,
                                  &sink));
    assert_int_equal(seen.executions, 3);
    seen = (seen_order){.seals = 2};
    seen.seals = 0;
    assert_ok(it.db->driver->load(it.db->self, ids, 4, 0, &sink));
    assert_int_equal(seen.seals, 0);
}

/* S81 */
static void
seals_are_listed_in_pages(void **state)
{
    enum {
        COUNT = 23
    };
    mail_scene it = mail_begin(*state);
    const cascade_seal_row *own = seal_of(&it, 1, "the store's");
    const cascade_reseal reseal = {.now = own};
    const cascade_uuid *after = NULL;
    cascade_uuid last = {{0}};
    size_t count = 0;
    size_t pages = 0;
    bool done = false;

    assert_int_equal(list(&it, NULL, 5).count, 0);
    for (int i = 0; i < COUNT; i++) {
        (void)own_sealed(&it, "s");
        (void)mail_own(&it);
    }
    assert_ok(conformance_integrity(it.db->driver)
                  ->seal(it.db->self, &reseal, 1, &done));
    assert_true(done);
    for (;;) {
        seal_list page = list(&it, after, 5);

        for (size_t i = 0; i < page.count; i++) {
            assert_true(
                after == NULL
                    ? count > 0 || csc_uuid_is_nil(&page.items[i].cascade_id)
                    : csc_uuid_compare(&page.items[i].cascade_id, &last) > 0);
            last = page.items[i].cascade_id;
            count++;
        }
        pages++;
        if (page.count < 5)
            break;
        after = &last;
    }
    assert_int_equal(count, COUNT + 1);
    assert_int_equal(pages, 5);
}

/* ---- Changing ----------------------------------------------------------- */

static bool
reseal(mail_scene *it, cascade_uuid id, const cascade_seal_row *was,
       const cascade_seal_row *now)
{
    const cascade_reseal change = {.cascade_id = id, .was = was, .now = now};
    bool done = false;

    assert_ok(conformance_integrity(it->db->driver)
                  ->seal(it->db->self, &change, 1, &done));
    return done;
}

/* S80 */
static void
a_seal_is_changed_while_it_is_as_it_was_read(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    const cascade_seal_row *one = seal_of(&it, 1, "one");
    const cascade_seal_row *two = seal_of(&it, 2, "two");

    assert_false(reseal(&it, id, one, two));
    assert_true(reseal(&it, id, NULL, one));
    assert_false(reseal(&it, id, NULL, two));
    assert_false(reseal(&it, id, seal_of(&it, 2, "one"), two));
    assert_false(reseal(&it, id, seal_of(&it, 1, "One"), two));
    assert_false(reseal(&it, id, two, NULL));
    expect(&it, id, 1, "one");
    assert_true(reseal(&it, id, one, two));
    expect(&it, id, 2, "two");
    assert_true(reseal(&it, id, two, NULL));
    expect(&it, id, 0, NULL);
}

/* S80: not of what is not there; but the store's own is. */
static void
only_what_is_there_gets_a_seal(void **state)
{
    mail_scene it = mail_begin(*state);
    const cascade_seal_row *one = seal_of(&it, 1, "one");
    const cascade_seal_row *two = seal_of(&it, 2, "two");
    cascade_uuid own = {{0}};

    assert_false(reseal(&it, rows_id(it.rows), NULL, one));
    assert_true(reseal(&it, own, NULL, one));
    assert_false(reseal(&it, own, NULL, two));
    assert_true(reseal(&it, own, one, two));
    assert_int_equal(list(&it, NULL, 10).count, 1);
    assert_true(reseal(&it, own, two, NULL));
    assert_int_equal(list(&it, NULL, 10).count, 0);
}

/* S80: each by itself. */
static void
many_seals_are_changed_at_once(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_reseal changes[] = {
        {.cascade_id = own_sealed(&it, "a"),
         .was = seal_of(&it, 1, "a"),
         .now = seal_of(&it, 2, "a2")},
        {.cascade_id = mail_own(&it), .now = seal_of(&it, 1, "b")},
        {.cascade_id = own_sealed(&it, "c"),
         .was = seal_of(&it, 1, "x"),
         .now = seal_of(&it, 2, "c2")},
        {.cascade_id = rows_id(it.rows), .now = seal_of(&it, 1, "d")},
        {.cascade_id = own_sealed(&it, "e"), .was = seal_of(&it, 1, "e")}};
    bool done[5];

    assert_ok(conformance_integrity(it.db->driver)
                  ->seal(it.db->self, changes, 5, done));
    assert_true(done[0] && done[1] && !done[2] && !done[3] && done[4]);
    expect(&it, changes[0].cascade_id, 2, "a2");
    expect(&it, changes[1].cascade_id, 1, "b");
    expect(&it, changes[2].cascade_id, 1, "c");
    expect(&it, changes[4].cascade_id, 0, NULL);
}

/* ---- Repairs ------------------------------------------------------------ */

static cascade_err
keep_row(void *context, const cascade_row *row)
{
    *(cascade_row *)context = *row;
    return CASCADE_OK;
}

/* Its user_id is not to be read. */
static cascade_row
row_of(mail_scene *it, cascade_uuid id)
{
    cascade_row row = {.fn_id = -1};
    const cascade_load_sink sink = {.context = &row, .on_cascade = keep_row};

    assert_ok(it->db->driver->load(it->db->self, &id, 1, 0, &sink));
    row.user_id = "user";
    return row;
}

/* NULL `was`: there was none. */
static bool
repair(mail_scene *it, cascade_uuid id, const cascade_seal_row *was,
       const cascade_seal_row *now)
{
    const cascade_row row = row_of(it, id);
    const cascade_repair change = {.was = row,
                                   .status = CASCADE_ERROR,
                                   .fn_id = row.fn_id + 1,
                                   .seal = now,
                                   .was_seal = was};
    bool done = false;

    assert_ok(conformance_manage(it->db->driver)
                  ->repair(it->db->self, &change, 1, &done));
    return done;
}

/* A cascade that is RUNNING and has no run; NULL `seal`: none. */
static cascade_uuid
stray(mail_scene *it, const char *seal)
{
    cascade_uuid id = seal != NULL ? own_sealed(it, seal) : mail_own(it);

    assert_ok(mail_end(it, id, CASCADE_RUNNING));
    return id;
}

/* S88 */
static void
a_repair_replaces_the_seal_that_was_read(void **state)
{
    mail_scene it = mail_begin(*state);
    const cascade_seal_row *one = seal_of(&it, 1, "one");
    const cascade_seal_row *two = seal_of(&it, 2, "two");
    cascade_uuid id = stray(&it, "one");

    assert_false(repair(&it, id, NULL, two));
    assert_false(repair(&it, id, two, two));
    assert_false(repair(&it, id, seal_of(&it, 2, "one"), two));
    assert_false(repair(&it, id, seal_of(&it, 1, "One"), two));
    assert_int_equal(row_of(&it, id).status, CASCADE_RUNNING);
    expect(&it, id, 1, "one");
    assert_true(repair(&it, id, one, two));
    assert_int_equal(row_of(&it, id).status, CASCADE_ERROR);
    expect(&it, id, 2, "two");
    assert_true(repair(&it, id, one, NULL));
    expect(&it, id, 2, "two");
}

/* S88: it may have none as yet. */
static void
a_repair_enters_a_first_seal(void **state)
{
    mail_scene it = mail_begin(*state);
    const cascade_seal_row *one = seal_of(&it, 1, "one");
    cascade_uuid id = stray(&it, NULL);

    assert_false(repair(&it, id, one, one));
    expect(&it, id, 0, NULL);
    assert_true(repair(&it, id, NULL, one));
    expect(&it, id, 1, "one");
}

/* S16, S88: a seal goes back with the repair that it is of. */
static void
a_refused_repair_leaves_the_seal(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[2] = {stray(&it, "a"), stray(&it, NULL)};
    cascade_repair repairs[2] = {{.status = CASCADE_ERROR,
                                  .seal = seal_of(&it, 2, "b"),
                                  .was_seal = seal_of(&it, 1, "a")},
                                 {.status = CASCADE_RUNNING,
                                  .starts = true,
                                  .run = {.queue = "default", .priority = 10},
                                  .seal = seal_of(&it, 1, "c")}};
    bool done[2];

    for (int i = 0; i < 2; i++) {
        repairs[i].was = row_of(&it, ids[i]);
        repairs[i].fn_id = repairs[i].was.fn_id;
    }
    assert_fails(CASCADE_ERR_REFUSED,
                 conformance_manage(it.db->driver)
                     ->repair(it.db->self, repairs, 2, done));
    expect(&it, ids[0], 1, "a");
    expect(&it, ids[1], 0, NULL);
    assert_int_equal(row_of(&it, ids[0]).status, CASCADE_RUNNING);
}

/* ---- Deleting ----------------------------------------------------------- */

static cascade_change *
deletion(mail_scene *it, cascade_uuid id)
{
    cascade_change *change = rows_write(it->rows, id, 0);

    change->run_action = CASCADE_RUN_DELETE;
    return change;
}

/* S21, S81 */
static void
a_seal_goes_with_its_cascade(void **state)
{
    mail_scene it = begin_sealed(state);
    cascade_uuid deleted = own_sealed(&it, "a");
    cascade_uuid purged = own_sealed(&it, "b");
    cascade_uuid stays = own_sealed(&it, "c");
    size_t count = 0;

    assert_ok(mail_write(&it, deletion(&it, deleted)));
    assert_ok(mail_end(&it, purged, CASCADE_COMPLETED));
    assert_int_equal(list(&it, NULL, 10).count, 2);
    assert_ok(conformance_manage(it.db->driver)
                  ->purge(it.db->self, &purged, 1, INT64_MAX, &count));
    assert_int_equal(count, 1);
    assert_int_equal(list(&it, NULL, 10).count, 1);
    expect(&it, stays, 1, "c");
    assert_ok(mail_write(&it, start_sealed(&it, deleted, 1, "anew")));
    expect(&it, deleted, 1, "anew");
}

static cascade_uuid
own_large(mail_scene *it)
{
    cascade_uuid id = own_sealed(it, "large");
    cascade_change *change = rows_write(it->rows, id, LARGE);

    for (int32_t i = 1; i <= LARGE; i++)
        rows_insert(it->rows, change, i, "large");
    assert_ok(mail_write(it, change));
    return id;
}

static void
erase_all(mail_scene *it)
{
    bool more = true;

    while (more)
        assert_ok(conformance_manage(it->db->driver)
                      ->erase(it->db->self, &it->engine, &more));
}

/* S39, S40, S81: with the mark, and it gets none any more. */
static void
what_is_marked_has_no_seal(void **state)
{
    mail_scene it = begin_sealed(state);
    cascade_uuid ids[] = {own_large(&it), own_large(&it)};
    bool marked = false;
    size_t count = 0;

    assert_ok(db_commit(it.db, it.engine, 0, ++it.number,
                        (cascade_change *[]){deletion(&it, ids[0])}, 1,
                        &marked));
    assert_true(marked);
    assert_int_equal(load(&it, ids, 2).count, 1);
    assert_int_equal(list(&it, NULL, 10).count, 1);
    assert_false(reseal(&it, ids[0], NULL, seal_of(&it, 1, "x")));
    assert_ok(mail_end(&it, ids[1], CASCADE_COMPLETED));
    assert_ok(conformance_manage(it.db->driver)
                  ->purge(it.db->self, &ids[1], 1, INT64_MAX, &count));
    assert_int_equal(list(&it, NULL, 10).count, 0);
    erase_all(&it);
    assert_int_equal(list(&it, NULL, 10).count, 0);
}

/* ---- Messages ----------------------------------------------------------- */

/* S82: of one that was submitted, and of one that a cascade has sent. */
static void
the_seal_of_a_message_comes_back(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[] = {mail_own(&it), mail_own(&it)};
    cascade_message_row *bare = rows_message(it.rows, ids[0], "bare");
    cascade_message_row *sealed = rows_message(it.rows, ids[0], "sealed");
    cascade_message_row *sent = rows_message(it.rows, ids[0], "sent");
    cascade_change *write = rows_write(it.rows, ids[1], 0);
    mail_inbox got;

    sealed->seal = "h1:'a%:00";
    sent->seal = "c1::\xc3\xa9";
    assert_int_equal(mail_send(&it, bare), CASCADE_SENT);
    assert_int_equal(mail_send(&it, sealed), CASCADE_SENT);
    rows_send(it.rows, write, sent);
    assert_ok(mail_write(&it, write));
    got = mail_receive(&it, 10);
    assert_int_equal(got.count, 3);
    assert_null(got.items[0].row.seal);
    assert_string_equal(got.items[1].row.seal, sealed->seal);
    assert_string_equal(got.items[2].row.seal, sent->seal);
    got = mail_load(&it, &ids[0], 1);
    assert_int_equal(got.count, 3);
    assert_null(got.items[0].row.seal);
    assert_string_equal(got.items[1].row.seal, sealed->seal);
    assert_string_equal(got.items[2].row.seal, sent->seal);
}

conformance_group
conformance_seals(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_enters_its_seal),
        cmocka_unit_test(a_keyed_start_enters_its_seal),
        cmocka_unit_test(a_start_that_does_nothing_enters_no_seal),
        cmocka_unit_test(a_write_replaces_the_seal_or_leaves_it),
        cmocka_unit_test(a_refused_batch_enters_no_seal),
        cmocka_unit_test(seals_come_behind_their_cascades),
        cmocka_unit_test(seals_are_listed_in_pages),
        cmocka_unit_test(a_seal_is_changed_while_it_is_as_it_was_read),
        cmocka_unit_test(only_what_is_there_gets_a_seal),
        cmocka_unit_test(many_seals_are_changed_at_once),
        cmocka_unit_test(a_repair_replaces_the_seal_that_was_read),
        cmocka_unit_test(a_repair_enters_a_first_seal),
        cmocka_unit_test(a_refused_repair_leaves_the_seal),
        cmocka_unit_test(a_seal_goes_with_its_cascade),
        cmocka_unit_test(what_is_marked_has_no_seal),
        cmocka_unit_test(the_seal_of_a_message_comes_back),
    };

    return (conformance_group){"seals", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
