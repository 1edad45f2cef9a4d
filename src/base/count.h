/* SPDX-License-Identifier: MIT
 *
 * What look-ups cost, for tests that bound it without a clock: each place that
 * looks at one item after another, in a tree or in a row, counts it here.
 */
#ifndef CSC_BASE_COUNT_H
#define CSC_BASE_COUNT_H

#include <stddef.h>

#include "cascade/cascade.h"

/* Nothing where 0. Others are compiled once for the library and its tests. */
#ifndef CASCADE_FAULTS
#error "this source is to be one of hooked_sources in src/CMakeLists.txt"
#endif

#if CASCADE_FAULTS
void csc_count_look(void);
/* Tests: the items that this thread has looked at since the last call. */
size_t csc_count_looks(void);
#else
#define csc_count_look() ((void)0)
#endif

#endif
