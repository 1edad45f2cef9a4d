/* SPDX-License-Identifier: MIT
 *
 * Rows of which there is not what they belong to (S75), of all kinds.
 *
 * What two statements of others make, or take away, may look so in between.
 * Each page is looked at twice, and what is not there the second time is none.
 */
#ifndef CSC_QUERY_AUDIT_STRAYS_H
#define CSC_QUERY_AUDIT_STRAYS_H

#include "cascade/cascade.h"
#include "cascade/store.h"

typedef struct csc_faults csc_faults;

/* How far one has come: all zero at first. */
typedef struct csc_strays {
    cascade_stray kind; /* 0: it has not begun */
    cascade_uuid cursor;
} csc_strays;

/* Puts those of the next page into `found`, which is cleared first; `*more`
 * tells whether there is another page. Of what is no cascade's the id is all
 * zero. */
cascade_err csc_strays_next(cascade_store *store, csc_strays *strays,
                            csc_faults *found, bool *more);

#endif
