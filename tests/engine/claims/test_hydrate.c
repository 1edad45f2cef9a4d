/* SPDX-License-Identifier: MIT
 *
 * G7, same state: after every commit of a mixed run the hydrated state equals
 * the live one, field by field (watch.h does the comparing). And the comparison
 * itself: altering any one field of the rows makes it fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "engine/support/mix.h"
#include "engine/support/watch.h"
#include "state/state.h"

#define COMMITS_MIN 1000
#define WAVE 28 /* cascades started at once */
#define WAVES_MAX 40

/* ---- The mixed run ------------------------------------------------------ */

static size_t
commits(watch *w)
{
    size_t count = 0;

    pthread_mutex_lock(&w->mutex);
    count = w->commits;
    pthread_mutex_unlock(&w->mutex);
    return count;
}

static void
check_ends(cascade_store *store, const cascade_uuid *ids)
{
    for (size_t i = 0; i < WAVE; i++)
        db_await(store, &ids[i],
                 i % MIX_DOOMED == MIX_DOOMED - 1 ? CASCADE_ERROR
                                                  : CASCADE_COMPLETED);
}

/* Waves of cascades until there were commits enough. */
static void
run_mix(test_db *db, cascade_mode mode)
{
    watch *w = calloc(1, sizeof(*w)); /* outlives a failed assertion */
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = mode,
                                      .worker_count = 6,
                                      .batch_cascades_max = 3,
                                      .location = "here"};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_uuid ids[WAVE];

    assert_non_null(w);
    mix_reset();
    watch_init(w, db->url);
    store = db_wrapped(db, &w->wrap);
    engine = db_engine(db, store, &options);
    watch_engine(w, engine);
    mix_register(engine);
    assert_ok(cascade_engine_start(engine));
    for (size_t i = 0; i < WAVES_MAX && commits(w) < COMMITS_MIN; i++) {
        db_ends ends = {store, ids, WAVE, 0};

        mix_start(store, ids, WAVE);
        if (mode == CASCADE_MODE_THREADS)
            assert_true(stores_until(db_all_ended, &ends));
        else
            assert_true(db_poll_until(db, &engine, 1, db_all_ended, &ends));
        check_ends(store, ids);
    }
    db_close_engine(db, engine);
    watch_check(w, COMMITS_MIN);
    db_close_store(db, store);
    watch_fini(w);
    free(w);
}

static void
every_commit_hydrates_to_the_live_state_with_threads(test_db *db)
{
    run_mix(db, CASCADE_MODE_THREADS);
}

static void
every_commit_hydrates_to_the_live_state_in_a_loop(test_db *db)
{
    run_mix(db, CASCADE_MODE_LOOP);
}

static void
every_commit_hydrates_to_the_live_state_inline(test_db *db)
{
    db->fake_time = db->backend->virtual_time;
    run_mix(db, CASCADE_MODE_INLINE);
}

/* ---- The comparison can fail -------------------------------------------- */

#define ID "01890000-0000-7000-8000-000000000001"

static void
fill_execution(cascade_execution_row *row, int32_t function_id,
               const char *path, const char *name,
               cascade_execution_status status, const char *full_output)
{
    *row = (cascade_execution_row){.function_id = function_id,
                                   .status = status,
                                   .node_instance_id = path,
                                   .node_name = name,
                                   .input = "{\"in\":1}",
                                   .full_output = full_output,
                                   .location = "server",
                                   .started_at_ms = 1000,
                                   .completed_at_ms = CASCADE_TIME_NONE};
    (void)cascade_uuid_parse(ID, &row->cascade_id);
    row->id = row->cascade_id;
    row->id.bytes[15] = (unsigned char)(0x80 + function_id);
    if (status != CASCADE_EXECUTION_RUNNING)
        row->completed_at_ms = 2000;
}

/* 0 root, ended; 1 a line with step 5; 2 a flaky one that has failed twice;
 * 3 failed, and the cascade goes on; 4 joins 1, 2 and 3. */
static void
fill_rows(dump_rows *rows)
{
    static cascade_execution_row e[6];
    static cascade_event_row v[3];

    fill_execution(&e[0], 0, ID "/-/root#0", "root",
                   CASCADE_EXECUTION_COMPLETED,
                   "{\"at\":0,\"keys\":[\"a\"],\"cascade\":{\"queue\":\"q\","
                   "\"priority\":3},\"spawned\":[1,2,3],\"attempts\":1}");
    fill_execution(&e[1], 1, ID "/0/line#0", "line", CASCADE_EXECUTION_RUNNING,
                   "{\"steps\":{\"s#1\":1},\"priority\":2,"
                   "\"not_before\":5000}");
    fill_execution(&e[2], 2, ID "/0/flaky#0", "flaky",
                   CASCADE_EXECUTION_RUNNING,
                   "{\"attempts\":2,\"not_before\":7000}");
    e[2].error = "failed twice";
    fill_execution(&e[3], 3, ID "/0/other#0", "other", CASCADE_EXECUTION_FAILED,
                   "{\"at\":4,\"attempts\":3,\"continue\":true}");
    e[3].error = "gone";
    fill_execution(&e[4], 4, ID "/0/join#0", "join", CASCADE_EXECUTION_RUNNING,
                   "{\"after\":[1,2,3]}");
    fill_execution(&e[5], 5, ID "/1/cascade.step:s#0", "cascade.step:s",
                   CASCADE_EXECUTION_COMPLETED,
                   "{\"at\":4,\"keys\":[\"a\"],\"output\":{\"x\":1},"
                   "\"attempts\":1}");
    for (size_t i = 0; i < 3; i++) {
        v[i] = (cascade_event_row){.cascade_id = e[0].cascade_id,
                                   .function_id = i == 0 ? 0 : 5,
                                   .key = i == 2 ? "bb" : "a",
                                   .value = i == 0 ? "1" : "{\"y\":2}",
                                   .ui_value = i == 2 ? "\"two\"" : NULL,
                                   .created_at_us = 1500000};
    }
    *rows = (dump_rows){.found = true,
                        .executions = e,
                        .execution_count = 6,
                        .events = v,
                        .event_count = 3};
    rows->cascade = (cascade_row){.id = e[0].cascade_id,
                                  .status = CASCADE_RUNNING,
                                  .fn_id = 5,
                                  .user_id = "user",
                                  .created_at_ms = 900,
                                  .updated_at_ms = 1900};
}

/* Everything that is compared. Freed by the caller. */
static char *
picture(const dump_rows *rows, bool with_rows)
{
    csc_buf text = {0};
    csc_state state;

    if (with_rows)
        dump_rows_text(&text, rows);
    assert_ok(dump_rows_hydrate(rows, &state));
    dump_state(&text, &state);
    csc_state_fini(&state);
    return csc_buf_take(&text);
}

typedef enum in_state {
    ONLY_ROWS,
    IN_STATE
} in_state;

/* One field and another value of it. `where`: what runs depends on it, so
 * the state alone must differ too. */
static void
expect_altered(const char *field, const dump_rows *rows, in_state where)
{
    dump_rows original;
    dump_rows copy = *rows;
    cascade_execution_row executions[6];
    cascade_event_row events[3];
    char *altered[2] = {NULL};
    char *before[2] = {NULL};

    memcpy(executions, rows->executions, sizeof(executions));
    memcpy(events, rows->events, sizeof(events));
    copy.executions = executions;
    copy.events = events;
    altered[0] = picture(&copy, true);
    altered[1] = picture(&copy, false);
    fill_rows(&original);
    before[0] = picture(&original, true);
    before[1] = picture(&original, false);
    if (strcmp(altered[0], before[0]) == 0 ||
        (where == IN_STATE && strcmp(altered[1], before[1]) == 0))
        fail_msg("altering %s is not noticed", field);
    for (size_t i = 0; i < 2; i++) {
        csc_mem_free(altered[i]);
        csc_mem_free(before[i]);
    }
}

/* `field` (of `rows`) gets another value. */
#define ALTER(field, value, where) \
    fill_rows(&rows);              \
    rows.field = value;            \
    expect_altered(#field, &rows, where)

static void
alter_cascade(void)
{
    dump_rows rows;

    ALTER(cascade.id.bytes[3], 7, IN_STATE);
    ALTER(cascade.status, CASCADE_ERROR, IN_STATE);
    ALTER(cascade.fn_id, 6, IN_STATE);
    ALTER(cascade.user_id, "other", IN_STATE);
    ALTER(cascade.created_at_ms, 901, IN_STATE);
    ALTER(cascade.updated_at_ms, 1901, IN_STATE);
}

static void
alter_executions(void)
{
    dump_rows rows;

    ALTER(executions[1].id.bytes[0], 9, ONLY_ROWS);
    ALTER(executions[1].cascade_id.bytes[0], 9, ONLY_ROWS);
    ALTER(executions[2].function_id, 6, IN_STATE);
    ALTER(executions[2].status, CASCADE_EXECUTION_COMPLETED, IN_STATE);
    ALTER(executions[2].status, CASCADE_EXECUTION_FAILED, IN_STATE);
    ALTER(executions[2].node_instance_id, ID "/0/flaky#1", IN_STATE);
    ALTER(executions[2].node_instance_id, ID "/1/flaky#0", IN_STATE);
    ALTER(executions[2].node_name, "flacky", IN_STATE);
    ALTER(executions[2].input, "{\"in\":2}", IN_STATE);
    ALTER(executions[2].location, "client", ONLY_ROWS);
    ALTER(executions[2].error, "failed", IN_STATE);
    ALTER(executions[2].error, NULL, IN_STATE);
    ALTER(executions[2].started_at_ms, 1001, IN_STATE);
    ALTER(executions[2].completed_at_ms, 2000, ONLY_ROWS);
    ALTER(executions[5].node_instance_id, ID "/2/cascade.step:s#0", IN_STATE);
    ALTER(executions[5].node_name, "cascade.step:t", IN_STATE);
    ALTER(executions[5].status, CASCADE_EXECUTION_FAILED, IN_STATE);
    ALTER(executions[3].status, CASCADE_EXECUTION_RUNNING, IN_STATE);
    ALTER(executions[0].status, CASCADE_EXECUTION_RUNNING, IN_STATE);
    ALTER(execution_count, 5, IN_STATE);
}

/* The members of full_output, each where it counts. */
static void
alter_records(void)
{
    dump_rows rows;

    ALTER(executions[0].full_output,
          "{\"at\":1,\"cascade\":{\"queue\":\"q\",\"priority\":3}}", IN_STATE);
    ALTER(executions[0].full_output,
          "{\"at\":0,\"cascade\":{\"queue\":\"r\",\"priority\":3}}", IN_STATE);
    ALTER(executions[0].full_output,
          "{\"at\":0,\"cascade\":{\"queue\":\"q\",\"priority\":4}}", IN_STATE);
    ALTER(executions[0].full_output,
          "{\"at\":0,\"keys\":[\"c\"],\"cascade\":{\"queue\":\"q\","
          "\"priority\":3},\"spawned\":[1,2,3],\"attempts\":1}",
          ONLY_ROWS);
    ALTER(executions[1].full_output,
          "{\"steps\":{\"s#1\":2},\"priority\":2,\"not_before\":5000}",
          IN_STATE);
    ALTER(executions[1].full_output,
          "{\"steps\":{\"s#1\":1},\"priority\":1,\"not_before\":5000}",
          IN_STATE);
    ALTER(executions[1].full_output,
          "{\"steps\":{\"s#1\":1},\"priority\":2,\"not_before\":5001}",
          IN_STATE);
    ALTER(executions[2].full_output, "{\"attempts\":1,\"not_before\":7000}",
          IN_STATE);
    ALTER(executions[2].full_output, NULL, IN_STATE);
    ALTER(executions[4].full_output, "{\"after\":[1,2]}", IN_STATE);
    ALTER(executions[4].full_output, "{\"after\":[1,3]}", IN_STATE);
    ALTER(executions[4].full_output, "{\"after\":[1,2,3],\"first\":2}",
          IN_STATE);
    ALTER(executions[4].full_output,
          "{\"after\":[1,2,3],\"on_failure\":\"fail\"}", IN_STATE);
    ALTER(executions[4].full_output,
          "{\"after\":[1,2,3],\"on_failure\":\"skip\"}", IN_STATE);
    ALTER(executions[3].full_output,
          "{\"at\":4,\"late\":[4],\"attempts\":3,\"continue\":true}", IN_STATE);
    ALTER(executions[3].full_output,
          "{\"at\":4,\"output\":1,\"attempts\":3,\"continue\":true}", IN_STATE);
    ALTER(executions[5].full_output,
          "{\"at\":3,\"output\":{\"x\":1},\"attempts\":1}", IN_STATE);
    ALTER(executions[5].full_output,
          "{\"at\":4,\"output\":{\"x\":2},\"attempts\":1}", IN_STATE);
    ALTER(executions[5].full_output,
          "{\"at\":4,\"output\":{\"x\":1},\"attempts\":2}", IN_STATE);
    ALTER(executions[3].full_output, "{\"at\":4,\"attempts\":3}", IN_STATE);
}

static void
alter_events(void)
{
    dump_rows rows;

    ALTER(events[1].cascade_id.bytes[0], 9, ONLY_ROWS);
    ALTER(events[1].function_id, 0, IN_STATE);
    ALTER(events[1].key, "b", IN_STATE);
    ALTER(events[1].value, "{\"y\":3}", IN_STATE);
    ALTER(events[1].ui_value, "1", IN_STATE);
    ALTER(events[2].ui_value, NULL, IN_STATE);
    ALTER(events[2].created_at_us, 1500001, ONLY_ROWS);
    ALTER(events[1].created_at_us, 1499999, ONLY_ROWS);
    ALTER(event_count, 2, IN_STATE);
}

static void
altering_any_one_field_of_the_rows_is_noticed(test_db *db)
{
    (void)db;
    alter_cascade();
    alter_executions();
    alter_records();
    alter_events();
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"altering_any_one_field_of_the_rows_is_noticed",
         altering_any_one_field_of_the_rows_is_noticed, STORES_MEMORY},
        {"every_commit_hydrates_to_the_live_state_with_threads",
         every_commit_hydrates_to_the_live_state_with_threads, STORES_ALL},
        {"every_commit_hydrates_to_the_live_state_in_a_loop",
         every_commit_hydrates_to_the_live_state_in_a_loop, STORES_ALL},
        {"every_commit_hydrates_to_the_live_state_inline",
         every_commit_hydrates_to_the_live_state_inline, STORES_ALL},
    };

    return stores_run("hydrate", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
