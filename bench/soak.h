/* SPDX-License-Identifier: MIT
 *
 * One giant of each kind, and the small cascades beside it.
 *
 *   soak.c         small ones, alone and beside each giant
 *   soak_giant.c   the giants: nodes by which one grows, and ends
 */
#ifndef BENCH_SOAK_H
#define BENCH_SOAK_H

#include <cascade/manage.h>

#include "bench.h"

#define SOAK_NAME "bench_soak"
#define SOAK_SMALL "small" /* returns at once */

typedef struct soak {
    const bench *b;
    bench_kind kind;
    size_t size;            /* of a giant */
    cascade_store *outside; /* of who starts small ones, and waits */
    cascade_store *leader;  /* of who leads the giants' lives */
    cascade_store *store;   /* of the engine */
    cascade_engine *engine;
} soak;

typedef struct soak_giant {
    const char *name; /* of its kind, and of the node it begins with */
    cascade_node_fn fn;
    bool mail; /* `size` signals are to be sent to it, and then "go" */
} soak_giant;

extern const soak_giant soak_giants[];
extern const size_t soak_giant_count;

void soak_register(soak *s);
/* From outside, with pauses as long as the calls, so that it is not the sender
 * whom others wait for; returns when all were sent. */
void soak_send(const soak *s, const cascade_uuid *id);

#endif
