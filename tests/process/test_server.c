/* SPDX-License-Identifier: MIT
 *
 * The server crashes under load and comes back. With full durability nothing is
 * lost, and nothing recorded runs again. With relaxed durability its last
 * commits are gone: the engines notice (by the number in their lane rows, or by
 * being fenced), hydrate anew, and everything ends all the same.
 */
#include <string.h>

#include "process/check.h"
#include "process/flow.h"
#include "process/ledger.h"
#include "process/server.h"
#include "process/worker.h"

#define WORKERS 2
#define CASCADES 150
#define CRASHES 3      /* that meet what they are to meet, */
#define CRASHES_MAX 12 /* of so many */
#define LIMIT_MS 90000
#define LEASE_MS 120000 /* outlasts a server that is slow to come back */
#define PROGRESS_BYTES 8000
/* Lets a crash take as much as possible: what is not written when its turn
 * comes stays in the server's memory. */
#define LAZY                                             \
    "wal_writer_delay=10000 wal_writer_flush_after=1GB " \
    "bgwriter_lru_maxpages=0 wal_buffers=32MB"

typedef struct stage {
    test_server server;
    test_place place;
    test_ledger ledger;
    test_worker workers[WORKERS];
    size_t log_until;
    size_t started;
} stage;

/* Of the test that runs: a failing one leaves its server to clean_up(). */
static stage current;

static int
clean_up(void **state)
{
    (void)state;
    if (current.server.folder[0] != '\0')
        server_remove(&current.server);
    return 0;
}

static void
open_scene(stage *scene, const char *options, bool relaxed)
{
    const worker_options workers = {.lease_ms = LEASE_MS, .work_us = 20000};

    *scene = (stage){.started = 0};
    server_create(&scene->server, options);
    place_create_at(&scene->place, scene->server.conninfo);
    ledger_open(&scene->ledger, &scene->place); /* of full durability */
    scene->place.relaxed = relaxed;
    for (int i = 0; i < WORKERS; i++)
        worker_start(&scene->workers[i], &scene->place, &workers);
}

static void
close_scene(stage *scene)
{
    ledger_wait_ended(&scene->ledger, LIMIT_MS);
    for (int i = 0; i < WORKERS; i++)
        worker_end(&scene->workers[i]);
    ledger_check(&scene->ledger, scene->started);
    ledger_close(&scene->ledger);
    place_destroy(&scene->place);
}

static bool
has_come_far(void *context)
{
    const stage *it = context;

    return ledger_log_size(&it->place) >= it->log_until;
}

/* Work for everybody, and a crash in the middle of it. */
static void
crash_under_load(stage *scene)
{
    flow_start(scene->ledger.store, CASCADES);
    scene->started += CASCADES;
    scene->log_until = ledger_log_size(&scene->place) + PROGRESS_BYTES +
                       place_random(PROGRESS_BYTES);
    assert_true(place_wait(has_come_far, scene, LIMIT_MS));
    server_crash(&scene->server);
}

static void
crashed_server_loses_nothing(void **state)
{
    stage *scene = &current;

    (void)state;
    open_scene(scene, "", false);
    for (int hits = 0, i = 0; hits < CRASHES; i++) {
        assert_true(i < CRASHES_MAX);
        crash_under_load(scene);
        server_start(&scene->server);
        ledger_mark(&scene->ledger);
        hits += scene->ledger.running > 0; /* or it was too slow */
    }
    close_scene(scene);
}

/* How often the workers found out by now that commits of theirs are gone. */
static uint64_t
count_losses(const stage *scene)
{
    uint64_t count = 0;

    for (int i = 0; i < WORKERS; i++) {
        const test_worker *it = &scene->workers[i];
        const worker_figures *figures =
            it->shared != NULL ? &it->shared->figures : &it->last;

        count += figures->losses + figures->fenced;
    }
    return count;
}

static void
lost_commits_are_noticed_and_made_again(void **state)
{
    stage *scene = &current;

    (void)state;
    open_scene(scene, LAZY, true);
    for (int i = 0; i < CRASHES || count_losses(scene) == 0; i++) {
        assert_true(i < CRASHES_MAX);
        crash_under_load(scene);
        server_start(&scene->server);
    }
    close_scene(scene);
    print_message("losses noticed: %llu\n",
                  (unsigned long long)count_losses(scene));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(crashed_server_loses_nothing, clean_up),
    cmocka_unit_test_teardown(lost_commits_are_noticed_and_made_again,
                              clean_up),
};

WORKER_MAIN(tests)
