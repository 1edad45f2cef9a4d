/* SPDX-License-Identifier: MIT
 *
 * Calls of one handle that share a transaction: what comes while one is under
 * way is the next, and each call gets the answer that is its own.
 *
 *     the first submit is held --> N calls queue --> it is let go
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>

#include "cascade/postgres.h"
#endif

#include "base/error.h"
#include "base/mem.h"
#include "cascade/manage.h"
#include "store/store.h"
#include "support/in_time.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define CALLS 24
#define LIMIT_MS 60000
#define IMPATIENT_MS 1500

typedef struct hall {
    wrap_store *wrap;
    cascade_store *store;
    atomic_size_t held;     /* submits from this one on wait; 0: none */
    atomic_size_t held_end; /* up to this one */
    atomic_size_t holding;
    atomic_size_t largest; /* submission by now, in starts and messages */
    atomic_int shared_err; /* of those of several, before they are sent */
    atomic_bool lossy;     /* of those of several, replies are lost */
    const char *cursed;    /* a signal of this name is refused */
} hall;

static bool
is_cursed(const hall *h, const cascade_submission *given)
{
    for (size_t i = 0; i < given->message_count && h->cursed != NULL; i++)
        if (strcmp(given->messages[i].name, h->cursed) == 0)
            return true;
    return false;
}

static size_t
count_items(const wrap_call *call)
{
    return call->submission->start_count + call->submission->message_count;
}

static cascade_err
before(void *context, const wrap_call *call)
{
    hall *h = context;
    int64_t end_ms = 0;
    cascade_err err = CASCADE_OK;

    if (call->move != WRAP_SUBMIT)
        return CASCADE_OK;
    if (count_items(call) > atomic_load(&h->largest))
        atomic_store(&h->largest, count_items(call));
    atomic_fetch_add(&h->holding, 1);
    while (atomic_load(&h->held) > 0 && call->number >= atomic_load(&h->held) &&
           call->number <= atomic_load(&h->held_end) &&
           in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    atomic_fetch_sub(&h->holding, 1);
    if (count_items(call) > 1)
        err = (cascade_err)atomic_load(&h->shared_err);
    if (is_cursed(h, call->submission))
        err = CASCADE_ERR_REFUSED;
    return err == CASCADE_OK ? err : cascade_store_fail(err, "a curse");
}

static cascade_err
after(void *context, const wrap_call *call, cascade_err answer)
{
    hall *h = context;

    if (call->move != WRAP_SUBMIT || !atomic_load(&h->lossy) ||
        count_items(call) == 1)
        return answer;
    return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "the reply is lost");
}

static hall *
hall_open(test_db *db, int64_t deadline_ms)
{
    static hall h;
    cascade_store_options options = db_store_options(db);

    memset(&h, 0, sizeof(h));
    h.wrap = wrap_store_create(db->url);
    assert_non_null(h.wrap);
    h.wrap->context = &h;
    h.wrap->before = before;
    h.wrap->after = after;
    h.store = NULL;
    if (deadline_ms > 0)
        options.deadline_ms = deadline_ms;
    h.wrap->inner_deadline_ms = DB_DEADLINE_MS;
    assert_ok(cascade_store_open_driver(&h.wrap->driver, h.wrap->url, &options,
                                        &h.store));
    return &h;
}

static void
hall_close(hall *h)
{
    assert_ok(cascade_store_close(h->store));
    wrap_store_free(h->wrap);
}

/* From the next submit on, so many are held. */
static void
hold(hall *h, size_t count)
{
    size_t next = wrap_store_count(h->wrap, WRAP_SUBMIT) + 1;

    atomic_store(&h->held_end, next + count - 1);
    atomic_store(&h->held, next);
}

static void
until_held(hall *h, size_t count)
{
    int64_t end_ms = 0;

    while (atomic_load(&h->holding) < count && in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    assert_int_equal(atomic_load(&h->holding), count);
}

static size_t
count_queued(hall *h)
{
    size_t queued;

    pthread_mutex_lock(&h->store->pipeline.mutex);
    queued = h->store->pipeline.queued;
    pthread_mutex_unlock(&h->store->pipeline.mutex);
    return queued;
}

static void
until_queued(hall *h, size_t count)
{
    int64_t end_ms = 0;

    while (count_queued(h) < count && in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    assert_int_equal(count_queued(h), count);
}

static void
let_go(hall *h)
{
    atomic_store(&h->held, 0);
}

/* ---- Calls in threads of their own --------------------------------------- */

typedef struct caller {
    hall *hall;
    const char *key;        /* of a start */
    const cascade_uuid *to; /* NULL: it starts */
    const char *name;       /* of the signal; NULL: a pause */
    const char *request_id;
    pthread_t thread;
    cascade_err err;
    cascade_started started;
    char error[CSC_ERRMSG_SIZE];
} caller;

static cascade_err
call_once(caller *c)
{
    const cascade_start_options start = {.size = sizeof(start), .key = c->key};
    const cascade_signal_options signal = {.size = sizeof(signal),
                                           .request_id = c->request_id};
    cascade_store *store = c->hall->store;

    if (c->to == NULL)
        return cascade_start(store, "work", NULL, &start, &c->started);
    if (c->name != NULL)
        return cascade_signal(store, c->to, c->name, NULL, &signal);
    return cascade_pause(store, c->to, NULL);
}

static void *
call_in_thread(void *context)
{
    caller *c = context;

    c->err = call_once(c);
    (void)snprintf(c->error, sizeof(c->error), "%s", cascade_errmsg());
    return NULL;
}

static void
begin(caller *c, hall *h)
{
    c->hall = h;
    assert_int_equal(pthread_create(&c->thread, NULL, call_in_thread, c), 0);
}

static void
finish(caller *c, cascade_err err)
{
    pthread_join(c->thread, NULL);
    if (c->err != err)
        print_message("%s\n", c->error);
    assert_int_equal(c->err, err);
    assert_int_equal(c->error[0] == '\0', err == CASCADE_OK);
}

/* The first is in the store, and the others wait, however slow this test is. */
static void
begin_all(hall *h, caller *callers, size_t count)
{
    h->store->pipeline.patience_ms = LIMIT_MS;
    h->store->pipeline.usual = 1;
    hold(h, 1);
    begin(&callers[0], h);
    until_held(h, 1);
    for (size_t i = 1; i < count; i++) {
        begin(&callers[i], h);
        until_queued(h, i);
    }
}

static bool
is_there(test_db *db, const cascade_uuid *id)
{
    cascade_store *store = db_store(db);
    cascade_info *info = NULL;
    cascade_err err = cascade_get(store, id, &info);

    cascade_info_free(info);
    db_close_store(db, store);
    return err == CASCADE_OK;
}

/* ---- One commit ---------------------------------------------------------- */

static void
what_comes_meanwhile_is_one_commit(test_db *db)
{
    hall *h = hall_open(db, 0);
    caller callers[CALLS] = {{0}};

    begin_all(h, callers, CALLS);
    let_go(h);
    for (size_t i = 0; i < CALLS; i++) {
        finish(&callers[i], CASCADE_OK);
        assert_false(callers[i].started.existed);
        assert_true(is_there(db, &callers[i].started.id));
    }
    assert_int_equal(wrap_store_count(h->wrap, WRAP_SUBMIT), 2);
    assert_int_equal(atomic_load(&h->largest), CALLS - 1);
    hall_close(h);
}

/* Whoever finds nobody there goes at once, alone. */
static void
a_lone_call_is_a_batch_of_its_own(test_db *db)
{
    hall *h = hall_open(db, 0);
    caller callers[3] = {{0}};

    for (size_t i = 0; i < 3; i++) {
        begin(&callers[i], h);
        finish(&callers[i], CASCADE_OK);
    }
    assert_int_equal(wrap_store_count(h->wrap, WRAP_SUBMIT), 3);
    assert_int_equal(atomic_load(&h->largest), 1);
    hall_close(h);
}

/* As many wait as are under way: where lanes are apart these do not wait. */
static void
a_second_batch_goes_beside_the_first(test_db *db)
{
    hall *h = hall_open(db, 0);
    caller callers[CALLS] = {{0}};

    h->store->pipeline.patience_ms = LIMIT_MS;
    hold(h, 2);
    for (size_t i = 0; i < 2; i++) {
        begin(&callers[i], h);
        until_held(h, i + 1);
    }
    for (size_t i = 2; i < CALLS; i++) {
        begin(&callers[i], h);
        until_queued(h, i - 1);
    }
    let_go(h);
    for (size_t i = 0; i < CALLS; i++)
        finish(&callers[i], CASCADE_OK);
    assert_int_equal(wrap_store_count(h->wrap, WRAP_SUBMIT), 3);
    assert_int_equal(atomic_load(&h->largest), CALLS - 2);
    hall_close(h);
}

/* ---- Each its own answer ------------------------------------------------- */

static void
each_gets_the_answer_that_is_its_own(test_db *db)
{
    hall *h = hall_open(db, 0);
    cascade_uuid there = db_start(h->store, "work");
    cascade_uuid ended = db_start(h->store, "work");
    cascade_uuid none = {{7}};
    caller callers[] = {
        {.hall = h},
        {.key = "twice"},
        {.to = &none, .name = "lost"},
        {.key = "twice"},
        {.to = &there, .name = "first", .request_id = "one"},
        {.to = &there, .name = "first", .request_id = "one"},
        {.to = &ended, .name = "late"},
        {.to = &there},
        {.key = NULL},
    };
    size_t count = sizeof(callers) / sizeof(callers[0]);
    size_t sent = 0;

    assert_ok(cascade_terminate(h->store, &ended, NULL));
    sent = wrap_store_count(h->wrap, WRAP_SUBMIT);
    begin_all(h, callers, count);
    let_go(h);
    for (size_t i = 0; i < count; i++)
        finish(&callers[i], i == 2   ? CASCADE_ERR_NOT_FOUND
                            : i == 6 ? CASCADE_ERR_ENDED
                                     : CASCADE_OK);
    assert_memory_equal(&callers[1].started.id, &callers[3].started.id,
                        sizeof(cascade_uuid));
    assert_false(callers[1].started.existed);
    assert_true(callers[3].started.existed);
    assert_true(is_there(db, &callers[8].started.id));
    assert_int_equal(wrap_store_count(h->wrap, WRAP_SUBMIT), sent + 2);
    hall_close(h);
}

static void
what_is_refused_of_one_is_no_other_s_error(test_db *db)
{
    hall *h = hall_open(db, 0);
    cascade_uuid there = db_start(h->store, "work");
    caller callers[CALLS] = {{0}};

    h->cursed = "cursed";
    callers[CALLS / 2].to = &there;
    callers[CALLS / 2].name = "cursed";
    begin_all(h, callers, CALLS);
    let_go(h);
    for (size_t i = 0; i < CALLS; i++) {
        bool is = i == CALLS / 2;

        finish(&callers[i], is ? CASCADE_ERR_REFUSED : CASCADE_OK);
        if (!is)
            assert_true(is_there(db, &callers[i].started.id));
    }
    hall_close(h);
}

/* All of a batch has taken effect, and nobody is told: each finds its own. */
static void
a_lost_reply_is_found_out_by_each(test_db *db)
{
    hall *h = hall_open(db, 0);
    cascade_uuid there = db_start(h->store, "work");
    caller callers[CALLS] = {{0}};

    for (size_t i = 2; i < CALLS; i += 3) {
        callers[i].to = &there;
        callers[i].name = "go";
    }
    atomic_store(&h->lossy, true);
    begin_all(h, callers, CALLS);
    let_go(h);
    for (size_t i = 0; i < CALLS; i++) {
        finish(&callers[i], CASCADE_OK);
        assert_false(callers[i].started.existed);
    }
    hall_close(h);
}

/* The store fails for all, in one way or the other: nobody is left waiting. */
static void
an_outage_is_told_to_each(test_db *db)
{
    static const cascade_err errs[] = {CASCADE_ERR_READ_ONLY, CASCADE_ERR_LOST,
                                       CASCADE_ERR_UNAVAILABLE};

    for (size_t e = 0; e < 3; e++) {
        hall *h = hall_open(db, IMPATIENT_MS);
        caller callers[CALLS] = {{0}};

        begin_all(h, callers, CALLS);
        wrap_store_fail(h->wrap, WRAP_SUBMIT, 0, 100000, WRAP_BEFORE, errs[e]);
        let_go(h);
        for (size_t i = 0; i < CALLS; i++) {
            finish(&callers[i], errs[e] == CASCADE_ERR_UNAVAILABLE
                                    ? CASCADE_ERR_OUTCOME_UNKNOWN
                                    : errs[e]);
            assert_non_null(strstr(callers[i].error, "a fault of the test"));
        }
        hall_close(h);
    }
}

/* ---- Who hangs ----------------------------------------------------------- */

static void
one_that_hangs_does_not_hold_up_the_rest(test_db *db)
{
    hall *h = hall_open(db, 0);
    caller callers[CALLS] = {{0}};

    hold(h, 1);
    begin(&callers[0], h);
    until_held(h, 1);
    for (size_t i = 1; i < CALLS; i++)
        begin(&callers[i], h);
    for (size_t i = 1; i < CALLS; i++)
        finish(&callers[i], CASCADE_OK);
    assert_int_equal(atomic_load(&h->holding), 1);
    let_go(h);
    finish(&callers[0], CASCADE_OK);
    hall_close(h);
}

/* As many hang as may: the rest leaves in time, and was not sent. */
static void
who_was_not_sent_in_time_is_told_so(test_db *db)
{
    hall *h = hall_open(db, IMPATIENT_MS);
    caller callers[CALLS] = {{0}};
    size_t hang = 1;
    size_t late = 0;

    hold(h, CALLS);
    begin(&callers[0], h);
    until_held(h, 1);
    for (; hang < CALLS && hang < 4; hang++) {
        begin(&callers[hang], h);
        until_held(h, hang + 1);
    }
    for (size_t i = hang; i < CALLS; i++)
        begin(&callers[i], h);
    for (size_t i = hang; i < CALLS; i++) {
        finish(&callers[i], CASCADE_ERR_UNAVAILABLE);
        late += strstr(callers[i].error, "it was not sent") != NULL;
    }
    assert_int_equal(late, CALLS - hang);
    assert_int_equal(wrap_store_count(h->wrap, WRAP_SUBMIT), hang);
    let_go(h);
    for (size_t i = 0; i < hang; i++)
        finish(&callers[i], CASCADE_OK);
    hall_close(h);
}

#ifdef CASCADE_HAVE_POSTGRES
static void
run_sql(PGconn *app, const char *sql)
{
    PGresult *result = PQexec(app, sql);

    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
}

static size_t
count_apart(hall *h)
{
    size_t count = 0;

    pthread_mutex_lock(&h->store->pipeline.mutex);
    count = h->store->pipeline.apart_count;
    pthread_mutex_unlock(&h->store->pipeline.mutex);
    return count;
}

static void
until_apart(hall *h, size_t count)
{
    int64_t end_ms = 0;

    while (count_apart(h) != count && in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    assert_int_equal(count_apart(h), count);
}

/* An application has started a cascade, and sent a signal, in a transaction
 * that it leaves open. Only those that bring the same wait for it; and who
 * comes later with the same does not hold up a batch once more. */
static void
an_open_transaction_holds_up_its_own_alone(test_db *db)
{
    hall *h = hall_open(db, 0);
    const cascade_store_options options = db_store_options(db);
    const cascade_start_options start = {.size = sizeof(start), .key = "held"};
    const cascade_signal_options once = {.size = sizeof(once),
                                         .request_id = "held"};
    cascade_uuid there = db_start(h->store, "work");
    PGconn *app = PQconnectdb(db->url);
    cascade_store *within = NULL;
    cascade_started started;
    caller callers[CALLS] = {{0}};
    caller later = {.key = "held"};
    size_t submits = 0;

    assert_ok(cascade_postgres_open(app, &options, &within));
    run_sql(app, "SET idle_in_transaction_session_timeout = '300s'");
    run_sql(app, "BEGIN");
    assert_ok(cascade_start(within, "work", NULL, &start, &started));
    assert_ok(cascade_signal(within, &there, "go", NULL, &once));
    callers[1].key = "held";
    callers[2] = (caller){.to = &there, .name = "go", .request_id = "held"};
    begin_all(h, callers, CALLS);
    let_go(h);
    for (size_t i = 0; i < CALLS; i++)
        if (i != 1 && i != 2)
            finish(&callers[i], CASCADE_OK);
    until_apart(h, 2);
    submits = wrap_store_count(h->wrap, WRAP_SUBMIT);
    begin(&later, h);
    until_apart(h, 3);
    assert_int_equal(wrap_store_count(h->wrap, WRAP_SUBMIT), submits + 1);
    run_sql(app, "COMMIT");
    finish(&callers[1], CASCADE_OK);
    finish(&callers[2], CASCADE_OK);
    finish(&later, CASCADE_OK);
    assert_true(callers[1].started.existed && later.started.existed);
    until_apart(h, 0);
    assert_ok(cascade_store_close(within));
    PQfinish(app);
    hall_close(h);
}
#endif

/* ---- What is missing ----------------------------------------------------- */

/* Whichever allocation fails, each call is answered, and the handle is good. */
static void
memory_that_is_missing_leaves_nobody_waiting(test_db *db)
{
    for (size_t nth = 1; nth <= 60; nth++) {
        hall *h = hall_open(db, 0);
        caller callers[4] = {{0}};

        begin_all(h, callers, 4);
        (void)csc_mem_fail_at(nth, 0);
        let_go(h);
        for (size_t i = 0; i < 4; i++) {
            pthread_join(callers[i].thread, NULL);
            assert_true(callers[i].err == CASCADE_OK ||
                        callers[i].err == CASCADE_ERR_NO_MEMORY);
            if (callers[i].err == CASCADE_OK)
                assert_false(callers[i].started.existed);
        }
        (void)csc_mem_fail_at(0, 0);
        (void)db_start(h->store, "work");
        hall_close(h);
    }
}

/* ---- Bounds -------------------------------------------------------------- */

/* What is large goes beside the others, and does not wait for them. */
static void
what_is_large_goes_by_itself(test_db *db)
{
    hall *h = hall_open(db, 0);
    const cascade_first first = {.size = sizeof(first), .node = "work"};
    cascade_start_spec specs[CSC_PIPELINE_ROWS_MAX];
    cascade_started started[CSC_PIPELINE_ROWS_MAX];
    caller one = {.hall = h};

    for (size_t i = 0; i < CSC_PIPELINE_ROWS_MAX; i++)
        specs[i] = (cascade_start_spec){
            .size = sizeof(specs[i]), .first = &first, .first_count = 1};
    hold(h, 1);
    begin(&one, h);
    until_held(h, 1);
    assert_ok(
        cascade_start_many(h->store, specs, CSC_PIPELINE_ROWS_MAX, started));
    assert_int_equal(atomic_load(&h->holding), 1);
    let_go(h);
    finish(&one, CASCADE_OK);
    hall_close(h);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_comes_meanwhile_is_one_commit",
         what_comes_meanwhile_is_one_commit, STORES_ALL},
        {"a_lone_call_is_a_batch_of_its_own", a_lone_call_is_a_batch_of_its_own,
         STORES_ALL},
        {"a_second_batch_goes_beside_the_first",
         a_second_batch_goes_beside_the_first, STORES_POSTGRES},
        {"each_gets_the_answer_that_is_its_own",
         each_gets_the_answer_that_is_its_own, STORES_ALL},
        {"what_is_refused_of_one_is_no_other_s_error",
         what_is_refused_of_one_is_no_other_s_error, STORES_ALL},
        {"a_lost_reply_is_found_out_by_each", a_lost_reply_is_found_out_by_each,
         STORES_ALL},
        {"an_outage_is_told_to_each", an_outage_is_told_to_each, STORES_ALL},
        {"one_that_hangs_does_not_hold_up_the_rest",
         one_that_hangs_does_not_hold_up_the_rest, STORES_ALL},
        {"who_was_not_sent_in_time_is_told_so",
         who_was_not_sent_in_time_is_told_so, STORES_ALL},
#ifdef CASCADE_HAVE_POSTGRES
        {"an_open_transaction_holds_up_its_own_alone",
         an_open_transaction_holds_up_its_own_alone, STORES_POSTGRES},
#endif
        {"memory_that_is_missing_leaves_nobody_waiting",
         memory_that_is_missing_leaves_nobody_waiting, STORES_MEMORY},
        {"what_is_large_goes_by_itself", what_is_large_goes_by_itself,
         STORES_ALL},
    };

    return stores_run("shared", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
