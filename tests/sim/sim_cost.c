/* SPDX-License-Identifier: MIT
 *
 * What a call of the store takes, in seeds with size: more with each row and
 * each byte that it reads, writes or takes out. The store serves one call at a
 * time, and all others wait, as for SQLite's writer: what is long delays all.
 *
 *   read     its rows cost as they are given; the one that is behind the
 *            deadline is not: CASCADE_ERR_UNAVAILABLE
 *   write    what a batch or a submission holds is known before: if it is too
 *            much the store works until the deadline, and then it was not done,
 *            or, in some seeds, it was, and nobody hears
 *   store's  how much an erasure, a claim, a removal takes is the store's to
 *            bound: one behind the deadline has failed right here
 *
 * Nodes take no time of their own, so what is late is so for the store.
 *
 * THE KEEPER. An engine with threads renews its lease while another thread of
 * it waits for the store. In some seeds the simulation stands in for that
 * thread: while a call takes its time, all engines that live are asked whether
 * they have to renew. In the others there is none, and leases are long.
 */
#include <string.h>

#include "base/uuid.h"
#include "engine/lease.h"
#include "sim/work.h"
#include "store/memory/internal.h"
#include "store/store.h"

#define MS_NS INT64_C(1000000)
#define CALL_NS INT64_C(200000) /* of any call */
#define KIB 1024
#define KEEPER_SHARE 16 /* of a lease: between two looks of the keeper */

/* ---- What it costs ------------------------------------------------------ */

static int64_t
of_row(const sim *s, size_t bytes)
{
    const sim_size *size = &s->plan->size;

    return size->row_ns + (int64_t)bytes * size->kib_ns / KIB;
}

static int64_t
of_change(const sim *s, const cascade_change *change)
{
    int64_t ns = of_row(s, 0);

    for (size_t i = 0; i < change->insert_count; i++)
        ns += of_row(s, csc_store_execution_bytes(&change->inserts[i]));
    for (size_t i = 0; i < change->update_count; i++)
        ns += of_row(s, csc_store_execution_bytes(&change->updates[i]));
    for (size_t i = 0; i < change->event_count; i++)
        ns += of_row(s, csc_store_event_bytes(&change->events[i]));
    for (size_t i = 0; i < change->send_count; i++)
        ns += of_row(s, csc_store_message_bytes(&change->sends[i]));
    return ns + (int64_t)change->received_count * of_row(s, 0);
}

/* What the call is to write. */
static int64_t
of_write(const sim *s, const wrap_call *call)
{
    const cascade_submission *submission = call->submission;
    int64_t ns = 0;

    if (call->move == WRAP_COMMIT || call->move == WRAP_FINISH)
        for (size_t i = 0; i < call->batch->change_count; i++)
            ns += of_change(s, &call->batch->changes[i]);
    if (call->move != WRAP_SUBMIT)
        return ns;
    for (size_t i = 0; i < submission->start_count; i++)
        ns += of_change(s, &submission->starts[i]);
    for (size_t i = 0; i < submission->message_count; i++)
        ns += of_row(s, csc_store_message_bytes(&submission->messages[i]));
    return ns;
}

/* It took effect before, and nobody heard: the lane row tells that. */
static bool
is_repeated(const sim_process *p, const cascade_batch *batch)
{
    return p->open_number == batch->number && p->open_lane == batch->lane &&
           csc_uuid_equal(&p->open_engine, &batch->engine_id);
}

static size_t
count_rows(const sim *s)
{
    const csc_memory *memory = s->eye->self;

    return memory->model->executions.count + memory->model->letters.count;
}

/* What the store has chosen to touch. */
static int64_t
of_store(const sim *s, const wrap_call *call, size_t before)
{
    size_t after = count_rows(s);
    size_t rows = after < before ? before - after : 0;

    if (call->move == WRAP_CLAIM)
        rows += call->claimed->count;
    if (call->move == WRAP_REMOVE)
        rows += *call->freed;
    return (int64_t)rows * of_row(s, 0);
}

/* ---- Time that goes by -------------------------------------------------- */

static void
keep(sim *s)
{
    for (unsigned i = 0; i < s->plan->process_count; i++) {
        sim_process *p = &s->processes[i];
        bool was_busy = p->busy;

        if (!p->alive || p->leaving || s->now_ms < p->stopped_until_ms)
            continue;
        p->busy = true;
        for (unsigned k = 0; k < p->engine_count && !p->dead; k++)
            if (p->engines[k].engine != NULL && p->engines[k].attached)
                (void)csc_lease_keep(p->engines[k].engine);
        p->busy = was_busy;
    }
}

void
sim_cost_turn(sim *s)
{
    if (!s->plan->size.keeper || s->keeping)
        return;
    s->keeping = true;
    keep(s);
    s->keeping = false;
}

static void
spend(sim *s, int64_t ns)
{
    const sim_size *size = &s->plan->size;
    int64_t left_ms = 0;

    s->cost_ns += ns;
    left_ms = s->cost_ns / MS_NS;
    s->cost_ns %= MS_NS;
    while (left_ms > 0) {
        int64_t step_ms = size->lease_ms / KEEPER_SHARE;

        if (!size->keeper || s->keeping || left_ms < step_ms)
            step_ms = left_ms;
        s->now_ms += step_ms;
        left_ms -= step_ms;
        sim_cost_turn(s);
    }
}

static int64_t
deadline_ns(const sim *s)
{
    return s->plan->size.deadline_ms * MS_NS;
}

/* ---- Calls -------------------------------------------------------------- */

cascade_err
sim_cost_before(sim_process *p, const wrap_call *call)
{
    sim *s = p->s;
    const sim_size *size = &s->plan->size;

    if (!size->on)
        return CASCADE_OK;
    p->spent_ns = CALL_NS;
    if (call->move != WRAP_COMMIT || !is_repeated(p, call->batch))
        p->spent_ns += of_write(s, call);
    s->rows_before = count_rows(s);
    if (p->spent_ns <= deadline_ns(s) || size->late == LATE_DONE)
        return CASCADE_OK;
    sim_trace(s, "p%u %s has more to write than it has time", p->slot,
              sim_move_name((int)call->move));
    spend(s, deadline_ns(s));
    return size->late == LATE_NOT_DONE && call->move == WRAP_COMMIT
               ? CASCADE_ERR_NOT_DONE
               : CASCADE_ERR_UNAVAILABLE;
}

cascade_err
sim_cost_row(void *context, const wrap_call *call, size_t bytes)
{
    sim_process *p = context;
    const sim *s = p->s;

    (void)call;
    if (!s->plan->size.on)
        return CASCADE_OK;
    p->spent_ns += of_row(s, bytes);
    return p->spent_ns > deadline_ns(s) ? CASCADE_ERR_UNAVAILABLE : CASCADE_OK;
}

cascade_err
sim_cost_after(sim_process *p, const wrap_call *call, cascade_err answer)
{
    sim *s = p->s;
    int64_t taken_ns = 0;
    bool late = false;

    if (!s->plan->size.on)
        return answer;
    if (answer == CASCADE_OK)
        taken_ns = of_store(s, call, s->rows_before);
    if (taken_ns > deadline_ns(s))
        sim_fail(
            s, "G15: one %s takes %lld ms in the store, which has %lld for it",
            sim_move_name((int)call->move), (long long)(taken_ns / MS_NS),
            (long long)s->plan->size.deadline_ms);
    p->spent_ns += taken_ns;
    late = p->spent_ns > deadline_ns(s);
    sim_note_many(SIM_LATE_READ, late && call->move != WRAP_COMMIT);
    spend(s, late ? deadline_ns(s) : p->spent_ns);
    if (late && call->move == WRAP_COMMIT && answer == CASCADE_OK) {
        p->open_engine = call->batch->engine_id;
        p->open_lane = call->batch->lane;
        p->open_number = call->batch->number;
    }
    return late ? CASCADE_ERR_UNAVAILABLE : answer;
}
