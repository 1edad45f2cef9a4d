/* SPDX-License-Identifier: MIT
 *
 * A lent connection is looked at, set up, and given back as it was: what the
 * moves do on it in between is told in borrowed.c.
 *
 *   opened    the settings that the library changes are read first, so that
 *             they can be put back
 *   refused   the store could not be opened: they are put back
 *   left      they stay, as another store on the connection may need them; the
 *             last one gives SQLite back what it does when a log ends
 */
#include "store/sqlite/internal.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/sqlite.h"
#include "cascade/store.h"
#include "store/store.h"

static cascade_err
refuse(const char *why)
{
    return cascade_store_fail(CASCADE_ERR_INVALID,
                              "SQLite: %s; give a connection that reads and "
                              "writes a file as its main database",
                              why);
}

static cascade_err
check_connection(const csc_sqlite *store)
{
    sqlite3 *db = store->writer.db;
    const char *name = sqlite3_db_filename(db, "main");
    struct stat info;

    if (name == NULL || name[0] == '\0')
        return refuse("the database of this connection is in memory, or "
                      "temporary");
    if (stat(name, &info) != 0 || !S_ISREG(info.st_mode))
        return refuse("the database of this connection is no regular file");
    if (sqlite3_db_readonly(db, "main") != 0)
        return refuse("this connection cannot write its database");
    if (sqlite3_get_autocommit(db) && csc_sqlite_guest_is_within(store))
        return cascade_store_fail(CASCADE_ERR_MISUSE,
                                  "SQLite: a statement of the application is "
                                  "writing on this connection: step it to its "
                                  "end, or reset it, and open the store then");
    if (!sqlite3_get_autocommit(db))
        return cascade_store_fail(CASCADE_ERR_MISUSE,
                                  "SQLite: a transaction is open on this "
                                  "connection: open the store before it "
                                  "begins, or after it has ended");
    return CASCADE_OK;
}

static cascade_err
set_up(csc_sqlite *store)
{
    csc_sqlite_conn *conn = &store->writer;
    sqlite3 *db = conn->db;
    csc_sqlite_guest *guest = &store->guest;
    int code;

    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, -1,
                            &guest->no_checkpoint_on_close);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, -1,
                            &guest->foreign_keys);
    code = csc_sqlite_guest_read_number(
        db, csc_sqlite_statements[CSC_SQLITE_READ_AUTOCHECKPOINT].sql,
        &guest->autocheckpoint);
    if (code != SQLITE_OK) /* else it could not be put back */
        return csc_sqlite_error_set(conn, code, "set up the connection");
    code = sqlite3_wal_autocheckpoint(db, 0);
    if (code == SQLITE_OK)
        code = sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    if (code != SQLITE_OK)
        return csc_sqlite_error_set(conn, code, "set up the connection");
    csc_sqlite_link_hold(store); /* behind the first, which takes the hook */
    return CASCADE_OK;
}

static cascade_err
open_connection(csc_sqlite *store)
{
    csc_sqlite_conn *conn = &store->writer;
    cascade_err err = check_connection(store);

    if (err != CASCADE_OK)
        return err;
    store->path = csc_mem_strdup(sqlite3_db_filename(conn->db, "main"));
    if (store->path == NULL)
        return csc_fail_memory();
    conn->deadline_ns = csc_sqlite_txn_get_deadline(store);
    err = csc_sqlite_path_note(store);
    if (err == CASCADE_OK)
        err = csc_sqlite_link_enter(store);
    if (err == CASCADE_OK)
        err = csc_sqlite_lock_open(&store->lock, store->path, false,
                                   conn->deadline_ns);
    if (err == CASCADE_OK)
        err = set_up(store);
    if (err == CASCADE_OK)
        store->seen_wake = csc_sqlite_lock_get_token(&store->lock);
    else
        csc_sqlite_guest_refuse(store);
    return err;
}

/* The connection of a transactional node is the library's, or one that was seen
 * to before. */
static cascade_err
open_native(csc_sqlite *store)
{
    csc_sqlite_conn *conn = NULL;
    cascade_err err;

    store->writer.wal = true;
    err = csc_sqlite_txn_begin_read(store, &conn);
    if (err != CASCADE_OK)
        return err;
    return csc_sqlite_txn_end(conn, csc_sqlite_schema_look(conn));
}

static cascade_err
open_guest(void *handle, const cascade_native *native, bool functions,
           const cascade_store_config *config, void **self)
{
    csc_sqlite *store = NULL;
    cascade_err err = csc_sqlite_create(config, &store);

    if (err != CASCADE_OK)
        return err;
    store->writer.db = handle;
    store->guest.session = csc_sqlite_guest_session();
    store->guest.native = native;
    store->guest.fleeting = functions;
    store->guest.no_checkpoint_on_close = -1;
    store->guest.foreign_keys = -1;
    err = native != NULL ? open_native(store) : open_connection(store);
    if (err != CASCADE_OK) {
        csc_sqlite_free(store);
        return err;
    }
    *self = store;
    return CASCADE_OK;
}

static cascade_err
open_handle(void *handle, const cascade_native *native,
            const cascade_store_config *config, void **self)
{
    return open_guest(handle, native, false, config, self);
}

static cascade_err
open_functions(void *handle, const cascade_native *native,
               const cascade_store_config *config, void **self)
{
    return open_guest(handle, native, true, config, self);
}

void
csc_sqlite_guest_refuse(csc_sqlite *store)
{
    store->guest.refused = true;
}

/* With another store on the connection they are as that one needs them. */
static void
put_settings_back(const csc_sqlite *store)
{
    const csc_sqlite_guest *guest = &store->guest;
    sqlite3 *db = store->writer.db;

    if (guest->autocheckpoint > 0)
        (void)sqlite3_wal_autocheckpoint(db, guest->autocheckpoint);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
                            guest->no_checkpoint_on_close, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY,
                            guest->foreign_keys, NULL);
}

/* When we are the last, what SQLite does by itself at the end of a log may be
 * done by the application's close. */
void
csc_sqlite_guest_leave(csc_sqlite *store)
{
    csc_sqlite_conn *conn = &store->writer;

    csc_sqlite_link_leave(store);
    if (!store->guest.closing) {
        if (store->guest.refused)
            put_settings_back(store);
        else if (store->guest.native == NULL &&
                 csc_sqlite_lock_alone(&store->lock))
            (void)sqlite3_db_config(conn->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
                                    0, NULL);
        csc_sqlite_conn_finalize(conn);
    }
    conn->db = NULL;
}

void
csc_sqlite_guest_set_closing(csc_sqlite *store)
{
    store->guest.closing = true;
}

static void
refuse_self(void *self)
{
    csc_sqlite_guest_refuse(self);
}

static bool
is_within(const void *self)
{
    const csc_sqlite *store = self;

    if (store->guest.open && store->guest.span == CSC_SQLITE_SPAN_OWN)
        return false;
    return csc_sqlite_guest_is_within(store);
}

const csc_store_guest *
csc_store_sqlite_guest(void)
{
    static const csc_store_guest guest = {.driver = &csc_sqlite_driver,
                                          .open = open_handle,
                                          .within = is_within,
                                          .refuse = refuse_self};

    return &guest;
}

const csc_store_guest *
csc_sqlite_guest_functions(void)
{
    static const csc_store_guest guest = {.driver = &csc_sqlite_driver,
                                          .open = open_functions,
                                          .within = is_within,
                                          .refuse = refuse_self};

    return &guest;
}
