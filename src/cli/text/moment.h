/* SPDX-License-Identifier: MIT
 *
 * Times and durations, as they are written and read.
 */
#ifndef CLI_MOMENT_H
#define CLI_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#define MOMENT_SIZE 40

/* "2026-01-31T08:15:00Z", for people; "-" for CASCADE_TIME_NONE. */
const char *moment_text(int64_t at_ms, char text[MOMENT_SIZE]);

/* "2026-01-31T08:15:00.123Z", for programs. */
const char *moment_exact(int64_t at_ms, char text[MOMENT_SIZE]);

/* "120ms", "1.2s", "3m04s", "2h05m", "3d04h". */
const char *moment_duration(int64_t ms, char text[MOMENT_SIZE]);

/* Reads "250ms", "10s", "1h30m", "7d", "2w" or "0"; at most 100 years. */
bool moment_read_duration(const char *text, int64_t *ms);

#endif
