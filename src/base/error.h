/* SPDX-License-Identifier: MIT
 *
 * Errors: every one is born in csc_fail(), which keeps the text for
 * cascade_errmsg() in thread-local storage. Public functions that succeed call
 * csc_ok() on their way out, so that no stale text is left.
 */
#ifndef CSC_BASE_ERROR_H
#define CSC_BASE_ERROR_H

#include <assert.h>
#include <stdarg.h>

#include "cascade/cascade.h"

/* Our own bugs; off in a host's build, on in tests (CASCADE_ASSERTS). */
#ifdef CASCADE_ASSERTS
#define csc_assert(condition) assert(condition)
#else
#define csc_assert(condition) ((void)0)
#endif

#define CSC_ERRMSG_SIZE 512

/* Sets the thread's text (cut at CSC_ERRMSG_SIZE) and returns `err`, which is
 * not CASCADE_OK. `format` may use cascade_errmsg() itself as an argument. */
cascade_err csc_fail(cascade_err err, const char *format, ...)
    CASCADE_PRINTF(2, 3);

/* csc_fail() for a failed allocation. */
cascade_err csc_fail_memory(void);

/* Clears the thread's text; returns CASCADE_OK. */
cascade_err csc_ok(void);

/* The error that the thread's text belongs to, CASCADE_OK when there is no
 * text. */
cascade_err csc_error_last(void);

/* An error while something else is done, which may leave another. */
typedef struct csc_error_kept {
    cascade_err err;
    char text[CSC_ERRMSG_SIZE];
} csc_error_kept;

/* Keeps `err`, with the thread's text. */
void csc_error_keep(csc_error_kept *kept, cascade_err err);

/* Makes it the thread's again; returns it. */
cascade_err csc_error_restore(const csc_error_kept *kept);
/* Makes it the thread's, and keeps what the thread had before. */
void csc_error_exchange(csc_error_kept *kept);
/* What to say of an error where a try before it had no answer: that nobody
 * knows, but for errors that tell that nothing is there. */
cascade_err csc_error_in_doubt(cascade_err err, const char *what);

#endif
