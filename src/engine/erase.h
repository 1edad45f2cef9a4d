/* SPDX-License-Identifier: MIT
 *
 * What is still to be erased of deleted cascades, without an engine: see
 * erase.c.
 */
#ifndef CSC_ENGINE_ERASE_H
#define CSC_ENGINE_ERASE_H

#include <stdint.h>

#include "cascade/cascade.h"

/* Erases whatever no engine is at, until `end_ms` of the monotonic clock. */
cascade_err csc_erase_all(cascade_store *store, int64_t end_ms);

/* CASCADE_ERR_AGAIN: `what` needs an id that is still being erased (S40). */
cascade_err csc_erase_fail(const char *what, const cascade_uuid *id);

#endif
