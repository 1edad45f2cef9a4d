/* SPDX-License-Identifier: MIT
 *
 * The disk is full under load, and later it is not. While it is, starts fail
 * and say so, and what runs waits; nothing is recorded as failed because of it.
 * With room again, everything ends.
 *
 *   tables   PostgreSQL's tables cannot grow: statements fail (53100)
 *   log      PostgreSQL cannot write its WAL: it crashes, again and again or
 *            for good, until somebody has made room and started it
 *   SQLite   commits fail, and checkpoints
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults/disk.h"
#include "faults/load.h"
#include "process/check.h"
#ifdef CASCADE_HAVE_POSTGRES
#include "faults/admin.h"
#include "process/server.h"
#endif
#ifdef CASCADE_HAVE_SQLITE
#include "store/sqlite/internal.h"
#include "store/store.h"
#endif

#define LIMIT_MS 90000
#define SOME_EXECUTIONS 300
#define SOME_STARTS 20
#define SOME_FAILURES 8
#define DEADLINE_MS 1000

/* Of the test that runs: a failing one leaves it to clean_up(). */
static test_disk disk;
static test_place place;

static void
finish(test_load *load)
{
    load_await_acknowledged(load, SOME_STARTS);
    load_end(load);
    load_settle(load, LIMIT_MS);
    assert_int_equal(0, load_stats(load).refusals);
    assert_int_equal(0, load_stats(load).losses);
    load_check(load);
    load_close(load);
}

/* ---- PostgreSQL ---------------------------------------------------------- */

#ifdef CASCADE_HAVE_POSTGRES

static test_server server;

static const load_options options = {.deadline_ms = DEADLINE_MS,
                                     .reason = "the server's disk is full"};

/* A folder on the disk that belongs to the server's user. */
static void
make_folder(const char *name, char path[128])
{
    char data[160];
    struct stat status;

    snprintf(data, sizeof(data), "%s/data", server.folder);
    assert_int_equal(0, stat(data, &status));
    snprintf(path, 128, "%s/%s", disk.folder, name);
    assert_int_equal(0, mkdir(path, 0700));
    assert_int_equal(0, chown(path, status.st_uid, status.st_gid));
}

static void
tables_on_a_full_disk_wait_for_room(void **state)
{
    test_load *load = NULL;
    char path[128];
    char sql[256];

    (void)state;
    disk_create(&disk);
    server_create(&server, "");
    make_folder("tables", path);
    snprintf(sql, sizeof(sql), "CREATE TABLESPACE small LOCATION '%s'", path);
    admin_sql(server.conninfo, sql);
    admin_sql(server.conninfo,
              "ALTER DATABASE cascade SET default_tablespace = 'small'");
    place_create_at(&place, server.conninfo);
    load = load_open(&place, &options);
    load_begin(load);
    load_await_executions(load, SOME_EXECUTIONS);
    disk_fill(&disk);
    load_await_failed(load, SOME_FAILURES);
    load_await_clear(load, 1);
    load_await_logged(load, "the server's disk is full");
    disk_make_room(&disk);
    finish(load);
}

static bool
has_died(void *context)
{
    (void)context;
    return !admin_try(server.conninfo, "SELECT pg_switch_wal()");
}

/* The server may be trying to come up by itself. */
static bool
is_up_or_gone(void *context)
{
    char path[160];

    (void)context;
    snprintf(path, sizeof(path), "%s/data/postmaster.pid", server.folder);
    return access(path, F_OK) != 0 || admin_try(server.conninfo, "SELECT 1");
}

static void
move_log_to_disk(void)
{
    char path[128];
    char command[512];

    make_folder("log", path);
    snprintf(command, sizeof(command),
             "cd '%s/data' && cp -a pg_wal/. '%s' && rm -rf pg_wal && "
             "ln -s '%s' pg_wal",
             server.folder, path, path);
    assert_int_equal(0, system(command));
}

static void
a_server_that_died_of_a_full_log_disk_goes_on(void **state)
{
    test_load *load = NULL;

    (void)state;
    disk_create(&disk);
    server_create(&server, "");
    server_crash(&server);
    move_log_to_disk();
    server_start(&server);
    place_create_at(&place, server.conninfo);
    load = load_open(&place, &options);
    load_begin(load);
    load_await_executions(load, SOME_EXECUTIONS);
    disk_fill(&disk);
    assert_true(place_wait(has_died, NULL, LIMIT_MS));
    load_await_failed(load, SOME_FAILURES);
    assert_false(load_has_logged(load, "the database is not there"));
    disk_make_room(&disk);
    assert_true(place_wait(is_up_or_gone, NULL, LIMIT_MS));
    if (!admin_try(server.conninfo, "SELECT 1"))
        server_start(&server);
    finish(load);
}

#endif

/* ---- SQLite -------------------------------------------------------------- */

#ifdef CASCADE_HAVE_SQLITE

#define CHECKPOINT_PAGES 100
#define CHECKPOINT_ROUNDS 40

/* Where the log has no room to be begun anew in, commits fail and none is
 * followed by a checkpoint: then the disk is to be filled at another moment. */
static void
fail_a_checkpoint(test_load *load)
{
    int rounds = 0;

    do {
        if (++rounds > CHECKPOINT_ROUNDS)
            fail_msg("no checkpoint fails in %d rounds", CHECKPOINT_ROUNDS);
        disk_make_room(&disk);
        load_await_executions(load, SOME_EXECUTIONS);
        disk_fill(&disk);
        load_await_failed(load, SOME_FAILURES);
    } while (!load_has_logged(load, "a checkpoint failed"));
}

static void
a_full_disk_under_sqlite_waits_for_room(void **state)
{
    const load_options short_waits = {.deadline_ms = DEADLINE_MS,
                                      .reason = "the disk is full"};
    test_load *load = NULL;

    (void)state;
    disk_create(&disk);
    place_create(&place, PLACE_SQLITE);
    snprintf(place.url, sizeof(place.url), "sqlite:%s/cascade.db", disk.folder);
    load = load_open(&place, &short_waits);
    for (int i = 0; i < LOAD_ENGINES; i++)
        ((csc_sqlite *)load->stores[i]->self)->checkpoint_pages =
            CHECKPOINT_PAGES;
    load_begin(load);
    fail_a_checkpoint(load);
    load_await_clear(load, 1);
    load_await_logged(load, "the disk is full");
    disk_make_room(&disk);
    finish(load);
}

#endif

static int
clean_up(void **state)
{
    (void)state;
#ifdef CASCADE_HAVE_POSTGRES
    if (server.folder[0] != '\0')
        server_remove(&server);
    server.folder[0] = '\0';
#endif
    disk_remove(&disk);
    place_destroy(&place);
    return 0;
}

static const struct CMUnitTest tests[] = {
#ifdef CASCADE_HAVE_POSTGRES
    cmocka_unit_test_teardown(tables_on_a_full_disk_wait_for_room, clean_up),
    cmocka_unit_test_teardown(a_server_that_died_of_a_full_log_disk_goes_on,
                              clean_up),
#endif
#ifdef CASCADE_HAVE_SQLITE
    cmocka_unit_test_teardown(a_full_disk_under_sqlite_waits_for_room,
                              clean_up),
#endif
};

int
main(int argc, char **argv)
{
    if (disk_prepare() != 0)
        return 1;
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
