/* SPDX-License-Identifier: MIT
 *
 * Files that were made to harm: their schema would have our statements build
 * huge texts or run for ever, or their pages are damaged. Each open, and each
 * call behind it, ends within the deadline and in little memory.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cascade/sqlite.h"
#include "store/migrations.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/sqlite_fixture.h"
#include "support/splitmix.h"

/* Of one call, and how much more it may take on a machine that is busy. */
#define DEADLINE_MS 1000
#define GRACE_MS 20000
/* What SQLite may have at once. */
#define MEMORY_MAX (INT64_C(96) << 20)
/* A text of this is far above that. */
#define HUGE_TEXT "hex(zeroblob(200000000))"
#define FOREVER                                                        \
    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)" \
    " SELECT max(i) FROM n)"

static void
assert_says(const char *word)
{
    if (strstr(cascade_errmsg(), word) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", word, cascade_errmsg());
}

/* ---- Calls --------------------------------------------------------------- */

static int64_t
now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

typedef struct watch {
    const char *what;
    int64_t began_ms;
} watch;

static watch
start_watch(const char *what)
{
    (void)sqlite3_memory_highwater(1);
    return (watch){what, now_ms()};
}

static void
check_watch(const watch *it)
{
    int64_t took_ms = now_ms() - it->began_ms;
    int64_t memory = sqlite3_memory_highwater(0);

    if (took_ms > DEADLINE_MS + GRACE_MS)
        fail_msg("%s took %lld ms", it->what, (long long)took_ms);
    if (memory > MEMORY_MAX)
        fail_msg("%s took %lld bytes", it->what, (long long)memory);
}

static cascade_err
ignore_row(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
ignore_execution(void *context, const cascade_execution_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
ignore_event(void *context, const cascade_event_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
ignore_engine(void *context, const cascade_incarnation *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

/* Calls that read and write, whatever they answer. */
static void
use_store(sqlite_fixture *it, cascade_store *store)
{
    const cascade_load_sink sink = {.on_cascade = ignore_row,
                                    .on_execution = ignore_execution,
                                    .on_event = ignore_event};
    const cascade_scan scan = {.limit = 100};
    cascade_uuid id = rows_id(&it->rows);
    cascade_incarnation row = rows_incarnation(&it->rows, 1, 1000);
    bool orphans = false;
    watch clock = start_watch("scan");

    (void)store->driver->scan(store->self, &scan, &sink);
    check_watch(&clock);
    clock = start_watch("submit");
    (void)fixture_submit(store, rows_start(&it->rows, id));
    check_watch(&clock);
    clock = start_watch("load");
    (void)store->driver->load(store->self, &id, 1,
                              CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS,
                              &sink);
    check_watch(&clock);
    clock = start_watch("attach");
    (void)store->driver->attach(store->self, &row);
    (void)store->driver->engines(store->self, ignore_engine, NULL, &orphans);
    (void)store->driver->detach(store->self, &row.engine_id);
    check_watch(&clock);
}

static cascade_err
open_and_use(sqlite_fixture *it, cascade_migrate mode)
{
    watch clock = start_watch("open");
    cascade_store *store = NULL;
    cascade_err err = fixture_open(it, mode, &store);

    check_watch(&clock);
    if (err != CASCADE_OK)
        return err;
    use_store(it, store);
    clock = start_watch("close");
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    check_watch(&clock);
    return CASCADE_OK;
}

/* ---- Schemas ------------------------------------------------------------- */

#define COLUMNS_BUT_USER                                                \
    "id TEXT PRIMARY KEY, status TEXT, fn_id INTEGER, created_at TEXT," \
    " updated_at TEXT"
#define COLUMNS COLUMNS_BUT_USER ", user_id TEXT"

/* Instead of a table, or upon it when `sql` begins with that. */
typedef struct hostile_case {
    const char *drop; /* or NULL */
    const char *sql;
    const char *says;
} hostile_case;

static const hostile_case hostile_cases[] = {
    {"cascades",
     "CREATE VIEW cascades AS SELECT " HUGE_TEXT " AS id, 'RUNNING' AS status,"
     " 1 AS fn_id, 'u' AS user_id, 'c' AS created_at, 'u' AS updated_at",
     "view"},
    {"cascade_schema",
     "CREATE VIEW cascade_schema AS SELECT 1 AS number, " HUGE_TEXT
     " AS name, 'c' AS checksum, 't' AS applied_at",
     "view"},
    {"cascade_schema",
     "CREATE VIEW cascade_schema AS SELECT " FOREVER
     " AS number, 'n' AS name, 'c' AS checksum, 't' AS applied_at",
     "view"},
    {"cascade_schema",
     "CREATE VIRTUAL TABLE cascade_schema"
     " USING fts5(number, name, checksum, applied_at)",
     "not an ordinary table"},
    {"cascades",
     "CREATE VIRTUAL TABLE cascades USING fts5(id, status, fn_id,"
     " user_id, created_at, updated_at)",
     "not an ordinary table"},
    {"cascades",
     "CREATE TABLE cascades (" COLUMNS_BUT_USER ", user_id TEXT AS (" HUGE_TEXT
     "))",
     "generated"},
    {"cascades",
     "CREATE TABLE cascades (" COLUMNS
     ", more TEXT GENERATED ALWAYS AS (" HUGE_TEXT ") STORED)",
     "generated"},
    {"cascades",
     "CREATE TABLE cascades (" COLUMNS ", CHECK (length(" HUGE_TEXT ") > 0))",
     "calls a function"},
    {"cascades",
     "CREATE TABLE cascades (" COLUMNS
     ", CHECK (length(\"hex\"(randomblob(9))) > 0))",
     "calls a function"},
    {"cascades",
     "CREATE TABLE cascades (" COLUMNS
     ", CHECK /* CHECK (1) */ ( length (printf -- (\n ('%100000000d', 1)) > "
     "0))",
     "calls a function"},
    {"cascades",
     "CREATE TABLE cascades (" COLUMNS
     ", CHECK (user_id || user_id || user_id <> ''))",
     "||"},
    {"cascades",
     "CREATE TABLE cascades (" COLUMNS
     ", CHECK (user_id NOT LIKE '%a%a%a%a%a%a%a%a%a%a%'))",
     "LIKE"},
    {"cascades",
     "CREATE TABLE cascades (" COLUMNS ", more TEXT DEFAULT (" HUGE_TEXT "))",
     "calls a function"},
    {"cascades",
     "CREATE TABLE cascades (" COLUMNS
     ", more TEXT DEFAULT (hex(randomblob(200000000))))",
     "calls a function"},
    {NULL,
     "CREATE TRIGGER t AFTER INSERT ON cascades BEGIN SELECT " FOREVER "; END",
     "trigger"},
    {NULL,
     "CREATE TRIGGER t AFTER INSERT ON node_executions BEGIN"
     " SELECT " HUGE_TEXT "; END",
     "trigger"},
    {NULL, "CREATE INDEX more ON cascades (length(hex(zeroblob(200000000))))",
     "expression"},
    {NULL,
     "CREATE INDEX more ON cascades (id)"
     " WHERE length(hex(zeroblob(200000000))) > 0",
     "calls a function"},
    {NULL, "CREATE INDEX more ON cascades (upper(user_id || id))",
     "expression"},
};

/* A database of ours at it->path, and the case upon it. */
static void
make_hostile(sqlite_fixture *it, const hostile_case *one)
{
    char sql[200];

    for (size_t i = 0; i < csc_migrations_sqlite_count; i++)
        fixture_sql(it, csc_migrations_sqlite[i].sql);
    if (one->drop != NULL) {
        snprintf(sql, sizeof(sql), "DROP TABLE %s", one->drop);
        fixture_sql(it, sql);
    }
    fixture_sql(it, one->sql);
}

/* However it is opened. */
static void
a_hostile_schema_is_refused(void **state)
{
    static const cascade_migrate modes[] = {
        CASCADE_MIGRATE_AUTO, CASCADE_MIGRATE_CHECK, CASCADE_MIGRATE_NEVER};
    sqlite_fixture *it = *state;

    it->deadline_ms = DEADLINE_MS;
    for (size_t i = 0; i < sizeof(hostile_cases) / sizeof(hostile_cases[0]);
         i++) {
        const hostile_case *one = &hostile_cases[i];

        make_hostile(it, one);
        for (size_t k = 0; k < 3; k++) {
            cascade_err err = open_and_use(it, modes[k]);

            if (modes[k] == CASCADE_MIGRATE_NEVER) /* told by its calls */
                continue;
            if (err != CASCADE_ERR_SCHEMA)
                fail_msg("%s: %d %s", one->sql, err, cascade_errmsg());
            assert_says(one->says);
        }
        assert_int_equal(unlink(it->path), 0);
    }
}

/* With CASCADE_MIGRATE_NEVER the first call tells. */
static void
a_schema_that_is_not_checked_is_refused_by_calls(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = NULL;

    it->deadline_ms = DEADLINE_MS;
    make_hostile(it, &hostile_cases[0]);
    assert_int_equal(fixture_open(it, CASCADE_MIGRATE_NEVER, &store),
                     CASCADE_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            fixture_submit(store, rows_start(&it->rows, rows_id(&it->rows))),
            CASCADE_ERR_SCHEMA);
        assert_says("view");
    }
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* An application's connection has its own limits; the tables are looked at all
 * the same. */
static void
a_connection_of_the_application_is_no_way_around(void **state)
{
    sqlite_fixture *it = *state;
    const cascade_store_options options = {.size = sizeof(options),
                                           .deadline_ms = DEADLINE_MS};
    cascade_store *store = NULL;
    sqlite3 *db = NULL;

    make_hostile(it, &hostile_cases[2]);
    assert_int_equal(sqlite3_open(it->path, &db), SQLITE_OK);
    for (int i = 0; i < 2; i++) {
        watch clock = start_watch("open a connection");

        assert_int_equal(cascade_sqlite_open(db, &options, &store),
                         CASCADE_ERR_SCHEMA);
        assert_says("view");
        check_watch(&clock);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- What is its owner's ------------------------------------------------- */

static const char friendly[] =
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT,"
    "  cascade_id TEXT REFERENCES cascades (id) ON DELETE CASCADE,"
    "  loud TEXT AS (upper(what)));"
    "CREATE INDEX orders_loud ON orders (lower(what));"
    "CREATE TABLE log (what TEXT CHECK (what LIKE 'o%'));"
    "CREATE TRIGGER bill AFTER INSERT ON orders"
    "  BEGIN INSERT INTO log VALUES ('order ' || NEW.id); END;"
    "CREATE VIEW seen AS SELECT id, status FROM cascades;"
    "CREATE VIRTUAL TABLE found USING fts5(what);"
    "CREATE INDEX mine ON cascades (created_at DESC, user_id COLLATE NOCASE);"
    "CREATE INDEX running ON cascades (user_id)"
    "  WHERE status = 'RUNNING' AND (fn_id > 0 OR length(user_id) > 3);"
    "CREATE UNIQUE INDEX once ON cascades (user_id, id);"
    "ALTER TABLE cascades ADD COLUMN tenant VARCHAR(40) DEFAULT 'none'"
    "  CHECK (length(tenant) <= 40 AND tenant NOT IN ('a (', 'b'));"
    "ALTER TABLE cascades ADD COLUMN more DECIMAL(10, 2);";

static void
what_else_is_in_the_file_is_left_alone(void **state)
{
    sqlite_fixture *it = *state;
    cascade_uuid id = rows_id(&it->rows);
    cascade_store *store = fixture_store(it);

    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    fixture_sql(it, friendly);
    store = fixture_store(it);
    assert_int_equal(fixture_submit(store, rows_start(&it->rows, id)),
                     CASCADE_OK);
    fixture_sql(it, "INSERT INTO orders (what) VALUES ('tea')");
    assert_int_equal(fixture_number(it, "SELECT count(*) FROM log"), 1);
    assert_int_equal(fixture_number(it, "SELECT count(*) FROM seen"), 1);
    use_store(it, store);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_CHECK), CASCADE_OK);
}

/* ---- Texts of the schema ------------------------------------------------- */

static void
texts_are_read_to_their_ends(void **state)
{
    static const char *const good[] = {
        "CREATE TABLE cascades(id)",
        "CREATE TABLE \"cascades\"(id VARCHAR(9), UNIQUE (id), k DEFAULT (1))",
        "CREATE TABLE [Cascades](id CHECK ((id) IN (1, (2)) AND NOT (id = 3)))",
        "CREATE TABLE cascades(id DEFAULT 'CHECK (hex(1))') -- CHECK (hex(",
        "CREATE TABLE cascades(id DEFAULT ('a''(' || hex(randomblob(16))))",
        "CREATE TABLE cascades(id, CHECK (CASE WHEN (id) THEN (1) END))",
        "CREATE TABLE cascades(id CHECK (id <> ']') /* CHECK (hex(",
        "CREATE TABLE cascades(\"check\" (9), b REFERENCES x (y), UNIQUE (b))",
    };
    static const char *const bad[] = {
        "CREATE VIEW cascades AS SELECT 1",
        "CREATE VIRTUAL TABLE cascades USING fts5(id)",
        "CREATE TABLE others(id)",
        "CREATE TABLE",
        "",
        "CREATE TABLE cascades(id CHECK(hex(id)))",
        "CREATE TABLE cascades(id CHECK((1) AND ((\"hex\" (id)))))",
        "CREATE TABLE cascades(id CHECK([hex](id)), k DEFAULT (1))",
        "CREATE TABLE cascades(id cHeCk--\n(zeroBLOB/**/(9)))",
        "CREATE TABLE cascades(id CHECK('a' GLOB id))",
        "CREATE TABLE cascades(id CHECK(id || id))",
        "CREATE TABLE cascades(id CHECK(id -> '$.a' IS NULL))",
        "CREATE TABLE cascades(id CHECK(hex(randomblob(2))))",
        "CREATE TABLE cascades(id DEFAULT(hex(id)))",
        "CREATE TABLE cascades(id DEFAULT(randomblob(100)))",
        "CREATE TABLE cascades(id DEFAULT(randomblob(9 + 9999999)))",
        "CREATE TABLE cascades(id DEFAULT(randomblob(0x7fffffff)))",
        "CREATE TABLE cascades(id DEFAULT(('a') LIKE 'b'))",
        "CREATE TABLE cascades(id, CHECK(averylongnamethatisnofunction(id)))",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        const char *why = csc_sqlite_ddl_check_table(good[i], "cascades");

        if (why != NULL)
            fail_msg("%s: %s", good[i], why);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (csc_sqlite_ddl_check_table(bad[i], "cascades") == NULL)
            fail_msg("accepted: %s", bad[i]);
    }
    assert_null(csc_sqlite_ddl_check_index("CREATE INDEX i ON t (a, b)"
                                           " WHERE a IS NULL AND b > 'x('"));
    assert_non_null(csc_sqlite_ddl_check_index("CREATE INDEX i ON t (a)"
                                               " WHERE zeroblob(9) > a"));
    assert_non_null(
        csc_sqlite_ddl_check_index("CREATE INDEX i ON t (a) WHERE a LIKE 'b'"));
}

/* ---- Damaged pages ------------------------------------------------------- */

static void
fill(sqlite_fixture *it)
{
    cascade_store *store = fixture_store(it);

    for (int i = 0; i < 60; i++)
        assert_int_equal(
            fixture_submit(store, rows_start(&it->rows, rows_id(&it->rows))),
            CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

static size_t
read_whole(const char *path, unsigned char **data)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    size_t size;

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &info), 0);
    size = (size_t)info.st_size;
    *data = malloc(size);
    assert_non_null(*data);
    assert_int_equal(fread(*data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return size;
}

static void
write_whole(const char *path, const unsigned char *data, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* A few bytes, or a page in the place of another: b-trees with circles. */
static void
damage(unsigned char *data, size_t size, uint64_t *random)
{
    size_t pages = size / 4096;
    size_t count = 1 + splitmix_next(random) % 8;

    for (size_t i = 0; i < count; i++) {
        size_t at = splitmix_next(random) % size;

        if (splitmix_next(random) % 8 == 0)
            memcpy(data + (splitmix_next(random) % pages) * 4096,
                   data + (splitmix_next(random) % pages) * 4096, 4096);
        else if (at >= 16) /* the name of the format stays */
            data[at] = (unsigned char)splitmix_next(random);
    }
}

static void
damaged_pages_hold_nobody_up(void **state)
{
    sqlite_fixture *it = *state;
    uint64_t random = rows_seed();
    unsigned char *whole = NULL;
    unsigned char *data;
    size_t size;
    int opened = 0;

    fill(it);
    it->deadline_ms = DEADLINE_MS;
    size = read_whole(it->path, &whole);
    data = malloc(size);
    assert_non_null(data);
    for (int i = 0; i < 200; i++) {
        memcpy(data, whole, size);
        damage(data, size, &random);
        write_whole(it->path, data, size);
        opened += open_and_use(it, CASCADE_MIGRATE_AUTO) == CASCADE_OK;
    }
    assert_in_range(opened, 1, 199); /* else it damages all, or nothing */
    free(data);
    free(whole);
}

int
main(int argc, char **argv)
{
#define ONE(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        ONE(a_hostile_schema_is_refused),
        ONE(a_schema_that_is_not_checked_is_refused_by_calls),
        ONE(a_connection_of_the_application_is_no_way_around),
        ONE(what_else_is_in_the_file_is_left_alone),
        ONE(texts_are_read_to_their_ends),
        ONE(damaged_pages_hold_nobody_up),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("sqlite hostile", tests, NULL, NULL);
}
