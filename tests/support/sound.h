/* SPDX-License-Identifier: MIT
 *
 * The library's own check of what it has written, as an oracle of tests.
 */
#ifndef TESTS_SUPPORT_SOUND_H
#define TESTS_SUPPORT_SOUND_H

#include <stdbool.h>

#include "cascade/cascade.h"

/* Whether every row that is there is as it must be (cascade_verify()); what is
 * not is told on stderr. For any thread. */
bool sound_all(cascade_store *store);

#endif
