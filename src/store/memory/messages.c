/* SPDX-License-Identifier: MIT
 *
 * Where the messages and keys of the memory store are, and the moves that read
 * them. A message is in two places at once, its box in three:
 *
 *   letters        by its path      what tells that a path is taken
 *   a box          by its id        load; the box is found by its cascade
 *   named          boxes by their cascades' ids: receive
 *   ring of boxes  no order         claim looks who has messages
 *
 * Only entering a message allocates. Taking it out does not free what its place
 * cost (maps keep their room, its box stays while something is away), so a
 * commit that is undone can put it back.
 */
#include "store/memory/internal.h"

#include <stdio.h>
#include <string.h>

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
#include "store/store.h"

/* ---- Boxes -------------------------------------------------------------- */

static void
hang_box(csc_memory_model *model, csc_memory_box *box)
{
    csc_memory_link *ring = &model->box_ring;

    csc_assert(csc_lock_is_held(&model->mutex));
    box->link.prev = ring->prev;
    box->link.next = ring;
    ring->prev->next = &box->link;
    ring->prev = &box->link;
    box->node = (csc_memory_order_node){.id = box->cascade_id, .item = box};
    csc_memory_order_add(&model->named, &box->node);
}

static void
unhang_box(csc_memory_model *model, csc_memory_box *box)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    csc_assert(box->link.prev->next == &box->link &&
               box->link.next->prev == &box->link);
    csc_map_remove(&model->boxes, &box->cascade_id);
    csc_memory_order_remove(&model->named, &box->node);
    box->link.prev->next = box->link.next;
    box->link.next->prev = box->link.prev;
}

/* NULL when out of memory. */
static csc_memory_box *
get_box(csc_memory_model *model, const cascade_uuid *cascade_id)
{
    csc_memory_box *box = csc_map_get(&model->boxes, cascade_id);

    csc_assert(csc_lock_is_held(&model->mutex));
    if (box != NULL)
        return box;
    box = csc_mem_zalloc(1, sizeof(*box));
    if (box == NULL)
        return NULL;
    box->cascade_id = *cascade_id;
    if (csc_map_put(&model->boxes, cascade_id, box) != 0) {
        csc_mem_free(box);
        return NULL;
    }
    hang_box(model, box);
    return box;
}

static void
tidy_box(csc_memory_model *model, csc_memory_box *box)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    if (box->messages != NULL || box->away > 0)
        return;
    unhang_box(model, box);
    csc_mem_free(box);
}

csc_memory_message *
csc_memory_messages_next(const csc_memory_box *box,
                         const csc_memory_message *message)
{
    const csc_memory_order_node *node =
        message == NULL ? csc_memory_order_first(box->messages)
                        : csc_memory_order_next(box->messages, message->row.id,
                                                &message->in_box.id);

    return node == NULL ? NULL : node->item;
}

csc_memory_message *
csc_memory_messages_last(const csc_memory_box *box, size_t count)
{
    const csc_memory_order_node *node = NULL;
    int64_t before = INT64_MAX;
    cascade_uuid id;

    memset(&id, 0xff, sizeof(id));
    for (size_t i = 0; i < count; i++) {
        const csc_memory_order_node *next =
            csc_memory_order_before(box->messages, before, &id);

        if (next == NULL)
            break;
        node = next;
        before = node->at;
        id = node->id;
    }
    return node == NULL ? NULL : node->item;
}

/* ---- One message -------------------------------------------------------- */

bool
csc_memory_messages_was_received(const csc_memory_model *model,
                                 const char *path)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    return csc_memory_names_get(&model->paths, path) != NULL ||
           csc_memory_names_get(&model->links, path) != NULL;
}

bool
csc_memory_messages_taken(const csc_memory_model *model, const char *path)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    return csc_memory_names_get(&model->letters, path) != NULL ||
           csc_memory_messages_was_received(model, path);
}

/* The sets weigh their nodes by the id, so it has to differ. */
static csc_memory_order_node
make_node(csc_memory_message *message)
{
    csc_memory_order_node node = {.at = message->row.id, .item = message};

    memcpy(node.id.bytes, &message->row.id, sizeof(message->row.id));
    return node;
}

int
csc_memory_messages_enter(csc_memory_model *model, csc_memory_message *message)
{
    csc_memory_box *box = get_box(model, &message->row.cascade_id);

    csc_assert(csc_lock_is_held(&model->mutex) &&
               !csc_memory_messages_taken(model, message->row.path));
    if (box == NULL)
        return -1;
    if (csc_memory_names_put(&model->letters, message->row.path, message) !=
        0) {
        tidy_box(model, box);
        return -1;
    }
    message->box = box;
    message->row.id = ++model->message_id;
    message->in_box = make_node(message);
    csc_memory_order_add(&box->messages, &message->in_box);
    return 0;
}

csc_memory_message *
csc_memory_messages_find(const csc_memory_model *model,
                         const cascade_uuid *cascade_id, int64_t id)
{
    const csc_memory_box *box = csc_map_get(&model->boxes, cascade_id);
    const csc_memory_order_node *node;
    cascade_uuid highest;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (box == NULL || id < 1)
        return NULL;
    memset(&highest, 0xff, sizeof(highest));
    node = csc_memory_order_next(box->messages, id - 1, &highest);
    return node != NULL && node->at == id ? node->item : NULL;
}

/* Takes it from where it can be found without its box. */
static void
hide(csc_memory_model *model, csc_memory_message *message)
{
    csc_assert(csc_memory_names_get(&model->letters, message->row.path) ==
               message);
    csc_memory_names_remove(&model->letters, message->row.path);
}

static void
unhide(csc_memory_model *model, csc_memory_message *message)
{
    int full =
        csc_memory_names_put(&model->letters, message->row.path, message);

    csc_assert(csc_lock_is_held(&model->mutex));
    csc_assert(full == 0); /* the map had room for it before */
    (void)full;
}

void
csc_memory_messages_take(csc_memory_model *model, csc_memory_message *message)
{
    csc_assert(csc_lock_is_held(&model->mutex) && message->box != NULL);
    hide(model, message);
    csc_memory_order_remove(&message->box->messages, &message->in_box);
    message->box->away++;
}

void
csc_memory_messages_put_back(csc_memory_model *model,
                             csc_memory_message *message)
{
    csc_assert(csc_lock_is_held(&model->mutex) && message->box->away > 0);
    unhide(model, message);
    csc_memory_order_add(&message->box->messages, &message->in_box);
    message->box->away--;
}

void
csc_memory_messages_free(csc_memory_model *model, csc_memory_message *message)
{
    csc_assert(csc_lock_is_held(&model->mutex) && message->box->away > 0);
    message->box->away--;
    tidy_box(model, message->box);
    csc_mem_free(message);
}

int
csc_memory_messages_send_on(csc_memory_model *model,
                            csc_memory_message *message, const cascade_uuid *to)
{
    csc_memory_box *from = message->box;

    csc_assert(csc_lock_is_held(&model->mutex));
    csc_memory_messages_take(model, message);
    message->row.cascade_id = *to;
    if (csc_memory_messages_enter(model, message) != 0) {
        message->row.cascade_id = from->cascade_id;
        csc_memory_messages_put_back(model, message);
        return -1;
    }
    csc_assert(from->away > 0 && message->box != from);
    from->away--;
    tidy_box(model, from);
    return 0;
}

/* ---- All messages for a cascade ----------------------------------------- */

csc_memory_box *
csc_memory_messages_take_box(csc_memory_model *model,
                             const cascade_uuid *cascade_id)
{
    csc_memory_box *box = csc_map_get(&model->boxes, cascade_id);
    csc_memory_message *message = NULL;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (box == NULL)
        return NULL;
    unhang_box(model, box);
    for (;;) {
        message = csc_memory_messages_next(box, message);
        if (message == NULL)
            return box;
        hide(model, message);
    }
}

void
csc_memory_messages_put_back_box(csc_memory_model *model, csc_memory_box *box)
{
    csc_memory_message *message = NULL;
    int full;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (box == NULL)
        return;
    full = csc_map_put(&model->boxes, &box->cascade_id, box);
    csc_assert(full == 0); /* as in unhide() */
    (void)full;
    hang_box(model, box);
    for (;;) {
        message = csc_memory_messages_next(box, message);
        if (message == NULL)
            return;
        unhide(model, message);
    }
}

void
csc_memory_messages_free_box(csc_memory_box *box)
{
    if (box == NULL)
        return;
    for (;;) {
        csc_memory_message *message = csc_memory_messages_next(box, NULL);

        if (message == NULL)
            break;
        csc_memory_order_remove(&box->messages, &message->in_box);
        csc_mem_free(message);
    }
    csc_mem_free(box);
}

void
csc_memory_messages_fini(csc_memory_model *model)
{
    csc_memory_key *key;

    csc_assert(csc_lock_is_held(&model->mutex));
    while (model->box_ring.next != &model->box_ring) {
        csc_memory_box *box = (csc_memory_box *)model->box_ring.next;

        unhang_box(model, box);
        csc_memory_messages_free_box(box);
    }
    for (size_t at = 0;;) {
        key = csc_memory_names_next(&model->keys, &at);
        if (key == NULL)
            break;
        csc_mem_free(key);
    }
    csc_assert(model->boxes.count == 0 && model->named == NULL);
    csc_map_fini(&model->boxes);
    csc_memory_names_fini(&model->letters);
    csc_memory_names_fini(&model->keys);
}

/* ---- Keys --------------------------------------------------------------- */

/* The length tells where the user ends, whatever the texts are. */
csc_memory_key *
csc_memory_messages_make_key(const char *user_id, const char *key,
                             int32_t run_number)
{
    size_t user_len = strlen(user_id);
    size_t size = 32 + user_len + strlen(key);
    csc_memory_key *made = csc_mem_alloc(sizeof(*made) + size);

    if (made == NULL)
        return NULL;
    made->run_number = run_number;
    (void)snprintf(made->name, size, "%zu:%s%s", user_len, user_id, key);
    return made;
}

cascade_err
csc_memory_messages_move_key(csc_memory_model *model, csc_memory_key *key,
                             csc_memory_key_move *move)
{
    csc_memory_key *there = csc_memory_names_get(&model->keys, key->name);
    int32_t before = there == NULL ? 1 : there->run_number;

    csc_assert(csc_lock_is_held(&model->mutex) && move->row == NULL);
    if (key->run_number <= before)
        return CASCADE_OK;
    if (there == NULL &&
        csc_memory_names_put(&model->keys, key->name, key) != 0)
        return csc_fail_memory();
    move->row = there == NULL ? key : there;
    move->before = there == NULL ? 0 : before;
    move->row->run_number = key->run_number;
    return CASCADE_OK;
}

void
csc_memory_messages_undo_key(csc_memory_model *model, csc_memory_key_move *move)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    if (move->row == NULL)
        return;
    if (move->before == 0)
        csc_memory_names_remove(&model->keys, move->row->name);
    else
        move->row->run_number = move->before;
    move->row = NULL;
}

cascade_err
csc_memory_messages_key(void *self, const char *user_id, const char *key,
                        int32_t *run_number)
{
    csc_memory *memory = self;
    csc_memory_key *asked = csc_memory_messages_make_key(user_id, key, 1);
    const csc_memory_key *there;

    if (asked == NULL)
        return csc_fail_memory();
    csc_lock_take(&memory->model->mutex);
    there = csc_memory_names_get(&memory->model->keys, asked->name);
    *run_number = there == NULL ? 1 : there->run_number;
    csc_lock_give(&memory->model->mutex);
    csc_mem_free(asked);
    return CASCADE_OK;
}

/* ---- Receiving ---------------------------------------------------------- */

static bool
is_owned(const csc_memory_model *model, const cascade_uuid *cascade_id,
         const cascade_uuid *engine_id)
{
    const csc_memory_cascade *cascade =
        csc_map_get(&model->cascades, cascade_id);

    csc_assert(csc_lock_is_held(&model->mutex));
    return cascade != NULL && cascade->run != NULL &&
           csc_uuid_equal(&cascade->run->row.engine_id, engine_id);
}

static bool
is_wanted(const csc_memory_model *model, const cascade_receive *receive,
          const cascade_uuid *cascade_id)
{
    for (size_t i = 0; i < receive->except_count; i++)
        if (csc_uuid_equal(&receive->except[i], cascade_id))
            return false;
    return is_owned(model, cascade_id, &receive->engine_id);
}

typedef struct receive_state {
    const csc_memory_model *model;
    const cascade_receive *receive;
    cascade_message_sink sink;
    void *context;
    size_t left;
    size_t bytes; /* of those that were given */
} receive_state;

static bool
is_full(const receive_state *state)
{
    return state->left == 0 ||
           csc_store_is_full(state->bytes, state->receive->bytes_max);
}

/* The first ones of a box. */
static cascade_err
give_first(receive_state *state, const csc_memory_box *box)
{
    const csc_memory_message *message = csc_memory_messages_next(box, NULL);
    cascade_err err = CASCADE_OK;

    csc_assert(state->left <= state->receive->limit);
    for (size_t i = 0; message != NULL && i < state->receive->each &&
                       !is_full(state) && err == CASCADE_OK;
         i++) {
        const cascade_message_row *row = &message->row;

        state->left--;
        state->bytes += csc_store_message_bytes(row);
        err = state->sink(
            state->context, row,
            csc_memory_messages_was_received(state->model, row->path));
        message = csc_memory_messages_next(box, message);
    }
    return err;
}

static cascade_err
give_owned(receive_state *state)
{
    const csc_memory_model *model = state->model;
    const csc_memory_order_node *node =
        csc_uuid_is_nil(&state->receive->after)
            ? csc_memory_order_first(model->named)
            : csc_memory_order_next(model->named, 0, &state->receive->after);
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&state->model->mutex));
    while (node != NULL && !is_full(state) && err == CASCADE_OK) {
        const csc_memory_box *box = node->item;

        if (is_wanted(model, state->receive, &box->cascade_id))
            err = give_first(state, box);
        node = csc_memory_order_next(model->named, 0, &node->id);
    }
    return err;
}

cascade_err
csc_memory_messages_receive(void *self, const cascade_receive *receive,
                            cascade_message_sink sink, void *context)
{
    csc_memory *memory = self;
    receive_state state = {.model = memory->model,
                           .receive = receive,
                           .sink = sink,
                           .context = context,
                           .left = receive->limit};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (csc_uuid_is_nil(&receive->engine_id))
        return CASCADE_OK;
    csc_lock_take(&memory->model->mutex);
    err = give_owned(&state);
    csc_lock_give(&memory->model->mutex);
    return err;
}
