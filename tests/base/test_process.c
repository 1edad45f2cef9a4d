/* SPDX-License-Identifier: MIT
 *
 * Other programs, run to their end. After each test there is no child, no
 * descriptor and no memory more than before it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/data/buf.h"
#include "base/mem.h"
#include "base/process/process.h"
#include "base/support.h"

#define BIG 1000000
#define PATIENCE_MS 60000

static char folder[64];
static char marker[96]; /* a file in it, that a program makes */
static size_t fds_before;
static size_t live_before;

static size_t
count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    (void)closedir(dir);
    return count;
}

static int
setup(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/cascade-program.XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(marker, sizeof(marker), "%s/marker", folder);
    fds_before = count_fds();
    live_before = csc_mem_live();
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    (void)unlink(marker);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(count_fds(), fds_before);
    assert_int_equal(csc_mem_live(), live_before);
    return 0;
}

/* ---- Programs ----------------------------------------------------------- */

/* The spec of a shell that runs `script`, with $0 the marker's name. */
#define SHELL(script)                                                    \
    {                                                                    \
        .argv = (const char *const[]){"sh", "-c", script, marker, NULL}, \
        .output_max = (size_t)2 * BIG, .grace_ms = PATIENCE_MS           \
    }

static const char *
text_of(const csc_buf *output)
{
    return output->data != NULL ? output->data : "";
}

static void
run_ok(const csc_process_spec *spec, csc_process_end *end)
{
    if (csc_process_run(spec, end) != CASCADE_OK)
        fail_msg("%s", cascade_errmsg());
}

/* It exits with 0 and has written `output`. */
static void
check_output(const csc_process_spec *spec, const char *output)
{
    csc_process_end end;

    run_ok(spec, &end);
    assert_string_equal(text_of(&end.output[1]), "");
    assert_string_equal(text_of(&end.output[0]), output);
    assert_int_equal(end.exit_code, 0);
    assert_int_equal(end.signal, 0);
    csc_process_free_end(&end);
}

static void
check_fails(const csc_process_spec *spec, cascade_err err, const char *what,
            const char *why)
{
    csc_process_end end;

    assert_int_equal(csc_process_run(spec, &end), err);
    assert_non_null(strstr(cascade_errmsg(), what));
    assert_non_null(strstr(cascade_errmsg(), why));
    csc_process_free_end(&end);
}

static bool
has_marker(void *context)
{
    (void)context;
    return access(marker, F_OK) == 0;
}

/* Whether the only child, which stays as it is, is in one of these states. */
static bool
is_child(int states)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_ALL, 0, &info, states | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
}

static bool
is_stopped(void *context)
{
    (void)context;
    return is_child(WSTOPPED);
}

/* Makes the marker once it has been asked again after the program's end: who
 * asks has seen that and waits for what the program had started. */
static bool
mark_the_end(void *context)
{
    int *times = context;

    if (!is_child(WEXITED) || ++*times != 2)
        return false;
    (void)close(open(marker, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    return false;
}

/* Waits until the process is gone or a zombie (of whoever inherited it). */
static void
await_death(long pid)
{
    assert_true(pid > 1);
    for (int ms = 0; csc_clock_process_start(pid) >= 0; ms++) {
        assert_true(ms < PATIENCE_MS);
        (void)poll(NULL, 0, 1);
    }
}

static long
read_marker(void)
{
    FILE *file = fopen(marker, "r");
    long pid = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld", &pid), 1);
    (void)fclose(file);
    return pid;
}

/* Runs `fn` in a process of its own; it must return 0. */
static void
check_apart(int (*fn)(void))
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0)
        _exit(fn());
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- Ends --------------------------------------------------------------- */

static void
an_exit_status_is_told(void **state)
{
    const csc_process_spec seven = SHELL("exit 7");
    const csc_process_spec killed = SHELL("kill -USR1 $$");
    const csc_process_spec fine = {.argv = (const char *const[]){"true", NULL}};
    csc_process_end end;

    (void)state;
    run_ok(&seven, &end);
    assert_int_equal(end.exit_code, 7);
    assert_int_equal(end.signal, 0);
    csc_process_free_end(&end);
    run_ok(&killed, &end);
    assert_int_equal(end.exit_code, -1);
    assert_int_equal(end.signal, SIGUSR1);
    assert_false(end.timed_out || end.cancelled);
    csc_process_free_end(&end);
    check_output(&fine, "");
}

static void
a_program_that_cannot_be_started_is_an_error(void **state)
{
    csc_process_spec spec = SHELL("exit 0");

    (void)state;
    spec.folder = "/nonexistent";
    check_fails(&spec, CASCADE_ERR_SYSTEM, "folder /nonexistent",
                "No such file or directory");
    spec.folder = NULL;
    spec.argv = (const char *const[]){"no-such-program", NULL};
    check_fails(&spec, CASCADE_ERR_SYSTEM, "no-such-program",
                "No such file or directory");
    spec.argv = (const char *const[]){"/etc/passwd", NULL};
    check_fails(&spec, CASCADE_ERR_SYSTEM, "/etc/passwd", "Permission denied");
    spec.argv = (const char *const[]){"sh", "-c", "exit 0", NULL};
    spec.env = (const char *const[]){"PATH=:/nonexistent:", NULL};
    check_fails(&spec, CASCADE_ERR_SYSTEM, "sh", "No such file or directory");
}

/* What is found first but may not be executed is passed over. */
static void
the_program_is_looked_up_in_path(void **state)
{
    char path[128];
    char hidden[80];
    csc_process_spec spec = {.argv = (const char *const[]){"true", NULL},
                             .env = (const char *const[]){path, NULL}};
    int fd = -1;

    (void)state;
    (void)snprintf(path, sizeof(path), "PATH=%s:/usr/bin:/bin", folder);
    (void)snprintf(hidden, sizeof(hidden), "%s/true", folder);
    fd = open(hidden, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(close(fd), 0);
    check_output(&spec, "");
    path[strlen("PATH=") + strlen(folder)] = '\0';
    check_fails(&spec, CASCADE_ERR_SYSTEM, "true", "Permission denied");
    assert_int_equal(unlink(hidden), 0);
}

static void
a_script_needs_its_first_line(void **state)
{
    csc_process_spec spec = {.argv = (const char *const[]){marker, NULL}};
    int fd = open(marker, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

    (void)state;
    assert_int_equal(write(fd, "exit 0\n", 7), 7);
    assert_int_equal(close(fd), 0);
    check_fails(&spec, CASCADE_ERR_SYSTEM, marker, "Exec format error");
}

/* ---- Outputs ------------------------------------------------------------ */

/* More than any pipe holds, in both at once. */
#define FLOOD                                       \
    "(head -c 1000000 /dev/zero | tr '\\0' a) & "   \
    "(head -c 1000000 /dev/zero | tr '\\0' b) >&2;" \
    " wait"

static void
both_outputs_are_read_at_once(void **state)
{
    const csc_process_spec spec = SHELL(FLOOD);
    csc_process_end end;

    (void)state;
    run_ok(&spec, &end);
    assert_int_equal(end.exit_code, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(end.output[i].len, BIG);
        assert_int_equal(end.output[i].data[0], 'a' + i);
        assert_int_equal(end.output[i].data[BIG - 1], 'a' + i);
        assert_false(end.truncated[i]);
    }
    csc_process_free_end(&end);
}

static void
what_exceeds_the_limit_is_dropped(void **state)
{
    csc_process_spec spec = SHELL(FLOOD);
    csc_process_end end;

    (void)state;
    for (spec.output_max = 0; spec.output_max <= BIG;
         spec.output_max += BIG / 2) {
        run_ok(&spec, &end);
        assert_int_equal(end.exit_code, 0);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(end.output[i].len, spec.output_max);
            assert_int_equal(end.truncated[i], spec.output_max < BIG);
        }
        csc_process_free_end(&end);
    }
}

static void
an_output_may_be_binary(void **state)
{
    const csc_process_spec spec = SHELL("printf 'a\\000\\377\\n'");
    csc_process_end end;

    (void)state;
    run_ok(&spec, &end);
    assert_int_equal(end.output[0].len, 4);
    assert_memory_equal(end.output[0].data, "a\0\377\n", 4);
    csc_process_free_end(&end);
}

/* ---- Surroundings ------------------------------------------------------- */

static void
the_input_is_what_was_given(void **state)
{
    csc_process_spec spec = SHELL("cat");
    char *big = support_repeat("x", BIG);

    (void)state;
    check_output(&spec, "");
    spec.input = "two\nlines\n";
    check_output(&spec, "two\nlines\n");
    spec.input = "";
    check_output(&spec, "");
    spec.input = big;
    check_output(&spec, big);
    spec.argv = (const char *const[]){"sh", "-c", "cat /dev/stdin", NULL};
    check_output(&spec, big);
    /* Nobody reads it: no SIGPIPE, no wait. */
    spec.argv = (const char *const[]){"true", NULL};
    check_output(&spec, "");
    csc_mem_free(big);
}

static void
the_environment_is_what_was_given(void **state)
{
    csc_process_spec spec = {.argv = (const char *const[]){"env", NULL},
                             .output_max = BIG};

    (void)state;
    spec.env =
        (const char *const[]){"A=1", "X=old", "XY=2", "PATH=/usr/bin", NULL};
    check_output(&spec, "A=1\nX=old\nXY=2\nPATH=/usr/bin\n");
    spec.extra = "X=new";
    check_output(&spec, "A=1\nXY=2\nPATH=/usr/bin\nX=new\n");
    spec.env = (const char *const[]){NULL};
    check_output(&spec, "X=new\n");
    spec.env = NULL;
    assert_int_equal(setenv("INHERITED", "yes", 1), 0);
    spec.argv = (const char *const[]){"sh", "-c", "echo $INHERITED $X", NULL};
    check_output(&spec, "yes new\n");
    assert_int_equal(unsetenv("INHERITED"), 0);
}

static void
the_folder_is_what_was_given(void **state)
{
    csc_process_spec spec = SHELL("pwd");
    char expected[80];

    (void)state;
    spec.folder = folder;
    (void)snprintf(expected, sizeof(expected), "%s\n", folder);
    check_output(&spec, expected);
}

/* Descriptor 3 is that with which ls reads the folder. */
static int
list_descriptors(void)
{
    const csc_process_spec spec = {
        .argv = (const char *const[]){"ls", "/proc/self/fd", NULL},
        .output_max = BIG,
        .grace_ms = PATIENCE_MS};
    csc_process_end end = {0};
    int low = open("/dev/null", O_RDONLY);
    int high = fcntl(low, F_DUPFD, 500);
    bool good = low > 2 && high >= 500 &&
                csc_process_run(&spec, &end) == CASCADE_OK &&
                end.exit_code == 0 &&
                strcmp(text_of(&end.output[0]), "0\n1\n2\n3\n") == 0;

    (void)close(low);
    (void)close(high);
    csc_process_free_end(&end);
    return good ? 0 : 1;
}

static void
no_descriptor_is_inherited(void **state)
{
    (void)state;
    assert_int_equal(list_descriptors(), 0);
}

/* As if the kernel had neither close_range() nor pidfd_open(). */
static int
use_an_old_kernel(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 2;
    if (close_range(500, 500, 0) == 0 || errno != ENOSYS)
        return 3;
    return list_descriptors();
}

static void
an_old_kernel_does_as_well(void **state)
{
    (void)state;
    check_apart(use_an_old_kernel);
}

static int
close_the_standard_ones(void)
{
    const csc_process_spec spec = SHELL("cat; echo out; echo err >&2");
    csc_process_spec with_input = spec;
    csc_process_end end;
    bool good = false;

    for (int i = 0; i < 3; i++)
        (void)close(i);
    with_input.input = "in\n";
    good = csc_process_run(&with_input, &end) == CASCADE_OK &&
           strcmp(text_of(&end.output[0]), "in\nout\n") == 0 &&
           strcmp(text_of(&end.output[1]), "err\n") == 0;
    csc_process_free_end(&end);
    return good ? 0 : 1;
}

static void
the_host_may_have_closed_its_standard_descriptors(void **state)
{
    (void)state;
    check_apart(close_the_standard_ones);
}

static void
signals_are_at_their_defaults(void **state)
{
    const csc_process_spec spec = {
        .argv = (const char *const[]){"grep", "-E", "^Sig(Blk|Ign)",
                                      "/proc/self/status", NULL},
        .output_max = BIG};
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    sigset_t usual;
    sigset_t blocked;
    sigset_t after;

    (void)state;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGTERM);
    (void)pthread_sigmask(SIG_SETMASK, &blocked, &usual);
    check_output(&spec, "SigBlk:\t0000000000000000\n"
                        "SigIgn:\t0000000000000000\n");
    (void)pthread_sigmask(SIG_SETMASK, &usual, &after);
    assert_int_equal(sigismember(&after, SIGTERM), 1);
    assert_int_equal(sigismember(&after, SIGUSR1), 0);
    assert_ptr_equal(signal(SIGPIPE, before), SIG_IGN);
}

static void
it_leads_a_session_of_its_own(void **state)
{
    const csc_process_spec spec =
        SHELL("set -- $(cat /proc/$$/stat); [ $5 = $$ ] && [ $6 = $$ ]");

    (void)state;
    check_output(&spec, "");
}

static void
limits_hold(void **state)
{
    csc_process_spec spec =
        SHELL("ulimit -t; ulimit -v; ulimit -f; ulimit -n; ulimit -H -n");
    csc_process_end end;

    (void)state;
    spec.limits = (csc_process_limits){.cpu_s = 100,
                                       .memory_bytes = INT64_C(1) << 30,
                                       .file_bytes = 5120,
                                       .open_files = 20};
    check_output(&spec, "100\n1048576\n10\n20\n20\n");
    spec.argv = (const char *const[]){"true", NULL};
    spec.limits = (csc_process_limits){.cpu_s = INT32_MAX,
                                       .memory_bytes = INT64_MAX,
                                       .file_bytes = INT64_MAX,
                                       .open_files = INT32_MAX};
    check_output(&spec, "");
    spec.argv = (const char *const[]){"sh", "-c", "while :; do :; done", NULL};
    spec.limits = (csc_process_limits){.cpu_s = 1};
    run_ok(&spec, &end);
    assert_int_equal(end.signal, SIGXCPU);
    csc_process_free_end(&end);
}

/* ---- Ended before its time ---------------------------------------------- */

static void
what_it_started_does_not_outlive_it(void **state)
{
    csc_process_spec spec = SHELL("sleep 600 & echo $!");
    csc_process_end end;

    (void)state;
    spec.grace_ms = 10;
    run_ok(&spec, &end);
    assert_int_equal(end.exit_code, 0);
    await_death(strtol(text_of(&end.output[0]), NULL, 10));
    csc_process_free_end(&end);
    /* Nor when it does not hold the outputs. */
    spec.grace_ms = PATIENCE_MS;
    spec.argv = (const char *const[]){
        "sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!", NULL};
    run_ok(&spec, &end);
    await_death(strtol(text_of(&end.output[0]), NULL, 10));
    csc_process_free_end(&end);
}

static void
what_it_started_may_write_for_the_grace(void **state)
{
    csc_process_spec spec =
        SHELL("(while [ ! -e \"$0\" ]; do sleep 0.01; done; echo late) & "
              "exit 0");
    int times = 0;

    (void)state;
    spec.cancelled = mark_the_end;
    spec.context = &times;
    check_output(&spec, "late\n");
    assert_true(times >= 2);
}

/* What it has written itself is read, however little time is left. */
static void
no_output_is_lost_for_want_of_grace(void **state)
{
    csc_process_spec spec = SHELL("head -c 60000 /dev/zero; sleep 600 &");
    csc_process_end end;

    (void)state;
    spec.grace_ms = 0;
    for (int i = 0; i < 10; i++) {
        run_ok(&spec, &end);
        assert_int_equal(end.output[0].len, 60000);
        csc_process_free_end(&end);
    }
}

/* Until the machine was quick enough for it to have ignored SIGTERM in time. */
static void
a_timeout_ends_a_group_that_ignores_sigterm(void **state)
{
    csc_process_spec spec =
        SHELL("trap '' TERM; sleep 600 & echo $!; wait; sleep 600");
    csc_process_end end = {0};
    long pid = 0;

    (void)state;
    spec.grace_ms = 20;
    for (spec.timeout_ms = 50; pid == 0; spec.timeout_ms *= 2) {
        assert_true(spec.timeout_ms < PATIENCE_MS);
        run_ok(&spec, &end);
        assert_true(end.timed_out);
        assert_false(end.cancelled);
        assert_true(end.elapsed_ms >= spec.timeout_ms);
        assert_int_equal(end.exit_code, -1);
        pid = strtol(text_of(&end.output[0]), NULL, 10);
        if (pid != 0)
            assert_int_equal(end.signal, SIGKILL);
        csc_process_free_end(&end);
    }
    await_death(pid);
}

static void
a_cancelled_program_may_end_in_its_own_way(void **state)
{
    csc_process_spec spec = SHELL("trap 'echo bye; exit 3' TERM; "
                                  "sleep 600 & : >\"$0\"; wait");
    csc_process_end end;

    (void)state;
    spec.cancelled = has_marker;
    run_ok(&spec, &end);
    assert_true(end.cancelled);
    assert_false(end.timed_out);
    assert_int_equal(end.exit_code, 3);
    assert_string_equal(text_of(&end.output[0]), "bye\n");
    csc_process_free_end(&end);
}

static void
a_stopped_program_can_be_cancelled(void **state)
{
    csc_process_spec spec = SHELL("kill -STOP $$");
    csc_process_end end;

    (void)state;
    spec.cancelled = is_stopped;
    run_ok(&spec, &end);
    assert_true(end.cancelled);
    assert_int_equal(end.signal, SIGTERM);
    csc_process_free_end(&end);
}

/* ---- The host ----------------------------------------------------------- */

static int
be_a_host(void)
{
    const csc_process_spec spec = SHELL("echo $$ >\"$0.new\"; mv \"$0.new\" "
                                        "\"$0\"; exec sleep 600");
    csc_process_end end;

    (void)csc_process_run(&spec, &end);
    return 0;
}

static void
it_dies_with_its_host(void **state)
{
    pid_t host = fork();

    (void)state;
    if (host == 0)
        _exit(be_a_host());
    assert_true(host > 0);
    for (int ms = 0; !has_marker(NULL); ms++) {
        assert_true(ms < PATIENCE_MS);
        (void)poll(NULL, 0, 1);
    }
    assert_int_equal(kill(host, SIGKILL), 0);
    assert_int_equal(waitpid(host, NULL, 0), host);
    await_death(read_marker());
}

static void
nothing_is_run_where_sigchld_is_ignored(void **state)
{
    const csc_process_spec spec = SHELL(": >\"$0\"");
    struct sigaction before;
    struct sigaction no_wait = {.sa_handler = SIG_DFL,
                                .sa_flags = SA_NOCLDWAIT};

    (void)state;
    assert_int_equal(sigaction(SIGCHLD, &no_wait, &before), 0);
    check_fails(&spec, CASCADE_ERR_MISUSE, "SIGCHLD", "ignored");
    (void)signal(SIGCHLD, SIG_IGN);
    check_fails(&spec, CASCADE_ERR_MISUSE, "SIGCHLD", "ignored");
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
    assert_false(has_marker(NULL));
    check_output(&spec, "");
    assert_true(has_marker(NULL));
}

static void
reap_all(int number)
{
    int saved = errno;

    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    errno = saved;
}

static void
a_host_that_reaps_all_children_is_an_error(void **state)
{
    const csc_process_spec spec = SHELL("exit 0");
    void (*before)(int) = signal(SIGCHLD, reap_all);

    (void)state;
    check_fails(&spec, CASCADE_ERR_SYSTEM, "exit status of sh", "children");
    (void)signal(SIGCHLD, before);
}

static int
limit_the_host(void)
{
    const struct rlimit ten = {10, RLIM_INFINITY};
    csc_process_spec spec = SHELL("cat");
    csc_process_end end;
    bool good = setrlimit(RLIMIT_FSIZE, &ten) == 0;

    spec.input = "ten bytes.";
    good = csc_process_run(&spec, &end) == CASCADE_OK && good;
    csc_process_free_end(&end);
    spec.input = "ten bytes. ";
    good = csc_process_run(&spec, &end) == CASCADE_ERR_TOO_LARGE && good;
    csc_process_free_end(&end);
    return good ? 0 : 1;
}

/* Writing more than that would end it with SIGXFSZ. */
static void
the_host_may_be_limited_in_file_size(void **state)
{
    (void)state;
    check_apart(limit_the_host);
}

static void
the_lack_of_memory_is_an_error(void **state)
{
    csc_process_spec spec = SHELL("echo some; echo more >&2");
    csc_process_end end;
    cascade_err err = CASCADE_ERR_NO_MEMORY;

    (void)state;
    spec.extra = "X=1";
    for (size_t nth = 1; err == CASCADE_ERR_NO_MEMORY; nth++) {
        assert_true(nth < 100);
        (void)csc_mem_fail_at(nth, 0);
        err = csc_process_run(&spec, &end);
        if (csc_mem_fail_at(0, 0) >= nth)
            assert_int_equal(err, CASCADE_ERR_NO_MEMORY);
        csc_process_free_end(&end);
    }
    assert_int_equal(err, CASCADE_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_exit_status_is_told),
        TEST(a_program_that_cannot_be_started_is_an_error),
        TEST(the_program_is_looked_up_in_path),
        TEST(a_script_needs_its_first_line),
        TEST(both_outputs_are_read_at_once),
        TEST(what_exceeds_the_limit_is_dropped),
        TEST(an_output_may_be_binary),
        TEST(the_input_is_what_was_given),
        TEST(the_environment_is_what_was_given),
        TEST(the_folder_is_what_was_given),
        TEST(no_descriptor_is_inherited),
        TEST(an_old_kernel_does_as_well),
        TEST(the_host_may_have_closed_its_standard_descriptors),
        TEST(signals_are_at_their_defaults),
        TEST(it_leads_a_session_of_its_own),
        TEST(limits_hold),
        TEST(what_it_started_does_not_outlive_it),
        TEST(what_it_started_may_write_for_the_grace),
        TEST(no_output_is_lost_for_want_of_grace),
        TEST(a_timeout_ends_a_group_that_ignores_sigterm),
        TEST(a_cancelled_program_may_end_in_its_own_way),
        TEST(a_stopped_program_can_be_cancelled),
        TEST(it_dies_with_its_host),
        TEST(nothing_is_run_where_sigchld_is_ignored),
        TEST(a_host_that_reaps_all_children_is_an_error),
        TEST(the_host_may_be_limited_in_file_size),
        TEST(the_lack_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
