/* SPDX-License-Identifier: MIT
 *
 * fork and exec. The supervisor opens no store before its children are done
 * with theirs, so nothing of the library crosses the fork.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBER_SIZE 24
#define ARGUMENTS_MAX 24
#define PERMITS_MAX 512

struct arguments {
    char *list[ARGUMENTS_MAX + 1]; /* execv() changes none of them */
    size_t count;
    char numbers[ARGUMENTS_MAX][NUMBER_SIZE];
};

/* execv() takes pointers to char for the sake of old programs only. */
static char *
unconst(const char *text)
{
    char *same = NULL;
    memcpy(&same, &text, sizeof(same));
    return same;
}

static void
add_text(struct arguments *arguments, const char *name, const char *value)
{
    arguments->list[arguments->count++] = unconst(name);
    if (value != NULL)
        arguments->list[arguments->count++] = unconst(value);
}

static void
add_number(struct arguments *arguments, const char *name, uint64_t value)
{
    char *text = arguments->numbers[arguments->count];
    snprintf(text, NUMBER_SIZE, "%" PRIu64, value);
    add_text(arguments, name, text);
}

static void
fill(struct arguments *arguments, const struct settings *settings,
     const char *command, int status_fd, int permits_fd)
{
    *arguments = (struct arguments){.count = 0};
    add_text(arguments, "orders", command);
    add_text(arguments, "--dir", settings->folder);
    add_text(arguments, "--orders", settings->orders);
    add_text(arguments, "--store", settings->store);
    add_text(arguments, "--name", settings->name);
    add_number(arguments, "--seed", settings->seed);
    add_number(arguments, "--orders-max", settings->orders_max);
    add_number(arguments, "--window", settings->window);
    add_number(arguments, "--workers", settings->workers);
    if (status_fd >= 0)
        add_number(arguments, "--status-fd", (uint64_t)status_fd);
    if (permits_fd >= 0)
        add_number(arguments, "--permits-fd", (uint64_t)permits_fd);
}

/* In the child. Two descriptors are handed on, or -1. */
static void
become(struct arguments *arguments, int status_fd, int permits_fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (status_fd >= 0)
        fcntl(status_fd, F_SETFD, 0);
    if (permits_fd >= 0)
        fcntl(permits_fd, F_SETFD, 0);
    execv("/proc/self/exe", arguments->list);
    fprintf(stderr, "orders: cannot start: %s\n", strerror(errno));
    _exit(127);
}

static void
close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The end of a child's pipe that is read stays open here, so that a child that
 * has died is no signal to who writes. */
static void
close_child(struct child *child)
{
    close_fd(&child->status_fd);
    close_fd(&child->permits[0]);
    close_fd(&child->permits[1]);
}

bool
child_start(const struct settings *settings, const char *command, bool reports,
            struct child *child)
{
    struct arguments arguments;
    int ends[2] = {-1, -1};

    *child = (struct child){.pid = -1, .status_fd = -1, .permits = {-1, -1}};
    if (reports && (pipe2(ends, O_CLOEXEC) != 0 ||
                    pipe2(child->permits, O_CLOEXEC) != 0)) {
        fprintf(stderr, "orders: no pipe: %s\n", strerror(errno));
        close_fd(&ends[0]);
        close_fd(&ends[1]);
        return false;
    }
    fill(&arguments, settings, command, ends[1], child->permits[0]);
    fflush(NULL);
    child->pid = fork();
    if (child->pid == 0)
        become(&arguments, ends[1], child->permits[0]);
    child->status_fd = ends[0];
    close_fd(&ends[1]);
    if (child->pid > 0)
        return true;
    fprintf(stderr, "orders: cannot fork: %s\n", strerror(errno));
    close_child(child);
    return false;
}

/* Takes the whole lines out of the buffer. */
static void
take_lines(struct child *child, struct status *status)
{
    char *begin = child->buffer;
    char *end = memchr(begin, '\n', child->buffered);
    while (end != NULL) {
        *end = '\0';
        status_read(begin, status);
        child->reports++;
        child->buffered -= (size_t)(end + 1 - begin);
        begin = end + 1;
        end = memchr(begin, '\n', child->buffered);
    }
    memmove(child->buffer, begin, child->buffered);
}

bool
child_poll(struct child *child, int64_t timeout_us, struct status *status)
{
    struct pollfd watched = {.fd = child->status_fd, .events = POLLIN};
    struct timespec timeout = {.tv_sec = timeout_us / 1000000,
                               .tv_nsec = timeout_us % 1000000 * 1000};
    if (ppoll(&watched, 1, &timeout, NULL) <= 0)
        return true;
    ssize_t got = read(child->status_fd, child->buffer + child->buffered,
                       sizeof(child->buffer) - child->buffered);
    if (got <= 0)
        return got < 0 && errno == EINTR;
    child->buffered += (size_t)got;
    take_lines(child, status);
    return true;
}

void
child_permit(const struct child *child, size_t count)
{
    static const char permits[PERMITS_MAX];
    int unread = 0;
    if (count > PERMITS_MAX)
        count = PERMITS_MAX;
    if (ioctl(child->permits[1], FIONREAD, &unread) != 0 || unread < 0 ||
        (size_t)unread >= count)
        return;
    count -= (size_t)unread;
    if (write(child->permits[1], permits, count) < 0)
        fprintf(stderr, "orders: no permits: %s\n", strerror(errno));
}

/* Waits for the end and gives the wait status; -1 when there is none. */
static int
reap(struct child *child)
{
    int end = -1;
    pid_t pid = -1;
    do
        pid = waitpid(child->pid, &end, 0);
    while (pid < 0 && errno == EINTR);
    close_child(child);
    return pid == child->pid ? end : -1;
}

bool
child_kill(struct child *child)
{
    kill(child->pid, SIGKILL);
    int end = reap(child);
    return end >= 0 && WIFSIGNALED(end) && WTERMSIG(end) == SIGKILL;
}

bool
child_wait(struct child *child)
{
    int end = reap(child);
    return end >= 0 && WIFEXITED(end) && WEXITSTATUS(end) == 0;
}
