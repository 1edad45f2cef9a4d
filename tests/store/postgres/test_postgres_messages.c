/* SPDX-License-Identifier: MIT
 *
 * Messages, keys and deletions where PostgreSQL is particular: what several
 * transactions do to each other, seen one step at a time by holding a row with
 * a connection of the test's own; and that what a statement reads does not grow
 * with what others have.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "store/postgres/postgres_fixture.h"

#define LIMIT 10

/* ---- Short forms --------------------------------------------------------- */

/* An incarnation, and the number of its last batch. */
typedef struct scene {
    pg_test *test;
    cascade_store *store;
    cascade_uuid engine;
    int64_t number;
} scene;

static scene
begin_by(pg_test *test, cascade_store *store)
{
    return (scene){.test = test,
                   .store = store,
                   .engine = pg_attach(test, store, PG_LEASE_MS)};
}

static scene
begin(pg_test *test)
{
    return begin_by(test, test->handles[0]);
}

/* By a handle of its own, whose backends begin_waiting() finds. */
static scene
begin_apart(pg_test *test)
{
    cascade_store_options options = pg_options(test);

    options.application_name = test->schema;
    return begin_by(test, pg_open(test, NULL, &options));
}

static cascade_uuid
own(scene *it)
{
    cascade_uuid id = rows_id(&it->test->rows);

    assert_ok(pg_commit_one(it->test, it->store, it->engine, ++it->number,
                            rows_start_owned(&it->test->rows, id, it->engine)));
    return id;
}

static cascade_err
submit(scene *it, const cascade_change *start, bool *existed,
       const cascade_message_row *message, cascade_sent *sent)
{
    cascade_submission submission = {.starts = start,
                                     .start_count = start != NULL,
                                     .existed = existed,
                                     .messages = message,
                                     .message_count = message != NULL,
                                     .sent = sent};

    return it->store->driver->submit(it->store->self, &submission);
}

static cascade_sent
send_path(scene *it, cascade_uuid to, const char *path)
{
    cascade_sent sent = 0;

    assert_ok(
        submit(it, NULL, NULL, rows_message(&it->test->rows, to, path), &sent));
    return sent;
}

typedef struct inbox {
    size_t count;
    size_t repeated;
    int64_t last_id;
} inbox;

static cascade_err
take_in(void *context, const cascade_message_row *row, bool repeated)
{
    inbox *it = context;

    it->count++;
    it->repeated += repeated;
    it->last_id = row->id;
    return CASCADE_OK;
}

static inbox
receive(scene *it)
{
    const cascade_receive all = {
        .engine_id = it->engine, .limit = LIMIT, .each = LIMIT};
    inbox got = {.count = 0};

    assert_ok(it->store->driver->receive(it->store->self, &all, take_in, &got));
    return got;
}

/* Claims from a queue, and tells how many runs came. */
static size_t
claim_as(scene *it, cascade_store *store, const char *queue, bool suspects,
         bool *messages)
{
    cascade_claim claim = {.engine_id = it->engine,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = LIMIT,
                           .suspect_from = 3,
                           .suspects = suspects};
    cascade_claimed claimed[LIMIT];
    cascade_claim_result result = {0};

    assert_ok(store->driver->claim(store->self, &claim, claimed, &result));
    *messages = result.messages;
    return result.count;
}

static size_t
claim(scene *it, cascade_store *store, bool *messages)
{
    return claim_as(it, store, "default", false, messages);
}

/* ---- Something that has to wait ------------------------------------------ */

/* A move in a thread of its own: a batch, or a submit where there is none. */
typedef struct waiting {
    pthread_t thread;
    scene it;
    cascade_change *change;
    cascade_message_row *message;
    cascade_sent sent;
    cascade_err err;
} waiting;

static void *
move(void *context)
{
    waiting *w = context;
    scene *it = &w->it;

    w->err = w->change == NULL ? submit(it, NULL, NULL, w->message, &w->sent)
                               : pg_commit_one(it->test, it->store, it->engine,
                                               it->number, w->change);
    return NULL;
}

/* Begins it, and returns when `count` of those backends wait for a lock. */
static void
begin_waiting(waiting *w, int count)
{
    assert_int_equal(0, pthread_create(&w->thread, NULL, move, w));
    pg_until(w->it.test,
             "SELECT (count(*) = %d)::int FROM pg_locks AS l"
             " JOIN pg_stat_activity AS a USING (pid)"
             " WHERE NOT l.granted AND a.application_name = '%s'",
             count, w->it.test->schema);
}

static cascade_change *
sends(scene *it, cascade_uuid from, cascade_uuid to, const char *const *paths)
{
    test_rows *rows = &it->test->rows;
    cascade_change *change = rows_write(rows, from, 0);

    for (; *paths != NULL; paths++)
        rows_send(rows, change, rows_message(rows, to, *paths));
    return change;
}

/* Two batches bring the same messages in opposite orders, and both are in the
 * midst of it: the one has to have taken nothing that the other waits for. */
static void
crossing_sends_do_not_wait_for_each_other(void **state)
{
    static const char *const up[] = {"a", "m", "z", NULL};
    static const char *const down[] = {"z", "m", "a", NULL};
    pg_test *test = *state;
    scene one = begin_apart(test);
    scene two = begin_apart(test);
    cascade_uuid to = own(&one);
    waiting first = {.change = sends(&one, to, to, up)};
    waiting second = {.change = sends(&two, own(&two), to, down)};

    one.number++;
    two.number++;
    first.it = one;
    second.it = two;
    pg_sql(test, "BEGIN");
    pg_sql(test, "INSERT INTO cascade_messages (cascade_id, kind, name, path,"
                 " payload, sent_at)"
                 " SELECT id, 'k', '', 'm', '1', 0 FROM cascades LIMIT 1");
    begin_waiting(&first, 1);
    begin_waiting(&second, 2);
    pg_sql(test, "ROLLBACK");
    pthread_join(first.thread, NULL);
    pthread_join(second.thread, NULL);
    assert_int_equal(CASCADE_OK, first.err);
    assert_int_equal(CASCADE_OK, second.err);
    assert_int_equal(3, receive(&one).count);
    assert_int_equal(
        1, pg_number(test, "SELECT (string_agg(path, '' ORDER BY id) = 'amz')"
                           "::int FROM cascade_messages"));
}

/* S19: a sender that looked before the receipt was there, and could insert only
 * after it, sends what was received. The receiver is told so. */
static void
a_message_that_crosses_its_receipt_is_told_as_repeated(void **state)
{
    static const char *const path[] = {"p", NULL};
    pg_test *test = *state;
    scene it = begin_apart(test);
    scene other = begin_apart(test);
    cascade_uuid id = own(&it);
    cascade_uuid from = own(&other);
    waiting commit = {.change = sends(&other, from, id, path)};
    waiting submit = {.it = it};
    char text[CASCADE_UUID_TEXT_SIZE];

    submit.message = rows_message(&test->rows, id, "p");
    assert_int_equal(CASCADE_SENT, send_path(&it, id, "p"));
    assert_int_equal(0, receive(&it).repeated);
    other.number++;
    commit.it = other;
    pg_sql(test, "BEGIN");
    pg_sql(test, "DELETE FROM cascade_messages");
    pg_sql(test,
           "INSERT INTO node_executions (node_instance_id, cascade_id,"
           " node_name, function_id, input_context, location) VALUES"
           " ('p', '%s', 'cascade.signal:go', 1, '{}', 'x')",
           cascade_uuid_format(&id, text));
    begin_waiting(&commit, 1);
    begin_waiting(&submit, 2);
    pg_sql(test, "COMMIT");
    pthread_join(commit.thread, NULL);
    pthread_join(submit.thread, NULL);
    assert_int_equal(CASCADE_OK, commit.err);
    assert_int_equal(CASCADE_OK, submit.err);
    assert_int_equal(1, receive(&it).count);
    assert_int_equal(1, receive(&it).repeated);
    assert_int_equal(CASCADE_SENT_REPEATED, send_path(&it, id, "p"));
}

/* An ended cascade is deleted while a claim makes its run: no error, no run. */
static void
a_deletion_and_a_claim_of_an_ended_cascade_go_together(void **state)
{
    pg_test *test = *state;
    scene it = begin(test);
    cascade_uuid id = own(&it);
    cascade_change *change = rows_write(&test->rows, id, 0);
    bool messages;

    change->cascade.status = CASCADE_COMPLETED;
    change->run_action = CASCADE_RUN_END;
    assert_ok(pg_commit_one(test, it.store, it.engine, ++it.number, change));
    assert_int_equal(CASCADE_SENT_ENDED, send_path(&it, id, "p"));
    pg_sql(test,
           "CREATE FUNCTION gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
           " DELETE FROM %s.cascades; RETURN NEW; END $$;"
           "CREATE TRIGGER gone BEFORE INSERT ON cascade_runs"
           " FOR EACH ROW EXECUTE FUNCTION gone()",
           test->schema);
    assert_int_equal(0, claim(&it, it.store, &messages));
    pg_sql(test, "DROP TRIGGER gone ON cascade_runs");
    assert_int_equal(1, claim(&it, it.store, &messages));
}

/* ---- Keys ---------------------------------------------------------------- */

static bool
start_run(scene *it, cascade_change *start, int32_t run_number)
{
    bool existed = false;

    start->key = "key";
    start->run_number = run_number;
    assert_ok(submit(it, start, &existed, NULL, NULL));
    return existed;
}

static int32_t
current_run(scene *it)
{
    int32_t number = 0;

    assert_ok(
        it->store->driver->chain->key(it->store->self, "user", "key", &number));
    return number;
}

/* S22 */
static void
a_key_goes_from_run_to_run(void **state)
{
    pg_test *test = *state;
    scene it = begin(test);
    cascade_change *runs[5];

    for (int i = 0; i < 5; i++)
        runs[i] = rows_start(&test->rows, rows_id(&test->rows));
    assert_true(start_run(&it, runs[3], 3));
    assert_int_equal(1, current_run(&it));
    assert_false(start_run(&it, runs[1], 1));
    assert_int_equal(0, pg_number(test, "SELECT count(*) FROM cascade_keys"));
    assert_false(start_run(&it, runs[2], 2));
    assert_int_equal(2, current_run(&it));
    assert_false(start_run(&it, runs[2], 2)); /* the same once more */
    assert_false(start_run(&it, runs[1], 1));
    assert_true(start_run(&it, runs[4], 2)); /* another of that run */
    assert_true(start_run(&it, runs[4], 4));
    assert_false(start_run(&it, runs[3], 3));
    assert_int_equal(3, current_run(&it));
    assert_int_equal(3, pg_number(test, "SELECT count(*) FROM cascades"));
}

/* A start of a batch waits for a moment only: here it has all the time it
 * needs. */
static void
make_starts_wait(pg_test *test)
{
    pg_sql(test, "CREATE FUNCTION wait_on() RETURNS trigger LANGUAGE plpgsql"
                 " AS $$ BEGIN PERFORM set_config('lock_timeout', '0', true);"
                 " RETURN NULL; END $$");
    pg_sql(test, "CREATE TRIGGER wait_on BEFORE INSERT ON cascades"
                 " FOR EACH STATEMENT EXECUTE FUNCTION wait_on()");
}

/* S22: between the look at the key and the start, run 2 came and went. */
static void
a_run_that_came_and_went_is_not_started_again(void **state)
{
    pg_test *test = *state;
    scene it = begin_apart(test);
    cascade_change *start;
    waiting second;
    char id[CASCADE_UUID_TEXT_SIZE];

    start_run(&it, rows_start(&test->rows, rows_id(&test->rows)), 1);
    start = rows_start(&test->rows, rows_id(&test->rows));
    start->key = "key";
    start->run_number = 2;
    it.number = 1;
    second = (waiting){.it = it, .change = start};
    make_starts_wait(test);
    pg_sql(test, "BEGIN");
    pg_sql(test, "INSERT INTO cascades (id, user_id) VALUES ('%s', 'user')",
           cascade_uuid_format(&start->cascade.id, id));
    pg_sql(test, "INSERT INTO cascade_keys VALUES ('user', 'key', 2)");
    begin_waiting(&second, 1);
    pg_sql(test, "DELETE FROM cascades WHERE id = '%s'", id);
    pg_sql(test, "COMMIT");
    pthread_join(second.thread, NULL);
    assert_int_equal(CASCADE_ERR_NOT_DONE, second.err);
    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM cascades"));
    assert_true(start_run(&it, start, 2));
}

/* ---- Deletion ------------------------------------------------------------ */

/* S21 */
static void
a_deleted_cascade_leaves_no_row(void **state)
{
    pg_test *test = *state;
    scene it = begin(test);
    cascade_uuid id = own(&it);
    cascade_uuid kept = own(&it);
    cascade_change *change = rows_write(&test->rows, id, 0);

    rows_event(&test->rows, change, 0, "key", "1");
    assert_ok(pg_commit_one(test, it.store, it.engine, ++it.number, change));
    send_path(&it, id, "p");
    send_path(&it, kept, "q");
    change = rows_write(&test->rows, id, 0);
    change->run_action = CASCADE_RUN_DELETE;
    assert_ok(pg_commit_one(test, it.store, it.engine, ++it.number, change));
    assert_ok(pg_commit_one(test, it.store, it.engine, ++it.number, change));
    assert_int_equal(0, pg_number(test, "SELECT count(*) FROM context_events"));
    assert_int_equal(4,
                     pg_number(test, "SELECT (SELECT count(*) FROM cascades)"
                                     " + (SELECT count(*) FROM node_executions)"
                                     " + (SELECT count(*) FROM cascade_runs)"
                                     " + (SELECT count(*) FROM"
                                     "   cascade_messages)"));
    assert_int_equal(1, receive(&it).count);
}

/* ---- What is read -------------------------------------------------------- */

/* How often those tables were read from end to end; making their indexes did,
 * too. */
static int64_t
count_seq_scans(pg_test *test)
{
    return pg_number(test, "SELECT sum(seq_scan) FROM pg_stat_user_tables"
                           " WHERE relid IN ('cascade_messages'::regclass,"
                           "  'cascade_keys'::regclass)");
}

/* A batch without messages and keys does not look for them, and a claim looks
 * once whether there are any. */
static void
who_has_no_messages_pays_for_none(void **state)
{
    pg_test *test = *state;
    scene it = begin(test);
    cascade_store *store = NULL;
    int64_t before = pg_index_sum(test, &store, "idx_scan", "cascade_messages");
    int64_t seq_before = count_seq_scans(test);
    cascade_uuid id;
    bool messages;

    it.store = store;
    id = own(&it);
    for (int i = 0; i < 20; i++)
        assert_ok(pg_commit_one(test, store, it.engine, ++it.number,
                                rows_write(&test->rows, id, 0)));
    assert_ok(pg_submit_one(
        test, store, rows_start(&test->rows, rows_id(&test->rows)), NULL));
    assert_int_equal(
        0, pg_index_sum(test, &store, "idx_scan", "cascade_messages") - before);
    for (int i = 0; i < 20; i++)
        claim(&it, store, &messages);
    assert_in_range(pg_index_sum(test, &store, "idx_scan", "cascade_messages") -
                        before,
                    1, 20);
    assert_int_equal(seq_before, count_seq_scans(test));
}

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

/* S24: other executions are not looked at, however many they are. */
static void
a_family_is_read_past_all_others(void **state)
{
    pg_test *test = *state;
    cascade_store *store = NULL;
    cascade_uuid id = rows_id(&test->rows);
    size_t count = 0;
    cascade_load_sink sink = {.context = &count,
                              .on_cascade = pass_cascade,
                              .on_execution = count_execution};
    int64_t before;

    before = pg_index_sum(test, &store, "idx_tup_read", "node_executions");
    assert_int_equal(before, 0);
    assert_ok(pg_submit_one(test, store, rows_start(&test->rows, id), NULL));
    pg_sql(test, "INSERT INTO node_executions (node_instance_id, cascade_id,"
                 " node_name, function_id, input_context, location)"
                 " SELECT 'p'||i, cascade_id,"
                 "  CASE WHEN i < 4 THEN 'cascade.child:n' ELSE 'n' END,"
                 "  i, '{}', 'server'"
                 " FROM node_executions, generate_series(1, 20000) AS i");
    before = pg_index_sum(test, &store, "idx_tup_read", "node_executions");
    for (int i = 0; i < 10; i++)
        assert_ok(store->driver->load(store->self, &id, 1, CASCADE_LOAD_FAMILY,
                                      &sink));
    assert_int_equal(count, 10 * 4);
    assert_in_range(
        pg_index_sum(test, &store, "idx_tup_read", "node_executions") - before,
        count, count + 10);
}

/* Cascades 1 to `count`, with a run of somebody else's and a message each; and
 * as many messages for the last of them. */
static void
fill(pg_test *test, int count)
{
    pg_sql(test,
           "INSERT INTO cascades (id, user_id)"
           " SELECT ('00000000-0000-7000-8000-'||lpad(i::text,12,'0'))"
           "   ::uuid, 'u' FROM generate_series(1, %d) AS i",
           count);
    pg_sql(test, "INSERT INTO cascade_runs"
                 " SELECT id, 'default', 5, 4000000000000,"
                 "  '00000000-0000-7000-8000-ffffffffffff', 1, 0, NULL"
                 " FROM cascades WHERE user_id = 'u'");
    pg_sql(test, "INSERT INTO cascade_messages"
                 " (cascade_id, kind, name, path, payload, sent_at)"
                 " SELECT id, 'k', '', 'each/'||id, '1', 0 FROM cascades"
                 " WHERE user_id = 'u'");
    pg_sql(test,
           "INSERT INTO cascade_messages"
           " (cascade_id, kind, name, path, payload, sent_at)"
           " SELECT ('00000000-0000-7000-8000-'||lpad('%d',12,'0'))::uuid,"
           "  'k', '', 'many/'||i, '1', 0 FROM generate_series(1, %d) AS i",
           count, count);
}

/* What messages there are for others does not matter to a claim but for its
 * walk, and not at all to receiving and sending; and the walk comes around. */
static void
messages_for_others_do_not_slow_down(void **state)
{
    enum {
        COUNT = 50000,
        WALK = 500
    };
    pg_test *test = *state;
    scene it = begin(test);
    cascade_store *store = NULL;
    cascade_uuid id;
    cascade_uuid parked = rows_id(&test->rows);
    cascade_change *change;
    int64_t before;
    bool messages;
    int claims = 0;

    /* The plans are made while the tables are empty. */
    before = pg_index_sum(test, &store, "idx_tup_read", "cascade_messages");
    it.store = store;
    id = own(&it);
    claim(&it, store, &messages);
    assert_false(messages);
    assert_int_equal(0, receive(&it).count);
    assert_int_equal(CASCADE_SENT, send_path(&it, id, "first"));
    change = rows_write(&test->rows, id, 0);
    rows_receive(&test->rows, change, receive(&it).last_id);
    rows_send(&test->rows, change, rows_message(&test->rows, id, "second"));
    assert_ok(pg_commit_one(test, store, it.engine, ++it.number, change));

    fill(test, COUNT);
    for (int i = 0; i < 10; i++) {
        inbox got = receive(&it);

        assert_int_equal(1, got.count);
        change = rows_write(&test->rows, id, 0);
        rows_receive(&test->rows, change, got.last_id);
        rows_send(&test->rows, change,
                  rows_message(&test->rows, id,
                               rows_text(&test->rows, "path %d", i)));
        assert_ok(pg_commit_one(test, store, it.engine, ++it.number, change));
        assert_int_equal(
            CASCADE_SENT_REPEATED,
            send_path(&it, id, rows_text(&test->rows, "path %d", i)));
        assert_int_equal(0, claim(&it, store, &messages));
        assert_true(messages);
    }
    assert_in_range(
        pg_index_sum(test, &store, "idx_tup_read", "cascade_messages") - before,
        10 * WALK, 10 * (WALK + 200));

    it.store = store;
    assert_ok(
        pg_submit_one(test, store, rows_start(&test->rows, parked), NULL));
    pg_sql(test, "UPDATE cascade_runs SET wake_at = 4000000000000");
    send_path(&it, parked, "wake up");
    while (claim(&it, store, &messages) == 0 && claims < COUNT)
        claims++;
    assert_in_range(claims, 0, COUNT / WALK + 2);
}

/* As many runs are named as one look walks over: whoever comes between two
 * claims does not make them see the same end of the walk each time. */
static cascade_err
count_received(void *context, const cascade_message_row *row, bool repeated)
{
    (void)row;
    (void)repeated;
    ++*(int *)context;
    return CASCADE_OK;
}

static void
spoil_messages(pg_test *test, const char *where)
{
    pg_sql(test,
           "UPDATE cascade_messages SET payload ="
           " (repeat('[', 200) || repeat(']', 200))::jsonb"
           " WHERE %s",
           where);
}

/* S74: nothing behind a message that cannot be read, of that cascade alone. */
static void
what_cannot_be_read_is_not_received(void **state)
{
    pg_test *test = *state;
    scene it = begin(test);
    cascade_uuid first = own(&it);
    cascade_uuid second = own(&it);
    const cascade_receive all = {
        .engine_id = it.engine, .limit = 10, .each = 10};
    int count = 0;

    for (int i = 0; i < 3; i++) {
        const char *path = rows_text(&test->rows, "a/message/%d", i);

        assert_int_equal(CASCADE_SENT, send_path(&it, first, path));
        path = rows_text(&test->rows, "b/message/%d", i);
        assert_int_equal(CASCADE_SENT, send_path(&it, second, path));
    }
    spoil_messages(test, "path = 'a/message/1'");
    assert_ok(it.store->driver->receive(it.store->self, &all, count_received,
                                        &count));
    assert_int_equal(4, count);
}

typedef struct taken {
    int64_t ids[20]; /* of messages, as they came */
    size_t count;
} taken;

static cascade_err
take(void *context, const cascade_message_row *row, bool repeated)
{
    taken *t = context;

    (void)repeated;
    assert_in_range(t->count, 0, 19);
    t->ids[t->count++] = row->id;
    return CASCADE_OK;
}

static int
compare_ids(const void *a, const void *b)
{
    return csc_uuid_compare(a, b);
}

/* As many at least, and where the bytes do not end it no more; each once. */
static void
receive_some(scene *it, const cascade_receive *some, size_t wanted)
{
    taken t = {.count = 0};

    assert_ok(it->store->driver->receive(it->store->self, some, take, &t));
    if (some->bytes_max == 0)
        assert_int_equal(wanted, t.count);
    assert_in_range(t.count, wanted, 5);
    for (size_t i = 1; i < t.count; i++)
        assert_true(t.ids[i] > t.ids[i - 1]);
}

/* What is behind them is reached, once, in order, whatever the limits: S74. */
static void
what_cannot_be_read_does_not_use_up_the_limits(void **state)
{
    enum {
        OWNED = 6,
        EACH = 3
    };
    pg_test *test = *state;
    scene it = begin(test);
    cascade_receive some = {.engine_id = it.engine, .each = EACH};
    cascade_uuid ids[OWNED];

    for (int i = 0; i < OWNED; i++)
        ids[i] = own(&it);
    qsort(ids, OWNED, sizeof(*ids), compare_ids);
    for (int i = 0; i < OWNED * EACH; i++)
        assert_int_equal(CASCADE_SENT,
                         send_path(&it, ids[i / EACH],
                                   rows_text(&test->rows, "%d/message/%d",
                                             i / EACH, i % EACH)));
    /* Of the first four all, of the fifth the last, of the sixth none. */
    spoil_messages(test, "path < '4' OR path = '4/message/2'");
    for (some.limit = 1; some.limit < OWNED * EACH; some.limit++)
        receive_some(&it, &some, some.limit < 5 ? some.limit : 5);
    for (some.bytes_max = 1; some.bytes_max <= 4096; some.bytes_max *= 2)
        receive_some(&it, &some, some.bytes_max < 4096 ? 1 : 5);
}

static void
walks_are_not_shared(void **state)
{
    enum {
        WALK = 500
    };
    pg_test *test = *state;
    scene it = begin(test);
    scene other = it;
    cascade_store *store = it.store;
    bool messages;
    size_t found = 0;

    other.engine = pg_attach(test, store, PG_LEASE_MS);
    fill(test, WALK);
    pg_sql(test, "UPDATE cascade_runs SET engine_id = NULL");
    for (int i = 0; i < WALK / LIMIT; i++) {
        size_t claimed;

        assert_int_equal(0, claim_as(&it, store, "default", true, &messages));
        claimed = claim(&it, store, &messages);
        assert_in_range(claimed, 1, LIMIT);
        assert_int_equal(0, claim_as(&other, store, "other", false, &messages));
        found += claimed;
    }
    assert_in_range(found, WALK - WALK % LIMIT, WALK);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        PG_TEST(crossing_sends_do_not_wait_for_each_other),
        PG_TEST(a_message_that_crosses_its_receipt_is_told_as_repeated),
        PG_TEST(a_deletion_and_a_claim_of_an_ended_cascade_go_together),
        PG_TEST(a_key_goes_from_run_to_run),
        PG_TEST(a_run_that_came_and_went_is_not_started_again),
        PG_TEST(a_deleted_cascade_leaves_no_row),
        PG_TEST(who_has_no_messages_pays_for_none),
        PG_TEST(a_family_is_read_past_all_others),
        PG_TEST(messages_for_others_do_not_slow_down),
        PG_TEST(what_cannot_be_read_is_not_received),
        PG_TEST(what_cannot_be_read_does_not_use_up_the_limits),
        PG_TEST(walks_are_not_shared),
    };

    return pg_main("postgres: messages", tests,
                   sizeof(tests) / sizeof(tests[0]), argc, argv);
}
