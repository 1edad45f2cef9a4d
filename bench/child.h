/* SPDX-License-Identifier: MIT
 *
 * Another process that runs the same program: what is measured may need one of
 * its own. It is exec'ed, since after fork() alone a child must not use the
 * library.
 *
 *   parent                             child: main() sees BENCH_CHILD first
 *   bench_child_start(b, part)         bench_child_part(): what it is to be
 *   bench_child_get(child.fd)    <-->  bench_child_put(BENCH_CHILD_FD)
 *   bench_child_stop()                 ends when a get says that the parent has
 *                                      closed
 */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include "bench.h"

#include <sys/types.h>

#define BENCH_CHILD "child"
#define BENCH_CHILD_FD 3
#define BENCH_CHILD_DEADLINE_MS 1800000 /* of an answer, after all its work */

typedef struct bench_child {
    pid_t pid;
    int fd;
} bench_child;

/* Starts this program once more, with what bench_init() reads and a word of its
 * own. */
bench_child bench_child_start(const bench *b, const char *part);
/* Closes, and waits until it has ended well. */
void bench_child_stop(const bench_child *child);

/* In the child: the word, NULL where this process is not one; reads the rest as
 * bench_init() does. */
const char *bench_child_part(bench *b, int argc, char **argv);

/* Numbers that are sent to the other process, and that came from it. */
void bench_child_put(int fd, int64_t number);
int64_t bench_child_get(int fd);
/* Blocks until the other process has closed. */
void bench_child_await_end(int fd);

#endif
