/* SPDX-License-Identifier: MIT
 *
 * Running another program to its end; see process.h.
 *
 *   starts
 *     |                         time is up, or cancelled
 *   runs ------------------------------------> asked (SIGTERM to its group)
 *     |                                          |            |
 *     | exits                             exits  |            | grace is over
 *     v                                          v            v
 *   lingers: the rest of the group holds the     |          killed (SIGKILL)
 *   outputs open, for the grace at most          |            | exits
 *     |                                          |            |
 *     +--------------------+---------------------+------------+
 *                          v
 *   SIGKILL to the group, what the pipes hold is read, the child is reaped
 *
 * The child stays a zombie until its group has been killed, so that its id,
 * which is that of the group, cannot mean another process meanwhile. What was
 * executed or not the child tells through a pipe that execve() closes; it is
 * read as a third output. Input lies in a file in memory: nothing has to be
 * written while the child runs, and no SIGPIPE can come of it.
 *
 * A program that the kernel does not let die (waiting for a dead file server)
 * holds its thread until the kernel does.
 */
#include "base/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/process/process_plan.h"
#include "cascade/cascade.h"

#define TICK_NS (100 * CSC_MS_NS)      /* between two questions */
#define BLIND_TICK_NS (10 * CSC_MS_NS) /* where the kernel has no pidfd */
#define READ_SIZE 16384
#define REST_READS 64 /* what a pipe may hold at most is read: 1 MiB */
#define NO_TIME INT64_MAX

enum {
    OUT,
    ERR,
    REPORT,
    STREAMS
};

typedef struct stream {
    int fd; /* -1: closed */
    size_t max;
    csc_buf *kept;
    bool truncated;
} stream;

typedef struct run {
    const csc_process_spec *spec;
    csc_process_end *end;
    csc_buf report;
    stream streams[STREAMS];
    pid_t pid;
    int pidfd; /* -1: there is none */
    int64_t begun_ns;
    int64_t deadline_ns; /* to be asked to end */
    int64_t kill_ns;     /* to be killed, once asked */
    int64_t linger_ns;   /* to be left, once it has exited */
    int64_t question_ns; /* to ask whether it is cancelled */
    bool asked;
    bool killed;
    bool exited;
    bool lost; /* others have taken its exit status */
} run;

static int64_t
now_ns(void)
{
    return csc_clock_system.monotonic_ns(NULL);
}

static cascade_err
fail_system(const char *what)
{
    return csc_fail(CASCADE_ERR_SYSTEM, "process: %s: %s", what,
                    strerrordesc_np(errno));
}

static void
close_stream(stream *s)
{
    if (s->fd >= 0)
        (void)close(s->fd);
    s->fd = -1;
}

/* ---- Descriptors -------------------------------------------------------- */

/* `fd` itself or, where the host has closed its standard ones, a copy above
 * them. -1 when there is none. */
static int
above_standard(int fd)
{
    int copy = fd;

    if (fd >= 0 && fd < 3) {
        copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        (void)close(fd);
    }
    return copy;
}

static bool
write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t done = write(fd, bytes, len);

        if (done < 0 && errno != EINTR)
            return false;
        bytes += done > 0 ? done : 0;
        len -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static cascade_err
open_input(csc_process_plan *plan, const char *input)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    size_t len = input != NULL ? strlen(input) : 0;
    int fd = -1;

    if (input == NULL)
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    else
        fd = memfd_create("cascade-input", MFD_CLOEXEC);
    plan->fds[0] = above_standard(fd);
    if (plan->fds[0] < 0)
        return fail_system("its input");
    (void)getrlimit(RLIMIT_FSIZE, &limit); /* beyond it comes a signal */
    if (limit.rlim_cur != RLIM_INFINITY && len > limit.rlim_cur)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "process: the input has %zu bytes, which is over the "
                        "size that this process may give a file",
                        len);
    if (!write_all(plan->fds[0], input, len) ||
        (len > 0 && lseek(plan->fds[0], 0, SEEK_SET) != 0))
        return fail_system("its input");
    return CASCADE_OK;
}

/* A pipe to `s` from the descriptor that *from is to be. */
static cascade_err
open_pipe(stream *s, int *from)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return fail_system("pipe");
    s->fd = ends[0];
    *from = above_standard(ends[1]);
    if (*from < 0 || fcntl(s->fd, F_SETFL, O_NONBLOCK) != 0)
        return fail_system("pipe");
    return CASCADE_OK;
}

static cascade_err
open_all(run *r, csc_process_plan *plan)
{
    cascade_err err = open_input(plan, r->spec->input);

    if (err == CASCADE_OK)
        err = open_pipe(&r->streams[OUT], &plan->fds[1]);
    if (err == CASCADE_OK)
        err = open_pipe(&r->streams[ERR], &plan->fds[2]);
    if (err == CASCADE_OK)
        err = open_pipe(&r->streams[REPORT], &plan->report);
    return err;
}

/* ---- Reading ------------------------------------------------------------ */

/* False when there is nothing to read now, or never again. */
static bool
read_some(stream *s)
{
    char bytes[READ_SIZE];
    ssize_t got = s->fd < 0 ? 0 : read(s->fd, bytes, sizeof(bytes));
    size_t room = s->max - s->kept->len;
    size_t len = got > 0 ? (size_t)got : 0;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    if (got <= 0) {
        close_stream(s);
        return false;
    }
    if (len > room)
        s->truncated = true;
    csc_buf_add(s->kept, bytes, len > room ? room : len);
    return true;
}

static void
read_rest(run *r)
{
    for (int i = 0; i < STREAMS; i++) {
        for (int reads = 0; reads < REST_READS; reads++) {
            if (!read_some(&r->streams[i]))
                break;
        }
    }
}

static bool
is_read_out(const run *r)
{
    for (int i = 0; i < STREAMS; i++) {
        if (r->streams[i].fd >= 0)
            return false;
    }
    return true;
}

static bool
is_out_of_memory(const run *r)
{
    return r->end->output[OUT].failed || r->end->output[ERR].failed ||
           r->report.failed;
}

/* ---- Ending ------------------------------------------------------------- */

static void
send_signal(const run *r, int number)
{
    if (!r->lost && kill(-r->pid, number) != 0)
        (void)kill(r->pid, number); /* it leads no group yet */
}

static void
ask_to_end(run *r, int64_t now)
{
    r->asked = true;
    r->kill_ns = csc_clock_add(now, r->spec->grace_ms * CSC_MS_NS);
    send_signal(r, SIGTERM);
    send_signal(r, SIGCONT); /* a stopped one gets it too */
}

static void
look_for_exit(run *r, int64_t now)
{
    siginfo_t info = {.si_pid = 0};
    int got = 0;

    if (r->exited)
        return;
    got = waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    r->lost = got != 0 && errno == ECHILD;
    if (!r->lost && (got != 0 || info.si_pid == 0))
        return;
    r->exited = true;
    r->end->elapsed_ms = (now - r->begun_ns) / CSC_MS_NS;
    r->linger_ns = r->asked ? r->kill_ns
                            : csc_clock_add(now, r->spec->grace_ms * CSC_MS_NS);
}

static void
look_for_reasons(run *r, int64_t now)
{
    const csc_process_spec *spec = r->spec;

    if (!r->end->cancelled && spec->cancelled != NULL &&
        now >= r->question_ns) {
        r->question_ns = now + TICK_NS;
        r->end->cancelled = spec->cancelled(spec->context);
    }
    if (r->exited)
        return;
    if (!r->asked && !r->end->cancelled && now >= r->deadline_ns)
        r->end->timed_out = true;
    if (!r->asked &&
        (r->end->timed_out || r->end->cancelled || is_out_of_memory(r)))
        ask_to_end(r, now);
    if (r->asked && !r->killed && now >= r->kill_ns) {
        r->killed = true;
        send_signal(r, SIGKILL);
    }
}

static bool
is_over(const run *r, int64_t now)
{
    return r->exited &&
           (is_read_out(r) || r->end->cancelled || now >= r->linger_ns);
}

/* ---- Waiting ------------------------------------------------------------ */

static int64_t
earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When to look again although nothing has happened. */
static int
poll_ms(const run *r, int64_t now)
{
    int64_t until = r->exited ? r->linger_ns : NO_TIME;

    if (!r->exited && r->pidfd < 0)
        until = now + BLIND_TICK_NS;
    if (!r->exited && !r->asked)
        until = earliest(until, r->deadline_ns);
    if (r->asked && !r->killed)
        until = earliest(until, r->kill_ns);
    if (r->spec->cancelled != NULL && !r->end->cancelled)
        until = earliest(until, r->question_ns);
    if (until == NO_TIME)
        return -1;
    until = until <= now ? 0 : (until - now + CSC_MS_NS - 1) / CSC_MS_NS;
    return until > 60000 ? 60000 : (int)until;
}

static void
wait_for_end(run *r)
{
    int64_t now = now_ns();

    while (!is_over(r, now)) {
        struct pollfd fds[STREAMS + 1] = {
            {.fd = r->exited ? -1 : r->pidfd, .events = POLLIN}};

        for (int i = 0; i < STREAMS; i++)
            fds[i + 1] =
                (struct pollfd){.fd = r->streams[i].fd, .events = POLLIN};
        if (poll(fds, STREAMS + 1, poll_ms(r, now)) > 0) {
            for (int i = 0; i < STREAMS; i++) {
                if (fds[i + 1].revents != 0)
                    (void)read_some(&r->streams[i]);
            }
        }
        now = now_ns();
        look_for_exit(r, now);
        look_for_reasons(r, now);
    }
}

/* ---- Reaping ------------------------------------------------------------ */

static cascade_err
reap(run *r)
{
    pid_t got = -1;
    int status = 0;

    send_signal(r, SIGKILL);
    read_rest(r);
    do
        got = r->lost ? -1 : waitpid(r->pid, &status, 0);
    while (got < 0 && !r->lost && errno == EINTR);
    if (got < 0)
        return csc_fail(
            CASCADE_ERR_SYSTEM,
            "process: the exit status of %.200s was taken by another "
            "part of this process; let it wait for its own "
            "children only",
            r->spec->argv[0]);
    r->end->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    r->end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return CASCADE_OK;
}

/* What the child has told, if anything. */
static cascade_err
read_report(const run *r)
{
    csc_process_failure failure;
    const char *why = NULL;

    if (r->report.len != sizeof(failure))
        return CASCADE_OK;
    memcpy(&failure, r->report.data, sizeof(failure));
    why = strerrordesc_np(failure.error);
    switch ((csc_process_stage)failure.stage) {
    case CSC_PROCESS_FOLDER:
        return csc_fail(CASCADE_ERR_SYSTEM,
                        "process: the working folder %.200s: %s",
                        r->spec->folder, why);
    case CSC_PROCESS_PROGRAM:
        return csc_fail(CASCADE_ERR_SYSTEM,
                        "process: %.200s cannot be executed: %s",
                        r->spec->argv[0], why);
    case CSC_PROCESS_LIMIT:
    case CSC_PROCESS_SETUP:
        break;
    }
    return csc_fail(CASCADE_ERR_SYSTEM, "process: %s of %.200s: %s",
                    failure.stage == CSC_PROCESS_LIMIT ? "a limit"
                                                       : "the surroundings",
                    r->spec->argv[0], why);
}

/* ---- All of it ---------------------------------------------------------- */

static cascade_err
start(run *r, csc_process_plan *plan)
{
    const csc_process_spec *spec = r->spec;
    cascade_err err = csc_process_plan_init(plan, spec);
    int error = 0;

    if (err == CASCADE_OK)
        err = open_all(r, plan);
    if (err != CASCADE_OK)
        return err;
    r->begun_ns = now_ns();
    r->question_ns = r->begun_ns + TICK_NS;
    r->deadline_ns = NO_TIME;
    if (spec->timeout_ms > 0)
        r->deadline_ns =
            csc_clock_add(r->begun_ns, spec->timeout_ms * CSC_MS_NS);
    error = csc_process_child_start(plan, &r->pid);
    if (error != 0)
        return csc_fail(CASCADE_ERR_SYSTEM, "process: no new process: %s",
                        strerrordesc_np(error));
    r->pidfd = pidfd_open(r->pid, 0);
    return CASCADE_OK;
}

static void
fini_run(run *r)
{
    for (int i = 0; i < STREAMS; i++)
        close_stream(&r->streams[i]);
    if (r->pidfd >= 0)
        (void)close(r->pidfd);
    csc_buf_fini(&r->report);
}

cascade_err
csc_process_run(const csc_process_spec *spec, csc_process_end *end)
{
    run r = {.spec = spec, .end = end, .pidfd = -1};
    csc_process_plan plan = {0};
    cascade_err err = CASCADE_OK;

    *end = (csc_process_end){.exit_code = -1};
    for (int i = 0; i < STREAMS; i++)
        r.streams[i] = (stream){-1, spec->output_max, NULL, false};
    r.streams[OUT].kept = &end->output[OUT];
    r.streams[ERR].kept = &end->output[ERR];
    r.streams[REPORT].kept = &r.report;
    r.streams[REPORT].max = sizeof(csc_process_failure);
    if (!csc_process_child_is_kept())
        return csc_fail(CASCADE_ERR_MISUSE,
                        "process: SIGCHLD is ignored here, so the exit status "
                        "would be lost; set another disposition, without "
                        "SA_NOCLDWAIT");
    err = start(&r, &plan);
    csc_process_plan_fini(&plan);
    if (err == CASCADE_OK) {
        wait_for_end(&r);
        err = reap(&r);
    }
    if (err == CASCADE_OK)
        err = is_out_of_memory(&r) ? csc_fail_memory() : read_report(&r);
    end->truncated[OUT] = r.streams[OUT].truncated;
    end->truncated[ERR] = r.streams[ERR].truncated;
    fini_run(&r);
    return err;
}

void
csc_process_free_end(csc_process_end *end)
{
    csc_buf_fini(&end->output[OUT]);
    csc_buf_fini(&end->output[ERR]);
}
