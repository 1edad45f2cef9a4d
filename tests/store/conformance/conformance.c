/* SPDX-License-Identifier: MIT
 *
 * The frame of the conformance suite: databases for tests, and short forms of
 * the moves.
 */
#include "store/conformance/conformance.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "support/in_time.h"

#define START_WALL_MS INT64_C(1767225600123) /* 2026-01-01 00:00:00.123 */
#define ADVANCE_LIMIT_MS 30000

static const conformance_backend *current;

/* ---- Running ------------------------------------------------------------ */

static conformance_db *
make_db(int (*make)(conformance_place *place))
{
    conformance_db *db = calloc(1, sizeof(*db));

    if (db == NULL)
        return NULL;
    db->backend = current;
    fake_clock_init(&db->clock, START_WALL_MS);
    rows_init(&db->rows, rows_seed(), START_WALL_MS);
    if (make(&db->place) != 0) {
        free(db);
        return NULL;
    }
    return db;
}

conformance_db *
db_create(void)
{
    return make_db(current->create);
}

/* False: a handle could not be closed. */
static bool
db_close(conformance_db *db)
{
    bool closed = true;

    while (db->handle_count > 0)
        closed = cascade_store_close(db->handles[--db->handle_count]) ==
                     CASCADE_OK &&
                 closed;
    current->destroy(&db->place);
    rows_fini(&db->rows);
    free(db);
    return closed;
}

void
db_destroy(conformance_db *db)
{
    assert_true(db_close(db));
}

static int
setup(void **state)
{
    conformance_db *db =
        make_db(current->take != NULL ? current->take : current->create);

    if (db == NULL)
        return -1;
    db_open(db);
    *state = db;
    return 0;
}

static int
teardown(void **state)
{
    return db_close(*state) ? 0 : -1;
}

static int
run_group(conformance_group group)
{
    struct CMUnitTest *tests = calloc(group.count, sizeof(tests[0]));
    char name[64];
    int failed;

    if (tests == NULL)
        return 1;
    memcpy(tests, group.tests, group.count * sizeof(tests[0]));
    for (size_t i = 0; i < group.count; i++) {
        tests[i].setup_func = setup;
        tests[i].teardown_func = teardown;
    }
    snprintf(name, sizeof(name), "%s: %s", current->name, group.name);
    failed = _cmocka_run_group_tests(name, tests, group.count, NULL, NULL);
    free(tests);
    return failed;
}

/* What a sub-table promises is not asked of a store that does not have it. */

static const void *
need(const char *name, const void *table)
{
    if (table != NULL)
        return table;
    print_message("skipped: the store has no sub-table `%s`\n", name);
    skip();
    return NULL;
}

const cascade_store_chain *
conformance_chain(const cascade_store_driver *it)
{
    return need("chain", it->chain);
}

const cascade_store_manage *
conformance_manage(const cascade_store_driver *it)
{
    return need("manage", it->manage);
}

const cascade_store_integrity *
conformance_integrity(const cascade_store_driver *it)
{
    return need("integrity", it->integrity);
}

/* What the store under test has. */
typedef struct known_tables {
    bool chain;
    bool manage;
    bool integrity;
    bool limits;
} known_tables;

/* -1: it could not be opened. */
static int
look_at_tables(known_tables *has)
{
    void *state = NULL;
    const cascade_store_driver *driver;

    if (setup(&state) != 0)
        return -1;
    driver = ((conformance_db *)state)->driver;
    *has = (known_tables){driver->chain != NULL, driver->manage != NULL,
                          driver->integrity != NULL, driver->limits != NULL};
    return teardown(&state);
}

/* `table`: that all of the group is about, or NULL. */
static int
run_group_of(conformance_group group, const char *table, bool has)
{
    if (table == NULL || has)
        return run_group(group);
    printf("%s: %s: %zu tests skipped: the store has no sub-table `%s`\n",
           current->name, group.name, group.count, table);
    return 0;
}

static int
run_sub_tables(void)
{
    known_tables has;
    int failed = 0;

    if (look_at_tables(&has) != 0)
        return 1;
    failed += run_group_of(conformance_keys(), "chain", has.chain);
    failed += run_group_of(conformance_paths(), "chain", has.chain);
    failed += run_group_of(conformance_outlive(), "chain", has.chain);
    failed += run_group_of(conformance_erase(), "manage", has.manage);
    failed += run_group_of(conformance_queues(), "manage", has.manage);
    failed += run_group_of(conformance_limits(), "limits", has.limits);
    failed += run_group_of(conformance_turns(), "limits", has.limits);
    failed += run_group_of(conformance_mend(), "manage", has.manage);
    failed += run_group_of(conformance_seals(), "integrity", has.integrity);
    return failed;
}

static int
run_natives(const conformance_backend *backend)
{
    int failed =
        run_group_of(conformance_native(), "node_txn", backend->native);

    if (backend->native && !backend->single)
        failed += run_group(conformance_native_beside());
    return failed;
}

int
conformance_run(const conformance_backend *backend, int argc, char **argv)
{
    static conformance_group (*const groups[])(void) = {
        conformance_schema, conformance_commit,   conformance_fence,
        conformance_claim,  conformance_engines,  conformance_read,
        conformance_text,   conformance_messages, conformance_receive,
        conformance_scan,   conformance_race,     conformance_trial,
    };
    int failed = 0;

    if (argc > 1 && strcmp(argv[1], "--wake") == 0)
        return conformance_wake_main(backend, argc, argv);
    current = backend;
    rows_seed();
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        failed += run_group(groups[i]());
    failed += run_sub_tables();
    if (!backend->hostile)
        failed += run_natives(backend);
    if (backend->pooler)
        return failed + run_group(conformance_wait_unheard()) == 0 ? 0 : 1;
    failed += run_group(conformance_wait());
    failed += run_group(conformance_model());
    return failed == 0 ? 0 : 1;
}

void
conformance_check(cascade_err got, cascade_err wanted, const char *call,
                  const char *file, int line)
{
    if (got != wanted) {
        print_error("%s\n  gave %s (%s), not %s\n", call, cascade_err_name(got),
                    got == CASCADE_OK ? "" : cascade_errmsg(),
                    cascade_err_name(wanted));
        _fail(file, line);
    }
    if (got != CASCADE_OK &&
        (csc_error_last() != got || cascade_errmsg()[0] == '\0')) {
        print_error("%s\n  gave %s without its text\n", call,
                    cascade_err_name(got));
        _fail(file, line);
    }
}

/* ---- Handles and time --------------------------------------------------- */

cascade_store_options
db_options(conformance_db *db)
{
    return (cascade_store_options){
        .size = sizeof(cascade_store_options),
        .schema = db->place.schema[0] == '\0' ? NULL : db->place.schema,
        .pooler = db->backend->pooler,
        .deadline_ms = CONFORMANCE_WAIT_MS,
        .clock = db->backend->virtual_time ? &db->clock.clock : NULL};
}

cascade_err
conformance_open(conformance_db *db, const cascade_store_options *options,
                 cascade_store **store)
{
    if (db->backend->open != NULL)
        return db->backend->open(&db->place, options, store);
    return cascade_store_open(db->place.url, options, store);
}

cascade_store *
db_open(conformance_db *db)
{
    cascade_store_options options = db_options(db);
    cascade_store *store = NULL;

    assert_true(db->handle_count < CONFORMANCE_HANDLES);
    assert_ok(conformance_open(db, &options, &store));
    db->handles[db->handle_count++] = store;
    if (db->handle_count == 1) {
        db->driver = store->driver;
        db->self = store->self;
        db->rows.now_ms = db_now(db);
    }
    return store;
}

int64_t
db_now(conformance_db *db)
{
    int64_t now_ms = 0;

    assert_ok(db->driver->now(db->self, &now_ms));
    return now_ms;
}

void
db_advance(conformance_db *db, int64_t ms)
{
    int64_t until_ms;

    if (db->backend->virtual_time) {
        fake_clock_advance(&db->clock, ms);
        return;
    }
    assert_true(ms < ADVANCE_LIMIT_MS);
    until_ms = db_now(db) + ms;
    while (db_now(db) <= until_ms)
        poll(NULL, 0, 2);
}

int64_t
db_short_lease_ms(const conformance_db *db)
{
    return db->backend->virtual_time ? 10000 : 100;
}

/* ---- Moves -------------------------------------------------------------- */

cascade_uuid
db_attach(conformance_db *db, uint32_t lane_count, int64_t lease_ms)
{
    cascade_incarnation row = rows_incarnation(&db->rows, lane_count, lease_ms);

    if (lane_count > db->driver->lane_max)
        row.lane_count = db->driver->lane_max;
    assert_ok(db->driver->attach(db->self, &row));
    return row.engine_id;
}

cascade_err
db_commit(conformance_db *db, cascade_uuid engine_id, uint32_t lane,
          int64_t number, cascade_change **changes, size_t count, bool *existed)
{
    cascade_batch batch = {.engine_id = engine_id,
                           .lane = lane,
                           .number = number,
                           .changes = rows_changes(&db->rows, changes, count),
                           .change_count = count};
    bool *flags = calloc(count + 1, sizeof(*flags));
    cascade_err err;

    assert_non_null(flags);
    err = db->driver->commit(db->self, &batch, flags);
    if (existed != NULL && err == CASCADE_OK)
        memcpy(existed, flags, count * sizeof(*flags));
    free(flags);
    return err;
}

cascade_err
db_submit(conformance_db *db, cascade_change **changes, size_t count,
          bool *existed)
{
    bool *flags = calloc(count + 1, sizeof(*flags));
    cascade_err err;

    assert_non_null(flags);
    err = rows_submit(db->driver, db->self,
                      rows_changes(&db->rows, changes, count), count, flags);
    if (existed != NULL && err == CASCADE_OK)
        memcpy(existed, flags, count * sizeof(*flags));
    free(flags);
    return err;
}

cascade_err
db_commit_one(conformance_db *db, cascade_uuid engine_id, int64_t number,
              cascade_change *change)
{
    return db_commit(db, engine_id, 0, number, &change, 1, NULL);
}

cascade_err
db_submit_one(conformance_db *db, cascade_change *start)
{
    return db_submit(db, &start, 1, NULL);
}

static int
compare_ids(const void *a, const void *b)
{
    return csc_uuid_compare(a, b);
}

void
db_start_many(conformance_db *db, cascade_uuid *ids, size_t count)
{
    cascade_change **starts = calloc(count, sizeof(*starts));

    assert_non_null(starts);
    for (size_t i = 0; i < count; i++) {
        ids[i] = rows_id(&db->rows);
        starts[i] = rows_start(&db->rows, ids[i]);
    }
    qsort(ids, count, sizeof(ids[0]), compare_ids);
    assert_ok(db_submit(db, starts, count, NULL));
    free(starts);
}

cascade_err
db_remove(cascade_store *store, const cascade_uuid *dead, size_t dead_count,
          size_t limit, size_t *freed)
{
    int64_t end_ms = 0;
    cascade_err err;

    do {
        *freed = 0;
        err =
            store->driver->remove(store->self, dead, dead_count, limit, freed);
    } while (err == CASCADE_ERR_UNAVAILABLE &&
             in_time(&end_ms, CONFORMANCE_WAIT_MS));
    return err;
}

cascade_err
db_claim(conformance_db *db, cascade_uuid engine_id, const char *queue,
         size_t limit, cascade_claimed *claimed, cascade_claim_result *result)
{
    cascade_claim claim = {.engine_id = engine_id,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = limit,
                           .suspect_from = 3};

    return db->driver->claim(db->self, &claim, claimed, result);
}

size_t
db_count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

char *
db_picture(conformance_db *db)
{
    return db_dump(db->handles[0], DUMP_ALL);
}

void
db_assert_unchanged(conformance_db *db, char *picture)
{
    char *now = db_picture(db);

    assert_string_equal(picture, now);
    csc_mem_free(picture);
    csc_mem_free(now);
}
