/* SPDX-License-Identifier: MIT
 *
 * What the tests of retry, rerun and fork have in common: nodes that fail until
 * they are told not to, counted as they run, and what is recorded of a play.
 * The play's user pointer is an `again`.
 */
#ifndef TESTS_ENGINE_SUPPORT_AGAIN_H
#define TESTS_ENGINE_SUPPORT_AGAIN_H

#include <stdatomic.h>

#include "cascade/manage.h"
#include "engine/support/play.h"

#define AGAIN_STEPS 3

typedef struct again {
    atomic_bool mended; /* nothing fails any more */
    atomic_int entered; /* whatever counts itself */
    atomic_int told;    /* those that ran until they were told */
    atomic_int steps[AGAIN_STEPS];
    atomic_int undone;
    atomic_int joined;
} again;

again *again_of(void *user);

/* A graph: "fork" spawns "left", "right" and "join" after both. Left puts its
 * name to "seen" and outputs 1; right does so too with 2, where it is mended;
 * join looks at both outcomes, and outputs the sum of what they were. */
cascade_err again_fork(cascade_node *node, void *user);
cascade_err again_left(cascade_node *node, void *user);
cascade_err again_right(cascade_node *node, void *user);
cascade_err again_join(cascade_node *node, void *user);
#define AGAIN_GRAPH                                                     \
    {"fork", again_fork}, {"left", again_left}, {"right", again_right}, \
    {                                                                   \
        "join", again_join                                              \
    }

/* A straight line of three steps, each putting its number to "steps"; it fails
 * behind the second one until it is mended. It outputs what the steps gave. */
cascade_err again_line(cascade_node *node, void *user);

/* Asks for it, and plays on until it is received. */
cascade_err again_retry(play *p, const char *request_id);
cascade_err again_rerun(play *p, int32_t from, const char *request_id);

/* The cascade's context and result, as text. */
void again_check(play *p, cascade_status status, const char *context,
                 const char *result);
/* By which receipt the execution is superseded. */
int32_t again_superseded(const play *p, int32_t function_id);
/* The highest function_id of that name; -1 without one. */
int32_t again_find(const play *p, const char *node);
/* Another engine takes the play over. */
void again_hand_over(play *p);

#endif
