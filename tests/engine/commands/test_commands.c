/* SPDX-License-Identifier: MIT
 *
 * Commands: cancel, terminate and delete, of cascades that wait, run, have not
 * begun or have ended, with an engine alive and without one.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "cascade/manage.h"
#include "engine/support/play.h"
#include "store/store.h"

static const cascade_request_options because = {
    .size = sizeof(because), .request_id = "why", .reason = "no longer wanted"};

/* What the nodes of a play met. */
typedef struct course {
    atomic_int entered;
    atomic_int left;
    atomic_int tidied;
    atomic_int undone;
    _Atomic cascade_err errs[3];
} course;

static course *
course_of(void *user)
{
    return ((play *)user)->user;
}

/* The cascade has ended in ERROR with that text. */
static void
check_error(play *p, const char *error)
{
    cascade_snapshot *snapshot = NULL;

    play_await(p, &p->id, CASCADE_ERROR);
    snapshot = play_snapshot(p);
    assert_non_null(cascade_snapshot_error(snapshot));
    assert_string_equal(cascade_snapshot_error(snapshot), error);
    cascade_snapshot_free(snapshot);
}

static bool
is_deleted(void *context)
{
    const play *p = context;
    cascade_info *info = NULL;
    cascade_err err = cascade_get(p->store, &p->id, &info);

    cascade_info_free(info);
    return err == CASCADE_ERR_NOT_FOUND;
}

static void
until_deleted(play *p)
{
    if (p->mode != CASCADE_MODE_THREADS)
        assert_true(db_poll_until(p->db, &p->engine, 1, is_deleted, p));
    else
        assert_true(stores_until(is_deleted, p));
}

/* ---- Nodes -------------------------------------------------------------- */

static cascade_err
tidy(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)result;
    ((course *)arg)->tidied++;
    return CASCADE_OK;
}

/* Waits for what never comes; when it is cancelled it cleans up, and no wait
 * begins any more. */
static cascade_err
wait_and_tidy(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_err err = cascade_node_await(node, "never", -1, NULL);

    atomic_fetch_add(&c->entered, 1);
    if (err == CASCADE_SUSPENDED)
        return err;
    c->errs[0] = err;
    err = cascade_node_step(node, "tidy", tidy, c, NULL, NULL);
    if (err != CASCADE_OK)
        return err;
    c->errs[1] = cascade_node_sleep(node, "rest", 1);
    c->errs[2] =
        cascade_node_is_cancelled(node) ? CASCADE_OK : CASCADE_ERR_AGAIN;
    return CASCADE_ERR_CANCELLED;
}

static cascade_err
undo_it(cascade_node *node, void *user, const cJSON *input)
{
    (void)node;
    (void)input;
    course_of(user)->undone++;
    return CASCADE_OK;
}

/* Does something, and waits; when it is cancelled that is undone. */
static cascade_err
do_and_wait(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_err err = cascade_node_step(node, "do", tidy, c, NULL, NULL);

    if (err == CASCADE_OK)
        err = cascade_node_compensate(node, "undo", undo_it, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "never", -1, NULL);
    return err;
}

/* The others are due in a year, or after that. */
static cascade_err
spawn_for_later(cascade_node *node, void *user)
{
    const uint32_t both[] = {1, 2};
    cascade_spawn_options later = {.size = sizeof(later),
                                   .delay_ms = INT64_C(365) * 86400 * 1000};
    cascade_spawn_options joined = {
        .size = sizeof(joined), .after = both, .after_count = 2};
    cascade_err err = cascade_node_spawn(node, "counts", NULL, &later);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "counts", NULL, &later);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "counts", NULL, &joined);
    return err;
}

static cascade_err
count(cascade_node *node, void *user)
{
    (void)node;
    atomic_fetch_add(&course_of(user)->entered, 1);
    return CASCADE_OK;
}

/* Runs until it is told; what it spawns then does not begin. */
static cascade_err
run_until_told(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&c->entered, 1);
    while (!cascade_node_is_cancelled(node))
        (void)sched_yield();
    err = cascade_node_spawn(node, "counts", NULL, NULL);
    atomic_fetch_add(&c->left, 1);
    return err;
}

static bool
has_entered(void *context)
{
    return atomic_load(&((course *)context)->entered) > 0;
}

/* ---- Cancel ------------------------------------------------------------- */

static void
what_waits_is_cancelled_and_cleans_up(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"waits", wait_and_tidy}}, .user = &c};

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:never", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_cancel(p.store, &p.id, &because));
    check_error(&p, "cancelled: no longer wanted");
    assert_int_equal(c.tidied, 1);
    assert_int_equal(c.errs[0], CASCADE_ERR_CANCELLED);
    assert_int_equal(c.errs[1], CASCADE_ERR_CANCELLED);
    assert_int_equal(c.errs[2], CASCADE_OK);
    assert_int_equal(
        play_count(&p, "cascade.await:never", CASCADE_EXECUTION_FAILED), 1);
    assert_int_equal(play_count(&p, "cascade.cancel", CASCADE_EXECUTION_FAILED),
                     1);
    assert_int_equal(play_count(&p, "waits", CASCADE_EXECUTION_FAILED), 1);
    play_end(&p);
}

static void
what_was_done_is_undone_by_a_cancellation(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"does", do_and_wait}}, .user = &c};

    play_begin(&p, db, mode, "does");
    play_until(&p, "cascade.await:never", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_cancel(p.store, &p.id, &because));
    check_error(&p, "cancelled: no longer wanted");
    assert_int_equal(c.tidied, 1);
    assert_int_equal(c.undone, 1);
    assert_int_equal(
        play_count(&p, "cascade.undo:undo", CASCADE_EXECUTION_COMPLETED), 1);
    play_end(&p);
}

static void
what_is_parked_is_cancelled(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {
        .nodes = {{"waits", wait_and_tidy}}, .park_after_ms = 1, .user = &c};

    play_begin(&p, db, mode, "waits");
    play_until_parked(&p);
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    check_error(&p, "cancelled");
    assert_int_equal(c.tidied, 1);
    play_end(&p);
}

static void
what_has_not_begun_never_does(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"later", spawn_for_later}, {"counts", count}},
              .user = &c};

    play_begin(&p, db, mode, "later");
    play_until(&p, "later", CASCADE_EXECUTION_COMPLETED, 1);
    assert_ok(cascade_cancel(p.store, &p.id, &because));
    check_error(&p, "cancelled: no longer wanted");
    assert_int_equal(atomic_load(&c.entered), 0);
    assert_int_equal(play_count(&p, "counts", CASCADE_EXECUTION_FAILED), 3);
    play_end(&p);
}

static void
what_runs_is_told_and_spawns_nothing_more(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"runs", run_until_told}, {"counts", count}},
              .user = &c};

    play_begin(&p, db, CASCADE_MODE_THREADS, "runs");
    assert_true(stores_until(has_entered, &c));
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    check_error(&p, "cancelled");
    assert_int_equal(atomic_load(&c.left), 1);
    assert_int_equal(atomic_load(&c.entered), 1);
    assert_int_equal(play_count(&p, "runs", CASCADE_EXECUTION_COMPLETED), 1);
    assert_int_equal(play_count(&p, "counts", CASCADE_EXECUTION_FAILED), 1);
    play_end(&p);
}

/* The second without effect, or as undelivered. */
static bool
are_two_recorded(void *context)
{
    const play *p = context;

    return play_count(p, "cascade.cancel", CASCADE_EXECUTION_FAILED) +
               play_count(p, "cascade.cancel", CASCADE_EXECUTION_COMPLETED) ==
           2;
}

static void
a_second_cancellation_changes_nothing(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"waits", wait_and_tidy}}, .user = &c};
    cascade_err err = CASCADE_OK;

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:never", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_cancel(p.store, &p.id, &because));
    for (int i = 0; i < 2; i++) { /* the same one, and another one */
        err = cascade_cancel(p.store, &p.id, i == 0 ? &because : NULL);
        assert_true(err == CASCADE_OK || err == CASCADE_ERR_ENDED);
    }
    check_error(&p, "cancelled: no longer wanted");
    assert_int_equal(c.tidied, 1);
    if (p.mode != CASCADE_MODE_THREADS)
        assert_true(db_poll_until(db, &p.engine, 1, are_two_recorded, &p));
    else
        assert_true(stores_until(are_two_recorded, &p));
    play_end(&p);
}

/* ---- Terminate ---------------------------------------------------------- */

static void
what_waits_is_terminated(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"waits", wait_and_tidy}}, .user = &c};

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:never", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_terminate(p.store, &p.id, &because));
    check_error(&p, "terminated: no longer wanted");
    assert_int_equal(c.tidied, 0);
    assert_fails(CASCADE_ERR_ENDED, cascade_terminate(p.store, &p.id, NULL));
    play_until(&p, "cascade.terminate", CASCADE_EXECUTION_FAILED, 2);
    play_end(&p);
}

static void
what_runs_is_terminated_at_once(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"runs", run_until_told}, {"counts", count}},
              .user = &c};

    play_begin(&p, db, CASCADE_MODE_THREADS, "runs");
    assert_true(stores_until(has_entered, &c));
    assert_ok(cascade_terminate(p.store, &p.id, NULL));
    check_error(&p, "terminated");
    play_end(&p);
    assert_int_equal(atomic_load(&c.left), 1); /* it returned, too late */
    assert_int_equal(atomic_load(&c.entered), 1);
}

/* ---- Delete ------------------------------------------------------------- */

static void
what_has_ended_is_deleted(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"nothing", stores_nothing}}};

    play_run(&p, db, mode, "nothing", NULL, CASCADE_COMPLETED);
    assert_ok(cascade_delete(p.store, &p.id, NULL));
    until_deleted(&p);
    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_delete(p.store, &p.id, NULL));
    play_end(&p);
}

static void
what_waits_is_ended_and_deleted(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"waits", wait_and_tidy}}, .user = &c};

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:never", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_delete(p.store, &p.id, &because));
    until_deleted(&p);
    play_end(&p);
}

/* ---- Without an engine -------------------------------------------------- */

static void
the_caller_carries_it_out_where_no_engine_is_alive(test_db *db)
{
    play p = {.store = db_store(db), .db = db};

    p.id = db_start(p.store, "unknown");
    assert_ok(cascade_cancel(p.store, &p.id, &because));
    check_error(&p, "cancelled: no longer wanted");
    p.id = db_start(p.store, "unknown");
    assert_ok(cascade_terminate(p.store, &p.id, NULL));
    check_error(&p, "terminated");
    assert_ok(cascade_delete(p.store, &p.id, NULL));
    assert_true(is_deleted(&p));
    p.id = db_start(p.store, "unknown");
    assert_ok(cascade_delete(p.store, &p.id, NULL));
    assert_true(is_deleted(&p));
    db_close_store(db, p.store);
}

/* Two callers: the second calls while the engine of the first is there. */
typedef struct neighbour {
    cascade_store *store;
    cascade_uuid id;
    atomic_int called;
} neighbour;

/* Does not begin again when its own engine goes. */
static cascade_err
call_too(void *context, const wrap_call *call)
{
    neighbour *n = context;

    if (call->move == WRAP_DETACH && atomic_fetch_add(&n->called, 1) == 0)
        expect(cascade_cancel(n->store, &n->id, NULL) == CASCADE_OK);
    return CASCADE_OK;
}

/* Else it would wait for engines to come. */
static void
each_of_several_callers_carries_out_its_own(test_db *db)
{
    wrap_store *wrap = wrap_store_create(db->url);
    cascade_store *store = NULL;
    cascade_status status = CASCADE_RUNNING;
    static neighbour n; /* until the handle is closed, also after a failure */
    cascade_uuid id;

    assert_non_null(wrap);
    n.store = db_store(db);
    n.id = db_start(n.store, "unknown");
    atomic_store(&n.called, 0);
    store = db_wrapped(db, wrap);
    wrap->context = &n;
    wrap->before = call_too;
    id = db_start(store, "unknown");
    assert_ok(cascade_cancel(store, &id, NULL));
    db_await(store, &id, CASCADE_ERROR);
    assert_int_equal(atomic_load(&n.called), 1);
    assert_ok(cascade_wait(n.store, &n.id, 0, &status));
    assert_int_equal(status, CASCADE_ERROR);
    db_close_store(db, store);
    wrap_store_free(wrap);
}

#define CUT_OFF_MS 3000 /* less than the lease of an engine by default */

typedef struct leases {
    size_t count;
    int64_t most_ms;
} leases;

static cascade_err
note_lease(void *context, const cascade_incarnation *row)
{
    leases *l = context;

    if (l->count++ == 0 || row->lease_ms > l->most_ms)
        l->most_ms = row->lease_ms;
    return CASCADE_OK;
}

typedef struct doomed {
    cascade_store *store;
    cascade_uuid id;
} doomed;

/* A call whose time was over before it was through has left that to others. */
static bool
has_ended_cancelled(void *context)
{
    const doomed *d = context;
    cascade_err err = cascade_cancel(d->store, &d->id, NULL);

    assert_true(err == CASCADE_OK || err == CASCADE_ERR_ENDED);
    return cascade_wait(d->store, &d->id, 0, NULL) == CASCADE_OK;
}

/* Its process lives, so that only the lease can tell others. */
static void
a_caller_that_cannot_detach_is_in_the_way_for_its_deadline(test_db *db)
{
    wrap_store *wrap = wrap_store_create(db->url);
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;
    doomed d;
    leases left = {0};

    assert_non_null(wrap);
    wrap->inner_deadline_ms = DB_DEADLINE_MS; /* that of the calls is short */
    options.deadline_ms = CUT_OFF_MS;
    assert_ok(
        cascade_store_open_driver(&wrap->driver, wrap->url, &options, &store));
    d = (doomed){store, db_start(store, "unknown")};
    wrap_store_fail(wrap, WRAP_DETACH, 0, SIZE_MAX, WRAP_BEFORE,
                    CASCADE_ERR_UNAVAILABLE);
    assert_true(stores_until(has_ended_cancelled, &d));
    db_await(store, &d.id, CASCADE_ERROR);
    assert_ok(store->driver->engines(store->self, note_lease, &left, NULL));
    assert_true(left.count > 0);
    assert_true(left.most_ms <= CUT_OFF_MS);
    assert_ok(cascade_store_close(store));
    wrap_store_free(wrap);
}

/* ---- While the cancellation is committed -------------------------------- */

#define HOUR_MS (INT64_C(3600) * 1000)

/* A cancellation whose commit lasts until the node's time has come. */
typedef struct overlap {
    test_db *db;
    wrap_store *wrap;
    cascade_store *store;
    cascade_engine *engine;
    int64_t delay_ms;
    _Atomic int64_t before_ms; /* the node's time is behind that, */
    _Atomic int64_t due_ms;    /* and not behind that */
    atomic_bool caught;        /* the commit began before it */
    atomic_int begun;
} overlap;

static int64_t
store_now(cascade_store *store)
{
    int64_t now_ms = 0;

    expect(cascade_store_now(store, &now_ms) == CASCADE_OK);
    return now_ms;
}

static bool
is_due(void *context)
{
    const overlap *o = context;

    return store_now(o->store) >= atomic_load(&o->due_ms);
}

static cascade_err
hold_receipt(void *context, const wrap_call *call)
{
    overlap *o = context;
    cascade_engine_stats stats;
    size_t received = 0;

    for (size_t i = 0; call->batch != NULL && i < call->batch->change_count;
         i++)
        received += call->batch->changes[i].received_count;
    if (received == 0 || store_now(o->store) >= atomic_load(&o->before_ms))
        return CASCADE_OK;
    atomic_store(&o->caught, true);
    if (o->db->fake_time)
        fake_clock_advance(&o->db->clock, o->delay_ms);
    expect(stores_until(is_due, o));
    db_pass_rounds(o->store, o->wrap);
    stats = db_stats(o->engine);
    expect(stats.ready == 0 && stats.running == 0);
    return CASCADE_OK;
}

static cascade_err
count_begun(cascade_node *node, void *user)
{
    (void)node;
    atomic_fetch_add(&((overlap *)user)->begun, 1);
    return CASCADE_OK;
}

/* Starts a cascade that is to run later, and cancels it at once; where that was
 * too late, it may have run. */
static void
cancel_early(overlap *o)
{
    const cascade_start_options options = {.size = sizeof(options),
                                           .delay_ms = o->delay_ms};
    cascade_started started;
    cascade_status status = CASCADE_RUNNING;
    cascade_err err = CASCADE_OK;

    atomic_store(&o->begun, 0);
    atomic_store(&o->before_ms, store_now(o->store) + o->delay_ms);
    assert_ok(cascade_start(o->store, "late", NULL, &options, &started));
    atomic_store(&o->due_ms, store_now(o->store) + o->delay_ms);
    err = cascade_cancel(o->store, &started.id, NULL);
    assert_true(err == CASCADE_OK || err == CASCADE_ERR_ENDED);
    assert_ok(cascade_wait(o->store, &started.id, DB_WAIT_MS, &status));
    if (atomic_load(&o->caught))
        assert_int_equal(status, CASCADE_ERROR);
}

static void
open_late(overlap *o, test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 2,
                                            .poll_interval_ms = 20,
                                            .lease_ms = HOUR_MS,
                                            .park_after_ms = HOUR_MS};

    db->fake_time = db->backend->virtual_time;
    o->db = db;
    o->wrap = wrap_store_create(db->url);
    assert_non_null(o->wrap);
    atomic_store(&o->caught, false);
    o->wrap->context = o;
    o->wrap->before = hold_receipt;
    o->store = db_wrapped(db, o->wrap);
    o->engine = db_engine(db, o->store, &options);
    assert_ok(cascade_engine_register(o->engine, "late", count_begun, o, NULL));
    assert_ok(cascade_engine_start(o->engine));
}

/* Else its row would end, and be freed, under the function that runs. */
static void
what_is_being_cancelled_does_not_begin(test_db *db)
{
    static overlap o; /* the engine that a failed test leaves has it */

    open_late(&o, db);
    for (o.delay_ms = 200; !atomic_load(&o.caught); o.delay_ms *= 2) {
        assert_true(o.delay_ms < DB_WAIT_MS);
        cancel_early(&o);
    }
    assert_int_equal(atomic_load(&o.begun), 0);
    db_close_engine(db, o.engine);
    db_close_store(db, o.store);
    wrap_store_free(o.wrap);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(what_waits_is_cancelled_and_cleans_up)
PLAY_MODES(what_was_done_is_undone_by_a_cancellation)
PLAY_MODES(what_is_parked_is_cancelled)
PLAY_MODES(what_has_not_begun_never_does)
PLAY_MODES(a_second_cancellation_changes_nothing)
PLAY_MODES(what_waits_is_terminated)
PLAY_MODES(what_has_ended_is_deleted)
PLAY_MODES(what_waits_is_ended_and_deleted)

/* The store is not asked whether one is alive: only by the engine itself, now
 * and then. */
static void
an_engine_of_the_handle_is_known_to_be_alive(test_db *db)
{
    wrap_store *wrap = wrap_store_create(db->url);
    const cascade_engine_options options = {.size = sizeof(options),
                                            .poll_interval_ms = 60000};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_uuid id;
    size_t asked = 0;

    assert_non_null(wrap);
    store = db_wrapped(db, wrap);
    engine = db_engine(db, store, &options);
    assert_ok(
        cascade_engine_register(engine, "work", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "work");
    db_await(store, &id, CASCADE_COMPLETED);
    asked = wrap_store_count(wrap, WRAP_ENGINES);
    for (int i = 0; i < 100; i++)
        (void)cascade_pause(store, &id, NULL);
    assert_in_range(wrap_store_count(wrap, WRAP_ENGINES) - asked, 0, 50);
    db_close_engine(db, engine);
    asked = wrap_store_count(wrap, WRAP_ENGINES);
    (void)cascade_pause(store, &id, NULL);
    assert_true(wrap_store_count(wrap, WRAP_ENGINES) > asked);
    db_close_store(db, store);
    wrap_store_free(wrap);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(what_waits_is_cancelled_and_cleans_up),
        PLAY_TESTS(what_was_done_is_undone_by_a_cancellation),
        PLAY_TESTS(what_is_parked_is_cancelled),
        PLAY_TESTS(what_has_not_begun_never_does),
        {"an_engine_of_the_handle_is_known_to_be_alive",
         an_engine_of_the_handle_is_known_to_be_alive, STORES_ALL},
        {"what_runs_is_told_and_spawns_nothing_more",
         what_runs_is_told_and_spawns_nothing_more, STORES_ALL},
        PLAY_TESTS(a_second_cancellation_changes_nothing),
        PLAY_TESTS(what_waits_is_terminated),
        {"what_runs_is_terminated_at_once", what_runs_is_terminated_at_once,
         STORES_ALL},
        PLAY_TESTS(what_has_ended_is_deleted),
        PLAY_TESTS(what_waits_is_ended_and_deleted),
        {"the_caller_carries_it_out_where_no_engine_is_alive",
         the_caller_carries_it_out_where_no_engine_is_alive, STORES_ALL},
        {"each_of_several_callers_carries_out_its_own",
         each_of_several_callers_carries_out_its_own, STORES_ALL},
        {"a_caller_that_cannot_detach_is_in_the_way_for_its_deadline",
         a_caller_that_cannot_detach_is_in_the_way_for_its_deadline,
         STORES_ALL},
        {"what_is_being_cancelled_does_not_begin",
         what_is_being_cancelled_does_not_begin, STORES_ALL},
    };

    return stores_run("commands", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
