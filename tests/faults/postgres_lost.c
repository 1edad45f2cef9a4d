/* SPDX-License-Identifier: MIT
 *
 * Calls whose COMMIT has no answer: the network is lost at that moment, and
 * neither side hears so, until the call's own deadline. Whether the COMMIT has
 * arrived or not, the call finds out on another connection what became of it,
 * within that deadline, and tells.
 *
 * Each call has a store and a proxy of its own, so that all of them wait at
 * once. A machine may be too slow for what is left of a deadline: calls that
 * end without having found out are made anew, with a deadline twice as long.
 */
#include <pthread.h>
#include <stdio.h>

#include "cascade/manage.h"
#include "store/postgres/postgres_fixture.h"
#include "store/postgres/postgres_proxy.h"

#define DEADLINE_MS 8000      /* an eighth of it is left to find out */
#define DEADLINE_MAX_MS 64000 /* in which the slowest machine does */
#define ROOM_MS 30000         /* for a machine that stands still */

typedef struct lost_call lost_call;

typedef cascade_err (*lost_make)(lost_call *call);

/* What is called, and what there is once of it afterwards. */
typedef struct lost_kind {
    lost_make make;
    const char *name;
    const char *count;
} lost_kind;

struct lost_call {
    const lost_kind *kind;
    pg_proxy *proxy;
    cascade_store *store;
    int32_t deadline_ms;
    cascade_uuid id; /* of a cascade that is there already */
    int64_t before;  /* what `count` gave */
    const char *key; /* of this round */
    pthread_t thread;
    cascade_started started;
    cascade_err err;
    int64_t elapsed_ms;
    char text[256];
};

/* ---- The calls ----------------------------------------------------------- */

static cascade_err
start_one(lost_call *call)
{
    return cascade_start(call->store, "started", NULL, NULL, &call->started);
}

static cascade_err
start_keyed(lost_call *call)
{
    const cascade_start_options options = {.size = sizeof(options),
                                           .key = call->key};

    return cascade_start(call->store, "keyed", NULL, &options, &call->started);
}

static cascade_err
start_two(lost_call *call)
{
    const cascade_first first = {.size = sizeof(first), .node = "two"};
    const cascade_start_spec specs[2] = {
        {.size = sizeof(specs[0]), .first = &first, .first_count = 1},
        {.size = sizeof(specs[0]), .first = &first, .first_count = 1}};
    cascade_started started[2] = {{.id = {{0}}, .existed = false}};
    cascade_err err = cascade_start_many(call->store, specs, 2, started);

    call->started = started[1];
    call->started.existed = started[0].existed || started[1].existed;
    return err;
}

static cascade_err
start_and_signal(lost_call *call)
{
    const cascade_signal_options options = {.size = sizeof(options),
                                            .request_id = "both"};

    return cascade_start_with_signal(call->store, "both", NULL, NULL, "go",
                                     NULL, &options, &call->started);
}

static cascade_err
signal_one(lost_call *call)
{
    const cascade_signal_options options = {.size = sizeof(options),
                                            .request_id = "one"};

    return cascade_signal(call->store, &call->id, "go", NULL, &options);
}

static cascade_err
cancel_one(lost_call *call)
{
    const cascade_request_options options = {.size = sizeof(options),
                                             .request_id = "one"};

    return cascade_cancel(call->store, &call->id, &options);
}

static cascade_err
pause_one(lost_call *call)
{
    const cascade_request_options options = {.size = sizeof(options),
                                             .reason = "lost"};

    return cascade_queue_pause(call->store, "lost", &options);
}

/* Of a queue that is paused, by another call. */
static cascade_err
resume_one(lost_call *call)
{
    return cascade_queue_resume(call->store, "found");
}

/* Messages with that end of their path, received or not: a cancel is carried
 * out at once, and receives what else there is. */
#define SENT(end)                                                        \
    "SELECT count(*) FROM (SELECT path FROM cascade_messages UNION ALL " \
    "SELECT node_instance_id FROM node_executions) AS sent (path) "      \
    "WHERE path LIKE '%/message/" end "'"

static const lost_kind kinds[] = {
    {start_one, "start",
     "SELECT count(*) FROM node_executions WHERE node_name = 'started'"},
    {start_keyed, "start with a key",
     "SELECT count(*) FROM node_executions WHERE node_name = 'keyed'"},
    {start_two, "start of two",
     "SELECT count(*) / 2 + count(*) % 2 * 1000 FROM node_executions"
     " WHERE node_name = 'two'"},
    {start_and_signal, "start with a signal", SENT("signal/both")},
    {signal_one, "signal", SENT("signal/one")},
    {cancel_one, "cancel", SENT("cancel/one")},
    {pause_one, "pause of a queue",
     "SELECT count(*) FROM cascade_queues WHERE queue = 'lost'"},
    {resume_one, "resume of a queue",
     "SELECT count(*) FROM (VALUES ('found')) AS v (queue)"
     " WHERE queue NOT IN (SELECT queue FROM cascade_queues)"},
};

#define CALLS (sizeof(kinds) / sizeof(kinds[0]))

/* ---- Losing -------------------------------------------------------------- */

static void *
run(void *context)
{
    lost_call *call = context;
    int64_t begun_ms = pg_now_ms();

    call->err = call->kind->make(call);
    call->elapsed_ms = pg_now_ms() - begun_ms;
    snprintf(call->text, sizeof(call->text), "%s", cascade_errmsg());
    return NULL;
}

/* On a connection that was used, as it is as a rule. */
static void
open_call(pg_test *test, lost_call *call)
{
    cascade_store_options options = pg_options(test);
    cascade_started started;

    options.deadline_ms = call->deadline_ms;
    call->proxy = pg_proxy_start(pg_conninfo());
    assert_non_null(call->proxy);
    call->store = pg_open(test, pg_proxy_conninfo(call->proxy), &options);
    assert_ok(cascade_start(call->store, "there", NULL, NULL, &started));
    call->id = started.id;
}

/* All of the time was over, and nobody knows. */
static bool
is_undecided(const lost_call *call)
{
    return call->elapsed_ms >= call->deadline_ms &&
           (call->err == CASCADE_ERR_UNAVAILABLE ||
            call->err == CASCADE_ERR_OUTCOME_UNKNOWN);
}

static void
check_call(pg_test *test, const lost_call *call)
{
    int64_t count = pg_number(test, "%s", call->kind->count) - call->before;

    assert_true(call->elapsed_ms < call->deadline_ms + ROOM_MS);
    if (is_undecided(call)) {
        assert_in_range(count, 0, 1);
        return;
    }
    if (call->err != CASCADE_OK)
        fail_msg("%s: %s", call->kind->name, call->text);
    assert_int_equal(1, pg_proxy_struck(call->proxy));
    assert_false(call->started.existed);
    if (count != 1)
        fail_msg("%s: %lld times", call->kind->name, (long long)count);
}

/* What was lost arrives after all, and nothing comes of it. */
static void
find(pg_test *test, lost_call *them)
{
    for (size_t i = 0; i < CALLS; i++)
        pg_proxy_arm(them[i].proxy, PG_FAULT_NONE);
    pg_until(test,
             "SELECT (count(*) = 0)::int FROM pg_stat_activity"
             " WHERE application_name = '%s' AND xact_start IS NOT NULL",
             test->plain);
    for (size_t i = 0; i < CALLS; i++)
        check_call(test, &them[i]);
}

/* One queue is paused, the other not. */
static void
open_calls(pg_test *test, lost_call *them, int32_t deadline_ms, const char *key)
{
    pg_sql(test, "DELETE FROM cascade_queues WHERE queue = 'lost'");
    assert_ok(cascade_queue_pause(test->handles[0], "found", NULL));
    for (size_t i = 0; i < CALLS; i++) {
        them[i] = (lost_call){
            .kind = &kinds[i], .deadline_ms = deadline_ms, .key = key};
        open_call(test, &them[i]);
    }
    for (size_t i = 0; i < CALLS; i++)
        them[i].before = pg_number(test, "%s", them[i].kind->count);
}

static void
close_calls(pg_test *test, lost_call *them)
{
    for (size_t i = 0; i < CALLS; i++) {
        assert_ok(cascade_store_close(test->handles[--test->handle_count]));
        pg_proxy_stop(them[i].proxy);
    }
}

/* How many calls are undecided. */
static size_t
lose_with(pg_test *test, pg_fault fault, int32_t deadline_ms, const char *key)
{
    lost_call them[CALLS];
    size_t undecided = 0;

    open_calls(test, them, deadline_ms, key);
    for (size_t i = 0; i < CALLS; i++) {
        pg_proxy_arm(them[i].proxy, fault);
        assert_int_equal(0,
                         pthread_create(&them[i].thread, NULL, run, &them[i]));
    }
    for (size_t i = 0; i < CALLS; i++)
        pthread_join(them[i].thread, NULL);
    for (size_t i = 0; i < CALLS; i++) {
        check_call(test, &them[i]);
        undecided += is_undecided(&them[i]);
    }
    find(test, them);
    close_calls(test, them);
    return undecided;
}

static void
lose(pg_test *test, pg_fault fault)
{
    int32_t deadline_ms = DEADLINE_MS;
    char key[24];

    do {
        (void)snprintf(key, sizeof(key), "lost %d", (int)deadline_ms);
        if (lose_with(test, fault, deadline_ms, key) == 0)
            return;
        deadline_ms *= 2;
    } while (deadline_ms <= DEADLINE_MAX_MS);
    fail_msg("calls with %d ms do not find out", DEADLINE_MAX_MS);
}

/* It was done. */
static void
a_call_whose_answer_is_lost_finds_what_it_did(void **state)
{
    lose(*state, PG_FAULT_LOSE_REPLY);
}

/* It was not, and the backend that waits for it has the locks. */
static void
a_call_whose_commit_is_lost_is_made_once(void **state)
{
    lose(*state, PG_FAULT_LOSE_COMMIT);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        PG_TEST(a_call_whose_answer_is_lost_finds_what_it_did),
        PG_TEST(a_call_whose_commit_is_lost_is_made_once),
    };

    return pg_main("postgres: lost at COMMIT", tests,
                   sizeof(tests) / sizeof(tests[0]), argc, argv);
}
