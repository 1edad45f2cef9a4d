/* SPDX-License-Identifier: MIT
 *
 * Removing incarnations that are dead, and freeing the runs they leave.
 *
 *   find      engines whose lease has expired, or that are named dead
 * remove one transaction for each: DELETE its row if that still holds, then
 *             its lanes
 *   free      runs whose owner has no row any more, up to the limit
 *
 * REMOVE WAITS for the dead engine's last batch, which holds its lane, and for
 * its last claim, which holds its row. Either ends by itself in a moment,
 * unless the process was stopped in the middle of sending it: then the server
 * waits for the rest, with the locks held, and none of its timeouts runs. So
 * while our DELETE waits, a second connection asks whom it waits for and ends
 * those backends that wait for their client (CSC_POSTGRES_UNBLOCK). What they
 * had written is rolled back; continued, the stopped process finds its
 * connection gone and its lane too. The second connection is made for that
 * moment, beyond config->connection_max: with a full pool nobody could be
 * helped.
 *
 * FREE finds the owners of runs without reading the runs: between two live
 * engines, in the order of ids, it asks for the first owner there is. N engines
 * need N + 1 look-ups, sent at once. An owner found that way has attached
 * before it owned anything, so if its row is not there now it is gone for good;
 * that is looked up again in the transaction that frees.
 *
 * If we die anywhere between, the next remove finds what is left.
 */
#include "store/postgres/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "store/store.h"

#define REMOVE_ALL_MAX_MS 2000
#define BLOCKED_AFTER_MS 50 /* then we ask who is in the way, again and again */
#define FREE_TIMEOUT_MS "100"
#define LOCK_TIMEOUT_MAX_MS 1000 /* who calls us has a lease to renew */

typedef struct remove_state {
    const cascade_uuid *dead;
    size_t dead_count;
    size_t limit;
    size_t freed;
} remove_state;

static bool
is_named(const remove_state *state, const cascade_uuid *id)
{
    for (size_t i = 0; i < state->dead_count; i++) {
        if (csc_uuid_equal(&state->dead[i], id))
            return true;
    }
    return false;
}

/* ---- Remove -------------------------------------------------------------- */

/* Ends what backend `pid` waits for, if that waits for its own client. */
static cascade_err
unblock(csc_postgres_conn *conn, int64_t pid)
{
    csc_postgres_conn *helper = NULL;
    csc_postgres_params params;
    csc_postgres_call call = {.statement = CSC_POSTGRES_UNBLOCK,
                              .params = &params};
    cascade_err err =
        csc_postgres_conn_open(conn->store, conn->deadline_ms, -1, &helper);

    if (err != CASCADE_OK)
        return err;
    csc_postgres_params_init(&params);
    csc_postgres_params_i32(&params, (int32_t)pid);
    err = csc_postgres_conn_read(helper, "remove", &call, 1);
    if (err == CASCADE_OK && csc_postgres_result_i64(call.result, 0, 0) > 0)
        csc_log_add(&conn->store->log, CASCADE_LOG_WARNING,
                    "postgres: ended the backend of a stopped engine that held "
                    "its lane");
    csc_postgres_conn_clear(&call, 1);
    csc_postgres_conn_close(helper);
    return err;
}

/* Waits for the next result. As long as it does not come, looks who is in the
 * way; that this fails is no reason to give up. */
static cascade_err
wait_unblocking(csc_postgres_conn *conn, int64_t pid)
{
    bool ready = false;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && !ready) {
        int64_t until_ms = csc_postgres_now_ms() + BLOCKED_AFTER_MS;

        if (until_ms > conn->deadline_ms)
            return CASCADE_OK; /* fetching it meets the deadline */
        err = csc_postgres_conn_wait_ready(conn, until_ms, &ready);
        if (err == CASCADE_OK && !ready)
            unblock(conn, pid);
    }
    return err;
}

static cascade_err
send_removal(csc_postgres_conn *conn, const cascade_uuid *id, bool named)
{
    csc_postgres_params params;
    char timeout[24];
    int64_t lock_ms = conn->store->config->deadline_ms / 2;
    cascade_err err = csc_postgres_conn_send_begin(conn);

    if (lock_ms > LOCK_TIMEOUT_MAX_MS)
        lock_ms = LOCK_TIMEOUT_MAX_MS;
    (void)snprintf(timeout, sizeof(timeout), "%lld", (long long)lock_ms);
    csc_postgres_params_init(&params);
    csc_postgres_params_text(&params, timeout);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send(conn, CSC_POSTGRES_LOCK_TIMEOUT, &params);
    /* The backend's number is needed while the rest still waits. */
    if (err == CASCADE_OK && PQsendFlushRequest(conn->pg) != 1)
        err = csc_postgres_error_lost(conn);
    csc_postgres_params_init(&params);
    csc_postgres_params_uuid(&params, id);
    csc_postgres_params_bool(&params, named);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send(conn, CSC_POSTGRES_DELETE_DEAD, &params);
    csc_postgres_params_init(&params);
    csc_postgres_params_uuid(&params, id);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send(conn, CSC_POSTGRES_DELETE_DEAD_LANES,
                                     &params);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send(conn, CSC_POSTGRES_COMMIT, NULL);
    return err == CASCADE_OK ? csc_postgres_conn_send_sync(conn) : err;
}

/* The next result, which must be good; `*value` gets its first number. */
static cascade_err
receive(csc_postgres_conn *conn, int64_t *value)
{
    PGresult *result;
    cascade_err err = csc_postgres_conn_fetch(conn, &result);

    if (err != CASCADE_OK)
        return err;
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        *value = csc_postgres_result_i64(result, 0, 0);
    else if (PQresultStatus(result) != PGRES_COMMAND_OK)
        err = csc_postgres_error_result(conn, "remove", result);
    PQclear(result);
    return err;
}

static cascade_err
receive_removal(csc_postgres_conn *conn)
{
    int64_t pid = 0;
    int64_t ignored;
    cascade_err err = receive(conn, &ignored); /* BEGIN */

    if (err == CASCADE_OK && conn->store->config->pooler)
        err = receive(conn, &ignored);
    if (err == CASCADE_OK)
        err = receive(conn, &pid);
    for (int i = 0; i < 2 && err == CASCADE_OK; i++) {
        err = wait_unblocking(conn, pid);
        if (err == CASCADE_OK)
            err = receive(conn, &ignored);
    }
    if (err == CASCADE_OK)
        err = receive(conn, &ignored); /* COMMIT */
    return err;
}

static cascade_err
remove_one(csc_postgres_conn *conn, const cascade_uuid *id, bool named)
{
    static const csc_postgres_statement statements[] = {
        CSC_POSTGRES_BEGIN, CSC_POSTGRES_LOCK_TIMEOUT, CSC_POSTGRES_DELETE_DEAD,
        CSC_POSTGRES_DELETE_DEAD_LANES, CSC_POSTGRES_COMMIT};
    cascade_err err = csc_postgres_conn_prepare(conn, "remove", statements, 5);

    if (err == CASCADE_OK)
        err = send_removal(conn, id, named);
    if (err != CASCADE_OK)
        return err;
    err = receive_removal(conn);
    if (err != CASCADE_OK)
        return csc_postgres_conn_recover(conn, err);
    return csc_postgres_conn_fetch_sync(conn);
}

/* Goes on with the others when one cannot be removed; tells the last error. Not
 * for long: the caller has a lease of its own to renew, and comes back. */
static cascade_err
remove_all(csc_postgres_conn *conn, const remove_state *state,
           const PGresult *found)
{
    int64_t until_ms = csc_postgres_now_ms() + REMOVE_ALL_MAX_MS;
    cascade_err last = CASCADE_OK;

    for (int row = 0; row < PQntuples(found) && !conn->broken &&
                      csc_postgres_now_ms() < until_ms;
         row++) {
        cascade_uuid id = csc_postgres_result_uuid(found, row, 0);
        cascade_err err = remove_one(conn, &id, is_named(state, &id));
        char text[CASCADE_UUID_TEXT_SIZE];

        if (err == CASCADE_OK)
            continue;
        csc_log_add(&conn->store->log, CASCADE_LOG_WARNING,
                    "postgres: incarnation %s not removed: %s",
                    cascade_uuid_format(&id, text), cascade_errmsg());
        last = err;
    }
    return last;
}

static cascade_err
find_and_remove(csc_postgres_conn *conn, const remove_state *state)
{
    csc_postgres_rows named = {.count = 0};
    csc_postgres_params params;
    csc_postgres_call call = {.statement = CSC_POSTGRES_FIND_DEAD,
                              .params = &params};
    cascade_err err = CASCADE_OK;

    csc_postgres_rows_start(&named, "u");
    for (size_t i = 0; i < state->dead_count; i++)
        csc_postgres_rows_uuid(&named, 0, &state->dead[i]);
    if (!csc_postgres_rows_good(&named)) {
        err = csc_fail_memory();
        goto out;
    }
    csc_postgres_params_init(&params);
    csc_postgres_params_rows(&params, &named);
    err = csc_postgres_conn_read(conn, "remove", &call, 1);
    if (err == CASCADE_OK)
        err = remove_all(conn, state, call.result);
out:
    csc_postgres_conn_clear(&call, 1);
    csc_postgres_rows_fini(&named);
    return err;
}

/* ---- Free ---------------------------------------------------------------- */

/* Whether a failed try to free is nothing to tell: the owner attached after we
 * had looked, or somebody holds a run and will be done soon. */
static bool
is_passing(const csc_postgres_trouble *trouble)
{
    if (trouble->call == NULL)
        return false;
    return strcmp(trouble->sqlstate, "55P03") == 0 ||
           (trouble->call->statement == CSC_POSTGRES_CHECK_ORPHAN &&
            strcmp(trouble->sqlstate, "22012") == 0);
}

/* Frees runs of one owner. Gives in to locks soon, as a claim does. */
static cascade_err
free_orphan(csc_postgres_conn *conn, remove_state *state,
            const cascade_uuid *id)
{
    csc_postgres_params timeout;
    csc_postgres_params check;
    csc_postgres_params some;
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_LOCK_TIMEOUT, .params = &timeout},
        {.statement = CSC_POSTGRES_CHECK_ORPHAN, .params = &check},
        {.statement = CSC_POSTGRES_FREE_ORPHANS, .params = &some},
    };
    csc_postgres_trouble trouble;
    cascade_err err;

    csc_postgres_params_init(&timeout);
    csc_postgres_params_text(&timeout, FREE_TIMEOUT_MS);
    csc_postgres_params_init(&check);
    csc_postgres_params_uuid(&check, id);
    csc_postgres_params_init(&some);
    csc_postgres_params_uuid(&some, id);
    csc_postgres_params_i64(&some, (int64_t)(state->limit - state->freed));
    err = csc_postgres_conn_write(conn, "remove", calls, 3, &trouble);
    if (err == CASCADE_OK)
        state->freed += (size_t)csc_postgres_result_i64(calls[2].result, 0, 0);
    else if (!conn->broken && is_passing(&trouble))
        err = CASCADE_OK;
    csc_postgres_conn_clear(calls, 3);
    return err;
}

/* One look-up for each gap between live engines. */
static cascade_err
find_orphans(csc_postgres_conn *conn, const PGresult *engines,
             csc_postgres_call *calls, csc_postgres_params *params,
             cascade_uuid *bounds)
{
    size_t count = (size_t)PQntuples(engines);

    memset(&bounds[0], 0, sizeof(bounds[0]));
    memset(&bounds[count + 1], 0xff, sizeof(bounds[0]));
    for (size_t i = 0; i < count; i++)
        bounds[i + 1] = csc_postgres_result_uuid(engines, (int)i, 0);
    for (size_t i = 0; i <= count; i++) {
        csc_postgres_params_init(&params[i]);
        csc_postgres_params_uuid(&params[i], &bounds[i]);
        csc_postgres_params_uuid(&params[i], &bounds[i + 1]);
        calls[i] = (csc_postgres_call){.statement = CSC_POSTGRES_FIND_ORPHAN,
                                       .params = &params[i]};
    }
    return csc_postgres_conn_read(conn, "remove", calls, count + 1);
}

/* One round over all gaps. */
static cascade_err
free_round(csc_postgres_conn *conn, remove_state *state,
           const PGresult *engines)
{
    size_t count = (size_t)PQntuples(engines) + 1;
    csc_postgres_call *calls = csc_mem_zalloc(count, sizeof(*calls));
    csc_postgres_params *params = csc_mem_zalloc(count, sizeof(*params));
    cascade_uuid *bounds = csc_mem_zalloc(count + 1, sizeof(*bounds));
    cascade_err err = CASCADE_OK;

    if (calls == NULL || params == NULL || bounds == NULL) {
        err = csc_fail_memory();
        goto out;
    }
    err = find_orphans(conn, engines, calls, params, bounds);
    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        cascade_uuid id;

        if (PQntuples(calls[i].result) == 0 || state->freed >= state->limit)
            continue;
        id = csc_postgres_result_uuid(calls[i].result, 0, 0);
        err = free_orphan(conn, state, &id);
    }
out:
    if (calls != NULL)
        csc_postgres_conn_clear(calls, count);
    csc_mem_free(calls);
    csc_mem_free(params);
    csc_mem_free(bounds);
    return err;
}

/* A round frees runs, reaches the limit, or leaves the rest for the next call:
 * what is held by others now, and engines that have just attached. */
static cascade_err
free_runs(csc_postgres_conn *conn, remove_state *state)
{
    size_t before;
    cascade_err err;

    do {
        csc_postgres_call call = {.statement = CSC_POSTGRES_LIST_ENGINES};

        before = state->freed;
        err = csc_postgres_conn_read(conn, "remove", &call, 1);
        if (err == CASCADE_OK)
            err = free_round(conn, state, call.result);
        csc_postgres_conn_clear(&call, 1);
    } while (err == CASCADE_OK && state->freed > before &&
             state->freed < state->limit);
    return err;
}

static cascade_err
remove_and_free(csc_postgres_conn *conn, void *context)
{
    remove_state *state = context;
    cascade_err err = find_and_remove(conn, state);

    csc_assert(csc_lock_is_none_held());
    if (conn->broken || (err != CASCADE_OK && err != CASCADE_ERR_UNAVAILABLE))
        return err;
    if (err == CASCADE_OK)
        return free_runs(conn, state);
    free_runs(conn, state);
    return csc_fail(CASCADE_ERR_UNAVAILABLE,
                    "remove: a dead incarnation could not be removed yet: "
                    "somebody holds its rows");
}

/* Once: who finds engines dead comes back in a moment anyway. */
cascade_err
csc_postgres_remove_dead(void *self, const cascade_uuid *dead,
                         size_t dead_count, size_t limit, size_t *freed)
{
    remove_state state = {
        .dead = dead, .dead_count = dead_count, .limit = limit};
    cascade_err err =
        csc_postgres_pool_run(self, CSC_POSTGRES_ONCE, remove_and_free, &state);

    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK)
        *freed = state.freed;
    return err;
}
