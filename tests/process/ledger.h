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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/place.h"

typedef struct test_ledger {
    const test_place *place;
    cascade_store *store;
    void *recorded; /* a tree of what was recorded at some mark */
    void *ended;    /* a tree of the cascades that had ended then */
    size_t mark;    /* the length of the log at the mark being made */
    size_t running; /* cascades not ended, at the last mark */
    size_t marked;  /* executions seen recorded so far */
    size_t late;    /* lines behind a mark */
    bool strict;    /* a cascade that ended otherwise than the flow does fails
                        the test at the mark, not only at the end */
    /* Whether a line behind a mark by `who` is no fault; NULL: it is one. */
    bool (*may_be_late)(void *context, const char *who);
    /* Lets those go on whom the test has stopped: one of them keeps it from
     * reading. NULL: there are none. */
    void (*let_go)(void *context);
    void *context;
    bool
        forgetful; /* the store has lost commits: what ran need not be recorded,
                       and may run again */
    /* What ledger_check() found: */
    size_t cascades;
    size_t keyed; /* of them by user "keyed" */
    size_t effects;
    size_t repeated; /* of them: because not yet recorded; without nodes that
                        are entered again anyway */
} test_ledger;

/* With a store of its own. */
void ledger_open(test_ledger *ledger, const test_place *place);
void ledger_close(test_ledger *ledger);

/* Reads what is recorded by now, of cascades that had not ended before. */
void ledger_mark(test_ledger *ledger);

/* Whether that cascade was seen ended. */
bool ledger_has_ended(const test_ledger *ledger, const cascade_uuid *id);

/* Whether an engine of that process is listed in the store, and how long its
 * lease goes on there. */
bool ledger_lists(test_ledger *ledger, pid_t pid, int64_t *left_ms);

/* How long the log is, in bytes. */
size_t ledger_log_size(const test_place *place);

/* Waits until every cascade has ended; fails the test after `limit_ms`, saying
 * what stands still. */
void ledger_wait_ended(test_ledger *ledger, int64_t limit_ms);

/* `cascades` cascades of the flow (LEDGER_ANY: those that are there) have
 * completed, each with every execution and every value exactly once; all that
 * is recorded ran; nothing that was recorded at a mark ran after it. Prints how
 * many effects were repeated. */
#define LEDGER_ANY SIZE_MAX
void ledger_check(test_ledger *ledger, size_t cascades);

#endif
