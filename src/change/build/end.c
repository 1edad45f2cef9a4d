/* SPDX-License-Identifier: MIT
 *
 * The end of an execution, of an attempt or of a part of it: what its row says
 * then, what it has written and what it spawns.
 */
#include "change/build/end.h"

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "change/build/build.h"
#include "change/build/builder.h"
#include "change/join_cutoff.h"
#include "change/op.h"
#include "state/full_output.h"
#include "state/state.h"

typedef struct csc_builder builder;

/* Member `keys`: the distinct keys put to, in the order of the puts. */
static csc_json_span
list_keys(builder *b, const csc_effects *effects)
{
    csc_assert(b->text.len == 0);
    for (const csc_put *p = effects->first_put; p != NULL; p = p->next) {
        if (csc_op_nth_put(effects, p->key, 0) != p)
            continue;
        csc_buf_add_char(&b->text, b->text.len == 0 ? '[' : ',');
        csc_json_add_string(&b->text, p->key);
    }
    if (effects->first_put == NULL)
        return csc_full_output_none.keys;
    csc_buf_add_char(&b->text, ']');
    return csc_json_read_whole(csc_builder_text(b));
}

/* Member `spawned`: the ids after b->fn_id, which spawns will get. */
static csc_json_span
list_spawned(builder *b, uint32_t count)
{
    int32_t *ids = csc_arena_alloc(b->env->arena, count, sizeof(*ids));

    for (uint32_t i = 0; i < count && ids != NULL; i++)
        ids[i] = b->fn_id + 1 + (int32_t)i;
    return csc_builder_ids(b, ids, ids != NULL ? count : 0);
}

static csc_late_end
end_of(const csc_post *post)
{
    bool failed = post->kind == CSC_POST_FAIL;

    return (csc_late_end){.status = failed ? CASCADE_EXECUTION_FAILED
                                           : CASCADE_EXECUTION_COMPLETED,
                          .skipped = post->skipped,
                          .replaced = failed && post->effects.spawn_count > 0};
}

/* How far the node is: what is new, or what was recorded. */
static csc_json_span
progress_of(const csc_post *post, const csc_exec *exec)
{
    return csc_json_read_whole(post->progress != NULL ? post->progress
                                                      : exec->progress);
}

/* What the end of an execution says besides that of a step. */
static void
add_end(builder *b, const csc_post *post, const csc_exec *exec,
        csc_record *record)
{
    const csc_late_end end = end_of(post);

    record->late = csc_builder_late(b, exec, &end);
    if (exec->part == CSC_PART_AWAIT && !record->continued)
        record->timed_out = true;
    if (post->kind == CSC_POST_FAIL)
        record->progress = progress_of(post, exec);
    if (csc_view_is_wait(exec))
        record->not_before_ms = exec->not_before_ms;
}

/* The PostResult of what has ended; `exec` is NULL for a step. */
static const char *
write_finished(builder *b, const csc_post *post, const csc_exec *exec,
               bool with_effects, bool continued)
{
    csc_record record =
        exec != NULL ? csc_builder_record_of(b, exec) : csc_full_output_none;

    csc_assert(exec == NULL || exec->status == CASCADE_EXECUTION_RUNNING);
    record.at = b->state->fn_id;
    record.attempts = post->attempts;
    record.skipped = post->skipped;
    record.continued = continued;
    record.timed_out = post->overdue;
    if (post->by != NULL)
        record.by = *post->by;
    if (exec != NULL)
        add_end(b, post, exec, &record);
    if (with_effects) {
        record.keys = list_keys(b, &post->effects);
        record.output = csc_json_read_whole(post->effects.output);
        record.is_result = post->effects.is_result;
        record.spawned = list_spawned(b, post->effects.spawn_count);
    }
    if (b->next == post)
        record.continued_as = post->next_run.id;
    return csc_builder_record(b, &record);
}

/* What scheduling needs while it is RUNNING, after a failed attempt, or, with
 * all as it was, a heartbeat. */
const char *
csc_end_attempt(builder *b, const csc_post *post, const csc_exec *exec)
{
    csc_record record = csc_builder_record_of(b, exec);

    csc_assert(exec->status == CASCADE_EXECUTION_RUNNING);
    record.over = post->over || exec->over;
    record.undo = post->undoes || exec->undoes;
    record.steps =
        csc_json_read_whole(post->step_attempts != NULL ? post->step_attempts
                                                        : exec->step_attempts);
    record.priority = exec->priority;
    record.progress = progress_of(post, exec);
    if (post->kind == CSC_POST_BEAT) {
        record.not_before_ms = exec->join != NULL ? exec->join->not_before_ms
                                                  : exec->not_before_ms;
        return csc_builder_record(b, &record);
    }
    record.attempts =
        post->attempts > 0 ? post->attempts : CSC_RECORD_NO_ATTEMPTS;
    record.not_before_ms = csc_clock_add(b->env->delay_from_ms, post->delay_ms);
    return csc_builder_record(b, &record);
}

/* The record of a new RUNNING execution; NULL when it needs none. */
static const char *
write_waiting(builder *b, const csc_spawn *spawn, const int32_t *after)
{
    csc_record record = csc_full_output_none;

    csc_assert(spawn->first <= spawn->after_count);
    if (spawn->after_count == 0 && spawn->priority == 0 &&
        spawn->delay_ms <= 0 && !spawn->instead)
        return NULL;
    record.after = csc_builder_ids(b, after, spawn->after_count);
    record.first = (int32_t)spawn->first;
    record.on_failure = spawn->on_failure;
    record.priority = spawn->priority;
    if (spawn->instead)
        record.instead_of = b->instead_of;
    if (spawn->delay_ms > 0)
        record.not_before_ms =
            csc_clock_add(b->env->delay_from_ms, spawn->delay_ms);
    return csc_builder_record(b, &record);
}

/* The numbers of spawns in ascending `after` become function ids; the spawns
 * of this post begin at `base`. */
static const int32_t *
resolve_after(const builder *b, const csc_spawn *spawn, int32_t base)
{
    int32_t *after = NULL;

    if (spawn->after_count == 0)
        return NULL;
    after = csc_arena_alloc(b->env->arena, spawn->after_count, sizeof(*after));
    for (size_t i = 0; i < spawn->after_count && after != NULL; i++)
        after[i] = base + (int32_t)spawn->after[i] - 1;
    return after;
}

static void
add_spawns(builder *b, const csc_effects *effects, int32_t parent)
{
    int32_t base;

    csc_assert((effects->first_spawn == NULL) == (effects->spawn_count == 0));
    if (effects->first_spawn == NULL)
        return; /* there may be no next id */
    base = b->fn_id + 1;
    for (const csc_spawn *s = effects->first_spawn; s != NULL; s = s->next) {
        const int32_t *after = resolve_after(b, s, base);
        cascade_execution_row *row =
            csc_builder_part(b, s->name, parent, s->nth);
        const char *external = csc_external_spawn(b, s, row);

        row->input = s->input;
        if (csc_builder_is_cancelled(b)) {
            csc_builder_stillborn(b, row);
            continue;
        }
        if (external != NULL)
            row->full_output = external;
        else if (after != NULL || s->after_count == 0)
            row->full_output = write_waiting(b, s, after);
        b->running++;
    }
}

/* A microsecond apart, so that who sorts them by time has our order; behind
 * what others have written. */
static void
add_events(builder *b, const csc_effects *effects, const csc_exec *exec,
           int32_t writer)
{
    int64_t time_us = csc_clock_ms_to_us(b->env->now_ms);

    csc_assert((effects->first_put == NULL) == (effects->put_count == 0));
    if (exec != NULL && exec->early > 0 && exec->early_us >= time_us)
        time_us = exec->early_us + 1;

    for (const csc_put *p = effects->first_put; p != NULL; p = p->next)
        b->events[b->event_count++] =
            (cascade_event_row){.cascade_id = b->state->id,
                                .function_id = writer,
                                .key = p->key,
                                .value = p->value,
                                .ui_value = p->ui_value,
                                .created_at_us = time_us++};
}

/* Of an await: its time has passed. */
void
csc_end_complete(builder *b, const csc_post *post, const csc_exec *exec)
{
    cascade_execution_row *row =
        csc_builder_update(b, exec, CASCADE_EXECUTION_COMPLETED);

    csc_assert(post->kind == CSC_POST_COMPLETE &&
               exec->status == CASCADE_EXECUTION_RUNNING);
    row->full_output = write_finished(b, post, exec, true, false);
    csc_child_note_result(b, exec, &post->effects);
    add_events(b, &post->effects, exec, exec->function_id);
    add_spawns(b, &post->effects, exec->function_id);
}

void
csc_end_fail(builder *b, const csc_post *post, const csc_exec *exec)
{
    csc_post alone = *post;
    bool continued = false;
    cascade_execution_row *row =
        csc_builder_update(b, exec, CASCADE_EXECUTION_FAILED);

    csc_assert(post->kind != CSC_POST_COMPLETE &&
               exec->status == CASCADE_EXECUTION_RUNNING);
    if (b->no_stand_ins && post->effects.spawn_count > 0) {
        csc_builder_drop_spawns(&alone);
        post = &alone;
    }
    continued = post->continued || csc_builder_is_cancelled(b);
    row->full_output = write_finished(b, post, exec, true, continued);
    row->error = post->error;
    b->instead_of = exec->stands_for != CSC_NO_PARENT ? exec->stands_for
                                                      : exec->function_id;
    add_spawns(b, &post->effects, exec->function_id);
    if (!continued)
        csc_builder_note_terminated(b, row);
}

void
csc_end_step(builder *b, const csc_post *post, const csc_exec *exec)
{
    cascade_execution_row *row = csc_builder_part(
        b, post->part_name, exec->function_id, post->part_occurrence);

    csc_assert(post->kind == CSC_POST_STEP);
    row->started_at_ms = post->started_at_ms;
    row->completed_at_ms = b->env->now_ms;
    row->status =
        post->failed ? CASCADE_EXECUTION_FAILED : CASCADE_EXECUTION_COMPLETED;
    row->error = post->error;
    row->full_output =
        write_finished(b, post, NULL, !post->failed, post->failed);
    if (post->failed)
        return;
    add_events(b, &post->effects, NULL, row->function_id);
    add_spawns(b, &post->effects, row->function_id);
}
