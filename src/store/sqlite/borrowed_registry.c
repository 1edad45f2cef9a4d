/* SPDX-License-Identifier: MIT
 *
 * What a connection of the application's knows of the stores on it.
 *
 * Its WAL hook needs to find them for as long as the connection lives, and a
 * second store on one connection must be refused. Both by one object that the
 * connection owns: the user data of an SQL function, which gives it by a
 * pointer that SQL itself cannot make, and to nobody else. If the application
 * replaces that function, the object lives until the last store is closed.
 *
 *   connection --function--> link --+--> the store of cascade_sqlite_open()
 *        |                    ^     +--> that of the functions for SQL
 *        +-- WAL hook --------+
 *
 * The hook is called after each commit on the connection, the application's and
 * ours, when the write lock is free again; for attached databases too, whose
 * checkpoints SQLite would run by itself if we had not taken the hook from it.
 * The application may replace it (PRAGMA wal_autocheckpoint does): so it is
 * taken anew by each call of the library.
 */
#include "store/sqlite/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/sqlite.h"
#include "cascade/store.h"
#include "store/store.h"

#define LINK_FUNCTION "cascade_link"
#define LINK_POINTER "cascade_link"
#define ATTACHED_CHECKPOINT_PAGES 1000 /* as SQLite does by itself */

typedef enum place {
    PLACE_HANDLE,
    PLACE_FUNCTIONS,
    PLACE_COUNT
} place;

struct csc_sqlite_link {
    bool owned;  /* by the function on the connection */
    bool hooked; /* the WAL hook was taken */
    csc_sqlite *stores[PLACE_COUNT];
};

static place
get_place(const csc_sqlite *store)
{
    return store->guest.fleeting ? PLACE_FUNCTIONS : PLACE_HANDLE;
}

/* ---- The hook ------------------------------------------------------------ */

static void
tend_attached(sqlite3 *db, const char *name, int pages)
{
    if (pages >= ATTACHED_CHECKPOINT_PAGES)
        (void)sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE,
                                        NULL, NULL);
}

/* A checkpoint by whoever has no transaction of its own under way: that one
 * runs it itself. */
static int
on_wal(void *context, sqlite3 *db, const char *name, int pages)
{
    const csc_sqlite_link *link = context;
    csc_sqlite *tending = NULL;

    if (strcmp(name, "main") != 0) {
        tend_attached(db, name, pages);
        return SQLITE_OK;
    }
    for (size_t i = 0; i < PLACE_COUNT; i++) {
        csc_sqlite *store = link->stores[i];

        if (store == NULL)
            continue;
        csc_sqlite_guest_note_commit(store, pages);
        if (tending == NULL || store->guest.open)
            tending = store;
    }
    if (tending != NULL && !tending->guest.open)
        csc_sqlite_txn_tend_log(&tending->writer);
    return SQLITE_OK;
}

void
csc_sqlite_link_hold(csc_sqlite *store)
{
    csc_sqlite_link *link = store->guest.link;

    if (link == NULL)
        return;
    (void)sqlite3_wal_hook(store->writer.db, on_wal, link);
    link->hooked = true;
    for (size_t i = 0; i < PLACE_COUNT; i++)
        if (link->stores[i] != NULL)
            csc_sqlite_guest_settle(link->stores[i]);
}

/* ---- The link ------------------------------------------------------------ */

static bool
is_empty(const csc_sqlite_link *link)
{
    for (size_t i = 0; i < PLACE_COUNT; i++)
        if (link->stores[i] != NULL)
            return false;
    return true;
}

/* The application may have put a function of its own in the place of ours, with
 * stores open: they, and the hook, keep the link. */
static void
disown_link(void *self)
{
    csc_sqlite_link *link = self;

    link->owned = false;
    if (is_empty(link))
        csc_mem_free(link);
}

static void
give_link(sqlite3_context *context, int count, sqlite3_value **values)
{
    csc_sqlite_link **link = sqlite3_value_pointer(values[0], LINK_POINTER);

    (void)count;
    if (link != NULL)
        *link = sqlite3_user_data(context);
}

static cascade_err
make_link(csc_sqlite_conn *conn, csc_sqlite_link **out)
{
    csc_sqlite_link *link = csc_mem_zalloc(1, sizeof(*link));
    int code;

    if (link == NULL)
        return csc_fail_memory();
    link->owned = true;
    code = sqlite3_create_function_v2(conn->db, LINK_FUNCTION, 1,
                                      SQLITE_UTF8 | SQLITE_DIRECTONLY, link,
                                      give_link, NULL, NULL, disown_link);
    if (code != SQLITE_OK)
        return csc_sqlite_error_set(conn, code, "set up the connection");
    *out = link;
    return CASCADE_OK;
}

/* Where calling it is denied, SQLITE_ERROR is the result as well. */
static bool
is_missing(sqlite3 *db, int code)
{
    static const char *const texts[] = {"no such function",
                                        "wrong number of arguments"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (code == SQLITE_ERROR &&
            strncmp(sqlite3_errmsg(db), texts[i], strlen(texts[i])) == 0)
            return true;
    return false;
}

/* The one that is there, or a new one. */
static cascade_err
find_link(csc_sqlite_conn *conn, csc_sqlite_link **link)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(
        conn->db, csc_sqlite_statements[CSC_SQLITE_FIND_LINK].sql, -1,
        &statement, NULL);

    *link = NULL;
    if (is_missing(conn->db, code))
        return make_link(conn, link);
    if (code == SQLITE_OK)
        code = sqlite3_bind_pointer(statement, 1, link, LINK_POINTER, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    (void)sqlite3_finalize(statement);
    if (code == SQLITE_ROW && *link != NULL)
        return CASCADE_OK;
    if (code == SQLITE_ROW)
        return cascade_store_fail(
            CASCADE_ERR_MISUSE,
            "SQLite: the application has a function " LINK_FUNCTION
            "() of its own on this "
            "connection, which is in the way of the "
            "library's: give it another name");
    if (code == SQLITE_ERROR) /* compiling it, or a function of another's */
        code = SQLITE_AUTH;
    return csc_sqlite_error_set(conn, code, "set up the connection");
}

cascade_err
csc_sqlite_link_enter(csc_sqlite *store)
{
    place at = get_place(store);
    csc_sqlite_link *link = NULL;
    cascade_err err = find_link(&store->writer, &link);

    if (link == NULL)
        return err;
    if (link->stores[at] != NULL)
        return cascade_store_fail(CASCADE_ERR_MISUSE,
                                  "SQLite: %s this connection already: one to "
                                  "a connection",
                                  at == PLACE_HANDLE
                                      ? "a store is open on"
                                      : "the functions were added to");
    link->stores[at] = store;
    store->guest.link = link;
    return CASCADE_OK;
}

void
csc_sqlite_link_leave(csc_sqlite *store)
{
    csc_sqlite_link *link = store->guest.link;

    store->guest.link = NULL;
    if (link == NULL)
        return;
    for (size_t i = 0; i < PLACE_COUNT; i++) {
        if (link->stores[i] == store)
            link->stores[i] = NULL;
    }
    if (!is_empty(link))
        return;
    if (link->hooked && !store->guest.closing)
        (void)sqlite3_wal_hook(store->writer.db, NULL, NULL);
    link->hooked = false;
    if (!link->owned)
        csc_mem_free(link);
}
