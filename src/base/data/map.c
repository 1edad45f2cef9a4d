/* SPDX-License-Identifier: MIT
 *
 * A hash map from ids to pointers; see map.h. A key sits at its home slot or in
 * the run of full slots behind it:
 *
 *      home of a, b          home of c
 *      v                     v
 *   . [a] [b] . .           [c] [d] .        d's home is c's
 *
 * A search ends at the first empty slot, so removing must not leave a hole in
 * front of a key that was pushed on: the keys behind move up where their home
 * allows it. At most three quarters of the slots are full.
 */
#include "base/data/map.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"

#define FIRST_ROOM 16

void
csc_map_init(csc_map *map)
{
    memset(map, 0, sizeof(*map));
}

void
csc_map_fini(csc_map *map)
{
    csc_mem_free(map->slots);
    csc_map_init(map);
}

/* Mixes both halves (the finaliser of SplitMix64 over their combination). */
static size_t
hash_of(const cascade_uuid *key)
{
    uint64_t half[2];
    uint64_t mixed;

    memcpy(half, key->bytes, sizeof(half));
    mixed = half[0] * UINT64_C(0x9e3779b97f4a7c15) + half[1];
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (size_t)(mixed ^ (mixed >> 31));
}

/* The slot of `key`, or the empty one where it belongs. */
static csc_map_slot *
find(const csc_map *map, const cascade_uuid *key)
{
    size_t mask = map->room - 1;
    size_t at = hash_of(key) & mask;

    while (map->slots[at].value != NULL &&
           !csc_uuid_equal(&map->slots[at].key, key))
        at = (at + 1) & mask;
    return &map->slots[at];
}

void *
csc_map_get(const csc_map *map, const cascade_uuid *key)
{
    return map->count == 0 ? NULL : find(map, key)->value;
}

static int
grow(csc_map *map)
{
    csc_map bigger = {.room = map->room == 0 ? FIRST_ROOM : map->room * 2};

    if (map->count + 1 <= map->room / 4 * 3)
        return 0;
    bigger.slots = csc_mem_zalloc(bigger.room, sizeof(bigger.slots[0]));
    if (bigger.slots == NULL)
        return -1;
    bigger.count = map->count;
    for (size_t i = 0; i < map->room; i++) {
        if (map->slots[i].value != NULL)
            *find(&bigger, &map->slots[i].key) = map->slots[i];
    }
    csc_mem_free(map->slots);
    *map = bigger;
    return 0;
}

int
csc_map_put(csc_map *map, const cascade_uuid *key, void *value)
{
    csc_map_slot *slot;

    csc_assert(value != NULL);
    if (grow(map) != 0)
        return -1;
    slot = find(map, key);
    if (slot->value == NULL)
        map->count++;
    slot->key = *key;
    slot->value = value;
    return 0;
}

/* Fills the hole at `hole` from the run behind it: a key moves up when the hole
 * lies between its home and its place (cyclically). */
static void
close_hole(csc_map *map, size_t hole)
{
    size_t mask = map->room - 1;

    for (size_t at = (hole + 1) & mask; map->slots[at].value != NULL;
         at = (at + 1) & mask) {
        size_t home = hash_of(&map->slots[at].key) & mask;

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole].value = NULL;
}

void *
csc_map_remove(csc_map *map, const cascade_uuid *key)
{
    csc_map_slot *slot = map->count == 0 ? NULL : find(map, key);
    void *value;

    if (slot == NULL || slot->value == NULL)
        return NULL;
    value = slot->value;
    close_hole(map, (size_t)(slot - map->slots));
    map->count--;
    return value;
}

void *
csc_map_next(const csc_map *map, size_t *at)
{
    while (*at < map->room) {
        void *value = map->slots[(*at)++].value;

        if (value != NULL)
            return value;
    }
    return NULL;
}
