/* SPDX-License-Identifier: MIT
 *
 * Databases for tests of the engine; see stores.h.
 */
#include "support/stores.h"

#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>

#include "support/schemas.h"
#endif
#ifdef CASCADE_HAVE_SQLITE
#include <sqlite3.h>
#endif

#include "store/store.h"
#include "support/rows.h"
#include "support/sealed.h"
#include "support/sound.h"
#include "support/unique.h"

#define VIRTUAL_START_MS INT64_C(1700000000000)
#define NAME_SIZE 160
#define LOOK_MS 5
#define LOOK_FIRST_NS 500000
#define SQL_WAIT_MS 60000 /* for the locks of others */
#define LEASE_MS (INT64_C(60) * 60 * 1000)

/* ---- Backends ----------------------------------------------------------- */

static int
create_memory(test_db *db)
{
    static int number;

    snprintf(db->url, sizeof(db->url), "memory:engine-%d", number++);
    return 0;
}

static void
destroy_memory(test_db *db)
{
    (void)db;
}

#ifdef CASCADE_HAVE_SQLITE
static int
create_sqlite(test_db *db)
{
    const char *base = getenv("TMPDIR");

    snprintf(db->folder, sizeof(db->folder), "%s/cascade-engine.XXXXXX",
             base == NULL ? "/tmp" : base);
    if (mkdtemp(db->folder) == NULL) {
        perror(db->folder);
        return -1;
    }
    snprintf(db->url, sizeof(db->url), "sqlite:%s/cascade.db", db->folder);
    return 0;
}

static int
remove_one(const char *path, const struct stat *status, int type,
           struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static void
destroy_sqlite(test_db *db)
{
    nftw(db->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int
run_sqlite(test_db *db, const char *sql)
{
    sqlite3 *connection = NULL;
    int failed = sqlite3_open(strchr(db->url, ':') + 1, &connection);

    if (failed == SQLITE_OK)
        failed = sqlite3_busy_timeout(connection, SQL_WAIT_MS);
    if (failed == SQLITE_OK)
        failed = sqlite3_exec(connection, sql, NULL, NULL, NULL);
    if (failed != SQLITE_OK)
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(connection));
    sqlite3_close(connection);
    return failed == SQLITE_OK ? 0 : -1;
}
#endif

#ifdef CASCADE_HAVE_POSTGRES
static int
create_postgres(test_db *db)
{
    if (schemas_take(db->schema, sizeof(db->schema)) != 0)
        return -1;
    snprintf(db->url, sizeof(db->url), "%s", getenv("CASCADE_TEST_PG"));
    return 0;
}

static void
destroy_postgres(test_db *db)
{
    schemas_give(db->schema, db->used);
}

static int
run_postgres(test_db *db, const char *sql)
{
    PGconn *connection = schemas_connect();
    char text[2048];
    int failed = 0;

    snprintf(text, sizeof(text), "SET search_path = %s; %s", db->schema, sql);
    failed = schemas_run(connection, text);
    PQfinish(connection);
    return failed;
}
#endif

static const test_backend backends[] = {
    {"memory", true, create_memory, destroy_memory, NULL},
#ifdef CASCADE_HAVE_SQLITE
    {"sqlite", true, create_sqlite, destroy_sqlite, run_sqlite},
#endif
#ifdef CASCADE_HAVE_POSTGRES
    {"postgres", false, create_postgres, destroy_postgres, run_postgres},
#endif
};

#define BACKENDS (sizeof(backends) / sizeof(backends[0]))

bool
db_has_sql(const test_db *db)
{
    return db->backend->run_sql != NULL;
}

int
db_sql(test_db *db, const char *sql)
{
    return db->backend->run_sql(db, sql);
}

void
db_clear(test_db *db)
{
#ifdef CASCADE_HAVE_POSTGRES
    if (db->schema[0] != '\0')
        assert_int_equal(schemas_clear(db->schema), 0);
#else
    (void)db;
#endif
}

#ifdef CASCADE_HAVE_SQLITE
static int
copy_sqlite(const char *from, const char *to)
{
    sqlite3 *connections[2] = {NULL, NULL};
    sqlite3_backup *backup = NULL;
    int failed = sqlite3_open(from, &connections[0]);

    if (failed == SQLITE_OK)
        failed = sqlite3_open(to, &connections[1]);
    for (int i = 0; i < 2 && failed == SQLITE_OK; i++)
        failed = sqlite3_busy_timeout(connections[i], SQL_WAIT_MS);
    if (failed == SQLITE_OK)
        backup =
            sqlite3_backup_init(connections[1], "main", connections[0], "main");
    failed = backup == NULL || sqlite3_backup_step(backup, -1) != SQLITE_DONE;
    if (sqlite3_backup_finish(backup) != SQLITE_OK || failed)
        fprintf(stderr, "copy: %s\n", sqlite3_errmsg(connections[1]));
    for (int i = 0; i < 2; i++)
        sqlite3_close(connections[i]);
    return failed ? -1 : 0;
}
#else
static int
copy_sqlite(const char *from, const char *to)
{
    (void)from;
    (void)to;
    return -1;
}
#endif

static void
copy_path(const test_db *db, char *path, size_t size)
{
    snprintf(path, size, "%s/copy.db", db->folder);
}

int
db_keep_copy(test_db *db)
{
    char copy[300];

    copy_path(db, copy, sizeof(copy));
    return copy_sqlite(strchr(db->url, ':') + 1, copy);
}

int
db_restore_copy(test_db *db)
{
    char copy[300];

    copy_path(db, copy, sizeof(copy));
    return copy_sqlite(copy, strchr(db->url, ':') + 1);
}

/* ---- Checks ------------------------------------------------------------- */

static atomic_int failed_expectations;

bool
stores_expect(bool condition, const char *text, const char *file, int line)
{
    if (!condition && atomic_fetch_add(&failed_expectations, 1) < 20)
        fprintf(stderr, "%s:%d: expected: %s\n", file, line, text);
    return condition;
}

void
stores_check(cascade_err got, cascade_err wanted, const char *call,
             const char *file, int line)
{
    const char *text = cascade_errmsg();

    if (got != wanted) {
        print_error("%s: %s instead of %s: %s\n", call, cascade_err_name(got),
                    cascade_err_name(wanted), text == NULL ? "-" : text);
        _fail(file, line);
    }
    if (got != CASCADE_OK && (text == NULL || text[0] == '\0')) {
        print_error("%s: %s without a text\n", call, cascade_err_name(got));
        _fail(file, line);
    }
}

static int64_t
real_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
stores_await(sem_t *sem)
{
    while (sem_wait(sem) != 0)
        ;
}

cascade_err
stores_nothing(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

/* Looks ever more rarely, since each look may cost those who are waited for. */
bool
stores_until(bool (*done)(void *context), void *context)
{
    int64_t end_ms = real_ms() + DB_WAIT_MS;
    struct timespec pause = {0, LOOK_FIRST_NS};

    while (!done(context)) {
        if (real_ms() > end_ms)
            return false;
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < LOOK_MS * 1000000)
            pause.tv_nsec += pause.tv_nsec / 8;
    }
    return true;
}

uint64_t
stores_hash(const char *text, uint64_t salt)
{
    uint64_t hash = UINT64_C(1469598103934665603) ^ salt;

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ (hash >> 33);
}

/* ---- Handles ------------------------------------------------------------ */

/* SplitMix64, shared by all threads of a test. */
static void
fill_random(void *context, void *bytes, size_t len)
{
    test_db *db = context;
    unsigned char *out = bytes;

    while (len > 0) {
        uint64_t mixed =
            atomic_fetch_add(&db->random, UINT64_C(0x9e3779b97f4a7c15));
        size_t part = len < sizeof(mixed) ? len : sizeof(mixed);

        mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
        mixed ^= mixed >> 31;
        memcpy(out, &mixed, part);
        out += part;
        len -= part;
    }
}

/* CASCADE_TEST_LOG shows what the library says. */
static void
note_line(void *context, cascade_log_level level, const char *line)
{
    test_db *db = context;

    atomic_fetch_add(&db->warnings, 1);
    if (getenv("CASCADE_TEST_LOG") != NULL)
        fprintf(stderr, "log %d: %s\n", (int)level, line);
}

cascade_store_options
db_store_options(test_db *db)
{
    static _Thread_local cascade_random random;

    random = (cascade_random){db, fill_random};
    return (cascade_store_options){
        .size = sizeof(cascade_store_options),
        .schema = db->schema[0] != '\0' ? db->schema : NULL,
        .deadline_ms = DB_DEADLINE_MS,
        .clock = db->fake_time ? &db->clock.clock : NULL,
        .random = &random,
        .log = note_line,
        .log_context = db,
        .log_level = CASCADE_LOG_WARNING,
        .integrity = db->integrity != NULL ? db->integrity : sealed_wanted()};
}

static cascade_store *
keep_store(test_db *db, cascade_store *store)
{
    assert_true(db->store_count < DB_HANDLES);
    db->stores[db->store_count++] = store;
    return store;
}

cascade_store *
db_store(test_db *db)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;

    assert_ok(cascade_store_open(db->url, &options, &store));
    return keep_store(db, store);
}

cascade_store *
db_wrapped(test_db *db, wrap_store *wrap)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;

    assert_ok(
        cascade_store_open_driver(&wrap->driver, wrap->url, &options, &store));
    return keep_store(db, store);
}

/* By a handle of its own: those of the test may have been made to fail. */
static cascade_store *
open_judge(test_db *db)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;

    if (cascade_store_open(db->url, &options, &store) != CASCADE_OK)
        print_error("verify: %s\n", cascade_errmsg());
    return store;
}

#ifdef CASCADE_HAVE_POSTGRES
/* That of the schema that tests hand on: what it takes to open one, and to plan
 * what it asks, is spent once. It has nothing of a test, which may count what
 * is allocated: so it looks when that is over. */
static struct {
    cascade_store *store;
    char schema[sizeof(((test_db *)NULL)->schema)];
} kept_judge;

static void
close_kept_judge(void)
{
    if (kept_judge.store != NULL)
        (void)cascade_store_close(kept_judge.store);
    kept_judge.store = NULL;
}

static bool
may_share_judge(const test_db *db)
{
    const char *server = getenv("CASCADE_TEST_PG");

    return db->schema[0] != '\0' && db->integrity == NULL && server != NULL &&
           strcmp(db->url, server) == 0;
}

static bool
get_kept_judge(const test_db *db)
{
    const cascade_store_options options = {.size = sizeof(options),
                                           .schema = db->schema,
                                           .deadline_ms = DB_DEADLINE_MS,
                                           .integrity = sealed_wanted()};

    if (kept_judge.store != NULL && strcmp(kept_judge.schema, db->schema) == 0)
        return true;
    close_kept_judge();
    if (cascade_store_open(db->url, &options, &kept_judge.store) != CASCADE_OK)
        print_error("verify: %s\n", cascade_errmsg());
    (void)snprintf(kept_judge.schema, sizeof(kept_judge.schema), "%s",
                   db->schema);
    return kept_judge.store != NULL;
}
#endif

static bool
finds_sound_rows(cascade_store *store)
{
    return sound_all(store) && (store->ring == NULL || sealed_all(store, NULL));
}

static bool
leaves_sound_rows(test_db *db)
{
    cascade_store *store = NULL;
    bool sound = false;

    if (db->unsound || db->store_count == 0)
        return true;
    store = open_judge(db);
    if (store == NULL)
        return false;
    sound = finds_sound_rows(store);
    return cascade_store_close(store) == CASCADE_OK && sound;
}

/* The same when the test is over. */
static bool
has_left_sound_rows(test_db *db)
{
#ifdef CASCADE_HAVE_POSTGRES
    if (!db->unsound && db->store_count > 0 && may_share_judge(db))
        return get_kept_judge(db) && finds_sound_rows(kept_judge.store);
#endif
    return leaves_sound_rows(db);
}

void
db_close_store(test_db *db, cascade_store *store)
{
    size_t others = 0;

    for (size_t i = 0; i < db->store_count; i++)
        others += db->stores[i] != NULL && db->stores[i] != store;
    if (others == 0 && !leaves_sound_rows(db))
        fail_msg("the last store is closed on rows that are not sound");
    for (size_t i = 0; i < db->store_count; i++)
        if (db->stores[i] == store)
            db->stores[i] = NULL;
    while (db->store_count > 0 && db->stores[db->store_count - 1] == NULL)
        db->store_count--;
    assert_ok(cascade_store_close(store));
}

cascade_engine *
db_engine(test_db *db, cascade_store *store,
          const cascade_engine_options *options)
{
    cascade_engine_options plain = {
        .size = sizeof(plain), .worker_count = 4, .lease_ms = LEASE_MS};
    cascade_engine *engine = NULL;

    assert_true(db->engine_count < DB_HANDLES);
    assert_ok(cascade_engine_open(store, options != NULL ? options : &plain,
                                  &engine));
    db->engines[db->engine_count++] = engine;
    return engine;
}

/* A node that was let go may still be on its way out. */
static bool
has_closed(void *engine)
{
    return cascade_engine_close(engine) == CASCADE_OK;
}

void
db_close_engine(test_db *db, cascade_engine *engine)
{
    for (size_t i = 0; i < db->engine_count; i++)
        if (db->engines[i] == engine)
            db->engines[i] = NULL;
    while (db->engine_count > 0 && db->engines[db->engine_count - 1] == NULL)
        db->engine_count--;
    (void)cascade_engine_stop(engine, DB_WAIT_MS);
    assert_true(stores_until(has_closed, engine));
}

cascade_engine_stats
db_stats(cascade_engine *engine)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    assert_ok(cascade_engine_get_stats(engine, &stats));
    return stats;
}

#define ROUND_CLAIMS 3 /* in one at most, but for a burst */

typedef struct rounds {
    cascade_store *store;
    wrap_store *wrap;
    size_t waits;  /* between them, until they have passed */
    size_t claims; /* or in them: where each takes longer than until the next
                      poll, he does not wait */
} rounds;

static bool
have_passed(void *context)
{
    const rounds *r = context;

    (void)r->store->driver->wake(r->store->self);
    return wrap_store_count(r->wrap, WRAP_WAIT) >= r->waits ||
           wrap_store_count(r->wrap, WRAP_CLAIM) >= r->claims;
}

void
db_pass_rounds(cascade_store *store, wrap_store *wrap)
{
    rounds r = {store, wrap, wrap_store_count(wrap, WRAP_WAIT) + 3,
                wrap_store_count(wrap, WRAP_CLAIM) + 2 * ROUND_CLAIMS + 1};

    expect(stores_until(have_passed, &r));
}

static bool
hears_wakes(void *context)
{
    cascade_store *store = context;
    cascade_waited result = {0};

    assert_ok(store->driver->wait(store->self, -1, 0, &result));
    if (!result.listening)
        assert_ok(
            store->driver->wait(store->self, -1, DB_DEADLINE_MS, &result));
    return result.listening;
}

void
db_hear_wakes(cascade_store *store)
{
    if (!stores_until(hears_wakes, store))
        fail_msg("the store does not hear wake-ups");
}

void
db_await(cascade_store *store, const cascade_uuid *id, cascade_status status)
{
    cascade_status ended = CASCADE_RUNNING;

    assert_ok(cascade_wait(store, id, DB_WAIT_MS, &ended));
    assert_int_equal(ended, status);
}

cascade_uuid
db_start(cascade_store *store, const char *node)
{
    cascade_started started = {0};

    assert_ok(cascade_start(store, node, NULL, NULL, &started));
    return started.id;
}

cascade_uuid
db_start_text(cascade_store *store, const char *node, const char *input)
{
    cascade_first first = {
        .size = sizeof(first), .node = node, .input_text = input};
    cascade_start_spec spec = {
        .size = sizeof(spec), .first = &first, .first_count = 1};
    cascade_started started = {0};

    assert_ok(cascade_start_many(store, &spec, 1, &started));
    return started.id;
}

/* ---- Polling ------------------------------------------------------------ */

bool
db_all_ended(void *context)
{
    db_ends *ends = context;

    while (ends->ended < ends->count &&
           cascade_wait(ends->store, &ends->ids[ends->ended], 0, NULL) ==
               CASCADE_OK)
        ends->ended++;
    return ends->ended == ends->count;
}

/* Polls each engine once; the shortest time until one must be polled again. */
static int64_t
poll_all(cascade_engine *const *engines, size_t count, bool *any)
{
    int64_t wait_ms = INT64_MAX;

    *any = false;
    for (size_t i = 0; i < count; i++) {
        size_t ran = 0;
        int64_t next_ms = 0;

        assert_ok(cascade_engine_poll(engines[i], 0, &ran));
        *any = *any || ran > 0;
        next_ms = cascade_engine_timeout_ms(engines[i]);
        wait_ms = next_ms < wait_ms ? next_ms : wait_ms;
    }
    return wait_ms;
}

/* Whether it is done no descriptor tells: somebody else may have to record it.
 */
static void
sleep_on(cascade_engine *const *engines, size_t count, int64_t wait_ms)
{
    struct pollfd fds[DB_HANDLES];

    for (size_t i = 0; i < count; i++)
        fds[i] = (struct pollfd){.fd = cascade_engine_fd(engines[i]),
                                 .events = POLLIN};
    (void)poll(fds, (nfds_t)count, wait_ms < LOOK_MS ? (int)wait_ms : LOOK_MS);
}

bool
db_poll_until(test_db *db, cascade_engine *const *engines, size_t count,
              bool (*done)(void *context), void *context)
{
    int64_t end_ms = real_ms() + DB_WAIT_MS;

    while (!done(context)) {
        bool any = false;
        int64_t wait_ms = poll_all(engines, count, &any);

        if (real_ms() > end_ms)
            return false;
        if (any || wait_ms == 0)
            continue;
        if (db->fake_time)
            fake_clock_advance(&db->clock, wait_ms);
        else
            sleep_on(engines, count, wait_ms);
    }
    return true;
}

/* ---- Running ------------------------------------------------------------ */

typedef struct running {
    const stores_test *test;
    const test_backend *backend;
    test_db *db;
    bool passed; /* to the end: no assertion has left it */
    char name[NAME_SIZE];
} running;

static int
setup(void **state)
{
    running *r = *state;

    r->db = calloc(1, sizeof(*r->db));
    if (r->db == NULL)
        return -1;
    r->db->backend = r->backend;
    atomic_store(&r->db->random, rows_seed());
    fake_clock_init(&r->db->clock, VIRTUAL_START_MS);
    atomic_store(&failed_expectations, 0);
    if (r->backend->create(r->db) == 0)
        return 0;
    free(r->db);
    r->db = NULL;
    return -1;
}

/* Nothing holds the nodes of a test that has passed; a test that failed may
 * have left some that never return. */
static bool
close_engine(const running *r, cascade_engine *engine)
{
    return r->passed ? stores_until(has_closed, engine) : has_closed(engine);
}

static int
teardown(void **state)
{
    running *r = *state;
    test_db *db = r->db;
    bool closed = true;
    bool sound = true;

    for (size_t i = 0; i < db->engine_count; i++)
        if (db->engines[i] != NULL)
            closed = close_engine(r, db->engines[i]) && closed;
    sound = !closed || has_left_sound_rows(db);
    for (size_t i = 0; i < db->store_count && closed; i++)
        if (db->stores[i] != NULL)
            closed = cascade_store_close(db->stores[i]) == CASCADE_OK;
    db->used = !closed;
    db->backend->destroy(db);
    if (!closed) {
        print_error("engines or stores could not be closed\n");
        return -1; /* they still use db */
    }
    free(db);
    r->db = NULL;
    if (!sound) {
        print_error("the test left rows that are not sound\n");
        return -1;
    }
    if (atomic_load(&failed_expectations) == 0)
        return 0;
    print_error("%d expectations failed\n", atomic_load(&failed_expectations));
    return -1;
}

static void
run_one(void **state)
{
    running *r = *state;

    r->test->run(r->db);
    r->passed = true;
    assert_int_equal(atomic_load(&failed_expectations), 0);
}

static bool
runs_on(const stores_test *test, const test_backend *backend)
{
    if (test->where == STORES_MEMORY)
        return backend == &backends[0];
    if (test->where == STORES_SQLITE)
        return strcmp(backend->name, "sqlite") == 0;
    if (test->where == STORES_FILES)
        return backend != &backends[0];
    if (test->where == STORES_POSTGRES)
        return strcmp(backend->name, "postgres") == 0;
    return test->where == STORES_ALL || backend->virtual_time;
}

/* What could run on either database does so on one of them, by turns; and
 * nothing does on a server that is not there. */
static bool
is_left_out(const stores_test *test, size_t index, const test_backend *backend)
{
    const char *how = getenv("CASCADE_TEST_STORES");
    const char *server = getenv("CASCADE_TEST_PG");

    if (server != NULL && strcmp(server, "none") == 0 &&
        strcmp(backend->name, "postgres") == 0)
        return true;
    if (how == NULL || backend == &backends[0] ||
        (test->where != STORES_ALL && test->where != STORES_FILES))
        return false;
    if (strcmp(how, "others") == 0)
        index++;
    else if (strcmp(how, "turns") != 0)
        return false;
    return index % (BACKENDS - 1) != (size_t)(backend - backends) - 1;
}

int
stores_run(const char *group, const stores_test *tests, size_t count, int argc,
           char **argv)
{
    size_t most = count * BACKENDS;
    struct CMUnitTest *units = calloc(most, sizeof(*units));
    running *runs = calloc(most, sizeof(*runs));
    size_t made = 0;
    size_t left_out = 0;
    int failed = 1;

    if (units == NULL || runs == NULL)
        goto out;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    (void)rows_seed();
    for (size_t b = 0; b < BACKENDS; b++)
        for (size_t i = 0; i < count; i++) {
            running *r = &runs[made];

            if (!runs_on(&tests[i], &backends[b]))
                continue;
            if (is_left_out(&tests[i], i, &backends[b])) {
                left_out++;
                continue;
            }
            r->test = &tests[i];
            r->backend = &backends[b];
            snprintf(r->name, sizeof(r->name), "%s on %s", tests[i].name,
                     backends[b].name);
            units[made++] =
                (struct CMUnitTest){r->name, run_one, setup, teardown, r};
        }
    failed = _cmocka_run_group_tests(group, units, made, NULL, NULL);
    if (left_out > 0)
        print_message("%zu left out: CASCADE_TEST_STORES, CASCADE_TEST_PG\n",
                      left_out);
#ifdef CASCADE_HAVE_POSTGRES
    close_kept_judge();
    schemas_end();
#endif
out:
    free(units);
    free(runs);
    return failed;
}
