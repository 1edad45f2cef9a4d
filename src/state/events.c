/* SPDX-License-Identifier: MIT
 *
 * The context: the events of each key, in the order of (function_id,
 * created_at, id), and those of parts by their parents besides. What an
 * execution sees of them is in context.c.
 */
#include "state/internal.h"

#include <string.h>

#include "base/data/tree.h"
#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "state/moment.h"
#include "state/state.h"
#include "state/supersede.h"

/* ---- Orders ------------------------------------------------------------- */

static csc_key *
key_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_key, by_name);
}

static csc_event *
event_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_event, by_writer);
}

static csc_event *
part_event_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_event, by_parent);
}

static int
compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int
side_of_key(const void *name, const csc_tree_node *node)
{
    return strcmp(name, key_of(node)->name);
}

static int
order_keys(const csc_tree_node *a, const csc_tree_node *b)
{
    return side_of_key(key_of(a)->name, b);
}

static int
order_events(const csc_tree_node *a, const csc_tree_node *b)
{
    return csc_moment_order(&event_of(a)->when, &event_of(b)->when);
}

static int
order_part_events(const csc_tree_node *a, const csc_tree_node *b)
{
    const csc_event *x = part_event_of(a);
    const csc_event *y = part_event_of(b);
    int order = compare(x->parent, y->parent);

    csc_assert(x->parent != CSC_NO_PARENT && y->parent != CSC_NO_PARENT);
    return order != 0 ? order : csc_moment_order(&x->when, &y->when);
}

static int
side_of_writer(const void *function_id, const csc_tree_node *node)
{
    return compare(*(const int64_t *)function_id,
                   event_of(node)->when.function_id);
}

/* Before the first event of that writer: two of one are equal to it. */
static int
side_before_writer(const void *function_id, const csc_tree_node *node)
{
    return side_of_writer(function_id, node) > 0 ? 1 : -1;
}

/* The lowest and the highest `at` of an event and all below it. */
static void
sum_at(csc_tree_node *node)
{
    csc_event *event = event_of(node);
    const csc_tree_node *const sides[2] = {node->left, node->right};

    event->at_min = event->at;
    event->at_max = event->at;
    for (int i = 0; i < 2; i++) {
        const csc_event *below = sides[i] != NULL ? event_of(sides[i]) : NULL;

        if (below != NULL && below->at_min < event->at_min)
            event->at_min = below->at_min;
        if (below != NULL && below->at_max > event->at_max)
            event->at_max = below->at_max;
    }
    csc_assert(event->at_min <= event->at && event->at <= event->at_max);
}

/* ---- Keeping ------------------------------------------------------------ */

static void
free_event(csc_event *event)
{
    csc_mem_free(event->value);
    csc_mem_free(event->ui_value);
    csc_mem_free(event);
}

static void
free_key(csc_key *key)
{
    csc_mem_free(key->name);
    csc_mem_free(key);
}

bool
csc_events_free_some_events(csc_state *state, size_t max)
{
    while (csc_tree_count(&state->keys) > 0 && max > 0) {
        csc_key *key = key_of(csc_tree_at(&state->keys, 0));

        for (; max > 0 && csc_tree_count(&key->events) > 0; max--)
            free_event(event_of(csc_tree_pluck(&key->events)));
        if (max == 0)
            return false;
        csc_tree_take(&state->keys, &key->by_name, order_keys, NULL);
        free_key(key);
        max--;
    }
    return csc_tree_count(&state->keys) == 0;
}

void
csc_events_free_events(csc_state *state)
{
    (void)csc_events_free_some_events(state, SIZE_MAX);
}

const csc_key *
csc_events_key(const csc_state *state, const char *name)
{
    const csc_tree_node *node = csc_tree_from(&state->keys, name, side_of_key);

    return node != NULL && strcmp(key_of(node)->name, name) == 0 ? key_of(node)
                                                                 : NULL;
}

const csc_key *
csc_events_nth_key(const csc_state *state, size_t nth)
{
    const csc_tree_node *node = csc_tree_at(&state->keys, nth);

    return node != NULL ? key_of(node) : NULL;
}

const csc_event *
csc_events_nth_event(const csc_key *key, size_t nth)
{
    const csc_tree_node *node = csc_tree_at(&key->events, nth);

    return node != NULL ? event_of(node) : NULL;
}

static cascade_err
get_key(csc_state *state, const char *name, csc_key **key)
{
    csc_tree_node *node = csc_tree_from(&state->keys, name, side_of_key);

    if (node != NULL && strcmp(key_of(node)->name, name) == 0) {
        *key = key_of(node);
        return CASCADE_OK;
    }
    *key = csc_mem_zalloc(1, sizeof(**key));
    if (*key == NULL)
        return csc_fail_memory();
    (*key)->name = csc_mem_strdup(name);
    if ((*key)->name == NULL) {
        csc_mem_free(*key);
        return csc_fail_memory();
    }
    csc_tree_put(&state->keys, &(*key)->by_name, order_keys, NULL);
    return CASCADE_OK;
}

static cascade_err
new_event(const cascade_event_row *row, csc_event **out)
{
    csc_event *event = csc_mem_zalloc(1, sizeof(*event));

    if (event == NULL)
        return csc_fail_memory();
    event->value = csc_mem_strdup(row->value);
    event->ui_value = csc_mem_strdup(row->ui_value);
    if (event->value == NULL ||
        (row->ui_value != NULL && event->ui_value == NULL)) {
        free_event(event);
        return csc_fail_memory();
    }
    event->when = (csc_moment){.created_at_us = row->created_at_us,
                               .function_id = row->function_id};
    event->parent = CSC_NO_PARENT;
    *out = event;
    return CASCADE_OK;
}

/* ---- Of others ---------------------------------------------------------- */

/* Never, until its writer has ended. */
#define UNDATED INT32_MAX

cascade_err
csc_events_note_early(csc_state *state, int32_t function_id, int32_t count)
{
    void *earlies = state->earlies;

    csc_assert(count > 0);
    if (csc_mem_grow(&earlies, &state->early_room, state->early_count + 1,
                     sizeof(*state->earlies)) != 0)
        return csc_fail_memory();
    state->earlies = earlies;
    state->earlies[state->early_count++] = (csc_early){function_id, count};
    return CASCADE_OK;
}

/* Whether it is one of what was superseded. Those of one execution come one
 * after another, and executions in their order. */
static bool
take_early(csc_state *state, int32_t function_id)
{
    for (size_t i = 0; i < state->early_count; i++) {
        csc_early *early = &state->earlies[i];

        if (early->function_id == function_id && early->left > 0) {
            early->left--;
            return true;
        }
    }
    return false;
}

/* From where on it counts. */
static int32_t
date_early(int32_t function_id)
{
    return function_id > INT32_MIN ? function_id - 1 : function_id;
}

static int32_t
date_of(csc_exec *writer, const cascade_event_row *row)
{
    bool running = writer->status == CASCADE_EXECUTION_RUNNING;

    if (writer->early < writer->early_max) {
        writer->early++;
        if (writer->early == 1 || row->created_at_us > writer->early_us)
            writer->early_us = row->created_at_us;
        return date_early(row->function_id);
    }
    writer->undated = writer->undated || running;
    return running ? UNDATED : writer->at;
}

/* ---- Applying ----------------------------------------------------------- */

static cascade_err
add_event(csc_state *state, const cascade_event_row *row, int32_t at)
{
    const csc_exec *writer = csc_view_find(state, row->function_id);
    csc_event *event = NULL;
    csc_key *key = NULL;
    cascade_err err = get_key(state, row->key, &key);

    if (err == CASCADE_OK)
        err = new_event(row, &event);
    if (err != CASCADE_OK)
        return err;
    csc_assert(key != NULL && event != NULL);
    event->at = at;
    if (writer != NULL && writer->part != CSC_PART_NONE)
        event->parent = writer->parent;
    event->when.number = ++key->last_number;
    csc_tree_put(&key->events, &event->by_writer, order_events, sum_at);
    if (event->parent != CSC_NO_PARENT)
        csc_tree_put(&key->of_parts, &event->by_parent, order_part_events,
                     NULL);
    return CASCADE_OK;
}

static cascade_err
apply_event(csc_state *state, const cascade_event_row *row)
{
    csc_exec *writer = csc_view_find(state, row->function_id);
    int32_t at = row->function_id;

    if (row->function_id > state->fn_id)
        state->fn_id = row->function_id; /* not to be given to another one */
    if (csc_supersede_by(&state->course, row->function_id) != CSC_COURSE_NONE) {
        if (!take_early(state, row->function_id))
            return CASCADE_OK;
        at = date_early(row->function_id);
    } else if (writer != NULL) {
        at = date_of(writer, row);
    }
    return add_event(state, row, at);
}

cascade_err
csc_events_apply_event(csc_state *state, const cascade_event_row *row)
{
    int64_t before = csc_mem_tally();
    cascade_err err = apply_event(state, row);

    state->bytes += csc_mem_tally() - before;
    return err;
}

static void
date_key(csc_key *key, const csc_exec *exec)
{
    const int64_t writer = exec->function_id;
    size_t nth = csc_tree_before(&key->events, &writer, side_before_writer);
    csc_tree_node *node = csc_tree_at(&key->events, nth);

    csc_assert(exec->status != CASCADE_EXECUTION_RUNNING);
    for (;
         node != NULL && event_of(node)->when.function_id == exec->function_id;
         node = csc_tree_at(&key->events, ++nth)) {
        if (event_of(node)->at != UNDATED)
            continue;
        csc_tree_take(&key->events, node, order_events, sum_at);
        event_of(node)->at = exec->at;
        csc_tree_put(&key->events, node, order_events, sum_at);
    }
}

void
csc_events_date_events(csc_state *state, const csc_exec *exec)
{
    csc_assert(exec->status != CASCADE_EXECUTION_RUNNING && exec->undated);
    for (size_t i = 0; i < csc_tree_count(&state->keys); i++)
        date_key(key_of(csc_tree_at(&state->keys, i)), exec);
}
