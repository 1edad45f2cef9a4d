/* SPDX-License-Identifier: MIT
 *
 * A node that takes its process down: whoever supervises the process starts it
 * again, and when it has died so often in trial as the limit says the node's
 * execution fails as poisoned instead of running; where a cascade does so as it
 * is loaded, it is ended unread. Everything else completes, whatever it shared
 * a process with.
 */
#include <stdio.h>
#include <string.h>

#include "process/check.h"
#include "process/flow.h"
#include "process/ledger.h"
#include "process/worker.h"

#define CASCADES 20
#define POISON_LIMIT 4
#define DEATHS (3 + POISON_LIMIT) /* the first make a suspect of it */
#define WORKERS 2
#define LIMIT_MS 60000
/* Who is dead is known by his pid; nobody who lives is ever taken for dead,
 * which would count as a death of the node's. */
#define LEASE_MS 120000

typedef struct supervisor {
    test_ledger *ledger;
    const worker_options *options;
    test_worker workers[WORKERS];
    int deaths;
    int deaths_max; /* what they are to come to */
} supervisor;

/* The supervisor: starts again what has died; true when all is done, and nobody
 * is to be found dead any more. */
static bool
supervise(void *context)
{
    supervisor *it = context;

    ledger_mark(it->ledger);
    for (int i = 0; i < WORKERS; i++) {
        if (!worker_ended(&it->workers[i]))
            continue;
        it->deaths++;
        worker_spawn(&it->workers[i], it->ledger->place, it->options);
    }
    return it->ledger->running == 0 && it->deaths >= it->deaths_max;
}

static size_t
count(cascade_store *store, cascade_status status)
{
    const cascade_list_options options = {.size = sizeof(options),
                                          .status = status};
    cascade_page *page = NULL;
    size_t found = 0;

    assert_ok(cascade_list(store, &options, &page));
    found = cascade_page_count(page);
    cascade_page_free(page);
    return found;
}

static void
check_poisoned(cascade_store *store, const cascade_uuid *id)
{
    cascade_snapshot *snapshot = NULL;
    const cascade_execution_info *crash = NULL;

    assert_ok(cascade_snapshot_load(store, id, NULL, &snapshot));
    assert_int_equal(CASCADE_ERROR, cascade_snapshot_info(snapshot)->status);
    assert_non_null(strstr(cascade_snapshot_error(snapshot), "poison"));
    crash = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 0);
    assert_int_equal(CASCADE_EXECUTION_FAILED, crash->status);
    cascade_snapshot_free(snapshot);
}

/* What is started last kills, and is found so after so many deaths. */
static void
play(place_kind kind, const char *how, int deaths,
     void (*check)(cascade_store *store, const cascade_uuid *id))
{
    worker_options options = {.lease_ms = LEASE_MS,
                              .poison_limit = POISON_LIMIT};
    test_place place;
    test_ledger ledger;
    supervisor watch = {
        .ledger = &ledger, .options = &options, .deaths_max = deaths};
    cascade_started crash;

    snprintf(options.crash, sizeof(options.crash), "%s", how);
    place_create(&place, kind);
    ledger_open(&ledger, &place);
    flow_start(ledger.store, CASCADES);
    assert_ok(cascade_start(ledger.store, "crash", NULL, NULL, &crash));
    if (how[0] == '\0')
        options.bomb = crash.id;
    for (int i = 0; i < WORKERS; i++)
        worker_spawn(&watch.workers[i], &place, &options);
    if (!place_wait(supervise, &watch, LIMIT_MS))
        fail_msg("%zu cascades run after %d deaths", ledger.running,
                 watch.deaths);
    for (int i = 0; i < WORKERS; i++)
        worker_end(&watch.workers[i]);
    assert_int_equal(deaths, watch.deaths);
    assert_int_equal(CASCADES, count(ledger.store, CASCADE_COMPLETED));
    assert_int_equal(1, count(ledger.store, CASCADE_ERROR));
    check(ledger.store, &crash.id);
    ledger_close(&ledger);
    place_destroy(&place);
}

static void
check_unread(cascade_store *store, const cascade_uuid *id)
{
    cascade_snapshot *snapshot = NULL;
    const cascade_execution_info *end = NULL;

    assert_ok(cascade_snapshot_load(store, id, NULL, &snapshot));
    assert_int_equal(CASCADE_ERROR, cascade_snapshot_info(snapshot)->status);
    assert_int_equal(2, cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY));
    end = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 1);
    assert_string_equal("cascade.terminate", end->node_name);
    assert_non_null(strstr(end->error, "poisoned: "));
    cascade_snapshot_free(snapshot);
}

static void
poison(place_kind kind, const char *how)
{
    play(kind, how, DEATHS, check_poisoned);
}

/* The last one dies as it loads it only to fail it. */
static void
cascade_that_kills_who_loads_it_is_ended_unread(void **state)
{
    play(place_of(state), "", DEATHS + 1, check_unread);
}

static void
node_that_aborts_is_poisoned(void **state)
{
    poison(place_of(state), "abort");
}

static void
node_that_exits_is_poisoned(void **state)
{
    poison(place_of(state), "exit");
}

static void
node_that_faults_is_poisoned(void **state)
{
    poison(place_of(state), "segv");
}

static const struct CMUnitTest tests[] = {
    PLACE_EACH(node_that_aborts_is_poisoned)                    /**/
    PLACE_EACH(node_that_exits_is_poisoned)                     /**/
    PLACE_EACH(node_that_faults_is_poisoned)                    /**/
    PLACE_EACH(cascade_that_kills_who_loads_it_is_ended_unread) /**/
};

WORKER_MAIN(tests)
