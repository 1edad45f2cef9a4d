/* SPDX-License-Identifier: MIT
 *
 * One of two processes dies (G2, G5, G6): the other finishes everything, after
 * the lease where the dead one cannot be looked up, at once on the same
 * machine.
 */
#include <stdio.h>
#include <string.h>

#include "process/check.h"
#include "process/flow.h"
#include "process/ledger.h"
#include "process/worker.h"

#define CASCADES 60
#define LEASE_MS 1500
#define LONG_LEASE_MS 120000
#define POLL_MS 200
/* What 60 cascades need on a busy machine, beyond lease and poll. */
#define WORK_MS 20000
#define LOOK_MS 30000

static worker_options
options(int64_t lease_ms)
{
    return (worker_options){
        .lease_ms = lease_ms, .poll_ms = POLL_MS, .work_us = 3000};
}

static bool
has_taken_over(void *context)
{
    const test_worker *it = context;

    return it->shared->figures.takeovers > 0;
}

static bool
has_worked(void *context)
{
    const test_worker *it = context;

    return it->shared->figures.executions >= CASCADES;
}

/* The first owns everything and is in the middle of it; the second looks on. */
static void
begin(test_place *place, test_ledger *ledger, test_worker workers[2],
      int64_t lease_ms, const char *other_host)
{
    worker_options first = options(lease_ms);
    worker_options second = options(lease_ms);

    snprintf(second.host, sizeof(second.host), "%s", other_host);
    ledger_open(ledger, place);
    flow_start(ledger->store, CASCADES);
    worker_start(&workers[0], place, &first);
    assert_true(place_wait(has_worked, &workers[0], LOOK_MS));
    worker_start(&workers[1], place, &second);
}

static void
finish(test_place *place, test_ledger *ledger)
{
    ledger_wait_ended(ledger, WORK_MS);
    ledger_check(ledger, CASCADES);
    ledger_close(ledger);
    place_destroy(place);
}

/* G6: lease + one poll, when the survivor cannot look the dead process up. */
static void
survivor_takes_over(void **state)
{
    test_place place;
    test_ledger ledger;
    test_worker workers[2];
    int64_t killed_ms = 0;
    int64_t took_ms = 0;

    place_create(&place, place_of(state));
    begin(&place, &ledger, workers, LEASE_MS, "elsewhere");
    ledger_mark(&ledger);
    assert_true(ledger.running > 0);
    killed_ms = place_now_ms();
    worker_kill(&workers[0]);
    assert_true(place_wait(has_taken_over, &workers[1], LOOK_MS));
    took_ms = place_now_ms() - killed_ms;
    print_message("taken over after %lld ms\n", (long long)took_ms);
    assert_true(took_ms <= LEASE_MS + POLL_MS + 500);
    ledger_wait_ended(&ledger, WORK_MS);
    worker_end(&workers[1]);
    finish(&place, &ledger);
}

/* A dead process of the same machine is known by its pid: nobody waits for a
 * lease of two minutes. */
static void
restart_takes_over(void **state)
{
    test_place place;
    test_ledger ledger;
    test_worker workers[2];

    place_create(&place, place_of(state));
    begin(&place, &ledger, workers, LONG_LEASE_MS, "");
    ledger_mark(&ledger);
    assert_true(ledger.running > 0);
    worker_kill(&workers[0]);
    worker_kill(&workers[1]);
    worker_start(&workers[0], &place, NULL);
    ledger_wait_ended(&ledger, WORK_MS);
    worker_end(&workers[0]);
    finish(&place, &ledger);
}

/* Nothing is taken from the living: while the first works, the second gets
 * none of its cascades (G5). */
static void
living_keeps_its_own(void **state)
{
    test_place place;
    test_ledger ledger;
    test_worker workers[2];

    place_create(&place, place_of(state));
    begin(&place, &ledger, workers, LEASE_MS, "elsewhere");
    ledger_wait_ended(&ledger, WORK_MS);
    assert_int_equal(0, workers[1].shared->figures.takeovers);
    assert_int_equal(0, workers[0].shared->figures.fences);
    worker_end(&workers[0]);
    worker_end(&workers[1]);
    finish(&place, &ledger);
}

static const struct CMUnitTest tests[] = {
    PLACE_EACH(survivor_takes_over)  /**/
    PLACE_EACH(restart_takes_over)   /**/
    PLACE_EACH(living_keeps_its_own) /**/
};

WORKER_MAIN(tests)
