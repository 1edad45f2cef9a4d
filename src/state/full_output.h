/* SPDX-License-Identifier: MIT
 *
 * full_output: what a row of node_executions records beside its columns.
 *
 *   RUNNING   NULL, or what scheduling needs:
 *             {"over":true,"undo":true,"after":[1,2],"child":"ID",
 *              "first":1,"steps":{"NAME#0":1},
 *              "token":"ID","policy":"cancel","cascade":{...},
 *              "instead":"NODE","resumes":2,"attempts":2,"continue":true,
 *              "deadline":1700000000000,"priority":3,"progress":...,
 *              "instead_of":1,"not_before":1700000000000,"on_failure":"fail"}
 *   finished  the PostResult:
 *             {"at":4,"by":"ID","from":3,"keys":["k"],"late":[3],
 *              "after":[1,2],"child":"ID","first":1,"output":...,
 *              "policy":"cancel","signal":7,"cascade":{...},"resumes":2,
 *              "skipped":true,"spawned":[5,6],"attempts":1,"continue":true,
 *              "progress":...,"cancelled":true,"timed_out":true,
 *              "instead_of":1,"not_before":1700000000000,
 *              "on_failure":"fail","supersedes":[1,2],"continued_as":"ID"}
 *
 * `after` stays when a join has ended: what it saw follows from it; so does
 * `instead_of`, the execution that failed and is made up for. `first` and
 * `on_failure` ("fail", "skip") say when a join is decided (state.h), and
 * `late` in which joins the end did not count: they were decided before.
 * Attempts are 0 where none was begun: a join that failed by `on_failure` or
 * was `skipped`, or what a time limit ended before. `undo` marks what had
 * registered compensations as it was written, also a wait of its node; what is
 * `over` has run out of its time, and is entered only to undo. `progress` is
 * what heartbeats saved; it stays with a failure. `not_before` stays where it
 * is what was waited for, and where what was cancelled was still put off. An
 * await names the `signal` that it has taken, whose input is not stored twice,
 * or has `timed_out`; what the cascade's cancellation ended is `cancelled`. A
 * child's part names the `child`, and by `policy` what becomes of it when the
 * parent ends. What waits for its completion from outside has a `token`, made
 * as it begins to wait; its `deadline` is no `not_before`, and `continue` and
 * `instead` say what becomes of the cascade if it fails, so that engines that
 * do not know the node can record it. `by` is the completion that ended it;
 * where the deadline did it has `timed_out`. What runs in the place of another
 * after a retry or a rerun `resumes` it; the receipt of that command says what
 * it supersedes: all `from` a function_id on, and what is named besides
 * (supersede.h). `at` is the cascade's fn_id before the commit that ended the
 * execution; of what such a command ended, the command's own function_id.
 * `cascade` is on execution 0 only. The last one of a run that continued as new
 * names the next (`continued_as`). Members are written in canonical order, so
 * that the text equals what jsonb gives back.
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
#include <stdint.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "cascade/rows.h"

#define CSC_RECORD_NO_AT (-1)
#define CSC_RECORD_NO_ID (-1)
#define CSC_RECORD_NO_EARLY (-1)

/* What says that a row of another program has a record of ours. */
#define CSC_RECORD_MARK "written_by_libcascade"

typedef struct csc_record {
    bool adopted;          /* the row was inserted by another program */
    bool foreign;          /* and its record was not written by this library */
    int32_t at;            /* CSC_RECORD_NO_AT without one */
    int32_t early;         /* CSC_RECORD_NO_EARLY without one */
    int32_t attempts;      /* 0 without one */
    int32_t priority;      /* 0 without one */
    int32_t instead_of;    /* CSC_RECORD_NO_ID without one */
    int64_t not_before_ms; /* CASCADE_TIME_NONE without one */
    int64_t deadline_ms;   /* CASCADE_TIME_NONE without one */
    int32_t signal;        /* CSC_RECORD_NO_ID without one, also below */
    int32_t from;
    int32_t resumes;
    bool continued;
    bool timed_out;
    bool cancelled;
    bool over;
    bool undo;
    cascade_child_end when_parent_ends; /* member `policy` */
    cascade_uuid child;                 /* all zero without one, also below */
    uint32_t first;                     /* 0 without one */
    cascade_join on_failure;
    bool skipped;
    cascade_uuid token;
    cascade_uuid by;
    cascade_uuid continued_as;
    csc_json_span output; /* data is NULL without one, also below */
    csc_json_span meta;
    csc_json_span steps;
    csc_json_span progress;
    csc_json_span after;
    csc_json_span late;
    csc_json_span instead;
    csc_json_span supersedes;
} csc_record;

/* The words of member `policy`. */
const char *csc_full_output_policy(cascade_child_end policy);

/* Reads a string that is an id. */
bool csc_full_output_uuid(csc_json_span span, cascade_uuid *id);

/* Whether that node_instance_id is one of ours. */
bool csc_full_output_is_path(const char *node_instance_id);

/* The record of a row. One without a node_instance_id, as updates are, is of
 * ours. The spans point into its full_output. */
void csc_full_output_read(const cascade_execution_row *row, csc_record *record);

#endif
