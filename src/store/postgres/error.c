/* SPDX-License-Identifier: MIT
 *
 * What went wrong, in our own words. The server's texts are never passed on:
 * its DETAIL lines echo values, and libpq's echo the connection string. What
 * is told is the SQLSTATE and, where the server names one, a constraint.
 *
 *   SQLSTATE                          error         the engine
 *   22, 23, 54, P0, 44                REFUSED       finds the culprit
 *   25006                             READ_ONLY     gives up, or finds another
 *                                                   of several hosts
 *   42, 3D, 3F, 0A, 26, 2B, 28        SCHEMA        tells a human
 *   40, 53, 55, 57, 58, 08, XX, rest  UNAVAILABLE   tries again
 *
 * Four exceptions: a used-up sequence (2200H) is nobody's data; a prepared
 * statement that is gone or there already (26000, 42P05) means a pooler that we
 * were not told of, and goes away with the connection; a policy of row-level
 * security refuses a row with the SQLSTATE of a missing right (42501), but that
 * is the fault of this row alone, so it is REFUSED.
 */
#include "store/postgres/internal.h"

#include <string.h>

#include "base/error.h"
#include "cascade/cascade.h"
#include "cascade/postgres.h"
#include "store/store.h"

typedef struct saying {
    const char *seen;
    const char *said;
} saying;

static const saying sayings[] = {
    {"0A000", "the server does not support it"},
    {"22012", "a row that must be there is not, or has ended"},
    {"22021", "a text is not valid UTF-8"},
    {"22008", "a time is out of range"},
    {"2200H", "the ids of context_events are used up: widen the column and its "
              "sequence"},
    {"22P02", "a text has not the form of its type"},
    {"22P05", "a text cannot be kept in the encoding of the database"},
    {"23502", "a value is missing"},
    {"23503", "the cascade is not there"},
    {"23505", "a key or path is taken already"},
    {"23514", "a value is not allowed"},
    {"25006", "the server only allows reading"},
    {"26000", "a prepared statement is gone: behind a pooler, set the option "
              "`pooler`"},
    {"40001", "the transaction has to be repeated"},
    {"40P01", "a deadlock"},
    {"42501", "the role has no right to do that"},
    {"42703", "a column is missing"},
    {"42704", "a type is missing"},
    {"42804", "a column has another type"},
    {"42P01", "a table is missing"},
    {"42P05", "a prepared statement is there already: behind a pooler, set the "
              "option `pooler`"},
    {"42P10", "a unique constraint is missing"},
    {"3F000", "the schema is missing"},
    {"53100", "the server's disk is full"},
    {"53200", "the server is out of memory"},
    {"53300", "too many connections"},
    {"54000", "too large for the server"},
    {"55P03", "a lock was not given in time"},
    {"57014", "the server cancelled it, or it took too long"},
    {"57P01", "the server ended the connection"},
    {"57P02", "the server crashed"},
    {"57P03", "the server is starting or stopping"},
};

/* libpq gives no SQLSTATE for a connection that was not made. These pieces of
 * its English texts are looked for; none of them is ever passed on. */
static const saying connect_sayings[] = {
    {"password authentication failed", "the password is not accepted"},
    {"no password supplied", "a password is needed"},
    {"authentication failed", "the role is not let in"},
    {"no pg_hba.conf entry", "the server lets nobody in from here"},
    {"could not translate host name", "the host name is not known"},
    {"Connection refused", "nobody listens there"},
    {"No such file or directory", "there is no such socket"},
    {"timeout expired", "no answer in time"},
    {"Connection timed out", "no answer in time"},
    {"starting up", "the server is starting"},
    {"shutting down", "the server is stopping"},
    {"in recovery mode", "the server recovers from a crash"},
    {"accepting connections", "the server is starting"},
    {"too many clients", "the server has no connection left"},
    {"remaining connection slots", "the server has no connection left"},
    {"too many connections", "the server has no connection left"},
    {"session is read-only", "the server only allows reading"},
    {"session is not read-only", "the server is not a standby"},
    {"SSL", "the encrypted connection was not made"},
    {"certificate", "the certificate is not accepted"},
    {"database", "the database is not there or not for this role"},
    {"role", "the role does not exist or may not connect"},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* What cannot be repeated where the transaction is not ours. */
static bool
ends_transaction(const csc_postgres_conn *conn, const char *sqlstate)
{
    return conn->within && strncmp(sqlstate, "40", 2) == 0;
}

static const char *
words_of(const csc_postgres_conn *conn, const char *sqlstate)
{
    if (ends_transaction(conn, sqlstate))
        return "it is in conflict with another transaction: roll back and "
               "begin the transaction anew";
    for (size_t i = 0; i < COUNT_OF(sayings); i++) {
        if (strcmp(sayings[i].seen, sqlstate) == 0)
            return sayings[i].said;
    }
    return "the server reported an error";
}

static bool
is_one_of(const char *sqlstate, const char *const *prefixes)
{
    for (; *prefixes != NULL; prefixes++) {
        if (strncmp(sqlstate, *prefixes, strlen(*prefixes)) == 0)
            return true;
    }
    return false;
}

static cascade_err
class_of(const csc_postgres *store, const char *sqlstate)
{
    static const char *const transient[] = {"2200H", "26000", "42P05", NULL};
    static const char *const refused[] = {"22", "23", "44", "54", "P0", NULL};
    static const char *const schema[] = {"42", "3D", "3F", "0A",
                                         "26", "2B", "28", NULL};

    if (is_one_of(sqlstate, transient))
        return CASCADE_ERR_UNAVAILABLE;
    if (is_one_of(sqlstate, refused))
        return CASCADE_ERR_REFUSED;
    if (strcmp(sqlstate, "25006") == 0)
        return store->several_hosts ? CASCADE_ERR_UNAVAILABLE
                                    : CASCADE_ERR_READ_ONLY;
    if (is_one_of(sqlstate, schema))
        return CASCADE_ERR_SCHEMA;
    return CASCADE_ERR_UNAVAILABLE;
}

/* After these the connection, not the statement, is what to give up; not so
 * that of a guest, as long as it stands. */
static bool
is_of_connection(const char *sqlstate)
{
    static const char *const states[] = {"25", "26000", "42P05", "57P",
                                         "08", "XX",    "0A000", NULL};

    return is_one_of(sqlstate, states);
}

/* The text is in the server's language, but it comes from a function that
 * raises this SQLSTATE for nothing else. */
static bool
is_of_policy(const PGresult *result, const char *sqlstate)
{
    const char *function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);

    return strcmp(sqlstate, "42501") == 0 && function != NULL &&
           strcmp(function, "ExecWithCheckOptions") == 0;
}

cascade_err
csc_postgres_error_result(csc_postgres_conn *conn, const char *move,
                          const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *constraint =
        PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);

    if (sqlstate == NULL || PQstatus(conn->pg) != CONNECTION_OK)
        conn->broken = true;
    if (sqlstate == NULL)
        return csc_postgres_error_lost(conn);
    if (is_of_connection(sqlstate) && !conn->guest)
        conn->broken = true;
    if (is_of_policy(result, sqlstate))
        return csc_fail(CASCADE_ERR_REFUSED,
                        "%s: PostgreSQL says no: a policy of row-level "
                        "security forbids it (SQLSTATE %s)",
                        move, sqlstate);
    return csc_fail(class_of(conn->store, sqlstate),
                    "%s: PostgreSQL says no: %s (SQLSTATE %s%s%s)", move,
                    words_of(conn, sqlstate), sqlstate,
                    constraint == NULL ? "" : ", constraint ",
                    constraint == NULL ? "" : constraint);
}

cascade_err
csc_postgres_error_connect(const PGconn *pg)
{
    const char *text = pg == NULL ? "" : PQerrorMessage(pg);

    for (size_t i = 0; i < COUNT_OF(connect_sayings); i++) {
        if (strstr(text, connect_sayings[i].seen) != NULL)
            return csc_fail(CASCADE_ERR_UNAVAILABLE,
                            "cannot connect to PostgreSQL: %s",
                            connect_sayings[i].said);
    }
    return csc_fail(CASCADE_ERR_UNAVAILABLE, "cannot connect to PostgreSQL");
}

cascade_err
csc_postgres_error_lost(csc_postgres_conn *conn)
{
    conn->broken = true;
    return csc_fail(CASCADE_ERR_UNAVAILABLE,
                    "the connection to PostgreSQL is lost");
}
