/* SPDX-License-Identifier: MIT
 *
 * What an execution sees of one key of the context, without a walk over all
 * that was ever put. See WHAT AN EXECUTION SEES in state.h. Its events, in
 * order, stand in two rows; the node's own puts come between them:
 *
 *   before   function_id up to its place: what was there when it was spawned
 *            (`plain`), at its place what others wrote, and what those it
 *            joined wrote
 *   behind   function_id behind its place: what those it joined wrote later,
 *            and what its own parts wrote, those it has passed
 *
 * `plain` is most of it in a long cascade. The tree of the key's events knows
 * the lowest and the highest `at` below each node; so the last, the nth and the
 * count of what has `at` below a place are found from the root, past as many
 * events as were in flight when the execution was spawned, however many there
 * are. Of its own parts the nth is found as directly, where all of them up to
 * the last are behind the node. What it has joined is gathered by its `seen`
 * set or from the events that are not plain, whichever are fewer.
 *
 * All locked; and while a node runs what it sees stays the same, and so do
 * the values.
 */
#ifndef CSC_STATE_CONTEXT_H
#define CSC_STATE_CONTEXT_H

#include "cascade/cascade.h"

typedef struct csc_event csc_event;
typedef struct csc_exec csc_exec;
typedef struct csc_ids csc_ids;
typedef struct csc_key csc_key;

/* Who looks, at which key. */
typedef struct csc_context {
    const csc_key *key; /* NULL: nobody has put to it */
    const csc_exec *exec;
    const csc_ids *passed; /* its parts that are behind the node */
    /* Of csc_context_open(): */
    const csc_event **joined; /* ascending */
    size_t joined_count;
    size_t joined_room;
    size_t joined_before; /* of these: before */
    size_t plain_count;
    size_t own_from; /* place among the key's events of parts */
    size_t own_count;
    const csc_event **own; /* where some between are not passed, else NULL */
    size_t own_room;
} csc_context;

/* The last value behind its place, or before it; NULL without one. Needs only
 * the first three members. */
const char *csc_context_last(const csc_context *context, bool behind);

/* For the count and the nth: sets the other members. csc_context_fini() frees
 * what they need, in any case. */
cascade_err csc_context_open(csc_context *context);
void csc_context_fini(csc_context *context);

/* How many values there are before its place, or behind. */
size_t csc_context_count(const csc_context *context, bool behind);

/* Writes up to `count` values from the nth on; returns how many. */
size_t csc_context_read(csc_context *context, bool behind, size_t nth,
                        size_t count, const char **values);

#endif
