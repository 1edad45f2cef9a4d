/* SPDX-License-Identifier: MIT
 *
 * Transactions of nodes: a connection, with a transaction open on it, is lent
 * to the function of a node; what the function has written there is committed
 * with the batch that records the node, or not at all.
 *
 *             begin                     finish
 *   idle -------------> lent: open ----------------> ours: one exchange
 *    ^  \ or a new one      |                       /        |        \
 *    |                      | abandon       committed     nothing    not known:
 *    |                      v                   |       took effect    closed,
 *    +-- cleaning <---- ROLLBACK <--------------+------------/         settle
 *
 * These connections are apart from those of the other moves, which commits of
 * other lanes wait for, and there are at most CSC_POSTGRES_NATIVE_MAX of them.
 * While one is lent it is blocking and not in pipeline mode.
 *
 * BEGIN says, in one round trip
 *
 *   BEGIN ISOLATION LEVEL READ COMMITTED
 *   SET LOCAL statement_timeout, idle_in_transaction_session_timeout = limit
 *   SET LOCAL cascade.transaction = mark
 *
 * and nothing that would take a snapshot, so that the function may still say
 * SET TRANSACTION ISOLATION LEVEL. Its other settings are those of the role:
 * what we set for our own statements (no sequential scans, no hash joins) would
 * be bad for others.
 *
 * FINISH looks first at what libpq knows: a transaction that is no more, one
 * that has failed, a COPY. Then it sends, as one exchange:
 *
 *   mark               still this transaction, or it raises
 *   SET CONSTRAINTS    what the function has deferred is checked while it is
 *                      still its own affair, and before the lane is locked
 *   reset              role, client_encoding, ... as they were
 *   settings           ours, as of every transaction behind a pooler: from here
 *                      on names mean PostgreSQL's own; before, none is left to
 *                      the function's search_path
 *   rows               as in commit.c
 *   fence              cascade_lanes: number - 1 -> number, or it raises
 *   COMMIT, Sync
 *
 * The mark is there because a function that commits and begins anew leaves the
 * connection as it was. (Where no more can be asked, since it then failed, what
 * libpq has seen of a COMMIT must do.) The fence is the last statement, so that
 * who removes our incarnation waits for one round trip at most, never for the
 * function.
 *
 * IF WE DIE, or the connection does,
 *   - while the function runs: the server rolls back as soon as it notices,
 *     which idle_in_transaction_session_timeout and the keepalives bound;
 *   - before all of the exchange was sent: the same. A process stopped in the
 *     middle of it holds its lane: reap.c;
 *   - between that and the reply: the lane tells (settle). It shows `number`
 *     when all of it is there, the function's rows with ours. When it shows
 *     number - 1, settle makes it number + 1: behind the lock of a backend that
 *     is still at it, whose end decides; before one that is not yet there,
 *     whose fence then raises;
 *   - after the reply: it is there.
 * A batch cannot be sent twice, since what the function wrote is gone with its
 * transaction.
 *
 * CLEANING follows each transaction: settings, role, cursors, LISTEN, advisory
 * locks and temporary tables that the function has left on the session. It is
 * sent at once, since locks are among them, and answered when the connection is
 * used next. Behind a pooler the session is not ours, so nothing of it is
 * cleaned: there the function has SET LOCAL alone.
 */
#include "store/postgres/internal.h"

#include <inttypes.h>
#include <libpq-events.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/postgres.h"
#include "cascade/store.h"
#include "store/store.h"

#define END_MAX_MS 2000 /* of a ROLLBACK */
#define MARK_SIZE 24
#define FIRST_COUNT 4

/* A transaction that is lent. */
typedef struct lent_state {
    csc_postgres *store;
    csc_postgres_conn *conn;
    int64_t limit_ms;
    int64_t until_ms; /* monotonic: its limit */
    char mark[MARK_SIZE];
} lent_state;

/* ---- Connections --------------------------------------------------------- */

/* What is wanted of most of them, prepared while the session is clean: inside
 * the function's transaction that would be an exchange of its own. */
static const csc_postgres_statement prepared[] = {
    CSC_POSTGRES_NATIVE_MARK,
    CSC_POSTGRES_NATIVE_CONSTRAINTS,
    CSC_POSTGRES_NATIVE_RESET,
    CSC_POSTGRES_INSERT_EXECUTION,
    CSC_POSTGRES_UPDATE_EXECUTION,
    CSC_POSTGRES_INSERT_EVENT,
    CSC_POSTGRES_UPDATE_CASCADE,
    CSC_POSTGRES_RESET_RUN,
    CSC_POSTGRES_FREE_RUN,
    CSC_POSTGRES_END_RUN,
    CSC_POSTGRES_FENCE,
    CSC_POSTGRES_COMMIT,
    CSC_POSTGRES_ROLLBACK,
};

static cascade_err
send_script(csc_postgres_conn *conn, const char *sql)
{
    if (PQsendQuery(conn->pg, sql) != 1)
        return csc_postgres_error_lost(conn);
    return CASCADE_OK;
}

/* Makes the session as a new one is, but for what is prepared. Nobody waits for
 * the answer. */
static cascade_err
send_cleaning(csc_postgres_conn *conn)
{
    cascade_err err = CASCADE_OK;

    if (PQexitPipelineMode(conn->pg) != 1)
        return csc_postgres_error_lost(conn);
    if (!conn->store->config->pooler) {
        err = send_script(conn, conn->store->sql[CSC_POSTGRES_NATIVE_CLEAN]);
        conn->owed = err == CASCADE_OK;
    }
    return err;
}

/* What the function commits by itself passes by here, whatever comes after. */
static int
see_event(PGEventId id, void *info, void *context)
{
    csc_postgres_conn *conn = context;
    const PGEventResultCreate *made = info;

    if (id == PGEVT_CONNRESET)
        conn->ended = true;
    if (id == PGEVT_RESULTCREATE) {
        const char *tag = PQcmdStatus(made->result);

        conn->ended = conn->ended || strcmp(tag, "COMMIT") == 0 ||
                      strcmp(tag, "PREPARE TRANSACTION") == 0;
    }
    return 1;
}

static cascade_err
open_conn(csc_postgres *store, int64_t deadline_ms, csc_postgres_conn **conn)
{
    const char *sequence;
    cascade_err err = csc_postgres_pool_connect(store, deadline_ms, conn);

    if (err != CASCADE_OK)
        return err;
    err = csc_postgres_sequence(*conn, &sequence);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_prepare(*conn, "begin", prepared,
                                        sizeof(prepared) / sizeof(prepared[0]));
    if (err == CASCADE_OK &&
        PQregisterEventProc((*conn)->pg, see_event, "cascade", *conn) != 1)
        err = csc_fail_memory();
    (*conn)->bare = true;
    if (err == CASCADE_OK)
        err = send_cleaning(*conn);
    if (err != CASCADE_OK) {
        csc_postgres_conn_close(*conn);
        *conn = NULL;
    }
    return err;
}

/* Waits until there are fewer than the most, and takes an idle connection: NULL
 * when there is none. */
static cascade_err
enter(csc_postgres *store, int64_t deadline_ms, csc_postgres_conn **conn)
{
    cascade_err err = CASCADE_OK;

    *conn = NULL;
    csc_lock_take(&store->mutex);
    while (store->native_count >= CSC_POSTGRES_NATIVE_MAX &&
           csc_postgres_now_ms() < deadline_ms)
        csc_postgres_pool_sleep(&store->changed, &store->mutex, deadline_ms);
    if (store->native_count < CSC_POSTGRES_NATIVE_MAX) {
        store->native_count++;
        *conn = store->native_idle;
        if (*conn != NULL)
            store->native_idle = (*conn)->next;
    } else {
        err = csc_fail(CASCADE_ERR_UNAVAILABLE,
                       "begin: all %d connections for transactions of nodes "
                       "were in use for %lld ms; lower transaction_count, or "
                       "open another store handle",
                       CSC_POSTGRES_NATIVE_MAX,
                       (long long)store->config->deadline_ms);
    }
    csc_lock_give(&store->mutex);
    return err;
}

/* `conn` is good, or NULL. */
static void
leave(csc_postgres *store, csc_postgres_conn *conn)
{
    csc_lock_take(&store->mutex);
    store->native_count--;
    if (conn != NULL) {
        conn->next = store->native_idle;
        store->native_idle = conn;
    }
    pthread_cond_broadcast(&store->changed);
    csc_lock_give(&store->mutex);
}

/* Takes the connection back from pipeline mode, with or without a transaction
 * on it. */
static void
give_back(csc_postgres *store, csc_postgres_conn *conn)
{
    bool good = !conn->broken && PQstatus(conn->pg) == CONNECTION_OK &&
                csc_postgres_conn_rollback(conn) == CASCADE_OK &&
                send_cleaning(conn) == CASCADE_OK;

    if (!good)
        csc_postgres_conn_close(conn);
    leave(store, good ? conn : NULL);
}

/* ---- Begin --------------------------------------------------------------- */

static void
drop_notifies(PGconn *pg)
{
    PGnotify *notify = PQnotifies(pg);

    while (notify != NULL) {
        PQfreemem(notify);
        notify = PQnotifies(pg);
    }
}

static int64_t
server_limit(int64_t limit_ms)
{
    if (limit_ms < 1)
        return 1; /* 0 is none */
    return limit_ms > INT_MAX ? INT_MAX : limit_ms;
}

/* A script knows no parameters: they are put in. */
static void
fill_opening(csc_buf *sql, const lent_state *lent)
{
    const char *at = lent->store->sql[lent->store->config->pooler
                                          ? CSC_POSTGRES_NATIVE_OPEN
                                          : CSC_POSTGRES_NATIVE_OPEN_DIRECT];

    csc_buf_init(sql);
    for (; *at != '\0'; at++) {
        if (*at != '$')
            csc_buf_add_char(sql, *at);
        else if (*++at == '1')
            csc_buf_add_format(sql, "%" PRId64, server_limit(lent->limit_ms));
        else
            csc_buf_add_text(sql, lent->mark);
    }
}

static cascade_err
open_transaction(lent_state *lent)
{
    csc_postgres_conn *conn = lent->conn;
    cascade_err err = CASCADE_OK;
    csc_buf sql;

    fill_opening(&sql, lent);
    if (sql.failed)
        err = csc_fail_memory();
    if (conn->owed &&
        csc_postgres_conn_receive_script(conn, "begin") != CASCADE_OK)
        err = csc_postgres_error_lost(conn);
    conn->owed = false;
    if (err == CASCADE_OK)
        err = send_script(conn, sql.data);
    csc_buf_fini(&sql);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_receive_script(conn, "begin");
    if (err == CASCADE_OK)
        err = csc_postgres_conn_release(conn);
    if (err == CASCADE_OK)
        drop_notifies(conn->pg);
    conn->ended = false;
    return err;
}

/* One on a connection that was idle, or on a new one; what was idle may have
 * ended meanwhile. */
static cascade_err
begin_on(lent_state *lent, csc_postgres_conn *idle, int64_t deadline_ms)
{
    bool fresh = idle == NULL;
    cascade_err err = CASCADE_OK;

    lent->conn = idle;
    if (fresh)
        err = open_conn(lent->store, deadline_ms, &lent->conn);
    else if (!csc_postgres_conn_alive(idle))
        err = csc_postgres_error_lost(idle);
    if (lent->conn == NULL)
        return err;
    lent->conn->deadline_ms = deadline_ms;
    if (err == CASCADE_OK)
        err = open_transaction(lent);
    if (err != CASCADE_OK)
        csc_postgres_conn_close(lent->conn);
    return err;
}

static cascade_err
begin_lent(lent_state *lent, int64_t deadline_ms)
{
    csc_postgres_conn *idle;
    bool was_idle;
    cascade_err err;

    do {
        err = enter(lent->store, deadline_ms, &idle);
        if (err != CASCADE_OK)
            return err;
        was_idle = idle != NULL;
        err = begin_on(lent, idle, deadline_ms);
        if (err != CASCADE_OK)
            leave(lent->store, NULL);
    } while (err == CASCADE_ERR_UNAVAILABLE && was_idle &&
             csc_postgres_now_ms() < deadline_ms);
    return err;
}

cascade_err
csc_postgres_native_begin(void *self, int64_t limit_ms, cascade_native *native)
{
    csc_postgres *store = self;
    int64_t deadline_ms = csc_postgres_now_ms() + store->config->deadline_ms;
    lent_state *lent = csc_mem_zalloc(1, sizeof(*lent));
    cascade_err err;

    if (lent == NULL)
        return csc_fail_memory();
    lent->store = store;
    lent->limit_ms = limit_ms;
    csc_lock_take(&store->mutex);
    (void)snprintf(lent->mark, sizeof(lent->mark), "%" PRIu64,
                   ++store->native_begun);
    csc_lock_give(&store->mutex);
    err = begin_lent(lent, deadline_ms);
    if (err != CASCADE_OK) {
        csc_mem_free(lent);
        return err;
    }
    lent->until_ms = csc_clock_add(csc_postgres_now_ms(), limit_ms);
    *native = (cascade_native){.handle = lent->conn->pg, .own = lent};
    return CASCADE_OK;
}

/* ---- Finish -------------------------------------------------------------- */

static cascade_err
fail_ended(csc_postgres_conn *conn)
{
    conn->broken = true;
    return csc_fail(CASCADE_ERR_MISUSE,
                    "finish: the node's function has ended its transaction "
                    "itself: leave COMMIT and ROLLBACK to the library");
}

/* A ROLLBACK and a BEGIN leave no other trace than RESET ALL does. */
static cascade_err
fail_unmarked(csc_postgres_conn *conn)
{
    conn->broken = true;
    return csc_fail(CASCADE_ERR_MISUSE,
                    "finish: the node's function has ended its transaction "
                    "itself, or taken its mark away: leave COMMIT, ROLLBACK "
                    "and RESET ALL to the library");
}

static cascade_err
fail_late(const lent_state *lent)
{
    return csc_fail(CASCADE_ERR_TIMEOUT,
                    "finish: the transaction was open for longer than its "
                    "limit of %lld ms, and is rolled back",
                    (long long)lent->limit_ms);
}

static cascade_err
fail_left(csc_postgres_conn *conn, const char *what)
{
    conn->broken = true;
    return csc_fail(CASCADE_ERR_FAILED,
                    "finish: the node's function has left %s: nothing is "
                    "committed",
                    what);
}

/* Whether the transaction can be ended in order. Otherwise the connection is to
 * be closed, which ends it too. */
static bool
is_usable(const csc_postgres_conn *conn)
{
    PGTransactionStatusType status = PQtransactionStatus(conn->pg);

    return !conn->broken && PQstatus(conn->pg) == CONNECTION_OK &&
           PQpipelineStatus(conn->pg) == PQ_PIPELINE_OFF &&
           (status == PQTRANS_INTRANS || status == PQTRANS_INERROR);
}

/* What its statements failed with nobody here has seen: where there are several
 * servers, it may be that this one writes no more. */
static void
doubt(lent_state *lent)
{
    if (lent->store->several_hosts)
        lent->conn->broken = true;
}

static int64_t
end_within(const lent_state *lent)
{
    int64_t deadline_ms = lent->store->config->deadline_ms;

    return deadline_ms < END_MAX_MS ? deadline_ms : END_MAX_MS;
}

/* PQreset() too: what came after it was in no transaction. */
static bool
has_ended(const csc_postgres_conn *conn)
{
    return conn->ended || (PQstatus(conn->pg) == CONNECTION_OK &&
                           PQtransactionStatus(conn->pg) == PQTRANS_IDLE);
}

static bool
is_in_copy(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT ||
           status == PGRES_COPY_BOTH;
}

/* Reads what the function has not fetched, for as long as a ROLLBACK may take:
 * a COMMIT may be among it. In pipeline mode nothing is between two queries but
 * one NULL. */
static void
fetch_left(lent_state *lent)
{
    csc_postgres_conn *conn = lent->conn;
    bool pipeline = PQpipelineStatus(conn->pg) != PQ_PIPELINE_OFF;
    int ends = pipeline ? 2 : 1;
    int seen = 0;
    bool copy = false;

    if (conn->broken || PQstatus(conn->pg) != CONNECTION_OK ||
        (!pipeline && PQtransactionStatus(conn->pg) != PQTRANS_ACTIVE))
        return;
    conn->deadline_ms = csc_postgres_now_ms() + end_within(lent);
    if (PQsetnonblocking(conn->pg, 1) != 0 ||
        (pipeline && PQpipelineSync(conn->pg) != 1))
        return;
    while (seen < ends && !copy) {
        PGresult *result;

        if (csc_postgres_conn_next(conn, &result) != CASCADE_OK)
            return;
        seen = result == NULL ? seen + 1 : 0;
        copy = is_in_copy(result);
        PQclear(result);
    }
}

/* What the function has left, as far as libpq knows. */
static cascade_err
look_at(lent_state *lent)
{
    csc_postgres_conn *conn = lent->conn;
    PGTransactionStatusType status = PQtransactionStatus(conn->pg);
    bool lost = conn->broken || PQstatus(conn->pg) != CONNECTION_OK;
    bool late = csc_postgres_now_ms() >= lent->until_ms;

    fetch_left(lent);
    conn->broken = !is_usable(conn);
    if (has_ended(conn))
        return fail_ended(conn);
    if (late)
        return fail_late(lent);
    if (lost)
        return fail_left(conn, "a connection that is lost");
    if (PQpipelineStatus(conn->pg) != PQ_PIPELINE_OFF)
        return fail_left(conn, "the connection in pipeline mode");
    if (status == PQTRANS_ACTIVE)
        return fail_left(conn, "a COPY, or results that it has not fetched");
    if (status == PQTRANS_INERROR)
        return csc_fail(CASCADE_ERR_FAILED,
                        "finish: a statement of the node's function has "
                        "failed, and left its transaction so");
    return CASCADE_OK;
}

/* Who has failed: the exchange of `within` has. */
static cascade_err
judge(const lent_state *lent, const csc_postgres_within *within,
      cascade_err err)
{
    const char *sqlstate = within->sqlstate;
    const csc_postgres_call *failed = within->failed;
    const char *constraint;

    if (lent->conn->broken || sqlstate[0] == '\0')
        return err;
    if (failed != NULL && failed->statement == CSC_POSTGRES_NATIVE_MARK &&
        strcmp(sqlstate, "22012") == 0)
        return fail_unmarked(lent->conn);
    if (failed == NULL && !within->in_commit)
        return err;
    if (failed != NULL && failed->statement != CSC_POSTGRES_NATIVE_CONSTRAINTS)
        return err;
    constraint = failed == NULL ? NULL
                                : PQresultErrorField(failed->result,
                                                     PG_DIAG_CONSTRAINT_NAME);
    return csc_fail(CASCADE_ERR_FAILED,
                    "finish: what the node's function has written cannot be "
                    "committed (SQLSTATE %s%s%s)",
                    sqlstate, constraint == NULL ? "" : ", constraint ",
                    constraint == NULL ? "" : constraint);
}

static cascade_err
write_all(lent_state *lent, const cascade_batch *batch, bool *existed)
{
    csc_postgres_params mark;
    csc_postgres_params settings;
    char texts[3][24];
    csc_postgres_call first[FIRST_COUNT] = {
        {.statement = CSC_POSTGRES_NATIVE_MARK, .params = &mark},
        {.statement = CSC_POSTGRES_NATIVE_CONSTRAINTS},
        {.statement = CSC_POSTGRES_NATIVE_RESET},
        {.statement = CSC_POSTGRES_SETTINGS, .params = &settings},
    };
    csc_postgres_within within = {.first = first, .first_count = FIRST_COUNT};
    cascade_err err;

    csc_postgres_params_init(&mark);
    csc_postgres_conn_fill_settings(lent->store->config, true, &settings,
                                    texts);
    csc_postgres_params_text(&mark, lent->mark);
    csc_postgres_params_text(&mark, texts[1]);
    err = csc_postgres_commit_within(lent->conn, &within, batch, existed);
    if (err != CASCADE_OK)
        err = judge(lent, &within, err);
    csc_postgres_conn_clear(first, FIRST_COUNT);
    return err;
}

static cascade_err
end_backend(csc_postgres_conn *conn, void *context)
{
    const lent_state *lent = context;
    csc_postgres_params params;
    csc_postgres_call call = {.statement = CSC_POSTGRES_NATIVE_END,
                              .params = &params};
    cascade_err err;

    if (strcmp(PQhost(conn->pg), PQhost(lent->conn->pg)) != 0 ||
        strcmp(PQport(conn->pg), PQport(lent->conn->pg)) != 0)
        return CASCADE_OK; /* another server has another of that number */
    csc_postgres_params_init(&params);
    csc_postgres_params_i32(&params, PQbackendPID(lent->conn->pg));
    err = csc_postgres_conn_read(conn, "finish", &call, 1);
    csc_postgres_conn_clear(&call, 1);
    return err;
}

/* A statement that nobody waits for goes on when its connection is closed, with
 * the locks of its transaction. Behind a pooler the backend is not known; its
 * statement_timeout bounds it there. */
static void
stop_statement(lent_state *lent, int64_t deadline_ms)
{
    const csc_postgres_conn *conn = lent->conn;

    if (!lent->store->config->pooler && PQstatus(conn->pg) == CONNECTION_OK &&
        PQtransactionStatus(conn->pg) == PQTRANS_ACTIVE)
        (void)csc_postgres_pool_run_until(lent->store, deadline_ms,
                                          CSC_POSTGRES_ONCE, end_backend, lent);
}

/* Takes the connection back, where it can be used, and gives it to the next.
 * The thread's error is left as it is. */
static void
end_lent(lent_state *lent)
{
    csc_error_kept kept;

    csc_error_keep(&kept, csc_error_last());
    lent->conn->deadline_ms = csc_postgres_now_ms() + end_within(lent);
    stop_statement(lent, lent->conn->deadline_ms);
    give_back(lent->store, lent->conn);
    csc_mem_free(lent);
    (void)csc_error_restore(&kept);
}

cascade_err
csc_postgres_native_finish(void *self, cascade_native *native,
                           const cascade_batch *batch, bool *existed)
{
    csc_postgres *store = self;
    lent_state *lent = native->own;
    csc_postgres_conn *conn = lent->conn;
    cascade_err err = look_at(lent);

    if (!conn->broken && csc_postgres_conn_claim(conn) != CASCADE_OK)
        err = fail_left(conn, "a connection that cannot be used");
    if (err == CASCADE_OK) {
        conn->deadline_ms = csc_postgres_now_ms() + store->config->deadline_ms;
        err = write_all(lent, batch, existed);
    }
    if (err != CASCADE_OK)
        doubt(lent);
    end_lent(lent);
    return err;
}

cascade_err
csc_postgres_native_abandon(void *self, cascade_native *native)
{
    lent_state *lent = native->own;
    csc_postgres_conn *conn = lent->conn;
    cascade_err err = CASCADE_OK;
    csc_error_kept kept;

    (void)self;
    csc_error_keep(&kept, csc_error_last());
    fetch_left(lent);
    (void)csc_error_restore(&kept);
    conn->broken = !is_usable(conn);
    if (has_ended(conn))
        err = fail_ended(conn);
    else if (!conn->broken)
        csc_postgres_conn_claim(conn);
    doubt(lent);
    end_lent(lent);
    return err;
}

/* ---- Settle -------------------------------------------------------------- */

typedef struct settle_state {
    const cascade_uuid *engine_id;
    uint32_t lane;
    int64_t number;
    bool committed;
} settle_state;

static cascade_err
judge_lane(settle_state *state, const PGresult *lane)
{
    int64_t number;

    if (PQntuples(lane) == 0)
        return csc_fail(CASCADE_ERR_FENCED,
                        "settle: this incarnation was removed; its cascades "
                        "belong to others now");
    number = csc_postgres_result_i64(lane, 0, 0);
    state->committed = number == state->number;
    if (state->committed || number == state->number + 1)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_LOST,
                    "settle: the lane shows batch %lld where %lld or %lld was "
                    "expected: the server has lost commits",
                    (long long)number, (long long)state->number,
                    (long long)state->number + 1);
}

static void
fill_lane(const settle_state *state, csc_postgres_params *params)
{
    csc_postgres_params_init(params);
    csc_postgres_params_uuid(params, state->engine_id);
    csc_postgres_params_i32(params, (int32_t)state->lane);
}

/* The lane is read behind the lock that the update has waited for. What it
 * shows is told when the standby has it: see commit.c. */
static cascade_err
settle(csc_postgres_conn *conn, void *context)
{
    settle_state *state = context;
    csc_postgres_params lane;
    csc_postgres_params params;
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_NATIVE_SETTLE, .params = &params},
        {.statement = CSC_POSTGRES_READ_LANE, .params = &lane},
        {.statement = CSC_POSTGRES_CONFIRM}};
    cascade_err err;

    fill_lane(state, &lane);
    fill_lane(state, &params);
    csc_postgres_params_i64(&params, state->number);
    err = csc_postgres_conn_write(conn, "settle", calls, 3, NULL);
    if (err == CASCADE_OK)
        err = judge_lane(state, calls[1].result);
    csc_postgres_conn_clear(calls, 3);
    return err;
}

cascade_err
csc_postgres_native_settle(void *self, const cascade_uuid *engine_id,
                           uint32_t lane, int64_t number, bool *committed)
{
    settle_state state = {
        .engine_id = engine_id, .lane = lane, .number = number};
    cascade_err err =
        csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, settle, &state);

    if (err == CASCADE_OK)
        *committed = state.committed;
    return err;
}
