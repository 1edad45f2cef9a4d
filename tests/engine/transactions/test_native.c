/* SPDX-License-Identifier: MIT
 *
 * G11: what a transactional node does to the application's own tables and what
 * the engine records of it are one commit. The watch (watch.h) compares states
 * with rows after each, and sees that a cascade has one commit in flight.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/data/map.h"
#include "cascade/manage.h"
#include "engine/support/till.h"
#include "held/engine_state.h"
#include "held/run/run.h"

#define FAN 6
#define CASCADES 12
#define LANES 3
#define CHATTERS 4

/* Steps of one of those who chatter, when another could begin. */
#define CHATTER_MAX 10

/* ---- One commit --------------------------------------------------------- */

static cascade_err
count_other(cascade_node *node, void *user)
{
    till *t = user;

    (void)node;
    atomic_fetch_add(&t->other, 1);
    return CASCADE_OK;
}

/* Writes on both sides, and fails behind that as often as it is to. */
static cascade_err
pay_and_go_on(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_put(node, "paid", cJSON_CreateNumber(7));

    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "next", NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_output(node, cJSON_CreateString("done"));
    return err == CASCADE_OK ? till_pay(node, user) : err;
}

static const till_node paying[] = {
    {"pay", pay_and_go_on, {.transactional = true, .backoff_ms = 1}},
    {"next", count_other, {0}}};

static void
check_paid(till *t, int attempts)
{
    cascade_snapshot *snapshot = till_snapshot(t);

    assert_string_equal(cascade_snapshot_context(snapshot), "{\"paid\":[7]}");
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 2);
    cascade_snapshot_free(snapshot);
    till_check(t, 0, attempts, NULL);
    assert_int_equal(ledger_count(t->db, NULL), 1);
    assert_int_equal(atomic_load(&t->other), 1);
    assert_int_equal(db_stats(t->engine[0]).transactions, 1);
}

static void
both_sides_are_one_commit(test_db *db, cascade_mode mode)
{
    till *t = till_open(db, mode, paying, 2);

    till_run(t, "pay", CASCADE_COMPLETED);
    check_paid(t, 1);
    till_close(t, 2);
}
TILL_MODES(both_sides_are_one_commit)

static void
a_failed_attempt_leaves_nothing(test_db *db, cascade_mode mode)
{
    till *t = till_open(db, mode, paying, 2);

    atomic_store(&t->fails, 2);
    till_run(t, "pay", CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&t->entered), 3);
    check_paid(t, 3);
    till_close(t, 4);
}
TILL_MODES(a_failed_attempt_leaves_nothing)

static cascade_err
pay_and_fail(cascade_node *node, void *user)
{
    cascade_err err = pay_and_go_on(node, user);

    return err == CASCADE_OK ? cascade_node_fail(node, "no money") : err;
}

static void
a_failure_for_good_leaves_nothing(test_db *db, cascade_mode mode)
{
    static const till_node nodes[] = {
        {"pay", pay_and_fail, {.transactional = true}}};
    till *t = till_open(db, mode, nodes, 1);
    cascade_snapshot *snapshot = NULL;

    till_run(t, "pay", CASCADE_ERROR);
    till_check(t, 0, 1, "no money");
    snapshot = till_snapshot(t);
    assert_string_equal(cascade_snapshot_context(snapshot), "{}");
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 1);
    cascade_snapshot_free(snapshot);
    assert_int_equal(ledger_count(db, NULL), 0);
    assert_int_equal(db_stats(t->engine[0]).transactions, 0);
    till_close(t, 1);
}
TILL_MODES(a_failure_for_good_leaves_nothing)

/* On PostgreSQL a statement that failed has ended the transaction, whatever the
 * node makes of it. */
static cascade_err
pay_and_ignore(cascade_node *node, void *user)
{
    till *t = user;
    cascade_err err = till_pay(node, t);

    if (cascade_node_attempt(node) == 1)
        expect(ledger_run(t->db, node, "SELECT nothing FROM nowhere") ==
               CASCADE_ERR_FAILED);
    return err;
}

static void
a_statement_that_failed_fails_the_attempt(test_db *db)
{
    static const till_node nodes[] = {
        {"pay", pay_and_ignore, {.transactional = true, .backoff_ms = 1}}};
    till *t = till_open(db, CASCADE_MODE_THREADS, nodes, 1);

    till_run(t, "pay", CASCADE_COMPLETED);
    till_check(t, 0, 2, NULL);
    assert_int_equal(ledger_count(db, NULL), 1);
    till_close(t, 2);
}

static cascade_err
pay_and_continue(cascade_node *node, void *user)
{
    cascade_err err = till_pay(node, user);
    int run = cascade_node_input_text(node)[0] == '{' ? 1 : 2;

    if (err == CASCADE_OK && run == 1)
        err = cascade_node_continue_as_new(node, NULL, cJSON_CreateNumber(2));
    return err;
}

static bool
has_paid_twice(void *context)
{
    return ledger_count(context, NULL) == 2;
}

/* What the completion starts is part of the commit too. */
static void
it_may_continue_as_new(test_db *db, cascade_mode mode)
{
    static const till_node nodes[] = {
        {"pay", pay_and_continue, {.transactional = true}}};
    till *t = till_open(db, mode, nodes, 1);

    till_run(t, "pay", CASCADE_COMPLETED);
    till_until(t, has_paid_twice, db);
    till_close(t, 2);
}
TILL_MODES(it_may_continue_as_new)

/* ---- One of a cascade at a time ----------------------------------------- */

static cascade_err
do_nothing_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)arg;
    (void)result;
    return CASCADE_OK;
}

/* Posts much while others have transactions. */
static cascade_err
work(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < FAN && err == CASCADE_OK; i++)
        err =
            cascade_node_step(node, "work", do_nothing_step, NULL, NULL, NULL);
    return err == CASCADE_OK ? count_other(node, user) : err;
}

static cascade_err
fan(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    (void)user;
    for (int i = 0; i < FAN && err == CASCADE_OK; i++) {
        err = cascade_node_spawn(node, "pay", NULL, NULL);
        if (err == CASCADE_OK)
            err = cascade_node_spawn(node, "work", NULL, NULL);
    }
    return err;
}

static const till_node fanning[] = {
    {"fan", fan, {0}},
    {"pay",
     till_pay,
     {.transactional = true, .attempts_max = -1, .backoff_ms = 1}},
    {"work", work, {0}}};

static void
a_cascade_has_one_at_a_time(test_db *db, cascade_mode mode)
{
    till *t = till_open(db, mode, fanning, 3);

    till_run(t, "fan", CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, "pay"), FAN);
    assert_int_equal(atomic_load(&t->entered), FAN);
    assert_int_equal(atomic_load(&t->other), FAN);
    assert_int_equal(atomic_load(&t->most), 1);
    till_close(t, 2 * FAN);
}
TILL_MODES(a_cascade_has_one_at_a_time)

/* What is committed is seen before the engine has counted it. */
static bool
all_are_counted(void *context)
{
    return db_stats(((till *)context)->engine[0]).transactions ==
           CASCADES * FAN;
}

static void
many_cascades_of_many(test_db *db)
{
    till *t = till_open(db, CASCADE_MODE_THREADS, fanning, 3);
    cascade_uuid ids[CASCADES];

    atomic_store(&t->fails, CASCADES);
    for (size_t i = 0; i < CASCADES; i++)
        ids[i] = db_start(t->store[0], "fan");
    for (size_t i = 0; i < CASCADES; i++)
        till_await(t, &ids[i], CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, "pay"), CASCADES * FAN);
    till_until(t, all_are_counted, t);
    assert_int_equal(db_stats(t->engine[0]).ready, 0);
    till_close(t, CASCADES * FAN);
}

static atomic_bool payable; /* what is to have its turn is about to be ready */

/* Steps on and on until a transaction of the same cascade has begun: each while
 * those of others are committed. */
static cascade_err
chatter(cascade_node *node, void *user)
{
    const struct timespec pause = {0, 1000000};
    till *t = user;
    cascade_err err = CASCADE_OK;
    int steps = 0;

    while (err == CASCADE_OK && atomic_load(&t->entered) == 0 &&
           steps < CHATTER_MAX) {
        steps += atomic_load(&payable);
        (void)nanosleep(&pause, NULL);
        err =
            cascade_node_step(node, "chat", do_nothing_step, NULL, NULL, NULL);
        atomic_fetch_add(&t->other, 1);
    }
    expect(err != CASCADE_OK || steps < CHATTER_MAX);
    return err;
}

static bool
all_chat(void *context)
{
    return atomic_load(&((till *)context)->other) > CHATTERS * 10;
}

/* The others are at it when that becomes ready. */
static cascade_err
pay_later(cascade_node *node, void *user)
{
    expect(stores_until(all_chat, user));
    return cascade_node_spawn(node, "pay", NULL, NULL);
}

static cascade_err
chat(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    (void)user;
    for (int i = 0; i < CHATTERS && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, "chatter", NULL, NULL);
    return err == CASCADE_OK ? cascade_node_spawn(node, "later", NULL, NULL)
                             : err;
}

static bool
inserts_payment(const cascade_change *change)
{
    for (size_t i = 0; i < change->insert_count; i++)
        if (strcmp(change->inserts[i].node_name, "pay") == 0)
            return true;
    return false;
}

typedef struct meeting {
    till *t;
    const cascade_uuid *id;
} meeting;

/* A worker has come to it, and lets it wait as its cascade is busy; there is
 * one to begin it, when that has its turn. */
static bool
payment_is_met(void *context)
{
    const meeting *m = context;
    cascade_engine *engine = m->t->engine[0];
    const csc_run *run = NULL;
    bool met = false;

    pthread_mutex_lock(&engine->mutex);
    run = csc_map_get(&engine->runs, m->id);
    met = run == NULL || run->native != NULL ||
          (run->waiting.first != NULL && engine->ready.waiting > 0);
    pthread_mutex_unlock(&engine->mutex);
    return met || atomic_load(&m->t->entered) > 0;
}

/* Who is not in a commit posts meanwhile. From when the payment is ready, none
 * is made that slow workers have not met it before. */
static cascade_err
take_time(void *context, const wrap_call *call)
{
    const struct timespec pause = {0, 3000000};
    till *t = context;

    if (call->move != WRAP_COMMIT)
        return CASCADE_OK;
    if (atomic_load(&payable)) {
        meeting m = {t, &call->batch->changes[0].cascade.id};

        expect(stores_until(payment_is_met, &m));
    }
    (void)nanosleep(&pause, NULL);
    if (inserts_payment(&call->batch->changes[0]))
        atomic_store(&payable, true);
    return CASCADE_OK;
}

static void
it_gets_its_turn_where_others_always_post(test_db *db)
{
    static const till_node nodes[] = {
        {"chat", chat, {0}},
        {"chatter", chatter, {0}},
        {"later", pay_later, {0}},
        {"pay", till_pay, {.transactional = true}}};
    till *t = till_create(db, CASCADE_MODE_THREADS, nodes, 4);

    atomic_store(&payable, false);
    t->w.before = take_time;
    (void)till_engine(t);
    till_run(t, "chat", CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, "pay"), 1);
    till_close(t, 2);
}

/* ---- Beside others ------------------------------------------------------ */

static cascade_err
pay_slowly(cascade_node *node, void *user)
{
    till *t = user;
    cascade_err err = CASCADE_OK;

    till_enter(t);
    err = ledger_write(t->db, node, cascade_node_name(node));
    till_block(&t->go);
    till_leave(t);
    return err;
}

static bool
all_lanes_are_taken(void *context)
{
    return atomic_load(&((till *)context)->within) == LANES;
}

static void
as_many_run_at_once_as_there_are_lanes(test_db *db)
{
    static const till_node nodes[] = {
        {"slow", pay_slowly, {.transactional = true}},
        {"other", count_other, {0}}};
    till *t = till_create(db, CASCADE_MODE_THREADS, nodes, 2);
    cascade_uuid ids[3 * LANES];
    cascade_uuid other;

    t->options.transaction_count = LANES;
    t->options.worker_count = 2 * LANES;
    (void)till_engine(t);
    for (size_t i = 0; i < 3 * LANES; i++)
        ids[i] = db_start(t->store[0], "slow");
    till_until(t, all_lanes_are_taken, t);
    other = db_start(t->store[0], "other");
    till_await(t, &other, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&t->entered), LANES);
    assert_int_equal(db_stats(t->engine[0]).ready, 2 * LANES);
    atomic_store(&t->go, true);
    for (size_t i = 0; i < 3 * LANES; i++)
        till_await(t, &ids[i], CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&t->most), LANES);
    assert_int_equal(ledger_count(db, NULL), 3 * LANES);
    till_close(t, 3 * LANES);
}

static cascade_err
pair(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_spawn(node, "slow", NULL, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_spawn(node, "other", NULL, NULL)
                             : err;
}

static bool
both_have_run(void *context)
{
    till *t = context;

    return atomic_load(&t->within) == 1 && atomic_load(&t->other) == 1;
}

static const till_node pairing[] = {
    {"pair", pair, {0}},
    {"slow", pay_slowly, {.transactional = true}},
    {"other", count_other, {0}}};

static size_t
count_running(const till *t)
{
    cascade_snapshot *snapshot = till_snapshot(t);
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    size_t running = 0;

    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i);

        running += info->status == CASCADE_EXECUTION_RUNNING;
    }
    cascade_snapshot_free(snapshot);
    return running;
}

/* What else the cascade has to record waits, and is recorded. */
static void
what_else_is_posted_waits(test_db *db)
{
    till *t = till_open(db, CASCADE_MODE_THREADS, pairing, 3);

    t->id = db_start(t->store[0], "pair");
    till_until(t, both_have_run, t);
    assert_int_equal(count_running(t), 2);
    atomic_store(&t->go, true);
    till_await(t, &t->id, CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, NULL), 1);
    till_close(t, 3);
}

static bool
one_is_within(void *context)
{
    return atomic_load(&((till *)context)->within) == 1;
}

/* And has gone on to the next, which is transactional too. */
static cascade_err
pay_and_spawn(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_spawn(node, "pay", NULL, NULL);

    return err == CASCADE_OK ? pay_slowly(node, user) : err;
}

/* The engine has a receipt for it to record. */
static bool
one_is_received(void *context)
{
    till *t = context;
    cascade_engine *engine = t->engine[0];
    const csc_run *run = NULL;
    bool received = false;

    pthread_mutex_lock(&engine->mutex);
    run = csc_map_get(&engine->runs, &t->id);
    received = run != NULL && csc_run_is_receiving(run);
    pthread_mutex_unlock(&engine->mutex);
    return received;
}

static int64_t
count_messages(const till *t)
{
    cascade_counts counts = {.size = sizeof(counts)};

    assert_ok(cascade_counts_load(t->store[0], &counts));
    return counts.messages;
}

/* A command that comes meanwhile is received behind it, and in front of what
 * follows. */
static void
a_cancellation_comes_behind_it(test_db *db)
{
    static const till_node nodes[] = {
        {"slow", pay_and_spawn, {.transactional = true}},
        {"pay", till_pay, {.transactional = true}}};
    till *t = till_open(db, CASCADE_MODE_THREADS, nodes, 2);

    t->id = db_start(t->store[0], "slow");
    till_until(t, one_is_within, t);
    assert_ok(cascade_cancel(t->store[0], &t->id, NULL));
    till_until(t, one_is_received, t);
    assert_int_equal(count_messages(t), 1);
    assert_int_equal(count_running(t), 1);
    atomic_store(&t->go, true);
    till_await(t, &t->id, CASCADE_ERROR);
    till_check(t, 0, 1, NULL);
    assert_int_equal(ledger_count(db, "slow"), 1);
    assert_int_equal(ledger_count(db, NULL), 1);
    assert_int_equal(count_messages(t), 0);
    till_close(t, 2);
}

/* ---- While they wait ---------------------------------------------------- */

static bool
one_waits(void *context)
{
    return atomic_load(&((till *)context)->within) == 1 &&
           db_stats(((till *)context)->engine[0]).ready == 1;
}

static bool
none_waits(void *context)
{
    return db_stats(((till *)context)->engine[0]).ready == 0;
}

/* One has the lane, and another cascade's waits for it. */
static till *
open_waiting(test_db *db, cascade_uuid *slow)
{
    static const till_node nodes[] = {
        {"slow", pay_slowly, {.transactional = true}},
        {"pay", till_pay, {.transactional = true}}};
    till *t = till_create(db, CASCADE_MODE_THREADS, nodes, 2);

    t->options.transaction_count = 1;
    (void)till_engine(t);
    *slow = db_start(t->store[0], "slow");
    till_until(t, one_is_within, t);
    t->id = db_start(t->store[0], "pay");
    till_until(t, one_waits, t);
    return t;
}

static void
what_waits_may_be_cancelled(test_db *db)
{
    cascade_uuid slow;
    till *t = open_waiting(db, &slow);

    assert_ok(cascade_cancel(t->store[0], &t->id, NULL));
    till_await(t, &t->id, CASCADE_ERROR);
    atomic_store(&t->go, true);
    till_await(t, &slow, CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, "pay"), 0);
    till_close(t, 2);
}

static void
what_waits_may_be_paused(test_db *db)
{
    cascade_uuid slow;
    till *t = open_waiting(db, &slow);

    assert_ok(cascade_pause(t->store[0], &t->id, NULL));
    till_until(t, none_waits, t);
    atomic_store(&t->go, true);
    till_await(t, &slow, CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, "pay"), 0);
    assert_ok(cascade_resume(t->store[0], &t->id, NULL));
    till_await(t, &t->id, CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, "pay"), 1);
    till_close(t, 4);
}

static void
what_waits_is_given_up_at_a_stop(test_db *db)
{
    cascade_uuid slow;
    till *t = open_waiting(db, &slow);

    cascade_engine_request_stop(t->engine[0]);
    atomic_store(&t->go, true);
    assert_ok(cascade_engine_stop(t->engine[0], DB_WAIT_MS));
    assert_int_equal(ledger_count(db, NULL), 1);
    (void)till_engine(t);
    till_await(t, &t->id, CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, NULL), 2);
    till_close(t, 2);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        TILL_TESTS(both_sides_are_one_commit),
        TILL_TESTS(a_failed_attempt_leaves_nothing),
        TILL_TESTS(a_failure_for_good_leaves_nothing),
        {"a_statement_that_failed_fails_the_attempt",
         a_statement_that_failed_fails_the_attempt, STORES_POSTGRES},
        TILL_TESTS(it_may_continue_as_new),
        TILL_TESTS(a_cascade_has_one_at_a_time),
        {"many_cascades_of_many", many_cascades_of_many, STORES_FILES},
        {"it_gets_its_turn_where_others_always_post",
         it_gets_its_turn_where_others_always_post, STORES_FILES},
        {"as_many_run_at_once_as_there_are_lanes",
         as_many_run_at_once_as_there_are_lanes, STORES_POSTGRES},
        {"what_else_is_posted_waits", what_else_is_posted_waits,
         STORES_POSTGRES},
        {"a_cancellation_comes_behind_it", a_cancellation_comes_behind_it,
         STORES_POSTGRES},
        {"what_waits_may_be_cancelled", what_waits_may_be_cancelled,
         STORES_POSTGRES},
        {"what_waits_may_be_paused", what_waits_may_be_paused, STORES_POSTGRES},
        {"what_waits_is_given_up_at_a_stop", what_waits_is_given_up_at_a_stop,
         STORES_POSTGRES},
    };

    return stores_run("native", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
