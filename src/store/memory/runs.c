/* SPDX-License-Identifier: MIT
 *
 * Where the runs of the memory store are. Each is in exactly one place:
 *
 *   engine_id      place                              looked at by
 *   all zero       a shelf of its queue               claim
 *   an incarnation the ring of that incarnation       detach, remove
 *   neither        the ring of orphans                remove
 *
 *   queue "mail"
 *     shelf (needs -,      takeovers 0)  9: {}  ...  0: {wake_at, id}...
 *     shelf (needs "pack", takeovers 0)  9: {}  ...  0: {...}
 *     shelf (needs -,      takeovers 3)  ...
 *
 * What decides whether a claim may have a run (needs, takeovers) is the same
 * for a whole shelf, and a shelf is sorted by what decides who comes first. So
 * a claim costs as much as what it takes, also with 100,000 runs parked.
 *
 * A claim leaves the shelves of a paused queue alone, and of a queue with
 * limits: of that it moves what is due to the shelf of those that wait by their
 * keys, and takes from there by turns (turns.c), or one suspect.
 *
 * Runs that a message names are looked for in the boxes of messages, and come
 * before the shelves: wake_at, needs and a pause do not count for them. What
 * they need (shelves, run rows to be made anew) is allocated before the first
 * is taken.
 *
 * Freeing a run must not fail: ownership ends in moves that are all or nothing
 * over many runs. So the shelves a run can be freed to (its takeovers, or one
 * more) are made before it becomes owned, and shelves, queues and the texts of
 * needs stay for the life of the model; there are few.
 */
#include "store/memory/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/memory/text_map.h"
#include "store/memory/treap.h"

#define ABSENT_MAX 100 /* cascades whose messages a claim deletes */

/* ---- Queues and shelves ------------------------------------------------- */

csc_memory_queue *
csc_memory_runs_queue(csc_memory_model *model, const char *name)
{
    csc_memory_queue *queue = csc_memory_names_get(&model->queues, name);
    size_t size = strlen(name) + 1;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (queue != NULL)
        return queue;
    queue = csc_mem_alloc(sizeof(*queue) + size);
    if (queue == NULL)
        return NULL;
    *queue = (csc_memory_queue){.shelves = NULL};
    memcpy(queue->name, name, size);
    if (csc_memory_names_put(&model->queues, queue->name, queue) != 0) {
        csc_mem_free(queue);
        return NULL;
    }
    return queue;
}

/* The model's copy of `text`. */
static const char *
get_text(csc_memory_model *model, const char *text)
{
    char *kept = csc_memory_names_get(&model->texts, text);

    csc_assert(csc_lock_is_held(&model->mutex));
    if (kept != NULL)
        return kept;
    kept = csc_mem_strdup(text);
    if (kept != NULL && csc_memory_names_put(&model->texts, kept, kept) != 0) {
        csc_mem_free(kept);
        return NULL;
    }
    return kept;
}

/* `needs` is the model's copy, so pointers tell. */
static csc_memory_shelf *
find_shelf(const csc_memory_queue *queue, const char *needs, int32_t takeovers)
{
    csc_memory_shelf *shelf = queue->shelves;

    csc_assert(takeovers >= 0);
    while (shelf != NULL &&
           (shelf->needs != needs || shelf->takeovers != takeovers))
        shelf = shelf->next;
    return shelf;
}

static bool
reserve_shelf(csc_memory_queue *queue, const char *needs, int32_t takeovers)
{
    csc_memory_shelf *shelf = find_shelf(queue, needs, takeovers);

    if (shelf != NULL)
        return true;
    shelf = csc_mem_zalloc(1, sizeof(*shelf));
    if (shelf == NULL)
        return false;
    shelf->needs = needs;
    shelf->takeovers = takeovers;
    shelf->next = queue->shelves;
    queue->shelves = shelf;
    return true;
}

static int32_t
one_more(int32_t count)
{
    csc_assert(count >= 0);
    return count == INT32_MAX ? count : count + 1;
}

csc_memory_run *
csc_memory_runs_make(const cascade_uuid *cascade_id, const cascade_run_row *row)
{
    const char *key = row->limit_key != NULL ? row->limit_key : "";
    size_t size = strlen(key) + 1;
    csc_memory_run *run = csc_mem_zalloc(1, sizeof(*run) + size);

    csc_assert(row->takeovers >= 0);
    if (run == NULL)
        return NULL;
    run->row = *row;
    run->row.limit_key = memcpy(run + 1, key, size);
    run->row.cascade_id = *cascade_id;
    run->row.trial = 0;
    return run;
}

cascade_err
csc_memory_runs_reserve(csc_memory_model *model, cascade_run_row *row)
{
    csc_memory_queue *queue = csc_memory_runs_queue(model, row->queue);
    const char *needs = NULL;

    csc_assert(csc_lock_is_held(&model->mutex) && row->takeovers >= 0);
    if (queue == NULL)
        return csc_fail_memory();
    if (row->needs != NULL) {
        needs = get_text(model, row->needs);
        if (needs == NULL)
            return csc_fail_memory();
    }
    if (!reserve_shelf(queue, needs, row->takeovers) ||
        !reserve_shelf(queue, needs, one_more(row->takeovers)))
        return csc_fail_memory();
    row->queue = queue->name;
    row->needs = needs;
    return CASCADE_OK;
}

void
csc_memory_runs_fini(csc_memory_model *model)
{
    csc_memory_queue *queue;
    char *text;

    for (size_t at = 0;;) {
        queue = csc_memory_names_next(&model->queues, &at);
        if (queue == NULL)
            break;
        while (queue->shelves != NULL) {
            csc_memory_shelf *shelf = queue->shelves;

            queue->shelves = shelf->next;
            csc_mem_free(shelf);
        }
        csc_mem_free(queue->about);
        csc_mem_free(queue->limits_about);
        csc_mem_free(queue);
    }
    for (size_t at = 0;;) {
        text = csc_memory_names_next(&model->texts, &at);
        if (text == NULL)
            break;
        csc_mem_free(text);
    }
    csc_memory_names_fini(&model->queues);
    csc_memory_names_fini(&model->texts);
}

/* ---- Places ------------------------------------------------------------- */

static csc_memory_order_node **
shelf_of(csc_memory_model *model, const cascade_run_row *row)
{
    csc_memory_queue *queue = csc_memory_names_get(&model->queues, row->queue);
    csc_memory_shelf *shelf = find_shelf(queue, row->needs, row->takeovers);

    csc_assert(csc_lock_is_held(&model->mutex));
    csc_assert(shelf != NULL);
    return &shelf->runs[row->priority];
}

void
csc_memory_runs_place(csc_memory_model *model, csc_memory_run *run)
{
    csc_memory_engine *engine;
    csc_memory_link *ring = &model->orphans;

    csc_assert(csc_lock_is_held(&model->mutex));
    csc_assert(run->node.less == NULL && run->node.more == NULL);
    csc_memory_turns_enter(model, run);
    if (csc_uuid_is_nil(&run->row.engine_id)) {
        run->node.at = run->row.wake_at_ms;
        run->node.id = run->row.cascade_id;
        run->node.item = run;
        csc_memory_order_add(shelf_of(model, &run->row), &run->node);
        return;
    }
    engine = csc_map_get(&model->engines, &run->row.engine_id);
    if (engine != NULL)
        ring = &engine->runs;
    run->link.prev = ring->prev;
    run->link.next = ring;
    ring->prev->next = &run->link;
    ring->prev = &run->link;
}

void
csc_memory_runs_take(csc_memory_model *model, csc_memory_run *run)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    csc_memory_turns_leave(model, run);
    if (csc_uuid_is_nil(&run->row.engine_id)) {
        csc_memory_order_remove(shelf_of(model, &run->row), &run->node);
        return;
    }
    run->link.prev->next = run->link.next;
    run->link.next->prev = run->link.prev;
}

void
csc_memory_runs_release(csc_memory_model *model, csc_memory_run *run,
                        int64_t now_ms, int32_t more_takeovers)
{
    csc_assert(csc_lock_is_held(&model->mutex) &&
               !csc_uuid_is_nil(&run->row.engine_id));
    csc_memory_runs_take(model, run);
    memset(&run->row.engine_id, 0, sizeof(run->row.engine_id));
    run->row.wake_at_ms = now_ms;
    run->row.slot = 0;
    if (more_takeovers > 0)
        run->row.takeovers = one_more(run->row.takeovers);
    else if (run->row.trial > 0)
        run->row.trial--;
    csc_memory_runs_place(model, run);
}

/* ---- Claiming ----------------------------------------------------------- */

/* A cascade that a message names. */
typedef struct claim_named {
    csc_memory_cascade *cascade;
    const char *kind;     /* of the first message */
    csc_memory_run *made; /* for one without a run row */
    int32_t priority;
    int64_t wake_at_ms;
} claim_named;

typedef struct claim_state {
    csc_memory_model *model;
    const cascade_claim *claim;
    int64_t now_ms;
    claim_named *named; /* those this claim may have */
    size_t named_count;
    size_t named_room;
    csc_memory_box *absent[ABSENT_MAX]; /* whose cascades are not there */
    size_t absent_count;
    bool messages;              /* there are some for runs that are its own */
    csc_memory_shelf **shelves; /* those with something for this claim */
    size_t shelf_count;
    size_t shelf_room;
    csc_memory_run **turns; /* of kept queues: room for what one gives */
    bool again;
} claim_state;

static bool
knows(const cascade_claim *claim, const char *needs)
{
    if (needs == NULL || needs[0] == '\0' ||
        strcmp(needs, CASCADE_NEEDS_TURN) == 0)
        return true;
    for (size_t i = 0; i < claim->node_count; i++) {
        if (strcmp(claim->nodes[i], needs) == 0)
            return true;
    }
    return false;
}

static csc_memory_run *
due_run(const csc_memory_shelf *shelf, int priority, int64_t now_ms)
{
    csc_memory_order_node *node = NULL;

    csc_assert(priority >= 0 && priority < CSC_MEMORY_PRIORITIES);
    node = csc_memory_order_first(shelf->runs[priority]);
    return node != NULL && node->at <= now_ms ? node->item : NULL;
}

static bool
is_wanted(const claim_state *claiming, const csc_memory_shelf *shelf)
{
    const cascade_claim *claim = claiming->claim;

    if ((shelf->takeovers >= claim->suspect_from) != claim->suspects ||
        !knows(claim, shelf->needs))
        return false;
    for (int priority = 0; priority < CSC_MEMORY_PRIORITIES; priority++) {
        if (due_run(shelf, priority, claiming->now_ms) != NULL)
            return true;
    }
    return false;
}

/* The `i`th queue of the claim; NULL when nothing was ever in it. */
static csc_memory_queue *
asked_queue(const claim_state *claiming, size_t i)
{
    csc_assert(i < claiming->claim->queue_count);
    return csc_memory_names_get(&claiming->model->queues,
                                claiming->claim->queues[i]);
}

static bool
is_paused(const csc_memory_queue *queue)
{
    return queue != NULL && queue->about != NULL;
}

/* The shelves of its `i`th queue, unless that is paused. */
static csc_memory_shelf *
served_shelves(const claim_state *claiming, size_t i)
{
    const csc_memory_queue *queue = asked_queue(claiming, i);

    return queue == NULL || is_paused(queue) ? NULL : queue->shelves;
}

/* It has limits, and is not paused. */
static bool
is_kept(const csc_memory_queue *queue)
{
    return csc_memory_turns_is_kept(queue) && !is_paused(queue);
}

/* Those that the claim may take from. */
static csc_memory_shelf *
open_shelves(const claim_state *claiming, size_t i)
{
    return is_kept(asked_queue(claiming, i)) ? NULL
                                             : served_shelves(claiming, i);
}

/* Collects the shelves and makes those that their runs may be freed to. */
static cascade_err
collect(claim_state *claiming)
{
    csc_assert(claiming->shelf_count == 0);
    for (size_t i = 0; i < claiming->claim->queue_count; i++) {
        csc_memory_queue *queue = asked_queue(claiming, i);
        csc_memory_shelf *shelf = open_shelves(claiming, i);

        for (; shelf != NULL; shelf = shelf->next) {
            if (!is_wanted(claiming, shelf))
                continue;
            if (csc_mem_grow((void **)&claiming->shelves, &claiming->shelf_room,
                             claiming->shelf_count + 1,
                             sizeof(claiming->shelves[0])) != 0)
                return csc_fail_memory();
            claiming->shelves[claiming->shelf_count++] = shelf;
            if (!reserve_shelf(queue, NULL, shelf->takeovers) ||
                !reserve_shelf(queue, NULL, one_more(shelf->takeovers)))
                return csc_fail_memory();
        }
    }
    return CASCADE_OK;
}

/* The due run of `priority` that waited longest. */
static csc_memory_run *
pick(const claim_state *claiming, int priority)
{
    csc_memory_run *best = NULL;

    csc_assert(priority >= 0 && priority < CSC_MEMORY_PRIORITIES);
    for (size_t i = 0; i < claiming->shelf_count; i++) {
        csc_memory_run *run =
            due_run(claiming->shelves[i], priority, claiming->now_ms);

        if (run != NULL &&
            (best == NULL || run->row.wake_at_ms < best->row.wake_at_ms))
            best = run;
    }
    return best;
}

/* `slot`: with one. */
static void
own(claim_state *claiming, csc_memory_run *run, const char *message_kind,
    bool slot, cascade_claimed *claimed)
{
    csc_assert(csc_uuid_is_nil(&run->row.engine_id));
    csc_memory_runs_take(claiming->model, run);
    run->row.engine_id = claiming->claim->engine_id;
    run->row.claim_no++;
    run->row.needs = NULL;
    run->row.slot = slot;
    if (claiming->claim->suspects)
        run->row.trial = one_more(run->row.trial);
    csc_memory_runs_place(claiming->model, run);
    claimed->cascade_id = run->row.cascade_id;
    claimed->claim_no = run->row.claim_no;
    claimed->takeovers = run->row.takeovers;
    claimed->trials = run->row.trial;
    claimed->slot = slot;
    (void)snprintf(claimed->message_kind, sizeof(claimed->message_kind), "%s",
                   message_kind);
}

/* ---- Claiming by messages ----------------------------------------------- */

static bool
is_asked(const cascade_claim *claim, const cascade_run_row *row)
{
    for (size_t i = 0; i < claim->queue_count; i++) {
        if (strcmp(claim->queues[i], row->queue) == 0)
            return (row->takeovers >= claim->suspect_from) == claim->suspects;
    }
    return false;
}

static bool
add_named(claim_state *claiming, csc_memory_cascade *cascade,
          const csc_memory_box *box)
{
    const csc_memory_run *run = cascade->run;
    const csc_memory_message *first = csc_memory_messages_next(box, NULL);
    claim_named named = {.cascade = cascade,
                         .kind = first != NULL ? first->row.kind : "",
                         .wake_at_ms = claiming->now_ms};

    csc_assert(run == NULL || csc_uuid_is_nil(&run->row.engine_id));
    if (run != NULL) {
        named.priority = run->row.priority;
        named.wake_at_ms = run->row.wake_at_ms;
    }
    if (csc_mem_grow((void **)&claiming->named, &claiming->named_room,
                     claiming->named_count + 1,
                     sizeof(claiming->named[0])) != 0)
        return false;
    claiming->named[claiming->named_count++] = named;
    return true;
}

/* False when out of memory. */
static bool
look_into(claim_state *claiming, csc_memory_box *box)
{
    const cascade_claim *claim = claiming->claim;
    csc_memory_cascade *cascade =
        csc_map_get(&claiming->model->cascades, &box->cascade_id);

    csc_assert(csc_lock_is_held(&claiming->model->mutex));
    if (cascade == NULL) {
        if (claiming->absent_count < ABSENT_MAX)
            claiming->absent[claiming->absent_count++] = box;
        return true;
    }
    if (cascade->run == NULL)
        return claim->suspects || claim->queue_count == 0 ||
               add_named(claiming, cascade, box);
    if (csc_uuid_equal(&cascade->run->row.engine_id, &claim->engine_id)) {
        claiming->messages = true;
        return true;
    }
    return !csc_uuid_is_nil(&cascade->run->row.engine_id) ||
           !is_asked(claim, &cascade->run->row) ||
           add_named(claiming, cascade, box);
}

static int
compare_named(const void *a, const void *b)
{
    const claim_named *left = a;
    const claim_named *right = b;

    if (left->priority != right->priority)
        return left->priority > right->priority ? -1 : 1;
    if (left->wake_at_ms != right->wake_at_ms)
        return left->wake_at_ms < right->wake_at_ms ? -1 : 1;
    return 0;
}

/* A free run for a cascade that has none, on no shelf yet. */
static cascade_err
make_run(claim_state *claiming, claim_named *named)
{
    const cascade_run_row row = {.queue = claiming->claim->queues[0],
                                 .wake_at_ms = claiming->now_ms};

    csc_assert(named->made == NULL && named->cascade->run == NULL);
    named->made = csc_memory_runs_make(&named->cascade->row.id, &row);
    if (named->made == NULL)
        return csc_fail_memory();
    return csc_memory_runs_reserve(claiming->model, &named->made->row);
}

/* Finds the cascades that messages name, and makes what taking them needs. */
static cascade_err
collect_named(claim_state *claiming)
{
    csc_memory_link *ring = &claiming->model->box_ring;
    cascade_err err = CASCADE_OK;

    csc_assert(claiming->named_count == 0);
    for (csc_memory_link *at = ring->next; at != ring; at = at->next) {
        if (!look_into(claiming, (csc_memory_box *)at))
            return csc_fail_memory();
    }
    if (claiming->named_count > 0)
        qsort(claiming->named, claiming->named_count,
              sizeof(claiming->named[0]), compare_named);
    if (claiming->named_count > claiming->claim->limit)
        claiming->named_count = claiming->claim->limit;
    for (size_t i = 0; i < claiming->named_count && err == CASCADE_OK; i++) {
        claim_named *named = &claiming->named[i];
        cascade_run_row row;

        if (named->cascade->run == NULL) {
            err = make_run(claiming, named);
            continue;
        }
        row = named->cascade->run->row;
        row.needs = NULL;
        err = csc_memory_runs_reserve(claiming->model, &row);
    }
    return err;
}

static size_t
take_named(claim_state *claiming, cascade_claimed *claimed)
{
    csc_assert(claiming->named_count <= claiming->claim->limit);
    for (size_t i = 0; i < claiming->named_count; i++) {
        claim_named *named = &claiming->named[i];

        if (named->made != NULL) {
            named->cascade->run = named->made;
            named->made = NULL;
            csc_memory_runs_place(claiming->model, named->cascade->run);
        }
        own(claiming, named->cascade->run, named->kind, false, &claimed[i]);
    }
    return claiming->named_count;
}

static bool
is_own(const cascade_claim *claim, const csc_memory_message *message)
{
    for (size_t i = 0; i < claim->own_kind_count; i++)
        if (strcmp(message->row.kind, claim->own_kinds[i]) == 0)
            return true;
    return false;
}

/* The first messages of a box, which goes with the last: they go to the last
 * run, or are deleted. How many are left to be looked at; where memory runs out
 * the rest waits for another claim. */
static size_t
empty_box(claim_state *claiming, const csc_memory_box *box, size_t left)
{
    const cascade_uuid *last =
        csc_memory_links_last(claiming->model, &box->cascade_id);
    csc_memory_message *message = csc_memory_messages_next(box, NULL);

    csc_assert(csc_lock_is_held(&claiming->model->mutex));
    while (message != NULL && left > 0) {
        csc_memory_message *next = csc_memory_messages_next(box, message);

        if (last == NULL || is_own(claiming->claim, message)) {
            csc_memory_messages_take(claiming->model, message);
            csc_memory_messages_free(claiming->model, message);
        } else if (csc_memory_messages_send_on(claiming->model, message,
                                               last) != 0) {
            return 0;
        }
        message = next;
        left--;
    }
    return left;
}

static void
clear_absent(claim_state *claiming)
{
    size_t left = CASCADE_CLAIM_STRAYS_MAX;

    csc_assert(claiming->absent_count <= ABSENT_MAX);
    for (size_t i = 0; i < claiming->absent_count && left > 0; i++)
        left = empty_box(claiming, claiming->absent[i], left);
}

static void
free_claim(claim_state *claiming)
{
    for (size_t i = 0; i < claiming->named_count; i++)
        csc_mem_free(claiming->named[i].made);
    csc_mem_free(claiming->named);
    csc_mem_free(claiming->shelves);
    csc_mem_free(claiming->turns);
}

/* ---- Claiming by turns --------------------------------------------------- */

static bool
is_turn_shelf(const csc_memory_shelf *shelf)
{
    return shelf->needs != NULL &&
           strcmp(shelf->needs, CASCADE_NEEDS_TURN) == 0;
}

/* Makes the shelves that what is due comes to, and may be freed to. */
static cascade_err
reserve_turns(claim_state *claiming, csc_memory_queue *queue)
{
    const char *turn = get_text(claiming->model, CASCADE_NEEDS_TURN);

    if (turn == NULL)
        return csc_fail_memory();
    for (const csc_memory_shelf *shelf = queue->shelves; shelf != NULL;
         shelf = shelf->next) {
        if (!is_wanted(claiming, shelf))
            continue;
        if (!reserve_shelf(queue, turn, shelf->takeovers) ||
            !reserve_shelf(queue, NULL, shelf->takeovers) ||
            !reserve_shelf(queue, NULL, one_more(shelf->takeovers)))
            return csc_fail_memory();
    }
    return CASCADE_OK;
}

/* What turns need, before anything is taken. */
static cascade_err
collect_turns(claim_state *claiming)
{
    const cascade_claim *claim = claiming->claim;
    cascade_err err = CASCADE_OK;

    if (claim->slots == 0)
        return CASCADE_OK;
    claiming->turns = csc_mem_zalloc(claim->limit, sizeof(claiming->turns[0]));
    if (claiming->turns == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < claim->queue_count && err == CASCADE_OK; i++) {
        csc_memory_queue *queue = asked_queue(claiming, i);

        if (is_kept(queue))
            err = reserve_turns(claiming, queue);
    }
    return err;
}

/* One without a key goes by its user. It is in no tree. */
static void
give_key(const csc_memory_model *model, csc_memory_run *run)
{
    const csc_memory_cascade *cascade =
        csc_map_get(&model->cascades, &run->row.cascade_id);

    csc_assert(csc_lock_is_held(&model->mutex));
    if (run->row.limit_key[0] == '\0' && cascade != NULL &&
        strlen(cascade->row.user_id) <= CASCADE_LIMIT_KEY_MAX)
        run->row.limit_key = cascade->row.user_id;
}

/* What is due on a shelf begins to wait by its keys; returns how many may yet.
 */
static size_t
sort_shelf(claim_state *claiming, const csc_memory_shelf *shelf, size_t left)
{
    csc_memory_model *model = claiming->model;
    const char *turn = get_text(model, CASCADE_NEEDS_TURN);

    for (int priority = CSC_MEMORY_PRIORITIES - 1; priority >= 0; priority--) {
        while (left > 0) {
            csc_memory_run *run = due_run(shelf, priority, claiming->now_ms);

            if (run == NULL)
                break;
            csc_memory_runs_take(model, run);
            run->row.needs = turn;
            give_key(model, run);
            csc_memory_runs_place(model, run);
            left--;
        }
    }
    return left;
}

static void
sort_queue(claim_state *claiming, const csc_memory_queue *queue)
{
    size_t left = CSC_TURN_SORT_MAX;

    for (const csc_memory_shelf *shelf = queue->shelves; shelf != NULL;
         shelf = shelf->next) {
        if (!is_turn_shelf(shelf) && is_wanted(claiming, shelf))
            left = sort_shelf(claiming, shelf, left);
    }
    if (left == 0)
        claiming->again = true;
}

/* The first suspect of a shelf and a priority whose key has room. `*left` may
 * yet be looked at. */
static csc_memory_run *
find_suspect_on(const claim_state *claiming, const csc_memory_queue *queue,
                const csc_memory_shelf *shelf, int priority, size_t *left)
{
    csc_memory_order_node *root = shelf->runs[priority];
    csc_memory_order_node *node = csc_memory_order_first(root);

    while (node != NULL && node->at <= claiming->now_ms && *left > 0) {
        csc_memory_run *run = node->item;

        (*left)--;
        give_key(claiming->model, run);
        if (csc_memory_turns_key_room(queue, run->row.limit_key, 1) > 0)
            return run;
        node = csc_memory_order_next(root, node->at, &node->id);
    }
    return NULL;
}

static csc_memory_run *
find_suspect(const claim_state *claiming, const csc_memory_queue *queue)
{
    csc_memory_run *best = NULL;
    size_t left = CSC_TURN_SUSPECTS_MAX;

    if (csc_memory_turns_room(queue, 1) == 0)
        return NULL;
    for (int p = CSC_MEMORY_PRIORITIES - 1; p >= 0 && best == NULL; p--) {
        for (const csc_memory_shelf *shelf = queue->shelves; shelf != NULL;
             shelf = shelf->next) {
            csc_memory_run *run = NULL;

            if (is_wanted(claiming, shelf))
                run = find_suspect_on(claiming, queue, shelf, p, &left);
            if (run != NULL &&
                (best == NULL || run->row.wake_at_ms < best->row.wake_at_ms))
                best = run;
        }
    }
    return best;
}

/* Writes what a kept queue gives to `turns`; returns how many. */
static size_t
choose_turns(claim_state *claiming, csc_turn_places *places,
             const csc_memory_queue *queue, size_t most)
{
    csc_turn_walk walk = {.count = 0};

    if (claiming->claim->suspects) {
        claiming->turns[0] = find_suspect(claiming, queue);
        return claiming->turns[0] != NULL;
    }
    sort_queue(claiming, queue);
    csc_turn_begin(places, queue->name, walk.from);
    csc_memory_turns_walk(queue, most, claiming->turns, &walk);
    if (csc_turn_end(places, queue->name, &walk))
        claiming->again = true;
    return walk.count;
}

/* Whether there is something beside them. */
static bool
has_others(const claim_state *claiming)
{
    for (int priority = 0; priority < CSC_MEMORY_PRIORITIES; priority++)
        if (pick(claiming, priority) != NULL)
            return true;
    return false;
}

/* Goes on behind the first `count`; returns how many there are then. */
static size_t
take_turns(claim_state *claiming, csc_turn_places *places,
           cascade_claimed *claimed, size_t count)
{
    const cascade_claim *claim = claiming->claim;
    size_t most = csc_turn_room(places, claim->slots, claim->limit - count,
                                has_others(claiming));
    size_t room = most;
    size_t first = csc_turn_first(places, claim->queue_count);

    for (size_t i = 0; i < claim->queue_count && room > 0; i++) {
        const csc_memory_queue *queue =
            asked_queue(claiming, (first + i) % claim->queue_count);
        size_t chosen = 0;

        if (is_kept(queue))
            chosen = choose_turns(claiming, places, queue, room);
        for (size_t k = 0; k < chosen; k++)
            own(claiming, claiming->turns[k], "", true, &claimed[count++]);
        room = claim->suspects && chosen > 0 ? 0 : room - chosen;
    }
    if (!claim->suspects && csc_turn_was_cut(claim->slots, most, most - room))
        claiming->again = true;
    return count;
}

/* ---- The claim ---------------------------------------------------------- */

/* Goes on behind the first `count`; returns how many there are then. */
static size_t
take_due(claim_state *claiming, cascade_claimed *claimed, size_t count)
{
    csc_assert(count <= claiming->claim->limit);
    for (int priority = CSC_MEMORY_PRIORITIES - 1; priority >= 0; priority--) {
        while (count < claiming->claim->limit) {
            csc_memory_run *run = pick(claiming, priority);

            if (run == NULL)
                break;
            own(claiming, run, "", false, &claimed[count++]);
        }
    }
    return count;
}

/* The earliest wake_at after now in the asked queues that are not paused,
 * whatever the runs need: too early an answer costs a claim, too late a one
 * costs time. */
static int64_t
next_wake(const claim_state *claiming)
{
    cascade_uuid highest;
    int64_t next = CASCADE_TIME_NONE;

    csc_assert(csc_lock_is_held(&claiming->model->mutex));
    memset(&highest, 0xff, sizeof(highest));
    for (size_t i = 0; i < claiming->claim->queue_count; i++) {
        const csc_memory_shelf *shelf = served_shelves(claiming, i);

        for (; shelf != NULL; shelf = shelf->next) {
            for (int p = 0; p < CSC_MEMORY_PRIORITIES; p++) {
                const csc_memory_order_node *node = csc_memory_order_next(
                    shelf->runs[p], claiming->now_ms, &highest);

                if (node != NULL &&
                    (next == CASCADE_TIME_NONE || node->at < next))
                    next = node->at;
            }
        }
    }
    return next;
}

/* Whether one is due in a kept queue. */
static bool
has_suspect(const claim_state *claiming)
{
    for (size_t i = 0; i < claiming->claim->queue_count; i++) {
        const csc_memory_queue *queue = asked_queue(claiming, i);
        const csc_memory_shelf *shelf = is_kept(queue) ? queue->shelves : NULL;

        for (; shelf != NULL; shelf = shelf->next)
            for (int p = 0; p < CSC_MEMORY_PRIORITIES; p++)
                if (is_wanted(claiming, shelf) &&
                    due_run(shelf, p, claiming->now_ms) != NULL)
                    return true;
    }
    return false;
}

static void
tell_queues(const claim_state *claiming, cascade_claim_result *result)
{
    for (size_t i = 0; i < claiming->claim->queue_count; i++) {
        const csc_memory_queue *queue = asked_queue(claiming, i);

        if (result->paused != NULL)
            result->paused[i] = is_paused(queue);
        if (result->kept != NULL)
            result->kept[i] = csc_memory_turns_is_kept(queue);
    }
}

static cascade_err
check_alive(csc_memory_model *model, const cascade_claim *claim)
{
    const csc_memory_engine *engine =
        csc_map_get(&model->engines, &claim->engine_id);
    int64_t batches = 0;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (engine == NULL)
        return csc_fail(CASCADE_ERR_FENCED,
                        "claim: this incarnation was removed; attach a new "
                        "one");
    for (uint32_t i = 0; i < engine->row.lane_count; i++)
        batches += engine->lanes[i];
    if (batches < claim->batches)
        return csc_fail(CASCADE_ERR_LOST,
                        "claim: the lanes show %lld batches where %lld were "
                        "committed",
                        (long long)batches, (long long)claim->batches);
    return CASCADE_OK;
}

cascade_err
csc_memory_runs_claim(void *self, const cascade_claim *claim,
                      cascade_claimed *claimed, cascade_claim_result *result)
{
    csc_memory *memory = self;
    claim_state claiming = {.model = memory->model, .claim = claim};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    claiming.now_ms = csc_clock_wall_ms(memory->config->clock);
    csc_lock_take(&memory->model->mutex);
    err = check_alive(memory->model, claim);
    if (err == CASCADE_OK)
        err = collect(&claiming);
    if (err == CASCADE_OK)
        err = collect_named(&claiming);
    if (err == CASCADE_OK)
        err = collect_turns(&claiming);
    if (err != CASCADE_OK)
        goto out;
    result->count = take_named(&claiming, claimed);
    if (claiming.turns != NULL)
        result->count =
            take_turns(&claiming, &memory->turns, claimed, result->count);
    result->count = take_due(&claiming, claimed, result->count);
    result->messages = claiming.messages;
    clear_absent(&claiming);
    result->next_wake_at_ms = next_wake(&claiming);
    result->again = claiming.again;
    result->suspects =
        claim->suspects && result->count == 0 && has_suspect(&claiming);
    tell_queues(&claiming, result);
out:
    csc_lock_give(&memory->model->mutex);
    free_claim(&claiming);
    return err;
}
