/* SPDX-License-Identifier: MIT
 *
 * The oracle on messages: a cascade that heard two signals, timed out once and
 * was cancelled passes; the same rows with one thing wrong do not, and the text
 * says what. As in test_oracle.c a driver alters what is read.
 *
 *   0 listen   1 await a -> signal 3   2 signal b (unread)   3 signal a
 *   4 await b -> signal 2, at once     5 await a, timed out  6 await never
 *   7 cancel
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "support/oracle.h"
#include "support/stores.h"

#define WAIT_MS 50

/* ---- The cascade -------------------------------------------------------- */

typedef struct scene {
    test_db *db;
    oracle *o;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid id;
} scene;

static cascade_err
listen(cascade_node *node, void *user)
{
    scene *s = user;
    cascade_err err = CASCADE_OK;

    oracle_ran(s->o, cascade_node_request_id(node), cascade_node_attempt(node),
               atomic_load(&s->db->clock.wall_ms));
    err = cascade_node_await(node, "a", -1, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "b", -1, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "a", WAIT_MS, NULL);
    if (err == CASCADE_ERR_TIMEOUT)
        err = cascade_node_await(node, "never", -1, NULL);
    return err;
}

static void
send(scene *s, const char *kind, const char *name, const char *request_id)
{
    const oracle_message message = {
        .to = &s->id, .kind = kind, .name = name, .request_id = request_id};
    const cascade_signal_options signal = {.size = sizeof(signal),
                                           .request_id = request_id};
    const cascade_request_options request = {.size = sizeof(request),
                                             .request_id = request_id};
    cascade_err err = CASCADE_OK;

    oracle_sending(s->o, &message);
    if (name != NULL)
        err = cascade_signal(s->store, &s->id, name, NULL, &signal);
    else if (strcmp(kind, "cancel") == 0)
        err = cascade_cancel(s->store, &s->id, &request);
    else
        err = cascade_delete(s->store, &s->id, &request);
    oracle_sent(s->o, &message, err);
    assert_true(err == CASCADE_OK || err == CASCADE_ERR_ENDED);
}

typedef struct goal {
    scene *s;
    int32_t fn_id;
} goal;

static cascade_err
take_fn_id(void *context, const cascade_row *row)
{
    *(int32_t *)context = row->fn_id;
    return CASCADE_OK;
}

static bool
has_come(void *context)
{
    const goal *g = context;
    int32_t fn_id = -1;
    const cascade_load_sink sink = {.context = &fn_id,
                                    .on_cascade = take_fn_id};

    assert_ok(
        g->s->store->driver->load(g->s->store->self, &g->s->id, 1, 0, &sink));
    return fn_id >= g->fn_id;
}

/* Polls until there are executions up to that one. */
static void
run_to(scene *s, int32_t fn_id)
{
    goal g = {s, fn_id};

    assert_true(db_poll_until(s->db, &s->engine, 1, has_come, &g));
}

static scene *
open_scene(test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE};
    scene *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    db->fake_time = true;
    s->db = db;
    s->o = oracle_create();
    oracle_refuse_strangers(s->o);
    s->store = db_store(db);
    s->engine = db_engine(db, s->store, &options);
    assert_ok(cascade_engine_register(s->engine, "listen", listen, s, NULL));
    assert_ok(cascade_engine_start(s->engine));
    return s;
}

/* Up to the last await. */
static void
play(scene *s)
{
    s->id = db_start(s->store, "listen");
    oracle_started(s->o, &s->id, true);
    run_to(s, 1);
    send(s, "signal", "b", "first");
    run_to(s, 2);
    send(s, "signal", "a", "second");
    run_to(s, 6);
}

static void
play_to_the_end(scene *s)
{
    db_ends ends = {s->store, &s->id, 1, 0};

    play(s);
    send(s, "cancel", NULL, "third");
    assert_true(db_poll_until(s->db, &s->engine, 1, db_all_ended, &ends));
}

static void
close_scene(scene *s)
{
    test_db *db = s->db;

    db_close_engine(db, s->engine);
    db_close_store(db, s->store);
    oracle_free(s->o);
    free(s);
    db->backend->destroy(db);
    assert_int_equal(db->backend->create(db), 0);
}

/* ---- A driver that lies ------------------------------------------------- */

/* Alters an execution, and says which messages there are. */
typedef struct lie {
    const char *words; /* what is to be said of it */
    void (*execution)(cascade_execution_row *row);
    int gone;            /* that execution is not there; 0: all are */
    const char *message; /* the request id of one that is there; NULL: none */
    bool at_end;         /* of the cascade that was cancelled */
} lie;

typedef struct liar {
    cascade_store_driver driver;
    const cascade_store_driver *inner;
    scene *s;
    const lie *lie;
    const cascade_load_sink *sink;
} liar;

static cascade_err
lie_cascade(void *context, const cascade_row *row)
{
    const liar *l = context;

    return l->sink->on_cascade(l->sink->context, row);
}

static cascade_err
lie_execution(void *context, const cascade_execution_row *row)
{
    const liar *l = context;
    cascade_execution_row copy = *row;

    if (l->lie->execution != NULL)
        l->lie->execution(&copy);
    if (l->lie->gone != 0 && row->function_id == l->lie->gone)
        return CASCADE_OK;
    return l->sink->on_execution(l->sink->context, &copy);
}

static cascade_err
add_message(const liar *l)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char path[100];
    const cascade_message_row row = {.id = 1,
                                     .cascade_id = l->s->id,
                                     .kind = "signal",
                                     .name = "a",
                                     .path = path,
                                     .payload = "{}"};

    snprintf(path, sizeof(path), "%s/message/signal/%s",
             cascade_uuid_format(&l->s->id, id), l->lie->message);
    return l->sink->on_message(l->sink->context, &row, false);
}

static cascade_err
lie_load(void *self, const cascade_uuid *ids, size_t count, unsigned parts,
         const cascade_load_sink *sink)
{
    liar *l = self;
    const cascade_load_sink own = {.context = l,
                                   .on_cascade = lie_cascade,
                                   .on_execution = lie_execution,
                                   .on_event = sink->on_event};
    cascade_err err = CASCADE_OK;

    l->sink = sink;
    err = l->inner->load(l->s->store->self, ids, count,
                         parts & ~CASCADE_LOAD_MESSAGES & ~CASCADE_LOAD_EVENTS,
                         &own);
    return err == CASCADE_OK && l->lie->message != NULL ? add_message(l) : err;
}

static cascade_err
tell_list(void *self, const cascade_query *query, cascade_list_sink sink,
          void *context)
{
    liar *l = self;

    return l->inner->list(l->s->store->self, query, sink, context);
}

static cascade_err
tell_now(void *self, int64_t *now_ms)
{
    liar *l = self;

    return l->inner->now(l->s->store->self, now_ms);
}

static bool
check_lie(scene *s, const lie *what)
{
    liar l = {.driver = *s->store->driver,
              .inner = s->store->driver,
              .s = s,
              .lie = what};

    l.driver.load = lie_load;
    l.driver.list = tell_list;
    l.driver.now = tell_now;
    return oracle_check(s->o, &l.driver, &l, ORACLE_RUNNING);
}

/* ---- The lies ----------------------------------------------------------- */

static void
other_signal(cascade_execution_row *row)
{
    if (row->function_id == 4)
        row->full_output = "{\"at\":3,\"signal\":3,\"attempts\":1}";
}

static void
no_signal(cascade_execution_row *row)
{
    if (row->function_id == 4)
        row->full_output = "{\"at\":3,\"attempts\":1}";
}

static void
still_waits(cascade_execution_row *row)
{
    if (row->function_id == 4) {
        row->status = CASCADE_EXECUTION_RUNNING;
        row->full_output = NULL;
        row->completed_at_ms = CASCADE_TIME_NONE;
    }
}

static void
too_early(cascade_execution_row *row)
{
    if (row->function_id == 5)
        row->completed_at_ms -= 1;
}

/* Signal 2 is one of its name, which was there. */
static void
signal_passed_over(cascade_execution_row *row)
{
    if (row->function_id == 2)
        row->node_name = "cascade.signal:a";
}

static void
undelivered(cascade_execution_row *row)
{
    if (row->function_id == 2) {
        row->status = CASCADE_EXECUTION_FAILED;
        row->error = "undelivered: so they say";
        row->full_output = "{\"at\":1,\"continue\":true}";
    }
}

static void
same_request(cascade_execution_row *row)
{
    static char path[100];

    if (row->function_id == 2)
        snprintf(path, sizeof(path), "%s", row->node_instance_id);
    if (row->function_id == 3)
        row->node_instance_id = path;
}

static void
other_payload(cascade_execution_row *row)
{
    if (row->function_id == 3)
        row->node_name = "cascade.signal:c";
}

static void
cancel_runs_on(cascade_execution_row *row)
{
    if (row->function_id == 7) {
        row->status = CASCADE_EXECUTION_RUNNING;
        row->full_output = NULL;
        row->error = NULL;
        row->completed_at_ms = CASCADE_TIME_NONE;
    }
}

static void
node_runs_on(cascade_execution_row *row)
{
    if (row->function_id == 0) {
        row->status = CASCADE_EXECUTION_RUNNING;
        row->full_output =
            "{\"cascade\":{\"priority\":0,\"queue\":\"default\"}}";
        row->error = NULL;
        row->completed_at_ms = CASCADE_TIME_NONE;
    }
}

static const lie lies[] = {
    {.words = "took what is no signal of its name", .execution = other_signal},
    {.words = "ended without a signal or a time", .execution = no_signal},
    {.words = "waits though a signal is there", .execution = still_waits},
    {.words = "was over before its time", .execution = too_early},
    {.words = "passed over a signal", .execution = signal_passed_over},
    {.words = "undelivered though the cascade runs", .execution = undelivered},
    {.words = "was received before", .execution = same_request},
    {.words = "its receipt says something else", .execution = other_payload},
    {.words = "and is still a message", .message = "second"},
    {.words = "messages that nobody sent", .message = "strange"},
    {.words = "ended before all else had",
     .execution = node_runs_on,
     .at_end = true},
    {.words = "lasts though all else has ended",
     .execution = cancel_runs_on,
     .at_end = true},
    {.words = "was acknowledged, and is lost", .gone = 7, .at_end = true}};

/* ---- The tests ---------------------------------------------------------- */

static void
what_went_well_passes(test_db *db)
{
    static const lie none = {.words = ""};
    scene *s = open_scene(db);

    play(s);
    if (!oracle_check(s->o, s->store->driver, s->store->self, ORACLE_RUNNING))
        fail_msg("%s", oracle_text(s->o));
    close_scene(s);
    s = open_scene(db);
    play_to_the_end(s);
    if (!oracle_check(s->o, s->store->driver, s->store->self, ORACLE_ENDED) ||
        !check_lie(s, &none))
        fail_msg("%s", oracle_text(s->o));
    close_scene(s);
}

static void
each_lie_is_found(test_db *db)
{
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        scene *s = open_scene(db);

        if (lies[i].at_end)
            play_to_the_end(s);
        else
            play(s);
        if (check_lie(s, &lies[i]) ||
            strstr(oracle_text(s->o), lies[i].words) == NULL)
            fail_msg("not said: %s\n%s", lies[i].words, oracle_text(s->o));
        close_scene(s);
    }
}

/* What a call says, and what it may not. */
static void
answers_are_judged(test_db *db)
{
    scene *s = open_scene(db);
    oracle_message message = {.kind = "signal", .name = "a", .request_id = "r"};

    play(s);
    message.to = &s->id;
    assert_true(
        oracle_check(s->o, s->store->driver, s->store->self, ORACLE_RUNNING));
    oracle_sending(s->o, &message);
    oracle_sent(s->o, &message, CASCADE_ERR_NOT_FOUND);
    assert_non_null(strstr(oracle_text(s->o), "does not exist"));
    oracle_follow(s->o);
    oracle_sending(s->o, &message);
    oracle_sent(s->o, &message, CASCADE_ERR_ENDED);
    assert_non_null(strstr(oracle_text(s->o), "told that it has ended"));
    close_scene(s);
}

/* A call that returned before another began: its signal comes first. */
static void
the_order_of_sending_is_judged(test_db *db)
{
    scene *s = open_scene(db);
    oracle_message first = {.kind = "signal", .name = "x", .request_id = "1"};
    oracle_message second = {.kind = "signal", .name = "x", .request_id = "2"};
    const cascade_signal_options options = {.size = sizeof(options),
                                            .request_id = "2"};

    play(s);
    first.to = &s->id;
    second.to = &s->id;
    oracle_sending(s->o, &first);
    oracle_sent(s->o, &first, CASCADE_OK); /* which is not true */
    oracle_sending(s->o, &second);
    assert_ok(cascade_signal(s->store, &s->id, "x", NULL, &options));
    oracle_sent(s->o, &second, CASCADE_OK);
    run_to(s, 7);
    assert_false(
        oracle_check(s->o, s->store->driver, s->store->self, ORACLE_RUNNING));
    assert_non_null(strstr(oracle_text(s->o), "one that was sent before"));
    close_scene(s);
}

static bool
is_gone(void *context)
{
    scene *s = context;

    return cascade_wait(s->store, &s->id, 0, NULL) == CASCADE_ERR_NOT_FOUND;
}

/* It may be gone when that was asked for, and only then. */
static void
a_deletion_must_be_asked_for(test_db *db)
{
    scene *s = open_scene(db);

    play(s);
    assert_true(
        oracle_check(s->o, s->store->driver, s->store->self, ORACLE_RUNNING));
    send(s, "delete", NULL, "d");
    assert_true(db_poll_until(s->db, &s->engine, 1, is_gone, s));
    if (!oracle_check(s->o, s->store->driver, s->store->self, ORACLE_ENDED))
        fail_msg("%s", oracle_text(s->o));
    close_scene(s);
    s = open_scene(db);
    play(s);
    assert_true(
        oracle_check(s->o, s->store->driver, s->store->self, ORACLE_RUNNING));
    assert_ok(cascade_delete(s->store, &s->id, NULL));
    assert_true(db_poll_until(s->db, &s->engine, 1, is_gone, s));
    assert_false(
        oracle_check(s->o, s->store->driver, s->store->self, ORACLE_ENDED));
    assert_non_null(strstr(oracle_text(s->o), "is not in the store"));
    close_scene(s);
}

#define ORACLE_TEST(name)          \
    {                              \
#name, name, STORES_MEMORY \
    }

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        ORACLE_TEST(what_went_well_passes), ORACLE_TEST(each_lie_is_found),
        ORACLE_TEST(answers_are_judged),
        ORACLE_TEST(the_order_of_sending_is_judged),
        ORACLE_TEST(a_deletion_must_be_asked_for)};

    return stores_run("oracle_messages", tests,
                      sizeof(tests) / sizeof(tests[0]), argc, argv);
}
