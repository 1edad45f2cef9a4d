/* SPDX-License-Identifier: MIT
 *
 * Cascades that are owned but not in memory: to be loaded, or to be loaded
 * again. For each cascade that the engine owns, or is about to, there is a
 * record: in `reloads` while it is to be loaded, else in `spares`. So nothing
 * that it takes to load one anew can be out of memory. All locked.
 */
#ifndef CSC_HELD_ROOM_RELOAD_H
#define CSC_HELD_ROOM_RELOAD_H

#include "cascade/cascade.h"
#include "cascade/store.h"

typedef struct csc_run csc_run;

#define CSC_APART_ALONE 8 /* of `apart`: CSC_CLAIM_MAX halved so often is one */

/* One that is read in portions: stream.c. */
typedef struct csc_stream csc_stream;

/* A run that is owned but not in memory: to be loaded (again). */
typedef struct csc_reload {
    struct csc_reload *next;
    cascade_claimed claimed;
    int64_t at_ns;   /* not before */
    uint16_t slow;   /* as that of its run was, when it was set aside */
    uint16_t apart;  /* how often it could not be read in time: so often the
                        number of those that are read with it is halved */
    int32_t fail_id; /* the execution whose rows were refused, or -1 */
    bool give_up;    /* its failure was refused too */
    bool single;     /* messages were refused: one at a time */
    bool hopeless;   /* the first one was refused by itself: it is dropped */
    bool large;      /* it waits for the place of a large one: room.c */
    bool plans;      /* for a retry or a rerun, */
    int32_t from;    /* from there on, or CSC_COURSE_NONE */
    int32_t receipt; /* 0, or that of one that is gone on with */
    bool late;       /* which was too slow to be recorded: it is refused */
    bool refused;    /* or was refused by the store */
    bool is_new;     /* it was claimed just now, which is to be told */
    bool may_end;    /* and perhaps it is ended unread: end_unloaded.c */
} csc_reload;

/* Runs that are owned and are to be read. Under the engine's mutex. */
typedef struct csc_reloads {
    csc_run *suspect;    /* held alone, or NULL */
    size_t suspects_out; /* that were expelled, and still are in a function */
    csc_reload *first;   /* in the order in which they came; */
    csc_reload **end;
    csc_run *wrecks;     /* large ones, to be freed in portions */
    csc_stream *streams; /* those that are read in portions */
    size_t stream_count;
    size_t stream_suspects; /* of these */
    csc_reload *spares;     /* see reload.h */
    size_t spare_count;
    size_t due;     /* of `first`, that could be read, about */
    size_t in_hand; /* owned, but neither held nor in `reloads`: being
                             loaded anew, or expelled and still in a function */
    int64_t at_ns;  /* when the first of them is due */
} csc_reloads;

void csc_reload_init(cascade_engine *engine);
/* Before so many more cascades become the engine's: sees to it that each of
 * those it has, and of these, can be reloaded. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_reload_reserve(cascade_engine *engine, size_t more);
/* Adds to those that are to be loaded, as the last one. */
void csc_reload_add(cascade_engine *engine, const csc_reload *reload);
/* Takes out the one that `*at` leads to. */
csc_reload csc_reload_take(cascade_engine *engine, csc_reload **at);
/* None is to be loaded any more. */
void csc_reload_forget(cascade_engine *engine);

#endif
