/* SPDX-License-Identifier: MIT
 *
 * Incarnations: leases, removal, and what becomes of their runs.
 */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "store/conformance/conformance.h"

/* ---- Helpers ------------------------------------------------------------ */

#define ENGINES_MAX 16

typedef struct engine_rows {
    cascade_incarnation rows[ENGINES_MAX];
    char hosts[ENGINES_MAX][CASCADE_HOST_MAX + 1];
    size_t count;
} engine_rows;

static cascade_err
keep_engine(void *context, const cascade_incarnation *row)
{
    engine_rows *kept = context;

    assert_true(kept->count < ENGINES_MAX);
    kept->rows[kept->count] = *row;
    strncpy(kept->hosts[kept->count], row->host, CASCADE_HOST_MAX);
    kept->count++;
    return CASCADE_OK;
}

static void
read_engines(conformance_db *db, engine_rows *kept)
{
    memset(kept, 0, sizeof(*kept));
    assert_ok(db->driver->engines(db->self, keep_engine, kept, NULL));
}

static bool
is_there(conformance_db *db, cascade_uuid engine)
{
    engine_rows kept;

    read_engines(db, &kept);
    for (size_t i = 0; i < kept.count; i++) {
        if (csc_uuid_equal(&kept.rows[i].engine_id, &engine))
            return true;
    }
    return false;
}

typedef struct run_rows {
    cascade_run_row rows[100];
    size_t count;
} run_rows;

static cascade_err
keep_run(void *context, const cascade_row *row, const cascade_run_row *run)
{
    run_rows *kept = context;

    (void)row;
    assert_non_null(run);
    kept->rows[kept->count] = *run;
    kept->rows[kept->count].queue = NULL;
    kept->rows[kept->count++].needs = NULL;
    return CASCADE_OK;
}

/* All runs, without their texts. */
static void
read_runs(conformance_db *db, run_rows *kept)
{
    cascade_query query = {.limit = 100};

    kept->count = 0;
    assert_ok(db->driver->list(db->self, &query, keep_run, kept));
}

/* Starts `count` cascades that `engine` owns, with its batch 1. */
static void
own_many(conformance_db *db, cascade_uuid engine, size_t count)
{
    cascade_change *starts[100];

    assert_true(count <= 100);
    for (size_t i = 0; i < count; i++)
        starts[i] = rows_start_owned(&db->rows, rows_id(&db->rows), engine);
    assert_ok(db_commit(db, engine, 0, 1, starts, count, NULL));
}

static size_t
remove_engines(conformance_db *db, const cascade_uuid *dead, size_t dead_count,
               size_t limit)
{
    size_t freed = 9999;

    assert_ok(db_remove(db->handles[0], dead, dead_count, limit, &freed));
    return freed;
}

/* ---- Attach, renew, engines --------------------------------------------- */

/* attach: the row is listed as given, with what is left of the lease. */
static void
an_incarnation_is_listed_as_attached(void **state)
{
    conformance_db *db = *state;
    cascade_incarnation row = rows_incarnation(&db->rows, 1, DB_LONG_LEASE_MS);
    char host[CASCADE_HOST_MAX + 1];
    engine_rows kept;

    memset(host, 'h', CASCADE_HOST_MAX);
    host[CASCADE_HOST_MAX] = '\0';
    row.host = host;
    row.pid = INT64_C(4194304);
    row.process_start = INT64_MAX;
    assert_ok(db->driver->attach(db->self, &row));
    read_engines(db, &kept);
    assert_int_equal(kept.count, 1);
    assert_true(csc_uuid_equal(&kept.rows[0].engine_id, &row.engine_id));
    assert_string_equal(kept.hosts[0], host);
    assert_int_equal(kept.rows[0].pid, row.pid);
    assert_int_equal(kept.rows[0].process_start, row.process_start);
    assert_int_equal(kept.rows[0].lane_count, 1);
    assert_true(kept.rows[0].lease_ms > DB_LONG_LEASE_MS / 2);
    assert_true(kept.rows[0].lease_ms <= DB_LONG_LEASE_MS);
}

/* attach: repeating it (its answer was lost) is OK and resets no lane. */
static void
a_repeated_attach_is_good(void **state)
{
    conformance_db *db = *state;
    cascade_incarnation row = rows_incarnation(&db->rows, 1, DB_LONG_LEASE_MS);
    cascade_change *start;
    engine_rows kept;

    assert_ok(db->driver->attach(db->self, &row));
    start = rows_start_owned(&db->rows, rows_id(&db->rows), row.engine_id);
    assert_ok(db_commit_one(db, row.engine_id, 1, start));
    assert_ok(db->driver->attach(db->self, &row));
    read_engines(db, &kept);
    assert_int_equal(kept.count, 1);
    assert_ok(db_commit_one(db, row.engine_id, 2,
                            rows_write(&db->rows, start->cascade.id, 0)));
}

/* engines: what is left goes down and below zero; renew brings it back. */
static void
a_lease_runs_down_and_is_renewed(void **state)
{
    conformance_db *db = *state;
    int64_t lease_ms = db_short_lease_ms(db);
    cascade_uuid engine = db_attach(db, 1, lease_ms);
    engine_rows kept;

    db_advance(db, 2 * lease_ms);
    read_engines(db, &kept);
    assert_int_equal(kept.count, 1);
    assert_true(kept.rows[0].lease_ms <= 0);
    assert_ok(db->driver->renew(db->self, &engine, DB_LONG_LEASE_MS, NULL));
    read_engines(db, &kept);
    assert_true(kept.rows[0].lease_ms > DB_LONG_LEASE_MS / 2);
    assert_true(kept.rows[0].lease_ms <= DB_LONG_LEASE_MS);
}

/* renew never inserts: S4. */
static void
a_renewal_of_nobody_is_fenced(void **state)
{
    conformance_db *db = *state;
    cascade_uuid nobody = rows_id(&db->rows);

    assert_fails(CASCADE_ERR_FENCED,
                 db->driver->renew(db->self, &nobody, 1000, NULL));
    assert_false(is_there(db, nobody));
}

/* renew: it tells the store's time of that moment. S16: it tells nothing when
 * the incarnation is gone. */
static void
a_renewal_tells_the_time(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid nobody = rows_id(&db->rows);

    for (int i = 0; i < 3; i++) {
        int64_t before_ms = db_now(db);
        int64_t now_ms = -1;

        assert_ok(
            db->driver->renew(db->self, &engine, DB_LONG_LEASE_MS, &now_ms));
        assert_in_range(now_ms, before_ms, db_now(db));
        now_ms = -1;
        assert_fails(CASCADE_ERR_FENCED,
                     db->driver->renew(db->self, &nobody, 1000, &now_ms));
        assert_int_equal(now_ms, -1);
        db_advance(db, 20);
    }
}

/* ---- S10 ---------------------------------------------------------------- */

/* S10, G5: a live lease is not removed, nor are its runs freed. */
static void
a_live_lease_is_not_removed(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    char *picture;

    own_many(db, engine, 10);
    picture = db_picture(db);
    assert_int_equal(remove_engines(db, NULL, 0, 100), 0);
    db_assert_unchanged(db, picture);
}

/* S10, G6: an expired one is removed by whoever asks, with nobody's leave. */
static void
an_expired_lease_is_removed(void **state)
{
    conformance_db *db = *state;
    int64_t lease_ms = db_short_lease_ms(db);
    cascade_uuid live = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid dead = db_attach(db, 1, lease_ms);

    own_many(db, live, 3);
    own_many(db, dead, 4);
    db_advance(db, 2 * lease_ms);
    assert_int_equal(remove_engines(db, NULL, 0, 100), 4);
    assert_true(is_there(db, live));
    assert_false(is_there(db, dead));
    assert_fails(CASCADE_ERR_FENCED, db_commit(db, dead, 0, 2, NULL, 0, NULL));
    assert_ok(db_commit(db, live, 0, 2, NULL, 0, NULL));
}

/* S10, G6: where time can be moved: to the millisecond. */
static void
a_lease_lasts_its_time(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine;

    if (!db->backend->virtual_time)
        return;
    engine = db_attach(db, 1, 10000);
    for (int i = 0; i < 3; i++) {
        db_advance(db, 9999);
        remove_engines(db, NULL, 0, 100);
        assert_true(is_there(db, engine));
        assert_ok(db->driver->renew(db->self, &engine, 10000, NULL));
    }
    db_advance(db, 10000);
    remove_engines(db, NULL, 0, 100);
    assert_false(is_there(db, engine));
}

/* S10, TIME: a wall clock that jumps ends no lease and keeps none alive. */
static void
a_jump_of_the_wall_clock_ends_no_lease(void **state)
{
    static const int64_t jumps_ms[] = {INT64_C(86400000), INT64_C(-172800000)};
    conformance_db *db = *state;
    int64_t wall_ms = db_now(db);
    cascade_uuid engine;

    if (!db->backend->virtual_time)
        return;
    engine = db_attach(db, 1, 10000);
    for (int i = 0; i < 2; i++) {
        fake_clock_set_wall(&db->clock, wall_ms + jumps_ms[i]);
        remove_engines(db, NULL, 0, 100);
        assert_true(is_there(db, engine));
    }
    fake_clock_advance(&db->clock, 10000);
    fake_clock_set_wall(&db->clock, wall_ms - INT64_C(86400000));
    remove_engines(db, NULL, 0, 100);
    assert_false(is_there(db, engine));
}

/* S10: one named dead is removed whatever its lease; unknown names and the
 * same name twice are no error. */
static void
who_is_named_dead_is_removed(void **state)
{
    conformance_db *db = *state;
    cascade_uuid live = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid dead[4] = {db_attach(db, 1, DB_LONG_LEASE_MS),
                            rows_id(&db->rows)};

    dead[2] = dead[0];
    dead[3] = db_attach(db, 1, DB_LONG_LEASE_MS);
    own_many(db, live, 3);
    own_many(db, dead[0], 2);
    own_many(db, dead[3], 5);
    assert_int_equal(remove_engines(db, dead, 4, 100), 7);
    assert_true(is_there(db, live));
    assert_false(is_there(db, dead[0]));
    assert_false(is_there(db, dead[3]));
}

/* S10: a renewal before the removal wins. */
static void
a_renewed_lease_is_not_removed(void **state)
{
    conformance_db *db = *state;
    int64_t lease_ms = db_short_lease_ms(db);
    cascade_uuid engine = db_attach(db, 1, lease_ms);

    own_many(db, engine, 2);
    db_advance(db, 2 * lease_ms);
    assert_ok(db->driver->renew(db->self, &engine, DB_LONG_LEASE_MS, NULL));
    assert_int_equal(remove_engines(db, NULL, 0, 100), 0);
    assert_true(is_there(db, engine));
}

typedef struct racer_state {
    pthread_t thread;
    cascade_store *store;
    cascade_uuid engine;
    pthread_barrier_t *barrier;
    cascade_err err;
} racer_state;

static void *
renew_one(void *context)
{
    racer_state *it = context;

    pthread_barrier_wait(it->barrier);
    it->err = it->store->driver->renew(it->store->self, &it->engine,
                                       DB_LONG_LEASE_MS, NULL);
    return NULL;
}

/* S10: renewal and removal at the same moment: either the renewal was first and
 * the incarnation lives with its runs, or the removal was and it is gone. */
static void
a_renewal_and_a_removal_race_with_one_winner(void **state)
{
    conformance_db *db = *state;
    int64_t lease_ms = db_short_lease_ms(db);
    int rounds = db->backend->virtual_time ? 100 : 15;
    racer_state racer = {.store = db_open(db)};
    pthread_barrier_t barrier;

    pthread_barrier_init(&barrier, NULL, 2);
    racer.barrier = &barrier;
    for (int round = 0; round < rounds; round++) {
        size_t freed;
        bool there;

        racer.engine = db_attach(db, 1, lease_ms);
        own_many(db, racer.engine, 2);
        db_advance(db, 2 * lease_ms);
        assert_int_equal(
            0, pthread_create(&racer.thread, NULL, renew_one, &racer));
        pthread_barrier_wait(&barrier);
        freed = remove_engines(db, NULL, 0, 100);
        pthread_join(racer.thread, NULL);
        there = is_there(db, racer.engine);
        assert_int_equal(racer.err, there ? CASCADE_OK : CASCADE_ERR_FENCED);
        assert_int_equal(freed, there ? 0 : 2);
        assert_ok(db->driver->detach(db->self, &racer.engine));
    }
    pthread_barrier_destroy(&barrier);
}

/* ---- S11 ---------------------------------------------------------------- */

/* S11, G6: freed in portions, each run once, with one takeover more. */
static void
orphans_become_free_in_portions(void **state)
{
    conformance_db *db = *state;
    cascade_uuid dead[2] = {db_attach(db, 1, DB_LONG_LEASE_MS),
                            db_attach(db, 1, DB_LONG_LEASE_MS)};
    int64_t before_ms;
    size_t free_count = 0;
    run_rows runs;

    own_many(db, dead[0], 12);
    own_many(db, dead[1], 13);
    db_advance(db, 10);
    before_ms = db_now(db);
    assert_int_equal(remove_engines(db, dead, 2, 10), 10);
    assert_false(is_there(db, dead[0]));
    assert_false(is_there(db, dead[1]));
    read_runs(db, &runs);
    for (size_t i = 0; i < runs.count; i++)
        free_count += csc_uuid_is_nil(&runs.rows[i].engine_id);
    assert_int_equal(free_count, 10);
    assert_int_equal(remove_engines(db, NULL, 0, 10), 10);
    assert_int_equal(remove_engines(db, NULL, 0, 10), 5);
    assert_int_equal(remove_engines(db, NULL, 0, 10), 0);
    read_runs(db, &runs);
    assert_int_equal(runs.count, 25);
    for (size_t i = 0; i < runs.count; i++) {
        assert_true(csc_uuid_is_nil(&runs.rows[i].engine_id));
        assert_int_equal(runs.rows[i].takeovers, 1);
        assert_int_equal(runs.rows[i].claim_no, 1);
        assert_true(runs.rows[i].wake_at_ms >= before_ms);
        assert_true(runs.rows[i].wake_at_ms <= db_now(db));
    }
}

static bool
has_orphans(conformance_db *db, bool wrong)
{
    engine_rows kept = {.count = 0};
    bool orphans = wrong;

    assert_ok(db->driver->engines(db->self, keep_engine, &kept, &orphans));
    assert_int_equal(kept.count > 0, true);
    return orphans;
}

/* S11: as long as runs of a removed incarnation are not free, engines says so.
 */
static void
runs_left_behind_are_told(void **state)
{
    conformance_db *db = *state;
    cascade_uuid live = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid dead = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid id;

    assert_false(has_orphans(db, true));
    db_start_many(db, &id, 1);
    own_many(db, live, 1);
    own_many(db, dead, 2);
    assert_false(has_orphans(db, true));
    assert_int_equal(remove_engines(db, &dead, 1, 1), 1);
    assert_true(has_orphans(db, false));
    assert_int_equal(remove_engines(db, NULL, 0, 1), 1);
    assert_false(has_orphans(db, true));
}

/* S11, S8: until it is freed an orphan is nobody's to claim; then it is. */
static void
an_orphan_is_claimed_once_it_is_free(void **state)
{
    conformance_db *db = *state;
    cascade_uuid dead = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid next = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};

    own_many(db, dead, 5);
    assert_int_equal(remove_engines(db, &dead, 1, 2), 2);
    assert_ok(db_claim(db, next, "default", 10, claimed, &result));
    assert_int_equal(result.count, 2);
    assert_int_equal(claimed[0].takeovers, 1);
    assert_int_equal(claimed[0].claim_no, 2);
    assert_int_equal(remove_engines(db, NULL, 0, 100), 3);
    assert_ok(db_claim(db, next, "default", 10, claimed, &result));
    assert_int_equal(result.count, 3);
    assert_int_equal(remove_engines(db, NULL, 0, 100), 0);
}

/* S11: detach frees the runs with takeovers unchanged, due at once. */
static void
detach_frees_the_runs(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid other = db_attach(db, 1, DB_LONG_LEASE_MS);
    int64_t before_ms;
    run_rows runs;
    cascade_claimed claimed[30];
    cascade_claim_result result = {0};

    own_many(db, engine, 25);
    db_advance(db, 10);
    before_ms = db_now(db);
    assert_ok(db->driver->detach(db->self, &engine));
    assert_false(is_there(db, engine));
    assert_true(is_there(db, other));
    read_runs(db, &runs);
    assert_int_equal(runs.count, 25);
    for (size_t i = 0; i < runs.count; i++) {
        assert_true(csc_uuid_is_nil(&runs.rows[i].engine_id));
        assert_int_equal(runs.rows[i].takeovers, 0);
        assert_true(runs.rows[i].wake_at_ms >= before_ms);
        assert_true(runs.rows[i].wake_at_ms <= db_now(db));
    }
    assert_ok(db_claim(db, other, "default", 30, claimed, &result));
    assert_int_equal(result.count, 25);
}

/* S11: a parked run stays as it is when the one that parked it goes. */
static void
free_runs_are_not_touched_by_a_removal(void **state)
{
    conformance_db *db = *state;
    cascade_uuid dead = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid id = rows_id(&db->rows);
    cascade_change *write = rows_write(&db->rows, id, 0);
    run_rows runs;

    assert_ok(
        db_commit_one(db, dead, 1, rows_start_owned(&db->rows, id, dead)));
    write->run_action = CASCADE_RUN_FREE;
    write->run.wake_at_ms = db->rows.now_ms + 500000;
    assert_ok(db_commit_one(db, dead, 2, write));
    assert_int_equal(remove_engines(db, &dead, 1, 10), 0);
    read_runs(db, &runs);
    assert_int_equal(runs.rows[0].wake_at_ms, db->rows.now_ms + 500000);
    assert_int_equal(runs.rows[0].takeovers, 0);
}

/* S11: a run started for an incarnation that is not there is an orphan. */
static void
a_run_of_nobody_is_an_orphan(void **state)
{
    conformance_db *db = *state;
    cascade_uuid nobody = rows_id(&db->rows);
    run_rows runs;

    assert_ok(db_submit_one(
        db, rows_start_owned(&db->rows, rows_id(&db->rows), nobody)));
    assert_int_equal(remove_engines(db, NULL, 0, 10), 1);
    read_runs(db, &runs);
    assert_true(csc_uuid_is_nil(&runs.rows[0].engine_id));
}

/* OWNERSHIP: a run whose engine_id is an incarnation is owned by it, also when
 * that was removed and attached again before the run was freed. Its lanes begin
 * anew. */
static void
an_incarnation_that_comes_back_has_its_runs(void **state)
{
    conformance_db *db = *state;
    cascade_incarnation row = rows_incarnation(&db->rows, 1, DB_LONG_LEASE_MS);
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};

    assert_ok(db->driver->attach(db->self, &row));
    own_many(db, row.engine_id, 5);
    assert_int_equal(remove_engines(db, &row.engine_id, 1, 2), 2);
    assert_ok(db->driver->attach(db->self, &row));
    assert_int_equal(remove_engines(db, NULL, 0, 10), 0);
    assert_fails(CASCADE_ERR_LOST,
                 db_commit(db, row.engine_id, 0, 2, NULL, 0, NULL));
    assert_ok(db->driver->detach(db->self, &row.engine_id));
    row = rows_incarnation(&db->rows, 1, DB_LONG_LEASE_MS);
    assert_ok(db->driver->attach(db->self, &row));
    assert_ok(db_claim(db, row.engine_id, "default", 10, claimed, &result));
    assert_int_equal(result.count, 5);
}

static void *
remove_all(void *context)
{
    racer_state *it = context;
    size_t freed = 1;

    pthread_barrier_wait(it->barrier);
    while (freed > 0 && it->err == CASCADE_OK)
        it->err = db_remove(it->store, &it->engine, 1, 7, &freed);
    return NULL;
}

/* S11, G5: removers at once free each run once. */
static void
removers_at_once_free_each_run_once(void **state)
{
    conformance_db *db = *state;
    cascade_uuid dead = db_attach(db, 1, DB_LONG_LEASE_MS);
    racer_state racers[3];
    pthread_barrier_t barrier;
    run_rows runs;

    pthread_barrier_init(&barrier, NULL, 3);
    own_many(db, dead, 100);
    for (int i = 0; i < 3; i++) {
        racers[i] = (racer_state){.store = db_open(db), .engine = dead};
        racers[i].barrier = &barrier;
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            0, pthread_create(&racers[i].thread, NULL, remove_all, &racers[i]));
    for (int i = 0; i < 3; i++) {
        pthread_join(racers[i].thread, NULL);
        assert_int_equal(racers[i].err, CASCADE_OK);
    }
    remove_engines(db, NULL, 0, 1000);
    read_runs(db, &runs);
    assert_int_equal(runs.count, 100);
    for (size_t i = 0; i < runs.count; i++) {
        assert_true(csc_uuid_is_nil(&runs.rows[i].engine_id));
        assert_int_equal(runs.rows[i].takeovers, 1);
    }
    pthread_barrier_destroy(&barrier);
}

conformance_group
conformance_engines(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_incarnation_is_listed_as_attached),
        cmocka_unit_test(a_repeated_attach_is_good),
        cmocka_unit_test(a_lease_runs_down_and_is_renewed),
        cmocka_unit_test(a_renewal_of_nobody_is_fenced),
        cmocka_unit_test(a_renewal_tells_the_time),
        cmocka_unit_test(a_live_lease_is_not_removed),
        cmocka_unit_test(an_expired_lease_is_removed),
        cmocka_unit_test(a_lease_lasts_its_time),
        cmocka_unit_test(a_jump_of_the_wall_clock_ends_no_lease),
        cmocka_unit_test(who_is_named_dead_is_removed),
        cmocka_unit_test(a_renewed_lease_is_not_removed),
        cmocka_unit_test(a_renewal_and_a_removal_race_with_one_winner),
        cmocka_unit_test(orphans_become_free_in_portions),
        cmocka_unit_test(runs_left_behind_are_told),
        cmocka_unit_test(an_orphan_is_claimed_once_it_is_free),
        cmocka_unit_test(detach_frees_the_runs),
        cmocka_unit_test(free_runs_are_not_touched_by_a_removal),
        cmocka_unit_test(a_run_of_nobody_is_an_orphan),
        cmocka_unit_test(an_incarnation_that_comes_back_has_its_runs),
        cmocka_unit_test(removers_at_once_free_each_run_once),
    };

    return (conformance_group){"engines", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
