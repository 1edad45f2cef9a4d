/* SPDX-License-Identifier: MIT
 *
 * Memory that is given back all at once: the rows and texts of one commit. An
 * arena keeps its blocks when it is cleared, so a steady load allocates
 * nothing. Running out of memory is remembered in `failed`, as in csc_buf.
 */
#ifndef CSC_BASE_DATA_ARENA_H
#define CSC_BASE_DATA_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "cascade/cascade.h"

typedef struct csc_arena_block csc_arena_block;

typedef struct csc_arena {
    csc_arena_block *first;
    csc_arena_block *now; /* allocations come from here; NULL: none yet */
    size_t block_size;    /* of new blocks; 0: 16 KiB */
    bool failed;
} csc_arena;

void csc_arena_init(csc_arena *arena); /* all zero is the same */
void csc_arena_fini(csc_arena *arena);
/* Forgets all allocations; keeps the blocks up to a bound. */
void csc_arena_clear(csc_arena *arena);

/* `count` zeroed items, aligned for any type; NULL when out of memory. */
void *csc_arena_alloc(csc_arena *arena, size_t count, size_t size);
/* NULL for NULL, and when out of memory. */
char *csc_arena_strdup(csc_arena *arena, const char *text);
char *csc_arena_strndup(csc_arena *arena, const char *text, size_t len);
/* All texts behind each other, none of them NULL; cheaper than a format. */
#define csc_arena_join(arena, ...)                                  \
    csc_arena_join_all(arena, (const char *const[]){__VA_ARGS__},   \
                       sizeof((const char *const[]){__VA_ARGS__}) / \
                           sizeof(const char *))
char *csc_arena_join_all(csc_arena *arena, const char *const *texts,
                         size_t count);
char *csc_arena_format(csc_arena *arena, const char *format, ...)
    CASCADE_PRINTF(2, 3);

#endif
