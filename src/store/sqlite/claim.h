/* SPDX-License-Identifier: MIT
 *
 * What the files of a claim share: claim.c, named.c (what messages name) and
 * turns.c (queues that have limits).
 */
#ifndef CSC_STORE_SQLITE_CLAIM_H
#define CSC_STORE_SQLITE_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/sqlite/internal.h"

/* See claim.c. */
typedef struct csc_sqlite_shelf {
    const char *queue;
    const char *needs; /* "": none */
    int32_t takeovers;
    bool wanted;
} csc_sqlite_shelf;

typedef struct csc_sqlite_candidate {
    cascade_uuid cascade_id;
    int64_t wake_at_ms;
    int64_t claim_no;
    int32_t takeovers;
    int32_t trials; /* as this claim makes them */
    char message_kind[CASCADE_MESSAGE_KIND_MAX + 1]; /* "": none */
} csc_sqlite_candidate;

/* A queue of a claim. */
typedef struct csc_sqlite_queue {
    bool paused;
    bool limited; /* it has limits, */
    bool kept;    /* and is not paused */
    int64_t running_max;
    int64_t key_running_max;
} csc_sqlite_queue;

/* A cascade that messages name. */
typedef struct csc_sqlite_named {
    csc_sqlite_candidate run;
    const char *queue;
    int32_t priority;
    bool ended; /* no run row: it is to be made */
} csc_sqlite_named;

typedef struct csc_sqlite_claiming {
    csc_sqlite_conn *conn;
    const cascade_claim *claim;
    int64_t now_ms;
    csc_sqlite_shelf *shelves;
    size_t shelf_count;
    size_t shelf_room;
    csc_arena texts;          /* the needs of the shelves */
    csc_sqlite_queue *queues; /* each of the claim */
    csc_sqlite_candidate
        *candidates; /* those of lower priorities behind the higher */
    size_t count;
    size_t room;
    csc_sqlite_named
        *named; /* the first ones, `limit` at most once they are sorted */
    size_t named_count;
    size_t named_room;
    cascade_uuid *strays; /* named by messages, but not there */
    size_t stray_count;
    size_t stray_room;
    bool unnamed; /* messages of no id were passed over, the first behind: */
    char unnamed_behind[CASCADE_UUID_TEXT_SIZE];
    bool messages;               /* for runs that were its own */
    bool turns_due;              /* kept queues seem to have something */
    csc_sqlite_candidate *turns; /* what they gave */
    size_t turn_count;
    bool again;
    bool suspects; /* one of a kept queue is due */
    int64_t next_wake_at_ms;
} csc_sqlite_claiming;

/* ---- claim.c ------------------------------------------------------------- */

/* By wake_at, then by id. */
int csc_sqlite_claim_compare(const void *a, const void *b);
/* What a claim makes of the trials in a column. */
int32_t csc_sqlite_claim_trial(const cascade_claim *claim,
                               sqlite3_stmt *statement, int column);

/* The shelves of a queue, behind those that are there. */
cascade_err csc_sqlite_claim_shelve(csc_sqlite_claiming *state,
                                    const char *queue);
/* `candidates`: the first `limit` runs that are due on the wanted shelves. */
cascade_err csc_sqlite_claim_due(csc_sqlite_claiming *state, size_t limit);
/* One more of them: id, wake_at, claim_no and trial of a row. */
cascade_err csc_sqlite_claim_add(csc_sqlite_claiming *state,
                                 sqlite3_stmt *statement, int32_t takeovers);
/* When something comes next on the shelves: `next_wake_at_ms`; and what is
 * earlier, that or another time. */
cascade_err csc_sqlite_claim_next(csc_sqlite_claiming *state);
void csc_sqlite_claim_note_next(csc_sqlite_claiming *state, int64_t wake_at_ms);
/* The run is the incarnation's. */
cascade_err csc_sqlite_claim_own(const csc_sqlite_claiming *state,
                                 const csc_sqlite_candidate *run, bool slot);

/* ---- turns.c ------------------------------------------------------------- */

/* Whether kept queues seem to have something, and when it comes. */
cascade_err csc_sqlite_turns_look(csc_sqlite_claiming *state);
/* Takes up to `room` of their runs. */
cascade_err csc_sqlite_turns_take(csc_sqlite_claiming *state, size_t room);

/* ---- named.c ------------------------------------------------------------- */

/* Walks over the cascades that messages name: `named`, `strays`. */
cascade_err csc_sqlite_named_collect(csc_sqlite_claiming *state);
/* Takes those that still are as they were seen. */
cascade_err csc_sqlite_named_take(csc_sqlite_claiming *state);
/* Sends on or deletes messages of cascades that are not there, in portions. */
cascade_err csc_sqlite_named_clear(csc_sqlite_claiming *state);

#endif
