/* SPDX-License-Identifier: MIT
 *
 * Log lines that wait until the lock is left.
 */
#ifndef CSC_HELD_LOG_QUEUE_H
#define CSC_HELD_LOG_QUEUE_H

#include <stdatomic.h>

#include "cascade/cascade.h"

#define CSC_NOTE_SIZE 400
#define CSC_NOTES_MAX 64

/* A log line that waits to be told. */
typedef struct csc_note {
    struct csc_note *next;
    cascade_log_level level;
    char line[CSC_NOTE_SIZE];
} csc_note;

/* Log lines born under the lock, to be told without it. */
typedef struct csc_log_queue {
    csc_note *first;
    atomic_size_t count;
} csc_log_queue;

/* Logging under the lock: the line is told by the next csc_log_queue_tell(),
 * which is not locked, and tells events too (event_queue.h). Beyond
 * CSC_NOTES_MAX lines are lost. */
void csc_log_queue_add(cascade_engine *engine, cascade_log_level level,
                       const char *format, ...) CASCADE_PRINTF(3, 4);
void csc_log_queue_tell(cascade_engine *engine);

/* Tells of what has failed, with the error of this thread. Not locked. */
void csc_log_queue_add_failure(const cascade_engine *engine, const char *what);

#endif
