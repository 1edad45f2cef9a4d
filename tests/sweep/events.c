/* SPDX-License-Identifier: MIT
 *
 * The counter of events; see events.h. The plays are single-threaded.
 */
#include "sweep/events.h"

#include <unistd.h>

static struct {
    bool counts;
    bool lasting;
    bool struck; /* the event under way */
    int variant;
    size_t nth;
    size_t *seen;
} events;

void
events_arm(size_t nth, bool lasting, int variant, size_t *seen)
{
    events.counts = true;
    events.lasting = lasting;
    events.variant = variant;
    events.nth = nth;
    events.seen = seen;
    *seen = 0;
}

void
events_disarm(void)
{
    events.counts = false;
}

bool
events_strike(void)
{
    events.struck = false;
    if (!events.counts)
        return false;
    ++*events.seen;
    if (events.nth == 0 || *events.seen < events.nth)
        return false;
    events.struck = events.lasting || *events.seen == events.nth;
    if (events.struck && events.variant == EVENTS_CRASH_BEFORE)
        _exit(EVENTS_CRASHED);
    return events.struck && events.variant >= 0;
}

void
events_done(void)
{
    if (events.struck && events.variant == EVENTS_CRASH_AFTER)
        _exit(EVENTS_CRASHED);
}

int
events_variant(void)
{
    return events.variant;
}

bool
events_pause(void)
{
    bool counted = events.counts;

    events.counts = false;
    return counted;
}

void
events_resume(bool counted)
{
    events.counts = counted;
}
