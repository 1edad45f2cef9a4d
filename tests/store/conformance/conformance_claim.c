/* SPDX-License-Identifier: MIT
 *
 * Claims: exclusive, only what was asked for, in order.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "store/conformance/conformance_mail.h"

/* ---- S7 ----------------------------------------------------------------- */

#define CLAIMERS 8
#define RUNS 1000

typedef struct claimer {
    pthread_t thread;
    cascade_store *store;
    cascade_uuid engine;
    pthread_barrier_t *barrier;
    cascade_claimed claimed[RUNS];
    size_t count;
    cascade_err err;
} claimer;

/* Asks for odd numbers of runs until nothing is left. */
static void *
claim_all(void *context)
{
    claimer *it = context;
    const char *queue = "default";
    cascade_claim claim = {.engine_id = it->engine,
                           .queues = &queue,
                           .queue_count = 1,
                           .suspect_from = 3};
    cascade_claim_result result = {.count = 1};

    pthread_barrier_wait(it->barrier);
    while (result.count > 0) {
        claim.limit = RUNS - it->count < 7 ? RUNS - it->count : 7;
        if (claim.limit == 0)
            break;
        result.count = 0;
        it->err = it->store->driver->claim(it->store->self, &claim,
                                           &it->claimed[it->count], &result);
        if (it->err != CASCADE_OK)
            break;
        it->count += result.count;
    }
    return NULL;
}

/* S7, S9, G5: eight incarnations of four handles claim at the same time; each
 * run goes to exactly one. */
static void
a_run_is_claimed_by_one_incarnation_only(void **state)
{
    conformance_db *db = *state;
    claimer *claimers = calloc(CLAIMERS, sizeof(*claimers));
    cascade_uuid *ids = calloc(RUNS, sizeof(*ids));
    bool *seen = calloc(RUNS, sizeof(*seen));
    pthread_barrier_t barrier;
    size_t total = 0;

    pthread_barrier_init(&barrier, NULL, CLAIMERS);
    db_start_many(db, ids, RUNS);
    for (size_t i = 0; i < CLAIMERS; i++) {
        claimers[i].store = i < 4 ? db_open(db) : claimers[i - 4].store;
        claimers[i].engine = db_attach(db, 1, DB_LONG_LEASE_MS);
        claimers[i].barrier = &barrier;
    }
    for (size_t i = 0; i < CLAIMERS; i++)
        assert_int_equal(0, pthread_create(&claimers[i].thread, NULL, claim_all,
                                           &claimers[i]));
    for (size_t i = 0; i < CLAIMERS; i++)
        pthread_join(claimers[i].thread, NULL);
    for (size_t i = 0; i < CLAIMERS; i++) {
        assert_int_equal(claimers[i].err, CASCADE_OK);
        total += claimers[i].count;
        for (size_t k = 0; k < claimers[i].count; k++) {
            const cascade_uuid *found = bsearch(
                &claimers[i].claimed[k].cascade_id, ids, RUNS, sizeof(ids[0]),
                (int (*)(const void *, const void *))csc_uuid_compare);

            assert_non_null(found);
            assert_false(seen[found - ids]);
            seen[found - ids] = true;
            assert_int_equal(claimers[i].claimed[k].claim_no, 1);
        }
    }
    assert_int_equal(total, RUNS);
    pthread_barrier_destroy(&barrier);
    free(claimers);
    free(ids);
    free(seen);
}

/* ---- S8 ----------------------------------------------------------------- */

/* One run, and a claim that gets it or not. */
typedef struct claim_case {
    const char *what;
    const char *queue;
    int64_t wake_in_ms;
    const char *needs;
    const char *ask_queues[3];
    const char *ask_nodes[3];
    bool suspects;
    bool gets;
} claim_case;

static size_t
count_texts(const char *const texts[3])
{
    size_t count = 0;

    while (count < 3 && texts[count] != NULL)
        count++;
    return count;
}

static bool
try_claim(conformance_db *db, cascade_uuid engine, const claim_case *asked)
{
    cascade_claim claim = {.engine_id = engine,
                           .queues = asked->ask_queues,
                           .queue_count = count_texts(asked->ask_queues),
                           .nodes = asked->ask_nodes,
                           .node_count = count_texts(asked->ask_nodes),
                           .limit = 10,
                           .suspect_from = 3,
                           .suspects = asked->suspects};
    cascade_claimed claimed[10];
    cascade_claim_result result = {.count = 99};

    assert_ok(db->driver->claim(db->self, &claim, claimed, &result));
    assert_true(result.count <= 1);
    return result.count == 1;
}

/* S8, G8, G14: queue, due time, needs, suspects: each condition by itself. */
static void
a_claim_gets_only_what_it_asked_for(void **state)
{
    static const claim_case cases[] = {
        {"plain", "q", 0, NULL, {"q"}, {NULL}, false, true},
        {"other queue", "q", 0, NULL, {"p"}, {"n"}, false, false},
        {"queue is no prefix", "q", 0, NULL, {"qq"}, {NULL}, false, false},
        {"queue has case", "q", 0, NULL, {"Q"}, {NULL}, false, false},
        {"second queue", "q", 0, NULL, {"p", "q"}, {NULL}, false, true},
        {"third queue", "q", 0, NULL, {"p", "o", "q"}, {NULL}, false, true},
        {"long past", "q", -1000000, NULL, {"q"}, {NULL}, false, true},
        {"future", "q", 600000, NULL, {"q"}, {NULL}, false, false},
        {"needs, none known", "q", 0, "n", {"q"}, {NULL}, false, false},
        {"needs, other known", "q", 0, "n", {"q"}, {"m", "nn"}, false, false},
        {"needs, known", "q", 0, "n", {"q"}, {"m", "n"}, false, true},
        {"needs, future", "q", 600000, "n", {"q"}, {"n"}, false, false},
        {"suspects only", "q", 0, NULL, {"q"}, {NULL}, true, false},
        {"no needs, some known", "q", 0, NULL, {"q"}, {"m"}, false, true},
    };
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));
        claim_case asked = cases[i];

        start->run.queue = rows_text(&db->rows, "%s", asked.queue);
        start->run.wake_at_ms = db->rows.now_ms + asked.wake_in_ms;
        start->run.needs = asked.needs;
        assert_ok(db_submit_one(db, start));
        if (try_claim(db, engine, &asked) != asked.gets)
            fail_msg("%s: %s claimed", asked.what,
                     asked.gets ? "not" : "wrongly");
        /* What it must not get, it must not have spoilt either. */
        assert_ok(db->driver->detach(db->self, &engine));
        engine = db_attach(db, 1, DB_LONG_LEASE_MS);
        start = rows_write(&db->rows, start->cascade.id, 0);
        start->cascade.status = CASCADE_COMPLETED;
        start->run_action = CASCADE_RUN_END;
        assert_ok(db_commit_one(db, engine, 1, start));
    }
}

/* S8: a run that somebody owns is not given, whatever its wake_at. */
static void
an_owned_run_is_not_claimed(void **state)
{
    conformance_db *db = *state;
    cascade_uuid owner = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid other = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid id = rows_id(&db->rows);
    cascade_claimed claimed[2];
    cascade_claim_result result = {0};

    assert_ok(
        db_commit_one(db, owner, 1, rows_start_owned(&db->rows, id, owner)));
    assert_ok(db_claim(db, other, "default", 2, claimed, &result));
    assert_int_equal(result.count, 0);
    assert_ok(db_claim(db, owner, "default", 2, claimed, &result));
    assert_int_equal(result.count, 0);
}

/* S8: with a limit, the higher priority first, then who waits longer. */
static void
a_claim_goes_by_priority_then_by_wake_at(void **state)
{
    static const struct {
        const char *queue;
        int32_t priority;
        int64_t wake_ago_ms;
    } runs[] = {{"b", 9, 10}, {"a", 9, 5},  {"a", 5, 90},
                {"b", 5, 80}, {"a", 5, 70}, {"b", 4, 99},
                {"a", 0, 3},  {"a", 0, 2},  {"b", 0, 1}};
    enum {
        COUNT = sizeof(runs) / sizeof(runs[0])
    };
    const char *queues[] = {"a", "b"};
    conformance_db *db = *state;
    cascade_claim claim = {.engine_id = db_attach(db, 1, DB_LONG_LEASE_MS),
                           .queues = queues,
                           .queue_count = 2,
                           .limit = 1,
                           .suspect_from = 3};
    cascade_uuid ids[COUNT];
    size_t order[COUNT] = {4, 8, 0, 6, 2, 7, 5, 1, 3};

    for (size_t i = 0; i < COUNT; i++) {
        cascade_change *start;
        size_t at = order[i];

        ids[at] = rows_id(&db->rows);
        start = rows_start(&db->rows, ids[at]);
        start->run.queue = runs[at].queue;
        start->run.priority = runs[at].priority;
        start->run.wake_at_ms = db->rows.now_ms - runs[at].wake_ago_ms;
        assert_ok(db_submit_one(db, start));
    }
    for (size_t i = 0; i < COUNT; i++) {
        cascade_claimed claimed[1];
        cascade_claim_result result = {0};

        assert_ok(db->driver->claim(db->self, &claim, claimed, &result));
        assert_int_equal(result.count, 1);
        assert_true(csc_uuid_equal(&claimed[0].cascade_id, &ids[i]));
    }
}

/* S8: a claim takes no more than its limit, and takes all when it may. */
static void
a_claim_takes_no_more_than_its_limit(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid ids[25];
    cascade_claimed claimed[1000];
    cascade_claim_result result = {0};

    db_start_many(db, ids, 25);
    assert_ok(db_claim(db, engine, "default", 10, claimed, &result));
    assert_int_equal(result.count, 10);
    assert_ok(db_claim(db, engine, "default", 1, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_ok(db_claim(db, engine, "default", 1000, claimed, &result));
    assert_int_equal(result.count, 14);
    assert_ok(db_claim(db, engine, "default", 1000, claimed, &result));
    assert_int_equal(result.count, 0);
}

static void
start_at(conformance_db *db, const char *queue, int32_t priority,
         int64_t wake_in_ms)
{
    cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));

    start->run.queue = queue;
    start->run.priority = priority;
    start->run.wake_at_ms = db->rows.now_ms + wake_in_ms;
    assert_ok(db_submit_one(db, start));
}

/* S8, G8: next_wake_at is the earliest wake_at still to come in the asked
 * queues, whatever the priority. */
static void
a_claim_tells_when_the_next_run_is_due(void **state)
{
    static const struct {
        int32_t priority;
        int64_t wake_in_ms;
        int64_t next_in_ms;
    } cases[] = {{5, 900000, 900000}, {0, 950000, 900000}, {9, 990000, 900000},
                 {9, 800000, 800000}, {5, 810000, 800000}, {0, 700000, 700000},
                 {5, -5, 700000}};
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_claimed claimed[10];
    cascade_claim_result result = {.next_wake_at_ms = 1};

    assert_ok(db_claim(db, engine, "default", 10, claimed, &result));
    assert_int_equal(result.count, 0);
    assert_true(result.next_wake_at_ms == CASCADE_TIME_NONE);
    start_at(db, "other", 3, 600000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        start_at(db, "default", cases[i].priority, cases[i].wake_in_ms);
        assert_ok(db_claim(db, engine, "default", 10, claimed, &result));
        assert_int_equal(result.count, cases[i].wake_in_ms < 0);
        assert_int_equal(result.next_wake_at_ms,
                         db->rows.now_ms + cases[i].next_in_ms);
    }
    assert_ok(db_claim(db, engine, "other", 10, claimed, &result));
    assert_int_equal(result.count, 0);
    assert_int_equal(result.next_wake_at_ms, db->rows.now_ms + 600000);
}

/* S8, G8: not a millisecond early, and once its time has come. */
static void
a_run_is_claimed_when_its_time_has_come(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));
    cascade_claimed claimed[2];
    cascade_claim_result result = {0};
    int64_t wake_at_ms = db_now(db) + (db->backend->virtual_time ? 5000 : 300);

    start->run.wake_at_ms = wake_at_ms;
    assert_ok(db_submit_one(db, start));
    for (;;) {
        int64_t left_ms = wake_at_ms - db_now(db);

        assert_ok(db_claim(db, engine, "default", 2, claimed, &result));
        if (result.count > 0)
            break;
        assert_true(left_ms > 0);
        if (db_now(db) < wake_at_ms)
            assert_int_equal(result.next_wake_at_ms, wake_at_ms);
        db_advance(db, left_ms > 20 ? left_ms / 2 : 1);
    }
    assert_int_equal(result.count, 1);
    assert_true(db_now(db) >= wake_at_ms);
}

/* S8, S11, G4: a run with `suspect_from` takeovers is claimed as a suspect
 * only. */
static void
suspects_are_claimed_apart(void **state)
{
    conformance_db *db = *state;
    cascade_uuid id = rows_id(&db->rows);
    const claim_case plain = {.ask_queues = {"default"}, .suspects = false};
    const claim_case suspect = {.ask_queues = {"default"}, .suspects = true};

    assert_ok(db_submit_one(db, rows_start(&db->rows, id)));
    for (int takeovers = 0; takeovers < 5; takeovers++) {
        cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
        size_t freed = 0;

        assert_int_equal(
            try_claim(db, engine, takeovers < 3 ? &suspect : &plain), 0);
        assert_int_equal(
            try_claim(db, engine, takeovers < 3 ? &plain : &suspect), 1);
        assert_ok(db->driver->remove(db->self, &engine, 1, 10, &freed));
        assert_int_equal(freed, 1);
    }
}

/* S9, G5: each claim raises claim_no, whoever claims. */
static void
each_claim_raises_claim_no(void **state)
{
    conformance_db *db = *state;
    cascade_uuid id = rows_id(&db->rows);
    cascade_claimed claimed[1];
    cascade_claim_result result = {0};

    assert_ok(db_submit_one(db, rows_start(&db->rows, id)));
    for (int64_t claim_no = 1; claim_no <= 5; claim_no++) {
        cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);

        assert_ok(db_claim(db, engine, "default", 1, claimed, &result));
        assert_int_equal(result.count, 1);
        assert_int_equal(claimed[0].claim_no, claim_no);
        assert_int_equal(claimed[0].takeovers, 0);
        assert_ok(db->driver->detach(db->self, &engine));
    }
}

/* S7, S4, G5: an incarnation that is gone claims nothing. */
static void
a_removed_incarnation_claims_nothing(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_claimed claimed[1];
    cascade_claim_result result = {.count = 77};
    size_t freed = 0;
    char *picture;

    assert_ok(db_submit_one(db, rows_start(&db->rows, rows_id(&db->rows))));
    assert_ok(db->driver->remove(db->self, &engine, 1, 10, &freed));
    picture = db_picture(db);
    assert_fails(CASCADE_ERR_FENCED,
                 db_claim(db, engine, "default", 1, claimed, &result));
    db_assert_unchanged(db, picture);
}

/* S4: who has committed more than the lanes show claims nothing. */
static void
a_claim_by_who_lost_commits_takes_nothing(void **state)
{
    static const char *const queue = "default";
    conformance_db *db = *state;
    uint32_t lanes = db->driver->lane_max < 2 ? 1 : 2;
    cascade_uuid engine = db_attach(db, lanes, DB_LONG_LEASE_MS);
    cascade_claim claim = {.engine_id = engine,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 10,
                           .suspect_from = 3,
                           .batches = (int64_t)lanes + 1};
    cascade_claimed claimed[10];
    cascade_claim_result result = {.count = 77};
    char *picture;

    for (uint32_t lane = 0; lane < lanes; lane++) {
        cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));

        assert_ok(db_commit(db, engine, lane, 1, &start, 1, NULL));
    }
    picture = db_picture(db);
    assert_fails(CASCADE_ERR_LOST,
                 db->driver->claim(db->self, &claim, claimed, &result));
    claim.suspects = true;
    assert_fails(CASCADE_ERR_LOST,
                 db->driver->claim(db->self, &claim, claimed, &result));
    db_assert_unchanged(db, picture);
    claim.suspects = false;
    claim.batches = lanes;
    assert_ok(db->driver->claim(db->self, &claim, claimed, &result));
    assert_int_equal(result.count, lanes);
}

static cascade_err
note_needs(void *context, const cascade_row *row, const cascade_run_row *run)
{
    bool *needs = context;

    (void)row;
    *needs = run == NULL || run->needs != NULL;
    return CASCADE_OK;
}

/* S9, G2, G6: what the last owner did not know is no matter once somebody else
 * owns the run: when that one is gone too, anybody may have it. */
static void
a_claim_clears_what_the_last_owner_needed(void **state)
{
    static const claim_case knows = {.ask_queues = {"default"},
                                     .ask_nodes = {"n"}};
    static const claim_case knows_nothing = {.ask_queues = {"default"}};
    conformance_db *db = *state;
    cascade_uuid first = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid second = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));
    cascade_query query = {.id = &start->cascade.id, .limit = 1};
    bool needs = true;

    start->run.needs = "n";
    assert_ok(db_submit_one(db, start));
    assert_false(try_claim(db, second, &knows_nothing));
    assert_true(try_claim(db, first, &knows));
    assert_ok(db->driver->list(db->self, &query, note_needs, &needs));
    assert_false(needs);
    assert_ok(db->driver->detach(db->self, &first));
    assert_true(try_claim(db, second, &knows_nothing));
}

/* ---- S23 ---------------------------------------------------------------- */

#define FAR_MS INT64_C(3600000)

static void
send_kind(mail_scene *it, cascade_uuid to, const char *kind)
{
    cascade_message_row *row = rows_message(it->rows, to, kind);

    row->kind = kind;
    assert_true(mail_send(it, row) != CASCADE_SENT_REPEATED);
}

/* S23: of a run that waits, of one that is due, of a suspect and of a cascade
 * that has ended; no kind where no message is. */
static void
a_claim_tells_the_kind_of_the_first_message(void **state)
{
    static const char longest[] = "a kind that is 32 bytes long, no";
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[4];
    cascade_uuid ended = mail_own(&it);
    cascade_change *starts[4];
    const char *queue = "default";
    cascade_claim claim = {.engine_id = it.engine,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 10,
                           .suspect_from = 3};
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};

    for (int i = 0; i < 4; i++) {
        ids[i] = rows_id(it.rows);
        starts[i] = rows_start(it.rows, ids[i]);
        starts[i]->run.priority = 9 - i;
    }
    starts[0]->run.wake_at_ms += FAR_MS;
    starts[3]->run.takeovers = 3;
    assert_ok(db_submit(it.db, starts, 4, NULL));
    assert_ok(mail_end(&it, ended, CASCADE_COMPLETED));
    memset(claimed, 'x', sizeof(claimed));
    send_kind(&it, ids[0], "z first");
    send_kind(&it, ids[0], "a second");
    send_kind(&it, ids[1], longest);
    send_kind(&it, ids[3], "suspected");
    send_kind(&it, ended, "ended");
    assert_ok(it.db->driver->claim(it.db->self, &claim, claimed, &result));
    assert_int_equal(result.count, 4);
    assert_string_equal(claimed[0].message_kind, "z first");
    assert_string_equal(claimed[1].message_kind, longest);
    assert_string_equal(claimed[2].message_kind, "ended");
    assert_string_equal(claimed[3].message_kind, "");
    assert_memory_equal(&claimed[3].cascade_id, &ids[2], sizeof(ids[2]));
    claim.suspects = true;
    assert_ok(it.db->driver->claim(it.db->self, &claim, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_string_equal(claimed[0].message_kind, "suspected");
}

conformance_group
conformance_claim(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_claimed_by_one_incarnation_only),
        cmocka_unit_test(a_claim_gets_only_what_it_asked_for),
        cmocka_unit_test(an_owned_run_is_not_claimed),
        cmocka_unit_test(a_claim_goes_by_priority_then_by_wake_at),
        cmocka_unit_test(a_claim_takes_no_more_than_its_limit),
        cmocka_unit_test(a_claim_tells_when_the_next_run_is_due),
        cmocka_unit_test(a_run_is_claimed_when_its_time_has_come),
        cmocka_unit_test(suspects_are_claimed_apart),
        cmocka_unit_test(each_claim_raises_claim_no),
        cmocka_unit_test(a_claim_clears_what_the_last_owner_needed),
        cmocka_unit_test(a_removed_incarnation_claims_nothing),
        cmocka_unit_test(a_claim_by_who_lost_commits_takes_nothing),
        cmocka_unit_test(a_claim_tells_the_kind_of_the_first_message),
    };

    return (conformance_group){"claim", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
