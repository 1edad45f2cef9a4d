/* SPDX-License-Identifier: MIT
 *
 * What may lie at the path of a database, and beside it.
 *
 *   PATH           a regular file, or a symbolic link that leads to one
 *   PATH-lock      a regular file of one name, of 8 bytes at most
 *   PATH-wal       a regular file of one name
 *   PATH-shm       the same
 *   PATH-journal   the same
 *
 * SQLite writes the last three, and we the lock file, under names that anybody
 * who may write the folder can take first: with a link to a file of somebody
 * else, which would be written over, or with a FIFO, whose open may hang. So
 * each is looked at before it is opened, and the lock file again when it is
 * open. Who can change the folder between the look and SQLite's open can still
 * lead SQLite astray: such a folder is no place for a database.
 *
 * WHETHER IT IS STILL THERE. A file that is deleted, or replaced by another (a
 * backup that is put back), lives on for those who have it open: they would
 * read and commit as before, and with the last of them all of it is gone. So
 * device and inode of what lies at PATH are compared with those of the file
 * that was opened, before each transaction and behind each COMMIT, before
 * anybody is told: a call of stat() each, a microsecond. That a connection has
 * that very file is looked at once, when it was opened: it keeps it. Where they
 * differ
 *
 *     what writes is CASCADE_ERR_LOST         an engine drops all it holds, and
 *                                             attaches when the file is back
 *     what reads is CASCADE_ERR_UNAVAILABLE   it is tried again
 *
 * A file that is overwritten in place stays the same file: not seen.
 */
#include "store/sqlite/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

/* ---- At the path --------------------------------------------------------- */

/* SQLite does not tell why it cannot make a file. */
static cascade_err
check_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len;

    if (slash == NULL || slash - path >= PATH_MAX)
        return CASCADE_OK; /* SQLite says that it cannot */
    len = slash == path ? 1 : (size_t)(slash - path);
    memcpy(folder, path, len);
    folder[len] = '\0';
    if (faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) == 0)
        return CASCADE_OK;
    if (errno == EACCES || errno == EROFS)
        return cascade_store_fail(CASCADE_ERR_READ_ONLY,
                                  "SQLite: there is no such database, and its "
                                  "folder cannot be written");
    return cascade_store_fail(CASCADE_ERR_UNAVAILABLE,
                              "SQLite: the folder of the database is not "
                              "there (errno %d)",
                              errno);
}

cascade_err
csc_sqlite_path_check(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return errno == ENOENT ? check_folder(path) : CASCADE_OK;
    if (!S_ISREG(info.st_mode))
        return cascade_store_fail(CASCADE_ERR_INVALID,
                                  "SQLite: the path is not a regular file");
    return csc_sqlite_fork_check(&info);
}

/* Made without being opened: to close a descriptor of a database lets go of the
 * locks that another handle of this process may have on it by then. */
cascade_err
csc_sqlite_path_make_private(const char *path)
{
    struct stat info;

    if (mknod(path, S_IFREG | 0600, 0) == 0)
        return CASCADE_OK;
    if (errno == EEXIST && stat(path, &info) != 0 && errno == ENOENT)
        return cascade_store_fail(CASCADE_ERR_INVALID,
                                  "SQLite: the path is a symbolic link to a "
                                  "file that is not there; with private_files "
                                  "name the file itself");
    return CASCADE_OK; /* it is there, or SQLite says that it cannot be */
}

/* ---- Beside it ----------------------------------------------------------- */

const char *
csc_sqlite_path_get_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static cascade_err
refuse(const char *path, const char *what)
{
    return cascade_store_fail(CASCADE_ERR_INVALID,
                              "SQLite: the file %.200s beside the database is "
                              "%s; if it is none of the database's move it "
                              "away, and open again",
                              csc_sqlite_path_get_name(path), what);
}

cascade_err
csc_sqlite_path_check_file(const char *path, const struct stat *info)
{
    if (S_ISLNK(info->st_mode))
        return refuse(path, "a symbolic link");
    if (!S_ISREG(info->st_mode))
        return refuse(path, "not a regular file");
    if (info->st_nlink > 1)
        return refuse(path, "known by other names too (hard links)");
    return CASCADE_OK;
}

cascade_err
csc_sqlite_path_check_lock(const char *path, const struct stat *info)
{
    cascade_err err = csc_sqlite_path_check_file(path, info);

    if (err == CASCADE_OK && info->st_size > CSC_SQLITE_LOCK_BYTES)
        err = refuse(path, "longer than a lock file");
    return err;
}

cascade_err
csc_sqlite_path_check_beside(const char *path)
{
    static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < 3 && err == CASCADE_OK; i++) {
        char beside[PATH_MAX + sizeof("-journal")];
        size_t len = strlen(path);
        struct stat info;

        if (len >= PATH_MAX)
            return CASCADE_OK; /* SQLite says that it cannot */
        memcpy(beside, path, len);
        memcpy(beside + len, suffixes[i], strlen(suffixes[i]) + 1);
        if (lstat(beside, &info) == 0)
            err = csc_sqlite_path_check_file(beside, &info);
    }
    return err;
}

/* ---- Whether it is still there ------------------------------------------- */

static cascade_err
tell_gone(const csc_sqlite *store, bool writes, const char *what)
{
    return cascade_store_fail(
        writes ? CASCADE_ERR_LOST : CASCADE_ERR_UNAVAILABLE,
        "SQLite: the database file %.200s was %s while it is in use; put it "
        "back, or open the store anew",
        csc_sqlite_path_get_name(store->path), what);
}

cascade_err
csc_sqlite_path_check_there(const csc_sqlite *store, bool writes)
{
    struct stat info;

    if (!store->noted)
        return CASCADE_OK;
    if (stat(store->path, &info) != 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? tell_gone(store, writes, "deleted or moved away")
                   : CASCADE_OK;
    if (info.st_dev != store->device || info.st_ino != store->inode)
        return tell_gone(store, writes, "replaced by another file");
    return CASCADE_OK;
}

cascade_err
csc_sqlite_path_check_opened(const csc_sqlite_conn *conn)
{
    const csc_sqlite *store = conn->store;
    int moved = 0;
    int code =
        sqlite3_file_control(conn->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);

    if (store->noted && code == SQLITE_OK && moved != 0)
        return tell_gone(store, conn->writer, "replaced by another file");
    return csc_sqlite_path_check_there(store, conn->writer);
}

cascade_err
csc_sqlite_path_note(csc_sqlite *store)
{
    struct stat info;

    store->noted = stat(store->path, &info) == 0;
    if (!store->noted)
        return CASCADE_OK;
    store->device = info.st_dev;
    store->inode = info.st_ino;
    return csc_sqlite_path_check_opened(&store->writer);
}
