/* SPDX-License-Identifier: MIT
 *
 * One round of real kills on one database (G1-G6, G9, G10): a director, this
 * process, keeps some workers at it and strikes at random.
 *
 *     outsider    starts cascades, runs none      \
 *     engine      runs them, and starts some       > the database, the log of
 *     engine ...  as other hosts or as this one   /  effects, that of starts
 *         ^
 *         | SIGKILL, or SIGSTOP past the lease and then SIGCONT (or SIGKILL)
 *      director   marks what is recorded meanwhile; starts others instead
 *
 * A STRIKE COUNTS when a commit was in flight: the victim tells in its mapping
 * when it has handed one to the store (watch.h). The director waits for that,
 * lets a moment pass, strikes, and looks again when the process is dead or
 * stopped. What is seen then is what counts. Other strikes happen too: at
 * those who make the tables, at one that is only starting, at all at once; and
 * one is asked to end (SIGTERM) under load.
 *
 * ON POSTGRESQL a third of the stops are made in the middle of the pipeline of
 * a commit, at a random statement: the server is left with an open transaction
 * that holds the lane. ON SQLITE a stop may hold the write lock: then nobody
 * can renew his lease, and all are expired when it goes on.
 *
 * NOW AND THEN everybody is killed at once. While nobody runs, the oracle of
 * the tests (support/oracle.h) judges the rows as they lie there, in
 * mid-flight, and what was entered up to then; whatever it saw recorded must
 * never run again, without excuse.
 *
 * AT THE END nobody strikes; everything ends. Then the tables are held against
 * the log of effects (ledger.h), the starts against what was acknowledged
 * (starter.h), the oracle judges once more, and nothing of dispatch may be
 * left (remains.h).
 *
 * All choices come from place_random(); when they are made depends on the
 * machine, so a seed gives the same choices and not the same interleaving.
 */
#ifndef TESTS_PROCESS_TORTURE_H
#define TESTS_PROCESS_TORTURE_H

#include <stddef.h>
#include <stdint.h>

#include "process/place.h"

typedef struct torture_plan {
    place_kind kind;
    size_t kills;     /* with commits in flight, and so the stops: */
    size_t stops;     /* the round ends when there were that many, and engines
                         were fenced and taken over */
    int64_t until_ms; /* of place_now_ms(): it ends then anyway */
} torture_plan;

typedef struct torture_counts {
    size_t kills;
    size_t kills_in_flight;
    size_t stops;
    size_t stops_in_flight;
    size_t stops_in_pipeline;
    size_t starters_killed;
    size_t all_killed; /* times, with the oracle asked */
    size_t ended;      /* by SIGTERM, under load */
    size_t restarts;
    size_t cascades;
    size_t executions;
    size_t effects;
    size_t repeated;
    size_t late;
    size_t fences;
    size_t takeovers;
    size_t refusals; /* of changes by the store, losses, and removals before the
                        lease was over: none */
} torture_counts;

/* Adds to `counts`. Fails the test when anything is wrong. */
void torture_round(const torture_plan *plan, torture_counts *counts);

/* After a test, failed or not: nobody runs and the place is gone. With
 * CASCADE_TEST_KEEP set, what a failed round leaves is kept and named. */
void torture_clear(void);

void torture_add(torture_counts *sum, const torture_counts *more);
void torture_print(const char *what, const torture_counts *counts);

#endif
