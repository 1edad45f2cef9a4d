/* SPDX-License-Identifier: MIT
 *
 * Three roles, made by sql/roles.sql: the owner migrates, the worker runs, the
 * reader looks, and none can do what is the others'. And row-level security:
 * what policies show is what there is, and those that hide from an engine what
 * it works with are told, not worked around.
 */
#include <libpq-fe.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "engine/support/mix.h"
#include "store/store.h"
#include "support/rows.h"

#define CASCADES 40

typedef struct roles {
    char owner[80];
    char worker[80];
    char reader[80];
} roles;

/* ---- The roles ----------------------------------------------------------- */

static void
apply_script(const test_db *db, const roles *r)
{
    const char *source = getenv("CASCADE_SOURCE_DIR");
    char command[2048];

    snprintf(command, sizeof(command),
             "psql -X -q -v ON_ERROR_STOP=1 -v 'schema=%s' -v 'owner=%s' "
             "-v 'worker=%s' -v 'reader=%s' -f '%s/sql/roles.sql' '%s'",
             db->schema, r->owner, r->worker, r->reader,
             source == NULL ? "." : source, db->url);
    assert_int_equal(0, system(command));
}

/* Drops what the roles of a test own and may; the schema goes with the test. */
static void
drop_roles(test_db *db, const roles *r)
{
    const char *const names[] = {r->reader, r->worker, r->owner};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char sql[512];

        snprintf(sql, sizeof(sql),
                 "SET client_min_messages = error; "
                 "DROP OWNED BY \"%s\" CASCADE; DROP ROLE \"%s\"",
                 names[i], names[i]);
        assert_int_equal(0, db_sql(db, sql));
    }
}

/* A blank in their names: they are quoted wherever they go. */
static void
name_roles(const test_db *db, roles *r)
{
    snprintf(r->owner, sizeof(r->owner), "%.50s owner", db->schema);
    snprintf(r->worker, sizeof(r->worker), "%.50s worker", db->schema);
    snprintf(r->reader, sizeof(r->reader), "%.50s reader", db->schema);
}

static cascade_err
open_as(test_db *db, const char *role, const char *more,
        cascade_migrate migrate, cascade_store **store)
{
    cascade_store_options options = db_store_options(db);
    char url[1400];

    options.migrate = migrate;
    snprintf(url, sizeof(url), "%s user='%s' %s", db->url, role, more);
    return cascade_store_open(url, &options, store);
}

static void
migrate_as_owner(test_db *db, roles *r)
{
    cascade_store *store = NULL;

    name_roles(db, r);
    apply_script(db, r);
    assert_ok(open_as(db, r->owner, "", CASCADE_MIGRATE_AUTO, &store));
    assert_ok(cascade_store_close(store));
    apply_script(db, r);
}

/* The schema is the owner's, and so is all that is made in it. */
static void
prepare(test_db *db, roles *r)
{
    db_clear(db);
    migrate_as_owner(db, r);
}

/* ---- SQL as one of them -------------------------------------------------- */

static PGconn *
connect_as(const test_db *db, const char *role)
{
    char url[1400];
    char path[200];
    PGresult *result = NULL;
    PGconn *pg = NULL;

    snprintf(url, sizeof(url), "%s user='%s'", db->url, role);
    pg = PQconnectdb(url);
    if (PQstatus(pg) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(pg));
    snprintf(path, sizeof(path),
             "SET search_path = \"%s\"; SET client_min_messages = error",
             db->schema);
    result = PQexec(pg, path);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", path, PQerrorMessage(pg));
    PQclear(result);
    return pg;
}

static void
expect_state(PGconn *pg, const char *sql, const char *wanted)
{
    PGresult *result = PQexec(pg, sql);
    const char *got = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (got == NULL || strcmp(got, wanted) != 0)
        fail_msg("%s: %s instead of %s", sql, got == NULL ? "done" : got,
                 wanted);
    PQclear(result);
}

static void
expect_denied(const test_db *db, const char *role, const char *const *sql)
{
    PGconn *pg = connect_as(db, role);

    for (; *sql != NULL; sql++)
        expect_state(pg, *sql, "42501");
    PQfinish(pg);
}

static void
expect_done(const test_db *db, const char *role, const char *const *sql)
{
    PGconn *pg = connect_as(db, role);

    for (; *sql != NULL; sql++) {
        PGresult *result = PQexec(pg, *sql);

        if (PQresultErrorField(result, PG_DIAG_SQLSTATE) != NULL)
            fail_msg("%s: %s", *sql, PQerrorMessage(pg));
        PQclear(result);
    }
    PQfinish(pg);
}

/* ---- The worker ---------------------------------------------------------- */

/* What the nodes let fail is a line of the log each. */
static void
count_failure(void *context, const cascade_event *event)
{
    atomic_size_t *failures = context;

    if (event->kind == CASCADE_EVENT_ATTEMPT_FAILED ||
        event->kind == CASCADE_EVENT_EXECUTION_FAILED ||
        event->kind == CASCADE_EVENT_CASCADE_FAILED)
        atomic_fetch_add(failures, 1);
}

static void
run_mix(test_db *db, cascade_store *store)
{
    static cascade_uuid ids[CASCADES];
    atomic_size_t failures = 0;
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 4,
                                            .on_event = count_failure,
                                            .event_context = &failures};
    cascade_engine *engine = NULL;
    db_ends ends = {.store = store, .ids = ids, .count = CASCADES};

    mix_reset();
    assert_ok(cascade_engine_open(store, &options, &engine));
    mix_register(engine);
    assert_ok(cascade_engine_start(engine));
    mix_start(store, ids, CASCADES);
    assert_true(stores_until(db_all_ended, &ends));
    assert_int_equal(0, db_stats(engine).refusals);
    assert_ok(cascade_engine_close(engine));
    assert_int_equal(atomic_load(&failures), db->warnings);
}

static void
the_worker_runs_everything(test_db *db)
{
    cascade_store *store = NULL;
    roles r;

    prepare(db, &r);
    assert_ok(open_as(db, r.worker, "", CASCADE_MIGRATE_CHECK, &store));
    run_mix(db, store);
    assert_ok(cascade_store_close(store));
    assert_ok(open_as(db, r.worker, "", CASCADE_MIGRATE_AUTO, &store));
    assert_ok(cascade_store_close(store));
    drop_roles(db, &r);
}

/* Starts a run of a key with a message for it, and deletes it. */
static void
send_and_delete(cascade_store *store, test_rows *rows)
{
    const cascade_store_driver *driver = store->driver;
    cascade_incarnation own = rows_incarnation(rows, 1, 60000);
    cascade_change *start =
        rows_start_owned(rows, rows_id(rows), own.engine_id);
    cascade_change *end = rows_write(rows, start->cascade.id, 0);
    cascade_message_row *message =
        rows_message(rows, start->cascade.id, "path");
    cascade_batch batch = {.engine_id = own.engine_id,
                           .number = 1,
                           .changes = end,
                           .change_count = 1};
    bool existed = true;
    cascade_sent sent = 0;
    cascade_submission submission = {.starts = start,
                                     .start_count = 1,
                                     .existed = &existed,
                                     .messages = message,
                                     .message_count = 1,
                                     .sent = &sent};

    start->key = "key";
    start->run_number = 2;
    end->run_action = CASCADE_RUN_DELETE;
    rows_event(rows, start, 0, "key", "1");
    assert_ok(driver->attach(store->self, &own));
    assert_ok(driver->submit(store->self, &submission));
    assert_false(existed);
    assert_int_equal(CASCADE_SENT, sent);
    assert_ok(driver->commit(store->self, &batch, &existed));
}

static void
the_worker_sends_and_deletes(test_db *db)
{
    cascade_store *store = NULL;
    test_rows rows;
    roles r;

    prepare(db, &r);
    rows_init(&rows, rows_seed(), csc_clock_wall_ms(&csc_clock_system));
    assert_ok(open_as(db, r.worker, "", CASCADE_MIGRATE_CHECK, &store));
    send_and_delete(store, &rows);
    assert_ok(cascade_store_close(store));
    rows_fini(&rows);
    drop_roles(db, &r);
}

static cascade_err
pass_queue(void *context, const cascade_queue_row *row)
{
    (void)row;
    ++*(int *)context;
    return CASCADE_OK;
}

static cascade_err
pass_migration(void *context, const cascade_migration_row *row)
{
    *(int *)context += row->applied_at_ms != CASCADE_TIME_NONE;
    return CASCADE_OK;
}

static cascade_err
pass_execution(void *context, const cascade_execution_row *row)
{
    (void)row;
    ++*(int *)context;
    return CASCADE_OK;
}

/* What looks and changes nothing: of one cascade, RUNNING, in one queue. */
static void
look_around(cascade_store *store)
{
    const cascade_store_driver *driver = store->driver;
    const cascade_scan page = {.limit = 10};
    int seen = 0;
    cascade_load_sink sink = {.context = &seen, .on_execution = pass_execution};
    cascade_totals totals;

    assert_ok(driver->manage->totals(store->self, &totals));
    assert_int_equal(1, totals.running);
    assert_ok(driver->manage->queues(store->self, pass_queue, &seen));
    assert_ok(driver->scan(store->self, &page, &sink));
    assert_int_equal(2, seen);
    assert_ok(driver->manage->schema(store->self, pass_migration, &seen));
    assert_true(seen > 2);
}

static void
the_worker_looks_after_what_is_stored(test_db *db)
{
    cascade_store *store = NULL;
    cascade_repair repair = {.status = CASCADE_COMPLETED, .key = "key"};
    size_t deleted = 0;
    bool changed = false;
    bool done = false;
    roles r;

    prepare(db, &r);
    assert_ok(open_as(db, r.worker, "", CASCADE_MIGRATE_CHECK, &store));
    repair.was.id = db_start(store, "n");
    repair.was.status = CASCADE_RUNNING;
    repair.run_number = 2;
    look_around(store);
    assert_ok(
        store->driver->manage->pause(store->self, "q", true, NULL, &changed));
    assert_ok(
        store->driver->manage->pause(store->self, "q", false, NULL, &changed));
    assert_true(changed);
    assert_int_equal(0, db_sql(db, "DELETE FROM cascade_runs"));
    assert_ok(store->driver->manage->repair(store->self, &repair, 1, &done));
    assert_true(done);
    assert_ok(store->driver->manage->purge(store->self, &repair.was.id, 1,
                                           INT64_MAX, &deleted));
    assert_int_equal(1, deleted);
    assert_ok(cascade_store_close(store));
    drop_roles(db, &r);
}

/* By the functions for SQL. */
static void
the_worker_starts_and_signals_by_sql(test_db *db)
{
    static const char *const sql[] = {
        "SELECT cascade_start('n', '{}', 'k', delay_ms => 1)",
        "SELECT cascade_signal(cascade_key_id('anonymous', 'k', 1), 'go')",
        "DELETE FROM cascades",
        "INSERT INTO cascade_keys VALUES ('anonymous', 'k', 2)",
        "SELECT cascade_start('n', '{}', 'k')",
        NULL};
    roles r;

    prepare(db, &r);
    expect_done(db, r.worker, sql);
    drop_roles(db, &r);
}

static void
the_worker_changes_no_table_and_no_history(test_db *db)
{
    static const char *const sql[] = {
        "DROP TABLE cascades",
        "ALTER TABLE cascades ADD COLUMN x int",
        "TRUNCATE cascade_runs",
        "UPDATE context_events SET value = '1'",
        "UPDATE cascade_messages SET payload = '1'",
        "DELETE FROM cascade_keys",
        "UPDATE cascade_schema SET checksum = ''",
        "CREATE TABLE mine (x int)",
        "CREATE INDEX ON cascades (fn_id)",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE TRIGGER t BEFORE INSERT ON cascades FOR EACH ROW "
        "EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "CREATE ROLE another",
        NULL};
    roles r;

    prepare(db, &r);
    expect_denied(db, r.worker, sql);
    drop_roles(db, &r);
}

/* What stands at one place of a table it can take away and put back otherwise,
 * since it sends and deletes: the border is UPDATE (SECURITY.md). */
static void
the_worker_can_replace_what_it_can_delete(test_db *db)
{
    static const char *const sql[] = {
        "SELECT cascade_start('n', '{}', 'k')",
        "SELECT cascade_signal(cascade_key_id('anonymous', 'k', 1), 'go')",
        "WITH was AS (DELETE FROM cascade_messages RETURNING *) "
        "INSERT INTO cascade_messages SELECT id, cascade_id, kind, 'stop', "
        "path, '1', sent_at FROM was",
        "SELECT 1 / count(*) FROM cascade_messages WHERE name = 'stop'",
        "INSERT INTO context_events (key, value, function_id, cascade_id) "
        "SELECT 'k', '1', 0, id FROM cascades",
        "WITH was AS (DELETE FROM context_events RETURNING *) "
        "INSERT INTO context_events SELECT id, key, '2', ui_value, "
        "function_id, cascade_id, created_at FROM was",
        "SELECT 1 / count(*) FROM context_events WHERE value = '2'",
        NULL};
    roles r;

    prepare(db, &r);
    expect_done(db, r.worker, sql);
    drop_roles(db, &r);
}

/* ---- Tables of others ---------------------------------------------------- */

/* As the owner, which other tables of the schema may belong to as well. */
static void
make_other(const test_db *db, const roles *r, const char *name)
{
    char table[80];
    char sequence[80];
    const char *const sql[] = {table, sequence, NULL};

    snprintf(table, sizeof(table), "CREATE TABLE %s (x int)", name);
    snprintf(sequence, sizeof(sequence), "CREATE SEQUENCE %s_numbers", name);
    expect_done(db, r->owner, sql);
}

static void
expect_shut(const test_db *db, const roles *r, const char *name)
{
    char reading[80];
    char numbers[80];
    const char *const sql[] = {reading, numbers, NULL};

    snprintf(reading, sizeof(reading), "SELECT x FROM %s", name);
    snprintf(numbers, sizeof(numbers), "SELECT nextval('%s_numbers')", name);
    expect_denied(db, r->worker, sql);
    expect_denied(db, r->reader, sql);
}

static void
other_tables_of_the_owner_are_not_theirs(test_db *db)
{
    roles r;

    db_clear(db);
    name_roles(db, &r);
    apply_script(db, &r);
    make_other(db, &r, "before");
    migrate_as_owner(db, &r);
    make_other(db, &r, "later");
    expect_shut(db, &r, "before");
    expect_shut(db, &r, "later");
    drop_roles(db, &r);
}

/* What the script gave before, of all tables to come. */
static void
give_as_before(test_db *db, const roles *r)
{
    const struct {
        const char *rights;
        const char *role;
    } given[] = {{"SELECT, INSERT, UPDATE, DELETE ON TABLES", r->worker},
                 {"USAGE ON SEQUENCES", r->worker},
                 {"SELECT ON TABLES", r->reader}};

    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        char sql[512];

        snprintf(sql, sizeof(sql),
                 "ALTER DEFAULT PRIVILEGES FOR ROLE \"%s\" IN SCHEMA \"%s\" "
                 "GRANT %s TO \"%s\"",
                 r->owner, db->schema, given[i].rights, given[i].role);
        assert_int_equal(0, db_sql(db, sql));
    }
}

/* Once: what is granted after that stays. */
static void
what_was_given_before_is_withdrawn(test_db *db)
{
    static const char *const writes[] = {"INSERT INTO given VALUES (1)",
                                         "SELECT nextval('given_numbers')",
                                         NULL};
    static const char *const reads[] = {"SELECT x FROM given", NULL};
    const char *grants[] = {NULL, NULL, NULL};
    char tables[200];
    char sequences[200];
    roles r;

    prepare(db, &r);
    give_as_before(db, &r);
    make_other(db, &r, "given");
    expect_done(db, r.worker, writes);
    expect_done(db, r.reader, reads);
    apply_script(db, &r);
    expect_shut(db, &r, "given");
    make_other(db, &r, "later");
    expect_shut(db, &r, "later");
    snprintf(tables, sizeof(tables),
             "GRANT SELECT, INSERT ON given TO \"%s\", \"%s\"", r.worker,
             r.reader);
    snprintf(sequences, sizeof(sequences),
             "GRANT USAGE ON SEQUENCE given_numbers TO \"%s\"", r.worker);
    grants[0] = tables;
    grants[1] = sequences;
    expect_done(db, r.owner, grants);
    apply_script(db, &r);
    expect_done(db, r.worker, writes);
    expect_done(db, r.reader, reads);
    drop_roles(db, &r);
}

typedef struct removal {
    cascade_store *store;
    const cascade_uuid *dead;
} removal;

/* It gives up soon, on a slow machine before it has ended who is in the way. */
static bool
is_removed(void *context)
{
    const removal *it = context;
    size_t freed = 0;
    cascade_err err =
        it->store->driver->remove(it->store->self, it->dead, 1, 10, &freed);

    if (err != CASCADE_ERR_UNAVAILABLE)
        assert_ok(err);
    return err == CASCADE_OK;
}

/* The backend of an engine that was stopped in mid-commit holds its lane row,
 * and waits for its client. pg_terminate_backend() asks no more of a role than
 * to be the one that the backend logged in as. */
static void
the_worker_ends_its_own_stopped_backend(test_db *db)
{
    cascade_incarnation gone = {.host = "gone", .pid = 1, .lane_count = 1};
    cascade_store *store = NULL;
    PGconn *stopped = NULL;
    char id[CASCADE_UUID_TEXT_SIZE];
    char sql[256];
    removal it = {.dead = &gone.engine_id};
    roles r;

    prepare(db, &r);
    assert_ok(open_as(db, r.worker, "", CASCADE_MIGRATE_CHECK, &store));
    gone.engine_id = csc_uuid_v7(0, &store->random);
    gone.lease_ms = 60000;
    assert_ok(store->driver->attach(store->self, &gone));
    stopped = connect_as(db, r.worker);
    snprintf(sql, sizeof(sql),
             "BEGIN; UPDATE cascade_lanes SET batch = 1 WHERE engine_id = '%s'",
             cascade_uuid_format(&gone.engine_id, id));
    PQclear(PQexec(stopped, sql));
    assert_int_equal(PQTRANS_INTRANS, PQtransactionStatus(stopped));
    it.store = store;
    assert_true(stores_until(is_removed, &it));
    PQclear(PQexec(stopped, "COMMIT"));
    assert_int_equal(CONNECTION_BAD, PQstatus(stopped));
    PQfinish(stopped);
    assert_fails(CASCADE_ERR_FENCED,
                 store->driver->renew(store->self, &gone.engine_id, 1, NULL));
    assert_ok(cascade_store_close(store));
    drop_roles(db, &r);
}

/* ---- The reader ---------------------------------------------------------- */

static void
expect_no_right(cascade_err wanted, cascade_err got)
{
    assert_fails(wanted, got);
    assert_non_null(strstr(cascade_errmsg(), "no right"));
}

/* Writes every way there is; opening an engine is none, starting it is. */
static void
expect_writes_fail(cascade_store *store)
{
    cascade_started started;
    cascade_engine *engine = NULL;
    bool changed;

    expect_no_right(CASCADE_ERR_SCHEMA,
                    cascade_start(store, "n", NULL, NULL, &started));
    expect_no_right(
        CASCADE_ERR_SCHEMA,
        store->driver->manage->pause(store->self, "q", true, NULL, &changed));
    assert_ok(cascade_engine_open(store, NULL, &engine));
    assert_ok(cascade_engine_register(engine, "n", stores_nothing, NULL, NULL));
    expect_no_right(CASCADE_ERR_SCHEMA, cascade_engine_start(engine));
    assert_ok(cascade_engine_close(engine));
}

static void
the_reader_looks_and_writes_nothing(test_db *db)
{
    static const char *const sql[] = {
        "INSERT INTO cascades (user_id) VALUES ('x')",
        "UPDATE cascades SET fn_id = 1",
        "DELETE FROM cascade_runs",
        "INSERT INTO cascade_messages (cascade_id, kind, name, path, payload, "
        "sent_at) VALUES (gen_random_uuid(), 'k', '', 'p', '1', 0)",
        "DELETE FROM cascade_messages",
        "INSERT INTO cascade_queues VALUES ('q', 0, '{}')",
        "DELETE FROM cascade_queues",
        "SELECT nextval('context_events_id_seq')",
        "SELECT nextval('cascade_messages_id_seq')",
        "SELECT 1 FROM cascade_runs FOR UPDATE",
        "CREATE TABLE mine (x int)",
        "SELECT cascade_start('n')",
        "SELECT cascade_signal(gen_random_uuid(), 'go')",
        "SELECT cascade_start_run(NULL, '', NULL, '', 1, '', '', 1, 1)",
        NULL};
    cascade_store *worker = NULL;
    cascade_store *reader = NULL;
    cascade_snapshot *snapshot = NULL;
    cascade_info *info = NULL;
    cascade_page *page = NULL;
    cascade_uuid id;
    roles r;

    prepare(db, &r);
    assert_ok(open_as(db, r.worker, "", CASCADE_MIGRATE_CHECK, &worker));
    assert_ok(open_as(db, r.reader, "", CASCADE_MIGRATE_CHECK, &reader));
    id = db_start(worker, "n");
    assert_ok(cascade_get(reader, &id, &info));
    cascade_info_free(info);
    assert_ok(cascade_list(reader, NULL, &page));
    assert_int_equal(1, cascade_page_count(page));
    cascade_page_free(page);
    assert_ok(cascade_snapshot_load(reader, &id, NULL, &snapshot));
    cascade_snapshot_free(snapshot);
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_wait(reader, &id, 1, NULL));
    look_around(reader);
    expect_writes_fail(reader);
    expect_denied(db, r.reader, sql);
    assert_ok(cascade_store_close(reader));
    assert_ok(cascade_store_close(worker));
    drop_roles(db, &r);
}

/* ---- Row-level security -------------------------------------------------- */

#define EACH_TABLE(sql)                                                 \
    "DO $$ DECLARE t text; BEGIN FOREACH t IN ARRAY ARRAY['cascades', " \
    "'node_executions', 'context_events', 'cascade_runs', "             \
    "'cascade_engines', 'cascade_lanes', 'cascade_messages', "          \
    "'cascade_keys', 'cascade_queues', 'cascade_schema'] LOOP EXECUTE " \
    "format(" sql ", t); END LOOP; END $$; "

/* On for every table, for its owner too: nobody sees anything. */
static void
turn_on(test_db *db)
{
    assert_int_equal(
        0, db_sql(db, EACH_TABLE("'ALTER TABLE %I ENABLE ROW LEVEL SECURITY, "
                                 "FORCE ROW LEVEL SECURITY'")));
}

static void
add_policies(test_db *db, const char *format, const char *role)
{
    char sql[2048];

    snprintf(sql, sizeof(sql), format, role);
    assert_int_equal(0, db_sql(db, sql));
}

/* All of every table for one role. */
static void
let_all(test_db *db, const char *role)
{
    add_policies(db,
                 "DO $$ DECLARE t text; BEGIN FOREACH t IN ARRAY ARRAY["
                 "'cascades', 'node_executions', 'context_events', "
                 "'cascade_runs', 'cascade_engines', 'cascade_lanes', "
                 "'cascade_messages', 'cascade_keys', 'cascade_queues', "
                 "'cascade_schema'] LOOP EXECUTE format('CREATE POLICY %%3$I "
                 "ON %%1$I TO %%2$I USING (true)', t, '%1$s', "
                 "'all of %1$s'); END LOOP; END $$",
                 role);
}

/* What belongs to the user that the session names. */
static void
let_own(test_db *db, const char *role)
{
    add_policies(db,
                 "CREATE POLICY own ON cascades TO \"%s\" "
                 "USING (user_id = current_setting('app.user', true))",
                 role);
    add_policies(db,
                 "DO $$ DECLARE t text; BEGIN FOREACH t IN ARRAY ARRAY["
                 "'node_executions', 'context_events', 'cascade_runs'] LOOP "
                 "EXECUTE format('CREATE POLICY own ON %%I TO %%I USING "
                 "(EXISTS (SELECT 1 FROM cascades AS c WHERE c.id = "
                 "cascade_id))', t, '%s'); END LOOP; END $$",
                 role);
    add_policies(db,
                 "CREATE POLICY own ON cascade_schema TO \"%s\" "
                 "USING (true)",
                 role);
}

/* Of cascades only those of one user, instead of all. */
static void
let_anns(test_db *db, const char *role)
{
    add_policies(db,
                 "DROP POLICY \"all of %1$s\" ON cascades; CREATE POLICY anns "
                 "ON cascades TO \"%1$s\" USING (user_id = 'ann')",
                 role);
}

static cascade_uuid
start_for(cascade_store *store, const char *user_id)
{
    const cascade_start_options options = {.size = sizeof(options),
                                           .user_id = user_id};
    cascade_started started;

    assert_ok(cascade_start(store, "n", NULL, &options, &started));
    return started.id;
}

static void
policies_show_a_reader_its_own(test_db *db)
{
    cascade_store *worker = NULL;
    cascade_store *reader = NULL;
    cascade_snapshot *snapshot = NULL;
    cascade_page *page = NULL;
    cascade_info *info = NULL;
    cascade_uuid own;
    cascade_uuid other;
    roles r;

    prepare(db, &r);
    turn_on(db);
    let_all(db, r.worker);
    let_own(db, r.reader);
    assert_ok(open_as(db, r.worker, "", CASCADE_MIGRATE_CHECK, &worker));
    run_mix(db, worker);
    own = start_for(worker, "ann");
    other = start_for(worker, "bob");
    assert_ok(open_as(db, r.reader, "options='-c app.user=ann'",
                      CASCADE_MIGRATE_CHECK, &reader));
    assert_ok(cascade_list(reader, NULL, &page));
    assert_int_equal(1, cascade_page_count(page));
    assert_memory_equal(&own, &cascade_page_get(page, 0)->id, sizeof(own));
    cascade_page_free(page);
    assert_ok(cascade_get(reader, &own, &info));
    assert_true(info->has_run);
    cascade_info_free(info);
    assert_ok(cascade_snapshot_load(reader, &own, NULL, &snapshot));
    assert_int_equal(1, cascade_snapshot_count(snapshot, CASCADE_PART_ACTIVE));
    cascade_snapshot_free(snapshot);
    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_get(reader, &other, &info));
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_snapshot_load(reader, &other, NULL, &snapshot));
    assert_ok(cascade_store_close(reader));
    assert_ok(cascade_store_close(worker));
    drop_roles(db, &r);
}

/* Without any policy a role sees empty tables: not even which migrations there
 * were. That is no database to be created anew in. */
static void
policies_that_hide_everything_are_told(test_db *db)
{
    cascade_store *store = NULL;
    roles r;

    prepare(db, &r);
    turn_on(db);
    assert_fails(CASCADE_ERR_SCHEMA,
                 open_as(db, r.worker, "", CASCADE_MIGRATE_CHECK, &store));
    assert_fails(CASCADE_ERR_SCHEMA,
                 open_as(db, r.worker, "", CASCADE_MIGRATE_AUTO, &store));
    drop_roles(db, &r);
}

static cascade_engine *
run_engine(cascade_store *store)
{
    cascade_engine *engine = NULL;

    assert_ok(cascade_engine_open(store, NULL, &engine));
    assert_ok(cascade_engine_register(engine, "n", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

/* A worker that may see and write what is ann's alone. A start for bob is
 * refused, and does not keep ann's, of the same lane, from being committed
 * (G13); it says why. */
static void
a_row_that_policies_refuse_harms_no_other(test_db *db)
{
    const cascade_start_options bob = {.size = sizeof(bob), .user_id = "bob"};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_started started;
    cascade_uuid own;
    roles r;

    prepare(db, &r);
    turn_on(db);
    let_all(db, r.worker);
    let_anns(db, r.worker);
    assert_ok(open_as(db, r.worker, "", CASCADE_MIGRATE_CHECK, &store));
    assert_fails(CASCADE_ERR_REFUSED,
                 cascade_start(store, "n", NULL, &bob, &started));
    assert_non_null(strstr(cascade_errmsg(), "policy"));
    engine = run_engine(store);
    for (int i = 0; i < 3; i++) {
        assert_fails(CASCADE_ERR_REFUSED,
                     cascade_start(store, "n", NULL, &bob, &started));
        own = start_for(store, "ann");
        db_await(store, &own, CASCADE_COMPLETED);
    }
    assert_int_equal(3, db_stats(engine).refusals);
    assert_ok(cascade_engine_close(engine));
    assert_ok(cascade_store_close(store));
    drop_roles(db, &r);
}

static bool
has_warned(void *context)
{
    return ((test_db *)context)->warnings > 0;
}

/* A cascade that is hidden from a worker that sees its run is claimed, warned
 * of, and lies still; when that engine ends, one that sees it goes on. */
static void
a_cascade_that_is_hidden_is_not_lost(test_db *db)
{
    cascade_store *owner = NULL;
    cascade_store *worker = NULL;
    cascade_engine *engine = NULL;
    cascade_uuid hidden;
    roles r;

    prepare(db, &r);
    turn_on(db);
    let_all(db, r.owner);
    let_all(db, r.worker);
    let_anns(db, r.worker);
    assert_ok(open_as(db, r.owner, "", CASCADE_MIGRATE_CHECK, &owner));
    hidden = start_for(owner, "bob");
    assert_ok(open_as(db, r.worker, "", CASCADE_MIGRATE_CHECK, &worker));
    engine = run_engine(worker);
    assert_true(stores_until(has_warned, db));
    assert_ok(cascade_engine_close(engine));
    assert_ok(cascade_store_close(worker));
    engine = run_engine(owner);
    db_await(owner, &hidden, CASCADE_COMPLETED);
    assert_ok(cascade_engine_close(engine));
    assert_ok(cascade_store_close(owner));
    drop_roles(db, &r);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"the_worker_runs_everything", the_worker_runs_everything,
         STORES_POSTGRES},
        {"the_worker_sends_and_deletes", the_worker_sends_and_deletes,
         STORES_POSTGRES},
        {"the_worker_looks_after_what_is_stored",
         the_worker_looks_after_what_is_stored, STORES_POSTGRES},
        {"the_worker_starts_and_signals_by_sql",
         the_worker_starts_and_signals_by_sql, STORES_POSTGRES},
        {"the_worker_changes_no_table_and_no_history",
         the_worker_changes_no_table_and_no_history, STORES_POSTGRES},
        {"the_worker_can_replace_what_it_can_delete",
         the_worker_can_replace_what_it_can_delete, STORES_POSTGRES},
        {"other_tables_of_the_owner_are_not_theirs",
         other_tables_of_the_owner_are_not_theirs, STORES_POSTGRES},
        {"what_was_given_before_is_withdrawn",
         what_was_given_before_is_withdrawn, STORES_POSTGRES},
        {"the_worker_ends_its_own_stopped_backend",
         the_worker_ends_its_own_stopped_backend, STORES_POSTGRES},
        {"the_reader_looks_and_writes_nothing",
         the_reader_looks_and_writes_nothing, STORES_POSTGRES},
        {"policies_show_a_reader_its_own", policies_show_a_reader_its_own,
         STORES_POSTGRES},
        {"policies_that_hide_everything_are_told",
         policies_that_hide_everything_are_told, STORES_POSTGRES},
        {"a_row_that_policies_refuse_harms_no_other",
         a_row_that_policies_refuse_harms_no_other, STORES_POSTGRES},
        {"a_cascade_that_is_hidden_is_not_lost",
         a_cascade_that_is_hidden_is_not_lost, STORES_POSTGRES},
    };

    return stores_run("roles", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
