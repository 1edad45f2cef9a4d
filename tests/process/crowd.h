/* SPDX-License-Identifier: MIT
 *
 * Cascades of a queue with limits, and what they did:
 *
 *   first (gate) --> side, side --> (CROWD_DELAY_MS) --> last
 *
 * While it waits for `last` a cascade gives its slot to others. Each function
 * begins and ends with a line in the log of its process:
 *
 *   <b|e> <number> <cascade> <user> <nanoseconds, monotonic>
 *
 * and puts one value of key "ran", "<process>:<number>": so the database tells
 * which of all begins it has the outcome of. Lines are those of flow.h.
 */
#ifndef TESTS_PROCESS_CROWD_H
#define TESTS_PROCESS_CROWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cascade/cascade.h"
#include "process/flow.h"
#include "process/place.h"

#define CROWD_FUNCTIONS 4 /* of a cascade */
#define CROWD_DELAY_MS 25
#define CROWD_WHO 16
#define CROWD_USER 16

/* Of a process. */
typedef struct test_crowd {
    int log_fd;
    const test_flow *flow; /* its gate, its work and who it is */
    atomic_uint begun;
} test_crowd;

/* Opens the log as well. `crowd` must outlive the engine. */
cascade_err crowd_register(cascade_engine *engine, test_crowd *crowd,
                           const test_place *place, const test_flow *flow);

typedef struct crowd_line {
    bool begin;
    unsigned number; /* from 1 */
    cascade_uuid cascade;
    char user[CROWD_USER];
    int64_t at_ns;
} crowd_line;

/* The log of a process; NULL: it has begun nothing. */
FILE *crowd_open_log(const test_place *place, const char *who);
/* False: there is no more. */
bool crowd_next(FILE *log, crowd_line *line);
/* How many lines it has. */
size_t crowd_lines(const test_place *place, const char *who);

int64_t crowd_now_ns(void); /* monotonic */

#endif
