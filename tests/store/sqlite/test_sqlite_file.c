/* SPDX-License-Identifier: MIT
 *
 * The SQLite store and its file: schemas of all kinds; rows of other programs;
 * files and folders that cannot be written; paths.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/buf.h"
#include "base/mem.h"
#include "store/migrations.h"
#include "store/sqlite/sqlite_fixture.h"

#define NOBODY 65534

static void
assert_says(const char *word)
{
    if (strstr(cascade_errmsg(), word) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", word, cascade_errmsg());
}

/* ---- The schema ---------------------------------------------------------- */

/* S1: a database of a newer library is left alone. */
static void
a_newer_schema_is_refused(void **state)
{
    sqlite_fixture *it = *state;

    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    fixture_sql(it,
                "INSERT INTO cascade_schema"
                " SELECT max(number) + 1, 'x', 'y', 'z' FROM cascade_schema");
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_ERR_SCHEMA);
    assert_says("newer");
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_CHECK),
                     CASCADE_ERR_SCHEMA);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_NEVER), CASCADE_OK);
}

/* S1: so is one that a changed file has made. */
static void
a_changed_migration_is_refused(void **state)
{
    sqlite_fixture *it = *state;

    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    fixture_sql(it, "UPDATE cascade_schema SET checksum = 'feed'");
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_ERR_SCHEMA);
    assert_says("checksum");
    assert_int_equal(fixture_number(it, "SELECT min(checksum = 'feed')"
                                        " FROM cascade_schema"),
                     1);
}

static void
a_migration_under_another_name_is_refused(void **state)
{
    sqlite_fixture *it = *state;

    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    fixture_sql(it, "UPDATE cascade_schema SET name = '001_other'"
                    " WHERE number = 1");
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_ERR_SCHEMA);
    assert_says("001_initial");
}

/* Two migrations, to see what a gap gives. */
static void
a_gap_in_the_record_is_refused(void **state)
{
    static const csc_migration known[] = {
        {1, "001_a", "a"}, {2, "002_b", "b"}, {3, "003_c", "c"}};
    static const csc_applied applied[] = {{1, "001_a", NULL},
                                          {3, "003_c", NULL}};
    size_t from = 99;

    (void)state;
    assert_int_equal(
        csc_migrate_plan(known, 3, applied, 2, CASCADE_MIGRATE_AUTO, &from),
        CASCADE_ERR_SCHEMA);
    assert_says("002_b");
    assert_int_equal(
        csc_migrate_plan(known, 3, applied, 1, CASCADE_MIGRATE_CHECK, &from),
        CASCADE_ERR_SCHEMA);
    assert_int_equal(from, 99);
    assert_int_equal(
        csc_migrate_plan(known, 3, applied, 1, CASCADE_MIGRATE_AUTO, &from),
        CASCADE_OK);
    assert_int_equal(from, 1);
}

/* Changes when a table or an index does. */
static int64_t
sum_up_schema(sqlite_fixture *it)
{
    return fixture_number(it, "SELECT sum(rowid * length(sql))"
                              " FROM sqlite_schema WHERE sql IS NOT NULL");
}

/* As the shell does it that stops at the first error. */
static int
feed(sqlite_fixture *it, const char *sql)
{
    sqlite3 *db = NULL;
    int code;

    assert_int_equal(sqlite3_open(it->path, &db), SQLITE_OK);
    code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return code;
}

/* The files can be fed to sqlite3 by hand, twice even; the library accepts what
 * it finds and adds the checksum when it may; the times stay. */
static bool
adds_column(size_t number)
{
    for (size_t i = 0; i < FIXTURE_ADDITIONS; i++)
        if (number == fixture_additions[i].number)
            return true;
    return false;
}

static void
a_schema_made_by_hand_is_accepted(void **state)
{
    sqlite_fixture *it = *state;
    char sql[100];
    char checksum[256];
    char expected[CSC_MIGRATE_CHECKSUM_SIZE];

    for (size_t i = 0; i < csc_migrations_sqlite_count; i++) {
        int64_t sum;

        fixture_sql(it, csc_migrations_sqlite[i].sql);
        sum = sum_up_schema(it);
        assert_int_equal(feed(it, csc_migrations_sqlite[i].sql),
                         adds_column(i + 1) ? SQLITE_ERROR : SQLITE_OK);
        assert_int_equal(sum_up_schema(it), sum);
    }
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_CHECK), CASCADE_OK);
    assert_int_equal(
        fixture_number(it, "SELECT count(checksum) FROM cascade_schema"), 0);
    fixture_sql(it, "UPDATE cascade_schema SET applied_at = 'then'");
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    assert_int_equal(fixture_number(it, "SELECT min(applied_at = 'then')"
                                        " FROM cascade_schema"),
                     1);
    for (size_t i = 0; i < csc_migrations_sqlite_count; i++) {
        snprintf(sql, sizeof(sql),
                 "SELECT checksum FROM cascade_schema WHERE number = %zu",
                 i + 1);
        fixture_word(it, sql, checksum);
        assert_string_equal(checksum, csc_migrate_checksum(
                                          &csc_migrations_sqlite[i], expected));
        assert_int_equal(strlen(checksum), 64);
    }
}

/* Cut short, for instance because the shell was closed: AUTO finishes it. */
static void
half_a_schema_is_finished(void **state)
{
    sqlite_fixture *it = *state;
    char *half = csc_mem_strdup(fixture_migration());

    *strstr(half, "CREATE TABLE IF NOT EXISTS context_events") = '\0';
    fixture_sql(it, half);
    csc_mem_free(half);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_CHECK),
                     CASCADE_ERR_SCHEMA);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_CHECK), CASCADE_OK);
}

/* S1: and those that add a column too, which make all of it or nothing. */
static void
a_column_is_there_when_it_is_recorded(void **state)
{
    sqlite_fixture *it = *state;
    char sql[100];

    for (size_t i = 0, applied = 0; i < FIXTURE_ADDITIONS; i++) {
        size_t number = fixture_additions[i].number;
        char *cut;

        if (i > 0 && fixture_additions[i - 1].number == number)
            continue;
        cut = csc_mem_strdup(csc_migrations_sqlite[number - 1].sql);
        for (; applied + 1 < number; applied++)
            fixture_sql(it, csc_migrations_sqlite[applied].sql);
        *strstr(cut, "INSERT INTO cascade_schema") = '\0';
        assert_int_equal(feed(it, cut), SQLITE_OK);
        csc_mem_free(cut);
    }
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    for (size_t i = 0; i < FIXTURE_ADDITIONS; i++) {
        snprintf(sql, sizeof(sql), "ALTER TABLE %s RENAME COLUMN %s TO gone",
                 fixture_additions[i].table, fixture_additions[i].column);
        fixture_sql(it, sql);
        assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO),
                         CASCADE_ERR_SCHEMA);
        assert_says(fixture_additions[i].column);
        snprintf(sql, sizeof(sql), "ALTER TABLE %s RENAME COLUMN gone TO %s",
                 fixture_additions[i].table, fixture_additions[i].column);
        fixture_sql(it, sql);
    }
}

static void
a_table_that_went_missing_is_told(void **state)
{
    sqlite_fixture *it = *state;

    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    fixture_sql(it, "DROP TABLE cascade_lanes");
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_ERR_SCHEMA);
    assert_says("cascade_lanes");
}

/* Each row: tables that another program made, and what the error names. */
typedef struct foreign_case {
    const char *sql;
    const char *table;
    const char *column;
} foreign_case;

static const foreign_case foreign_cases[] = {
    {"CREATE TABLE cascades (id TEXT PRIMARY KEY, status TEXT, fn_id INTEGER,"
     " created_at TEXT, updated_at TEXT)",
     "cascades", "user_id"},
    {"CREATE TABLE cascades (id TEXT PRIMARY KEY, status TEXT, fn_id TEXT,"
     " user_id TEXT, created_at TEXT, updated_at TEXT)",
     "cascades", "fn_id"},
    {"CREATE TABLE cascades (id REAL PRIMARY KEY, status TEXT, fn_id INTEGER,"
     " user_id TEXT, created_at TEXT, updated_at TEXT)",
     "cascades", "id"},
    {"CREATE TABLE cascades (id TEXT, status TEXT, fn_id INTEGER,"
     " user_id TEXT, created_at TEXT, updated_at TEXT)",
     "cascades", "id"},
    {"CREATE TABLE cascades (id TEXT PRIMARY KEY, status TEXT, fn_id INTEGER,"
     " user_id TEXT, created_at TEXT, updated_at TEXT, tenant TEXT NOT NULL)",
     "cascades", "tenant"},
    {"CREATE TABLE context_events (id SERIAL PRIMARY KEY, key TEXT, value TEXT,"
     " ui_value TEXT, function_id INTEGER, cascade_id TEXT, created_at TEXT)",
     "context_events", "id"},
    {"CREATE TABLE context_events (id INTEGER PRIMARY KEY, key TEXT,"
     " value NUMERIC, ui_value TEXT, function_id INTEGER, cascade_id TEXT,"
     " created_at TEXT)",
     "context_events", "value"},
    {"CREATE TABLE node_executions (id TEXT PRIMARY KEY,"
     " node_instance_id TEXT UNIQUE, cascade_id TEXT, node_name TEXT,"
     " function_id INTEGER, input_context TEXT, full_output TEXT,"
     " location TEXT, status TEXT, error TEXT, started_at TEXT,"
     " completed_at TEXT)",
     "node_executions", "cascade_id,function_id"},
    {"CREATE TABLE cascade_engines (id INTEGER PRIMARY KEY)", "cascade_engines",
     "engine_id"},
    {"CREATE TABLE cascade_messages (id INTEGER PRIMARY KEY, cascade_id TEXT,"
     " kind TEXT, name TEXT, path TEXT, payload TEXT, sent_at INTEGER)",
     "cascade_messages", "path"},
    {"CREATE TABLE cascade_messages (id INTEGER PRIMARY KEY, cascade_id TEXT,"
     " kind TEXT, name TEXT, path TEXT UNIQUE, payload JSONB, sent_at INTEGER)",
     "cascade_messages", "payload"},
    {"CREATE TABLE cascade_keys (user_id TEXT PRIMARY KEY, key TEXT,"
     " run_number INTEGER)",
     "cascade_keys", "key,user_id"},
    {"CREATE TABLE cascade_queues (queue TEXT, paused_at INTEGER, about TEXT)",
     "cascade_queues", "queue"},
    {"CREATE VIEW cascades AS SELECT 1 AS id", "cascades", "view"},
};

/* S1: other columns are an error that names them, and nothing is touched. */
static void
tables_with_other_columns_are_refused(void **state)
{
    sqlite_fixture *it = *state;

    char mode[256];

    for (size_t i = 0; i < sizeof(foreign_cases) / sizeof(foreign_cases[0]);
         i++) {
        const foreign_case *one = &foreign_cases[i];

        fixture_sql(it, one->sql);
        assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO),
                         CASCADE_ERR_SCHEMA);
        assert_says(one->table);
        assert_says(one->column);
        assert_int_equal(fixture_number(it, "SELECT count(*)"
                                            " FROM sqlite_schema"
                                            " WHERE type <> 'index'"),
                         1);
        fixture_word(it, "PRAGMA journal_mode", mode);
        assert_string_equal(mode, "delete");
        assert_int_equal(unlink(it->path), 0);
    }
}

/* The library's own tables with a column more: somebody's own business. */
static void
a_column_that_need_not_be_set_is_accepted(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store;

    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    fixture_sql(it, "ALTER TABLE cascades ADD COLUMN note TEXT;"
                    "ALTER TABLE cascades ADD COLUMN n INT NOT NULL DEFAULT 7");
    store = fixture_store(it);
    assert_int_equal(
        fixture_submit(store, rows_start(&it->rows, rows_id(&it->rows))),
        CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    assert_int_equal(fixture_number(it, "SELECT n FROM cascades"), 7);
}

/* ---- Rows of another program --------------------------------------------- */

/* The original schema, with its types as they stand (SQLite takes any). */
static const char foreign_tables[] =
    "CREATE TABLE cascades ("
    "  id UUID PRIMARY KEY, status cascade_status NOT NULL DEFAULT 'RUNNING',"
    "  fn_id INTEGER NOT NULL DEFAULT 0, user_id TEXT NOT NULL,"
    "  created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,"
    "  updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);"
    "CREATE INDEX cascades_user_id_status_idx ON cascades (user_id, status);"
    "CREATE TABLE node_executions ("
    "  id UUID PRIMARY KEY, node_instance_id TEXT NOT NULL UNIQUE,"
    "  cascade_id UUID NOT NULL REFERENCES cascades (id) ON DELETE CASCADE,"
    "  node_name TEXT NOT NULL, function_id INTEGER NOT NULL,"
    "  input_context JSONB NOT NULL, full_output JSONB,"
    "  location TEXT NOT NULL,"
    "  status execution_status NOT NULL DEFAULT 'RUNNING', error TEXT,"
    "  started_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,"
    "  completed_at TIMESTAMP, UNIQUE (cascade_id, function_id));"
    "CREATE TABLE context_events ("
    "  id INTEGER PRIMARY KEY, key TEXT NOT NULL, value JSONB NOT NULL,"
    "  ui_value JSONB, function_id INTEGER NOT NULL,"
    "  cascade_id UUID NOT NULL REFERENCES cascades (id) ON DELETE CASCADE,"
    "  created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);"
    "CREATE INDEX context_events_cascade_function_idx"
    "  ON context_events (cascade_id, function_id);";

#define FOREIGN_ID "01234567-89ab-4cde-8f01-23456789abcd"
#define FOREIGN_EXECUTION "'11234567-89ab-4cde-8f01-23456789abc"

/* Blanks, other order of members, numbers of any kind, times in every form. */
static const char foreign_rows[] =
    "INSERT INTO cascades VALUES ('" FOREIGN_ID "', 'COMPLETED', 2, 'ann',"
    "  '2026-01-31 23:59:59', '2026-02-01T00:00:00.250Z');"
    "INSERT INTO node_executions VALUES (" FOREIGN_EXECUTION "0',"
    "  'plan_0190_0', '" FOREIGN_ID "', 'plan', 0,"
    "  '{ \"longer\": [1, 2.50], \"a\": 1e2 }', '{\"keys\" : []}', 'server',"
    "  'COMPLETED', NULL, 1767225600123, '2026-01-01 00:00:01.5');"
    "INSERT INTO node_executions VALUES (" FOREIGN_EXECUTION "1',"
    "  'ask_0190_0', '" FOREIGN_ID "', 'ask', -3, '{}', NULL, 'client',"
    "  'FAILED', 'no', '1767225600123.0', NULL);"
    "INSERT INTO context_events (key, value, function_id, cascade_id,"
    "  created_at) VALUES"
    "  ('n', '7', 1, '" FOREIGN_ID "', '2026-01-01 00:00:00'),"
    "  ('x', '0.5', 1, '" FOREIGN_ID "', '2026-01-01 00:00:00'),"
    "  ('s', ' \"\\u0041\" ', 0, '" FOREIGN_ID "', '2026-01-01 00:00:00');";

typedef struct seen_rows {
    csc_buf text;
} seen_rows;

static cascade_err
see_cascade(void *context, const cascade_row *row)
{
    seen_rows *seen = context;

    csc_buf_add_format(&seen->text, "c %d %d %s %lld %lld\n", row->status,
                       row->fn_id, row->user_id, (long long)row->created_at_ms,
                       (long long)row->updated_at_ms);
    return CASCADE_OK;
}

static cascade_err
see_execution(void *context, const cascade_execution_row *row)
{
    seen_rows *seen = context;

    csc_buf_add_format(
        &seen->text, "x %d %d %s %s %s %s %s %s %lld %lld\n", row->function_id,
        row->status, row->node_instance_id, row->node_name, row->input,
        row->full_output != NULL ? row->full_output : "-", row->location,
        row->error != NULL ? row->error : "-", (long long)row->started_at_ms,
        row->completed_at_ms == CASCADE_TIME_NONE
            ? -1
            : (long long)row->completed_at_ms);
    return CASCADE_OK;
}

static cascade_err
see_event(void *context, const cascade_event_row *row)
{
    seen_rows *seen = context;

    csc_buf_add_format(&seen->text, "e %lld %d %s %s %s %lld\n",
                       (long long)row->id, row->function_id, row->key,
                       row->value, row->ui_value != NULL ? row->ui_value : "-",
                       (long long)row->created_at_us);
    return CASCADE_OK;
}

static cascade_err
load_text(cascade_store *store, const char *id_text, csc_buf *text)
{
    seen_rows seen = {.text = {.data = NULL}};
    cascade_load_sink sink = {.context = &seen,
                              .on_cascade = see_cascade,
                              .on_execution = see_execution,
                              .on_event = see_event};
    cascade_uuid id;
    cascade_err err;

    assert_int_equal(cascade_uuid_parse(id_text, &id), CASCADE_OK);
    err = store->driver->load(store->self, &id, 1,
                              CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS,
                              &sink);
    *text = seen.text;
    return err;
}

#define GAP_IDS 40

static const char gap_rows[] =
    "CREATE TEMP TABLE ids AS"
    " WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
    "                         WHERE i < 39)"
    " SELECT i, printf('%08x-0000-7000-8000-00000000000a', i) AS id FROM n"
    " UNION ALL SELECT 100, '00000005-0000-7000-8000-00000000000a'"
    "                       || char(0) || 'x';"
    "INSERT INTO cascades (id, fn_id, user_id) SELECT id, i, 'ann' FROM ids;"
    "INSERT INTO node_executions (node_instance_id, cascade_id, node_name,"
    "                             function_id, input_context, location)"
    " SELECT 'n' || i || '_' || f, id, 'n', f, '{}', 'l'"
    " FROM ids, (SELECT 1 AS f UNION ALL SELECT 0)"
    " WHERE i % 7 <> 3;"
    "DROP TABLE ids;";

static cascade_err
gap_cascade(void *context, const cascade_row *row)
{
    csc_buf_add_format(context, "c%d ", row->fn_id);
    return CASCADE_OK;
}

static cascade_err
gap_execution(void *context, const cascade_execution_row *row)
{
    csc_buf_add_format(context, "%s ", row->node_instance_id);
    return CASCADE_OK;
}

/* The ids of `bits`, against what a program of three lines expects. */
static void
check_gaps(cascade_store *store, uint64_t bits)
{
    csc_buf seen = {.data = NULL};
    csc_buf expected = {.data = NULL};
    cascade_load_sink sink = {.context = &seen,
                              .on_cascade = gap_cascade,
                              .on_execution = gap_execution,
                              .on_event = see_event};
    cascade_uuid ids[GAP_IDS];
    size_t count = 0;

    for (int i = 0; i < GAP_IDS; i++) {
        if ((bits >> i & 1) == 0)
            continue;
        memset(&ids[count], 0, sizeof(ids[count]));
        ids[count].bytes[3] = (unsigned char)i;
        ids[count].bytes[6] = 0x70;
        ids[count].bytes[8] = 0x80;
        ids[count++].bytes[15] = 0x0a;
        csc_buf_add_format(&expected, "c%d ", i);
    }
    for (int i = 0; i < GAP_IDS; i++)
        if ((bits >> i & 1) != 0 && i % 7 != 3)
            csc_buf_add_format(&expected, "n%d_0 n%d_1 ", i, i);
    if (count == 0)
        return;
    assert_int_equal(store->driver->load(store->self, ids, count,
                                         CASCADE_LOAD_EXECUTIONS, &sink),
                     CASCADE_OK);
    assert_string_equal(seen.data, expected.data);
    csc_buf_fini(&seen);
    csc_buf_fini(&expected);
}

/* One walk for many ids: rows of others that lie between are passed, also one
 * whose id goes on behind a NUL. */
static void
a_load_gives_the_rows_of_the_wanted_alone(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    uint64_t bits = 20240229;

    fixture_sql(it, gap_rows);
    check_gaps(store, UINT64_MAX);
    for (int i = 0; i < GAP_IDS; i++)
        check_gaps(store, UINT64_C(1) << i);
    for (int i = 0; i < 500; i++) {
        bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407;
        check_gaps(store, bits >> 20);
    }
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* A database with the three tables alone, made and filled by another program:
 * accepted, completed, and read value by value. */
static void
rows_of_another_program_are_read(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store;
    csc_buf text;

    fixture_sql(it, foreign_tables);
    fixture_sql(it, foreign_rows);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_CHECK),
                     CASCADE_ERR_SCHEMA);
    store = fixture_store(it);
    assert_int_equal(load_text(store, FOREIGN_ID, &text), CASCADE_OK);
    assert_string_equal(
        text.data,
        "c 2 2 ann 1769903999000 1769904000250\n"
        "x -3 3 ask_0190_0 ask {} - client no 1767225600123 -1\n"
        "x 0 2 plan_0190_0 plan {\"a\":100,\"longer\":[1,2.50]} {\"keys\":[]}"
        " server - 1767225600123 1767225601500\n"
        "e 3 0 s \"A\" - 1767225600000000\n"
        "e 1 1 n 7 - 1767225600000000\n"
        "e 2 1 x 0.5 - 1767225600000000\n");
    csc_buf_fini(&text);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    assert_int_equal(fixture_number(it, "SELECT count(*) FROM cascade_runs"),
                     0);
}

/* S13 in such a table, where SQLite would change a number. */
static void
numbers_survive_columns_declared_json(void **state)
{
    static const char *const values[] = {"1.50",
                                         "7",
                                         "-12",
                                         "123456789012345678901234567890",
                                         "0.1",
                                         "[1.50]",
                                         "1234567890123456",
                                         "0.000000000000000000000001"};
    sqlite_fixture *it = *state;
    cascade_uuid id = rows_id(&it->rows);
    cascade_change *start = rows_start(&it->rows, id);
    char id_text[CASCADE_UUID_TEXT_SIZE];
    cascade_store *store;
    csc_buf text;
    char *line;

    fixture_sql(it, foreign_tables);
    store = fixture_store(it);
    for (size_t i = 0; i < 8; i++)
        (void)rows_event(&it->rows, start, 0, "k", values[i]);
    assert_int_equal(fixture_submit(store, start), CASCADE_OK);
    assert_int_equal(load_text(store, cascade_uuid_format(&id, id_text), &text),
                     CASCADE_OK);
    line = strstr(text.data, "e 1 ");
    for (size_t i = 0; i < 8; i++) {
        char expected[128];

        assert_non_null(line);
        snprintf(expected, sizeof(expected), "e %zu 0 k %s - ", i + 1,
                 values[i]);
        assert_memory_equal(line, expected, strlen(expected));
        line = strchr(line, '\n') + 1;
    }
    csc_buf_fini(&text);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* An output at the depth limit is one deeper inside its full_output. */
static void
an_output_at_the_depth_limit_is_read_back(void **state)
{
    sqlite_fixture *it = *state;
    cascade_uuid id = rows_id(&it->rows);
    cascade_change *start = rows_start(&it->rows, id);
    cascade_store *store = fixture_store(it);
    char id_text[CASCADE_UUID_TEXT_SIZE];
    char output[512] = "{\"output\":";
    csc_buf text;

    for (int i = 0; i < 128; i++)
        strcat(output, "[");
    for (int i = 0; i < 128; i++)
        strcat(output, "]");
    strcat(output, "}");
    ((cascade_execution_row *)start->inserts)[0].full_output = output;
    assert_int_equal(fixture_submit(store, start), CASCADE_OK);
    assert_int_equal(load_text(store, cascade_uuid_format(&id, id_text), &text),
                     CASCADE_OK);
    assert_non_null(strstr(text.data, output));
    csc_buf_fini(&text);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* Each row: what somebody did to the tables, and what the error names. */
static const struct {
    const char *sql;
    const char *table;
    const char *column;
} corruptions[] = {
    {"UPDATE cascades SET fn_id = 'x'", "cascades", "fn_id"},
    {"UPDATE cascades SET fn_id = 3000000000", "cascades", "fn_id"},
    {"UPDATE cascades SET status = 'DONE'", "cascades", "status"},
    {"UPDATE cascades SET created_at = 'today'", "cascades", "created_at"},
    {"UPDATE cascades SET user_id = CAST(x'610062' AS TEXT)", "cascades",
     "user_id"},
    {"UPDATE node_executions SET input_context = '{'", "node_executions",
     "input_context"},
    {"UPDATE node_executions SET input_context = '{} {}'", "node_executions",
     "input_context"},
    {"UPDATE node_executions SET full_output = x'ff'", "node_executions",
     "full_output"},
    {"UPDATE node_executions SET id = 'A1234567-89ab-4cde-8f01-23456789abcd'",
     "node_executions", "id"},
    {"UPDATE node_executions SET function_id = 1.5", "node_executions",
     "function_id"},
    {"UPDATE node_executions SET completed_at = '2026-13-01 00:00:00'",
     "node_executions", "completed_at"},
    {"UPDATE context_events SET value = 'nul'", "context_events", "value"},
    {"UPDATE context_events SET ui_value = '\"\\ud800\"'", "context_events",
     "ui_value"},
};

/* Rows that make no sense are told by table, column and cascade. */
static void
rows_that_make_no_sense_are_named(void **state)
{
    sqlite_fixture *it = *state;
    char saved[300];

    snprintf(saved, sizeof(saved), "%s.saved", it->path);
    for (size_t i = 0; i < sizeof(corruptions) / sizeof(corruptions[0]); i++) {
        cascade_uuid id = rows_id(&it->rows);
        cascade_change *start = rows_start(&it->rows, id);
        char id_text[CASCADE_UUID_TEXT_SIZE];
        cascade_store *store = fixture_store(it);
        char sql[400];
        csc_buf text;

        (void)rows_event(&it->rows, start, 0, "k", "1");
        assert_int_equal(fixture_submit(store, start), CASCADE_OK);
        assert_int_equal(cascade_store_close(store), CASCADE_OK);
        snprintf(sql, sizeof(sql), "PRAGMA ignore_check_constraints = ON; %s",
                 corruptions[i].sql);
        fixture_sql(it, sql);
        store = fixture_store(it);
        cascade_uuid_format(&id, id_text);
        assert_int_equal(load_text(store, id_text, &text), CASCADE_ERR_CORRUPT);
        csc_buf_fini(&text);
        assert_says(corruptions[i].table);
        assert_says(corruptions[i].column);
        if (strcmp(corruptions[i].table, "cascades") == 0 ||
            strcmp(corruptions[i].column, "id") != 0)
            assert_says(id_text);
        assert_int_equal(cascade_store_close(store), CASCADE_OK);
        assert_int_equal(rename(it->path, saved), 0);
    }
}

/* ---- Files and folders --------------------------------------------------- */

static void
what_is_no_database_is_told(void **state)
{
    sqlite_fixture *it = *state;
    FILE *file = fopen(it->path, "w");

    for (int i = 0; i < 1000; i++)
        fprintf(file, "this is not a database\n");
    fclose(file);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO),
                     CASCADE_ERR_CORRUPT);
    assert_says("not a SQLite database");
}

static void
a_folder_is_no_database(void **state)
{
    sqlite_fixture *it = *state;

    assert_int_equal(mkdir(it->path, 0700), 0);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO),
                     CASCADE_ERR_INVALID);
    snprintf(it->url, sizeof(it->url), "sqlite:%s/none/x.db", it->folder);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO),
                     CASCADE_ERR_UNAVAILABLE);
    snprintf(it->url, sizeof(it->url), "sqlite:");
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO),
                     CASCADE_ERR_INVALID);
    snprintf(it->url, sizeof(it->url), "sqlite::memory:");
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO),
                     CASCADE_ERR_INVALID);
}

/* In a child, since root may write everything: 0 when all is as it should. */
static int
use_read_only_file(sqlite_fixture *it)
{
    cascade_uuid id = rows_id(&it->rows);
    cascade_change *start = rows_start(&it->rows, id);
    cascade_incarnation row = rows_incarnation(&it->rows, 1, 1000);
    cascade_store *store = NULL;
    csc_buf text;

    if (geteuid() == 0 && setuid(NOBODY) != 0)
        return 1;
    if (fixture_open(it, CASCADE_MIGRATE_AUTO, &store) != CASCADE_OK)
        return 2;
    if (load_text(store, FOREIGN_ID, &text) != CASCADE_OK ||
        text.data == NULL || strncmp(text.data, "c 2 2 ann", 9) != 0)
        return 3;
    csc_buf_fini(&text);
    if (fixture_submit(store, start) != CASCADE_ERR_READ_ONLY)
        return 4;
    if (store->driver->attach(store->self, &row) != CASCADE_ERR_READ_ONLY)
        return 5;
    if (store->driver->wait(store->self, -1, 1, NULL) != CASCADE_OK)
        return 6;
    return cascade_store_close(store) == CASCADE_OK ? 0 : 7;
}

/* AUTO on a current schema needs no right to write; writing says what it
 * lacks. */
static void
a_file_that_cannot_be_written_can_be_read(void **state)
{
    sqlite_fixture *it = *state;

    fixture_sql(it, foreign_tables);
    fixture_sql(it, foreign_rows);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    assert_int_equal(chmod(it->path, 0444), 0);
    assert_int_equal(chmod(it->folder, 0777), 0);
    fixture_fork(it, use_read_only_file);
}

static int
migrate_read_only_file(sqlite_fixture *it)
{
    if (geteuid() == 0 && setuid(NOBODY) != 0)
        return 1;
    return fixture_try(it, CASCADE_MIGRATE_AUTO) == CASCADE_ERR_READ_ONLY ? 0
                                                                          : 2;
}

static void
a_file_that_cannot_be_written_cannot_be_migrated(void **state)
{
    sqlite_fixture *it = *state;

    fixture_sql(it, foreign_tables);
    assert_int_equal(chmod(it->path, 0444), 0);
    assert_int_equal(chmod(it->folder, 0777), 0);
    fixture_fork(it, migrate_read_only_file);
}

/* Neither a new file nor the log of an old one can be made there. */
static void
a_folder_that_cannot_be_written_is_told(void **state)
{
    sqlite_fixture *it = *state;

    assert_int_equal(chmod(it->folder, 0555), 0);
    fixture_fork(it, migrate_read_only_file);
    assert_int_equal(chmod(it->folder, 0755), 0);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    assert_int_equal(chmod(it->path, 0666), 0);
    assert_int_equal(chmod(it->folder, 0555), 0);
    fixture_fork(it, migrate_read_only_file);
    assert_int_equal(chmod(it->folder, 0755), 0);
}

/* Where the process goes later must not matter to connections that are opened
 * later, and a name that looks like a URI is a name. */
static void
a_relative_path_stays_where_it_was(void **state)
{
    sqlite_fixture *it = *state;
    char before[4096];
    cascade_store *store;
    cascade_uuid id = rows_id(&it->rows);
    char id_text[CASCADE_UUID_TEXT_SIZE];
    csc_buf text;

    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(it->folder), 0);
    snprintf(it->url, sizeof(it->url), "sqlite:file:x.db?mode=memory");
    snprintf(it->path, sizeof(it->path), "%s/file:x.db?mode=memory",
             it->folder);
    store = fixture_store(it);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(fixture_submit(store, rows_start(&it->rows, id)),
                     CASCADE_OK);
    assert_int_equal(load_text(store, cascade_uuid_format(&id, id_text), &text),
                     CASCADE_OK);
    assert_int_equal(strncmp(text.data, "c 1 ", 4), 0);
    csc_buf_fini(&text);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    assert_int_equal(access(it->path, F_OK), 0);
    assert_int_equal(chdir(before), 0);
}

/* Two names of one file must meet in one sidecar. */
static void
a_symbolic_link_leads_to_the_same_sidecar(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_store *linked = NULL;
    char link[300];
    const csc_sqlite *one = store->self;
    const csc_sqlite *other;

    snprintf(link, sizeof(link), "%s/link.db", it->folder);
    assert_int_equal(symlink(it->path, link), 0);
    snprintf(it->url, sizeof(it->url), "sqlite:%s", link);
    linked = fixture_store(it);
    other = linked->self;
    assert_string_equal(one->lock.path, other->lock.path);
    assert_int_equal(cascade_store_close(linked), CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

static size_t
count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* S16: nothing is left behind, by good calls or by bad ones. */
static void
closing_leaves_no_descriptor_and_no_log(void **state)
{
    sqlite_fixture *it = *state;
    size_t before = count_descriptors();
    size_t live = csc_mem_live();
    char log[300];

    for (int i = 0; i < 20; i++) {
        cascade_store *store = fixture_store(it);
        char id_text[CASCADE_UUID_TEXT_SIZE];
        cascade_uuid id = rows_id(&it->rows);
        csc_buf text;

        assert_int_equal(fixture_submit(store, rows_start(&it->rows, id)),
                         CASCADE_OK);
        assert_int_equal(store->driver->wait(store->self, -1, 0, NULL),
                         CASCADE_OK);
        assert_int_equal(
            load_text(store, cascade_uuid_format(&id, id_text), &text),
            CASCADE_OK);
        csc_buf_fini(&text);
        assert_int_equal(cascade_store_close(store), CASCADE_OK);
    }
    snprintf(log, sizeof(log), "%s-wal", it->path);
    assert_int_not_equal(access(log, F_OK), 0);
    fixture_sql(it, "UPDATE cascade_schema SET checksum = 'feed'");
    for (int i = 0; i < 20; i++)
        assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO),
                         CASCADE_ERR_SCHEMA);
    rows_clear(&it->rows);
    assert_int_equal(count_descriptors(), before);
    assert_true(csc_mem_live() <= live + 1);
}

/* ---- Costs --------------------------------------------------------------- */

/* Instructions of SQLite's machine since the last call, of the statements that
 * a claim looks with. */
static int64_t
count_claim_steps(const csc_sqlite *sqlite)
{
    static const csc_sqlite_statement ids[] = {
        CSC_SQLITE_NEXT_SHELF, CSC_SQLITE_LIST_SHELF, CSC_SQLITE_NEXT_WAKE};
    int64_t steps = 0;

    for (size_t i = 0; i < CSC_SQLITE_READERS; i++) {
        for (size_t k = 0; k < 3; k++) {
            sqlite3_stmt *it = sqlite->readers[i].statements[ids[k]];

            if (it != NULL)
                steps += sqlite3_stmt_status(it, SQLITE_STMTSTATUS_VM_STEP, 1);
        }
    }
    return steps;
}

/* Rows that wait, that need a node nobody here knows, or that are suspects,
 * cost a claim nothing, however many there are. */
static void
a_claim_does_not_walk_what_it_may_not_have(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    const char *queue = "default";
    cascade_claim claim = {.engine_id = fixture_attach(it, store),
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 10,
                           .suspect_from = 3};
    cascade_claimed claimed[10];
    cascade_claim_result result = {.count = 99};
    int64_t steps;

    for (int i = 0; i < 3000; i++) {
        cascade_change *start = rows_start(&it->rows, rows_id(&it->rows));

        start->run.priority = i % 10;
        if (i % 3 == 0)
            start->run.wake_at_ms += 1000000;
        else if (i % 3 == 1)
            start->run.needs = "unknown";
        else
            start->run.takeovers = 3;
        assert_int_equal(fixture_submit(store, start), CASCADE_OK);
        rows_clear(&it->rows);
    }
    (void)count_claim_steps(store->self);
    assert_int_equal(
        store->driver->claim(store->self, &claim, claimed, &result),
        CASCADE_OK);
    assert_int_equal(result.count, 0);
    steps = count_claim_steps(store->self);
    assert_in_range(steps, 100, 3000);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

int
main(int argc, char **argv)
{
#define ONE(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        ONE(a_newer_schema_is_refused),
        ONE(a_changed_migration_is_refused),
        ONE(a_migration_under_another_name_is_refused),
        ONE(a_gap_in_the_record_is_refused),
        ONE(a_schema_made_by_hand_is_accepted),
        ONE(half_a_schema_is_finished),
        ONE(a_column_is_there_when_it_is_recorded),
        ONE(a_table_that_went_missing_is_told),
        ONE(tables_with_other_columns_are_refused),
        ONE(a_column_that_need_not_be_set_is_accepted),
        ONE(a_load_gives_the_rows_of_the_wanted_alone),
        ONE(rows_of_another_program_are_read),
        ONE(numbers_survive_columns_declared_json),
        ONE(an_output_at_the_depth_limit_is_read_back),
        ONE(rows_that_make_no_sense_are_named),
        ONE(what_is_no_database_is_told),
        ONE(a_folder_is_no_database),
        ONE(a_file_that_cannot_be_written_can_be_read),
        ONE(a_file_that_cannot_be_written_cannot_be_migrated),
        ONE(a_folder_that_cannot_be_written_is_told),
        ONE(a_relative_path_stays_where_it_was),
        ONE(a_symbolic_link_leads_to_the_same_sidecar),
        ONE(closing_leaves_no_descriptor_and_no_log),
        ONE(a_claim_does_not_walk_what_it_may_not_have),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("sqlite file", tests, NULL, NULL);
}
