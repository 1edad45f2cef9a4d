/* SPDX-License-Identifier: MIT
 *
 * Continue as new: a run ends and the next one starts in one commit. What goes
 * with it (unread signals, the key, the parent), and what is sent on to it.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "engine/support/play.h"
#include "store/store.h"
#include "support/oracle.h"

#define NEWS 5
#define RUNS 4

/* What the nodes of a play met. */
typedef struct course {
    int heard[2 * NEWS];
    int count; /* of `heard`, in the last entry */
    int wanted;
    cascade_err err;
    char text[200];
} course;

static course *
course_of(void *user)
{
    return ((play *)user)->user;
}

/* ---- Nodes -------------------------------------------------------------- */

/* As many runs as its input says, each with something of its own. */
static cascade_err
count_down(cascade_node *node, void *user)
{
    int n = play_read_number(cascade_node_input(node));
    cascade_err err = cascade_node_put(node, "mark", play_number(n));

    (void)user;
    if (err == CASCADE_OK && n > 0)
        return cascade_node_continue_as_new(node, NULL, play_number(n - 1));
    if (err != CASCADE_OK)
        return err;
    return cascade_node_output(node, play_number(7));
}

/* Not the first execution: that has ended by then. */
static cascade_err
count_second(cascade_node *node, void *user)
{
    const cJSON *input = cascade_node_input(node);

    if (play_read_number(input) == 0)
        return count_down(node, user);
    return cascade_node_spawn(node, "continues", play_number(0), NULL);
}

static cascade_err
continue_first(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_continue_as_new(node, NULL, play_number(0));
}

/* The next run hears what this one was sent. */
static cascade_err
go_on(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_await(node, "go", -1, NULL);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    return cascade_node_continue_as_new(node, "hears", NULL);
}

static cascade_err
go_to_go_on(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_await(node, "go", -1, NULL);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    return cascade_node_continue_as_new(node, "goes-on", NULL);
}

static cascade_err
hear(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_err err = CASCADE_OK;

    c->count = 0;
    for (int i = 0; i < c->wanted && err == CASCADE_OK; i++) {
        cJSON *payload = NULL;

        err = cascade_node_await(node, "news", -1, &payload);
        if (err == CASCADE_OK)
            c->heard[c->count++] = play_read_number(payload);
        cJSON_Delete(payload);
    }
    return err;
}

/* ---- Helpers ------------------------------------------------------------ */

static cascade_uuid
next_of(const play *p)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    const cascade_uuid *next = cascade_snapshot_continued_as(snapshot);
    cascade_uuid id;

    assert_non_null(next);
    assert_int_equal(cascade_snapshot_info(snapshot)->status,
                     CASCADE_COMPLETED);
    id = *next;
    cascade_snapshot_free(snapshot);
    return id;
}

/* The play looks at the next run. */
static void
turn_to_next(play *p, cascade_status status)
{
    play_await(p, &p->id, CASCADE_COMPLETED);
    p->id = next_of(p);
    if (status != CASCADE_RUNNING)
        play_await(p, &p->id, status);
}

static void
send(const play *p, const cascade_uuid *id, int n, const char *request_id)
{
    cascade_signal_options options = {.size = sizeof(options),
                                      .request_id = request_id};

    assert_ok(cascade_signal(p->store, id, "news", play_number(n), &options));
}

static void
expect_heard(const course *c, int count)
{
    assert_int_equal(c->count, count);
    for (int i = 0; i < count; i++)
        assert_int_equal(c->heard[i], i);
}

/* ---- Runs --------------------------------------------------------------- */

static void
each_run_starts_the_next(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"counts", count_down}}};
    char text[100];

    play_run(&p, db, mode, "counts", "{\"n\":4}", CASCADE_COMPLETED);
    for (int i = RUNS; i >= 0; i--) {
        cascade_snapshot *snapshot = NULL;

        play_await(&p, &p.id, CASCADE_COMPLETED);
        snapshot = play_snapshot(&p);
        assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY),
                         1);
        (void)snprintf(text, sizeof(text), "{\"mark\":[{\"n\":%d}]}", i);
        assert_string_equal(cascade_snapshot_context(snapshot), text);
        if (i > 0)
            p.id = next_of(&p);
        else
            assert_null(cascade_snapshot_continued_as(snapshot));
        cascade_snapshot_free(snapshot);
    }
    play_end(&p);
}

static void
the_first_node_is_known_when_it_has_ended(test_db *db, cascade_mode mode)
{
    play p = {
        .nodes = {{"spawns", count_second}, {"continues", continue_first}}};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "spawns", "{\"n\":1}", CASCADE_COMPLETED);
    turn_to_next(&p, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_string_equal(play_execution(snapshot, 0)->node_name, "spawns");
    assert_string_equal(cascade_snapshot_result(snapshot), "{\"n\":7}");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Signals ------------------------------------------------------------ */

static void
unread_signals_are_carried_over(test_db *db, cascade_mode mode)
{
    course c = {.wanted = NEWS};
    play p = {.nodes = {{"goes-on", go_on}, {"hears", hear}}, .user = &c};

    play_begin(&p, db, mode, "goes-on");
    for (int i = 0; i < NEWS; i++)
        send(&p, &p.id, i, NULL);
    play_until(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED, NEWS);
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    turn_to_next(&p, CASCADE_COMPLETED);
    expect_heard(&c, NEWS);
    play_end(&p);
}

/* To the run that has ended: it has no row of them. */
static void
late_signals_are_sent_on_in_order(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 2 * NEWS};
    play p = {.nodes = {{"goes-on", go_on}, {"hears", hear}},
              .park_after_ms = 1,
              .user = &c};
    cascade_uuid old;

    play_begin(&p, db, mode, "goes-on");
    old = p.id;
    for (int i = 0; i < NEWS; i++)
        send(&p, &old, i, NULL);
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    play_await(&p, &old, CASCADE_COMPLETED);
    for (int i = NEWS; i < 2 * NEWS; i++)
        send(&p, &old, i, NULL);
    turn_to_next(&p, CASCADE_COMPLETED);
    expect_heard(&c, 2 * NEWS);
    assert_int_equal(
        play_count(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED),
        2 * NEWS);
    p.id = old;
    assert_int_equal(
        play_count(&p, "cascade.signal:news", CASCADE_EXECUTION_FAILED), 0);
    play_end(&p);
}

/* Each twice: before and after, by the old id, by the key. */
static void
a_request_id_holds_for_all_runs(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 3};
    play p = {.nodes = {{"goes-on", go_on}, {"hears", hear}}, .user = &c};
    cascade_start_options keyed = {
        .size = sizeof(keyed), .user_id = "u", .key = "k"};
    cascade_signal_options second = {.size = sizeof(second),
                                     .request_id = "second"};
    cascade_started started = {0};
    cascade_uuid old;

    play_open(&p, db, mode);
    assert_ok(cascade_start(p.store, "goes-on", NULL, &keyed, &started));
    p.id = old = started.id;
    send(&p, &old, 0, "first");
    play_until(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED, 1);
    assert_ok(cascade_signal(p.store, &old, "go", NULL, NULL));
    turn_to_next(&p, CASCADE_RUNNING);
    send(&p, &old, 9, "first");
    assert_ok(
        cascade_signal_key(p.store, "u", "k", "news", play_number(1), &second));
    play_until(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED, 2);
    assert_ok(
        cascade_signal_key(p.store, "u", "k", "news", play_number(9), &second));
    send(&p, &old, 9, "second");
    send(&p, &old, 2, "third");
    play_await(&p, &p.id, CASCADE_COMPLETED);
    expect_heard(&c, 3);
    play_end(&p);
}

static void
send_key(const play *p, int n, const char *request_id)
{
    cascade_signal_options options = {.size = sizeof(options),
                                      .request_id = request_id};

    assert_ok(cascade_signal_key(p->store, "u", "k", "news", play_number(n),
                                 &options));
}

/* By the ids of three runs, and by the key. */
static void
a_request_id_holds_whichever_run_it_is_sent_to(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 4};
    play p = {.nodes = {{"goes-to", go_to_go_on},
                        {"goes-on", go_on},
                        {"hears", hear}},
              .user = &c};
    cascade_start_options keyed = {
        .size = sizeof(keyed), .user_id = "u", .key = "k"};
    cascade_started started = {0};
    cascade_uuid ids[3];

    play_open(&p, db, mode);
    assert_ok(cascade_start(p.store, "goes-to", NULL, &keyed, &started));
    p.id = ids[0] = started.id;
    send(&p, &ids[0], 0, "a");
    assert_ok(cascade_signal(p.store, &ids[0], "go", NULL, NULL));
    turn_to_next(&p, CASCADE_RUNNING);
    ids[1] = p.id;
    send(&p, &ids[1], 9, "a");
    send(&p, &ids[1], 1, "b");
    send(&p, &ids[0], 9, "b");
    send_key(&p, 9, "b");
    play_until(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED, 2);
    assert_ok(cascade_signal(p.store, &ids[1], "go", NULL, NULL));
    turn_to_next(&p, CASCADE_RUNNING);
    ids[2] = p.id;
    send_key(&p, 9, "b");
    send(&p, &ids[0], 9, "b");
    send_key(&p, 2, "c");
    for (size_t i = 0; i < 3; i++)
        send(&p, &ids[i], 9, "c");
    send(&p, &ids[2], 3, "d");
    send_key(&p, 9, "d");
    play_await(&p, &p.id, CASCADE_COMPLETED);
    expect_heard(&c, 4);
    play_end(&p);
}

#define HEAVY 17 /* of a million bytes each: more than 16 MiB */

/* Takes one of the news where there are too many to go with it. */
static cascade_err
shed(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_err err = cascade_node_await(node, "go", -1, NULL);

    if (err != CASCADE_OK)
        return err;
    err = cascade_node_continue_as_new(node, "nothing", NULL);
    if (err != CASCADE_ERR_TOO_LARGE)
        return err;
    c->err = err;
    err = cascade_node_await(node, "news", -1, NULL);
    return err == CASCADE_OK
               ? cascade_node_continue_as_new(node, "nothing", NULL)
               : err;
}

static void
unread_signals_are_bounded(test_db *db)
{
    course c = {.err = CASCADE_OK};
    play p = {.nodes = {{"sheds", shed}, {"nothing", stores_nothing}},
              .user = &c};
    char *text = malloc(1000001);

    assert_non_null(text);
    memset(text, 'x', 1000000);
    text[1000000] = '\0';
    play_begin(&p, db, CASCADE_MODE_THREADS, "sheds");
    for (int i = 0; i < HEAVY; i++)
        assert_ok(cascade_signal(p.store, &p.id, "news",
                                 cJSON_CreateString(text), NULL));
    free(text);
    play_until(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED, HEAVY);
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    turn_to_next(&p, CASCADE_COMPLETED);
    assert_int_equal(c.err, CASCADE_ERR_TOO_LARGE);
    play_end(&p);
}

/* Sends what the oracle is told of. */
static void
send_before(const play *p, oracle *o, const cascade_uuid *to, int n)
{
    char request[20];
    const oracle_message message = {
        .to = to, .kind = "signal", .name = "news", .request_id = request};

    (void)snprintf(request, sizeof(request), "request-%d", n);
    oracle_sending(o, &message);
    send(p, to, n, request);
    oracle_sent(o, &message, CASCADE_OK);
}

static void
assert_sound(const play *p, oracle *o, oracle_phase phase)
{
    if (!oracle_check(o, p->store->driver, p->store->self, phase))
        fail_msg("%s", oracle_text(o));
}

static void
the_rows_of_all_runs_are_sound(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 2 * NEWS};
    play p = {.nodes = {{"goes-on", go_on}, {"hears", hear}}, .user = &c};
    const cascade_start_options keyed = {.size = sizeof(keyed), .key = "k"};
    cascade_started started;
    const cascade_uuid *first = &started.id;
    oracle *o = oracle_create();

    play_open(&p, db, mode);
    assert_ok(cascade_start(p.store, "goes-on", NULL, &keyed, &started));
    p.id = started.id;
    oracle_set_slack(o, 100);
    oracle_started(o, first, true);
    for (int i = 0; i < NEWS; i++)
        send_before(&p, o, first, i);
    play_until(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED, NEWS);
    assert_sound(&p, o, ORACLE_RUNNING);
    assert_ok(cascade_signal(p.store, first, "go", NULL, NULL));
    turn_to_next(&p, CASCADE_RUNNING);
    assert_sound(&p, o, ORACLE_RUNNING);
    for (int i = NEWS; i < 2 * NEWS; i++)
        send_before(&p, o, first, i);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    expect_heard(&c, 2 * NEWS);
    assert_sound(&p, o, ORACLE_ENDED);
    oracle_free(o);
    play_end(&p);
}

static void
a_signal_after_the_last_run_is_undelivered_there(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"counts", count_down}}};
    cascade_uuid first;

    play_run(&p, db, mode, "counts", "{\"n\":2}", CASCADE_COMPLETED);
    first = p.id;
    turn_to_next(&p, CASCADE_COMPLETED);
    turn_to_next(&p, CASCADE_COMPLETED);
    assert_fails(CASCADE_ERR_ENDED,
                 cascade_signal(p.store, &first, "news", NULL, NULL));
    play_until(&p, "cascade.signal:news", CASCADE_EXECUTION_FAILED, 1);
    p.id = first;
    assert_int_equal(
        play_count(&p, "cascade.signal:news", CASCADE_EXECUTION_FAILED), 0);
    play_end(&p);
}

/* The answer to the sender comes when the last run has heard, and ended. */
static cascade_err
answer_late(void *context, const wrap_call *call, cascade_err answer)
{
    const play *p = context;

    if (call->move == WRAP_SUBMIT)
        expect(cascade_wait(p->store, &p->id, DB_WAIT_MS, NULL) == CASCADE_OK);
    return answer;
}

static void
a_signal_that_the_last_run_has_heard_was_sent(test_db *db)
{
    course c = {.wanted = 1};
    static play p; /* until the handles are closed, also after a failure */
    wrap_store *wrap = wrap_store_create(db->url);
    cascade_store *other = NULL;
    cascade_uuid old;

    assert_non_null(wrap);
    p = (play){.nodes = {{"goes-on", go_on}, {"hears", hear}}, .user = &c};
    play_begin(&p, db, CASCADE_MODE_THREADS, "goes-on");
    old = p.id;
    assert_ok(cascade_signal(p.store, &old, "go", NULL, NULL));
    turn_to_next(&p, CASCADE_RUNNING);
    wrap->context = &p;
    wrap->after = answer_late;
    other = db_wrapped(db, wrap);
    assert_ok(cascade_signal(other, &old, "news", play_number(0), NULL));
    expect_heard(&c, 1);
    db_close_store(db, other);
    wrap_store_free(wrap);
    play_end(&p);
}

/* ---- The key ------------------------------------------------------------ */

static void
a_key_gives_its_current_run(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"counts", count_down}}};
    cascade_start_options keyed = {
        .size = sizeof(keyed), .user_id = "u", .key = "k\"y"};
    cascade_started started = {0};
    cascade_started again = {0};
    cascade_snapshot *snapshot = NULL;
    char id[CASCADE_UUID_TEXT_SIZE];
    char expected[200];

    play_open(&p, db, mode);
    assert_ok(
        cascade_start(p.store, "counts", play_number(2), &keyed, &started));
    p.id = started.id;
    turn_to_next(&p, CASCADE_COMPLETED);
    turn_to_next(&p, CASCADE_COMPLETED);
    assert_ok(cascade_start(p.store, "counts", play_number(2), &keyed, &again));
    assert_true(again.existed);
    assert_memory_equal(&again.id, &p.id, sizeof(p.id));
    snapshot = play_snapshot(&p);
    (void)snprintf(expected, sizeof(expected),
                   "\"cascade\":{\"key\":\"k\\\"y\",\"root\":\"%s\",\"queue\":"
                   "\"default\",\"previous\":\"",
                   cascade_uuid_format(&started.id, id));
    assert_non_null(strstr(play_execution(snapshot, 0)->full_output, expected));
    assert_non_null(strstr(play_execution(snapshot, 0)->full_output,
                           "\",\"priority\":0,\"run_number\":3}"));
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Deletion ----------------------------------------------------------- */

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
start_with_news(const play *p, int n, const cascade_uuid *wanted)
{
    cascade_start_options keyed = {.size = sizeof(keyed), .key = "k"};
    cascade_started started = {0};

    assert_ok(cascade_start_with_signal(p->store, "goes-on", NULL, &keyed,
                                        "news", play_number(n), NULL,
                                        &started));
    assert_int_equal(started.existed, wanted != NULL);
    if (wanted != NULL)
        assert_memory_equal(&started.id, wanted, sizeof(*wanted));
}

/* What was sent to the run before its deletion is sent on all the same. */
static void
the_first_run_can_be_deleted(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 4};
    play p = {.nodes = {{"goes-on", go_on}, {"hears", hear}}, .user = &c};
    cascade_uuid first;
    cascade_uuid second;

    play_open(&p, db, mode);
    start_with_news(&p, 0, NULL);
    assert_ok(cascade_uuid_from_key("anonymous", "k", &p.id));
    first = p.id;
    assert_ok(cascade_signal(p.store, &first, "go", NULL, NULL));
    turn_to_next(&p, CASCADE_RUNNING);
    second = p.id;
    start_with_news(&p, 1, &second);
    send(&p, &first, 2, NULL);
    assert_ok(cascade_delete(p.store, &first, NULL));
    p.id = first;
    if (mode == CASCADE_MODE_THREADS)
        assert_true(stores_until(is_deleted, &p));
    else
        assert_true(db_poll_until(db, &p.engine, 1, is_deleted, &p));
    start_with_news(&p, 3, &second);
    play_await(&p, &second, CASCADE_COMPLETED);
    expect_heard(&c, 4);
    play_end(&p);
}

static void
delete_run(play *p, const cascade_uuid *id)
{
    p->id = *id;
    assert_ok(cascade_delete(p->store, id, NULL));
    if (p->mode == CASCADE_MODE_THREADS)
        assert_true(stores_until(is_deleted, p));
    else
        assert_true(db_poll_until(p->db, &p->engine, 1, is_deleted, p));
}

/* Two runs of key "k", which end, are deleted. */
static void
use_up_key(play *p)
{
    const cascade_start_options keyed = {.size = sizeof(keyed), .key = "k"};
    cascade_started first;
    cascade_uuid second;

    assert_ok(
        cascade_start(p->store, "counts", play_number(1), &keyed, &first));
    assert_false(first.existed);
    p->id = first.id;
    turn_to_next(p, CASCADE_COMPLETED);
    second = p->id;
    delete_run(p, &first.id);
    delete_run(p, &second);
}

/* Its number goes on, so that no id is used twice. */
static void
a_key_whose_runs_are_deleted_starts_anew(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"counts", count_down}}};
    const cascade_start_options keyed = {.size = sizeof(keyed), .key = "k"};
    const cascade_first first = {
        .size = sizeof(first), .node = "counts", .input_text = "{\"n\":0}"};
    const cascade_start_spec twice[] = {{.size = sizeof(twice[0]),
                                         .first = &first,
                                         .first_count = 1,
                                         .options = &keyed},
                                        {.size = sizeof(twice[0]),
                                         .first = &first,
                                         .first_count = 1,
                                         .options = &keyed}};
    cascade_started started[2];
    cascade_uuid third = csc_uuid_v8("anonymous", "k", 3);

    play_open(&p, db, mode);
    use_up_key(&p);
    assert_ok(cascade_start_many(p.store, twice, 2, started));
    assert_false(started[0].existed);
    assert_true(started[1].existed);
    for (int i = 0; i < 2; i++)
        assert_memory_equal(&started[i].id, &third, sizeof(third));
    play_await(&p, &third, CASCADE_COMPLETED);
    play_end(&p);
}

static void
it_starts_anew_with_a_signal(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 1};
    play p = {.nodes = {{"counts", count_down}, {"hears", hear}}, .user = &c};
    const cascade_start_options keyed = {.size = sizeof(keyed), .key = "k"};
    const cascade_signal_options once = {.size = sizeof(once),
                                         .request_id = "once"};
    cascade_started started;
    cascade_uuid third = csc_uuid_v8("anonymous", "k", 3);

    play_open(&p, db, mode);
    use_up_key(&p);
    for (int i = 0; i < 2; i++) {
        assert_ok(cascade_start_with_signal(p.store, "hears", NULL, &keyed,
                                            "news", play_number(0), &once,
                                            &started));
        assert_int_equal(started.existed, i > 0);
        assert_memory_equal(&started.id, &third, sizeof(third));
    }
    play_await(&p, &third, CASCADE_COMPLETED);
    expect_heard(&c, 1);
    p.id = third;
    assert_int_equal(
        play_count(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED), 1);
    play_end(&p);
}

/* Three runs, of which the last hears. */
static cascade_err
go_on_twice(cascade_node *node, void *user)
{
    int n = play_read_number(cascade_node_input(node));

    if (n == 0)
        return hear(node, user);
    return cascade_node_continue_as_new(node, NULL, play_number(n - 1));
}

/* What is sent to the first run finds the last one by the second. */
static void
a_run_between_others_is_kept(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 2};
    play p = {.nodes = {{"goes-on-twice", go_on_twice}}, .user = &c};
    cascade_uuid runs[3];

    play_open(&p, db, mode);
    runs[0] = p.id = db_start_text(p.store, "goes-on-twice", "{\"n\":2}");
    turn_to_next(&p, CASCADE_COMPLETED);
    runs[1] = p.id;
    turn_to_next(&p, CASCADE_RUNNING);
    runs[2] = p.id;
    assert_fails(CASCADE_ERR_AGAIN, cascade_delete(p.store, &runs[1], NULL));
    send(&p, &runs[0], 0, NULL);
    p.id = runs[2];
    play_until(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED, 1);
    delete_run(&p, &runs[0]);
    delete_run(&p, &runs[1]);
    send(&p, &runs[2], 1, NULL);
    play_await(&p, &runs[2], CASCADE_COMPLETED);
    expect_heard(&c, 2);
    play_end(&p);
}

/* It ran when its deletion was asked for, and has continued by then. */
static void
a_run_that_continues_first_is_kept(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 1};
    play p = {.nodes = {{"goes-on", go_on}, {"hears", hear}}, .user = &c};
    char path[100];
    cascade_message_row message = {
        .kind = "delete", .name = "", .path = path, .payload = "{}"};
    cascade_sent sent = CASCADE_SENT_ABSENT;
    const cascade_submission submission = {
        .messages = &message, .message_count = 1, .sent = &sent};
    char id[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid first;

    play_begin(&p, db, mode, "goes-on");
    first = p.id;
    assert_ok(cascade_signal(p.store, &first, "go", NULL, NULL));
    turn_to_next(&p, CASCADE_RUNNING);
    message.cascade_id = first;
    (void)snprintf(path, sizeof(path), "%s/message/delete/early",
                   cascade_uuid_format(&first, id));
    assert_ok(p.store->driver->submit(p.store->self, &submission));
    p.id = first;
    play_until(&p, "cascade.message:delete", CASCADE_EXECUTION_FAILED, 1);
    send(&p, &first, 0, NULL);
    turn_to_next(&p, CASCADE_COMPLETED);
    expect_heard(&c, 1);
    delete_run(&p, &first);
    play_end(&p);
}

/* ---- Commands ----------------------------------------------------------- */

static cascade_status
status_of(const play *p, const cascade_uuid *id)
{
    cascade_info *info = NULL;
    cascade_status status = CASCADE_RUNNING;

    assert_ok(cascade_get(p->store, id, &info));
    status = info->status;
    cascade_info_free(info);
    return status;
}

static void
a_command_reaches_the_last_run(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 1};
    play p = {.nodes = {{"goes-on", go_on}, {"hears", hear}}, .user = &c};
    cascade_uuid first;

    play_begin(&p, db, mode, "goes-on");
    first = p.id;
    assert_ok(cascade_signal(p.store, &first, "go", NULL, NULL));
    turn_to_next(&p, CASCADE_RUNNING);
    assert_ok(cascade_cancel(p.store, &first, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_int_equal(status_of(&p, &first), CASCADE_COMPLETED);
    play_end(&p);
}

/* The caller carries it out, in one run after the other. */
static void
a_command_reaches_it_without_an_engine(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 1};
    play p = {.nodes = {{"goes-on", go_on}, {"hears", hear}}, .user = &c};
    cascade_uuid first;

    play_begin(&p, db, mode, "goes-on");
    first = p.id;
    assert_ok(cascade_signal(p.store, &first, "go", NULL, NULL));
    turn_to_next(&p, CASCADE_RUNNING);
    db_close_engine(db, p.engine);
    assert_ok(cascade_terminate(p.store, &first, NULL));
    assert_int_equal(status_of(&p, &p.id), CASCADE_ERROR);
    db_close_store(db, p.store);
}

/* ---- Families ----------------------------------------------------------- */

static cascade_err
have_it_counted(cascade_node *node, void *user)
{
    cJSON *result = NULL;
    cascade_uuid id;
    cascade_err err = cascade_node_start_child(node, "one", "counts",
                                               play_number(3), NULL, &id);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_await_child(node, &id, &result);
    if (err != CASCADE_OK)
        return err;
    return cascade_node_output(node, result);
}

static void
a_child_that_continues_stays_a_child(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", have_it_counted}, {"counts", count_down}},
              .user = &c};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "asks", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_string_equal(cascade_snapshot_result(snapshot), "{\"n\":7}");
    cascade_snapshot_free(snapshot);
    assert_int_equal(
        play_count(&p, "cascade.child:one", CASCADE_EXECUTION_COMPLETED), 1);
    play_end(&p);
}

static cascade_err
stay_with(cascade_node *node, void *user)
{
    cascade_uuid id;
    cascade_err err =
        cascade_node_start_child(node, "one", "goes-on", NULL, NULL, &id);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_await_child(node, &id, NULL);
    return err;
}

/* The parent knows the child's first run only. */
static void
a_cancellation_reaches_the_last_run_of_a_child(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 1};
    play p = {
        .nodes = {{"stays", stay_with}, {"goes-on", go_on}, {"hears", hear}},
        .user = &c};
    cascade_uuid parent;

    play_begin(&p, db, mode, "stays");
    play_until(&p, "cascade.gather:one", CASCADE_EXECUTION_RUNNING, 1);
    parent = p.id;
    p.id = play_find(&p, "goes-on", 0);
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    turn_to_next(&p, CASCADE_RUNNING);
    play_until(&p, "cascade.await:news", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_cancel(p.store, &parent, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    play_await(&p, &parent, CASCADE_ERROR);
    play_end(&p);
}

/* Else the cancellation would go to a cascade that is no more. */
static void
the_first_run_of_a_child_is_kept_while_it_goes_on(test_db *db,
                                                  cascade_mode mode)
{
    course c = {.wanted = 1};
    play p = {
        .nodes = {{"stays", stay_with}, {"goes-on", go_on}, {"hears", hear}},
        .user = &c};
    cascade_uuid parent;
    cascade_uuid child;

    play_begin(&p, db, mode, "stays");
    play_until(&p, "cascade.gather:one", CASCADE_EXECUTION_RUNNING, 1);
    parent = p.id;
    child = play_find(&p, "goes-on", 0);
    p.id = child;
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    turn_to_next(&p, CASCADE_RUNNING);
    assert_fails(CASCADE_ERR_AGAIN, cascade_delete(p.store, &child, NULL));
    assert_ok(cascade_cancel(p.store, &parent, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    play_await(&p, &parent, CASCADE_ERROR);
    delete_run(&p, &child);
    play_end(&p);
}

static cascade_err
leave_child(cascade_node *node, void *user)
{
    cascade_uuid id;
    cascade_err err =
        cascade_node_start_child(node, "one", "hears", NULL, NULL, &id);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    return cascade_node_continue_as_new(node, "nothing", NULL);
}

static void
the_children_of_a_run_end_with_it(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 1};
    play p = {.nodes = {{"leaves", leave_child},
                        {"hears", hear},
                        {"nothing", stores_nothing}},
              .user = &c};
    cascade_uuid child;

    play_run(&p, db, mode, "leaves", NULL, CASCADE_COMPLETED);
    child = play_find(&p, "hears", 0);
    play_await(&p, &child, CASCADE_ERROR);
    turn_to_next(&p, CASCADE_COMPLETED);
    play_end(&p);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(each_run_starts_the_next)
PLAY_MODES(the_first_node_is_known_when_it_has_ended)
PLAY_MODES(unread_signals_are_carried_over)
PLAY_MODES(late_signals_are_sent_on_in_order)
PLAY_MODES(a_request_id_holds_for_all_runs)
PLAY_MODES(a_request_id_holds_whichever_run_it_is_sent_to)
PLAY_MODES(the_rows_of_all_runs_are_sound)
PLAY_MODES(a_signal_after_the_last_run_is_undelivered_there)
PLAY_MODES(a_key_gives_its_current_run)
PLAY_MODES(a_key_whose_runs_are_deleted_starts_anew)
PLAY_MODES(it_starts_anew_with_a_signal)
PLAY_MODES(a_run_between_others_is_kept)
PLAY_MODES(a_run_that_continues_first_is_kept)
PLAY_MODES(the_first_run_of_a_child_is_kept_while_it_goes_on)
PLAY_MODES(a_command_reaches_the_last_run)
PLAY_MODES(a_command_reaches_it_without_an_engine)
PLAY_MODES(the_first_run_can_be_deleted)
PLAY_MODES(a_child_that_continues_stays_a_child)
PLAY_MODES(a_cancellation_reaches_the_last_run_of_a_child)
PLAY_MODES(the_children_of_a_run_end_with_it)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(each_run_starts_the_next),
        PLAY_TESTS(the_first_node_is_known_when_it_has_ended),
        PLAY_TESTS(unread_signals_are_carried_over),
        PLAY_TESTS(late_signals_are_sent_on_in_order),
        PLAY_TESTS(a_request_id_holds_for_all_runs),
        PLAY_TESTS(a_request_id_holds_whichever_run_it_is_sent_to),
        {"unread_signals_are_bounded", unread_signals_are_bounded, STORES_ALL},
        PLAY_TESTS(the_rows_of_all_runs_are_sound),
        PLAY_TESTS(a_signal_after_the_last_run_is_undelivered_there),
        {"a_signal_that_the_last_run_has_heard_was_sent",
         a_signal_that_the_last_run_has_heard_was_sent, STORES_ALL},
        PLAY_TESTS(a_key_gives_its_current_run),
        PLAY_TESTS(a_key_whose_runs_are_deleted_starts_anew),
        PLAY_TESTS(it_starts_anew_with_a_signal),
        PLAY_TESTS(a_run_between_others_is_kept),
        PLAY_TESTS(a_run_that_continues_first_is_kept),
        PLAY_TESTS(the_first_run_of_a_child_is_kept_while_it_goes_on),
        PLAY_TESTS(a_command_reaches_the_last_run),
        PLAY_TESTS(a_command_reaches_it_without_an_engine),
        PLAY_TESTS(the_first_run_can_be_deleted),
        PLAY_TESTS(a_child_that_continues_stays_a_child),
        PLAY_TESTS(a_cancellation_reaches_the_last_run_of_a_child),
        PLAY_TESTS(the_children_of_a_run_end_with_it),
    };

    return stores_run("runs", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
