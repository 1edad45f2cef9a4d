/* SPDX-License-Identifier: MIT
 *
 * Sending starts and messages to the store, without an engine.
 */
#ifndef CSC_CLIENT_SUBMIT_H
#define CSC_CLIENT_SUBMIT_H

#include <stdint.h>

#include "cascade/cascade.h"
#include "cascade/store.h"

/* Submits, again while the store cannot be reached, up to its deadline: it is
 * the same submission. Tells the engines of this process. `what` names the call
 * in CASCADE_ERR_OUTCOME_UNKNOWN. */
cascade_err csc_submit(cascade_store *store,
                       const cascade_submission *submission, const char *what);
/* The first try, which shares its transaction with what others of the handle
 * submit (store/pipeline.h); tells the engines. CASCADE_ERR_UNAVAILABLE: nobody
 * knows; _NOT_DONE: it was not sent until `end_ms`. */
cascade_err csc_submit_shared(cascade_store *store,
                              const cascade_submission *submission,
                              int64_t end_ms);
/* What to say when the store's deadline has passed and nobody knows. */
cascade_err csc_submit_undecided(const cascade_store *store, const char *what,
                                 const char *why);
/* Between two tries: nobody ends it early. */
void csc_submit_sleep(int64_t ms);

#endif
