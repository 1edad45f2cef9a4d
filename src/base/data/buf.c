/* SPDX-License-Identifier: MIT
 *
 * A growing text; see buf.h. The room doubles, so adding n bytes one by one
 * costs O(n). `room` counts the place of the final NUL too.
 */
#include "base/data/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/data/digits.h"
#include "base/mem.h"
#include "cascade/cascade.h"

#define FIRST_ROOM 64

void
csc_buf_init(csc_buf *buf)
{
    memset(buf, 0, sizeof(*buf));
}

void
csc_buf_fini(csc_buf *buf)
{
    csc_mem_free(buf->data);
    csc_buf_init(buf);
}

void
csc_buf_clear(csc_buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

bool
csc_buf_reserve(csc_buf *buf, size_t more)
{
    size_t need = 0;
    size_t room = buf->room < FIRST_ROOM ? FIRST_ROOM : buf->room;
    char *data;

    if (buf->failed)
        return false;
    buf->failed = __builtin_add_overflow(buf->len, more, &need) ||
                  __builtin_add_overflow(need, 1, &need);
    if (buf->failed)
        return false;
    if (need <= buf->room)
        return true;
    while (room < need)
        room = room > SIZE_MAX / 2 ? need : room * 2;
    data = csc_mem_realloc(buf->data, room, 1);
    if (data == NULL) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->room = room;
    return true;
}

void
csc_buf_add(csc_buf *buf, const char *bytes, size_t len)
{
    if (!csc_buf_reserve(buf, len))
        return;
    if (len > 0)
        memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void
csc_buf_add_text(csc_buf *buf, const char *text)
{
    csc_buf_add(buf, text, strlen(text));
}

void
csc_buf_add_char(csc_buf *buf, char c)
{
    csc_buf_add(buf, &c, 1);
}

void
csc_buf_add_i64(csc_buf *buf, int64_t number)
{
    char text[CSC_DIGITS_SIZE];
    const char *at = csc_digits(number, text);

    csc_buf_add(buf, at, (size_t)(text + sizeof(text) - 1 - at));
}

void
csc_buf_add_format(csc_buf *buf, const char *format, ...)
{
    va_list args;
    va_list again;
    int len;

    va_start(args, format);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, format, args);
    if (len < 0) {
        buf->failed = true;
    } else if (csc_buf_reserve(buf, (size_t)len)) {
        (void)vsnprintf(buf->data + buf->len, (size_t)len + 1, format, again);
        buf->len += (size_t)len;
    }
    va_end(again);
    va_end(args);
}

char *
csc_buf_take(csc_buf *buf)
{
    char *text = NULL;

    csc_buf_add(buf, "", 0); /* so that there is a NUL */
    if (!buf->failed) {
        text = buf->data;
        buf->data = NULL;
    }
    csc_buf_fini(buf);
    return text;
}
