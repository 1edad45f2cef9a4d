/* SPDX-License-Identifier: MIT
 *
 * Random stores, exported and imported: the second export is the first, byte
 * by byte, and all rows are what they were. Cascades of our own and of another
 * program, each column of its own range: texts of any length and script, times
 * of any year, out of order and to the microsecond, values and ui values of any
 * kind, gaps, negative function_ids, errors of what has not failed, records
 * with any members, keys, queues, priorities, messages that wait.
 *
 *   the store  --export--> memory  --export--> the store, where they were
 *   memory     --export--> the store            deleted meanwhile
 *
 * each time compared; so with the backends in turn each is where documents come
 * from, and where they go. 60 cascades, or CASCADE_TEST_CASCADES.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/manage.h"
#include "store/store.h"
#include "support/dump.h"
#include "support/must.h"
#include "support/rows.h"
#include "support/stores.h"

#define EXECUTIONS_MAX 8
#define EVENTS_MAX 8
#define MESSAGES_MAX 3
#define LONG_KEY 4000
#define LAST_MS INT64_C(4102444800000) /* the year 2100 */

/* ---- Values -------------------------------------------------------------- */

#define PICK(rows, list) \
    ((list)[rows_below((rows), sizeof(list) / sizeof((list)[0]))])

static const char *const texts[] = {"",
                                    "a",
                                    "server",
                                    "no \"luck\"\n\t\\",
                                    "\xc3\xa9t\xc3\xa9",
                                    "\x01\x1f",
                                    "\xf0\x9f\x8c\x8a",
                                    "{\"not\":\"json\"}",
                                    "null",
                                    "-1"};

static const char *const names[] = {"n", "plan", "a.b-c", "node_1"};

static const char *const values[] = {"null",
                                     "true",
                                     "0",
                                     "-7",
                                     "1.5",
                                     "1e300",
                                     "\"\"",
                                     "\"\\u0001 \\\"\xc3\xa9\\\"\"",
                                     "[]",
                                     "{}",
                                     "[[],{\"a\":[null,{\"\":0}]},\"x\"]",
                                     "{\"index\":3,\"v\":{\"bb\":1,\"a\":2}}",
                                     "12345678901234567890",
                                     "0.1"};

/* In the form in which it is stored. */
static const char *
canonical(test_rows *rows, const char *text)
{
    csc_buf buf = {0};
    const char *kept = NULL;

    assert_ok(csc_json_canon_stored("value", text, strlen(text), &buf));
    kept = must(csc_arena_strdup(&rows->arena, buf.data));
    csc_buf_fini(&buf);
    return kept;
}

static const char *
any_value(test_rows *rows)
{
    return canonical(rows, PICK(rows, values));
}

static int64_t
any_ms(test_rows *rows)
{
    return (int64_t)rows_below(rows, (size_t)LAST_MS);
}

static bool
once_in(test_rows *rows, size_t times)
{
    return rows_below(rows, times) == 0;
}

static const char *
any_key(test_rows *rows)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid id = rows_id(rows);
    char *key = NULL;

    switch (rows_below(rows, 5)) {
    case 0:
        return rows_text(rows, "%s", cascade_uuid_format(&id, text));
    case 1:
        key = must(csc_arena_alloc(&rows->arena, LONG_KEY + 1, 1));
        memset(key, 'k', LONG_KEY);
        return key;
    case 2:
        return "\xc3\xa9 \"k\"";
    default:
        return "k";
    }
}

/* ---- Rows of another program --------------------------------------------- */

static void
fill_theirs(test_rows *rows, cascade_execution_row *row, size_t number)
{
    static const cascade_execution_status statuses[] = {
        CASCADE_EXECUTION_RUNNING, CASCADE_EXECUTION_COMPLETED,
        CASCADE_EXECUTION_FAILED};
    char text[CASCADE_UUID_TEXT_SIZE];

    row->status = PICK(rows, statuses);
    row->node_instance_id =
        rows_text(rows, "%s_%s_%zu", PICK(rows, names),
                  cascade_uuid_format(&row->id, text), number);
    row->input = any_value(rows);
    row->full_output = once_in(rows, 3) ? NULL : any_value(rows);
    row->location = PICK(rows, texts);
    row->error = once_in(rows, 2) ? NULL : PICK(rows, texts);
    row->started_at_ms = any_ms(rows);
    if (row->status != CASCADE_EXECUTION_RUNNING)
        row->completed_at_ms = any_ms(rows);
}

static void
add_events(test_rows *rows, cascade_change *change, int32_t function_id)
{
    cascade_event_row *event = NULL;

    for (size_t i = rows_below(rows, EVENTS_MAX / 2); i > 0; i--) {
        event = rows_event(rows, change, function_id, any_key(rows),
                           any_value(rows));
        event->ui_value = once_in(rows, 2) ? NULL : any_value(rows);
        event->created_at_us =
            once_in(rows, 3)
                ? rows->now_ms * 1000
                : any_ms(rows) * 1000 + (int64_t)rows_below(rows, 1000);
    }
}

static cascade_change *
make_theirs(test_rows *rows)
{
    static const cascade_status statuses[] = {CASCADE_RUNNING,
                                              CASCADE_COMPLETED, CASCADE_ERROR};
    cascade_change *change = rows_write(rows, rows_id(rows), 0);
    size_t count = 1 + rows_below(rows, EXECUTIONS_MAX);
    int32_t id = (int32_t)rows_below(rows, 6) - 3;

    change->run_action = CASCADE_RUN_START;
    change->run.wake_at_ms = rows->now_ms;
    change->cascade.status = PICK(rows, statuses);
    change->cascade.user_id = PICK(rows, names);
    change->cascade.created_at_ms = any_ms(rows);
    change->cascade.updated_at_ms = any_ms(rows);
    for (size_t i = 0; i < count; i++) {
        fill_theirs(rows, rows_insert(rows, change, id, PICK(rows, names)), i);
        add_events(rows, change, id);
        change->cascade.fn_id = id;
        id += 1 + (int32_t)rows_below(rows, 3);
    }
    if (change->cascade.fn_id < 0)
        change->cascade.fn_id = 0;
    return change;
}

/* ---- Our own ------------------------------------------------------------- */

/* What is on record of the start, with or without a key: its id then. */
static const char *
make_meta(test_rows *rows, cascade_change *change)
{
    static const char *const queues[] = {"default", "side", "q-2"};
    int priority = (int)rows_below(rows, 10);
    const char *key = "";

    change->run.queue = PICK(rows, queues);
    change->run.priority = priority;
    if (once_in(rows, 2)) {
        const char *name = rows_text(rows, "k%zu", rows_below(rows, 1000000));

        change->cascade.id = csc_uuid_v8(change->cascade.user_id, name, 1);
        key = rows_text(rows, "\"key\":\"%s\",", name);
    }
    return rows_text(rows, "{%s\"queue\":\"%s\",\"priority\":%d}", key,
                     change->run.queue, priority);
}

/* An execution that has ended, or goes on; `meta` of the first. */
static void
fill_own(test_rows *rows, cascade_execution_row *row, int32_t last,
         const char *meta)
{
    const char *more = "";
    size_t fate = meta != NULL ? 1 : rows_below(rows, 3);

    if (meta != NULL)
        more = rows_text(rows, ",\"cascade\":%s", meta);
    if (fate > 0) {
        row->status = CASCADE_EXECUTION_COMPLETED;
        row->completed_at_ms = any_ms(rows);
        row->full_output =
            canonical(rows, rows_text(rows, "{\"at\":%d,\"output\":%s%s}",
                                      (int)last, PICK(rows, values), more));
    } else {
        row->full_output = canonical(
            rows, rows_text(rows, "{\"priority\":%zu}", rows_below(rows, 10)));
    }
    if (once_in(rows, 3))
        row->error = PICK(rows, texts);
    row->input = any_value(rows);
    row->location = PICK(rows, texts);
    row->started_at_ms = any_ms(rows);
}

static void
name_own(test_rows *rows, cascade_change *change)
{
    cascade_execution_row *row = (cascade_execution_row *)change->inserts;
    char id[CASCADE_UUID_TEXT_SIZE];

    (void)cascade_uuid_format(&change->cascade.id, id);
    for (size_t i = 0; i < change->insert_count; i++, row++) {
        row->cascade_id = change->cascade.id;
        row->node_instance_id =
            i == 0 ? rows_text(rows, "%s/-/%s#0", id, row->node_name)
                   : rows_text(rows, "%s/0/leaf#%zu", id, i);
    }
}

static bool
is_running(const cascade_change *change)
{
    for (size_t i = 0; i < change->insert_count; i++)
        if (change->inserts[i].status == CASCADE_EXECUTION_RUNNING)
            return true;
    return false;
}

static cascade_change *
make_own(test_rows *rows)
{
    cascade_change *change = rows_write(rows, rows_id(rows), 0);
    int32_t last = (int32_t)rows_below(rows, EXECUTIONS_MAX);
    const char *meta = make_meta(rows, change);

    change->run.cascade_id = change->cascade.id;
    change->run_action = CASCADE_RUN_START;
    change->run.wake_at_ms = rows->now_ms;
    change->cascade.fn_id = last;
    for (int32_t i = 0; i <= last; i++) {
        fill_own(rows, rows_insert(rows, change, i, i == 0 ? "first" : "leaf"),
                 last, i == 0 ? meta : NULL);
        if (change->inserts[i].status == CASCADE_EXECUTION_COMPLETED)
            add_events(rows, change, i);
    }
    name_own(rows, change);
    change->cascade.status =
        is_running(change) ? CASCADE_RUNNING : CASCADE_COMPLETED;
    return change;
}

/* ---- A store of them ----------------------------------------------------- */

typedef struct filled {
    cascade_uuid *ids;
    char **documents; /* of the first export */
    char **pictures;  /* of the rows that were there then */
    size_t count;
} filled;

/* In the order that they have for a reader: by time, ties as they came. */
static void
sort_events(dump_rows *rows)
{
    for (size_t i = 1; i < rows->event_count; i++) {
        cascade_event_row event = rows->events[i];
        size_t at = i;

        while (at > 0 &&
               rows->events[at - 1].function_id == event.function_id &&
               rows->events[at - 1].created_at_us > event.created_at_us) {
            rows->events[at] = rows->events[at - 1];
            at--;
        }
        rows->events[at] = event;
    }
}

/* Its rows, column by column, and where it would run. */
static char *
paint(cascade_store *store, const cascade_uuid *id)
{
    dump_rows rows = {.found = false};
    cascade_info *info = NULL;
    csc_buf out = {0};

    assert_ok(dump_rows_load(&rows, store->driver, store->self, id));
    sort_events(&rows);
    dump_rows_text(&out, &rows);
    dump_rows_fini(&rows);
    assert_ok(cascade_get(store, id, &info));
    if (info->status == CASCADE_RUNNING)
        csc_buf_add_format(&out, "queue %s, priority %d\n", info->queue,
                           info->priority);
    cascade_info_free(info);
    return must(csc_buf_take(&out));
}

static void
send_some(cascade_store *store, test_rows *rows, const cascade_change *change)
{
    cascade_sent sent[1];
    char id[CASCADE_UUID_TEXT_SIZE];

    (void)cascade_uuid_format(&change->cascade.id, id);
    for (size_t i = rows_below(rows, MESSAGES_MAX + 1); i > 0; i--) {
        cascade_message_row *message =
            rows_message(rows, change->cascade.id,
                         rows_text(rows, "%s/message/signal/r%zu", id, i));
        const cascade_submission submission = {
            .messages = message, .message_count = 1, .sent = sent};

        message->name = PICK(rows, names);
        message->payload = any_value(rows);
        message->sent_at_ms = any_ms(rows);
        assert_ok(store->driver->submit(store->self, &submission));
    }
}

static void
write_one(cascade_store *store, test_rows *rows, cascade_uuid *id)
{
    cascade_change *change =
        once_in(rows, 2) ? make_theirs(rows) : make_own(rows);
    bool existed = true;

    assert_ok(rows_submit(store->driver, store->self, change, 1, &existed));
    assert_false(existed);
    if (change->cascade.status == CASCADE_RUNNING)
        send_some(store, rows, change);
    *id = change->cascade.id;
}

static filled
fill(cascade_store *store, test_rows *rows, size_t count)
{
    filled f = {.ids = must(calloc(count, sizeof(*f.ids))),
                .documents = must(calloc(count, sizeof(*f.documents))),
                .pictures = must(calloc(count, sizeof(*f.pictures))),
                .count = count};

    for (size_t i = 0; i < count; i++) {
        write_one(store, rows, &f.ids[i]);
        assert_ok(cascade_export(store, &f.ids[i], NULL, &f.documents[i]));
        f.pictures[i] = paint(store, &f.ids[i]);
        rows_clear(rows);
    }
    return f;
}

static void
forget(filled *f)
{
    for (size_t i = 0; i < f->count; i++) {
        cascade_document_free(f->documents[i]);
        csc_mem_free(f->pictures[i]);
    }
    free(f->ids);
    free(f->documents);
    free(f->pictures);
}

static void
check_rows(cascade_store *store, const cascade_uuid *id, const char *wanted)
{
    char *picture = paint(store, id);

    if (strcmp(picture, wanted) != 0) {
        dump_differ("rows", wanted, picture);
        fail_msg("rows of a cascade are not what they were");
    }
    csc_mem_free(picture);
}

/* All of them, into a store that has none. */
static void
move_to(cascade_store *store, const filled *f)
{
    for (size_t i = 0; i < f->count; i++) {
        cascade_started started = {.existed = true};
        char *again = NULL;

        if (cascade_import(store, f->documents[i], NULL, &started) !=
            CASCADE_OK)
            fail_msg("%s: %s", cascade_errmsg(), f->documents[i]);
        assert_false(started.existed);
        assert_memory_equal(&started.id, &f->ids[i], sizeof(started.id));
        assert_ok(cascade_export(store, &f->ids[i], NULL, &again));
        assert_string_equal(again, f->documents[i]);
        cascade_document_free(again);
        check_rows(store, &f->ids[i], f->pictures[i]);
    }
}

static void
delete_all(cascade_store *store, const filled *f)
{
    for (size_t i = 0; i < f->count; i++)
        assert_ok(cascade_delete(store, &f->ids[i], NULL));
}

/* ---- The test ------------------------------------------------------------ */

static size_t
cascades_wanted(void)
{
    const char *wanted = getenv("CASCADE_TEST_CASCADES");

    return wanted != NULL ? strtoull(wanted, NULL, 10) : 60;
}

static void
the_second_export_is_the_first(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_store *other = NULL;
    test_rows rows;
    filled here;
    filled there;

    db->unsound = true; /* another program writes what it likes */
    rows_init(&rows, rows_seed(), 1700000000000);
    assert_ok(cascade_store_open("memory:", NULL, &other));
    here = fill(store, &rows, cascades_wanted());
    move_to(other, &here);
    delete_all(store, &here);
    move_to(store, &here);
    delete_all(other, &here);
    there = fill(other, &rows, cascades_wanted());
    move_to(store, &there);
    forget(&here);
    forget(&there);
    rows_fini(&rows);
    assert_ok(cascade_store_close(other));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"the_second_export_is_the_first", the_second_export_is_the_first,
         STORES_ALL},
    };

    return stores_run("document_random", tests,
                      sizeof(tests) / sizeof(tests[0]), argc, argv);
}
