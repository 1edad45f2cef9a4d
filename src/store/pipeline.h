/* SPDX-License-Identifier: MIT
 *
 * One pipeline for each store handle: what its callers submit at the same time,
 * starts and messages, shares transactions.
 *
 *   caller --> nothing under way? --yes--> leads: a batch of its own, at once
 *                     |                                   |
 *                     no                                  v  the store's move
 *                     v                                   |
 *                   queue ----- the first leads <--- it has ended
 *                               the next batch,      |
 *                               with the rest of     +--> each of the batch is
 *                               the queue                 told its own answer
 *
 * No thread is there for it, and no timer: who finds the pipeline idle waits
 * for nobody, and what comes while a batch is under way is the next one. So
 * batches grow with the load. Each is bounded in rows and bytes; what is large
 * by itself goes by itself, beside the pipeline.
 *
 * Where lanes commit independently a second batch goes beside the first, once
 * as many calls wait as are under way: one is built and sent while the other is
 * flushed. Sooner it would be a small one, and cost the same.
 *
 * EACH ITS OWN ANSWER. A batch has one outcome; what it means to each:
 *
 *   OK            what the store says of each start and message (S6, S19, S94)
 *   UNAVAILABLE   nobody knows, and each is told so. Who tries again goes by
 *                 itself (csc_submit()): as if there was no pipeline
 *   anything else nothing has taken effect. A batch of one has its answer. Of
 *                 several, one may be what the store refuses: each goes apart,
 *                 and gets the answer that is its own
 *
 * Batches are `brief`: one that waits for a transaction which is not the
 * store's (S33, S93) is given up soon, and its calls go apart, where they wait
 * as they asked to. While one is apart, who brings the same cascade or the same
 * path goes there too: the others are held up once for a transaction, not once
 * for each call.
 *
 *          +--> LATE                 nothing was sent
 *          |
 *   QUEUED +--> TAKEN --+--> DONE
 *          |            |
 *          +--> LEADS --+--> APART --> the move, by itself
 *                              ^
 *   meets one that is apart ---+
 *
 * WHO HANGS. A batch takes the store's deadline at most (S15). Who is first in
 * the queue for PATIENCE_MS leads another one beside it, up to a bound: a
 * connection that has gone silent holds up those in its own batch. A call that
 * is still in the queue when its time is over leaves it, and was not sent. Who
 * is in a batch waits for its end: its rows are lent to it.
 *
 * Not in the pipeline: stores on a connection of the caller's, where each call
 * is part of his transaction; and starts of a key's later runs, which depend on
 * the one before.
 *
 * IF WE DIE the batch is there or it is not, whole; a caller who was not told
 * asks again, as ever (start.c, signal.c).
 *
 * LOCKS. The mutex of the pipeline guards it, and the places of its calls. It
 * is held for moves between them alone, never while the store is asked, and
 * nothing else is locked under it.
 */
#ifndef CSC_STORE_PIPELINE_H
#define CSC_STORE_PIPELINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "cascade/store.h"

/* Of a call's own. */
#define CSC_PIPELINE_ROWS_MAX 100
#define CSC_PIPELINE_BYTES_MAX ((size_t)256 << 10)
/* Of a batch. */
#define CSC_PIPELINE_BATCH_ROWS_MAX 1000
#define CSC_PIPELINE_BATCH_BYTES_MAX ((size_t)2 << 20)

typedef struct csc_pipeline_call csc_pipeline_call;

typedef struct csc_pipeline {
    pthread_mutex_t mutex;    /* guards what follows */
    csc_pipeline_call *first; /* of the queue; never without a batch */
    csc_pipeline_call *last;
    size_t queued;
    csc_pipeline_call *called; /* to lead; it takes its batch when it is here */
    csc_pipeline_call *apart;
    size_t apart_count;
    size_t batches;   /* under way */
    size_t under_way; /* calls in these */
    size_t usual;     /* batches at once */
    size_t most;      /* where some take long */
    int64_t patience_ms;
} csc_pipeline;

/* Of a store with so many lanes, and connections. */
cascade_err csc_pipeline_init(csc_pipeline *pipeline, size_t lanes,
                              size_t connections);
void csc_pipeline_fini(csc_pipeline *pipeline);

/* The store's move, shared with whoever makes it at the same time. `*told`:
 * another call of the batch, which is not quiet, is told of it too, and does
 * what is to be done once for all. CASCADE_ERR_NOT_DONE: it was not sent until
 * `end_ms`, which is monotonic. CASCADE_ERR_AGAIN only where it is brief. */
cascade_err csc_pipeline_submit(cascade_store *store,
                                const cascade_submission *submission,
                                int64_t end_ms, bool *told);

#endif
