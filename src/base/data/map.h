/* SPDX-License-Identifier: MIT
 *
 * A hash map from cascade_uuid to a pointer: open addressing, linear probing,
 * deletion by backward shift (no tombstones). The ids are random enough to be
 * their own hash, but the time-ordered leading bytes are not: the hash mixes
 * all sixteen.
 */
#ifndef CSC_BASE_DATA_MAP_H
#define CSC_BASE_DATA_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "cascade/cascade.h"

typedef struct csc_map_slot {
    cascade_uuid key;
    void *value; /* NULL: empty */
} csc_map_slot;

typedef struct csc_map {
    csc_map_slot *slots;
    size_t room; /* zero or a power of two */
    size_t count;
} csc_map;

void csc_map_init(csc_map *map);
void csc_map_fini(csc_map *map); /* the values are the caller's */
void *csc_map_get(const csc_map *map, const cascade_uuid *key);
/* Adds or replaces; `value` is not NULL. -1 when out of memory. */
int csc_map_put(csc_map *map, const cascade_uuid *key, void *value);
/* Returns what was there, NULL for nothing. */
void *csc_map_remove(csc_map *map, const cascade_uuid *key);
/* Walks all slots in no order: *at begins at 0; NULL at the end. The map must
 * not change meanwhile. */
void *csc_map_next(const csc_map *map, size_t *at);

#endif
