/* SPDX-License-Identifier: MIT
 *
 * Erasing what is left of deleted cascades.
 */
#ifndef CSC_QUERY_AUDIT_ERASURE_H
#define CSC_QUERY_AUDIT_ERASURE_H

#include <stdint.h>

#include "cascade/cascade.h"

/* Erases whatever no engine is at, until `end_ms` of the monotonic clock. */
cascade_err csc_erasure_finish_all(cascade_store *store, int64_t end_ms);

#endif
