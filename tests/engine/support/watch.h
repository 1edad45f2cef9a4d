/* SPDX-License-Identifier: MIT
 *
 * A watch over a store: it stands between engines and a store (wrap_store), and
 * after every commit compares three things for each cascade written:
 *
 *   the rows that the batches so far should have left, and the rows that the
 *     store gives back                                          every column
 *   the state those batches made by csc_build_apply(), and the one that
 *     hydration makes of the rows                                 every field
 *   and before the next commit: the state in the engine itself, and the former
 *
 * So any state that was ever committed has been compared, live and hydrated
 * (G7). A batch whose reply a test takes away is counted once: it is known by
 * (incarnation, lane, number), and repeated it must be the identical one.
 *
 * On the way it checks of every batch: sorted, each cascade once; fn_id never
 * back; no event of one execution in two commits (G12); payloads canonical; one
 * commit of a cascade in flight, whichever lane carries it.
 */
#ifndef TESTS_ENGINE_SUPPORT_WATCH_H
#define TESTS_ENGINE_SUPPORT_WATCH_H

#include "base/data/map.h"
#include "support/dump.h"
#include "support/stores.h"

typedef struct watch {
    wrap_store wrap; /* open stores on it with db_wrapped(db, &watch.wrap) */
    pthread_cond_t followed; /* something was */
    pthread_mutex_t mutex;
    csc_map shadows; /* cascade -> what it should be */
    csc_map lanes;   /* incarnation -> what its lanes sent last */
    cascade_engine *engines[DB_HANDLES]; /* whose states are looked at */
    size_t engine_count;
    size_t commits;  /* that took effect */
    size_t compared; /* hydrated states */
    size_t live;     /* states in an engine */
    size_t unequal;
    /* The test's own hook, in front of the store: NULL for none. */
    void *context;
    cascade_err (*before)(void *context, const wrap_call *call);
} watch;

void watch_init(watch *w, const char *url);
void watch_fini(watch *w);
/* A cascade that others start is not known: the watch must see its start. */
void watch_engine(watch *w, cascade_engine *engine);
/* Before an engine is closed while others go on. */
void watch_forget_engines(watch *w);
/* Everything was equal, and something was compared. */
void watch_check(watch *w, size_t commits_min);

#endif
