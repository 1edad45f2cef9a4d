/* SPDX-License-Identifier: MIT
 *
 * Signals (G9): received exactly once for each request id, in the order in
 * which they were sent, also before they are awaited; or recorded as
 * undelivered. Awaits: recorded once, without a thread and, when they last,
 * without memory; that one timed out is recorded (G8).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/support/play.h"

#define SHORT_MS 20
#define HEARD_MAX 16
#define CROWD 200

/* What the node heard in its last entry. */
typedef struct hearing {
    int entries;
    int count;
    int heard[HEARD_MAX];
    cascade_err errs[HEARD_MAX];
} hearing;

static hearing *
hearing_of(void *user)
{
    return ((play *)user)->user;
}

static void
send(const play *p, const char *name, int n)
{
    assert_ok(cascade_signal(p->store, &p->id, name, play_number(n), NULL));
}

/* Awaits and notes what came; false when the node is to leave. */
static bool
hear(cascade_node *node, hearing *h, const char *name, int64_t timeout_ms,
     cascade_err *err)
{
    cJSON *payload = NULL;
    int at = h->count;

    *err = cascade_node_await(node, name, timeout_ms, &payload);
    if (*err != CASCADE_OK && *err != CASCADE_ERR_TIMEOUT)
        return false;
    h->errs[at] = *err;
    if (payload != NULL)
        h->heard[at] = cJSON_GetObjectItemCaseSensitive(payload, "n")->valueint;
    h->count++;
    cJSON_Delete(payload);
    *err = CASCADE_OK;
    return true;
}

static cascade_err
hear_many(cascade_node *node, void *user, int count, int64_t timeout_ms)
{
    hearing *h = hearing_of(user);
    cascade_err err = CASCADE_OK;

    h->entries++;
    h->count = 0;
    for (int i = 0; i < count; i++)
        if (!hear(node, h, "news", timeout_ms, &err))
            return err;
    return err;
}

static cascade_err
hear_one(cascade_node *node, void *user)
{
    return hear_many(node, user, 1, -1);
}

static cascade_err
hear_five(cascade_node *node, void *user)
{
    return hear_many(node, user, 5, -1);
}

static cascade_err
hear_or_not(cascade_node *node, void *user)
{
    return hear_many(node, user, 2, SHORT_MS);
}

/* ---- Received ----------------------------------------------------------- */

static void
a_signal_that_is_awaited_is_received(test_db *db, cascade_mode mode)
{
    hearing h = {0};
    play p = {.nodes = {{"hears", hear_one}}, .user = &h};
    cascade_snapshot *snapshot = NULL;

    play_begin(&p, db, mode, "hears");
    play_until(&p, "cascade.await:news", CASCADE_EXECUTION_RUNNING, 1);
    send(&p, "news", 7);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_int_equal(h.count, 1);
    assert_int_equal(h.heard[0], 7);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 3);
    assert_string_equal(play_execution(snapshot, 1)->node_name,
                        "cascade.await:news");
    assert_string_equal(play_execution(snapshot, 2)->node_name,
                        "cascade.signal:news");
    assert_string_equal(play_execution(snapshot, 2)->input, "{\"n\":7}");
    assert_non_null(
        strstr(play_execution(snapshot, 1)->full_output, "\"signal\":2"));
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* They are received, in the order in which they were sent, while the node
 * awaits another one. */
static cascade_err
hear_go_first(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_await(node, "go", -1, NULL);

    return err == CASCADE_OK ? hear_five(node, user) : err;
}

static void
signals_are_received_in_order_before_they_are_awaited(test_db *db,
                                                      cascade_mode mode)
{
    hearing h = {0};
    play p = {.nodes = {{"hears", hear_go_first}}, .user = &h};

    play_begin(&p, db, mode, "hears");
    for (int i = 0; i < 5; i++) {
        send(&p, "other", 100 + i);
        send(&p, "news", i);
    }
    play_until(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED, 5);
    send(&p, "go", 0);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_int_equal(h.count, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(h.heard[i], i);
    assert_int_equal(
        play_count(&p, "cascade.signal:other", CASCADE_EXECUTION_COMPLETED), 5);
    play_end(&p);
}

static void
a_request_id_is_received_once(test_db *db, cascade_mode mode)
{
    hearing h = {0};
    play p = {.nodes = {{"hears", hear_five}}, .user = &h};
    cascade_signal_options again = {.size = sizeof(again),
                                    .request_id = "r#1/\xc3\xa9"};

    play_begin(&p, db, mode, "hears");
    for (int i = 0; i < 3; i++) {
        assert_ok(
            cascade_signal(p.store, &p.id, "news", play_number(i), &again));
        play_until(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED,
                   1); /* and again when it was received */
    }
    for (int i = 1; i < 5; i++)
        send(&p, "news", 10 * i);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    for (int i = 0; i < 5; i++)
        assert_int_equal(h.heard[i], 10 * i);
    assert_int_equal(
        play_count(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED), 5);
    play_end(&p);
}

/* ---- In time ------------------------------------------------------------ */

static void
an_await_times_out_and_that_is_recorded(test_db *db, cascade_mode mode)
{
    hearing h = {0};
    play p = {.nodes = {{"hears", hear_or_not}}, .user = &h};
    cascade_snapshot *snapshot = NULL;
    const cascade_execution_info *await = NULL;

    play_run(&p, db, mode, "hears", NULL, CASCADE_COMPLETED);
    assert_int_equal(h.count, 2);
    assert_int_equal(h.errs[0], CASCADE_ERR_TIMEOUT);
    assert_int_equal(h.errs[1], CASCADE_ERR_TIMEOUT);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 3);
    await = play_execution(snapshot, 1);
    assert_string_equal(await->node_name, "cascade.await:news");
    assert_non_null(strstr(await->full_output, "\"timed_out\":true"));
    assert_true(await->completed_at_ms >= await->not_before_ms);
    assert_true(await->not_before_ms >= await->started_at_ms + SHORT_MS);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Parked ------------------------------------------------------------- */

static void
a_parked_cascade_is_woken_by_a_signal(test_db *db, cascade_mode mode)
{
    hearing h = {0};
    play p = {.nodes = {{"hears", hear_one}}, .park_after_ms = 1, .user = &h};
    cascade_store *other = NULL;

    play_begin(&p, db, mode, "hears");
    play_until_parked(&p);
    other = db_store(db);
    assert_ok(cascade_signal(other, &p.id, "news", play_number(3), NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_int_equal(h.heard[0], 3);
    assert_true(db_stats(p.engine).hydrations > 0);
    db_close_store(db, other);
    play_end(&p);
}

/* ---- Undelivered -------------------------------------------------------- */

static void
a_signal_to_an_ended_cascade_is_recorded_as_undelivered(test_db *db,
                                                        cascade_mode mode)
{
    play p = {.nodes = {{"nothing", stores_nothing}}};
    cascade_uuid nobody = {{1}};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "nothing", NULL, CASCADE_COMPLETED);
    assert_fails(CASCADE_ERR_ENDED,
                 cascade_signal(p.store, &p.id, "news", play_number(1), NULL));
    play_until(&p, "cascade.signal:news", CASCADE_EXECUTION_FAILED, 1);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_info(snapshot)->status,
                     CASCADE_COMPLETED);
    assert_non_null(strstr(play_execution(snapshot, 1)->error, "undelivered"));
    assert_string_equal(play_execution(snapshot, 1)->input, "{\"n\":1}");
    cascade_snapshot_free(snapshot);
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_signal(p.store, &nobody, "news", NULL, NULL));
    play_end(&p);
}

static size_t
count_seen(const play *p)
{
    return play_count(p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED) +
           play_count(p, "cascade.signal:news", CASCADE_EXECUTION_FAILED);
}

static bool
are_seen(void *context)
{
    return count_seen(context) >= CROWD;
}

/* Each is received or recorded as undelivered, and the cascade ends, however
 * many come while it does. */
static void
no_signal_is_lost_while_the_cascade_ends(test_db *db, cascade_mode mode)
{
    hearing h = {0};
    play p = {.nodes = {{"hears", hear_one}}, .user = &h};

    play_begin(&p, db, mode, "hears");
    for (int i = 0; i < CROWD; i++) {
        cascade_err err =
            cascade_signal(p.store, &p.id, "news", play_number(i), NULL);

        assert_true(err == CASCADE_OK || err == CASCADE_ERR_ENDED);
        if (mode != CASCADE_MODE_THREADS && i % 7 == 0)
            assert_ok(cascade_engine_poll(p.engine, 0, NULL));
    }
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_on(&p, are_seen, &p);
    assert_int_equal(count_seen(&p), CROWD);
    assert_int_equal(h.heard[0], 0);
    play_end(&p);
}

/* ---- With a start, by key ----------------------------------------------- */

static void
a_start_brings_its_signal(test_db *db, cascade_mode mode)
{
    hearing h = {0};
    play p = {.nodes = {{"hears", hear_five}}, .user = &h};
    cascade_start_options keyed = {
        .size = sizeof(keyed), .user_id = "u", .key = "k"};
    cascade_started started = {0};

    play_open(&p, db, mode);
    for (int i = 0; i < 3; i++) {
        assert_ok(cascade_start_with_signal(p.store, "hears", NULL, &keyed,
                                            "news", play_number(i), NULL,
                                            &started));
        assert_int_equal(started.existed, i > 0);
    }
    p.id = started.id;
    assert_ok(
        cascade_signal_key(p.store, "u", "k", "news", play_number(3), NULL));
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_signal_key(p.store, NULL, "k", "news", NULL, NULL));
    send(&p, "news", 4);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    for (int i = 0; i < 5; i++)
        assert_int_equal(h.heard[i], i);
    play_end(&p);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(a_signal_that_is_awaited_is_received)
PLAY_MODES(signals_are_received_in_order_before_they_are_awaited)
PLAY_MODES(a_request_id_is_received_once)
PLAY_MODES(an_await_times_out_and_that_is_recorded)
PLAY_MODES(a_parked_cascade_is_woken_by_a_signal)
PLAY_MODES(a_signal_to_an_ended_cascade_is_recorded_as_undelivered)
PLAY_MODES(no_signal_is_lost_while_the_cascade_ends)
PLAY_MODES(a_start_brings_its_signal)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_signal_that_is_awaited_is_received),
        PLAY_TESTS(signals_are_received_in_order_before_they_are_awaited),
        PLAY_TESTS(a_request_id_is_received_once),
        PLAY_TESTS(an_await_times_out_and_that_is_recorded),
        PLAY_TESTS(a_parked_cascade_is_woken_by_a_signal),
        PLAY_TESTS(a_signal_to_an_ended_cascade_is_recorded_as_undelivered),
        PLAY_TESTS(no_signal_is_lost_while_the_cascade_ends),
        PLAY_TESTS(a_start_brings_its_signal),
    };

    return stores_run("signals", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
