/* SPDX-License-Identifier: MIT
 *
 * A process that dies at a chosen commit, and the next one, which may be of
 * another build: two INLINE engines, one after the other, on one database.
 *
 *     for (size_t at = 0; crash_play(&c, db, at); at++) {
 *         ...look at crash_load(&c)...
 *         crash_end(&c);
 *     }
 *
 * At an even `at` the commit does not reach the store, at an odd one its answer
 * does not come back. From then on the first engine reaches nothing any more.
 * The user pointer of both nodes is c.user.
 */
#ifndef TESTS_ENGINE_SUPPORT_CRASH_H
#define TESTS_ENGINE_SUPPORT_CRASH_H

#include "support/stores.h"

typedef struct crash {
    const char *node;
    cascade_node_fn before; /* the node's function in the first process */
    cascade_node_fn after;  /* and in the second */
    cascade_final_failure final_failure;
    /* Called when the first process is dead, before the second begins. */
    void (*between)(struct crash *c);
    void *user;
    cascade_status status; /* the end of the cascade */
    bool dead;             /* the first process died */
    cascade_uuid id;
    test_db *db;
    cascade_store *store;
    cascade_engine *engines[2];
} crash;

/* False, and the cascade has ended in the first process, when there are not so
 * many commits. In both cases crash_end() must be called. */
bool crash_play(crash *c, test_db *db, size_t at);
cascade_snapshot *crash_load(const crash *c);
void crash_end(crash *c);

#endif
