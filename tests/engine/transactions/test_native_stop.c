/* SPDX-License-Identifier: MIT
 *
 * A stop while the function of a transactional node does not return: it is
 * bounded by its timeout, whatever waits for that transaction, and others have
 * the cascades as soon as the store lets them, without waiting for a lease.
 */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "engine/support/till.h"
#include "held/engine_state.h"

#define STOP_MS 200
#define BOUND_MS 60000
#define MOVE_MS (5 * BOUND_MS) /* what a move of the store waits for a lock */
#define DELAY_MS 400           /* where the test moves the clock */

/* ---- Nodes -------------------------------------------------------------- */

/* Stuck the first time. */
static cascade_err
pay_stuck(cascade_node *node, void *user)
{
    till *t = user;
    bool first = atomic_load(&t->entered) == 0;
    cascade_err err = CASCADE_OK;

    till_enter(t);
    err = ledger_write(t->db, node, "paid");
    if (first)
        till_block(&t->go);
    till_leave(t);
    return err;
}

static atomic_bool first_goes; /* the first to be there returns */
static atomic_bool others_go;

static cascade_err
go_beside(cascade_node *node, void *user)
{
    int number = atomic_fetch_add(&((till *)user)->other, 1);

    (void)node;
    till_block(number == 0 ? &first_goes : &others_go);
    return CASCADE_OK;
}

static cascade_err
pass(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static const till_node nodes[] = {{"stuck", pay_stuck, TILL_TRANSACTIONAL},
                                  {"beside", go_beside, {0}},
                                  {"pass", pass, {0}}};

/* Of the first `count` nodes; who waits for a lock does so for long. */
static till *
create_till(test_db *db, cascade_mode mode, size_t count)
{
    till *t = till_create(db, mode, nodes, count);

    t->w.wrap.inner_deadline_ms = MOVE_MS;
    return t;
}

static till *
open_till(test_db *db, cascade_mode mode)
{
    till *t = create_till(db, mode, 1);

    (void)till_engine(t);
    return t;
}

/* ---- Looking ------------------------------------------------------------ */

static bool
one_is_stuck(void *context)
{
    return atomic_load(&((till *)context)->within) == 1;
}

static bool
one_is_beside(void *context)
{
    return atomic_load(&((till *)context)->other) == 1;
}

static size_t
count_detached(till *t)
{
    return wrap_store_count(&t->w.wrap, WRAP_DETACH);
}

static bool
has_detached(void *context)
{
    return count_detached(context) == 1;
}

/* ---- The host's loop ---------------------------------------------------- */

typedef struct loop {
    till *t;
    pthread_t thread;
    atomic_bool ends;
} loop;

static void *
loop_main(void *context)
{
    const struct timespec pause = {0, 1000000};
    loop *l = context;

    while (!atomic_load(&l->ends)) {
        expect(cascade_engine_poll(l->t->engine[0], 0, NULL) == CASCADE_OK);
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

static void
begin_loop(loop *l, till *t)
{
    l->t = t;
    atomic_init(&l->ends, false);
    if (t->mode != CASCADE_MODE_THREADS)
        assert_int_equal(pthread_create(&l->thread, NULL, loop_main, l), 0);
}

static void
end_loop(loop *l)
{
    atomic_store(&l->ends, true);
    if (l->t->mode != CASCADE_MODE_THREADS)
        assert_int_equal(pthread_join(l->thread, NULL), 0);
}

/* ---- Stopping ----------------------------------------------------------- */

static void
stop_in_time(till *t)
{
    int64_t began_ms = csc_clock_monotonic_ms(&csc_clock_system);

    assert_fails(CASCADE_ERR_TIMEOUT,
                 cascade_engine_stop(t->engine[0], STOP_MS));
    assert_non_null(strstr(cascade_errmsg(), "node stuck"));
    assert_fails(CASCADE_ERR_AGAIN, cascade_engine_close(t->engine[0]));
    assert_in_range(csc_clock_monotonic_ms(&csc_clock_system) - began_ms,
                    STOP_MS, BOUND_MS);
}

/* By another engine, to which nobody's lease has run out. */
static void
take_over(till *t, const cascade_uuid *ids, size_t count)
{
    db_ends ends = {t->store[0], ids, count, 0};
    cascade_engine *other = till_engine(t);

    if (t->mode != CASCADE_MODE_THREADS)
        assert_true(db_poll_until(t->db, &other, 1, db_all_ended, &ends));
    for (size_t i = 0; i < count; i++)
        db_await(t->store[0], &ids[i], CASCADE_COMPLETED);
    assert_int_equal(db_stats(other).takeovers, 0);
    assert_int_equal(ledger_count(t->db, NULL), 1);
}

static void
close_stopped(till *t)
{
    watch_forget_engines(&t->w);
    db_close_engine(t->db, t->engine[0]);
    t->engine[0] = NULL;
}

/* ---- One writer --------------------------------------------------------- */

static void
the_detachment_waits_for_the_function(test_db *db, cascade_mode mode)
{
    till *t = open_till(db, mode);
    loop l;

    begin_loop(&l, t);
    t->id = db_start(t->store[0], "stuck");
    assert_true(stores_until(one_is_stuck, t));
    stop_in_time(t);
    assert_int_equal(count_detached(t), 0);
    atomic_store(&t->go, true);
    assert_true(stores_until(has_detached, t));
    end_loop(&l);
    assert_ok(cascade_engine_stop(t->engine[0], DB_WAIT_MS));
    close_stopped(t);
    assert_int_equal(count_detached(t), 1);
    take_over(t, &t->id, 1);
    till_close(t, 1);
}

static void
the_detachment_waits_for_the_function_threads(test_db *db)
{
    the_detachment_waits_for_the_function(db, CASCADE_MODE_THREADS);
}

static void
the_detachment_waits_for_the_function_loop(test_db *db)
{
    the_detachment_waits_for_the_function(db, CASCADE_MODE_LOOP);
}

static void
the_detachment_waits_for_the_function_inline(test_db *db)
{
    the_detachment_waits_for_the_function(db, CASCADE_MODE_INLINE);
}

/* The host closes what its loop has still to leave. */
static void
a_close_waits_for_the_loop(test_db *db)
{
    till *t = open_till(db, CASCADE_MODE_LOOP);
    loop l;

    begin_loop(&l, t);
    t->id = db_start(t->store[0], "stuck");
    assert_true(stores_until(one_is_stuck, t));
    stop_in_time(t);
    atomic_store(&l.ends, true);
    atomic_store(&t->go, true);
    close_stopped(t);
    assert_int_equal(count_detached(t), 1);
    end_loop(&l);
    take_over(t, &t->id, 1);
    till_close(t, 1);
}

/* ---- Those that wait for the lock as well ------------------------------- */

static atomic_bool due;    /* a claim finds something */
static atomic_bool claims; /* one that does is under way */
static atomic_bool commits;

static cascade_err
note_move(void *context, const wrap_call *call)
{
    (void)context;
    if (call->move == WRAP_COMMIT)
        atomic_store(&commits, true);
    if (call->move == WRAP_CLAIM)
        atomic_store(&claims, atomic_load(&due));
    if (call->move == WRAP_WAIT)
        atomic_store(&claims, false);
    return CASCADE_OK;
}

static bool
both_wait(void *context)
{
    (void)context;
    return atomic_load(&commits) && atomic_load(&claims);
}

/* The housekeeper claims what is due, and a worker commits what has returned.
 * It is not due before the lock is taken: time stands until then. */
static void
those_who_wait_for_the_lock_are_not_waited_for(test_db *db)
{
    const cascade_start_options later = {.size = sizeof(later),
                                         .delay_ms = DELAY_MS};
    cascade_started started;
    cascade_uuid ids[3];
    till *t = NULL;

    db->fake_time = true;
    t = create_till(db, CASCADE_MODE_THREADS, 3);
    atomic_store(&first_goes, false);
    atomic_store(&due, false);
    t->w.before = note_move;
    (void)till_engine(t);
    ids[0] = db_start(t->store[0], "beside");
    assert_true(stores_until(one_is_beside, t));
    assert_ok(cascade_start(t->store[0], "pass", NULL, &later, &started));
    ids[1] = started.id;
    ids[2] = db_start(t->store[0], "stuck");
    assert_true(stores_until(one_is_stuck, t));
    atomic_store(&commits, false);
    atomic_store(&due, true);
    fake_clock_advance(&db->clock, DELAY_MS);
    atomic_store(&first_goes, true);
    assert_true(stores_until(both_wait, t));
    stop_in_time(t);
    atomic_store(&t->go, true);
    close_stopped(t);
    assert_int_equal(count_detached(t), 1);
    take_over(t, ids, 3);
    till_close(t, 3);
}

/* ---- Several that do not return ----------------------------------------- */

#define BESIDE 6 /* as many as there are workers */

static bool
all_are_beside(void *context)
{
    return atomic_load(&((till *)context)->other) == BESIDE;
}

/* In the worker that was the first: the others are looked at after it. */
static void
the_one_that_all_wait_for_is_named(test_db *db)
{
    till *t = create_till(db, CASCADE_MODE_THREADS, 3);
    cascade_uuid ids[BESIDE + 1];

    atomic_store(&first_goes, false);
    atomic_store(&others_go, false);
    (void)till_engine(t);
    for (int i = 0; i < BESIDE; i++)
        ids[i] = db_start(t->store[0], "beside");
    assert_true(stores_until(all_are_beside, t));
    ids[BESIDE] = db_start(t->store[0], "stuck");
    atomic_store(&first_goes, true);
    assert_true(stores_until(one_is_stuck, t));
    stop_in_time(t);
    atomic_store(&others_go, true);
    atomic_store(&t->go, true);
    close_stopped(t);
    take_over(t, ids, BESIDE + 1);
    till_close(t, BESIDE + 1);
}

/* ---- A further stop ------------------------------------------------------ */

static void *
stop_again(void *context)
{
    till *t = context;

    expect(cascade_engine_stop(t->engine[0], DB_WAIT_MS) == CASCADE_OK);
    atomic_store(&t->other, 1);
    return NULL;
}

static void
a_further_stop_waits(test_db *db)
{
    till *t = open_till(db, CASCADE_MODE_THREADS);
    int64_t began_ms = 0;
    pthread_t thread;

    t->id = db_start(t->store[0], "stuck");
    assert_true(stores_until(one_is_stuck, t));
    stop_in_time(t);
    began_ms = csc_clock_monotonic_ms(&csc_clock_system);
    assert_fails(CASCADE_ERR_TIMEOUT,
                 cascade_engine_stop(t->engine[0], STOP_MS));
    assert_in_range(csc_clock_monotonic_ms(&csc_clock_system) - began_ms,
                    STOP_MS, BOUND_MS);
    assert_int_equal(pthread_create(&thread, NULL, stop_again, t), 0);
    atomic_store(&t->go, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(one_is_beside(t));
    close_stopped(t);
    take_over(t, &t->id, 1);
    till_close(t, 1);
}

/* ---- In a move of the transaction ---------------------------------------- */

static atomic_bool holds; /* the move is held up */
static atomic_bool reached;
static wrap_move held_move;

static cascade_err
hold_move(void *context, const wrap_call *call)
{
    (void)context;
    if (call->move == held_move && atomic_load(&holds)) {
        atomic_store(&reached, true);
        while (atomic_load(&holds))
            (void)nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return CASCADE_OK;
}

static bool
is_reached(void *context)
{
    (void)context;
    return atomic_load(&reached);
}

static bool
is_put_off(void *context)
{
    cascade_engine *engine = ((till *)context)->engine[0];
    bool put_off = false;

    pthread_mutex_lock(&engine->mutex);
    put_off = engine->txn.put_off;
    pthread_mutex_unlock(&engine->mutex);
    return put_off;
}

static till *
open_held(test_db *db, wrap_move move)
{
    till *t = create_till(db, CASCADE_MODE_THREADS, 1);

    held_move = move;
    atomic_store(&reached, false);
    atomic_store(&holds, true);
    atomic_store(&t->go, true);
    t->w.before = hold_move;
    (void)till_engine(t);
    t->id = db_start(t->store[0], "stuck");
    assert_true(stores_until(is_reached, t));
    return t;
}

/* It waits for another process's lock: nothing is begun behind it. */
static void
a_stop_while_a_transaction_begins(test_db *db)
{
    till *t = open_held(db, WRAP_BEGIN);

    stop_in_time(t);
    assert_int_equal(count_detached(t), 0);
    atomic_store(&holds, false);
    assert_ok(cascade_engine_stop(t->engine[0], DB_WAIT_MS));
    assert_int_equal(atomic_load(&t->entered), 0);
    close_stopped(t);
    assert_int_equal(count_detached(t), 1);
    assert_int_equal(wrap_store_count(&t->w.wrap, WRAP_ABANDON), 1);
    take_over(t, &t->id, 1);
    till_close(t, 1);
}

static void *
stop_late(void *context)
{
    till *t = context;

    (void)cascade_engine_stop(t->engine[0], STOP_MS);
    return NULL;
}

/* The outcome counts, however long it takes. */
static void
a_stop_while_a_transaction_commits(test_db *db)
{
    till *t = open_held(db, WRAP_FINISH);
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, stop_late, t), 0);
    assert_true(stores_until(is_put_off, t));
    assert_int_equal(count_detached(t), 0);
    atomic_store(&holds, false);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close_stopped(t);
    assert_int_equal(count_detached(t), 1);
    take_over(t, &t->id, 1);
    assert_int_equal(atomic_load(&t->entered), 1);
    till_close(t, 1);
}

/* The engine stops while it begins, and in time: that is no trouble. */
static void
nothing_begins_once_the_engine_stops(test_db *db)
{
    till *t = open_held(db, WRAP_BEGIN);
    size_t warnings = atomic_load(&db->warnings);

    cascade_engine_request_stop(t->engine[0]);
    atomic_store(&holds, false);
    assert_ok(cascade_engine_stop(t->engine[0], DB_WAIT_MS));
    assert_int_equal(atomic_load(&db->warnings), warnings);
    assert_int_equal(db_stats(t->engine[0]).attempts, 0);
    assert_int_equal(atomic_load(&t->entered), 0);
    close_stopped(t);
    assert_int_equal(wrap_store_count(&t->w.wrap, WRAP_ABANDON), 1);
    take_over(t, &t->id, 1);
    till_close(t, 1);
}

/* ---- Transactions apart ------------------------------------------------- */

/* No takeover waits for a function. */
static void
others_have_the_cascade_at_once(test_db *db)
{
    till *t = open_till(db, CASCADE_MODE_THREADS);

    t->id = db_start(t->store[0], "stuck");
    assert_true(stores_until(one_is_stuck, t));
    stop_in_time(t);
    assert_int_equal(count_detached(t), 1);
    take_over(t, &t->id, 1);
    assert_int_equal(atomic_load(&t->within), 1);
    atomic_store(&t->go, true);
    close_stopped(t);
    assert_int_equal(count_detached(t), 1);
    assert_int_equal(ledger_count(db, NULL), 1);
    till_close(t, 1);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"the_detachment_waits_for_the_function_with_threads",
         the_detachment_waits_for_the_function_threads, STORES_SQLITE},
        {"the_detachment_waits_for_the_function_in_a_loop",
         the_detachment_waits_for_the_function_loop, STORES_SQLITE},
        {"the_detachment_waits_for_the_function_inline",
         the_detachment_waits_for_the_function_inline, STORES_SQLITE},
        {"a_close_waits_for_the_loop", a_close_waits_for_the_loop,
         STORES_SQLITE},
        {"those_who_wait_for_the_lock_are_not_waited_for",
         those_who_wait_for_the_lock_are_not_waited_for, STORES_SQLITE},
        {"the_one_that_all_wait_for_is_named",
         the_one_that_all_wait_for_is_named, STORES_SQLITE},
        {"a_further_stop_waits", a_further_stop_waits, STORES_SQLITE},
        {"a_stop_while_a_transaction_begins", a_stop_while_a_transaction_begins,
         STORES_SQLITE},
        {"a_stop_while_a_transaction_commits",
         a_stop_while_a_transaction_commits, STORES_SQLITE},
        {"nothing_begins_once_the_engine_stops",
         nothing_begins_once_the_engine_stops, STORES_FILES},
        {"others_have_the_cascade_at_once", others_have_the_cascade_at_once,
         STORES_POSTGRES},
    };

    return stores_run("native_stop", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
