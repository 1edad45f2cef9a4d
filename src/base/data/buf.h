/* SPDX-License-Identifier: MIT
 *
 * A growing text. Running out of memory is remembered in `failed` and makes
 * every later call do nothing, so a writer checks once, at the end.
 */
#ifndef CSC_BASE_DATA_BUF_H
#define CSC_BASE_DATA_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

typedef struct csc_buf {
    char *data; /* NUL-terminated once anything was added */
    size_t len; /* without the NUL */
    size_t room;
    bool failed;
} csc_buf;

void csc_buf_init(csc_buf *buf); /* all zero is the same */
void csc_buf_fini(csc_buf *buf);
void csc_buf_clear(csc_buf *buf); /* keeps the room and forgets a failure */
/* Room for `more` bytes and the NUL, to be written by hand; false, and failed,
 * without memory. */
bool csc_buf_reserve(csc_buf *buf, size_t more);
void csc_buf_add(csc_buf *buf, const char *bytes, size_t len);
void csc_buf_add_text(csc_buf *buf, const char *text);
void csc_buf_add_char(csc_buf *buf, char c);
void csc_buf_add_i64(csc_buf *buf, int64_t number);
void csc_buf_add_format(csc_buf *buf, const char *format, ...)
    CASCADE_PRINTF(2, 3);

/* Hands over the text (never NULL when not failed: "" at least) and empties the
 * buffer; NULL when it failed. Free with csc_mem_free(). */
char *csc_buf_take(csc_buf *buf);

#endif
