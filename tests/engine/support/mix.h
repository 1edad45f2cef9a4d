/* SPDX-License-Identifier: MIT
 *
 * A mixed run: cascades of nodes that fan out and join, go through steps, fail
 * and are tried again, wait, hear signals, end out of order, fail for good with
 * and without ending their cascade. What a node does depends on its request id
 * alone, so it does the same on every attempt and in every process; but which
 * signals it hears in time is another matter.
 *
 * Each node checks what is promised to nodes: it was not recorded before (G3),
 * and it sees the same context on every attempt (G7).
 */
#ifndef TESTS_ENGINE_SUPPORT_MIX_H
#define TESTS_ENGINE_SUPPORT_MIX_H

#include "support/stores.h"

#define MIX_DOOMED 7 /* one cascade of so many ends as ERROR */

/* Forgets what was recorded and seen. */
void mix_reset(void);
/* Registers the nodes. */
void mix_register(cascade_engine *engine);
/* Starts `count` cascades and writes their ids. */
void mix_start(cascade_store *store, cascade_uuid *ids, size_t count);
/* The execution or step with that node_instance_id is recorded as ended. */
void mix_note_recorded(const char *path);
/* Whether it is. */
bool mix_was_recorded(const char *path);

#endif
