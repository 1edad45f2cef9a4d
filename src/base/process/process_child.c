/* SPDX-License-Identifier: MIT
 *
 * The child, from vfork() to execve(). The library calls _exit(), chdir() and
 * sigaction() with something to set here and nowhere else.
 *
 * vfork(), because fork() copies the page tables of the host, however large it
 * is, and runs what the host has hung in with pthread_atfork(). The child
 * shares the memory of the parent, whose thread stands still until execve() or
 * _exit(); hence the rules:
 *   - every signal is blocked before vfork(), and each handler taken off before
 *     they are let through: no handler of the host runs in the child;
 *   - only system calls, on what the plan holds; nothing is allocated, nothing
 *     of the parent's is written but errno;
 *   - descriptors, dispositions, folder, limits are the child's own copies.
 *
 * The parent may die in between: the kernel is asked to kill the child with it,
 * and then the child looks whether that came too late.
 */
#include "base/process/process_plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cascade/cascade.h"

#define FIRST_INHERITED 3
#define NOT_RUN 127 /* what a shell exits with then */

bool
csc_process_child_is_kept(void)
{
    struct sigaction now = {0};

    if (sigaction(SIGCHLD, NULL, &now) != 0)
        return true;
    return (now.sa_flags & SA_NOCLDWAIT) == 0 &&
           ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_IGN);
}

/* ---- In the child ------------------------------------------------------- */

_Noreturn static void
give_up(const csc_process_plan *plan, csc_process_stage stage)
{
    csc_process_failure failure = {(int)stage, errno};
    ssize_t told = write(plan->report, &failure, sizeof(failure));

    (void)told; /* the parent sees that it has ended */
    _exit(NOT_RUN);
}

/* What kernels before 5.11 have instead of close_range(). */
static int
mark_one_by_one(void)
{
    _Alignas(struct dirent64) char entries[2048];
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t len = -1;

    if (folder < 0)
        return -1;
    while ((len = getdents64(folder, entries, sizeof(entries))) > 0) {
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *entry =
                (const struct dirent64 *)(const void *)(entries + at);
            int fd = 0;

            for (const char *c = entry->d_name; *c >= '0' && *c <= '9'; c++)
                fd = fd * 10 + (*c - '0');
            if (fd >= FIRST_INHERITED)
                (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
            at += entry->d_reclen;
        }
    }
    return len == 0 ? 0 : -1;
}

static void
take_descriptors(const csc_process_plan *plan)
{
    for (int i = 0; i < 3; i++) {
        if (dup2(plan->fds[i], i) < 0)
            give_up(plan, CSC_PROCESS_SETUP);
    }
    if (close_range(FIRST_INHERITED, ~0U, CLOSE_RANGE_CLOEXEC) != 0 &&
        mark_one_by_one() != 0)
        give_up(plan, CSC_PROCESS_SETUP);
}

static void
reset_signals(void)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &by_default, NULL); /* some are the kernel's */
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* As execvp() does, but for its shell. Not execve(), in front of which gcc puts
 * the writing of its files when coverage is measured. */
static void
execute(const csc_process_plan *plan)
{
    int error = ENOENT;

    for (const char *const *path = plan->paths; *path != NULL; path++) {
        (void)execveat(AT_FDCWD, *path, plan->argv, plan->env, 0);
        if (errno == EACCES)
            error = EACCES;
        else if (errno != ENOENT && errno != ENOTDIR)
            return;
    }
    errno = error;
}

/* Never inlined: its frame must not share places with that of the parent. */
__attribute__((noinline)) _Noreturn static void
become(const csc_process_plan *plan, pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || setsid() < 0)
        give_up(plan, CSC_PROCESS_SETUP);
    if (getppid() != parent)
        _exit(NOT_RUN);
    take_descriptors(plan);
    if (plan->folder != NULL && chdir(plan->folder) != 0)
        give_up(plan, CSC_PROCESS_FOLDER);
    for (size_t i = 0; i < plan->limit_count; i++) {
        const csc_process_limit *limit = &plan->limits[i];

        if (setrlimit((__rlimit_resource_t)limit->resource, &limit->value) != 0)
            give_up(plan, CSC_PROCESS_LIMIT);
    }
    reset_signals();
    execute(plan);
    give_up(plan, CSC_PROCESS_PROGRAM);
}

/* ---- In the parent ------------------------------------------------------ */

int
csc_process_child_start(const csc_process_plan *plan, pid_t *pid)
{
    sigset_t all;
    sigset_t before;
    pid_t parent = getpid();
    pid_t child = -1;
    int error = 0;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    child = vfork();
    if (child == 0)
        become(plan, parent);
    error = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    *pid = child;
    return child < 0 ? error : 0;
}
