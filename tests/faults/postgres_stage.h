/* SPDX-License-Identifier: MIT
 *
 * A PostgreSQL server of the test's own for one test program, with a role that
 * is nobody special, whose settings a test may spoil. Each test gets a database
 * of its own, and a superuser's connection to it: to look and to interfere.
 */
#ifndef TESTS_FAULTS_POSTGRES_STAGE_H
#define TESTS_FAULTS_POSTGRES_STAGE_H

#include "process/server.h"
#include "store/postgres/postgres_fixture.h"

/* In the connection string; must not be seen anywhere. */
#define STAGE_SECRET "s3cr3t"
#define STAGE_ROLE "app"

typedef struct pg_stage {
    test_server server;
    pg_test sql; /* its `admin`, for pg_sql(), pg_number() and pg_until() */
    char database[32];
    char conninfo[512]; /* the role's, to the test's database */
} pg_stage;

extern pg_stage stage; /* the program's */

/* For the group: "NAME=VALUE NAME=VALUE" are settings of the server. */
void stage_create(const char *options);
int stage_remove(void **state);

/* A new database; the role has no settings of its own any more. */
void stage_new_database(void);
/* Connects the superuser anew, as a server that went away demands. */
void stage_connect(void);
/* The role's connection string with these options behind. */
const char *stage_conninfo(const char *more, char *text, size_t size);

#endif
