/* SPDX-License-Identifier: MIT
 *
 * Every heap allocation of the library goes through this file, so that a test
 * can fail the Nth of them. Failure is NULL; the caller turns it into
 * csc_fail_memory(). (cJSON allocates by itself: its hooks belong to the host.)
 */
#ifndef CSC_BASE_MEM_H
#define CSC_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

void *csc_mem_alloc(size_t size);                /* not initialised */
void *csc_mem_zalloc(size_t count, size_t size); /* zeroed, overflow checked */
void *csc_mem_realloc(void *old, size_t count, size_t size); /* checked */
char *csc_mem_strdup(const char *text); /* NULL gives NULL */
char *csc_mem_strndup(const char *text, size_t len);
void csc_mem_free(void *memory);

/* Bytes that this thread has allocated, less what it has freed: the difference
 * of two calls is what came of the work between them. Blocks count with what
 * the allocator needs for them, about. */
int64_t csc_mem_tally(void);

/* Makes room for `need` items of `size` bytes in *items, doubling *room.
 * Returns 0, or -1 when out of memory (everything is as before). */
int csc_mem_grow(void **items, size_t *room, size_t need, size_t size);

#if CASCADE_FAULTS
/* Tests: the `nth` allocation from now on by any thread fails (1: the next),
 * and all after it too when `sticky`; 0: none. Returns how many allocations
 * were asked for since the last call. */
size_t csc_mem_fail_at(size_t nth, int sticky);
/* Tests: blocks alive now; their bytes, and the most that these were since the
 * last call. */
size_t csc_mem_live(void);
size_t csc_mem_live_bytes(void);
size_t csc_mem_most_bytes(void);
#endif

#endif
