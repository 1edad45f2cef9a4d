/* SPDX-License-Identifier: MIT
 *
 * What is recorded of all cascades of a user, as a text that is the same for
 * two runs in which the same happened: without ids and times.
 */
#ifndef TESTS_PROCESS_PICTURE_H
#define TESTS_PROCESS_PICTURE_H

#include "cascade/cascade.h"

#define PICTURE_SIZE 8192
#define PICTURE_CASCADES 8

typedef enum picture_kind {
    PICTURE_WHOLE,  /* a line for each cascade and execution, in their order */
    PICTURE_SORTED, /* when executions are recorded depends on what was sent */
    PICTURE_RUNS    /* and so does in which run of a cascade: without them */
} picture_kind;

typedef struct picture {
    size_t cascades;
    size_t running; /* of them, or executions of others that are not over */
    char text[PICTURE_SIZE];
} picture;

/* Fails the test where that cannot be read. */
void picture_take(picture *p, cascade_store *store, const char *user,
                  picture_kind kind);

#endif
