/* SPDX-License-Identifier: MIT
 *
 * Reading: load and list. Each is one read transaction on a connection of its
 * own, so it sees one moment (S12) and no writer waits for it. The statements
 * read through an index, in the order asked for: nothing is sorted and nothing
 * is held but the row that the sink looks at.
 *
 * A load walks each table once, from the first id wanted to the last. Cascades
 * that are due together were mostly born together, and their ids lie side by
 * side. Where a row of another cascade comes up the walk begins anew at the
 * next id wanted:
 *
 *   wanted    a b c . . . x y       "." are not wanted
 *   walks     -------->   ----->
 *
 * So what is read in vain is one row for each gap, and a statement for each
 * cascade (with its cursors and buffers made and freed) is the worst case. The
 * family, a few rows of many, is read by such statements alone.
 */
#include "store/sqlite/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

/* ---- Load ---------------------------------------------------------------- */

typedef struct load_state {
    csc_sqlite_conn *conn;
    const cascade_load_sink *sink;
    csc_sqlite_row_room room;
    cascade_uuid *ids; /* sorted, each once */
    size_t count;
    size_t at;                           /* those before are done with */
    char wanted[CASCADE_UUID_TEXT_SIZE]; /* the id there */
    size_t messages;                     /* given of it */
} load_state;

typedef cascade_err (*give_fn)(load_state *state, sqlite3_stmt *statement);

static cascade_err
give_cascade(load_state *state, sqlite3_stmt *statement)
{
    cascade_row row;
    cascade_err err =
        csc_sqlite_row_read(statement, 0, &csc_table_cascades, &row);

    if (err != CASCADE_OK)
        return err;
    return state->sink->on_cascade(state->sink->context, &row);
}

static cascade_err
give_execution(load_state *state, sqlite3_stmt *statement)
{
    return csc_sqlite_row_give_execution(statement, &state->room, state->sink);
}

static cascade_err
give_event(load_state *state, sqlite3_stmt *statement)
{
    return csc_sqlite_row_give_event(statement, &state->room, state->sink);
}

static cascade_err
give_seal(load_state *state, sqlite3_stmt *statement)
{
    cascade_seal_row row;
    cascade_err err = csc_sqlite_row_read(statement, 0, &csc_table_seals, &row);

    if (err != CASCADE_OK)
        return err;
    return state->sink->on_seal(state->sink->context, &row);
}

static void
pass_wanted(load_state *state)
{
    csc_assert(state->at < state->count);
    state->messages = 0;
    state->at++;
    if (state->at < state->count)
        (void)cascade_uuid_format(&state->ids[state->at], state->wanted);
}

static cascade_err
give_end(load_state *state, sqlite3_stmt *statement)
{
    cascade_message_row row;
    bool repeated = false;
    cascade_err err =
        csc_sqlite_row_message(statement, &state->room, &row, &repeated);

    if (err == CASCADE_OK)
        err = state->sink->on_message(state->sink->context, &row, repeated);
    return err;
}

/* Behind the last one the cascade is done with: the walk begins anew. */
static cascade_err
give_message(load_state *state, sqlite3_stmt *statement)
{
    cascade_err err = give_end(state, statement);

    csc_assert(state->messages < CASCADE_LOAD_MESSAGES_MAX);
    state->messages++;
    if (state->messages == CASCADE_LOAD_MESSAGES_MAX)
        pass_wanted(state);
    return err;
}

/* One table: its statement, and which column has the id of the cascade. */
typedef struct part {
    csc_sqlite_statement sql;
    int column;
    give_fn give;
} part;

static const part part_cascades = {CSC_SQLITE_LOAD_CASCADES, 0, give_cascade};
static const part part_seals = {CSC_SQLITE_LOAD_SEALS, 0, give_seal};
static const part part_executions = {CSC_SQLITE_LOAD_EXECUTIONS, 1,
                                     give_execution};
static const part part_events = {CSC_SQLITE_LOAD_EVENTS, 1, give_event};
static const part part_messages = {CSC_SQLITE_LOAD_MESSAGES, 1, give_message};
static const part part_family = {CSC_SQLITE_LOAD_FAMILY, 1, give_execution};
static const part part_ends = {CSC_SQLITE_LOAD_ENDS, 1, give_end};

/* Texts of ids sort as the ids do. A row that has no such text is passed too,
 * unless memory is out: then its reader says so. */
static bool
is_wanted(load_state *state, sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    int len = sqlite3_column_bytes(statement, column);
    int order = -1;

    if (text == NULL)
        return true;
    while (state->at < state->count) {
        order = strcmp(text, state->wanted);
        if (order < 0 || (order == 0 && len == CASCADE_UUID_TEXT_SIZE - 1))
            break;
        pass_wanted(state);
    }
    return state->at < state->count && order == 0;
}

/* From the id at `at` on, up to a row that is not wanted. Each walk leaves ids
 * behind, however the table compares texts: until it has, it passes such rows.
 */
static cascade_err
walk(load_state *state, const part *from)
{
    csc_sqlite_call call;
    size_t begun_at = state->at;
    bool row = false;
    cascade_err err;

    csc_assert(state->at < state->count);
    csc_sqlite_call_begin(&call, state->conn, from->sql);
    csc_sqlite_call_add_uuid(&call, &state->ids[state->at]);
    csc_sqlite_call_add_uuid(&call, &state->ids[state->count - 1]);
    err = csc_sqlite_call_next(&call, &row);
    while (err == CASCADE_OK && row) {
        if (is_wanted(state, call.statement, from->column))
            err = from->give(state, call.statement);
        else if (state->at > begun_at)
            break;
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(&call, &row);
    }
    if (!row)
        state->at = state->count;
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
give_all(load_state *state, const part *from)
{
    cascade_err err = CASCADE_OK;

    state->at = 0;
    if (state->count > 0)
        (void)cascade_uuid_format(&state->ids[0], state->wanted);
    while (state->at < state->count && err == CASCADE_OK)
        err = walk(state, from);
    return err;
}

/* Of each cascade by itself, at most so many. */
static cascade_err
give_each(load_state *state, const part *from, int64_t max)
{
    cascade_err err = CASCADE_OK;

    for (state->at = 0; state->at < state->count && err == CASCADE_OK;
         state->at++) {
        csc_sqlite_call call;
        bool row = false;

        csc_sqlite_call_begin(&call, state->conn, from->sql);
        csc_sqlite_call_add_uuid(&call, &state->ids[state->at]);
        csc_sqlite_call_add_i64(&call, max);
        err = csc_sqlite_call_next(&call, &row);
        while (err == CASCADE_OK && row) {
            err = from->give(state, call.statement);
            if (err == CASCADE_OK)
                err = csc_sqlite_call_next(&call, &row);
        }
        csc_sqlite_call_end(&call);
    }
    return err;
}

static int
compare_ids(const void *a, const void *b)
{
    return csc_uuid_compare(a, b);
}

static cascade_err
sort_ids(load_state *state, const cascade_uuid *ids, size_t count)
{
    csc_assert(state->ids == NULL && state->count == 0);
    state->ids = csc_mem_zalloc(count, sizeof(*ids));
    if (state->ids == NULL)
        return csc_fail_memory();
    memcpy(state->ids, ids, count * sizeof(*ids));
    qsort(state->ids, count, sizeof(*ids), compare_ids);
    for (size_t i = 0; i < count; i++) {
        if (state->count == 0 ||
            !csc_uuid_equal(&state->ids[state->count - 1], &state->ids[i]))
            state->ids[state->count++] = state->ids[i];
    }
    csc_assert(state->count <= count);
    return CASCADE_OK;
}

cascade_err
csc_sqlite_read_load(void *self, const cascade_uuid *ids, size_t count,
                     unsigned parts, const cascade_load_sink *sink)
{
    load_state state = {.sink = sink};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    err = sort_ids(&state, ids, count);
    if (err == CASCADE_OK)
        err = csc_sqlite_txn_begin_read(self, &state.conn);
    if (err != CASCADE_OK)
        goto out;
    err = csc_sqlite_delete_pass_marked(state.conn, state.ids, &state.count);
    if (err == CASCADE_OK)
        err = give_all(&state, &part_cascades);
    if (err == CASCADE_OK && (parts & CASCADE_LOAD_SEALS) != 0)
        err = give_all(&state, &part_seals);
    if (err == CASCADE_OK && (parts & CASCADE_LOAD_EXECUTIONS) != 0)
        err = give_all(&state, &part_executions);
    else if (err == CASCADE_OK && (parts & CASCADE_LOAD_FAMILY) != 0)
        err = give_each(&state, &part_family, CASCADE_LOAD_FAMILY_MAX);
    if (err == CASCADE_OK && (parts & CASCADE_LOAD_EVENTS) != 0)
        err = give_all(&state, &part_events);
    if (err == CASCADE_OK && (parts & CASCADE_LOAD_MESSAGES) != 0)
        err = give_all(&state, &part_messages);
    if (err == CASCADE_OK && (parts & CASCADE_LOAD_ENDS) != 0)
        err = give_each(&state, &part_ends, CASCADE_LOAD_ENDS_MAX);
    err = csc_sqlite_txn_end(state.conn, err);
out:
    csc_sqlite_row_fini(&state.room);
    csc_mem_free(state.ids);
    return err;
}

/* ---- List ---------------------------------------------------------------- */

#define LIST_RUN_AT ((int)csc_table_cascades.count)

/* What a statement has at least: of rows that cannot be read many may stand
 * side by side. */
#define LIST_PASS_MIN 100

/* A list: several passes, where there were rows that cannot be read. */
typedef struct listing {
    const cascade_query *query;
    cascade_list_sink sink;
    void *context;
    csc_buf behind; /* the bytes of the last id of the pass before */
    int type;       /* of that: SQLITE_TEXT, SQLITE_BLOB; 0: there is none */
    size_t given;
    size_t faults;
    size_t left; /* rows that the pass may still have */
    bool early;  /* S73 */
} listing;

static const csc_statement *
list_statement(const cascade_query *query)
{
    csc_sqlite_statement id = CSC_SQLITE_LIST;

    if (query->queue != NULL)
        id = CSC_SQLITE_LIST_QUEUE;
    else if (query->user_id != NULL && query->status == 0 && query->id == NULL)
        id = CSC_SQLITE_LIST_USER;
    return &csc_sqlite_statements[id];
}

_Static_assert(
    (int)CSC_SQLITE_LIST_IF_ID == (int)CSC_SQLITE_LIST_QUEUE_IF_ID &&
        (int)CSC_SQLITE_LIST_IF_AFTER == (int)CSC_SQLITE_LIST_QUEUE_IF_AFTER &&
        (int)CSC_SQLITE_LIST_IF_BEHIND ==
            (int)CSC_SQLITE_LIST_QUEUE_IF_BEHIND &&
        (int)CSC_SQLITE_LIST_IF_USER == (int)CSC_SQLITE_LIST_QUEUE_IF_USER &&
        (int)CSC_SQLITE_LIST_IF_STATUS ==
            (int)CSC_SQLITE_LIST_QUEUE_IF_STATUS &&
        (int)CSC_SQLITE_LIST_IF_NODE == (int)CSC_SQLITE_LIST_QUEUE_IF_NODE,
    "LIST and LIST_QUEUE have the same parts in the same order");

/* Of LIST and LIST_QUEUE. */
static unsigned
list_parts(const listing *l)
{
    const cascade_query *query = l->query;
    unsigned parts = 0;

    if (query->id != NULL)
        parts |= CSC_SQLITE_LIST_IF_ID;
    if (l->type == SQLITE_TEXT)
        parts |= CSC_SQLITE_LIST_IF_BEHIND;
    else if (l->type != 0 || query->after != NULL)
        parts |= CSC_SQLITE_LIST_IF_AFTER;
    if (query->user_id != NULL)
        parts |= CSC_SQLITE_LIST_IF_USER;
    if (query->status != 0)
        parts |= CSC_SQLITE_LIST_IF_STATUS;
    if (query->status != 0 && query->status != CASCADE_COMPLETED &&
        query->queue == NULL)
        parts |= CSC_SQLITE_LIST_IF_UNFINISHED;
    if (query->node != NULL)
        parts |= CSC_SQLITE_LIST_IF_NODE;
    return parts;
}

/* The same of LIST_USER, which has fewer. */
static unsigned
list_user_parts(unsigned parts)
{
    return ((parts & CSC_SQLITE_LIST_IF_BEHIND) != 0
                ? CSC_SQLITE_LIST_USER_IF_BEHIND
                : 0U) |
           ((parts & CSC_SQLITE_LIST_IF_AFTER) != 0
                ? CSC_SQLITE_LIST_USER_IF_AFTER
                : 0U) |
           ((parts & CSC_SQLITE_LIST_IF_NODE) != 0
                ? CSC_SQLITE_LIST_USER_IF_NODE
                : 0U);
}

/* To be freed; NULL when out of memory. */
static char *
build_query(const listing *l)
{
    const csc_statement *statement = list_statement(l->query);
    unsigned parts = list_parts(l);

    if (statement == &csc_sqlite_statements[CSC_SQLITE_LIST_USER])
        parts = list_user_parts(parts);
    return csc_statement_build(statement, parts, "", "");
}

static void
bind_query(csc_sqlite_call *call, const listing *l)
{
    const cascade_query *query = l->query;

    csc_sqlite_call_add_uuid(call, query->id);
    if (l->type != 0)
        csc_sqlite_call_add_blob(call, l->behind.data, l->behind.len);
    else
        csc_sqlite_call_add_uuid(call, query->after);
    csc_sqlite_call_add_text(call, query->user_id);
    csc_sqlite_call_add_status(call, query->status);
    csc_sqlite_call_add_text(call, query->node);
    csc_sqlite_call_add_text(call, query->queue);
    csc_sqlite_call_add_i64(
        call, query->updated_before_ms == 0 ? (int64_t)l->left : -1);
}

/* The time is compared here, and those that pass are counted: in the table it
 * may stand in several forms, which do not sort as one. */
static cascade_err
give_listed(sqlite3_stmt *statement, listing *l)
{
    const cascade_query *query = l->query;
    cascade_row row;
    cascade_run_row run;
    bool has_run = sqlite3_column_type(statement, LIST_RUN_AT) != SQLITE_NULL;
    cascade_err err =
        csc_sqlite_row_read(statement, 0, &csc_table_cascades, &row);

    if (err == CASCADE_OK && has_run)
        err = csc_sqlite_row_run(statement, LIST_RUN_AT, &run);
    if (err != CASCADE_OK) {
        l->faults++;
        return csc_store_tell_fault(query, l->context, &row.id, err);
    }
    if (query->updated_before_ms != 0 &&
        row.updated_at_ms >= query->updated_before_ms)
        return CASCADE_OK;
    l->given++;
    return l->sink(l->context, &row, has_run ? &run : NULL);
}

/* A key that is NULL stands before all texts. */
static cascade_err
note_behind(listing *l, sqlite3_stmt *statement, int type)
{
    const char *key = NULL;
    cascade_err err = csc_sqlite_call_text(statement, 0, &key);

    if (err != CASCADE_OK)
        return err;
    l->type = type == SQLITE_BLOB ? SQLITE_BLOB : SQLITE_TEXT;
    csc_buf_clear(&l->behind);
    csc_buf_add(&l->behind, key != NULL ? key : "",
                (size_t)sqlite3_column_bytes(statement, 0));
    l->early = l->query->place != NULL &&
               l->faults >= CASCADE_LIST_FAULTS_MAX &&
               l->behind.len <= CASCADE_PLACE_MAX;
    return l->behind.failed ? csc_fail_memory() : CASCADE_OK;
}

/* One row; the type is asked for before the id is read, which may change it. */
static cascade_err
list_row(listing *l, sqlite3_stmt *statement)
{
    const int type = sqlite3_column_type(statement, 0);
    cascade_err err = give_listed(statement, l);

    csc_assert(l->given <= l->query->limit);
    if (l->left > 0)
        l->left--;
    if (err != CASCADE_OK || l->given == l->query->limit)
        return err;
    return l->left == 0 || l->faults >= CASCADE_LIST_FAULTS_MAX
               ? note_behind(l, statement, type)
               : CASCADE_OK;
}

static cascade_err
list_rows(csc_sqlite_conn *conn, sqlite3_stmt *statement, listing *l)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    csc_sqlite_call_begin_with(&call, conn, "list cascades", statement);
    bind_query(&call, l);
    err = csc_sqlite_call_next(&call, &row);
    while (err == CASCADE_OK && row) {
        err = list_row(l, statement);
        if (l->early || l->given == l->query->limit)
            break;
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(&call, &row);
    }
    csc_sqlite_call_end(&call);
    return err;
}

/* One statement; `*more`: it has had its rows, and some could not be read. One
 * that compares times has no limit, and so leaves none behind. */
static cascade_err
list_pass(csc_sqlite_conn *conn, listing *l, bool *more)
{
    sqlite3_stmt *statement = NULL;
    cascade_err err = CASCADE_OK;
    char *sql;

    l->left = l->query->limit - l->given;
    if (l->left < LIST_PASS_MIN)
        l->left = LIST_PASS_MIN;
    sql = build_query(l);
    if (sql == NULL)
        err = csc_fail_memory();
    if (err == CASCADE_OK)
        err =
            csc_sqlite_conn_compile(conn, "list cascades", sql, 0, &statement);
    if (err == CASCADE_OK)
        err = list_rows(conn, statement, l);
    (void)sqlite3_finalize(statement);
    csc_mem_free(sql);
    *more = err == CASCADE_OK && l->query->updated_before_ms == 0 &&
            l->left == 0 && l->given < l->query->limit && !l->early;
    return err;
}

static cascade_err
begin_listing(listing *l)
{
    const cascade_place *place = l->query->place;

    if (place == NULL || !place->more)
        return CASCADE_OK;
    l->type = place->kind;
    csc_buf_add(&l->behind, place->key, place->size);
    return l->behind.failed ? csc_fail_memory() : CASCADE_OK;
}

static void
tell_place(const listing *l)
{
    cascade_place *place = l->query->place;

    if (place == NULL)
        return;
    *place = (cascade_place){.more = l->early};
    if (!l->early)
        return;
    place->kind = l->type;
    place->size = l->behind.len;
    memcpy(place->key, l->behind.data, l->behind.len);
}

cascade_err
csc_sqlite_read_list(void *self, const cascade_query *query,
                     cascade_list_sink sink, void *context)
{
    listing l = {.query = query, .sink = sink, .context = context};
    csc_sqlite_conn *conn = NULL;
    bool more = true;
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    err = begin_listing(&l);
    if (err == CASCADE_OK)
        err = csc_sqlite_txn_begin_read(self, &conn);
    if (err != CASCADE_OK)
        goto out;
    while (err == CASCADE_OK && more)
        err = list_pass(conn, &l, &more);
    err = csc_sqlite_txn_end(conn, err);
    if (err == CASCADE_OK)
        tell_place(&l);
out:
    csc_buf_fini(&l.behind);
    return err;
}
