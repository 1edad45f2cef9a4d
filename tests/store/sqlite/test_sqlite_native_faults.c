/* SPDX-License-Identifier: MIT
 *
 * Transactions of nodes on SQLite where something fails: each allocation of
 * SQLite's, each call to the disk, the power. Each node inserts one order and
 * completes one execution, so whatever happens there are as many of the ones as
 * of the others; and what finish or settle says is what is there.
 */
#include <stdio.h>
#include <string.h>

#include "store/sqlite/sqlite_disk.h"
#include "store/sqlite/sqlite_memory.h"
#include "store/sqlite/sqlite_nodes.h"
#include "store/sqlite/sqlite_vfs.h"

#define ORDER "INSERT INTO orders VALUES ('tea')"

/* ---- Faults -------------------------------------------------------------- */

typedef struct fault_plan {
    const char *name;
    bool memory;
    bool lasting;     /* memory: all from the nth on */
    bool reopens;     /* the connection is opened anew each time */
    bool checkpoints; /* one after each commit */
    vfs_fault vfs;    /* else */
} fault_plan;

static void
arm(const fault_plan *plan, size_t nth)
{
    vfs_fault fault = plan->vfs;

    fault.nth = nth;
    sqlite_memory_last(plan->lasting);
    if (plan->memory)
        sqlite_memory_fail((long)nth);
    else
        sqlite_vfs_fail(&fault);
}

/* True when the nth call was reached. */
static bool
disarm(const fault_plan *plan)
{
    bool reached =
        plan->memory ? sqlite_memory_stop() : sqlite_vfs_failed() > 0;

    sqlite_vfs_fail(NULL);
    return reached;
}

/* ---- One node ------------------------------------------------------------ */

static void
assert_one_of(cascade_err err, const cascade_err *which, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (err == which[i])
            return;
    }
    fail_msg("%s: %s", cascade_err_name(err), cascade_errmsg());
}

/* What the function does. A statement that failed is tried once more, behind
 * the fault. True when the order is in the transaction, as far as it knows. */
static bool
run_function(nodes_scene *scene, const fault_plan *plan, bool *reached)
{
    if (nodes_sql(scene, ORDER) == SQLITE_OK)
        return true;
    *reached = disarm(plan);
    return nodes_sql(scene, ORDER) == SQLITE_OK;
}

/* Whether it was recorded, as the store tells it. */
static bool
decide(nodes_scene *scene, cascade_err err)
{
    bool committed = false;

    assert_int_equal(nodes_settle(scene, &committed), CASCADE_OK);
    if (err == CASCADE_ERR_UNAVAILABLE && committed)
        nodes_step(scene);
    else
        assert_false(committed);
    if (!committed)
        scene->number += 2;
    return committed;
}

typedef struct sweep_count {
    int64_t done;    /* recorded, as finish or settle has told */
    int64_t unknown; /* finishes whose outcome was not known */
} sweep_count;

/* True when the nth call was reached. */
static bool
play(nodes_scene *scene, const fault_plan *plan, size_t nth,
     sweep_count *counts)
{
    static const cascade_err at_begin[] = {CASCADE_OK, CASCADE_ERR_NO_MEMORY,
                                           CASCADE_ERR_UNAVAILABLE};
    static const cascade_err at_finish[] = {CASCADE_OK, CASCADE_ERR_NO_MEMORY,
                                            CASCADE_ERR_UNAVAILABLE,
                                            CASCADE_ERR_FAILED};
    csc_sqlite *sqlite = scene->store->self;
    bool reached = false;
    bool ordered = false;
    cascade_err err;

    if (plan->reopens)
        csc_sqlite_conn_close(&sqlite->native.conn);
    if (plan->checkpoints)
        sqlite->checkpoint_at_pages = 1;
    arm(plan, nth);
    err = nodes_begin(scene);
    assert_one_of(err, at_begin, 3);
    if (err == CASCADE_OK) {
        ordered = run_function(scene, plan, &reached);
        err = nodes_finish(scene);
        assert_one_of(err, at_finish, 4);
        if (!ordered)
            assert_int_not_equal(err, CASCADE_OK);
        counts->unknown += err == CASCADE_ERR_UNAVAILABLE;
    }
    reached = disarm(plan) || reached;
    if (err == CASCADE_OK || decide(scene, err))
        counts->done++;
    if (sqlite->native.conn.db != NULL)
        assert_int_equal(sqlite3_txn_state(sqlite->native.conn.db, NULL),
                         SQLITE_TXN_NONE);
    assert_false(sqlite->writer.busy);
    return reached;
}

/* ---- Sweeps -------------------------------------------------------------- */

static void
sweep(sqlite_fixture *it, const fault_plan *plan)
{
    nodes_scene scene;
    nodes_scene other; /* keeps the index of the log in being */
    bool reached = true;
    sweep_count counts = {0, 0};
    size_t nth = 1;

    disk_record(it->folder);
    assert_true(nodes_open(&scene, it));
    other = scene;
    other.store = fixture_store(it);
    if (plan->checkpoints)
        ((csc_sqlite *)scene.store->self)->checkpoint_pages = 1;
    for (; reached; nth++) {
        reached = play(&scene, plan, nth, &counts);
        if (nodes_count_orders(it) != counts.done ||
            nodes_count_completed(it) != counts.done)
            fail_msg("%s, at %zu: %lld orders and %lld executions, not %lld",
                     plan->name, nth, (long long)nodes_count_orders(it),
                     (long long)nodes_count_completed(it),
                     (long long)counts.done);
        rows_clear(&it->rows);
    }
    print_message("%s: %zu faults, %lld recorded, %lld not known\n", plan->name,
                  nth - 2, (long long)counts.done, (long long)counts.unknown);
    assert_true(nth > 4 && counts.done > 0); /* or it is no test */
    assert_true(counts.unknown > 0 || plan->memory);
    nodes_close(&other);
    nodes_close(&scene);
    disk_fini();
}

#define MEMORY(text, all, opens)                                       \
    {                                                                  \
        .name = text, .memory = true, .lasting = all, .reopens = opens \
    }
#define DISK(text, which, way, count, opens, checks)                    \
    {                                                                   \
        .name = text, .reopens = opens, .checkpoints = checks, .vfs = { \
            .calls = which,                                             \
            .how = way,                                                 \
            .times = count                                              \
        }                                                               \
    }

static const fault_plan plans[] = {
    MEMORY("one allocation", false, false),
    MEMORY("all allocations from one on", true, false),
    MEMORY("one allocation, the connection opened", false, true),
    MEMORY("all from one on, the connection opened", true, true),
    DISK("one call", VFS_ALL, VFS_ERROR, 1, false, false),
    DISK("some calls", VFS_ALL, VFS_ERROR, 5, false, true),
    DISK("one call, the connection opened", VFS_ALL, VFS_ERROR, 1, true, false),
    DISK("the disk is full", VFS_WRITES, VFS_FULL, 1000, false, true),
    DISK("a write is torn", VFS_WRITES, VFS_TEAR, 1, false, true),
    DISK("a flush", VFS_SYNCS, VFS_ERROR, 1, false, true),
};

/* S16, S29, S30, S32 */
static void
whatever_fails_both_are_there_or_neither(void **state)
{
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
        sweep(*state, &plans[i]);
        fixture_teardown(state);
        assert_int_equal(fixture_setup(state), 0);
    }
}

/* ---- A COMMIT whose result is lost --------------------------------------- */

static int lie; /* instead of SQLITE_DONE, from the next COMMIT */

/* The linker's names: see tests.cmake. */
int __real_sqlite3_step(sqlite3_stmt *statement);
int __wrap_sqlite3_step(sqlite3_stmt *statement);

int
__wrap_sqlite3_step(sqlite3_stmt *statement)
{
    int code = __real_sqlite3_step(statement);

    if (lie != 0 && code == SQLITE_DONE &&
        strcmp(sqlite3_sql(statement), "COMMIT") == 0) {
        code = lie;
        lie = 0;
    }
    return code;
}

/* S32: it was carried out, and whatever SQLite says of it, finish does not
 * know. */
static void
a_commit_whose_result_is_lost_is_settled(void **state)
{
    static const int codes[] = {SQLITE_IOERR_FSYNC, SQLITE_FULL, SQLITE_NOMEM,
                                SQLITE_CORRUPT, SQLITE_BUSY};
    sqlite_fixture *it = *state;
    nodes_scene scene;

    assert_true(nodes_open(&scene, it));
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        bool committed = false;

        assert_int_equal(nodes_begin(&scene), CASCADE_OK);
        assert_int_equal(nodes_sql(&scene, ORDER), SQLITE_OK);
        lie = codes[i];
        assert_int_equal(nodes_finish(&scene), CASCADE_ERR_UNAVAILABLE);
        assert_int_equal(nodes_settle(&scene, &committed), CASCADE_OK);
        assert_true(committed);
        nodes_step(&scene);
        assert_int_equal(nodes_count_orders(it), i + 1);
        assert_int_equal(nodes_count_completed(it), i + 1);
    }
    nodes_close(&scene);
}

/* S32: settling fails as well; the answer is the same when it does not. */
static void
settling_may_fail_and_be_repeated(void **state)
{
    static const fault_plan settling = {.name = "settle", .memory = true};
    sqlite_fixture *it = *state;
    nodes_scene scene;
    bool reached = true;

    assert_true(nodes_open(&scene, it));
    for (size_t nth = 1; reached; nth++) {
        bool wanted = nth % 2 == 0;
        bool committed = !wanted;
        cascade_err err;

        assert_int_equal(nodes_begin(&scene), CASCADE_OK);
        if (wanted)
            assert_int_equal(nodes_finish(&scene), CASCADE_OK);
        else
            nodes_abandon(&scene);
        scene.number -= wanted ? 1 : 0;
        arm(&settling, nth);
        err = nodes_settle(&scene, &committed);
        reached = disarm(&settling);
        if (err != CASCADE_OK) {
            assert_int_equal(err, CASCADE_ERR_NO_MEMORY);
            assert_int_equal(committed, !wanted);
        }
        assert_int_equal(nodes_settle(&scene, &committed), CASCADE_OK);
        assert_int_equal(committed, wanted);
        scene.number += wanted ? 1 : 2;
        assert_true(nth > 3 || reached);
    }
    nodes_close(&scene);
}

/* ---- Power cuts ---------------------------------------------------------- */

#define NODES 4

/* G11: the power goes between any two operations; what was told is there. */
static void
a_power_cut_leaves_both_or_neither(void **state)
{
    sqlite_fixture *it = *state;
    nodes_scene scene;
    size_t marks[NODES + 1];
    size_t count;

    disk_record(it->folder);
    assert_true(nodes_open(&scene, it));
    marks[0] = disk_count();
    for (size_t i = 1; i <= NODES; i++) {
        assert_int_equal(nodes_begin(&scene), CASCADE_OK);
        assert_int_equal(nodes_sql(&scene, ORDER), SQLITE_OK);
        assert_int_equal(nodes_finish(&scene), CASCADE_OK);
        marks[i] = disk_count();
    }
    nodes_close(&scene);
    count = disk_count();
    for (size_t at = marks[0]; at <= count; at++) {
        for (int loss = 0; loss < DISK_LOSSES; loss++) {
            int64_t told = 0;
            int64_t orders;

            while (told < NODES && marks[told + 1] <= at)
                told++;
            assert_int_equal(disk_cut(at, (disk_loss)loss,
                                      rows_random(&it->rows), it->folder),
                             0);
            orders = nodes_count_orders(it);
            if (orders != nodes_count_completed(it) || orders < told)
                fail_msg("cut before %zu (%s), loss %d: %lld orders, %lld "
                         "executions, %lld told",
                         at, disk_describe(at), loss, (long long)orders,
                         (long long)nodes_count_completed(it), (long long)told);
        }
    }
    print_message("%zu cuts\n", count - marks[0]);
    assert_true(count > marks[0] + 10);
    disk_fini();
}

int
main(int argc, char **argv)
{
#define ONE(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        ONE(whatever_fails_both_are_there_or_neither),
        ONE(a_commit_whose_result_is_lost_is_settled),
        ONE(settling_may_fail_and_be_repeated),
        ONE(a_power_cut_leaves_both_or_neither),
    };
    int failed;

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (sqlite_memory_install() != SQLITE_OK || sqlite_vfs_install() != 0)
        return 1;
    failed =
        cmocka_run_group_tests_name("sqlite native faults", tests, NULL, NULL);
    sqlite_vfs_remove();
    return failed;
}
