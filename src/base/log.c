/* SPDX-License-Identifier: MIT
 *
 * One line to the host's log callback. Formatted on the stack: a log line must
 * not fail for want of memory, and must not disturb the thread's error text,
 * which often is what it reports.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"

#define LINE_MAX_BYTES 1000

void
csc_log_add(const csc_log *log, cascade_log_level level, const char *format,
            ...)
{
    char line[LINE_MAX_BYTES + 1] = "";
    va_list args;

    csc_assert(csc_lock_is_none_held());
    if (log == NULL || log->fn == NULL || level > log->level)
        return;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    line[csc_check_cut(line, strlen(line))] = '\0';
    for (char *at = line; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = ' '; /* one line: a text from outside cannot forge another */
    }
    log->fn(log->context, level, line);
}
