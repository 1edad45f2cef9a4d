/* SPDX-License-Identifier: MIT
 *
 * What happens in an engine, as its option `on_event` is told. Part of
 * cascade.h, whose head has the words; including either of the two is the same.
 *
 * An engine tells what it has committed itself, each thing once, and of each
 * cascade in the order of its commits. What was committed just before a crash,
 * or before the engine was taken for dead, may not be told: the tables have it.
 * In LOOP and INLINE a start is a commit of its caller's, and is not told; that
 * the engine takes the cascade on is.
 *
 * Attempts, executions and cascades that fail are also lines of the store's log
 * (WARNING), without the texts of their errors; but not what a command ends.
 *
 * THREADS  The function is called by whoever has made a commit: a thread of
 *          the engine, with THREADS also a caller of cascade_start(), else the
 *          poll; by one at a time, without a lock. It must not call the
 *          library, and is called until cascade_engine_close() has returned.
 *          While it does not return that thread does nothing else; one that
 *          takes longer than the lease has the engine taken for dead. Of what
 *          happens meanwhile 16,384 events are kept; those beyond are lost, and
 *          counted in the stats as `events_lost`.
 */
#ifndef CASCADE_EVENT_H
#define CASCADE_EVENT_H

#include "cascade/cascade.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cascade_event_kind {
    CASCADE_EVENT_CASCADE_STARTED = 1,
    CASCADE_EVENT_ATTEMPT_FAILED, /* of a node, or of a step that has attempts
                                     of its own; the next one follows */
    CASCADE_EVENT_EXECUTION_COMPLETED, /* of a node; of its parts: steps,
                                          sleeps, awaits, children and
                                          compensations */
    CASCADE_EVENT_EXECUTION_FAILED,    /* for good */
    CASCADE_EVENT_CASCADE_PARKED, /* given up, to wait without memory or for
                                       another engine */
    CASCADE_EVENT_CASCADE_COMPLETED,
    CASCADE_EVENT_CASCADE_FAILED,  /* ended as ERROR */
    CASCADE_EVENT_CASCADE_CLAIMED, /* taken on: it had waited, or is of an
                                      engine that is gone (`takeovers`) */
    CASCADE_EVENT_ENGINE_FENCED    /* all its cascades are dropped from memory:
                                      it was taken for dead, or the store has
                                      lost commits */
} cascade_event_kind;

/* Ids, names and errors, no payload. What is not said is 0, -1 or "". The texts
 * are good for the call. */
struct cascade_event {
    cascade_event_kind kind;
    int32_t function_id; /* of a part: its node's */
    cascade_uuid cascade_id;
    const char *node;
    const char *step;  /* of a part: its own name */
    const char *error; /* 500 bytes of what is recorded */
    int64_t at_ms;     /* by the store's clock */
    int64_t delay_ms;  /* until the next attempt */
    int attempt;       /* which one has ended; 1 for the first */
    int32_t takeovers; /* so many engines were lost with it since its last
                          commit */
    uint64_t reserved[4];
};

#ifdef __cplusplus
}
#endif

#endif
