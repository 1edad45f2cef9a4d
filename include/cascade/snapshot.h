/* SPDX-License-Identifier: MIT
 *
 * Snapshots: the state of one cascade, as of any place; and what has come of
 * it. Part of cascade.h, whose head has the words and the rules for threads,
 * ownership and errors; including either of the two is the same.
 */
#ifndef CASCADE_SNAPSHOT_H
#define CASCADE_SNAPSHOT_H

#include "cascade/cascade.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- One cascade, as of any place --------------------------------------- */

typedef struct cascade_snapshot cascade_snapshot;

typedef struct cascade_snapshot_options {
    size_t size;
    int32_t as_of; /* the state as of this function_id (exclusive); 0: now */
    bool ui;       /* show the ui value of a write where it has one */
    int bounded;   /* not 0: `as_of` counts whatever it is: 0, and less than
                      that (function_ids of other programs may be negative) */
} cascade_snapshot_options;

/* One execution. Texts belong to the snapshot. */
typedef struct cascade_execution_info {
    cascade_uuid id;
    int32_t function_id;
    int32_t parent_function_id; /* -1: a first node, or not known */
    cascade_execution_status status;
    int attempts; /* recorded as failed so far, plus the one that ended it; 0
                     also where a join was not run */
    const char *node_name;
    const char *node_instance_id;
    const char *location;
    const char *input;       /* JSON */
    const char *output;      /* JSON, NULL without one */
    const char *full_output; /* as recorded, NULL without one */
    const char *error;       /* NULL without one */
    int64_t started_at_ms;
    int64_t completed_at_ms; /* CASCADE_TIME_NONE until it has ended */
    int64_t not_before_ms;   /* CASCADE_TIME_NONE when it need not wait */
    const char *token;       /* of an external one that waits, for
                                cascade_complete(); else NULL */
    int64_t deadline_ms;     /* until when it waits; CASCADE_TIME_NONE: none */
    int32_t superseded_by;   /* the command that put others in its place: it
                                counts no more; -1: none */
} cascade_execution_info;

typedef enum cascade_part {
    CASCADE_PART_HISTORY = 1, /* every execution, by function_id */
    CASCADE_PART_ACTIVE,      /* those not ended */
    CASCADE_PART_ERRORS       /* those with an error */
} cascade_part;

/* Reads the state of a cascade in one consistent look at the three tables,
 * recomputed from them alone; ones that another program wrote are read as well.
 * (The run members of its info are read a moment before.) Free with
 * cascade_snapshot_free(). */
CASCADE_API cascade_err cascade_snapshot_load(
    cascade_store *store, const cascade_uuid *id,
    const cascade_snapshot_options *options, cascade_snapshot **snapshot);
CASCADE_API void cascade_snapshot_free(cascade_snapshot *snapshot);

/* Of a snapshot that is NULL the calls below give NULL, and count 0. */
CASCADE_API const cascade_info *cascade_snapshot_info(
    const cascade_snapshot *snapshot);
CASCADE_API size_t cascade_snapshot_count(const cascade_snapshot *snapshot,
                                          cascade_part part);
/* NULL when `index` is out of range. */
CASCADE_API const cascade_execution_info *cascade_snapshot_get(
    const cascade_snapshot *snapshot, cascade_part part, size_t index);

/* The context as a JSON object: each key with the list of its values in the
 * order of (function_id, created_at, id), as Cascaide sorts them. Belongs to
 * the snapshot. */
CASCADE_API const char *cascade_snapshot_context(
    const cascade_snapshot *snapshot);

/* How many slots may be empty in one context of Cascaide's. */
#define CASCADE_SLOTS_MAX 1000000

/* The context as Cascaide builds it: a value that is an object with a member
 * `index` is put into that slot of its key's list, in the place of what was
 * there; any other value is appended. Slots never written are null. `index` is
 * read as JavaScript reads the name of a property: 1, 1.0, "1" and [1] are slot
 * 1; what is none from 0 to 4294967294 ("01", "foo", -1, 1.5, null, true, {})
 * is a property of the list, which no JSON shows: the value is left out.
 *
 * Built when it is first asked for; any thread may. NULL, with
 * CASCADE_ERR_TOO_LARGE or _NO_MEMORY in cascade_errmsg(), where more than
 * CASCADE_SLOTS_MAX slots would be empty in all lists together, or memory is
 * short; the snapshot is as good as before. Belongs to the snapshot. */
CASCADE_API const char *cascade_snapshot_cascaide_context(
    const cascade_snapshot *snapshot);

/* The result of the cascade: what cascade_node_result() has set; where nothing
 * has, the output of the user-node execution with the highest function_id that
 * has one; NULL without one. Belongs to the snapshot. */
CASCADE_API const char *cascade_snapshot_result(
    const cascade_snapshot *snapshot);

/* The error that ended the cascade, NULL when none did. Belongs to the
 * snapshot. */
CASCADE_API const char *cascade_snapshot_error(
    const cascade_snapshot *snapshot);

/* The run as which the cascade has continued (cascade_node_continue_as_new()),
 * NULL when it has not. Belongs to the snapshot. */
CASCADE_API const cascade_uuid *cascade_snapshot_continued_as(
    const cascade_snapshot *snapshot);

/* ---- How it has ended --------------------------------------------------- */

/* How a cascade has ended. The texts belong to it. */
struct cascade_outcome {
    cascade_uuid id;       /* the run that has: the last one of those that it
                              continued as */
    cascade_status status; /* CASCADE_COMPLETED or CASCADE_ERROR */
    const char *result;    /* JSON, see cascade_snapshot_result(); NULL without
                              one */
    const char *error;     /* why it ended as ERROR; else NULL */
    uint64_t reserved[4];
};

/* Waits as cascade_wait() does, but where a cascade continues as new for its
 * last run, and tells how it has ended: CASCADE_OK for an ERROR as well. Reads
 * the whole cascade for it. CASCADE_ERR_NOT_FOUND, CASCADE_ERR_TIMEOUT. Free
 * `*outcome` with cascade_outcome_free(). */
CASCADE_API cascade_err cascade_wait_result(cascade_store *store,
                                            const cascade_uuid *id,
                                            int64_t timeout_ms,
                                            cascade_outcome **outcome);
CASCADE_API void cascade_outcome_free(cascade_outcome *outcome);

/* Starts a cascade as cascade_start() does, which takes `input`, and waits for
 * what comes of it: of the one that was there, where its key or id had been
 * started before. `started` (may be NULL) is set once it is known which one it
 * is: after CASCADE_ERR_TIMEOUT the cascade goes on, and can be waited for by
 * its id. Free `*outcome` with cascade_outcome_free(). */
CASCADE_API cascade_err cascade_run_result(cascade_store *store,
                                           const char *node, cJSON *input,
                                           const cascade_start_options *options,
                                           int64_t timeout_ms,
                                           cascade_started *started,
                                           cascade_outcome **outcome);

#ifdef __cplusplus
}
#endif

#endif
