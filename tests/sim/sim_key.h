/* SPDX-License-Identifier: MIT
 *
 * One key of the world whose runs are started, written to and purged again and
 * again: sim_key.c.
 */
#ifndef TESTS_SIM_SIM_KEY_H
#define TESTS_SIM_SIM_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "support/wrap_store.h"

#define SIM_KEY_ACTS_MAX 40
#define SIM_KEY_RUNS_MAX 200 /* beyond: nothing is asked for any more */
#define SIM_KEY_REQUESTS 6
#define SIM_KEY_FOUND_MAX 1000 /* receipts of all runs together */
#define SIM_KEY_TOLD_MAX 200   /* calls that returned OK */

struct sim;
struct sim_plan;
struct sim_process;

typedef enum sim_key_kind {
    SIM_KEY_START,
    SIM_KEY_SIGNAL,
    SIM_KEY_END, /* terminates the current run */
    SIM_KEY_PURGE
} sim_key_kind;

typedef struct sim_key_act {
    sim_key_kind kind;
    cascade_reuse reuse; /* of a start */
    int request;         /* of the signal; -1: a start without one */
    bool by_key;         /* a signal; else by the id of a run, */
    unsigned back;       /* so many before the last that was born */
    char input[48];      /* of the run that is started */
    unsigned times;      /* at least so many calls */
    int64_t at_ms;
    bool off;
    /* In a run: */
    int32_t run; /* by whose id it is sent; 0: not known yet */
    unsigned made;
    bool decided;
    bool under_way;
    int64_t next_ms;
} sim_key_act;

typedef struct sim_key_run {
    bool born;
    bool gone;    /* purged */
    int32_t root; /* the run that was started, and continued as this one */
    int by;       /* the act that started it; -1: it was continued */
} sim_key_run;

/* A signal that a run has received. */
typedef struct sim_key_found {
    int32_t run;
    int32_t function_id;
    int request;
} sim_key_found;

/* A call that has acknowledged one: it is bound to one of the starts between.
 */
typedef struct sim_key_told {
    int request;
    int32_t from; /* their roots */
    int32_t to;
} sim_key_told;

typedef struct sim_key {
    bool on;
    sim_key_act acts[SIM_KEY_ACTS_MAX];
    unsigned act_count;
    /* In a run: */
    cascade_uuid ids[SIM_KEY_RUNS_MAX + 1]; /* by number, from 1 */
    sim_key_run runs[SIM_KEY_RUNS_MAX + 1];
    int32_t born; /* the highest number */
    unsigned purges;
    unsigned lives; /* how often the only run was purged, and born again */
    sim_key_found found[SIM_KEY_FOUND_MAX];
    size_t found_count;
    sim_key_told told[SIM_KEY_TOLD_MAX];
    size_t told_count;
} sim_key;

/* Draws whether a seed has it, and what is done. */
void sim_key_plan(struct sim_plan *plan);
void sim_key_print(const struct sim_plan *plan);

/* So that a run begins. */
void sim_key_open(struct sim *s);
/* Makes what is due, through the handle of `p`; true when something was. */
bool sim_key_act_due(struct sim *s, struct sim_process *p);
/* When the next of it is due; INT64_MAX: none. */
int64_t sim_key_next(const struct sim *s);
/* All was done, what was acknowledged is there, and the last run has ended. */
bool sim_key_done(const struct sim *s);
void sim_key_check(struct sim *s);

/* A submit that one of its acts makes: others are to be judged elsewhere. */
bool sim_key_submits(const struct sim_process *p);
/* A call that took effect. */
void sim_key_see(struct sim_process *p, const wrap_call *call);

#endif
