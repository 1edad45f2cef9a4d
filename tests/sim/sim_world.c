/* SPDX-License-Identifier: MIT
 *
 * One run: the world is made, goes through its safety phase (faults) and its
 * liveness phase (none), is checked, and taken down.
 *
 * TIME is virtual and goes on in three ways only: a little with every call of
 * the store and every poll, by stalls, and to the moment of what comes next
 * when there is nothing to do.
 *
 * A turn is one thing that happens: a birth or a burial, a start, a look, or a
 * poll of one engine. Inside a call of the store or a function of a node,
 * sim_pass() takes turns too; all processes on the stack are `busy` and get
 * none. So others run between any two moves of an engine, as threads would, but
 * at places that the seed chooses.
 */
#include "sim/sim.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data/buf.h"
#include "sim/work.h"
#include "store/memory/internal.h"
#include "store/store.h"
#include "support/sealed.h"
#include "support/sound.h"

#define START_WALL_MS INT64_C(1700000000000)
#define START_MONOTONIC_MS 1000000
#define DEPTH_MAX 3
#define PIECE_MAX 2 /* rows of a kind that a deletion takes at once */
#define ADVANCE_MAX_MS 60000
#define PASS_TURNS_MAX 400     /* of one stall */
#define LIVE_TURNS_MAX 60000   /* until a run counts as hanging */
#define SIZED_TURNS 5          /* times as many, where there are giants */
#define SAFETY_TURNS_MAX 30000 /* of one safety phase */
#define LIVE_MS_MAX (INT64_C(1000) * 3600 * 12)

enum {
    FORK_TURNS = 11,
    FORK_IDS,
    FORK_CHAOS
};

/* ---- Telling ------------------------------------------------------------ */

void
sim_fail(sim *s, const char *format, ...)
{
    char line[600];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (s->failure.len < 4000)
        csc_buf_add_format(&s->failure, "%s\n", line);
}

bool
sim_failed(const sim *s)
{
    return s->failure.len > 0;
}

void
sim_trace(sim *s, const char *format, ...)
{
    char line[600];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    for (const char *c = line; *c != '\0'; c++)
        s->hash = (s->hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    s->hash ^= (uint64_t)s->now_ms;
    if (s->verbose)
        printf("%9" PRId64 " %*s%s\n", s->now_ms, (int)s->depth * 4, "", line);
}

/* ---- Time and randomness ------------------------------------------------ */

static int64_t
eye_wall_ms(void *context)
{
    const sim *s = context;

    return START_WALL_MS + s->now_ms + s->jump_ms;
}

static int64_t
eye_monotonic_ns(void *context)
{
    const sim *s = context;

    return (START_MONOTONIC_MS + s->now_ms) * INT64_C(1000000);
}

static int64_t
process_wall_ms(void *context)
{
    sim_process *p = context;
    int64_t now_ms = eye_wall_ms(p->s) + p->skew_ms;

    if (now_ms > p->wall_max_ms)
        p->wall_max_ms = now_ms;
    return now_ms;
}

static int64_t
process_monotonic_ns(void *context)
{
    sim_process *p = context;

    return eye_monotonic_ns(p->s);
}

void
sim_process_init(sim *s, sim_process *p, unsigned slot)
{
    p->s = s;
    p->slot = slot;
    p->clock = (cascade_clock){p, process_wall_ms, process_monotonic_ns};
}

static void
fill_random(void *context, void *bytes, size_t len)
{
    sim *s = context;
    unsigned char *at = bytes;

    while (len > 0) {
        uint64_t value = sim_draw(&s->ids);
        size_t count = len < sizeof(value) ? len : sizeof(value);

        memcpy(at, &value, count);
        at += count;
        len -= count;
    }
}

cascade_store_options
sim_store_options(sim *s, const cascade_clock *clock, int64_t deadline_ms)
{
    return (cascade_store_options){.size = sizeof(cascade_store_options),
                                   .durability = CASCADE_DURABILITY_RELAXED,
                                   .deadline_ms = deadline_ms,
                                   .integrity = s->plan->integrity,
                                   .clock = clock,
                                   .random = &s->random};
}

/* ---- Turns -------------------------------------------------------------- */

/* Who could be polled now. */
static size_t
list_ready(sim *s, sim_process **ready, int64_t *wait_ms)
{
    size_t count = 0;

    *wait_ms = INT64_MAX;
    for (unsigned i = 0; i < s->plan->process_count; i++) {
        sim_process *p = &s->processes[i];
        int64_t timeout = 0;

        if (!sim_process_may_run(s, p))
            continue;
        timeout = sim_process_timeout(p);
        if (timeout < *wait_ms)
            *wait_ms = timeout;
        if (timeout == 0)
            ready[count++] = p;
    }
    return count;
}

/* Where a poll takes its time nobody waits for a quarter of his lease: each
 * would have a thread, and cannot help it that others are drawn. */
static sim_process *
draw_ready(sim *s, sim_process *const *ready, size_t count)
{
    sim_process *p = ready[sim_below(&s->turns, (unsigned)count)];

    for (size_t i = 0; i < count && s->plan->size.on; i++)
        if (s->now_ms - ready[i]->polled_ms > s->plan->size.lease_ms / 4 &&
            ready[i]->polled_ms < p->polled_ms)
            p = ready[i];
    return p;
}

static void
sooner(int64_t *wait_ms, int64_t now_ms, int64_t at_ms)
{
    if (at_ms > now_ms && at_ms - now_ms < *wait_ms)
        *wait_ms = at_ms - now_ms;
}

/* Nothing to do: on to what comes next, or somewhat beyond. */
static void
advance(sim *s, int64_t wait_ms)
{
    int64_t next = sim_client_next(s);

    if (next != INT64_MAX)
        sooner(&wait_ms, s->now_ms, next);
    if (sim_giant_next(s) != INT64_MAX)
        sooner(&wait_ms, s->now_ms, sim_giant_next(s));
    for (unsigned i = 0; i < s->plan->process_count; i++) {
        const sim_process *p = &s->processes[i];

        if (p->alive)
            sooner(&wait_ms, s->now_ms, p->stopped_until_ms);
        else
            sooner(&wait_ms, s->now_ms, p->born_at_ms);
    }
    if (s->phase == SIM_SAFETY)
        sooner(&wait_ms, s->now_ms, s->safety_end_ms);
    if (s->depth > 0)
        sooner(&wait_ms, s->now_ms, s->pass_end_ms);
    if (wait_ms > ADVANCE_MAX_MS)
        wait_ms = ADVANCE_MAX_MS;
    if (wait_ms < 1)
        wait_ms = 1;
    s->now_ms += wait_ms;
    if (s->depth == 0 && !s->plan->size.on && sim_chance(&s->turns, 10))
        s->now_ms += sim_below(&s->turns, (unsigned)wait_ms + 1);
}

static void
tend(sim *s)
{
    for (unsigned i = 0; i < s->plan->process_count; i++) {
        sim_process *p = &s->processes[i];

        if (p->alive && !p->busy && (p->dead || p->leaving))
            sim_process_bury(s, p);
        if (!p->alive && !p->busy && s->now_ms >= p->born_at_ms)
            (void)sim_process_birth(s, p);
    }
    if (s->client.dead && !s->client.busy)
        sim_process_bury(s, &s->client);
    if (!s->client.alive && !s->client.busy)
        (void)sim_process_birth(s, &s->client);
}

void
sim_turn(sim *s)
{
    sim_process *ready[SIM_PROCESSES_MAX];
    size_t count = 0;
    int64_t wait_ms = 0;

    s->turn_count++;
    sim_fault_idle(s);
    tend(s);
    sim_cost_turn(s);
    sim_small_watch(s);
    if (sim_giant_act(s) || sim_client_act(s))
        return;
    if (sim_chance(&s->turns, 3))
        sim_client_look(s);
    count = list_ready(s, ready, &wait_ms);
    if (count == 0) {
        advance(s, wait_ms);
        return;
    }
    sim_process_poll(s, draw_ready(s, ready, count));
}

void
sim_pass(sim *s, int64_t ms)
{
    int64_t end_ms = s->now_ms + ms;
    int64_t outer_ms = s->pass_end_ms;

    if (ms > 0 && s->depth < DEPTH_MAX) {
        s->depth++;
        s->pass_end_ms = end_ms;
        for (int i = 0;
             i < PASS_TURNS_MAX && s->now_ms < end_ms && !sim_failed(s); i++)
            sim_turn(s);
        s->depth--;
        s->pass_end_ms = outer_ms;
    }
    if (s->now_ms < end_ms)
        s->now_ms = end_ms;
}

/* ---- Phases ------------------------------------------------------------- */

static void
safety(sim *s)
{
    s->phase = SIM_SAFETY;
    s->safety_end_ms = s->plan->safety_ms;
    while (s->now_ms < s->safety_end_ms && s->calls < s->plan->calls &&
           s->turn_count < SAFETY_TURNS_MAX && !sim_failed(s))
        sim_turn(s);
}

/* All that was broken is mended. */
static void
mend(sim *s)
{
    s->phase = SIM_LIVENESS;
    s->mended_ms = s->now_ms;
    s->down_until_ms = 0;
    for (unsigned i = 0; i <= SIM_PROCESSES_MAX; i++) {
        sim_process *p = i < SIM_PROCESSES_MAX ? &s->processes[i] : &s->client;

        p->stopped_until_ms = 0;
        p->down_until_ms = 0;
        p->rule_times = 0;
        p->after = NULL;
        p->doubts.comes_late = false;
        p->doubts.takes_ms = 0;
        if (!p->alive && p->born_at_ms > s->now_ms + 1000)
            p->born_at_ms = s->now_ms + 1000;
    }
}

/* What is marked and not erased yet, where that can be told. */
static size_t
count_erasures(const sim *s)
{
    const csc_memory *memory = s->eye->self;

    return s->plan->sqlite ? 0 : memory->model->erasures.count;
}

static bool
is_over(const sim *s)
{
    return sim_client_done(s) && sim_giant_done(s) &&
           oracle_running(s->o) == 0 && oracle_messages(s->o) == 0 &&
           count_erasures(s) == 0;
}

static void
liveness(sim *s)
{
    uint64_t turns_max = LIVE_TURNS_MAX * (s->plan->size.on ? SIZED_TURNS : 1);
    int64_t end_ms = s->now_ms + LIVE_MS_MAX;

    mend(s);
    s->turn_count = 0;
    while (!is_over(s) && !sim_failed(s)) {
        if (s->turn_count >= turns_max || s->now_ms >= end_ms) {
            sim_fail(s,
                     "does not come to an end: %" PRIu64 " turns, %" PRId64
                     " ms without faults",
                     s->turn_count, s->now_ms - end_ms + LIVE_MS_MAX);
            return;
        }
        sim_turn(s);
    }
}

/* ---- The end ------------------------------------------------------------ */

static const cascade_execution_info *
find_poisoned(const cascade_snapshot *snapshot)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_ERRORS);

    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(snapshot, CASCADE_PART_ERRORS, i);

        if (strncmp(info->error, "poisoned", 8) == 0)
            return info;
    }
    return NULL;
}

static bool
is_unread(const cascade_execution_info *poisoned)
{
    return strcmp(poisoned->node_name, "cascade.terminate") == 0;
}

/* Where engines died of nothing but nodes and loads, only such a node, or a
 * cascade that kills so, is to blame. */
bool
sim_check_poisoned(sim *s, const sim_planned *c,
                   const cascade_snapshot *snapshot)
{
    const cascade_execution_info *poisoned = find_poisoned(snapshot);
    cascade_status status = cascade_snapshot_info(snapshot)->status;

    if (poisoned == NULL)
        return false;
    sim_note(SIM_POISONED);
    sim_note_many(SIM_UNREAD, is_unread(poisoned));
    sim_check(s, c, status == CASCADE_ERROR || c->work->survives,
              "something of it was poisoned, and it did not end for that");
    if (s->lossy)
        return true;
    sim_note(SIM_BLAMED);
    sim_check(s, c,
              strstr(poisoned->input, "\"" SIM_DEADLY "\":") != NULL ||
                  (c->kills == SIM_KILLS_ALWAYS && is_unread(poisoned)),
              "what was poisoned has killed nobody");
    return true;
}

/* What must wait says so in its input (first nodes: in the plan), since the
 * record of a wait is gone when it is over. */
static void
check_delays(sim *s, const sim_planned *c, const cascade_snapshot *snapshot)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);

    for (size_t i = 0; i < count && !s->clock_moved; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i);
        const char *late = strstr(info->input, "\"" SIM_LATE "\":");
        int64_t delay_ms = 0;
        int64_t first_ms = 0;
        int64_t last_ms = 0;

        if (info->parent_function_id < 0)
            delay_ms = c->delay_ms;
        else if (late != NULL)
            delay_ms = strtoll(late + strlen(SIM_LATE) + 3, NULL, 10);
        oracle_entry_times(s->o, info->node_instance_id, &first_ms, &last_ms);
        sim_check(s, c,
                  delay_ms == 0 || first_ms == CASCADE_TIME_NONE ||
                      first_ms >= info->started_at_ms + delay_ms,
                  "G8: an execution did not wait as long as it was told to");
    }
}

static void
check_cascade(sim *s, const sim_planned *c)
{
    cascade_snapshot *snapshot = NULL;
    cascade_err err = cascade_snapshot_load(s->eye, &c->id, NULL, &snapshot);
    cascade_status status = CASCADE_RUNNING;

    if (err == CASCADE_ERR_NOT_FOUND)
        return; /* the oracle knows whether it must be there */
    if (err != CASCADE_OK) {
        sim_fail(s, "cascade %u: no snapshot: %s", c->index, cascade_errmsg());
        return;
    }
    status = cascade_snapshot_info(snapshot)->status;
    sim_note(SIM_CASCADES);
    if (status == CASCADE_ERROR)
        sim_note(SIM_ENDED_ERROR);
    if (!sim_check_poisoned(s, c, snapshot)) {
        sim_check(s, c, c->expected == 0 || status == c->expected,
                  "ended with another status than its input says");
        if (c->work->check != NULL)
            c->work->check(s, c, snapshot);
    }
    check_delays(s, c, snapshot);
    cascade_snapshot_free(snapshot);
}

static void
check_end(sim *s)
{
    if (!oracle_check(s->o, s->eye->driver, s->eye->self,
                      sim_failed(s) ? ORACLE_RUNNING : ORACLE_ENDED))
        sim_fail(s, "%s", oracle_text(s->o));
    if (!sim_failed(s))
        sim_ledger_check(s);
    if (!sim_failed(s))
        sim_giant_check(s);
    if (!sim_failed(s))
        sim_key_check(s);
    for (size_t i = 0; i < s->plan->cascade_count && !sim_failed(s); i++)
        if (!s->plan->cascades[i].off && s->plan->cascades[i].has_id)
            check_cascade(s, &s->plan->cascades[i]);
}

/* ---- The world ---------------------------------------------------------- */

/* SQLite's file lies in memory where the machine has a place for that. */
static void
make_folder(sim *s)
{
    const char *base = getenv("TMPDIR");

    if (base == NULL)
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(s->folder, sizeof(s->folder), "%s/cascade-sim.XXXXXX", base);
    if (mkdtemp(s->folder) == NULL) {
        perror(s->folder);
        exit(1);
    }
    (void)snprintf(s->url, sizeof(s->url), "sqlite:%s/sim.db", s->folder);
}

static int
remove_one(const char *path, const struct stat *status, int type,
           struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static void
forget_starts(sim_plan *plan)
{
    for (size_t i = 0; i < plan->fault_count; i++)
        plan->faults[i].fired = false;
    for (size_t i = 0; i < plan->cascade_count; i++) {
        sim_planned *c = &plan->cascades[i];

        c->killed = 0;
        c->has_id = false;
        c->acknowledged = false;
        c->started = 0;
        c->next_ms = c->start_ms;
        sim_mail_forget(c);
    }
    sim_size_forget(plan);
}

/* What an earlier run left open would be found here. */
static void
check_empty(sim *s)
{
    cascade_page *page = NULL;

    if (cascade_list(s->eye, NULL, &page) != CASCADE_OK ||
        cascade_page_count(page) > 0)
        sim_fail(s, "the store is not empty at the beginning");
    cascade_page_free(page);
}

static void
open_world(sim *s, sim_plan *plan)
{
    cascade_store_options options;

    s->plan = plan;
    forget_starts(plan);
    s->turns = sim_fork(plan->seed, FORK_TURNS, 0);
    s->ids = sim_fork(plan->seed, FORK_IDS, 0);
    s->chaos = sim_fork(plan->seed, FORK_CHAOS, 0);
    s->random = (cascade_random){s, fill_random};
    s->eye_clock = (cascade_clock){s, eye_wall_ms, eye_monotonic_ns};
    s->orphans_since_ms = -1;
    s->hash = UINT64_C(0xcbf29ce484222325);
    (void)snprintf(s->url, sizeof(s->url), "memory:sim");
    if (plan->sqlite)
        make_folder(s);
    options = sim_store_options(s, &s->eye_clock, 5000);
    if (cascade_store_open(s->url, &options, &s->eye) != CASCADE_OK) {
        fprintf(stderr, "%s: %s\n", s->url, cascade_errmsg());
        exit(1);
    }
    check_empty(s);
    if (!plan->sqlite)
        ((csc_memory *)s->eye->self)->model->piece_max =
            plan->size.on ? plan->size.piece_rows : PIECE_MAX;
    s->o = oracle_create();
    sim_ledger_init(&s->ledger);
    oracle_follow(s->o);
    oracle_refuse_strangers(s->o);
    sim_key_open(s);
    sim_limits_open(s);
    oracle_set_poison_limit(s->o, SIM_POISON_LIMIT);
    for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++)
        sim_process_init(s, &s->processes[i], i);
    sim_process_init(s, &s->client, SIM_PROCESSES_MAX);
}

static void
close_world(sim *s)
{
    for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) {
        s->processes[i].leaving = true;
        if (s->processes[i].alive)
            sim_process_bury(s, &s->processes[i]);
    }
    if (s->client.alive)
        sim_process_bury(s, &s->client);
    check_end(s);
    if (cascade_store_close(s->eye) != CASCADE_OK)
        sim_fail(s, "the store does not close: %s", cascade_errmsg());
    oracle_free(s->o);
    sim_ledger_fini(&s->ledger);
    if (s->folder[0] != '\0')
        nftw(s->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void
sim_run(sim_plan *plan, bool verbose, sim_outcome *outcome)
{
    sim *s = calloc(1, sizeof(*s));

    if (s == NULL)
        abort();
    s->verbose = verbose;
    open_world(s, plan);
    safety(s);
    liveness(s);
    if (!sim_failed(s) && !sound_all(s->eye))
        sim_fail(s, "has left rows that are not sound");
    if (!sim_failed(s) && s->plan->integrity != NULL &&
        !sealed_all(s->eye, NULL))
        sim_fail(s, "has left rows that are not sealed");
    close_world(s);
    sim_note(SIM_SEEDS);
    *outcome = (sim_outcome){.failed = sim_failed(s),
                             .failure = s->failure,
                             .hash = s->hash,
                             .virtual_ms = s->now_ms,
                             .calls = s->calls};
    free(s);
}
