/* SPDX-License-Identifier: MIT
 *
 * A registered node: its function and its options.
 */
#ifndef CSC_HELD_NODE_DEF_H
#define CSC_HELD_NODE_DEF_H

#include <stdatomic.h>
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
    bool thread;            /* never on a fiber */
    atomic_int held;        /* how often it has held its thread of late */
} csc_node_def;
const csc_node_def *csc_node_def_find(const cascade_engine *engine,
                                      const char *name);
/* Whether nodes run on fibers, as a rule. */
bool csc_node_def_has_fibers(const cascade_engine *engine);
/* Whether this one, which is not NULL, does so now. */
bool csc_node_def_goes_on_fiber_locked(const cascade_engine *engine,
                                       const csc_node_def *node);
/* Its function has had the thread for so long, between two switches of its
 * fiber. Not locked. */
void csc_node_def_note_held(cascade_engine *engine, const csc_node_def *node,
                            int64_t held_ns);
/* The same for what builds changes: how it waits, if it is completed from
 * outside. */
const csc_waiting *csc_node_def_is_external(const void *engine,
                                            const char *name);

#endif
