/* SPDX-License-Identifier: MIT */
#include "child.h"

#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 10

/* argv: the program, BENCH_CHILD, the word, options. */
static pid_t
spawn(const bench *b, const char *part, int fd)
{
    const char *args[ARGS_MAX] = {"bench", BENCH_CHILD, part, "--dir", b->dir};
    posix_spawn_file_actions_t actions;
    size_t count = 5;
    char *argv[ARGS_MAX] = {NULL};
    pid_t pid;

    if (b->size != BENCH_NORMAL)
        args[count++] = b->size == BENCH_QUICK ? "--quick" : "--full";
    if (b->pg != NULL) {
        args[count++] = "--pg";
        args[count++] = b->pg;
    }
    for (size_t i = 0; i < count; i++) {
        argv[i] = strdup(args[i]);
        if (argv[i] == NULL)
            bench_die("out of memory");
    }
    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, fd, BENCH_CHILD_FD) != 0 ||
        posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ) != 0)
        bench_die("cannot start another process");
    posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 0; i < count; i++)
        free(argv[i]);
    return pid;
}

bench_child
bench_child_start(const bench *b, const char *part)
{
    bench_child child;
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        bench_die("socketpair: %s", strerror(errno));
    child.fd = fds[0];
    child.pid = spawn(b, part, fds[1]);
    close(fds[1]);
    return child;
}

void
bench_child_stop(const bench_child *child)
{
    int status;

    close(child->fd);
    if (waitpid(child->pid, &status, 0) != child->pid || status != 0)
        bench_die("the other process ended badly");
}

const char *
bench_child_part(bench *b, int argc, char **argv)
{
    if (argc < 3 || strcmp(argv[1], BENCH_CHILD) != 0)
        return NULL;
    bench_init(b, argc - 2, argv + 2);
    return argv[2];
}

void
bench_child_put(int fd, int64_t number)
{
    if (send(fd, &number, sizeof(number), MSG_NOSIGNAL) !=
        (ssize_t)sizeof(number))
        bench_die("the other process is gone");
}

int64_t
bench_child_get(int fd)
{
    struct pollfd at = {.fd = fd, .events = POLLIN};
    int64_t number;
    int found;

    do
        found = poll(&at, 1, BENCH_CHILD_DEADLINE_MS);
    while (found < 0 && errno == EINTR);
    if (found != 1 ||
        read(fd, &number, sizeof(number)) != (ssize_t)sizeof(number))
        bench_die("no answer from the other process");
    return number;
}

void
bench_child_await_end(int fd)
{
    char byte;

    while (read(fd, &byte, 1) > 0)
        continue;
}
