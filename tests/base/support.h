/* SPDX-License-Identifier: MIT
 *
 * What the tests of the base layer share: cmocka with what it needs in front,
 * random numbers that can be replayed, and the gate in one call.
 */
#ifndef TESTS_BASE_SUPPORT_H
#define TESTS_BASE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "base/data/buf.h"
#include "cascade/cascade.h"

#define SIZE_DEFAULT ((size_t)1 << 20)

typedef struct support_rng {
    uint64_t state;
} support_rng;

/* Seeded with CASCADE_TEST_SEED, or with a fixed number; prints the seed. */
support_rng support_rng_open(const char *test);
uint64_t support_rng_next(support_rng *rng);
/* 0 to limit - 1. */
size_t support_rng_below(support_rng *rng, size_t limit);

/* Fails the test unless the gate turns `text` into `expected`. */
void support_accepts(const char *text, const char *expected);
/* Fails the test unless the gate refuses `text` with `err`, an error text that
 * contains `why`, and the output as it was. */
void support_refuses(const char *text, size_t len, cascade_err err,
                     const char *why);

/* Waits for a child; true when it ended with status 0. */
bool support_succeeded(pid_t child);

/* `count` times `piece`. Free with csc_mem_free(). */
char *support_repeat(const char *piece, size_t count);

#endif
