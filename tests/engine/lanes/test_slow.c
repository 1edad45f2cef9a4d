/* SPDX-License-Identifier: MIT
 *
 * What takes too long to commit (B3): a batch that fails so again and again is
 * divided, down to who makes it fail, which is set aside; the others go on, and
 * it does too once it can.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/uuid.h"
#include "cascade/manage.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/room/reload.h"
#include "store/store.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define DEADLINE_MS 40
#define TOO_LONG_MS 25 /* more than half of it */
#define WAIT_MS 50     /* that pass while the housekeeper waits */
#define CROWD 9
#define LETTERS 20
#define LETTERS_FEW 5 /* are no matter */
#define TRIES 3       /* alone, before it is set aside */
#define AGAIN 2       /* times that it is set aside */

/* Its commits fail, after TOO_LONG_MS, while `ill`. */
typedef struct ward {
    test_db *db;
    wrap_store *wrap;
    cascade_store *store;
    cascade_store *starter;
    cascade_engine *engine;
    cascade_uuid ids[CROWD];
    cascade_uuid bad;   /* one of these, whose changes are the matter */
    cascade_err answer; /* to a commit that has them */
    atomic_bool ill;
    atomic_bool away;     /* nothing is settled either */
    atomic_size_t failed; /* commits, */
    atomic_size_t alone;  /* of these: with nothing but its changes */
    atomic_size_t entries;
    atomic_size_t bad_entries;
    size_t until; /* how often something is to happen */
    size_t look;  /* the last one that had rows, */
    size_t given; /* and how many it has given */
} ward;

static void
take_long(ward *w)
{
    struct timespec span = {.tv_nsec = TOO_LONG_MS * 1000000L};

    if (w->db->fake_time)
        fake_clock_advance(&w->db->clock, w->store->config.deadline_ms / 2);
    while (nanosleep(&span, &span) != 0)
        continue;
}

static bool
has_bad(const ward *w, const cascade_batch *batch)
{
    for (size_t i = 0; i < batch->change_count; i++)
        if (csc_uuid_equal(&batch->changes[i].cascade.id, &w->bad))
            return true;
    return false;
}

static cascade_err
fail_slowly(ward *w, const cascade_batch *batch)
{
    atomic_fetch_add(&w->failed, 1);
    atomic_fetch_add(&w->alone, batch->change_count == 1);
    take_long(w);
    return cascade_store_fail(w->answer, "it takes too long");
}

static cascade_err
before(void *context, const wrap_call *call)
{
    ward *w = context;

    if (call->move == WRAP_SETTLE && atomic_load(&w->away)) {
        take_long(w);
        return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "it is away");
    }
    if (call->move != WRAP_COMMIT || !atomic_load(&w->ill) ||
        !has_bad(w, call->batch))
        return CASCADE_OK;
    return fail_slowly(w, call->batch);
}

static cascade_err
work(cascade_node *node, void *user)
{
    ward *w = user;
    bool bad = csc_uuid_equal(cascade_node_cascade_id(node), &w->bad);

    atomic_fetch_add(&w->entries, 1);
    atomic_fetch_add(&w->bad_entries, bad);
    return CASCADE_OK;
}

static cascade_err
collect(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    (void)user;
    for (int i = 0; i < LETTERS && err == CASCADE_OK; i++)
        err = cascade_node_await(node, "letter", -1, NULL);
    return err;
}

static cascade_err
fails(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node, "no");
}

static ward *
ward_open(test_db *db, cascade_err answer)
{
    ward *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    w->db = db;
    w->answer = answer;
    atomic_store(&w->ill, true);
    w->starter = db_store(db);
    w->wrap = wrap_store_create(db->url);
    assert_non_null(w->wrap);
    w->wrap->context = w;
    w->wrap->before = before;
    w->wrap->inner_deadline_ms = DB_DEADLINE_MS;
    w->store = db_wrapped(db, w->wrap);
    w->store->config.deadline_ms = DEADLINE_MS;
    return w;
}

static void
ward_start(ward *w)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 4,
                                            .lane_count = 1,
                                            .lease_ms = 60000,
                                            .poll_interval_ms = 20};

    w->engine = db_engine(w->db, w->store, &options);
    assert_ok(cascade_engine_register(w->engine, "work", work, w, NULL));
    assert_ok(
        cascade_engine_register(w->engine, "collect", collect, NULL, NULL));
    assert_ok(cascade_engine_register(w->engine, "fails", fails, NULL, NULL));
    assert_ok(cascade_engine_start(w->engine));
}

static void
ward_close(ward *w)
{
    assert_int_equal(db_stats(w->engine).fences, 0);
    assert_int_equal(db_stats(w->engine).losses, 0);
    db_close_engine(w->db, w->engine);
    db_close_store(w->db, w->store);
    wrap_store_free(w->wrap);
    free(w);
}

/* A crowd of cascades, the third of which is the bad one. */
static ward *
crowd_open(test_db *db, cascade_err answer)
{
    ward *w = ward_open(db, answer);

    for (size_t i = 0; i < CROWD; i++)
        w->ids[i] = db_start(w->starter, "work");
    w->bad = w->ids[2];
    ward_start(w);
    return w;
}

static void
await_others(ward *w)
{
    for (size_t i = 0; i < CROWD; i++)
        if (!csc_uuid_equal(&w->ids[i], &w->bad))
            db_await(w->starter, &w->ids[i], CASCADE_COMPLETED);
}

/* It waits to be loaded anew, and has been set aside so often. */
static bool
is_aside(void *context)
{
    ward *w = context;
    const csc_reload *reload = NULL;
    bool is = false;

    pthread_mutex_lock(&w->engine->mutex);
    for (reload = w->engine->reloads.first; reload != NULL;
         reload = reload->next)
        is = is || (csc_uuid_equal(&reload->claimed.cascade_id, &w->bad) &&
                    reload->slow == TRIES + w->until - 1 &&
                    reload->at_ns > csc_clock_now_ns(w->engine));
    pthread_mutex_unlock(&w->engine->mutex);
    return is;
}

/* Its pauses are the longer the more there were. */
static bool
is_explained(void *context)
{
    ward *w = context;
    cascade_explanation *explanation = NULL;
    bool is = false;

    assert_ok(cascade_explain(w->store, &w->bad, &explanation));
    for (size_t i = 0; i < cascade_explanation_count(explanation); i++) {
        const cascade_cause *cause = cascade_explanation_get(explanation, i);

        if (cause->reason != CASCADE_REASON_SET_ASIDE)
            continue;
        is = true;
        assert_true(cause->count >= TRIES);
        assert_non_null(strstr(cause->text, "deadline of 40 ms"));
    }
    cascade_explanation_free(explanation);
    return is;
}

/* Whoever it shares the lane with goes on, and so does it in the end. */
static void
the_others_go_on(test_db *db, cascade_err answer)
{
    ward *w = crowd_open(db, answer);

    await_others(w);
    for (w->until = 1; w->until <= AGAIN; w->until++)
        assert_true(stores_until(is_aside, w));
    assert_true(stores_until(is_explained, w));
    assert_true(atomic_load(&w->alone) >= TRIES + AGAIN - 1);
    atomic_store(&w->ill, false);
    db_await(w->starter, &w->bad, CASCADE_COMPLETED);
    assert_true(atomic_load(&w->bad_entries) > AGAIN);
    assert_int_equal(atomic_load(&w->entries),
                     CROWD - 1 + atomic_load(&w->bad_entries));
    ward_close(w);
}

static void
what_is_too_slow_is_set_aside(test_db *db)
{
    the_others_go_on(db, CASCADE_ERR_UNAVAILABLE);
}

/* That nothing was done is known without a settle. */
static void
what_is_undone_too_late_is_set_aside(test_db *db)
{
    the_others_go_on(db, CASCADE_ERR_NOT_DONE);
}

static bool
has_settled(void *context)
{
    ward *w = context;

    return wrap_store_count(w->wrap, WRAP_SETTLE) >= w->until;
}

/* While nothing is settled, the store may be away, and nobody is to blame. */
static void
nothing_is_divided_while_the_store_is_away(test_db *db)
{
    ward *w = ward_open(db, CASCADE_ERR_UNAVAILABLE);

    w->ids[0] = db_start(w->starter, "work");
    w->bad = w->ids[0];
    atomic_store(&w->away, true);
    ward_start(w);
    w->until = TRIES + 2;
    assert_true(stores_until(has_settled, w));
    assert_int_equal(atomic_load(&w->failed), 1);
    atomic_store(&w->ill, false);
    atomic_store(&w->away, false);
    db_await(w->starter, &w->bad, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&w->entries), 1);
    ward_close(w);
}

/* Done, but the answer is late and lost. */
static cascade_err
lose_late(void *context, const wrap_call *call, cascade_err answer)
{
    ward *w = context;

    if (call->move != WRAP_COMMIT || answer != CASCADE_OK ||
        !has_bad(w, call->batch) || atomic_fetch_add(&w->failed, 1) > 0)
        return answer;
    take_long(w);
    return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "the answer is lost");
}

static bool
is_repeated(void *context)
{
    return atomic_load(&((ward *)context)->failed) > 1;
}

static void
what_was_done_too_late_is_not_divided(test_db *db)
{
    ward *w = ward_open(db, CASCADE_ERR_UNAVAILABLE);

    atomic_store(&w->ill, false);
    for (size_t i = 0; i < CROWD; i++)
        w->ids[i] = db_start(w->starter, "work");
    w->bad = w->ids[2];
    w->wrap->after = lose_late;
    ward_start(w);
    db_await(w->starter, &w->bad, CASCADE_COMPLETED);
    await_others(w);
    assert_true(stores_until(is_repeated, w));
    assert_int_equal(atomic_load(&w->entries), CROWD);
    ward_close(w);
}

static cascade_err
fail_first_start(void *context, const wrap_call *call)
{
    ward *w = context;
    const cascade_batch *batch = call->batch;

    if (call->move == WRAP_WAIT)
        fake_clock_advance(&w->db->clock, WAIT_MS);
    if (call->move != WRAP_COMMIT || !atomic_load(&w->ill) ||
        batch->changes[0].run_action != CASCADE_RUN_START)
        return CASCADE_OK;
    return fail_slowly(w, batch);
}

/* G12: it goes on without the lane, in its caller's thread, which has waited
 * for a moment only: the time of the lane is another one. */
static void
a_start_that_is_too_slow_goes_by_itself(test_db *db)
{
    ward *w = NULL;
    cascade_started started = {0};

    db->fake_time = true;
    w = ward_open(db, CASCADE_ERR_NOT_DONE);
    w->store->config.deadline_ms = DB_DEADLINE_MS;
    w->wrap->before = fail_first_start;
    ward_start(w);
    assert_ok(cascade_start(w->store, "work", NULL, NULL, &started));
    db_await(w->starter, &started.id, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&w->failed), 1);
    assert_int_equal(wrap_store_count(w->wrap, WRAP_SUBMIT), 1);
    ward_close(w);
}

static cascade_err
fail_many(void *context, const wrap_call *call)
{
    ward *w = context;
    bool many = false;

    if (call->move != WRAP_COMMIT)
        return CASCADE_OK;
    for (size_t i = 0; i < call->batch->change_count; i++)
        many = many || call->batch->changes[i].received_count > LETTERS_FEW;
    return many ? fail_slowly(w, call->batch) : CASCADE_OK;
}

/* They are received all the same, a few at a time, and nothing is set aside. */
static void
messages_that_are_too_slow_are_received_in_parts(test_db *db)
{
    ward *w = ward_open(db, CASCADE_ERR_UNAVAILABLE);
    cascade_uuid id = db_start(w->starter, "collect");

    for (int i = 0; i < LETTERS; i++)
        assert_ok(cascade_signal(w->starter, &id, "letter", NULL, NULL));
    w->wrap->before = fail_many;
    ward_start(w);
    db_await(w->starter, &id, CASCADE_COMPLETED);
    assert_true(atomic_load(&w->failed) > 0);
    assert_int_equal(db_stats(w->engine).hydrations, 1);
    ward_close(w);
}

/* More rows than so many are not given in time. */
static cascade_err
give_few(void *context, const wrap_call *call, size_t bytes)
{
    ward *w = context;

    (void)bytes;
    if (call->move != WRAP_RECEIVE)
        return CASCADE_OK;
    w->given = call->number == w->look ? w->given + 1 : 1;
    w->look = call->number;
    if (w->given <= LETTERS_FEW)
        return CASCADE_OK;
    atomic_fetch_add(&w->failed, 1);
    take_long(w);
    return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "it takes too long");
}

static bool
awaits(void *context)
{
    const ward *w = context;
    const cascade_list_options options = {.size = sizeof(options),
                                          .node = "cascade.await:letter",
                                          .status = CASCADE_RUNNING};
    cascade_page *page = NULL;
    size_t count = 0;

    assert_ok(cascade_list(w->starter, &options, &page));
    count = cascade_page_count(page);
    cascade_page_free(page);
    return count > 0;
}

/* At once. */
static void
send_letters(ward *w, const cascade_uuid *id)
{
    cascade_message_row rows[LETTERS];
    cascade_sent sent[LETTERS];
    char paths[LETTERS][CASCADE_UUID_TEXT_SIZE + 32];
    const cascade_submission submission = {
        .messages = rows, .message_count = LETTERS, .sent = sent};
    char text[CASCADE_UUID_TEXT_SIZE];

    cascade_uuid_format(id, text);
    for (int i = 0; i < LETTERS; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/message/signal/%d", text,
                       i);
        rows[i] = (cascade_message_row){.cascade_id = *id,
                                        .kind = "signal",
                                        .name = "letter",
                                        .path = paths[i],
                                        .payload = "{}",
                                        .sent_at_ms = 1};
    }
    assert_ok(w->starter->driver->submit(w->starter->self, &submission));
}

/* So do looks for them: each that fails is followed by a smaller one. */
static void
messages_that_are_too_slow_are_looked_for_in_parts(test_db *db)
{
    ward *w = ward_open(db, CASCADE_ERR_UNAVAILABLE);
    cascade_uuid id = db_start(w->starter, "collect");
    uint64_t loads = 0;

    w->wrap->row = give_few;
    ward_start(w);
    assert_true(stores_until(awaits, w));
    loads = db_stats(w->engine).hydrations;
    send_letters(w, &id);
    db_await(w->starter, &id, CASCADE_COMPLETED);
    assert_true(atomic_load(&w->failed) > 0);
    assert_int_equal(db_stats(w->engine).hydrations, loads);
    ward_close(w);
}

static cascade_err
fail_retries(void *context, const wrap_call *call)
{
    ward *w = context;
    bool found = false;

    if (call->move != WRAP_COMMIT)
        return CASCADE_OK;
    for (size_t i = 0; i < call->batch->change_count; i++) {
        const cascade_change *change = &call->batch->changes[i];

        found = found ||
                (change->insert_count > 1 &&
                 strcmp(change->inserts[0].node_name, "cascade.retry") == 0);
    }
    return found ? fail_slowly(w, call->batch) : CASCADE_OK;
}

static bool
is_deleted(void *context)
{
    ward *w = context;
    cascade_info *info = NULL;
    cascade_err err = cascade_get(w->starter, &w->bad, &info);

    cascade_info_free(info);
    return err == CASCADE_ERR_NOT_FOUND;
}

/* It is recorded as undelivered, and what was asked for behind it is done. */
static void
a_retry_that_is_too_slow_is_refused(test_db *db)
{
    const cascade_request_options options = {
        .size = sizeof(options), .request_id = "r", .wait_ms = 20000};
    ward *w = ward_open(db, CASCADE_ERR_UNAVAILABLE);

    w->bad = db_start(w->starter, "fails");
    w->wrap->before = fail_retries;
    ward_start(w);
    db_await(w->starter, &w->bad, CASCADE_ERROR);
    assert_int_equal(cascade_retry(w->starter, &w->bad, &options),
                     CASCADE_ERR_TOO_LARGE);
    assert_non_null(strstr(cascade_errmsg(), "deadline_ms"));
    assert_int_equal(atomic_load(&w->failed), TRIES);
    assert_ok(cascade_delete(w->starter, &w->bad, NULL));
    assert_true(stores_until(is_deleted, w));
    ward_close(w);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_is_too_slow_is_set_aside", what_is_too_slow_is_set_aside,
         STORES_ALL},
        {"what_is_undone_too_late_is_set_aside",
         what_is_undone_too_late_is_set_aside, STORES_ALL},
        {"nothing_is_divided_while_the_store_is_away",
         nothing_is_divided_while_the_store_is_away, STORES_ALL},
        {"what_was_done_too_late_is_not_divided",
         what_was_done_too_late_is_not_divided, STORES_ALL},
        {"a_start_that_is_too_slow_goes_by_itself",
         a_start_that_is_too_slow_goes_by_itself, STORES_VIRTUAL},
        {"messages_that_are_too_slow_are_received_in_parts",
         messages_that_are_too_slow_are_received_in_parts, STORES_ALL},
        {"messages_that_are_too_slow_are_looked_for_in_parts",
         messages_that_are_too_slow_are_looked_for_in_parts, STORES_ALL},
        {"a_retry_that_is_too_slow_is_refused",
         a_retry_that_is_too_slow_is_refused, STORES_ALL},
    };

    return stores_run("engine_slow", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
