/* SPDX-License-Identifier: MIT
 */
#include "held/event_queue.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/event.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/wakeup.h"
#include "store/store.h"

/* ---- Noting -------------------------------------------------------------- */

static bool
is_trouble(cascade_event_kind kind)
{
    return kind == CASCADE_EVENT_ATTEMPT_FAILED ||
           kind == CASCADE_EVENT_EXECUTION_FAILED ||
           kind == CASCADE_EVENT_CASCADE_FAILED;
}

bool
csc_event_queue_wants(const cascade_engine *engine, cascade_event_kind kind,
                      bool quiet)
{
    const csc_log *log = &engine->store->log;

    if (engine->options.on_event != NULL)
        return true;
    return !quiet && log->fn != NULL && log->level >= CASCADE_LOG_WARNING &&
           is_trouble(kind);
}

static const char *
put_text(char **at, const char *text, size_t len)
{
    char *place = *at;

    memcpy(place, text, len);
    place[len] = '\0';
    *at += len + 1;
    return place;
}

static csc_happening *
copy_event(const cascade_event *event)
{
    size_t node = strlen(event->node);
    size_t step = strlen(event->step);
    size_t error = strlen(event->error);
    csc_happening *made = NULL;
    char *at = NULL;

    if (error > CSC_EVENT_ERROR_MAX)
        error = csc_check_cut(event->error, CSC_EVENT_ERROR_MAX);
    made = csc_mem_alloc(sizeof(*made) + node + step + error + 3);
    if (made == NULL)
        return NULL;
    *made = (csc_happening){.event = *event};
    at = (char *)(made + 1);
    made->event.node = put_text(&at, event->node, node);
    made->event.step = put_text(&at, event->step, step);
    made->event.error = put_text(&at, event->error, error);
    return made;
}

void
csc_event_queue_add_locked(cascade_engine *engine, const cascade_event *event,
                           bool quiet)
{
    csc_event_queue *queue = &engine->events;
    csc_happening *made = NULL;

    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert((queue->first == NULL) == (queue->last == NULL));
    if (!csc_event_queue_wants(engine, event->kind, quiet))
        return;
    if (atomic_load(&queue->count) < CSC_EVENTS_MAX)
        made = copy_event(event);
    if (made == NULL) {
        engine->stats.events_lost++;
        return;
    }
    made->quiet = quiet;
    made->event.at_ms = csc_clock_now_ms(engine);
    if (queue->last != NULL)
        queue->last->next = made;
    else
        queue->first = made;
    queue->last = made;
    atomic_fetch_add(&queue->count, 1);
}

/* ---- Telling ------------------------------------------------------------- */

/* What failed, without the text of the error: that is the host's, and may tell
 * what no log should. The row has it. */
static void
log_event(const csc_log *log, const cascade_event *e)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    const char *of = e->step[0] != '\0' ? ", step " : "";

    cascade_uuid_format(&e->cascade_id, id);
    if (e->kind == CASCADE_EVENT_ATTEMPT_FAILED)
        csc_log_add(log, CASCADE_LOG_WARNING,
                    "cascade %s: attempt %d of node %s%s%s (function_id %d) "
                    "failed, the next follows in %" PRId64 " ms",
                    id, e->attempt, e->node, of, e->step, (int)e->function_id,
                    e->delay_ms);
    else if (e->kind == CASCADE_EVENT_EXECUTION_FAILED)
        csc_log_add(log, CASCADE_LOG_WARNING,
                    "cascade %s: node %s%s%s (function_id %d) failed for good "
                    "at attempt %d",
                    id, e->node, of, e->step, (int)e->function_id, e->attempt);
    else if (e->kind == CASCADE_EVENT_CASCADE_FAILED)
        csc_log_add(log, CASCADE_LOG_WARNING, "cascade %s ended in error", id);
}

static void
tell_one(const cascade_engine *engine, const csc_happening *one)
{
    if (engine->options.on_event != NULL)
        engine->options.on_event(engine->options.event_context, &one->event);
    if (!one->quiet)
        log_event(&engine->store->log, &one->event);
}

/* All there are; NULL where somebody else tells. */
static csc_happening *
take_locked(cascade_engine *engine)
{
    csc_event_queue *queue = &engine->events;
    csc_happening *first = queue->telling ? NULL : queue->first;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (first == NULL)
        return NULL;
    queue->telling = true;
    queue->first = NULL;
    queue->last = NULL;
    atomic_store(&queue->count, 0);
    return first;
}

/* Until the time is over. Gives what is left. */
static csc_happening *
tell_some(const cascade_engine *engine, csc_happening *at, size_t *left)
{
    int64_t end_ns =
        csc_clock_now_ns(engine) + (int64_t)CSC_EVENTS_MS * CSC_MS_NS;
    bool late = false;

    *left = 0;
    while (at != NULL && !late) {
        csc_happening *next = at->next;

        tell_one(engine, at);
        csc_mem_free(at);
        at = next;
        late = csc_clock_now_ns(engine) >= end_ns;
    }
    for (const csc_happening *rest = at; rest != NULL; rest = rest->next)
        ++*left;
    return at;
}

/* The rest comes before what was noted meanwhile. */
static void
put_back_locked(cascade_engine *engine, csc_happening *rest, size_t count)
{
    csc_event_queue *queue = &engine->events;
    csc_happening *last = rest;

    csc_assert(csc_lock_is_held(&engine->mutex) && queue->telling);
    queue->telling = false;
    if (rest != NULL) {
        while (last->next != NULL)
            last = last->next;
        last->next = queue->first;
        queue->first = rest;
        if (queue->last == NULL)
            queue->last = last;
        atomic_fetch_add(&queue->count, count);
    }
    if (queue->first != NULL)
        csc_wakeup_house_locked(engine);
}

void
csc_event_queue_tell(cascade_engine *engine)
{
    csc_happening *at = NULL;
    size_t left = 0;

    csc_assert(csc_lock_is_none_held());
    if (atomic_load(&engine->events.count) == 0)
        return;
    csc_lock_take(&engine->mutex);
    at = take_locked(engine);
    csc_lock_give(&engine->mutex);
    if (at == NULL)
        return;
    at = tell_some(engine, at, &left);
    csc_lock_take(&engine->mutex);
    put_back_locked(engine, at, left);
    csc_lock_give(&engine->mutex);
}

void
csc_event_queue_end(cascade_engine *engine)
{
    csc_assert(!engine->events.telling);
    while (atomic_load(&engine->events.count) > 0)
        csc_event_queue_tell(engine);
}
