/* SPDX-License-Identifier: MIT
 *
 * Opening: by many at once, with each mode of migrating, and again. What is
 * particular to one database (newer, changed or foreign tables) is tested with
 * its backend.
 */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "store/conformance/conformance.h"

#define OPENERS 8

typedef struct opener {
    pthread_t thread;
    conformance_db *db;
    pthread_barrier_t *barrier;
    cascade_store *store;
    cascade_err err;
    char text[256];
} opener;

static void *
open_one(void *context)
{
    opener *it = context;
    cascade_store_options options = db_options(it->db);

    pthread_barrier_wait(it->barrier);
    it->err = conformance_open(it->db, &options, &it->store);
    strncpy(it->text, cascade_errmsg(), sizeof(it->text) - 1);
    return NULL;
}

/* S1: eight open an empty database at the same moment; all of them can work. */
static void
many_may_open_an_empty_database_at_once(void **state)
{
    conformance_db *db = db_create();
    opener openers[OPENERS] = {{.db = NULL}};
    pthread_barrier_t barrier;

    (void)state;
    assert_non_null(db);
    pthread_barrier_init(&barrier, NULL, OPENERS);
    for (int i = 0; i < OPENERS; i++) {
        openers[i].db = db;
        openers[i].barrier = &barrier;
        assert_int_equal(
            0, pthread_create(&openers[i].thread, NULL, open_one, &openers[i]));
    }
    for (int i = 0; i < OPENERS; i++) {
        pthread_join(openers[i].thread, NULL);
        if (openers[i].err != CASCADE_OK)
            fail_msg("%s: %s", cascade_err_name(openers[i].err),
                     openers[i].text);
        db->handles[db->handle_count++] = openers[i].store;
    }
    db->driver = db->handles[0]->driver;
    for (int i = 0; i < OPENERS; i++) {
        db->self = openers[i].store->self;
        assert_ok(db_submit_one(db, rows_start(&db->rows, rows_id(&db->rows))));
    }
    pthread_barrier_destroy(&barrier);
    db_destroy(db);
}

static cascade_err
open_with(conformance_db *db, cascade_migrate mode)
{
    cascade_store_options options = db_options(db);
    cascade_store *store = NULL;
    cascade_err err;

    options.migrate = mode;
    err = conformance_open(db, &options, &store);
    if (err != CASCADE_OK) {
        assert_null(store);
        return err;
    }
    assert_int_equal(CASCADE_OK, cascade_store_close(store));
    return CASCADE_OK;
}

/* S1: CHECK makes nothing; NEVER does not even look. */
static void
check_does_not_create_tables(void **state)
{
    conformance_db *db = db_create();

    (void)state;
    assert_non_null(db);
    if (db->backend->on_disk) {
        assert_ok(open_with(db, CASCADE_MIGRATE_NEVER));
        assert_fails(CASCADE_ERR_SCHEMA, open_with(db, CASCADE_MIGRATE_CHECK));
        assert_fails(CASCADE_ERR_SCHEMA, open_with(db, CASCADE_MIGRATE_CHECK));
    }
    assert_ok(open_with(db, CASCADE_MIGRATE_AUTO));
    assert_ok(open_with(db, CASCADE_MIGRATE_CHECK));
    db_destroy(db);
}

/* S1: opening a database that is there leaves it as it is. */
static void
opening_again_changes_nothing(void **state)
{
    conformance_db *db = *state;
    cascade_uuid ids[20];
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    char *picture;

    db_start_many(db, ids, 20);
    picture = db_picture(db);
    assert_ok(open_with(db, CASCADE_MIGRATE_AUTO));
    assert_ok(open_with(db, CASCADE_MIGRATE_CHECK));
    assert_ok(open_with(db, CASCADE_MIGRATE_NEVER));
    db_assert_unchanged(db, picture);
    assert_ok(db->driver->renew(db->self, &engine, DB_LONG_LEASE_MS, NULL));
}

/* S2: what was committed is there when every handle was closed meanwhile. */
static void
what_was_committed_outlives_the_handles(void **state)
{
    conformance_db *db = *state;
    cascade_uuid ids[20];
    char *picture;

    if (!db->backend->on_disk)
        return;
    db_attach(db, 1, DB_LONG_LEASE_MS);
    db_start_many(db, ids, 20);
    picture = db_picture(db);
    assert_ok(cascade_store_close(db->handles[0]));
    db->handle_count = 0;
    db_open(db);
    db_assert_unchanged(db, picture);
}

/* TIME: the clock goes forward and is in milliseconds since 1970. */
static void
the_clock_goes_on(void **state)
{
    conformance_db *db = *state;
    int64_t before_ms = db_now(db);

    assert_true(before_ms > INT64_C(1700000000000));
    assert_true(before_ms < INT64_C(32503680000000));
    db_advance(db, 50);
    assert_true(db_now(db) >= before_ms + 50);
}

conformance_group
conformance_schema(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_may_open_an_empty_database_at_once),
        cmocka_unit_test(check_does_not_create_tables),
        cmocka_unit_test(opening_again_changes_nothing),
        cmocka_unit_test(what_was_committed_outlives_the_handles),
        cmocka_unit_test(the_clock_goes_on),
    };

    return (conformance_group){"schema", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
