/* SPDX-License-Identifier: MIT
 *
 * The context of a cascade as a text, in two forms: ours, and as Cascaide
 * builds it. See cascade_snapshot_context() and
 * cascade_snapshot_cascaide_context().
 */
#ifndef CSC_ENGINE_CONTEXT_TEXT_H
#define CSC_ENGINE_CONTEXT_TEXT_H

#include "base/tree.h"
#include "cascade/cascade.h"

/* A key, with the values that were written under it, canonical JSON each. */
typedef struct csc_context_key {
    csc_tree_node by_name;
    const char *name;
    const char **values; /* in the order of the context; csc_mem_free() */
    size_t count;
    size_t room;
} csc_context_key;

/* The key of that name, as JSON sorts members; NULL where there is none. */
csc_context_key *csc_context_find(const csc_tree *keys, const char *name);
void csc_context_put(csc_tree *keys, csc_context_key *key);

/* A new canonical text, to be freed with csc_mem_free(). Each of the lists as
 * it is. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_context_text(const csc_tree *keys, char **text);

/* Each list as a JavaScript array that was filled by `index`; besides
 * CASCADE_ERR_TOO_LARGE, beyond CASCADE_SLOTS_MAX. */
cascade_err csc_context_text_cascaide(const csc_tree *keys, char **text);

#endif
