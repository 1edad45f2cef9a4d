/* SPDX-License-Identifier: MIT
 *
 * All that a store shows, as a text with one row a line, so that two stores, or
 * one store before and after a move, are compared as texts.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/uuid.h"
#include "store/conformance/conformance.h"
#include "support/must.h"

#define PAGE 1000
#define ENGINES 64

typedef struct store_dump {
    csc_buf text;
    unsigned parts;
    int64_t now_ms;
    cascade_uuid ids[PAGE];
    size_t count;
    cascade_incarnation engines[ENGINES]; /* `about` is a copy */
    size_t engine_count;
} store_dump;

static void
add_id(csc_buf *text, const cascade_uuid *id)
{
    char formatted[CASCADE_UUID_TEXT_SIZE];

    csc_buf_add_text(text, " ");
    csc_buf_add_text(text, cascade_uuid_format(id, formatted));
}

/* NULL and "" and the word NULL look different. */
static void
add_text(csc_buf *text, const char *value)
{
    if (value == NULL)
        csc_buf_add_text(text, " -");
    else
        csc_buf_add_format(text, " <%zu:%s>", strlen(value), value);
}

static void
add_number(csc_buf *text, int64_t number)
{
    csc_buf_add_format(text, " %" PRId64, number);
}

static void
add_wake_at(store_dump *dump, int64_t wake_at_ms)
{
    if ((dump->parts & DUMP_EXACT_TIMES) != 0 ||
        wake_at_ms > dump->now_ms + DUMP_FAR_MS)
        add_number(&dump->text, wake_at_ms);
    else
        csc_buf_add_text(&dump->text, " near");
}

static cascade_err
on_listed(void *context, const cascade_row *row, const cascade_run_row *run)
{
    store_dump *dump = context;

    assert_true(dump->count < PAGE);
    dump->ids[dump->count++] = row->id;
    csc_buf_add_text(&dump->text, "listed");
    add_id(&dump->text, &row->id);
    if (run != NULL) {
        assert_memory_equal(&run->cascade_id, &row->id, sizeof(row->id));
        add_text(&dump->text, run->queue);
        add_number(&dump->text, run->priority);
        add_wake_at(dump, run->wake_at_ms);
        add_id(&dump->text, &run->engine_id);
        add_number(&dump->text, run->claim_no);
        add_number(&dump->text, run->takeovers);
        add_number(&dump->text, run->trial);
        add_text(&dump->text, run->needs);
        add_text(&dump->text, run->limit_key != NULL ? run->limit_key : "");
        add_number(&dump->text, run->slot);
    }
    csc_buf_add_text(&dump->text, "\n");
    return CASCADE_OK;
}

static cascade_err
on_cascade(void *context, const cascade_row *row)
{
    store_dump *dump = context;

    csc_buf_add_text(&dump->text, "cascade");
    add_id(&dump->text, &row->id);
    add_number(&dump->text, row->status);
    add_number(&dump->text, row->fn_id);
    add_text(&dump->text, row->user_id);
    add_number(&dump->text, row->created_at_ms);
    add_number(&dump->text, row->updated_at_ms);
    csc_buf_add_text(&dump->text, "\n");
    return CASCADE_OK;
}

static cascade_err
on_execution(void *context, const cascade_execution_row *row)
{
    store_dump *dump = context;

    csc_buf_add_text(&dump->text, "execution");
    add_id(&dump->text, &row->cascade_id);
    add_number(&dump->text, row->function_id);
    add_id(&dump->text, &row->id);
    add_number(&dump->text, row->status);
    add_text(&dump->text, row->node_instance_id);
    add_text(&dump->text, row->node_name);
    add_text(&dump->text, row->input);
    add_text(&dump->text, row->full_output);
    add_text(&dump->text, row->location);
    add_text(&dump->text, row->error);
    add_number(&dump->text, row->started_at_ms);
    add_number(&dump->text, row->completed_at_ms);
    csc_buf_add_text(&dump->text, "\n");
    return CASCADE_OK;
}

static cascade_err
on_event(void *context, const cascade_event_row *row)
{
    store_dump *dump = context;

    csc_buf_add_text(&dump->text, "event");
    add_id(&dump->text, &row->cascade_id);
    add_number(&dump->text, row->function_id);
    if ((dump->parts & DUMP_EVENT_IDS) != 0)
        add_number(&dump->text, row->id);
    add_text(&dump->text, row->key);
    add_text(&dump->text, row->value);
    add_text(&dump->text, row->ui_value);
    add_number(&dump->text, row->created_at_us);
    csc_buf_add_text(&dump->text, "\n");
    return CASCADE_OK;
}

static cascade_err
on_message(void *context, const cascade_message_row *row, bool repeated)
{
    store_dump *dump = context;

    csc_buf_add_text(&dump->text, "message");
    add_id(&dump->text, &row->cascade_id);
    add_text(&dump->text, row->kind);
    add_text(&dump->text, row->name);
    add_text(&dump->text, row->path);
    add_text(&dump->text, row->payload);
    add_number(&dump->text, row->sent_at_ms);
    csc_buf_add_text(&dump->text, repeated ? " repeated\n" : "\n");
    return CASCADE_OK;
}

static void
dump_keys(cascade_store *store, store_dump *dump)
{
    static const char *const keys[] = {"a", "b", "c"};

    for (int i = 0; i < 3; i++) {
        int32_t number = 0;

        assert_ok(conformance_chain(store->driver)
                      ->key(store->self, "user", keys[i], &number));
        csc_buf_add_format(&dump->text, "key %s %d\n", keys[i], (int)number);
    }
}

static void
dump_cascades(cascade_store *store, store_dump *dump)
{
    cascade_load_sink sink = {.context = dump,
                              .on_cascade = on_cascade,
                              .on_execution = on_execution,
                              .on_event = on_event,
                              .on_message = on_message};
    cascade_uuid last;
    cascade_query query = {.limit = PAGE};

    do {
        dump->count = 0;
        assert_ok(store->driver->list(store->self, &query, on_listed, dump));
        if (dump->count == 0)
            return;
        assert_ok(store->driver->load(store->self, dump->ids, dump->count,
                                      CASCADE_LOAD_EXECUTIONS |
                                          CASCADE_LOAD_EVENTS |
                                          CASCADE_LOAD_MESSAGES,
                                      &sink));
        last = dump->ids[dump->count - 1];
        query.after = &last;
    } while (dump->count == PAGE);
}

static cascade_err
on_engine(void *context, const cascade_incarnation *row)
{
    store_dump *dump = context;

    assert_true(dump->engine_count < ENGINES);
    assert_non_null(row->host);
    assert_non_null(row->about);
    dump->engines[dump->engine_count] = *row;
    dump->engines[dump->engine_count++].about = must(strdup(row->about));
    return CASCADE_OK;
}

static int
compare_engines(const void *a, const void *b)
{
    const cascade_incarnation *left = a;
    const cascade_incarnation *right = b;

    return csc_uuid_compare(&left->engine_id, &right->engine_id);
}

/* Their order is the store's own affair. */
static void
dump_engines(cascade_store *store, store_dump *dump)
{
    assert_ok(store->driver->engines(store->self, on_engine, dump, NULL));
    qsort(dump->engines, dump->engine_count, sizeof(dump->engines[0]),
          compare_engines);
    for (size_t i = 0; i < dump->engine_count; i++) {
        const cascade_incarnation *row = &dump->engines[i];

        csc_buf_add_text(&dump->text, "engine");
        add_id(&dump->text, &row->engine_id);
        add_number(&dump->text, row->pid);
        add_number(&dump->text, row->process_start);
        add_number(&dump->text, row->lane_count);
        add_text(&dump->text, row->about);
        if ((dump->parts & DUMP_EXACT_TIMES) != 0)
            add_number(&dump->text, row->started_at_ms);
        csc_buf_add_text(&dump->text, "\n");
        free((char *)row->about);
    }
}

/* Runs become due by themselves: which of them are is not part of it. */
static cascade_err
on_queue(void *context, const cascade_queue_row *row)
{
    store_dump *dump = context;

    csc_buf_add_text(&dump->text, "queue");
    add_text(&dump->text, row->queue);
    add_text(&dump->text, row->paused ? "paused" : NULL);
    if ((dump->parts & DUMP_EXACT_TIMES) != 0)
        add_number(&dump->text, row->paused_at_ms);
    add_text(&dump->text, row->about);
    add_number(&dump->text, row->owned);
    add_number(&dump->text, row->due + row->later);
    add_number(&dump->text, row->needing);
    csc_buf_add_text(&dump->text, "\n");
    return CASCADE_OK;
}

static void
dump_totals(cascade_store *store, store_dump *dump)
{
    cascade_totals totals;

    assert_ok(conformance_manage(store->driver)->totals(store->self, &totals));
    csc_buf_add_text(&dump->text, "totals");
    add_number(&dump->text, totals.running);
    add_number(&dump->text, totals.completed);
    add_number(&dump->text, totals.failed);
    csc_buf_add_text(&dump->text, "\n");
}

static char *
take_text(store_dump *taken)
{
    char *text = csc_buf_take(&taken->text);

    assert_non_null(text);
    free(taken);
    return text;
}

unsigned
db_dump_without(const cascade_store_driver *driver)
{
    return (driver->chain == NULL ? DUMP_NO_CHAIN : 0) |
           (driver->manage == NULL ? DUMP_NO_MANAGE : 0);
}

char *
db_dump(cascade_store *store, unsigned parts)
{
    store_dump *taken = calloc(1, sizeof(*taken));

    assert_non_null(taken);
    taken->parts = parts;
    assert_ok(store->driver->now(store->self, &taken->now_ms));
    dump_cascades(store, taken);
    parts |= db_dump_without(store->driver);
    if ((parts & DUMP_NO_CHAIN) == 0)
        dump_keys(store, taken);
    if ((parts & DUMP_NO_MANAGE) == 0) {
        assert_ok(store->driver->manage->queues(store->self, on_queue, taken));
        dump_totals(store, taken);
    }
    if ((parts & DUMP_ENGINES) != 0)
        dump_engines(store, taken);
    return take_text(taken);
}

char *
db_dump_scan(cascade_store *store, const cascade_scan *scan, unsigned parts)
{
    store_dump *taken = calloc(1, sizeof(*taken));
    cascade_load_sink sink = {
        .context = taken, .on_execution = on_execution, .on_event = on_event};

    assert_non_null(taken);
    taken->parts = parts;
    assert_ok(store->driver->scan(store->self, scan, &sink));
    return take_text(taken);
}
