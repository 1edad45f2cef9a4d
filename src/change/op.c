/* SPDX-License-Identifier: MIT
 *
 * Making, filling and freeing posts.
 */
#include "change/op.h"

#include <string.h>

#include "base/data/arena.h"
#include "base/data/tree.h"
#include "base/error.h"
#include "base/mem.h"

csc_post *
csc_op_create(csc_post_kind kind, int32_t function_id)
{
    csc_post *post = csc_mem_zalloc(1, sizeof(*post));

    if (post == NULL)
        return NULL;
    post->kind = kind;
    post->function_id = function_id;
    post->arena.block_size = CSC_POST_BLOCK_SIZE;
    return post;
}

void
csc_op_free(csc_post *post)
{
    if (post == NULL)
        return;
    if (post->under_way != NULL && *post->under_way == post)
        *post->under_way = NULL;
    if (post->backlog != NULL)
        atomic_fetch_sub(post->backlog, post->charged);
    csc_arena_fini(&post->arena);
    csc_mem_free(post);
}

size_t
csc_op_bytes(const csc_post *post)
{
    size_t slice = post->kind == CSC_POST_SLICE ? CSC_SLICE_BYTES : 0;
    size_t rows = 1 + 2 * post->children.count + post->effects.put_count +
                  post->effects.spawn_count;

    return post->effects.bytes + post->next_run.bytes + slice +
           rows * CSC_ROW_BYTES;
}

/* A receipt holds what it has read, too. */
void
csc_op_charge(csc_post *post, atomic_size_t *backlog)
{
    csc_assert(post->backlog == NULL);
    post->charged = csc_op_bytes(post);
    for (const csc_message *m = post->messages; m != NULL; m = m->next)
        post->charged += strlen(m->payload);
    post->backlog = backlog;
    atomic_fetch_add(backlog, post->charged);
}

void
csc_op_move_charge(csc_post *post, atomic_size_t *backlog)
{
    if (post->backlog == NULL || post->backlog == backlog)
        return;
    atomic_fetch_add(backlog, post->charged);
    atomic_fetch_sub(post->backlog, post->charged);
    post->backlog = backlog;
}

/* ---- Effects ------------------------------------------------------------ */

/* A place among puts, or among spawns. */
typedef struct place {
    const char *name;
    int64_t nth;
} place;

static csc_put *
put_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_put, by_key);
}

static int
compare(const char *a, int64_t a_nth, const char *b, int64_t b_nth)
{
    int order = strcmp(a, b);

    return order != 0 ? order : (a_nth > b_nth) - (a_nth < b_nth);
}

static int
side_of_put(const void *key, const csc_tree_node *node)
{
    const place *p = key;

    return compare(p->name, p->nth, put_of(node)->key, put_of(node)->nth);
}

static int
order_puts(const csc_tree_node *a, const csc_tree_node *b)
{
    return side_of_put(&(place){put_of(a)->key, put_of(a)->nth}, b);
}

static int
side_of_spawn(const void *key, const csc_tree_node *node)
{
    const place *p = key;
    const csc_spawn *spawn = CSC_TREE_ITEM(node, csc_spawn, by_name);

    return compare(p->name, p->nth, spawn->name, spawn->nth);
}

static int
order_spawns(const csc_tree_node *a, const csc_tree_node *b)
{
    const csc_spawn *spawn = CSC_TREE_ITEM(a, csc_spawn, by_name);

    return side_of_spawn(&(place){spawn->name, spawn->nth}, b);
}

static size_t
count_named(const csc_tree *tree, const char *name, csc_tree_side *side)
{
    return csc_tree_before(tree, &(place){name, INT64_MAX}, side) -
           csc_tree_before(tree, &(place){name, -1}, side);
}

size_t
csc_op_count_puts(const csc_effects *effects, const char *key)
{
    return count_named(&effects->puts, key, side_of_put);
}

const csc_put *
csc_op_nth_put(const csc_effects *effects, const char *key, size_t nth)
{
    size_t first =
        csc_tree_before(&effects->puts, &(place){key, -1}, side_of_put);
    const csc_tree_node *node = csc_tree_at(&effects->puts, first + nth);

    return node != NULL && strcmp(put_of(node)->key, key) == 0 ? put_of(node)
                                                               : NULL;
}

void
csc_op_add_put(csc_effects *effects, csc_put *put)
{
    csc_assert((effects->first_put == NULL) == (effects->put_count == 0));
    csc_assert(put->next == NULL);
    if (effects->last_put != NULL)
        effects->last_put->next = put;
    else
        effects->first_put = put;
    effects->last_put = put;
    put->nth = effects->put_count++;
    csc_tree_put(&effects->puts, &put->by_key, order_puts, NULL);
}

void
csc_op_add_spawn(csc_effects *effects, csc_spawn *spawn)
{
    csc_assert((effects->first_spawn == NULL) == (effects->spawn_count == 0));
    csc_assert(spawn->next == NULL);
    spawn->nth =
        (uint32_t)count_named(&effects->spawns, spawn->name, side_of_spawn);
    if (effects->last_spawn != NULL)
        effects->last_spawn->next = spawn;
    else
        effects->first_spawn = spawn;
    effects->last_spawn = spawn;
    effects->spawn_count++;
    csc_tree_put(&effects->spawns, &spawn->by_name, order_spawns, NULL);
}
