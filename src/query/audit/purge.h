/* SPDX-License-Identifier: MIT
 *
 * Deleting what has ended long ago, in portions.
 *
 *   page of the store's list
 *     |
 *     +-- of another status, or ended since a time: passed over
 *     +-- alone ------------------------------> a batch --> the store's purge
 *     +-- a child, or has a run before, which
 *     |   stays: it stays, where it leads
 *     |   to a run that goes on --------------> else the same
 *     +-- its row, its run's, or its first execution
 *     |   cannot be read ---------------------> it stays; verify tells why
 *     +-- its run before will go too: waits for that, since the oldest goes
 *         first -----------------------------> the same, once that is gone
 *
 * A run that has continued as new is entered before it goes into a batch; what
 * it has received outlives it: link.h.
 *
 * In the end goes what was entered for runs of which the last is gone (S54).
 *
 * A portion is a page, or a batch. Nothing is kept in the store of how far a
 * pass is: after a crash the next begins anew, and finds what is left. What
 * went on meanwhile the store leaves alone (S26). Of a large cascade the rows
 * go later, by pieces (S39).
 */
#ifndef CSC_QUERY_AUDIT_PURGE_H
#define CSC_QUERY_AUDIT_PURGE_H

#include "base/data/map.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/store.h"

#define CSC_PURGE_PAGE 200

/* On the way to the last of the runs that one leads to. */
typedef struct csc_purge_walk {
    cascade_link run; /* where it is; `id` all zero: it has not begun */
    bool met;         /* that one's row was read, */
    int32_t read;     /* and its executions below */
    int32_t hops;     /* to runs that were not entered as the last */
    bool over;
    bool running; /* the last one is */
} csc_purge_walk;

typedef struct csc_purge_row {
    cascade_uuid id;
    int32_t fn_id;
    cascade_uuid previous; /* all zero: there is none to be looked at */
    cascade_link link; /* without receipts; `next` all zero: none after it */
    int32_t read;      /* of its records, those below */
    bool sought;       /* its records have told whether it has continued */
    csc_purge_walk walk;
    bool child;
    bool unreadable;
} csc_purge_row;

/* One pass. All zero but for what the caller sets. */
typedef struct csc_purge {
    cascade_store *store;
    int64_t completed_before_ms; /* CASCADE_TIME_NONE: none of them */
    int64_t failed_before_ms;
    /* How far it is. */
    cascade_status status; /* 0: it has not begun */
    cascade_status first;  /* that it had; 0: the same */
    cascade_uuid after;
    cascade_place place; /* of the list */
    csc_purge_row rows[CSC_PURGE_PAGE];
    size_t listed;      /* on the page */
    size_t count;       /* of these in `rows` */
    size_t at;          /* those before are decided */
    bool last;          /* the page was the last of its status */
    cascade_uuid swept; /* the cursor of what is swept in the end */
    csc_map waiting;    /* by the id of the run before: a csc_purge_row */
    cascade_uuid batch[CSC_PURGE_PAGE];
    size_t batch_count;
    cascade_progress total;
} csc_purge;

/* What has its age at `now_ms`; CASCADE_TIME_NONE for a negative age. */
int64_t csc_purge_before(int64_t now_ms, int64_t age_ms);

/* One portion; `more` tells whether there is another. After an error the pass
 * is over. */
cascade_err csc_purge_next(csc_purge *purge, bool *more);
void csc_purge_fini(csc_purge *purge);

#endif
