/* SPDX-License-Identifier: MIT
 *
 * The context of a cascade as a text, in two forms: ours, and as Cascaide
 * builds it. See cascade_snapshot_context() and
 * cascade_snapshot_cascaide_context().
 */
#ifndef CSC_QUERY_CONTEXT_TEXT_H
#define CSC_QUERY_CONTEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/data/tree.h"
#include "cascade/cascade.h"
#include "state/moment.h"

typedef struct csc_context_value {
    csc_moment when;  /* its number is given by csc_context_add() */
    const char *text; /* canonical JSON */
} csc_context_value;

/* A key, with the values that were written under it. */
typedef struct csc_context_key {
    csc_tree_node by_name;
    const char *name;
    csc_context_value *values; /* csc_mem_free() */
    size_t count;
    size_t room;
    bool unsorted; /* they are not in the order of the context */
} csc_context_key;

/* The key of that name, as JSON sorts members; NULL where there is none. */
csc_context_key *csc_context_find(const csc_tree *keys, const char *name);
void csc_context_put(csc_tree *keys, csc_context_key *key);

/* One value more, behind those that it comes after. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_context_add(csc_context_key *key,
                            const csc_context_value *value);
/* When all are there: sorts them. */
void csc_context_sort(csc_tree *keys);

/* A new canonical text, to be freed with csc_mem_free(). Each of the lists as
 * it is. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_context_text(const csc_tree *keys, char **text);

/* Each list as a JavaScript array that was filled by `index`; besides
 * CASCADE_ERR_TOO_LARGE, beyond CASCADE_SLOTS_MAX. */
cascade_err csc_context_text_cascaide(const csc_tree *keys, char **text);

#endif
