/* SPDX-License-Identifier: MIT
 *
 * Looking after what is stored where PostgreSQL is particular: that pages,
 * counts and claims read no more than they tell, with plans that were made
 * while the tables were empty; and what repairs, purges, claims and batches do
 * to each other, seen one step at a time by holding a row with a connection of
 * the test's own.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/postgres/postgres_fixture.h"
#include "support/in_time.h"

#define FIRST "00000000-0000-7000-8000-000000000001"
#define SECOND "00000000-0000-7000-8000-000000000002"
#define MANY 20000
#define PATIENT_MS (10 * PG_UNTIL_MS)

static cascade_uuid
parse(const char *text)
{
    cascade_uuid id;

    assert_ok(cascade_uuid_parse(text, &id));
    return id;
}

/* Cascades 1 to `count`, ended long ago. */
static void
make_ended(pg_test *test, int count)
{
    pg_sql(test,
           "INSERT INTO cascades (id, status, user_id, updated_at)"
           " SELECT ('00000000-0000-7000-8000-'||lpad(i::text,12,'0'))"
           "   ::uuid, 'COMPLETED', 'u', '2020-01-01'"
           " FROM generate_series(1, %d) AS i",
           count);
}

/* ---- What is read -------------------------------------------------------- */

static cascade_err
count_execution(void *context, const cascade_execution_row *row)
{
    (void)row;
    ++*(size_t *)context;
    return CASCADE_OK;
}

static cascade_err
count_event(void *context, const cascade_event_row *row)
{
    (void)row;
    ++*(size_t *)context;
    return CASCADE_OK;
}

static size_t
scan(cascade_store *store, const cascade_scan *page)
{
    size_t count = 0;
    cascade_load_sink sink = {.context = &count,
                              .on_execution = count_execution,
                              .on_event = count_event};

    assert_ok(store->driver->scan(store->self, page, &sink));
    return count;
}

/* One execution of the first cascade for each function_id, with an event; but a
 * tenth of the events is of execution 7. */
static void
fill_first(pg_test *test)
{
    make_ended(test, 1);
    pg_sql(test,
           "INSERT INTO node_executions (id, node_instance_id, cascade_id,"
           " node_name, function_id, input_context, location)"
           " SELECT ('00000000-0000-7000-8000-'||lpad(i::text,12,'0'))"
           "   ::uuid, 'p'||i, '" FIRST "', 'n', i, '{}', 'server'"
           " FROM generate_series(1, %d) AS i",
           MANY);
    pg_sql(test,
           "INSERT INTO context_events (key, value, function_id, cascade_id)"
           " SELECT 'k', '1', CASE WHEN i %% 10 = 0 THEN 7 ELSE i END,"
           "  '" FIRST "' FROM generate_series(1, %d) AS i",
           MANY);
}

/* S28: a page reads its rows, and of events a few more. */
static void
a_page_reads_what_it_gives(void **state)
{
    pg_test *test = *state;
    cascade_store *store = NULL;
    cascade_uuid id = parse(FIRST);
    cascade_uuid after = parse("00000000-0000-7000-8000-000000010000");
    const cascade_scan executions = {
        .cascade_id = &id, .from = MANY / 2, .limit = 100};
    const cascade_scan events = {
        .cascade_id = &id, .events = true, .from = MANY / 2, .limit = 100};
    const cascade_scan all = {.after = &after, .limit = 100};
    int64_t before =
        pg_index_sum(test, &store, "idx_tup_read", "node_executions");
    int64_t before_events =
        pg_index_sum(test, &store, "idx_tup_read", "context_events");

    assert_int_equal(0, scan(store, &executions) + scan(store, &events) +
                            scan(store, &all));
    fill_first(test);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(100, scan(store, &executions));
        assert_int_equal(100, scan(store, &events));
        assert_int_equal(100, scan(store, &all));
    }
    assert_in_range(
        pg_index_sum(test, &store, "idx_tup_read", "node_executions") - before,
        10 * 200, 10 * 210);
    assert_in_range(
        pg_index_sum(test, &store, "idx_tup_read", "context_events") -
            before_events,
        10 * 200, 10 * 210);
}

static cascade_err
count_listed(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)row;
    assert_non_null(run);
    ++*(size_t *)context;
    return CASCADE_OK;
}

/* S14: a page of a queue passes over no cascade that has no run, nor over the
 * runs of the pages before. */
static void
a_queue_is_listed_from_its_runs(void **state)
{
    pg_test *test = *state;
    cascade_store *store = NULL;
    cascade_uuid after = parse("00000000-0000-7000-8000-000000010000");
    const cascade_query query = {
        .queue = "default", .after = &after, .limit = 10};
    size_t count = 0;
    int64_t cascades;
    int64_t runs;

    make_ended(test, MANY);
    pg_sql(test, "INSERT INTO cascade_runs SELECT id, 'default', 5, 0, NULL, 0,"
                 " 0, NULL FROM cascades WHERE id::text LIKE '%%00'");
    cascades = pg_index_sum(test, &store, "idx_tup_read", "cascades");
    runs = pg_index_sum(test, &store, "idx_tup_read", "cascade_runs");
    assert_ok(store->driver->list(store->self, &query, count_listed, &count));
    assert_int_equal(10, count);
    assert_in_range(pg_index_sum(test, &store, "idx_tup_read", "cascades") -
                        cascades,
                    10, 20);
    assert_in_range(pg_index_sum(test, &store, "idx_tup_read", "cascade_runs") -
                        runs,
                    10, 20);
}

/* A session that looks after the database itself may keep a vacuum from marking
 * pages as visible to all. One with few dead rows it may leave alone. */
static void
vacuum_whole(pg_test *test)
{
    const struct timespec pause = {0, 50000000};
    int64_t end_ms = 0;

    do {
        pg_sql(test, "VACUUM ANALYZE cascades, cascade_messages");
        if (pg_number(test, "SELECT relpages - relallvisible FROM pg_class"
                            " WHERE oid = 'cascades'::regclass") <= 1)
            return;
        (void)nanosleep(&pause, NULL);
    } while (in_time(&end_ms, PG_UNTIL_MS));
    fail_msg("pages stay invisible to others");
}

/* ---- Lists --------------------------------------------------------------- */

#define LISTED 100000

/* Cascades 1 to LISTED, of one user but for a few, and the last ones RUNNING,
 * with runs of two queues. None is in ERROR. */
static void
fill_lists(pg_test *test)
{
    pg_sql(test,
           "INSERT INTO cascades (id, status, user_id, updated_at)"
           " SELECT ('00000000-0000-7000-8000-'||lpad(i::text,12,'0'))::uuid,"
           "  CASE WHEN i > %d THEN 'RUNNING' ELSE 'COMPLETED' END"
           "   ::cascade_status,"
           "  CASE WHEN i %% 10007 = 0 THEN 'few' ELSE 'many' END, '2020-01-01'"
           " FROM generate_series(1, %d) AS i",
           LISTED / 10 * 9, LISTED);
    pg_sql(test, "INSERT INTO cascade_runs SELECT id,"
                 "  CASE WHEN id::text LIKE '%%500' THEN 'small' ELSE 'large'"
                 "   END, 5, 0, NULL, 0, 0, NULL"
                 " FROM cascades WHERE status = 'RUNNING'");
}

static cascade_err
count_any(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)row;
    (void)run;
    ++*(size_t *)context;
    return CASCADE_OK;
}

/* What is asked for, and how many there are within the limit. */
typedef struct listed {
    cascade_query query;
    size_t count;
} listed;

#define LISTS 10

static void
make_lists(listed lists[LISTS], const cascade_uuid *after)
{
    const listed all[LISTS] = {
        {{.user_id = "few"}, 9},
        {{.user_id = "few", .after = after}, 5},
        {{.user_id = "many"}, 10},
        {{.user_id = "many", .status = CASCADE_ERROR}, 0},
        {{.user_id = "many", .status = CASCADE_COMPLETED, .after = after}, 10},
        {{.user_id = "nobody"}, 0},
        {{.status = CASCADE_ERROR}, 0},
        {{.status = CASCADE_RUNNING}, 10},
        {{.queue = "small"}, 10},
        {{.queue = "empty"}, 0},
    };

    memcpy(lists, all, sizeof(all));
}

static int64_t
count_looked_at(pg_test *test, cascade_store **store)
{
    int64_t cascades = pg_index_sum(test, store, "idx_tup_read", "cascades");

    return cascades +
           pg_index_sum(test, store, "idx_tup_read", "cascade_runs") +
           pg_number(test, "SELECT sum(seq_tup_read) FROM pg_stat_user_tables"
                           " WHERE relid IN ('cascades'::regclass,"
                           "  'cascade_runs'::regclass)");
}

/* Each list by a handle of its own: what it reads is told when that is closed.
 */
static void
expect_few_reads(pg_test *test, const listed *list)
{
    cascade_store *store = NULL;
    int64_t before = count_looked_at(test, &store);
    cascade_query query = list->query;
    size_t count = 0;

    query.limit = 10;
    assert_ok(store->driver->list(store->self, &query, count_any, &count));
    assert_int_equal(list->count, count);
    assert_in_range(count_looked_at(test, &store) - before, 0, 60);
}

/* S14: whatever is asked for, a page reads what it gives, however many others
 * there are; while the planner knows nothing of the tables, and when it does.
 */
static void
lists_are_look_ups(void **state)
{
    pg_test *test = *state;
    cascade_uuid after = parse("00000000-0000-7000-8000-000000045000");
    listed lists[LISTS];

    make_lists(lists, &after);
    fill_lists(test);
    for (size_t i = 0; i < LISTS; i++)
        expect_few_reads(test, &lists[i]);
    vacuum_whole(test);
    pg_sql(test, "VACUUM ANALYZE cascade_runs");
    for (size_t i = 0; i < LISTS; i++)
        expect_few_reads(test, &lists[i]);
}

/* HOT: the indexes of lists have no column that a step changes. */
static void
a_step_changes_no_index_of_cascades(void **state)
{
    pg_test *test = *state;

    make_ended(test, 1);
    pg_sql(test, "UPDATE cascades SET status = 'RUNNING'");
    for (int i = 1; i <= 20; i++)
        pg_sql(test,
               "UPDATE cascades SET status = 'RUNNING', fn_id = %d,"
               " updated_at = updated_at + '1s'",
               i);
    (void)pg_number(test, "SELECT 1 FROM pg_stat_force_next_flush()");
    assert_int_equal(
        20, pg_number(test, "SELECT n_tup_hot_upd FROM pg_stat_user_tables"
                            " WHERE relid = 'cascades'::regclass"));
    assert_int_equal(21,
                     pg_number(test, "SELECT n_tup_upd FROM pg_stat_user_tables"
                                     " WHERE relid = 'cascades'::regclass"));
}

/* ---- Counts and repairs -------------------------------------------------- */

/* Counts read indexes, which have all that is counted; of the table the pages
 * that were written a moment ago. */
static void
totals_read_indexes(void **state)
{
    pg_test *test = *state;
    cascade_store *store = NULL;
    cascade_totals totals;
    int64_t before;

    make_ended(test, MANY);
    pg_sql(test, "UPDATE cascades SET status = 'ERROR' WHERE id = '" FIRST "'");
    pg_sql(test, "INSERT INTO cascade_messages"
                 " (cascade_id, kind, name, path, payload, sent_at)"
                 " VALUES ('" FIRST "', 'k', '', 'p', '1', 0)");
    vacuum_whole(test);
    before = pg_index_sum(test, &store, "idx_tup_fetch", "cascades");
    assert_ok(store->driver->manage->totals(store->self, &totals));
    assert_int_equal(0, totals.running);
    assert_int_equal(MANY - 1, totals.completed);
    assert_int_equal(1, totals.failed);
    assert_int_equal(1, totals.messages);
    assert_in_range(pg_index_sum(test, &store, "idx_tup_fetch", "cascades") -
                        before,
                    0, MANY / 100);
    assert_int_equal(1, pg_number(test,
                                  "SELECT idx_scan FROM pg_stat_user_indexes"
                                  " WHERE indexrelid ="
                                  "  'cascades_user_id_status_idx'::regclass"));
}

static int64_t
count_read(pg_test *test, cascade_store **store)
{
    static const char *const tables[] = {"cascades", "node_executions",
                                         "context_events"};
    int64_t sum = 0;

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        sum += pg_index_sum(test, store, "idx_tup_read", tables[i]);
    return sum + pg_number(test,
                           "SELECT sum(seq_tup_read) FROM pg_stat_user_tables"
                           " WHERE relid IN ('node_executions'::regclass,"
                           "  'context_events'::regclass)");
}

/* S26, S27: what a repair and a purge cost does not grow with what others
 * have. */
static void
mending_reads_what_it_changes(void **state)
{
    pg_test *test = *state;
    cascade_store *store = NULL;
    cascade_uuid ids[] = {parse(FIRST), parse(SECOND)};
    const cascade_repair repair = {
        .was = {.id = ids[0], .status = CASCADE_COMPLETED},
        .status = CASCADE_ERROR};
    int64_t before;
    size_t deleted = 0;
    bool done = false;

    make_ended(test, MANY);
    pg_sql(test, "INSERT INTO node_executions (node_instance_id, cascade_id,"
                 " node_name, function_id, input_context, location)"
                 " SELECT 'p'||id, id, 'n', 0, '{}', 'server' FROM cascades");
    pg_sql(test, "INSERT INTO context_events (key, value, function_id,"
                 " cascade_id) SELECT 'k', '1', 0, id FROM cascades");
    before = count_read(test, &store);
    assert_ok(store->driver->manage->repair(store->self, &repair, 1, &done));
    assert_true(done);
    assert_ok(
        store->driver->manage->purge(store->self, ids, 2, INT64_MAX, &deleted));
    assert_int_equal(2, deleted);
    assert_in_range(count_read(test, &store) - before, 2, 50);
    assert_int_equal(3 * (MANY - 2),
                     pg_number(test, "SELECT (SELECT count(*) FROM cascades)"
                                     " + (SELECT count(*) FROM node_executions)"
                                     " + (SELECT count(*) FROM"
                                     "   context_events)"));
}

/* S25: however many due runs a paused queue has, a claim probes for its pause
 * and for nothing else of it. */
static void
a_claim_looks_at_no_run_of_a_paused_queue(void **state)
{
    static const char *const queues[] = {"paused", "open"};
    pg_test *test = *state;
    cascade_store *store = NULL;
    bool paused[2] = {false, true};
    bool changed = false;
    cascade_claim claim = {
        .queues = queues, .queue_count = 2, .limit = 10, .suspect_from = 3};
    cascade_claimed claimed[10];
    cascade_claim_result result = {.paused = paused};
    int64_t before = pg_index_sum(test, &store, "idx_tup_read", "cascade_runs");
    int64_t probes = pg_index_sum(test, &store, "idx_scan", "cascade_queues");

    claim.engine_id = pg_attach(test, store, PG_LEASE_MS);
    assert_ok(store->driver->claim(store->self, &claim, claimed, &result));
    assert_false(paused[0] || paused[1]);
    make_ended(test, MANY);
    pg_sql(test, "INSERT INTO cascade_runs SELECT id, 'paused', 5, 0, NULL, 0,"
                 " 0, NULL FROM cascades");
    assert_ok(store->driver->manage->pause(store->self, "paused", true, NULL,
                                           &changed));
    assert_true(changed);
    for (int i = 0; i < 20; i++) {
        assert_ok(store->driver->claim(store->self, &claim, claimed, &result));
        assert_int_equal(0, result.count);
        assert_true(paused[0] && !paused[1]);
    }
    assert_int_equal(
        0, pg_index_sum(test, &store, "idx_tup_read", "cascade_runs") - before);
    assert_in_range(pg_index_sum(test, &store, "idx_scan", "cascade_queues") -
                        probes,
                    21, 2 * 21 + 1);
}

/* A claim of `slots` by turns; how many runs it has given. */
static size_t
claim_turns(cascade_store *store, cascade_uuid engine_id, size_t slots)
{
    static const char *const queue = "turns";
    cascade_claim claim = {.engine_id = engine_id,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 10,
                           .slots = slots,
                           .suspect_from = 3};
    cascade_claimed claimed[10];
    cascade_claim_result result = {.count = 0};

    assert_ok(store->driver->claim(store->self, &claim, claimed, &result));
    return result.count;
}

/* S98: of a queue with limits a claim reads what it takes, and a row for each
 * key that it is at, however many runs wait; also by plans that were made when
 * there were none. What was taken before is read too, until it is swept. */
static void
a_claim_by_turns_reads_no_backlog(void **state)
{
    const cascade_limits_row limits = {.queue = "turns",
                                       .running_max = 100,
                                       .key_running_max = 50,
                                       .about = "{}"};
    pg_test *test = *state;
    cascade_store *store = NULL;
    int64_t before = pg_index_sum(test, &store, "idx_tup_read", "cascade_runs");
    cascade_uuid engine_id = pg_attach(test, store, PG_LEASE_MS);
    int64_t version = 0;
    bool done = false;

    assert_ok(
        store->driver->limits->set(store->self, &limits, &done, &version));
    make_ended(test, 1);
    pg_sql(test, "INSERT INTO cascade_runs (cascade_id, queue, priority,"
                 " wake_at, claim_no, takeovers) SELECT id, 'turns', 5, 0, 0, 0"
                 " FROM cascades");
    assert_int_equal(1, claim_turns(store, engine_id, 2));
    pg_sql(test, "DELETE FROM cascades");
    make_ended(test, MANY);
    pg_sql(test, "INSERT INTO cascade_runs (cascade_id, queue, priority,"
                 " wake_at, claim_no, takeovers, needs, limit_key) SELECT id,"
                 " 'turns', 5, 0, 0, 0, 'cascade.turn', CASE WHEN"
                 " row_number() OVER (ORDER BY id) = 1 THEN 'b' ELSE 'a' END"
                 " FROM cascades");
    for (int i = 0; i < 10; i++)
        assert_int_equal(2, claim_turns(store, engine_id, 2));
    assert_in_range(pg_index_sum(test, &store, "idx_tup_read", "cascade_runs") -
                        before,
                    20, MANY / 10);
}

/* One claim by turns, in a thread of its own. */
typedef struct turning {
    pthread_t thread;
    cascade_store *store;
    cascade_uuid engine_id;
    size_t count;
    atomic_bool over;
} turning;

static void *
turn(void *context)
{
    turning *it = context;

    it->count = claim_turns(it->store, it->engine_id, 2);
    atomic_store(&it->over, true);
    return NULL;
}

/* S96: a claim gives no slot while another has the queue, and counts when it
 * has got it: it sees the slot that was given meanwhile. One that does not get
 * it soon gives in, and nothing is lost. */
static void
a_claim_by_turns_counts_behind_the_lock(void **state)
{
    const cascade_limits_row limits = {
        .queue = "turns", .running_max = 1, .about = "{}"};
    pg_test *test = *state;
    turning it = {.count = 99};
    int64_t version = 0;
    bool done = false;

    (void)pg_index_sum(test, &it.store, "idx_scan", "cascade_runs");
    it.engine_id = pg_attach(test, it.store, PG_LEASE_MS);
    assert_ok(it.store->driver->limits->set(it.store->self, &limits, &done,
                                            &version));
    make_ended(test, 2);
    pg_sql(test, "INSERT INTO cascade_runs (cascade_id, queue, priority,"
                 " wake_at, claim_no, takeovers) SELECT id, 'turns', 5, 0, 0, 0"
                 " FROM cascades");
    pg_sql(test, "BEGIN");
    pg_sql(test, "SELECT 1 FROM cascade_queues FOR NO KEY UPDATE");
    assert_int_equal(0, claim_turns(it.store, it.engine_id, 2));
    pg_sql(test, "UPDATE cascade_runs SET engine_id = gen_random_uuid(),"
                 " slot = 1 WHERE cascade_id = '" FIRST "'");
    assert_int_equal(0, pthread_create(&it.thread, NULL, turn, &it));
    while (!atomic_load(&it.over) &&
           pg_number(test, "SELECT count(*) FROM pg_locks WHERE NOT granted") ==
               0)
        ;
    pg_sql(test, "COMMIT");
    pthread_join(it.thread, NULL);
    assert_int_equal(0, it.count);
    pg_sql(test, "UPDATE cascade_runs SET engine_id = NULL, slot = 0");
    assert_int_equal(1, claim_turns(it.store, it.engine_id, 2));
}

/* ---- What waits for what ------------------------------------------------- */

/* A purge, or a repair where there is one, in a thread of its own. */
typedef struct mending {
    pthread_t thread;
    cascade_store *store;
    cascade_uuid ids[2];
    size_t count;
    const cascade_repair *repair;
    size_t changed; /* how many were */
    cascade_err err;
} mending;

static void *
mend(void *context)
{
    mending *it = context;
    const cascade_store_driver *driver = it->store->driver;
    bool done = true;

    if (it->repair == NULL) {
        it->err = driver->manage->purge(it->store->self, it->ids, it->count,
                                        INT64_MAX, &it->changed);
        return NULL;
    }
    it->err = driver->manage->repair(it->store->self, it->repair, 1, &done);
    it->changed = done;
    return NULL;
}

/* Begins it, by a handle of its own, and returns when it waits for a lock: its
 * backends have a name of their own, for others use the server too. They would
 * wait for longer than the test does, and do not look for deadlocks. */
static void
begin_mending(pg_test *test, mending *it)
{
    cascade_store_options options = pg_options(test);
    char url[1200];

    snprintf(url, sizeof(url), "%s options='-c deadlock_timeout=10min'",
             pg_conninfo());
    options.application_name = test->schema;
    options.deadline_ms = PATIENT_MS;
    it->store = pg_open(test, url, &options);
    it->changed = 99;
    assert_int_equal(0, pthread_create(&it->thread, NULL, mend, it));
    pg_until(test,
             "SELECT (count(*) > 0)::int FROM pg_locks AS l"
             " JOIN pg_stat_activity AS a USING (pid)"
             " WHERE NOT l.granted AND a.application_name = '%s'",
             test->schema);
}

/* As a claim does for an ended cascade that a message names. */
static void
make_run(pg_test *test)
{
    pg_sql(test, "INSERT INTO cascade_runs VALUES ('" FIRST "', 'default', 5,"
                 " 0, gen_random_uuid(), 1, 0, NULL)");
}

/* S26 */
static void
a_purge_leaves_the_run_that_a_claim_is_making(void **state)
{
    pg_test *test = *state;
    mending purge = {.ids = {parse(FIRST), parse(SECOND)}, .count = 2};

    make_ended(test, 2);
    pg_sql(test, "BEGIN");
    make_run(test);
    begin_mending(test, &purge);
    pg_sql(test, "COMMIT");
    pthread_join(purge.thread, NULL);
    assert_int_equal(CASCADE_OK, purge.err);
    assert_int_equal(1, purge.changed);
    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM cascades"
                                        " JOIN cascade_runs ON cascade_id = id"
                                        " WHERE id = '" FIRST "'"));
}

/* S27 */
static void
a_repair_leaves_the_run_that_a_claim_is_making(void **state)
{
    pg_test *test = *state;
    const cascade_repair repair = {
        .was = {.id = parse(FIRST), .status = CASCADE_COMPLETED},
        .status = CASCADE_RUNNING,
        .fn_id = 7,
        .starts = true,
        .run = {.queue = "default"}};
    mending mended = {.repair = &repair};

    make_ended(test, 1);
    pg_sql(test, "BEGIN");
    make_run(test);
    begin_mending(test, &mended);
    pg_sql(test, "COMMIT");
    pthread_join(mended.thread, NULL);
    assert_int_equal(CASCADE_OK, mended.err);
    assert_int_equal(0, mended.changed);
    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM cascades"
                                        " WHERE status = 'COMPLETED'"
                                        "  AND fn_id = 0"));
}

/* A message that came while the purge waited was there before it judged. */
static void
a_purge_leaves_what_has_got_a_message(void **state)
{
    pg_test *test = *state;
    mending purge = {.ids = {parse(FIRST)}, .count = 1};

    make_ended(test, 1);
    pg_sql(test, "BEGIN");
    pg_sql(test, "SELECT 1 FROM cascades FOR KEY SHARE");
    begin_mending(test, &purge);
    pg_sql(test, "INSERT INTO cascade_messages"
                 " (cascade_id, kind, name, path, payload, sent_at)"
                 " VALUES ('" FIRST "', 'k', '', 'p', '1', 0)");
    pg_sql(test, "COMMIT");
    pthread_join(purge.thread, NULL);
    assert_int_equal(CASCADE_OK, purge.err);
    assert_int_equal(0, purge.changed);
    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM cascades"));
}

/* Named in any order: while it waits for the first it holds no other. */
static void
a_purge_locks_in_the_order_of_ids(void **state)
{
    pg_test *test = *state;
    mending purge = {.ids = {parse(SECOND), parse(FIRST)}, .count = 2};

    make_ended(test, 2);
    pg_sql(test, "BEGIN");
    pg_sql(test, "SELECT 1 FROM cascades WHERE id = '" FIRST "' FOR KEY SHARE");
    begin_mending(test, &purge);
    pg_sql(test,
           "SELECT 1 FROM cascades WHERE id = '" SECOND "' FOR UPDATE NOWAIT");
    pg_sql(test, "COMMIT");
    pthread_join(purge.thread, NULL);
    assert_int_equal(CASCADE_OK, purge.err);
    assert_int_equal(2, purge.changed);
}

/* A batch that has the second and needs the first gets it: the purge lets go,
 * and nobody looks for deadlocks. */
static void
a_purge_gives_in_to_a_batch(void **state)
{
    pg_test *test = *state;
    mending purge = {.ids = {parse(FIRST), parse(SECOND)}, .count = 2};

    make_ended(test, 2);
    pg_sql(test, "SET deadlock_timeout = '10min'");
    pg_sql(test, "BEGIN");
    pg_sql(test,
           "SELECT 1 FROM cascades WHERE id = '" SECOND "' FOR KEY SHARE");
    begin_mending(test, &purge);
    pg_sql(test, "SELECT 1 FROM cascades WHERE id = '" FIRST "' FOR KEY SHARE");
    pg_sql(test, "UPDATE cascades SET status = 'RUNNING'");
    pg_sql(test, "COMMIT");
    pthread_join(purge.thread, NULL);
    assert_int_equal(CASCADE_OK, purge.err);
    assert_int_equal(0, purge.changed);
}

/* S16: who cannot get a lock until the deadline leaves everything as it was. */
static void
a_purge_that_cannot_get_a_lock_changes_nothing(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    cascade_uuid ids[] = {parse(FIRST), parse(SECOND)};
    cascade_store *store;
    size_t deleted = 99;

    make_ended(test, 2);
    options.deadline_ms = 500;
    store = pg_open(test, NULL, &options);
    pg_sql(test, "BEGIN");
    pg_sql(test,
           "SELECT 1 FROM cascades WHERE id = '" SECOND "' FOR KEY SHARE");
    assert_fails(
        CASCADE_ERR_UNAVAILABLE,
        store->driver->manage->purge(store->self, ids, 2, INT64_MAX, &deleted));
    assert_int_equal(99, deleted);
    pg_until(test, "SELECT (count(*) = 0)::int FROM pg_locks AS l"
                   " WHERE l.relation = 'cascades'::regclass"
                   "  AND l.pid <> pg_backend_pid()");
    pg_sql(test, "SELECT 1 FROM cascades FOR UPDATE NOWAIT");
    pg_sql(test, "COMMIT");
    store = test->handles[0];
    assert_ok(
        store->driver->manage->purge(store->self, ids, 2, INT64_MAX, &deleted));
    assert_int_equal(2, deleted);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        PG_TEST(a_page_reads_what_it_gives),
        PG_TEST(a_queue_is_listed_from_its_runs),
        PG_TEST(lists_are_look_ups),
        PG_TEST(a_step_changes_no_index_of_cascades),
        PG_TEST(totals_read_indexes),
        PG_TEST(mending_reads_what_it_changes),
        PG_TEST(a_claim_looks_at_no_run_of_a_paused_queue),
        PG_TEST(a_claim_by_turns_reads_no_backlog),
        PG_TEST(a_claim_by_turns_counts_behind_the_lock),
        PG_TEST(a_purge_leaves_the_run_that_a_claim_is_making),
        PG_TEST(a_repair_leaves_the_run_that_a_claim_is_making),
        PG_TEST(a_purge_leaves_what_has_got_a_message),
        PG_TEST(a_purge_locks_in_the_order_of_ids),
        PG_TEST(a_purge_gives_in_to_a_batch),
        PG_TEST(a_purge_that_cannot_get_a_lock_changes_nothing),
    };

    return pg_main_apart("postgres: management", tests,
                         sizeof(tests) / sizeof(tests[0]), argc, argv);
}
