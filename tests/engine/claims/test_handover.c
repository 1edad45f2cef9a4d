/* SPDX-License-Identifier: MIT
 *
 * Cascades that change hands: given up, taken over, parked, suspected. What is
 * under way at that moment must neither run twice, nor be blamed for another,
 * nor wait for longer than it must.
 */
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "support/stores.h"

#define HOUR_MS INT64_C(3600000)

/* ---- Left for an engine that knows more --------------------------------- */

typedef struct left {
    cascade_store *store;
    cascade_uuid id;
    sem_t entered;
    sem_t leave;
} left;

static cascade_err
spawn_b(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_spawn(node, "b", NULL, NULL);
}

static cascade_err
stay(cascade_node *node, void *user)
{
    left *l = user;

    (void)node;
    sem_post(&l->entered);
    stores_await(&l->leave);
    return CASCADE_OK;
}

static bool
is_left(void *context)
{
    left *l = context;
    cascade_info *info = NULL;
    bool is = false;

    assert_ok(cascade_get(l->store, &l->id, &info));
    is = !info->owned && strcmp(info->needs, "a") == 0;
    cascade_info_free(info);
    return is;
}

static cascade_engine *
left_engine(test_db *db, left *l, cascade_node_fn a, cascade_node_fn b)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .worker_count = 2,
                                      .lease_ms = HOUR_MS,
                                      .poll_interval_ms = 20};
    cascade_engine *engine = db_engine(db, l->store, &options);

    if (a != NULL)
        assert_ok(cascade_engine_register(engine, "a", a, l, NULL));
    assert_ok(cascade_engine_register(engine, "b", b, l, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

/* G2, G6: the first engine does not know a; the second does, runs it, and goes
 * while it is in b; the third knows b alone, and that is all that is left. */
static void
what_one_engine_did_not_know_does_not_bind_the_next(test_db *db)
{
    static left l;
    cascade_engine *engines[2];

    memset(&l, 0, sizeof(l));
    sem_init(&l.entered, 0, 0);
    sem_init(&l.leave, 0, 0);
    l.store = db_store(db);
    engines[0] = left_engine(db, &l, NULL, stores_nothing);
    l.id = db_start(l.store, "a");
    assert_true(stores_until(is_left, &l));
    db_close_engine(db, engines[0]);
    engines[1] = left_engine(db, &l, spawn_b, stay);
    stores_await(&l.entered);
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_engine_stop(engines[1], 0));
    (void)left_engine(db, &l, NULL, stores_nothing);
    db_await(l.store, &l.id, CASCADE_COMPLETED);
    sem_post(&l.leave);
    db_close_engine(db, engines[1]);
}

/* ---- Given up while a timer is set -------------------------------------- */

#define BACKOFF_MS 400

typedef struct freed {
    wrap_store wrap;
    test_db *db;
    cascade_store *store;
    cascade_engine *engine;
    sem_t leave;
    atomic_int tries; /* of the node that fails once */
    atomic_int frees; /* commits that give the cascade up */
} freed;

static cascade_err
fail_once(cascade_node *node, void *user)
{
    freed *f = user;

    if (atomic_fetch_add(&f->tries, 1) == 0)
        return cascade_node_error(node, "the first time");
    return CASCADE_OK;
}

static cascade_err
wait_to_leave(cascade_node *node, void *user)
{
    freed *f = user;

    (void)node;
    stores_await(&f->leave);
    return CASCADE_OK;
}

/* While the cascade is being given up the time of its timer comes. */
static cascade_err
pass_time(void *context, const wrap_call *call)
{
    freed *f = context;
    cascade_engine_stats stats;

    if (call->move != WRAP_COMMIT ||
        call->batch->changes[0].run_action != CASCADE_RUN_FREE)
        return CASCADE_OK;
    atomic_fetch_add(&f->frees, 1);
    fake_clock_advance(&f->db->clock, BACKOFF_MS + 100);
    db_pass_rounds(f->store, &f->wrap);
    stats = db_stats(f->engine);
    expect(stats.ready == 0 && stats.running == 0);
    expect(atomic_load(&f->tries) == 1);
    return CASCADE_OK;
}

static bool
has_timer(void *context)
{
    return db_stats(context).waiting == 1;
}

static freed *
freed_create(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .worker_count = 2,
                                      .poll_interval_ms = HOUR_MS,
                                      .park_after_ms = BACKOFF_MS / 4};
    cascade_node_options node = {
        .size = sizeof(node), .backoff_ms = BACKOFF_MS, .jitter_percent = -1};
    freed *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(wrap_store_init(&f->wrap, db->url), 0);
    sem_init(&f->leave, 0, 0);
    f->wrap.context = f;
    f->wrap.before = pass_time;
    f->db = db;
    db->fake_time = true;
    f->store = db_wrapped(db, &f->wrap);
    f->engine = db_engine(db, f->store, &options);
    assert_ok(cascade_engine_register(f->engine, "fails", fail_once, f, &node));
    assert_ok(
        cascade_engine_register(f->engine, "waits", wait_to_leave, f, NULL));
    assert_ok(cascade_engine_start(f->engine));
    return f;
}

/* G5: from the moment on that a cascade is given up nothing of it begins here,
 * though the timer that was set for it meanwhile comes. */
static void
nothing_begins_in_a_cascade_that_is_given_up(test_db *db)
{
    cascade_first first[2] = {{.size = sizeof(first[0]), .node = "fails"},
                              {.size = sizeof(first[0]), .node = "waits"}};
    cascade_start_spec spec = {
        .size = sizeof(spec), .first = first, .first_count = 2};
    freed *f = freed_create(db);
    cascade_store *store = f->store;
    cascade_started started;

    assert_ok(cascade_start_many(store, &spec, 1, &started));
    assert_true(stores_until(has_timer, f->engine));
    sem_post(&f->leave);
    db_await(store, &started.id, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&f->frees), 1);
    assert_int_equal(atomic_load(&f->tries), 2);
    db_close_engine(db, f->engine);
    db_close_store(db, store);
    wrap_store_fini(&f->wrap);
    free(f);
}

/* ---- Whom to blame ------------------------------------------------------ */

#define LIVES 16
#define LEASE_MS 200

/* One engine whose process can die: from then on it reaches no store. */
typedef struct life {
    wrap_store wrap;
    cascade_store *store;
    cascade_engine *engine;
    atomic_bool dead;
} life;

static cascade_err
reach(void *context, const wrap_call *call)
{
    life *l = context;

    (void)call;
    return atomic_load(&l->dead) ? CASCADE_ERR_UNAVAILABLE : CASCADE_OK;
}

static cascade_err
die(cascade_node *node, void *user)
{
    (void)node;
    atomic_store(&((life *)user)->dead, true);
    return CASCADE_OK;
}

static life *
life_create(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .lease_ms = LEASE_MS,
                                      .poll_interval_ms = 20};
    life *l = calloc(1, sizeof(*l));

    assert_non_null(l);
    assert_int_equal(wrap_store_init(&l->wrap, db->url), 0);
    l->wrap.context = l;
    l->wrap.before = reach;
    l->store = db_wrapped(db, &l->wrap);
    l->engine = db_engine(db, l->store, &options);
    assert_ok(cascade_engine_register(l->engine, "harmless", stores_nothing, l,
                                      NULL));
    assert_ok(cascade_engine_register(l->engine, "deadly", die, l, NULL));
    assert_ok(cascade_engine_start(l->engine));
    return l;
}

static void
life_free(test_db *db, life *l)
{
    for (size_t i = 0; i < db->engine_count; i++)
        if (db->engines[i] == l->engine)
            db->engines[i] = NULL;
    (void)cascade_engine_stop(l->engine, 0);
    assert_ok(cascade_engine_close(l->engine));
    db_close_store(db, l->store);
    wrap_store_fini(&l->wrap);
    free(l);
}

/* Lives until it dies (false) or the cascade has ended. Several executions go
 * in one poll, as they would go in one worker. */
static bool
live(test_db *db, life *l, const cascade_uuid *id)
{
    for (int i = 0; i < 10000 && !atomic_load(&l->dead); i++) {
        size_t ran = 0;

        assert_ok(cascade_engine_poll(l->engine, 100, &ran));
        if (!atomic_load(&l->dead) &&
            cascade_wait(l->store, id, 0, NULL) == CASCADE_OK)
            return true;
        if (ran == 0)
            fake_clock_advance(&db->clock,
                               cascade_engine_timeout_ms(l->engine) + 1);
    }
    assert_true(atomic_load(&l->dead));
    return false;
}

static void
check_blame(cascade_store *store, const cascade_uuid *id)
{
    const cascade_execution_info *info = NULL;
    cascade_snapshot *snapshot = NULL;

    assert_ok(cascade_snapshot_load(store, id, NULL, &snapshot));
    info = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 0);
    assert_int_equal(info->status, CASCADE_EXECUTION_COMPLETED);
    info = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 1);
    assert_int_equal(info->status, CASCADE_EXECUTION_FAILED);
    assert_non_null(strstr(info->error, "poisoned"));
    cascade_snapshot_free(snapshot);
}

/* Two executions, of which one kills its process each time, when the other has
 * just been through: it is the deadly one that is poisoned. */
static void
the_execution_that_kills_is_the_one_poisoned(test_db *db)
{
    cascade_first first[2] = {{.size = sizeof(first[0]), .node = "harmless"},
                              {.size = sizeof(first[0]), .node = "deadly"}};
    cascade_start_spec spec = {
        .size = sizeof(spec), .first = first, .first_count = 2};
    cascade_store *store = NULL;
    cascade_started started;
    life *lives[LIVES];
    size_t used = 0;
    bool ended = false;

    db->fake_time = true;
    store = db_store(db);
    assert_ok(cascade_start_many(store, &spec, 1, &started));
    while (used < LIVES && !ended) {
        lives[used] = life_create(db);
        ended = live(db, lives[used++], &started.id);
    }
    assert_true(ended);
    check_blame(store, &started.id);
    while (used > 0)
        life_free(db, lives[--used]);
}

/* ---- Parked ------------------------------------------------------------- */

#define PARKED_MS 400       /* to begin with, */
#define PARKED_MAX_MS 60000 /* and up to that */

static cascade_err
fail_first(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_attempt(node) == 1
               ? cascade_node_error(node, "the first time")
               : CASCADE_OK;
}

static int64_t
store_now(cascade_store *store)
{
    int64_t now_ms = 0;

    assert_ok(cascade_store_now(store, &now_ms));
    return now_ms;
}

/* It fails at first, and is tried again in `backoff_ms`; how often it was
 * parked until then. */
static uint64_t
park_once(test_db *db, cascade_store *store, int64_t backoff_ms)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .lease_ms = 2 * HOUR_MS,
                                      .poll_interval_ms = HOUR_MS,
                                      .park_after_ms = backoff_ms / 4};
    cascade_node_options node = {
        .size = sizeof(node), .backoff_ms = backoff_ms, .jitter_percent = -1};
    cascade_engine *engine = db_engine(db, store, &options);
    cascade_uuid id;
    db_ends ends = {store, &id, 1, 0};
    int64_t took_ms = 0;
    uint64_t parked = 0;

    assert_ok(
        cascade_engine_register(engine, "fails", fail_first, NULL, &node));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "fails");
    took_ms = store_now(store);
    assert_true(db_poll_until(db, &engine, 1, db_all_ended, &ends));
    took_ms = store_now(store) - took_ms;
    assert_true(took_ms >= backoff_ms);
    assert_true(took_ms < (db->fake_time ? 2 * backoff_ms : HOUR_MS));
    parked = db_stats(engine).parked;
    db_close_engine(db, engine);
    return parked;
}

/* G8: no engine need look for it: the one that parked it knows the time. One
 * that comes to park it too late waits for it instead. */
static void
a_parked_cascade_wakes_on_time(test_db *db)
{
    cascade_store *store = NULL;
    int64_t backoff_ms = PARKED_MS;
    uint64_t parked = 0;

    db->fake_time = db->backend->virtual_time;
    store = db_store(db);
    for (; parked == 0; backoff_ms *= 2) {
        if (backoff_ms > (db->fake_time ? PARKED_MS : PARKED_MAX_MS))
            fail_msg("it was not parked");
        parked = park_once(db, store, backoff_ms);
    }
    assert_int_equal(parked, 1);
}

/* ---- Suspects ----------------------------------------------------------- */

#define SUSPECTS 8
#define SUSPECT_TAKEOVERS 3
#define MANY_TAKEOVERS 100
#define OTHERS 40

/* Engines have them, with whatever else, and die in turn. */
static void
take_over(cascade_store *store, size_t count, unsigned char times)
{
    const char *queue = "default";

    for (unsigned char i = 1; i <= times; i++) {
        cascade_incarnation dead = {.engine_id = {{i}},
                                    .host = "another",
                                    .lease_ms = 60000,
                                    .lane_count = 1};
        cascade_claim claim = {.engine_id = dead.engine_id,
                               .queues = &queue,
                               .queue_count = 1,
                               .limit = count,
                               .suspect_from = INT32_MAX};
        cascade_claimed claimed[SUSPECTS];
        cascade_claim_result result = {0};
        size_t got_free = 0;

        assert_ok(store->driver->attach(store->self, &dead));
        assert_ok(store->driver->claim(store->self, &claim, claimed, &result));
        assert_int_equal(result.count, count);
        assert_ok(store->driver->remove(store->self, &dead.engine_id, 1, 100,
                                        &got_free));
        assert_int_equal(got_free, count);
    }
}

/* As often as it takes to make suspects of them. */
static void
make_suspects(cascade_store *store, size_t count)
{
    take_over(store, count, SUSPECT_TAKEOVERS);
}

typedef struct counts {
    int others;
    int others_before; /* the suspect */
} counts;

static cascade_err
count_other(cascade_node *node, void *user)
{
    (void)node;
    ((counts *)user)->others++;
    return CASCADE_OK;
}

static cascade_err
note_others(cascade_node *node, void *user)
{
    counts *c = user;

    (void)node;
    c->others_before = c->others;
    return CASCADE_OK;
}

static cascade_engine *
suspect_engine(test_db *db, cascade_store *store, counts *c)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .capacity = 4,
                                      .lease_ms = 2 * HOUR_MS,
                                      .poll_interval_ms = HOUR_MS};
    cascade_engine *engine = db_engine(db, store, &options);

    assert_ok(cascade_engine_register(engine, "suspect", note_others, c, NULL));
    assert_ok(cascade_engine_register(engine, "other", count_other, c, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

/* Each alone, but none waits for a poll. */
static void
suspects_follow_one_another_at_once(test_db *db)
{
    counts c = {0};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_uuid ids[SUSPECTS];
    db_ends ends = {NULL, ids, SUSPECTS, 0};
    int64_t took_ms = 0;

    db->fake_time = db->backend->virtual_time;
    store = db_store(db);
    ends.store = store;
    for (size_t i = 0; i < SUSPECTS; i++)
        ids[i] = db_start(store, "suspect");
    make_suspects(store, SUSPECTS);
    took_ms = store_now(store);
    engine = suspect_engine(db, store, &c);
    assert_true(db_poll_until(db, &engine, 1, db_all_ended, &ends));
    took_ms = store_now(store) - took_ms;
    assert_true(took_ms < HOUR_MS);
}

/* Not one of them died in trial: nothing is to blame, however many they were.
 */
static void
takeovers_poison_nobody(test_db *db)
{
    counts c = {0, 0};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_uuid ids[SUSPECTS];
    db_ends ends = {NULL, ids, SUSPECTS, 0};

    db->fake_time = db->backend->virtual_time;
    store = db_store(db);
    ends.store = store;
    for (size_t i = 0; i < SUSPECTS; i++)
        ids[i] = db_start(store, "suspect");
    take_over(store, SUSPECTS, MANY_TAKEOVERS);
    engine = suspect_engine(db, store, &c);
    assert_true(db_poll_until(db, &engine, 1, db_all_ended, &ends));
    for (size_t i = 0; i < SUSPECTS; i++)
        db_await(store, &ids[i], CASCADE_COMPLETED);
}

static bool
is_one_held(void *context)
{
    return db_stats(context).held == 1;
}

typedef struct calling {
    cascade_store *caller;
    wrap_store wrap; /* the engine's */
    size_t waits;    /* that it is to have begun */
} calling;

/* Calls all engines until this one has looked for what there is. */
static bool
have_called(void *context)
{
    calling *c = context;

    if (wrap_store_count(&c->wrap, WRAP_WAIT) >= c->waits)
        return true;
    assert_ok(c->caller->driver->wake(c->caller->self));
    return false;
}

/* Who is called while a suspect is held can ask for no other, and must not take
 * that for an answer: the next one would come after six leases. */
static void
suspects_follow_one_another_though_others_call(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_LOOP,
                                      .lease_ms = HOUR_MS,
                                      .poll_interval_ms = HOUR_MS};
    calling c = {.caller = db_store(db)};
    cascade_uuid ids[SUSPECTS];
    db_ends ends = {c.caller, ids, SUSPECTS, 0};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;

    for (size_t i = 0; i < SUSPECTS; i++)
        ids[i] = db_start(c.caller, "suspect");
    make_suspects(c.caller, SUSPECTS);
    assert_int_equal(wrap_store_init(&c.wrap, db->url), 0);
    store = db_wrapped(db, &c.wrap);
    engine = db_engine(db, store, &options);
    assert_ok(
        cascade_engine_register(engine, "suspect", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    assert_true(stores_until(is_one_held, engine));
    c.waits = wrap_store_count(&c.wrap, WRAP_WAIT) + 2;
    assert_true(stores_until(have_called, &c));
    assert_true(db_poll_until(db, &engine, 1, db_all_ended, &ends));
    db_close_engine(db, engine);
    db_close_store(db, store);
    wrap_store_fini(&c.wrap);
}

/* It is asked for first: there are always others. */
static void
a_suspect_is_claimed_though_others_wait(test_db *db)
{
    counts c = {.others_before = -1};
    cascade_store *store = db_store(db);
    cascade_engine *engine = NULL;
    cascade_uuid ids[OTHERS + 1];
    db_ends ends = {store, ids, OTHERS + 1, 0};

    ids[OTHERS] = db_start(store, "suspect");
    make_suspects(store, 1);
    for (size_t i = 0; i < OTHERS; i++)
        ids[i] = db_start(store, "other");
    engine = suspect_engine(db, store, &c);
    assert_true(db_poll_until(db, &engine, 1, db_all_ended, &ends));
    assert_int_equal(c.others, OTHERS);
    assert_true(c.others_before >= 0 && c.others_before < OTHERS / 2);
}

/* ---- Loaded anew -------------------------------------------------------- */

typedef struct expelled {
    wrap_store wrap;
    cascade_engine *engine;
    atomic_int inside; /* executions of the slow node now */
    atomic_int calls;
    sem_t entered;
    sem_t leave;
} expelled;

static cascade_err
be_slow(cascade_node *node, void *user)
{
    expelled *x = user;

    (void)node;
    expect(atomic_fetch_add(&x->inside, 1) == 0);
    if (atomic_fetch_add(&x->calls, 1) == 0) {
        sem_post(&x->entered);
        stores_await(&x->leave);
    }
    atomic_fetch_sub(&x->inside, 1);
    return CASCADE_OK;
}

/* When the other is in its node. */
static cascade_err
end_after(cascade_node *node, void *user)
{
    expelled *x = user;

    (void)node;
    stores_await(&x->entered);
    return CASCADE_OK;
}

/* What execution 0 has to record is refused, but not its failure. */
static cascade_err
refuse_first(void *context, const wrap_call *call)
{
    (void)context;
    if (call->move != WRAP_COMMIT)
        return CASCADE_OK;
    for (size_t i = 0; i < call->batch->change_count; i++) {
        const cascade_change *change = &call->batch->changes[i];

        for (size_t k = 0; k < change->update_count; k++)
            if (change->updates[k].function_id == 0 &&
                change->updates[k].status == CASCADE_EXECUTION_COMPLETED)
                return CASCADE_ERR_REFUSED;
    }
    return CASCADE_OK;
}

static bool
has_refused(void *context)
{
    return db_stats(context).refusals > 0;
}

static expelled *
expelled_create(test_db *db)
{
    cascade_node_options node = {.size = sizeof(node),
                                 .final_failure = CASCADE_FINAL_CONTINUE};
    expelled *x = calloc(1, sizeof(*x));

    assert_non_null(x);
    assert_int_equal(wrap_store_init(&x->wrap, db->url), 0);
    sem_init(&x->entered, 0, 0);
    sem_init(&x->leave, 0, 0);
    x->wrap.before = refuse_first;
    x->engine = db_engine(db, db_wrapped(db, &x->wrap), NULL);
    assert_ok(
        cascade_engine_register(x->engine, "refused", end_after, x, &node));
    assert_ok(cascade_engine_register(x->engine, "slow", be_slow, x, NULL));
    assert_ok(cascade_engine_start(x->engine));
    return x;
}

/* The cascade is loaded anew when its last execution has left its function, and
 * goes on as the node that was refused says. */
static void
what_is_loaded_anew_runs_nothing_twice_at_a_time(test_db *db)
{
    cascade_first first[2] = {{.size = sizeof(first[0]), .node = "refused"},
                              {.size = sizeof(first[0]), .node = "slow"}};
    cascade_start_spec spec = {
        .size = sizeof(spec), .first = first, .first_count = 2};
    expelled *x = expelled_create(db);
    cascade_store *store = db->stores[0];
    cascade_snapshot *snapshot = NULL;
    cascade_started started;

    assert_ok(cascade_start_many(store, &spec, 1, &started));
    assert_true(stores_until(has_refused, x->engine));
    db_pass_rounds(store, &x->wrap);
    assert_int_equal(atomic_load(&x->calls), 1);
    sem_post(&x->leave);
    db_await(store, &started.id, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&x->calls), 2);
    assert_ok(cascade_snapshot_load(store, &started.id, NULL, &snapshot));
    assert_int_equal(
        cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 0)->status,
        CASCADE_EXECUTION_FAILED);
    cascade_snapshot_free(snapshot);
    db_close_engine(db, x->engine);
    db_close_store(db, store);
    wrap_store_fini(&x->wrap);
    free(x);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_one_engine_did_not_know_does_not_bind_the_next",
         what_one_engine_did_not_know_does_not_bind_the_next, STORES_ALL},
        {"nothing_begins_in_a_cascade_that_is_given_up",
         nothing_begins_in_a_cascade_that_is_given_up, STORES_VIRTUAL},
        {"the_execution_that_kills_is_the_one_poisoned",
         the_execution_that_kills_is_the_one_poisoned, STORES_VIRTUAL},
        {"a_parked_cascade_wakes_on_time", a_parked_cascade_wakes_on_time,
         STORES_ALL},
        {"takeovers_poison_nobody", takeovers_poison_nobody, STORES_ALL},
        {"suspects_follow_one_another_at_once",
         suspects_follow_one_another_at_once, STORES_ALL},
        {"suspects_follow_one_another_though_others_call",
         suspects_follow_one_another_though_others_call, STORES_ALL},
        {"a_suspect_is_claimed_though_others_wait",
         a_suspect_is_claimed_though_others_wait, STORES_ALL},
        {"what_is_loaded_anew_runs_nothing_twice_at_a_time",
         what_is_loaded_anew_runs_nothing_twice_at_a_time, STORES_ALL},
    };

    return stores_run("handover", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
