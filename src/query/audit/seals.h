/* SPDX-License-Identifier: MIT
 *
 * Seals of which the cascade is gone: what deletes one takes its seal in the
 * same commit (S81), so somebody else has deleted its rows. Each is looked at
 * again before it is told, as a deletion may have come in between.
 */
#ifndef CSC_QUERY_AUDIT_SEALS_H
#define CSC_QUERY_AUDIT_SEALS_H

#include <stdbool.h>

#include "cascade/cascade.h"

typedef struct csc_faults csc_faults;

/* Puts those of the next page behind `*after` (the nil id at first), which goes
 * on, into `found`, which is cleared first; `*more` tells whether there may be
 * another page. Nothing in a store without integrity. */
cascade_err csc_seals_next(cascade_store *store, cascade_uuid *after,
                           csc_faults *found, bool *more);

#endif
