/* SPDX-License-Identifier: MIT
 *
 * Writing: commit (a batch of a lane) and submit (starts and messages from
 * outside).
 *
 * COMMIT
 *
 *   BEGIN IMMEDIATE
 *   the lane row, number - 1 -> number      the fence
 *   the lease, now + its length             whoever commits is alive
 *   the changes, one after the other        messages received are deleted;
 *                                           deletions: delete.c
 *   the messages that they send
 *   COMMIT                                  one flush for all of them
 *
 *   The UPDATE of the lane row tells by its count, inside the transaction that
 *   nobody else can be in, so what follows only happens for the owner:
 *
 *     one row                  go on
 *     none, no such row        the incarnation was removed: FENCED
 *     none, it shows number    an earlier try took effect: OK, nothing is done
 *     none, another number     the file is older than we remember: LOST
 *
 *   Whether a try took effect is therefore never guessed: after a COMMIT whose
 *   outcome is not known (I/O error, killed process) the same batch is sent
 *   again and the row tells.
 *
 * STARTS
 *   INSERT ... ON CONFLICT DO NOTHING tells by its count whether the cascade
 *   was there. If so, its execution 0 tells who made it: with the id that we
 *   would give it, it was an earlier try of this very start. A start with a
 *   key asks the key first, and only one whose run is the next goes so far; the
 *   row of the key says the new number in the same transaction, and that of its
 *   root where it continues other runs (S43). One that comes as it ended (an
 *   import) gets no run.
 *
 * Who writes has the database alone, an application's open transaction too: all
 * of a batch waits for that, with starts or without, and no answer is AGAIN
 * (S33).
 *
 * A change that the database refuses (a path that is taken, an execution that
 * is not there or has ended, a run that is not ours) rolls the whole batch back
 * and is REFUSED, naming the cascade: the caller splits the batch.
 */
#include "store/sqlite/internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/status.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

#define SCATTERED_ROWS 4 /* updates of a change, as in a slice */

typedef struct write_state {
    csc_sqlite_conn *conn;
    const cascade_uuid *engine_id; /* NULL: submit */
    bool claimable;                /* something others may claim came up */
    bool born;                     /* a cascade was inserted */
    csc_sqlite_room room;          /* of its deletions */
} write_state;

static cascade_err
refuse(const char *why)
{
    return cascade_store_fail(CASCADE_ERR_REFUSED, "%s", why);
}

/* ---- Rows ---------------------------------------------------------------- */

static cascade_err
insert_execution(write_state *state, const cascade_execution_row *row)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(state->conn));
    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_INSERT_EXECUTION);
    csc_sqlite_call_add_row(&call, &csc_table_executions, row);
    return csc_sqlite_call_run(&call, NULL);
}

static cascade_err
update_execution(write_state *state, const cascade_uuid *cascade_id,
                 const cascade_execution_row *row)
{
    csc_sqlite_call call;
    int changes = 0;
    cascade_err err;

    csc_assert(csc_sqlite_txn_may_write(state->conn));
    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_UPDATE_EXECUTION);
    csc_sqlite_call_add_uuid(&call, cascade_id);
    csc_sqlite_call_add_i64(&call, row->function_id);
    csc_sqlite_call_add_text(&call, csc_status_execution_word(row->status));
    csc_sqlite_call_add_json(&call, row->full_output);
    csc_sqlite_call_add_text(&call, row->error);
    csc_sqlite_call_add_time(&call, row->completed_at_ms);
    err = csc_sqlite_call_run(&call, &changes);
    if (err == CASCADE_OK && changes != 1)
        err = cascade_store_fail(CASCADE_ERR_REFUSED,
                                 "execution %d is not there or has ended",
                                 row->function_id);
    return err;
}

/* It ends what began long ago, at many times. */
static bool
scatters(const cascade_change *change)
{
    return change->update_count >= SCATTERED_ROWS;
}

static cascade_err
insert_event(write_state *state, const cascade_event_row *row)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(state->conn));
    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_INSERT_EVENT);
    csc_sqlite_call_add_row(&call, &csc_table_events, row);
    return csc_sqlite_call_run(&call, NULL);
}

/* What a change adds and ends, whatever else it is. */
static cascade_err
write_rows(write_state *state, const cascade_change *change)
{
    const cascade_uuid *id = &change->cascade.id;
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < change->received_count && err == CASCADE_OK; i++)
        err = csc_sqlite_messages_delete(state->conn, id, change->received[i]);
    if (scatters(change))
        state->conn->scatters = state->conn->store->guest.session == NULL;
    for (size_t i = 0; i < change->update_count && err == CASCADE_OK; i++)
        err = update_execution(state, id, &change->updates[i]);
    for (size_t i = 0; i < change->insert_count && err == CASCADE_OK; i++) {
        err = csc_uuid_equal(&change->inserts[i].cascade_id, id)
                  ? insert_execution(state, &change->inserts[i])
                  : refuse("a new execution names another cascade");
    }
    for (size_t i = 0; i < change->event_count && err == CASCADE_OK; i++) {
        err = csc_uuid_equal(&change->events[i].cascade_id, id)
                  ? insert_event(state, &change->events[i])
                  : refuse("an event names another cascade");
    }
    if (err == CASCADE_OK && change->seal != NULL)
        err = csc_sqlite_seals_write(state->conn, id, change->seal);
    return err;
}

/* ---- Starts -------------------------------------------------------------- */

static const cascade_uuid *
find_first_id(const cascade_change *start)
{
    for (size_t i = 0; i < start->insert_count; i++) {
        if (start->inserts[i].function_id == 0)
            return &start->inserts[i].id;
    }
    return NULL;
}

/* Whether the cascade is there and was made by another start than this. One
 * with a key that is not there was not the next of its key. */
static cascade_err
tell_existed(write_state *state, const cascade_change *start, bool *existed)
{
    const cascade_uuid *first_id = find_first_id(start);
    csc_sqlite_call call;
    cascade_uuid there;
    bool row = false;
    cascade_err err;

    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_GET_FIRST_EXECUTION);
    csc_sqlite_call_add_uuid(&call, &start->cascade.id);
    err = csc_sqlite_call_next(&call, &row);
    *existed = row || start->key != NULL;
    if (err == CASCADE_OK && row && first_id != NULL &&
        sqlite3_column_type(call.statement, 0) != SQLITE_NULL) {
        err = csc_sqlite_row_uuid(call.statement, 0, "node_executions", "id",
                                  &there);
        *existed = !csc_uuid_equal(&there, first_id);
    }
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
insert_cascade(write_state *state, const cascade_row *row, bool *inserted)
{
    csc_sqlite_call call;
    int changes = 0;
    cascade_err err;

    csc_assert(csc_sqlite_txn_may_write(state->conn));
    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_INSERT_CASCADE);
    csc_sqlite_call_add_row(&call, &csc_table_cascades, row);
    err = csc_sqlite_call_run(&call, &changes);
    *inserted = changes == 1;
    return err;
}

cascade_err
csc_sqlite_commit_insert_run(csc_sqlite_conn *conn,
                             const cascade_uuid *cascade_id,
                             const cascade_run_row *run)
{
    cascade_run_row row = *run;
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    row.cascade_id = *cascade_id;
    if (row.needs == NULL)
        row.needs = ""; /* see claim.c */
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_INSERT_RUN);
    csc_sqlite_call_add_row(&call, &csc_table_runs, &row);
    csc_sqlite_call_add_i64(&call,
                            csc_clock_wall_ms(conn->store->config->clock));
    return csc_sqlite_call_run(&call, NULL);
}

static cascade_err
insert_run(write_state *state, const cascade_change *change)
{
    if (csc_uuid_is_nil(&change->run.engine_id))
        state->claimable = true;
    return csc_sqlite_commit_insert_run(state->conn, &change->cascade.id,
                                        &change->run);
}

static cascade_err
start(write_state *state, const cascade_change *change, bool *existed)
{
    bool next = true;
    bool inserted = false;
    cascade_err err = CASCADE_OK;

    *existed = false;
    if (change->key != NULL)
        err = csc_sqlite_messages_is_next(state->conn, change, &next);
    if (err == CASCADE_OK && next)
        err = insert_cascade(state, &change->cascade, &inserted);
    if (err == CASCADE_OK && !inserted)
        return tell_existed(state, change, existed);
    if (inserted)
        state->born = true;
    if (err == CASCADE_OK)
        err = write_rows(state, change);
    if (err == CASCADE_OK && change->cascade.status == CASCADE_RUNNING)
        err = insert_run(state, change);
    if (err == CASCADE_OK && change->key != NULL && change->run_number > 1)
        err = csc_sqlite_messages_set_key(state->conn, change);
    if (err == CASCADE_OK && change->root != NULL)
        err = csc_sqlite_links_lead(state->conn, change->root,
                                    &change->cascade.id, change->run_number);
    return err;
}

/* ---- Writing what is owned ----------------------------------------------- */

static cascade_err
update_cascade(write_state *state, const cascade_row *row)
{
    csc_sqlite_call call;
    int changes = 0;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_sqlite_txn_may_write(state->conn));
    if (row->status == CASCADE_RUNNING) {
        csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_TOUCH_CASCADE);
        csc_sqlite_call_add_uuid(&call, &row->id);
        csc_sqlite_call_add_i64(&call, row->fn_id);
        csc_sqlite_call_add_time(&call, row->updated_at_ms);
        err = csc_sqlite_call_run(&call, &changes);
    }
    if (err == CASCADE_OK && changes == 0) {
        csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_UPDATE_CASCADE);
        csc_sqlite_call_add_uuid(&call, &row->id);
        csc_sqlite_call_add_status(&call, row->status);
        csc_sqlite_call_add_i64(&call, row->fn_id);
        csc_sqlite_call_add_time(&call, row->updated_at_ms);
        err = csc_sqlite_call_run(&call, &changes);
    }
    if (err == CASCADE_OK && changes == 0)
        err = refuse("it does not exist");
    return err;
}

/* RESET_RUN, FREE_RUN or REVIVE_RUN. */
static cascade_err
update_run(write_state *state, const cascade_change *change,
           csc_sqlite_statement id)
{
    const cascade_run_row *run = &change->run;
    csc_sqlite_call call;
    int changes = 0;
    cascade_err err;

    csc_assert(csc_sqlite_txn_may_write(state->conn));
    csc_sqlite_call_begin(&call, state->conn, id);
    csc_sqlite_call_add_uuid(&call, &change->cascade.id);
    csc_sqlite_call_add_uuid(&call, state->engine_id);
    if (id == CSC_SQLITE_FREE_RUN) {
        state->claimable = true;
        csc_sqlite_call_add_i64(&call, run->wake_at_ms);
        csc_sqlite_call_add_text(&call, run->needs != NULL ? run->needs : "");
    } else if (id == CSC_SQLITE_REVIVE_RUN) {
        csc_sqlite_call_add_text(&call, run->queue);
        csc_sqlite_call_add_i64(&call, run->priority);
        csc_sqlite_call_add_text(&call, run->limit_key);
    }
    err = csc_sqlite_call_run(&call, &changes);
    if (err == CASCADE_OK && changes != 1)
        err = refuse("its run does not belong to this incarnation");
    return err;
}

static cascade_err
write_change(write_state *state, const cascade_change *change, bool *existed)
{
    cascade_err err;

    if (change->run_action == CASCADE_RUN_START)
        return start(state, change, existed);
    *existed = false;
    if (change->run_action == CASCADE_RUN_DELETE)
        return csc_sqlite_delete_or_mark(state->conn, &change->cascade.id,
                                         &state->room, existed);
    err = update_cascade(state, &change->cascade);
    if (err == CASCADE_OK)
        err = write_rows(state, change);
    if (err != CASCADE_OK)
        return err;
    switch (change->run_action) {
    case CASCADE_RUN_KEEP:
    case CASCADE_RUN_START:
    case CASCADE_RUN_DELETE:
        break;
    case CASCADE_RUN_RESET:
        err = update_run(state, change, CSC_SQLITE_RESET_RUN);
        break;
    case CASCADE_RUN_FREE:
        err = update_run(state, change, CSC_SQLITE_FREE_RUN);
        break;
    case CASCADE_RUN_REVIVE:
        err = update_run(state, change, CSC_SQLITE_REVIVE_RUN);
        break;
    case CASCADE_RUN_END:
        err = csc_sqlite_delete_rows(state->conn, CSC_SQLITE_DELETE_RUN,
                                     &change->cascade.id);
        break;
    }
    return err;
}

/* Puts the cascade in front of the text, so that a person finds the culprit. */
static cascade_err
name_cascade(cascade_err err, const cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];

    if (err != CASCADE_ERR_REFUSED)
        return err;
    return cascade_store_fail(err, "cascade %s: %s",
                              cascade_uuid_format(id, text), cascade_errmsg());
}

static cascade_err
send(write_state *state, const cascade_change *change)
{
    bool inserted = false;
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < change->send_count && err == CASCADE_OK; i++) {
        err = csc_sqlite_messages_insert(state->conn, &change->sends[i],
                                         &inserted);
        if (inserted)
            state->claimable = true;
    }
    return err;
}

/* Sends behind the rows of all changes, which is when their paths are known to
 * be free. A start that does nothing sends nothing. */
static cascade_err
write_changes(write_state *state, const cascade_change *changes, size_t count,
              bool *existed)
{
    cascade_err err = CASCADE_OK;

    csc_sqlite_delete_begin(&state->room);
    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        err = write_change(state, &changes[i], &existed[i]);
        err = name_cascade(err, &changes[i].cascade.id);
    }
    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        if (!existed[i])
            err =
                name_cascade(send(state, &changes[i]), &changes[i].cascade.id);
    }
    return err;
}

static cascade_err
submit_messages(write_state *state, const cascade_submission *submission)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < submission->message_count && err == CASCADE_OK;
         i++) {
        const cascade_message_row *row = &submission->messages[i];

        err =
            csc_sqlite_messages_submit(state->conn, row, &submission->sent[i]);
        err = name_cascade(err, &row->cascade_id);
        /* Also where it was there: a try whose outcome is not known may have
         * told nobody. */
        state->claimable = true;
    }
    return err;
}

/* Within a statement of an application's, where SQLite has no savepoint, a
 * submission is one start or one message: what is of either can be taken back,
 * and the row of a key comes last. */
static cascade_err
check_alone(const write_state *state, const cascade_submission *submission)
{
    size_t count = submission->start_count + submission->message_count;

    if (state->conn->store->guest.span != CSC_SQLITE_SPAN_STATEMENT)
        return CASCADE_OK;
    for (size_t i = 0; i < submission->start_count; i++)
        count += submission->starts[i].send_count;
    if (count <= 1)
        return CASCADE_OK;
    return cascade_store_fail(CASCADE_ERR_MISUSE,
                              "submit: a statement that writes is being run on "
                              "the connection of this store: within it one "
                              "cascade can be started, or one message sent, "
                              "at a time");
}

static cascade_err
submit_all(write_state *state, const cascade_submission *submission)
{
    cascade_err err = check_alone(state, submission);

    if (err == CASCADE_OK)
        err = write_changes(state, submission->starts, submission->start_count,
                            submission->existed);
    if (err == CASCADE_OK)
        err = submit_messages(state, submission);
    if (err != CASCADE_OK && state->born &&
        state->conn->store->guest.span == CSC_SQLITE_SPAN_STATEMENT)
        err = state->conn->store->guest.session->take_back(
            state->conn, &submission->starts[0].cascade.id, err);
    return err;
}

/* ---- The lane ------------------------------------------------------------ */

static cascade_err
fenced(void)
{
    return cascade_store_fail(CASCADE_ERR_FENCED,
                              "this incarnation or its lane was removed; "
                              "attach a new one");
}

cascade_err
csc_sqlite_commit_get_lane(csc_sqlite_conn *conn, const cascade_uuid *engine_id,
                           uint32_t lane, int64_t *number)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_GET_LANE);
    csc_sqlite_call_add_uuid(&call, engine_id);
    csc_sqlite_call_add_i64(&call, lane);
    err = csc_sqlite_call_next(&call, &row);
    if (row)
        *number = sqlite3_column_int64(call.statement, 0);
    csc_sqlite_call_end(&call);
    return err == CASCADE_OK && !row ? fenced() : err;
}

/* Why the lane row was not where it should be. `*repeated`: because this batch
 * took effect before. */
static cascade_err
judge_lane(csc_sqlite_conn *conn, const cascade_batch *batch, bool *repeated)
{
    int64_t shown = 0;
    cascade_err err = csc_sqlite_commit_get_lane(conn, &batch->engine_id,
                                                 batch->lane, &shown);

    if (err != CASCADE_OK)
        return err;
    *repeated = shown == batch->number;
    if (*repeated)
        return CASCADE_OK;
    return cascade_store_fail(
        CASCADE_ERR_LOST,
        "commit: lane %u shows batch %lld, not %lld or the one before; the "
        "store lost commits, attach anew",
        (unsigned)batch->lane, (long long)shown, (long long)batch->number);
}

static cascade_err
extend_lease(csc_sqlite_conn *conn, const cascade_uuid *engine_id)
{
    const csc_sqlite *store = conn->store;
    csc_sqlite_call call;
    int changes = 0;
    cascade_err err;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_EXTEND_ENGINE);
    csc_sqlite_call_add_uuid(&call, engine_id);
    csc_sqlite_call_add_i64(&call,
                            csc_clock_monotonic_ms(store->config->clock));
    csc_sqlite_call_add_text(&call, store->boot);
    err = csc_sqlite_call_run(&call, &changes);
    return err == CASCADE_OK && changes == 0 ? fenced() : err;
}

static cascade_err
advance_lane(csc_sqlite_conn *conn, const cascade_batch *batch, bool *repeated)
{
    csc_sqlite_call call;
    int changes = 0;
    cascade_err err;

    csc_assert(csc_sqlite_txn_may_write(conn));
    *repeated = false;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_ADVANCE_LANE);
    csc_sqlite_call_add_uuid(&call, &batch->engine_id);
    csc_sqlite_call_add_i64(&call, batch->lane);
    csc_sqlite_call_add_i64(&call, batch->number);
    err = csc_sqlite_call_run(&call, &changes);
    if (err != CASCADE_OK)
        return err;
    if (changes == 0)
        return judge_lane(conn, batch, repeated);
    return extend_lease(conn, &batch->engine_id);
}

/* The batch took effect before: tells again which starts did not, and what its
 * deletions have left. */
static cascade_err
recall(write_state *state, const cascade_batch *batch, bool *existed)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < batch->change_count && err == CASCADE_OK; i++) {
        existed[i] = false;
        if (batch->changes[i].run_action == CASCADE_RUN_START)
            err = tell_existed(state, &batch->changes[i], &existed[i]);
        else if (batch->changes[i].run_action == CASCADE_RUN_DELETE)
            err = csc_sqlite_delete_is_marked(
                state->conn, &batch->changes[i].cascade.id, &existed[i]);
    }
    return err;
}

/* ---- The moves ----------------------------------------------------------- */

/* The commit stands, whether or not the others hear of it. */
static void
tell_others(csc_sqlite *store, const write_state *state)
{
    if (state->claimable)
        (void)csc_sqlite_wait_wake(store);
}

cascade_err
csc_sqlite_commit_batch(void *self, const cascade_batch *batch, bool *existed)
{
    csc_sqlite *store = self;
    write_state state = {.engine_id = &batch->engine_id};
    bool repeated = false;
    cascade_err err = csc_sqlite_txn_begin_write(store, &state.conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return csc_store_undone(err);
    err = advance_lane(state.conn, batch, &repeated);
    if (err == CASCADE_OK && repeated)
        err = recall(&state, batch, existed);
    else if (err == CASCADE_OK)
        err =
            write_changes(&state, batch->changes, batch->change_count, existed);
    err = csc_sqlite_txn_end_told(state.conn, err);
    if (err == CASCADE_OK)
        tell_others(store, &state);
    return err;
}

/* What the function wrote cannot be written twice, so a number that has taken
 * effect is no repetition here. */
cascade_err
csc_sqlite_commit_within(csc_sqlite_conn *conn, const cascade_batch *batch,
                         bool *existed, bool *claimable)
{
    write_state state = {.conn = conn, .engine_id = &batch->engine_id};
    bool repeated = false;
    cascade_err err =
        write_changes(&state, batch->changes, batch->change_count, existed);

    if (err == CASCADE_OK)
        err = advance_lane(conn, batch, &repeated);
    if (err == CASCADE_ERR_LOST || repeated)
        err = cascade_store_fail(
            CASCADE_ERR_LOST,
            "finish: lane %u does not show the batch before %lld: it was "
            "settled, or committed before; nothing of this one is kept",
            (unsigned)batch->lane, (long long)batch->number);
    *claimable = state.claimable;
    return err;
}

cascade_err
csc_sqlite_commit_submit(void *self, const cascade_submission *submission)
{
    csc_sqlite *store = self;
    write_state state = {.engine_id = NULL};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    err = csc_sqlite_txn_begin_write(store, &state.conn);
    if (err != CASCADE_OK)
        return err;
    err = csc_sqlite_txn_end(state.conn, submit_all(&state, submission));
    if (err == CASCADE_OK && !submission->quiet)
        tell_others(store, &state);
    return err;
}
