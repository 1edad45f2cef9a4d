/* SPDX-License-Identifier: MIT
 *
 * Where a process dies in the middle of a node's transaction: at a chosen one
 * of its crossings, by SIGKILL.
 *
 *   strike_begin --- statements of begin, of the node, of finish --- strike_end
 *                ^ ^                                             ^
 *                crossings: before and behind each call by which this thread
 *                asks libpq or SQLite to do something, each write and flush of
 *                a SQLite file, and what calls strike_cross()
 *
 * A call that only sends has a further one, where the server has executed what
 * was sent up to there and nobody has read what it says: behind the Sync of a
 * COMMIT that is "committed, and nobody was told".
 *
 * The calls are met by standing in for them: the program's definitions come
 * before those of the shared libraries. Crossings are counted for each
 * transaction, so one place has one number as long as the library does the same
 * for each.
 */
#ifndef TESTS_PROCESS_STRIKE_H
#define TESTS_PROCESS_STRIKE_H

#include "process/worker.h"

/* Of the process: what it is told is in shared->options.bank (die_in, die_at),
 * what it tells in the figures. */
void strike_init(worker_shared *shared);

/* This thread is in a transaction of a node from here. */
void strike_begin(void);
void strike_cross(void);
/* No more. `whole`: it came to its end, so the crossings are all there are. */
void strike_end(bool whole);

#endif
