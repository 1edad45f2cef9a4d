/* SPDX-License-Identifier: MIT
 *
 * Cascades that change hands: given up, taken over, parked, suspected. What is
 * under way at that moment must neither run twice, nor be blamed for another,
 * nor wait for longer than it must.
 */
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/stores.h"

#define HOUR_MS INT64_C(3600000)

static void
await(sem_t *sem)
{
    while (sem_wait(sem) != 0)
        ;
}

static cascade_err
nothing(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

/* ---- Left for an engine that knows more --------------------------------- */

typedef struct left {
    cascade_store *store;
    cascade_uuid id;
    sem_t entered;
    sem_t leave;
} left;

static cascade_err
spawn_b(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_spawn(node, "b", NULL, NULL);
}

static cascade_err
stay(cascade_node *node, void *user)
{
    left *l = user;

    (void)node;
    sem_post(&l->entered);
    await(&l->leave);
    return CASCADE_OK;
}

static bool
is_left(void *context)
{
    left *l = context;
    cascade_info *info = NULL;
    bool is = false;

    assert_ok(cascade_get(l->store, &l->id, &info));
    is = !info->owned && strcmp(info->needs, "a") == 0;
    cascade_info_free(info);
    return is;
}

static cascade_engine *
left_engine(test_db *db, left *l, cascade_node_fn a, cascade_node_fn b)
{
    cascade_engine_options options = {
        .size = sizeof(options), .worker_count = 2, .poll_interval_ms = 20};
    cascade_engine *engine = db_engine(db, l->store, &options);

    if (a != NULL)
        assert_ok(cascade_engine_register(engine, "a", a, l, NULL));
    assert_ok(cascade_engine_register(engine, "b", b, l, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

/* G2, G6: the first engine does not know a; the second does, runs it, and goes
 * while it is in b; the third knows b alone, and that is all that is left. */
static void
what_one_engine_did_not_know_does_not_bind_the_next(test_db *db)
{
    static left l;
    cascade_engine *engines[2];

    memset(&l, 0, sizeof(l));
    sem_init(&l.entered, 0, 0);
    sem_init(&l.leave, 0, 0);
    l.store = db_store(db);
    engines[0] = left_engine(db, &l, NULL, nothing);
    l.id = db_start(l.store, "a");
    assert_true(stores_until(is_left, &l));
    db_close_engine(db, engines[0]);
    engines[1] = left_engine(db, &l, spawn_b, stay);
    await(&l.entered);
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_engine_stop(engines[1], 0));
    (void)left_engine(db, &l, NULL, nothing);
    db_await(l.store, &l.id, CASCADE_COMPLETED);
    sem_post(&l.leave);
    db_close_engine(db, engines[1]);
}

/* ---- Given up while a timer is set -------------------------------------- */

#define BACKOFF_MS 400

typedef struct freed {
    wrap_store wrap;
    test_db *db;
    cascade_engine *engine;
    sem_t leave;
    atomic_int tries; /* of the node that fails once */
    atomic_int frees; /* commits that give the cascade up */
} freed;

static cascade_err
fail_once(cascade_node *node, void *user)
{
    freed *f = user;

    if (atomic_fetch_add(&f->tries, 1) == 0)
        return cascade_node_error(node, "the first time");
    return CASCADE_OK;
}

static cascade_err
wait_to_leave(cascade_node *node, void *user)
{
    freed *f = user;

    (void)node;
    await(&f->leave);
    return CASCADE_OK;
}

/* Returns when the housekeeper has gone through a whole round. */
static void
pass_rounds(wrap_store *wrap, void *self)
{
    size_t from = wrap_store_count(wrap, WRAP_WAIT);

    while (wrap_store_count(wrap, WRAP_WAIT) < from + 3) {
        struct timespec pause = {0, 200000};

        (void)wrap->inner->wake(self);
        (void)nanosleep(&pause, NULL);
    }
}

/* While the cascade is being given up the time of its timer comes. */
static cascade_err
pass_time(void *context, const wrap_call *call)
{
    freed *f = context;
    cascade_engine_stats stats;

    if (call->move != WRAP_COMMIT ||
        call->batch->changes[0].run_action != CASCADE_RUN_FREE)
        return CASCADE_OK;
    atomic_fetch_add(&f->frees, 1);
    fake_clock_advance(&f->db->clock, BACKOFF_MS + 100);
    pass_rounds(&f->wrap, call->self);
    stats = db_stats(f->engine);
    expect(stats.ready == 0 && stats.running == 0);
    expect(atomic_load(&f->tries) == 1);
    return CASCADE_OK;
}

static bool
has_timer(void *context)
{
    return db_stats(context).waiting == 1;
}

static freed *
freed_create(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .worker_count = 2,
                                      .poll_interval_ms = HOUR_MS,
                                      .park_after_ms = BACKOFF_MS / 4};
    cascade_node_options node = {
        .size = sizeof(node), .backoff_ms = BACKOFF_MS, .jitter_percent = -1};
    freed *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(wrap_store_init(&f->wrap, db->url), 0);
    sem_init(&f->leave, 0, 0);
    f->wrap.context = f;
    f->wrap.before = pass_time;
    f->db = db;
    db->fake_time = true;
    f->engine = db_engine(db, db_wrapped(db, &f->wrap), &options);
    assert_ok(cascade_engine_register(f->engine, "fails", fail_once, f, &node));
    assert_ok(
        cascade_engine_register(f->engine, "waits", wait_to_leave, f, NULL));
    assert_ok(cascade_engine_start(f->engine));
    return f;
}

/* G5: from the moment on that a cascade is given up nothing of it begins here,
 * though the timer that was set for it meanwhile comes. */
static void
nothing_begins_in_a_cascade_that_is_given_up(test_db *db)
{
    cascade_first first[2] = {{.node = "fails"}, {.node = "waits"}};
    cascade_start_spec spec = {first, 2, NULL};
    freed *f = freed_create(db);
    cascade_store *store = db->stores[0];
    cascade_started started;

    assert_ok(cascade_start_many(store, &spec, 1, &started));
    assert_true(stores_until(has_timer, f->engine));
    sem_post(&f->leave);
    db_await(store, &started.id, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&f->frees), 1);
    assert_int_equal(atomic_load(&f->tries), 2);
    db_close_engine(db, f->engine);
    db_close_store(db, store);
    wrap_store_fini(&f->wrap);
    free(f);
}

/* ---- Whom to blame ------------------------------------------------------ */

#define LIVES 16
#define LEASE_MS 200

/* One engine whose process can die: from then on it reaches no store. */
typedef struct life {
    wrap_store wrap;
    cascade_store *store;
    cascade_engine *engine;
    atomic_bool dead;
} life;

static cascade_err
reach(void *context, const wrap_call *call)
{
    life *l = context;

    (void)call;
    return atomic_load(&l->dead) ? CASCADE_ERR_UNAVAILABLE : CASCADE_OK;
}

static cascade_err
die(cascade_node *node, void *user)
{
    (void)node;
    atomic_store(&((life *)user)->dead, true);
    return CASCADE_OK;
}

static life *
life_create(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .lease_ms = LEASE_MS,
                                      .poll_interval_ms = 20};
    life *l = calloc(1, sizeof(*l));

    assert_non_null(l);
    assert_int_equal(wrap_store_init(&l->wrap, db->url), 0);
    l->wrap.context = l;
    l->wrap.before = reach;
    l->store = db_wrapped(db, &l->wrap);
    l->engine = db_engine(db, l->store, &options);
    assert_ok(cascade_engine_register(l->engine, "harmless", nothing, l, NULL));
    assert_ok(cascade_engine_register(l->engine, "deadly", die, l, NULL));
    assert_ok(cascade_engine_start(l->engine));
    return l;
}

static void
life_free(test_db *db, life *l)
{
    for (size_t i = 0; i < db->engine_count; i++)
        if (db->engines[i] == l->engine)
            db->engines[i] = NULL;
    (void)cascade_engine_stop(l->engine, 0);
    assert_ok(cascade_engine_close(l->engine));
    db_close_store(db, l->store);
    wrap_store_fini(&l->wrap);
    free(l);
}

/* Lives until it dies (false) or the cascade has ended. Several executions go
 * in one poll, as they would go in one worker. */
static bool
live(test_db *db, life *l, const cascade_uuid *id)
{
    for (int i = 0; i < 10000 && !atomic_load(&l->dead); i++) {
        size_t ran = 0;

        assert_ok(cascade_engine_poll(l->engine, 100, &ran));
        if (!atomic_load(&l->dead) &&
            cascade_wait(l->store, id, 0, NULL) == CASCADE_OK)
            return true;
        if (ran == 0)
            fake_clock_advance(&db->clock,
                               cascade_engine_timeout_ms(l->engine) + 1);
    }
    assert_true(atomic_load(&l->dead));
    return false;
}

static void
check_blame(cascade_store *store, const cascade_uuid *id)
{
    const cascade_execution_info *info = NULL;
    cascade_snapshot *snapshot = NULL;

    assert_ok(cascade_snapshot_load(store, id, NULL, &snapshot));
    info = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 0);
    assert_int_equal(info->status, CASCADE_EXECUTION_COMPLETED);
    info = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 1);
    assert_int_equal(info->status, CASCADE_EXECUTION_FAILED);
    assert_non_null(strstr(info->error, "poisoned"));
    cascade_snapshot_free(snapshot);
}

/* Two executions, of which one kills its process each time, when the other has
 * just been through: it is the deadly one that is poisoned. */
static void
the_execution_that_kills_is_the_one_poisoned(test_db *db)
{
    cascade_first first[2] = {{.node = "harmless"}, {.node = "deadly"}};
    cascade_start_spec spec = {first, 2, NULL};
    cascade_store *store = NULL;
    cascade_started started;
    life *lives[LIVES];
    size_t used = 0;
    bool ended = false;

    db->fake_time = true;
    store = db_store(db);
    assert_ok(cascade_start_many(store, &spec, 1, &started));
    while (used < LIVES && !ended) {
        lives[used] = life_create(db);
        ended = live(db, lives[used++], &started.id);
    }
    assert_true(ended);
    check_blame(store, &started.id);
    while (used > 0)
        life_free(db, lives[--used]);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_one_engine_did_not_know_does_not_bind_the_next",
         what_one_engine_did_not_know_does_not_bind_the_next, STORES_ALL},
        {"nothing_begins_in_a_cascade_that_is_given_up",
         nothing_begins_in_a_cascade_that_is_given_up, STORES_VIRTUAL},
        {"the_execution_that_kills_is_the_one_poisoned",
         the_execution_that_kills_is_the_one_poisoned, STORES_VIRTUAL},
    };

    return stores_run("handover", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
