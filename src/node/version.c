/* SPDX-License-Identifier: MIT
 *
 * Which branch of changed code an execution takes: recorded when it gets there,
 * as a part, and the same ever after.
 *
 *   recorded ---------------------------> that version
 *   steps or waits are recorded that      it was here before the change: 0,
 *     this entry has not passed --------> and that is recorded
 *   else -------------------------------> the highest one, and that is recorded
 *
 * A version out of what the build supports is a mismatch: it stops the node.
 *
 * If the process dies before the version is recorded, nothing that depends on
 * it is either: the next entry decides anew, by the same rule.
 */
#include "cascade/node.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "change/op.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/room/backlog.h"
#include "held/run/run.h"
#include "node/node.h"
#include "state/state.h"

#define VERSION_BEFORE 0

/* What is known where a node asks for a version. */
typedef struct place {
    const csc_exec *recorded; /* or NULL; then: */
    bool behind;              /* it was beyond this place before */
    bool leave;               /* nothing new may be recorded */
} place;

static place
look(cascade_node *node, const csc_part *part)
{
    cascade_engine *engine = node->engine;
    const csc_run *run = node->run;
    place p;

    csc_lock_take(&engine->mutex);
    p.recorded = csc_view_part(&run->state, node->exec, part);
    p.behind = node->works < node->exec->works;
    p.leave = !csc_backlog_may_begin(engine) || csc_run_is_gone(run) ||
              csc_part_is_held_back_locked(node, part);
    csc_lock_give(&engine->mutex);
    return p;
}

static cascade_err
check_version(const cascade_node *node, const char *change, int min, int max,
              const int *version)
{
    cascade_err err = csc_node_check_origin(node);

    if (err == CASCADE_OK)
        err = csc_check_name("change id", change);
    if (err == CASCADE_OK && (node == NULL || version == NULL))
        err = csc_fail(CASCADE_ERR_INVALID, "version %s: %s is NULL", change,
                       node == NULL ? "node" : "version");
    if (err == CASCADE_OK)
        err = csc_node_refuse_step(node, "version", change);
    if (err == CASCADE_OK && (min < VERSION_BEFORE || max < min))
        err =
            csc_fail(CASCADE_ERR_INVALID,
                     "version %s: supported are %d to %d; give 0 or more, and "
                     "the lower one first",
                     change, min, max);
    return err == CASCADE_OK ? csc_txn_refuse(node, "a version") : err;
}

/* Of another program's row: -1. */
static int64_t
read_version(const csc_exec *recorded)
{
    int64_t number = -1;
    csc_json_span span = {recorded->output, 0};

    if (recorded->output == NULL)
        return -1;
    span.len = strlen(recorded->output);
    return csc_json_read_i64(span, &number) ? number : -1;
}

static cascade_err
stop(cascade_node *node, const csc_part *part, int64_t recorded, int min,
     int max)
{
    if (csc_part_is_undone(node)) {
        node->unwound = true;
        return csc_part_suspend(node, NULL);
    }
    return csc_part_mismatch(
        node,
        "change \"%s\" of node %s (function_id %d): recorded is version "
        "%" PRId64 "%s, this build supports %d to %d; register a build that "
        "supports version %" PRId64 ", or support it again",
        part->name, node->exec->name, (int)node->exec->function_id, recorded,
        recorded == VERSION_BEFORE ? " (before the change)" : "", min, max,
        recorded);
}

/* Posts the version, and waits or leaves until it is durable. */
static cascade_err
record_version(cascade_node *node, const csc_part *part, int version)
{
    csc_post *post = csc_op_create(CSC_POST_STEP, node->exec->function_id);
    const csc_exec *recorded = NULL;
    cascade_err err = CASCADE_OK;

    if (post == NULL)
        return csc_fail_memory();
    post->started_at_ms = csc_clock_now_ms(node->engine);
    post->attempts = 1;
    post->effects.output = csc_arena_format(&post->arena, "%d", version);
    err = csc_step_record_part(node, part, post, &recorded);
    return err == CASCADE_OK ? csc_part_pass_one(node, part, recorded) : err;
}

cascade_err
cascade_node_version(cascade_node *node, const char *change, int min_supported,
                     int max_supported, int *version)
{
    csc_part part = {.kind = CSC_PART_VERSION, .name = change};
    int64_t number = max_supported;
    cascade_err err =
        check_version(node, change, min_supported, max_supported, version);
    place p;

    if (err != CASCADE_OK)
        return err;
    if (node->suspended)
        return csc_part_suspend(node, node->pending);
    p = look(node, &part);
    if (p.recorded != NULL)
        number = read_version(p.recorded);
    else if (p.behind)
        number = VERSION_BEFORE;
    if (number < min_supported || number > max_supported)
        return stop(node, &part, number, min_supported, max_supported);
    if (p.recorded != NULL) {
        err = csc_part_pass_one(node, &part, p.recorded);
    } else if (!csc_part_is_undone(node)) {
        if (p.leave)
            return csc_part_suspend(node, NULL);
        err = record_version(node, &part, (int)number);
    } else if (!p.behind) {
        node->unwound = true;
        return csc_part_suspend(node, NULL);
    }
    if (err != CASCADE_OK)
        return err;
    *version = (int)number;
    return csc_ok();
}
