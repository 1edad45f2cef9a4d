/* SPDX-License-Identifier: MIT
 *
 * SQLite's result codes into the errors of the store interface. What matters
 * is whether repeating the call can help:
 *
 *   the data are at fault        REFUSED      never
 *   busy, full, I/O              UNAVAILABLE  later, perhaps
 *   the file or folder forbids   READ_ONLY    not as this user
 *   not a database, damaged      CORRUPT      a person must look
 *
 * On a connection of the application's some come of what it has installed
 * there, and say so.
 *
 * SQLite's own message may quote a value or a name of the user's, so the text
 * is ours, with the extended code as a number for whoever wants to look it up.
 */
#include "store/sqlite/internal.h"

#include <errno.h>

#include "cascade/cascade.h"
#include "cascade/sqlite.h"
#include "cascade/store.h"
#include "store/store.h"

typedef struct meaning {
    int code; /* primary */
    cascade_err err;
    const char *text;
} meaning;

static const meaning meanings[] = {
    {SQLITE_ERROR, CASCADE_ERR_SCHEMA,
     "a table or column is missing or not as expected"},
    {SQLITE_PERM, CASCADE_ERR_READ_ONLY, "access is not permitted"},
    {SQLITE_ABORT, CASCADE_ERR_UNAVAILABLE, "it was rolled back"},
    {SQLITE_BUSY, CASCADE_ERR_UNAVAILABLE,
     "another connection held the database beyond the deadline"},
    {SQLITE_LOCKED, CASCADE_ERR_UNAVAILABLE, "a table is locked"},
    {SQLITE_NOMEM, CASCADE_ERR_NO_MEMORY, "out of memory"},
    {SQLITE_READONLY, CASCADE_ERR_READ_ONLY,
     "the database file or its folder cannot be written, or was moved away"},
    {SQLITE_INTERRUPT, CASCADE_ERR_UNAVAILABLE, "the deadline passed"},
    {SQLITE_IOERR, CASCADE_ERR_UNAVAILABLE, "input/output error"},
    {SQLITE_CORRUPT, CASCADE_ERR_CORRUPT, "the database file is damaged"},
    {SQLITE_FULL, CASCADE_ERR_UNAVAILABLE,
     "the disk is full or the size limit of the database is reached"},
    {SQLITE_CANTOPEN, CASCADE_ERR_UNAVAILABLE,
     "the database file cannot be opened"},
    {SQLITE_PROTOCOL, CASCADE_ERR_UNAVAILABLE,
     "its log could not be read: another process was recovering it, or the "
     "file locks do not work"},
    {SQLITE_SCHEMA, CASCADE_ERR_UNAVAILABLE, "the schema was changing"},
    {SQLITE_TOOBIG, CASCADE_ERR_REFUSED, "a text is too long"},
    {SQLITE_CONSTRAINT, CASCADE_ERR_REFUSED, "a constraint of the table"},
    {SQLITE_MISMATCH, CASCADE_ERR_REFUSED, "a value of the wrong type"},
    {SQLITE_NOLFS, CASCADE_ERR_UNAVAILABLE, "the file is too large"},
    {SQLITE_AUTH, CASCADE_ERR_READ_ONLY, "not authorised"},
    {SQLITE_RANGE, CASCADE_ERR_REFUSED, "a parameter out of range"},
    {SQLITE_NOTADB, CASCADE_ERR_CORRUPT, "the file is not a SQLite database"},
};

static const meaning unknown = {0, CASCADE_ERR_SYSTEM,
                                "an unexpected result of SQLite"};

static const meaning *
find_meaning(int code)
{
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        if (meanings[i].code == (code & 0xff))
            return &meanings[i];
    }
    return &unknown;
}

/* The four constraints that callers meet; each has a sentence of its own. */
static const char *
constraint_text(int code, const char *otherwise)
{
    switch (code) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
        return "a row with that key exists";
    case SQLITE_CONSTRAINT_FOREIGNKEY:
        return "its cascade does not exist";
    case SQLITE_CONSTRAINT_NOTNULL:
        return "a column must not be NULL";
    default: /* not an enum of ours */
        return otherwise;
    }
}

int
csc_sqlite_error_extend(sqlite3 *db, int code)
{
    int extended = db != NULL ? sqlite3_extended_errcode(db) : code;

    return (extended & 0xff) == code ? extended : code;
}

static const char *
hook_text(int code, const char *otherwise)
{
    if (code == SQLITE_INTERRUPT)
        return "the application interrupted it, by sqlite3_interrupt() or its "
               "progress handler; call it again when neither does";
    if (code == SQLITE_CONSTRAINT_COMMITHOOK)
        return "the application's commit hook refused it, so it was rolled "
               "back; have that return 0 for the library's commits";
    return otherwise;
}

cascade_err
csc_sqlite_error_set(csc_sqlite_conn *conn, int result, const char *verb)
{
    sqlite3 *db = conn->db;
    int code = csc_sqlite_error_extend(db, result);
    const meaning *found = find_meaning(code);
    const char *text = constraint_text(code, found->text);
    cascade_err err = found->err;
    int system = db != NULL ? sqlite3_system_errno(db) : 0;

    if (conn->store->guest.session != NULL &&
        conn->store->guest.session->is_hooked(conn->store)) {
        conn->store->guest.interrupted |= code == SQLITE_INTERRUPT;
        text = hook_text(code, text);
        if (code == SQLITE_CONSTRAINT_COMMITHOOK) /* nothing of the data */
            err = CASCADE_ERR_UNAVAILABLE;
    }
    if ((code & 0xff) == SQLITE_CANTOPEN &&
        (system == EACCES || system == EROFS || system == EPERM)) {
        err = CASCADE_ERR_READ_ONLY;
        text = "the permissions of the database file or its folder forbid it";
    }
    return cascade_store_fail(err, "SQLite: cannot %s: %s (code %d)", verb,
                              text, code);
}
