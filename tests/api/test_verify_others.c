/* SPDX-License-Identifier: MIT
 *
 * cascade_verify() of cascades that another program (Cascaide) began: what it
 * writes is sound, adopted or not, and gone on with or not; a row that is
 * missing, or changed, is found where whoever wrote it had to write it so; and
 * that the rest cannot be judged is counted.
 */
#include <stdio.h>
#include <string.h>

#include "api/raw_sql.h"
#include "cascade/manage.h"
#include "query/audit/audit.h"
#include "support/sound.h"

#define ENDED "0190aaaa-0000-4000-8000-000000000001"
#define OPEN "0190aaaa-0000-4000-8000-000000000002"
#define FRESH "0190aaaa-0000-4000-8000-000000000003"
#define COUNT 3

/* An execution of theirs. */
#define THEIRS(id, cascade, place, status, end)                                \
    "INSERT INTO node_executions (id, node_instance_id, cascade_id,"           \
    " node_name, function_id, input_context, full_output, location,"           \
    " status, error, started_at, completed_at) VALUES"                         \
    " ('0190aaaa-0000-4000-8000-0000000000" id "', 'node_" id "_0', '" cascade \
    "', 'node', " place ", '{}', NULL, 'server', '" status "',"                \
    " NULL, '2026-01-31 10:00:00', " end ");"
#define AT "'2026-01-31 10:00:01'"

/* One that has ended, with an fn_id that went back; one that was left RUNNING,
 * where a user interface has pushed to the node that is next; and one that was
 * created alone. */
static const char *const rows[] = {
    "INSERT INTO cascades (id, status, fn_id, user_id, created_at, updated_at)"
    " VALUES ('" ENDED "', 'COMPLETED', 2, 'ann', " AT ", " AT "),"
    " ('" OPEN "', 'RUNNING', 3, 'bob', " AT ", " AT "),"
    " ('" FRESH "', 'RUNNING', 0, 'cia', " AT ", " AT ")",
    THEIRS("a1", ENDED, "-1", "COMPLETED", AT)
        THEIRS("a2", ENDED, "0", "COMPLETED", AT)
            THEIRS("a3", ENDED, "1", "FAILED", AT)
                THEIRS("a4", ENDED, "2", "COMPLETED", AT)
                    THEIRS("a5", ENDED, "3", "RUNNING", "NULL")
                        THEIRS("b1", OPEN, "1", "COMPLETED", AT)
                            THEIRS("b2", OPEN, "2", "COMPLETED", AT)
                                THEIRS("b3", OPEN, "3", "RUNNING", "NULL"),
    "INSERT INTO context_events (cascade_id, function_id, key, value,"
    " created_at) VALUES ('" ENDED "', -1, 'k', '1', " AT "),"
    " ('" ENDED "', 2, 'k', '1', " AT "), ('" OPEN "', 3, 'k', '1', " AT "),"
    " ('" OPEN "', 4, 'k', '1', " AT ")",
};

/* ---- What is found ------------------------------------------------------- */

typedef struct found {
    size_t count;
    size_t by_rule[CSC_AUDIT_RULE_COUNT];
    char last[512];
    cascade_check_report report;
} found;

static bool
note_finding(void *context, const cascade_uuid *id, int32_t function_id,
             const char *rule, const char *text)
{
    found *f = context;

    (void)id;
    (void)function_id;
    f->count++;
    (void)snprintf(f->last, sizeof(f->last), "%s: %s", rule, text);
    for (int r = 0; r < CSC_AUDIT_RULE_COUNT; r++)
        if (strcmp(rule, csc_audit_name((csc_audit_rule)r)) == 0)
            f->by_rule[r]++;
    return true;
}

static found
verify(cascade_store *store)
{
    found f = {.report = {.size = sizeof(f.report)}};
    const cascade_check_options options = {
        .size = sizeof(options), .finding = note_finding, .context = &f};

    assert_ok(cascade_verify(store, &options, &f.report));
    return f;
}

static void
adopt(cascade_store *store)
{
    cascade_check_report report = {.size = sizeof(report)};

    assert_ok(cascade_adopt(store, NULL, &report));
    assert_int_equal(0, report.unreadable);
}

static cascade_store *
fill(test_db *db)
{
    cascade_store *store = db_store(db);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        raw_sql(db, rows[i]);
    return store;
}

/* ---- What is sound ------------------------------------------------------- */

/* That two of them are RUNNING without a run is all there is to say: nobody
 * knows whether theirs goes on with them. */
static void
what_others_write_is_sound(test_db *db)
{
    cascade_store *store = fill(db);
    found f = verify(store);

    assert_int_equal(2, f.count);
    assert_int_equal(2, f.by_rule[CSC_AUDIT_RUN]);
    assert_int_equal(COUNT, f.report.cascades);
    assert_int_equal(COUNT, f.report.unknown);
    adopt(store);
    f = verify(store);
    if (f.count > 0)
        fail_msg("%s", f.last);
    assert_int_equal(COUNT, f.report.unknown);
}

static cascade_err
goes_on(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_spawn(node, "last", NULL, NULL);
}

static void
what_engines_make_of_it_is_sound(test_db *db)
{
    static const cascade_node_options foreign = {.size = sizeof(foreign),
                                                 .foreign = true};
    cascade_store *store = fill(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_uuid id;
    found f;

    raw_sql(db, "DELETE FROM context_events WHERE function_id = 4");
    adopt(store);
    assert_ok(cascade_engine_register(engine, "node", goes_on, NULL, &foreign));
    assert_ok(
        cascade_engine_register(engine, "last", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    assert_ok(cascade_uuid_parse(OPEN, &id));
    db_await(store, &id, CASCADE_COMPLETED);
    db_close_engine(db, engine);
    f = verify(store);
    if (f.count > 0)
        fail_msg("%s", f.last);
    assert_int_equal(COUNT, f.report.unknown);
}

/* ---- What is not --------------------------------------------------------- */

typedef struct breakage {
    csc_audit_rule rule;
    const char *sql;
} breakage;

#define ROW(id, place) " WHERE cascade_id = '" id "' AND function_id = " place

static const breakage breakages[] = {
    {CSC_AUDIT_GAPS, "DELETE FROM node_executions" ROW(ENDED, "0")},
    {CSC_AUDIT_GAPS, "DELETE FROM node_executions" ROW(ENDED, "1")},
    {CSC_AUDIT_GAPS, "DELETE FROM node_executions" ROW(OPEN, "2")},
    {CSC_AUDIT_FN_ID, "DELETE FROM node_executions" ROW(ENDED, "2")},
    {CSC_AUDIT_FN_ID, "DELETE FROM node_executions" ROW(OPEN, "3")},
    {CSC_AUDIT_FN_ID, "UPDATE cascades SET fn_id = 7 WHERE user_id = 'ann'"},
    {CSC_AUDIT_FN_ID, "UPDATE cascades SET fn_id = 7 WHERE user_id = 'cia'"},
    {CSC_AUDIT_WRITER, "DELETE FROM node_executions" ROW(ENDED, "-1")},
    {CSC_AUDIT_WRITER, "UPDATE context_events SET function_id = 4"
                       " WHERE cascade_id = '" ENDED "'"},
    {CSC_AUDIT_WRITER, "UPDATE context_events SET function_id = 2147483646"
                       " WHERE cascade_id = '" OPEN "'"},
    {CSC_AUDIT_STATUS, "DELETE FROM node_executions WHERE cascade_id ="
                       " '" ENDED "' AND status <> 'RUNNING'"},
    {CSC_AUDIT_STATUS, "UPDATE cascades SET status = 'ERROR'"
                       " WHERE user_id = 'cia'"},
    {CSC_AUDIT_STATUS,
     "UPDATE node_executions SET status = 'FAILED'" ROW(OPEN, "3")},
    {CSC_AUDIT_RUN, "DELETE FROM cascade_runs"},
    {CSC_AUDIT_RUN, "UPDATE cascades SET status = 'COMPLETED'"
                    " WHERE user_id = 'bob'"},
    {CSC_AUDIT_RUN_VALUES, "UPDATE cascade_runs SET queue = ''"},
    {CSC_AUDIT_RUN_VALUES,
     "UPDATE cascade_runs SET claim_no = 0,"
     " engine_id = '0190aaaa-0000-4000-8000-0000000000ee'"},
};

static const char *const tables[] = {"cascades", "node_executions",
                                     "context_events", "cascade_runs"};

#define TABLES (sizeof(tables) / sizeof(tables[0]))

static void
copy(test_db *db, const char *format, const char *table)
{
    char sql[200];

    (void)snprintf(sql, sizeof(sql), format, table, table);
    raw_sql(db, sql);
}

/* All rows as they were; the first go last, as the others refer to them. */
static void
mend(test_db *db)
{
    for (size_t i = TABLES; i > 0; i--)
        copy(db, "DELETE FROM %s", tables[i - 1]);
    for (size_t i = 0; i < TABLES; i++)
        copy(db, "INSERT INTO %s SELECT * FROM saved_%s", tables[i]);
}

static void
what_is_missing_is_found(test_db *db)
{
    cascade_store *store = fill(db);

    adopt(store);
    for (size_t i = 0; i < TABLES; i++)
        copy(db, "CREATE TABLE saved_%s AS SELECT * FROM %s", tables[i]);
    for (size_t i = 0; i < sizeof(breakages) / sizeof(breakages[0]); i++) {
        found f;

        raw_sql(db, breakages[i].sql);
        f = verify(store);
        if (f.by_rule[breakages[i].rule] == 0)
            fail_msg("%s: not found by %s (%s)", breakages[i].sql,
                     csc_audit_name(breakages[i].rule), f.last);
        mend(db);
        if (!sound_all(store))
            fail_msg("%s: not mended", breakages[i].sql);
    }
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_others_write_is_sound", what_others_write_is_sound,
         STORES_FILES},
        {"what_engines_make_of_it_is_sound", what_engines_make_of_it_is_sound,
         STORES_FILES},
        {"what_is_missing_is_found", what_is_missing_is_found, STORES_FILES},
    };

    return stores_run("verify others", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
