/* SPDX-License-Identifier: MIT
 *
 * cascade_adopt(): a database that another program has written, or that was
 * restored without the auxiliary tables, goes on; what is odd about it is told;
 * and what engines have is left alone.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/raw_sql.h"
#include "cascade/manage.h"
#include "engine/support/mix.h"
#include "engine/support/peer.h"
#include "store/store.h"
#include "support/keyed.h"
#include "support/sound.h"
#include "support/splitmix.h"

#define MIXED 40
#define PAGES 450 /* cascades, more than two pages */
#define STRAYS 5
#define HOUR_MS INT64_C(3600000)

/* ---- Databases of others ------------------------------------------------- */

static const char *const postgres_tables =
    "CREATE TYPE cascade_status AS ENUM ('RUNNING', 'COMPLETED', 'ERROR');"
    "CREATE TYPE execution_status AS ENUM ('RUNNING', 'COMPLETED', 'FAILED');"
    "CREATE TABLE cascades (id UUID PRIMARY KEY DEFAULT gen_random_uuid(),"
    " status cascade_status NOT NULL DEFAULT 'RUNNING',"
    " fn_id INTEGER NOT NULL DEFAULT 0, user_id TEXT NOT NULL,"
    " created_at TIMESTAMP NOT NULL DEFAULT now(),"
    " updated_at TIMESTAMP NOT NULL DEFAULT now());"
    "CREATE TABLE node_executions ("
    " id UUID PRIMARY KEY DEFAULT gen_random_uuid(),"
    " node_instance_id TEXT NOT NULL UNIQUE, cascade_id UUID NOT NULL"
    "  REFERENCES cascades (id) ON DELETE CASCADE,"
    " node_name TEXT NOT NULL, function_id INTEGER NOT NULL,"
    " input_context JSONB NOT NULL, full_output JSONB, location TEXT NOT NULL,"
    " status execution_status NOT NULL DEFAULT 'RUNNING', error TEXT,"
    " started_at TIMESTAMP NOT NULL DEFAULT now(), completed_at TIMESTAMP,"
    " UNIQUE (cascade_id, function_id));"
    "CREATE TABLE context_events (id SERIAL PRIMARY KEY, key TEXT NOT NULL,"
    " value JSONB NOT NULL, ui_value JSONB, function_id INTEGER NOT NULL,"
    " cascade_id UUID NOT NULL REFERENCES cascades (id) ON DELETE CASCADE,"
    " created_at TIMESTAMP NOT NULL DEFAULT now())";

static const char *const sqlite_tables =
    "CREATE TABLE cascades (id TEXT NOT NULL PRIMARY KEY,"
    " status TEXT NOT NULL DEFAULT 'RUNNING',"
    " fn_id INTEGER NOT NULL DEFAULT 0, user_id TEXT NOT NULL,"
    " created_at TEXT NOT NULL, updated_at TEXT NOT NULL);"
    "CREATE TABLE node_executions (id TEXT NOT NULL PRIMARY KEY,"
    " node_instance_id TEXT NOT NULL UNIQUE, cascade_id TEXT NOT NULL"
    "  REFERENCES cascades (id) ON DELETE CASCADE,"
    " node_name TEXT NOT NULL, function_id INTEGER NOT NULL,"
    " input_context TEXT NOT NULL, full_output TEXT, location TEXT NOT NULL,"
    " status TEXT NOT NULL DEFAULT 'RUNNING', error TEXT,"
    " started_at TEXT NOT NULL, completed_at TEXT,"
    " UNIQUE (cascade_id, function_id));"
    "CREATE TABLE context_events (id INTEGER PRIMARY KEY, key TEXT NOT NULL,"
    " value TEXT NOT NULL, ui_value TEXT, function_id INTEGER NOT NULL,"
    " cascade_id TEXT NOT NULL REFERENCES cascades (id) ON DELETE CASCADE,"
    " created_at TEXT NOT NULL)";

#define ID(n) "0190aaaa-0000-4000-8000-00000000000" #n
#define T0 "'2026-01-31 10:00:00'"

static void
put_cascade(test_db *db, const char *id, const char *status, int fn_id)
{
    char sql[512];

    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO cascades (id, status, fn_id, user_id,"
                   " created_at, updated_at) VALUES ('%s', '%s', %d, 'ann', " T0
                   ", " T0 ")",
                   id, status, fn_id);
    raw_sql(db, sql);
}

/* As Cascaide writes them: RUNNING, or COMPLETED with the cascade's update. */
static void
put_execution(test_db *db, const char *id, int function_id, const char *node,
              const char *status)
{
    static int number;
    bool running = strcmp(status, "RUNNING") == 0;
    char sql[1024];

    number++;
    (void)snprintf(
        sql, sizeof(sql),
        "INSERT INTO node_executions (id, node_instance_id, cascade_id,"
        " node_name, function_id, input_context, full_output, location, status,"
        " error, started_at, completed_at) VALUES"
        " ('0190bbbb-0000-4000-8000-%012d',"
        "  '%s_0190bbbb-0000-7000-8000-%012d_%d', '%s', '%s', %d, '{}',"
        "  %s, 'server', '%s', NULL, " T0 ", %s)",
        number, node, number, function_id, id, node, function_id,
        running ? "NULL" : "'{\"cascade\": \"its own\"}'", status,
        running ? "NULL" : T0);
    raw_sql(db, sql);
}

/* The cases of the head comment of adopt.c, and of what other programs do. */
static void
fill_foreign(test_db *db)
{
    db->unsound = true; /* V15, V2: as the cases say */
    db_clear(db);
    raw_sql(db, strcmp(db->backend->name, "sqlite") == 0 ? sqlite_tables
                                                         : postgres_tables);
    /* 1: left RUNNING by a crash; gaps, a negative id, keys that are ids */
    put_cascade(db, ID(1), "RUNNING", 2);
    put_execution(db, ID(1), -1, "init", "COMPLETED");
    put_execution(db, ID(1), 3, "plan", "COMPLETED");
    put_execution(db, ID(1), 7, "last", "RUNNING");
    raw_sql(db, "INSERT INTO context_events (id, cascade_id, function_id, key,"
                " value, created_at) VALUES (1, '" ID(1) "', 3, '" ID(
                    1) "',"
                       " '{\"v\": 1}', " T0 ")");
    /* 2: what was spawned was never recorded */
    put_cascade(db, ID(2), "RUNNING", 1);
    put_execution(db, ID(2), 1, "plan", "COMPLETED");
    /* 3: it says RUNNING, but has failed */
    put_cascade(db, ID(3), "RUNNING", 2);
    put_execution(db, ID(3), 1, "plan", "FAILED");
    put_execution(db, ID(3), 2, "last", "RUNNING");
    /* 4: it says COMPLETED, but something was left RUNNING */
    put_cascade(db, ID(4), "COMPLETED", 1);
    put_execution(db, ID(4), 1, "last", "RUNNING");
    /* 5: nothing was recorded */
    put_cascade(db, ID(5), "RUNNING", 0);
    /* 6: its node is not known here */
    put_cascade(db, ID(6), "RUNNING", 1);
    put_execution(db, ID(6), 1, "elsewhere", "RUNNING");
}

static const char *const all[] = {ID(1), ID(2), ID(3), ID(4), ID(5), ID(6)};

/* ---- What is told -------------------------------------------------------- */

#define LINES 400

typedef struct told {
    char id[LINES][CASCADE_UUID_TEXT_SIZE];
    char rule[LINES][24];
    int32_t function_id[LINES];
    char text[LINES][160];
    size_t count;
    size_t left; /* until it wants no more; 0: no limit */
} told;

static bool
note_finding(void *context, const cascade_uuid *id, int32_t function_id,
             const char *rule, const char *text)
{
    told *t = context;

    assert_true(strlen(text) > 0);
    if (t->count < LINES) {
        (void)cascade_uuid_format(id, t->id[t->count]);
        (void)snprintf(t->rule[t->count], sizeof(t->rule[0]), "%s", rule);
        t->function_id[t->count] = function_id;
        (void)snprintf(t->text[t->count], sizeof(t->text[0]), "%s", text);
    }
    t->count++;
    return t->left == 0 || --t->left > 0;
}

static cascade_check_report
adopt_or_not(cascade_store *store, told *t, bool dry_run)
{
    const cascade_check_options options = {.size = sizeof(options),
                                           .finding = note_finding,
                                           .context = t,
                                           .dry_run = dry_run};
    cascade_check_report report = {.size = sizeof(report)};

    memset(t, 0, sizeof(*t));
    assert_ok(cascade_adopt(store, &options, &report));
    assert_int_equal(t->count, report.findings);
    return report;
}

static cascade_check_report
adopt(cascade_store *store, told *t)
{
    return adopt_or_not(store, t, false);
}

static size_t
count_told(const told *t, const char *id, const char *rule)
{
    size_t count = 0;

    for (size_t i = 0; i < t->count && i < LINES; i++)
        count += strcmp(t->id[i], id) == 0 && strstr(t->rule[i], rule) != NULL;
    return count;
}

/* Of the first line that is told of that execution. */
static size_t
place_of(const told *t, int32_t function_id)
{
    size_t at = 0;

    while (at < t->count && t->function_id[at] != function_id)
        at++;
    assert_in_range(at, 0, t->count - 1);
    return at;
}

static cascade_status
status_of(cascade_store *store, const char *text, bool *has_run)
{
    cascade_uuid id;
    cascade_info *info = NULL;
    cascade_status status = CASCADE_RUNNING;

    assert_ok(cascade_uuid_parse(text, &id));
    assert_ok(cascade_get(store, &id, &info));
    status = info->status;
    *has_run = info->has_run;
    cascade_info_free(info);
    return status;
}

static void
check_after(cascade_store *store, const char *id, cascade_status status)
{
    bool has_run = false;

    assert_int_equal(status, status_of(store, id, &has_run));
    assert_int_equal(status == CASCADE_RUNNING, has_run);
}

/* ---- Cascades of others -------------------------------------------------- */

static void
check_told(const told *t)
{
    assert_int_equal(1, count_told(t, ID(1), "A1 "));
    assert_int_equal(1, count_told(t, ID(1), "A3 "));
    assert_int_equal(1, count_told(t, ID(1), "A5 "));
    assert_int_equal(1, count_told(t, ID(1), "A6 "));
    assert_int_equal(1, count_told(t, ID(1), "A7 "));
    assert_int_equal(1, count_told(t, ID(1), "A8 "));
    assert_int_equal(1, count_told(t, ID(1), "A9 "));
    assert_int_equal(1, count_told(t, ID(2), "A2 "));
    assert_int_equal(1, count_told(t, ID(2), "A9 "));
    assert_int_equal(1, count_told(t, ID(3), "A2 "));
    assert_int_equal(0, count_told(t, ID(3), "A8 "));
    assert_int_equal(1, count_told(t, ID(4), "A12"));
    assert_int_equal(1, count_told(t, ID(5), "A2 "));
    assert_int_equal(1, count_told(t, ID(6), "A1 "));
}

static cascade_engine *
start_engine(test_db *db, cascade_store *store)
{
    cascade_engine *engine = db_engine(db, store, NULL);

    assert_ok(
        cascade_engine_register(engine, "last", stores_nothing, NULL, NULL));
    assert_ok(
        cascade_engine_register(engine, "plan", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

static void
cascades_of_others_go_on(test_db *db)
{
    cascade_store *store = NULL;
    cascade_check_report report;
    cascade_uuid id;
    told t;

    fill_foreign(db);
    store = db_store(db);
    report = adopt(store, &t);
    check_told(&t);
    assert_int_equal(6, report.cascades);
    assert_int_equal(5, report.repaired);
    assert_int_equal(6, report.unknown);
    check_after(store, ID(1), CASCADE_RUNNING);
    check_after(store, ID(2), CASCADE_COMPLETED);
    check_after(store, ID(3), CASCADE_ERROR);
    check_after(store, ID(4), CASCADE_COMPLETED);
    check_after(store, ID(5), CASCADE_COMPLETED);
    (void)start_engine(db, store);
    assert_ok(cascade_uuid_parse(ID(1), &id));
    db_await(store, &id, CASCADE_COMPLETED);
    check_after(store, ID(6), CASCADE_RUNNING);
}

/* And the same is told by the call that changes it, twice. */
static void
a_dry_run_changes_nothing(test_db *db)
{
    cascade_store *store = NULL;
    cascade_check_report report;
    told dry;
    told t;

    fill_foreign(db);
    store = db_store(db);
    for (int i = 0; i < 2; i++) {
        report = adopt_or_not(store, &dry, true);
        check_told(&dry);
        assert_int_equal(5, report.repaired);
        assert_int_equal(6, report.unknown);
        for (size_t n = 0; n < sizeof(all) / sizeof(all[0]); n++) {
            bool has_run = true;

            assert_int_equal(n == 3 ? CASCADE_COMPLETED : CASCADE_RUNNING,
                             status_of(store, all[n], &has_run));
            assert_false(has_run);
        }
    }
    assert_int_equal(5, adopt(store, &t).repaired);
    assert_int_equal(dry.count, t.count);
    assert_memory_equal(dry.rule, t.rule, sizeof(t.rule));
}

/* What cannot be known of cascades that have ended is told again. */
static void
adopting_again_changes_nothing(test_db *db)
{
    cascade_store *store = NULL;
    cascade_check_report report;
    told t;

    fill_foreign(db);
    store = db_store(db);
    (void)adopt(store, &t);
    report = adopt(store, &t);
    assert_int_equal(0, report.repaired);
    assert_int_equal(1, report.findings);
    assert_int_equal(1, count_told(&t, ID(4), "A12"));
}

#define ODD "bad name!/#\"\xc3\xa4"

/* Spawns what it may, and not what only others may name. */
static cascade_err
spawn_last(cascade_node *node, void *user)
{
    (void)user;
    expect(cascade_node_spawn(node, ODD, NULL, NULL) == CASCADE_ERR_INVALID);
    return cascade_node_spawn(node, "last", NULL, NULL);
}

/* Whatever another program has called its nodes, they run again. */
static void
names_of_others_may_be_registered(test_db *db)
{
    const cascade_node_options options = {.size = sizeof(options),
                                          .foreign = true};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_uuid id;
    char longer[130] = "";
    told t;

    fill_foreign(db);
    memset(longer, 'x', 129);
    put_execution(db, ID(1), 8, ODD, "RUNNING");
    put_execution(db, ID(1), 9, longer, "RUNNING");
    store = db_store(db);
    (void)adopt(store, &t);
    assert_int_equal(3, count_told(&t, ID(1), "A8 "));
    assert_non_null(strstr(t.text[place_of(&t, 8)], "`foreign`"));
    assert_non_null(strstr(t.text[place_of(&t, 9)], "never runs again"));
    raw_sql(db, "DELETE FROM node_executions WHERE function_id = 9");
    engine = db_engine(db, store, NULL);
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_engine_register(engine, ODD, spawn_last, NULL, NULL));
    assert_fails(
        CASCADE_ERR_INVALID,
        cascade_engine_register(engine, longer, spawn_last, NULL, &options));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_engine_register(engine, "cascade.pause", spawn_last,
                                         NULL, &options));
    assert_fails(
        CASCADE_ERR_INVALID,
        cascade_engine_register(engine, "a\nb", spawn_last, NULL, &options));
    assert_ok(cascade_engine_register(engine, ODD, spawn_last, NULL, &options));
    assert_ok(
        cascade_engine_register(engine, "last", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    assert_ok(cascade_uuid_parse(ID(1), &id));
    db_await(store, &id, CASCADE_COMPLETED);
}

/* Names that no node can have: none, too long for that, too long for an index
 * of PostgreSQL. */
static char *
odd_name(size_t which)
{
    static const size_t lens[] = {0, 256, 8000};
    char *name = calloc(1, lens[which] + 1);
    uint64_t seed = 1;

    assert_non_null(name);
    for (size_t i = 0; i < lens[which]; i++)
        name[i] = (char)('a' + splitmix_next(&seed) % 26);
    return name;
}

static void
rename_node(test_db *db, const char *id, const char *name)
{
    char *sql = NULL;

    assert_true(asprintf(&sql,
                         "UPDATE node_executions SET node_name = '%s'"
                         " WHERE cascade_id = '%s'",
                         name, id) > 0);
    raw_sql(db, sql);
    free(sql);
}

static bool
is_given_up(void *context)
{
    cascade_store *store = context;
    cascade_info *info = NULL;
    cascade_uuid id;
    bool given_up = false;

    assert_ok(cascade_uuid_parse(ID(6), &id));
    assert_ok(cascade_get(store, &id, &info));
    given_up = info->needs[0] != '\0' && !info->owned;
    cascade_info_free(info);
    return given_up;
}

/* Whoever takes such a cascade gives it up once, and others go on beside it; it
 * can be ended. */
static void
name_harms_nobody(test_db *db, size_t which)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_uuid id;
    char *name = odd_name(which);
    told t;

    fill_foreign(db);
    rename_node(db, ID(6), name);
    free(name);
    store = db_store(db);
    (void)adopt(store, &t);
    engine = start_engine(db, store);
    assert_true(stores_until(is_given_up, store));
    id = db_start(store, "last");
    db_await(store, &id, CASCADE_COMPLETED);
    assert_ok(cascade_engine_get_stats(engine, &stats));
    assert_int_equal(stats.refusals, 0);
    assert_ok(cascade_uuid_parse(ID(6), &id));
    assert_ok(cascade_terminate(store, &id, NULL));
    db_await(store, &id, CASCADE_ERROR);
}

static void
no_name_harms_nobody(test_db *db)
{
    name_harms_nobody(db, 0);
}

static void
a_long_name_harms_nobody(test_db *db)
{
    name_harms_nobody(db, 1);
}

static void
a_name_beyond_any_index_harms_nobody(test_db *db)
{
    name_harms_nobody(db, 2);
}

/* The highest function_id may be one of an event alone. Where none is left, the
 * row of the execution that needs one says so. */
static void
ids_that_are_used_up_are_told_in_the_row(test_db *db)
{
    const cascade_node_options once = {.size = sizeof(once), .attempts_max = 1};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_snapshot *snapshot = NULL;
    cascade_uuid id;
    told t;

    fill_foreign(db);
    raw_sql(db, "INSERT INTO context_events (id, cascade_id, function_id, key,"
                " value, created_at) VALUES (9, '" ID(6) "', 2147483646, 'far',"
                                                         " '1', " T0 ")");
    store = db_store(db);
    (void)adopt(store, &t);
    engine = db_engine(db, store, NULL);
    assert_ok(
        cascade_engine_register(engine, "elsewhere", spawn_last, NULL, &once));
    assert_ok(
        cascade_engine_register(engine, "last", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    assert_ok(cascade_uuid_parse(ID(6), &id));
    db_await(store, &id, CASCADE_ERROR);
    assert_ok(cascade_snapshot_load(store, &id, NULL, &snapshot));
    assert_non_null(strstr(cascade_snapshot_error(snapshot), "function_ids"));
    cascade_snapshot_free(snapshot);
}

/* ---- Our own ------------------------------------------------------------- */

static void
drop_auxiliary(test_db *db)
{
    raw_sql(db, "DROP TABLE cascade_runs; DROP TABLE cascade_lanes;"
                " DROP TABLE cascade_engines; DROP TABLE cascade_messages;"
                " DROP TABLE cascade_keys; DROP TABLE cascade_queues;"
                " DROP TABLE cascade_links; DROP TABLE cascade_erasures;"
                " DROP TABLE cascade_schema");
}

static cascade_uuid
start_queued(cascade_store *store)
{
    const cascade_start_options options = {
        .size = sizeof(options), .queue = "side", .priority = 4};
    cascade_started started;

    assert_ok(cascade_start(store, "plan", NULL, &options, &started));
    return started.id;
}

/* Polled once more. */
static bool
has_run_some(void *context)
{
    cascade_engine *engine = context;

    assert_ok(cascade_engine_poll(engine, MIXED, NULL));
    return db_stats(engine).executions >= 3 * MIXED;
}

/* Runs some of what there is, and leaves the rest. */
static void
run_partly(test_db *db, cascade_store *store)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE};
    cascade_engine *engine = db_engine(db, store, &options);

    mix_register(engine);
    assert_ok(cascade_engine_start(engine));
    assert_true(stores_until(has_run_some, engine));
    db_close_engine(db, engine);
}

/* Cut off in the middle, and restored without the auxiliary tables. */
static void
our_own_go_on_after_a_restore(test_db *db)
{
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_uuid ids[MIXED];
    cascade_uuid queued;
    cascade_info *info = NULL;
    db_ends ends = {.ids = ids, .count = MIXED};
    cascade_check_report report;
    told t;

    mix_reset();
    store = db_store(db);
    mix_start(store, ids, MIXED);
    queued = start_queued(store);
    run_partly(db, store);
    db_close_store(db, store);
    drop_auxiliary(db);
    store = db_store(db);
    report = adopt(store, &t);
    assert_true(report.repaired > 1);
    assert_int_equal(MIXED + 1, report.cascades);
    assert_true(sound_all(store));
    assert_ok(cascade_get(store, &queued, &info));
    assert_string_equal("side", info->queue);
    assert_int_equal(4, info->priority);
    cascade_info_free(info);
    engine = db_engine(db, store, NULL);
    mix_register(engine);
    assert_ok(cascade_engine_start(engine));
    ends.store = store;
    assert_true(stores_until(db_all_ended, &ends));
    assert_int_equal(0, adopt(store, &t).repaired);
}

/* A key with three runs, which have ended, and without its row; the last. */
static cascade_uuid
lose_key(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid ids[3];

    keyed_run_three(db, store, ids);
    db_close_store(db, store);
    raw_sql(db, "DELETE FROM cascade_keys");
    return ids[2];
}

static void
check_key(cascade_store *store, const cascade_uuid *last)
{
    cascade_started started;

    assert_ok(cascade_start(store, "again", NULL, &keyed_options, &started));
    assert_true(started.existed);
    assert_memory_equal(last, &started.id, sizeof(*last));
}

/* A key leads to its last run, also when that has ended. */
static void
keys_lead_to_their_last_runs_again(test_db *db)
{
    cascade_uuid last = lose_key(db);
    cascade_store *store = db_store(db);
    told t;

    assert_int_equal(2, adopt(store, &t).repaired);
    check_key(store, &last);
}

/* One of the same page, that has ended. */
static void
what_cannot_be_read_hides_no_other(test_db *db)
{
    cascade_uuid last = lose_key(db);
    cascade_store *store = db_store(db);
    cascade_check_report report;
    told t;

    db->unsound = true;
    put_cascade(db, ID(1), "COMPLETED", 0);
    put_execution(db, ID(1), 0, "plan", "COMPLETED");
    raw_sql(db, "UPDATE node_executions SET input_context = '{'"
                " WHERE cascade_id = '" ID(1) "'");
    report = adopt(store, &t);
    assert_int_equal(2, report.repaired);
    assert_int_equal(1, report.unknown);
    assert_int_equal(1, report.unreadable);
    assert_int_equal(1, count_told(&t, ID(1), "A13"));
    check_key(store, &last);
}

/* It would not even fit into an index. */
static void
a_queue_that_may_not_be_is_not_taken(test_db *db)
{
    char sql[16384];
    cascade_store *store = db_store(db);
    cascade_uuid id = start_queued(store);
    cascade_info *info = NULL;
    uint32_t random = 1;
    size_t len = 0;
    told t;

    db->unsound = true;
    (void)start_queued(store);
    raw_sql(db, "DELETE FROM cascade_runs");
    len = (size_t)snprintf(sql, sizeof(sql),
                           "UPDATE node_executions SET full_output ="
                           " '{\"cascade\":{\"queue\":\"");
    while (len < sizeof(sql) - 100) {
        random = random * 1103515245u + 12345u;
        sql[len++] = (char)('A' + (random >> 16) % 26);
    }
    (void)snprintf(sql + len, sizeof(sql) - len, "\",\"priority\":2}}'");
    raw_sql(db, sql);
    assert_int_equal(2, adopt(store, &t).repaired);
    assert_ok(cascade_get(store, &id, &info));
    assert_string_equal("default", info->queue);
    assert_int_equal(2, info->priority);
    cascade_info_free(info);
}

static cascade_err
parent(cascade_node *node, void *user)
{
    cascade_uuid id;
    cascade_err err =
        cascade_node_start_child(node, "c", "child", NULL, NULL, &id);

    (void)user;
    return err == CASCADE_OK ? cascade_node_await_child(node, &id, NULL) : err;
}

static bool
has_child_part(void *context)
{
    const db_ends *e = context;
    cascade_info *info = NULL;
    bool come = false;

    assert_ok(cascade_get(e->store, &e->ids[0], &info));
    come = info->fn_id == 2 && !info->owned;
    cascade_info_free(info);
    return come;
}

/* Its record tells its parent, and that it has ended at once. */
static void
end_child(const test_db *db)
{
    char record[1024];
    char sql[1280];

    raw_sql_text(db,
                 "SELECT full_output FROM node_executions"
                 " WHERE node_name = 'child'",
                 record, sizeof(record));
    assert_int_equal('{', record[0]);
    (void)snprintf(sql, sizeof(sql),
                   "UPDATE node_executions SET status = 'COMPLETED',"
                   " completed_at = started_at, full_output = '{\"at\":0,%s'"
                   " WHERE node_name = 'child'",
                   record + 1);
    raw_sql(db, sql);
    raw_sql(db, "UPDATE cascades SET status = 'COMPLETED' WHERE fn_id = 0");
}

/* That a child has ended cannot be told any more. */
static void
parents_of_lost_children_are_told(test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .park_after_ms = 1};
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, &options);
    cascade_uuid id;
    db_ends ends = {.store = store, .ids = &id};
    cascade_check_report report;
    char text[CASCADE_UUID_TEXT_SIZE];
    told t;

    assert_ok(cascade_engine_register(engine, "parent", parent, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "parent");
    assert_true(stores_until(has_child_part, &ends));
    db_close_engine(db, engine);
    raw_sql(db, "DELETE FROM cascade_runs");
    end_child(db);
    report = adopt(store, &t);
    (void)cascade_uuid_format(&id, text);
    assert_int_equal(1, count_told(&t, text, "A11"));
    assert_int_equal(1, count_told(&t, text, "A10"));
    assert_true(report.unknown >= 2);
}

/* ---- Beside engines ------------------------------------------------------ */

typedef struct gate {
    atomic_bool open;
    atomic_bool entered;
} gate;

static bool
is_open(void *context)
{
    return atomic_load(&((gate *)context)->open);
}

static cascade_err
wait_at_gate(cascade_node *node, void *user)
{
    gate *g = user;

    (void)node;
    atomic_store(&g->entered, true);
    expect(stores_until(is_open, g));
    return CASCADE_OK;
}

static bool
has_entered(void *context)
{
    return atomic_load(&((gate *)context)->entered);
}

/* RUNNING, and without a run. */
static cascade_uuid
make_stray(cascade_store *store)
{
    cascade_change change = {.cascade = {.id = db_start(store, "plan"),
                                         .status = CASCADE_RUNNING,
                                         .user_id = "anonymous"},
                             .run_action = CASCADE_RUN_END};
    const cascade_batch batch = {.engine_id = peer_own(store, "plan", 0),
                                 .number = 1,
                                 .changes = &change,
                                 .change_count = 1};
    bool existed = false;

    assert_ok(store->driver->commit(store->self, &batch, &existed));
    assert_ok(store->driver->detach(store->self, &batch.engine_id));
    return change.cascade.id;
}

static void
adopt_one(cascade_store *store, const cascade_uuid *id)
{
    const cascade_check_options options = {.size = sizeof(options), .id = id};
    cascade_check_report report = {.size = sizeof(report)};

    assert_ok(cascade_adopt(store, &options, &report));
    assert_int_equal(1, report.repaired);
}

/* Those of other processes too, none of which waits for its next look: one that
 * has just begun to listen may look all the same, but not for each. */
static void
engines_are_told_of_what_is_adopted(test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .lease_ms = HOUR_MS,
                                            .poll_interval_ms = HOUR_MS};
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, db_store(db), &options);
    cascade_uuid ids[STRAYS];

    for (size_t i = 0; i < STRAYS; i++)
        ids[i] = make_stray(store);
    assert_ok(
        cascade_engine_register(engine, "plan", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    for (size_t i = 0; i < STRAYS; i++) {
        adopt_one(store, &ids[i]);
        db_await(store, &ids[i], CASCADE_COMPLETED);
    }
}

static void
what_engines_have_is_left_alone(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_check_report report;
    gate g = {false, false};
    cascade_uuid id;
    told t;

    assert_ok(cascade_engine_register(engine, "gate", wait_at_gate, &g, NULL));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "gate");
    assert_true(stores_until(has_entered, &g));
    (void)start_queued(store);
    report = adopt(store, &t);
    assert_int_equal(2, report.cascades);
    assert_int_equal(0, report.findings + report.repaired + report.unknown);
    atomic_store(&g.open, true);
    db_await(store, &id, CASCADE_COMPLETED);
    assert_int_equal(0, atomic_load(&db->warnings));
}

/* ---- Many, and arguments ------------------------------------------------- */

static void
many_pages_are_adopted(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_check_report report;
    told t;

    for (int i = 0; i < PAGES; i++)
        (void)db_start(store, "plan");
    raw_sql(db, "DELETE FROM cascade_runs");
    report = adopt(store, &t);
    assert_int_equal(PAGES, report.repaired);
    assert_int_equal(PAGES, report.cascades);
    assert_int_equal(0, adopt(store, &t).repaired);
}

static void
it_ends_when_it_is_told_to(test_db *db)
{
    told t = {.left = 2};
    cascade_check_options options = {
        .size = sizeof(options), .finding = note_finding, .context = &t};
    cascade_check_report report = {.size = sizeof(report)};
    cascade_store *store = NULL;
    cascade_uuid id;

    fill_foreign(db);
    store = db_store(db);
    assert_fails(CASCADE_ERR_STOPPED, cascade_adopt(store, &options, &report));
    assert_int_equal(2, t.count);
    assert_int_equal(0, report.repaired);
    assert_ok(cascade_uuid_parse(ID(3), &id));
    options.id = &id;
    t.left = 0;
    assert_ok(cascade_adopt(store, &options, &report));
    assert_int_equal(1, report.cascades);
    assert_int_equal(1, report.repaired);
}

static void
wrong_arguments_are_refused(test_db *db)
{
    const cascade_uuid nobody = {{7}};
    const cascade_check_options one = {.size = sizeof(one), .id = &nobody};
    const cascade_check_options none = {.size = 0};
    cascade_check_report report = {.size = sizeof(report)};
    cascade_store *store = db_store(db);

    assert_fails(CASCADE_ERR_INVALID, cascade_adopt(NULL, NULL, &report));
    assert_fails(CASCADE_ERR_INVALID, cascade_adopt(store, NULL, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_adopt(store, &none, &report));
    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_adopt(store, &one, &report));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"cascades_of_others_go_on", cascades_of_others_go_on, STORES_FILES},
        {"a_dry_run_changes_nothing", a_dry_run_changes_nothing, STORES_FILES},
        {"names_of_others_may_be_registered", names_of_others_may_be_registered,
         STORES_FILES},
        {"no_name_harms_nobody", no_name_harms_nobody, STORES_FILES},
        {"a_long_name_harms_nobody", a_long_name_harms_nobody, STORES_FILES},
        {"a_name_beyond_any_index_harms_nobody",
         a_name_beyond_any_index_harms_nobody, STORES_FILES},
        {"ids_that_are_used_up_are_told_in_the_row",
         ids_that_are_used_up_are_told_in_the_row, STORES_FILES},
        {"adopting_again_changes_nothing", adopting_again_changes_nothing,
         STORES_FILES},
        {"our_own_go_on_after_a_restore", our_own_go_on_after_a_restore,
         STORES_FILES},
        {"keys_lead_to_their_last_runs_again",
         keys_lead_to_their_last_runs_again, STORES_FILES},
        {"parents_of_lost_children_are_told", parents_of_lost_children_are_told,
         STORES_FILES},
        {"engines_are_told_of_what_is_adopted",
         engines_are_told_of_what_is_adopted, STORES_ALL},
        {"what_engines_have_is_left_alone", what_engines_have_is_left_alone,
         STORES_FILES},
        {"many_pages_are_adopted", many_pages_are_adopted, STORES_FILES},
        {"it_ends_when_it_is_told_to", it_ends_when_it_is_told_to,
         STORES_FILES},
        {"a_queue_that_may_not_be_is_not_taken",
         a_queue_that_may_not_be_is_not_taken, STORES_FILES},
        {"what_cannot_be_read_hides_no_other",
         what_cannot_be_read_hides_no_other, STORES_SQLITE},
        {"wrong_arguments_are_refused", wrong_arguments_are_refused,
         STORES_FILES},
    };

    return stores_run("adopt", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
