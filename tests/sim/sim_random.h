/* SPDX-License-Identifier: MIT
 *
 * The random numbers of the simulation: one state a purpose, so that drawing
 * for one does not change what another gets. Inline: a run draws tens of
 * thousands.
 */
#ifndef TESTS_SIM_RANDOM_H
#define TESTS_SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "support/splitmix.h"

typedef struct sim_random {
    uint64_t state;
} sim_random;

static inline uint64_t
sim_draw(sim_random *random)
{
    return splitmix_next(&random->state);
}

/* A generator of its own for the `nth` thing of a kind. */
static inline sim_random
sim_fork(uint64_t seed, uint64_t kind, uint64_t nth)
{
    sim_random random = {seed * UINT64_C(0x2545f4914f6cdd1d) + kind};

    random.state = sim_draw(&random) + nth;
    random.state = sim_draw(&random);
    return random;
}

/* 0 to below - 1. */
static inline unsigned
sim_below(sim_random *random, unsigned below)
{
    return (unsigned)(sim_draw(random) % below);
}

/* from to to, both included. */
static inline int
sim_between(sim_random *random, int from, int to)
{
    return from + (int)sim_below(random, (unsigned)(to - from + 1));
}

static inline bool
sim_chance(sim_random *random, unsigned percent)
{
    return sim_below(random, 100) < percent;
}

#endif
