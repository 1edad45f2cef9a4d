/* SPDX-License-Identifier: MIT
 *
 * Reading a large cascade in portions: see stream.c.
 */
#ifndef CSC_CLAIM_STREAM_H
#define CSC_CLAIM_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "held/room/reload.h"

#define CSC_STREAMS_MAX 4 /* read by turns; others wait in `reloads` */

/* Begins to read one that is in hand. CASCADE_ERR_NO_MEMORY. Not locked. */
cascade_err csc_stream_begin(cascade_engine *engine, const csc_reload *reload);
/* A portion of one of them. Not locked. */
void csc_stream_round(cascade_engine *engine);
/* When the next portion may be read: INT64_MAX without one. */
int64_t csc_stream_next_ns_locked(const cascade_engine *engine);
/* Which they are; how many. */
size_t csc_stream_ids_locked(const cascade_engine *engine, cascade_uuid *ids,
                             size_t max);
void csc_stream_fini(cascade_engine *engine);

#endif
