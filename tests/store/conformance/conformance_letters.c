/* SPDX-License-Identifier: MIT
 *
 * The messages of the twin worlds; see conformance_twin.h.
 */
#include <string.h>

#include "store/conformance/conformance_twin.h"

/* ---- Picking ------------------------------------------------------------ */

bool
twin_chance(twin_world *world, size_t percent)
{
    return rows_below(world->rows, 100) < percent;
}

const char *
twin_text(twin_world *world, const char *const *texts, size_t count)
{
    return texts[rows_below(world->rows, count)];
}

const char *
twin_payload(twin_world *world)
{
    static const char *const texts[] = {"{}", "null", "[1,2,3]", "\"text\"",
                                        "{\"a\":1,\"bb\":[]}"};

    return twin_text(world, texts, 5);
}

const char *
twin_node(twin_world *world)
{
    static const char *const nodes[] = {"a", "b", "c", "d"};

    return twin_text(world, nodes, 4);
}

/* ---- Messages ----------------------------------------------------------- */

cascade_message_row *
twin_message(twin_world *world, const cascade_uuid *to)
{
    bool none = world->count == 0;
    known_cascade *it =
        &world->cascades[none ? 0 : rows_below(world->rows, world->count)];
    letter *made = &world->letters[world->letter_count];
    const letter *old =
        &world->letters[rows_below(world->rows, world->letter_count + 1)];
    cascade_message_row *row = rows_message(world->rows, it->id, NULL);

    assert_true(world->letter_count < LETTERS);
    if (to != NULL)
        row->cascade_id = *to;
    else if (none || it->owner == OWNER_DELETED || twin_chance(world, 4))
        row->cascade_id = rows_id(world->rows);
    made->to = row->cascade_id;
    made->lost = to == NULL && !csc_uuid_equal(&made->to, &it->id);
    row->path = rows_text(world->rows, "letter %zu", world->letter_count);
    made->path = row->path;
    if (!made->lost && old != made && !old->lost && twin_chance(world, 20))
        row->path = old->path;
    else
        world->letter_count++;
    row->name = twin_node(world);
    row->payload = twin_payload(world);
    return row;
}

typedef struct mail_list {
    const char *paths[LETTERS];
    cascade_uuid to[LETTERS];
    int64_t ids[LETTERS];
    bool repeated[LETTERS];
    size_t count;
    test_rows *rows;
} mail_list;

static cascade_err
keep_message(void *context, const cascade_message_row *row, bool repeated)
{
    mail_list *list = context;

    assert_true(list->count < LETTERS);
    list->paths[list->count] = rows_text(list->rows, "%s", row->path);
    list->to[list->count] = row->cascade_id;
    list->ids[list->count] = row->id;
    list->repeated[list->count++] = repeated;
    return CASCADE_OK;
}

static void
learn_message(twin_world *world, const mail_list *real, const mail_list *model,
              size_t at)
{
    for (size_t i = 0; i < world->letter_count; i++) {
        letter *it = &world->letters[i];

        if (strcmp(it->path, real->paths[at]) != 0)
            continue;
        it->to = real->to[at];
        it->real_id = real->ids[at];
        it->model_id = model->ids[at];
        it->waiting = true;
        return;
    }
    fail();
}

void
twin_receive(twin_world *world, int engine)
{
    static mail_list real;
    static mail_list model;
    cascade_receive receive = {.engine_id = world->engines[engine].id,
                               .limit = 1 + rows_below(world->rows, 200),
                               .each = 1 + rows_below(world->rows, 20)};

    if (world->count > 0 && twin_chance(world, 30)) {
        const size_t at = rows_below(world->rows, world->count);

        receive.after = world->cascades[at].id;
        receive.except =
            &world->cascades[rows_below(world->rows, world->count)].id;
        receive.except_count = 1;
    }
    real.count = 0;
    real.rows = world->rows;
    model = (mail_list){.rows = world->rows};
    assert_ok(world->db->driver->receive(world->db->self, &receive,
                                         keep_message, &real));
    assert_ok(world->model->driver->receive(world->model->self, &receive,
                                            keep_message, &model));
    assert_int_equal(real.count, model.count);
    for (size_t i = 0; i < real.count; i++) {
        assert_string_equal(real.paths[i], model.paths[i]);
        assert_memory_equal(&real.to[i], &model.to[i], sizeof(cascade_uuid));
        assert_int_equal(real.repeated[i], model.repeated[i]);
        learn_message(world, &real, &model, i);
    }
}

void
twin_receipts(twin_world *world, const known_cascade *it, cascade_change *write)
{
    size_t receipts = 0;

    for (size_t i = 0; i < world->letter_count; i++) {
        const letter *from = &world->letters[i];

        if (!from->waiting || !csc_uuid_equal(&from->to, &it->id) ||
            !twin_chance(world, 60))
            continue;
        rows_receive(world->rows, write, (int64_t)i);
        if (receipts < write->insert_count) {
            cascade_execution_row *row =
                (cascade_execution_row *)&write->inserts[receipts++];

            row->node_instance_id = from->path;
        } else if (twin_chance(world, 50)) {
            const known_cascade *next =
                &world->cascades[rows_below(world->rows, world->count)];
            cascade_message_row *row =
                rows_message(world->rows, next->id, from->path);

            if (next->owner != OWNER_DELETED)
                rows_send(world->rows, write, row);
        }
    }
}

void
twin_learn_received(twin_world *world, const cascade_change *write)
{
    for (size_t i = 0; i < write->received_count; i++)
        world->letters[write->received[i]].waiting = false;
    world->received += write->received_count;
}
