/* SPDX-License-Identifier: MIT
 *
 * Making, filling and freeing posts.
 */
#include "engine/post.h"

#include <string.h>

#include "base/mem.h"

csc_post *
csc_post_create(csc_post_kind kind, int32_t function_id)
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
csc_post_free(csc_post *post)
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
csc_post_bytes(const csc_post *post)
{
    size_t slice = post->kind == CSC_POST_SLICE ? CSC_SLICE_BYTES : 0;

    return post->effects.bytes + post->next_run.bytes + slice +
           (1 + 2 * post->children.count) * CSC_ROW_BYTES;
}

/* A receipt holds what it has read, too. */
void
csc_post_charge(csc_post *post, atomic_size_t *backlog)
{
    post->charged = csc_post_bytes(post);
    for (const csc_message *m = post->messages; m != NULL; m = m->next)
        post->charged += strlen(m->payload);
    post->backlog = backlog;
    atomic_fetch_add(backlog, post->charged);
}

void
csc_post_add_put(csc_effects *effects, csc_put *put)
{
    if (effects->last_put != NULL)
        effects->last_put->next = put;
    else
        effects->first_put = put;
    effects->last_put = put;
    effects->put_count++;
}

void
csc_post_add_spawn(csc_effects *effects, csc_spawn *spawn)
{
    const csc_spawn *same = effects->last_spawn;

    while (same != NULL && strcmp(same->name, spawn->name) != 0)
        same = same->previous;
    spawn->nth = same != NULL ? same->nth + 1 : 0;
    spawn->previous = effects->last_spawn;
    if (effects->last_spawn != NULL)
        effects->last_spawn->next = spawn;
    else
        effects->first_spawn = spawn;
    effects->last_spawn = spawn;
    effects->spawn_count++;
}
