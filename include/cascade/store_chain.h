/* SPDX-License-Identifier: MIT
 *
 * Keys, and runs that follow each other: the sub-table `chain` of a store, see
 * store.h.
 *
 *   move  | gives, or does                             | guarantees
 *   ------+--------------------------------------------+--------------------
 *   key   | the number of a key's current run          | S22
 *   find  | which cascade has a path, or leads on      | S43, S49, S84
 *   link  | enters what outlives a run                 | S44
 *   sweep | takes what leads to what is gone           | S54
 *
 * A store without it refuses starts with a key (CASCADE_ERR_UNSUPPORTED). Runs
 * may continue as new there, but one that is deleted leads nowhere: nothing of
 * S43, S44, S49, S54, S55, S83, S84 is asked of it.
 */
#ifndef CASCADE_STORE_CHAIN_H
#define CASCADE_STORE_CHAIN_H

#include "cascade/cascade.h"
#include "cascade/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CASCADE_LINKS_MAX 10000

/* A message that a run has received. */
typedef struct cascade_receipt {
    const char *path;
    int32_t function_id; /* of the execution that has it */
} cascade_receipt;

/* A run that has continued, and is to be deleted: S44. */
typedef struct cascade_link {
    cascade_uuid id;
    cascade_uuid root;   /* the run that was started: itself, or one before */
    int32_t run_number;  /* its own, among the runs of that */
    cascade_uuid next;   /* a later one, */
    int32_t next_number; /* and the number of that: S43 */
    const cascade_receipt *receipts;
    size_t receipt_count; /* 0-CASCADE_LINKS_MAX */
} cascade_link;

/* Where a path is. */
typedef struct cascade_found {
    cascade_uuid id;    /* the cascade that has it; all zero: none has */
    cascade_uuid root;  /* all zero, or: it is gone, and `id` is the last run of
                           this one: S43, */
    int32_t run_number; /* with this number among them */
} cascade_found;

typedef struct cascade_store_chain {
    size_t size; /* sizeof(cascade_store_chain) */

    /* The number of the current run of a key: 1 where there is no row. */
    cascade_err (*key)(void *self, const char *user_id, const char *key,
                       int32_t *run_number);

    /* The cascades that have a message or an execution of these paths, or to
     * which these lead, 1-1,000: S43, S49. */
    cascade_err (*find)(void *self, const char *const *paths, size_t count,
                        cascade_found *found);

    /* Enters what outlives a run: S44. */
    cascade_err (*link)(void *self, const cascade_link *link);

    /* Looks at `limit` roots, 1-1,000, or at `root` alone where that is not
     * NULL, and takes up to CASCADE_DELETE_ROWS_MAX rows and one for each root:
     * S54. `*cursor` tells how far it is, in its own way: all zero at first,
     * then as the last call left it; `*more`: there may be more. */
    cascade_err (*sweep)(void *self, const cascade_uuid *root, size_t limit,
                         cascade_uuid *cursor, bool *more);
} cascade_store_chain;

#ifdef __cplusplus
}
#endif

#endif
