/* SPDX-License-Identifier: MIT
 *
 * On PostgreSQL transactional nodes run beside the engine's other cascades:
 * while some of them stand in their transactions, and more wait for a
 * connection, all others come to their end, in an engine with hardly more
 * workers than transactions. On SQLite nothing else is written meanwhile.
 */
#include <libpq-fe.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cascade/postgres.h"
#include "support/stores.h"

#define TRANSACTIONS 2 /* at once */
#define WORKERS (TRANSACTIONS + 2)
#define BLOCKED 20 /* cascades whose node is transactional */
#define OTHERS 200
#define HOUR_MS (INT64_C(60) * 60 * 1000)

typedef struct gate {
    atomic_int inside;  /* in their functions now */
    atomic_int most;    /* of them, ever */
    atomic_int entered; /* in all */
    sem_t open;         /* a pass for each */
} gate;

static void
note_entry(gate *g)
{
    int inside = 1 + atomic_fetch_add(&g->inside, 1);
    int most = atomic_load(&g->most);

    while (inside > most &&
           !atomic_compare_exchange_weak(&g->most, &most, inside))
        continue;
    atomic_fetch_add(&g->entered, 1);
}

/* It has written, so that it holds what a transaction may hold. */
static cascade_err
stand(cascade_node *node, void *user)
{
    gate *g = user;
    PGconn *conn = NULL;
    PGresult *result = NULL;

    if (!expect(cascade_node_postgres(node, &conn) == CASCADE_OK))
        return CASCADE_ERR_FINAL;
    result = PQexec(conn, "SELECT pg_current_xact_id()");
    expect(PQresultStatus(result) == PGRES_TUPLES_OK);
    PQclear(result);
    note_entry(g);
    stores_await(&g->open);
    atomic_fetch_sub(&g->inside, 1);
    return CASCADE_OK;
}

static cascade_err
walk(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_put(node, "at", cJSON_CreateNumber(1));

    (void)user;
    return err == CASCADE_OK ? cascade_node_spawn(node, "arrive", NULL, NULL)
                             : err;
}

static bool
all_stand(void *context)
{
    gate *g = context;

    return atomic_load(&g->inside) == TRANSACTIONS;
}

static void
start_all(cascade_store *store, const char *node, cascade_uuid *ids,
          size_t count)
{
    for (size_t i = 0; i < count; i++)
        ids[i] = db_start(store, node);
}

static void
await_all(cascade_store *store, const cascade_uuid *ids, size_t count)
{
    db_ends ends = {.store = store, .ids = ids, .count = count};

    assert_true(stores_until(db_all_ended, &ends));
    for (size_t i = 0; i < count; i++)
        db_await(store, &ids[i], CASCADE_COMPLETED);
}

static void
open_engine(test_db *db, cascade_store *store, bool suspend_steps, gate *g)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = WORKERS,
                                            .suspend_steps = suspend_steps,
                                            .transaction_count = TRANSACTIONS};
    const cascade_node_options in_one = {.size = sizeof(in_one),
                                         .transactional = true,
                                         .transaction_max_ms = HOUR_MS};
    cascade_engine *engine = db_engine(db, store, &options);

    assert_ok(cascade_engine_register(engine, "stand", stand, g, &in_one));
    assert_ok(cascade_engine_register(engine, "walk", walk, NULL, NULL));
    assert_ok(
        cascade_engine_register(engine, "arrive", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
}

static void
walk_past(test_db *db, bool suspend_steps)
{
    cascade_store *store = db_store(db);
    cascade_uuid blocked[BLOCKED];
    cascade_uuid others[OTHERS];
    gate *g = calloc(1, sizeof(*g));

    assert_non_null(g);
    assert_int_equal(0, sem_init(&g->open, 0, 0));
    open_engine(db, store, suspend_steps, g);
    start_all(store, "stand", blocked, BLOCKED);
    assert_true(stores_until(all_stand, g));
    start_all(store, "walk", others, OTHERS);
    await_all(store, others, OTHERS);
    assert_int_equal(TRANSACTIONS, g->inside);
    assert_int_equal(TRANSACTIONS, g->entered);
    for (int i = 0; i < BLOCKED; i++)
        sem_post(&g->open);
    await_all(store, blocked, BLOCKED);
    assert_int_equal(BLOCKED, g->entered);
    assert_int_equal(TRANSACTIONS, g->most);
    sem_destroy(&g->open);
    free(g);
}

static void
others_end_while_transactional_nodes_stand(test_db *db)
{
    walk_past(db, false);
}

static void
others_end_where_steps_suspend_too(test_db *db)
{
    walk_past(db, true);
}

static const stores_test tests[] = {
    {"others_end_while_transactional_nodes_stand",
     others_end_while_transactional_nodes_stand, STORES_POSTGRES},
    {"others_end_where_steps_suspend_too", others_end_where_steps_suspend_too,
     STORES_POSTGRES}};

int
main(int argc, char **argv)
{
    return stores_run("beside", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
