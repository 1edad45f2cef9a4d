/* SPDX-License-Identifier: MIT
 *
 * Who has the lanes of transactional nodes, and that none who waits for one is
 * forgotten.
 */
#include <string.h>
#include <time.h>

#include "base/data/map.h"
#include "cascade/manage.h"
#include "engine/support/till.h"
#include "held/engine_state.h"
#include "held/node_def.h"
#include "held/run/run.h"
#include "state/state.h"

#define HIGH 9
#define WORKERS 3

static void
pause_ms(int ms)
{
    const struct timespec pause = {ms / 1000, (ms % 1000) * 1000000L};

    (void)nanosleep(&pause, NULL);
}

static cascade_uuid
start_with(till *t, const char *node, const cascade_start_options *options)
{
    cascade_started started;

    assert_ok(cascade_start(t->store[0], node, NULL, options, &started));
    return started.id;
}

static bool
one_is_within(void *context)
{
    return atomic_load(&((till *)context)->within) > 0;
}

static cascade_err
block(cascade_node *node, void *user)
{
    till *t = user;

    (void)node;
    till_enter(t);
    till_block(&t->go);
    till_leave(t);
    return CASCADE_OK;
}

/* ---- Who is in it yet --------------------------------------------------- */

static atomic_bool settled;

/* With a store, after whose use others are woken. */
static cascade_err
pay_with_store(cascade_node *node, void *user)
{
    cascade_store *store = NULL;
    cascade_err err = cascade_node_store(node, &store);

    return err == CASCADE_OK ? till_pay(node, user) : err;
}

/* Whoever settles is slow to leave, and the next commit takes longer still. */
static cascade_err
linger(void *context, const wrap_call *call)
{
    (void)context;
    if (call->move == WRAP_SETTLE)
        atomic_store(&settled, true);
    if (call->move == WRAP_WAKE && atomic_load(&settled))
        pause_ms(200);
    if (call->move == WRAP_FINISH && atomic_load(&settled))
        pause_ms(600);
    return CASCADE_OK;
}

static void
a_lane_is_free_when_all_are_out_of_it(test_db *db)
{
    static const till_node nodes[] = {
        {"pay", pay_with_store, {.transactional = true, .backoff_ms = 1}}};
    till *t = till_create(db, CASCADE_MODE_LOOP, nodes, 1);
    cascade_uuid ids[2];

    atomic_store(&settled, false);
    t->options.transaction_count = 1;
    t->w.before = linger;
    (void)till_engine(t);
    wrap_store_fail(&t->w.wrap, WRAP_FINISH, 0, 1, WRAP_AFTER,
                    CASCADE_ERR_UNAVAILABLE);
    for (size_t i = 0; i < 2; i++)
        ids[i] = db_start(t->store[0], "pay");
    for (size_t i = 0; i < 2; i++)
        till_await(t, &ids[i], CASCADE_COMPLETED);
    assert_int_equal(wrap_store_count(&t->w.wrap, WRAP_SETTLE), 1);
    assert_int_equal(db_stats(t->engine[0]).fences, 0);
    assert_int_equal(ledger_count(db, NULL), 2);
    till_close(t, 2);
}

/* ---- Those that wait for one -------------------------------------------- */

static atomic_int held;
static atomic_bool release;

static cascade_err
hold(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    atomic_fetch_add(&held, 1);
    till_block(&release);
    return CASCADE_OK;
}

static bool
two_are_held(void *context)
{
    (void)context;
    return atomic_load(&held) == WORKERS - 1;
}

static bool
all_are_held(void *context)
{
    (void)context;
    return atomic_load(&held) == WORKERS;
}

static bool
two_wait(void *context)
{
    return db_stats(((till *)context)->engine[0]).ready == 2;
}

static bool
three_wait(void *context)
{
    return db_stats(((till *)context)->engine[0]).ready == 3;
}

/* The lane is free again, the first of the two that waited for it may have it,
 * and no worker is there to take it. */
static till *
open_with_two(test_db *db, cascade_uuid *first, cascade_uuid *second)
{
    static const till_node nodes[] = {
        {"slow", block, {.transactional = true}},
        {"pay", till_pay, {.transactional = true}},
        {"hold", hold, {0}}};
    const cascade_start_options high = {.size = sizeof(high), .priority = HIGH};
    till *t = till_create(db, CASCADE_MODE_THREADS, nodes, 3);

    atomic_store(&held, 0);
    atomic_store(&release, false);
    t->options.worker_count = WORKERS;
    t->options.transaction_count = 1;
    (void)till_engine(t);
    t->id = db_start(t->store[0], "slow");
    till_until(t, one_is_within, t);
    *first = db_start(t->store[0], "pay");
    *second = db_start(t->store[0], "pay");
    till_until(t, two_wait, t);
    (void)start_with(t, "hold", &high);
    (void)start_with(t, "hold", &high);
    till_until(t, two_are_held, NULL);
    (void)start_with(t, "hold", &high);
    till_until(t, three_wait, t);
    atomic_store(&t->go, true);
    till_until(t, all_are_held, NULL);
    return t;
}

static void
one_that_is_cancelled_lets_the_next_go_on(test_db *db)
{
    const cascade_request_options waits = {.size = sizeof(waits),
                                           .wait_ms = DB_WAIT_MS};
    cascade_uuid first;
    cascade_uuid second;
    till *t = open_with_two(db, &first, &second);

    assert_ok(cascade_cancel(t->store[0], &first, &waits));
    atomic_store(&release, true);
    till_await(t, &first, CASCADE_ERROR);
    till_await(t, &second, CASCADE_COMPLETED);
    till_close(t, 6);
}

static void
one_that_is_paused_lets_the_next_go_on(test_db *db)
{
    const cascade_request_options waits = {.size = sizeof(waits),
                                           .wait_ms = DB_WAIT_MS};
    cascade_uuid first;
    cascade_uuid second;
    till *t = open_with_two(db, &first, &second);

    assert_ok(cascade_pause(t->store[0], &first, &waits));
    atomic_store(&release, true);
    till_await(t, &second, CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, NULL), 1);
    till_close(t, 6);
}

static cascade_err
note_order(cascade_node *node, void *user)
{
    till *t = user;
    int at = atomic_fetch_add(&t->other, 1);

    if (cascade_node_input_text(node)[0] == '9')
        expect(at == 0);
    return CASCADE_OK;
}

static bool
four_are_noted(void *context)
{
    return atomic_load(&((till *)context)->other) == 4;
}

static bool
four_wait(void *context)
{
    return db_stats(((till *)context)->engine[0]).ready == 4;
}

static void
the_most_urgent_goes_on_first(test_db *db)
{
    static const till_node nodes[] = {
        {"slow", block, {.transactional = true}},
        {"note", note_order, {.transactional = true}}};
    till *t = till_create(db, CASCADE_MODE_THREADS, nodes, 2);
    cascade_uuid ids[4];

    t->options.transaction_count = 1;
    (void)till_engine(t);
    t->id = db_start(t->store[0], "slow");
    till_until(t, one_is_within, t);
    for (int i = 0; i < 4; i++) {
        const int priority = i == 3 ? HIGH : 1;
        const cascade_start_options options = {.size = sizeof(options),
                                               .priority = priority};
        cascade_started started;

        assert_ok(cascade_start(t->store[0], "note",
                                cJSON_CreateNumber(priority), &options,
                                &started));
        ids[i] = started.id;
    }
    till_until(t, four_wait, t);
    atomic_store(&t->go, true);
    till_until(t, four_are_noted, t);
    for (int i = 0; i < 4; i++)
        till_await(t, &ids[i], CASCADE_COMPLETED);
    till_close(t, 5);
}

/* ---- Those that do not return ------------------------------------------- */

static bool
has_ended(void *context)
{
    till *t = context;
    cascade_info *info = NULL;
    bool ended = false;

    assert_ok(cascade_get(t->store[0], &t->id, &info));
    ended = info->status != CASCADE_RUNNING;
    cascade_info_free(info);
    return ended;
}

/* Commands and the cascade's deadline wait until its transaction could not be
 * committed any more, and no longer. */
static void
one_that_is_stuck_is_terminated(test_db *db)
{
    static const till_node nodes[] = {{"stuck",
                                       block,
                                       {.transactional = true,
                                        .attempts_max = -1,
                                        .transaction_max_ms = 200}}};
    till *t = till_open(db, CASCADE_MODE_THREADS, nodes, 1);

    t->id = db_start(t->store[0], "stuck");
    till_until(t, one_is_within, t);
    assert_ok(cascade_terminate(t->store[0], &t->id, NULL));
    till_until(t, has_ended, t);
    atomic_store(&t->go, true);
    till_close(t, 1);
}

static void
one_that_is_stuck_has_the_deadline_of_its_cascade(test_db *db)
{
    static const till_node nodes[] = {
        {"stuck", block, {.transactional = true, .transaction_max_ms = 200}}};
    const cascade_start_options soon = {.size = sizeof(soon),
                                        .deadline_ms = 400};
    till *t = till_open(db, CASCADE_MODE_THREADS, nodes, 1);

    t->id = start_with(t, "stuck", &soon);
    till_until(t, has_ended, t);
    atomic_store(&t->go, true);
    till_close(t, 1);
}

/* The one cascade there is. */
static bool
deadline_is_seen(void *context)
{
    cascade_engine *engine = ((till *)context)->engine[0];
    const csc_run *run = NULL;
    const csc_exec *exec = NULL;
    size_t at = 0;
    bool seen = false;

    pthread_mutex_lock(&engine->mutex);
    run = csc_map_next(&engine->runs, &at);
    exec = run != NULL ? csc_view_find(&run->state, 0) : NULL;
    seen = exec == NULL ||
           engine->clock.confirmed_ms >=
               exec->recorded_ms +
                   csc_node_def_find(engine, exec->name)->limits.deadline_ms;
    pthread_mutex_unlock(&engine->mutex);
    return seen;
}

static cascade_err
begin_late(void *context, const wrap_call *call)
{
    if (call->move == WRAP_BEGIN)
        expect(stores_until(deadline_is_seen, context));
    return CASCADE_OK;
}

/* It is not even called. Where the deadline passes before that, it is tried
 * again with one that is longer. */
static void
a_deadline_passes_while_the_transaction_begins(test_db *db)
{
    static const till_node nodes[] = {
        {"0", block, {.transactional = true, .deadline_ms = 300}},
        {"1", block, {.transactional = true, .deadline_ms = 3000}},
        {"2", block, {.transactional = true, .deadline_ms = 30000}}};
    till *t = till_create(db, CASCADE_MODE_THREADS, nodes, 3);
    size_t at = 0;

    t->w.before = begin_late;
    (void)till_engine(t);
    while (wrap_store_count(&t->w.wrap, WRAP_BEGIN) == 0) {
        assert_true(at < 3);
        till_run(t, nodes[at++].name, CASCADE_ERROR);
    }
    assert_int_equal(atomic_load(&t->entered), 0);
    till_check(t, 0, 1, "deadline passed");
    atomic_store(&t->go, true);
    till_close(t, 1);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_lane_is_free_when_all_are_out_of_it",
         a_lane_is_free_when_all_are_out_of_it, STORES_FILES},
        {"one_that_is_cancelled_lets_the_next_go_on",
         one_that_is_cancelled_lets_the_next_go_on, STORES_POSTGRES},
        {"one_that_is_paused_lets_the_next_go_on",
         one_that_is_paused_lets_the_next_go_on, STORES_POSTGRES},
        {"the_most_urgent_goes_on_first", the_most_urgent_goes_on_first,
         STORES_POSTGRES},
        {"one_that_is_stuck_is_terminated", one_that_is_stuck_is_terminated,
         STORES_POSTGRES},
        {"one_that_is_stuck_has_the_deadline_of_its_cascade",
         one_that_is_stuck_has_the_deadline_of_its_cascade, STORES_POSTGRES},
        {"a_deadline_passes_while_the_transaction_begins",
         a_deadline_passes_while_the_transaction_begins, STORES_FILES},
    };

    return stores_run("native_lanes", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
