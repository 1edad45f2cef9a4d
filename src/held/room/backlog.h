/* SPDX-License-Identifier: MIT
 *
 * Whether more work may be taken: see backlog.c. All locked.
 */
#ifndef CSC_HELD_ROOM_BACKLOG_H
#define CSC_HELD_ROOM_BACKLOG_H

#include <stdbool.h>

#include "cascade/cascade.h"

/* Whether a node may begin now. */
bool csc_backlog_may_begin(const cascade_engine *engine);
/* Whether one of those that are ready may begin. */
bool csc_backlog_may_take(const cascade_engine *engine);
/* None may, and the caller is about to wait. True where only the backlog is in
 * the way: then csc_backlog_let_begin() tells when it is not any more; who
 * has made it smaller calls that. */
bool csc_backlog_note_wait(cascade_engine *engine);
void csc_backlog_let_begin(cascade_engine *engine);

#endif
