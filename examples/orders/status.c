/* SPDX-License-Identifier: MIT
 *
 * The lines between worker and supervisor. Each is written in one piece and is
 * shorter than PIPE_BUF, so a kill cannot leave half of one in the pipe.
 */
#include "status.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define STATUS_LINE_MAX 128

static bool
write_line(int fd, const char *line, int len)
{
    if (fd == 0)
        return true;
    return write(fd, line, (size_t)len) == (ssize_t)len;
}

bool
status_write_now(int fd, const struct status *status)
{
    char line[STATUS_LINE_MAX];
    int len = snprintf(line, sizeof(line), "now %zu %zu %zu\n", status->started,
                       status->ended, status->in_flight);
    return write_line(fd, line, len);
}

bool
status_write_back(int fd, const struct status *status)
{
    char line[STATUS_LINE_MAX];
    int len = snprintf(line, sizeof(line), "back %zu %" PRId64 " %" PRId64 "\n",
                       status->hydrated, status->hydrate_ms, status->back_ms);
    return write_line(fd, line, len);
}

bool
status_read(const char *line, struct status *status)
{
    if (sscanf(line, "now %zu %zu %zu", &status->started, &status->ended,
               &status->in_flight) == 3)
        return true;
    status->back =
        sscanf(line, "back %zu %" SCNd64 " %" SCNd64, &status->hydrated,
               &status->hydrate_ms, &status->back_ms) == 3;
    return status->back;
}
