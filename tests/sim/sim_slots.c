/* SPDX-License-Identifier: MIT
 *
 * Queues with limits (cascade/store_limits.h).
 *
 * In some seeds people set, raise, lower and take away limits of the queues
 * that all work goes through, and some starts carry a limit key. What they have
 * set last stays: everything must end all the same. Two things are looked at:
 *
 *   ROOM   after each call of the store that took effect, in its rows: of a
 *          queue, or of one of its keys, more runs have a slot than before the
 *          call only if it was a claim, the queue has limits, and they are not
 *          more than the maximum that is in force. So there are never more than
 *          the largest maximum since the last of the slots was given. What
 *          hands a slot on (a run that continues as the next) changes no number
 *   BEGUN  where an engine knows that a queue has limits, each function that it
 *          enters there belongs to a run that it owns, with a slot
 *
 *   attached, queue has limits --+
 *   a claim was answered, it has +--> known --> the limits are taken away
 *
 * LEFT OUT
 *   What an engine enters before it can know of the limits. Limits that are set
 *   while its attach or a claim is answered count from its next claim on; and
 *   limits that were taken away and set again, too, though an engine may not
 *   have heard of the time between.
 *   An engine that the store has removed: it cannot know, and its commits are
 *   fenced. A run that has no row any more: that it has ended is for the oracle
 *   to tell.
 *   Whether a claim gives what it could, and in which order (S98): the former
 *   shows in that everything ends.
 */
#include "sim/sim_slots.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "cascade/manage.h"
#include "held/engine_state.h"
#include "node/node.h"
#include "sim/sim.h"
#include "store/store.h"

#define PERCENT 25 /* of the seeds without giants */
#define RETRY_MS 400
#define PAGE 1000
#define NONE (-1)

enum {
    FORK_LIMITS = 41,
    FORK_LIMIT_KEY,
    FORK_LIMIT_FAULT
};

const char *const sim_queue_names[SIM_QUEUES] = {"default", "other", "slow"};
const char *const sim_limit_keys[SIM_LIMIT_KEYS] = {"somebody", "a", "b"};

/* ---- The plan ----------------------------------------------------------- */

typedef struct shape {
    sim_fault_kind kind;
    wrap_move move;
    int from_ms;
    int to_ms;
} shape;

static const shape shapes[] = {
    {FAULT_LOSE_BEFORE, WRAP_SET_LIMITS, 0, 0},
    {FAULT_LOSE_AFTER, WRAP_SET_LIMITS, 0, 0},
    {FAULT_KILL_AFTER, WRAP_SET_LIMITS, 0, 0},
    {FAULT_LOSE_BEFORE, WRAP_LIST_LIMITS, 0, 0},
    {FAULT_LOSE_AFTER, WRAP_LIST_LIMITS, 0, 0},
    {FAULT_KILL_BEFORE, WRAP_LIST_LIMITS, 0, 0},
    {FAULT_STALL_BEFORE, WRAP_LIST_LIMITS, 200, 25000},
    {FAULT_STALL_AFTER, WRAP_LIST_LIMITS, 200, 25000},
    {FAULT_LOSE_AFTER, WRAP_DROP_LIMITS, 0, 0},
    {FAULT_STALL_AFTER, WRAP_CLAIM, 200, 25000},
    {FAULT_LOSE_AFTER, WRAP_CLAIM, 0, 0},
    {FAULT_KILL_AFTER, WRAP_CLAIM, 0, 0}};

static void
plan_fault(sim_plan *plan, unsigned nth)
{
    sim_random random = sim_fork(plan->seed, FORK_LIMIT_FAULT, nth);
    const shape *like =
        &shapes[sim_below(&random, sizeof(shapes) / sizeof(shapes[0]))];

    plan->faults[plan->fault_count++] = (sim_fault){
        .kind = like->kind,
        .move = (int)like->move,
        .at_call = 3 + sim_below(&random, (unsigned)plan->calls / 2),
        .amount_ms = sim_between(&random, like->from_ms, like->to_ms),
        .times = 1 + sim_below(&random, 2)};
}

static void
draw_act(const sim_plan *plan, sim_limit_act *act, unsigned nth)
{
    static const unsigned queues[] = {0, 0, 1, 2};
    sim_random random = sim_fork(plan->seed, FORK_LIMITS, nth + 1);

    act->queue = queues[sim_below(&random, 4)];
    act->unset = nth > 0 && sim_chance(&random, 15);
    act->versioned = sim_chance(&random, 20);
    act->running_max = sim_between(&random, 0, 3);
    act->key_running_max = sim_between(&random, 0, 2);
    act->at_ms = sim_between(&random, 0, (int)(plan->safety_ms * 2 / 3));
    if (nth == 0 || sim_chance(&random, 30))
        act->at_ms /= 20;
}

void
sim_limits_plan(sim_plan *plan)
{
    sim_random random = sim_fork(plan->seed, FORK_LIMITS, 0);
    sim_limits *limits = &plan->limits;
    unsigned faults = 0;

    if (plan->size.on || !sim_chance(&random, PERCENT))
        return;
    limits->on = true;
    limits->act_count = (unsigned)sim_between(&random, 1, SIM_LIMIT_ACTS_MAX);
    for (unsigned i = 0; i < limits->act_count; i++)
        draw_act(plan, &limits->acts[i], i);
    if (plan->fault_count > 0)
        faults = sim_below(&random, SIM_LIMIT_FAULTS_MAX + 1);
    for (unsigned i = 0; i < faults; i++)
        plan_fault(plan, i);
    for (unsigned i = 0; i < plan->cascade_count; i++) {
        sim_random own = sim_fork(plan->seed, FORK_LIMIT_KEY, i);
        unsigned key = sim_below(&own, SIM_LIMIT_KEYS);

        plan->cascades[i].limit_key = key > 0 ? sim_limit_keys[key] : NULL;
    }
}

void
sim_limits_print(const sim_plan *plan)
{
    for (unsigned i = 0; i < plan->limits.act_count; i++) {
        const sim_limit_act *act = &plan->limits.acts[i];

        if (!act->off)
            printf("  limits, act %u at %" PRId64 " ms: %s %s to %d, %d%s\n", i,
                   act->at_ms, act->unset ? "unset" : "set",
                   sim_queue_names[act->queue], act->running_max,
                   act->key_running_max, act->versioned ? ", by version" : "");
    }
}

/* ---- Setting ------------------------------------------------------------ */

void
sim_limits_open(sim *s)
{
    for (unsigned i = 0; i < s->plan->limits.act_count; i++) {
        sim_limit_act *act = &s->plan->limits.acts[i];

        act->decided = false;
        act->under_way = false;
        act->next_ms = act->at_ms;
    }
}

static bool
is_wanted(const sim_limit_act *act)
{
    return !act->off && !act->decided;
}

static cascade_err
set(sim *s, sim_process *p, const sim_limit_act *act)
{
    int64_t *version = &s->slots.version[act->queue];
    const cascade_queue_limits limits = {
        .size = sizeof(limits),
        .running_max = act->running_max,
        .key_running_max = act->key_running_max,
        .version = act->versioned && *version == 0 ? -1
                   : act->versioned                ? *version
                                                   : 0};
    cascade_err err = cascade_queue_set(p->store, sim_queue_names[act->queue],
                                        &limits, version);

    if (err == CASCADE_ERR_EXISTS && act->versioned)
        sim_note(SIM_LIMITS_REFUSED);
    return err == CASCADE_ERR_EXISTS && act->versioned ? CASCADE_OK : err;
}

static cascade_err
unset(sim_process *p, const sim_limit_act *act)
{
    cascade_err err =
        cascade_queue_unset(p->store, sim_queue_names[act->queue]);

    if (err == CASCADE_ERR_REFUSED)
        sim_note(SIM_LIMITS_REFUSED);
    return err == CASCADE_ERR_REFUSED || err == CASCADE_ERR_NOT_FOUND
               ? CASCADE_OK
               : err;
}

static void
do_act(sim *s, sim_process *p, sim_limit_act *act)
{
    cascade_err err = CASCADE_OK;

    act->under_way = true;
    p->busy = true;
    err = act->unset ? unset(p, act) : set(s, p, act);
    p->busy = false;
    act->under_way = false;
    act->decided = err == CASCADE_OK;
    act->next_ms = s->now_ms + RETRY_MS;
    sim_trace(s, "p%u %s limits of %s, %d, %d: %s", p->slot,
              act->unset ? "unsets" : "sets", sim_queue_names[act->queue],
              act->running_max, act->key_running_max, cascade_err_name(err));
    if (err != CASCADE_OK && err != CASCADE_ERR_UNAVAILABLE)
        sim_fail(s, "limits of %s: %s", sim_queue_names[act->queue],
                 cascade_errmsg());
}

bool
sim_limits_act_due(sim *s, sim_process *p)
{
    sim_limits *limits = &s->plan->limits;

    for (unsigned i = 0; i < limits->act_count; i++) {
        sim_limit_act *act = &limits->acts[i];

        if (!is_wanted(act) || act->under_way ||
            (s->now_ms < act->next_ms && s->phase == SIM_SAFETY))
            continue;
        do_act(s, p, act);
        return true;
    }
    return false;
}

int64_t
sim_limits_next(const sim *s)
{
    const sim_limits *limits = &s->plan->limits;
    int64_t next = INT64_MAX;

    for (unsigned i = 0; i < limits->act_count; i++)
        if (is_wanted(&limits->acts[i]) && !limits->acts[i].under_way &&
            limits->acts[i].next_ms < next)
            next = limits->acts[i].next_ms;
    return next;
}

bool
sim_limits_done(const sim *s)
{
    for (unsigned i = 0; i < s->plan->limits.act_count; i++)
        if (is_wanted(&s->plan->limits.acts[i]))
            return false;
    return true;
}

/* ---- What the store has ------------------------------------------------- */

typedef struct maxima {
    bool kept[SIM_QUEUES]; /* it has limits */
    int32_t running[SIM_QUEUES];
    int32_t key_running[SIM_QUEUES];
} maxima;

static int
find_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count && name != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return NONE;
}

static cascade_err
note_limits(void *context, const cascade_limits_row *row)
{
    maxima *found = context;
    int queue = find_name(sim_queue_names, SIM_QUEUES, row->queue);

    if (queue != NONE) {
        found->kept[queue] = true;
        found->running[queue] = row->running_max;
        found->key_running[queue] = row->key_running_max;
    }
    return CASCADE_OK;
}

static maxima
read_limits(sim *s)
{
    maxima found = {{false}, {0}, {0}};

    if (s->eye->driver->limits->list(s->eye->self, NULL, "", PAGE, note_limits,
                                     &found) != CASCADE_OK)
        sim_fail(s, "limits: %s", cascade_errmsg());
    return found;
}

typedef struct counting {
    sim *s;
    sim_tally tally;
    cascade_uuid last;
    size_t count;
} counting;

static cascade_err
count_run(void *context, const cascade_row *row, const cascade_run_row *run)
{
    counting *c = context;
    int queue = NONE;
    int key = NONE;

    c->last = row->id;
    c->count++;
    if (run == NULL || run->slot == 0)
        return CASCADE_OK;
    queue = find_name(sim_queue_names, SIM_QUEUES, run->queue);
    key = find_name(sim_limit_keys, SIM_LIMIT_KEYS, run->limit_key);
    if (csc_uuid_is_nil(&run->engine_id)) {
        sim_fail(c->s, "S97: a run of %s is free, and has a slot", run->queue);
    } else if (queue == NONE || key == NONE) {
        sim_fail(c->s, "S98: a slot of queue %s, key %s", run->queue,
                 run->limit_key != NULL ? run->limit_key : "NULL");
    } else {
        c->tally.all[queue]++;
        c->tally.of_key[queue][key]++;
    }
    return CASCADE_OK;
}

static sim_tally
count_slots(sim *s)
{
    counting c = {.s = s};
    cascade_query query = {.limit = PAGE};
    cascade_uuid after;
    cascade_err err = CASCADE_OK;

    do {
        c.count = 0;
        err = s->eye->driver->list(s->eye->self, &query, count_run, &c);
        after = c.last;
        query.after = &after;
    } while (err == CASCADE_OK && c.count == PAGE);
    if (err != CASCADE_OK)
        sim_fail(s, "list: %s", cascade_errmsg());
    return c.tally;
}

/* ---- Room --------------------------------------------------------------- */

/* Of a queue, or of one of its keys, so many have a slot. `max` is NONE where
 * none may be given. */
static void
judge_count(sim *s, const char *queue, const char *key, size_t before,
            size_t now, int32_t max)
{
    if (now <= before)
        return;
    sim_note_many(SIM_SLOTS, now - before);
    if (max == NONE)
        sim_fail(s, "S97: %zu of queue %s, key %s, have a slot, %zu before",
                 now, queue, key, before);
    else if (max > 0 && now > (size_t)max)
        sim_fail(s, "S96: %zu of queue %s, key %s, have a slot, of %d", now,
                 queue, key, (int)max);
    else if (max > 0 && now == (size_t)max)
        sim_note(SIM_SLOTS_FULL);
}

/* `gives`: by a call that may give slots. */
static void
judge(sim *s, bool gives)
{
    const maxima limits = read_limits(s);
    const sim_tally now = count_slots(s);
    const sim_tally *before = &s->slots.before;

    for (int q = 0; q < SIM_QUEUES; q++) {
        bool may = gives && limits.kept[q];

        judge_count(s, sim_queue_names[q], "any", before->all[q], now.all[q],
                    may ? limits.running[q] : NONE);
        for (int k = 0; k < SIM_LIMIT_KEYS; k++)
            judge_count(s, sim_queue_names[q], sim_limit_keys[k],
                        before->of_key[q][k], now.of_key[q][k],
                        may ? limits.key_running[q] : NONE);
    }
    s->slots.before = now;
}

void
sim_slots_look(sim *s)
{
    if (s->plan->limits.on)
        judge(s, false);
}

/* ---- Begun -------------------------------------------------------------- */

typedef struct finding {
    const cascade_uuid *engine_id;
    bool alive;
    bool found;
    bool owned; /* by that engine */
    int queue;
    int32_t slot;
} finding;

static cascade_err
find_engine(void *context, const cascade_incarnation *row)
{
    finding *f = context;

    f->alive = f->alive || csc_uuid_equal(&row->engine_id, f->engine_id);
    return CASCADE_OK;
}

static cascade_err
find_run(void *context, const cascade_row *row, const cascade_run_row *run)
{
    finding *f = context;

    (void)row;
    if (run == NULL)
        return CASCADE_OK;
    f->found = true;
    f->owned = csc_uuid_equal(&run->engine_id, f->engine_id);
    f->queue = find_name(sim_queue_names, SIM_QUEUES, run->queue);
    f->slot = run->slot;
    return CASCADE_OK;
}

static cascade_err
find(sim *s, const cascade_uuid *id, finding *f)
{
    const cascade_query query = {.id = id, .limit = 1};
    cascade_err err = s->eye->driver->list(s->eye->self, &query, find_run, f);

    if (err == CASCADE_OK)
        err = s->eye->driver->engines(s->eye->self, find_engine, f, NULL);
    return err;
}

void
sim_slots_entered(sim_engine *e, const cascade_node *node)
{
    sim *s = e->process->s;
    finding f = {.engine_id = &e->engine->incarnation.id, .queue = NONE};

    if (!s->plan->limits.on)
        return;
    if (find(s, &node->run->state.id, &f) != CASCADE_OK) {
        sim_fail(s, "a run: %s", cascade_errmsg());
        return;
    }
    if (!f.found || !f.alive || f.queue == NONE || !e->kept[f.queue])
        return;
    sim_note(SIM_BEGUN_BY_SLOT);
    if (!f.owned || f.slot == 0)
        sim_fail(s, "S96: %s is entered in queue %s, which has limits, %s",
                 cascade_node_request_id(node), sim_queue_names[f.queue],
                 f.owned ? "without a slot" : "by who does not own it");
}

/* Who knows of them takes it that they are there until a claim says else; but
 * they may be set again before. */
static void
forget_kept(sim *s, const char *name)
{
    int queue = find_name(sim_queue_names, SIM_QUEUES, name);

    for (unsigned i = 0; i < SIM_PROCESSES_MAX && queue != NONE; i++) {
        sim_process *p = &s->processes[i];

        p->kept_told[queue] = false;
        for (unsigned k = 0; k < SIM_ENGINES_MAX; k++)
            p->engines[k].kept[queue] = false;
    }
}

/* ---- Calls -------------------------------------------------------------- */

static void
see_claim(sim *s, const wrap_call *call)
{
    for (size_t i = 0; i < call->claimed->count; i++) {
        const cascade_claimed *claimed = &call->claims[i];
        const maxima limits = read_limits(s);
        const cascade_uuid none = {{0}};
        finding f = {.engine_id = &none, .queue = NONE};

        if (find(s, &claimed->cascade_id, &f) != CASCADE_OK || !f.found ||
            f.queue == NONE)
            continue;
        if (claimed->slot != (f.slot != 0))
            sim_fail(s, "S96: a claim tells of another slot than the run has");
        if (!limits.kept[f.queue] || claimed->slot)
            continue;
        sim_note(SIM_CLAIMED_SLOTLESS);
        if (claimed->message_kind[0] == '\0')
            sim_fail(s, "S99: a run of queue %s is claimed without a slot",
                     sim_queue_names[f.queue]);
    }
}

static void
see_drop(sim *s, const wrap_call *call)
{
    if (!*call->done)
        return;
    sim_note(SIM_LIMITS_UNSET);
    forget_kept(s, call->queue);
}

void
sim_slots_see(sim_process *p, const wrap_call *call)
{
    sim *s = p->s;
    maxima limits;

    if (!s->plan->limits.on)
        return;
    judge(s, call->move == WRAP_CLAIM);
    limits = read_limits(s);
    if (call->move == WRAP_CLAIM) {
        see_claim(s, call);
        memcpy(p->kept_told, limits.kept, sizeof(p->kept_told));
    } else if (call->move == WRAP_ATTACH && p->current != NULL) {
        memcpy(p->current->kept, limits.kept, sizeof(p->current->kept));
    } else if (call->move == WRAP_DROP_LIMITS) {
        see_drop(s, call);
    } else if (call->move == WRAP_SET_LIMITS && *call->done) {
        sim_note(SIM_LIMITS_SET);
    }
}

void
sim_slots_told(sim_process *p, const wrap_call *call, cascade_err err)
{
    if (call->move == WRAP_CLAIM && err == CASCADE_OK && p->current != NULL)
        memcpy(p->current->kept, p->kept_told, sizeof(p->kept_told));
}
