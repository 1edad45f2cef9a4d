/* SPDX-License-Identifier: MIT
 *
 * What the files of the oracle share: oracle.c (the object, the loops over
 * cascades), oracle_entries.c (functions entered), oracle_rows.c (the rows of
 * one cascade by themselves), oracle_join.c (what joins must do),
 * oracle_waits.c (waits, signals and commands), oracle_change.c (against those
 * seen before), oracle_messages.c (against what was sent), oracle_context.c
 * (what an execution sees), oracle_runs.c (next runs), oracle_family.c (parents
 * and children), oracle_course.c (retries, reruns, forks).
 */
#ifndef TESTS_SUPPORT_ORACLE_INTERNAL_H
#define TESTS_SUPPORT_ORACLE_INTERNAL_H

#include <pthread.h>

#include "base/data/buf.h"
#include "base/data/map.h"
#include "base/json/json.h"
#include "support/dump.h"
#include "support/oracle.h"

#define ORACLE_TEXT_MAX 256 /* bytes of a queue or a node name that are kept */
#define ORACLE_NO_ID (-1)

/* One execution as its row tells it, decoded. */
typedef struct oracle_fact {
    const cascade_execution_row *row;
    int64_t instead_of; /* ORACLE_NO_ID: of none */
    bool part;          /* of a straight line */
    bool step;          /* which is inserted when it has ended */
    bool undo;          /* and that its node may fail to register */
    bool mark;          /* and for which nothing is entered */
    bool wait;          /* which holds its node up: a sleep or an await */
    bool await;
    bool gather;  /* one for children */
    bool child;   /* RUNNING as long as that cascade is; holds nobody up */
    bool receipt; /* of a message: its path is that of the message */
    bool carried; /* a signal that the run before had not read, or its pause */
    bool signal;  /* received, for an await to take */
    bool cancel;  /* that is in force, or was carried out */
    int64_t from; /* the first it has still to look at; ORACLE_NO_ID: none */
    bool undelivered;
    bool cancelled; /* with the cascade */
    bool deadline;  /* of the cascade: inserted FAILED, and ends it */
    bool over;      /* failed as its time was over, maybe never entered */
    bool timed_out;
    int64_t took;   /* an await: the signal; ORACLE_NO_ID: none */
    int32_t parent; /* ORACLE_NO_ID: a first node */
    int64_t nth;
    int64_t at; /* ORACLE_NO_ID: none */
    int64_t attempts;
    int64_t not_before_ms; /* CASCADE_TIME_NONE: none */
    bool continued;
    bool external;       /* completed from outside, or its deadline passed */
    bool patient;        /* waits to be so completed, without a deadline */
    bool has_steps;      /* failed attempts of its steps */
    csc_json_span after; /* data is NULL without one, also below */
    csc_json_span spawned;
    csc_json_span keys;
} oracle_fact;

typedef struct oracle_run {
    bool found;
    bool owned;
    int64_t wake_at_ms;
    int64_t claim_no;
    int32_t priority;
    int32_t takeovers;
    int32_t trial;
    char queue[ORACLE_TEXT_MAX];
} oracle_run;

typedef struct oracle_letter oracle_letter;

typedef struct oracle_cascade {
    cascade_uuid id;
    oracle_letter *letters; /* what was sent to it: oracle_messages.c */
    size_t letter_count;
    size_t letter_room;
    size_t unnamed;          /* sent without a request id */
    size_t unnamed_told;     /* of them, acknowledged */
    bool left_out;           /* it is not looked at */
    bool deleting;           /* that was asked for */
    bool deleted;            /* and seen */
    bool started;            /* the test knows of it */
    bool acknowledged;       /* or it was seen: it must be there from then on */
    bool fresh;              /* some start was told that it did not exist */
    cascade_status expected; /* 0: any */
    size_t looks;
    size_t revivals; /* how often it was RUNNING again behind its end */
    dump_rows rows;  /* as of the last look */
    oracle_run run;
} oracle_cascade;

/* What is looked at just now: a cascade, read anew. */
typedef struct oracle_view {
    oracle *o;
    oracle_cascade *c; /* with the rows of the last look */
    dump_rows rows;
    oracle_run run;
    bool torn; /* the run is of another moment than the rows */
    oracle_fact *facts;
    size_t count;
    int64_t now_ms;
} oracle_view;

typedef struct oracle_entry {
    char *path;
    uint64_t attempts; /* bit n: attempt n was entered; 63 for all above */
    int attempt_max;
    size_t look; /* of its cascade, at the last entry */
    size_t count;
    int64_t first_ms;
    int64_t last_ms;
} oracle_entry;

struct oracle {
    pthread_mutex_t mutex; /* guards everything */
    csc_map cascades;
    oracle_cascade **order;
    size_t count;
    size_t room;
    oracle_entry *entries; /* by the hash of the path */
    size_t entry_count;
    size_t entry_room;
    bool follow;
    bool refuse_strangers;
    bool open;            /* oracle_set_open() */
    int32_t poison_limit; /* 0: not told */
    int64_t slack_ms;
    csc_buf text;
    uint64_t sendings; /* calls that sent, begun or returned */
    size_t failures;
    size_t looks;
};

/* Notes that a guarantee does not hold. function_id: ORACLE_NO_ID for none. */
void oracle_fail(oracle *o, const char *guarantee, const cascade_uuid *id,
                 int32_t function_id, const char *format, ...)
    CASCADE_PRINTF(5, 6);

/* What is known of a cascade, made where there is nothing. */
oracle_cascade *oracle_cascade_get(oracle *o, const cascade_uuid *id);

/* The entries of one path; NULL when there was none. */
const oracle_entry *oracle_entry_find(const oracle *o, const char *path);
void oracle_entries_free(oracle *o);

/* The parent that a path names; ORACLE_NO_ID for none. */
int64_t oracle_parent_of(const char *path);

/* The request id of `<cascade>/message/<request id>`; NULL for other paths. */
const char *oracle_request_of(const char *path);

/* Whether a pause is in force: nothing is entered, no wait ends by time. */
bool oracle_is_paused(const dump_rows *rows);
/* Decodes the rows into facts; false, with a failure noted, when a path or a
 * record is not of the form it must have. */
bool oracle_decode(oracle_view *v);
/* The fact with that function_id, NULL without. */
const oracle_fact *oracle_fact_find(const oracle_view *v, int64_t function_id);
bool oracle_fact_ended(const oracle_fact *fact);

/* How the line of one that a join comes after has ended, to that join. */
typedef enum oracle_end {
    ORACLE_OPEN, /* not, or too late */
    ORACLE_WELL,
    ORACLE_BADLY,
    ORACLE_SKIPPED
} oracle_end;

typedef struct oracle_place {
    const cascade_execution_row *row; /* the last in line; NULL: none */
    oracle_end end;
} oracle_place;

/* What is to become of a join. */
typedef enum oracle_verdict {
    ORACLE_WAIT,
    ORACLE_RUN,
    ORACLE_FAIL,
    ORACLE_SKIP
} oracle_verdict;

typedef struct oracle_tally {
    int64_t all;
    int64_t needed; /* that end well */
    int64_t good;
    int64_t bad;
} oracle_tally;

/* The line that begins with `head`. Function ids are dense in `rows`. */
oracle_place oracle_place_of(const dump_rows *rows, int64_t head, int64_t join);
bool oracle_is_late(const cascade_execution_row *row, int64_t join);
oracle_tally oracle_count(const dump_rows *rows,
                          const cascade_execution_row *join);
/* ORACLE_RUN for what is no join. */
oracle_verdict oracle_judge(const dump_rows *rows,
                            const cascade_execution_row *join);
void oracle_check_join(const oracle_view *v, const oracle_fact *fact);
void oracle_check_late(const oracle_view *v, const oracle_fact *fact);

/* A member of full_output; `*span` without data when there is none. */
bool oracle_member(const cascade_execution_row *row, const char *name,
                   csc_json_span *span);

/* The status by the one rule. */
cascade_status oracle_status(const oracle_view *v);

/* The rows by themselves. */
void oracle_check_rows(oracle_view *v);

/* ---- oracle_course.c ---------------------------------------------------- */

/* Whether a retry or a rerun was carried out. */
bool oracle_has_course(const dump_rows *rows);
/* By place in the rows, whether it counts; the caller frees it. */
bool *oracle_find_counting(const dump_rows *rows);
/* The superseded one in whose place it runs; ORACLE_NO_ID for none. */
int64_t oracle_resumed_by(const cascade_execution_row *row);
/* The first of those in whose place it runs; itself if in none's. */
int32_t oracle_origin_of(const dump_rows *rows,
                         const cascade_execution_row *row);
/* What holds of such a cascade's rows, instead of the rules for others. */
void oracle_check_course(const oracle_view *v);
/* Against those of the last look. */
void oracle_check_change(oracle_view *v);
/* Among them, what concerns awaits, signals and a cancellation. */
void oracle_check_waits(const oracle_view *v);
/* Against what was sent. */
void oracle_check_messages(oracle_view *v);
/* The same for one that is not in the store; whether it may be gone. */
bool oracle_may_be_gone(const oracle_cascade *c);
void oracle_letters_free(oracle_cascade *c);
/* Something was sent to it, or to a run before it that sends on. */
bool oracle_is_written_to(const oracle_view *v);
/* In the end: each was received in one of the runs. */
void oracle_check_sent_on(oracle *o, const oracle_cascade *c);

/* ---- oracle_runs.c ------------------------------------------------------ */

/* What the first execution tells of the whole; without data when it tells no
 * such thing. */
csc_json_span oracle_meta_member(const dump_rows *rows, const char *name);
/* From 1 on. */
int64_t oracle_run_number(const dump_rows *rows);
/* False when it has not continued as new. */
bool oracle_next_run(const dump_rows *rows, cascade_uuid *next);
/* As of the last look; NULL when it was never seen, or is deleted. */
const oracle_cascade *oracle_find_next(oracle *o, const oracle_cascade *c);
/* The run before the one with those rows; NULL when there is none, or it is
 * not known. */
const oracle_cascade *oracle_find_previous(oracle *o, const dump_rows *rows);
void oracle_check_run(const oracle_view *v);
/* In the end: the run before continued as this one. */
void oracle_check_previous(oracle *o, const oracle_cascade *c);
/* In the end: against the run before. */
void oracle_check_next(oracle *o, const oracle_cascade *c);

/* The last run of it, or itself. */
const oracle_cascade *oracle_find_last(oracle *o, const oracle_cascade *c);

/* ---- oracle_family.c ---------------------------------------------------- */

/* False when it is no child. */
bool oracle_parent_id(const dump_rows *rows, cascade_uuid *parent);
/* A message with that path is of its parent, or a child of it. */
bool oracle_is_of_family(const oracle_view *v, const char *path);
bool oracle_has_family(const oracle_view *v);
/* In the end: each names the other, and ends were told as they were. */
void oracle_check_family(oracle *o, const oracle_cascade *c);

/* Against what was entered. */
void oracle_check_entries(oracle_view *v);

#endif
