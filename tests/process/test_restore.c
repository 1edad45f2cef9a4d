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
#define BACKUP_AT_BYTES 20000

static bool
has_come_far(void *context)
{
    return ledger_log_size(context) >= BACKUP_AT_BYTES;
}

static void
back_up(const test_place *place)
{
    char path[PLACE_PATH];
    char sql[PLACE_PATH + 32];
    sqlite3 *db = NULL;

    snprintf(sql, sizeof(sql), "VACUUM INTO '%s'",
             place_path(place, "backup.db", path));
    assert_int_equal(SQLITE_OK,
                     sqlite3_open_v2(place->url + strlen("sqlite:"), &db,
                                     SQLITE_OPEN_READONLY, NULL));
    assert_int_equal(SQLITE_OK, sqlite3_exec(db, sql, NULL, NULL, NULL));
    sqlite3_close(db);
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

    place_create(&place, place_of(state));
    ledger_open(&ledger, &place);
    flow_start(ledger.store, CASCADES);
    worker_start(&worker, &place, &options);
    assert_true(place_wait(has_come_far, &place, LIMIT_MS));
    back_up(&place);
    ledger_wait_ended(&ledger, LIMIT_MS);
    worker_end(&worker);
    ledger_check(&ledger, CASCADES);
    ledger_close(&ledger);

    restore(&place);
    ledger_open(&ledger, &place); /* the marks of before mean nothing now */
    ledger_mark(&ledger);
    assert_true(ledger.running > 0 && ledger.marked > 0);
    worker_start(&worker, &place, &options);
    ledger_wait_ended(&ledger, LIMIT_MS);
    worker_end(&worker);
    ledger_check(&ledger, CASCADES);
    ledger_close(&ledger);
    place_destroy(&place);
}

static const struct CMUnitTest tests[] = {
    PLACE_SQLITE_TEST(restored_backup_goes_on) /**/
};

WORKER_MAIN(tests)
