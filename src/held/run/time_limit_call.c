/* SPDX-License-Identifier: MIT
 *
 * Time limits and heartbeats.
 *
 * OF A FUNCTION, while it runs (attempt_timeout_ms, heartbeat_timeout_ms; in a
 * transaction transaction_max_ms, after which that cannot be committed)
 *
 *   called --limit--> late: the execution is taken from it
 *     |                 |  ATTEMPT or FAIL is posted; the run lets go of it;
 *     |                 |  the next begins when due, in another worker; if it
 *     |                 |  is to be undone (compensate.c), only for that
 *     |                 v
 *     |               returns: the answer is dropped, the worker is free again
 *     v
 *   returns in time: its answer is posted
 *
 *   Nothing can stop a C function, so this is all that can be done, and its
 *   late calls are refused. What it can still see stays as it was: see HELD in
 *   state.h. The workers are looked at when the first of them is due
 *   (call_at_ns, which may be too early, never too late): each call of a node
 *   costs one reading of the clock, and wakes nobody. Whether a limit was kept
 *   is also judged when the function returns or tells that it lives, so the
 *   rule is the same where nobody could look.
 *
 * OF AN EXECUTION, wherever it is (start_timeout_ms, deadline_ms)
 *   in a function: taken from it; ready: out of the list; queued or blocked:
 *   held back; then FAIL is posted, with FAIL for the wait that blocks it. One
 *   that may have registered compensations is entered once more, to be undone.
 *   Where a post of it is under way it is looked at again once that is
 *   committed. A run knows when each is to be looked at (due.c), which
 *   may be too early: its timer, and its wake_at when it is parked, come no
 *   later than the first.
 *   Measured from what the rows tell: started_at, not_before, completed_at of
 *   what it came after. That it was begun is told by attempts, parts, progress,
 *   and, when its engine died over it, by the takeover: then nobody knows, and
 *   start_timeout_ms holds no more.
 *
 * OF A CASCADE (deadline_ms of its start)
 *   in the state (member `deadline`), so in csc_due_queue_wake_at(): an
 *   execution cascade.deadline is recorded as FAILED, which ends it.
 *
 * IF THE PROCESS DIES before such a post is durable, whoever takes the cascade
 * finds the limits passed, or, of a function, runs it anew (G4). Progress that
 * was not recorded is lost with it: a second's worth.
 */
#include "held/run/time_limit.h"

#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "change/backoff.h"
#include "change/build/builder.h"
#include "change/op.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/lane/txn_slot.h"
#include "held/node_def.h"
#include "held/run/drop.h"
#include "held/run/op_queue.h"
#include "held/run/run.h"
#include "held/wakeup.h"
#include "state/state.h"
#include "store/store.h"

#define SAVE_EVERY_MS 1000 /* progress of a call is recorded no more often */
#define SAVE_AGAIN_MS 100  /* when the last one is still on its way */

cascade_err
csc_time_limit_init(csc_limits *limits, const char *node,
                    const cascade_node_options *options)
{
    const struct {
        const char *name;
        int64_t ms;
    } given[] = {
        {"attempt_timeout_ms", options->attempt_timeout_ms},
        {"heartbeat_timeout_ms", options->heartbeat_timeout_ms},
        {"start_timeout_ms", options->start_timeout_ms},
        {"deadline_ms", options->deadline_ms},
    };

    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
        if (given[i].ms < 0 || given[i].ms > CSC_DELAY_MAX_MS)
            return csc_fail(CASCADE_ERR_INVALID,
                            "node %s: %s is %lld; give 0 for none, or up to "
                            "100 years",
                            node, given[i].name, (long long)given[i].ms);
    *limits = (csc_limits){.attempt_ms = options->attempt_timeout_ms,
                           .heartbeat_ms = options->heartbeat_timeout_ms,
                           .start_ms = options->start_timeout_ms,
                           .deadline_ms = options->deadline_ms};
    return CASCADE_OK;
}

/* ---- Taking an execution from its function ------------------------------ */

/* What it told last may not be in the rows: what is on its way is superfluous
 * beside a row that tells more. */
static bool
is_telling(const csc_call *call)
{
    return call->progress != NULL && (call->unsaved || call->saving != NULL);
}

/* Whether that was the last of its attempts. One that is only undone has as
 * many of them again. */
static bool
is_last(const csc_run *run, const csc_exec *exec, const csc_attempts *attempts,
        int32_t failed)
{
    if (exec->over || exec->undone_by != 0)
        return !csc_backoff_left(attempts, failed / 2);
    return run->state.cancel != CSC_NO_PARENT ||
           !csc_backoff_left(attempts, failed);
}

/* What has run out of its time for good ends, but for what it has to undo. */
static cascade_err
make_final(const cascade_engine *engine, const csc_exec *exec, csc_post *post)
{
    csc_assert(post->kind == CSC_POST_ATTEMPT);
    post->over = exec->undoes && !exec->over && exec->undone_by == 0;
    if (post->over)
        return CASCADE_OK;
    post->kind = CSC_POST_FAIL;
    return csc_op_queue_add_failure(engine, exec, post);
}

static cascade_err
fill_over(cascade_engine *engine, csc_run *run, csc_exec *exec, bool final,
          csc_post *post)
{
    const csc_attempts *attempts =
        &csc_node_def_find(engine, exec->name)->attempts;

    csc_assert(post->function_id == exec->function_id);
    if (exec->call != NULL && is_telling(exec->call))
        post->progress = csc_arena_strdup(&post->arena, exec->call->progress);
    if (post->arena.failed)
        return csc_fail_memory();
    if (final || is_last(run, exec, attempts, post->attempts))
        return make_final(engine, exec, post);
    post->delay_ms =
        csc_backoff_delay_ms(attempts, post->attempts, &engine->store->random);
    return CASCADE_OK;
}

/* An execution is over its time: `format` has the attempts and the limit. It
 * counts as an attempt when it was in a function; its progress goes with it. A
 * compensation has attempts of its own. */
static cascade_err
post_over(cascade_engine *engine, csc_run *run, csc_exec *exec, bool final,
          const char *format, int64_t ms)
{
    const csc_call *call = exec->call;
    csc_post *post = csc_op_create(CSC_POST_ATTEMPT, exec->function_id);
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&engine->mutex) &&
               exec->status == CASCADE_EXECUTION_RUNNING);
    if (post == NULL)
        return csc_fail_memory();
    post->attempts = exec->attempts + (call != NULL ? 1 : 0);
    post->error = csc_arena_format(&post->arena, format, (int)post->attempts,
                                   (long long)ms);
    if (call != NULL && call->undoing != NULL)
        err = call->time_out(call->undoing, post);
    else
        err = fill_over(engine, run, exec, final, post);
    if (err == CASCADE_OK)
        csc_op_queue_add(engine, run, post);
    else
        csc_op_free(post);
    return err;
}

/* The function runs on without it. */
static void
take_away(cascade_engine *engine, csc_call *call)
{
    csc_assert(csc_lock_is_held(&engine->mutex) && !atomic_load(&call->late));
    csc_assert(call->exec->call == call);
    atomic_store(&call->late, true);
    engine->calls.overdue++;
    call->exec->call = NULL;
    csc_state_hold(&call->run->state, call->exec);
    csc_txn_slot_doom_locked(engine, call->run, call->exec);
    csc_drop_let_go(engine, call->run);
}

/* When it is over its time. */
static int64_t
over_ns(const csc_call *call)
{
    const csc_limits *limits = call->limits;
    int64_t at_ns = INT64_MAX;

    if (call->ready_ns != 0)
        return INT64_MAX;
    if (limits->attempt_ms > 0)
        at_ns = csc_clock_add(call->begun_ns, limits->attempt_ms * CSC_MS_NS);
    if (call->open_ms > 0) {
        int64_t open_ns =
            csc_clock_add(call->begun_ns, call->open_ms * CSC_MS_NS);

        if (open_ns < at_ns)
            at_ns = open_ns;
    }
    if (limits->heartbeat_ms > 0) {
        int64_t beat_ns =
            csc_clock_add(call->beat_ns, limits->heartbeat_ms * CSC_MS_NS);

        if (beat_ns < at_ns)
            at_ns = beat_ns;
    }
    return at_ns;
}

static void
time_out(cascade_engine *engine, csc_call *call, int64_t now_ns)
{
    const csc_limits *limits = call->limits;
    const char *format = "attempt %d timed out: no heartbeat for %lld ms";
    int64_t ms = limits->heartbeat_ms;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (limits->attempt_ms > 0 &&
        now_ns - call->begun_ns >= limits->attempt_ms * CSC_MS_NS) {
        format = "attempt %d timed out after %lld ms";
        ms = limits->attempt_ms;
    } else if (call->open_ms > 0 &&
               now_ns - call->begun_ns >= call->open_ms * CSC_MS_NS) {
        format = "attempt %d timed out: its transaction was open for longer "
                 "than %lld ms";
        ms = call->open_ms;
    }
    if (!csc_run_is_gone(call->run))
        err = post_over(engine, call->run, call->exec, false, format, ms);
    take_away(engine, call);
    if (err != CASCADE_OK)
        csc_drop_load_anew(engine, call->run, err);
}

cascade_err
csc_time_limit_check_call(const csc_call *call)
{
    if (!atomic_load(&call->late))
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_FENCED, "the time of this attempt is over, and "
                                        "it is recorded so; return from the "
                                        "node");
}

/* ---- Progress ----------------------------------------------------------- */

static cascade_err
post_progress(cascade_engine *engine, csc_call *call)
{
    csc_post *post = csc_op_create(CSC_POST_BEAT, call->exec->function_id);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (post == NULL)
        return csc_fail_memory();
    post->progress = csc_arena_strdup(&post->arena, call->progress);
    if (post->progress == NULL) {
        csc_op_free(post);
        return csc_fail_memory();
    }
    post->effects.bytes = strlen(post->progress);
    post->under_way = &call->saving;
    call->saving = post;
    call->unsaved = false;
    call->save_ns = csc_clock_now_ns(engine) + SAVE_EVERY_MS * CSC_MS_NS;
    csc_op_queue_add(engine, call->run, post);
    return CASCADE_OK;
}

/* What the function told last and is not recorded goes with its failure, or, as
 * it only leaves, before that. A completion needs none. */
static cascade_err
keep_progress(cascade_engine *engine, csc_call *call, csc_post *post)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (!is_telling(call) || csc_run_is_gone(call->run) ||
        (post != NULL && post->kind == CSC_POST_COMPLETE))
        return CASCADE_OK;
    if (post == NULL ||
        (post->kind != CSC_POST_FAIL && post->kind != CSC_POST_ATTEMPT &&
         post->kind != CSC_POST_STEP_ATTEMPT))
        return call->unsaved ? post_progress(engine, call) : CASCADE_OK;
    post->progress = csc_arena_strdup(&post->arena, call->progress);
    return post->progress != NULL ? CASCADE_OK : csc_fail_memory();
}

/* ---- The function that runs --------------------------------------------- */

/* When to look at it: at its limit, or when its progress may be recorded. */
static void
note_call(cascade_engine *engine, const csc_call *call, int64_t now_ns)
{
    int64_t at_ns = over_ns(call);
    int64_t save_ns = call->save_ns;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (call->saving != NULL && save_ns < now_ns + SAVE_AGAIN_MS * CSC_MS_NS)
        save_ns = now_ns + SAVE_AGAIN_MS * CSC_MS_NS;
    if (call->unsaved && !csc_run_is_gone(call->run) && save_ns < at_ns)
        at_ns = save_ns;
    if (at_ns >= engine->calls.at_ns)
        return;
    engine->calls.at_ns = at_ns;
    csc_wakeup_house_locked(engine);
}

/* Into the list of those that run, and out of it. */
static void
enter(csc_call **first, csc_call *call)
{
    csc_assert(call->exec == NULL);
    call->next = *first;
    call->link = first;
    if (*first != NULL)
        (*first)->link = &call->next;
    *first = call;
}

static void
leave(csc_call *call)
{
    csc_assert(*call->link == call);
    *call->link = call->next;
    if (call->next != NULL)
        call->next->link = call->link;
    call->exec = NULL;
}

void
csc_time_limit_begin_locked(cascade_engine *engine, csc_call *call,
                            csc_exec *exec)
{
    const csc_node_def *def = csc_node_def_find(engine, exec->name);

    csc_assert(csc_lock_is_held(&engine->mutex) && exec->call == NULL);
    enter(&engine->calls.first, call);
    call->exec = exec;
    call->run = exec->run;
    call->limits = &def->limits;
    call->open_ms = exec->run->native != NULL && exec->run->native->exec == exec
                        ? def->transaction_ms
                        : 0;
    call->ids_left = csc_builder_ids_left(&exec->run->state);
    call->save_ns = 0;
    call->ready_ns = 0;
    call->unsaved = false;
    call->saving = NULL;
    call->undoing = NULL;
    atomic_store(&call->late, false);
    exec->call = call;
    exec->was_begun = true;
    csc_due_limit_again(&exec->run->state, exec);
    if (call->limits->attempt_ms == 0 && call->limits->heartbeat_ms == 0 &&
        call->open_ms == 0)
        return;
    call->begun_ns = csc_clock_now_ns(engine);
    call->beat_ns = call->begun_ns;
    note_call(engine, call, call->begun_ns);
}

void
csc_time_limit_go_on_locked(cascade_engine *engine, csc_call *call)
{
    int64_t now_ns = 0;

    if (call->ready_ns == 0)
        return;
    now_ns = csc_clock_now_ns(engine);
    call->begun_ns += now_ns - call->ready_ns;
    call->beat_ns += now_ns - call->ready_ns;
    call->ready_ns = 0;
    if (!atomic_load(&call->late))
        note_call(engine, call, now_ns);
}

/* Over its time: at once, if that is seen here. */
static bool
is_late(cascade_engine *engine, csc_call *call)
{
    int64_t at_ns = over_ns(call);
    int64_t now_ns = 0;

    csc_assert(csc_lock_is_held(&engine->mutex) && call->exec != NULL);
    if (atomic_load(&call->late) || at_ns == INT64_MAX)
        return atomic_load(&call->late);
    now_ns = csc_clock_now_ns(engine);
    if (now_ns >= at_ns)
        time_out(engine, call, now_ns);
    return now_ns >= at_ns;
}

bool
csc_time_limit_end_locked(cascade_engine *engine, csc_call *call,
                          csc_post *post)
{
    bool late = is_late(engine, call);
    cascade_err err = CASCADE_OK;

    if (late) {
        csc_assert(engine->calls.overdue > 0);
        engine->calls.overdue--;
        csc_state_release(&call->run->state, call->exec);
    } else {
        err = keep_progress(engine, call, post);
        csc_assert(call->exec->call == call);
        call->exec->call = NULL;
    }
    csc_mem_free(call->progress);
    call->progress = NULL;
    leave(call);
    if (err != CASCADE_OK)
        csc_drop_load_anew(engine, call->run, err);
    return late;
}

cascade_err
csc_time_limit_beat_locked(cascade_engine *engine, csc_call *call,
                           const char *progress)
{
    int64_t now_ns = csc_clock_now_ns(engine);
    char *copy = NULL;

    if (is_late(engine, call))
        return csc_time_limit_check_call(call);
    if (csc_run_is_gone(call->run))
        return csc_fail(CASCADE_ERR_FENCED, "the cascade has ended or is owned "
                                            "by another engine");
    call->beat_ns = now_ns;
    if (progress != NULL) {
        copy = csc_mem_strdup(progress);
        if (copy == NULL)
            return csc_fail_memory();
        csc_mem_free(call->progress);
        call->progress = copy;
        call->unsaved = true;
    }
    if (call->unsaved && call->saving == NULL && now_ns >= call->save_ns &&
        post_progress(engine, call) != CASCADE_OK)
        return CASCADE_ERR_NO_MEMORY;
    note_call(engine, call, now_ns);
    return CASCADE_OK;
}

void
csc_time_limit_note_undo(cascade_engine *engine, csc_call *call)
{
    csc_lock_take(&engine->mutex);
    if (!atomic_load(&call->late))
        call->exec->undoes = true;
    csc_lock_give(&engine->mutex);
}

void
csc_time_limit_note_undoing(cascade_engine *engine, csc_call *call,
                            const struct csc_step_call *undoing,
                            csc_limits_undo *what)
{
    csc_lock_take(&engine->mutex);
    call->undoing = undoing;
    call->time_out = what;
    if (undoing != NULL && over_ns(call) != INT64_MAX) {
        call->begun_ns = csc_clock_now_ns(engine);
        call->beat_ns = call->begun_ns;
        note_call(engine, call, call->begun_ns);
    }
    csc_lock_give(&engine->mutex);
}

static void
watch_call(cascade_engine *engine, csc_call *call, int64_t now_ns)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (is_late(engine, call))
        return;
    if (call->unsaved && call->saving == NULL && now_ns >= call->save_ns &&
        !csc_run_is_gone(call->run) &&
        post_progress(engine, call) != CASCADE_OK)
        call->save_ns = now_ns + SAVE_AGAIN_MS * CSC_MS_NS;
    note_call(engine, call, now_ns);
}

void
csc_time_limit_watch_locked(cascade_engine *engine)
{
    int64_t now_ns = 0;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (csc_time_limit_next_ns_locked(engine) == INT64_MAX)
        return;
    now_ns = csc_clock_now_ns(engine);
    if (now_ns < engine->calls.at_ns)
        return;
    engine->calls.at_ns = INT64_MAX;
    for (csc_call *call = engine->calls.first; call != NULL; call = call->next)
        watch_call(engine, call, now_ns);
}

int64_t
csc_time_limit_next_ns_locked(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->calls.running > 0 ? engine->calls.at_ns : INT64_MAX;
}

/* ---- Executions --------------------------------------------------------- */

/* As far as the rows tell, or this process knows. */
static bool
was_begun(const csc_exec *exec)
{
    return exec->was_begun || exec->attempts > 0 || exec->parts.count > 0 ||
           exec->step_attempts != NULL || exec->progress != NULL;
}

/* When its time is over, by the store's clock; CASCADE_TIME_NONE: never. What
 * is blocked is not late to begin; a join that is not to be run is recorded as
 * that. */
static int64_t
over_ms(const cascade_engine *engine, const csc_exec *exec, bool *start)
{
    const csc_node_def *def = NULL;
    int64_t at_ms = INT64_MAX;

    *start = false;
    if (exec->status != CASCADE_EXECUTION_RUNNING || exec->over ||
        exec->undone_by != 0 || exec->part != CSC_PART_NONE ||
        csc_join_is_dead(exec))
        return CASCADE_TIME_NONE;
    def = csc_node_def_find(engine, exec->name);
    if (def == NULL)
        return CASCADE_TIME_NONE;
    if (def->limits.deadline_ms > 0)
        at_ms = csc_clock_add(exec->recorded_ms, def->limits.deadline_ms);
    if (def->limits.start_ms > 0 && exec->blocked == 0 && !was_begun(exec)) {
        int64_t from_ms = exec->not_before_ms > exec->since_ms
                              ? exec->not_before_ms
                              : exec->since_ms;
        int64_t start_ms = csc_clock_add(from_ms, def->limits.start_ms);

        *start = start_ms < at_ms;
        at_ms = *start ? start_ms : at_ms;
    }
    return at_ms != INT64_MAX ? at_ms : CASCADE_TIME_NONE;
}

void
csc_time_limit_note_locked(const cascade_engine *engine, csc_run *run,
                           csc_exec *exec)
{
    bool start = false;

    csc_assert(csc_lock_is_held(&engine->mutex) && csc_run_is_held(run));
    if (engine->calls.has_limits)
        csc_due_limit(&run->state, exec, over_ms(engine, exec, &start));
}

int64_t
csc_time_limit_first_ms_locked(const csc_run *run)
{
    const csc_exec *exec = csc_due_first_limit(&run->state);

    csc_assert(csc_lock_is_held(&run->engine->mutex));
    return exec != NULL ? exec->limit_ms : CASCADE_TIME_NONE;
}

/* Those with a higher function id than any before are new. */
static void
note_new(const cascade_engine *engine, csc_run *run)
{
    const csc_state *state = &run->state;

    csc_assert(csc_lock_is_held(&engine->mutex));
    for (size_t i = state->exec_count;
         i > 0 && state->execs[i - 1].function_id > run->limits_to; i--) {
        csc_exec *exec = state->execs[i - 1].exec;

        if (exec == NULL)
            continue;
        if (run->takeovers > 0)
            exec->was_begun = true;
        csc_time_limit_note_locked(engine, run, exec);
    }
    if (state->exec_count > 0)
        run->limits_to = state->execs[state->exec_count - 1].function_id;
}

static cascade_err
post_deadline(cascade_engine *engine, csc_run *run)
{
    csc_post *post = csc_op_create(CSC_POST_DEADLINE, -1);

    csc_assert(csc_lock_is_held(&engine->mutex) &&
               run->state.deadline_ms != CASCADE_TIME_NONE);
    if (post == NULL)
        return csc_fail_memory();
    post->error = "deadline passed: the cascade has not ended in time";
    csc_run_close(run, CSC_RUN_FREEING);
    csc_op_queue_add(engine, run, post);
    return CASCADE_OK;
}

cascade_err
csc_time_limit_look_locked(cascade_engine *engine, csc_run *run)
{
    int64_t deadline_ms = run->state.deadline_ms;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (deadline_ms != CASCADE_TIME_NONE &&
        deadline_ms <= engine->clock.confirmed_ms)
        return post_deadline(engine, run);
    if (engine->calls.has_limits)
        note_new(engine, run);
    return CASCADE_OK;
}

bool
csc_time_limit_are_known_locked(const cascade_engine *engine,
                                const csc_run *run)
{
    int64_t at_ms = run->state.deadline_ms;
    int64_t limit_ms = csc_time_limit_first_ms_locked(run);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (limit_ms != CASCADE_TIME_NONE &&
        (at_ms == CASCADE_TIME_NONE || limit_ms < at_ms))
        at_ms = limit_ms;
    return at_ms <= engine->clock.confirmed_ms ||
           at_ms > csc_clock_now_ms(engine);
}

/* The waits that it is blocked by end with it. */
static cascade_err
fail_waits(cascade_engine *engine, csc_run *run, const csc_exec *exec)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    for (size_t i = 0; i < exec->parts.count; i++) {
        csc_exec *wait = csc_view_find(&run->state, exec->parts.items[i]);
        csc_post *post = NULL;

        if (wait == NULL || wait->status != CASCADE_EXECUTION_RUNNING ||
            !csc_view_is_wait(wait) || wait->stage == CSC_STAGE_DISPATCHED)
            continue;
        post = csc_op_create(CSC_POST_FAIL, wait->function_id);
        if (post == NULL)
            return csc_fail_memory();
        post->attempts = 1;
        post->error = "the deadline of its node passed";
        post->continued = true;
        csc_due_queue_dispatch(&run->state, wait);
        csc_op_queue_add(engine, run, post);
    }
    return CASCADE_OK;
}

/* Out of wherever it is; then nothing of it begins any more. */
static void
withdraw(cascade_engine *engine, csc_run *run, csc_exec *exec)
{
    csc_assert(csc_lock_is_held(&engine->mutex) &&
               exec->status == CASCADE_EXECUTION_RUNNING);
    if (exec->call != NULL)
        take_away(engine, exec->call);
    else if (exec->turn != CSC_TURN_NONE)
        csc_drop_unready(engine, exec);
    else
        csc_due_queue_dispatch(&run->state, exec);
}

static cascade_err
fail_one(cascade_engine *engine, csc_run *run, csc_exec *exec, bool start)
{
    const csc_limits *limits = &csc_node_def_find(engine, exec->name)->limits;
    cascade_err err = fail_waits(engine, run, exec);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (err == CASCADE_OK)
        err = post_over(engine, run, exec, true,
                        start ? "start timeout: after %d attempts it was not "
                                "begun within %lld ms"
                              : "deadline passed: after %d attempts it has "
                                "not ended within %lld ms",
                        start ? limits->start_ms : limits->deadline_ms);
    if (err == CASCADE_OK)
        withdraw(engine, run, exec);
    return err;
}

/* Its time may be over. */
static cascade_err
look_at(cascade_engine *engine, csc_run *run, csc_exec *exec)
{
    bool start = false;
    int64_t at_ms = over_ms(engine, exec, &start);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (at_ms == CASCADE_TIME_NONE || at_ms > engine->clock.confirmed_ms) {
        csc_due_limit(&run->state, exec, at_ms);
        return CASCADE_OK;
    }
    csc_due_pass_limit(&run->state, exec);
    if (exec->call == NULL && exec->stage == CSC_STAGE_DISPATCHED &&
        exec->turn == CSC_TURN_NONE)
        return CASCADE_OK; /* a post or a transaction is under way */
    return fail_one(engine, run, exec, start);
}

cascade_err
csc_time_limit_fail_due_locked(cascade_engine *engine, csc_run *run)
{
    csc_exec *exec = csc_due_first_limit(&run->state);
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&engine->mutex));
    while (err == CASCADE_OK && exec != NULL &&
           exec->limit_ms <= engine->clock.confirmed_ms) {
        csc_count_look();
        err = look_at(engine, run, exec);
        exec = csc_due_first_limit(&run->state);
    }
    return err;
}
