/* SPDX-License-Identifier: MIT
 *
 * The store handle: URLs, options and their limits, drivers of the caller's
 * own, and what is freed when opening fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "store/store.h"
#include "support/fake_clock.h"

/* ---- A driver that only counts ------------------------------------------ */

#define DRIVERS_MS 123456789 /* its time, which stands still */

static struct {
    int opened;
    int migrated;
    int closed;
    cascade_err open_err;
    cascade_err migrate_err;
    bool silent; /* fails without a text */
    int asked;   /* for the time */
    cascade_migrate mode;
    const cascade_store_config *config;
    char url[64];
} fake;

static cascade_err
fake_fail(cascade_err err)
{
    if (err == CASCADE_OK || fake.silent)
        return err;
    return cascade_store_fail(err, "the fake store says %d", 42);
}

static cascade_err
fake_open(const char *url, const cascade_store_config *config, void **self)
{
    strncpy(fake.url, url, sizeof(fake.url) - 1);
    fake.config = config;
    fake.opened++;
    *self = &fake;
    return fake_fail(fake.open_err);
}

static cascade_err
fake_migrate(void *self, cascade_migrate mode)
{
    assert_ptr_equal(self, &fake);
    fake.migrated++;
    fake.mode = mode;
    return fake_fail(fake.migrate_err);
}

static cascade_err
fake_now(void *self, int64_t *now_ms)
{
    assert_ptr_equal(self, &fake);
    fake.asked++;
    *now_ms = DRIVERS_MS;
    return CASCADE_OK;
}

static cascade_err
fake_seal(void *self, const cascade_reseal *reseals, size_t count, bool *done)
{
    (void)self;
    (void)reseals;
    (void)count;
    (void)done;
    return cascade_store_fail(CASCADE_ERR_FAILED, "nothing is sealed here");
}

static cascade_err
fake_seals(void *self, const cascade_uuid *after, size_t limit,
           cascade_seal_sink sink, void *context)
{
    assert_ptr_equal(self, &fake);
    (void)after;
    (void)limit;
    (void)sink;
    (void)context;
    return CASCADE_OK;
}

static void
fake_close(void *self)
{
    assert_ptr_equal(self, &fake);
    fake.closed++;
}

/* The memory store's moves with these in front. */
static cascade_store_driver
fake_driver(void)
{
    static const cascade_store_integrity integrity = {
        .size = sizeof(integrity), .seal = fake_seal, .seals = fake_seals};
    cascade_store_driver driver = *csc_store_memory_driver();

    driver.integrity = &integrity;
    driver.name = "fake";
    driver.open = fake_open;
    driver.migrate = fake_migrate;
    driver.now = fake_now;
    driver.close = fake_close;
    return driver;
}

static int
setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    csc_ok();
    return 0;
}

static void
assert_failed(cascade_err wanted, cascade_err err)
{
    assert_int_equal(err, wanted);
    assert_int_equal(csc_error_last(), wanted);
    assert_true(cascade_errmsg()[0] != '\0');
}

/* ---- URLs --------------------------------------------------------------- */

static void
urls_find_their_driver(void **state)
{
    static const struct {
        const char *url;
        const char *driver; /* NULL: none */
    } cases[] = {
        {"memory:", "memory"},
        {"memory:name", "memory"},
        {"memory:a=b", "memory"},
        {"sqlite:x.db", "sqlite"},
        {"sqlite:a=b.db", "sqlite"},
        {"sqlite:file:x", "sqlite"},
        {"postgresql://host/db", "postgres"},
        {"postgres://host/db", "postgres"},
        {"host=/tmp dbname=x", "postgres"},
        {"", NULL},
        {"memory", NULL},
        {"MEMORY:", NULL},
        {"mysql://host/db", NULL},
        {"/var/lib/x.db", NULL},
        {"x.db", NULL},
        {"postgresql:host", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const cascade_store_driver *driver = NULL;
        cascade_err err = csc_store_driver_find(cases[i].url, &driver);

        if (cases[i].driver == NULL) {
            assert_failed(CASCADE_ERR_INVALID, err);
            assert_null(driver);
        } else if (err != CASCADE_ERR_UNSUPPORTED) {
            assert_int_equal(err, CASCADE_OK);
            assert_string_equal(driver->name, cases[i].driver);
        }
    }
    assert_failed(CASCADE_ERR_INVALID, csc_store_driver_find(NULL, NULL));
}

static void
a_url_is_in_no_error_text(void **state)
{
    static const char *const urls[] = {"secret:hunter2@host/db", "hunter2"};
    char name[600];
    cascade_store *store = NULL;

    (void)state;
    memset(name, 'n', sizeof(name));
    memcpy(name, "memory:hunter2", 14);
    name[sizeof(name) - 1] = '\0';
    for (int i = 0; i < 2; i++) {
        assert_failed(CASCADE_ERR_INVALID,
                      cascade_store_open(urls[i], NULL, &store));
        assert_null(strstr(cascade_errmsg(), "hunter2"));
    }
    assert_failed(CASCADE_ERR_INVALID, cascade_store_open(name, NULL, &store));
    assert_null(strstr(cascade_errmsg(), "hunter2"));
    assert_null(store);
}

/* ---- Options ------------------------------------------------------------ */

static void
defaults_are_applied(void **state)
{
    cascade_store_driver driver = fake_driver();
    cascade_store *store = NULL;

    (void)state;
    assert_int_equal(
        cascade_store_open_driver(&driver, "fake:url", NULL, &store),
        CASCADE_OK);
    assert_string_equal(cascade_errmsg(), "");
    assert_string_equal(fake.url, "fake:url");
    assert_string_equal(fake.config->schema, "public");
    assert_string_equal(fake.config->application_name, "libcascade");
    assert_int_equal(fake.config->durability, CASCADE_DURABILITY_FULL);
    assert_false(fake.config->pooler);
    assert_int_equal(fake.config->deadline_ms, 30000);
    assert_int_equal(fake.config->payload_max, 1048576);
    assert_int_equal(fake.config->connection_max, 16);
    assert_non_null(fake.config->clock->wall_ms);
    assert_non_null(fake.config->random->fill);
    assert_null(fake.config->log);
    assert_int_equal(fake.config->log_level, CASCADE_LOG_WARNING);
    assert_int_equal(fake.mode, CASCADE_MIGRATE_AUTO);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    assert_int_equal(fake.closed, 1);
}

static void
some_log(void *context, cascade_log_level level, const char *line)
{
    (void)context;
    (void)level;
    (void)line;
}

static void
what_options_point_at_is_copied(void **state)
{
    cascade_store_driver driver = fake_driver();
    char schema[] = "my_schema";
    char name[] = "my program";
    fake_clock clock;
    cascade_clock given;
    cascade_store_options options = {
        .size = sizeof(options),
        .migrate = CASCADE_MIGRATE_CHECK,
        .durability = CASCADE_DURABILITY_RELAXED,
        .schema = schema,
        .application_name = name,
        .pooler = true,
        .deadline_ms = 1,
        .payload_max = 64u << 20,
        .connection_max = 1000,
        .clock = &given,
        .log = some_log,
        .log_context = &clock,
        .log_level = CASCADE_LOG_DEBUG,
        .private_files = true,
    };
    cascade_store *store = NULL;

    (void)state;
    fake_clock_init(&clock, 77);
    given = clock.clock;
    assert_int_equal(
        cascade_store_open_driver(&driver, "fake:", &options, &store),
        CASCADE_OK);
    memset(schema, 'x', sizeof(schema) - 1);
    memset(name, 'x', sizeof(name) - 1);
    memset(&given, 0, sizeof(given));
    assert_string_equal(fake.config->schema, "my_schema");
    assert_string_equal(fake.config->application_name, "my program");
    assert_int_equal(fake.config->durability, CASCADE_DURABILITY_RELAXED);
    assert_true(fake.config->pooler);
    assert_int_equal(fake.config->deadline_ms, 1);
    assert_int_equal(fake.config->payload_max, 64u << 20);
    assert_int_equal(fake.config->connection_max, 1000);
    assert_int_equal(fake.config->clock->wall_ms(fake.config->clock->context),
                     77);
    assert_ptr_equal(fake.config->log, some_log);
    assert_ptr_equal(fake.config->log_context, &clock);
    assert_int_equal(fake.config->log_level, CASCADE_LOG_DEBUG);
    assert_true(fake.config->private_files);
    assert_int_equal(fake.mode, CASCADE_MIGRATE_CHECK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

#define LONG_64 \
    "0123456789012345678901234567890123456789012345678901234567890123"

static void
options_out_of_range_are_refused(void **state)
{
    static const cascade_clock no_clock = {NULL, NULL, NULL};
    static const cascade_random no_random = {NULL, NULL};
    static const cascade_store_options cases[] = {
        {.size = 0},
        {.size = 4},
        {.size = sizeof(cascade_store_options), .deadline_ms = -1},
        {.size = sizeof(cascade_store_options), .deadline_ms = 86400001},
        {.size = sizeof(cascade_store_options), .payload_max = (64u << 20) + 1},
        {.size = sizeof(cascade_store_options), .connection_max = 1001},
        {.size = sizeof(cascade_store_options), .schema = ""},
        {.size = sizeof(cascade_store_options), .schema = LONG_64},
        {.size = sizeof(cascade_store_options), .schema = "a\nb"},
        {.size = sizeof(cascade_store_options), .schema = "\xff"},
        {.size = sizeof(cascade_store_options), .application_name = ""},
        {.size = sizeof(cascade_store_options), .application_name = LONG_64},
        {.size = sizeof(cascade_store_options), .migrate = 3},
        {.size = sizeof(cascade_store_options), .durability = 2},
        {.size = sizeof(cascade_store_options), .log_level = 5},
        {.size = sizeof(cascade_store_options), .clock = &no_clock},
        {.size = sizeof(cascade_store_options), .random = &no_random},
    };
    cascade_store_driver driver = fake_driver();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cascade_store *store = NULL;

        assert_failed(
            CASCADE_ERR_INVALID,
            cascade_store_open_driver(&driver, "fake:", &cases[i], &store));
        assert_null(store);
    }
    assert_int_equal(fake.opened, 0);
}

static void
a_name_of_63_bytes_is_accepted(void **state)
{
    cascade_store_driver driver = fake_driver();
    char name[64];
    cascade_store_options options = {
        .size = sizeof(options), .schema = name, .application_name = name};
    cascade_store *store = NULL;

    (void)state;
    memset(name, 'n', 63);
    name[63] = '\0';
    assert_int_equal(
        cascade_store_open_driver(&driver, "fake:", &options, &store),
        CASCADE_OK);
    assert_string_equal(fake.config->schema, name);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

static void
missing_arguments_are_refused(void **state)
{
    cascade_store_driver driver = fake_driver();
    cascade_store *store = NULL;
    int64_t now_ms;

    (void)state;
    assert_failed(CASCADE_ERR_INVALID, cascade_store_open(NULL, NULL, &store));
    assert_failed(CASCADE_ERR_INVALID,
                  cascade_store_open("memory:", NULL, NULL));
    assert_failed(CASCADE_ERR_INVALID,
                  cascade_store_open_driver(NULL, "x", NULL, &store));
    assert_failed(CASCADE_ERR_INVALID,
                  cascade_store_open_driver(&driver, NULL, NULL, &store));
    assert_failed(CASCADE_ERR_INVALID, cascade_store_now(NULL, &now_ms));
    assert_int_equal(cascade_store_close(NULL), CASCADE_OK);
    assert_string_equal(cascade_errmsg(), "");
}

/* ---- Drivers ------------------------------------------------------------ */

static void
a_driver_of_another_abi_is_refused(void **state)
{
    cascade_store_driver drivers[3] = {fake_driver(), fake_driver(),
                                       fake_driver()};
    cascade_store *store = NULL;

    (void)state;
    drivers[0].abi = CASCADE_STORE_ABI + 1;
    drivers[1].name = NULL;
    drivers[2].lane_max = 0;
    for (int i = 0; i < 3; i++)
        assert_failed(
            CASCADE_ERR_INVALID,
            cascade_store_open_driver(&drivers[i], "fake:", NULL, &store));
    assert_int_equal(fake.opened, 0);
}

static void
never_does_not_migrate(void **state)
{
    cascade_store_driver driver = fake_driver();
    cascade_store_options options = {.size = sizeof(options),
                                     .migrate = CASCADE_MIGRATE_NEVER};
    cascade_store *store = NULL;

    (void)state;
    assert_int_equal(
        cascade_store_open_driver(&driver, "fake:", &options, &store),
        CASCADE_OK);
    assert_int_equal(fake.migrated, 0);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

static void
a_failing_open_frees_everything(void **state)
{
    cascade_store_driver driver = fake_driver();
    cascade_store *store = NULL;
    size_t live = csc_mem_live();

    (void)state;
    fake.open_err = CASCADE_ERR_UNAVAILABLE;
    assert_failed(CASCADE_ERR_UNAVAILABLE,
                  cascade_store_open_driver(&driver, "fake:", NULL, &store));
    assert_string_equal(cascade_errmsg(), "the fake store says 42");
    assert_int_equal(fake.closed, 0);
    fake.open_err = CASCADE_OK;
    fake.migrate_err = CASCADE_ERR_SCHEMA;
    assert_failed(CASCADE_ERR_SCHEMA,
                  cascade_store_open_driver(&driver, "fake:", NULL, &store));
    assert_string_equal(cascade_errmsg(), "the fake store says 42");
    assert_int_equal(fake.closed, 1);
    assert_null(store);
    assert_int_equal(csc_mem_live(), live);
}

static void
a_driver_that_fails_silently_gets_a_text(void **state)
{
    cascade_store_driver driver = fake_driver();
    cascade_store *store = NULL;

    (void)state;
    fake.open_err = CASCADE_ERR_UNAVAILABLE;
    fake.silent = true;
    assert_failed(CASCADE_ERR_UNAVAILABLE,
                  cascade_store_open_driver(&driver, "fake:", NULL, &store));
    assert_non_null(strstr(cascade_errmsg(), "fake"));
}

static void
out_of_memory_while_opening_is_an_error(void **state)
{
    size_t live = csc_mem_live();
    cascade_err err = CASCADE_ERR_NO_MEMORY;

    (void)state;
    for (size_t nth = 1; err == CASCADE_ERR_NO_MEMORY; nth++) {
        cascade_store *store = NULL;

        assert_true(nth < 100);
        csc_mem_fail_at(nth, 0);
        err = cascade_store_open("memory:name", NULL, &store);
        csc_mem_fail_at(0, 0);
        if (err == CASCADE_OK) {
            assert_true(nth > 3);
            assert_int_equal(cascade_store_close(store), CASCADE_OK);
        } else {
            assert_failed(CASCADE_ERR_NO_MEMORY, err);
            assert_null(store);
        }
        assert_int_equal(csc_mem_live(), live);
    }
}

/* ---- The handle --------------------------------------------------------- */

static void
a_store_with_open_engines_is_not_closed(void **state)
{
    cascade_store_driver driver = fake_driver();
    cascade_store *store = NULL;
    char engines[CSC_STORE_ENGINES_MAX + 1];

    (void)state;
    assert_int_equal(cascade_store_open_driver(&driver, "fake:", NULL, &store),
                     CASCADE_OK);
    for (int i = 0; i < CSC_STORE_ENGINES_MAX; i++)
        assert_int_equal(
            csc_store_add_engine(store, (cascade_engine *)&engines[i], NULL),
            CASCADE_OK);
    assert_failed(
        CASCADE_ERR_TOO_LARGE,
        csc_store_add_engine(
            store, (cascade_engine *)&engines[CSC_STORE_ENGINES_MAX], NULL));
    assert_failed(CASCADE_ERR_MISUSE, cascade_store_close(store));
    assert_int_equal(fake.closed, 0);
    for (int i = CSC_STORE_ENGINES_MAX - 1; i >= 0; i--) {
        assert_failed(CASCADE_ERR_MISUSE, cascade_store_close(store));
        csc_store_remove_engine(store, (cascade_engine *)&engines[i]);
    }
    csc_store_remove_engine(store, (cascade_engine *)&engines[0]);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    assert_int_equal(fake.closed, 1);
}

static void
the_time_is_the_drivers(void **state)
{
    cascade_store_driver driver = fake_driver();
    cascade_store *store = NULL;
    int64_t now_ms = 0;

    (void)state;
    assert_int_equal(cascade_store_open_driver(&driver, "fake:", NULL, &store),
                     CASCADE_OK);
    csc_fail(CASCADE_ERR_INVALID, "an old text");
    assert_int_equal(cascade_store_now(store, &now_ms), CASCADE_OK);
    assert_int_equal(now_ms, DRIVERS_MS);
    assert_string_equal(cascade_errmsg(), "");
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

#define ASKS 4

/* Asks the handle twice at once, then half a second later each time, and notes
 * what it says and how often it has asked the driver. How long all that took
 * besides, in real time. */
static int64_t
ask(const cascade_store_driver *driver, int64_t *times_ms, int *asked)
{
    cascade_store *store = NULL;
    int64_t begun_ms = csc_clock_monotonic_ms(&csc_clock_system);

    fake.asked = 0;
    assert_int_equal(cascade_store_open_driver(driver, "fake:", NULL, &store),
                     CASCADE_OK);
    for (int i = 0; i < ASKS; i++) {
        if (i >= 2) {
            store->now_read_at_ns -= 500 * CSC_MS_NS;
            store->now_offset_ns += 500 * CSC_MS_NS;
        }
        assert_int_equal(csc_store_get_now(store, &times_ms[i]), CASCADE_OK);
        asked[i] = fake.asked;
    }
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    return csc_clock_monotonic_ms(&csc_clock_system) - begun_ms;
}

/* Meanwhile the handle's time goes on, and is not ahead. */
static void
a_servers_time_is_asked_for_once_a_second(void **state)
{
    static const int wanted[ASKS] = {1, 1, 1, 2};
    cascade_store_driver driver = fake_driver();
    int64_t times_ms[ASKS];
    int asked[ASKS];
    int64_t took_ms = 1000;

    (void)state;
    (void)ask(&driver, times_ms, asked);
    for (int i = 0; i < ASKS; i++) {
        assert_int_equal(asked[i], i + 1);
        assert_int_equal(times_ms[i], DRIVERS_MS);
    }
    driver.server_clock = true;
    for (int tries = 0; tries < 100 && took_ms >= 400; tries++)
        took_ms = ask(&driver, times_ms, asked);
    assert_true(took_ms < 400);
    for (int i = 0; i < ASKS; i++)
        assert_int_equal(asked[i], wanted[i]);
    assert_int_equal(times_ms[0], DRIVERS_MS);
    assert_in_range(times_ms[1], DRIVERS_MS, DRIVERS_MS + took_ms);
    assert_in_range(times_ms[2], DRIVERS_MS + 499, DRIVERS_MS + 500 + took_ms);
    assert_int_equal(times_ms[3], DRIVERS_MS);
}

typedef struct telling {
    cascade_store *store;
    cascade_uuid id;
} telling;

static void *
tell(void *context)
{
    telling *t = context;

    csc_watch_tell(&t->store->watches, &t->id, 0);
    return NULL;
}

/* By another thread, while it waits. */
static void
expect_told(cascade_store *store, csc_watch *watch)
{
    telling t = {.store = store, .id = watch->id};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, tell, &t), 0);
    assert_true(csc_watch_wait(&store->watches, watch, 60000));
    pthread_join(thread, NULL);
}

static void
who_watches_a_cascade_is_told_of_that_one(void **state)
{
    const cascade_uuid one = {{1}};
    const cascade_uuid other = {{2}};
    cascade_store_driver driver = fake_driver();
    cascade_store *store = NULL;
    csc_watch watches[3];

    (void)state;
    assert_int_equal(cascade_store_open_driver(&driver, "fake:", NULL, &store),
                     CASCADE_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(csc_watch_begin(&store->watches, &watches[i],
                                         i == 1 ? &other : &one),
                         CASCADE_OK);
    csc_watch_tell(&store->watches, &one, 0);
    assert_true(csc_watch_wait(&store->watches, &watches[0], 0));
    assert_false(csc_watch_wait(&store->watches, &watches[0], 5));
    assert_false(csc_watch_wait(&store->watches, &watches[1], 0));
    assert_true(csc_watch_wait(&store->watches, &watches[2], 0));
    csc_watch_move(&store->watches, &watches[2], &other);
    csc_watch_tell(&store->watches, &one, 0);
    assert_false(csc_watch_wait(&store->watches, &watches[2], 0));
    expect_told(store, &watches[2]);
    for (int i = 0; i < 3; i++)
        csc_watch_end(&store->watches, &watches[i]);
    csc_watch_tell(&store->watches, &one, 0);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* "memory:" is private; "memory:NAME" is shared as long as one handle lives. */
static void
memory_stores_are_shared_by_name(void **state)
{
    cascade_incarnation row = {.host = "h", .lease_ms = 1000, .lane_count = 1};
    cascade_store *stores[5] = {NULL};
    static const char *const urls[] = {"memory:", "memory:", "memory:a",
                                       "memory:a", "memory:b"};
    static const cascade_err wanted[] = {CASCADE_ERR_FENCED, CASCADE_ERR_FENCED,
                                         CASCADE_OK, CASCADE_OK,
                                         CASCADE_ERR_FENCED};
    size_t live = csc_mem_live();

    (void)state;
    row.engine_id.bytes[0] = 1;
    for (int i = 0; i < 5; i++)
        assert_int_equal(cascade_store_open(urls[i], NULL, &stores[i]),
                         CASCADE_OK);
    assert_int_equal(stores[2]->driver->attach(stores[2]->self, &row),
                     CASCADE_OK);
    for (int i = 0; i < 5; i++)
        assert_int_equal(stores[i]->driver->renew(stores[i]->self,
                                                  &row.engine_id, 1000, NULL),
                         wanted[i]);
    assert_int_equal(cascade_store_close(stores[2]), CASCADE_OK);
    assert_int_equal(
        stores[3]->driver->renew(stores[3]->self, &row.engine_id, 1000, NULL),
        CASCADE_OK);
    assert_int_equal(cascade_store_close(stores[3]), CASCADE_OK);
    assert_int_equal(cascade_store_open("memory:a", NULL, &stores[2]),
                     CASCADE_OK);
    assert_int_equal(
        stores[2]->driver->renew(stores[2]->self, &row.engine_id, 1000, NULL),
        CASCADE_ERR_FENCED);
    assert_int_equal(cascade_store_close(stores[0]), CASCADE_OK);
    assert_int_equal(cascade_store_close(stores[1]), CASCADE_OK);
    assert_int_equal(cascade_store_close(stores[2]), CASCADE_OK);
    assert_int_equal(cascade_store_close(stores[4]), CASCADE_OK);
    assert_int_equal(csc_mem_live(), live);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(urls_find_their_driver, setup),
        cmocka_unit_test_setup(a_url_is_in_no_error_text, setup),
        cmocka_unit_test_setup(defaults_are_applied, setup),
        cmocka_unit_test_setup(what_options_point_at_is_copied, setup),
        cmocka_unit_test_setup(options_out_of_range_are_refused, setup),
        cmocka_unit_test_setup(a_name_of_63_bytes_is_accepted, setup),
        cmocka_unit_test_setup(missing_arguments_are_refused, setup),
        cmocka_unit_test_setup(a_driver_of_another_abi_is_refused, setup),
        cmocka_unit_test_setup(never_does_not_migrate, setup),
        cmocka_unit_test_setup(a_failing_open_frees_everything, setup),
        cmocka_unit_test_setup(a_driver_that_fails_silently_gets_a_text, setup),
        cmocka_unit_test_setup(out_of_memory_while_opening_is_an_error, setup),
        cmocka_unit_test_setup(a_store_with_open_engines_is_not_closed, setup),
        cmocka_unit_test_setup(the_time_is_the_drivers, setup),
        cmocka_unit_test_setup(a_servers_time_is_asked_for_once_a_second,
                               setup),
        cmocka_unit_test_setup(who_watches_a_cascade_is_told_of_that_one,
                               setup),
        cmocka_unit_test_setup(memory_stores_are_shared_by_name, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
