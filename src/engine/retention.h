/* SPDX-License-Identifier: MIT
 *
 * Retention by an engine: see retention.c.
 */
#ifndef CSC_ENGINE_RETENTION_H
#define CSC_ENGINE_RETENTION_H

#include <stdint.h>

#include "cascade/cascade.h"
#include "query/audit/purge.h"

/* The housekeeper's own. */
typedef struct csc_retention {
    /* Of retention.c. */
    csc_purge *pass; /* the one under way, or NULL */
    int64_t at_ns;   /* when to go on with it, or to begin the next;
                               INT64_MAX: never */
} csc_retention;

void csc_retention_init(cascade_engine *engine);
/* A portion of a pass, when it is due. Not locked. */
void csc_retention_round(cascade_engine *engine);
void csc_retention_fini(cascade_engine *engine);

#endif
