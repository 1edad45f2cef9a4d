/* SPDX-License-Identifier: MIT
 *
 * What an incarnation says about itself as it attaches: column `about` of its
 * row, read by whoever lists the engines of a store.
 *
 *   {"nodes":["a","b"],"queues":["default"],"version":"0.2.0"}
 *
 * The engine of a single call says "brief":true besides. Members stand in
 * canonical order. The text is as long as the names are that the engine serves,
 * which each of its claims carries as well. What says nothing, {}, or something
 * that is no such object (an earlier release, another program) counts as
 * knowing nothing: no node, no queue, version "".
 */
#ifndef CSC_QUERY_CAPABILITIES_H
#define CSC_QUERY_CAPABILITIES_H

#include <stddef.h>

#include "base/data/arena.h"
#include "cascade/cascade.h"

typedef struct csc_about {
    const char *version; /* never NULL */
    bool brief;
    const char *const *queues;
    size_t queue_count;
    const char *const *nodes;
    size_t node_count;
} csc_about;

/* The text, to be freed with csc_mem_free(); NULL when out of memory. The names
 * are none that need escapes. */
char *csc_capabilities_encode(const csc_about *about);

/* What `text` (may be NULL) says; all of it is the arena's. False when out of
 * memory. */
bool csc_capabilities_decode(csc_arena *arena, const char *text,
                             csc_about *about);

/* The text that member `name` has of the object in `text`, of which as little
 * is expected: who paused a queue, and why. "" where there is none, and when
 * out of memory, which shows in the arena. */
const char *csc_capabilities_member(csc_arena *arena, const char *text,
                                    const char *name);

#endif
