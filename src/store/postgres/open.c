/* SPDX-License-Identifier: MIT
 *
 * Connections are opened, checked, handed over and closed.
 */
#include "store/postgres/internal.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/postgres.h"
#include "store/store.h"

#define VERSION_MIN 130000
#define OPTIONS_MAX 16
#define ALIVE_READS_MAX 8

/* The same until the deadline, which is an error. */
static cascade_err
wait_socket(csc_postgres_conn *conn, short events)
{
    bool ready = false;
    cascade_err err = CASCADE_OK;

    while (!ready && err == CASCADE_OK) {
        if (csc_postgres_now_ms() >= conn->deadline_ms)
            return csc_postgres_conn_fail_deadline(conn);
        err = csc_postgres_conn_poll(conn, events, conn->deadline_ms, &ready);
    }
    return err;
}

/* Nothing is ever printed. What an idle connection hears of its end comes by
 * this way too, and that a COMMIT is not what it says: such a warning has a
 * SQLSTATE that says nothing and a text in the server's language, but it comes
 * from a function that does nothing else. */
static void
take_notice(void *context, const PGresult *notice)
{
    csc_postgres_conn *conn = context;
    const char *severity =
        PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);

    if (function != NULL && strcmp(function, "SyncRepWaitForLSN") == 0)
        conn->unconfirmed = true;
    if (severity != NULL &&
        (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0))
        conn->broken = true;
}

typedef struct option_list {
    const char *names[OPTIONS_MAX];
    const char *values[OPTIONS_MAX];
    size_t count;
} option_list;

static void
add_option(option_list *options, const char *name, const char *value)
{
    options->names[options->count] = name;
    options->values[options->count++] = value;
}

/* What comes before the user's string is a default, what follows is fixed. */
static PGconn *
start_connecting(const csc_postgres *store)
{
    option_list options = {.count = 0};
    char timeout[24];

    (void)snprintf(timeout, sizeof(timeout), "%lld",
                   (long long)store->config->deadline_ms);
    add_option(&options, "tcp_user_timeout", timeout);
    add_option(&options, "keepalives", "1");
    add_option(&options, "keepalives_idle", "10");
    add_option(&options, "keepalives_interval", "5");
    add_option(&options, "keepalives_count", "3");
    add_option(&options, "application_name", store->config->application_name);
    if (store->several_hosts)
        add_option(&options, "target_session_attrs", "read-write");
    add_option(&options, "dbname", store->url);
    add_option(&options, "client_encoding", "UTF8");
    add_option(&options, NULL, NULL);
    return PQconnectStartParams(options.names, options.values, 1);
}

static cascade_err
finish_connecting(csc_postgres_conn *conn)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    cascade_err err = CASCADE_OK;

    if (conn->pg == NULL)
        return csc_fail_memory();
    if (PQstatus(conn->pg) == CONNECTION_BAD)
        return csc_postgres_error_connect(conn->pg);
    PQsetNoticeReceiver(conn->pg, take_notice, conn);
    while (err == CASCADE_OK && status != PGRES_POLLING_OK) {
        if (status == PGRES_POLLING_FAILED)
            return csc_postgres_error_connect(conn->pg);
        err = wait_socket(conn,
                          status == PGRES_POLLING_READING ? POLLIN : POLLOUT);
        if (err == CASCADE_OK)
            status = PQconnectPoll(conn->pg);
    }
    return err;
}

cascade_err
csc_postgres_conn_check_server(const PGconn *pg)
{
    int version = PQserverVersion(pg);
    const char *encoding = PQparameterStatus(pg, "server_encoding");

    if (version < VERSION_MIN)
        return csc_fail(CASCADE_ERR_UNSUPPORTED,
                        "PostgreSQL %d is too old: 13 is the lowest version",
                        version / 10000);
    if (encoding == NULL || strcmp(encoding, "UTF8") != 0)
        return csc_fail(CASCADE_ERR_UNSUPPORTED,
                        "the database must have the encoding UTF8");
    return CASCADE_OK;
}

static cascade_err
set_session(csc_postgres_conn *conn)
{
    csc_postgres_params params;
    csc_postgres_call call = {.statement = CSC_POSTGRES_SETTINGS,
                              .params = &params};
    char texts[3][24];
    cascade_err err;

    if (conn->store->config->pooler)
        return CASCADE_OK;
    csc_postgres_conn_fill_settings(conn->store->config, false, &params, texts);
    err = csc_postgres_conn_read(conn, "connect", &call, 1);
    csc_postgres_conn_clear(&call, 1);
    return err;
}

cascade_err
csc_postgres_conn_open(csc_postgres *store, int64_t deadline_ms, int cancel_fd,
                       csc_postgres_conn **conn)
{
    csc_postgres_conn *made = csc_mem_zalloc(1, sizeof(*made));
    cascade_err err;

    if (made == NULL)
        return csc_fail_memory();
    made->store = store;
    made->deadline_ms = deadline_ms;
    made->cancel_fd = cancel_fd;
    made->opening_ms = csc_postgres_now_ms();
    made->pg = start_connecting(store);
    err = finish_connecting(made);
    made->opened_ms = csc_postgres_now_ms();
    if (err == CASCADE_OK)
        err = csc_postgres_conn_check_server(made->pg);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_claim(made);
    if (err == CASCADE_OK)
        err = set_session(made);
    if (err == CASCADE_OK)
        err = csc_postgres_place_meet(made);
    if (err != CASCADE_OK) {
        csc_postgres_conn_close(made);
        return err;
    }
    made->cancel_fd = -1;
    *conn = made;
    return CASCADE_OK;
}

cascade_err
csc_postgres_conn_release(csc_postgres_conn *conn)
{
    if ((PQpipelineStatus(conn->pg) != PQ_PIPELINE_OFF &&
         PQexitPipelineMode(conn->pg) != 1) ||
        PQsetnonblocking(conn->pg, 0) != 0)
        return csc_postgres_error_lost(conn);
    return CASCADE_OK;
}

cascade_err
csc_postgres_conn_claim(csc_postgres_conn *conn)
{
    PQsetNoticeReceiver(conn->pg, take_notice, conn);
    PQuntrace(conn->pg);
    PQsetErrorVerbosity(conn->pg, PQERRORS_DEFAULT);
    PQsetErrorContextVisibility(conn->pg, PQSHOW_CONTEXT_ERRORS);
    if (PQsetnonblocking(conn->pg, 1) != 0 ||
        PQenterPipelineMode(conn->pg) != 1)
        return csc_postgres_error_lost(conn);
    return CASCADE_OK;
}

void
csc_postgres_conn_close(csc_postgres_conn *conn)
{
    if (conn == NULL)
        return;
    csc_postgres_batch_free(conn->batch);
    PQclear(conn->path);
    if (!conn->guest)
        PQfinish(conn->pg);
    csc_mem_free(conn);
}

/* An idle connection has nothing to say but what it owes, that it ends, and the
 * notices and settings that a server may send at any time, which are read over
 * (PQisBusy() does that). */
bool
csc_postgres_conn_alive(csc_postgres_conn *conn)
{
    for (int i = 0; i < ALIVE_READS_MAX; i++) {
        struct pollfd fd = {.fd = PQsocket(conn->pg), .events = POLLIN};

        if (PQstatus(conn->pg) != CONNECTION_OK || fd.fd < 0)
            return false;
        if (poll(&fd, 1, 0) == 0)
            return true;
        if (PQconsumeInput(conn->pg) != 1 ||
            (PQisBusy(conn->pg) && !conn->owed) || conn->broken)
            return false;
    }
    return false;
}
