/* SPDX-License-Identifier: MIT
 *
 * The only file that calls malloc and its kin: a thin layer over them that
 * keeps a tally for each thread. With CASCADE_FAULTS, which is 1 for our
 * tests alone, it counts blocks and can let the Nth allocation fail.
 */
#include "base/mem.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cascade/cascade.h"

#if CASCADE_FAULTS
#include <stdatomic.h>

static atomic_size_t asked;
static atomic_size_t fail_nth;
static atomic_int fail_sticky;
static atomic_size_t live;
static atomic_size_t live_bytes;
static atomic_size_t most_bytes;

static bool
is_failing(void)
{
    size_t number = atomic_fetch_add(&asked, 1) + 1;
    size_t nth = atomic_load(&fail_nth);

    if (nth == 0)
        return false;
    return number == nth || (number > nth && atomic_load(&fail_sticky) != 0);
}

size_t
csc_mem_fail_at(size_t nth, int sticky)
{
    atomic_store(&fail_nth, 0);
    atomic_store(&fail_sticky, sticky);
    size_t before = atomic_exchange(&asked, 0);
    atomic_store(&fail_nth, nth);
    return before;
}

size_t
csc_mem_live(void)
{
    return atomic_load(&live);
}

size_t
csc_mem_live_bytes(void)
{
    return atomic_load(&live_bytes);
}

size_t
csc_mem_most_bytes(void)
{
    return atomic_exchange(&most_bytes, atomic_load(&live_bytes));
}

static void
count_bytes(size_t more, size_t less)
{
    size_t bytes = atomic_fetch_add(&live_bytes, more - less) + more - less;
    size_t most = atomic_load(&most_bytes);

    while (more > less && bytes > most &&
           !atomic_compare_exchange_weak(&most_bytes, &most, bytes))
        ;
}

static void *
counted(void *memory)
{
    if (memory != NULL) {
        atomic_fetch_add(&live, 1);
        count_bytes(malloc_usable_size(memory), 0);
    }
    return memory;
}

static void *
sys_malloc(size_t size)
{
    return is_failing() ? NULL : counted(malloc(size));
}

static void *
sys_calloc(size_t count, size_t size)
{
    return is_failing() ? NULL : counted(calloc(count, size));
}

static void *
sys_realloc(void *old, size_t size)
{
    size_t before = malloc_usable_size(old);
    void *memory = NULL;

    if (is_failing())
        return NULL;
    if (old == NULL)
        return counted(malloc(size));
    memory = realloc(old, size);
    if (memory != NULL)
        count_bytes(malloc_usable_size(memory), before);
    return memory;
}

static void
sys_free(void *memory)
{
    if (memory != NULL) {
        atomic_fetch_sub(&live, 1);
        count_bytes(0, malloc_usable_size(memory));
    }
    free(memory);
}
#else
#define sys_malloc malloc
#define sys_calloc calloc
#define sys_realloc realloc
#define sys_free free
#endif

static _Thread_local int64_t tally;

/* Of one block, or of none. */
static int64_t
size_of(void *memory)
{
    return memory == NULL
               ? 0
               : (int64_t)(malloc_usable_size(memory) + sizeof(size_t));
}

static void *
tallied(void *memory)
{
    tally += size_of(memory);
    return memory;
}

int64_t
csc_mem_tally(void)
{
    return tally;
}

/* The bytes of `count` items, at least one. False when no block can be as
 * large: checked here, because sanitizers abort where malloc() gives NULL. */
static bool
bytes_of(size_t count, size_t size, size_t *bytes)
{
    if (__builtin_mul_overflow(count, size, bytes) || *bytes > PTRDIFF_MAX)
        return false;
    if (*bytes == 0)
        *bytes = 1;
    return true;
}

void *
csc_mem_alloc(size_t size)
{
    size_t bytes = 0;

    return bytes_of(1, size, &bytes) ? tallied(sys_malloc(bytes)) : NULL;
}

void *
csc_mem_zalloc(size_t count, size_t size)
{
    size_t bytes = 0;

    return bytes_of(count, size, &bytes) ? tallied(sys_calloc(1, bytes)) : NULL;
}

void *
csc_mem_realloc(void *old, size_t count, size_t size)
{
    size_t bytes = 0;
    int64_t before = size_of(old);
    void *memory = NULL;

    if (!bytes_of(count, size, &bytes))
        return NULL;
    memory = sys_realloc(old, bytes);
    if (memory != NULL)
        tally += size_of(memory) - before;
    return memory;
}

char *
csc_mem_strdup(const char *text)
{
    return text == NULL ? NULL : csc_mem_strndup(text, strlen(text));
}

char *
csc_mem_strndup(const char *text, size_t len)
{
    char *copy = len == SIZE_MAX ? NULL : csc_mem_alloc(len + 1);

    if (copy == NULL)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

void
csc_mem_free(void *memory)
{
    if (memory == NULL)
        return; /* most are: members that are not there */
    tally -= size_of(memory);
    sys_free(memory);
}

int
csc_mem_grow(void **items, size_t *room, size_t need, size_t size)
{
    size_t wanted = *room < 8 ? 8 : *room;
    void *grown;

    if (need <= *room)
        return 0;
    while (wanted < need)
        wanted = wanted > SIZE_MAX / 2 ? need : wanted * 2;
    grown = csc_mem_realloc(*items, wanted, size);
    if (grown == NULL)
        return -1;
    *items = grown;
    *room = wanted;
    return 0;
}
