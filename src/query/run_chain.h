/* SPDX-License-Identifier: MIT
 *
 * Runs that continue one another: see run_chain.c.
 */
#ifndef CSC_QUERY_RUN_CHAIN_H
#define CSC_QUERY_RUN_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "state/start_record.h"

/* <root>/message/<kind>/<request id>, in `arena`, with a new id where it is
 * NULL; NULL without memory. */
const char *csc_run_chain_signal_path(cascade_store *store, csc_arena *arena,
                                      const cascade_uuid *root,
                                      const char *kind, const char *request_id,
                                      int64_t now_ms);

/* The run that was started, of which the cascade is a later one; itself where
 * it was, and where it is not there. One row is read. */
cascade_err csc_run_chain_root(cascade_store *store, const cascade_uuid *id,
                               cascade_uuid *root);
/* Where a message of that path is, or was received; `run` stays where it is
 * nowhere, and where it was in a run that is `*gone`. */
cascade_err csc_run_chain_path(cascade_store *store, const char *path,
                               cascade_uuid *run, bool *gone);
/* What is told to who waits for what came of a request that a run has received
 * which is gone. */
cascade_err csc_run_chain_fail_gone(const char *what);
/* The run that a cascade continued as; CASCADE_ERR_NOT_FOUND when it did not,
 * or is not there. Reads all its executions. */
cascade_err csc_run_chain_next(cascade_store *store, const cascade_uuid *id,
                               cascade_uuid *next);
/* Whether a run has continued as `to`; false where it is not there. Reads its
 * executions, all of them. */
cascade_err csc_run_chain_leads(cascade_store *store, const cascade_uuid *id,
                                const cascade_uuid *to, bool *leads);
/* Whether `id` is that of an earlier run of the key of cascade `own`, which
 * records `meta`, of that user; CSC_RUN_CHAIN_MAX back at most. Pure. */
bool csc_run_chain_has_key(const cascade_uuid *own, const char *user_id,
                           const csc_meta *meta, const cascade_uuid *id);
#define CSC_RUN_CHAIN_MAX 100000
/* Whether a run may be deleted; CASCADE_ERR_AGAIN where one that goes on is
 * found by it. `*ended_at`: the fn_id that it has ended with. `*run`: which one
 * it is of which root, all zero where it is not COMPLETED. A few rows are read;
 * all records only of a child, or a run whose previous one is there, where no
 * later run was entered (link.h), or the last one is COMPLETED too. */
cascade_err csc_run_chain_may_delete(cascade_store *store,
                                     const cascade_uuid *id, int32_t *ended_at,
                                     cascade_link *run);
#define CSC_FOLLOW_RUNS (-1) /* it has not ended */
/* A message to a cascade that has ended, but of which a later run runs, or has
 * received it by now (`path`), counts as one to that. */
cascade_err csc_run_chain_sent(cascade_store *store, const cascade_uuid *id,
                               const char *path, cascade_sent *sent);

#endif
