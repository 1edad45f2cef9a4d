/* SPDX-License-Identifier: MIT
 *
 * The text map of the memory store: open addressing, linear probing, deletion
 * by backward shift, as in base/data/map.c, with the hash kept beside the text,
 * so that growing never reads a text and a search compares few of them.
 */
#include "store/memory/text_map.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"

#define FIRST_ROOM 16

void
csc_memory_names_fini(csc_memory_names *names)
{
    csc_mem_free(names->slots);
    memset(names, 0, sizeof(*names));
}

/* FNV-1a, then mixed: its low bits alone are poor. */
static uint64_t
hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash ^ (hash >> 32);
}

/* The slot of `text`, or the empty one where it belongs. */
static csc_memory_names_slot *
find(const csc_memory_names *names, const char *text, uint64_t hash)
{
    size_t mask = names->room - 1;
    size_t at = (size_t)hash & mask;

    csc_assert(names->count < names->room);
    while (names->slots[at].value != NULL &&
           (names->slots[at].hash != hash ||
            strcmp(names->slots[at].text, text) != 0))
        at = (at + 1) & mask;
    return &names->slots[at];
}

void *
csc_memory_names_get(const csc_memory_names *names, const char *text)
{
    return names->count == 0 ? NULL : find(names, text, hash_of(text))->value;
}

static int
grow(csc_memory_names *names)
{
    csc_memory_names bigger = {.count = names->count};
    size_t mask;

    csc_assert(names->count <= names->room);
    if (names->count + 1 <= names->room / 4 * 3)
        return 0;
    bigger.room = names->room == 0 ? FIRST_ROOM : names->room * 2;
    mask = bigger.room - 1;
    bigger.slots = csc_mem_zalloc(bigger.room, sizeof(bigger.slots[0]));
    if (bigger.slots == NULL)
        return -1;
    for (size_t i = 0; i < names->room; i++) {
        size_t at = (size_t)names->slots[i].hash & mask;

        if (names->slots[i].value == NULL)
            continue;
        while (bigger.slots[at].value != NULL)
            at = (at + 1) & mask;
        bigger.slots[at] = names->slots[i];
    }
    csc_mem_free(names->slots);
    *names = bigger;
    return 0;
}

int
csc_memory_names_put(csc_memory_names *names, const char *text, void *value)
{
    csc_memory_names_slot *slot;
    uint64_t hash = hash_of(text);

    csc_assert(value != NULL);
    if (grow(names) != 0)
        return -1;
    slot = find(names, text, hash);
    csc_assert(slot->value == NULL);
    *slot = (csc_memory_names_slot){hash, text, value};
    names->count++;
    return 0;
}

void
csc_memory_names_remove(csc_memory_names *names, const char *text)
{
    size_t mask = names->room - 1;
    csc_memory_names_slot *slot;
    size_t hole;

    if (names->count == 0)
        return;
    slot = find(names, text, hash_of(text));
    if (slot->value == NULL)
        return;
    hole = (size_t)(slot - names->slots);
    for (size_t at = (hole + 1) & mask; names->slots[at].value != NULL;
         at = (at + 1) & mask) {
        size_t home = (size_t)names->slots[at].hash & mask;

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            names->slots[hole] = names->slots[at];
            hole = at;
        }
    }
    names->slots[hole].value = NULL;
    names->count--;
}

void *
csc_memory_names_next(const csc_memory_names *names, size_t *at)
{
    csc_assert(names->count <= names->room);
    while (*at < names->room) {
        void *value = names->slots[(*at)++].value;

        if (value != NULL)
            return value;
    }
    return NULL;
}
