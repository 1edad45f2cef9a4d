/* SPDX-License-Identifier: MIT
 *
 * Runs in memory: what is ready, what waits for a time, what is given up.
 *
 * csc_run_advance() is where a run's future is decided, after every change of
 * its state and whenever nothing of it is active any more:
 *
 *   something may run now             -> ready list
 *   a wait is over                    -> its end is posted
 *   a join is not to be run           -> its record is posted (run_join.c)
 *   it is completed from outside      -> that it waits is posted, or that its
 *                                        deadline has come
 *   its time is over                  -> its failure is posted (limits.c)
 *   it waits for a time soon          -> timer heap
 *   it waits for long                 -> FREE with wake_at (parked); for a
 *                                        signal not at once
 *   only nodes nobody here knows      -> FREE with needs
 *   all has ended (found so on load)  -> FREE, which the builder makes an END
 *
 * Of what is paused nothing begins, and no time ends a wait (run_pause.c).
 *
 * Nothing begins while a commit of the run is in flight: that may be about to
 * end it, as a cancellation does with what has not begun. The run advances once
 * the commit is done.
 *
 * A run taken over three times without a commit is a suspect, and no more: an
 * engine that dies takes all that it holds with it. A suspect is the only one
 * the engine claims, and its executions run one at a time, so that when it
 * takes the process down once more, it is known which one did it. Such a claim
 * is a trial (S47), and the deaths in trial are what is held against it:
 *
 *   takeovers 0 to 2      claimed with others; a death is takeovers + 1
 *   from 3 on             a suspect, claimed alone: trial + 1
 *     trial 1 to limit    it runs
 *     trial limit + 1     so many trials ended in a death: it is loaded, and
 *                         what is to run fails instead
 *     beyond              that took an engine down too: it is not even loaded,
 *                         and ended unread (dismiss.c)
 *
 * A commit of it makes both 0; a clean stop takes its own trial back. A claim
 * whose answer was lost, and a lease that was lost by a stall, count: from
 * outside they are no different from a death, and what makes a process hang
 * long enough to lose its lease is no better than what kills it.
 */
#include "engine/engine.h"

#include <string.h>

#include "base/check.h"
#include "engine/effects.h"
#include "engine/native.h"
#include "engine/plan.h"
#include "engine/receive.h"
#include "engine/reload.h"
#include "engine/room.h"
#include "engine/sealing.h"
#include "engine/suspect.h"

#define WRECK_BYTES ((size_t)4 * 1024 * 1024) /* that are freed at once */
#define WRECK_PORTION 10000 /* of what is more; executions and events */
#define PARK_SOON_MS 100    /* a wait that is parked where memory is full */
#define RELOAD_MS 200       /* until memory may be there again */

/* ---- Life --------------------------------------------------------------- */

csc_run *
csc_run_create(cascade_engine *engine, const cascade_uuid *id)
{
    csc_run *run = csc_mem_zalloc(1, sizeof(*run));

    if (run == NULL)
        return NULL;
    csc_state_init(&run->state, id);
    run->engine = engine;
    run->lane = csc_run_lane(engine, id);
    run->limits_to = -1;
    run->refs = 1;
    return run;
}

uint32_t
csc_run_lane(const cascade_engine *engine, const cascade_uuid *id)
{
    return id->bytes[15] % engine->lane_count;
}

void
csc_run_note_claim(csc_run *run, const cascade_claimed *claimed)
{
    run->takeovers = claimed->takeovers;
    run->trials = claimed->trials;
}

cascade_claimed
csc_run_claimed(const csc_run *run)
{
    return (cascade_claimed){.cascade_id = run->state.id,
                             .takeovers = run->takeovers,
                             .trials = run->trials};
}

void
csc_run_ref(csc_run *run)
{
    run->refs++;
}

static void
free_run(csc_run *run)
{
    csc_sealing_fini(run);
    csc_state_fini(&run->state);
    csc_plan_free(run->plan);
    csc_mem_free(run);
}

/* What is large is freed by the housekeeper, in portions, without the lock. */
void
csc_run_unref(csc_run *run)
{
    cascade_engine *engine = run->engine;

    csc_assert(run->refs > 0);
    run->refs--;
    if (run->refs > 0)
        return;
    csc_run_free_posts(run->first_post, CASCADE_ERR_FENCED);
    csc_room_give_place(engine, run);
    if (csc_state_bytes(&run->state) <= WRECK_BYTES) {
        csc_room_leave(engine, run);
        free_run(run);
        return;
    }
    run->wreck_next = engine->wrecks;
    engine->wrecks = run;
    csc_engine_wake_house(engine);
}

void
csc_run_clear_wreck(cascade_engine *engine)
{
    csc_run *run = NULL;
    bool freed = false;

    pthread_mutex_lock(&engine->mutex);
    run = engine->wrecks;
    if (run != NULL)
        engine->wrecks = run->wreck_next;
    pthread_mutex_unlock(&engine->mutex);
    if (run == NULL)
        return;
    freed = csc_state_free_some(&run->state, WRECK_PORTION);
    pthread_mutex_lock(&engine->mutex);
    if (freed) {
        csc_room_leave(engine, run);
    } else {
        run->wreck_next = engine->wrecks;
        engine->wrecks = run;
    }
    pthread_mutex_unlock(&engine->mutex);
    if (freed)
        free_run(run);
}

void
csc_run_clear_wrecks(cascade_engine *engine)
{
    while (engine->wrecks != NULL) {
        csc_run *next = engine->wrecks->wreck_next;

        free_run(engine->wrecks);
        engine->wrecks = next;
    }
}

cascade_err
csc_run_add(cascade_engine *engine, csc_run *run)
{
    if (csc_map_put(&engine->runs, &run->state.id, run) != 0)
        return csc_fail_memory();
    run->held = true;
    csc_run_ref(run);
    csc_room_count(engine, run);
    csc_room_begin_turn(engine, run);
    return CASCADE_OK;
}

void
csc_run_free_posts(csc_post *posts, cascade_err err)
{
    while (posts != NULL) {
        csc_post *next = posts->next;

        if (posts->waiter != NULL) {
            posts->waiter->err = err;
            (void)sem_post(&posts->waiter->woken);
        }
        csc_post_free(posts);
        posts = next;
    }
}

/* ---- Timers ------------------------------------------------------------- */

static void
place_timer(cascade_engine *engine, size_t at, csc_run *run)
{
    engine->timers[at] = run;
    run->timer_at = at + 1;
}

static void
sift_timer(cascade_engine *engine, size_t at, csc_run *run)
{
    while (at > 0 && engine->timers[(at - 1) / 2]->timer_ms > run->timer_ms) {
        place_timer(engine, at, engine->timers[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < engine->timer_count &&
            engine->timers[child + 1]->timer_ms <
                engine->timers[child]->timer_ms)
            child++;
        if (child >= engine->timer_count ||
            engine->timers[child]->timer_ms >= run->timer_ms)
            break;
        place_timer(engine, at, engine->timers[child]);
        at = child;
    }
    place_timer(engine, at, run);
}

void
csc_run_remove_timer(cascade_engine *engine, csc_run *run)
{
    size_t at = run->timer_at;
    csc_run *last = NULL;

    if (at == 0)
        return;
    run->timer_at = 0;
    engine->timer_count--;
    last = engine->timers[engine->timer_count];
    if (last != run)
        sift_timer(engine, at - 1, last);
}

cascade_err
csc_run_set_timer(cascade_engine *engine, csc_run *run, int64_t at_ms)
{
    void *timers = engine->timers;

    if (run->timer_at != 0 && run->timer_ms == at_ms)
        return CASCADE_OK;
    csc_run_remove_timer(engine, run);
    if (csc_mem_grow(&timers, &engine->timer_room, engine->timer_count + 1,
                     sizeof(csc_run *)) != 0)
        return csc_fail_memory();
    engine->timers = timers;
    run->timer_ms = at_ms;
    engine->timer_count++;
    sift_timer(engine, engine->timer_count - 1, run);
    if (run->timer_at == 1)
        csc_engine_wake_house(engine);
    return CASCADE_OK;
}

int64_t
csc_run_next_timer(const cascade_engine *engine)
{
    return engine->timer_count > 0 ? engine->timers[0]->timer_ms
                                   : CASCADE_TIME_NONE;
}

void
csc_run_fire(cascade_engine *engine, int64_t now_ms)
{
    while (engine->timer_count > 0 && engine->timers[0]->timer_ms <= now_ms) {
        csc_run *run = engine->timers[0];

        csc_run_remove_timer(engine, run);
        csc_run_advance(engine, run);
    }
}

void
csc_run_drop(cascade_engine *engine, csc_run *run, cascade_err err)
{
    csc_post *posts = run->first_post;
    bool full = csc_hydrate_room(engine) == 0;

    if (run->gone)
        return;
    run->gone = true;
    csc_room_give_place(engine, run);
    run->first_post = NULL;
    run->last_post = NULL;
    csc_run_free_posts(posts, err);
    run->more_messages = run->more_messages || run->receiving;
    csc_receive_again(engine, run);
    csc_run_remove_timer(engine, run);
    csc_native_drop(engine, run);
    if (engine->suspect == run) {
        engine->suspect = NULL;
        csc_engine_wake_house(engine);
    }
    if (!run->held)
        return;
    run->held = false;
    csc_run_let_begin(engine);
    (void)csc_map_remove(&engine->runs, &run->state.id);
    if (engine->claim_more || full) /* nothing to claim was waited for */
        csc_engine_wake_house(engine);
    csc_run_unref(run);
}

/* ---- What is ready ------------------------------------------------------- */

/* Nothing new begins while the lease may have run out: another engine may own
 * the cascades already. The fence would refuse the results; this spares the
 * outside most of the repeated effects. */
bool
csc_run_may_begin(const cascade_engine *engine)
{
    return engine->life == CSC_LIFE_RUNNING && engine->attached &&
           !atomic_load_explicit(&engine->stop_requested,
                                 memory_order_relaxed) &&
           csc_engine_monotonic_ns(engine) < engine->lease_until_ns;
}

bool
csc_run_may_receive(const cascade_engine *engine)
{
    return atomic_load(&engine->backlog) < engine->options.backlog_bytes_max;
}

/* Results that wait for their commit are held in memory: while they are as many
 * as may be, nothing is begun that would make more. Posts never wait for that,
 * and one whose turn it is (native.c) begins all the same: the posts of its run
 * wait for it. */
static bool
has_room(const cascade_engine *engine)
{
    return engine->turn != NULL ||
           atomic_load(&engine->backlog) +
                   atomic_load(&engine->backlog_behind) <
               engine->options.backlog_bytes_max;
}

bool
csc_run_may_take(const cascade_engine *engine)
{
    return engine->ready_count > 0 && csc_run_may_begin(engine) &&
           has_room(engine);
}

/* Only csc_run_let_begin() takes it back: it may not be for this caller alone.
 */
bool
csc_run_note_wait(cascade_engine *engine)
{
    bool held_back = engine->ready_count > 0 && csc_run_may_begin(engine) &&
                     !has_room(engine);

    engine->held_back = engine->held_back || held_back;
    return held_back;
}

void
csc_run_let_begin(cascade_engine *engine)
{
    if (csc_receive_is_due(engine))
        csc_engine_wake_house(engine);
    if (!engine->held_back || !has_room(engine))
        return;
    engine->held_back = false;
    pthread_cond_broadcast(&engine->work_cond);
    csc_engine_wake_host(engine);
}

/* A run whose rows were refused is loaded anew when that was the last one:
 * nothing runs twice here at a time, but for what was taken from a function
 * that does not return. Not by a later incarnation, which owns only what it
 * claimed: perhaps this very cascade, and then it has loaded it. */
void
csc_run_let_go(cascade_engine *engine, csc_run *run)
{
    csc_assert(run->active > 0);
    run->active--;
    if (run->active > 0 || !run->expelled)
        return;
    run->expelled = false;
    engine->in_hand--;
    if (!engine->attached || !csc_uuid_equal(&run->expelled_by, &engine->id))
        return;
    if (csc_suspect_is_one(engine, &run->reload.claimed))
        engine->suspects_out--;
    csc_reload_add(engine, &run->reload);
}

void
csc_run_unready(cascade_engine *engine, csc_exec *exec)
{
    csc_run *run = exec->run;

    csc_ready_take_out(engine, exec);
    if (engine->turn == run)
        csc_native_end_turn(engine);
    csc_native_resume(engine);
    csc_run_let_go(engine, run);
    csc_run_unref(run);
}

bool
csc_run_is_unwanted(const csc_exec *exec)
{
    return exec->run->state.cancel != CSC_NO_PARENT && exec->parts.count == 0 &&
           !exec->over;
}

csc_exec *
csc_run_next(cascade_engine *engine, csc_lane **native)
{
    while (csc_run_may_take(engine)) {
        csc_exec *exec = csc_ready_pop(engine);

        if (exec->run->gone) {
            csc_native_resume(engine);
            csc_run_let_go(engine, exec->run);
            csc_run_unref(exec->run);
        } else if (csc_native_take(engine, exec, native)) {
            engine->running++;
            engine->stats.attempts++;
            return exec;
        }
    }
    return NULL;
}

void
csc_run_left(cascade_engine *engine, csc_run *run, bool late)
{
    csc_assert(engine->running > 0);
    engine->running--;
    if (engine->running == 0)
        pthread_cond_broadcast(&engine->quiet_cond);
    if (!late)
        csc_run_let_go(engine, run);
    if (!late && !run->gone)
        csc_run_advance(engine, run);
    csc_run_unref(run);
}

void
csc_run_expel(cascade_engine *engine, csc_run *run, const csc_reload *reload,
              cascade_err err)
{
    if (run->gone)
        return;
    run->reload = *reload;
    csc_run_ref(run);
    csc_run_drop(engine, run, err);
    run->expelled = run->active > 0;
    run->expelled_by = engine->id;
    if (run->expelled) {
        engine->in_hand++;
        engine->suspects_out += csc_suspect_is_one(engine, &reload->claimed);
    } else {
        csc_reload_add(engine, &run->reload);
    }
    csc_run_unref(run);
}

/* `leaves` as for a retry: nothing of it begins, and it goes behind the commit
 * in flight. */
void
csc_run_load_anew(cascade_engine *engine, csc_run *run, cascade_err err)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    if (run->gone || run->leaves)
        return;
    csc_engine_note(
        engine, CASCADE_LOG_WARNING, "cascade %s is loaded anew: %s",
        cascade_uuid_format(&run->state.id, id), cascade_err_text(err));
    run->reload = (csc_reload){.claimed = csc_run_claimed(run),
                               .at_ns = csc_engine_monotonic_ns(engine) +
                                        RELOAD_MS * CSC_MS_NS,
                               .fail_id = -1};
    run->leaves = true;
    run->freeing = true;
    if (!run->committing)
        csc_receive_leave(engine, run);
}

/* ---- Posts -------------------------------------------------------------- */

void
csc_run_post(cascade_engine *engine, csc_run *run, csc_post *post)
{
    post->next = NULL;
    if (run->gone) {
        csc_run_free_posts(post, CASCADE_ERR_FENCED);
        return;
    }
    if (run->last_post != NULL)
        run->last_post->next = post;
    else
        run->first_post = post;
    run->last_post = post;
    csc_post_charge(post, csc_native_holds(engine, run)
                              ? &engine->backlog_behind
                              : &engine->backlog);
    if (!run->committing && !csc_native_holds(engine, run))
        csc_lane_add_run(&engine->lanes[run->lane], run);
}

/* A name that no node can have, as other programs' may be, is not told to the
 * store: it might not even be kept there. No engine knows the one in its place.
 */
static const char *
nameable(const char *needs)
{
    if (needs == NULL || strcmp(needs, CSC_PAUSE_NAME) == 0 ||
        csc_check_foreign_name("node name", needs) == CASCADE_OK)
        return needs;
    return CSC_NOBODY_NAME;
}

cascade_err
csc_run_post_free(cascade_engine *engine, csc_run *run, int64_t wake_at_ms,
                  const char *needs)
{
    csc_post *post = csc_post_create(CSC_POST_FREE, -1);

    if (post == NULL)
        return csc_fail_memory();
    post->wake_at_ms = wake_at_ms;
    post->needs = nameable(needs);
    run->freeing = true;
    csc_run_remove_timer(engine, run);
    csc_run_post(engine, run, post);
    return CASCADE_OK;
}

cascade_err
csc_run_fail(const cascade_engine *engine, const csc_exec *exec, csc_post *post)
{
    const csc_node_def *node = csc_engine_node(engine, exec->name);

    if (exec->external != NULL)
        return csc_effects_fail(&post->arena, post, exec);
    post->continued =
        exec->part != CSC_PART_NONE || /* its node is told, and may go on */
        (node != NULL && node->final_failure != CASCADE_FINAL_ERROR);
    if (node == NULL || node->instead == NULL)
        return CASCADE_OK;
    return csc_effects_instead(&post->arena, post, exec, node->instead);
}

static cascade_err
post_poisoned(cascade_engine *engine, csc_run *run, const csc_exec *exec)
{
    csc_post *post = csc_post_create(CSC_POST_FAIL, exec->function_id);

    if (post == NULL)
        return csc_fail_memory();
    post->attempts = exec->attempts + 1;
    post->error = csc_arena_format(
        &post->arena,
        "poisoned: %d engines in turn died while they held this cascade",
        (int)run->takeovers);
    if (post->error == NULL || csc_run_fail(engine, exec, post) != CASCADE_OK) {
        csc_post_free(post);
        return csc_fail_memory();
    }
    csc_engine_note(
        engine, CASCADE_LOG_ERROR,
        "node %s is poisoned: its execution failed after %d takeovers",
        exec->name, (int)run->takeovers);
    csc_run_post(engine, run, post);
    return CASCADE_OK;
}

/* A wait is over. */
static cascade_err
post_waited(cascade_engine *engine, csc_run *run, const csc_exec *wait)
{
    csc_post *post = csc_post_create(CSC_POST_COMPLETE, wait->function_id);

    if (post == NULL)
        return csc_fail_memory();
    post->attempts = 1;
    csc_run_post(engine, run, post);
    return CASCADE_OK;
}

/* It waits for its completion from outside from now on. */
static cascade_err
post_external(cascade_engine *engine, csc_run *run, const csc_exec *exec,
              const csc_node_def *node)
{
    csc_post *post = csc_post_create(CSC_POST_EXTERNAL, exec->function_id);

    if (post == NULL)
        return csc_fail_memory();
    post->waiting = node->waiting;
    csc_run_post(engine, run, post);
    return CASCADE_OK;
}

cascade_err
csc_run_post_overdue(cascade_engine *engine, csc_run *run, const csc_exec *exec)
{
    csc_post *post = csc_post_create(CSC_POST_FAIL, exec->function_id);

    if (post == NULL)
        return csc_fail_memory();
    post->attempts = exec->attempts + 1;
    post->overdue = true;
    post->error = "the deadline passed";
    if (csc_effects_fail(&post->arena, post, exec) != CASCADE_OK) {
        csc_post_free(post);
        return csc_fail_memory();
    }
    csc_run_post(engine, run, post);
    return CASCADE_OK;
}

/* ---- Advancing ---------------------------------------------------------- */

static void
note_unknown(cascade_engine *engine, csc_run *run, csc_exec *exec)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    if (!run->unknown)
        csc_engine_note(
            engine, CASCADE_LOG_WARNING,
            "cascade %s needs node %s, which is not registered here; "
            "it is left for an engine that knows it",
            cascade_uuid_format(&run->state.id, id), exec->name);
    run->unknown = true;
    exec->dispatched = false; /* it is left aside, and has not begun */
}

/* The node of the first execution that was left aside and still is; NULL
 * without one. */
static const char *
find_unknown(csc_run *run)
{
    const csc_state *state = &run->state;

    for (size_t i = 0; run->unknown && i < state->exec_count; i++) {
        const csc_exec *exec = state->execs[i].exec;

        if (exec != NULL && exec->status == CASCADE_EXECUTION_RUNNING &&
            exec->part == CSC_PART_NONE && exec->queued_at == 0 &&
            exec->blocked == 0 && !exec->dispatched && exec->external == NULL)
            return exec->name;
    }
    run->unknown = false;
    return NULL;
}

/* The executions of a suspect run one at a time, each recorded before the next
 * begins: what dies then is to blame. */
static bool
may_add(const cascade_engine *engine, const csc_run *run)
{
    return engine->suspect != run ||
           (run->active == 0 && run->first_post == NULL && !run->committing);
}

static cascade_err
make_ready(cascade_engine *engine, csc_run *run)
{
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && may_add(engine, run)) {
        csc_exec *exec = csc_state_take(&run->state, engine->now_confirmed_ms);
        const csc_node_def *node = NULL;

        if (exec == NULL)
            break;
        node = csc_engine_node(engine, exec->name);
        if (csc_state_is_wait(exec)) {
            err = post_waited(engine, run, exec);
        } else if (csc_state_verdict(exec) == CSC_VERDICT_SKIP ||
                   (csc_state_verdict(exec) == CSC_VERDICT_FAIL &&
                    node != NULL)) {
            err = csc_run_post_join(engine, run, exec);
        } else if (exec->external != NULL) {
            err = csc_run_post_overdue(engine, run, exec);
        } else if (node == NULL) {
            note_unknown(engine, run, exec);
        } else if (node->fn == NULL) {
            err = post_external(engine, run, exec, node);
        } else if (csc_suspect_is_poisoned(engine, run)) {
            err = post_poisoned(engine, run, exec);
            break;
        } else {
            exec->run = run;
            run->active++;
            csc_run_ref(run);
            csc_limits_note(engine, run, exec);
            csc_ready_add(engine, exec, CSC_PLACE_LAST);
        }
    }
    return err;
}

/* It waits for a signal, which may come any moment: for as long as a wait is
 * held in memory it is not given up after its last commit. */
static bool
lingers(const cascade_engine *engine, csc_run *run, int64_t now)
{
    if (run->linger_until_ms == 0)
        run->linger_until_ms =
            csc_clock_add(now, engine->options.park_after_ms);
    return run->state.awaiting > 0 && now < run->linger_until_ms;
}

/* Whether a message can end what it waits for, where no time does: a signal, a
 * completion, the end of a child (also one that a cancelled cascade waits for).
 */
static bool
is_to_be_told(const csc_state *state)
{
    return state->awaiting > 0 || state->externals > 0 || state->children > 0;
}

/* When the next of the run may be due; 0: at once, CASCADE_TIME_NONE: never. */
static int64_t
next_due(const cascade_engine *engine, const csc_run *run)
{
    int64_t wake_at = csc_run_is_paused(engine, run)
                          ? csc_run_paused_until(run)
                          : csc_state_wake_at(&run->state);
    int64_t limit_ms = csc_limits_first_ms(run);

    if (limit_ms != CASCADE_TIME_NONE &&
        (wake_at == CASCADE_TIME_NONE || limit_ms < wake_at))
        wake_at = limit_ms;
    return wake_at;
}

/* A suspect that waits is parked: while it is held, nothing else is claimed. So
 * is what waits where there is no memory for others. */
static bool
may_linger(const cascade_engine *engine, const csc_run *run)
{
    return engine->suspect != run && !csc_room_is_full(engine) &&
           !csc_room_is_wanted(engine, run);
}

/* The longest wait for which it is held. */
static int64_t
hold_ms(const cascade_engine *engine, const csc_run *run)
{
    if (may_linger(engine, run) || engine->options.park_after_ms < PARK_SOON_MS)
        return engine->options.park_after_ms;
    return engine->suspect == run ? 0 : PARK_SOON_MS;
}

/* Of what goes on one slice after the other: its cancellation, or the end of
 * its children. CSC_NO_PARENT: of nothing. */
static int32_t
sliced(const csc_state *state)
{
    if (state->cancel_from != CSC_NO_PARENT)
        return state->cancel;
    return csc_state_has_only_children(state) ? state->family_from
                                              : CSC_NO_PARENT;
}

/* Nothing of the run is active or under way: it waits, or is given up. What is
 * due already was made ready, so a timer is never set in the past. */
static cascade_err
rest(cascade_engine *engine, csc_run *run)
{
    int64_t now = csc_engine_now(engine);
    int64_t wake_at = next_due(engine, run);
    const char *unknown = NULL;

    if (sliced(&run->state) != CSC_NO_PARENT &&
        csc_room_must_leave(engine, run))
        return csc_run_rest_later(engine, run, now);
    if (csc_run_is_paused(engine, run))
        return csc_run_rest_paused(engine, run, wake_at);
    unknown = find_unknown(run);
    if (csc_state_status(&run->state) != CASCADE_RUNNING || unknown != NULL)
        return csc_run_post_free(engine, run, now, unknown);
    if (csc_room_must_leave(engine, run))
        return csc_run_rest_later(engine, run, wake_at);
    if (wake_at == CASCADE_TIME_NONE)
        wake_at =
            csc_clock_add(now, is_to_be_told(&run->state) ? CSC_DELAY_MAX_MS
                                                          : CSC_IDLE_RUN_MS);
    if (wake_at - now > hold_ms(engine, run)) {
        if (may_linger(engine, run) && lingers(engine, run, now))
            return csc_run_set_timer(engine, run, run->linger_until_ms);
        engine->stats.parked++;
        return csc_run_post_free(engine, run, wake_at, NULL);
    }
    return csc_run_set_timer(engine, run, wake_at);
}

static cascade_err
post_slice(cascade_engine *engine, csc_run *run)
{
    int32_t function_id = sliced(&run->state);
    csc_post *post = NULL;

    if (function_id == CSC_NO_PARENT || run->slicing)
        return CASCADE_OK;
    post = csc_post_create(CSC_POST_SLICE, function_id);
    if (post == NULL)
        return csc_fail_memory();
    run->slicing = true;
    csc_run_post(engine, run, post);
    return CASCADE_OK;
}

/* Makes ready what may run, unless its time is over. */
static cascade_err
go_on(cascade_engine *engine, csc_run *run)
{
    cascade_err err = CASCADE_OK;

    if (!csc_room_must_leave(engine, run))
        err = post_slice(engine, run);
    if (err == CASCADE_OK)
        err = csc_limits_look(engine, run);
    if (err != CASCADE_OK || run->freeing)
        return err;
    if (!csc_limits_are_known(engine, run))
        return csc_run_set_timer(engine, run, engine->now_confirmed_ms);
    err = csc_limits_fail_due(engine, run);
    if (err != CASCADE_OK)
        return err;
    return csc_run_is_held_back(engine, run) ? csc_run_hold_back(engine, run)
                                             : make_ready(engine, run);
}

void
csc_run_advance(cascade_engine *engine, csc_run *run)
{
    cascade_err err = CASCADE_OK;
    int64_t wake_at = 0;

    if (run->gone || run->freeing || engine->life != CSC_LIFE_RUNNING)
        return;
    if (csc_state_status(&run->state) == CASCADE_RUNNING && !run->committing)
        err = go_on(engine, run);
    if (run->freeing)
        return;
    wake_at = next_due(engine, run);
    if (err == CASCADE_OK && run->active == 0 && run->first_post == NULL &&
        !run->committing)
        err = rest(engine, run);
    else if (err == CASCADE_OK && wake_at > engine->now_confirmed_ms)
        err = csc_run_set_timer(engine, run, wake_at);
    if (err != CASCADE_OK)
        csc_run_load_anew(engine, run, err);
    else
        csc_native_go_on(engine, run);
}

/* ---- The whole ---------------------------------------------------------- */

static void
count_loss(cascade_engine *engine, cascade_err err)
{
    if (err == CASCADE_ERR_FENCED)
        engine->stats.fences++;
    else if (err == CASCADE_ERR_LOST)
        engine->stats.losses++;
    csc_engine_note(engine, CASCADE_LOG_WARNING,
                    "%s: all cascades in memory are dropped, and the engine "
                    "attaches anew",
                    cascade_err_text(err));
}

/* A removal moves later slots up, so a pass may miss some; the next one does
 * not begin before the end. */
void
csc_run_drop_all(cascade_engine *engine, cascade_err err)
{
    while (engine->runs.count > 0) {
        size_t at = 0;
        csc_run *run = csc_map_next(&engine->runs, &at);

        while (run != NULL) {
            csc_run_drop(engine, run, err);
            run = csc_map_next(&engine->runs, &at);
        }
    }
    csc_reload_forget(engine);
    for (uint32_t i = 0; i < engine->lane_count; i++)
        csc_lane_forget(&engine->lanes[i]);
}

void
csc_run_lose(cascade_engine *engine, cascade_err err)
{
    if (!engine->attached)
        return;
    engine->attached = false;
    engine->attach_at_ns = 0;
    engine->suspects_out = 0;
    engine->dead_id = engine->id;
    engine->has_dead_id = true;
    count_loss(engine, err);
    csc_run_drop_all(engine, err);
    for (uint32_t i = 0; i < csc_engine_lanes(engine); i++) {
        csc_lane_return_starts(&engine->lanes[i]);
        csc_lane_wake(&engine->lanes[i]);
    }
    pthread_cond_broadcast(&engine->quiet_cond);
    csc_engine_wake_house(engine);
}

bool
csc_run_quiet(const cascade_engine *engine)
{
    if (engine->running > 0)
        return false;
    for (uint32_t i = 0; i < csc_engine_lanes(engine); i++) {
        const csc_lane *lane = &engine->lanes[i];

        if (lane->busy || lane->first_dirty != NULL ||
            lane->first_slicing != NULL)
            return false;
        if (lane->first_start != NULL && engine->attached)
            return false;
    }
    return true;
}
