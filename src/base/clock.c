/* SPDX-License-Identifier: MIT
 *
 * The system's clocks and randomness, the identity of this process, and times
 * as text.
 *
 * Times as text are computed here, not by gmtime_r() and timegm(): those look
 * at the time zone and the locale of the host and are slow. The calendar is the
 * proleptic Gregorian one, as in PostgreSQL. A year begins in March, so that
 * the leap day is the last: then the days before month m (March = 0) are
 * (153 m + 2) / 5, and 400 years, an "era", have 146,097 days.
 *
 * The digits of the fraction are always three, or six: texts of equal length
 * sort like times. A time outside the years 0001 to 9999 is written as the
 * nearest inside.
 */
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/digest/sha256.h"
#include "cascade/cascade.h"

#define DAY_US INT64_C(86400000000)
#define SECOND_US INT64_C(1000000)
#define ERA_DAYS 146097
#define EPOCH_DAYS 719468 /* 0000-03-01 to 1970-01-01 */
/* 0001-01-01 00:00:00.000000, 9999-12-31 23:59:59.999999 */
#define FIRST_US INT64_C(-62135596800000000)
#define LAST_US INT64_C(253402300799999999)

static int64_t
read_clock_ns(clockid_t clock)
{
    struct timespec now = {0};

    (void)clock_gettime(clock, &now); /* cannot fail for these clocks */
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t
system_wall_ms(void *context)
{
    (void)context;
    return read_clock_ns(CLOCK_REALTIME) / CSC_MS_NS;
}

static int64_t
system_monotonic_ns(void *context)
{
    (void)context;
    return read_clock_ns(CLOCK_MONOTONIC);
}

const cascade_clock csc_clock_system = {
    .wall_ms = system_wall_ms,
    .monotonic_ns = system_monotonic_ns,
};

/* How many bytes of `len` the kernel's file gave, where it can be read. */
static size_t
fill_from_file(unsigned char *at, size_t len)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    size_t done = 0;

    while (fd >= 0 && done < len) {
        ssize_t got = read(fd, at + done, len - done);

        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || errno != EINTR)
            break;
    }
    if (fd >= 0)
        (void)close(fd);
    return done;
}

/* Where the kernel gives nothing. libuuid finds other sources, such as the time
 * and the process's number, but fixes six bits of each id: so two ids are
 * hashed for each piece. */
static void
fill_from_libuuid(unsigned char *at, size_t len)
{
    while (len > 0) {
        unsigned char digest[CSC_SHA256_SIZE];
        size_t part = len < sizeof(digest) ? len : sizeof(digest);
        uuid_t ids[2];
        csc_sha256 hash;

        uuid_generate_random(ids[0]);
        uuid_generate_random(ids[1]);
        csc_sha256_init(&hash);
        csc_sha256_add(&hash, ids, sizeof(ids));
        csc_sha256_end(&hash, digest);
        memcpy(at, digest, part);
        at += part;
        len -= part;
    }
}

/* Straight from the kernel: no buffer of ours that two threads or a forked
 * child could use twice. */
static void
system_fill(void *context, void *bytes, size_t len)
{
    unsigned char *at = bytes;

    (void)context;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);

        if (got > 0) {
            at += got;
            len -= (size_t)got;
        } else if (errno != EINTR) {
            size_t done = fill_from_file(at, len);

            fill_from_libuuid(at + done, len - done);
            return;
        }
    }
}

const cascade_random csc_random_system = {.fill = system_fill};

int64_t
csc_clock_wall_ms(const cascade_clock *clock)
{
    return clock->wall_ms(clock->context);
}

int64_t
csc_clock_monotonic_ms(const cascade_clock *clock)
{
    return clock->monotonic_ns(clock->context) / CSC_MS_NS;
}

int64_t
csc_clock_left_ms(int64_t end_ms)
{
    int64_t left = end_ms - csc_clock_monotonic_ms(&csc_clock_system);

    return left > 0 ? left : 0;
}

uint64_t
csc_clock_random_u64(const cascade_random *random)
{
    uint64_t number = 0;

    random->fill(random->context, &number, sizeof(number));
    return number;
}

int64_t
csc_clock_add(int64_t a, int64_t b)
{
    int64_t sum = 0;

    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > 0 ? INT64_MAX : INT64_MIN;
}

/* Reads a small file of /proc into `text`; false when it cannot. */
static bool
read_file(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len;

    if (fd < 0)
        return false;
    do {
        len = read(fd, text, size - 1);
    } while (len < 0 && errno == EINTR);
    (void)close(fd);
    if (len <= 0)
        return false;
    text[len] = '\0';
    return true;
}

/* The inode of one of our namespaces; 0 where the kernel has no such kind. */
static uintmax_t
namespace_of(const char *path)
{
    struct stat ns = {0};

    return stat(path, &ns) == 0 ? (uintmax_t)ns.st_ino : 0;
}

/* Start times are told in the reader's time namespace, so that one counts too.
 * Where /proc hides the processes of other users (hidepid), only those of the
 * same user can be looked up: then the user is part of the name. */
void
csc_clock_host(char host[CSC_HOST_SIZE])
{
    char boot[64];
    char line[8];
    uintmax_t pid_ns = namespace_of("/proc/self/ns/pid");
    int len;

    host[0] = '\0';
    if (pid_ns == 0 ||
        !read_file("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)))
        return;
    boot[strcspn(boot, "\n")] = '\0';
    len = snprintf(host, CSC_HOST_SIZE, "%s/%ju.%ju", boot, pid_ns,
                   namespace_of("/proc/self/ns/time"));
    if (len > 0 && len < CSC_HOST_SIZE &&
        !read_file("/proc/1/stat", line, sizeof(line)))
        (void)snprintf(host + len, (size_t)(CSC_HOST_SIZE - len), "/%ju",
                       (uintmax_t)geteuid());
}

/* Field `number` of a line of /proc/PID/stat, whose first is 1, -1 without it.
 * `at` is the end of field 2: that one may hold blanks and parentheses. */
static int64_t
stat_field(const char *at, int number)
{
    for (int field = 2; field < number; field++) {
        at = strchr(at, ' ');
        if (at == NULL)
            return -1;
        at++;
    }
    return strtoll(at, NULL, 10);
}

/* proc(5): pid (comm) state ... num_threads (20th) ... starttime (22nd). When
 * the first thread has ended before the others, the state is Z as well; then
 * the process is alive and counts more threads than that one. */
int64_t
csc_clock_process_start(int64_t pid)
{
    char path[48];
    char line[1024];
    const char *at;

    (void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
    if (pid <= 0 || !read_file(path, line, sizeof(line)))
        return -1;
    at = strrchr(line, ')');
    if (at == NULL || at[1] == '\0' || at[2] == 'X')
        return -1;
    if (at[2] == 'Z' && stat_field(at, 20) <= 1)
        return -1;
    return stat_field(at, 22);
}

/* ---- Times as text ------------------------------------------------------ */

typedef struct date {
    int64_t year;
    int64_t month; /* 1-12 */
    int64_t day;   /* 1-31 */
} date;

/* Days since 1970-01-01; `of.year` >= 1. */
static int64_t
days_from_date(date of)
{
    int64_t year = of.month > 2 ? of.year : of.year - 1; /* begins in March */
    int64_t month = of.month > 2 ? of.month - 3 : of.month + 9;
    int64_t day_of_year = (153 * month + 2) / 5 + of.day - 1;

    return year * 365 + year / 4 - year / 100 + year / 400 + day_of_year -
           EPOCH_DAYS;
}

/* The reverse, for days in the years 0001 to 9999. */
static date
date_from_days(int64_t days)
{
    int64_t since = days + EPOCH_DAYS;
    int64_t era = since / ERA_DAYS;
    int64_t in_era = since % ERA_DAYS;
    int64_t year =
        (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * in_year + 2) / 153;
    date result = {
        .year = year + era * 400 + (month >= 10 ? 1 : 0),
        .month = month < 10 ? month + 3 : month - 9,
        .day = in_year - (153 * month + 2) / 5 + 1,
    };

    return result;
}

/* `count` digits and then `mark`. */
static char *
put_digits(char *at, int64_t number, int count, char mark)
{
    for (int i = count - 1; i >= 0; i--) {
        at[i] = (char)('0' + number % 10);
        number /= 10;
    }
    at[count] = mark;
    return at + count + 1;
}

/* All but the fraction, of which it returns the microseconds. */
static int64_t
put_seconds(char **at, int64_t time_us)
{
    int64_t in_day;
    int64_t second;
    date day;

    if (time_us < FIRST_US)
        time_us = FIRST_US;
    if (time_us > LAST_US)
        time_us = LAST_US;
    in_day = time_us % DAY_US;
    if (in_day < 0)
        in_day += DAY_US;
    second = in_day / SECOND_US;
    day = date_from_days((time_us - in_day) / DAY_US);
    *at = put_digits(*at, day.year, 4, '-');
    *at = put_digits(*at, day.month, 2, '-');
    *at = put_digits(*at, day.day, 2, ' ');
    *at = put_digits(*at, second / 3600, 2, ':');
    *at = put_digits(*at, second / 60 % 60, 2, ':');
    *at = put_digits(*at, second % 60, 2, '.');
    return in_day % SECOND_US;
}

char *
csc_clock_format(int64_t time_ms, char text[CSC_TIME_TEXT_SIZE])
{
    char *at = text;
    int64_t us = put_seconds(&at, csc_clock_ms_to_us(time_ms));

    (void)put_digits(at, us / CSC_MS_US, 3, '\0');
    return text;
}

char *
csc_clock_format_us(int64_t time_us, char text[CSC_TIME_TEXT_SIZE])
{
    char *at = text;
    int64_t us = put_seconds(&at, time_us);

    (void)put_digits(at, us, 6, '\0');
    return text;
}

int64_t
csc_clock_us_to_ms(int64_t time_us)
{
    return time_us / CSC_MS_US - (time_us % CSC_MS_US < 0 ? 1 : 0);
}

int64_t
csc_clock_ms_to_us(int64_t time_ms)
{
    int64_t time_us = 0;

    if (!__builtin_mul_overflow(time_ms, CSC_MS_US, &time_us))
        return time_us;
    return time_ms < 0 ? INT64_MIN : INT64_MAX;
}

/* Reads `count` digits; false when one of them is none. */
static bool
take_digits(const char **at, int count, int64_t *number)
{
    *number = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *number = *number * 10 + (**at - '0');
    }
    return true;
}

static bool
take_mark(const char **at, char mark)
{
    if (**at != mark)
        return false;
    (*at)++;
    return true;
}

static int64_t
days_in_month(int64_t year, int64_t month)
{
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    if (month == 2)
        return leap ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

static bool
take_date(const char **at, date *day)
{
    return take_digits(at, 4, &day->year) && take_mark(at, '-') &&
           take_digits(at, 2, &day->month) && take_mark(at, '-') &&
           take_digits(at, 2, &day->day) && day->year >= 1 && day->month >= 1 &&
           day->month <= 12 && day->day >= 1 &&
           day->day <= days_in_month(day->year, day->month);
}

static bool
take_seconds(const char **at, int64_t *seconds)
{
    int64_t hour = 0;
    int64_t minute = 0;
    int64_t second = 0;

    if (!take_digits(at, 2, &hour) || !take_mark(at, ':') ||
        !take_digits(at, 2, &minute) || !take_mark(at, ':') ||
        !take_digits(at, 2, &second))
        return false;
    *seconds = (hour * 60 + minute) * 60 + second;
    return hour < 24 && minute < 60 && second < 60;
}

/* ".5" is 500,000 us; no fraction is 0. */
static bool
take_fraction_us(const char **at, int64_t *us)
{
    int count = 0;

    *us = 0;
    if (!take_mark(at, '.'))
        return true;
    for (; count < 6 && **at >= '0' && **at <= '9'; (*at)++, count++)
        *us = *us * 10 + (**at - '0');
    for (int i = count; i < 6; i++)
        *us *= 10;
    return count >= 1;
}

int
csc_clock_parse_us(const char *text, int64_t *time_us)
{
    date day = {0};
    int64_t seconds = 0;
    int64_t us = 0;

    if (text == NULL || !take_date(&text, &day))
        return -1;
    if (!take_mark(&text, ' ') && !take_mark(&text, 'T'))
        return -1;
    if (!take_seconds(&text, &seconds) || !take_fraction_us(&text, &us))
        return -1;
    if (strcmp(text, "") != 0 && strcmp(text, "Z") != 0 &&
        strcmp(text, "+00") != 0)
        return -1;
    *time_us = days_from_date(day) * DAY_US + seconds * SECOND_US + us;
    return 0;
}

int
csc_clock_parse(const char *text, int64_t *time_ms)
{
    int64_t time_us = 0;

    if (csc_clock_parse_us(text, &time_us) != 0)
        return -1;
    *time_ms = csc_clock_us_to_ms(time_us);
    return 0;
}
