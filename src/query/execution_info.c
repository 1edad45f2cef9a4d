/* SPDX-License-Identifier: MIT
 *
 * A row of node_executions as cascade_execution_info: for snapshots, and for
 * cursors, which see one row at a time.
 */
#include "query/execution_info.h"

#include "base/data/arena.h"
#include "base/json/json.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/snapshot.h"
#include "state/full_output.h"
#include "state/kind.h"
#include "state/state.h"

static const char *
keep_span(csc_arena *arena, csc_json_span span)
{
    return span.data != NULL ? csc_arena_strndup(arena, span.data, span.len)
                             : NULL;
}

/* It waits for its completion from outside. */
static void
add_waiting(csc_arena *arena, const csc_record *record,
            cascade_execution_info *info)
{
    char token[CASCADE_UUID_TEXT_SIZE];

    if (csc_uuid_is_nil(&record->token))
        return;
    info->token =
        csc_arena_strdup(arena, cascade_uuid_format(&record->token, token));
    info->deadline_ms = record->deadline_ms;
}

/* What has changed since it was inserted. */
static void
add_changes(csc_arena *arena, const cascade_execution_row *row,
            const csc_record *record, cascade_execution_info *info)
{
    info->attempts = record->attempts;
    info->error = csc_arena_strdup(arena, row->error);
    info->full_output = csc_arena_strdup(arena, row->full_output);
    info->not_before_ms = record->not_before_ms;
    info->status = row->status;
    if (row->status == CASCADE_EXECUTION_RUNNING) {
        add_waiting(arena, record, info);
        return;
    }
    info->completed_at_ms = row->completed_at_ms;
    info->output = keep_span(arena, record->output);
}

void
csc_execution_info_make(csc_arena *arena, const cascade_execution_row *row,
                        const csc_record *record, bool now,
                        cascade_execution_info *info)
{
    uint32_t occurrence = 0;

    *info = (cascade_execution_info){
        .id = row->id,
        .function_id = row->function_id,
        .parent_function_id = CSC_NO_PARENT,
        .status = CASCADE_EXECUTION_RUNNING,
        .node_name = csc_arena_strdup(arena, row->node_name),
        .node_instance_id = csc_arena_strdup(arena, row->node_instance_id),
        .location = csc_arena_strdup(arena, row->location),
        .input = csc_arena_strdup(arena, row->input),
        .started_at_ms = row->started_at_ms,
        .completed_at_ms = CASCADE_TIME_NONE,
        .not_before_ms = CASCADE_TIME_NONE,
        .deadline_ms = CASCADE_TIME_NONE,
        .superseded_by = -1};
    (void)csc_kind_path(row->node_instance_id, &row->cascade_id,
                        &info->parent_function_id, &occurrence);
    if (now)
        add_changes(arena, row, record, info);
}
