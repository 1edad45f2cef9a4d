/* SPDX-License-Identifier: MIT
 *
 * Batches: all their changes are made on the copy, or an error leaves it aside.
 */
#include "file.h"

#include <stdlib.h>

/* ---- Writing ------------------------------------------------------------- */

static cascade_err
refuse(const cascade_change *change, const char *why)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    return cascade_store_fail(CASCADE_ERR_REFUSED, "cascade %s: %s",
                              cascade_uuid_format(&change->cascade.id, id),
                              why);
}

/* S6: the start that made it, once more. */
static bool
is_repeated(const state *s, const cascade_change *start)
{
    const cascade_execution_row *first =
        find_execution(s, &start->cascade.id, 0);

    for (size_t i = 0; first != NULL && i < start->insert_count; i++)
        if (start->inserts[i].function_id == 0)
            return compare_ids(&start->inserts[i].id, &first->id) == 0;
    return false;
}

static bool
has_id(const state *s, const cascade_uuid *id)
{
    for (size_t i = 0; i < s->tables[EXECUTIONS].count; i++) {
        const cascade_execution_row *row = state_row(s, EXECUTIONS, i);

        if (compare_ids(&row->id, id) == 0)
            return true;
    }
    return false;
}

static cascade_err
insert_execution(state *s, const cascade_change *change,
                 const cascade_execution_row *row)
{
    if (compare_ids(&row->cascade_id, &change->cascade.id) != 0)
        return refuse(change, "a new execution names another cascade");
    if (find_execution(s, &row->cascade_id, row->function_id) != NULL)
        return refuse(change, "the function_id of a new execution is taken");
    if (has_execution(s, row->node_instance_id))
        return refuse(change, "the path of a new execution is taken");
    if (has_id(s, &row->id))
        return refuse(change, "the id of a new execution is taken");
    state_add(s, EXECUTIONS, row);
    return CASCADE_OK;
}

/* Messages that were received go first, then come executions and events. */
static cascade_err
write_rows(state *s, const cascade_change *change)
{
    const cascade_uuid *id = &change->cascade.id;
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < change->received_count; i++) {
        row_key place = file_key(id, change->received[i], 0);

        if (state_find(s, MESSAGES, place) != NULL)
            state_remove(s, MESSAGES, state_place(s, MESSAGES, place));
    }
    for (size_t i = 0; i < change->insert_count && err == CASCADE_OK; i++)
        err = insert_execution(s, change, &change->inserts[i]);
    for (size_t i = 0; i < change->event_count && err == CASCADE_OK; i++) {
        cascade_event_row event = change->events[i];

        if (compare_ids(&event.cascade_id, id) != 0)
            return refuse(change, "an event names another cascade");
        event.id = ++s->event_id;
        event.reformed = 0;
        state_add(s, EVENTS, &event);
    }
    return err;
}

static bool
is_priority(int32_t priority)
{
    return priority >= 0 && priority <= 9;
}

static cascade_err
start(state *s, const cascade_change *change, bool *existed)
{
    cascade_run_row run = change->run;

    *existed = false;
    if (find_cascade(s, &change->cascade.id) != NULL) {
        *existed = !is_repeated(s, change);
        return CASCADE_OK;
    }
    run.cascade_id = change->cascade.id;
    run.trial = 0;
    if (change->cascade.status == CASCADE_RUNNING) {
        if (!is_priority(run.priority))
            return refuse(change, "the priority of its run is not 0 to 9");
        state_add(s, RUNS, &run);
    }
    state_add(s, CASCADES, &change->cascade);
    return write_rows(s, change);
}

static cascade_err
update(state *s, const cascade_change *change,
       const cascade_execution_row *update)
{
    cascade_execution_row *row =
        find_execution(s, &change->cascade.id, update->function_id);

    if (row == NULL)
        return refuse(change, "an execution to be updated does not exist");
    if (row->status != CASCADE_EXECUTION_RUNNING)
        return refuse(change, "an execution to be updated has ended");
    row->status = update->status;
    row->completed_at_ms = update->completed_at_ms;
    state_set_text(s, &row->full_output, update->full_output);
    state_set_text(s, &row->error, update->error);
    return CASCADE_OK;
}

/* RESET, FREE, REVIVE. */
static cascade_err
write_run(state *s, const cascade_change *change, const cascade_uuid *engine_id)
{
    cascade_run_row *run = find_run(s, &change->cascade.id);

    if (run == NULL || compare_ids(&run->engine_id, engine_id) != 0)
        return refuse(change, "its run does not belong to this incarnation");
    run->takeovers = 0;
    run->trial = 0;
    if (change->run_action == CASCADE_RUN_FREE) {
        run->engine_id = (cascade_uuid){{0}};
        run->wake_at_ms = change->run.wake_at_ms;
        state_set_text(s, &run->needs, change->run.needs);
    } else if (change->run_action == CASCADE_RUN_REVIVE) {
        run->priority = change->run.priority;
        state_set_text(s, &run->queue, change->run.queue);
    }
    return is_priority(run->priority)
               ? CASCADE_OK
               : refuse(change, "the priority of its run is not 0 to 9");
}

static cascade_err
write_cascade(state *s, const cascade_change *change,
              const cascade_uuid *engine_id)
{
    cascade_row *row = find_cascade(s, &change->cascade.id);
    cascade_err err = CASCADE_OK;

    if (row == NULL)
        return refuse(change, "it does not exist");
    for (size_t i = 0; i < change->update_count && err == CASCADE_OK; i++)
        err = update(s, change, &change->updates[i]);
    row->status = change->cascade.status;
    row->fn_id = change->cascade.fn_id;
    row->updated_at_ms = change->cascade.updated_at_ms;
    if (err == CASCADE_OK && change->run_action == CASCADE_RUN_END)
        state_remove_all(s, RUNS, &row->id);
    else if (err == CASCADE_OK && change->run_action != CASCADE_RUN_KEEP)
        err = write_run(s, change, engine_id);
    return err == CASCADE_OK ? write_rows(s, change) : err;
}

static cascade_err
apply(state *s, const cascade_change *change, const cascade_uuid *engine_id,
      bool *existed)
{
    *existed = false;
    if (change->run_action == CASCADE_RUN_START)
        return start(s, change, existed);
    if (change->run_action != CASCADE_RUN_DELETE)
        return write_cascade(s, change, engine_id);
    for (int which = CASCADES; which <= MESSAGES; which++)
        state_remove_all(s, which, &change->cascade.id);
    return CASCADE_OK;
}

/* S19 */
static bool
send_message(state *s, const cascade_message_row *row)
{
    cascade_message_row message = *row;

    if (is_taken(s, row->path))
        return false;
    message.id = ++s->message_id;
    state_add(s, MESSAGES, &message);
    return true;
}

/* S5: an error of one is that of all, and the copy goes. The messages of a
 * start that did nothing are not sent. */
static cascade_err
apply_all(state *s, const cascade_batch *batch, bool *existed)
{
    bool *skipped = calloc(batch->change_count + 1, sizeof(*skipped));
    cascade_err err = CASCADE_OK;

    s->failed = s->failed || skipped == NULL;
    for (size_t i = 0; i < batch->change_count && err == CASCADE_OK; i++) {
        const cascade_change *change = &batch->changes[i];

        if (s->failed)
            break;
        skipped[i] = change->run_action == CASCADE_RUN_START &&
                     find_cascade(s, &change->cascade.id) != NULL;
        err = apply(s, change, &batch->engine_id, &existed[i]);
    }
    for (size_t i = 0; i < batch->change_count && err == CASCADE_OK; i++)
        for (size_t k = 0; !s->failed && k < batch->changes[i].send_count; k++)
            if (!skipped[i])
                (void)send_message(s, &batch->changes[i].sends[k]);
    free(skipped);
    return err;
}

/* What a batch that took effect before is told: S3. */
static void
recall(const state *s, const cascade_batch *batch, bool *existed)
{
    for (size_t i = 0; i < batch->change_count; i++) {
        const cascade_change *change = &batch->changes[i];

        existed[i] = change->run_action == CASCADE_RUN_START &&
                     find_cascade(s, &change->cascade.id) != NULL &&
                     !is_repeated(s, change);
    }
}

static cascade_err
fail_lost(const char *move, int64_t number)
{
    return cascade_store_fail(CASCADE_ERR_LOST,
                              "%s: the lane shows batch %lld: the store lost "
                              "commits; attach anew",
                              move, (long long)number);
}

cascade_err
file_commit(void *self, const cascade_batch *batch, bool *existed)
{
    file_store *f = self;
    lane_row *lane = NULL;
    bool before = false;
    state next;
    cascade_err err = file_begin_write(f, &next);

    if (err != CASCADE_OK)
        return err;
    lane =
        state_find(&next, LANES, file_key(&batch->engine_id, batch->lane, 0));
    if (lane == NULL)
        return file_end_write(f, &next, file_fail_fenced("commit"), false);
    before = lane->number == batch->number;
    if (before) {
        recall(&next, batch, existed);
    } else if (lane->number != batch->number - 1) {
        err = fail_lost("commit", lane->number);
    } else {
        lane->number = batch->number;
        err = apply_all(&next, batch, existed);
    }
    return file_end_write(f, &next, err, !before);
}

cascade_err
file_settle(void *self, const cascade_uuid *engine_id, uint32_t index,
            int64_t number, bool *committed)
{
    file_store *f = self;
    lane_row *lane = NULL;
    bool decided = false;
    bool moves = false;
    state next;
    cascade_err err = file_begin_write(f, &next);

    if (err != CASCADE_OK)
        return err;
    lane = state_find(&next, LANES, file_key(engine_id, index, 0));
    if (lane == NULL)
        return file_end_write(f, &next, file_fail_fenced("settle"), false);
    moves = lane->number == number - 1;
    if (moves)
        lane->number = number + 1;
    if (lane->number != number && lane->number != number + 1)
        err = fail_lost("settle", lane->number);
    decided = lane->number == number;
    err = file_end_write(f, &next, err, moves);
    if (err == CASCADE_OK)
        *committed = decided;
    return err;
}

static cascade_sent
submit_message(state *s, const cascade_message_row *message)
{
    const cascade_row *cascade = find_cascade(s, &message->cascade_id);

    if (is_taken(s, message->path))
        return CASCADE_SENT_REPEATED;
    if (cascade == NULL)
        return CASCADE_SENT_ABSENT;
    (void)send_message(s, message);
    return cascade->status == CASCADE_RUNNING ? CASCADE_SENT
                                              : CASCADE_SENT_ENDED;
}

cascade_err
file_submit(void *self, const cascade_submission *submission)
{
    const cascade_batch batch = {.changes = submission->starts,
                                 .change_count = submission->start_count};
    file_store *f = self;
    state next;
    cascade_err err = file_begin_write(f, &next);

    if (err != CASCADE_OK)
        return err;
    err = apply_all(&next, &batch, submission->existed);
    for (size_t i = 0; i < submission->message_count; i++)
        if (err == CASCADE_OK && !next.failed)
            submission->sent[i] =
                submit_message(&next, &submission->messages[i]);
    err = file_end_write(f, &next, err, true);
    return err == CASCADE_OK ? file_wake(f) : err;
}
