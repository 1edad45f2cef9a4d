/* SPDX-License-Identifier: MIT
 *
 * Plays of a cascade that continues as new, run after run.
 */
#ifndef TESTS_ENGINE_SUPPORT_CHAIN_H
#define TESTS_ENGINE_SUPPORT_CHAIN_H

#include "engine/support/play.h"

/* Nodes. "answers" answers one update "double", and "goes" nothing; each then
 * continues as itself, when it is told to go on. */
cascade_err chain_answer_and_go_on(cascade_node *node, void *user);
cascade_err chain_go_on(cascade_node *node, void *user);

/* The play turns to the next run, whose id is given. */
cascade_uuid chain_turn(play *p);

/* Sends a signal "news" to that run, which no node waits for. */
cascade_err chain_send_news(const play *p, const cascade_uuid *id,
                            const char *request_id);
/* The run of the play has received so many of them in the end. */
void chain_expect_news(play *p, size_t count);
/* Purges all that has ended: so many, and nothing fails. */
void chain_purge(const play *p, int64_t wanted);

#endif
