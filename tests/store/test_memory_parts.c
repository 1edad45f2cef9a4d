/* SPDX-License-Identifier: MIT
 *
 * What only the memory store has: its ordered sets and its map of texts against
 * plain arrays, claims that do not walk over parked runs, and running out of
 * memory at every single allocation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "store/memory/internal.h"
#include "store/memory/text_map.h"
#include "store/memory/treap.h"
#include "store/store.h"
#include "support/fake_clock.h"
#include "support/rows.h"

/* ---- The ordered set ---------------------------------------------------- */

#define NODES 300

typedef struct order_model {
    csc_memory_order_node nodes[NODES];
    bool in[NODES];
    csc_memory_order_node *root;
} order_model;

static int
compare_nodes(const csc_memory_order_node *a, const csc_memory_order_node *b)
{
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return csc_uuid_compare(&a->id, &b->id);
}

/* The smallest node above `bound`, by looking at all. NULL: of all. */
static const csc_memory_order_node *
find_next(const order_model *model, const csc_memory_order_node *bound)
{
    const csc_memory_order_node *best = NULL;

    for (size_t i = 0; i < NODES; i++) {
        const csc_memory_order_node *node = &model->nodes[i];

        if (model->in[i] && (bound == NULL || compare_nodes(node, bound) > 0) &&
            (best == NULL || compare_nodes(node, best) < 0))
            best = node;
    }
    return best;
}

/* No child outweighs its parent: what keeps the tree shallow. */
static void
assert_heap(const csc_memory_order_node *node)
{
    if (node == NULL)
        return;
    assert_true(node->less == NULL || node->less->weight <= node->weight);
    assert_true(node->more == NULL || node->more->weight <= node->weight);
    assert_heap(node->less);
    assert_heap(node->more);
}

static void
assert_same_order(const order_model *model)
{
    const csc_memory_order_node *node = csc_memory_order_first(model->root);

    assert_heap(model->root);
    assert_ptr_equal(node, find_next(model, NULL));
    while (node != NULL) {
        const csc_memory_order_node *next =
            csc_memory_order_next(model->root, node->at, &node->id);

        assert_ptr_equal(next, find_next(model, node));
        node = next;
    }
}

static void
an_ordered_set_keeps_its_order(void **state)
{
    order_model *model = calloc(1, sizeof(*model));
    test_rows rows;

    (void)state;
    assert_non_null(model);
    rows_init(&rows, rows_seed(), 0);
    for (int move = 0; move < 3000; move++) {
        size_t i = rows_below(&rows, NODES);
        csc_memory_order_node *node = &model->nodes[i];

        if (model->in[i]) {
            csc_memory_order_remove(&model->root, node);
        } else {
            node->at = (int64_t)rows_below(&rows, 20) - 10;
            node->id = rows_id(&rows);
            csc_memory_order_add(&model->root, node);
        }
        model->in[i] = !model->in[i];
        if (move % 50 == 0)
            assert_same_order(model);
    }
    rows_fini(&rows);
    free(model);
}

static size_t
depth_of(const csc_memory_order_node *node)
{
    size_t less;
    size_t more;

    if (node == NULL)
        return 0;
    less = depth_of(node->less);
    more = depth_of(node->more);
    return 1 + (less > more ? less : more);
}

/* Ascending times are the usual case and the worst one for a plain tree. */
static void
an_ordered_set_stays_shallow(void **state)
{
    enum {
        COUNT = 100000
    };
    csc_memory_order_node *nodes = calloc(COUNT, sizeof(*nodes));
    csc_memory_order_node *root = NULL;
    test_rows rows;

    (void)state;
    assert_non_null(nodes);
    rows_init(&rows, rows_seed(), 0);
    for (int i = 0; i < COUNT; i++) {
        nodes[i].at = i;
        nodes[i].id = rows_id(&rows);
        csc_memory_order_add(&root, &nodes[i]);
    }
    assert_true(depth_of(root) < 80);
    rows_fini(&rows);
    free(nodes);
}

/* ---- The map of texts --------------------------------------------------- */

static void
a_map_of_texts_finds_what_is_in_it(void **state)
{
    enum {
        COUNT = 500
    };
    char texts[COUNT][16];
    bool in[COUNT] = {false};
    csc_memory_names names = {.slots = NULL};
    size_t count = 0;
    test_rows rows;

    (void)state;
    rows_init(&rows, rows_seed(), 0);
    for (int i = 0; i < COUNT; i++)
        snprintf(texts[i], sizeof(texts[i]), "text-%d", i);
    for (int move = 0; move < 20000; move++) {
        size_t i = rows_below(&rows, COUNT);

        assert_ptr_equal(csc_memory_names_get(&names, texts[i]),
                         in[i] ? &in[i] : NULL);
        if (in[i])
            csc_memory_names_remove(&names, texts[i]);
        else
            assert_int_equal(csc_memory_names_put(&names, texts[i], &in[i]), 0);
        in[i] = !in[i];
        count += in[i] ? 1 : (size_t)-1;
        assert_int_equal(names.count, count);
    }
    csc_memory_names_remove(&names, "nowhere");
    for (size_t at = 0; csc_memory_names_next(&names, &at) != NULL;)
        count--;
    assert_int_equal(count, 0);
    csc_memory_names_fini(&names);
    rows_fini(&rows);
}

/* ---- Claims beside many parked runs ------------------------------------- */

#define PARKED 100000

static int64_t
cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Runs that are not due, need an unknown node or are suspects. */
static void
park_many(cascade_store *store, test_rows *rows)
{
    cascade_change *starts[1000];
    bool existed[1000];

    for (int at = 0; at < PARKED; at += 1000) {
        for (int i = 0; i < 1000; i++) {
            starts[i] = rows_start(rows, rows_id(rows));
            starts[i]->run.priority = i % 10;
            if (i % 3 == 0)
                starts[i]->run.wake_at_ms += 1000000 + i;
            else if (i % 3 == 1)
                starts[i]->run.needs = "a node that nobody knows";
            else
                starts[i]->run.takeovers = 3;
        }
        assert_int_equal(rows_submit(store->driver, store->self,
                                     rows_changes(rows, starts, 1000), 1000,
                                     existed),
                         CASCADE_OK);
        rows_clear(rows);
    }
}

static cascade_err
pass_queue(void *context, const cascade_queue_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

/* What it takes to look at each run. */
static int64_t
cost_of_a_walk_us(cascade_store *store)
{
    int64_t start_us = cpu_us();

    assert_int_equal(
        store->driver->manage->queues(store->self, pass_queue, NULL),
        CASCADE_OK);
    return cpu_us() - start_us;
}

/* 1,000 claims among 100,000 runs that they may not have take less than twenty
 * looks at each run. */
static void
a_claim_does_not_walk_over_parked_runs(void **state)
{
    const char *queue = "default";
    cascade_claim claim = {
        .queues = &queue, .queue_count = 1, .limit = 10, .suspect_from = 3};
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};
    cascade_incarnation row;
    cascade_store *store = NULL;
    fake_clock clock;
    cascade_store_options options = {.size = sizeof(options),
                                     .clock = &clock.clock};
    test_rows rows;
    int64_t walk_us;
    int64_t start_us;

    (void)state;
    fake_clock_init(&clock, 1000000);
    rows_init(&rows, rows_seed(), 1000000);
    assert_int_equal(cascade_store_open("memory:", &options, &store),
                     CASCADE_OK);
    row = rows_incarnation(&rows, 1, 1000);
    claim.engine_id = row.engine_id;
    assert_int_equal(store->driver->attach(store->self, &row), CASCADE_OK);
    park_many(store, &rows);
    walk_us = cost_of_a_walk_us(store);
    start_us = cpu_us();
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(
            store->driver->claim(store->self, &claim, claimed, &result),
            CASCADE_OK);
        assert_int_equal(result.count, 0);
    }
    assert_true(cpu_us() - start_us < 20 * walk_us);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    rows_fini(&rows);
}

/* ---- Waking ------------------------------------------------------------- */

static int64_t
real_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t
wait_ms(cascade_store *store, int64_t timeout_ms)
{
    int64_t start_ms = real_ms();

    assert_int_equal(store->driver->wait(store->self, -1, timeout_ms, NULL),
                     CASCADE_OK);
    return real_ms() - start_ms;
}

/* A wake that comes before a wait ends the next one, of each handle, and only
 * that one. */
static void
a_wake_before_a_wait_is_not_lost(void **state)
{
    cascade_store *stores[2] = {NULL};

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(cascade_store_open("memory:wake", NULL, &stores[i]),
                         CASCADE_OK);
    assert_true(wait_ms(stores[0], 30) >= 29);
    assert_int_equal(stores[0]->driver->wake(stores[0]->self), CASCADE_OK);
    assert_int_equal(stores[0]->driver->wake(stores[0]->self), CASCADE_OK);
    for (int i = 0; i < 2; i++) {
        assert_true(wait_ms(stores[i], 100000) < 60000);
        assert_true(wait_ms(stores[i], 30) >= 29);
        assert_int_equal(cascade_store_close(stores[i]), CASCADE_OK);
    }
}

/* Without a descriptor to wait on, it is an error with a text. */
static void
a_wait_without_descriptors_is_an_error(void **state)
{
    cascade_store *store = NULL;
    struct rlimit before;
    struct rlimit none;

    (void)state;
    assert_int_equal(cascade_store_open("memory:", NULL, &store), CASCADE_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(store->driver->wait(store->self, -1, 60000, NULL),
                     CASCADE_ERR_SYSTEM);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_non_null(strstr(cascade_errmsg(), "eventfd"));
    assert_int_equal(store->driver->wait(store->self, -1, 1, NULL), CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* ---- Out of memory ------------------------------------------------------ */

#define FILL_MAX 14 /* a map grows at its 13th entry */

typedef struct fault_world {
    cascade_store *store;
    fake_clock clock;
    test_rows rows;
    cascade_uuid engine;
    cascade_uuid other;
    cascade_uuid owned[2];
    cascade_uuid doomed;     /* has a free run; the batch deletes it */
    cascade_uuid ended;      /* has messages and no run */
    int64_t number;          /* of the batch to try */
    size_t runs;             /* that the engine owns */
    cascade_change *changes; /* of the batch to try */
    size_t change_count;
    cascade_change *start;            /* of the submit to try */
    cascade_message_row messages[20]; /* the same */
} fault_world;

static cascade_err
add_row(void *context, const cascade_row *row, const cascade_run_row *run)
{
    csc_buf *text = context;
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_buf_add_format(text, "%s %d %d", cascade_uuid_format(&row->id, id),
                       (int)row->status, (int)row->fn_id);
    if (run != NULL)
        csc_buf_add_format(text, " %s %lld %s %s",
                           cascade_uuid_format(&run->engine_id, id),
                           (long long)run->wake_at_ms, run->queue,
                           run->needs == NULL ? "-" : run->needs);
    csc_buf_add_char(text, '\n');
    return CASCADE_OK;
}

static cascade_err
add_cascade(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
add_execution(void *context, const cascade_execution_row *row)
{
    csc_buf_add_format(context, "%d %s %d %s\n", (int)row->function_id,
                       row->node_instance_id, (int)row->status,
                       row->full_output == NULL ? "-" : row->full_output);
    return CASCADE_OK;
}

static cascade_err
add_event(void *context, const cascade_event_row *row)
{
    csc_buf_add_format(context, "%d %lld %s %s\n", (int)row->function_id,
                       (long long)row->id, row->key, row->value);
    return CASCADE_OK;
}

static cascade_err
add_message(void *context, const cascade_message_row *row, bool repeated)
{
    csc_buf_add_format(context, "%lld %s %s %d\n", (long long)row->id,
                       row->path, row->payload, repeated);
    return CASCADE_OK;
}

static void
add_keys(fault_world *world, csc_buf *text)
{
    static const char *const keys[] = {"there", "new", "late"};

    for (int i = 0; i < 3; i++) {
        int32_t number = 0;

        assert_int_equal(world->store->driver->chain->key(
                             world->store->self, "user", keys[i], &number),
                         CASCADE_OK);
        csc_buf_add_format(text, "%s %d\n", keys[i], (int)number);
    }
}

static cascade_err
add_queue(void *context, const cascade_queue_row *row)
{
    csc_buf_add_format(context, "queue %s %s %d\n", row->queue,
                       row->paused ? row->about : "-", (int)row->owned);
    return CASCADE_OK;
}

static char *
picture(fault_world *world)
{
    cascade_uuid ids[4] = {world->owned[0], world->owned[1], world->doomed,
                           world->ended};
    csc_buf text = {.data = NULL};
    cascade_load_sink sink = {.context = &text,
                              .on_cascade = add_cascade,
                              .on_execution = add_execution,
                              .on_event = add_event,
                              .on_message = add_message};
    cascade_query query = {.limit = 1000};
    const cascade_store_driver *driver = world->store->driver;

    assert_int_equal(driver->list(world->store->self, &query, add_row, &text),
                     CASCADE_OK);
    assert_int_equal(driver->load(world->store->self, ids, 4,
                                  CASCADE_LOAD_EXECUTIONS |
                                      CASCADE_LOAD_EVENTS |
                                      CASCADE_LOAD_MESSAGES,
                                  &sink),
                     CASCADE_OK);
    assert_int_equal(
        driver->manage->queues(world->store->self, add_queue, &text),
        CASCADE_OK);
    add_keys(world, &text);
    return csc_buf_take(&text);
}

/* Each of them makes every map of the model one bigger: somewhere on the way
 * each map has to grow in the move that is tried. */
static void
fill_world(fault_world *world, size_t fill)
{
    for (size_t i = 0; i < fill; i++) {
        cascade_incarnation row = rows_incarnation(&world->rows, 1, 1000);
        cascade_change *start = rows_start(&world->rows, rows_id(&world->rows));
        bool existed;

        start->run.queue = rows_text(&world->rows, "queue %zu", i);
        start->run.needs = rows_text(&world->rows, "need %zu", i);
        start->key = rows_text(&world->rows, "key %zu", i);
        start->run_number = 2;
        rows_send(&world->rows, start,
                  rows_message(&world->rows, start->cascade.id,
                               rows_text(&world->rows, "fill %zu", i)));
        assert_int_equal(world->store->driver->attach(world->store->self, &row),
                         CASCADE_OK);
        assert_int_equal(rows_submit(world->store->driver, world->store->self,
                                     start, 1, &existed),
                         CASCADE_OK);
    }
}

/* What the batch and the claim find: a cascade to be deleted, one that has
 * ended, a key, and messages for them and for one that is not there. */
static void
begin_world(fault_world *world)
{
    test_rows *rows = &world->rows;
    cascade_change *end = rows_write(rows, world->ended, 0);
    cascade_batch batch = {.engine_id = world->engine,
                           .number = world->number++,
                           .changes = end,
                           .change_count = 1};
    cascade_change *doomed = rows_start(rows, world->doomed);
    bool existed;

    doomed->key = "there";
    doomed->run_number = 2;
    doomed->run.wake_at_ms += 1000000;
    rows_insert(rows, doomed, 1, "second");
    rows_event(rows, doomed, 1, "key", "1");
    for (int i = 0; i < 3; i++) {
        cascade_uuid to[4] = {world->doomed, world->owned[0], world->ended,
                              rows_id(rows)};

        for (int k = 0; k < 4; k++)
            rows_send(rows, doomed,
                      rows_message(rows, to[k],
                                   rows_text(rows, "first %d %d", i, k)));
    }
    end->run_action = CASCADE_RUN_END;
    end->cascade.status = CASCADE_COMPLETED;
    assert_int_equal(
        world->store->driver->commit(world->store->self, &batch, &existed),
        CASCADE_OK);
    assert_int_equal(rows_submit(world->store->driver, world->store->self,
                                 doomed, 1, &existed),
                     CASCADE_OK);
}

/* The batch receives, sends, moves keys on and deletes, too; the submit
 * sends. */
static void
add_mail(fault_world *world, cascade_change **changes)
{
    test_rows *rows = &world->rows;

    for (int64_t id = 1; id <= 12; id++)
        rows_receive(rows, changes[0], id);
    for (int i = 0; i < 20; i++)
        rows_send(rows, changes[i % 4],
                  rows_message(rows, i < 10 ? world->owned[1] : rows_id(rows),
                               rows_text(rows, "sent %d", i)));
    rows_send(rows, changes[1],
              rows_message(rows, world->owned[1], "first 0 0"));
    changes[2]->key = "there";
    changes[2]->run_number = 3;
    changes[3]->key = "new";
    changes[3]->run_number = 2;
    changes[4] = rows_write(rows, world->doomed, 0);
    changes[4]->run_action = CASCADE_RUN_DELETE;
    world->start = rows_start(rows, rows_id(rows));
    for (int i = 0; i < 20; i++)
        world->messages[i] = *rows_message(
            rows, i % 2 == 0 ? world->owned[0] : world->start->cascade.id,
            rows_text(rows, "submit %d", i));
}

/* Two owned cascades, and a batch that does everything a batch can. */
static fault_world *
create_world(size_t fill)
{
    fault_world *world = calloc(1, sizeof(*world));
    cascade_store_options options = {.size = sizeof(options)};
    cascade_incarnation row;
    cascade_change *changes[5];
    cascade_batch batch = {.number = 1, .change_count = 3};
    bool existed[3];

    assert_non_null(world);
    fake_clock_init(&world->clock, 5000000);
    rows_init(&world->rows, 42, 5000000);
    options.clock = &world->clock.clock;
    assert_int_equal(cascade_store_open("memory:", &options, &world->store),
                     CASCADE_OK);
    row = rows_incarnation(&world->rows, 1, 1000);
    world->engine = row.engine_id;
    assert_int_equal(world->store->driver->attach(world->store->self, &row),
                     CASCADE_OK);
    for (int i = 0; i < 2; i++) {
        world->owned[i] = rows_id(&world->rows);
        changes[i] =
            rows_start_owned(&world->rows, world->owned[i], world->engine);
    }
    world->doomed = rows_id(&world->rows);
    world->ended = rows_id(&world->rows);
    changes[2] = rows_start_owned(&world->rows, world->ended, world->engine);
    batch.engine_id = world->engine;
    batch.changes = rows_changes(&world->rows, changes, 3);
    assert_int_equal(
        world->store->driver->commit(world->store->self, &batch, existed),
        CASCADE_OK);
    world->number = 2;
    world->runs = 2;
    begin_world(world);
    for (int i = 0; i < 2; i++) {
        changes[i] = rows_write(&world->rows, world->owned[i], 20);
        rows_update(&world->rows, changes[i], 0, "{\"output\":1}");
        for (int k = 1; k <= 20; k++) {
            rows_insert(&world->rows, changes[i], k, "node");
            rows_event(&world->rows, changes[i], k, "key", "\"value\"");
        }
    }
    changes[0]->run_action = CASCADE_RUN_FREE;
    changes[0]->run.needs = "a new need";
    changes[1]->run_action = CASCADE_RUN_RESET;
    changes[2] = rows_start(&world->rows, rows_id(&world->rows));
    changes[2]->run.queue = "a new queue";
    changes[3] = rows_start(&world->rows, rows_id(&world->rows));
    add_mail(world, changes);
    world->changes = rows_changes(&world->rows, changes, 5);
    world->change_count = 5;
    world->start->run.queue = "yet another queue";
    world->start->run.needs = "yet another need";
    world->start->key = "late";
    world->start->run_number = 2;
    for (int i = 0; i < 20; i++)
        rows_event(&world->rows, world->start, 0, "key", "1");
    fill_world(world, fill);
    return world;
}

static void
free_world(fault_world *world)
{
    assert_int_equal(cascade_store_close(world->store), CASCADE_OK);
    rows_fini(&world->rows);
    free(world);
}

static cascade_err
try_commit(fault_world *world)
{
    cascade_batch batch = {.engine_id = world->engine,
                           .number = world->number,
                           .changes = world->changes,
                           .change_count = world->change_count};
    bool existed[5];

    return world->store->driver->commit(world->store->self, &batch, existed);
}

static cascade_err
try_submit(fault_world *world)
{
    cascade_sent sent[20];
    bool existed;
    cascade_submission submission = {.starts = world->start,
                                     .start_count = 1,
                                     .existed = &existed,
                                     .messages = world->messages,
                                     .message_count = 20,
                                     .sent = sent};

    return world->store->driver->submit(world->store->self, &submission);
}

static cascade_err
try_attach(fault_world *world)
{
    cascade_incarnation row = rows_incarnation(&world->rows, 1, 1000);

    return world->store->driver->attach(world->store->self, &row);
}

static cascade_err
try_key(fault_world *world)
{
    int32_t number;

    return world->store->driver->chain->key(world->store->self, "user", "there",
                                            &number);
}

static cascade_err
try_claim(fault_world *world)
{
    const char *queues[] = {"default", "other"};
    cascade_claim claim = {.engine_id = world->engine,
                           .queues = queues,
                           .queue_count = 2,
                           .limit = 100,
                           .suspect_from = 100};
    cascade_claimed claimed[100];
    cascade_claim_result result = {0};
    cascade_err err = world->store->driver->claim(world->store->self, &claim,
                                                  claimed, &result);

    if (err == CASCADE_OK)
        world->runs = result.count;
    return err;
}

static cascade_err
try_pause(fault_world *world)
{
    bool changed;

    return world->store->driver->manage->pause(world->store->self,
                                               "not seen so far", true,
                                               "{\"by\":\"me\"}", &changed);
}

static cascade_err
skip_queue(void *context, const cascade_queue_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
try_queues(fault_world *world)
{
    return world->store->driver->manage->queues(world->store->self, skip_queue,
                                                NULL);
}

/* Of one that has ended, and of one that is owned, which it leaves alone. */
static cascade_err
try_repair(fault_world *world)
{
    const cascade_repair repairs[2] = {
        {.was = {.id = world->ended, .status = CASCADE_COMPLETED},
         .status = CASCADE_RUNNING,
         .fn_id = 3,
         .starts = true,
         .run = {.queue = "mended", .priority = 1},
         .key = "late",
         .run_number = 4},
        {.was = {.id = world->owned[0], .status = CASCADE_RUNNING},
         .status = CASCADE_ERROR,
         .starts = true,
         .run = {.queue = "mended"}}};
    bool done[2] = {false, true};
    cascade_err err = world->store->driver->manage->repair(world->store->self,
                                                           repairs, 2, done);

    if (err == CASCADE_OK)
        assert_true(done[0] && !done[1]);
    return err;
}

/* Frees the owned runs, so that there is something to claim. Does not
 * allocate: ownership ends without. */
static void
release_all(fault_world *world)
{
    cascade_incarnation row = rows_incarnation(&world->rows, 1, 1000);
    size_t freed = 0;

    csc_mem_fail_at(1, 1);
    assert_int_equal(world->store->driver->remove(
                         world->store->self, &world->engine, 1, 100, &freed),
                     CASCADE_OK);
    csc_mem_fail_at(0, 0);
    assert_int_equal(freed, world->runs);
    world->engine = row.engine_id;
    assert_int_equal(world->store->driver->attach(world->store->self, &row),
                     CASCADE_OK);
}

/* Fails each allocation of `move` in turn: nothing changes until none fails. */
static void
sweep(cascade_err (*move)(fault_world *), void (*before)(fault_world *),
      size_t fill, int sticky)
{
    size_t live = csc_mem_live();
    fault_world *world = create_world(fill);
    cascade_err err = CASCADE_ERR_NO_MEMORY;
    size_t nth;

    if (before != NULL)
        before(world);
    for (nth = 1; err == CASCADE_ERR_NO_MEMORY; nth++) {
        char *was = picture(world);
        char *is;

        assert_true(nth < 10000);
        csc_mem_fail_at(nth, sticky);
        err = move(world);
        csc_mem_fail_at(0, 0);
        is = picture(world);
        if (err == CASCADE_ERR_NO_MEMORY)
            assert_string_equal(was, is);
        csc_mem_free(was);
        csc_mem_free(is);
    }
    assert_int_equal(err, CASCADE_OK);
    assert_true(nth > 2);
    free_world(world);
    assert_int_equal(csc_mem_live(), live);
}

static void
a_commit_without_memory_changes_nothing(void **state)
{
    (void)state;
    for (size_t fill = 0; fill < FILL_MAX; fill++) {
        sweep(try_commit, NULL, fill, 0);
        sweep(try_commit, NULL, fill, 1);
    }
}

static void
a_submit_without_memory_changes_nothing(void **state)
{
    (void)state;
    for (size_t fill = 0; fill < FILL_MAX; fill++) {
        sweep(try_submit, NULL, fill, 0);
        sweep(try_submit, NULL, fill, 1);
    }
}

/* Rows that name another cascade than their change would break the model. */
static void
rows_of_another_cascade_are_refused(void **state)
{
    fault_world *world = create_world(0);
    cascade_change *write = rows_write(&world->rows, world->owned[0], 1);
    char *was = picture(world);
    char *is;

    (void)state;
    world->changes = write;
    world->change_count = 1;
    rows_insert(&world->rows, write, 1, "node")->cascade_id = world->owned[1];
    assert_int_equal(try_commit(world), CASCADE_ERR_REFUSED);
    write->insert_count = 0;
    rows_event(&world->rows, write, 0, "key", "1")->cascade_id =
        world->owned[1];
    assert_int_equal(try_commit(world), CASCADE_ERR_REFUSED);
    is = picture(world);
    assert_string_equal(was, is);
    csc_mem_free(was);
    csc_mem_free(is);
    free_world(world);
}

static void
asking_for_a_key_without_memory_is_an_error(void **state)
{
    (void)state;
    sweep(try_key, NULL, 0, 0);
}

static void
an_attach_without_memory_changes_nothing(void **state)
{
    (void)state;
    for (size_t fill = 0; fill < FILL_MAX; fill++) {
        sweep(try_attach, NULL, fill, 0);
        sweep(try_attach, NULL, fill, 1);
    }
}

static void
a_pause_without_memory_changes_nothing(void **state)
{
    (void)state;
    for (size_t fill = 0; fill < FILL_MAX; fill++)
        sweep(try_pause, NULL, fill, 0);
}

static void
listing_queues_without_memory_is_an_error(void **state)
{
    (void)state;
    sweep(try_queues, NULL, 0, 0);
}

static void
a_repair_without_memory_changes_nothing(void **state)
{
    (void)state;
    for (size_t fill = 0; fill < FILL_MAX; fill++) {
        sweep(try_repair, NULL, fill, 0);
        sweep(try_repair, NULL, fill, 1);
    }
}

/* Also: removing frees runs without allocating (release_all). */
static void
a_claim_without_memory_changes_nothing(void **state)
{
    (void)state;
    for (size_t fill = 0; fill < FILL_MAX; fill++) {
        sweep(try_claim, release_all, fill, 0);
        sweep(try_claim, release_all, fill, 1);
    }
}

/* A claimed run can be given up without allocating, however often it was taken
 * over. */
static void
ownership_ends_without_allocating(void **state)
{
    fault_world *world = create_world(0);

    (void)state;
    for (int i = 0; i < 20; i++) {
        release_all(world);
        assert_int_equal(try_claim(world), CASCADE_OK);
    }
    csc_mem_fail_at(1, 1);
    assert_int_equal(
        world->store->driver->detach(world->store->self, &world->engine),
        CASCADE_OK);
    csc_mem_fail_at(0, 0);
    free_world(world);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ordered_set_keeps_its_order),
        cmocka_unit_test(an_ordered_set_stays_shallow),
        cmocka_unit_test(a_map_of_texts_finds_what_is_in_it),
        cmocka_unit_test(a_claim_does_not_walk_over_parked_runs),
        cmocka_unit_test(a_wake_before_a_wait_is_not_lost),
        cmocka_unit_test(a_wait_without_descriptors_is_an_error),
        cmocka_unit_test(rows_of_another_cascade_are_refused),
        cmocka_unit_test(a_commit_without_memory_changes_nothing),
        cmocka_unit_test(a_submit_without_memory_changes_nothing),
        cmocka_unit_test(asking_for_a_key_without_memory_is_an_error),
        cmocka_unit_test(an_attach_without_memory_changes_nothing),
        cmocka_unit_test(a_pause_without_memory_changes_nothing),
        cmocka_unit_test(listing_queues_without_memory_is_an_error),
        cmocka_unit_test(a_repair_without_memory_changes_nothing),
        cmocka_unit_test(a_claim_without_memory_changes_nothing),
        cmocka_unit_test(ownership_ends_without_allocating),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
