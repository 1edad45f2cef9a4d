/* SPDX-License-Identifier: MIT
 *
 * What a call of libpq does when it is struck: variants of events.h. See
 * calls_libpq.c.
 */
#ifndef TESTS_SWEEP_CALLS_LIBPQ_H
#define TESTS_SWEEP_CALLS_LIBPQ_H

enum {
    CALLS_FAIL,
    CALLS_CUT_BEFORE,
    CALLS_CUT_AFTER
};

#endif
