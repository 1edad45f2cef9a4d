/* SPDX-License-Identifier: MIT
 *
 * What a run that leads on has received outlives it, whoever takes its rows,
 * and in however many pieces: S83, S84.
 */
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "store/conformance/conformance_mail.h"

#define LARGE 1300 /* executions */
#define THIRD 3    /* so many of them, one each, are messages, or look so */
#define STEPS_MAX 2000

typedef struct scene {
    mail_scene it;
    cascade_uuid ids[3]; /* of one chain: the root, the next, the last */
    char root[CASCADE_UUID_TEXT_SIZE];
} scene;

static void
begin(scene *s, conformance_db *db)
{
    s->it = mail_begin(db);
    s->ids[0] = mail_own(&s->it);
    (void)cascade_uuid_format(&s->ids[0], s->root);
    for (int i = 1; i < 3; i++) {
        cascade_change *start;

        s->ids[i] = rows_id(s->it.rows);
        start = rows_start_owned(s->it.rows, s->ids[i], s->it.engine);
        start->root = &s->ids[0];
        start->run_number = i + 1;
        assert_ok(mail_write(&s->it, start));
    }
}

static const char *
receipt_of(scene *s, int run, int function_id)
{
    return rows_text(s->it.rows, "%s/message/signal/%d'%%-%d", s->root, run,
                     function_id);
}

/* It begins as a receipt does, and is none. */
static const char *
other_of(scene *s, int run, int function_id)
{
    return rows_text(s->it.rows, "%s/messages/%d-%d", s->root, run,
                     function_id);
}

static const char *
path_of(scene *s, int run, int function_id)
{
    return function_id % THIRD == 1 ? other_of(s, run, function_id)
                                    : receipt_of(s, run, function_id);
}

/* In portions, as engines do. */
static void
fill(scene *s, int run, int count)
{
    int next = 1;

    while (next < count) {
        cascade_change *change = rows_write(s->it.rows, s->ids[run], 0);

        for (int i = 0; i < 400 && next < count; i++, next++) {
            cascade_execution_row *row =
                rows_insert(s->it.rows, change, next, "many");

            if (next % THIRD != 2)
                row->node_instance_id = path_of(s, run, next);
        }
        change->cascade.fn_id = next - 1;
        assert_ok(mail_write(&s->it, change));
    }
}

static void
enter_id(scene *s, int run)
{
    const cascade_link link = {.id = s->ids[run],
                               .root = s->ids[0],
                               .run_number = run + 1,
                               .next = s->ids[2],
                               .next_number = 3};

    assert_ok(conformance_chain(s->it.db->driver)->link(s->it.db->self, &link));
}

static bool
erase(scene *s)
{
    bool more = false;

    assert_ok(conformance_manage(s->it.db->driver)
                  ->erase(s->it.db->self, &s->it.engine, &more));
    return more;
}

static void delete (scene *s, int run)
{
    cascade_change *change = rows_write(s->it.rows, s->ids[run], 0);

    change->run_action = CASCADE_RUN_DELETE;
    assert_ok(mail_write(&s->it, change));
}

static void
purge(scene *s, int run)
{
    size_t deleted = 0;

    assert_ok(mail_end(&s->it, s->ids[run], CASCADE_COMPLETED));
    assert_ok(conformance_manage(s->it.db->driver)
                  ->purge(s->it.db->self, &s->ids[run], 1,
                          db_now(s->it.db) + DB_LONG_LEASE_MS, &deleted));
    assert_int_equal(deleted, 1);
}

/* Whether it leads to the last run; else it is nowhere. */
static bool
leads(scene *s, const char *path)
{
    cascade_found found;

    assert_ok(conformance_chain(s->it.db->driver)
                  ->find(s->it.db->self, &path, 1, &found));
    if (csc_uuid_is_nil(&found.id))
        return false;
    assert_memory_equal(&found.id, &s->ids[2], sizeof(found.id));
    assert_memory_equal(&found.root, &s->ids[0], sizeof(found.root));
    assert_int_equal(found.run_number, 3);
    return true;
}

/* The lowest, one in the middle, and the last. */
static void
check(scene *s, int run)
{
    const int ids[] = {THIRD, LARGE / 2 / THIRD * THIRD,
                       (LARGE - 1) / THIRD * THIRD};

    for (int i = 0; i < 3; i++) {
        const char *path = receipt_of(s, run, ids[i]);

        assert_true(leads(s, path));
        assert_int_equal(mail_send_path(&s->it, s->ids[2], path),
                         CASCADE_SENT_REPEATED);
        assert_int_equal(
            mail_send_path(&s->it, s->ids[2], other_of(s, run, ids[i])),
            CASCADE_SENT);
    }
}

static void
expect_all(scene *s, int run)
{
    for (int i = 1; i < LARGE; i++)
        if (i % THIRD != 2)
            assert_int_equal(leads(s, path_of(s, run, i)), i % THIRD == 0);
}

static void
pass(scene *s, int run, void (*take)(scene *s, int run))
{
    int steps = 0;

    fill(s, run, LARGE);
    take(s, run);
    check(s, run);
    while (erase(s)) {
        for (int i = THIRD; i < LARGE; i += 100 * THIRD)
            assert_true(leads(s, receipt_of(s, run, i)));
        assert_true(++steps < STEPS_MAX);
    }
    assert_true(steps > 0);
    expect_all(s, run);
}

/* S83, S84: of the run that was started, and of a later one. */
static void
what_a_run_has_received_outlives_its_deletion(void **state)
{
    scene s;

    begin(&s, *state);
    pass(&s, 0, delete);
    enter_id(&s, 1);
    pass(&s, 1, delete);
    expect_all(&s, 0);
}

static void
what_a_run_has_received_outlives_its_purge(void **state)
{
    scene s;

    begin(&s, *state);
    enter_id(&s, 1);
    pass(&s, 1, purge);
    pass(&s, 0, purge);
    expect_all(&s, 1);
}

/* S83: what leads to no later run leaves nothing. */
static void
a_last_run_leaves_nothing(void **state)
{
    scene s;

    begin(&s, *state);
    fill(&s, 1, 10); /* its id was not entered */
    fill(&s, 2, 10);
    delete (&s, 1);
    assert_false(leads(&s, receipt_of(&s, 1, THIRD)));
    delete (&s, 2);
    while (erase(&s))
        ;
    assert_false(leads(&s, receipt_of(&s, 2, THIRD)));
}

/* S44, S83: those of the first run go first. */
static void
no_more_outlives_a_run_than_is_kept(void **state)
{
    enum {
        ROOM = 2 /* beside the id of the second run */
    };
    cascade_receipt *receipts = calloc(CASCADE_LINKS_MAX, sizeof(*receipts));
    cascade_link link = {.run_number = 2,
                         .next_number = 3,
                         .receipts = receipts,
                         .receipt_count = CASCADE_LINKS_MAX - 1 - ROOM};
    scene s;

    assert_non_null(receipts);
    begin(&s, *state);
    link.id = s.ids[1];
    link.root = s.ids[0];
    link.next = s.ids[2];
    for (int i = 0; i < CASCADE_LINKS_MAX; i++)
        receipts[i] = (cascade_receipt){receipt_of(&s, 1, i), i};
    assert_ok(conformance_chain(s.it.db->driver)->link(s.it.db->self, &link));
    fill(&s, 0, 4 * THIRD + 1);
    delete (&s, 0);
    for (int i = 1; i <= 4; i++)
        assert_int_equal(leads(&s, receipt_of(&s, 0, i * THIRD)), i > 4 - ROOM);
    assert_true(leads(&s, receipts[0].path));
    free(receipts);
}

conformance_group
conformance_outlive(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_run_has_received_outlives_its_deletion),
        cmocka_unit_test(what_a_run_has_received_outlives_its_purge),
        cmocka_unit_test(a_last_run_leaves_nothing),
        cmocka_unit_test(no_more_outlives_a_run_than_is_kept),
    };

    return (conformance_group){"outlive", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
