/* SPDX-License-Identifier: MIT
 *
 * How much may be in memory: see room.c. All locked.
 */
#ifndef CSC_ENGINE_ROOM_H
#define CSC_ENGINE_ROOM_H

#include "engine/engine.h"

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
/* How many more cascades there is memory for. */
size_t csc_room_left(const cascade_engine *engine);
/* Whether it may be read now. */
bool csc_room_admits(const cascade_engine *engine, const csc_reload *reload);
/* Whether what was read of it shows that it must wait: it is large, and another
 * one has the place. */
bool csc_room_is_second(cascade_engine *engine, csc_run *run);
/* Puts it off, behind those that wait, until it may be read. */
void csc_room_wait(cascade_engine *engine, const csc_reload *reload);

#endif
