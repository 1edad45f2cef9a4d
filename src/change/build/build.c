/* SPDX-License-Identifier: MIT
 *
 * See build.h. A change is built in two passes: the first counts the rows so
 * that each kind is one array, the second writes them. Texts of the posts are
 * referred to, not copied: a post lives until its change is decided.
 *
 * What was received comes first in a change: an await that begins in it finds
 * its signal, and one whose time has passed in it has ended by its signal. So
 * there is one outcome, and the rows of the change tell which.
 */
#include "change/build/build.h"

#include <string.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/build/builder.h"
#include "change/build/end.h"
#include "change/op.h"
#include "state/full_output.h"
#include "state/state.h"

typedef struct csc_builder builder;

/* No attempt follows in a cascade that was cancelled before this one could be
 * recorded: it is the last, and what it has registered is undone first, in a
 * further entry. What is undone already has attempts of its own. */
static void
add_attempt(builder *b, const csc_post *post, const csc_exec *exec)
{
    csc_post last = {.kind = CSC_POST_ATTEMPT,
                     .over = true,
                     .attempts = post->attempts,
                     .progress = post->progress,
                     .step_attempts = post->step_attempts};
    bool ends = post->kind == CSC_POST_ATTEMPT && !post->over && !exec->over &&
                exec->undone_by == 0 && csc_builder_is_cancelled(b);
    cascade_execution_row *row = NULL;

    csc_assert(post->kind == CSC_POST_ATTEMPT ||
               post->kind == CSC_POST_STEP_ATTEMPT);
    if (ends && !post->undoes && !exec->undoes) {
        csc_end_fail(b, post, exec);
        return;
    }
    row = csc_builder_update(b, exec, CASCADE_EXECUTION_RUNNING);
    row->full_output = csc_end_attempt(b, ends ? &last : post, exec);
    row->error = post->error;
}

static void
add_wait(builder *b, const csc_post *post, const csc_exec *exec)
{
    cascade_execution_row *row = csc_builder_part(
        b, post->part_name, exec->function_id, post->part_occurrence);
    csc_record record = csc_full_output_none;

    csc_assert(post->kind == CSC_POST_WAIT);
    if (csc_message_take_signal(b, row))
        return;
    if (csc_builder_is_cancelled(b)) {
        csc_builder_stillborn(b, row);
        return;
    }
    b->running++;
    if (post->forever && post->gather_count == 0 && !post->undoes)
        return;
    record.undo = post->undoes;
    record.after = csc_builder_ids(b, post->gathers, post->gather_count);
    if (!post->forever)
        record.not_before_ms =
            post->until_ms != CASCADE_TIME_NONE
                ? post->until_ms
                : csc_clock_add(b->env->delay_from_ms, post->delay_ms);
    row->full_output = csc_builder_record(b, &record);
}

/* A row is written once in a commit: whatever follows tells the same. */
static void
add_beat(builder *b, const csc_post *post, const csc_exec *exec)
{
    cascade_execution_row *row = NULL;

    csc_assert(post->kind == CSC_POST_BEAT);
    for (const csc_post *p = post->next; p != NULL; p = p->next)
        if (p->function_id == post->function_id &&
            (p->kind == CSC_POST_COMPLETE || p->kind == CSC_POST_FAIL ||
             p->kind == CSC_POST_ATTEMPT || p->kind == CSC_POST_STEP_ATTEMPT ||
             p->kind == CSC_POST_BEAT))
            return;
    row = csc_builder_update(b, exec, CASCADE_EXECUTION_RUNNING);
    row->full_output = csc_end_attempt(b, post, exec);
    row->error = exec->error;
}

/* An execution of its own, which ends the cascade. */
static void
add_deadline(builder *b, const csc_post *post)
{
    csc_record record = csc_full_output_none;
    cascade_execution_row *row = NULL;

    csc_assert(post->kind == CSC_POST_DEADLINE);
    if (!csc_builder_has_ids(b, 1, true)) {
        csc_last_ids_end_other(b, post->error);
        return;
    }
    row = csc_builder_part(b, CSC_DEADLINE_NAME, CSC_NO_PARENT, 0);
    row->completed_at_ms = b->env->now_ms;
    row->status = CASCADE_EXECUTION_FAILED;
    row->error = post->error;
    record.at = b->state->fn_id;
    record.attempts = 1;
    row->full_output = csc_builder_record(b, &record);
    csc_builder_note_terminated(b, row);
}

static void
add_post(builder *b, const csc_post *post)
{
    const csc_exec *exec = csc_view_find(b->state, post->function_id);

    if (post->kind == CSC_POST_FREE) {
        b->free = post;
        return;
    }
    if (post->kind == CSC_POST_DEADLINE) {
        add_deadline(b, post);
        return;
    }
    if (post->kind == CSC_POST_SLICE) {
        if (b->env->plan != NULL)
            csc_reset_go_on(b);
        else
            csc_command_add_slice(b);
        return;
    }
    if (post->kind == CSC_POST_RECEIVE)
        return; /* they come first */
    if (csc_message_is_late(b, post, exec))
        return;
    csc_assert(exec != NULL);
    switch (post->kind) {
    case CSC_POST_COMPLETE:
        if (csc_view_is_wait(exec) && csc_command_is_doomed(b, exec))
            csc_command_cancel_one(b, exec);
        else
            csc_end_complete(b, post, exec);
        break;
    case CSC_POST_FAIL:
        csc_end_fail(b, post, exec);
        break;
    case CSC_POST_ATTEMPT:
    case CSC_POST_STEP_ATTEMPT:
        add_attempt(b, post, exec);
        break;
    case CSC_POST_STEP:
        csc_end_step(b, post, exec);
        break;
    case CSC_POST_WAIT:
        add_wait(b, post, exec);
        break;
    case CSC_POST_CHILDREN:
        csc_child_add_starts(b, post, exec);
        break;
    case CSC_POST_EXTERNAL:
        csc_external_wait(b, post, exec);
        break;
    case CSC_POST_BEAT:
        add_beat(b, post, exec);
        break;
    case CSC_POST_RECEIVE:
    case CSC_POST_DEADLINE:
    case CSC_POST_SLICE:
    case CSC_POST_FREE:
        break;
    }
}

/* ---- The change --------------------------------------------------------- */

/* How many executions a post inserts for certain. */
static size_t
count_inserts(const csc_post *post)
{
    size_t count = post->children.count;

    if (post->kind == CSC_POST_STEP || post->kind == CSC_POST_WAIT)
        count++;
    return post->kind == CSC_POST_FAIL ? count
                                       : count + post->effects.spawn_count;
}

static cascade_err
promise_ids(builder *b, const csc_post *posts)
{
    size_t stand_ins = 0;

    csc_assert(b->promised == 0);
    for (const csc_post *p = posts; p != NULL; p = p->next) {
        b->promised += count_inserts(p);
        if (p->kind == CSC_POST_FAIL)
            stand_ins += p->effects.spawn_count;
    }
    b->no_stand_ins = !csc_builder_has_ids(b, stand_ins, false);
    if (!b->no_stand_ins)
        b->promised += stand_ins;
    if (b->promised == 0 || csc_builder_has_ids(b, 0, false))
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_TOO_LARGE, "cascade %s: " CSC_USED_UP,
                    b->cascade_id);
}

static cascade_err
make_room(builder *b, const csc_post *posts)
{
    size_t inserts = 0;
    size_t updates = 0;
    size_t events = 0;
    size_t messages = 0;

    csc_assert(b->inserts == NULL && b->updates == NULL);
    for (const csc_post *p = posts; p != NULL; p = p->next) {
        if (p->kind == CSC_POST_DEADLINE)
            inserts++;
        if (p->kind != CSC_POST_FREE && p->kind != CSC_POST_RECEIVE &&
            p->kind != CSC_POST_CHILDREN && p->kind != CSC_POST_STEP &&
            p->kind != CSC_POST_WAIT)
            updates++;
        messages += p->message_count;
        inserts += csc_external_message_room(p->messages, &events);
        events += p->effects.put_count;
    }
    inserts += b->promised + messages + csc_reset_room(b->env);
    updates += messages; /* each may end an await */
    updates += 1;        /* the cancellation, which may end */
    b->inserts = csc_arena_alloc(b->env->arena, inserts, sizeof(*b->inserts));
    b->ids = csc_arena_alloc(b->env->arena, inserts, sizeof(*b->ids));
    b->updates = csc_arena_alloc(b->env->arena, updates, sizeof(*b->updates));
    b->insert_room = inserts;
    b->update_room = updates;
    b->events = csc_arena_alloc(b->env->arena, events, sizeof(*b->events));
    b->received =
        csc_arena_alloc(b->env->arena, messages + 1, sizeof(*b->received));
    if (b->env->arena->failed)
        return csc_fail_memory();
    csc_uuid_v7_many(b->env->now_ms, b->env->random, b->ids, inserts);
    return CASCADE_OK;
}

static void
set_run(const builder *b, cascade_change *change)
{
    csc_assert(change->insert_count == b->insert_count);
    change->run_action = b->env->reset ? CASCADE_RUN_RESET : CASCADE_RUN_KEEP;
    if (b->erases && b->send_count == 0) {
        *change = (cascade_change){.cascade = change->cascade,
                                   .run = change->run,
                                   .run_action = CASCADE_RUN_DELETE};
    } else if (change->cascade.status != CASCADE_RUNNING) {
        change->run_action = b->slices != NULL && !b->slices->next.done
                                 ? CASCADE_RUN_KEEP
                                 : CASCADE_RUN_END;
    } else if (b->plan != NULL) {
        change->run_action = b->state->recorded == CASCADE_RUNNING
                                 ? CASCADE_RUN_RESET
                                 : CASCADE_RUN_REVIVE;
        change->run.queue = csc_builder_queue(b->env, b->state);
        change->run.priority = b->state->priority;
        change->run.limit_key = csc_builder_limit_key(b->env, b->state);
    } else if (b->free != NULL) {
        change->run_action = CASCADE_RUN_FREE;
        change->run.wake_at_ms = b->free->wake_at_ms;
        change->run.needs = b->free->needs;
    }
}

static void
finish_change(const builder *b, cascade_change *change)
{
    csc_assert(b->insert_count <= b->insert_room &&
               b->update_count <= b->update_room);
    *change = (cascade_change){.inserts = b->inserts,
                               .insert_count = b->insert_count,
                               .updates = b->updates,
                               .update_count = b->update_count,
                               .events = b->events,
                               .event_count = b->event_count,
                               .received = b->received,
                               .received_count = b->received_count,
                               .sends = b->sends,
                               .send_count = b->send_count};
    change->cascade = (cascade_row){.id = b->state->id,
                                    .status = csc_builder_status(b),
                                    .fn_id = b->fn_id,
                                    .user_id = b->state->user_id,
                                    .created_at_ms = b->state->created_at_ms,
                                    .updated_at_ms = csc_builder_written_at(b)};
    change->run.cascade_id = b->state->id;
    set_run(b, change);
}

cascade_err
csc_build_change(const csc_build_env *env, const csc_state *state,
                 const csc_post *posts, cascade_change *change)
{
    builder b = {.env = env,
                 .state = state,
                 .fn_id = state->fn_id,
                 .late = {.state = state, .arena = env->arena}};
    cascade_err err = CASCADE_OK;

    csc_assert(posts != NULL);
    if (env->plan != NULL)
        env->plan->next.receipt = CSC_COURSE_NONE;
    b.posts = posts;
    cascade_uuid_format(&state->id, b.cascade_id);
    err = promise_ids(&b, posts);
    if (err == CASCADE_OK)
        err = make_room(&b, posts);
    if (err != CASCADE_OK)
        return err;
    b.cancel_from = state->cancel_from;
    b.next = csc_next_run_add(state, posts);
    for (const csc_post *p = posts; p != NULL; p = p->next)
        csc_message_receive(&b, p);
    b.promised = 0;
    for (const csc_post *p = posts; p != NULL; p = p->next)
        add_post(&b, p);
    if (b.slices == NULL) {
        csc_command_end_cancel(&b);
        csc_family_end_finish(&b);
    }
    if (b.marks)
        csc_mark_add(&b);
    finish_change(&b, change);
    csc_buf_fini(&b.text);
    csc_mem_free(b.ended_early.items);
    return env->arena->failed ? csc_fail_memory() : CASCADE_OK;
}

cascade_err
csc_build_apply(csc_state *state, const cascade_change *change)
{
    cascade_err err = csc_state_apply_cascade(state, &change->cascade);

    csc_assert(csc_uuid_equal(&state->id, &change->cascade.id));
    for (size_t i = 0; i < change->update_count && err == CASCADE_OK; i++)
        err = csc_state_apply_execution(state, &change->updates[i]);
    for (size_t i = 0; i < change->insert_count && err == CASCADE_OK; i++)
        err = csc_state_apply_execution(state, &change->inserts[i]);
    for (size_t i = 0; i < change->event_count && err == CASCADE_OK; i++)
        err = csc_events_apply_event(state, &change->events[i]);
    if (err == CASCADE_OK)
        csc_state_settle(state);
    return err;
}
