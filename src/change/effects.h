/* SPDX-License-Identifier: MIT
 *
 * What an execution produces, as it gathers: puts, spawns and an output, each
 * checked when it is given. The same for a node that runs, for its steps, and
 * for whoever completes an execution from outside.
 */
#ifndef CSC_CHANGE_EFFECTS_H
#define CSC_CHANGE_EFFECTS_H

#include "base/data/arena.h"
#include "base/json/json.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "state/state.h"

typedef struct csc_effects csc_effects;
typedef struct csc_post csc_post;

/* Where it gathers, and how much of it. */
typedef struct csc_gather {
    csc_arena *arena; /* of the texts */
    csc_effects *effects;
    size_t payload_max; /* bytes of one payload */
    size_t bytes_max;   /* of all of them */
    int64_t spawns_max; /* the cascade has ids for no more */
} csc_gather;

/* The value, which must be there, and the one for user interfaces, or none.
 * What fails leaves no trace, also below. */
cascade_err csc_effects_put(const csc_gather *gather, const char *key,
                            const csc_json_given values[2]);

/* It takes the place of the one before; `what` names it. */
cascade_err csc_effects_output(const csc_gather *gather, const char *what,
                               csc_json_given output);

/* `options` are complete. */
cascade_err csc_effects_spawn(const csc_gather *gather, const char *node_name,
                              csc_json_given input,
                              const cascade_spawn_options *options);

/* What becomes of the cascade when an external execution has failed, as FAIL
 * `post` with the error tells: it ends, or goes on, or another node runs
 * instead. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_effects_fail(csc_arena *arena, csc_post *post,
                             const csc_exec *exec);

/* The execution fails with post->error, and `node` runs in its place. */
cascade_err csc_effects_instead(csc_arena *arena, csc_post *post,
                                const csc_exec *exec, const char *node);

#endif
