/* SPDX-License-Identifier: MIT
 *
 * Completions from outside on their way: the payload of a message "complete".
 *
 *   {"by":"ID","puts":[1,"key",VALUE,2,"key",VALUE,UI_VALUE],"error":"...",
 *    "token":"ID","output":...,"spawns":["node",INPUT,DELAY_MS,PRIORITY]}
 *
 * `token` names the execution as it waits, `by` the completion. With `error` it
 * fails, and there is nothing else. A put is the number of its values, the key
 * and these. The lists are flat, so that values at the limit of depth lie no
 * deeper in a message than in any other record (CSC_JSON_NESTED_MAX).
 */
#ifndef CSC_CHANGE_COMPLETION_H
#define CSC_CHANGE_COMPLETION_H

#include "base/data/arena.h"
#include "cascade/cascade.h"

typedef struct csc_completion csc_completion;

/* In `arena`; NULL without memory. */
const char *csc_completion_write(csc_arena *arena,
                                 const csc_completion *completion);

/* Reads canonical text; NULL where it makes no sense, as another program may
 * have sent it. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_completion_read(csc_arena *arena, const char *payload,
                                csc_completion **completion);

#endif
