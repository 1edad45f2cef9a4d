/* SPDX-License-Identifier: MIT
 *
 * What is still to be erased of deleted cascades, without an engine: see
 * erasure.c.
 */
#ifndef CSC_ENGINE_ERASURE_H
#define CSC_ENGINE_ERASURE_H

#include <stdint.h>

#include "cascade/cascade.h"

/* CASCADE_ERR_AGAIN: `what` needs an id that is still being erased (S40). */
cascade_err csc_erasure_fail(const char *what, const cascade_uuid *id);
/* One piece, when it is due. Not locked. */
void csc_erasure_round(cascade_engine *engine);

#endif
