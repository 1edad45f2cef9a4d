/* SPDX-License-Identifier: MIT
 *
 * One command to many cascades: --all.
 */
#ifndef CLI_MANY_H
#define CLI_MANY_H

#include "session.h"

/* What a command asks of cascades, and how a question calls that. */
cascade_request many_request(const struct command *command);
const char *many_verb(const struct command *command);

/* Asks it of all that the filters leave. */
int many_run(struct session *session);

/* ---- Shared by the commands to single ones (request.c) ------------------ */

/* Tells what became of the last call, for `id`: on success a line with
 * `outcome`, and the cascade that was `made` (may be NULL). Gives the exit
 * code. */
int request_answer(struct session *session, const char *id, const char *outcome,
                   const cascade_uuid *made, cascade_err err);

/* Whether whoever is asked agrees to do it to `count` cascades. */
bool request_agreed(struct session *session, const char *what, size_t count);

#endif
