/* SPDX-License-Identifier: MIT
 *
 * Looking from outside: for calls that wait until something is recorded.
 */
#ifndef CSC_QUERY_WAIT_H
#define CSC_QUERY_WAIT_H

#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "store/store.h"

/* One look: CASCADE_ERR_AGAIN when there is nothing to say yet, else what the
 * call is to return. `late`: looks have become rare; whoever was to do
 * something may be gone. */
typedef cascade_err (*csc_look_fn)(void *context, bool late);

/* Looks, at least once, until there is something to say or `timeout_ms` (-1: no
 * limit) has passed: CASCADE_ERR_AGAIN, without a text. Between two looks it
 * sleeps, ever longer, unless the watch is told. */
cascade_err csc_get_until(cascade_store *store, csc_watch *watch,
                          int64_t timeout_ms, csc_look_fn look, void *context);

/* CASCADE_ERR_INVALID when `wait_ms` is neither a time nor -1; `what` names the
 * call. */
cascade_err csc_get_check(const char *what, int64_t wait_ms);

/* Checks what chooses cascades, each NULL or 0 where it is not given; `what`
 * names the call. */
cascade_err csc_get_check_filter(const char *what, const char *user_id,
                                 const char *node, const char *queue,
                                 cascade_status status);

/* A sink for the rows of cascades of which only others are wanted. */
cascade_err csc_get_pass(void *context, const cascade_row *row);

#endif
