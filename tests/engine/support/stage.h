/* SPDX-License-Identifier: MIT
 *
 * An engine whose nodes have options of their own, in any mode, with what the
 * tests of time limits ask of it:
 *
 *     stage s = {.nodes = {{"name", function, {.deadline_ms = 5}}}};
 *     stage_open(&s, db, mode);
 *     stage_run(&s, "name", CASCADE_ERROR);
 *     ...look...
 *     stage_end(&s);
 *
 * The user pointer of each node is the stage. INLINE on a store with virtual
 * time runs by the test's clock, the other modes where db->fake_time says so.
 */
#ifndef TESTS_ENGINE_SUPPORT_STAGE_H
#define TESTS_ENGINE_SUPPORT_STAGE_H

#include <stdatomic.h>

#include "support/stores.h"

#define HOUR_MS (INT64_C(3600) * 1000)
#define SHORT_MS 100 /* a limit in real time */
#define NODES 4

typedef struct stage stage;

typedef struct stage_node {
    const char *name;
    cascade_node_fn fn;
    cascade_node_options options;
} stage_node;

/* What one test plays with; the user pointer of its nodes. */
struct stage {
    stage_node nodes[NODES];
    int64_t park_after_ms;
    unsigned worker_count;
    test_db *db;
    cascade_mode mode;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid id;
    int64_t take_ms[8]; /* how long attempt n takes, by the fake clock */
    atomic_int entered;
    atomic_int left;
    atomic_bool stepped; /* a first step was recorded */
    atomic_bool go;      /* those that block may return */
    atomic_int refused;
};

void stage_open(stage *s, test_db *db, cascade_mode mode);
/* One more engine, started; `engine` names it from then on. */
void stage_start_engine(stage *s);
/* Waits for the end of cascade `id` with that status. */
void stage_await(stage *s, cascade_status status);
/* Starts a cascade of `node`, and waits for its end. */
void stage_run(stage *s, const char *node, cascade_status status);
void stage_poll(const stage *s);
void stage_end(stage *s);

cascade_snapshot *stage_snapshot(const stage *s);
const cascade_execution_info *stage_execution(const cascade_snapshot *snapshot,
                                              size_t index);
/* What is recorded of execution `index`: its attempts, and that `text` is in
 * its error (NULL: there is none). */
void stage_check(const stage *s, size_t index, int attempts, const char *text);
/* Returns once it is set. */
void stage_block(const atomic_bool *go);

#endif
