/* SPDX-License-Identifier: MIT
 *
 * Functions that stand in for those of libpq which can fail: the linker sends
 * the library's calls of PQx here (--wrap, tests.cmake), and __real_ is libpq's
 * own. When one is struck it
 *
 *   fails           gives its failure and does nothing: mostly for want of
 *                   memory. A result becomes an error without an SQLSTATE
 *   is cut before   the connection ends, as by a network that went away, and
 *                   then the function is called; what was sent may have had
 *                   effect
 *   is cut after    it is called, and then the connection ends
 */
#include <libpq-events.h>
#include <libpq-fe.h>
#include <sys/socket.h>

#include "sweep/calls_libpq.h"
#include "sweep/events.h"

/* The linker's names. */
#define REAL(type, name, ...)          \
    type __real_PQ##name(__VA_ARGS__); \
    type __wrap_PQ##name(__VA_ARGS__)

REAL(PGconn *, connectStartParams, const char *const *, const char *const *,
     int);
REAL(PostgresPollingStatusType, connectPoll, PGconn *);
REAL(PQconninfoOption *, conninfoParse, const char *, char **);
REAL(int, setnonblocking, PGconn *, int);
REAL(int, enterPipelineMode, PGconn *);
REAL(int, exitPipelineMode, PGconn *);
REAL(int, registerEventProc, PGconn *, PGEventProc, const char *, void *);
REAL(int, pipelineSync, PGconn *);
REAL(int, sendFlushRequest, PGconn *);
REAL(int, setSingleRowMode, PGconn *);
REAL(int, sendQuery, PGconn *, const char *);
REAL(int, sendPrepare, PGconn *, const char *, const char *, int, const Oid *);
REAL(int, sendQueryParams, PGconn *, const char *, int, const Oid *,
     const char *const *, const int *, const int *, int);
REAL(int, sendQueryPrepared, PGconn *, const char *, int, const char *const *,
     const int *, const int *, int);
REAL(int, flush, PGconn *);
REAL(int, consumeInput, PGconn *);
REAL(PGresult *, getResult, PGconn *);

static bool is_cut;

static void
cut(const PGconn *conn)
{
    int fd = conn != NULL ? PQsocket(conn) : -1;

    if (fd >= 0)
        (void)shutdown(fd, SHUT_RDWR);
}

/* True when the call is to fail by itself. */
static bool
enter(const PGconn *conn)
{
    bool struck = events_strike();

    is_cut = struck && events_variant() == CALLS_CUT_AFTER;
    if (struck && events_variant() == CALLS_CUT_BEFORE)
        cut(conn);
    return struck && events_variant() == CALLS_FAIL;
}

static void
leave(const PGconn *conn)
{
    if (is_cut)
        cut(conn);
    is_cut = false;
    events_done();
}

/* ---- Connecting ---------------------------------------------------------- */

PGconn *
__wrap_PQconnectStartParams(const char *const *names, const char *const *values,
                            int expand)
{
    PGconn *conn = NULL;

    if (enter(NULL))
        return NULL;
    conn = __real_PQconnectStartParams(names, values, expand);
    leave(conn);
    return conn;
}

PostgresPollingStatusType
__wrap_PQconnectPoll(PGconn *conn)
{
    PostgresPollingStatusType status = PGRES_POLLING_FAILED;

    if (!enter(conn))
        status = __real_PQconnectPoll(conn);
    leave(conn);
    return status;
}

PQconninfoOption *
__wrap_PQconninfoParse(const char *conninfo, char **error)
{
    PQconninfoOption *options = NULL;

    if (!enter(NULL))
        options = __real_PQconninfoParse(conninfo, error);
    leave(NULL);
    return options;
}

int
__wrap_PQregisterEventProc(PGconn *conn, PGEventProc proc, const char *name,
                           void *through)
{
    int result = 0;

    if (!enter(conn))
        result = __real_PQregisterEventProc(conn, proc, name, through);
    leave(conn);
    return result;
}

int
__wrap_PQsetnonblocking(PGconn *conn, int on)
{
    int result = enter(conn) ? -1 : __real_PQsetnonblocking(conn, on);

    leave(conn);
    return result;
}

/* ---- Sending ------------------------------------------------------------- */

int
__wrap_PQenterPipelineMode(PGconn *conn)
{
    int result = enter(conn) ? 0 : __real_PQenterPipelineMode(conn);

    leave(conn);
    return result;
}

int
__wrap_PQexitPipelineMode(PGconn *conn)
{
    int result = enter(conn) ? 0 : __real_PQexitPipelineMode(conn);

    leave(conn);
    return result;
}

int
__wrap_PQpipelineSync(PGconn *conn)
{
    int result = enter(conn) ? 0 : __real_PQpipelineSync(conn);

    leave(conn);
    return result;
}

int
__wrap_PQsendFlushRequest(PGconn *conn)
{
    int result = enter(conn) ? 0 : __real_PQsendFlushRequest(conn);

    leave(conn);
    return result;
}

int
__wrap_PQsetSingleRowMode(PGconn *conn)
{
    int result = enter(conn) ? 0 : __real_PQsetSingleRowMode(conn);

    leave(conn);
    return result;
}

int
__wrap_PQsendQuery(PGconn *conn, const char *sql)
{
    int result = enter(conn) ? 0 : __real_PQsendQuery(conn, sql);

    leave(conn);
    return result;
}

int
__wrap_PQsendPrepare(PGconn *conn, const char *name, const char *sql, int count,
                     const Oid *types)
{
    int result =
        enter(conn) ? 0 : __real_PQsendPrepare(conn, name, sql, count, types);

    leave(conn);
    return result;
}

int
__wrap_PQsendQueryParams(PGconn *conn, const char *sql, int count,
                         const Oid *types, const char *const *values,
                         const int *lengths, const int *formats, int format)
{
    int result = 0;

    if (!enter(conn))
        result = __real_PQsendQueryParams(conn, sql, count, types, values,
                                          lengths, formats, format);
    leave(conn);
    return result;
}

int
__wrap_PQsendQueryPrepared(PGconn *conn, const char *name, int count,
                           const char *const *values, const int *lengths,
                           const int *formats, int format)
{
    int result = 0;

    if (!enter(conn))
        result = __real_PQsendQueryPrepared(conn, name, count, values, lengths,
                                            formats, format);
    leave(conn);
    return result;
}

int
__wrap_PQflush(PGconn *conn)
{
    int result = enter(conn) ? -1 : __real_PQflush(conn);

    leave(conn);
    return result;
}

/* ---- Receiving ----------------------------------------------------------- */

int
__wrap_PQconsumeInput(PGconn *conn)
{
    int result = enter(conn) ? 0 : __real_PQconsumeInput(conn);

    leave(conn);
    return result;
}

/* The order of results, and where they end, is as it was. */
PGresult *
__wrap_PQgetResult(PGconn *conn)
{
    bool fails = enter(conn);
    PGresult *result = __real_PQgetResult(conn);

    leave(conn);
    if (!fails || result == NULL ||
        PQresultStatus(result) == PGRES_PIPELINE_SYNC)
        return result;
    PQclear(result);
    return PQmakeEmptyPGresult(conn, PGRES_FATAL_ERROR);
}
