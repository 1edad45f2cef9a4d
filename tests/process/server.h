/* SPDX-License-Identifier: MIT
 *
 * A PostgreSQL server of the test's own, which can be crashed and restarted.
 * Made by tests/lib/throwaway-postgres.sh of the source tree that
 * CASCADE_SOURCE_DIR names.
 */
#ifndef TESTS_PROCESS_SERVER_H
#define TESTS_PROCESS_SERVER_H

#include <stddef.h>

#include "process/place.h"

typedef struct test_server {
    char folder[128];
    char conninfo[256];
    const char *options; /* "NAME=VALUE NAME=VALUE" */
} test_server;

/* Each fails the test when it cannot. */
void server_create(test_server *server, const char *options);
void server_crash(test_server *server); /* as in a power cut */
void server_stop(test_server *server);  /* as for a restart */
void server_start(test_server *server);
/* Copies what a stopped server has, and puts that back. */
void server_keep(test_server *server);
void server_restore(test_server *server);
void server_remove(test_server *server);

/* Another server that follows `primary`, under the name "standby"; and makes it
 * a server of its own. */
void server_create_standby(test_server *server, const test_server *primary,
                           const char *options);
void server_promote(test_server *server);

/* Runs a script of tests/lib and reads the first line of what it says. */
void server_run(const char *name, const char *arguments, char *line,
                size_t size);

#endif
