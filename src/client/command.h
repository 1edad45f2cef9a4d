/* SPDX-License-Identifier: MIT
 *
 * Asking something of a cascade by a message that is a command.
 */
#ifndef CSC_CLIENT_COMMAND_H
#define CSC_CLIENT_COMMAND_H

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"

/* What a caller asks. */
typedef struct csc_command_spec {
    const char *kind;    /* CSC_MESSAGE_*; it names the call too */
    const int32_t *from; /* member `from` of the payload, or NULL */
    const cascade_request_options *options;
    bool of_ended; /* meant also for a cascade that has ended */
    /* What a receipt that is FAILED means, by its text; NULL: csc_command_fail.
     * Sets the error text. */
    cascade_err (*refusal)(const char *kind, const char *text);
} csc_command_spec;

/* Asks it of cascade `id`, and waits for the receipt as the options say. Where
 * no engine is alive it is carried out by the call. */
cascade_err csc_command_request(cascade_store *store, const cascade_uuid *id,
                                const csc_command_spec *spec);

/* Checks the options of `spec`; `known` are they with what was not given. */
cascade_err csc_command_check(const csc_command_spec *spec,
                              cascade_request_options *known);

/* The message of it, with its texts in `arena`. `known` was checked. */
cascade_err csc_command_make(cascade_store *store, csc_arena *arena,
                             const cascade_uuid *id,
                             const csc_command_spec *spec,
                             const cascade_request_options *known,
                             cascade_message_row *message);

/* CASCADE_ERR_ENDED where `text` says that it was undelivered because the
 * cascade had ended, else CASCADE_ERR_REFUSED. */
cascade_err csc_command_fail(const char *kind, const char *text);

/* Whether no engine is alive, as far as that can be read, and the call may do
 * its work: not inside a transaction of the application's. */
bool csc_command_is_alone(cascade_store *store);

/* Where no engine is alive, receives the cascade's messages by itself. What
 * fails stays with engines to come. */
void csc_command_carry_out(cascade_store *store, const cascade_uuid *id,
                           bool follow);

#endif
