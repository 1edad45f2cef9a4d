/* SPDX-License-Identifier: MIT
 *
 * The runs of a key, for starts: which one is current, and whether the next is
 * to be started.
 */
#ifndef CSC_CLIENT_KEY_REUSE_H
#define CSC_CLIENT_KEY_REUSE_H

#include "cascade/cascade.h"

/* A run of a key; its status is 0 where it is not there. */
typedef struct csc_key_run {
    int32_t number;
    cascade_uuid id;
    cascade_status status;
    int64_t updated_at_ms; /* 0 where it was not looked at */
} csc_key_run;

/* Reads the current one. Where that is the first, and may be as it likes
 * (`reuse` is NEVER), it is not looked at, and counts as RUNNING. */
cascade_err csc_key_reuse_read(cascade_store *store, const char *user_id,
                               const char *key, cascade_reuse reuse,
                               csc_key_run *run);

/* Reads the status of the run with that id. */
cascade_err csc_key_reuse_look(cascade_store *store, csc_key_run *run);

/* Whether the key was ever started, as it was read; false of all zero. */
bool csc_key_reuse_has(const csc_key_run *run);

/* Writes the number of the run that is to be started behind the current one; 0:
 * none, as that is given. Terminates that one where `reuse` says so, and waits
 * for it up to the store's deadline: CASCADE_ERR_AGAIN. `run` is as it was when
 * it ended then. */
cascade_err csc_key_reuse_next(cascade_store *store, cascade_reuse reuse,
                               csc_key_run *run, int32_t *anew);

#endif
