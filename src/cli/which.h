/* SPDX-License-Identifier: MIT
 *
 * Which cascades are meant: IDs, a key, or all that the filters leave.
 */
#ifndef CLI_WHICH_H
#define CLI_WHICH_H

#include "session.h"

/* The one cascade of a command, by its first operand or by --key; how many
 * operands it has taken is told in `taken`, which is NULL where nothing else
 * may follow. Gives an exit code. */
int which_one(struct session *session, cascade_uuid *id, int *taken);

/* The cascades of a command that takes several; the caller frees `*ids`. */
int which_several(struct session *session, cascade_uuid **ids, size_t *count);

/* The filters, as a list of them. */
void which_filters(struct session *session, cascade_list_options *options);

#endif
