/* SPDX-License-Identifier: MIT
 *
 * There are no transactions of nodes here: nothing of the application's is in
 * this store that could be part of one. What is settled here are commits (S53):
 * none is left in doubt by the store itself, but by who stands in between.
 */
#include "store/memory/internal.h"

#include "base/data/map.h"
#include "base/error.h"
#include "cascade/cascade.h"
#include "cascade/store.h"

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

static cascade_err
settle(csc_memory_engine *engine, uint32_t lane, int64_t number,
       bool *committed)
{
    if (engine == NULL || lane >= engine->row.lane_count)
        return csc_fail(CASCADE_ERR_FENCED,
                        "settle: this incarnation or its lane %u was removed; "
                        "attach a new one",
                        (unsigned)lane);
    if (engine->lanes[lane] == number - 1)
        engine->lanes[lane] = number + 1;
    if (engine->lanes[lane] != number && engine->lanes[lane] != number + 1)
        return csc_fail(CASCADE_ERR_LOST,
                        "settle: lane %u shows batch %lld, which comes neither "
                        "of batch %lld nor of settling it; the store lost "
                        "commits, attach anew",
                        (unsigned)lane, (long long)engine->lanes[lane],
                        (long long)number);
    *committed = engine->lanes[lane] == number;
    return CASCADE_OK;
}

cascade_err
csc_memory_native_settle(void *self, const cascade_uuid *engine_id,
                         uint32_t lane, int64_t number, bool *committed)
{
    csc_memory_model *model = ((csc_memory *)self)->model;
    cascade_err err;

    pthread_mutex_lock(&model->mutex);
    err = settle(csc_map_get(&model->engines, engine_id), lane, number,
                 committed);
    pthread_mutex_unlock(&model->mutex);
    return err;
}
