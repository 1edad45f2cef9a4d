/* SPDX-License-Identifier: MIT
 *
 * What the tables held as done at a kill, written down by a process of its own
 * while nothing else runs:
 *
 *   effects 51230                        bytes of the effects log at that time
 *   cascades 140 in_flight 80
 *   ended 1 <request id>                 recorded as ended: never again
 *   running 2 <request id>               two attempts recorded as failed: not
 *   ...                                  those again
 *
 * Every effect in the log from that byte on happened after the kill.
 */
#ifndef ORDERS_RECORD_H
#define ORDERS_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "settings.h"
#include "text_file.h"

#define RECORDS_MAX 99

struct record_line {
    const char *request;
    int attempts;
    bool ended;
};

struct record {
    struct text_file text; /* what the lines point into */
    size_t effects_len;
    size_t cascades;
    size_t in_flight;
    size_t ended;              /* executions and steps recorded as ended */
    struct record_line *lines; /* by request id */
    size_t count;
};

/* Takes a record of the store and writes it to the next free file kill-N in the
 * folder. Says what went wrong on stderr. */
bool record_take(const struct settings *settings);

/* Tells whether there is a record `number` (1, 2, ...). */
bool record_exists(const struct settings *settings, size_t number);

/* Reads record `number`. Free with record_free(). */
bool record_read(const struct settings *settings, size_t number,
                 struct record *record);
void record_free(struct record *record);

/* What the record says of `request`; NULL when it does not know it. */
const struct record_line *record_find(const struct record *record,
                                      const char *request);

#endif
