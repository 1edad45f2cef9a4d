/* SPDX-License-Identifier: MIT
 *
 * What an engine has set aside, as its commits take too long (pace.c).
 */
#ifndef CSC_HELD_ROOM_ASIDE_H
#define CSC_HELD_ROOM_ASIDE_H

#include "cascade/cascade.h"
#include "store/store.h"

/* Asks the engines of this handle. Not locked. */
csc_aside csc_aside_find(cascade_store *store, const cascade_uuid *id);

#endif
