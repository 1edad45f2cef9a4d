/* SPDX-License-Identifier: MIT
 *
 * The nodes of all scenarios. What they do depends on nothing but their input,
 * their attempt and their place, so a cascade looks the same however often its
 * nodes were entered. Running out of memory, or a fault in a step's commit,
 * costs an attempt: those that are not meant to fail have as many as they need.
 */
#ifndef TESTS_SWEEP_NODES_H
#define TESTS_SWEEP_NODES_H

#include "cascade/cascade.h"

typedef struct scene_node {
    const char *name; /* NULL: behind the last */
    cascade_node_fn fn;
    cascade_node_options options;
    cascade_external_options external; /* where `fn` is NULL */
} scene_node;

extern const scene_node scene_nodes[];

#endif
