/* SPDX-License-Identifier: MIT */
#include "process/strike.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>
#endif
#ifdef CASCADE_HAVE_SQLITE
#include <sqlite3.h>
#endif

#define EXECUTED_LIMIT_MS 2000

static worker_shared *told;
static atomic_int transactions; /* begun by this process */

/* Of the thread: its transaction, 0 where it is in none, and how far it is. */
static _Thread_local int transaction;
static _Thread_local int crossings;

/* The next definition of the function that is called; each thread looks for
 * itself. */
#define NEXT(next, name)                                \
    do {                                                \
        if ((next) == NULL)                             \
            *(void **)&(next) = dlsym(RTLD_NEXT, name); \
    } while (0)

void
strike_init(worker_shared *shared)
{
    told = shared;
}

void
strike_begin(void)
{
    transaction = 1 + atomic_fetch_add(&transactions, 1);
    crossings = 0;
    strike_cross();
}

void
strike_cross(void)
{
    if (transaction == 0)
        return;
    crossings++;
    if (transaction < told->options.bank.die_in ||
        crossings != told->options.bank.die_at)
        return;
    atomic_store(&told->figures.died_at, (uint64_t)crossings);
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

void
strike_end(bool whole)
{
    uint64_t least = atomic_load(&told->figures.crossings_least);
    uint64_t all = (uint64_t)crossings;

    if (whole && transaction == 1)
        atomic_store(&told->figures.crossings_first, all);
    while (whole && (least == 0 || all < least) &&
           !atomic_compare_exchange_weak(&told->figures.crossings_least, &least,
                                         all))
        continue;
    if (whole)
        atomic_fetch_add(&told->figures.transactions, 1);
    transaction = 0;
}

/* ---- libpq --------------------------------------------------------------- */

#ifdef CASCADE_HAVE_POSTGRES
/* What was sent has been executed, up to here. */
static void
cross_executed(PGconn *conn)
{
    struct pollfd answered = {.fd = PQsocket(conn), .events = POLLIN};

    strike_cross();
    if (transaction < told->options.bank.die_in ||
        crossings + 1 != told->options.bank.die_at) {
        crossings++;
        return;
    }
    if (PQpipelineStatus(conn) != PQ_PIPELINE_OFF)
        PQsendFlushRequest(conn);
    while (PQflush(conn) == 1)
        poll(NULL, 0, 1);
    poll(&answered, 1, EXECUTED_LIMIT_MS);
    strike_cross();
}

/* Sends only: `call` is the function with its arguments. */
#define SENDING(conn, call)   \
    do {                      \
        int sent;             \
                              \
        if (transaction == 0) \
            return call;      \
        strike_cross();       \
        sent = call;          \
        cross_executed(conn); \
        return sent;          \
    } while (0)

int
PQsendQueryPrepared(PGconn *conn, const char *name, int count,
                    const char *const *values, const int *lengths,
                    const int *formats, int result_format)
{
    static _Thread_local int (*next)(PGconn *, const char *, int,
                                     const char *const *, const int *,
                                     const int *, int);

    NEXT(next, "PQsendQueryPrepared");
    SENDING(conn,
            next(conn, name, count, values, lengths, formats, result_format));
}

int
PQsendQueryParams(PGconn *conn, const char *text, int count, const Oid *types,
                  const char *const *values, const int *lengths,
                  const int *formats, int result_format)
{
    static _Thread_local int (*next)(PGconn *, const char *, int, const Oid *,
                                     const char *const *, const int *,
                                     const int *, int);

    NEXT(next, "PQsendQueryParams");
    SENDING(conn, next(conn, text, count, types, values, lengths, formats,
                       result_format));
}

int
PQsendPrepare(PGconn *conn, const char *name, const char *text, int count,
              const Oid *types)
{
    static _Thread_local int (*next)(PGconn *, const char *, const char *, int,
                                     const Oid *);

    NEXT(next, "PQsendPrepare");
    SENDING(conn, next(conn, name, text, count, types));
}

int
PQsendQuery(PGconn *conn, const char *text)
{
    static _Thread_local int (*next)(PGconn *, const char *);

    NEXT(next, "PQsendQuery");
    SENDING(conn, next(conn, text));
}

int
PQpipelineSync(PGconn *conn)
{
    static _Thread_local int (*next)(PGconn *);

    NEXT(next, "PQpipelineSync");
    SENDING(conn, next(conn));
}

/* Answered. */
PGresult *
PQexec(PGconn *conn, const char *text)
{
    static _Thread_local PGresult *(*next)(PGconn *, const char *);
    PGresult *result;

    NEXT(next, "PQexec");
    strike_cross();
    result = next(conn, text);
    strike_cross();
    return result;
}

PGresult *
PQexecParams(PGconn *conn, const char *text, int count, const Oid *types,
             const char *const *values, const int *lengths, const int *formats,
             int result_format)
{
    static _Thread_local PGresult *(*next)(PGconn *, const char *, int,
                                           const Oid *, const char *const *,
                                           const int *, const int *, int);
    PGresult *result;

    NEXT(next, "PQexecParams");
    strike_cross();
    result =
        next(conn, text, count, types, values, lengths, formats, result_format);
    strike_cross();
    return result;
}
#endif

/* ---- SQLite -------------------------------------------------------------- */

#ifdef CASCADE_HAVE_SQLITE
int
sqlite3_step(sqlite3_stmt *statement)
{
    static _Thread_local int (*next)(sqlite3_stmt *);
    int result = 0;

    NEXT(next, "sqlite3_step");
    strike_cross();
    result = next(statement);
    strike_cross();
    return result;
}

/* By which SQLite writes its files: a COMMIT is many of them. */
ssize_t
pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
    static _Thread_local ssize_t (*next)(int, const void *, size_t, off64_t);

    NEXT(next, "pwrite64");
    strike_cross();
    return next(fd, bytes, len, at);
}

/* Who is killed leaves all that he has written: nothing is flushed, since that
 * is most of the time of these tests. */
int
fdatasync(int fd)
{
    strike_cross();
    strike_cross();
    return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}
#endif
