/* SPDX-License-Identifier: MIT
 *
 * A store driver that tells from outside what its process is in the middle of,
 * and can stop that process (SIGSTOP) at the worst moment of a commit.
 *
 * figures.in_flight counts the commits and starts that have been handed to the
 * store and not been answered. It lies in the mapping that both sides share, so
 * it still tells when the process is dead: above zero, it died in the middle.
 *
 * Where a commit can be made to stop, the next one or one behind it:
 *
 *   WATCH_COMMIT    with everything ready, before anything is sent; where the
 *                   options ask for it, as WATCH_APART
 *   WATCH_APART     the same while nobody else of the process writes
 *   WATCH_PIPELINE  on PostgreSQL: after some of its statements have been sent
 *                   and executed, with the lane row locked and without the
 *                   Sync, so that no timeout of the server ever ends it
 *   WATCH_WRITE     as WATCH_COMMIT, and so can a start or a message
 *   WATCH_WRITTEN   such a one has taken effect, and nobody was told
 *
 * Continued, it goes on with what it had, as if nothing had happened.
 *
 * It tells at once, too, what its engine and the others do to one another: when
 * it has lost its incarnation, and whether that was taken from it before its
 * lease was over, what it took from others, and how often it looked.
 */
#ifndef TESTS_PROCESS_WATCH_H
#define TESTS_PROCESS_WATCH_H

#include "cascade/store.h"
#include "process/worker.h"

#define WATCH_FREEZE_AFTER 20 /* commits before options.freeze takes hold */

/* The driver of the place of `shared`, in front of the real one. One for each
 * process; NULL when there is no such store. */
const cascade_store_driver *watch_driver(worker_shared *shared);

/* Asks a worker to stop in its next commit. Returns whether it did within
 * `limit_ms`; if not, it will not. On PostgreSQL it stops with `statements` of
 * the transaction executed, BEGIN among them. */
bool watch_freeze(test_worker *worker, watch_freeze_at where, int statements,
                  int64_t limit_ms);

/* Asks for the stop without waiting: in the commit behind the next `behind`. On
 * PostgreSQL WATCH_PIPELINE stops with some statements executed. */
void watch_arm(test_worker *worker, watch_freeze_at where, int behind);
/* Takes that back: false when it stops, or has stopped. */
bool watch_disarm(test_worker *worker);
bool watch_has_stopped(const test_worker *worker);

#endif
