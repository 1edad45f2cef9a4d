/* SPDX-License-Identifier: MIT
 *
 * Where the walks of a handle over the keys of a kept queue have stopped: S98.
 * Nothing depends on it but who comes next: where there is no memory for a
 * place a walk begins anew, and is not told to go on.
 *
 *   keys  "" a b c d e f g h
 *              |-----|           a walk begins where the last one has stopped
 *                    |-------|
 *          |---|                 the same walk, which has come around the end
 *
 * A key is looked for from a text on, this one included. Behind a key comes
 * the same with a byte 1 at its end: no text is between the two.
 *
 * Walks that give nothing come to where the first of them began: then all keys
 * were looked at, and there is nothing to be had.
 */
#ifndef CSC_STORE_TURN_H
#define CSC_STORE_TURN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/check.h"
#include "cascade/rows.h"

#define CSC_TURN_FROM_SIZE (CASCADE_LIMIT_KEY_MAX + 2)
/* Of a claim: so many runs that are due begin to wait by their keys. */
#define CSC_TURN_SORT_MAX 500
/* And so many suspects are looked at, until one of them has room. */
#define CSC_TURN_SUSPECTS_MAX 64

typedef struct csc_turn_place {
    char queue[CSC_NAME_MAX + 1];
    char from[CSC_TURN_FROM_SIZE];
    char origin[CSC_TURN_FROM_SIZE]; /* of the walks that gave nothing */
} csc_turn_place;

/* All zero at first. Not locked. */
typedef struct csc_turn_places {
    csc_turn_place
        *places; /* of each queue that had limits when it was asked */
    size_t count;
    size_t room;
    size_t first;  /* which kept queue of a claim is its first */
    size_t halved; /* claims with an odd limit */
} csc_turn_places;

/* What became of a walk. */
typedef struct csc_turn_walk {
    char from[CSC_TURN_FROM_SIZE]; /* where the next one begins */
    bool ended;                    /* it was at all keys */
    size_t room;  /* so many could be given, and no more were asked for */
    bool filled;  /* as many keys had room: it has stopped there */
    size_t count; /* runs that it gave: one that somebody holds is left out */
} csc_turn_walk;

void csc_turn_fini(csc_turn_places *places);
/* Where a walk over the keys of a queue begins. */
void csc_turn_begin(csc_turn_places *places, const char *queue,
                    char from[CSC_TURN_FROM_SIZE]);
/* Whether another may find more. */
bool csc_turn_end(csc_turn_places *places, const char *queue,
                  const csc_turn_walk *walk);
/* The text behind a key. */
void csc_turn_behind(const char *key, char from[CSC_TURN_FROM_SIZE]);
/* Of `count` kept queues: which is the first this time. */
size_t csc_turn_first(csc_turn_places *places, size_t count);
/* How many runs each of `keys` gives, where there is room for `room`. */
size_t csc_turn_share(size_t room, size_t keys);
/* Of a claim's limit, what kept queues may have: all of `slots`, but half of
 * the limit where there is something else to be claimed; half of 1 is one every
 * other time. */
size_t csc_turn_room(csc_turn_places *places, size_t slots, size_t limit,
                     bool others);
/* Whether it may have more the next time, where `count` were given of that
 * `room`. */
bool csc_turn_was_cut(size_t slots, size_t room, size_t count);

#endif
