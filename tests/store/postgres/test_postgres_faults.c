/* SPDX-License-Identifier: MIT
 *
 * Connections that break at the worst moments, processes that stop, and many
 * who write at once. A proxy between the store and the server, or a hand on the
 * server itself, makes each moment happen.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/postgres/postgres_fixture.h"
#include "store/postgres/postgres_proxy.h"
#include "support/in_time.h"

/* ---- Lost replies -------------------------------------------------------- */

/* A store behind a proxy, and an engine with one cascade it owns. */
typedef struct proxied {
    pg_test *test;
    pg_proxy *proxy;
    cascade_store *store;
    cascade_uuid engine;
    cascade_uuid id;
} proxied;

static proxied
open_proxied(pg_test *test, int64_t deadline_ms)
{
    proxied it = {.test = test};
    cascade_store_options options = pg_options(test);

    options.deadline_ms = deadline_ms;
    it.proxy = pg_proxy_start(pg_conninfo());
    assert_non_null(it.proxy);
    it.store = pg_open(test, pg_proxy_conninfo(it.proxy), &options);
    it.engine = pg_attach(test, test->handles[0], PG_LEASE_MS);
    it.id = rows_id(&test->rows);
    assert_ok(pg_commit_one(test, test->handles[0], it.engine, 1,
                            rows_start_owned(&test->rows, it.id, it.engine)));
    return it;
}

/* The teardown closes the store, which needs no server for that. */
static void
close_proxied(proxied *it)
{
    pg_proxy_stop(it->proxy);
}

/* Ends execution 0, inserts execution 1, puts an event; and a new cascade. */
static void
fill_batch(proxied *it, cascade_change *changes[2], cascade_uuid fresh)
{
    test_rows *rows = &it->test->rows;

    changes[0] = rows_write(rows, it->id, 1);
    rows_update(rows, changes[0], 0, "{\"output\":1}");
    rows_insert(rows, changes[0], 1, "second");
    rows_event(rows, changes[0], 0, "key", "1");
    changes[1] = rows_start_owned(rows, fresh, it->engine);
}

static int64_t
count_events(pg_test *test)
{
    return pg_number(test, "SELECT count(*) FROM context_events");
}

static int64_t
lane_shows(pg_test *test)
{
    return pg_number(test, "SELECT max(batch) FROM cascade_lanes");
}

/* S3, G12: the server never saw the COMMIT. */
static void
a_batch_cut_before_its_commit_has_no_effect(void **state)
{
    pg_test *test = *state;
    proxied it = open_proxied(test, PG_DEADLINE_MS);
    cascade_change *changes[2];
    bool existed[2] = {true, true};

    fill_batch(&it, changes, rows_id(&test->rows));
    pg_proxy_arm(it.proxy, PG_FAULT_CUT_BEFORE_COMMIT);
    assert_fails(CASCADE_ERR_UNAVAILABLE,
                 pg_commit(test, it.store, it.engine, 2, changes, 2, NULL));
    assert_int_equal(1, pg_proxy_struck(it.proxy));
    assert_int_equal(0, count_events(test));
    assert_ok(pg_commit(test, it.store, it.engine, 2, changes, 2, existed));
    assert_int_equal(1, count_events(test));
    assert_int_equal(2, lane_shows(test));
    assert_false(existed[0] || existed[1]);
    close_proxied(&it);
}

/* S3, G12: it took effect, and nobody heard of it. */
static void
a_batch_whose_reply_is_lost_takes_effect_once(void **state)
{
    pg_test *test = *state;
    proxied it = open_proxied(test, PG_DEADLINE_MS);
    cascade_change *changes[2];
    bool existed[2] = {true, true};

    fill_batch(&it, changes, rows_id(&test->rows));
    pg_proxy_arm(it.proxy, PG_FAULT_CUT_BEFORE_REPLY);
    assert_fails(CASCADE_ERR_UNAVAILABLE,
                 pg_commit(test, it.store, it.engine, 2, changes, 2, NULL));
    assert_int_equal(1, pg_proxy_struck(it.proxy));
    assert_int_equal(1, count_events(test));
    assert_ok(pg_commit(test, it.store, it.engine, 2, changes, 2, existed));
    assert_int_equal(1, count_events(test));
    assert_int_equal(2, lane_shows(test));
    assert_false(existed[0] || existed[1]);
    close_proxied(&it);
}

/* S3, G12: of the repetition all that is heard is that the fence has raised,
 * and the lane cannot be asked any more. */
static void
a_batch_that_cannot_be_decided_is_not_refused(void **state)
{
    pg_test *test = *state;
    proxied it = open_proxied(test, PG_DEADLINE_MS);
    cascade_change *changes[2];
    bool existed[2] = {true, true};

    fill_batch(&it, changes, rows_id(&test->rows));
    assert_ok(pg_commit(test, it.store, it.engine, 2, changes, 2, NULL));
    pg_proxy_arm(it.proxy, PG_FAULT_END_AFTER_REPLY);
    assert_fails(CASCADE_ERR_UNAVAILABLE,
                 pg_commit(test, it.store, it.engine, 2, changes, 2, NULL));
    assert_int_equal(1, pg_proxy_struck(it.proxy));
    assert_ok(pg_commit(test, it.store, it.engine, 2, changes, 2, existed));
    assert_int_equal(1, count_events(test));
    assert_int_equal(2, lane_shows(test));
    assert_false(existed[0] || existed[1]);
    close_proxied(&it);
}

/* S4, G5: removed between the lost reply and the repetition. */
static void
a_batch_repeated_after_its_removal_is_fenced(void **state)
{
    pg_test *test = *state;
    proxied it = open_proxied(test, PG_DEADLINE_MS);
    cascade_store *other = pg_open(test, NULL, NULL);
    cascade_change *changes[2];
    size_t freed = 0;

    fill_batch(&it, changes, rows_id(&test->rows));
    pg_proxy_arm(it.proxy, PG_FAULT_CUT_BEFORE_REPLY);
    assert_fails(CASCADE_ERR_UNAVAILABLE,
                 pg_commit(test, it.store, it.engine, 2, changes, 2, NULL));
    assert_ok(pg_remove(other, &it.engine, &freed));
    assert_int_equal(2, freed);
    assert_fails(CASCADE_ERR_FENCED,
                 pg_commit(test, it.store, it.engine, 2, changes, 2, NULL));
    assert_int_equal(1, count_events(test));
    close_proxied(&it);
}

/* S6: a submit decides by itself. */
static void
a_submit_whose_reply_is_lost_is_not_taken_for_an_existing_one(void **state)
{
    static const pg_fault faults[] = {PG_FAULT_CUT_BEFORE_COMMIT,
                                      PG_FAULT_CUT_BEFORE_REPLY};
    pg_test *test = *state;
    proxied it = open_proxied(test, PG_DEADLINE_MS);

    for (int i = 0; i < 2; i++) {
        cascade_change *start = rows_start(&test->rows, rows_id(&test->rows));
        bool existed = true;

        pg_proxy_arm(it.proxy, faults[i]);
        assert_ok(pg_submit_one(test, it.store, start, &existed));
        assert_int_equal(i + 1, pg_proxy_struck(it.proxy));
        assert_false(existed);
        assert_int_equal(i + 2,
                         pg_number(test, "SELECT count(*) FROM cascades"));
    }
    close_proxied(&it);
}

/* ---- Silence ------------------------------------------------------------- */

static cascade_err
pass_over(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)context;
    (void)row;
    (void)run;
    return CASCADE_OK;
}

#define HALF_OPEN_MS 1500
#define EARLY_MS 300 /* an eighth is left to whoever repeats it, and some */
#define LATE_MS 1200 /* but before a second deadline is over */

static cascade_err
try_commit(proxied *it)
{
    return pg_commit_one(it->test, it->store, it->engine, 2,
                         rows_write(&it->test->rows, it->id, 0));
}

static cascade_err
try_now(proxied *it)
{
    int64_t now_ms;

    return it->store->driver->now(it->store->self, &now_ms);
}

static cascade_err
try_renew(proxied *it)
{
    return it->store->driver->renew(it->store->self, &it->engine, 1000, NULL);
}

static cascade_err
try_claim(proxied *it)
{
    cascade_claim claim = {.engine_id = it->engine, .limit = 1};
    cascade_claimed claimed;
    cascade_claim_result result = {0};

    return it->store->driver->claim(it->store->self, &claim, &claimed, &result);
}

static cascade_err
try_remove(proxied *it)
{
    size_t freed;

    return it->store->driver->remove(it->store->self, NULL, 0, 10, &freed);
}

static cascade_err
try_list(proxied *it)
{
    cascade_query query = {.limit = 10};

    return it->store->driver->list(it->store->self, &query, pass_over, NULL);
}

static cascade_err
try_wake(proxied *it)
{
    return it->store->driver->wake(it->store->self);
}

typedef struct timed_move {
    proxied *it;
    cascade_err (*make)(proxied *it);
    cascade_err wanted;
} timed_move;

static void
give_up(void *context)
{
    const timed_move *move = context;
    int64_t begun_ms = pg_now_ms();

    assert_fails(move->wanted, move->make(move->it));
    assert_true(pg_now_ms() - begun_ms >= HALF_OPEN_MS - EARLY_MS);
}

/* A wait is a sleep then. */
static void
sleep_on(void *context)
{
    const proxied *it = context;
    int64_t begun_ms = pg_now_ms();

    assert_ok(it->store->driver->wait(it->store->self, -1, HALF_OPEN_MS, NULL));
    assert_true(pg_now_ms() - begun_ms >= HALF_OPEN_MS - EARLY_MS);
}

/* S34: they had come no further than their preparations. */
static bool
tells_of_no_effect(cascade_err (*move)(proxied *it))
{
    return move == try_commit || move == try_claim;
}

/* S15: nobody answers, and nobody says so. Each move has the deadline. */
static void
a_half_open_connection_ends_by_the_deadline(void **state)
{
    static cascade_err (*const moves[])(proxied * it) = {
        try_commit, try_now,  try_renew, try_claim,
        try_remove, try_list, try_wake};
    proxied it = open_proxied(*state, HALF_OPEN_MS);
    int64_t end_ms = 0;
    cascade_err err;

    pg_proxy_arm(it.proxy, PG_FAULT_SWALLOW);
    for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
        timed_move move = {.it = &it,
                           .make = moves[i],
                           .wanted = tells_of_no_effect(moves[i])
                                         ? CASCADE_ERR_NOT_DONE
                                         : CASCADE_ERR_UNAVAILABLE};

        assert_true(pg_is_quick(give_up, &move, HALF_OPEN_MS + LATE_MS));
    }
    assert_true(pg_is_quick(sleep_on, &it, HALF_OPEN_MS + LATE_MS));
    pg_proxy_arm(it.proxy, PG_FAULT_NONE);
    do
        err = try_now(&it);
    while (err == CASCADE_ERR_UNAVAILABLE && in_time(&end_ms, PG_UNTIL_MS));
    assert_ok(err);
    close_proxied(&it);
}

/* S16: a backend ended in the middle of a batch. */
static void
a_batch_survives_the_end_of_its_backend(void **state)
{
    pg_test *test = *state;
    proxied it = open_proxied(test, PG_DEADLINE_MS);
    cascade_change *changes[2];

    fill_batch(&it, changes, rows_id(&test->rows));
    pg_sql(test, "CREATE FUNCTION suicide() RETURNS trigger LANGUAGE plpgsql"
                 " AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid());"
                 " RETURN NEW; END $$");
    pg_sql(test, "CREATE TRIGGER suicide AFTER INSERT ON context_events"
                 " FOR EACH ROW EXECUTE FUNCTION suicide()");
    assert_fails(CASCADE_ERR_UNAVAILABLE,
                 pg_commit(test, it.store, it.engine, 2, changes, 2, NULL));
    assert_int_equal(1, lane_shows(test));
    pg_sql(test, "DROP TRIGGER suicide ON context_events");
    assert_ok(pg_commit(test, it.store, it.engine, 2, changes, 2, NULL));
    assert_int_equal(1, count_events(test));
    close_proxied(&it);
}

/* S16: all idle connections die at once; the next moves do not notice. */
static void
idle_connections_that_died_are_replaced(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    cascade_store *store;
    cascade_uuid engine;

    options.application_name = test->schema;
    store = pg_open(test, NULL, &options);
    engine = pg_attach(test, store, PG_LEASE_MS);
    for (int64_t number = 1; number < 20; number++) {
        pg_sql(test,
               "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
               " WHERE application_name = '%s'",
               test->schema);
        pg_until(test,
                 "SELECT (count(*) = 0)::int FROM pg_stat_activity"
                 " WHERE application_name = '%s'",
                 test->schema);
        assert_ok(pg_commit_one(test, store, engine, number,
                                rows_start(&test->rows, rows_id(&test->rows))));
    }
}

#define STOPPED_MS (10 * PG_UNTIL_MS) /* it does not give up by itself */

/* ---- Stopped processes --------------------------------------------------- */

typedef struct committer {
    pthread_t thread;
    proxied *it;
    cascade_change *changes[2];
    cascade_err err;
} committer;

static void *
commit_second(void *context)
{
    committer *it = context;

    it->err = pg_commit(it->it->test, it->it->store, it->it->engine, 2,
                        it->changes, 2, NULL);
    return NULL;
}

/* S10, G5: a process was stopped in the middle of sending a batch; its backend
 * is inside the transaction and holds the lane. Continued, it can commit
 * nothing. */
static void
a_stopped_batch_does_not_stop_the_removal(void **state)
{
    pg_test *test = *state;
    proxied it = open_proxied(test, STOPPED_MS);
    cascade_store *other = pg_open(test, NULL, NULL);
    committer stopped = {.it = &it};
    size_t freed = 0;

    fill_batch(&it, stopped.changes, rows_id(&test->rows));
    pg_proxy_arm(it.proxy, PG_FAULT_STALL_AT_COMMIT);
    assert_int_equal(
        0, pthread_create(&stopped.thread, NULL, commit_second, &stopped));
    pg_await_held_lane(test);
    assert_ok(pg_remove(other, &it.engine, &freed));
    assert_int_equal(1, freed);
    assert_int_equal(0, pg_number(test, "SELECT count(*) FROM cascade_lanes"));
    pg_proxy_arm(it.proxy, PG_FAULT_NONE);
    pthread_join(stopped.thread, NULL);
    assert_int_equal(CASCADE_ERR_UNAVAILABLE, stopped.err);
    assert_fails(CASCADE_ERR_FENCED, pg_commit(test, it.store, it.engine, 2,
                                               stopped.changes, 2, NULL));
    assert_int_equal(0, count_events(test));
    close_proxied(&it);
}

typedef struct remover {
    pthread_t thread;
    cascade_store *store;
    cascade_uuid dead;
    cascade_err err;
    char text[256];
} remover;

static void *
remove_one(void *context)
{
    remover *it = context;
    size_t freed;

    it->err = pg_remove(it->store, &it->dead, &freed);
    snprintf(it->text, sizeof(it->text), "%s", cascade_errmsg());
    return NULL;
}

/* S10: several remove the same engine, whose transaction is left open; they do
 * not take one another for the one that is in the way. */
static void
many_removers_end_one_open_transaction(void **state)
{
    pg_test *test = *state;
    PGconn *holder = pg_connect(NULL);
    remover removers[4];
    cascade_uuid dead = pg_attach(test, test->handles[0], PG_LEASE_MS);
    char sql[200];

    snprintf(sql, sizeof(sql), "BEGIN; UPDATE %s.cascade_lanes SET batch = 1",
             test->schema);
    pg_run(holder, sql);
    pg_await_held_lane(test);
    for (int i = 0; i < 4; i++) {
        removers[i] =
            (remover){.store = pg_open(test, NULL, NULL), .dead = dead};
        assert_int_equal(0, pthread_create(&removers[i].thread, NULL,
                                           remove_one, &removers[i]));
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(removers[i].thread, NULL);
        if (removers[i].err != CASCADE_OK)
            fail_msg("%s", removers[i].text);
    }
    assert_int_equal(0,
                     pg_number(test, "SELECT count(*) FROM cascade_engines"));
    PQclear(PQexec(holder, "COMMIT"));
    assert_int_equal(CONNECTION_BAD, PQstatus(holder));
    PQfinish(holder);
    assert_int_equal(0, pg_number(test, "SELECT count(*) FROM cascade_lanes"));
}

/* Holds the lane and works until the admin lets go of a lock. */
static void
send_work(pg_test *test, PGconn *holder)
{
    char sql[400];

    pg_sql(test, "SELECT pg_advisory_lock(hashtext('%s'))", test->schema);
    snprintf(sql, sizeof(sql),
             "BEGIN; UPDATE %s.cascade_lanes SET batch = 1;"
             "DO 'BEGIN WHILE NOT pg_try_advisory_xact_lock(hashtext(''%s''))"
             " LOOP PERFORM pg_sleep(0.01); END LOOP; END';"
             "COMMIT; SELECT 7",
             test->schema, test->schema);
    assert_int_equal(1, PQsendQuery(holder, sql));
    pg_until(test,
             "SELECT count(*) FROM pg_locks WHERE pid = %d"
             " AND relation = '%s.cascade_lanes'::regclass"
             " AND mode = 'RowExclusiveLock'",
             PQbackendPID(holder), test->schema);
}

/* S10: who holds the lane and works is waited for, for longer than it takes to
 * look several times who that is. */
static void
a_backend_that_works_is_not_ended(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    PGconn *holder = pg_connect(NULL);
    remover one = {.dead = pg_attach(test, test->handles[0], PG_LEASE_MS)};
    PGresult *result;

    options.application_name = test->schema;
    one.store = pg_open(test, NULL, &options);
    send_work(test, holder);
    assert_int_equal(0, pthread_create(&one.thread, NULL, remove_one, &one));
    pg_until(test,
             "SELECT count(*) FROM pg_stat_activity"
             " WHERE application_name = '%s' AND wait_event_type = 'Lock'"
             "  AND clock_timestamp() - query_start > '300 ms'",
             test->schema);
    pg_sql(test, "SELECT pg_advisory_unlock(hashtext('%s'))", test->schema);
    pthread_join(one.thread, NULL);
    if (one.err != CASCADE_OK)
        fail_msg("%s", one.text);
    do {
        result = PQgetResult(holder);
        if (result != NULL && PQresultStatus(result) == PGRES_FATAL_ERROR)
            fail_msg("%s", PQresultErrorMessage(result));
        PQclear(result);
    } while (result != NULL);
    PQfinish(holder);
    assert_int_equal(0, pg_number(test, "SELECT count(*) FROM cascade_lanes"));
}

/* ---- Many at once -------------------------------------------------------- */

#define WRITERS 6
#define WRITER_BATCHES 40
#define SHARED_IDS 60
#define AGAIN_MS (2 * PG_UNTIL_MS)    /* of one batch */
#define WRITERS_MS (10 * PG_UNTIL_MS) /* of all */

typedef struct writer {
    pthread_t thread;
    pg_test *test;
    cascade_store *store;
    const cascade_uuid *shared;
    uint64_t seed;
    bool removes;
    cascade_err err;
    char text[256];
    atomic_bool done;
} writer;

/* A batch of starts: some that all writers want, in any order, some its own;
 * and writes to what it started before. Where a start of somebody else takes
 * long, it is to be tried again. */
static cascade_err
write_batch(writer *it, test_rows *rows, cascade_uuid engine, int64_t number)
{
    cascade_change *changes[12];
    bool told[12];
    size_t first = rows_below(rows, SHARED_IDS - 8);
    size_t count = 0;
    cascade_batch batch = {.engine_id = engine, .number = number};
    cascade_err err = CASCADE_OK;
    int64_t end_ms = 0;

    while (count < 8) {
        changes[count] =
            rows_start_owned(rows, it->shared[first + count], engine);
        count++;
    }
    while (count < 12)
        changes[count++] = rows_start_owned(rows, rows_id(rows), engine);
    batch.changes = rows_changes(rows, changes, count);
    batch.change_count = count;
    do
        err = it->store->driver->commit(it->store->self, &batch, told);
    while (err == CASCADE_ERR_AGAIN && in_time(&end_ms, AGAIN_MS));
    return err;
}

static cascade_err
claim_and_remove(writer *it, cascade_uuid engine)
{
    static const char *const queues[] = {"default"};
    cascade_claim claim = {.engine_id = engine,
                           .queues = queues,
                           .queue_count = 1,
                           .limit = 20,
                           .suspect_from = 100};
    cascade_claimed claimed[20];
    cascade_claim_result result = {0};
    size_t freed;
    cascade_err err =
        it->store->driver->claim(it->store->self, &claim, claimed, &result);

    if (err != CASCADE_OK || !it->removes)
        return err;
    return it->store->driver->remove(it->store->self, NULL, 0, 50, &freed);
}

static cascade_err
write_life(writer *it, test_rows *rows)
{
    cascade_incarnation row = rows_incarnation(rows, 1, PG_LEASE_MS);
    cascade_err err = it->store->driver->attach(it->store->self, &row);

    for (int64_t n = 1; n <= WRITER_BATCHES / 4 && err == CASCADE_OK; n++) {
        err = write_batch(it, rows, row.engine_id, n);
        if (err == CASCADE_OK)
            err = claim_and_remove(it, row.engine_id);
        rows_clear(rows);
    }
    if (err == CASCADE_OK)
        err = it->store->driver->detach(it->store->self, &row.engine_id);
    return err;
}

static void *
write_many(void *context)
{
    writer *it = context;
    test_rows rows;

    rows_init(&rows, it->seed, it->test->rows.now_ms);
    for (int life = 0; life < 4 && it->err == CASCADE_OK; life++)
        it->err = write_life(it, &rows);
    snprintf(it->text, sizeof(it->text), "%s", cascade_errmsg());
    rows_fini(&rows);
    atomic_store(&it->done, true);
    return NULL;
}

static void
start_writer(writer *it)
{
    assert_int_equal(0, pthread_create(&it->thread, NULL, write_many, it));
}

/* Design 7: batches cannot deadlock, with each other and with claims, removals
 * and detaches. A deadlock would be CASCADE_ERR_UNAVAILABLE, or counted by the
 * server, which looks for it so late that who gives in has done so, also where
 * it stood still for a while. */
static void
writers_do_not_deadlock(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    cascade_uuid shared[SHARED_IDS];
    writer writers[WRITERS];
    int64_t before = pg_number(test, "SELECT deadlocks FROM pg_stat_database"
                                     " WHERE datname = current_database()");
    char url[1200];

    snprintf(url, sizeof(url), "%s options='-c deadlock_timeout=20s'",
             pg_conninfo());
    options.application_name = test->schema; /* others use the server too */
    for (int i = 0; i < SHARED_IDS; i++)
        shared[i] = rows_id(&test->rows);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){.test = test,
                              .store = pg_open(test, url, &options),
                              .shared = shared,
                              .removes = true,
                              .seed = rows_random(&test->rows) | 1};
        start_writer(&writers[i]);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        if (writers[i].err != CASCADE_OK)
            fail_msg("%s: %s", cascade_err_name(writers[i].err),
                     writers[i].text);
    }
    while (test->handle_count > 0)
        assert_ok(cascade_store_close(test->handles[--test->handle_count]));
    pg_until(test,
             "SELECT (count(*) = 0)::int FROM pg_stat_activity"
             " WHERE application_name = '%s'",
             test->schema);
    assert_int_equal(before,
                     pg_number(test, "SELECT deadlocks FROM pg_stat_database"
                                     " WHERE datname = current_database()"));
    assert_true(pg_number(test, "SELECT count(*) FROM cascades") >
                WRITERS * WRITER_BATCHES * 4);
}

static bool
all_done(const writer *writers)
{
    bool done = true;

    for (int i = 0; i < WRITERS; i++)
        done = done && atomic_load(&writers[i].done);
    return done;
}

/* How many connections the store has at the most while they write. */
static int64_t
watch_connections(pg_test *test, const writer *writers)
{
    int64_t most = 0;
    int64_t end_ms = 0;
    bool done = false;

    while (!done) {
        int64_t count;

        if (!in_time(&end_ms, WRITERS_MS))
            fail_msg("the writers do not come to their end");
        done = all_done(writers);
        count = pg_number(test,
                          "SELECT count(*) FROM pg_stat_activity"
                          " WHERE application_name = '%s'",
                          test->schema);
        most = count > most ? count : most;
    }
    return most;
}

/* The same of all of them at once. */
static int64_t
write_at_once(pg_test *test, cascade_store *store, bool removes)
{
    cascade_uuid shared[SHARED_IDS];
    writer writers[WRITERS];
    int64_t most = 0;

    for (int i = 0; i < SHARED_IDS; i++)
        shared[i] = rows_id(&test->rows);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){.test = test,
                              .store = store,
                              .shared = shared,
                              .removes = removes,
                              .seed = rows_random(&test->rows) | 1};
        start_writer(&writers[i]);
    }
    most = watch_connections(test, writers);
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        if (writers[i].err != CASCADE_OK)
            fail_msg("%s", writers[i].text);
    }
    return most;
}

/* S15, S16: more threads than connections wait their turn. A removal that has
 * to wait asks for whom on a connection beside its own. */
static void
a_few_connections_serve_many_threads(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    cascade_store *store;

    options.connection_max = 2;
    options.application_name = test->schema;
    store = pg_open(test, NULL, &options);
    assert_in_range(write_at_once(test, store, false), 1, 2);
    assert_in_range(write_at_once(test, store, true), 1, 2 * 2);
    pg_until(test,
             "SELECT (count(*) IN (1, 2))::int FROM pg_stat_activity"
             " WHERE application_name = '%s'",
             test->schema);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        PG_TEST(a_batch_cut_before_its_commit_has_no_effect),
        PG_TEST(a_batch_whose_reply_is_lost_takes_effect_once),
        PG_TEST(a_batch_that_cannot_be_decided_is_not_refused),
        PG_TEST(a_batch_repeated_after_its_removal_is_fenced),
        PG_TEST(a_submit_whose_reply_is_lost_is_not_taken_for_an_existing_one),
        PG_TEST(a_half_open_connection_ends_by_the_deadline),
        PG_TEST(a_batch_survives_the_end_of_its_backend),
        PG_TEST(idle_connections_that_died_are_replaced),
        PG_TEST(a_stopped_batch_does_not_stop_the_removal),
        PG_TEST(many_removers_end_one_open_transaction),
        PG_TEST(a_backend_that_works_is_not_ended),
        PG_TEST(writers_do_not_deadlock),
        PG_TEST(a_few_connections_serve_many_threads),
    };

    return pg_main_apart("postgres: faults", tests,
                         sizeof(tests) / sizeof(tests[0]), argc, argv);
}
