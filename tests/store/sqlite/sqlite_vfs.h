/* SPDX-License-Identifier: MIT
 *
 * A VFS of the tests: SQLite's own, which it calls for everything, with two
 * things added for the database whose folder the disk records:
 *
 *   each change goes into the log of sqlite_disk.h, and no flush reaches the
 *   machine's disk, so that thousands of runs take seconds
 *
 *   the Nth call fails: sqlite_vfs_fail()
 *
 * While it is installed it is SQLite's default, so the library needs no knob.
 */
#ifndef TESTS_STORE_SQLITE_SQLITE_VFS_H
#define TESTS_STORE_SQLITE_SQLITE_VFS_H

#include <stddef.h>

/* Which calls a fault counts and meets. */
typedef enum vfs_calls {
    VFS_ALL,    /* all that can fail */
    VFS_WRITES, /* what changes a file, but for flushes */
    VFS_READS,  /* of the log or journal */
    VFS_SYNCS,  /* flushes */
    VFS_CALLS   /* how many there are */
} vfs_calls;

typedef enum vfs_how {
    VFS_ERROR, /* the error of that kind of call, nothing is done */
    VFS_FULL,  /* SQLITE_FULL from writes, else as VFS_ERROR */
    VFS_TEAR,  /* writes: half is done; the error */
    VFS_SHORT  /* reads: half is read, SQLITE_IOERR_SHORT_READ */
} vfs_how;

typedef struct vfs_fault {
    vfs_calls calls;
    vfs_how how;
    size_t nth;   /* from now on, the first being 1 */
    size_t times; /* so many, one after the other */
} vfs_fault;

int sqlite_vfs_install(void);
void sqlite_vfs_remove(void);

/* One fault at a time; none when `fault` is NULL. Begins to count anew. */
void sqlite_vfs_fail(const vfs_fault *fault);
/* How many calls failed since then. */
size_t sqlite_vfs_failed(void);
/* What the last of them was. */
const char *sqlite_vfs_describe(void);

#endif
