/* SPDX-License-Identifier: MIT
 *
 * Starts that wait for a transaction of the application's: see blocked_start.c.
 */
#ifndef CSC_CLIENT_BLOCKED_START_H
#define CSC_CLIENT_BLOCKED_START_H

#include <stdint.h>

#include "cascade/cascade.h"
#include "cascade/store.h"
#include "held/lane/start_request.h"

/* Tries the submission, a brief one, until `end_ms` (monotonic), and takes the
 * start out: CASCADE_ERR_UNAVAILABLE where it was not made by then,
 * CASCADE_ERR_OUTCOME_UNKNOWN where it may have been. */
cascade_err csc_blocked_start_submit(cascade_store *store, csc_start *start,
                                     const cascade_submission *submission,
                                     int64_t end_ms);
/* The same for one that no lane has had: added where its first try is held up,
 * or while others are. */
cascade_err csc_blocked_start_send(cascade_store *store, csc_start *start,
                                   const cascade_submission *submission,
                                   int64_t end_ms);

#endif
