/* SPDX-License-Identifier: MIT */
#include "faults/postgres_stage.h"

#include <stdio.h>

pg_stage stage;

static PGconn *
connect_to(const char *database)
{
    char conninfo[512];
    PGconn *admin;

    snprintf(conninfo, sizeof(conninfo),
             "host=%s user=cascade dbname=%s application_name=admin"
             " options='-c client_min_messages=error -c lock_timeout=60s'",
             stage.server.folder, database);
    admin = PQconnectdb(conninfo);
    if (PQstatus(admin) != CONNECTION_OK)
        fail_msg("%s: %s", conninfo, PQerrorMessage(admin));
    return admin;
}

void
stage_connect(void)
{
    PQfinish(stage.sql.admin);
    stage.sql.admin = NULL; /* should the next line fail the test */
    stage.sql.admin = connect_to(stage.database);
}

void
stage_create(const char *options)
{
    server_create(&stage.server, options);
    snprintf(stage.database, sizeof(stage.database), "cascade");
    stage_connect();
    pg_sql(&stage.sql, "CREATE ROLE " STAGE_ROLE " LOGIN");
}

int
stage_remove(void **state)
{
    (void)state;
    PQfinish(stage.sql.admin);
    if (stage.server.folder[0] != '\0')
        server_remove(&stage.server);
    return 0;
}

void
stage_new_database(void)
{
    static int number;

    stage_connect();
    pg_sql(&stage.sql, "ALTER ROLE " STAGE_ROLE " RESET ALL");
    snprintf(stage.database, sizeof(stage.database), "faults_%d", ++number);
    pg_sql(&stage.sql, "CREATE DATABASE %s OWNER " STAGE_ROLE, stage.database);
    stage_connect();
    pg_sql(&stage.sql, "GRANT ALL ON SCHEMA public TO " STAGE_ROLE);
    snprintf(stage.conninfo, sizeof(stage.conninfo),
             "host=%s user=" STAGE_ROLE " password=" STAGE_SECRET " dbname=%s",
             stage.server.folder, stage.database);
}

const char *
stage_conninfo(const char *more, char *text, size_t size)
{
    snprintf(text, size, "%s %s", stage.conninfo, more);
    return text;
}
