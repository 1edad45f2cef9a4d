/* SPDX-License-Identifier: MIT
 *
 * The history is in the order of function_ids, and a parent has a lower one
 * than its children. So one pass from the back hangs each execution into the
 * list of its parent, and a walk without recursion, for chains may be long,
 * gives the lines. An execution whose parent is not there, as rows of other
 * programs may be, stands at the left.
 */
#include "text/tree.h"

#include <stdlib.h>

#define NONE SIZE_MAX

struct link {
    size_t parent;
    size_t first_child;
    size_t next_sibling;
};

/* The place in the history of a function_id below `end`. */
static size_t
find(const cascade_snapshot *snapshot, int32_t function_id, size_t end)
{
    size_t low = 0;
    size_t high = end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int32_t here =
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, middle)
                ->function_id;
        if (here == function_id)
            return middle;
        if (here < function_id)
            low = middle + 1;
        else
            high = middle;
    }
    return NONE;
}

/* Links all; the first one without a parent is returned. */
static size_t
link_all(const cascade_snapshot *snapshot, struct link *links, size_t count)
{
    size_t root = NONE;

    for (size_t i = 0; i < count; i++)
        links[i] = (struct link){NONE, NONE, NONE};
    for (size_t i = count; i-- > 0;) {
        int32_t parent = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i)
                             ->parent_function_id;
        size_t above = parent < 0 ? NONE : find(snapshot, parent, i);
        size_t *head = above == NONE ? &root : &links[above].first_child;
        links[i].parent = above;
        links[i].next_sibling = *head;
        *head = i;
    }
    return root;
}

static void
walk(const struct link *links, size_t at, struct tree_place *places)
{
    size_t depth = 0;
    size_t line = 0;

    while (at != NONE) {
        places[line++] = (struct tree_place){at, depth};
        if (links[at].first_child != NONE) {
            at = links[at].first_child;
            depth++;
            continue;
        }
        while (links[at].next_sibling == NONE && links[at].parent != NONE) {
            at = links[at].parent;
            depth--;
        }
        at = links[at].next_sibling;
    }
}

struct tree_place *
tree_create(const cascade_snapshot *snapshot)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    struct tree_place *places = NULL;
    struct link *links = NULL;

    if (count == 0)
        return NULL;
    places = calloc(count, sizeof(*places));
    links = calloc(count, sizeof(*links));
    if (places != NULL && links != NULL) {
        walk(links, link_all(snapshot, links, count), places);
    } else {
        free(places);
        places = NULL;
    }
    free(links);
    return places;
}
