/* SPDX-License-Identifier: MIT
 *
 * A store driver that stops its own process (SIGSTOP) once, at the worst moment
 * of a commit:
 *
 *   "commit"     with everything ready, before anything is sent
 *   "pipeline"   on PostgreSQL: the lane row is taken by a transaction of which
 *                the Sync has not been sent, so that no timeout of the server
 *                ever ends it
 *
 * Continued, it commits what it had, as if nothing had happened.
 */
#ifndef TESTS_PROCESS_FREEZE_H
#define TESTS_PROCESS_FREEZE_H

#include "cascade/store.h"
#include "process/place.h"

#define FREEZE_AFTER 20 /* commits that go well before */

/* The driver for the place. `how` is one of the words above. */
const cascade_store_driver *freeze_driver(const test_place *place,
                                          const char *how);

#endif
