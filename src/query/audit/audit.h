/* SPDX-License-Identifier: MIT
 *
 * The invariants of one cascade's rows, each a numbered rule. Rows are shown to
 * an audit in the order of a load: the cascade, executions by function_id,
 * events, messages; it keeps a dozen bytes of each execution, and what it has
 * found. Pure but for the number of a key, which the caller reads.
 *
 * SUPERSEDED
 *   What a retry or a rerun has put others in the place of does not count for
 *   the status (supersede.h). Else it stays as it was recorded, and is judged
 *   so.
 *
 * ROWS OF OTHERS
 *   A cascade whose first execution does not record how it is dispatched was
 *   begun by another program. There, an execution with a node_instance_id of
 *   another form is that program's, and nothing is asked of it; elsewhere, one
 *   that has no `at` in its record besides. Others have other rules for status
 *   and fn_id of a cascade that has such rows, or that they began. So of such a
 *   one it is only asked that (audit_others.c)
 *
 *     fn_id       is that of an execution: theirs is that of the last claim
 *     no gaps     between its first execution and its last. They leave one
 *                 where a number was asked for and nobody came to use it, so a
 *                 gap may be theirs; a row that was deleted leaves the same
 *     its end     comes with some execution that has ended
 *     events      have a writer that is there; while it is RUNNING, one may be
 *                 still to come, right behind the last
 *     the run     is there while it is RUNNING (else it is to be adopted), in a
 *                 queue that can be; runs are ours alone
 *
 *   and whoever tells of the whole counts it among those that cannot be judged
 *   whole.
 */
#ifndef CSC_QUERY_AUDIT_AUDIT_H
#define CSC_QUERY_AUDIT_AUDIT_H

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "state/start_record.h"
#include "state/supersede.h"

/* What is told of a violation: the rule, by this name. */
#define CSC_AUDIT_RULES(X)                                                     \
    X(READABLE, "V1 readable", "each row can be read")                         \
    X(STATUS, "V2 status",                                                     \
      "the status of a cascade follows from its executions: ERROR as soon as " \
      "one has failed that ends it, else RUNNING while one is RUNNING, else "  \
      "COMPLETED")                                                             \
    X(FN_ID, "V3 fn_id", "fn_id is the highest function_id")                   \
    X(RUN, "V4 run",                                                           \
      "a cascade has a run while it is RUNNING, and afterwards only while a "  \
      "message waits for it")                                                  \
    X(RUN_VALUES, "V5 run values",                                             \
      "queue and priority of a run are those that execution 0 records, while " \
      "the cascade is RUNNING, a queue can be, and its counters are sound")    \
    X(COMPLETED_AT, "V6 completed_at",                                         \
      "an execution has a completed_at exactly when it has ended")             \
    X(PATH, "V7 node_instance_id",                                             \
      "a node_instance_id is made of the cascade's id, the parent, the name "  \
      "and the occurrence, or is that of a message")                           \
    X(PARENT, "V8 parent",                                                     \
      "a parent comes before its executions, and has ended when it has "       \
      "spawned")                                                               \
    X(RECORD, "V9 record",                                                     \
      "an execution that has ended records as of which fn_id, and that is "    \
      "not above the cascade's")                                               \
    X(REFERENCE, "V10 reference",                                              \
      "what a record names is there, and can be what it is named as")          \
    X(CANONICAL, "V11 canonical", "payloads are in canonical form")            \
    X(WRITER, "V12 writer",                                                    \
      "whoever has written to the context is there, and has ended")            \
    X(KEY, "V13 key",                                                          \
      "a cascade with a key has the id of that key and run, and the key's "    \
      "row does not say an earlier run")                                       \
    X(MESSAGE, "V14 message", "the path of a message begins with an id")       \
    X(GAPS, "V15 gaps", "each function_id up to fn_id has an execution")       \
    X(STRAYS, "V16 strays",                                                    \
      "what belongs to a cascade, or to an incarnation, has it; a message "    \
      "for "                                                                   \
      "none is deleted within a day")                                          \
    X(LINKS, "V17 links",                                                      \
      "of a run that continues others, what was entered of these leads to no " \
      "run before it, to no other of its number, and to those of its root")    \
    X(SEAL, "V18 seal",                                                        \
      "in a store with integrity each cascade has the seal of its rows, and "  \
      "each message that of its sender")                                       \
    X(COUNTER, "V19 counter",                                                  \
      "each cascade that was counted is there, with that seal or one of a "    \
      "higher number")                                                         \
    X(FAMILY, "V20 family",                                                    \
      "a child that is waited for says so, and is waited for once; a run "     \
      "that "                                                                  \
      "continues another is what that has continued as, for the same parent")  \
    X(RECEIPT, "V21 receipt",                                                  \
      "a message that waits, or was received, is for the cascade or for a "    \
      "run "                                                                   \
      "before it")

#define CSC_AUDIT_ENUM(name, label, text) CSC_AUDIT_##name,

typedef enum csc_audit_rule {
    CSC_AUDIT_RULES(CSC_AUDIT_ENUM) CSC_AUDIT_RULE_COUNT
} csc_audit_rule;
#undef CSC_AUDIT_ENUM

/* "V2 status", and what it demands. */
const char *csc_audit_name(csc_audit_rule rule);
const char *csc_audit_text(csc_audit_rule rule);

typedef struct csc_audit_finding {
    struct csc_audit_finding *next;
    csc_audit_rule rule;
    int32_t function_id; /* -1: of the cascade */
    const char *text;
} csc_audit_finding;

/* What is kept of an execution. */
typedef struct csc_audit_seen {
    int32_t function_id;
    int32_t parent;
    unsigned char status;
    bool ends;     /* it has failed, and the cascade with it */
    bool signal;   /* it is that of a received signal */
    int32_t early; /* events of others that are still to come: state.h */
} csc_audit_seen;

/* As what a record names an execution. */
typedef enum csc_audit_as {
    CSC_AUDIT_SPAWNED,
    CSC_AUDIT_AFTER,
    CSC_AUDIT_INSTEAD_OF,
    CSC_AUDIT_LATE,
    CSC_AUDIT_TAKEN,
    CSC_AUDIT_RESUMED,
    CSC_AUDIT_SUPERSEDED
} csc_audit_as;

typedef struct csc_audit_named {
    int32_t from;
    int32_t to;
    csc_audit_as as;
} csc_audit_named;

/* Another cascade, and what the rows say of it: audit_family.h. */
typedef struct csc_audit_kin {
    cascade_uuid id;
    int32_t function_id; /* -1: of a message */
    bool child;          /* it is waited for as a child; else a message, or a
                            receipt, has its id */
    bool abandoned;      /* it goes on by itself */
} csc_audit_kin;

typedef struct csc_audit_seal csc_audit_seal;

/* All zero at first. */
typedef struct csc_audit {
    cascade_row row; /* without its texts */
    cascade_run_row run;
    bool has_run;
    bool foreign;  /* there are rows of others */
    bool document; /* set behind _begin: it may be imported with rows missing,
                      and with whatever others have written */
    csc_arena arena;
    char *user_id;
    char *run_queue;
    csc_meta meta;
    bool has_meta;
    csc_audit_seen *seen; /* by function_id */
    size_t seen_count;
    size_t seen_room;
    csc_course course; /* which of them are superseded */
    csc_audit_named *named;
    size_t named_count;
    size_t named_room;
    csc_audit_kin *kin;
    size_t kin_count;
    size_t kin_room;
    size_t event_count;
    size_t message_count;
    csc_audit_finding *first; /* up to CSC_AUDIT_FINDINGS_MAX of them */
    csc_audit_finding **last;
    size_t finding_count;
    csc_audit_seal *seal; /* audit_seal.h; NULL: not looked at */
} csc_audit;

#define CSC_AUDIT_FINDINGS_MAX 100

/* Begins; `run` may be NULL. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_audit_begin(csc_audit *audit, const cascade_row *row,
                            const cascade_run_row *run);
/* Rows. What is wrong with them is no error: it is found. */
cascade_err csc_audit_execution(csc_audit *audit,
                                const cascade_execution_row *row);
cascade_err csc_audit_event(csc_audit *audit, const cascade_event_row *row);
cascade_err csc_audit_message(csc_audit *audit, const cascade_message_row *row);
/* All rows were shown. `current_run` is that of its key, where it has one. */
cascade_err csc_audit_end(csc_audit *audit, int32_t current_run);
/* What the caller found. */
void csc_audit_add(csc_audit *audit, csc_audit_rule rule, int32_t function_id,
                   const char *format, ...) CASCADE_PRINTF(4, 5);
/* Forgets all; it may begin anew. */
void csc_audit_fini(csc_audit *audit);

/* Whether the cascade and its executions were all written by this library: else
 * it cannot be judged whole. */
bool csc_audit_is_own(const csc_audit *audit);
/* The status that follows from the executions, once all were shown. */
cascade_status csc_audit_status(const csc_audit *audit);
/* The highest function_id; -1 without an execution. */
int32_t csc_audit_highest(const csc_audit *audit);
/* What is kept of an execution; NULL when it is not there. */
const csc_audit_seen *csc_audit_find(const csc_audit *audit,
                                     int32_t function_id);

/* Of audit_others.c, for cascades that are not own. An event; the whole, once
 * all rows were shown. */
void csc_audit_others_event(csc_audit *audit, const cascade_event_row *row);
void csc_audit_others_end(csc_audit *audit);
/* For each: the gaps from `from` on. */
void csc_audit_gaps(csc_audit *audit, int32_t from, const char *why);
/* For each that has a run. */
void csc_audit_counters(csc_audit *audit);

#endif
