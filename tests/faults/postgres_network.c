/* SPDX-License-Identifier: MIT
 *
 * Connections that end at the worst moment, and a network that is slow, torn or
 * silent: by another session that ends or cancels the backends of the engines
 * in mid-commit, and by a proxy on TCP between them and the server.
 */
#include "faults/postgres_siege.h"

#include <stdio.h>

#include "store/postgres/postgres_proxy.h"

/* A commit takes a while, so that there is always one to strike at. */
#define SLOW "commit_delay=5000 commit_siblings=0"
#define ROUNDS 4
#define ROUNDS_MAX 40 /* until it was told often enough */
#define PROGRESS 80

static pg_siege siege;
static pg_proxy *proxy;
static char conninfo[600];

static int
set_up(void **state)
{
    (void)state;
    stage_create(SLOW);
    return 0;
}

static int
clean_up(void **state)
{
    (void)state;
    siege_abandon(&siege);
    pg_proxy_stop(proxy);
    proxy = NULL;
    return 0;
}

/* ---- By another session -------------------------------------------------- */

/* Strikes with `function` at a backend of the load that meets `condition`, as
 * soon as there is one. */
static void
strike_backend(const char *function, const char *condition)
{
    pg_until(&stage.sql,
             "SELECT count(%s(pid)) FROM (SELECT pid FROM pg_stat_activity"
             " WHERE application_name = '%s' AND state <> 'idle' AND %s"
             " LIMIT 1) AS victim",
             function, siege.name, condition);
    siege.strikes++;
}

/* A lock that the batches run into, so that they stand still in the middle. */
static void
strike_batch(const char *function)
{
    pg_sql(&stage.sql, "BEGIN; LOCK TABLE context_events IN SHARE MODE");
    strike_backend(function, "wait_event_type = 'Lock'");
    pg_sql(&stage.sql, "COMMIT");
}

static void
strike_everywhere(const char *function, siege_word word)
{
    for (size_t i = 0;
         i < ROUNDS || siege_told(&siege, SIEGE_STRUCK) < ROUNDS ||
         siege_told(&siege, word) == 0;
         i++) {
        assert_true(i < ROUNDS_MAX);
        strike_backend(function, "query = 'COMMIT'");
        siege_goes_on(&siege, PROGRESS);
        strike_batch(function);
        siege_goes_on(&siege, PROGRESS);
        siege_mark(&siege);
    }
}

static void
ended_backends_are_replaced(void **state)
{
    const siege_options options = {.deadline_ms = 1000};

    (void)state;
    stage_new_database();
    siege_open(&siege, &options);
    siege_goes_on(&siege, PROGRESS);
    strike_everywhere("pg_terminate_backend", SIEGE_TERMINATED);
    siege_end(&siege);
}

static void
cancelled_batches_are_repeated(void **state)
{
    const siege_options options = {.deadline_ms = 1000};

    (void)state;
    stage_new_database();
    siege_open(&siege, &options);
    siege_goes_on(&siege, PROGRESS);
    strike_everywhere("pg_cancel_backend", SIEGE_CANCELLED);
    siege_end(&siege);
}

/* ---- By the network ------------------------------------------------------ */

static void
open_proxied(const siege_options *given)
{
    siege_options options = *given;

    stage_new_database();
    proxy = pg_proxy_start_tcp(stage.conninfo);
    assert_non_null(proxy);
    snprintf(conninfo, sizeof(conninfo), "%s password=" STAGE_SECRET,
             pg_proxy_conninfo(proxy));
    options.conninfo = conninfo;
    siege_open(&siege, &options);
    siege_goes_on(&siege, PROGRESS);
}

static void
close_proxied(void)
{
    siege_end(&siege);
    pg_proxy_stop(proxy);
    proxy = NULL;
}

static bool
has_struck(void *context)
{
    const size_t *until = context;

    return pg_proxy_struck(proxy) >= *until;
}

/* Arms it, and waits until it has struck that often. */
static void
strike(pg_fault fault, size_t times)
{
    size_t until = pg_proxy_struck(proxy) + times;

    pg_proxy_arm(proxy, fault);
    if (!place_wait(has_struck, &until, SIEGE_LIMIT_MS))
        fail_msg("fault %d never struck", (int)fault);
    siege.strikes += times;
}

static void
cut_and_torn_connections_lose_nothing(void **state)
{
    static const pg_fault faults[] = {
        PG_FAULT_CUT_BEFORE_COMMIT, PG_FAULT_CUT_BEFORE_REPLY,
        PG_FAULT_TEAR_COMMIT, PG_FAULT_TEAR_REPLY};
    const siege_options options = {.deadline_ms = 1000};

    (void)state;
    open_proxied(&options);
    for (size_t i = 0; siege_is_due(&siege, i, ROUNDS * 4, SIEGE_STRUCK); i++) {
        strike(faults[i % 4], 1);
        siege_goes_on(&siege, PROGRESS);
        if (i % 4 == 3)
            siege_mark(&siege);
    }
    close_proxied();
}

/* Slow is not broken: nobody gives up. */
static void
delayed_messages_are_waited_for(void **state)
{
    const siege_options options = {.deadline_ms = 60000};

    (void)state;
    open_proxied(&options);
    strike(PG_FAULT_DELAY, 40);
    siege_goes_on(&siege, PROGRESS);
    assert_int_equal(0, siege_told(&siege, SIEGE_STRUCK));
    assert_int_equal(0, siege.load->failed);
    pg_proxy_arm(proxy, PG_FAULT_NONE);
    close_proxied();
}

/* The connections stay, and nobody answers; with `fault` what was said arrives
 * in the end, or does not. It lasts until each starter has waited in vain, on
 * the connections that there were and on one that it has made itself. */
static void
fall_silent(pg_fault fault)
{
    size_t struck = siege_told(&siege, SIEGE_STRUCK);

    strike(fault, 1);
    siege_await_word(&siege, SIEGE_STRUCK, struck + 1);
    load_await_turns(siege.load);
    load_await_turns(siege.load);
    pg_proxy_arm(proxy, PG_FAULT_NONE);
    siege_goes_on(&siege, PROGRESS);
    siege_mark(&siege);
}

static void
half_open_connections_are_given_up(void **state)
{
    const siege_options options = {.deadline_ms = 500};

    (void)state;
    open_proxied(&options);
    for (size_t i = 0; i < 3 || siege.unknown == 0; i++) {
        assert_true(i < ROUNDS_MAX);
        fall_silent(i % 2 == 0 ? PG_FAULT_FREEZE : PG_FAULT_SWALLOW);
    }
    close_proxied();
}

static void
refused_connections_are_tried_again(void **state)
{
    const siege_options options = {.deadline_ms = 400};

    (void)state;
    open_proxied(&options);
    for (size_t i = 0; siege_is_due(&siege, i, 2, SIEGE_STRUCK); i++) {
        strike(PG_FAULT_REFUSE, 3);
        load_await_failed(siege.load, 2);
        pg_proxy_arm(proxy, PG_FAULT_NONE);
        siege_goes_on(&siege, PROGRESS);
        siege_mark(&siege);
    }
    close_proxied();
}

#define TEST(test) cmocka_unit_test_teardown(test, clean_up)

static const struct CMUnitTest tests[] = {
    TEST(ended_backends_are_replaced),
    TEST(cancelled_batches_are_repeated),
    TEST(cut_and_torn_connections_lose_nothing),
    TEST(delayed_messages_are_waited_for),
    TEST(half_open_connections_are_given_up),
    TEST(refused_connections_are_tried_again),
};

int
main(int argc, char **argv)
{
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, set_up, stage_remove);
}
