/* SPDX-License-Identifier: MIT
 *
 * Waiting for ends: what an engine of the handle holds is not looked for, and
 * what none holds is looked for by one call for all that wait.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "store/store.h"
#include "support/in_time.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define CALLS 24
#define MANY (CSC_WATCH_LOOK_MAX + 44)
#define LIMIT_MS 60000

/* One test's: a handle that counts its moves, and nodes that wait to be let go.
 */
typedef struct hall {
    wrap_store *wrap;
    cascade_store *store;
    cascade_engine *engine; /* NULL: there is none on this handle */
    atomic_bool go;
    atomic_bool stuck;    /* loads wait */
    atomic_bool lossy;    /* replies to commits are lost, */
    atomic_bool lost;     /* one was: then the engine hears nothing more */
    atomic_size_t loaded; /* ids of the largest load */
} hall;

static cascade_err
wait_for_go(cascade_node *node, void *user)
{
    hall *h = user;
    bool fails = strcmp(cascade_node_name(node), "fails") == 0;
    int64_t end_ms = 0;

    while (!atomic_load(&h->go) && in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    return fails ? CASCADE_ERR_FAILED : CASCADE_OK;
}

static cascade_err
wait_for_word(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "word", -1, NULL);
}

static cascade_err
after(void *context, const wrap_call *call, cascade_err answer)
{
    hall *h = context;

    if (call->move != WRAP_COMMIT || !atomic_load(&h->lossy))
        return answer;
    atomic_store(&h->lost, true);
    return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "the reply is lost");
}

static cascade_err
before(void *context, const wrap_call *call)
{
    hall *h = context;
    int64_t end_ms = 0;

    while ((call->move == WRAP_COMMIT || call->move == WRAP_SETTLE) &&
           atomic_load(&h->lost) && in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    if (call->move != WRAP_LOAD || call->parts != 0)
        return CASCADE_OK;
    if (call->id_count > atomic_load(&h->loaded))
        atomic_store(&h->loaded, call->id_count);
    while (atomic_load(&h->stuck) && in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    return CASCADE_OK;
}

static cascade_engine *
start_engine(test_db *db, hall *h, cascade_store *store)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 2};
    const cascade_node_options once = {.size = sizeof(once), .attempts_max = 1};
    cascade_engine *engine = db_engine(db, store, &options);

    assert_ok(cascade_engine_register(engine, "ends", wait_for_go, h, &once));
    assert_ok(cascade_engine_register(engine, "fails", wait_for_go, h, &once));
    assert_ok(
        cascade_engine_register(engine, "asks", wait_for_word, NULL, &once));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

static hall *
hall_open(test_db *db)
{
    static hall h;

    memset(&h, 0, sizeof(h));
    h.wrap = wrap_store_create(db->url);
    assert_non_null(h.wrap);
    h.wrap->context = &h;
    h.wrap->before = before;
    h.wrap->after = after;
    h.store = db_wrapped(db, h.wrap);
    return &h;
}

static void
hall_close(test_db *db, hall *h)
{
    db_close_store(db, h->store);
    wrap_store_free(h->wrap);
}

static cascade_uuid
start(hall *h, const char *node)
{
    cascade_started started;

    assert_ok(cascade_start(h->store, node, NULL, NULL, &started));
    return started.id;
}

/* What reads cascades: lists, and loads of nothing but them. */
static size_t
count_looks(hall *h)
{
    return wrap_store_count(h->wrap, WRAP_LIST) +
           wrap_store_count(h->wrap, WRAP_LOAD);
}

/* ---- Calls in threads of their own --------------------------------------- */

typedef struct waiter {
    hall *hall;
    cascade_uuid id;
    pthread_t thread;
    cascade_err err;
    cascade_status status;
    char error[256];
} waiter;

static void *
wait_in_thread(void *context)
{
    waiter *w = context;

    w->err = cascade_wait(w->hall->store, &w->id, LIMIT_MS, &w->status);
    (void)snprintf(w->error, sizeof(w->error), "%s", cascade_errmsg());
    return NULL;
}

static void
begin(waiter *w, hall *h, const cascade_uuid *id)
{
    *w = (waiter){.hall = h, .id = *id};
    assert_int_equal(pthread_create(&w->thread, NULL, wait_in_thread, w), 0);
}

/* How many watch; `wanting`: only those that want a look, or are in one. */
static size_t
count_watches(hall *h, bool wanting)
{
    csc_watches *watches = &h->store->watches;
    size_t count = 0;

    pthread_mutex_lock(&watches->mutex);
    for (size_t i = 0; i < CSC_WATCH_LISTS; i++)
        for (csc_watch *w = watches->lists[i]; w != NULL; w = w->next)
            count += !wanting || w->look == CSC_WATCH_WANTED ||
                     w->look == CSC_WATCH_UNDER_WAY;
    pthread_mutex_unlock(&watches->mutex);
    return count;
}

static void
until_watched(hall *h, size_t count, bool wanting)
{
    int64_t end_ms = 0;

    while (count_watches(h, wanting) < count && in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    assert_int_equal(count_watches(h, wanting), count);
}

static void
finish(waiter *w, cascade_err err, cascade_status status)
{
    pthread_join(w->thread, NULL);
    assert_int_equal(w->err, err);
    if (err == CASCADE_OK)
        assert_int_equal(w->status, status);
}

/* ---- Held ---------------------------------------------------------------- */

static void
what_is_held_is_not_looked_for(test_db *db)
{
    hall *h = hall_open(db);
    waiter waiters[CALLS];
    size_t looks = 0;
    cascade_uuid ids[2];

    h->engine = start_engine(db, h, h->store);
    ids[0] = start(h, "ends");
    ids[1] = start(h, "fails");
    looks = count_looks(h);
    for (int i = 0; i < CALLS; i++)
        begin(&waiters[i], h, &ids[i % 2]);
    until_watched(h, CALLS, false);
    poll(NULL, 0, 500); /* two looks and more of each, were there any */
    assert_int_equal(count_looks(h), looks);
    atomic_store(&h->go, true);
    for (int i = 0; i < CALLS; i++)
        finish(&waiters[i], CASCADE_OK,
               i % 2 == 0 ? CASCADE_COMPLETED : CASCADE_ERROR);
    assert_int_equal(count_looks(h), looks);
    db_close_engine(db, h->engine);
    hall_close(db, h);
}

/* It goes on elsewhere, behind looks that its first engine made needless. */
static void
what_is_not_held_any_more_is_looked_for(test_db *db)
{
    hall *h = hall_open(db);
    cascade_store *other = db_store(db);
    cascade_engine *engine = NULL;
    int64_t end_ms = 0;
    size_t looks = 0;
    waiter w;
    cascade_uuid id;

    h->engine = start_engine(db, h, h->store);
    id = start(h, "asks");
    begin(&w, h, &id);
    until_watched(h, 1, false);
    db_close_engine(db, h->engine);
    looks = count_looks(h);
    while (count_looks(h) < looks + 2 && in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    assert_true(count_looks(h) >= looks + 2);
    engine = start_engine(db, h, other);
    assert_ok(cascade_signal(other, &id, "word", NULL, NULL));
    finish(&w, CASCADE_OK, CASCADE_COMPLETED);
    db_close_engine(db, engine);
    db_close_store(db, other);
    hall_close(db, h);
}

/* The engine does not know yet what became of the commit. */
static void
the_store_has_the_last_word(test_db *db)
{
    hall *h = hall_open(db);
    cascade_status status = CASCADE_RUNNING;
    int64_t end_ms = 0;
    cascade_uuid id;

    h->engine = start_engine(db, h, h->store);
    id = start(h, "ends");
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_wait(h->store, &id, 0, &status));
    atomic_store(&h->lossy, true);
    atomic_store(&h->go, true);
    while (!atomic_load(&h->lost) && in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    assert_true(atomic_load(&h->lost));
    assert_ok(cascade_wait(h->store, &id, 0, &status));
    assert_int_equal(status, CASCADE_COMPLETED);
    atomic_store(&h->lossy, false);
    atomic_store(&h->lost, false);
    db_close_engine(db, h->engine);
    hall_close(db, h);
}

/* ---- One look for all ---------------------------------------------------- */

/* While the first look is stuck all others come to want one. */
static void
looks_at_one_moment_are_one(test_db *db)
{
    hall *h = hall_open(db);
    waiter waiters[CALLS + 2];
    cascade_uuid ids[CALLS + 2];
    cascade_uuid none = {{7}};
    size_t before_all = 0;

    atomic_store(&h->stuck, true);
    for (int i = 0; i <= CALLS; i++)
        ids[i] = i > 1 && i % 5 == 0 ? ids[1] : start(h, "ends");
    ids[CALLS + 1] = none;
    before_all = wrap_store_count(h->wrap, WRAP_LOAD);
    for (int i = 0; i <= CALLS + 1; i++)
        begin(&waiters[i], h, &ids[i]);
    until_watched(h, CALLS + 2, true);
    assert_int_equal(wrap_store_count(h->wrap, WRAP_LOAD), before_all + 1);
    atomic_store(&h->stuck, false);
    finish(&waiters[CALLS + 1], CASCADE_ERR_NOT_FOUND, 0);
    assert_non_null(strstr(waiters[CALLS + 1].error, "there is no cascade"));
    assert_true(atomic_load(&h->loaded) > CALLS / 2);
    atomic_store(&h->go, true);
    h->engine = start_engine(db, h, db_store(db));
    for (int i = 0; i <= CALLS; i++)
        finish(&waiters[i], CASCADE_OK, CASCADE_COMPLETED);
    db_close_engine(db, h->engine);
    hall_close(db, h);
}

/* More than a look takes: each comes to its turn. */
static void
many_are_looked_for_in_turns(test_db *db)
{
    hall *h = hall_open(db);
    static waiter waiters[MANY];

    atomic_store(&h->stuck, true);
    for (int i = 0; i < MANY; i++) {
        cascade_uuid none = {{7, (uint8_t)(i >> 8)}};

        none.bytes[15] = (uint8_t)i;
        begin(&waiters[i], h, &none);
    }
    until_watched(h, MANY, true);
    atomic_store(&h->stuck, false);
    for (int i = 0; i < MANY; i++)
        finish(&waiters[i], CASCADE_ERR_NOT_FOUND, 0);
    assert_int_equal(atomic_load(&h->loaded), CSC_WATCH_LOOK_MAX);
    hall_close(db, h);
}

/* All are told the reason of whoever looked. */
static void
a_look_that_fails_is_all_calls_error(test_db *db)
{
    hall *h = hall_open(db);
    waiter waiters[4];
    size_t lists = 0;

    atomic_store(&h->stuck, true);
    wrap_store_fail(h->wrap, WRAP_LOAD, 0, SIZE_MAX, WRAP_BEFORE,
                    CASCADE_ERR_UNAVAILABLE);
    for (int i = 0; i < 4; i++) {
        cascade_uuid id = start(h, "ends");

        begin(&waiters[i], h, &id);
    }
    until_watched(h, 4, true);
    lists = wrap_store_count(h->wrap, WRAP_LIST);
    atomic_store(&h->stuck, false);
    for (int i = 0; i < 4; i++)
        finish(&waiters[i], CASCADE_ERR_UNAVAILABLE, 0);
    for (int i = 1; i < 4; i++)
        assert_string_equal(waiters[i].error, waiters[0].error);
    assert_true(strlen(waiters[0].error) > 0);
    assert_int_equal(wrap_store_count(h->wrap, WRAP_LIST), lists);
    hall_close(db, h);
}

/* Each looks alone then: the others' ends are known. */
static void
a_row_that_cannot_be_read_is_its_own_call_s_error(test_db *db)
{
    hall *h = hall_open(db);
    waiter waiters[4];
    cascade_uuid ids[4];
    char sql[128];
    char text[CASCADE_UUID_TEXT_SIZE];

    if (!db_has_sql(db)) {
        hall_close(db, h);
        return;
    }
    db->unsound = true;
    for (int i = 0; i < 4; i++)
        ids[i] = start(h, "ends");
    (void)snprintf(sql, sizeof(sql),
                   "UPDATE cascades SET created_at = '%s' WHERE id = '%s'",
                   strcmp(db->backend->name, "sqlite") == 0 ? "soon"
                                                            : "infinity",
                   cascade_uuid_format(&ids[2], text));
    assert_int_equal(db_sql(db, sql), 0);
    atomic_store(&h->stuck, true);
    for (int i = 0; i < 4; i++)
        begin(&waiters[i], h, &ids[i]);
    until_watched(h, 4, true);
    atomic_store(&h->stuck, false);
    finish(&waiters[2], CASCADE_ERR_CORRUPT, 0);
    assert_non_null(strstr(waiters[2].error, "created_at"));
    atomic_store(&h->go, true);
    h->engine = start_engine(db, h, db_store(db));
    finish(&waiters[0], CASCADE_OK, CASCADE_COMPLETED);
    finish(&waiters[1], CASCADE_OK, CASCADE_COMPLETED);
    finish(&waiters[3], CASCADE_OK, CASCADE_COMPLETED);
    db_close_engine(db, h->engine);
    hall_close(db, h);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_is_held_is_not_looked_for", what_is_held_is_not_looked_for,
         STORES_ALL},
        {"what_is_not_held_any_more_is_looked_for",
         what_is_not_held_any_more_is_looked_for, STORES_ALL},
        {"the_store_has_the_last_word", the_store_has_the_last_word,
         STORES_ALL},
        {"looks_at_one_moment_are_one", looks_at_one_moment_are_one,
         STORES_ALL},
        {"many_are_looked_for_in_turns", many_are_looked_for_in_turns,
         STORES_ALL},
        {"a_look_that_fails_is_all_calls_error",
         a_look_that_fails_is_all_calls_error, STORES_ALL},
        {"a_row_that_cannot_be_read_is_its_own_call_s_error",
         a_row_that_cannot_be_read_is_its_own_call_s_error, STORES_ALL},
    };

    return stores_run("wait", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
