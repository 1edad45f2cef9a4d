/* SPDX-License-Identifier: MIT
 *
 * The store handle: from a URL and options to an opened backend.
 *
 *   cascade_store_open          finds the driver that the URL names
 *   cascade_store_open_driver   takes one of the caller's own
 *     both: options -> config   defaults and limits, in one place (configure)
 *           driver->open        connects
 *           csc_move_migrate    unless CASCADE_MIGRATE_NEVER
 *           the store's own row (integrity.h)
 *
 * The driver is checked (driver.h) and copied into the handle. It gets the
 * whole URL, prefix included. What the options point at (texts, clock,
 * randomness) is copied into the handle, so the caller's may go once the call
 * has returned; `config` points at the copies. The URL is not kept, and is in
 * no error text: it may hold a password.
 *
 * The handle also knows which engines of this process run on it: a start goes
 * straight to one of them, and what they hold need not be looked for.
 */
#include "store/store.h"

#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/integrity.h"
#include "store/move.h"
#include "store/ring.h"

#define DEADLINE_DEFAULT_MS 30000
#define DEADLINE_MAX_MS 86400000
#define PAYLOAD_DEFAULT ((size_t)1024 * 1024)
#define PAYLOAD_MAX ((size_t)64 * 1024 * 1024)
#define CONNECTIONS_DEFAULT 16
#define CONNECTIONS_MAX 1000
#define IDENTIFIER_MAX 63 /* PostgreSQL cuts longer ones */
#define NOW_KEPT_NS INT64_C(1000000000)
#define NOW_SLOWER 1000 /* more than two clocks drift apart */

/* ---- Backends that are not built in -------------------------------------- */

#ifndef CASCADE_HAVE_SQLITE
const cascade_store_driver *
csc_store_sqlite_driver(void)
{
    return NULL;
}

const csc_store_guest *
csc_store_sqlite_guest(void)
{
    return NULL;
}

const csc_store_forking *
csc_store_sqlite_forking(void)
{
    return NULL;
}
#endif

#ifndef CASCADE_HAVE_POSTGRES
const csc_store_guest *
csc_store_postgres_guest(void)
{
    return NULL;
}
const cascade_store_driver *
csc_store_postgres_driver(void)
{
    return NULL;
}
#endif

/* ---- Over a fork --------------------------------------------------------- */

/* The child has none of the threads but the one that forked: what another one
 * had locked stays locked there. The locks of a handle do not matter, since it
 * refuses the handle; those that all handles share are held by who forks. */

static void
before_fork(void)
{
    csc_store_memory_forking()->before();
    if (csc_store_sqlite_forking() != NULL)
        csc_store_sqlite_forking()->before();
}

static void
after_fork(bool child)
{
    if (csc_store_sqlite_forking() != NULL)
        csc_store_sqlite_forking()->after(child);
    csc_store_memory_forking()->after(child);
}

static void
after_fork_parent(void)
{
    after_fork(false);
}

static void
after_fork_child(void)
{
    after_fork(true);
}

/* Before main(): a handler that is hung in while another thread forks may be
 * called on one side only. */
__attribute__((constructor)) static void
watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* ---- Dispatch ------------------------------------------------------------ */

static bool
begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* A file or name with '=' in it is no conninfo, so prefixes come first. */
cascade_err
csc_store_driver_find(const char *url, const cascade_store_driver **driver)
{
    const cascade_store_driver *found;
    const char *name;

    if (url == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "the store URL is NULL");
    if (begins_with(url, "memory:")) {
        found = csc_store_memory_driver();
        name = "memory";
    } else if (begins_with(url, "sqlite:")) {
        found = csc_store_sqlite_driver();
        name = "SQLite";
    } else if (begins_with(url, "postgresql://") ||
               begins_with(url, "postgres://") || strchr(url, '=') != NULL) {
        found = csc_store_postgres_driver();
        name = "PostgreSQL";
    } else {
        return csc_fail(CASCADE_ERR_INVALID,
                        "the store URL has none of the known forms: memory:, "
                        "memory:NAME, sqlite:PATH, postgresql://... or a "
                        "libpq connection string (host=... dbname=...)");
    }
    if (found == NULL)
        return csc_fail(CASCADE_ERR_UNSUPPORTED,
                        "the %s store is not built into this library", name);
    *driver = found;
    return CASCADE_OK;
}

/* ---- Options ------------------------------------------------------------ */

static void
apply_defaults(cascade_store_options *options)
{
    if (options->schema == NULL)
        options->schema = "public";
    if (options->application_name == NULL)
        options->application_name = "libcascade";
    if (options->deadline_ms == 0)
        options->deadline_ms = DEADLINE_DEFAULT_MS;
    if (options->payload_max == 0)
        options->payload_max = PAYLOAD_DEFAULT;
    if (options->connection_max == 0)
        options->connection_max = CONNECTIONS_DEFAULT;
    if (options->clock == NULL)
        options->clock = &csc_clock_system;
    if (options->random == NULL)
        options->random = &csc_random_system;
    if (options->log_level == 0)
        options->log_level = CASCADE_LOG_WARNING;
}

static cascade_err
check_identifier(const char *what, const char *text)
{
    if (strnlen(text, IDENTIFIER_MAX + 1) > IDENTIFIER_MAX)
        return csc_fail(CASCADE_ERR_INVALID,
                        "store options: %s is longer than %d bytes", what,
                        IDENTIFIER_MAX);
    return csc_check_text(what, text);
}

static cascade_err
check_range(const char *what, int64_t value, int64_t min, int64_t max)
{
    if (value >= min && value <= max)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID,
                    "store options: %s is %lld; give %lld to %lld", what,
                    (long long)value, (long long)min, (long long)max);
}

/* The numbers, with the defaults applied. */
static cascade_err
check_numbers(const cascade_store_options *options)
{
    const struct {
        const char *what;
        int64_t value;
        int64_t min;
        int64_t max;
    } ranges[] = {
        {"migrate", (int64_t)options->migrate, CASCADE_MIGRATE_AUTO,
         CASCADE_MIGRATE_NEVER},
        {"durability", (int64_t)options->durability, CASCADE_DURABILITY_FULL,
         CASCADE_DURABILITY_RELAXED},
        {"deadline_ms", options->deadline_ms, 1, DEADLINE_MAX_MS},
        {"log_level", (int64_t)options->log_level, CASCADE_LOG_ERROR,
         CASCADE_LOG_DEBUG},
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        cascade_err err = check_range(ranges[i].what, ranges[i].value,
                                      ranges[i].min, ranges[i].max);

        if (err != CASCADE_OK)
            return err;
    }
    if (options->payload_max > PAYLOAD_MAX)
        return csc_fail(CASCADE_ERR_INVALID,
                        "store options: payload_max is %zu bytes; give at most "
                        "%zu",
                        options->payload_max, PAYLOAD_MAX);
    if (options->connection_max > CONNECTIONS_MAX)
        return csc_fail(CASCADE_ERR_INVALID,
                        "store options: connection_max is %zu; give 1 to %d",
                        options->connection_max, CONNECTIONS_MAX);
    return CASCADE_OK;
}

static cascade_err
check_options(const cascade_store_options *options)
{
    cascade_err err = check_numbers(options);

    if (err != CASCADE_OK)
        return err;
    err = check_identifier("schema", options->schema);
    if (err != CASCADE_OK)
        return err;
    err = check_identifier("application_name", options->application_name);
    if (err != CASCADE_OK)
        return err;
    if (!options->clock->wall_ms || !options->clock->monotonic_ns ||
        !options->random->fill)
        return csc_fail(CASCADE_ERR_INVALID,
                        "store options: a function of the clock or of the "
                        "random source is NULL; give all, or no clock or "
                        "random source at all");
    return CASCADE_OK;
}

/* Copies what `options` point at into the handle and its config; the keys are
 * there. */
static cascade_err
configure(cascade_store *store, const cascade_store_options *options)
{
    char *schema = csc_mem_strdup(options->schema);
    char *application_name = csc_mem_strdup(options->application_name);

    store->clock = *options->clock;
    store->random = *options->random;
    store->log =
        (csc_log){options->log, options->log_context, options->log_level};
    store->config = (cascade_store_config){
        .schema = schema,
        .application_name = application_name,
        .durability = options->durability,
        .pooler = options->pooler,
        .deadline_ms = options->deadline_ms,
        .payload_max = options->payload_max,
        .connection_max = options->connection_max,
        .clock = &store->clock,
        .random = &store->random,
        .log = options->log,
        .log_context = options->log_context,
        .log_level = options->log_level,
        .private_files = options->private_files,
        .sealed = store->ring != NULL,
    };
    if (schema == NULL || application_name == NULL)
        return csc_fail_memory();
    return CASCADE_OK;
}

/* ---- Open and close ----------------------------------------------------- */

static void
free_config(cascade_store *store)
{
    if (!store->native)
        csc_ring_free(store->ring);
    csc_mem_free((char *)store->config.schema);
    csc_mem_free((char *)store->config.application_name);
    csc_mem_free(store);
}

static cascade_err
init_mutexes(cascade_store *store)
{
    cascade_err err = csc_lock_init_mutex(&store->mutex);

    if (err != CASCADE_OK)
        return err;
    err = csc_lock_init_mutex(&store->held.mutex);
    if (err == CASCADE_OK) {
        err = csc_pipeline_init(&store->pipeline, store->driver->lane_max,
                                store->config.connection_max);
        if (err == CASCADE_OK) {
            err = csc_watch_init(&store->watches);
            if (err == CASCADE_OK)
                return CASCADE_OK;
            csc_pipeline_fini(&store->pipeline);
        }
        csc_lock_fini_mutex(&store->held.mutex);
    }
    csc_lock_fini_mutex(&store->mutex);
    return err;
}

static void
fini_mutexes(cascade_store *store)
{
    csc_watch_fini(&store->watches);
    csc_pipeline_fini(&store->pipeline);
    csc_lock_fini_mutex(&store->held.mutex);
    csc_lock_fini_mutex(&store->mutex);
}

static void
free_store(cascade_store *store)
{
    csc_assert(store->engine_count == 0);
    store->driver->close(store->self);
    fini_mutexes(store);
    free_config(store);
}

/* A driver that fails must say why; one of the caller's own may forget. */
static cascade_err
ensure_text(const cascade_store_driver *driver, cascade_err err)
{
    if (err != CASCADE_OK && csc_error_last() != err)
        return csc_fail(err, "the %s store could not be opened: %s",
                        driver->name, cascade_err_text(err));
    return err;
}

static cascade_err
open_self(const csc_store_opener *opener, cascade_store *store)
{
    if (opener->guest != NULL)
        return opener->guest->open(opener->handle, opener->native,
                                   &store->config, &store->self);
    return opener->driver->open(opener->url, &store->config, &store->self);
}

/* Those of the options, or of the store that has the node. */
static cascade_err
take_keys(const csc_store_opener *opener, const cascade_store_options *options,
          cascade_store *store)
{
    if (!store->native)
        return csc_integrity_read(options->integrity, &store->ring);
    store->ring = opener->ring;
    return CASCADE_OK;
}

static cascade_err
create_store(const csc_store_opener *opener,
             const cascade_store_options *options, cascade_store **created)
{
    cascade_store *store = csc_mem_zalloc(1, sizeof(*store));
    cascade_err err;

    if (store == NULL)
        return csc_fail_memory();
    csc_origin_mark(&store->origin);
    csc_driver_init(&store->moves, opener->driver);
    store->driver = &store->moves.driver;
    store->guest = opener->guest;
    store->native = opener->native != NULL;
    err = take_keys(opener, options, store);
    if (err == CASCADE_OK)
        err = configure(store, options);
    if (err == CASCADE_OK)
        err = init_mutexes(store);
    if (err != CASCADE_OK) {
        free_config(store);
        return err;
    }
    err = ensure_text(opener->driver, open_self(opener, store));
    if (err != CASCADE_OK) {
        fini_mutexes(store);
        free_config(store);
        return err;
    }
    *created = store;
    return CASCADE_OK;
}

/* At the schema, and at the store's own row. Who is not to look does so only
 * for a handle with keys, which are of no use before. */
static cascade_err
look(cascade_store *store, const cascade_store_options *options)
{
    cascade_migrate mode = options->migrate;
    cascade_err err = CASCADE_OK;

    if (mode == CASCADE_MIGRATE_NEVER && store->ring == NULL)
        return CASCADE_OK;
    if (mode != CASCADE_MIGRATE_NEVER)
        err = csc_move_migrate(store, mode);
    if (err != CASCADE_OK)
        return err;
    return csc_integrity_enter(store, csc_integrity_begin(options->integrity));
}

cascade_err
csc_store_open(const csc_store_opener *opener,
               const cascade_store_options *options, cascade_store **store)
{
    cascade_store_options known;
    cascade_store *created = NULL;
    cascade_err err =
        csc_check_options("store options", options, &known, sizeof(known));

    if (err != CASCADE_OK)
        return err;
    apply_defaults(&known);
    err = check_options(&known);
    if (err != CASCADE_OK)
        return err;
    err = create_store(opener, &known, &created);
    if (err != CASCADE_OK)
        return err;
    if (opener->native == NULL)
        err = ensure_text(opener->driver, look(created, &known));
    if (err != CASCADE_OK) {
        if (opener->guest != NULL && opener->guest->refuse != NULL)
            opener->guest->refuse(created->self);
        free_store(created);
        return err;
    }
    *store = created;
    return csc_ok();
}

cascade_err
cascade_store_open_driver(const cascade_store_driver *driver, const char *url,
                          const cascade_store_options *options,
                          cascade_store **store)
{
    csc_store_opener opener = {.driver = driver, .url = url};
    cascade_err err;

    csc_ok();
    if (store == NULL || url == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "cascade_store_open: %s is NULL",
                        url == NULL ? "the URL" : "the place for the store");
    err = csc_driver_check(driver);
    if (err != CASCADE_OK)
        return err;
    return csc_store_open(&opener, options, store);
}

cascade_err
cascade_store_open(const char *url, const cascade_store_options *options,
                   cascade_store **store)
{
    const cascade_store_driver *driver;
    cascade_err err = csc_store_driver_find(url, &driver);

    if (err != CASCADE_OK)
        return err;
    return cascade_store_open_driver(driver, url, options, store);
}

cascade_err
cascade_store_close(cascade_store *store)
{
    size_t engine_count;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL)
        return csc_ok();
    if (store->native)
        return csc_fail(CASCADE_ERR_MISUSE,
                        "store close: the store of a node is closed when its "
                        "function has returned");
    csc_lock_take(&store->mutex);
    engine_count = store->engine_count;
    csc_lock_give(&store->mutex);
    if (engine_count > 0)
        return csc_fail(CASCADE_ERR_MISUSE,
                        "%zu engines of this store are open; close them first",
                        engine_count);
    free_store(store);
    return csc_ok();
}

void
csc_store_close_native(cascade_store *guest)
{
    free_store(guest);
}

cascade_err
cascade_store_now(cascade_store *store, int64_t *now_ms)
{
    cascade_err err;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || now_ms == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "cascade_store_now: %s is NULL",
                        store == NULL ? "the store" : "the place for the time");
    err = csc_move_now(store, now_ms);
    return err != CASCADE_OK ? err : csc_ok();
}

/* False when the last answer is too old, or there was none. */
static bool
get_kept_now(cascade_store *store, int64_t now_ns, int64_t *now_ms)
{
    int64_t age_ns;
    bool good;

    csc_lock_take(&store->mutex);
    age_ns = now_ns - store->now_read_at_ns;
    good = store->now_read_at_ns != 0 && age_ns < NOW_KEPT_NS;
    if (good)
        *now_ms =
            (now_ns + store->now_offset_ns - age_ns / NOW_SLOWER) / CSC_MS_NS;
    csc_lock_give(&store->mutex);
    return good;
}

cascade_err
csc_store_get_now(cascade_store *store, int64_t *now_ms)
{
    cascade_err err;
    int64_t at_ns;

    if (!store->driver->server_clock)
        return csc_move_now(store, now_ms);
    at_ns = csc_clock_system.monotonic_ns(csc_clock_system.context);
    if (get_kept_now(store, at_ns, now_ms))
        return CASCADE_OK;
    err = csc_move_now(store, now_ms);
    if (err != CASCADE_OK)
        return err;
    at_ns = csc_clock_system.monotonic_ns(csc_clock_system.context);
    csc_lock_take(&store->mutex);
    store->now_offset_ns = *now_ms * CSC_MS_NS - at_ns;
    store->now_read_at_ns = at_ns;
    csc_lock_give(&store->mutex);
    return CASCADE_OK;
}

/* ---- Engines of this process -------------------------------------------- */

cascade_err
csc_store_add_engine(cascade_store *store, cascade_engine *engine,
                     const csc_store_answers *answers)
{
    bool added = false;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    if (store->engine_count < CSC_STORE_ENGINES_MAX) {
        store->engines[store->engine_count++] = engine;
        store->answers = answers;
        added = true;
    }
    csc_lock_give(&store->mutex);
    if (!added)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "%d engines are open on this store handle; open "
                        "another handle",
                        CSC_STORE_ENGINES_MAX);
    return CASCADE_OK;
}

static const csc_store_answers *
get_answers(cascade_store *store)
{
    const csc_store_answers *answers = NULL;

    csc_lock_take(&store->mutex);
    answers = store->answers;
    csc_lock_give(&store->mutex);
    return answers;
}

csc_aside
csc_store_find_aside(cascade_store *store, const cascade_uuid *id)
{
    const csc_store_answers *answers = get_answers(store);

    return answers != NULL ? answers->find_aside(store, id)
                           : (csc_aside){.tries = 0};
}

bool
csc_store_is_held(cascade_store *store, const cascade_uuid *id)
{
    const csc_store_answers *answers = get_answers(store);

    return answers != NULL && answers->is_held(store, id);
}

bool
csc_store_is_served(cascade_store *store)
{
    const csc_store_answers *answers = get_answers(store);

    return answers != NULL && answers->is_served(store);
}

void
csc_store_remove_engine(cascade_store *store, cascade_engine *engine)
{
    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    for (size_t i = 0; i < store->engine_count; i++) {
        if (store->engines[i] == engine) {
            store->engines[i] = store->engines[--store->engine_count];
            break;
        }
    }
    csc_lock_give(&store->mutex);
}
