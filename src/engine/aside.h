/* SPDX-License-Identifier: MIT
 *
 * What an engine has set aside, as its commits take too long (lane_pace.c).
 */
#ifndef CSC_ENGINE_ASIDE_H
#define CSC_ENGINE_ASIDE_H

#include "base/uuid.h"
#include "cascade/cascade.h"

typedef struct csc_aside {
    int32_t tries;   /* that took too long; 0: it is not set aside */
    int64_t left_ms; /* until it is loaded anew */
} csc_aside;

/* Asks the engines of this handle. Not locked. */
csc_aside csc_aside_find(cascade_store *store, const cascade_uuid *id);

#endif
