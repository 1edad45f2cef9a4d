/* SPDX-License-Identifier: MIT
 *
 * What the files of cascade_adopt() share with one another only.
 *
 *   adopt.c        pages, and the repairs of each
 *   adopt_chain.c  which run is the last of those that continue each other
 *   adopt_read.c   what the rows of one cascade show
 *   adopt_tell.c   what is told of it
 */
#ifndef CSC_MANAGE_ADOPT_INTERNAL_H
#define CSC_MANAGE_ADOPT_INTERNAL_H

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/audit/audit.h"
#include "query/audit/audit_read.h"
#include "query/audit/faults.h"
#include "query/start_records.h"
#include "state/start_record.h"
#include "store/seal.h"

#define CSC_ADOPT_PAGE CSC_AUDIT_GROUP_MAX
/* Executions told one by one, and children looked up. */
#define CSC_ADOPT_NOTED_MAX 20

/* What is told, by this name. */
#define CSC_ADOPT_RUN "A1 run"
#define CSC_ADOPT_STATUS "A2 status"
#define CSC_ADOPT_FN_ID "A3 fn_id"
#define CSC_ADOPT_KEY "A4 key"
#define CSC_ADOPT_FORM "A5 ids of another form"
#define CSC_ADOPT_GAPS "A6 gaps"
#define CSC_ADOPT_KEYS "A7 context keys"
#define CSC_ADOPT_AGAIN "A8 runs again"
#define CSC_ADOPT_SPAWNS "A9 spawns"
#define CSC_ADOPT_MESSAGES "A10 messages"
#define CSC_ADOPT_CHILD "A11 children"
#define CSC_ADOPT_ENDED "A12 ended"
#define CSC_ADOPT_READABLE "A13 readable"
#define CSC_ADOPT_SEAL "A14 seal"
#define CSC_ADOPT_CHAIN "A15 chain"

/* What all rows of a cascade, read together, show. */
typedef enum csc_adopt_verdict {
    CSC_ADOPT_UNREAD,
    CSC_ADOPT_HOLDS,   /* there is no integrity, or they have their seal */
    CSC_ADOPT_TRUSTED, /* they have not, and are taken for what was written */
    CSC_ADOPT_MOVED,   /* somebody writes: nothing was told */
    CSC_ADOPT_REFUSED  /* it was told why; or it is gone */
} csc_adopt_verdict;

/* A cascade of a page. */
typedef struct csc_adopt_target {
    cascade_row row;
    bool has_run;
    csc_family_state family;
    csc_meta meta;
    csc_adopt_verdict verdict;
} csc_adopt_target;

/* Which names of nodes a program can register. */
typedef enum csc_adopt_naming {
    CSC_ADOPT_NAME_OWN,
    CSC_ADOPT_NAME_FOREIGN, /* with `foreign` */
    CSC_ADOPT_NAME_NONE     /* not at all */
} csc_adopt_naming;

/* What the rows of one cascade show besides. */
typedef struct csc_adopt_tally {
    csc_seal fresh; /* of them, where there is integrity */
    bool seals;
    int64_t executions;
    int64_t foreign; /* of another form */
    int64_t id_keys; /* events whose key is an id */
    int64_t running;
    int32_t again[CSC_ADOPT_NOTED_MAX];          /* the first of those */
    csc_adopt_naming names[CSC_ADOPT_NOTED_MAX]; /* of their nodes */
    int64_t children; /* parts of children that are RUNNING */
    cascade_uuid child[CSC_ADOPT_NOTED_MAX];
    int32_t child_part[CSC_ADOPT_NOTED_MAX];
} csc_adopt_tally;

typedef struct csc_adopter {
    cascade_store *store;
    cascade_check_options options;
    cascade_check_report *report;
    int64_t now_ms;
    csc_arena arena; /* of one page: its texts, and those of the repairs */
    csc_adopt_target targets[CSC_ADOPT_PAGE];
    size_t count;
    cascade_repair repairs[CSC_ADOPT_PAGE];
    size_t repair_count;
    csc_faults faults; /* of the list of that page */
    csc_audit audit;
    csc_adopt_tally tally;
    cascade_err told; /* what became of telling */
} csc_adopter;

/* ---- adopt_tell.c ------------------------------------------------------- */

/* One line. After the first that ends the call nothing is told any more. */
void csc_adopt_tell(csc_adopter *a, const cascade_uuid *id, int32_t function_id,
                    const char *rule, const char *format, ...)
    CASCADE_PRINTF(5, 6);

/* Of a cascade that was read. */
void csc_adopt_tell_foreign(csc_adopter *a, const cascade_uuid *id);
void csc_adopt_tell_running(csc_adopter *a, const cascade_uuid *id);
/* What is missing of what was recorded as spawned; and of what other programs
 * spawned nothing is recorded. */
void csc_adopt_tell_spawns(csc_adopter *a, const cascade_uuid *id);
void csc_adopt_tell_messages(csc_adopter *a, const cascade_uuid *id);
/* A child that has ended told so by a message, which is gone. */
cascade_err csc_adopt_tell_children(csc_adopter *a, const cascade_uuid *id);
/* That its seal does not hold, and so something is `left` undone. */
void csc_adopt_tell_seal(csc_adopter *a, const char *left);

/* Of one whose rows cannot be read. */
void csc_adopt_tell_unreadable(csc_adopter *a, const cascade_uuid *id,
                               const char *why);
/* Those of the page of which not even their own row, or that of the run, can be
 * read. */
void csc_adopt_tell_faults(csc_adopter *a);

/* ---- adopt_read.c ------------------------------------------------------- */

/* Reads it, all of it, for the audit and the tally, and gives the verdict; what
 * is refused is told, as what is `left` undone. */
cascade_err csc_adopt_read(csc_adopter *a, csc_adopt_target *t,
                           const char *left);

/* ---- adopt_chain.c ------------------------------------------------------ */

/* Of the page, when all repairs of it are made. */
cascade_err csc_adopt_chain_enter(csc_adopter *a);

#endif
