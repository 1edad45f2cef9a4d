/* SPDX-License-Identifier: MIT
 *
 * The sweep: a scenario is played with the fault at the first event, at the
 * second, and so on, until a play comes to its end without meeting it. After
 * each play the judges look (scene.h).
 *
 * A plan is what one test program does: every scenario on the stores it names,
 * with every fault of a list. With CASCADE_SWEEP=full each N is tried, and so
 * it is where that takes no more plays than the plan allows. Else the faults
 * strike in turn at places that the seed draws; how many is said.
 * CASCADE_SWEEP=NUMBER allows that many, CASCADE_SWEEP_SHARE=3 a third of what
 * the plan does. CASCADE_SWEEP_ONLY=TEXT plays the scenarios with that in their
 * names. CASCADE_SWEEP_AT=N tries that place alone, with every fault, N/F with
 * fault F of the list (from 0), to look at a failure.
 */
#ifndef TESTS_SWEEP_SWEEP_H
#define TESTS_SWEEP_SWEEP_H

#include "sweep/scenarios.h"

typedef struct sweep_fault {
    const char *name;
    bool lasting; /* the Nth and all that follow */
    bool crash;   /* the process ends at the Nth */
    /* Counts from now on; strikes at the nth (0: never). */
    void (*arm)(scene *s, const struct sweep_fault *fault, size_t nth);
    size_t (*disarm)(scene *s); /* how many events there were */
    wrap_when when;
    cascade_err err;  /* of the store's moves */
    cascade_err ends; /* what alone a play that meets it may end with;
                          CASCADE_OK: any error */
    uint64_t moves;   /* of the store: as in scene_fault */
    int variant;      /* for the others: what it does */
    const char *only; /* on that store; NULL: on all */
} sweep_fault;

typedef struct sweep_plan {
    const char *name;
    const sweep_fault *faults; /* the first one is not lasting */
    size_t fault_count;
    stores_where where;
    /* Plays of a scenario, unless each place is tried. */
    size_t points_memory;
    size_t points_sqlite;
    size_t points_postgres;
    void (*prepare)(void); /* once, before anything; NULL: nothing to do */
} sweep_plan;

int sweep_main(const sweep_plan *plan, int argc, char **argv);

/* Plays each scenario once, without a fault; `look` sees what it did. */
void sweep_play_all(test_db *db, void (*look)(void *context, const journal *j),
                    void *context);

/* Faults of the store's moves. */
void sweep_arm_store(scene *s, const sweep_fault *fault, size_t nth);
size_t sweep_disarm_store(scene *s);
/* Faults of whatever is counted by events.h. */
void sweep_arm_events(scene *s, const sweep_fault *fault, size_t nth);
size_t sweep_disarm_events(scene *s);

/* Folders of databases are made in memory where there is a file system for it:
 * no play depends on a disk. */
void sweep_use_memory(void);

#endif
