/* SPDX-License-Identifier: MIT
 *
 * What the analysers cannot see for themselves, because it stands in another
 * source than the one they read: that a failure is never CASCADE_OK. Without
 * it they follow paths where a function has failed, left its output unset, and
 * told its caller that all is well. Included before each source of the library
 * but base/error.c, which asserts it.
 */
#ifndef CSC_TESTS_ANALYSIS_MODEL_H
#define CSC_TESTS_ANALYSIS_MODEL_H

#include "base/error.h"

static inline cascade_err
csc_model_failure(cascade_err err)
{
    if (err == CASCADE_OK)
        __builtin_unreachable();
    return err;
}

#define csc_fail(...) csc_model_failure(csc_fail(__VA_ARGS__))
#define csc_fail_memory() csc_model_failure(csc_fail_memory())

#endif
