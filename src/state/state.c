/* SPDX-License-Identifier: MIT
 *
 * The one door: applying rows. See state.h for the model; joins, the
 * queue, the context and the readers are in join.c, due_queue.c,
 * events.c and view.c.
 *
 * Order matters in two places only. Executions are applied before the events
 * of the same commit or load, since an event takes `at` from its writer. And
 * hydration applies executions by function_id, so that whatever an execution
 * waits for (always a smaller function_id) is there, with its final status,
 * when it is inserted.
 */
#include "state/state.h"

#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "state/full_output.h"
#include "state/internal.h"
#include "state/kind.h"
#include "state/supersede.h"

void
csc_state_init(csc_state *state, const cascade_uuid *id)
{
    *state = (csc_state){.id = *id,
                         .recorded = CASCADE_RUNNING,
                         .fn_id = -1,
                         .siblings_of = CSC_NO_PARENT,
                         .child_id = *id,
                         .run_number = 1,
                         .deadline_ms = CASCADE_TIME_NONE,
                         .terminated = CSC_NOT_TERMINATED,
                         .highest = INT32_MIN,
                         .cancel = CSC_NO_PARENT,
                         .cancel_from = CSC_NO_PARENT,
                         .unclosed = CSC_COURSE_NONE,
                         .paused = CSC_NO_PARENT};
}

/* Nobody finds it any more. */
static void
leave(csc_state *state, csc_exec *exec)
{
    csc_index_leave(state, exec);
    csc_index_leave_part(state, exec);
    csc_index_leave_stand_in(state, exec);
    csc_index_leave_slots(state, exec);
    csc_due_pass_limit(state, exec);
}

static void
free_external(csc_exec *exec)
{
    if (exec->external != NULL)
        csc_mem_free(exec->external->instead);
    csc_mem_free(exec->external);
    exec->external = NULL;
}

static void
free_exec(csc_exec *exec)
{
    free_external(exec);
    csc_mem_free(exec->name);
    csc_mem_free(exec->input);
    csc_mem_free(exec->output);
    csc_mem_free(exec->error);
    csc_mem_free(exec->step_attempts);
    csc_mem_free(exec->progress);
    csc_join_free_join(exec);
    csc_mem_free(exec->waiters.items);
    csc_mem_free(exec->parts.items);
    csc_mem_free(exec);
}

/* Its name may have become the state's. */
static void
free_dropped(const csc_state *state, csc_exec *exec)
{
    if (exec->name == state->first_node)
        exec->name = NULL;
    free_exec(exec);
}

/* Those who may still be read stay. */
static void
free_or_keep(csc_state *state, csc_exec *exec)
{
    csc_assert(exec->stage != CSC_STAGE_QUEUED);
    if (state->held == 0) {
        free_dropped(state, exec);
        return;
    }
    exec->kept_next = state->kept;
    state->kept = exec;
}

static void
free_kept(csc_state *state)
{
    while (state->kept != NULL) {
        csc_exec *next = state->kept->kept_next;

        free_dropped(state, state->kept);
        state->kept = next;
    }
}

void
csc_state_hold(csc_state *state, csc_exec *exec)
{
    csc_assert(!exec->held && exec->stage == CSC_STAGE_DISPATCHED);
    exec->held = true;
    state->held++;
}

void
csc_state_release(csc_state *state, csc_exec *exec)
{
    int64_t before = csc_mem_tally();

    csc_assert(exec->held && state->held > 0);
    exec->held = false;
    state->held--;
    if (state->held == 0)
        free_kept(state);
    state->bytes += csc_mem_tally() - before;
}

void
csc_state_keep_all(csc_state *state)
{
    state->held++;
}

size_t
csc_state_bytes(const csc_state *state)
{
    return state->bytes > 0 ? (size_t)state->bytes : 0;
}

bool
csc_state_free_some(csc_state *state, size_t max)
{
    while (state->exec_count > 0 && max > 0) {
        csc_exec *exec = state->execs[--state->exec_count].exec;

        if (exec == NULL)
            continue;
        free_exec(exec);
        max--;
    }
    return state->exec_count == 0 && csc_events_free_some_events(state, max) &&
           csc_signals_free_some_signals(state, max);
}

void
csc_state_fini(csc_state *state)
{
    for (size_t i = 0; i < state->exec_count; i++)
        if (state->execs[i].exec != NULL)
            free_exec(state->execs[i].exec);
    csc_events_free_events(state);
    free_kept(state);
    csc_mem_free(state->execs);
    csc_mem_free(state->queue);
    csc_mem_free(state->ended.items);
    csc_signals_free_signals(state);
    csc_mem_free(state->user_id);
    csc_mem_free(state->meta);
    csc_mem_free(state->result);
    csc_mem_free(state->error);
    csc_mem_free(state->first_node);
    csc_mem_free(state->earlies);
    csc_supersede_fini(&state->course);
    *state = (csc_state){0};
}

cascade_err
csc_state_begin_again(csc_state *state, bool *again)
{
    csc_course course = state->course;
    cascade_uuid id = state->id;
    int64_t as_of = state->as_of;

    *again = course.grew;
    if (!course.grew)
        return CASCADE_OK;
    state->course = (csc_course){0};
    csc_state_fini(state);
    csc_state_init(state, &id);
    state->course = course;
    state->as_of = as_of;
    return csc_supersede_settle(&state->course,
                                as_of > 0 ? as_of : CSC_COURSE_NOW);
}

/* ---- Small helpers ------------------------------------------------------ */

/* Replaces *text by a copy of `value` (NULL: none). */
static cascade_err
set_text(char **text, const char *value, size_t len)
{
    char *copy = NULL;

    if (value != NULL) {
        copy = csc_mem_strndup(value, len);
        if (copy == NULL)
            return csc_fail_memory();
    }
    csc_mem_free(*text);
    *text = copy;
    return CASCADE_OK;
}

static cascade_err
set_span(char **text, csc_json_span span)
{
    return set_text(text, span.data, span.len);
}

cascade_err
csc_state_add_id(csc_ids *ids, int32_t id)
{
    void *items = ids->items;
    size_t at = csc_view_id_place(ids, id);

    if (at < ids->count && ids->items[at] == id)
        return CASCADE_OK;
    if (csc_mem_grow(&items, &ids->room, ids->count + 1, sizeof(id)) != 0)
        return csc_fail_memory();
    ids->items = items;
    memmove(&ids->items[at + 1], &ids->items[at],
            (ids->count - at) * sizeof(id));
    ids->items[at] = id;
    ids->count++;
    csc_assert(at == 0 || ids->items[at - 1] < id);
    csc_assert(at + 1 == ids->count || id < ids->items[at + 1]);
    return CASCADE_OK;
}

/* ---- Parts -------------------------------------------------------------- */

/* A RUNNING wait keeps its parent, which has left its function, from going on.
 */
static cascade_err
block_parent(csc_state *state, csc_exec *parent, csc_exec *wait)
{
    csc_assert(csc_view_is_wait(wait) && wait->parent == parent->function_id);
    csc_due_queue_rest(state, parent);
    csc_due_limit_again(state, parent);
    parent->blocked++;
    return csc_state_add_id(&wait->waiters, parent->function_id);
}

/* Of what is in its function that tells. As it is hydrated a wait does; behind
 * any other part it may have registered some before its engine died. */
static void
note_undoing(csc_exec *parent, const csc_exec *part)
{
    bool tells =
        csc_view_is_wait(part) && part->status == CASCADE_EXECUTION_RUNNING;

    csc_assert(parent->status == CASCADE_EXECUTION_RUNNING);
    if (parent->stage != CSC_STAGE_DISPATCHED)
        parent->undoes = !tells || part->undoes;
}

/* A part is tied to its parent while that is RUNNING. */
static cascade_err
tie_part(csc_state *state, csc_exec *exec)
{
    csc_exec *parent = csc_view_find(state, exec->parent);
    cascade_err err = CASCADE_OK;

    if (exec->parent == CSC_NO_PARENT || parent == NULL ||
        parent->status != CASCADE_EXECUTION_RUNNING)
        return CASCADE_OK;
    note_undoing(parent, exec);
    err = csc_state_add_id(&parent->parts, exec->function_id);
    if (err != CASCADE_OK)
        return err;
    if (exec->as_part.count == 0)
        parent->works += csc_view_is_work(exec->part) ? 1 : 0;
    csc_index_enter_part(state, exec);
    if (csc_view_is_wait(exec) && exec->status == CASCADE_EXECUTION_RUNNING)
        err = block_parent(state, parent, exec);
    if (exec->part == CSC_PART_SAGA)
        parent->undone_by = exec->function_id;
    return err;
}

/* Its parent may be superseded: then it is the heir's, which may come later. */
static cascade_err
insert_part(csc_state *state, csc_exec *exec)
{
    csc_assert(exec->part != CSC_PART_NONE);
    exec->parent = csc_supersede_heir_of(&state->course, exec->parent);
    if (exec->parent > exec->function_id)
        return csc_supersede_add_part(&state->course, exec->parent,
                                      exec->function_id);
    return tie_part(state, exec);
}

/* An heir has come: the parts that have waited for it are its own. */
static cascade_err
take_over(csc_state *state, const csc_exec *heir)
{
    const int32_t *parts = NULL;
    size_t count =
        csc_supersede_parts(&state->course, heir->function_id, &parts);
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        err = tie_part(state, csc_view_find(state, parts[i]));
    return err;
}

/* ---- Executions --------------------------------------------------------- */

/* From 0 to `max`; anything else is 0. */
static int32_t
meta_number(csc_json_span value, int32_t max)
{
    int64_t number = 0;

    if (!csc_json_read_i64(value, &number) || number < 0 || number > max)
        return 0;
    return (int32_t)number;
}

static void
read_meta_member(csc_state *state, csc_json_span name, csc_json_span value)
{
    if (csc_json_read_is(name, "priority"))
        state->priority = meta_number(value, CSC_PRIORITY_MAX);
    else if (csc_json_read_is(name, "depth"))
        state->depth = meta_number(value, INT32_MAX - 1);
    else if (csc_json_read_is(name, "run_number"))
        state->run_number = meta_number(value, INT32_MAX - 1);
    else if (csc_json_read_is(name, "deadline") && !state->course.any)
        (void)csc_json_read_i64(value, &state->deadline_ms);
    else if (csc_json_read_is(name, "parent") &&
             !csc_full_output_uuid(value, &state->parent))
        state->parent = (cascade_uuid){{0}};
    else if (csc_json_read_is(name, "child") &&
             !csc_full_output_uuid(value, &state->child_id))
        state->child_id = state->id;
}

static void
read_meta(csc_state *state, csc_json_span meta)
{
    csc_json_iter iter;

    state->priority = 0;
    state->depth = 0;
    state->run_number = 0;
    state->deadline_ms = CASCADE_TIME_NONE;
    csc_json_read_iter_init(&iter, meta.data, meta.len);
    while (csc_json_read_next(&iter))
        read_meta_member(state, iter.key, iter.value);
    if (state->run_number == 0)
        state->run_number = 1;
}

/* Of a cascade that has a parent, as execution 0 says: none before that one
 * can know. */
static cascade_err
note_result(csc_state *state, const csc_exec *exec, const csc_record *record)
{
    if (csc_uuid_is_nil(&state->parent) || record->output.data == NULL ||
        exec->function_id < 0 || exec->status != CASCADE_EXECUTION_COMPLETED ||
        strncmp(exec->name, CSC_RESERVED_PREFIX, strlen(CSC_RESERVED_PREFIX)) ==
            0 ||
        !csc_result_take(&state->result_rank, record->is_result,
                         exec->function_id))
        return CASCADE_OK;
    return set_span(&state->result, record->output);
}

/* What no function reads of its execution. */
static void
set_marks(csc_exec *exec, const csc_record *record)
{
    exec->at = record->at != CSC_RECORD_NO_AT ? record->at : exec->function_id;
    if (record->early != CSC_RECORD_NO_EARLY)
        exec->early_max = record->early;
    exec->continued = record->continued;
    exec->timed_out = record->timed_out;
    exec->cancelled = record->cancelled;
    exec->skipped = record->skipped;
}

static cascade_err
set_record(csc_state *state, csc_exec *exec, const csc_record *record)
{
    cascade_err err = CASCADE_OK;

    set_marks(exec, record);
    exec->over = record->over;
    exec->undoes = exec->undoes || record->undo;
    exec->attempts = record->attempts;
    csc_join_set_due(exec, record->not_before_ms);
    csc_index_leave_stand_in(state, exec);
    exec->stands_for = exec->part == CSC_PART_NONE &&
                               record->instead_of != CSC_RECORD_NO_ID &&
                               record->instead_of < exec->function_id
                           ? record->instead_of
                           : CSC_NO_PARENT;
    csc_index_enter_stand_in(state, exec);
    if (record->priority != 0)
        exec->priority = record->priority;
    err = set_span(&exec->step_attempts, record->steps);
    if (err == CASCADE_OK && exec->status == CASCADE_EXECUTION_RUNNING)
        err = set_span(&exec->progress, record->progress);
    if (err != CASCADE_OK || record->meta.data == NULL ||
        exec->function_id != 0 || exec->part != CSC_PART_NONE)
        return err;
    read_meta(state, record->meta);
    return set_span(&state->meta, record->meta);
}

/* As its record says: it waits for its completion from outside, or not. */
static cascade_err
set_external(csc_state *state, csc_exec *exec, const csc_record *record)
{
    csc_external *external = NULL;

    csc_index_leave(state, exec);
    csc_assert(exec->external == NULL || state->externals > 0);
    if (exec->external != NULL)
        state->externals--;
    free_external(exec);
    if (exec->status != CASCADE_EXECUTION_RUNNING ||
        exec->part != CSC_PART_NONE || csc_uuid_is_nil(&record->token))
        return CASCADE_OK;
    external = csc_mem_zalloc(1, sizeof(*external));
    if (external == NULL)
        return csc_fail_memory();
    exec->external = external;
    state->externals++;
    external->token = record->token;
    csc_index_enter(state, exec);
    external->deadline_ms = record->deadline_ms;
    external->continued = record->continued || record->instead.data != NULL;
    if (record->instead.data != NULL &&
        csc_json_read_text(record->instead, &external->instead) &&
        external->instead == NULL)
        return csc_fail_memory();
    return CASCADE_OK;
}

void
csc_state_read_pause(const cascade_execution_row *row, bool *paused)
{
    if (row->status != CASCADE_EXECUTION_COMPLETED)
        return;
    if (strcmp(row->node_name, CSC_PAUSE_NAME) == 0)
        *paused = true;
    else if (strcmp(row->node_name, CSC_RESUME_NAME) == 0 ||
             strcmp(row->node_name, CSC_RETRY_NAME) == 0)
        *paused = false;
}

/* They are applied in the order of their function_ids, live and as read. */
static void
note_pause(csc_state *state, const cascade_execution_row *row)
{
    bool before = state->paused != CSC_NO_PARENT;
    bool paused = before;

    csc_state_read_pause(row, &paused);
    if (paused != before)
        state->paused = paused ? row->function_id : CSC_NO_PARENT;
}

/* How far the cancellation is. */
static void
note_slice(csc_state *state, const csc_exec *exec, const csc_record *record)
{
    if (exec->function_id == state->cancel)
        state->cancel_from = record->from;
}

/* What follows from an execution having ended, by an update or at insertion. */
static cascade_err
note_ended(csc_state *state, csc_exec *exec, const cascade_execution_row *row,
           const csc_record *record, bool keep_output)
{
    cascade_err err = csc_state_add_id(&state->ended, exec->function_id);

    csc_assert(exec->status != CASCADE_EXECUTION_RUNNING);
    if (err == CASCADE_OK)
        err = csc_join_add_late(state, exec, record->late);
    if (err == CASCADE_OK && keep_output)
        err = set_span(&exec->output, record->output);
    if (err == CASCADE_OK && exec->part == CSC_PART_AWAIT &&
        record->signal != CSC_RECORD_NO_ID)
        err = csc_signals_take_signal(state, exec, record->signal);
    if (err == CASCADE_OK && csc_signals_is_signal(row))
        err = csc_signals_add_signal(state, row);
    note_pause(state, row);
    if (exec->status == CASCADE_EXECUTION_COMPLETED &&
        !csc_uuid_is_nil(&record->continued_as))
        state->continued_as = record->continued_as;
    if (err == CASCADE_OK)
        err = note_result(state, exec, record);
    if (err != CASCADE_OK || exec->status != CASCADE_EXECUTION_FAILED ||
        exec->continued)
        return err;
    if (state->terminated <= exec->function_id)
        return CASCADE_OK;
    state->terminated = exec->function_id;
    return set_text(&state->error, row->error,
                    row->error != NULL ? strlen(row->error) : 0);
}

static void
count_running(csc_state *state, const csc_exec *exec, int more)
{
    csc_assert(more > 0 || state->running > 0);
    state->running += (size_t)more;
    if (exec->part == CSC_PART_AWAIT || exec->part == CSC_PART_GATHER)
        state->awaiting += (size_t)more;
    if (exec->part == CSC_PART_CHILD)
        state->children += (size_t)more;
    csc_assert(state->children <= state->running &&
               state->awaiting <= state->running);
}

static bool
same_text(const char *text, csc_json_span span)
{
    if (text == NULL || span.data == NULL)
        return text == NULL && span.data == NULL;
    return strlen(text) == span.len && memcmp(text, span.data, span.len) == 0;
}

static bool
same_error(const csc_exec *exec, const cascade_execution_row *row)
{
    if (exec->error == NULL || row->error == NULL)
        return exec->error == NULL && row->error == NULL;
    return strcmp(exec->error, row->error) == 0;
}

/* A RUNNING row by which nothing has failed, nor is hurried, nor begins or ends
 * to wait from outside: a heartbeat. */
static bool
is_beat(const csc_exec *exec, const cascade_execution_row *row,
        const csc_record *record)
{
    return row->status == CASCADE_EXECUTION_RUNNING &&
           exec->stage == CSC_STAGE_DISPATCHED && exec->external == NULL &&
           csc_uuid_is_nil(&record->token) &&
           record->attempts == exec->attempts && same_error(exec, row) &&
           same_text(exec->step_attempts, record->steps);
}

static cascade_err
copy_text(char **copy, const char *text)
{
    *copy = csc_mem_strdup(text);
    return text == NULL || *copy != NULL ? CASCADE_OK : csc_fail_memory();
}

cascade_err
csc_state_replace_held(csc_state *state, csc_exec **place)
{
    csc_exec *old = *place;
    csc_exec *copy = csc_mem_zalloc(1, sizeof(*copy));
    bool is_part = false;
    cascade_err err = CASCADE_OK;

    csc_assert(old->held && state->held > 0);
    if (copy == NULL)
        return csc_fail_memory();
    csc_due_queue_dequeue(state, old);
    is_part = old->as_part.count > 0;
    leave(state, old);
    *copy = *old;
    copy->held = false;
    copy->name = copy->input = copy->step_attempts = copy->error = NULL;
    err = copy_text(&copy->name, old->name);
    if (err == CASCADE_OK)
        err = copy_text(&copy->input, old->input);
    if (err == CASCADE_OK)
        err = copy_text(&copy->step_attempts, old->step_attempts);
    if (err == CASCADE_OK)
        err = copy_text(&copy->error, old->error);
    old->after = old->seen = old->late = (csc_ids){0};
    old->waiters = old->parts = (csc_ids){0};
    old->join = NULL;
    old->external = NULL;
    old->output = old->progress = NULL;
    old->works = 0;
    csc_view_slot(state, old->function_id)->exec = copy;
    free_or_keep(state, old);
    *place = copy;
    if (err != CASCADE_OK)
        return err;
    csc_index_enter(state, copy);
    csc_index_enter_stand_in(state, copy);
    csc_due_limit_again(state, copy);
    if (copy->join != NULL)
        csc_index_enter_slots(state, copy);
    if (is_part)
        csc_index_enter_part(state, copy);
    return CASCADE_OK;
}

/* Of what has ended and stays nobody reads these. The row that ended it may
 * refer to the input. */
static void
forget_entry(csc_exec *exec)
{
    csc_assert(exec->status != CASCADE_EXECUTION_RUNNING);
    csc_mem_free(exec->input);
    csc_mem_free(exec->progress);
    exec->input = NULL;
    exec->progress = NULL;
}

static cascade_err
update_exec(csc_state *state, csc_exec *exec, const cascade_execution_row *row,
            const csc_record *record)
{
    cascade_err err = CASCADE_OK;

    csc_assert(exec->status == CASCADE_EXECUTION_RUNNING);
    csc_assert(csc_due_queue_is_sound(state, exec));
    if (is_beat(exec, row, record)) {
        set_marks(exec, record);
        return set_span(&exec->progress, record->progress);
    }
    if (exec->held)
        err = csc_state_replace_held(state, &exec);
    if (err == CASCADE_OK)
        err = set_record(state, exec, record);
    if (err == CASCADE_OK)
        err = set_text(&exec->error, row->error,
                       row->error != NULL ? strlen(row->error) : 0);
    if (err != CASCADE_OK)
        return err;
    csc_index_leave(state, exec);
    exec->status = row->status;
    exec->ended_ms = row->completed_at_ms;
    csc_due_queue_rest(state, exec);
    err = set_external(state, exec, record);
    if (err != CASCADE_OK)
        return err;
    csc_index_enter(state, exec);
    note_slice(state, exec, record);
    if (row->status == CASCADE_EXECUTION_RUNNING) {
        csc_due_limit_again(state, exec);
        return csc_due_queue_enqueue(state, exec);
    }
    csc_due_limit(state, exec, CASCADE_TIME_NONE);
    count_running(state, exec, -1);
    exec->early_max = exec->early;
    if (exec->undated)
        csc_events_date_events(state, exec);
    exec->priority = 0;
    exec->blocked = 0;
    exec->since_ms = exec->recorded_ms;
    err = note_ended(state, exec, row, record,
                     exec->part != CSC_PART_NONE || exec->wanted > 0);
    forget_entry(exec);
    if (err == CASCADE_OK)
        err = csc_join_release_waiters(state, exec);
    if (err == CASCADE_OK)
        err = csc_join_release_slots(state, exec);
    return err;
}

static cascade_err
new_exec(const cascade_execution_row *row, const cascade_uuid *cascade,
         csc_exec **out)
{
    csc_exec *exec = csc_mem_zalloc(1, sizeof(*exec));
    bool empty = strcmp(row->input, "{}") == 0;

    if (exec == NULL)
        return csc_fail_memory();
    exec->function_id = row->function_id;
    exec->status = row->status;
    exec->recorded_ms = row->started_at_ms;
    exec->since_ms = row->started_at_ms;
    exec->ended_ms = row->completed_at_ms;
    exec->limit_ms = CASCADE_TIME_NONE;
    exec->parent = CSC_NO_PARENT;
    (void)csc_kind_path(row->node_instance_id, cascade, &exec->parent,
                        &exec->occurrence);
    if (exec->parent >= exec->function_id)
        exec->parent = CSC_NO_PARENT; /* nobody spawns what came before */
    exec->part = csc_kind_of(row->node_name);
    exec->name = csc_mem_strdup(row->node_name);
    exec->error = csc_mem_strdup(row->error);
    if (row->status == CASCADE_EXECUTION_RUNNING && !empty)
        exec->input = csc_mem_strdup(row->input);
    if (exec->name == NULL || (row->error != NULL && exec->error == NULL) ||
        (row->status == CASCADE_EXECUTION_RUNNING && !empty &&
         exec->input == NULL)) {
        free_exec(exec);
        return csc_fail_memory();
    }
    *out = exec;
    return CASCADE_OK;
}

/* Puts `exec` into its slot; it is the state's from then on. */
static cascade_err
insert_slot(csc_state *state, csc_exec *exec)
{
    void *slots = state->execs;
    size_t at = csc_view_place(state, (int64_t)exec->function_id + 1);

    if (csc_mem_grow(&slots, &state->exec_room, state->exec_count + 1,
                     sizeof(csc_slot)) != 0)
        return csc_fail_memory();
    state->execs = slots;
    memmove(&state->execs[at + 1], &state->execs[at],
            (state->exec_count - at) * sizeof(csc_slot));
    state->execs[at] = (csc_slot){exec->function_id, exec};
    state->exec_count++;
    csc_assert(at == 0 ||
               state->execs[at - 1].function_id <= exec->function_id);
    csc_assert(state->exec_count <= state->exec_room);
    return CASCADE_OK;
}

static cascade_err
insert_exec(csc_state *state, const cascade_execution_row *row,
            const csc_record *record)
{
    csc_exec *exec = NULL;
    cascade_err err = new_exec(row, &state->id, &exec);

    if (err != CASCADE_OK)
        return err;
    err = insert_slot(state, exec);
    if (err != CASCADE_OK) {
        free_exec(exec);
        return err;
    }
    if (row->function_id > state->fn_id)
        state->fn_id = row->function_id;
    exec->adopted = record->adopted;
    exec->early_max = row->status == CASCADE_EXECUTION_RUNNING ? INT32_MAX : 0;
    exec->when_parent_ends = record->when_parent_ends;
    exec->child = record->child; /* for good: nodes read it */
    exec->resumes =
        exec->part == CSC_PART_NONE && record->resumes < exec->function_id
            ? record->resumes
            : CSC_NO_PARENT;
    exec->place = csc_supersede_origin(&state->course, exec->function_id);
    err = set_record(state, exec, record);
    if (err == CASCADE_OK)
        err = set_external(state, exec, record);
    csc_index_enter(state, exec);
    csc_join_add_sibling(state, exec);
    if (err == CASCADE_OK && row->status != CASCADE_EXECUTION_RUNNING)
        err = note_ended(state, exec, row, record, true);
    if (err == CASCADE_OK && record->after.data != NULL &&
        (exec->part == CSC_PART_NONE || exec->part == CSC_PART_GATHER))
        err = csc_join_insert_after(state, exec, record);
    if (err == CASCADE_OK)
        err = exec->part != CSC_PART_NONE ? insert_part(state, exec)
                                          : csc_join_stand_in(state, exec);
    if (err == CASCADE_OK)
        err = take_over(state, exec);
    if (err != CASCADE_OK)
        return err;
    if (row->status != CASCADE_EXECUTION_RUNNING)
        return CASCADE_OK;
    count_running(state, exec, 1);
    if (exec->part == CSC_PART_CANCEL && state->cancel == CSC_NO_PARENT)
        state->cancel = exec->function_id;
    note_slice(state, exec, record);
    return csc_due_queue_enqueue(state, exec);
}

/* What is superseded counts no more. */
static cascade_err
pass_over(csc_state *state, const cascade_execution_row *row,
          const csc_record *record, int32_t by)
{
    cascade_err err = CASCADE_OK;

    csc_assert(by != CSC_COURSE_NONE);
    if (row->function_id > state->fn_id)
        state->fn_id = row->function_id;
    if (row->status == CASCADE_EXECUTION_RUNNING &&
        csc_supersede_is_done(&state->course, by))
        state->unclosed = by;
    if (record->early > 0)
        err = csc_events_note_early(state, row->function_id, record->early);
    if (row->function_id != 0 || err != CASCADE_OK)
        return err;
    err = set_text(&state->first_node, row->node_name, strlen(row->node_name));
    if (err == CASCADE_OK && record->meta.data != NULL)
        err = set_span(&state->meta, record->meta);
    if (err == CASCADE_OK && state->meta != NULL)
        read_meta(state, csc_json_read_whole(state->meta));
    return err;
}

static cascade_err
apply_execution(csc_state *state, const cascade_execution_row *row)
{
    csc_exec *exec = csc_view_find(state, row->function_id);
    csc_record record;
    int32_t by = CSC_COURSE_NONE;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_view_is_sound(state));
    if (row->function_id > state->highest)
        state->highest = row->function_id;
    if (state->as_of > 0 && row->function_id >= state->as_of)
        return CASCADE_OK;
    csc_full_output_read(row, &record);
    err = csc_supersede_note(&state->course, row, &record);
    if (err != CASCADE_OK)
        return err;
    by = csc_supersede_by(&state->course, row->function_id);
    if (by != CSC_COURSE_NONE)
        return pass_over(state, row, &record, by);
    if (exec == NULL)
        return insert_exec(state, row, &record);
    if (exec->status != CASCADE_EXECUTION_RUNNING)
        return CASCADE_OK; /* done is done: G3 */
    return update_exec(state, exec, row, &record);
}

cascade_err
csc_state_apply_execution(csc_state *state, const cascade_execution_row *row)
{
    int64_t before = csc_mem_tally();
    cascade_err err = apply_execution(state, row);

    csc_assert(err != CASCADE_OK || csc_view_is_sound(state));
    state->bytes += csc_mem_tally() - before;
    return err;
}

cascade_err
csc_state_apply_cascade(csc_state *state, const cascade_row *row)
{
    state->recorded = row->status;
    state->updated_at_ms = row->updated_at_ms;
    if (row->fn_id > state->fn_id)
        state->fn_id = row->fn_id;
    if (state->user_id != NULL)
        return CASCADE_OK;
    state->created_at_ms = row->created_at_ms;
    return set_text(&state->user_id, row->user_id, strlen(row->user_id));
}

/* ---- Settling ----------------------------------------------------------- */

static void
drop_exec(csc_state *state, int32_t function_id)
{
    csc_slot *slot = csc_view_slot(state, function_id);

    if (slot == NULL || slot->exec == NULL)
        return;
    if (function_id == 0 && state->first_node == NULL)
        state->first_node = slot->exec->name;
    csc_assert(slot->exec->stage == CSC_STAGE_RESTING);
    leave(state, slot->exec);
    free_or_keep(state, slot->exec);
    slot->exec = NULL;
    state->exec_freed++;
}

static bool
is_needed(const csc_state *state, const csc_exec *exec)
{
    const csc_exec *parent = NULL;

    csc_assert(exec->status != CASCADE_EXECUTION_RUNNING);
    if (exec->holders > 0)
        return true;
    if (exec->part == CSC_PART_NONE || exec->parent == CSC_NO_PARENT)
        return false;
    parent = csc_view_find(state, exec->parent);
    return parent != NULL && parent->status == CASCADE_EXECUTION_RUNNING;
}

/* A part goes with its parent, unless it is still RUNNING, or has ended now
 * too: then it goes by itself, with its own parts. */
static void
drop_part(csc_state *state, int32_t function_id)
{
    csc_exec *part = csc_view_find(state, function_id);

    if (part != NULL)
        csc_index_leave_part(state, part);
    if (part != NULL && part->status != CASCADE_EXECUTION_RUNNING &&
        !csc_view_has(&state->ended, function_id) && !is_needed(state, part))
        drop_exec(state, function_id);
}

/* Half of the slots may be empty before they are closed up: each slot is moved
 * a constant number of times on average. */
static void
compact(csc_state *state)
{
    size_t kept = 0;

    csc_assert(state->exec_freed <= state->exec_count);
    if (state->exec_freed * 2 <= state->exec_count)
        return;
    for (size_t i = 0; i < state->exec_count; i++)
        if (state->execs[i].exec != NULL)
            state->execs[kept++] = state->execs[i];
    csc_assert(kept == state->exec_count - state->exec_freed);
    state->exec_count = kept;
    state->exec_freed = 0;
}

static void
settle_one(csc_state *state, csc_exec *exec)
{
    csc_assert(exec->status != CASCADE_EXECUTION_RUNNING);
    csc_assert(exec->stage == CSC_STAGE_RESTING);
    for (size_t p = 0; p < exec->parts.count; p++)
        drop_part(state, exec->parts.items[p]);
    exec->parts.count = 0;
    exec->works = 0;
    if (is_needed(state, exec))
        csc_join_trim(state, exec);
    else
        drop_exec(state, exec->function_id);
}

/* They are to end one after the other. */
static void
find_first_child(csc_state *state)
{
    size_t at = csc_view_place(state, state->family_from);

    csc_assert(csc_view_has_only_children(state));
    while (at < state->exec_count) {
        const csc_exec *exec = state->execs[at].exec;

        if (exec != NULL && exec->part == CSC_PART_CHILD &&
            exec->status == CASCADE_EXECUTION_RUNNING)
            break;
        at++;
    }
    if (at < state->exec_count)
        state->family_from = state->execs[at].function_id;
}

bool
csc_state_settle_some(csc_state *state, size_t max)
{
    int64_t before = csc_mem_tally();
    size_t end = state->ended.count;

    csc_assert(state->settled <= end);
    if (end - state->settled > max)
        end = state->settled + max;
    for (; state->settled < end; state->settled++) {
        csc_exec *exec =
            csc_view_find(state, state->ended.items[state->settled]);

        if (exec != NULL)
            settle_one(state, exec);
    }
    state->bytes += csc_mem_tally() - before;
    if (state->settled < state->ended.count)
        return false;
    state->settled = 0;
    state->ended.count = 0;
    compact(state);
    if (csc_view_has_only_children(state))
        find_first_child(state);
    csc_assert(csc_view_is_sound(state));
    return true;
}

void
csc_state_settle(csc_state *state)
{
    while (!csc_state_settle_some(state, SIZE_MAX))
        ;
}
