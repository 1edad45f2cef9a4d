/* SPDX-License-Identifier: MIT
 *
 * A disk that remembers; see sqlite_disk.h. A file is a number, given when it
 * is created: the name may go to another one later, and a cut may bring the
 * older one back.
 */
#include "store/sqlite/sqlite_disk.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/must.h"
#include "support/splitmix.h"

#define DATABASE "cascade.db"

static const char *const names[DISK_NAMES] = {DATABASE, DATABASE "-wal",
                                              DATABASE "-journal"};

typedef struct operation {
    disk_kind kind;
    int file; /* -1: the folder's */
    int name; /* CREATE, UNLINK */
    int64_t offset;
    size_t len;
    char *bytes;
} operation;

typedef struct contents {
    char *bytes;
    size_t len;
    size_t room;
} contents;

static struct {
    char folder[256];
    operation *operations;
    size_t count;
    size_t room;
    int file_count;
    int files[DISK_NAMES]; /* that have the names now, or -1 */
} disk;

/* ---- Remembering --------------------------------------------------------- */

static operation *
add_operation(disk_kind kind, int file)
{
    operation *added;

    if (disk.count == disk.room) {
        disk.room = disk.room == 0 ? 1024 : disk.room * 2;
        disk.operations =
            must(realloc(disk.operations, disk.room * sizeof(*added)));
    }
    added = &disk.operations[disk.count++];
    *added = (operation){.kind = kind, .file = file, .name = -1};
    return added;
}

void
disk_add(disk_kind kind, int file, const void *bytes, size_t len,
         int64_t offset)
{
    operation *added = add_operation(kind, file);

    added->offset = offset;
    added->len = len;
    if (len == 0)
        return;
    added->bytes = must(malloc(len));
    memcpy(added->bytes, bytes, len);
}

int
disk_create(int name)
{
    int file = disk.file_count++;

    add_operation(DISK_CREATE, file)->name = name;
    disk.files[name] = file;
    return file;
}

void
disk_unlink(int name)
{
    if (disk.files[name] < 0)
        return;
    add_operation(DISK_UNLINK, disk.files[name])->name = name;
    disk.files[name] = -1;
}

int
disk_get_file(int name)
{
    return disk.files[name];
}

int
disk_find_name(const char *path)
{
    size_t len = strlen(disk.folder);

    if (len == 0 || path == NULL || strncmp(path, disk.folder, len) != 0 ||
        path[len] != '/')
        return -1;
    for (int i = 0; i < DISK_NAMES; i++) {
        if (strcmp(path + len + 1, names[i]) == 0)
            return i;
    }
    return -1;
}

size_t
disk_count(void)
{
    return disk.count;
}

void
disk_fini(void)
{
    for (size_t i = 0; i < disk.count; i++)
        free(disk.operations[i].bytes);
    free(disk.operations);
    memset(&disk, 0, sizeof(disk));
    for (int i = 0; i < DISK_NAMES; i++)
        disk.files[i] = -1;
}

static char *
read_file(FILE *file, size_t *len)
{
    char *bytes = NULL;
    long size;

    (void)fseek(file, 0, SEEK_END);
    size = ftell(file);
    rewind(file);
    bytes = must(malloc((size_t)size + 1));
    *len = fread(bytes, 1, (size_t)size, file);
    return bytes;
}

static void
adopt(int name)
{
    char path[512];
    FILE *file;
    char *bytes;
    size_t len = 0;

    snprintf(path, sizeof(path), "%s/%s", disk.folder, names[name]);
    file = fopen(path, "rb");
    if (file == NULL)
        return;
    bytes = read_file(file, &len);
    (void)fclose(file);
    (void)disk_create(name);
    disk_add(DISK_WRITE, disk.files[name], bytes, len, 0);
    disk_add(DISK_SYNC, disk.files[name], NULL, 0, 0);
    free(bytes);
}

void
disk_record(const char *folder)
{
    disk_fini();
    snprintf(disk.folder, sizeof(disk.folder), "%s", folder);
    for (int i = 0; i < DISK_NAMES; i++)
        adopt(i);
    disk_add(DISK_FOLDER, -1, NULL, 0, 0);
}

const char *
disk_describe(size_t at)
{
    static const char *const kinds[] = {
        "create", "unlink", "flush of the folder", "write",
        "cut to", "flush",  "failed flush"};
    static char text[200];
    const operation *op;
    int name = -1;

    if (at >= disk.count)
        return "the end";
    op = &disk.operations[at];
    for (size_t i = 0; i <= at; i++) {
        if (disk.operations[i].kind == DISK_CREATE &&
            disk.operations[i].file == op->file)
            name = disk.operations[i].name;
    }
    snprintf(text, sizeof(text), "%s, %zu bytes at %lld of %s (file %d)",
             kinds[op->kind], op->len, (long long)op->offset,
             name < 0 ? "-" : names[name], op->file);
    return text;
}

/* ---- The cut ------------------------------------------------------------- */

static bool
is_name(const operation *op)
{
    return op->kind == DISK_CREATE || op->kind == DISK_UNLINK;
}

static bool
is_change(const operation *op)
{
    return is_name(op) || op->kind == DISK_WRITE || op->kind == DISK_TRUNCATE;
}

/* Backwards: what comes first behind an operation, a flush or a failed one. */
static void
find_durable(size_t at, bool *durable)
{
    bool *flushed = must(calloc((size_t)disk.file_count + 1, sizeof(bool)));
    bool folder = false;

    for (size_t i = at; i-- > 0;) {
        const operation *op = &disk.operations[i];

        if (op->kind == DISK_FOLDER)
            folder = true;
        else if (op->kind == DISK_SYNC || op->kind == DISK_LOSE)
            flushed[op->file] = op->kind == DISK_SYNC;
        durable[i] = is_name(op) ? folder : op->file >= 0 && flushed[op->file];
    }
    free(flushed);
}

/* Which operations are found, and the last write among the pending ones that
 * are (at: none). */
static size_t
choose(size_t at, disk_loss loss, uint64_t *random, bool *found)
{
    size_t last = at;

    for (size_t i = 0; i < at; i++) {
        const operation *op = &disk.operations[i];

        if (found[i] || !is_change(op) || loss == DISK_DROP)
            continue;
        found[i] = loss != DISK_SCATTER || splitmix_next(random) % 2 == 0;
        if (found[i] && op->kind == DISK_WRITE)
            last = i;
    }
    return loss == DISK_TEAR || loss == DISK_SCATTER ? last : at;
}

static void
resize(contents *file, size_t len)
{
    if (len > file->room) {
        file->room = len * 2;
        file->bytes = must(realloc(file->bytes, file->room));
    }
    if (len > file->len)
        memset(file->bytes + file->len, 0, len - file->len);
    file->len = len;
}

static void
apply_write(contents *file, const operation *op, size_t len)
{
    size_t end = (size_t)op->offset + len;

    if (len == 0)
        return;
    if (end > file->len)
        resize(file, end);
    memcpy(file->bytes + op->offset, op->bytes, len);
}

static void
apply(const operation *op, size_t len, contents *files, int *found)
{
    switch (op->kind) {
    case DISK_CREATE:
        found[op->name] = op->file;
        break;
    case DISK_UNLINK:
        if (found[op->name] == op->file)
            found[op->name] = -1;
        break;
    case DISK_WRITE:
        apply_write(&files[op->file], op, len);
        break;
    case DISK_TRUNCATE:
        resize(&files[op->file], (size_t)op->offset);
        break;
    case DISK_FOLDER:
    case DISK_SYNC:
    case DISK_LOSE:
        break;
    }
}

/* Whole sectors of it, by their place in the file; not all of them. */
static size_t
tear(const operation *op, uint64_t *random)
{
    size_t begin = (size_t)op->offset / DISK_SECTOR;
    size_t end = ((size_t)op->offset + op->len - 1) / DISK_SECTOR;
    size_t kept = begin + splitmix_next(random) % (end - begin + 1);
    size_t upto = kept * DISK_SECTOR;

    return upto <= (size_t)op->offset ? 0 : upto - (size_t)op->offset;
}

static int
put_file(const char *folder, int name, const contents *found)
{
    char path[512];
    FILE *file;
    size_t written = 0;

    snprintf(path, sizeof(path), "%s/%s", folder, names[name]);
    if (unlink(path) != 0 && errno != ENOENT)
        return -1;
    if (found == NULL)
        return 0;
    file = fopen(path, "wb");
    if (file == NULL)
        return -1;
    if (found->len > 0)
        written = fwrite(found->bytes, 1, found->len, file);
    return fclose(file) == 0 && written == found->len ? 0 : -1;
}

/* The log's index is no file of the disk's: it lives while the machine does. */
static int
put_files(const char *folder, const int *found, const contents *files)
{
    char path[512];
    int failed = 0;

    snprintf(path, sizeof(path), "%s/%s-shm", folder, names[0]);
    (void)unlink(path);
    for (int i = 0; i < DISK_NAMES && failed == 0; i++)
        failed = put_file(folder, i, found[i] < 0 ? NULL : &files[found[i]]);
    return failed;
}

int
disk_cut(size_t at, disk_loss loss, uint64_t seed, const char *folder)
{
    bool *found = must(calloc(at + 1, sizeof(bool)));
    contents *files =
        must(calloc((size_t)disk.file_count + 1, sizeof(contents)));
    int under[DISK_NAMES] = {-1, -1, -1};
    uint64_t random = seed;
    size_t torn;
    int failed;

    find_durable(at, found);
    torn = choose(at, loss, &random, found);
    for (size_t i = 0; i < at; i++) {
        const operation *op = &disk.operations[i];

        if (found[i] && is_change(op))
            apply(op, i == torn ? tear(op, &random) : op->len, files, under);
    }
    failed = put_files(folder, under, files);
    for (int i = 0; i < disk.file_count; i++)
        free(files[i].bytes);
    free(files);
    free(found);
    return failed;
}
