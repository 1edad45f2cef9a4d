/* SPDX-License-Identifier: MIT
 *
 * The life of engines: start and its hooks, stop and close, also while a node
 * does not return, the stop that a signal asks for, several engines on one
 * store, engines that die one after the other of the same cascade, the host's
 * own loop, and runs that are the same every time.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data/buf.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "engine/support/mix.h"
#include "store/store.h"
#include "support/dump.h"
#include "support/stores.h"

/* ---- Hooks -------------------------------------------------------------- */

typedef struct hooks {
    atomic_int inits;
    atomic_int exits;
    atomic_int destroyed;
    int fail_at; /* the init that fails, 0: none */
} hooks;

static _Thread_local bool initialised;

static cascade_err
worker_init(void *context)
{
    hooks *h = context;

    initialised = true;
    if (atomic_fetch_add(&h->inits, 1) + 1 == h->fail_at)
        return CASCADE_ERR_SYSTEM;
    return CASCADE_OK;
}

static void
worker_exit(void *context)
{
    hooks *h = context;

    expect(initialised);
    atomic_fetch_add(&h->exits, 1);
}

static cascade_err
needs_init(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return expect(initialised) ? CASCADE_OK : CASCADE_ERR_FINAL;
}

static void
note_destroyed(void *user)
{
    hooks *h = user;

    atomic_fetch_add(&h->destroyed, 1);
}

static cascade_engine_options
with_hooks(hooks *h)
{
    return (cascade_engine_options){.size = sizeof(cascade_engine_options),
                                    .worker_count = 5,
                                    .worker_init = worker_init,
                                    .worker_exit = worker_exit,
                                    .worker_context = h};
}

static void
hooks_are_called_once_in_each_worker(test_db *db)
{
    hooks h = {.fail_at = 0};
    cascade_engine_options options = with_hooks(&h);
    cascade_node_options node = {.size = sizeof(node),
                                 .destroy = note_destroyed};
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, &options);
    cascade_uuid ids[40];

    assert_ok(cascade_engine_register(engine, "n", needs_init, &h, &node));
    assert_ok(cascade_engine_start(engine));
    assert_int_equal(atomic_load(&h.inits), 5);
    assert_int_equal(atomic_load(&h.exits), 0);
    for (size_t i = 0; i < 40; i++)
        ids[i] = db_start(store, "n");
    for (size_t i = 0; i < 40; i++)
        db_await(store, &ids[i], CASCADE_COMPLETED);
    assert_ok(cascade_engine_stop(engine, DB_WAIT_MS));
    assert_int_equal(atomic_load(&h.exits), 5);
    assert_int_equal(atomic_load(&h.destroyed), 0);
    db_close_engine(db, engine);
    assert_int_equal(atomic_load(&h.destroyed), 1);
}

static void
a_failing_hook_fails_the_start(test_db *db)
{
    hooks h = {.fail_at = 3};
    cascade_engine_options options = with_hooks(&h);
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, &options);

    assert_ok(cascade_engine_register(engine, "n", stores_nothing, NULL, NULL));
    assert_fails(CASCADE_ERR_SYSTEM, cascade_engine_start(engine));
    assert_int_equal(atomic_load(&h.exits), 4);
    db_close_engine(db, engine);
}

static void
calls_out_of_place_are_refused(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);

    assert_fails(CASCADE_ERR_MISUSE, cascade_engine_poll(engine, 0, NULL));
    assert_int_equal(cascade_engine_fd(engine), -1);
    assert_ok(cascade_engine_register(engine, "n", stores_nothing, NULL, NULL));
    assert_fails(
        CASCADE_ERR_EXISTS,
        cascade_engine_register(engine, "n", stores_nothing, NULL, NULL));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_engine_register(engine, "cascade.x", stores_nothing,
                                         NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    assert_fails(CASCADE_ERR_MISUSE, cascade_engine_start(engine));
    assert_fails(
        CASCADE_ERR_MISUSE,
        cascade_engine_register(engine, "m", stores_nothing, NULL, NULL));
    assert_fails(CASCADE_ERR_MISUSE, cascade_store_close(store));
    assert_ok(cascade_engine_stop(engine, DB_WAIT_MS));
    assert_ok(cascade_engine_stop(engine, DB_WAIT_MS));
    assert_fails(CASCADE_ERR_MISUSE, cascade_engine_start(engine));
}

/* ---- Stop while a node does not return ---------------------------------- */

typedef struct stuck {
    sem_t entered;
    sem_t leave;
    atomic_int calls;
} stuck;

/* The first call waits to be let go. */
static cascade_err
block_once(cascade_node *node, void *user)
{
    stuck *s = user;

    if (atomic_fetch_add(&s->calls, 1) == 0) {
        sem_post(&s->entered);
        while (sem_wait(&s->leave) != 0)
            ;
    }
    return cascade_node_put(node, "k", cJSON_CreateNumber(1));
}

static cascade_engine *
stuck_engine(test_db *db, cascade_store *store, stuck *s)
{
    cascade_engine_options options = {
        .size = sizeof(options), .worker_count = 2, .poll_interval_ms = 20};
    cascade_engine *engine = db_engine(db, store, &options);

    assert_ok(cascade_engine_register(engine, "block", block_once, s, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

/* The node keeps its thread, not its cascade: another engine finishes that,
 * and the late result is dropped. */
static void
a_node_that_does_not_return_loses_its_cascade(test_db *db)
{
    static stuck s;
    cascade_store *store = db_store(db);
    cascade_engine *engine = NULL;
    cascade_snapshot *snapshot = NULL;
    cascade_uuid id;

    memset(&s, 0, sizeof(s));
    sem_init(&s.entered, 0, 0);
    sem_init(&s.leave, 0, 0);
    engine = stuck_engine(db, store, &s);
    id = db_start(store, "block");
    while (sem_wait(&s.entered) != 0)
        ;
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_engine_stop(engine, 50));
    assert_non_null(strstr(cascade_errmsg(), "block"));
    assert_fails(CASCADE_ERR_AGAIN, cascade_engine_close(engine));
    (void)stuck_engine(db, store, &s);
    db_await(store, &id, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&s.calls), 2);
    sem_post(&s.leave);
    db_close_engine(db, engine);
    assert_ok(cascade_snapshot_load(store, &id, NULL, &snapshot));
    assert_string_equal(cascade_snapshot_context(snapshot), "{\"k\":[1]}");
    cascade_snapshot_free(snapshot);
}

/* ---- A signal ----------------------------------------------------------- */

static cascade_engine *signalled;

static void
on_signal(int number)
{
    (void)number;
    cascade_engine_request_stop(signalled);
}

static void
a_signal_handler_may_ask_for_a_stop(test_db *db)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);

    assert_ok(cascade_engine_register(engine, "n", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_engine_wait(engine, 0));
    signalled = engine;
    sigaction(SIGUSR1, &action, &before);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &before, NULL);
    assert_ok(cascade_engine_wait(engine, -1));
    assert_ok(cascade_engine_stop(engine, DB_WAIT_MS));
}

/* ---- Waiting ------------------------------------------------------------ */

static void
waits_end_when_their_time_is_over(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "nobody-knows-it");
    cascade_uuid none = id;
    cascade_status status = CASCADE_ERROR;

    assert_fails(CASCADE_ERR_TIMEOUT, cascade_wait(store, &id, 0, &status));
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_wait(store, &id, 30, &status));
    assert_int_equal(status, CASCADE_ERROR);
    none.bytes[0] ^= 1;
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_wait(store, &none, 1000, &status));
}

/* ---- Several engines on one store --------------------------------------- */

#define SHARED 84

static void
run_shared(cascade_store *store)
{
    cascade_uuid ids[SHARED];

    mix_start(store, ids, SHARED);
    for (size_t i = 0; i < SHARED; i++)
        db_await(store, &ids[i],
                 i % MIX_DOOMED == MIX_DOOMED - 1 ? CASCADE_ERROR
                                                  : CASCADE_COMPLETED);
}

/* None of them is taken for dead, however slow the machine is. */
static void
engines_of_one_store_share_the_work(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engines[3];
    uint64_t ran = 0;

    mix_reset();
    for (size_t i = 0; i < 3; i++) {
        cascade_engine_options options = {.size = sizeof(options),
                                          .worker_count = 2,
                                          .capacity = 40,
                                          .lease_ms = DB_WAIT_MS,
                                          .poll_interval_ms = 20};

        engines[i] = db_engine(db, store, &options);
        mix_register(engines[i]);
        assert_ok(cascade_engine_start(engines[i]));
    }
    run_shared(store);
    for (size_t i = 0; i < 3; i++)
        ran += db_stats(engines[i]).executions;
    assert_true(ran > SHARED);
    /* One stops in the middle of its life: the others have it all. */
    db_close_engine(db, engines[0]);
    run_shared(store);
}

static void
a_store_has_room_for_so_many_engines(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engines[CSC_STORE_ENGINES_MAX + 1] = {NULL};

    for (size_t i = 0; i < CSC_STORE_ENGINES_MAX; i++)
        assert_ok(cascade_engine_open(store, NULL, &engines[i]));
    assert_fails(
        CASCADE_ERR_TOO_LARGE,
        cascade_engine_open(store, NULL, &engines[CSC_STORE_ENGINES_MAX]));
    for (size_t i = 0; i < CSC_STORE_ENGINES_MAX; i++)
        assert_ok(cascade_engine_close(engines[i]));
}

/* ---- Poison ------------------------------------------------------------- */

#define POISON_LIMIT 5
#define SUSPECT_FROM 3
#define EXPLOSIONS (SUSPECT_FROM + POISON_LIMIT)
#define MORTALS (EXPLOSIONS + 3)

/* An engine whose process can die: from then on it reaches no store. */
typedef struct mortal {
    wrap_store wrap;
    cascade_store *store;
    cascade_engine *engine;
    atomic_bool dead;
} mortal;

static mortal *mortals[MORTALS];
static size_t mortal_now; /* the one that is polled */
static atomic_int explosions;

static cascade_err
reach_store(void *context, const wrap_call *call)
{
    mortal *m = context;

    (void)call;
    return atomic_load(&m->dead) ? CASCADE_ERR_UNAVAILABLE : CASCADE_OK;
}

/* Takes its process down. */
static cascade_err
explode(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    atomic_fetch_add(&explosions, 1);
    atomic_store(&mortals[mortal_now]->dead, true);
    return CASCADE_OK;
}

static mortal *
mortal_create(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .lease_ms = 200,
                                      .poll_interval_ms = 20,
                                      .poison_limit = POISON_LIMIT};
    mortal *m = calloc(1, sizeof(*m));

    assert_non_null(m);
    assert_int_equal(wrap_store_init(&m->wrap, db->url), 0);
    m->wrap.context = m;
    m->wrap.before = reach_store;
    m->store = db_wrapped(db, &m->wrap);
    m->engine = db_engine(db, m->store, &options);
    assert_ok(
        cascade_engine_register(m->engine, "explode", explode, NULL, NULL));
    assert_ok(
        cascade_engine_register(m->engine, "n", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(m->engine));
    return m;
}

static void
mortal_free(test_db *db, mortal *m)
{
    for (size_t i = 0; i < db->engine_count; i++)
        if (db->engines[i] == m->engine)
            db->engines[i] = NULL;
    (void)cascade_engine_stop(m->engine, 0);
    assert_ok(cascade_engine_close(m->engine));
    db_close_store(db, m->store);
    wrap_store_fini(&m->wrap);
    free(m);
}

typedef struct outcome {
    db_ends bomb;
    db_ends others;
} outcome;

static bool
dead_or_decided(void *context)
{
    outcome *o = context;

    return atomic_load(&mortals[mortal_now]->dead) ||
           (db_all_ended(&o->bomb) && db_all_ended(&o->others));
}

/* A node that takes its process down: engines die of it one after the other,
 * the last ones in trial, and from the limit on it is the node that fails. The
 * rest goes on. */
static void
a_node_that_kills_engines_is_poisoned(test_db *db)
{
    cascade_store *store = NULL;
    cascade_uuid ids[20];
    cascade_uuid bomb;
    cascade_snapshot *snapshot = NULL;
    outcome o;
    size_t used = 0;

    db->fake_time = db->backend->virtual_time;
    store = db_store(db);
    atomic_store(&explosions, 0);
    bomb = db_start(store, "explode");
    for (size_t i = 0; i < 20; i++)
        ids[i] = db_start(store, "n");
    o = (outcome){{store, &bomb, 1, 0}, {store, ids, 20, 0}};
    for (; used < MORTALS && o.bomb.ended == 0; used++) {
        mortal_now = used;
        mortals[used] = mortal_create(db);
        assert_true(
            db_poll_until(db, &mortals[used]->engine, 1, dead_or_decided, &o));
        (void)dead_or_decided(&o);
    }
    assert_int_equal(atomic_load(&explosions), EXPLOSIONS);
    db_await(store, &bomb, CASCADE_ERROR);
    assert_ok(cascade_snapshot_load(store, &bomb, NULL, &snapshot));
    assert_non_null(strstr(cascade_snapshot_error(snapshot), "poisoned"));
    cascade_snapshot_free(snapshot);
    for (size_t i = 0; i < 20; i++)
        db_await(store, &ids[i], CASCADE_COMPLETED);
    while (used > 0)
        mortal_free(db, mortals[--used]);
}

/* ---- The host's own loop ------------------------------------------------ */

#define LOOP_CASCADES 14

/* What the host's loop waits for besides: that all is done. */
typedef struct finish {
    cascade_store *store;
    cascade_uuid ids[LOOP_CASCADES];
    int pipe[2];
    pthread_t thread;
} finish;

static void *
tell_finish(void *context)
{
    finish *f = context;

    for (size_t i = 0; i < LOOP_CASCADES; i++)
        expect(cascade_wait(f->store, &f->ids[i], DB_WAIT_MS, NULL) ==
               CASCADE_OK);
    expect(close(f->pipe[1]) == 0);
    return NULL;
}

/* Sleeps on the two descriptors for as long as the engine allows. How often it
 * was woken for nothing. */
static size_t
loop_until_finished(cascade_engine *engine, const finish *f)
{
    struct pollfd fds[2] = {{.fd = cascade_engine_fd(engine), .events = POLLIN},
                            {.fd = f->pipe[0], .events = POLLIN}};
    size_t idle = 0;

    while (fds[1].revents == 0) {
        int64_t wait_ms = cascade_engine_timeout_ms(engine);
        size_t ran = 0;

        assert_true(poll(fds, 2, (int)wait_ms) > 0 || wait_ms == 0);
        assert_ok(cascade_engine_poll(engine, 0, &ran));
        idle += ran == 0;
    }
    return idle;
}

/* With the descriptor and the timeout alone the loop gets everything done,
 * without being called all the time. */
static void
a_loop_sleeps_until_there_is_something_to_do(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_LOOP,
                                      .poll_interval_ms = 1000};
    wrap_store *wrap = wrap_store_create(db->url);
    cascade_engine *engine = NULL;
    finish f;
    size_t idle = 0;
    size_t most = 0;

    mix_reset();
    assert_non_null(wrap);
    f.store = db_wrapped(db, wrap);
    engine = db_engine(db, f.store, &options);
    mix_register(engine);
    assert_ok(cascade_engine_start(engine));
    mix_start(f.store, f.ids, LOOP_CASCADES);
    assert_int_equal(pipe(f.pipe), 0);
    assert_int_equal(pthread_create(&f.thread, NULL, tell_finish, &f), 0);
    idle = loop_until_finished(engine, &f);
    assert_int_equal(pthread_join(f.thread, NULL), 0);
    most = 200 + 10 * db_stats(engine).commits;
    assert_true(wrap_store_count(wrap, WRAP_CLAIM) < most);
    assert_true(idle < most);
    (void)close(f.pipe[0]);
    db_close_engine(db, engine);
    db_close_store(db, f.store);
    wrap_store_free(wrap);
}

/* ---- The same every time ------------------------------------------------ */

/* Everything that a run of the mix left in the store. */
static char *
run_virtually(test_db *db, uint64_t seed)
{
    cascade_engine_options options = {
        .size = sizeof(options), .mode = CASCADE_MODE_INLINE, .lane_count = 1};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_uuid ids[14];
    db_ends ends;
    csc_buf text = {0};

    atomic_store(&db->random, seed);
    fake_clock_init(&db->clock, INT64_C(1700000000000));
    mix_reset();
    store = db_store(db);
    engine = db_engine(db, store, &options);
    mix_register(engine);
    assert_ok(cascade_engine_start(engine));
    mix_start(store, ids, 14);
    ends = (db_ends){store, ids, 14, 0};
    assert_true(db_poll_until(db, &engine, 1, db_all_ended, &ends));
    for (size_t i = 0; i < 14; i++) {
        dump_rows rows = {0};

        assert_ok(dump_rows_load(&rows, store->driver, store->self, &ids[i]));
        dump_rows_text(&text, &rows);
        dump_rows_fini(&rows);
    }
    db_close_engine(db, engine);
    db_close_store(db, store);
    return csc_buf_take(&text);
}

/* With time and randomness injected and no threads, a run is a function of its
 * seed: every id, time, jitter and row. */
static void
an_inline_run_is_the_same_every_time(test_db *db)
{
    test_db *again = calloc(1, sizeof(*again));
    char *texts[2];

    assert_non_null(again);
    again->backend = db->backend;
    db->fake_time = true;
    again->fake_time = true;
    texts[0] = run_virtually(db, 4711);
    assert_int_equal(db->backend->create(again), 0);
    texts[1] = run_virtually(again, 4711);
    if (strcmp(texts[0], texts[1]) != 0)
        dump_differ("two runs of one seed", texts[0], texts[1]);
    assert_string_equal(texts[0], texts[1]);
    db->backend->destroy(again);
    csc_mem_free(texts[0]);
    csc_mem_free(texts[1]);
    free(again);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"hooks_are_called_once_in_each_worker",
         hooks_are_called_once_in_each_worker, STORES_ALL},
        {"a_failing_hook_fails_the_start", a_failing_hook_fails_the_start,
         STORES_ALL},
        {"calls_out_of_place_are_refused", calls_out_of_place_are_refused,
         STORES_ALL},
        {"a_node_that_does_not_return_loses_its_cascade",
         a_node_that_does_not_return_loses_its_cascade, STORES_ALL},
        {"a_signal_handler_may_ask_for_a_stop",
         a_signal_handler_may_ask_for_a_stop, STORES_ALL},
        {"waits_end_when_their_time_is_over", waits_end_when_their_time_is_over,
         STORES_ALL},
        {"engines_of_one_store_share_the_work",
         engines_of_one_store_share_the_work, STORES_ALL},
        {"a_store_has_room_for_so_many_engines",
         a_store_has_room_for_so_many_engines, STORES_ALL},
        {"a_node_that_kills_engines_is_poisoned",
         a_node_that_kills_engines_is_poisoned, STORES_ALL},
        {"a_loop_sleeps_until_there_is_something_to_do",
         a_loop_sleeps_until_there_is_something_to_do, STORES_ALL},
        {"an_inline_run_is_the_same_every_time",
         an_inline_run_is_the_same_every_time, STORES_VIRTUAL},
    };

    return stores_run("life", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
