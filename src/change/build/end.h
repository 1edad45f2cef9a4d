/* SPDX-License-Identifier: MIT
 *
 * How an execution, an attempt or a part ends in a change: see end.c.
 */
#ifndef CSC_CHANGE_BUILD_END_H
#define CSC_CHANGE_BUILD_END_H

#include "state/state.h"

struct csc_builder;

typedef struct csc_post csc_post;

/* The record of an execution that is to be entered again. */
const char *csc_end_attempt(struct csc_builder *b, const csc_post *post,
                            const csc_exec *exec);
/* The execution ends as the post says, with what it produced. */
void csc_end_complete(struct csc_builder *b, const csc_post *post,
                      const csc_exec *exec);
void csc_end_fail(struct csc_builder *b, const csc_post *post,
                  const csc_exec *exec);

/* A part has ended, or is recorded as it begins. CASCADE_ERR_NO_MEMORY. */
void csc_end_step(struct csc_builder *b, const csc_post *post,
                  const csc_exec *exec);

#endif
