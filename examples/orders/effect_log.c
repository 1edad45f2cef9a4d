/* SPDX-License-Identifier: MIT
 *
 * Reads the log of side effects. A line that does not end with its dot was cut
 * short by a kill. It counts as an effect that did not happen: its request died
 * on the way.
 */
#include "effect_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum field {
    FIELD_TIME,
    FIELD_MONOTONIC,
    FIELD_PID,
    FIELD_ORDER,
    FIELD_ACTION,
    FIELD_OUTCOME,
    FIELD_VALUE,
    FIELD_ATTEMPT,
    FIELD_FUNCTION_ID,
    FIELD_CASCADE,
    FIELD_REQUEST,
    FIELD_DOT,
    FIELD_COUNT
};

static bool
read_line(char *text, struct log_line *line)
{
    const char *fields[FIELD_COUNT];
    char *rest = NULL;
    size_t count = 0;

    for (char *field = strtok_r(text, " ", &rest); field != NULL;
         field = strtok_r(NULL, " ", &rest)) {
        if (count == FIELD_COUNT)
            return false;
        fields[count++] = field;
    }
    if (count != FIELD_COUNT || strcmp(fields[FIELD_DOT], ".") != 0)
        return false;
    line->action = fields[FIELD_ACTION];
    line->request = fields[FIELD_REQUEST];
    line->value = strtoll(fields[FIELD_VALUE], NULL, 10);
    line->attempt = (int)strtol(fields[FIELD_ATTEMPT], NULL, 10);
    line->done = strcmp(fields[FIELD_OUTCOME], "done") == 0;
    return true;
}

static int
by_request(const void *a, const void *b)
{
    const struct log_line *x = a;
    const struct log_line *y = b;
    int order = strcmp(x->request, y->request);
    if (order != 0)
        return order;
    if (x->attempt != y->attempt)
        return x->attempt < y->attempt ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool
read_text(struct effect_log *log)
{
    size_t lines = 1;
    for (size_t i = 0; i < log->text.len; i++)
        lines += log->text.data[i] == '\n' ? 1 : 0;
    log->lines = calloc(lines, sizeof(*log->lines));
    if (log->lines == NULL)
        return false;
    for (char *text = text_file_next(&log->text); text != NULL;
         text = text_file_next(&log->text)) {
        struct log_line *line = &log->lines[log->count];
        line->offset = (size_t)(text - log->text.data);
        if (read_line(text, line))
            log->count++;
        else
            log->torn++;
    }
    qsort(log->lines, log->count, sizeof(*log->lines), by_request);
    return true;
}

bool
effect_log_read(const char *path, struct effect_log *log)
{
    *log = (struct effect_log){.lines = NULL};
    if (!text_file_read(path, &log->text))
        return false;
    if (read_text(log))
        return true;
    fprintf(stderr, "orders: out of memory\n");
    effect_log_free(log);
    return false;
}

void
effect_log_free(struct effect_log *log)
{
    free(log->lines);
    text_file_free(&log->text);
    *log = (struct effect_log){.lines = NULL};
}
