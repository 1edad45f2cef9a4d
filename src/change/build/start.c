/* SPDX-License-Identifier: MIT
 *
 * The first rows of a cascade: its first nodes, and what came with the start.
 */
#include "change/build/start.h"

#include <string.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/json/json_object.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/build/build.h"
#include "change/build/builder.h"
#include "state/full_output.h"
#include "state/start_record.h"
#include "state/state.h"

typedef struct csc_builder builder;

/* {"key":...,"root":ID,"child":ID,"depth":n,"queue":...,"parent":ID,
 * "deadline":ms,"previous":ID,"priority":n,"limit_key":...,"run_number":n}:
 * what cascade_runs can be rebuilt of, the run that was started, whose child it
 * is, when it must have ended, the run before, and the how manieth run it is.
 */
static const char *
write_meta(builder *b, const csc_build_start *start)
{
    csc_json_object meta;

    csc_assert(b->text.len == 0);
    csc_json_object_begin(&meta, &b->text);
    csc_json_object_add_string(&meta, "key", start->key);
    if (start->root != NULL)
        csc_json_object_add_id(&meta, "root", start->root);
    if (start->parent != NULL && start->child_id != NULL)
        csc_json_object_add_id(&meta, "child", start->child_id);
    if (start->depth > 0)
        csc_json_object_add_number(&meta, "depth", start->depth);
    csc_json_object_add_string(&meta, "queue", start->queue);
    if (start->parent != NULL)
        csc_json_object_add_id(&meta, "parent", start->parent);
    if (start->deadline_ms > 0)
        csc_json_object_add_number(
            &meta, "deadline",
            csc_clock_add(b->env->delay_from_ms, start->deadline_ms));
    if (start->previous != NULL)
        csc_json_object_add_id(&meta, "previous", start->previous);
    csc_json_object_add_number(&meta, "priority", start->priority);
    csc_json_object_add_string(&meta, "limit_key", start->limit_key);
    if (start->run_number > 1)
        csc_json_object_add_number(&meta, "run_number", start->run_number);
    csc_json_object_end(&meta);
    return csc_builder_text(b);
}

/* The record of a first node; all but the first have only their delay. */
static const char *
write_first(builder *b, const csc_build_start *start, bool first,
            int64_t not_before_ms)
{
    csc_record record = csc_full_output_none;

    if (!first && start->delay_ms <= 0)
        return NULL;
    if (first)
        record.meta = csc_json_read_whole(write_meta(b, start));
    if (start->delay_ms > 0)
        record.not_before_ms = not_before_ms;
    return csc_builder_record(b, &record);
}

static void
add_first(builder *b, const csc_build_start *start, int64_t not_before_ms)
{
    csc_assert(b->insert_count == 0);
    for (size_t i = 0; i < start->first_count; i++) {
        uint32_t nth = 0;
        cascade_execution_row *row = NULL;

        for (size_t e = 0; e < i; e++)
            if (strcmp(start->first[e].name, start->first[i].name) == 0)
                nth++;
        row = csc_builder_part(b, start->first[i].name, CSC_NO_PARENT, nth);
        row->input = start->first[i].input;
        row->full_output = write_first(b, start, i == 0, not_before_ms);
    }
}

static const char *
write_born(builder *b)
{
    csc_record record = csc_full_output_none;

    record.at = b->fn_id;
    return csc_builder_record(b, &record);
}

/* Their paths count them, whatever their names: the run before had others. As
 * receipts do, they tell what was there before them: the first nodes. */
static void
add_signals(builder *b, const csc_build_start *start)
{
    const char *received = start->signal_count > 0 ? write_born(b) : NULL;

    csc_assert(b->insert_count == start->first_count);
    for (size_t i = 0; i < start->signal_count; i++) {
        const csc_build_signal *signal = &start->signals[i];
        cascade_execution_row *row = NULL;
        const char *name =
            csc_arena_join(b->env->arena, CSC_SIGNAL_PREFIX, signal->name);

        if (name == NULL)
            return; /* the arena has failed */
        row = csc_builder_part(b, name, CSC_NO_PARENT, (uint32_t)i);
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
        csc_builder_part(b, CSC_PAUSE_NAME, CSC_NO_PARENT, 0);

    csc_assert(b->insert_count <= b->insert_room);
    row->input = "{\"reason\":\"the run before was paused\"}";
    row->status = CASCADE_EXECUTION_COMPLETED;
    row->completed_at_ms = b->env->now_ms;
    row->full_output = write_born(b);
}

cascade_err
csc_start_add_rows(const csc_build_env *env, const csc_build_start *start,
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
    b.insert_room = count;
    b.ids = csc_arena_alloc(env->arena, count, sizeof(*b.ids));
    if (env->arena->failed)
        return csc_fail_memory();
    csc_uuid_v7_many(env->now_ms, env->random, b.ids, count);
    add_first(&b, start, wake_at_ms);
    add_signals(&b, start);
    if (start->paused)
        add_pause(&b);
    csc_assert(env->arena->failed || b.insert_count == count);
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
                                    .limit_key = csc_start_record_limit_key(
                                        start->limit_key, start->user_id),
                                    .engine_id = start->engine_id,
                                    .claim_no = owned ? 1 : 0};
    return env->arena->failed ? csc_fail_memory() : CASCADE_OK;
}
