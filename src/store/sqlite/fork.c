/* SPDX-License-Identifier: MIT
 *
 * What fork() would break in SQLite, and what is done about it.
 *
 *   ITS STATIC MUTEXES  may be held by another thread of the parent when it
 *       forks; in the child nobody would let go of them, and the first store
 *       that it opens would wait for ever. So the thread that forks holds them
 *       all meanwhile. It takes them in the order in which SQLite nests them.
 *
 *   ITS LIST OF FILES  lies in memory that the child has a copy of: for each
 *       open file the locks that this process has. The child has none of them
 *       (POSIX locks are not inherited), and would believe to have them all:
 *       two processes could write at once. SQLite knows no way to tell it. So a
 *       file that a store of the parent's had open is refused in the child.
 *
 *   THE SIDECAR'S LOCKS  belong to the open file description, which the child
 *       shares: they would hold on as long as it lives, though the parent had
 *       died. So the child closes its descriptor, which unlocks nothing.
 */
#include "store/sqlite/internal.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

/* Files that are open, here or in a process that this one descends from. */
static struct {
    pthread_mutex_t mutex; /* guards the list, and the links in it */
    csc_sqlite_lock *first;
} opened = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Outer ones first: opening a shared cache takes the main one, making a name
 * for a file draws random numbers, for which the list of systems is asked, and
 * all of them allocate. */
static const int statics[] = {
    SQLITE_MUTEX_STATIC_OPEN, SQLITE_MUTEX_STATIC_VFS3,
    SQLITE_MUTEX_STATIC_VFS2, SQLITE_MUTEX_STATIC_VFS1,
    SQLITE_MUTEX_STATIC_PRNG, SQLITE_MUTEX_STATIC_MASTER,
    SQLITE_MUTEX_STATIC_LRU,  SQLITE_MUTEX_STATIC_PMEM,
    SQLITE_MUTEX_STATIC_MEM,
};

#define STATIC_COUNT (sizeof(statics) / sizeof(statics[0]))

/* Under the mutex: no fork() comes between. */
cascade_err
csc_sqlite_fork_initialize(void)
{
    int code = SQLITE_OK;

    csc_lock_take(&opened.mutex);
    code = sqlite3_initialize();
    csc_lock_give(&opened.mutex);
    return code == SQLITE_OK ? CASCADE_OK : csc_fail_memory();
}

/* Held: the mutex. */
static bool
is_inherited(const struct stat *info)
{
    for (const csc_sqlite_lock *at = opened.first; at != NULL; at = at->next) {
        if (at->device == info->st_dev && at->inode == info->st_ino &&
            !csc_origin_is_here(&at->origin))
            return true;
    }
    return false;
}

static cascade_err
refuse(void)
{
    return cascade_store_fail(
        CASCADE_ERR_MISUSE,
        "SQLite: the process that this one was forked from had a store open on "
        "this file, and SQLite cannot bear that: fork first and open then, or "
        "close the store before the fork");
}

cascade_err
csc_sqlite_fork_check(const struct stat *info)
{
    bool inherited = false;

    csc_lock_take(&opened.mutex);
    inherited = is_inherited(info);
    csc_lock_give(&opened.mutex);
    return inherited ? refuse() : CASCADE_OK;
}

cascade_err
csc_sqlite_fork_enter(csc_sqlite_lock *lock, const char *path)
{
    struct stat info = {.st_ino = 0};
    bool inherited = false;

    if (stat(path, &info) != 0)
        return CASCADE_OK; /* SQLite says what is wrong */
    csc_origin_mark(&lock->origin);
    lock->device = info.st_dev;
    lock->inode = info.st_ino;
    csc_lock_take(&opened.mutex);
    inherited = is_inherited(&info);
    if (!inherited) {
        lock->next = opened.first;
        opened.first = lock;
    }
    csc_lock_give(&opened.mutex);
    return inherited ? refuse() : CASCADE_OK;
}

void
csc_sqlite_fork_leave(csc_sqlite_lock *lock)
{
    csc_sqlite_lock **at = &opened.first;

    csc_lock_take(&opened.mutex);
    while (*at != NULL && *at != lock)
        at = &(*at)->next;
    if (*at != NULL)
        *at = lock->next;
    csc_lock_give(&opened.mutex);
}

/* ---- Over a fork --------------------------------------------------------- */

/* SQLite gives a static mutex before it is initialised, too. */
static void
before_fork(void)
{
    csc_lock_take(&opened.mutex);
    for (size_t i = 0; i < STATIC_COUNT; i++)
        sqlite3_mutex_enter(sqlite3_mutex_alloc(statics[i]));
}

static void
after_fork(bool child)
{
    for (csc_sqlite_lock *at = opened.first; child && at != NULL;
         at = at->next) {
        if (at->fd >= 0)
            (void)close(at->fd);
        at->fd = -1;
    }
    for (size_t i = STATIC_COUNT; i > 0; i--)
        sqlite3_mutex_leave(sqlite3_mutex_alloc(statics[i - 1]));
    csc_lock_give(&opened.mutex);
}

const csc_store_forking *
csc_store_sqlite_forking(void)
{
    static const csc_store_forking forking = {before_fork, after_fork};

    return &forking;
}
