/* SPDX-License-Identifier: MIT
 *
 * A list of blocks, filled one after the other. A request that does not fit a
 * standard block gets a block of its own size. csc_arena_clear() rewinds to
 * the first block and gives back those that do not fit in ARENA_KEEP_MAX, so
 * that one large commit does not hold its memory for ever.
 */
#include "base/data/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cascade/cascade.h"

#define ARENA_BLOCK_SIZE ((size_t)16 * 1024)
#define ARENA_KEEP_MAX ((size_t)4 * 1024 * 1024)
#define ARENA_ALIGN sizeof(max_align_t)

struct csc_arena_block {
    csc_arena_block *next;
    size_t room;
    size_t used;
    max_align_t data[];
};

void
csc_arena_init(csc_arena *arena)
{
    *arena = (csc_arena){0};
}

static void
free_from(csc_arena_block *block)
{
    while (block != NULL) {
        csc_arena_block *next = block->next;

        csc_mem_free(block);
        block = next;
    }
}

void
csc_arena_fini(csc_arena *arena)
{
    free_from(arena->first);
    *arena = (csc_arena){0};
}

void
csc_arena_clear(csc_arena *arena)
{
    csc_arena_block **at = &arena->first;
    size_t kept = 0;

    while (*at != NULL) {
        csc_arena_block *block = *at;

        if (kept + block->room > ARENA_KEEP_MAX) {
            *at = block->next;
            csc_mem_free(block);
            continue;
        }
        block->used = 0;
        kept += block->room;
        at = &block->next;
    }
    arena->now = arena->first;
    arena->failed = false;
}

/* A block with `size` free bytes becomes arena->now; false: out of memory. */
static bool
make_room(csc_arena *arena, size_t size)
{
    csc_arena_block *now = arena->now;
    csc_arena_block *block = NULL;
    size_t standard =
        arena->block_size != 0 ? arena->block_size : ARENA_BLOCK_SIZE;
    size_t room = size > standard ? size : standard;

    if (now != NULL && now->room - now->used >= size)
        return true;
    if (now != NULL && now->next != NULL && now->next->room >= size) {
        arena->now = now->next;
        return true;
    }
    block = csc_mem_alloc(sizeof(*block) + room);
    if (block == NULL)
        return false;
    block->room = room;
    block->used = 0;
    block->next = now != NULL ? now->next : NULL;
    if (now != NULL)
        now->next = block;
    else
        arena->first = block;
    arena->now = block;
    return true;
}

static void *
take(csc_arena *arena, size_t size)
{
    char *memory = NULL;

    if (arena->failed || size > SIZE_MAX / 2) {
        arena->failed = true;
        return NULL;
    }
    size = (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (!make_room(arena, size)) {
        arena->failed = true;
        return NULL;
    }
    memory = (char *)arena->now->data + arena->now->used;
    arena->now->used += size;
    return memory;
}

void *
csc_arena_alloc(csc_arena *arena, size_t count, size_t size)
{
    void *memory = NULL;

    if (size != 0 && count > SIZE_MAX / 2 / size) {
        arena->failed = true;
        return NULL;
    }
    memory = take(arena, count * size);
    if (memory != NULL)
        memset(memory, 0, count * size);
    return memory;
}

char *
csc_arena_strndup(csc_arena *arena, const char *text, size_t len)
{
    char *copy = len < SIZE_MAX / 2 ? take(arena, len + 1) : NULL;

    if (copy == NULL)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *
csc_arena_strdup(csc_arena *arena, const char *text)
{
    return text != NULL ? csc_arena_strndup(arena, text, strlen(text)) : NULL;
}

char *
csc_arena_join_all(csc_arena *arena, const char *const *texts, size_t count)
{
    size_t len = 0;
    char *joined = NULL;
    char *at = NULL;

    for (size_t i = 0; i < count; i++)
        len += strlen(texts[i]);
    joined = take(arena, len + 1);
    if (joined == NULL)
        return NULL;
    at = joined;
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, texts[i]);
    return joined;
}

char *
csc_arena_format(csc_arena *arena, const char *format, ...)
{
    char small[256];
    char *copy = NULL;
    int len = 0;
    va_list args;

    va_start(args, format);
    len = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    if (len >= 0 && (size_t)len < sizeof(small))
        return csc_arena_strndup(arena, small, (size_t)len);
    copy = len >= 0 ? take(arena, (size_t)len + 1) : NULL;
    if (copy == NULL) {
        arena->failed = true;
        return NULL;
    }
    va_start(args, format);
    (void)vsnprintf(copy, (size_t)len + 1, format, args);
    va_end(args);
    return copy;
}
