/* SPDX-License-Identifier: MIT
 *
 * splitmix64 (Steele, Lea, Flood 2014): the random numbers of all tests. The
 * state is any number; from the same one come the same numbers.
 */
#ifndef TESTS_SUPPORT_SPLITMIX_H
#define TESTS_SUPPORT_SPLITMIX_H

#include <stdint.h>

static inline uint64_t
splitmix_next(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

#endif
