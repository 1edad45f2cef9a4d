/* SPDX-License-Identifier: MIT
 *
 * The registered nodes. They are fixed once the engine is started, so looking
 * one up takes no lock.
 */
#include "held/node_def.h"

#include <string.h>

#include "cascade/cascade.h"
#include "change/op.h"
#include "held/engine_state.h"

const csc_node_def *
csc_node_def_find(const cascade_engine *engine, const char *name)
{
    size_t from = 0;
    size_t to = engine->node_count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = strcmp(name, engine->nodes[middle].name);

        if (order == 0)
            return &engine->nodes[middle];
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}

const csc_waiting *
csc_node_def_is_external(const void *engine, const char *name)
{
    const csc_node_def *node = csc_node_def_find(engine, name);

    return node != NULL && node->fn == NULL ? &node->waiting : NULL;
}
