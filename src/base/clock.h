/* SPDX-License-Identifier: MIT
 *
 * Time and randomness are injected; here are the system's own, used when
 * nothing else is given, and the identity of this process.
 */
#ifndef CSC_BASE_CLOCK_H
#define CSC_BASE_CLOCK_H

#include <stdint.h>

#include "cascade/cascade.h"

extern const cascade_clock csc_clock_system;
extern const cascade_random csc_random_system; /* libuuid's generator */

#define CSC_MS_NS INT64_C(1000000)
#define CSC_MS_US INT64_C(1000)

int64_t csc_clock_wall_ms(const cascade_clock *clock);
int64_t csc_clock_monotonic_ms(const cascade_clock *clock);
uint64_t csc_clock_random_u64(const cascade_random *random);

/* How long it is until `end_ms` of the system's monotonic clock; 0 when that
 * has passed. */
int64_t csc_clock_left_ms(int64_t end_ms);

/* a + b without wrapping. */
int64_t csc_clock_add(int64_t a, int64_t b);

/* Names this machine boot, the namespaces of pids and time, and where /proc
 * hides other users the user: "<boot id>/<...>". Two processes with the same
 * text can look one another's pids up. "" when the kernel does not tell. */
#define CSC_HOST_SIZE 80

void csc_clock_host(char host[CSC_HOST_SIZE]);

/* The start time of process `pid` in clock ticks since boot, -1 when there is
 * no such process (a zombie counts as none). */
int64_t csc_clock_process_start(int64_t pid);

/* "2026-01-31 23:59:59.999": UTC, as PostgreSQL prints a TIMESTAMP. Years 0001
 * to 9999. */
#define CSC_TIME_TEXT_SIZE 32
char *csc_clock_format(int64_t time_ms, char text[CSC_TIME_TEXT_SIZE]);
/* Reads what csc_clock_format() writes, with 0-6 digits of fraction, 'T' or a
 * blank, and an optional final 'Z' or '+00'; cuts below the millisecond.
 * Returns 0, or -1 when it is no such text. */
int csc_clock_parse(const char *text, int64_t *time_ms);

/* The same to the microsecond: with six digits of fraction. */
char *csc_clock_format_us(int64_t time_us, char text[CSC_TIME_TEXT_SIZE]);
int csc_clock_parse_us(const char *text, int64_t *time_us);

/* The millisecond that it lies in. */
int64_t csc_clock_us_to_ms(int64_t time_us);
/* Outside what microseconds can say it becomes the nearest inside. */
int64_t csc_clock_ms_to_us(int64_t time_ms);

#endif
