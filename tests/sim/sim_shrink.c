/* SPDX-License-Identifier: MIT
 *
 * A failing seed made smaller: faults and cascades are left out, half of them
 * at a time, then a quarter and so on, as long as the run still fails (in
 * whatever way). Bounded by runs, not by time, so that it ends the same way
 * everywhere.
 */
#include <stdio.h>

#include "sim/sim.h"

#define RUNS_MAX 300
#define ITEMS_MAX                                               \
    (SIM_FAULTS_MAX + SIM_LIMIT_FAULTS_MAX + SIM_CASCADES_MAX + \
     SIM_GIANTS_MAX + SIM_LIMIT_ACTS_MAX + SIM_KEY_ACTS_MAX)

typedef struct shrinker {
    sim_plan *plan;
    bool *items[ITEMS_MAX]; /* the `off` of each that is still in */
    size_t count;
    size_t runs;
} shrinker;

static void
list_items(shrinker *shrink)
{
    sim_plan *plan = shrink->plan;

    shrink->count = 0;
    for (size_t i = 0; i < plan->fault_count; i++)
        if (!plan->faults[i].off)
            shrink->items[shrink->count++] = &plan->faults[i].off;
    for (size_t i = 0; i < plan->cascade_count; i++)
        if (!plan->cascades[i].off)
            shrink->items[shrink->count++] = &plan->cascades[i].off;
    for (size_t i = 0; i < plan->size.giant_count; i++)
        if (!plan->size.giants[i].off)
            shrink->items[shrink->count++] = &plan->size.giants[i].off;
    for (size_t i = 0; i < plan->limits.act_count; i++)
        if (!plan->limits.acts[i].off)
            shrink->items[shrink->count++] = &plan->limits.acts[i].off;
    for (size_t i = 0; i < plan->key.act_count; i++)
        if (!plan->key.acts[i].off)
            shrink->items[shrink->count++] = &plan->key.acts[i].off;
}

static bool
still_fails(shrinker *shrink)
{
    sim_outcome outcome;

    shrink->runs++;
    sim_run(shrink->plan, false, &outcome);
    csc_buf_fini(&outcome.failure);
    return outcome.failed;
}

static void
set_off(const shrinker *shrink, size_t from, size_t count, bool off)
{
    for (size_t i = from; i < from + count && i < shrink->count; i++)
        *shrink->items[i] = off;
}

/* Leaves out what can be left out in portions of that size: whether any. */
static bool
sweep(shrinker *shrink, size_t portion)
{
    bool any = false;

    list_items(shrink);
    for (size_t from = 0; from < shrink->count && shrink->runs < RUNS_MAX;
         from += portion) {
        set_off(shrink, from, portion, true);
        if (still_fails(shrink))
            any = true;
        else
            set_off(shrink, from, portion, false);
    }
    return any;
}

void
sim_shrink(sim_plan *plan)
{
    shrinker shrink = {.plan = plan};
    size_t portion = 0;

    sim_count_pause();
    for (size_t i = 0; i < plan->fault_count; i++)
        plan->faults[i].off = !plan->faults[i].fired;
    if (!still_fails(&shrink))
        for (size_t i = 0; i < plan->fault_count; i++)
            plan->faults[i].off = false;
    list_items(&shrink);
    portion = (shrink.count + 1) / 2;
    while (portion > 0 && shrink.runs < RUNS_MAX)
        if (!sweep(&shrink, portion) || portion > 1)
            portion /= 2;
    printf("shrunk in %zu runs to:\n", shrink.runs);
}
