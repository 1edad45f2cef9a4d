/* SPDX-License-Identifier: MIT
 *
 * What a node reads of the context.
 *
 * WHAT A NODE SEES OF THE CONTEXT, in this order:
 *   - the events its execution sees (state.h), the same on every attempt;
 *   - what it has put itself, in this attempt;
 *   - what its steps put, those that are behind it in this entry.
 * That is the order (moment.h) which the events will have in the tables, since
 * steps come after the node they belong to.
 *
 * Each of the four is a row of its own: the events before the node's place, its
 * puts, the events behind its place, the puts of the step that it is in. The
 * texts stay where they are while it runs; so only their places are taken under
 * the lock, a piece at a time.
 */
#include "cascade/node.h"

#include <string.h>

#include "base/check.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "change/op.h"
#include "held/engine_state.h"
#include "held/run/time_limit.h"
#include "node/node.h"
#include "state/context.h"
#include "state/state.h"

#define PIECE_COUNT 1000 /* at once under the lock */

/* ---- The last value ----------------------------------------------------- */

static const char *
last_put(const csc_post *post, const char *key)
{
    size_t count = post != NULL ? csc_op_count_puts(&post->effects, key) : 0;

    return count > 0 ? csc_op_nth_put(&post->effects, key, count - 1)->value
                     : NULL;
}

static const char *
last_event(const cascade_node *node, const char *key, bool behind)
{
    csc_context context = {.exec = node->exec, .passed = &node->passed};
    const char *value = NULL;

    csc_lock_take(&node->engine->mutex);
    context.key = csc_events_key(&node->run->state, key);
    value = csc_context_last(&context, behind);
    csc_lock_give(&node->engine->mutex);
    return value;
}

static const char *
find_last(const cascade_node *node, const char *key)
{
    const char *last = last_put(node->step, key);

    if (last == NULL)
        last = last_event(node, key, true);
    if (last == NULL)
        last = last_put(node->post, key);
    return last != NULL ? last : last_event(node, key, false);
}

/* `what`: one of `out` has to be there, here and below. */
static cascade_err
get(cascade_node *node, const char *key, const void *what, csc_node_out out)
{
    const char *last = NULL;
    cascade_err err = csc_node_check(node, "get", what);

    if (err == CASCADE_OK)
        err = csc_check_text("context key", key);
    if (err != CASCADE_OK)
        return err;
    last = find_last(node, key);
    if (last == NULL)
        return csc_fail(CASCADE_ERR_NOT_FOUND,
                        "the context has no value for that key that execution "
                        "%d can see",
                        (int)node->exec->function_id);
    return csc_node_give(node, out, last);
}

cascade_err
cascade_node_get(cascade_node *node, const char *key, const cJSON **value)
{
    return get(node, key, value, (csc_node_out){.kept = value});
}

cascade_err
cascade_node_get_text(cascade_node *node, const char *key, const char **value)
{
    return get(node, key, value, (csc_node_out){.text = value});
}

/* ---- Several values ----------------------------------------------------- */

#define ROWS 4

typedef struct reading {
    cascade_node *node;
    const char *key;
    csc_context context;
    size_t counts[ROWS];
    size_t all;
} reading;

static const csc_post *
post_of(const reading *r, int row)
{
    return row == 1 ? r->node->post : r->node->step;
}

static bool
is_events(int row)
{
    return row % 2 == 0;
}

static cascade_err
open_reading(reading *r)
{
    cascade_engine *engine = r->node->engine;
    cascade_err err = CASCADE_OK;

    r->context =
        (csc_context){.exec = r->node->exec, .passed = &r->node->passed};
    csc_lock_take(&engine->mutex);
    r->context.key = csc_events_key(&r->node->run->state, r->key);
    err = csc_time_limit_check_call(r->node->call);
    if (err == CASCADE_OK)
        err = csc_context_open(&r->context);
    csc_lock_give(&engine->mutex);
    for (int row = 0; row < ROWS && err == CASCADE_OK; row++) {
        if (is_events(row))
            r->counts[row] = csc_context_count(&r->context, row > 0);
        else if (post_of(r, row) != NULL)
            r->counts[row] =
                csc_op_count_puts(&post_of(r, row)->effects, r->key);
        r->all += r->counts[row];
    }
    return err;
}

/* Unless the function is late: then it is told nothing more. */
static cascade_err
read_events(reading *r, int row, size_t nth, size_t count, const char **values)
{
    cascade_err err = CASCADE_OK;
    size_t read = 0;

    while (read < count && err == CASCADE_OK) {
        size_t piece = count - read < PIECE_COUNT ? count - read : PIECE_COUNT;

        csc_lock_take(&r->node->engine->mutex);
        err = csc_time_limit_check_call(r->node->call);
        if (err == CASCADE_OK)
            read += csc_context_read(&r->context, row > 0, nth + read, piece,
                                     &values[read]);
        csc_lock_give(&r->node->engine->mutex);
    }
    return err;
}

static void
read_puts(const reading *r, int row, size_t nth, size_t count,
          const char **values)
{
    const csc_effects *effects = &post_of(r, row)->effects;

    for (size_t i = 0; i < count; i++)
        values[i] = csc_op_nth_put(effects, r->key, nth + i)->value;
}

/* Those from the nth on, which are there. */
static cascade_err
read_values(reading *r, size_t nth, size_t count, const char **values)
{
    cascade_err err = CASCADE_OK;

    for (int row = 0; row < ROWS && count > 0 && err == CASCADE_OK; row++) {
        size_t here = 0;

        if (nth >= r->counts[row]) {
            nth -= r->counts[row];
            continue;
        }
        here = r->counts[row] - nth < count ? r->counts[row] - nth : count;
        if (is_events(row))
            err = read_events(r, row, nth, here, values);
        else
            read_puts(r, row, nth, here, values);
        values += here;
        count -= here;
        nth = 0;
    }
    return err;
}

static cascade_err
give_values(cascade_node *node, const char *const *texts, size_t count,
            csc_node_out out)
{
    csc_buf list = {0};
    cascade_err err = CASCADE_OK;

    csc_buf_add_char(&list, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            csc_buf_add_char(&list, ',');
        csc_buf_add_text(&list, texts[i]);
    }
    csc_buf_add_char(&list, ']');
    err = list.failed ? csc_fail_memory() : csc_node_give(node, out, list.data);
    csc_buf_fini(&list);
    return err;
}

/* The place of the first, of `all`. */
static size_t
place_of(int64_t begin, size_t all)
{
    uint64_t back = 0 - (uint64_t)begin;

    if (begin >= 0)
        return (uint64_t)begin < all ? (size_t)begin : all;
    return back < all ? all - (size_t)back : 0;
}

static cascade_err
read_part(reading *r, int64_t begin, size_t limit, csc_node_out out)
{
    cascade_err err = open_reading(r);
    size_t nth = place_of(begin, r->all);
    size_t count = r->all - nth < limit ? r->all - nth : limit;
    const char **texts = NULL;

    if (err == CASCADE_OK) {
        texts = csc_mem_zalloc(count + 1, sizeof(*texts));
        err = texts != NULL ? CASCADE_OK : csc_fail_memory();
    }
    if (err == CASCADE_OK)
        err = read_values(r, nth, count, texts);
    if (err == CASCADE_OK)
        err = give_values(r->node, texts, count, out);
    csc_mem_free(texts);
    csc_context_fini(&r->context);
    return err;
}

static cascade_err
history(cascade_node *node, const char *key, int64_t begin, size_t limit,
        const void *what, csc_node_out out, size_t *count)
{
    reading r = {.node = node, .key = key};
    cascade_err err = csc_node_check(node, "history", what);

    if (err == CASCADE_OK)
        err = csc_check_text("context key", key);
    if (err == CASCADE_OK)
        err = read_part(&r, begin, limit, out);
    if (err != CASCADE_OK)
        return err;
    if (count != NULL)
        *count = r.all;
    return csc_ok();
}

cascade_err
cascade_node_history_part(cascade_node *node, const char *key, int64_t begin,
                          size_t limit, const cJSON **values, size_t *count)
{
    return history(node, key, begin, limit, values,
                   (csc_node_out){.kept = values}, count);
}

cascade_err
cascade_node_history_part_text(cascade_node *node, const char *key,
                               int64_t begin, size_t limit, const char **values,
                               size_t *count)
{
    return history(node, key, begin, limit, values,
                   (csc_node_out){.text = values}, count);
}

cascade_err
cascade_node_history(cascade_node *node, const char *key, const cJSON **values)
{
    return cascade_node_history_part(node, key, 0, SIZE_MAX, values, NULL);
}

cascade_err
cascade_node_history_text(cascade_node *node, const char *key,
                          const char **values)
{
    return cascade_node_history_part_text(node, key, 0, SIZE_MAX, values, NULL);
}
