/* SPDX-License-Identifier: MIT
 *
 * Calls of what the user has written: nodes, steps and, as steps,
 * compensations.
 *
 *   returns                    its error
 *   an exception leaves it     CASCADE_ERR_FAILED, with the exception's text:
 *                              where it was registered with a guard, which is a
 *                              function of the program that catches them
 *   a jump leaves a step       the step stays open, and whatever begins behind
 *                              it in the node is refused; when the node has
 *                              returned it has failed, whatever it says: of
 *                              what it did since nobody knows where it belongs
 *
 * No lock is held in such a call.
 */
#include "node/node.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/exception.h"
#include "cascade/node.h"
#include "change/op.h"
#include "held/run/time_limit.h"

#define TEXT_SIZE 1000

/* A call that may be guarded. */
typedef struct guarded {
    cascade_node *node;
    cascade_step_fn step; /* NULL: the node itself */
    void *arg;
    cJSON **result;
    cascade_err err;
} guarded;

static void
call_now(void *context)
{
    guarded *g = context;
    cascade_node *node = g->node;

    g->err = g->step != NULL ? g->step(node, g->arg, g->result)
                             : node->def->fn(node, node->def->user);
}

static cascade_err
call_guarded(guarded *g)
{
    cascade_guard_fn guard = g->node->def->guard;
    char text[TEXT_SIZE] = "";

    csc_assert(csc_lock_is_none_held());
    if (guard == NULL) {
        call_now(g);
        return g->err;
    }
    if (guard(call_now, g, text, sizeof(text)))
        return g->err;
    text[sizeof(text) - 1] = '\0';
    return cascade_node_error(g->node, "an exception left it: %s", text);
}

static cascade_err
close_step(cascade_node *node)
{
    csc_op_free(node->step);
    node->step = NULL;
    node->step_attempt = 0;
    csc_time_limit_note_undoing(node->engine, node->call, NULL, NULL);
    return cascade_node_error(node,
                              "step %s was left by a jump; a step has to "
                              "return",
                              node->step_name);
}

cascade_err
csc_guard_node(cascade_node *node)
{
    guarded g = {.node = node};
    cascade_err err = call_guarded(&g);

    if (node->step != NULL && csc_node_check_origin(node) == CASCADE_OK)
        return close_step(node);
    return err;
}

cascade_err
csc_guard_step(cascade_node *node, cascade_step_fn step, void *arg,
               cJSON **result)
{
    guarded g = {.node = node, .step = step, .arg = arg, .result = result};

    return call_guarded(&g);
}
