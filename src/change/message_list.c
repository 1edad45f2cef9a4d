/* SPDX-License-Identifier: MIT
 *
 * Which messages of a cascade one commit receives.
 */
#include "change/message_list.h"

#include <string.h>

#include "base/error.h"
#include "change/op.h"

/* Takes those of that kind out, in their order. */
static csc_message *
take_out(csc_post *post, const char *kind)
{
    csc_message *taken = NULL;
    csc_message **behind = &taken;
    csc_message **at = &post->messages;

    while (*at != NULL) {
        csc_message *message = *at;

        if (strcmp(message->kind, kind) != 0) {
            at = &message->next;
            continue;
        }
        *at = message->next;
        *behind = message;
        behind = &message->next;
    }
    *behind = NULL;
    return taken;
}

static void
append(csc_post *post, csc_message *messages)
{
    csc_message **at = &post->messages;

    while (*at != NULL)
        at = &(*at)->next;
    *at = messages;
}

/* Its first messages, `max` at most, are all. */
static void
count_first(csc_post *post, size_t max)
{
    csc_message *at = post->messages;

    csc_assert(post->messages != NULL && max > 0);
    post->message_count = 0;
    post->deletions = 0;
    for (; at != NULL && post->message_count < max; at = at->next) {
        post->last_message = at;
        post->message_count++;
        post->deletions += strcmp(at->kind, CSC_MESSAGE_DELETE) == 0;
    }
    post->last_message->next = NULL;
}

/* What tells of children that are left comes first: a deletion that comes
 * without it would not wait for these. Where it may not even have been read all
 * others come before the deletions, the second of which is received too. */
void
csc_message_list_cut(csc_post *post, size_t max, bool over)
{
    bool waits = over && post->cut && !post->apart;
    csc_message *families = take_out(post, CSC_MESSAGE_FAMILY);
    csc_message *deletions = waits ? take_out(post, CSC_MESSAGE_DELETE) : NULL;
    csc_message *others = post->messages;

    csc_assert(post->kind == CSC_POST_RECEIVE && max > 0);
    if (waits && families == NULL && others == NULL && max == 1)
        max = 2;
    post->messages = families;
    append(post, others);
    append(post, deletions);
    post->cut = post->cut || post->message_count > max;
    post->apart = !waits; /* nothing is to wait for the others */
    count_first(post, max);
}

void
csc_message_list_delete_only(csc_post *post)
{
    csc_assert(post->kind == CSC_POST_RECEIVE && post->deletions > 0);
    post->messages = take_out(post, CSC_MESSAGE_DELETE);
    csc_assert(post->messages != NULL);
    post->cut = true;
    post->apart = true;
    count_first(post, 1);
}

void
csc_message_list_delete_later(csc_post *post)
{
    csc_message *deletions = take_out(post, CSC_MESSAGE_DELETE);

    csc_assert(post->kind == CSC_POST_RECEIVE);
    if (post->messages == NULL)
        post->messages = deletions;
    post->cut = true;
    count_first(post, SIZE_MAX);
}
