/* SPDX-License-Identifier: MIT
 *
 * The connection of tests that ask a real PostgreSQL: group setup and teardown
 * of cmocka. The server is named by CASCADE_TEST_PG; without it the group
 * fails.
 */
#ifndef TESTS_BASE_SERVER_H
#define TESTS_BASE_SERVER_H

#include <libpq-fe.h>

/* Open between the two below. */
extern PGconn *server_conn;

int server_open(void **state);
int server_close(void **state);

#endif
