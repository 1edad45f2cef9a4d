/* SPDX-License-Identifier: MIT
 *
 * The SQLite store when the power is cut, and when calls to the disk fail: at
 * every operation, one after the other.
 *
 *   power cuts   A life (power_life.h) is recorded once. Then for N = 0, 1, ...
 *                the files are made as found after a cut before operation N,
 *                in four ways (sqlite_disk.h). A program that dies does
 *                nothing more, so no run has to be repeated for that.
 *   faults       The life is lived again for N = 1, 2, ...: the Nth call fails,
 *                and the program goes on. At its end the power is cut, and all
 *                that was never flushed is gone.
 *
 * After each a new program opens what is left. It must open; be whole by
 * SQLite's and by our own rules; hold all that was acknowledged, and every
 * batch whole; and all its cascades must come to their end, nothing that was
 * recorded running again. With durability RELAXED what was acknowledged may be
 * gone, and nothing else may differ.
 *
 * By default points are left out so that the test takes seconds, others in each
 * run; CASCADE_SWEEP=full takes all.
 *
 * What cannot be found here: a disk that lies about a flush, or gives back
 * other bytes than it was given. A short read of the database itself is such a
 * lie (SQLite takes it for the end of the file), so only those of the log are
 * made short.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/migrations.h"
#include "store/sqlite/power_life.h"
#include "store/sqlite/sqlite_disk.h"
#include "store/sqlite/sqlite_fixture.h"
#include "store/sqlite/sqlite_vfs.h"

#define AFTER_MS 60000 /* between two lives: no lease lasts as long */

typedef struct power {
    sqlite_fixture *it;
    const life_plan *plan;
    life_ledger ledger;
    oracle *oracle;
    size_t at;       /* of the cut */
    size_t judged;   /* cuts looked at */
    char place[200]; /* for messages */
} power;

/* ---- What must be there -------------------------------------------------- */

static const char *const facts[] = {
    [LIFE_OPENED] = "SELECT count(*) = ?3 FROM cascade_schema",
    [LIFE_STARTED] = "SELECT count(*) FROM cascades WHERE id = ?1",
    [LIFE_CALLED] = "SELECT 1",
    [LIFE_ENTERED] = "SELECT count(*) FROM node_executions"
                     " WHERE cascade_id = ?1 AND function_id = ?2",
    [LIFE_DONE] = "SELECT count(*) FROM node_executions"
                  " WHERE cascade_id = ?1 AND function_id = ?2"
                  " AND status = 'COMPLETED'",
    [LIFE_PAID] = "SELECT count(*) FROM node_executions"
                  " WHERE cascade_id = ?1 AND status = 'COMPLETED'"
                  " AND node_name = 'cascade.step:pay'",
    [LIFE_ENDED] = "SELECT count(*) FROM cascades c"
                   " WHERE id = ?1 AND status = 'COMPLETED' AND 5 ="
                   " (SELECT count(*) FROM node_executions e"
                   "  WHERE e.cascade_id = c.id AND e.status = 'COMPLETED')",
};

/* Rows that must not be, whenever one looks: half a batch, or a rule of the
 * tables that does not hold. */
static const char *const never[] = {
    /* G1: a completion with its value and what it spawned */
    "SELECT count(*) FROM node_executions e"
    " WHERE node_name = 'begin' AND status = 'COMPLETED' AND (1 <>"
    " (SELECT count(*) FROM context_events v WHERE v.cascade_id = e.cascade_id"
    "  AND v.function_id = e.function_id) OR 3 <>"
    " (SELECT count(*) FROM node_executions s"
    "  WHERE s.cascade_id = e.cascade_id AND s.node_instance_id LIKE"
    "  e.cascade_id || '/' || e.function_id || '/%'"
    "  AND s.node_name IN ('middle', 'last')))",
    "SELECT count(*) FROM node_executions e"
    " WHERE node_name = 'middle' AND 1 <> (status = 'RUNNING') +"
    " (SELECT count(*) FROM context_events v WHERE v.cascade_id = e.cascade_id"
    "  AND v.function_id = e.function_id)",
    /* a start with its execution, and with the others of its call */
    "SELECT count(*) FROM cascades c WHERE NOT EXISTS"
    " (SELECT 1 FROM node_executions e"
    "  WHERE e.cascade_id = c.id AND e.function_id = 0)",
    "SELECT count(*) NOT IN (0, 3) FROM cascades WHERE user_id = 'trio'",
    /* fn_id and status tell what the executions tell */
    "SELECT count(*) FROM cascades c WHERE fn_id <>"
    " (SELECT max(function_id) FROM node_executions e"
    "  WHERE e.cascade_id = c.id)",
    "SELECT count(*) FROM cascades c WHERE (status = 'RUNNING') <> EXISTS"
    " (SELECT 1 FROM node_executions e"
    "  WHERE e.cascade_id = c.id AND e.status = 'RUNNING')",
    /* a run row for each that has not ended */
    "SELECT count(*) FROM cascades c WHERE (status = 'RUNNING') <>"
    " (SELECT count(*) FROM cascade_runs r WHERE r.cascade_id = c.id)",
    "SELECT count(*) FROM pragma_foreign_key_check",
    "SELECT count(*) <> 1 OR max(integrity_check) <> 'ok'"
    " FROM pragma_integrity_check",
};

/* What must not be at the end: anything but whole cascades, each of which did
 * everything once. */
static const char *const at_end[] = {
    "SELECT count(*) FROM cascades WHERE status <> 'COMPLETED'",
    "SELECT count(*) FROM cascades c WHERE 3 <>"
    " (SELECT count(*) FROM context_events e WHERE e.cascade_id = c.id)",
    "SELECT count(*) FROM cascades c WHERE 'begin cascade.step:pay last"
    " middle middle' <> (SELECT group_concat(node_name, ' ') FROM"
    "  (SELECT node_name FROM node_executions e WHERE e.cascade_id = c.id"
    "   AND status = 'COMPLETED' ORDER BY 1))",
};

static int64_t
ask(sqlite3 *db, const char *sql, const life_ack *ack)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    sqlite3_stmt *statement = NULL;
    int64_t number = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        ack != NULL && sqlite3_bind_parameter_count(statement) > 0) {
        (void)sqlite3_bind_text(statement, 1, cascade_uuid_format(&ack->id, id),
                                -1, SQLITE_STATIC);
        (void)sqlite3_bind_int(statement, 2, ack->function_id);
        (void)sqlite3_bind_int64(statement, 3,
                                 (sqlite3_int64)csc_migrations_sqlite_count);
    }
    if (sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    else
        print_error("%s: %s\n", sql, sqlite3_errmsg(db));
    (void)sqlite3_finalize(statement);
    return number;
}

static bool
check_none(sqlite3 *db, const char *const *questions, size_t count)
{
    bool well = true;

    for (size_t i = 0; i < count; i++) {
        int64_t found = ask(db, questions[i], NULL);

        if (found != 0)
            print_error("%lld found by: %s\n", (long long)found, questions[i]);
        well = well && found == 0;
    }
    return well;
}

static bool
check_facts(sqlite3 *db, const power *p)
{
    for (size_t i = 0; i < p->ledger.count; i++) {
        const life_ack *ack = &p->ledger.acks[i];

        if (ack->at <= p->at && ask(db, facts[ack->fact], ack) != 1) {
            print_error("acknowledged at %zu and not there: %s (%d)\n", ack->at,
                        facts[ack->fact], ack->function_id);
            return false;
        }
    }
    return true;
}

/* Called with the store open, at the beginning and at the end. */
static bool
look(void *context, const cascade_store *store, oracle_phase phase)
{
    const power *p = context;
    sqlite3 *db = NULL;
    bool well;

    assert_int_equal(sqlite3_open(p->it->path, &db), SQLITE_OK);
    well = check_none(db, never, sizeof(never) / sizeof(never[0]));
    if (phase == ORACLE_ENDED)
        well =
            check_none(db, at_end, sizeof(at_end) / sizeof(at_end[0])) && well;
    if (!p->plan->relaxed)
        well = check_facts(db, p) && well;
    (void)sqlite3_close(db);
    if (p->plan->relaxed)
        return well;
    if (!oracle_check(p->oracle, store->driver, store->self, phase)) {
        print_error("%s\n", oracle_text(p->oracle));
        well = false;
    }
    return well;
}

/* ---- Judging what is left ------------------------------------------------ */

static void
init_life(power *p, life *lived)
{
    memset(lived, 0, sizeof(*lived));
    snprintf(lived->url, sizeof(lived->url), "sqlite:%s", p->it->path);
    lived->plan = p->plan;
    lived->random = 1;
}

/* The files in the folder, by a new program. */
static void
judge(power *p)
{
    life after;

    init_life(p, &after);
    p->oracle = oracle_create();
    life_tell(&p->ledger, p->at, p->oracle);
    after.begin_ms = AFTER_MS;
    after.random = 2;
    after.look = look;
    after.context = p;
    after.oracle = p->oracle;
    p->judged++;
    if (!life_recover(&after))
        fail_msg("%s: %s: %s", p->plan->name, p->place, after.wrong);
    oracle_free(p->oracle);
}

static void
cut_and_judge(power *p, size_t at, disk_loss loss, uint64_t seed)
{
    static const char *const losses[] = {"dropped", "kept", "torn",
                                         "scattered"};

    p->at = at;
    snprintf(p->place, sizeof(p->place), "cut before %zu (%s), %s, seed %llu",
             at, disk_describe(at), losses[loss], (unsigned long long)seed);
    assert_int_equal(disk_cut(at, loss, seed, p->it->folder), 0);
    judge(p);
}

/* As if there had never been a database. */
static void
clear(sqlite_fixture *it)
{
    disk_fini();
    assert_int_equal(disk_cut(0, DISK_DROP, 0, it->folder), 0);
}

static void
live(power *p)
{
    life lived;

    init_life(p, &lived);
    lived.ledger = &p->ledger;
    p->ledger.count = 0;
    disk_record(p->it->folder);
    if (!life_run(&lived))
        fail_msg("%s: %s", p->plan->name, lived.wrong);
}

/* ---- Power cuts ---------------------------------------------------------- */

static bool
is_full(void)
{
    const char *sweep = getenv("CASCADE_SWEEP");

    return sweep != NULL && strcmp(sweep, "full") == 0;
}

/* Every cut of a life, in one way each or, in full, in all ways. */
static void
sweep_cuts(sqlite_fixture *it, const life_plan *plan, size_t step)
{
    power p = {.it = it, .plan = plan};
    size_t count;
    size_t begin = is_full() ? 0 : rows_below(&it->rows, step);

    live(&p);
    count = disk_count();
    for (size_t at = begin; at <= count; at += is_full() ? 1 : step) {
        for (int loss = 0; loss < DISK_LOSSES; loss++)
            cut_and_judge(&p, at, (disk_loss)loss, rows_random(&it->rows));
    }
    print_message("%s: %zu operations, %zu facts, %zu cuts\n", plan->name,
                  count, p.ledger.count, p.judged);
    assert_true(p.ledger.count > 0);
    disk_fini();
}

static const life_plan first_day = {
    .name = "first day", .rounds = 1, .value_len = 10};
static const life_plan checkpoints = {.name = "checkpoints",
                                      .rounds = 2,
                                      .trio = true,
                                      .checkpoint_pages = 12,
                                      .value_len = 1500};
static const life_plan relaxed = {.name = "relaxed",
                                  .rounds = 2,
                                  .trio = true,
                                  .checkpoint_pages = 12,
                                  .relaxed = true,
                                  .value_len = 1500};

/* S1, S2, G1: from the moment that there is no file. */
static void
a_power_cut_loses_nothing(void **state)
{
    sweep_cuts(*state, &first_day, 2);
}

static void
a_power_cut_around_checkpoints_loses_nothing(void **state)
{
    sweep_cuts(*state, &checkpoints, 11);
}

static void
a_power_cut_leaves_a_relaxed_database_whole(void **state)
{
    sweep_cuts(*state, &relaxed, 11);
}

/* A cut in the middle, and another one while what it left is recovered. */
static void
recover_twice(power *p, size_t at, size_t step)
{
    life after;
    size_t begin;
    size_t count;
    size_t kept = 0;

    assert_int_equal(disk_cut(at, DISK_SCATTER, at, p->it->folder), 0);
    for (size_t i = 0; i < p->ledger.count; i++) {
        life_ack ack = p->ledger.acks[i];

        if (ack.at > at)
            continue;
        ack.at = 0;
        p->ledger.acks[kept++] = ack;
    }
    p->ledger.count = kept;
    init_life(p, &after);
    after.begin_ms = AFTER_MS / 2;
    after.ledger = &p->ledger;
    disk_record(p->it->folder);
    begin = disk_count() + rows_below(&p->it->rows, step);
    if (!life_recover(&after))
        fail_msg("%s: recovery: %s", p->plan->name, after.wrong);
    count = disk_count();
    for (size_t i = begin; i <= count; i += step) {
        for (int loss = 0; loss < DISK_LOSSES; loss++)
            cut_and_judge(p, i, (disk_loss)loss, rows_random(&p->it->rows));
    }
}

static void
a_power_cut_in_a_recovery_loses_nothing(void **state)
{
    sqlite_fixture *it = *state;
    power p = {.it = it, .plan = &checkpoints};
    size_t rounds = is_full() ? 20 : 3;

    for (size_t i = 0; i < rounds; i++) {
        clear(it);
        live(&p);
        recover_twice(&p, rows_below(&it->rows, disk_count()),
                      is_full() ? 1 : 9);
    }
    print_message("recovery: %zu cuts\n", p.judged);
    disk_fini();
}

/* ---- Faults -------------------------------------------------------------- */

/* The program goes on after the fault; then the power is cut. False when the
 * life was over before it came. */
static bool
live_with(power *p, const vfs_fault *fault)
{
    life lived;
    size_t failed;
    bool well;

    clear(p->it);
    p->ledger.count = 0;
    init_life(p, &lived);
    lived.ledger = &p->ledger;
    lived.faults = 100;
    disk_record(p->it->folder);
    sqlite_vfs_fail(fault);
    well = life_run(&lived);
    failed = sqlite_vfs_failed();
    snprintf(p->place, sizeof(p->place), "%s %zu, %zu times, kind %d way %d",
             sqlite_vfs_describe(), fault->nth, fault->times, fault->calls,
             fault->how);
    sqlite_vfs_fail(NULL);
    if (!well)
        fail_msg("%s: %s: %s", p->plan->name, p->place, lived.wrong);
    p->at = disk_count();
    assert_int_equal(disk_cut(p->at, DISK_DROP, 0, p->it->folder), 0);
    judge(p);
    return failed > 0;
}

static void
sweep_faults(sqlite_fixture *it, const life_plan *plan, vfs_fault fault,
             size_t step)
{
    power p = {.it = it, .plan = plan};
    bool reached = true;

    fault.nth = is_full() ? 1 : 1 + rows_below(&it->rows, step);
    while (reached) {
        reached = live_with(&p, &fault);
        fault.nth += is_full() ? 1 : step;
    }
    print_message("%s: %zu faults\n", plan->name, p.judged - 1);
    assert_true(p.judged > 10); /* or it is no test */
    disk_fini();
}

/* A connection that remembers a database without tables, and cannot look
 * whether that is still so: an error of the disk, not of the schema. */
static void
a_schema_that_cannot_be_read_is_not_called_missing(void **state)
{
    sqlite_fixture *it = *state;
    cascade_list_options options = {.size = sizeof(options)};
    vfs_fault fault = {.calls = VFS_ALL, .how = VFS_ERROR, .times = 1};
    size_t failed = 1;

    for (fault.nth = 1; failed > 0; fault.nth++) {
        cascade_store *store;
        cascade_page *page = NULL;
        cascade_err err;

        clear(it);
        disk_record(it->folder);
        assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
        /* It has read nothing yet. */
        assert_int_equal(fixture_open(it, CASCADE_MIGRATE_NEVER, &store),
                         CASCADE_OK);
        sqlite_vfs_fail(&fault);
        err = cascade_list(store, &options, &page);
        failed = sqlite_vfs_failed();
        sqlite_vfs_fail(NULL);
        cascade_page_free(page);
        if (err != CASCADE_OK)
            assert_int_equal(err, CASCADE_ERR_UNAVAILABLE);
        assert_int_equal(cascade_store_close(store), CASCADE_OK);
    }
    assert_true(fault.nth > 5);
    disk_fini();
}

static void
a_call_that_fails_once_loses_nothing(void **state)
{
    vfs_fault fault = {.calls = VFS_ALL, .how = VFS_ERROR, .times = 1};

    sweep_faults(*state, &first_day, fault, 7);
}

static void
calls_that_fail_for_a_while_lose_nothing(void **state)
{
    vfs_fault fault = {.calls = VFS_ALL, .how = VFS_ERROR, .times = 3};

    sweep_faults(*state, &checkpoints, fault, 37);
}

static void
a_full_disk_loses_nothing(void **state)
{
    vfs_fault fault = {.calls = VFS_WRITES, .how = VFS_FULL, .times = 3};

    sweep_faults(*state, &checkpoints, fault, 9);
}

static void
a_torn_write_loses_nothing(void **state)
{
    vfs_fault fault = {.calls = VFS_WRITES, .how = VFS_TEAR, .times = 1};

    sweep_faults(*state, &checkpoints, fault, 9);
}

/* What the flush was to make durable is never made so by a later one. */
static void
a_failed_flush_loses_nothing(void **state)
{
    vfs_fault fault = {.calls = VFS_SYNCS, .how = VFS_ERROR, .times = 1};

    sweep_faults(*state, &checkpoints, fault, 3);
}

static void
a_short_read_loses_nothing(void **state)
{
    vfs_fault fault = {.calls = VFS_READS, .how = VFS_SHORT, .times = 1};

    sweep_faults(*state, &checkpoints, fault, 3);
}

int
main(int argc, char **argv)
{
#define ONE(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        ONE(a_power_cut_loses_nothing),
        ONE(a_power_cut_around_checkpoints_loses_nothing),
        ONE(a_power_cut_leaves_a_relaxed_database_whole),
        ONE(a_power_cut_in_a_recovery_loses_nothing),
        ONE(a_schema_that_cannot_be_read_is_not_called_missing),
        ONE(a_call_that_fails_once_loses_nothing),
        ONE(calls_that_fail_for_a_while_lose_nothing),
        ONE(a_full_disk_loses_nothing),
        ONE(a_torn_write_loses_nothing),
        ONE(a_failed_flush_loses_nothing),
        ONE(a_short_read_loses_nothing),
    };
    int failed;

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (sqlite_vfs_install() != 0)
        return 1;
    failed = cmocka_run_group_tests_name("sqlite power", tests, NULL, NULL);
    sqlite_vfs_remove();
    return failed;
}
