/* SPDX-License-Identifier: MIT
 *
 * Changes that the store refuses for good: the culprit alone pays. Its batch is
 * split, the others are committed, its execution is recorded FAILED. Engines
 * run INLINE, so that all nodes of a round are in one batch.
 *
 * Where there is SQL the refusal is real: another connection deletes the
 * cascade, or takes the path of an execution. On memory nobody can do that: the
 * driver in between refuses what the database would.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "engine/support/mix.h"
#include "support/stores.h"

#define OTHERS 20

typedef struct refusal {
    wrap_store wrap;
    test_db *db;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid culprit;
    bool harmed;      /* the other connection did its work */
    const char *harm; /* its SQL, %s being the culprit's id */
    int32_t place;    /* on memory: the refused execution, -1: all */
    bool failures;    /* on memory: its failure is refused too */
} refusal;

/* ---- The other connection ----------------------------------------------- */

static bool
is_refused(const refusal *r, const cascade_change *change)
{
    if (!csc_uuid_equal(&change->cascade.id, &r->culprit) ||
        change->run_action == CASCADE_RUN_START ||
        change->run_action == CASCADE_RUN_FREE)
        return false;
    for (size_t i = 0; i < change->update_count; i++) {
        const cascade_execution_row *row = &change->updates[i];

        if ((r->place < 0 || row->function_id == r->place) &&
            (r->failures || row->status == CASCADE_EXECUTION_COMPLETED))
            return true;
    }
    return false;
}

static cascade_err
harm_or_refuse(void *context, const wrap_call *call)
{
    refusal *r = context;

    if (call->move != WRAP_COMMIT || csc_uuid_is_nil(&r->culprit))
        return CASCADE_OK;
    for (size_t i = 0; i < call->batch->change_count; i++) {
        const cascade_change *change = &call->batch->changes[i];

        if (!is_refused(r, change))
            continue;
        if (r->harm == NULL)
            return CASCADE_ERR_REFUSED;
        if (!r->harmed) {
            char id[CASCADE_UUID_TEXT_SIZE];
            char sql[1024];

            r->harmed = true;
            snprintf(sql, sizeof(sql), r->harm,
                     cascade_uuid_format(&r->culprit, id), id);
            expect(db_sql(r->db, sql) == 0);
        }
    }
    return CASCADE_OK;
}

/* ---- Nodes -------------------------------------------------------------- */

static cascade_err
work(cascade_node *node, void *user)
{
    (void)user;
    if (cascade_node_put(node, "k", cJSON_CreateNumber(1)) != CASCADE_OK)
        return CASCADE_ERR_FAILED;
    return cascade_node_spawn(node, "after", NULL, NULL);
}

static cascade_err
after(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_put(node, "k", cJSON_CreateNumber(2));
}

/* Spawns two that end in one batch. */
static cascade_err
pair(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_spawn(node, "work", NULL, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_spawn(node, "work", NULL, NULL)
                             : err;
}

/* Goes on without its sleep. */
static cascade_err
nap(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_sleep(node, "nap", 1);

    (void)user;
    if (err != CASCADE_ERR_FINAL)
        return err == CASCADE_OK ? CASCADE_ERR_FINAL : err;
    return cascade_node_put(node, "k", cJSON_CreateNumber(3));
}

static refusal *
refusal_create(test_db *db, const char *harm)
{
    cascade_engine_options options = {
        .size = sizeof(options), .mode = CASCADE_MODE_INLINE, .lane_count = 1};
    refusal *r = calloc(1, sizeof(*r));

    assert_non_null(r);
    assert_int_equal(wrap_store_init(&r->wrap, db->url), 0);
    r->wrap.context = r;
    r->wrap.before = harm_or_refuse;
    r->db = db;
    r->place = -1;
    r->harm = db_has_sql(db) ? harm : NULL;
    r->store = db_wrapped(db, &r->wrap);
    r->engine = db_engine(db, r->store, &options);
    assert_ok(cascade_engine_register(r->engine, "work", work, NULL, NULL));
    assert_ok(cascade_engine_register(r->engine, "after", after, NULL, NULL));
    assert_ok(cascade_engine_register(r->engine, "pair", pair, NULL, NULL));
    assert_ok(cascade_engine_register(r->engine, "nap", nap, NULL, NULL));
    assert_ok(cascade_engine_start(r->engine));
    return r;
}

static void
refusal_free(refusal *r)
{
    db_close_engine(r->db, r->engine);
    db_close_store(r->db, r->store);
    wrap_store_fini(&r->wrap);
    free(r);
}

/* Starts the others and, among them, the culprit. */
static void
start_all(refusal *r, const char *node, cascade_uuid *others)
{
    for (size_t i = 0; i < OTHERS; i++) {
        others[i] = db_start(r->store, "work");
        if (i == OTHERS / 2)
            r->culprit = db_start(r->store, node);
    }
}

static bool
has_refused(void *context)
{
    refusal *r = context;

    return db_stats(r->engine).refusals > 0;
}

static void
run_until_ended(refusal *r, const cascade_uuid *ids, size_t count)
{
    db_ends ends = {r->store, ids, count, 0};

    assert_true(db_poll_until(r->db, &r->engine, 1, db_all_ended, &ends));
    assert_true(db_poll_until(r->db, &r->engine, 1, has_refused, r));
}

static void
check_others(refusal *r, const cascade_uuid *others)
{
    for (size_t i = 0; i < OTHERS; i++) {
        cascade_snapshot *snapshot = NULL;

        db_await(r->store, &others[i], CASCADE_COMPLETED);
        assert_ok(cascade_snapshot_load(r->store, &others[i], NULL, &snapshot));
        assert_string_equal(cascade_snapshot_context(snapshot),
                            "{\"k\":[1,2]}");
        cascade_snapshot_free(snapshot);
    }
}

/* The status of an execution of the culprit, and its error text. */
static void
check_execution(refusal *r, size_t index, cascade_execution_status status,
                const char *error)
{
    cascade_snapshot *snapshot = NULL;
    const cascade_execution_info *info = NULL;

    assert_ok(cascade_snapshot_load(r->store, &r->culprit, NULL, &snapshot));
    info = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, index);
    assert_non_null(info);
    assert_int_equal(info->status, status);
    if (error == NULL)
        assert_null(info->error);
    else
        assert_non_null(strstr(info->error, error));
    cascade_snapshot_free(snapshot);
}

/* ---- Tests -------------------------------------------------------------- */

static void
a_cascade_that_was_deleted_does_not_hold_up_its_batch(test_db *db)
{
    refusal *r = refusal_create(
        db, "DELETE FROM node_executions WHERE cascade_id = '%s'; "
            "DELETE FROM cascades WHERE id = '%s'");
    cascade_uuid others[OTHERS];

    db->unsound = r->harm != NULL; /* V16: its run is left on SQLite */
    start_all(r, "work", others);
    run_until_ended(r, others, OTHERS);
    check_others(r, others);
    assert_int_equal(db_stats(r->engine).refusals, 1);
    assert_int_equal(db_stats(r->engine).fences, 0);
    if (r->harm != NULL)
        assert_fails(CASCADE_ERR_NOT_FOUND,
                     cascade_wait(r->store, &r->culprit, 0, NULL));
    refusal_free(r);
}

static void
a_path_that_is_taken_fails_the_execution_alone(test_db *db)
{
    refusal *r = refusal_create(
        db, "INSERT INTO node_executions (id, cascade_id, function_id, status, "
            "node_instance_id, node_name, input_context, location, started_at) "
            "VALUES ('018f0000-0000-7000-8000-00000000ffff', '%s', 7, "
            "'COMPLETED', '%s/0/after#0', 'x', '{}', 'client', "
            "'2024-01-01 00:00:00')");
    cascade_uuid others[OTHERS];

    db->unsound = r->harm != NULL;
    start_all(r, "work", others);
    run_until_ended(r, others, OTHERS);
    run_until_ended(r, &r->culprit, 1);
    check_others(r, others);
    db_await(r->store, &r->culprit, CASCADE_ERROR);
    check_execution(r, 0, CASCADE_EXECUTION_FAILED, "the store refused");
    assert_int_equal(db_stats(r->engine).refusals, 1);
    refusal_free(r);
}

/* The end of a sleep is refused: its node is told, and may go on. */
static void
a_refused_sleep_is_for_its_node_to_judge(test_db *db)
{
    refusal *r = refusal_create(db, NULL);
    cascade_uuid others[OTHERS];

    r->place = 1;
    start_all(r, "nap", others);
    run_until_ended(r, others, OTHERS);
    run_until_ended(r, &r->culprit, 1);
    check_others(r, others);
    db_await(r->store, &r->culprit, CASCADE_COMPLETED);
    check_execution(r, 0, CASCADE_EXECUTION_COMPLETED, NULL);
    check_execution(r, 1, CASCADE_EXECUTION_FAILED, "the store refused");
    refusal_free(r);
}

/* Two executions of one cascade end in one batch, and one is refused. */
static void
a_refused_execution_does_not_take_its_siblings_along(test_db *db)
{
    refusal *r = refusal_create(
        db, "INSERT INTO node_executions (id, cascade_id, function_id, status, "
            "node_instance_id, node_name, input_context, location, started_at) "
            "VALUES ('018f0000-0000-7000-8000-00000000ffff', '%s', 70, "
            "'COMPLETED', '%s/2/after#0', 'x', '{}', 'client', "
            "'2024-01-01 00:00:00')");
    cascade_uuid others[OTHERS];

    db->unsound = r->harm != NULL;
    r->place = 2;
    start_all(r, "pair", others);
    run_until_ended(r, others, OTHERS);
    run_until_ended(r, &r->culprit, 1);
    check_others(r, others);
    db_await(r->store, &r->culprit, CASCADE_ERROR);
    check_execution(r, 0, CASCADE_EXECUTION_COMPLETED, NULL);
    check_execution(r, 1, CASCADE_EXECUTION_COMPLETED, NULL);
    check_execution(r, 2, CASCADE_EXECUTION_FAILED, "the store refused");
    refusal_free(r);
}

static bool
was_given_up(void *context)
{
    refusal *r = context;
    cascade_info *info = NULL;
    bool given_up = false;

    assert_ok(cascade_get(r->store, &r->culprit, &info));
    given_up = db_stats(r->engine).refusals >= 2 && !info->owned;
    cascade_info_free(info);
    return given_up;
}

/* When even its failure is refused it is left alone for a while. */
static void
a_cascade_whose_failure_is_refused_too_is_left_alone(test_db *db)
{
    refusal *r = refusal_create(db, NULL);
    cascade_info *info = NULL;
    int64_t begun_ms = 0;

    r->failures = true;
    assert_ok(cascade_store_now(r->store, &begun_ms));
    r->culprit = db_start(r->store, "work");
    assert_true(db_poll_until(db, &r->engine, 1, was_given_up, r));
    assert_ok(cascade_get(r->store, &r->culprit, &info));
    assert_int_equal(info->status, CASCADE_RUNNING);
    assert_true(info->wake_at_ms > begun_ms + 30000);
    cascade_info_free(info);
    assert_int_equal(db_stats(r->engine).held, 0);
    refusal_free(r);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_cascade_that_was_deleted_does_not_hold_up_its_batch",
         a_cascade_that_was_deleted_does_not_hold_up_its_batch, STORES_ALL},
        {"a_path_that_is_taken_fails_the_execution_alone",
         a_path_that_is_taken_fails_the_execution_alone, STORES_ALL},
        {"a_refused_sleep_is_for_its_node_to_judge",
         a_refused_sleep_is_for_its_node_to_judge, STORES_ALL},
        {"a_refused_execution_does_not_take_its_siblings_along",
         a_refused_execution_does_not_take_its_siblings_along, STORES_ALL},
        {"a_cascade_whose_failure_is_refused_too_is_left_alone",
         a_cascade_whose_failure_is_refused_too_is_left_alone, STORES_ALL},
    };

    return stores_run("refuse", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
