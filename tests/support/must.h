/* SPDX-License-Identifier: MIT
 *
 * Memory of a test's own, without which it cannot go on.
 */
#ifndef TESTS_SUPPORT_MUST_H
#define TESTS_SUPPORT_MUST_H

#include <stdio.h>
#include <stdlib.h>

/* The memory, or the end of the program. */
static inline void *
must(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "the test program is out of memory\n");
        exit(1);
    }
    return memory;
}

#endif
