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
 *        |  its time has come, by the store's clock; or its signal is received
 *        v
 *   one UPDATE, COMPLETED: the node is queued again
 *
 * An await whose signal has come before is inserted COMPLETED at once. In a
 * cascade that is cancelled no wait begins.
 *
 * If the process dies before the INSERT, the node is entered again and asks
 * anew, and waits from then on. If it dies after it, whoever owns the cascade
 * finds the wait RUNNING, with its time.
 */
#include "cascade/node.h"

#include "base/check.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "cascade/cascade.h"
#include "change/op.h"
#include "held/clock.h"
#include "node/node.h"
#include "state/kind.h"
#include "state/state.h"

/* When a wait is to end by itself. */
typedef struct wait_end {
    bool never;
    int64_t delay_ms;
    int64_t at_ms; /* CASCADE_TIME_NONE: after delay_ms */
} wait_end;

static const char *
kind_name(const csc_part *part)
{
    return part->kind == CSC_PART_AWAIT ? "await" : "sleep";
}

static cascade_err
check_end(const cascade_node *node, const csc_part *part, wait_end end)
{
    int64_t ahead_ms = end.delay_ms;

    if (end.at_ms != CASCADE_TIME_NONE)
        ahead_ms = end.at_ms - csc_clock_now_ms(node->engine);
    if (end.never || ahead_ms <= CSC_DELAY_MAX_MS)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID,
                    "%s %s: it would end more than 100 years from now",
                    kind_name(part), part->name);
}

/* Records that the wait begins, and lets the node leave. */
static cascade_err
begin_wait(cascade_node *node, const csc_part *part, wait_end end)
{
    csc_post *post = NULL;
    cascade_err err = check_end(node, part, end);

    if (err != CASCADE_OK)
        return err;
    post = csc_op_create(CSC_POST_WAIT, node->exec->function_id);
    if (post == NULL)
        return csc_fail_memory();
    post->part_name =
        csc_arena_join(&post->arena, csc_kind_prefix(part->kind), part->name);
    if (post->part_name == NULL) {
        csc_op_free(post);
        return csc_fail_memory();
    }
    post->part_occurrence = part->occurrence;
    post->delay_ms = end.delay_ms;
    post->until_ms = end.at_ms;
    post->forever = end.never;
    post->reenter = true;
    return csc_part_suspend(node, post);
}

/* Where a node may wait. */
static cascade_err
check_wait(const cascade_node *node, const csc_part *part)
{
    const char *kind = kind_name(part);
    cascade_err err = CASCADE_OK;

    if (node == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "%s %s: node is NULL", kind,
                        part->name);
    err = csc_node_refuse_step(node, kind, part->name);
    if (err != CASCADE_OK)
        return err;
    return csc_txn_refuse(node, part->kind == CSC_PART_AWAIT ? "an await"
                                                             : "a sleep");
}

/* Counts the part as asked for; `*recorded` is it once it is over. */
static cascade_err
wait_until(cascade_node *node, csc_part *part, wait_end end,
           const csc_exec **recorded)
{
    bool leave = false;
    cascade_err err = check_wait(node, part);

    if (err != CASCADE_OK)
        return err;
    if (node->suspended)
        return csc_part_suspend(node, node->pending);
    err = csc_part_count(node, part);
    if (err != CASCADE_OK)
        return err;
    *recorded = csc_part_find(node, part, &leave);
    if (leave)
        return csc_part_suspend(node, NULL);
    if (*recorded == NULL && csc_node_is_cancelled(node))
        return csc_part_cancelled(part);
    if (*recorded == NULL)
        return begin_wait(node, part, end);
    return csc_part_pass_one(node, part, *recorded);
}

static cascade_err
sleep_until(cascade_node *node, const char *name, wait_end end)
{
    csc_part part = {.kind = CSC_PART_SLEEP, .name = name};
    const csc_exec *recorded = NULL;
    cascade_err err = csc_node_check_origin(node);

    if (err == CASCADE_OK)
        err = csc_check_name("sleep name", name);
    if (err == CASCADE_OK)
        err = wait_until(node, &part, end, &recorded);
    return err == CASCADE_OK ? csc_ok() : err;
}

cascade_err
cascade_node_sleep(cascade_node *node, const char *name, int64_t ms)
{
    return sleep_until(
        node, name,
        (wait_end){.delay_ms = ms > 0 ? ms : 0, .at_ms = CASCADE_TIME_NONE});
}

cascade_err
cascade_node_sleep_until(cascade_node *node, const char *name, int64_t at_ms)
{
    return sleep_until(node, name, (wait_end){.at_ms = at_ms > 0 ? at_ms : 0});
}

cascade_err
csc_wait_for(cascade_node *node, const char *name, int64_t timeout_ms,
             const char **payload)
{
    csc_part part = {.kind = CSC_PART_AWAIT, .name = name};
    wait_end end = {.delay_ms = timeout_ms, .at_ms = CASCADE_TIME_NONE};
    const csc_exec *await = NULL;
    cascade_err err = CASCADE_OK;

    end.never = timeout_ms < 0;
    if (end.never)
        end.delay_ms = 0;
    err = wait_until(node, &part, end, &await);
    if (err != CASCADE_OK)
        return err;
    csc_assert(await != NULL);
    if (await->timed_out)
        return csc_fail(CASCADE_ERR_TIMEOUT,
                        "await %s: no such signal came in time", name);
    *payload = await->output != NULL ? await->output : "{}";
    return CASCADE_OK;
}

static cascade_err
await_signal(cascade_node *node, const char *name, int64_t timeout_ms,
             csc_node_out out)
{
    const char *payload = NULL;
    cascade_err err = csc_node_check_origin(node);

    if (err == CASCADE_OK)
        err = csc_check_name("signal name", name);
    if (err == CASCADE_OK)
        err = csc_wait_for(node, name, timeout_ms, &payload);
    return err == CASCADE_OK ? csc_node_give(node, out, payload) : err;
}

cascade_err
cascade_node_await(cascade_node *node, const char *name, int64_t timeout_ms,
                   cJSON **payload)
{
    return await_signal(node, name, timeout_ms,
                        (csc_node_out){.tree = payload});
}

cascade_err
cascade_node_await_text(cascade_node *node, const char *name,
                        int64_t timeout_ms, const char **payload)
{
    return await_signal(node, name, timeout_ms,
                        (csc_node_out){.text = payload});
}
