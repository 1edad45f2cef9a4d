/* SPDX-License-Identifier: MIT
 *
 * Limits of queues in the simulation: sim_slots.c.
 */
#ifndef TESTS_SIM_SLOTS_H
#define TESTS_SIM_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "support/wrap_store.h"

#define SIM_QUEUES 3
#define SIM_LIMIT_KEYS 3
#define SIM_LIMIT_ACTS_MAX 10
#define SIM_LIMIT_FAULTS_MAX 6

struct sim;
struct sim_plan;
struct sim_process;
struct sim_engine;

/* The queues of all work, and the keys that starts carry: the first is that of
 * those which carry none. */
extern const char *const sim_queue_names[SIM_QUEUES];
extern const char *const sim_limit_keys[SIM_LIMIT_KEYS];

/* Somebody sets the limits of a queue, or takes them away. */
typedef struct sim_limit_act {
    unsigned queue;
    bool unset;
    bool versioned; /* only where they are as he has seen them last */
    int running_max;
    int key_running_max;
    int64_t at_ms;
    bool off;
    /* In a run: */
    bool decided;
    bool under_way;
    int64_t next_ms;
} sim_limit_act;

typedef struct sim_limits {
    bool on;
    sim_limit_act acts[SIM_LIMIT_ACTS_MAX];
    unsigned act_count;
} sim_limits;

/* How many runs have a slot. */
typedef struct sim_tally {
    size_t all[SIM_QUEUES];
    size_t of_key[SIM_QUEUES][SIM_LIMIT_KEYS];
} sim_tally;

/* In a run: */
typedef struct sim_slots {
    sim_tally before;            /* as of the last look */
    int64_t version[SIM_QUEUES]; /* that the last call told; 0: not known */
} sim_slots;

/* Draws whether a seed has them, who carries a key, and faults of their own. */
void sim_limits_plan(struct sim_plan *plan);
void sim_limits_print(const struct sim_plan *plan);

/* So that a run begins. */
void sim_limits_open(struct sim *s);
/* Makes what is due, through the handle of `p`; true when something was. */
bool sim_limits_act_due(struct sim *s, struct sim_process *p);
/* When the next of it is due; INT64_MAX: none. */
int64_t sim_limits_next(const struct sim *s);
bool sim_limits_done(const struct sim *s);

/* A call that took effect, and what its engine was told of it. */
void sim_slots_see(struct sim_process *p, const wrap_call *call);
void sim_slots_told(struct sim_process *p, const wrap_call *call,
                    cascade_err err);
/* Runs were changed by no call. */
void sim_slots_look(struct sim *s);
/* A function of a node is entered. */
void sim_slots_entered(struct sim_engine *e, const cascade_node *node);

#endif
