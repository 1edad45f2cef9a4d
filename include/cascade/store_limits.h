/* SPDX-License-Identifier: MIT
 *
 * Queues with limits: the sub-table `limits` of a store, see store.h.
 *
 *   move  | does                                       | guarantees
 *   ------+--------------------------------------------+-----------
 *   set   | sets the limits of a queue                 | S96, S100
 *   list  | lists them, or gives those of one          | S100
 *   drop  | the queue is one like others again         | S100
 *   slots | lists what has a slot                      | S101
 *
 * A queue with limits is *kept*: its runs are served by their keys, and who
 * runs one has a *slot* of the queue and of the key. How many slots there are
 * is what the rows of the runs say, each time; nobody counts.
 *
 *   set ---> kept: starts and freed runs that are due wait by key
 *              |  claim with `slots`: under the queue's lock it counts, then
 *              |  goes from key to key and takes
 *              v
 *            a slot ---> FREE, END, DELETE, REVIVE, detach, remove ---> no slot
 *
 * A run that waits by its key needs CASCADE_NEEDS_TURN. That is no node: who
 * knows nothing of limits leaves it alone, and whoever claims it because of a
 * message clears it, as it clears any `needs`.
 *
 * In a store without it these calls are CASCADE_ERR_UNSUPPORTED, and no queue
 * is kept.
 */
#ifndef CASCADE_STORE_LIMITS_H
#define CASCADE_STORE_LIMITS_H

#include "cascade/cascade.h"
#include "cascade/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CASCADE_LIMITS_ANY (-1) /* a version: whichever there is, or none */

/* The limits of a queue. */
typedef struct cascade_limits_row {
    const char *queue;
    int64_t version;         /* raised by each set; 0: it has none */
    int32_t running_max;     /* slots of all its runs; 0: any number */
    int32_t key_running_max; /* slots of the runs of each key; 0: any number */
    const char *about;       /* JSON: who has set them and why, as the caller of
                                `set` wrote it */
} cascade_limits_row;

typedef cascade_err (*cascade_limits_sink)(void *context,
                                           const cascade_limits_row *row);

/* A run that has a slot. */
typedef struct cascade_slot_row {
    cascade_uuid cascade_id;
    const char *limit_key;
} cascade_slot_row;

typedef cascade_err (*cascade_slot_sink)(void *context,
                                         const cascade_slot_row *row);

typedef struct cascade_store_limits {
    size_t size; /* sizeof(cascade_store_limits) */

    /* Puts them in the place of those with the version `row->version` (0: none;
     * CASCADE_LIMITS_ANY) for claims that come after. `*done`: it was so, and
     * `*version` is the new one; else nothing is changed, and it is that which
     * is there. A pause stays as it is. */
    cascade_err (*set)(void *self, const cascade_limits_row *row, bool *done,
                       int64_t *version);

    /* Gives up to `limit` of them, 1-1,000, by the bytes of their names, above
     * `after` ("": from the first); with `only` those of that queue alone, if
     * it has any. */
    cascade_err (*list)(void *self, const char *only, const char *after,
                        size_t limit, cascade_limits_sink sink, void *context);

    /* Takes them away; `*done`: there were some. A pause stays as it is, and
     * so does what waits by its key: any claim gives it now (S99). */
    cascade_err (*drop)(void *self, const char *queue, bool *done);

    /* Gives up to `limit` of the runs of a queue that have a slot, 1-1,000, by
     * their keys; with `key` those of that key alone. */
    cascade_err (*slots)(void *self, const char *queue, const char *key,
                         size_t limit, cascade_slot_sink sink, void *context);
} cascade_store_limits;

#ifdef __cplusplus
}
#endif

#endif
