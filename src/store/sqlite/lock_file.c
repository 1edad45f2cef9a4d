/* SPDX-License-Identifier: MIT
 *
 * The sidecar file PATH-lock, which every handle on the database shares.
 *
 * WHY
 *   SQLite from 3.7.0 to 3.51.2 can damage a WAL database when one connection
 *   runs a checkpoint while another one writes and begins the WAL anew: the
 *   checkpointer then counts frames as copied that were not. The window is
 *   tiny, but a database of ours lives for years with several processes on it.
 *   So nobody commits while somebody checkpoints. SQLite has no lock with that
 *   meaning; these three bytes have:
 *
 *     byte      shared                        exclusive
 *     GATE      on the way to WRITE           a checkpoint wants or has WRITE
 *     WRITE     a transaction that writes     a checkpoint
 *     PRESENT   an open handle                the last handle, closing
 *
 *   writer:      GATE shared, WRITE shared, let go of GATE ... let go of WRITE
 *   checkpoint:  GATE exclusive, WRITE exclusive ... let go of both
 *
 *   Without the gate, writers that overlap would keep WRITE shared for ever and
 *   no checkpoint could run; with it, new writers stop at the gate and those
 *   that are inside drain.
 *
 * OFD LOCKS
 *   The locks belong to the open file description (F_OFD_SETLK): two handles
 *   in one process exclude each other, and closing some other descriptor of
 *   the file does not drop them, as it would with POSIX locks. The kernel lets
 *   go of them when the process dies, so there is nothing to clean up. They are
 *   polled for, because a wait for them cannot have a time limit.
 *
 * THE TOKEN
 *   The first eight bytes of the file are a random number that wake() changes.
 *   The locked bytes lie far behind it. Somebody who waits sees the file change
 *   (inotify) and compares the number: see wait.c.
 *
 * LIMITS
 *   A connection that the library did not open knows nothing of the sidecar:
 *   it must not run checkpoints (PRAGMA wal_autocheckpoint = 0). Do not delete
 *   the file while the database is in use; between uses it may go.
 */
#include "store/sqlite/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/store.h"

#define SUFFIX "-lock"
/* No link is followed, no open hangs, no terminal becomes ours. */
#define OPEN_FLAGS (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define GATE 0x40000000
#define WRITE (GATE + 1)
#define PRESENT (GATE + 2)

/* Zero, or an errno; EAGAIN when another handle has it. */
static int
try_lock(const csc_sqlite_lock *lock, off_t byte, short type)
{
    struct flock range = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

    if (fcntl(lock->fd, F_OFD_SETLK, &range) == 0)
        return 0;
    return errno == EACCES ? EAGAIN : errno;
}

static int
take_lock(const csc_sqlite_lock *lock, off_t byte, short type,
          int64_t deadline_ns)
{
    int error = try_lock(lock, byte, type);

    for (unsigned round = 0; error == EAGAIN; round++) {
        if (!csc_sqlite_conn_pause(deadline_ns, round))
            return ETIMEDOUT;
        error = try_lock(lock, byte, type);
    }
    return error;
}

static cascade_err
fail(int error, const char *verb)
{
    if (error == ETIMEDOUT)
        return cascade_store_fail(CASCADE_ERR_UNAVAILABLE,
                                  "SQLite: cannot %s: another process held it "
                                  "beyond the deadline",
                                  verb);
    if (error == EACCES || error == EROFS || error == EPERM)
        return cascade_store_fail(CASCADE_ERR_READ_ONLY,
                                  "SQLite: cannot %s: the folder of the "
                                  "database or the file in it cannot be "
                                  "written (errno %d)",
                                  verb, error);
    return cascade_store_fail(CASCADE_ERR_UNAVAILABLE,
                              "SQLite: cannot %s (errno %d)", verb, error);
}

/* Whoever may write the database may use the sidecar: as SQLite does for the
 * WAL, it gets the mode and, when root makes it, the owner of the database. */
static void
copy_access(int fd, const struct stat *database)
{
    if (fchmod(fd, database->st_mode & 0777) != 0)
        return; /* the mode that open() gave must do */
    if (geteuid() == 0 && fchown(fd, database->st_uid, database->st_gid) != 0)
        return;
}

static int
open_file(const char *path, const char *database_path, bool read_only)
{
    struct stat database;
    int fd;

    if (read_only)
        return open(path, O_RDONLY | OPEN_FLAGS);
    fd = open(path, O_RDWR | OPEN_FLAGS);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    if (stat(database_path, &database) != 0)
        return -1;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | OPEN_FLAGS,
              database.st_mode & 0777);
    if (fd >= 0)
        copy_access(fd, &database);
    else if (errno == EEXIST) /* another process was first */
        fd = open(path, O_RDWR | OPEN_FLAGS);
    return fd;
}

/* Looked at before it is opened, since to open a device may do something, and
 * again when it is open: another may lie there by then. */
static cascade_err
check_file(const csc_sqlite_lock *lock)
{
    struct stat info;

    if (lock->fd < 0)
        return lstat(lock->path, &info) == 0
                   ? csc_sqlite_path_check_lock(lock->path, &info)
                   : CASCADE_OK;
    if (fstat(lock->fd, &info) != 0)
        return fail(errno, "look at the lock file beside the database");
    if (info.st_nlink == 0)
        return cascade_store_fail(CASCADE_ERR_UNAVAILABLE,
                                  "SQLite: the lock file beside the database "
                                  "was deleted meanwhile; open it again");
    return csc_sqlite_path_check_lock(lock->path, &info);
}

cascade_err
csc_sqlite_lock_open(csc_sqlite_lock *lock, const char *path, bool read_only,
                     int64_t deadline_ns)
{
    size_t size = strlen(path) + sizeof(SUFFIX);
    cascade_err err;
    int error;

    lock->path = csc_mem_alloc(size);
    if (lock->path == NULL)
        return csc_fail_memory();
    memcpy(lock->path, path, strlen(path));
    memcpy(lock->path + strlen(path), SUFFIX, sizeof(SUFFIX));
    err = check_file(lock);
    if (err == CASCADE_OK)
        err = csc_sqlite_fork_enter(lock, path);
    if (err != CASCADE_OK)
        return err;
    lock->fd = open_file(lock->path, path, read_only);
    if (lock->fd < 0) {
        if (read_only)
            return CASCADE_OK;
        return fail(errno, "open the lock file beside the database");
    }
    err = check_file(lock);
    if (err != CASCADE_OK)
        return err;
    error = take_lock(lock, PRESENT, F_RDLCK, deadline_ns);
    if (error != 0)
        return fail(error, "lock the lock file beside the database");
    return CASCADE_OK;
}

void
csc_sqlite_lock_close(csc_sqlite_lock *lock)
{
    struct flock all = {
        .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = GATE, .l_len = 3};

    csc_sqlite_fork_leave(lock);
    if (lock->fd >= 0) {
        /* Closing would not do where a child has inherited the descriptor. */
        (void)fcntl(lock->fd, F_OFD_SETLK, &all);
        (void)close(lock->fd);
    }
    lock->fd = -1;
    csc_mem_free(lock->path);
    lock->path = NULL;
}

cascade_err
csc_sqlite_lock_share(csc_sqlite_lock *lock, int64_t deadline_ns)
{
    int error = take_lock(lock, GATE, F_RDLCK, deadline_ns);

    if (error == 0) {
        error = take_lock(lock, WRITE, F_RDLCK, deadline_ns);
        (void)try_lock(lock, GATE, F_UNLCK);
    }
    if (error != 0)
        return fail(error, "wait for the end of a checkpoint");
    return CASCADE_OK;
}

bool
csc_sqlite_lock_exclude(csc_sqlite_lock *lock, int64_t deadline_ns)
{
    if (take_lock(lock, GATE, F_WRLCK, deadline_ns) != 0)
        return false;
    if (take_lock(lock, WRITE, F_WRLCK, deadline_ns) == 0)
        return true;
    (void)try_lock(lock, GATE, F_UNLCK);
    return false;
}

void
csc_sqlite_lock_release(csc_sqlite_lock *lock)
{
    (void)try_lock(lock, WRITE, F_UNLCK);
    (void)try_lock(lock, GATE, F_UNLCK);
}

bool
csc_sqlite_lock_alone(csc_sqlite_lock *lock)
{
    return lock->fd >= 0 && try_lock(lock, PRESENT, F_WRLCK) == 0;
}

uint64_t
csc_sqlite_lock_get_token(const csc_sqlite_lock *lock)
{
    uint64_t token = 0;

    if (lock->fd < 0 ||
        pread(lock->fd, &token, sizeof(token), 0) != sizeof(token))
        return 0;
    return token;
}

cascade_err
csc_sqlite_lock_set_token(const csc_sqlite_lock *lock, uint64_t token)
{
    if (pwrite(lock->fd, &token, sizeof(token), 0) == sizeof(token))
        return CASCADE_OK;
    return fail(errno, "write the lock file beside the database");
}
