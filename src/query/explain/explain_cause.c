/* SPDX-License-Identifier: MIT
 *
 * The list of causes, and their texts: the files beside it add to it.
 */
#include "query/explain/explain.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/mem.h"
#include "cascade/manage.h"

#define SECONDS_LEN 19 /* of "2026-01-31 12:00:00" */

const char *
csc_explain_time(csc_arena *arena, int64_t at_ms)
{
    char text[CSC_TIME_TEXT_SIZE];
    const char *kept = csc_arena_format(arena, "%.*s UTC", SECONDS_LEN,
                                        csc_clock_format(at_ms, text));

    return kept != NULL ? kept : "";
}

cascade_cause *
csc_explain_add(cascade_explanation *explanation, cascade_reason reason)
{
    void *causes = explanation->causes;
    cascade_cause *cause = NULL;

    if (csc_mem_grow(&causes, &explanation->room, explanation->count + 1,
                     sizeof(*cause)) != 0) {
        explanation->arena.failed = true;
        return NULL;
    }
    explanation->causes = causes;
    cause = &explanation->causes[explanation->count++];
    *cause = (cascade_cause){.reason = reason,
                             .function_id = -1,
                             .node = "",
                             .name = "",
                             .at_ms = CASCADE_TIME_NONE,
                             .other = -1,
                             .text = ""};
    return cause;
}

/* Names of other programs may have anything in them. */
static void
make_one_line(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == '\x7f')
            *text = '?';
}

void
csc_explain_say(cascade_explanation *explanation, const char *format, ...)
{
    char *text = NULL;
    int len = 0;
    va_list args;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len >= 0)
        text = csc_arena_alloc(&explanation->arena, (size_t)len + 1, 1);
    explanation->arena.failed = explanation->arena.failed || text == NULL;
    if (text == NULL)
        return;
    va_start(args, format);
    (void)vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    make_one_line(text);
    explanation->causes[explanation->count - 1].text = text;
}
