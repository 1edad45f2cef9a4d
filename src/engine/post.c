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
    csc_arena_fini(&post->arena);
    csc_mem_free(post);
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
