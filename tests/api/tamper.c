/* SPDX-License-Identifier: MIT */
#include "api/tamper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/raw_sql.h"
#include "base/data/map.h"
#include "store/memory/internal.h"
#include "store/memory/treap.h"
#include "store/store.h"

#define ROOM 2000

static const char *const tables[TAMPER_TABLES] = {
    [TAMPER_CASCADES] = "cascades",
    [TAMPER_EXECUTIONS] = "node_executions",
    [TAMPER_EVENTS] = "context_events",
    [TAMPER_RUNS] = "cascade_runs",
    [TAMPER_MESSAGES] = "cascade_messages",
};

const char *
tamper_table_name(tamper_table table)
{
    return tables[table];
}

static bool
has_sql(const tamper *t)
{
    return strcmp(t->db->backend->name, "memory") != 0;
}

/* ---- By SQL -------------------------------------------------------------- */

/* Of each table; those that others refer to come first, or last. */
static size_t
add_tables(char *sql, size_t at, const char *format, bool backwards)
{
    for (int i = 0; i < TAMPER_TABLES; i++) {
        const char *table = tables[backwards ? TAMPER_TABLES - 1 - i : i];

        at += (size_t)snprintf(sql + at, ROOM - at, format, table, table);
    }
    return at;
}

static void
for_tables(tamper *t, const char *format)
{
    char sql[ROOM];

    (void)add_tables(sql, 0, format, false);
    raw_sql(t->db, sql);
}

static void
mend_by_sql(tamper *t)
{
    char sql[ROOM] = "BEGIN;";
    size_t at = strlen(sql);

    at = add_tables(sql, at, "DELETE FROM %s;", true);
    at = add_tables(sql, at, "INSERT INTO %s SELECT * FROM saved_%s;", false);
    (void)snprintf(sql + at, sizeof(sql) - at, "COMMIT");
    raw_sql(t->db, sql);
}

/* "... WHERE" of one row. */
static void
where(const tamper_row *row, char *sql, size_t size)
{
    const char *of = "cascade_id = (SELECT c.id FROM cascades AS c"
                     " WHERE c.user_id = '%s')";
    char text[300];

    if (row->table == TAMPER_CASCADES)
        of = "user_id = '%s'";
    (void)snprintf(text, sizeof(text), of, row->user);
    if (row->table == TAMPER_EXECUTIONS)
        (void)snprintf(sql, size, "%s AND function_id = %d", text,
                       row->function_id);
    else if (row->table == TAMPER_EVENTS)
        (void)snprintf(sql, size,
                       "id = (SELECT min(id) FROM context_events WHERE %s AND"
                       " function_id = %d)",
                       text, row->function_id);
    else if (row->table == TAMPER_MESSAGES)
        (void)snprintf(sql, size,
                       "id = (SELECT min(id) FROM cascade_messages WHERE %s)",
                       text);
    else
        (void)snprintf(sql, size, "%s", text);
}

static void
edit_by_sql(tamper *t, const tamper_row *row, const char *column,
            const char *value)
{
    const char *quote = value != NULL ? "'" : "";
    char of[600];
    char sql[ROOM];

    where(row, of, sizeof(of));
    (void)snprintf(sql, sizeof(sql), "UPDATE %s SET %s = %s%s%s WHERE %s",
                   tables[row->table], column, quote,
                   value != NULL ? value : "NULL", quote, of);
    raw_sql(t->db, sql);
}

static void
delete_by_sql(tamper *t, const tamper_row *row)
{
    char of[600];
    char sql[ROOM];

    where(row, of, sizeof(of));
    (void)snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE %s",
                   tables[row->table], of);
    raw_sql(t->db, sql);
}

static void
copy_by_sql(tamper *t, const tamper_row *row, int32_t function_id)
{
    char of[600];
    char sql[ROOM];

    where(row, of, sizeof(of));
    if (row->table == TAMPER_EXECUTIONS)
        (void)snprintf(
            sql, sizeof(sql),
            "INSERT INTO node_executions (id, node_instance_id, cascade_id,"
            " node_name, function_id, input_context, full_output, location,"
            " status, error, started_at, completed_at) SELECT"
            " '0190aaaa-0000-4000-8000-0000000000cc', node_instance_id || '1',"
            " cascade_id, node_name, %d, input_context, full_output, location,"
            " status, error, started_at, completed_at FROM node_executions"
            " WHERE %s",
            function_id, of);
    else
        (void)snprintf(sql, sizeof(sql),
                       "INSERT INTO context_events (key, value, ui_value,"
                       " function_id, cascade_id, created_at) SELECT key,"
                       " value, ui_value, %d, cascade_id, created_at FROM"
                       " context_events WHERE %s",
                       function_id, of);
    raw_sql(t->db, sql);
}

static void
swap_by_sql(tamper *t, const tamper_row *one, const tamper_row *other,
            const char *column)
{
    char of_one[600];
    char of_other[600];
    char sql[2 * ROOM];

    where(one, of_one, sizeof(of_one));
    where(other, of_other, sizeof(of_other));
    (void)snprintf(sql, sizeof(sql),
                   "CREATE TABLE swapped AS SELECT (SELECT %s FROM %s WHERE %s)"
                   " AS one, (SELECT %s FROM %s WHERE %s) AS other;"
                   " UPDATE %s SET %s = (SELECT other FROM swapped) WHERE %s;"
                   " UPDATE %s SET %s = (SELECT one FROM swapped) WHERE %s;"
                   " DROP TABLE swapped",
                   column, tables[one->table], of_one, column,
                   tables[one->table], of_other, tables[one->table], column,
                   of_one, tables[one->table], column, of_other);
    raw_sql(t->db, sql);
}

/* ---- By records ---------------------------------------------------------- */

static csc_memory_model *
model_of(const tamper *t)
{
    return ((csc_memory *)t->store->self)->model;
}

static csc_memory_cascade *
cascade_of(const tamper *t, const char *user)
{
    csc_memory_order_node *node = csc_memory_order_first(model_of(t)->order);

    while (node != NULL) {
        csc_memory_cascade *cascade = node->item;

        if (strcmp(cascade->row.user_id, user) == 0)
            return cascade;
        node = csc_memory_order_next(model_of(t)->order, 0, &node->id);
    }
    fail_msg("there is no cascade of %s", user);
    return NULL;
}

static size_t
place_of(const csc_memory_cascade *cascade, const tamper_row *row)
{
    bool event = row->table == TAMPER_EVENTS;
    size_t count = event ? cascade->event_count : cascade->execution_count;

    for (size_t i = 0; i < count; i++)
        if ((event
                 ? cascade->events[i]->row.function_id
                 : cascade->executions[i]->row.function_id) == row->function_id)
            return i;
    fail_msg("there is no row %d of %s in %s", row->function_id, row->user,
             tables[row->table]);
    return 0;
}

/* It is put back by tamper_mend(). */
static void
keep(tamper *t, void *at, size_t size)
{
    tamper_piece *piece = &t->pieces[t->piece_count++];

    assert_true(t->piece_count <= TAMPER_PIECES);
    assert_true(size <= sizeof(piece->was));
    piece->at = at;
    piece->size = size;
    memcpy(piece->was, at, size);
}

/* A member of a row, by the name of its column. */
typedef enum member_type {
    MEMBER_TEXT,
    MEMBER_I32,
    MEMBER_I64,
    MEMBER_MS,
    MEMBER_US,
    MEMBER_UUID,
    MEMBER_STATUS,
    MEMBER_EXECUTION_STATUS
} member_type;

typedef struct member {
    tamper_table table;
    const char *column;
    member_type type;
    size_t offset;
} member;

#define OF(TABLE, row, column, field, type)                         \
    {                                                               \
        TAMPER_##TABLE, column, MEMBER_##type, offsetof(row, field) \
    }

static const member members[] = {
    OF(CASCADES, cascade_row, "status", status, STATUS),
    OF(CASCADES, cascade_row, "fn_id", fn_id, I32),
    OF(CASCADES, cascade_row, "user_id", user_id, TEXT),
    OF(CASCADES, cascade_row, "created_at", created_at_ms, MS),
    OF(CASCADES, cascade_row, "updated_at", updated_at_ms, MS),
    OF(EXECUTIONS, cascade_execution_row, "id", id, UUID),
    OF(EXECUTIONS, cascade_execution_row, "node_instance_id", node_instance_id,
       TEXT),
    OF(EXECUTIONS, cascade_execution_row, "node_name", node_name, TEXT),
    OF(EXECUTIONS, cascade_execution_row, "function_id", function_id, I32),
    OF(EXECUTIONS, cascade_execution_row, "input_context", input, TEXT),
    OF(EXECUTIONS, cascade_execution_row, "full_output", full_output, TEXT),
    OF(EXECUTIONS, cascade_execution_row, "location", location, TEXT),
    OF(EXECUTIONS, cascade_execution_row, "status", status, EXECUTION_STATUS),
    OF(EXECUTIONS, cascade_execution_row, "error", error, TEXT),
    OF(EXECUTIONS, cascade_execution_row, "started_at", started_at_ms, MS),
    OF(EXECUTIONS, cascade_execution_row, "completed_at", completed_at_ms, MS),
    OF(EVENTS, cascade_event_row, "key", key, TEXT),
    OF(EVENTS, cascade_event_row, "value", value, TEXT),
    OF(EVENTS, cascade_event_row, "ui_value", ui_value, TEXT),
    OF(EVENTS, cascade_event_row, "function_id", function_id, I32),
    OF(EVENTS, cascade_event_row, "created_at", created_at_us, US),
    OF(RUNS, cascade_run_row, "queue", queue, TEXT),
    OF(RUNS, cascade_run_row, "priority", priority, I32),
    OF(RUNS, cascade_run_row, "wake_at", wake_at_ms, I64),
    OF(RUNS, cascade_run_row, "engine_id", engine_id, UUID),
    OF(RUNS, cascade_run_row, "claim_no", claim_no, I64),
    OF(RUNS, cascade_run_row, "takeovers", takeovers, I32),
    OF(RUNS, cascade_run_row, "trial", trial, I32),
    OF(RUNS, cascade_run_row, "needs", needs, TEXT),
    OF(MESSAGES, cascade_message_row, "kind", kind, TEXT),
    OF(MESSAGES, cascade_message_row, "name", name, TEXT),
    OF(MESSAGES, cascade_message_row, "path", path, TEXT),
    OF(MESSAGES, cascade_message_row, "payload", payload, TEXT),
    OF(MESSAGES, cascade_message_row, "sent_at", sent_at_ms, I64),
};

static const member *
member_of(tamper_table table, const char *column)
{
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (members[i].table == table && strcmp(members[i].column, column) == 0)
            return &members[i];
    fail_msg("%s has no column %s", tables[table], column);
    return NULL;
}

static size_t
size_of(member_type type)
{
    switch (type) {
    case MEMBER_TEXT:
        return sizeof(const char *);
    case MEMBER_I32:
        return sizeof(int32_t);
    case MEMBER_I64:
    case MEMBER_MS:
    case MEMBER_US:
        return sizeof(int64_t);
    case MEMBER_UUID:
        return sizeof(cascade_uuid);
    case MEMBER_STATUS:
        return sizeof(cascade_status);
    case MEMBER_EXECUTION_STATUS:
        return sizeof(cascade_execution_status);
    }
    return 0;
}

static void *
row_of(tamper *t, const tamper_row *row)
{
    csc_memory_cascade *cascade = cascade_of(t, row->user);
    const csc_memory_box *box = NULL;

    switch (row->table) {
    case TAMPER_CASCADES:
        return &cascade->row;
    case TAMPER_EXECUTIONS:
        return &cascade->executions[place_of(cascade, row)]->row;
    case TAMPER_EVENTS:
        return &cascade->events[place_of(cascade, row)]->row;
    case TAMPER_RUNS:
        assert_non_null(cascade->run);
        return &cascade->run->row;
    case TAMPER_MESSAGES:
        box = csc_map_get(&model_of(t)->boxes, &cascade->row.id);
        assert_non_null(box);
        return &csc_memory_messages_next(box, NULL)->row;
    case TAMPER_TABLES:
        break;
    }
    return NULL;
}

/* "2031-01-31 10:00:00" is the one time that there is. */
#define TIME_MS INT64_C(1927533600000)

static void
set(void *at, member_type type, const char *value)
{
    static const char *const words[] = {"", "RUNNING", "COMPLETED", "ERROR"};
    int64_t number = value != NULL ? strtoll(value, NULL, 10) : 0;
    int word = 1;

    if (type == MEMBER_MS || type == MEMBER_US)
        number = value == NULL       ? CASCADE_TIME_NONE
                 : type == MEMBER_MS ? TIME_MS
                                     : TIME_MS * 1000;
    while (value != NULL && word < 3 && strcmp(words[word], value) != 0)
        word++;
    switch (type) {
    case MEMBER_TEXT:
        memcpy(at, &value, sizeof(value));
        break;
    case MEMBER_I32:
        *(int32_t *)at = (int32_t)number;
        break;
    case MEMBER_I64:
    case MEMBER_MS:
    case MEMBER_US:
        *(int64_t *)at = number;
        break;
    case MEMBER_UUID:
        assert_ok(cascade_uuid_parse(value, at));
        break;
    case MEMBER_STATUS:
        *(cascade_status *)at = (cascade_status)word;
        break;
    case MEMBER_EXECUTION_STATUS:
        *(cascade_execution_status *)at = (cascade_execution_status)word;
        break;
    }
}

static int
compare_executions(const void *a, const void *b)
{
    int32_t one = (*(csc_memory_execution *const *)a)->row.function_id;
    int32_t other = (*(csc_memory_execution *const *)b)->row.function_id;

    return one < other ? -1 : one > other;
}

static int
compare_events(const void *a, const void *b)
{
    int32_t one = (*(csc_memory_event *const *)a)->row.function_id;
    int32_t other = (*(csc_memory_event *const *)b)->row.function_id;

    return one < other ? -1 : one > other;
}

/* The lists of a cascade, as copies that hold one more, in order again. */
static void
relist(tamper *t, csc_memory_cascade *cascade, tamper_table table, void *more)
{
    bool events = table == TAMPER_EVENTS;
    size_t *count = events ? &cascade->event_count : &cascade->execution_count;
    const void *from = events ? (const void *)cascade->events
                              : (const void *)cascade->executions;
    void **list = calloc(*count + 1, sizeof(void *));

    assert_non_null(list);
    t->made[t->made_count++] = list;
    keep(t, cascade, sizeof(*cascade));
    memcpy(list, from, *count * sizeof(void *));
    if (more != NULL)
        list[(*count)++] = more;
    if (events) {
        cascade->events = (csc_memory_event **)list;
        qsort(list, *count, sizeof(void *), compare_events);
    } else {
        cascade->executions = (csc_memory_execution **)list;
        qsort(list, *count, sizeof(void *), compare_executions);
    }
}

static void
edit_record(tamper *t, const tamper_row *row, const char *column,
            const char *value)
{
    const member *m = member_of(row->table, column);
    unsigned char *record = row_of(t, row);

    keep(t, record + m->offset, size_of(m->type));
    set(record + m->offset, m->type, value);
    if (strcmp(column, "function_id") == 0)
        relist(t, cascade_of(t, row->user), row->table, NULL);
}

static void
take_out(void **list, size_t *count, size_t at)
{
    --*count;
    memmove(list + at, list + at + 1, (*count - at) * sizeof(void *));
}

static void
delete_record(tamper *t, const tamper_row *row)
{
    csc_memory_cascade *cascade = cascade_of(t, row->user);

    if (row->table == TAMPER_RUNS) {
        keep(t, cascade, sizeof(*cascade));
        cascade->run = NULL;
        return;
    }
    if (row->table == TAMPER_MESSAGES) {
        csc_memory_box *box =
            csc_map_get(&model_of(t)->boxes, &cascade->row.id);

        keep(t, box, sizeof(*box));
        box->messages = NULL; /* it is the only one */
        return;
    }
    relist(t, cascade, row->table, NULL);
    if (row->table == TAMPER_EVENTS)
        take_out((void **)cascade->events, &cascade->event_count,
                 place_of(cascade, row));
    else
        take_out((void **)cascade->executions, &cascade->execution_count,
                 place_of(cascade, row));
}

static void
copy_record(tamper *t, const tamper_row *row, int32_t function_id)
{
    csc_memory_cascade *cascade = cascade_of(t, row->user);
    char *path = NULL;

    if (row->table == TAMPER_EVENTS) {
        csc_memory_event *event = calloc(1, sizeof(*event));

        assert_non_null(event);
        event->row = cascade->events[place_of(cascade, row)]->row;
        event->row.id += 1000;
        event->row.function_id = function_id;
        t->made[t->made_count++] = event;
        relist(t, cascade, row->table, event);
        return;
    }
    csc_memory_execution *execution = calloc(1, sizeof(*execution) + 300);

    assert_non_null(execution);
    path = (char *)(execution + 1);
    execution->row = cascade->executions[place_of(cascade, row)]->row;
    (void)snprintf(path, 300, "%s1", execution->row.node_instance_id);
    execution->row.node_instance_id = path;
    execution->row.function_id = function_id;
    assert_ok(cascade_uuid_parse("0190aaaa-0000-4000-8000-0000000000cc",
                                 &execution->row.id));
    t->made[t->made_count++] = execution;
    relist(t, cascade, row->table, execution);
}

static void
swap_records(tamper *t, const tamper_row *one, const tamper_row *other,
             const char *column)
{
    const member *m = member_of(one->table, column);
    unsigned char *a = (unsigned char *)row_of(t, one) + m->offset;
    unsigned char *b = (unsigned char *)row_of(t, other) + m->offset;
    unsigned char was[sizeof(cascade_uuid)];

    keep(t, a, size_of(m->type));
    keep(t, b, size_of(m->type));
    memcpy(was, a, size_of(m->type));
    memcpy(a, b, size_of(m->type));
    memcpy(b, was, size_of(m->type));
}

/* ---- Both ---------------------------------------------------------------- */

void
tamper_open(tamper *t, test_db *db, cascade_store *store)
{
    *t = (tamper){.db = db, .store = store};
    if (has_sql(t))
        for_tables(t, "CREATE TABLE saved_%s AS SELECT * FROM %s;");
}

void
tamper_edit(tamper *t, const tamper_row *row, const char *column,
            const char *value)
{
    if (has_sql(t))
        edit_by_sql(t, row, column, value);
    else
        edit_record(t, row, column, value);
}

void
tamper_delete(tamper *t, const tamper_row *row)
{
    if (has_sql(t))
        delete_by_sql(t, row);
    else
        delete_record(t, row);
}

void
tamper_copy(tamper *t, const tamper_row *row, int32_t function_id)
{
    if (has_sql(t))
        copy_by_sql(t, row, function_id);
    else
        copy_record(t, row, function_id);
}

void
tamper_swap(tamper *t, const tamper_row *one, const tamper_row *other,
            const char *column)
{
    if (has_sql(t))
        swap_by_sql(t, one, other, column);
    else
        swap_records(t, one, other, column);
}

void
tamper_mend(tamper *t)
{
    if (has_sql(t))
        mend_by_sql(t);
    while (t->piece_count > 0) {
        const tamper_piece *piece = &t->pieces[--t->piece_count];

        memcpy(piece->at, piece->was, piece->size);
    }
    while (t->made_count > 0)
        free(t->made[--t->made_count]);
}

void
tamper_close(tamper *t)
{
    if (has_sql(t))
        for_tables(t, "DROP TABLE saved_%s;");
}
