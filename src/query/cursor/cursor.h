/* SPDX-License-Identifier: MIT
 *
 * The inside of a cursor: what changes in one cascade, or in all.
 *
 *   cursor_one.c   one look at one cascade: what of it is news
 *   cursor_all.c      which cascades there are to look at, where all are
 *                     followed
 *   cursor.c          the calls
 *
 * A FOLLOWER is what a cursor knows of a cascade: the row as it was at the last
 * look, up to which function_id it has told everything, and of those up to
 * there which are RUNNING, each with a print of what was told of it. Executions
 * only ever become more, and those that have ended stay as they are; so what is
 * RUNNING and what is above that function_id is all that can be news. What it
 * costs to look does not grow with the history.
 *
 * Nothing is ever kept of the executions themselves: they are read one by one,
 * or in small pages, when they are about to be told.
 */
#ifndef CSC_QUERY_CURSOR_CURSOR_H
#define CSC_QUERY_CURSOR_CURSOR_H

#include "base/data/arena.h"
#include "base/data/map.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/rows.h"
#include "cascade/snapshot.h"
#include "store/store.h"

#define CSC_CURSOR_PAGE 32 /* executions that are read at a time, to be told */

/* An execution that was RUNNING when it was told. */
typedef struct csc_known {
    int32_t function_id;
    bool there; /* it still is */
    bool due;   /* it is to be told again */
    uint64_t print;
} csc_known;

typedef struct csc_follower {
    cascade_uuid id;
    cascade_status status; /* as it was told */
    bool told;             /* that it is there */
    bool due;              /* it is to be looked at */
    bool ended;            /* remembered only, so that it is not told anew */
    bool gone;             /* there is no such cascade any more */
    int32_t fn_id;         /* of its row at the last look, also: */
    int64_t updated_at_ms;
    int64_t again_ms; /* when to look though its row is the same, by the
                         monotonic clock; 0: then not */
    int64_t ended_ms; /* by the store's clock; 0: by the next round */
    int64_t last;     /* all up to that function_id was told, or is old */
    csc_known *known; /* by function_id */
    size_t known_count;
    size_t known_room;
} csc_follower;

typedef enum csc_cursor_step {
    CSC_CURSOR_BEGIN,   /* read its row, and what is RUNNING */
    CSC_CURSOR_FIRST,   /* tell that it is there */
    CSC_CURSOR_CHANGED, /* tell what was RUNNING, and has changed */
    CSC_CURSOR_NEW,     /* tell what is new */
    CSC_CURSOR_STATUS   /* tell that it has another status */
} csc_cursor_step;

/* Of a cursor that follows all. */
typedef struct csc_crowd {
    csc_follower **items; /* in the order in which they were met */
    size_t count;
    size_t room;
    csc_map by_id;
    size_t pick;       /* where to go on looking for one that is due */
    size_t turn;       /* and for one whose row is to be read */
    int64_t looked_ms; /* by the store's clock, the last round */
    int64_t far_ms;    /* the same, the last one that looked far back */
} csc_crowd;

struct cascade_cursor {
    csc_origin origin;
    cascade_store *store;
    bool all;
    csc_watch watch; /* of the one; of none where all are followed */
    csc_follower one;
    csc_crowd crowd;
    cascade_news news;

    /* The look that is under way. */
    csc_follower *now; /* NULL: none */
    csc_cursor_step step;
    cascade_info *info; /* its row, as it was read first */
    csc_arena arena;    /* of the page */
    cascade_execution_info page[CSC_CURSOR_PAGE];
    uint64_t prints[CSC_CURSOR_PAGE];
    size_t page_count;
    size_t page_at;
    bool page_is_last;
};

/* ---- cursor_one.c ---------------------------------------------------- */

/* Goes on with the look at cursor->now: OK with the next news; AGAIN when the
 * look is over, and cursor->now is NULL; or what the store says, then it is to
 * be called again. CASCADE_ERR_NOT_FOUND ends the look. */
cascade_err csc_cursor_follow(cascade_cursor *cursor);

/* Begins a look. */
void csc_cursor_begin(cascade_cursor *cursor, csc_follower *follower);

/* Notes an execution that is RUNNING, and counts as told. */
cascade_err csc_cursor_know(csc_follower *follower,
                            const cascade_execution_row *row);

/* Notes all of the cascade's that is. */
cascade_err csc_cursor_know_running(cascade_store *store,
                                    csc_follower *follower);

/* Whether the row is another than at the last look, or one is due all the
 * same. */
bool csc_cursor_has_changed(const csc_follower *follower, cascade_status status,
                            int32_t fn_id, int64_t updated_at_ms);

/* Takes all that there is of the cascade as told. */
cascade_err csc_cursor_skip(cascade_store *store, csc_follower *follower);

void csc_cursor_forget(csc_follower *follower);

/* ---- cursor_all.c ------------------------------------------------------- */

/* Takes what there is as known, or, where `from_start`, what has not ended as
 * to be told. */
cascade_err csc_cursor_open_all(cascade_cursor *cursor, bool from_start);

/* As csc_cursor_follow(), of whichever has news. */
cascade_err csc_cursor_follow_all(cascade_cursor *cursor);

void csc_cursor_close_all(csc_crowd *crowd);

#endif
