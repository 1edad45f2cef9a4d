/* SPDX-License-Identifier: MIT
 *
 * Mending: repairs, purges, and cascades that come as they ended or go on after
 * their end.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "store/conformance/conformance_mail.h"

#define MANY 1000
#define ROUNDS 25
#define FAR_MS INT64_C(3600000)

/* ---- Short forms -------------------------------------------------------- */

static cascade_err
count_listed(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)row;
    *(int *)context += run == NULL ? 1 : 100;
    return CASCADE_OK;
}

/* 0: no cascade; 1: it has no run; 100: it has one. */
static int
look(mail_scene *it, const cascade_uuid *id)
{
    int found = 0;
    cascade_query query = {.id = id, .limit = 1};

    assert_ok(it->db->driver->list(it->db->self, &query, count_listed, &found));
    return found;
}

static cascade_err
keep_row(void *context, const cascade_row *row)
{
    *(cascade_row *)context = *row;
    return CASCADE_OK;
}

/* Its user_id is not to be read. */
static cascade_row
read_row(mail_scene *it, const cascade_uuid *id)
{
    cascade_row row = {.fn_id = -1};
    cascade_load_sink sink = {.context = &row, .on_cascade = keep_row};

    assert_ok(it->db->driver->load(it->db->self, id, 1, 0, &sink));
    assert_true(row.fn_id >= 0);
    return row;
}

static int32_t
key_number(mail_scene *it, const char *user, const char *key)
{
    int32_t number = 0;

    assert_ok(conformance_chain(it->db->driver)
                  ->key(it->db->self, user, key, &number));
    return number;
}

/* A cascade that is RUNNING and has no run: what a repair is for. */
static cascade_uuid
make_stray(mail_scene *it)
{
    cascade_uuid id = mail_own(it);

    assert_ok(mail_end(it, id, CASCADE_RUNNING));
    return id;
}

/* A repair that makes it run again. */
static cascade_repair
repair_of(mail_scene *it, const cascade_uuid *id)
{
    cascade_row was = read_row(it, id);

    was.user_id = "user";
    return (cascade_repair){.was = was,
                            .status = was.status,
                            .fn_id = was.fn_id,
                            .starts = true,
                            .run = {.cascade_id = *id,
                                    .queue = "default",
                                    .wake_at_ms = it->rows->now_ms - 1}};
}

static bool
repair_one(mail_scene *it, const cascade_repair *repair)
{
    bool done = false;

    assert_ok(conformance_manage(it->db->driver)
                  ->repair(it->db->self, repair, 1, &done));
    return done;
}

static size_t
purge(mail_scene *it, const cascade_uuid *ids, size_t count, int64_t before_ms)
{
    size_t deleted = 12345;

    assert_ok(conformance_manage(it->db->driver)
                  ->purge(it->db->self, ids, count, before_ms, &deleted));
    return deleted;
}

typedef void *(*racer)(void *context);

/* They take turns at being the first to begin. */
static void
run_both(int round, racer one, racer other, void *context)
{
    racer racers[2] = {round % 2 == 0 ? one : other,
                       round % 2 == 0 ? other : one};
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        assert_int_equal(0,
                         pthread_create(&threads[i], NULL, racers[i], context));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* ---- Repair ------------------------------------------------------------- */

/* S27: the run is free and as it is given, and a claim gets it as a first
 * one. The times of the cascade stay. */
static void
a_repair_gives_a_cascade_its_run(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = make_stray(&it);
    cascade_repair repair = repair_of(&it, &id);
    cascade_claimed claimed[2];
    cascade_claim_result result = {0};
    cascade_run_row run;
    cascade_row row;

    repair.run = (cascade_run_row){.cascade_id = id,
                                   .queue = "o'neill",
                                   .priority = 7,
                                   .wake_at_ms = it.rows->now_ms - 5,
                                   .limit_key = "stripe",
                                   .claim_no = 0};
    assert_true(repair_one(&it, &repair));
    run = mail_run(&it, &id);
    assert_string_equal(run.limit_key, "stripe");
    assert_string_equal(run.queue, "o'neill");
    assert_int_equal(run.priority, 7);
    assert_int_equal(run.wake_at_ms, it.rows->now_ms - 5);
    assert_true(csc_uuid_is_nil(&run.engine_id));
    assert_int_equal(run.claim_no, 0);
    assert_int_equal(run.takeovers, 0);
    assert_null(run.needs);
    row = read_row(&it, &id);
    assert_int_equal(row.status, CASCADE_RUNNING);
    assert_int_equal(row.updated_at_ms, repair.was.updated_at_ms);
    assert_ok(db_claim(it.db, it.engine, "o'neill", 2, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_int_equal(claimed[0].claim_no, 1);
}

/* S27: status and fn_id become what is said, each way, without a run. */
static void
a_repair_writes_status_and_fn_id(void **state)
{
    static const cascade_status ends[] = {CASCADE_COMPLETED, CASCADE_ERROR,
                                          CASCADE_RUNNING};
    mail_scene it = mail_begin(*state);
    cascade_uuid id = make_stray(&it);
    cascade_uuid other = make_stray(&it);

    for (int i = 0; i < 3; i++) {
        cascade_repair repair = repair_of(&it, &id);
        cascade_row row;

        repair.starts = false;
        repair.status = ends[i];
        repair.fn_id = 7 + i;
        assert_true(repair_one(&it, &repair));
        row = read_row(&it, &id);
        assert_int_equal(row.status, ends[i]);
        assert_int_equal(row.fn_id, 7 + i);
        assert_int_equal(look(&it, &id), 1);
    }
    assert_int_equal(read_row(&it, &other).fn_id, 0);
}

/* S27, G5: whoever has the run decides, also when it is nobody. */
static void
a_repair_leaves_what_has_a_run(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid owned = mail_own(&it);
    cascade_change *start = rows_start(it.rows, rows_id(it.rows));
    cascade_repair repair;
    char *picture;

    assert_ok(db_submit_one(it.db, start));
    picture = db_picture(it.db);
    for (int i = 0; i < 4; i++) {
        repair = repair_of(&it, i % 2 == 0 ? &owned : &start->cascade.id);
        repair.starts = i < 2;
        repair.status = CASCADE_ERROR;
        repair.fn_id = 9;
        repair.key = "a";
        repair.run_number = 5;
        assert_false(repair_one(&it, &repair));
    }
    db_assert_unchanged(it.db, picture);
}

/* S27: what was read is no more: nothing is done. */
static void
a_repair_leaves_what_is_otherwise_than_read(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = make_stray(&it);
    cascade_uuid nobody = rows_id(it.rows);
    cascade_repair repairs[3];
    bool done[3] = {true, true, true};
    char *picture = db_picture(it.db);

    for (int i = 0; i < 3; i++) {
        repairs[i] = repair_of(&it, &id);
        repairs[i].key = "b";
        repairs[i].run_number = 3;
    }
    repairs[0].was.status = CASCADE_COMPLETED;
    repairs[1].was.fn_id = 1;
    repairs[2].was.id = nobody;
    repairs[2].run.cascade_id = nobody;
    for (int i = 0; i < 3; i++)
        assert_false(repair_one(&it, &repairs[i]));
    assert_ok(conformance_manage(it.db->driver)
                  ->repair(it.db->self, repairs, 3, done));
    assert_false(done[0] || done[1] || done[2]);
    db_assert_unchanged(it.db, picture);
}

/* S22, S27: a key is moved on and never back, for the user of the cascade. */
static void
a_repair_moves_a_key_on(void **state)
{
    static const int32_t numbers[][2] = {{1, 1}, {3, 3}, {2, 3}, {7, 7}};
    mail_scene it = mail_begin(*state);

    for (int i = 0; i < 4; i++) {
        cascade_uuid id = make_stray(&it);
        cascade_repair repair = repair_of(&it, &id);

        repair.key = "o'neill";
        repair.run_number = numbers[i][0];
        assert_true(repair_one(&it, &repair));
        assert_int_equal(key_number(&it, "user", "o'neill"), numbers[i][1]);
    }
    assert_int_equal(key_number(&it, "other", "o'neill"), 1);
    assert_int_equal(key_number(&it, "user", "O'neill"), 1);
}

/* S27: each of a call is told for itself. */
static void
a_repair_tells_of_each(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid *ids = calloc(MANY, sizeof(*ids));
    cascade_repair *repairs = calloc(MANY, sizeof(*repairs));
    cascade_change **starts = calloc(MANY, sizeof(*starts));
    bool *done = calloc(MANY, sizeof(*done));

    assert_true(ids && repairs && starts && done);
    for (int i = 0; i < MANY; i++) {
        ids[i] = rows_id(it.rows);
        starts[i] = rows_start(it.rows, ids[i]);
        if (i % 3 != 0)
            starts[i]->cascade.status = CASCADE_COMPLETED;
        repairs[i] = (cascade_repair){
            .was = {.id = ids[i], .status = CASCADE_COMPLETED, .user_id = "u"},
            .status = CASCADE_RUNNING,
            .fn_id = i,
            .starts = true,
            .run = {.cascade_id = ids[i], .queue = "mended"}};
    }
    assert_ok(db_submit(it.db, starts, MANY, NULL));
    assert_ok(conformance_manage(it.db->driver)
                  ->repair(it.db->self, repairs, MANY, done));
    for (int i = 0; i < MANY; i++)
        assert_int_equal(done[i], i % 3 != 0);
    for (int i = 0; i < MANY; i += 111) {
        assert_string_equal(mail_run(&it, &ids[i]).queue,
                            i % 3 == 0 ? "default" : "mended");
        assert_int_equal(read_row(&it, &ids[i]).fn_id, i % 3 == 0 ? 0 : i);
    }
    free(ids);
    free(repairs);
    free(starts);
    free(done);
}

/* S16, S27: all or none of a call. */
static void
a_refused_repair_changes_nothing(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_change *start =
        rows_start_owned(it.rows, rows_id(it.rows), it.engine);
    cascade_repair repairs[3];
    bool done[3];
    char *picture;

    start->key = "c";
    start->run_number = 2;
    assert_ok(mail_write(&it, start));
    for (int i = 0; i < 3; i++) {
        cascade_uuid id = make_stray(&it);

        repairs[i] = repair_of(&it, &id);
        repairs[i].fn_id = 3;
        repairs[i].key = i < 2 ? "c" : "b";
        repairs[i].run_number = 3 + i;
    }
    picture = db_picture(it.db);
    for (int i = 0; i < 3; i++) {
        repairs[i].run.priority = i % 2 == 0 ? 10 : -1;
        assert_fails(CASCADE_ERR_REFUSED,
                     conformance_manage(it.db->driver)
                         ->repair(it.db->self, repairs, 3, done));
        repairs[i].run.priority = 9;
    }
    db_assert_unchanged(it.db, picture);
    assert_ok(conformance_manage(it.db->driver)
                  ->repair(it.db->self, repairs, 3, done));
    assert_true(done[0] && done[1] && done[2]);
    assert_int_equal(key_number(&it, "user", "c"), 4);
    assert_int_equal(key_number(&it, "user", "b"), 5);
}

static void
a_purge_takes_as_many_as_its_bound(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid *ids = calloc(MANY, sizeof(*ids));

    assert_non_null(ids);
    assert_int_equal(purge(&it, ids, MANY, it.rows->now_ms), 0);
    free(ids);
}

/* ---- Repair beside a claim ---------------------------------------------- */

typedef struct repair_race {
    mail_scene *it;
    cascade_store *store; /* the repairer's */
    cascade_repair repair;
    bool done;
    cascade_claimed claimed[2];
    cascade_claim_result result;
    cascade_err repaired;
    cascade_err claim;
} repair_race;

static void *
repair_in_race(void *context)
{
    repair_race *race = context;

    race->repaired =
        conformance_manage(race->store->driver)
            ->repair(race->store->self, &race->repair, 1, &race->done);
    return NULL;
}

static void *
claim_in_race(void *context)
{
    repair_race *race = context;

    race->claim = db_claim(race->it->db, race->it->engine, "default", 2,
                           race->claimed, &race->result);
    return NULL;
}

/* Where several write at once a claim gives in to who has the row, and gives
 * nothing; who asks again gets it. */
static void
claim_again(repair_race *race)
{
    if (race->claim == CASCADE_OK && race->result.count == 0 &&
        race->it->db->driver->lane_max > 1)
        (void)claim_in_race(race);
}

/* S7, S27: a message makes a claim insert the run that a repair would insert.
 * One of them does; the claim gets it, and the repair says whether it did. */
static void
of_a_repair_and_a_claim_one_makes_the_run(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_store *other = db_open(it.db);
    int done = 0;

    for (int round = 0; round < ROUNDS; round++) {
        cascade_uuid id = make_stray(&it);
        repair_race race = {.it = &it, .store = other};
        cascade_run_row run;

        assert_int_equal(
            mail_send_path(&it, id, rows_text(it.rows, "race %d", round)),
            CASCADE_SENT);
        race.repair = repair_of(&it, &id);
        race.repair.fn_id = 5;
        run_both(round, repair_in_race, claim_in_race, &race);
        claim_again(&race);
        assert_int_equal(race.repaired, CASCADE_OK);
        assert_int_equal(race.claim, CASCADE_OK);
        assert_int_equal(race.result.count, 1);
        assert_memory_equal(&race.claimed[0].cascade_id, &id, sizeof(id));
        assert_int_equal(race.claimed[0].claim_no, 1);
        assert_int_equal(read_row(&it, &id).fn_id, race.done ? 5 : 0);
        run = mail_run(&it, &id);
        assert_true(csc_uuid_equal(&run.engine_id, &it.engine));
        done += race.done;
    }
    print_message("%d of %d repairs came first\n", done, ROUNDS);
}

/* ---- Purge -------------------------------------------------------------- */

/* An ended cascade with two executions and an event, written at `at_ms`. */
static cascade_uuid
make_ended(mail_scene *it, cascade_status status, int64_t at_ms)
{
    cascade_uuid id = mail_own(it);
    cascade_change *end = rows_write(it->rows, id, 1);

    rows_update(it->rows, end, 0, "{}");
    rows_insert(it->rows, end, 1, "open");
    rows_event(it->rows, end, 0, "key", "1");
    end->cascade.status = status;
    end->cascade.updated_at_ms = at_ms;
    end->run_action = CASCADE_RUN_END;
    assert_ok(mail_write(it, end));
    return id;
}

/* S21, S26: nothing is left of them, so ids and paths can be used again; the
 * keys go on. */
static void
a_purge_leaves_no_row(void **state)
{
    mail_scene it = mail_begin(*state);
    int64_t now_ms = it.rows->now_ms;
    cascade_change *start =
        rows_start_owned(it.rows, rows_id(it.rows), it.engine);
    cascade_uuid ids[3];
    char *picture;

    start->key = "a";
    start->run_number = 2;
    assert_ok(mail_write(&it, start));
    picture = db_picture(it.db);
    ids[0] = make_ended(&it, CASCADE_COMPLETED, now_ms);
    ids[1] = make_ended(&it, CASCADE_ERROR, now_ms - FAR_MS);
    ids[2] = rows_id(it.rows);
    assert_int_equal(purge(&it, ids, 3, now_ms + 1), 2);
    assert_int_equal(purge(&it, ids, 3, now_ms + 1), 0);
    db_assert_unchanged(it.db, picture);
    assert_int_equal(mail_send_path(&it, ids[0], "late"), CASCADE_SENT_ABSENT);
    assert_ok(mail_end(&it, start->cascade.id, CASCADE_COMPLETED));
    assert_int_equal(purge(&it, &start->cascade.id, 1, now_ms + 1), 1);
    assert_int_equal(key_number(&it, "user", "a"), 2);
    start->key = NULL;
    assert_ok(mail_write(&it, start));
    assert_int_equal(look(&it, &start->cascade.id), 100);
}

/* S26: one reason is enough to stay; what stands beside it goes. */
static void
a_purge_spares_what_may_not_go(void **state)
{
    mail_scene it = mail_begin(*state);
    int64_t now_ms = it.rows->now_ms;
    cascade_change *free_one = rows_start(it.rows, rows_id(it.rows));
    cascade_uuid ids[7];
    char *picture;

    assert_ok(db_submit_one(it.db, free_one));
    ids[0] = mail_own(&it);
    ids[1] = free_one->cascade.id;
    ids[2] = make_stray(&it);
    ids[3] = make_ended(&it, CASCADE_COMPLETED, now_ms + 1);
    ids[4] = make_ended(&it, CASCADE_ERROR, now_ms + 2);
    ids[5] = make_ended(&it, CASCADE_COMPLETED, now_ms - 5);
    assert_int_equal(mail_send_path(&it, ids[5], "p"), CASCADE_SENT_ENDED);
    picture = db_picture(it.db);
    ids[6] = make_ended(&it, CASCADE_COMPLETED, now_ms);
    assert_int_equal(purge(&it, ids, 7, now_ms + 1), 1);
    assert_int_equal(look(&it, &ids[6]), 0);
    db_assert_unchanged(it.db, picture);
}

/* S26: what has ended and was claimed for a message has a run. */
static void
a_purge_spares_an_ended_cascade_that_is_owned(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = make_ended(&it, CASCADE_ERROR, it.rows->now_ms - 5);
    cascade_change *receipt;
    cascade_claimed claimed[2];
    cascade_claim_result result = {0};

    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT_ENDED);
    assert_ok(db_claim(it.db, it.engine, "default", 2, claimed, &result));
    assert_int_equal(result.count, 1);
    receipt = rows_write(it.rows, id, 1);
    receipt->cascade.status = CASCADE_ERROR;
    receipt->cascade.updated_at_ms = it.rows->now_ms - 5;
    rows_receive(it.rows, receipt, mail_receive(&it, 1).items[0].row.id);
    assert_ok(mail_write(&it, receipt));
    assert_int_equal(purge(&it, &id, 1, it.rows->now_ms), 0);
    assert_int_equal(look(&it, &id), 100);
    assert_ok(mail_end(&it, id, CASCADE_ERROR));
    assert_int_equal(purge(&it, &id, 1, it.rows->now_ms + 1), 1);
}

/* S26: a thousand at a time, and an id twice counts once. */
static void
a_purge_takes_a_thousand(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid *ids = calloc(MANY, sizeof(*ids));
    cascade_change **starts = calloc(MANY, sizeof(*starts));
    cascade_query query = {.limit = 1000};
    int left = 0;

    assert_true(ids && starts);
    for (int i = 0; i < MANY; i++) {
        ids[i] = rows_id(it.rows);
        starts[i] = rows_start(it.rows, ids[i]);
        if (i % 10 != 0)
            starts[i]->cascade.status = CASCADE_COMPLETED;
    }
    assert_ok(db_submit(it.db, starts, MANY, NULL));
    ids[10] = ids[1];
    assert_int_equal(purge(&it, ids, MANY, it.rows->now_ms + 1), 900);
    assert_ok(it.db->driver->list(it.db->self, &query, count_listed, &left));
    assert_int_equal(left, 100 * 100);
    free(ids);
    free(starts);
}

/* ---- Purge beside others ------------------------------------------------ */

typedef struct purge_race {
    mail_scene *it;
    cascade_store *store; /* the purger's */
    cascade_uuid id;
    int64_t before_ms;
    size_t deleted;
    cascade_err purged;
    cascade_message_row *message;
    cascade_sent sent;
    cascade_change *change;
    cascade_err written;
} purge_race;

static void *
purge_in_race(void *context)
{
    purge_race *race = context;

    race->purged = conformance_manage(race->store->driver)
                       ->purge(race->store->self, &race->id, 1, race->before_ms,
                               &race->deleted);
    return NULL;
}

static void *
send_in_race(void *context)
{
    purge_race *race = context;

    race->written =
        mail_submit(race->it, NULL, NULL, race->message, 1, &race->sent);
    return NULL;
}

static void *
write_in_race(void *context)
{
    purge_race *race = context;

    race->written = mail_write(race->it, race->change);
    return NULL;
}

/* S26, S20: a message that was sent to a cascade that stays can be received; to
 * one that is gone it is not sent. Only what is sent while the cascade is being
 * purged may be lost with it, as with any deletion. */
static void
a_purge_beside_a_message_keeps_both_or_none(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_store *other = db_open(it.db);
    int64_t now_ms = it.rows->now_ms;
    int deleted = 0;

    for (int round = 0; round < ROUNDS; round++) {
        purge_race race = {.it = &it,
                           .store = other,
                           .id = make_ended(&it, CASCADE_COMPLETED, now_ms),
                           .before_ms = now_ms + 1};

        race.message = rows_message(it.rows, race.id,
                                    rows_text(it.rows, "race %d", round));
        run_both(round, purge_in_race, send_in_race, &race);
        assert_int_equal(race.purged, CASCADE_OK);
        assert_int_equal(race.written, CASCADE_OK);
        assert_true(race.sent == CASCADE_SENT_ENDED ||
                    (race.sent == CASCADE_SENT_ABSENT && race.deleted == 1));
        assert_int_equal(look(&it, &race.id), race.deleted == 1 ? 0 : 1);
        assert_int_equal(mail_load(&it, &race.id, 1).count,
                         race.deleted == 1 ? 0 : 1);
        deleted += (int)race.deleted;
    }
    print_message("%d of %d purges came first\n", deleted, ROUNDS);
}

/* S26, G5: as long as its owner has not ended it again it has a run, and then
 * it was written since: at no moment may it go. */
static void
a_purge_beside_an_owner_deletes_nothing(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_store *other = db_open(it.db);
    int64_t now_ms = it.rows->now_ms;

    for (int round = 0; round < ROUNDS; round++) {
        purge_race race = {.it = &it,
                           .store = other,
                           .id = make_ended(&it, CASCADE_COMPLETED, now_ms),
                           .before_ms = now_ms + 1};
        cascade_claimed claimed[2];
        cascade_claim_result result = {0};
        mail_inbox inbox;

        assert_int_equal(
            mail_send_path(&it, race.id, rows_text(it.rows, "race %d", round)),
            CASCADE_SENT_ENDED);
        assert_ok(db_claim(it.db, it.engine, "default", 2, claimed, &result));
        assert_int_equal(result.count, 1);
        inbox = mail_receive(&it, 1);
        race.change = mail_receipt(&it, race.id, 2, &inbox.items[0]);
        race.change->run_action = CASCADE_RUN_END;
        race.change->cascade.status = CASCADE_COMPLETED;
        race.change->cascade.updated_at_ms = now_ms + 1;
        run_both(round, purge_in_race, write_in_race, &race);
        assert_int_equal(race.purged, CASCADE_OK);
        assert_int_equal(race.written, CASCADE_OK);
        assert_int_equal(race.deleted, 0);
        assert_int_equal(look(&it, &race.id), 1);
    }
}

/* ---- Starts of what has ended ------------------------------------------- */

/* S6: it comes as it ended: whole, and without a run, whoever starts it. */
static void
a_start_of_an_ended_cascade_has_no_run(void **state)
{
    static const cascade_status ends[] = {CASCADE_COMPLETED, CASCADE_ERROR};
    mail_scene it = mail_begin(*state);
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};
    cascade_change *start;
    bool existed = true;

    for (int i = 0; i < 4; i++) {
        start = i < 2 ? rows_start(it.rows, rows_id(it.rows))
                      : rows_start_owned(it.rows, rows_id(it.rows), it.engine);
        start->cascade.status = ends[i % 2];
        rows_event(it.rows, start, 0, "key", "1");
        start->key = i == 0 ? "a" : NULL;
        start->run_number = 2;
        assert_ok(i < 2 ? db_submit(it.db, &start, 1, &existed)
                        : mail_write(&it, start));
        assert_int_equal(look(&it, &start->cascade.id), 1);
        assert_int_equal(read_row(&it, &start->cascade.id).status, ends[i % 2]);
    }
    assert_false(existed);
    assert_int_equal(key_number(&it, "user", "a"), 2);
    assert_ok(db_submit(it.db, &start, 1, &existed));
    assert_false(existed);
    assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
    assert_int_equal(result.count, 0);
    assert_true(result.next_wake_at_ms == CASCADE_TIME_NONE);
}

/* S20: it can be sent messages, as one that ended here. */
static void
a_start_of_an_ended_cascade_can_be_sent_to(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_change *start = rows_start(it.rows, rows_id(it.rows));
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};
    cascade_sent sent;
    bool existed;

    start->cascade.status = CASCADE_ERROR;
    assert_ok(mail_submit(&it, start, &existed,
                          rows_message(it.rows, start->cascade.id, "p"), 1,
                          &sent));
    assert_int_equal(sent, CASCADE_SENT_ENDED);
    assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_int_equal(look(&it, &start->cascade.id), 100);
}

/* ---- Revive ------------------------------------------------------------- */

/* An ended cascade that a message made the engine's again. */
static cascade_uuid
make_claimed_again(mail_scene *it, const char *path)
{
    cascade_uuid id = make_ended(it, CASCADE_ERROR, it->rows->now_ms);
    cascade_claimed claimed[2];
    cascade_claim_result result = {0};

    assert_int_equal(mail_send_path(it, id, path), CASCADE_SENT_ENDED);
    assert_ok(db_claim(it->db, it->engine, "odd one", 2, claimed, &result));
    assert_int_equal(result.count, 1);
    return id;
}

static cascade_change *
revival(mail_scene *it, cascade_uuid id)
{
    cascade_change *write = rows_write(it->rows, id, 2);

    write->run_action = CASCADE_RUN_REVIVE;
    write->run.queue = "o'neill";
    write->run.priority = 8;
    return write;
}

/* S2: the run gets the queue and the priority that the cascade had, and stays
 * with its owner; given up, it waits in that queue. */
static void
an_ended_cascade_can_be_revived(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = make_claimed_again(&it, "again");
    cascade_run_row before = mail_run(&it, &id);
    cascade_change *write = revival(&it, id);
    cascade_claimed claimed[2];
    cascade_claim_result result = {0};
    cascade_run_row run;

    assert_string_equal(before.queue, "odd one");
    rows_receive(it.rows, write, mail_receive(&it, 1).items[0].row.id);
    rows_insert(it.rows, write, 2, "once more");
    assert_ok(mail_write(&it, write));
    assert_int_equal(read_row(&it, &id).status, CASCADE_RUNNING);
    run = mail_run(&it, &id);
    assert_string_equal(run.queue, "o'neill");
    assert_int_equal(run.priority, 8);
    assert_int_equal(run.takeovers, 0);
    assert_int_equal(run.claim_no, before.claim_no);
    assert_memory_equal(&run.engine_id, &it.engine, sizeof(it.engine));
    write = rows_write(it.rows, id, 2);
    write->run_action = CASCADE_RUN_FREE;
    write->run.wake_at_ms = it.rows->now_ms - 1;
    assert_ok(mail_write(&it, write));
    assert_ok(db_claim(it.db, it.engine, "odd one", 2, claimed, &result));
    assert_int_equal(result.count, 0);
    assert_ok(db_claim(it.db, it.engine, "o'neill", 2, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_int_equal(claimed[0].claim_no, before.claim_no + 1);
}

/* S11: and forgets the takeovers. */
static void
a_revival_forgets_the_takeovers(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = make_claimed_again(&it, "again");
    cascade_claimed claimed[2];
    cascade_claim_result result = {0};
    size_t freed;

    assert_ok(it.db->driver->remove(it.db->self, &it.engine, 1, 10, &freed));
    it = mail_begin(*state);
    assert_ok(db_claim(it.db, it.engine, "odd one", 2, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_int_equal(mail_run(&it, &id).takeovers, 1);
    assert_ok(mail_write(&it, revival(&it, id)));
    assert_int_equal(mail_run(&it, &id).takeovers, 0);
    assert_string_equal(mail_run(&it, &id).queue, "o'neill");
}

/* S5, G5: who does not have the run revives nothing; nor with a priority that
 * there is not. */
static void
a_revival_of_what_is_not_owned_is_refused(void **state)
{
    mail_scene it = mail_begin(*state);
    mail_scene other = mail_begin(*state);
    cascade_uuid owned = mail_own(&other);
    cascade_uuid ended = make_ended(&it, CASCADE_ERROR, it.rows->now_ms);
    cascade_uuid mine = mail_own(&it);
    cascade_change *start = rows_start(it.rows, rows_id(it.rows));
    cascade_change *write;
    char *picture;

    assert_ok(db_submit_one(it.db, start));
    picture = db_picture(it.db);
    assert_fails(CASCADE_ERR_REFUSED, mail_write(&it, revival(&it, owned)));
    assert_fails(CASCADE_ERR_REFUSED, mail_write(&it, revival(&it, ended)));
    assert_fails(CASCADE_ERR_REFUSED,
                 mail_write(&it, revival(&it, start->cascade.id)));
    assert_fails(CASCADE_ERR_REFUSED,
                 mail_write(&it, revival(&it, rows_id(it.rows))));
    write = revival(&it, mine);
    write->run.priority = 10;
    assert_fails(CASCADE_ERR_REFUSED, mail_write(&it, write));
    db_assert_unchanged(it.db, picture);
}

/* ---- Strays ------------------------------------------------------------- */

#define STRAYS 25

typedef struct stray_list {
    cascade_uuid ids[STRAYS + 1];
    size_t count;
} stray_list;

static cascade_err
keep_stray(void *context, const cascade_fault *fault)
{
    stray_list *list = context;

    assert_true(list->count <= STRAYS);
    assert_non_null(strstr(fault->text, "table cascade_"));
    list->ids[list->count++] = fault->id;
    return CASCADE_OK;
}

/* All of a kind, `limit` ids at a time. */
static stray_list
list_strays(mail_scene *it, cascade_stray kind, size_t limit)
{
    stray_list list = {.count = 0};
    cascade_uuid cursor = {{0}};
    bool more = true;

    while (more)
        assert_ok(conformance_manage(it->db->driver)
                      ->strays(it->db->self, kind, limit, &cursor, keep_stray,
                               &list, &more));
    return list;
}

/* S75: to cascades that are not there, and to one that is; the even ones long
 * ago. */
static void
send_into_the_void(mail_scene *it, cascade_uuid here)
{
    cascade_change *change = rows_write(it->rows, here, 0);
    cascade_message_row *sends =
        calloc(2 * STRAYS + 1, sizeof(cascade_message_row));

    assert_non_null(sends);
    for (int i = 0; i <= 2 * STRAYS; i++) {
        cascade_uuid to = i == 2 * STRAYS ? here : rows_id(it->rows);

        sends[i] = *rows_message(it->rows, to, rows_text(it->rows, "m/%d", i));
        if (i % 2 == 0)
            sends[i].sent_at_ms -= 2 * CASCADE_STRAY_MESSAGE_MS;
    }
    change->sends = sends;
    change->send_count = 2 * STRAYS + 1;
    assert_ok(mail_write(it, change));
    free(sends);
}

static void
messages_for_nobody_are_strays_in_time(void **state)
{
    static const size_t limits[] = {1, 7, 2 * STRAYS + 1, CASCADE_STRAYS_MAX};
    mail_scene it = mail_begin(*state);

    send_into_the_void(&it, mail_own(&it));
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        stray_list list = list_strays(&it, CASCADE_STRAY_MESSAGES, limits[i]);

        assert_int_equal(STRAYS, list.count);
        for (size_t k = 1; k < list.count; k++)
            assert_true(csc_uuid_compare(&list.ids[k - 1], &list.ids[k]) < 0);
    }
}

static void
what_a_store_writes_has_no_strays(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);

    (void)make_stray(&it);
    (void)mail_send_path(&it, id, "a/message/1");
    for (int kind = CASCADE_STRAY_EXECUTIONS; kind <= CASCADE_STRAY_ENGINES;
         kind++)
        for (size_t limit = 1; limit < 4; limit++)
            assert_int_equal(
                0, list_strays(&it, (cascade_stray)kind, limit).count);
}

conformance_group
conformance_mend(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repair_gives_a_cascade_its_run),
        cmocka_unit_test(a_repair_writes_status_and_fn_id),
        cmocka_unit_test(a_repair_leaves_what_has_a_run),
        cmocka_unit_test(a_repair_leaves_what_is_otherwise_than_read),
        cmocka_unit_test(a_repair_moves_a_key_on),
        cmocka_unit_test(a_repair_tells_of_each),
        cmocka_unit_test(a_refused_repair_changes_nothing),
        cmocka_unit_test(a_purge_takes_as_many_as_its_bound),
        cmocka_unit_test(of_a_repair_and_a_claim_one_makes_the_run),
        cmocka_unit_test(a_purge_leaves_no_row),
        cmocka_unit_test(a_purge_spares_what_may_not_go),
        cmocka_unit_test(a_purge_spares_an_ended_cascade_that_is_owned),
        cmocka_unit_test(a_purge_takes_a_thousand),
        cmocka_unit_test(a_purge_beside_a_message_keeps_both_or_none),
        cmocka_unit_test(a_purge_beside_an_owner_deletes_nothing),
        cmocka_unit_test(a_start_of_an_ended_cascade_has_no_run),
        cmocka_unit_test(a_start_of_an_ended_cascade_can_be_sent_to),
        cmocka_unit_test(an_ended_cascade_can_be_revived),
        cmocka_unit_test(a_revival_forgets_the_takeovers),
        cmocka_unit_test(a_revival_of_what_is_not_owned_is_refused),
        cmocka_unit_test(messages_for_nobody_are_strays_in_time),
        cmocka_unit_test(what_a_store_writes_has_no_strays),
    };

    return (conformance_group){"mend", tests, sizeof(tests) / sizeof(tests[0])};
}
