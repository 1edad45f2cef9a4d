/* SPDX-License-Identifier: MIT
 *
 * A workload: a kind of cascade that the simulation starts. To add one, write a
 * work_NAME.c with its nodes, how one is planned, and what must hold at its
 * end, and name it in the table of sim_node.c. That is all: its cascades run
 * among those of the others, under every fault, and the oracle checks their
 * rows like any others.
 *
 * The nodes of a workload must depend on nothing but their input, their attempt
 * and what the library hands them: then what a cascade must come to can be
 * predicted from its input, without looking at the engine. A node that would
 * die, or take long, asks sim_node_die() and sim_node_take().
 */
#ifndef TESTS_SIM_WORK_H
#define TESTS_SIM_WORK_H

#include "sim/sim.h"

typedef struct sim_node_def {
    const char *name;
    cascade_err (*fn)(cascade_node *node, sim_engine *engine);
    cascade_node_options options;
    bool rare;   /* some engines do not know it */
    bool unseen; /* of cascades that the oracle does not look at */
} sim_node_def;

typedef struct sim_workload {
    const char *name;
    unsigned weight; /* how often, against the others; 0: see
                        sim_giant.c, sim_key.c */
    const sim_node_def *nodes;
    size_t node_count;
    const char *first; /* the node that its cascades begin with */
    bool survives;     /* a cascade may outlive the failure of a node */
    /* Draws input and expected end. The rest (key, queue, delay ...) is drawn
     * before, and may be changed. */
    void (*plan)(sim_planned *planned, sim_random *random);
    /* At the end, of a cascade in which nothing was poisoned: complains with
     * sim_fail(). NULL: the status says all. What is born of it is looked at by
     * the oracle, and loaded through `eye` by the workload. */
    void (*check)(sim *s, const sim_planned *planned,
                  const cascade_snapshot *snapshot);
} sim_workload;

extern const sim_workload *const sim_workloads[];
extern const size_t sim_workload_count;

extern const sim_workload sim_work_program;
extern const sim_workload sim_work_graph;
extern const sim_workload sim_work_line;
extern const sim_workload sim_work_doom;
extern const sim_workload sim_work_bomb;
extern const sim_workload sim_work_instead;
extern const sim_workload sim_work_saga;
extern const sim_workload sim_work_join;
extern const sim_workload sim_work_signals;
extern const sim_workload sim_work_limits;
extern const sim_workload sim_work_runs;
extern const sim_workload sim_work_family;
extern const sim_workload sim_work_course;
extern const sim_workload sim_work_transfer;
extern const sim_workload sim_work_small;
extern const sim_workload sim_work_key;

/* ---- For nodes ---------------------------------------------------------- */

/* Registers the nodes of all workloads; some of the rare ones not, unless
 * `all`. */
void sim_register(sim_engine *engine, bool all, sim_random *random);

/* A step of a node: like cascade_node_step(), and the oracle knows. `arg` is
 * handed on. */
typedef cascade_err (*sim_step_fn)(cascade_node *node, sim_engine *engine,
                                   const void *arg, cJSON **result);
cascade_err sim_step(cascade_node *node, sim_engine *engine, const char *name,
                     sim_step_fn fn, const void *arg,
                     const cascade_step_options *options, cJSON **result);

/* A compensation of a node, with the `user` it was handed, is entered, and the
 * oracle knows. NULL: the process is dead; return an error. */
sim_engine *sim_enter_undo(cascade_node *node, void *user);

/* The process dies here. Returns an error, to be returned. */
cascade_err sim_node_die(cascade_node *node, sim_engine *engine);
/* Takes so long that others go on meanwhile. */
void sim_node_take(sim_engine *engine, int64_t ms);
/* How often this function was entered by now, in all processes. */
unsigned sim_node_entries(const cascade_node *node, sim_engine *engine);

/* An integer member of the input, 0 without it; an object with only that. */
int sim_member(const cJSON *object, const char *name);
cJSON *sim_object(const char *name, int value);
/* Complains where the run is; gives `holds` back. */
bool sim_expect(sim_engine *engine, const cascade_node *node, bool holds,
                const char *what);

/* ---- For checks --------------------------------------------------------- */

/* How many executions of that name have that status. */
size_t sim_executions(const cascade_snapshot *snapshot, const char *name,
                      cascade_execution_status status);
/* Whether something of it was poisoned; complains where it may not have been.
 * Of cascades that `planned` led to, besides the first, the workload asks. */
bool sim_check_poisoned(sim *s, const sim_planned *planned,
                        const cascade_snapshot *snapshot);
void sim_check(sim *s, const sim_planned *planned, bool holds,
               const char *what);

#endif
