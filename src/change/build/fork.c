/* SPDX-License-Identifier: MIT
 *
 * A fork: a start whose rows are the past of another cascade.
 *
 *   what the plan KEEPs    copied, with its events: name, input, output, times;
 *                          another id, and a path of the new cascade
 *   what was superseded    the same: a rerun of the new cascade may make that
 *                          receipt void, and then it counts again
 *   what runs AFRESH       the same function_id, RUNNING, with a clean record,
 *                          and what others have written of it
 *   all else               is left out; a gap in the function_ids is no harm
 *
 * Execution 0 is there in any case. Receipts and heirs stay what they are, so
 * the copy is read as the original (supersede.h). What another program has
 * written stays what that was too, under the path <id>/fork/<function_id>,
 * which is none of ours (full_output.h). Where the copy has a record of ours
 * (what runs afresh, execution 0, a given output) it is
 * <id>/message/fork/<function_id>, and what was in full_output is its output.
 *
 * A record that names what is not there loses that: `spawned`. Execution 0 has
 * member `cascade` anew: {"depth":n,"queue":...,"priority":n,"forked_from":
 * {"by":...,"id":ID,"reason":...,"function_id":k}}, without key, parent and
 * deadline.
 */
#include "change/build/build.h"

#include <string.h>

#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/json/json_object.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/build/builder.h"
#include "state/full_output.h"
#include "state/reset_plan.h"
#include "state/start_record.h"
#include "state/state.h"
#include "state/supersede.h"

/* A fork under construction. */
typedef struct fork {
    struct csc_builder *b;
    const csc_build_copy *copy;
    const char *meta;
    int32_t *earlies; /* of each item that runs afresh: events of others */
    char origin[CASCADE_UUID_TEXT_SIZE];
} fork;

/* ---- Which -------------------------------------------------------------- */

/* Whether it stands as it was: it counts, or was superseded by then. What a
 * command has prepared that is not done counts for nobody: here it would be
 * gone on with. */
static bool
is_past(const csc_plan *plan, const csc_plan_item *item)
{
    int32_t by = csc_supersede_by(&plan->course, item->function_id);

    return item->fate == CSC_FATE_KEEP ||
           (item->fate == CSC_FATE_OUT && by != CSC_COURSE_NONE &&
            csc_supersede_is_done(&plan->course, by));
}

static bool
is_there(const csc_plan *plan, const csc_plan_item *item)
{
    return item->fate == CSC_FATE_AFRESH || is_past(plan, item);
}

/* Of what runs afresh the first, as many as are of others, are counted. */
static bool
is_copied(const fork *f, const cascade_event_row *event)
{
    const csc_plan *plan = f->copy->plan;
    const csc_plan_item *item = csc_reset_plan_find(plan, event->function_id);
    int32_t *early = NULL;

    csc_assert(f->earlies != NULL);
    if (item == NULL)
        return event->function_id < plan->from;
    if (item->fate != CSC_FATE_AFRESH)
        return is_past(plan, item);
    early = &f->earlies[item - plan->items];
    if (*early >= item->early)
        return false;
    ++*early;
    return true;
}

/* ---- Records ------------------------------------------------------------ */

static const char *
write_origin(const fork *f)
{
    csc_json_object writer;

    csc_assert(f->b->text.len == 0);
    csc_json_object_begin(&writer, &f->b->text);
    csc_json_object_add_string(&writer, "by", f->copy->by);
    csc_json_object_add_text(&writer, "id", f->origin);
    csc_json_object_add_string(&writer, "reason", f->copy->reason);
    csc_json_object_add_number(&writer, "function_id", f->copy->plan->from);
    csc_json_object_end(&writer);
    return csc_builder_text(f->b);
}

static const char *
write_meta(const fork *f)
{
    struct csc_builder *b = f->b;
    const csc_build_copy *copy = f->copy;
    const char *origin = write_origin(f);
    csc_json_object meta;

    csc_assert(f->b->text.len == 0);
    csc_json_object_begin(&meta, &b->text);
    if (copy->depth > 0)
        csc_json_object_add_number(&meta, "depth", copy->depth);
    csc_json_object_add_string(&meta, "queue", copy->queue);
    csc_json_object_add_number(&meta, "priority", copy->priority);
    csc_json_object_add_string(&meta, "limit_key", copy->limit_key);
    csc_json_object_add_span(&meta, "forked_from", csc_json_read_whole(origin));
    csc_json_object_end(&meta);
    return csc_builder_text(b);
}

/* The ids of a list that are there. */
static void
add_spawned(const fork *f, csc_json_object *writer, csc_json_span list)
{
    struct csc_builder *b = f->b;
    int32_t *ids = csc_arena_alloc(b->env->arena, list.len, sizeof(*ids));
    csc_json_iter iter;
    size_t count = 0;

    csc_json_read_iter_init(&iter, list.data, list.len);
    while (ids != NULL && csc_json_read_next(&iter)) {
        const csc_plan_item *item = NULL;
        int64_t id = 0;

        if (csc_json_read_i64(iter.value, &id) && id >= 0 && id <= INT32_MAX)
            item = csc_reset_plan_find(f->copy->plan, (int32_t)id);
        if (item != NULL && is_there(f->copy->plan, item))
            ids[count++] = (int32_t)id;
    }
    csc_json_object_add_ids(writer, "spawned", ids, count);
}

/* In the canonical order. */
static bool
comes_before(csc_json_span key, const char *name)
{
    size_t len = strlen(name);

    return key.len < len || (key.len == len && memcmp(key.data, name, len) < 0);
}

/* The record with `output` and `meta` (NULL: as it was, or none). */
static const char *
copy_record(const fork *f, const char *record, const char *output,
            const char *meta)
{
    csc_json_object writer;
    csc_json_iter iter;

    csc_assert(f->b->text.len == 0);
    csc_json_object_begin(&writer, &f->b->text);
    csc_json_read_iter_init(&iter, record, strlen(record));
    while (csc_json_read_next(&iter)) {
        if (output != NULL && !comes_before(iter.key, "output")) {
            csc_json_object_add_json(&writer, "output", output);
            output = NULL;
            if (csc_json_read_is(iter.key, "output"))
                continue;
        }
        if (meta != NULL && !comes_before(iter.key, "cascade")) {
            csc_json_object_add_json(&writer, "cascade", meta);
            meta = NULL;
        }
        if (csc_json_read_is(iter.key, "spawned") && iter.value.data[0] == '[')
            add_spawned(f, &writer, iter.value);
        else if (!csc_json_read_is(iter.key, "cascade"))
            csc_json_object_add_member(&writer, iter.key, iter.value);
    }
    csc_json_object_add_json(&writer, "output", output);
    csc_json_object_add_json(&writer, "cascade", meta);
    csc_json_object_end(&writer);
    return csc_builder_text(f->b);
}

/* ---- Rows --------------------------------------------------------------- */

/* As it was, in the new cascade; what another program, or a run before, has
 * named otherwise is told by its function_id. `ours`: whose record it has. */
static const char *
copy_path(const fork *f, const cascade_execution_row *row, bool ours)
{
    size_t len = strlen(f->origin);

    if (csc_full_output_is_path(row->node_instance_id) &&
        strncmp(row->node_instance_id, f->origin, len) == 0)
        return csc_arena_join(f->b->env->arena, f->b->cascade_id,
                              row->node_instance_id + len);
    return csc_arena_format(f->b->env->arena, "%s/%sfork/%d", f->b->cascade_id,
                            ours ? "message/" : "", (int)row->function_id);
}

/* Of an execution that another program has recorded: as of the time that counts
 * for it. */
static const char *
write_foreign(const fork *f, const cascade_execution_row *row,
              const char *output, const char *meta)
{
    csc_record record = csc_full_output_none;

    if (row->function_id >= 0)
        record.at = row->function_id;
    record.output =
        csc_json_read_whole(output != NULL ? output : row->full_output);
    record.meta = csc_json_read_whole(meta);
    return csc_builder_record(f->b, &record);
}

/* The record of what stands as it was. */
static const char *
copy_past(const fork *f, const cascade_execution_row *row, bool foreign,
          const char *output, const char *meta)
{
    if (output == NULL && meta == NULL)
        foreign = false; /* as it is */
    if (foreign)
        return write_foreign(f, row, output, meta);
    if (row->full_output == NULL && meta == NULL && output == NULL)
        return NULL;
    return copy_record(f, row->full_output != NULL ? row->full_output : "{}",
                       output, meta);
}

static void
copy_row(const fork *f, size_t index)
{
    struct csc_builder *b = f->b;
    const csc_plan_item *item = &f->copy->plan->items[index];
    const char *meta = item->function_id == 0 ? f->meta : NULL;
    const char *output = f->copy->outputs[index];
    cascade_execution_row *row = &b->inserts[b->insert_count];
    bool afresh = item->fate == CSC_FATE_AFRESH;

    csc_assert(index < f->copy->plan->count &&
               f->b->insert_count < f->b->insert_room);
    *row = f->copy->rows[index];
    row->id = b->ids[b->insert_count++];
    row->cascade_id = f->copy->id;
    row->node_instance_id =
        copy_path(f, row, afresh || !item->foreign || output != NULL || meta);
    b->fn_id = row->function_id;
    if (!afresh) {
        row->full_output = copy_past(f, row, item->foreign, output, meta);
        return;
    }
    row->status = CASCADE_EXECUTION_RUNNING;
    row->error = NULL;
    row->started_at_ms = b->env->now_ms;
    row->completed_at_ms = CASCADE_TIME_NONE;
    row->full_output =
        csc_reset_afresh(b, f->copy->plan, item, item->resumes, meta);
    if (f->earlies[index] > 0)
        row->full_output = csc_mark_has(b, row->full_output, f->earlies[index]);
}

static void
copy_events(const fork *f)
{
    struct csc_builder *b = f->b;

    for (size_t i = 0; i < f->copy->event_count; i++) {
        const cascade_event_row *row = &f->copy->events[i];

        if (!is_copied(f, row))
            continue;
        b->events[b->event_count] = *row;
        b->events[b->event_count++].cascade_id = f->copy->id;
    }
}

static void
fill_change(const fork *f, cascade_change *change)
{
    const struct csc_builder *b = f->b;
    const csc_build_copy *copy = f->copy;

    csc_assert(b->insert_count > 0 && b->insert_count <= b->insert_room);
    *change = (cascade_change){.run_action = CASCADE_RUN_START,
                               .inserts = b->inserts,
                               .insert_count = b->insert_count,
                               .events = b->events,
                               .event_count = b->event_count,
                               .run_number = 1};
    change->cascade = (cascade_row){.id = copy->id,
                                    .status = CASCADE_RUNNING,
                                    .fn_id = b->fn_id,
                                    .user_id = copy->user_id,
                                    .created_at_ms = b->env->now_ms,
                                    .updated_at_ms = b->env->now_ms};
    change->run = (cascade_run_row){
        .cascade_id = copy->id,
        .queue = copy->queue,
        .limit_key = csc_start_record_limit_key(copy->limit_key, copy->user_id),
        .priority = copy->priority,
        .wake_at_ms = b->env->now_ms};
}

cascade_err
csc_fork_add_rows(const csc_build_env *env, const csc_build_copy *copy,
                  cascade_change *change)
{
    const csc_plan *plan = copy->plan;
    csc_state state = {.id = copy->id, .fn_id = -1};
    struct csc_builder b = {.env = env, .state = &state, .fn_id = -1};
    fork f = {.b = &b, .copy = copy};

    csc_assert(plan->forks && plan->refusal == CSC_REFUSAL_NONE);
    cascade_uuid_format(&copy->id, b.cascade_id);
    cascade_uuid_format(&copy->origin, f.origin);
    b.inserts = csc_arena_alloc(env->arena, plan->count, sizeof(*b.inserts));
    b.insert_room = plan->count;
    b.ids = csc_arena_alloc(env->arena, plan->count, sizeof(*b.ids));
    b.events =
        csc_arena_alloc(env->arena, copy->event_count, sizeof(*b.events));
    f.earlies = csc_arena_alloc(env->arena, plan->count, sizeof(*f.earlies));
    if (env->arena->failed)
        return csc_fail_memory();
    csc_uuid_v7_many(env->now_ms, env->random, b.ids, plan->count);
    f.meta = write_meta(&f);
    copy_events(&f);
    for (size_t i = 0; i < plan->count; i++)
        if (is_there(plan, &plan->items[i]))
            copy_row(&f, i);
    fill_change(&f, change);
    csc_buf_fini(&b.text);
    return env->arena->failed ? csc_fail_memory() : CASCADE_OK;
}
