/* SPDX-License-Identifier: MIT
 *
 * The SQLite store when things go wrong: processes killed and stopped, a full
 * disk, no memory, a busy file; and many writers with checkpoints between them.
 *
 * SQLite's state must not be carried over a fork(), so a test forks its
 * children before it opens the database, and they wait for a byte on a pipe.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/migrations.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/sqlite_fixture.h"
#include "store/sqlite/sqlite_memory.h"

#define WAIT_NS INT64_C(50000000)
#define SOON_NS INT64_C(60000000000) /* a wait that was ended */

static void
assert_whole(sqlite_fixture *it)
{
    char text[256];

    fixture_word(it, "PRAGMA integrity_check", text);
    assert_string_equal(text, "ok");
    assert_int_equal(
        fixture_number(it, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

/* ---- Processes ----------------------------------------------------------- */

typedef struct process {
    pid_t pid;
    int to;   /* closed or written by the parent */
    int from; /* what the child tells */
} process;

typedef int (*process_fn)(sqlite_fixture *it, int in, int out);

static process
process_start(sqlite_fixture *it, process_fn fn)
{
    int down[2];
    int up[2];
    process made;

    assert_int_equal(pipe(down), 0);
    assert_int_equal(pipe(up), 0);
    made.pid = fixture_start();
    if (made.pid == 0) {
        close(down[1]);
        close(up[0]);
        _exit(fn(it, down[0], up[1]));
    }
    close(down[0]);
    close(up[1]);
    made.to = down[1];
    made.from = up[0];
    return made;
}

static void
process_end(process *it, int expected)
{
    int status = 0;

    close(it->to);
    close(it->from);
    assert_int_equal(waitpid(it->pid, &status, 0), it->pid);
    if (status != expected)
        fail_msg("the child ended with status 0x%x", (unsigned)status);
}

/* Blocks until the parent writes or closes. */
static void
wait_for_parent(int in)
{
    char byte;

    while (read(in, &byte, 1) < 0 && errno == EINTR)
        ;
}

/* Far from the random numbers of the other children. */
static void
get_own_ids(sqlite_fixture *it)
{
    it->rows.random += (uint64_t)getpid();
    it->rows.random = rows_random(&it->rows);
}

static int
open_and_submit(sqlite_fixture *it, int in, int out)
{
    cascade_store *store = NULL;

    wait_for_parent(in);
    get_own_ids(it);
    if (fixture_open(it, CASCADE_MIGRATE_AUTO, &store) != CASCADE_OK) {
        (void)!write(out, cascade_errmsg(), strlen(cascade_errmsg()));
        return 1;
    }
    if (fixture_submit(store, rows_start(&it->rows, rows_id(&it->rows))) !=
        CASCADE_OK) {
        (void)!write(out, cascade_errmsg(), strlen(cascade_errmsg()));
        return 2;
    }
    return cascade_store_close(store) == CASCADE_OK ? 0 : 3;
}

/* S1: eight processes open a file that is not there, at the same moment. */
static void
many_processes_may_create_one_file(void **state)
{
    sqlite_fixture *it = *state;
    process children[8];
    char text[300];

    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 8; i++)
            children[i] = process_start(it, open_and_submit);
        for (int i = 0; i < 8; i++)
            assert_int_equal(write(children[i].to, "g", 1), 1);
        for (int i = 0; i < 8; i++) {
            ssize_t len = read(children[i].from, text, sizeof(text) - 1);

            if (len > 0)
                fail_msg("%.*s", (int)len, text);
            process_end(&children[i], 0);
        }
        assert_int_equal(fixture_number(it, "SELECT count(*) FROM cascades"),
                         8);
        assert_int_equal(
            fixture_number(it, "SELECT count(*) FROM cascade_schema"),
            csc_migrations_sqlite_count);
        assert_whole(it);
        assert_int_equal(unlink(it->path), 0);
    }
}

/* A batch of five starts with two events each, as long as it is alive; tells
 * the parent after each that is acknowledged. */
static int
commit_for_ever(sqlite_fixture *it, int in, int out)
{
    cascade_store *store = fixture_store(it);
    cascade_incarnation row = rows_incarnation(&it->rows, 1, 600000);
    csc_sqlite *sqlite = store->self;

    (void)in;
    get_own_ids(it);
    sqlite->checkpoint_pages = 40; /* so that some die in a checkpoint */
    sqlite->checkpoint_at_pages = 40;
    if (store->driver->attach(store->self, &row) != CASCADE_OK)
        return 1;
    for (int64_t number = 1;; number++) {
        cascade_change *starts[5];
        cascade_batch batch = {
            .engine_id = row.engine_id, .number = number, .change_count = 5};
        bool existed[5];

        for (int i = 0; i < 5; i++) {
            starts[i] = rows_start(&it->rows, rows_id(&it->rows));
            (void)rows_event(&it->rows, starts[i], 0, "a", "[1,2,3]");
            (void)rows_event(&it->rows, starts[i], 0, "b", "{}");
        }
        batch.changes = rows_changes(&it->rows, starts, 5);
        if (store->driver->commit(store->self, &batch, existed) != CASCADE_OK)
            return 2;
        if (write(out, "c", 1) != 1)
            return 3;
        rows_clear(&it->rows);
    }
}

/* S2: killed at any moment, whole batches are there: every acknowledged one,
 * and at most one more. */
static void
a_killed_process_leaves_whole_batches(void **state)
{
    sqlite_fixture *it = *state;
    int64_t before = 0;

    for (int round = 0; round < 100; round++) {
        int64_t acknowledged = 0;
        int64_t committed;
        size_t wanted = 1 + rows_below(&it->rows, 30);
        struct timespec pause = {0, (long)rows_below(&it->rows, 1000000)};
        process child = process_start(it, commit_for_ever);
        cascade_store *store;
        char bytes[64];
        ssize_t len = 1;

        while (acknowledged < (int64_t)wanted && len > 0) {
            len = read(child.from, bytes, 1);
            acknowledged += len;
        }
        nanosleep(&pause, NULL); /* to a random place inside a commit */
        assert_int_equal(kill(child.pid, SIGKILL), 0);
        while (len > 0) {
            len = read(child.from, bytes, sizeof(bytes));
            acknowledged += len;
        }
        process_end(&child, SIGKILL);
        store = fixture_store(it);
        committed = fixture_number(it, "SELECT batch FROM cascade_lanes");
        assert_in_range(committed, acknowledged, acknowledged + 1);
        before += committed;
        assert_int_equal(fixture_number(it, "SELECT count(*) FROM cascades"),
                         5 * before);
        assert_int_equal(
            fixture_number(it, "SELECT count(*) FROM context_events"),
            10 * before);
        fixture_sql(it, "DELETE FROM cascade_lanes");
        assert_int_equal(cascade_store_close(store), CASCADE_OK);
    }
    assert_whole(it);
}

/* Attaches, starts a cascade that it owns, stops; goes on when continued. */
static int
stop_as_owner(sqlite_fixture *it, int in, int out)
{
    cascade_store *store = fixture_store(it);
    cascade_uuid engine_id = fixture_attach(it, store);
    cascade_uuid id = rows_id(&it->rows);
    cascade_change *start = rows_start_owned(&it->rows, id, engine_id);

    (void)in;
    if (fixture_commit(store, engine_id, 1, start) != CASCADE_OK)
        return 1;
    if (write(out, &engine_id, sizeof(engine_id)) != sizeof(engine_id))
        return 2;
    raise(SIGSTOP);
    if (fixture_commit(store, engine_id, 2, rows_write(&it->rows, id, 1)) !=
        CASCADE_ERR_FENCED)
        return 3;
    return cascade_store_close(store) == CASCADE_OK ? 0 : 4;
}

/* G5, G6: stopped outside a transaction it is in nobody's way, and continued it
 * can commit nothing. */
static void
a_stopped_process_is_taken_over(void **state)
{
    sqlite_fixture *it = *state;
    process child = process_start(it, stop_as_owner);
    cascade_uuid engine_id;
    cascade_store *store;
    size_t freed = 0;
    int status = 0;

    assert_int_equal(read(child.from, &engine_id, sizeof(engine_id)),
                     sizeof(engine_id));
    assert_int_equal(waitpid(child.pid, &status, WUNTRACED), child.pid);
    assert_true(WIFSTOPPED(status));
    store = fixture_store(it);
    assert_int_equal(
        store->driver->remove(store->self, &engine_id, 1, 10, &freed),
        CASCADE_OK);
    assert_int_equal(freed, 1);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    assert_int_equal(kill(child.pid, SIGCONT), 0);
    process_end(&child, 0);
    assert_int_equal(fixture_number(it, "SELECT fn_id FROM cascades"), 0);
}

/* S17: no call of wake is needed for a start by another process. */
static void
a_start_of_another_process_ends_a_wait(void **state)
{
    sqlite_fixture *it = *state;
    process child = process_start(it, open_and_submit);
    cascade_store *store = fixture_store(it);
    cascade_waited seen = {.seen = 0};
    int64_t begin_ns;

    assert_int_equal(store->driver->wait(store->self, -1, 0, &seen),
                     CASCADE_OK);
    begin_ns = csc_sqlite_conn_now_ns();
    assert_int_equal(write(child.to, "g", 1), 1);
    assert_int_equal(
        store->driver->wait(store->self, -1, FIXTURE_WAIT_MS, &seen),
        CASCADE_OK);
    assert_true(seen.woken);
    assert_true(csc_sqlite_conn_now_ns() - begin_ns < SOON_NS);
    process_end(&child, 0);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

typedef struct waker {
    pthread_t thread;
    cascade_store *store;
    atomic_bool stop;
    cascade_err err;
} waker;

/* With so much time between two that a wait has begun, mostly. */
static void *
wake_again_and_again(void *context)
{
    const struct timespec pause = {0, 10000000};
    waker *it = context;

    while (!atomic_load(&it->stop) && it->err == CASCADE_OK) {
        (void)nanosleep(&pause, NULL);
        it->err = it->store->driver->wake(it->store->self);
    }
    return NULL;
}

static int
wait_without_watch(sqlite_fixture *it)
{
    struct rlimit limit = {3, 3}; /* no descriptor any more */
    waker other = {.store = fixture_store(it)};
    cascade_store *store = fixture_store(it);

    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1;
    if (pthread_create(&other.thread, NULL, wake_again_and_again, &other) != 0)
        return 2;
    for (int i = 0; i < 20; i++) {
        int64_t begin_ns = csc_sqlite_conn_now_ns();

        if (store->driver->wait(store->self, -1, FIXTURE_WAIT_MS, NULL) !=
            CASCADE_OK)
            return 3;
        if (csc_sqlite_conn_now_ns() - begin_ns > SOON_NS)
            return 4;
    }
    atomic_store(&other.stop, true);
    pthread_join(other.thread, NULL);
    if (other.err != CASCADE_OK)
        return 6;
    return ((csc_sqlite *)store->self)->watches[0] == -1 ? 0 : 5;
}

/* S17 where inotify is not to be had. */
static void
a_wait_without_inotify_looks_at_the_token(void **state)
{
    fixture_fork(*state, wait_without_watch);
}

/* G2: an engine that has just looked, a little too early, must not sleep. */
static void
a_wake_before_the_wait_is_not_lost(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_store *other = fixture_store(it);
    int64_t begin_ns;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(store->driver->wait(store->self, -1, 0, NULL),
                         CASCADE_OK);
        assert_int_equal(other->driver->wake(other->self), CASCADE_OK);
        begin_ns = csc_sqlite_conn_now_ns();
        assert_int_equal(
            store->driver->wait(store->self, -1, FIXTURE_WAIT_MS, NULL),
            CASCADE_OK);
        assert_true(csc_sqlite_conn_now_ns() - begin_ns < SOON_NS);
    }
    assert_int_equal(cascade_store_close(other), CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* ---- Checkpoints --------------------------------------------------------- */

#define HAMMER_PAGES 60
#define HAMMER_ROUNDS 400

/* Writers whose every few commits is a checkpoint. */
static int
hammer(sqlite_fixture *it, int in, int out)
{
    cascade_store *store = NULL;
    csc_sqlite *sqlite;
    char *value = csc_mem_alloc(9000);
    struct stat log;
    char path[300];

    get_own_ids(it);
    memset(value, '1', 8999);
    value[0] = '"';
    value[8998] = '"';
    value[8999] = '\0';
    wait_for_parent(in);
    store = fixture_store(it);
    sqlite = store->self;
    sqlite->checkpoint_pages = HAMMER_PAGES;
    sqlite->checkpoint_at_pages = HAMMER_PAGES;
    snprintf(path, sizeof(path), "%s-wal", it->path);
    for (int i = 0; i < HAMMER_ROUNDS; i++) {
        cascade_change *start = rows_start(&it->rows, rows_id(&it->rows));

        (void)rows_event(&it->rows, start, 0, "k", value);
        if (fixture_submit(store, start) != CASCADE_OK) {
            (void)!write(out, cascade_errmsg(), strlen(cascade_errmsg()));
            return 1;
        }
        rows_clear(&it->rows);
        if (stat(path, &log) == 0 && log.st_size > 4096 * 20 * HAMMER_PAGES)
            return 2; /* checkpoints are starved */
    }
    csc_mem_free(value);
    return cascade_store_close(store) == CASCADE_OK ? 0 : 3;
}

/* Three processes write and checkpoint without a pause: nothing is lost or
 * damaged, and the log stays short. */
static void
writers_and_checkpoints_do_not_meet(void **state)
{
    sqlite_fixture *it = *state;
    process children[3];
    char text[300];

    for (int i = 0; i < 3; i++)
        children[i] = process_start(it, hammer);
    for (int i = 0; i < 3; i++)
        assert_int_equal(write(children[i].to, "g", 1), 1);
    for (int i = 0; i < 3; i++) {
        ssize_t len = read(children[i].from, text, sizeof(text) - 1);

        if (len > 0)
            fail_msg("%.*s", (int)len, text);
        process_end(&children[i], 0);
    }
    assert_int_equal(fixture_number(it, "SELECT count(*) FROM context_events"
                                        " WHERE length(value) = 8999"),
                     3 * HAMMER_ROUNDS);
    assert_whole(it);
}

static cascade_err
hold_an_old_state(void *context, const cascade_row *row,
                  const cascade_run_row *run)
{
    cascade_store *store = context;
    cascade_change *start;
    test_rows rows;
    struct stat log;
    char path[300];
    cascade_err err = CASCADE_OK;

    (void)row;
    (void)run;
    rows_init(&rows, rows_seed() + 1, 1);
    for (int i = 0; i < 300 && err == CASCADE_OK; i++) {
        start = rows_start(&rows, rows_id(&rows));
        err = fixture_submit(store, start);
        rows_clear(&rows);
    }
    rows_fini(&rows);
    snprintf(path, sizeof(path), "%s-wal", ((csc_sqlite *)store->self)->path);
    assert_int_equal(stat(path, &log), 0);
    assert_true(log.st_size > 1000 * 4096); /* it could not begin anew */
    return err;
}

/* While somebody reads an old state the log grows, tried now and then; behind
 * it, it is begun anew. */
static void
a_reader_of_an_old_state_does_not_stop_checkpoints(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *reader = fixture_store(it);
    cascade_store *store = fixture_store(it);
    csc_sqlite *sqlite = store->self;
    cascade_query query = {.limit = 1};

    sqlite->checkpoint_pages = 100;
    sqlite->checkpoint_at_pages = 100;
    assert_int_equal(
        fixture_submit(store, rows_start(&it->rows, rows_id(&it->rows))),
        CASCADE_OK);
    assert_int_equal(
        reader->driver->list(reader->self, &query, hold_an_old_state, store),
        CASCADE_OK);
    assert_true(sqlite->checkpoint_at_pages > 1000);
    for (int i = 0; i < 30; i++)
        assert_int_equal(
            fixture_submit(store, rows_start(&it->rows, rows_id(&it->rows))),
            CASCADE_OK);
    assert_in_range(sqlite->writer.wal_pages, 1, 200);
    assert_in_range(sqlite->checkpoint_at_pages, 100, 220);
    assert_int_equal(cascade_store_close(reader), CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    assert_whole(it);
}

typedef struct excluder {
    pthread_t thread;
    csc_sqlite_lock lock;
    bool got;
} excluder;

static void *
exclude(void *context)
{
    excluder *it = context;

    it->got = csc_sqlite_lock_exclude(&it->lock, INT64_MAX);
    return NULL;
}

static int64_t
soon_ns(void)
{
    return csc_sqlite_conn_now_ns() + WAIT_NS;
}

/* The sidecar by itself: writers share, a checkpoint excludes them, and one
 * that waits is not overtaken by new writers for ever. */
static void
a_checkpoint_that_waits_is_not_starved(void **state)
{
    sqlite_fixture *it = *state;
    csc_sqlite_lock one = {.fd = -1};
    csc_sqlite_lock two = {.fd = -1};
    excluder third = {.lock = {.fd = -1}};

    fixture_sql(it, "CREATE TABLE t (x)");
    assert_int_equal(csc_sqlite_lock_open(&one, it->path, false, soon_ns()), 0);
    assert_int_equal(csc_sqlite_lock_open(&two, it->path, false, soon_ns()), 0);
    assert_int_equal(
        csc_sqlite_lock_open(&third.lock, it->path, false, soon_ns()), 0);
    assert_int_equal(csc_sqlite_lock_share(&one, soon_ns()), CASCADE_OK);
    assert_int_equal(csc_sqlite_lock_share(&two, soon_ns()), CASCADE_OK);
    csc_sqlite_lock_release(&two);
    assert_false(csc_sqlite_lock_exclude(&two, soon_ns()));
    assert_int_equal(csc_sqlite_lock_share(&two, soon_ns()), CASCADE_OK);
    csc_sqlite_lock_release(&two);

    assert_int_equal(pthread_create(&third.thread, NULL, exclude, &third), 0);
    while (csc_sqlite_lock_share(&two, 0) == CASCADE_OK)
        csc_sqlite_lock_release(&two); /* until the third has the gate */
    csc_sqlite_lock_release(&one);
    pthread_join(third.thread, NULL);
    assert_true(third.got);
    assert_int_equal(csc_sqlite_lock_share(&one, soon_ns()),
                     CASCADE_ERR_UNAVAILABLE);
    csc_sqlite_lock_release(&third.lock);
    assert_int_equal(csc_sqlite_lock_share(&one, soon_ns()), CASCADE_OK);

    assert_false(csc_sqlite_lock_alone(&one));
    csc_sqlite_lock_close(&two);
    csc_sqlite_lock_close(&third.lock);
    assert_true(csc_sqlite_lock_alone(&one));
    csc_sqlite_lock_close(&one);
}

/* ---- Failing moves ------------------------------------------------------- */

/* S16: after a refusal there is no transaction, and another handle need not
 * wait for its end. */
static void
a_refused_commit_leaves_no_transaction(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_store *other = fixture_store(it);
    csc_sqlite *sqlite = store->self;
    cascade_uuid engine_id = fixture_attach(it, store);
    cascade_uuid id = rows_id(&it->rows);
    cascade_change *write;

    assert_int_equal(fixture_commit(store, engine_id, 1,
                                    rows_start_owned(&it->rows, id, engine_id)),
                     CASCADE_OK);
    write = rows_write(&it->rows, id, 1);
    rows_insert(&it->rows, write, 1, "n")->node_instance_id = "same";
    rows_insert(&it->rows, write, 2, "n")->node_instance_id = "same";
    assert_int_equal(fixture_commit(store, engine_id, 2, write),
                     CASCADE_ERR_REFUSED);
    assert_non_null(strstr(cascade_errmsg(), "(code 2067)"));
    assert_int_not_equal(sqlite3_get_autocommit(sqlite->writer.db), 0);
    assert_int_equal(
        fixture_submit(other, rows_start(&it->rows, rows_id(&it->rows))),
        CASCADE_OK);
    assert_int_equal(cascade_store_close(other), CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* How long a submit takes that does not get the lock. */
static int64_t
time_of_failing(cascade_store *store, cascade_change *start)
{
    int64_t begin_ns = csc_sqlite_conn_now_ns();

    assert_int_equal(fixture_submit(store, start), CASCADE_ERR_UNAVAILABLE);
    return csc_sqlite_conn_now_ns() - begin_ns;
}

/* S15: a stranger keeps the write lock. A machine that stands still may make
 * some of the waits longer. */
static void
a_busy_database_is_waited_for_up_to_the_deadline(void **state)
{
    sqlite_fixture *it = *state;
    cascade_change *start = rows_start(&it->rows, rows_id(&it->rows));
    cascade_store *store = fixture_store(it);
    sqlite3 *stranger = NULL;
    int64_t took_ns = INT64_MAX;

    assert_int_equal(sqlite3_open(it->path, &stranger), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(stranger, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    fixture_set_deadline(store, 200);
    for (int i = 0; i < 10 && took_ns >= 2000 * CSC_MS_NS; i++) {
        took_ns = time_of_failing(store, start);
        assert_true(took_ns >= 200 * CSC_MS_NS);
    }
    assert_true(took_ns < 2000 * CSC_MS_NS);
    fixture_set_deadline(store, FIXTURE_WAIT_MS);
    assert_int_equal(sqlite3_exec(stranger, "COMMIT", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(stranger), SQLITE_OK);
    assert_int_equal(fixture_submit(store, start), CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* TIME: no process of before a reboot is alive. */
static void
a_lease_of_another_boot_has_expired(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_uuid engine_id = fixture_attach(it, store);
    cascade_uuid id = rows_id(&it->rows);
    size_t freed = 99;

    assert_int_equal(fixture_commit(store, engine_id, 1,
                                    rows_start_owned(&it->rows, id, engine_id)),
                     CASCADE_OK);
    assert_int_equal(store->driver->remove(store->self, NULL, 0, 10, &freed),
                     CASCADE_OK);
    assert_int_equal(freed, 0);
    fixture_sql(it, "UPDATE cascade_engines SET boot = 'another'");
    assert_int_equal(store->driver->remove(store->self, NULL, 0, 10, &freed),
                     CASCADE_OK);
    assert_int_equal(freed, 1);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* ---- A full disk --------------------------------------------------------- */

/* 0 when all is as it should. */
static int
fill_disk(sqlite_fixture *it)
{
    cascade_store *store = fixture_store(it);
    csc_sqlite *sqlite = store->self;
    struct rlimit limit;
    int64_t count = 0;
    cascade_err err = CASCADE_OK;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    limit.rlim_cur = 1 << 20;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 2;
    while (err == CASCADE_OK && count < 10000) {
        err = fixture_submit(store, rows_start(&it->rows, rows_id(&it->rows)));
        count += err == CASCADE_OK;
        rows_clear(&it->rows);
    }
    if (err != CASCADE_ERR_UNAVAILABLE || cascade_errmsg()[0] == '\0')
        return 3;
    if (sqlite3_get_autocommit(sqlite->writer.db) == 0)
        return 4;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 5;
    for (int i = 0; i < 10; i++) {
        if (fixture_submit(store, rows_start(&it->rows, rows_id(&it->rows))) !=
            CASCADE_OK)
            return 6;
    }
    if (cascade_store_close(store) != CASCADE_OK)
        return 7;
    return fixture_number(it, "SELECT count(*) FROM cascades") == count + 10
               ? 0
               : 8;
}

/* Every acknowledged start is there, no other, and it goes on once there is
 * room again. */
static void
a_full_disk_loses_nothing(void **state)
{
    sqlite_fixture *it = *state;

    fixture_fork(it, fill_disk);
    assert_whole(it);
}

/* ---- No memory ----------------------------------------------------------- */

static int
use_failing_memory(void)
{
    sqlite3_shutdown();
    return sqlite_memory_install() == SQLITE_OK ? 0 : 1;
}

/* Commits batch `number` with memory that fails at the nth; then again, with
 * memory. `*reached`: the nth was asked for. */
static int
commit_without_memory(sqlite_fixture *it, cascade_store *store,
                      cascade_uuid engine_id, int64_t number, long nth,
                      bool *reached)
{
    cascade_change *start =
        rows_start_owned(&it->rows, rows_id(&it->rows), engine_id);
    const csc_sqlite *sqlite = store->self;
    cascade_err err;

    (void)rows_event(&it->rows, start, 0, "k", "1");
    sqlite_memory_fail(nth);
    err = fixture_commit(store, engine_id, number, start);
    *reached = sqlite_memory_stop();
    if (err != CASCADE_OK && err != CASCADE_ERR_NO_MEMORY &&
        err != CASCADE_ERR_UNAVAILABLE) {
        fprintf(stderr, "at %ld: %s %s\n", nth, cascade_err_name(err),
                cascade_errmsg());
        return 1;
    }
    if (sqlite->writer.db != NULL &&
        sqlite3_get_autocommit(sqlite->writer.db) == 0)
        return 2;
    err = fixture_commit(store, engine_id, number, start);
    if (err != CASCADE_OK)
        fprintf(stderr, "then: %s %s\n", cascade_err_name(err),
                cascade_errmsg());
    rows_clear(&it->rows);
    return err == CASCADE_OK ? 0 : 3;
}

/* Every allocation of a commit fails, one after the other: alone or with all
 * behind it, on a connection that is open or to be opened. */
static int
sweep_commits(sqlite_fixture *it)
{
    int64_t number = 0;
    cascade_uuid engine_id;
    cascade_store *store;
    cascade_store *other; /* keeps the index of the log in being */

    if (use_failing_memory() != 0)
        return 10;
    store = fixture_store(it);
    other = fixture_store(it);
    engine_id = fixture_attach(it, store);
    for (int mode = 0; mode < 4; mode++) {
        bool reached = true;

        sqlite_memory_last(mode % 2 == 1);
        for (long nth = 1; reached; nth += mode < 2 ? 1 : 1 + nth / 60) {
            int code;

            if (mode >= 2)
                csc_sqlite_conn_close(&((csc_sqlite *)store->self)->writer);
            code = commit_without_memory(it, store, engine_id, ++number, nth,
                                         &reached);
            if (code != 0)
                return code;
        }
        if (number < 20)
            return 5; /* nothing failed: the sweep is no test */
    }
    if (cascade_store_close(other) != CASCADE_OK ||
        cascade_store_close(store) != CASCADE_OK)
        return 6;
    return fixture_number(it, "SELECT count(*) FROM context_events") == number
               ? 0
               : 7;
}

/* S16, S3: whatever allocation of SQLite's fails, the batch takes effect once
 * and the store stays usable. */
static void
a_commit_without_memory_is_whole_or_not_at_all(void **state)
{
    sqlite_fixture *it = *state;

    fixture_fork(it, sweep_commits);
    assert_whole(it);
}

static int
open_without_memory(sqlite_fixture *it, long nth, bool *reached)
{
    cascade_err err;

    sqlite_memory_fail(nth);
    err = fixture_try(it, CASCADE_MIGRATE_AUTO);
    *reached = sqlite_memory_stop();
    if (err != CASCADE_OK && err != CASCADE_ERR_NO_MEMORY &&
        err != CASCADE_ERR_UNAVAILABLE) {
        fprintf(stderr, "at %ld: %s %s\n", nth, cascade_err_name(err),
                cascade_errmsg());
        return 1;
    }
    return fixture_try(it, CASCADE_MIGRATE_AUTO) == CASCADE_OK ? 0 : 2;
}

/* A database to be made, and one that is there. */
static int
sweep_opens(sqlite_fixture *it)
{
    if (use_failing_memory() != 0)
        return 10;
    for (int mode = 0; mode < 4; mode++) {
        bool reached = true;

        sqlite_memory_last(mode % 2 == 1);
        for (long nth = 1; reached; nth += 1 + nth / 60) {
            int code = open_without_memory(it, nth, &reached);

            if (code != 0)
                return code;
            if (mode < 2 && unlink(it->path) != 0)
                return 3;
        }
    }
    return 0;
}

static void
opening_without_memory_leaves_nothing_behind(void **state)
{
    fixture_fork(*state, sweep_opens);
}

/* The same with the library's own allocations, of which each move has few. */
static void
moves_without_memory_of_ours_fail_cleanly(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_uuid engine_id = fixture_attach(it, store);
    const char *queue = "default";
    cascade_claim claim = {.engine_id = engine_id,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 10,
                           .suspect_from = 3};
    cascade_claimed claimed[10];
    cascade_claim_result result = {.count = 0};
    size_t live = csc_mem_live();
    cascade_err err = CASCADE_ERR_NO_MEMORY;

    assert_int_equal(
        fixture_submit(store, rows_start(&it->rows, rows_id(&it->rows))),
        CASCADE_OK);
    rows_clear(&it->rows);
    live = csc_mem_live();
    for (size_t nth = 1; err != CASCADE_OK; nth++) {
        assert_true(nth < 100);
        assert_int_equal(err, CASCADE_ERR_NO_MEMORY);
        (void)csc_mem_fail_at(nth, 1);
        err = store->driver->claim(store->self, &claim, claimed, &result);
        (void)csc_mem_fail_at(0, 0);
        assert_int_equal(csc_mem_live(), live);
    }
    assert_int_equal(result.count, 1);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

int
main(int argc, char **argv)
{
#define ONE(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        ONE(many_processes_may_create_one_file),
        ONE(a_killed_process_leaves_whole_batches),
        ONE(a_stopped_process_is_taken_over),
        ONE(a_start_of_another_process_ends_a_wait),
        ONE(a_wake_before_the_wait_is_not_lost),
        ONE(a_wait_without_inotify_looks_at_the_token),
        ONE(writers_and_checkpoints_do_not_meet),
        ONE(a_reader_of_an_old_state_does_not_stop_checkpoints),
        ONE(a_checkpoint_that_waits_is_not_starved),
        ONE(a_refused_commit_leaves_no_transaction),
        ONE(a_busy_database_is_waited_for_up_to_the_deadline),
        ONE(a_lease_of_another_boot_has_expired),
        ONE(a_full_disk_loses_nothing),
        ONE(a_commit_without_memory_is_whole_or_not_at_all),
        ONE(opening_without_memory_leaves_nothing_behind),
        ONE(moves_without_memory_of_ours_fail_cleanly),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("sqlite crash", tests, NULL, NULL);
}
