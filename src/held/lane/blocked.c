/* SPDX-License-Identifier: MIT
 *
 * The list of starts that wait for a transaction of somebody else's. What is
 * done with them is in client/blocked_start.c; a lane only adds to the list.
 */
#include "held/lane/blocked.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "held/lane/start_request.h"
#include "store/store.h"

void
csc_blocked_append(csc_store_held *held, csc_start *start)
{
    csc_assert(csc_lock_is_held(&held->mutex));
    csc_assert((held->first == NULL) == (held->last == NULL));
    start->held_next = NULL;
    if (held->last != NULL)
        held->last->held_next = start;
    else
        held->first = start;
    held->last = start;
}

/* Behind the others that have not been tried alone. */
static void
insert(csc_store_held *held, csc_start *start)
{
    csc_start *previous = NULL;
    csc_start *at = held->first;

    csc_assert(csc_lock_is_held(&held->mutex) && start->fresh);
    while (at != NULL && at->fresh) {
        previous = at;
        at = at->held_next;
    }
    if (at == NULL) {
        csc_blocked_append(held, start);
        return;
    }
    start->held_next = at;
    if (previous != NULL)
        previous->held_next = start;
    else
        held->first = start;
}

/* Whether they start the same cascade. */
static bool
meet(const csc_start *a, const csc_start *b)
{
    const csc_start *fewer = a->count <= b->count ? a : b;
    const csc_start *more = fewer == a ? b : a;

    csc_assert(fewer->count <= more->count);
    for (size_t i = 0; i < fewer->count; i++)
        if (csc_start_request_find(more, &fewer->changes[i].cascade.id) <
            more->count)
            return true;
    return false;
}

void
csc_blocked_add(cascade_store *store, csc_start *start)
{
    csc_lock_take(&store->held.mutex);
    start->fresh = true;
    insert(&store->held, start);
    csc_lock_give(&store->held.mutex);
}

bool
csc_blocked_join(cascade_store *store, csc_start *start)
{
    csc_store_held *held = &store->held;
    const csc_start *other = NULL;

    csc_lock_take(&held->mutex);
    other = held->first;
    while (other != NULL && !meet(other, start))
        other = other->held_next;
    if (other != NULL)
        csc_blocked_append(held, start);
    csc_lock_give(&held->mutex);
    return other != NULL;
}
