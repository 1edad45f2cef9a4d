/* SPDX-License-Identifier: MIT
 *
 * Which messages of a cascade one commit receives.
 */
#ifndef CSC_CHANGE_MESSAGE_LIST_H
#define CSC_CHANGE_MESSAGE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct csc_post csc_post;

/* Leaves only the first messages, `max` at most: the others are received by
 * commits of their own. `over`: the cascade has ended in ERROR. */
void csc_message_list_cut(csc_post *post, size_t max, bool over);
/* Leaves one of its deletions alone; leaves them out, if there are others. */
void csc_message_list_delete_only(csc_post *post);
void csc_message_list_delete_later(csc_post *post);

#endif
