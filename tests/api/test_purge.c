/* SPDX-License-Identifier: MIT
 *
 * Retention: what has ended long enough ago is deleted, and nothing else; by a
 * call, and by engines. The cascades come as documents, so that their ages are
 * what a test says.
 */
#include <stdio.h>
#include <string.h>

#include "api/raw_sql.h"
#include "base/data/buf.h"
#include "cascade/manage.h"
#include "store/store.h"
#include "support/stores.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)
#define CHAIN 30
#define PARENT "0190cccc-0000-4000-8000-000000999999"
#define MANY 450 /* more than two pages */

/* ---- Cascades of any age ------------------------------------------------- */

typedef struct past {
    int number;         /* its id is made of it */
    const char *status; /* of the cascade */
    int64_t age_ms;
    int previous; /* the run before; 0: none */
    int next;     /* the run after; 0: none */
    bool child;
    int fn_id;
} past;

static cascade_uuid
id_of(int number)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid id;

    (void)snprintf(text, sizeof(text), "0190cccc-0000-4000-8000-%012d", number);
    assert_ok(cascade_uuid_parse(text, &id));
    return id;
}

static int64_t
store_now(cascade_store *store)
{
    int64_t now_ms = 0;

    assert_ok(store->driver->now(store->self, &now_ms));
    return now_ms;
}

static void
add_link(char *text, size_t size, const char *name, int number)
{
    size_t len = strlen(text);

    if (number != 0)
        (void)snprintf(text + len, size - len,
                       ",\"%s\":\"0190cccc-0000-4000-8000-%012d\"", name,
                       number);
}

/* The ids of the runs come in no order; run `nth` of `chain` has this one. */
static int
run_number(int nth)
{
    return 1 + nth * 7 % CHAIN;
}

/* It knows that one as its child, so it may be imported, and runs behind it. */
static void
put_parent(cascade_store *store, int child)
{
    csc_buf text = {0};
    cascade_started started;

    csc_buf_add_text(
        &text,
        "{\"format\":\"libcascade\",\"version\":2,\"cascade\":{\"id\":"
        "\"" PARENT "\",\"fn_id\":1,\"status\":\"RUNNING\","
        "\"user_id\":\"u\",\"created_at\":1,\"updated_at\":1},"
        "\"executions\":[{\"id\":\"0190dddd-0000-4000-8000-999999999999\","
        "\"status\":\"RUNNING\",\"location\":\"server\","
        "\"node_name\":\"n\",\"started_at\":1,\"function_id\":0,"
        "\"input_context\":{},\"full_output\":{\"cascade\":{\"queue\":"
        "\"default\"}},\"node_instance_id\":\"" PARENT "/-/n#0\"}");
    csc_buf_add_format(&text,
                       ",{\"id\":\"0190dddd-0000-4000-8000-999999990001\","
                       "\"status\":\"RUNNING\",\"location\":\"server\","
                       "\"node_name\":\"cascade.child:c\",\"started_at\":1,"
                       "\"function_id\":1,\"input_context\":{},\"full_output\":"
                       "{\"child\":\"0190cccc-0000-4000-8000-%012d\","
                       "\"policy\":\"abandon\"},\"node_instance_id\":\"" PARENT
                       "/0/cascade.child:c#0\"}",
                       child);
    csc_buf_add_text(&text, "],\"events\":[],\"messages\":[]}");
    assert_ok(cascade_import(store, text.data, NULL, &started));
    csc_buf_fini(&text);
}

static cascade_err
import_past(cascade_store *store, const past *p)
{
    char meta[256] = "\"queue\":\"default\"";
    char next[128] = "";
    char text[2048];
    long long at = (long long)(store_now(store) - p->age_ms);
    bool running = strcmp(p->status, "RUNNING") == 0;
    bool failed = strcmp(p->status, "ERROR") == 0;
    cascade_started started = {.existed = false};
    cascade_err err = CASCADE_OK;

    add_link(meta, sizeof(meta), "previous", p->previous);
    add_link(meta, sizeof(meta), "parent", p->child ? 999999 : 0);
    add_link(meta, sizeof(meta), "child",
             p->child && p->previous != 0 ? run_number(0) : 0);
    add_link(next, sizeof(next), "continued_as", p->next);
    (void)snprintf(
        text, sizeof(text),
        "{\"format\":\"libcascade\",\"version\":1,\"cascade\":{\"id\":"
        "\"0190cccc-0000-4000-8000-%012d\",\"fn_id\":%d,\"status\":\"%s\","
        "\"user_id\":\"u\",\"created_at\":1,\"updated_at\":%lld},"
        "\"executions\":[{\"id\":\"0190dddd-0000-4000-8000-%012d\","
        "\"status\":\"%s\",\"location\":\"server\",\"node_name\":\"n\","
        "\"started_at\":1,%s\"function_id\":0,\"input_context\":{},"
        "\"full_output\":{\"at\":0,\"cascade\":{%s}%s},\"node_instance_id\":"
        "\"0190cccc-0000-4000-8000-%012d/-/n#0\"}],\"events\":[],"
        "\"messages\":[]}",
        p->number, p->fn_id, p->status, at, p->number,
        running  ? "RUNNING"
        : failed ? "FAILED"
                 : "COMPLETED",
        running ? "" : "\"completed_at\":2,", meta, next, p->number);
    err = cascade_import(store, text, NULL, &started);
    assert_false(started.existed);
    return err;
}

static void
put_past(cascade_store *store, const past *p)
{
    assert_ok(import_past(store, p));
}

static void
put(cascade_store *store, int number, const char *status, int64_t age_ms)
{
    const past p = {.number = number, .status = status, .age_ms = age_ms};

    put_past(store, &p);
}

/* An engine may delete it before the import has looked what it made. */
static void
put_doomed(cascade_store *store, int number, const char *status)
{
    const past p = {.number = number, .status = status, .age_ms = 2 * DAY_MS};
    cascade_err err = import_past(store, &p);

    if (err != CASCADE_ERR_AGAIN)
        assert_ok(err);
}

static bool
is_there(cascade_store *store, int number)
{
    cascade_uuid id = id_of(number);
    cascade_info *info = NULL;
    cascade_err err = cascade_get(store, &id, &info);

    cascade_info_free(info);
    assert_true(err == CASCADE_OK || err == CASCADE_ERR_NOT_FOUND);
    return err == CASCADE_OK;
}

/* ---- By a call ----------------------------------------------------------- */

/* How many were deleted. */
static int64_t
purge(cascade_store *store, int64_t completed_ms, int64_t failed_ms)
{
    const cascade_purge_options options = {.size = sizeof(options),
                                           .completed_ms = completed_ms,
                                           .failed_ms = failed_ms};
    cascade_progress total = {0};

    assert_ok(cascade_purge(store, &options, &total));
    return total.done;
}

static void
what_ended_long_ago_is_deleted(test_db *db)
{
    cascade_store *store = db_store(db);

    put(store, 1, "COMPLETED", 3 * DAY_MS);
    put(store, 2, "COMPLETED", DAY_MS);
    put(store, 3, "ERROR", 3 * DAY_MS);
    put(store, 4, "ERROR", DAY_MS);
    put(store, 5, "RUNNING", 9 * DAY_MS);
    assert_int_equal(0, purge(store, -1, -1));
    assert_int_equal(0, purge(store, 9 * DAY_MS, 9 * DAY_MS));
    assert_int_equal(1, purge(store, 2 * DAY_MS, -1));
    assert_false(is_there(store, 1));
    assert_true(is_there(store, 3));
    assert_int_equal(1, purge(store, -1, 2 * DAY_MS));
    assert_false(is_there(store, 3));
    assert_int_equal(2, purge(store, 0, 0));
    assert_true(is_there(store, 5));
}

/* "At least that long ago", to the millisecond. */
static void
an_age_is_kept_to_the_millisecond(test_db *db)
{
    cascade_store *store = NULL;

    db->fake_time = true;
    store = db_store(db);
    put(store, 1, "COMPLETED", 999);
    put(store, 2, "COMPLETED", 1000);
    put(store, 3, "COMPLETED", 1001);
    assert_int_equal(2, purge(store, 1000, -1));
    assert_true(is_there(store, 1));
    fake_clock_advance(&db->clock, 1);
    assert_int_equal(1, purge(store, 1000, -1));
}

static void
many_pages_are_deleted(test_db *db)
{
    cascade_store *store = db_store(db);

    for (int i = 1; i <= MANY; i++)
        put(store, i, i % 3 == 0 ? "ERROR" : "COMPLETED", DAY_MS);
    assert_int_equal(MANY, purge(store, 1, 1));
    assert_int_equal(0, purge(store, 0, 0));
}

static void
put_chain(cascade_store *store, const char *last, bool child)
{
    if (child)
        put_parent(store, run_number(0));
    for (int i = 0; i < CHAIN; i++) {
        const past p = {.number = run_number(i),
                        .status = i == CHAIN - 1 ? last : "COMPLETED",
                        .age_ms = DAY_MS,
                        .previous = i > 0 ? run_number(i - 1) : 0,
                        .next = i < CHAIN - 1 ? run_number(i + 1) : 0,
                        .child = child};

        put_past(store, &p);
    }
}

static void
runs_are_deleted_oldest_first(test_db *db)
{
    cascade_store *store = db_store(db);

    put_chain(store, "RUNNING", false);
    assert_int_equal(CHAIN - 1, purge(store, 0, 0));
    assert_true(is_there(store, run_number(CHAIN - 1)));
}

/* A parent finds the run that goes on by those before. */
static void
runs_of_a_child_stay_while_the_last_goes_on(test_db *db)
{
    cascade_store *store = db_store(db);

    put_chain(store, "RUNNING", true);
    assert_int_equal(0, purge(store, 0, 0));
}

static void
runs_of_a_child_go_once_the_last_has_ended(test_db *db)
{
    cascade_store *store = db_store(db);

    put_chain(store, "ERROR", true);
    assert_int_equal(CHAIN - 1, purge(store, 0, -1));
    assert_int_equal(1, purge(store, -1, 0));
}

/* The run before stays, and leads to one that goes on: so does this one. */
static void
a_run_stays_whose_run_before_does(test_db *db)
{
    const past runs[] = {
        {.number = 1, .status = "COMPLETED", .age_ms = 0, .next = 2},
        {.number = 2,
         .status = "COMPLETED",
         .age_ms = DAY_MS,
         .previous = 1,
         .next = 3},
        {.number = 3, .status = "RUNNING", .age_ms = DAY_MS, .previous = 2}};
    cascade_store *store = db_store(db);

    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
        put_past(store, &runs[i]);
    assert_int_equal(0, purge(store, DAY_MS, DAY_MS));
    assert_int_equal(2, purge(store, 0, 0));
}

/* One for which a message waits has not been told it yet. */
static void
what_has_a_message_stays(test_db *db)
{
    const cascade_purge_options options = {.size = sizeof(options)};
    cascade_store *store = db_store(db);
    cascade_uuid id = id_of(1);
    cascade_progress total = {0};

    put(store, 1, "COMPLETED", DAY_MS);
    put(store, 2, "COMPLETED", DAY_MS);
    assert_fails(CASCADE_ERR_ENDED,
                 cascade_signal(store, &id, "news", NULL, NULL));
    assert_ok(cascade_purge(store, &options, &total));
    assert_int_equal(2, total.seen);
    assert_int_equal(1, total.done);
    assert_int_equal(1, total.failed);
    assert_true(is_there(store, 1));
}

typedef struct told {
    cascade_store *store;
    int numbers[2];
} told;

/* What came too late is recorded, in each. */
static bool
are_told(void *context)
{
    const told *t = context;
    bool all = true;

    for (size_t i = 0; i < 2; i++) {
        cascade_uuid id = id_of(t->numbers[i]);
        cascade_info *info = NULL;

        assert_ok(cascade_get(t->store, &id, &info));
        all = all && info->fn_id > 0 && !info->has_run;
        cascade_info_free(info);
    }
    return all;
}

static int64_t
written_at(cascade_store *store, int number)
{
    cascade_uuid id = id_of(number);
    cascade_info *info = NULL;
    int64_t at_ms = 0;

    assert_ok(cascade_get(store, &id, &info));
    at_ms = info->updated_at_ms;
    cascade_info_free(info);
    return at_ms;
}

/* Its age is that of its end. */
static void
what_is_told_too_late_keeps_none(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    told t = {store, {1, 2}};
    int64_t ended_ms[2];

    put(store, 1, "COMPLETED", 3 * DAY_MS);
    put(store, 2, "ERROR", 3 * DAY_MS);
    for (size_t i = 0; i < 2; i++) {
        cascade_uuid id = id_of(t.numbers[i]);

        ended_ms[i] = written_at(store, t.numbers[i]);
        assert_fails(CASCADE_ERR_ENDED,
                     cascade_signal(store, &id, "news", NULL, NULL));
    }
    assert_ok(cascade_engine_start(engine));
    assert_true(stores_until(are_told, &t));
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(ended_ms[i], written_at(store, t.numbers[i]));
    assert_int_equal(2, purge(store, 2 * DAY_MS, 2 * DAY_MS));
}

/* Whose child it is, or which run, cannot be known of one that cannot be read,
 * nor how a child went on: it stays, and keeps no other one. */
static void
what_cannot_be_read_stays(test_db *db)
{
    const cascade_purge_options options = {.size = sizeof(options)};
    const past run = {
        .number = 3, .status = "COMPLETED", .age_ms = DAY_MS, .child = true};
    cascade_store *store = db_store(db);
    cascade_progress total = {0};

    db->unsound = true;
    put(store, 1, "COMPLETED", DAY_MS);
    put(store, 2, "COMPLETED", DAY_MS);
    put_parent(store, run.number);
    put_past(store, &run);
    raw_sql(db, "UPDATE node_executions SET input_context = '{'"
                " WHERE id = '0190dddd-0000-4000-8000-000000000001'");
    raw_sql(db, "INSERT INTO node_executions (id, node_instance_id, cascade_id,"
                " node_name, function_id, input_context, location, started_at)"
                " SELECT '0190dddd-0000-4000-8000-000000000009', 'x',"
                " cascade_id, 'x', 1, '{', 'x', started_at"
                " FROM node_executions"
                " WHERE id = '0190dddd-0000-4000-8000-000000000003'");
    assert_ok(cascade_purge(store, &options, &total));
    assert_int_equal(3, total.seen);
    assert_int_equal(1, total.done);
    assert_int_equal(2, total.failed);
    assert_false(is_there(store, 2));
}

static bool
count_down(void *context, const cascade_progress *progress)
{
    int *left = context;

    assert_true(progress->done <= progress->seen);
    return --*left > 0;
}

static void
a_progress_function_ends_it(test_db *db)
{
    int left = 3;
    const cascade_purge_options options = {
        .size = sizeof(options), .progress = count_down, .context = &left};
    cascade_store *store = db_store(db);
    cascade_progress total = {0};

    for (int i = 1; i <= MANY; i++)
        put(store, i, "COMPLETED", DAY_MS);
    assert_fails(CASCADE_ERR_STOPPED, cascade_purge(store, &options, &total));
    assert_int_equal(0, left);
    assert_in_range(total.done, 1, MANY - 1);
    assert_int_equal(MANY - total.done, purge(store, 0, 0));
}

static void
wrong_options_are_refused(test_db *db)
{
    const cascade_purge_options none = {.size = 0};
    const cascade_purge_options low = {.size = sizeof(low), .completed_ms = -2};
    const cascade_purge_options high = {.size = sizeof(high),
                                        .failed_ms = INT64_MAX};
    const cascade_engine_options engines[] = {
        {.size = sizeof(engines[0]), .retain_completed_ms = -1},
        {.size = sizeof(engines[0]), .retain_failed_ms = INT64_MAX},
        {.size = sizeof(engines[0]), .retain_interval_ms = 999}};
    cascade_store *store = db_store(db);
    cascade_engine *engine = NULL;

    assert_fails(CASCADE_ERR_INVALID, cascade_purge(NULL, &low, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_purge(store, NULL, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_purge(store, &none, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_purge(store, &low, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_purge(store, &high, NULL));
    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
        assert_fails(CASCADE_ERR_INVALID,
                     cascade_engine_open(store, &engines[i], &engine));
}

/* ---- By engines ---------------------------------------------------------- */

typedef struct gone {
    cascade_store *store;
    int number;
} gone;

static bool
has_gone(void *context)
{
    const gone *g = context;

    return !is_there(g->store, g->number);
}

/* By the test's clock: in the first tenth of the interval, then once in each.
 */
static void
an_engine_makes_a_pass_every_interval(test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE,
                                            .lease_ms = DAY_MS,
                                            .poll_interval_ms = DAY_MS,
                                            .retain_completed_ms = DAY_MS};
    cascade_engine *engine = NULL;
    cascade_store *store = NULL;
    gone g;
    int64_t first_ms = 0;

    db->fake_time = true;
    store = db_store(db);
    engine = db_engine(db, store, &options);
    assert_ok(cascade_engine_start(engine));
    g = (gone){store, 1};
    put(store, 1, "COMPLETED", DAY_MS);
    put(store, 2, "COMPLETED", DAY_MS / 2);
    put(store, 3, "ERROR", 9 * DAY_MS);
    first_ms = store_now(store);
    assert_true(db_poll_until(db, &engine, 1, has_gone, &g));
    assert_true(store_now(store) - first_ms <= DAY_MS / 24 / 10 + 1000);
    assert_true(is_there(store, 2));
    g.number = 2;
    assert_true(db_poll_until(db, &engine, 1, has_gone, &g));
    assert_true(store_now(store) - first_ms >= DAY_MS / 2);
    assert_true(store_now(store) - first_ms <= DAY_MS / 2 + DAY_MS / 12);
    assert_true(is_there(store, 3));
}

static void
threads_make_passes_too(test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .lease_ms = DAY_MS,
                                            .retain_completed_ms = DAY_MS,
                                            .retain_failed_ms = DAY_MS,
                                            .retain_interval_ms = 1000};
    cascade_store *store = db_store(db);
    cascade_engine *engines[2];
    gone g = {store, 1};

    put(store, 2, "COMPLETED", 0);
    for (int i = 0; i < 2; i++) {
        engines[i] = db_engine(db, store, &options);
        assert_ok(cascade_engine_start(engines[i]));
    }
    for (int i = 3; i < 300; i++)
        put_doomed(store, i, "ERROR");
    put_doomed(store, 1, "COMPLETED");
    for (g.number = 1; g.number < 300; g.number += g.number == 1 ? 2 : 1)
        assert_true(stores_until(has_gone, &g));
    assert_true(is_there(store, 2));
    assert_int_equal(0, atomic_load(&db->warnings));
}

/* What they are does not matter: their rows go in pieces. */
static void
an_engine_deletes_large_cascades_too(test_db *db)
{
    const past large = {.number = 1,
                        .status = "COMPLETED",
                        .age_ms = 2 * DAY_MS,
                        .fn_id = 100000};
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_LOOP,
                                            .retain_completed_ms = DAY_MS,
                                            .retain_interval_ms = 1000};
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, &options);
    gone g = {store, 1};

    put_past(store, &large);
    put(store, 2, "COMPLETED", 0);
    assert_ok(cascade_engine_start(engine));
    assert_true(db_poll_until(db, &engine, 1, has_gone, &g));
    db_close_engine(db, engine);
    assert_true(is_there(store, 2));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_ended_long_ago_is_deleted", what_ended_long_ago_is_deleted,
         STORES_ALL},
        {"an_age_is_kept_to_the_millisecond", an_age_is_kept_to_the_millisecond,
         STORES_VIRTUAL},
        {"many_pages_are_deleted", many_pages_are_deleted, STORES_ALL},
        {"runs_are_deleted_oldest_first", runs_are_deleted_oldest_first,
         STORES_ALL},
        {"runs_of_a_child_stay_while_the_last_goes_on",
         runs_of_a_child_stay_while_the_last_goes_on, STORES_ALL},
        {"runs_of_a_child_go_once_the_last_has_ended",
         runs_of_a_child_go_once_the_last_has_ended, STORES_ALL},
        {"a_run_stays_whose_run_before_does", a_run_stays_whose_run_before_does,
         STORES_ALL},
        {"what_has_a_message_stays", what_has_a_message_stays, STORES_ALL},
        {"what_is_told_too_late_keeps_none", what_is_told_too_late_keeps_none,
         STORES_ALL},
        {"what_cannot_be_read_stays", what_cannot_be_read_stays, STORES_SQLITE},
        {"a_progress_function_ends_it", a_progress_function_ends_it,
         STORES_ALL},
        {"wrong_options_are_refused", wrong_options_are_refused, STORES_ALL},
        {"an_engine_makes_a_pass_every_interval",
         an_engine_makes_a_pass_every_interval, STORES_VIRTUAL},
        {"an_engine_deletes_large_cascades_too",
         an_engine_deletes_large_cascades_too, STORES_ALL},
        {"threads_make_passes_too", threads_make_passes_too, STORES_ALL},
    };

    return stores_run("retention", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
