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
#include "engine/build_internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "engine/late.h"

typedef struct csc_builder builder;

const char *
csc_build_text(builder *b)
{
    const char *copy = NULL;

    if (b->text.failed)
        b->env->arena->failed = true;
    else
        copy = csc_arena_strndup(b->env->arena, b->text.data, b->text.len);
    csc_buf_clear(&b->text);
    return copy;
}

/* <cascade>/<parent function_id>/<node_name>#<n> */
static const char *
write_path(builder *b, int32_t parent, const char *name, uint32_t occurrence)
{
    csc_buf_add(&b->text, b->cascade_id, CASCADE_UUID_TEXT_SIZE - 1);
    csc_buf_add_char(&b->text, '/');
    if (parent == CSC_NO_PARENT)
        csc_buf_add_char(&b->text, '-');
    else
        csc_buf_add_i64(&b->text, parent);
    csc_buf_add_char(&b->text, '/');
    csc_buf_add_text(&b->text, name);
    csc_buf_add_char(&b->text, '#');
    csc_buf_add_i64(&b->text, occurrence);
    return csc_build_text(b);
}

/* ---- full_output -------------------------------------------------------- */

/* Member `keys`: the distinct keys put to, in the order of the puts. */
static void
add_keys(csc_record_writer *writer, const csc_effects *effects, csc_buf *keys)
{
    csc_buf_clear(keys);
    for (const csc_put *p = effects->first_put; p != NULL; p = p->next) {
        if (csc_post_nth_put(effects, p->key, 0) != p)
            continue;
        csc_buf_add_char(keys, keys->len == 0 ? '[' : ',');
        csc_json_add_string(keys, p->key);
    }
    if (effects->first_put == NULL)
        return;
    csc_buf_add_char(keys, ']');
    csc_record_add_json(writer, "keys", keys->failed ? NULL : keys->data);
    if (keys->failed)
        writer->out->failed = true;
}

/* Member `spawned`: the ids after b->fn_id, which spawns will get. */
static void
add_spawned(csc_record_writer *writer, const builder *b, uint32_t count)
{
    int32_t *ids = csc_arena_alloc(b->env->arena, count, sizeof(*ids));

    for (uint32_t i = 0; i < count && ids != NULL; i++)
        ids[i] = b->fn_id + 1 + (int32_t)i;
    if (ids != NULL)
        csc_record_add_ids(writer, "spawned", ids, count);
}

static void
add_instead_of(csc_record_writer *writer, int32_t function_id)
{
    if (function_id != CSC_NO_PARENT)
        csc_record_add_number(writer, "instead_of", function_id);
}

/* What a join waits for. */
void
csc_build_add_first(csc_record_writer *writer, uint32_t first)
{
    if (first > 0)
        csc_record_add_number(writer, "first", first);
}

void
csc_build_add_resumes(csc_record_writer *writer, int32_t function_id)
{
    if (function_id != CSC_NO_PARENT)
        csc_record_add_number(writer, "resumes", function_id);
}

void
csc_build_add_on_failure(csc_record_writer *writer, cascade_join on_failure)
{
    if (on_failure != CASCADE_JOIN_WAIT)
        csc_record_add_json(writer, "on_failure",
                            on_failure == CASCADE_JOIN_FAIL ? "\"fail\""
                                                            : "\"skip\"");
}

void
csc_build_add_late(builder *b, csc_record_writer *writer, const csc_exec *exec,
                   const csc_late_end *end)
{
    size_t count = 0;
    const int32_t *ids = csc_late_find(&b->late, exec, end, &count);

    csc_record_add_ids(writer, "late", ids, count);
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
add_progress(csc_record_writer *writer, const csc_post *post,
             const csc_exec *exec)
{
    csc_record_add_json(writer, "progress",
                        post->progress != NULL ? post->progress
                                               : exec->progress);
}

/* The PostResult of what has ended; `exec` is NULL for a step. */
static const char *
write_finished(builder *b, const csc_post *post, const csc_exec *exec,
               bool with_effects, bool continued)
{
    const csc_late_end end = end_of(post);
    csc_record_writer writer;
    char next[CASCADE_UUID_TEXT_SIZE];
    csc_buf keys = {0};
    char by[CASCADE_UUID_TEXT_SIZE];

    csc_record_begin(&writer, &b->text);
    csc_record_add_number(&writer, "at", b->state->fn_id);
    if (post->by != NULL)
        csc_record_add_text(&writer, "by", cascade_uuid_format(post->by, by));
    if (with_effects)
        add_keys(&writer, &post->effects, &keys);
    if (exec != NULL) {
        csc_build_add_late(b, &writer, exec, &end);
        csc_record_add_ids(&writer, "after", exec->after.items,
                           exec->after.count);
    }
    if (exec != NULL && exec->join != NULL)
        csc_build_add_first(&writer, exec->join->first);
    if (with_effects)
        csc_record_add_json(&writer, "output", post->effects.output);
    if (exec != NULL && exec->function_id == 0)
        csc_record_add_json(&writer, "cascade", b->state->meta);
    if (exec != NULL)
        csc_build_add_resumes(&writer, exec->resumes);
    if (post->skipped)
        csc_record_add_json(&writer, "skipped", "true");
    if (with_effects && post->effects.spawn_count > 0)
        add_spawned(&writer, b, post->effects.spawn_count);
    csc_record_add_number(&writer, "attempts", post->attempts);
    if (continued)
        csc_record_add_json(&writer, "continue", "true");
    if (post->overdue ||
        (exec != NULL && exec->part == CSC_PART_AWAIT && !continued))
        csc_record_add_json(&writer, "timed_out", "true");
    if (exec != NULL && post->kind == CSC_POST_FAIL)
        add_progress(&writer, post, exec);
    if (exec != NULL)
        add_instead_of(&writer, exec->stands_for);
    if (exec != NULL && csc_state_is_wait(exec) &&
        exec->not_before_ms != CASCADE_TIME_NONE)
        csc_record_add_number(&writer, "not_before", exec->not_before_ms);
    if (exec != NULL && exec->join != NULL)
        csc_build_add_on_failure(&writer, exec->join->on_failure);
    if (b->next == post)
        csc_record_add_text(&writer, "continued_as",
                            cascade_uuid_format(&post->next_run.id, next));
    csc_record_end(&writer);
    csc_buf_fini(&keys);
    return csc_build_text(b);
}

/* What scheduling needs while it is RUNNING, after a failed attempt, or, with
 * all as it was, a heartbeat. */
const char *
csc_build_attempt(builder *b, const csc_post *post, const csc_exec *exec)
{
    csc_record_writer writer;
    int64_t at = csc_clock_add(b->env->delay_from_ms, post->delay_ms);
    int32_t attempts = post->attempts;

    if (post->kind == CSC_POST_BEAT) {
        at = exec->join != NULL ? exec->join->not_before_ms
                                : exec->not_before_ms;
        attempts = exec->attempts;
    }
    csc_record_begin(&writer, &b->text);
    if (post->over || exec->over)
        csc_record_add_json(&writer, "over", "true");
    if (post->undoes || exec->undoes)
        csc_record_add_json(&writer, "undo", "true");
    csc_record_add_ids(&writer, "after", exec->after.items, exec->after.count);
    if (exec->join != NULL)
        csc_build_add_first(&writer, exec->join->first);
    csc_record_add_json(&writer, "steps",
                        post->step_attempts != NULL ? post->step_attempts
                                                    : exec->step_attempts);
    if (exec->function_id == 0)
        csc_record_add_json(&writer, "cascade", b->state->meta);
    csc_build_add_resumes(&writer, exec->resumes);
    if (attempts > 0)
        csc_record_add_number(&writer, "attempts", attempts);
    if (exec->priority != 0)
        csc_record_add_number(&writer, "priority", exec->priority);
    add_progress(&writer, post, exec);
    add_instead_of(&writer, exec->stands_for);
    if (at != CASCADE_TIME_NONE)
        csc_record_add_number(&writer, "not_before", at);
    if (exec->join != NULL)
        csc_build_add_on_failure(&writer, exec->join->on_failure);
    csc_record_end(&writer);
    return csc_build_text(b);
}

/* The record of a new RUNNING execution; NULL when it needs none. */
static const char *
write_waiting(builder *b, const csc_spawn *spawn, const int32_t *after)
{
    csc_record_writer writer;

    if (spawn->after_count == 0 && spawn->priority == 0 &&
        spawn->delay_ms <= 0 && !spawn->instead)
        return NULL;
    csc_record_begin(&writer, &b->text);
    csc_record_add_ids(&writer, "after", after, spawn->after_count);
    csc_build_add_first(&writer, spawn->first);
    if (spawn->priority != 0)
        csc_record_add_number(&writer, "priority", spawn->priority);
    if (spawn->instead)
        add_instead_of(&writer, b->instead_of);
    if (spawn->delay_ms > 0)
        csc_record_add_number(
            &writer, "not_before",
            csc_clock_add(b->env->delay_from_ms, spawn->delay_ms));
    csc_build_add_on_failure(&writer, spawn->on_failure);
    csc_record_end(&writer);
    return csc_build_text(b);
}

/* ---- Rows --------------------------------------------------------------- */

cascade_execution_row *
csc_build_insert(builder *b, const char *name, const char *path)
{
    cascade_execution_row *row = &b->inserts[b->insert_count];

    row->id = b->ids[b->insert_count];
    b->insert_count++;
    b->fn_id++;
    row->cascade_id = b->state->id;
    row->function_id = b->fn_id;
    row->node_name = name != NULL ? name : ""; /* the arena has failed */
    row->node_instance_id = path;
    row->input = "{}";
    row->location = b->env->location;
    row->started_at_ms = b->env->now_ms;
    row->completed_at_ms = CASCADE_TIME_NONE;
    row->status = CASCADE_EXECUTION_RUNNING;
    return row;
}

cascade_execution_row *
csc_build_part(builder *b, const char *name, int32_t parent,
               uint32_t occurrence)
{
    return csc_build_insert(b, name, write_path(b, parent, name, occurrence));
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
        cascade_execution_row *row = csc_build_part(b, s->name, parent, s->nth);
        const char *external = csc_build_spawn_external(b, s, row);

        row->input = s->input;
        if (csc_build_is_cancelled(b)) {
            csc_build_stillborn(b, row);
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

cascade_execution_row *
csc_build_update(builder *b, const csc_exec *exec,
                 cascade_execution_status status)
{
    cascade_execution_row *row = &b->updates[b->update_count++];

    csc_assert(b->update_count <= b->update_room);
    b->marks = b->marks || exec->adopted || exec->early > 0;
    row->cascade_id = b->state->id;
    row->function_id = exec->function_id;
    row->status = status;
    row->node_name = exec->name;
    row->input = exec->input != NULL ? exec->input : "{}";
    row->location = b->env->location;
    row->completed_at_ms = CASCADE_TIME_NONE;
    if (status != CASCADE_EXECUTION_RUNNING) {
        row->completed_at_ms = b->env->now_ms;
        b->ended++;
    }
    return row;
}

/* Of an await: its time has passed. */
void
csc_build_complete(builder *b, const csc_post *post, const csc_exec *exec)
{
    cascade_execution_row *row =
        csc_build_update(b, exec, CASCADE_EXECUTION_COMPLETED);

    row->full_output = write_finished(b, post, exec, true, false);
    csc_build_note_result(b, exec, post->effects.output);
    add_events(b, &post->effects, exec, exec->function_id);
    add_spawns(b, &post->effects, exec->function_id);
}

void
csc_build_fail(builder *b, const csc_post *post, const csc_exec *exec)
{
    csc_post alone = *post;
    bool continued = false;
    cascade_execution_row *row =
        csc_build_update(b, exec, CASCADE_EXECUTION_FAILED);

    if (b->no_stand_ins && post->effects.spawn_count > 0) {
        csc_build_drop_spawns(&alone);
        post = &alone;
    }
    continued = post->continued || csc_build_is_cancelled(b);
    row->full_output = write_finished(b, post, exec, true, continued);
    row->error = post->error;
    b->instead_of = exec->stands_for != CSC_NO_PARENT ? exec->stands_for
                                                      : exec->function_id;
    add_spawns(b, &post->effects, exec->function_id);
    if (!continued)
        csc_build_note_terminated(b, row);
}

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
                exec->undone_by == 0 && csc_build_is_cancelled(b);
    cascade_execution_row *row = NULL;

    if (ends && !post->undoes && !exec->undoes) {
        csc_build_fail(b, post, exec);
        return;
    }
    row = csc_build_update(b, exec, CASCADE_EXECUTION_RUNNING);
    row->full_output = csc_build_attempt(b, ends ? &last : post, exec);
    row->error = post->error;
}

static void
add_step(builder *b, const csc_post *post, const csc_exec *exec)
{
    cascade_execution_row *row = csc_build_part(
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

static void
add_wait(builder *b, const csc_post *post, const csc_exec *exec)
{
    cascade_execution_row *row = csc_build_part(
        b, post->part_name, exec->function_id, post->part_occurrence);
    csc_record_writer writer;

    if (csc_build_take_signal(b, row))
        return;
    if (csc_build_is_cancelled(b)) {
        csc_build_stillborn(b, row);
        return;
    }
    b->running++;
    if (post->forever && post->gather_count == 0 && !post->undoes)
        return;
    csc_record_begin(&writer, &b->text);
    if (post->undoes)
        csc_record_add_json(&writer, "undo", "true");
    csc_record_add_ids(&writer, "after", post->gathers, post->gather_count);
    if (!post->forever)
        csc_record_add_number(
            &writer, "not_before",
            post->until_ms != CASCADE_TIME_NONE
                ? post->until_ms
                : csc_clock_add(b->env->delay_from_ms, post->delay_ms));
    csc_record_end(&writer);
    row->full_output = csc_build_text(b);
}

/* A row is written once in a commit: whatever follows tells the same. */
static void
add_beat(builder *b, const csc_post *post, const csc_exec *exec)
{
    cascade_execution_row *row = NULL;

    for (const csc_post *p = post->next; p != NULL; p = p->next)
        if (p->function_id == post->function_id &&
            (p->kind == CSC_POST_COMPLETE || p->kind == CSC_POST_FAIL ||
             p->kind == CSC_POST_ATTEMPT || p->kind == CSC_POST_STEP_ATTEMPT ||
             p->kind == CSC_POST_BEAT))
            return;
    row = csc_build_update(b, exec, CASCADE_EXECUTION_RUNNING);
    row->full_output = csc_build_attempt(b, post, exec);
    row->error = exec->error;
}

/* An execution of its own, which ends the cascade. */
static void
add_deadline(builder *b, const csc_post *post)
{
    csc_record_writer writer;
    cascade_execution_row *row = NULL;

    if (!csc_build_has_ids(b, 1, true)) {
        csc_build_end_by_other(b, post->error);
        return;
    }
    row = csc_build_part(b, CSC_DEADLINE_NAME, CSC_NO_PARENT, 0);
    row->completed_at_ms = b->env->now_ms;
    row->status = CASCADE_EXECUTION_FAILED;
    row->error = post->error;
    csc_record_begin(&writer, &b->text);
    csc_record_add_number(&writer, "at", b->state->fn_id);
    csc_record_add_number(&writer, "attempts", 1);
    csc_record_end(&writer);
    row->full_output = csc_build_text(b);
    csc_build_note_terminated(b, row);
}

static void
add_post(builder *b, const csc_post *post)
{
    const csc_exec *exec = csc_state_find(b->state, post->function_id);

    if (post->kind == CSC_POST_FREE) {
        b->free = post;
        return;
    }
    if (post->kind == CSC_POST_DEADLINE) {
        add_deadline(b, post);
        return;
    }
    if (post->kind == CSC_POST_SLICE) {
        csc_build_slice(b);
        return;
    }
    if (post->kind == CSC_POST_RECEIVE)
        return; /* they come first */
    if (csc_build_is_late(b, post, exec))
        return;
    csc_assert(exec != NULL);
    switch (post->kind) {
    case CSC_POST_COMPLETE:
        if (csc_state_is_wait(exec) && csc_build_is_doomed(b, exec))
            csc_build_cancel_one(b, exec);
        else
            csc_build_complete(b, post, exec);
        break;
    case CSC_POST_FAIL:
        csc_build_fail(b, post, exec);
        break;
    case CSC_POST_ATTEMPT:
    case CSC_POST_STEP_ATTEMPT:
        add_attempt(b, post, exec);
        break;
    case CSC_POST_STEP:
        add_step(b, post, exec);
        break;
    case CSC_POST_WAIT:
        add_wait(b, post, exec);
        break;
    case CSC_POST_CHILDREN:
        csc_build_children(b, post, exec);
        break;
    case CSC_POST_EXTERNAL:
        csc_build_wait_external(b, post, exec);
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

    for (const csc_post *p = posts; p != NULL; p = p->next) {
        b->promised += count_inserts(p);
        if (p->kind == CSC_POST_FAIL)
            stand_ins += p->effects.spawn_count;
    }
    b->no_stand_ins = !csc_build_has_ids(b, stand_ins, false);
    if (!b->no_stand_ins)
        b->promised += stand_ins;
    if (b->promised == 0 || csc_build_has_ids(b, 0, false))
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

    for (const csc_post *p = posts; p != NULL; p = p->next) {
        if (p->kind == CSC_POST_DEADLINE)
            inserts++;
        if (p->kind != CSC_POST_FREE && p->kind != CSC_POST_RECEIVE &&
            p->kind != CSC_POST_CHILDREN && p->kind != CSC_POST_STEP &&
            p->kind != CSC_POST_WAIT)
            updates++;
        messages += p->message_count;
        inserts += csc_build_message_room(p->messages, &events);
        events += p->effects.put_count;
    }
    inserts += b->promised + messages + csc_build_course_room(b->env);
    updates += messages; /* each may end an await */
    updates += 1;        /* the cancellation, which may end */
    b->inserts = csc_arena_alloc(b->env->arena, inserts, sizeof(*b->inserts));
    b->ids = csc_arena_alloc(b->env->arena, inserts, sizeof(*b->ids));
    b->updates = csc_arena_alloc(b->env->arena, updates, sizeof(*b->updates));
    b->update_room = updates;
    b->events = csc_arena_alloc(b->env->arena, events, sizeof(*b->events));
    b->received =
        csc_arena_alloc(b->env->arena, messages, sizeof(*b->received));
    if (b->env->arena->failed)
        return csc_fail_memory();
    csc_uuid_v7_many(b->env->now_ms, b->env->random, b->ids, inserts);
    return CASCADE_OK;
}

void
csc_build_more_updates(builder *b, size_t more)
{
    size_t room = b->update_room + more;
    cascade_execution_row *updates =
        csc_arena_alloc(b->env->arena, room, sizeof(*updates));

    if (updates == NULL)
        return; /* the arena has failed; nobody writes beyond the room */
    if (b->update_count > 0)
        memcpy(updates, b->updates, b->update_count * sizeof(*updates));
    b->updates = updates;
    b->update_room = room;
}

void
csc_build_note_terminated(builder *b, const cascade_execution_row *row)
{
    if (b->terminated && b->terminator < row->function_id)
        return;
    b->terminated = true;
    b->terminator = row->function_id;
    b->error = row->error;
}

cascade_status
csc_build_status(const builder *b)
{
    if (b->terminated ||
        (b->plan == NULL && b->state->terminated != CSC_NOT_TERMINATED))
        return CASCADE_ERROR;
    return b->state->running - b->ended + b->running > 0 ? CASCADE_RUNNING
                                                         : CASCADE_COMPLETED;
}

static void
set_run(const builder *b, cascade_change *change)
{
    change->run_action = b->env->reset ? CASCADE_RUN_RESET : CASCADE_RUN_KEEP;
    if (b->erases && b->send_count == 0) {
        *change = (cascade_change){.cascade = change->cascade,
                                   .run = change->run,
                                   .run_action = CASCADE_RUN_DELETE};
    } else if (change->cascade.status != CASCADE_RUNNING) {
        change->run_action = CASCADE_RUN_END;
    } else if (b->plan != NULL) {
        change->run_action = b->state->recorded == CASCADE_RUNNING
                                 ? CASCADE_RUN_RESET
                                 : CASCADE_RUN_REVIVE;
        change->run.queue = csc_build_queue(b->env, b->state);
        change->run.priority = b->state->priority;
    } else if (b->free != NULL) {
        change->run_action = CASCADE_RUN_FREE;
        change->run.wake_at_ms = b->free->wake_at_ms;
        change->run.needs = b->free->needs;
    }
}

static void
finish_change(const builder *b, cascade_change *change)
{
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
                                    .status = csc_build_status(b),
                                    .fn_id = b->fn_id,
                                    .user_id = b->state->user_id,
                                    .created_at_ms = b->state->created_at_ms,
                                    .updated_at_ms = csc_build_written_at(b)};
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

    b.posts = posts;
    cascade_uuid_format(&state->id, b.cascade_id);
    err = promise_ids(&b, posts);
    if (err == CASCADE_OK)
        err = make_room(&b, posts);
    if (err != CASCADE_OK)
        return err;
    b.cancel_from = state->cancel_from;
    b.next = csc_build_next(state, posts);
    for (const csc_post *p = posts; p != NULL; p = p->next)
        csc_build_receive(&b, p);
    b.promised = 0;
    for (const csc_post *p = posts; p != NULL; p = p->next)
        add_post(&b, p);
    csc_build_end_cancel(&b);
    csc_build_end_family(&b);
    if (b.marks)
        csc_build_mark(&b);
    finish_change(&b, change);
    csc_buf_fini(&b.text);
    csc_mem_free(b.ended_early.items);
    return env->arena->failed ? csc_fail_memory() : CASCADE_OK;
}

cascade_err
csc_build_apply(csc_state *state, const cascade_change *change)
{
    cascade_err err = csc_state_apply_cascade(state, &change->cascade);

    for (size_t i = 0; i < change->update_count && err == CASCADE_OK; i++)
        err = csc_state_apply_execution(state, &change->updates[i]);
    for (size_t i = 0; i < change->insert_count && err == CASCADE_OK; i++)
        err = csc_state_apply_execution(state, &change->inserts[i]);
    for (size_t i = 0; i < change->event_count && err == CASCADE_OK; i++)
        err = csc_state_apply_event(state, &change->events[i]);
    if (err == CASCADE_OK)
        csc_state_settle(state);
    return err;
}

/* ---- Starts ------------------------------------------------------------- */

static void
add_meta_id(builder *b, const char *name, const cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];

    csc_buf_add_char(&b->text, '"');
    csc_buf_add_text(&b->text, name);
    csc_buf_add_text(&b->text, "\":\"");
    csc_buf_add_text(&b->text, cascade_uuid_format(id, text));
    csc_buf_add_text(&b->text, "\",");
}

static void
add_meta_deadline(builder *b, const csc_build_start *start)
{
    if (start->deadline_ms <= 0)
        return;
    csc_buf_add_text(&b->text, "\"deadline\":");
    csc_buf_add_i64(&b->text,
                    csc_clock_add(b->env->delay_from_ms, start->deadline_ms));
    csc_buf_add_char(&b->text, ',');
}

/* {"key":...,"root":ID,"child":ID,"depth":n,"queue":...,"parent":ID,
 * "deadline":ms,"previous":ID,"priority":n,"run_number":n}: what cascade_runs
 * can be rebuilt of, the run that was started, whose child it is, when it must
 * have ended, the run before, and the how manieth run it is. */
static const char *
write_meta(builder *b, const csc_build_start *start, int64_t not_before_ms)
{
    csc_record_writer record;

    csc_record_begin(&record, &b->text);
    csc_buf_add_text(&b->text, "\"cascade\":{");
    record.any = true;
    if (start->key != NULL) {
        csc_buf_add_text(&b->text, "\"key\":");
        csc_json_add_string(&b->text, start->key);
        csc_buf_add_char(&b->text, ',');
    }
    if (start->root != NULL)
        add_meta_id(b, "root", start->root);
    if (start->parent != NULL && start->child_id != NULL)
        add_meta_id(b, "child", start->child_id);
    if (start->depth > 0) {
        csc_buf_add_text(&b->text, "\"depth\":");
        csc_buf_add_i64(&b->text, start->depth);
        csc_buf_add_char(&b->text, ',');
    }
    csc_buf_add_text(&b->text, "\"queue\":");
    csc_json_add_string(&b->text, start->queue);
    csc_buf_add_char(&b->text, ',');
    if (start->parent != NULL)
        add_meta_id(b, "parent", start->parent);
    add_meta_deadline(b, start);
    if (start->previous != NULL)
        add_meta_id(b, "previous", start->previous);
    csc_buf_add_text(&b->text, "\"priority\":");
    csc_buf_add_i64(&b->text, start->priority);
    if (start->run_number > 1) {
        csc_buf_add_text(&b->text, ",\"run_number\":");
        csc_buf_add_i64(&b->text, start->run_number);
    }
    csc_buf_add_char(&b->text, '}');
    if (start->delay_ms > 0)
        csc_record_add_number(&record, "not_before", not_before_ms);
    csc_record_end(&record);
    return csc_build_text(b);
}

/* The record of a first node but the first, which has only its delay. */
static const char *
write_delay(builder *b, const csc_build_start *start, int64_t not_before_ms)
{
    csc_record_writer record;

    if (start->delay_ms <= 0)
        return NULL;
    csc_record_begin(&record, &b->text);
    csc_record_add_number(&record, "not_before", not_before_ms);
    csc_record_end(&record);
    return csc_build_text(b);
}

static void
add_first(builder *b, const csc_build_start *start, int64_t not_before_ms)
{
    for (size_t i = 0; i < start->first_count; i++) {
        uint32_t nth = 0;
        cascade_execution_row *row = NULL;

        for (size_t e = 0; e < i; e++)
            if (strcmp(start->first[e].name, start->first[i].name) == 0)
                nth++;
        row = csc_build_part(b, start->first[i].name, CSC_NO_PARENT, nth);
        row->input = start->first[i].input;
        row->full_output = i == 0 ? write_meta(b, start, not_before_ms)
                                  : write_delay(b, start, not_before_ms);
    }
}

static const char *
write_born(builder *b)
{
    csc_record_writer record;

    csc_record_begin(&record, &b->text);
    csc_record_add_number(&record, "at", b->fn_id);
    csc_record_end(&record);
    return csc_build_text(b);
}

/* Their paths count them, whatever their names: the run before had others. As
 * receipts do, they tell what was there before them: the first nodes. */
static void
add_signals(builder *b, const csc_build_start *start)
{
    const char *received = start->signal_count > 0 ? write_born(b) : NULL;

    for (size_t i = 0; i < start->signal_count; i++) {
        const csc_build_signal *signal = &start->signals[i];
        cascade_execution_row *row = NULL;
        const char *name = csc_arena_format(b->env->arena, "%s%s",
                                            CSC_SIGNAL_PREFIX, signal->name);

        if (name == NULL)
            return; /* the arena has failed */
        row = csc_build_part(b, name, CSC_NO_PARENT, (uint32_t)i);
        row->input = signal->payload;
        row->status = CASCADE_EXECUTION_COMPLETED;
        row->completed_at_ms = b->env->now_ms;
        row->full_output = received;
    }
}

static void
add_pause(builder *b)
{
    cascade_execution_row *row =
        csc_build_part(b, CSC_PAUSE_NAME, CSC_NO_PARENT, 0);

    row->input = "{\"reason\":\"the run before was paused\"}";
    row->status = CASCADE_EXECUTION_COMPLETED;
    row->completed_at_ms = b->env->now_ms;
    row->full_output = write_born(b);
}

cascade_err
csc_build_new(const csc_build_env *env, const csc_build_start *start,
              cascade_change *change)
{
    size_t count =
        start->first_count + start->signal_count + (start->paused ? 1 : 0);
    csc_state state = {.id = start->id, .fn_id = -1};
    builder b = {
        .env = env, .state = &state, .fn_id = -1, .cancel_from = CSC_NO_PARENT};
    bool owned = !csc_uuid_is_nil(&start->engine_id);
    int64_t wake_at_ms =
        start->delay_ms > 0
            ? csc_clock_add(env->delay_from_ms, start->delay_ms)
            : env->now_ms; /* not ahead of the store's clock: at once */
    int64_t created_at_ms =
        start->after_ms > env->now_ms ? start->after_ms : env->now_ms;

    cascade_uuid_format(&start->id, b.cascade_id);
    b.inserts = csc_arena_alloc(env->arena, count, sizeof(*b.inserts));
    b.ids = csc_arena_alloc(env->arena, count, sizeof(*b.ids));
    if (env->arena->failed)
        return csc_fail_memory();
    csc_uuid_v7_many(env->now_ms, env->random, b.ids, count);
    add_first(&b, start, wake_at_ms);
    add_signals(&b, start);
    if (start->paused)
        add_pause(&b);
    csc_buf_fini(&b.text);
    *change = (cascade_change){
        .run_action = CASCADE_RUN_START,
        .inserts = b.inserts,
        .insert_count = b.insert_count,
        .key = start->key,
        .root = start->root,
        .run_number = start->run_number > 0 ? start->run_number : 1};
    change->cascade = (cascade_row){.id = start->id,
                                    .status = CASCADE_RUNNING,
                                    .fn_id = b.fn_id,
                                    .user_id = start->user_id,
                                    .created_at_ms = created_at_ms,
                                    .updated_at_ms = created_at_ms};
    change->run = (cascade_run_row){.cascade_id = start->id,
                                    .queue = start->queue,
                                    .priority = start->priority,
                                    .wake_at_ms = wake_at_ms,
                                    .engine_id = start->engine_id,
                                    .claim_no = owned ? 1 : 0};
    return env->arena->failed ? csc_fail_memory() : CASCADE_OK;
}
