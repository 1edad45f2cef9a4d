/* SPDX-License-Identifier: MIT
 *
 * Many cascades of a middling size that are claimed at once (B4): no more of
 * them are read than there is memory for, be it for what they are or for the
 * messages that come with them.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "held/engine_state.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define CROWD 900
#define TEXT_BYTES (20 * 1024)
#define MIB ((size_t)1024 * 1024)
#define HELD_BYTES (2 * MIB)
#define BACKLOG_BYTES (MIB / 4)
#define REST_BYTES (1 * MIB) /* workers, records, what SQL is made of */
#define ASKED 12             /* times, once as much waits as may */

typedef struct burst {
    test_db *db;
    wrap_store *wrap;
    cascade_store *store;
    cascade_store *starter;
    cascade_engine *engine;
    cascade_uuid ids[CROWD];
    char text[TEXT_BYTES + 1];
    size_t asked;
    pthread_mutex_t mutex; /* held: no commit goes on */
} burst;

static cascade_err
wait_to_commit(void *context, const wrap_call *call)
{
    burst *b = context;

    if (call->move == WRAP_COMMIT) {
        pthread_mutex_lock(&b->mutex);
        pthread_mutex_unlock(&b->mutex);
    }
    return CASCADE_OK;
}

static cascade_err
collect(cascade_node *node, void *user)
{
    cJSON *letter = NULL;
    cascade_err err = cascade_node_await(node, "letter", -1, &letter);

    (void)user;
    cJSON_Delete(letter);
    return err;
}

/* What is started waits in the store until an engine is. */
static burst *
burst_open(test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 4,
                                            .lease_ms = 60000,
                                            .poll_interval_ms = 20,
                                            .held_bytes_max = HELD_BYTES,
                                            .backlog_bytes_max = BACKLOG_BYTES};
    burst *b = calloc(1, sizeof(*b));

    assert_non_null(b);
    b->db = db;
    memset(b->text, 'x', TEXT_BYTES);
    assert_int_equal(pthread_mutex_init(&b->mutex, NULL), 0);
    b->starter = db_store(db);
    b->wrap = wrap_store_create(db->url);
    assert_non_null(b->wrap);
    b->wrap->context = b;
    b->wrap->before = wait_to_commit;
    b->store = db_wrapped(db, b->wrap);
    b->engine = db_engine(db, b->store, &options);
    assert_ok(cascade_engine_register(b->engine, "collect", collect, b, NULL));
    assert_ok(
        cascade_engine_register(b->engine, "look", stores_nothing, b, NULL));
    return b;
}

static void
start_all(burst *b, const char *node, cJSON *input)
{
    for (size_t i = 0; i < CROWD; i++) {
        cascade_started started = {0};
        cJSON *copy = input == NULL ? NULL : cJSON_Duplicate(input, true);

        assert_ok(cascade_start(b->starter, node, copy, NULL, &started));
        b->ids[i] = started.id;
    }
    cJSON_Delete(input);
}

static void
burst_close(burst *b)
{
    for (size_t i = 0; i < CROWD; i++)
        db_await(b->starter, &b->ids[i], CASCADE_COMPLETED);
    db_close_engine(b->db, b->engine);
    db_close_store(b->db, b->store);
    wrap_store_free(b->wrap);
    pthread_mutex_destroy(&b->mutex);
    free(b);
}

/* As room.c says, without a large one: those that are held, two loads, and what
 * waits for its commit, which is there as it was read and as it is written. */
#define STATED_BYTES (HELD_BYTES / 2 + HELD_BYTES + 2 * BACKLOG_BYTES)

/* All of them are ten times as much. */
static void
what_a_burst_holds_is_bounded(test_db *db)
{
    burst *b = burst_open(db);
    size_t before = 0;
    size_t most = 0;

    start_all(b, "look", cJSON_CreateString(b->text));
    before = csc_mem_live_bytes();
    (void)csc_mem_most_bytes();
    assert_ok(cascade_engine_start(b->engine));
    for (size_t i = 0; i < CROWD; i++)
        db_await(b->starter, &b->ids[i], CASCADE_COMPLETED);
    most = csc_mem_most_bytes();
    print_message("%zu bytes at most\n", most - before);
    assert_true(most - before <= STATED_BYTES + REST_BYTES);
    burst_close(b);
}

static bool
is_full(void *context)
{
    const burst *b = context;

    return atomic_load(&b->engine->backlog) >= BACKLOG_BYTES;
}

static bool
has_asked(void *context)
{
    burst *b = context;

    return wrap_store_count(b->wrap, WRAP_CLAIM) >= b->asked;
}

/* Each brings a letter, and nothing is committed. */
static void
what_a_burst_receives_is_bounded(test_db *db)
{
    burst *b = burst_open(db);
    size_t backlog = 0;
    bool full = false;

    start_all(b, "collect", NULL);
    for (size_t i = 0; i < CROWD; i++)
        assert_ok(cascade_signal(b->starter, &b->ids[i], "letter",
                                 cJSON_CreateString(b->text), NULL));
    pthread_mutex_lock(&b->mutex);
    assert_ok(cascade_engine_start(b->engine));
    full = stores_until(is_full, b);
    b->asked = wrap_store_count(b->wrap, WRAP_CLAIM) + ASKED;
    full = full && stores_until(has_asked, b);
    backlog = atomic_load(&b->engine->backlog);
    pthread_mutex_unlock(&b->mutex);
    assert_true(full);
    print_message("%zu bytes wait\n", backlog);
    assert_in_range(backlog, BACKLOG_BYTES, BACKLOG_BYTES + HELD_BYTES);
    burst_close(b);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_a_burst_holds_is_bounded", what_a_burst_holds_is_bounded,
         STORES_ALL},
        {"what_a_burst_receives_is_bounded", what_a_burst_receives_is_bounded,
         STORES_ALL},
    };

    return stores_run("engine_middling", tests,
                      sizeof(tests) / sizeof(tests[0]), argc, argv);
}
