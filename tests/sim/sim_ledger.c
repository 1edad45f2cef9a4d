/* SPDX-License-Identifier: MIT
 *
 * Transactions of nodes in the simulation. The memory store has none, since
 * nothing of an application's is in it; here something is: a ledger, which is
 * in one transaction with the store because one thread does both without
 * anything in between. wrap_store lends these moves to whichever store there
 * is, so every fault strikes them as any other move.
 *
 *   begin     a transaction whose writes are kept aside
 *   finish    1. in time, and not ended? else nothing takes effect
 *             2. the lane row must show number - 1: a repeat is LOST (S31, S32)
 *             3. the store's own commit, with that lane
 *             4. if that took effect the writes are made
 *             It may be long on its way from 1 to 2. Or it comes late: the
 *             engine is told UNAVAILABLE, and 2 to 4 are made when it settles,
 *             before that or behind it
 *   abandon   throws the writes away
 *   settle    as store.h has it
 *
 * THE LANE ROW is read and moved by empty batches, of which a commit answers OK
 * where the row shows their number or the one before it, and moves it to that
 * number; else LOST, and nothing moves:
 *
 *   the row shows      number - 2   number - 1   number       number + 1
 *   batch number - 2   OK           LOST         LOST         LOST
 *         number - 1   (moves it)   OK           LOST         LOST
 *         number                    (moves it)   OK           LOST
 *         number + 1                             (moves it)   OK
 *
 * So these four in turn, each where those before it were LOST, tell what it
 * shows and change nothing. Where it shows number - 1, settle moves it on by
 * the last two; where it shows less, the engine has lost count and is told so.
 *
 * WHAT IS CHECKED
 *   Between a finish of unknown outcome and the answer of settle no commit of
 *   that incarnation carries the cascade. A finish carries one cascade, that of
 *   the function which wrote. What comes after the settling is fenced.
 *   Whenever a process dies, and in the end: G11, by the book and the rows.
 */
#include "sim/sim_ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "held/engine_state.h"
#include "node/node.h"
#include "sim/work.h"
#include "store/store.h"

#define NATIVE_KIND "ledger"
#define NATIVE_MAX 4
#define BALANCE 1000
#define ROOM_FIRST 64

/* ---- The ledger --------------------------------------------------------- */

void
sim_ledger_init(sim_ledger *ledger)
{
    *ledger = (sim_ledger){.count = 0};
    for (size_t i = 0; i < SIM_ACCOUNTS; i++)
        ledger->balances[i] = BALANCE;
}

void
sim_ledger_fini(sim_ledger *ledger)
{
    for (size_t i = 0; i < ledger->count; i++)
        free(ledger->transfers[i].path);
    free(ledger->transfers);
}

static void
discard(sim_transaction *t)
{
    if (t != NULL)
        free(t->path);
    free(t);
}

void
sim_ledger_forget(sim_process *p)
{
    discard(p->doubts.late.transaction);
    p->doubts = (sim_doubts){.next = 0};
}

static sim_transfer *
add_transfer(sim_ledger *ledger)
{
    if (ledger->count == ledger->room) {
        ledger->room = ledger->room == 0 ? ROOM_FIRST : ledger->room * 2;
        ledger->transfers = realloc(
            ledger->transfers, ledger->room * sizeof(ledger->transfers[0]));
        if (ledger->transfers == NULL)
            abort();
    }
    return &ledger->transfers[ledger->count++];
}

/* The cascade that a path begins with. */
static cascade_uuid
cascade_of(const char *path)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid id = {{0}};

    (void)snprintf(text, sizeof(text), "%s", path);
    (void)cascade_uuid_parse(text, &id);
    return id;
}

/* Takes the path of `t`. */
static void
make_real(sim *s, sim_transaction *t)
{
    if (t->path == NULL)
        return;
    for (size_t i = 0; i < t->leg_count; i++)
        s->ledger.balances[t->legs[i].account] += t->legs[i].amount;
    *add_transfer(&s->ledger) =
        (sim_transfer){.path = t->path, .cascade_id = cascade_of(t->path)};
    t->path = NULL;
    sim_note(SIM_TRANSFERS);
}

/* ---- For functions of nodes --------------------------------------------- */

sim_transaction *
sim_ledger_of(const cascade_node *node)
{
    return node->native->transaction.handle;
}

void
sim_ledger_write(const cascade_node *node, unsigned account, int amount)
{
    sim_transaction *t = sim_ledger_of(node);

    if (t->path == NULL)
        t->path = strdup(cascade_node_request_id(node));
    if (t->path == NULL || t->leg_count == SIM_LEGS_MAX)
        abort();
    t->legs[t->leg_count++] = (sim_leg){account % SIM_ACCOUNTS, amount};
}

void
sim_ledger_end(const cascade_node *node)
{
    sim_ledger_of(node)->ended = true;
}

void
sim_ledger_break(const cascade_node *node)
{
    sim_ledger_of(node)->broken = true;
}

/* ---- The lane row ------------------------------------------------------- */

static cascade_err
commit_empty(const wrap_inner *inner, const cascade_uuid *engine_id,
             uint32_t lane, int64_t number)
{
    cascade_batch batch = {
        .engine_id = *engine_id, .lane = lane, .number = number};

    return inner->driver->commit(inner->self, &batch, NULL);
}

/* OK where the row shows number - 1. */
static cascade_err
expect_before(const wrap_inner *inner, const cascade_uuid *engine_id,
              uint32_t lane, int64_t number)
{
    cascade_err err = commit_empty(inner, engine_id, lane, number - 2);

    if (err == CASCADE_OK)
        return cascade_store_fail(CASCADE_ERR_LOST,
                                  "the lane shows less than the batch before");
    return err == CASCADE_ERR_LOST
               ? commit_empty(inner, engine_id, lane, number - 1)
               : err;
}

/* See the head. */
static cascade_err
decide(const wrap_inner *inner, const cascade_uuid *engine_id, uint32_t lane,
       int64_t number, bool *committed)
{
    cascade_err err = expect_before(inner, engine_id, lane, number);

    *committed = false;
    if (err == CASCADE_OK) {
        err = commit_empty(inner, engine_id, lane, number);
        return err == CASCADE_OK
                   ? commit_empty(inner, engine_id, lane, number + 1)
                   : err;
    }
    if (err == CASCADE_ERR_LOST) {
        err = commit_empty(inner, engine_id, lane, number);
        *committed = err == CASCADE_OK;
    }
    if (err == CASCADE_ERR_LOST)
        err = commit_empty(inner, engine_id, lane, number + 1);
    return err;
}

/* ---- The moves ---------------------------------------------------------- */

static cascade_err
begin(void *context, int64_t limit_ms, cascade_native *native)
{
    const sim_process *p = context;
    sim_transaction *t = calloc(1, sizeof(*t));

    if (t == NULL)
        abort();
    t->begun_ms = p->s->now_ms;
    t->limit_ms = limit_ms;
    *native = (cascade_native){.handle = t, .own = t};
    return CASCADE_OK;
}

static bool
is_over(const sim *s, const sim_transaction *t)
{
    return s->now_ms - t->begun_ms >= t->limit_ms;
}

static cascade_err
check_open(const sim *s, const sim_transaction *t)
{
    if (t->ended)
        return cascade_store_fail(CASCADE_ERR_MISUSE,
                                  "finish: the function has ended it");
    if (is_over(s, t))
        return cascade_store_fail(CASCADE_ERR_TIMEOUT,
                                  "finish: it took too long");
    if (t->broken)
        return cascade_store_fail(CASCADE_ERR_FAILED,
                                  "finish: a constraint does not hold");
    return CASCADE_OK;
}

/* One cascade, and what is born of it. */
static const cascade_change *
find_change(const cascade_batch *batch)
{
    for (size_t i = 0; i < batch->change_count; i++)
        if (batch->changes[i].run_action != CASCADE_RUN_START)
            return &batch->changes[i];
    return NULL;
}

static void
check_batch(sim *s, const sim_transaction *t, const cascade_batch *batch)
{
    const cascade_change *change = find_change(batch);
    cascade_uuid id = {{0}};

    if (t->path != NULL)
        id = cascade_of(t->path);
    if (change == NULL ||
        (t->path != NULL && !csc_uuid_equal(&change->cascade.id, &id)))
        sim_fail(s, "G11: a finish carries another cascade than wrote: %s",
                 t->path != NULL ? t->path : "none");
    for (size_t i = 0; i < batch->change_count; i++)
        if (batch->changes[i].run_action != CASCADE_RUN_START &&
            &batch->changes[i] != change)
            sim_fail(s, "S29: a finish carries several cascades");
}

/* Both, or neither. */
static cascade_err
carry_out(sim *s, const wrap_inner *inner, sim_transaction *t,
          const cascade_batch *batch, bool *existed)
{
    cascade_err err =
        expect_before(inner, &batch->engine_id, batch->lane, batch->number);

    if (err == CASCADE_OK)
        err = inner->driver->commit(inner->self, batch, existed);
    if (err == CASCADE_OK)
        make_real(s, t);
    return err;
}

static cascade_err
keep_late(sim_process *p, sim_transaction *t, const cascade_batch *batch,
          bool *existed)
{
    discard(p->doubts.late.transaction);
    p->doubts.late = (sim_late){t, *batch, existed};
    p->doubts.comes_late = false;
    sim_note(SIM_FINISH_LATE);
    return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "finish: it comes late");
}

/* Others go on between the look at its limit and the fence. */
static void
be_on_the_way(sim_process *p)
{
    int64_t ms = p->doubts.takes_ms;

    p->doubts.takes_ms = 0;
    if (ms == 0)
        return;
    sim_trace(p->s, "p%u: its finish is on the way for %lld ms", p->slot,
              (long long)ms);
    sim_pass(p->s, ms);
}

static cascade_err
finish(void *context, const wrap_inner *inner, cascade_native *native,
       const cascade_batch *batch, bool *existed)
{
    sim_process *p = context;
    sim_transaction *t = native->own;
    cascade_err err = check_open(p->s, t);

    check_batch(p->s, t, batch);
    if (err == CASCADE_OK && p->doubts.comes_late)
        return keep_late(p, t, batch, existed);
    if (err == CASCADE_OK)
        be_on_the_way(p);
    if (err == CASCADE_OK)
        err = carry_out(p->s, inner, t, batch, existed);
    discard(t);
    return err;
}

static cascade_err
abandon(void *context, cascade_native *native)
{
    const sim_process *p = context;
    sim_transaction *t = native->own;
    bool ended = t->ended;

    if (!p->dead)
        sim_note(is_over(p->s, t) ? SIM_ABANDONED_LATE : SIM_ABANDONED);
    discard(t);
    return ended ? cascade_store_fail(CASCADE_ERR_MISUSE,
                                      "abandon: the function has ended it")
                 : CASCADE_OK;
}

/* The one that is to be settled there, or NULL. */
static sim_transaction *
take_late(sim_process *p, const cascade_uuid *engine_id, uint32_t lane,
          int64_t number)
{
    const sim_late *late = &p->doubts.late;
    sim_transaction *t = late->transaction;

    if (t == NULL || late->batch.lane != lane || late->batch.number != number ||
        !csc_uuid_equal(&late->batch.engine_id, engine_id))
        return NULL;
    p->doubts.late.transaction = NULL;
    return t;
}

static cascade_err
settle(void *context, const wrap_inner *inner, const cascade_uuid *engine_id,
       uint32_t lane, int64_t number, bool *committed)
{
    sim_process *p = context;
    sim_transaction *t = take_late(p, engine_id, lane, number);
    const sim_late *late = &p->doubts.late;
    bool before = t != NULL && sim_chance(&p->s->chaos, 50);
    cascade_err err = CASCADE_OK;

    if (before &&
        carry_out(p->s, inner, t, &late->batch, late->existed) == CASCADE_OK)
        sim_note(SIM_LATE_DONE);
    err = decide(inner, engine_id, lane, number, committed);
    if (t != NULL && !before) {
        if (carry_out(p->s, inner, t, &late->batch, late->existed) ==
            CASCADE_OK)
            sim_fail(p->s, "S32: a finish took effect after it was settled");
        sim_note(SIM_LATE_FENCED);
    }
    discard(t);
    return err;
}

const wrap_natives sim_ledger_natives = {.name = NATIVE_KIND,
                                         .max = NATIVE_MAX,
                                         .begin = begin,
                                         .finish = finish,
                                         .abandon = abandon,
                                         .settle = settle};

/* ---- What is undecided -------------------------------------------------- */

static bool
is_undecided(const sim_undecided *doubt, const cascade_uuid *engine_id,
             const cascade_uuid *cascade_id)
{
    return doubt->open && csc_uuid_equal(&doubt->engine_id, engine_id) &&
           csc_uuid_equal(&doubt->cascade_id, cascade_id);
}

void
sim_ledger_check_call(sim_process *p, const wrap_call *call)
{
    const cascade_batch *batch = call->batch;

    for (size_t i = 0; batch != NULL && i < batch->change_count; i++)
        for (size_t k = 0; k < SIM_UNDECIDED_MAX; k++)
            if (is_undecided(&p->doubts.undecided[k], &batch->engine_id,
                             &batch->changes[i].cascade.id))
                sim_fail(p->s, "G12: a commit carries a cascade whose "
                               "transaction is undecided");
}

static void
open_doubt(sim_process *p, const cascade_batch *batch)
{
    const cascade_change *change = find_change(batch);

    if (change == NULL)
        return;
    p->doubts.undecided[p->doubts.next++ % SIM_UNDECIDED_MAX] =
        (sim_undecided){.engine_id = batch->engine_id,
                        .cascade_id = change->cascade.id,
                        .lane = batch->lane,
                        .open = true};
}

/* That of the lane, or NULL. */
static const sim_undecided *
find_doubt(const sim_process *p, const wrap_call *call)
{
    for (size_t k = 0; k < SIM_UNDECIDED_MAX; k++) {
        const sim_undecided *doubt = &p->doubts.undecided[k];

        if (doubt->open && doubt->lane == call->lane &&
            csc_uuid_equal(&doubt->engine_id, call->engine_id))
            return doubt;
    }
    return NULL;
}

const cascade_uuid *
sim_ledger_doubt(const sim_process *p, const wrap_call *call)
{
    const sim_undecided *doubt = find_doubt(p, call);

    return doubt != NULL ? &doubt->cascade_id : NULL;
}

static void
close_doubt(sim_process *p, const wrap_call *call)
{
    const sim_undecided *doubt = find_doubt(p, call);

    if (doubt != NULL)
        p->doubts.undecided[doubt - p->doubts.undecided].open = false;
}

/* Of those that took no effect. */
static void
count_finish(cascade_err answer)
{
    if (answer == CASCADE_ERR_FENCED)
        sim_note(SIM_FINISH_FENCED);
    if (answer == CASCADE_ERR_TIMEOUT)
        sim_note(SIM_FINISH_OVER);
    if (answer == CASCADE_ERR_MISUSE)
        sim_note(SIM_FINISH_MISUSE);
    if (answer == CASCADE_ERR_FAILED)
        sim_note(SIM_FINISH_FAILED);
    if (answer == CASCADE_ERR_REFUSED)
        sim_note(SIM_FINISH_REFUSED);
}

static void
count_settle(const wrap_call *call, cascade_err answer)
{
    if (answer == CASCADE_OK)
        sim_note(*call->committed ? SIM_SETTLED_DONE : SIM_SETTLED_UNDONE);
    if (answer == CASCADE_ERR_UNAVAILABLE)
        sim_note(SIM_SETTLE_FAILED);
    if (answer == CASCADE_ERR_FENCED)
        sim_note(SIM_SETTLE_FENCED);
}

void
sim_ledger_answered(void *context, const wrap_call *call, cascade_err answer)
{
    sim_process *p = context;

    if (p->dead)
        return;
    if (call->move == WRAP_FINISH)
        count_finish(answer);
    if (call->move == WRAP_FINISH && answer == CASCADE_ERR_UNAVAILABLE)
        open_doubt(p, call->batch);
    if (call->move == WRAP_SETTLE)
        count_settle(call, answer);
    if (call->move == WRAP_SETTLE && answer == CASCADE_OK)
        close_doubt(p, call);
    if (call->move == WRAP_BEGIN && answer != CASCADE_OK)
        sim_note(SIM_BEGIN_FAILED);
}

bool
sim_ledger_in_doubt(const sim_process *p)
{
    for (size_t k = 0; k < SIM_UNDECIDED_MAX; k++) {
        const sim_undecided *doubt = &p->doubts.undecided[k];

        for (unsigned i = 0; doubt->open && i < p->engine_count; i++)
            if (p->engines[i].engine != NULL &&
                csc_uuid_equal(&doubt->engine_id,
                               &p->engines[i].engine->incarnation.id))
                return true;
    }
    return false;
}

/* ---- The book against the rows ------------------------------------------ */

static cascade_err
pass_cascade(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
judge_execution(void *context, const cascade_execution_row *row)
{
    sim *s = context;
    size_t wanted = row->status == CASCADE_EXECUTION_COMPLETED ? 1 : 0;
    size_t found = 0;

    if (strcmp(row->node_name, SIM_TRANSFER_NODE) != 0)
        return CASCADE_OK;
    for (size_t i = 0; i < s->ledger.count; i++)
        if (strcmp(s->ledger.transfers[i].path, row->node_instance_id) == 0) {
            s->ledger.transfers[i].recorded = true;
            found++;
        }
    if (found != wanted)
        sim_fail(s, "G11: %s is %s, and %zu times in the ledger",
                 row->node_instance_id,
                 wanted == 1 ? "completed" : "not completed", found);
    return CASCADE_OK;
}

static void
judge_cascade(sim *s, const cascade_uuid *id)
{
    const cascade_load_sink sink = {.context = s,
                                    .on_cascade = pass_cascade,
                                    .on_execution = judge_execution};

    if (s->eye->driver->load(s->eye->self, id, 1, CASCADE_LOAD_EXECUTIONS,
                             &sink) != CASCADE_OK)
        sim_fail(s, "load: %s", cascade_errmsg());
}

static void
check_money(sim *s)
{
    int sum = 0;

    for (size_t i = 0; i < SIM_ACCOUNTS; i++)
        sum += s->ledger.balances[i];
    if (sum != SIM_ACCOUNTS * BALANCE)
        sim_fail(s, "G11: the accounts have %d, not %d: half of a transfer",
                 sum, SIM_ACCOUNTS * BALANCE);
}

/* Those that were started, and those that nobody was told of. */
void
sim_ledger_check(sim *s)
{
    sim_ledger *ledger = &s->ledger;

    check_money(s);
    for (size_t i = 0; i < ledger->count; i++)
        ledger->transfers[i].recorded = false;
    for (size_t i = 0; i < s->plan->cascade_count; i++) {
        const sim_planned *c = &s->plan->cascades[i];

        if (c->work == &sim_work_transfer && c->has_id && !c->off)
            judge_cascade(s, &c->id);
    }
    for (size_t i = 0; i < ledger->count; i++)
        if (!ledger->transfers[i].recorded)
            judge_cascade(s, &ledger->transfers[i].cascade_id);
    for (size_t i = 0; i < ledger->count; i++)
        if (!ledger->transfers[i].recorded)
            sim_fail(s, "G11: %s is in the ledger, and not in the rows",
                     ledger->transfers[i].path);
}
