/* SPDX-License-Identifier: MIT
 *
 * What the files of the state share with one another only.
 */
#ifndef CSC_STATE_INTERNAL_H
#define CSC_STATE_INTERNAL_H

#include "base/json/json.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"

typedef struct csc_exec csc_exec;
typedef struct csc_join_slot csc_join_slot;
typedef struct csc_part csc_part;
typedef struct csc_record csc_record;
typedef struct csc_slot csc_slot;
typedef struct csc_state csc_state;

/* The slot of an id, also when its execution was freed; NULL without one. */
csc_slot *csc_view_slot(const csc_state *state, int32_t function_id);

/* Into the queue, unless blocked or dispatched; out of it, if in it. */
cascade_err csc_due_queue_enqueue(csc_state *state, csc_exec *exec);
void csc_due_queue_dequeue(csc_state *state, csc_exec *exec);

/* ---- index.c ------------------------------------------------------ */

/* What others find it by has come, or goes: `as_told` of the execution. */
void csc_index_enter(csc_state *state, csc_exec *exec);
void csc_index_leave(csc_state *state, csc_exec *exec);
/* The same among its parent's parts. */
void csc_index_enter_part(csc_state *state, csc_exec *exec);
void csc_index_leave_part(csc_state *state, csc_exec *exec);

/* As one that runs instead of another, and with the slots of its join. */
void csc_index_enter_stand_in(csc_state *state, csc_exec *exec);
void csc_index_leave_stand_in(csc_state *state, csc_exec *exec);
void csc_index_enter_slots(csc_state *state, csc_exec *exec);
void csc_index_leave_slots(csc_state *state, csc_exec *exec);

/* The first above `after` of those that run instead of `function_id`; of the
 * joins that come after it, NULL without one. */
csc_exec *csc_index_next_stand_in(const csc_state *state, int32_t function_id,
                                  int64_t after);
const csc_join_slot *csc_index_next_slot(const csc_state *state,
                                         int32_t function_id, int64_t after);

/* The first part of `parent` with the name and the occurrence of `part`, and of
 * its kind or a later one; behind `before`, where that is given. */
const csc_exec *csc_index_next_part(const csc_state *state,
                                    const csc_exec *parent,
                                    const csc_part *part,
                                    const csc_exec *before);

/* ---- due.c -------------------------------------------------------- */

/* It is queued, and is so no more. */
void csc_due_enter_overdue(csc_state *state, csc_exec *exec);
void csc_due_leave_overdue(csc_state *state, csc_exec *exec);

/* ---- signals.c ----------------------------------------------------- */

/* A signal was received: its row, which has just been inserted. */
cascade_err csc_signals_add_signal(csc_state *state,
                                   const cascade_execution_row *row);

/* An await has ended by taking that signal. */
cascade_err csc_signals_take_signal(csc_state *state, csc_exec *await,
                                    int32_t signal);

void csc_signals_free_signals(csc_state *state);
/* So many of them; true when none is left. */
bool csc_signals_free_some_signals(csc_state *state, size_t max);

/* ---- events.c ------------------------------------------------------ */

/* An execution has ended whose events others have written. */
void csc_events_date_events(csc_state *state, const csc_exec *exec);
/* So many events of a superseded execution are of others, and count. */
cascade_err csc_events_note_early(csc_state *state, int32_t function_id,
                                  int32_t count);

void csc_events_free_events(csc_state *state);
/* So many of them and of their keys; true when none is left. */
bool csc_events_free_some_events(csc_state *state, size_t max);

/* ---- join.c ------------------------------------------------------- */

/* Makes a join of an execution that is inserted, if its record has `after`.
 * Ids that are not in memory ended well, long ago. */
cascade_err csc_join_insert_after(csc_state *state, csc_exec *exec,
                                  const csc_record *record);

/* `exec` has ended: those that wait for it may go on. */
cascade_err csc_join_release_waiters(csc_state *state, csc_exec *exec);

/* A join has ended: those in its slots may leave memory. */
cascade_err csc_join_release_slots(csc_state *state, csc_exec *exec);

/* When it may run by its record, which holds unless it is not to be run. */
void csc_join_set_due(csc_exec *exec, int64_t not_before_ms);

/* Adds what the record says it was too late for; its heirs for what is
 * superseded. */
cascade_err csc_join_add_late(const csc_state *state, csc_exec *exec,
                              csc_json_span late);

/* `exec` is inserted: where it is another parent's child than the one before,
 * the outputs of those before are dropped, unless joins hold them. */
void csc_join_add_sibling(csc_state *state, csc_exec *exec);

/* An ended execution stays in memory: frees what nobody asks of it. */
void csc_join_trim(csc_state *state, csc_exec *exec);

/* Puts a copy of a held execution into its place; the function keeps what it
 * reads without a lock. */
cascade_err csc_state_replace_held(csc_state *state, csc_exec **place);

/* Frees what only a join has. */
void csc_join_free_join(csc_exec *exec);

/* A new execution may run in the place of one that has failed. Those that come
 * after it have smaller ids, as it was spawned when they were there; on
 * hydration some of them have ended already, and others came after these. */
cascade_err csc_join_stand_in(csc_state *state, csc_exec *exec);

#endif
