/* SPDX-License-Identifier: MIT
 *
 * The life of an engine: see engine.c.
 */
#ifndef CSC_ENGINE_ENGINE_H
#define CSC_ENGINE_ENGINE_H

#include <stdbool.h>

#include "cascade/cascade.h"
#include "node/worker.h"

/* Runs one ready execution, and does what a stop has left to it; false when
 * there is none. Not locked. */
bool csc_engine_work(cascade_engine *engine, csc_worker *worker);

#endif
