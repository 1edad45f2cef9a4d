/* SPDX-License-Identifier: MIT
 *
 * Further processes of this program: the worker, and the one that records.
 */
#ifndef ORDERS_CHILD_H
#define ORDERS_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "settings.h"
#include "status.h"

#define CHILD_BUFFER_SIZE 4096

struct child {
    pid_t pid;
    int status_fd;  /* what it reports; -1: nothing */
    int permits[2]; /* a pipe, of which the child reads as well; -1: none */
    size_t reports; /* lines that have come */
    char buffer[CHILD_BUFFER_SIZE];
    size_t buffered;
};

/* Starts `orders COMMAND` with the same settings, as a process of its own that
 * dies with this one. With `reports` its status lines come through a pipe, and
 * each of its effects needs a permit. */
bool child_start(const struct settings *settings, const char *command,
                 bool reports, struct child *child);

/* Waits up to `timeout_us` for status lines and takes them into `status`. False
 * when there will be no more: the child has ended. */
bool child_poll(struct child *child, int64_t timeout_us, struct status *status);

/* Sees to it that the child finds `count` permits for effects, no more. */
void child_permit(const struct child *child, size_t count);

/* Kills the child with SIGKILL and waits until it is gone. False when it had
 * ended by itself before. */
bool child_kill(struct child *child);

/* Waits until the child has ended by itself. True when it succeeded. */
bool child_wait(struct child *child);

#endif
