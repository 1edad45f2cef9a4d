/* SPDX-License-Identifier: MIT
 *
 * The commit pipeline under faults: G5 and G12. Replies that get lost before
 * and after the effect, engines that are removed meanwhile, stores that lose
 * commits, and changes that the store refuses. The watch (watch.h) checks
 * throughout that no event is written twice, that fn_id never goes back, and
 * that states stay what the rows say.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/uuid.h"
#include "engine/support/mix.h"
#include "engine/support/watch.h"
#include "held/engine_state.h"
#include "held/run/run.h"
#include "store/store.h"

#define WAVE 28      /* cascades started at once */
#define WAVES_MAX 50 /* until enough replies were lost */

/* ---- Two engines on one watched store ----------------------------------- */

typedef struct bench {
    test_db *db;
    watch w;
    cascade_store *store[2];
    cascade_engine *engine[2];
    atomic_size_t left;    /* commits until the trigger is pulled */
    atomic_size_t pulled;  /* times it was */
    atomic_size_t between; /* starts given up between other changes */
    uint64_t random;
    void (*pull)(struct bench *b, const wrap_call *call);
} bench;

/* Adds to the context, and goes on until `left` is 0. */
static cascade_err
chain(cascade_node *node, void *user)
{
    const cJSON *left =
        cJSON_GetObjectItemCaseSensitive(cascade_node_input(node), "left");
    int number = cJSON_IsNumber(left) ? left->valueint : 0;
    cJSON *input = NULL;
    cascade_err err = cascade_node_put(node, "log", cJSON_CreateNumber(number));

    (void)user;
    if (err != CASCADE_OK || number == 0)
        return err;
    input = cJSON_CreateObject();
    cJSON_AddNumberToObject(input, "left", number - 1);
    return cascade_node_spawn(node, "chain", input, NULL);
}

static cascade_engine *
bench_engine(bench *b, size_t i, cascade_mode mode)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = mode,
                                      .worker_count = 4,
                                      .lease_ms = 60000,
                                      .poll_interval_ms = 20};
    cascade_node_options node = {.size = sizeof(node), .backoff_ms = 1};

    b->store[i] = db_wrapped(b->db, &b->w.wrap);
    b->engine[i] = db_engine(b->db, b->store[i], &options);
    watch_engine(&b->w, b->engine[i]);
    mix_register(b->engine[i]);
    assert_ok(
        cascade_engine_register(b->engine[i], "chain", chain, NULL, &node));
    return b->engine[i];
}

/* On the heap: after a failed assertion its engines still use it. */
static bench *
bench_create(test_db *db,
             cascade_err (*before)(void *context, const wrap_call *call))
{
    bench *b = calloc(1, sizeof(*b));

    assert_non_null(b);
    b->db = db;
    b->random = db->random;
    mix_reset();
    watch_init(&b->w, db->url);
    b->w.context = b;
    b->w.before = before;
    return b;
}

static void
bench_free(bench *b, size_t commits_min)
{
    for (size_t i = 0; i < 2; i++)
        if (b->engine[i] != NULL)
            db_close_engine(b->db, b->engine[i]);
    watch_check(&b->w, commits_min);
    for (size_t i = 0; i < 2; i++)
        if (b->store[i] != NULL)
            db_close_store(b->db, b->store[i]);
    watch_fini(&b->w);
    free(b);
}

/* The store of another process: not seen by the watch. */
static void
remove_engine(bench *b, const wrap_call *call, const cascade_uuid *id)
{
    size_t freed = 0;

    expect(b->w.wrap.inner->remove(call->self, id, 1, 1000, &freed) ==
           CASCADE_OK);
}

/* Counts commits down, and pulls the trigger at the last. */
static cascade_err
count_down(void *context, const wrap_call *call)
{
    bench *b = context;

    if (call->move != WRAP_COMMIT || atomic_load(&b->left) == 0)
        return CASCADE_OK;
    if (atomic_fetch_sub(&b->left, 1) == 1) {
        atomic_fetch_add(&b->pulled, 1);
        b->pull(b, call);
    }
    return CASCADE_OK;
}

/* The chain is complete: each link has written once, in its place. */
static void
check_chain(cascade_store *store, const cascade_uuid *id, int length)
{
    cascade_snapshot *snapshot = NULL;
    cJSON *context = NULL;
    const cJSON *log = NULL;

    db_await(store, id, CASCADE_COMPLETED);
    assert_ok(cascade_snapshot_load(store, id, NULL, &snapshot));
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY),
                     length);
    assert_int_equal(cascade_snapshot_info(snapshot)->fn_id, length - 1);
    context = cJSON_Parse(cascade_snapshot_context(snapshot));
    log = cJSON_GetObjectItemCaseSensitive(context, "log");
    assert_int_equal(cJSON_GetArraySize(log), length);
    for (int i = 0; i < length; i++)
        assert_int_equal(cJSON_GetArrayItem(log, i)->valueint, length - 1 - i);
    cJSON_Delete(context);
    cascade_snapshot_free(snapshot);
}

static void
check_wave(cascade_store *store, const cascade_uuid *ids)
{
    for (size_t i = 0; i < WAVE; i++)
        db_await(store, &ids[i],
                 i % MIX_DOOMED == MIX_DOOMED - 1 ? CASCADE_ERROR
                                                  : CASCADE_COMPLETED);
}

/* ---- Lost replies ------------------------------------------------------- */

/* A third of the replies is lost, half of those after the effect. */
static cascade_err
lose_replies(void *context, const wrap_call *call)
{
    bench *b = context;
    size_t nth = 0;

    if (call->move != WRAP_COMMIT)
        return CASCADE_OK;
    nth = atomic_fetch_add(&b->pulled, 1);
    if (stores_hash("lost", b->random + nth) % 3 == 0)
        wrap_store_fail(&b->w.wrap, WRAP_COMMIT, 0, 1,
                        stores_hash("when", b->random + nth) % 2 == 0
                            ? WRAP_BEFORE
                            : WRAP_AFTER,
                        CASCADE_ERR_UNAVAILABLE);
    return CASCADE_OK;
}

/* G12: the same batch is repeated until the lane tells, and takes effect
 * once. */
static void
lost_replies_change_nothing(test_db *db)
{
    bench *b = bench_create(db, lose_replies);
    cascade_uuid ids[WAVE];

    assert_ok(cascade_engine_start(bench_engine(b, 0, CASCADE_MODE_THREADS)));
    for (int i = 0; i < WAVES_MAX && atomic_load(&b->w.wrap.faults) <= 10;
         i++) {
        mix_start(b->store[0], ids, WAVE);
        check_wave(b->store[0], ids);
    }
    assert_true(atomic_load(&b->w.wrap.faults) > 10);
    assert_int_equal(db_stats(b->engine[0]).fences, 0);
    bench_free(b, 10);
}

static void
remove_sender(bench *b, const wrap_call *call)
{
    remove_engine(b, call, &call->batch->engine_id);
}

/* The reply is lost, and when the batch is repeated its engine was removed. */
static cascade_err
lose_then_remove(void *context, const wrap_call *call)
{
    bench *b = context;

    if (call->move != WRAP_COMMIT || atomic_load(&b->left) == 0)
        return CASCADE_OK;
    if (atomic_fetch_sub(&b->left, 1) == 2)
        wrap_store_fail(&b->w.wrap, WRAP_COMMIT, 0, 1,
                        b->random == 0 ? WRAP_BEFORE : WRAP_AFTER,
                        CASCADE_ERR_UNAVAILABLE);
    else if (atomic_load(&b->left) == 0) {
        atomic_fetch_add(&b->pulled, 1);
        remove_sender(b, call);
    }
    return CASCADE_OK;
}

static uint64_t
count_fences(const bench *b)
{
    return db_stats(b->engine[0]).fences + db_stats(b->engine[1]).fences;
}

static bool
one_is_fenced(void *context)
{
    return count_fences(context) > 0;
}

/* Engine 0 loses the reply of commit `at`, then its incarnation; both engines
 * may claim what it held: the other one may be at the end before engine 0 is
 * told. */
static void
lose_and_remove(test_db *db, wrap_when when, size_t at)
{
    bench *b = bench_create(db, lose_then_remove);
    cascade_uuid id;

    b->random = when == WRAP_BEFORE ? 0 : 1;
    assert_ok(cascade_engine_start(bench_engine(b, 0, CASCADE_MODE_THREADS)));
    assert_ok(cascade_engine_start(bench_engine(b, 1, CASCADE_MODE_THREADS)));
    atomic_store(&b->left, at + 1);
    id = db_start_text(b->store[0], "chain", "{\"left\":9}");
    check_chain(b->store[0], &id, 10);
    assert_int_equal(atomic_load(&b->pulled), 1);
    assert_true(stores_until(one_is_fenced, b));
    assert_int_equal(count_fences(b), 1);
    bench_free(b, 10);
}

/* G12, G5: nothing twice, fn_id never back, whoever claims meanwhile. */
static void
a_reply_lost_before_the_effect_and_a_removed_engine(test_db *db)
{
    for (size_t at = 1; at <= 9; at += 4)
        lose_and_remove(db, WRAP_BEFORE, at);
}

static void
a_reply_lost_after_the_effect_and_a_removed_engine(test_db *db)
{
    for (size_t at = 1; at <= 9; at += 4)
        lose_and_remove(db, WRAP_AFTER, at);
}

/* ---- Fenced, lost ------------------------------------------------------- */

/* Every twentieth commit finds that its engine was removed. */
static void
remove_again(bench *b, const wrap_call *call)
{
    remove_sender(b, call);
    if (atomic_load(&b->pulled) < 8)
        atomic_store(&b->left, 20);
}

static void
a_fenced_engine_attaches_anew_and_goes_on(test_db *db)
{
    bench *b = bench_create(db, count_down);
    cascade_uuid ids[WAVE];

    b->pull = remove_again;
    atomic_store(&b->left, 20);
    assert_ok(cascade_engine_start(bench_engine(b, 0, CASCADE_MODE_THREADS)));
    for (int round = 0; round < 20 && atomic_load(&b->pulled) < 8; round++) {
        mix_start(b->store[0], ids, WAVE);
        check_wave(b->store[0], ids);
    }
    assert_true(db_stats(b->engine[0]).fences >= 8);
    assert_true(db_stats(b->engine[0]).hydrations > 0);
    /* Nothing was born as the property of an incarnation that is gone. */
    assert_int_equal(db_stats(b->engine[0]).takeovers, 0);
    bench_free(b, 100);
}

/* An idle one notices when it renews its lease. */
static bool
was_fenced(void *context)
{
    return db_stats(context).fences == 1;
}

static void
an_idle_engine_notices_its_removal(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .worker_count = 1,
                                      .lease_ms = 300,
                                      .poll_interval_ms = 20};
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, &options);
    cascade_uuid before;
    cascade_uuid id;
    size_t freed = 0;

    assert_ok(cascade_engine_register(engine, "chain", chain, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    before = engine->incarnation.id;
    assert_ok(store->driver->remove(store->self, &before, 1, 10, &freed));
    assert_true(stores_until(was_fenced, engine));
    id = db_start_text(store, "chain", "{\"left\":2}");
    check_chain(store, &id, 3);
}

/* As after a failover that lost commits: the lane shows another number. */
static void
shift_lane(bench *b, const wrap_call *call)
{
    cascade_batch batch = *call->batch;
    bool existed = false;

    batch.change_count = 0;
    for (int i = 0; i < 2; i++) {
        expect(b->w.wrap.inner->commit(call->self, &batch, &existed) ==
               CASCADE_OK);
        batch.number++;
    }
}

static void
an_engine_notices_that_the_store_lost_commits(test_db *db)
{
    bench *b = bench_create(db, count_down);
    cascade_uuid ids[WAVE];

    b->pull = shift_lane;
    atomic_store(&b->left, 30);
    assert_ok(cascade_engine_start(bench_engine(b, 0, CASCADE_MODE_THREADS)));
    mix_start(b->store[0], ids, WAVE);
    check_wave(b->store[0], ids);
    assert_int_equal(atomic_load(&b->pulled), 1);
    assert_int_equal(db_stats(b->engine[0]).losses, 1);
    assert_true(db_stats(b->engine[0]).hydrations > 0);
    bench_free(b, 30);
}

/* ---- A store that was restored ------------------------------------------ */

/* Keeps a copy of the store at one commit, and puts it back at a later one. */
typedef struct restorer {
    wrap_store wrap;
    test_db *db;
    atomic_size_t commits;
    cascade_uuid id;
} restorer;

static cascade_err
keep_and_restore(void *context, const wrap_call *call)
{
    restorer *r = context;
    size_t number = 0;

    if (call->move != WRAP_COMMIT)
        return CASCADE_OK;
    number = atomic_fetch_add(&r->commits, 1) + 1;
    if (number == 10)
        expect(db_keep_copy(r->db) == 0);
    if (number == 25)
        expect(db_restore_copy(r->db) == 0);
    return CASCADE_OK;
}

/* Fifteen commits are gone under a running engine: what it knows of them is
 * dropped, and the executions run again. */
static void
a_restored_store_is_hydrated_anew(test_db *db)
{
    restorer *r = calloc(1, sizeof(*r));
    cascade_engine_options options = {
        .size = sizeof(options), .worker_count = 2, .poll_interval_ms = 20};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;

    assert_non_null(r);
    assert_int_equal(wrap_store_init(&r->wrap, db->url), 0);
    r->wrap.context = r;
    r->wrap.before = keep_and_restore;
    r->db = db;
    store = db_wrapped(db, &r->wrap);
    engine = db_engine(db, store, &options);
    assert_ok(cascade_engine_register(engine, "chain", chain, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    r->id = db_start_text(store, "chain", "{\"left\":39}");
    check_chain(store, &r->id, 40);
    assert_int_equal(db_stats(engine).losses, 1);
    assert_true(db_stats(engine).executions > 40);
    db_close_engine(db, engine);
    db_close_store(db, store);
    wrap_store_fini(&r->wrap);
    free(r);
}

/* ---- Starts ------------------------------------------------------------- */

/* The batch of a start: its engine is removed before or after the effect. */
static cascade_err
remove_at_start(void *context, const wrap_call *call)
{
    bench *b = context;

    if (call->move != WRAP_COMMIT ||
        call->batch->changes[0].run_action != CASCADE_RUN_START)
        return CASCADE_OK;
    if (atomic_fetch_add(&b->pulled, 1) == 0 && b->random == 1) {
        wrap_store_fail(&b->w.wrap, WRAP_COMMIT, 0, 1, WRAP_AFTER,
                        CASCADE_ERR_UNAVAILABLE);
        return CASCADE_OK;
    }
    remove_sender(b, call);
    return CASCADE_OK;
}

static void
start_in_a_fenced_batch(test_db *db, uint64_t lost_first)
{
    bench *b = bench_create(db, remove_at_start);
    cascade_started started = {0};
    cascade_start_options options = {.size = sizeof(options), .key = "once"};

    b->random = lost_first;
    assert_ok(cascade_engine_start(bench_engine(b, 0, CASCADE_MODE_THREADS)));
    assert_ok(cascade_start(b->store[0], "chain", NULL, &options, &started));
    assert_false(started.existed);
    assert_true(atomic_load(&b->pulled) > 0);
    check_chain(b->store[0], &started.id, 1);
    assert_int_equal(db_stats(b->engine[0]).fences, 1);
    bench_free(b, 1);
}

/* G2, G12: the caller is told the truth, and the cascade ends. */
static void
a_start_in_a_fenced_batch_is_rescued(test_db *db)
{
    start_in_a_fenced_batch(db, 0);
}

static void
a_start_that_took_effect_in_a_fenced_batch_is_recognised(test_db *db)
{
    start_in_a_fenced_batch(db, 1);
}

/* ---- Starts that are held up -------------------------------------------- */

static bool
has_start(const cascade_batch *batch)
{
    for (size_t i = 0; i < batch->change_count; i++)
        if (batch->changes[i].run_action == CASCADE_RUN_START)
            return true;
    return false;
}

/* What is left when its starts are taken out has a gap. */
static bool
has_start_between(const cascade_batch *batch)
{
    size_t at = 0;

    while (at < batch->change_count &&
           batch->changes[at].run_action == CASCADE_RUN_START)
        at++;
    while (at < batch->change_count &&
           batch->changes[at].run_action != CASCADE_RUN_START)
        at++;
    while (at < batch->change_count &&
           batch->changes[at].run_action == CASCADE_RUN_START)
        at++;
    return at < batch->change_count;
}

static void
pause_ms(int ms)
{
    const struct timespec pause = {0, ms * 1000000L};

    (void)nanosleep(&pause, NULL);
}

static void
say_next(bench *b, wrap_move move, wrap_when when, cascade_err err)
{
    wrap_store_fail(&b->w.wrap, move, 0, 1, when, err);
}

static bool
was_held_up(bench *b)
{
    return atomic_load(&b->left) > 40 && atomic_load(&b->between) > 2 &&
           wrap_store_count(&b->w.wrap, WRAP_SETTLE) > 12;
}

/* Half of the commits with starts are given up, and a fifth of all lose their
 * replies, as half of what is settled then; of the submits, half are given up
 * too. That ends when there was enough of it. */
static cascade_err
hold_up(void *context, const wrap_call *call)
{
    bench *b = context;
    uint64_t drawn = 0;

    if ((call->move != WRAP_COMMIT && call->move != WRAP_SUBMIT &&
         call->move != WRAP_SETTLE) ||
        was_held_up(b))
        return CASCADE_OK;
    pause_ms(2); /* while it is in the store, the next batch fills */
    drawn = stores_hash("held", b->random + atomic_fetch_add(&b->pulled, 1));
    if (call->move == WRAP_SETTLE && drawn % 2 == 0)
        say_next(b, WRAP_SETTLE, drawn / 2 % 2 == 0 ? WRAP_BEFORE : WRAP_AFTER,
                 CASCADE_ERR_UNAVAILABLE);
    else if (call->move == WRAP_SUBMIT && call->submission->brief &&
             drawn % 2 == 0)
        say_next(b, WRAP_SUBMIT, WRAP_BEFORE, CASCADE_ERR_AGAIN);
    else if (call->move == WRAP_COMMIT && drawn % 5 == 0)
        say_next(b, WRAP_COMMIT, drawn / 5 % 2 == 0 ? WRAP_BEFORE : WRAP_AFTER,
                 CASCADE_ERR_UNAVAILABLE);
    else if (call->move == WRAP_COMMIT && has_start(call->batch) &&
             drawn % 2 == 0) {
        say_next(b, WRAP_COMMIT, WRAP_BEFORE, CASCADE_ERR_AGAIN);
        atomic_fetch_add(&b->left, 1);
        atomic_fetch_add(&b->between, has_start_between(call->batch));
    }
    return CASCADE_OK;
}

/* Chains whose ids lie anywhere, so that starts come between others. */
static void
start_anywhere(bench *b, int wave, cascade_uuid *ids)
{
    for (size_t i = 0; i < WAVE; i++) {
        const uint64_t parts[2] = {
            stores_hash("id", b->random + (uint64_t)wave * WAVE + i),
            stores_hash("rest", b->random + i)};
        const cascade_start_options options = {.size = sizeof(options),
                                               .id = &ids[i]};
        cascade_started started;

        memcpy(&ids[i], parts, sizeof(ids[i]));
        assert_ok(cascade_start(b->store[0], "chain",
                                cJSON_Parse("{\"left\":9}"), &options,
                                &started));
        assert_false(started.existed);
    }
}

/* S33, G12: starts go on by themselves, and nothing else of their batches is
 * lost, written twice, or taken for another batch. */
static void
starts_that_are_held_up_leave_the_rest_alone(test_db *db)
{
    bench *b = bench_create(db, hold_up);
    cascade_uuid ids[WAVE];

    assert_ok(cascade_engine_start(bench_engine(b, 0, CASCADE_MODE_THREADS)));
    for (int i = 0; i < WAVES_MAX && !was_held_up(b); i++) {
        cascade_uuid chains[WAVE];

        start_anywhere(b, i, chains);
        mix_start(b->store[0], ids, WAVE);
        check_wave(b->store[0], ids);
        for (size_t c = 0; c < WAVE; c++)
            check_chain(b->store[0], &chains[c], 10);
    }
    assert_true(was_held_up(b));
    assert_int_equal(db_stats(b->engine[0]).fences, 0);
    assert_int_equal(db_stats(b->engine[0]).losses, 0);
    bench_free(b, 10);
}

/* Its engine is removed, and the lane may not wait for it either. */
static cascade_err
remove_and_hold_up(void *context, const wrap_call *call)
{
    bench *b = context;

    if (call->move == WRAP_COMMIT && has_start(call->batch) &&
        atomic_fetch_add(&b->pulled, 1) == 0) {
        remove_sender(b, call);
        wrap_store_fail(&b->w.wrap, WRAP_SUBMIT, 0, 3, WRAP_BEFORE,
                        CASCADE_ERR_AGAIN);
    }
    return CASCADE_OK;
}

static void
a_start_in_a_fenced_batch_may_be_held_up(test_db *db)
{
    bench *b = bench_create(db, remove_and_hold_up);
    cascade_started started = {0};
    cascade_start_options options = {.size = sizeof(options), .key = "once"};

    assert_ok(cascade_engine_start(bench_engine(b, 0, CASCADE_MODE_THREADS)));
    assert_ok(cascade_start(b->store[0], "chain", cJSON_Parse("{\"left\":3}"),
                            &options, &started));
    assert_false(started.existed);
    assert_int_equal(wrap_store_count(&b->w.wrap, WRAP_SUBMIT), 4);
    check_chain(b->store[0], &started.id, 4);
    assert_int_equal(db_stats(b->engine[0]).fences, 1);
    bench_free(b, 1);
}

/* A start in a thread of its own. */
typedef struct caller {
    cascade_store *store;
    cascade_started started;
    cascade_err err;
} caller;

static void *
start_one(void *context)
{
    caller *c = context;

    c->err = cascade_start(c->store, "chain", NULL, NULL, &c->started);
    return NULL;
}

typedef struct overtaken {
    wrap_store *wrap;
    cascade_engine *engine;
    caller second;
    pthread_t thread;
    atomic_int commits;
} overtaken;

static bool
has_queued_start(void *context)
{
    cascade_engine *engine = context;
    bool queued = false;

    pthread_mutex_lock(&engine->mutex);
    queued = engine->lanes[0].first_start != NULL;
    pthread_mutex_unlock(&engine->mutex);
    return queued;
}

/* Once the first start is on its way a second one waits in the lane; then their
 * incarnation is removed, and no other is to be had. */
static cascade_err
remove_under_them(void *context, const wrap_call *call)
{
    overtaken *o = context;
    size_t freed = 0;

    if (call->move != WRAP_COMMIT || atomic_fetch_add(&o->commits, 1) > 0)
        return CASCADE_OK;
    expect(pthread_create(&o->thread, NULL, start_one, &o->second) == 0);
    expect(stores_until(has_queued_start, o->engine));
    expect(o->wrap->inner->remove(call->self, &call->batch->engine_id, 1, 1000,
                                  &freed) == CASCADE_OK);
    wrap_store_fail(o->wrap, WRAP_ATTACH, 0, SIZE_MAX, WRAP_BEFORE,
                    CASCADE_ERR_UNAVAILABLE);
    return CASCADE_OK;
}

/* It does not wait for the engine to attach: nothing of it was sent. */
static void
a_start_that_waits_in_a_lost_engine_goes_on_without_it(test_db *db)
{
    cascade_engine_options one_lane = {.size = sizeof(one_lane),
                                       .worker_count = 2,
                                       .lane_count = 1,
                                       .lease_ms = 60000,
                                       .poll_interval_ms = 20};
    overtaken *o = calloc(1, sizeof(*o));
    cascade_started first = {0};

    assert_non_null(o);
    o->wrap = wrap_store_create(db->url);
    assert_non_null(o->wrap);
    o->wrap->context = o;
    o->wrap->before = remove_under_them;
    o->second.store = db_wrapped(db, o->wrap);
    o->engine = db_engine(db, o->second.store, &one_lane);
    assert_ok(cascade_engine_register(o->engine, "chain", chain, NULL, NULL));
    assert_ok(cascade_engine_start(o->engine));
    assert_ok(cascade_start(o->second.store, "chain", NULL, NULL, &first));
    pthread_join(o->thread, NULL);
    assert_ok(o->second.err);
    wrap_store_fail(o->wrap, WRAP_ATTACH, 0, 0, WRAP_BEFORE, CASCADE_OK);
    check_chain(o->second.store, &first.id, 1);
    check_chain(o->second.store, &o->second.started.id, 1);
    assert_int_equal(db_stats(o->engine).fences, 1);
    assert_int_equal(db_stats(o->engine).takeovers, 0);
    db_close_engine(db, o->engine);
    db_close_store(db, o->second.store);
    wrap_store_free(o->wrap);
    free(o);
}

/* ---- Turns -------------------------------------------------------------- */

#define BATCH 4 /* cascades in one */
#define BUSY 24 /* that go on */
#define STARTS 20

/* Batches that may go before a start: one that was taken before it came, and
 * the next, if that is not its turn. */
#define PASSES 2

typedef struct rush {
    wrap_store *wrap;
    cascade_store *store;
    cascade_engine *engine;
    atomic_bool on;       /* every batch is to be full */
    atomic_bool over;     /* those that go on may end */
    atomic_size_t filled; /* batches, by what goes on alone */
    size_t passed;        /* since a start waits; of who is in the lane */
} rush;

static cascade_err
keep_busy(cascade_node *node, void *user)
{
    if (atomic_load(&((rush *)user)->over))
        return CASCADE_OK;
    return cascade_node_spawn(node, "busy", NULL, NULL);
}

static bool
next_is_full(void *context)
{
    rush *r = context;
    const csc_run *run = NULL;
    size_t count = 0;

    pthread_mutex_lock(&r->engine->mutex);
    for (run = r->engine->lanes[0].first_dirty; run != NULL && count < BATCH;
         run = run->dirty_next)
        count++;
    pthread_mutex_unlock(&r->engine->mutex);
    return count == BATCH || atomic_load(&r->over);
}

/* Holds each batch until the next one can be filled by what goes on. */
static cascade_err
fill_next(void *context, const wrap_call *call)
{
    rush *r = context;

    if (call->move != WRAP_COMMIT || !atomic_load(&r->on))
        return CASCADE_OK;
    if (has_start(call->batch)) {
        r->passed = 0;
    } else {
        atomic_fetch_add(&r->filled, call->batch->change_count == BATCH);
        if (has_queued_start(r->engine))
            expect(++r->passed <= PASSES);
    }
    expect(stores_until(next_is_full, r));
    return CASCADE_OK;
}

static rush *
rush_open(test_db *db)
{
    cascade_engine_options small = {.size = sizeof(small),
                                    .worker_count = 4,
                                    .lane_count = 1,
                                    .batch_cascades_max = BATCH};
    rush *r = calloc(1, sizeof(*r));

    assert_non_null(r);
    r->wrap = wrap_store_create(db->url);
    assert_non_null(r->wrap);
    r->wrap->context = r;
    r->wrap->before = fill_next;
    r->store = db_wrapped(db, r->wrap);
    r->engine = db_engine(db, r->store, &small);
    assert_ok(cascade_engine_register(r->engine, "busy", keep_busy, r, NULL));
    assert_ok(cascade_engine_register(r->engine, "chain", chain, NULL, NULL));
    assert_ok(cascade_engine_start(r->engine));
    return r;
}

/* Cascades that go on could fill every batch for ever: starts, of one and of
 * several, have their turn all the same. */
static void
starts_get_in_while_every_batch_is_full(test_db *db)
{
    const cascade_first first = {.size = sizeof(first), .node = "chain"};
    const cascade_start_spec specs[2] = {
        {.size = sizeof(specs[0]), .first = &first, .first_count = 1},
        {.size = sizeof(specs[0]), .first = &first, .first_count = 1}};
    rush *r = rush_open(db);
    cascade_uuid busy[BUSY];
    cascade_started started[2];

    for (size_t i = 0; i < BUSY; i++)
        busy[i] = db_start(r->store, "busy");
    atomic_store(&r->on, true);
    for (int i = 0; i < STARTS; i++)
        assert_ok(
            cascade_start_many(r->store, specs, i % 2 == 0 ? 2 : 1, started));
    atomic_store(&r->over, true);
    for (size_t i = 0; i < BUSY; i++)
        db_await(r->store, &busy[i], CASCADE_COMPLETED);
    assert_true(atomic_load(&r->filled) >= STARTS - 1);
    db_close_engine(db, r->engine);
    db_close_store(db, r->store);
    wrap_store_free(r->wrap);
    free(r);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"lost_replies_change_nothing", lost_replies_change_nothing,
         STORES_ALL},
        {"a_reply_lost_before_the_effect_and_a_removed_engine",
         a_reply_lost_before_the_effect_and_a_removed_engine, STORES_ALL},
        {"a_reply_lost_after_the_effect_and_a_removed_engine",
         a_reply_lost_after_the_effect_and_a_removed_engine, STORES_ALL},
        {"a_fenced_engine_attaches_anew_and_goes_on",
         a_fenced_engine_attaches_anew_and_goes_on, STORES_ALL},
        {"an_idle_engine_notices_its_removal",
         an_idle_engine_notices_its_removal, STORES_ALL},
        {"an_engine_notices_that_the_store_lost_commits",
         an_engine_notices_that_the_store_lost_commits, STORES_ALL},
        {"a_restored_store_is_hydrated_anew", a_restored_store_is_hydrated_anew,
         STORES_SQLITE},
        {"a_start_in_a_fenced_batch_is_rescued",
         a_start_in_a_fenced_batch_is_rescued, STORES_ALL},
        {"a_start_that_took_effect_in_a_fenced_batch_is_recognised",
         a_start_that_took_effect_in_a_fenced_batch_is_recognised, STORES_ALL},
        {"starts_get_in_while_every_batch_is_full",
         starts_get_in_while_every_batch_is_full, STORES_ALL},
        {"a_start_that_waits_in_a_lost_engine_goes_on_without_it",
         a_start_that_waits_in_a_lost_engine_goes_on_without_it, STORES_ALL},
        {"starts_that_are_held_up_leave_the_rest_alone",
         starts_that_are_held_up_leave_the_rest_alone, STORES_ALL},
        {"a_start_in_a_fenced_batch_may_be_held_up",
         a_start_in_a_fenced_batch_may_be_held_up, STORES_ALL},
    };

    return stores_run("lane", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
