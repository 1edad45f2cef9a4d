/* SPDX-License-Identifier: MIT
 *
 * The log of side effects, read back: see effects.h for its lines.
 */
#ifndef ORDERS_EFFECT_LOG_H
#define ORDERS_EFFECT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text_file.h"

struct log_line {
    size_t offset; /* in bytes: which kill came before it */
    const char *action;
    const char *request;
    int64_t value;
    int attempt;
    bool done; /* false: declined */
};

struct effect_log {
    struct text_file text;  /* what the lines point into */
    struct log_line *lines; /* by request, attempt and offset */
    size_t count;
    size_t torn; /* lines that a kill cut short */
};

/* Reads the log at `path`. False, and a word on stderr, when that fails. Free
 * with effect_log_free(). */
bool effect_log_read(const char *path, struct effect_log *log);
void effect_log_free(struct effect_log *log);

#endif
