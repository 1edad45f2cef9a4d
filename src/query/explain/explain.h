/* SPDX-License-Identifier: MIT
 *
 * Why a cascade is where it is: from what is known of it to the causes, without
 * a store, clock or engine. The reading is in explain.c.
 */
#ifndef CSC_QUERY_EXPLAIN_EXPLAIN_H
#define CSC_QUERY_EXPLAIN_EXPLAIN_H

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "state/state.h"
#include "store/store.h"

/* What the seal says, where there is one to be had. */
typedef struct csc_seal_facts {
    bool broken;           /* rows and seal do not fit */
    int64_t message_count; /* messages without a good one */
    char text[256];        /* why, of the cascade; else of the last message */
} csc_seal_facts;

#define CSC_TURN_HOLDERS 3

/* Slots in use, where its queue has limits. */
typedef struct csc_turn_slots {
    int32_t max;                            /* 0: any number */
    size_t count;                           /* up to 1,000 */
    cascade_uuid holders[CSC_TURN_HOLDERS]; /* the first of them */
} csc_turn_slots;

typedef struct csc_turn_facts {
    bool kept;            /* it has limits, and these are known: */
    csc_turn_slots queue; /* of the queue, */
    csc_turn_slots key;   /* and of its key */
} csc_turn_facts;

/* All of about one moment. */
typedef struct csc_facts {
    int64_t now_ms;                     /* the store's */
    const cascade_info *info;           /* of the cascade, with its run */
    const csc_state *state;             /* its executions, without events */
    const cascade_engine_list *engines; /* those of single calls too */
    int64_t queue_paused_ms;   /* CASCADE_TIME_NONE: its queue is not paused */
    const char *pause_request; /* of the pause in the state; NULL: without */
    size_t message_count;      /* of those that were read */
    bool more_messages;        /* there may be others besides */
    const char *message;       /* the kind of the first, and when it was sent */
    int64_t message_at_ms;
    csc_seal_facts seal; /* none of it where the store has no integrity */
    csc_turn_facts turn; /* none of it while an engine has it */
    csc_aside aside;     /* by an engine of this handle */
    int64_t deadline_ms; /* of the handle's calls */
} csc_facts;

struct cascade_explanation {
    csc_arena arena; /* owns the texts */
    cascade_cause *causes;
    size_t count;
    size_t room;
};

/* The time as texts here have it: "2026-01-31 12:00:00 UTC". */
const char *csc_explain_time(csc_arena *arena, int64_t at_ms);

/* One more cause, with nothing but its reason set; NULL when out of memory.
 * Valid until the next one. */
cascade_cause *csc_explain_add(cascade_explanation *explanation,
                               cascade_reason reason);

/* Gives the last cause its text: one line, whatever names are in it. */
void csc_explain_say(cascade_explanation *explanation, const char *format, ...)
    CASCADE_PRINTF(2, 3);

/* Reads all rows of the cascade, where the store has integrity
 * (explain_seal.c). */
cascade_err csc_explain_seal_read(cascade_store *store, const cascade_uuid *id,
                                  csc_seal_facts *facts);
/* Adds what they say. */
void csc_explain_seal(const csc_seal_facts *facts, cascade_explanation *out);

/* Reads who has the slots of its queue, unless the cascade is somebody's
 * (explain_turn.c). */
cascade_err csc_explain_turn_read(cascade_store *store,
                                  const cascade_info *info,
                                  csc_turn_facts *facts);
/* Adds that it is due and waits for one. */
void csc_explain_turn(const csc_facts *facts, cascade_explanation *out);

/* Adds what holds for the cascade (explain_cascade.c), and one cause for each
 * execution that has not ended (explain_execution.c). Out of memory shows in
 * the arena. */
void csc_explain_cascade(const csc_facts *facts, cascade_explanation *out);
void csc_explain_execution_all(const csc_facts *facts,
                               cascade_explanation *out);

/* Whether an engine that lives has the cascade. */
bool csc_explain_cascade_is_owned(const csc_facts *facts);

/* Whether nothing of it may begin: it is paused, or its queue is. */
bool csc_explain_cascade_is_paused(const csc_facts *facts);

#endif
