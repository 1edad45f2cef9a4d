/* SPDX-License-Identifier: MIT
 *
 * Incarnations in the memory store. Leases count the monotonic clock of the
 * handle that asks; the handles of one process share the system's, and tests
 * give all of them the same injected one.
 *
 * Removing is two steps under one mutex, as on the SQL stores: incarnations
 * that are dead are deleted, which turns their rings of runs into orphans; then
 * a bounded number of orphans is set free.
 */
#include "store/memory/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"

#define NOTHING "{}" /* what an incarnation says that says nothing */

static csc_memory_engine *
new_engine(const cascade_incarnation *incarnation, const cascade_clock *clock)
{
    const char *about =
        incarnation->about != NULL ? incarnation->about : NOTHING;
    size_t host_size = strlen(incarnation->host) + 1;
    size_t about_size = strlen(about) + 1;
    size_t lanes_size = incarnation->lane_count * sizeof(int64_t);
    csc_memory_engine *engine =
        csc_mem_alloc(sizeof(*engine) + lanes_size + host_size + about_size);
    char *texts;

    csc_assert(incarnation->lane_count > 0);
    if (engine == NULL)
        return NULL;
    memset(engine, 0, sizeof(*engine) + lanes_size);
    texts = (char *)engine->lanes + lanes_size;
    memcpy(texts, incarnation->host, host_size);
    memcpy(texts + host_size, about, about_size);
    engine->row = *incarnation;
    engine->row.host = texts;
    engine->row.about = texts + host_size;
    engine->row.started_at_ms = csc_clock_wall_ms(clock);
    engine->expires_at_ms =
        csc_clock_add(csc_clock_monotonic_ms(clock), incarnation->lease_ms);
    engine->runs.prev = &engine->runs;
    engine->runs.next = &engine->runs;
    return engine;
}

/* Runs that name the incarnation already (it was removed before) are its own
 * again. */
static void
adopt_orphans(csc_memory_model *model, const cascade_uuid *engine_id)
{
    csc_memory_link *link = model->orphans.next;

    csc_assert(csc_lock_is_held(&model->mutex));
    while (link != &model->orphans) {
        csc_memory_run *run = (csc_memory_run *)link;

        link = link->next;
        if (csc_uuid_equal(&run->row.engine_id, engine_id)) {
            csc_memory_runs_take(model, run);
            csc_memory_runs_place(model, run);
        }
    }
}

cascade_err
csc_memory_engines_attach(void *self, const cascade_incarnation *incarnation)
{
    csc_memory *memory = self;
    csc_memory_model *model = memory->model;
    csc_memory_engine *engine;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    engine = new_engine(incarnation, memory->config->clock);
    if (engine == NULL)
        return csc_fail_memory();
    csc_lock_take(&model->mutex);
    if (csc_map_get(&model->engines, &incarnation->engine_id) != NULL)
        goto out;
    if (csc_map_put(&model->engines, &incarnation->engine_id, engine) != 0) {
        err = csc_fail_memory();
        goto out;
    }
    engine = NULL;
    adopt_orphans(model, &incarnation->engine_id);
out:
    csc_lock_give(&model->mutex);
    csc_mem_free(engine);
    return err;
}

cascade_err
csc_memory_engines_renew(void *self, const cascade_uuid *engine_id,
                         int64_t lease_ms, int64_t *now_ms)
{
    csc_memory *memory = self;
    csc_memory_engine *engine;
    int64_t at_ms = csc_clock_monotonic_ms(memory->config->clock);
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&memory->model->mutex);
    engine = csc_map_get(&memory->model->engines, engine_id);
    if (engine != NULL)
        engine->expires_at_ms = csc_clock_add(at_ms, lease_ms);
    else
        err = csc_fail(CASCADE_ERR_FENCED,
                       "renew: this incarnation was removed; attach a new one");
    csc_lock_give(&memory->model->mutex);
    if (err == CASCADE_OK && now_ms != NULL)
        *now_ms = csc_clock_wall_ms(memory->config->clock);
    return err;
}

cascade_err
csc_memory_engines_detach(void *self, const cascade_uuid *engine_id)
{
    csc_memory *memory = self;
    csc_memory_engine *engine;
    int64_t now_ms = csc_clock_wall_ms(memory->config->clock);

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&memory->model->mutex);
    engine = csc_map_get(&memory->model->engines, engine_id);
    if (engine != NULL) {
        while (engine->runs.next != &engine->runs)
            csc_memory_runs_release(
                memory->model, (csc_memory_run *)engine->runs.next, now_ms, 0);
        csc_map_remove(&memory->model->engines, engine_id);
    }
    csc_lock_give(&memory->model->mutex);
    csc_mem_free(engine);
    return CASCADE_OK;
}

cascade_err
csc_memory_engines_list(void *self, cascade_engine_sink sink, void *context,
                        bool *orphans)
{
    csc_memory *memory = self;
    const csc_memory_engine *engine;
    int64_t now_ms = csc_clock_monotonic_ms(memory->config->clock);
    cascade_err err = CASCADE_OK;
    size_t at = 0;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&memory->model->mutex);
    while (err == CASCADE_OK) {
        cascade_incarnation row;

        engine = csc_map_next(&memory->model->engines, &at);
        if (engine == NULL)
            break;
        row = engine->row;
        row.lease_ms = engine->expires_at_ms - now_ms;
        err = sink(context, &row);
    }
    if (orphans != NULL)
        *orphans = memory->model->orphans.next != &memory->model->orphans;
    csc_lock_give(&memory->model->mutex);
    return err;
}

/* Deletes one incarnation; its runs go to the end of the orphans. */
static void
delete_engine(csc_memory_model *model, const cascade_uuid *engine_id)
{
    csc_memory_engine *engine = csc_map_remove(&model->engines, engine_id);
    csc_memory_link *orphans = &model->orphans;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (engine == NULL)
        return;
    if (engine->runs.next != &engine->runs) {
        engine->runs.next->prev = orphans->prev;
        engine->runs.prev->next = orphans;
        orphans->prev->next = engine->runs.next;
        orphans->prev = engine->runs.prev;
    }
    csc_mem_free(engine);
}

static csc_memory_engine *
find_expired(const csc_memory_model *model, int64_t now_ms)
{
    size_t at = 0;

    csc_assert(csc_lock_is_held(&model->mutex));
    for (;;) {
        csc_memory_engine *engine = csc_map_next(&model->engines, &at);

        if (engine == NULL || engine->expires_at_ms <= now_ms)
            return engine;
    }
}

/* One search each, because removing moves what lies in the map. */
static void
delete_expired(csc_memory_model *model, int64_t now_ms)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    for (;;) {
        csc_memory_engine *engine = find_expired(model, now_ms);

        if (engine == NULL)
            return;
        delete_engine(model, &engine->row.engine_id);
    }
}

cascade_err
csc_memory_engines_remove(void *self, const cascade_uuid *dead,
                          size_t dead_count, size_t limit, size_t *freed)
{
    csc_memory *memory = self;
    csc_memory_model *model = memory->model;
    int64_t wall_ms = csc_clock_wall_ms(memory->config->clock);
    size_t count = 0;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&model->mutex);
    delete_expired(model, csc_clock_monotonic_ms(memory->config->clock));
    for (size_t i = 0; i < dead_count; i++)
        delete_engine(model, &dead[i]);
    for (; count < limit && model->orphans.next != &model->orphans; count++)
        csc_memory_runs_release(model, (csc_memory_run *)model->orphans.next,
                                wall_ms, 1);
    csc_lock_give(&model->mutex);
    csc_assert(count <= limit);
    *freed = count;
    return CASCADE_OK;
}

/* ---- Deciding a batch ---------------------------------------------------- */

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
csc_memory_engines_settle(void *self, const cascade_uuid *engine_id,
                          uint32_t lane, int64_t number, bool *committed)
{
    csc_memory_model *model = ((csc_memory *)self)->model;
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&model->mutex);
    err = settle(csc_map_get(&model->engines, engine_id), lane, number,
                 committed);
    csc_lock_give(&model->mutex);
    return err;
}
