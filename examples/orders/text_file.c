/* SPDX-License-Identifier: MIT
 *
 * Whole files as text. The demo's files are small: they are read in one piece
 * and cut into lines in place.
 */
#include "text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads up to `len` bytes; the number read, -1 when it fails. */
static ssize_t
read_all(int fd, char *data, size_t len)
{
    size_t got = 0;
    while (got < len) {
        ssize_t n = read(fd, data + got, len - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

static bool
read_open(int fd, struct text_file *file)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return false;
    file->data = malloc((size_t)status.st_size + 1);
    if (file->data == NULL)
        return false;
    ssize_t len = read_all(fd, file->data, (size_t)status.st_size);
    if (len < 0)
        return false;
    file->data[len] = '\0';
    file->len = (size_t)len;
    return true;
}

bool
text_file_read(const char *path, struct text_file *file)
{
    *file = (struct text_file){.data = NULL};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && read_open(fd, file);
    if (!ok) {
        fprintf(stderr, "orders: cannot read %s: %s\n", path, strerror(errno));
        text_file_free(file);
    }
    if (fd >= 0)
        close(fd);
    return ok;
}

void
text_file_free(struct text_file *file)
{
    free(file->data);
    *file = (struct text_file){.data = NULL};
}

char *
text_file_next(struct text_file *file)
{
    if (file->at >= file->len)
        return NULL;
    char *line = file->data + file->at;
    char *end = memchr(line, '\n', file->len - file->at);
    if (end == NULL)
        end = file->data + file->len;
    *end = '\0';
    file->at = (size_t)(end - file->data) + 1;
    return line;
}
