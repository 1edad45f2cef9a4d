/* SPDX-License-Identifier: MIT
 *
 * Engines with transactional nodes on a watched store, and a ledger:
 *
 *     till *t = till_open(db, mode, (till_node[]){{"pay", pay, {...}}}, 1);
 *     till_run(t, "pay", CASCADE_COMPLETED);
 *     ...look...
 *     till_close(t);
 *
 * The user pointer of each node is the till. Nodes of its own, where a test
 * needs no others: till_pay.
 */
#ifndef TESTS_ENGINE_SUPPORT_TILL_H
#define TESTS_ENGINE_SUPPORT_TILL_H

#include <stdatomic.h>

#include "engine/support/ledger.h"
#include "engine/support/watch.h"

#define TILL_NODES 6
#define TILL_ENGINES 2

typedef struct till_node {
    const char *name;
    cascade_node_fn fn;
    cascade_node_options options;
} till_node;

typedef struct till {
    test_db *db;
    cascade_mode mode;
    cascade_engine_options options; /* of the engines; with what 0 stands for */
    till_node nodes[TILL_NODES];
    size_t node_count;
    watch w;
    cascade_store *store[TILL_ENGINES];
    cascade_engine *engine[TILL_ENGINES];
    size_t engine_count;
    cascade_uuid id;
    atomic_int entered; /* whatever counts itself */
    atomic_int within;  /* functions that run now */
    atomic_int most;    /* and the most of them at once */
    atomic_int other;
    atomic_bool go;   /* those that block may return */
    atomic_int fails; /* attempts that are still to fail */
} till;

#define TILL_TRANSACTIONAL                     \
    {                                          \
        .transactional = true, .backoff_ms = 1 \
    }

/* Without an engine: for options of its own. */
till *till_create(test_db *db, cascade_mode mode, const till_node *nodes,
                  size_t count);
/* One engine more, started. */
cascade_engine *till_engine(till *t);
/* Both. */
till *till_open(test_db *db, cascade_mode mode, const till_node *nodes,
                size_t count);
/* Plays on until `done`. */
void till_until(till *t, bool (*done)(void *context), void *context);
void till_await(till *t, const cascade_uuid *id, cascade_status status);
/* Starts a cascade of that node, and waits for its end. */
void till_run(till *t, const char *node, cascade_status status);
cascade_snapshot *till_snapshot(const till *t);
/* How many attempts execution `index` of the last cascade had, and that `text`
 * is in its error (NULL: there is none). */
void till_check(const till *t, size_t index, int attempts, const char *text);
/* Ends the engines; at least so many commits were compared. */
void till_close(till *t, size_t commits_min);

/* Writes the name of its cascade's node to the ledger; fails then as long as
 * `fails` is not used up. */
cascade_err till_pay(cascade_node *node, void *user);
/* Enters and leaves a function that is counted. */
void till_enter(till *t);
void till_leave(till *t);
/* Returns once it is set. */
void till_block(const atomic_bool *go);

/* The scenario `name`(db, mode) as a test in each mode. */
#define TILL_MODES(name)                    \
    static void name##_threads(test_db *db) \
    {                                       \
        name(db, CASCADE_MODE_THREADS);     \
    }                                       \
    static void name##_loop(test_db *db)    \
    {                                       \
        name(db, CASCADE_MODE_LOOP);        \
    }                                       \
    static void name##_inline(test_db * db) \
    {                                       \
        name(db, CASCADE_MODE_INLINE);      \
    }
#define TILL_TESTS(name)                                   \
    {#name "_with_threads", name##_threads, STORES_FILES}, \
        {#name "_in_a_loop", name##_loop, STORES_FILES},   \
    {                                                      \
#name "_inline", name##_inline, STORES_FILES       \
    }

#endif
