/* SPDX-License-Identifier: MIT
 *
 * See context.h.
 */
#include "state/context.h"

#include <stdlib.h>

#include "base/count.h"
#include "base/data/search.h"
#include "base/data/tree.h"
#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "state/moment.h"
#include "state/state.h"

/* So many looks into a set of ids cost as much as one into both trees. */
#define LOOKS_PER_ID 4

static const csc_event *
event_of(const csc_tree_node *node)
{
    return node != NULL ? CSC_TREE_ITEM(node, csc_event, by_writer) : NULL;
}

static const csc_event *
part_event_of(const csc_tree_node *node)
{
    return node != NULL ? CSC_TREE_ITEM(node, csc_event, by_parent) : NULL;
}

/* ---- Places ------------------------------------------------------------- */

static int
side_of_id(const void *key, const csc_tree_node *node)
{
    const int64_t *id = key;

    return *id > event_of(node)->when.function_id ? 1 : -1;
}

/* A place among the events of parts. */
typedef struct part_place {
    int64_t parent;
    int64_t function_id;
} part_place;

static int
side_of_part(const void *key, const csc_tree_node *node)
{
    const part_place *place = key;
    const csc_event *event = part_event_of(node);

    if (place->parent != event->parent)
        return place->parent > event->parent ? 1 : -1;
    return place->function_id > event->when.function_id ? 1 : -1;
}

/* How many events have a function_id below `id`. */
static size_t
events_below(const csc_key *key, int64_t id)
{
    return csc_tree_before(&key->events, &id, side_of_id);
}

static size_t
parts_below(const csc_key *key, int64_t parent, int64_t id)
{
    return csc_tree_before(&key->of_parts, &(part_place){parent, id},
                           side_of_part);
}

static const csc_event *
nth_event(const csc_key *key, size_t nth)
{
    return event_of(csc_tree_at(&key->events, nth));
}

static const csc_event *
nth_of_parts(const csc_key *key, size_t nth)
{
    return part_event_of(csc_tree_at(&key->of_parts, nth));
}

/* ---- Plain -------------------------------------------------------------- */

static bool
is_plain(const csc_event *event, int32_t place)
{
    return event->when.function_id <= place && event->at < place;
}

/* Those below `node`, itself included, whose `at` is. */
static size_t
count_at(const csc_tree_node *node, int32_t place)
{
    const csc_tree_node *left[CSC_TREE_HEIGHT_MAX + 1] = {node};
    size_t left_count = node != NULL ? 1 : 0;
    size_t count = 0;

    while (left_count > 0) {
        const csc_tree_node *next = left[--left_count];
        const csc_event *event = event_of(next);

        csc_count_look();
        if (event->at_max < place) {
            count += next->count;
        } else if (event->at_min < place) {
            count += event->at < place ? 1 : 0;
            if (next->left != NULL)
                left[left_count++] = next->left;
            if (next->right != NULL)
                left[left_count++] = next->right;
        }
    }
    return count;
}

static size_t
count_plain(const csc_key *key, int32_t place)
{
    const csc_tree_node *node = key->events.root;
    size_t count = 0;

    while (node != NULL) {
        const csc_event *event = event_of(node);

        csc_count_look();
        if (event->when.function_id <= place) {
            count += count_at(node->left, place) + (event->at < place ? 1 : 0);
            node = node->right;
        } else {
            node = node->left;
        }
    }
    return count;
}

static const csc_event *
nth_plain(const csc_key *key, int32_t place, size_t nth)
{
    const csc_tree_node *node = key->events.root;

    while (node != NULL) {
        const csc_event *event = event_of(node);
        size_t left = event->when.function_id <= place
                          ? count_at(node->left, place)
                          : SIZE_MAX;

        csc_count_look();
        if (nth < left) {
            node = node->left;
            continue;
        }
        nth -= left;
        if (event->at < place && nth-- == 0)
            return event;
        node = node->right;
    }
    return NULL;
}

static bool
has_at(const csc_tree_node *node, int32_t place)
{
    return node != NULL && event_of(node)->at_min < place;
}

/* The last below `node` whose `at` is below: there is one. */
static const csc_event *
last_at(const csc_tree_node *node, int32_t place)
{
    for (;;) {
        csc_count_look();
        if (has_at(node->right, place))
            node = node->right;
        else if (event_of(node)->at < place)
            return event_of(node);
        else
            node = node->left;
        csc_assert(node != NULL);
    }
}

/* From the nth on, one after another: what is still to be looked at, the
 * nearest last, each with its right side. */
typedef struct walk {
    const csc_tree_node *path[CSC_TREE_HEIGHT_MAX];
    size_t count;
    int32_t place;
} walk;

static void
begin_walk(walk *w, const csc_key *key, int32_t place, size_t nth)
{
    const csc_tree_node *node = key->events.root;

    w->count = 0;
    w->place = place;
    while (node != NULL) {
        const csc_event *event = event_of(node);
        size_t left = event->when.function_id <= place
                          ? count_at(node->left, place)
                          : SIZE_MAX;

        csc_count_look();
        if (nth < left) {
            w->path[w->count++] = node;
            node = node->left;
            continue;
        }
        nth -= left;
        if (event->at < place && nth-- == 0) {
            w->path[w->count++] = node;
            return;
        }
        node = node->right;
    }
}

static const csc_event *
next_of_walk(walk *w)
{
    csc_assert(w->count <= CSC_TREE_HEIGHT_MAX);
    while (w->count > 0) {
        const csc_tree_node *node = w->path[--w->count];
        const csc_event *event = event_of(node);

        csc_count_look();
        if (event->when.function_id > w->place)
            return NULL;
        for (node = node->right; has_at(node, w->place); node = node->left)
            w->path[w->count++] = node;
        if (event->at < w->place)
            return event;
    }
    return NULL;
}

static const csc_event *
last_plain(const csc_key *key, int32_t place)
{
    const csc_tree_node *path[CSC_TREE_HEIGHT_MAX];
    const csc_tree_node *node = key->events.root;
    size_t count = 0;

    while (node != NULL) { /* those before its place, the last one last */
        csc_count_look();
        if (event_of(node)->when.function_id <= place) {
            path[count++] = node;
            node = node->right;
        } else {
            node = node->left;
        }
    }
    while (count > 0) {
        node = path[--count];
        if (event_of(node)->at < place)
            return event_of(node);
        if (has_at(node->left, place))
            return last_at(node->left, place);
    }
    return NULL;
}

/* ---- Joined ------------------------------------------------------------- */

/* Visible by the `seen` set alone. */
static bool
is_joined(const csc_context *c, const csc_event *event)
{
    csc_count_look();
    return !is_plain(event, c->exec->place) &&
           csc_view_sees(event, c->exec->place, &c->exec->seen);
}

/* The events of `writer`, or of its parts, between two ids; calls for each. */
typedef void found_event(void *context, const csc_event *event);

static void
each_of(const csc_context *c, int32_t writer, found_event *found, void *context)
{
    const csc_key *key = c->key;
    size_t to = events_below(key, (int64_t)writer + 1);

    for (size_t i = events_below(key, writer); i < to; i++) {
        const csc_event *event = nth_event(key, i);

        csc_assert(event != NULL);
        if (is_joined(c, event))
            found(context, event);
    }
    to = parts_below(key, (int64_t)writer + 1, INT64_MIN);
    for (size_t i = parts_below(key, writer, INT64_MIN); i < to; i++) {
        const csc_event *event = nth_of_parts(key, i);

        csc_assert(event != NULL);
        if (is_joined(c, event) &&
            !csc_view_has(&c->exec->seen, event->when.function_id))
            found(context, event);
    }
}

/* The last joined one of those at places [from, to), by the way of fewer looks:
 * from behind, or by each that was joined. */
typedef struct last_search {
    int64_t from; /* function_ids: [from, to) */
    int64_t to;
    const csc_event *last;
} last_search;

static void
note_last(void *context, const csc_event *event)
{
    last_search *search = context;

    if (event->when.function_id >= search->from &&
        event->when.function_id < search->to &&
        (search->last == NULL ||
         csc_moment_order(&search->last->when, &event->when) < 0))
        search->last = event;
}

static const csc_event *
last_joined(const csc_context *c, int64_t from, int64_t to)
{
    const csc_ids *seen = &c->exec->seen;
    last_search search = {from, to, NULL};
    size_t first = 0;
    size_t end = 0;

    csc_assert(from <= to);
    if (seen->count == 0)
        return NULL;
    first = events_below(c->key, from);
    end = events_below(c->key, to);
    if ((end - first) / LOOKS_PER_ID > seen->count) {
        for (size_t i = 0; i < seen->count; i++)
            each_of(c, seen->items[i], note_last, &search);
        return search.last;
    }
    for (; end > first; end--) {
        const csc_event *event = nth_event(c->key, end - 1);

        if (is_joined(c, event))
            return event;
    }
    return NULL;
}

/* ---- The node's own parts ----------------------------------------------- */

static int64_t
last_passed(const csc_context *c)
{
    return c->passed->count > 0 ? c->passed->items[c->passed->count - 1]
                                : INT64_MIN;
}

static const csc_event *
last_own(const csc_context *c)
{
    int64_t id = c->exec->function_id;
    size_t first = parts_below(c->key, id, INT64_MIN);
    size_t end = 0;

    if (c->passed->count == 0)
        return NULL;
    end = parts_below(c->key, id, last_passed(c) + 1);
    for (; end > first; end--) {
        const csc_event *event = nth_of_parts(c->key, end - 1);

        csc_assert(event != NULL);
        if (csc_view_has(c->passed, event->when.function_id))
            return event;
    }
    return NULL;
}

/* ---- The last ----------------------------------------------------------- */

const char *
csc_context_last(const csc_context *context, bool behind)
{
    int32_t place = context->exec->place;
    const csc_event *last = NULL;
    const csc_event *joined = NULL;

    if (context->key == NULL)
        return NULL;
    last = behind ? last_own(context) : last_plain(context->key, place);
    joined = last_joined(context,
                         last != NULL ? last->when.function_id
                                      : (behind ? place : INT64_MIN),
                         behind ? INT64_MAX : place);
    if (joined != NULL &&
        (last == NULL || csc_moment_order(&last->when, &joined->when) < 0))
        last = joined;
    return last != NULL ? last->value : NULL;
}

/* ---- All of them -------------------------------------------------------- */

typedef struct gathering {
    const csc_event ***list;
    size_t *count;
    size_t *room;
    bool failed;
} gathering;

static void
gather(void *context, const csc_event *event)
{
    gathering *g = context;
    void *list = *g->list;

    if (g->failed ||
        csc_mem_grow(&list, g->room, *g->count + 1, sizeof(event)) != 0) {
        g->failed = true;
        return;
    }
    *g->list = list;
    (*g->list)[(*g->count)++] = event;
}

static int
order_gathered(const void *a, const void *b)
{
    return csc_moment_order(&(*(const csc_event *const *)a)->when,
                            &(*(const csc_event *const *)b)->when);
}

/* By the way of fewer looks, again. */
static bool
gather_joined(csc_context *c)
{
    const csc_ids *seen = &c->exec->seen;
    gathering g = {&c->joined, &c->joined_count, &c->joined_room, false};
    size_t events = csc_tree_count(&c->key->events);

    csc_assert(c->joined_count == 0 && c->joined_before == 0);
    if (seen->count == 0)
        return true;
    if (events / LOOKS_PER_ID > seen->count) {
        for (size_t i = 0; i < seen->count; i++)
            each_of(c, seen->items[i], gather, &g);
        if (c->joined_count > 1)
            qsort(c->joined, c->joined_count, sizeof(*c->joined),
                  order_gathered);
    } else {
        for (size_t i = 0; i < events; i++)
            if (is_joined(c, nth_event(c->key, i)))
                gather(&g, nth_event(c->key, i));
    }
    while (c->joined_before < c->joined_count &&
           c->joined[c->joined_before]->when.function_id < c->exec->place)
        c->joined_before++;
    return !g.failed;
}

/* How many recorded parts the node might have passed, up to the last that it
 * has. */
static size_t
passable(const csc_context *c)
{
    const csc_ids *parts = &c->exec->parts;

    return csc_search_i32(parts->items, parts->count, sizeof(parts->items[0]),
                          0, last_passed(c) + 1);
}

static bool
gather_own(csc_context *c)
{
    int64_t id = c->exec->function_id;
    size_t end = 0;
    size_t count = 0;
    gathering g = {&c->own, &count, &c->own_room, false};

    if (c->passed->count == 0)
        return true;
    c->own_from = parts_below(c->key, id, INT64_MIN);
    end = parts_below(c->key, id, last_passed(c) + 1);
    csc_assert(end >= c->own_from);
    c->own_count = end - c->own_from;
    if (passable(c) == c->passed->count || c->own_count == 0)
        return true;
    for (size_t i = c->own_from; i < end; i++) {
        const csc_event *event = nth_of_parts(c->key, i);

        csc_assert(event != NULL);
        if (csc_view_has(c->passed, event->when.function_id))
            gather(&g, event);
    }
    c->own_count = count;
    return !g.failed;
}

cascade_err
csc_context_open(csc_context *context)
{
    if (context->key == NULL)
        return CASCADE_OK;
    context->plain_count = count_plain(context->key, context->exec->place);
    return gather_joined(context) && gather_own(context) ? CASCADE_OK
                                                         : csc_fail_memory();
}

void
csc_context_fini(csc_context *context)
{
    csc_mem_free(context->joined);
    csc_mem_free(context->own);
    context->joined = NULL;
    context->own = NULL;
}

size_t
csc_context_count(const csc_context *context, bool behind)
{
    csc_assert(context->joined_before <= context->joined_count);
    return behind ? context->own_count + context->joined_count -
                        context->joined_before
                  : context->plain_count + context->joined_before;
}

/* ---- Reading ------------------------------------------------------------ */

/* Of the two that a row is merged of: the plain ones, or the node's own, */
static const csc_event *
nth_direct(const csc_context *c, bool behind, size_t nth)
{
    if (!behind)
        return nth_plain(c->key, c->exec->place, nth);
    if (nth >= c->own_count)
        return NULL;
    return c->own != NULL ? c->own[nth]
                          : nth_of_parts(c->key, c->own_from + nth);
}

/* and the joined ones. How many of these are among the first `nth` of the row:
 * the lowest number j for which the next joined one does not come before the
 * last of the nth - j others. */
static size_t
joined_among(const csc_context *c, bool behind, size_t nth)
{
    size_t skip = behind ? c->joined_before : 0;
    size_t count = behind ? c->joined_count - skip : c->joined_before;
    size_t others = csc_context_count(c, behind) - count;
    size_t from = nth > others ? nth - others : 0;
    size_t to = nth < count ? nth : count;

    csc_assert(nth < csc_context_count(c, behind));
    while (from < to) {
        size_t j = from + (to - from) / 2;

        if (csc_moment_order(&c->joined[skip + j]->when,
                             &nth_direct(c, behind, nth - j - 1)->when) < 0)
            from = j + 1;
        else
            to = j;
    }
    csc_assert(from <= nth && from <= count);
    return from;
}

size_t
csc_context_read(csc_context *context, bool behind, size_t nth, size_t count,
                 const char **values)
{
    size_t all = csc_context_count(context, behind);
    size_t end = behind ? context->joined_count : context->joined_before;
    size_t j = 0;
    size_t other = 0;
    size_t read = 0;
    const csc_event *direct = NULL;
    walk w;

    if (nth >= all)
        return 0;
    w.count = 0;
    w.place = context->exec->place;
    context->own_from = /* others may have put meanwhile */
        parts_below(context->key, context->exec->function_id, INT64_MIN);
    j = joined_among(context, behind, nth);
    other = nth - j;
    j += behind ? context->joined_before : 0;
    if (!behind)
        begin_walk(&w, context->key, context->exec->place, other);
    direct = behind ? nth_direct(context, true, other) : next_of_walk(&w);
    for (; read < count && read < all - nth; read++) {
        if (j < end &&
            (direct == NULL ||
             csc_moment_order(&context->joined[j]->when, &direct->when) < 0)) {
            values[read] = context->joined[j++]->value;
        } else {
            csc_assert(direct != NULL);
            values[read] = direct->value;
            direct =
                behind ? nth_direct(context, true, ++other) : next_of_walk(&w);
        }
    }
    csc_assert(read <= count);
    return read;
}
