/* SPDX-License-Identifier: MIT
 *
 * What a call of SQLite does when it is struck: variants of events.h. See
 * calls_sqlite.c.
 */
#ifndef TESTS_SWEEP_CALLS_SQLITE_H
#define TESTS_SWEEP_CALLS_SQLITE_H

#include <sqlite3.h>

enum {
    CALLS_BUSY,
    CALLS_FULL,
    CALLS_IOERR,
    CALLS_NOMEM,
    CALLS_CORRUPT,
    CALLS_ROLLED_BACK,
    CALLS_HAD_EFFECT
};

#endif
