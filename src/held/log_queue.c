/* SPDX-License-Identifier: MIT
 *
 * Log lines born under the lock. The host's log function is called without it.
 */
#include "held/log_queue.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "held/engine_state.h"
#include "held/event_queue.h"
#include "store/store.h"

void
csc_log_queue_add(cascade_engine *engine, cascade_log_level level,
                  const char *format, ...)
{
    csc_note *note = NULL;
    csc_note **at = &engine->log.first;
    va_list args;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (engine->store->log.fn == NULL ||
        atomic_load(&engine->log.count) >= CSC_NOTES_MAX)
        return;
    note = csc_mem_zalloc(1, sizeof(*note));
    if (note == NULL)
        return;
    note->level = level;
    va_start(args, format);
    (void)vsnprintf(note->line, sizeof(note->line), format, args);
    va_end(args);
    while (*at != NULL)
        at = &(*at)->next;
    *at = note;
    atomic_fetch_add(&engine->log.count, 1);
}

void
csc_log_queue_tell(cascade_engine *engine)
{
    csc_note *note = NULL;

    csc_assert(csc_lock_is_none_held());
    csc_event_queue_tell(engine);
    if (atomic_load(&engine->log.count) == 0)
        return;
    csc_lock_take(&engine->mutex);
    note = engine->log.first;
    engine->log.first = NULL;
    atomic_store(&engine->log.count, 0);
    csc_lock_give(&engine->mutex);
    while (note != NULL) {
        csc_note *next = note->next;

        csc_log_add(&engine->store->log, note->level, "%s", note->line);
        csc_mem_free(note);
        note = next;
    }
}

void
csc_log_queue_add_failure(const cascade_engine *engine, const char *what)
{
    csc_assert(csc_lock_is_none_held());
    csc_log_add(&engine->store->log, CASCADE_LOG_WARNING, "%s failed: %s", what,
                cascade_errmsg());
}
