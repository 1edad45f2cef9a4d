/* SPDX-License-Identifier: MIT
 *
 * For tests of transactions of nodes on SQLite: an engine that owns a cascade,
 * and a table `orders` of the application's.
 */
#ifndef TESTS_STORE_SQLITE_SQLITE_NODES_H
#define TESTS_STORE_SQLITE_SQLITE_NODES_H

#include "store/sqlite/sqlite_fixture.h"

#define NODES_LANE 1

typedef struct nodes_scene {
    sqlite_fixture *it;
    cascade_store *store;
    cascade_uuid engine;
    cascade_uuid id;
    int32_t step;   /* the execution that runs */
    int64_t number; /* of the lane's next batch */
    cascade_native native;
} nodes_scene;

/* Opens a store. What is made here must succeed; in a child too, where cmocka
 * cannot tell: false then. */
bool nodes_open(nodes_scene *scene, sqlite_fixture *it);
void nodes_close(nodes_scene *scene);

sqlite3 *nodes_db(const nodes_scene *scene);
cascade_err nodes_begin(nodes_scene *scene);
/* Where the deadline is so short that it may pass meanwhile: until it does not.
 */
void nodes_begin_at_last(nodes_scene *scene);
/* Under a limit that is to pass. */
void nodes_begin_within(nodes_scene *scene, int64_t limit_ms);
/* The same behind a first statement; gives the limit, which is longer where it
 * had passed before that. */
int64_t nodes_begin_with(nodes_scene *scene, const char *sql);
void nodes_abandon(nodes_scene *scene);
/* Ends one execution and begins the next. */
cascade_err nodes_finish(nodes_scene *scene);
cascade_err nodes_settle(nodes_scene *scene, bool *committed);
/* After a finish that is known to have taken effect. */
void nodes_step(nodes_scene *scene);

/* SQLITE_OK, or what prepare or the first step gave. */
int nodes_sql(const nodes_scene *scene, const char *sql);

/* Orders that are committed, and executions that have completed: one each for
 * each node that has inserted one. */
int64_t nodes_count_orders(sqlite_fixture *it);
int64_t nodes_count_completed(sqlite_fixture *it);

#endif
