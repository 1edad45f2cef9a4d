/* SPDX-License-Identifier: MIT
 *
 * Retention and a child of very many runs, of which the last goes on: none of
 * them may be deleted, since the parent finds that one by them. To tell so
 * takes a few reads for each, and in one portion never many, also where nothing
 * was entered of the chain, as by an engine of an older release.
 */
#include <stdlib.h>
#include <string.h>

#include "cascade/manage.h"
#include "store/store.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define RUNS 150
#define READS_EACH 12     /* of a run, on average */
#define READS_PORTION 120 /* of a page or a batch, at most */

typedef struct chains {
    test_db *db;
    wrap_store *wrap;
    cascade_store *store; /* through that */
    size_t reads;         /* up to the last portion */
    size_t most;          /* in one */
} chains;

/* The next run, until there are as many as there should be. */
static cascade_err
go_on(cascade_node *node, void *user)
{
    int number = atoi(cascade_node_input_text(node));

    (void)user;
    if (number == RUNS)
        return cascade_node_await(node, "go", -1, NULL);
    return cascade_node_continue_as_new(node, "goes",
                                        cJSON_CreateNumber(number + 1));
}

static cascade_err
parent(cascade_node *node, void *user)
{
    cascade_uuid id;
    cascade_err err = cascade_node_start_child(
        node, "child", "goes", cJSON_CreateNumber(1), NULL, &id);

    (void)user;
    return err == CASCADE_OK ? cascade_node_await(node, "go", -1, NULL) : err;
}

static cascade_err
count_runs(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)run;
    *(size_t *)context += row->status == CASCADE_COMPLETED;
    return CASCADE_OK;
}

static bool
has_grown(void *context)
{
    const chains *c = context;
    const cascade_query query = {.limit = 2 * RUNS};
    size_t count = 0;

    expect(c->store->driver->list(c->store->self, &query, count_runs, &count) ==
           CASCADE_OK);
    return count == RUNS - 1;
}

static size_t
count_reads(const chains *c)
{
    return wrap_store_count(c->wrap, WRAP_LIST) +
           wrap_store_count(c->wrap, WRAP_SCAN) +
           wrap_store_count(c->wrap, WRAP_FIND) +
           wrap_store_count(c->wrap, WRAP_LOAD);
}

static bool
note_portion(void *context, const cascade_progress *progress)
{
    chains *c = context;
    size_t reads = count_reads(c);

    (void)progress;
    if (reads - c->reads > c->most)
        c->most = reads - c->reads;
    c->reads = reads;
    return true;
}

static chains *
chains_open(test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options)};
    chains *c = calloc(1, sizeof(*c));
    cascade_engine *engine = NULL;

    assert_non_null(c);
    c->db = db;
    c->wrap = wrap_store_create(db->url);
    assert_non_null(c->wrap);
    c->store = db_wrapped(db, c->wrap);
    engine = db_engine(db, c->store, &options);
    assert_ok(cascade_engine_register(engine, "parent", parent, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "goes", go_on, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    (void)db_start(c->store, "parent");
    assert_true(stores_until(has_grown, c));
    db_close_engine(db, engine);
    return c;
}

static void
chains_close(chains *c)
{
    db_close_store(c->db, c->store);
    wrap_store_free(c->wrap);
    free(c);
}

static void
purge(chains *c)
{
    const cascade_purge_options all = {
        .size = sizeof(all), .progress = note_portion, .context = c};
    cascade_progress total = {0};
    size_t before = count_reads(c);

    c->reads = before;
    assert_ok(cascade_purge(c->store, &all, &total));
    assert_int_equal(total.done, 0);
    assert_int_equal(total.failed, 0);
    assert_in_range(count_reads(c) - before, RUNS, READS_EACH * RUNS);
    assert_in_range(c->most, 1, READS_PORTION);
}

static void
a_long_chain_costs_few_reads_each(test_db *db)
{
    chains *c = chains_open(db);

    purge(c);
    chains_close(c);
}

static void
so_does_one_of_which_nothing_was_entered(test_db *db)
{
    chains *c = chains_open(db);

    assert_int_equal(db_sql(db, "DELETE FROM cascade_links"), 0);
    purge(c);
    chains_close(c);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_long_chain_costs_few_reads_each", a_long_chain_costs_few_reads_each,
         STORES_ALL},
        {"so_does_one_of_which_nothing_was_entered",
         so_does_one_of_which_nothing_was_entered, STORES_FILES},
    };

    return stores_run("engine_chains", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
