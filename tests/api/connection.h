/* SPDX-License-Identifier: MIT
 *
 * A connection of the application's to a test's database, whichever that is.
 */
#ifndef TESTS_API_CONNECTION_H
#define TESTS_API_CONNECTION_H

#include <stdbool.h>

#include "support/stores.h"

/* What a kind of database has for it. */
typedef struct connection_kind {
    const char *backend;
    const char *begin;  /* a transaction that may write */
    const char *orders; /* makes the table of the application */
    void *(*open)(const test_db *db);
    void (*close)(void *handle);
    cascade_err (*open_store)(void *handle,
                              const cascade_store_options *options,
                              cascade_store **store);
    /* False when a statement fails. `first` (may be NULL): the first column of
     * the first row, "" without one. */
    bool (*run)(void *handle, const char *sql, char *first, size_t size);
} connection_kind;

/* A connection, and a store on it. */
typedef struct connection {
    const connection_kind *kind;
    void *handle;
    cascade_store *store;
} connection;

void connection_open(test_db *db, connection *it);
/* The store first. */
void connection_close(connection *it);

/* Fails the test when a statement fails. */
void connection_run(connection *it, const char *sql);
void connection_begin(connection *it);
int connection_count(connection *it, const char *sql);

#endif
