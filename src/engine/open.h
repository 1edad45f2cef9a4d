/* SPDX-License-Identifier: MIT
 *
 * The end of a handle: see open.c.
 */
#ifndef CSC_ENGINE_OPEN_H
#define CSC_ENGINE_OPEN_H

#include "cascade/cascade.h"

/* Frees what was made so far; nothing of it runs. */
void csc_open_free(cascade_engine *engine);

#endif
