/* SPDX-License-Identifier: MIT
 *
 * A state that a test makes by hand, row by row. One at a time: hand_done()
 * looks whether it has left any memory behind.
 */
#ifndef TESTS_SUPPORT_HAND_H
#define TESTS_SUPPORT_HAND_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "state/state.h"

#define HAND_ID "01890000-0000-7000-8000-00000000abcd"

/* Of no row yet. A test that fails leaves its memory behind. */
csc_state *hand_fresh(void);
void hand_done(csc_state *state);

/* The row of an execution; one that has FAILED did so as "why". */
void hand_apply(csc_state *state, int32_t function_id, const char *path,
                const char *name, cascade_execution_status status,
                const char *full_output);

/* The same, as the nth of that name under `parent`. */
void hand_apply_under(csc_state *state, int32_t function_id, int32_t parent,
                      const char *name, uint32_t nth,
                      cascade_execution_status status, const char *full_output);

/* An event of that execution. */
void hand_put(csc_state *state, int32_t function_id, const char *key,
              const char *value);

#endif
