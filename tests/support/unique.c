/* SPDX-License-Identifier: MIT
 *
 * See unique.h.
 */
#include "support/unique.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

void
unique_name(char *name, size_t size, const char *prefix)
{
    static atomic_int number;
    uint32_t drawn = 0; /* not from the seed, which may be given */
    int length = 0;

    if (getrandom(&drawn, sizeof(drawn), 0) == (ssize_t)sizeof(drawn))
        length = snprintf(name, size, "%s_%ld_%" PRIx32 "_%d", prefix,
                          (long)getpid(), drawn, atomic_fetch_add(&number, 1));
    if (length <= 0 || (size_t)length >= size) {
        fprintf(stderr, "no name can be made of %s\n", prefix);
        exit(1);
    }
}
