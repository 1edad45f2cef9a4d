/* SPDX-License-Identifier: MIT
 *
 * Retention by an engine: passes of purge.h, as its options say.
 *
 *   idle --the interval is over--> pass --a portion in a round--> idle
 *
 * A portion is small, and comes last in a round of the housekeeper, so that
 * what a round does besides waits for one portion at most; there is a pause
 * behind each. What is left of a cascade of many executions is erased as that
 * of a deleted one (erasure.c).
 *
 * Several engines on one store each make passes of their own. They begin apart,
 * by chance; where they meet, one finds deleted what the other has, which costs
 * a look.
 */
#include "engine/retention.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/erasure_due.h"
#include "query/audit/purge.h"
#include "store/store.h"

#define PAUSE_MS 20
#define RETRY_MS 60000

/* Up to a tenth of `ms`. */
static int64_t
jitter(const cascade_engine *engine, int64_t ms)
{
    uint64_t random = csc_clock_random_u64(&engine->store->random);

    return (int64_t)(random % (uint64_t)(ms / 10 + 1));
}

static void
sleep_for(cascade_engine *engine, int64_t ms)
{
    csc_lock_take(&engine->mutex);
    engine->retention->at_ns = csc_clock_now_ns(engine) + ms * CSC_MS_NS;
    csc_lock_give(&engine->mutex);
}

void
csc_retention_init(cascade_engine *engine)
{
    const cascade_engine_options *o = &engine->options;

    engine->retention->at_ns = INT64_MAX;
    if (o->retain_completed_ms > 0 || o->retain_failed_ms > 0)
        sleep_for(engine, jitter(engine, o->retain_interval_ms));
}

void
csc_retention_fini(cascade_engine *engine)
{
    if (engine->retention->pass == NULL)
        return;
    csc_purge_fini(engine->retention->pass);
    csc_mem_free(engine->retention->pass);
    engine->retention->pass = NULL;
}

/* 0 is never, where for a purge it is at once. */
static int64_t
before(const cascade_engine *engine, int64_t age_ms)
{
    return csc_purge_before(csc_clock_now_ms(engine), age_ms > 0 ? age_ms : -1);
}

static cascade_err
begin(cascade_engine *engine)
{
    const cascade_engine_options *o = &engine->options;

    engine->retention->pass =
        csc_mem_zalloc(1, sizeof(*engine->retention->pass));
    if (engine->retention->pass == NULL)
        return csc_fail_memory();
    engine->retention->pass->store = engine->store;
    engine->retention->pass->completed_before_ms =
        before(engine, o->retain_completed_ms);
    engine->retention->pass->failed_before_ms =
        before(engine, o->retain_failed_ms);
    return CASCADE_OK;
}

static void
tell(const cascade_engine *engine)
{
    const csc_purge *pass = engine->retention->pass;

    if (pass->total.done > 0)
        csc_log_add(&engine->store->log, CASCADE_LOG_INFO,
                    "retention: deleted %lld cascades that had ended",
                    (long long)pass->total.done);
}

static void
end(cascade_engine *engine, cascade_err err)
{
    int64_t interval_ms = engine->options.retain_interval_ms;
    int64_t wait_ms = interval_ms + jitter(engine, interval_ms);

    if (engine->retention->pass != NULL)
        tell(engine);
    if (err != CASCADE_OK)
        csc_log_add(&engine->store->log, CASCADE_LOG_WARNING,
                    "retention failed: %s", cascade_errmsg());
    csc_retention_fini(engine);
    sleep_for(engine,
              err != CASCADE_OK && RETRY_MS < wait_ms ? RETRY_MS : wait_ms);
}

/* Some of it may be marked only. */
static void
note_deleted(cascade_engine *engine, int64_t before)
{
    if (engine->retention->pass == NULL ||
        engine->retention->pass->total.done == before)
        return;
    csc_lock_take(&engine->mutex);
    csc_erasure_due_soon_locked(engine);
    csc_lock_give(&engine->mutex);
}

void
csc_retention_round(cascade_engine *engine)
{
    bool more = true;
    int64_t done = engine->retention->pass != NULL
                       ? engine->retention->pass->total.done
                       : 0;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (engine->retention->at_ns > csc_clock_now_ns(engine))
        return;
    if (engine->retention->pass == NULL)
        err = begin(engine);
    if (err == CASCADE_OK)
        err = csc_purge_next(engine->retention->pass, &more);
    note_deleted(engine, done);
    if (err == CASCADE_OK && more)
        sleep_for(engine, PAUSE_MS);
    else
        end(engine, err);
}
