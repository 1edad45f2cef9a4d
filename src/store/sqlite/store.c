/* SPDX-License-Identifier: MIT
 *
 * The SQLite store: the table of moves, opening and closing.
 *
 *   sqlite:PATH   a file; relative paths are taken from where the process is
 *                 now, whatever it does later
 *
 * Beside PATH lie PATH-wal and PATH-shm (SQLite's write-ahead log and its
 * index) while the database is in use, and PATH-lock (lock_file.c) always. To
 * copy a database in use, use SQLite's backup, not cp. The last handle that is
 * closed copies the log into the database and removes it.
 *
 * Several processes of one machine may use one file at once. Not over a network
 * file system: SQLite's locks and the log's shared memory do not work there.
 *
 * Opening in the order in which things depend on each other:
 *   the writer's file descriptor   creates the file, resolves the path
 *   a look beside the path         path.c; SQLite reads nothing before
 *   the sidecar                    from here on the last handle to close waits
 *                                  for us, or we for it
 *   the writer's set-up            its pragmas
 * Readers are opened when they are needed; the first write makes the file a WAL
 * database. One that cannot be written can be read where its folder can be
 * written or somebody else has it open: the log's index needs a file.
 */
#include "store/sqlite/internal.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

#define PREFIX "sqlite:"
#define VERSION_MIN 3035000

/* ---- The path ------------------------------------------------------------ */

/* Absolute, so that it is no URI ("file:..."), no memory database and the same
 * for connections that are opened later. NULL when memory is out. */
static char *
make_absolute(const char *path)
{
    char folder[PATH_MAX];
    csc_buf text;

    if (path[0] == '/')
        return csc_mem_strdup(path);
    if (getcwd(folder, sizeof(folder)) == NULL)
        return csc_mem_strdup(path); /* SQLite says what is wrong */
    csc_buf_init(&text);
    csc_buf_add_text(&text, folder);
    csc_buf_add_char(&text, '/');
    csc_buf_add_text(&text, path);
    return csc_buf_take(&text);
}

static cascade_err
set_path(csc_sqlite *store, const char *url)
{
    const char *path = url + strlen(PREFIX);

    if (strncmp(url, PREFIX, strlen(PREFIX)) != 0)
        return cascade_store_fail(CASCADE_ERR_INVALID,
                                  "SQLite: the URL does not begin with "
                                  "\"sqlite:\"");
    if (path[0] == '\0' || strcmp(path, ":memory:") == 0)
        return cascade_store_fail(CASCADE_ERR_INVALID,
                                  "SQLite: the URL names no file; give "
                                  "sqlite:PATH, or memory: for a store in "
                                  "memory");
    store->path = make_absolute(path);
    return store->path == NULL ? csc_fail_memory()
                               : csc_sqlite_path_check(store->path);
}

/* Symbolic links are resolved: the log lies beside the file itself, and so must
 * the sidecar. */
static cascade_err
resolve_path(csc_sqlite *store)
{
    const char *name = sqlite3_db_filename(store->writer.db, "main");
    char *resolved = csc_mem_strdup(name);

    if (name == NULL || resolved == NULL)
        return csc_fail_memory();
    csc_mem_free(store->path);
    store->path = resolved;
    return CASCADE_OK;
}

/* ---- Open and close ------------------------------------------------------ */

static cascade_err
check_library(void)
{
    if (sqlite3_libversion_number() < VERSION_MIN)
        return cascade_store_fail(CASCADE_ERR_UNSUPPORTED,
                                  "SQLite %s is too old; 3.35 is the lowest "
                                  "version",
                                  sqlite3_libversion());
    if (sqlite3_threadsafe() == 0)
        return cascade_store_fail(CASCADE_ERR_UNSUPPORTED,
                                  "this SQLite was built without threads");
    return CASCADE_OK;
}

/* The boot part of "<boot>/<namespace>". */
static void
set_boot(csc_sqlite *store)
{
    csc_clock_host(store->boot);
    store->boot[strcspn(store->boot, "/")] = '\0';
}

static cascade_err
init_locks(csc_sqlite *store)
{
    cascade_err err = csc_lock_init_mutex(&store->mutex);

    if (err != CASCADE_OK)
        return err;
    err = csc_lock_init_cond(&store->writer_freed);
    if (err != CASCADE_OK)
        goto no_writer_freed;
    err = csc_lock_init_cond(&store->reader_freed);
    if (err == CASCADE_OK)
        return CASCADE_OK;
    csc_lock_fini_cond(&store->writer_freed);
no_writer_freed:
    csc_lock_fini_mutex(&store->mutex);
    return err;
}

static cascade_err
init(csc_sqlite *store, const cascade_store_config *config)
{
    store->config = config;
    store->log = (csc_log){.fn = config->log,
                           .context = config->log_context,
                           .level = config->log_level};
    store->lock.fd = -1;
    store->checkpoint_pages = CSC_SQLITE_CHECKPOINT_PAGES;
    store->checkpoint_at_pages = CSC_SQLITE_CHECKPOINT_PAGES;
    store->piece_rows = CSC_SQLITE_PIECE_ROWS;
    store->writer.store = store;
    store->writer.writer = true;
    store->native.conn.store = store;
    store->native.conn.writer = true;
    for (size_t i = 0; i < CSC_SQLITE_READERS; i++)
        store->readers[i].store = store;
    for (size_t i = 0; i < CSC_SQLITE_WATCHES; i++)
        store->watches[i] = -1;
    set_boot(store);
    return init_locks(store);
}

static cascade_err
open_file(csc_sqlite *store)
{
    csc_sqlite_conn *writer = &store->writer;
    cascade_err err = CASCADE_OK;

    writer->deadline_ns = csc_sqlite_txn_get_deadline(store);
    if (store->config->private_files)
        err = csc_sqlite_path_make_private(store->path);
    if (err == CASCADE_OK)
        err = csc_sqlite_conn_open(writer);
    if (err != CASCADE_OK)
        return err;
    store->read_only = sqlite3_db_readonly(writer->db, "main") == 1;
    err = resolve_path(store);
    if (err != CASCADE_OK)
        return err;
    err = csc_sqlite_path_note(store);
    if (err == CASCADE_OK)
        err = csc_sqlite_path_check_beside(store->path);
    if (err == CASCADE_OK)
        err = csc_sqlite_lock_open(&store->lock, store->path, store->read_only,
                                   writer->deadline_ns);
    if (err == CASCADE_OK)
        err = csc_sqlite_conn_set_up(writer);
    if (err == CASCADE_OK)
        store->seen_wake = csc_sqlite_lock_get_token(&store->lock);
    return err;
}

/* When we are the last, SQLite may do what it does at the end of a log: copy
 * it, under an exclusive lock on the database, and remove it. */
static void
close_writer(csc_sqlite *store)
{
    csc_sqlite_conn *writer = &store->writer;

    writer->deadline_ns = INT64_MAX;
    if (writer->db != NULL && !store->read_only &&
        csc_sqlite_lock_alone(&store->lock))
        (void)sqlite3_db_config(writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0,
                                NULL);
    csc_sqlite_conn_close(writer);
}

void
csc_sqlite_free(csc_sqlite *store)
{
    if (store->guest.session != NULL)
        store->guest.session->leave(store);
    for (size_t i = 0; i < CSC_SQLITE_READERS; i++)
        csc_sqlite_conn_close(&store->readers[i]);
    csc_sqlite_native_fini(&store->native);
    close_writer(store);
    csc_sqlite_wait_fini(store);
    csc_sqlite_lock_close(&store->lock);
    csc_lock_fini_cond(&store->writer_freed);
    csc_lock_fini_cond(&store->reader_freed);
    csc_lock_fini_mutex(&store->mutex);
    csc_turn_fini(&store->turns);
    csc_mem_free(store->path);
    csc_mem_free(store);
}

static void
close_store(void *self)
{
    csc_sqlite_free(self);
}

cascade_err
csc_sqlite_create(const cascade_store_config *config, csc_sqlite **store)
{
    csc_sqlite *created;
    cascade_err err = check_library();

    if (err == CASCADE_OK)
        err = csc_sqlite_fork_initialize();
    if (err != CASCADE_OK)
        return err;
    created = csc_mem_zalloc(1, sizeof(*created));
    if (created == NULL)
        return csc_fail_memory();
    err = init(created, config);
    if (err != CASCADE_OK) {
        csc_mem_free(created);
        return err;
    }
    *store = created;
    return CASCADE_OK;
}

static cascade_err
open_store(const char *url, const cascade_store_config *config, void **self)
{
    csc_sqlite *store = NULL;
    cascade_err err = csc_sqlite_create(config, &store);

    if (err != CASCADE_OK)
        return err;
    err = set_path(store, url);
    if (err == CASCADE_OK)
        err = open_file(store);
    if (err != CASCADE_OK) {
        csc_sqlite_free(store);
        return err;
    }
    *self = store;
    return CASCADE_OK;
}

static cascade_err
get_now(void *self, int64_t *now_ms)
{
    const csc_sqlite *store = self;

    *now_ms = csc_clock_wall_ms(store->config->clock);
    return CASCADE_OK;
}

static const cascade_store_chain chain = {
    .size = sizeof(chain),
    .key = csc_sqlite_messages_key,
    .find = csc_sqlite_links_find,
    .link = csc_sqlite_links_write,
    .sweep = csc_sqlite_links_sweep,
};

static const cascade_store_manage manage = {
    .size = sizeof(manage),
    .pause = csc_sqlite_manage_pause,
    .queues = csc_sqlite_manage_queues,
    .totals = csc_sqlite_manage_totals,
    .schema = csc_sqlite_schema_list,
    .repair = csc_sqlite_manage_repair,
    .purge = csc_sqlite_manage_purge,
    .erase = csc_sqlite_delete_erase,
    .strays = csc_sqlite_strays_list,
};

static const cascade_store_integrity integrity = {
    .size = sizeof(integrity),
    .seal = csc_sqlite_seals_change,
    .seals = csc_sqlite_seals_list,
};

static const cascade_store_limits limits = {
    .size = sizeof(limits),
    .set = csc_sqlite_limits_set,
    .list = csc_sqlite_limits_list,
    .drop = csc_sqlite_limits_drop,
    .slots = csc_sqlite_limits_slots,
};

static const cascade_store_node_txn node_txn = {
    .size = sizeof(node_txn),
    .native = CASCADE_NATIVE_SQLITE,
    .native_max = 1,
    .begin = csc_sqlite_native_begin,
    .finish = csc_sqlite_native_finish,
    .abandon = csc_sqlite_native_abandon,
};

const cascade_store_driver csc_sqlite_driver = {
    .abi = CASCADE_STORE_ABI,
    .size = sizeof(cascade_store_driver),
    .name = "sqlite",
    .lane_max = 1,
    .open = open_store,
    .migrate = csc_sqlite_schema_migrate,
    .now = get_now,
    .attach = csc_sqlite_lease_attach,
    .renew = csc_sqlite_lease_renew,
    .detach = csc_sqlite_lease_detach,
    .engines = csc_sqlite_lease_engines,
    .remove = csc_sqlite_lease_remove,
    .claim = csc_sqlite_claim_runs,
    .load = csc_sqlite_read_load,
    .receive = csc_sqlite_messages_receive,
    .scan = csc_sqlite_scan_page,
    .list = csc_sqlite_read_list,
    .commit = csc_sqlite_commit_batch,
    .submit = csc_sqlite_commit_submit,
    .settle = csc_sqlite_native_settle,
    .wait = csc_sqlite_wait_for,
    .wake = csc_sqlite_wait_wake,
    .close = close_store,
    .chain = &chain,
    .manage = &manage,
    .integrity = &integrity,
    .node_txn = &node_txn,
    .limits = &limits,
};

const cascade_store_driver *
csc_store_sqlite_driver(void)
{
    return &csc_sqlite_driver;
}
