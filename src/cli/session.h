/* SPDX-License-Identifier: MIT
 *
 * One run of a command: what was asked, the store, where the answer goes.
 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "exit.h"
#include "settings.h"
#include "text/out.h"

struct session {
    const struct settings *settings;
    cascade_store *store; /* NULL for a command without one */
    struct out out;
};

/* Opens the store that the settings name, as the command wants it. */
int session_open(struct session *session);
void session_close(struct session *session);

/* Enters the mode of integrity that is asked for into the database, whose
 * schema is current; with none nothing is done. Gives an exit code. */
int session_begin_sealing(const struct session *session);

/* After a failed call: a line on standard error with the library's text, before
 * it `what` (NULL: nothing). Gives the exit code. */
int session_fail(const char *what, cascade_err err);

/* EXIT_DONE, or as session_fail(). */
int session_end(const char *what, cascade_err err);

/* The store's clock; the system's where it cannot be read. */
int64_t session_now(const struct session *session);

#endif
