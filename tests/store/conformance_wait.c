/* SPDX-License-Identifier: MIT
 *
 * Waiting and waking. A wait may always end early, so what is tested is that
 * it ends, and soon, when it must.
 */
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/conformance.h"

#define LONG_MS 60000 /* a wait that was not ended takes that long */
#define SOON_MS 20000 /* one that was takes less than that */

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

    it->err =
        it->store->driver->wait(it->store->self, it->wake_fd, it->timeout_ms);
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
    for (size_t i = 0; i < count; i++) {
        while (!atomic_load(&sleepers[i].done)) {
            wake(context);
            poll(NULL, 0, 10);
        }
        pthread_join(sleepers[i].thread, NULL);
        assert_int_equal(sleepers[i].err, CASCADE_OK);
        assert_true(sleepers[i].took_ms < SOON_MS);
    }
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

int
conformance_wake_main(int argc, char **argv)
{
    cascade_store_options options = {.size = sizeof(options)};
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
    char *argv[] = {program, option, db->url, db->schema, NULL};
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
    assert_ok(db->driver->wait(db->self, fd, LONG_MS));
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

        assert_ok(db->driver->wait(db->self, -1, timeouts_ms[i]));
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
        assert_ok(db->driver->wait(db->self, -1, 30));
    assert_true(real_ms() - start_ms >= 30);
}

/* S16: a wait that has ended holds no descriptor. */
static void
a_wait_leaves_no_descriptor(void **state)
{
    conformance_db *db = *state;
    size_t before;

    assert_ok(db->driver->wait(db->self, -1, 1));
    before = db_count_descriptors();
    for (int i = 0; i < 20; i++) {
        assert_ok(db->driver->wake(db->self));
        assert_ok(db->driver->wait(db->self, -1, 1));
    }
    assert_int_equal(db_count_descriptors(), before);
}

static void *
wake_many(void *context)
{
    cascade_store *store = context;

    for (int i = 0; i < 200; i++)
        store->driver->wake(store->self);
    return NULL;
}

/* S16, S17: many wakes at once harm nobody, and moves go on beside waits. */
static void
wakes_and_moves_go_on_beside_waits(void **state)
{
    conformance_db *db = *state;
    sleeper_state sleepers[2];
    pthread_t wakers[4];
    cascade_uuid ids[10];

    start_sleeper(&sleepers[0], db->handles[0], -1);
    start_sleeper(&sleepers[1], db_open(db), -1);
    db_start_many(db, ids, 10);
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            0, pthread_create(&wakers[i], NULL, wake_many, db->handles[i % 2]));
    for (int i = 0; i < 4; i++)
        pthread_join(wakers[i], NULL);
    assert_woken(sleepers, 2, wake_store, db->handles[0]);
}

conformance_group
conformance_wait(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wake_ends_the_waits_of_all_handles),
        cmocka_unit_test(a_wake_of_another_process_ends_a_wait),
        cmocka_unit_test(a_readable_descriptor_ends_a_wait),
        cmocka_unit_test(a_wait_ends_with_its_time),
        cmocka_unit_test(a_wait_does_wait),
        cmocka_unit_test(a_wait_leaves_no_descriptor),
        cmocka_unit_test(wakes_and_moves_go_on_beside_waits),
    };

    return (conformance_group){"wait", tests, sizeof(tests) / sizeof(tests[0])};
}
