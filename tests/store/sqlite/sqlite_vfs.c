/* SPDX-License-Identifier: MIT
 *
 * The VFS of the tests; see sqlite_vfs.h. A file of ours is followed in memory
 * by SQLite's own, to which each call goes on. Closing and letting go of locks
 * cannot fail: nobody could do anything about it.
 */
#include "store/sqlite/sqlite_vfs.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "store/sqlite/sqlite_disk.h"

typedef struct vfs_file {
    sqlite3_file base;
    int name;    /* the disk's; 0: the database itself */
    int file;    /* -1: not recorded */
    bool folder; /* its first flush flushes the folder too */
} vfs_file;

/* What a call can answer in its place. */
typedef struct call {
    const char *name;
    int code;
    vfs_calls calls; /* VFS_ALL: of no other kind */
} call;

static const call call_open = {"open", SQLITE_CANTOPEN, VFS_ALL};
static const call call_delete = {"delete", SQLITE_IOERR_DELETE, VFS_WRITES};
static const call call_access = {"access", SQLITE_IOERR_ACCESS, VFS_ALL};
static const call call_read = {"read", SQLITE_IOERR_READ, VFS_ALL};
static const call call_read_log = {"read of the log", SQLITE_IOERR_READ,
                                   VFS_READS};
static const call call_write = {"write", SQLITE_IOERR_WRITE, VFS_WRITES};
static const call call_truncate = {"truncate", SQLITE_IOERR_TRUNCATE,
                                   VFS_WRITES};
static const call call_sync = {"sync", SQLITE_IOERR_FSYNC, VFS_SYNCS};
static const call call_size = {"size", SQLITE_IOERR_FSTAT, VFS_ALL};
static const call call_lock = {"lock", SQLITE_IOERR_LOCK, VFS_ALL};
static const call call_reserved = {"check reserved lock",
                                   SQLITE_IOERR_CHECKRESERVEDLOCK, VFS_ALL};
static const call call_map = {"map", SQLITE_IOERR_SHMMAP, VFS_ALL};
static const call call_shm_lock = {"lock of the index", SQLITE_IOERR_SHMLOCK,
                                   VFS_ALL};

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    vfs_fault fault;
    size_t seen;
    size_t failed;
    const call *last;
} state;

/* ---- Faults -------------------------------------------------------------- */

void
sqlite_vfs_fail(const vfs_fault *fault)
{
    state.fault = fault != NULL ? *fault : (vfs_fault){.nth = 0};
    state.seen = 0;
    state.failed = 0;
    state.last = NULL;
}

size_t
sqlite_vfs_failed(void)
{
    return state.failed;
}

const char *
sqlite_vfs_describe(void)
{
    return state.last != NULL ? state.last->name : "nothing";
}

/* SQLITE_OK, or what this call is to answer. */
static int
meet(const call *it)
{
    const vfs_fault *fault = &state.fault;

    if (fault->nth == 0 ||
        (fault->calls != VFS_ALL && fault->calls != it->calls))
        return SQLITE_OK;
    state.seen++;
    if (state.seen < fault->nth || state.seen >= fault->nth + fault->times)
        return SQLITE_OK;
    state.failed++;
    state.last = it;
    return fault->how == VFS_FULL && it == &call_write ? SQLITE_FULL : it->code;
}

static int
meet_file(const call *it, const vfs_file *file)
{
    return file->file < 0 ? SQLITE_OK : meet(it);
}

/* ---- Files --------------------------------------------------------------- */

static sqlite3_file *
get_real(sqlite3_file *base)
{
    return (sqlite3_file *)((vfs_file *)base + 1);
}

static const sqlite3_io_methods *
get_methods(sqlite3_file *base)
{
    return get_real(base)->pMethods;
}

static int
on_close(sqlite3_file *base)
{
    return get_methods(base)->xClose(get_real(base));
}

static int
on_read(sqlite3_file *base, void *bytes, int len, sqlite3_int64 offset)
{
    const vfs_file *file = (vfs_file *)base;
    int code = meet_file(file->name == 0 ? &call_read : &call_read_log, file);

    if (code == SQLITE_OK)
        return get_methods(base)->xRead(get_real(base), bytes, len, offset);
    if (state.fault.how != VFS_SHORT)
        return code;
    (void)get_methods(base)->xRead(get_real(base), bytes, len, offset);
    memset((char *)bytes + len / 2, 0, (size_t)(len - len / 2));
    return SQLITE_IOERR_SHORT_READ;
}

static int
write_real(sqlite3_file *base, const void *bytes, int len, sqlite3_int64 offset)
{
    const vfs_file *file = (vfs_file *)base;
    int code = get_methods(base)->xWrite(get_real(base), bytes, len, offset);

    if (code == SQLITE_OK && file->file >= 0)
        disk_add(DISK_WRITE, file->file, bytes, (size_t)len, offset);
    return code;
}

static int
on_write(sqlite3_file *base, const void *bytes, int len, sqlite3_int64 offset)
{
    int code = meet_file(&call_write, (vfs_file *)base);
    int half =
        len > DISK_SECTOR ? len / 2 / DISK_SECTOR * DISK_SECTOR : len / 2;

    if (code == SQLITE_OK)
        return write_real(base, bytes, len, offset);
    if (state.fault.how == VFS_TEAR && half > 0)
        (void)write_real(base, bytes, half, offset);
    return code;
}

static int
on_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    const vfs_file *file = (vfs_file *)base;
    int code = meet_file(&call_truncate, file);

    if (code == SQLITE_OK)
        code = get_methods(base)->xTruncate(get_real(base), size);
    if (code == SQLITE_OK && file->file >= 0)
        disk_add(DISK_TRUNCATE, file->file, NULL, 0, size);
    return code;
}

static int
on_sync(sqlite3_file *base, int flags)
{
    vfs_file *file = (vfs_file *)base;
    int code = meet_file(&call_sync, file);

    if (file->file < 0)
        return get_methods(base)->xSync(get_real(base), flags);
    disk_add(code == SQLITE_OK ? DISK_SYNC : DISK_LOSE, file->file, NULL, 0, 0);
    if (code == SQLITE_OK && file->folder)
        disk_add(DISK_FOLDER, -1, NULL, 0, 0);
    file->folder = file->folder && code != SQLITE_OK;
    return code;
}

static int
on_size(sqlite3_file *base, sqlite3_int64 *size)
{
    int code = meet_file(&call_size, (vfs_file *)base);

    if (code != SQLITE_OK)
        return code;
    return get_methods(base)->xFileSize(get_real(base), size);
}

static int
on_lock(sqlite3_file *base, int level)
{
    int code = meet_file(&call_lock, (vfs_file *)base);

    if (code != SQLITE_OK)
        return code;
    return get_methods(base)->xLock(get_real(base), level);
}

static int
on_unlock(sqlite3_file *base, int level)
{
    return get_methods(base)->xUnlock(get_real(base), level);
}

static int
on_reserved(sqlite3_file *base, int *result)
{
    int code = meet_file(&call_reserved, (vfs_file *)base);

    if (code != SQLITE_OK)
        return code;
    return get_methods(base)->xCheckReservedLock(get_real(base), result);
}

static int
on_control(sqlite3_file *base, int what, void *argument)
{
    return get_methods(base)->xFileControl(get_real(base), what, argument);
}

static int
on_sector(sqlite3_file *base)
{
    return get_methods(base)->xSectorSize(get_real(base));
}

static int
on_features(sqlite3_file *base)
{
    return get_methods(base)->xDeviceCharacteristics(get_real(base));
}

/* ---- The log's index ----------------------------------------------------- */

static int
on_map(sqlite3_file *base, int page, int size, int extend,
       void volatile **memory)
{
    int code = meet_file(&call_map, (vfs_file *)base);

    if (code != SQLITE_OK)
        return code;
    return get_methods(base)->xShmMap(get_real(base), page, size, extend,
                                      memory);
}

static int
on_shm_lock(sqlite3_file *base, int offset, int count, int flags)
{
    int code = SQLITE_OK;

    if ((flags & SQLITE_SHM_UNLOCK) == 0)
        code = meet_file(&call_shm_lock, (vfs_file *)base);
    if (code != SQLITE_OK)
        return code;
    return get_methods(base)->xShmLock(get_real(base), offset, count, flags);
}

static void
on_barrier(sqlite3_file *base)
{
    get_methods(base)->xShmBarrier(get_real(base));
}

static int
on_unmap(sqlite3_file *base, int remove)
{
    return get_methods(base)->xShmUnmap(get_real(base), remove);
}

/* Version 2: no memory maps of the database, which nobody could record. */
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = on_close,
    .xRead = on_read,
    .xWrite = on_write,
    .xTruncate = on_truncate,
    .xSync = on_sync,
    .xFileSize = on_size,
    .xLock = on_lock,
    .xUnlock = on_unlock,
    .xCheckReservedLock = on_reserved,
    .xFileControl = on_control,
    .xSectorSize = on_sector,
    .xDeviceCharacteristics = on_features,
    .xShmMap = on_map,
    .xShmLock = on_shm_lock,
    .xShmBarrier = on_barrier,
    .xShmUnmap = on_unmap,
};

/* ---- The folder ---------------------------------------------------------- */

/* As SQLite's own: a journal or log that may be made is flushed with the
 * folder the first time. */
static void
note_open(vfs_file *file, int name, int flags)
{
    file->name = name;
    file->file = disk_get_file(name);
    if (file->file < 0)
        file->file = disk_create(name);
    file->folder = (flags & SQLITE_OPEN_CREATE) != 0 &&
                   (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
}

static int
on_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags,
        int *out_flags)
{
    vfs_file *file = (vfs_file *)base;
    int name = disk_find_name(path);
    int code = name < 0 ? SQLITE_OK : meet(&call_open);

    (void)vfs;
    memset(file, 0, sizeof(*file));
    file->file = -1;
    if (code != SQLITE_OK)
        return code;
    code =
        state.real->xOpen(state.real, path, get_real(base), flags, out_flags);
    if (code != SQLITE_OK)
        return code;
    file->base.pMethods = &methods;
    if (name >= 0)
        note_open(file, name, flags);
    return SQLITE_OK;
}

static int
on_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    int name = disk_find_name(path);
    int code = name < 0 ? SQLITE_OK : meet(&call_delete);

    (void)vfs;
    if (code != SQLITE_OK)
        return code;
    code = state.real->xDelete(state.real, path, name < 0 && sync_folder);
    if (code != SQLITE_OK || name < 0)
        return code;
    disk_unlink(name);
    if (sync_folder)
        disk_add(DISK_FOLDER, -1, NULL, 0, 0);
    return SQLITE_OK;
}

static int
on_access(sqlite3_vfs *vfs, const char *path, int flags, int *result)
{
    int code = disk_find_name(path) < 0 ? SQLITE_OK : meet(&call_access);

    (void)vfs;
    if (code != SQLITE_OK)
        return code;
    return state.real->xAccess(state.real, path, flags, result);
}

/* What we do not add to is called with our VFS, and reads nothing of it. */
int
sqlite_vfs_install(void)
{
    state.real = sqlite3_vfs_find(NULL);
    if (state.real == NULL)
        return -1;
    state.vfs = *state.real;
    state.vfs.pNext = NULL;
    state.vfs.zName = "cascade-test";
    state.vfs.szOsFile += (int)sizeof(vfs_file);
    state.vfs.xOpen = on_open;
    state.vfs.xDelete = on_delete;
    state.vfs.xAccess = on_access;
    return sqlite3_vfs_register(&state.vfs, 1) == SQLITE_OK ? 0 : -1;
}

void
sqlite_vfs_remove(void)
{
    (void)sqlite3_vfs_unregister(&state.vfs);
    (void)sqlite3_vfs_register(state.real, 1);
}
