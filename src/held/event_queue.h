/* SPDX-License-Identifier: MIT
 *
 * What happens, for the engine's `on_event` and its log: noted under the lock,
 * in the order of the commits, and told without it. One thread tells at a time,
 * so the order stays; others leave it what they have noted. It tells what there
 * was when it began, for CSC_EVENTS_MS at most, and hands the rest over: nobody
 * is kept from his work by what others do. Beyond CSC_EVENTS_MAX that wait,
 * events are lost and counted.
 *
 * An engine whose host wants none of it notes nothing.
 */
#ifndef CSC_HELD_EVENT_QUEUE_H
#define CSC_HELD_EVENT_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "cascade/cascade.h"
#include "cascade/event.h"

#define CSC_EVENTS_MAX 16384
#define CSC_EVENTS_MS 50
#define CSC_EVENT_ERROR_MAX 500 /* bytes of an error text */

/* One that waits; its texts stand behind it. */
typedef struct csc_happening {
    struct csc_happening *next;
    bool quiet;
    cascade_event event;
} csc_happening;

typedef struct csc_event_queue {
    csc_happening *first;
    csc_happening *last;
    atomic_size_t count;
    bool telling; /* a thread is */
} csc_event_queue;

/* Whether somebody wants to know of such, or, if it is `quiet`, of such that
 * are no line of the log; reads options alone. */
bool csc_event_queue_wants(const cascade_engine *engine,
                           cascade_event_kind kind, bool quiet);

/* Notes it, with copies of its texts; `at_ms` is set here. Where it cannot, it
 * is counted as lost. */
void csc_event_queue_add_locked(cascade_engine *engine,
                                const cascade_event *event, bool quiet);

void csc_event_queue_tell(cascade_engine *engine);

/* Tells all that is left: the engine is closed, and nobody else tells. */
void csc_event_queue_end(cascade_engine *engine);

#endif
