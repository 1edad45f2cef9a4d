/* SPDX-License-Identifier: MIT
 *
 * What an engine has set aside, as its commits take too long (lane_pace.c).
 */
#ifndef CSC_ENGINE_ASIDE_H
#define CSC_ENGINE_ASIDE_H

#include "base/uuid.h"
#include "store/store.h"

/* Asks the engines of this handle. Not locked. */
csc_aside csc_aside_find(cascade_store *store, const cascade_uuid *id);

#endif
