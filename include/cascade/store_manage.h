/* SPDX-License-Identifier: MIT
 *
 * Looking after what is stored: the sub-table `manage` of a store, see store.h.
 *
 *   move    | for                                    | guarantees
 *   --------+----------------------------------------+-------------------
 *   pause   | cascade_queue_pause(), _resume()       | S25
 *   queues  | cascade_queue_list_load()              |
 *   totals  | cascade_counts_load()                  | S40
 *   schema  | cascade_migration_list()               | S1
 *   repair  | cascade_adopt()                        | S27, S88
 *   purge   | cascade_purge()                        | S21, S26, S39
 *   erase   | the rest of what is deleted in pieces  | S39 to S42
 *   strays  | cascade_verify()                       | S75
 *
 * In a store without it these calls are CASCADE_ERR_UNSUPPORTED, but that
 * cascade_verify() finds no strays; a queue is never paused, and
 * cascade_explain() tells nothing of it. There is no `erase`: there
 * CASCADE_RUN_DELETE takes all of a cascade in its commit, however much that
 * is, and marks none (S39, S40).
 */
#ifndef CASCADE_STORE_MANAGE_H
#define CASCADE_STORE_MANAGE_H

#include "cascade/cascade.h"
#include "cascade/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What runs of a queue there are, and whether it is paused. A queue is listed
 * that has runs, or is paused. */
typedef struct cascade_queue_row {
    const char *queue;
    bool paused;
    int64_t paused_at_ms; /* CASCADE_TIME_NONE when it is not */
    const char *about;    /* JSON: who paused it and why, as the caller of
                             `pause` wrote it; {} when it is not */
    int64_t owned;        /* runs of incarnations, alive or not, */
    int64_t slots;        /* and of these, how many have a slot (S96) */
    int64_t due;          /* free, with wake_at in the past, and no `needs`, or
                             CASCADE_NEEDS_TURN, as the next two */
    int64_t later;        /* free, with wake_at still to come, and no `needs` */
    int64_t needing;      /* free, with other `needs` */
    int64_t due_since_ms; /* the earliest wake_at among the due ones;
                             CASCADE_TIME_NONE without one */
} cascade_queue_row;

typedef cascade_err (*cascade_queue_sink)(void *context,
                                          const cascade_queue_row *row);

/* Rows that belong to what may be missing: to a cascade, but for the last two;
 * lanes to an incarnation, and incarnations to their first lane. */
typedef enum cascade_stray {
    CASCADE_STRAY_EXECUTIONS = 1,
    CASCADE_STRAY_EVENTS,
    CASCADE_STRAY_RUNS,
    CASCADE_STRAY_MESSAGES, /* the first of them so old; the next claim deletes
                               what is younger: S20 */
    CASCADE_STRAY_ERASURES,
    CASCADE_STRAY_LANES,
    CASCADE_STRAY_ENGINES
} cascade_stray;

#define CASCADE_STRAY_MESSAGE_MS 86400000
#define CASCADE_STRAYS_MAX 1000

typedef struct cascade_totals {
    int64_t running; /* cascades, by status */
    int64_t completed;
    int64_t failed;
    int64_t messages; /* not yet received */
    int64_t erasing;  /* cascades that are marked: S40 */
} cascade_totals;

typedef struct cascade_migration_row {
    int32_t number;
    const char *name;      /* "001_initial" */
    int64_t applied_at_ms; /* CASCADE_TIME_NONE: known here, not applied */
} cascade_migration_row;

typedef cascade_err (*cascade_migration_sink)(void *context,
                                              const cascade_migration_row *row);

/* What is to become of a cascade without a run. */
typedef struct cascade_repair {
    cascade_row was;       /* as it was read: id, status, fn_id */
    cascade_status status; /* as it is to be */
    int32_t fn_id;
    bool starts;         /* `run` is inserted, owned by nobody */
    cascade_run_row run; /* queue, priority, wake_at_ms */
    const char *key;     /* its key, whose current run is at least run_number;
                            NULL: none */
    int32_t run_number;
    const cascade_seal_row *seal;     /* as it is to be; NULL: it stays, and
                                         nobody looks at it: S88 */
    const cascade_seal_row *was_seal; /* as it was read; NULL: there was none */
} cascade_repair;

typedef struct cascade_store_manage {
    size_t size; /* sizeof(cascade_store_manage) */

    /* Pauses a queue, or resumes it, for claims that come after. `about` is
     * kept while it is paused. `*changed` tells whether it was otherwise
     * before; when it was not, nothing is changed. */
    cascade_err (*pause)(void *self, const char *queue, bool paused,
                         const char *about, bool *changed);

    /* Lists the queues by name. Reads the runs of all cascades that have not
     * ended. */
    cascade_err (*queues)(void *self, cascade_queue_sink sink, void *context);

    /* Counts; reads an index of all cascades. */
    cascade_err (*totals)(void *self, cascade_totals *totals);

    /* Lists the migrations that this library knows, by number, whether they are
     * applied or not. Works on a database without any of the tables. */
    cascade_err (*schema)(void *self, cascade_migration_sink sink,
                          void *context);

    /* Sets status and fn_id of cascades, inserts runs, and moves keys on, all
     * or none of the call: S27, S88. `done[i]` tells for each whether it was.
     * 1-1,000 at a time. */
    cascade_err (*repair)(void *self, const cascade_repair *repairs,
                          size_t count, bool *done);

    /* Deletes those of the cascades (1-1,000) that may be, or marks them: S21,
     * S26, S39. `*deleted` tells how many. */
    cascade_err (*purge)(void *self, const cascade_uuid *ids, size_t count,
                         int64_t updated_before_ms, size_t *deleted);

    /* Takes one piece of what is marked: S41, S42. `engine_id` is the caller's
     * incarnation, or NULL. `*more`: there may be more for this caller. */
    cascade_err (*erase)(void *self, const cascade_uuid *engine_id, bool *more);

    /* Looks at `limit` ids, 1-CASCADE_STRAYS_MAX, of what rows of the kind
     * belong to, above `*cursor`, which is all zero at first, and moves that
     * on: S75. `*more`: there may be more. */
    cascade_err (*strays)(void *self, cascade_stray kind, size_t limit,
                          cascade_uuid *cursor, cascade_fault_sink sink,
                          void *context, bool *more);
} cascade_store_manage;

#ifdef __cplusplus
}
#endif

#endif
