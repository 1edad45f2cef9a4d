/* SPDX-License-Identifier: MIT
 *
 * Writing to the memory store: commit and submit, both all or nothing.
 *
 *   prepare    copy what the changes bring    no mutex     may fail
 *   [mutex]    look at the lane               the fence    may fail
 *   stage      enter new rows, look up old    undone when  it fails
 *   apply      write old rows, move runs      cannot fail
 *   discard    free what was not taken over
 *
 * Staging enters new rows into the maps for real, because the maps are what
 * notices that an id, a path or a function_id is taken, also by a neighbour in
 * the same batch. Each entry is remembered in its plan, so that undoing is to
 * go through the plans and take out what was entered. Nobody sees the rows
 * meanwhile: the mutex is held. What was there before is not altered until
 * everything has been found good.
 *
 * Nobody else's transaction is ever open: no commit is AGAIN (S33).
 *
 * A plan owns the records it made until they are entered; `entered` counts how
 * far staging came.
 */
#include "store/memory/internal.h"

#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/memory/text_map.h"
#include "store/memory/treap.h"

typedef struct update_plan {
    csc_memory_execution *execution; /* the model's; found while staging */
    char *late;
} update_plan;

typedef struct send_plan {
    csc_memory_message *message; /* the new one; NULL: the model's by now */
    bool entered;
    cascade_sent sent;
} send_plan;

typedef struct change_plan {
    const cascade_change *change;
    csc_memory_cascade *cascade;       /* the model's, or the new one */
    csc_memory_execution **executions; /* new ones */
    size_t entered;                    /* of `executions` */
    csc_memory_event **events;         /* new ones */
    update_plan *updates;
    size_t touched;                /* of `updates` */
    csc_memory_message **received; /* the model's, taken out of it */
    size_t taken;                  /* of `received` */
    send_plan *sends;
    csc_memory_seal *seal; /* to be; then the model's */
    csc_memory_key *key;   /* a start's: the row to be */
    csc_memory_key_move key_move;
    csc_memory_chain *chain; /* of a start that continues others */
    bool chain_made;
    csc_memory_run *run; /* a start's, where it has one; to take the place of
                                one, for REVIVE */
    cascade_run_row run_row; /* to be, for RESET, FREE and REVIVE */
    bool fresh;              /* `cascade` is new and not entered */
    bool started;            /* `cascade` is new and entered */
    bool skipped;            /* a start whose cascade was there */
    csc_memory_deletion deletion;
    bool existed;
} change_plan;

typedef struct write_state {
    csc_memory_model *model;
    const cascade_uuid *engine_id; /* NULL: submit */
    int64_t now_ms;
    change_plan *plans;
    size_t count;
    send_plan *messages; /* of a submission */
    size_t message_count;
    csc_memory_cut room; /* of its deletions */
    csc_arena arena;     /* the plans and their arrays */
} write_state;

/* ---- Prepare ------------------------------------------------------------ */

static bool
prepare_start(change_plan *plan)
{
    const cascade_change *change = plan->change;

    csc_assert(plan->cascade == NULL && plan->run == NULL);
    plan->cascade = csc_memory_rows_cascade(&change->cascade);
    if (plan->cascade == NULL)
        return false;
    plan->fresh = true;
    if (change->cascade.status == CASCADE_RUNNING) {
        plan->run = csc_memory_runs_make(&change->cascade.id, &change->run);
        if (plan->run == NULL)
            return false;
    }
    if (change->key == NULL)
        return true;
    plan->key = csc_memory_messages_make_key(change->cascade.user_id,
                                             change->key, change->run_number);
    return plan->key != NULL;
}

/* NULL when out of memory, and for none. */
static send_plan *
prepare_sends(csc_arena *arena, const cascade_message_row *rows, size_t count)
{
    send_plan *sends = csc_arena_alloc(arena, count, sizeof(sends[0]));

    for (size_t i = 0; sends != NULL && i < count; i++) {
        sends[i].message = csc_memory_rows_message(&rows[i]);
        arena->failed = arena->failed || sends[i].message == NULL;
    }
    return sends;
}

static bool
prepare_change(csc_arena *arena, change_plan *plan)
{
    const cascade_change *change = plan->change;

    csc_assert(plan->executions == NULL && plan->events == NULL);
    plan->executions = csc_arena_alloc(arena, change->insert_count,
                                       sizeof(plan->executions[0]));
    plan->events =
        csc_arena_alloc(arena, change->event_count, sizeof(plan->events[0]));
    plan->updates =
        csc_arena_alloc(arena, change->update_count, sizeof(plan->updates[0]));
    plan->received = csc_arena_alloc(arena, change->received_count,
                                     sizeof(plan->received[0]));
    plan->sends = prepare_sends(arena, change->sends, change->send_count);
    if (arena->failed)
        return false;
    if (change->run_action == CASCADE_RUN_REVIVE) {
        plan->run = csc_memory_runs_make(&change->cascade.id, &change->run);
        if (plan->run == NULL)
            return false;
    }
    if (change->seal != NULL) {
        plan->seal = csc_memory_seals_make(change->seal);
        if (plan->seal == NULL)
            return false;
    }
    for (size_t i = 0; i < change->insert_count; i++) {
        plan->executions[i] = csc_memory_rows_execution(&change->inserts[i]);
        if (plan->executions[i] == NULL)
            return false;
    }
    for (size_t i = 0; i < change->event_count; i++) {
        plan->events[i] = csc_memory_rows_event(&change->events[i]);
        if (plan->events[i] == NULL)
            return false;
    }
    for (size_t i = 0; i < change->update_count; i++) {
        plan->updates[i].late = csc_memory_rows_late(&change->updates[i]);
        if (plan->updates[i].late == NULL)
            return false;
    }
    return change->run_action != CASCADE_RUN_START || prepare_start(plan);
}

static cascade_err
prepare(write_state *writing, const cascade_change *changes)
{
    csc_assert(writing->plans == NULL);
    writing->plans = csc_arena_alloc(&writing->arena, writing->count,
                                     sizeof(writing->plans[0]));
    if (writing->plans == NULL)
        return writing->count == 0 ? CASCADE_OK : csc_fail_memory();
    for (size_t i = 0; i < writing->count; i++) {
        writing->plans[i].change = &changes[i];
        if (!prepare_change(&writing->arena, &writing->plans[i]))
            return csc_fail_memory();
    }
    return CASCADE_OK;
}

static cascade_err
prepare_messages(write_state *writing, const cascade_message_row *rows)
{
    csc_assert(writing->messages == NULL);
    writing->messages =
        prepare_sends(&writing->arena, rows, writing->message_count);
    return writing->arena.failed ? csc_fail_memory() : CASCADE_OK;
}

static void
discard_sends(send_plan *sends, size_t count)
{
    for (size_t i = 0; sends != NULL && i < count; i++)
        csc_mem_free(sends[i].message);
}

static void
discard_plan(change_plan *plan)
{
    const cascade_change *change = plan->change;

    csc_assert(!plan->started || !plan->fresh);
    csc_assert(plan->entered == 0 || !plan->fresh);
    /* Arrays that were not allocated any more are NULL. */
    for (size_t i = 0; plan->executions && i < change->insert_count; i++)
        csc_memory_rows_free_execution(plan->executions[i]);
    for (size_t i = 0; plan->events && i < change->event_count; i++)
        csc_mem_free(plan->events[i]);
    for (size_t i = 0; plan->updates && i < change->update_count; i++)
        csc_mem_free(plan->updates[i].late);
    discard_sends(plan->sends, change->send_count);
    csc_mem_free(plan->seal);
    csc_mem_free(plan->key);
    csc_mem_free(plan->run);
    if (plan->fresh)
        csc_memory_rows_free(plan->cascade);
}

static void
discard(write_state *writing)
{
    csc_assert(csc_lock_is_none_held());
    for (size_t i = 0; writing->plans != NULL && i < writing->count; i++) {
        if (writing->plans[i].change != NULL)
            discard_plan(&writing->plans[i]);
    }
    discard_sends(writing->messages, writing->message_count);
    csc_arena_fini(&writing->arena);
}

/* ---- Stage -------------------------------------------------------------- */

static cascade_err
refuse(const change_plan *plan, const char *why)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    return csc_fail(CASCADE_ERR_REFUSED, "cascade %s: %s",
                    cascade_uuid_format(&plan->change->cascade.id, id), why);
}

static csc_memory_execution *
find_execution(const csc_memory_cascade *cascade, int32_t function_id)
{
    size_t at = csc_memory_rows_find(cascade, function_id);

    csc_assert(at == cascade->execution_count ||
               cascade->executions[at]->row.function_id >= function_id);
    if (at == cascade->execution_count ||
        cascade->executions[at]->row.function_id != function_id)
        return NULL;
    return cascade->executions[at];
}

/* A start whose cascade is there is a repetition of the one that made it when
 * both have the same execution 0. */
static bool
is_repeated(const cascade_change *start, const csc_memory_cascade *cascade)
{
    const csc_memory_execution *first = find_execution(cascade, 0);

    csc_assert(csc_uuid_equal(&start->cascade.id, &cascade->row.id));
    for (size_t i = 0; first != NULL && i < start->insert_count; i++) {
        if (start->inserts[i].function_id == 0)
            return csc_uuid_equal(&start->inserts[i].id, &first->row.id);
    }
    return false;
}

/* Whose id is taken, marked or not. */
static csc_memory_cascade *
find_made(const csc_memory_model *model, const cascade_change *start)
{
    csc_memory_cascade *made =
        csc_map_get(&model->cascades, &start->cascade.id);

    csc_assert(csc_lock_is_held(&model->mutex));
    return made != NULL ? made
                        : csc_map_get(&model->erasures, &start->cascade.id);
}

static cascade_err
enter_execution(csc_memory_model *model, change_plan *plan,
                csc_memory_execution *execution)
{
    csc_memory_cascade *cascade = plan->cascade;
    const cascade_execution_row *row = &execution->row;
    size_t at = csc_memory_rows_find(cascade, row->function_id);

    csc_assert(csc_lock_is_held(&model->mutex));
    if (!csc_uuid_equal(&row->cascade_id, &cascade->row.id))
        return refuse(plan, "a new execution names another cascade");
    if (find_execution(cascade, row->function_id) != NULL)
        return refuse(plan, "the function_id of a new execution is taken");
    if (csc_memory_names_get(&model->paths, row->node_instance_id) != NULL)
        return refuse(plan, "the path of a new execution is taken");
    if (csc_map_get(&model->executions, &row->id) != NULL)
        return refuse(plan, "the id of a new execution is taken");
    if (csc_mem_grow((void **)&cascade->executions, &cascade->execution_room,
                     cascade->execution_count + 1,
                     sizeof(cascade->executions[0])) != 0)
        return csc_fail_memory();
    if (csc_memory_rows_enter(model, execution) != 0)
        return csc_fail_memory();
    memmove(&cascade->executions[at + 1], &cascade->executions[at],
            (cascade->execution_count - at) * sizeof(cascade->executions[0]));
    cascade->executions[at] = execution;
    cascade->execution_count++;
    csc_assert(cascade->execution_count <= cascade->execution_room);
    return CASCADE_OK;
}

static void
withdraw_execution(csc_memory_model *model, csc_memory_cascade *cascade,
                   csc_memory_execution *execution)
{
    size_t at = csc_memory_rows_find(cascade, execution->row.function_id);

    csc_assert(at < cascade->execution_count &&
               cascade->executions[at] == execution);
    csc_memory_rows_withdraw(model, execution);
    cascade->execution_count--;
    memmove(&cascade->executions[at], &cascade->executions[at + 1],
            (cascade->execution_count - at) * sizeof(cascade->executions[0]));
}

/* Takes out the messages that the change received. */
static void
take_received(csc_memory_model *model, change_plan *plan)
{
    const cascade_change *change = plan->change;

    csc_assert(plan->taken == 0);
    for (size_t i = 0; i < change->received_count; i++) {
        csc_memory_message *message = csc_memory_messages_find(
            model, &change->cascade.id, change->received[i]);

        if (message == NULL)
            continue;
        csc_memory_messages_take(model, message);
        plan->received[plan->taken++] = message;
    }
    csc_assert(plan->taken <= change->received_count);
}

static cascade_err
stage_rows(write_state *writing, change_plan *plan)
{
    const cascade_change *change = plan->change;
    csc_memory_cascade *cascade = plan->cascade;

    csc_assert(plan->entered == 0 && plan->cascade != NULL);
    take_received(writing->model, plan);
    for (size_t i = 0; i < change->insert_count; i++) {
        cascade_err err =
            enter_execution(writing->model, plan, plan->executions[i]);

        if (err != CASCADE_OK)
            return err;
        plan->entered++;
    }
    for (size_t i = 0; i < change->event_count; i++) {
        if (!csc_uuid_equal(&change->events[i].cascade_id, &cascade->row.id))
            return refuse(plan, "an event names another cascade");
    }
    if (csc_mem_grow((void **)&cascade->events, &cascade->event_room,
                     cascade->event_count + change->event_count,
                     sizeof(cascade->events[0])) != 0)
        return csc_fail_memory();
    return CASCADE_OK;
}

/* `there`: the key's row. */
static bool
is_next_run(const csc_memory_key *there, int32_t run_number)
{
    switch (run_number) {
    case 1:
        return there == NULL;
    case 2:
        return there == NULL || there->run_number == 1;
    default:
        return there != NULL && there->run_number == run_number - 1;
    }
}

/* Writes the key's row. A start that is not the key's next run is skipped. */
static cascade_err
stage_key(csc_memory_model *model, change_plan *plan)
{
    const csc_memory_key *there =
        csc_memory_names_get(&model->keys, plan->key->name);

    csc_assert(plan->key_move.row == NULL);
    if (!is_next_run(there, plan->key->run_number)) {
        plan->skipped = true;
        plan->existed = true;
        return CASCADE_OK;
    }
    return csc_memory_messages_move_key(model, plan->key, &plan->key_move);
}

static cascade_err
reserve_run(csc_memory_model *model, const change_plan *plan,
            cascade_run_row *row)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    if (!csc_check_is_priority(row->priority))
        return refuse(plan, "the priority of its run is not 0 to 9");
    return csc_memory_runs_reserve(model, row);
}

static cascade_err
stage_chain(csc_memory_model *model, change_plan *plan)
{
    const cascade_uuid *root = plan->change->root;

    csc_assert(plan->chain == NULL);
    if (root == NULL)
        return CASCADE_OK;
    plan->chain = csc_memory_links_chain(model, root, &plan->chain_made);
    return plan->chain != NULL ? CASCADE_OK : csc_fail_memory();
}

static cascade_err
stage_start(write_state *writing, change_plan *plan)
{
    csc_memory_model *model = writing->model;
    csc_memory_cascade *there = find_made(model, plan->change);
    cascade_err err;

    csc_assert(plan->fresh && !plan->started);
    if (there != NULL) {
        plan->skipped = true;
        plan->existed = !is_repeated(plan->change, there);
        return CASCADE_OK;
    }
    if (plan->key != NULL) {
        err = stage_key(model, plan);
        if (err != CASCADE_OK || plan->skipped)
            return err;
    }
    if (plan->run != NULL) {
        if (csc_memory_turns_is_to_wait(
                csc_memory_names_get(&model->queues, plan->run->row.queue),
                &plan->run->row, writing->now_ms))
            plan->run->row.needs = CASCADE_NEEDS_TURN;
        err = reserve_run(model, plan, &plan->run->row);
        if (err != CASCADE_OK)
            return err;
    }
    if (csc_map_put(&model->cascades, &plan->cascade->row.id, plan->cascade) !=
        0)
        return csc_fail_memory();
    csc_memory_order_add(&model->order, &plan->cascade->node);
    plan->fresh = false;
    plan->started = true;
    err = stage_chain(model, plan);
    return err == CASCADE_OK ? stage_rows(writing, plan) : err;
}

/* The run row after RESET, FREE or REVIVE, with a shelf to put it on. */
static cascade_err
stage_run(write_state *writing, change_plan *plan)
{
    const cascade_change *change = plan->change;
    const csc_memory_run *run = plan->cascade->run;

    csc_assert(writing->engine_id != NULL);
    if (change->run_action != CASCADE_RUN_RESET &&
        change->run_action != CASCADE_RUN_FREE &&
        change->run_action != CASCADE_RUN_REVIVE)
        return CASCADE_OK;
    if (run == NULL || !csc_uuid_equal(&run->row.engine_id, writing->engine_id))
        return refuse(plan, "its run does not belong to this incarnation");
    plan->run_row = run->row;
    plan->run_row.takeovers = 0;
    plan->run_row.trial = 0;
    if (change->run_action == CASCADE_RUN_FREE) {
        memset(&plan->run_row.engine_id, 0, sizeof(plan->run_row.engine_id));
        plan->run_row.wake_at_ms = change->run.wake_at_ms;
        plan->run_row.needs = change->run.needs;
        plan->run_row.slot = 0;
    } else if (change->run_action == CASCADE_RUN_REVIVE) {
        plan->run_row.slot = 0;
        plan->run_row.limit_key = plan->run->row.limit_key;
        plan->run_row.queue = change->run.queue;
        plan->run_row.priority = change->run.priority;
    }
    return reserve_run(writing->model, plan, &plan->run_row);
}

static cascade_err
stage_write(write_state *writing, change_plan *plan)
{
    const cascade_change *change = plan->change;
    cascade_err err;

    csc_assert(plan->touched == 0);
    plan->cascade = csc_map_get(&writing->model->cascades, &change->cascade.id);
    if (plan->cascade == NULL)
        return refuse(plan, "it does not exist");
    for (size_t i = 0; i < change->update_count; i++) {
        csc_memory_execution *execution =
            find_execution(plan->cascade, change->updates[i].function_id);

        if (execution == NULL)
            return refuse(plan, "an execution to be updated does not exist");
        if (execution->row.status != CASCADE_EXECUTION_RUNNING)
            return refuse(plan, "an execution to be updated has ended");
        if (execution->touched)
            return refuse(plan, "an execution is updated twice");
        execution->touched = true;
        plan->updates[i].execution = execution;
        plan->touched++;
    }
    err = stage_run(writing, plan);
    return err != CASCADE_OK ? err : stage_rows(writing, plan);
}

static cascade_err
stage_delete(write_state *writing, change_plan *plan)
{
    csc_assert(!plan->deletion.staged);
    if (csc_memory_delete_stage(writing->model, &plan->change->cascade.id,
                                &writing->room, &plan->deletion) != 0)
        return csc_fail_memory();
    plan->existed = plan->deletion.marked;
    return CASCADE_OK;
}

/* What becomes of each message is known after the rows of all changes. */
static cascade_err
stage_sends(csc_memory_model *model, send_plan *sends, size_t count,
            bool absent_too)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    for (size_t i = 0; i < count; i++) {
        csc_memory_message *message = sends[i].message;
        const csc_memory_cascade *cascade =
            csc_map_get(&model->cascades, &message->row.cascade_id);

        bool marked = !absent_too && csc_memory_delete_is_marked(
                                         model, &message->row.cascade_id);

        sends[i].sent = CASCADE_SENT;
        if (!marked && csc_memory_messages_taken(model, message->row.path))
            sends[i].sent = CASCADE_SENT_REPEATED;
        else if (marked || (cascade == NULL && !absent_too))
            sends[i].sent = CASCADE_SENT_ABSENT;
        else if (csc_memory_messages_enter(model, message) != 0)
            return csc_fail_memory();
        else
            sends[i].entered = true;
        if (sends[i].entered && cascade != NULL &&
            cascade->row.status != CASCADE_RUNNING)
            sends[i].sent = CASCADE_SENT_ENDED;
    }
    return CASCADE_OK;
}

static void
undo_sends(csc_memory_model *model, send_plan *sends, size_t count)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    for (size_t i = 0; sends != NULL && i < count; i++) {
        if (!sends[i].entered)
            continue;
        csc_memory_messages_take(model, sends[i].message);
        csc_memory_messages_free(model, sends[i].message);
        sends[i].message = NULL;
        sends[i].entered = false;
    }
}

static void
undo_plan(csc_memory_model *model, change_plan *plan)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    if (plan->change->run_action == CASCADE_RUN_DELETE) {
        csc_memory_delete_undo(model, &plan->deletion);
        return;
    }
    for (size_t i = 0; i < plan->touched; i++)
        plan->updates[i].execution->touched = false;
    while (plan->taken > 0)
        csc_memory_messages_put_back(model, plan->received[--plan->taken]);
    while (plan->entered > 0)
        withdraw_execution(model, plan->cascade,
                           plan->executions[--plan->entered]);
    csc_memory_messages_undo_key(model, &plan->key_move);
    if (plan->chain_made)
        csc_memory_links_drop(model, plan->chain);
    if (!plan->started)
        return;
    csc_map_remove(&model->cascades, &plan->cascade->row.id);
    csc_memory_order_remove(&model->order, &plan->cascade->node);
    csc_assert(plan->entered == 0 && plan->taken == 0);
    plan->started = false;
    plan->fresh = true;
}

static cascade_err
stage_change(write_state *writing, change_plan *plan)
{
    switch (plan->change->run_action) {
    case CASCADE_RUN_START:
        return stage_start(writing, plan);
    case CASCADE_RUN_DELETE:
        return stage_delete(writing, plan);
    case CASCADE_RUN_KEEP:
    case CASCADE_RUN_RESET:
    case CASCADE_RUN_FREE:
    case CASCADE_RUN_END:
    case CASCADE_RUN_REVIVE:
        return stage_write(writing, plan);
    }
    return refuse(plan, "the action for its run is none of the known");
}

static cascade_err
stage_messages(write_state *writing)
{
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&writing->model->mutex));
    for (size_t i = 0; i < writing->count && err == CASCADE_OK; i++) {
        change_plan *plan = &writing->plans[i];

        if (!plan->skipped)
            err = stage_sends(writing->model, plan->sends,
                              plan->change->send_count, true);
    }
    if (err != CASCADE_OK)
        return err;
    return stage_sends(writing->model, writing->messages,
                       writing->message_count, false);
}

static cascade_err
stage(write_state *writing)
{
    cascade_err err = CASCADE_OK;
    size_t at = 0;

    csc_assert(csc_lock_is_held(&writing->model->mutex));
    csc_memory_delete_begin(writing->model, &writing->room);
    while (at < writing->count && err == CASCADE_OK)
        err = stage_change(writing, &writing->plans[at++]);
    if (err == CASCADE_OK)
        err = stage_messages(writing);
    if (err == CASCADE_OK)
        return CASCADE_OK;
    undo_sends(writing->model, writing->messages, writing->message_count);
    for (size_t i = 0; i < writing->count; i++)
        undo_sends(writing->model, writing->plans[i].sends,
                   writing->plans[i].change->send_count);
    while (at > 0)
        undo_plan(writing->model, &writing->plans[--at]);
    return err;
}

/* ---- Apply -------------------------------------------------------------- */

/* The key of a run lies in it. */
static void
swap_runs(csc_memory_cascade *cascade, change_plan *plan)
{
    csc_memory_run *run = cascade->run;

    cascade->run = plan->run;
    plan->run = run;
}

static void
apply_run(csc_memory_model *model, change_plan *plan)
{
    csc_memory_cascade *cascade = plan->cascade;

    csc_assert(csc_lock_is_held(&model->mutex));
    switch (plan->change->run_action) {
    case CASCADE_RUN_KEEP:
        return;
    case CASCADE_RUN_REVIVE:
        csc_memory_runs_take(model, cascade->run);
        swap_runs(cascade, plan);
        cascade->run->row = plan->run_row;
        csc_memory_runs_place(model, cascade->run);
        return;
    case CASCADE_RUN_RESET:
    case CASCADE_RUN_FREE:
        csc_memory_runs_take(model, cascade->run);
        cascade->run->row = plan->run_row;
        csc_memory_runs_place(model, cascade->run);
        return;
    case CASCADE_RUN_END:
        if (cascade->run == NULL)
            return;
        csc_memory_runs_take(model, cascade->run);
        csc_mem_free(cascade->run);
        cascade->run = NULL;
        return;
    case CASCADE_RUN_DELETE:
        return;
    case CASCADE_RUN_START:
        if (plan->run == NULL)
            return;
        cascade->run = plan->run;
        plan->run = NULL;
        csc_memory_runs_place(model, cascade->run);
        return;
    }
}

static void
apply_sends(send_plan *sends, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sends[i].entered)
            sends[i].message = NULL;
    }
}

/* The plan's records become the model's. */
static void
apply_plan(csc_memory_model *model, change_plan *plan)
{
    const cascade_change *change = plan->change;
    cascade_row *row;

    csc_assert(csc_lock_is_held(&model->mutex) && !plan->skipped);
    if (change->run_action == CASCADE_RUN_DELETE) {
        csc_memory_delete_apply(model, &plan->deletion);
        return;
    }
    row = &plan->cascade->row;
    row->status = change->cascade.status;
    row->fn_id = change->cascade.fn_id;
    row->updated_at_ms = change->cascade.updated_at_ms;
    for (size_t i = 0; i < change->insert_count; i++)
        plan->executions[i] = NULL;
    for (size_t i = 0; i < plan->touched; i++) {
        update_plan *update = &plan->updates[i];

        csc_memory_rows_update(update->execution, &change->updates[i],
                               update->late);
        update->execution->touched = false;
        update->late = NULL;
    }
    for (size_t i = 0; i < change->event_count; i++) {
        plan->events[i]->row.id = ++model->event_id;
        csc_memory_rows_add_event(plan->cascade, plan->events[i]);
        plan->events[i] = NULL;
    }
    for (size_t i = 0; i < plan->taken; i++)
        csc_memory_messages_free(model, plan->received[i]);
    apply_sends(plan->sends, change->send_count);
    if (plan->key_move.row == plan->key)
        plan->key = NULL;
    if (plan->chain != NULL)
        csc_memory_links_lead(plan->chain, &row->id, change->run_number);
    if (plan->seal != NULL) {
        csc_mem_free(plan->cascade->seal);
        plan->cascade->seal = plan->seal;
        plan->seal = NULL;
    }
    csc_assert(plan->entered == change->insert_count);
    apply_run(model, plan);
}

static void
apply(write_state *writing, bool *existed)
{
    csc_assert(csc_lock_is_held(&writing->model->mutex));
    for (size_t i = 0; i < writing->count; i++) {
        existed[i] = writing->plans[i].existed;
        if (!writing->plans[i].skipped)
            apply_plan(writing->model, &writing->plans[i]);
    }
    apply_sends(writing->messages, writing->message_count);
}

/* ---- The moves ---------------------------------------------------------- */

static cascade_err
check_lane(csc_memory_engine *engine, const cascade_batch *batch)
{
    if (engine == NULL || batch->lane >= engine->row.lane_count)
        return csc_fail(CASCADE_ERR_FENCED,
                        "commit: this incarnation or its lane %u was removed; "
                        "attach a new one",
                        (unsigned)batch->lane);
    if (engine->lanes[batch->lane] != batch->number &&
        engine->lanes[batch->lane] != batch->number - 1)
        return csc_fail(CASCADE_ERR_LOST,
                        "commit: lane %u shows batch %lld, not %lld or the one "
                        "before; the store lost commits, attach anew",
                        (unsigned)batch->lane,
                        (long long)engine->lanes[batch->lane],
                        (long long)batch->number);
    return CASCADE_OK;
}

/* The batch took effect before: tells again which starts did, and which
 * deletions have left something. A start with a key that left no cascade was
 * not the key's next run: the key's row, which others may have moved on, does
 * not tell any more. */
static void
recall(write_state *writing, bool *existed)
{
    csc_assert(csc_lock_is_held(&writing->model->mutex));
    for (size_t i = 0; i < writing->count; i++) {
        const cascade_change *change = writing->plans[i].change;
        const csc_memory_cascade *there = find_made(writing->model, change);

        existed[i] =
            change->run_action == CASCADE_RUN_DELETE &&
            csc_memory_delete_is_marked(writing->model, &change->cascade.id);
        if (change->run_action == CASCADE_RUN_START)
            existed[i] = there == NULL ? change->key != NULL
                                       : !is_repeated(change, there);
    }
}

cascade_err
csc_memory_commit_batch(void *self, const cascade_batch *batch, bool *existed)
{
    csc_memory *memory = self;
    write_state writing = {.model = memory->model,
                           .engine_id = &batch->engine_id,
                           .now_ms = csc_clock_wall_ms(memory->config->clock),
                           .count = batch->change_count};
    cascade_err err = prepare(&writing, batch->changes);
    csc_memory_engine *engine;

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        goto out;
    csc_lock_take(&memory->model->mutex);
    engine = csc_map_get(&memory->model->engines, &batch->engine_id);
    err = check_lane(engine, batch);
    if (err == CASCADE_OK && engine->lanes[batch->lane] == batch->number) {
        recall(&writing, existed);
    } else if (err == CASCADE_OK) {
        err = stage(&writing);
        if (err == CASCADE_OK) {
            apply(&writing, existed);
            engine->lanes[batch->lane] = batch->number;
        }
    }
    csc_lock_give(&memory->model->mutex);
out:
    discard(&writing);
    return err;
}

cascade_err
csc_memory_commit_submit(void *self, const cascade_submission *submission)
{
    csc_memory *memory = self;
    write_state writing = {.model = memory->model,
                           .now_ms = csc_clock_wall_ms(memory->config->clock),
                           .count = submission->start_count,
                           .message_count = submission->message_count};
    cascade_err err = prepare(&writing, submission->starts);

    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK)
        err = prepare_messages(&writing, submission->messages);
    if (err != CASCADE_OK)
        goto out;
    csc_lock_take(&memory->model->mutex);
    err = stage(&writing);
    if (err == CASCADE_OK) {
        apply(&writing, submission->existed);
        for (size_t i = 0; i < writing.message_count; i++)
            submission->sent[i] = writing.messages[i].sent;
    }
    csc_lock_give(&memory->model->mutex);
    if (err == CASCADE_OK && !submission->quiet)
        (void)csc_memory_wait_wake(memory); /* it cannot fail */
out:
    discard(&writing);
    return err;
}
