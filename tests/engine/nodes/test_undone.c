/* SPDX-License-Identifier: MIT
 *
 * What a store has certainly not done, S34: it costs nothing that is held, and
 * leaves nobody in doubt. And a number that has a past, S3: what may have been
 * done under it is decided before other content gets it.
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/uuid.h"
#include "held/engine_state.h"
#include "held/lane/lane_queue.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define COMMITS_MAX 16
#define CLAIMS 3
#define BUSY_MS 100

/* ---- An engine of one lane behind a wrap --------------------------------- */

typedef struct seen {
    int64_t number;
    size_t changes;
} seen;

typedef struct bench {
    test_db *db;
    wrap_store *wrap;
    cascade_store *store;
    cascade_engine *engine;
    sem_t entered; /* by `hold` */
    sem_t go;      /* it may return */
    size_t holds;  /* how often that is waited for */
    atomic_size_t entries;
    sem_t first;                /* the first commit is under way */
    sem_t on;                   /* and may go on */
    const cascade_err *answers; /* to the commits behind it, until CASCADE_OK */
    wrap_when when;             /* the first of them is given so */
    seen commits[COMMITS_MAX];
    atomic_size_t commit_count;
    atomic_size_t until; /* how many of them were there before any ended */
    sqlite3 *other;      /* another program */
    cascade_store *starter;
    cascade_uuid next;
    atomic_bool locked;   /* or there is no need to */
    atomic_size_t undone; /* claims that were answered so */
} bench;

static cascade_err
hold(cascade_node *node, void *user)
{
    bench *b = user;

    (void)node;
    if (atomic_fetch_add(&b->entries, 1) >= b->holds)
        return CASCADE_OK; /* it should not have been entered */
    (void)sem_post(&b->entered);
    stores_await(&b->go);
    return CASCADE_OK;
}

static bench *
bench_open(test_db *db, int64_t inner_deadline_ms, size_t holds)
{
    bench *b = calloc(1, sizeof(*b));

    assert_non_null(b);
    b->db = db;
    b->holds = holds;
    b->wrap = wrap_store_create(db->url);
    assert_non_null(b->wrap);
    b->wrap->context = b;
    b->wrap->inner_deadline_ms = inner_deadline_ms;
    b->store = db_wrapped(db, b->wrap);
    assert_int_equal(sem_init(&b->entered, 0, 0), 0);
    assert_int_equal(sem_init(&b->go, 0, 0), 0);
    assert_int_equal(sem_init(&b->first, 0, 0), 0);
    assert_int_equal(sem_init(&b->on, 0, 0), 0);
    return b;
}

static void
bench_start(bench *b)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 2,
                                            .lane_count = 1,
                                            .lease_ms = 60000,
                                            .poll_interval_ms = 20};

    b->engine = db_engine(b->db, b->store, &options);
    assert_ok(cascade_engine_register(b->engine, "hold", hold, b, NULL));
    assert_ok(
        cascade_engine_register(b->engine, "work", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(b->engine));
}

static void
bench_close(bench *b)
{
    assert_int_equal(db_stats(b->engine).losses, 0);
    db_close_engine(b->db, b->engine);
    db_close_store(b->db, b->store);
    wrap_store_free(b->wrap);
    (void)sem_destroy(&b->entered);
    (void)sem_destroy(&b->go);
    (void)sem_destroy(&b->first);
    (void)sem_destroy(&b->on);
    free(b);
}

/* It was entered once, and is not entered again behind what went wrong. */
static void
check_held_once(bench *b, const cascade_uuid *id)
{
    (void)sem_post(&b->go);
    db_await(b->store, id, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&b->entries), 1);
    assert_int_equal(db_stats(b->engine).fences, 0);
}

/* ---- Claims ------------------------------------------------------------- */

static bool
claims_have_failed(void *context)
{
    return atomic_load(&((bench *)context)->wrap->faults) >= CLAIMS;
}

static void
a_claim_that_did_nothing_loses_nothing(test_db *db)
{
    bench *b = bench_open(db, 0, 1);
    cascade_uuid id;

    bench_start(b);
    id = db_start(b->store, "hold");
    stores_await(&b->entered);
    wrap_store_fail(b->wrap, WRAP_CLAIM, 0, CLAIMS, WRAP_BEFORE,
                    CASCADE_ERR_NOT_DONE);
    assert_true(stores_until(claims_have_failed, b));
    check_held_once(b, &id);
    bench_close(b);
}

/* What is to be claimed comes up, and the other program locks the file. */
static cascade_err
lock_before(void *context, const wrap_call *call)
{
    bench *b = context;
    cascade_started started = {0};

    if (call->move != WRAP_CLAIM || atomic_exchange(&b->locked, true))
        return CASCADE_OK;
    expect(cascade_start(b->starter, "hold", NULL, NULL, &started) ==
           CASCADE_OK);
    b->next = started.id;
    expect(sqlite3_exec(b->other, "BEGIN IMMEDIATE", NULL, NULL, NULL) ==
           SQLITE_OK);
    return CASCADE_OK;
}

static void
count_undone(void *context, const wrap_call *call, cascade_err answer)
{
    bench *b = context;

    if (call->move == WRAP_CLAIM)
        atomic_fetch_add(&b->undone, answer == CASCADE_ERR_NOT_DONE);
}

static bool
a_claim_was_undone(void *context)
{
    return atomic_load(&((bench *)context)->undone) > 0;
}

/* Another program keeps the file locked beyond the deadline. */
static void
a_locked_file_loses_nothing(test_db *db)
{
    bench *b = bench_open(db, BUSY_MS, 2);
    cascade_uuid id;

    b->starter = db_store(db);
    assert_int_equal(sqlite3_open(strchr(db->url, ':') + 1, &b->other),
                     SQLITE_OK);
    (void)sqlite3_busy_timeout(b->other, DB_DEADLINE_MS);
    atomic_store(&b->locked, true);
    b->wrap->before = lock_before;
    b->wrap->answered = count_undone;
    bench_start(b);
    id = db_start(b->starter, "hold");
    stores_await(&b->entered);
    atomic_store(&b->locked, false);
    assert_true(stores_until(a_claim_was_undone, b));
    assert_int_equal(sqlite3_exec(b->other, "ROLLBACK", NULL, NULL, NULL),
                     SQLITE_OK);
    stores_await(&b->entered); /* the next one */
    (void)sem_post(&b->go);
    (void)sem_post(&b->go);
    db_await(b->store, &id, CASCADE_COMPLETED);
    db_await(b->store, &b->next, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&b->entries), 2);
    assert_int_equal(sqlite3_close(b->other), SQLITE_OK);
    bench_close(b);
}

/* ---- Commits ------------------------------------------------------------ */

static cascade_err
commit_nothing(void *context, const wrap_call *call)
{
    bench *b = context;

    if (call->move == WRAP_SUBMIT)
        return csc_fail(CASCADE_ERR_NO_MEMORY, "no memory");
    if (call->move != WRAP_COMMIT)
        return CASCADE_OK;
    switch (atomic_fetch_add(&b->commit_count, 1)) {
    case 0:
        return csc_fail(b->answers[0], "the first answer");
    case 1:
        return csc_fail(CASCADE_ERR_FENCED, "removed");
    default:
        return CASCADE_OK;
    }
}

/* G12. What a start is told that was tried once, before its engine lost what it
 * had, and that no other way was found for. */
static void
start_in_vain(test_db *db, cascade_err answer, cascade_err expected)
{
    bench *b = bench_open(db, 0, 0);
    cascade_started started = {0};

    b->answers = &answer;
    b->wrap->before = commit_nothing;
    bench_start(b);
    assert_fails(expected,
                 cascade_start(b->store, "work", NULL, NULL, &started));
    assert_int_equal(atomic_load(&b->commit_count), 2);
    bench_close(b);
}

static void
a_commit_that_did_nothing_leaves_no_doubt(test_db *db)
{
    start_in_vain(db, CASCADE_ERR_NOT_DONE, CASCADE_ERR_NO_MEMORY);
    start_in_vain(db, CASCADE_ERR_UNAVAILABLE, CASCADE_ERR_OUTCOME_UNKNOWN);
}

/* ---- A number with a past ------------------------------------------------ */

static void
note_commit(bench *b, const cascade_batch *batch, size_t nth)
{
    if (nth < COMMITS_MAX)
        b->commits[nth] =
            (seen){.number = batch->number, .changes = batch->change_count};
}

/* The first commit waits; those behind it are answered as the test says. */
static cascade_err
answer_in_turn(void *context, const wrap_call *call)
{
    bench *b = context;
    size_t nth = 0;

    if (call->move != WRAP_COMMIT)
        return CASCADE_OK;
    nth = atomic_fetch_add(&b->commit_count, 1);
    note_commit(b, call->batch, nth);
    if (nth == 0) {
        (void)sem_post(&b->first);
        stores_await(&b->on);
        return CASCADE_OK;
    }
    for (size_t i = 0; i < nth; i++)
        if (b->answers[i] == CASCADE_OK)
            return CASCADE_OK;
    if (nth == 1 && b->when == WRAP_AFTER)
        return CASCADE_OK;
    return csc_fail(b->answers[nth - 1], "as the test says");
}

static cascade_err
lose_second(void *context, const wrap_call *call, cascade_err answer)
{
    bench *b = context;

    if (call->move == WRAP_COMMIT && b->when == WRAP_AFTER &&
        atomic_load(&b->commit_count) == 2)
        return csc_fail(CASCADE_ERR_UNAVAILABLE, "the answer is lost");
    return answer;
}

typedef struct caller {
    bench *b;
    pthread_t thread;
    cascade_started started;
    cascade_err err;
} caller;

static void *
start_one(void *context)
{
    caller *c = context;

    c->err = cascade_start(c->b->store, "hold", NULL, NULL, &c->started);
    return NULL;
}

static void
begin(caller *c, bench *b)
{
    c->b = b;
    assert_int_equal(pthread_create(&c->thread, NULL, start_one, c), 0);
}

static void
end(caller *c)
{
    assert_int_equal(pthread_join(c->thread, NULL), 0);
    assert_ok(c->err);
    assert_false(c->started.existed);
}

static bool
two_are_queued(void *context)
{
    bench *b = context;
    const csc_lane *lane = &b->engine->lanes[0];
    bool two = false;

    pthread_mutex_lock(&b->engine->mutex);
    two = lane->first_start != NULL && lane->first_start != lane->last_start;
    pthread_mutex_unlock(&b->engine->mutex);
    return two;
}

/* Two starts in one batch, whose tries have these answers. */
static bench *
start_two(test_db *db, wrap_when when, const cascade_err *answers)
{
    bench *b = bench_open(db, 0, 3);
    caller callers[3] = {0};

    b->answers = answers;
    b->when = when;
    b->wrap->before = answer_in_turn;
    b->wrap->after = lose_second;
    bench_start(b);
    begin(&callers[0], b);
    stores_await(&b->first);
    begin(&callers[1], b);
    begin(&callers[2], b);
    assert_true(stores_until(two_are_queued, b));
    (void)sem_post(&b->on);
    for (size_t i = 0; i < 3; i++)
        end(&callers[i]);
    atomic_store(&b->until, atomic_load(&b->commit_count));
    for (size_t i = 0; i < 3; i++)
        (void)sem_post(&b->go);
    for (size_t i = 0; i < 3; i++)
        db_await(b->store, &callers[i].started.id, CASCADE_COMPLETED);
    return b;
}

static void
check_commits(bench *b, const seen *expected, size_t count)
{
    assert_int_equal(atomic_load(&b->until), count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(b->commits[i].number, expected[i].number);
        assert_int_equal(b->commits[i].changes, expected[i].changes);
    }
}

/* B3: a try without answer may come to the store later. The halves of its batch
 * do not get its number. */
static void
a_refused_batch_is_settled_before_it_is_halved(test_db *db)
{
    static const cascade_err answers[] = {CASCADE_ERR_UNAVAILABLE,
                                          CASCADE_ERR_REFUSED,
                                          CASCADE_ERR_REFUSED, CASCADE_OK};
    static const seen expected[] = {{1, 1}, {2, 2}, {2, 2},
                                    {4, 2}, {4, 1}, {5, 1}};
    bench *b = start_two(db, WRAP_BEFORE, answers);

    check_commits(b, expected, 6);
    assert_int_equal(wrap_store_count(b->wrap, WRAP_SETTLE), 1);
    bench_close(b);
}

/* Nor are there halves where it took effect. */
static void
what_took_effect_is_not_halved(test_db *db)
{
    static const cascade_err answers[] = {CASCADE_ERR_UNAVAILABLE,
                                          CASCADE_ERR_REFUSED, CASCADE_OK};
    static const seen expected[] = {{1, 1}, {2, 2}, {2, 2}, {2, 2}};
    bench *b = start_two(db, WRAP_AFTER, answers);

    check_commits(b, expected, 4);
    assert_int_equal(wrap_store_count(b->wrap, WRAP_SETTLE), 1);
    bench_close(b);
}

/* One that certainly was not done has no past. */
static void
what_was_not_done_is_halved_at_once(test_db *db)
{
    static const cascade_err answers[] = {CASCADE_ERR_NOT_DONE,
                                          CASCADE_ERR_REFUSED, CASCADE_OK};
    static const seen expected[] = {{1, 1}, {2, 2}, {2, 2}, {2, 1}, {3, 1}};
    bench *b = start_two(db, WRAP_BEFORE, answers);

    check_commits(b, expected, 5);
    assert_int_equal(wrap_store_count(b->wrap, WRAP_SETTLE), 0);
    bench_close(b);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_claim_that_did_nothing_loses_nothing",
         a_claim_that_did_nothing_loses_nothing, STORES_ALL},
        {"a_locked_file_loses_nothing", a_locked_file_loses_nothing,
         STORES_SQLITE},
        {"a_commit_that_did_nothing_leaves_no_doubt",
         a_commit_that_did_nothing_leaves_no_doubt, STORES_ALL},
        {"a_refused_batch_is_settled_before_it_is_halved",
         a_refused_batch_is_settled_before_it_is_halved, STORES_ALL},
        {"what_took_effect_is_not_halved", what_took_effect_is_not_halved,
         STORES_ALL},
        {"what_was_not_done_is_halved_at_once",
         what_was_not_done_is_halved_at_once, STORES_ALL},
    };

    return stores_run("engine_undone", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
