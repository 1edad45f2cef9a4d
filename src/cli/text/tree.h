/* SPDX-License-Identifier: MIT
 *
 * The executions of a cascade in the order of a tree: each below the one that
 * spawned it.
 */
#ifndef CLI_TREE_H
#define CLI_TREE_H

#include <cascade/manage.h>

struct tree_place {
    size_t index; /* of the execution in the history */
    size_t depth;
};

/* Writes a place for each execution of the history, first to last line; the
 * caller frees it. NULL when out of memory, or where there is none. */
struct tree_place *tree_create(const cascade_snapshot *snapshot);

#endif
