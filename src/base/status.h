/* SPDX-License-Identifier: MIT
 *
 * The words of the statuses, as tables, documents and texts have them.
 */
#ifndef CSC_BASE_STATUS_H
#define CSC_BASE_STATUS_H

#include <stddef.h>

#include "cascade/cascade.h"

/* NULL for what is no status. */
const char *csc_status_word(cascade_status status);
const char *csc_status_execution_word(cascade_execution_status status);

/* The status with that word of `len` bytes; 0 without one. */
int csc_status_read(const char *word, size_t len);
int csc_status_read_execution(const char *word, size_t len);

#endif
