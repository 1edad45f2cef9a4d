/* SPDX-License-Identifier: MIT
 *
 * A cancellation of a cascade with many executions: it is carried out in
 * commits of a bounded size, and goes on where it was when an engine dies
 * between two of them. It is one to the eye: what is still to fail neither
 * begins nor takes a signal meanwhile.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cascade/manage.h"
#include "state/state.h"
#include "store/store.h"
#include "support/stores.h"

#define LATER 900 /* executions that are to begin in an hour */
#define WAITS 200 /* nodes that wait for a signal */
#define HOUR_MS (INT64_C(3600) * 1000)
#define ROWS_MAX 256 /* of a slice: its bytes, 512 a row */
#define ROWS_FIRST 32
#define SLOW_SLICES 12
#define ROW_NS 10000000   /* or as long as commits take without a slice */
#define COMMIT_NS 4000000 /* or more than the rows of a slice do: a part of */
#define COMMIT_PART 8     /* the longest commit, the one of all executions */
#define HEAVY_SLICES 150  /* of those that have four rows there would be 275 */
#define HEAVY_TRIES 4

typedef struct scene {
    test_db *db;
    wrap_store wrap;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid id;
    atomic_size_t begun;     /* functions that were called when cancelled */
    atomic_size_t signalled; /* awaits that a signal has ended */
    atomic_size_t most;      /* cancelled in one commit */
    atomic_size_t slices;    /* commits that cancelled some */
    atomic_size_t fence_at;  /* the slice that is fenced instead; 0: none */
    atomic_bool signals;     /* send one behind the first slice */
    atomic_size_t least;     /* and the fewest, of those that were slow */
    atomic_bool slow;        /* ROW_NS for each that is cancelled, so often */
    atomic_bool heavy;       /* COMMIT_NS for each commit that cancels some */
    int64_t begun_ns;        /* the commit in the one lane, */
    int64_t longest_ns;      /* and what those took that cancelled none */
    int64_t all_ns;
    int64_t commits;
} scene;

/* ---- What is committed --------------------------------------------------- */

static size_t
count_cancelled(const cascade_batch *batch)
{
    size_t count = 0;

    for (size_t i = 0; i < batch->change_count; i++)
        for (size_t u = 0; u < batch->changes[i].update_count; u++) {
            const cascade_execution_row *row = &batch->changes[i].updates[u];

            if (row->status == CASCADE_EXECUTION_FAILED && row->error != NULL &&
                strcmp(row->error, "cancelled") == 0)
                count++;
        }
    return count;
}

static int64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void
be_slow(int64_t ns)
{
    const struct timespec span = {.tv_sec = (time_t)(ns / 1000000000),
                                  .tv_nsec = (long)(ns % 1000000000)};

    (void)nanosleep(&span, NULL);
}

static int64_t
at_least(int64_t least_ns, int64_t ns)
{
    return ns > least_ns ? ns : least_ns;
}

/* How large it is tells what was learned from those before. */
static void
slow_down(scene *s, size_t count)
{
    int64_t row_ns = at_least(ROW_NS, s->all_ns / s->commits);

    if (count < atomic_load(&s->least) || atomic_load(&s->least) == 0)
        atomic_store(&s->least, count);
    if (atomic_load(&s->slices) + 1 == SLOW_SLICES)
        atomic_store(&s->slow, false);
    be_slow((int64_t)count * row_ns);
}

static cascade_err
weigh(void *context, const wrap_call *call)
{
    scene *s = context;
    size_t count = 0;

    if (call->move != WRAP_COMMIT)
        return CASCADE_OK;
    s->begun_ns = now_ns();
    count = count_cancelled(call->batch);
    if (count == 0)
        return CASCADE_OK;
    if (count > atomic_load(&s->most))
        atomic_store(&s->most, count);
    if (atomic_load(&s->slow))
        slow_down(s, count);
    if (atomic_load(&s->heavy))
        be_slow(at_least(COMMIT_NS, s->longest_ns / COMMIT_PART));
    if (atomic_fetch_add(&s->slices, 1) + 1 == atomic_load(&s->fence_at))
        return cascade_store_fail(CASCADE_ERR_FENCED, "as if it were removed");
    return CASCADE_OK;
}

static void
note_time(scene *s, int64_t took_ns)
{
    s->longest_ns = at_least(s->longest_ns, took_ns);
    s->all_ns += took_ns;
    s->commits++;
}

/* A message is there before the second slice is cut. */
static cascade_err
signal_between(void *context, const wrap_call *call, cascade_err answer)
{
    scene *s = context;

    if (call->move != WRAP_COMMIT)
        return answer;
    if (count_cancelled(call->batch) == 0)
        note_time(s, now_ns() - s->begun_ns);
    else if (atomic_exchange(&s->signals, false))
        expect(cascade_signal(s->db->stores[0], &s->id, "go", NULL, NULL) ==
               CASCADE_OK);
    return answer;
}

/* ---- The nodes ----------------------------------------------------------- */

static cascade_err
fan_out(cascade_node *node, void *user)
{
    const cascade_spawn_options later = {.size = sizeof(later),
                                         .delay_ms = HOUR_MS};

    (void)user;
    for (int i = 0; i < LATER; i++)
        expect(cascade_node_spawn(node, "later", NULL, &later) == CASCADE_OK);
    for (int i = 0; i < WAITS; i++)
        expect(cascade_node_spawn(node, "waits", NULL, NULL) == CASCADE_OK);
    return CASCADE_OK;
}

static cascade_err
begin(cascade_node *node, void *user)
{
    (void)node;
    atomic_fetch_add(&((scene *)user)->begun, 1);
    return CASCADE_OK;
}

static cascade_err
wait_for_signal(cascade_node *node, void *user)
{
    scene *s = user;
    cascade_err err = cascade_node_await(node, "go", -1, NULL);

    if (err == CASCADE_OK)
        atomic_fetch_add(&s->signalled, 1);
    return err;
}

/* ---- The scene ----------------------------------------------------------- */

typedef struct tally {
    scene *scene;
    const char *node;
    cascade_execution_status status;
    size_t count;
} tally;

static cascade_err
count_row(void *context, const cascade_execution_row *row)
{
    tally *t = context;

    t->count +=
        strcmp(row->node_name, t->node) == 0 && row->status == t->status;
    return CASCADE_OK;
}

static size_t
count_rows(scene *s, const char *node, cascade_execution_status status)
{
    tally t = {s, node, status, 0};
    cascade_store *store = s->db->stores[0];
    cascade_load_sink sink = {.context = &t, .on_execution = count_row};
    cascade_scan scan = {.cascade_id = &s->id, .limit = CASCADE_SCAN_MAX};

    assert_ok(store->driver->scan(store->self, &scan, &sink));
    return t.count;
}

static bool
all_wait(void *context)
{
    return count_rows(context, "cascade.await:go", CASCADE_EXECUTION_RUNNING) ==
           WAITS;
}

static scene *
scene_open(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_THREADS,
                                      .poll_interval_ms = 20,
                                      .worker_count = 2,
                                      .lane_count = 1};
    scene *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->db = db;
    assert_int_equal(wrap_store_init(&s->wrap, db->url), 0);
    s->wrap.context = s;
    s->wrap.before = weigh;
    s->wrap.after = signal_between;
    (void)db_store(db);
    s->store = db_wrapped(db, &s->wrap);
    s->engine = db_engine(db, s->store, &options);
    assert_ok(cascade_engine_register(s->engine, "fan", fan_out, s, NULL));
    assert_ok(cascade_engine_register(s->engine, "later", begin, s, NULL));
    assert_ok(
        cascade_engine_register(s->engine, "waits", wait_for_signal, s, NULL));
    assert_ok(cascade_engine_start(s->engine));
    s->id = db_start(s->store, "fan");
    assert_true(stores_until(all_wait, s));
    return s;
}

/* All of it has failed as cancelled, within the bound. */
static void
scene_check(scene *s, size_t slices)
{
    db_await(s->store, &s->id, CASCADE_ERROR);
    assert_int_equal(count_rows(s, "later", CASCADE_EXECUTION_FAILED), LATER);
    assert_int_equal(
        count_rows(s, "cascade.await:go", CASCADE_EXECUTION_FAILED), WAITS);
    assert_int_equal(count_rows(s, "waits", CASCADE_EXECUTION_FAILED), WAITS);
    assert_int_equal(count_rows(s, CSC_CANCEL_NAME, CASCADE_EXECUTION_FAILED),
                     1);
    assert_in_range(atomic_load(&s->most), 1, ROWS_MAX);
    assert_true(atomic_load(&s->slices) >= slices);
    assert_int_equal(atomic_load(&s->begun), 0);
    assert_int_equal(atomic_load(&s->signalled), 0);
    db_close_engine(s->db, s->engine);
    db_close_store(s->db, s->store);
    wrap_store_fini(&s->wrap);
    free(s);
}

/* ---- Tests --------------------------------------------------------------- */

static void
a_cancellation_is_cut_into_bounded_commits(test_db *db)
{
    scene *s = scene_open(db);

    assert_ok(cascade_cancel(db->stores[0], &s->id, NULL));
    scene_check(s, (LATER + WAITS) / ROWS_MAX);
}

/* What the first slices did is there; the others follow, by the record. */
static void
a_cancellation_goes_on_after_its_engine_is_fenced(test_db *db)
{
    scene *s = scene_open(db);

    atomic_store(&s->fence_at, 3);
    assert_ok(cascade_cancel(db->stores[0], &s->id, NULL));
    scene_check(s, (LATER + WAITS) / ROWS_MAX + 1);
}

static void
a_signal_between_two_slices_ends_no_wait(test_db *db)
{
    scene *s = scene_open(db);

    atomic_store(&s->signals, true);
    assert_ok(cascade_cancel(db->stores[0], &s->id, NULL));
    scene_check(s, (LATER + WAITS) / ROWS_MAX);
}

/* Others wait for a slice as for a commit: where its rows take long, the next
 * ones have fewer. */
static void
slices_are_as_large_as_takes_no_long_time(test_db *db)
{
    scene *s = scene_open(db);

    atomic_store(&s->slow, true);
    assert_ok(cascade_cancel(db->stores[0], &s->id, NULL));
    db_await(s->store, &s->id, CASCADE_ERROR);
    assert_in_range(atomic_load(&s->least), 1, ROWS_FIRST / 2);
    scene_check(s, SLOW_SLICES);
}

/* In how many slices. */
static size_t
cancel_heavily(test_db *db)
{
    scene *s = scene_open(db);
    size_t slices = 0;

    atomic_store(&s->heavy, true);
    assert_ok(cascade_cancel(db->stores[0], &s->id, NULL));
    db_await(s->store, &s->id, CASCADE_ERROR);
    slices = atomic_load(&s->slices);
    scene_check(s, (LATER + WAITS) / ROWS_MAX);
    return slices;
}

/* Where any commit takes its time, however small, a slice is no smaller for
 * that; but where the machine stands still in it, once more. */
static void
slices_are_not_small_where_all_commits_take_long(test_db *db)
{
    size_t slices = HEAVY_SLICES + 1;

    for (int i = 0; i < HEAVY_TRIES && slices > HEAVY_SLICES; i++)
        slices = cancel_heavily(db);
    assert_in_range(slices, 1, HEAVY_SLICES);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_cancellation_is_cut_into_bounded_commits",
         a_cancellation_is_cut_into_bounded_commits, STORES_ALL},
        {"a_cancellation_goes_on_after_its_engine_is_fenced",
         a_cancellation_goes_on_after_its_engine_is_fenced, STORES_ALL},
        {"a_signal_between_two_slices_ends_no_wait",
         a_signal_between_two_slices_ends_no_wait, STORES_ALL},
        {"slices_are_as_large_as_takes_no_long_time",
         slices_are_as_large_as_takes_no_long_time, STORES_ALL},
        {"slices_are_not_small_where_all_commits_take_long",
         slices_are_not_small_where_all_commits_take_long, STORES_ALL},
    };

    return stores_run("slices", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
