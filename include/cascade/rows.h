/* SPDX-License-Identifier: MIT
 *
 * Rows, as a store is given them and gives them back: see store.h.
 *
 * Texts are NUL-terminated; payloads are canonical JSON. In what a backend
 * hands to a sink they are valid during the call.
 */
#ifndef CASCADE_ROWS_H
#define CASCADE_ROWS_H

#include "cascade/cascade.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cascade_row {
    cascade_uuid id;
    cascade_status status;
    int32_t fn_id;
    const char *user_id;
    int64_t created_at_ms;
    int64_t updated_at_ms;
} cascade_row;

/* Which payload stands in the table in another form than it is given. */
#define CASCADE_REFORMED_FIRST 1u  /* input, value */
#define CASCADE_REFORMED_SECOND 2u /* full_output, ui_value */

typedef struct cascade_execution_row {
    cascade_uuid id;
    cascade_uuid cascade_id;
    int32_t function_id;
    cascade_execution_status status;
    const char *node_instance_id;
    const char *node_name;
    const char *input;       /* never NULL */
    const char *full_output; /* or NULL */
    const char *location;
    const char *error; /* or NULL */
    int64_t started_at_ms;
    int64_t completed_at_ms; /* or CASCADE_TIME_NONE */
    unsigned reformed;       /* CASCADE_REFORMED_*: S76. Not read by commit */
} cascade_execution_row;

typedef struct cascade_event_row {
    int64_t id; /* given by the store, ascending in the order of a batch; not
                   read by commit */
    cascade_uuid cascade_id;
    int32_t function_id;
    const char *key;
    const char *value;
    const char *ui_value;  /* or NULL */
    int64_t created_at_us; /* microseconds, where all other times have
                              milliseconds: S67 */
    unsigned reformed;     /* the same */
} cascade_event_row;

#define CASCADE_LIMIT_KEY_MAX 255
/* `needs` of a run that is due and waits by its key: see store_limits.h. */
#define CASCADE_NEEDS_TURN "cascade.turn"

typedef struct cascade_run_row {
    cascade_uuid cascade_id;
    const char *queue;
    int32_t priority; /* 0-9 */
    int64_t wake_at_ms;
    cascade_uuid engine_id; /* all zero: free (NULL in the table) */
    int64_t claim_no;
    int32_t takeovers;
    int32_t trial;         /* S47. START: not read, it is 0 */
    const char *needs;     /* or NULL */
    const char *limit_key; /* what the limits of its queue go by, up to
                              CASCADE_LIMIT_KEY_MAX bytes; NULL or "": its
                              cascade's user_id (S98) */
    int32_t slot;          /* 1: it has one (S96). START: only of one that is
                              owned from birth (S97) */
} cascade_run_row;

#define CASCADE_MESSAGE_KIND_MAX 32

/* What somebody asks of a cascade. Kinds and names are the engine's. */
typedef struct cascade_message_row {
    int64_t id;              /* given by the store, ascending; not read by
                                submit and commit */
    cascade_uuid cascade_id; /* who is to receive it */
    const char *kind;        /* 1-32 bytes */
    const char *name;        /* may be "" */
    const char *path;        /* the node_instance_id of its receipt */
    const char *payload;     /* never NULL */
    int64_t sent_at_ms;
    const char *seal; /* or NULL: S82 */
} cascade_message_row;

#define CASCADE_SEAL_MAX 255

/* By what an edit of a cascade's rows is found. Number and text are the
 * engine's. */
typedef struct cascade_seal_row {
    cascade_uuid cascade_id;
    int64_t number;
    const char *seal; /* 1-CASCADE_SEAL_MAX bytes */
} cascade_seal_row;

/* A row that cannot be read: S73. */
typedef struct cascade_fault {
    cascade_uuid id;  /* of its cascade; all zero where that is not known */
    const char *text; /* which row of which table it is, and why; of what stands
                         there no more than the id */
} cascade_fault;

typedef cascade_err (*cascade_fault_sink)(void *context,
                                          const cascade_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
