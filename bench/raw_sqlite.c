/* SPDX-License-Identifier: MIT
 *
 * SQLite has one writer: one connection, prepared statements, a row at a time,
 * the flush at the end of the transaction. Checkpoints by hand, at 20,000
 * pages.
 */
#include "raw.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECKPOINT_PAGES 20000

typedef enum statement {
    BEGIN_WRITE,
    FENCE,
    INSERT_CASCADE,
    INSERT_RUN,
    INSERT_EXECUTION,
    INSERT_EVENT,
    UPDATE_EXECUTION,
    UPDATE_CASCADE,
    DELETE_RUN,
    COMMIT_WRITE,
    STATEMENTS
} statement;

static const char *const texts[STATEMENTS] = {
    [BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [FENCE] = "UPDATE cascade_lanes"
              " SET batch = batch + 1"
              " WHERE engine_id = 'raw' AND lane = 0",
    [INSERT_CASCADE] = "INSERT INTO cascades"
                       "    (id, status, fn_id, user_id, created_at,"
                       "     updated_at)"
                       " VALUES (?1, 'RUNNING', 0, '" RAW_USER "', ?2, ?2)",
    [INSERT_RUN] = "INSERT INTO cascade_runs"
                   "    (cascade_id, queue, priority, wake_at, engine_id,"
                   "     claim_no, takeovers)"
                   " VALUES (?1, '" RAW_QUEUE "', 0, ?2, 'raw', 1, 0)",
    [INSERT_EXECUTION] = "INSERT INTO node_executions"
                         "    (id, node_instance_id, cascade_id, node_name,"
                         "     function_id, input_context, full_output,"
                         "     location, status, started_at, completed_at)"
                         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
                         "     '" RAW_LOCATION "', ?8, ?9, ?10)",
    [INSERT_EVENT] = "INSERT INTO context_events"
                     "    (key, value, function_id, cascade_id, created_at)"
                     " VALUES ('" RAW_KEY "', ?1, ?2, ?3, ?4)",
    [UPDATE_EXECUTION] = "UPDATE node_executions"
                         " SET status = 'COMPLETED', full_output = ?3,"
                         "    completed_at = ?4"
                         " WHERE cascade_id = ?1 AND function_id = ?2"
                         "    AND status = 'RUNNING'",
    [UPDATE_CASCADE] = "UPDATE cascades"
                       " SET status = ?2, fn_id = ?3, updated_at = ?4"
                       " WHERE id = ?1",
    [DELETE_RUN] = "DELETE FROM cascade_runs WHERE cascade_id = ?1",
    [COMMIT_WRITE] = "COMMIT",
};

struct raw_sqlite {
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS];
    const raw_work *work;
    raw_cascade *cascades;
    uint64_t seed;
    int wal_pages;
    bool written_over; /* the WAL has been through a checkpoint */
    char now[RAW_TIME_SIZE];
};

static void
check(const raw_sqlite *w, int code)
{
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE)
        bench_die("sqlite: %s", sqlite3_errmsg(w->db));
}

static void
execute(const raw_sqlite *w, const char *sql)
{
    check(w, sqlite3_exec(w->db, sql, NULL, NULL, NULL));
}

static int
on_wal(void *context, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    *(int *)context = pages;
    return SQLITE_OK;
}

static void
bind_text(raw_sqlite *w, statement id, int at, const char *text)
{
    check(w, sqlite3_bind_text(w->statements[id], at, text, -1, SQLITE_STATIC));
}

static void
bind_number(raw_sqlite *w, statement id, int at, int64_t number)
{
    check(w, sqlite3_bind_int64(w->statements[id], at, number));
}

static void
step(raw_sqlite *w, statement id)
{
    check(w, sqlite3_step(w->statements[id]));
    check(w, sqlite3_reset(w->statements[id]));
}

/* ---- Rows ---------------------------------------------------------------- */

static void
insert_execution(raw_sqlite *w, const raw_cascade *cascade, size_t function_id,
                 bool completed)
{
    char id_text[CASCADE_UUID_TEXT_SIZE];
    char path[RAW_TEXT_MAX], input[RAW_TEXT_MAX], output[RAW_TEXT_MAX];
    cascade_uuid id = raw_id(&w->seed);
    const char *done = completed ? raw_output(output, w->work, function_id)
                       : function_id == 0 ? RAW_FIRST_OUTPUT
                                          : NULL;

    bind_text(w, INSERT_EXECUTION, 1, cascade_uuid_format(&id, id_text));
    bind_text(w, INSERT_EXECUTION, 2,
              raw_path(path, cascade, w->work->style, function_id));
    bind_text(w, INSERT_EXECUTION, 3, cascade->text);
    bind_text(w, INSERT_EXECUTION, 4,
              raw_node_name(w->work->style, function_id));
    bind_number(w, INSERT_EXECUTION, 5, (int64_t)function_id);
    bind_text(w, INSERT_EXECUTION, 6, raw_input(input, w->work, function_id));
    bind_text(w, INSERT_EXECUTION, 7, done);
    bind_text(w, INSERT_EXECUTION, 8, completed ? "COMPLETED" : "RUNNING");
    bind_text(w, INSERT_EXECUTION, 9, w->now);
    bind_text(w, INSERT_EXECUTION, 10, completed ? w->now : NULL);
    step(w, INSERT_EXECUTION);
}

static void
update_execution(raw_sqlite *w, const raw_cascade *cascade, size_t function_id)
{
    char output[RAW_TEXT_MAX];

    bind_text(w, UPDATE_EXECUTION, 1, cascade->text);
    bind_number(w, UPDATE_EXECUTION, 2, (int64_t)function_id);
    bind_text(w, UPDATE_EXECUTION, 3, raw_output(output, w->work, function_id));
    bind_text(w, UPDATE_EXECUTION, 4, w->now);
    step(w, UPDATE_EXECUTION);
}

static void
insert_event(raw_sqlite *w, const raw_cascade *cascade, size_t function_id)
{
    bind_text(w, INSERT_EVENT, 1, RAW_VALUE);
    bind_number(w, INSERT_EVENT, 2, (int64_t)function_id);
    bind_text(w, INSERT_EVENT, 3, cascade->text);
    bind_text(w, INSERT_EVENT, 4, w->now);
    step(w, INSERT_EVENT);
}

static void
update_cascade(raw_sqlite *w, const raw_cascade *cascade, size_t fn_id,
               bool end)
{
    bind_text(w, UPDATE_CASCADE, 1, cascade->text);
    bind_text(w, UPDATE_CASCADE, 2, end ? "COMPLETED" : "RUNNING");
    bind_number(w, UPDATE_CASCADE, 3, (int64_t)fn_id);
    bind_text(w, UPDATE_CASCADE, 4, w->now);
    step(w, UPDATE_CASCADE);
    if (!end)
        return;
    bind_text(w, DELETE_RUN, 1, cascade->text);
    step(w, DELETE_RUN);
}

static void
start(raw_sqlite *w, const raw_cascade *cascade)
{
    bind_text(w, INSERT_CASCADE, 1, cascade->text);
    bind_text(w, INSERT_CASCADE, 2, w->now);
    step(w, INSERT_CASCADE);
    bind_text(w, INSERT_RUN, 1, cascade->text);
    bind_number(w, INSERT_RUN, 2, raw_now_ms());
    step(w, INSERT_RUN);
    insert_execution(w, cascade, 0, false);
}

/* Commit `at` of a cascade: 0 is the start. */
static void
advance(raw_sqlite *w, const raw_cascade *cascade, size_t at)
{
    size_t steps = w->work->steps;

    if (at == 0) {
        start(w, cascade);
    } else if (w->work->style == RAW_GRAPH) {
        update_execution(w, cascade, at - 1);
        if (at < steps)
            insert_execution(w, cascade, at, false);
        update_cascade(w, cascade, at < steps ? at : at - 1, at == steps);
    } else if (at <= steps) {
        insert_execution(w, cascade, at, true);
        insert_event(w, cascade, at);
        update_cascade(w, cascade, at, false);
    } else {
        update_execution(w, cascade, 0);
        update_cascade(w, cascade, steps, true);
    }
}

/* ---- Transactions -------------------------------------------------------- */

static void
run_group(raw_sqlite *w)
{
    size_t commits = raw_style_commits(w->work->style, w->work->steps);

    for (size_t i = 0; i < w->work->batch; i++)
        w->cascades[i] = raw_cascade_make(&w->seed);
    for (size_t at = 0; at < commits; at++) {
        raw_now_text(w->now);
        step(w, BEGIN_WRITE);
        step(w, FENCE);
        for (size_t i = 0; i < w->work->batch; i++)
            advance(w, &w->cascades[i], at);
        step(w, COMMIT_WRITE);
        if (w->wal_pages < CHECKPOINT_PAGES)
            continue;
        check(w, sqlite3_wal_checkpoint_v2(
                     w->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL));
        w->written_over = true;
    }
}

static void
open_writer(raw_sqlite *w, const char *path)
{
    check(w, sqlite3_open(path, &w->db));
    execute(w, "PRAGMA journal_mode = WAL");
    execute(w, "PRAGMA synchronous = FULL");
    execute(w, "PRAGMA foreign_keys = ON");
    execute(w, "PRAGMA wal_autocheckpoint = 0");
    execute(w, "PRAGMA cache_size = -32768");
    execute(w, "INSERT OR IGNORE INTO cascade_lanes (engine_id, lane, batch)"
               " VALUES ('raw', 0, 0)");
    sqlite3_wal_hook(w->db, on_wal, &w->wal_pages);
    for (size_t i = 0; i < STATEMENTS; i++)
        check(w,
              sqlite3_prepare_v2(w->db, texts[i], -1, &w->statements[i], NULL));
}

raw_sqlite *
raw_sqlite_open(const bench *b, const char *name, const raw_work *work)
{
    raw_sqlite *w = bench_alloc(1, sizeof(*w));
    char path[BENCH_PATH_MAX];

    bench_sqlite_path(b, name, path);
    w->work = work;
    w->seed = (uint64_t)bench_now_ns() | 1;
    w->cascades = bench_alloc(work->batch, sizeof(raw_cascade));
    open_writer(w, path);
    return w;
}

double
raw_sqlite_run(raw_sqlite *w)
{
    int64_t begun_ns = bench_now_ns();

    for (size_t i = 0; i < w->work->groups; i++)
        run_group(w);
    return (double)(bench_now_ns() - begun_ns) / 1e9;
}

bool
raw_sqlite_is_warm(const raw_sqlite *w)
{
    return w->written_over;
}

void
raw_sqlite_close(raw_sqlite *w)
{
    for (size_t i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(w->statements[i]);
    sqlite3_close(w->db);
    free(w->cascades);
    free(w);
}
