/* SPDX-License-Identifier: MIT
 *
 * Many timers due in the same second, and more of them than an engine holds
 * cascades: none is early, none is lost, none fires twice (G8, G3). Most are
 * delayed starts, one in fifty sleeps.
 *
 * How many is CASCADE_TEST_TIMERS; without it 100,000 where time is injected,
 * 5,000 on PostgreSQL and under a sanitizer.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/data/map.h"
#include "support/must.h"
#include "support/stores.h"

#define TIMERS 100000
#define TIMERS_SLOW 5000
#define PORTION 5000
#define AHEAD_MS (INT64_C(60) * 60 * 1000) /* where time is injected */
#define SECOND_MS 1000
#define DUE_MS 50 /* within it, every so often */
#define PAGE 1000
#define SLEEPERS 50 /* one in so many */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOW true
#endif
#endif
#ifndef SLOW
#define SLOW false
#endif

typedef struct timers {
    test_db *db;
    cascade_store *store;
    cascade_engine *engine;
    size_t count;
    size_t wanted;  /* fired, or asleep */
    int64_t due_ms; /* the second begins */
    cascade_uuid *ids;
    _Atomic int64_t *fired_ms; /* of each, by the store's clock; 0: not yet */
    atomic_size_t fired;
    atomic_size_t asleep; /* entries that began a sleep */
    csc_map numbers;      /* id -> its place in `ids` */
    int64_t *recorded_ms; /* of each: when it is due by the tables */
    size_t ended;         /* of the cascades read last */
} timers;

/* ---- The nodes: their input is their number ----------------------------- */

/* When it is asked for, somewhere in the second. */
static int64_t
due_at(const timers *t, size_t number)
{
    return t->due_ms + (int64_t)(number * 7919 % SECOND_MS / DUE_MS * DUE_MS);
}

static void
note_fired(timers *t, size_t number)
{
    int64_t now_ms = 0;
    int64_t before = 0;

    expect(cascade_store_now(t->store, &now_ms) == CASCADE_OK);
    expect(
        atomic_compare_exchange_strong(&t->fired_ms[number], &before, now_ms));
    atomic_fetch_add(&t->fired, 1);
}

static cascade_err
fire(cascade_node *node, void *user)
{
    note_fired(user, (size_t)atoll(cascade_node_input_text(node)));
    return CASCADE_OK;
}

static cascade_err
sleep_first(cascade_node *node, void *user)
{
    timers *t = user;
    size_t number = (size_t)atoll(cascade_node_input_text(node));
    cascade_err err = cascade_node_sleep_until(node, "nap", due_at(t, number));

    if (err == CASCADE_OK)
        note_fired(t, number);
    else
        atomic_fetch_add(&t->asleep, 1);
    return err;
}

/* ---- Starting ----------------------------------------------------------- */

static size_t
timer_count(const test_db *db)
{
    const char *text = getenv("CASCADE_TEST_TIMERS");

    if (text != NULL)
        return strtoull(text, NULL, 10);
    return db->backend->virtual_time && !SLOW ? TIMERS : TIMERS_SLOW;
}

/* `count` of them, the first being number `from`, in one commit. */
static void
start_portion(timers *t, size_t from, size_t count)
{
    static cascade_start_spec specs[PORTION];
    static cascade_start_options options[PORTION];
    static cascade_first first[PORTION];
    static char inputs[PORTION][24];
    static cascade_started started[PORTION];
    int64_t now_ms = 0;

    assert_ok(cascade_store_now(t->store, &now_ms));
    for (size_t i = 0; i < count; i++) {
        bool sleeps = (from + i) % SLEEPERS == 0;
        int64_t delay_ms = due_at(t, from + i) - now_ms;

        snprintf(inputs[i], sizeof(inputs[i]), "%zu", from + i);
        first[i] = (cascade_first){.size = sizeof(cascade_first),
                                   .node = sleeps ? "sleep" : "fire",
                                   .input_text = inputs[i]};
        options[i] = (cascade_start_options){
            .size = sizeof(options[i]),
            .delay_ms = sleeps || delay_ms < 0 ? 0 : delay_ms};
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first[i],
                                        .first_count = 1,
                                        .options = &options[i]};
    }
    assert_ok(cascade_start_many(t->store, specs, count, started));
    for (size_t i = 0; i < count; i++) {
        t->ids[from + i] = started[i].id;
        assert_int_equal(
            csc_map_put(&t->numbers, &t->ids[from + i], &t->ids[from + i]), 0);
    }
}

/* Time enough to start them all; those started later are due at once. */
static int64_t
real_ahead_ms(size_t count)
{
    return 1000 + (int64_t)count / 10;
}

static timers *
timers_create(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .batch_cascades_max = PORTION,
                                      .park_after_ms = SECOND_MS,
                                      .lease_ms = 3 * AHEAD_MS};
    timers *t = must(calloc(1, sizeof(*t)));
    int64_t now_ms = 0;

    db->fake_time = db->backend->virtual_time;
    t->db = db;
    t->count = timer_count(db);
    t->ids = must(calloc(t->count, sizeof(*t->ids)));
    t->fired_ms = must(calloc(t->count, sizeof(*t->fired_ms)));
    t->recorded_ms = must(calloc(t->count, sizeof(*t->recorded_ms)));
    t->store = db_store(db);
    t->engine = db_engine(db, t->store, &options);
    assert_ok(cascade_engine_register(t->engine, "fire", fire, t, NULL));
    assert_ok(
        cascade_engine_register(t->engine, "sleep", sleep_first, t, NULL));
    assert_ok(cascade_engine_start(t->engine));
    assert_ok(cascade_store_now(t->store, &now_ms));
    t->due_ms = now_ms + (db->fake_time ? AHEAD_MS : real_ahead_ms(t->count));
    return t;
}

static void
timers_free(timers *t)
{
    db_close_engine(t->db, t->engine);
    db_close_store(t->db, t->store);
    free(t->ids);
    free(t->fired_ms);
    free(t->recorded_ms);
    csc_map_fini(&t->numbers);
    free(t);
}

/* ---- Firing ------------------------------------------------------------- */

static bool
have_fired(void *context)
{
    timers *t = context;

    return atomic_load(&t->fired) >= t->wanted;
}

static void
wait_fired(timers *t, size_t wanted)
{
    t->wanted = wanted;
    assert_true(db_poll_until(t->db, &t->engine, 1, have_fired, t));
}

static void
read_one(timers *t, const cascade_info *info)
{
    const cascade_uuid *id = csc_map_get(&t->numbers, &info->id);
    size_t number = 0;

    assert_non_null(id);
    number = (size_t)(id - t->ids);
    if (info->has_run) {
        t->recorded_ms[number] = info->wake_at_ms;
        return;
    }
    assert_int_equal(info->status, CASCADE_COMPLETED);
    assert_int_equal(info->fn_id, number % SLEEPERS == 0 ? 1 : 0);
    t->ended++;
}

/* Reads every cascade; when each is due, or that it has ended as it should. */
static void
read_all(timers *t)
{
    cascade_list_options options = {.size = sizeof(options), .limit = PAGE};
    cascade_uuid last;
    size_t read = 0;
    size_t count = PAGE;

    t->ended = 0;
    while (count == PAGE) {
        cascade_page *page = NULL;

        assert_ok(cascade_list(t->store, &options, &page));
        count = cascade_page_count(page);
        for (size_t i = 0; i < count; i++)
            read_one(t, cascade_page_get(page, i));
        if (count > 0)
            last = cascade_page_get(page, count - 1)->id;
        options.after = &last;
        read += count;
        cascade_page_free(page);
    }
    assert_int_equal(read, t->count);
}

/* Each at the time that is recorded, which is the one asked for, or later. */
static void
check_fired(const timers *t)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->db->fake_time)
            assert_int_equal(t->recorded_ms[i], due_at(t, i));
        assert_true(atomic_load(&t->fired_ms[i]) >= t->recorded_ms[i]);
        assert_true(atomic_load(&t->fired_ms[i]) >= due_at(t, i));
    }
}

/* What was started is parked, or has ended. */
static bool
holds_none(void *context)
{
    timers *t = context;

    return atomic_load(&t->asleep) >= t->wanted &&
           db_stats(t->engine).held == 0;
}

/* The clock moves from one to the next for half of the second, and then over
 * all of the other half at once. */
static void
none_of_many_timers_is_early_or_lost(test_db *db)
{
    timers *t = timers_create(db);

    for (size_t from = 0; from < t->count; from += PORTION) {
        size_t left = t->count - from;

        start_portion(t, from, left < PORTION ? left : PORTION);
        t->wanted += (left < PORTION ? left : PORTION) / SLEEPERS;
        assert_true(db_poll_until(db, &t->engine, 1, holds_none, t));
    }
    read_all(t);
    if (db->fake_time)
        assert_int_equal(t->ended, 0);
    wait_fired(t, t->count / 2);
    if (db->fake_time)
        fake_clock_advance(&db->clock, SECOND_MS);
    wait_fired(t, t->count);
    t->wanted = 0;
    assert_true(db_poll_until(db, &t->engine, 1, holds_none, t));
    assert_int_equal(atomic_load(&t->fired), t->count);
    if (db->fake_time)
        assert_true(db_stats(t->engine).parked >= t->count / SLEEPERS);
    read_all(t);
    assert_int_equal(t->ended, t->count);
    check_fired(t);
    timers_free(t);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"none_of_many_timers_is_early_or_lost",
         none_of_many_timers_is_early_or_lost, STORES_ALL},
    };

    return stores_run("many_timers", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
