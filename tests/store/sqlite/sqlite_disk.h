/* SPDX-License-Identifier: MIT
 *
 * A disk that remembers what was done to it, so that a power cut can be had at
 * any moment afterwards: a run is recorded once, and disk_cut() makes the
 * files as they would be found had the power gone right before operation N.
 *
 *   durable at N    a write that a flush of its file followed before N; a name
 *                   made or removed that a flush of the folder followed
 *   pending at N    all else: what of it is found is the choice of disk_loss
 *
 * A write that is kept may be torn: a prefix of whole sectors arrives. A file
 * is found only under a name that was kept, and then with what was kept of its
 * contents, holes being zeros. A flush that fails (DISK_LOSE) leaves what was
 * pending in doubt for ever: no later flush makes it durable.
 *
 * One disk for the process, for one folder with one database; not for threads.
 */
#ifndef TESTS_STORE_SQLITE_SQLITE_DISK_H
#define TESTS_STORE_SQLITE_SQLITE_DISK_H

#include <stddef.h>
#include <stdint.h>

#define DISK_SECTOR 512
#define DISK_NAMES 3 /* the database, its log, its journal */

typedef enum disk_kind {
    DISK_CREATE,   /* file gets its name */
    DISK_UNLINK,   /* its name goes */
    DISK_FOLDER,   /* the folder is flushed: names are durable */
    DISK_WRITE,    /* len bytes at offset */
    DISK_TRUNCATE, /* to offset bytes */
    DISK_SYNC,     /* the file is flushed */
    DISK_LOSE      /* a flush of the file failed */
} disk_kind;

typedef enum disk_loss {
    DISK_DROP,    /* nothing pending is found */
    DISK_KEEP,    /* all of it is */
    DISK_TEAR,    /* all of it, the last write torn */
    DISK_SCATTER, /* a random part of it, the last write of that torn */
    DISK_LOSSES   /* how many there are */
} disk_loss;

/* Forgets all and remembers what is done to the database `folder`/cascade.db
 * from now on. Files that are there are taken as durable. */
void disk_record(const char *folder);
/* Which name a path has on the disk that is recorded: 0 to DISK_NAMES - 1, or
 * -1 for none. */
int disk_find_name(const char *path);

/* The file that has the name now; -1: none. */
int disk_get_file(int name);
/* A new empty file under that name. */
int disk_create(int name);
void disk_unlink(int name);
void disk_add(disk_kind kind, int file, const void *bytes, size_t len,
              int64_t offset);

/* How many operations there were. */
size_t disk_count(void);
/* What operation `at` was, as text. */
const char *disk_describe(size_t at);

/* Makes the files in `folder`, which is there, as found after a cut before
 * operation `at`; others of the database's are removed. 0, or -1. */
int disk_cut(size_t at, disk_loss loss, uint64_t seed, const char *folder);
/* Frees what is remembered. */
void disk_fini(void);

#endif
