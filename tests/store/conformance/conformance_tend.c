/* SPDX-License-Identifier: MIT
 *
 * Random moves of whoever looks after what is stored, on a store and on the
 * reference model at once; see conformance_model.c. What they do to cascades is
 * learned from the answers, which have to be the same.
 */
#include <string.h>

#include "base/data/buf.h"
#include "base/mem.h"
#include "store/conformance/conformance_twin.h"

#define MENDED_MAX 4
#define PAGE_MAX 25

const char *
twin_about(twin_world *world)
{
    static const char *const texts[] = {"{}", "{\"by\":\"o'neill\"}",
                                        "{\"b\":1,  \"a\":\"\\\\ \\\"\"}",
                                        "{\"why\":\"\xe2\x82\xac; --\"}"};

    return twin_text(world, texts, 4);
}

/* ---- Pause -------------------------------------------------------------- */

void
twin_pause(twin_world *world)
{
    const char *queue = twin_queue(world);
    const char *about = twin_about(world);
    bool paused = twin_chance(world, 40);
    bool changed[2];

    if (world->db->driver->manage == NULL)
        return;
    assert_ok(conformance_manage(world->db->driver)
                  ->pause(world->db->self, queue, paused, about, &changed[0]));
    assert_ok(
        conformance_manage(world->model->driver)
            ->pause(world->model->self, queue, paused, about, &changed[1]));
    assert_int_equal(changed[0], changed[1]);
}

/* ---- Repair ------------------------------------------------------------- */

static cascade_err
keep_row(void *context, const cascade_row *row)
{
    cascade_row *kept = context;

    *kept = *row;
    kept->user_id = "user"; /* all are that user's */
    return CASCADE_OK;
}

/* As the model has it, or, now and then, otherwise. */
static cascade_row
read_row(twin_world *world, const cascade_uuid *id)
{
    cascade_row row = {.id = *id, .status = CASCADE_RUNNING, .user_id = "user"};
    cascade_load_sink sink = {.context = &row, .on_cascade = keep_row};

    assert_ok(world->model->driver->load(world->model->self, id, 1, 0, &sink));
    if (twin_chance(world, 10))
        row.fn_id++;
    if (twin_chance(world, 10))
        row.status = CASCADE_ERROR;
    return row;
}

static cascade_repair
some_repair(twin_world *world, const known_cascade *it)
{
    static const cascade_status ends[] = {CASCADE_RUNNING, CASCADE_COMPLETED,
                                          CASCADE_ERROR};
    static const char *const keys[] = {"a", "b", "c"};
    cascade_repair repair = {.was = read_row(world, &it->id)};

    repair.status = ends[rows_below(world->rows, 3)];
    repair.fn_id = repair.was.fn_id + (int32_t)rows_below(world->rows, 3);
    repair.starts = repair.status == CASCADE_RUNNING && twin_chance(world, 80);
    repair.run =
        (cascade_run_row){.cascade_id = it->id,
                          .queue = twin_queue(world),
                          .priority = (int32_t)rows_below(world->rows, 10),
                          .wake_at_ms = twin_wake_at(world)};
    if (twin_chance(world, 30)) {
        repair.key = twin_text(world, keys, 3);
        repair.run_number = 1 + (int32_t)rows_below(world->rows, 5);
    }
    return repair;
}

static bool
is_among(known_cascade *const *chosen, size_t count, const known_cascade *it)
{
    for (size_t i = 0; i < count; i++) {
        if (chosen[i] == it)
            return true;
    }
    return false;
}

/* Some of the cascades, each once. Those that have no run are what repairs and
 * purges are for. */
static size_t
choose(twin_world *world, known_cascade **chosen)
{
    size_t count = 0;

    for (size_t tries = 0; tries < 40 && count < MENDED_MAX; tries++) {
        known_cascade *it = twin_cascade(world);

        if (it == NULL || is_among(chosen, count, it))
            continue;
        if (it->owner == OWNER_ENDED || twin_chance(world, 5))
            chosen[count++] = it;
    }
    return count;
}

void
twin_repair(twin_world *world)
{
    known_cascade *chosen[MENDED_MAX];
    cascade_repair repairs[MENDED_MAX];
    bool done[2][MENDED_MAX];
    size_t count = choose(world, chosen);

    if (world->db->driver->manage == NULL)
        return;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        repairs[i] = some_repair(world, chosen[i]);
    assert_ok(conformance_manage(world->db->driver)
                  ->repair(world->db->self, repairs, count, done[0]));
    assert_ok(conformance_manage(world->model->driver)
                  ->repair(world->model->self, repairs, count, done[1]));
    assert_memory_equal(done[0], done[1], count * sizeof(bool));
    for (size_t i = 0; i < count; i++) {
        world->mended += done[1][i];
        if (done[1][i] && repairs[i].starts)
            chosen[i]->owner = OWNER_NONE;
    }
}

/* ---- Purge -------------------------------------------------------------- */

void
twin_purge(twin_world *world)
{
    int64_t before_ms =
        world->rows->now_ms + (int64_t)rows_below(world->rows, 12);
    known_cascade *chosen[MENDED_MAX];
    cascade_uuid ids[MENDED_MAX];
    size_t count = choose(world, chosen);
    size_t deleted[2];

    if (world->db->driver->manage == NULL)
        return;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        ids[i] = chosen[i]->id;
    assert_ok(conformance_manage(world->db->driver)
                  ->purge(world->db->self, ids, count, before_ms, &deleted[0]));
    assert_ok(
        conformance_manage(world->model->driver)
            ->purge(world->model->self, ids, count, before_ms, &deleted[1]));
    assert_int_equal(deleted[0], deleted[1]);
    world->mended += deleted[1];
    for (size_t i = 0; i < count; i++) {
        if (chosen[i]->owner != OWNER_DELETED &&
            !twin_is_there(world, &chosen[i]->id))
            twin_learn_delete(world, chosen[i]);
    }
}

/* ---- Look --------------------------------------------------------------- */

typedef struct queue_text {
    csc_buf text;
    bool exact; /* the clocks are the same */
} queue_text;

static cascade_err
add_queue(void *context, const cascade_queue_row *row)
{
    queue_text *it = context;

    csc_buf_add_format(&it->text, "%s: %lld due, %lld later", row->queue,
                       (long long)row->due, (long long)row->later);
    if (it->exact)
        csc_buf_add_format(&it->text, " since %lld",
                           (long long)row->due_since_ms);
    csc_buf_add_text(&it->text, "\n");
    return CASCADE_OK;
}

/* What a dump does not tell of queues. */
static char *
take_queues(twin_world *world, cascade_store *store)
{
    queue_text it = {.exact = world->db->backend->virtual_time};
    char *text;

    csc_buf_add_text(&it.text, "queues\n");
    assert_ok(
        conformance_manage(store->driver)->queues(store->self, add_queue, &it));
    text = csc_buf_take(&it.text);
    assert_non_null(text);
    return text;
}

static void
assert_same(char *real, char *model)
{
    assert_string_equal(real, model);
    csc_mem_free(real);
    csc_mem_free(model);
}

void
twin_look(twin_world *world)
{
    const known_cascade *it = twin_cascade(world);
    cascade_uuid after = rows_id(world->rows);
    cascade_scan scan = {.running_only = twin_chance(world, 30),
                         .limit = 1 + rows_below(world->rows, PAGE_MAX)};

    if (world->db->driver->manage != NULL)
        assert_same(take_queues(world, world->db->handles[0]),
                    take_queues(world, world->model));
    if (it != NULL && twin_chance(world, 60)) {
        scan.cascade_id = &it->id;
        scan.from = (int32_t)rows_below(world->rows, (size_t)it->next + 1);
        scan.events = twin_chance(world, 50);
        scan.running_only = scan.running_only && !scan.events;
    } else if (twin_chance(world, 70)) {
        scan.after = &after;
    }
    assert_same(db_dump_scan(world->db->handles[0], &scan, 0),
                db_dump_scan(world->model, &scan, 0));
}
