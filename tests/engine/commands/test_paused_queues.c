/* SPDX-License-Identifier: MIT
 *
 * Pause and resume of a queue: of its cascades nothing begins, in no engine,
 * and those of other queues do not care.
 */
#include <stdatomic.h>
#include <string.h>

#include "cascade/manage.h"
#include "engine/support/play.h"
#include "held/engine_state.h"
#include "held/run/pause.h"

/* One that is stopped for a while is not removed by the other. */
#define NEVER_MS (INT64_C(3600) * 1000)

static const char *const queues[] = {"default", "other"};

/* Two engines of two handles, that serve both queues. */
typedef struct pair {
    test_db *db;
    cascade_mode mode;
    cascade_store *stores[2];
    cascade_engine *engines[2];
    atomic_int begun;
    atomic_int stepped;
    atomic_bool holds; /* while a function is not to go on */
} pair;

static bool
goes_on(void *context)
{
    return !atomic_load(&((pair *)context)->holds);
}

/* With threads only where `holds` is set. */
static cascade_err
do_step(cascade_node *node, void *arg, cJSON **result)
{
    pair *p = arg;

    (void)node;
    (void)result;
    atomic_fetch_add(&p->stepped, 1);
    expect(stores_until(goes_on, p));
    return CASCADE_OK;
}

static cascade_err
work(cascade_node *node, void *user)
{
    pair *p = user;
    cascade_err err = cascade_node_step(node, "one", do_step, p, NULL, NULL);

    if (err == CASCADE_OK)
        err = cascade_node_step(node, "two", do_step, p, NULL, NULL);
    if (err == CASCADE_OK)
        atomic_fetch_add(&p->begun, 1);
    return err;
}

static cascade_err
wait_for_signal(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "go", -1, NULL);
}

static void
open_pair(pair *p, test_db *db, cascade_mode mode, size_t capacity)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = mode,
                                      .worker_count = 3,
                                      .lease_ms = NEVER_MS,
                                      .poll_interval_ms = 20,
                                      .capacity = capacity,
                                      .queues = queues,
                                      .queue_count = 2};

    p->db = db;
    p->mode = mode;
    db->fake_time = mode == CASCADE_MODE_INLINE && db->backend->virtual_time;
    for (int i = 0; i < 2; i++) {
        p->stores[i] = db_store(db);
        p->engines[i] = db_engine(db, p->stores[i], &options);
        assert_ok(
            cascade_engine_register(p->engines[i], "work", work, p, NULL));
        assert_ok(cascade_engine_register(p->engines[i], "waits",
                                          wait_for_signal, p, NULL));
        assert_ok(cascade_engine_start(p->engines[i]));
    }
}

static void
close_pair(pair *p)
{
    for (int i = 0; i < 2; i++)
        db_close_engine(p->db, p->engines[i]);
    for (int i = 0; i < 2; i++)
        db_close_store(p->db, p->stores[i]);
}

static void
play_on_pair(pair *p, bool (*done)(void *context), void *context)
{
    if (p->mode != CASCADE_MODE_THREADS)
        assert_true(db_poll_until(p->db, p->engines, 2, done, context));
    else
        assert_true(stores_until(done, context));
}

static cascade_uuid
start_in(pair *p, const char *node, const char *queue)
{
    cascade_start_options options = {.size = sizeof(options), .queue = queue};
    cascade_started started;

    assert_ok(cascade_start(p->stores[0], node, NULL, &options, &started));
    return started.id;
}

static void
await_pair(pair *p, const cascade_uuid *id, cascade_status status)
{
    db_ends ends = {p->stores[0], id, 1, 0};

    play_on_pair(p, db_all_ended, &ends);
    db_await(p->stores[0], id, status);
}

/* Whether no engine has it. */
typedef struct holding {
    pair *p;
    const cascade_uuid *id;
} holding;

static bool
is_given_up(void *context)
{
    const holding *h = context;
    cascade_info *info = NULL;
    bool free = false;

    assert_ok(cascade_get(h->p->stores[0], h->id, &info));
    free = info->has_run && !info->owned;
    cascade_info_free(info);
    return free;
}

/* Whether both engines know what is paused. */
typedef struct knowing {
    pair *p;
    const char *queue;
    bool paused;
} knowing;

static bool
is_known(void *context)
{
    const knowing *k = context;
    int known = 0;

    for (int i = 0; i < 2; i++) {
        cascade_engine *engine = k->p->engines[i];

        pthread_mutex_lock(&engine->mutex);
        known += csc_pause_is_on_queue(engine, k->queue) == k->paused;
        pthread_mutex_unlock(&engine->mutex);
    }
    return known == 2;
}

static void
pause_queue(pair *p, const char *queue)
{
    assert_ok(cascade_queue_pause(p->stores[1], queue, NULL));
    play_on_pair(p, is_known, &(knowing){p, queue, true});
}

static void
until_given_up(pair *p, const cascade_uuid *id)
{
    play_on_pair(p, is_given_up, &(holding){p, id});
}

/* ---- What is in it ------------------------------------------------------ */

static void
what_is_started_in_a_paused_queue_waits(test_db *db, cascade_mode mode)
{
    pair p = {.holds = false};
    cascade_uuid waiting[10];
    cascade_uuid other;

    open_pair(&p, db, mode, 100);
    pause_queue(&p, "default");
    assert_fails(CASCADE_ERR_EXISTS,
                 cascade_queue_pause(p.stores[0], "default", NULL));
    for (int i = 0; i < 10; i++)
        waiting[i] = start_in(&p, "work", "default");
    other = start_in(&p, "work", "other");
    await_pair(&p, &other, CASCADE_COMPLETED);
    for (int i = 0; i < 10; i++)
        until_given_up(&p, &waiting[i]);
    assert_int_equal(atomic_load(&p.stepped), 2);
    assert_ok(cascade_queue_resume(p.stores[0], "default"));
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_queue_resume(p.stores[0], "default"));
    for (int i = 0; i < 10; i++)
        await_pair(&p, &waiting[i], CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&p.begun), 11);
    close_pair(&p);
}

static void
commands_are_carried_out_in_a_paused_queue(test_db *db, cascade_mode mode)
{
    pair p = {.holds = false};
    cascade_uuid ids[3];

    open_pair(&p, db, mode, 100);
    pause_queue(&p, "other");
    for (int i = 0; i < 3; i++)
        ids[i] = start_in(&p, "waits", "other");
    assert_ok(cascade_cancel(p.stores[0], &ids[0], NULL));
    assert_ok(cascade_terminate(p.stores[1], &ids[1], NULL));
    assert_ok(cascade_signal(p.stores[0], &ids[2], "go", NULL, NULL));
    await_pair(&p, &ids[0], CASCADE_ERROR);
    await_pair(&p, &ids[1], CASCADE_ERROR);
    until_given_up(&p, &ids[2]);
    assert_ok(cascade_queue_resume(p.stores[0], "other"));
    await_pair(&p, &ids[2], CASCADE_COMPLETED);
    close_pair(&p);
}

/* ---- What runs just then ------------------------------------------------ */

static bool
have_begun(void *context)
{
    return atomic_load(&((pair *)context)->stepped) == 2;
}

static void
leave_at_the_next_step(test_db *db, size_t capacity)
{
    pair p = {.holds = true};
    cascade_uuid ids[2];

    open_pair(&p, db, CASCADE_MODE_THREADS, capacity);
    for (int i = 0; i < 2; i++)
        ids[i] = start_in(&p, "work", "default");
    play_on_pair(&p, have_begun, &p);
    pause_queue(&p, "default");
    atomic_store(&p.holds, false);
    for (int i = 0; i < 2; i++)
        until_given_up(&p, &ids[i]);
    assert_int_equal(atomic_load(&p.begun), 0);
    assert_ok(cascade_queue_resume(p.stores[0], "default"));
    for (int i = 0; i < 2; i++)
        await_pair(&p, &ids[i], CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&p.stepped), 4);
    close_pair(&p);
}

static void
what_runs_leaves_at_its_next_step(test_db *db)
{
    leave_at_the_next_step(db, 100);
}

/* Each holds one, and has no room for a claim, which would tell it. */
static void
an_engine_that_is_full_is_told_too(test_db *db)
{
    leave_at_the_next_step(db, 1);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(what_is_started_in_a_paused_queue_waits)
PLAY_MODES(commands_are_carried_out_in_a_paused_queue)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(what_is_started_in_a_paused_queue_waits),
        PLAY_TESTS(commands_are_carried_out_in_a_paused_queue),
        {"what_runs_leaves_at_its_next_step", what_runs_leaves_at_its_next_step,
         STORES_ALL},
        {"an_engine_that_is_full_is_told_too",
         an_engine_that_is_full_is_told_too, STORES_ALL},
    };

    return stores_run("paused_queues", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
