/* SPDX-License-Identifier: MIT
 *
 * The scenarios: small plays that together call every move of a store and make
 * every kind of execution (test_coverage.c looks). A new capability joins by a
 * scenario here.
 */
#ifndef TESTS_SWEEP_SCENARIOS_H
#define TESTS_SWEEP_SCENARIOS_H

#include "sweep/scene.h"

extern const scenario scenarios[];
extern const size_t scenario_count;

#endif
