/* SPDX-License-Identifier: MIT
 *
 * Between the engines and the store. Every call passes sim_fault_before(), then
 * the real store, then sim_fault_after(). A planned fault fires at the first
 * call that it fits; what it starts (three lost replies in a row, a connection
 * that is down) is kept in the process.
 *
 *   before   dead, down, lost, killed --> CASCADE_ERR_UNAVAILABLE, no effect
 *            stalled                  --> others run, then the call goes on
 *            cursed payload           --> CASCADE_ERR_REFUSED, no effect
 *            held up                  --> CASCADE_ERR_AGAIN, no effect
 *            undone                   --> CASCADE_ERR_NOT_DONE, no effect
 *   after    the oracle looks at what was written, whoever will hear of it
 *            stalled                  --> others run, then the reply arrives
 *            lost, killed             --> CASCADE_ERR_UNAVAILABLE, with effect
 *
 * A finish that is told as UNAVAILABLE is in doubt until settle answers; one
 * may come to the store as late as that (sim_ledger.c).
 *
 * The curse is the only fault that depends on what is written: the store always
 * refuses it, so the engine must find the one row among those that others share
 * the batch with.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "held/engine_state.h"
#include "sim/work.h"
#include "store/store.h"

/* ---- Which -------------------------------------------------------------- */

static bool
is_idle(const sim_fault *f)
{
    return f->kind == FAULT_KILL_IDLE || f->kind == FAULT_STOP ||
           f->kind == FAULT_REMOVE || f->kind == FAULT_DROP_ALL ||
           f->kind == FAULT_JUMP || f->kind == FAULT_SKEW ||
           (f->kind == FAULT_LEAVE && f->move < 0);
}

static bool
has_start(const cascade_batch *batch)
{
    for (size_t i = 0; i < batch->change_count; i++)
        if (batch->changes[i].run_action == CASCADE_RUN_START)
            return true;
    return false;
}

/* Whether it is made for such a call; NULL: between calls. */
static bool
fits(const sim_fault *f, const wrap_call *call)
{
    if (f->move >= 0 && (call == NULL || f->move != (int)call->move))
        return false;
    return f->kind != FAULT_HOLD || has_start(call->batch);
}

static sim_fault *
take_fault(sim *s, bool idle, const wrap_call *call)
{
    sim_plan *plan = s->plan;

    if (s->phase != SIM_SAFETY)
        return NULL;
    for (size_t i = 0; i < plan->fault_count; i++) {
        sim_fault *f = &plan->faults[i];

        if (f->off || f->fired || f->at_call > s->calls || is_idle(f) != idle ||
            !fits(f, call))
            continue;
        f->fired = true;
        s->lossy = true;
        return f;
    }
    return NULL;
}

/* ---- Between calls ------------------------------------------------------ */

/* One that lives and is not on the stack, or NULL. */
static sim_process *
draw_process(sim *s)
{
    sim_process *found[SIM_PROCESSES_MAX];
    unsigned count = 0;

    for (unsigned i = 0; i < s->plan->process_count; i++)
        if (s->processes[i].alive && !s->processes[i].busy &&
            !s->processes[i].dead)
            found[count++] = &s->processes[i];
    return count > 0 ? found[sim_below(&s->chaos, count)] : NULL;
}

/* As somebody would who then dies: he may leave runs behind. */
static void
remove_engine(sim *s, sim_process *p)
{
    sim_engine *e = NULL;
    size_t limit = sim_chance(&s->chaos, 50) ? 1 : 1000;
    size_t freed = 0;

    for (unsigned i = 0; i < p->engine_count; i++)
        if (p->engines[i].engine->incarnation.attached)
            e = &p->engines[i];
    if (e == NULL)
        return;
    e->removed = e->engine->incarnation.id;
    if (s->eye->driver->remove(s->eye->self, &e->removed, 1, limit, &freed) !=
        CASCADE_OK)
        sim_fail(s, "remove: %s", cascade_errmsg());
    sim_note(SIM_LOST_OWNERSHIP);
    sim_slots_look(s);
    sim_leases_read(s, &p->leases);
    if (p->leases.orphans)
        sim_note(SIM_ORPHANS);
    sim_note_many(SIM_TAKEOVER, freed);
    sim_trace(s, "p%u is removed, %zu cascades are free", p->slot, freed);
}

static void
set_clock(sim *s, sim_process *p, const sim_fault *f)
{
    s->clock_moved = true;
    /* From now on a free run may wake as much later as clocks lie apart. */
    oracle_set_slack(s->o, 4 * 60000);
    if (f->kind == FAULT_SKEW && p != NULL) {
        p->skew_ms = f->amount_ms;
        sim_note(SIM_SKEWED);
    } else if (f->kind == FAULT_JUMP) {
        sim_note(f->amount_ms > s->jump_ms ? SIM_JUMP_FORWARD : SIM_JUMP_BACK);
        s->jump_ms = f->amount_ms;
    }
}

static void
befall(sim *s, const sim_fault *f)
{
    sim_process *p = draw_process(s);

    sim_trace(s, "%s (p%d), %" PRId64 " ms", sim_fault_name(f->kind),
              p != NULL ? (int)p->slot : -1, f->amount_ms);
    if (f->kind == FAULT_JUMP || f->kind == FAULT_SKEW) {
        set_clock(s, p, f);
    } else if (f->kind == FAULT_DROP_ALL) {
        s->down_until_ms = s->now_ms + f->amount_ms;
        sim_note(SIM_OUTAGE_ALL);
    } else if (p == NULL) {
        return;
    } else if (f->kind == FAULT_KILL_IDLE) {
        sim_process_kill(s, p, SIM_KILL_IDLE);
    } else if (f->kind == FAULT_LEAVE) {
        p->leaving = true;
    } else if (f->kind == FAULT_STOP) {
        p->stopped_until_ms = s->now_ms + f->amount_ms;
        if (f->amount_ms > 10000)
            sim_note(SIM_STOPPED);
    } else {
        remove_engine(s, p);
    }
}

void
sim_fault_idle(sim *s)
{
    const sim_fault *f = take_fault(s, true, NULL);

    if (f != NULL)
        befall(s, f);
}

/* ---- Before a call ------------------------------------------------------ */

static sim_count
kill_count(wrap_move move, bool after)
{
    switch (move) {
    case WRAP_COMMIT:
        return after ? SIM_KILL_COMMIT_AFTER : SIM_KILL_COMMIT_BEFORE;
    case WRAP_CLAIM:
        return SIM_KILL_CLAIM;
    case WRAP_LOAD:
        return SIM_KILL_LOAD;
    case WRAP_REMOVE:
        return SIM_KILL_REMOVE;
    case WRAP_SUBMIT:
        return SIM_KILL_SUBMIT;
    case WRAP_ATTACH:
        return SIM_KILL_ATTACH;
    case WRAP_RECEIVE:
        return SIM_KILL_RECEIVE;
    case WRAP_OPEN:
    case WRAP_MIGRATE:
        return SIM_KILL_OPEN;
    case WRAP_BEGIN:
        return SIM_KILL_BEGIN;
    case WRAP_FINISH:
        return after ? SIM_KILL_FINISH_AFTER : SIM_KILL_FINISH_BEFORE;
    case WRAP_ABANDON:
        return SIM_KILL_ABANDON;
    case WRAP_SETTLE:
        return SIM_KILL_SETTLE;
    case WRAP_CLOSE:
    case WRAP_NOW:
    case WRAP_RENEW:
    case WRAP_DETACH:
    case WRAP_ENGINES:
    case WRAP_KEY:
    case WRAP_FIND:
    case WRAP_LINK:
    case WRAP_SWEEP:
    case WRAP_STRAYS:
    case WRAP_PAUSE:
    case WRAP_QUEUES:
    case WRAP_TOTALS:
    case WRAP_SCHEMA:
    case WRAP_SCAN:
    case WRAP_REPAIR:
    case WRAP_PURGE:
    case WRAP_ERASE:
    case WRAP_SEAL:
    case WRAP_SEALS:
    case WRAP_SET_LIMITS:
    case WRAP_LIST_LIMITS:
    case WRAP_DROP_LIMITS:
    case WRAP_SLOTS:
    case WRAP_LIST:
    case WRAP_WAIT:
    case WRAP_WAKE:
    case WRAP_MOVES:
        break;
    }
    return SIM_KILL_OTHER;
}

static void
stall(sim_process *p, int64_t ms)
{
    bool was_busy = p->busy;

    p->busy = true;
    if (ms > 10000)
        sim_note(SIM_STALL_CALL);
    sim_trace(p->s, "p%u stalls for %" PRId64 " ms", p->slot, ms);
    sim_pass(p->s, ms);
    sim_trace(p->s, "p%u goes on", p->slot);
    p->busy = was_busy;
}

/* A fault begins at this call: whether the store is reached. */
static cascade_err
strike(sim_process *p, const wrap_call *call, const sim_fault *f)
{
    sim *s = p->s;

    sim_trace(s, "p%u %s: %s", p->slot, sim_move_name((int)call->move),
              sim_fault_name(f->kind));
    if (f->kind == FAULT_DELAY) {
        s->now_ms += f->amount_ms;
    } else if (f->kind == FAULT_LOSE_BEFORE || f->kind == FAULT_LOSE_AFTER) {
        p->rule_move = call->move;
        p->rule_times = f->times;
        p->rule_after = f->kind == FAULT_LOSE_AFTER;
    } else if (f->kind == FAULT_KILL_BEFORE) {
        sim_process_kill(s, p, kill_count(call->move, false));
        return CASCADE_ERR_UNAVAILABLE;
    } else if (f->kind == FAULT_STALL_BEFORE) {
        stall(p, f->amount_ms);
    } else if (f->kind == FAULT_FORGET) {
        sim_note(SIM_COMMIT_LOSSES);
        return CASCADE_ERR_LOST;
    } else if (f->kind == FAULT_LEAVE) {
        p->leaving = true;
        return CASCADE_ERR_UNAVAILABLE;
    } else if (f->kind == FAULT_LATE) {
        p->doubts.comes_late = f->amount_ms == 0;
        p->doubts.takes_ms = f->amount_ms;
    } else if (f->kind == FAULT_HOLD) {
        sim_note(SIM_COMMIT_HELD);
        return CASCADE_ERR_AGAIN;
    } else if (f->kind == FAULT_UNDONE) {
        sim_note(call->move == WRAP_CLAIM ? SIM_CLAIM_UNDONE
                                          : SIM_COMMIT_UNDONE);
        return CASCADE_ERR_NOT_DONE;
    } else if (f->kind == FAULT_DROP) {
        p->down_until_ms = s->now_ms + f->amount_ms;
        sim_note(SIM_OUTAGE);
    } else {
        p->after = f; /* KILL_AFTER, STALL_AFTER */
    }
    return CASCADE_OK;
}

static bool
holds_curse(const char *text)
{
    return text != NULL && strstr(text, "\"" SIM_CURSE "\"") != NULL;
}

static bool
is_cursed(const cascade_change *change)
{
    for (size_t i = 0; i < change->update_count; i++)
        if (holds_curse(change->updates[i].full_output))
            return true;
    for (size_t i = 0; i < change->insert_count; i++)
        if (holds_curse(change->inserts[i].full_output))
            return true;
    for (size_t i = 0; i < change->event_count; i++)
        if (holds_curse(change->events[i].value))
            return true;
    return false;
}

static bool
is_refused(const wrap_call *call)
{
    if (call->move != WRAP_COMMIT && call->move != WRAP_FINISH)
        return false;
    for (size_t i = 0; i < call->batch->change_count; i++)
        if (is_cursed(&call->batch->changes[i])) {
            sim_note(SIM_COMMIT_REFUSED);
            if (call->batch->change_count > 1)
                sim_note(SIM_BATCH_SPLIT);
            return true;
        }
    return false;
}

static void
note_lost_before(const wrap_call *call)
{
    if (call->move == WRAP_COMMIT)
        sim_note(SIM_COMMIT_LOST_BEFORE);
    if (call->move == WRAP_FINISH)
        sim_note(SIM_FINISH_LOST_BEFORE);
    if (call->move == WRAP_SUBMIT)
        sim_note(SIM_SUBMIT_LOST_BEFORE);
    if (call->move == WRAP_LOAD)
        sim_note(SIM_LOAD_FAILED);
    if (call->move == WRAP_RECEIVE)
        sim_note(SIM_RECEIVE_FAILED);
}

static bool
takes_rule(sim_process *p, const wrap_call *call, bool after)
{
    if (p->rule_times == 0 || p->rule_move != call->move ||
        p->rule_after != after)
        return false;
    p->rule_times--;
    return true;
}

static bool
is_loaded(const sim_planned *c, const wrap_call *call)
{
    for (size_t i = 0; i < call->id_count && c->has_id; i++)
        if (csc_uuid_equal(&call->ids[i], &c->id))
            return true;
    return false;
}

/* Whoever reads such a cascade whole dies. */
static bool
takes_bomb(sim_process *p, const wrap_call *call)
{
    sim_plan *plan = p->s->plan;

    if (call->move != WRAP_LOAD || (call->parts & CASCADE_LOAD_EXECUTIONS) == 0)
        return false;
    for (size_t i = 0; i < plan->cascade_count; i++) {
        sim_planned *c = &plan->cascades[i];

        if (c->killed >= c->kills || !is_loaded(c, call))
            continue;
        c->killed++;
        sim_note(SIM_BOMBED);
        sim_process_kill(p->s, p, SIM_KILL_LOAD);
        return true;
    }
    return false;
}

cascade_err
sim_fault_before(void *context, const wrap_call *call)
{
    sim_process *p = context;
    sim *s = p->s;
    const sim_fault *f = NULL;
    cascade_err err = CASCADE_OK;

    if (call->move == WRAP_CLOSE)
        return CASCADE_OK; /* has no answer */
    if (!p->dead && s->calls >= SIM_CALLS_MAX) {
        sim_fail(s, "hangs: %" PRIu64 " store calls", s->calls);
        sim_process_kill(s, p, SIM_KILL_OTHER);
    }
    if (p->dead)
        return CASCADE_ERR_UNAVAILABLE;
    s->calls++;
    sim_note(SIM_STORE_CALLS);
    if (call->move == WRAP_SUBMIT)
        sim_client_submit(p, call);
    sim_ledger_check_call(p, call);
    s->now_ms += sim_below(&s->turns, 2);
    f = take_fault(s, false, call);
    if (f != NULL)
        err = strike(p, call, f);
    if (err == CASCADE_OK &&
        (p->dead || s->now_ms < p->down_until_ms ||
         s->now_ms < s->down_until_ms || takes_rule(p, call, false) ||
         takes_bomb(p, call)))
        err = CASCADE_ERR_UNAVAILABLE;
    if (err == CASCADE_ERR_UNAVAILABLE)
        note_lost_before(call);
    else if (err == CASCADE_OK && is_refused(call))
        err = CASCADE_ERR_REFUSED;
    else if (err == CASCADE_OK)
        err = sim_cost_before(p, call);
    if (err != CASCADE_OK)
        p->after = NULL; /* there is nothing to come after */
    if (err == CASCADE_OK && call->move == WRAP_REMOVE)
        sim_leases_read(s, &p->leases);
    if (err != CASCADE_OK)
        sim_trace(s, "p%u %s %zu: %s, no effect", p->slot,
                  sim_move_name((int)call->move), call->number,
                  cascade_err_name(err));
    return err;
}

/* ---- After a call ------------------------------------------------------- */

static void
look(sim *s, const cascade_uuid *id)
{
    if ((s->plan->size.on || s->plan->key.on) && oracle_left_out(s->o, id))
        return;
    if (!oracle_look(s->o, s->eye->driver, s->eye->self, id, 1) &&
        !sim_failed(s))
        sim_fail(s, "%s", oracle_text(s->o));
}

/* A cascade that is born of another is known from now on, and waited for. */
static void
see_birth(sim *s, const cascade_change *change)
{
    oracle_started(s->o, &change->cascade.id, true);
    sim_note(change->run_number > 1 ? SIM_NEXT_RUN : SIM_CHILD);
    for (size_t i = 1; i < change->insert_count; i++)
        sim_note_many(SIM_CARRIED,
                      change->inserts[i].status == CASCADE_EXECUTION_COMPLETED);
}

static void
see_sends(sim *s, const cascade_change *change)
{
    for (size_t i = 0; i < change->send_count; i++) {
        look(s, &change->sends[i].cascade_id);
        sim_note_many(SIM_SENT_ON,
                      strcmp(change->sends[i].kind, "signal") == 0);
    }
}

static void
see_commit(sim_process *p, const wrap_call *call)
{
    const cascade_batch *batch = call->batch;
    bool repeated = p->open_number == batch->number &&
                    p->open_lane == batch->lane &&
                    csc_uuid_equal(&p->open_engine, &batch->engine_id);

    sim_note(repeated ? SIM_COMMIT_REPEATED : SIM_COMMITS);
    if (batch->change_count > 1)
        sim_note(SIM_BATCH_SHARED);
    for (size_t i = 0; i < batch->change_count; i++)
        if (batch->changes[i].run_action == CASCADE_RUN_START)
            see_birth(p->s, &batch->changes[i]);
    for (size_t i = 0; i < batch->change_count; i++) {
        const cascade_change *change = &batch->changes[i];

        look(p->s, &change->cascade.id);
        see_sends(p->s, change);
        sim_note_many(SIM_RECEIVED, change->received_count);
        if (change->run_action == CASCADE_RUN_DELETE)
            sim_note(SIM_DELETED);
        if (change->run_action == CASCADE_RUN_DELETE && call->existed[i])
            sim_note(SIM_MARKED);
        if (change->run_action == CASCADE_RUN_FREE)
            sim_note(change->run.needs != NULL ? SIM_NEEDS : SIM_PARKED);
    }
}

static void
see_claim(sim_process *p, const wrap_call *call)
{
    for (size_t i = 0; i < call->claimed->count; i++) {
        const cascade_claimed *claimed = &call->claims[i];

        look(p->s, &claimed->cascade_id);
        sim_note(SIM_CLAIMED);
        if (claimed->claim_no > 1 && claimed->takeovers == 0)
            sim_note(SIM_WOKEN);
        if (claimed->takeovers >= 3)
            sim_note(SIM_CLAIM_SUSPECT);
        if (claimed->takeovers > 0 && p->current != NULL)
            p->current->holds_left = true;
    }
}

static void
see_submit(sim_process *p, const wrap_call *call)
{
    sim_client_submitted(p, call);
    for (size_t i = 0; i < call->start_count; i++)
        look(p->s, &call->starts[i].cascade.id);
    for (size_t i = 0; i < call->submission->message_count; i++)
        look(p->s, &call->submission->messages[i].cascade_id);
}

/* A finish may have come to the store only now. */
static void
see_settle(sim_process *p, const wrap_call *call)
{
    const cascade_uuid *id = sim_ledger_doubt(p, call);

    if (id != NULL)
        look(p->s, id);
}

/* Whatever the engine will be told: this is what the store did. */
static void
see(sim_process *p, const wrap_call *call)
{
    sim_key_see(p, call);
    sim_slots_see(p, call);
    if (call->move == WRAP_SETTLE)
        see_settle(p, call);
    if (call->move == WRAP_COMMIT || call->move == WRAP_FINISH)
        see_commit(p, call);
    if (call->move == WRAP_CLAIM)
        see_claim(p, call);
    if (call->move == WRAP_SUBMIT)
        see_submit(p, call);
    if (call->move == WRAP_REMOVE) {
        sim_note_many(SIM_TAKEOVER, *call->freed);
        sim_leases_check_removal(p->s, &p->leases);
    }
}

static cascade_err
lose_reply(sim_process *p, const wrap_call *call)
{
    if (call->move == WRAP_COMMIT) {
        sim_note(SIM_COMMIT_LOST_AFTER);
        p->open_engine = call->batch->engine_id;
        p->open_lane = call->batch->lane;
        p->open_number = call->batch->number;
    }
    if (call->move == WRAP_FINISH)
        sim_note(SIM_FINISH_LOST_AFTER);
    if (call->move == WRAP_SUBMIT)
        sim_note(SIM_SUBMIT_LOST_AFTER);
    if (call->move == WRAP_CLAIM && call->claimed->count > 0)
        sim_note(SIM_CLAIM_LOST);
    if (call->move == WRAP_ATTACH)
        sim_note(SIM_ATTACH_LOST);
    if (call->move == WRAP_DETACH)
        sim_note(SIM_DETACH_LOST);
    if (call->move == WRAP_LOAD)
        sim_note(SIM_LOAD_FAILED);
    if (call->move == WRAP_RECEIVE)
        sim_note(SIM_RECEIVE_FAILED);
    return CASCADE_ERR_UNAVAILABLE;
}

static cascade_err
finish(sim_process *p, const wrap_call *call, cascade_err answer)
{
    const sim_fault *f = p->after;

    p->after = NULL;
    if (f != NULL && f->kind == FAULT_STALL_AFTER)
        stall(p, f->amount_ms);
    if (f != NULL && f->kind == FAULT_KILL_AFTER)
        sim_process_kill(p->s, p, kill_count(call->move, true));
    if (p->dead)
        return CASCADE_ERR_UNAVAILABLE;
    if (takes_rule(p, call, true))
        return answer == CASCADE_OK ? lose_reply(p, call)
                                    : CASCADE_ERR_UNAVAILABLE;
    return answer;
}

cascade_err
sim_fault_after(void *context, const wrap_call *call, cascade_err answer)
{
    sim_process *p = context;
    cascade_err err = CASCADE_OK;

    if (call->move == WRAP_CLOSE)
        return answer;
    if (answer == CASCADE_OK)
        see(p, call);
    err = finish(p, call, sim_cost_after(p, call, answer));
    sim_slots_told(p, call, err);
    if (err == CASCADE_ERR_FENCED)
        sim_small_fenced(p, call);
    if (err == CASCADE_ERR_FENCED && call->move == WRAP_COMMIT)
        sim_note(SIM_COMMIT_FENCED);
    if (err == CASCADE_ERR_FENCED && call->move == WRAP_RENEW)
        sim_note(SIM_RENEW_FENCED);
    sim_trace(p->s, "p%u %s %zu: %s%s%s", p->slot,
              sim_move_name((int)call->move), call->number,
              cascade_err_name(answer), err != answer ? ", told " : "",
              err != answer ? cascade_err_name(err) : "");
    return err;
}
