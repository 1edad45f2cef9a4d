/* SPDX-License-Identifier: MIT
 *
 * Transactions of nodes: what a function writes and the batch that records it,
 * committed together or not at all.
 *
 * The function's own table is `orders`. What it may do in each database is said
 * where they differ: SQLite refuses statements that would end the transaction,
 * PostgreSQL runs them, and finish tells; a statement that fails spoils the
 * transaction in PostgreSQL alone.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CASCADE_HAVE_SQLITE
#include <sqlite3.h>
#endif
#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>
#endif

#include "base/clock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "store/conformance/conformance.h"
#include "support/in_time.h"

#define LIMIT_MS CONFORMANCE_WAIT_MS
#define TRIES_MAX 100
#define SQL_SIZE 600
#define LANE 1 /* behind that of the other commits */
#define ORDER "INSERT INTO @orders (what) VALUES ('tea')"

/* An engine that owns a cascade, and the transaction of a node of it. */
typedef struct native_scene {
    conformance_db *db;
    cascade_store *store;
    cascade_uuid engine;
    cascade_uuid id;
    int32_t step;   /* the execution that runs */
    int64_t number; /* of the lane's next batch */
    cascade_native native;
} native_scene;

/* ---- What the function does ---------------------------------------------- */

#ifdef CASCADE_HAVE_SQLITE
static bool
run_sqlite(void *handle, const char *sql, int64_t *number)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW && number != NULL)
        *number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE;
}
#endif

#ifdef CASCADE_HAVE_POSTGRES
static bool
run_postgres(void *handle, const char *sql, int64_t *number)
{
    PGresult *result = PQexec(handle, sql);
    ExecStatusType status = PQresultStatus(result);

    if (status == PGRES_TUPLES_OK && number != NULL)
        *number = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}
#endif

static bool
is_postgres(const conformance_db *db)
{
    return strcmp(db->driver->node_txn->native, CASCADE_NATIVE_POSTGRES) == 0;
}

/* `format`, with the schema in the place of each "@". */
static void
spell(const native_scene *it, const char *format, char sql[SQL_SIZE])
{
    const char *schema = it->db->place.schema;
    size_t len = 0;

    for (; *format != '\0' && len < SQL_SIZE - 100; format++) {
        if (*format != '@')
            sql[len++] = *format;
        else if (schema[0] != '\0')
            len += (size_t)snprintf(sql + len, SQL_SIZE - len, "%s.", schema);
    }
    sql[len] = '\0';
}

/* True when the database accepts it. `number` (may be NULL) gets the first
 * column. */
static bool
run_sql(native_scene *it, const char *format, int64_t *number)
{
    char sql[SQL_SIZE];

    spell(it, format, sql);
#ifdef CASCADE_HAVE_POSTGRES
    if (is_postgres(it->db))
        return run_postgres(it->native.handle, sql, number);
#endif
#ifdef CASCADE_HAVE_SQLITE
    if (!is_postgres(it->db))
        return run_sqlite(it->native.handle, sql, number);
#endif
    return false;
}

#define assert_runs(it, sql) assert_true(run_sql((it), (sql), NULL))
#define assert_orders(it) assert_runs((it), ORDER)

/* ---- The moves ----------------------------------------------------------- */

static void
begin(native_scene *it)
{
    assert_ok(it->store->driver->node_txn->begin(it->store->self, LIMIT_MS,
                                                 &it->native));
}

static void
drop(native_scene *it)
{
    assert_ok(
        it->store->driver->node_txn->abandon(it->store->self, &it->native));
}

static cascade_err
finish_with(native_scene *it, cascade_change **changes, size_t count,
            bool *existed)
{
    cascade_batch batch = {.engine_id = it->engine,
                           .lane = LANE,
                           .number = it->number,
                           .changes =
                               rows_changes(&it->db->rows, changes, count),
                           .change_count = count};

    return it->store->driver->node_txn->finish(it->store->self, &it->native,
                                               &batch, existed);
}

/* The change of a node that completes and spawns one. */
static cascade_change *
complete(native_scene *it)
{
    test_rows *rows = &it->db->rows;
    cascade_change *change = rows_write(rows, it->id, it->step + 1);

    rows_update(rows, change, it->step, "{}");
    rows_insert(rows, change, it->step + 1, "next");
    rows_event(rows, change, it->step, "key", "1");
    return change;
}

static cascade_err
finish(native_scene *it)
{
    cascade_change *change = complete(it);
    bool existed = true;
    cascade_err err = finish_with(it, &change, 1, &existed);

    if (err == CASCADE_OK) {
        assert_false(existed);
        it->step++;
        it->number++;
    }
    return err;
}

/* With another number than that of the lane. */
static cascade_err
finish_as(native_scene *it, int64_t number)
{
    int64_t kept = it->number;
    cascade_change *change = complete(it);
    bool existed = false;
    cascade_err err;

    it->number = number;
    err = finish_with(it, &change, 1, &existed);
    it->number = kept;
    return err;
}

static cascade_err
settle(native_scene *it, cascade_store *store, int64_t number, bool *committed)
{
    return store->driver->settle(store->self, &it->engine, LANE, number,
                                 committed);
}

static void
remove_engine(native_scene *it, cascade_store *store)
{
    size_t freed = 0;

    assert_ok(store->driver->remove(store->self, &it->engine, 1, 10, &freed));
}

/* Of what is committed. Nothing else may be open. */
static int64_t
count_orders(native_scene *it)
{
    native_scene look = *it;
    int64_t count = -1;

    begin(&look);
    assert_true(run_sql(&look, "SELECT count(*) FROM @orders", &count));
    drop(&look);
    return count;
}

static native_scene
prepare(conformance_db *db)
{
    native_scene it = {.db = db,
                       .store = db->handles[0],
                       .id = rows_id(&db->rows),
                       .number = 1};
    cascade_incarnation row =
        rows_incarnation(&db->rows, LANE + 1, DB_LONG_LEASE_MS);

    assert_ok(db->driver->attach(db->self, &row));
    it.engine = row.engine_id;
    assert_ok(db_commit_one(db, it.engine, 1,
                            rows_start_owned(&db->rows, it.id, it.engine)));
    begin(&it);
    assert_runs(&it, "CREATE TABLE @orders (what TEXT PRIMARY KEY)");
    assert_ok(finish(&it));
    return it;
}

/* The store is as `picture` shows it, without orders, and can be used. */
static void
assert_nothing(native_scene *it, char *picture)
{
    db_assert_unchanged(it->db, picture);
    assert_int_equal(count_orders(it), 0);
    begin(it);
    assert_orders(it);
    assert_ok(finish(it));
    assert_int_equal(count_orders(it), 1);
}

/* ---- Together or not at all ---------------------------------------------- */

/* S29, G11 */
static void
finish_commits_the_batch_and_the_rows(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    native_scene other = it;
    char *before = db_picture(db);
    char *seen;
    char *own;

    begin(&it);
    assert_orders(&it);
    assert_ok(finish(&it));
    other.store = db_open(db);
    assert_int_equal(count_orders(&other), 1);
    own = db_picture(db);
    seen = db_dump(other.store, DUMP_ALL);
    assert_string_not_equal(before, seen);
    assert_string_equal(own, seen);
    csc_mem_free(before);
    csc_mem_free(own);
    csc_mem_free(seen);
}

/* S30 */
static void
abandon_leaves_nothing(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    char *picture = db_picture(db);

    begin(&it);
    assert_orders(&it);
    drop(&it);
    assert_nothing(&it, picture);
}

/* S29: also the tables that it made, which is how prepare() makes one. */
static void
what_is_created_goes_with_the_rest(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    int64_t count = 0;

    begin(&it);
    assert_runs(&it, "CREATE TABLE @bills (what TEXT)");
    drop(&it);
    begin(&it);
    assert_runs(&it, "CREATE TABLE @bills (what TEXT)");
    assert_ok(finish(&it));
    begin(&it);
    assert_true(run_sql(&it, "SELECT count(*) FROM @bills", &count));
    drop(&it);
    assert_int_equal(count, 0);
}

/* S5, S29: one change that the database refuses. */
static void
a_refused_batch_takes_the_rows_with_it(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    char *picture = db_picture(db);
    cascade_change *changes[2] = {complete(&it), NULL};
    bool existed[2];

    changes[1] = rows_write(&db->rows, rows_id(&db->rows), 0);
    begin(&it);
    assert_orders(&it);
    assert_fails(CASCADE_ERR_REFUSED, finish_with(&it, changes, 2, existed));
    changes[0] = complete(&it);
    rows_update(&db->rows, changes[0], 40, "{}");
    begin(&it);
    assert_orders(&it);
    assert_fails(CASCADE_ERR_REFUSED, finish_with(&it, changes, 1, existed));
    assert_nothing(&it, picture);
}

/* S6: starts among the changes are told apart as commit does it. One that was
 * made before, by an earlier try, is no existing one. */
static void
starts_within_tell_whether_they_existed(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    cascade_uuid there = rows_id(&db->rows);
    cascade_change *again = rows_start(&db->rows, rows_id(&db->rows));
    cascade_change *changes[4];
    cascade_change *sorted;
    bool existed[4] = {true, false, true, true};
    cascade_batch batch = {.engine_id = it.engine,
                           .lane = LANE,
                           .number = it.number,
                           .change_count = 4};

    assert_ok(db_submit_one(db, rows_start(&db->rows, there)));
    assert_ok(db_submit_one(db, again));
    changes[0] = complete(&it);
    changes[1] = rows_start(&db->rows, there);
    changes[2] = rows_start(&db->rows, rows_id(&db->rows));
    changes[3] = again;
    sorted = rows_changes(&db->rows, changes, 4);
    batch.changes = sorted;
    begin(&it);
    assert_orders(&it);
    assert_ok(
        db->driver->node_txn->finish(db->self, &it.native, &batch, existed));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(existed[i],
                         csc_uuid_equal(&sorted[i].cascade.id, &there));
    assert_int_equal(count_orders(&it), 1);
}

/* S19, S20: messages that the batch sends and has received. */
static void
messages_are_part_of_it(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    cascade_uuid to = rows_id(&db->rows);
    cascade_change *change = complete(&it);
    cascade_message_row *message = rows_message(&db->rows, to, "path-1");
    bool existed = true;
    cascade_totals totals;

    assert_ok(db_submit_one(db, rows_start(&db->rows, to)));
    rows_send(&db->rows, change, message);
    begin(&it);
    assert_ok(conformance_manage(db->driver)->totals(db->self, &totals));
    assert_int_equal(totals.messages, 0);
    assert_ok(finish_with(&it, &change, 1, &existed));
    assert_ok(conformance_manage(db->driver)->totals(db->self, &totals));
    assert_int_equal(totals.messages, 1);
}

/* The function sees what it wrote, and the library's tables; others see
 * nothing of it before the end. */
static void
nobody_sees_it_before_it_is_finished(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    char *picture = NULL;
    int64_t count = 0;

    picture = db_picture(db);
    begin(&it);
    assert_orders(&it);
    assert_true(run_sql(&it, "SELECT count(*) FROM @orders", &count));
    assert_int_equal(count, 1);
    assert_true(run_sql(&it, "SELECT count(*) FROM @node_executions", &count));
    assert_int_equal(count, 2);
    db_assert_unchanged(db, picture);
    assert_ok(finish(&it));
    assert_int_equal(count_orders(&it), 1);
}

/* ---- The fence ----------------------------------------------------------- */

/* S4, S29, G5 */
static void
a_removed_incarnation_is_fenced_at_finish(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    char *picture;

    remove_engine(&it, it.store);
    picture = db_picture(db);
    begin(&it);
    assert_orders(&it);
    assert_fails(CASCADE_ERR_FENCED, finish(&it));
    db_assert_unchanged(db, picture);
    assert_int_equal(count_orders(&it), 0);
}

/* S10, S29: where more than one can write. With one writer for all, everybody
 * waits for the function. */
static void
a_removal_does_not_wait_for_the_function(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    cascade_store *other;
    char *picture;

    if (db->driver->node_txn->native_max == 1)
        return;
    other = db_open(db);
    begin(&it);
    assert_orders(&it);
    remove_engine(&it, other);
    picture = db_picture(db);
    assert_fails(CASCADE_ERR_FENCED, finish(&it));
    db_assert_unchanged(db, picture);
    assert_int_equal(count_orders(&it), 0);
}

/* S4: also its own number, since what the function wrote would be there twice.
 */
static void
a_lane_at_another_number_is_lost_at_finish(void **state)
{
    static const int64_t offsets[] = {-1, 1, 2, 1000000};
    conformance_db *db = *state;
    native_scene it = prepare(db);
    char *picture = db_picture(db);

    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        begin(&it);
        assert_orders(&it);
        assert_fails(CASCADE_ERR_LOST, finish_as(&it, it.number + offsets[i]));
    }
    assert_nothing(&it, picture);
}

/* ---- Settling ------------------------------------------------------------ */

/* S32 */
static void
what_was_committed_is_settled_as_committed(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    bool committed = false;
    char *picture;

    begin(&it);
    assert_orders(&it);
    assert_ok(finish(&it));
    picture = db_picture(db);
    for (int i = 0; i < 2; i++) {
        committed = false;
        assert_ok(settle(&it, it.store, it.number - 1, &committed));
        assert_true(committed);
    }
    db_assert_unchanged(db, picture);
    begin(&it);
    assert_ok(finish(&it));
}

/* S32: and a finish that comes later changes nothing. */
static void
what_was_not_committed_never_is(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    char *picture = db_picture(db);
    bool committed = true;

    for (int i = 0; i < 2; i++) {
        committed = true;
        assert_ok(settle(&it, it.store, it.number, &committed));
        assert_false(committed);
    }
    for (int i = 0; i < 2; i++) {
        begin(&it);
        assert_orders(&it);
        assert_fails(CASCADE_ERR_LOST, finish_as(&it, it.number + i));
    }
    committed = true;
    assert_ok(settle(&it, it.store, it.number, &committed));
    assert_false(committed);
    it.number += 2;
    assert_nothing(&it, picture);
}

/* S32: the function's transaction was open when it was settled. */
static void
a_finish_that_was_settled_meanwhile_is_lost(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    char *picture = db_picture(db);
    bool committed = true;

    if (db->driver->node_txn->native_max == 1) {
        csc_mem_free(picture);
        return; /* settle would wait for it */
    }
    begin(&it);
    assert_orders(&it);
    assert_ok(settle(&it, db_open(db), it.number, &committed));
    assert_false(committed);
    assert_fails(CASCADE_ERR_LOST, finish(&it));
    it.number += 2;
    assert_nothing(&it, picture);
}

/* S4, S32 */
static void
settle_is_fenced_as_commit_is(void **state)
{
    static const int64_t numbers[] = {-5, 1, 5, 1000000};
    conformance_db *db = *state;
    native_scene it = prepare(db);
    char *picture = db_picture(db);
    bool flag = true;

    begin(&it);
    assert_orders(&it);
    drop(&it);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        assert_fails(CASCADE_ERR_LOST,
                     settle(&it, it.store, it.number + numbers[i], &flag));
    assert_fails(CASCADE_ERR_FENCED,
                 db->driver->settle(db->self, &it.engine, 64, 1, &flag));
    db_assert_unchanged(db, picture);
    remove_engine(&it, it.store);
    assert_fails(CASCADE_ERR_FENCED,
                 settle(&it, it.store, it.number - 1, &flag));
    assert_fails(CASCADE_ERR_FENCED, settle(&it, it.store, it.number, &flag));
    assert_true(flag);
}

/* The batches that a claim names are the sum of its lanes: S4. */
static void
a_settled_lane_counts_for_claims(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    const char *queue = "default";
    cascade_claim claim = {.engine_id = it.engine,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 1,
                           .suspect_from = 3};
    cascade_claimed claimed;
    cascade_claim_result result = {0};
    bool committed = true;

    assert_ok(settle(&it, it.store, it.number, &committed));
    assert_false(committed);
    claim.batches = 1 + it.number + 1; /* lane 0, and this one */
    assert_ok(db->driver->claim(db->self, &claim, &claimed, &result));
    claim.batches++;
    assert_fails(CASCADE_ERR_LOST,
                 db->driver->claim(db->self, &claim, &claimed, &result));
}

/* ---- What the function does wrong ---------------------------------------- */

/* S31: SQLite refuses the statement, and it goes on; PostgreSQL runs it. What
 * was committed behind its back is there then, and nothing else. */
static void
a_transaction_that_the_function_ended_is_misuse(void **state)
{
    static const char *const words[] = {
        "ROLLBACK", "END", "COMMIT", "COMMIT AND CHAIN", "ROLLBACK AND CHAIN"};
    conformance_db *db = *state;
    native_scene it = prepare(db);
    bool ended;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char *picture = db_picture(db);

        begin(&it);
        assert_runs(&it, "DELETE FROM @orders");
        ended = run_sql(&it, words[i], NULL);
        if (!db->backend->single)
            assert_int_equal(ended, is_postgres(db));
        assert_orders(&it);
        if (ended) {
            assert_fails(CASCADE_ERR_MISUSE, finish(&it));
            db_assert_unchanged(db, picture);
        } else {
            assert_ok(finish(&it));
            csc_mem_free(picture);
        }
    }
    begin(&it);
    assert_ok(finish(&it));
}

/* S31: another transaction than that of begin. */
static void
a_transaction_that_the_function_began_is_not_committed(void **state)
{
    static const char *const words[] = {"ROLLBACK", "COMMIT"};
    conformance_db *db = *state;
    native_scene it = prepare(db);
    char *picture = db_picture(db);

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        bool ended;

        begin(&it);
        ended = run_sql(&it, words[i], NULL);
        assert_int_equal(run_sql(&it, "BEGIN", NULL), ended);
        assert_orders(&it);
        if (ended)
            assert_fails(CASCADE_ERR_MISUSE, finish(&it));
        else
            drop(&it);
    }
    assert_nothing(&it, picture);
}

static void
savepoints_are_the_functions_own(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);

    begin(&it);
    assert_runs(&it, "SAVEPOINT one");
    assert_orders(&it);
    assert_runs(&it, "ROLLBACK TO SAVEPOINT one");
    assert_orders(&it);
    assert_runs(&it, "RELEASE SAVEPOINT one");
    assert_runs(&it, "SAVEPOINT left_open");
    assert_runs(&it, "INSERT INTO @orders (what) VALUES ('milk')");
    assert_ok(finish(&it));
    assert_int_equal(count_orders(&it), 2);
}

/* A statement that fails spoils the transaction in PostgreSQL, and itself alone
 * in SQLite. */
static void
a_statement_that_failed_is_not_committed(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    char *picture = db_picture(db);

    begin(&it);
    assert_orders(&it);
    assert_false(run_sql(&it, ORDER, NULL));
    if (is_postgres(db)) {
        assert_fails(CASCADE_ERR_FAILED, finish(&it));
        assert_nothing(&it, picture);
    } else {
        assert_ok(finish(&it));
        assert_int_equal(count_orders(&it), 1);
        csc_mem_free(picture);
    }
}

/* Within a savepoint it is undone in both. */
static void
a_statement_that_failed_can_be_undone(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);

    begin(&it);
    assert_orders(&it);
    assert_runs(&it, "SAVEPOINT one");
    assert_false(run_sql(&it, ORDER, NULL));
    assert_runs(&it, "ROLLBACK TO SAVEPOINT one");
    assert_ok(finish(&it));
    assert_int_equal(count_orders(&it), 1);
}

/* What COMMIT alone finds is the function's fault: FAILED. */
static void
a_deferred_constraint_fails_the_attempt(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    char *picture;

    begin(&it);
    assert_runs(&it, "CREATE TABLE @parents (id INTEGER PRIMARY KEY)");
    assert_runs(&it, "CREATE TABLE @children (parent INTEGER NOT NULL)");
    drop(&it);
    begin(&it);
    assert_runs(&it, "CREATE TABLE @parents (id INTEGER PRIMARY KEY,"
                     " above INTEGER REFERENCES @parents (id)"
                     " DEFERRABLE INITIALLY DEFERRED)");
    assert_ok(finish(&it));
    picture = db_picture(db);
    begin(&it);
    assert_orders(&it);
    assert_runs(&it, "INSERT INTO @parents VALUES (1, 7)");
    assert_fails(CASCADE_ERR_FAILED, finish(&it));
    db_assert_unchanged(db, picture);
    assert_int_equal(count_orders(&it), 0);
    begin(&it);
    assert_runs(&it, "INSERT INTO @parents VALUES (1, 7)");
    assert_runs(&it, "INSERT INTO @parents VALUES (7, NULL)");
    assert_ok(finish(&it));
}

/* With a limit that is to pass. It may be over before the transaction has
 * begun, and nothing else may be wrong: then it begins anew. */
static void
begin_within(native_scene *it, int64_t limit_ms)
{
    const cascade_store *store = it->store;

    for (int i = 0; i < TRIES_MAX; i++) {
        int64_t begun_ms = csc_clock_monotonic_ms(&csc_clock_system);
        cascade_err err =
            store->driver->node_txn->begin(store->self, limit_ms, &it->native);

        if (err == CASCADE_OK)
            return;
        assert_fails(CASCADE_ERR_UNAVAILABLE, err);
        if (csc_clock_monotonic_ms(&csc_clock_system) - begun_ms < limit_ms - 1)
            fail_msg("before the limit: %s", cascade_errmsg());
    }
    fail_msg("%s", cascade_errmsg());
}

/* The same with an order in it; a longer limit where that took too long. */
static void
begin_with_order(native_scene *it, int64_t limit_ms)
{
    for (begin_within(it, limit_ms); !run_sql(it, ORDER, NULL);
         begin_within(it, limit_ms)) {
        drop(it);
        limit_ms *= 2;
        assert_true(limit_ms < LIMIT_MS);
    }
}

/* S31: the function comes back too late. */
static void
a_transaction_past_its_limit_is_not_committed(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    char *picture = db_picture(db);

    begin_within(&it, 20);
    (void)run_sql(&it, ORDER, NULL);
    poll(NULL, 0, 60);
    assert_fails(CASCADE_ERR_TIMEOUT, finish(&it));
    assert_nothing(&it, picture);
}

/* S31: a statement that would take for ever is interrupted; not on a connection
 * of the application's, whose handlers are its own. */
static void
a_statement_past_the_limit_is_interrupted(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    char *picture = NULL;

    if (db->backend->single)
        return;
    picture = db_picture(db);
    begin_with_order(&it, 100);
    assert_false(run_sql(&it,
                         "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL"
                         " SELECT i + 1 FROM n WHERE i < 1000000000000)"
                         " SELECT count(*) FROM n",
                         NULL));
    assert_fails(CASCADE_ERR_TIMEOUT, finish(&it));
    assert_nothing(&it, picture);
}

/* ---- The handle afterwards ----------------------------------------------- */

/* S16, S30: after each way of ending it serves the next one, and what the
 * function has set is not there any more. */
static void
the_handle_is_as_new_each_time(void **state)
{
    static const char *const settings[2] = {"SET LOCAL statement_timeout = 1",
                                            "SET statement_timeout = 1"};
    conformance_db *db = *state;
    native_scene it = prepare(db);
    size_t descriptors = db_count_descriptors();

    for (int i = 0; i < 12; i++) {
        bool spoiled;

        begin(&it);
        if (is_postgres(db))
            assert_runs(&it, settings[i / 3 % 2]);
        (void)run_sql(&it, "INSERT INTO @nothing (x) VALUES (1)", NULL);
        spoiled = is_postgres(db);
        if (i % 3 == 0)
            drop(&it);
        else if (i % 3 == 1)
            assert_fails(spoiled ? CASCADE_ERR_FAILED : CASCADE_ERR_LOST,
                         finish_as(&it, it.number + 7));
        else
            assert_int_equal(finish(&it),
                             spoiled ? CASCADE_ERR_FAILED : CASCADE_OK);
        assert_ok(db_commit_one(db, it.engine, i + 2,
                                rows_write(&db->rows, it.id, it.step)));
        begin(&it);
        if (is_postgres(db))
            assert_runs(&it, "SELECT pg_sleep(0.02)");
        assert_orders(&it);
        assert_runs(&it, "DELETE FROM @orders");
        assert_ok(finish(&it));
    }
    assert_in_range(db_count_descriptors(), 0, descriptors + 2);
    assert_int_equal(count_orders(&it), 0);
}

/* Two handles take turns; where the backend can, they are open at once. */
static void
two_handles_have_transactions_of_their_own(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    native_scene other = it;

    other.store = db_open(db);
    if (db->driver->node_txn->native_max > 1) {
        begin(&it);
        begin(&other);
        assert_orders(&it);
        drop(&other);
        assert_ok(finish(&it));
    } else {
        begin(&other);
        drop(&other);
        begin(&it);
        assert_orders(&it);
        assert_ok(finish(&it));
    }
    other.number = it.number;
    other.step = it.step;
    begin(&other);
    assert_runs(&other, "DELETE FROM @orders");
    assert_ok(finish(&other));
    assert_int_equal(count_orders(&it), 0);
}

typedef struct native_thread {
    pthread_t thread;
    native_scene *scene;
    atomic_bool begun;
    atomic_bool done;
    cascade_err err;
} native_thread;

static void *
commit_beside(void *context)
{
    native_thread *it = context;
    native_scene *scene = it->scene;
    cascade_uuid id = rows_id(&scene->db->rows);
    cascade_change *start = rows_start(&scene->db->rows, id);

    atomic_store(&it->begun, true);
    it->err = db_submit_one(scene->db, start);
    atomic_store(&it->done, true);
    return NULL;
}

static void
await_flag(const atomic_bool *flag)
{
    int64_t end_ms = 0;

    while (!atomic_load(flag) && in_time(&end_ms, CONFORMANCE_WAIT_MS))
        poll(NULL, 0, 1);
}

/* S15, S29: other commits of the handle wait for it at the most, and only where
 * there is one writer. */
static void
commits_beside_it_come_through(void **state)
{
    conformance_db *db = *state;
    native_scene it = prepare(db);
    native_thread beside = {.scene = &it, .err = CASCADE_ERR_FAILED};

    begin(&it);
    assert_int_equal(
        0, pthread_create(&beside.thread, NULL, commit_beside, &beside));
    await_flag(&beside.begun);
    poll(NULL, 0, 20); /* for one that should wait, and does not */
    if (db->driver->node_txn->native_max > 1)
        await_flag(&beside.done);
    assert_int_equal(atomic_load(&beside.done),
                     db->driver->node_txn->native_max > 1);
    assert_true(run_sql(&it, "SELECT 1", NULL));
    drop(&it);
    assert_int_equal(0, pthread_join(beside.thread, NULL));
    assert_int_equal(beside.err, CASCADE_OK);
    begin(&it);
    assert_orders(&it);
    assert_ok(finish(&it));
}

conformance_group
conformance_native(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(finish_commits_the_batch_and_the_rows),
        cmocka_unit_test(abandon_leaves_nothing),
        cmocka_unit_test(what_is_created_goes_with_the_rest),
        cmocka_unit_test(a_refused_batch_takes_the_rows_with_it),
        cmocka_unit_test(starts_within_tell_whether_they_existed),
        cmocka_unit_test(a_removed_incarnation_is_fenced_at_finish),
        cmocka_unit_test(a_removal_does_not_wait_for_the_function),
        cmocka_unit_test(a_lane_at_another_number_is_lost_at_finish),
        cmocka_unit_test(what_was_committed_is_settled_as_committed),
        cmocka_unit_test(what_was_not_committed_never_is),
        cmocka_unit_test(a_finish_that_was_settled_meanwhile_is_lost),
        cmocka_unit_test(settle_is_fenced_as_commit_is),
        cmocka_unit_test(a_settled_lane_counts_for_claims),
        cmocka_unit_test(a_transaction_that_the_function_ended_is_misuse),
        cmocka_unit_test(
            a_transaction_that_the_function_began_is_not_committed),
        cmocka_unit_test(savepoints_are_the_functions_own),
        cmocka_unit_test(a_statement_that_failed_is_not_committed),
        cmocka_unit_test(a_statement_that_failed_can_be_undone),
        cmocka_unit_test(a_deferred_constraint_fails_the_attempt),
        cmocka_unit_test(a_transaction_past_its_limit_is_not_committed),
        cmocka_unit_test(a_statement_past_the_limit_is_interrupted),
        cmocka_unit_test(the_handle_is_as_new_each_time),
        cmocka_unit_test(two_handles_have_transactions_of_their_own),
    };

    return (conformance_group){"native", tests,
                               sizeof(tests) / sizeof(tests[0])};
}

/* What needs a second connection: something goes on beside the first. */
conformance_group
conformance_native_beside(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_part_of_it),
        cmocka_unit_test(nobody_sees_it_before_it_is_finished),
        cmocka_unit_test(commits_beside_it_come_through),
    };

    return (conformance_group){"native beside", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
