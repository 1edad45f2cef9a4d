/* SPDX-License-Identifier: MIT
 *
 * Nodes of many kinds, for tests that end a play anywhere and look whether it
 * comes to the same end: the scenarios of the sweeps (sweep/scenarios.h), the
 * scripts of the processes that are killed (process/script.h). What they do
 * depends on nothing but their input, their attempt and their place, so a
 * cascade looks the same however often its nodes were entered. Running out of
 * memory, or a fault in a step's commit, costs an attempt: those that are not
 * meant to fail have as many as they need.
 */
#ifndef TESTS_SUPPORT_NODES_H
#define TESTS_SUPPORT_NODES_H

#include "cascade/cascade.h"

/* Who is told of each node, step and compensation that is entered. */
typedef struct nodes_watcher {
    void (*entered)(void *context, const cascade_node *node);
    void *context;
} nodes_watcher;

/* All nodes but `without` (NULL: none is left out). `watcher` must outlive the
 * engine. */
cascade_err nodes_register(cascade_engine *engine, const char *without,
                           nodes_watcher *watcher);

#endif
