/* SPDX-License-Identifier: MIT
 *
 * What really happened, from the three tables and the log of side effects.
 *
 * A mark reads which executions are recorded, and then how long the log is. An
 * execution that was recorded at a mark and has a line behind that place ran
 * again after it was recorded: G3 is broken. Reading in that order makes the
 * check sound with any number of processes at work.
 */
#ifndef TESTS_PROCESS_LEDGER_H
#define TESTS_PROCESS_LEDGER_H

#include <stddef.h>

#include "process/place.h"

typedef struct test_ledger {
    const test_place *place;
    cascade_store *store;
    void *recorded;  /* a tree of what was recorded at some mark */
    size_t mark;     /* the length of the log at the mark being made */
    size_t running;  /* cascades not ended, at the last mark */
    size_t marked;   /* executions seen recorded so far */
    size_t late;     /* lines behind a mark */
    size_t late_max; /* how many there may be; 0, unless the test sets it */
} test_ledger;

/* With a store of its own. */
void ledger_open(test_ledger *ledger, const test_place *place);
void ledger_close(test_ledger *ledger);

/* Reads what is recorded by now. */
void ledger_mark(test_ledger *ledger);

/* How long the log is, in bytes; how many lines it holds. */
size_t ledger_log_size(const test_place *place);

/* Waits until every cascade has ended; fails the test after `limit_ms`, saying
 * what stands still. */
void ledger_wait_ended(test_ledger *ledger, int64_t limit_ms);

/* `cascades` cascades of the flow have completed, each with every execution
 * and every value exactly once; all that is recorded ran; nothing that was
 * recorded at a mark ran after it. Prints how many effects were repeated. */
void ledger_check(test_ledger *ledger, size_t cascades);

#endif
