/* SPDX-License-Identifier: MIT
 *
 * Queues with limits: the maxima, how a slot comes back, and how limits are set
 * (S96, S97, S100); what has a slot (S101).
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "store/conformance/conformance_limits.h"
#include "support/in_time.h"

/* ---- Short forms --------------------------------------------------------- */

const cascade_store_limits *
limits_table(const conformance_db *db)
{
    if (db->driver->limits == NULL)
        skip();
    return db->driver->limits;
}

void
limits_set(mail_scene *it, const char *queue, int32_t max, int32_t key_max)
{
    const cascade_limits_row row = {.queue = queue,
                                    .version = CASCADE_LIMITS_ANY,
                                    .running_max = max,
                                    .key_running_max = key_max,
                                    .about = "{}"};
    int64_t version = 0;
    bool done = false;

    assert_ok(limits_table(it->db)->set(it->db->self, &row, &done, &version));
    assert_true(done);
    assert_true(version > 0);
}

cascade_change *
limits_start(mail_scene *it, const char *key)
{
    cascade_change *start = rows_start(it->rows, rows_id(it->rows));

    start->run.limit_key = key;
    start->run.wake_at_ms = db_now(it->db) - 1000;
    return start;
}

cascade_uuid
limits_submit(mail_scene *it, cascade_change *start)
{
    assert_ok(db_submit_one(it->db, start));
    return start->cascade.id;
}

void
limits_start_many(mail_scene *it, const char *key, size_t count)
{
    cascade_change *starts[1000];
    bool existed[1000];

    while (count > 0) {
        size_t some = count < 1000 ? count : 1000;

        for (size_t i = 0; i < some; i++)
            starts[i] = limits_start(it, key);
        assert_ok(db_submit(it->db, starts, some, existed));
        count -= some;
    }
}

limits_got
limits_claim_as(mail_scene *it, cascade_claim claim)
{
    static const char *const queue = "default";
    limits_got got;
    cascade_claim_result result = {.count = 99};

    memset(&got, 0x5a, sizeof(got));
    result.paused = &got.paused;
    result.kept = &got.kept;
    claim.engine_id = it->engine;
    claim.queues = &queue;
    claim.queue_count = 1;
    claim.limit = CLAIM_MAX;
    claim.suspect_from = SUSPECT_FROM;
    assert_ok(
        it->db->driver->claim(it->db->self, &claim, got.claimed, &result));
    got.count = result.count;
    got.again = result.again;
    got.suspects = result.suspects;
    got.next_wake_at_ms = result.next_wake_at_ms;
    got.with_slot = 0;
    for (size_t i = 0; i < got.count; i++)
        got.with_slot += got.claimed[i].slot;
    return got;
}

limits_got
limits_claim(mail_scene *it, size_t slots)
{
    return limits_claim_as(it, (cascade_claim){.slots = slots});
}

void
limits_assert_gets(mail_scene *it, size_t slots, size_t count)
{
    limits_got got = limits_claim(it, slots);

    assert_int_equal(got.count, count);
    assert_int_equal(got.with_slot, count);
}

void
limits_assert_got_one(const limits_got *got, const cascade_uuid *id, bool slot)
{
    assert_int_equal(got->count, 1);
    assert_memory_equal(&got->claimed[0].cascade_id, id, sizeof(*id));
    assert_true(got->claimed[0].slot == slot);
}

cascade_change *
limits_write(mail_scene *it, const cascade_uuid *id, cascade_run_action action)
{
    cascade_change *change = rows_write(it->rows, *id, 0);

    change->run_action = action;
    change->run.queue = "default";
    change->run.wake_at_ms = db_now(it->db) - 1;
    if (action == CASCADE_RUN_END)
        change->cascade.status = CASCADE_COMPLETED;
    return change;
}

void
limits_do(mail_scene *it, const cascade_uuid *id, cascade_run_action action)
{
    assert_ok(mail_write(it, limits_write(it, id, action)));
}

cascade_uuid
limits_take_the_slot(mail_scene *it)
{
    limits_got got;

    limits_set(it, "default", 1, 0);
    limits_start_many(it, "", 2);
    got = limits_claim(it, 5);
    assert_int_equal(got.count, 1);
    assert_int_equal(mail_run(it, &got.claimed[0].cascade_id).slot, 1);
    limits_assert_gets(it, 5, 0);
    return got.claimed[0].cascade_id;
}

/* ---- S96: the maxima ----------------------------------------------------- */

static void
a_queue_gives_no_more_slots_than_its_maximum(void **state)
{
    mail_scene it = mail_begin(*state);
    limits_got got;

    limits_set(&it, "default", 3, 0);
    limits_start_many(&it, "", 10);
    got = limits_claim(&it, 10);
    assert_int_equal(got.count, 3);
    assert_int_equal(got.with_slot, 3);
    assert_true(got.kept);
    assert_false(got.paused);
    limits_assert_gets(&it, 10, 0);
    limits_do(&it, &got.claimed[0].cascade_id, CASCADE_RUN_END);
    limits_assert_gets(&it, 10, 1);
    limits_assert_gets(&it, 10, 0);
}

/* The same of each key. */
static void
a_key_gives_no_more_slots_than_its_maximum(void **state)
{
    mail_scene it = mail_begin(*state);

    limits_set(&it, "default", 0, 2);
    limits_start_many(&it, "a", 5);
    limits_start_many(&it, "b", 1);
    limits_start_many(&it, "c", 5);
    limits_assert_gets(&it, 20, 5);
    limits_assert_gets(&it, 20, 0);
    limits_set(&it, "default", 7, 3);
    limits_assert_gets(&it, 20, 2);
}

/* A claim gives as many as it asks for: the rest of its limit is for others. */
static void
a_claim_gives_as_many_slots_as_it_asks_for(void **state)
{
    mail_scene it = mail_begin(*state);
    limits_got got;

    limits_set(&it, "default", 0, 0);
    limits_start_many(&it, "a", 3);
    limits_start_many(&it, "b", 3);
    got = limits_claim(&it, 0);
    assert_int_equal(got.count, 0);
    assert_true(got.kept);
    limits_assert_gets(&it, 4, 4);
    limits_assert_gets(&it, 4, 2);
}

/* Nothing is taken from whoever has a slot. */
static void
a_lowered_maximum_ends_nothing_and_a_raised_one_holds_at_once(void **state)
{
    mail_scene it = mail_begin(*state);
    limits_got got;

    limits_set(&it, "default", 4, 0);
    limits_start_many(&it, "", 10);
    got = limits_claim(&it, 10);
    assert_int_equal(got.count, 4);
    limits_set(&it, "default", 2, 0);
    for (size_t i = 0; i < 2; i++) {
        limits_do(&it, &got.claimed[i].cascade_id, CASCADE_RUN_END);
        limits_assert_gets(&it, 10, 0);
    }
    limits_do(&it, &got.claimed[2].cascade_id, CASCADE_RUN_END);
    limits_assert_gets(&it, 10, 1);
    limits_set(&it, "default", 5, 0);
    limits_assert_gets(&it, 10, 3);
    limits_set(&it, "default", 0, 0);
    limits_assert_gets(&it, 10, 2);
}

/* ---- S96 while others claim ---------------------------------------------- */

#define RACE_RUNS 300
#define RACE_CLAIMERS 4
#define RACE_KEYS 3
#define RACE_MAX 5
#define RACE_KEY_MAX 2

typedef struct limits_race {
    atomic_int running; /* less than or as many as have a slot */
    atomic_int of_key[RACE_KEYS];
    atomic_int most;
    atomic_int most_of_key;
    atomic_size_t ended;
    atomic_bool failed;
    const cascade_uuid *ids; /* of run i the key is i % RACE_KEYS */
} limits_race;

typedef struct limits_claimer {
    pthread_t thread;
    cascade_store *store;
    cascade_uuid engine;
    limits_race *race;
    test_rows rows;
    int64_t number;
    char text[200];
} limits_claimer;

static void
note_most(atomic_int *most, int now)
{
    int seen = atomic_load(most);

    while (now > seen && !atomic_compare_exchange_weak(most, &seen, now))
        ;
}

static size_t
key_of(const limits_race *race, const cascade_uuid *id)
{
    for (size_t i = 0; i < RACE_RUNS; i++)
        if (csc_uuid_equal(&race->ids[i], id))
            return i % RACE_KEYS;
    return 0;
}

static cascade_err
end_claimed(limits_claimer *it, const cascade_uuid *id)
{
    cascade_change *change = rows_write(&it->rows, *id, 0);
    cascade_batch batch = {.engine_id = it->engine,
                           .number = ++it->number,
                           .changes = change,
                           .change_count = 1};
    limits_race *race = it->race;
    bool existed = false;

    change->run_action = CASCADE_RUN_END;
    change->cascade.status = CASCADE_COMPLETED;
    atomic_fetch_sub(&race->running, 1);
    atomic_fetch_sub(&race->of_key[key_of(race, id)], 1);
    return it->store->driver->commit(it->store->self, &batch, &existed);
}

static cascade_err
claim_and_end(limits_claimer *it)
{
    static const char *const queue = "default";
    cascade_claim claim = {.engine_id = it->engine,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 3,
                           .slots = 3,
                           .suspect_from = SUSPECT_FROM};
    cascade_claimed claimed[3];
    cascade_claim_result result = {.count = 0};
    limits_race *race = it->race;
    cascade_err err =
        it->store->driver->claim(it->store->self, &claim, claimed, &result);

    if (err != CASCADE_OK)
        return err;
    for (size_t i = 0; i < result.count; i++) {
        size_t key = key_of(race, &claimed[i].cascade_id);

        note_most(&race->most, atomic_fetch_add(&race->running, 1) + 1);
        note_most(&race->most_of_key,
                  atomic_fetch_add(&race->of_key[key], 1) + 1);
    }
    sched_yield();
    for (size_t i = 0; i < result.count && err == CASCADE_OK; i++) {
        err = end_claimed(it, &claimed[i].cascade_id);
        atomic_fetch_add(&race->ended, 1);
    }
    return err;
}

static void *
claim_until_all_have_ended(void *context)
{
    limits_claimer *it = context;
    limits_race *race = it->race;
    int64_t end_ms = 0;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && atomic_load(&race->ended) < RACE_RUNS &&
           !atomic_load(&race->failed)) {
        err = claim_and_end(it);
        if (!in_time(&end_ms, CONFORMANCE_WAIT_MS))
            err = CASCADE_ERR_TIMEOUT;
        rows_clear(&it->rows);
    }
    if (err != CASCADE_OK) {
        atomic_store(&race->failed, true);
        strncpy(it->text, cascade_errmsg(), sizeof(it->text) - 1);
    }
    return NULL;
}

static void
start_race_runs(mail_scene *it, cascade_uuid ids[RACE_RUNS])
{
    static const char *const keys[RACE_KEYS] = {"", "a", "b"};
    cascade_change *starts[RACE_RUNS];
    bool existed[RACE_RUNS];

    for (size_t i = 0; i < RACE_RUNS; i++) {
        starts[i] = limits_start(it, keys[i % RACE_KEYS]);
        ids[i] = starts[i]->cascade.id;
    }
    assert_ok(db_submit(it->db, starts, RACE_RUNS, existed));
}

/* S96: several engines of several handles claim and end all the time; what they
 * count themselves is never more than what has a slot. */
static void
the_maxima_hold_however_many_claim_at_once(void **state)
{
    conformance_db *db = *state;
    mail_scene it = mail_begin(db);
    cascade_uuid ids[RACE_RUNS];
    limits_race race = {.ids = ids};
    limits_claimer claimers[RACE_CLAIMERS];

    limits_set(&it, "default", RACE_MAX, RACE_KEY_MAX);
    start_race_runs(&it, ids);
    for (size_t i = 0; i < RACE_CLAIMERS; i++) {
        claimers[i] =
            (limits_claimer){.store = db_open(db),
                             .engine = db_attach(db, 1, DB_LONG_LEASE_MS),
                             .race = &race};
        rows_init(&claimers[i].rows, i + 1, db_now(db));
    }
    for (size_t i = 0; i < RACE_CLAIMERS; i++)
        assert_int_equal(0, pthread_create(&claimers[i].thread, NULL,
                                           claim_until_all_have_ended,
                                           &claimers[i]));
    for (size_t i = 0; i < RACE_CLAIMERS; i++) {
        pthread_join(claimers[i].thread, NULL);
        rows_fini(&claimers[i].rows);
        assert_string_equal(claimers[i].text, "");
    }
    assert_false(atomic_load(&race.failed));
    assert_int_equal(atomic_load(&race.ended), RACE_RUNS);
    assert_in_range(atomic_load(&race.most), 1, RACE_MAX);
    assert_in_range(atomic_load(&race.most_of_key), 1, RACE_KEY_MAX);
}

/* ---- S97: how a slot comes back ------------------------------------------ */

static void
a_slot_comes_back_when_its_run_ends(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = limits_take_the_slot(&it);

    limits_do(&it, &id, CASCADE_RUN_KEEP);
    limits_do(&it, &id, CASCADE_RUN_RESET);
    limits_assert_gets(&it, 5, 0);
    limits_do(&it, &id, CASCADE_RUN_END);
    limits_assert_gets(&it, 5, 1);
}

static void
a_slot_comes_back_when_its_run_is_deleted(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = limits_take_the_slot(&it);

    limits_do(&it, &id, CASCADE_RUN_DELETE);
    limits_assert_gets(&it, 5, 1);
}

/* A run that is freed has none; when it is due it waits like others. */
static void
a_slot_comes_back_when_its_run_is_freed(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = limits_take_the_slot(&it);
    cascade_change *change = limits_write(&it, &id, CASCADE_RUN_FREE);

    change->run.wake_at_ms = db_now(it.db) + LATER_MS;
    assert_ok(mail_write(&it, change));
    assert_int_equal(mail_run(&it, &id).slot, 0);
    limits_assert_gets(&it, 5, 1);
    limits_assert_gets(&it, 5, 0);
}

/* It waits for its turn by its own key, whatever the run had before. */
static void
a_slot_comes_back_when_its_run_is_revived(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = limits_take_the_slot(&it);
    cascade_change *change = limits_write(&it, &id, CASCADE_RUN_REVIVE);
    cascade_run_row run;

    change->run.limit_key = "stripe";
    assert_ok(mail_write(&it, change));
    run = mail_run(&it, &id);
    assert_int_equal(run.slot, 0);
    assert_string_equal(run.limit_key, "stripe");
    limits_assert_gets(&it, 5, 1);
}

static void
slots_come_back_when_their_engine_stops(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = limits_take_the_slot(&it);

    assert_ok(it.db->driver->detach(it.db->self, &it.engine));
    it = mail_begin(it.db);
    assert_int_equal(mail_run(&it, &id).slot, 0);
    limits_assert_gets(&it, 5, 1);
    limits_assert_gets(&it, 5, 0);
}

/* Until it is removed, what it has is in use. */
static void
slots_come_back_when_their_engine_is_removed(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = limits_take_the_slot(&it);
    cascade_uuid dead = it.engine;
    size_t freed = 0;

    it = mail_begin(it.db);
    limits_assert_gets(&it, 5, 0);
    assert_ok(it.db->driver->remove(it.db->self, &dead, 1, 10, &freed));
    assert_int_equal(freed, 1);
    assert_int_equal(mail_run(&it, &id).slot, 0);
    limits_assert_gets(&it, 5, 1);
    limits_assert_gets(&it, 5, 0);
}

/* S3, S97: a batch that is repeated does not take the slot from who has got it
 * since. */
static void
a_repeated_commit_takes_no_slot_back(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = limits_take_the_slot(&it);
    cascade_change *change = limits_write(&it, &id, CASCADE_RUN_FREE);
    limits_got got;

    limits_do(&it, &id, CASCADE_RUN_KEEP);
    change->run.wake_at_ms = db_now(it.db) + LATER_MS;
    assert_ok(mail_write(&it, change));
    got = limits_claim(&it, 5);
    assert_int_equal(got.with_slot, 1);
    assert_ok(db_commit_one(it.db, it.engine, it.number, change));
    assert_int_equal(mail_run(&it, &got.claimed[0].cascade_id).slot, 1);
    limits_assert_gets(&it, 5, 0);
}

/* The run that continues another has its slot, from birth on. */
static void
a_slot_goes_to_the_run_that_continues(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = limits_take_the_slot(&it);
    cascade_uuid next = rows_id(it.rows);
    cascade_change *changes[2];

    changes[0] = limits_write(&it, &id, CASCADE_RUN_END);
    changes[1] = rows_start_owned(it.rows, next, it.engine);
    changes[1]->run.slot = 1;
    changes[1]->run.limit_key = "k";
    assert_ok(db_commit(it.db, it.engine, 0, ++it.number, changes, 2, NULL));
    assert_int_equal(mail_run(&it, &next).slot, 1);
    assert_string_equal(mail_run(&it, &next).limit_key, "k");
    limits_assert_gets(&it, 5, 0);
    limits_do(&it, &next, CASCADE_RUN_END);
    limits_assert_gets(&it, 5, 1);
}

/* ---- S100 ---------------------------------------------------------------- */

#define LISTED_MAX 20

typedef struct listed_limits {
    char queues[LISTED_MAX][140];
    cascade_limits_row rows[LISTED_MAX];
    char abouts[LISTED_MAX][100];
    size_t count;
    cascade_err err;
} listed_limits;

static cascade_err
note_limits(void *context, const cascade_limits_row *row)
{
    listed_limits *list = context;

    assert_true(list->count < LISTED_MAX);
    strncpy(list->queues[list->count], row->queue, 139);
    strncpy(list->abouts[list->count], row->about, 99);
    list->rows[list->count] = *row;
    list->count++;
    return list->err;
}

static listed_limits
list_limits(mail_scene *it, const char *only, const char *after, size_t limit)
{
    listed_limits list;

    memset(&list, 0, sizeof(list));
    assert_ok(limits_table(it->db)->list(it->db->self, only, after, limit,
                                         note_limits, &list));
    return list;
}

static void
limits_are_kept_as_they_are_set(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_limits_row row = {.queue = "a 'queue' %s",
                              .running_max = INT32_MAX,
                              .about = "{\"why\":\"'; DROP TABLE x; --\"}"};
    listed_limits list;
    int64_t version = 0;
    bool done = false;

    assert_int_equal(list_limits(&it, NULL, "", 10).count, 0);
    assert_ok(limits_table(it.db)->set(it.db->self, &row, &done, &version));
    assert_true(done);
    assert_int_equal(version, 1);
    list = list_limits(&it, row.queue, "", 10);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.queues[0], row.queue);
    assert_string_equal(list.abouts[0], row.about);
    assert_int_equal(list.rows[0].running_max, INT32_MAX);
    assert_int_equal(list.rows[0].key_running_max, 0);
    assert_int_equal(list.rows[0].version, 1);
    assert_int_equal(list_limits(&it, "a queue", "", 10).count, 0);
}

/* S100: who has read another version is told which there is. */
static void
limits_are_set_where_they_are_as_they_were_read(void **state)
{
    mail_scene it = mail_begin(*state);
    const cascade_store_limits *limits = limits_table(it.db);
    cascade_limits_row row = {.queue = "q", .running_max = 1, .about = "{}"};
    int64_t version = 0;
    bool done = false;

    row.version = 5;
    assert_ok(limits->set(it.db->self, &row, &done, &version));
    assert_false(done);
    assert_int_equal(version, 0);
    row.version = 0;
    assert_ok(limits->set(it.db->self, &row, &done, &version));
    assert_true(done);
    row.running_max = 2;
    assert_ok(limits->set(it.db->self, &row, &done, &version));
    assert_false(done);
    assert_int_equal(version, 1);
    row.version = 1;
    assert_ok(limits->set(it.db->self, &row, &done, &version));
    assert_true(done);
    assert_int_equal(version, 2);
    row.version = CASCADE_LIMITS_ANY;
    row.running_max = 3;
    assert_ok(limits->set(it.db->self, &row, &done, &version));
    assert_true(done);
    assert_int_equal(version, 3);
    assert_int_equal(list_limits(&it, "q", "", 1).rows[0].running_max, 3);
}

static void
limits_are_listed_by_name_in_pages(void **state)
{
    mail_scene it = mail_begin(*state);
    const char *names[] = {"B", "a", "b", "c"};
    const cascade_store_manage *manage = conformance_manage(it.db->driver);
    listed_limits list;
    bool changed = false;

    for (size_t i = 4; i-- > 0;)
        limits_set(&it, names[i], 1, 0);
    assert_ok(manage->pause(it.db->self, "aa", true, "{}", &changed));
    assert_ok(manage->pause(it.db->self, "b", true, "{}", &changed));
    list = list_limits(&it, NULL, "", 3);
    assert_int_equal(list.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(list.queues[i], names[i]);
    list = list_limits(&it, NULL, "b", 3);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.queues[0], "c");
    memset(&list, 0, sizeof(list));
    list.err = CASCADE_ERR_FAILED;
    assert_int_equal(
        limits_table(it.db)->list(it.db->self, NULL, "", 3, note_limits, &list),
        CASCADE_ERR_FAILED);
    assert_int_equal(list.count, 1);
}

static bool
drop_limits(mail_scene *it, const char *queue)
{
    bool done = false;

    assert_ok(limits_table(it->db)->drop(it->db->self, queue, &done));
    return done;
}

/* S100: what waits by its key is given to whoever claims, and what has a slot
 * counts for limits that are set later. */
static void
limits_are_dropped_whatever_runs(void **state)
{
    mail_scene it = mail_begin(*state);
    limits_got got;

    assert_false(drop_limits(&it, "default"));
    limits_set(&it, "default", 1, 1);
    limits_start_many(&it, "a", 3);
    limits_assert_gets(&it, 5, 1);
    assert_true(drop_limits(&it, "default"));
    assert_false(drop_limits(&it, "default"));
    assert_int_equal(list_limits(&it, NULL, "", 10).count, 0);
    got = limits_claim(&it, 0);
    assert_int_equal(got.count, 2);
    assert_int_equal(got.with_slot, 0);
    assert_false(got.kept);
    limits_set(&it, "default", 1, 0);
    limits_start_many(&it, "b", 1);
    limits_assert_gets(&it, 5, 0);
}

static void
limits_are_dropped_from_a_paused_queue(void **state)
{
    mail_scene it = mail_begin(*state);
    const cascade_store_manage *manage = conformance_manage(it.db->driver);
    bool changed = false;
    limits_got got;

    limits_set(&it, "default", 1, 1);
    assert_ok(manage->pause(it.db->self, "default", true, "{}", &changed));
    assert_true(drop_limits(&it, "default"));
    got = limits_claim(&it, 5);
    assert_true(got.paused);
    assert_false(got.kept);
    assert_ok(manage->pause(it.db->self, "default", false, NULL, &changed));
    assert_true(changed);
    got = limits_claim(&it, 5);
    assert_false(got.paused || got.kept);
}

/* ---- S101 ---------------------------------------------------------------- */

typedef struct listed_slots {
    cascade_uuid ids[CLAIM_MAX];
    char keys[CLAIM_MAX + 1]; /* the first byte of each */
    size_t count;
} listed_slots;

static cascade_err
keep_slot(void *context, const cascade_slot_row *row)
{
    listed_slots *list = context;

    assert_true(list->count < CLAIM_MAX);
    list->ids[list->count] = row->cascade_id;
    list->keys[list->count++] = row->limit_key[0];
    return CASCADE_OK;
}

static listed_slots
list_slots(mail_scene *it, const char *queue, const char *key, size_t limit)
{
    listed_slots list = {.count = 0};

    assert_ok(limits_table(it->db)->slots(it->db->self, queue, key, limit,
                                          keep_slot, &list));
    return list;
}

/* Not what waits for one. */
static void
slots_are_listed_by_their_keys(void **state)
{
    mail_scene it = mail_begin(*state);
    listed_slots list;
    cascade_uuid first;

    limits_set(&it, "default", 0, 0);
    limits_start_many(&it, "b", 2);
    limits_start_many(&it, "a", 1);
    limits_assert_gets(&it, 3, 3);
    limits_start_many(&it, "c", 1);
    list = list_slots(&it, "default", NULL, 10);
    assert_string_equal(list.keys, "abb");
    assert_string_equal(list_slots(&it, "default", NULL, 2).keys, "ab");
    assert_string_equal(list_slots(&it, "default", "b", 10).keys, "bb");
    assert_string_equal(list_slots(&it, "default", "b", 1).keys, "b");
    assert_int_equal(list_slots(&it, "default", "c", 10).count, 0);
    assert_int_equal(list_slots(&it, "other", NULL, 10).count, 0);
    first = list.ids[1];
    limits_do(&it, &first, CASCADE_RUN_END);
    list = list_slots(&it, "default", "b", 10);
    assert_int_equal(list.count, 1);
    assert_memory_not_equal(&list.ids[0], &first, sizeof(first));
    assert_true(drop_limits(&it, "default"));
    assert_string_equal(list_slots(&it, "default", NULL, 10).keys, "ab");
}

conformance_group
conformance_limits(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_gives_no_more_slots_than_its_maximum),
        cmocka_unit_test(a_key_gives_no_more_slots_than_its_maximum),
        cmocka_unit_test(a_claim_gives_as_many_slots_as_it_asks_for),
        cmocka_unit_test(
            a_lowered_maximum_ends_nothing_and_a_raised_one_holds_at_once),
        cmocka_unit_test(the_maxima_hold_however_many_claim_at_once),
        cmocka_unit_test(a_slot_comes_back_when_its_run_ends),
        cmocka_unit_test(a_slot_comes_back_when_its_run_is_deleted),
        cmocka_unit_test(a_slot_comes_back_when_its_run_is_freed),
        cmocka_unit_test(a_slot_comes_back_when_its_run_is_revived),
        cmocka_unit_test(slots_come_back_when_their_engine_stops),
        cmocka_unit_test(slots_come_back_when_their_engine_is_removed),
        cmocka_unit_test(a_repeated_commit_takes_no_slot_back),
        cmocka_unit_test(a_slot_goes_to_the_run_that_continues),
        cmocka_unit_test(limits_are_kept_as_they_are_set),
        cmocka_unit_test(limits_are_set_where_they_are_as_they_were_read),
        cmocka_unit_test(limits_are_listed_by_name_in_pages),
        cmocka_unit_test(limits_are_dropped_whatever_runs),
        cmocka_unit_test(limits_are_dropped_from_a_paused_queue),
        cmocka_unit_test(slots_are_listed_by_their_keys),
    };

    return (conformance_group){"limits", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
