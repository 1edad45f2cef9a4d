/* SPDX-License-Identifier: MIT
 *
 * A pgbouncer of the test's own in transaction mode, made by
 * tests/lib/throwaway-pooler.sh, in front of a server of the test's own.
 */
#ifndef TESTS_FAULTS_POOLER_H
#define TESTS_FAULTS_POOLER_H

#include "process/server.h"

typedef struct test_pooler {
    char folder[128];
    char conninfo[256];
} test_pooler;

/* Each fails the test when it cannot. */
void pooler_create(test_pooler *pooler, const test_server *server, int size);
void pooler_kill(test_pooler *pooler);
void pooler_start(test_pooler *pooler);
void pooler_reload(test_pooler *pooler);
void pooler_remove(test_pooler *pooler);

#endif
