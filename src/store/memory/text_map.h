/* SPDX-License-Identifier: MIT
 *
 * A hash map from texts to pointers. The texts are the caller's and must stay
 * where they are while they are in the map.
 */
#ifndef CSC_STORE_MEMORY_TEXT_MAP_H
#define CSC_STORE_MEMORY_TEXT_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

typedef struct csc_memory_names_slot {
    uint64_t hash;
    const char *text;
    void *value; /* NULL: empty */
} csc_memory_names_slot;

typedef struct csc_memory_names {
    csc_memory_names_slot *slots;
    size_t room; /* zero or a power of two */
    size_t count;
} csc_memory_names;

void csc_memory_names_fini(csc_memory_names *names);
void *csc_memory_names_get(const csc_memory_names *names, const char *text);
/* Adds `text`, which is not in the map; `value` is not NULL. -1 when out of
 * memory. */
int csc_memory_names_put(csc_memory_names *names, const char *text,
                         void *value);
/* Nothing happens when it is not there. */
void csc_memory_names_remove(csc_memory_names *names, const char *text);
/* As csc_map_next(). */
void *csc_memory_names_next(const csc_memory_names *names, size_t *at);

#endif
