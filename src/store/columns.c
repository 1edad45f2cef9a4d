/* SPDX-License-Identifier: MIT */
#include "store/columns.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cascade/rows.h"
#include "cascade/store.h"

#define NULLABLE CSC_COLUMN_NULL
#define GIVEN CSC_COLUMN_GIVEN
#define OWNER CSC_COLUMN_OWNER
#define COUNT CSC_COLUMN_COUNT
#define UTF8 CSC_COLUMN_UTF8
#define LOCAL CSC_COLUMN_LOCAL
#define LATER CSC_COLUMN_LATER

#define TABLE(name, columns, size)                                  \
    {                                                               \
        name, columns, sizeof(columns) / sizeof((columns)[0]), size \
    }
#define ROWS(name, columns, row) TABLE(name, columns, sizeof(row))

#define AT(member) offsetof(cascade_row, member)
static const csc_column cascades[] = {
    {"id", CSC_COLUMN_UUID, OWNER, AT(id)},
    {"status", CSC_COLUMN_STATUS, 0, AT(status)},
    {"fn_id", CSC_COLUMN_I32, 0, AT(fn_id)},
    {"user_id", CSC_COLUMN_TEXT, 0, AT(user_id)},
    {"created_at", CSC_COLUMN_TIME, 0, AT(created_at_ms)},
    {"updated_at", CSC_COLUMN_TIME, 0, AT(updated_at_ms)},
};
#undef AT

#define AT(member) offsetof(cascade_execution_row, member)
static const csc_column executions[] = {
    {"id", CSC_COLUMN_UUID, 0, AT(id)},
    {"cascade_id", CSC_COLUMN_UUID, OWNER | LOCAL, AT(cascade_id)},
    {"function_id", CSC_COLUMN_I32, 0, AT(function_id)},
    {"status", CSC_COLUMN_EXECUTION_STATUS, 0, AT(status)},
    {"node_instance_id", CSC_COLUMN_TEXT, 0, AT(node_instance_id)},
    {"node_name", CSC_COLUMN_TEXT, 0, AT(node_name)},
    {"input_context", CSC_COLUMN_JSON, 0, AT(input)},
    {"full_output", CSC_COLUMN_JSON, NULLABLE, AT(full_output)},
    {"location", CSC_COLUMN_TEXT, 0, AT(location)},
    {"error", CSC_COLUMN_TEXT, NULLABLE, AT(error)},
    {"started_at", CSC_COLUMN_TIME, 0, AT(started_at_ms)},
    {"completed_at", CSC_COLUMN_TIME, NULLABLE, AT(completed_at_ms)},
};
#undef AT

#define AT(member) offsetof(cascade_event_row, member)
static const csc_column events[] = {
    {"id", CSC_COLUMN_SERIAL, GIVEN | LOCAL, AT(id)},
    {"cascade_id", CSC_COLUMN_UUID, OWNER | LOCAL, AT(cascade_id)},
    {"function_id", CSC_COLUMN_I32, 0, AT(function_id)},
    {"key", CSC_COLUMN_TEXT, UTF8, AT(key)},
    {"value", CSC_COLUMN_JSON, 0, AT(value)},
    {"ui_value", CSC_COLUMN_JSON, NULLABLE, AT(ui_value)},
    {"created_at", CSC_COLUMN_TIME_US, 0, AT(created_at_us)},
};
#undef AT

#define AT(member) offsetof(cascade_run_row, member)
static const csc_column runs[] = {
    {"cascade_id", CSC_COLUMN_UUID, OWNER, AT(cascade_id)},
    {"queue", CSC_COLUMN_TEXT, 0, AT(queue)},
    {"priority", CSC_COLUMN_I32, COUNT, AT(priority)},
    {"wake_at", CSC_COLUMN_I64, 0, AT(wake_at_ms)},
    {"engine_id", CSC_COLUMN_UUID, NULLABLE, AT(engine_id)},
    {"claim_no", CSC_COLUMN_I64, COUNT, AT(claim_no)},
    {"takeovers", CSC_COLUMN_I32, COUNT, AT(takeovers)},
    {"trial", CSC_COLUMN_I32, COUNT | GIVEN | LATER, AT(trial)},
    {"needs", CSC_COLUMN_TEXT, NULLABLE, AT(needs)},
    {"limit_key", CSC_COLUMN_TEXT, LOCAL | LATER, AT(limit_key)},
    {"slot", CSC_COLUMN_I32, COUNT | LOCAL | LATER, AT(slot)},
};
#undef AT

#define AT(member) offsetof(cascade_message_row, member)
static const csc_column messages[] = {
    {"id", CSC_COLUMN_I64, GIVEN | LOCAL, AT(id)},
    {"cascade_id", CSC_COLUMN_UUID, OWNER | LOCAL, AT(cascade_id)},
    {"kind", CSC_COLUMN_TEXT, 0, AT(kind)},
    {"name", CSC_COLUMN_TEXT, 0, AT(name)},
    {"path", CSC_COLUMN_TEXT, 0, AT(path)},
    {"payload", CSC_COLUMN_PAYLOAD, 0, AT(payload)},
    {"sent_at", CSC_COLUMN_I64, 0, AT(sent_at_ms)},
    {"seal", CSC_COLUMN_TEXT, NULLABLE | LOCAL | LATER, AT(seal)},
};
#undef AT

#define AT(member) offsetof(cascade_seal_row, member)
static const csc_column seals[] = {
    {"cascade_id", CSC_COLUMN_UUID, OWNER, AT(cascade_id)},
    {"number", CSC_COLUMN_I64, 0, AT(number)},
    {"seal", CSC_COLUMN_TEXT, 0, AT(seal)},
};
#undef AT

#define AT(member) offsetof(cascade_limits_row, member)
static const csc_column limits_list[] = {
    {"queue", CSC_COLUMN_TEXT, 0, AT(queue)},
    {"version", CSC_COLUMN_I64, COUNT, AT(version)},
    {"running_max", CSC_COLUMN_I32, COUNT, AT(running_max)},
    {"key_running_max", CSC_COLUMN_I32, COUNT, AT(key_running_max)},
    {"limits_about", CSC_COLUMN_TEXT, 0, AT(about)},
};
#undef AT

#define AT(member) offsetof(cascade_slot_row, member)
static const csc_column slot_list[] = {
    {"cascade_id", CSC_COLUMN_UUID, 0, AT(cascade_id)},
    {"limit_key", CSC_COLUMN_TEXT, 0, AT(limit_key)},
};
#undef AT

#define AT(member) offsetof(cascade_queue_row, member)
static const csc_column queue_list[] = {
    {"queue", CSC_COLUMN_TEXT, 0, AT(queue)},
    {"paused_at", CSC_COLUMN_I64, NULLABLE, AT(paused_at_ms)},
    {"about", CSC_COLUMN_TEXT, 0, AT(about)},
    {"owned", CSC_COLUMN_I64, COUNT, AT(owned)},
    {"due", CSC_COLUMN_I64, COUNT, AT(due)},
    {"later", CSC_COLUMN_I64, COUNT, AT(later)},
    {"needing", CSC_COLUMN_I64, COUNT, AT(needing)},
    {"wake_at", CSC_COLUMN_I64, NULLABLE, AT(due_since_ms)},
    {"slots", CSC_COLUMN_I64, COUNT, AT(slots)},
};
#undef AT

static const csc_column lanes[] = {
    {"engine_id", CSC_COLUMN_UUID, 0, 0},
    {"lane", CSC_COLUMN_I32, 0, 0},
    {"batch", CSC_COLUMN_I64, 0, 0},
};

static const csc_column keys[] = {
    {"user_id", CSC_COLUMN_TEXT, 0, 0},
    {"key", CSC_COLUMN_TEXT, 0, 0},
    {"run_number", CSC_COLUMN_I32, 0, 0},
};

static const csc_column queues[] = {
    {"queue", CSC_COLUMN_TEXT, 0, 0},
    {"paused_at", CSC_COLUMN_I64, 0, 0},
    {"about", CSC_COLUMN_TEXT, 0, 0},
    {"version", CSC_COLUMN_I64, LATER, 0},
    {"running_max", CSC_COLUMN_I32, LATER, 0},
    {"key_running_max", CSC_COLUMN_I32, LATER, 0},
    {"limits_about", CSC_COLUMN_TEXT, LATER, 0},
};

static const csc_column erasures[] = {
    {"cascade_id", CSC_COLUMN_UUID, 0, 0},
    {"engine_id", CSC_COLUMN_UUID, NULLABLE, 0},
    {"marked_at", CSC_COLUMN_I64, 0, 0},
};

static const csc_column links[] = {
    {"path", CSC_COLUMN_TEXT, 0, 0},
    {"root", CSC_COLUMN_UUID, 0, 0},
    {"next_id", CSC_COLUMN_UUID, NULLABLE, 0},
    {"number", CSC_COLUMN_I64, 0, 0},
    {"run_number", CSC_COLUMN_I32, NULLABLE | LATER, 0},
};

static const csc_column schema[] = {
    {"number", CSC_COLUMN_I32, 0, 0},
    {"name", CSC_COLUMN_TEXT, 0, 0},
    {"checksum", CSC_COLUMN_TEXT, NULLABLE, 0},
    {"applied_at", CSC_COLUMN_TIME, 0, 0},
};

#define FITS(columns)                                                         \
    _Static_assert(sizeof(columns) / sizeof((columns)[0]) <= CSC_COLUMNS_MAX, \
                   #columns)
FITS(cascades);
FITS(executions);
FITS(events);
FITS(runs);
FITS(messages);
FITS(seals);
FITS(queue_list);
FITS(limits_list);
FITS(slot_list);
FITS(lanes);
FITS(keys);
FITS(queues);
FITS(erasures);
FITS(links);
FITS(schema);

const csc_table csc_table_cascades = ROWS("cascades", cascades, cascade_row);
const csc_table csc_table_executions =
    ROWS("node_executions", executions, cascade_execution_row);
const csc_table csc_table_events =
    ROWS("context_events", events, cascade_event_row);
const csc_table csc_table_runs = ROWS("cascade_runs", runs, cascade_run_row);
const csc_table csc_table_messages =
    ROWS("cascade_messages", messages, cascade_message_row);
const csc_table csc_table_seals =
    ROWS("cascade_seals", seals, cascade_seal_row);
const csc_table csc_table_queue_list =
    ROWS("cascade_queues", queue_list, cascade_queue_row);
const csc_table csc_table_limits_list =
    ROWS("cascade_queues", limits_list, cascade_limits_row);
const csc_table csc_table_slot_list =
    ROWS("cascade_runs", slot_list, cascade_slot_row);

static const csc_table table_lanes = TABLE("cascade_lanes", lanes, 0);
static const csc_table table_keys = TABLE("cascade_keys", keys, 0);
static const csc_table table_queues = TABLE("cascade_queues", queues, 0);
static const csc_table table_erasures = TABLE("cascade_erasures", erasures, 0);
static const csc_table table_links = TABLE("cascade_links", links, 0);
static const csc_table table_schema = TABLE("cascade_schema", schema, 0);

const csc_table *const csc_tables[] = {
    &csc_table_cascades, &csc_table_executions, &csc_table_events,
    &csc_table_runs,     &table_lanes,          &csc_table_messages,
    &table_keys,         &table_queues,         &table_erasures,
    &table_links,        &csc_table_seals,      &table_schema,
};
const size_t csc_table_count = sizeof(csc_tables) / sizeof(csc_tables[0]);

const csc_column *
csc_column_find(const csc_table *table, const char *name,
                int (*compare)(const char *, const char *))
{
    for (size_t i = 0; i < table->count; i++) {
        if (compare(table->columns[i].name, name) == 0)
            return &table->columns[i];
    }
    return NULL;
}

/* ---- Copies -------------------------------------------------------------- */

static bool
is_text(const csc_column *column)
{
    return column->kind == CSC_COLUMN_TEXT || column->kind == CSC_COLUMN_JSON ||
           column->kind == CSC_COLUMN_PAYLOAD;
}

/* The bytes of each text, with its end; 0: there is none. */
static size_t
measure(const csc_table *table, const char *row, size_t sizes[CSC_COLUMNS_MAX])
{
    size_t sum = 0;

    for (size_t i = 0; i < table->count; i++) {
        const char *text = NULL;

        if (is_text(&table->columns[i]))
            memcpy(&text, row + table->columns[i].at, sizeof(text));
        sizes[i] = text == NULL ? 0 : strlen(text) + 1;
        sum += sizes[i];
    }
    return sum;
}

static void
move_texts(const csc_table *table, char *row,
           const size_t sizes[CSC_COLUMNS_MAX], char *room)
{
    for (size_t i = 0; i < table->count; i++) {
        const char **text = (void *)(row + table->columns[i].at);

        if (sizes[i] == 0)
            continue;
        *text = memcpy(room, *text, sizes[i]);
        room += sizes[i];
    }
}

void *
csc_table_copy(const csc_table *table, const void *row, size_t size, size_t at)
{
    size_t sizes[CSC_COLUMNS_MAX];
    char *copy;

    csc_assert(table->count <= CSC_COLUMNS_MAX);
    csc_assert(at + table->row_size <= size);
    copy = csc_mem_alloc(size + measure(table, row, sizes));
    if (copy == NULL)
        return NULL;
    memset(copy, 0, size);
    memcpy(copy + at, row, table->row_size);
    move_texts(table, copy + at, sizes, copy + size);
    return copy;
}
