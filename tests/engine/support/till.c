/* SPDX-License-Identifier: MIT
 *
 * Engines with transactional nodes; see till.h.
 */
#include "engine/support/till.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/support/mix.h"

#define PAUSE_NS 1000000L

/* On the heap: after a failed assertion its engines still use it. */
till *
till_create(test_db *db, cascade_mode mode, const till_node *nodes,
            size_t count)
{
    till *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    assert_true(count <= TILL_NODES);
    t->db = db;
    t->mode = mode;
    t->options = (cascade_engine_options){.size = sizeof(t->options),
                                          .mode = mode,
                                          .worker_count = 6,
                                          .lease_ms = 60000,
                                          .poll_interval_ms = 20};
    memcpy(t->nodes, nodes, count * sizeof(*nodes));
    t->node_count = count;
    mix_reset();
    watch_init(&t->w, db->url);
    t->w.context = t;
    db_close_store(db, db_store(db)); /* the schema is there */
    ledger_create(db);
    return t;
}

cascade_engine *
till_engine(till *t)
{
    size_t at = t->engine_count++;

    t->store[at] = db_wrapped(t->db, &t->w.wrap);
    t->engine[at] = db_engine(t->db, t->store[at], &t->options);
    watch_engine(&t->w, t->engine[at]);
    for (size_t i = 0; i < t->node_count; i++) {
        cascade_node_options options = t->nodes[i].options;

        options.size = sizeof(options);
        assert_ok(cascade_engine_register(t->engine[at], t->nodes[i].name,
                                          t->nodes[i].fn, t, &options));
    }
    assert_ok(cascade_engine_start(t->engine[at]));
    return t->engine[at];
}

till *
till_open(test_db *db, cascade_mode mode, const till_node *nodes, size_t count)
{
    till *t = till_create(db, mode, nodes, count);

    (void)till_engine(t);
    return t;
}

void
till_until(till *t, bool (*done)(void *context), void *context)
{
    if (t->mode == CASCADE_MODE_THREADS)
        assert_true(stores_until(done, context));
    else
        assert_true(
            db_poll_until(t->db, t->engine, t->engine_count, done, context));
}

void
till_await(till *t, const cascade_uuid *id, cascade_status status)
{
    db_ends ends = {t->store[0], id, 1, 0};

    if (t->mode != CASCADE_MODE_THREADS)
        till_until(t, db_all_ended, &ends);
    db_await(t->store[0], id, status);
}

void
till_run(till *t, const char *node, cascade_status status)
{
    t->id = db_start(t->store[0], node);
    till_await(t, &t->id, status);
}

cascade_snapshot *
till_snapshot(const till *t)
{
    cascade_snapshot *snapshot = NULL;

    assert_ok(cascade_snapshot_load(t->store[0], &t->id, NULL, &snapshot));
    return snapshot;
}

void
till_check(const till *t, size_t index, int attempts, const char *text)
{
    cascade_snapshot *snapshot = till_snapshot(t);
    const cascade_execution_info *info =
        cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, index);

    assert_non_null(info);
    assert_int_equal(info->attempts, attempts);
    if (text == NULL) {
        assert_null(info->error);
    } else {
        assert_non_null(info->error);
        if (strstr(info->error, text) == NULL)
            print_message("the error is: %s\n", info->error);
        assert_non_null(strstr(info->error, text));
    }
    cascade_snapshot_free(snapshot);
}

void
till_close(till *t, size_t commits_min)
{
    for (size_t i = 0; i < t->engine_count; i++)
        if (t->engine[i] != NULL)
            db_close_engine(t->db, t->engine[i]);
    watch_check(&t->w, commits_min);
    for (size_t i = 0; i < t->engine_count; i++)
        db_close_store(t->db, t->store[i]);
    watch_fini(&t->w);
    free(t);
}

/* ---- Nodes -------------------------------------------------------------- */

void
till_enter(till *t)
{
    int within = atomic_fetch_add(&t->within, 1) + 1;
    int most = atomic_load(&t->most);

    atomic_fetch_add(&t->entered, 1);
    while (within > most &&
           !atomic_compare_exchange_weak(&t->most, &most, within))
        continue;
}

void
till_leave(till *t)
{
    atomic_fetch_sub(&t->within, 1);
}

void
till_block(const atomic_bool *go)
{
    const struct timespec pause = {0, PAUSE_NS};

    while (!atomic_load(go))
        (void)nanosleep(&pause, NULL);
}

cascade_err
till_pay(cascade_node *node, void *user)
{
    till *t = user;
    cascade_err err = CASCADE_OK;

    till_enter(t);
    err = ledger_write(t->db, node, cascade_node_name(node));
    if (err == CASCADE_OK && atomic_load(&t->fails) > 0) {
        atomic_fetch_sub(&t->fails, 1);
        err = cascade_node_error(node, "it was to fail");
    }
    till_leave(t);
    return err;
}
