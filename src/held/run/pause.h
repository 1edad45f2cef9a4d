/* SPDX-License-Identifier: MIT
 *
 * What is paused: see pause.c. All locked.
 */
#ifndef CSC_HELD_RUN_PAUSE_H
#define CSC_HELD_RUN_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "cascade/store.h"

typedef struct csc_run csc_run;

/* Whether nothing of it may begin, as the cascade or its queue is paused, or as
 * it has no slot of a queue with limits. */
bool csc_pause_is_on(const cascade_engine *engine, const csc_run *run);
/* Whether it has none, and needs one to go on. */
bool csc_pause_lacks_slot(const cascade_engine *engine, const csc_run *run);
/* What has had its slot since before then, and waits for a worker to begin,
 * gives it back: others may have one. */
void csc_pause_yield(cascade_engine *engine, int64_t before_ns);
/* When a time limit of it may pass: CASCADE_TIME_NONE without one. Those of
 * executions by their nodes (time_limit_call.c) are not among them. */
int64_t csc_pause_until(const csc_run *run);
/* Looks whether its queue is served here, as its rows say: it was revived, or
 * may have been. */
void csc_pause_note_place(cascade_engine *engine, csc_run *run);
/* What a claim has given by its time, without a slot, is in a queue without
 * limits, whatever its rows say: a message made its run (S23). */
void csc_pause_note_claim(cascade_engine *engine, csc_run *run,
                          const cascade_claimed *claimed);
/* Whether nothing of it may begin, for that or as it is to leave memory. */
bool csc_pause_is_held_back(const cascade_engine *engine, const csc_run *run);
/* Takes back what was ready, and fails what is overdue.
 * CASCADE_ERR_NO_MEMORY. */
cascade_err csc_pause_hold_back(cascade_engine *engine, csc_run *run);
/* Nothing of it is active or under way, and `wake_at_ms` its next time limit:
 * gives it up. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_pause_rest_paused(cascade_engine *engine, csc_run *run,
                                  int64_t wake_at_ms);
/* The same where it goes on as soon as somebody claims it. */
cascade_err csc_pause_rest_later(cascade_engine *engine, csc_run *run,
                                 int64_t limit_ms);
/* What a claim has told of the engine's queues: which are paused, and which
 * have limits. */
void csc_pause_note_queues(cascade_engine *engine, const bool *paused,
                           const bool *kept);
/* Which queues have limits when an incarnation begins, before anything is born
 * in it. */
void csc_pause_begin(cascade_engine *engine, const bool *kept);
/* Whether the engine knows that queue, which it serves, as one of these: what
 * is started there is for claims to give. */
bool csc_pause_is_on_queue(const cascade_engine *engine, const char *queue);

#endif
