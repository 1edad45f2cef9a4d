/* SPDX-License-Identifier: MIT
 *
 * A counter outside (integrity.h): the seals of a store, by id, beside those
 * that were counted earlier, in one walk along both.
 *
 *   counted earlier   in the store
 *   a, 5              a, 5           the same seal, or a finding
 *   b, 2              b, 7           it has gone on
 *   c, 4              c, 3           finding: put back
 *   d, 1              -              finding: deleted
 *   -                 e, 1           began since
 *   f, 2, key new     f, 2, key old  an engine has written over a renewed seal
 *
 * Numbers only go up, so it is no matter when which page was read. Memory: one
 * page of seals, and one count.
 */
#ifndef CSC_QUERY_AUDIT_COUNTER_H
#define CSC_QUERY_AUDIT_COUNTER_H

#include <stdint.h>

#include "cascade/cascade.h"
#include "cascade/integrity.h"

/* What is found of a cascade; an error ends the walk. */
typedef cascade_err (*csc_counter_tell)(void *context, const cascade_uuid *id,
                                        const char *text);

typedef struct csc_counter {
    cascade_counted_fn counted; /* or NULL */
    cascade_known_fn known;     /* or NULL */
    void *context;              /* of these */
    csc_counter_tell tell;
    void *tell_context;
    int64_t compared; /* out */
} csc_counter;

/* CASCADE_ERR_STOPPED, _INVALID (what is known is not ascending), what `known`
 * and the store give. */
cascade_err csc_counter_walk(cascade_store *store, csc_counter *counter);

#endif
