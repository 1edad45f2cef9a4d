/* SPDX-License-Identifier: MIT
 *
 * The log callback. Lines name things by id and by node, never by payload.
 */
#ifndef CSC_BASE_LOG_H
#define CSC_BASE_LOG_H

#include "cascade/cascade.h"

typedef struct csc_log {
    cascade_log_fn fn; /* NULL: silent */
    void *context;
    cascade_log_level level;
} csc_log;

/* Formats and hands on one line (cut at 1,000 bytes) when `level` is wanted.
 * Leaves the thread's error text alone. */
void csc_log_add(const csc_log *log, cascade_log_level level,
                 const char *format, ...) CASCADE_PRINTF(3, 4);

#endif
