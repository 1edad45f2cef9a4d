/* SPDX-License-Identifier: MIT
 *
 * Engines that stop, and engines that can do nothing for a while: they neither
 * hang nor spin, keep what they own, and lose no start.
 *
 * That nothing spins is measured by what every loop of the library does: it
 * reads the clock or asks the store. Both are counted for a moment.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "claim/claim.h"
#include "held/engine_state.h"
#include "store/store.h"
#include "support/stores.h"

#define ALWAYS ((size_t)1 << 40)
#define NEVER_MS (INT64_C(3600) * 1000)

/* ---- What the tests share ----------------------------------------------- */

/* An engine behind a wrapped store, whose nodes stay until they are let go. */
typedef struct place {
    wrap_store wrap;
    test_db *db;
    cascade_store *store;
    cascade_engine *engine;
    sem_t entered;
    sem_t leave;
    atomic_size_t reads; /* of the clock */
    atomic_bool holds;   /* the next commit waits, and is fenced */
    sem_t held;
    sem_t fence;
    atomic_bool away; /* commits do not reach the store */
} place;

static int64_t
read_wall(void *context)
{
    atomic_fetch_add((atomic_size_t *)context, 1);
    return csc_clock_wall_ms(&csc_clock_system);
}

static int64_t
read_monotonic(void *context)
{
    atomic_fetch_add((atomic_size_t *)context, 1);
    return csc_clock_system.monotonic_ns(csc_clock_system.context);
}

static cascade_err
stay(cascade_node *node, void *user)
{
    place *p = user;

    (void)node;
    sem_post(&p->entered);
    stores_await(&p->leave);
    return CASCADE_OK;
}

/* Has something to do in so many milliseconds as its input says. */
static cascade_err
put_off(cascade_node *node, void *user)
{
    const cascade_spawn_options later = {
        .size = sizeof(later),
        .delay_ms = atoll(cascade_node_input_text(node))};

    (void)user;
    return cascade_node_spawn(node, "nothing", NULL, &later);
}

static cascade_err
fail_first(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_attempt(node) == 1
               ? cascade_node_error(node, "the first time")
               : CASCADE_OK;
}

static cascade_err
hinder(void *context, const wrap_call *call)
{
    place *p = context;

    if (call->move != WRAP_COMMIT)
        return CASCADE_OK;
    if (atomic_exchange(&p->holds, false)) {
        sem_post(&p->held);
        stores_await(&p->fence);
        return CASCADE_ERR_FENCED;
    }
    return atomic_load(&p->away) ? CASCADE_ERR_UNAVAILABLE : CASCADE_OK;
}

static place *
place_create(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .worker_count = 4,
                                      .lane_count = 1,
                                      .lease_ms = NEVER_MS,
                                      .poll_interval_ms = 50,
                                      .park_after_ms = NEVER_MS};
    cascade_node_options node = {.size = sizeof(node), .backoff_ms = 100};
    place *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    assert_int_equal(wrap_store_init(&p->wrap, db->url), 0);
    sem_init(&p->entered, 0, 0);
    sem_init(&p->leave, 0, 0);
    sem_init(&p->held, 0, 0);
    sem_init(&p->fence, 0, 0);
    p->wrap.context = p;
    p->wrap.before = hinder;
    p->db = db;
    db->clock.clock = (cascade_clock){&p->reads, read_wall, read_monotonic};
    db->fake_time = true;
    p->store = db_wrapped(db, &p->wrap);
    p->engine = db_engine(db, p->store, &options);
    assert_ok(cascade_engine_register(p->engine, "stay", stay, p, NULL));
    assert_ok(
        cascade_engine_register(p->engine, "nothing", stores_nothing, p, NULL));
    assert_ok(cascade_engine_register(p->engine, "later", put_off, p, NULL));
    assert_ok(
        cascade_engine_register(p->engine, "fails", fail_first, p, &node));
    assert_ok(cascade_engine_start(p->engine));
    return p;
}

static void
place_free(place *p)
{
    db_close_engine(p->db, p->engine);
    db_close_store(p->db, p->store);
    wrap_store_fini(&p->wrap);
    free(p);
}

/* ---- Nothing spins ------------------------------------------------------ */

#define WATCH_MS 200
#define CALLS_MAX 750 /* in that time; a loop that spins makes many more */

static size_t
count_calls(place *p)
{
    size_t calls = atomic_load(&p->reads);

    for (int move = 0; move < WRAP_MOVES; move++)
        calls += wrap_store_count(&p->wrap, (wrap_move)move);
    return calls;
}

static int64_t
real_ms(void)
{
    return csc_clock_monotonic_ms(&csc_clock_system);
}

static void
check_rests(place *p)
{
    size_t from = count_calls(p);
    int64_t begun_ms = real_ms();
    int64_t took_ms = 0;
    size_t calls = 0;

    while (took_ms < WATCH_MS && calls <= CALLS_MAX) {
        struct timespec pause = {0, 5000000};

        (void)nanosleep(&pause, NULL);
        calls = count_calls(p) - from;
        took_ms = real_ms() - begun_ms; /* may be much longer */
    }
    expect(calls <= CALLS_MAX * (size_t)(1 + took_ms / WATCH_MS));
}

static void
set_fault(place *p, wrap_move move, cascade_err err)
{
    wrap_store_fail(&p->wrap, move, 0, err != CASCADE_OK ? ALWAYS : 0,
                    WRAP_BEFORE, err);
}

static void *
stop_for_good(void *context)
{
    expect(cascade_engine_stop(context, -1) == CASCADE_OK);
    return NULL;
}

static void
an_engine_that_drains_rests(test_db *db)
{
    place *p = place_create(db);
    cascade_uuid id = db_start(p->store, "stay");
    pthread_t thread;

    stores_await(&p->entered);
    assert_int_equal(pthread_create(&thread, NULL, stop_for_good, p->engine),
                     0);
    assert_ok(cascade_engine_wait(p->engine, DB_WAIT_MS));
    check_rests(p);
    sem_post(&p->leave);
    (void)pthread_join(thread, NULL);
    db_await(p->store, &id, CASCADE_COMPLETED);
    place_free(p);
}

/* An engine that cannot do what is due. */
typedef struct plight {
    place *p;
    cascade_uuid (*begin)(place *p, int64_t due_ms);
    bool (*awaits)(cascade_engine *engine); /* it knows what is to come */
    wrap_move move;                         /* what fails when that is due */
    cascade_err err;
    cascade_uuid id;
} plight;

static bool
awaits_or_has_ended(void *context)
{
    const plight *l = context;
    db_ends ends = {l->p->store, &l->id, 1, 0};

    return l->awaits(l->p->engine) || db_all_ended(&ends);
}

/* Until it is due, and longer. False when it was done before the move failed,
 * or it was not tried meanwhile. */
static bool
rests_when_due(plight *l, int64_t due_ms)
{
    size_t faults = atomic_load(&l->p->wrap.faults);
    db_ends ends = {l->p->store, &l->id, 1, 0};
    int64_t end_ms = 0;
    bool rested = false;

    l->id = l->begin(l->p, due_ms);
    assert_true(stores_until(awaits_or_has_ended, l));
    set_fault(l->p, l->move, l->err);
    end_ms = real_ms() + due_ms + WATCH_MS;
    while (real_ms() < end_ms && !db_all_ended(&ends))
        check_rests(l->p);
    rested = !db_all_ended(&ends) && atomic_load(&l->p->wrap.faults) > faults;
    set_fault(l->p, l->move, CASCADE_OK);
    db_await(l->p->store, &l->id, CASCADE_COMPLETED);
    return rested;
}

static void
rest_when_due(plight *l)
{
    int64_t due_ms = 200;

    while (!rests_when_due(l, due_ms)) {
        assert_true(due_ms < DB_WAIT_MS);
        due_ms *= 2;
    }
}

static cascade_uuid
begin_timer(place *p, int64_t due_ms)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%lld", (long long)due_ms);
    return db_start_text(p->store, "later", text);
}

static bool
has_timer(cascade_engine *engine)
{
    return db_stats(engine).waiting == 1;
}

static void
an_engine_that_cannot_read_the_time_rests(test_db *db)
{
    plight l = {.p = place_create(db),
                .begin = begin_timer,
                .awaits = has_timer,
                .move = WRAP_NOW,
                .err = CASCADE_ERR_UNAVAILABLE};

    rest_when_due(&l);
    place_free(l.p);
}

static cascade_uuid
begin_later(place *p, int64_t due_ms)
{
    cascade_start_options later = {.size = sizeof(later), .delay_ms = due_ms};
    cascade_started started;

    assert_ok(cascade_start(p->store, "nothing", NULL, &later, &started));
    return started.id;
}

static bool
knows_what_comes(cascade_engine *engine)
{
    bool knows = false;

    pthread_mutex_lock(&engine->mutex);
    knows = engine->mailbox.next_wake_ms != CASCADE_TIME_NONE;
    pthread_mutex_unlock(&engine->mutex);
    return knows;
}

static void
an_engine_that_cannot_claim_rests(test_db *db)
{
    plight l = {.p = place_create(db),
                .begin = begin_later,
                .awaits = knows_what_comes,
                .move = WRAP_CLAIM,
                .err = CASCADE_ERR_NO_MEMORY};

    rest_when_due(&l);
    place_free(l.p);
}

static bool
has_failed_to_wait(void *context)
{
    return atomic_load(&((place *)context)->wrap.faults) > 0;
}

static void
an_engine_whose_store_cannot_wait_rests(test_db *db)
{
    place *p = place_create(db);
    cascade_uuid id;

    set_fault(p, WRAP_WAIT, CASCADE_ERR_SYSTEM);
    assert_true(stores_until(has_failed_to_wait, p));
    check_rests(p);
    id = db_start(p->store, "fails");
    db_await(p->store, &id, CASCADE_COMPLETED);
    place_free(p);
}

/* ---- Stopping ----------------------------------------------------------- */

static bool
runs_nothing(void *context)
{
    return db_stats(context).running == 0;
}

static bool
is_fenced(void *context)
{
    return db_stats(context).fences == 1;
}

static cascade_err
note_engine(void *context, const cascade_incarnation *row)
{
    (void)row;
    ++*(size_t *)context;
    return CASCADE_OK;
}

/* The first commit is on its way, the others are to be committed, when the
 * incarnation is lost, and no new one can be had. */
static void
lose_ownership(place *p, cascade_uuid *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ids[i] = db_start(p->store, "stay");
        stores_await(&p->entered);
    }
    atomic_store(&p->holds, true);
    sem_post(&p->leave);
    stores_await(&p->held);
    for (size_t i = 1; i < count; i++)
        sem_post(&p->leave);
    assert_true(stores_until(runs_nothing, p->engine));
    set_fault(p, WRAP_NOW, CASCADE_ERR_UNAVAILABLE);
    sem_post(&p->fence);
    assert_true(stores_until(is_fenced, p->engine));
}

/* What a lost incarnation had left to be committed is no reason to wait; and it
 * is taken out of the store, so that nobody waits for its lease. */
static void
an_engine_that_lost_all_stops_at_once(test_db *db)
{
    place *p = place_create(db);
    size_t engines = 0;
    cascade_uuid ids[4];

    lose_ownership(p, ids, 4);
    assert_ok(cascade_engine_stop(p->engine, DB_WAIT_MS / 2));
    assert_ok(
        p->store->driver->engines(p->store->self, note_engine, &engines, NULL));
    assert_int_equal(engines, 0);
    set_fault(p, WRAP_NOW, CASCADE_OK);
    place_free(p);
}

typedef struct starter {
    cascade_store *store;
    cascade_started started;
} starter;

static void *
start_one(void *context)
{
    starter *s = context;

    expect(cascade_start(s->store, "nothing", NULL, NULL, &s->started) ==
           CASCADE_OK);
    return NULL;
}

static bool
has_birth(void *context)
{
    cascade_engine *engine = context;
    size_t births = 0;

    pthread_mutex_lock(&engine->mutex);
    births = engine->room.births;
    pthread_mutex_unlock(&engine->mutex);
    return births == 1;
}

static bool
has_tried(void *context)
{
    cascade_engine *engine = context;
    bool tried = false;

    pthread_mutex_lock(&engine->mutex);
    tried = engine->lanes[0].tried;
    pthread_mutex_unlock(&engine->mutex);
    return tried;
}

/* G2, G12: the engine had sent nothing of it, so the start goes on without. */
static void
a_start_outlives_the_engine_it_was_given_to(test_db *db)
{
    place *p = place_create(db);
    starter s = {.store = p->store};
    cascade_info *info = NULL;
    pthread_t thread;

    (void)db_start(p->store, "stay");
    stores_await(&p->entered);
    atomic_store(&p->away, true);
    sem_post(&p->leave);
    assert_true(stores_until(has_tried, p->engine));
    assert_int_equal(pthread_create(&thread, NULL, start_one, &s), 0);
    assert_true(stores_until(has_birth, p->engine));
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_engine_stop(p->engine, 20));
    (void)pthread_join(thread, NULL);
    assert_ok(cascade_get(p->store, &s.started.id, &info));
    assert_int_equal(info->status, CASCADE_RUNNING);
    assert_false(info->owned);
    cascade_info_free(info);
    place_free(p);
}

static cascade_err
stop_here(cascade_node *node, void *user)
{
    cascade_engine *engine = *(cascade_engine **)user;

    (void)node;
    expect(cascade_engine_stop(engine, 0) == CASCADE_ERR_MISUSE);
    expect(cascade_engine_close(engine) == CASCADE_ERR_MISUSE);
    return CASCADE_OK;
}

static void
a_node_cannot_stop_its_engine(test_db *db)
{
    static const cascade_mode modes[] = {
        CASCADE_MODE_THREADS, CASCADE_MODE_LOOP, CASCADE_MODE_INLINE};

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        cascade_engine_options options = {
            .size = sizeof(options), .mode = modes[i], .worker_count = 2};
        cascade_store *store = db_store(db);
        cascade_engine *engine = db_engine(db, store, &options);
        cascade_uuid id;
        db_ends ends = {store, &id, 1, 0};

        assert_ok(
            cascade_engine_register(engine, "stops", stop_here, &engine, NULL));
        assert_ok(cascade_engine_start(engine));
        id = db_start(store, "stops");
        if (modes[i] != CASCADE_MODE_THREADS)
            assert_true(db_poll_until(db, &engine, 1, db_all_ended, &ends));
        db_await(store, &id, CASCADE_COMPLETED);
        db_close_engine(db, engine);
        db_close_store(db, store);
    }
}

/* ---- Engines that are moved by hand ------------------------------------- */

static cascade_engine *
inline_engine(test_db *db, cascade_store *store)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .lease_ms = 1000,
                                      .poll_interval_ms = 100};
    cascade_engine *engine = db_engine(db, store, &options);

    assert_ok(
        cascade_engine_register(engine, "nothing", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

static void
start_many(cascade_store *store, cascade_uuid *ids, size_t count)
{
    cascade_first first = {.size = sizeof(first), .node = "nothing"};
    cascade_start_spec *specs = calloc(count, sizeof(*specs));
    cascade_started *started = calloc(count, sizeof(*started));

    assert_non_null(specs);
    assert_non_null(started);
    for (size_t i = 0; i < count; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1};
    assert_ok(cascade_start_many(store, specs, count, started));
    for (size_t i = 0; i < count; i++)
        ids[i] = started[i].id;
    free(specs);
    free(started);
}

/* What it will not begin any more is left to others. */
static void
an_engine_asked_to_stop_claims_nothing(test_db *db)
{
    wrap_store *wrap = wrap_store_create(db->url);
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_uuid ids[10];
    size_t claims = 0;

    assert_non_null(wrap);
    db->fake_time = true;
    store = db_wrapped(db, wrap);
    engine = inline_engine(db, store);
    assert_ok(cascade_engine_poll(engine, 0, NULL));
    claims = wrap_store_count(wrap, WRAP_CLAIM);
    assert_true(claims > 0);
    cascade_engine_request_stop(engine);
    start_many(store, ids, 10);
    for (int i = 0; i < 5; i++) {
        fake_clock_advance(&db->clock, 200);
        assert_ok(cascade_engine_poll(engine, 0, NULL));
    }
    assert_int_equal(wrap_store_count(wrap, WRAP_CLAIM), claims);
    assert_int_equal(db_stats(engine).held, 0);
    db_close_engine(db, engine);
    db_close_store(db, store);
    wrap_store_free(wrap);
}

#define MANY (2 * CSC_CLAIM_MAX + 50)

typedef struct slow_loads {
    wrap_store wrap;
    test_db *db;
    size_t unrenewed; /* loads since the lease was renewed */
    size_t loads;
} slow_loads;

/* Each load that gets through takes more than half of the lease. */
static cascade_err
load_slowly(void *context, const wrap_call *call)
{
    slow_loads *s = context;

    if (call->move == WRAP_RENEW)
        s->unrenewed = 0;
    if (call->move != WRAP_LOAD || call->number <= 3)
        return CASCADE_OK;
    s->loads++;
    s->unrenewed++;
    expect(s->unrenewed == 1);
    fake_clock_advance(&s->db->clock, 600);
    return CASCADE_OK;
}

/* However much is to be loaded again, and however slowly that goes, the lease
 * is renewed meanwhile. */
static void
a_large_reload_does_not_cost_the_lease(test_db *db)
{
    slow_loads *s = calloc(1, sizeof(*s));
    static cascade_uuid ids[MANY];
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    db_ends ends = {NULL, ids, MANY, 0};

    assert_non_null(s);
    assert_int_equal(wrap_store_init(&s->wrap, db->url), 0);
    s->wrap.context = s;
    s->wrap.before = load_slowly;
    s->db = db;
    db->fake_time = true;
    ends.store = db_store(db);
    start_many(ends.store, ids, MANY);
    store = db_wrapped(db, &s->wrap);
    wrap_store_fail(&s->wrap, WRAP_LOAD, 0, 3, WRAP_BEFORE,
                    CASCADE_ERR_UNAVAILABLE);
    engine = inline_engine(db, store);
    assert_true(db_poll_until(db, &engine, 1, db_all_ended, &ends));
    assert_true(s->loads >= 3);
    db_close_engine(db, engine);
    db_close_store(db, store);
    wrap_store_fini(&s->wrap);
    free(s);
}

/* ---- The log ------------------------------------------------------------ */

typedef struct logging {
    pthread_mutex_t mutex; /* of the application */
    sem_t locked;
    sem_t in_log;
    cascade_engine *engine;
} logging;

static bool
could_lock(void *context)
{
    return pthread_mutex_trylock(context) == 0;
}

/* An application that locks when it logs. */
static void
log_locked(void *context, cascade_log_level level, const char *line)
{
    logging *l = context;

    (void)level;
    (void)line;
    sem_post(&l->in_log);
    if (expect(stores_until(could_lock, &l->mutex)))
        pthread_mutex_unlock(&l->mutex);
}

/* And that asks the library while it has the lock. */
static void *
ask_locked(void *context)
{
    logging *l = context;

    pthread_mutex_lock(&l->mutex);
    sem_post(&l->locked);
    stores_await(&l->in_log);
    (void)db_stats(l->engine);
    pthread_mutex_unlock(&l->mutex);
    return NULL;
}

static void
a_log_callback_may_take_a_lock(test_db *db)
{
    static logging l;
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;
    pthread_t thread;

    memset(&l, 0, sizeof(l));
    pthread_mutex_init(&l.mutex, NULL);
    sem_init(&l.locked, 0, 0);
    sem_init(&l.in_log, 0, 0);
    options.log = log_locked;
    options.log_context = &l;
    assert_ok(cascade_store_open(db->url, &options, &store));
    l.engine = db_engine(db, store, NULL);
    assert_ok(cascade_engine_register(l.engine, "nothing", stores_nothing, NULL,
                                      NULL));
    assert_ok(cascade_engine_start(l.engine));
    assert_int_equal(pthread_create(&thread, NULL, ask_locked, &l), 0);
    stores_await(&l.locked);
    (void)db_start(store, "nobody-knows-it");
    (void)pthread_join(thread, NULL);
    db_close_engine(db, l.engine);
    assert_ok(cascade_store_close(store));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"an_engine_that_drains_rests", an_engine_that_drains_rests,
         STORES_ALL},
        {"an_engine_that_cannot_read_the_time_rests",
         an_engine_that_cannot_read_the_time_rests, STORES_ALL},
        {"an_engine_that_cannot_claim_rests", an_engine_that_cannot_claim_rests,
         STORES_ALL},
        {"an_engine_whose_store_cannot_wait_rests",
         an_engine_whose_store_cannot_wait_rests, STORES_ALL},
        {"an_engine_that_lost_all_stops_at_once",
         an_engine_that_lost_all_stops_at_once, STORES_ALL},
        {"a_start_outlives_the_engine_it_was_given_to",
         a_start_outlives_the_engine_it_was_given_to, STORES_ALL},
        {"a_node_cannot_stop_its_engine", a_node_cannot_stop_its_engine,
         STORES_ALL},
        {"an_engine_asked_to_stop_claims_nothing",
         an_engine_asked_to_stop_claims_nothing, STORES_VIRTUAL},
        {"a_large_reload_does_not_cost_the_lease",
         a_large_reload_does_not_cost_the_lease, STORES_VIRTUAL},
        {"a_log_callback_may_take_a_lock", a_log_callback_may_take_a_lock,
         STORES_ALL},
    };

    return stores_run("pauses", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
