/* SPDX-License-Identifier: MIT
 *
 * Memory that is short for a moment costs one cascade at a time: what an engine
 * works in (commits, messages, times that have come, what it has loaded) fails
 * at one allocation after the other, and nothing else is lost. Between two
 * calls of the store an allocation of the engine fails, never one of the store,
 * of the watch or of a node.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "commit/lane.h"
#include "engine/engine.h"
#include "engine/housekeeper.h"
#include "engine/support/mix.h"
#include "engine/support/watch.h"
#include "held/engine_state.h"
#include "held/lane/lane_queue.h"
#include "held/wakeup.h"

#define CROWD 120
#define NTH_MAX 24

typedef struct scarce {
    watch w; /* the first: hooks get it */
    test_db *db;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid ids[CROWD];
    cascade_err (*before)(void *context, const wrap_call *call);
    void (*answered)(void *context, const wrap_call *call, cascade_err answer);
    bool working;               /* the engine works */
    bool fails;                 /* and is short of memory: every other time */
    bool lasting;               /* from one on all fail, up to the next call */
    size_t nth;                 /* the next that fails */
    size_t failed[NTH_MAX + 1]; /* how often it did */
    size_t claimed;
} scarce;

static void
begin_work(scarce *s)
{
    s->fails = !s->fails;
    if (!s->fails)
        return;
    s->nth = s->nth % NTH_MAX + 1;
    (void)csc_mem_fail_at(s->nth, s->lasting);
}

static void
end_work(scarce *s)
{
    if (s->fails)
        s->failed[s->nth] += csc_mem_fail_at(0, 0) >= s->nth;
}

static cascade_err
end_before(void *context, const wrap_call *call)
{
    scarce *s = context;

    if (s->working)
        end_work(s);
    return s->before(context, call);
}

static void
begin_behind(void *context, const wrap_call *call, cascade_err answer)
{
    scarce *s = context;

    s->answered(context, call, answer);
    if (call->move == WRAP_CLAIM && answer == CASCADE_OK)
        s->claimed += call->claimed->count;
    if (s->working)
        begin_work(s);
}

static void
work_lanes(scarce *s)
{
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(s->engine); i++)
        while (csc_lane_round(&s->engine->lanes[i]))
            ;
}

/* What a poll does but for the nodes. */
static void
work(scarce *s)
{
    int64_t wait_ms = 0;

    pthread_mutex_lock(&s->engine->mutex);
    csc_wakeup_house_awake_locked(s->engine);
    pthread_mutex_unlock(&s->engine->mutex);
    s->working = true;
    begin_work(s);
    work_lanes(s);
    csc_housekeeper_round(s->engine, &wait_ms);
    work_lanes(s);
    end_work(s);
    s->working = false;
}

static bool
run_nodes(cascade_engine *engine)
{
    bool any = false;

    pthread_mutex_lock(&engine->mutex);
    engine->workers->looper.thread = pthread_self();
    pthread_mutex_unlock(&engine->mutex);
    while (csc_engine_work(engine, &engine->workers->looper))
        any = true;
    return any;
}

static scarce *
scarce_open(test_db *db, bool lasting)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE,
                                            .lease_ms = 3600000,
                                            .batch_cascades_max = 1,
                                            .poll_interval_ms = 20};
    scarce *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    db->fake_time = true;
    s->db = db;
    s->lasting = lasting;
    mix_reset();
    watch_init(&s->w, db->url);
    s->before = s->w.wrap.before;
    s->answered = s->w.wrap.answered;
    s->w.wrap.before = end_before;
    s->w.wrap.answered = begin_behind;
    s->store = db_wrapped(db, &s->w.wrap);
    s->engine = db_engine(db, s->store, &options);
    watch_engine(&s->w, s->engine);
    mix_register(s->engine);
    assert_ok(cascade_engine_start(s->engine));
    return s;
}

static void
scarce_close(scarce *s)
{
    db_close_engine(s->db, s->engine);
    watch_check(&s->w, CROWD);
    db_close_store(s->db, s->store);
    watch_fini(&s->w);
    free(s);
}

/* Each of them did; what that has cost was loaded anew, and nothing else. */
static void
check_failed(const scarce *s)
{
    size_t sum = 0;

    for (size_t nth = 1; nth <= NTH_MAX; nth++) {
        assert_true(s->failed[nth] > 0);
        sum += s->failed[nth];
    }
    if (!s->lasting)
        assert_in_range(db_stats(s->engine).hydrations, s->claimed + 1,
                        s->claimed + sum);
}

/* What was recorded does not run again, as the nodes of the mix see to. */
static void
run_short_of_memory(test_db *db, bool lasting)
{
    scarce *s = scarce_open(db, lasting);
    db_ends ends = {.store = s->store, .ids = s->ids, .count = CROWD};

    mix_start(s->store, s->ids, CROWD);
    while (!db_all_ended(&ends)) {
        work(s);
        assert_int_equal(wrap_store_count(&s->w.wrap, WRAP_ATTACH), 1);
        if (!run_nodes(s->engine))
            fake_clock_advance(&db->clock,
                               cascade_engine_timeout_ms(s->engine));
    }
    check_failed(s);
    scarce_close(s);
}

static void
a_failed_allocation_costs_one_cascade(test_db *db)
{
    run_short_of_memory(db, false);
}

static void
a_moment_without_memory_costs_what_is_worked_in(test_db *db)
{
    run_short_of_memory(db, true);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_failed_allocation_costs_one_cascade",
         a_failed_allocation_costs_one_cascade, STORES_VIRTUAL},
        {"a_moment_without_memory_costs_what_is_worked_in",
         a_moment_without_memory_costs_what_is_worked_in, STORES_VIRTUAL},
    };

    return stores_run("scarce", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
