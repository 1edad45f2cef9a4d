/* SPDX-License-Identifier: MIT
 *
 * Results and messages that wait for their commit are bounded in bytes (B4): no
 * function is entered and no message read while they are too many, and all go
 * on when they are not.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/map.h"
#include "held/engine_state.h"
#include "held/room/backlog.h"
#include "held/run/run.h"
#include "support/splitmix.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define CROWD 40
#define WORKERS 4
#define RESULT_BYTES (64 * 1024)
#define BACKLOG_BYTES (4 * RESULT_BYTES)
#define TINY_BYTES 1024
#define LETTERS 8                    /* to each of them */
#define LOOK_BYTES (8 * 1024 * 1024) /* of payloads, that one look gives; */
#define COPIES 2                     /* of each, in what becomes of them */
#define LOOKS 4 /* in which all could be read: each behind a claim */
#define HOUR_MS (60 * 60 * 1000)

typedef struct bench {
    test_db *db;
    wrap_store *wrap;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid ids[CROWD];
    atomic_size_t entries;
    pthread_mutex_t mutex; /* held: no commit goes on */
    pthread_mutex_t mail;  /* held: no look for messages does */
    size_t claims;         /* to be waited for */
    size_t looks;
    atomic_size_t read; /* messages, by looks */
} bench;

static cascade_err
write_much(cascade_node *node, void *user)
{
    bench *b = user;
    char *text = malloc(RESULT_BYTES + 1);
    cascade_err err = CASCADE_ERR_NO_MEMORY;

    atomic_fetch_add(&b->entries, 1);
    if (text == NULL)
        return err;
    memset(text, 'x', RESULT_BYTES);
    text[RESULT_BYTES] = '\0';
    err = cascade_node_put(node, "text", cJSON_CreateString(text));
    free(text);
    return err;
}

static cascade_err
wait_to_commit(void *context, const wrap_call *call)
{
    bench *b = context;

    pthread_mutex_t *mutex = call->move == WRAP_COMMIT    ? &b->mutex
                             : call->move == WRAP_RECEIVE ? &b->mail
                                                          : NULL;

    if (mutex != NULL) {
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
    }
    return CASCADE_OK;
}

static cascade_err
count_read(void *context, const wrap_call *call, size_t bytes)
{
    bench *b = context;

    (void)bytes;
    atomic_fetch_add(&b->read, call->move == WRAP_RECEIVE);
    return CASCADE_OK;
}

/* Counts as entered once it has all. */
static cascade_err
collect(cascade_node *node, void *user)
{
    bench *b = user;

    for (int i = 0; i < LETTERS; i++) {
        cJSON *letter = NULL;
        cascade_err err = cascade_node_await(node, "letter", -1, &letter);

        if (err != CASCADE_OK)
            return err;
        cJSON_Delete(letter);
    }
    atomic_fetch_add(&b->entries, 1);
    return CASCADE_OK;
}

static bench *
bench_open(test_db *db, cascade_mode mode, const char *node,
           size_t backlog_bytes_max)
{
    const cascade_engine_options options = {
        .size = sizeof(options),
        .mode = mode,
        .worker_count = mode == CASCADE_MODE_THREADS ? WORKERS : 0,
        .lease_ms = 60000,
        .poll_interval_ms = 20,
        .park_after_ms = HOUR_MS,
        .backlog_bytes_max = backlog_bytes_max};
    cascade_store *starter = db_store(db);
    bench *b = calloc(1, sizeof(*b));

    assert_non_null(b);
    b->db = db;
    for (size_t i = 0; i < CROWD; i++)
        b->ids[i] = db_start(starter, node);
    assert_int_equal(pthread_mutex_init(&b->mutex, NULL), 0);
    assert_int_equal(pthread_mutex_init(&b->mail, NULL), 0);
    b->wrap = wrap_store_create(db->url);
    assert_non_null(b->wrap);
    b->wrap->context = b;
    b->wrap->before = wait_to_commit;
    b->wrap->row = count_read;
    b->store = db_wrapped(db, b->wrap);
    b->engine = db_engine(db, b->store, &options);
    assert_ok(cascade_engine_register(b->engine, "write", write_much, b, NULL));
    assert_ok(cascade_engine_register(b->engine, "collect", collect, b, NULL));
    return b;
}

static void
bench_close(bench *b)
{
    assert_int_equal(atomic_load(&b->entries), CROWD);
    db_close_engine(b->db, b->engine);
    db_close_store(b->db, b->store);
    wrap_store_free(b->wrap);
    pthread_mutex_destroy(&b->mutex);
    pthread_mutex_destroy(&b->mail);
    free(b);
}

/* No function runs, and none is entered before there is a commit. */
static bool
nothing_begins(void *context)
{
    bench *b = context;
    cascade_engine *engine = b->engine;
    bool all = atomic_load(&b->entries) == CROWD;
    bool still = false;

    pthread_mutex_lock(&engine->mutex);
    still = engine->calls.running == 0 && (engine->ready.held_back || all);
    pthread_mutex_unlock(&engine->mutex);
    return still;
}

/* The store shows a commit a moment before the engine has worked it in. */
static bool
nothing_waits(void *context)
{
    return atomic_load(&((bench *)context)->engine->backlog) == 0;
}

/* What is begun before the bound is reached: what makes it full, and what the
 * other workers are in by then. */
static void
functions_wait_for_commits(test_db *db)
{
    bench *b = bench_open(db, CASCADE_MODE_THREADS, "write", BACKLOG_BYTES);
    size_t entries = 0;
    bool still = false;

    pthread_mutex_lock(&b->mutex);
    assert_ok(cascade_engine_start(b->engine));
    still = stores_until(nothing_begins, b);
    entries = atomic_load(&b->entries);
    pthread_mutex_unlock(&b->mutex);
    assert_true(still);
    assert_true(entries <= BACKLOG_BYTES / RESULT_BYTES + WORKERS - 1);
    for (size_t i = 0; i < CROWD; i++)
        db_await(b->store, &b->ids[i], CASCADE_COMPLETED);
    assert_true(stores_until(nothing_waits, b));
    bench_close(b);
}

/* While the workers wait, there is room; somebody else sees it first. */
static void
take_their_room(bench *b)
{
    cascade_engine *engine = b->engine;
    size_t backlog = 0;

    pthread_mutex_lock(&engine->mutex);
    backlog = atomic_exchange(&engine->backlog, 0);
    expect(csc_backlog_may_take(engine));
    expect(engine->ready.held_back);
    csc_backlog_let_begin(engine);
    expect(!engine->ready.held_back);
    atomic_fetch_add(&engine->backlog, backlog);
    pthread_mutex_unlock(&engine->mutex);
}

static void
who_only_asks_leaves_those_who_wait_to_be_told(test_db *db)
{
    bench *b = bench_open(db, CASCADE_MODE_THREADS, "write", BACKLOG_BYTES);
    bool still = false;

    pthread_mutex_lock(&b->mutex);
    assert_ok(cascade_engine_start(b->engine));
    still = stores_until(nothing_begins, b);
    take_their_room(b);
    pthread_mutex_unlock(&b->mutex);
    assert_true(still);
    for (size_t i = 0; i < CROWD; i++)
        db_await(b->store, &b->ids[i], CASCADE_COMPLETED);
    bench_close(b);
}

static void
go_on_by_polls(test_db *db, cascade_mode mode)
{
    bench *b = bench_open(db, mode, "write", TINY_BYTES);
    db_ends ends = {.store = b->store, .ids = b->ids, .count = CROWD};

    assert_ok(cascade_engine_start(b->engine));
    assert_true(db_poll_until(db, &b->engine, 1, db_all_ended, &ends));
    bench_close(b);
}

/* One result is more than all that may wait: they go on one by one. */
static void
one_that_is_over_the_bound_goes_on_alone(test_db *db)
{
    bench *b = bench_open(db, CASCADE_MODE_THREADS, "write", TINY_BYTES);

    assert_ok(cascade_engine_start(b->engine));
    for (size_t i = 0; i < CROWD; i++)
        db_await(b->store, &b->ids[i], CASCADE_COMPLETED);
    bench_close(b);
    go_on_by_polls(db, CASCADE_MODE_LOOP);
    go_on_by_polls(db, CASCADE_MODE_INLINE);
}

/* All are held, await a letter, and have nothing to commit. */
static bool
all_await(void *context)
{
    bench *b = context;
    cascade_engine *engine = b->engine;
    size_t count = 0;

    pthread_mutex_lock(&engine->mutex);
    for (size_t i = 0; i < CROWD; i++) {
        const csc_run *run = csc_map_get(&engine->runs, &b->ids[i]);

        count += run != NULL && run->state.awaiting == 1 && run->active == 0 &&
                 run->first_post == NULL && !csc_run_is_committing(run);
    }
    pthread_mutex_unlock(&engine->mutex);
    return count == CROWD;
}

static bool
is_full(void *context)
{
    const cascade_engine *engine = ((bench *)context)->engine;

    return atomic_load(&engine->backlog) >= BACKLOG_BYTES;
}

static bool
has_claimed(void *context)
{
    bench *b = context;

    return wrap_store_count(b->wrap, WRAP_CLAIM) >= b->claims;
}

/* A look is bounded in bytes as they are stored: these cannot be compressed by
 * much. */
static void
send_letters(bench *b, cascade_store *sender)
{
    char *text = malloc(RESULT_BYTES + 1);
    uint64_t seed = 1;

    assert_non_null(text);
    for (size_t i = 0; i < RESULT_BYTES; i++)
        text[i] = (char)('0' + splitmix_next(&seed) % 43);
    text[RESULT_BYTES] = '\0';
    for (size_t i = 0; i < CROWD * LETTERS; i++)
        assert_ok(cascade_signal(sender, &b->ids[i % CROWD], "letter",
                                 cJSON_CreateString(text), NULL));
    free(text);
}

/* One look may pass the bound, and no other follows it. */
static void
messages_wait_for_commits(test_db *db)
{
    bench *b = bench_open(db, CASCADE_MODE_THREADS, "collect", BACKLOG_BYTES);
    cascade_store *sender = db_store(db);
    size_t backlog = 0;
    bool full = false;

    assert_ok(cascade_engine_start(b->engine));
    assert_true(stores_until(all_await, b));
    pthread_mutex_lock(&b->mutex);
    pthread_mutex_lock(&b->mail);
    send_letters(b, sender);
    pthread_mutex_unlock(&b->mail);
    full = stores_until(is_full, b);
    b->claims = wrap_store_count(b->wrap, WRAP_CLAIM) + LOOKS + 1;
    full = stores_until(has_claimed, b) && full;
    backlog = atomic_load(&b->engine->backlog);
    pthread_mutex_unlock(&b->mutex);
    assert_true(full);
    assert_in_range(backlog, BACKLOG_BYTES,
                    BACKLOG_BYTES + COPIES * (LOOK_BYTES + RESULT_BYTES));
    for (size_t i = 0; i < CROWD; i++)
        db_await(b->store, &b->ids[i], CASCADE_COMPLETED);
    assert_true(stores_until(nothing_waits, b));
    bench_close(b);
}

static bool
has_looked(void *context)
{
    bench *b = context;

    return wrap_store_count(b->wrap, WRAP_RECEIVE) >= b->looks;
}

/* All that a look shows of them is in hand. */
static bool
send_tiny(bench *b, cascade_store *sender, size_t count)
{
    for (size_t i = 0; i < count * CROWD; i++)
        assert_ok(cascade_signal(sender, &b->ids[i % CROWD], "letter",
                                 cJSON_CreateString("x"), NULL));
    b->looks = wrap_store_count(b->wrap, WRAP_RECEIVE) + LOOKS;
    return stores_until(has_looked, b);
}

/* No commit goes on: the first look takes the first letters, a second one shows
 * that there are more, and those behind it read none of these cascades. */
static void
what_is_in_hand_is_not_read_again(test_db *db)
{
    bench *b =
        bench_open(db, CASCADE_MODE_THREADS, "collect", (size_t)64 << 20);
    cascade_store *sender = db_store(db);
    size_t before = 0;
    size_t again = 0;
    bool looked = false;

    assert_ok(cascade_engine_start(b->engine));
    assert_true(stores_until(all_await, b));
    pthread_mutex_lock(&b->mutex);
    looked = send_tiny(b, sender, 1) && send_tiny(b, sender, 1);
    before = atomic_load(&b->read);
    looked = looked && send_tiny(b, sender, LETTERS - 2);
    again = atomic_load(&b->read) - before;
    pthread_mutex_unlock(&b->mutex);
    assert_true(looked && before > 0);
    assert_int_equal(again, 0);
    for (size_t i = 0; i < CROWD; i++)
        db_await(b->store, &b->ids[i], CASCADE_COMPLETED);
    assert_true(stores_until(nothing_waits, b));
    bench_close(b);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"functions_wait_for_commits", functions_wait_for_commits, STORES_ALL},
        {"who_only_asks_leaves_those_who_wait_to_be_told",
         who_only_asks_leaves_those_who_wait_to_be_told, STORES_ALL},
        {"one_that_is_over_the_bound_goes_on_alone",
         one_that_is_over_the_bound_goes_on_alone, STORES_ALL},
        {"messages_wait_for_commits", messages_wait_for_commits, STORES_ALL},
        {"what_is_in_hand_is_not_read_again", what_is_in_hand_is_not_read_again,
         STORES_ALL},
    };

    return stores_run("engine_backlog", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
