/* SPDX-License-Identifier: MIT
 *
 * What becomes of messages that the store gives: receive.c.
 */
#ifndef CSC_CLAIM_RECEIVE_H
#define CSC_CLAIM_RECEIVE_H

#include "base/data/buf.h"
#include "base/data/map.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "change/op.h"
#include "held/run/run.h"

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
    csc_buf forged;       /* log lines, each with its NUL */
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
/* Tells the host of those that were forged, but for those that memory was out
 * for; once. Without a lock, where there are any. */
void csc_receive_tell(csc_inbox *inbox);
/* Tells of what is not told yet. */
void csc_receive_fini(csc_inbox *inbox);
/* Notes whether there may be more than those that came with a load. */
void csc_receive_loaded(csc_post *post);
/* Hands a run its messages; takes `post`. */
void csc_receive_post_locked(cascade_engine *engine, csc_run *run,
                             csc_post *post);
/* Whether a retry or a rerun of it is being carried out, by rows that somebody
 * else has written: then it leaves memory, to be loaded for that. */
bool csc_receive_is_unfinished(cascade_engine *engine, csc_run *run);
/* It was: the next slice of that; takes `post`, its messages, or NULL. */
void csc_receive_go_on_locked(cascade_engine *engine, csc_run *run,
                              csc_post *post);
/* Asks the store for messages of what is owned. Not locked. */
void csc_receive_look(cascade_engine *engine);

#endif
