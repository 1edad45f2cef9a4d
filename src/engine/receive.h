/* SPDX-License-Identifier: MIT
 *
 * What becomes of messages that the store gives: receive.c.
 */
#ifndef CSC_ENGINE_RECEIVE_H
#define CSC_ENGINE_RECEIVE_H

#include "engine/engine.h"

/* Messages on their way from the store to posts. */
typedef struct csc_inbox {
    cascade_engine *engine;
    csc_post *first; /* one RECEIVE post for each cascade */
    csc_post *last;
    csc_map posts;        /* cascade id -> post */
    size_t rows_max;      /* of one look */
    size_t count;         /* of messages */
    size_t given_bytes;   /* of these */
    size_t bytes;         /* of those that are kept */
    cascade_uuid last_id; /* whose was the last one */
} csc_inbox;

/* A sink of the store's; the context is a csc_inbox. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_receive_message(void *context, const cascade_message_row *row,
                                bool repeated);
/* The same for one of our own, which has no seal. */
cascade_err csc_receive_own(csc_inbox *inbox, const cascade_message_row *row);
/* The post for that cascade, which is the caller's then; NULL without one. */
csc_post *csc_receive_take(csc_inbox *inbox, const cascade_uuid *id);
/* Moves the post for that cascade from an inbox that has one to another, in the
 * place of its own. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_receive_instead(csc_inbox *inbox, csc_inbox *from,
                                const cascade_uuid *id);
void csc_receive_fini(csc_inbox *inbox);
/* Notes whether there may be more than those that came with a load. */
void csc_receive_loaded(csc_post *post);
/* Leaves only the first messages, `max` at most: the others are received by
 * commits of their own. `over`: the cascade has ended in ERROR. */
void csc_receive_cut(csc_post *post, size_t max, bool over);
/* Leaves one of its deletions alone; leaves them out, if there are others. */
void csc_receive_delete_only(csc_post *post);
void csc_receive_delete_later(csc_post *post);
/* Hands a run its messages; takes `post`. Locked. */
void csc_receive_post(cascade_engine *engine, csc_run *run, csc_post *post);
/* A run that is to be loaded anew has no commit in flight any more: for a retry
 * or a rerun, or after it was carried out. Locked. */
void csc_receive_leave(cascade_engine *engine, csc_run *run);
/* Whether there may be messages, or a walk over them is not at its end, and
 * they may be read. Locked. */
bool csc_receive_is_due(const cascade_engine *engine);
/* When they may: INT64_MAX, unless there may be any. Locked. */
int64_t csc_receive_next_ns(const cascade_engine *engine);
/* Asks the store for messages of what is owned. Not locked. */
void csc_receive_look(cascade_engine *engine);
/* A commit of the run that received is done. Locked. */
void csc_receive_done(cascade_engine *engine, csc_run *run);
/* A run was born: its messages may have been passed over. Locked. */
void csc_receive_born(cascade_engine *engine);
/* A commit has ended the run, or given it up: messages that were looked for
 * meanwhile may have been missed. Locked. */
void csc_receive_left(cascade_engine *engine, const csc_run *run);
/* A run has no commit in flight any more: if it was passed over, its messages
 * are to be looked for again. Locked. */
void csc_receive_again(cascade_engine *engine, csc_run *run);

#endif
