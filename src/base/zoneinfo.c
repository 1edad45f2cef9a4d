/* SPDX-License-Identifier: MIT */
#include "base/zoneinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/buf.h"
#include "base/error.h"

#define FOLDER "/usr/share/zoneinfo"
#define PATH_SIZE 1024

static const char *
folder(void)
{
    const char *given = secure_getenv("TZDIR");

    return given != NULL && *given != '\0' ? given : FOLDER;
}

static cascade_err
fail_open(const char *name, int cause)
{
    if (cause == ENOENT || cause == ENOTDIR)
        return csc_fail(CASCADE_ERR_NOT_FOUND,
                        "zone %s: there is none in %s: is the name right, and "
                        "the package of time zones (tzdata) installed?",
                        name, folder());
    return csc_fail(CASCADE_ERR_SYSTEM, "zone %s: its file in %s: %s", name,
                    folder(), strerrordesc_np(cause));
}

static cascade_err
check_file(const char *name, size_t max, int file)
{
    struct stat info;

    if (fstat(file, &info) != 0)
        return fail_open(name, errno);
    if (!S_ISREG(info.st_mode))
        return csc_fail(CASCADE_ERR_INVALID,
                        "zone %s: what stands for it in %s is no file", name,
                        folder());
    if (info.st_size > (off_t)max)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "zone %s: its file in %s has over %zu bytes", name,
                        folder(), max);
    return CASCADE_OK;
}

/* A file that grows meanwhile is cut at `max`, and refused by who reads it. */
static cascade_err
read_file(const char *name, size_t max, int file, csc_buf *out)
{
    size_t len = 0;

    if (!csc_buf_reserve(out, max))
        return csc_fail_memory();
    while (len < max) {
        ssize_t got = read(file, out->data + out->len + len, max - len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_open(name, errno);
        if (got == 0)
            break;
        len += (size_t)got;
    }
    out->len += len;
    out->data[out->len] = '\0';
    return CASCADE_OK;
}

cascade_err
csc_zoneinfo_read(const char *name, size_t max, csc_buf *out)
{
    char path[PATH_SIZE];
    int len = snprintf(path, sizeof(path), "%s/%s", folder(), name);
    int file;
    cascade_err err;

    if (len < 0 || (size_t)len >= sizeof(path))
        return csc_fail(CASCADE_ERR_NOT_FOUND,
                        "zone %s: the path in TZDIR is too long", name);
    do
        file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (file < 0 && errno == EINTR);
    if (file < 0)
        return fail_open(name, errno);
    err = check_file(name, max, file);
    if (err == CASCADE_OK)
        err = read_file(name, max, file, out);
    (void)close(file);
    return err;
}
