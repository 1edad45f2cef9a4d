/* SPDX-License-Identifier: MIT
 *
 * S33 on PostgreSQL: an application's open transaction has started a cascade by
 * its key, and the same is asked of an engine. Who asks waits for how that
 * transaction ends; the engine's other cascades do not.
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "cascade/postgres.h"
#include "held/engine_state.h"
#include "held/lane/start_request.h"
#include "store/store.h"
#include "support/stores.h"

#define KEY "the one that is held"
#define OTHERS 40
#define CALLERS 40 /* more than there are connections */
#define IMPATIENT_MS 2000
#define CALLS_MAX 10

/* ---- The application ---------------------------------------------------- */

typedef struct app {
    test_db *db;
    PGconn *conn;
    cascade_store *store; /* on it */
    cascade_uuid id;      /* of what it has started */
} app;

static void
app_run(app *a, const char *sql)
{
    PGresult *result = PQexec(a->conn, sql);

    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
}

/* It has started a cascade with these options in a transaction that is open. */
static void
app_open(app *a, test_db *db, const cascade_start_options *options)
{
    const cascade_store_options store_options = db_store_options(db);
    cascade_started started;

    *a = (app){.db = db, .conn = PQconnectdb(db->url)};
    assert_int_equal(PQstatus(a->conn), CONNECTION_OK);
    assert_ok(cascade_postgres_open(a->conn, &store_options, &a->store));
    /* So that a test that fails ends; none waits longer meanwhile. */
    app_run(a, "SET idle_in_transaction_session_timeout = '300s'");
    app_run(a, "BEGIN");
    assert_ok(cascade_start(a->store, "work", NULL, options, &started));
    assert_false(started.existed);
    a->id = started.id;
}

static void
app_close(app *a)
{
    assert_ok(cascade_store_close(a->store));
    PQfinish(a->conn);
}

/* ---- The callers -------------------------------------------------------- */

typedef struct caller {
    cascade_store *store;
    const cascade_start_spec *specs;
    size_t count;
    cascade_started started[3];
    cascade_err err;
    atomic_bool answered;
    int64_t begun_ms;
    int64_t took_ms;
    pthread_t thread;
} caller;

static int64_t
now_ms(void)
{
    return csc_clock_monotonic_ms(&csc_clock_system);
}

static void *
call(void *context)
{
    caller *c = context;

    c->begun_ms = now_ms();
    c->err = cascade_start_many(c->store, c->specs, c->count, c->started);
    c->took_ms = now_ms() - c->begun_ms;
    atomic_store(&c->answered, true);
    return NULL;
}

static void
begin_calls(caller *callers, size_t callers_count, cascade_store *store,
            const cascade_start_spec *specs, size_t count)
{
    for (size_t i = 0; i < callers_count; i++) {
        callers[i].store = store;
        callers[i].specs = specs;
        callers[i].count = count;
        assert_int_equal(
            pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
}

static void
end_calls(caller *callers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pthread_join(callers[i].thread, NULL);
}

static size_t
count_answered(caller *callers, size_t count)
{
    size_t answered = 0;

    for (size_t i = 0; i < count; i++)
        answered += atomic_load(&callers[i].answered);
    return answered;
}

typedef struct waiting {
    cascade_store *store;
    size_t count;
} waiting;

/* So many know that another transaction has what they start. */
static bool
are_held(void *context)
{
    const waiting *w = context;
    csc_store_held *held = &w->store->held;
    size_t count = 0;

    pthread_mutex_lock(&held->mutex);
    for (const csc_start *at = held->first; at != NULL; at = at->held_next)
        count++;
    pthread_mutex_unlock(&held->mutex);
    return count == w->count;
}

static void
await_held(cascade_store *store, size_t count)
{
    waiting w = {store, count};

    assert_true(stores_until(are_held, &w));
}

/* ---- The engine --------------------------------------------------------- */

static cascade_err
walk(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_put(node, "at", cJSON_CreateNumber(1));

    (void)user;
    return err == CASCADE_OK ? cascade_node_spawn(node, "arrive", NULL, NULL)
                             : err;
}

static cascade_engine *
open_engine(test_db *db, cascade_store *store)
{
    cascade_engine *engine = db_engine(db, store, NULL);

    assert_ok(
        cascade_engine_register(engine, "work", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "walk", walk, NULL, NULL));
    assert_ok(
        cascade_engine_register(engine, "arrive", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

/* On all lanes, started and ended. */
static void
others_pass(cascade_store *store)
{
    cascade_uuid ids[OTHERS];
    db_ends ends = {.store = store, .ids = ids, .count = OTHERS};

    for (size_t i = 0; i < OTHERS; i++)
        ids[i] = db_start(store, "walk");
    assert_true(stores_until(db_all_ended, &ends));
    for (size_t i = 0; i < OTHERS; i++)
        db_await(store, &ids[i], CASCADE_COMPLETED);
}

/* ---- How often lanes are held up ----------------------------------------- */

static atomic_size_t given_up;  /* commits that were held up, or in doubt */
static _Atomic int64_t told_ms; /* when a lane was last told what came of one */

static void
count_given_up(void *context, const wrap_call *call, cascade_err answer)
{
    (void)context;
    if (call->move == WRAP_COMMIT || call->move == WRAP_SETTLE)
        atomic_store(&told_ms, now_ms());
    if (call->move == WRAP_COMMIT &&
        (answer == CASCADE_ERR_AGAIN || answer == CASCADE_ERR_UNAVAILABLE))
        atomic_fetch_add(&given_up, 1);
}

/* Through a wrap that counts. */
static cascade_store *
open_counting(test_db *db, wrap_store **wrap)
{
    *wrap = wrap_store_create(db->url);
    assert_non_null(*wrap);
    atomic_store(&given_up, 0);
    (*wrap)->answered = count_given_up;
    return db_wrapped(db, *wrap);
}

/* ---- One caller --------------------------------------------------------- */

static const cascade_first work = {.size = sizeof(work), .node = "work"};
static const cascade_start_options keyed = {.size = sizeof(keyed), .key = KEY};
static const cascade_start_options another = {.size = sizeof(another),
                                              .key = "another one"};

/* What the calls were told, once the application's transaction has ended. */
static void
check_told(app *a, caller *callers, size_t count, bool committed)
{
    size_t existed = 0;

    for (size_t i = 0; i < count; i++) {
        assert_ok(callers[i].err);
        existed += callers[i].started[0].existed;
        assert_true(csc_uuid_equal(&callers[i].started[0].id, &a->id));
    }
    assert_int_equal(existed, committed ? count : count - 1);
}

static void
check_answers(app *a, caller *callers, size_t count, bool committed)
{
    check_told(a, callers, count, committed);
    db_await(callers[0].store, &a->id, CASCADE_COMPLETED);
}

static void
hold(test_db *db, const cascade_start_options *options, size_t count,
     const char *how)
{
    const cascade_start_spec spec = {.size = sizeof(spec),
                                     .first = &work,
                                     .first_count = 1,
                                     .options = options};
    wrap_store *wrap = NULL;
    cascade_store *store = open_counting(db, &wrap);
    cascade_engine *engine = open_engine(db, store);
    caller *callers = calloc(count, sizeof(*callers));
    app a;

    assert_non_null(callers);
    app_open(&a, db, options);
    begin_calls(callers, count, store, &spec, 1);
    await_held(store, count);
    others_pass(store);
    assert_int_equal(count_answered(callers, count), 0);
    app_run(&a, how);
    end_calls(callers, count);
    check_answers(&a, callers, count, how[0] == 'C');
    assert_in_range(atomic_load(&given_up), 0, 1);
    assert_int_equal(db_stats(engine).fences, 0);
    app_close(&a);
    db_close_engine(db, engine);
    db_close_store(db, store);
    wrap_store_free(wrap);
    free(callers);
}

static void
others_pass_while_a_key_is_held_that_is_used(test_db *db)
{
    hold(db, &keyed, 1, "COMMIT");
}

static void
others_pass_while_a_key_is_held_that_is_freed(test_db *db)
{
    hold(db, &keyed, 1, "ROLLBACK");
}

static void
others_pass_while_an_id_is_held(test_db *db)
{
    const cascade_uuid id = {{7, 7, 7}};
    const cascade_start_options named = {.size = sizeof(named), .id = &id};

    hold(db, &named, 1, "COMMIT");
}

/* Those who wait for it leave connections to the engine. */
static void
others_pass_while_many_wait_for_a_key(test_db *db)
{
    hold(db, &keyed, CALLERS, "COMMIT");
}

static void
of_many_who_waited_one_starts_it(test_db *db)
{
    hold(db, &keyed, CALLERS, "ROLLBACK");
}

/* A start that no engine takes, as it is for later, goes by itself. */
static void
others_pass_while_many_wait_with_a_delay(test_db *db)
{
    const cascade_start_options later = {
        .size = sizeof(later), .key = KEY, .delay_ms = 1};

    hold(db, &later, CALLERS, "COMMIT");
}

/* So does one that comes with a signal: it is still there to receive them. */
static void *
call_with_signal(void *context)
{
    caller *c = context;

    c->err =
        cascade_start_with_signal(c->store, "work", NULL, c->specs[0].options,
                                  "go", NULL, NULL, c->started);
    atomic_store(&c->answered, true);
    return NULL;
}

static void
others_pass_while_many_wait_with_a_signal(test_db *db)
{
    const cascade_start_options much_later = {
        .size = sizeof(much_later), .key = KEY, .delay_ms = 600000};
    const cascade_start_spec spec = {.size = sizeof(spec),
                                     .first = &work,
                                     .first_count = 1,
                                     .options = &much_later};
    cascade_store *store = db_store(db);
    caller *callers = calloc(CALLERS, sizeof(*callers));
    app a;

    assert_non_null(callers);
    (void)open_engine(db, store);
    app_open(&a, db, &much_later);
    for (size_t i = 0; i < CALLERS; i++) {
        callers[i].store = store;
        callers[i].specs = &spec;
        assert_int_equal(pthread_create(&callers[i].thread, NULL,
                                        call_with_signal, &callers[i]),
                         0);
    }
    await_held(store, CALLERS);
    others_pass(store);
    assert_int_equal(count_answered(callers, CALLERS), 0);
    app_run(&a, "ROLLBACK");
    end_calls(callers, CALLERS);
    check_told(&a, callers, CALLERS, false);
    app_close(&a);
    free(callers);
}

/* ---- Several in one call ------------------------------------------------ */

static void
hold_one_of_several(test_db *db, const char *how)
{
    const bool committed = how[0] == 'C';
    const cascade_start_spec specs[3] = {
        {.size = sizeof(specs[0]), .first = &work, .first_count = 1},
        {.size = sizeof(specs[0]),
         .first = &work,
         .first_count = 1,
         .options = &keyed},
        {.size = sizeof(specs[0]),
         .first = &work,
         .first_count = 1,
         .options = &another}};
    cascade_store *store = db_store(db);
    caller *c = calloc(1, sizeof(*c));
    app a;

    assert_non_null(c);
    (void)open_engine(db, store);
    app_open(&a, db, &keyed);
    begin_calls(c, 1, store, specs, 3);
    await_held(store, 1);
    others_pass(store);
    assert_int_equal(count_answered(c, 1), 0);
    app_run(&a, how);
    end_calls(c, 1);
    assert_ok(c->err);
    assert_true(csc_uuid_equal(&c->started[1].id, &a.id));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(c->started[i].existed, committed && i == 1);
        db_await(store, &c->started[i].id, CASCADE_COMPLETED);
    }
    app_close(&a);
    free(c);
}

static void
several_wait_for_the_one_that_is_used(test_db *db)
{
    hold_one_of_several(db, "COMMIT");
}

static void
several_wait_for_the_one_that_is_freed(test_db *db)
{
    hold_one_of_several(db, "ROLLBACK");
}

/* ---- How often, how long ------------------------------------------------ */

static bool
one_is_given_up(void *context)
{
    (void)context;
    return atomic_load(&given_up) > 0;
}

/* The lanes are held up once, however many ask, and then again. */
static void
a_lane_is_held_up_once(test_db *db)
{
    const cascade_start_spec spec = {.size = sizeof(spec),
                                     .first = &work,
                                     .first_count = 1,
                                     .options = &keyed};
    wrap_store *wrap = NULL;
    caller *callers = calloc(CALLERS, sizeof(*callers));
    cascade_store *store = open_counting(db, &wrap);
    cascade_engine *engine = NULL;
    app a;

    assert_non_null(callers);
    engine = open_engine(db, store);
    app_open(&a, db, &keyed);
    begin_calls(callers, 1, store, &spec, 1);
    assert_true(stores_until(one_is_given_up, NULL));
    begin_calls(callers + 1, CALLERS - 1, store, &spec, 1);
    await_held(store, CALLERS);
    others_pass(store);
    app_run(&a, "COMMIT");
    end_calls(callers, CALLERS);
    check_answers(&a, callers, CALLERS, true);
    assert_int_equal(atomic_load(&given_up), 1);
    app_close(&a);
    db_close_engine(db, engine);
    db_close_store(db, store);
    wrap_store_free(wrap);
    free(callers);
}

static bool
lanes_are_free(void *context)
{
    cascade_engine *engine = context;
    bool busy = false;

    pthread_mutex_lock(&engine->mutex);
    for (size_t i = 0; i < engine->lane_count; i++)
        busy = busy || csc_lane_queue_is_busy_locked(&engine->lanes[i]);
    pthread_mutex_unlock(&engine->mutex);
    return !busy;
}

/* The program stood still: the call was not over at its deadline, or for most
 * of its time the lane was not told what came of its commit. */
static bool
stood_still(const caller *c)
{
    int64_t told_after_ms = atomic_load(&told_ms) - c->begun_ms;

    return c->took_ms >= 2 * IMPATIENT_MS || told_after_ms < 0 ||
           told_after_ms >= IMPATIENT_MS / 2;
}

/* Calls until that is the answer: where the program stood still it may be
 * another. Whether one does not know if it has made it. */
static bool
call_until(caller *c, cascade_engine *engine, cascade_store *store,
           const cascade_start_spec *spec, cascade_err wanted)
{
    bool doubtful = false;

    for (int i = 0; i < CALLS_MAX && (i == 0 || c->err != wanted); i++) {
        assert_true(stores_until(lanes_are_free, engine));
        begin_calls(c, 1, store, spec, 1);
        end_calls(c, 1);
        doubtful = doubtful || c->err == CASCADE_ERR_OUTCOME_UNKNOWN;
        if (c->err != wanted && !stood_still(c))
            fail_msg("the answer is %s", cascade_err_text(c->err));
        assert_true(c->err == wanted || c->err == CASCADE_ERR_UNAVAILABLE ||
                    c->err == CASCADE_ERR_OUTCOME_UNKNOWN);
    }
    assert_int_equal(c->err, wanted);
    return doubtful;
}

/* Whose calls are impatient; what they ask of the store is not. */
static cascade_store *
open_impatient(test_db *db, wrap_store **wrap)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;

    *wrap = wrap_store_create(db->url);
    assert_non_null(*wrap);
    (*wrap)->inner_deadline_ms = DB_DEADLINE_MS;
    (*wrap)->answered = count_given_up;
    options.deadline_ms = IMPATIENT_MS;
    assert_ok(cascade_store_open_driver(&(*wrap)->driver, (*wrap)->url,
                                        &options, &store));
    return store;
}

/* G12: it was not made, and that is what is said. */
static void
a_caller_waits_no_longer_than_its_deadline(test_db *db)
{
    const cascade_start_spec spec = {.size = sizeof(spec),
                                     .first = &work,
                                     .first_count = 1,
                                     .options = &keyed};
    wrap_store *wrap = NULL;
    cascade_store *store = open_impatient(db, &wrap);
    cascade_engine *engine = open_engine(db, store);
    caller *c = calloc(1, sizeof(*c));
    app a;

    assert_non_null(c);
    app_open(&a, db, &keyed);
    (void)call_until(c, engine, store, &spec, CASCADE_ERR_UNAVAILABLE);
    assert_in_range(c->took_ms, IMPATIENT_MS / 2, DB_DEADLINE_MS / 2);
    app_run(&a, "ROLLBACK");
    if (!call_until(c, engine, store, &spec, CASCADE_OK))
        check_told(&a, c, 1, false);
    db_await(store, &a.id, CASCADE_COMPLETED);
    app_close(&a);
    db_close_engine(db, engine);
    assert_ok(cascade_store_close(store));
    wrap_store_free(wrap);
    free(c);
}

/* An engine that stops does not wait for those who wait. */
static void
an_engine_stops_while_a_key_is_held(test_db *db)
{
    const cascade_start_spec spec = {.size = sizeof(spec),
                                     .first = &work,
                                     .first_count = 1,
                                     .options = &keyed};
    cascade_store *store = db_store(db);
    cascade_engine *engine = open_engine(db, store);
    caller *c = calloc(1, sizeof(*c));
    app a;

    assert_non_null(c);
    app_open(&a, db, &keyed);
    begin_calls(c, 1, store, &spec, 1);
    await_held(store, 1);
    db_close_engine(db, engine);
    assert_int_equal(count_answered(c, 1), 0);
    app_run(&a, "ROLLBACK");
    end_calls(c, 1);
    assert_ok(c->err);
    assert_false(c->started[0].existed);
    (void)open_engine(db, store);
    db_await(store, &a.id, CASCADE_COMPLETED);
    app_close(&a);
    free(c);
}

int
main(int argc, char **argv)
{
#define TEST(name)                   \
    {                                \
#name, name, STORES_POSTGRES \
    }
    static const stores_test tests[] = {
        TEST(others_pass_while_a_key_is_held_that_is_used),
        TEST(others_pass_while_a_key_is_held_that_is_freed),
        TEST(others_pass_while_an_id_is_held),
        TEST(others_pass_while_many_wait_for_a_key),
        TEST(of_many_who_waited_one_starts_it),
        TEST(others_pass_while_many_wait_with_a_delay),
        TEST(others_pass_while_many_wait_with_a_signal),
        TEST(several_wait_for_the_one_that_is_used),
        TEST(several_wait_for_the_one_that_is_freed),
        TEST(a_lane_is_held_up_once),
        TEST(a_caller_waits_no_longer_than_its_deadline),
        TEST(an_engine_stops_while_a_key_is_held),
    };
#undef TEST

    return stores_run("held", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
