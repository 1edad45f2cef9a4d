/* SPDX-License-Identifier: MIT
 *
 * Cascades that are owned but not in memory: to be loaded, or to be loaded
 * again. For each cascade that the engine owns, or is about to, there is a
 * record: in `reloads` while it is to be loaded, else in `spares`. So nothing
 * that it takes to load one anew can be out of memory. All locked.
 */
#ifndef CSC_ENGINE_RELOAD_H
#define CSC_ENGINE_RELOAD_H

#include "engine/engine.h"

#define CSC_APART_ALONE 8 /* of `apart`: CSC_CLAIM_MAX halved so often is one */

void csc_reload_init(cascade_engine *engine);
/* Before so many more cascades become the engine's: sees to it that each of
 * those it has, and of these, can be reloaded. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_reload_reserve(cascade_engine *engine, size_t more);
/* Adds to those that are to be loaded, as the last one. */
void csc_reload_add(cascade_engine *engine, const csc_reload *reload);
/* Takes out the one that `*at` leads to. */
csc_reload csc_reload_take(cascade_engine *engine, csc_reload **at);
/* None is to be loaded any more. */
void csc_reload_forget(cascade_engine *engine);

#endif
