/* SPDX-License-Identifier: MIT
 *
 * Retries and reruns anywhere: the cascades of a mixed run are put back to
 * random places, while they run and when they have ended, by one engine and
 * another. After every commit the hydrated state equals the live one (G7), by
 * watch.h; nodes see the same at each of their attempts, and none that was
 * recorded is entered again, by mix.h.
 */
#include <stdlib.h>
#include <string.h>

#include "cascade/manage.h"
#include "engine/support/mix.h"
#include "engine/support/watch.h"
#include "support/splitmix.h"

#define HOUR_MS (INT64_C(3600) * 1000)
#define CASCADES 14
#define ROUNDS 24
#define COMMITS_MIN 20
#define POLLS 20
#define FUNCTION_IDS_MAX 1500 /* a cascade that has grown so far is left */

typedef struct courses {
    test_db *db;
    cascade_mode mode;
    cascade_store *store;
    cascade_engine *engine;
    watch *watch;
    uint64_t random;
    cascade_uuid ids[CASCADES];
    size_t asked;
} courses;

static void
begin(courses *c, test_db *db, cascade_mode mode)
{
    c->db = db;
    c->mode = mode;
    c->random = atomic_fetch_add(&db->random, 1);
    c->watch = calloc(1, sizeof(*c->watch)); /* outlives a failed assertion */
    assert_non_null(c->watch);
    mix_reset();
    watch_init(c->watch, db->url);
    c->store = db_wrapped(db, &c->watch->wrap);
}

static void
open_engine(courses *c)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = c->mode,
                                      .worker_count = 4,
                                      .batch_cascades_max = 3,
                                      .lease_ms = HOUR_MS,
                                      .poll_interval_ms = 20};

    c->engine = db_engine(c->db, c->store, &options);
    watch_engine(c->watch, c->engine);
    mix_register(c->engine);
    assert_ok(cascade_engine_start(c->engine));
}

/* Those that had ended count as such until they are put back. */
static void
until_ended(courses *c)
{
    db_ends ends = {c->store, c->ids, CASCADES, 0};

    for (int i = 0; i < POLLS && c->mode != CASCADE_MODE_THREADS; i++)
        assert_ok(cascade_engine_poll(c->engine, 0, NULL));
    if (c->mode == CASCADE_MODE_THREADS)
        assert_true(stores_until(db_all_ended, &ends));
    else
        assert_true(db_poll_until(c->db, &c->engine, 1, db_all_ended, &ends));
}

/* Some function_id that counts. */
static int32_t
pick(courses *c, const cascade_snapshot *snapshot)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    size_t at = (size_t)(splitmix_next(&c->random) % count);
    const cascade_execution_info *info = NULL;

    do {
        info = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, at);
        at = (at + 1) % count;
    } while (info->superseded_by != -1);
    return info->function_id;
}

/* What is asked of a cascade that ended, or was put back, meanwhile is refused.
 */
static void
ask(courses *c, const cascade_uuid *id)
{
    cascade_rerun_options rerun = {.size = sizeof(rerun)};
    cascade_snapshot *snapshot = NULL;
    cascade_err err = CASCADE_OK;

    assert_ok(cascade_snapshot_load(c->store, id, NULL, &snapshot));
    rerun.from = pick(c, snapshot);
    if (cascade_snapshot_info(snapshot)->status == CASCADE_ERROR &&
        splitmix_next(&c->random) % 2 == 0)
        err = cascade_retry(c->store, id, NULL);
    else if (cascade_snapshot_info(snapshot)->fn_id < FUNCTION_IDS_MAX)
        err = cascade_rerun(c->store, id, &rerun);
    cascade_snapshot_free(snapshot);
    expect(err == CASCADE_OK || err == CASCADE_ERR_INVALID);
    c->asked += err == CASCADE_OK;
}

static void
run(test_db *db, cascade_mode mode)
{
    courses c = {0};

    begin(&c, db, mode);
    open_engine(&c);
    mix_start(c.store, c.ids, CASCADES);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < CASCADES; i++)
            if (splitmix_next(&c.random) % 3 == 0)
                ask(&c, &c.ids[i]);
        if (mode != CASCADE_MODE_THREADS || round % 3 == 2)
            until_ended(&c);
        if (round % 4 == 3) {
            watch_forget_engines(c.watch);
            db_close_engine(db, c.engine);
            open_engine(&c);
        }
    }
    until_ended(&c);
    assert_true(c.asked > CASCADES);
    db_close_engine(db, c.engine);
    watch_check(c.watch, COMMITS_MIN);
    db_close_store(db, c.store);
    watch_fini(c.watch);
    free(c.watch);
}

static void
each_commit_hydrates_to_the_live_state_with_threads(test_db *db)
{
    run(db, CASCADE_MODE_THREADS);
}

static void
each_commit_hydrates_to_the_live_state_in_a_loop(test_db *db)
{
    run(db, CASCADE_MODE_LOOP);
}

static void
each_commit_hydrates_to_the_live_state_inline(test_db *db)
{
    db->fake_time = db->backend->virtual_time;
    run(db, CASCADE_MODE_INLINE);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"each_commit_hydrates_to_the_live_state_with_threads",
         each_commit_hydrates_to_the_live_state_with_threads, STORES_ALL},
        {"each_commit_hydrates_to_the_live_state_in_a_loop",
         each_commit_hydrates_to_the_live_state_in_a_loop, STORES_ALL},
        {"each_commit_hydrates_to_the_live_state_inline",
         each_commit_hydrates_to_the_live_state_inline, STORES_ALL},
    };

    return stores_run("courses", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
