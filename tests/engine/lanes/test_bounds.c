/* SPDX-License-Identifier: MIT
 *
 * What an execution may record, and how much of it goes into one commit: the
 * bytes of a batch, the bytes of an execution, the text of its error.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "engine/support/play.h"
#include "held/engine_state.h"

/* ---- The bytes of a batch ----------------------------------------------- */

#define PAYLOAD 65536
#define BATCH_MAX (4 * PAYLOAD)
#define BESIDE 32768 /* what the rows of a batch hold beside the payloads */
#define COUNT 20

typedef struct loads {
    wrap_store wrap;
    cascade_store *store;
    cascade_engine *engine;
    char *payload; /* a JSON string of PAYLOAD bytes */
    atomic_size_t most;
    atomic_size_t total;
    atomic_bool holds; /* the next commit waits */
    sem_t held;
    sem_t go_on;
} loads;

static size_t
text_bytes(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

static size_t
change_bytes(const cascade_change *change)
{
    size_t bytes = 0;

    for (size_t i = 0; i < change->insert_count; i++)
        bytes += text_bytes(change->inserts[i].input) +
                 text_bytes(change->inserts[i].full_output);
    for (size_t i = 0; i < change->update_count; i++)
        bytes += text_bytes(change->updates[i].full_output);
    for (size_t i = 0; i < change->event_count; i++)
        bytes += text_bytes(change->events[i].value) +
                 text_bytes(change->events[i].ui_value);
    return bytes;
}

static cascade_err
weigh(void *context, const wrap_call *call)
{
    loads *l = context;
    size_t bytes = 0;

    if (call->move != WRAP_COMMIT)
        return CASCADE_OK;
    for (size_t i = 0; i < call->batch->change_count; i++)
        bytes += change_bytes(&call->batch->changes[i]);
    atomic_fetch_add(&l->total, bytes);
    if (bytes > atomic_load(&l->most))
        atomic_store(&l->most, bytes);
    if (atomic_exchange(&l->holds, false)) {
        sem_post(&l->held);
        stores_await(&l->go_on);
    }
    return CASCADE_OK;
}

static cascade_err
fan_out(cascade_node *node, void *user)
{
    (void)user;
    for (int i = 0; i < COUNT; i++)
        if (!expect(cascade_node_spawn(node, "put", NULL, NULL) == CASCADE_OK))
            return CASCADE_ERR_FINAL;
    return CASCADE_OK;
}

static cascade_err
put_payload(cascade_node *node, void *user)
{
    return cascade_node_put_text(node, "k", ((loads *)user)->payload, NULL);
}

static loads *
loads_create(test_db *db, cascade_mode mode)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = mode,
                                      .worker_count = 2,
                                      .lane_count = 1,
                                      .batch_bytes_max = BATCH_MAX};
    loads *l = calloc(1, sizeof(*l));

    assert_non_null(l);
    assert_int_equal(wrap_store_init(&l->wrap, db->url), 0);
    sem_init(&l->held, 0, 0);
    sem_init(&l->go_on, 0, 0);
    l->wrap.context = l;
    l->wrap.before = weigh;
    l->payload = calloc(1, PAYLOAD + 1);
    assert_non_null(l->payload);
    memset(l->payload, 'x', PAYLOAD);
    l->payload[0] = '"';
    l->payload[PAYLOAD - 1] = '"';
    l->store = db_wrapped(db, &l->wrap);
    l->engine = db_engine(db, l->store, &options);
    assert_ok(cascade_engine_register(l->engine, "n", stores_nothing, l, NULL));
    assert_ok(cascade_engine_register(l->engine, "fan", fan_out, l, NULL));
    assert_ok(cascade_engine_register(l->engine, "put", put_payload, l, NULL));
    assert_ok(cascade_engine_start(l->engine));
    return l;
}

/* All of it was written, in portions within the bound and one more. */
static void
loads_check(test_db *db, loads *l)
{
    assert_true(atomic_load(&l->total) >= (size_t)COUNT * PAYLOAD);
    assert_true(atomic_load(&l->most) > PAYLOAD + BESIDE);
    assert_true(atomic_load(&l->most) <= BATCH_MAX + PAYLOAD + BESIDE);
    db_close_engine(db, l->engine);
    db_close_store(db, l->store);
    wrap_store_fini(&l->wrap);
    free(l->payload);
    free(l);
}

/* Executions of one cascade that end together. */
static void
what_one_cascade_records_is_spread_over_batches(test_db *db)
{
    loads *l = loads_create(db, CASCADE_MODE_INLINE);
    cascade_uuid id = db_start(l->store, "fan");
    db_ends ends = {l->store, &id, 1, 0};

    assert_true(db_poll_until(db, &l->engine, 1, db_all_ended, &ends));
    db_await(l->store, &id, CASCADE_COMPLETED);
    loads_check(db, l);
}

static void *
start_one(void *context)
{
    loads *l = context;
    cascade_first first = {
        .size = sizeof(first), .node = "n", .input_text = l->payload};
    cascade_start_spec spec = {
        .size = sizeof(spec), .first = &first, .first_count = 1};
    cascade_started started;

    expect(cascade_start_many(l->store, &spec, 1, &started) == CASCADE_OK);
    return NULL;
}

static bool
has_all_births(void *context)
{
    cascade_engine *engine = context;
    size_t births = 0;

    pthread_mutex_lock(&engine->mutex);
    births = engine->room.births;
    pthread_mutex_unlock(&engine->mutex);
    return births == COUNT;
}

/* Starts that come while a commit is on its way. */
static void
starts_are_spread_over_batches(test_db *db)
{
    loads *l = loads_create(db, CASCADE_MODE_THREADS);
    pthread_t threads[COUNT];

    atomic_store(&l->holds, true);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, start_one, l), 0);
    while (sem_wait(&l->held) != 0)
        ;
    assert_true(stores_until(has_all_births, l->engine));
    sem_post(&l->go_on);
    for (int i = 0; i < COUNT; i++)
        (void)pthread_join(threads[i], NULL);
    loads_check(db, l);
}

/* ---- The bytes of an execution ------------------------------------------ */

#define EXECUTION_MAX 10000

static cJSON *
text_of(size_t len)
{
    char *text = calloc(1, len + 1);
    cJSON *json = NULL;

    if (text != NULL) {
        memset(text, 'x', len);
        json = cJSON_CreateString(text);
    }
    free(text);
    return json;
}

/* Only what will be recorded counts: not an output that was replaced, not a put
 * that was refused. */
static cascade_err
replace_and_retry(cascade_node *node, void *user)
{
    (void)user;
    expect(cascade_node_output(node, text_of(7000)) == CASCADE_OK);
    expect(cascade_node_output(node, text_of(8000)) == CASCADE_OK);
    expect(cascade_node_output(node, text_of(11000)) == CASCADE_ERR_TOO_LARGE);
    expect(cascade_node_put_ui(node, "k", text_of(1000), text_of(5000)) ==
           CASCADE_ERR_TOO_LARGE);
    expect(cascade_node_put(node, "k", text_of(1500)) == CASCADE_OK);
    expect(cascade_node_put(node, "k", text_of(600)) == CASCADE_ERR_TOO_LARGE);
    expect(cascade_node_output(node, text_of(10)) == CASCADE_OK);
    return cascade_node_put(node, "k", text_of(6000));
}

static void
only_what_is_recorded_counts_against_the_execution(test_db *db)
{
    play p = {.nodes = {{"n", replace_and_retry}},
              .attempts_max = 1,
              .execution_bytes_max = EXECUTION_MAX};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, CASCADE_MODE_INLINE, "n", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_string_equal(play_execution(snapshot, 0)->output, "\"xxxxxxxxxx\"");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* After 50: 550 bytes a join. What is refused takes nothing. */
static cascade_err
join_until_full(cascade_node *node, void *user)
{
    uint32_t after[50];
    cascade_spawn_options options = {
        .size = sizeof(options), .after = after, .after_count = 50};
    play *p = user;
    cascade_err err = CASCADE_OK;
    int joins = 0;

    for (uint32_t i = 0; i < 50; i++) {
        after[i] = i + 1;
        expect(cascade_node_spawn(node, "leaf", NULL, NULL) == CASCADE_OK);
    }
    for (; joins < 100 && err == CASCADE_OK; joins++)
        err = cascade_node_spawn(node, "leaf", NULL, &options);
    expect(err == CASCADE_ERR_TOO_LARGE);
    expect(strstr(cascade_errmsg(), "`after`") != NULL);
    expect(cascade_node_spawn(node, "leaf", text_of(11000), NULL) ==
           CASCADE_ERR_TOO_LARGE);
    options.after_count = 10;
    expect(cascade_node_spawn(node, "leaf", NULL, &options) == CASCADE_OK);
    *(int *)p->user = joins;
    return CASCADE_OK;
}

/* G13: 5,000 joins after 5,000 others would be 25 million numbers. */
static void
what_a_join_comes_after_counts_against_the_execution(test_db *db)
{
    int joins = 0;
    play p = {.nodes = {{"n", join_until_full}, {"leaf", stores_nothing}},
              .attempts_max = 1,
              .execution_bytes_max = EXECUTION_MAX,
              .user = &joins};

    play_run(&p, db, CASCADE_MODE_INLINE, "n", NULL, CASCADE_COMPLETED);
    assert_int_equal(joins, 18);
    play_end(&p);
}

/* ---- The text of an error ----------------------------------------------- */

/* Handled, and then another call fails. */
static cascade_err
fail_by_a_call(cascade_node *node, void *user)
{
    (void)user;
    (void)cascade_node_error(node, "handled");
    return cascade_node_put(node, "", cJSON_CreateNumber(1));
}

/* A call fails and is handled; what is returned has no text of its own. */
static cascade_err
fail_bare(cascade_node *node, void *user)
{
    const cJSON *value = NULL;

    (void)user;
    (void)cascade_node_error(node, "handled");
    expect(cascade_node_get(node, "handled", &value) == CASCADE_ERR_NOT_FOUND);
    return CASCADE_ERR_UNAVAILABLE;
}

static cascade_err
fail_twice(cascade_node *node, void *user)
{
    (void)user;
    (void)cascade_node_error(node, "handled");
    return cascade_node_fail(node, "the last word");
}

static cascade_err
fail_plainly(cascade_node *node, void *user)
{
    const cJSON *value = NULL;
    cascade_err err = cascade_node_error(node, "its own words");

    (void)user;
    (void)cascade_node_get(node, "k", &value);
    return err;
}

/* It belongs to what the node returned, not to what it had handled. */
static void
the_recorded_error_is_that_of_what_was_returned(test_db *db)
{
    static const struct {
        cascade_node_fn fn;
        const char *text;
    } cases[] = {{fail_by_a_call, "key"},
                 {fail_bare, "the store cannot be reached or is busy"},
                 {fail_twice, "the last word"},
                 {fail_plainly, "its own words"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        play p = {.nodes = {{"n", cases[i].fn}}, .attempts_max = 1};
        cascade_snapshot *snapshot = NULL;
        const char *error = NULL;

        play_run(&p, db, CASCADE_MODE_INLINE, "n", NULL, CASCADE_ERROR);
        snapshot = play_snapshot(&p);
        error = play_execution(snapshot, 0)->error;
        assert_non_null(error);
        if (strstr(error, cases[i].text) == NULL ||
            strstr(error, "handled") != NULL)
            fail_msg("case %zu: %s", i, error);
        cascade_snapshot_free(snapshot);
        play_end(&p);
    }
}

/* ---- Depth --------------------------------------------------------------- */

#define DEPTH 128

static cJSON *
deep(void)
{
    cJSON *tree = cJSON_CreateArray();

    for (int i = 1; i < DEPTH; i++) {
        cJSON *around = cJSON_CreateArray();

        cJSON_AddItemToArray(around, tree);
        tree = around;
    }
    return tree;
}

static cascade_err
dig(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_put(node, "deep", deep());

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_output(node, deep());
    return err == CASCADE_OK ? cascade_node_spawn(node, "look", deep(), NULL)
                             : err;
}

static cascade_err
look(cascade_node *node, void *user)
{
    const cJSON *values = NULL;
    cascade_err err = cascade_node_history(node, "deep", &values);

    (void)user;
    expect(cascade_node_input(node) != NULL);
    expect(cJSON_GetArraySize(values) == 1);
    return err;
}

/* G7, G13: what the gate lets in is read back, also from inside a record of
 * ours, which is one deeper. */
static void
a_payload_as_deep_as_may_be_is_read_back(test_db *db)
{
    play p = {.nodes = {{"dig", dig}, {"look", look}}};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, CASCADE_MODE_INLINE, "dig", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_int_equal(strlen(cascade_snapshot_result(snapshot)), 2 * DEPTH);
    assert_int_equal(strlen(cascade_snapshot_context(snapshot)),
                     2 * DEPTH + strlen("{\"deep\":[]}"));
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_one_cascade_records_is_spread_over_batches",
         what_one_cascade_records_is_spread_over_batches, STORES_ALL},
        {"starts_are_spread_over_batches", starts_are_spread_over_batches,
         STORES_ALL},
        {"only_what_is_recorded_counts_against_the_execution",
         only_what_is_recorded_counts_against_the_execution, STORES_ALL},
        {"what_a_join_comes_after_counts_against_the_execution",
         what_a_join_comes_after_counts_against_the_execution, STORES_ALL},
        {"the_recorded_error_is_that_of_what_was_returned",
         the_recorded_error_is_that_of_what_was_returned, STORES_ALL},
        {"a_payload_as_deep_as_may_be_is_read_back",
         a_payload_as_deep_as_may_be_is_read_back, STORES_ALL},
    };

    return stores_run("bounds", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
