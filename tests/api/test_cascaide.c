/* SPDX-License-Identifier: MIT
 *
 * Random cascades as Cascaide writes them, read back at every bound, with and
 * without ui values, and compared with a model of its own query and rule:
 *
 *   rows   executions with gaps in their function_ids, negative ones too, of
 *          any status, of which clocks stepped back; events of theirs, of
 *          places without an execution, pushed to RUNNING ones; ties in time;
 *          full_outputs with any members
 *   query  cascade_id = id AND function_id < bound, in the order of
 *          (function_id, created_at), ties as they came
 *   rule   list[value.index] = value where the value is an object that has an
 *          `index`, else list.push(value): as JavaScript does
 *
 * 2,000 cascades in memory and 100 in each file; CASCADE_TEST_CASCADES says how
 * many otherwise: 100,000 take some minutes in memory ("*memory*").
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/mem.h"
#include "store/store.h"
#include "support/rows.h"
#include "support/stores.h"

#define EVENTS_MAX 24
#define KEYS 3
#define SLOTS 16 /* behind every index that is made here */
#define BASE_US INT64_C(1769853600000000)

/* What stands for `index`, and the name of the property that JavaScript makes
 * of it. */
static const struct {
    const char *json;
    const char *property;
} indexes[] = {{"0", "0"},
               {"1", "1"},
               {"2", "2"},
               {"5", "5"},
               {"9", "9"},
               {"\"3\"", "3"},
               {"[4]", "4"},
               {"[[\"1\"]]", "1"},
               {"2.0", "2"},
               {"1.5", "1.5"},
               {"-1", "-1"},
               {"\"01\"", "01"},
               {"\"foo\"", "foo"},
               {"\"\"", ""},
               {"null", "null"},
               {"true", "true"},
               {"{}", "[object Object]"},
               {"[]", ""},
               {"[1,2]", "1,2"}};

#define INDEXES (sizeof(indexes) / sizeof(indexes[0]))

/* By length, then bytes, as our texts have them. */
static const char *const keys[KEYS] = {"b", "aa", "0190aaaa-0000"};

/* A value, and the property it is assigned to (NULL: it is pushed). */
typedef struct value {
    const char *json;
    const char *property;
} value;

typedef struct event {
    int32_t function_id;
    int64_t created_at_us;
    size_t number;
    int key;
    value own;
    value ui; /* json is NULL without one */
} event;

typedef struct made {
    test_rows *rows;
    cascade_change *change;
    event events[EVENTS_MAX];
    size_t event_count;
    int32_t low; /* function_ids */
    int32_t high;
} made;

/* ---- Making ------------------------------------------------------------- */

static value
make_value(test_rows *rows)
{
    size_t number = rows_below(rows, 1000);
    size_t which = rows_below(rows, INDEXES);

    switch (rows_below(rows, 5)) {
    case 0:
        return (value){rows_text(rows, "%zu", number), NULL};
    case 1:
        return (value){rows_text(rows, "[{\"index\":%zu}]", number), NULL};
    case 2:
        return (value){rows_text(rows, "{\"v\":%zu}", number), NULL};
    default:
        return (value){rows_text(rows, "{\"v\":%zu,\"index\":%s}", number,
                                 indexes[which].json),
                       indexes[which].property};
    }
}

/* Few different times, so that there are ties, and steps back. */
static int64_t
make_time_us(test_rows *rows)
{
    return BASE_US + ((int64_t)rows_below(rows, 6) - 3) * 1000;
}

static void
make_event(made *it, int32_t function_id)
{
    test_rows *rows = it->rows;
    event *e = &it->events[it->event_count];
    cascade_event_row *row = NULL;

    *e = (event){.function_id = function_id,
                 .created_at_us = make_time_us(rows),
                 .number = it->event_count,
                 .key = (int)rows_below(rows, KEYS),
                 .own = make_value(rows)};
    if (rows_below(rows, 3) == 0)
        e->ui = make_value(rows);
    row = rows_event(rows, it->change, function_id, keys[e->key], e->own.json);
    row->ui_value = e->ui.json;
    row->created_at_us = e->created_at_us;
    it->event_count++;
}

/* Its members are named like ours, now and then. */
static const char *
make_output(test_rows *rows)
{
    static const char *const outputs[] = {
        NULL,
        "{}",
        "[1]",
        "{\"at\":0}",
        "{\"at\":99,\"output\":1,\"attempts\":2}",
        "{\"late\":[1],\"after\":[0],\"cascade\":{\"queue\":\"x\"},"
        "\"supersedes\":[0,1,2],\"continued_as\":"
        "\"0190aaaa-0000-4000-8000-000000000001\"}"};

    return outputs[rows_below(rows, sizeof(outputs) / sizeof(outputs[0]))];
}

static void
make_execution(made *it, int32_t function_id)
{
    static const cascade_execution_status statuses[] = {
        CASCADE_EXECUTION_RUNNING, CASCADE_EXECUTION_COMPLETED,
        CASCADE_EXECUTION_FAILED};
    cascade_execution_row *row =
        rows_insert(it->rows, it->change, function_id, "node");
    char id[CASCADE_UUID_TEXT_SIZE];

    row->status = statuses[rows_below(it->rows, 3)];
    row->full_output = make_output(it->rows);
    if (row->status != CASCADE_EXECUTION_RUNNING)
        row->completed_at_ms = make_time_us(it->rows) / 1000;
    (void)cascade_uuid_format(&row->id, id);
    row->node_instance_id =
        rows_below(it->rows, 4) == 0
            ? rows_text(it->rows, "%s", id) /* of a fork */
            : rows_text(it->rows, "node_%s_%d", id, (int)function_id);
}

/* Executions and events together, in the order of their places, and now and
 * then out of it. */
static void
make_cascade(made *it, cascade_uuid id)
{
    int32_t at = (int32_t)rows_below(it->rows, 4) - 2;
    size_t count = 1 + rows_below(it->rows, 6);

    it->change = rows_start(it->rows, id);
    it->change->insert_count = 0;
    it->change->cascade.status =
        rows_below(it->rows, 2) == 0 ? CASCADE_COMPLETED : CASCADE_ERROR;
    it->event_count = 0;
    it->low = at;
    for (size_t i = 0; i < count; i++) {
        size_t events = rows_below(it->rows, 4);

        if (rows_below(it->rows, 6) > 0)
            make_execution(it, at);
        for (size_t k = 0; k < events; k++)
            make_event(it, rows_below(it->rows, 8) == 0 ? it->low : at);
        it->high = at;
        at += 1 + (int32_t)rows_below(it->rows, 3);
    }
    it->change->cascade.fn_id = it->high;
}

/* ---- The model ---------------------------------------------------------- */

static int
by_place(const void *a, const void *b)
{
    const event *x = a;
    const event *y = b;

    if (x->function_id != y->function_id)
        return x->function_id < y->function_id ? -1 : 1;
    if (x->created_at_us != y->created_at_us)
        return x->created_at_us < y->created_at_us ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* A JavaScript array. */
typedef struct list {
    const char *slots[SLOTS + EVENTS_MAX]; /* NULL: never written */
    size_t length;
    bool there;
} list;

static void
assign(list *l, const value *v)
{
    char *end = NULL;
    char again[24];
    unsigned long slot = 0;

    l->there = true;
    if (v->property == NULL) {
        l->slots[l->length++] = v->json;
        return;
    }
    slot = strtoul(v->property, &end, 10);
    (void)snprintf(again, sizeof(again), "%lu", slot);
    if (strcmp(again, v->property) != 0)
        return; /* a property that no JSON shows */
    l->slots[slot] = v->json;
    if (slot >= l->length)
        l->length = slot + 1;
}

static void
write_lists(const list *lists, csc_buf *text)
{
    csc_buf_add_char(text, '{');
    for (int k = 0; k < KEYS; k++) {
        if (!lists[k].there)
            continue;
        csc_buf_add_format(text, "%s\"%s\":[", text->len > 1 ? "," : "",
                           keys[k]);
        for (size_t i = 0; i < lists[k].length; i++)
            csc_buf_add_format(text, "%s%s", i > 0 ? "," : "",
                               lists[k].slots[i] != NULL ? lists[k].slots[i]
                                                         : "null");
        csc_buf_add_char(text, ']');
    }
    csc_buf_add_char(text, '}');
}

/* `events` are in their order. */
static void
model_context(const made *it, int64_t bound, bool ui, csc_buf *text)
{
    list lists[KEYS];

    memset(lists, 0, sizeof(lists));
    for (size_t i = 0; i < it->event_count; i++) {
        const event *e = &it->events[i];

        if (e->function_id < bound)
            assign(&lists[e->key], ui && e->ui.json != NULL ? &e->ui : &e->own);
    }
    write_lists(lists, text);
}

/* ---- Comparing ---------------------------------------------------------- */

static void
compare_at(cascade_store *store, const made *it, int64_t bound, bool ui)
{
    cascade_snapshot_options options = {.size = sizeof(options), .ui = ui};
    cascade_snapshot *snapshot = NULL;
    csc_buf wanted = {0};

    if (bound <= INT32_MAX) {
        options.bounded = true;
        options.as_of = (int32_t)bound;
    }
    model_context(it, bound, ui, &wanted);
    assert_ok(cascade_snapshot_load(store, &it->change->cascade.id, &options,
                                    &snapshot));
    assert_string_equal(cascade_snapshot_cascaide_context(snapshot),
                        wanted.data);
    assert_null(cascade_snapshot_continued_as(snapshot));
    cascade_snapshot_free(snapshot);
    csc_buf_fini(&wanted);
}

static void
compare_all(cascade_store *store, made *it)
{
    qsort(it->events, it->event_count, sizeof(it->events[0]), by_place);
    for (int ui = 0; ui < 2; ui++) {
        for (int64_t bound = it->low - 1; bound <= it->high + 2; bound++)
            compare_at(store, it, bound, ui == 1);
        compare_at(store, it, INT64_MAX, ui == 1);
    }
}

static size_t
cascades_of(const test_db *db)
{
    const char *given = getenv("CASCADE_TEST_CASCADES");

    if (given != NULL)
        return strtoul(given, NULL, 10);
    return strcmp(db->backend->name, "memory") == 0 ? 2000 : 100;
}

static void
contexts_are_those_of_cascaide(test_db *db)
{
    cascade_store *store = db_store(db);
    size_t count = cascades_of(db);
    test_rows rows;
    made it = {.rows = &rows};

    db->unsound = true; /* rows of others need not hang together */
    rows_init(&rows, rows_seed(), BASE_US / 1000);
    for (size_t i = 0; i < count; i++) {
        cascade_submission submission = {.start_count = 1};
        bool existed = false;

        make_cascade(&it, rows_id(&rows));
        submission.starts = it.change;
        submission.existed = &existed;
        assert_ok(store->driver->submit(store->self, &submission));
        compare_all(store, &it);
        rows_clear(&rows);
    }
    rows_fini(&rows);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"contexts_are_those_of_cascaide", contexts_are_those_of_cascaide,
         STORES_ALL},
    };

    return stores_run("cascaide", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
