/* SPDX-License-Identifier: MIT
 *
 * Waits inside a node: it leaves, holds no thread, and is entered again from
 * the top when the wait is over.
 *
 *   asked for the nth time under that name in this entry
 *        |
 *        +-- recorded COMPLETED --> over: the node goes on
 *        |
 *        v  not recorded: the node leaves; one INSERT, RUNNING, `not_before`
 *   the state blocks the node and queues the wait; a cascade that waits for
 *   long is parked: no memory, `wake_at` in the store
 *        |  its time has come, by the store's clock
 *        v
 *   one UPDATE, COMPLETED: the node is queued again
 *
 * If the process dies before the INSERT, the node is entered again and asks
 * anew, and sleeps from then on. If it dies after it, whoever owns the cascade
 * finds the sleep RUNNING, with its time.
 */
#include "engine/node.h"

#include "base/check.h"
#include "base/error.h"

/* When a sleep is to end. */
typedef struct sleep_end {
    int64_t delay_ms;
    int64_t at_ms; /* CASCADE_TIME_NONE: after delay_ms */
} sleep_end;

static cascade_err
check_end(const cascade_node *node, const csc_part *part, sleep_end end)
{
    int64_t ahead_ms = end.delay_ms;

    if (end.at_ms != CASCADE_TIME_NONE)
        ahead_ms = end.at_ms - csc_engine_now(node->engine);
    if (ahead_ms <= CSC_DELAY_MAX_MS)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID,
                    "sleep %s: it would end more than 100 years from now",
                    part->name);
}

/* Records that the sleep begins, and lets the node leave. */
static cascade_err
begin_sleep(cascade_node *node, const csc_part *part, sleep_end end)
{
    csc_post *post = NULL;
    cascade_err err = check_end(node, part, end);

    if (err != CASCADE_OK)
        return err;
    post = csc_post_create(CSC_POST_WAIT, node->exec->function_id);
    if (post == NULL)
        return csc_fail_memory();
    post->part_name = csc_arena_format(
        &post->arena, "%s%s", csc_state_prefix(part->kind), part->name);
    if (post->part_name == NULL) {
        csc_post_free(post);
        return csc_fail_memory();
    }
    post->part_occurrence = part->occurrence;
    post->delay_ms = end.delay_ms;
    post->until_ms = end.at_ms;
    return csc_node_suspend(node, post);
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

static cascade_err
sleep_until(cascade_node *node, const char *name, sleep_end end)
{
    csc_part part = {.kind = CSC_PART_SLEEP, .name = name};
    const csc_exec *recorded = NULL;
    bool leave = false;
    cascade_err err = check_sleep(node, name);

    if (err != CASCADE_OK)
        return err;
    if (node->suspended)
        return csc_node_suspend(node, node->pending);
    err = csc_node_count_part(node, &part);
    if (err != CASCADE_OK)
        return err;
    recorded = csc_node_find_part(node, &part, &leave);
    if (leave)
        return csc_node_suspend(node, NULL);
    if (recorded == NULL)
        return begin_sleep(node, &part, end);
    err = csc_node_pass_part(node, &part, recorded);
    return err == CASCADE_OK ? csc_ok() : err;
}

cascade_err
cascade_node_sleep(cascade_node *node, const char *name, int64_t ms)
{
    return sleep_until(
        node, name,
        (sleep_end){.delay_ms = ms > 0 ? ms : 0, .at_ms = CASCADE_TIME_NONE});
}

cascade_err
cascade_node_sleep_until(cascade_node *node, const char *name, int64_t at_ms)
{
    return sleep_until(node, name, (sleep_end){.at_ms = at_ms > 0 ? at_ms : 0});
}
