/* SPDX-License-Identifier: MIT
 *
 * Who is meant, without a walk: ordered trees of the executions in memory.
 *
 *   parts      by parent, occurrence, name and kind: what a node asks for
 *   awaits     by name, RUNNING ones only: whom a signal is for
 *   children   by the child's id: whom its end is for
 *   outside    by token: whom a completion is for
 *   stand_ins  by the one that has failed: who comes into its slots
 *   slots      of joins, by whom they were made for: whose slots those are
 *
 * In each the function_id decides last, so rows that make no sense, with a name
 * or an id twice, are found in the order of their function_ids. An execution is
 * in one of awaits, children and outside at most, and its places are part of
 * it: it enters and leaves without memory.
 */
#include "state/internal.h"

#include <string.h>

#include "base/data/tree.h"
#include "base/error.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "state/kind.h"
#include "state/state.h"

/* ---- Orders ------------------------------------------------------------- */

/* What is looked for: the first above `after`. */
typedef struct wanted {
    const void *what;
    int64_t after;
} wanted;

typedef struct wanted_part {
    int32_t parent;
    uint32_t occurrence;
    const char *name;
    int kind;
    int64_t function_id;
} wanted_part;

static int
compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static const csc_exec *
part_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_exec, as_part);
}

static csc_exec *
told_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_exec, as_told);
}

static const char *
name_of(const csc_exec *exec)
{
    return exec->name + strlen(csc_kind_prefix(exec->part));
}

static int
side_of_part(const void *key, const csc_tree_node *node)
{
    const wanted_part *w = key;
    const csc_exec *exec = part_of(node);
    int order = compare(w->parent, exec->parent);

    if (order == 0)
        order = compare(w->occurrence, exec->occurrence);
    if (order == 0)
        order = strcmp(w->name, name_of(exec));
    if (order == 0)
        order = compare(w->kind, exec->part);
    return order != 0 ? order : compare(w->function_id, exec->function_id);
}

static int
order_parts(const csc_tree_node *a, const csc_tree_node *b)
{
    const csc_exec *exec = part_of(a);
    const wanted_part w = {exec->parent, exec->occurrence, name_of(exec),
                           (int)exec->part, exec->function_id};

    csc_assert(exec->part != CSC_PART_NONE);
    return side_of_part(&w, b);
}

static int
side_of_await(const void *key, const csc_tree_node *node)
{
    const wanted *w = key;
    const csc_exec *exec = told_of(node);
    int order = strcmp(w->what, name_of(exec));

    return order != 0 ? order : compare(w->after + 1, exec->function_id);
}

static int
side_of_child(const void *key, const csc_tree_node *node)
{
    const wanted *w = key;
    const csc_exec *exec = told_of(node);
    int order = memcmp(w->what, &exec->child, sizeof(exec->child));

    return order != 0 ? order : compare(w->after + 1, exec->function_id);
}

static int
side_of_token(const void *key, const csc_tree_node *node)
{
    const wanted *w = key;
    const csc_exec *exec = told_of(node);
    int order = csc_uuid_compare_secret(w->what, &exec->external->token);

    return order != 0 ? order : compare(w->after + 1, exec->function_id);
}

static int
order_awaits(const csc_tree_node *a, const csc_tree_node *b)
{
    const csc_exec *exec = told_of(a);

    csc_assert(exec->part == CSC_PART_AWAIT);
    return side_of_await(
        &(wanted){name_of(exec), (int64_t)exec->function_id - 1}, b);
}

static int
order_children(const csc_tree_node *a, const csc_tree_node *b)
{
    const csc_exec *exec = told_of(a);

    csc_assert(exec->part == CSC_PART_CHILD);
    return side_of_child(
        &(wanted){&exec->child, (int64_t)exec->function_id - 1}, b);
}

static int
order_tokens(const csc_tree_node *a, const csc_tree_node *b)
{
    const csc_exec *exec = told_of(a);

    csc_assert(exec->external != NULL);
    return side_of_token(
        &(wanted){&exec->external->token, (int64_t)exec->function_id - 1}, b);
}

/* ---- Entering and leaving ----------------------------------------------- */

/* Where a message may look for it, and in which order; NULL: nowhere. */
static csc_tree *
index_of(csc_state *state, const csc_exec *exec, csc_tree_order **order)
{
    if (exec->external != NULL) {
        *order = order_tokens;
        return &state->outside;
    }
    if (exec->part == CSC_PART_CHILD) {
        *order = order_children;
        return &state->by_child;
    }
    *order = order_awaits;
    return exec->part == CSC_PART_AWAIT ? &state->awaits : NULL;
}

void
csc_index_enter(csc_state *state, csc_exec *exec)
{
    csc_tree_order *order = NULL;
    csc_tree *index = index_of(state, exec, &order);

    if (index != NULL && exec->as_told.count == 0 &&
        (exec->part == CSC_PART_CHILD ||
         exec->status == CASCADE_EXECUTION_RUNNING))
        csc_tree_put(index, &exec->as_told, order, NULL);
}

void
csc_index_leave(csc_state *state, csc_exec *exec)
{
    csc_tree_order *order = NULL;
    csc_tree *index = index_of(state, exec, &order);

    if (index != NULL)
        csc_tree_take(index, &exec->as_told, order, NULL);
    csc_assert(exec->as_told.count == 0);
}

void
csc_index_enter_part(csc_state *state, csc_exec *exec)
{
    csc_assert(exec->part != CSC_PART_NONE);
    if (exec->as_part.count == 0)
        csc_tree_put(&state->parts, &exec->as_part, order_parts, NULL);
}

void
csc_index_leave_part(csc_state *state, csc_exec *exec)
{
    csc_tree_take(&state->parts, &exec->as_part, order_parts, NULL);
    csc_assert(exec->as_part.count == 0);
}

/* ---- Stand-ins and slots ------------------------------------------------ */

/* The first above `after` of those that go with `of`. */
typedef struct wanted_pair {
    int64_t of;
    int64_t after;
} wanted_pair;

static csc_exec *
stand_in_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_exec, as_stand_in);
}

static csc_join_slot *
slot_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_join_slot, by_after);
}

static int
side_of_stand_in(const void *key, const csc_tree_node *node)
{
    const wanted_pair *w = key;
    const csc_exec *exec = stand_in_of(node);
    int order = compare(w->of, exec->stands_for);

    return order != 0 ? order : compare(w->after + 1, exec->function_id);
}

static int
side_of_slot(const void *key, const csc_tree_node *node)
{
    const wanted_pair *w = key;
    const csc_join_slot *slot = slot_of(node);
    int order = compare(w->of, slot->after);

    return order != 0 ? order : compare(w->after + 1, slot->join);
}

static int
order_stand_ins(const csc_tree_node *a, const csc_tree_node *b)
{
    const csc_exec *exec = stand_in_of(a);

    csc_assert(exec->stands_for != CSC_NO_PARENT);
    return side_of_stand_in(
        &(wanted_pair){exec->stands_for, (int64_t)exec->function_id - 1}, b);
}

static int
order_slots(const csc_tree_node *a, const csc_tree_node *b)
{
    const csc_join_slot *slot = slot_of(a);

    return side_of_slot(&(wanted_pair){slot->after, (int64_t)slot->join - 1},
                        b);
}

void
csc_index_enter_stand_in(csc_state *state, csc_exec *exec)
{
    csc_assert(exec->stands_for == CSC_NO_PARENT ||
               exec->stands_for < exec->function_id);
    if (exec->stands_for != CSC_NO_PARENT && exec->as_stand_in.count == 0)
        csc_tree_put(&state->stand_ins, &exec->as_stand_in, order_stand_ins,
                     NULL);
}

void
csc_index_leave_stand_in(csc_state *state, csc_exec *exec)
{
    csc_tree_take(&state->stand_ins, &exec->as_stand_in, order_stand_ins, NULL);
    csc_assert(exec->as_stand_in.count == 0);
}

void
csc_index_enter_slots(csc_state *state, csc_exec *exec)
{
    csc_assert(exec->join != NULL && exec->after.count > 0);
    for (size_t i = 0; i < exec->after.count; i++) {
        csc_join_slot *slot = &exec->join->slots[i];

        slot->after = exec->after.items[i];
        slot->join = exec->function_id;
        csc_tree_put(&state->slots, &slot->by_after, order_slots, NULL);
    }
}

void
csc_index_leave_slots(csc_state *state, csc_exec *exec)
{
    if (exec->join == NULL)
        return;
    for (size_t i = 0; i < exec->after.count; i++)
        csc_tree_take(&state->slots, &exec->join->slots[i].by_after,
                      order_slots, NULL);
}

csc_exec *
csc_index_next_stand_in(const csc_state *state, int32_t function_id,
                        int64_t after)
{
    const csc_tree_node *node =
        csc_tree_from(&state->stand_ins, &(wanted_pair){function_id, after},
                      side_of_stand_in);

    return node != NULL && stand_in_of(node)->stands_for == function_id
               ? stand_in_of(node)
               : NULL;
}

const csc_join_slot *
csc_index_next_slot(const csc_state *state, int32_t function_id, int64_t after)
{
    const csc_tree_node *node = csc_tree_from(
        &state->slots, &(wanted_pair){function_id, after}, side_of_slot);

    return node != NULL && slot_of(node)->after == function_id ? slot_of(node)
                                                               : NULL;
}

/* ---- Finding ------------------------------------------------------------ */

const csc_exec *
csc_index_await(const csc_state *state, const char *name, int64_t after)
{
    const csc_tree_node *node =
        csc_tree_from(&state->awaits, &(wanted){name, after}, side_of_await);

    return node != NULL && strcmp(name_of(told_of(node)), name) == 0
               ? told_of(node)
               : NULL;
}

const csc_exec *
csc_index_child(const csc_state *state, const cascade_uuid *id, int64_t after)
{
    const csc_tree_node *node =
        csc_tree_from(&state->by_child, &(wanted){id, after}, side_of_child);

    return node != NULL && memcmp(&told_of(node)->child, id, sizeof(*id)) == 0
               ? told_of(node)
               : NULL;
}

const csc_exec *
csc_index_outside(const csc_state *state, const cascade_uuid *token,
                  int64_t after)
{
    const csc_tree_node *node =
        csc_tree_from(&state->outside, &(wanted){token, after}, side_of_token);

    return node != NULL && csc_uuid_compare_secret(
                               &told_of(node)->external->token, token) == 0
               ? told_of(node)
               : NULL;
}

const csc_exec *
csc_index_next_part(const csc_state *state, const csc_exec *parent,
                    const csc_part *part, const csc_exec *before)
{
    wanted_part w = {parent->function_id, part->occurrence, part->name,
                     (int)part->kind, CSC_STATE_FIRST};
    const csc_tree_node *node = NULL;
    const csc_exec *exec = NULL;

    csc_assert(before == NULL || before->parent == parent->function_id);
    if (before != NULL) {
        w.kind = (int)before->part;
        w.function_id = (int64_t)before->function_id + 1;
    }
    node = csc_tree_from(&state->parts, &w, side_of_part);
    exec = node != NULL ? part_of(node) : NULL;
    return exec != NULL && exec->parent == w.parent &&
                   exec->occurrence == w.occurrence &&
                   strcmp(name_of(exec), w.name) == 0
               ? exec
               : NULL;
}
