/* SPDX-License-Identifier: MIT
 *
 * Another connection to the database; see witness.h. Its own calls of SQLite
 * and libpq are not counted: it pauses the counters (events.h).
 */
#include "sweep/witness.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>
#endif
#ifdef CASCADE_HAVE_SQLITE
#include <sqlite3.h>
#endif

#include "sweep/events.h"

#define PATIENCE_ROUNDS 60000 /* of a millisecond */

static bool
begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

const char *
witness_application(void)
{
    static char name[40];

    if (name[0] == '\0')
        snprintf(name, sizeof(name), "cascade-sweep-%ld", (long)getpid());
    return name;
}

/* ---- SQLite -------------------------------------------------------------- */

#ifdef CASCADE_HAVE_SQLITE
static const char *
ask_sqlite(witness *w)
{
    sqlite3 *connection = w->connection;
    int code = SQLITE_OK;

    if (connection == NULL) {
        code = sqlite3_open_v2(w->url + strlen("sqlite:"), &connection,
                               SQLITE_OPEN_READWRITE, NULL);
        w->connection = connection;
        if (code == SQLITE_CANTOPEN)
            return ""; /* the play had not made the file yet */
        (void)sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                                NULL);
    }
    if (code == SQLITE_OK)
        code = sqlite3_exec(connection, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(connection, "ROLLBACK", NULL, NULL, NULL);
    return code == SQLITE_OK ? "" : sqlite3_errmsg(connection);
}
#endif

/* ---- PostgreSQL ---------------------------------------------------------- */

#ifdef CASCADE_HAVE_POSTGRES
static PGconn *
connect_to(witness *w)
{
    if (w->connection == NULL)
        w->connection = PQconnectdb(w->url);
    return w->connection;
}

/* Waits until there is no session of the scene of which that is true. */
static bool
await_none(witness *w, const char *condition)
{
    const struct timespec pause = {0, 1000000};
    char sql[240];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM pg_stat_activity "
             "WHERE application_name = '%s' AND %s",
             witness_application(), condition);
    for (int i = 0; i < PATIENCE_ROUNDS; i++) {
        PGresult *result = PQexec(connect_to(w), sql);
        bool answered = PQresultStatus(result) == PGRES_TUPLES_OK;
        bool none = answered && strcmp(PQgetvalue(result, 0, 0), "0") == 0;

        PQclear(result);
        if (none || !answered)
            return none;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

static const char *
ask_postgres(witness *w)
{
    static char said[200];

    if (await_none(w, "state LIKE 'idle in transaction%'"))
        return "";
    snprintf(said, sizeof(said), "a session is idle in a transaction %.80s",
             PQerrorMessage(w->connection));
    return said;
}

int
witness_await_gone(witness *w)
{
    bool counted = false;
    bool gone = true;

    if (begins_with(w->url, "memory:") || begins_with(w->url, "sqlite:"))
        return 0;
    counted = events_pause();
    gone = await_none(w, "true");
    events_resume(counted);
    return gone ? 0 : -1;
}

int
witness_run(witness *w, const char *sql)
{
    bool counted = events_pause();
    PGresult *result = PQexec(connect_to(w), sql);
    int failed = PQresultStatus(result) == PGRES_COMMAND_OK ? 0 : -1;

    if (failed != 0)
        fprintf(stderr, "%s: %s", sql, PQerrorMessage(w->connection));
    PQclear(result);
    events_resume(counted);
    return failed;
}
#else
int
witness_run(witness *w, const char *sql)
{
    (void)w;
    (void)sql;
    return -1;
}

int
witness_await_gone(witness *w)
{
    (void)w;
    return 0;
}
#endif

/* ---- Either -------------------------------------------------------------- */

static const char *
ask(witness *w)
{
    if (begins_with(w->url, "memory:"))
        return "";
#ifdef CASCADE_HAVE_SQLITE
    if (begins_with(w->url, "sqlite:"))
        return ask_sqlite(w);
#endif
#ifdef CASCADE_HAVE_POSTGRES
    return ask_postgres(w);
#else
    return "no such database";
#endif
}

const char *
witness_ask(witness *w)
{
    bool counted = events_pause();
    const char *said = ask(w);

    events_resume(counted);
    return said;
}

void
witness_close(witness *w)
{
    bool counted = events_pause();

    if (w->connection == NULL) {
        events_resume(counted);
        return;
    }
#ifdef CASCADE_HAVE_SQLITE
    if (begins_with(w->url, "sqlite:"))
        (void)sqlite3_close(w->connection);
#endif
#ifdef CASCADE_HAVE_POSTGRES
    if (!begins_with(w->url, "sqlite:"))
        PQfinish(w->connection);
#endif
    w->connection = NULL;
    events_resume(counted);
}
