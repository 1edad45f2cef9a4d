/* SPDX-License-Identifier: MIT
 *
 * Sessions: defaults of a role that would break a naive client, poolers, what
 * errors and plans say, and how fast it is. What a session of the store is like
 * is seen from inside: by a trigger that notes its settings.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/postgres/internal.h"
#include "store/postgres/postgres_fixture.h"

/* A trigger on cascades that notes the settings of whoever inserts. */
static const char spy_sql[] =
    "CREATE TABLE spied (what text, value text);"
    "GRANT ALL ON spied TO public;"
    "CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " INSERT INTO %s.spied VALUES"
    "  ('commit', current_setting('synchronous_commit')),"
    "  ('isolation', current_setting('transaction_isolation')),"
    "  ('prepared', (SELECT count(*)::text FROM pg_prepared_statements)),"
    "  ('channels', (SELECT count(*)::text FROM pg_listening_channels())),"
    "  ('encoding', current_setting('client_encoding'));"
    " RETURN NULL; END $$;"
    "CREATE TRIGGER spy AFTER INSERT ON cascades"
    " FOR EACH STATEMENT EXECUTE FUNCTION spy()";

static void
expect_spied(pg_test *test, const char *what, const char *value)
{
    char *got = pg_text(test,
                        "SELECT string_agg(DISTINCT value, ',') FROM spied"
                        " WHERE what = '%s'",
                        what);

    if (strcmp(got, value) != 0)
        fail_msg("%s is %s, not %s", what, got, value);
    free(got);
}

/* ---- A round of everything ----------------------------------------------- */

typedef struct loaded {
    int64_t created_at_ms;
    int64_t completed_at_ms;
    char value[64];
    size_t rows;
} loaded;

static cascade_err
load_cascade(void *context, const cascade_row *row)
{
    loaded *it = context;

    it->created_at_ms = row->created_at_ms;
    it->rows++;
    return CASCADE_OK;
}

static cascade_err
load_execution(void *context, const cascade_execution_row *row)
{
    loaded *it = context;

    if (row->function_id == 0)
        it->completed_at_ms = row->completed_at_ms;
    it->rows++;
    return CASCADE_OK;
}

static cascade_err
load_event(void *context, const cascade_event_row *row)
{
    loaded *it = context;

    snprintf(it->value, sizeof(it->value), "%s", row->value);
    it->rows++;
    return CASCADE_OK;
}

/* Starts, claims, writes, loads, removes: every kind of statement. */
static void
do_everything(pg_test *test, cascade_store *store)
{
    static const char *const queues[] = {"default"};
    const cascade_store_driver *driver = store->driver;
    test_rows *rows = &test->rows;
    loaded got = {.rows = 0};
    cascade_load_sink sink = {.context = &got,
                              .on_cascade = load_cascade,
                              .on_execution = load_execution,
                              .on_event = load_event};
    cascade_uuid engine = pg_attach(test, store, PG_LEASE_MS);
    cascade_change *change = rows_start(rows, rows_id(rows));
    cascade_uuid id = change->cascade.id;
    cascade_claim claim = {.engine_id = engine,
                           .queues = queues,
                           .queue_count = 1,
                           .limit = 50,
                           .suspect_from = 1000};
    cascade_claimed claimed[50];
    cascade_claim_result result = {0};
    size_t freed;

    change->cascade.created_at_ms = INT64_C(1234567890123);
    assert_ok(pg_submit_one(test, store, change, NULL));
    assert_ok(driver->claim(store->self, &claim, claimed, &result));
    assert_true(result.count >= 1);
    change = rows_write(rows, id, 1);
    rows_update(rows, change, 0, "{\"a\":\"\\\\\"}")->completed_at_ms =
        INT64_C(-62135596800000);
    rows_insert(rows, change, 1, "second");
    rows_event(rows, change, 0, "key", "{\"b\":\"it's \\\\ $1\"}");
    assert_ok(pg_commit_one(test, store, engine, 1, change));
    assert_ok(driver->load(store->self, &id, 1,
                           CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS,
                           &sink));
    assert_int_equal(4, got.rows);
    assert_true(got.created_at_ms == INT64_C(1234567890123));
    assert_true(got.completed_at_ms == INT64_C(-62135596800000));
    assert_string_equal("{\"b\":\"it's \\\\ $1\"}", got.value);
    assert_ok(driver->renew(store->self, &engine, PG_LEASE_MS, NULL));
    assert_ok(driver->wake(store->self));
    assert_ok(driver->wait(store->self, -1, 1, NULL));
    assert_ok(driver->remove(store->self, &engine, 1, 50, &freed));
    assert_true(freed >= 1);
}

/* ---- Tests --------------------------------------------------------------- */

/* Design 7: a role's defaults may differ. */
static void
the_defaults_of_a_role_do_not_matter(void **state)
{
    static const char *const settings[] = {
        "default_transaction_isolation = 'serializable'",
        "synchronous_commit = 'off'",
        "timezone = 'Asia/Kathmandu'",
        "datestyle = 'SQL, DMY'",
        "intervalstyle = 'iso_8601'",
        "standard_conforming_strings = off",
        "backslash_quote = off",
        "bytea_output = 'escape'",
        "extra_float_digits = -3",
        "client_encoding = 'LATIN1'",
        "search_path = 'pg_temp'",
        "statement_timeout = '1h'",
        "lock_timeout = '1ms'",
        "enable_indexscan = off",
        "enable_nestloop = off",
        "plan_cache_mode = 'force_generic_plan'"};
    pg_test *test = *state;
    char url[1024];

    pg_sql(test, spy_sql, test->schema);
    pg_make_role(test);
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        pg_sql(test, "ALTER ROLE %s SET %s", test->role, settings[i]);
    snprintf(url, sizeof(url), "%s user=%s", pg_conninfo(), test->role);
    do_everything(test, pg_open(test, url, NULL));
    expect_spied(test, "commit", "on");
    expect_spied(test, "isolation", "read committed");
    expect_spied(test, "encoding", "UTF8");
}

/* Behind a pooler nothing of a session is relied upon, and nothing left. */
static void
behind_a_pooler_no_session_state_is_used(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    char url[1024];

    pg_sql(test, spy_sql, test->schema);
    pg_make_role(test);
    pg_sql(test, "ALTER ROLE %s SET synchronous_commit = off", test->role);
    pg_sql(test,
           "ALTER ROLE %s SET default_transaction_isolation ="
           " 'serializable'",
           test->role);
    snprintf(url, sizeof(url), "%s user=%s", pg_conninfo(), test->role);
    options.pooler = true;
    for (int i = 0; i < 3; i++)
        do_everything(test, pg_open(test, url, &options));
    expect_spied(test, "commit", "on");
    expect_spied(test, "isolation", "read committed");
    expect_spied(test, "prepared", "0");
    expect_spied(test, "channels", "0");
}

/* Elsewhere statements are prepared: the test above can fail. */
static void
without_a_pooler_statements_are_prepared_once(void **state)
{
    pg_test *test = *state;
    cascade_store *store = test->handles[0];
    int64_t most;

    do_everything(test, store);
    pg_sql(test, spy_sql, test->schema);
    do_everything(test, store);
    most = pg_number(test, "SELECT max(value::int) FROM spied"
                           " WHERE what = 'prepared'");
    assert_true(most > 5);
    for (int i = 0; i < 10; i++)
        do_everything(test, store);
    assert_int_equal(
        0, pg_number(test, "SELECT (max(value::int) > 40)::int FROM spied"
                           " WHERE what = 'prepared'"));
}

static void
relaxed_durability_does_not_wait_for_the_disk(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);

    pg_sql(test, spy_sql, test->schema);
    options.durability = CASCADE_DURABILITY_RELAXED;
    do_everything(test, pg_open(test, NULL, &options));
    options.pooler = true;
    do_everything(test, pg_open(test, NULL, &options));
    expect_spied(test, "commit", "off");
}

/* Errors: neither values nor the connection string. */
static void
errors_echo_no_values(void **state)
{
    pg_test *test = *state;
    cascade_store *store = test->handles[0];
    cascade_uuid engine = pg_attach(test, store, PG_LEASE_MS);
    cascade_change *change =
        rows_start_owned(&test->rows, rows_id(&test->rows), engine);
    cascade_uuid id = change->cascade.id;

    rows_insert(&test->rows, change, 1, "n")->node_instance_id = "secret-path";
    assert_ok(pg_commit_one(test, store, engine, 1, change));
    change = rows_write(&test->rows, id, 2);
    rows_insert(&test->rows, change, 2, "n")->node_instance_id = "secret-path";
    assert_fails(CASCADE_ERR_REFUSED,
                 pg_commit_one(test, store, engine, 2, change));
    assert_null(strstr(cascade_errmsg(), "secret"));
    assert_non_null(strstr(cascade_errmsg(), "23505"));
}

/* Where no server is. */
static void
try_absent(void *context)
{
    static const char *const urls[] = {
        "host=/nonexistent user=topsecret password=topsecret dbname=x",
        "postgresql://topsecret:topsecret@127.0.0.1:1/x"};
    pg_test *test = context;

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        assert_fails(CASCADE_ERR_UNAVAILABLE,
                     pg_try_open(test, urls[i], CASCADE_MIGRATE_AUTO));
        assert_null(strstr(cascade_errmsg(), "topsecret"));
        assert_non_null(strstr(cascade_errmsg(), "there"));
    }
}

/* At open: what is wrong, without the password. */
static void
a_server_that_is_not_there_is_told_at_once(void **state)
{
    pg_test *test = *state;

    assert_true(pg_is_quick(try_absent, test, 10000));
    assert_fails(CASCADE_ERR_INVALID,
                 pg_try_open(test, "postgresql://topsecret@/x?nonsense=1",
                             CASCADE_MIGRATE_AUTO));
    assert_null(strstr(cascade_errmsg(), "topsecret"));
}

/* A database that was set to read only. */
static void
a_read_only_database_is_told(void **state)
{
    pg_test *test = *state;
    cascade_store *store;
    char url[1024];

    pg_make_role(test);
    pg_sql(test, "ALTER ROLE %s SET default_transaction_read_only = on",
           test->role);
    snprintf(url, sizeof(url), "%s user=%s", pg_conninfo(), test->role);
    store = pg_open(test, url, NULL);
    assert_fails(CASCADE_ERR_READ_ONLY,
                 pg_submit_one(test, store,
                               rows_start(&test->rows, rows_id(&test->rows)),
                               NULL));
}

/* A database that cannot keep every payload. */
static void
another_encoding_is_not_supported(void **state)
{
    pg_test *test = *state;
    char url[1024];
    cascade_err err;

    pg_sql(test,
           "CREATE DATABASE %s ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
           " TEMPLATE template0",
           test->schema);
    snprintf(url, sizeof(url), "%s dbname=%s", pg_conninfo(), test->schema);
    err = pg_try_open(test, url, CASCADE_MIGRATE_AUTO);
    pg_sql(test, "DROP DATABASE %s WITH (FORCE)", test->schema);
    assert_int_equal(CASCADE_ERR_UNSUPPORTED, err);
}

/* Design 6, facts: parked runs and unknown needs cost a claim nothing. */
static void
claims_do_not_walk_over_what_they_cannot_have(void **state)
{
    static const char *const queues[] = {"default"};
    static const char *const nodes[] = {"known", "another"};
    pg_test *test = *state;
    cascade_store *store = NULL;
    cascade_claim claim = {.queues = queues,
                           .queue_count = 1,
                           .nodes = nodes,
                           .node_count = 2,
                           .limit = 10,
                           .suspect_from = 3};
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};
    int64_t before;

    pg_sql(test, "INSERT INTO cascades (id, user_id)"
                 " SELECT ('00000000-0000-7000-8000-'||lpad(i::text,12,'0'))"
                 "   ::uuid, 'u' FROM generate_series(1, 20000) AS i");
    pg_sql(test, "INSERT INTO cascade_runs"
                 " SELECT id, 'default', 5,"
                 "  CASE WHEN right(id::text, 1) < '5' THEN 4000000000000"
                 "   ELSE 0 END, NULL, 0, 0,"
                 "  CASE WHEN right(id::text, 1) < '5' THEN NULL"
                 "   ELSE 'unknown' END FROM cascades");
    before = pg_index_sum(test, &store, "idx_tup_read", "cascade_runs");
    claim.engine_id = pg_attach(test, store, PG_LEASE_MS);
    for (int i = 0; i < 20; i++) {
        assert_ok(store->driver->claim(store->self, &claim, claimed, &result));
        assert_int_equal(0, result.count);
        assert_true(result.next_wake_at_ms == INT64_C(4000000000000));
    }
    /* One for each answer, so to speak. */
    assert_in_range(pg_index_sum(test, &store, "idx_tup_read", "cascade_runs") -
                        before,
                    1, 20 * 3);
}

#define SHARED_MS 3000 /* the deadline */
#define HELD_MS 1500   /* of which the rows take that */
#define SLACK_MS 1200  /* before it would be over for a second wait */

/* How long a submit took whose rows are held for a while, and whose
 * notification does not get through. */
static int64_t
submit_held(pg_test *test, cascade_store *store, cascade_err *err)
{
    cascade_change *start = rows_start(&test->rows, rows_id(&test->rows));
    char sql[64];
    int64_t begun_ms = 0;
    int64_t took_ms = 0;
    bool existed = false;

    snprintf(sql, sizeof(sql), "SELECT pg_sleep(%d / 1000.0); COMMIT", HELD_MS);
    pg_sql(test, "BEGIN; LOCK TABLE cascades");
    assert_int_equal(PQsendQuery(test->admin, sql), 1);
    begun_ms = pg_now_ms();
    *err = rows_submit(store->driver, store->self, start, 1, &existed);
    took_ms = pg_now_ms() - begun_ms;
    assert_false(existed);
    for (PGresult *r = PQgetResult(test->admin); r != NULL;
         r = PQgetResult(test->admin))
        PQclear(r);
    return took_ms;
}

/* A machine that stood still makes it take longer, or keeps it from its rows
 * until it is too late. */
static bool
was_slow(cascade_err err, int64_t took_ms)
{
    if (err == CASCADE_ERR_UNAVAILABLE)
        return took_ms >= HELD_MS;
    return err == CASCADE_OK && took_ms > SHARED_MS + SLACK_MS;
}

/* S15: a submit that shares its notification with others waits for theirs, but
 * not longer than a move may take, what it has used for its rows included. */
static void
a_submit_and_its_wake_share_one_deadline(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    cascade_store *store = NULL;
    csc_postgres *self = NULL;
    int64_t took_ms = 0;
    cascade_err err = CASCADE_OK;
    int tries = 0;

    options.deadline_ms = SHARED_MS;
    store = pg_open(test, pg_conninfo(), &options);
    self = store->self;
    self->submits = 1; /* as if others were under way, */
    self->waking = true;
    self->wakes_sent = 0; /* and their notification did not get through */
    do
        took_ms = submit_held(test, store, &err);
    while (was_slow(err, took_ms) && ++tries < PG_TRIES);
    assert_ok(err);
    assert_in_range(took_ms, SHARED_MS, SHARED_MS + SLACK_MS);
    self->submits = 0;
    self->waking = false;
}

/* Design 7: a run that somebody holds keeps no other from being claimed. */
static void
a_claim_gives_in_to_locks(void **state)
{
    static const char *const queues[] = {"default"};
    pg_test *test = *state;
    cascade_store *store = test->handles[0];
    cascade_claim claim = {.engine_id = pg_attach(test, store, PG_LEASE_MS),
                           .queues = queues,
                           .queue_count = 1,
                           .limit = 20,
                           .suspect_from = 3};
    cascade_claimed claimed[20];
    cascade_claim_result result = {0};
    size_t count = 0;
    int64_t begun_ms = pg_now_ms();

    for (int i = 0; i < 20; i++)
        assert_ok(pg_submit_one(
            test, store, rows_start(&test->rows, rows_id(&test->rows)), NULL));
    pg_sql(test, "BEGIN");
    pg_sql(test, "SELECT 1 FROM cascade_runs LIMIT 1 FOR UPDATE");
    while (count < 19) {
        assert_ok(store->driver->claim(store->self, &claim, claimed, &result));
        count += result.count;
        assert_true(pg_now_ms() - begun_ms < PG_UNTIL_MS);
    }
    pg_sql(test, "COMMIT");
    assert_ok(store->driver->claim(store->self, &claim, claimed, &result));
    assert_int_equal(1, result.count);
}

/* Hands the cascade that `sql` made to a sink; how that ended. */
static cascade_err
load_foreign(pg_test *test, const char *sql, loaded *got)
{
    cascade_load_sink sink = {.context = got,
                              .on_cascade = load_cascade,
                              .on_execution = load_execution,
                              .on_event = load_event};
    cascade_store *store = test->handles[0];
    cascade_uuid id;

    pg_sql(test, "DELETE FROM cascades");
    pg_sql(test, "INSERT INTO cascades (id, user_id, created_at) VALUES"
                 " ('00000000-0000-4000-8000-000000000001', 'u',"
                 "  '1999-12-31 23:59:59.9995')");
    pg_sql(test, "%s", sql);
    assert_ok(cascade_uuid_parse("00000000-0000-4000-8000-000000000001", &id));
    return store->driver->load(store->self, &id, 1,
                               CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS,
                               &sink);
}

/* Rows of other programs: what can be read is, what cannot is named. */
static void
rows_that_make_no_sense_are_named(void **state)
{
    static const char *const wrong[][3] = {
        {"UPDATE cascades SET updated_at = 'infinity'", "cascades.updated_at",
         "00000000-0000-4000-8000-000000000001"},
        {"INSERT INTO node_executions (id, node_instance_id, cascade_id,"
         " node_name, function_id, input_context, location) VALUES"
         " ('00000000-0000-4000-8000-000000000002', 'p',"
         " '00000000-0000-4000-8000-000000000001', 'n', -3,"
         " ('[' || repeat('9', 401) || ']')::jsonb, 'l')",
         "node_executions.input_context",
         "00000000-0000-4000-8000-000000000002"},
        {"INSERT INTO context_events (id, key, value, function_id, cascade_id)"
         " VALUES (77, 'k', (repeat('[', 200) || repeat(']', 200))::jsonb, 0,"
         " '00000000-0000-4000-8000-000000000001')",
         "context_events.value", "77"}};
    pg_test *test = *state;
    loaded got = {.rows = 0};

    assert_ok(load_foreign(test, "SELECT 1", &got));
    assert_true(got.created_at_ms == INT64_C(946684799999));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_fails(CASCADE_ERR_CORRUPT,
                     load_foreign(test, wrong[i][0], &got));
        assert_non_null(strstr(cascade_errmsg(), wrong[i][1]));
        assert_non_null(strstr(cascade_errmsg(), wrong[i][2]));
    }
    assert_ok(load_foreign(test, "SELECT 1", &got));
}

/* ---- Memory -------------------------------------------------------------- */

static cascade_err
pass_cascade(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)context;
    (void)row;
    (void)run;
    return CASCADE_OK;
}

static cascade_err
pass_engine(void *context, const cascade_incarnation *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
pass_queue(void *context, const cascade_queue_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
pass_migration(void *context, const cascade_migration_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

/* What one round of moves is made of: built before memory fails. */
typedef struct round_of_moves {
    cascade_incarnation engine;
    cascade_change *start;
    cascade_change *other; /* of the same cascade */
    cascade_batch batch;
    cascade_claim claim;
} round_of_moves;

static round_of_moves
build_round(pg_test *test)
{
    static const char *const names[] = {"default", "mail"};
    test_rows *rows = &test->rows;
    round_of_moves it = {.engine = rows_incarnation(rows, 1, PG_LEASE_MS)};
    cascade_change *change;

    it.start = rows_start(rows, rows_id(rows));
    it.other = rows_start(rows, it.start->cascade.id);
    change = rows_write(rows, it.start->cascade.id, 1);
    rows_update(rows, change, 0, "{}");
    rows_event(rows, change, 0, "key", "1");
    it.batch = (cascade_batch){.engine_id = it.engine.engine_id,
                               .number = 1,
                               .changes = rows_changes(rows, &change, 1),
                               .change_count = 1};
    it.claim = (cascade_claim){.engine_id = it.engine.engine_id,
                               .queues = names,
                               .queue_count = 2,
                               .nodes = names,
                               .node_count = 2,
                               .limit = 50,
                               .suspect_from = 1000};
    return it;
}

/* Looks after what there is; nothing of it comes to an end. */
static cascade_err
look_after(cascade_store *store, const cascade_row *row,
           const cascade_load_sink *sink)
{
    const cascade_store_driver *driver = store->driver;
    void *self = store->self;
    const cascade_repair repair = {.was = *row, .status = row->status};
    const cascade_scan page = {.limit = 10};
    cascade_totals totals;
    size_t deleted;
    bool changed;
    cascade_err err =
        driver->manage->pause(self, "paused", true, NULL, &changed);

    if (err == CASCADE_OK)
        err = driver->manage->queues(self, pass_queue, NULL);
    if (err == CASCADE_OK)
        err = driver->manage->totals(self, &totals);
    if (err == CASCADE_OK)
        err = driver->manage->schema(self, pass_migration, NULL);
    if (err == CASCADE_OK)
        err = driver->scan(self, &page, sink);
    if (err == CASCADE_OK)
        err = driver->manage->repair(self, &repair, 1, &changed);
    if (err == CASCADE_OK)
        err = driver->manage->purge(self, &row->id, 1, INT64_MAX, &deleted);
    return err;
}

static cascade_err
run_round(cascade_store *store, const round_of_moves *it)
{
    const cascade_store_driver *driver = store->driver;
    void *self = store->self;
    loaded got = {.rows = 0};
    cascade_load_sink sink = {.context = &got,
                              .on_cascade = load_cascade,
                              .on_execution = load_execution,
                              .on_event = load_event};
    cascade_query query = {.user_id = "user", .node = "first", .limit = 10};
    cascade_claimed claimed[50];
    cascade_claim_result result = {0};
    cascade_err err = driver->attach(self, &it->engine);
    size_t freed;
    bool existed;

    if (err == CASCADE_OK)
        err = rows_submit(driver, self, it->start, 1, &existed);
    if (err == CASCADE_OK)
        err = rows_submit(driver, self, it->other, 1, &existed);
    if (err == CASCADE_OK)
        err = driver->claim(self, &it->claim, claimed, &result);
    if (err == CASCADE_OK)
        err = driver->commit(self, &it->batch, &existed);
    if (err == CASCADE_OK)
        err =
            driver->load(self, &it->start->cascade.id, 1,
                         CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS, &sink);
    if (err == CASCADE_OK)
        err = driver->list(self, &query, pass_cascade, NULL);
    if (err == CASCADE_OK)
        err = driver->engines(self, pass_engine, NULL, NULL);
    if (err == CASCADE_OK)
        err = look_after(store, &it->start->cascade, &sink);
    if (err == CASCADE_OK)
        err = driver->wake(self);
    if (err == CASCADE_OK)
        err = driver->wait(self, -1, 1, NULL);
    if (err == CASCADE_OK)
        err = driver->remove(self, &it->engine.engine_id, 1, 50, &freed);
    return err;
}

/* S16: each allocation fails once; that is an error with a text, nothing is
 * left behind, and the server is as good as before. */
static void
every_allocation_may_fail(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    size_t asked = 0;
    size_t failures = 0;

    options.migrate = CASCADE_MIGRATE_CHECK;
    for (size_t nth = 1; asked + 1 >= nth; nth++) {
        round_of_moves moves = build_round(test);
        cascade_store *store = NULL;
        size_t live = csc_mem_live();
        cascade_err err;

        csc_mem_fail_at(nth, 0);
        err = cascade_store_open(pg_conninfo(), &options, &store);
        if (err == CASCADE_OK)
            err = run_round(store, &moves);
        asked = csc_mem_fail_at(0, 0);
        if (err != CASCADE_OK && err != CASCADE_ERR_NO_MEMORY &&
            err != CASCADE_ERR_UNAVAILABLE)
            fail_msg("allocation %zu: %s", nth, cascade_errmsg());
        if (err != CASCADE_OK)
            assert_int_equal(err, csc_error_last());
        failures += err != CASCADE_OK;
        cascade_store_close(store);
        assert_int_equal(live, csc_mem_live());
    }
    assert_true(failures > 50);
    pg_until(test, "SELECT (count(*) = 0)::int FROM pg_locks AS l"
                   " JOIN pg_class AS c ON c.oid = l.relation"
                   " WHERE c.relnamespace = current_schema()::regnamespace");
}

/* ---- Renewal ------------------------------------------------------------- */

/* A load that has the store's one connection until it is let go. */
typedef struct holder {
    pthread_t thread;
    cascade_store *store;
    cascade_uuid id;
    sem_t held;
    sem_t let_go;
    cascade_err err;
} holder;

static cascade_err
hold(void *context, const cascade_row *row)
{
    holder *it = context;

    (void)row;
    (void)sem_post(&it->held);
    while (sem_wait(&it->let_go) != 0)
        ;
    return CASCADE_OK;
}

static void *
hold_connection(void *context)
{
    holder *it = context;
    cascade_load_sink sink = {.context = it, .on_cascade = hold};

    it->err = it->store->driver->load(it->store->self, &it->id, 1, 0, &sink);
    return NULL;
}

static void
a_lease_is_renewed_where_all_connections_are_in_use(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    cascade_change *start = rows_start(&test->rows, rows_id(&test->rows));
    holder it = {.id = start->cascade.id};
    cascade_uuid engine;
    int64_t now_ms = 0;

    options.connection_max = 1;
    it.store = pg_open(test, NULL, &options);
    engine = pg_attach(test, it.store, PG_LEASE_MS);
    assert_ok(pg_submit_one(test, it.store, start, NULL));
    assert_int_equal(sem_init(&it.held, 0, 0), 0);
    assert_int_equal(sem_init(&it.let_go, 0, 0), 0);
    assert_int_equal(pthread_create(&it.thread, NULL, hold_connection, &it), 0);
    while (sem_wait(&it.held) != 0)
        ;
    for (int i = 0; i < 3; i++)
        assert_ok(it.store->driver->renew(it.store->self, &engine, PG_LEASE_MS,
                                          &now_ms));
    (void)sem_post(&it.let_go);
    pthread_join(it.thread, NULL);
    assert_int_equal(it.err, CASCADE_OK);
    assert_ok(it.store->driver->now(it.store->self, &now_ms));
    (void)sem_destroy(&it.held);
    (void)sem_destroy(&it.let_go);
}

/* ---- Speed --------------------------------------------------------------- */

#define SPEED_THREADS 2
#define SPEED_CASCADES 100
#define SPEED_STEPS 100

typedef struct runner {
    pthread_t thread;
    pg_test *test;
    cascade_store *store;
    uint64_t seed;
    cascade_err err;
} runner;

/* One step of each of a hundred cascades: an execution that is inserted as
 * completed, and an event. */
static cascade_err
run_step(runner *it, test_rows *rows, cascade_uuid engine,
         const cascade_uuid *ids, int32_t step)
{
    cascade_change *changes[SPEED_CASCADES];
    bool existed[SPEED_CASCADES];
    cascade_batch batch = {.engine_id = engine, .number = step + 1};

    for (int i = 0; i < SPEED_CASCADES; i++) {
        cascade_execution_row *row;

        changes[i] = rows_write(rows, ids[i], step);
        row = rows_insert(rows, changes[i], step, "cascade.step:charge");
        row->status = CASCADE_EXECUTION_COMPLETED;
        row->full_output = "{\"at\":1,\"output\":{\"receipt\":\"r-17\"}}";
        row->completed_at_ms = rows->now_ms;
        rows_event(rows, changes[i], step, "receipt", "{\"receipt\":17}");
    }
    batch.changes = rows_changes(rows, changes, SPEED_CASCADES);
    batch.change_count = SPEED_CASCADES;
    return it->store->driver->commit(it->store->self, &batch, existed);
}

static cascade_err
run_starts(runner *it, test_rows *rows, cascade_uuid engine,
           const cascade_uuid *ids)
{
    cascade_change *changes[SPEED_CASCADES];
    bool existed[SPEED_CASCADES];
    cascade_batch batch = {.engine_id = engine, .number = 1};

    for (int i = 0; i < SPEED_CASCADES; i++)
        changes[i] = rows_start_owned(rows, ids[i], engine);
    batch.changes = rows_changes(rows, changes, SPEED_CASCADES);
    batch.change_count = SPEED_CASCADES;
    return it->store->driver->commit(it->store->self, &batch, existed);
}

static void *
run_steps(void *context)
{
    runner *it = context;
    test_rows rows;
    cascade_uuid ids[SPEED_CASCADES];
    cascade_incarnation row;

    rows_init(&rows, it->seed, it->test->rows.now_ms);
    row = rows_incarnation(&rows, 1, PG_LEASE_MS);
    it->err = it->store->driver->attach(it->store->self, &row);
    for (int i = 0; i < SPEED_CASCADES; i++)
        ids[i] = rows_id(&rows);
    if (it->err == CASCADE_OK)
        it->err = run_starts(it, &rows, row.engine_id, ids);
    for (int32_t step = 1; step <= SPEED_STEPS && it->err == CASCADE_OK;
         step++) {
        it->err = run_step(it, &rows, row.engine_id, ids, step);
        rows_clear(&rows);
    }
    rows_fini(&rows);
    return NULL;
}

/* No promise, a figure to look at. */
static void
steps_are_committed_by_the_thousand(void **state)
{
    pg_test *test = *state;
    runner runners[SPEED_THREADS];
    int64_t begun_ms = pg_now_ms();
    int64_t steps = SPEED_THREADS * SPEED_CASCADES * SPEED_STEPS;
    int64_t took_ms;

    for (int i = 0; i < SPEED_THREADS; i++) {
        runners[i] = (runner){.test = test,
                              .store = test->handles[0],
                              .seed = rows_random(&test->rows) | 1};
        assert_int_equal(0, pthread_create(&runners[i].thread, NULL, run_steps,
                                           &runners[i]));
    }
    for (int i = 0; i < SPEED_THREADS; i++) {
        pthread_join(runners[i].thread, NULL);
        assert_int_equal(CASCADE_OK, runners[i].err);
    }
    took_ms = pg_now_ms() - begun_ms;
    printf("%lld steps in batches of %d by %d threads: %lld a second\n",
           (long long)steps, SPEED_CASCADES, SPEED_THREADS,
           (long long)(steps * 1000 / (took_ms + 1)));
    assert_int_equal(steps, pg_number(test, "SELECT count(*)"
                                            " FROM context_events"));
}

/* A piece has as many rows as it is to have; half as many behind one that was
 * not made, here since others have the erasure for too long. */
static void
a_piece_that_fails_is_followed_by_a_smaller_one(void **state)
{
    static const char left[] = "SELECT count(*) FROM node_executions";
    pg_test *test = *state;
    cascade_store *store = test->handles[0];
    csc_postgres *self = store->self;
    cascade_uuid id = rows_id(&test->rows);
    size_t rows = 0;
    bool more = false;

    assert_ok(pg_submit_one(test, store, rows_start(&test->rows, id), NULL));
    pg_sql(test, "INSERT INTO node_executions (node_instance_id, cascade_id,"
                 " node_name, function_id, input_context, location)"
                 " SELECT 'p'||i, cascade_id, 'n', i, '{}', 'server'"
                 " FROM node_executions, generate_series(1, 299) AS i");
    pg_sql(test, "INSERT INTO cascade_erasures SELECT id, NULL, 0"
                 " FROM cascades");
    self->piece_rows = 40;
    assert_ok(store->driver->manage->erase(store->self, NULL, &more));
    assert_true(more);
    assert_int_equal(pg_number(test, left), 300 - 40);
    rows = self->piece_rows;
    pg_sql(test, "BEGIN");
    pg_sql(test, "SELECT 1 FROM cascade_erasures FOR UPDATE");
    assert_fails(CASCADE_ERR_UNAVAILABLE,
                 store->driver->manage->erase(store->self, NULL, &more));
    pg_sql(test, "ROLLBACK");
    assert_in_range(self->piece_rows, CASCADE_ERASE_ROWS_MIN, rows / 2);
    assert_ok(store->driver->manage->erase(store->self, NULL, &more));
    /* It has tried more than once, and the last try may come late. */
    assert_in_range(300 - 40 - pg_number(test, left), CASCADE_ERASE_ROWS_MIN,
                    rows / 2 + rows / 2);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        PG_TEST(the_defaults_of_a_role_do_not_matter),
        PG_TEST(behind_a_pooler_no_session_state_is_used),
        PG_TEST(without_a_pooler_statements_are_prepared_once),
        PG_TEST(relaxed_durability_does_not_wait_for_the_disk),
        PG_TEST(errors_echo_no_values),
        PG_TEST_EMPTY(a_server_that_is_not_there_is_told_at_once),
        PG_TEST(a_read_only_database_is_told),
        PG_TEST_EMPTY(another_encoding_is_not_supported),
        PG_TEST(claims_do_not_walk_over_what_they_cannot_have),
        PG_TEST(a_submit_and_its_wake_share_one_deadline),
        PG_TEST(a_claim_gives_in_to_locks),
        PG_TEST(rows_that_make_no_sense_are_named),
        PG_TEST(every_allocation_may_fail),
        PG_TEST(a_lease_is_renewed_where_all_connections_are_in_use),
        PG_TEST(a_piece_that_fails_is_followed_by_a_smaller_one),
        PG_TEST(steps_are_committed_by_the_thousand),
    };

    return pg_main("postgres: sessions", tests,
                   sizeof(tests) / sizeof(tests[0]), argc, argv);
}
