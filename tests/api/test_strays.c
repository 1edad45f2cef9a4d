/* SPDX-License-Identifier: MIT
 *
 * cascade_verify() finds rows of which there is not what they belong to, where
 * the database did not keep them from losing it (S75).
 */
#include <stdio.h>
#include <string.h>

#include "api/raw_sql.h"
#include "cascade/manage.h"
#include "query/audit/audit.h"
#include "support/sound.h"

#define MANY 2300 /* more than two pages */

#define OWNER "'0190aaaa-0000-4000-8000-0000000000ee'"
#define GONE "'0190aaaa-0000-4000-8000-0000000000ff'"

typedef struct found {
    size_t count; /* by V16 */
    size_t others;
    char last[512];
} found;

static bool
note_finding(void *context, const cascade_uuid *id, int32_t function_id,
             const char *rule, const char *text)
{
    found *f = context;

    (void)id;
    (void)function_id;
    if (strcmp(rule, csc_audit_name(CSC_AUDIT_STRAYS)) == 0)
        f->count++;
    else
        f->others++;
    (void)snprintf(f->last, sizeof(f->last), "%s", text);
    return true;
}

static found
verify(cascade_store *store)
{
    found f = {.count = 0};
    const cascade_check_options options = {
        .size = sizeof(options), .finding = note_finding, .context = &f};
    cascade_check_report report = {.size = sizeof(report)};

    assert_ok(cascade_verify(store, &options, &report));
    assert_int_equal(report.findings, f.count + f.others);
    return f;
}

/* A statement for which no foreign key counts. */
static void
loose_sql(test_db *db, const char *sql)
{
    char text[1000];

    (void)snprintf(text, sizeof(text), "%s%s",
                   strcmp(db->backend->name, "postgres") == 0
                       ? "SET session_replication_role = replica;"
                       : "",
                   sql);
    raw_sql(db, text);
}

typedef struct loss {
    const char *table; /* of which rows are found */
    const char *sql;
} loss;

/* Of the three tables and the runs all have lost theirs; what of these is not
 * looked at is taken away with it. */
static const loss losses[] = {
    {"node_executions", "DELETE FROM context_events; DELETE FROM cascade_runs;"
                        " DELETE FROM cascades"},
    {"context_events", "DELETE FROM node_executions;"
                       " DELETE FROM cascade_runs; DELETE FROM cascades"},
    {"cascade_runs", "DELETE FROM node_executions;"
                     " DELETE FROM context_events; DELETE FROM cascades"},
    {"cascade_messages",
     "INSERT INTO cascade_messages (cascade_id, kind, name, path, payload,"
     " sent_at) VALUES (" GONE ", 'signal', 'n', 'p', '{}', 1)"},
    {"cascade_erasures", "INSERT INTO cascade_erasures (cascade_id, marked_at)"
                         " VALUES (" GONE ", 1)"},
    {"cascade_lanes", "INSERT INTO cascade_lanes (engine_id, lane, batch)"
                      " VALUES (" OWNER ", 0, 1)"},
};

static cascade_err
writes(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_put_text(node, "k", "1", NULL);
}

/* One that has ended, with an event, and one that is to run. */
static void
fill(test_db *db, cascade_store *store)
{
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_uuid id;

    assert_ok(cascade_engine_register(engine, "writes", writes, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "writes");
    db_await(store, &id, CASCADE_COMPLETED);
    db_close_engine(db, engine);
    (void)db_start(store, "other");
}

static void
empty(test_db *db)
{
    static const char *const tables[] = {"context_events",   "node_executions",
                                         "cascade_runs",     "cascades",
                                         "cascade_messages", "cascade_erasures",
                                         "cascade_lanes",    "cascade_engines"};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        char sql[64];

        (void)snprintf(sql, sizeof(sql), "DELETE FROM %s", tables[i]);
        raw_sql(db, sql);
    }
}

static void
rows_that_have_lost_theirs_are_found(test_db *db)
{
    cascade_store *store = db_store(db);

    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
        found f;

        fill(db, store);
        assert_true(sound_all(store));
        loose_sql(db, losses[i].sql);
        f = verify(store);
        if (f.count == 0 || f.others > 0 ||
            strstr(f.last, losses[i].table) == NULL)
            fail_msg("%s: %zu, %zu: %s", losses[i].sql, f.count, f.others,
                     f.last);
        empty(db);
    }
}

/* An incarnation of which nothing can be fenced. */
static void
an_engine_without_a_lane_is_found(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);

    assert_ok(cascade_engine_start(engine));
    assert_true(sound_all(store));
    raw_sql(db, "DELETE FROM cascade_lanes");
    assert_int_equal(1, verify(store).count);
    db_close_engine(db, engine);
    assert_true(sound_all(store));
}

/* By pages; on PostgreSQL the rows are made by the server. */
static void
many_are_found(test_db *db)
{
    cascade_store *store = db_store(db);
    char sql[600];

    db->unsound = true;
    (void)snprintf(
        sql, sizeof(sql),
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
        "  WHERE i < %d)"
        " INSERT INTO cascade_messages (cascade_id, kind, name, path, payload,"
        "  sent_at) SELECT %s, 'signal', 'n', 'p' || i, '{}', 1 FROM n",
        MANY,
        strcmp(db->backend->name, "postgres") == 0
            ? "('0190aaaa-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid"
            : "'0190aaaa-0000-4000-8000-' || printf('%012d', i)");
    raw_sql(db, sql);
    assert_int_equal(MANY, verify(store).count);
}

/* SQLite alone: what no cascade can have as its id belongs to none. */
static void
ids_that_cannot_be_read_are_found(test_db *db)
{
    cascade_store *store = db_store(db);
    found f;

    db->unsound = true;
    fill(db, store);
    raw_sql(db, "UPDATE node_executions SET cascade_id = 'not one'"
                " WHERE node_name = 'writes'");
    f = verify(store);
    assert_int_equal(1, f.count);
    assert_non_null(strstr(f.last, "'not?one'"));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"rows_that_have_lost_theirs_are_found",
         rows_that_have_lost_theirs_are_found, STORES_FILES},
        {"an_engine_without_a_lane_is_found", an_engine_without_a_lane_is_found,
         STORES_FILES},
        {"many_are_found", many_are_found, STORES_FILES},
        {"ids_that_cannot_be_read_are_found", ids_that_cannot_be_read_are_found,
         STORES_SQLITE},
    };

    return stores_run("strays", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
