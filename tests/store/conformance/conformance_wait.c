/* SPDX-License-Identifier: MIT
 *
 * Waiting and waking. A wait may always end early, so what is tested is that
 * it ends, and soon, when it must.
 */
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/conformance/conformance_mail.h"
#include "support/in_time.h"

#define LONG_MS CONFORMANCE_WAIT_MS /* a wait that was not ended takes that */
#define SOON_MS 60000               /* one that was takes less than that */
#define BRIEF_MS 20                 /* one that nobody ends */

extern char **environ;

static int64_t
real_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

typedef struct sleeper_state {
    pthread_t thread;
    cascade_store *store;
    int wake_fd;
    int64_t timeout_ms;
    atomic_bool done;
    int64_t took_ms;
    cascade_err err;
} sleeper_state;

static void *
sleep_once(void *context)
{
    sleeper_state *it = context;
    int64_t start_ms = real_ms();

    it->err = it->store->driver->wait(it->store->self, it->wake_fd,
                                      it->timeout_ms, NULL);
    it->took_ms = real_ms() - start_ms;
    atomic_store(&it->done, true);
    return NULL;
}

static void
start_sleeper(sleeper_state *it, cascade_store *store, int wake_fd)
{
    *it = (sleeper_state){
        .store = store, .wake_fd = wake_fd, .timeout_ms = LONG_MS};
    assert_int_equal(0, pthread_create(&it->thread, NULL, sleep_once, it));
}

/* Repeats `wake` until all have ended: one that comes before a wait begins may
 * be lost. */
static void
assert_woken(sleeper_state *sleepers, size_t count, void (*wake)(void *context),
             void *context)
{
    int64_t end_ms = 0;

    for (size_t i = 0; i < count; i++) {
        while (!atomic_load(&sleepers[i].done)) {
            if (!in_time(&end_ms, 2 * LONG_MS))
                fail_msg("a wait does not even end with its time");
            wake(context);
            poll(NULL, 0, 10);
        }
        pthread_join(sleepers[i].thread, NULL);
        assert_int_equal(sleepers[i].err, CASCADE_OK);
        assert_true(sleepers[i].took_ms < SOON_MS);
    }
}

/* A wait of the waiter that keeps `it`. True: it ended soon. */
static bool
wait_as(conformance_db *db, cascade_waited *it, int wake_fd, int64_t timeout_ms)
{
    int64_t start_ms = real_ms();

    assert_ok(db->driver->wait(db->self, wake_fd, timeout_ms, it));
    return real_ms() - start_ms < SOON_MS;
}

/* Waits until the store listens, which it tells, and all that was told is
 * seen. */
static void
settle(conformance_db *db, cascade_waited *it)
{
    int64_t end_ms = 0;

    assert_true(wait_as(db, it, -1, 0));
    do
        assert_true(wait_as(db, it, -1, it->listening ? BRIEF_MS : LONG_MS));
    while ((it->woken || !it->listening) && in_time(&end_ms, LONG_MS));
    if (!it->listening)
        fail_msg("the store never listens");
    if (it->woken)
        fail_msg("each wait is woken, though nobody wakes");
}

static void
wake_store(void *context)
{
    cascade_store *store = context;

    assert_ok(store->driver->wake(store->self));
}

/* S17: a wake in one handle ends the waits of all others, and its own. */
static void
a_wake_ends_the_waits_of_all_handles(void **state)
{
    conformance_db *db = *state;
    sleeper_state sleepers[4];

    start_sleeper(&sleepers[0], db_open(db), -1);
    start_sleeper(&sleepers[1], db_open(db), -1);
    start_sleeper(&sleepers[2], sleepers[1].store, -1);
    start_sleeper(&sleepers[3], db->handles[0], -1);
    assert_woken(sleepers, 4, wake_store, db->handles[0]);
}

static void
submit_one(void *context)
{
    conformance_db *db = context;
    cascade_uuid id;

    db_start_many(db, &id, 1);
}

/* S17: so does a submit by itself, without a wake. */
static void
a_submit_ends_the_waits_of_all_handles(void **state)
{
    conformance_db *db = *state;
    sleeper_state sleepers[3];

    start_sleeper(&sleepers[0], db_open(db), -1);
    start_sleeper(&sleepers[1], db_open(db), -1);
    start_sleeper(&sleepers[2], sleepers[1].store, -1);
    assert_woken(sleepers, 3, submit_one, db);
}

typedef struct letter_box {
    mail_scene scene;
    cascade_uuid id;
    int sent;
} letter_box;

static void
send_one(void *context)
{
    letter_box *box = context;
    char path[20];

    (void)snprintf(path, sizeof(path), "p%d", box->sent++);
    assert_int_equal(mail_send_path(&box->scene, box->id, path), CASCADE_SENT);
}

/* S17: and one that brings a message alone. */
static void
a_message_ends_the_waits_of_all_handles(void **state)
{
    conformance_db *db = *state;
    letter_box box = {.scene = mail_begin(db)};
    sleeper_state sleepers[3];

    box.id = mail_own(&box.scene);
    start_sleeper(&sleepers[0], db_open(db), -1);
    start_sleeper(&sleepers[1], db_open(db), -1);
    start_sleeper(&sleepers[2], sleepers[1].store, -1);
    assert_woken(sleepers, 3, send_one, &box);
}

int
conformance_wake_main(const conformance_backend *backend, int argc, char **argv)
{
    cascade_store_options options = {.size = sizeof(options),
                                     .pooler = backend->pooler,
                                     .deadline_ms = CONFORMANCE_WAIT_MS};
    cascade_store *store = NULL;

    if (argc != 4)
        return 2;
    options.schema = argv[3][0] == '\0' ? NULL : argv[3];
    if (cascade_store_open(argv[2], &options, &store) != CASCADE_OK)
        return 3;
    if (store->driver->wake(store->self) != CASCADE_OK)
        return 4;
    return cascade_store_close(store) == CASCADE_OK ? 0 : 5;
}

/* This program again, as a process that wakes. */
static void
wake_by_process(void *context)
{
    conformance_db *db = context;
    char program[] = "/proc/self/exe";
    char option[] = "--wake";
    char *argv[] = {program, option, db->place.url, db->place.schema, NULL};
    pid_t pid;
    int status = -1;

    assert_int_equal(0, posix_spawn(&pid, program, NULL, NULL, argv, environ));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* S17: of another process too. */
static void
a_wake_of_another_process_ends_a_wait(void **state)
{
    conformance_db *db = *state;
    sleeper_state sleeper;

    if (!db->backend->on_disk)
        return;
    start_sleeper(&sleeper, db->handles[0], -1);
    assert_woken(&sleeper, 1, wake_by_process, db);
}

static void
write_fd(void *context)
{
    assert_int_equal(0, eventfd_write(*(int *)context, 1));
}

/* S17: wake_fd ends a wait and is not read by it; a wait that begins with it
 * readable ends at once. */
static void
a_readable_descriptor_ends_a_wait(void **state)
{
    conformance_db *db = *state;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sleeper_state sleeper;
    eventfd_t value = 0;
    int64_t start_ms;

    assert_true(fd >= 0);
    start_sleeper(&sleeper, db->handles[0], fd);
    assert_woken(&sleeper, 1, write_fd, &fd);
    start_ms = real_ms();
    assert_ok(db->driver->wait(db->self, fd, LONG_MS, NULL));
    assert_true(real_ms() - start_ms < SOON_MS);
    assert_int_equal(0, eventfd_read(fd, &value));
    assert_true(value >= 1);
    close(fd);
}

/* S15, S17: a wait ends with its time, whatever the injected clock does. */
static void
a_wait_ends_with_its_time(void **state)
{
    static const int64_t timeouts_ms[] = {0, 1, 50, 200};
    conformance_db *db = *state;

    for (size_t i = 0; i < sizeof(timeouts_ms) / sizeof(timeouts_ms[0]); i++) {
        int64_t start_ms = real_ms();

        assert_ok(db->driver->wait(db->self, -1, timeouts_ms[i], NULL));
        assert_true(real_ms() - start_ms < SOON_MS);
    }
}

/* A wait must not be busy: not every one of these may end at once. */
static void
a_wait_does_wait(void **state)
{
    conformance_db *db = *state;
    int64_t start_ms = real_ms();

    for (int i = 0; i < 10; i++)
        assert_ok(db->driver->wait(db->self, -1, 30, NULL));
    assert_true(real_ms() - start_ms >= 30);
}

/* S16: a wait that has ended holds no descriptor. */
static void
a_wait_leaves_no_descriptor(void **state)
{
    conformance_db *db = *state;
    cascade_waited it = {.seen = 0};
    size_t before;

    if (!db->backend->pooler)
        settle(db, &it);
    assert_ok(db->driver->wait(db->self, -1, 1, NULL));
    before = db_count_descriptors();
    for (int i = 0; i < 20; i++) {
        assert_ok(db->driver->wake(db->self));
        assert_ok(db->driver->wait(db->self, -1, 1, NULL));
    }
    assert_int_equal(db_count_descriptors(), before);
}

typedef struct waker_state {
    pthread_t thread;
    cascade_store *store;
    cascade_err err;
} waker_state;

static void *
wake_many(void *context)
{
    waker_state *it = context;

    for (int i = 0; i < 200 && it->err == CASCADE_OK; i++)
        it->err = it->store->driver->wake(it->store->self);
    return NULL;
}

/* S16, S17: many wakes at once harm nobody, and moves go on beside waits. */
static void
wakes_and_moves_go_on_beside_waits(void **state)
{
    conformance_db *db = *state;
    sleeper_state sleepers[2];
    waker_state wakers[4];
    cascade_uuid ids[10];

    start_sleeper(&sleepers[0], db->handles[0], -1);
    start_sleeper(&sleepers[1], db_open(db), -1);
    db_start_many(db, ids, 10);
    for (int i = 0; i < 4; i++) {
        wakers[i] = (waker_state){.store = db->handles[i % 2]};
        assert_int_equal(
            0, pthread_create(&wakers[i].thread, NULL, wake_many, &wakers[i]));
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(wakers[i].thread, NULL);
        assert_int_equal(wakers[i].err, CASCADE_OK);
    }
    assert_woken(sleepers, 2, wake_store, db->handles[0]);
}

/* ---- What a wait tells --------------------------------------------------- */

/* S17: a wake between two waits of a waiter ends the second at once, also when
 * another waiter on the handle was the first to hear of it; and only that. */
static void
a_wake_between_two_waits_is_told_to_each_waiter(void **state)
{
    conformance_db *db = *state;
    cascade_store *other = db_open(db);
    cascade_waited waiters[3] = {{.seen = 0}};

    for (int i = 0; i < 3; i++)
        settle(db, &waiters[i]);
    for (int round = 0; round < 3; round++) {
        cascade_store *from = round == 0 ? db->handles[0] : other;

        assert_ok(from->driver->wake(from->self));
        for (int i = 0; i < 3; i++) {
            assert_true(wait_as(db, &waiters[i], -1, LONG_MS));
            assert_true(waiters[i].woken);
            assert_true(waiters[i].listening);
        }
        for (int i = 0; i < 3; i++) {
            assert_true(wait_as(db, &waiters[i], -1, BRIEF_MS));
            assert_false(waiters[i].woken);
        }
    }
}

/* S17: neither the time nor wake_fd is a wake. */
static void
a_wait_that_nobody_woke_tells_so(void **state)
{
    conformance_db *db = *state;
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    cascade_waited it = {.seen = 0};
    uint64_t seen;

    assert_true(fd >= 0);
    settle(db, &it);
    seen = it.seen;
    for (int64_t timeout_ms = 0; timeout_ms <= 20; timeout_ms += 10) {
        it.woken = true;
        assert_true(wait_as(db, &it, -1, timeout_ms));
        assert_false(it.woken);
    }
    it.woken = true;
    assert_true(wait_as(db, &it, fd, LONG_MS));
    assert_false(it.woken);
    assert_true(it.seen == seen);
    close(fd);
}

/* S17: a store that is told of wakes says so; behind a pooler a server cannot
 * tell, and there is none before the others. */
static void
a_wait_tells_whether_wakes_are_heard(void **state)
{
    conformance_db *db = *state;
    cascade_store_options options = db_options(db);
    cascade_waited it = {.seen = 0};
    cascade_store *pooled = NULL;

    settle(db, &it);
    assert_true(it.listening);
    options.pooler = true;
    assert_ok(conformance_open(db, &options, &pooled));
    it.seen = 0;
    for (int i = 0; i < 2; i++) {
        bool listening = !db->driver->server_clock;

        it.listening = !listening;
        assert_ok(pooled->driver->wait(pooled->self, -1, 20, &it));
        assert_int_equal(it.listening, listening);
    }
    assert_ok(cascade_store_close(pooled));
}

conformance_group
conformance_wait(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wake_ends_the_waits_of_all_handles),
        cmocka_unit_test(a_submit_ends_the_waits_of_all_handles),
        cmocka_unit_test(a_message_ends_the_waits_of_all_handles),
        cmocka_unit_test(a_wake_of_another_process_ends_a_wait),
        cmocka_unit_test(a_readable_descriptor_ends_a_wait),
        cmocka_unit_test(a_wait_ends_with_its_time),
        cmocka_unit_test(a_wait_does_wait),
        cmocka_unit_test(a_wait_leaves_no_descriptor),
        cmocka_unit_test(wakes_and_moves_go_on_beside_waits),
        cmocka_unit_test(a_wake_between_two_waits_is_told_to_each_waiter),
        cmocka_unit_test(a_wait_that_nobody_woke_tells_so),
        cmocka_unit_test(a_wait_tells_whether_wakes_are_heard),
    };

    return (conformance_group){"wait", tests, sizeof(tests) / sizeof(tests[0])};
}

/* S17: where nothing is heard, that is told, and work is found by looking. */
static void
an_unheard_wake_is_no_loss(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_waited told = {.seen = 0, .woken = true, .listening = true};
    cascade_claimed claimed[1];
    cascade_claim_result result = {.count = 0};
    cascade_uuid id;

    assert_ok(db->driver->wake(db->self));
    assert_ok(db->driver->wait(db->self, -1, 1, &told));
    assert_false(told.listening);
    assert_false(told.woken);
    db_start_many(db, &id, 1);
    assert_ok(db_claim(db, engine, "default", 1, claimed, &result));
    assert_int_equal(result.count, 1);
}

conformance_group
conformance_wait_unheard(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unheard_wake_is_no_loss),
        cmocka_unit_test(a_readable_descriptor_ends_a_wait),
        cmocka_unit_test(a_wait_ends_with_its_time),
        cmocka_unit_test(a_wait_does_wait),
        cmocka_unit_test(a_wait_leaves_no_descriptor),
    };

    return (conformance_group){"wait unheard", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
