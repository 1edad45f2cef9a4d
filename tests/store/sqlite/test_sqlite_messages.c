/* SPDX-License-Identifier: MIT
 *
 * Messages and keys in the SQLite store: what the conformance suite cannot see.
 * Databases of before, what an idle engine costs, and what a claim makes of a
 * database that has changed since it looked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/migrations.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/sqlite_fixture.h"

#define FAR_MS 1000000

static void
assert_says(const char *word)
{
    if (strstr(cascade_errmsg(), word) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", word, cascade_errmsg());
}

/* ---- Senders and receivers ----------------------------------------------- */

/* With a path of its own. */
static cascade_message_row
make_message(sqlite_fixture *it, cascade_uuid cascade_id)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid id = rows_id(&it->rows);

    return (cascade_message_row){
        .cascade_id = cascade_id,
        .kind = "signal",
        .name = "go",
        .path = rows_text(&it->rows, "path/%s", cascade_uuid_format(&id, text)),
        .payload = "{\"a\":1.50}",
        .sent_at_ms = it->clock.wall_ms};
}

static cascade_sent
send(sqlite_fixture *it, cascade_store *store, cascade_uuid cascade_id)
{
    cascade_message_row message = make_message(it, cascade_id);
    cascade_sent sent = 0;
    cascade_submission submission = {
        .messages = &message, .message_count = 1, .sent = &sent};

    if (store->driver->submit(store->self, &submission) != CASCADE_OK)
        fail_msg("submit: %s", cascade_errmsg());
    return sent;
}

/* A free run that is due long after the test, unless a message names it. */
static cascade_uuid
park(sqlite_fixture *it, cascade_store *store, const char *queue)
{
    cascade_uuid id = rows_id(&it->rows);
    cascade_change *start = rows_start(&it->rows, id);

    start->run.queue = queue;
    start->run.wake_at_ms += FAR_MS;
    assert_int_equal(fixture_submit(store, start), CASCADE_OK);
    return id;
}

static cascade_err
claim(cascade_store *store, cascade_uuid engine_id, cascade_claimed *claimed,
      cascade_claim_result *result)
{
    const char *queue = "default";
    cascade_claim asked = {.engine_id = engine_id,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 10,
                           .suspect_from = 3};

    memset(result, 0, sizeof(*result));
    return store->driver->claim(store->self, &asked, claimed, result);
}

static cascade_claim_result
claim_well(cascade_store *store, cascade_uuid engine_id,
           cascade_claimed *claimed)
{
    cascade_claim_result result = {0};

    if (claim(store, engine_id, claimed, &result) != CASCADE_OK)
        fail_msg("claim: %s", cascade_errmsg());
    return result;
}

typedef struct inbox {
    size_t count;
    int64_t ids[10];
    char payload[64];
} inbox;

static cascade_err
keep(void *context, const cascade_message_row *row, bool repeated)
{
    inbox *in = context;

    (void)repeated;
    if (in->count < 10)
        in->ids[in->count] = row->id;
    in->count++;
    snprintf(in->payload, sizeof(in->payload), "%s", row->payload);
    return CASCADE_OK;
}

static inbox
receive(cascade_store *store, cascade_uuid engine_id)
{
    const cascade_receive all = {
        .engine_id = engine_id, .limit = 10, .each = 10};
    inbox in = {.count = 0};

    assert_int_equal(store->driver->receive(store->self, &all, keep, &in),
                     CASCADE_OK);
    return in;
}

/* ---- The schema ---------------------------------------------------------- */

/* What a program that knows migration 1 alone has left: a free run, an owned
 * one, and one that has ended. */
static void
fill_old_database(sqlite_fixture *it, cascade_uuid *free_id)
{
    cascade_uuid engine_id;
    cascade_uuid ids[3];
    char text[CASCADE_UUID_TEXT_SIZE];
    char sql[200];

    fixture_sql(it, csc_migrations_sqlite[0].sql);
    engine_id = fixture_attach_old(it);
    for (size_t i = 0; i < 3; i++)
        ids[i] = fixture_insert_old(it, i == 0 ? NULL : &engine_id);
    *free_id = ids[0];
    snprintf(sql, sizeof(sql), "UPDATE cascade_runs SET wake_at = %lld",
             (long long)it->clock.wall_ms + FAR_MS);
    fixture_sql(it, sql);
    cascade_uuid_format(&ids[2], text);
    snprintf(sql, sizeof(sql),
             "UPDATE cascades SET status = 'COMPLETED' WHERE id = '%s';"
             "DELETE FROM cascade_runs WHERE cascade_id = '%s'",
             text, text);
    fixture_sql(it, sql);
}

static const char *const old_tables[] = {
    "SELECT group_concat(id || status || fn_id) FROM cascades",
    "SELECT group_concat(id || status) FROM node_executions",
    ("SELECT group_concat(cascade_id || wake_at || claim_no ||"
     "                    ifnull(engine_id, '-')) FROM cascade_runs"),
    "SELECT group_concat(engine_id || batch) FROM cascade_lanes",
};

#define OLD_TABLES (sizeof(old_tables) / sizeof(old_tables[0]))

/* S1: AUTO adds the tables and leaves the rows; CHECK tells and touches
 * nothing. What was parked before is reached by a message. */
static void
a_database_with_running_cascades_is_upgraded(void **state)
{
    sqlite_fixture *it = *state;
    cascade_claimed claimed[10];
    cascade_store *store;
    cascade_uuid id;
    char before[OLD_TABLES][256];
    char after[256];

    fill_old_database(it, &id);
    for (size_t i = 0; i < OLD_TABLES; i++)
        fixture_word(it, old_tables[i], before[i]);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_CHECK),
                     CASCADE_ERR_SCHEMA);
    assert_says("002_messages");
    assert_int_equal(fixture_number(it, "SELECT count(*) FROM cascade_schema"),
                     1);
    store = fixture_store(it);
    for (size_t i = 0; i < OLD_TABLES; i++) {
        fixture_word(it, old_tables[i], after);
        assert_string_equal(after, before[i]);
        assert_true(strlen(after) < sizeof(after) - 1);
    }
    assert_int_equal(send(it, store, id), CASCADE_SENT);
    assert_int_equal(
        claim_well(store, fixture_attach(it, store), claimed).count, 1);
    assert_memory_equal(&claimed[0].cascade_id, &id, sizeof(id));
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_CHECK), CASCADE_OK);
}

/* An id that came back would let a commit delete a message it never saw. */
static void
an_id_never_comes_back(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_uuid engine_id = fixture_attach(it, store);
    cascade_uuid id = rows_id(&it->rows);
    int64_t last = 0;

    assert_int_equal(
        fixture_submit(store, rows_start_owned(&it->rows, id, engine_id)),
        CASCADE_OK);
    for (int64_t number = 1; number <= 3; number++) {
        cascade_change *write = rows_write(&it->rows, id, 0);
        inbox in;

        assert_int_equal(send(it, store, id), CASCADE_SENT);
        in = receive(store, engine_id);
        assert_int_equal(in.count, 1);
        assert_string_equal(in.payload, "{\"a\":1.50}");
        assert_true(in.ids[0] > last);
        last = in.ids[0];
        write->received = &last;
        write->received_count = 1;
        assert_int_equal(fixture_commit(store, engine_id, number, write),
                         CASCADE_OK);
        assert_int_equal(receive(store, engine_id).count, 0);
    }
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

#define SECOND " WHERE id = (SELECT min(id) + 1 FROM cascade_messages)"

static cascade_err
pass_row(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
load_messages(cascade_store *store, const cascade_uuid *id, inbox *in)
{
    const cascade_load_sink sink = {
        .context = in, .on_cascade = pass_row, .on_message = keep};

    return store->driver->load(store->self, id, 1, CASCADE_LOAD_MESSAGES,
                               &sink);
}

/* S74: rows that another program spoiled are named by a load, and not handed
 * on; nor is what was sent behind them. */
static void
messages_that_make_no_sense_are_named(void **state)
{
    static const char *const spoils[][2] = {
        {"UPDATE cascade_messages SET payload = '{'" SECOND, "payload"},
        {"UPDATE cascade_messages SET kind = 'a' || char(0)" SECOND, "kind"},
        {"UPDATE cascade_messages SET sent_at = 'soon'" SECOND, "sent_at"},
    };
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_uuid engine_id = fixture_attach(it, store);
    cascade_uuid id = rows_id(&it->rows);
    const cascade_receive all = {
        .engine_id = engine_id, .limit = 10, .each = 10};
    inbox in = {.count = 0};

    assert_int_equal(
        fixture_submit(store, rows_start_owned(&it->rows, id, engine_id)),
        CASCADE_OK);
    for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
        fixture_sql(it, "DELETE FROM cascade_messages");
        for (int k = 0; k < 3; k++)
            assert_int_equal(send(it, store, id), CASCADE_SENT);
        fixture_sql(it, spoils[i][0]);
        in.count = 0;
        assert_int_equal(store->driver->receive(store->self, &all, keep, &in),
                         CASCADE_OK);
        assert_int_equal(in.count, 1);
        assert_int_equal(load_messages(store, &id, &in), CASCADE_ERR_CORRUPT);
        assert_says("cascade_messages");
        assert_says(spoils[i][1]);
    }
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* Whether the waiters of this handle were told since `seen`. */
static bool
was_told(cascade_store *store, cascade_waited *seen)
{
    assert_int_equal(store->driver->wait(store->self, -1, 0, seen), CASCADE_OK);
    return seen->woken;
}

/* S17: by a submit, also one that inserts nothing, since the one that did may
 * have told nobody; and by a commit that sends. */
static void
a_sender_tells_those_who_wait(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_store *other = fixture_store(it);
    cascade_uuid engine_id = fixture_attach(it, store);
    cascade_uuid id = rows_id(&it->rows);
    cascade_message_row message = make_message(it, id);
    cascade_sent sent = 0;
    cascade_submission submission = {
        .messages = &message, .message_count = 1, .sent = &sent};
    cascade_change *write = rows_write(&it->rows, id, 0);
    cascade_waited seen = {.seen = 0};

    assert_int_equal(
        fixture_submit(store, rows_start_owned(&it->rows, id, engine_id)),
        CASCADE_OK);
    (void)was_told(other, &seen);
    assert_false(was_told(other, &seen));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store->driver->submit(store->self, &submission),
                         CASCADE_OK);
        assert_int_equal(sent, i == 0 ? CASCADE_SENT : CASCADE_SENT_REPEATED);
        assert_true(was_told(other, &seen));
    }
    assert_int_equal(fixture_commit(store, engine_id, 1, write), CASCADE_OK);
    assert_false(was_told(other, &seen));
    message = make_message(it, id);
    write->sends = &message;
    write->send_count = 1;
    assert_int_equal(fixture_commit(store, engine_id, 2, write), CASCADE_OK);
    assert_true(was_told(other, &seen));
    assert_int_equal(cascade_store_close(other), CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* An id that is not the cascade's own is as one that is gone. */
static void
a_commit_deletes_no_message_of_another(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_uuid engine_id = fixture_attach(it, store);
    cascade_uuid ids[2] = {rows_id(&it->rows), rows_id(&it->rows)};
    cascade_change *write = rows_write(&it->rows, ids[0], 0);
    inbox in;

    for (int i = 0; i < 2; i++)
        assert_int_equal(
            fixture_submit(store,
                           rows_start_owned(&it->rows, ids[i], engine_id)),
            CASCADE_OK);
    assert_int_equal(send(it, store, ids[1]), CASCADE_SENT);
    in = receive(store, engine_id);
    assert_int_equal(in.count, 1);
    write->received = in.ids;
    write->received_count = 1;
    assert_int_equal(fixture_commit(store, engine_id, 1, write), CASCADE_OK);
    assert_int_equal(receive(store, engine_id).count, 1);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

static cascade_err
count_cascade(void *context, const cascade_row *row)
{
    (void)row;
    ++*(size_t *)context;
    return CASCADE_OK;
}

static cascade_err
count_message(void *context, const cascade_message_row *row, bool repeated)
{
    (void)row;
    (void)repeated;
    ++*(size_t *)context;
    return CASCADE_OK;
}

/* Cascades and messages together. */
static size_t
load_count(cascade_store *store, const cascade_uuid *id)
{
    size_t count = 0;
    cascade_load_sink sink = {.context = &count,
                              .on_cascade = count_cascade,
                              .on_message = count_message};

    assert_int_equal(
        store->driver->load(store->self, id, 1, CASCADE_LOAD_MESSAGES, &sink),
        CASCADE_OK);
    return count;
}

/* A cascade that is not there is passed over, with what was sent to it. */
static void
a_load_passes_messages_for_nobody(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_uuid id = park(it, store, "default");

    assert_int_equal(send(it, store, id), CASCADE_SENT);
    assert_int_equal(load_count(store, &id), 2);
    fixture_sql(it, "DELETE FROM cascade_runs; DELETE FROM node_executions;"
                    "DELETE FROM cascades");
    assert_int_equal(load_count(store, &id), 0);
    assert_int_equal(fixture_number(it, "SELECT count(*)"
                                        " FROM cascade_messages"),
                     1);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* ---- Deleting ------------------------------------------------------------ */

/* S21, row by row; the neighbour keeps all of its own. */
static void
a_deletion_leaves_the_key_and_the_neighbour(void **state)
{
    static const char rest[] =
        "SELECT (SELECT count(*) FROM cascades) || ' ' ||"
        " (SELECT count(*) FROM node_executions) || ' ' ||"
        " (SELECT count(*) FROM context_events) || ' ' ||"
        " (SELECT count(*) FROM cascade_runs) || ' ' ||"
        " (SELECT count(*) FROM cascade_messages) || ' ' ||"
        " (SELECT count(*) FROM cascade_keys)";
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_uuid engine_id = fixture_attach(it, store);
    cascade_uuid ids[2] = {rows_id(&it->rows), rows_id(&it->rows)};
    cascade_change *gone = rows_write(&it->rows, ids[0], 0);
    char text[256];

    for (int i = 0; i < 2; i++) {
        cascade_change *start = rows_start_owned(&it->rows, ids[i], engine_id);

        start->key = i == 0 ? "order" : "other";
        start->run_number = 2;
        (void)rows_event(&it->rows, start, 0, "a", "1");
        assert_int_equal(fixture_submit(store, start), CASCADE_OK);
        assert_int_equal(send(it, store, ids[i]), CASCADE_SENT);
    }
    fixture_word(it, rest, text);
    assert_string_equal(text, "2 2 2 2 2 2");
    gone->run_action = CASCADE_RUN_DELETE;
    for (int64_t number = 1; number <= 2; number++) {
        assert_int_equal(fixture_commit(store, engine_id, number, gone),
                         CASCADE_OK);
        fixture_word(it, rest, text);
        assert_string_equal(text, "1 1 1 1 1 2");
    }
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* S20: of messages for nobody a claim deletes a portion. */
static void
messages_for_nobody_are_deleted_in_portions(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_uuid engine_id = fixture_attach(it, store);
    cascade_claimed claimed[10];
    int64_t left = CASCADE_CLAIM_STRAYS_MAX * 3 / 2;

    fixture_sql(it, "WITH RECURSIVE n(i) AS ("
                    " SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 149)"
                    "INSERT INTO cascade_messages (cascade_id, kind, name,"
                    " path, payload, sent_at) SELECT"
                    " printf('%08x-0000-7000-8000-00000000000a', i % 3),"
                    " 'signal', '', 'p' || i, '{}', 1 FROM n");
    for (int i = 0; left > 0 && i < 2; i++) {
        assert_int_equal(claim_well(store, engine_id, claimed).count, 0);
        left -= CASCADE_CLAIM_STRAYS_MAX;
        assert_int_equal(
            fixture_number(it, "SELECT count(*) FROM cascade_messages"),
            left > 0 ? left : 0);
    }
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* S87: they stand in front of it, and behind; it is claimed beside them. */
static void
messages_of_no_id_are_deleted_in_portions(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_uuid engine_id = fixture_attach(it, store);
    cascade_claimed claimed[10];
    int64_t left = 2501;

    assert_int_equal(send(it, store, park(it, store, "default")), CASCADE_SENT);
    fixture_sql(it, "PRAGMA ignore_check_constraints = ON;"
                    "WITH RECURSIVE n(i) AS ("
                    " SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)"
                    "INSERT INTO cascade_messages (cascade_id, kind, name,"
                    " path, payload, sent_at) SELECT CASE i % 4"
                    " WHEN 0 THEN x'00' WHEN 1 THEN '!' || char(0)"
                    " ELSE char(33 + i % 90) || printf('%035d', i) END,"
                    " 'signal', '', 'p' || i, '{}', 1 FROM n");
    for (int i = 0; i < 3; i++) {
        int64_t before = left;

        assert_int_equal(claim_well(store, engine_id, claimed).count, i == 0);
        left = fixture_number(it, "SELECT count(*) FROM cascade_messages");
        assert_in_range(before - left, i < 2 ? 999 : 500, 1000);
    }
    assert_int_equal(left, 1);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* ---- Costs --------------------------------------------------------------- */

/* Messages of others, and its own that it only looks at: a claim that gives
 * nothing needs no write lock, which another holds here. */
static void
an_idle_engine_does_not_write(void **state)
{
    sqlite_fixture *it = *state;
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};
    cascade_store *store = fixture_store(it);
    cascade_uuid engine_id = fixture_attach(it, store);
    cascade_uuid id;
    sqlite3 *db = NULL;

    assert_int_equal(send(it, store, park(it, store, "other")), CASCADE_SENT);
    id = park(it, store, "default");
    assert_int_equal(sqlite3_open(it->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL),
                     SQLITE_OK);
    result = claim_well(store, engine_id, claimed);
    assert_int_equal(result.count, 0);
    assert_false(result.messages);
    assert_int_equal(result.next_wake_at_ms, it->clock.wall_ms + FAR_MS);
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);

    assert_int_equal(send(it, store, id), CASCADE_SENT);
    assert_int_equal(claim_well(store, engine_id, claimed).count, 1);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL),
                     SQLITE_OK);
    result = claim_well(store, engine_id, claimed);
    assert_int_equal(result.count, 0);
    assert_true(result.messages);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

typedef struct tally {
    int all;
    int of_messages; /* statements that name one of the two tables */
} tally;

static int
count_statement(unsigned type, void *context, void *statement, void *sql)
{
    tally *seen = context;

    (void)type;
    (void)statement;
    seen->all++;
    seen->of_messages += strstr(sql, "cascade_messages") != NULL ||
                         strstr(sql, "cascade_keys") != NULL;
    return 0;
}

/* On the writer, and on the readers that are open. */
static void
watch(cascade_store *store, tally *seen)
{
    csc_sqlite *sqlite = store->self;

    memset(seen, 0, sizeof(*seen));
    sqlite3_trace_v2(sqlite->writer.db, SQLITE_TRACE_STMT, count_statement,
                     seen);
    for (size_t i = 0; i < CSC_SQLITE_READERS; i++) {
        if (sqlite->readers[i].db != NULL)
            sqlite3_trace_v2(sqlite->readers[i].db, SQLITE_TRACE_STMT,
                             count_statement, seen);
    }
}

/* Without messages and keys commits know nothing of them, and a claim asks
 * once. */
static void
who_uses_no_messages_does_not_pay_for_them(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_uuid engine_id = fixture_attach(it, store);
    cascade_uuid id = rows_id(&it->rows);
    cascade_change *write = rows_write(&it->rows, id, 1);
    cascade_claimed claimed[10];
    tally seen;

    assert_int_equal(claim_well(store, engine_id, claimed).count, 0);
    watch(store, &seen);
    assert_int_equal(
        fixture_submit(store, rows_start_owned(&it->rows, id, engine_id)),
        CASCADE_OK);
    (void)rows_update(&it->rows, write, 0, "{}");
    (void)rows_insert(&it->rows, write, 1, "next");
    (void)rows_event(&it->rows, write, 0, "a", "1");
    assert_int_equal(fixture_commit(store, engine_id, 1, write), CASCADE_OK);
    assert_int_equal(seen.of_messages, 0);
    /* BEGIN, cascade, execution, run, COMMIT; BEGIN, lane, lease, cascade,
     * update, insert, event, COMMIT */
    assert_int_equal(seen.all, 5 + 8);
    watch(store, &seen);
    assert_int_equal(claim_well(store, engine_id, claimed).count, 0);
    assert_int_equal(seen.of_messages, 1);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* Instructions of SQLite's machine of the walk over what messages name. */
static int64_t
count_walk_steps(const csc_sqlite *sqlite)
{
    int64_t steps = 0;

    for (size_t i = 0; i < CSC_SQLITE_READERS; i++) {
        sqlite3_stmt *it = sqlite->readers[i].statements[CSC_SQLITE_NEXT_NAMED];

        if (it != NULL)
            steps += sqlite3_stmt_status(it, SQLITE_STMTSTATUS_VM_STEP, 1);
    }
    return steps;
}

/* 3,000 messages for one cascade cost a claim as much as one. */
static void
a_claim_does_not_walk_the_messages_of_a_cascade(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_uuid engine_id = fixture_attach(it, store);
    cascade_claimed claimed[10];
    int64_t one;

    assert_int_equal(send(it, store, park(it, store, "other")), CASCADE_SENT);
    assert_int_equal(claim_well(store, engine_id, claimed).count, 0);
    one = count_walk_steps(store->self);
    assert_in_range(one, 10, 200);
    fixture_sql(it, "WITH RECURSIVE n(i) AS ("
                    " SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2999)"
                    "INSERT INTO cascade_messages (cascade_id, kind, name,"
                    " path, payload, sent_at) SELECT cascade_id, kind, name,"
                    " 'p' || i, payload, sent_at FROM cascade_messages, n");
    assert_int_equal(claim_well(store, engine_id, claimed).count, 0);
    assert_int_equal(count_walk_steps(store->self), one);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* ---- The family --------------------------------------------------------- */

static cascade_err
pass_cascade(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
count_execution(void *context, const cascade_execution_row *row)
{
    (void)row;
    ++*(size_t *)context;
    return CASCADE_OK;
}

/* Instructions of SQLite's machine. */
static int64_t
count_family_steps(const csc_sqlite *sqlite)
{
    int64_t steps = 0;

    for (size_t i = 0; i < CSC_SQLITE_READERS; i++) {
        sqlite3_stmt *it =
            sqlite->readers[i].statements[CSC_SQLITE_LOAD_FAMILY];

        if (it != NULL)
            steps += sqlite3_stmt_status(it, SQLITE_STMTSTATUS_VM_STEP, 1);
    }
    return steps;
}

/* S24: neither other executions nor children that have ended are walked over.
 */
static void
a_family_costs_the_same_among_many(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_uuid id = rows_id(&it->rows);
    size_t count = 0;
    cascade_load_sink sink = {.context = &count,
                              .on_cascade = pass_cascade,
                              .on_execution = count_execution};
    int64_t one;

    assert_int_equal(fixture_submit(store, rows_start(&it->rows, id)),
                     CASCADE_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(store->driver->load(store->self, &id, 1,
                                             i == 0 ? 0 : CASCADE_LOAD_FAMILY,
                                             &sink),
                         CASCADE_OK);
    assert_int_equal(count, 1);
    one = count_family_steps(store->self);
    assert_in_range(one, 10, 200);
    fixture_sql(it, "WITH RECURSIVE n(i) AS ("
                    " SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
                    "INSERT INTO node_executions (node_instance_id, cascade_id,"
                    " node_name, function_id, input_context, location, status)"
                    " SELECT 'p' || i, cascade_id,"
                    "  CASE i % 2 WHEN 0 THEN 'n' ELSE 'cascade.child:n' END,"
                    "  i, '{}', 'server',"
                    "  CASE i % 2 WHEN 0 THEN 'RUNNING' ELSE 'FAILED' END"
                    " FROM node_executions, n");
    assert_int_equal(
        store->driver->load(store->self, &id, 1, CASCADE_LOAD_FAMILY, &sink),
        CASCADE_OK);
    assert_int_equal(count, 2);
    assert_int_equal(count_family_steps(store->self), one);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
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

/* S7, S8: what a claim gives is so when it takes it. The last change matters to
 * nobody: both are given. */
static void
what_changes_after_the_look_is_not_given(void **state)
{
    static const struct {
        const char *sql;
        size_t given; /* of a parked run and one that has ended */
    } cases[] = {
        {"DELETE FROM cascade_messages", 0},
        {"UPDATE cascade_runs SET engine_id = 'x', claim_no = 1;"
         "INSERT INTO cascade_runs (cascade_id, queue, priority, wake_at,"
         " engine_id, claim_no, takeovers, needs, trial)"
         " SELECT id, 'default', 0, 1, 'x', 1, 0, '', 0"
         " FROM cascades WHERE status = 'COMPLETED'",
         0},
        {"UPDATE cascade_runs SET takeovers = 3", 1},
        {"UPDATE cascade_runs SET queue = 'other'", 1},
        {"DELETE FROM cascade_runs; DELETE FROM node_executions;"
         "DELETE FROM cascades",
         0},
        {"UPDATE cascades SET updated_at = created_at", 2},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sqlite_fixture *it = *state;
        cascade_store *store = fixture_store(it);
        cascade_uuid engine_id = fixture_attach(it, store);
        interloper one = {.it = it, .sql = cases[i].sql};
        csc_sqlite *sqlite = store->self;
        cascade_uuid ended = park(it, store, "default");
        cascade_claimed claimed[10];
        char sql[200];
        char text[CASCADE_UUID_TEXT_SIZE];

        snprintf(sql, sizeof(sql),
                 "DELETE FROM cascade_runs;"
                 "UPDATE cascades SET status = 'COMPLETED' WHERE id = '%s'",
                 cascade_uuid_format(&ended, text));
        fixture_sql(it, sql);
        assert_int_equal(send(it, store, ended), CASCADE_SENT_ENDED);
        assert_int_equal(send(it, store, park(it, store, "default")),
                         CASCADE_SENT);
        sqlite3_trace_v2(sqlite->writer.db, SQLITE_TRACE_STMT, come_between,
                         &one);
        assert_int_equal(claim_well(store, engine_id, claimed).count,
                         cases[i].given);
        assert_null(one.sql);
        assert_int_equal(cascade_store_close(store), CASCADE_OK);
        fixture_sql(it, "DELETE FROM cascade_messages;"
                        "DELETE FROM cascade_runs;"
                        "DELETE FROM node_executions; DELETE FROM cascades");
    }
}

int
main(int argc, char **argv)
{
#define ONE(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        ONE(a_database_with_running_cascades_is_upgraded),
        ONE(an_id_never_comes_back),
        ONE(messages_that_make_no_sense_are_named),
        ONE(a_sender_tells_those_who_wait),
        ONE(a_commit_deletes_no_message_of_another),
        ONE(a_load_passes_messages_for_nobody),
        ONE(a_deletion_leaves_the_key_and_the_neighbour),
        ONE(messages_for_nobody_are_deleted_in_portions),
        ONE(messages_of_no_id_are_deleted_in_portions),
        ONE(an_idle_engine_does_not_write),
        ONE(who_uses_no_messages_does_not_pay_for_them),
        ONE(a_claim_does_not_walk_the_messages_of_a_cascade),
        ONE(a_family_costs_the_same_among_many),
        ONE(what_changes_after_the_look_is_not_given),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("sqlite messages", tests, NULL, NULL);
}
