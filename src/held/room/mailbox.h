/* SPDX-License-Identifier: MIT
 *
 * What is known of messages between two looks: see mailbox.c. All locked.
 */
#ifndef CSC_HELD_ROOM_MAILBOX_H
#define CSC_HELD_ROOM_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "cascade/rows.h"

typedef struct csc_run csc_run;

/* What there may be to claim and to receive. Under the engine's mutex. */
typedef struct csc_mailbox {
    uint64_t frees;       /* runs parked; a claim that overlaps one missed it */
    int64_t next_wake_ms; /* earliest wake_at in the store to come */
    bool claim_more;      /* the last claim was full */
    bool turns_more;      /* runs of queues with limits may be had by who is
                             idle */
    uint64_t slots_left;  /* by runs; a claim that overlaps one missed it */
    size_t slots_held;    /* runs that have one */
    bool receive_due;     /* there may be messages for what is owned */
    cascade_uuid receive_after; /* where the walk over them goes on; all zero:
                                   there is none */
    size_t look_rows;           /* in one look for them; 0: as many as may be */
    int64_t look_pause_ms;      /* behind one that was too slow for one */
    int64_t look_at_ns;         /* the next is no earlier */
    bool passed_over;           /* some were for a run that is not in memory */
    uint64_t receipts;          /* counts commits that received */
    uint64_t receives;          /* counts looks for messages that are over */
    csc_run *in_hand;   /* those that receive, and of which there is more than
                           that: left out of looks until it is committed */
    uint64_t left;      /* counts runs that a commit has ended or given up, */
    uint64_t left_seen; /* up to the last claim's beginning */
} csc_mailbox;
/* A run that is to be loaded anew has no commit in flight any more: for a retry
 * or a rerun, or after it was carried out. */
void csc_mailbox_leave(cascade_engine *engine, csc_run *run);
/* Whether there may be messages, or a walk over them is not at its end, and
 * they may be read. */
bool csc_mailbox_is_due(const cascade_engine *engine);
/* When they may: INT64_MAX, unless there may be any. */
int64_t csc_mailbox_next_ns(const cascade_engine *engine);
/* A commit of the run that received is done. */
void csc_mailbox_done(cascade_engine *engine, csc_run *run);
/* A RECEIVE post of it is made; there may be `more` than that. */
void csc_mailbox_post(cascade_engine *engine, csc_run *run, bool more);
/* There are more messages of the run than it receives now, or may be. */
void csc_mailbox_note_more(cascade_engine *engine, csc_run *run);
/* It leaves memory: whatever it was to receive is looked for again. */
void csc_mailbox_forget(cascade_engine *engine, csc_run *run);
/* Of whom that is known: nothing is gained by a look before they have
 * committed. At most `max`; gives how many. */
size_t csc_mailbox_ids(const cascade_engine *engine, cascade_uuid *ids,
                       size_t max);
/* A run was born: its messages may have been passed over. */
void csc_mailbox_born(cascade_engine *engine);
/* A commit has ended the run, or given it up: messages that were looked for
 * meanwhile may have been missed. */
void csc_mailbox_left(cascade_engine *engine, const csc_run *run);
/* A run has no commit in flight any more: if it was passed over, its messages
 * are to be looked for again. */
void csc_mailbox_again(cascade_engine *engine, csc_run *run);

/* Lets the housekeeper claim again. */
void csc_mailbox_claim_again(cascade_engine *engine);

/* Lets it look for messages again. */
void csc_mailbox_look_again(cascade_engine *engine);

/* Whether each of the messages is for a cascade that an engine of the handle
 * has in memory: nobody else can receive it. Not locked. */
bool csc_mailbox_are_held(cascade_store *store,
                          const cascade_message_row *messages, size_t count);
/* The same, and these engines are to look for messages, as far as all are. */
bool csc_mailbox_tell(cascade_store *store, const cascade_message_row *messages,
                      size_t count);

#endif
