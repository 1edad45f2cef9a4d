/* SPDX-License-Identifier: MIT
 *
 * full_output: what a row of node_executions records beside its columns. NULL,
 * or an object of the members of CSC_RECORD_MEMBERS, in that order, which is
 * the canonical one: the text equals what jsonb gives back.
 *
 *   RUNNING   what scheduling needs
 *   finished  the PostResult: what came of it
 *
 * One table makes the record in memory, its encoder and its decoder. A change
 * of it is a change of the format: records are kept as they were written.
 *
 * WHOSE IT IS
 *   What other programs write there may have members of these names, which mean
 *   something else. It is told by the row's node_instance_id, which stays as it
 *   was inserted: ours is a path, `<id>/<parent>/<name>#<n>` or
 *   `<id>/message/...`, and no other program makes one by accident. So nothing
 *   is stored for that, and it holds for all rows that this library has ever
 *   inserted. What it only updates, an execution that was taken in with its
 *   cascade, has the other program's id: there the record has a member
 *   "written_by_libcascade" (an object; behind all others). Without it the
 *   record of such a row counts as if it was empty. Its member `early` is how
 *   many events of that execution others had written before (state.h). (Builds
 *   before that had no such mark: what they took in and ended counts as another
 *   program's.)
 *   A member of ours that makes no sense counts as absent.
 */
#ifndef CSC_STATE_FULL_OUTPUT_H
#define CSC_STATE_FULL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json/json.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "cascade/rows.h"

/* "None": of a function_id, of attempts where there is no word of them. */
#define CSC_RECORD_NO_AT (-1)
#define CSC_RECORD_NO_ID (-1)
#define CSC_RECORD_NO_EARLY (-1)
#define CSC_RECORD_NO_ATTEMPTS (-1)

/* What says that a row of another program has a record of ours. */
#define CSC_RECORD_MARK "written_by_libcascade"

/* X(type, field, member, kind, rows that may have it), in canonical order. What
 * makes no sense counts as absent:
 *
 *   kind                         what is read      absent
 *   ID                           0 to INT32_MAX    CSC_RECORD_NO_ID
 *   COUNT                        0 to INT32_MAX    0
 *   ATTEMPTS                     one more fits     _NO_ATTEMPTS; read as 0
 *   PRIORITY                     0 to 9            0
 *   TIME                         int64_t           CASCADE_TIME_NONE
 *   FLAG                         true              false
 *   UUID                         an id             all zero
 *   LIST OBJECT TEXT JSON        as it stands      data is NULL
 *   POLICY JOIN                  their words       0
 *   MARK                         see above         CSC_RECORD_NO_EARLY
 */
/* clang-format off */
#define CSC_RECORD_MEMBERS(X)                                                  \
    /* The cascade's fn_id before the commit that ended it; of what a          \
     * command ended, the command's own function_id. */                        \
    X(int32_t, at, "at", ID, ENDED)                                            \
    /* The completion from outside that ended it. */                           \
    X(cascade_uuid, by, "by", UUID, ENDED)                                     \
    /* A rerun supersedes all from there on; where a cancellation goes         \
     * on. */                                                                  \
    X(int32_t, from, "from", ID, BOTH)                                         \
    /* The distinct keys put to, in the order of the puts. */                  \
    X(csc_json_span, keys, "keys", LIST, ENDED)                                \
    /* The joins in which this end does not count: they were decided           \
     * before. */                                                              \
    X(csc_json_span, late, "late", LIST, ENDED)                                \
    /* It has run out of its time, and is entered only to undo. */             \
    X(bool, over, "over", FLAG, RUNNING)                                       \
    /* It had registered compensations as it was written; also a wait of       \
     * its node. */                                                            \
    X(bool, undo, "undo", FLAG, RUNNING)                                       \
    /* What it comes after; stays when the join has ended: what it saw         \
     * follows from it. */                                                     \
    X(csc_json_span, after, "after", LIST, BOTH)                               \
    /* Of the part of a child: which. */                                       \
    X(cascade_uuid, child, "child", UUID, BOTH)                                \
    /* How many of those end before a join is decided; none: all. */           \
    X(int32_t, first, "first", COUNT, BOTH)                                    \
    /* Attempts of its steps, by name and occurrence. */                       \
    X(csc_json_span, steps, "steps", OBJECT, RUNNING)                          \
    /* It waits for its completion from outside; made as it begins to          \
     * wait. */                                                                \
    X(cascade_uuid, token, "token", UUID, RUNNING)                             \
    /* What it returned. */                                                    \
    X(csc_json_span, output, "output", JSON, ENDED)                            \
    /* What becomes of the child when its parent ends; with `child`. */        \
    X(cascade_child_end, when_parent_ends, "policy", POLICY, BOTH)             \
    /* `output` is the cascade's result. */                                    \
    X(bool, is_result, "result", FLAG, ENDED)                                  \
    /* The signal that an await has taken, whose input is not stored           \
     * twice. */                                                               \
    X(int32_t, signal, "signal", ID, ENDED)                                    \
    /* Of execution 0 only: how the cascade was started (start.c). */          \
    X(csc_json_span, meta, "cascade", OBJECT, BOTH)                            \
    /* The node that runs instead if it fails, known to engines that do        \
     * not know its own. */                                                    \
    X(csc_json_span, instead, "instead", TEXT, RUNNING)                        \
    /* In whose place it runs after a retry or a rerun (supersede.h). */       \
    X(int32_t, resumes, "resumes", ID, BOTH)                                   \
    /* Its function was not run. */                                            \
    X(bool, skipped, "skipped", FLAG, ENDED)                                   \
    /* What it spawned. */                                                     \
    X(csc_json_span, spawned, "spawned", LIST, ENDED)                          \
    /* How many were begun; 0 where a join failed or was skipped, or a         \
     * time limit came before. */                                              \
    X(int32_t, attempts, "attempts", ATTEMPTS, BOTH)                           \
    /* The cascade goes on though it failed, or if it fails. */                \
    X(bool, continued, "continue", FLAG, BOTH)                                 \
    /* Until when it waits for its completion from outside. */                 \
    X(int64_t, deadline_ms, "deadline", TIME, RUNNING)                         \
    /* Its own; none: the cascade's. */                                        \
    X(int32_t, priority, "priority", PRIORITY, BOTH)                           \
    /* What heartbeats saved; stays with a failure. */                         \
    X(csc_json_span, progress, "progress", JSON, BOTH)                         \
    /* It ended with the cascade's cancellation. */                            \
    X(bool, cancelled, "cancelled", FLAG, ENDED)                               \
    /* Its deadline ended it, or an await its time. */                         \
    X(bool, timed_out, "timed_out", FLAG, ENDED)                               \
    /* The execution that failed and is made up for. */                        \
    X(int32_t, instead_of, "instead_of", ID, BOTH)                             \
    /* It does not begin earlier; stays where it is what was waited for,       \
     * and where what was cancelled was still put off. */                      \
    X(int64_t, not_before_ms, "not_before", TIME, BOTH)                        \
    /* That one it comes after fails decides the join: "fail" or "skip"        \
     * (state.h). */                                                           \
    X(cascade_join, on_failure, "on_failure", JOIN, BOTH)                      \
    /* What a retry supersedes, by name; of a rerun what is below `from`. */   \
    X(csc_json_span, supersedes, "supersedes", LIST, ENDED)                    \
    /* Of the last one of a run that continued as new: the next run. */        \
    X(cascade_uuid, continued_as, "continued_as", UUID, ENDED)                 \
    /* Of what another program has inserted: see below; {"early":n}. */        \
    X(int32_t, early, CSC_RECORD_MARK, MARK, BOTH)
/* clang-format on */

#define CSC_RECORD_FIELD(type, field, ...) type field;

/* Spans point into the text. */
typedef struct csc_record {
    bool adopted; /* the row was inserted by another program */
    bool foreign; /* and its record was not written by this library */
    CSC_RECORD_MEMBERS(CSC_RECORD_FIELD)
} csc_record;

#undef CSC_RECORD_FIELD

/* The record that says nothing. */
extern const csc_record csc_full_output_none;

typedef struct csc_buf csc_buf;

/* The words of member `policy`, as JSON. */
const char *csc_full_output_policy(cascade_child_end policy);

/* Reads a string that is an id. */
bool csc_full_output_uuid(csc_json_span span, cascade_uuid *id);

/* Whether that node_instance_id is one of ours. */
bool csc_full_output_is_path(const char *node_instance_id);

/* The record of a row. One without a node_instance_id, as updates are, is of
 * ours. */
void csc_full_output_read(const cascade_execution_row *row, csc_record *record);

/* Appends the record as text, `{}` at least. The mark is written by mark.c
 * alone. */
void csc_full_output_write(const csc_record *record, csc_buf *out);

#endif
