/* SPDX-License-Identifier: MIT
 *
 * A function that is called: on a fiber, or on its worker's own stack. See
 * strand.c.
 */
#ifndef CSC_NODE_STRAND_H
#define CSC_NODE_STRAND_H

#include <stdbool.h>

#include "base/fiber.h"
#include "cascade/cascade.h"
#include "change/op.h"
#include "held/lane/lane_queue.h"
#include "held/node_def.h"
#include "held/run/carrier.h"
#include "held/run/run.h"
#include "held/run/time_limit.h"

struct csc_worker;

typedef struct csc_strand {
    struct csc_strand *next; /* of a worker's that are free */
    struct csc_worker *worker;
    csc_fiber *fiber; /* NULL: the worker's own stack */
    bool left;        /* it is in the middle of its function */
    csc_run *run;
    const csc_node_def *def;
    csc_lane *native; /* of a transactional node, or NULL */
    bool unwanted;    /* its function is not to be called */
    bool releases;    /* the engine is to be released now */
    csc_lane *lane;   /* that it has entered, for its worker to serve */
    csc_waiter waiter;
    csc_call call;
} csc_strand;

/* Posts a step, and waits until it is durable: then it is in `*step`. Takes
 * `post`. CASCADE_ERR_FENCED where the run is gone or the function is late, or
 * why it is not recorded. */
cascade_err csc_strand_wait(csc_strand *strand, csc_post *post,
                            const csc_exec **step);

#endif
