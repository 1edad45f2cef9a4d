/* SPDX-License-Identifier: MIT
 *
 * See hostile.h.
 */
#include "store/postgres/hostile.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAID_MAX 2000000

/* Where statements are. */
static const char *const said_in[] = {"sql/postgres/statements/*.sql",
                                      "sql/postgres/*.sql", "sql/roles.sql"};
static const char *const made_by = "tests/store/postgres/hostile.sql";

/* ---- What is said -------------------------------------------------------- */

static bool
add_file(const char *path, char *said, size_t *length)
{
    FILE *file = fopen(path, "r");

    if (file == NULL) {
        perror(path);
        return false;
    }
    *length += fread(said + *length, 1, SAID_MAX - *length, file);
    fclose(file);
    return *length < SAID_MAX;
}

static bool
add_pattern(const char *pattern, char *said, size_t *length)
{
    const char *folder = getenv("CASCADE_SOURCE_DIR");
    char path[1024];
    glob_t found;
    bool good = true;

    snprintf(path, sizeof(path), "%s/%s", folder == NULL ? "." : folder,
             pattern);
    if (glob(path, 0, NULL, &found) != 0) {
        fprintf(stderr, "%s: nothing there\n", path);
        return false;
    }
    for (size_t i = 0; i < found.gl_pathc && good; i++)
        good = add_file(found.gl_pathv[i], said, length);
    globfree(&found);
    return good;
}

/* To be freed; NULL with a line on stderr. */
static char *
read_all(const char *const *patterns, size_t count)
{
    char *said = calloc(1, SAID_MAX + 1);
    size_t length = 0;
    bool good = said != NULL;

    for (size_t i = 0; i < count && good; i++)
        good = add_pattern(patterns[i], said, &length);
    if (good)
        return said;
    free(said);
    return NULL;
}

/* ---- Making -------------------------------------------------------------- */

/* Ends `result`. */
static bool
is_good(PGconn *admin, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    if (!good)
        fprintf(stderr, "hostile: %s", PQerrorMessage(admin));
    PQclear(result);
    return good;
}

static bool
run(PGconn *admin, const char *sql)
{
    return is_good(admin, PQexec(admin, sql));
}

static bool
say(PGconn *admin, const char *schema, const char *said)
{
    static const char sql[] =
        "WITH s AS (SELECT pg_catalog.set_config('hostile.schema',"
        "  $1::pg_catalog.text, false))"
        " INSERT INTO pg_temp.said SELECT $2::pg_catalog.text FROM s";
    const char *const values[] = {schema, said};

    return run(admin, "CREATE TEMP TABLE said (text pg_catalog.text)") &&
           is_good(admin,
                   PQexecParams(admin, sql, 2, NULL, values, NULL, NULL, 0));
}

bool
hostile_make(PGconn *admin, const char *schema)
{
    char *said = read_all(said_in, sizeof(said_in) / sizeof(said_in[0]));
    char *made = read_all(&made_by, 1);
    bool good = said != NULL && made != NULL && say(admin, schema, said) &&
                run(admin, made) && run(admin, "DROP TABLE pg_temp.said");

    free(said);
    free(made);
    return good;
}

bool
hostile_make_role(PGconn *admin, const char *role, const char *schemas)
{
    char sql[600];

    snprintf(sql, sizeof(sql),
             "DO $$ BEGIN CREATE ROLE %s LOGIN;"
             " EXECUTE pg_catalog.format('GRANT CREATE ON DATABASE %%I TO %s',"
             "  pg_catalog.current_database());"
             " GRANT USAGE, CREATE ON SCHEMA %s TO %s;"
             " ALTER ROLE %s SET search_path = %s, pg_catalog; END $$",
             role, role, schemas, role, role, schemas);
    return run(admin, sql);
}
