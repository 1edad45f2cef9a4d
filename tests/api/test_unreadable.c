/* SPDX-License-Identifier: MIT
 *
 * Rows that cannot be read: whoever looks at many cascades tells of them, and
 * goes on; and they keep no other cascade from going on (S73, S74, G15).
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/raw_sql.h"
#include "base/uuid.h"
#include "cascade/manage.h"
#include "store/store.h"
#include "support/keyed.h"

#define COUNT 7
#define BAD 3 /* of these, by their ids */
/* A name as long as they may be. */
#define FORTY "a-name-of-forty-characters-that-is-long-"
#define WAITER FORTY FORTY FORTY "at-last-"
#define GARBAGE "not an id at all, of fifty characters or somewhat more"

/* ---- Cascades of which one cannot be read -------------------------------- */

/* Sets a time that is none. */
static void
spoil_row(test_db *db, const cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    char sql[200];

    (void)snprintf(sql, sizeof(sql),
                   "UPDATE cascades SET updated_at = '%s' WHERE id = '%s'",
                   strcmp(db->backend->name, "sqlite") == 0 ? "soon"
                                                            : "infinity",
                   cascade_uuid_format(id, text));
    raw_sql(db, sql);
}

#define DEAD "ffffffff-e894-7cea-948a-dd0c541c14c6"

/* As an engine leaves it that has died. */
static void
leave_to_dead(test_db *db, const cascade_uuid *id)
{
    bool sqlite = strcmp(db->backend->name, "sqlite") == 0;
    char text[CASCADE_UUID_TEXT_SIZE];
    char sql[500];

    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO cascade_engines (engine_id, host, pid,"
                   " process_start, %s) VALUES ('" DEAD "', 'h', 1, 1, %s);"
                   " UPDATE cascade_runs SET engine_id = '" DEAD "'"
                   " WHERE cascade_id = '%s'",
                   sqlite ? "boot, lease_ms, lease_until_ms, attached_at"
                          : "lane_count, lease_until",
                   sqlite ? "'b', 1, 1, 1" : "1, 1",
                   cascade_uuid_format(id, text));
    raw_sql(db, sql);
}

/* All of them have to be claimed, and the first one's owner to be removed. */
static void
run_all(test_db *db, cascade_store *store, cascade_uuid *ids, size_t count)
{
    cascade_engine *engine = NULL;

    for (size_t i = 0; i < count; i++)
        ids[i] = db_start(store, "leaf");
    leave_to_dead(db, &ids[0]);
    engine = db_engine(db, store, NULL);
    assert_ok(
        cascade_engine_register(engine, "leaf", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    for (size_t i = 0; i < count; i++)
        db_await(store, &ids[i], CASCADE_COMPLETED);
    db_close_engine(db, engine);
}

static int
compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cascade_uuid));
}

/* COUNT cascades that have ended, by their ids, of which one is spoilt. */
static cascade_store *
make_ended(test_db *db, cascade_uuid ids[COUNT])
{
    cascade_store *store = db_store(db);

    db->unsound = true;
    run_all(db, store, ids, COUNT);
    qsort(ids, COUNT, sizeof(*ids), compare_ids);
    spoil_row(db, &ids[BAD]);
    return store;
}

/* ---- Telling ------------------------------------------------------------- */

typedef struct told {
    int readable; /* V1, or A13 */
    int others;
    cascade_uuid id; /* of the last of the first */
    char text[512];
} told;

static bool
note(void *context, const cascade_uuid *id, int32_t function_id,
     const char *rule, const char *text)
{
    told *t = context;

    (void)function_id;
    if (strstr(rule, "readable") == NULL) {
        t->others++;
        return true;
    }
    t->readable++;
    t->id = *id;
    (void)snprintf(t->text, sizeof(t->text), "%s", text);
    return true;
}

static cascade_check_report
verify(cascade_store *store, told *t, const cascade_uuid *id)
{
    const cascade_check_options options = {
        .size = sizeof(options), .finding = note, .context = t, .id = id};
    cascade_check_report report = {.size = sizeof(report)};

    *t = (told){.readable = 0};
    assert_ok(cascade_verify(store, &options, &report));
    assert_int_equal(report.findings, t->readable + t->others);
    return report;
}

static void
verify_names_it_and_judges_the_rest(test_db *db)
{
    cascade_uuid ids[COUNT];
    cascade_store *store = make_ended(db, ids);
    char text[CASCADE_UUID_TEXT_SIZE];
    told t;

    raw_sql(db, "UPDATE cascades SET fn_id = -1");
    assert_int_equal(COUNT, verify(store, &t, NULL).cascades);
    assert_int_equal(1, t.readable);
    assert_int_equal(2 * (COUNT - 1), t.others); /* V3, V9 */
    assert_memory_equal(&ids[BAD], &t.id, sizeof(t.id));
    assert_non_null(strstr(t.text, cascade_uuid_format(&ids[BAD], text)));
    assert_non_null(strstr(t.text, "updated_at"));
    assert_int_equal(1, verify(store, &t, &ids[BAD]).cascades);
    assert_int_equal(1, t.readable);
    assert_int_equal(0, t.others);
}

static void
adopt_takes_in_the_others(test_db *db)
{
    cascade_uuid ids[COUNT];
    cascade_store *store = make_ended(db, ids);
    told t = {.readable = 0};
    const cascade_check_options options = {
        .size = sizeof(options), .finding = note, .context = &t};
    cascade_check_report report = {.size = sizeof(report)};

    raw_sql(db, "UPDATE cascades SET status = 'RUNNING'");
    assert_ok(cascade_adopt(store, &options, &report));
    assert_int_equal(COUNT, report.cascades);
    assert_int_equal(COUNT - 1, report.repaired);
    assert_int_equal(1, report.unreadable);
    assert_int_equal(1, t.readable);
    assert_memory_equal(&ids[BAD], &t.id, sizeof(t.id));
    assert_ok(cascade_adopt(store, &options, &report));
    assert_int_equal(0, report.repaired);
}

/* In pages of each size: every other one once, it in none, and told once. */
static void
lists_go_on_behind_it(test_db *db)
{
    cascade_uuid ids[COUNT];
    cascade_store *store = make_ended(db, ids);

    for (size_t limit = 1; limit <= COUNT + 1; limit++) {
        cascade_list_options options = {.size = sizeof(options),
                                        .limit = limit};
        cascade_uuid after;
        size_t seen = 0;
        size_t unreadable = 0;
        size_t count = limit;

        while (count == limit) {
            cascade_page *page = NULL;

            assert_ok(cascade_list(store, &options, &page));
            count = cascade_page_count(page);
            for (size_t i = 0; i < count; i++) {
                after = cascade_page_get(page, i)->id;
                assert_memory_equal(&ids[seen + (seen >= BAD)], &after,
                                    sizeof(after));
                seen++;
            }
            options.after = &after;
            unreadable += cascade_page_unreadable(page);
            cascade_page_free(page);
        }
        assert_int_equal(COUNT - 1, seen);
        assert_int_equal(1, unreadable);
    }
}

static void
purge_takes_the_others(test_db *db)
{
    cascade_uuid ids[COUNT];
    cascade_store *store = make_ended(db, ids);
    const cascade_purge_options options = {.size = sizeof(options)};
    cascade_progress total = {0};
    char left[32];

    assert_ok(cascade_purge(store, &options, &total));
    assert_int_equal(COUNT - 1, total.done);
    assert_int_equal(1, total.failed);
    raw_sql_text(db, "SELECT count(*) FROM cascades", left, sizeof(left));
    assert_string_equal("1", left);
}

static bool
three_have_ended(void *context)
{
    const cascade_list_options options = {.size = sizeof(options),
                                          .status = CASCADE_COMPLETED};
    cascade_page *page = NULL;
    size_t count = 0;

    assert_ok(cascade_list(context, &options, &page));
    count = cascade_page_count(page);
    cascade_page_free(page);
    return count == 3;
}

/* A chain of three runs; gives the first. */
static cascade_uuid
run_chain(test_db *db, cascade_store *store)
{
    cascade_engine *engine = db_engine(db, store, NULL);
    atomic_int runs = 0;
    cascade_uuid first;

    assert_ok(
        cascade_engine_register(engine, "again", keyed_again, &runs, NULL));
    assert_ok(cascade_engine_start(engine));
    first = db_start(store, "again");
    assert_true(stores_until(three_have_ended, store));
    db_close_engine(db, engine);
    return first;
}

/* What may be deleted depends on the run before, which is not known. */
static void
purge_passes_over_the_rest_of_a_chain(test_db *db)
{
    cascade_store *store = db_store(db);
    const cascade_purge_options options = {.size = sizeof(options)};
    cascade_progress total = {0};
    cascade_uuid ids[COUNT];
    cascade_uuid first;
    char left[32];

    db->unsound = true;
    first = run_chain(db, store);
    run_all(db, store, ids, COUNT);
    spoil_row(db, &first);
    for (int i = 0; i < 2; i++) {
        assert_ok(cascade_purge(store, &options, &total));
        assert_int_equal(i == 0 ? COUNT : 0, total.done);
        raw_sql_text(db, "SELECT count(*) FROM cascades", left, sizeof(left));
        assert_string_equal("3", left);
    }
}

static void
commands_reach_the_others(test_db *db)
{
    cascade_uuid ids[COUNT];
    cascade_store *store = make_ended(db, ids);
    const cascade_many_options options = {.size = sizeof(options)};
    cascade_progress total = {0};

    assert_ok(
        cascade_request_many(store, CASCADE_REQUEST_DELETE, &options, &total));
    assert_int_equal(COUNT - 1, total.done);
    assert_int_equal(1, total.failed);
}

/* ---- Following ----------------------------------------------------------- */

static cascade_cursor *
follow_all(cascade_store *store, bool from_start)
{
    const cascade_cursor_options options = {.size = sizeof(options),
                                            .from_start = from_start};
    cascade_cursor *cursor = NULL;

    assert_ok(cascade_cursor_open(store, &options, &cursor));
    return cursor;
}

/* Of that one there are news next, but for a few of what came before it. */
static void
assert_told(cascade_cursor *cursor, const cascade_uuid *id)
{
    const cascade_news *news = NULL;
    int count = 0;

    do {
        assert_ok(cascade_cursor_next(cursor, DB_WAIT_MS, &news));
        assert_in_range(count++, 0, 20);
    } while (csc_uuid_compare(&news->cascade_id, id) != 0);
}

/* Its execution, or its row. */
static void
spoil_one(test_db *db, const cascade_uuid *id, bool row)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    char sql[200];

    if (row) {
        spoil_row(db, id);
        return;
    }
    (void)snprintf(
        sql, sizeof(sql),
        "UPDATE node_executions SET started_at = '%s' WHERE cascade_id = '%s'",
        strcmp(db->backend->name, "sqlite") == 0 ? "soon" : "infinity",
        cascade_uuid_format(id, text));
    raw_sql(db, sql);
}

/* It is spoilt while one cursor is open, and before others are. */
static void
cursors_tell_of_the_others(test_db *db)
{
    cascade_store *store = db_store(db);

    db->unsound = true;
    for (int row = 0; row < 2; row++) {
        cascade_uuid bad = db_start(store, "leaf");
        cascade_cursor *open = follow_all(store, true);
        cascade_cursor *others[2];
        cascade_uuid id;

        assert_told(open, &bad);
        spoil_one(db, &bad, row == 1);
        others[0] = follow_all(store, false);
        others[1] = follow_all(store, true);
        for (int round = 0; round < 3; round++) {
            id = db_start(store, "leaf");
            assert_told(open, &id);
            assert_told(others[0], &id);
            assert_told(others[1], &id);
        }
        cascade_cursor_close(open);
        cascade_cursor_close(others[0]);
        cascade_cursor_close(others[1]);
    }
}

/* ---- Many of them -------------------------------------------------------- */

#define MANY (2 * CASCADE_LIST_FAULTS_MAX + 500)
#define MANY_IDS "00000000-0000-4000-8000-"

/* One that can be read behind so many that cannot. */
static cascade_store *
make_many(test_db *db, cascade_uuid *id)
{
    const bool sqlite = strcmp(db->backend->name, "sqlite") == 0;
    cascade_store *store = db_store(db);
    char sql[600];

    db->unsound = true;
    run_all(db, store, id, 1);
    (void)snprintf(
        sql, sizeof(sql),
        "WITH RECURSIVE them (n) AS (SELECT 1 UNION ALL"
        "    SELECT n + 1 FROM them WHERE n < %d)"
        " INSERT INTO cascades"
        "    (id, status, fn_id, user_id, created_at, updated_at)"
        " SELECT %s, c.status, c.fn_id, c.user_id, c.created_at, '%s'"
        " FROM them, cascades AS c",
        MANY,
        sqlite ? "printf('" MANY_IDS "%012x', n)"
               : "('" MANY_IDS "' || lpad(to_hex(n), 12, '0'))::uuid",
        sqlite ? "soon" : "infinity");
    raw_sql(db, sql);
    return store;
}

typedef struct seen {
    int rows;
    int faults;
    cascade_uuid id;
} seen;

static cascade_err
see_row(void *context, const cascade_row *row, const cascade_run_row *run)
{
    seen *s = context;

    (void)run;
    s->rows++;
    s->id = row->id;
    return CASCADE_OK;
}

static cascade_err
see_fault(void *context, const cascade_fault *fault)
{
    (void)fault;
    ((seen *)context)->faults++;
    return CASCADE_OK;
}

static void
check_lists(cascade_store *store, cascade_query query, const cascade_uuid *id)
{
    cascade_place place = {.more = false};
    seen all = {.rows = 0};

    query.on_fault = see_fault;
    query.place = &place;
    do {
        int before = all.faults;

        assert_ok(store->driver->list(store->self, &query, see_row, &all));
        assert_true(all.faults - before <= CASCADE_LIST_FAULTS_MAX);
    } while (place.more);
    assert_int_equal(MANY, all.faults);
    assert_int_equal(1, all.rows);
    assert_memory_equal(id, &all.id, sizeof(all.id));
}

static void
lists_over_many_end_early(test_db *db)
{
    cascade_uuid id;
    cascade_store *store = make_many(db, &id);

    for (size_t limit = 1; limit <= 1000; limit *= 10) {
        check_lists(store, (cascade_query){.limit = limit}, &id);
        check_lists(
            store, (cascade_query){.limit = limit, .status = CASCADE_COMPLETED},
            &id);
    }
}

static void
commands_go_on_behind_many(test_db *db)
{
    cascade_uuid id;
    cascade_store *store = make_many(db, &id);
    const cascade_list_options first = {.size = sizeof(first), .limit = 1};
    const cascade_many_options many = {.size = sizeof(many)};
    const cascade_purge_options purge = {.size = sizeof(purge)};
    cascade_check_report report = {.size = sizeof(report)};
    cascade_page *page = NULL;
    cascade_progress total = {0};
    told t;

    assert_int_equal(MANY + 1, verify(store, &t, NULL).cascades);
    assert_int_equal(MANY, t.readable);
    assert_ok(cascade_adopt(store, NULL, &report));
    assert_int_equal(MANY + 1, report.cascades);
    assert_ok(cascade_list(store, &first, &page));
    assert_int_equal(1, cascade_page_count(page));
    assert_int_equal(MANY, cascade_page_unreadable(page));
    cascade_page_free(page);
    assert_ok(
        cascade_request_many(store, CASCADE_REQUEST_RERUN, &many, &total));
    assert_int_equal(MANY + 1, total.seen);
    total = (cascade_progress){0};
    assert_ok(cascade_purge(store, &purge, &total));
    assert_int_equal(MANY, total.failed);
}

/* ---- What goes on -------------------------------------------------------- */

/* Of the cascade whose run is claimed with those of others. */
static void
engines_run_the_others(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid ids[COUNT];
    cascade_uuid bad;

    db->unsound = true;
    bad = db_start(store, "leaf");
    spoil_row(db, &bad);
    run_all(db, store, ids, COUNT);
}

/* Where columns take whatever is put into them. Each is there beside cascades
 * that go on. */
static const char *const spoils[] = {
    /* runs */
    "UPDATE cascade_runs SET cascade_id = '" GARBAGE "'",
    "UPDATE cascade_runs SET cascade_id = upper(cascade_id)",
    "UPDATE cascade_runs SET cascade_id = x'00ff'",
    "UPDATE cascade_runs SET cascade_id = cascade_id || char(0) || 'a'",
    "UPDATE cascade_runs SET cascade_id = replace(cascade_id, '-', '0')",
    "UPDATE cascade_runs SET engine_id = '" GARBAGE "'",
    "UPDATE cascade_runs SET engine_id = x'00ff'",
    "UPDATE cascade_runs SET needs = x'00ff'",
    "UPDATE cascade_runs SET needs = 'a' || char(0) || 'b'",
    "UPDATE cascade_runs SET needs = hex(zeroblob(200))",
    "UPDATE cascade_runs SET takeovers = 'many'",
    "UPDATE cascade_runs SET takeovers = 4294967296",
    "UPDATE cascade_runs SET takeovers = -7",
    "UPDATE cascade_runs SET wake_at = 'soon'",
    "UPDATE cascade_runs SET priority = 'high'",
    "UPDATE cascade_runs SET claim_no = 'x', trial = 'y'",
    "UPDATE cascade_runs SET trial = -5",
    /* the cascade itself, while it is to run */
    "UPDATE cascades SET id = upper(id)",
    "UPDATE cascades SET id = '" GARBAGE "'",
    "UPDATE cascades SET id = x'00ff'",
    "UPDATE cascades SET status = 'LOST'",
    "UPDATE cascades SET fn_id = 'x'",
    "UPDATE cascades SET user_id = 'a' || char(0)",
    "UPDATE node_executions SET input_context = '{'",
    "UPDATE node_executions SET function_id = 'first'",
    "DELETE FROM node_executions",
    "DELETE FROM cascades",
    /* messages */
    "UPDATE cascade_messages SET cascade_id = '" GARBAGE "'",
    "UPDATE cascade_messages SET cascade_id = x'00ff'",
    "UPDATE cascade_messages SET payload = '{'",
    "UPDATE cascade_messages SET kind = x'00ff'",
    "UPDATE cascade_messages SET path = 'odd'",
    "UPDATE cascade_messages SET sent_at = 'soon'",
    /* those that look after all */
    "INSERT INTO cascade_engines (engine_id, host, pid, process_start, boot,"
    " lease_ms, lease_until_ms, attached_at, about) VALUES ('" GARBAGE "', 'h',"
    " 1, 1, 'b', 1, 1, 1, '{}')",
    "INSERT INTO cascade_engines (engine_id, host, pid, process_start, boot,"
    " lease_ms, lease_until_ms, attached_at, about) VALUES (x'00ff', 'h', 'p',"
    " 'q', 'b', 'r', 's', 't', '{}')",
    "INSERT INTO cascade_erasures (cascade_id, marked_at) VALUES ('" GARBAGE
    "', 1)",
    "INSERT INTO cascade_erasures (cascade_id, marked_at) VALUES (x'00ff', 1)",
};

/* A cascade that was to run, and a message to it: then the row is spoilt. */
static void
spoil(test_db *db, cascade_store *store, const char *sql)
{
    char text[600];
    cascade_uuid id = db_start(store, "leaf");

    assert_ok(cascade_signal(store, &id, "news", NULL, NULL));
    (void)snprintf(text, sizeof(text),
                   "PRAGMA ignore_check_constraints = ON; %s", sql);
    raw_sql(db, text);
}

static void
empty(test_db *db)
{
    raw_sql(db, "DELETE FROM cascade_runs; DELETE FROM node_executions;"
                " DELETE FROM cascades; DELETE FROM cascade_messages;"
                " DELETE FROM cascade_engines; DELETE FROM cascade_lanes;"
                " DELETE FROM cascade_erasures");
}

static void
no_row_keeps_the_others_from_going_on(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid ids[COUNT];
    told t;

    db->unsound = true;
    for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
        cascade_progress total = {0};
        const cascade_purge_options options = {.size = sizeof(options)};

        print_message("%s\n", spoils[i]);
        spoil(db, store, spoils[i]);
        run_all(db, store, ids, COUNT);
        (void)verify(store, &t, NULL);
        assert_ok(cascade_purge(store, &options, &total));
        assert_true(total.done >= COUNT);
        empty(db);
    }
}

/* Of columns that take any number. */
static const char *const odd_numbers[] = {
    "UPDATE cascade_runs SET claim_no = 9223372036854775807",
    "UPDATE cascade_runs SET claim_no = -9223372036854775808",
    "UPDATE cascade_runs SET takeovers = 2147483647, trial = 2147483647",
    "UPDATE cascade_runs SET wake_at = -9223372036854775808",
    "INSERT INTO cascade_engines (engine_id, host, pid, process_start,"
    " lane_count, lease_until) VALUES ('00000000-e894-7cea-948a-dd0c541c14c6',"
    " 'h', 1, 1, 1, -9223372036854775808)",
    "INSERT INTO cascade_engines (engine_id, host, pid, process_start,"
    " lane_count, lease_until) VALUES ('00000000-e894-7cea-948a-dd0c541c14c6',"
    " 'h', -1, -1, -1, 9223372036854775807)",
};

static void
no_number_keeps_the_others_from_going_on(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid ids[COUNT];

    db->unsound = true;
    for (size_t i = 0; i < sizeof(odd_numbers) / sizeof(odd_numbers[0]); i++) {
        print_message("%s\n", odd_numbers[i]);
        (void)db_start(store, "leaf");
        raw_sql(db, odd_numbers[i]);
        run_all(db, store, ids, COUNT);
        empty(db);
    }
}

typedef struct listed {
    size_t given;
    size_t faults;
} listed;

static cascade_err
count_listed(void *context, const cascade_row *row, const cascade_run_row *run)
{
    listed *l = context;

    (void)row;
    (void)run;
    l->given++;
    return CASCADE_OK;
}

static cascade_err
count_fault(void *context, const cascade_fault *fault)
{
    listed *l = context;

    (void)fault;
    l->faults++;
    return CASCADE_OK;
}

static const char *const odd_states[] = {"'A'",       "'D'", "'F'",
                                         "'waiting'", "7",   "x'00'"};

/* S86: wherever it stands among those that there are. */
static void
a_list_by_user_tells_of_an_unknown_status(test_db *db)
{
    cascade_uuid ids[COUNT];
    cascade_store *store = make_ended(db, ids);
    char user[64] = "";
    char sql[200];

    raw_sql_text(db, "SELECT user_id FROM cascades", user, sizeof(user));
    for (size_t i = 0; i < sizeof(odd_states) / sizeof(odd_states[0]); i++)
        for (size_t limit = 1; limit <= COUNT; limit += COUNT - 1) {
            listed l = {0};
            const cascade_query query = {
                .user_id = user, .limit = limit, .on_fault = count_fault};

            (void)snprintf(sql, sizeof(sql),
                           "PRAGMA ignore_check_constraints = ON;"
                           " UPDATE cascades SET status = %s"
                           " WHERE id = (SELECT min(id) FROM cascades)",
                           odd_states[i]);
            raw_sql(db, sql);
            assert_ok(
                store->driver->list(store->self, &query, count_listed, &l));
            assert_int_equal(limit == 1 ? 1 : COUNT - 2, l.given);
            assert_int_equal(limit == 1 ? 1 : 2, l.faults);
        }
}

/* ---- In UTF-16 ----------------------------------------------------------- */

/* A database that was another program's before. */
static void
make_utf16(test_db *db)
{
    char encoding[16] = "";

    raw_sql(db, "PRAGMA encoding = 'UTF-16'; CREATE TABLE orders (id TEXT)");
    raw_sql_text(db, "PRAGMA encoding", encoding, sizeof(encoding));
    assert_memory_equal("UTF-16", encoding, strlen("UTF-16"));
}

static cascade_err
awaits_news(cascade_node *node, void *user)
{
    cJSON *news = NULL;
    cascade_err err = cascade_node_await(node, "news", -1, &news);

    (void)user;
    cJSON_Delete(news);
    return err;
}

static bool
is_given_up(void *context)
{
    char needs[sizeof(WAITER)] = "";

    raw_sql_text(context, "SELECT max(needs) FROM cascade_runs", needs,
                 sizeof(needs));
    return strcmp(needs, WAITER) == 0;
}

static void
run_engine(test_db *db, cascade_store *store, const char *node,
           cascade_node_fn run)
{
    cascade_engine *engine = db_engine(db, store, NULL);

    assert_ok(cascade_engine_register(engine, node, run, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
}

/* None is born in an engine: each has to be claimed, also by what it needs, and
 * so has the signal. */
static void
a_database_of_utf16_runs_what_is_started(test_db *db)
{
    cascade_uuid id;
    cascade_uuid leaf;
    cascade_store *store = NULL;
    cascade_store *other = NULL;

    make_utf16(db);
    store = db_store(db);
    other = db_store(db);
    id = db_start(other, WAITER);
    leaf = db_start(other, "leaf");
    run_engine(db, store, "leaf", stores_nothing);
    db_await(other, &leaf, CASCADE_COMPLETED);
    assert_true(stores_until(is_given_up, db));
    run_engine(db, store, WAITER, awaits_news);
    assert_ok(cascade_signal(other, &id, "news", NULL, NULL));
    db_await(other, &id, CASCADE_COMPLETED);
}

static void
a_database_of_utf16_goes_on_behind_bad_rows(test_db *db)
{
    make_utf16(db);
    no_row_keeps_the_others_from_going_on(db);
}

static void
lists_of_utf16_go_on_behind_bad_rows(test_db *db)
{
    make_utf16(db);
    lists_go_on_behind_it(db);
}

/* Ids that are none. */
static void
lists_over_many_without_ids_end_early(test_db *db)
{
    cascade_uuid id;
    cascade_store *store = make_many(db, &id);

    raw_sql(db, "PRAGMA ignore_check_constraints = ON;"
                " UPDATE cascades SET id = id || '-odd'"
                " WHERE id LIKE '" MANY_IDS "%'");
    for (size_t limit = 1; limit <= 1000; limit *= 10)
        check_lists(store, (cascade_query){.limit = limit}, &id);
}

static void
lists_of_utf16_end_early(test_db *db)
{
    make_utf16(db);
    lists_over_many_without_ids_end_early(db);
}

static void
rows_without_an_id_are_named_by_what_stands_there(test_db *db)
{
    cascade_store *store = db_store(db);
    static const cascade_uuid none;
    cascade_uuid id;
    told t;

    db->unsound = true;
    run_all(db, store, &id, 1);
    raw_sql(db,
            "PRAGMA ignore_check_constraints = ON;"
            " UPDATE cascades SET id = 'one of ' || char(7) || ' \xc3\xa4'");
    (void)verify(store, &t, NULL);
    assert_int_equal(1, t.readable);
    assert_memory_equal(&none, &t.id, sizeof(none));
    assert_string_equal("table cascades, column id of the row 'one?of???\?\?':"
                        " not a UUID in lower case",
                        t.text);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"verify_names_it_and_judges_the_rest",
         verify_names_it_and_judges_the_rest, STORES_FILES},
        {"adopt_takes_in_the_others", adopt_takes_in_the_others, STORES_FILES},
        {"lists_go_on_behind_it", lists_go_on_behind_it, STORES_FILES},
        {"purge_takes_the_others", purge_takes_the_others, STORES_FILES},
        {"purge_passes_over_the_rest_of_a_chain",
         purge_passes_over_the_rest_of_a_chain, STORES_FILES},
        {"lists_over_many_end_early", lists_over_many_end_early, STORES_FILES},
        {"commands_go_on_behind_many", commands_go_on_behind_many,
         STORES_FILES},
        {"lists_over_many_without_ids_end_early",
         lists_over_many_without_ids_end_early, STORES_SQLITE},
        {"lists_of_utf16_end_early", lists_of_utf16_end_early, STORES_SQLITE},
        {"commands_reach_the_others", commands_reach_the_others, STORES_FILES},
        {"cursors_tell_of_the_others", cursors_tell_of_the_others,
         STORES_FILES},
        {"engines_run_the_others", engines_run_the_others, STORES_FILES},
        {"no_row_keeps_the_others_from_going_on",
         no_row_keeps_the_others_from_going_on, STORES_SQLITE},
        {"no_number_keeps_the_others_from_going_on",
         no_number_keeps_the_others_from_going_on, STORES_POSTGRES},
        {"a_list_by_user_tells_of_an_unknown_status",
         a_list_by_user_tells_of_an_unknown_status, STORES_SQLITE},
        {"rows_without_an_id_are_named_by_what_stands_there",
         rows_without_an_id_are_named_by_what_stands_there, STORES_SQLITE},
        {"a_database_of_utf16_runs_what_is_started",
         a_database_of_utf16_runs_what_is_started, STORES_SQLITE},
        {"a_database_of_utf16_goes_on_behind_bad_rows",
         a_database_of_utf16_goes_on_behind_bad_rows, STORES_SQLITE},
        {"lists_of_utf16_go_on_behind_bad_rows",
         lists_of_utf16_go_on_behind_bad_rows, STORES_SQLITE},
    };

    return stores_run("unreadable", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
