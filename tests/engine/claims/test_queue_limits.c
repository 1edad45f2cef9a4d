/* SPDX-License-Identifier: MIT
 *
 * Queues with limits, as engines keep them: never more functions at once than
 * the maxima say, of the queue and of each key, whoever runs them; keys in
 * turn; what waits gives its place to others; limits that come, change and go.
 */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "cascade/manage.h"
#include "support/in_time.h"
#include "support/stores.h"

#define LIMIT_MS 60000
#define NEVER_MS 600000
#define HANDLES 3
#define QUEUE "mail"
#define FREE_QUEUE "post"
#define USERS 3
#define CROWD 45
#define HOPS 6
#define SHORT 16 /* functions of no length, one after the other */

/* What is in functions now, and the most there ever was. */
typedef struct gauge {
    atomic_int now;
    atomic_int most;
} gauge;

/* One test's: engines on handles of their own, and nodes that count. */
typedef struct yard {
    test_db *db;
    cascade_store *stores[HANDLES];
    cascade_engine *engines[HANDLES];
    size_t count;
    gauge all;
    gauge users[USERS];
    atomic_int ended;
    atomic_int ended_of[USERS];
    atomic_int ended_before; /* of user 0, when one of user 1 did */
    atomic_int hops; /* runs that have begun of one that continues itself, */
    atomic_int ended_then; /* and how many had ended before the last of them */
    atomic_bool shut;      /* functions do not return, */
    atomic_int tickets;    /* but for so many */
    atomic_int shut_at;    /* it is, by the function that sees the first engine
                              hold so many; 0: by none */
    atomic_int tries;      /* of what fails the first time */
} yard;

static void
enter(gauge *g)
{
    int now = atomic_fetch_add(&g->now, 1) + 1;
    int most = atomic_load(&g->most);

    while (now > most && !atomic_compare_exchange_weak(&g->most, &most, now))
        ;
}

static void
shut_when_full(yard *y)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};
    int full = atomic_load(&y->shut_at);

    if (full == 0)
        return;
    expect(cascade_engine_get_stats(y->engines[0], &stats) == CASCADE_OK);
    if (stats.held >= (uint64_t)full)
        atomic_store(&y->shut, true);
}

/* Until the gate is open, or one may leave by a ticket. */
static void
stay(yard *y)
{
    int64_t end_ms = 0;
    int left = 0;

    do {
        poll(NULL, 0, 1);
        shut_when_full(y);
        left = atomic_load(&y->tickets);
        if (left > 0 &&
            atomic_compare_exchange_strong(&y->tickets, &left, left - 1))
            return;
    } while (atomic_load(&y->shut) && in_time(&end_ms, LIMIT_MS));
}

static int
user_of(const cascade_node *node)
{
    return cascade_node_user_id(node)[0] - 'a';
}

static cascade_err
work(cascade_node *node, void *context)
{
    yard *y = context;
    int user = user_of(node);

    enter(&y->all);
    enter(&y->users[user]);
    stay(y);
    atomic_fetch_sub(&y->users[user].now, 1);
    atomic_fetch_sub(&y->all.now, 1);
    atomic_fetch_add(&y->ended_of[user], 1);
    if (user == 1)
        atomic_store(&y->ended_before, atomic_load(&y->ended_of[0]));
    atomic_fetch_add(&y->ended, 1);
    return CASCADE_OK;
}

static cascade_err
hop(cascade_node *node, void *context)
{
    yard *y = context;

    enter(&y->all);
    stay(y);
    atomic_fetch_sub(&y->all.now, 1);
    if (atomic_fetch_add(&y->hops, 1) + 1 < HOPS)
        return cascade_node_continue_as_new(node, "hop", NULL);
    atomic_store(&y->ended_then, atomic_load(&y->ended));
    return CASCADE_OK;
}

/* The first time; then it is one like the others. */
static cascade_err
fail_once(cascade_node *node, void *context)
{
    yard *y = context;

    if (atomic_fetch_add(&y->tries, 1) == 0)
        return cascade_node_error(node, "not yet");
    return work(node, context);
}

static cascade_err
wait_for_word(cascade_node *node, void *context)
{
    (void)context;
    return cascade_node_await(node, "word", -1, NULL);
}

static void
set_limits(const yard *y, int running, int each)
{
    const cascade_queue_limits limits = {.size = sizeof(limits),
                                         .running_max = running,
                                         .key_running_max = each};

    assert_ok(cascade_queue_set(y->stores[0], QUEUE, &limits, NULL));
}

/* Engines that begin where these limits are. */
static void
yard_begin(yard *y, test_db *db, int running, int each)
{
    memset(y, 0, sizeof(*y));
    y->db = db;
    y->stores[0] = db_store(db);
    set_limits(y, running, each);
}

/* One more, which is told of everything: it never polls. Of two queues one has
 * no limits. */
static void
yard_add_of(yard *y, int workers, size_t queue_count)
{
    static const char *const queues[] = {QUEUE, FREE_QUEUE};
    static const cascade_node_options once = {.size = sizeof(once),
                                              .attempts_max = 1};
    const cascade_engine_options options = {.size = sizeof(options),
                                            .queues = queues,
                                            .queue_count = queue_count,
                                            .worker_count = (unsigned)workers,
                                            .poll_interval_ms = NEVER_MS};
    size_t i = y->count++;

    if (i > 0)
        y->stores[i] = db_store(y->db);
    y->engines[i] = db_engine(y->db, y->stores[i], &options);
    assert_ok(cascade_engine_register(y->engines[i], "work", work, y, NULL));
    assert_ok(cascade_engine_register(y->engines[i], "hop", hop, y, NULL));
    assert_ok(
        cascade_engine_register(y->engines[i], "fails", fail_once, y, &once));
    assert_ok(cascade_engine_register(y->engines[i], "waits", wait_for_word,
                                      NULL, NULL));
    assert_ok(cascade_engine_start(y->engines[i]));
}

static void
yard_add(yard *y, int workers)
{
    yard_add_of(y, workers, 1);
}

static void
yard_open(yard *y, test_db *db, size_t count, int running, int each)
{
    yard_begin(y, db, running, each);
    while (y->count < count)
        yard_add(y, 4);
}

static cascade_uuid
start_by(yard *y, const char *node, int user, const char *limit_key)
{
    const char name[] = {(char)('a' + user), '\0'};
    const cascade_start_options options = {.size = sizeof(options),
                                           .user_id = name,
                                           .queue = QUEUE,
                                           .limit_key = limit_key};
    cascade_started started;

    assert_ok(cascade_start(y->stores[(size_t)user % y->count], node, NULL,
                            &options, &started));
    return started.id;
}

static cascade_uuid
start(yard *y, const char *node, int user)
{
    return start_by(y, node, user, NULL);
}

static void
await_ended(yard *y, int count)
{
    int64_t end_ms = 0;

    while (atomic_load(&y->ended) < count && in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    assert_int_equal(atomic_load(&y->ended), count);
}

static void
await_running(yard *y, int count)
{
    int64_t end_ms = 0;

    while (atomic_load(&y->all.now) < count && in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    assert_int_equal(atomic_load(&y->all.now), count);
}

static const cascade_queue_info *
find_queue(const cascade_queue_list *list)
{
    for (size_t i = 0; i < cascade_queue_list_count(list); i++) {
        const cascade_queue_info *info = cascade_queue_list_get(list, i);

        if (strcmp(info->name, QUEUE) == 0)
            return info;
    }
    return NULL;
}

static void
assert_slots_used(const yard *y, int count)
{
    cascade_queue_list *list = NULL;

    assert_ok(cascade_queue_list_load(y->stores[0], &list));
    assert_non_null(find_queue(list));
    assert_int_equal(find_queue(list)->slots, count);
    cascade_queue_list_free(list);
}

static void
a_maximum_holds_for_all_engines(test_db *db)
{
    yard y;

    yard_open(&y, db, HANDLES, 2, 0);
    atomic_store(&y.shut, true);
    for (int i = 0; i < CROWD; i++)
        (void)start(&y, "work", i % USERS);
    await_running(&y, 2);
    assert_slots_used(&y, 2);
    atomic_store(&y.shut, false);
    await_ended(&y, CROWD);
    assert_int_equal(atomic_load(&y.all.most), 2);
}

static void
a_maximum_holds_for_each_key(test_db *db)
{
    yard y;

    yard_open(&y, db, HANDLES, 0, 1);
    atomic_store(&y.shut, true);
    for (int i = 0; i < CROWD; i++)
        (void)start(&y, "work", i % USERS);
    await_running(&y, USERS);
    atomic_store(&y.shut, false);
    await_ended(&y, CROWD);
    for (int i = 0; i < USERS; i++)
        assert_int_equal(atomic_load(&y.users[i].most), 1);
    assert_int_equal(atomic_load(&y.all.most), USERS);
}

/* Whether the function that shut the gate is one of three, when what ended
 * before it is out of memory; else the gate is opened again. */
static bool
are_three(yard *y)
{
    int64_t end_ms = 0;

    if (!atomic_load(&y->shut))
        return false;
    while (db_stats(y->engines[0]).executions <
               (uint64_t)atomic_load(&y->ended) &&
           in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    if (db_stats(y->engines[0]).held == 3)
        return true;
    atomic_store(&y->shut, false);
    return false;
}

/* Short functions one after the other, until the one engine holds three: one is
 * in a function that does not return, two were claimed ahead. How many there
 * were. */
static int
hold_three(yard *y)
{
    int64_t end_ms = 0;
    int begun = 0;
    bool three = false;

    atomic_store(&y->shut_at, 3);
    while (!three && in_time(&end_ms, LIMIT_MS)) {
        if (atomic_load(&y->ended) == begun) {
            for (int i = 0; i < SHORT; i++)
                (void)start(y, "work", 0);
            begun += SHORT;
        }
        poll(NULL, 0, 1);
        three = are_three(y);
    }
    atomic_store(&y->shut_at, 0);
    assert_true(three);
    assert_int_equal(atomic_load(&y->all.now), 1);
    return begun;
}

/* What was asked for ahead while functions were short is another's once one is
 * long. */
static void
slots_that_no_worker_comes_to_are_given_back(test_db *db)
{
    yard y;
    int begun = 0;

    yard_begin(&y, db, 3, 0);
    yard_add(&y, 1);
    begun = hold_three(&y);
    (void)start(&y, "work", 1);
    yard_add(&y, 1);
    await_running(&y, 2);
    atomic_store(&y.shut, false);
    await_ended(&y, begun + 1);
}

/* The one worker is in a function of a queue without limits, which was claimed
 * together with what has the one slot. */
static void
a_slot_behind_another_queue_is_given_back(test_db *db)
{
    const cascade_start_options first = {.size = sizeof(first),
                                         .user_id = "a",
                                         .queue = FREE_QUEUE,
                                         .priority = 9};
    const cascade_start_options second = {
        .size = sizeof(second), .user_id = "b", .queue = QUEUE};
    cascade_started started;
    yard y;

    yard_begin(&y, db, 1, 0);
    atomic_store(&y.shut, true);
    assert_ok(cascade_start(y.stores[0], "work", NULL, &first, &started));
    assert_ok(cascade_start(y.stores[0], "work", NULL, &second, &started));
    yard_add_of(&y, 1, 2);
    await_running(&y, 1);
    assert_slots_used(&y, 1);
    yard_add(&y, 1);
    await_running(&y, 2);
    atomic_store(&y.shut, false);
    await_ended(&y, 2);
}

/* With one place a crowd of one user's is started first: another's is not kept
 * from its turn. */
static void
a_crowd_does_not_keep_others_out(test_db *db)
{
    yard y;
    int before = 0;
    int64_t end_ms = 0;

    yard_open(&y, db, 1, 1, 0);
    atomic_store(&y.shut, true);
    for (int i = 0; i < CROWD; i++)
        (void)start(&y, "work", 0);
    (void)start(&y, "work", 1);
    atomic_store(&y.shut, false);
    while (atomic_load(&y.ended_of[1]) == 0 && in_time(&end_ms, LIMIT_MS))
        poll(NULL, 0, 1);
    before = atomic_load(&y.ended_before);
    assert_int_equal(atomic_load(&y.ended_of[1]), 1);
    /* The one that ran, the next that was claimed, and some room. */
    assert_in_range(before, 0, 8);
    await_ended(&y, CROWD + 1);
    assert_int_equal(atomic_load(&y.all.most), 1);
}

static void
what_waits_gives_its_place_up(test_db *db)
{
    yard y;
    cascade_uuid waiter;

    yard_open(&y, db, 1, 1, 0);

    waiter = start(&y, "waits", 0);
    for (int i = 0; i < 4; i++)
        (void)start(&y, "work", 1);
    await_ended(&y, 4);
    assert_ok(cascade_signal(y.stores[0], &waiter, "word", NULL, NULL));
    assert_ok(cascade_wait(y.stores[0], &waiter, LIMIT_MS, NULL));
    assert_int_equal(atomic_load(&y.all.most), 1);
}

/* A cancellation of one that waits for its turn does not: nothing of it has to
 * begin. */
static void
what_waits_can_be_cancelled(test_db *db)
{
    yard y;
    cascade_uuid waiter;
    cascade_status status = CASCADE_RUNNING;

    yard_open(&y, db, 1, 1, 0);
    atomic_store(&y.shut, true);
    (void)start(&y, "work", 0);
    await_running(&y, 1);
    waiter = start(&y, "work", 0);
    assert_ok(cascade_cancel(y.stores[0], &waiter, NULL));
    assert_ok(cascade_wait(y.stores[0], &waiter, LIMIT_MS, &status));
    assert_int_equal(status, CASCADE_ERROR);
    assert_int_equal(atomic_load(&y.all.now), 1);
    atomic_store(&y.shut, false);
    await_ended(&y, 1);
    assert_int_equal(atomic_load(&y.all.most), 1);
}

/* The runs of one that continues itself follow each other in one slot: none of
 * those that wait comes in between, whoever asks for it. */
static void
what_continues_keeps_its_slot(test_db *db)
{
    yard y;
    cascade_uuid first;

    yard_open(&y, db, HANDLES, 1, 0);
    atomic_store(&y.shut, true);
    first = start(&y, "hop", 0);
    await_running(&y, 1);
    for (int i = 0; i < 6; i++)
        (void)start(&y, "work", i % USERS);
    atomic_store(&y.shut, false);
    await_ended(&y, 6);
    assert_ok(cascade_wait(y.stores[0], &first, LIMIT_MS, NULL));
    assert_int_equal(atomic_load(&y.hops), HOPS);
    assert_int_equal(atomic_load(&y.all.most), 1);
    assert_int_equal(atomic_load(&y.ended_then), 0);
}

/* Raised while all wait; lowered while more run than it admits: none of those
 * is cut off, and none begins. */
static void
limits_change_while_it_runs(test_db *db)
{
    yard y;

    yard_open(&y, db, 1, 1, 0);
    atomic_store(&y.shut, true);
    for (int i = 0; i < 12; i++)
        (void)start(&y, "work", i % USERS);
    await_running(&y, 1);
    set_limits(&y, 3, 0);
    await_running(&y, 3);
    set_limits(&y, 1, 0);
    atomic_store(&y.tickets, 2);
    await_ended(&y, 2);
    assert_int_equal(atomic_load(&y.all.now), 1);
    atomic_store(&y.all.most, 0);
    atomic_store(&y.shut, false);
    await_ended(&y, 12);
    assert_int_equal(atomic_load(&y.all.most), 1);
}

/* By a key of its own, whoever its user is; also when it has ended, and is
 * retried. */
static void
a_retry_waits_by_its_key(test_db *db)
{
    cascade_request_options options = {.size = sizeof(options),
                                       .wait_ms = LIMIT_MS};
    yard y;
    cascade_uuid failed;

    yard_open(&y, db, HANDLES, 0, 1);
    failed = start_by(&y, "fails", 0, "stripe");
    assert_ok(cascade_wait(y.stores[0], &failed, LIMIT_MS, NULL));
    atomic_store(&y.shut, true);
    (void)start_by(&y, "work", 1, "stripe");
    await_running(&y, 1);
    assert_ok(cascade_retry(y.stores[0], &failed, &options));
    (void)start_by(&y, "work", 2, "other");
    await_running(&y, 2);
    atomic_store(&y.tickets, 1);
    await_ended(&y, 1);
    atomic_store(&y.shut, false);
    await_ended(&y, 3);
    assert_int_equal(atomic_load(&y.tries), 2);
    assert_int_equal(atomic_load(&y.all.most), 2);
}

/* Whatever runs and waits goes on. */
static void
limits_are_taken_away(test_db *db)
{
    yard y;

    yard_open(&y, db, HANDLES, 1, 0);
    atomic_store(&y.shut, true);
    for (int i = 0; i < 4; i++)
        (void)start(&y, "work", i % USERS);
    await_running(&y, 1);
    assert_ok(cascade_queue_unset(y.stores[0], QUEUE));
    await_running(&y, 4);
    atomic_store(&y.shut, false);
    await_ended(&y, 4);
}

static void
limits_are_listed_and_versioned(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_queue_limits limits = {.size = sizeof(limits),
                                   .running_max = 7,
                                   .key_running_max = 2,
                                   .version = -1,
                                   .by = "anna",
                                   .reason = "the printer"};
    cascade_queue_limits there;
    cascade_queue_list *list = NULL;
    const cascade_queue_info *info = NULL;
    int64_t version = 0;

    assert_ok(cascade_queue_set(store, QUEUE, &limits, &version));
    assert_int_equal(version, 1);
    assert_int_equal(cascade_queue_set(store, QUEUE, &limits, &version),
                     CASCADE_ERR_EXISTS);
    limits.version = version;
    limits.running_max = 8;
    assert_ok(cascade_queue_set(store, QUEUE, &limits, &version));
    assert_ok(cascade_queue_list_load(store, &list));
    info = find_queue(list);
    assert_non_null(info);
    assert_int_equal(info->limits_version, version);
    assert_int_equal(info->running_max, 8);
    assert_int_equal(info->key_running_max, 2);
    assert_string_equal(info->limits_by, "anna");
    assert_string_equal(info->limits_reason, "the printer");
    cascade_queue_list_free(list);
    there = (cascade_queue_limits){.size = sizeof(there)};
    assert_ok(cascade_queue_get(store, QUEUE, &there));
    assert_int_equal(there.running_max, 8);
    assert_int_equal(there.key_running_max, 2);
    assert_int_equal(there.version, version);
    assert_null(there.by);
    assert_ok(cascade_queue_unset(store, QUEUE));
    assert_int_equal(cascade_queue_unset(store, QUEUE), CASCADE_ERR_NOT_FOUND);
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_queue_get(store, QUEUE, &there));
    assert_fails(CASCADE_ERR_EXISTS,
                 cascade_queue_set(store, QUEUE, &there, NULL));
    assert_non_null(strstr(cascade_errmsg(), "no limits of version 2"));
    assert_ok(cascade_queue_list_load(store, &list));
    assert_null(find_queue(list));
    cascade_queue_list_free(list);
}

static void
limits_that_make_no_sense_are_refused(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_queue_limits limits = {.size = sizeof(limits), .running_max = -1};
    const cascade_start_options bad = {.size = sizeof(bad), .limit_key = ""};
    cascade_started started;

    assert_int_equal(cascade_queue_set(store, QUEUE, &limits, NULL),
                     CASCADE_ERR_INVALID);
    limits.running_max = 1;
    assert_int_equal(cascade_queue_set(store, "no name", &limits, NULL),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_queue_set(store, QUEUE, NULL, NULL),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_queue_set(NULL, QUEUE, &limits, NULL),
                     CASCADE_ERR_INVALID);
    limits.version = -2;
    assert_int_equal(cascade_queue_set(store, QUEUE, &limits, NULL),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_queue_unset(store, NULL), CASCADE_ERR_INVALID);
    assert_int_equal(cascade_queue_get(store, QUEUE, NULL),
                     CASCADE_ERR_INVALID);
    limits.size = 1;
    assert_int_equal(cascade_queue_get(store, QUEUE, &limits),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_start(store, "work", NULL, &bad, &started),
                     CASCADE_ERR_INVALID);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_maximum_holds_for_all_engines", a_maximum_holds_for_all_engines,
         STORES_ALL},
        {"a_maximum_holds_for_each_key", a_maximum_holds_for_each_key,
         STORES_ALL},
        {"slots_that_no_worker_comes_to_are_given_back",
         slots_that_no_worker_comes_to_are_given_back, STORES_ALL},
        {"a_slot_behind_another_queue_is_given_back",
         a_slot_behind_another_queue_is_given_back, STORES_ALL},
        {"a_crowd_does_not_keep_others_out", a_crowd_does_not_keep_others_out,
         STORES_ALL},
        {"what_waits_gives_its_place_up", what_waits_gives_its_place_up,
         STORES_ALL},
        {"what_waits_can_be_cancelled", what_waits_can_be_cancelled,
         STORES_ALL},
        {"what_continues_keeps_its_slot", what_continues_keeps_its_slot,
         STORES_ALL},
        {"limits_change_while_it_runs", limits_change_while_it_runs,
         STORES_ALL},
        {"a_retry_waits_by_its_key", a_retry_waits_by_its_key, STORES_ALL},
        {"limits_are_taken_away", limits_are_taken_away, STORES_ALL},
        {"limits_are_listed_and_versioned", limits_are_listed_and_versioned,
         STORES_ALL},
        {"limits_that_make_no_sense_are_refused",
         limits_that_make_no_sense_are_refused, STORES_ALL},
    };

    return stores_run("queue_limits", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
