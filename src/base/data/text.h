/* SPDX-License-Identifier: MIT
 *
 * Texts of errors as rows have them.
 */
#ifndef CSC_BASE_DATA_TEXT_H
#define CSC_BASE_DATA_TEXT_H

#include "cascade/cascade.h"

typedef struct csc_arena csc_arena;

#define CSC_ERROR_TEXT_MAX 2000

/* A text fit for the column `error`: valid UTF-8 of bounded length. */
const char *csc_text_clean(csc_arena *arena, const char *text);

#endif
