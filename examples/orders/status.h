/* SPDX-License-Identifier: MIT
 *
 * What a worker tells its supervisor: lines on a pipe.
 *
 *   back HELD HYDRATE_MS BACK_MS            once, when all that was in flight
 *                                           at the start is in memory again
 *   now STARTED ENDED IN_FLIGHT             every few milliseconds
 */
#ifndef ORDERS_STATUS_H
#define ORDERS_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct status {
    size_t started;
    size_t ended;
    size_t in_flight;
    bool back;          /* the members below are set */
    size_t hydrated;    /* cascades read back from the store */
    int64_t hydrate_ms; /* the engine's own figure: claiming and reading */
    int64_t back_ms;    /* from the start of the process to the last one */
};

/* Write one line to `fd`; do nothing when it is 0. False when nobody reads. */
bool status_write_now(int fd, const struct status *status);
bool status_write_back(int fd, const struct status *status);

/* Takes a line, without its newline, into `status`. False when it is none. */
bool status_read(const char *line, struct status *status);

#endif
