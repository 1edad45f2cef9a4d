/* SPDX-License-Identifier: MIT
 *
 * Times as text, the clocks, the randomness, and who a process is.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/support.h"

#define FIRST_MS INT64_C(-62135596800000)
#define LAST_MS INT64_C(253402300799999)

static void
known_times_have_known_texts(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } table[] = {
        {0, "1970-01-01 00:00:00.000"},
        {-1, "1969-12-31 23:59:59.999"},
        {-1000, "1969-12-31 23:59:59.000"},
        {-86400000, "1969-12-31 00:00:00.000"},
        {-86400001, "1969-12-30 23:59:59.999"},
        {951782400000, "2000-02-29 00:00:00.000"},
        {951868799999, "2000-02-29 23:59:59.999"},
        {951868800000, "2000-03-01 00:00:00.000"},
        {4107542399999, "2100-02-28 23:59:59.999"},
        {4107542400000, "2100-03-01 00:00:00.000"},
        {1709164800000, "2024-02-29 00:00:00.000"},
        {1735689599999, "2024-12-31 23:59:59.999"},
        {2147483647000, "2038-01-19 03:14:07.000"},
        {1769903999999, "2026-01-31 23:59:59.999"},
        {FIRST_MS, "0001-01-01 00:00:00.000"},
        {LAST_MS, "9999-12-31 23:59:59.999"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char text[CSC_TIME_TEXT_SIZE];
        int64_t ms = 77;

        assert_ptr_equal(csc_clock_format(table[i].ms, text), text);
        assert_string_equal(text, table[i].text);
        assert_int_equal(csc_clock_parse(text, &ms), 0);
        assert_true(ms == table[i].ms);
    }
}

static void
times_outside_the_years_are_written_as_the_nearest(void **state)
{
    static const int64_t before[] = {FIRST_MS - 1, INT64_MIN};
    static const int64_t behind[] = {LAST_MS + 1, INT64_MAX};
    char text[CSC_TIME_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(csc_clock_format(before[i], text),
                            "0001-01-01 00:00:00.000");
        assert_string_equal(csc_clock_format(behind[i], text),
                            "9999-12-31 23:59:59.999");
    }
}

/* What the C library says about the same moment. */
static void
check_against_libc(int64_t ms)
{
    int64_t in_second = (ms % 1000 + 1000) % 1000;
    time_t seconds = (time_t)((ms - in_second) / 1000);
    char expected[64];
    char text[CSC_TIME_TEXT_SIZE];
    struct tm parts;
    int64_t again = 0;

    assert_non_null(gmtime_r(&seconds, &parts));
    (void)snprintf(expected, sizeof(expected),
                   "%04d-%02d-%02d %02d:%02d:%02d.%03d", parts.tm_year + 1900,
                   parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
                   parts.tm_sec, (int)in_second);
    assert_string_equal(csc_clock_format(ms, text), expected);
    assert_int_equal(csc_clock_parse(text, &again), 0);
    assert_true(again == ms);
}

static void
every_day_agrees_with_the_c_library(void **state)
{
    support_rng rng = support_rng_open("every_day_agrees");
    uint64_t range = (uint64_t)(LAST_MS - FIRST_MS) + 1;

    (void)state;
    for (int64_t ms = FIRST_MS; ms <= LAST_MS; ms += INT64_C(86400000) * 13)
        check_against_libc(ms);
    for (int i = 0; i < 100000; i++)
        check_against_libc(FIRST_MS +
                           (int64_t)(support_rng_next(&rng) % range));
}

static void
other_spellings_of_a_time_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } table[] = {
        {"1970-01-01 00:00:01", 1000},
        {"1970-01-01T00:00:01", 1000},
        {"1970-01-01T00:00:01Z", 1000},
        {"1970-01-01 00:00:01+00", 1000},
        {"1970-01-01 00:00:01.5", 1500},
        {"1970-01-01 00:00:01.05", 1050},
        {"1970-01-01 00:00:01.123", 1123},
        {"1970-01-01 00:00:01.1239", 1123},
        {"1970-01-01T00:00:01.123456Z", 1123},
        {"1970-01-01 00:00:01.999999+00", 1999},
        {"1969-12-31 23:59:59.9999", -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        int64_t ms = 77;

        if (csc_clock_parse(table[i].text, &ms) != 0)
            fail_msg("refused %s", table[i].text);
        assert_true(ms == table[i].ms);
    }
}

static void
times_are_written_to_the_microsecond(void **state)
{
    static const struct {
        int64_t us;
        const char *text;
    } table[] = {
        {0, "1970-01-01 00:00:00.000000"},
        {-1, "1969-12-31 23:59:59.999999"},
        {-1000001, "1969-12-31 23:59:58.999999"},
        {INT64_C(1769903999999042), "2026-01-31 23:59:59.999042"},
        {FIRST_MS * 1000, "0001-01-01 00:00:00.000000"},
        {LAST_MS * 1000 + 999, "9999-12-31 23:59:59.999999"},
    };
    char text[CSC_TIME_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        int64_t us = 77;

        assert_ptr_equal(csc_clock_format_us(table[i].us, text), text);
        assert_string_equal(text, table[i].text);
        assert_int_equal(csc_clock_parse_us(text, &us), 0);
        assert_true(us == table[i].us);
    }
    assert_string_equal(csc_clock_format_us(INT64_MIN, text), table[4].text);
    assert_string_equal(csc_clock_format_us(INT64_MAX, text), table[5].text);
}

static void
milliseconds_become_microseconds_and_back(void **state)
{
    static const int64_t pairs[][2] = {{-1001, -2}, {-1000, -1}, {-1, -1},
                                       {0, 0},      {999, 0},    {1000, 1},
                                       {1999, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        assert_true(csc_clock_us_to_ms(pairs[i][0]) == pairs[i][1]);
    assert_true(csc_clock_ms_to_us(-7) == -7000);
    assert_true(csc_clock_ms_to_us(INT64_MAX / 1000 + 1) == INT64_MAX);
    assert_true(csc_clock_ms_to_us(INT64_MIN) == INT64_MIN);
}

static void
texts_that_are_no_times_are_refused(void **state)
{
    static const char *const table[] = {
        "",
        "1970-01-01",
        "1970-01-01 00:00",
        "1970-01-01 00:00:0",
        "1970-01-01 00:00:00.",
        "1970-01-01 00:00:00.1234567",
        "1970-01-01 00:00:00 ",
        "1970-01-01 00:00:00z",
        "1970-01-01 00:00:00+01",
        "1970-01-01 00:00:00+00:00",
        "1970-01-01  00:00:00",
        "1970-01-01_00:00:00",
        " 1970-01-01 00:00:00",
        "70-01-01 00:00:00",
        "0000-01-01 00:00:00",
        "-001-01-01 00:00:00",
        "10000-01-01 00:00:00",
        "1970-00-01 00:00:00",
        "1970-13-01 00:00:00",
        "1970-01-00 00:00:00",
        "1970-01-32 00:00:00",
        "1970-04-31 00:00:00",
        "1970-06-31 00:00:00",
        "1970-09-31 00:00:00",
        "1970-11-31 00:00:00",
        "2023-02-29 00:00:00",
        "2024-02-30 00:00:00",
        "2100-02-29 00:00:00",
        "1970-01-01 24:00:00",
        "1970-01-01 00:60:00",
        "1970-01-01 00:00:60",
        "infinity",
        "now",
        NULL,
    };
    int64_t ms = 77;

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (csc_clock_parse(table[i], &ms) != -1)
            fail_msg("accepted %s", table[i]);
    }
    assert_true(ms == 77);
}

static void
sums_stop_at_the_ends(void **state)
{
    (void)state;
    assert_true(csc_clock_add(1, 2) == 3);
    assert_true(csc_clock_add(INT64_MAX, 1) == INT64_MAX);
    assert_true(csc_clock_add(INT64_MAX, INT64_MAX) == INT64_MAX);
    assert_true(csc_clock_add(INT64_MIN, -1) == INT64_MIN);
    assert_true(csc_clock_add(INT64_MIN, INT64_MAX) == -1);
}

static int64_t
realtime_ms(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Asked again where somebody has set the clock back meanwhile. */
static void
the_clocks_tell_the_time(void **state)
{
    int64_t before = csc_clock_monotonic_ms(&csc_clock_system);
    int64_t between = csc_clock_system.monotonic_ns(NULL);
    bool told = false;

    (void)state;
    for (int i = 0; i < 3 && !told; i++) {
        int64_t first = realtime_ms();
        int64_t wall = csc_clock_wall_ms(&csc_clock_system);

        told = first <= wall && wall <= realtime_ms();
    }
    assert_true(told);
    assert_true(before <= between / CSC_MS_NS);
    assert_true(between <= csc_clock_system.monotonic_ns(NULL));
}

/* ---- Randomness --------------------------------------------------------- */

/* The bits set in 4,096 bytes are within six and a half sigma of the mean. */
static bool
looks_random(void)
{
    unsigned char bytes[4096];
    size_t bits = 0;

    memset(bytes, 0, sizeof(bytes));
    csc_random_system.fill(NULL, bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        bits += (size_t)__builtin_popcount(bytes[i]);
    return bits > 15800 && bits < 16970; /* 16,384, sigma 90 */
}

static void
the_system_gives_random_numbers(void **state)
{
    (void)state;
    assert_true(looks_random());
    assert_true(csc_clock_random_u64(&csc_random_system) !=
                csc_clock_random_u64(&csc_random_system));
}

/* Fails each of the two system calls with EPERM from here on. */
static bool
forbid(uint32_t one, uint32_t other)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the call's number */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {5, filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void
without_getrandom_the_numbers_are_random_too(void **state)
{
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        char byte;
        bool good = forbid(SYS_getrandom, SYS_getrandom) &&
                    getrandom(&byte, 1, 0) == -1 && looks_random();

        _exit(good ? 0 : 1);
    }
    assert_true(support_succeeded(child));
}

/* Neither the call nor the file: libuuid makes do with what is left. */
static void
without_the_kernel_the_numbers_differ_too(void **state)
{
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        bool good = forbid(SYS_getrandom, SYS_openat) &&
                    open("/dev/urandom", O_RDONLY) == -1 && looks_random();

        _exit(good ? 0 : 1);
    }
    assert_true(support_succeeded(child));
}

static void
a_forked_child_draws_other_numbers(void **state)
{
    int pipe_ends[2];
    uint64_t of_child = 0;
    pid_t child;

    (void)state;
    (void)csc_clock_random_u64(&csc_random_system);
    assert_int_equal(pipe(pipe_ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint64_t number = csc_clock_random_u64(&csc_random_system);

        _exit(write(pipe_ends[1], &number, sizeof(number)) ==
                      (ssize_t)sizeof(number)
                  ? 0
                  : 1);
    }
    assert_true(support_succeeded(child));
    assert_int_equal(read(pipe_ends[0], &of_child, sizeof(of_child)),
                     sizeof(of_child));
    assert_true(of_child != csc_clock_random_u64(&csc_random_system));
    (void)close(pipe_ends[0]);
    (void)close(pipe_ends[1]);
}

/* ---- Processes ---------------------------------------------------------- */

static void
the_host_is_named_the_same_each_time(void **state)
{
    char first[CSC_HOST_SIZE];
    char second[CSC_HOST_SIZE];

    (void)state;
    memset(first, 1, sizeof(first));
    memset(second, 2, sizeof(second));
    csc_clock_host(first);
    csc_clock_host(second);
    assert_string_equal(first, second);
    assert_true(strlen(first) > 36);
    assert_int_equal(first[36], '/');
    assert_null(strchr(first, '\n'));
}

/* Not before the machine, and not long ago. */
static void
a_living_process_has_its_start_time(void **state)
{
    int64_t start = csc_clock_process_start(getpid());
    FILE *uptime = fopen("/proc/uptime", "r");
    double seconds = 0;

    (void)state;
    assert_non_null(uptime);
    assert_int_equal(fscanf(uptime, "%lf", &seconds), 1);
    (void)fclose(uptime);
    assert_true(start > 0);
    assert_true((double)start / (double)sysconf(_SC_CLK_TCK) <= seconds);
    assert_true((double)start / (double)sysconf(_SC_CLK_TCK) > seconds - 600);
    assert_true(start == csc_clock_process_start(getpid()));
    assert_true(csc_clock_process_start(getppid()) <= start);
}

/* In a child: until it is killed, or the test has ended without that. */
_Noreturn static void
wait_for_the_end(int ready_fd)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)!write(ready_fd, "r", 1);
    for (;;)
        (void)pause();
}

/* A child that waits until it is killed, with a name made to confuse. */
static void
a_name_with_parentheses_does_not_confuse(void **state)
{
    int pipe_ends[2];
    pid_t child;
    char ready = 0;

    (void)state;
    assert_int_equal(pipe(pipe_ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (prctl(PR_SET_NAME, "a) Z 1 (b) X") != 0)
            _exit(1);
        wait_for_the_end(pipe_ends[1]);
    }
    (void)close(pipe_ends[1]); /* so that a dead child is no wait for ever */
    assert_int_equal(read(pipe_ends[0], &ready, 1), 1);
    assert_true(csc_clock_process_start(child) >=
                csc_clock_process_start(getpid()));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_false(support_succeeded(child));
    (void)close(pipe_ends[0]);
}

static void
zombies_and_strangers_count_as_none(void **state)
{
    siginfo_t info;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(csc_clock_process_start(child), -1); /* a zombie */
    assert_true(support_succeeded(child));
    assert_int_equal(csc_clock_process_start(child), -1); /* gone */
    assert_int_equal(csc_clock_process_start(0), -1);
    assert_int_equal(csc_clock_process_start(-1), -1);
    assert_int_equal(csc_clock_process_start(INT64_MAX), -1);
}

static int thread_pipe[2];

/* Waits until the first thread is a zombie, says so, and waits for ever. */
static void *
outlive_the_first_thread(void *arg)
{
    char path[64];
    char state = 0;

    (void)arg;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", getpid(),
                   getpid());
    while (state != 'Z') {
        FILE *file = fopen(path, "r");

        if (file == NULL || fscanf(file, "%*d %*s %c", &state) != 1)
            _exit(1);
        (void)fclose(file);
    }
    wait_for_the_end(thread_pipe[1]);
}

static void
a_process_outlives_its_first_thread(void **state)
{
    pid_t child;
    char ready = 0;

    (void)state;
    assert_int_equal(pipe(thread_pipe), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, outlive_the_first_thread, NULL) != 0)
            _exit(1);
        pthread_exit(NULL);
    }
    (void)close(thread_pipe[1]);
    assert_int_equal(read(thread_pipe[0], &ready, 1), 1);
    assert_true(csc_clock_process_start(child) > 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_false(support_succeeded(child));
    (void)close(thread_pipe[0]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_times_have_known_texts),
        cmocka_unit_test(times_outside_the_years_are_written_as_the_nearest),
        cmocka_unit_test(every_day_agrees_with_the_c_library),
        cmocka_unit_test(other_spellings_of_a_time_are_read),
        cmocka_unit_test(times_are_written_to_the_microsecond),
        cmocka_unit_test(milliseconds_become_microseconds_and_back),
        cmocka_unit_test(texts_that_are_no_times_are_refused),
        cmocka_unit_test(sums_stop_at_the_ends),
        cmocka_unit_test(the_clocks_tell_the_time),
        cmocka_unit_test(the_system_gives_random_numbers),
        cmocka_unit_test(without_getrandom_the_numbers_are_random_too),
        cmocka_unit_test(without_the_kernel_the_numbers_differ_too),
        cmocka_unit_test(a_forked_child_draws_other_numbers),
        cmocka_unit_test(the_host_is_named_the_same_each_time),
        cmocka_unit_test(a_living_process_has_its_start_time),
        cmocka_unit_test(a_name_with_parentheses_does_not_confuse),
        cmocka_unit_test(zombies_and_strangers_count_as_none),
        cmocka_unit_test(a_process_outlives_its_first_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
