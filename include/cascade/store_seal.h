/* SPDX-License-Identifier: MIT
 *
 * Seals of what is stored: the sub-table `integrity` of a store, see store.h.
 *
 *   move  | does                                      | guarantees
 *   ------+-------------------------------------------+-----------
 *   seal  | changes seals, each by itself             | S80
 *   seals | lists them                                | S81
 *
 * A store without it is not opened with keys (`integrity` of its options):
 * CASCADE_ERR_UNSUPPORTED. Then no change has a seal, and no load asks for
 * them: nothing of S78 to S82 is asked of it.
 */
#ifndef CASCADE_STORE_SEAL_H
#define CASCADE_STORE_SEAL_H

#include "cascade/cascade.h"
#include "cascade/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef cascade_err (*cascade_seal_sink)(void *context,
                                         const cascade_seal_row *row);

/* What is to become of a seal: S80. */
typedef struct cascade_reseal {
    cascade_uuid cascade_id;
    const cascade_seal_row *was; /* as it was read; NULL: there was none */
    const cascade_seal_row *now; /* as it is to be; NULL: it goes */
} cascade_reseal;

typedef struct cascade_store_integrity {
    size_t size; /* sizeof(cascade_store_integrity) */

    /* Changes seals, each by itself: S80. `done[i]` tells whether it was.
     * 1-1,000 at a time. */
    cascade_err (*seal)(void *self, const cascade_reseal *reseals, size_t count,
                        bool *done);

    /* Lists up to `limit` seals, 1-1,000, with ids above `after`; NULL: from
     * the first: S81. */
    cascade_err (*seals)(void *self, const cascade_uuid *after, size_t limit,
                         cascade_seal_sink sink, void *context);
} cascade_store_integrity;

#ifdef __cplusplus
}
#endif

#endif
