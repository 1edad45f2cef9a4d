/* SPDX-License-Identifier: MIT
 *
 * Cascades in memory are bounded in bytes (B4): what is beyond the bound waits
 * in the store, one that takes most of it is the only one of its kind, and
 * neither keeps the others from going on (G15).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/data/map.h"
#include "base/uuid.h"
#include "cascade/manage.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/room/reload.h"
#include "held/run/run.h"
#include "store/store.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define CROWD 40
#define VALUE_BYTES (100 * 1024)
#define HELD_BYTES (1024 * 1024)
#define LARGE_PARTS 4  /* executions that make one large */
#define LARGE_VALUES 2 /* of each: all of them are more than half of that */
#define PORTIONS 16    /* times as much, which is read in many portions: */
#define WIDE 600       /* executions for each time, and part */
#define LARGE_MAX 3
#define HOUR_MS 3600000
#define SCAN_MS 40   /* that a portion takes; */
#define TURN_MS 500  /* a turn at least, */
#define TURN_READS 4 /* and so many times as long as the reading */

typedef struct link {
    struct room *room;
    char name[16]; /* its own, and the next one's */
    char next[16];
} link;

typedef struct room {
    test_db *db;
    link links[LARGE_PARTS];
    size_t times; /* as much as in the constants above */
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid ids[CROWD];
    cascade_uuid large[LARGE_MAX];
    size_t restless; /* large ones that go on until all have had a turn; */
    bool in_steps;   /* in one function */
    atomic_size_t turns[LARGE_MAX]; /* of each of them, ever */
    bool awaits;                    /* large ones wait for a signal; */
    bool late;                      /* or have a slow function */
    atomic_size_t over;             /* of these: it has recorded its step */
    size_t scans;                   /* portions read */
    atomic_llong turn_ns;           /* of the last one that had the place */
    atomic_size_t most;             /* bytes held when a node was entered */
    atomic_size_t done;             /* small ones */
    atomic_size_t entered;          /* large ones, ever */
    atomic_size_t inside;           /* and now */
    atomic_size_t most_inside;
} room;

static void
keep_most(atomic_size_t *most, size_t now)
{
    size_t before = atomic_load(most);

    while (now > before && !atomic_compare_exchange_weak(most, &before, now))
        ;
}

static cascade_err
put_values(cascade_node *node, size_t count)
{
    char *text = malloc(VALUE_BYTES + 1);
    cascade_err err = CASCADE_OK;

    if (text == NULL)
        return CASCADE_ERR_NO_MEMORY;
    memset(text, 'x', VALUE_BYTES);
    text[VALUE_BYTES] = '\0';
    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        err = cascade_node_put(node, "text", cJSON_CreateString(text));
    free(text);
    return err;
}

static cascade_err
fill(cascade_node *node, void *user)
{
    (void)user;
    expect(put_values(node, 1) == CASCADE_OK);
    return cascade_node_spawn(node, "look", NULL, NULL);
}

static cascade_err
fill_large(cascade_node *node, void *user)
{
    const link *l = user;

    expect(put_values(node, LARGE_VALUES) == CASCADE_OK);
    for (size_t i = 1; i < l->room->times; i++)
        for (size_t k = 0; k < WIDE; k++)
            expect(cascade_node_spawn(node, "tiny", NULL, NULL) == CASCADE_OK);
    return cascade_node_spawn(node, l->next, NULL, NULL);
}

static cascade_err
tiny(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static cascade_err
look(cascade_node *node, void *user)
{
    room *r = user;

    (void)node;
    keep_most(&r->most, db_stats(r->engine).held_bytes);
    atomic_fetch_add(&r->done, 1);
    return CASCADE_OK;
}

/* Whether the other large one was put off. */
static bool
one_waits(room *r)
{
    const csc_reload *at = NULL;
    bool waits = false;

    pthread_mutex_lock(&r->engine->mutex);
    for (at = r->engine->reloads.first; at != NULL; at = at->next)
        waits = waits || at->large;
    pthread_mutex_unlock(&r->engine->mutex);
    return waits;
}

/* All others have gone on beside it, and the second one was read. */
static bool
may_leave(void *context)
{
    room *r = context;

    return atomic_load(&r->done) == CROWD &&
           (atomic_load(&r->entered) == 2 || one_waits(r));
}

/* Notes that this one has a turn. */
static void
note_turn(room *r, const cascade_node *node)
{
    for (size_t i = 0; i < r->restless; i++)
        if (csc_uuid_equal(cascade_node_cascade_id(node), &r->large[i]))
            atomic_fetch_add(&r->turns[i], 1);
}

static bool
have_all_turned(room *r)
{
    size_t count = 0;

    for (size_t i = 0; i < r->restless; i++)
        count += atomic_load(&r->turns[i]) > 0;
    return count == r->restless;
}

static cascade_err
nothing(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)arg;
    (void)result;
    return CASCADE_OK;
}

/* Goes on without a rest, from step to step or from execution to execution. */
static cascade_err
go_on(room *r, cascade_node *node)
{
    cascade_err err = CASCADE_OK;

    note_turn(r, node);
    while (err == CASCADE_OK && r->in_steps && !have_all_turned(r))
        err = cascade_node_step(node, "step", nothing, NULL, NULL, NULL);
    if (err == CASCADE_OK && !have_all_turned(r))
        err = cascade_node_spawn(node, "stay", NULL, NULL);
    return err;
}

/* The other one waits, unless it is over, and something was recorded. */
static bool
may_be_late(void *context)
{
    room *r = context;
    bool worked = false;

    pthread_mutex_lock(&r->engine->mutex);
    worked = r->engine->room.large != NULL && r->engine->room.large->worked;
    pthread_mutex_unlock(&r->engine->mutex);
    return worked && (atomic_load(&r->over) > 0 || one_waits(r));
}

/* Comes to its first step when the turn is over. */
static cascade_err
late(cascade_node *node, void *user)
{
    room *r = user;
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&r->entered, 1);
    expect(stores_until(may_be_late, r));
    pthread_mutex_lock(&r->engine->mutex);
    r->engine->room.large_until_ns = 0;
    pthread_mutex_unlock(&r->engine->mutex);
    err = cascade_node_step(node, "late", nothing, NULL, NULL, NULL);
    atomic_fetch_add(&r->over, err == CASCADE_OK);
    return err;
}

/* Beside it: has something recorded in each turn. */
static cascade_err
busy(cascade_node *node, void *user)
{
    room *r = user;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && atomic_load(&r->over) < 2)
        err = cascade_node_step(node, "step", nothing, NULL, NULL, NULL);
    return err;
}

static cascade_err
note_length(room *r)
{
    pthread_mutex_lock(&r->engine->mutex);
    atomic_store(&r->turn_ns,
                 r->engine->room.large_until_ns - csc_clock_now_ns(r->engine));
    pthread_mutex_unlock(&r->engine->mutex);
    return CASCADE_OK;
}

static cascade_err
stay(cascade_node *node, void *user)
{
    room *r = user;

    if (r->scans > 0)
        return note_length(r);
    if (r->late) {
        expect(cascade_node_spawn(node, "busy", NULL, NULL) == CASCADE_OK);
        return cascade_node_spawn(node, "late", NULL, NULL);
    }
    if (r->restless > 0)
        return go_on(r, node);
    if (r->awaits) {
        atomic_fetch_add(&r->entered, 1);
        return cascade_node_await(node, "go", -1, NULL);
    }
    atomic_fetch_add(&r->entered, 1);
    keep_most(&r->most_inside, atomic_fetch_add(&r->inside, 1) + 1);
    expect(stores_until(may_leave, r));
    atomic_fetch_sub(&r->inside, 1);
    return CASCADE_OK;
}

static cascade_err
linger(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "go", -1, NULL);
}

static cascade_err
fill_and_linger(cascade_node *node, void *user)
{
    (void)user;
    expect(put_values(node, 1) == CASCADE_OK);
    return cascade_node_spawn(node, "linger", NULL, NULL);
}

static cascade_engine *
open_engine(room *r, bool ends)
{
    const cascade_engine_options options = {
        .size = sizeof(options),
        .worker_count = 4,
        .lease_ms = 60000,
        .poll_interval_ms = 20,
        .park_after_ms = HOUR_MS,
        .held_bytes_max = ends ? HELD_BYTES * r->times : 0};
    cascade_engine *engine = db_engine(r->db, r->store, &options);

    assert_ok(cascade_engine_register(engine, "fill", fill, r, NULL));
    for (int i = 0; i < LARGE_PARTS; i++) {
        link *l = &r->links[i];

        l->room = r;
        (void)snprintf(l->name, sizeof(l->name), "large%d", i);
        if (i + 1 < LARGE_PARTS)
            (void)snprintf(l->next, sizeof(l->next), "large%d", i + 1);
        else
            (void)strcpy(l->next, "stay");
        assert_ok(
            cascade_engine_register(engine, l->name, fill_large, l, NULL));
    }
    assert_ok(
        cascade_engine_register(engine, "crowd", fill_and_linger, r, NULL));
    if (ends) {
        assert_ok(cascade_engine_register(engine, "look", look, r, NULL));
        assert_ok(cascade_engine_register(engine, "stay", stay, r, NULL));
        assert_ok(cascade_engine_register(engine, "tiny", tiny, r, NULL));
        assert_ok(cascade_engine_register(engine, "busy", busy, r, NULL));
        assert_ok(cascade_engine_register(engine, "late", late, r, NULL));
        assert_ok(cascade_engine_register(engine, "linger", linger, r, NULL));
    }
    return engine;
}

static cascade_err
count_needs(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)row;
    *(size_t *)context +=
        run != NULL && csc_uuid_is_nil(&run->engine_id) && run->needs != NULL;
    return CASCADE_OK;
}

typedef struct needy {
    cascade_store *store;
    size_t count; /* of cascades that wait for another engine */
} needy;

static bool
all_need(void *context)
{
    needy *n = context;
    cascade_query query = {.limit = 2 * CROWD};
    size_t count = 0;

    expect(n->store->driver->list(n->store->self, &query, count_needs,
                                  &count) == CASCADE_OK);
    return count == n->count;
}

/* They have filled their context, and wait for a node that is not here. */
static room *
room_open(test_db *db, const char *node, size_t large, size_t times)
{
    room *r = calloc(1, sizeof(*r));
    cascade_engine *engine = NULL;
    needy all = {.count = CROWD + large};

    assert_non_null(r);
    r->db = db;
    r->times = times;
    r->store = db_store(db);
    all.store = r->store;
    engine = open_engine(r, false);
    assert_ok(cascade_engine_start(engine));
    for (size_t i = 0; i < CROWD; i++)
        r->ids[i] = db_start(r->store, node);
    for (size_t i = 0; i < large; i++)
        r->large[i] = db_start(r->store, "large0");
    assert_true(stores_until(all_need, &all));
    db_close_engine(db, engine);
    r->engine = open_engine(r, true);
    return r;
}

static void
room_close(room *r)
{
    db_close_engine(r->db, r->engine);
    free(r);
}

static void
what_there_is_no_memory_for_waits(test_db *db)
{
    room *r = room_open(db, "fill", 0, 1);

    assert_ok(cascade_engine_start(r->engine));
    for (size_t i = 0; i < CROWD; i++)
        db_await(r->store, &r->ids[i], CASCADE_COMPLETED);
    assert_in_range(atomic_load(&r->most), VALUE_BYTES, HELD_BYTES);
    room_close(r);
}

static void
await_large(room *r, size_t count)
{
    assert_ok(cascade_engine_start(r->engine));
    for (size_t i = 0; i < count; i++)
        db_await(r->store, &r->large[i], CASCADE_COMPLETED);
}

#define SPREAD 3      /* such nodes has each large one, */
#define WIDE_MAX 1000 /* which have so many executions each */

static cascade_err
wide(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    (void)user;
    for (int i = 0; i < WIDE_MAX && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, "outside", NULL, NULL);
    return err;
}

static cascade_err
spawn_wide(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    (void)user;
    for (int i = 0; i < SPREAD && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, "wide", NULL, NULL);
    return err;
}

static cascade_engine *
open_wide(test_db *db, cascade_store *store, size_t held_bytes_max)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .lease_ms = 60000,
                                            .poll_interval_ms = 20,
                                            .held_bytes_max = held_bytes_max};
    cascade_engine *engine = db_engine(db, store, &options);

    assert_ok(cascade_engine_register_external(engine, "outside", NULL));
    assert_ok(cascade_engine_register(engine, "wide", wide, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "top", spawn_wide, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

static bool
is_wide(void *context)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    expect(cascade_engine_get_stats(context, &stats) == CASCADE_OK);
    return stats.executions >= (uint64_t)2 * (1 + SPREAD) && stats.ready == 0 &&
           stats.running == 0;
}

typedef struct cancelled {
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid ids[2];
} cancelled;

#define SHORT_TURNS 16 /* each begins with reading all of a large one */

/* The first turns are over as soon as they have begun. */
static void
cut_turns_short(cascade_engine *engine)
{
    const struct timespec moment = {.tv_nsec = 50000};

    for (int i = 0; i < 200 && db_stats(engine).hydrations < SHORT_TURNS; i++) {
        pthread_mutex_lock(&engine->mutex);
        if (engine->room.large_until_ns != INT64_MAX)
            engine->room.large_until_ns = 0;
        pthread_mutex_unlock(&engine->mutex);
        (void)nanosleep(&moment, NULL);
    }
}

static bool
have_ended(void *context)
{
    cancelled *c = context;
    bool ended = true;

    cut_turns_short(c->engine);
    for (int i = 0; i < 2; i++) {
        cascade_info *info = NULL;

        expect(cascade_get(c->store, &c->ids[i], &info) == CASCADE_OK);
        ended = ended && info->status == CASCADE_ERROR;
        cascade_info_free(info);
    }
    return ended;
}

/* A cancellation has more slices than one turn is long: it goes on at its next
 * one. */
static void
a_turn_may_end_between_two_slices(test_db *db)
{
    cancelled c = {.store = db_store(db)};

    c.engine = open_wide(db, c.store, 0);
    for (int i = 0; i < 2; i++)
        c.ids[i] = db_start(c.store, "top");
    assert_true(stores_until(is_wide, c.engine));
    db_close_engine(db, c.engine);
    for (int i = 0; i < 2; i++)
        assert_ok(cascade_cancel(c.store, &c.ids[i], NULL));
    c.engine = open_wide(db, c.store, 1024 * 1024);
    assert_true(stores_until(have_ended, &c));
    db_close_engine(db, c.engine);
}

static void
large_ones_take_turns_beside_the_small(test_db *db)
{
    room *r = room_open(db, "fill", 2, 1);

    await_large(r, 2);
    assert_int_equal(atomic_load(&r->most_inside), 1);
    room_close(r);
}

/* Both are read at once, by turns, until it shows that both are large. When
 * most of its executions have ended, the first is large no more. */
static void
large_ones_that_are_read_by_turns_do_so_too(test_db *db)
{
    room *r = room_open(db, "fill", 2, PORTIONS);

    await_large(r, 2);
    assert_int_equal(atomic_load(&r->entered), 2);
    room_close(r);
}

/* Each would go on for ever: it is made to leave when its turn is over. The
 * third one has its turn before the first comes again. */
static void
take_turns(test_db *db, bool in_steps)
{
    room *r = room_open(db, "fill", LARGE_MAX, 1);

    r->restless = LARGE_MAX;
    r->in_steps = in_steps;
    await_large(r, LARGE_MAX);
    for (size_t i = 0; i < LARGE_MAX; i++)
        assert_true(atomic_load(&r->turns[i]) > 0);
    room_close(r);
}

static void
large_ones_that_never_rest_take_turns(test_db *db)
{
    take_turns(db, false);
}

static void
large_ones_leave_between_two_steps(test_db *db)
{
    take_turns(db, true);
}

/* Its turn is always over before it records anything, while what is beside it
 * does: it has that one step in each entry. */
static void
a_slow_function_goes_on_beside_a_busy_one(test_db *db)
{
    room *r = room_open(db, "fill", 2, 1);

    r->late = true;
    await_large(r, 2);
    assert_int_equal(atomic_load(&r->entered), 2);
    room_close(r);
}

static cascade_err
count_scan(void *context, const wrap_call *call)
{
    room *r = context;

    if (call->move != WRAP_SCAN)
        return CASCADE_OK;
    r->scans++;
    fake_clock_advance(&r->db->clock, SCAN_MS);
    return CASCADE_OK;
}

/* That is known to be large when most of it has been read. */
static void
a_turn_is_longer_than_all_of_the_reading(test_db *db)
{
    room *r = NULL;
    wrap_store *wrap = wrap_store_create(db->url);

    assert_non_null(wrap);
    db->fake_time = true;
    r = room_open(db, "fill", 1, PORTIONS);
    db_close_engine(db, r->engine);
    wrap->context = r;
    wrap->before = count_scan;
    r->store = db_wrapped(db, wrap);
    r->engine = open_engine(r, true);
    await_large(r, 1);
    assert_true(r->scans * SCAN_MS > TURN_MS);
    assert_true(atomic_load(&r->turn_ns) >=
                (long long)(TURN_READS * r->scans * SCAN_MS) * 1000000);
    db_close_engine(db, r->engine);
    db_close_store(db, r->store);
    wrap_store_free(wrap);
    free(r);
}

/* Waits for a signal in memory, at rest. */
static bool
has_settled(void *context)
{
    room *r = context;
    const csc_run *run = NULL;
    bool settled = false;

    pthread_mutex_lock(&r->engine->mutex);
    run = csc_map_get(&r->engine->runs, &r->large[0]);
    settled = run != NULL && run->large && run->timer_at != 0 &&
              run->state.awaiting > 0;
    pthread_mutex_unlock(&r->engine->mutex);
    return settled;
}

/* Nothing is in memory, nor about to be: what is paused was looked at, by an
 * engine that knows all of its nodes. */
static bool
are_parked(void *context)
{
    room *r = context;
    bool parked = false;

    pthread_mutex_lock(&r->engine->mutex);
    parked = r->engine->stats.parked >= 2 && r->engine->runs.count == 0 &&
             r->engine->reloads.first == NULL &&
             r->engine->reloads.in_hand == 0;
    pthread_mutex_unlock(&r->engine->mutex);
    return parked;
}

static bool
have_two_entered(void *context)
{
    return atomic_load(&((room *)context)->entered) >= 2;
}

/* It would be held for an hour. The other one comes when it rests already. */
static void
a_large_one_at_rest_leaves_for_another(test_db *db)
{
    room *r = room_open(db, "fill", 2, 1);

    r->awaits = true;
    for (size_t i = 0; i < 2; i++)
        assert_ok(cascade_pause(r->store, &r->large[i], NULL));
    assert_ok(cascade_engine_start(r->engine));
    for (size_t i = 0; i < CROWD; i++)
        db_await(r->store, &r->ids[i], CASCADE_COMPLETED);
    assert_true(stores_until(are_parked, r));
    assert_ok(cascade_resume(r->store, &r->large[0], NULL));
    assert_true(stores_until(has_settled, r));
    assert_ok(cascade_resume(r->store, &r->large[1], NULL));
    assert_true(stores_until(have_two_entered, r));
    for (size_t i = 0; i < 2; i++)
        assert_ok(cascade_signal(r->store, &r->large[i], "go", NULL, NULL));
    for (size_t i = 0; i < 2; i++)
        db_await(r->store, &r->large[i], CASCADE_COMPLETED);
    room_close(r);
}

/* All but those for which there is room. */
static bool
most_are_parked(void *context)
{
    room *r = context;

    return db_stats(r->engine).parked >= CROWD - HELD_BYTES / VALUE_BYTES;
}

/* Each would be held for an hour. */
static void
what_waits_is_parked_where_memory_is_full(test_db *db)
{
    room *r = room_open(db, "crowd", 0, 1);
    cascade_uuid last;

    assert_ok(cascade_engine_start(r->engine));
    assert_true(stores_until(most_are_parked, r));
    last = db_start(r->store, "fill");
    db_await(r->store, &last, CASCADE_COMPLETED);
    for (size_t i = 0; i < CROWD; i++)
        assert_ok(cascade_signal(r->store, &r->ids[i], "go", NULL, NULL));
    for (size_t i = 0; i < CROWD; i++)
        db_await(r->store, &r->ids[i], CASCADE_COMPLETED);
    room_close(r);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_there_is_no_memory_for_waits", what_there_is_no_memory_for_waits,
         STORES_ALL},
        {"large_ones_take_turns_beside_the_small",
         large_ones_take_turns_beside_the_small, STORES_ALL},
        {"large_ones_that_are_read_by_turns_do_so_too",
         large_ones_that_are_read_by_turns_do_so_too, STORES_ALL},
        {"large_ones_that_never_rest_take_turns",
         large_ones_that_never_rest_take_turns, STORES_ALL},
        {"large_ones_leave_between_two_steps",
         large_ones_leave_between_two_steps, STORES_ALL},
        {"a_slow_function_goes_on_beside_a_busy_one",
         a_slow_function_goes_on_beside_a_busy_one, STORES_ALL},
        {"a_turn_is_longer_than_all_of_the_reading",
         a_turn_is_longer_than_all_of_the_reading, STORES_ALL},
        {"a_large_one_at_rest_leaves_for_another",
         a_large_one_at_rest_leaves_for_another, STORES_ALL},
        {"a_turn_may_end_between_two_slices", a_turn_may_end_between_two_slices,
         STORES_ALL},
        {"what_waits_is_parked_where_memory_is_full",
         what_waits_is_parked_where_memory_is_full, STORES_ALL},
    };

    return stores_run("engine_room", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
