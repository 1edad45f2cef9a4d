/* SPDX-License-Identifier: MIT
 *
 * The call of a node in its transaction.
 */
#include "node/txn_call.h"

#include "base/data/text.h"
#include "base/error.h"
#include "cascade/cascade.h"
#include "held/engine_state.h"
#include "held/lane/lane_queue.h"
#include "held/run/time_limit.h"
#include "node/node.h"
#include "store/store.h"

/* What it fails with is kept before the thread's text is overwritten. */
static void
close_guest(cascade_node *node, cascade_err err)
{
    if (node->guest == NULL)
        return;
    node->native->guest_used = true;
    if (err != CASCADE_OK && node->error_err != err &&
        csc_error_last() == err) {
        node->error = csc_text_clean(&node->arena, cascade_errmsg());
        node->error_err = err;
    }
    csc_store_close_native(node->guest);
    node->guest = NULL;
}

cascade_err
csc_txn_call(cascade_node *node)
{
    const csc_lane *lane = node->native;
    const cascade_store *before = NULL;
    cascade_err err = CASCADE_OK;

    if (lane->begun != CASCADE_OK)
        return csc_fail(lane->begun, "the transaction was not begun: %s",
                        lane->trouble);
    if (csc_node_is_gone(node))
        return csc_fail(CASCADE_ERR_FENCED, "the cascade has ended or is owned "
                                            "by another engine");
    err = csc_time_limit_check_call(node->call);
    if (err != CASCADE_OK)
        return err;
    before = csc_store_set_inside(node->engine->store);
    err = csc_guard_node(node);
    (void)csc_store_set_inside(before);
    if (csc_node_check_origin(node) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    close_guest(node, err);
    return err;
}
