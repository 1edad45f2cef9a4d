/* SPDX-License-Identifier: MIT
 *
 * Writing: commit (a batch of an engine) and submit (starts and messages from
 * outside), each one round trip.
 *
 *   BEGIN
 *   fence              cascade_lanes: number - 1 -> number, or it raises
 *   start              cascades that are new, with their runs and executions;
 *                      moves the numbers of their keys on
 *   received           messages deleted
 *   executions         inserted, then updated while RUNNING
 *   events
 *   messages           inserted, where their paths are free
 *   links              of runs that continue others, to the last of them
 *   cascades           status, fn_id, updated_at
 *   seals              of these
 *   runs               reset, freed, revived, ended
 *   deletions          of whole cascades: they are marked, a piece of them is
 *                      cut, and what is left is read (delete.c)
 *   COMMIT, Sync
 *
 * A submit tells the waiters too. One that is alone sends the notification in
 * the same round trip, after the COMMIT and with a Sync of its own, and does
 * not wait for what becomes of it. Where several are under way at once they
 * share notifications, as wake() does, which then is the cheaper way.
 *
 * On a guest's connection, within a transaction, nobody is told, and outside a
 * lost connection leaves the outcome unknown: see borrowed.c.
 *
 * Statements without rows are left out. For one row there is a form of each
 * that takes values instead of arrays: of a lone commit, making rows of arrays
 * would be a large part. What must be met by rows raises where
 * it is not (REFUSED): see the README of the statements.
 *
 * THE FENCE, and what if we die or the connection does. The first try may be
 * unfinished in a backend that nobody listens to any more. It holds the row
 * lock of its lane, so a second try waits for it, and then finds:
 *
 *   the lane shows    the first try      the second try
 *   number - 1        was rolled back    writes
 *   number            committed          its fence raises -> OK
 *   no row            does not matter    its fence raises -> FENCED
 *   anything else     does not matter    its fence raises -> LOST: the server
 *                                        has forgotten commits
 *
 * So whatever is UNAVAILABLE here is right to repeat, and the lane decides. A
 * submit has no lane: what it brings is found by its own ids and paths, so it
 * is repeated likewise, and is told what was there. For both an eighth of the
 * time is kept (pool.c), so that whoever waits hears how it ended, and
 * not only that nobody knows.
 *
 * WITH SYNCHRONOUS REPLICATION a COMMIT is answered when the standby has it. A
 * crash of the server or pg_cancel_backend() ends that wait and shows everybody
 * what the standby may not have; a failover would take it back. So what is only
 * found to be there (by the lane, or because a start existed) is told when a
 * transaction of our own, written after it, has been replicated
 * (CSC_POSTGRES_CONFIRM), and a COMMIT that was not waited for is UNAVAILABLE.
 *
 * A MESSAGE is not inserted where its path is that of another, which the unique
 * index tells, or of an execution, which the statement looks for. So nothing is
 * received twice because a sender asks twice, but for one case: the sender
 * looks, and finds no execution; the receiver's commit deletes the message and
 * inserts the execution; the sender then waits at the index for that commit,
 * and inserts what has just been received. Nobody looks again then: a receiver
 * is told of each message whether its path has been received (`repeated`), in
 * the same snapshot, and any commit that could have received it before is one
 * of that cascade's, so it is in that snapshot.
 *
 * A START MAY WAIT FOR A TRANSACTION THAT IS NOT OURS: an application may have
 * started the same cascade in its own, which is open as long as it likes. The
 * server only finds out by waiting. So lock_timeout is short for the statement
 * of the starts alone (START_WAIT_MAX_MS), set and put back in the same round
 * trip; where it runs out the answer is AGAIN, and the engine commits the rest
 * without them. In a submit that is brief it is so for the messages too, whose
 * paths such a transaction may have (S93). The fence keeps its own: it has to
 * wait for a first try. One that merely meets a start of another engine waits
 * as long as that commit takes, and where that is too long it gets AGAIN as
 * well, which costs it another transaction. Of a second try of a batch AGAIN
 * says nothing about the first, which may come to the server later still: so
 * what may be AGAIN is not repeated here, or it would hide that.
 *
 * What can wait for what: cascades, then keys, messages, links, runs, each
 * sorted, and between commits that is all there is but messages, since the rest
 * is owned. Only two that bring the same two messages, of which one has just
 * received the one and brings the other, could wait for each other; that takes
 * two senders with one request id. The server ends one of them (40P01), which
 * is repeated. Claims, repairs and purges give in where they meet a batch
 * crosswise. A detachment takes the engine, its lanes and then its runs, a
 * finish that nobody waits for any more its run before its lane: the server
 * ends one of them, and the detachment is repeated.
 *
 * A commit with sends wakes nobody. That is the engine's to do, with `wake`, as
 * where it gives up a run whose node it does not know.
 *
 * A start that found its cascade there may itself be the one that made it, in
 * a first try: it is when execution 0 has the id that it brought. That is read
 * after the commit, in a statement that sees what the first one waited for. If
 * reading fails the answer is UNAVAILABLE, and the repetition tells.
 */
#include "store/postgres/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

#define FIRST_MAX 4
#define CALLS_MAX (28 + FIRST_MAX)
#define PARAMS_MAX 19
#define START_WAIT_MAX_MS 250

typedef struct write_state {
    const char *move;
    const cascade_batch *batch; /* NULL: submit */
    const cascade_change *changes;
    size_t count;
    bool *existed;
    const cascade_message_row *messages; /* of a submit */
    size_t message_count;
    cascade_sent *sent;
    csc_postgres_call calls[CALLS_MAX];
    csc_postgres_params params[PARAMS_MAX];
    size_t call_count;
    size_t params_count;
    bool quiet; /* nobody is told */
    bool notifies;
    bool doubtful;     /* it may have taken effect, whatever it answered */
    bool within;       /* an open transaction: the fence is last */
    bool brief;        /* its starts, and what it was sent, wait
                          START_WAIT_MAX_MS at most */
    char start_ms[24]; /* lock_timeout of these */
    char other_ms[24]; /* and of what follows the starts of a batch */
} write_state;

/* ---- What is sent -------------------------------------------------------- */

static void
add_call_with(write_state *state, csc_postgres_statement statement,
              const csc_postgres_params *params)
{
    csc_assert(state->call_count < CALLS_MAX);
    state->calls[state->call_count++] =
        (csc_postgres_call){.statement = statement, .params = params};
}

static csc_postgres_params *
add_call(write_state *state, csc_postgres_statement statement)
{
    csc_postgres_params *params = &state->params[state->params_count];

    csc_assert(state->params_count < PARAMS_MAX);
    state->params_count++;
    csc_postgres_params_init(params);
    add_call_with(state, statement, params);
    return params;
}

static void
add_fence(write_state *state)
{
    csc_postgres_params *params = add_call(state, CSC_POSTGRES_FENCE);

    csc_postgres_params_uuid(params, &state->batch->engine_id);
    csc_postgres_params_i32(params, (int32_t)state->batch->lane);
    csc_postgres_params_i64(params, state->batch->number);
}

/* NULL when there are no rows: then nothing is sent. */
static csc_postgres_params *
add_rows(write_state *state, csc_postgres_statement statement,
         csc_postgres_rows *rows)
{
    csc_postgres_params *params;

    if (rows->count == 0)
        return NULL;
    if (rows->count == 1) {
        params = add_call(state, csc_postgres_sql_for_one(statement));
        csc_postgres_params_row(params, rows);
        return params;
    }
    params = add_call(state, statement);
    csc_postgres_params_rows(params, rows);
    return params;
}

/* A statement that is told whose the runs must be (`owned`) and how many rows
 * it must meet. */
static void
add_counted(write_state *state, csc_postgres_statement statement,
            csc_postgres_rows *rows, bool owned)
{
    csc_postgres_params *params = add_rows(state, statement, rows);

    if (params == NULL)
        return;
    if (owned)
        csc_postgres_params_uuid(params, &state->batch->engine_id);
    csc_postgres_params_i64(params, (int64_t)rows->count);
}

/* A quarter of the deadline leaves time for another try. */
static int64_t
start_wait_ms(const cascade_store_config *config)
{
    int64_t ms = config->deadline_ms / 4;

    if (ms > START_WAIT_MAX_MS)
        return START_WAIT_MAX_MS;
    return ms > 0 ? ms : 1; /* 0 would be: for ever */
}

/* For what follows in the transaction. `text` is to stay until it was sent. */
static void
add_lock_timeout(write_state *state, int64_t ms, char text[24])
{
    (void)snprintf(text, 24, "%lld", (long long)ms);
    csc_postgres_params_text(add_call(state, CSC_POSTGRES_LOCK_TIMEOUT), text);
}

/* Whether the batch has more than starts. */
static bool
has_others(const write_state *state, const csc_postgres_batch *rows)
{
    return rows->start_cascades.count < state->count || rows->sends.count > 0 ||
           rows->submitted.count > 0;
}

/* With keys and with seals, or without: each has a form of its own. */
static csc_postgres_statement
start_form(const csc_postgres_batch *rows)
{
    if (rows->start_seals.count > 0)
        return rows->keyed > 0 ? CSC_POSTGRES_START_KEYED_SEALED
                               : CSC_POSTGRES_START_SEALED;
    return rows->keyed > 0 ? CSC_POSTGRES_START_KEYED : CSC_POSTGRES_START;
}

static bool
is_keyed_start(csc_postgres_statement statement)
{
    return statement == CSC_POSTGRES_START_KEYED ||
           statement == CSC_POSTGRES_START_KEYED_SEALED;
}

static bool
is_start(csc_postgres_statement statement)
{
    return statement == CSC_POSTGRES_START ||
           statement == CSC_POSTGRES_START_SEALED || is_keyed_start(statement);
}

static void
add_starts(write_state *state, const cascade_store_config *config,
           csc_postgres_batch *rows, const char *sequence)
{
    csc_postgres_params *params;

    if (rows->start_cascades.count == 0)
        return;
    if (state->brief)
        add_lock_timeout(state, start_wait_ms(config), state->start_ms);
    params = add_call(state, start_form(rows));
    csc_postgres_params_rows(params, &rows->start_cascades);
    csc_postgres_params_rows(params, &rows->start_runs);
    csc_postgres_params_rows(params, &rows->start_executions);
    csc_postgres_params_rows(params, &rows->start_events);
    csc_postgres_params_text(params, sequence);
    if (rows->keyed > 0)
        csc_postgres_params_rows(params, &rows->start_keys);
    if (rows->start_seals.count > 0)
        csc_postgres_params_rows(params, &rows->start_seals);
    if (state->brief && state->batch != NULL && has_others(state, rows))
        add_lock_timeout(state, csc_postgres_lock_ms(config), state->other_ms);
}

static void
add_deletes(write_state *state, csc_postgres_rows *ids, bool sealed)
{
    csc_postgres_params *params;

    if (ids->count == 0)
        return;
    params = add_call(state, CSC_POSTGRES_MARK);
    csc_postgres_params_rows(params, ids);
    add_call_with(state, CSC_POSTGRES_END_RUNS, params);
    if (sealed)
        add_call_with(state, CSC_POSTGRES_DELETE_SEALS, params);
    csc_assert(state->call_count + CSC_POSTGRES_PIECES < CALLS_MAX);
    csc_assert(state->params_count < PARAMS_MAX);
    csc_postgres_delete_fill(&state->calls[state->call_count], params,
                             &state->params[state->params_count++],
                             CASCADE_DELETE_ROWS_MAX);
    state->call_count += CSC_POSTGRES_PIECES;
    add_call_with(state, CSC_POSTGRES_READ_MARKED, params);
}

/* What is said of a message may be news of another transaction: it is told when
 * the standby has that too. */
static void
add_submitted(write_state *state, const cascade_store_config *config,
              csc_postgres_rows *messages)
{
    if (state->message_count == 0)
        return;
    if (state->brief && state->count == 0)
        add_lock_timeout(state, start_wait_ms(config), state->start_ms);
    csc_postgres_params_rows(add_call(state, CSC_POSTGRES_SUBMIT_MESSAGES),
                             messages);
    add_call_with(state, CSC_POSTGRES_CONFIRM, NULL);
}

static void
add_calls(write_state *state, csc_postgres_conn *conn, const char *sequence)
{
    csc_postgres_batch *rows = conn->batch;
    csc_postgres_params *params;

    if (state->batch != NULL && !state->within)
        add_fence(state);
    add_starts(state, conn->store->config, rows, sequence);
    add_rows(state, CSC_POSTGRES_DELETE_RECEIVED, &rows->received);
    add_rows(state, CSC_POSTGRES_INSERT_EXECUTIONS, &rows->inserts);
    add_counted(state, CSC_POSTGRES_UPDATE_EXECUTIONS, &rows->updates, false);
    params = add_rows(state, CSC_POSTGRES_INSERT_EVENTS, &rows->events);
    if (params != NULL)
        csc_postgres_params_text(params, sequence);
    add_rows(state, CSC_POSTGRES_INSERT_SENDS, &rows->sends);
    add_rows(state, CSC_POSTGRES_LINK_CHAINS, &rows->links);
    add_counted(state, CSC_POSTGRES_UPDATE_CASCADES, &rows->cascades, false);
    add_rows(state, CSC_POSTGRES_WRITE_SEALS, &rows->seals);
    add_counted(state, CSC_POSTGRES_RESET_RUNS, &rows->resets, true);
    add_counted(state, CSC_POSTGRES_FREE_RUNS, &rows->frees, true);
    add_counted(state, CSC_POSTGRES_REVIVE_RUNS, &rows->revives, true);
    add_rows(state, CSC_POSTGRES_END_RUNS, &rows->ends);
    add_deletes(state, &rows->deletes, conn->store->config->sealed);
    add_submitted(state, conn->store->config, &rows->submitted);
    if (state->within)
        add_fence(state);
}

/* ---- What existed -------------------------------------------------------- */

static int
compare_change(const void *id, const void *change)
{
    return csc_uuid_compare(id, &((const cascade_change *)change)->cascade.id);
}

/* The index of the change of a cascade; `count` when there is none. */
static size_t
find_change(const write_state *state, const cascade_uuid *id)
{
    const cascade_change *found = bsearch(id, state->changes, state->count,
                                          sizeof(*found), compare_change);

    return found == NULL ? state->count : (size_t)(found - state->changes);
}

static bool
is_first(const cascade_change *change, const cascade_uuid *id)
{
    const cascade_uuid *first = csc_postgres_batch_first_id(change);

    return first != NULL && csc_uuid_equal(first, id);
}

/* Of the starts that are marked in `existed`, unmarks those whose execution 0
 * is in the table. */
static cascade_err
read_first(csc_postgres_conn *conn, write_state *state)
{
    csc_postgres_rows ids = {.count = 0};
    csc_postgres_params params;
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_READ_FIRST, .params = &params},
        {.statement = CSC_POSTGRES_CONFIRM}};
    const PGresult *found;
    cascade_err err = CASCADE_OK;

    csc_postgres_rows_start(&ids, "u");
    for (size_t i = 0; i < state->count; i++) {
        if (state->existed[i])
            csc_postgres_rows_uuid(&ids, 0, &state->changes[i].cascade.id);
    }
    if (!csc_postgres_rows_good(&ids)) {
        err = csc_fail_memory();
        goto out;
    }
    csc_postgres_params_init(&params);
    csc_postgres_params_rows(&params, &ids);
    err = csc_postgres_conn_write(conn, state->move, calls, 2, NULL);
    found = calls[0].result;
    for (int row = 0; err == CASCADE_OK && row < PQntuples(found); row++) {
        cascade_uuid cascade_id = csc_postgres_result_uuid(found, row, 0);
        cascade_uuid id = csc_postgres_result_uuid(found, row, 1);
        size_t at = find_change(state, &cascade_id);

        if (at < state->count && is_first(&state->changes[at], &id))
            state->existed[at] = false;
    }
out:
    csc_postgres_conn_clear(calls, 2);
    csc_postgres_rows_fini(&ids);
    return err;
}

/* `marked` has the deleted cascades of which something is left. */
static void
tell_marked(write_state *state, const PGresult *marked)
{
    for (int row = 0; marked != NULL && row < PQntuples(marked); row++) {
        cascade_uuid id = csc_postgres_result_uuid(marked, row, 0);
        size_t at = find_change(state, &id);

        if (at < state->count)
            state->existed[at] = true;
    }
}

/* The same where an earlier try took effect. */
static cascade_err
read_marked(csc_postgres_conn *conn, write_state *state)
{
    csc_postgres_rows ids = {.count = 0};
    csc_postgres_params params;
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_READ_MARKED, .params = &params},
        {.statement = CSC_POSTGRES_CONFIRM}};
    cascade_err err = CASCADE_OK;

    csc_postgres_rows_start(&ids, "u");
    for (size_t i = 0; i < state->count; i++) {
        if (state->changes[i].run_action != CASCADE_RUN_DELETE)
            continue;
        csc_postgres_rows_uuid(&ids, 0, &state->changes[i].cascade.id);
        ids.count++;
    }
    if (!csc_postgres_rows_good(&ids))
        err = csc_fail_memory();
    if (err == CASCADE_OK && ids.count > 0) {
        csc_postgres_params_init(&params);
        csc_postgres_params_rows(&params, &ids);
        err = csc_postgres_conn_write(conn, state->move, calls, 2, NULL);
        if (err == CASCADE_OK)
            tell_marked(state, calls[0].result);
        csc_postgres_conn_clear(calls, 2);
    }
    csc_postgres_rows_fini(&ids);
    return err;
}

/* The commit is done; `fresh` has the starts that were new, NULL when it was an
 * earlier try that took effect. */
static cascade_err
tell_existed(csc_postgres_conn *conn, write_state *state, const PGresult *fresh)
{
    size_t open = 0;

    for (size_t i = 0; i < state->count; i++)
        state->existed[i] = state->changes[i].run_action == CASCADE_RUN_START;
    for (int row = 0; fresh != NULL && row < PQntuples(fresh); row++) {
        cascade_uuid id = csc_postgres_result_uuid(fresh, row, 0);
        size_t at = find_change(state, &id);

        if (at < state->count)
            state->existed[at] = false;
    }
    for (size_t i = 0; i < state->count; i++)
        open += state->existed[i];
    if (open == 0 || read_first(conn, state) == CASCADE_OK)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_UNAVAILABLE,
                    "%s: it %s; what existed before could not be read: %s",
                    state->move, conn->within ? "is taken back" : "took effect",
                    cascade_errmsg());
}

static const PGresult *
result_of(const write_state *state, csc_postgres_statement statement)
{
    for (size_t i = 0; i < state->call_count; i++) {
        if (state->calls[i].statement == statement)
            return state->calls[i].result;
    }
    return NULL;
}

static const PGresult *
fresh_starts(const write_state *state)
{
    for (size_t i = 0; i < state->call_count; i++) {
        if (is_start(state->calls[i].statement))
            return state->calls[i].result;
    }
    return NULL;
}

/* ---- What was sent ------------------------------------------------------- */

static void
tell_sent(write_state *state)
{
    const PGresult *result = result_of(state, CSC_POSTGRES_SUBMIT_MESSAGES);

    for (size_t i = 0; i < state->message_count; i++)
        state->sent[i] =
            (cascade_sent)csc_postgres_result_i64(result, (int)i, 0);
}

/* ---- The moves ----------------------------------------------------------- */

/* What the lane shows; CASCADE_ERR_FENCED when it is gone. */
static cascade_err
read_lane(csc_postgres_conn *conn, const write_state *state, int64_t *number)
{
    csc_postgres_params params;
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_READ_LANE, .params = &params},
        {.statement = CSC_POSTGRES_CONFIRM}};
    cascade_err err;
    bool there;

    csc_postgres_params_init(&params);
    csc_postgres_params_uuid(&params, &state->batch->engine_id);
    csc_postgres_params_i32(&params, (int32_t)state->batch->lane);
    err = csc_postgres_conn_write(conn, state->move, calls, 2, NULL);
    there = err == CASCADE_OK && PQntuples(calls[0].result) > 0;
    *number = there ? csc_postgres_result_i64(calls[0].result, 0, 0) : 0;
    csc_postgres_conn_clear(calls, 2);
    if (err == CASCADE_OK && !there)
        err = csc_fail(CASCADE_ERR_FENCED,
                       "%s: this incarnation was removed; its cascades belong "
                       "to others now",
                       state->move);
    return err;
}

static cascade_err
fail_lane(const write_state *state, int64_t number)
{
    return csc_fail(CASCADE_ERR_LOST,
                    "%s: the lane shows batch %lld where %lld or %lld was "
                    "expected: the server has lost commits",
                    state->move, (long long)number,
                    (long long)state->batch->number - 1,
                    (long long)state->batch->number);
}

/* The fence has raised: what does the lane show? Where it cannot be asked any
 * more, the batch was not refused: it may have taken effect long ago. */
static cascade_err
decide(csc_postgres_conn *conn, write_state *state)
{
    int64_t number;
    cascade_err err;

    conn->doubtful = true;
    if (conn->broken)
        return csc_postgres_error_lost(conn);
    err = read_lane(conn, state, &number);
    if (err != CASCADE_OK)
        return err;
    if (number != state->batch->number)
        return fail_lane(state, number);
    err = tell_existed(conn, state, NULL);
    return err == CASCADE_OK ? read_marked(conn, state) : err;
}

static bool
has_raised(const csc_postgres_trouble *trouble)
{
    return trouble->call != NULL && strcmp(trouble->sqlstate, "22012") == 0;
}

/* The fence did: the lane is not where the batch has it. */
static bool
is_fenced(const csc_postgres_trouble *trouble)
{
    return has_raised(trouble) &&
           trouble->call->statement == CSC_POSTGRES_FENCE;
}

/* A key was moved on meanwhile. */
static bool
is_overtaken(const csc_postgres_trouble *trouble)
{
    return has_raised(trouble) && is_keyed_start(trouble->call->statement);
}

static cascade_err
fail_overtaken(const write_state *state)
{
    return csc_fail(CASCADE_ERR_UNAVAILABLE,
                    "%s: the run of a key was started, and its cascade "
                    "deleted, at the same time",
                    state->move);
}

static bool
may_wait(csc_postgres_statement statement)
{
    return is_start(statement) || statement == CSC_POSTGRES_SUBMIT_MESSAGES;
}

/* The wait of these was over, and all is rolled back. */
static bool
is_held(const csc_postgres_conn *conn, const write_state *state,
        const csc_postgres_trouble *trouble)
{
    if (!state->brief || conn->broken || trouble->call == NULL)
        return false;
    return may_wait(trouble->call->statement) &&
           strcmp(trouble->sqlstate, "55P03") == 0;
}

static cascade_err
fail_held(const write_state *state)
{
    return csc_fail(CASCADE_ERR_AGAIN,
                    "%s: a start or a message in it waits for another "
                    "transaction, such as one that brings the same (SQLSTATE "
                    "55P03)",
                    state->move);
}

static cascade_err
write_batch(csc_postgres_conn *conn, void *context)
{
    write_state *state = context;
    csc_postgres_trouble trouble;
    csc_postgres_params params;
    csc_postgres_call notify;
    const char *sequence;
    cascade_err err = csc_postgres_sequence(conn, &sequence);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    err = csc_postgres_batch_fill(&conn->batch, state->changes, state->count,
                                  state->messages, state->message_count);
    if (err != CASCADE_OK)
        goto out;
    state->call_count = 0;
    state->params_count = 0;
    add_calls(state, conn, sequence);
    csc_postgres_wait_fill_notify(conn->store, &notify, &params);
    err = csc_postgres_conn_write_then(conn, state->move, state->calls,
                                       state->call_count, &trouble,
                                       state->notifies ? &notify : NULL);
    if (err == CASCADE_OK) {
        tell_sent(state);
        err = tell_existed(conn, state, fresh_starts(state));
        tell_marked(state, result_of(state, CSC_POSTGRES_READ_MARKED));
    } else if (is_fenced(&trouble)) {
        err = decide(conn, state);
    } else if (is_overtaken(&trouble)) {
        err = fail_overtaken(state);
    } else if (is_held(conn, state, &trouble)) {
        err = fail_held(state);
    }
    state->doubtful = conn->doubtful;
    csc_postgres_conn_clear(state->calls, state->call_count);
out:
    csc_postgres_batch_trim(&conn->batch);
    return err;
}

/* Until when a try takes that the engine repeats: there is time then to find
 * out what became of it while those who wait for it still do. */
static int64_t
try_until(const csc_postgres *store)
{
    return csc_postgres_now_ms() + store->config->deadline_ms -
           csc_postgres_pool_spare_ms(store->config);
}

/* What must not fail once the commit is done is there before it. */
cascade_err
csc_postgres_commit_batch(void *self, const cascade_batch *batch, bool *existed)
{
    write_state state = {.move = "commit",
                         .batch = batch,
                         .changes = batch->changes,
                         .count = batch->change_count,
                         .brief = true};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    state.existed = csc_mem_zalloc(state.count + 1, sizeof(bool));
    if (state.existed == NULL)
        return csc_fail_memory();
    err = csc_postgres_pool_run_until(self, try_until(self), CSC_POSTGRES_ONCE,
                                      write_batch, &state);
    if (err == CASCADE_OK && state.count > 0)
        memcpy(existed, state.existed, state.count * sizeof(bool));
    csc_mem_free(state.existed);
    if (err != CASCADE_OK && !state.doubtful)
        err = csc_store_undone(err);
    return err;
}

/* ---- Within a transaction ------------------------------------------------ */

/* The batch was not written. With the fence last, what another owner has done
 * since shows first in the rows: the lane tells which it was. */
static cascade_err
decide_within(csc_postgres_conn *conn, const write_state *state,
              cascade_err failed)
{
    csc_error_kept kept;
    int64_t number;
    cascade_err err;

    csc_error_keep(&kept, failed);
    err = read_lane(conn, state, &number);
    if (err != CASCADE_OK)
        return err;
    if (number != state->batch->number - 1)
        return fail_lane(state, number);
    return csc_error_restore(&kept);
}

/* Who is told that something of the batch failed: an attempt that the
 * transaction can be made anew for, or its data. */
static cascade_err
judge_within(csc_postgres_conn *conn, const write_state *state,
             const csc_postgres_trouble *trouble, cascade_err err)
{
    const char *sqlstate = trouble->sqlstate;

    if (trouble->call != NULL && strcmp(sqlstate, "25006") == 0)
        return csc_fail(CASCADE_ERR_FAILED,
                        "%s: the transaction is read-only (SQLSTATE 25006)",
                        state->move);
    if (conn->broken || trouble->call == NULL)
        return err;
    if (is_overtaken(trouble))
        err = csc_fail(CASCADE_ERR_FAILED,
                       "%s: the run of a key was started, "
                       "and its cascade deleted, at the same time",
                       state->move);
    else if (strncmp(sqlstate, "40", 2) == 0)
        err = csc_fail(CASCADE_ERR_FAILED, "%s", cascade_errmsg());
    return decide_within(conn, state, err);
}

static void
tell_trouble(const write_state *state, const csc_postgres_trouble *trouble,
             csc_postgres_within *within)
{
    const csc_postgres_call *end = state->calls + within->first_count;

    memcpy(within->sqlstate, trouble->sqlstate, sizeof(within->sqlstate));
    if (trouble->call != NULL && trouble->call < end)
        within->failed = &within->first[trouble->call - state->calls];
    within->in_commit = trouble->call == NULL;
}

static cascade_err
write_within(csc_postgres_conn *conn, write_state *state,
             csc_postgres_within *within)
{
    size_t count = within->first_count;
    csc_postgres_trouble trouble;
    cascade_err err;

    err = csc_postgres_conn_commit(conn, state->move, state->calls,
                                   state->call_count, &trouble);
    for (size_t i = 0; i < count; i++) {
        within->first[i].result = state->calls[i].result;
        state->calls[i].result = NULL;
    }
    if (err != CASCADE_OK) {
        tell_trouble(state, &trouble, within);
        if (within->failed == NULL)
            err = judge_within(conn, state, &trouble, err);
    }
    return err;
}

cascade_err
csc_postgres_commit_within(csc_postgres_conn *conn, csc_postgres_within *within,
                           const cascade_batch *batch, bool *existed)
{
    write_state state = {.move = "finish",
                         .batch = batch,
                         .changes = batch->changes,
                         .count = batch->change_count,
                         .existed = existed,
                         .within = true};
    const char *sequence;
    cascade_err err = csc_postgres_sequence(conn, &sequence);

    csc_assert(within->first_count <= FIRST_MAX);
    if (err == CASCADE_OK)
        err = csc_postgres_batch_fill(&conn->batch, batch->changes,
                                      batch->change_count, NULL, 0);
    if (err != CASCADE_OK)
        goto out;
    for (size_t i = 0; i < within->first_count; i++)
        state.calls[state.call_count++] = within->first[i];
    add_calls(&state, conn, sequence);
    err = write_within(conn, &state, within);
    if (err == CASCADE_OK)
        err = tell_existed(conn, &state, fresh_starts(&state));
    csc_postgres_conn_clear(state.calls, state.call_count);
out:
    csc_postgres_batch_trim(&conn->batch);
    return err;
}

/* ---- Submitting ---------------------------------------------------------- */

/* One start of a submit and where it stood. */
typedef struct start_place {
    const cascade_change *change;
    size_t index;
} start_place;

static int
compare_places(const void *a, const void *b)
{
    const start_place *left = a;
    const start_place *right = b;
    int order =
        csc_uuid_compare(&left->change->cascade.id, &right->change->cascade.id);

    if (order != 0)
        return order;
    return left->index < right->index ? -1 : left->index > right->index;
}

/* What a submit works on: its starts in the order of ids, each cascade once. */
typedef struct submit_state {
    start_place *places;
    cascade_change *changes;
    bool *existed;
    size_t count; /* of `changes` */
} submit_state;

static cascade_err
sort_starts(const cascade_change *starts, size_t count, submit_state *submit)
{
    submit->places = csc_mem_zalloc(count + 1, sizeof(start_place));
    submit->changes = csc_mem_zalloc(count + 1, sizeof(cascade_change));
    submit->existed = csc_mem_zalloc(count + 1, sizeof(bool));
    if (submit->places == NULL || submit->changes == NULL ||
        submit->existed == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < count; i++) {
        submit->places[i] = (start_place){.change = &starts[i], .index = i};
    }
    qsort(submit->places, count, sizeof(start_place), compare_places);
    for (size_t i = 0; i < count; i++) {
        const cascade_change *change = submit->places[i].change;
        size_t have = submit->count;

        if (have == 0 || !csc_uuid_equal(&submit->changes[have - 1].cascade.id,
                                         &change->cascade.id))
            submit->changes[submit->count++] = *change;
    }
    return CASCADE_OK;
}

/* A second start of one cascade finds that of the first, unless it is the same
 * once more. */
static void
spread_existed(const submit_state *submit, size_t count, bool *existed)
{
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        const start_place *place = &submit->places[i];
        const cascade_uuid *made;

        while (!csc_uuid_equal(&submit->changes[at].cascade.id,
                               &place->change->cascade.id))
            at++;
        made = csc_postgres_batch_first_id(&submit->changes[at]);
        existed[place->index] =
            submit->existed[at] ||
            (made != NULL && !is_first(place->change, made));
    }
}

/* True when it is the only one. */
static bool
enter_submit(csc_postgres *store)
{
    bool alone;

    csc_lock_take(&store->wake_mutex);
    alone = store->submits++ == 0;
    csc_lock_give(&store->wake_mutex);
    return alone;
}

static void
leave_submit(csc_postgres *store)
{
    csc_lock_take(&store->wake_mutex);
    store->submits--;
    csc_lock_give(&store->wake_mutex);
}

/* Losing a notification costs a poll interval; the submit stands. Both have the
 * time of one move (S15). */
static cascade_err
submit_and_tell(csc_postgres *store, write_state *state)
{
    int64_t deadline_ms = csc_postgres_now_ms() + store->config->deadline_ms;
    bool alone = enter_submit(store);
    cascade_err err;

    state->notifies = alone && !state->quiet && !store->config->pooler;
    if (state->brief)
        err = csc_postgres_pool_run_until(
            store, try_until(store), CSC_POSTGRES_ONCE, write_batch, state);
    else
        err = csc_postgres_pool_run_until(
            store, deadline_ms, CSC_POSTGRES_ALWAYS, write_batch, state);
    leave_submit(store);
    if (err == CASCADE_ERR_UNAVAILABLE && store->guest != NULL)
        return csc_postgres_guest_fail(store, err);
    if (err == CASCADE_OK && !state->notifies && !state->quiet &&
        !csc_postgres_guest_is_within(store))
        (void)csc_postgres_wait_wake_until(store, deadline_ms);
    return err;
}

/* On a guest's connection the application's settings hold. */
cascade_err
csc_postgres_commit_submit(void *self, const cascade_submission *submission)
{
    const csc_postgres *store = self;
    size_t count = submission->start_count;
    submit_state submit = {.count = 0};
    write_state state = {.move = "submit",
                         .messages = submission->messages,
                         .message_count = submission->message_count,
                         .brief = submission->brief && store->guest == NULL,
                         .quiet = submission->quiet};
    cascade_err err = sort_starts(submission->starts, count, &submit);

    csc_assert(csc_lock_is_none_held());
    state.sent = csc_mem_zalloc(state.message_count + 1, sizeof(*state.sent));
    if (err == CASCADE_OK && state.sent == NULL)
        err = csc_fail_memory();
    if (err != CASCADE_OK)
        goto out;
    state.changes = submit.changes;
    state.count = submit.count;
    state.existed = submit.existed;
    err = submit_and_tell(self, &state);
    if (err != CASCADE_OK)
        goto out;
    spread_existed(&submit, count, submission->existed);
    if (state.message_count > 0)
        memcpy(submission->sent, state.sent,
               state.message_count * sizeof(*state.sent));
out:
    csc_mem_free(state.sent);
    csc_mem_free(submit.places);
    csc_mem_free(submit.changes);
    csc_mem_free(submit.existed);
    return err;
}
