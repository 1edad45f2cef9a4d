/* SPDX-License-Identifier: MIT
 *
 * The node's last word: continue as new. What it says is kept in the node's
 * post, and counts when the node returns CASCADE_OK; next_run.c makes rows of
 * it. If the process dies before that commit, the node runs again.
 */
#include "node/node.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/tree.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "change/op.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/run/time_limit.h"
#include "state/state.h"
#include "store/store.h"

/* What a run may give the next one in one commit: a few commits' worth, and far
 * below what a batch can hold. */
#define CARRIED_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define CARRIED_ROW_BYTES 512 /* of a signal beside its payload, roughly */

/* The unread signals. */
static size_t
count_bytes_locked(const csc_state *state)
{
    return csc_tree_count(&state->signals) * CARRIED_ROW_BYTES +
           state->signal_bytes;
}

/* The name of the cascade's execution 0. */
static const char *
first_name_locked(const csc_state *state)
{
    const csc_exec *first = csc_view_find(state, 0);

    return first != NULL ? first->name : state->first_node;
}

/* That of the key's next run, or a new one without a key. */
static cascade_err
choose_id_locked(const cascade_node *node, cascade_uuid *id)
{
    const csc_state *state = &node->run->state;
    csc_json_span span;
    char *key = NULL;

    csc_assert(csc_lock_is_held(&node->engine->mutex));
    *id = csc_uuid_v7(csc_clock_now_ms(node->engine),
                      &node->engine->store->random);
    if (state->meta == NULL ||
        !csc_json_read_member(state->meta, "key", &span) ||
        !csc_json_read_text(span, &key))
        return CASCADE_OK;
    if (key == NULL)
        return csc_fail_memory();
    *id = csc_uuid_v8(state->user_id, key, (int64_t)state->run_number + 1);
    csc_mem_free(key);
    return CASCADE_OK;
}

/* What the next run is called and begins with. */
static cascade_err
look(const cascade_node *node, const char *first_node, csc_next_run *next)
{
    const csc_state *state = &node->run->state;
    cascade_err err = CASCADE_OK;

    csc_lock_take(&node->engine->mutex);
    next->bytes = count_bytes_locked(state);
    err = choose_id_locked(node, &next->id);
    if (first_node == NULL)
        first_node = first_name_locked(state);
    next->node = csc_arena_strdup(&node->post->arena, first_node);
    csc_lock_give(&node->engine->mutex);
    if (err == CASCADE_OK && next->node == NULL)
        err = csc_fail_memory();
    return err;
}

/* Whether nothing else of the cascade runs, so that the next run may begin; one
 * that is cancelled ends otherwise. */
static bool
is_alone(const cascade_node *node)
{
    const csc_state *state = &node->run->state;
    bool alone = false;

    csc_lock_take(&node->engine->mutex);
    alone =
        state->running == state->children + 1 || state->cancel != CSC_NO_PARENT;
    csc_lock_give(&node->engine->mutex);
    return alone;
}

static cascade_err
check_alone(cascade_node *node)
{
    if (is_alone(node))
        return CASCADE_OK;
    return cascade_node_fail(
        node, "continue as new: other executions of the cascade run; let them "
              "end first, and the last one continue");
}

/* A step behind the call may have spawned. */
cascade_err
csc_continue_as_new_check(cascade_node *node)
{
    if (node->post->next_run.node == NULL)
        return CASCADE_OK;
    if (node->post->effects.spawn_count > 0)
        return cascade_node_fail(node, "the node spawned others and continues "
                                       "as new; it can do but one of both");
    return check_alone(node);
}

static cascade_err
check_call(const cascade_node *node, const char *first_node)
{
    cascade_err err = csc_node_check_origin(node);

    if (err != CASCADE_OK)
        return err;
    if (node == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "continue as new: node is NULL");
    if (first_node != NULL)
        err = csc_check_name("node name", first_node);
    if (err == CASCADE_OK)
        err = csc_node_refuse_step(node, "to continue", "as new");
    return err == CASCADE_OK ? csc_time_limit_check_call(node->call) : err;
}

static cascade_err
continue_as_new(cascade_node *node, const char *first_node,
                csc_json_given input)
{
    csc_next_run next = {.node = NULL};
    cascade_err err = check_call(node, first_node);

    if (err != CASCADE_OK)
        return err;
    if (node->suspended)
        return csc_part_suspend(node, node->pending);
    err = csc_json_given_keep("input", input,
                              node->engine->store->config.payload_max,
                              &node->post->arena, &next.input, NULL);
    if (err == CASCADE_OK)
        err = look(node, first_node, &next);
    if (err == CASCADE_OK)
        err = check_alone(node);
    if (err != CASCADE_OK)
        return err;
    if (next.bytes > CARRIED_BYTES_MAX)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "continue as new: the unread signals come to %zu "
                        "bytes, and the next run can be given %zu; await some "
                        "of them first",
                        next.bytes, CARRIED_BYTES_MAX);
    node->post->next_run = next;
    return csc_ok();
}

cascade_err
cascade_node_continue_as_new(cascade_node *node, const char *first_node,
                             cJSON *input)
{
    cascade_err err =
        continue_as_new(node, first_node, csc_json_given_tree(input));

    cJSON_Delete(input);
    return err;
}

cascade_err
cascade_node_continue_as_new_text(cascade_node *node, const char *first_node,
                                  const char *input)
{
    return continue_as_new(node, first_node, csc_json_given_text(input));
}
