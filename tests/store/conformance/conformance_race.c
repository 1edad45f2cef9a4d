/* SPDX-License-Identifier: MIT
 *
 * Moves at the same time, from several handles: tries of one batch, starts of
 * one cascade, commits beside removals, and a storm of small engines that die.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "store/conformance/conformance.h"
#include "support/in_time.h"

/* ---- Two tries of one batch --------------------------------------------- */

typedef struct committer_state {
    pthread_t thread;
    cascade_store *store;
    pthread_barrier_t *barrier;
    const cascade_batch *batch;
    bool existed[64];
    cascade_err err;
    char text[256];
} committer_state;

static void *
commit_once(void *context)
{
    committer_state *it = context;

    pthread_barrier_wait(it->barrier);
    it->err =
        it->store->driver->commit(it->store->self, it->batch, it->existed);
    strncpy(it->text, cascade_errmsg(), sizeof(it->text) - 1);
    return NULL;
}

static void
run_committers(committer_state *committers, unsigned count)
{
    pthread_barrier_t barrier;

    pthread_barrier_init(&barrier, NULL, count);
    for (unsigned i = 0; i < count; i++) {
        committers[i].barrier = &barrier;
        assert_int_equal(0, pthread_create(&committers[i].thread, NULL,
                                           commit_once, &committers[i]));
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(committers[i].thread, NULL);
    pthread_barrier_destroy(&barrier);
}

/* S3, G12: a try beside a try (a lost reply, repeated at once) waits for it and
 * finds that it took effect; three at a time, twenty times. */
static void
tries_of_one_batch_at_once_take_effect_once(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid id = rows_id(&db->rows);
    cascade_batch batch = {.engine_id = engine, .change_count = 2};
    committer_state committers[3];
    cascade_change *changes[2];
    char *dump;

    assert_ok(
        db_commit_one(db, engine, 1, rows_start_owned(&db->rows, id, engine)));
    for (int i = 0; i < 3; i++)
        committers[i] = (committer_state){
            .store = i == 0 ? db->handles[0] : db_open(db), .batch = &batch};
    for (int32_t round = 1; round <= 20; round++) {
        changes[0] = rows_write(&db->rows, id, round);
        rows_update(&db->rows, changes[0], round - 1, "{}");
        rows_insert(&db->rows, changes[0], round, "node");
        rows_event(&db->rows, changes[0], round - 1, "once", "1");
        changes[1] = rows_start(&db->rows, rows_id(&db->rows));
        batch.changes = rows_changes(&db->rows, changes, 2);
        batch.number = round + 1;
        run_committers(committers, 3);
        for (int i = 0; i < 3; i++) {
            if (committers[i].err != CASCADE_OK)
                fail_msg("%s: %s", cascade_err_name(committers[i].err),
                         committers[i].text);
            assert_false(committers[i].existed[0]);
            assert_false(committers[i].existed[1]);
        }
    }
    dump = db_dump(db->handles[0], 0);
    for (int i = 0; i < 20; i++) {
        char *at = strstr(dump, "<4:once>");

        assert_non_null(at);
        *at = '!';
    }
    assert_null(strstr(dump, "<4:once>"));
    csc_mem_free(dump);
}

/* ---- Starts of the same cascades ---------------------------------------- */

#define STARTERS 6
#define STARTED 40

typedef struct starter_state {
    pthread_t thread;
    cascade_store *store;
    pthread_barrier_t *barrier;
    const cascade_change *starts;
    bool existed[STARTED];
    cascade_err err;
    char text[256];
} starter_state;

static void *
submit_once(void *context)
{
    starter_state *it = context;

    pthread_barrier_wait(it->barrier);
    it->err = rows_submit(it->store->driver, it->store->self, it->starts,
                          STARTED, it->existed);
    strncpy(it->text, cascade_errmsg(), sizeof(it->text) - 1);
    return NULL;
}

static void
check_starters(const starter_state *starters)
{
    for (int k = 0; k < STARTERS; k++) {
        if (starters[k].err != CASCADE_OK)
            fail_msg("%s: %s", cascade_err_name(starters[k].err),
                     starters[k].text);
    }
    for (int i = 0; i < STARTED; i++) {
        int first = 0;

        for (int k = 0; k < STARTERS; k++)
            first += starters[k].existed[i] ? 0 : 1;
        assert_int_equal(first, 1);
    }
}

/* S6, G10: of several who start the same cascades at once, each cascade has
 * exactly one who started it, and the others are told. */
static void
of_starts_at_once_one_is_first(void **state)
{
    conformance_db *db = *state;
    cascade_uuid ids[STARTED];
    starter_state *starters = calloc(STARTERS, sizeof(*starters));
    pthread_barrier_t barrier;

    assert_non_null(starters);
    pthread_barrier_init(&barrier, NULL, STARTERS);
    for (int i = 0; i < STARTED; i++)
        ids[i] = rows_id(&db->rows);
    for (int k = 0; k < STARTERS; k++) {
        cascade_change *starts[STARTED];

        for (int i = 0; i < STARTED; i++)
            starts[i] = rows_start(&db->rows, ids[i]);
        starters[k].starts = rows_changes(&db->rows, starts, STARTED);
        starters[k].barrier = &barrier;
        starters[k].store = k < 3 ? db_open(db) : starters[k - 3].store;
    }
    for (int k = 0; k < STARTERS; k++)
        assert_int_equal(0, pthread_create(&starters[k].thread, NULL,
                                           submit_once, &starters[k]));
    for (int k = 0; k < STARTERS; k++)
        pthread_join(starters[k].thread, NULL);
    check_starters(starters);
    pthread_barrier_destroy(&barrier);
    free(starters);
}

/* ---- Commits beside a removal ------------------------------------------- */

#define BESIDE 60

/* Lets other threads run a while, so that the race has both outcomes. */
static void
spin(size_t rounds)
{
    for (size_t i = 0; i < rounds; i++)
        sched_yield();
}

/* S4, S10, G5: a commit beside the removal of its incarnation took effect whole
 * and before it, or has no effect. */
static void
a_commit_beside_a_removal_is_whole_or_fenced(void **state)
{
    conformance_db *db = *state;
    committer_state it = {.store = db_open(db)};
    int fenced = 0;

    for (int round = 0; round < BESIDE; round++) {
        cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
        cascade_uuid id = rows_id(&db->rows);
        cascade_change *write = rows_write(&db->rows, id, 1);
        cascade_batch batch = {.engine_id = engine,
                               .number = 2,
                               .changes = write,
                               .change_count = 1};
        pthread_barrier_t barrier;
        size_t freed = 0;
        char *dump;

        assert_ok(db_commit_one(db, engine, 1,
                                rows_start_owned(&db->rows, id, engine)));
        rows_update(&db->rows, write, 0, "{}");
        rows_insert(&db->rows, write, 1, rows_text(&db->rows, "n%d", round));
        it.batch = &batch;
        it.barrier = &barrier;
        pthread_barrier_init(&barrier, NULL, 2);
        assert_int_equal(0, pthread_create(&it.thread, NULL, commit_once, &it));
        pthread_barrier_wait(&barrier);
        spin(round % 2 == 0 ? 0 : (size_t)1 << rows_below(&db->rows, 12));
        assert_ok(db_remove(db->handles[0], &engine, 1, 10, &freed));
        pthread_join(it.thread, NULL);
        pthread_barrier_destroy(&barrier);
        assert_true(it.err == CASCADE_OK || it.err == CASCADE_ERR_FENCED);
        assert_int_equal(freed, 1);
        dump = db_picture(db);
        assert_int_equal(strstr(dump, rows_text(&db->rows, ":n%d>", round)) !=
                             NULL,
                         it.err == CASCADE_OK);
        csc_mem_free(dump);
        fenced += it.err == CASCADE_ERR_FENCED;
    }
    print_message("%d of %d commits were fenced\n", fenced, BESIDE);
}

/* ---- A storm ------------------------------------------------------------ */

#define WORKERS 6
#define STORM_CASCADES 400
#define STORM_LENGTH 5  /* executions of a cascade */
#define STORM_MS 600000 /* until we give it up */

typedef struct storm_state {
    conformance_db *db;
    atomic_int ended;
    atomic_size_t turns; /* of workers: claims, with what came of them */
    atomic_int commits;
    atomic_int fenced;
    atomic_int failed;
    pthread_mutex_t mutex;
    char text[256];               /* of the first failure */
    cascade_uuid engine[WORKERS]; /* what each worker now is */
} storm_state;

typedef struct storm_worker {
    pthread_t thread;
    storm_state *storm;
    int number;
    cascade_store *store;
    test_rows rows;
    cascade_uuid engine;
    int64_t batch;
} storm_worker;

static void
note_text(storm_state *storm, const char *what, const char *text)
{
    pthread_mutex_lock(&storm->mutex);
    if (atomic_fetch_add(&storm->failed, 1) == 0)
        snprintf(storm->text, sizeof(storm->text), "%s: %s", what, text);
    pthread_mutex_unlock(&storm->mutex);
}

static void
note_failure(storm_state *storm, cascade_err err)
{
    note_text(storm, cascade_err_name(err), cascade_errmsg());
}

static void
attach_worker(storm_worker *worker)
{
    cascade_incarnation row =
        rows_incarnation(&worker->rows, 1, DB_LONG_LEASE_MS);
    cascade_err err = worker->store->driver->attach(worker->store->self, &row);

    if (err != CASCADE_OK)
        note_failure(worker->storm, err);
    worker->engine = row.engine_id;
    worker->batch = 1;
    pthread_mutex_lock(&worker->storm->mutex);
    worker->storm->engine[worker->number] = row.engine_id;
    pthread_mutex_unlock(&worker->storm->mutex);
}

static cascade_err
note_fn_id(void *context, const cascade_row *row)
{
    *(int32_t *)context = row->fn_id;
    return CASCADE_OK;
}

/* Moves one cascade on by one execution. False: the worker must begin anew. */
static bool
advance_one(storm_worker *worker, const cascade_uuid *id)
{
    int32_t at = -1;
    cascade_load_sink sink = {.context = &at,
                              .on_cascade = note_fn_id,
                              .on_execution = NULL,
                              .on_event = NULL};
    cascade_change *write;
    cascade_batch batch = {.engine_id = worker->engine,
                           .number = worker->batch++,
                           .change_count = 1};
    bool existed;
    cascade_err err =
        worker->store->driver->load(worker->store->self, id, 1, 0, &sink);

    if (err != CASCADE_OK) {
        note_failure(worker->storm, err);
        return false;
    }
    write = rows_write(&worker->rows, *id, at + 1);
    rows_update(&worker->rows, write, at, "{}");
    rows_event(&worker->rows, write, at, "done", "1");
    if (at + 1 < STORM_LENGTH) {
        rows_insert(&worker->rows, write, at + 1, "node");
        write->run_action = rows_below(&worker->rows, 3) == 0
                                ? CASCADE_RUN_FREE
                                : CASCADE_RUN_RESET;
    } else {
        write->cascade.fn_id = at;
        write->cascade.status = CASCADE_COMPLETED;
        write->run_action = CASCADE_RUN_END;
    }
    batch.changes = write;
    err = worker->store->driver->commit(worker->store->self, &batch, &existed);
    sched_yield();
    if (err == CASCADE_OK) {
        atomic_fetch_add(&worker->storm->commits, 1);
        if (write->run_action == CASCADE_RUN_END)
            atomic_fetch_add(&worker->storm->ended, 1);
        return write->run_action == CASCADE_RUN_RESET ? advance_one(worker, id)
                                                      : true;
    }
    if (err == CASCADE_ERR_FENCED)
        atomic_fetch_add(&worker->storm->fenced, 1);
    else
        note_failure(worker->storm, err);
    return false;
}

/* Claims and works until all cascades have ended. Now and then it forgets what
 * it owns, as if its process had died. */
static void *
work(void *context)
{
    storm_worker *worker = context;
    const char *queue = "default";
    cascade_claim claim = {.queues = &queue,
                           .queue_count = 1,
                           .limit = 4,
                           .suspect_from = INT32_MAX};
    cascade_claimed claimed[4];
    cascade_claim_result result = {0};

    attach_worker(worker);
    while (atomic_load(&worker->storm->ended) < STORM_CASCADES &&
           atomic_load(&worker->storm->failed) == 0) {
        bool good = true;
        cascade_err err;

        claim.engine_id = worker->engine;
        result.count = 0;
        err = worker->store->driver->claim(worker->store->self, &claim, claimed,
                                           &result);
        if (err != CASCADE_OK && err != CASCADE_ERR_FENCED)
            note_failure(worker->storm, err);
        good = err == CASCADE_OK;
        for (size_t i = 0; i < result.count && good; i++)
            good = advance_one(worker, &claimed[i].cascade_id) &&
                   rows_below(&worker->rows, 12) != 0;
        if (!good)
            attach_worker(worker);
        rows_clear(&worker->rows);
        atomic_fetch_add(&worker->storm->turns, 1);
    }
    return NULL;
}

/* Removes whoever no worker is any more, and now and then one who is alive. */
typedef struct reaper_state {
    storm_state *storm;
    cascade_uuid dead[256];
    size_t count;
    int victim; /* the worker that is taken for dead, or -1 */
} reaper_state;

static cascade_err
collect_dead(void *context, const cascade_incarnation *row)
{
    reaper_state *it = context;
    bool live = false;

    pthread_mutex_lock(&it->storm->mutex);
    for (int i = 0; i < WORKERS; i++)
        live = live || (i != it->victim &&
                        csc_uuid_equal(&it->storm->engine[i], &row->engine_id));
    pthread_mutex_unlock(&it->storm->mutex);
    if (!live && it->count < 256)
        it->dead[it->count++] = row->engine_id;
    return CASCADE_OK;
}

static void
reap(storm_state *storm)
{
    conformance_db *db = storm->db;
    reaper_state reaper = {.storm = storm, .victim = -1};
    size_t freed;

    if (rows_below(&db->rows, 2) == 0)
        reaper.victim = (int)rows_below(&db->rows, WORKERS);
    assert_ok(db->driver->engines(db->self, collect_dead, &reaper, NULL));
    do {
        assert_ok(
            db_remove(db->handles[0], reaper.dead, reaper.count, 7, &freed));
    } while (freed == 7);
}

/* Until all have ended. Not more often than the workers take turns, or those
 * that are slow would never come to commit. */
static void
reap_beside(storm_state *storm)
{
    size_t turn = 0;
    int64_t end_ms = 0;

    while (atomic_load(&storm->ended) < STORM_CASCADES &&
           atomic_load(&storm->failed) == 0) {
        if (!in_time(&end_ms, STORM_MS))
            note_text(storm, "no end", "some cascades do not come to theirs");
        if (atomic_load(&storm->turns) > turn) {
            turn = atomic_load(&storm->turns);
            reap(storm);
        }
        sched_yield();
    }
}

typedef struct storm_count {
    int cascades;
    int executions;
    int events;
} storm_count;

static cascade_err
check_cascade(void *context, const cascade_row *row)
{
    ((storm_count *)context)->cascades++;
    assert_int_equal(row->status, CASCADE_COMPLETED);
    assert_int_equal(row->fn_id, STORM_LENGTH - 1);
    return CASCADE_OK;
}

static cascade_err
check_execution(void *context, const cascade_execution_row *row)
{
    int at = ((storm_count *)context)->executions++;

    assert_int_equal(row->function_id, at % STORM_LENGTH);
    assert_int_equal(row->status, CASCADE_EXECUTION_COMPLETED);
    return CASCADE_OK;
}

static cascade_err
check_event(void *context, const cascade_event_row *row)
{
    int at = ((storm_count *)context)->events++;

    assert_int_equal(row->function_id, at % STORM_LENGTH);
    return CASCADE_OK;
}

static cascade_err
check_no_run(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)context;
    (void)row;
    assert_null(run);
    return CASCADE_OK;
}

static void
check_storm(const storm_state *storm, const cascade_uuid *ids)
{
    conformance_db *db = storm->db;
    storm_count count = {0, 0, 0};
    cascade_load_sink sink = {.context = &count,
                              .on_cascade = check_cascade,
                              .on_execution = check_execution,
                              .on_event = check_event};
    cascade_query query = {.limit = 1000};

    assert_ok(db->driver->load(db->self, ids, STORM_CASCADES,
                               CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS,
                               &sink));
    assert_int_equal(count.cascades, STORM_CASCADES);
    assert_int_equal(count.executions, STORM_CASCADES * STORM_LENGTH);
    assert_int_equal(count.events, STORM_CASCADES * STORM_LENGTH);
    assert_ok(db->driver->list(db->self, &query, check_no_run, NULL));
    assert_int_equal(atomic_load(&storm->commits),
                     STORM_CASCADES * STORM_LENGTH);
}

/* S2, S4, S5, S7, S9, S10, S11, G2, G3, G5, G6: small engines claim, commit,
 * forget and are removed, also while they live. Every execution is recorded
 * once, in order, and every cascade ends. */
static void
a_storm_of_dying_engines_loses_and_repeats_nothing(void **state)
{
    conformance_db *db = *state;
    storm_state *storm = calloc(1, sizeof(*storm));
    storm_worker workers[WORKERS];
    cascade_uuid ids[STORM_CASCADES];

    assert_non_null(storm);
    storm->db = db;
    pthread_mutex_init(&storm->mutex, NULL);
    db_start_many(db, ids, STORM_CASCADES);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (storm_worker){.storm = storm, .number = i};
        workers[i].store = i < 3 ? db_open(db) : workers[i - 3].store;
        rows_init(&workers[i].rows, rows_random(&db->rows), db->rows.now_ms);
    }
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(
            0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    reap_beside(storm);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        rows_fini(&workers[i].rows);
    }
    if (atomic_load(&storm->failed) > 0)
        fail_msg("%s", storm->text);
    check_storm(storm, ids);
    print_message("%d commits were fenced\n", atomic_load(&storm->fenced));
    pthread_mutex_destroy(&storm->mutex);
    free(storm);
}

conformance_group
conformance_race(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tries_of_one_batch_at_once_take_effect_once),
        cmocka_unit_test(of_starts_at_once_one_is_first),
        cmocka_unit_test(a_commit_beside_a_removal_is_whole_or_fenced),
        cmocka_unit_test(a_storm_of_dying_engines_loses_and_repeats_nothing),
    };

    return (conformance_group){"race", tests, sizeof(tests) / sizeof(tests[0])};
}
