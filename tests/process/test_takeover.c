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
#define WORKED 100 /* nodes, of 540, before those that follow wait */
#define LEASE_MS 2000
#define LONG_LEASE_MS 120000
#define POLL_MS 200
#define ROUNDS_LATE 3 /* after a lease is over: some begin before they see it */
#define LOOKS 3       /* as one begins, and as each lease that it saw ends */
#define LIMIT_MS 60000
#define CLOCKS_APART_MS 50 /* the store's and ours */

typedef struct stage {
    test_place place;
    test_ledger ledger;
    test_worker workers[2];
    worker_crew crew;
} stage;

/* The first owns everything and is in the middle of it, for as long as its gate
 * is shut; the second looks on. */
static void
begin(stage *s, place_kind kind, int64_t lease_ms, const char *other_host)
{
    worker_options first = {.lease_ms = lease_ms,
                            .poll_ms = POLL_MS,
                            .gated = true,
                            .gate_after = WORKED};
    worker_options second = {.lease_ms = lease_ms, .poll_ms = POLL_MS};

    snprintf(second.host, sizeof(second.host), "%s", other_host);
    place_create(&s->place, kind);
    ledger_open(&s->ledger, &s->place);
    s->crew = (worker_crew){s->workers, 2};
    s->ledger.may_be_late = worker_may_be_late;
    s->ledger.context = &s->crew;
    flow_start(s->ledger.store, CASCADES);
    worker_start(&s->workers[0], &s->place, &first);
    worker_await_gate(&s->workers[0]);
    worker_start(&s->workers[1], &s->place, &second);
    ledger_mark(&s->ledger);
    assert_true(s->ledger.running > 0);
}

static void
finish(stage *s)
{
    ledger_check(&s->ledger, CASCADES);
    ledger_close(&s->ledger);
    place_destroy(&s->place);
}

/* ---- By the lease -------------------------------------------------------- */

static bool
has_taken_over(void *context)
{
    const stage *s = context;

    return s->workers[1].shared->figures.freed > 0;
}

typedef struct lease {
    test_ledger *ledger;
    pid_t pid;
} lease;

static bool
is_over(void *context)
{
    const lease *it = context;
    int64_t left_ms = 0;

    return !ledger_lists(it->ledger, it->pid, &left_ms) || left_ms <= 0;
}

/* In rounds of the survivor, each of which lasts for a poll at most: a machine
 * that is slow makes them longer, not more. */
static void
check_late(const stage *s, uint64_t round)
{
    uint64_t freed_at = s->workers[1].shared->figures.freed_at;

    if (freed_at > round + ROUNDS_LATE)
        fail_msg("taken over %llu rounds after the lease was over",
                 (unsigned long long)(freed_at - round));
}

/* G6: lease + one poll, when the survivor cannot look the dead process up. */
static void
survivor_takes_over(void **state)
{
    int64_t left_ms = 0;
    int64_t killed_ms = 0;
    int64_t took_ms = 0;
    uint64_t round = 0;
    bool listed = false;
    lease last = {.pid = 0};
    stage s;

    begin(&s, place_of(state), LEASE_MS, "elsewhere");
    last = (lease){&s.ledger, s.workers[0].pid};
    worker_kill(&s.workers[0]);
    killed_ms = place_now_ms();
    listed = ledger_lists(&s.ledger, last.pid, &left_ms);
    if (!place_wait(is_over, &last, LIMIT_MS))
        fail_msg("a lease of %d ms does not end", LEASE_MS);
    round = s.workers[1].shared->figures.rounds;
    if (!place_wait(has_taken_over, &s, LIMIT_MS))
        fail_msg("nothing is taken over");
    took_ms = place_now_ms() - killed_ms;
    print_message("taken over after %lld ms, of a lease of %lld ms\n",
                  (long long)took_ms, (long long)left_ms);
    assert_true(!listed || took_ms + CLOCKS_APART_MS >= left_ms);
    check_late(&s, round);
    ledger_wait_ended(&s.ledger, LIMIT_MS);
    worker_end(&s.workers[1]);
    finish(&s);
}

static bool
has_looked(void *context)
{
    const stage *s = context;

    return s->workers[1].shared->figures.looks >= LOOKS;
}

/* Nothing is taken from the living: while the first works, the second gets none
 * of its cascades (G5), however often the lease that it saw has ended. One that
 * is starved for so long that it was not renewed may lose them. */
static void
living_keeps_its_own(void **state)
{
    const worker_figures *first = NULL;
    stage s;

    begin(&s, place_of(state), LEASE_MS / 2, "elsewhere");
    if (!place_wait(has_looked, &s, LIMIT_MS))
        fail_msg("the second does not look at the first");
    worker_open_gate(&s.workers[0]);
    ledger_wait_ended(&s.ledger, LIMIT_MS);
    for (int i = 0; i < 2; i++) {
        worker_end(&s.workers[i]);
        assert_int_equal(0, s.workers[i].last.robbed);
    }
    first = &s.workers[0].last;
    assert_true(s.workers[1].last.freed == 0 || first->fenced > 0);
    finish(&s);
}

/* ---- By the process ------------------------------------------------------ */

/* A dead process of the same machine is known by its pid: nobody waits for a
 * lease of two minutes. */
static void
restart_takes_over(void **state)
{
    const worker_options another = {.lease_ms = LONG_LEASE_MS};
    stage s;

    begin(&s, place_of(state), LONG_LEASE_MS, "");
    worker_kill(&s.workers[0]);
    worker_kill(&s.workers[1]);
    worker_start(&s.workers[0], &s.place, &another);
    ledger_wait_ended(&s.ledger, LIMIT_MS);
    worker_end(&s.workers[0]);
    finish(&s);
}

/* ---- Sleepers ----------------------------------------------------------- */

#define SLEEP_MS 2000 /* of the first try, twice as long in each that follows */
#define SLEEPERS 5
#define TRIES 6

typedef struct parked {
    cascade_store *store;
    cascade_uuid ids[SLEEPERS * TRIES];
    size_t count;
    size_t running; /* cascades that have not ended */
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

static void
note_parked(parked *p)
{
    cascade_page *page = NULL;

    p->count = 0;
    p->running = 0;
    assert_ok(cascade_list(p->store, NULL, &page));
    for (size_t i = 0; i < cascade_page_count(page); i++) {
        const cascade_info *info = cascade_page_get(page, i);

        p->running += info->has_run;
        if (info->has_run && !info->owned && is_asleep(p->store, &info->id))
            p->ids[p->count++] = info->id;
    }
    cascade_page_free(page);
}

/* Or all are over: it was not looked soon enough. */
static bool
are_parked(void *context)
{
    parked *p = context;

    note_parked(p);
    return p->count > 0 || p->running == 0;
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

/* A process parks some and dies. None may sleep any more: it may have woken
 * them before that. */
static void
park(const test_place *place, int64_t sleep_ms, test_worker *worker, parked *p)
{
    const worker_options sleepy = {.park_ms = 1, .sleep_ms = sleep_ms};

    flow_start(p->store, SLEEPERS);
    worker_start(worker, place, &sleepy);
    if (!place_wait(are_parked, p, LIMIT_MS))
        fail_msg("nothing is parked, and not all is over");
    worker_kill(worker);
    note_parked(p);
}

/* What one process parked wakes in another, once; the first is dead by then. */
static void
sleeper_wakes_in_another_process(void **state)
{
    test_worker sleepy[TRIES];
    test_worker other;
    test_place place;
    test_ledger ledger;
    parked p = {.count = 0};
    size_t tries = 0;

    place_create(&place, place_of(state));
    ledger_open(&ledger, &place);
    p.store = ledger.store;
    for (; p.count == 0; tries++) {
        assert_true(tries < TRIES);
        park(&place, SLEEP_MS << tries, &sleepy[tries], &p);
    }
    worker_start(&other, &place, NULL);
    ledger_wait_ended(&ledger, LIMIT_MS);
    worker_end(&other);
    for (size_t i = 0; i < p.count; i++) {
        int parkers = 0;

        for (size_t k = 0; k < tries; k++) {
            int entries = count_entries(&place, &p.ids[i], sleepy[k].name);

            assert_in_range(entries, 0, 1);
            parkers += entries;
        }
        assert_true(parkers > 0);
        assert_int_equal(count_entries(&place, &p.ids[i], other.name), 1);
    }
    ledger_check(&ledger, SLEEPERS * tries);
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
