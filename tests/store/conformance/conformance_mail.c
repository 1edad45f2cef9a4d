/* SPDX-License-Identifier: MIT
 *
 * Short forms for tests of messages; see conformance_mail.h.
 */
#include "store/conformance/conformance_mail.h"

#include <string.h>

#include "support/must.h"

#define INBOX_MAX 1000

/* ---- Writing ------------------------------------------------------------ */

mail_scene
mail_begin(conformance_db *db)
{
    return (mail_scene){.db = db,
                        .rows = &db->rows,
                        .engine = db_attach(db, 1, DB_LONG_LEASE_MS)};
}

cascade_err
mail_write(mail_scene *it, cascade_change *change)
{
    cascade_err err = db_commit_one(it->db, it->engine, it->number + 1, change);

    it->number += err == CASCADE_OK;
    return err;
}

cascade_uuid
mail_own(mail_scene *it)
{
    cascade_uuid id = rows_id(it->rows);

    assert_ok(mail_write(it, rows_start_owned(it->rows, id, it->engine)));
    return id;
}

cascade_err
mail_end(mail_scene *it, cascade_uuid id, cascade_status status)
{
    cascade_change *end = rows_write(it->rows, id, 0);

    end->cascade.status = status;
    end->run_action = CASCADE_RUN_END;
    return mail_write(it, end);
}

cascade_change *
mail_receipt(mail_scene *it, cascade_uuid id, int32_t function_id,
             const mail_item *item)
{
    cascade_change *write = rows_write(it->rows, id, function_id);

    rows_insert(it->rows, write, function_id, "receipt")->node_instance_id =
        item->row.path;
    rows_receive(it->rows, write, item->row.id);
    return write;
}

cascade_err
mail_submit(mail_scene *it, const cascade_change *start, bool *existed,
            const cascade_message_row *messages, size_t count,
            cascade_sent *sent)
{
    cascade_submission submission = {.starts = start,
                                     .start_count = start != NULL,
                                     .existed = existed,
                                     .messages = messages,
                                     .message_count = count,
                                     .sent = sent};

    return it->db->driver->submit(it->db->self, &submission);
}

cascade_sent
mail_send(mail_scene *it, const cascade_message_row *message)
{
    cascade_sent sent;

    assert_ok(mail_submit(it, NULL, NULL, message, 1, &sent));
    return sent;
}

cascade_sent
mail_send_path(mail_scene *it, cascade_uuid to, const char *path)
{
    return mail_send(it, rows_message(it->rows, to, path));
}

/* ---- Reading ------------------------------------------------------------ */

typedef struct reader {
    test_rows *rows;
    mail_inbox inbox;
} reader;

static cascade_err
keep_message(void *context, const cascade_message_row *row, bool repeated)
{
    reader *reading = context;
    csc_arena *arena = &reading->rows->arena;
    mail_item *item;

    assert_true(reading->inbox.count < INBOX_MAX);
    item = &reading->inbox.items[reading->inbox.count++];
    item->row = *row;
    item->repeated = repeated;
    item->row.kind = must(csc_arena_strdup(arena, row->kind));
    item->row.name = must(csc_arena_strdup(arena, row->name));
    item->row.path = must(csc_arena_strdup(arena, row->path));
    item->row.payload = must(csc_arena_strdup(arena, row->payload));
    item->row.seal = csc_arena_strdup(arena, row->seal);
    return CASCADE_OK;
}

static reader
begin_reading(mail_scene *it)
{
    return (reader){.rows = it->rows,
                    .inbox.items = must(csc_arena_alloc(
                        &it->rows->arena, INBOX_MAX, sizeof(mail_item)))};
}

mail_inbox
mail_receive_as(mail_scene *it, const cascade_receive *receive)
{
    reader reading = begin_reading(it);

    assert_ok(
        it->db->driver->receive(it->db->self, receive, keep_message, &reading));
    assert_true(reading.inbox.count <= receive->limit);
    return reading.inbox;
}

static int
compare_items(const void *a, const void *b)
{
    const mail_item *left = a;
    const mail_item *right = b;

    return (left->row.id > right->row.id) - (left->row.id < right->row.id);
}

mail_inbox
mail_receive(mail_scene *it, size_t limit)
{
    const cascade_receive all = {
        .engine_id = it->engine, .limit = limit, .each = limit};
    mail_inbox inbox = mail_receive_as(it, &all);

    qsort(inbox.items, inbox.count, sizeof(*inbox.items), compare_items);
    return inbox;
}

cascade_err
mail_pass_cascade(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

mail_inbox
mail_load(mail_scene *it, const cascade_uuid *ids, size_t count)
{
    reader reading = begin_reading(it);
    cascade_load_sink sink = {.context = &reading,
                              .on_cascade = mail_pass_cascade,
                              .on_message = keep_message};

    assert_ok(it->db->driver->load(it->db->self, ids, count,
                                   CASCADE_LOAD_MESSAGES, &sink));
    return reading.inbox;
}

void
mail_assert_same(mail_inbox a, mail_inbox b)
{
    assert_int_equal(a.count, b.count);
    for (size_t i = 0; i < a.count; i++) {
        assert_int_equal(a.items[i].row.id, b.items[i].row.id);
        assert_memory_equal(&a.items[i].row.cascade_id,
                            &b.items[i].row.cascade_id, sizeof(cascade_uuid));
        assert_string_equal(a.items[i].row.kind, b.items[i].row.kind);
        assert_string_equal(a.items[i].row.name, b.items[i].row.name);
        assert_string_equal(a.items[i].row.path, b.items[i].row.path);
        assert_string_equal(a.items[i].row.payload, b.items[i].row.payload);
        assert_int_equal(a.items[i].row.sent_at_ms, b.items[i].row.sent_at_ms);
        assert_int_equal(a.items[i].repeated, b.items[i].repeated);
    }
}

typedef struct run_reader {
    test_rows *rows;
    cascade_run_row row;
    bool found;
} run_reader;

static cascade_err
keep_run(void *context, const cascade_row *row, const cascade_run_row *run)
{
    run_reader *reading = context;

    (void)row;
    if (run == NULL)
        return CASCADE_OK;
    reading->found = true;
    reading->row = *run;
    reading->row.queue =
        must(csc_arena_strdup(&reading->rows->arena, run->queue));
    reading->row.needs = csc_arena_strdup(&reading->rows->arena, run->needs);
    reading->row.limit_key =
        csc_arena_strdup(&reading->rows->arena, run->limit_key);
    return CASCADE_OK;
}

cascade_run_row
mail_run(mail_scene *it, const cascade_uuid *id)
{
    run_reader reading = {.rows = it->rows};
    cascade_query query = {.id = id, .limit = 1};

    assert_ok(it->db->driver->list(it->db->self, &query, keep_run, &reading));
    assert_true(reading.found);
    return reading.row;
}
