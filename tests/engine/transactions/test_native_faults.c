/* SPDX-License-Identifier: MIT
 *
 * G11 and G12 where something goes wrong around the transaction of a node:
 * replies that are lost before and after the effect, a store that cannot be
 * reached or refuses, functions that are out of time, engines that are removed
 * or stopped meanwhile. In each case the ledger has one row for what is
 * recorded as completed, and none for what is not.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "engine/support/till.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "store/store.h"

static const till_node paying[] = {
    {"pay", till_pay, {.transactional = true, .backoff_ms = 1}}};

/* ---- An outcome that is not known --------------------------------------- */

static till *
open_with(test_db *db, cascade_mode mode, wrap_move move, size_t times,
          wrap_when when, cascade_err err)
{
    till *t = till_open(db, mode, paying, 1);

    wrap_store_fail(&t->w.wrap, move, 0, times, when, err);
    return t;
}

/* What is committed is seen before the engine knows it. */
static bool
is_settled(void *context)
{
    return db_stats(((till *)context)->engine[0]).transactions == 1;
}

static void
close_paid(till *t, int attempts)
{
    till_check(t, 0, attempts, NULL);
    assert_int_equal(ledger_count(t->db, NULL), 1);
    assert_int_equal(atomic_load(&t->entered), attempts);
    till_close(t, 1);
}

static void
a_commit_whose_reply_is_lost_counts(test_db *db, cascade_mode mode)
{
    till *t = open_with(db, mode, WRAP_FINISH, 1, WRAP_AFTER,
                        CASCADE_ERR_UNAVAILABLE);

    till_run(t, "pay", CASCADE_COMPLETED);
    till_until(t, is_settled, t);
    assert_int_equal(wrap_store_count(&t->w.wrap, WRAP_SETTLE), 1);
    close_paid(t, 1);
}
TILL_MODES(a_commit_whose_reply_is_lost_counts)

static void
a_commit_that_is_lost_is_an_attempt(test_db *db, cascade_mode mode)
{
    till *t = open_with(db, mode, WRAP_FINISH, 2, WRAP_BEFORE,
                        CASCADE_ERR_UNAVAILABLE);

    till_run(t, "pay", CASCADE_COMPLETED);
    assert_int_equal(wrap_store_count(&t->w.wrap, WRAP_SETTLE), 2);
    close_paid(t, 3);
}
TILL_MODES(a_commit_that_is_lost_is_an_attempt)

static void
settle_late(test_db *db, cascade_mode mode, wrap_when finish, wrap_when settle)
{
    till *t =
        open_with(db, mode, WRAP_FINISH, 1, finish, CASCADE_ERR_UNAVAILABLE);

    wrap_store_fail(&t->w.wrap, WRAP_SETTLE, 0, 4, settle,
                    CASCADE_ERR_UNAVAILABLE);
    till_run(t, "pay", CASCADE_COMPLETED);
    till_until(t, is_settled, t);
    assert_int_equal(wrap_store_count(&t->w.wrap, WRAP_SETTLE), 5);
    close_paid(t, finish == WRAP_AFTER ? 1 : 2);
}

/* G12: whatever the store answers meanwhile, nothing runs again before. */
static void
it_is_settled_when_the_store_answers(test_db *db, cascade_mode mode)
{
    settle_late(db, mode, WRAP_BEFORE, WRAP_BEFORE);
}
TILL_MODES(it_is_settled_when_the_store_answers)

static void
it_is_settled_the_same_again(test_db *db, cascade_mode mode)
{
    settle_late(db, mode, WRAP_AFTER, WRAP_AFTER);
}
TILL_MODES(it_is_settled_the_same_again)

static void
what_was_settled_as_lost_stays_so(test_db *db)
{
    settle_late(db, CASCADE_MODE_THREADS, WRAP_BEFORE, WRAP_AFTER);
}

/* ---- What the store answers --------------------------------------------- */

/* No attempt: the function was not called. */
static void
a_transaction_that_cannot_begin_waits(test_db *db, cascade_mode mode)
{
    till *t = open_with(db, mode, WRAP_BEGIN, 5, WRAP_BEFORE,
                        CASCADE_ERR_UNAVAILABLE);

    till_run(t, "pay", CASCADE_COMPLETED);
    assert_true(wrap_store_count(&t->w.wrap, WRAP_BEGIN) >= 6);
    assert_int_equal(db_stats(t->engine[0]).attempts, 1);
    assert_int_equal(db_stats(t->engine[0]).ready, 0);
    close_paid(t, 1);
}
TILL_MODES(a_transaction_that_cannot_begin_waits)

/* How many attempts it takes where the first two do not begin. */
static void
begin_with(test_db *db, cascade_err err, int attempts)
{
    till *t =
        open_with(db, CASCADE_MODE_THREADS, WRAP_BEGIN, 2, WRAP_AFTER, err);

    till_run(t, "pay", CASCADE_COMPLETED);
    till_check(t, 0, attempts, NULL);
    assert_int_equal(atomic_load(&t->entered), 1);
    assert_int_equal(ledger_count(db, NULL), 1);
    till_close(t, 1);
}

static void
no_trouble_of_the_store_is_an_attempt(test_db *db)
{
    begin_with(db, CASCADE_ERR_READ_ONLY, 1);
}

static void
what_would_fail_each_time_is_an_attempt(test_db *db)
{
    begin_with(db, CASCADE_ERR_UNSUPPORTED, 3);
}

/* Nothing took effect. */
static void
a_commit_that_fails_is_an_attempt(test_db *db)
{
    static const cascade_err errors[] = {
        CASCADE_ERR_FAILED, CASCADE_ERR_TIMEOUT, CASCADE_ERR_NO_MEMORY};

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        till *t = NULL;

        if (i > 0)
            assert_int_equal(db_sql(db, "DROP TABLE ledger"), 0);
        t = open_with(db, CASCADE_MODE_THREADS, WRAP_FINISH, 1, WRAP_BEFORE,
                      errors[i]);
        till_run(t, "pay", CASCADE_COMPLETED);
        assert_int_equal(wrap_store_count(&t->w.wrap, WRAP_SETTLE), 0);
        close_paid(t, 2);
    }
}

static void
the_last_attempt_fails_for_good(test_db *db)
{
    static const till_node nodes[] = {
        {"pay",
         till_pay,
         {.transactional = true, .attempts_max = 2, .backoff_ms = 1}}};
    till *t = till_open(db, CASCADE_MODE_THREADS, nodes, 1);

    wrap_store_fail(&t->w.wrap, WRAP_FINISH, 0, 9, WRAP_BEFORE,
                    CASCADE_ERR_FAILED);
    till_run(t, "pay", CASCADE_ERROR);
    till_check(t, 0, 2, "a fault of the test");
    assert_int_equal(ledger_count(db, NULL), 0);
    till_close(t, 1);
}

/* What the function has committed itself cannot be taken back. */
static void
a_transaction_that_the_function_ended_is_final(test_db *db)
{
    till *t = open_with(db, CASCADE_MODE_THREADS, WRAP_FINISH, 1, WRAP_BEFORE,
                        CASCADE_ERR_MISUSE);

    till_run(t, "pay", CASCADE_ERROR);
    till_check(t, 0, 1, "a fault of the test");
    till_close(t, 1);
}

static cascade_err
pay_and_commit(cascade_node *node, void *user)
{
    till *t = user;
    cascade_err err = till_pay(node, t);

    if (err == CASCADE_OK)
        err = ledger_run(t->db, node, "COMMIT");
    return err;
}

static void
a_commit_of_its_own_is_seen(test_db *db)
{
    static const till_node nodes[] = {
        {"pay",
         pay_and_commit,
         {.transactional = true, .attempts_max = 2, .backoff_ms = 1}}};
    bool sqlite = strncmp(db->url, "sqlite:", 7) == 0;
    till *t = till_open(db, CASCADE_MODE_THREADS, nodes, 1);

    till_run(t, "pay", CASCADE_ERROR);
    assert_int_equal(ledger_count(db, NULL), sqlite ? 0 : 1);
    assert_int_equal(atomic_load(&t->entered), sqlite ? 2 : 1);
    till_close(t, 1);
}

static cascade_err
pay_and_commit_and_fail(cascade_node *node, void *user)
{
    cascade_err err = pay_and_commit(node, user);

    return err == CASCADE_OK ? CASCADE_ERR_FAILED : err;
}

/* Each attempt would commit it once more. */
static void
a_commit_of_its_own_is_seen_where_it_fails(test_db *db)
{
    static const till_node nodes[] = {
        {"pay",
         pay_and_commit_and_fail,
         {.transactional = true, .attempts_max = 3, .backoff_ms = 1}}};
    bool sqlite = strncmp(db->url, "sqlite:", 7) == 0;
    till *t = till_open(db, CASCADE_MODE_THREADS, nodes, 1);

    till_run(t, "pay", CASCADE_ERROR);
    assert_int_equal(ledger_count(db, NULL), sqlite ? 0 : 1);
    assert_int_equal(atomic_load(&t->entered), sqlite ? 3 : 1);
    if (!sqlite)
        till_check(t, 0, 1, "ended its transaction itself");
    till_close(t, 1);
}

/* G13: the execution is recorded as FAILED, as any other. */
static void
what_is_refused_is_recorded(test_db *db, cascade_mode mode)
{
    till *t =
        open_with(db, mode, WRAP_FINISH, 1, WRAP_BEFORE, CASCADE_ERR_REFUSED);

    till_run(t, "pay", CASCADE_ERROR);
    till_check(t, 0, 1, "refused");
    assert_int_equal(ledger_count(db, NULL), 0);
    assert_int_equal(db_stats(t->engine[0]).refusals, 1);
    till_close(t, 1);
}
TILL_MODES(what_is_refused_is_recorded)

/* ---- Out of time -------------------------------------------------------- */

static _Atomic int64_t begun_ms; /* the last transaction that was */

static int64_t
limit_ms(const till *t)
{
    const cascade_node_options *options = &t->nodes[0].options;

    return options->attempt_timeout_ms > 0 ? options->attempt_timeout_ms
                                           : options->transaction_max_ms;
}

/* In `other`. An attempt that fails is over before the next one begins. */
static cascade_err
count_late(void *context, const wrap_call *call)
{
    till *t = context;
    int64_t now_ms = csc_clock_monotonic_ms(&csc_clock_system);
    int64_t before_ms = 0;

    if (call->move != WRAP_BEGIN)
        return CASCADE_OK;
    before_ms = atomic_exchange(&begun_ms, now_ms);
    if (call->number > 1 && now_ms - before_ms >= limit_ms(t))
        atomic_fetch_add(&t->other, 1);
    return CASCADE_OK;
}

static till *
open_late(test_db *db, cascade_mode mode, const till_node *nodes)
{
    till *t = till_create(db, mode, nodes, 1);

    t->w.before = count_late;
    (void)till_engine(t);
    return t;
}

/* The first attempt is late, and each further one that failed: one that is to
 * be in time may be too slow all the same. The last one has paid. */
static void
close_paid_at_last(till *t)
{
    uint64_t attempts = db_stats(t->engine[0]).attempts;

    assert_in_range(attempts, 2, atomic_load(&t->other) + 1);
    assert_in_range(atomic_load(&t->entered), 1, attempts);
    till_check(t, 0, (int)attempts, NULL);
    assert_int_equal(ledger_count(t->db, NULL), 1);
    till_close(t, 2);
}

/* The first attempt goes on for as long as the test says. */
static cascade_err
pay_late(cascade_node *node, void *user)
{
    till *t = user;
    bool first = atomic_load(&t->entered) == 0;
    cascade_err err = till_pay(node, t);

    if (first)
        till_block(&t->go);
    return err;
}

static bool
one_is_overdue(void *context)
{
    return db_stats(((till *)context)->engine[0]).overdue > 0;
}

static bool
none_is_running(void *context)
{
    return db_stats(((till *)context)->engine[0]).running == 0;
}

static void
what_is_late_is_rolled_back(test_db *db)
{
    static const till_node nodes[] = {{"pay",
                                       pay_late,
                                       {.transactional = true,
                                        .attempts_max = -1,
                                        .attempt_timeout_ms = 300,
                                        .transaction_max_ms = 30000,
                                        .backoff_ms = 1}}};
    bool sqlite = strncmp(db->url, "sqlite:", 7) == 0;
    till *t = open_late(db, CASCADE_MODE_THREADS, nodes);

    t->id = db_start(t->store[0], "pay");
    till_until(t, one_is_overdue, t);
    if (!sqlite) /* where its locks keep nobody from going on */
        till_await(t, &t->id, CASCADE_COMPLETED);
    atomic_store(&t->go, true);
    till_await(t, &t->id, CASCADE_COMPLETED);
    till_until(t, none_is_running, t);
    close_paid_at_last(t);
}

#define OPEN_MAX_MS 200

static cascade_err
pay_for_long(cascade_node *node, void *user)
{
    till *t = user;
    cascade_err err = till_pay(node, t);
    const struct timespec pause = {0, (OPEN_MAX_MS + 50) * 1000000L};

    if (atomic_load(&t->entered) == 1)
        (void)nanosleep(&pause, NULL);
    return err;
}

static void
a_transaction_has_its_limit(test_db *db, cascade_mode mode)
{
    static const till_node nodes[] = {{"pay",
                                       pay_for_long,
                                       {.transactional = true,
                                        .attempts_max = -1,
                                        .transaction_max_ms = OPEN_MAX_MS,
                                        .backoff_ms = 1}}};
    till *t = open_late(db, mode, nodes);

    till_run(t, "pay", CASCADE_COMPLETED);
    close_paid_at_last(t);
}
TILL_MODES(a_transaction_has_its_limit)

/* ---- Engines that go ---------------------------------------------------- */

static void
remove_engine(till *t, void *self, const cascade_uuid *id)
{
    size_t freed = 0;

    expect(t->w.wrap.inner->remove(self, id, 1, 1000, &freed) == CASCADE_OK);
}

/* Before the transaction begins: it has no lock yet that would be waited for.
 */
static cascade_err
remove_before_begin(void *context, const wrap_call *call)
{
    till *t = context;

    if (call->move == WRAP_BEGIN && call->number == 1)
        remove_engine(t, call->self, &t->engine[0]->incarnation.id);
    return CASCADE_OK;
}

/* G5: only one of the two takes effect. */
static void
a_fenced_transaction_is_rolled_back(test_db *db, cascade_mode mode)
{
    till *t = till_create(db, mode, paying, 1);

    t->w.before = remove_before_begin;
    (void)till_engine(t);
    till_run(t, "pay", CASCADE_COMPLETED);
    till_check(t, 0, 1, NULL);
    assert_int_equal(ledger_count(db, NULL), 1);
    assert_in_range(atomic_load(&t->entered), 1, 2); /* if it saw that first */
    assert_int_equal(db_stats(t->engine[0]).fences, 1);
    till_close(t, 1);
}
TILL_MODES(a_fenced_transaction_is_rolled_back)

static bool
is_within(void *context)
{
    return atomic_load(&((till *)context)->entered) == 1;
}

static void
another_engine_takes_over_while_it_runs(test_db *db)
{
    static const till_node nodes[] = {
        {"pay", pay_late, {.transactional = true}}};
    till *t = till_create(db, CASCADE_MODE_THREADS, nodes, 1);
    cascade_store *outside = db_store(db);
    cascade_engine *engine = till_engine(t);

    t->id = db_start(t->store[0], "pay");
    till_until(t, is_within, t);
    remove_engine(t, outside->self, &engine->incarnation.id);
    (void)till_engine(t);
    till_await(t, &t->id, CASCADE_COMPLETED);
    atomic_store(&t->go, true);
    till_until(t, none_is_running, t);
    assert_int_equal(ledger_count(db, NULL), 1);
    assert_int_equal(atomic_load(&t->entered), 2);
    till_close(t, 1);
}

/* The reply is lost, and then the incarnation, before it is settled. */
static cascade_err
remove_before_settle(void *context, const wrap_call *call)
{
    till *t = context;

    if (call->move == WRAP_SETTLE && call->number == 1)
        remove_engine(t, call->self, call->engine_id);
    return CASCADE_OK;
}

static void
lose_and_remove(test_db *db, cascade_mode mode, wrap_when when)
{
    till *t = till_create(db, mode, paying, 1);

    t->w.before = remove_before_settle;
    wrap_store_fail(&t->w.wrap, WRAP_FINISH, 0, 1, when,
                    CASCADE_ERR_UNAVAILABLE);
    (void)till_engine(t);
    till_run(t, "pay", CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, NULL), 1);
    assert_int_equal(atomic_load(&t->entered), when == WRAP_AFTER ? 1 : 2);
    till_check(t, 0, 1, NULL);
    till_close(t, 1);
}

static void
a_lost_reply_and_a_removed_engine(test_db *db, cascade_mode mode)
{
    lose_and_remove(db, mode, WRAP_BEFORE);
}
TILL_MODES(a_lost_reply_and_a_removed_engine)

static void
a_lost_reply_of_a_commit_and_a_removed_engine(test_db *db)
{
    lose_and_remove(db, CASCADE_MODE_THREADS, WRAP_AFTER);
}

/* ---- The lease ---------------------------------------------------------- */

static bool
lease_is_over(void *context)
{
    cascade_engine *engine = context;
    bool over = false;

    pthread_mutex_lock(&engine->mutex);
    over = csc_clock_now_ns(engine) >= engine->lease.until_ns;
    pthread_mutex_unlock(&engine->mutex);
    return over;
}

/* Begins the first transaction when the lease is over, which nothing renews
 * from then on before that is taken back. */
static cascade_err
outlast_lease(void *context, const wrap_call *call)
{
    till *t = context;

    if (call->move == WRAP_ABANDON)
        atomic_store(&t->go, true);
    if (call->move == WRAP_RENEW && atomic_load(&t->other) > 0 &&
        !atomic_load(&t->go))
        return CASCADE_ERR_UNAVAILABLE;
    if (call->move == WRAP_BEGIN && call->number == 1) {
        atomic_store(&t->other, 1);
        expect(stores_until(lease_is_over, t->engine[0]));
    }
    return CASCADE_OK;
}

/* Whether the one beginning was all that was taken back: where the process
 * stands still a further lease may be over, or a transaction too late. */
static bool
pay_once_lease_is_over(test_db *db, int64_t lease_ms)
{
    static const till_node nodes[] = {
        {"pay",
         till_pay,
         {.transactional = true, .attempts_max = -1, .backoff_ms = 1}}};
    till *t = till_create(db, CASCADE_MODE_THREADS, nodes, 1);
    size_t taken_back = 0;

    t->options.lease_ms = lease_ms;
    t->w.before = outlast_lease;
    (void)till_engine(t);
    till_run(t, "pay", CASCADE_COMPLETED);
    taken_back = wrap_store_count(&t->w.wrap, WRAP_ABANDON);
    assert_true(taken_back > 0);
    if (taken_back == 1) {
        assert_int_equal(db_stats(t->engine[0]).attempts, 1);
        close_paid(t, 1);
    } else {
        till_close(t, 1);
    }
    return taken_back == 1;
}

/* No attempt: the function is not entered before the lease is renewed. */
static void
nothing_begins_once_the_lease_is_over(test_db *db)
{
    static const int64_t leases_ms[] = {800, 8000, 50000};
    size_t at = 0;

    while (!pay_once_lease_is_over(db, leases_ms[at])) {
        assert_true(++at < sizeof(leases_ms) / sizeof(leases_ms[0]));
        assert_int_equal(db_sql(db, "DROP TABLE ledger"), 0);
    }
}

/* ---- Stopping ----------------------------------------------------------- */

static void *
stop_patiently(void *context)
{
    till *t = context;

    expect(cascade_engine_stop(t->engine[0], DB_WAIT_MS) == CASCADE_OK);
    return NULL;
}

static bool
is_stopping(void *context)
{
    cascade_engine *engine = ((till *)context)->engine[0];
    bool stopping = false;

    pthread_mutex_lock(&engine->mutex);
    stopping = engine->life == CSC_LIFE_DRAINING;
    pthread_mutex_unlock(&engine->mutex);
    return stopping;
}

static void
stop_waits_for_a_transaction(test_db *db)
{
    static const till_node nodes[] = {
        {"pay", pay_late, {.transactional = true}}};
    till *t = till_open(db, CASCADE_MODE_THREADS, nodes, 1);
    pthread_t thread;

    t->id = db_start(t->store[0], "pay");
    till_until(t, is_within, t);
    assert_int_equal(pthread_create(&thread, NULL, stop_patiently, t), 0);
    till_until(t, is_stopping, t);
    atomic_store(&t->go, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    db_await(t->store[0], &t->id, CASCADE_COMPLETED);
    close_paid(t, 1);
}

static void
a_stop_finds_it_committed(test_db *db, cascade_mode mode)
{
    till *t = till_open(db, mode, paying, 1);

    till_run(t, "pay", CASCADE_COMPLETED);
    assert_ok(cascade_engine_stop(t->engine[0], DB_WAIT_MS));
    close_paid(t, 1);
}
TILL_MODES(a_stop_finds_it_committed)

static void
a_function_that_does_not_return_is_given_up(test_db *db)
{
    static const till_node nodes[] = {
        {"pay", pay_late, {.transactional = true}}};
    till *t = till_open(db, CASCADE_MODE_THREADS, nodes, 1);

    t->id = db_start(t->store[0], "pay");
    till_until(t, is_within, t);
    atomic_store(&t->fails, 0);
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_engine_stop(t->engine[0], 50));
    assert_fails(CASCADE_ERR_AGAIN, cascade_engine_close(t->engine[0]));
    atomic_store(&t->go, true);
    (void)till_engine(t);
    till_await(t, &t->id, CASCADE_COMPLETED);
    assert_int_equal(wrap_store_count(&t->w.wrap, WRAP_DETACH), 1);
    assert_int_equal(db_stats(t->engine[1]).takeovers, 0);
    assert_int_equal(ledger_count(db, NULL), 1);
    assert_int_equal(atomic_load(&t->entered), 2);
    till_close(t, 1);
}

static bool
is_being_settled(void *context)
{
    return wrap_store_count(&((till *)context)->w.wrap, WRAP_SETTLE) > 1;
}

static void
stop_undecided(test_db *db, cascade_mode mode, wrap_when when)
{
    till *t =
        open_with(db, mode, WRAP_FINISH, 1, when, CASCADE_ERR_UNAVAILABLE);

    wrap_store_fail(&t->w.wrap, WRAP_SETTLE, 0, SIZE_MAX, WRAP_BEFORE,
                    CASCADE_ERR_UNAVAILABLE);
    t->id = db_start(t->store[0], "pay");
    till_until(t, is_being_settled, t);
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_engine_stop(t->engine[0], 50));
    (void)till_engine(t);
    till_await(t, &t->id, CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, NULL), 1);
    assert_int_equal(atomic_load(&t->entered), when == WRAP_AFTER ? 1 : 2);
    till_close(t, 1);
}

static void
what_is_undecided_at_a_stop_is_lost(test_db *db, cascade_mode mode)
{
    stop_undecided(db, mode, WRAP_BEFORE);
}
TILL_MODES(what_is_undecided_at_a_stop_is_lost)

static void
what_is_undecided_at_a_stop_may_be_done(test_db *db)
{
    stop_undecided(db, CASCADE_MODE_THREADS, WRAP_AFTER);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"nothing_begins_once_the_lease_is_over",
         nothing_begins_once_the_lease_is_over, STORES_FILES},
        TILL_TESTS(a_commit_whose_reply_is_lost_counts),
        TILL_TESTS(a_commit_that_is_lost_is_an_attempt),
        TILL_TESTS(it_is_settled_when_the_store_answers),
        TILL_TESTS(it_is_settled_the_same_again),
        {"what_was_settled_as_lost_stays_so", what_was_settled_as_lost_stays_so,
         STORES_FILES},
        TILL_TESTS(a_transaction_that_cannot_begin_waits),
        {"no_trouble_of_the_store_is_an_attempt",
         no_trouble_of_the_store_is_an_attempt, STORES_FILES},
        {"what_would_fail_each_time_is_an_attempt",
         what_would_fail_each_time_is_an_attempt, STORES_FILES},
        {"a_commit_that_fails_is_an_attempt", a_commit_that_fails_is_an_attempt,
         STORES_FILES},
        {"the_last_attempt_fails_for_good", the_last_attempt_fails_for_good,
         STORES_FILES},
        {"a_transaction_that_the_function_ended_is_final",
         a_transaction_that_the_function_ended_is_final, STORES_FILES},
        {"a_commit_of_its_own_is_seen_where_it_fails",
         a_commit_of_its_own_is_seen_where_it_fails, STORES_FILES},
        {"a_commit_of_its_own_is_seen", a_commit_of_its_own_is_seen,
         STORES_FILES},
        TILL_TESTS(what_is_refused_is_recorded),
        {"what_is_late_is_rolled_back", what_is_late_is_rolled_back,
         STORES_FILES},
        TILL_TESTS(a_transaction_has_its_limit),
        TILL_TESTS(a_fenced_transaction_is_rolled_back),
        {"another_engine_takes_over_while_it_runs",
         another_engine_takes_over_while_it_runs, STORES_POSTGRES},
        TILL_TESTS(a_lost_reply_and_a_removed_engine),
        {"a_lost_reply_of_a_commit_and_a_removed_engine",
         a_lost_reply_of_a_commit_and_a_removed_engine, STORES_FILES},
        {"stop_waits_for_a_transaction", stop_waits_for_a_transaction,
         STORES_FILES},
        TILL_TESTS(a_stop_finds_it_committed),
        {"a_function_that_does_not_return_is_given_up",
         a_function_that_does_not_return_is_given_up, STORES_FILES},
        TILL_TESTS(what_is_undecided_at_a_stop_is_lost),
        {"what_is_undecided_at_a_stop_may_be_done",
         what_is_undecided_at_a_stop_may_be_done, STORES_FILES},
    };

    return stores_run("native_faults", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
