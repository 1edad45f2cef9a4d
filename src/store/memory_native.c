/* SPDX-License-Identifier: MIT
 *
 * There are no transactions of nodes here: nothing of the application's is in
 * this store that could be part of one.
 */
#include "base/error.h"
#include "store/memory.h"

static cascade_err
refuse(void)
{
    return cascade_store_fail(CASCADE_ERR_UNSUPPORTED,
                              "the memory store has no transactions of nodes; "
                              "use SQLite or PostgreSQL");
}

cascade_err
csc_memory_native_begin(void *self, int64_t limit_ms, cascade_native *native)
{
    (void)self;
    (void)limit_ms;
    (void)native;
    return refuse();
}

cascade_err
csc_memory_native_finish(void *self, cascade_native *native,
                         const cascade_batch *batch, bool *existed)
{
    (void)self;
    (void)native;
    (void)batch;
    (void)existed;
    return refuse();
}

cascade_err
csc_memory_native_abandon(void *self, cascade_native *native)
{
    (void)self;
    (void)native;
    return refuse();
}

cascade_err
csc_memory_native_settle(void *self, const cascade_uuid *engine_id,
                         uint32_t lane, int64_t number, bool *committed)
{
    (void)self;
    (void)engine_id;
    (void)lane;
    (void)number;
    (void)committed;
    return refuse();
}
