/* SPDX-License-Identifier: MIT
 *
 * Waiting for the place of a large cascade: see waiting.c.
 */
#ifndef CSC_HELD_ROOM_WAITING_H
#define CSC_HELD_ROOM_WAITING_H

#include "cascade/cascade.h"

typedef struct csc_reload csc_reload;

/* Puts it off, behind those that wait, until it may be read. */
void csc_waiting_add(cascade_engine *engine, const csc_reload *reload);

#endif
