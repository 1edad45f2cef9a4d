/* SPDX-License-Identifier: MIT
 *
 * Heartbeats (see cascade_node_heartbeat() in cascade.h): they keep an attempt
 * alive, and save its progress for the next one, at a bounded number of
 * commits; also when the engine dies.
 */
#include <stdatomic.h>
#include <string.h>

#include "engine/support/stage.h"
#include "held/engine_state.h"
#include "store/store.h"

/* ---- Heartbeats --------------------------------------------------------- */

/* Lives on, each time just within the limit; its second attempt does not. */
static cascade_err
beat_on(cascade_node *node, void *user)
{
    stage *s = user;
    int64_t pause_ms = cascade_node_attempt(node) == 1 ? 1000 : 999;

    atomic_fetch_add(&s->entered, 1);
    for (int i = 0; i < 10; i++) {
        cascade_err err = CASCADE_OK;

        fake_clock_advance(&s->db->clock, pause_ms);
        err = cascade_node_heartbeat(node, NULL);
        if (pause_ms == 1000) {
            expect(err == CASCADE_ERR_FENCED);
            expect(cascade_node_is_cancelled(node));
            return err;
        }
        if (!expect(err == CASCADE_OK))
            return err;
        expect(!cascade_node_is_cancelled(node));
    }
    return CASCADE_OK;
}

static void
heartbeats_keep_an_attempt_alive(test_db *db)
{
    stage s = {.nodes = {{"beats", beat_on, {.heartbeat_timeout_ms = 1000}}}};

    stage_open(&s, db, CASCADE_MODE_INLINE);
    stage_run(&s, "beats", CASCADE_COMPLETED);
    stage_check(&s, 0, 2, NULL);
    stage_end(&s);
}

static int
progress_of(cascade_node *node)
{
    const cJSON *progress = NULL;
    cascade_err err = cascade_node_progress(node, &progress);

    if (err == CASCADE_ERR_NOT_FOUND)
        return -1;
    if (!expect(err == CASCADE_OK && cJSON_IsNumber(progress)))
        return -2;
    return progress->valueint;
}

/* Each attempt finds what the one before told last, however it ended. */
static cascade_err
go_further(cascade_node *node, void *user)
{
    stage *s = user;
    int attempt = cascade_node_attempt(node);
    int at = progress_of(node);

    atomic_fetch_add(&s->entered, 1);
    expect(at == (attempt == 1 ? -1 : (attempt - 1) * 10 + 2));
    for (int i = 1; i <= 2; i++)
        expect(cascade_node_heartbeat(
                   node, cJSON_CreateNumber(attempt * 10 + i)) == CASCADE_OK);
    expect(cascade_node_heartbeat(node, NULL) == CASCADE_OK);
    expect(progress_of(node) == attempt * 10 + 2);
    return attempt < 3 ? cascade_node_error(node, "on") : CASCADE_OK;
}

static void
the_next_attempt_reads_progress(test_db *db, cascade_mode mode)
{
    stage s = {.nodes = {{"further", go_further, {0}}}};

    stage_open(&s, db, mode);
    stage_run(&s, "further", CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&s.entered), 3);
    stage_end(&s);
}

static void
the_next_attempt_reads_progress_threads(test_db *db)
{
    the_next_attempt_reads_progress(db, CASCADE_MODE_THREADS);
}

static void
the_next_attempt_reads_progress_loop(test_db *db)
{
    the_next_attempt_reads_progress(db, CASCADE_MODE_LOOP);
}

static void
the_next_attempt_reads_progress_inline(test_db *db)
{
    the_next_attempt_reads_progress(db, CASCADE_MODE_INLINE);
}

/* Leaves to sleep right after it told how far it is; and fails in the end. */
static cascade_err
tell_and_sleep(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    if (atomic_fetch_add(&((stage *)user)->entered, 1) > 0)
        expect(progress_of(node) == 2);
    expect(cascade_node_heartbeat(node, cJSON_CreateNumber(1)) == CASCADE_OK);
    expect(cascade_node_heartbeat(node, cJSON_CreateNumber(2)) == CASCADE_OK);
    err = cascade_node_sleep(node, "nap", 1500);
    return err == CASCADE_OK ? cascade_node_fail(node, "the end") : err;
}

static void
progress_survives_a_wait_and_stays_with_a_failure(test_db *db)
{
    stage s = {.nodes = {{"tells", tell_and_sleep, {0}}}, .park_after_ms = 10};
    cascade_snapshot *snapshot = NULL;

    stage_open(&s, db, CASCADE_MODE_INLINE);
    stage_run(&s, "tells", CASCADE_ERROR);
    assert_int_equal(db_stats(s.engine).parked, 1);
    snapshot = stage_snapshot(&s);
    assert_non_null(
        strstr(stage_execution(snapshot, 0)->full_output, "\"progress\":2"));
    cascade_snapshot_free(snapshot);
    stage_end(&s);
}

/* A thousand in one moment are one commit, and one more each second. */
static cascade_err
beat_often(cascade_node *node, void *user)
{
    stage *s = user;
    uint64_t before = db_stats(s->engine).commits;

    for (int second = 1; second <= 3; second++) {
        for (int i = 0; i < 1000; i++)
            expect(cascade_node_heartbeat(node, cJSON_CreateNumber(i)) ==
                   CASCADE_OK);
        expect(db_stats(s->engine).commits == before + (uint64_t)second);
        fake_clock_advance(&s->db->clock, 1000);
    }
    return CASCADE_OK;
}

static void
progress_is_recorded_once_a_second(test_db *db)
{
    stage s = {.nodes = {{"beats", beat_often, {0}}}};

    stage_open(&s, db, CASCADE_MODE_INLINE);
    stage_run(&s, "beats", CASCADE_COMPLETED);
    stage_end(&s);
}

/* Whether the row of execution 0 has that progress. */
typedef struct wanted {
    const stage *s;
    const char *text;
} wanted;

static bool
is_recorded(void *context)
{
    const wanted *w = context;
    cascade_snapshot *snapshot = NULL;
    const char *record = NULL;
    bool is = false;

    if (cascade_snapshot_load(w->s->store, &w->s->id, NULL, &snapshot) !=
        CASCADE_OK)
        return false;
    record =
        cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 0)->full_output;
    is = record != NULL && strstr(record, w->text) != NULL;
    cascade_snapshot_free(snapshot);
    return is;
}

/* The same, where the test's clock does not stand still. */
static bool
is_recorded_in_time(void *context)
{
    const wanted *w = context;

    if (w->s->db->fake_time)
        fake_clock_advance(&w->s->db->clock, 1000);
    return is_recorded(context);
}

/* Tells how far it is, and blocks, unless somebody was here before. */
static cascade_err
tell_and_block(cascade_node *node, void *user)
{
    stage *s = user;

    if (atomic_fetch_add(&s->entered, 1) > 0) {
        expect(cascade_node_attempt(node) == 1); /* nobody saw it fail */
        expect(progress_of(node) == 8);
        return CASCADE_OK;
    }
    expect(progress_of(node) == -1);
    expect(cascade_node_heartbeat(node, cJSON_CreateNumber(7)) == CASCADE_OK);
    expect(cascade_node_heartbeat(node, cJSON_CreateNumber(8)) == CASCADE_OK);
    stage_block(&s->go);
    return CASCADE_OK;
}

/* What was told in between is recorded when its second is over; whoever takes
 * over reads it. */
static void
progress_outlives_the_engine(test_db *db)
{
    stage s = {.nodes = {{"tells", tell_and_block, {0}}}};
    wanted first = {&s, "\"progress\":"};
    wanted last = {&s, "\"progress\":8"};
    cascade_engine *dead = NULL;
    size_t freed = 0;

    db->fake_time = db->backend->virtual_time;
    stage_open(&s, db, CASCADE_MODE_THREADS);
    s.id = db_start(s.store, "tells");
    assert_true(stores_until(is_recorded, &first));
    assert_true(stores_until(is_recorded_in_time, &last));
    dead = s.engine;
    /* Its own housekeeping may be the one that frees the cascade. */
    assert_ok(dead->store->driver->remove(
        dead->store->self, &dead->incarnation.id, 1, 10, &freed));
    cascade_engine_request_stop(dead);
    stage_start_engine(&s);
    stage_await(&s, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&s.entered), 2);
    atomic_store(&s.go, true);
    db_close_engine(db, dead);
    stage_end(&s);
}

/* Leaves to start a child right behind what it tells. */
static cascade_err
tell_and_bear(cascade_node *node, void *user)
{
    stage *s = user;
    cascade_uuid id;

    if (atomic_fetch_add(&s->entered, 1) == 0) {
        expect(cascade_node_heartbeat(node, cJSON_CreateNumber(7)) ==
               CASCADE_OK);
        expect(cascade_node_heartbeat(node, cJSON_CreateNumber(8)) ==
               CASCADE_OK);
    } else {
        expect(progress_of(node) == 8);
    }
    return cascade_node_start_child(node, "kid", "nobody", NULL, NULL, &id);
}

static void
progress_survives_the_start_of_a_child(test_db *db)
{
    stage s = {.nodes = {{"tells", tell_and_bear, {0}}}};

    stage_open(&s, db, CASCADE_MODE_THREADS);
    stage_run(&s, "tells", CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&s.entered), 2);
    stage_end(&s);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"heartbeats_keep_an_attempt_alive", heartbeats_keep_an_attempt_alive,
         STORES_VIRTUAL},
        {"the_next_attempt_reads_progress_with_threads",
         the_next_attempt_reads_progress_threads, STORES_ALL},
        {"the_next_attempt_reads_progress_in_a_loop",
         the_next_attempt_reads_progress_loop, STORES_ALL},
        {"the_next_attempt_reads_progress_inline",
         the_next_attempt_reads_progress_inline, STORES_ALL},
        {"progress_survives_a_wait_and_stays_with_a_failure",
         progress_survives_a_wait_and_stays_with_a_failure, STORES_VIRTUAL},
        {"progress_is_recorded_once_a_second",
         progress_is_recorded_once_a_second, STORES_VIRTUAL},
        {"progress_survives_the_start_of_a_child",
         progress_survives_the_start_of_a_child, STORES_ALL},
        {"progress_outlives_the_engine", progress_outlives_the_engine,
         STORES_ALL},
    };

    return stores_run("heartbeats", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
