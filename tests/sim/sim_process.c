/* SPDX-License-Identifier: MIT
 *
 * Processes: a store handle with one or two engines on it, or (the client) with
 * none.
 *
 *   birth --> alive --poll--> alive ... --leaving--> bury: stop and detach
 *                       |
 *                       +--kill--> dead: the store is not reached any more;
 *                                  what is on the stack unwinds without any
 *                                  effect; bury frees the memory
 *
 * A killed process leaves its incarnations behind in the store, as a real one
 * would: their lease has to run out. A new one is born in its place, with other
 * options, after a while.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "held/engine_state.h"
#include "sim/work.h"

#define DEADLINE_MS 1          /* real time: a start is not repeated in place */
#define MOVE_DEADLINE_MS 60000 /* longer than SQLite takes anywhere */
#define BIRTH_RETRY_MS 300
#define CAPACITY 1000     /* beside giants, */
#define BATCH_BYTES 16384 /* where batches are small */
#define REST_MAX_MS 20000 /* until a new process takes the place */

enum {
    FORK_PROCESS = 31
};

/* ---- Birth -------------------------------------------------------------- */

/* The first process knows all nodes and serves all queues. */
static cascade_engine_options
draw_options(sim_process *p)
{
    sim_random *r = &p->random;
    static const int64_t leases_ms[] = {1000, 3000, 10000};
    static const int64_t polls_ms[] = {200, 700, 2000};
    static const int64_t parks_ms[] = {20, 300, 5000};
    static const size_t capacities[] = {1, 3, 1000, 1000, 1000};
    static const size_t batches[] = {1, 2, 5, 500, 500};
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .poison_limit = SIM_POISON_LIMIT,
                                      .queues = sim_queue_names,
                                      .queue_count = SIM_QUEUES};

    options.lease_ms = leases_ms[sim_below(r, 3)];
    options.poll_interval_ms = polls_ms[sim_below(r, 3)];
    options.park_after_ms = parks_ms[sim_below(r, 3)];
    options.capacity = capacities[sim_below(r, 5)];
    options.batch_cascades_max = batches[sim_below(r, 5)];
    if (options.batch_cascades_max < 500) /* few rows in a slice, too */
        options.batch_bytes_max = 1024;
    options.transaction_count = 1 + sim_below(r, 4);
    if (p->slot > 0)
        options.queue_count = 1 + sim_below(r, 3);
    if (p->s->plan->size.on) {
        options.lease_ms = p->s->plan->size.lease_ms;
        options.capacity = CAPACITY;
        if (options.batch_bytes_max > 0)
            options.batch_bytes_max = BATCH_BYTES;
    }
    return options;
}

static cascade_err
open_engine(sim_process *p, sim_engine *e)
{
    cascade_engine_options options = draw_options(p);
    cascade_err err = cascade_engine_open(p->store, &options, &e->engine);

    p->current = e;
    e->process = p;
    e->attached = false;
    e->holds_left = false;
    e->removed = (cascade_uuid){{0}};
    memset(e->kept, 0, sizeof(e->kept));
    if (err != CASCADE_OK)
        return err;
    sim_register(e, p->slot == 0, &p->random);
    return cascade_engine_start(e->engine);
}

static bool
open_engines(sim_process *p)
{
    unsigned count =
        p->slot < SIM_PROCESSES_MAX ? p->s->plan->engine_count[p->slot] : 0;
    cascade_err err = CASCADE_OK;

    p->busy = true;
    for (unsigned i = 0; i < count && err == CASCADE_OK && !p->dead; i++) {
        p->engines[i].index = i;
        p->engine_count = i + 1;
        err = open_engine(p, &p->engines[i]);
    }
    p->busy = false;
    return err == CASCADE_OK;
}

static bool
open_store(sim_process *p)
{
    cascade_store_options options =
        sim_store_options(p->s, &p->clock, DEADLINE_MS);
    cascade_err err = CASCADE_OK;

    p->wrap = wrap_store_create(p->s->url);
    if (p->wrap == NULL)
        abort();
    p->wrap->inner_deadline_ms = MOVE_DEADLINE_MS;
    p->wrap->context = p;
    p->wrap->before = sim_fault_before;
    p->wrap->after = sim_fault_after;
    p->wrap->row = sim_cost_row;
    p->wrap->answered = sim_ledger_answered;
    wrap_store_lend(p->wrap, &sim_ledger_natives);
    p->busy = true;
    err = cascade_store_open_driver(&p->wrap->driver, p->wrap->url, &options,
                                    &p->store);
    p->busy = false;
    if (err != CASCADE_OK)
        sim_note(SIM_OPEN_FAILED);
    return err == CASCADE_OK;
}

bool
sim_process_birth(sim *s, sim_process *p)
{
    p->random = sim_fork(s->plan->seed, FORK_PROCESS + p->slot, p->number++);
    p->alive = true;
    p->dead = false;
    p->leaving = false;
    p->polled_ms = s->now_ms;
    p->stopped_until_ms = 0;
    p->down_until_ms = 0;
    p->rule_times = 0;
    p->after = NULL;
    p->starting = false;
    p->engine_count = 0;
    sim_trace(s, "p%u is born as its %u.", p->slot, p->number);
    if (open_store(p) && open_engines(p))
        return true;
    sim_trace(s, "p%u did not start", p->slot);
    p->leaving = true;
    sim_process_bury(s, p);
    p->born_at_ms = s->now_ms + BIRTH_RETRY_MS;
    return false;
}

/* ---- Life --------------------------------------------------------------- */

bool
sim_process_may_run(const sim *s, const sim_process *p)
{
    return p->alive && !p->dead && !p->busy && !p->leaving &&
           s->now_ms >= p->stopped_until_ms;
}

int64_t
sim_process_timeout(sim_process *p)
{
    int64_t timeout_ms = INT64_MAX;

    for (unsigned i = 0; i < p->engine_count; i++) {
        int64_t ms = cascade_engine_timeout_ms(p->engines[i].engine);

        if (ms < timeout_ms)
            timeout_ms = ms;
    }
    return timeout_ms;
}

bool
sim_engine_is_removed(const sim_engine *e)
{
    return e->engine->incarnation.attached &&
           csc_uuid_equal(&e->removed, &e->engine->incarnation.id);
}

/* An engine that comes back with another incarnation has attached anew. */
static void
note_state(sim_process *p, sim_engine *e)
{
    cascade_engine *engine = e->engine;

    if (engine->incarnation.attached) {
        if (e->attached &&
            !csc_uuid_equal(&e->incarnation, &engine->incarnation.id)) {
            sim_note(SIM_REATTACHED);
            sim_trace(p->s, "p%u.%u attached anew", p->slot, e->index);
        }
        e->incarnation = engine->incarnation.id;
        e->attached = true;
    }
    if (engine->runs.count >= engine->options.capacity)
        sim_note(SIM_CAPACITY);
}

void
sim_process_poll(sim *s, sim_process *p)
{
    static const size_t portions[] = {1, 1, 2, 3, 100};
    sim_engine *e = &p->engines[sim_below(&s->turns, p->engine_count)];
    size_t max = portions[sim_below(&s->turns, 5)];
    bool check = s->phase == SIM_LIVENESS && e->engine->incarnation.attached;
    sim_leases before;
    size_t ran = 0;
    cascade_err err = CASCADE_OK;

    if (check)
        sim_leases_read(s, &before);
    p->polled_ms = s->now_ms;
    p->busy = true;
    p->current = e;
    if (s->depth > 0)
        sim_note(SIM_NESTED);
    err = cascade_engine_poll(e->engine, max, &ran);
    if (err != CASCADE_OK)
        sim_fail(s, "poll: %s", cascade_errmsg());
    if (check && !p->dead && e->engine->incarnation.attached)
        sim_leases_check_poll(s, e, &before);
    note_state(p, e);
    p->busy = false;
    s->now_ms += sim_below(&s->turns, 2);
}

/* ---- Death -------------------------------------------------------------- */

void
sim_process_kill(sim *s, sim_process *p, sim_count why)
{
    if (p->dead)
        return;
    p->dead = true;
    sim_note(why);
    for (unsigned i = 0; i < p->engine_count; i++)
        if (p->engines[i].holds_left)
            sim_note(SIM_KILL_RECOVERING);
    if (sim_ledger_in_doubt(p))
        sim_note(SIM_KILL_IN_DOUBT);
    sim_trace(s, "p%u is killed", p->slot);
    sim_ledger_check(s);
}

void
sim_process_bury(sim *s, sim_process *p)
{
    sim_trace(s, "p%u is buried", p->slot);
    p->busy = true;
    if (!p->dead && sim_ledger_in_doubt(p))
        sim_note(SIM_LEFT_IN_DOUBT);
    for (unsigned i = 0; i < p->engine_count; i++) {
        cascade_engine *engine = p->engines[i].engine;

        if (engine == NULL)
            continue;
        (void)cascade_engine_stop(engine, 0);
        if (!p->dead)
            sim_note(SIM_DETACHED);
        if (cascade_engine_close(engine) != CASCADE_OK)
            sim_fail(s, "an engine does not close: %s", cascade_errmsg());
        p->engines[i].engine = NULL;
    }
    if (p->store != NULL && cascade_store_close(p->store) != CASCADE_OK)
        sim_fail(s, "a store does not close: %s", cascade_errmsg());
    p->store = NULL;
    wrap_store_free(p->wrap);
    sim_ledger_forget(p);
    p->busy = false;
    p->current = NULL;
    p->alive = false;
    p->dead = false;
    p->engine_count = 0;
    p->born_at_ms = s->now_ms;
    if (p->slot < SIM_PROCESSES_MAX)
        p->born_at_ms += sim_below(
            &s->turns, s->phase == SIM_SAFETY ? REST_MAX_MS : REST_MAX_MS / 10);
}
