/* SPDX-License-Identifier: MIT
 *
 * The counters of the simulation; see sim_count.h.
 */
#include "sim/sim_count.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

uint64_t sim_counts[SIM_COUNT_MAX];

static bool paused;

void
sim_note(sim_count what)
{
    sim_note_many(what, 1);
}

void
sim_note_many(sim_count what, size_t count)
{
    if (!paused)
        sim_counts[what] += count;
}

void
sim_count_pause(void)
{
    paused = true;
}

size_t
sim_count_print(void)
{
    static const char *const texts[] = {
#define SIM_COUNT_TEXT(name, text) text,
        SIM_COUNTS(SIM_COUNT_TEXT)
#undef SIM_COUNT_TEXT
    };
    size_t never = 0;

    for (size_t i = 0; i < SIM_COUNT_MAX; i++) {
        printf("%12" PRIu64 "  %s%s\n", sim_counts[i], texts[i],
               sim_counts[i] == 0 ? "   <-- NEVER HAPPENED" : "");
        never += sim_counts[i] == 0;
    }
    return never;
}
