/* SPDX-License-Identifier: MIT
 *
 * Commits and submits: all or nothing, once, and what is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "store/conformance/conformance.h"

/* S2, G1: every part of a change is there afterwards, and in another handle
 * too. */
static void
a_commit_shows_all_its_parts(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid id = rows_id(&db->rows);
    cascade_change *start = rows_start_owned(&db->rows, id, engine);
    cascade_change *write = rows_write(&db->rows, id, 2);
    cascade_execution_row *update;
    cascade_store *other = db_open(db);
    char *here;
    char *there;

    rows_event(&db->rows, start, 0, "a", "[1,2]");
    assert_ok(db_commit_one(db, engine, 1, start));
    update = rows_update(&db->rows, write, 0, "{\"output\":1}");
    update->error = "the attempt before";
    update->completed_at_ms = db->rows.now_ms + 7;
    rows_insert(&db->rows, write, 1, "second")->input = "{\"x\":1}";
    rows_insert(&db->rows, write, 2, "third");
    rows_event(&db->rows, write, 0, "b", "\"v\"")->ui_value = "\"shown\"";
    write->cascade.updated_at_ms = db->rows.now_ms + 5;
    assert_ok(db_commit_one(db, engine, 2, write));
    here = db_picture(db);
    there = db_dump(other, DUMP_ALL);
    assert_string_equal(here, there);
    assert_non_null(strstr(here, "<12:{\"output\":1}>"));
    assert_non_null(strstr(here, "the attempt before"));
    assert_non_null(strstr(here, "<7:{\"x\":1}>"));
    assert_non_null(strstr(here, "<7:\"shown\">"));
    assert_non_null(strstr(here, "<6:second>"));
    assert_non_null(strstr(here, "<5:third>"));
    assert_non_null(strstr(here, rows_text(&db->rows, " %lld\nexecution",
                                           (long long)(db->rows.now_ms + 7))));
    assert_non_null(strstr(here, rows_text(&db->rows, " 1 2 <4:user> %lld %lld",
                                           (long long)db->rows.now_ms,
                                           (long long)(db->rows.now_ms + 5))));
    csc_mem_free(here);
    csc_mem_free(there);
}

/* What the tests below have in common: an engine that owns a cascade. */
typedef struct owned {
    cascade_uuid engine;
    cascade_uuid id;
    int64_t number; /* of the next batch */
} owned;

static owned
own_one(conformance_db *db)
{
    owned it = {.engine = db_attach(db, 1, DB_LONG_LEASE_MS),
                .id = rows_id(&db->rows),
                .number = 2};

    assert_ok(db_commit_one(db, it.engine, 1,
                            rows_start_owned(&db->rows, it.id, it.engine)));
    return it;
}

/* S3, G12: the same number once more is OK and changes nothing. */
static void
a_repeated_batch_takes_effect_once(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *write = rows_write(&db->rows, it.id, 1);
    char *picture;

    rows_update(&db->rows, write, 0, "{}");
    rows_insert(&db->rows, write, 1, "second");
    rows_event(&db->rows, write, 0, "key", "1");
    assert_ok(db_commit_one(db, it.engine, 2, write));
    picture = db_picture(db);
    for (int i = 0; i < 3; i++)
        assert_ok(db_commit_one(db, it.engine, 2, write));
    db_assert_unchanged(db, picture);
    write = rows_write(&db->rows, it.id, 2);
    rows_update(&db->rows, write, 1, "{}");
    assert_ok(db_commit_one(db, it.engine, 3, write));
}

/* S3, S6, G10: a repeated batch tells the same of its starts as the first time,
 * and does not take its own starts for others'. */
static void
a_repeated_batch_tells_the_same_of_its_starts(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid taken = rows_id(&db->rows);
    cascade_change *changes[3];
    cascade_change *sorted;
    bool existed[3];
    char *picture = NULL;

    assert_ok(db_submit_one(db, rows_start(&db->rows, taken)));
    changes[0] = rows_start(&db->rows, rows_id(&db->rows));
    changes[1] = rows_start(&db->rows, taken);
    changes[2] = rows_start_owned(&db->rows, rows_id(&db->rows), engine);
    sorted = rows_changes(&db->rows, changes, 3);
    for (int round = 0; round < 3; round++) {
        memset(existed, 0x55, sizeof(existed));
        assert_ok(db_commit(db, engine, 0, 1, changes, 3, existed));
        for (int i = 0; i < 3; i++)
            assert_int_equal(existed[i],
                             csc_uuid_equal(&sorted[i].cascade.id, &taken));
        if (round == 0)
            picture = db_picture(db);
    }
    db_assert_unchanged(db, picture);
}

/* S6, G10: a start of a cascade that exists changes nothing of it, and its
 * neighbours are started. */
static void
a_start_of_an_existing_cascade_leaves_it_alone(void **state)
{
    conformance_db *db = *state;
    cascade_uuid ids[3];
    cascade_change *starts[3];
    cascade_change *sorted;
    bool existed[3];
    char *dump;

    for (int i = 0; i < 3; i++)
        ids[i] = rows_id(&db->rows);
    assert_ok(db_submit_one(db, rows_start(&db->rows, ids[1])));
    for (int i = 0; i < 3; i++) {
        starts[i] = rows_start(&db->rows, ids[i]);
        starts[i]->cascade.user_id = "somebody else";
        rows_event(&db->rows, starts[i], 0, "new", "1");
        rows_insert(&db->rows, starts[i], 1, "new");
    }
    sorted = rows_changes(&db->rows, starts, 3);
    assert_ok(db_submit(db, starts, 3, existed));
    for (int i = 0; i < 3; i++)
        assert_int_equal(existed[i],
                         csc_uuid_equal(&sorted[i].cascade.id, &ids[1]));
    dump = db_picture(db);
    assert_non_null(strstr(dump, "<4:user>"));
    csc_mem_free(dump);
}

/* S6: a submit may be repeated; what took effect is recognised, also when the
 * cascade went on meanwhile. */
static void
a_repeated_submit_is_recognised(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid id = rows_id(&db->rows);
    cascade_change *start = rows_start(&db->rows, id);
    cascade_change *write = rows_write(&db->rows, id, 1);
    cascade_claimed claimed[2];
    cascade_claim_result result = {0};
    bool existed = true;
    char *picture;

    assert_ok(db_submit(db, &start, 1, &existed));
    assert_false(existed);
    existed = true;
    assert_ok(db_submit(db, &start, 1, &existed));
    assert_false(existed);
    assert_ok(db_claim(db, engine, "default", 2, claimed, &result));
    assert_int_equal(result.count, 1);
    rows_update(&db->rows, write, 0, "{}");
    rows_insert(&db->rows, write, 1, "second");
    assert_ok(db_commit_one(db, engine, 1, write));
    picture = db_picture(db);
    existed = true;
    assert_ok(db_submit(db, &start, 1, &existed));
    assert_false(existed);
    start = rows_start(&db->rows, id);
    assert_ok(db_submit(db, &start, 1, &existed));
    assert_true(existed);
    db_assert_unchanged(db, picture);
}

/* S33, S6: where nobody else starts it, one that is brief is as any other. */
static void
a_brief_submit_is_a_submit(void **state)
{
    conformance_db *db = *state;
    cascade_uuid id = rows_id(&db->rows);
    cascade_change *starts[2] = {rows_start(&db->rows, id),
                                 rows_start(&db->rows, id)};
    bool existed = true;
    cascade_submission submission = {
        .start_count = 1, .existed = &existed, .brief = true};
    char *picture = NULL;

    for (int i = 0; i < 3; i++) {
        existed = i < 2;
        submission.starts = starts[i / 2];
        assert_ok(db->driver->submit(db->self, &submission));
        assert_int_equal(existed, i == 2);
        if (i == 0)
            picture = db_picture(db);
    }
    db_assert_unchanged(db, picture);
}

/* S6: starts from outside come in any order, and a user may name a cascade
 * twice: then one of the two made it. */
static void
a_submit_may_name_a_cascade_twice(void **state)
{
    conformance_db *db = *state;
    cascade_uuid id = rows_id(&db->rows);
    cascade_change starts[4];
    bool existed[4] = {true, true, true, true};
    char *picture;

    starts[0] = *rows_start(&db->rows, id);
    starts[1] = *rows_start(&db->rows, rows_id(&db->rows));
    starts[2] = *rows_start(&db->rows, id);
    starts[3] = *rows_start(&db->rows, rows_id(&db->rows));
    assert_ok(rows_submit(db->driver, db->self, starts, 4, existed));
    assert_true(existed[0] != existed[2]);
    assert_false(existed[1]);
    assert_false(existed[3]);
    picture = db_picture(db);
    assert_ok(rows_submit(db->driver, db->self, starts, 4, existed));
    assert_true(existed[0] != existed[2]);
    db_assert_unchanged(db, picture);
}

/* S94: callers who know nothing of each other. */
static void
a_submit_answers_each_as_if_it_came_alone(void **state)
{
    conformance_db *db = *state;
    cascade_uuid there = rows_id(&db->rows);
    cascade_uuid none = rows_id(&db->rows);
    cascade_uuid to[] = {none, there, there, there, none, none};
    const char *paths[] = {"lost", "one", "one", "two", "two", "lost"};
    cascade_change starts[2] = {*rows_start(&db->rows, there),
                                *rows_start(&db->rows, there)};
    cascade_message_row messages[6];
    cascade_sent sent[6] = {CASCADE_SENT};
    bool existed[2] = {true, false};
    const cascade_submission submission = {.starts = starts,
                                           .start_count = 2,
                                           .existed = existed,
                                           .messages = messages,
                                           .message_count = 6,
                                           .sent = sent,
                                           .brief = true};
    static const cascade_sent told[] = {
        CASCADE_SENT_ABSENT, CASCADE_SENT,          CASCADE_SENT_REPEATED,
        CASCADE_SENT,        CASCADE_SENT_REPEATED, CASCADE_SENT_ABSENT};

    for (int i = 0; i < 6; i++)
        messages[i] = *rows_message(&db->rows, to[i], paths[i]);
    assert_ok(db->driver->submit(db->self, &submission));
    assert_false(existed[0]);
    assert_true(existed[1]);
    for (int i = 0; i < 6; i++)
        assert_int_equal(sent[i], told[i]);
}

/* S6: also when the cascade has ended and has no run any more. */
static void
an_ended_cascade_is_not_started_again(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *end = rows_write(&db->rows, it.id, 0);
    cascade_change *start = rows_start(&db->rows, it.id);
    bool existed = false;
    char *picture;

    end->cascade.status = CASCADE_COMPLETED;
    end->run_action = CASCADE_RUN_END;
    rows_update(&db->rows, end, 0, "{}");
    assert_ok(db_commit_one(db, it.engine, 2, end));
    picture = db_picture(db);
    assert_ok(db_submit(db, &start, 1, &existed));
    assert_true(existed);
    db_assert_unchanged(db, picture);
}

/* ---- S5: what is refused ------------------------------------------------ */

/* S5, G13: alone, first, in the middle and last among good changes, `culprit`
 * makes the batch have no effect; without it the same batch is good. */
static void
assert_refused(conformance_db *db, owned *it, cascade_change *culprit)
{
    char *picture = db_picture(db);
    cascade_change *changes[4];
    cascade_uuid ids[3];

    assert_fails(CASCADE_ERR_REFUSED,
                 db_commit_one(db, it->engine, it->number, culprit));
    for (int round = 0; round < 4; round++) {
        changes[0] = culprit;
        for (int i = 0; i < 3; i++) {
            ids[i] = rows_id(&db->rows);
            /* The ids decide where the culprit stands in the batch. */
            ids[i].bytes[0] = i < round ? 0x00 : 0xff;
            changes[i + 1] = rows_start_owned(&db->rows, ids[i], it->engine);
            rows_event(&db->rows, changes[i + 1], 0, "good", "true");
        }
        assert_fails(
            CASCADE_ERR_REFUSED,
            db_commit(db, it->engine, 0, it->number, changes, 4, NULL));
    }
    db_assert_unchanged(db, picture);
    assert_ok(db_commit(db, it->engine, 0, it->number++, changes + 1, 3, NULL));
}

/* S5 */
static void
a_path_that_is_taken_is_refused(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_uuid other = rows_id(&db->rows);
    cascade_change *start = rows_start(&db->rows, other);
    cascade_change *culprit = rows_write(&db->rows, it.id, 1);

    assert_ok(db_submit_one(db, start));
    rows_update(&db->rows, culprit, 0, "{}");
    rows_event(&db->rows, culprit, 0, "key", "1");
    rows_insert(&db->rows, culprit, 1, "second")->node_instance_id =
        start->inserts[0].node_instance_id;
    assert_refused(db, &it, culprit);
}

/* S5 */
static void
a_path_twice_in_one_batch_is_refused(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *culprit = rows_write(&db->rows, it.id, 2);

    rows_insert(&db->rows, culprit, 1, "second")->node_instance_id = "path";
    rows_insert(&db->rows, culprit, 2, "third")->node_instance_id = "path";
    assert_refused(db, &it, culprit);
}

/* S5 */
static void
a_function_id_that_is_taken_is_refused(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *culprit = rows_write(&db->rows, it.id, 0);

    rows_insert(&db->rows, culprit, 0, "second");
    assert_refused(db, &it, culprit);
}

/* S5 */
static void
an_execution_id_that_is_taken_is_refused(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));
    cascade_change *culprit = rows_write(&db->rows, it.id, 1);

    assert_ok(db_submit_one(db, start));
    rows_insert(&db->rows, culprit, 1, "second")->id = start->inserts[0].id;
    assert_refused(db, &it, culprit);
}

/* S5, G3: what is recorded as ended does not end again. */
static void
an_update_of_an_ended_execution_is_refused(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *write = rows_write(&db->rows, it.id, 1);
    cascade_change *culprit = rows_write(&db->rows, it.id, 1);

    rows_update(&db->rows, write, 0, "{\"output\":\"first\"}");
    rows_insert(&db->rows, write, 1, "second");
    assert_ok(db_commit_one(db, it.engine, it.number++, write));
    rows_update(&db->rows, culprit, 1, "{}");
    rows_update(&db->rows, culprit, 0, "{\"output\":\"second\"}");
    assert_refused(db, &it, culprit);
}

/* S5, G3: nor twice in one batch. */
static void
an_execution_does_not_end_twice_in_one_batch(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *culprit = rows_write(&db->rows, it.id, 0);

    rows_update(&db->rows, culprit, 0, "{\"output\":\"first\"}");
    rows_update(&db->rows, culprit, 0, "{\"output\":\"second\"}");
    assert_refused(db, &it, culprit);
}

/* S5 */
static void
an_update_of_a_missing_execution_is_refused(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *culprit = rows_write(&db->rows, it.id, 0);

    rows_update(&db->rows, culprit, 0, "{}");
    rows_update(&db->rows, culprit, 7, "{}");
    assert_refused(db, &it, culprit);
}

/* S5 */
static void
a_write_to_a_missing_cascade_is_refused(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);

    assert_refused(db, &it, rows_write(&db->rows, rows_id(&db->rows), 0));
}

/* S5 */
static void
an_event_of_a_missing_cascade_is_refused(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *culprit = rows_write(&db->rows, rows_id(&db->rows), 0);

    rows_event(&db->rows, culprit, 0, "key", "1");
    assert_refused(db, &it, culprit);
}

/* S5, S6: a start is refused whole when a path of it is taken. */
static void
a_start_whose_path_is_taken_is_refused(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *first = rows_start(&db->rows, rows_id(&db->rows));
    cascade_change *culprit = rows_start(&db->rows, rows_id(&db->rows));
    char *picture;

    rows_insert(&db->rows, first, 1, "second")->node_instance_id = "taken";
    assert_ok(db_submit_one(db, first));
    rows_insert(&db->rows, culprit, 1, "second")->node_instance_id = "taken";
    rows_event(&db->rows, culprit, 0, "key", "1");
    picture = db_picture(db);
    assert_fails(CASCADE_ERR_REFUSED, db_submit_one(db, culprit));
    db_assert_unchanged(db, picture);
    assert_refused(db, &it, culprit);
}

/* S5, G5: who gave a run up, or never had it, gives up or resets nothing of
 * it: not of its next owner, and not of nobody. */
static void
a_run_of_another_is_not_given_up(void **state)
{
    static const cascade_run_action actions[] = {CASCADE_RUN_FREE,
                                                 CASCADE_RUN_RESET};
    conformance_db *db = *state;
    owned it = own_one(db);
    owned other = own_one(db);

    for (int i = 0; i < 2; i++) {
        cascade_change *culprit = rows_write(&db->rows, other.id, 0);

        culprit->run_action = actions[i];
        culprit->run.wake_at_ms = db->rows.now_ms;
        assert_refused(db, &it, culprit);
    }
    assert_ok(db->driver->detach(db->self, &other.engine));
    for (int i = 0; i < 2; i++) {
        cascade_change *culprit = rows_write(&db->rows, other.id, 0);

        culprit->run_action = actions[i];
        culprit->run.wake_at_ms = db->rows.now_ms;
        assert_refused(db, &it, culprit);
    }
}

/* S5: a run that is not there is not given up. */
static void
a_run_that_is_gone_is_not_given_up(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *end = rows_write(&db->rows, it.id, 0);
    cascade_change *culprit = rows_write(&db->rows, it.id, 0);

    end->run_action = CASCADE_RUN_END;
    assert_ok(db_commit_one(db, it.engine, it.number++, end));
    culprit->run_action = CASCADE_RUN_FREE;
    assert_refused(db, &it, culprit);
}

/* S5, S2: a number that was refused is still to be used, with good changes. */
static void
a_refused_number_can_be_used_again(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *write = rows_write(&db->rows, it.id, 1);

    assert_fails(CASCADE_ERR_REFUSED,
                 db_commit_one(db, it.engine, 2,
                               rows_write(&db->rows, rows_id(&db->rows), 0)));
    assert_ok(db_commit_one(db, it.engine, 2, write));
    assert_fails(CASCADE_ERR_LOST, db_commit_one(db, it.engine, 4, write));
}

/* ---- Run actions -------------------------------------------------------- */

static cascade_err
keep_run(void *context, const cascade_row *row, const cascade_run_row *run)
{
    cascade_run_row *kept = context;

    (void)row;
    if (run == NULL) {
        kept->priority = -1;
        return CASCADE_OK;
    }
    *kept = *run;
    kept->queue = strdup(run->queue);
    kept->needs = run->needs == NULL ? NULL : strdup(run->needs);
    return CASCADE_OK;
}

/* The run row of a cascade; its texts are the caller's; priority -1: none. */
static cascade_run_row
read_run(conformance_db *db, const cascade_uuid *id)
{
    cascade_query query = {.id = id, .limit = 1};
    cascade_run_row kept = {.priority = -2};

    assert_ok(db->driver->list(db->self, &query, keep_run, &kept));
    assert_int_not_equal(kept.priority, -2);
    return kept;
}

static void
free_run(cascade_run_row *run)
{
    free((char *)run->queue);
    free((char *)run->needs);
}

/* S2: a start writes the run as given. */
static void
a_start_writes_its_run(void **state)
{
    conformance_db *db = *state;
    cascade_uuid id = rows_id(&db->rows);
    cascade_change *start = rows_start(&db->rows, id);
    cascade_run_row run;

    start->run.queue = "mail";
    start->run.priority = 7;
    start->run.wake_at_ms = db->rows.now_ms + 5000;
    start->run.needs = "node";
    assert_ok(db_submit_one(db, start));
    run = read_run(db, &id);
    assert_string_equal(run.queue, "mail");
    assert_int_equal(run.priority, 7);
    assert_int_equal(run.wake_at_ms, db->rows.now_ms + 5000);
    assert_true(csc_uuid_is_nil(&run.engine_id));
    assert_int_equal(run.claim_no, 0);
    assert_int_equal(run.takeovers, 0);
    assert_string_equal(run.needs, "node");
    free_run(&run);
}

/* S2, S9: born owned, claim_no is 1. */
static void
a_start_can_be_owned_from_birth(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_run_row run = read_run(db, &it.id);

    assert_true(csc_uuid_equal(&run.engine_id, &it.engine));
    assert_int_equal(run.claim_no, 1);
    free_run(&run);
}

/* S2, G8: FREE gives the run up with the wake_at and needs of the change. */
static void
free_gives_the_run_up(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *write = rows_write(&db->rows, it.id, 0);
    cascade_run_row run;

    write->run_action = CASCADE_RUN_FREE;
    write->run.wake_at_ms = db->rows.now_ms + 77777;
    write->run.needs = "unknown-node";
    assert_ok(db_commit_one(db, it.engine, 2, write));
    run = read_run(db, &it.id);
    assert_true(csc_uuid_is_nil(&run.engine_id));
    assert_int_equal(run.wake_at_ms, db->rows.now_ms + 77777);
    assert_string_equal(run.needs, "unknown-node");
    assert_string_equal(run.queue, "default");
    assert_int_equal(run.claim_no, 1);
    assert_int_equal(run.takeovers, 0);
    free_run(&run);
}

/* S2: END deletes the run; that it is gone is no error. */
static void
end_deletes_the_run(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *write = rows_write(&db->rows, it.id, 0);
    cascade_run_row run;

    write->cascade.status = CASCADE_ERROR;
    write->run_action = CASCADE_RUN_END;
    assert_ok(db_commit_one(db, it.engine, 2, write));
    run = read_run(db, &it.id);
    assert_int_equal(run.priority, -1);
    assert_ok(db_commit_one(db, it.engine, 3, write));
}

/* S2, S11: RESET forgets the takeovers, FREE too, KEEP does not. */
static void
reset_forgets_the_takeovers(void **state)
{
    static const struct {
        cascade_run_action action;
        int32_t takeovers;
    } cases[] = {
        {CASCADE_RUN_KEEP, 1}, {CASCADE_RUN_RESET, 0}, {CASCADE_RUN_FREE, 0}};
    conformance_db *db = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        owned it = own_one(db);
        cascade_uuid next = db_attach(db, 1, DB_LONG_LEASE_MS);
        cascade_change *write = rows_write(&db->rows, it.id, 0);
        cascade_claimed claimed[2];
        cascade_claim_result result = {0};
        cascade_run_row run;
        size_t freed = 0;

        assert_ok(db->driver->remove(db->self, &it.engine, 1, 10, &freed));
        assert_int_equal(freed, 1);
        assert_ok(db_claim(db, next, "default", 2, claimed, &result));
        assert_int_equal(result.count, 1);
        assert_int_equal(claimed[0].takeovers, 1);
        write->run_action = cases[i].action;
        write->run.wake_at_ms = db->rows.now_ms + 10 * DB_LONG_LEASE_MS;
        assert_ok(db_commit_one(db, next, 1, write));
        run = read_run(db, &it.id);
        assert_int_equal(run.takeovers, cases[i].takeovers);
        assert_int_equal(run.claim_no, 2);
        free_run(&run);
    }
}

/* S12: the ids of events ascend in the order of the batch. */
static void
events_keep_the_order_of_the_batch(void **state)
{
    conformance_db *db = *state;
    owned it = own_one(db);
    cascade_change *write = rows_write(&db->rows, it.id, 0);
    char *dump;
    char *at;

    for (int i = 0; i < 100; i++)
        rows_event(&db->rows, write, 0, "key", rows_text(&db->rows, "%d", i));
    assert_ok(db_commit_one(db, it.engine, 2, write));
    dump = db_dump(db->handles[0], 0);
    at = dump;
    for (int i = 0; i < 100; i++) {
        at = strstr(at, "<3:key>");
        assert_non_null(at);
        at += strlen("<3:key> <");
        assert_int_equal(strtol(strchr(at, ':') + 1, NULL, 10), i);
    }
    csc_mem_free(dump);
}

/* S2: a batch without changes only moves its lane. */
static void
an_empty_batch_is_good(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    char *picture = db_picture(db);

    assert_ok(db_commit(db, engine, 0, 1, NULL, 0, NULL));
    assert_ok(db_commit(db, engine, 0, 2, NULL, 0, NULL));
    assert_fails(CASCADE_ERR_LOST, db_commit(db, engine, 0, 1, NULL, 0, NULL));
    assert_ok(db_submit(db, NULL, 0, NULL));
    db_assert_unchanged(db, picture);
}

conformance_group
conformance_commit(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_shows_all_its_parts),
        cmocka_unit_test(a_repeated_batch_takes_effect_once),
        cmocka_unit_test(a_repeated_batch_tells_the_same_of_its_starts),
        cmocka_unit_test(a_start_of_an_existing_cascade_leaves_it_alone),
        cmocka_unit_test(a_repeated_submit_is_recognised),
        cmocka_unit_test(a_brief_submit_is_a_submit),
        cmocka_unit_test(a_submit_may_name_a_cascade_twice),
        cmocka_unit_test(a_submit_answers_each_as_if_it_came_alone),
        cmocka_unit_test(an_ended_cascade_is_not_started_again),
        cmocka_unit_test(a_path_that_is_taken_is_refused),
        cmocka_unit_test(a_path_twice_in_one_batch_is_refused),
        cmocka_unit_test(a_function_id_that_is_taken_is_refused),
        cmocka_unit_test(an_execution_id_that_is_taken_is_refused),
        cmocka_unit_test(an_update_of_an_ended_execution_is_refused),
        cmocka_unit_test(an_execution_does_not_end_twice_in_one_batch),
        cmocka_unit_test(an_update_of_a_missing_execution_is_refused),
        cmocka_unit_test(a_write_to_a_missing_cascade_is_refused),
        cmocka_unit_test(an_event_of_a_missing_cascade_is_refused),
        cmocka_unit_test(a_start_whose_path_is_taken_is_refused),
        cmocka_unit_test(a_run_of_another_is_not_given_up),
        cmocka_unit_test(a_run_that_is_gone_is_not_given_up),
        cmocka_unit_test(a_refused_number_can_be_used_again),
        cmocka_unit_test(a_start_writes_its_run),
        cmocka_unit_test(a_start_can_be_owned_from_birth),
        cmocka_unit_test(free_gives_the_run_up),
        cmocka_unit_test(end_deletes_the_run),
        cmocka_unit_test(reset_forgets_the_takeovers),
        cmocka_unit_test(events_keep_the_order_of_the_batch),
        cmocka_unit_test(an_empty_batch_is_good),
    };

    return (conformance_group){"commit", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
