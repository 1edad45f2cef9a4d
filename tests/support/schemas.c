/* SPDX-License-Identifier: MIT
 *
 * See schemas.h.
 */
#include "support/schemas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cascade/cascade.h"
#include "support/unique.h"

#define NAME_SIZE 64
#define PRINT_SIZE 40
#define SQL_TRIES 10

/* Of all that is in the schema, which transaction has written it; and which
 * migrations are recorded. */
static const char print_sql[] =
    "WITH n AS (SELECT oid, xmin FROM pg_namespace WHERE nspname = '%s'), "
    "c AS (SELECT c.oid, c.xmin FROM pg_class AS c JOIN n ON relnamespace = "
    "n.oid), "
    "t AS (SELECT t.oid, t.xmin FROM pg_type AS t JOIN n ON typnamespace = "
    "n.oid) "
    "SELECT md5(string_agg(x, ' ' ORDER BY x)) FROM ("
    "SELECT 'n' || oid || ':' || xmin FROM n "
    "UNION ALL SELECT 'c' || oid || ':' || xmin FROM c "
    "UNION ALL SELECT 't' || oid || ':' || xmin FROM t "
    "UNION ALL SELECT 'e' || oid || ':' || xmin FROM pg_enum "
    "WHERE enumtypid IN (SELECT oid FROM t) "
    "UNION ALL SELECT 'a' || attrelid || '.' || attnum || ':' || xmin "
    "FROM pg_attribute WHERE attrelid IN (SELECT oid FROM c) "
    "UNION ALL SELECT 'd' || oid || ':' || xmin FROM pg_attrdef "
    "WHERE adrelid IN (SELECT oid FROM c) "
    "UNION ALL SELECT 'i' || indexrelid || ':' || xmin FROM pg_index "
    "WHERE indrelid IN (SELECT oid FROM c) "
    "UNION ALL SELECT 'k' || oid || ':' || xmin FROM pg_constraint "
    "WHERE connamespace IN (SELECT oid FROM n) "
    "UNION ALL SELECT 's' || seqrelid || ':' || xmin FROM pg_sequence "
    "WHERE seqrelid IN (SELECT oid FROM c) "
    "UNION ALL SELECT 'g' || oid || ':' || xmin FROM pg_trigger "
    "WHERE tgrelid IN (SELECT oid FROM c) "
    "UNION ALL SELECT 'r' || oid || ':' || xmin FROM pg_rewrite "
    "WHERE ev_class IN (SELECT oid FROM c) "
    "UNION ALL SELECT 'l' || oid || ':' || xmin FROM pg_policy "
    "WHERE polrelid IN (SELECT oid FROM c) "
    "UNION ALL SELECT 'x' || oid || ':' || xmin FROM pg_statistic_ext "
    "WHERE stxnamespace IN (SELECT oid FROM n) "
    "UNION ALL SELECT 'f' || oid || ':' || xmin FROM pg_proc "
    "WHERE pronamespace IN (SELECT oid FROM n) "
    "UNION ALL SELECT 'm' || number || name || ':' || checksum "
    "FROM %s.cascade_schema) AS all_of_it (x)";

/* Without foreign keys and triggers, so in any order. */
static const char empty_sql[] =
    "SET lock_timeout = '5s'; SET session_replication_role = replica; "
    "DO $$ DECLARE one regclass; BEGIN "
    "FOR one IN SELECT oid FROM pg_class WHERE relkind = 'r' "
    "AND relnamespace = '%s'::regnamespace AND relname <> 'cascade_schema' "
    "LOOP EXECUTE format('DELETE FROM %%s', one); END LOOP; "
    "PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence "
    "JOIN pg_class ON pg_class.oid = seqrelid "
    "WHERE relnamespace = '%s'::regnamespace; END $$; "
    "RESET session_replication_role; RESET lock_timeout";

static PGconn *admin;
static char kept[NAME_SIZE];
static char made[PRINT_SIZE]; /* what the catalogue said of it */

/* ---- The server ---------------------------------------------------------- */

PGconn *
schemas_connect(void)
{
    const char *conninfo = getenv("CASCADE_TEST_PG");

    if (conninfo == NULL || conninfo[0] == '\0') {
        fprintf(stderr, "CASCADE_TEST_PG is not set: give the conninfo of a "
                        "PostgreSQL database for tests\n");
        return NULL;
    }
    return PQconnectdb(conninfo);
}

/* `*deadlock`: it stood crosswise with others, and has done nothing. */
static int
run_once(PGconn *connection, const char *sql, bool *deadlock)
{
    PGresult *result = PQexec(connection, sql);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    int failed = PQresultStatus(result) == PGRES_COMMAND_OK ? 0 : -1;

    *deadlock = state != NULL && strcmp(state, "40P01") == 0;
    if (failed != 0)
        fprintf(stderr, "%s: %s", sql, PQerrorMessage(connection));
    PQclear(result);
    return failed;
}

int
schemas_run(PGconn *connection, const char *sql)
{
    bool deadlock = true;
    int failed = -1;

    for (int i = 0; i < SQL_TRIES && failed != 0 && deadlock; i++)
        failed = run_once(connection, sql, &deadlock);
    return failed;
}

static void
reach_server(void)
{
    if (admin == NULL)
        admin = schemas_connect();
    else if (PQstatus(admin) != CONNECTION_OK)
        PQreset(admin);
}

/* ---- One of them --------------------------------------------------------- */

/* What the catalogue says of it: 0, or -1. */
static int
take_print(const char *name, char print[PRINT_SIZE])
{
    char sql[sizeof(print_sql) + 2 * NAME_SIZE];
    PGresult *result = NULL;
    int failed = -1;

    reach_server();
    snprintf(sql, sizeof(sql), print_sql, name, name);
    result = PQexec(admin, sql);
    if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1) {
        snprintf(print, PRINT_SIZE, "%s", PQgetvalue(result, 0, 0));
        failed = 0;
    }
    PQclear(result);
    return failed;
}

/* All migrations, as any program that opens a store. */
static int
migrate(const char *name)
{
    const cascade_store_options options = {.size = sizeof(options),
                                           .schema = name};
    cascade_store *store = NULL;

    if (cascade_store_open(getenv("CASCADE_TEST_PG"), &options, &store) !=
        CASCADE_OK) {
        fprintf(stderr, "%s\n", cascade_errmsg());
        return -1;
    }
    return cascade_store_close(store) == CASCADE_OK ? 0 : -1;
}

static void
drop(const char *name)
{
    char sql[128 + NAME_SIZE];

    reach_server();
    snprintf(sql, sizeof(sql),
             "SET client_min_messages = warning; DROP SCHEMA %s CASCADE", name);
    (void)schemas_run(admin, sql);
}

static int
create(const char *name)
{
    char sql[32 + NAME_SIZE];

    reach_server();
    snprintf(sql, sizeof(sql), "CREATE SCHEMA %s", name);
    return schemas_run(admin, sql);
}

static int
make(char *name, size_t size)
{
    unique_name(name, size, "cascade_engine");
    if (create(name) != 0)
        return -1;
    if (migrate(name) == 0 && take_print(name, made) == 0)
        return 0;
    drop(name);
    return -1;
}

static bool
is_as_made(const char *name)
{
    char print[PRINT_SIZE];

    return take_print(name, print) == 0 && strcmp(print, made) == 0;
}

static int
empty(const char *name)
{
    char sql[sizeof(empty_sql) + 3 * NAME_SIZE];

    snprintf(sql, sizeof(sql), empty_sql, name, name);
    return schemas_run(admin, sql);
}

/* ---- One test after another ---------------------------------------------- */

int
schemas_take(char *name, size_t size)
{
    if (kept[0] == '\0')
        return make(name, size);
    snprintf(name, size, "%s", kept);
    kept[0] = '\0';
    return 0;
}

int
schemas_clear(const char *name)
{
    drop(name);
    return create(name);
}

void
schemas_give(const char *name, bool used)
{
    if (!used && is_as_made(name) && empty(name) == 0)
        snprintf(kept, sizeof(kept), "%s", name);
    else
        drop(name);
}

void
schemas_end(void)
{
    if (kept[0] != '\0')
        drop(kept);
    kept[0] = '\0';
    PQfinish(admin);
    admin = NULL;
}
