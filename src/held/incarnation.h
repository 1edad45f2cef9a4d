/* SPDX-License-Identifier: MIT
 *
 * The incarnation of an engine: its row in the store.
 */
#ifndef CSC_HELD_INCARNATION_H
#define CSC_HELD_INCARNATION_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"

/* The incarnation: the engine's row in the store. Under the engine's mutex. */
typedef struct csc_incarnation {
    bool attached; /* `id` is alive as far as this side knows */
    bool has_dead_id;
    bool brief;           /* that of one call, see csc_uuid_is_brief() */
    cascade_uuid id;      /* the incarnation */
    cascade_uuid dead_id; /* the one before, still to be detached */
    int64_t attach_at_ns; /* monotonic; when not attached */
} csc_incarnation;

#endif
