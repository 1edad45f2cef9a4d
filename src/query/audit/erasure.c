/* SPDX-License-Identifier: MIT
 *
 * Erasing what is left of deleted cascades, by whoever has time.
 */
#include "query/audit/erasure.h"

#include "base/clock.h"
#include "cascade/cascade.h"
#include "store/move.h"
#include "store/store.h"

cascade_err
csc_erasure_finish_all(cascade_store *store, int64_t end_ms)
{
    bool more = true;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && more && csc_clock_left_ms(end_ms) > 0)
        err = csc_move_erase(store, NULL, &more);
    return err;
}
