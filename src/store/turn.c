/* SPDX-License-Identifier: MIT */
#include "store/turn.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* NULL: out of memory. A handle asks of few queues. */
static csc_turn_place *
find_place(csc_turn_places *places, const char *queue)
{
    void *grown = places->places;
    csc_turn_place *place = NULL;

    for (size_t i = 0; i < places->count; i++)
        if (strcmp(places->places[i].queue, queue) == 0)
            return &places->places[i];
    if (csc_mem_grow(&grown, &places->room, places->count + 1,
                     sizeof(*place)) != 0)
        return NULL;
    places->places = grown;
    place = &places->places[places->count++];
    *place = (csc_turn_place){.queue = ""};
    (void)snprintf(place->queue, sizeof(place->queue), "%s", queue);
    return place;
}

void
csc_turn_begin(csc_turn_places *places, const char *queue,
               char from[CSC_TURN_FROM_SIZE])
{
    const csc_turn_place *place = find_place(places, queue);

    if (place == NULL)
        from[0] = '\0';
    else
        memcpy(from, place->from, sizeof(place->from));
}

void
csc_turn_fini(csc_turn_places *places)
{
    csc_mem_free(places->places);
    *places = (csc_turn_places){.count = 0};
}

/* It has come to where the first walk in vain began, or where it began itself:
 * there is one key. */
static bool
is_round(const csc_turn_place *place, const csc_turn_walk *walk)
{
    int moved = strcmp(walk->from, place->from);
    bool ahead = strcmp(place->origin, place->from) > 0;
    bool behind = strcmp(place->origin, walk->from) <= 0;

    if (moved == 0)
        return true;
    if (moved < 0)
        return ahead || behind;
    return ahead && behind;
}

bool
csc_turn_end(csc_turn_places *places, const char *queue,
             const csc_turn_walk *walk)
{
    csc_turn_place *place = find_place(places, queue);
    bool vain = false;

    if (place == NULL)
        return false;
    vain = walk->count == 0 && (walk->ended || is_round(place, walk));
    if (walk->count > 0 || vain)
        memcpy(place->origin, walk->from, sizeof(place->origin));
    memcpy(place->from, walk->from, sizeof(place->from));
    return !vain && (!walk->filled || walk->count < walk->room);
}

void
csc_turn_behind(const char *key, char from[CSC_TURN_FROM_SIZE])
{
    csc_assert(strlen(key) <= CASCADE_LIMIT_KEY_MAX);
    (void)snprintf(from, CSC_TURN_FROM_SIZE, "%s\001", key);
}

size_t
csc_turn_first(csc_turn_places *places, size_t count)
{
    csc_assert(count > 0);
    return places->first++ % count;
}

size_t
csc_turn_share(size_t room, size_t keys)
{
    csc_assert(keys > 0);
    return room / keys + (room % keys != 0);
}

size_t
csc_turn_room(csc_turn_places *places, size_t slots, size_t limit, bool others)
{
    size_t most = limit;

    if (others) {
        most = limit / 2;
        if (limit % 2 != 0)
            most += places->halved++ % 2;
    }
    return slots < most ? slots : most;
}

bool
csc_turn_was_cut(size_t slots, size_t room, size_t count)
{
    csc_assert(count <= room);
    return room < slots && count == room;
}
