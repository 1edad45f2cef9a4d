/* SPDX-License-Identifier: MIT
 *
 * Who renews the lease, and when nobody does (B2): a housekeeper that is busy
 * loses it no more than one that is idle; one that hangs does, and so does an
 * engine whose lane hangs.
 */
#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define SHORT_LEASE_MS 400
#define WAIT_MS 50
#define PAGES 12    /* of the giant, at least */
#define PAGE_ROWS 4 /* of so many rows, or less, as each takes long */
#define WIDE (PAGES * PAGE_ROWS)

typedef enum hang {
    HANG_NOT,
    HANG_COMMIT, /* the lane does not come back from its commit */
    HANG_CLAIM   /* the housekeeper from a claim */
} hang;

typedef struct scene {
    test_db *db;
    wrap_store *wrap;
    cascade_store *starter;
    cascade_store *store; /* through the wrap */
    cascade_engine *engine;
    cascade_uuid id;
    atomic_size_t pages; /* that were read */
    atomic_int hangs;
    atomic_bool reading;   /* a page, in read_and_log() */
    atomic_bool failed;    /* a renewal, there */
    atomic_size_t entered; /* functions */
    atomic_bool first;     /* it is that of the first engine that blocks */
    sem_t let_go;
} scene;

static scene *
scene_open(test_db *db)
{
    scene *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->db = db;
    assert_int_equal(sem_init(&s->let_go, 0, 0), 0);
    s->starter = db_store(db);
    s->wrap = wrap_store_create(db->url);
    assert_non_null(s->wrap);
    s->wrap->context = s;
    return s;
}

static void
scene_end(scene *s)
{
    db_close_engine(s->db, s->engine);
    db_close_store(s->db, s->store);
    wrap_store_free(s->wrap);
    (void)sem_destroy(&s->let_go);
    free(s);
}

static cascade_engine *
open_engine(scene *s, cascade_store *store, cascade_node_fn first,
            cascade_node_fn second)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 2,
                                            .lease_ms = SHORT_LEASE_MS,
                                            .poll_interval_ms = 20};
    cascade_engine *engine = db_engine(s->db, store, &options);

    assert_ok(cascade_engine_register(engine, "first", first, s, NULL));
    if (second != NULL)
        assert_ok(cascade_engine_register(engine, "second", second, s, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

/* ---- Busy ---------------------------------------------------------------- */

static cascade_err
fan_out(cascade_node *node, void *user)
{
    (void)user;
    for (int i = 0; i < WIDE; i++)
        expect(cascade_node_spawn(node, "second", NULL, NULL) == CASCADE_OK);
    return CASCADE_OK;
}

static cascade_err
note_needs(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)row;
    *(bool *)context = run != NULL && run->needs != NULL;
    return CASCADE_OK;
}

static bool
needs_second(void *context)
{
    scene *s = context;
    cascade_query query = {.id = &s->id, .limit = 1};
    bool needs = false;

    expect(s->starter->driver->list(s->starter->self, &query, note_needs,
                                    &needs) == CASCADE_OK);
    return needs;
}

/* The lease was renewed since. */
typedef struct renewal {
    scene *scene;
    size_t before;
} renewal;

static bool
was_renewed(void *context)
{
    const renewal *r = context;

    return wrap_store_count(r->scene->wrap, WRAP_RENEW) > r->before;
}

/* Time passes where the housekeeper is, and nowhere else: a little while it
 * waits, and most of a lease with each page, where it stays until the lease was
 * renewed. */
static cascade_err
read_slowly(void *context, const wrap_call *call)
{
    scene *s = context;
    renewal r = {s, wrap_store_count(s->wrap, WRAP_RENEW)};

    if (call->move == WRAP_WAIT && atomic_load(&s->pages) < PAGES)
        fake_clock_advance(&s->db->clock, WAIT_MS);
    if (call->move == WRAP_LOAD && (call->parts & CASCADE_LOAD_EXECUTIONS) != 0)
        return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "the deadline");
    if (call->move != WRAP_SCAN)
        return CASCADE_OK;
    if (call->scan->limit > PAGE_ROWS)
        return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "the deadline");
    fake_clock_advance(&s->db->clock, SHORT_LEASE_MS * 3 / 4);
    expect(stores_until(was_renewed, &r));
    atomic_fetch_add(&s->pages, 1);
    return CASCADE_OK;
}

/* While a page is read, the log function does not come back. */
static void
block_line(void *context, cascade_log_level level, const char *line)
{
    scene *s = context;

    (void)level;
    (void)line;
    if (!atomic_load(&s->reading))
        return;
    stores_await(&s->let_go);
    (void)sem_post(&s->let_go);
}

static void
load_slowly(test_db *db, cascade_err (*before)(void *, const wrap_call *))
{
    scene *s = NULL;

    db->fake_time = true;
    s = scene_open(db);
    s->engine = open_engine(s, s->starter, fan_out, NULL);
    s->id = db_start(s->starter, "first");
    assert_true(stores_until(needs_second, s));
    db_close_engine(db, s->engine);
    s->wrap->before = before;
    s->store = db_wrapped(db, s->wrap);
    s->store->log.fn = block_line;
    s->store->log.context = s;
    s->engine = open_engine(s, s->store, fan_out, stores_nothing);
    db_await(s->starter, &s->id, CASCADE_COMPLETED);
    assert_true(atomic_load(&s->pages) >= PAGES);
    assert_int_equal(db_stats(s->engine).fences, 0);
    assert_int_equal(wrap_store_count(s->wrap, WRAP_ATTACH), 1);
    scene_end(s);
}

static void
a_load_that_takes_many_leases_keeps_the_lease(test_db *db)
{
    load_slowly(db, read_slowly);
}

/* The first renewal that is not the housekeeper's fails: that is logged. */
static cascade_err
read_and_log(void *context, const wrap_call *call)
{
    scene *s = context;
    bool reads = call->move == WRAP_SCAN;
    cascade_err err = CASCADE_OK;

    if (call->move == WRAP_RENEW && atomic_load(&s->reading) &&
        !atomic_exchange(&s->failed, true))
        return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "it is away");
    if (reads)
        atomic_store(&s->reading, true);
    err = read_slowly(context, call);
    if (reads)
        atomic_store(&s->reading, false);
    return err;
}

static void
a_log_that_blocks_keeps_the_lease(test_db *db)
{
    load_slowly(db, read_and_log);
}

/* ---- Hanging ------------------------------------------------------------- */

static cascade_err
stay(void *context, const wrap_call *call)
{
    scene *s = context;
    int hangs = atomic_load(&s->hangs);

    if ((call->move == WRAP_COMMIT && hangs == HANG_COMMIT) ||
        (call->move == WRAP_CLAIM && hangs == HANG_CLAIM)) {
        stores_await(&s->let_go);
        (void)sem_post(&s->let_go); /* for the next */
    }
    return CASCADE_OK;
}

/* In the first engine it blocks as long as what hangs. */
static cascade_err
block(cascade_node *node, void *user)
{
    scene *s = user;

    (void)node;
    atomic_fetch_add(&s->entered, 1);
    if (!atomic_exchange(&s->first, false))
        return CASCADE_OK;
    if (atomic_load(&s->hangs) == HANG_COMMIT)
        return CASCADE_OK;
    stores_await(&s->let_go);
    (void)sem_post(&s->let_go);
    return CASCADE_OK;
}

static bool
was_entered(void *context)
{
    return atomic_load(&((scene *)context)->entered) > 0;
}

static bool
was_fenced(void *context)
{
    return db_stats(((scene *)context)->engine).fences > 0;
}

static void
check_takeover(test_db *db, hang hangs)
{
    scene *s = scene_open(db);
    cascade_engine *other = NULL;

    s->wrap->before = stay;
    s->store = db_wrapped(db, s->wrap);
    s->engine = open_engine(s, s->store, block, NULL);
    atomic_store(&s->first, true);
    if (hangs == HANG_COMMIT)
        atomic_store(&s->hangs, hangs);
    s->id = db_start(s->starter, "first");
    assert_true(stores_until(was_entered, s));
    atomic_store(&s->hangs, hangs);
    other = open_engine(s, s->starter, block, NULL);
    db_await(s->starter, &s->id, CASCADE_COMPLETED);
    atomic_store(&s->hangs, HANG_NOT);
    assert_int_equal(sem_post(&s->let_go), 0);
    assert_true(stores_until(was_fenced, s));
    db_close_engine(db, other);
    scene_end(s);
}

static void
an_engine_whose_lane_hangs_loses_its_lease(test_db *db)
{
    check_takeover(db, HANG_COMMIT);
}

static void
an_engine_whose_housekeeper_hangs_loses_its_lease(test_db *db)
{
    check_takeover(db, HANG_CLAIM);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_load_that_takes_many_leases_keeps_the_lease",
         a_load_that_takes_many_leases_keeps_the_lease, STORES_VIRTUAL},
        {"a_log_that_blocks_keeps_the_lease", a_log_that_blocks_keeps_the_lease,
         STORES_VIRTUAL},
        {"an_engine_whose_lane_hangs_loses_its_lease",
         an_engine_whose_lane_hangs_loses_its_lease, STORES_ALL},
        {"an_engine_whose_housekeeper_hangs_loses_its_lease",
         an_engine_whose_housekeeper_hangs_loses_its_lease, STORES_ALL},
    };

    return stores_run("engine_vital", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
