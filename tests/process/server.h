/* SPDX-License-Identifier: MIT
 *
 * A PostgreSQL server of the test's own, which can be crashed. Made by
 * tests/lib/throwaway-postgres.sh of the source tree that CASCADE_SOURCE_DIR
 * names.
 */
#ifndef TESTS_PROCESS_SERVER_H
#define TESTS_PROCESS_SERVER_H

#include "process/place.h"

typedef struct test_server {
    char folder[128];
    char conninfo[256];
    const char *options; /* "NAME=VALUE NAME=VALUE" */
} test_server;

/* Each fails the test when it cannot. */
void server_create(test_server *server, const char *options);
void server_crash(test_server *server); /* as in a power cut */
void server_start(test_server *server);
void server_remove(test_server *server);

#endif
