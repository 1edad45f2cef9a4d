/* SPDX-License-Identifier: MIT
 *
 * One cascade played through in any mode, for tests of the node side:
 *
 *     play p = {.nodes = {{"name", function}}};
 *     play_run(&p, db, mode, "name", "{}", CASCADE_COMPLETED);
 *     ...look at play_snapshot(&p)...
 *     play_end(&p);
 *
 * The user pointer of each node is the play.
 */
#ifndef TESTS_ENGINE_SUPPORT_PLAY_H
#define TESTS_ENGINE_SUPPORT_PLAY_H

#include "support/stores.h"

#define PLAY_NODES 8
#define PLAY_EXTERNALS 2

typedef struct play {
    struct {
        const char *name; /* NULL: no more */
        cascade_node_fn fn;
    } nodes[PLAY_NODES];
    const char *instead[PLAY_NODES]; /* of each, or NULL */
    struct {
        const char *name; /* NULL: no more */
        cascade_external_options options;
    } externals[PLAY_EXTERNALS];
    int attempts_max;   /* as in cascade_node_options */
    int64_t backoff_ms; /* 0: 3 */
    cascade_final_failure final_failure;
    size_t execution_bytes_max;
    int64_t park_after_ms;
    int64_t poll_interval_ms; /* 0: 20 */
    int depth_max;
    unsigned worker_count; /* 0: 3 */
    cascade_event_fn on_event;
    void *event_context;
    void *user; /* the test's own */
    test_db *db;
    cascade_mode mode;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid id;
} play;

/* Opens and starts the engine. */
void play_open(play *p, test_db *db, cascade_mode mode);
/* Opens, starts a cascade of `node`, waits for its end. */
void play_run(play *p, test_db *db, cascade_mode mode, const char *node,
              const char *input, cascade_status status);
/* Opens, and starts a cascade of `node`. */
void play_begin(play *p, test_db *db, cascade_mode mode, const char *node);
/* How many executions of that name and status it has. */
size_t play_count(const play *p, const char *node,
                  cascade_execution_status status);
/* Plays on until there are that many. */
void play_until(play *p, const char *node, cascade_execution_status status,
                size_t count);
/* Plays on until `done`. */
void play_on(play *p, bool (*done)(void *context), void *context);
/* Plays on until the cascade is given up to wait. */
void play_until_parked(play *p);
/* Plays on until it is given up for years, to be woken by a message only. */
void play_until_left(play *p);
/* Waits for the end of cascade `id` with that status. */
void play_await(play *p, const cascade_uuid *id, cascade_status status);
/* The one cascade with an execution of `node` that has that status (0: any).
 * A node that is entered again, by another thread, would write anew what it
 * tells the test: so the test is not told, but finds. */
cascade_uuid play_find(const play *p, const char *node, cascade_status status);
cascade_snapshot *play_snapshot(const play *p);
const cascade_execution_info *play_execution(const cascade_snapshot *snapshot,
                                             size_t index);
/* {"n":n}, and the number in it. */
cJSON *play_number(int n);
int play_read_number(const cJSON *object);
void play_end(play *p);

/* In the next plays a step suspends its node, with threads too; nodes run on
 * fibers there. */
extern bool play_suspend_steps;
extern bool play_fibers;

/* The scenario `name`(db, mode) as a test in each mode. */
#define PLAY_MODES(name)                      \
    static void name##_threads(test_db *db)   \
    {                                         \
        play_suspend_steps = false;           \
        name(db, CASCADE_MODE_THREADS);       \
    }                                         \
    static void name##_on_fibers(test_db *db) \
    {                                         \
        play_suspend_steps = false;           \
        play_fibers = true;                   \
        name(db, CASCADE_MODE_THREADS);       \
        play_fibers = false;                  \
    }                                         \
    static void name##_suspended(test_db *db) \
    {                                         \
        play_suspend_steps = true;            \
        name(db, CASCADE_MODE_THREADS);       \
    }                                         \
    static void name##_loop(test_db *db)      \
    {                                         \
        play_suspend_steps = false;           \
        name(db, CASCADE_MODE_LOOP);          \
    }                                         \
    static void name##_inline(test_db * db)   \
    {                                         \
        play_suspend_steps = false;           \
        name(db, CASCADE_MODE_INLINE);        \
    }
#define PLAY_TESTS(name)                                    \
    {#name "_with_threads", name##_threads, STORES_ALL},    \
        {#name "_on_fibers", name##_on_fibers, STORES_ALL}, \
        {#name "_suspended", name##_suspended, STORES_ALL}, \
        {#name "_in_a_loop", name##_loop, STORES_ALL},      \
    {                                                       \
#name "_inline", name##_inline, STORES_ALL          \
    }

#endif
