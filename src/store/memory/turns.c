/* SPDX-License-Identifier: MIT
 *
 * Queues with limits in the memory store: S96, S98. Of its runs the queue has
 * two trees, which a run enters and leaves with its place (runs.c), by what its
 * row says:
 *
 *   turns   free, and waits by its key      also on the shelf of that need
 *   slots   owned, with a slot              also in the ring of its owner
 *
 * Both are in the order of (key, priority, wake_at, id), so the first run of a
 * key, the next key, and how many of a key there are, are each one look into a
 * tree. The node is part of the run: entering cannot fail.
 */
#include "store/memory/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"

static const csc_memory_run *
run_of(const csc_tree_node *node)
{
    const char *at = (const char *)node;

    return (const csc_memory_run *)(const void *)(at - offsetof(csc_memory_run,
                                                                turn));
}

static int
compare_runs(const csc_tree_node *a, const csc_tree_node *b)
{
    const cascade_run_row *left = &run_of(a)->row;
    const cascade_run_row *right = &run_of(b)->row;
    int order = strcmp(left->limit_key, right->limit_key);

    if (order != 0)
        return order;
    if (left->priority != right->priority)
        return left->priority > right->priority ? -1 : 1;
    if (left->wake_at_ms != right->wake_at_ms)
        return left->wake_at_ms < right->wake_at_ms ? -1 : 1;
    return csc_uuid_compare(&left->cascade_id, &right->cascade_id);
}

/* In front of the first run of that key, and of those behind it. */
static int
side_from(const void *key, const csc_tree_node *node)
{
    return strcmp(key, run_of(node)->row.limit_key);
}

/* Behind the last run of that key. */
static int
side_behind(const void *key, const csc_tree_node *node)
{
    return strcmp(key, run_of(node)->row.limit_key) >= 0 ? 1 : -1;
}

bool
csc_memory_turns_is_kept(const csc_memory_queue *queue)
{
    return queue != NULL && queue->version > 0;
}

bool
csc_memory_turns_is_waiting(const cascade_run_row *row)
{
    return csc_uuid_is_nil(&row->engine_id) && row->needs != NULL &&
           strcmp(row->needs, CASCADE_NEEDS_TURN) == 0;
}

bool
csc_memory_turns_is_to_wait(const csc_memory_queue *queue,
                            const cascade_run_row *row, int64_t now_ms)
{
    return csc_memory_turns_is_kept(queue) &&
           csc_uuid_is_nil(&row->engine_id) && row->needs == NULL &&
           row->limit_key != NULL && row->limit_key[0] != '\0' &&
           row->takeovers == 0 && row->wake_at_ms <= now_ms;
}

/* The tree that a run is in; NULL: none. */
static csc_tree *
tree_of(const csc_memory_model *model, const csc_memory_run *run)
{
    csc_memory_queue *queue = NULL;
    bool waits = csc_memory_turns_is_waiting(&run->row);

    csc_assert(csc_lock_is_held(&model->mutex));
    if (!waits && (run->row.slot == 0 || csc_uuid_is_nil(&run->row.engine_id)))
        return NULL;
    queue = csc_memory_names_get(&model->queues, run->row.queue);
    csc_assert(queue != NULL);
    return waits ? &queue->turns : &queue->slots;
}

void
csc_memory_turns_enter(csc_memory_model *model, csc_memory_run *run)
{
    csc_tree *tree = tree_of(model, run);

    if (tree != NULL)
        csc_tree_put(tree, &run->turn, compare_runs, NULL);
}

void
csc_memory_turns_leave(csc_memory_model *model, csc_memory_run *run)
{
    csc_tree *tree = tree_of(model, run);

    if (tree != NULL)
        csc_tree_take(tree, &run->turn, compare_runs, NULL);
}

/* ---- Room ---------------------------------------------------------------- */

static size_t
room_of(int32_t max, size_t used, size_t most)
{
    size_t room = 0;

    if (max == 0)
        return most;
    if ((size_t)max > used)
        room = (size_t)max - used;
    return room < most ? room : most;
}

size_t
csc_memory_turns_room(const csc_memory_queue *queue, size_t most)
{
    return room_of(queue->running_max, csc_tree_count(&queue->slots), most);
}

size_t
csc_memory_turns_key_room(const csc_memory_queue *queue, const char *key,
                          size_t most)
{
    size_t used = csc_tree_before(&queue->slots, key, side_behind) -
                  csc_tree_before(&queue->slots, key, side_from);

    return room_of(queue->key_running_max, used, most);
}

cascade_err
csc_memory_turns_slots(const csc_memory_queue *queue, const char *key,
                       size_t limit, cascade_slot_sink sink, void *context)
{
    const csc_tree *slots = &queue->slots;
    size_t at = key != NULL ? csc_tree_before(slots, key, side_from) : 0;
    size_t end = key != NULL ? csc_tree_before(slots, key, side_behind)
                             : csc_tree_count(slots);
    cascade_err err = CASCADE_OK;

    for (; at < end && limit > 0 && err == CASCADE_OK; at++, limit--) {
        const cascade_run_row *run = &run_of(csc_tree_at(slots, at))->row;
        const cascade_slot_row row = {run->cascade_id, run->limit_key};

        err = sink(context, &row);
    }
    return err;
}

/* ---- The walk ------------------------------------------------------------ */

/* A key that the walk was at. */
typedef struct walk_key {
    const char *key;
    size_t room;
} walk_key;

/* The first key from `from` on, or around the end; NULL: there is none that the
 * walk was not at. */
static const char *
next_key(const csc_memory_queue *queue, const char *start, const char *from,
         bool *around)
{
    const csc_tree_node *node = csc_tree_from(&queue->turns, from, side_from);
    const char *key = NULL;

    if (node == NULL && !*around) {
        *around = true;
        node = csc_tree_from(&queue->turns, "", side_from);
    }
    if (node == NULL)
        return NULL;
    key = run_of(node)->row.limit_key;
    return *around && start[0] != '\0' && strcmp(key, start) >= 0 ? NULL : key;
}

/* The runs that a key gives, of which the `nth` of each key comes before the
 * next of any. */
static csc_memory_run *
nth_run(const csc_memory_queue *queue, const walk_key *at, size_t nth)
{
    size_t place = csc_tree_before(&queue->turns, at->key, side_from) + nth;
    csc_tree_node *node = NULL;

    if (nth >= at->room ||
        place >= csc_tree_before(&queue->turns, at->key, side_behind))
        return NULL;
    node = csc_tree_at(&queue->turns, place);
    return CSC_TREE_ITEM(node, csc_memory_run, turn);
}

static size_t
choose(const csc_memory_queue *queue, const walk_key *keys, size_t key_count,
       size_t share, size_t room, csc_memory_run **runs)
{
    size_t count = 0;

    for (size_t nth = 0; nth < share; nth++) {
        for (size_t i = 0; i < key_count && count < room; i++) {
            csc_memory_run *run = nth_run(queue, &keys[i], nth);

            if (run != NULL)
                runs[count++] = run;
        }
    }
    return count;
}

void
csc_memory_turns_walk(const csc_memory_queue *queue, size_t most,
                      csc_memory_run **runs, csc_turn_walk *walk)
{
    char start[CSC_TURN_FROM_SIZE];
    walk_key keys[CASCADE_CLAIM_KEYS_MAX];
    size_t room = csc_memory_turns_room(queue, most);
    size_t count = 0;
    size_t found = 0;
    bool around = walk->from[0] == '\0';

    memcpy(start, walk->from, sizeof(start));
    while (count < CASCADE_CLAIM_KEYS_MAX && found < room) {
        const char *key = next_key(queue, start, walk->from, &around);

        walk->ended = key == NULL;
        if (key == NULL)
            break;
        keys[count].key = key;
        keys[count].room = csc_memory_turns_key_room(queue, key, room);
        found += keys[count++].room > 0;
        csc_turn_behind(key, walk->from);
    }
    walk->room = room;
    walk->filled = found >= room;
    if (found > 0)
        walk->count =
            choose(queue, keys, count, csc_turn_share(room, found), room, runs);
}
