/* SPDX-License-Identifier: MIT
 *
 * Signals in the state: those that are unread, and which await took which.
 *
 * The row of an await that has ended names the signal it took. Live, that
 * signal is there, or its row comes with the same commit, a moment later. On
 * hydration rows come by function_id, so an await that was there first is
 * applied before its signal: then the pair is kept in `takings` until that
 * comes. Either way what the signal brought goes to the await, and stays there
 * as long as its straight-line node may ask for it.
 */
#include "state/internal.h"

#include <string.h>

#include "base/data/tree.h"
#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "state/state.h"

bool
csc_signals_is_signal(const cascade_execution_row *row)
{
    return row->status == CASCADE_EXECUTION_COMPLETED &&
           strncmp(row->node_name, CSC_SIGNAL_PREFIX,
                   strlen(CSC_SIGNAL_PREFIX)) == 0;
}

/* ---- Orders ------------------------------------------------------------- */

/* What is looked for: the first above `after`. */
typedef struct wanted {
    const char *name;
    int64_t after;
} wanted;

static csc_signal *
signal_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_signal, by_id);
}

static csc_signal *
named_signal_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_signal, by_name);
}

static csc_taking *
taking_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_taking, by_signal);
}

static int
compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int
side_of_signal(const void *key, const csc_tree_node *node)
{
    return compare(*(const int32_t *)key, signal_of(node)->function_id);
}

static int
side_of_taking(const void *key, const csc_tree_node *node)
{
    return compare(*(const int32_t *)key, taking_of(node)->signal);
}

static int
side_of_name(const void *key, const csc_tree_node *node)
{
    const wanted *w = key;
    const csc_signal *signal = named_signal_of(node);
    int order = strcmp(w->name, signal->name);

    return order != 0 ? order : compare(w->after + 1, signal->function_id);
}

static int
order_signals(const csc_tree_node *a, const csc_tree_node *b)
{
    return side_of_signal(&signal_of(a)->function_id, b);
}

static int
order_takings(const csc_tree_node *a, const csc_tree_node *b)
{
    return compare(taking_of(a)->signal, taking_of(b)->signal);
}

static int
order_names(const csc_tree_node *a, const csc_tree_node *b)
{
    const csc_signal *signal = named_signal_of(a);

    return side_of_name(
        &(wanted){signal->name, (int64_t)signal->function_id - 1}, b);
}

/* ---- Keeping ------------------------------------------------------------ */

static size_t
bytes_of(const csc_signal *signal)
{
    return signal->payload != NULL ? strlen(signal->payload) : 0;
}

static void
free_signal(csc_signal *signal)
{
    csc_mem_free(signal->name);
    csc_mem_free(signal->payload);
    csc_mem_free(signal);
}

bool
csc_signals_free_some_signals(csc_state *state, size_t max)
{
    for (; max > 0 && csc_tree_count(&state->signals) > 0; max--)
        free_signal(signal_of(csc_tree_pluck(&state->signals)));
    return csc_tree_count(&state->signals) == 0;
}

void
csc_signals_free_signals(csc_state *state)
{
    csc_tree_node *node = NULL;

    (void)csc_signals_free_some_signals(state, SIZE_MAX);
    node = csc_tree_pluck(&state->takings);
    for (; node != NULL; node = csc_tree_pluck(&state->takings))
        csc_mem_free(taking_of(node));
}

/* What a row brings: NULL for {}. */
static cascade_err
copy_payload(const cascade_execution_row *row, char **payload)
{
    *payload = NULL;
    if (strcmp(row->input, "{}") == 0)
        return CASCADE_OK;
    *payload = csc_mem_strdup(row->input);
    return *payload != NULL ? CASCADE_OK : csc_fail_memory();
}

/* The await whose ended row names that signal, which is forgotten then; true
 * when there is one. */
static bool
find_taking(csc_state *state, int32_t signal, int32_t *await)
{
    csc_tree_node *node =
        csc_tree_from(&state->takings, &signal, side_of_taking);
    csc_taking *taking = node != NULL ? taking_of(node) : NULL;

    if (taking == NULL || taking->signal != signal)
        return false;
    *await = taking->await;
    csc_tree_take(&state->takings, node, order_takings, NULL);
    csc_mem_free(taking);
    return true;
}

static void
give(csc_exec *await, char *payload)
{
    csc_assert(await->part == CSC_PART_AWAIT);
    csc_mem_free(await->output);
    await->output = payload;
}

/* Takes `payload`, unless it fails. */
static cascade_err
keep_unread(csc_state *state, const cascade_execution_row *row, char *payload)
{
    csc_signal *signal = csc_mem_zalloc(1, sizeof(*signal));

    if (signal == NULL)
        return csc_fail_memory();
    signal->name = csc_mem_strdup(row->node_name + strlen(CSC_SIGNAL_PREFIX));
    if (signal->name == NULL) {
        csc_mem_free(signal);
        return csc_fail_memory();
    }
    signal->function_id = row->function_id;
    signal->payload = payload;
    csc_tree_put(&state->signals, &signal->by_id, order_signals, NULL);
    csc_tree_put(&state->signals_by_name, &signal->by_name, order_names, NULL);
    state->signal_bytes += bytes_of(signal);
    csc_assert(csc_tree_count(&state->signals) ==
               csc_tree_count(&state->signals_by_name));
    return CASCADE_OK;
}

cascade_err
csc_signals_add_signal(csc_state *state, const cascade_execution_row *row)
{
    csc_exec *await = NULL;
    char *payload = NULL;
    int32_t id = CSC_NO_PARENT;
    cascade_err err = copy_payload(row, &payload);

    csc_assert(csc_signals_is_signal(row));
    if (err != CASCADE_OK)
        return err;
    if (find_taking(state, row->function_id, &id)) {
        await = csc_view_find(state, id);
        if (await != NULL)
            give(await, payload);
        else
            csc_mem_free(payload);
        return CASCADE_OK;
    }
    err = keep_unread(state, row, payload);
    if (err != CASCADE_OK)
        csc_mem_free(payload);
    return err;
}

/* Of several awaits that name one signal, which makes no sense, the first is
 * to have it. */
static cascade_err
add_taking(csc_state *state, int32_t await, int32_t signal)
{
    const csc_tree_node *node =
        csc_tree_from(&state->takings, &signal, side_of_taking);
    csc_taking *taking = NULL;

    if (node != NULL && taking_of(node)->signal == signal)
        return CASCADE_OK;
    taking = csc_mem_zalloc(1, sizeof(*taking));
    if (taking == NULL)
        return csc_fail_memory();
    taking->await = await;
    taking->signal = signal;
    csc_tree_put(&state->takings, &taking->by_signal, order_takings, NULL);
    return CASCADE_OK;
}

cascade_err
csc_signals_take_signal(csc_state *state, csc_exec *await, int32_t signal)
{
    csc_tree_node *node =
        csc_tree_from(&state->signals, &signal, side_of_signal);
    csc_signal *found = node != NULL ? signal_of(node) : NULL;

    csc_assert(await->part == CSC_PART_AWAIT &&
               await->status != CASCADE_EXECUTION_RUNNING);
    if (found == NULL || found->function_id != signal)
        return add_taking(state, await->function_id, signal);
    csc_tree_take(&state->signals, &found->by_id, order_signals, NULL);
    csc_tree_take(&state->signals_by_name, &found->by_name, order_names, NULL);
    csc_assert(state->signal_bytes >= bytes_of(found));
    state->signal_bytes -= bytes_of(found);
    give(await, found->payload);
    found->payload = NULL;
    free_signal(found);
    return CASCADE_OK;
}

/* ---- Finding ------------------------------------------------------------ */

const csc_signal *
csc_signals_signal(const csc_state *state, const char *name, int64_t after)
{
    const csc_tree_node *node = csc_tree_from(
        &state->signals_by_name, &(wanted){name, after}, side_of_name);

    return node != NULL && strcmp(named_signal_of(node)->name, name) == 0
               ? named_signal_of(node)
               : NULL;
}

const csc_signal *
csc_signals_nth_signal(const csc_state *state, size_t nth)
{
    const csc_tree_node *node = csc_tree_at(&state->signals, nth);

    return node != NULL ? signal_of(node) : NULL;
}
