/* SPDX-License-Identifier: MIT
 *
 * The key "k" of the user "u", with three runs: each continues as the next.
 */
#ifndef TESTS_SUPPORT_KEYED_H
#define TESTS_SUPPORT_KEYED_H

#include "support/stores.h"

extern const cascade_start_options keyed_options;

/* The node "again", which continues twice and then ends; `user` is an
 * atomic_int that counts its runs. */
cascade_err keyed_again(cascade_node *node, void *user);

/* Starts it, and waits until all three have ended; the engine is closed. */
void keyed_run_three(test_db *db, cascade_store *store, cascade_uuid ids[3]);

#endif
