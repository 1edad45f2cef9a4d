/* SPDX-License-Identifier: MIT
 *
 * All faults in any order, several at a time. The first engine, with a short
 * lease, lives behind the proxy, so it is taken over by the second when it is
 * silent for long; what it sent before then arrives late and must have no
 * effect.
 *
 *     test_faults_postgres_storm [--seconds N] [--seed S]
 *
 * All choices come from place_random(); when they are made depends on the
 * machine.
 */
#include "faults/postgres_siege.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "held/engine_state.h"
#include "store/postgres/postgres_proxy.h"

#define SLOW "commit_delay=3000 commit_siblings=0 deadlock_timeout=100"
#define LEASE_MS 1500
#define DEADLINE_MS 700
#define TAKEOVERS 2
#define TRIES_MAX 6
#define ROUND_STRIKES 80 /* then everything has to end, and it begins anew */
#define STRIKES_MAX 1000 /* until one has met a batch */
#define PROGRESS 100

static pg_siege siege;
static pg_proxy *proxy;
static int64_t seconds = 6;

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

/* ---- Strikes ------------------------------------------------------------- */

static void
wait_up_to(uint64_t ms)
{
    poll(NULL, 0, (int)place_random(ms) + 1);
}

static void
strike_network(void)
{
    static const pg_fault faults[] = {PG_FAULT_CUT_BEFORE_COMMIT,
                                      PG_FAULT_CUT_BEFORE_REPLY,
                                      PG_FAULT_TEAR_COMMIT,
                                      PG_FAULT_TEAR_REPLY,
                                      PG_FAULT_STALL_AT_COMMIT,
                                      PG_FAULT_DELAY,
                                      PG_FAULT_REFUSE,
                                      PG_FAULT_SWALLOW,
                                      PG_FAULT_FREEZE};
    static const uint64_t longest_ms = 2 * LEASE_MS;

    pg_proxy_arm(proxy, faults[place_random(sizeof(faults) / sizeof(*faults))]);
    wait_up_to(place_random(4) == 0 ? longest_ms : 300);
}

static void
strike_backends(void)
{
    static const char *const whom[] = {
        "query = 'COMMIT' AND state <> 'idle'", "wait_event_type = 'Lock'",
        "state <> 'idle'", "state = 'idle in transaction'", "true"};

    pg_sql(&stage.sql,
           "SELECT pg_%s_backend(pid) FROM pg_stat_activity"
           " WHERE application_name = '%s' AND %s LIMIT %d",
           place_random(3) == 0 ? "cancel" : "terminate", siege.name,
           whom[place_random(5)], place_random(3) == 0 ? 100 : 1);
}

/* Rows, or a table, that batches need. We give up before a deadlock does. */
static void
hold_locks(void)
{
    static const char *const what[] = {
        "SELECT 1 FROM cascade_lanes FOR UPDATE",
        "SELECT 1 FROM cascades ORDER BY id FOR NO KEY UPDATE",
        "SELECT 1 FROM node_executions WHERE status = 'RUNNING' FOR UPDATE",
        "SELECT 1 FROM cascade_runs FOR UPDATE",
        "LOCK TABLE context_events IN SHARE MODE"};
    PGconn *admin = stage.sql.admin;

    PQclear(PQexec(admin, "BEGIN; SET LOCAL lock_timeout = '60ms'"));
    PQclear(PQexec(admin, what[place_random(5)]));
    wait_up_to(place_random(4) == 0 ? 2 * DEADLINE_MS : 100);
    if (place_random(2) == 0)
        PQclear(PQexec(admin, what[place_random(5)]));
    PQclear(PQexec(admin, "ROLLBACK"));
}

static void
strike_server(void)
{
    if (place_random(2) == 0)
        server_stop(&stage.server);
    else
        server_crash(&stage.server);
    wait_up_to(DEADLINE_MS);
    server_start(&stage.server);
    stage_connect();
}

static void
strike(void)
{
    uint64_t chance = place_random(40);

    siege.strikes++;
    if (chance == 0)
        strike_server();
    else if (chance < 16)
        strike_network();
    else if (chance < 28)
        strike_backends();
    else
        hold_locks();
    if (place_random(2) == 0)
        pg_proxy_arm(proxy, PG_FAULT_NONE);
    wait_up_to(60);
    if (place_random(8) == 0)
        siege_mark(&siege);
}

/* ---- Taken over ---------------------------------------------------------- */

static void
open_storm(void)
{
    static char conninfo[600];
    const siege_options options = {.conninfo = conninfo,
                                   .second_direct = true,
                                   .deadline_ms = DEADLINE_MS,
                                   .lease_ms = LEASE_MS};

    stage_new_database();
    proxy = pg_proxy_start_tcp(stage.conninfo);
    assert_non_null(proxy);
    snprintf(conninfo, sizeof(conninfo), "%s password=" STAGE_SECRET,
             pg_proxy_conninfo(proxy));
    siege_open(&siege, &options);
}

static void
close_storm(void)
{
    pg_proxy_arm(proxy, PG_FAULT_NONE);
    siege_goes_on(&siege, PROGRESS);
    siege_end(&siege);
    pg_proxy_stop(proxy);
    proxy = NULL;
}

/* As what the first engine is attached; nil where it is not. */
static cascade_uuid
first_id(void)
{
    cascade_engine *engine = siege.load->engines[0];
    cascade_uuid id = {{0}};

    pthread_mutex_lock(&engine->mutex);
    if (engine->incarnation.attached)
        id = engine->incarnation.id;
    pthread_mutex_unlock(&engine->mutex);
    return id;
}

static bool
is_another(void *context)
{
    cascade_uuid id = first_id();

    return !csc_uuid_is_nil(&id) && !csc_uuid_equal(&id, context);
}

static int64_t
count_rows(const char *table, const cascade_uuid *engine_id)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    return pg_number(&stage.sql,
                     "SELECT count(*) FROM %s WHERE engine_id = '%s'", table,
                     cascade_uuid_format(engine_id, id));
}

static uint64_t
takeovers(void)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    assert_ok(cascade_engine_get_stats(siege.load->engines[1], &stats));
    return stats.takeovers;
}

/* The first engine, silent. */
typedef struct silence {
    cascade_uuid id;
    int64_t runs;    /* that it had when it was last listed */
    uint64_t before; /* takeovers */
} silence;

static bool
has_runs(void *context)
{
    silence *it = context;

    it->id = first_id();
    return count_rows("cascade_runs", &it->id) > 0;
}

static bool
is_removed(void *context)
{
    silence *it = context;
    int64_t runs = count_rows("cascade_runs", &it->id);
    bool listed = count_rows("cascade_engines", &it->id) > 0;

    if (listed)
        it->runs = runs;
    return !listed;
}

static bool
has_taken_over(void *context)
{
    const silence *it = context;

    return takeovers() > it->before;
}

/* Whether anything was to be taken from it: what it had just sent may have
 * ended all that it had. */
static bool
silence_first(silence *it)
{
    *it = (silence){.runs = 0};
    siege_goes_on(&siege, PROGRESS);
    if (!place_wait(has_runs, it, SIEGE_LIMIT_MS))
        fail_msg("the first engine has no runs");
    it->before = takeovers();
    pg_proxy_arm(proxy, PG_FAULT_FREEZE);
    siege.strikes++;
    if (!place_wait(is_removed, it, SIEGE_LIMIT_MS))
        fail_msg("the silent engine is not removed");
    if (it->runs == 0)
        return false;
    if (!place_wait(has_taken_over, it, SIEGE_LIMIT_MS))
        fail_msg("none of its %lld runs is taken over", (long long)it->runs);
    return true;
}

/* Cascades of the silent engine go on at the other; once it is heard again,
 * with all that it said meanwhile, it finds out and begins anew. */
static void
a_silent_engine_is_taken_over(void **state)
{
    (void)state;
    open_storm();
    for (size_t i = 0; siege_is_due(&siege, i, TAKEOVERS, SIEGE_STRUCK); i++) {
        silence first;
        int tries = 0;

        while (!silence_first(&first)) {
            pg_proxy_arm(proxy, PG_FAULT_NONE);
            assert_true(++tries < TRIES_MAX);
        }
        siege_mark(&siege);
        pg_proxy_arm(proxy, PG_FAULT_NONE);
        if (!place_wait(is_another, &first.id, SIEGE_LIMIT_MS))
            fail_msg("it does not find out");
        siege_mark(&siege);
    }
    close_storm();
}

/* ---- Rounds -------------------------------------------------------------- */

static void
go_round(int64_t until_ms)
{
    open_storm();
    while (siege_told(&siege, SIEGE_STRUCK) == 0 ||
           (siege.strikes < ROUND_STRIKES && place_now_ms() < until_ms)) {
        assert_true(siege.strikes < STRIKES_MAX);
        strike();
    }
    close_storm();
}

static void
any_faults_in_any_order_lose_nothing(void **state)
{
    int64_t until_ms = place_now_ms() + seconds * 1000;

    (void)state;
    do
        go_round(until_ms);
    while (place_now_ms() < until_ms);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(a_silent_engine_is_taken_over, clean_up),
    cmocka_unit_test_teardown(any_faults_in_any_order_lose_nothing, clean_up),
};

int
main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0)
            seconds = strtoll(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            setenv("CASCADE_TEST_SEED", argv[i + 1], 1);
    }
    return cmocka_run_group_tests(tests, set_up, stage_remove);
}
