/* SPDX-License-Identifier: MIT
 *
 * What comes from outside: starts, looks, and calls that must be refused. Each
 * is made through the handle of some process, or of the client, which has no
 * engine; so each can be interrupted like the calls of engines.
 *
 * A START BY KEY is repeated until it is acknowledged, as a caller would, and
 * perhaps once more by others: one cascade must come of it (G10). A start
 * without a key is made once; where its outcome is unknown the cascade may or
 * may not exist, and where it was refused it must not (strangers are refused by
 * the oracle). What a start sends to the store is noted: the same ids when it
 * is repeated inside the call, and nothing at all when the call says so.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "sim/work.h"

#define RETRY_MS 700
#define MANY_MAX 8

/* ---- Through whom ------------------------------------------------------- */

static sim_process *
draw_handle(sim *s)
{
    sim_process *found[SIM_PROCESSES_MAX + 1];
    unsigned count = 0;

    for (unsigned i = 0; i <= SIM_PROCESSES_MAX; i++) {
        sim_process *p = i < SIM_PROCESSES_MAX ? &s->processes[i] : &s->client;

        if (sim_process_may_run(s, p))
            found[count++] = p;
    }
    return count > 0 ? found[sim_below(&s->turns, count)] : NULL;
}

/* ---- What a start sends ------------------------------------------------- */

void
sim_client_submit(sim_process *p, const wrap_call *call)
{
    bool first = p->submitted_count == 0;

    if (sim_key_submits(p) || (p->sending && call->start_count == 0))
        return;
    if (!p->starting || call->start_count > SIM_CASCADES_MAX) {
        sim_fail(p->s, "a submit without a start");
        return;
    }
    for (size_t i = 0; i < call->start_count; i++)
        if (first)
            p->submitted[i] = call->starts[i].cascade.id;
        else if (!csc_uuid_equal(&p->submitted[i], &call->starts[i].cascade.id))
            sim_fail(p->s, "G12: a start was repeated with another id");
    p->submitted_count = call->start_count;
}

void
sim_client_submitted(sim_process *p, const wrap_call *call)
{
    p->submit_done = true;
    for (size_t i = 0; i < call->start_count; i++)
        oracle_started(p->s->o, &call->starts[i].cascade.id, false);
}

/* ---- Starting ----------------------------------------------------------- */

/* One call of cascade_start_many(). */
typedef struct starting {
    sim_planned *planned[MANY_MAX];
    cascade_first first[MANY_MAX][3];
    cascade_start_options options[MANY_MAX];
    cascade_start_spec specs[MANY_MAX];
    cascade_started started[MANY_MAX];
    size_t count;
} starting;

static void
add_start(sim *s, starting *call, sim_planned *c)
{
    size_t at = call->count++;
    cascade_start_options *o = &call->options[at];

    call->planned[at] = c;
    for (unsigned i = 0; i < c->first_count; i++)
        call->first[at][i] = (cascade_first){.size = sizeof(cascade_first),
                                             .node = c->work->first,
                                             .input_text = c->input};
    *o = (cascade_start_options){.size = sizeof(*o),
                                 .user_id = "somebody",
                                 .queue = c->queue,
                                 .limit_key = c->limit_key,
                                 .priority = c->priority,
                                 .delay_ms = c->delay_ms,
                                 .deadline_ms = c->deadline_ms};
    if (c->key[0] != '\0')
        o->key = c->key;
    if (c->explicit_id) {
        if (!c->has_id)
            s->random.fill(s->random.context, &c->id, sizeof(c->id));
        c->has_id = true;
        o->id = &c->id;
    }
    call->specs[at] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                           .first = call->first[at],
                                           .first_count = c->first_count,
                                           .options = o};
    if (c->delay_ms > 0)
        sim_note(SIM_START_DELAYED);
}

/* The id is known before the outcome is. */
static void
foresee(sim_planned *c)
{
    if (c->key[0] != '\0' &&
        cascade_uuid_from_key("somebody", c->key, &c->id) == CASCADE_OK)
        c->has_id = true;
}

/* A start by key tells the current run of that key. */
static bool
is_run_of(sim *s, const sim_planned *c, const cascade_uuid *id)
{
    for (int64_t run = 2; run <= SIM_RUNS_MAX && c->key[0] != '\0'; run++) {
        cascade_uuid later = csc_uuid_v8("somebody", c->key, run);

        if (csc_uuid_equal(id, &later))
            return oracle_seen(s->o, id) != 0;
    }
    return csc_uuid_equal(id, &c->id);
}

static void
note_result(sim *s, const starting *call, size_t at, cascade_err err)
{
    sim_planned *c = call->planned[at];
    const cascade_started *started = &call->started[at];
    bool known = err == CASCADE_OK || err == CASCADE_ERR_OUTCOME_UNKNOWN;

    foresee(c);
    c->answered = true;
    if (known && c->has_id && !is_run_of(s, c, &started->id))
        sim_fail(s,
                 "G10: cascade %u was started with another id than its key "
                 "or caller says",
                 c->index);
    if (known && !c->has_id) {
        c->id = started->id;
        c->has_id = true;
    }
    if (err == CASCADE_OK && started->existed)
        sim_note(SIM_START_EXISTED);
    if (err == CASCADE_OK && !csc_uuid_equal(&c->id, &started->id))
        sim_note(SIM_STARTED_LATER);
    if (c->has_id) {
        oracle_started(s->o, &c->id, err == CASCADE_OK);
        if (err == CASCADE_OK && (c->key[0] != '\0' || c->explicit_id))
            oracle_existed(s->o, &c->id, started->existed);
    }
    c->acknowledged = c->acknowledged || err == CASCADE_OK;
    c->next_ms = s->now_ms + RETRY_MS;
}

static void
send_start(sim *s, sim_process *p, starting *call)
{
    cascade_err err = CASCADE_OK;

    p->busy = true;
    p->starting = true;
    p->submitted_count = 0;
    p->submit_done = false;
    if (call->count == 1 && call->planned[0]->letters[0].with_start)
        err = sim_mail_start(s, p, call->planned[0], &call->options[0],
                             &call->started[0]);
    else
        err = cascade_start_many(p->store, call->specs, call->count,
                                 call->started);
    p->starting = false;
    p->busy = false;
    sim_trace(s, "p%u start of %zu from %u on: %s", p->slot, call->count,
              call->planned[0]->index, cascade_err_name(err));
    if (err != CASCADE_OK && err != CASCADE_ERR_OUTCOME_UNKNOWN &&
        p->submit_done)
        sim_fail(s, "G12: a start took effect and returned %s",
                 cascade_err_name(err));
    if (err != CASCADE_OK && err != CASCADE_ERR_OUTCOME_UNKNOWN &&
        err != CASCADE_ERR_UNAVAILABLE)
        sim_fail(s, "a start returned %s: %s", cascade_err_name(err),
                 cascade_errmsg());
    if (err == CASCADE_OK && p->submitted_count == 0)
        sim_fail(s, "G2: a start was acknowledged, but not sent");
    for (size_t i = 0; i < call->count; i++)
        note_result(s, call, i, err);
}

/* Another call is to be made. */
static bool
is_wanted(const sim_planned *c)
{
    if (c->off)
        return false;
    return c->started < c->starts || (c->key[0] != '\0' && !c->acknowledged);
}

static bool
is_due(const sim *s, const sim_planned *c)
{
    return is_wanted(c) && (s->now_ms >= c->next_ms || s->phase != SIM_SAFETY);
}

bool
sim_client_act(sim *s)
{
    sim_plan *plan = s->plan;
    starting call = {.count = 0};
    sim_process *p = NULL;
    size_t i = 0;

    while (i < plan->cascade_count && !is_due(s, &plan->cascades[i]))
        i++;
    p = draw_handle(s);
    if (p == NULL)
        return false;
    if (sim_limits_act_due(s, p) || sim_key_act_due(s, p))
        return true;
    if (i == plan->cascade_count)
        return sim_mail_act(s, p);
    add_start(s, &call, &plan->cascades[i]);
    /* In the plan's order, so that those left out change nothing else. */
    for (size_t k = i + 1;
         k < plan->cascade_count && call.count < plan->cascades[i].together;
         k++)
        if (!plan->cascades[k].off && plan->cascades[k].started == 0)
            add_start(s, &call, &plan->cascades[k]);
    if (call.count > 1)
        sim_note(SIM_START_MANY);
    /* Others may be started while this call lasts. */
    for (size_t k = 0; k < call.count; k++) {
        call.planned[k]->started++;
        call.planned[k]->next_ms = s->now_ms + RETRY_MS;
    }
    send_start(s, p, &call);
    return true;
}

int64_t
sim_client_next(const sim *s)
{
    int64_t next = sim_mail_next(s);

    if (sim_limits_next(s) < next)
        next = sim_limits_next(s);
    if (sim_key_next(s) < next)
        next = sim_key_next(s);
    for (size_t i = 0; i < s->plan->cascade_count; i++) {
        const sim_planned *c = &s->plan->cascades[i];

        if (is_wanted(c) && c->next_ms < next)
            next = c->next_ms;
    }
    return next;
}

bool
sim_client_done(const sim *s)
{
    for (size_t i = 0; i < s->plan->cascade_count; i++)
        if (is_wanted(&s->plan->cascades[i]))
            return false;
    return sim_limits_done(s) && sim_mail_done(s) && sim_key_done(s);
}

/* ---- What must be refused ----------------------------------------------- */

typedef struct bad_start {
    const char *node;
    const char *input;
    cascade_start_options options;
    cascade_err err;
} bad_start;

static const bad_start bad_starts[] = {
    {"no blanks", NULL, {.size = 0}, CASCADE_ERR_INVALID},
    {"", NULL, {.size = 0}, CASCADE_ERR_INVALID},
    {"cascade.sleep", NULL, {.size = 0}, CASCADE_ERR_INVALID},
    {"m.a", "{\"a\":1,\"a\":2}", {.size = 0}, CASCADE_ERR_JSON},
    {"m.a", "[1,", {.size = 0}, CASCADE_ERR_JSON},
    {"m.a", "\"\\u0000\"", {.size = 0}, CASCADE_ERR_JSON},
    {"m.a", "\"\xff\"", {.size = 0}, CASCADE_ERR_JSON},
    {"m.a", NULL, {.size = 1, .priority = 10}, CASCADE_ERR_INVALID},
    {"m.a", NULL, {.size = 1, .delay_ms = -1}, CASCADE_ERR_INVALID},
    {"m.a", NULL, {.size = 1, .queue = "a b"}, CASCADE_ERR_INVALID},
    {"m.a", NULL, {.size = 1, .key = "a\nb"}, CASCADE_ERR_INVALID}};

/* A good one beside the bad one must not be started either. */
static void
start_badly(sim *s, sim_process *p)
{
    const bad_start *bad = &bad_starts[sim_below(
        &s->turns, sizeof(bad_starts) / sizeof(bad_starts[0]))];
    cascade_first good = {.size = sizeof(good), .node = "m.a"};
    cascade_first first = {
        .size = sizeof(first), .node = bad->node, .input_text = bad->input};
    cascade_start_options options = bad->options;
    cascade_start_spec specs[2] = {
        {.size = sizeof(specs[0]), .first = &good, .first_count = 1},
        {.size = sizeof(specs[0]),
         .first = &first,
         .first_count = 1,
         .options = &options}};
    cascade_started started[2];
    cascade_err err = CASCADE_OK;

    options.size = sizeof(options);
    p->busy = true;
    err = cascade_start_many(p->store, specs, 2, started);
    p->busy = false;
    if (err == CASCADE_ERR_UNAVAILABLE)
        return; /* it asked for the time first */
    sim_note(SIM_START_REFUSED);
    if (err != bad->err || cascade_errmsg()[0] == '\0')
        sim_fail(s, "G13: a bad start returned %s instead of %s",
                 cascade_err_name(err), cascade_err_name(bad->err));
}

/* ---- Looking ------------------------------------------------------------ */

/* An answer about a cascade: it must be there when it was acknowledged, and
 * ended when it had ended before. */
static void
judge(sim *s, const sim_planned *c, const char *what, cascade_err err,
      bool was_there, cascade_status before, cascade_status status)
{
    if (err == CASCADE_ERR_UNAVAILABLE)
        return;
    if (err == CASCADE_ERR_NOT_FOUND
            ? was_there
            : err != CASCADE_OK && err != CASCADE_ERR_TIMEOUT)
        sim_fail(s, "%s of cascade %u returned %s: %s", what, c->index,
                 cascade_err_name(err), cascade_errmsg());
    if (before == CASCADE_COMPLETED || before == CASCADE_ERROR)
        if (err == CASCADE_ERR_TIMEOUT ||
            (err == CASCADE_OK && status != before))
            sim_fail(s, "%s of cascade %u, which had ended: status %d", what,
                     c->index, (int)status);
}

static cascade_err
get(sim_process *p, const cascade_uuid *id, cascade_status *status)
{
    cascade_info *info = NULL;
    cascade_err err = cascade_get(p->store, id, &info);

    if (err == CASCADE_OK)
        *status = info->status;
    cascade_info_free(info);
    return err;
}

static cascade_err
snapshot(sim_process *p, const cascade_uuid *id, cascade_status *status)
{
    cascade_snapshot_options options = {.size = sizeof(options)};
    cascade_snapshot *loaded = NULL;
    cascade_err err = CASCADE_OK;
    bool part = sim_chance(&p->s->turns, 50);

    if (part)
        options.as_of = sim_between(&p->s->turns, 1, 6);
    err = cascade_snapshot_load(p->store, id, &options, &loaded);
    if (err == CASCADE_OK)
        *status = cascade_snapshot_info(loaded)->status;
    cascade_snapshot_free(loaded);
    return part && err == CASCADE_OK ? CASCADE_ERR_UNAVAILABLE : err;
}

static void
look_at(sim *s, sim_process *p, const sim_planned *c)
{
    static const char *const names[] = {"get", "wait", "snapshot"};
    cascade_status before =
        sim_mail_deletes(c) ? CASCADE_RUNNING : oracle_seen(s->o, &c->id);
    bool was_there = c->acknowledged && !sim_mail_deletes(c);
    uint64_t turns = s->turn_count;
    cascade_status status = 0;
    cascade_err err = CASCADE_OK;
    unsigned what = sim_below(&s->turns, 3);

    if (what == 0)
        err = get(p, &c->id, &status);
    else if (what == 1)
        err = cascade_wait(p->store, &c->id, 0, &status);
    else
        err = snapshot(p, &c->id, &status);
    if (what == 1 && err == CASCADE_OK)
        sim_note(SIM_WAIT_ENDED);
    if (err == CASCADE_ERR_NOT_FOUND && sim_mail_deletes(c))
        return; /* it was deleted meanwhile */
    if (s->turn_count != turns && sim_mail_restarts(c))
        before = CASCADE_RUNNING; /* others went on while it lasted */
    judge(s, c, names[what], err, was_there, before, status);
}

/* All pages together have every acknowledged cascade once. */
static void
list_pages(sim *s, sim_process *p)
{
    cascade_list_options options = {.size = sizeof(options), .limit = 3};
    cascade_uuid last;
    size_t acknowledged = 0;
    size_t count = 0;
    cascade_err err = CASCADE_OK;
    cascade_page *page = NULL;

    for (size_t i = 0; i < s->plan->cascade_count; i++)
        acknowledged += s->plan->cascades[i].acknowledged &&
                        !sim_mail_deletes(&s->plan->cascades[i]);
    do {
        cascade_page_free(page);
        page = NULL;
        err = cascade_list(p->store, &options, &page);
        for (size_t i = 0; err == CASCADE_OK && i < cascade_page_count(page);
             i++) {
            cascade_uuid id = cascade_page_get(page, i)->id;

            if (options.after != NULL && csc_uuid_compare(&last, &id) >= 0)
                sim_fail(s, "S14: a page is out of order");
            last = id;
            options.after = &last;
            count++;
        }
    } while (err == CASCADE_OK && cascade_page_count(page) == options.limit);
    cascade_page_free(page);
    if (err == CASCADE_OK && count < acknowledged)
        sim_fail(s, "S14: %zu cascades listed, %zu were acknowledged", count,
                 acknowledged);
}

void
sim_client_look(sim *s)
{
    sim_process *p = draw_handle(s);
    const sim_planned *c =
        &s->plan
             ->cascades[sim_below(&s->turns, (unsigned)s->plan->cascade_count)];
    unsigned what = sim_below(&s->turns, 10);

    if (p == NULL)
        return;
    sim_note(SIM_LOOKS);
    if (what == 0) {
        start_badly(s, p);
        return;
    }
    p->busy = true;
    if (what == 1)
        list_pages(s, p);
    else if (c->has_id && !c->off)
        look_at(s, p, c);
    p->busy = false;
}
