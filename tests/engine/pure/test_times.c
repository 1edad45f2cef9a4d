/* SPDX-License-Identifier: MIT
 *
 * Time limits of very many executions of one cascade, which pass one after the
 * other: each costs a look at few of them, whether it was kept or not. What is
 * counted is each item that is looked at, not time; all is done in this thread.
 */
#include <stdatomic.h>

#include "base/count.h"
#include "support/stores.h"

#define MANY 2000
#define SECOND_MS 1000
#define HOUR_MS (INT64_C(3600) * SECOND_MS)
#define LOOKS_EACH 400 /* on average, of each of them */

typedef struct times {
    test_db *db;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid id;
    int first;    /* due in so many seconds, */
    int each;     /* and each after so many more */
    size_t begun; /* late ones */
} times;

/* One is due after the other. */
static cascade_err
fan(cascade_node *node, void *user)
{
    const times *t = user;
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < MANY && err == CASCADE_OK; i++) {
        const cascade_spawn_options options = {
            .size = sizeof(options),
            .delay_ms = (int64_t)(t->first + i * t->each) * SECOND_MS};

        err = cascade_node_spawn(node, "late", NULL, &options);
    }
    return err;
}

static cascade_err
late(cascade_node *node, void *user)
{
    (void)node;
    ((times *)user)->begun++;
    return CASCADE_OK;
}

/* It has to begin within half a second. */
static void
times_open(times *t, test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE,
                                            .park_after_ms = 24 * HOUR_MS,
                                            .lease_ms = 24 * HOUR_MS};
    const cascade_node_options soon = {.size = sizeof(soon),
                                       .start_timeout_ms = SECOND_MS / 2,
                                       .final_failure = CASCADE_FINAL_CONTINUE};

    t->db = db;
    db->fake_time = true;
    t->store = db_store(db);
    t->engine = db_engine(db, t->store, &options);
    assert_ok(cascade_engine_register(t->engine, "fan", fan, t, NULL));
    assert_ok(cascade_engine_register(t->engine, "late", late, t, &soon));
    assert_ok(cascade_engine_start(t->engine));
    t->id = db_start(t->store, "fan");
}

static void
go_through(times *t, int seconds)
{
    db_ends all = {.store = t->store, .ids = &t->id, .count = 1};
    size_t looks = 0;

    for (int i = 0; i < 10; i++)
        assert_ok(cascade_engine_poll(t->engine, MANY, NULL));
    (void)csc_count_looks();
    for (int i = 0; i < MANY + 10; i++) {
        fake_clock_advance(&t->db->clock, seconds * SECOND_MS);
        for (int k = 0; k < 3; k++)
            assert_ok(cascade_engine_poll(t->engine, MANY, NULL));
    }
    looks = csc_count_looks();
    if (looks > (size_t)MANY * LOOKS_EACH)
        print_error("%zu looks\n", looks);
    assert_true(looks <= (size_t)MANY * LOOKS_EACH);
    assert_true(db_poll_until(t->db, &t->engine, 1, db_all_ended, &all));
}

static void
limits_that_are_kept_cost_no_walk(test_db *db)
{
    times t = {.first = 1, .each = 1};

    times_open(&t, db);
    go_through(&t, 1);
    assert_int_equal(t.begun, MANY);
}

/* Two are due within each step of the clock: the first of them is late. */
static void
limits_that_pass_cost_no_walk(test_db *db)
{
    times t = {.first = 1, .each = 1};

    times_open(&t, db);
    go_through(&t, 2);
    assert_in_range(t.begun, MANY / 4, MANY * 3 / 4);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"limits_that_are_kept_cost_no_walk", limits_that_are_kept_cost_no_walk,
         STORES_VIRTUAL},
        {"limits_that_pass_cost_no_walk", limits_that_pass_cost_no_walk,
         STORES_VIRTUAL},
    };

    return stores_run("engine_times", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
