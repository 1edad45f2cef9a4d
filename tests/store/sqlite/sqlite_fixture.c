/* SPDX-License-Identifier: MIT */
#include "store/sqlite/sqlite_fixture.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/migrations.h"

#define NOW_MS INT64_C(1800000000000)

int
fixture_setup(void **state)
{
    const char *base = getenv("TMPDIR");
    sqlite_fixture *it = calloc(1, sizeof(*it));

    if (it == NULL)
        return -1;
    snprintf(it->folder, sizeof(it->folder), "%s/cascade-file.XXXXXX",
             base == NULL ? "/tmp" : base);
    if (mkdtemp(it->folder) == NULL) {
        perror(it->folder);
        free(it);
        return -1;
    }
    snprintf(it->path, sizeof(it->path), "%s/cascade.db", it->folder);
    snprintf(it->url, sizeof(it->url), "sqlite:%s", it->path);
    it->deadline_ms = FIXTURE_WAIT_MS;
    fake_clock_init(&it->clock, NOW_MS);
    rows_init(&it->rows, rows_seed(), NOW_MS);
    *state = it;
    return 0;
}

static int
remove_one(const char *path, const struct stat *status, int type,
           struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

int
fixture_teardown(void **state)
{
    sqlite_fixture *it = *state;

    nftw(it->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    rows_fini(&it->rows);
    free(it);
    return 0;
}

cascade_err
fixture_open(sqlite_fixture *it, cascade_migrate mode, cascade_store **store)
{
    cascade_store_options options = {.size = sizeof(options),
                                     .migrate = mode,
                                     .deadline_ms = it->deadline_ms,
                                     .clock = &it->clock.clock};

    return cascade_store_open(it->url, &options, store);
}

cascade_store *
fixture_store(sqlite_fixture *it)
{
    cascade_store *store = NULL;

    if (fixture_open(it, CASCADE_MIGRATE_AUTO, &store) != CASCADE_OK)
        fail_msg("open: %s", cascade_errmsg());
    return store;
}

void
fixture_set_deadline(cascade_store *store, int64_t ms)
{
    store->config.deadline_ms = ms;
}

cascade_err
fixture_try(sqlite_fixture *it, cascade_migrate mode)
{
    cascade_store *store = NULL;
    cascade_err err = fixture_open(it, mode, &store);

    if (err != CASCADE_OK) {
        assert_null(store);
        assert_true(cascade_errmsg()[0] != '\0');
        return err;
    }
    return cascade_store_close(store);
}

/* ---- Around the library -------------------------------------------------- */

static sqlite3 *
open_plain(sqlite_fixture *it)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(it->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(db, FIXTURE_WAIT_MS), SQLITE_OK);
    return db;
}

void
fixture_sql(sqlite_fixture *it, const char *sql)
{
    sqlite3 *db = open_plain(it);

    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

void
fixture_word(sqlite_fixture *it, const char *sql, char text[256])
{
    sqlite3 *db = open_plain(it);
    sqlite3_stmt *statement = NULL;
    const char *found;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    found = (const char *)sqlite3_column_text(statement, 0);
    snprintf(text, 256, "%s", found == NULL ? "(null)" : found);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

int64_t
fixture_number(sqlite_fixture *it, const char *sql)
{
    char text[256];

    fixture_word(it, sql, text);
    return strtoll(text, NULL, 10);
}

const char *
fixture_migration(void)
{
    return csc_migrations_sqlite[0].sql;
}

/* ---- Through the library ------------------------------------------------- */

cascade_uuid
fixture_attach(sqlite_fixture *it, cascade_store *store)
{
    cascade_incarnation row = rows_incarnation(&it->rows, 1, 600000);

    assert_int_equal(store->driver->attach(store->self, &row), CASCADE_OK);
    return row.engine_id;
}

cascade_uuid
fixture_attach_old(sqlite_fixture *it)
{
    cascade_uuid id = rows_id(&it->rows);
    char text[CASCADE_UUID_TEXT_SIZE];
    char sql[400];

    cascade_uuid_format(&id, text);
    snprintf(sql, sizeof(sql),
             "INSERT INTO cascade_engines (engine_id, host, pid,"
             " process_start, boot, lease_ms, lease_until_ms, attached_at)"
             " VALUES ('%s', 'host', 1, 1, 'boot', 0, 0, %lld);"
             "INSERT INTO cascade_lanes (engine_id, lane, batch)"
             " VALUES ('%s', 0, 0)",
             text, (long long)it->clock.wall_ms, text);
    fixture_sql(it, sql);
    return id;
}

cascade_uuid
fixture_insert_old(sqlite_fixture *it, const cascade_uuid *engine_id)
{
    cascade_uuid id = rows_id(&it->rows);
    char text[CASCADE_UUID_TEXT_SIZE];
    char owner[CASCADE_UUID_TEXT_SIZE] = "";
    char sql[900];

    cascade_uuid_format(&id, text);
    if (engine_id != NULL)
        cascade_uuid_format(engine_id, owner);
    snprintf(sql, sizeof(sql),
             "INSERT INTO cascades (id, user_id) VALUES ('%s', 'user');"
             "INSERT INTO node_executions (node_instance_id, cascade_id,"
             " node_name, function_id, input_context, location)"
             " VALUES ('%s', '%s', 'first', 0, '{}', 'server');"
             "INSERT INTO cascade_runs (cascade_id, queue, priority, wake_at,"
             " engine_id, claim_no, takeovers)"
             " VALUES ('%s', 'default', 5, 0, nullif('%s', ''), 1, 0)",
             text, text, text, text, owner);
    fixture_sql(it, sql);
    return id;
}

cascade_err
fixture_submit(cascade_store *store, cascade_change *start)
{
    bool existed = false;

    return rows_submit(store->driver, store->self, start, 1, &existed);
}

cascade_err
fixture_commit(cascade_store *store, cascade_uuid engine_id, int64_t number,
               cascade_change *change)
{
    cascade_batch batch = {.engine_id = engine_id,
                           .number = number,
                           .changes = change,
                           .change_count = change == NULL ? 0 : 1};
    bool existed = false;

    return store->driver->commit(store->self, &batch, &existed);
}

pid_t
fixture_start(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        (void)setenv("CMOCKA_TEST_ABORT", "1", 1);
    return pid;
}

void
fixture_fork(sqlite_fixture *it, int (*child)(sqlite_fixture *it))
{
    int status = 0;
    pid_t pid = fixture_start();

    if (pid == 0)
        _exit(child(it));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status 0x%x", (unsigned)status);
}

const fixture_addition fixture_additions[FIXTURE_ADDITIONS] = {
    {4, "cascade_engines", "about"},
    {6, "cascade_runs", "trial"},
    {8, "cascade_links", "run_number"},
    {9, "cascade_messages", "seal"},
    {11, "cascade_queues", "version"},
    {11, "cascade_queues", "running_max"},
    {11, "cascade_queues", "key_running_max"},
    {11, "cascade_queues", "limits_about"},
    {11, "cascade_runs", "limit_key"},
    {11, "cascade_runs", "slot"},
};
