/* SPDX-License-Identifier: MIT
 *
 * What outlives a run that has continued as new and is deleted: its id, and
 * the request ids that it has received (S43, S44 of store.h).
 *
 *   run 1 --> run 2 --> run 3 (last)      each start of a later run enters that
 *     |         |         ^               it is the last one, in its own commit
 *     purge: what run 1 has received
 *     is entered; then it is deleted
 *                         |
 *   to run 1's id: it is not there; what was entered leads to the last run
 *
 * If the process dies before the deletion, what was entered stands beside the
 * run, and does no harm: what is there comes first.
 */
#ifndef CSC_QUERY_LINK_H
#define CSC_QUERY_LINK_H

#include "cascade/cascade.h"
#include "cascade/store.h"

/* Of runs with id, root and run_number: makes `next` the last one of the root,
 * all zero where none that comes later was entered. One read; 1-1,000 runs. */
cascade_err csc_link_look(cascade_store *store, cascade_link *runs,
                          size_t count);

/* The same by what a run that has ended has recorded itself, a page of its
 * executions from `*from` on: for one that an engine has continued which enters
 * nothing, of a release that does not know how. */
cascade_err csc_link_seek(cascade_store *store, cascade_link *run,
                          int32_t *from, bool *more);

/* Enters a run that has continued, before it is deleted: what it has received
 * is kept by the store then, with the rows that go. Nothing without `next`. */
cascade_err csc_link_keep(cascade_store *store, const cascade_link *run);

/* The same of one, with id, root and run_number, whose `next` is looked for,
 * which it gets. The run that was started is told by the row of the chain:
 * nothing is written. */
cascade_err csc_link_keep_found(cascade_store *store, cascade_link *run);

/* Of runs with id, root and run_number: whether an earlier run was entered as
 * the last one of the root, or none. One read; up to 1,000 runs. */
cascade_err csc_link_behind(cascade_store *store, const cascade_link *runs,
                            size_t count, bool *behind);
/* Enters that it is the last run of its root, unless a later one was. */
cascade_err csc_link_enter(cascade_store *store, const cascade_link *run);

/* Before a run whose id somebody has chosen is begun: forgets what was entered
 * of a chain of that root which is gone, or it would count as received by the
 * new one. CASCADE_ERR_REFUSED, for `what`, where a later run of it is there,
 * unless the one to be begun has `ended`, or is there. One read where nothing
 * was entered. */
cascade_err csc_link_begin(cascade_store *store, const cascade_link *run,
                           bool ended, const char *what);
/* The same of one that continues no other. */
cascade_err csc_link_begin_first(cascade_store *store, const cascade_uuid *id,
                                 const char *what);

/* On the way to a run that may be gone. */
typedef struct csc_link_way {
    cascade_uuid run; /* where to send */
    int turns;        /* so far */
} csc_link_way;

/* What was sent to `way->run` was answered with `sent_err`, and told as `sent`;
 * `*again`: it is to be sent to another, which is in `way` by now. The result
 * is that of all the sending; CASCADE_ERR_OUTCOME_UNKNOWN where it is not known
 * what became of it: a try that was not answered may have come to a run that
 * was deleted since. */
cascade_err csc_link_turn(cascade_store *store, cascade_err sent_err,
                          cascade_sent sent, csc_link_way *way, bool *again);

/* There is no such cascade, as the error text says: where it leads, that says
 * so too. CASCADE_ERR_NOT_FOUND. */
cascade_err csc_link_fail_absent(cascade_store *store, const cascade_uuid *id);

#endif
