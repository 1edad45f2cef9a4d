/* SPDX-License-Identifier: MIT
 *
 * Reading the cascades of claimed runs into memory.
 *
 * Many cascades are read in one go; each row finds its run by id. A cascade
 * whose rows make no sense, or for which there is no memory, does not hold up
 * the others: it is loaded again later, by itself. Those that cannot be read in
 * time together are read by halves, down to one, so that what is too large for
 * the deadline is alone in the end. So are those that are too much for one
 * load, by what their rows say of executions, or by the bytes that have come:
 * who makes it large is set apart. What is alone is read as stream.c does.
 */
#include "claim/hydrate.h"

#include <string.h>

#include "base/clock.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/event.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/build/build.h"
#include "change/build/builder.h"
#include "change/message_list.h"
#include "change/op.h"
#include "claim/claim.h"
#include "claim/end_unloaded.h"
#include "claim/receive.h"
#include "claim/stream.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/event_queue.h"
#include "held/incarnation.h"
#include "held/log_queue.h"
#include "held/room/reload.h"
#include "held/room/room.h"
#include "held/room/suspect.h"
#include "held/room/waiting.h"
#include "held/run/advance.h"
#include "held/run/drop.h"
#include "held/run/op_queue.h"
#include "held/run/pause.h"
#include "held/run/run.h"
#include "held/run/sealing.h"
#include "held/run/sequel.h"
#include "held/vital.h"
#include "state/reset_plan.h"
#include "state/state.h"
#include "store/move.h"
#include "store/store.h"

#define RETRY_MS 200
#define LOAD_EXECUTIONS_MAX 50000 /* in one load, by what their rows say */
#define LOAD_BYTES_MAX ((size_t)32 * 1024 * 1024)
#define LARGE_EXECUTIONS 10000 /* of one, among too many */
#define APART_MAX 32
#define ALONE_MAX_MS 10000

/* ---- Loading ------------------------------------------------------------ */

typedef struct loading {
    cascade_engine *engine;
    const csc_reload *wanted;
    csc_run **runs; /* beside `wanted` */
    cascade_err *errs;
    size_t count;
    csc_map places; /* id -> &errs[i] */
    csc_inbox inbox;
    int64_t executions; /* that are to come, about */
    size_t bytes;       /* that have come */
    cascade_uuid last;  /* whose was the last row */
    size_t last_bytes;  /* of that one, in this table */
    bool over;          /* it is too much for one load */
} loading;

/* The run that a row belongs to, unless one of its rows made no sense. */
static csc_run *
loading_run(loading *l, const cascade_uuid *id, cascade_err **err)
{
    cascade_err *place = csc_map_get(&l->places, id);

    csc_assert(place == NULL || (size_t)(place - l->errs) < l->count);
    if (place == NULL || *place != CASCADE_OK)
        return NULL;
    *err = place;
    return l->runs[place - l->errs];
}

/* Of one load: in memory the rows may take twice as much. */
static size_t
bytes_max(const loading *l)
{
    size_t held_max = l->engine->options.held_bytes_max;

    csc_assert(l->engine->options.held_bytes_max > 0);
    return held_max / 4 < LOAD_BYTES_MAX ? held_max / 4 : LOAD_BYTES_MAX;
}

/* A row of so many bytes has come: an error where they are too many. */
static cascade_err
count_row(loading *l, const cascade_uuid *id, size_t bytes)
{
    csc_assert(bytes > 0);
    if (!csc_uuid_equal(&l->last, id)) {
        l->last = *id;
        l->last_bytes = 0;
    }
    csc_vital_sign(&l->engine->lease.house);
    l->bytes += bytes;
    l->last_bytes += bytes;
    l->over = l->bytes > bytes_max(l) || l->executions > LOAD_EXECUTIONS_MAX;
    if (!l->over)
        return CASCADE_OK;
    csc_assert(l->bytes >= l->last_bytes);
    return csc_fail(CASCADE_ERR_TOO_LARGE,
                    "loading: it is too much to be read in one go");
}

static cascade_err
load_cascade(void *context, const cascade_row *row)
{
    loading *l = context;
    cascade_err *err = NULL;
    csc_run *run = loading_run(context, &row->id, &err);

    l->executions += row->fn_id;
    if (run != NULL)
        *err = csc_sealing_take_cascade(run, row);
    return CASCADE_OK;
}

static cascade_err
load_seal(void *context, const cascade_seal_row *row)
{
    cascade_err *err = NULL;
    csc_run *run = loading_run(context, &row->cascade_id, &err);

    if (run != NULL)
        *err = csc_sealing_take_seal(run, row);
    return CASCADE_OK;
}

static cascade_err
load_execution(void *context, const cascade_execution_row *row)
{
    cascade_err *err = NULL;
    csc_run *run = loading_run(context, &row->cascade_id, &err);

    if (run != NULL && run->plan != NULL)
        *err = csc_reset_plan_add(run->plan, row);
    if (run != NULL && *err == CASCADE_OK)
        *err = csc_sealing_take_execution(run, row);
    return count_row(context, &row->cascade_id, csc_store_execution_bytes(row));
}

static cascade_err
load_event(void *context, const cascade_event_row *row)
{
    cascade_err *err = NULL;
    csc_run *run = loading_run(context, &row->cascade_id, &err);

    if (run != NULL)
        *err = csc_sealing_take_event(run, row);
    return count_row(context, &row->cascade_id, csc_store_event_bytes(row));
}

static cascade_err
load_message(void *context, const cascade_message_row *row, bool repeated)
{
    loading *l = context;
    cascade_err err = csc_receive_message(&l->inbox, row, repeated);

    if (err != CASCADE_OK)
        return err;
    return count_row(l, &row->cascade_id, csc_store_message_bytes(row));
}

cascade_err
csc_hydrate_plan(csc_run *run, const csc_reload *reload)
{
    csc_assert(run->life == CSC_RUN_LOADING && run->plan == NULL);
    if (!reload->plans)
        return CASCADE_OK;
    run->plan = csc_reset_plan_create(reload->from);
    if (run->plan == NULL)
        return csc_fail_memory();
    if (reload->receipt > 0) {
        csc_reset_plan_go_on(run->plan, reload->receipt);
        run->state.as_of = reload->receipt;
    }
    return CASCADE_OK;
}

static cascade_err
prepare(loading *l)
{
    csc_assert(l->count <= CSC_CLAIM_MAX);
    for (size_t i = 0; i < l->count; i++) {
        l->runs[i] =
            csc_run_create(l->engine, &l->wanted[i].claimed.cascade_id);
        if (l->runs[i] == NULL ||
            csc_map_put(&l->places, &l->wanted[i].claimed.cascade_id,
                        &l->errs[i]) != 0)
            return csc_fail_memory();
        csc_run_note_claim(l->runs[i], &l->wanted[i].claimed);
        if (csc_hydrate_plan(l->runs[i], &l->wanted[i]) != CASCADE_OK)
            return csc_fail_memory();
    }
    return CASCADE_OK;
}

/* Those that met receipts of retries or reruns are read again: what these
 * supersede comes before them (supersede.h). They are owned, so the rows are
 * the same. */
static size_t
find_again(loading *l, cascade_uuid *ids)
{
    size_t count = 0;

    csc_assert(csc_lock_is_none_held() && l->count <= CSC_CLAIM_MAX);
    for (size_t i = 0; i < l->count; i++) {
        bool again = false;

        if (l->errs[i] == CASCADE_OK)
            l->errs[i] = csc_state_begin_again(&l->runs[i]->state, &again);
        if (!again)
            continue;
        if (l->runs[i]->plan != NULL)
            csc_reset_plan_clear(l->runs[i]->plan);
        ids[count++] = l->runs[i]->state.id;
    }
    return count;
}

static cascade_err
load_all(loading *l)
{
    cascade_uuid ids[CSC_CLAIM_MAX];
    unsigned parts = CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS |
                     csc_sealing_part(l->engine);
    size_t count = l->count;
    cascade_err err = CASCADE_OK;
    cascade_load_sink sink = {.context = l,
                              .on_cascade = load_cascade,
                              .on_execution = load_execution,
                              .on_event = load_event,
                              .on_message = load_message,
                              .on_seal = load_seal};

    csc_assert(csc_lock_is_none_held() && l->count <= CSC_CLAIM_MAX);
    for (size_t i = 0; i < l->count; i++)
        ids[i] = l->wanted[i].claimed.cascade_id;
    err = csc_move_load(l->engine->store, ids, count,
                        parts | CASCADE_LOAD_MESSAGES, &sink);
    if (err == CASCADE_OK)
        count = find_again(l, ids);
    while (err == CASCADE_OK && count > 0) {
        l->executions = 0;
        l->bytes = 0;
        err = csc_move_load(l->engine->store, ids, count, parts, &sink);
        if (err == CASCADE_OK)
            count = find_again(l, ids);
    }
    return err;
}

/* The execution whose rows the store refused is recorded FAILED, or, if that
 * was refused too, the cascade is left alone for a while. */
static cascade_err
fail_refused(cascade_engine *engine, csc_run *run, const csc_reload *reload)
{
    csc_exec *exec = csc_view_find(&run->state, reload->fail_id);
    csc_post *post = NULL;
    bool give_up = reload->give_up || exec == NULL ||
                   exec->status != CASCADE_EXECUTION_RUNNING;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&engine->mutex) && reload->fail_id >= 0);
    post =
        csc_op_create(give_up ? CSC_POST_FREE : CSC_POST_FAIL, reload->fail_id);
    if (post == NULL)
        return csc_fail_memory();
    if (give_up) {
        post->wake_at_ms =
            csc_clock_add(csc_clock_now_ms(engine), CSC_FREE_LATER_MS);
    } else {
        csc_due_queue_dispatch(&run->state, exec);
        post->attempts = exec->attempts + 1;
        post->error =
            csc_builder_ids_left(&run->state) == 0
                ? CSC_USED_UP
                : "the store refused what this execution had to record";
        err = csc_op_queue_add_failure(engine, exec, post);
    }
    if (err == CASCADE_OK)
        csc_op_queue_add(engine, run, post);
    else
        csc_op_free(post);
    return err;
}

/* What passes by itself is tried again soon; rows that make no sense, later. */
static int64_t
later_ms(cascade_err err)
{
    if (err == CASCADE_ERR_UNAVAILABLE || err == CASCADE_ERR_NO_MEMORY)
        return RETRY_MS;
    return CSC_FREE_LATER_MS;
}

static void
reload_later(cascade_engine *engine, const csc_reload *reload, int64_t ms)
{
    csc_reload later = *reload;

    csc_assert(csc_lock_is_held(&engine->mutex) &&
               engine->incarnation.attached);
    later.large = false; /* it keeps nobody from the place meanwhile */
    later.at_ns = csc_clock_now_ns(engine) + ms * CSC_MS_NS;
    csc_reload_add(engine, &later);
}

/* The store refuses the receipt of this one, whatever is done: it is deleted,
 * so that it does not keep all others from being received. */
static void
drop_hopeless(cascade_engine *engine, const csc_run *run, csc_post *messages)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_assert(csc_lock_is_held(&engine->mutex) &&
               messages->message_count == 1);
    messages->messages->repeated = true;
    csc_log_queue_add(
        engine, CASCADE_LOG_ERROR,
        "cascade %s: a message of kind %s cannot be recorded, and "
        "is dropped",
        cascade_uuid_format(&run->state.id, id), messages->messages->kind);
}

static void
note_claimed(cascade_engine *engine, const csc_run *run)
{
    csc_event_queue_add_locked(
        engine,
        &(cascade_event){.kind = CASCADE_EVENT_CASCADE_CLAIMED,
                         .cascade_id = run->state.id,
                         .function_id = -1,
                         .node = "",
                         .step = "",
                         .error = "",
                         .takeovers = run->takeovers},
        false);
}

/* The messages that were read with a run, if there are any. */
static void
hand_messages_locked(cascade_engine *engine, csc_run *run,
                     const csc_reload *reload, csc_post *messages)
{
    csc_assert(csc_lock_is_held(&engine->mutex) && csc_run_is_held(run));
    if (run->plan != NULL && csc_reset_plan_goes_on(run->plan)) {
        csc_receive_go_on_locked(engine, run, messages);
        return;
    }
    if (messages == NULL) {
        csc_reset_plan_free(run->plan);
        run->plan = NULL;
        return;
    }
    csc_receive_loaded(messages);
    if (reload->single)
        csc_message_list_cut(messages, 1, run->state.recorded == CASCADE_ERROR);
    if (reload->hopeless)
        drop_hopeless(engine, run, messages);
    csc_receive_post_locked(engine, run, messages);
}

/* What the commit in flight has made happen is told first, and in whatever lane
 * it is. */
bool
csc_hydrate_is_behind_locked(cascade_engine *engine, const csc_reload *reload)
{
    csc_run *former = csc_map_get(&engine->runs, &reload->claimed.cascade_id);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (former == NULL || !csc_run_is_committing(former))
        return false;
    former->claimed_anew = true;
    former->reload = *reload;
    former->reload.large = false;
    return true;
}

cascade_err
csc_hydrate_hold_locked(cascade_engine *engine, csc_run *run)
{
    csc_run *former = csc_map_get(&engine->runs, &run->state.id);

    csc_assert(csc_lock_is_held(&engine->mutex) &&
               run->life == CSC_RUN_LOADING);
    if (former != NULL)
        csc_drop_run(engine, former, CASCADE_ERR_FENCED);
    return csc_run_add(engine, run);
}

cascade_err
csc_hydrate_complete(csc_run *run)
{
    cascade_err err = csc_sealing_check(run);

    csc_assert(csc_lock_is_none_held() && run->life == CSC_RUN_LOADING);
    if (err != CASCADE_OK || run->state.user_id == NULL)
        return err; /* or it was not there */
    csc_state_settle(&run->state);
    csc_view_find_torn(&run->state);
    return run->plan != NULL ? csc_reset_plan_decide(run->plan, &run->state)
                             : CASCADE_OK;
}

/* Why a retry or a rerun is not carried out after all. */
static void
note_refusal(csc_run *run, const csc_reload *reload)
{
    csc_assert(run->life == CSC_RUN_LOADING);
    if (run->plan == NULL || run->plan->refusal != CSC_REFUSAL_NONE ||
        run->plan->at.in_force)
        return;
    if (reload->refused)
        run->plan->refusal = CSC_REFUSAL_STORE;
    else if (reload->late)
        run->plan->refusal = CSC_REFUSAL_LATE;
}

void
csc_hydrate_take_in_locked(cascade_engine *engine, csc_run *run,
                           const csc_reload *reload, csc_post *messages,
                           cascade_err err)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_assert(csc_lock_is_held(&engine->mutex) &&
               run->life == CSC_RUN_LOADING);
    cascade_uuid_format(&run->state.id, id);
    if (run->state.user_id == NULL && err == CASCADE_OK) {
        csc_log_queue_add(engine, CASCADE_LOG_WARNING,
                          "cascade %s was deleted, or a policy hides it", id);
        csc_op_free(messages);
        return;
    }
    if (err == CASCADE_OK && csc_hydrate_is_behind_locked(engine, reload)) {
        csc_op_free(messages);
        return;
    }
    if (err == CASCADE_OK && csc_room_is_second(engine, run)) {
        csc_op_free(messages);
        csc_waiting_add(engine, reload);
        return;
    }
    run->slow = reload->slow;
    if (reload->is_new) /* what a claim gives is in a queue of ours */
        csc_pause_note_claim(engine, run, &reload->claimed);
    else
        csc_pause_note_place(engine, run);
    note_refusal(run, reload);
    if (err == CASCADE_OK)
        err = csc_hydrate_hold_locked(engine, run);
    if (err == CASCADE_OK && csc_receive_is_unfinished(engine, run)) {
        csc_op_free(messages);
        return; /* it is to be loaded for a retry or a rerun */
    }
    if (err == CASCADE_OK && reload->fail_id >= 0)
        err = fail_refused(engine, run, reload);
    if (err != CASCADE_OK) {
        csc_log_queue_add(engine, CASCADE_LOG_ERROR,
                          "cascade %s cannot be loaded, trying again later: %s",
                          id, cascade_err_text(err));
        csc_drop_run(engine, run, err);
        csc_op_free(messages);
        reload_later(engine, reload, later_ms(err));
        return;
    }
    if (reload->is_new)
        note_claimed(engine, run);
    if (run->state.recorded == CASCADE_COMPLETED && run->plan == NULL)
        csc_sequel_note_locked(engine, &run->state);
    hand_messages_locked(engine, run, reload, messages);
    engine->stats.hydrations++;
    if (csc_run_is_gone(run))
        return; /* it is to be loaded for a retry or a rerun */
    csc_assert(csc_run_is_held(run));
    if (csc_suspect_is_one(engine, &reload->claimed))
        engine->reloads.suspect = run;
    csc_advance_run(engine, run);
}

static void
take_all(loading *l, cascade_err err)
{
    cascade_engine *engine = l->engine;

    csc_assert(csc_lock_is_none_held());
    for (size_t i = 0; i < l->count && err == CASCADE_OK; i++)
        if (l->errs[i] == CASCADE_OK)
            l->errs[i] = csc_hydrate_complete(l->runs[i]);
    csc_lock_take(&engine->mutex);
    for (size_t i = 0; i < l->count; i++) {
        if (l->runs[i] == NULL)
            continue;
        if (err == CASCADE_OK && engine->incarnation.attached)
            csc_hydrate_take_in_locked(
                engine, l->runs[i], &l->wanted[i],
                csc_receive_take(&l->inbox, &l->runs[i]->state.id), l->errs[i]);
        csc_run_unref(l->runs[i]);
    }
    csc_lock_give(&engine->mutex);
}

/* ---- Together and apart -------------------------------------------------- */

/* How many are read with it at most, itself included. */
static size_t
company_max(const csc_reload *reload)
{
    size_t max =
        reload->apart < CSC_APART_ALONE ? CSC_CLAIM_MAX >> reload->apart : 1;

    csc_assert(reload->apart <= APART_MAX);
    csc_assert(max <= CSC_CLAIM_MAX);
    return max > 0 ? max : 1;
}

/* Of so many it was one that could not be read in time. */
static void
set_apart(csc_reload *reload, size_t together)
{
    csc_assert(together > 0 && together <= CSC_CLAIM_MAX);
    if (together == 1 && reload->apart < CSC_APART_ALONE)
        reload->apart = CSC_APART_ALONE;
    else if (together == 1 && reload->apart < APART_MAX)
        reload->apart++;
    while (together > 1 && company_max(reload) > together / 2)
        reload->apart++;
}

/* Soon while it is one of many, or the store may have been away. */
static int64_t
apart_ms(const csc_reload *reload)
{
    int64_t ms = RETRY_MS;

    csc_assert(reload->apart <= APART_MAX);
    for (int i = CSC_APART_ALONE; i < reload->apart && ms < ALONE_MAX_MS; i++)
        ms *= 2;
    return ms < ALONE_MAX_MS ? ms : ALONE_MAX_MS;
}

bool
csc_hydrate_put_off(cascade_engine *engine, const csc_reload *wanted,
                    size_t count)
{
    bool waits = false;

    csc_assert(csc_lock_is_none_held() && count <= CSC_CLAIM_MAX);
    csc_lock_take(&engine->mutex);
    waits = csc_room_waits(engine) || csc_room_is_full(engine);
    for (size_t i = 0; i < count && waits && engine->incarnation.attached; i++)
        reload_later(engine, &wanted[i], 0);
    csc_lock_give(&engine->mutex);
    return waits;
}

static void
hydrate_apart(cascade_engine *engine, const csc_reload *wanted, size_t together)
{
    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    for (size_t i = 0; i < together && engine->incarnation.attached; i++) {
        csc_reload reload = wanted[i];

        set_apart(&reload, together);
        reload_later(engine, &reload, apart_ms(&reload));
    }
    csc_lock_give(&engine->mutex);
}

/* Whether it alone is the reason why that was too much. */
static bool
is_large(const loading *l, size_t i)
{
    const csc_state *state = &l->runs[i]->state;

    csc_assert(i < l->count);
    return l->count == 1 || state->fn_id >= LARGE_EXECUTIONS ||
           (csc_uuid_equal(&l->last, &state->id) &&
            l->last_bytes > bytes_max(l) / 2);
}

/* What is large is read alone from now on, the others as before; where none is,
 * they are many: they are read by halves. */
static void
divide(loading *l)
{
    cascade_engine *engine = l->engine;
    bool found = false;

    csc_assert(csc_lock_is_none_held() && l->over);
    for (size_t i = 0; i < l->count; i++)
        found = found || is_large(l, i);
    csc_lock_take(&engine->mutex);
    for (size_t i = 0; i < l->count && engine->incarnation.attached; i++) {
        csc_reload reload = l->wanted[i];

        if (!found)
            set_apart(&reload, l->count);
        else if (is_large(l, i))
            set_apart(&reload, 1);
        reload_later(engine, &reload, 0);
    }
    csc_lock_give(&engine->mutex);
}

void
csc_hydrate_later_locked(cascade_engine *engine, const csc_reload *reload,
                         cascade_err err)
{
    csc_reload later = *reload;

    csc_assert(csc_lock_is_held(&engine->mutex) && err != CASCADE_OK);
    if (err != CASCADE_ERR_UNAVAILABLE) {
        reload_later(engine, reload, later_ms(err));
        return;
    }
    set_apart(&later, 1);
    reload_later(engine, &later, apart_ms(&later));
}

/* ---- Reading ------------------------------------------------------------- */

/* Reads all or, on an error, none; what is too much is divided, for later. */
static cascade_err
hydrate_all(cascade_engine *engine, const csc_reload *wanted, size_t count)
{
    csc_run *runs[CSC_CLAIM_MAX] = {NULL};
    cascade_err errs[CSC_CLAIM_MAX] = {CASCADE_OK};
    loading l = {.engine = engine,
                 .wanted = wanted,
                 .runs = runs,
                 .errs = errs,
                 .count = count,
                 .inbox = {.engine = engine}};
    cascade_err err = prepare(&l);

    csc_assert(csc_lock_is_none_held() && count > 0 && count <= CSC_CLAIM_MAX);
    if (err == CASCADE_OK)
        err = load_all(&l);
    if (l.over)
        divide(&l);
    take_all(&l, err);
    csc_receive_fini(&l.inbox);
    csc_map_fini(&l.places);
    return l.over ? CASCADE_OK : err;
}

/* hydrate_all(), told of in the log where it fails. */
static cascade_err
hydrate_or_tell(cascade_engine *engine, const csc_reload *wanted, size_t count)
{
    cascade_err err = hydrate_all(engine, wanted, count);

    if (err != CASCADE_OK)
        csc_log_add(&engine->store->log, CASCADE_LOG_WARNING,
                    "loading %zu cascades failed: %s", count, cascade_errmsg());
    return err;
}

static void
hydrate_later(cascade_engine *engine, const csc_reload *wanted, size_t count,
              cascade_err err)
{
    csc_assert(csc_lock_is_none_held() && err != CASCADE_OK);
    csc_lock_take(&engine->mutex);
    for (size_t i = 0; i < count && engine->incarnation.attached; i++)
        reload_later(engine, &wanted[i], later_ms(err));
    csc_lock_give(&engine->mutex);
}

static void
hydrate_each(cascade_engine *engine, const csc_reload *wanted, size_t count)
{
    csc_assert(count > 1);
    for (size_t i = 0; i < count; i++) {
        cascade_err err = hydrate_or_tell(engine, &wanted[i], 1);

        if (err != CASCADE_OK)
            hydrate_later(engine, &wanted[i], 1, err);
    }
}

/* Reads runs this engine owns; those that cannot be read now, later. Where not
 * all can be read together for another reason than time, each is read by
 * itself. */
void
csc_hydrate_load(cascade_engine *engine, const csc_reload *wanted, size_t count)
{
    cascade_err err = hydrate_or_tell(engine, wanted, count);

    csc_assert(csc_lock_is_none_held() && count > 0);
    if (err == CASCADE_ERR_UNAVAILABLE)
        hydrate_apart(engine, wanted, count);
    else if (err != CASCADE_OK && count > 1)
        hydrate_each(engine, wanted, count);
    else if (err != CASCADE_OK)
        hydrate_later(engine, wanted, count, err);
}

/* ---- Reloading ---------------------------------------------------------- */

/* For memory, or, where it is read in portions, until it may. */
static bool
waits_for_place_locked(const cascade_engine *engine, const csc_reload *reload)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return !csc_room_admits(engine, reload) ||
           (company_max(reload) == 1 &&
            engine->reloads.stream_count >= CSC_STREAMS_MAX);
}

/* Takes what is due out of the list, as many as are read together. */
static size_t
take_due(cascade_engine *engine, csc_reload *wanted)
{
    int64_t now_ns = csc_clock_now_ns(engine);
    size_t together = CSC_CLAIM_MAX;
    size_t count = 0;
    bool all_wait = false;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    all_wait = engine->reloads.first != NULL && csc_room_waits(engine);
    engine->reloads.at_ns = INT64_MAX;
    engine->reloads.due = 0;
    for (csc_reload **at = &engine->reloads.first; *at != NULL;) {
        csc_reload *reload = *at;
        size_t company = company_max(reload);
        bool waits = all_wait || waits_for_place_locked(engine, reload);

        if (reload->at_ns > now_ns || count >= together || count >= company ||
            waits) {
            engine->reloads.due += !waits && reload->at_ns <= now_ns;
            if (reload->at_ns < engine->reloads.at_ns && !waits)
                engine->reloads.at_ns = reload->at_ns;
            at = &reload->next;
            continue;
        }
        if (company < together)
            together = company;
        wanted[count++] = csc_reload_take(engine, at);
    }
    engine->reloads.in_hand += count;
    csc_lock_give(&engine->mutex);
    return count;
}

void
csc_hydrate_reloads(cascade_engine *engine)
{
    csc_reload wanted[CSC_CLAIM_MAX];
    size_t count = take_due(engine, wanted);
    size_t left = 0;

    csc_assert(csc_lock_is_none_held() && count <= CSC_CLAIM_MAX);
    if (count == 0)
        return;
    left = csc_end_unloaded(engine, wanted, count);
    csc_assert(left <= count);
    if (left > 0 && company_max(&wanted[0]) == 1) {
        cascade_err err = csc_stream_begin(engine, &wanted[0]);

        if (err == CASCADE_OK)
            return; /* it stays in hand */
        hydrate_later(engine, wanted, left, err);
    } else if (left > 0) {
        csc_hydrate_load(engine, wanted, left);
    }
    csc_lock_take(&engine->mutex);
    csc_assert(engine->reloads.in_hand >= count);
    engine->reloads.in_hand -= count;
    csc_lock_give(&engine->mutex);
}
