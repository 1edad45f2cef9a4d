/* SPDX-License-Identifier: MIT
 *
 * The server is restarted, and crashes, under load, while the role's default is
 * not to wait for the disk: what is acknowledged is there all the same, since
 * every session of the library says what durability it wants. The server writes
 * as late as it may, so a crash would take what nobody insisted on.
 */
#include "faults/postgres_siege.h"

#define LAZY                                             \
    "wal_writer_delay=10000 wal_writer_flush_after=1GB " \
    "bgwriter_lru_maxpages=0 wal_buffers=32MB "
/* A commit takes a while, so that there is always one to strike at. */
#define SLOW "commit_delay=10000 commit_siblings=0"

#define PROGRESS 200
#define CRASHES 3

static pg_siege siege;

static int
set_up(void **state)
{
    (void)state;
    stage_create(LAZY SLOW);
    return 0;
}

static int
clean_up(void **state)
{
    (void)state;
    siege_abandon(&siege);
    return 0;
}

/* Down until somebody has noticed. */
static void
strike(void (*end)(test_server *server))
{
    siege_goes_on(&siege, PROGRESS);
    end(&stage.server);
    siege.strikes++;
    load_await_failed(siege.load, 1);
    server_start(&stage.server);
    stage_connect();
    siege_mark(&siege);
}

static void
restarts_and_crashes_lose_nothing(void **state)
{
    const siege_options options = {.deadline_ms = 600};

    (void)state;
    stage_new_database();
    pg_sql(&stage.sql,
           "ALTER ROLE " STAGE_ROLE " SET synchronous_commit = off");
    siege_open(&siege, &options);
    strike(server_stop);
    for (size_t i = 0; siege_is_due(&siege, i, CRASHES, SIEGE_STRUCK); i++)
        strike(server_crash);
    siege_end(&siege);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(restarts_and_crashes_lose_nothing, clean_up),
};

int
main(int argc, char **argv)
{
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, set_up, stage_remove);
}
