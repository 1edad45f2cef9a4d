/* SPDX-License-Identifier: MIT
 *
 * Children of a node: started, and waited for.
 *
 *   start: one INSERT, RUNNING, and the child's own rows, in one commit; the
 *          node leaves and is entered again with the child's id
 *   await: where the child runs, a wait (a gather) that comes after its part;
 *          the node leaves and is entered again when that has ended
 *
 * If the process dies before the commit there is no child, and the node starts
 * it again, with another id; after it the child is found recorded.
 */
#include "cascade/node.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "change/op.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "node/node.h"
#include "state/state.h"
#include "store/store.h"

#define CHILDREN_MAX 1000
#define ALL_CHILDREN "*" /* no name of a user's */

/* A call that starts children. */
typedef struct call {
    cascade_node *node;
    const char *name;
    const char *child_node;
    cJSON *const *inputs; /* or: */
    const char *const *texts;
    size_t count;
    cascade_child_options options;
    cascade_uuid *ids;
    csc_post *post; /* for those that are not recorded */
} call;

/* ---- Checking ----------------------------------------------------------- */

static cascade_err
check_options(call *c, const cascade_child_options *given)
{
    cascade_child_options *known = &c->options;
    cascade_err err =
        csc_check_options("child options", given, known, sizeof(*known));

    if (err == CASCADE_OK && known->queue != NULL)
        err = csc_check_name("queue", known->queue);
    if (err != CASCADE_OK)
        return err;
    if (!csc_check_is_priority(known->priority))
        return csc_fail(CASCADE_ERR_INVALID,
                        "child %s: the priority is %d; give 1 to 9, or 0 for "
                        "the parent's",
                        c->name, known->priority);
    err = csc_check_start_limits("child", known->delay_ms, known->deadline_ms);
    if (err != CASCADE_OK)
        return err;
    if ((unsigned)known->when_parent_ends > CASCADE_CHILD_ABANDON)
        return csc_fail(CASCADE_ERR_INVALID,
                        "child %s: when_parent_ends is %d; give one of "
                        "CASCADE_CHILD_*",
                        c->name, (int)known->when_parent_ends);
    return CASCADE_OK;
}

static cascade_err
check_call(call *c, const cascade_child_options *given)
{
    cascade_err err = csc_node_check_origin(c->node);

    if (err == CASCADE_OK)
        err = csc_check_name("child name", c->name);
    if (err == CASCADE_OK)
        err = csc_check_name("node name", c->child_node);
    if (err != CASCADE_OK)
        return err;
    if (c->node == NULL || c->ids == NULL ||
        (c->inputs == NULL && c->texts == NULL))
        return csc_fail(CASCADE_ERR_INVALID, "child %s: %s is NULL", c->name,
                        c->node == NULL  ? "node"
                        : c->ids == NULL ? "id"
                                         : "inputs");
    if (c->count < 1 || c->count > CHILDREN_MAX)
        return csc_fail(CASCADE_ERR_INVALID,
                        "child %s: give 1 to %d children, not %zu", c->name,
                        CHILDREN_MAX, c->count);
    err = csc_node_refuse_step(c->node, "child", c->name);
    if (err == CASCADE_OK)
        err = csc_txn_refuse(c->node, "a child");
    return err == CASCADE_OK ? check_options(c, given) : err;
}

static cascade_err
check_depth(const call *c)
{
    int max = c->node->engine->options.depth_max;

    if (c->node->run->state.depth < max)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_TOO_LARGE,
                    "child %s would be %d levels below the first cascade, and "
                    "depth_max is %d; raise it, or start a cascade of its own",
                    c->name, (int)c->node->run->state.depth + 1, max);
}

/* ---- Starting ----------------------------------------------------------- */

static cascade_err
begin_post(call *c)
{
    cascade_node *node = c->node;
    csc_post *post = NULL;
    cascade_err err = check_depth(c);

    if (err != CASCADE_OK)
        return err;
    post = csc_op_create(CSC_POST_CHILDREN, node->exec->function_id);
    if (post == NULL)
        return csc_fail_memory();
    c->post = post;
    post->reenter = true;
    post->part_name = csc_arena_join(&post->arena, CSC_CHILD_PREFIX, c->name);
    post->children =
        (csc_family){.queue = csc_arena_strdup(&post->arena, c->options.queue),
                     .priority = c->options.priority,
                     .depth = node->run->state.depth + 1,
                     .delay_ms = c->options.delay_ms,
                     .deadline_ms = c->options.deadline_ms,
                     .when_parent_ends = c->options.when_parent_ends};
    return post->arena.failed ? csc_fail_memory() : CASCADE_OK;
}

static csc_json_given
input_at(const call *c, size_t at)
{
    return c->texts != NULL ? csc_json_given_text(c->texts[at])
                            : csc_json_given_tree(c->inputs[at]);
}

/* Counted against the node's bytes. */
static cascade_err
keep_input(call *c, csc_json_given input, const char **copy)
{
    const cascade_engine *engine = c->node->engine;
    csc_post *post = c->post;
    size_t len = 0;
    cascade_err err = CASCADE_OK;

    csc_assert(post != NULL);
    err = csc_json_given_keep("input", input, engine->store->config.payload_max,
                              &post->arena, copy, &len);
    if (err == CASCADE_OK &&
        post->effects.bytes + len > engine->options.execution_bytes_max)
        err = csc_fail(CASCADE_ERR_TOO_LARGE,
                       "child %s: the inputs of one call exceed %zu bytes; "
                       "start them in several",
                       c->name, engine->options.execution_bytes_max);
    if (err == CASCADE_OK)
        post->effects.bytes += len;
    return err;
}

static cascade_err
add_child(call *c, csc_child **last, csc_json_given input, uint32_t occurrence)
{
    cascade_err err = c->post == NULL ? begin_post(c) : CASCADE_OK;
    csc_child *child = NULL;

    if (err != CASCADE_OK)
        return err;
    csc_assert(c->post != NULL);
    child = csc_arena_alloc(&c->post->arena, 1, sizeof(*child));
    if (child == NULL)
        return csc_fail_memory();
    child->id = csc_uuid_v7(csc_clock_now_ms(c->node->engine),
                            &c->node->engine->store->random);
    child->node = csc_arena_strdup(&c->post->arena, c->child_node);
    child->occurrence = occurrence;
    err = keep_input(c, input, &child->input);
    if (err == CASCADE_OK && child->node == NULL)
        err = csc_fail_memory();
    if (*last != NULL)
        (*last)->next = child;
    else
        c->post->children.first = child;
    *last = child;
    c->post->children.count++;
    return err;
}

/* Those that are recorded are found; the others are put into a post. */
static cascade_err
find_or_add(call *c)
{
    cascade_err err = CASCADE_OK;
    csc_child *last = NULL;

    for (size_t i = 0; i < c->count && err == CASCADE_OK; i++) {
        csc_part part = {.kind = CSC_PART_CHILD, .name = c->name};
        const csc_exec *recorded = NULL;
        bool leave = false;

        err = csc_part_count(c->node, &part);
        if (err == CASCADE_OK)
            recorded = csc_part_find(c->node, &part, &leave);
        if (err == CASCADE_OK && leave)
            return csc_part_suspend(c->node, NULL);
        if (err != CASCADE_OK)
            return err;
        if (recorded != NULL) {
            c->ids[i] = recorded->child;
            err = csc_part_pass(c->node, recorded);
        } else if (csc_node_is_cancelled(c->node)) {
            err = csc_part_cancelled(&part);
        } else {
            err = add_child(c, &last, input_at(c, i), part.occurrence);
        }
    }
    return err;
}

static cascade_err
start_children(call *c, const cascade_child_options *options)
{
    csc_post *post = NULL;
    cascade_err err = check_call(c, options);

    if (err != CASCADE_OK)
        return err;
    if (c->node->suspended)
        return csc_part_suspend(c->node, c->node->pending);
    err = find_or_add(c);
    post = c->post;
    if (err != CASCADE_OK) {
        csc_op_free(post);
        return err;
    }
    return post == NULL ? csc_ok() : csc_part_suspend(c->node, post);
}

cascade_err
cascade_node_start_children(cascade_node *node, const char *name,
                            const char *child_node, cJSON *const *inputs,
                            size_t count, const cascade_child_options *options,
                            cascade_uuid *ids)
{
    call c = {.node = node,
              .name = name,
              .child_node = child_node,
              .inputs = inputs,
              .count = count,
              .ids = ids};
    cascade_err err = start_children(&c, options);

    for (size_t i = 0; inputs != NULL && i < count; i++)
        cJSON_Delete(inputs[i]);
    return err;
}

cascade_err
cascade_node_start_child(cascade_node *node, const char *name,
                         const char *child_node, cJSON *input,
                         const cascade_child_options *options, cascade_uuid *id)
{
    return cascade_node_start_children(node, name, child_node, &input, 1,
                                       options, id);
}

cascade_err
cascade_node_start_children_text(cascade_node *node, const char *name,
                                 const char *child_node,
                                 const char *const *inputs, size_t count,
                                 const cascade_child_options *options,
                                 cascade_uuid *ids)
{
    call c = {.node = node,
              .name = name,
              .child_node = child_node,
              .texts = inputs,
              .count = count,
              .ids = ids};

    return start_children(&c, options);
}

cascade_err
cascade_node_start_child_text(cascade_node *node, const char *name,
                              const char *child_node, const char *input,
                              const cascade_child_options *options,
                              cascade_uuid *id)
{
    return cascade_node_start_children_text(node, name, child_node, &input, 1,
                                            options, id);
}

/* ---- Awaiting ----------------------------------------------------------- */

/* The children of this node that are behind it in this entry. Their parts stay
 * in memory, but their status may change. */
static const csc_exec *
passed_child_locked(const cascade_node *node, size_t at)
{
    const csc_exec *exec =
        csc_view_find(&node->run->state, node->passed.items[at]);

    csc_assert(csc_lock_is_held(&node->engine->mutex) &&
               at < node->passed.count);
    return exec != NULL && exec->part == CSC_PART_CHILD ? exec : NULL;
}

static const csc_exec *
find_child(cascade_node *node, const cascade_uuid *id, bool *running)
{
    const csc_state *state = &node->run->state;
    const csc_exec *child = NULL;

    csc_lock_take(&node->engine->mutex);
    child = csc_index_child(state, id, CSC_STATE_FIRST);
    while (child != NULL && !csc_view_has(&node->passed, child->function_id))
        child = csc_index_child(state, id, child->function_id);
    if (child != NULL)
        *running = child->status == CASCADE_EXECUTION_RUNNING;
    csc_lock_give(&node->engine->mutex);
    return child;
}

static cascade_err
collect(cascade_node *node, csc_ids *all, bool *running)
{
    cascade_err err = CASCADE_OK;

    *running = false;
    csc_lock_take(&node->engine->mutex);
    for (size_t i = 0; i < node->passed.count && err == CASCADE_OK; i++) {
        const csc_exec *child = passed_child_locked(node, i);

        if (child == NULL)
            continue;
        *running = *running || child->status == CASCADE_EXECUTION_RUNNING;
        err = csc_state_add_id(all, child->function_id);
    }
    csc_lock_give(&node->engine->mutex);
    return err;
}

/* Records that the node waits for those. */
static cascade_err
begin_gather(cascade_node *node, const csc_part *part, const csc_ids *after)
{
    csc_post *post = csc_op_create(CSC_POST_WAIT, node->exec->function_id);
    int32_t *ids = NULL;

    if (post == NULL)
        return csc_fail_memory();
    ids = csc_arena_alloc(&post->arena, after->count, sizeof(*ids));
    post->part_name =
        csc_arena_join(&post->arena, CSC_GATHER_PREFIX, part->name);
    if (post->arena.failed) {
        csc_op_free(post);
        return csc_fail_memory();
    }
    memcpy(ids, after->items, after->count * sizeof(*ids));
    post->gathers = ids;
    post->gather_count = after->count;
    post->part_occurrence = part->occurrence;
    post->until_ms = CASCADE_TIME_NONE;
    post->forever = true;
    post->reenter = true;
    return csc_part_suspend(node, post);
}

/* A wait for them, unless none runs and none was recorded. */
static cascade_err
gather(cascade_node *node, const csc_part *part, const csc_ids *after,
       bool running)
{
    bool leave = false;
    const csc_exec *recorded = csc_part_find(node, part, &leave);

    if (recorded != NULL)
        return csc_part_pass_one(node, part, recorded);
    if (!running)
        return CASCADE_OK;
    if (leave)
        return csc_part_suspend(node, NULL);
    if (csc_node_is_cancelled(node))
        return csc_part_cancelled(part);
    return begin_gather(node, part, after);
}

static cascade_err
check_await(const cascade_node *node, const void *id)
{
    cascade_err err = CASCADE_OK;

    if (csc_node_check_origin(node) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (node == NULL || id == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "await child: %s is NULL",
                        node == NULL ? "node" : "id");
    err = csc_node_refuse_step(node, "the end of", "a child");
    return err == CASCADE_OK ? csc_txn_refuse(node, "an await") : err;
}

static cascade_err
give_result(cascade_node *node, const csc_exec *child, csc_node_out out)
{
    if (child->status == CASCADE_EXECUTION_FAILED)
        return csc_fail(CASCADE_ERR_FAILED, "the child ended in ERROR: %s",
                        child->error != NULL ? child->error : "it failed");
    return csc_node_give(node, out, child->output);
}

static cascade_err
await_child(cascade_node *node, const cascade_uuid *id, csc_node_out out)
{
    csc_part part = {.kind = CSC_PART_GATHER};
    const csc_exec *child = NULL;
    csc_ids after = {0};
    bool running = false;
    cascade_err err = check_await(node, id);

    if (err != CASCADE_OK)
        return err;
    if (node->suspended)
        return csc_part_suspend(node, node->pending);
    child = find_child(node, id, &running);
    if (child != NULL)
        err = csc_state_add_id(&after, child->function_id);
    else
        err = csc_fail(CASCADE_ERR_NOT_FOUND,
                       "await child: this node has started no child with that "
                       "id in this entry");
    if (err == CASCADE_OK) {
        part.name = child->name + strlen(CSC_CHILD_PREFIX);
        part.occurrence = child->occurrence;
        err = gather(node, &part, &after, running);
    }
    csc_mem_free(after.items);
    return err == CASCADE_OK ? give_result(node, child, out) : err;
}

cascade_err
cascade_node_await_child(cascade_node *node, const cascade_uuid *id,
                         cJSON **result)
{
    return await_child(node, id, (csc_node_out){.tree = result});
}

cascade_err
cascade_node_await_child_text(cascade_node *node, const cascade_uuid *id,
                              const char **result)
{
    return await_child(node, id, (csc_node_out){.text = result});
}

cascade_err
cascade_node_await_children(cascade_node *node)
{
    csc_part part = {.kind = CSC_PART_GATHER, .name = ALL_CHILDREN};
    csc_ids after = {0};
    bool running = false;
    cascade_err err = check_await(node, &part);

    if (err != CASCADE_OK)
        return err;
    if (node->suspended)
        return csc_part_suspend(node, node->pending);
    err = csc_part_count(node, &part);
    if (err == CASCADE_OK)
        err = collect(node, &after, &running);
    if (err == CASCADE_OK)
        err = gather(node, &part, &after, running);
    csc_mem_free(after.items);
    return err == CASCADE_OK ? csc_ok() : err;
}
