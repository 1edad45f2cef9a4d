/* SPDX-License-Identifier: MIT
 *
 * Out of memory, at every allocation in turn: a small scenario on the memory
 * store, INLINE, is played with the Nth allocation failing, for N = 1, 2, ...
 * until none fails any more. Each time it either runs through or fails with
 * CASCADE_ERR_NO_MEMORY; afterwards, with memory again, the cascade ends as it
 * should, and nothing is leaked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "support/stores.h"

typedef struct scene {
    test_db *db;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid id;
    bool started;
} scene;

/* ---- The scenario ------------------------------------------------------- */

static cascade_err
give_seven(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    *result = cJSON_CreateNumber(7);
    return cascade_node_put_text(node, "k", "2", NULL);
}

/* A step, a put, two spawns and what joins them. */
static cascade_err
root(cascade_node *node, void *user)
{
    uint32_t both[2] = {1, 2};
    cascade_spawn_options after = {
        .size = sizeof(after), .after = both, .after_count = 2};
    cJSON *result = NULL;
    cascade_err err = CASCADE_OK;

    (void)user;
    err = cascade_node_step(node, "s", give_seven, NULL, NULL, &result);
    cJSON_Delete(result);
    if (err == CASCADE_OK)
        err = cascade_node_put_text(node, "k", "1", "\"one\"");
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "branch", NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "branch", NULL, NULL);
    return err == CASCADE_OK ? cascade_node_spawn(node, "join", NULL, &after)
                             : err;
}

/* The first fails in its first attempt. */
static cascade_err
branch(cascade_node *node, void *user)
{
    (void)user;
    if (cascade_node_attempt(node) == 1 && cascade_node_function_id(node) == 2)
        return cascade_node_error(node, "once");
    return cascade_node_put_text(node, "k", "3", NULL);
}

static cascade_err
join(cascade_node *node, void *user)
{
    const cJSON *values = NULL;
    cascade_err err = cascade_node_history(node, "k", &values);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    expect(cJSON_GetArraySize(values) == 4);
    return cascade_node_output(node, cJSON_CreateTrue());
}

static cascade_err
open_engine(scene *s)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE};
    /* Running out of memory costs attempts: there are enough. */
    cascade_node_options node = {
        .size = sizeof(node), .attempts_max = -1, .backoff_ms = 1};
    cascade_err err = cascade_engine_open(s->store, &options, &s->engine);

    if (err == CASCADE_OK)
        err = cascade_engine_register(s->engine, "root", root, NULL, &node);
    if (err == CASCADE_OK)
        err = cascade_engine_register(s->engine, "branch", branch, NULL, &node);
    if (err == CASCADE_OK)
        err = cascade_engine_register(s->engine, "join", join, NULL, &node);
    return err == CASCADE_OK ? cascade_engine_start(s->engine) : err;
}

static cascade_err
open_and_start(scene *s)
{
    cascade_store_options options = db_store_options(s->db);
    cascade_started started = {0};
    cascade_err err = cascade_store_open(s->db->url, &options, &s->store);

    if (err == CASCADE_OK)
        err = open_engine(s);
    if (err == CASCADE_OK)
        err = cascade_start(s->store, "root", NULL, NULL, &started);
    s->started = err == CASCADE_OK;
    s->id = started.id;
    return err;
}

static cascade_err
poll_on(scene *s, int polls)
{
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < polls && err == CASCADE_OK; i++) {
        err = cascade_engine_poll(s->engine, 0, NULL);
        fake_clock_advance(&s->db->clock, 5);
    }
    return err;
}

static cascade_status
status_of(const scene *s)
{
    cascade_info *info = NULL;
    cascade_status status = CASCADE_RUNNING;

    assert_ok(cascade_get(s->store, &s->id, &info));
    status = info->status;
    cascade_info_free(info);
    return status;
}

/* With memory again: to the end, however long it takes. */
static void
finish(scene *s)
{
    cascade_snapshot *snapshot = NULL;

    for (int i = 0; i < 2000 && status_of(s) == CASCADE_RUNNING; i++) {
        assert_ok(cascade_engine_poll(s->engine, 0, NULL));
        fake_clock_advance(&s->db->clock, cascade_engine_timeout_ms(s->engine));
    }
    assert_int_equal(status_of(s), CASCADE_COMPLETED);
    assert_ok(cascade_snapshot_load(s->store, &s->id, NULL, &snapshot));
    assert_string_equal(cascade_snapshot_result(snapshot), "true");
    assert_string_equal(cascade_snapshot_context(snapshot),
                        "{\"k\":[1,2,3,3]}");
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 5);
    cascade_snapshot_free(snapshot);
}

/* One play; false when it asked for fewer than `nth` allocations. */
static bool
play(test_db *db, size_t nth, int sticky)
{
    scene s = {.db = db};
    size_t before = csc_mem_live();
    cascade_err err = CASCADE_OK;
    size_t asked = 0;

    (void)csc_mem_fail_at(nth, sticky);
    err = open_and_start(&s);
    if (err == CASCADE_OK)
        err = poll_on(&s, 80);
    asked = csc_mem_fail_at(0, 0);
    if (err != CASCADE_OK && err != CASCADE_ERR_NO_MEMORY)
        fail_msg("allocation %zu: %s", nth, cascade_err_name(err));
    /* Without a failure it ends by itself. */
    if (asked < nth)
        assert_int_equal(status_of(&s), CASCADE_COMPLETED);
    if (s.started)
        finish(&s);
    assert_ok(cascade_engine_close(s.engine));
    assert_ok(cascade_store_close(s.store));
    if (csc_mem_live() != before)
        fail_msg("allocation %zu: %zu blocks are leaked", nth,
                 csc_mem_live() - before);
    return asked >= nth;
}

static void
sweep(test_db *db, int sticky)
{
    size_t nth = 1;

    db->fake_time = true;
    while (play(db, nth, sticky))
        nth++;
    print_message("%zu allocations were failed\n", nth - 1);
    assert_true(nth > 100);
}

static void
one_failing_allocation_loses_nothing(test_db *db)
{
    sweep(db, 0);
}

static void
failing_allocations_from_some_point_on_lose_nothing(test_db *db)
{
    sweep(db, 1);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"one_failing_allocation_loses_nothing",
         one_failing_allocation_loses_nothing, STORES_MEMORY},
        {"failing_allocations_from_some_point_on_lose_nothing",
         failing_allocations_from_some_point_on_lose_nothing, STORES_MEMORY},
    };

    return stores_run("memory_out", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
