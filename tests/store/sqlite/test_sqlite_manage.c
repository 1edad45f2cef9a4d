/* SPDX-License-Identifier: MIT
 *
 * Looking after a SQLite store: what the conformance suite cannot see. A
 * database of before, with a program of before at work on it; times and rows of
 * other programs; what reading costs; two processes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cascade/manage.h"
#include "store/migrations.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/sqlite_fixture.h"

#define BEFORE 3 /* migrations that the release before knew */
#define MANY 3000
#define SHARED 100 /* cascades that two processes mend at once */
#define FAILED 255

static void
assert_says(const char *word)
{
    if (strstr(cascade_errmsg(), word) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", word, cascade_errmsg());
}

static void
assert_ok(cascade_err err)
{
    if (err != CASCADE_OK)
        fail_msg("%s", cascade_errmsg());
}

/* ---- The schema ---------------------------------------------------------- */

typedef struct migration_list {
    size_t count;
    size_t applied; /* the first ones */
    int64_t last_ms;
} migration_list;

static cascade_err
note_migration(void *context, const cascade_migration_row *row)
{
    migration_list *seen = context;

    assert_string_equal(row->name, csc_migrations_sqlite[seen->count].name);
    assert_int_equal(row->number, seen->count + 1);
    if (row->applied_at_ms != CASCADE_TIME_NONE) {
        assert_int_equal(seen->applied, seen->count);
        seen->applied++;
        seen->last_ms = row->applied_at_ms;
    }
    seen->count++;
    return CASCADE_OK;
}

/* Opens the database without a look at its schema, and asks for that. */
static migration_list
ask_for_migrations(sqlite_fixture *it)
{
    migration_list seen = {.count = 0};
    cascade_store *store = NULL;

    assert_ok(fixture_open(it, CASCADE_MIGRATE_NEVER, &store));
    assert_ok(
        store->driver->manage->schema(store->self, note_migration, &seen));
    assert_ok(cascade_store_close(store));
    assert_int_equal(seen.count, csc_migrations_sqlite_count);
    return seen;
}

typedef struct engine_list {
    size_t count;
    char about[64]; /* of the last one */
    int64_t started_at_ms;
} engine_list;

static cascade_err
note_engine(void *context, const cascade_incarnation *row)
{
    engine_list *seen = context;

    seen->count++;
    snprintf(seen->about, sizeof(seen->about), "%s", row->about);
    seen->started_at_ms = row->started_at_ms;
    return CASCADE_OK;
}

static engine_list
list_engines(cascade_store *store)
{
    engine_list seen = {.count = 0};

    assert_ok(store->driver->engines(store->self, note_engine, &seen, NULL));
    return seen;
}

/* Files of the release before, with a live run and a free one. */
static cascade_uuid
fill_old_database(sqlite_fixture *it)
{
    cascade_uuid engine_id;

    for (size_t i = 0; i < BEFORE; i++)
        fixture_sql(it, csc_migrations_sqlite[i].sql);
    engine_id = fixture_attach_old(it);
    (void)fixture_insert_old(it, &engine_id);
    (void)fixture_insert_old(it, NULL);
    fixture_sql(it, "INSERT INTO cascade_messages (cascade_id, kind, name,"
                    " path, payload, sent_at)"
                    " SELECT id, 'signal', 'go', 'p' || id, '{}', 1"
                    " FROM cascades;"
                    "INSERT INTO cascade_keys VALUES ('user', 'order', 7)");
    return engine_id;
}

static const char *const old_tables[] = {
    "SELECT group_concat(id || status || updated_at) FROM cascades",
    "SELECT group_concat(cascade_id || node_instance_id) FROM node_executions",
    ("SELECT group_concat(cascade_id || wake_at || claim_no || queue ||"
     "                    ifnull(engine_id, '-')) FROM cascade_runs"),
    "SELECT group_concat(engine_id || host || attached_at) FROM "
    "cascade_engines",
    "SELECT group_concat(engine_id || batch) FROM cascade_lanes",
    "SELECT group_concat(id || kind || path || payload) FROM cascade_messages",
    "SELECT group_concat(user_id || key || run_number) FROM cascade_keys",
};

#define OLD_TABLES (sizeof(old_tables) / sizeof(old_tables[0]))

/* S1: AUTO adds and leaves the rows; CHECK tells and touches nothing. */
static void
a_database_of_the_release_before_is_upgraded(void **state)
{
    sqlite_fixture *it = *state;
    char before[OLD_TABLES][256];
    char after[256];
    engine_list engines;
    cascade_store *store;

    fill_old_database(it);
    for (size_t i = 0; i < OLD_TABLES; i++)
        fixture_word(it, old_tables[i], before[i]);
    assert_int_equal(ask_for_migrations(it).applied, BEFORE);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_CHECK),
                     CASCADE_ERR_SCHEMA);
    assert_says("004_management");
    assert_int_equal(ask_for_migrations(it).applied, BEFORE);
    store = fixture_store(it);
    for (size_t i = 0; i < OLD_TABLES; i++) {
        fixture_word(it, old_tables[i], after);
        assert_string_equal(after, before[i]);
    }
    engines = list_engines(store);
    assert_int_equal(engines.count, 1);
    assert_string_equal(engines.about, "{}");
    assert_int_equal(engines.started_at_ms, it->clock.wall_ms);
    assert_ok(cascade_store_close(store));
    assert_int_equal(ask_for_migrations(it).applied,
                     csc_migrations_sqlite_count);
    assert_int_equal(ask_for_migrations(it).last_ms, it->clock.wall_ms);
}

/* A program of the release before has the file open and its statements
 * prepared while the file is upgraded: it attaches, commits and is removed as
 * it was, and those that know more see it. */
static void
a_program_of_the_release_before_goes_on(void **state)
{
    static const char *const attach =
        "INSERT INTO cascade_engines"
        "    (engine_id, host, pid, process_start, boot, lease_ms,"
        "     lease_until_ms, attached_at)"
        " VALUES ('01234567-89ab-7cde-8f01-23456789abcd', 'h', 1, 1, 'b', 0,"
        "  0, 5) ON CONFLICT (engine_id) DO NOTHING";
    sqlite_fixture *it = *state;
    cascade_uuid old = fill_old_database(it);
    sqlite3_stmt *statement = NULL;
    sqlite3 *db = NULL;
    cascade_store *store;
    engine_list engines;
    size_t freed = 0;

    assert_int_equal(sqlite3_open(it->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, attach, -1, &statement, NULL),
                     SQLITE_OK);
    store = fixture_store(it);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    engines = list_engines(store);
    assert_int_equal(engines.count, 2);
    assert_ok(fixture_commit(store, old, 1, NULL));
    assert_ok(store->driver->remove(store->self, &old, 1, 10, &freed));
    assert_int_equal(freed, 1);
    assert_int_equal(list_engines(store).count, 0);
    assert_ok(cascade_store_close(store));
}

/* A file that is empty, or holds another program's tables alone. */
static void
a_file_without_our_tables_tells_of_no_migration(void **state)
{
    sqlite_fixture *it = *state;

    assert_int_equal(ask_for_migrations(it).applied, 0);
    fixture_sql(it, "CREATE TABLE other (id INTEGER)");
    assert_int_equal(ask_for_migrations(it).applied, 0);
    assert_int_equal(fixture_number(it, "SELECT count(*) FROM sqlite_schema"),
                     1);
}

/* What a newer library has applied is not ours to name. */
static void
a_newer_migration_is_not_listed(void **state)
{
    sqlite_fixture *it = *state;

    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    fixture_sql(it, "INSERT INTO cascade_schema"
                    " SELECT max(number) + 1, 'x', 'y', '2026-01-01 00:00:00'"
                    " FROM cascade_schema");
    assert_int_equal(ask_for_migrations(it).applied,
                     csc_migrations_sqlite_count);
}

/* ---- Rows of other programs ---------------------------------------------- */

/* Many of them: a hexadecimal number in front. */
static void
insert_cascades(sqlite_fixture *it, size_t count, const char *status,
                const char *updated_at)
{
    char sql[600];

    snprintf(sql, sizeof(sql),
             "WITH RECURSIVE n(i) AS ("
             " SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %zu)"
             "INSERT INTO cascades (id, status, user_id, updated_at)"
             " SELECT printf('%%08x-0000-7000-8000-000000000000', i), '%s',"
             "  'user', '%s' FROM n",
             count, status, updated_at);
    fixture_sql(it, sql);
}

static cascade_uuid
nth_id(unsigned number)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid id;

    snprintf(text, sizeof(text), "%08x-0000-7000-8000-000000000000", number);
    assert_ok(cascade_uuid_parse(text, &id));
    return id;
}

static cascade_err
count_cascade(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)row;
    (void)run;
    ++*(size_t *)context;
    return CASCADE_OK;
}

static size_t
list(cascade_store *store, const cascade_query *query)
{
    size_t count = 0;

    assert_ok(store->driver->list(store->self, query, count_cascade, &count));
    return count;
}

static size_t
purge(cascade_store *store, cascade_uuid id, int64_t updated_before_ms)
{
    size_t deleted = 99;

    assert_ok(store->driver->manage->purge(store->self, &id, 1,
                                           updated_before_ms, &deleted));
    return deleted;
}

/* S26: as texts some of them would sort before what they are behind, and be
 * deleted too soon. */
static void
times_in_every_form_are_compared_as_times(void **state)
{
    static const char *const forms[] = {
        "2026-01-01 00:00:00.500", "2026-01-01T00:00:00.500Z",
        "2026-01-01 00:00:00.5",   "1767225600500",
        "1767225600500.0",
    };
    const int64_t at_ms = INT64_C(1767225600500);
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_query query = {.limit = 10};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        insert_cascades(it, 1, "COMPLETED", forms[i]);
        query.updated_before_ms = at_ms;
        assert_int_equal(list(store, &query), 0);
        assert_int_equal(purge(store, nth_id(1), at_ms), 0);
        query.updated_before_ms = at_ms + 1;
        assert_int_equal(list(store, &query), 1);
        assert_int_equal(purge(store, nth_id(1), at_ms + 1), 1);
        assert_int_equal(fixture_number(it, "SELECT count(*) FROM cascades"),
                         0);
    }
    assert_ok(cascade_store_close(store));
}

static cascade_err
pass_queue(void *context, const cascade_queue_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static void
rows_that_make_no_sense_are_named(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    migration_list seen = {.count = 0};
    bool changed = false;

    assert_ok(store->driver->manage->pause(store->self, "mail", true, "{}",
                                           &changed));
    assert_true(changed);
    fixture_sql(it, "UPDATE cascade_queues SET paused_at = 'today'");
    assert_int_equal(
        store->driver->manage->queues(store->self, pass_queue, NULL),
        CASCADE_ERR_CORRUPT);
    assert_says("cascade_queues");
    assert_says("paused_at");
    fixture_sql(it, "UPDATE cascade_schema SET applied_at = 'today'");
    assert_int_equal(
        store->driver->manage->schema(store->self, note_migration, &seen),
        CASCADE_ERR_CORRUPT);
    assert_says("cascade_schema");
    assert_says("applied_at");
    assert_int_equal(seen.count, 0);
    assert_ok(cascade_store_close(store));
}

/* ---- Costs --------------------------------------------------------------- */

/* What the statements of a connection have cost. */
typedef struct bill {
    int64_t steps; /* instructions of SQLite's machine */
    int64_t sorts;
    int64_t scans; /* steps through a whole table */
} bill;

static int
add_to_bill(unsigned type, void *context, void *statement, void *time)
{
    bill *paid = context;

    (void)type;
    (void)time;
    paid->steps += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    paid->sorts += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_SORT, 1);
    paid->scans +=
        sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1);
    return 0;
}

/* For the readers that are open; NULL: no more. */
static void
open_bill(cascade_store *store, bill *paid)
{
    csc_sqlite *sqlite = store->self;

    for (size_t i = 0; i < CSC_SQLITE_READERS; i++) {
        if (sqlite->readers[i].db != NULL)
            sqlite3_trace_v2(sqlite->readers[i].db,
                             paid != NULL ? SQLITE_TRACE_PROFILE : 0,
                             add_to_bill, paid);
    }
}

typedef struct page {
    size_t count;
    int32_t first;  /* function_id */
    int64_t events; /* their ids, summed up */
} page;

static cascade_err
note_execution(void *context, const cascade_execution_row *row)
{
    page *seen = context;

    if (seen->count == 0)
        seen->first = row->function_id;
    seen->count++;
    return CASCADE_OK;
}

static cascade_err
note_event(void *context, const cascade_event_row *row)
{
    page *seen = context;

    if (seen->count == 0)
        seen->first = row->function_id;
    seen->count++;
    seen->events += row->id;
    return CASCADE_OK;
}

static page
scan(cascade_store *store, const cascade_scan *asked)
{
    page seen = {.count = 0};
    const cascade_load_sink sink = {.context = &seen,
                                    .on_execution = note_execution,
                                    .on_event = note_event};

    assert_ok(store->driver->scan(store->self, asked, &sink));
    return seen;
}

/* MANY executions, and as many events, half of them of one execution. */
static void
fill_pages(sqlite_fixture *it)
{
    insert_cascades(it, 3, "RUNNING", "2026-01-01 00:00:00");
    fixture_sql(it, "WITH RECURSIVE n(i) AS ("
                    " SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
                    "INSERT INTO node_executions (id, node_instance_id,"
                    " cascade_id, node_name, function_id, input_context,"
                    " location) SELECT"
                    " printf('%08x-0000-7000-8000-000000000001', i), 'p' || i,"
                    " (SELECT id FROM cascades LIMIT 1 OFFSET 1), 'n', i, '{}',"
                    " 'server' FROM n");
    fixture_sql(it, "INSERT INTO context_events"
                    " (id, cascade_id, function_id, key, value)"
                    " SELECT function_id, cascade_id,"
                    "  max(function_id, 1500), 'k', '1' FROM node_executions");
}

/* Runs it twice, since the first time SQLite reads the schema too. */
static int64_t
price(cascade_store *store, const cascade_scan *asked, page *seen)
{
    bill paid = {.steps = 0};

    (void)scan(store, asked);
    open_bill(store, &paid);
    *seen = scan(store, asked);
    assert_int_equal(seen->count, asked->limit);
    assert_int_equal(paid.sorts, 0);
    assert_int_equal(paid.scans, 0);
    open_bill(store, NULL);
    return paid.steps;
}

/* S28: a page costs what it gives, wherever it begins, whatever is behind it
 * and beside it. */
static void
a_page_costs_the_same_wherever_it_begins(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_uuid id = nth_id(2);
    cascade_uuid after;
    cascade_scan all = {.limit = 10};
    cascade_scan one = {.cascade_id = &id, .limit = 10};
    cascade_scan events = {.cascade_id = &id, .events = true, .limit = 10};
    page seen;
    int64_t cost;

    fill_pages(it);
    assert_ok(
        cascade_uuid_parse("00000b00-0000-7000-8000-000000000001", &after));
    cost = price(store, &all, &seen);
    assert_int_equal(seen.first, 1);
    all.after = &after;
    assert_in_range(price(store, &all, &seen), 1, cost + 10);
    assert_int_equal(seen.first, 0xb01);

    cost = price(store, &one, &seen);
    assert_int_equal(seen.first, 1);
    one.from = 2900;
    assert_in_range(price(store, &one, &seen), 1, cost + 10);
    assert_int_equal(seen.first, 2900);

    cost = price(store, &events, &seen);
    assert_int_equal(seen.first, 1500);
    assert_int_equal(seen.events, 55);
    events.from = 1500;
    events.after_event = 1400;
    assert_in_range(price(store, &events, &seen), 1, cost + 10);
    assert_int_equal(seen.events, 10 * 1400 + 55);
    events.after_event = 1495; /* five of this one, five of the next ones */
    assert_in_range(price(store, &events, &seen), 1, 2 * cost);
    assert_int_equal(seen.events, 10 * 1495 + 55);
    assert_ok(cascade_store_close(store));
}

/* Whoever asks for the runs of a queue does not pay for what has ended. */
static void
a_list_of_a_queue_does_not_walk_what_has_ended(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_query query = {.queue = "mail", .limit = 10};
    bill paid = {.steps = 0};
    cascade_uuid after = nth_id(MANY - 5);

    insert_cascades(it, MANY, "COMPLETED", "2026-01-01 00:00:00");
    fixture_sql(it, "INSERT INTO cascade_runs (cascade_id, queue, priority,"
                    " wake_at, claim_no, takeovers)"
                    " SELECT id, 'mail', 0, 1, 0, 0 FROM cascades"
                    " ORDER BY id DESC LIMIT 10");
    assert_int_equal(list(store, &query), 10);
    open_bill(store, &paid);
    assert_int_equal(list(store, &query), 10);
    assert_in_range(paid.steps, 10, MANY / 3);
    assert_int_equal(paid.sorts, 0);
    query.after = &after;
    assert_int_equal(list(store, &query), 5);
    query.queue = "other";
    assert_int_equal(list(store, &query), 0);
    assert_ok(cascade_store_close(store));
}

/* S14: whatever is asked for, a page costs what it gives: of a user with few, a
 * status that nobody has, a queue without runs among those of others. */
static void
lists_are_look_ups(void **state)
{
    static const struct {
        cascade_query query;
        size_t count;
    } lists[] = {
        {{.user_id = "few"}, 5},
        {{.user_id = "user", .status = CASCADE_ERROR}, 0},
        {{.user_id = "nobody"}, 0},
        {{.status = CASCADE_ERROR}, 1},
        {{.status = CASCADE_RUNNING}, 10},
        {{.queue = "small"}, 1},
        {{.queue = "empty"}, 0},
    };
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);

    insert_cascades(it, MANY, "COMPLETED", "2026-01-01 00:00:00");
    fixture_sql(it, "UPDATE cascades SET status = 'RUNNING'"
                    " WHERE id IN (SELECT id FROM cascades"
                    "  ORDER BY id DESC LIMIT 1000);"
                    "UPDATE cascades SET user_id = 'few', status = 'ERROR'"
                    " WHERE id = (SELECT max(id) FROM cascades);"
                    "UPDATE cascades SET user_id = 'few'"
                    " WHERE id IN (SELECT id FROM cascades LIMIT 4);"
                    "INSERT INTO cascade_runs (cascade_id, queue, priority,"
                    "  wake_at, claim_no, takeovers)"
                    " SELECT id, CASE user_id WHEN 'few' THEN 'small'"
                    "   ELSE 'large' END, 0, 1, 0, 0 FROM cascades"
                    " WHERE status <> 'COMPLETED'");
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        cascade_query query = lists[i].query;
        bill paid = {.steps = 0};

        query.limit = 10;
        (void)list(store, &query);
        open_bill(store, &paid);
        assert_int_equal(list(store, &query), lists[i].count);
        open_bill(store, NULL);
        assert_int_equal(paid.scans, 0);
        assert_in_range(paid.steps, 1, 1000);
    }
    assert_ok(cascade_store_close(store));
}

typedef struct queue_sum {
    size_t count;
    int64_t owned;
    int64_t due;
} queue_sum;

static cascade_err
add_queue(void *context, const cascade_queue_row *row)
{
    queue_sum *sum = context;

    sum->count++;
    sum->owned += row->owned;
    sum->due += row->due;
    return CASCADE_OK;
}

/* Free runs are counted in the order of their index; what is sorted is the
 * queues, and what is owned. Counting cascades takes one walk of an index. */
static void
counting_walks_an_index(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_totals totals = {.running = 0};
    queue_sum sum = {.count = 0};
    bill paid = {.steps = 0};

    insert_cascades(it, MANY, "RUNNING", "2026-01-01 00:00:00");
    fixture_sql(it, "INSERT INTO cascade_runs (cascade_id, queue, priority,"
                    " wake_at, claim_no, takeovers, engine_id)"
                    " SELECT id, 'q' || (rowid % 3), 0, 1, 0, 0,"
                    "  CASE rowid % 100 WHEN 0 THEN id END FROM cascades");
    assert_ok(store->driver->manage->totals(store->self, &totals));
    assert_int_equal(totals.running, MANY);
    open_bill(store, &paid);
    assert_ok(store->driver->manage->totals(store->self, &totals));
    assert_int_equal(paid.sorts, 0);
    assert_in_range(paid.steps, MANY, 30 * MANY);
    assert_ok(store->driver->manage->queues(store->self, add_queue, &sum));
    assert_int_equal(sum.count, 3);
    assert_int_equal(sum.owned, MANY / 100);
    assert_int_equal(sum.due, MANY - MANY / 100);
    assert_int_equal(paid.sorts, 2); /* the owned, and the queues */
    assert_ok(cascade_store_close(store));
}

/* ---- Between the look and the claim -------------------------------------- */

typedef struct interloper {
    sqlite_fixture *it;
    const char *sql;
} interloper;

/* When the claim is about to take the write lock. */
static int
come_between(unsigned type, void *context, void *statement, void *sql)
{
    interloper *one = context;
    const char *what = one->sql;

    (void)type;
    (void)statement;
    if (what != NULL && strcmp(sql, "BEGIN IMMEDIATE") == 0) {
        one->sql = NULL;
        fixture_sql(one->it, what);
    }
    return 0;
}

/* S25: a claim takes nothing of a queue that was paused before it took. */
static void
a_pause_after_the_look_is_seen(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    const csc_sqlite *sqlite = store->self;
    const char *queue = "default";
    cascade_claim claim = {.engine_id = fixture_attach(it, store),
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 10,
                           .suspect_from = 3};
    bool paused = false;
    cascade_claim_result result = {.paused = &paused};
    cascade_claimed claimed[10];
    interloper one = {.it = it,
                      .sql = "INSERT INTO cascade_queues"
                             " (queue, paused_at, about)"
                             " VALUES ('default', 1, '{}')"};

    assert_ok(fixture_submit(store, rows_start(&it->rows, rows_id(&it->rows))));
    sqlite3_trace_v2(sqlite->writer.db, SQLITE_TRACE_STMT, come_between, &one);
    assert_ok(store->driver->claim(store->self, &claim, claimed, &result));
    assert_null(one.sql);
    assert_int_equal(result.count, 0);
    assert_true(paused);
    assert_int_equal(result.next_wake_at_ms, CASCADE_TIME_NONE);
    assert_ok(cascade_store_close(store));
}

/* ---- Two processes ------------------------------------------------------- */

static int
pause_mail(sqlite_fixture *it)
{
    cascade_store *store = fixture_store(it);
    bool changed = false;
    cascade_err err = store->driver->manage->pause(store->self, "default", true,
                                                   "{}", &changed);

    (void)cascade_store_close(store);
    return err == CASCADE_OK && changed ? 0 : 1;
}

static int
resume_mail(sqlite_fixture *it)
{
    cascade_store *store = fixture_store(it);
    cascade_err err = cascade_queue_resume(store, "default");

    (void)cascade_store_close(store);
    return err == CASCADE_OK ? 0 : 1;
}

/* A process that was made before the store is opened. */
typedef struct gated {
    pid_t pid;
    int gate;
} gated;

static gated
fork_gated(sqlite_fixture *it, int (*child)(sqlite_fixture *it))
{
    int gate[2];
    char byte = 0;
    gated made;

    assert_int_equal(pipe(gate), 0);
    made = (gated){.pid = fixture_start(), .gate = gate[1]};
    if (made.pid == 0) {
        (void)close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 1 ? child(it) : FAILED);
    }
    assert_int_equal(close(gate[0]), 0);
    return made;
}

static void
run_gated(const gated *it)
{
    int status = 0;

    assert_int_equal(write(it->gate, "", 1), 1);
    assert_int_equal(close(it->gate), 0);
    assert_int_equal(waitpid(it->pid, &status, 0), it->pid);
    assert_int_equal(status, 0);
}

/* A pause by one process binds another; the end of it also tells those who
 * wait. */
static void
a_pause_binds_another_process(void **state)
{
    sqlite_fixture *it = *state;
    gated pauser = fork_gated(it, pause_mail);
    gated resumer = fork_gated(it, resume_mail);
    cascade_store *store = fixture_store(it);
    const char *queue = "default";
    cascade_claim claim = {.engine_id = fixture_attach(it, store),
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 10,
                           .suspect_from = 3};
    cascade_claim_result result = {.count = 99};
    cascade_waited seen = {.seen = 0};
    cascade_claimed claimed[10];

    assert_ok(fixture_submit(store, rows_start(&it->rows, rows_id(&it->rows))));
    run_gated(&pauser);
    assert_ok(store->driver->claim(store->self, &claim, claimed, &result));
    assert_int_equal(result.count, 0);
    assert_ok(store->driver->wait(store->self, -1, 0, &seen));
    assert_ok(store->driver->wait(store->self, -1, 0, &seen));
    assert_false(seen.woken);
    run_gated(&resumer);
    assert_ok(store->driver->wait(store->self, -1, 0, &seen));
    assert_true(seen.woken);
    assert_ok(store->driver->claim(store->self, &claim, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_ok(cascade_store_close(store));
}

/* The exit status: how many it has mended. */
static int
mend_all(sqlite_fixture *it)
{
    cascade_store *store = fixture_store(it);
    int mended = 0;

    for (unsigned i = 0; i < SHARED; i++) {
        const cascade_repair repair = {
            .was = {.id = nth_id(i + 1), .status = CASCADE_RUNNING},
            .status = CASCADE_RUNNING,
            .starts = true,
            .run = {.queue = "default"}};
        bool done = false;

        if (store->driver->manage->repair(store->self, &repair, 1, &done) !=
            CASCADE_OK)
            return FAILED;
        mended += done;
    }
    return cascade_store_close(store) == CASCADE_OK ? mended : FAILED;
}

/* The same of what it has purged. */
static int
purge_all(sqlite_fixture *it)
{
    cascade_store *store = fixture_store(it);
    int purged = 0;

    for (unsigned i = 0; i < SHARED; i++) {
        cascade_uuid id = nth_id(i + 1);
        size_t deleted = 0;

        if (store->driver->manage->purge(store->self, &id, 1, INT64_MAX,
                                         &deleted) != CASCADE_OK)
            return FAILED;
        purged += (int)deleted;
    }
    return cascade_store_close(store) == CASCADE_OK ? purged : FAILED;
}

/* Two that begin at once: the sum of what they tell. */
static int
run_twice(sqlite_fixture *it, int (*child)(sqlite_fixture *it))
{
    pid_t pids[2];
    int gate[2]; /* closed, it is open */
    int sum = 0;
    char byte;

    assert_int_equal(pipe(gate), 0);
    for (int i = 0; i < 2; i++) {
        pids[i] = fixture_start();
        if (pids[i] == 0) {
            (void)close(gate[1]);
            _exit(read(gate[0], &byte, 1) == 0 ? child(it) : FAILED);
        }
    }
    assert_int_equal(close(gate[0]), 0);
    assert_int_equal(close(gate[1]), 0);
    for (int i = 0; i < 2; i++) {
        int status = 0;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        sum += WEXITSTATUS(status);
    }
    return sum;
}

/* S26, S27: each cascade is mended, and deleted, by one of them. */
static void
two_processes_mend_each_cascade_once(void **state)
{
    sqlite_fixture *it = *state;

    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    insert_cascades(it, SHARED, "RUNNING", "2026-01-01 00:00:00");
    assert_int_equal(run_twice(it, mend_all), SHARED);
    assert_int_equal(fixture_number(it, "SELECT count(*) FROM cascade_runs"),
                     SHARED);
    fixture_sql(it, "DELETE FROM cascade_runs;"
                    "UPDATE cascades SET status = 'COMPLETED'");
    assert_int_equal(run_twice(it, purge_all), SHARED);
    assert_int_equal(fixture_number(it, "SELECT count(*) FROM cascades"), 0);
}

int
main(int argc, char **argv)
{
#define ONE(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        ONE(a_database_of_the_release_before_is_upgraded),
        ONE(a_program_of_the_release_before_goes_on),
        ONE(a_file_without_our_tables_tells_of_no_migration),
        ONE(a_newer_migration_is_not_listed),
        ONE(times_in_every_form_are_compared_as_times),
        ONE(rows_that_make_no_sense_are_named),
        ONE(a_page_costs_the_same_wherever_it_begins),
        ONE(a_list_of_a_queue_does_not_walk_what_has_ended),
        ONE(lists_are_look_ups),
        ONE(counting_walks_an_index),
        ONE(a_pause_after_the_look_is_seen),
        ONE(a_pause_binds_another_process),
        ONE(two_processes_mend_each_cascade_once),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("sqlite manage", tests, NULL, NULL);
}
