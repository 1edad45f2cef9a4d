/* SPDX-License-Identifier: MIT
 *
 * Starting, stopping and killing worker processes. What a worker does is in
 * worker_main.c.
 */
#include "process/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/check.h"

#define START_LIMIT_MS 60000
#define GATE_LIMIT_MS 60000
#define STOP_LIMIT_MS 60000
#define END_LIMIT_MS 90000 /* longer than an engine takes to give up its stop */

static void
share(test_worker *worker, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(0, ftruncate(fd, sizeof(worker_shared)));
    worker->shared = mmap(NULL, sizeof(worker_shared), PROT_READ | PROT_WRITE,
                          MAP_SHARED, fd, 0);
    assert_true(worker->shared != MAP_FAILED);
    close(fd);
}

static void
apply_defaults(worker_options *options)
{
    if (options->lease_ms == 0)
        options->lease_ms = 600;
    if (options->poll_ms == 0)
        options->poll_ms = 100;
    if (options->work_us == 0)
        options->work_us = 1000;
    if (options->threads == 0)
        options->threads = 8;
    if (options->poison_limit == 0)
        options->poison_limit = -1;
}

void
worker_spawn(test_worker *worker, const test_place *place,
             const worker_options *options)
{
    static int number;
    char name[16];
    char path[PLACE_PATH];
    char verb[] = "worker";
    char *arguments[] = {verb, verb, path, NULL};
    pid_t parent = getpid();

    snprintf(name, sizeof(name), "w%d", number++);
    share(worker, place_path(place, name, path));
    worker->shared->place = *place;
    if (options != NULL)
        worker->shared->options = *options;
    apply_defaults(&worker->shared->options);
    worker->shared->behind = worker->shared->options.stop_behind;
    worker->shared->freeze = worker->shared->options.stop;
    worker->shared->gate.passes = worker->shared->options.gate_after;
    worker->shared->gate.open = !worker->shared->options.gated;
    memcpy(worker->shared->name, name, sizeof(name));
    memcpy(worker->name, name, sizeof(name));
    worker->late = 0;
    worker->threads = worker->shared->options.threads;
    fflush(NULL);
    worker->pid = fork();
    if (worker->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(127); /* it died before */
        execv("/proc/self/exe", arguments);
        _exit(127);
    }
    assert_true(worker->pid > 0);
}

static bool
runs_or_ended(void *context)
{
    test_worker *it = context;

    return it->shared->figures.started != 0 || worker_ended(it);
}

void
worker_start(test_worker *worker, const test_place *place,
             const worker_options *options)
{
    worker_spawn(worker, place, options);
    if (!place_wait(runs_or_ended, worker, START_LIMIT_MS) || worker->pid < 0)
        fail_msg("a worker does not start");
}

static bool
is_at_gate(void *context)
{
    const test_worker *it = context;

    return it->shared->gate.waiting > 0;
}

void
worker_await_gate(test_worker *worker)
{
    if (!place_wait(is_at_gate, worker, GATE_LIMIT_MS))
        fail_msg("no node comes to the gate of a worker");
}

void
worker_open_gate(test_worker *worker)
{
    worker->shared->gate.open = true;
}

static void
forget(test_worker *worker)
{
    worker->pid = -1;
    memcpy(&worker->last, &worker->shared->figures, sizeof(worker->last));
    munmap(worker->shared, sizeof(worker_shared));
    worker->shared = NULL;
}

static int
reap(test_worker *worker)
{
    int status = 0;
    pid_t pid = -1;

    do
        pid = waitpid(worker->pid, &status, 0);
    while (pid < 0 && errno == EINTR);
    assert_true(pid == worker->pid);
    worker->status = status;
    forget(worker);
    return status;
}

bool
worker_ended(test_worker *worker)
{
    int status = 0;

    if (worker->pid < 0)
        return true;
    if (waitpid(worker->pid, &status, WNOHANG) != worker->pid)
        return false;
    worker->status = status;
    forget(worker);
    return true;
}

void
worker_kill(test_worker *worker)
{
    int status = 0;

    assert_true(worker->pid > 0);
    kill(worker->pid, SIGKILL);
    status = reap(worker);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Or ended. */
static bool
has_stopped(void *context)
{
    test_worker *it = context;

    return waitpid(it->pid, &it->status, WUNTRACED | WNOHANG) == it->pid;
}

/* False: it has ended. */
static bool
await_stop(test_worker *worker)
{
    if (!place_wait(has_stopped, worker, STOP_LIMIT_MS))
        fail_msg("a worker does not stop");
    if (WIFSTOPPED(worker->status))
        return true;
    forget(worker);
    return false;
}

void
worker_await_stop(test_worker *worker)
{
    if (!await_stop(worker))
        fail_msg("a worker ended with status %d instead of a stop",
                 worker->status);
}

bool
worker_stop_living(test_worker *worker)
{
    assert_true(worker->pid > 0);
    kill(worker->pid, SIGSTOP);
    return await_stop(worker);
}

void
worker_stop(test_worker *worker)
{
    assert_true(worker->pid > 0);
    kill(worker->pid, SIGSTOP);
    worker_await_stop(worker);
}

void
worker_continue(test_worker *worker)
{
    kill(worker->pid, SIGCONT);
}

static bool
has_ended(void *worker)
{
    return worker_ended(worker);
}

void
worker_end(test_worker *worker)
{
    int status = 0;

    assert_true(worker->pid > 0);
    kill(worker->pid, SIGTERM);
    if (!place_wait(has_ended, worker, END_LIMIT_MS))
        fail_msg("a worker does not end");
    status = worker->status;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM)
        return; /* it had not come as far as to listen */
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("a worker ended with status %d", status);
}

bool
worker_may_be_late(void *crew, const char *who)
{
    const worker_crew *it = crew;

    for (size_t i = 0; i < it->count; i++) {
        test_worker *worker = &it->workers[i];

        if (strcmp(worker->name, who) == 0)
            return worker->late++ <
                   WORKER_LATE_LINES * worker->threads * worker->last.fenced;
    }
    return false;
}

/* ---- In the process itself ----------------------------------------------- */

void
worker_tell(cascade_engine *engine, worker_figures *figures)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    if (cascade_engine_get_stats(engine, &stats) != CASCADE_OK)
        return;
    figures->executions = stats.executions;
    figures->attempts = stats.attempts;
    figures->fences = stats.fences;
    figures->losses = stats.losses;
    figures->takeovers = stats.takeovers;
    figures->held = stats.held;
    figures->refusals = stats.refusals;
}
