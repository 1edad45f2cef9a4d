/* SPDX-License-Identifier: MIT
 *
 * Where a path is, and what outlives a run that is deleted: S43, S44,
 * S49, S54.
 *
 * The row of a chain is written by the commits that start its runs. Those of
 * one run are written in one transaction, before the one that deletes it. If we
 * die in between, they are there beside the run, which find gives first.
 */
#include "store/sqlite/internal.h"

#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/chain.h"
#include "store/store.h"

/* ---- Finding ------------------------------------------------------------- */

static cascade_err
read_found(sqlite3_stmt *statement, cascade_found *found)
{
    bool link = sqlite3_column_type(statement, 1) != SQLITE_NULL;
    const char *table = link ? "cascade_links" : "node_executions";
    cascade_err err = csc_sqlite_row_uuid(
        statement, 0, table, link ? "next_id" : "cascade_id", &found->id);

    if (err == CASCADE_OK && link)
        err = csc_sqlite_row_uuid(statement, 1, table, "root", &found->root);
    if (link)
        found->run_number = sqlite3_column_int(statement, 2);
    return err;
}

static cascade_err
locate(csc_sqlite_conn *conn, const char *path, cascade_found *found)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    *found = (cascade_found){.id = {{0}}};
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_LOCATE_PATH);
    csc_sqlite_call_add_text(&call, path);
    err = csc_sqlite_call_next(&call, &row);
    if (err == CASCADE_OK && row)
        err = read_found(call.statement, found);
    csc_sqlite_call_end(&call);
    return err;
}

cascade_err
csc_sqlite_links_find(void *self, const char *const *paths, size_t count,
                      cascade_found *found)
{
    csc_sqlite_conn *conn = NULL;
    cascade_err err = csc_sqlite_txn_begin_read(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        err = locate(conn, paths[i], &found[i]);
    return csc_sqlite_txn_end(conn, err);
}

/* ---- Linking ------------------------------------------------------------- */

cascade_err
csc_sqlite_links_lead(csc_sqlite_conn *conn, const cascade_uuid *root,
                      const cascade_uuid *next, int32_t run_number)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_LINK_CHAIN);
    csc_sqlite_call_add_uuid(&call, root);
    csc_sqlite_call_add_uuid(&call, next);
    csc_sqlite_call_add_i64(&call, run_number);
    return csc_sqlite_call_run(&call, NULL);
}

static cascade_err
link_path(csc_sqlite_conn *conn, const cascade_link *link, const char *path,
          int32_t function_id)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_LINK_PATH);
    csc_sqlite_call_add_text(&call, path);
    csc_sqlite_call_add_uuid(&call, &link->root);
    csc_sqlite_call_add_i64(
        &call, csc_store_link_number(link->run_number, function_id));
    return csc_sqlite_call_run(&call, NULL);
}

static cascade_err
trim(csc_sqlite_conn *conn, const cascade_link *link)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_TRIM_LINKS);
    csc_sqlite_call_add_uuid(&call, &link->root);
    csc_sqlite_call_add_i64(&call, CASCADE_LINKS_MAX);
    return csc_sqlite_call_run(&call, NULL);
}

static cascade_err
write_links(csc_sqlite_conn *conn, const cascade_link *link)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = csc_sqlite_links_lead(conn, &link->root, &link->next,
                                            link->next_number);

    if (err == CASCADE_OK && !csc_uuid_equal(&link->id, &link->root))
        err = link_path(conn, link, cascade_uuid_format(&link->id, id),
                        CSC_STORE_LINK_ID);
    for (size_t i = 0; i < link->receipt_count && err == CASCADE_OK; i++)
        err = link_path(conn, link, link->receipts[i].path,
                        link->receipts[i].function_id);
    return err == CASCADE_OK ? trim(conn, link) : err;
}

cascade_err
csc_sqlite_links_write(void *self, const cascade_link *link)
{
    csc_sqlite_conn *conn = NULL;
    cascade_err err = csc_sqlite_txn_begin_write(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    return csc_sqlite_txn_end(conn, write_links(conn, link));
}

/* ---- Sweeping ------------------------------------------------------------ */

typedef struct sweeping {
    csc_sqlite_conn *conn;
    cascade_uuid after;
    cascade_uuid to;
    cascade_uuid *gone; /* roots of which the last run is */
    size_t count;
    size_t looked;
    cascade_uuid last;
} sweeping;

static cascade_err
note_root(sweeping *s, sqlite3_stmt *statement)
{
    cascade_err err =
        csc_sqlite_row_uuid(statement, 0, "cascade_links", "root", &s->last);

    s->looked++;
    if (err == CASCADE_OK && sqlite3_column_int(statement, 1) != 0)
        s->gone[s->count++] = s->last;
    return err;
}

static cascade_err
find_gone(sweeping *s, size_t limit)
{
    csc_sqlite_call call;
    bool row = true;
    cascade_err err = CASCADE_OK;

    csc_sqlite_call_begin(&call, s->conn, CSC_SQLITE_FIND_GONE);
    csc_sqlite_call_add_uuid(&call, &s->after);
    csc_sqlite_call_add_uuid(&call, &s->to);
    csc_sqlite_call_add_i64(&call, (int64_t)limit);
    while (err == CASCADE_OK && row) {
        err = csc_sqlite_call_next(&call, &row);
        if (err == CASCADE_OK && row)
            err = note_root(s, call.statement);
    }
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
sweep_root(csc_sqlite_conn *conn, const cascade_uuid *root, int *rows)
{
    csc_sqlite_call call;
    int taken = 0;
    cascade_err err;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_SWEEP_PATHS);
    csc_sqlite_call_add_uuid(&call, root);
    csc_sqlite_call_add_i64(&call, *rows);
    err = csc_sqlite_call_run(&call, &taken);
    *rows -= taken;
    if (err != CASCADE_OK || *rows == 0)
        return err;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_SWEEP_ROOT);
    csc_sqlite_call_add_uuid(&call, root);
    return csc_sqlite_call_run(&call, NULL);
}

/* Where the rows do not suffice, the next call begins where this one did. */
static cascade_err
sweep_gone(sweeping *s, csc_sqlite *store, bool *all)
{
    int rows = CASCADE_DELETE_ROWS_MAX;
    cascade_err err = csc_sqlite_txn_begin_write(store, &s->conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    for (size_t i = 0; i < s->count && rows > 0 && err == CASCADE_OK; i++)
        err = sweep_root(s->conn, &s->gone[i], &rows);
    *all = rows > 0;
    return csc_sqlite_txn_end(s->conn, err);
}

cascade_err
csc_sqlite_links_sweep(void *self, const cascade_uuid *root, size_t limit,
                       cascade_uuid *cursor, bool *more)
{
    sweeping s = {.gone = csc_mem_alloc(limit * sizeof(cascade_uuid))};
    bool all = true;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (s.gone == NULL)
        return csc_fail_memory();
    csc_store_sweep_range(root, cursor, &s.after, &s.to);
    err = csc_sqlite_txn_begin_read(self, &s.conn);
    if (err == CASCADE_OK)
        err = csc_sqlite_txn_end(s.conn, find_gone(&s, limit));
    if (err == CASCADE_OK && s.count > 0)
        err = sweep_gone(&s, self, &all);
    csc_mem_free(s.gone);
    if (err != CASCADE_OK)
        return err;
    *more = !all || (root == NULL && s.looked == limit);
    if (all && s.looked > 0)
        *cursor = s.last;
    return CASCADE_OK;
}
