/* SPDX-License-Identifier: MIT
 *
 * Whether the limits of a queue held, judged when all is over from the logs of
 * crowd.h. The store is asked for two things only: which begins it has the
 * outcome of, and, meanwhile, who has a slot.
 *
 * A span is a function from its begin to its end. It counts where its cascade
 * had its slot all the while for certain:
 *
 *   accepted    its outcome is recorded: the store takes that of an owner only
 *   of a whole  the process had one incarnation, which was listed with a lease
 *   life        that went on at the time `until`; the span ends there at last
 *
 * Others may be of a process that was stopped while its cascades were taken
 * over, and are left out. So what is counted is less than there is, never more.
 *
 * What runs at once has slots at once, and of these one was given last, not
 * later than the last begin and not earlier than `since`:
 *
 *        set 8                   set 3
 *   -------|---------------------|--|------------------> time
 *                 look: a, b          look: a
 *   a  .......[=================================]
 *   b  .......[================]   c  [========]
 *
 * c had no slot at the second look, so it was given one behind it: then a and c
 * are held against 3 alone. Where nothing is known of any since the time of the
 * 8, it may have been given then. A claim counts behind a lock that a set takes
 * too, so the maximum of one moment is enough: the greatest of those that may
 * have been in force between `since` and the begin.
 */
#ifndef TESTS_PROCESS_VERDICT_H
#define TESTS_PROCESS_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/crowd.h"
#include "process/worker.h"

#define VERDICT_CASCADES 3000
#define VERDICT_SPANS 30000
#define VERDICT_LIVES 64
#define VERDICT_SETS 64
#define VERDICT_LOOKS 20000
#define VERDICT_SLOTS 64
#define VERDICT_KEYS 8

typedef struct verdict_cascade {
    cascade_uuid id;
    const char *user;
    int key;
    int64_t since_ns; /* it had no slot before */
    int executions;   /* recorded as completed */
    int values;       /* recorded */
    int running;      /* spans of it, in the sweep */
} verdict_cascade;

typedef struct verdict_span {
    verdict_cascade *of;
    int64_t begin_ns;
    int64_t end_ns; /* INT64_MAX: it was not told */
    bool accepted;
} verdict_span;

/* Of a process. */
typedef struct verdict_life {
    char who[CROWD_WHO];
    bool whole;
    int64_t until_ns;
    size_t first; /* of its spans: that of number 1 */
    size_t count;
} verdict_life;

/* Limits in force from some time between the two on. 0: no maximum. */
typedef struct verdict_set {
    int64_t asked_ns;
    int64_t told_ns;
    int running_max;
    int key_max;
} verdict_set;

/* Who had a slot at some time between the two. */
typedef struct verdict_look {
    int64_t asked_ns;
    int64_t told_ns;
    verdict_cascade *slots[VERDICT_SLOTS];
    size_t count;
    size_t running; /* cascades that had not ended */
} verdict_look;

typedef struct verdict {
    const test_place *place;
    cascade_store *store;
    verdict_cascade cascades[VERDICT_CASCADES];
    size_t cascade_count;
    verdict_span spans[VERDICT_SPANS];
    size_t span_count;
    verdict_life lives[VERDICT_LIVES];
    size_t life_count;
    verdict_set sets[VERDICT_SETS];
    size_t set_count;
    verdict_look looks[VERDICT_LOOKS];
    size_t look_count;
    bool stale;  /* the last of them */
    size_t kept; /* looks while there were limits */
    /* What was found: */
    size_t counted; /* spans */
    size_t full;    /* begins by which the queue had as many as it may, */
    size_t full_key;
    size_t left_out;
} verdict;

/* With a store of its own. */
void verdict_open(verdict *v, const test_place *place);
void verdict_close(verdict *v);

/* ---- Meanwhile ----------------------------------------------------------- */

/* Sets the limits of the queue "default". */
void verdict_limit(verdict *v, int running_max, int key_max);

/* Takes them away, for good. */
void verdict_unlimit(verdict *v);

/* Starts one there. `user` stays. */
typedef struct verdict_start {
    const char *user;
    const char *limit_key; /* NULL: the user */
    int key;               /* its number */
} verdict_start;
void verdict_begin(verdict *v, const verdict_start *starts, size_t count);

/* Looks who has a slot, unless it did a moment ago and nothing was started or
 * set since; returns how many cascades had not ended then. */
size_t verdict_look_now(verdict *v);

void verdict_born(verdict *v, const test_worker *worker);
/* Whether an engine of that process is listed, and whether its lease goes on.
 */
typedef struct verdict_listing {
    pid_t pid;
    bool listed;
    bool leased;
} verdict_listing;
verdict_listing verdict_list(const verdict *v, pid_t pid);
/* Kills it, or ends it, and tells how long its life is known to be whole. */
void verdict_kill(verdict *v, test_worker *worker);
void verdict_end(verdict *v, test_worker *worker);

/* Prints who runs and who waits. */
void verdict_tell(verdict *v);

/* ---- When all is over ---------------------------------------------------- */

/* Fails the test where more ran at once than may, and unless each cascade ended
 * once, having done all. */
void verdict_pass(verdict *v);

#endif
