/* SPDX-License-Identifier: MIT
 *
 * Starts cascades again and again, a few at a time, and writes down which the
 * library acknowledged: one line "<id> <key>" of STARTER_LOG after each OK.
 * Every second time they have keys, KEY-NUMBER, of user STARTER_USER. A key not
 * acknowledged is started again, also by the process that comes after this one
 * (figures.key_next, worker_options.key_from). Starts without key that were not
 * acknowledged may exist or not (figures.doubtful).
 */
#ifndef TESTS_PROCESS_STARTER_H
#define TESTS_PROCESS_STARTER_H

#include <pthread.h>
#include <stdatomic.h>

#include "process/ledger.h"
#include "process/worker.h"

#define STARTER_LOG "starts.log"
#define STARTER_USER "keyed"
#define STARTER_MAX 3 /* cascades in one call */

/* Until `*ended`. */
void starter_run(cascade_store *store, worker_shared *shared,
                 const atomic_bool *ended);

/* The same in a thread of its own. */
typedef struct test_starter {
    cascade_store *store;
    worker_shared *shared;
    const atomic_bool *ended;
    pthread_t thread;
} test_starter;

void starter_begin(test_starter *starter);
void starter_end(test_starter *starter); /* waits; `*ended` is set */

/* Tells `each` what was acknowledged from place `*from` of the log on, and
 * moves that. Returns how many had no key. */
typedef void (*starter_each)(void *context, const cascade_uuid *id,
                             const char *key);
size_t starter_read(const test_place *place, size_t *from, starter_each each,
                    void *context);

/* What may be: keys below `keys` for certain, up to `keys_doubtful` more, up to
 * `doubtful` without key that nobody was told of. */
typedef struct starter_claims {
    size_t keys;
    size_t keys_doubtful;
    size_t doubtful;
} starter_claims;

/* After ledger_check(): whoever was told that a start is there finds it, and
 * there is nothing that nobody started. */
void starter_check(test_ledger *ledger, const starter_claims *claims);

#endif
