/* SPDX-License-Identifier: MIT
 *
 * The end of an execution, of an attempt or of a part of it: what its row says
 * then, what it has written and what it spawns.
 */
#include "change/build/end.h"

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/json/json_object.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "change/build/build.h"
#include "change/build/builder.h"
#include "change/join_cutoff.h"
#include "change/op.h"
#include "state/state.h"

typedef struct csc_builder builder;

/* Member `keys`: the distinct keys put to, in the order of the puts. */
static void
add_keys(csc_json_object *writer, const csc_effects *effects, csc_buf *keys)
{
    csc_buf_clear(keys);
    for (const csc_put *p = effects->first_put; p != NULL; p = p->next) {
        if (csc_op_nth_put(effects, p->key, 0) != p)
            continue;
        csc_buf_add_char(keys, keys->len == 0 ? '[' : ',');
        csc_json_add_string(keys, p->key);
    }
    if (effects->first_put == NULL)
        return;
    csc_buf_add_char(keys, ']');
    csc_json_object_add_json(writer, "keys", keys->failed ? NULL : keys->data);
    if (keys->failed)
        writer->out->failed = true;
}

/* Member `spawned`: the ids after b->fn_id, which spawns will get. */
static void
add_spawned(csc_json_object *writer, const builder *b, uint32_t count)
{
    int32_t *ids = csc_arena_alloc(b->env->arena, count, sizeof(*ids));

    for (uint32_t i = 0; i < count && ids != NULL; i++)
        ids[i] = b->fn_id + 1 + (int32_t)i;
    if (ids != NULL)
        csc_json_object_add_ids(writer, "spawned", ids, count);
}

static void
add_instead_of(csc_json_object *writer, int32_t function_id)
{
    if (function_id != CSC_NO_PARENT)
        csc_json_object_add_number(writer, "instead_of", function_id);
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
static void
add_progress(csc_json_object *writer, const csc_post *post,
             const csc_exec *exec)
{
    csc_json_object_add_json(writer, "progress",
                             post->progress != NULL ? post->progress
                                                    : exec->progress);
}

/* The PostResult of what has ended; `exec` is NULL for a step. */
static const char *
write_finished(builder *b, const csc_post *post, const csc_exec *exec,
               bool with_effects, bool continued)
{
    const csc_late_end end = end_of(post);
    csc_json_object writer;
    char next[CASCADE_UUID_TEXT_SIZE];
    csc_buf keys = {0};
    char by[CASCADE_UUID_TEXT_SIZE];

    csc_json_object_begin(&writer, &b->text);
    csc_json_object_add_number(&writer, "at", b->state->fn_id);
    if (post->by != NULL)
        csc_json_object_add_text(&writer, "by",
                                 cascade_uuid_format(post->by, by));
    if (with_effects)
        add_keys(&writer, &post->effects, &keys);
    if (exec != NULL) {
        csc_builder_add_late(b, &writer, exec, &end);
        csc_json_object_add_ids(&writer, "after", exec->after.items,
                                exec->after.count);
    }
    if (exec != NULL && exec->join != NULL)
        csc_builder_add_first(&writer, exec->join->first);
    if (with_effects)
        csc_json_object_add_json(&writer, "output", post->effects.output);
    if (exec != NULL && exec->function_id == 0)
        csc_json_object_add_json(&writer, "cascade", b->state->meta);
    if (exec != NULL)
        csc_builder_add_resumes(&writer, exec->resumes);
    if (post->skipped)
        csc_json_object_add_json(&writer, "skipped", "true");
    if (with_effects && post->effects.spawn_count > 0)
        add_spawned(&writer, b, post->effects.spawn_count);
    csc_json_object_add_number(&writer, "attempts", post->attempts);
    if (continued)
        csc_json_object_add_json(&writer, "continue", "true");
    if (post->overdue ||
        (exec != NULL && exec->part == CSC_PART_AWAIT && !continued))
        csc_json_object_add_json(&writer, "timed_out", "true");
    if (exec != NULL && post->kind == CSC_POST_FAIL)
        add_progress(&writer, post, exec);
    if (exec != NULL)
        add_instead_of(&writer, exec->stands_for);
    if (exec != NULL && csc_view_is_wait(exec) &&
        exec->not_before_ms != CASCADE_TIME_NONE)
        csc_json_object_add_number(&writer, "not_before", exec->not_before_ms);
    if (exec != NULL && exec->join != NULL)
        csc_builder_add_on_failure(&writer, exec->join->on_failure);
    if (b->next == post)
        csc_json_object_add_text(&writer, "continued_as",
                                 cascade_uuid_format(&post->next_run.id, next));
    csc_json_object_end(&writer);
    csc_buf_fini(&keys);
    return csc_builder_text(b);
}

/* What scheduling needs while it is RUNNING, after a failed attempt, or, with
 * all as it was, a heartbeat. */
const char *
csc_end_attempt(builder *b, const csc_post *post, const csc_exec *exec)
{
    csc_json_object writer;
    int64_t at = csc_clock_add(b->env->delay_from_ms, post->delay_ms);
    int32_t attempts = post->attempts;

    if (post->kind == CSC_POST_BEAT) {
        at = exec->join != NULL ? exec->join->not_before_ms
                                : exec->not_before_ms;
        attempts = exec->attempts;
    }
    csc_json_object_begin(&writer, &b->text);
    if (post->over || exec->over)
        csc_json_object_add_json(&writer, "over", "true");
    if (post->undoes || exec->undoes)
        csc_json_object_add_json(&writer, "undo", "true");
    csc_json_object_add_ids(&writer, "after", exec->after.items,
                            exec->after.count);
    if (exec->join != NULL)
        csc_builder_add_first(&writer, exec->join->first);
    csc_json_object_add_json(&writer, "steps",
                             post->step_attempts != NULL ? post->step_attempts
                                                         : exec->step_attempts);
    if (exec->function_id == 0)
        csc_json_object_add_json(&writer, "cascade", b->state->meta);
    csc_builder_add_resumes(&writer, exec->resumes);
    if (attempts > 0)
        csc_json_object_add_number(&writer, "attempts", attempts);
    if (exec->priority != 0)
        csc_json_object_add_number(&writer, "priority", exec->priority);
    add_progress(&writer, post, exec);
    add_instead_of(&writer, exec->stands_for);
    if (at != CASCADE_TIME_NONE)
        csc_json_object_add_number(&writer, "not_before", at);
    if (exec->join != NULL)
        csc_builder_add_on_failure(&writer, exec->join->on_failure);
    csc_json_object_end(&writer);
    return csc_builder_text(b);
}

/* The record of a new RUNNING execution; NULL when it needs none. */
static const char *
write_waiting(builder *b, const csc_spawn *spawn, const int32_t *after)
{
    csc_json_object writer;

    if (spawn->after_count == 0 && spawn->priority == 0 &&
        spawn->delay_ms <= 0 && !spawn->instead)
        return NULL;
    csc_json_object_begin(&writer, &b->text);
    csc_json_object_add_ids(&writer, "after", after, spawn->after_count);
    csc_builder_add_first(&writer, spawn->first);
    if (spawn->priority != 0)
        csc_json_object_add_number(&writer, "priority", spawn->priority);
    if (spawn->instead)
        add_instead_of(&writer, b->instead_of);
    if (spawn->delay_ms > 0)
        csc_json_object_add_number(
            &writer, "not_before",
            csc_clock_add(b->env->delay_from_ms, spawn->delay_ms));
    csc_builder_add_on_failure(&writer, spawn->on_failure);
    csc_json_object_end(&writer);
    return csc_builder_text(b);
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

    row->full_output = write_finished(b, post, exec, true, false);
    csc_child_note_result(b, exec, post->effects.output);
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
