/* SPDX-License-Identifier: MIT
 *
 * Pause and resume of a cascade: nothing of what is paused begins, whatever
 * comes for it, and afterwards it goes on as if it had not been.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/data/map.h"
#include "cascade/manage.h"
#include "engine/support/peer.h"
#include "engine/support/play.h"
#include "held/engine_state.h"
#include "held/run/run.h"
#include "state/state.h"

#define STEPS 4
#define FANS 100

static const cascade_request_options received = {.size = sizeof(received),
                                                 .wait_ms = -1};
static const cascade_request_options because = {
    .size = sizeof(because), .request_id = "why", .reason = "to look at it"};

/* What the nodes of a play did. */
typedef struct course {
    atomic_int entered;
    atomic_int begun;
    atomic_int inside; /* functions that wait for their pause */
    atomic_int ran[STEPS];
    atomic_int pause_at;   /* the step that pauses its cascade */
    uint64_t received_min; /* messages, when the pause has been heard */
    int runs;              /* that continue as new */
    int sleep_ms;
} course;

static course *
course_of(void *user)
{
    return ((play *)user)->user;
}

static bool
is_paused(void *context)
{
    const play *p = context;
    cascade_info *info = NULL;
    bool paused = false;

    assert_ok(cascade_get(p->store, &p->id, &info));
    assert_string_equal(info->needs, "");
    paused = info->paused;
    cascade_info_free(info);
    return paused;
}

/* Its engine has heard so too, and it is in no function any more. */
static bool
is_at_rest(void *context)
{
    const play *p = context;
    cascade_engine_stats stats = db_stats(p->engine);

    return is_paused(context) && stats.running == 0 &&
           stats.messages >= ((course *)p->user)->received_min;
}

/* Whether another cascade, of a node that does nothing, has come and gone. */
static void
let_time_pass(play *p)
{
    cascade_uuid other = db_start(p->store, "nothing");

    play_await(p, &other, CASCADE_COMPLETED);
}

static void
pause_it(play *p)
{
    assert_ok(cascade_pause(p->store, &p->id, NULL));
    play_on(p, is_paused, p);
}

static void
resume_it(play *p, cascade_status status)
{
    assert_ok(cascade_resume(p->store, &p->id, NULL));
    play_await(p, &p->id, status);
}

/* ---- Nodes -------------------------------------------------------------- */

typedef struct place {
    play *p;
    int step;
} place;

static cascade_err
count_step(cascade_node *node, void *arg, cJSON **result)
{
    const place *at = arg;
    course *c = at->p->user;
    const cascade_uuid *id = cascade_node_cascade_id(node);

    (void)result;
    atomic_fetch_add(&c->ran[at->step], 1);
    if (at->step == c->pause_at)
        expect(cascade_pause(at->p->store, id, NULL) == CASCADE_OK);
    return CASCADE_OK;
}

static cascade_err
line(cascade_node *node, void *user)
{
    static const char *const names[STEPS] = {"a", "b", "c", "d"};
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&course_of(user)->entered, 1);
    for (int i = 0; i < STEPS && err == CASCADE_OK; i++)
        err = cascade_node_step(node, names[i], count_step, &(place){user, i},
                                NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "go", -1, NULL);
    return err;
}

static cascade_err
wait_for_signal(cascade_node *node, void *user)
{
    atomic_fetch_add(&course_of(user)->entered, 1);
    return cascade_node_await(node, "go", -1, NULL);
}

static cascade_err
sleep_a_little(cascade_node *node, void *user)
{
    atomic_fetch_add(&course_of(user)->entered, 1);
    return cascade_node_sleep(node, "little", course_of(user)->sleep_ms);
}

static cascade_err
sleep_longer(cascade_node *node, void *user)
{
    return cascade_node_sleep(node, "longer", 2 * course_of(user)->sleep_ms);
}

static cascade_err
fan_out(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_spawn(node, "waits", NULL, NULL);

    (void)user;
    for (int i = 0; i < FANS && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, "fan", NULL, NULL);
    return err;
}

static cascade_err
do_nothing(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)arg;
    (void)result;
    return CASCADE_OK;
}

/* Counts those that come to their end. */
static cascade_err
fan(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&c->begun, 1);
    err = cascade_node_step(node, "one", do_nothing, NULL, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "two", do_nothing, NULL, NULL, NULL);
    if (err == CASCADE_OK)
        atomic_fetch_add(&c->ran[0], 1);
    return err;
}

static cascade_err
wait_for_child(cascade_node *node, void *user)
{
    cascade_uuid child;
    cascade_err err =
        cascade_node_start_child(node, "left", "waits", NULL, NULL, &child);

    atomic_fetch_add(&course_of(user)->begun, 1);
    return err == CASCADE_OK ? cascade_node_await_child(node, &child, NULL)
                             : err;
}

static bool
is_recorded(void *context)
{
    return play_count(context, "cascade.pause", CASCADE_EXECUTION_COMPLETED) >
           0;
}

/* Whether the engine has heard that it is: others may see it a little sooner,
 * and what is ready begins till then. */
static bool
is_heard(void *context)
{
    const play *p = context;
    const csc_run *run = NULL;
    bool heard = false;

    pthread_mutex_lock(&p->engine->mutex);
    run = csc_map_get(&p->engine->runs, &p->id);
    heard = run == NULL || csc_view_is_paused(&run->state);
    pthread_mutex_unlock(&p->engine->mutex);
    return heard && is_recorded(context);
}

/* Until the pause is recorded, and the engine knows; with threads only. */
static void
wait_until_paused(cascade_node *node, const play *p)
{
    play own = {.store = p->store,
                .engine = p->engine,
                .id = *cascade_node_cascade_id(node)};
    course *c = p->user;

    atomic_fetch_add(&c->inside, 1);
    expect(stores_until(is_heard, &own));
    atomic_fetch_sub(&c->inside, 1);
}

static bool
is_inside(void *context)
{
    return atomic_load(&course_of(context)->inside) > 0;
}

/* Pauses it while a function runs that waits for that. */
static void
pause_inside(play *p)
{
    play_on(p, is_inside, p);
    pause_it(p);
}

static cascade_err
spawn_when_paused(cascade_node *node, void *user)
{
    wait_until_paused(node, user);
    return cascade_node_spawn(node, "counts", NULL, NULL);
}

static cascade_err
count(cascade_node *node, void *user)
{
    (void)node;
    atomic_fetch_add(&course_of(user)->begun, 1);
    return CASCADE_OK;
}

static cascade_err
spawn_many(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_spawn(node, "holds", NULL, NULL);

    (void)user;
    for (int i = 0; i < 20 && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, "counts", NULL, NULL);
    return err;
}

static cascade_err
hold(cascade_node *node, void *user)
{
    wait_until_paused(node, user);
    return CASCADE_OK;
}

/* Continues as new when it is paused, and then ends. */
static cascade_err
continue_when_paused(cascade_node *node, void *user)
{
    course *c = course_of(user);

    if (atomic_fetch_add(&c->begun, 1) > 0)
        return CASCADE_OK;
    wait_until_paused(node, user);
    return cascade_node_continue_as_new(node, NULL, NULL);
}

/* ---- What is paused ----------------------------------------------------- */

/* Wherever it is, each step runs once. */
static void
a_line_is_paused_anywhere(test_db *db, cascade_mode mode)
{
    course c = {.pause_at = -1};
    play p = {.nodes = {{"line", line}, {"nothing", stores_nothing}},
              .user = &c};

    play_open(&p, db, mode);
    for (int at = 0; at < STEPS; at++) {
        int entered = 0;

        atomic_store(&c.entered, 0);
        for (int i = 0; i < STEPS; i++)
            atomic_store(&c.ran[i], 0);
        atomic_store(&c.pause_at, at);
        c.received_min += at == 0 ? 1 : 3; /* a pause, a signal, a resumption */
        p.id = db_start(p.store, "line");
        play_on(&p, is_at_rest, &p);
        assert_int_equal(atomic_load(&c.ran[at]), 1);
        entered = atomic_load(&c.entered);
        assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
        let_time_pass(&p);
        play_on(&p, is_paused, &p);
        assert_int_equal(atomic_load(&c.entered), entered);
        resume_it(&p, CASCADE_COMPLETED);
        for (int i = 0; i < STEPS; i++)
            assert_int_equal(atomic_load(&c.ran[i]), 1);
    }
    play_end(&p);
}

static void
a_signal_is_received_by_what_is_paused(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"waits", wait_for_signal}}, .user = &c};

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    pause_it(&p);
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_COMPLETED, 1);
    play_on(&p, is_paused, &p);
    assert_int_equal(atomic_load(&c.entered), 1);
    resume_it(&p, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&c.entered), 2);
    play_end(&p);
}

static cascade_uuid
find_child(const play *p)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    const cascade_execution_info *child = NULL;
    cJSON *record = NULL;
    cascade_uuid id;

    for (size_t i = 0; child == NULL; i++)
        if (strcmp(play_execution(snapshot, i)->node_name,
                   "cascade.child:left") == 0)
            child = play_execution(snapshot, i);
    record = cJSON_Parse(child->full_output);
    assert_ok(cascade_uuid_parse(
        cJSON_GetStringValue(cJSON_GetObjectItem(record, "child")), &id));
    cJSON_Delete(record);
    cascade_snapshot_free(snapshot);
    return id;
}

static void
a_child_goes_on_and_its_end_is_received(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"parent", wait_for_child}, {"waits", wait_for_signal}},
              .user = &c};
    cascade_uuid child;

    play_begin(&p, db, mode, "parent");
    play_until(&p, "cascade.child:left", CASCADE_EXECUTION_RUNNING, 1);
    pause_it(&p);
    child = find_child(&p);
    assert_ok(cascade_signal(p.store, &child, "go", NULL, NULL));
    play_await(&p, &child, CASCADE_COMPLETED);
    play_until(&p, "cascade.child:left", CASCADE_EXECUTION_COMPLETED, 1);
    play_on(&p, is_paused, &p);
    assert_true(atomic_load(&c.begun) <= 2);
    assert_int_equal(play_count(&p, "parent", CASCADE_EXECUTION_RUNNING), 1);
    resume_it(&p, CASCADE_COMPLETED);
    play_end(&p);
}

static bool
is_paused_or_over(void *context)
{
    const play *p = context;
    cascade_info *info = NULL;
    bool rests = false;

    assert_ok(cascade_get(p->store, &p->id, &info));
    rests = info->paused || info->status != CASCADE_RUNNING;
    cascade_info_free(info);
    return rests;
}

/* False when the sleep was over before the pause came. */
static bool
sleep_while_paused(test_db *db, cascade_mode mode, int sleep_ms)
{
    static const char *const sleep = "cascade.sleep:little";
    course c = {.sleep_ms = sleep_ms};
    play p = {.nodes = {{"sleeps", sleep_a_little}, {"longer", sleep_longer}},
              .user = &c};
    cascade_uuid other;
    bool in_time = false;

    play_begin(&p, db, mode, "sleeps");
    (void)cascade_pause(p.store, &p.id, NULL);
    play_on(&p, is_paused_or_over, &p);
    in_time = is_paused(&p) &&
              play_count(&p, sleep, CASCADE_EXECUTION_COMPLETED) == 0;
    if (in_time) {
        other = db_start(p.store, "longer");
        play_await(&p, &other, CASCADE_COMPLETED);
        assert_true(is_paused(&p));
        assert_true(atomic_load(&c.entered) <= 1);
        assert_int_equal(play_count(&p, sleep, CASCADE_EXECUTION_COMPLETED), 0);
        resume_it(&p, CASCADE_COMPLETED);
    }
    play_end(&p);
    return in_time;
}

/* A pause that came too late shows nothing: again, with more time. */
static void
until_in_time(test_db *db, cascade_mode mode,
              bool (*try)(test_db *db, cascade_mode mode, int ms), int ms)
{
    while (!try(db, mode, ms)) {
        assert_true(ms < DB_WAIT_MS);
        ms *= 2;
    }
}

static void
a_sleep_does_not_end_while_it_is_paused(test_db *db, cascade_mode mode)
{
    until_in_time(db, mode, sleep_while_paused, 30);
}

static void
many_are_paused_and_go_on(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {
        .nodes = {{"fans", fan_out}, {"fan", fan}, {"waits", wait_for_signal}},
        .user = &c};

    play_begin(&p, db, mode, "fans");
    play_until(&p, "cascade.step:one", CASCADE_EXECUTION_COMPLETED, 5);
    assert_ok(cascade_pause(p.store, &p.id, NULL));
    play_on(&p, is_paused, &p);
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    resume_it(&p, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&c.ran[0]), FANS);
    assert_int_equal(
        play_count(&p, "cascade.step:one", CASCADE_EXECUTION_COMPLETED), FANS);
    play_end(&p);
}

static void
twice_is_as_once(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"waits", wait_for_signal}}, .user = &c};

    play_begin(&p, db, mode, "waits");
    pause_it(&p);
    assert_ok(cascade_pause(p.store, &p.id, &because));
    assert_ok(cascade_pause(p.store, &p.id, &because));
    play_until(&p, "cascade.pause", CASCADE_EXECUTION_COMPLETED, 2);
    play_on(&p, is_paused, &p);
    assert_ok(cascade_resume(p.store, &p.id, NULL));
    assert_ok(cascade_resume(p.store, &p.id, NULL));
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL)); /* it ends */
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_int_equal(
        play_count(&p, "cascade.pause", CASCADE_EXECUTION_COMPLETED), 2);
    assert_fails(CASCADE_ERR_ENDED, cascade_pause(p.store, &p.id, NULL));
    play_until(&p, "cascade.pause", CASCADE_EXECUTION_FAILED, 1);
    play_end(&p);
}

static void
a_cancellation_ends_the_pause(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"waits", wait_for_signal}}, .user = &c};

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    pause_it(&p);
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_int_equal(atomic_load(&c.entered), 2);
    play_end(&p);
}

static void
what_is_paused_is_terminated(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"waits", wait_for_signal}}, .user = &c};

    play_begin(&p, db, mode, "waits");
    pause_it(&p);
    assert_ok(cascade_terminate(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    play_end(&p);
}

/* ---- Limits ------------------------------------------------------------- */

/* Whether the pause was received before the cascade ended. */
static bool
end_while_paused(play *p)
{
    cascade_err err = cascade_pause(p->store, &p->id, NULL);

    assert_true(err == CASCADE_OK || err == CASCADE_ERR_ENDED);
    play_await(p, &p->id, CASCADE_ERROR);
    return play_count(p, "cascade.pause", CASCADE_EXECUTION_COMPLETED) == 1;
}

static bool
overrun_while_paused(test_db *db, cascade_mode mode, int deadline_ms)
{
    course c = {0};
    play p = {.nodes = {{"waits", wait_for_signal}}, .user = &c};
    cascade_start_options limited = {.size = sizeof(limited),
                                     .deadline_ms = deadline_ms};
    cascade_started started;
    cascade_snapshot *snapshot = NULL;
    bool in_time = false;

    play_open(&p, db, mode);
    assert_ok(cascade_start(p.store, "waits", NULL, &limited, &started));
    p.id = started.id;
    in_time = end_while_paused(&p);
    snapshot = play_snapshot(&p);
    assert_non_null(strstr(cascade_snapshot_error(snapshot), "deadline"));
    cascade_snapshot_free(snapshot);
    play_end(&p);
    return in_time;
}

static void
a_deadline_passes_while_it_is_paused(test_db *db, cascade_mode mode)
{
    until_in_time(db, mode, overrun_while_paused, 100);
}

/* Otherwise whoever lets it go on would see nothing happen. */
static void
what_is_retried_is_not_paused(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"waits", wait_for_signal}}, .user = &c};

    play_begin(&p, db, mode, "waits");
    pause_it(&p);
    assert_ok(cascade_terminate(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_ok(cascade_retry(p.store, &p.id, NULL));
    play_until(&p, "cascade.retry", CASCADE_EXECUTION_COMPLETED, 1);
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_end(&p);
}

/* What is run again from before the pause is not paused. */
static void
a_pause_that_is_superseded_is_over(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"waits", wait_for_signal}}, .user = &c};
    const cascade_rerun_options whole = {.size = sizeof(whole)};

    play_begin(&p, db, mode, "waits");
    pause_it(&p);
    assert_ok(cascade_rerun(p.store, &p.id, &whole));
    play_until(&p, "cascade.rerun", CASCADE_EXECUTION_COMPLETED, 1);
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_end(&p);
}

static bool
wait_outside_while_paused(test_db *db, cascade_mode mode, int timeout_ms)
{
    play p = {.externals = {{"outside", {.timeout_ms = timeout_ms}}}};
    bool in_time = false;

    play_begin(&p, db, mode, "outside");
    in_time = end_while_paused(&p);
    play_end(&p);
    return in_time;
}

static void
what_waits_outside_is_overdue_though_it_is_paused(test_db *db,
                                                  cascade_mode mode)
{
    until_in_time(db, mode, wait_outside_while_paused, 100);
}

/* ---- What runs just then ------------------------------------------------ */

static void
what_returns_is_recorded_and_what_it_spawned_waits(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"spawns", spawn_when_paused}, {"counts", count}},
              .user = &c};

    play_open(&p, db, CASCADE_MODE_THREADS);
    p.id = db_start(p.store, "spawns");
    play_on(&p, is_inside, &p);
    assert_ok(cascade_pause(p.store, &p.id, NULL));
    play_until(&p, "counts", CASCADE_EXECUTION_RUNNING, 1);
    play_on(&p, is_paused, &p);
    assert_int_equal(play_count(&p, "spawns", CASCADE_EXECUTION_COMPLETED), 1);
    assert_int_equal(atomic_load(&c.begun), 0);
    resume_it(&p, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&c.begun), 1);
    play_end(&p);
}

/* One worker is held until the pause is recorded. */
static void
what_was_ready_is_taken_back(test_db *db)
{
    course c = {0};
    play p = {
        .nodes = {{"spawns", spawn_many}, {"holds", hold}, {"counts", count}},
        .user = &c,
        .worker_count = 1};

    play_open(&p, db, CASCADE_MODE_THREADS);
    p.id = db_start(p.store, "spawns");
    play_until(&p, "counts", CASCADE_EXECUTION_RUNNING, 20);
    pause_inside(&p);
    assert_int_equal(play_count(&p, "holds", CASCADE_EXECUTION_COMPLETED), 1);
    assert_int_equal(atomic_load(&c.begun), 0);
    resume_it(&p, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&c.begun), 20);
    play_end(&p);
}

static cascade_err
step_until_paused(cascade_node *node, void *arg, cJSON **result)
{
    (void)result;
    wait_until_paused(node, arg);
    return CASCADE_OK;
}

static cascade_err
step_twice(cascade_node *node, void *user)
{
    cascade_err err =
        cascade_node_step(node, "first", step_until_paused, user, NULL, NULL);

    if (err == CASCADE_OK)
        err = cascade_node_step(node, "next", do_nothing, NULL, NULL, NULL);
    return err;
}

static cascade_err
step_and_sleep(cascade_node *node, void *user)
{
    cascade_err err =
        cascade_node_step(node, "first", step_until_paused, user, NULL, NULL);

    if (err == CASCADE_OK)
        err = cascade_node_sleep(node, "next", 1);
    return err;
}

static cascade_err
step_and_tell_version(cascade_node *node, void *user)
{
    int version = 0;
    cascade_err err =
        cascade_node_step(node, "first", step_until_paused, user, NULL, NULL);

    if (err == CASCADE_OK)
        err = cascade_node_version(node, "next", 1, 1, &version);
    return err;
}

static void
what_runs_leaves_at_its_next_part(test_db *db)
{
    static const char *const nodes[] = {"step", "sleep", "version"};
    static const char *const parts[] = {
        "cascade.step:next", "cascade.sleep:next", "cascade.version:next"};
    course c = {0};
    play p = {.nodes = {{"step", step_twice},
                        {"sleep", step_and_sleep},
                        {"version", step_and_tell_version}},
              .user = &c};

    play_open(&p, db, CASCADE_MODE_THREADS);
    for (size_t i = 0; i < 3; i++) {
        p.id = db_start(p.store, nodes[i]);
        pause_inside(&p);
        assert_int_equal(
            play_count(&p, parts[i], CASCADE_EXECUTION_COMPLETED) +
                play_count(&p, parts[i], CASCADE_EXECUTION_RUNNING),
            0);
        assert_int_equal(
            play_count(&p, "cascade.step:first", CASCADE_EXECUTION_COMPLETED),
            1);
        resume_it(&p, CASCADE_COMPLETED);
        assert_int_equal(play_count(&p, parts[i], CASCADE_EXECUTION_COMPLETED),
                         1);
    }
    play_end(&p);
}

static bool
has_continued(void *context)
{
    return play_count(context, "continues", CASCADE_EXECUTION_COMPLETED) > 0;
}

static void
the_next_run_is_paused_too(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"continues", continue_when_paused}}, .user = &c};
    cascade_start_options keyed = {.size = sizeof(keyed), .key = "k"};
    cascade_started started;

    play_open(&p, db, CASCADE_MODE_THREADS);
    assert_ok(cascade_start(p.store, "continues", NULL, &keyed, &started));
    p.id = started.id;
    play_on(&p, is_inside, &p);
    assert_ok(cascade_pause(p.store, &p.id, NULL));
    play_on(&p, has_continued, &p);
    assert_ok(cascade_start(p.store, "continues", NULL, &keyed, &started));
    assert_true(started.existed);
    assert_memory_not_equal(&started.id, &p.id, sizeof(p.id));
    p.id = started.id;
    play_on(&p, is_paused, &p);
    assert_int_equal(atomic_load(&c.begun), 1);
    resume_it(&p, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&c.begun), 2);
    play_end(&p);
}

/* ---- Whoever holds it --------------------------------------------------- */

static void
it_stays_paused_from_engine_to_engine(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {
        .nodes = {{"waits", wait_for_signal}, {"nothing", stores_nothing}},
        .user = &c};
    cascade_uuid id;

    p.store = db_store(db);
    id = db_start(p.store, "waits");
    p.id = id;
    assert_ok(cascade_pause(p.store, &p.id, &received));
    assert_true(is_paused(&p));
    play_open(&p, db, mode);
    let_time_pass(&p);
    play_on(&p, is_paused, &p);
    play_end(&p);
    play_open(&p, db, mode);
    let_time_pass(&p);
    play_on(&p, is_paused, &p);
    assert_int_equal(atomic_load(&c.entered), 0);
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    resume_it(&p, CASCADE_COMPLETED);
    assert_true(atomic_load(&c.entered) > 0);
    play_end(&p);
}

/* While a suspect is held nothing else is claimed: a pause is no reason to
 * hold it. */
static void
a_suspect_that_is_paused_is_let_go(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {
        .nodes = {{"waits", wait_for_signal}, {"nothing", stores_nothing}},
        .user = &c};
    cascade_uuid id;
    cascade_uuid peer;

    p.store = db_store(db);
    id = db_start(p.store, "waits");
    for (int32_t deaths = 0; deaths < 3; deaths++) {
        peer = peer_own(p.store, "waits", deaths);
        peer_remove(p.store, &peer);
    }
    peer = peer_attach(p.store, PEER_NEVER_MS); /* so that the command waits */
    assert_ok(cascade_pause(p.store, &id, NULL));
    play_open(&p, db, mode);
    p.id = id;
    play_on(&p, is_paused, &p);
    let_time_pass(&p);
    assert_int_equal(atomic_load(&c.entered), 0);
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    resume_it(&p, CASCADE_COMPLETED);
    play_end(&p);
}

/* ---- Waiting for it ----------------------------------------------------- */

static void
a_command_tells_what_came_of_it(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"waits", wait_for_signal}}, .user = &c};
    cascade_request_options soon = {.size = sizeof(soon), .wait_ms = 1};

    play_open(&p, db, CASCADE_MODE_THREADS);
    p.id = db_start(p.store, "waits");
    assert_ok(cascade_pause(p.store, &p.id, &received));
    assert_int_equal(
        play_count(&p, "cascade.pause", CASCADE_EXECUTION_COMPLETED), 1);
    assert_ok(cascade_resume(p.store, &p.id, &received));
    assert_ok(cascade_terminate(p.store, &p.id, &received));
    assert_int_equal(
        play_count(&p, "cascade.terminate", CASCADE_EXECUTION_FAILED), 1);
    assert_fails(CASCADE_ERR_ENDED, cascade_cancel(p.store, &p.id, &received));
    assert_ok(cascade_delete(p.store, &p.id, &received));
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_pause(p.store, &p.id, &received));
    soon.wait_ms = -2;
    assert_fails(CASCADE_ERR_INVALID, cascade_pause(p.store, &p.id, &soon));
    play_end(&p);
}

/* An engine is alive, and nobody polls it. */
static void
a_command_that_nobody_receives_is_told_to_be_looked_at_later(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"waits", wait_for_signal}}, .user = &c};
    cascade_request_options soon = {
        .size = sizeof(soon), .request_id = "one", .wait_ms = 1};

    play_begin(&p, db, CASCADE_MODE_INLINE, "waits");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_fails(CASCADE_ERR_AGAIN, cascade_pause(p.store, &p.id, &soon));
    play_on(&p, is_paused, &p);
    assert_ok(cascade_pause(p.store, &p.id, &soon));
    assert_int_equal(
        play_count(&p, "cascade.pause", CASCADE_EXECUTION_COMPLETED), 1);
    play_end(&p);
}

static bool
have_ended(void *context)
{
    return play_count(context, "fan", CASCADE_EXECUTION_COMPLETED) == FANS;
}

/* Whoever waits for a command reads nothing of what was there before. */
static void
waiting_costs_the_same_however_long_the_history(test_db *db)
{
    course c = {0};
    play p = {
        .nodes = {{"fans", fan_out}, {"fan", fan}, {"waits", wait_for_signal}},
        .user = &c};
    wrap_store *wrap = wrap_store_create(db->url);
    cascade_store *store = NULL;

    assert_non_null(wrap);
    play_begin(&p, db, CASCADE_MODE_THREADS, "fans");
    play_on(&p, have_ended, &p);
    store = db_wrapped(db, wrap);
    assert_ok(cascade_pause(store, &p.id, &received));
    assert_ok(cascade_terminate(store, &p.id, &received));
    /* each look reads again the last row that it knows */
    assert_true(atomic_load(&wrap->rows) <
                FANS / 2 + wrap_store_count(wrap, WRAP_SCAN));
    db_close_store(db, store);
    wrap_store_free(wrap);
    play_end(&p);
}

/* A request that is repeated finds the receipt it had, behind any history. */
static void
a_repeated_command_finds_its_receipt(test_db *db)
{
    const cascade_request_options again = {
        .size = sizeof(again), .request_id = "again", .wait_ms = -1};
    course c = {0};
    play p = {.nodes = {{"waits", wait_for_signal}}, .user = &c};

    play_open(&p, db, CASCADE_MODE_THREADS);
    p.id = db_start(p.store, "waits");
    assert_ok(cascade_pause(p.store, &p.id, &again));
    assert_ok(cascade_resume(p.store, &p.id, &received));
    assert_ok(cascade_pause(p.store, &p.id, &again));
    assert_int_equal(
        play_count(&p, "cascade.pause", CASCADE_EXECUTION_COMPLETED), 1);
    play_end(&p);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(a_line_is_paused_anywhere)
PLAY_MODES(a_signal_is_received_by_what_is_paused)
PLAY_MODES(a_child_goes_on_and_its_end_is_received)
PLAY_MODES(a_sleep_does_not_end_while_it_is_paused)
PLAY_MODES(many_are_paused_and_go_on)
PLAY_MODES(twice_is_as_once)
PLAY_MODES(a_cancellation_ends_the_pause)
PLAY_MODES(what_is_paused_is_terminated)
PLAY_MODES(a_deadline_passes_while_it_is_paused)
PLAY_MODES(what_is_retried_is_not_paused)
PLAY_MODES(a_pause_that_is_superseded_is_over)
PLAY_MODES(what_waits_outside_is_overdue_though_it_is_paused)
PLAY_MODES(it_stays_paused_from_engine_to_engine)
PLAY_MODES(a_suspect_that_is_paused_is_let_go)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_line_is_paused_anywhere),
        PLAY_TESTS(a_signal_is_received_by_what_is_paused),
        PLAY_TESTS(a_child_goes_on_and_its_end_is_received),
        PLAY_TESTS(a_sleep_does_not_end_while_it_is_paused),
        PLAY_TESTS(many_are_paused_and_go_on),
        PLAY_TESTS(twice_is_as_once),
        PLAY_TESTS(a_cancellation_ends_the_pause),
        PLAY_TESTS(what_is_paused_is_terminated),
        PLAY_TESTS(a_deadline_passes_while_it_is_paused),
        PLAY_TESTS(what_is_retried_is_not_paused),
        PLAY_TESTS(a_pause_that_is_superseded_is_over),
        PLAY_TESTS(what_waits_outside_is_overdue_though_it_is_paused),
        {"what_runs_leaves_at_its_next_part", what_runs_leaves_at_its_next_part,
         STORES_ALL},
        {"what_returns_is_recorded_and_what_it_spawned_waits",
         what_returns_is_recorded_and_what_it_spawned_waits, STORES_ALL},
        {"what_was_ready_is_taken_back", what_was_ready_is_taken_back,
         STORES_ALL},
        {"the_next_run_is_paused_too", the_next_run_is_paused_too, STORES_ALL},
        PLAY_TESTS(it_stays_paused_from_engine_to_engine),
        PLAY_TESTS(a_suspect_that_is_paused_is_let_go),
        {"a_command_tells_what_came_of_it", a_command_tells_what_came_of_it,
         STORES_ALL},
        {"waiting_costs_the_same_however_long_the_history",
         waiting_costs_the_same_however_long_the_history, STORES_ALL},
        {"a_repeated_command_finds_its_receipt",
         a_repeated_command_finds_its_receipt, STORES_ALL},
        {"a_command_that_nobody_receives_is_told_to_be_looked_at_later",
         a_command_that_nobody_receives_is_told_to_be_looked_at_later,
         STORES_ALL},
    };

    return stores_run("paused", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
