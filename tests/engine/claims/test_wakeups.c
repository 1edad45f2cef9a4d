/* SPDX-License-Identifier: MIT
 *
 * Sleeps that outlive whoever began them (G8, G3): the engine closes, others
 * own the cascade and die of something else, another engine wakes it; and those
 * that nobody wakes, because their cascade has ended.
 */
#include <string.h>

#include "engine/support/peer.h"
#include "engine/support/play.h"

#define LONG_MS (INT64_C(60) * 60 * 1000)
#define SHORT_MS 200 /* where time cannot be injected, or longer */
#define DEATHS 8     /* three make a suspect, poison_limit are in trial */
#define HELD_MS (2 * LONG_MS) /* nothing is parked */

/* What the nodes did in one engine, or in several. */
typedef struct course {
    int64_t ms;
    int entries;
    int wakes;
    int fails; /* after the sleep */
    bool told; /* to give up */
} course;

static course *
course_of(const void *user)
{
    return ((const play *)user)->user;
}

static cascade_err
doze(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_err err = CASCADE_OK;

    c->entries++;
    err = cascade_node_sleep(node, "nap", c->ms);
    if (err != CASCADE_OK)
        return err;
    c->wakes++;
    return c->wakes <= c->fails ? cascade_node_error(node, "drowsy")
                                : CASCADE_OK;
}

/* ---- The time that passes ----------------------------------------------- */

/* A sleep that is over too soon shows nothing: again, with more time. */
static void
until_in_time(test_db *db, bool (*try)(test_db *db, int64_t nap_ms))
{
    int64_t nap_ms = db->backend->virtual_time ? LONG_MS : SHORT_MS;

    while (!try(db, nap_ms)) {
        assert_true(nap_ms < DB_WAIT_MS);
        nap_ms *= 2;
    }
}

typedef struct moment {
    cascade_store *store;
    int64_t at_ms;
} moment;

static bool
has_come(void *context)
{
    moment *m = context;
    int64_t now_ms = 0;

    assert_ok(cascade_store_now(m->store, &now_ms));
    return now_ms >= m->at_ms;
}

/* Until the store's clock shows `at_ms`, without anybody's help. */
static void
pass_until(test_db *db, cascade_store *store, int64_t at_ms)
{
    moment m = {store, at_ms};
    int64_t now_ms = 0;

    assert_ok(cascade_store_now(store, &now_ms));
    if (db->fake_time && at_ms > now_ms)
        fake_clock_advance(&db->clock, at_ms - now_ms);
    assert_true(stores_until(has_come, &m));
}

/* ---- Asleep ------------------------------------------------------------- */

static play
new_play(course *c, int64_t park_after_ms)
{
    return (play){
        .nodes = {{"doze", doze}}, .park_after_ms = park_after_ms, .user = c};
}

/* Whether execution 1 is there, the sleep; it may be over. */
static bool
is_asleep(void *context)
{
    const play *p = context;
    cascade_snapshot *snapshot = play_snapshot(p);
    bool slept = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 1);

    cascade_snapshot_free(snapshot);
    return slept && (p->park_after_ms == HELD_MS || course_of(p)->wakes > 0 ||
                     db_stats(p->engine).parked > 0);
}

/* Puts a cascade to sleep in an engine; when it is due. The handle of the play
 * stays open. */
static int64_t
put_to_sleep(play *p, test_db *db)
{
    cascade_snapshot *snapshot = NULL;
    int64_t due_ms = 0;

    play_open(p, db, CASCADE_MODE_INLINE);
    p->id = db_start(p->store, "doze");
    assert_true(db_poll_until(db, &p->engine, 1, is_asleep, p));
    snapshot = play_snapshot(p);
    due_ms = play_execution(snapshot, 1)->not_before_ms;
    cascade_snapshot_free(snapshot);
    return due_ms;
}

/* The sleep, over. */
static void
check_slept(const play *p, int64_t due_ms)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    const cascade_execution_info *sleep = play_execution(snapshot, 1);

    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 2);
    assert_int_equal(sleep->status, CASCADE_EXECUTION_COMPLETED);
    assert_int_equal(sleep->not_before_ms, due_ms);
    assert_true(sleep->completed_at_ms >= due_ms);
    cascade_snapshot_free(snapshot);
}

/* ---- While no engine lives ---------------------------------------------- */

static bool
sleep_over_a_gap(test_db *db, int64_t park_after_ms, int64_t nap_ms)
{
    course c = {.ms = nap_ms};
    play first = new_play(&c, park_after_ms);
    play second = new_play(&c, park_after_ms);
    int64_t due_ms = put_to_sleep(&first, db);
    cascade_store *watch = db_store(db);
    bool in_time = false;

    play_end(&first);
    in_time = c.wakes == 0;
    if (in_time) {
        assert_int_equal(c.entries, 1);
        pass_until(db, watch, due_ms + nap_ms);
        play_open(&second, db, CASCADE_MODE_INLINE);
        second.id = first.id;
        play_await(&second, &second.id, CASCADE_COMPLETED);
        assert_int_equal(c.entries, 2);
        assert_int_equal(c.wakes, 1);
        check_slept(&second, due_ms);
        play_end(&second);
    }
    db_close_store(db, watch);
    return in_time;
}

static bool
sleep_parked(test_db *db, int64_t nap_ms)
{
    return sleep_over_a_gap(db, 1, nap_ms);
}

static void
a_parked_sleep_may_end_while_no_engine_lives(test_db *db)
{
    until_in_time(db, sleep_parked);
}

static bool
sleep_held(test_db *db, int64_t nap_ms)
{
    return sleep_over_a_gap(db, HELD_MS, nap_ms);
}

/* Who closes gives up what he holds. */
static void
a_held_sleep_may_end_while_no_engine_lives(test_db *db)
{
    until_in_time(db, sleep_held);
}

/* ---- In another engine -------------------------------------------------- */

static bool
wake_in_another_engine(test_db *db, int64_t nap_ms)
{
    course parks = {.ms = db->backend->virtual_time ? 5000 : nap_ms};
    course wakes = {.ms = LONG_MS}; /* recorded already: not asked again */
    play first = new_play(&parks, 1);
    play second = new_play(&wakes, 1);
    int64_t due_ms = put_to_sleep(&first, db);
    bool in_time = parks.wakes == 0;

    if (in_time) {
        play_open(&second, db, CASCADE_MODE_INLINE);
        second.id = first.id;
        play_await(&second, &second.id, CASCADE_COMPLETED);
        assert_int_equal(parks.entries + wakes.entries, 2);
        assert_int_equal(wakes.wakes, 1);
        check_slept(&second, due_ms);
        assert_int_equal(db_stats(second.engine).takeovers, 0);
    }
    play_end(&first);
    if (in_time)
        play_end(&second);
    return in_time;
}

/* Whoever parked it lives on, but does not look. */
static void
a_parked_sleeper_wakes_in_another_engine(test_db *db)
{
    until_in_time(db, wake_in_another_engine);
}

/* ---- Among engines that die --------------------------------------------- */

/* One owner after the other dies, until there were `takeovers`. */
static void
die_in_turn(cascade_store *store, int32_t takeovers)
{
    for (int32_t i = 0; i < takeovers; i++) {
        cascade_uuid peer = peer_own(store, "doze", i);

        peer_remove(store, &peer);
    }
}

static bool
die_meanwhile(test_db *db, int64_t nap_ms)
{
    course c = {.ms = nap_ms};
    play first = new_play(&c, HELD_MS);
    play second = new_play(&c, HELD_MS);
    int64_t due_ms = put_to_sleep(&first, db);
    cascade_store *watch = db_store(db);
    cascade_info *info = NULL;
    bool in_time = false;

    play_end(&first);
    in_time = c.wakes == 0;
    if (in_time) {
        pass_until(db, watch, due_ms);
        die_in_turn(watch, DEATHS);
        assert_ok(cascade_get(watch, &first.id, &info));
        assert_int_equal(info->takeovers, DEATHS);
        cascade_info_free(info);
        play_open(&second, db, CASCADE_MODE_INLINE);
        second.id = first.id;
        play_await(&second, &second.id, CASCADE_COMPLETED);
        assert_int_equal(c.wakes, 1);
        check_slept(&second, due_ms);
        play_end(&second);
    }
    db_close_store(db, watch);
    return in_time;
}

/* Nobody was running it when they died: a sleep is not poisoned, nor its
 * cascade. */
static void
engines_that_die_meanwhile_do_not_poison_a_sleep(test_db *db)
{
    until_in_time(db, die_meanwhile);
}

static bool
has_failed_once(void *context)
{
    cascade_snapshot *snapshot = play_snapshot(context);
    bool failed = play_execution(snapshot, 0)->attempts >= 1;

    cascade_snapshot_free(snapshot);
    return failed;
}

/* It fails when it has slept; when it is tried again. */
static int64_t
sleep_and_fail(play *p, test_db *db)
{
    cascade_snapshot *snapshot = NULL;
    int64_t due_ms = 0;

    (void)put_to_sleep(p, db);
    assert_true(db_poll_until(db, &p->engine, 1, has_failed_once, p));
    snapshot = play_snapshot(p);
    due_ms = play_execution(snapshot, 0)->not_before_ms;
    cascade_snapshot_free(snapshot);
    return due_ms;
}

static void
check_poisoned(const play *p)
{
    cascade_snapshot *snapshot = play_snapshot(p);

    assert_non_null(strstr(cascade_snapshot_error(snapshot), "poisoned"));
    assert_int_equal(play_execution(snapshot, 1)->status,
                     CASCADE_EXECUTION_COMPLETED);
    cascade_snapshot_free(snapshot);
}

static bool
poison_after_a_sleep(test_db *db, int64_t nap_ms)
{
    course c = {.ms = 1, .fails = 1};
    play first = new_play(&c, HELD_MS);
    play second = new_play(&c, HELD_MS);
    cascade_store *watch = NULL;
    int64_t due_ms = 0;
    int entries = 0;
    bool in_time = false;

    first.backoff_ms = second.backoff_ms = nap_ms;
    due_ms = sleep_and_fail(&first, db);
    watch = db_store(db);
    play_end(&first);
    in_time = c.wakes == 1; /* it was not tried again */
    if (in_time) {
        pass_until(db, watch, due_ms);
        die_in_turn(watch, DEATHS);
        entries = c.entries;
        play_open(&second, db, CASCADE_MODE_INLINE);
        second.id = first.id;
        play_await(&second, &second.id, CASCADE_ERROR);
        assert_int_equal(c.entries, entries);
        check_poisoned(&second);
        play_end(&second);
    }
    db_close_store(db, watch);
    return in_time;
}

/* A node that has slept is poisoned as any other. */
static void
a_node_that_has_slept_can_be_poisoned(test_db *db)
{
    until_in_time(db, poison_after_a_sleep);
}

/* A suspect is run alone, but a sleep is nothing that runs. */
static void
a_suspect_that_sleeps_holds_up_nobody(test_db *db)
{
    course c = {.ms = LONG_MS};
    play first = new_play(&c, HELD_MS);
    play second = new_play(&c, HELD_MS);
    cascade_store *watch = NULL;
    cascade_uuid other;
    db_ends ends;

    second.nodes[1].name = "other";
    second.nodes[1].fn = stores_nothing;
    (void)put_to_sleep(&first, db);
    watch = db_store(db);
    play_end(&first);
    die_in_turn(watch, 3);
    play_open(&second, db, CASCADE_MODE_INLINE);
    for (int i = 0; i < 5; i++)
        assert_ok(cascade_engine_poll(second.engine, 0, NULL));
    other = db_start(watch, "other");
    ends = (db_ends){watch, &other, 1, 0};
    assert_true(db_poll_until(db, &second.engine, 1, db_all_ended, &ends));
    assert_int_equal(c.entries, 1);
    play_end(&second);
}

/* ---- In a cascade that has ended ---------------------------------------- */

static cascade_err
give_up(cascade_node *node, void *user)
{
    return course_of(user)->told ? cascade_node_fail(node, "no time")
                                 : cascade_node_error(node, "not yet");
}

static cascade_err
spawn_both(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_spawn(node, "doze", NULL, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_spawn(node, "give_up", NULL, NULL)
                             : err;
}

/* Behind "both", "doze" and "give_up". */
static bool
sleeps_beside(void *context)
{
    cascade_snapshot *snapshot = play_snapshot(context);
    bool sleeps = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 3);

    cascade_snapshot_free(snapshot);
    return sleeps;
}

/* The sleep began, and ended with its cascade. */
static int64_t
check_ended(const play *p)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    const cascade_execution_info *sleep = play_execution(snapshot, 3);
    int64_t due_ms = sleep->not_before_ms;

    assert_int_equal(cascade_snapshot_info(snapshot)->status, CASCADE_ERROR);
    assert_string_equal(cascade_snapshot_error(snapshot), "no time");
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_ACTIVE), 0);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 4);
    assert_string_equal(sleep->node_name, "cascade.sleep:nap");
    assert_int_not_equal(sleep->status, CASCADE_EXECUTION_COMPLETED);
    cascade_snapshot_free(snapshot);
    return due_ms;
}

/* Gives up while one sleeps. */
static void
end_beside(play *p, test_db *db)
{
    p->attempts_max = -1;
    p->nodes[1].name = "give_up";
    p->nodes[1].fn = give_up;
    p->nodes[2].name = "both";
    p->nodes[2].fn = spawn_both;
    play_begin(p, db, CASCADE_MODE_INLINE, "both");
    play_on(p, sleeps_beside, p);
    course_of(p)->told = true;
    play_await(p, &p->id, CASCADE_ERROR);
}

static bool
end_while_one_sleeps(test_db *db, int64_t nap_ms)
{
    course c = {.ms = nap_ms};
    play first = new_play(&c, 0);
    play second = new_play(&c, 0);
    cascade_uuid next;

    end_beside(&first, db);
    if (c.wakes > 0) {
        play_end(&first);
        return false;
    }
    second.nodes[1].name = "other";
    second.nodes[1].fn = stores_nothing;
    play_open(&second, db, CASCADE_MODE_INLINE);
    pass_until(db, second.store, check_ended(&first) + 1);
    for (int i = 0; i < 5; i++)
        assert_ok(cascade_engine_poll(first.engine, 0, NULL));
    next = db_start(second.store, "other");
    play_await(&second, &next, CASCADE_COMPLETED);
    assert_int_equal(c.entries, 1);
    (void)check_ended(&first);
    play_end(&first);
    play_end(&second);
    return true;
}

static void
a_sleep_of_an_ended_cascade_never_wakes(test_db *db)
{
    until_in_time(db, end_while_one_sleeps);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_parked_sleep_may_end_while_no_engine_lives",
         a_parked_sleep_may_end_while_no_engine_lives, STORES_ALL},
        {"a_held_sleep_may_end_while_no_engine_lives",
         a_held_sleep_may_end_while_no_engine_lives, STORES_ALL},
        {"a_parked_sleeper_wakes_in_another_engine",
         a_parked_sleeper_wakes_in_another_engine, STORES_ALL},
        {"engines_that_die_meanwhile_do_not_poison_a_sleep",
         engines_that_die_meanwhile_do_not_poison_a_sleep, STORES_ALL},
        {"a_node_that_has_slept_can_be_poisoned",
         a_node_that_has_slept_can_be_poisoned, STORES_ALL},
        {"a_suspect_that_sleeps_holds_up_nobody",
         a_suspect_that_sleeps_holds_up_nobody, STORES_ALL},
        {"a_sleep_of_an_ended_cascade_never_wakes",
         a_sleep_of_an_ended_cascade_never_wakes, STORES_ALL},
    };

    return stores_run("wakeups", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
