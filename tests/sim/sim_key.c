/* SPDX-License-Identifier: MIT
 *
 * What a request id is bound to, over starts, continuations and purges.
 *
 * In some seeds people use one key of the world for all they do: they start it
 * by every policy of reuse, alone and with a signal; signal it by key, and by
 * the ids of runs of long ago; repeat any of that with the same few request
 * ids; terminate it; and purge what has ended. All faults strike there as
 * elsewhere, and calls overlap. The oracle of the rows is of no use where rows
 * are purged, so what happens is noted as it is committed:
 *
 *   run 1 --> run 2 --> run 3 | run 4 --> run 5 | run 6        one key
 *   root 1    root 1    root 1 | root 4   root 4 | root 6
 *
 * A run that a start has made is a root, also of the runs that it continues as.
 *
 *   ONCE     no request id is received by two runs of a root, purged or not
 *   BOUND    a signal that was acknowledged is received under the root that its
 *            address had during the call: that of the id; of a key, the
 *            current one, which may change meanwhile; of a start, that of the
 *            run that it was told of. It may be lost only with the last run of
 *            the root, where that is purged
 *   THERE    a signal by id is told that there is no such cascade only where
 *            the last run of the root is purged; one by key, too
 *   ANEW     a start makes a run where its policy says so, and else none
 *
 * Where the only run of the key is purged all of this is forgotten, and run 1
 * is born again (cascade_start_options).
 *
 * A purge takes the runs of this key alone, since the oracle does not know of
 * purges: other cascades are kept out of the list that it is handed. TERMINATE
 * waits in real time for a run that goes on; so such a start comes behind a
 * termination, which is sent as any message and carried out by some engine.
 */
#include "sim/sim_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/uuid.h"
#include "cascade/manage.h"
#include "client/command.h"
#include "client/submit.h"
#include "sim/work.h"
#include "store/store.h"

#define USER "somebody"
#define KEY "again"
#define SIGNAL "go"
#define REQUESTS "/message/signal/q#" /* in the path of one */
#define PERCENT 10                    /* of the seeds without giants */
#define RETRY_MS 400
#define CALLS_MAX 100 /* of calls of one act */

enum {
    FORK_KEY = 31
};

/* ---- The plan ----------------------------------------------------------- */

static void
draw_start(sim_key_act *act, sim_random *random)
{
    static const int waits_ms[] = {50, 3000, 15000};

    act->kind = SIM_KEY_START;
    act->reuse = (cascade_reuse)sim_below(random, CASCADE_REUSE_TERMINATE + 1);
    if (sim_chance(random, 50))
        act->request = (int)sim_below(random, SIM_KEY_REQUESTS);
    (void)snprintf(act->input, sizeof(act->input),
                   "{\"fails\":%d,\"left\":%d,\"wait\":%d}",
                   sim_chance(random, 40) ? 1 : 0, sim_between(random, 0, 4),
                   waits_ms[sim_below(random, 3)]);
}

static void
draw_act(sim_key_act *act, sim_random *random)
{
    unsigned kind = sim_below(random, 100);

    act->request = -1;
    act->times = sim_chance(random, 25) ? 2 : 1;
    act->at_ms = sim_between(random, 0, 40000);
    if (kind < 35) {
        draw_start(act, random);
    } else if (kind < 80) {
        act->kind = SIM_KEY_SIGNAL;
        act->request = (int)sim_below(random, SIM_KEY_REQUESTS);
        act->by_key = sim_chance(random, 40);
        act->back = sim_below(random, 5);
    } else {
        act->kind = kind < 88 ? SIM_KEY_END : SIM_KEY_PURGE;
        act->times = 1;
    }
}

void
sim_key_plan(sim_plan *plan)
{
    sim_random random = sim_fork(plan->seed, FORK_KEY, 0);
    sim_key *key = &plan->key;

    if (plan->size.on || !sim_chance(&random, PERCENT))
        return;
    key->on = true;
    key->act_count = (unsigned)sim_between(&random, 8, SIM_KEY_ACTS_MAX);
    for (unsigned i = 0; i < key->act_count; i++) {
        sim_random own = sim_fork(plan->seed, FORK_KEY, i + 1);

        draw_act(&key->acts[i], &own);
    }
}

static const char *
kind_name(const sim_key_act *act)
{
    static const char *const kinds[] = {"start", "signal", "end", "purge"};

    return kinds[act->kind];
}

void
sim_key_print(const sim_plan *plan)
{
    for (unsigned i = 0; i < plan->key.act_count; i++) {
        const sim_key_act *act = &plan->key.acts[i];

        if (!act->off)
            printf("  key, act %u at %lld ms: %s, reuse %d, request %d, %s %u, "
                   "input %s, %u times\n",
                   i, (long long)act->at_ms, kind_name(act), (int)act->reuse,
                   act->request, act->by_key ? "by key" : "back", act->back,
                   act->input, act->times);
    }
}

/* ---- What is known ------------------------------------------------------ */

void
sim_key_open(sim *s)
{
    sim_key *key = &s->plan->key;

    if (!key->on)
        return;
    memset(key->runs, 0, sizeof(key->runs));
    key->born = 0;
    key->purges = 0;
    key->lives = 0;
    key->found_count = 0;
    key->told_count = 0;
    for (unsigned i = 0; i < key->act_count; i++) {
        sim_key_act *act = &key->acts[i];

        act->run = 0;
        act->made = 0;
        act->decided = false;
        act->under_way = false;
        act->next_ms = act->at_ms;
    }
    for (int32_t n = 1; n <= SIM_KEY_RUNS_MAX; n++) {
        key->ids[n] = csc_uuid_v8(USER, KEY, n);
        oracle_leave_out(s->o, &key->ids[n]);
    }
}

static int32_t
number_of(const sim_key *key, const cascade_uuid *id)
{
    for (int32_t n = 1; n <= SIM_KEY_RUNS_MAX; n++)
        if (csc_uuid_equal(&key->ids[n], id))
            return n;
    return 0;
}

static cascade_status
status_of(const sim *s, int32_t run)
{
    cascade_status status = 0;
    cascade_info *info = NULL;

    if (cascade_get(s->eye, &s->plan->key.ids[run], &info) == CASCADE_OK)
        status = info->status;
    cascade_info_free(info);
    return status;
}

/* The root of the run that the key has now; 0: it was never started. */
static int32_t
current_root(const sim_key *key)
{
    return key->runs[key->born].root;
}

/* Its last run was purged, and all that is known of it. */
static bool
is_gone(const sim_key *key, int32_t root)
{
    int32_t last = root;

    while (last < key->born && key->runs[last + 1].root == root)
        last++;
    return key->runs[last].gone;
}

static bool
has_received(const sim_key *key, int32_t root, int request)
{
    for (size_t i = 0; i < key->found_count; i++)
        if (key->found[i].request == request &&
            key->runs[key->found[i].run].root == root)
            return true;
    return false;
}

/* ---- What took effect --------------------------------------------------- */

/* The key is free again. */
static void
forget(sim_key *key)
{
    key->runs[1] = (sim_key_run){.born = false};
    key->born = 0;
    key->lives++;
    key->found_count = 0;
    key->told_count = 0;
}

static void
note_birth(sim *s, const cascade_change *change, int by)
{
    sim_key *key = &s->plan->key;
    int32_t run = number_of(key, &change->cascade.id);
    sim_key_run *born = &key->runs[run];

    if (run == 1 && key->born == 1 && born->gone)
        forget(key);
    if (run == 0 || born->born)
        return;
    *born = (sim_key_run){
        .born = true, .root = by < 0 ? key->runs[run - 1].root : run, .by = by};
    if (run != key->born + 1)
        sim_fail(s, "G10: run %d was born behind run %d", (int)run,
                 (int)key->born);
    key->born = run;
    sim_note(by < 0 ? SIM_KEY_CONTINUED : SIM_KEY_STARTED);
}

static bool
is_known(const sim_key *key, int32_t run, int32_t function_id)
{
    for (size_t i = 0; i < key->found_count; i++)
        if (key->found[i].run == run &&
            key->found[i].function_id == function_id)
            return true;
    return false;
}

/* ONCE. A commit that is repeated is seen again. */
static void
note_receipt(sim *s, int32_t run, const cascade_execution_row *row)
{
    sim_key *key = &s->plan->key;
    const char *path = strstr(row->node_instance_id, REQUESTS);
    int request = 0;

    if (path == NULL || is_known(key, run, row->function_id))
        return;
    request = (int)strtol(path + strlen(REQUESTS), NULL, 10);
    if (has_received(key, key->runs[run].root, request))
        sim_fail(s, "G9: request %d was received again, by run %d of root %d",
                 request, (int)run, (int)key->runs[run].root);
    if (key->found_count < SIM_KEY_FOUND_MAX)
        key->found[key->found_count++] =
            (sim_key_found){run, row->function_id, request};
}

static void
see_commit(sim *s, const cascade_batch *batch)
{
    const sim_key *key = &s->plan->key;

    for (size_t i = 0; i < batch->change_count; i++)
        if (batch->changes[i].run_action == CASCADE_RUN_START)
            note_birth(s, &batch->changes[i], -1);
    for (size_t i = 0; i < batch->change_count; i++) {
        const cascade_change *change = &batch->changes[i];
        int32_t run = number_of(key, &change->cascade.id);

        for (size_t k = 0; run > 0 && k < change->insert_count; k++)
            note_receipt(s, run, &change->inserts[k]);
    }
}

static void
see_purge(sim *s)
{
    sim_key *key = &s->plan->key;

    key->purges++;
    for (int32_t n = 1; n <= key->born; n++) {
        if (key->runs[n].gone || status_of(s, n) != 0)
            continue;
        key->runs[n].gone = true;
        sim_note(SIM_KEY_PURGED);
        if (n < key->born && key->runs[n + 1].root == key->runs[n].root &&
            !key->runs[n + 1].gone)
            sim_note(SIM_KEY_PURGED_EARLY);
    }
}

void
sim_key_see(sim_process *p, const wrap_call *call)
{
    sim *s = p->s;

    if (!s->plan->key.on)
        return;
    if (call->move == WRAP_COMMIT || call->move == WRAP_FINISH)
        see_commit(s, call->batch);
    if (call->move == WRAP_SUBMIT && sim_key_submits(p))
        for (size_t i = 0; i < call->start_count; i++)
            if (!call->existed[i])
                note_birth(s, &call->starts[i], p->key_act - 1);
    if (call->move == WRAP_PURGE)
        see_purge(s);
}

bool
sim_key_submits(const sim_process *p)
{
    return p->key_act > 0;
}

/* ---- Starts ------------------------------------------------------------- */

/* What was there as a call began. */
typedef struct before {
    int32_t born;
    int32_t root;
    cascade_status status; /* of the current run; 0: there is none */
    unsigned purges;
    unsigned lives;
} before;

static before
look(const sim *s)
{
    const sim_key *key = &s->plan->key;

    return (before){.born = key->born,
                    .root = current_root(key),
                    .status = key->born > 0 ? status_of(s, key->born) : 0,
                    .purges = key->purges,
                    .lives = key->lives};
}

/* Whether the policy wants another run in any case; or in none, as long as
 * nothing else happens. */
static bool
wants_another(cascade_reuse reuse, cascade_status status)
{
    switch (reuse) {
    case CASCADE_REUSE_NEVER:
        break;
    case CASCADE_REUSE_ENDED:
        return status == CASCADE_COMPLETED || status == CASCADE_ERROR;
    case CASCADE_REUSE_FAILED:
        return status == CASCADE_ERROR;
    case CASCADE_REUSE_TERMINATE:
        return status != 0;
    }
    return false;
}

static bool
wants_none(cascade_reuse reuse, cascade_status status)
{
    return (reuse == CASCADE_REUSE_NEVER && status != 0) ||
           (reuse == CASCADE_REUSE_FAILED && status == CASCADE_COMPLETED);
}

/* Roots that were born since, by others. */
static bool
others_started(const sim_key *key, int32_t since, int by)
{
    for (int32_t n = since + 1; n <= key->born; n++)
        if (key->runs[n].by >= 0 && key->runs[n].by != by)
            return true;
    return false;
}

/* ANEW. */
static void
judge_start(sim *s, int nth, const before *was, const cascade_started *started)
{
    const sim_key *key = &s->plan->key;
    const sim_key_act *act = &key->acts[nth];
    int32_t run = number_of(key, &started->id);
    bool alone =
        key->purges == was->purges && !others_started(key, was->born, nth);

    if (run == 0 || !key->runs[run].born) {
        sim_fail(s, "G10: a start was told of run %d, which was never started",
                 (int)run);
        return;
    }
    if (!started->existed && key->runs[run].by != nth)
        sim_fail(s, "G10: run %d of act %d did not exist, says act %d",
                 (int)run, key->runs[run].by, nth);
    if (wants_another(act->reuse, was->status) && key->lives == was->lives &&
        key->runs[run].root == was->root)
        sim_fail(s, "G10: a start (reuse %d) got run %d, which had ended",
                 (int)act->reuse, (int)run);
    if (alone && wants_none(act->reuse, was->status) &&
        current_root(key) != was->root)
        sim_fail(s, "G10: a start (reuse %d) made run %d", (int)act->reuse,
                 (int)key->born);
    if (!started->existed && act->request >= 0)
        sim_note(SIM_KEY_WITH_SIGNAL);
}

static void
note_told(sim *s, const before *was, int request, int32_t from, int32_t to)
{
    sim_key *key = &s->plan->key;

    if (key->lives == was->lives && key->told_count < SIM_KEY_TOLD_MAX)
        key->told[key->told_count++] = (sim_key_told){request, from, to};
}

static cJSON *
payload_of(const sim_key_act *act)
{
    return sim_object("n", act->request);
}

static cascade_signal_options
signal_options(const sim_key_act *act, char *request_id, size_t size)
{
    (void)snprintf(request_id, size, "q#%d", act->request);
    return (cascade_signal_options){.size = sizeof(cascade_signal_options),
                                    .request_id = request_id};
}

static cascade_err
start(sim *s, sim_process *p, int nth)
{
    const sim_key *key = &s->plan->key;
    const sim_key_act *act = &key->acts[nth];
    const cascade_start_options options = {.size = sizeof(options),
                                           .user_id = USER,
                                           .key = KEY,
                                           .reuse = act->reuse};
    const before was = look(s);
    cascade_started started = {.existed = false};
    char request_id[16];
    cascade_err err = CASCADE_OK;

    if (act->request < 0) {
        err = cascade_start(p->store, "k.hear", cJSON_Parse(act->input),
                            &options, &started);
    } else {
        cascade_signal_options signal =
            signal_options(act, request_id, sizeof(request_id));

        err = cascade_start_with_signal(
            p->store, "k.hear", cJSON_Parse(act->input), &options, SIGNAL,
            payload_of(act), &signal, &started);
    }
    if (err == CASCADE_OK || err == CASCADE_ERR_ENDED)
        judge_start(s, nth, &was, &started);
    if (act->request >= 0 && (err == CASCADE_OK || err == CASCADE_ERR_ENDED)) {
        int32_t root = key->runs[number_of(key, &started.id)].root;

        note_told(s, &was, act->request, root, root);
    }
    return err == CASCADE_ERR_ENDED ? CASCADE_OK : err;
}

/* ---- Signals ------------------------------------------------------------ */

/* THERE. A key that was not started yet has no run. */
static void
judge_absence(sim *s, const before *was, const sim_key_act *act, int32_t from,
              int32_t to)
{
    const sim_key *key = &s->plan->key;
    bool absent = from == 0 || key->lives != was->lives;

    for (int32_t root = from; root <= to && !absent; root++)
        absent = key->runs[root].root == root && is_gone(key, root);
    if (!absent)
        sim_fail(s, "G9: a signal %s run %d was told that it does not exist",
                 act->by_key ? "by key to" : "to", (int)act->run);
}

static cascade_err
send_signal(sim *s, sim_process *p, sim_key_act *act)
{
    const sim_key *key = &s->plan->key;
    char request_id[16];
    cascade_signal_options options =
        signal_options(act, request_id, sizeof(request_id));
    const before was = look(s);
    int32_t from = 0;
    int32_t to = 0;
    cascade_err err = CASCADE_OK;

    if (!act->by_key && act->run == 0)
        act->run =
            key->born > (int32_t)act->back ? key->born - (int32_t)act->back : 1;
    from = act->by_key ? current_root(key) : key->runs[act->run].root;
    if (act->by_key)
        err = cascade_signal_key(p->store, USER, KEY, SIGNAL, payload_of(act),
                                 &options);
    else
        err = cascade_signal(p->store, &key->ids[act->run], SIGNAL,
                             payload_of(act), &options);
    to = act->by_key ? current_root(key) : from;
    if (err == CASCADE_ERR_NOT_FOUND)
        judge_absence(s, &was, act, from, to);
    if (err == CASCADE_OK || err == CASCADE_ERR_ENDED)
        note_told(s, &was, act->request, from, to);
    if (err == CASCADE_OK && !act->by_key && key->runs[act->run].gone)
        sim_note(SIM_KEY_LINKED);
    return err == CASCADE_ERR_ENDED || err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK
                                                                    : err;
}

/* ---- Ends --------------------------------------------------------------- */

/* As cascade_terminate(), which may wait in real time, does without an engine.
 */
static cascade_err
terminate(sim *s, sim_process *p)
{
    const sim_key *key = &s->plan->key;
    csc_arena arena = {0};
    cascade_message_row message = {.path = NULL};
    cascade_sent sent = CASCADE_SENT_ABSENT;
    cascade_submission submission = {
        .messages = &message, .message_count = 1, .sent = &sent};
    const csc_command_spec spec = {.kind = "terminate"};
    const cascade_request_options options = {.size = sizeof(options)};
    cascade_err err = csc_command_make(p->store, &arena, &key->ids[key->born],
                                       &spec, &options, &message);

    if (err == CASCADE_OK)
        err = csc_submit(p->store, &submission, "terminate");
    csc_arena_fini(&arena);
    return err;
}

static bool
is_ours(void *context, const cascade_uuid *id)
{
    const sim_process *p = context;

    return number_of(&p->s->plan->key, id) > 0;
}

static cascade_err
purge(sim_process *p)
{
    const cascade_purge_options options = {.size = sizeof(options)};
    cascade_err err = CASCADE_OK;

    p->wrap->listed = is_ours;
    err = cascade_purge(p->store, &options, NULL);
    p->wrap->listed = NULL;
    return err;
}

/* ---- When --------------------------------------------------------------- */

static bool
is_wanted(const sim_key *key, const sim_key_act *act)
{
    if (act->off || act->under_way || act->made >= CALLS_MAX ||
        key->born >= SIM_KEY_RUNS_MAX / 2)
        return false;
    if (act->kind != SIM_KEY_START && key->born == 0)
        return false;
    return !act->decided || act->made < act->times;
}

/* A start that would wait for the end of a run asks for it first. */
static bool
must_end_first(const sim *s, const sim_key_act *act)
{
    const sim_key *key = &s->plan->key;

    return act->kind == SIM_KEY_START &&
           act->reuse == CASCADE_REUSE_TERMINATE && key->born > 0 &&
           status_of(s, key->born) == CASCADE_RUNNING;
}

static cascade_err
make(sim *s, sim_process *p, int nth, bool *decided)
{
    sim_key_act *act = &s->plan->key.acts[nth];

    *decided = true;
    if (must_end_first(s, act)) {
        *decided = false;
        return terminate(s, p);
    }
    switch (act->kind) {
    case SIM_KEY_START:
        return start(s, p, nth);
    case SIM_KEY_SIGNAL:
        return send_signal(s, p, act);
    case SIM_KEY_END:
        return terminate(s, p);
    case SIM_KEY_PURGE:
        break;
    }
    return purge(p);
}

static void
do_act(sim *s, sim_process *p, int nth)
{
    sim_key_act *act = &s->plan->key.acts[nth];
    bool decided = false;
    cascade_err err = CASCADE_OK;

    act->made++;
    act->under_way = true;
    p->busy = true;
    p->sending = true;
    p->key_act = nth + 1;
    err = make(s, p, nth, &decided);
    p->key_act = 0;
    p->sending = false;
    p->busy = false;
    act->under_way = false;
    act->decided = act->decided || (decided && err == CASCADE_OK);
    act->next_ms = s->now_ms + RETRY_MS;
    sim_trace(s, "p%u %s of the key, act %d: %s", p->slot, kind_name(act), nth,
              cascade_err_name(err));
    if (err != CASCADE_OK && err != CASCADE_ERR_OUTCOME_UNKNOWN &&
        err != CASCADE_ERR_UNAVAILABLE && err != CASCADE_ERR_AGAIN)
        sim_fail(s, "a %s of the key returned %s: %s", kind_name(act),
                 cascade_err_name(err), cascade_errmsg());
}

bool
sim_key_act_due(sim *s, sim_process *p)
{
    sim_key *key = &s->plan->key;

    for (unsigned i = 0; key->on && i < key->act_count; i++) {
        if (!is_wanted(key, &key->acts[i]) || s->now_ms < key->acts[i].next_ms)
            continue;
        do_act(s, p, (int)i);
        return true;
    }
    return false;
}

int64_t
sim_key_next(const sim *s)
{
    const sim_key *key = &s->plan->key;
    int64_t next = INT64_MAX;

    for (unsigned i = 0; key->on && i < key->act_count; i++)
        if (is_wanted(key, &key->acts[i]) && key->acts[i].next_ms < next)
            next = key->acts[i].next_ms;
    return next;
}

/* ---- The end ------------------------------------------------------------ */

static bool
is_kept(const sim_key *key, const sim_key_told *told)
{
    for (int32_t root = told->from; root <= told->to; root++)
        if (key->runs[root].root == root &&
            (has_received(key, root, told->request) || is_gone(key, root)))
            return true;
    return false;
}

bool
sim_key_done(const sim *s)
{
    const sim_key *key = &s->plan->key;

    if (!key->on)
        return true;
    if (sim_key_next(s) != INT64_MAX ||
        (key->born > 0 && status_of(s, key->born) == CASCADE_RUNNING))
        return false;
    for (size_t i = 0; i < key->told_count; i++)
        if (!is_kept(key, &key->told[i]))
            return false;
    return true;
}

/* BOUND. */
void
sim_key_check(sim *s)
{
    const sim_key *key = &s->plan->key;

    for (size_t i = 0; key->on && i < key->told_count; i++)
        if (!is_kept(key, &key->told[i]))
            sim_fail(s,
                     "G9: request %d was acknowledged, and is not in the runs "
                     "of root %d to %d",
                     key->told[i].request, (int)key->told[i].from,
                     (int)key->told[i].to);
}
