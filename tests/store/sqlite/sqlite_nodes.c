/* SPDX-License-Identifier: MIT */
#include "store/sqlite/sqlite_nodes.h"

#define LIMIT_MS FIXTURE_WAIT_MS
#define TRIES_MAX 100

bool
nodes_open(nodes_scene *scene, sqlite_fixture *it)
{
    cascade_incarnation row =
        rows_incarnation(&it->rows, NODES_LANE + 1, 600000);

    *scene = (nodes_scene){.it = it,
                           .engine = row.engine_id,
                           .id = rows_id(&it->rows),
                           .number = 1};
    scene->store = fixture_store(it);
    if (scene->store->driver->attach(scene->store->self, &row) != CASCADE_OK)
        return false;
    if (fixture_commit(scene->store, scene->engine, 1,
                       rows_start_owned(&it->rows, scene->id, scene->engine)) !=
        CASCADE_OK)
        return false;
    fixture_sql(it, "PRAGMA wal_autocheckpoint = 0;"
                    "CREATE TABLE IF NOT EXISTS orders (what TEXT)");
    return true;
}

void
nodes_close(nodes_scene *scene)
{
    assert_int_equal(cascade_store_close(scene->store), CASCADE_OK);
}

sqlite3 *
nodes_db(const nodes_scene *scene)
{
    return scene->native.handle;
}

cascade_err
nodes_begin(nodes_scene *scene)
{
    return scene->store->driver->node_txn->begin(scene->store->self, LIMIT_MS,
                                                 &scene->native);
}

void
nodes_begin_at_last(nodes_scene *scene)
{
    int tries = 0;

    while (nodes_begin(scene) != CASCADE_OK)
        assert_true(++tries < TRIES_MAX);
}

void
nodes_begin_within(nodes_scene *scene, int64_t limit_ms)
{
    assert_int_equal(scene->store->driver->node_txn->begin(
                         scene->store->self, limit_ms, &scene->native),
                     CASCADE_OK);
}

int64_t
nodes_begin_with(nodes_scene *scene, const char *sql)
{
    int64_t limit_ms = 50;

    nodes_begin_within(scene, limit_ms);
    while (nodes_sql(scene, sql) != SQLITE_OK) {
        nodes_abandon(scene);
        limit_ms *= 2;
        assert_true(limit_ms < LIMIT_MS);
        nodes_begin_within(scene, limit_ms);
    }
    return limit_ms;
}

void
nodes_abandon(nodes_scene *scene)
{
    assert_int_equal(scene->store->driver->node_txn->abandon(scene->store->self,
                                                             &scene->native),
                     CASCADE_OK);
}

void
nodes_step(nodes_scene *scene)
{
    scene->step++;
    scene->number++;
}

cascade_err
nodes_finish(nodes_scene *scene)
{
    test_rows *rows = &scene->it->rows;
    cascade_change *change = rows_write(rows, scene->id, scene->step + 1);
    cascade_batch batch = {.engine_id = scene->engine,
                           .lane = NODES_LANE,
                           .number = scene->number,
                           .change_count = 1};
    bool existed = true;
    cascade_err err;

    rows_update(rows, change, scene->step, "{}");
    rows_insert(rows, change, scene->step + 1, "next");
    batch.changes = change;
    err = scene->store->driver->node_txn->finish(
        scene->store->self, &scene->native, &batch, &existed);
    if (err == CASCADE_OK)
        nodes_step(scene);
    return err;
}

cascade_err
nodes_settle(nodes_scene *scene, bool *committed)
{
    return scene->store->driver->settle(scene->store->self, &scene->engine,
                                        NODES_LANE, scene->number, committed);
}

int
nodes_sql(const nodes_scene *scene, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(nodes_db(scene), sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    (void)sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

int64_t
nodes_count_orders(sqlite_fixture *it)
{
    return fixture_number(it, "SELECT count(*) FROM orders");
}

int64_t
nodes_count_completed(sqlite_fixture *it)
{
    return fixture_number(it, "SELECT count(*) FROM node_executions"
                              " WHERE status = 'COMPLETED'");
}
