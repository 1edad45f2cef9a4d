/* SPDX-License-Identifier: MIT
 *
 * What is counted, and strikes at the Nth: calls of SQLite, calls of libpq,
 * allocations of SQLite or cJSON. A program of the sweeps counts one kind at a
 * time, so there is one counter for all, and the functions that stand in for
 * those of a library (calls_sqlite.c, calls_libpq.c, test_alloc.c) ask it:
 *
 *     if (events_strike())
 *         return SQLITE_IOERR;
 *     code = __real_sqlite3_step(statement);
 *     events_done();
 *     return code;
 *
 * Where the event is to end the process, it ends in events_strike(), before the
 * call, or in events_done(), after it.
 */
#ifndef TESTS_SWEEP_EVENTS_H
#define TESTS_SWEEP_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

/* What an event that strikes does, beside the variants (from 0 on) that those
 * who ask know. */
#define EVENTS_CRASH_BEFORE (-1)
#define EVENTS_CRASH_AFTER (-2)
#define EVENTS_CRASHED 42 /* how the process ends then */

/* From now on events count; the nth strikes (0: none does), and all that follow
 * when `lasting`. `*seen` becomes how many there were. */
void events_arm(size_t nth, bool lasting, int variant, size_t *seen);
void events_disarm(void);
/* One event: is the call to fail? */
bool events_strike(void);
void events_done(void);
int events_variant(void);

/* What the test itself does meanwhile does not count. Returns what
 * events_resume() is to be given. */
bool events_pause(void);
void events_resume(bool counted);

#endif
