/* SPDX-License-Identifier: MIT
 *
 * A registered node: its function and its options.
 */
#ifndef CSC_HELD_NODE_DEF_H
#define CSC_HELD_NODE_DEF_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "cascade/exception.h"
#include "change/backoff.h"
#include "change/op.h"
#include "held/run/time_limit.h"

typedef struct csc_node_def {
    char *name;
    cascade_node_fn fn; /* NULL: completed from outside, as `waiting` says */
    void *user;
    csc_waiting waiting;
    csc_attempts attempts;
    csc_limits limits;
    bool transactional;
    int64_t transaction_ms; /* how long its transaction may be open */
    cascade_final_failure final_failure;
    char *instead; /* or NULL */
    void (*destroy)(void *user);
    cascade_guard_fn guard; /* or NULL: guard.c */
} csc_node_def;
const csc_node_def *csc_node_def_find(const cascade_engine *engine,
                                      const char *name);
/* The same for what builds changes: how it waits, if it is completed from
 * outside. */
const csc_waiting *csc_node_def_is_external(const void *engine,
                                            const char *name);

#endif
