/* SPDX-License-Identifier: MIT
 *
 * Questions before what cannot be undone, and how far a long call has come.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "session.h"

/* Whether it may be done: --yes was given, or whoever sits at the terminal says
 * so to "QUESTION [y/N]". Without a terminal, and without --yes, it is refused
 * with a line that says so. */
bool ask(const struct session *session, const char *question);

/* A line on standard error that is written over and over, where that is a
 * terminal. `context` is none. False after SIGINT. */
bool ask_progress(void *context, const cascade_progress *progress);

/* Takes that line away. */
void ask_progress_end(void);

#endif
