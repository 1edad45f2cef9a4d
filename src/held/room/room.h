/* SPDX-License-Identifier: MIT
 *
 * How much may be in memory: see room.c. All locked.
 */
#ifndef CSC_HELD_ROOM_ROOM_H
#define CSC_HELD_ROOM_ROOM_H

#include "cascade/cascade.h"

typedef struct csc_reload csc_reload;
typedef struct csc_run csc_run;

/* What is in memory, and what is about to be. Under the engine's mutex. */
typedef struct csc_room {
    size_t births;      /* starts under way that count against capacity */
    size_t claiming;    /* and what claims may bring that are not loaded yet */
    size_t small_bytes; /* of all runs in memory that are not large, */
    size_t small_count;
    size_t large_bytes;     /* and of those that are */
    csc_run *large;         /* of these: that which has the place, or NULL; */
    int64_t large_until_ns; /* until then if others wait for it; INT64_MAX:
                               while it is read */
    size_t large_waiting;   /* so many do, in `reloads` */
    bool held_back; /* something is not claimed, or read, as too much waits for
                       its commit */
} csc_room;

/* Counts a run in memory by what it takes now. */
void csc_room_count(cascade_engine *engine, csc_run *run);
/* It is about to be freed. */
void csc_room_leave(cascade_engine *engine, csc_run *run);
/* Whether the small ones take all that they may. */
bool csc_room_is_full(const cascade_engine *engine);
/* The place for a large one, if it is free; and it is again. */
void csc_room_take_place(cascade_engine *engine, csc_run *run);
void csc_room_give_place(cascade_engine *engine, const csc_run *run);
/* Its turn begins: it is held from now on. */
void csc_room_begin_turn(cascade_engine *engine, const csc_run *run);
/* Whether it has the place, and others wait for it; and its turn is over, so
 * that nothing of it may begin any more. */
bool csc_room_is_wanted(const cascade_engine *engine, const csc_run *run);
bool csc_room_must_leave(const cascade_engine *engine, const csc_run *run);
/* Whether messages may be read: what waits for its commit is not too much
 * already. csc_backlog_let_begin() wakes the housekeeper when they may again.
 */
bool csc_room_may_receive(const cascade_engine *engine);
/* Whether it is too much, so that nothing is claimed or read either: the same
 * tells when it is not any more. */
bool csc_room_waits(cascade_engine *engine);
/* Whether it may be read now. */
bool csc_room_admits(const cascade_engine *engine, const csc_reload *reload);
/* Whether what was read of it shows that it must wait: it is large, and another
 * one has the place. */
bool csc_room_is_second(cascade_engine *engine, csc_run *run);
/* How many more cascades may be held now: none while a suspect is, or when the
 * engine is not running. */
size_t csc_room_for_claims(const cascade_engine *engine);

#endif
