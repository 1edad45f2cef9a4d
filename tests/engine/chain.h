/* SPDX-License-Identifier: MIT
 *
 * Plays of a cascade that continues as new, run after run.
 */
#ifndef TESTS_ENGINE_CHAIN_H
#define TESTS_ENGINE_CHAIN_H

#include "engine/play.h"

/* Nodes. "answers" answers one update "double", and "goes" nothing; each then
 * continues as itself, when it is told to go on. */
cascade_err chain_answer_and_go_on(cascade_node *node, void *user);
cascade_err chain_go_on(cascade_node *node, void *user);

/* The play turns to the next run, whose id is given. */
cascade_uuid chain_turn(play *p);

#endif
