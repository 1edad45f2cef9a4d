/* SPDX-License-Identifier: MIT
 *
 * The registered nodes. They are fixed once the engine is started, so looking
 * one up takes no lock.
 *
 * ON A FIBER a function is expected to hold its worker for moments, as others
 * of that worker wait behind it. One that does not, one time in HELD_EVERY or
 * more, runs on the worker's own stack from then on. Once is not enough: on a
 * machine that is busy any function takes long now and then.
 */
#include "held/node_def.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "change/op.h"
#include "held/engine_state.h"

#define HELD_MS 5
#define HELD_EVERY 16
#define HELD_MAX (2 * HELD_EVERY)

const csc_node_def *
csc_node_def_find(const cascade_engine *engine, const char *name)
{
    size_t from = 0;
    size_t to = engine->node_count;

    csc_assert(to <= engine->node_room);
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

bool
csc_node_def_has_fibers(const cascade_engine *engine)
{
    return engine->options.fibers > 0;
}

bool
csc_node_def_goes_on_fiber_locked(const cascade_engine *engine,
                                  const csc_node_def *node)
{
    return csc_node_def_has_fibers(engine) && !node->thread &&
           engine->ready.carriers.fibers < engine->options.fiber_max &&
           atomic_load_explicit(&node->held, memory_order_relaxed) < HELD_MAX;
}

void
csc_node_def_note_held(cascade_engine *engine, const csc_node_def *node,
                       int64_t held_ns)
{
    atomic_int *held = &engine->nodes[node - engine->nodes].held;
    int count = atomic_load_explicit(held, memory_order_relaxed);

    if (held_ns > HELD_MS * CSC_MS_NS)
        atomic_fetch_add_explicit(held, HELD_EVERY, memory_order_relaxed);
    else if (count > 0 && count < HELD_MAX)
        atomic_fetch_sub_explicit(held, 1, memory_order_relaxed);
}

const csc_waiting *
csc_node_def_is_external(const void *engine, const char *name)
{
    const csc_node_def *node = csc_node_def_find(engine, name);

    return node != NULL && node->fn == NULL ? &node->waiting : NULL;
}
