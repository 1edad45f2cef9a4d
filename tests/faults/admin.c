/* SPDX-License-Identifier: MIT */
#include "faults/admin.h"

#include <libpq-fe.h>
#include <stdlib.h>

#include "process/check.h"
#include "process/place.h"

#define LIMIT_MS 90000

/* The first value, -1 where there was no answer. */
static int64_t
ask(const char *conninfo, const char *sql, bool must)
{
    PGconn *connection = PQconnectdb(conninfo);
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);
    int64_t number = 0;

    if (status == PGRES_TUPLES_OK && PQntuples(result) > 0)
        number = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    else if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        number = -1;
    if (number == -1 && must)
        print_error("%s: %s", sql, PQerrorMessage(connection));
    PQclear(result);
    PQfinish(connection);
    return number;
}

void
admin_sql(const char *conninfo, const char *sql)
{
    assert_int_not_equal(-1, ask(conninfo, sql, true));
}

bool
admin_try(const char *conninfo, const char *sql)
{
    return ask(conninfo, sql, false) != -1;
}

int64_t
admin_number(const char *conninfo, const char *sql)
{
    int64_t number = ask(conninfo, sql, true);

    assert_int_not_equal(-1, number);
    return number;
}

typedef struct question {
    const char *conninfo;
    const char *sql;
} question;

static bool
is_true(void *context)
{
    const question *it = context;

    return ask(it->conninfo, it->sql, false) > 0;
}

void
admin_until(const char *conninfo, const char *sql)
{
    question it = {.conninfo = conninfo, .sql = sql};

    if (!place_wait(is_true, &it, LIMIT_MS))
        fail_msg("never came true: %s", sql);
}
