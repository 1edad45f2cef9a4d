/* SPDX-License-Identifier: MIT
 *
 * What a join is told of those that it comes after. They stand in its slots,
 * and stay in memory, while it is RUNNING; see JOINS in state.h.
 */
#include "cascade/node.h"

#include "base/data/buf.h"
#include "base/data/text.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "held/engine_state.h"
#include "held/run/time_limit.h"
#include "node/node.h"
#include "state/state.h"

#define PIECE_BYTES 65536 /* and one outcome more: at once under the lock */

static const char *
status_text(const csc_join_slot *slot, const csc_exec *exec)
{
    if (!slot->ended)
        return "RUNNING";
    if (exec == NULL)
        return "COMPLETED"; /* long ago, and by another program */
    if (exec->status == CASCADE_EXECUTION_FAILED)
        return "FAILED";
    return exec->skipped ? "SKIPPED" : "COMPLETED";
}

static void
add_outcome(cascade_node *node, csc_buf *out, const csc_join_slot *slot)
{
    const csc_exec *exec = csc_view_find(&node->run->state, slot->function_id);
    const char *error = NULL;

    csc_buf_add_text(out, "{\"function_id\":");
    csc_buf_add_i64(out, slot->function_id);
    if (exec != NULL) {
        csc_buf_add_text(out, ",\"node\":");
        csc_json_add_string(out, exec->name);
    }
    csc_buf_add_text(out, ",\"status\":");
    csc_json_add_string(out, status_text(slot, exec));
    if (exec != NULL && slot->ended && exec->output != NULL) {
        csc_buf_add_text(out, ",\"output\":");
        csc_buf_add_text(out, exec->output);
    }
    if (exec != NULL && slot->ended && exec->error != NULL)
        error = csc_text_clean(&node->arena, exec->error);
    if (error != NULL) {
        csc_buf_add_text(out, ",\"error\":");
        csc_json_add_string(out, error);
    }
    csc_buf_add_char(out, '}');
}

/* Adds those from *at on, as far as one piece goes: the outputs are the
 * state's. */
static void
add_piece_locked(cascade_node *node, csc_buf *piece, size_t *at)
{
    const csc_exec *exec = node->exec;
    size_t count = exec->join != NULL ? exec->after.count : 0;

    csc_assert(csc_lock_is_held(&node->engine->mutex));
    for (; *at < count && piece->len < PIECE_BYTES; (*at)++) {
        if (*at > 0)
            csc_buf_add_char(piece, ',');
        add_outcome(node, piece, &exec->join->slots[*at]);
    }
}

/* All of them, piece by piece: the workers go on between. What is told stays
 * the same meanwhile, as the join is decided; unless the function is late, and
 * then it is told nothing more. */
static cascade_err
add_outcomes(cascade_node *node, csc_buf *out)
{
    csc_buf piece = {0};
    cascade_err err = CASCADE_OK;
    size_t at = 0;

    csc_buf_add_char(out, '[');
    do {
        csc_buf_clear(&piece);
        csc_lock_take(&node->engine->mutex);
        err = csc_time_limit_check_call(node->call);
        if (err == CASCADE_OK)
            add_piece_locked(node, &piece, &at);
        csc_lock_give(&node->engine->mutex);
        if (piece.failed)
            err = csc_fail_memory();
        else
            csc_buf_add(out, piece.data, piece.len);
    } while (err == CASCADE_OK && piece.len > 0);
    csc_buf_add_char(out, ']');
    csc_buf_fini(&piece);
    return err;
}

/* One of `out` has to be there. */
static cascade_err
give_outcomes(cascade_node *node, const void *what, csc_node_out out)
{
    csc_buf text = {0};
    cascade_err err = csc_node_check_origin(node);

    if (err != CASCADE_OK)
        return err;
    if (node == NULL || what == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "outcomes: an argument is NULL");
    err = add_outcomes(node, &text);
    if (err == CASCADE_OK)
        err = text.failed || node->arena.failed
                  ? csc_fail_memory()
                  : csc_node_give(node, out, text.data);
    csc_buf_fini(&text);
    return err;
}

cascade_err
cascade_node_outcomes(cascade_node *node, const cJSON **outcomes)
{
    return give_outcomes(node, outcomes, (csc_node_out){.kept = outcomes});
}

cascade_err
cascade_node_outcomes_text(cascade_node *node, const char **outcomes)
{
    return give_outcomes(node, outcomes, (csc_node_out){.text = outcomes});
}
