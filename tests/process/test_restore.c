/* SPDX-License-Identifier: MIT
 *
 * A backup taken under load and restored later: cascades go on from where it
 * found them. What was recorded after the backup runs again, and everything is
 * recorded once. The owner that the backup names is long dead.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/check.h"
#include "process/flow.h"
#include "process/ledger.h"
#include "process/worker.h"

#define CASCADES 100
#define LIMIT_MS 60000
#define BUSY_MS 60000
#define BACKUP_AFTER_BYTES 20000
#define BACKUPS_MAX 20

typedef struct progress {
    const test_place *place;
    size_t until;
} progress;

static bool
has_come_far(void *context)
{
    const progress *it = context;

    return ledger_log_size(it->place) >= it->until;
}

static sqlite3 *
open_file(const char *path)
{
    sqlite3 *db = NULL;

    assert_int_equal(SQLITE_OK,
                     sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL));
    assert_int_equal(SQLITE_OK, sqlite3_busy_timeout(db, BUSY_MS));
    return db;
}

static int
count_running(const char *path)
{
    sqlite3 *db = open_file(path);
    sqlite3_stmt *statement = NULL;
    int count = 0;

    assert_int_equal(
        SQLITE_OK,
        sqlite3_prepare_v2(
            db, "SELECT count(*) FROM cascades WHERE status = 'RUNNING'", -1,
            &statement, NULL));
    assert_int_equal(SQLITE_ROW, sqlite3_step(statement));
    count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
    return count;
}

/* Whether something was under way: it may have come too late. */
static bool
back_up(const test_place *place)
{
    char path[PLACE_PATH];
    char sql[PLACE_PATH + 32];
    sqlite3 *db = open_file(place->url + strlen("sqlite:"));

    unlink(place_path(place, "backup.db", path));
    snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", path);
    assert_int_equal(SQLITE_OK, sqlite3_exec(db, sql, NULL, NULL, NULL));
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
    return count_running(path) > 0;
}

/* How many cascades there are by then. */
static size_t
back_up_under_load(const test_place *place, test_ledger *ledger)
{
    progress some = {.place = place};

    for (size_t backups = 1; backups <= BACKUPS_MAX; backups++) {
        some.until = ledger_log_size(place) + BACKUP_AFTER_BYTES;
        flow_start(ledger->store, CASCADES);
        assert_true(place_wait(has_come_far, &some, LIMIT_MS));
        if (back_up(place))
            return backups * CASCADES;
    }
    fail_msg("all was over in each of %d backups", BACKUPS_MAX);
    return 0;
}

static void
restore(const test_place *place)
{
    char from[PLACE_PATH];
    char to[PLACE_PATH];

    unlink(place_path(place, "cascade.db-wal", to));
    unlink(place_path(place, "cascade.db-shm", to));
    assert_int_equal(0, rename(place_path(place, "backup.db", from),
                               place_path(place, "cascade.db", to)));
}

static void
restored_backup_goes_on(void **state)
{
    const worker_options options = {.work_us = 3000};
    test_place place;
    test_ledger ledger;
    test_worker worker;
    size_t cascades = 0;

    place_create(&place, place_of(state));
    ledger_open(&ledger, &place);
    worker_start(&worker, &place, &options);
    cascades = back_up_under_load(&place, &ledger);
    ledger_wait_ended(&ledger, LIMIT_MS);
    worker_end(&worker);
    ledger_check(&ledger, cascades);
    ledger_close(&ledger);

    restore(&place);
    ledger_open(&ledger, &place); /* the marks of before mean nothing now */
    ledger_mark(&ledger);
    assert_true(ledger.running > 0 && ledger.marked > 0);
    worker_start(&worker, &place, &options);
    ledger_wait_ended(&ledger, LIMIT_MS);
    worker_end(&worker);
    ledger_check(&ledger, cascades);
    ledger_close(&ledger);
    place_destroy(&place);
}

static const struct CMUnitTest tests[] = {
    PLACE_SQLITE_TEST(restored_backup_goes_on) /**/
};

WORKER_MAIN(tests)
