/* SPDX-License-Identifier: MIT
 *
 * What the files that build changes share with one another only.
 */
#ifndef CSC_ENGINE_BUILD_INTERNAL_H
#define CSC_ENGINE_BUILD_INTERNAL_H

#include "base/buf.h"
#include "engine/build.h"
#include "engine/record.h"

/* A change under construction. */
struct csc_builder {
    const csc_build_env *env;
    const csc_state *state;
    char cascade_id[CASCADE_UUID_TEXT_SIZE];
    cascade_execution_row *inserts;
    size_t insert_count;
    cascade_execution_row *updates;
    size_t update_count;
    cascade_event_row *events;
    size_t event_count;
    int64_t *received; /* ids of messages */
    size_t received_count;
    cascade_uuid *ids;    /* one for each insert */
    csc_buf text;         /* scratch */
    int32_t fn_id;        /* the last one given out */
    int32_t instead_of;   /* what spawns with `instead` stand for */
    csc_ids taken;        /* signals that awaits take in this change */
    csc_ids ended_awaits; /* those of them that were there before */
    size_t ended;
    size_t running; /* inserted as RUNNING */
    bool terminated;
    const csc_post *free; /* the FREE post among them, or NULL */
};

/* ---- build.c ------------------------------------------------------------ */

/* The scratch text, which is empty then; NULL without memory. */
const char *csc_build_text(struct csc_builder *b);
/* The next row, RUNNING with input {}, to be filled further. */
cascade_execution_row *csc_build_insert(struct csc_builder *b, const char *name,
                                        const char *path);
cascade_execution_row *csc_build_update(struct csc_builder *b,
                                        const csc_exec *exec,
                                        cascade_execution_status status);
/* The cascade's status as of what is built so far. */
cascade_status csc_build_status(const struct csc_builder *b);

/* ---- build_message.c ---------------------------------------------------- */

/* The rows of the messages of a RECEIVE post; nothing for other posts. */
void csc_build_receive(struct csc_builder *b, const csc_post *post);
/* An await that has just been inserted RUNNING: where there is a signal for it
 * the row becomes COMPLETED. Nothing for other waits. */
bool csc_build_take_signal(struct csc_builder *b, cascade_execution_row *row);
/* Whether the post is about a wait that has ended otherwise meanwhile. */
bool csc_build_is_late(const struct csc_builder *b, const csc_post *post,
                       const csc_exec *exec);

#endif
