/* SPDX-License-Identifier: MIT
 *
 * Member `cascade` of the record of execution 0: what the dispatch of a cascade
 * can be rebuilt of, and how it stands to others. For what looks at cascades
 * without having a state of them.
 */
#ifndef CSC_STATE_START_RECORD_H
#define CSC_STATE_START_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"
#include "cascade/cascade.h"

typedef struct csc_meta {
    char *queue;           /* NULL without one */
    char *key;             /* NULL without one */
    char *limit_key;       /* NULL: the user's id */
    int32_t priority;      /* 0 without one */
    int32_t depth;         /* 0 without one */
    int32_t run_number;    /* 1 without one */
    cascade_uuid parent;   /* all zero without one, also below */
    cascade_uuid child;    /* as which the parent knows it, where it is another
                            */
    cascade_uuid previous; /* the run before */
    cascade_uuid root;     /* the run that was started, where it is another */
    cascade_uuid origin;   /* what it was forked from */
} csc_meta;

/* Reads it; what makes no sense counts as absent, and a span without data has
 * nothing. CASCADE_ERR_NO_MEMORY. To be finished in any case. */
cascade_err csc_start_record_read(csc_json_span span, csc_meta *meta);
/* Its queue, or the default one. */
const char *csc_start_record_queue(const csc_meta *meta);
/* What limits of its queue go by: its own key, or else (NULL) its user. NULL
 * for one that is too long, as other programs write them. */
const char *csc_start_record_limit_key(const char *own, const char *user_id);
void csc_start_record_fini(csc_meta *meta);

#endif
