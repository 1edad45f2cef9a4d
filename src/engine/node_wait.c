/* SPDX-License-Identifier: MIT
 *
 * Waits inside a node: it leaves, holds no thread, and is entered again from
 * the top when the wait is over.
 *
 *   asked for the nth time under that name in this entry
 *        |
 *        +-- recorded COMPLETED --> over: the node goes on
 *        +-- recorded RUNNING ----> the node leaves
 *        |
 *        v  not recorded: the node leaves; one INSERT, RUNNING, `not_before`
 *   the state blocks the node and queues the wait; a cascade that waits for
 *   long is parked: no memory, `wake_at` in the store
 *        |  its time has come, by the store's clock
 *        v
 *   one UPDATE, COMPLETED: the node is queued again
 */
#include "engine/node.h"

#include "base/check.h"
#include "base/error.h"

/* Records that the wait begins, and lets the node leave. */
static cascade_err
begin_wait(cascade_node *node, const csc_part *part, int64_t delay_ms,
           int64_t until_ms)
{
    csc_post *post = csc_post_create(CSC_POST_WAIT, node->exec->function_id);

    if (post == NULL)
        return csc_fail_memory();
    post->part_name = csc_arena_format(
        &post->arena, "%s%s", csc_state_prefix(part->kind), part->name);
    if (post->part_name == NULL) {
        csc_post_free(post);
        return csc_fail_memory();
    }
    post->part_occurrence = part->occurrence;
    post->delay_ms = delay_ms;
    post->until_ms = until_ms;
    return csc_node_suspend(node, post);
}

static cascade_err
wait_for(cascade_node *node, csc_part *part, int64_t delay_ms, int64_t until_ms)
{
    const csc_exec *recorded = NULL;
    bool leave = false;
    cascade_err err = CASCADE_OK;

    if (node->suspended)
        return csc_node_suspend(node, node->pending);
    err = csc_node_count_part(node, part);
    if (err != CASCADE_OK)
        return err;
    recorded = csc_node_find_part(node, part, &leave);
    if (leave ||
        (recorded != NULL && recorded->status == CASCADE_EXECUTION_RUNNING))
        return csc_node_suspend(node, NULL);
    if (recorded == NULL)
        return begin_wait(node, part, delay_ms, until_ms);
    err = csc_node_pass_part(node, part, recorded);
    return err == CASCADE_OK ? csc_ok() : err;
}

/* Where and under which name a node may sleep. */
static cascade_err
check_sleep(const cascade_node *node, const char *name)
{
    cascade_err err = csc_check_name("sleep name", name);

    if (err == CASCADE_OK && node == NULL)
        err = csc_fail(CASCADE_ERR_INVALID, "sleep %s: node is NULL", name);
    if (err == CASCADE_OK && node->step != NULL)
        err = csc_fail(CASCADE_ERR_MISUSE,
                       "sleep %s is called inside a step; call it from the "
                       "node",
                       name);
    return err;
}

cascade_err
cascade_node_sleep(cascade_node *node, const char *name, int64_t ms)
{
    csc_part part = {.kind = CSC_PART_SLEEP, .name = name};
    cascade_err err = check_sleep(node, name);

    if (err != CASCADE_OK)
        return err;
    if (ms < 0 || ms > CSC_DELAY_MAX_MS)
        return csc_fail(CASCADE_ERR_INVALID,
                        "sleep %s: ms must lie between 0 and 100 years", name);
    return wait_for(node, &part, ms, CASCADE_TIME_NONE);
}

cascade_err
cascade_node_sleep_until(cascade_node *node, const char *name, int64_t at_ms)
{
    csc_part part = {.kind = CSC_PART_SLEEP, .name = name};
    cascade_err err = check_sleep(node, name);

    if (err != CASCADE_OK)
        return err;
    if (at_ms < 0 || at_ms - csc_engine_now(node->engine) > CSC_DELAY_MAX_MS)
        return csc_fail(CASCADE_ERR_INVALID,
                        "sleep %s: at_ms must lie between 1970 and 100 years "
                        "from now",
                        name);
    return wait_for(node, &part, 0, at_ms);
}
