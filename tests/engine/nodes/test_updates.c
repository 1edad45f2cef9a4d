/* SPDX-License-Identifier: MIT
 *
 * Updates: a request from outside, answered once by a node, whatever happens
 * between; and values that a node publishes, read without waking it.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/support/play.h"
#include "support/wrap_store.h"

/* What the nodes of a play met. */
typedef struct course {
    atomic_int entered;
    int wanted; /* updates that the node answers */
    cascade_err err;
} course;

static course *
course_of(void *user)
{
    return ((play *)user)->user;
}

/* ---- Nodes -------------------------------------------------------------- */

/* Answers with the double. */
static cascade_err
answer_one(cascade_node *node)
{
    const char *ticket = NULL;
    cJSON *request = NULL;
    cascade_err err =
        cascade_node_await_update(node, "double", -1, &request, &ticket);

    if (err == CASCADE_OK)
        err = cascade_node_answer(node, ticket,
                                  play_number(2 * play_read_number(request)));
    cJSON_Delete(request);
    return err;
}

static cascade_err
answer_all(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&c->entered, 1);
    for (int i = 0; i < c->wanted && err == CASCADE_OK; i++)
        err = answer_one(node);
    if (err != CASCADE_OK)
        return err;
    return cascade_node_await(node, "end", -1, NULL);
}

static cascade_err
answer_twice(cascade_node *node, void *user)
{
    const char *ticket = NULL;
    cascade_err err =
        cascade_node_await_update(node, "double", -1, NULL, &ticket);

    (void)user;
    for (int i = 1; i <= 2 && err == CASCADE_OK; i++)
        err = cascade_node_answer(node, ticket, play_number(i));
    return err;
}

/* A signal first; the next run answers. */
static cascade_err
continue_then(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_await(node, "go", -1, NULL);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    return cascade_node_continue_as_new(node, "answers", NULL);
}

static cascade_err
only_wait(cascade_node *node, void *user)
{
    atomic_fetch_add(&course_of(user)->entered, 1);
    return cascade_node_await(node, "end", -1, NULL);
}

static cascade_err
find_none(cascade_node *node, void *user)
{
    const char *ticket = NULL;

    course_of(user)->err =
        cascade_node_await_update(node, "double", 0, NULL, &ticket);
    return course_of(user)->err == CASCADE_ERR_TIMEOUT ? CASCADE_OK
                                                       : course_of(user)->err;
}

static cascade_err
publish_two(cascade_node *node, void *arg, cJSON **result)
{
    (void)result;
    return cascade_node_publish(node, "progress", play_number(*(int *)arg));
}

/* Twice in steps, while it goes on, and last of all by itself. */
static cascade_err
publish(cascade_node *node, void *user)
{
    int values[] = {1, 2};
    cascade_err err =
        cascade_node_step(node, "one", publish_two, &values[0], NULL, NULL);

    atomic_fetch_add(&course_of(user)->entered, 1);
    if (err == CASCADE_OK)
        err =
            cascade_node_step(node, "two", publish_two, &values[1], NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "end", -1, NULL);
    if (err != CASCADE_OK)
        return err;
    return cascade_node_publish(node, "progress", play_number(3));
}

/* ---- Asking ------------------------------------------------------------- */

/* Asks until there is something to tell, which is the same request each time:
 * where this thread drives the engine, it does so between. */
static cascade_err
ask(play *p, const cascade_uuid *id, int n, const char *request_id,
    int *answered)
{
    cascade_update_options options = {
        .size = sizeof(options),
        .request_id = request_id,
        .timeout_ms = p->mode == CASCADE_MODE_THREADS ? 30000 : 1};
    cJSON *answer = NULL;
    cascade_err err = CASCADE_ERR_TIMEOUT;

    while (err == CASCADE_ERR_TIMEOUT) {
        err = cascade_update(p->store, id, "double", play_number(n), &options,
                             &answer);
        if (p->mode != CASCADE_MODE_THREADS)
            assert_ok(cascade_engine_poll(p->engine, 0, NULL));
    }
    if (err == CASCADE_OK)
        *answered = play_read_number(answer);
    cJSON_Delete(answer);
    return err;
}

static void
expect_answer(play *p, const cascade_uuid *id, int n, const char *request_id,
              int wanted)
{
    int answered = -1;

    assert_ok(ask(p, id, n, request_id, &answered));
    assert_int_equal(answered, wanted);
}

static void
end(play *p)
{
    assert_ok(cascade_signal(p->store, &p->id, "end", NULL, NULL));
    play_await(p, &p->id, CASCADE_COMPLETED);
}

/* ---- Updates ------------------------------------------------------------ */

static void
a_request_is_answered(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 3};
    play p = {.nodes = {{"answers", answer_all}}, .user = &c};

    play_begin(&p, db, mode, "answers");
    for (int i = 1; i <= c.wanted; i++) {
        char request_id[20];

        (void)snprintf(request_id, sizeof(request_id), "r/\"%d", i);
        expect_answer(&p, &p.id, i, request_id, 2 * i);
    }
    end(&p);
    play_end(&p);
}

/* Also with another request, and when the cascade has ended. */
static void
a_request_id_gets_the_same_answer(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 2};
    play p = {
        .nodes = {{"answers", answer_all}}, .park_after_ms = 1, .user = &c};

    play_begin(&p, db, mode, "answers");
    expect_answer(&p, &p.id, 1, "a", 2);
    expect_answer(&p, &p.id, 9, "a", 2);
    expect_answer(&p, &p.id, 3, "b", 6);
    end(&p);
    expect_answer(&p, &p.id, 9, "a", 2);
    assert_int_equal(play_count(&p, "cascade.step:answer/double",
                                CASCADE_EXECUTION_COMPLETED),
                     2);
    play_end(&p);
}

/* Also when both are there. */
static void
the_first_answer_counts(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"answers", answer_twice}}};

    play_begin(&p, db, mode, "answers");
    expect_answer(&p, &p.id, 0, "a", 1);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    expect_answer(&p, &p.id, 0, "a", 1);
    play_end(&p);
}

static void
a_request_is_answered_by_the_next_run(test_db *db, cascade_mode mode)
{
    course c = {.wanted = 2};
    play p = {.nodes = {{"continues", continue_then}, {"answers", answer_all}},
              .user = &c};
    cascade_update_options hasty = {
        .size = sizeof(hasty), .request_id = "a", .timeout_ms = 1};

    play_begin(&p, db, mode, "continues");
    assert_fails(
        CASCADE_ERR_TIMEOUT,
        cascade_update(p.store, &p.id, "double", play_number(1), &hasty, NULL));
    play_until(&p, "cascade.signal:update/double", CASCADE_EXECUTION_COMPLETED,
               1);
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    expect_answer(&p, &p.id, 1, "a", 2);
    expect_answer(&p, &p.id, 2, "b", 4);
    play_end(&p);
}

static void
an_update_of_an_ended_cascade_is_refused(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"waits", only_wait}}, .user = &c};
    cascade_uuid nobody = {{1}};
    int answered = -1;

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:end", CASCADE_EXECUTION_RUNNING, 1);
    end(&p);
    assert_int_equal(ask(&p, &p.id, 1, "a", &answered), CASCADE_ERR_ENDED);
    assert_int_equal(ask(&p, &nobody, 1, "a", &answered),
                     CASCADE_ERR_NOT_FOUND);
    assert_int_equal(answered, -1);
    play_end(&p);
}

/* Neither does an update end an await, nor a signal one of an update. */
static void
updates_and_signals_are_apart(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"finds", find_none}}, .user = &c};
    cascade_started started = {0};

    play_open(&p, db, mode);
    assert_ok(cascade_start_with_signal(p.store, "finds", NULL, NULL, "double",
                                        play_number(1), NULL, &started));
    play_await(&p, &started.id, CASCADE_COMPLETED);
    assert_int_equal(c.err, CASCADE_ERR_TIMEOUT);
    assert_fails(
        CASCADE_ERR_INVALID,
        cascade_signal(p.store, &started.id, "update/double", NULL, NULL));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_update(p.store, &started.id, "a/b", NULL, NULL, NULL));
    play_end(&p);
}

/* Once it is sent no failure may sound as if it were not. */
static void
an_answer_that_cannot_be_read_is_an_unknown_outcome(test_db *db)
{
    const cascade_update_options options = {
        .size = sizeof(options), .request_id = "a", .timeout_ms = 1};
    cascade_store_options store_options = db_store_options(db);
    wrap_store *wrap = wrap_store_create(db->url);
    cascade_store *store = NULL;
    cascade_started started = {0};

    assert_non_null(wrap);
    assert_ok(cascade_store_open_driver(&wrap->driver, wrap->url,
                                        &store_options, &store));
    assert_ok(cascade_start(store, "answers", NULL, NULL, &started));
    wrap_store_fail(wrap, WRAP_LOAD, 0, 1, WRAP_BEFORE,
                    CASCADE_ERR_UNAVAILABLE);
    assert_fails(
        CASCADE_ERR_OUTCOME_UNKNOWN,
        cascade_update(store, &started.id, "double", NULL, &options, NULL));
    assert_fails(
        CASCADE_ERR_TIMEOUT,
        cascade_update(store, &started.id, "double", NULL, &options, NULL));
    assert_ok(cascade_store_close(store));
    wrap_store_free(wrap);
}

/* Neither is it taken for none. */
static void
an_answer_is_found_or_memory_is_short(test_db *db)
{
    const cascade_update_options options = {
        .size = sizeof(options), .request_id = "a", .timeout_ms = 1};
    course c = {.wanted = 1};
    play p = {.nodes = {{"answers", answer_all}}, .user = &c};
    cascade_err err = CASCADE_ERR_NO_MEMORY;
    size_t nth = 0;

    play_begin(&p, db, CASCADE_MODE_INLINE, "answers");
    expect_answer(&p, &p.id, 1, "a", 2);
    end(&p);
    while (err != CASCADE_OK) {
        cJSON *answer = NULL;

        (void)csc_mem_fail_at(++nth, 0);
        err = cascade_update(p.store, &p.id, "double", NULL, &options, &answer);
        (void)csc_mem_fail_at(0, 0);
        cJSON_Delete(answer);
        if (err != CASCADE_OK && err != CASCADE_ERR_NO_MEMORY &&
            err != CASCADE_ERR_OUTCOME_UNKNOWN)
            fail_msg("allocation %zu: %s", nth, cascade_err_name(err));
    }
    assert_true(nth > 1);
    play_end(&p);
}

/* ---- As large as a payload may be --------------------------------------- */

#define DEPTH 128
#define PAYLOAD ((size_t)1024 * 1024)

static cJSON *
deep(int depth)
{
    cJSON *tree = cJSON_CreateArray();

    for (int i = 1; i < depth; i++) {
        cJSON *around = cJSON_CreateArray();

        cJSON_AddItemToArray(around, tree);
        tree = around;
    }
    return tree;
}

/* A string of `len` bytes with its quotes. */
static cJSON *
large(size_t len)
{
    char *text = calloc(1, len - 1);
    cJSON *json = NULL;

    assert_non_null(text);
    memset(text, 'x', len - 2);
    json = cJSON_CreateString(text);
    free(text);
    return json;
}

static cascade_err
echo(cascade_node *node, void *user)
{
    const char *ticket = NULL;
    cJSON *request = NULL;
    cascade_err err =
        cascade_node_await_update(node, "double", -1, &request, &ticket);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    if (cJSON_IsArray(request)) {
        expect(cascade_node_answer(node, ticket, deep(DEPTH + 1)) ==
               CASCADE_ERR_JSON);
        return cascade_node_answer(node, ticket, request);
    }
    expect(cascade_node_answer(node, ticket, large(PAYLOAD + 1)) ==
           CASCADE_ERR_TOO_LARGE);
    return cascade_node_answer(node, ticket, request);
}

/* Takes `request`, which comes back as it is. */
static void
expect_echo(test_db *db, cascade_mode mode, cJSON *request)
{
    play p = {.nodes = {{"echoes", echo}}, .attempts_max = 1};
    cascade_update_options options = {
        .size = sizeof(options),
        .request_id = "a",
        .timeout_ms = mode == CASCADE_MODE_THREADS ? 30000 : 1};
    cJSON *answer = NULL;
    cascade_err err = CASCADE_ERR_TIMEOUT;

    play_begin(&p, db, mode, "echoes");
    while (err == CASCADE_ERR_TIMEOUT) {
        err = cascade_update(p.store, &p.id, "double",
                             cJSON_Duplicate(request, true), &options, &answer);
        if (mode != CASCADE_MODE_THREADS)
            assert_ok(cascade_engine_poll(p.engine, 0, NULL));
    }
    assert_ok(err);
    assert_true(cJSON_Compare(answer, request, true));
    cJSON_Delete(answer);
    cJSON_Delete(request);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_end(&p);
}

/* What is wrapped around it does not count. */
static void
the_limits_are_those_of_the_bare_payload(test_db *db, cascade_mode mode)
{
    expect_echo(db, mode, deep(DEPTH));
    expect_echo(db, mode, large(PAYLOAD));
}

/* ---- Queries ------------------------------------------------------------ */

static void
expect_published(const play *p, int wanted)
{
    cJSON *value = NULL;

    assert_ok(cascade_get_published(p->store, &p->id, "progress", &value));
    assert_int_equal(play_read_number(value), wanted);
    cJSON_Delete(value);
}

static void
a_published_value_is_read_without_waking(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {
        .nodes = {{"publishes", publish}}, .park_after_ms = 1, .user = &c};
    cJSON *value = NULL;
    int entered = 0;

    play_begin(&p, db, mode, "publishes");
    play_until(&p, "cascade.await:end", CASCADE_EXECUTION_RUNNING, 1);
    play_until_parked(&p);
    entered = atomic_load(&c.entered);
    expect_published(&p, 2);
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_get_published(p.store, &p.id, "other", &value));
    assert_int_equal(db_stats(p.engine).held, 0);
    assert_int_equal(atomic_load(&c.entered), entered);
    end(&p);
    expect_published(&p, 3);
    play_end(&p);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(a_request_is_answered)
PLAY_MODES(a_request_id_gets_the_same_answer)
PLAY_MODES(the_first_answer_counts)
PLAY_MODES(a_request_is_answered_by_the_next_run)
PLAY_MODES(an_update_of_an_ended_cascade_is_refused)
PLAY_MODES(updates_and_signals_are_apart)
PLAY_MODES(the_limits_are_those_of_the_bare_payload)
PLAY_MODES(a_published_value_is_read_without_waking)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_request_is_answered),
        PLAY_TESTS(a_request_id_gets_the_same_answer),
        PLAY_TESTS(the_first_answer_counts),
        PLAY_TESTS(a_request_is_answered_by_the_next_run),
        PLAY_TESTS(an_update_of_an_ended_cascade_is_refused),
        PLAY_TESTS(updates_and_signals_are_apart),
        PLAY_TESTS(the_limits_are_those_of_the_bare_payload),
        PLAY_TESTS(a_published_value_is_read_without_waking),
        {"an_answer_that_cannot_be_read_is_an_unknown_outcome",
         an_answer_that_cannot_be_read_is_an_unknown_outcome, STORES_ALL},
        {"an_answer_is_found_or_memory_is_short",
         an_answer_is_found_or_memory_is_short, STORES_MEMORY},
    };

    return stores_run("updates", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
