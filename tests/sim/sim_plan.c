/* SPDX-License-Identifier: MIT
 *
 * What a seed means: everything that is decided before the run. Each part is
 * drawn from a generator of its own, so that leaving one fault or one cascade
 * out (sim_shrink.c) leaves all others as they are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cascade/integrity.h"
#include "sim/work.h"
#include "support/sealed.h"

#define CALLS_TYPICAL 1200 /* of the store, in the safety phase of a run */

enum {
    FORK_PLAN = 1,
    FORK_FAULT,
    FORK_CASCADE,
    FORK_WORK,
    FORK_INTEGRITY
};

/* ---- Names -------------------------------------------------------------- */

const char *
sim_fault_name(sim_fault_kind kind)
{
    static const char *const names[] = {
        "delay",        "lost before", "lost after",   "killed before",
        "killed after", "killed idle", "stall before", "stall after",
        "stopped",      "leaves",      "removed",      "store forgot",
        "comes late",   "held up",     "undone",       "down",
        "down for all", "clock set",   "skewed"};

    return names[kind];
}

const char *
sim_move_name(int move)
{
    static const char *const names[WRAP_MOVES] = {
        "now",     "attach",     "renew",       "detach",      "engines",
        "remove",  "claim",      "load",        "commit",      "submit",
        "receive", "key",        "find",        "link",        "sweep",
        "strays",  "pause",      "queues",      "totals",      "schema",
        "scan",    "repair",     "purge",       "erase",       "seal",
        "seals",   "set limits", "list limits", "drop limits", "slots",
        "list",    "begin",      "finish",      "abandon",     "settle",
        "wait",    "wake",       "open",        "migrate",     "close"};

    return move < 0 ? "any call" : names[move];
}

/* ---- Faults ------------------------------------------------------------- */

typedef struct shape {
    sim_fault_kind kind;
    unsigned weight;
    int from_ms;
    int to_ms;
    int moves[6]; /* those it waits for, ended by -1; none: any */
} shape;

static const shape shapes[] = {
    {FAULT_DELAY, 4, 1, 500, {-1}},
    {FAULT_LOSE_BEFORE, 6, 0, 0, {WRAP_COMMIT, WRAP_COMMIT, WRAP_SUBMIT, -1}},
    {FAULT_LOSE_BEFORE, 5, 0, 0, {-1}},
    {FAULT_LOSE_BEFORE, 2, 0, 0, {WRAP_LOAD, -1}},
    {FAULT_LOSE_AFTER, 8, 0, 0, {WRAP_COMMIT, WRAP_COMMIT, WRAP_SUBMIT, -1}},
    {FAULT_LOSE_AFTER, 3, 0, 0, {WRAP_CLAIM, -1}},
    {FAULT_LOSE_AFTER, 2, 0, 0, {WRAP_ATTACH, WRAP_DETACH, WRAP_REMOVE, -1}},
    {FAULT_LOSE_AFTER, 3, 0, 0, {-1}},
    {FAULT_KILL_BEFORE, 5, 0, 0, {WRAP_COMMIT, -1}},
    {FAULT_KILL_BEFORE, 4, 0, 0, {WRAP_LOAD, WRAP_CLAIM, WRAP_REMOVE, -1}},
    {FAULT_KILL_BEFORE, 3, 0, 0, {-1}},
    {FAULT_KILL_AFTER, 6, 0, 0, {WRAP_COMMIT, -1}},
    {FAULT_KILL_AFTER,
     4,
     0,
     0,
     {WRAP_CLAIM, WRAP_REMOVE, WRAP_ATTACH, WRAP_SUBMIT, -1}},
    {FAULT_KILL_AFTER, 3, 0, 0, {-1}},
    {FAULT_KILL_IDLE, 3, 0, 0, {-1}},
    {FAULT_LOSE_BEFORE, 2, 0, 0, {WRAP_OPEN, WRAP_MIGRATE, -1}},
    {FAULT_LOSE_AFTER, 1, 0, 0, {WRAP_OPEN, WRAP_MIGRATE, -1}},
    {FAULT_KILL_AFTER, 2, 0, 0, {WRAP_OPEN, WRAP_MIGRATE, -1}},
    {FAULT_STALL_BEFORE, 5, 200, 25000, {WRAP_COMMIT, -1}},
    {FAULT_STALL_BEFORE, 4, 200, 25000, {-1}},
    {FAULT_STALL_AFTER,
     5,
     200,
     25000,
     {WRAP_COMMIT, WRAP_CLAIM, WRAP_LOAD, -1}},
    {FAULT_STALL_AFTER, 3, 200, 25000, {-1}},
    {FAULT_LOSE_AFTER, 2, 0, 0, {WRAP_RECEIVE, -1}},
    {FAULT_KILL_AFTER, 2, 0, 0, {WRAP_RECEIVE, -1}},
    {FAULT_STALL_BEFORE, 2, 200, 25000, {WRAP_RECEIVE, WRAP_LOAD, -1}},
    {FAULT_STALL_AFTER, 2, 200, 25000, {WRAP_RECEIVE, -1}},
    {FAULT_STOP, 4, 500, 30000, {-1}},
    {FAULT_LEAVE, 3, 0, 0, {-1}},
    {FAULT_REMOVE, 8, 0, 0, {-1}},
    {FAULT_FORGET, 2, 0, 0, {WRAP_COMMIT, -1}},
    {FAULT_LOSE_BEFORE, 5, 0, 0, {WRAP_FINISH, -1}},
    {FAULT_LOSE_BEFORE, 2, 0, 0, {WRAP_BEGIN, WRAP_SETTLE, -1}},
    {FAULT_LOSE_AFTER, 7, 0, 0, {WRAP_FINISH, -1}},
    {FAULT_LOSE_AFTER, 2, 0, 0, {WRAP_BEGIN, WRAP_SETTLE, -1}},
    {FAULT_LATE, 4, 0, 0, {WRAP_FINISH, -1}},
    {FAULT_LATE, 3, 2000, 25000, {WRAP_FINISH, -1}},
    {FAULT_KILL_BEFORE,
     4,
     0,
     0,
     {WRAP_BEGIN, WRAP_FINISH, WRAP_FINISH, WRAP_ABANDON, WRAP_SETTLE, -1}},
    {FAULT_KILL_AFTER,
     4,
     0,
     0,
     {WRAP_BEGIN, WRAP_FINISH, WRAP_FINISH, WRAP_ABANDON, WRAP_SETTLE, -1}},
    {FAULT_DELAY, 2, 1, 500, {WRAP_BEGIN, WRAP_FINISH, WRAP_SETTLE, -1}},
    {FAULT_STALL_BEFORE, 2, 200, 25000, {WRAP_BEGIN, WRAP_FINISH, -1}},
    {FAULT_STALL_BEFORE, 3, 2000, 25000, {WRAP_SETTLE, -1}},
    {FAULT_STALL_AFTER, 2, 200, 25000, {WRAP_BEGIN, WRAP_FINISH, -1}},
    {FAULT_STALL_AFTER, 1, 200, 25000, {WRAP_SETTLE, -1}},
    {FAULT_LEAVE, 2, 0, 0, {WRAP_SETTLE, -1}},
    {FAULT_FORGET, 1, 0, 0, {WRAP_FINISH, WRAP_SETTLE, -1}},
    {FAULT_DROP, 2, 50, 15000, {WRAP_FINISH, -1}},
    {FAULT_HOLD, 4, 0, 0, {WRAP_COMMIT, -1}},
    {FAULT_UNDONE, 4, 0, 0, {WRAP_COMMIT, WRAP_CLAIM, -1}},
    {FAULT_DROP, 5, 50, 15000, {-1}},
    {FAULT_DROP_ALL, 2, 50, 15000, {-1}},
    {FAULT_JUMP, 3, -60000, 60000, {-1}},
    {FAULT_SKEW, 2, -5000, 5000, {-1}}};

static const shape *
draw_shape(sim_random *random)
{
    unsigned total = 0;
    unsigned at = 0;
    size_t i = 0;

    for (size_t n = 0; n < sizeof(shapes) / sizeof(shapes[0]); n++)
        total += shapes[n].weight;
    at = sim_below(random, total);
    while (at >= shapes[i].weight)
        at -= shapes[i++].weight;
    return &shapes[i];
}

static void
plan_fault(sim_plan *plan, size_t nth)
{
    sim_random random = sim_fork(plan->seed, FORK_FAULT, nth);
    const shape *like = draw_shape(&random);
    sim_fault *fault = &plan->faults[nth];
    int moves = 0;

    while (like->moves[moves] >= 0)
        moves++;
    *fault = (sim_fault){.kind = like->kind, .move = -1};
    if (moves > 0)
        fault->move = like->moves[sim_below(&random, (unsigned)moves)];
    fault->at_call = 3 + sim_below(&random, (unsigned)plan->calls);
    fault->amount_ms = sim_between(&random, like->from_ms, like->to_ms);
    fault->times = sim_chance(&random, 70) ? 1 : 1 + sim_below(&random, 5);
}

/* ---- Cascades ----------------------------------------------------------- */

static const sim_workload *
draw_work(sim_random *random)
{
    unsigned total = 0;
    unsigned at = 0;
    size_t i = 0;

    for (size_t n = 0; n < sim_workload_count; n++)
        total += sim_workloads[n]->weight;
    at = sim_below(random, total);
    while (at >= sim_workloads[i]->weight)
        at -= sim_workloads[i++]->weight;
    return sim_workloads[i];
}

static void
plan_cascade(sim_plan *plan, unsigned nth)
{
    static const char *const queues[] = {"default", "default", "other", "slow"};
    sim_planned *c = &plan->cascades[nth];
    sim_random random = sim_fork(plan->seed, FORK_CASCADE, nth);

    *c = (sim_planned){.index = nth, .first_count = 1, .together = 1};
    c->queue = queues[sim_below(&random, 4)];
    c->priority = (int)sim_below(&random, 10);
    if (sim_chance(&random, 15))
        c->delay_ms = sim_between(&random, 1, 20000);
    c->starts = 1;
    if (sim_chance(&random, 30)) {
        (void)snprintf(c->key, sizeof(c->key), "key \"%u\" of %" PRIu64, nth,
                       plan->seed % 1000);
        c->starts = 1 + sim_below(&random, 3);
    } else {
        c->explicit_id = sim_chance(&random, 30);
    }
    if (sim_chance(&random, 15))
        c->together = 2 + sim_below(&random, 4);
    c->start_ms = sim_between(&random, 0, (int)(plan->safety_ms * 2 / 3));
    if (sim_chance(&random, 50))
        c->start_ms /= 20; /* many at the beginning: shared commits */
    c->work = draw_work(&random);
    c->random = sim_fork(plan->seed, FORK_WORK, nth);
    c->work->plan(c, &c->random);
}

/* ---- The whole ---------------------------------------------------------- */

/* One store of two has none. */
static const cascade_integrity *
draw_integrity(uint64_t seed)
{
    sim_random random = sim_fork(seed, FORK_INTEGRITY, 0);

    switch (sim_below(&random, 4)) {
    case 0:
        return sealed_by_checksum();
    case 1:
        return sealed_by_secret();
    default:
        return NULL;
    }
}

void
sim_plan_make(sim_plan *plan, uint64_t seed)
{
    sim_random random = sim_fork(seed, FORK_PLAN, 0);

    *plan = (sim_plan){.seed = seed};
#ifdef CASCADE_HAVE_SQLITE
    plan->sqlite = sim_chance(&random, 4);
#endif
    plan->process_count = 1 + sim_below(&random, SIM_PROCESSES_MAX);
    for (unsigned i = 0; i < plan->process_count; i++)
        plan->engine_count[i] = sim_chance(&random, 20) ? 2 : 1;
    plan->safety_ms = sim_between(&random, 5000, 90000);
    plan->integrity = draw_integrity(seed);
    plan->calls = 200 + sim_below(&random, CALLS_TYPICAL * 2);
    plan->fault_count =
        sim_chance(&random, 5) ? 0 : 1 + sim_below(&random, SIM_FAULTS_MAX);
    plan->cascade_count = 1 + sim_below(&random, SIM_CASCADES_MAX);
    for (size_t i = 0; i < plan->fault_count; i++)
        plan_fault(plan, i);
    for (unsigned i = 0; i < plan->cascade_count; i++)
        plan_cascade(plan, i);
    sim_size_plan(plan);
    sim_key_plan(plan);
    sim_limits_plan(plan);
}

static const char *
integrity_name(const cascade_integrity *integrity)
{
    if (integrity == NULL)
        return "";
    return integrity->mode == CASCADE_INTEGRITY_HMAC ? " with hmac"
                                                     : " with checksums";
}

void
sim_plan_print(const sim_plan *plan)
{
    printf("  %s%s, %u processes, safety phase of %" PRId64 " ms\n",
           plan->sqlite ? "SQLite" : "memory", integrity_name(plan->integrity),
           plan->process_count, plan->safety_ms);
    sim_size_print(plan);
    sim_key_print(plan);
    sim_limits_print(plan);
    for (size_t i = 0; i < plan->cascade_count; i++) {
        const sim_planned *c = &plan->cascades[i];

        if (!c->off)
            printf("  cascade %zu (%s) at %" PRId64
                   " ms: queue %s%s%s, delay %" PRId64 ", %u first, input %s\n",
                   i, c->work->name, c->start_ms, c->queue,
                   c->key[0] != '\0' ? ", key " : "", c->key, c->delay_ms,
                   c->first_count, c->input);
    }
    for (size_t i = 0; i < plan->fault_count; i++) {
        const sim_fault *f = &plan->faults[i];

        if (!f->off)
            printf("  fault %zu: from call %" PRIu64
                   " on, %s: %s, %u times, %" PRId64 " ms%s\n",
                   i, f->at_call, sim_move_name(f->move),
                   sim_fault_name(f->kind), f->times, f->amount_ms,
                   f->fired ? "" : " (not met)");
    }
}
