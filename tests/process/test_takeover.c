/* SPDX-License-Identifier: MIT
 *
 * One of two processes dies (G2, G5, G6): the other finishes everything, after
 * the lease where the dead one cannot be looked up, at once on the same
 * machine; and what sleeps on time (G8).
 */
#include <stdio.h>
#include <string.h>

#include "process/check.h"
#include "process/flow.h"
#include "process/ledger.h"
#include "process/worker.h"

#define CASCADES 60
#define LEASE_MS 5000
#define LONG_LEASE_MS 120000
#define POLL_MS 200
/* What 60 cascades need on a busy machine, beyond lease and poll. */
#define WORK_MS 20000
#define LOOK_MS 30000
#define BUSY_US 30000 /* some 2 s for all, while the second one starts */

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
    first.work_us = BUSY_US;
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

/* ---- Sleepers ----------------------------------------------------------- */

/* Long enough to outlive its process, once it was seen. */
#define SLEEP_MS 3000
#define SLEEPERS 5

typedef struct parked {
    cascade_store *store;
    cascade_uuid ids[SLEEPERS];
    size_t count;
} parked;

static bool
is_asleep(cascade_store *store, const cascade_uuid *id)
{
    cascade_snapshot *snapshot = NULL;
    const cascade_execution_info *info = NULL;
    bool asleep = false;

    assert_ok(cascade_snapshot_load(store, id, NULL, &snapshot));
    for (size_t i = 0; !asleep; i++) {
        info = cascade_snapshot_get(snapshot, CASCADE_PART_ACTIVE, i);
        if (info == NULL)
            break;
        asleep = strcmp(info->node_name, "cascade.sleep:rest") == 0;
    }
    cascade_snapshot_free(snapshot);
    return asleep;
}

/* Notes which cascades are parked in their sleep; whether there are any. */
static bool
note_parked(void *context)
{
    parked *p = context;
    cascade_page *page = NULL;

    p->count = 0;
    assert_ok(cascade_list(p->store, NULL, &page));
    assert_int_equal(cascade_page_count(page), SLEEPERS);
    for (size_t i = 0; i < SLEEPERS; i++) {
        const cascade_info *info = cascade_page_get(page, i);

        if (info->has_run && !info->owned && is_asleep(p->store, &info->id))
            p->ids[p->count++] = info->id;
    }
    cascade_page_free(page);
    return p->count > 0;
}

/* How often `who` entered the last node of that cascade, by the log. */
static int
count_entries(const test_place *place, const cascade_uuid *id, const char *who)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    char path[PLACE_PATH];
    char line[FLOW_LINE + 1] = "";
    char name[32];
    FILE *log = fopen(place_path(place, FLOW_LOG, path), "r");
    int count = 0;

    assert_non_null(log);
    cascade_uuid_format(id, text);
    snprintf(name, sizeof(name), " 1 %s ", who);
    while (fread(line, 1, FLOW_LINE, log) == FLOW_LINE)
        if (strncmp(line, text, strlen(text)) == 0 &&
            strstr(line, "/last#") != NULL && strstr(line, name) != NULL)
            count++;
    fclose(log);
    return count;
}

/* What one process parked wakes in another, once; the first is dead by then. */
static void
sleeper_wakes_in_another_process(void **state)
{
    worker_options sleepy = {.park_ms = 1, .sleep_ms = SLEEP_MS};
    test_place place;
    test_ledger ledger;
    test_worker workers[2];
    parked p = {.count = 0};
    char names[2][16];

    place_create(&place, place_of(state));
    ledger_open(&ledger, &place);
    p.store = ledger.store;
    flow_start(ledger.store, SLEEPERS);
    worker_start(&workers[0], &place, &sleepy);
    memcpy(names[0], workers[0].shared->name, sizeof(names[0]));
    assert_true(place_wait(note_parked, &p, LOOK_MS));
    worker_kill(&workers[0]);
    assert_true(note_parked(&p));
    worker_start(&workers[1], &place, NULL);
    memcpy(names[1], workers[1].shared->name, sizeof(names[1]));
    ledger_wait_ended(&ledger, WORK_MS);
    worker_end(&workers[1]);
    for (size_t i = 0; i < p.count; i++) {
        assert_int_equal(count_entries(&place, &p.ids[i], names[0]), 1);
        assert_int_equal(count_entries(&place, &p.ids[i], names[1]), 1);
    }
    ledger_check(&ledger, SLEEPERS);
    ledger_close(&ledger);
    place_destroy(&place);
}

static const struct CMUnitTest tests[] = {
    PLACE_EACH(survivor_takes_over)              /**/
    PLACE_EACH(restart_takes_over)               /**/
    PLACE_EACH(living_keeps_its_own)             /**/
    PLACE_EACH(sleeper_wakes_in_another_process) /**/
};

WORKER_MAIN(tests)
