/* SPDX-License-Identifier: MIT
 *
 * Links of the memory store, and where a path is: S43, S44,
 * S49, S54.
 *
 *   chains   root -> its last run, and what leads there
 *   links    path -> its place in a chain, where the first run's come first
 *
 * Where memory runs out in the middle, what is there of a run does no harm: the
 * run is there too, and its links are written again before it is deleted. What
 * it has received is entered before its rows go, under one lock.
 */
#include "store/memory/internal.h"

#include <string.h>

#include "base/data/map.h"
#include "base/data/tree.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/chain.h"
#include "store/memory/text_map.h"
#include "store/store.h"

/* ---- Finding ------------------------------------------------------------ */

/* NULL: there is none that is not marked. */
static const cascade_uuid *
find_row(const csc_memory_model *model, const char *path)
{
    const csc_memory_message *message =
        csc_memory_names_get(&model->letters, path);
    const csc_memory_execution *execution =
        csc_memory_names_get(&model->paths, path);
    const cascade_uuid *id = NULL;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (message != NULL)
        id = &message->row.cascade_id;
    else if (execution != NULL)
        id = &execution->row.cascade_id;
    return id != NULL && !csc_memory_delete_is_marked(model, id) ? id : NULL;
}

/* Whether a path is that of a message which a run of the chain has received. */
static bool
is_receipt(const csc_memory_chain *chain, const char *path)
{
    size_t len = strlen(chain->name);

    return strncmp(path, chain->name, len) == 0 &&
           strncmp(path + len, CSC_STORE_LINK_MESSAGE,
                   strlen(CSC_STORE_LINK_MESSAGE)) == 0;
}

/* What a cascade is of that has not the last run; NULL: of none. */
static const csc_memory_tie *
find_own(const csc_memory_model *model, const cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    const csc_memory_tie *own =
        csc_memory_names_get(&model->links, cascade_uuid_format(id, text));

    csc_assert(csc_lock_is_held(&model->mutex));
    return own == NULL || csc_uuid_equal(&own->chain->next, id) ? NULL : own;
}

/* The chain that a path leads to which is in no cascade that is not marked. */
static const csc_memory_chain *
find_chain(const csc_memory_model *model, const char *path)
{
    const csc_memory_tie *tie = csc_memory_names_get(&model->links, path);
    const csc_memory_execution *execution = NULL;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (tie != NULL)
        return tie->chain;
    execution = csc_memory_names_get(&model->paths, path);
    if (execution != NULL)
        tie = find_own(model, &execution->row.cascade_id);
    return tie != NULL && is_receipt(tie->chain, path) ? tie->chain : NULL;
}

static void
locate(const csc_memory_model *model, const char *path, cascade_found *found)
{
    const cascade_uuid *id = find_row(model, path);
    const csc_memory_chain *chain = NULL;

    csc_assert(csc_lock_is_held(&model->mutex));
    *found = (cascade_found){.id = {{0}}};
    if (id != NULL) {
        found->id = *id;
        return;
    }
    chain = find_chain(model, path);
    if (chain != NULL)
        *found = (cascade_found){.id = chain->next,
                                 .root = chain->root,
                                 .run_number = chain->run_number};
}

cascade_err
csc_memory_links_find(void *self, const char *const *paths, size_t count,
                      cascade_found *found)
{
    csc_memory *memory = self;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&memory->model->mutex);
    for (size_t i = 0; i < count; i++)
        locate(memory->model, paths[i], &found[i]);
    csc_lock_give(&memory->model->mutex);
    return CASCADE_OK;
}

/* ---- Linking ------------------------------------------------------------ */

csc_memory_chain *
csc_memory_links_chain(csc_memory_model *model, const cascade_uuid *root,
                       bool *made)
{
    csc_memory_chain *chain = csc_map_get(&model->chains, root);

    csc_assert(csc_lock_is_held(&model->mutex));
    *made = false;
    if (chain != NULL)
        return chain;
    chain = csc_mem_zalloc(1, sizeof(*chain));
    if (chain == NULL)
        return NULL;
    chain->root = *root;
    chain->own.chain = chain;
    chain->own.number = CSC_STORE_LINK_CHAIN;
    (void)cascade_uuid_format(root, chain->name);
    chain->own.path = chain->name;
    if (csc_map_put(&model->chains, root, chain) != 0) {
        csc_mem_free(chain);
        return NULL;
    }
    if (csc_memory_names_put(&model->links, chain->name, &chain->own) != 0) {
        (void)csc_map_remove(&model->chains, root);
        csc_mem_free(chain);
        return NULL;
    }
    *made = true;
    return chain;
}

void
csc_memory_links_lead(csc_memory_chain *chain, const cascade_uuid *next,
                      int32_t run_number)
{
    csc_assert(run_number > 0);
    if (run_number <= chain->run_number)
        return;
    chain->run_number = run_number;
    chain->next = *next;
}

/* By path where two have one number, which no run of ours makes. */
static int
order_ties(const csc_tree_node *a, const csc_tree_node *b)
{
    const csc_memory_tie *one = CSC_TREE_ITEM(a, csc_memory_tie, node);
    const csc_memory_tie *other = CSC_TREE_ITEM(b, csc_memory_tie, node);

    csc_assert(one->chain == other->chain);
    if (one->number != other->number)
        return one->number < other->number ? -1 : 1;
    return strcmp(one->path, other->path);
}

static csc_memory_tie *
make_tie(csc_memory_chain *chain, const char *path, int64_t number)
{
    size_t size = strlen(path) + 1;
    csc_memory_tie *tie = csc_mem_alloc(sizeof(*tie) + size);

    csc_assert(number >= 0);
    if (tie == NULL)
        return NULL;
    *tie = (csc_memory_tie){
        .number = number, .chain = chain, .path = (char *)(tie + 1)};
    memcpy(tie + 1, path, size);
    return tie;
}

/* There is one. */
static void
take_first(csc_memory_model *model, csc_memory_chain *chain)
{
    csc_memory_tie *tie =
        CSC_TREE_ITEM(csc_tree_at(&chain->ties, 0), csc_memory_tie, node);

    csc_assert(csc_lock_is_held(&model->mutex) &&
               csc_tree_count(&chain->ties) > 0);
    csc_tree_take(&chain->ties, &tie->node, order_ties, NULL);
    csc_memory_names_remove(&model->links, tie->path);
    csc_mem_free(tie);
}

/* One that is there stays. */
static int
add_tie(csc_memory_model *model, csc_memory_chain *chain, const char *path,
        int64_t number)
{
    csc_memory_tie *tie = NULL;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (csc_memory_names_get(&model->links, path) != NULL)
        return 0;
    tie = make_tie(chain, path, number);
    if (tie == NULL)
        return -1;
    if (csc_memory_names_put(&model->links, tie->path, tie) != 0) {
        csc_mem_free(tie);
        return -1;
    }
    csc_tree_put(&chain->ties, &tie->node, order_ties, NULL);
    return 0;
}

/* What it has entered when it fails is repeated, and does no harm: the run is
 * still there. */
static int
add_ties(csc_memory_model *model, csc_memory_chain *chain,
         const cascade_link *link)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_assert(csc_uuid_equal(&chain->root, &link->root));
    if (!csc_uuid_equal(&link->id, &link->root) &&
        add_tie(model, chain, cascade_uuid_format(&link->id, id),
                csc_store_link_number(link->run_number, CSC_STORE_LINK_ID)) !=
            0)
        return -1;
    for (size_t i = 0; i < link->receipt_count; i++)
        if (add_tie(model, chain, link->receipts[i].path,
                    csc_store_link_number(link->run_number,
                                          link->receipts[i].function_id)) != 0)
            return -1;
    return 0;
}

static void
trim(csc_memory_model *model, csc_memory_chain *chain)
{
    while (csc_tree_count(&chain->ties) > CASCADE_LINKS_MAX)
        take_first(model, chain);
    csc_assert(csc_tree_count(&chain->ties) <= CASCADE_LINKS_MAX);
}

static int
write_links(csc_memory_model *model, const cascade_link *link)
{
    bool made = false;
    csc_memory_chain *chain = csc_memory_links_chain(model, &link->root, &made);
    int failed;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (chain == NULL)
        return -1;
    csc_memory_links_lead(chain, &link->next, link->next_number);
    failed = add_ties(model, chain, link);
    trim(model, chain);
    return failed;
}

cascade_err
csc_memory_links_write(void *self, const cascade_link *link)
{
    csc_memory *memory = self;
    int failed;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&memory->model->mutex);
    failed = write_links(memory->model, link);
    csc_lock_give(&memory->model->mutex);
    return failed == 0 ? CASCADE_OK : csc_fail_memory();
}

int
csc_memory_links_keep(csc_memory_model *model,
                      const csc_memory_cascade *cascade, size_t count)
{
    const csc_memory_tie *own = find_own(model, &cascade->row.id);
    size_t from = cascade->execution_count - count;
    int failed = 0;

    csc_assert(csc_lock_is_held(&model->mutex) &&
               count <= cascade->execution_count);
    if (own == NULL)
        return 0;
    for (size_t i = from; i < cascade->execution_count && failed == 0; i++) {
        const cascade_execution_row *row = &cascade->executions[i]->row;

        if (is_receipt(own->chain, row->node_instance_id))
            failed =
                add_tie(model, own->chain, row->node_instance_id,
                        csc_store_link_beside(own->number, row->function_id));
    }
    trim(model, own->chain);
    return failed;
}

void
csc_memory_links_drop(csc_memory_model *model, csc_memory_chain *chain)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    while (csc_tree_count(&chain->ties) > 0)
        take_first(model, chain);
    csc_memory_names_remove(&model->links, chain->name);
    (void)csc_map_remove(&model->chains, &chain->root);
    csc_mem_free(chain);
}

void
csc_memory_links_fini(csc_memory_model *model)
{
    size_t at = 0;
    csc_memory_chain *chain = csc_map_next(&model->chains, &at);

    csc_assert(csc_lock_is_held(&model->mutex));
    while (chain != NULL) {
        while (csc_tree_count(&chain->ties) > 0)
            take_first(model, chain);
        csc_mem_free(chain);
        chain = csc_map_next(&model->chains, &at);
    }
    csc_map_fini(&model->chains);
    csc_memory_names_fini(&model->links);
}

static bool
is_gone(const csc_memory_model *model, const csc_memory_chain *chain)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    return csc_map_get(&model->cascades, &chain->next) == NULL ||
           csc_memory_delete_is_marked(model, &chain->next);
}

const cascade_uuid *
csc_memory_links_last(const csc_memory_model *model, const cascade_uuid *gone)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    const csc_memory_tie *tie =
        csc_memory_names_get(&model->links, cascade_uuid_format(gone, id));

    csc_assert(csc_lock_is_held(&model->mutex));
    return tie == NULL || is_gone(model, tie->chain) ? NULL : &tie->chain->next;
}

/* ---- Sweeping ------------------------------------------------------------ */

/* What of a chain may be taken is; whether all of it was. */
static bool
take_chain(csc_memory_model *model, csc_memory_chain *chain, size_t *rows)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    while (csc_tree_count(&chain->ties) > 0 && *rows > 0) {
        take_first(model, chain);
        (*rows)--;
    }
    if (csc_tree_count(&chain->ties) > 0)
        return false;
    csc_memory_links_drop(model, chain);
    return true;
}

/* The cursor is a place in the map. What is taken out may move others to places
 * that it has passed: the next sweep finds them. */
static size_t
find_gone(const csc_memory_model *model, size_t limit, size_t *at,
          csc_memory_chain **gone, bool *more)
{
    csc_memory_chain *chain = NULL;
    size_t count = 0;

    csc_assert(csc_lock_is_held(&model->mutex));
    for (size_t i = 0; i < limit; i++) {
        chain = csc_map_next(&model->chains, at);
        if (chain == NULL)
            break;
        if (is_gone(model, chain))
            gone[count++] = chain;
    }
    *more = chain != NULL;
    return count;
}

static cascade_err
sweep_all(csc_memory_model *model, size_t limit, cascade_uuid *cursor,
          bool *more)
{
    csc_memory_chain **gone = csc_mem_alloc(limit * sizeof(csc_memory_chain *));
    size_t rows = CASCADE_DELETE_ROWS_MAX;
    size_t count = 0;
    size_t at = 0;

    csc_assert(limit > 0);
    if (gone == NULL)
        return csc_fail_memory();
    memcpy(&at, cursor, sizeof(at));
    count = find_gone(model, limit, &at, gone, more);
    for (size_t i = 0; i < count; i++)
        if (!take_chain(model, gone[i], &rows)) {
            *more = true;
            memcpy(&at, cursor, sizeof(at)); /* from there once more */
            break;
        }
    memcpy(cursor, &at, sizeof(at));
    csc_mem_free(gone);
    return CASCADE_OK;
}

static bool
sweep_one(csc_memory_model *model, const cascade_uuid *root)
{
    csc_memory_chain *chain = csc_map_get(&model->chains, root);
    size_t rows = CASCADE_DELETE_ROWS_MAX;

    csc_assert(csc_lock_is_held(&model->mutex));
    return chain == NULL || !is_gone(model, chain) ||
           take_chain(model, chain, &rows);
}

cascade_err
csc_memory_links_sweep(void *self, const cascade_uuid *root, size_t limit,
                       cascade_uuid *cursor, bool *more)
{
    csc_memory_model *model = ((csc_memory *)self)->model;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&model->mutex);
    if (root != NULL)
        *more = !sweep_one(model, root);
    else
        err = sweep_all(model, limit, cursor, more);
    csc_lock_give(&model->mutex);
    return err;
}
