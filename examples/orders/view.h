/* SPDX-License-Identifier: MIT
 *
 * The cascades of one run of the demo, as the tables have them.
 */
#ifndef ORDERS_VIEW_H
#define ORDERS_VIEW_H

#include <stddef.h>

#include <cascade/cascade.h>

struct view {
    cascade_uuid *ids; /* ascending */
    size_t count;
};

/* Reads the ids of the cascades of the run `name` that have `status` (0: any).
 * Free with view_free(). */
cascade_err view_load(cascade_store *store, const char *name,
                      cascade_status status, struct view *view);
void view_free(struct view *view);

/* How many there are. */
cascade_err view_count(cascade_store *store, const char *name,
                       cascade_status status, size_t *count);

#endif
