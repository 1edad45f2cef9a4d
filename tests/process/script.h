/* SPDX-License-Identifier: MIT
 *
 * What callers do whose processes are killed, or whose cascades run in such
 * processes: each starts a cascade of its own user under a key and then sends
 * it something, with a request id for each message. Whoever is killed at it
 * makes all its calls again, as somebody must who does not know which of them
 * took effect. The nodes are those of support/nodes.h.
 */
#ifndef TESTS_PROCESS_SCRIPT_H
#define TESTS_PROCESS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include "process/picture.h"

#define SCRIPT_USER 32 /* bytes of a user's name */
#define SCRIPT_KEY "key"

typedef struct script_caller {
    cascade_store *store;
    const char *user;
    cascade_uuid id; /* of the cascade, once it was started */
} script_caller;

typedef struct script {
    const char *name;
    cascade_err (*call)(script_caller *caller);
    const char *end;   /* what stands in the picture of an undisturbed run */
    size_t cascades;   /* that are there in the end */
    picture_kind kind; /* how much of it is the same in each run */
} script;

extern const script scripts[];
extern const size_t script_count;

#endif
