/* SPDX-License-Identifier: MIT
 *
 * One connection. libpq is used in non-blocking mode only; every wait is a
 * poll() with the deadline of the move, so a server that fell silent costs no
 * more. Then the connection is given up: nobody knows what it would answer.
 *
 *   conn_open -> session settings -> idle <-> exchange ... -> conn_close
 *                                      \------- broken ------/
 *
 * An exchange in pipeline mode:
 *
 *   BEGIN, [settings], call, call, ..., COMMIT, Sync  -->
 *                          <--  one result for each, then that of the Sync
 *
 * After the first error the server skips everything up to the Sync, COMMIT
 * included: the transaction stays open, and failed, until this file rolls it
 * back. If we die between, the server does.
 *
 * A call may follow the transaction, with a Sync of its own: in a transaction
 * that failed it fails too. Its answer is owed, and read over when the
 * connection is used next:
 *
 *   BEGIN, call, ..., COMMIT, Sync, then-call, Sync  -->
 *                          <--  as above    :    <-- not waited for
 *
 * Most statements are prepared when they are first used. Behind a pooler they
 * stay unnamed, and what would be settings of the session is said in every
 * transaction. An exchange that only reads has none there; then the
 * search_path, on which hangs what names mean, comes first:
 *
 *   set search_path, call, ..., Sync  -->
 *
 * What is set for a transaction is set up to the Sync, and a transaction pooler
 * keeps the backend up to there too.
 *
 * On a guest's connection (borrowed.c) a transaction may be open already.
 * Then there is no BEGIN, no setting and no COMMIT, and a savepoint, which
 * spans the move, is what is rolled back to.
 *
 * Not bounded by the deadline: the resolver of libc, which libpq calls for host
 * names; /etc/resolv.conf bounds it.
 */
#include "store/postgres/internal.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

#define IDLE_IN_TRANSACTION_MAX_MS 5000

int64_t
csc_postgres_now_ms(void)
{
    return csc_clock_monotonic_ms(&csc_clock_system);
}

/* ---- Waiting ------------------------------------------------------------- */

cascade_err
csc_postgres_conn_fail_deadline(csc_postgres_conn *conn)
{
    conn->broken = true;
    conn->silent = true;
    return csc_fail(CASCADE_ERR_UNAVAILABLE,
                    "PostgreSQL did not answer within the deadline of %lld "
                    "ms%s",
                    (long long)conn->store->config->deadline_ms,
                    conn->guest ? ": the connection was cut off, make it anew"
                                : "");
}

/* Waits for the socket, at most until `until_ms`: is it ready? */
cascade_err
csc_postgres_conn_poll(csc_postgres_conn *conn, short events, int64_t until_ms,
                       bool *ready)
{
    struct pollfd fds[2] = {{.fd = PQsocket(conn->pg), .events = events},
                            {.fd = conn->cancel_fd, .events = POLLIN}};
    int64_t left_ms = until_ms - csc_postgres_now_ms();
    int count;

    csc_assert(csc_lock_is_none_held());
    *ready = false;
    if (fds[0].fd < 0)
        return csc_postgres_error_lost(conn);
    if (left_ms < 0)
        left_ms = 0;
    count = poll(fds, 2, left_ms > INT_MAX ? INT_MAX : (int)left_ms);
    if (count < 0 && errno != EINTR) {
        conn->broken = true;
        return csc_fail(CASCADE_ERR_SYSTEM, "poll: %s", strerrorname_np(errno));
    }
    if (count > 0 && fds[1].revents != 0) {
        conn->broken = true;
        return csc_fail(CASCADE_ERR_AGAIN, "the wait was ended");
    }
    *ready = count > 0;
    return CASCADE_OK;
}

cascade_err
csc_postgres_conn_wait_ready(csc_postgres_conn *conn, int64_t until_ms,
                             bool *ready)
{
    *ready = false;
    for (;;) {
        int unsent = PQflush(conn->pg);
        bool readable = false;
        cascade_err err;

        if (unsent < 0)
            return csc_postgres_error_lost(conn);
        if (!PQisBusy(conn->pg)) {
            *ready = true;
            return CASCADE_OK;
        }
        if (csc_postgres_now_ms() >= until_ms)
            return CASCADE_OK;
        err = csc_postgres_conn_poll(
            conn, (short)(unsent == 0 ? POLLIN : POLLIN | POLLOUT), until_ms,
            &readable);
        if (err != CASCADE_OK)
            return err;
        if (readable && PQconsumeInput(conn->pg) == 0)
            return csc_postgres_error_lost(conn);
    }
}

cascade_err
csc_postgres_conn_next(csc_postgres_conn *conn, PGresult **result)
{
    bool ready;
    cascade_err err =
        csc_postgres_conn_wait_ready(conn, conn->deadline_ms, &ready);

    *result = NULL;
    if (err != CASCADE_OK)
        return err;
    if (!ready)
        return csc_postgres_conn_fail_deadline(conn);
    *result = PQgetResult(conn->pg);
    return CASCADE_OK;
}

cascade_err
csc_postgres_conn_fetch(csc_postgres_conn *conn, PGresult **result)
{
    PGresult *more = NULL;
    cascade_err err = csc_postgres_conn_next(conn, result);

    while (err == CASCADE_OK && *result != NULL &&
           PQresultStatus(*result) != PGRES_PIPELINE_SYNC) {
        err = csc_postgres_conn_next(conn, &more);
        if (more == NULL)
            break;
        PQclear(more);
    }
    if (err == CASCADE_OK && *result == NULL)
        err = csc_postgres_error_lost(conn);
    if (err != CASCADE_OK) {
        PQclear(*result);
        *result = NULL;
    }
    return err;
}

cascade_err
csc_postgres_conn_fetch_sync(csc_postgres_conn *conn)
{
    bool synced = false;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && !synced) {
        PGresult *result;

        err = csc_postgres_conn_fetch(conn, &result);
        if (err == CASCADE_OK)
            synced = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        PQclear(result);
        if (err == CASCADE_OK && PQstatus(conn->pg) != CONNECTION_OK)
            err = csc_postgres_error_lost(conn);
    }
    if (err == CASCADE_OK && !conn->owed)
        PQclear(PQgetResult(conn->pg)); /* NULL: libpq is idle from now on */
    return err;
}

/* Reads over what is owed. */
static cascade_err
settle(csc_postgres_conn *conn)
{
    if (!conn->owed)
        return CASCADE_OK;
    conn->owed = false;
    return csc_postgres_conn_fetch_sync(conn);
}

static bool
is_good(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* ---- Sending ------------------------------------------------------------- */

static void
statement_name(csc_postgres_statement statement, char name[16])
{
    (void)snprintf(name, 16, "cascade_%d", (int)statement);
}

cascade_err
csc_postgres_conn_send_text(csc_postgres_conn *conn, const char *sql,
                            const csc_postgres_params *params)
{
    int sent;

    if (params == NULL)
        sent = PQsendQueryParams(conn->pg, sql, 0, NULL, NULL, NULL, NULL, 1);
    else
        sent = PQsendQueryParams(conn->pg, sql, params->count, NULL,
                                 params->values, params->lengths,
                                 params->formats, 1);
    return sent == 1 ? CASCADE_OK : csc_postgres_error_lost(conn);
}

cascade_err
csc_postgres_conn_send(csc_postgres_conn *conn,
                       csc_postgres_statement statement,
                       const csc_postgres_params *params)
{
    static const csc_postgres_params none;
    char name[16];

    if (!conn->prepared[statement])
        return csc_postgres_conn_send_text(conn, conn->store->sql[statement],
                                           params);
    if (params == NULL)
        params = &none;
    statement_name(statement, name);
    if (PQsendQueryPrepared(conn->pg, name, params->count, params->values,
                            params->lengths, params->formats, 1) != 1)
        return csc_postgres_error_lost(conn);
    return CASCADE_OK;
}

cascade_err
csc_postgres_conn_send_sync(csc_postgres_conn *conn)
{
    if (PQpipelineSync(conn->pg) != 1)
        return csc_postgres_error_lost(conn);
    return CASCADE_OK;
}

/* The server gives up a lock sooner than we give up the server, so the
 * connection survives. */
int64_t
csc_postgres_lock_ms(const cascade_store_config *config)
{
    return config->deadline_ms - config->deadline_ms / 4;
}

/* The parameters of CSC_POSTGRES_SETTINGS. */
void
csc_postgres_conn_fill_settings(const cascade_store_config *config, bool local,
                                csc_postgres_params *params, char texts[3][24])
{
    int64_t deadline_ms = config->deadline_ms;
    int64_t idle_ms = deadline_ms < IDLE_IN_TRANSACTION_MAX_MS
                          ? deadline_ms
                          : IDLE_IN_TRANSACTION_MAX_MS;
    int64_t lock_ms = csc_postgres_lock_ms(config);

    if (deadline_ms > INT_MAX) {
        deadline_ms = INT_MAX;
        lock_ms = INT_MAX;
    }
    (void)snprintf(texts[0], 24, "%lld", (long long)lock_ms);
    (void)snprintf(texts[1], 24, "%lld", (long long)deadline_ms);
    (void)snprintf(texts[2], 24, "%lld", (long long)idle_ms);
    csc_postgres_params_init(params);
    csc_postgres_params_bool(params, local);
    csc_postgres_params_text(
        params, config->durability == CASCADE_DURABILITY_FULL ? "on" : "off");
    for (int i = 0; i < 3; i++)
        csc_postgres_params_text(params, texts[i]);
}

/* Whether the session does not have our settings. Within a transaction that is
 * not ours the search_path was set when that was entered. */
static bool
is_bare(const csc_postgres_conn *conn)
{
    return !conn->within && (conn->bare || conn->store->config->pooler);
}

/* BEGIN, and what else a session would have been told. */
cascade_err
csc_postgres_conn_send_begin(csc_postgres_conn *conn)
{
    csc_postgres_params params;
    char texts[3][24];
    cascade_err err;

    csc_assert(!conn->owed);
    if (conn->within)
        return CASCADE_OK;
    err = csc_postgres_conn_send(conn, CSC_POSTGRES_BEGIN, NULL);
    if (err != CASCADE_OK || !is_bare(conn))
        return err;
    csc_postgres_conn_fill_settings(conn->store->config, true, &params, texts);
    return csc_postgres_conn_send(conn, CSC_POSTGRES_SETTINGS, &params);
}

cascade_err
csc_postgres_conn_send_path(csc_postgres_conn *conn)
{
    csc_assert(!conn->owed);
    return is_bare(conn) ? csc_postgres_conn_send(conn, CSC_POSTGRES_PATH, NULL)
                         : CASCADE_OK;
}

/* Which statements an exchange is made of. */
typedef struct statement_set {
    bool has[CSC_POSTGRES_STATEMENTS];
} statement_set;

/* What a connection seldom says is not worth a name. */
static const bool is_unnamed[CSC_POSTGRES_STATEMENTS] = {
    [CSC_POSTGRES_SETTINGS] = true,
    [CSC_POSTGRES_SEQUENCE] = true,
    [CSC_POSTGRES_READ_FIRST] = true,
    [CSC_POSTGRES_CONFIRM] = true,
    [CSC_POSTGRES_UNBLOCK] = true,
    [CSC_POSTGRES_LOAD_FAMILY] = true,
    [CSC_POSTGRES_LISTEN] = true,
    [CSC_POSTGRES_PAUSE_QUEUE] = true,
    [CSC_POSTGRES_RESUME_QUEUE] = true,
    [CSC_POSTGRES_LIST_QUEUES] = true,
    [CSC_POSTGRES_COUNT_TOTALS] = true,
    [CSC_POSTGRES_LOCK_CASCADES] = true,
    [CSC_POSTGRES_REPAIR] = true,
    [CSC_POSTGRES_PURGE] = true,
    [CSC_POSTGRES_READ_MARKED] = true,
    [CSC_POSTGRES_STRAY_EXECUTIONS] = true,
    [CSC_POSTGRES_STRAY_EVENTS] = true,
    [CSC_POSTGRES_STRAY_RUNS] = true,
    [CSC_POSTGRES_STRAY_MESSAGES] = true,
    [CSC_POSTGRES_STRAY_ERASURES] = true,
    [CSC_POSTGRES_STRAY_LANES] = true,
    [CSC_POSTGRES_STRAY_ENGINES] = true,
    [CSC_POSTGRES_ERASE_TAKE] = true,
    [CSC_POSTGRES_ERASE_LOCK] = true,
};

/* Leaves in the set what is still to be prepared; sends that. */
static cascade_err
send_prepares(csc_postgres_conn *conn, statement_set *set, bool *sent)
{
    csc_assert(!conn->owed);
    *sent = false;
    for (int i = 0; i < CSC_POSTGRES_STATEMENTS; i++) {
        char name[16];

        set->has[i] = set->has[i] && !conn->prepared[i] && !is_unnamed[i];
        if (!set->has[i])
            continue;
        statement_name((csc_postgres_statement)i, name);
        if (PQsendPrepare(conn->pg, name, conn->store->sql[i], 0, NULL) != 1)
            return csc_postgres_error_lost(conn);
        *sent = true;
    }
    return *sent ? csc_postgres_conn_send_sync(conn) : CASCADE_OK;
}

static cascade_err
receive_prepare(csc_postgres_conn *conn, const char *move, int statement)
{
    PGresult *result;
    cascade_err err = csc_postgres_conn_fetch(conn, &result);

    if (err != CASCADE_OK)
        return err;
    if (is_good(result))
        conn->prepared[statement] = true;
    else
        err = csc_postgres_error_result(conn, move, result);
    PQclear(result);
    return err;
}

static cascade_err
prepare_set(csc_postgres_conn *conn, const char *move, statement_set *set)
{
    bool sent;
    cascade_err err = settle(conn);

    if (err != CASCADE_OK || conn->bare || conn->store->config->pooler)
        return err;
    err = send_prepares(conn, set, &sent);
    if (err != CASCADE_OK || !sent)
        return err;
    for (int i = 0; i < CSC_POSTGRES_STATEMENTS && err == CASCADE_OK; i++) {
        if (set->has[i])
            err = receive_prepare(conn, move, i);
    }
    if (err != CASCADE_OK)
        return csc_postgres_conn_recover(conn, err);
    return csc_postgres_conn_fetch_sync(conn);
}

cascade_err
csc_postgres_conn_prepare(csc_postgres_conn *conn, const char *move,
                          const csc_postgres_statement *statements,
                          size_t count)
{
    statement_set set = {.has = {false}};

    for (size_t i = 0; i < count; i++)
        set.has[statements[i]] = true;
    return prepare_set(conn, move, &set);
}

/* ---- Exchanges ----------------------------------------------------------- */

cascade_err
csc_postgres_conn_rollback(csc_postgres_conn *conn)
{
    cascade_err err;

    if (conn->within)
        return csc_postgres_guest_rollback(conn);
    if (PQtransactionStatus(conn->pg) == PQTRANS_IDLE)
        return CASCADE_OK;
    err = csc_postgres_conn_send(conn, CSC_POSTGRES_ROLLBACK, NULL);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send_sync(conn);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_fetch_sync(conn);
    if (err == CASCADE_OK && PQtransactionStatus(conn->pg) != PQTRANS_IDLE)
        err = csc_postgres_error_lost(conn);
    return err;
}

/* What an exchange has learned so far. */
typedef struct exchange_state {
    const char *move;
    csc_postgres_trouble *trouble;
    cascade_err err;
} exchange_state;

/* Fetches one statement's result. Those that follow the first error were
 * skipped by the server and say nothing. */
static void
receive(csc_postgres_conn *conn, exchange_state *state, csc_postgres_call *call,
        PGresult **result)
{
    const char *sqlstate;
    cascade_err err = csc_postgres_conn_fetch(conn, result);

    if (err != CASCADE_OK) {
        state->trouble->sqlstate[0] = '\0';
        state->trouble->call = NULL;
        state->err = err;
        return;
    }
    if (is_good(*result) || state->err != CASCADE_OK)
        return;
    sqlstate = PQresultErrorField(*result, PG_DIAG_SQLSTATE);
    state->trouble->call = call;
    (void)snprintf(state->trouble->sqlstate, sizeof(state->trouble->sqlstate),
                   "%s", sqlstate == NULL ? "" : sqlstate);
    state->err = csc_postgres_error_result(conn, state->move, *result);
}

/* Fetches the result of BEGIN, the settings or COMMIT, where they were sent. */
static void
receive_frame(csc_postgres_conn *conn, exchange_state *state, const char *tag)
{
    PGresult *result = NULL;

    csc_assert(tag == NULL || state->move != NULL);
    if (conn->broken || conn->within)
        return;
    receive(conn, state, NULL, &result);
    /* A COMMIT that the server turned into a rollback is not one. */
    if (state->err == CASCADE_OK && tag != NULL &&
        strcmp(PQcmdStatus(result), tag) != 0)
        state->err = csc_postgres_error_lost(conn);
    PQclear(result);
}

/* The same of CSC_POSTGRES_PATH. */
static void
receive_path(csc_postgres_conn *conn, exchange_state *state)
{
    if (is_bare(conn))
        receive_frame(conn, state, NULL);
}

cascade_err
csc_postgres_conn_receive_path(csc_postgres_conn *conn, const char *move)
{
    csc_postgres_trouble trouble;
    exchange_state state = {.move = move, .trouble = &trouble};

    receive_path(conn, &state);
    return state.err;
}

static cascade_err
send_calls(csc_postgres_conn *conn, const csc_postgres_call *calls,
           size_t count)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        err = csc_postgres_conn_send(conn, calls[i].statement, calls[i].params);
    return err;
}

static void
receive_calls(csc_postgres_conn *conn, exchange_state *state,
              csc_postgres_call *calls, size_t count)
{
    for (size_t i = 0; i < count && !conn->broken; i++)
        receive(conn, state, &calls[i], &calls[i].result);
}

cascade_err
csc_postgres_conn_recover(csc_postgres_conn *conn, cascade_err err)
{
    cascade_err more;

    if (conn->broken)
        return err;
    more = csc_postgres_conn_fetch_sync(conn);
    if (more == CASCADE_OK)
        more = settle(conn);
    if (more == CASCADE_OK)
        more = csc_postgres_conn_rollback(conn);
    return more == CASCADE_OK ? err : more;
}

static cascade_err
finish(csc_postgres_conn *conn, const exchange_state *state)
{
    if (state->err != CASCADE_OK)
        return csc_postgres_conn_recover(conn, state->err);
    return csc_postgres_conn_fetch_sync(conn);
}

static void
add_calls(statement_set *set, const csc_postgres_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        set->has[calls[i].statement] = true;
}

static cascade_err
prepare_write(csc_postgres_conn *conn, const char *move,
              const csc_postgres_call *calls, size_t count,
              const csc_postgres_call *then)
{
    statement_set set = {
        .has = {[CSC_POSTGRES_BEGIN] = true, [CSC_POSTGRES_COMMIT] = true}};

    add_calls(&set, calls, count);
    if (then != NULL)
        add_calls(&set, then, 1);
    return prepare_set(conn, move, &set);
}

/* What an exchange that writes sends. */
typedef struct write_plan {
    csc_postgres_call *calls;
    size_t count;
    const csc_postgres_call *then; /* NULL: nothing */
    bool open;                     /* the transaction is: no BEGIN */
} write_plan;

static cascade_err
send_write(csc_postgres_conn *conn, const write_plan *plan)
{
    cascade_err err =
        plan->open ? CASCADE_OK : csc_postgres_conn_send_begin(conn);

    if (err == CASCADE_OK)
        err = send_calls(conn, plan->calls, plan->count);
    if (err == CASCADE_OK && !conn->within)
        err = csc_postgres_conn_send(conn, CSC_POSTGRES_COMMIT, NULL);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send_sync(conn);
    if (err != CASCADE_OK || plan->then == NULL)
        return err;
    err = send_calls(conn, plan->then, 1);
    conn->owed = err == CASCADE_OK;
    return err == CASCADE_OK ? csc_postgres_conn_send_sync(conn) : err;
}

/* Somebody has cancelled the wait for the standby: the transaction stands here,
 * but one that the standby does not have must not pass for one that it has. */
static cascade_err
fail_unconfirmed(csc_postgres_conn *conn)
{
    conn->broken = true;
    return csc_fail(CASCADE_ERR_UNAVAILABLE,
                    "the wait for the standby was cancelled: the commit is not "
                    "replicated yet");
}

/* Whether the server has said that the transaction was rolled back. SQLSTATE
 * 40003: it does not know. */
static bool
is_rolled_back(const csc_postgres_conn *conn, const exchange_state *state)
{
    return state->err != CASCADE_OK && !conn->broken &&
           strcmp(state->trouble->sqlstate, "40003") != 0;
}

static cascade_err
exchange(csc_postgres_conn *conn, const char *move, const write_plan *plan,
         csc_postgres_trouble *trouble)
{
    csc_postgres_trouble unasked = {0};
    exchange_state state = {.move = move,
                            .trouble = trouble == NULL ? &unasked : trouble};
    bool doubtful = conn->doubtful;
    cascade_err err;

    csc_assert(csc_lock_is_none_held() && !conn->owed);
    memset(state.trouble, 0, sizeof(*state.trouble));
    conn->unconfirmed = false;
    conn->doubtful = true;
    err = send_write(conn, plan);
    if (err != CASCADE_OK)
        return err;
    if (!plan->open)
        receive_frame(conn, &state, NULL);
    if (!plan->open && is_bare(conn))
        receive_frame(conn, &state, NULL);
    receive_calls(conn, &state, plan->calls, plan->count);
    receive_frame(conn, &state, "COMMIT");
    if (state.err == CASCADE_OK && conn->unconfirmed)
        state.err = fail_unconfirmed(conn);
    if (is_rolled_back(conn, &state))
        conn->doubtful = doubtful;
    return finish(conn, &state);
}

cascade_err
csc_postgres_conn_write_then(csc_postgres_conn *conn, const char *move,
                             csc_postgres_call *calls, size_t count,
                             csc_postgres_trouble *trouble,
                             const csc_postgres_call *then)
{
    const write_plan plan = {.calls = calls, .count = count, .then = then};
    cascade_err err = prepare_write(conn, move, calls, count, then);

    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK)
        return exchange(conn, move, &plan, trouble);
    if (trouble != NULL)
        memset(trouble, 0, sizeof(*trouble));
    return err;
}

cascade_err
csc_postgres_conn_commit(csc_postgres_conn *conn, const char *move,
                         csc_postgres_call *calls, size_t count,
                         csc_postgres_trouble *trouble)
{
    const write_plan plan = {.calls = calls, .count = count, .open = true};

    csc_assert(csc_lock_is_none_held());
    return exchange(conn, move, &plan, trouble);
}

cascade_err
csc_postgres_conn_write(csc_postgres_conn *conn, const char *move,
                        csc_postgres_call *calls, size_t count,
                        csc_postgres_trouble *trouble)
{
    return csc_postgres_conn_write_then(conn, move, calls, count, trouble,
                                        NULL);
}

cascade_err
csc_postgres_conn_read(csc_postgres_conn *conn, const char *move,
                       csc_postgres_call *calls, size_t count)
{
    csc_postgres_trouble trouble;
    exchange_state state = {.move = move, .trouble = &trouble};
    statement_set set = {.has = {false}};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    add_calls(&set, calls, count);
    err = prepare_set(conn, move, &set);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send_path(conn);
    if (err == CASCADE_OK)
        err = send_calls(conn, calls, count);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send_sync(conn);
    if (err != CASCADE_OK)
        return err;
    receive_path(conn, &state);
    receive_calls(conn, &state, calls, count);
    return finish(conn, &state);
}

cascade_err
csc_postgres_conn_query(csc_postgres_conn *conn, const char *move,
                        const char *sql, const csc_postgres_params *params,
                        PGresult **result)
{
    csc_postgres_trouble trouble;
    exchange_state state = {.move = move, .trouble = &trouble};
    cascade_err err = settle(conn);

    csc_assert(csc_lock_is_none_held());
    *result = NULL;
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send_path(conn);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send_text(conn, sql, params);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send_sync(conn);
    if (err != CASCADE_OK)
        return err;
    receive_path(conn, &state);
    if (!conn->broken)
        receive(conn, &state, NULL, result);
    return finish(conn, &state);
}

void
csc_postgres_conn_clear(csc_postgres_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        PQclear(calls[i].result);
        calls[i].result = NULL;
    }
}

cascade_err
csc_postgres_conn_receive_script(csc_postgres_conn *conn, const char *move)
{
    cascade_err err = CASCADE_OK;
    PGresult *result = NULL;

    do {
        cascade_err got = csc_postgres_conn_next(conn, &result);

        if (got != CASCADE_OK)
            return got;
        if (result != NULL && !is_good(result) && err == CASCADE_OK)
            err = csc_postgres_error_result(conn, move, result);
        PQclear(result);
    } while (result != NULL);
    return err;
}

/* Outside the pipeline mode, which knows no scripts. */
cascade_err
csc_postgres_conn_script(csc_postgres_conn *conn, const char *move,
                         const char *sql)
{
    cascade_err err = settle(conn);

    if (err != CASCADE_OK)
        return err;
    if (PQexitPipelineMode(conn->pg) != 1 || PQsendQuery(conn->pg, sql) != 1)
        return csc_postgres_error_lost(conn);
    err = csc_postgres_conn_receive_script(conn, move);
    if (!conn->broken && PQenterPipelineMode(conn->pg) != 1)
        return csc_postgres_error_lost(conn);
    return err;
}
