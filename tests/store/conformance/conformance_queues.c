/* SPDX-License-Identifier: MIT
 *
 * Queues: what a pause keeps back and what not, what is told about queues, and
 * what incarnations say of themselves.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "store/conformance/conformance_mail.h"
#include "support/in_time.h"
#include "support/must.h"

#define LATER_MS INT64_C(3600000)
#define LISTED_MAX 20

/* Texts that a statement could stumble over, or a database rewrite. */
static const char *const odd_texts[] = {
    "{}",
    "{\"by\":\"o'neill\",\"why\":\"a \\\"quoted\\\" \\\\ word\"}",
    "{\"why\":\"'; DROP TABLE cascade_queues; --\"}",
    "{\"why\":\"%s %n $1 ?1 :name {a,b}\"}",
    "{\"why\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"}",
    "{\"order\":\"kept\",  \"b\":1, \"a\" : 1.50, \"b\":2}",
    "{\"lines\":\n\t[]}",
};
#define ODD_COUNT (sizeof(odd_texts) / sizeof(odd_texts[0]))

/* ---- Short forms -------------------------------------------------------- */

/* Whether it was not paused before. */
static bool
pause_queue(conformance_db *db, const char *queue, const char *about)
{
    bool changed;

    assert_ok(conformance_manage(db->driver)
                  ->pause(db->self, queue, true, about, &changed));
    return changed;
}

static bool
resume_queue(conformance_db *db, const char *queue)
{
    bool changed;

    assert_ok(conformance_manage(db->driver)
                  ->pause(db->self, queue, false, NULL, &changed));
    return changed;
}

static cascade_uuid
start_in(mail_scene *it, const char *queue, int64_t wake_in_ms)
{
    cascade_change *start = rows_start(it->rows, rows_id(it->rows));

    start->run.queue = queue;
    start->run.wake_at_ms = db_now(it->db) + wake_in_ms;
    assert_ok(db_submit_one(it->db, start));
    return start->cascade.id;
}

/* A claim from "mail" and "slow", and what it gave. */
typedef struct two_queues {
    cascade_claimed claimed[10];
    bool paused[2];
    cascade_claim_result result;
} two_queues;

static two_queues
claim_two(mail_scene *it)
{
    const char *queues[] = {"mail", "slow"};
    cascade_claim claim = {.engine_id = it->engine,
                           .queues = queues,
                           .queue_count = 2,
                           .limit = 10,
                           .suspect_from = 3};
    two_queues got;

    memset(&got, 0x5a, sizeof(got));
    got.result = (cascade_claim_result){.count = 99, .paused = got.paused};
    assert_ok(
        it->db->driver->claim(it->db->self, &claim, got.claimed, &got.result));
    return got;
}

static void
assert_got_one(const two_queues *got, const cascade_uuid *id)
{
    assert_int_equal(got->result.count, 1);
    assert_memory_equal(&got->claimed[0].cascade_id, id, sizeof(*id));
}

/* ---- S25 ---------------------------------------------------------------- */

/* S25: what is due stays where it is until its queue goes on; other queues do
 * not wait for it. The claim tells which are paused. */
static void
a_claim_gives_nothing_of_a_paused_queue(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid mail = start_in(&it, "mail", -1);
    cascade_uuid slow = start_in(&it, "slow", -1);
    cascade_claim_result blind = {0};
    cascade_claimed claimed[10];
    two_queues got;

    assert_true(pause_queue(it.db, "slow", "{}"));
    got = claim_two(&it);
    assert_got_one(&got, &mail);
    assert_false(got.paused[0]);
    assert_true(got.paused[1]);
    assert_ok(db_claim(it.db, it.engine, "slow", 10, claimed, &blind));
    assert_int_equal(blind.count, 0);
    assert_true(resume_queue(it.db, "slow"));
    got = claim_two(&it);
    assert_got_one(&got, &slow);
    assert_false(got.paused[0]);
    assert_false(got.paused[1]);
}

/* S25: suspects are kept back too. */
static void
a_claim_of_suspects_gives_nothing_of_a_paused_queue(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_change *start = rows_start(it.rows, rows_id(it.rows));
    const char *queue = "default";
    cascade_claim claim = {.engine_id = it.engine,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 10,
                           .suspect_from = 3,
                           .suspects = true};
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};

    start->run.takeovers = 3;
    assert_ok(db_submit_one(it.db, start));
    assert_true(pause_queue(it.db, "default", "{}"));
    assert_ok(it.db->driver->claim(it.db->self, &claim, claimed, &result));
    assert_int_equal(result.count, 0);
    assert_true(resume_queue(it.db, "default"));
    assert_ok(it.db->driver->claim(it.db->self, &claim, claimed, &result));
    assert_int_equal(result.count, 1);
}

/* S25, G9: what a message names can be had, however its queue is: parked, due,
 * or ended. */
static void
a_message_is_received_in_a_paused_queue(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid parked = start_in(&it, "slow", LATER_MS);
    cascade_uuid due = start_in(&it, "slow", -1);
    cascade_uuid ended = mail_own(&it);
    two_queues got;

    start_in(&it, "slow", -1);
    assert_ok(mail_end(&it, ended, CASCADE_COMPLETED));
    assert_true(pause_queue(it.db, "slow", "{}"));
    assert_true(pause_queue(it.db, "mail", "{}"));
    assert_int_equal(mail_send_path(&it, parked, "a"), CASCADE_SENT);
    got = claim_two(&it);
    assert_got_one(&got, &parked);
    assert_string_equal(got.claimed[0].message_kind, "signal");
    assert_int_equal(mail_send_path(&it, due, "b"), CASCADE_SENT);
    got = claim_two(&it);
    assert_got_one(&got, &due);
    assert_int_equal(mail_send_path(&it, ended, "c"), CASCADE_SENT_ENDED);
    got = claim_two(&it);
    assert_got_one(&got, &ended);
    assert_true(got.paused[0] && got.paused[1]);
    assert_int_equal(mail_receive(&it, 10).count, 3);
    got = claim_two(&it);
    assert_int_equal(got.result.count, 0);
}

/* S25: who claims is not told to come back for what it would not get. */
static void
a_paused_queue_does_not_count_for_the_next_wake(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid sooner = start_in(&it, "slow", LATER_MS);
    cascade_uuid later = start_in(&it, "mail", 2 * LATER_MS);
    int64_t sooner_ms = mail_run(&it, &sooner).wake_at_ms;
    int64_t later_ms = mail_run(&it, &later).wake_at_ms;

    assert_int_equal(claim_two(&it).result.next_wake_at_ms, sooner_ms);
    assert_true(pause_queue(it.db, "slow", "{}"));
    assert_int_equal(claim_two(&it).result.next_wake_at_ms, later_ms);
    assert_true(pause_queue(it.db, "mail", "{}"));
    assert_true(claim_two(&it).result.next_wake_at_ms == CASCADE_TIME_NONE);
    assert_true(resume_queue(it.db, "slow"));
    assert_int_equal(claim_two(&it).result.next_wake_at_ms, sooner_ms);
}

/* S25, G2: cascades are started in a paused queue, also by one who owns them
 * from birth; and whoever owns one goes on. */
static void
a_pause_touches_neither_starts_nor_owners(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_change *start;
    cascade_change *give_up;
    cascade_uuid id = rows_id(it.rows);
    cascade_uuid waiting;

    assert_true(pause_queue(it.db, "slow", "{}"));
    waiting = start_in(&it, "slow", -1);
    start = rows_start_owned(it.rows, id, it.engine);
    start->run.queue = "slow";
    assert_ok(mail_write(&it, start));
    assert_int_equal(mail_run(&it, &id).claim_no, 1);
    assert_ok(mail_write(&it, rows_write(it.rows, id, 0)));
    give_up = rows_write(it.rows, id, 0);
    give_up->run_action = CASCADE_RUN_FREE;
    give_up->run.wake_at_ms = db_now(it.db);
    assert_ok(mail_write(&it, give_up));
    assert_int_equal(claim_two(&it).result.count, 0);
    assert_int_equal(mail_run(&it, &waiting).claim_no, 0);
    assert_true(resume_queue(it.db, "slow"));
    assert_int_equal(claim_two(&it).result.count, 2);
}

/* ---- S25 while others claim --------------------------------------------- */

#define RUNS 200
#define CLAIMERS 3

typedef struct pause_race {
    atomic_int phase; /* odd: the queue is paused all the time */
    atomic_bool over;
    atomic_size_t allowed; /* no claims but in such a phase from there on */
    atomic_size_t claimed;
    atomic_size_t tries; /* claims that began and ended in such a phase */
    atomic_size_t wrong; /* runs that those gave */
    atomic_bool failed;  /* or nothing more came of it */
} pause_race;

typedef struct pause_claimer {
    pthread_t thread;
    cascade_store *store;
    cascade_uuid engine;
    pause_race *race;
    cascade_err err;
} pause_claimer;

/* Once. */
static cascade_err
claim_in_phase(pause_claimer *it, int phase)
{
    const char *queue = "default";
    cascade_claim claim = {.engine_id = it->engine,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 1,
                           .suspect_from = 3};
    cascade_claimed claimed;
    cascade_claim_result result = {0};
    cascade_err err =
        it->store->driver->claim(it->store->self, &claim, &claimed, &result);

    if (err != CASCADE_OK)
        return err;
    atomic_fetch_add(&it->race->claimed, result.count);
    if (phase % 2 != 0 && phase == atomic_load(&it->race->phase)) {
        atomic_fetch_add(&it->race->wrong, result.count);
        atomic_fetch_add(&it->race->tries, 1);
    }
    return CASCADE_OK;
}

static void *
claim_until_over(void *context)
{
    pause_claimer *it = context;
    pause_race *race = it->race;

    while (!atomic_load(&race->over) && it->err == CASCADE_OK) {
        int phase = atomic_load(&race->phase);

        if (phase % 2 != 0 ||
            atomic_load(&race->claimed) < atomic_load(&race->allowed))
            it->err = claim_in_phase(it, phase);
        sched_yield();
    }
    if (it->err != CASCADE_OK)
        atomic_store(&race->failed, true);
    return NULL;
}

static void
await_count(pause_race *race, const atomic_size_t *count, size_t wanted)
{
    int64_t end_ms = 0;

    while (atomic_load(count) < wanted && !atomic_load(&race->failed)) {
        if (!in_time(&end_ms, CONFORMANCE_WAIT_MS))
            atomic_store(&race->failed, true);
        sched_yield();
    }
}

/* S25: a claim that begins after the pause has returned gets nothing, though
 * there are runs to be had, and all are there when the queue goes on. */
static void
a_pause_holds_for_claims_that_come_after_it(void **state)
{
    conformance_db *db = *state;
    pause_race race = {.claimed = 0};
    pause_claimer claimers[CLAIMERS];
    cascade_uuid ids[RUNS];

    db_start_many(db, ids, RUNS);
    for (int i = 0; i < CLAIMERS; i++) {
        claimers[i] =
            (pause_claimer){.store = db_open(db),
                            .engine = db_attach(db, 1, DB_LONG_LEASE_MS),
                            .race = &race};
        assert_int_equal(0, pthread_create(&claimers[i].thread, NULL,
                                           claim_until_over, &claimers[i]));
    }
    for (size_t round = 1; round <= 5; round++) {
        atomic_store(&race.allowed, round * 30);
        await_count(&race, &race.claimed, round * 20);
        assert_true(pause_queue(db, "default", "{}"));
        atomic_fetch_add(&race.phase, 1);
        await_count(&race, &race.tries, round * 2 * CLAIMERS);
        atomic_fetch_add(&race.phase, 1);
        assert_true(resume_queue(db, "default"));
    }
    atomic_store(&race.allowed, RUNS);
    await_count(&race, &race.claimed, RUNS);
    atomic_store(&race.over, true);
    for (int i = 0; i < CLAIMERS; i++) {
        pthread_join(claimers[i].thread, NULL);
        assert_int_equal(claimers[i].err, CASCADE_OK);
    }
    if (atomic_load(&race.failed))
        fail_msg("no more than %zu runs and %zu claims of a paused queue came",
                 atomic_load(&race.claimed), atomic_load(&race.tries));
    assert_int_equal(atomic_load(&race.wrong), 0);
    assert_int_equal(atomic_load(&race.claimed), RUNS);
}

/* ---- What is told of queues --------------------------------------------- */

typedef struct listed_queues {
    test_rows *rows;
    cascade_queue_row items[LISTED_MAX];
    size_t count;
    size_t fail_at; /* the sink fails at this row; 0: never */
} listed_queues;

static cascade_err
keep_queue(void *context, const cascade_queue_row *row)
{
    listed_queues *list = context;
    csc_arena *arena = &list->rows->arena;
    cascade_queue_row *item;

    if (list->count + 1 == list->fail_at)
        return cascade_store_fail(CASCADE_ERR_CORRUPT, "this sink is full");
    assert_true(list->count < LISTED_MAX);
    item = &list->items[list->count++];
    *item = *row;
    item->queue = must(csc_arena_strdup(arena, row->queue));
    item->about = must(csc_arena_strdup(arena, row->about));
    return CASCADE_OK;
}

static listed_queues
list_queues(conformance_db *db)
{
    listed_queues list = {.rows = &db->rows};

    assert_ok(
        conformance_manage(db->driver)->queues(db->self, keep_queue, &list));
    return list;
}

static void
assert_counts(const cascade_queue_row *row, int64_t owned, int64_t due,
              int64_t later, int64_t needing)
{
    assert_int_equal(row->owned, owned);
    assert_int_equal(row->due, due);
    assert_int_equal(row->later, later);
    assert_int_equal(row->needing, needing);
}

static void
an_empty_store_has_no_queues(void **state)
{
    conformance_db *db = *state;

    assert_int_equal(list_queues(db).count, 0);
    assert_false(resume_queue(db, "default"));
    assert_int_equal(list_queues(db).count, 0);
}

/* Each run counts once, by who has it or what it waits for; those whose owner
 * is gone are owned until they are freed. */
static void
a_queue_tells_what_its_runs_wait_for(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid gone = db_attach(it.db, 1, DB_LONG_LEASE_MS);
    cascade_uuid first = start_in(&it, "default", -20000);
    cascade_change *starts[2];
    cascade_change *start;
    listed_queues list;
    size_t freed;

    start_in(&it, "default", -10000);
    start_in(&it, "default", LATER_MS);
    start = rows_start(it.rows, rows_id(it.rows));
    start->run.needs = "a node";
    start->run.wake_at_ms -= 30000;
    assert_ok(db_submit_one(it.db, start));
    mail_own(&it);
    assert_ok(mail_end(&it, mail_own(&it), CASCADE_ERROR));
    for (int i = 0; i < 2; i++)
        starts[i] = rows_start_owned(it.rows, rows_id(it.rows), gone);
    assert_ok(db_commit(it.db, gone, 0, 1, starts, 2, NULL));
    list = list_queues(it.db);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].queue, "default");
    assert_counts(&list.items[0], 3, 2, 1, 1);
    assert_int_equal(list.items[0].due_since_ms,
                     mail_run(&it, &first).wake_at_ms);
    assert_false(list.items[0].paused);
    assert_true(list.items[0].paused_at_ms == CASCADE_TIME_NONE);
    assert_string_equal(list.items[0].about, "{}");
    assert_ok(it.db->driver->remove(it.db->self, &gone, 1, 1, &freed));
    list = list_queues(it.db);
    assert_counts(&list.items[0], 2, 3, 1, 1);
    assert_ok(it.db->driver->remove(it.db->self, NULL, 0, 10, &freed));
    list = list_queues(it.db);
    assert_counts(&list.items[0], 1, 4, 1, 1);
}

/* A queue that has nothing due has no time since; one whose last run has ended
 * is not there, unless it is paused. */
static void
a_queue_is_listed_that_has_runs_or_is_paused(void **state)
{
    mail_scene it = mail_begin(*state);
    listed_queues list;

    start_in(&it, "later", LATER_MS);
    assert_ok(mail_end(&it, mail_own(&it), CASCADE_COMPLETED));
    assert_true(pause_queue(it.db, "nothing", "{\"by\":\"me\"}"));
    list = list_queues(it.db);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].queue, "later");
    assert_counts(&list.items[0], 0, 0, 1, 0);
    assert_true(list.items[0].due_since_ms == CASCADE_TIME_NONE);
    assert_string_equal(list.items[1].queue, "nothing");
    assert_counts(&list.items[1], 0, 0, 0, 0);
    assert_true(list.items[1].due_since_ms == CASCADE_TIME_NONE);
    assert_true(list.items[1].paused);
    assert_true(resume_queue(it.db, "nothing"));
    assert_int_equal(list_queues(it.db).count, 1);
}

/* By bytes, whatever the language of the database. */
static void
queues_are_listed_by_name(void **state)
{
    static const char *const names[] = {"\xc3\xa9", "a", "Z",  "z",
                                        "_",        "A", "a2", "a10"};
    mail_scene it = mail_begin(*state);
    listed_queues list;

    for (int i = 0; i < 8; i++) {
        if (i % 2 == 0)
            start_in(&it, names[i], -1);
        if (i % 4 != 0)
            assert_true(pause_queue(it.db, names[i], "{}"));
    }
    list = list_queues(it.db);
    assert_int_equal(list.count, 8);
    for (size_t i = 1; i < list.count; i++)
        assert_true(strcmp(list.items[i - 1].queue, list.items[i].queue) < 0);
}

static void
an_error_of_a_queue_sink_is_the_result(void **state)
{
    conformance_db *db = *state;
    listed_queues list = {.rows = &db->rows, .fail_at = 2};

    pause_queue(db, "a", "{}");
    pause_queue(db, "b", "{}");
    pause_queue(db, "c", "{}");
    assert_fails(
        CASCADE_ERR_CORRUPT,
        conformance_manage(db->driver)->queues(db->self, keep_queue, &list));
    assert_string_equal(cascade_errmsg(), "this sink is full");
    assert_int_equal(list.count, 1);
    assert_int_equal(list_queues(db).count, 3);
}

/* ---- What is told of a pause -------------------------------------------- */

/* The first one stays: who paused it and when does not change by others who
 * would have. */
static void
a_pause_of_a_paused_queue_changes_nothing(void **state)
{
    conformance_db *db = *state;
    int64_t before_ms = db_now(db);
    int64_t after_ms;
    listed_queues list;
    char *picture;

    assert_true(pause_queue(db, "mail", "{\"by\":\"first\"}"));
    after_ms = db_now(db);
    picture = db_picture(db);
    db_advance(db, 5);
    assert_false(pause_queue(db, "mail", "{\"by\":\"second\"}"));
    assert_false(resume_queue(db, "default"));
    list = list_queues(db);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].about, "{\"by\":\"first\"}");
    assert_in_range(list.items[0].paused_at_ms, before_ms, after_ms);
    db_assert_unchanged(db, picture);
    assert_true(resume_queue(db, "mail"));
    assert_false(resume_queue(db, "mail"));
    assert_true(pause_queue(db, "mail", "{\"by\":\"third\"}"));
    list = list_queues(db);
    assert_string_equal(list.items[0].about, "{\"by\":\"third\"}");
    assert_true(list.items[0].paused_at_ms > after_ms);
}

/* S13, S18: the text is kept as it is. */
static void
what_is_said_about_a_pause_is_kept_as_it_is(void **state)
{
    conformance_db *db = *state;

    for (size_t i = 0; i < ODD_COUNT; i++) {
        listed_queues list;

        assert_true(pause_queue(db, "mail", odd_texts[i]));
        list = list_queues(db);
        assert_string_equal(list.items[0].about, odd_texts[i]);
        assert_true(resume_queue(db, "mail"));
    }
}

/* S18: each name is a queue of its own, whatever is in it. */
static void
queues_of_any_name_are_kept_apart(void **state)
{
    static const char *const names[] = {"a",   "A",  "a ", "a'",    "a\"",
                                        "a\\", "a%", "a_", "'; --", "\xc3\xa9"};
    mail_scene it = mail_begin(*state);
    char *longest = rows_text(it.rows, "%0255d", 1);

    for (int i = 0; i < 10; i++)
        start_in(&it, names[i], -1);
    start_in(&it, longest, -1);
    assert_true(pause_queue(it.db, longest, "{}"));
    for (int i = 0; i < 10; i += 2)
        assert_true(pause_queue(it.db, names[i], "{}"));
    for (int i = 0; i < 11; i++) {
        const char *name = i < 10 ? names[i] : longest;
        cascade_claimed claimed[2];
        bool paused = false;
        cascade_claim_result result = {.paused = &paused};

        assert_ok(db_claim(it.db, it.engine, name, 2, claimed, &result));
        assert_int_equal(paused, i % 2 == 0);
        assert_int_equal(result.count, i % 2);
    }
}

/* ---- What incarnations say ---------------------------------------------- */

typedef struct said {
    const cascade_uuid *engine;
    char about[512];
    int64_t started_at_ms;
} said;

static cascade_err
keep_said(void *context, const cascade_incarnation *row)
{
    said *it = context;

    if (!csc_uuid_equal(&row->engine_id, it->engine))
        return CASCADE_OK;
    assert_non_null(row->about);
    assert_true(strlen(row->about) < sizeof(it->about));
    strcpy(it->about, row->about);
    it->started_at_ms = row->started_at_ms;
    return CASCADE_OK;
}

static said
ask_engine(conformance_db *db, const cascade_uuid *engine)
{
    said it = {.engine = engine};

    assert_ok(db->driver->engines(db->self, keep_said, &it, NULL));
    assert_true(it.started_at_ms != 0);
    return it;
}

/* S13, S18: an incarnation says what it serves; nobody else reads it. */
static void
what_an_incarnation_says_is_kept_as_it_is(void **state)
{
    conformance_db *db = *state;

    for (size_t i = 0; i < ODD_COUNT; i++) {
        cascade_incarnation row =
            rows_incarnation(&db->rows, 1, DB_LONG_LEASE_MS);

        row.about = odd_texts[i];
        assert_ok(db->driver->attach(db->self, &row));
        assert_string_equal(ask_engine(db, &row.engine_id).about, odd_texts[i]);
    }
}

static void
an_incarnation_that_says_nothing_says_an_empty_object(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);

    assert_string_equal(ask_engine(db, &engine).about, "{}");
}

/* By the store's clock; a repeated attach and a renewal change nothing. */
static void
an_incarnation_tells_since_when_it_is_there(void **state)
{
    conformance_db *db = *state;
    cascade_incarnation row = rows_incarnation(&db->rows, 1, DB_LONG_LEASE_MS);
    int64_t before_ms = db_now(db);
    int64_t after_ms;
    said it;

    row.about = "{\"first\":true}";
    row.started_at_ms = 12345;
    assert_ok(db->driver->attach(db->self, &row));
    after_ms = db_now(db);
    db_advance(db, 5);
    row.about = "{\"second\":true}";
    assert_ok(db->driver->attach(db->self, &row));
    assert_ok(
        db->driver->renew(db->self, &row.engine_id, DB_LONG_LEASE_MS, NULL));
    it = ask_engine(db, &row.engine_id);
    assert_in_range(it.started_at_ms, before_ms, after_ms);
    assert_string_equal(it.about, "{\"first\":true}");
}

conformance_group
conformance_queues(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_gives_nothing_of_a_paused_queue),
        cmocka_unit_test(a_claim_of_suspects_gives_nothing_of_a_paused_queue),
        cmocka_unit_test(a_message_is_received_in_a_paused_queue),
        cmocka_unit_test(a_paused_queue_does_not_count_for_the_next_wake),
        cmocka_unit_test(a_pause_touches_neither_starts_nor_owners),
        cmocka_unit_test(a_pause_holds_for_claims_that_come_after_it),
        cmocka_unit_test(an_empty_store_has_no_queues),
        cmocka_unit_test(a_queue_tells_what_its_runs_wait_for),
        cmocka_unit_test(a_queue_is_listed_that_has_runs_or_is_paused),
        cmocka_unit_test(queues_are_listed_by_name),
        cmocka_unit_test(an_error_of_a_queue_sink_is_the_result),
        cmocka_unit_test(a_pause_of_a_paused_queue_changes_nothing),
        cmocka_unit_test(what_is_said_about_a_pause_is_kept_as_it_is),
        cmocka_unit_test(queues_of_any_name_are_kept_apart),
        cmocka_unit_test(what_an_incarnation_says_is_kept_as_it_is),
        cmocka_unit_test(an_incarnation_that_says_nothing_says_an_empty_object),
        cmocka_unit_test(an_incarnation_tells_since_when_it_is_there),
    };

    return (conformance_group){"queues", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
