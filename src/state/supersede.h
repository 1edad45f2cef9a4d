/* SPDX-License-Identifier: MIT
 *
 * Which executions of a cascade count: a retry and a rerun put others in the
 * place of some. A pure module, for all who read rows: the state, snapshots,
 * those who check the tables.
 *
 * WHAT IS RECORDED
 *   The receipt r of the command, an execution that is COMPLETED:
 *     {"at":n,"from":k,"supersedes":[ids]}
 *   It supersedes all of [k, r), where it has a `from`, and those ids, which
 *   are lower. Everything else stands as it was. That is decided once, as the
 *   command is carried out (reset_plan.h): a reader has only to look it up.
 *   An execution that runs in the place of one that is superseded names it:
 *     {"resumes":id}
 *   It is that one's heir, and may have heirs itself. The heir takes over the
 *   parts (steps, ended waits) of the one before that still count. A signal
 *   that a rerun receives once more names the one before in the same way.
 *
 *     3 node --- 4 step a --- 5 step b FAILED     (the cascade has ended)
 *      \__________                 \
 *                 v                 v not: done anew
 *     6 retry, supersedes [3,5] --- 7 node, resumes 3: has step a
 *
 * WHICH RECEIPTS COUNT
 *   A later rerun may supersede a receipt: then it is void, and what it had
 *   superseded counts again, unless the later one supersedes it too. As of k
 *   none from k on counts. So the receipts are judged from the last to the
 *   first.
 *
 * A receipt comes after all that it supersedes. So whoever reads rows by
 * function_id, and meets one, begins anew with what csc_supersede_note() has
 * gathered:
 *
 *     do {
 *         ...each row: csc_supersede_note(), and leave it aside where
 *            csc_supersede_by() names a receipt...
 *         again = course.grew;
 *         csc_supersede_settle(&course, as_of);
 *     } while (again);
 *
 * Cascades without such commands are read once.
 *
 * WHILE IT IS CARRIED OUT
 *   A large one is many commits (reset_slice.c). Until the last heir is there
 *   its receipt is RUNNING, {"from":k}, and nothing has changed: neither the
 *   receipt counts nor what stands under it, to no reader. These are superseded
 *   by that receipt, which comes first, so nothing is read again for them. It
 *   stays so where the receipt becomes FAILED: then the command was given up.
 */
#ifndef CSC_STATE_SUPERSEDE_H
#define CSC_STATE_SUPERSEDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "cascade/rows.h"

typedef struct csc_record csc_record;

#define CSC_RETRY_NAME "cascade.retry"
#define CSC_RERUN_NAME "cascade.rerun"

/* As of the last row. */
#define CSC_COURSE_NOW ((int64_t)INT32_MAX + 1)
#define CSC_COURSE_NONE (-1)

typedef struct csc_course_receipt {
    int32_t function_id;
    int32_t from; /* CSC_COURSE_NONE without one */
    int32_t *ids; /* ascending */
    size_t id_count;
    bool counts;
} csc_course_receipt;

typedef struct csc_course_heir {
    int32_t id;
    int32_t resumes;
    int32_t origin;  /* the first of those that it comes after */
    int32_t receipt; /* of the command that made it */
    int32_t *parts;  /* see csc_supersede_add_part() */
    size_t part_count;
    size_t part_room;
} csc_course_heir;

/* One that is not COMPLETED, and the last row that stands under it; its own
 * function_id where none does. */
typedef struct csc_course_open {
    int32_t receipt;
    int32_t last;
    int32_t from;
    bool running;
} csc_course_open;

/* All zero: of a cascade without such commands. */
typedef struct csc_course {
    csc_course_receipt *receipts; /* by function_id */
    size_t receipt_count;
    size_t receipt_room;
    csc_course_heir *heirs; /* by id */
    size_t heir_count;
    size_t heir_room;
    int32_t *heirs_by_old; /* their places in `heirs`, by `resumes` */
    size_t by_old_count;   /* those noted since it was settled are not there */
    csc_course_open *open; /* few: of those that failed and have nothing under
                              them there is one at most */
    size_t open_count;
    size_t open_room;
    bool any;  /* receipts count */
    bool grew; /* receipts were noted since it was settled */
} csc_course;

void csc_supersede_fini(csc_course *course);

/* Notes what the row tells, if anything. By function_id. */
cascade_err csc_supersede_note(csc_course *course,
                               const cascade_execution_row *row,
                               const csc_record *record);

/* Decides which receipts count as of function_id `as_of`. */
cascade_err csc_supersede_settle(csc_course *course, int64_t as_of);

/* The receipt that supersedes the execution, CSC_COURSE_NONE when it counts; of
 * one that is RUNNING, itself. */
int32_t csc_supersede_by(const csc_course *course, int32_t function_id);

/* The receipt of the command that is being carried out, in a cascade whose last
 * function_id is `fn_id`; CSC_COURSE_NONE without one. What has something else
 * behind it was given up. */
int32_t csc_supersede_unfinished(const csc_course *course, int32_t fn_id);

/* From where on that command supersedes all: CSC_COURSE_NONE for a retry. */
int32_t csc_supersede_from(const csc_course *course, int32_t receipt);

/* Whether what the receipt supersedes is so for good: it is COMPLETED. */
bool csc_supersede_is_done(const csc_course *course, int32_t receipt);

/* The last heir of an execution; itself where it has none. */
int32_t csc_supersede_heir_of(const csc_course *course, int32_t function_id);

/* The first of those that an execution comes after; itself if it is no heir. */
int32_t csc_supersede_origin(const csc_course *course, int32_t function_id);

/* For readers that meet the part of a superseded execution before the heir:
 * keeps it, and gives all that were kept. */
cascade_err csc_supersede_add_part(csc_course *course, int32_t heir,
                                   int32_t part);
size_t csc_supersede_parts(const csc_course *course, int32_t heir,
                           const int32_t **parts);

/* Whether the row is the receipt of such a command, carried out or not. */
bool csc_supersede_is_receipt(const cascade_execution_row *row);

#endif
