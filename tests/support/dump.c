/* SPDX-License-Identifier: MIT
 *
 * Pictures of states and rows; see dump.h.
 */
#include "support/dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/data/digits.h"
#include "base/data/tree.h"
#include "base/uuid.h"
#include "state/state.h"
#include "support/must.h"

/* Simulations write millions of these lines: each is put together in place. */
static void
add_line(csc_buf *out, const char *name, const char *value, size_t len)
{
    size_t name_len = strlen(name);
    char *at = NULL;

    if (!csc_buf_reserve(out, name_len + len + 4))
        return;
    at = out->data + out->len;
    *at++ = ' ';
    *at++ = ' ';
    at = (char *)memcpy(at, name, name_len) + name_len;
    *at++ = '=';
    at = (char *)memcpy(at, value, len) + len;
    *at++ = '\n';
    *at = '\0';
    out->len += name_len + len + 4;
}

static void
add_text(csc_buf *out, const char *name, const char *value)
{
    if (value == NULL)
        value = "(none)";
    add_line(out, name, value, strlen(value));
}

static void
add_number(csc_buf *out, const char *name, int64_t value)
{
    char text[CSC_DIGITS_SIZE];
    const char *at = csc_digits(value, text);

    add_line(out, name, at, (size_t)(text + sizeof(text) - 1 - at));
}

static void
add_ids(csc_buf *out, const char *name, const csc_ids *ids)
{
    csc_buf_add_text(out, "  ");
    csc_buf_add_text(out, name);
    csc_buf_add_char(out, '=');
    for (size_t i = 0; i < ids->count; i++) {
        csc_buf_add_i64(out, ids->items[i]);
        csc_buf_add_char(out, ' ');
    }
    csc_buf_add_char(out, '\n');
}

static void
add_id(csc_buf *out, const char *name, const cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];

    add_text(out, name, cascade_uuid_format(id, text));
}

/* ---- States ------------------------------------------------------------- */

static void
add_join(csc_buf *out, const csc_exec *exec)
{
    const csc_join *join = exec->join;

    if (join == NULL)
        return;
    csc_buf_add_format(out, "  first=%u on_failure=%d good=%u bad=%u late=%u\n",
                       (unsigned)join->first, (int)join->on_failure,
                       (unsigned)join->good, (unsigned)join->bad,
                       (unsigned)join->late);
    add_number(out, "verdict", join->verdict);
    add_number(out, "join_not_before", join->not_before_ms);
    for (size_t i = 0; i < exec->after.count; i++)
        csc_buf_add_format(out, "  slot=%d ended=%d bad=%d\n",
                           (int)join->slots[i].function_id,
                           (int)join->slots[i].ended, (int)join->slots[i].bad);
}

/* Those that it still holds up: others may be told for nothing. */
static void
add_waiters(csc_buf *out, const csc_state *state, const csc_exec *exec)
{
    for (size_t i = 0; i < exec->waiters.count; i++) {
        const csc_exec *waiter = csc_view_find(state, exec->waiters.items[i]);

        if (waiter != NULL && waiter->status == CASCADE_EXECUTION_RUNNING &&
            waiter->blocked > 0)
            add_number(out, "waiter", waiter->function_id);
    }
}

static void
add_exec(csc_buf *out, const csc_state *state, const csc_exec *exec)
{
    csc_buf_add_format(out, "execution %d\n", exec->function_id);
    add_number(out, "parent", exec->parent);
    add_number(out, "occurrence", exec->occurrence);
    add_number(out, "at", exec->at);
    add_number(out, "status", exec->status);
    add_number(out, "attempts", exec->attempts);
    add_number(out, "priority", exec->priority);
    add_number(out, "continued", exec->continued);
    add_number(out, "over", exec->over);
    add_number(out, "not_before", exec->not_before_ms);
    add_number(out, "recorded", exec->recorded_ms);
    add_number(out, "since", exec->since_ms);
    add_text(out, "name", exec->name);
    add_text(out, "input", exec->input);
    add_text(out, "output", exec->output);
    add_text(out, "error", exec->error);
    add_text(out, "step_attempts", exec->step_attempts);
    add_text(out, "progress", exec->progress);
    add_ids(out, "after", &exec->after);
    add_join(out, exec);
    add_ids(out, "late", &exec->late);
    add_number(out, "skipped", exec->skipped);
    add_number(out, "holders", exec->holders);
    add_number(out, "wanted", exec->wanted);
    add_ids(out, "seen", &exec->seen);
    add_waiters(out, state, exec);
    add_ids(out, "parts", &exec->parts);
    add_number(out, "works", (int64_t)exec->works);
    add_number(out, "is_found", exec->as_told.count > 0);
    add_number(out, "is_part", exec->as_part.count > 0);
    add_number(out, "blocked", exec->blocked);
    add_number(out, "stands_for", exec->stands_for);
    add_number(out, "resumes", exec->resumes);
    add_number(out, "place", exec->place);
    add_number(out, "runnable", exec->stage != CSC_STAGE_RESTING);
}

static void
add_key(csc_buf *out, const csc_key *key)
{
    add_text(out, "key", key->name);
    add_number(out, "of_parts", (int64_t)csc_tree_count(&key->of_parts));
    for (size_t i = 0; i < csc_tree_count(&key->events); i++) {
        const csc_event *event = csc_events_nth_event(key, i);

        csc_buf_add_format(out, " event writer=%d parent=%d at=%d\n",
                           event->when.function_id, event->parent, event->at);
        add_text(out, "value", event->value);
        add_text(out, "ui_value", event->ui_value);
    }
}

void
dump_state(csc_buf *out, const csc_state *state)
{
    add_id(out, "cascade", &state->id);
    add_number(out, "recorded", state->recorded);
    add_number(out, "status", csc_view_status(state));
    add_number(out, "fn_id", state->fn_id);
    add_text(out, "user_id", state->user_id);
    add_number(out, "created_at", state->created_at_ms);
    add_number(out, "updated_at", state->updated_at_ms);
    add_text(out, "meta", state->meta);
    add_number(out, "priority", state->priority);
    add_number(out, "deadline", state->deadline_ms);
    add_number(out, "running", (int64_t)state->running);
    add_number(out, "awaiting", (int64_t)state->awaiting);
    add_number(out, "children", (int64_t)state->children);
    add_number(out, "externals", (int64_t)state->externals);
    add_number(out, "depth", state->depth);
    add_text(out, "result", state->result);
    add_number(out, "ended", (int64_t)state->ended.count);
    add_number(out, "takings", (int64_t)csc_tree_count(&state->takings));
    add_number(out, "signal_bytes", (int64_t)state->signal_bytes);
    for (size_t i = 0; i < csc_tree_count(&state->signals); i++) {
        const csc_signal *signal = csc_signals_nth_signal(state, i);

        add_number(out, "signal", signal->function_id);
        add_text(out, "name", signal->name);
        add_text(out, "payload", signal->payload);
    }
    add_number(out, "terminated", state->terminated);
    add_text(out, "error", state->error);
    for (size_t i = 0; i < state->exec_count; i++)
        if (state->execs[i].exec != NULL)
            add_exec(out, state, state->execs[i].exec);
    for (size_t i = 0; i < csc_tree_count(&state->keys); i++)
        add_key(out, csc_events_nth_key(state, i));
}

/* ---- Rows --------------------------------------------------------------- */

static const char *
keep(dump_rows *rows, const char *text)
{
    return text == NULL ? NULL : must(csc_arena_strdup(&rows->arena, text));
}

static void
clear(dump_rows *rows)
{
    csc_arena_clear(&rows->arena);
    rows->found = false;
    rows->execution_count = 0;
    rows->event_count = 0;
    rows->message_count = 0;
}

void
dump_rows_fini(dump_rows *rows)
{
    csc_arena_fini(&rows->arena);
    free(rows->executions);
    free(rows->events);
    free(rows->messages);
    memset(rows, 0, sizeof(*rows));
}

static void
add_execution_row(dump_rows *rows, const cascade_execution_row *row)
{
    cascade_execution_row *copy = NULL;
    size_t at = rows->execution_count;

    if (at == rows->execution_room) {
        rows->execution_room = at == 0 ? 8 : at * 2;
        rows->executions = must(
            realloc(rows->executions, rows->execution_room * sizeof(*copy)));
    }
    while (at > 0 && rows->executions[at - 1].function_id > row->function_id) {
        rows->executions[at] = rows->executions[at - 1];
        at--;
    }
    rows->execution_count++;
    copy = &rows->executions[at];
    *copy = *row;
    copy->node_instance_id = keep(rows, row->node_instance_id);
    copy->node_name = keep(rows, row->node_name);
    copy->input = keep(rows, row->input);
    copy->full_output = keep(rows, row->full_output);
    copy->location = keep(rows, row->location);
    copy->error = keep(rows, row->error);
}

static void
update_execution_row(dump_rows *rows, const cascade_execution_row *row)
{
    for (size_t i = 0; i < rows->execution_count; i++) {
        cascade_execution_row *old = &rows->executions[i];

        if (old->function_id != row->function_id)
            continue;
        old->status = row->status;
        old->full_output = keep(rows, row->full_output);
        old->error = keep(rows, row->error);
        old->completed_at_ms = row->completed_at_ms;
    }
}

static void
add_event_row(dump_rows *rows, const cascade_event_row *row)
{
    cascade_event_row *copy = NULL;
    size_t at = rows->event_count;

    if (at == rows->event_room) {
        rows->event_room = at == 0 ? 8 : at * 2;
        rows->events =
            must(realloc(rows->events, rows->event_room * sizeof(*copy)));
    }
    while (at > 0 && rows->events[at - 1].function_id > row->function_id) {
        rows->events[at] = rows->events[at - 1];
        at--;
    }
    rows->event_count++;
    copy = &rows->events[at];
    *copy = *row;
    copy->key = keep(rows, row->key);
    copy->value = keep(rows, row->value);
    copy->ui_value = keep(rows, row->ui_value);
}

void
dump_rows_apply(dump_rows *rows, const cascade_change *change)
{
    if (change->run_action == CASCADE_RUN_START) {
        rows->cascade = change->cascade;
        rows->cascade.user_id = keep(rows, change->cascade.user_id);
        rows->found = true;
    } else {
        rows->cascade.status = change->cascade.status;
        rows->cascade.fn_id = change->cascade.fn_id;
        rows->cascade.updated_at_ms = change->cascade.updated_at_ms;
    }
    for (size_t i = 0; i < change->update_count; i++)
        update_execution_row(rows, &change->updates[i]);
    for (size_t i = 0; i < change->insert_count; i++)
        add_execution_row(rows, &change->inserts[i]);
    for (size_t i = 0; i < change->event_count; i++)
        add_event_row(rows, &change->events[i]);
}

static cascade_err
read_cascade(void *context, const cascade_row *row)
{
    dump_rows *rows = context;

    rows->cascade = *row;
    rows->cascade.user_id = keep(rows, row->user_id);
    rows->found = true;
    return CASCADE_OK;
}

static cascade_err
read_execution(void *context, const cascade_execution_row *row)
{
    add_execution_row(context, row);
    return CASCADE_OK;
}

static cascade_err
read_event(void *context, const cascade_event_row *row)
{
    add_event_row(context, row);
    return CASCADE_OK;
}

static cascade_err
read_message(void *context, const cascade_message_row *row, bool repeated)
{
    dump_rows *rows = context;
    dump_message *copy = NULL;

    if (rows->message_count == rows->message_room) {
        rows->message_room =
            rows->message_room == 0 ? 8 : rows->message_room * 2;
        rows->messages =
            must(realloc(rows->messages, rows->message_room * sizeof(*copy)));
    }
    copy = &rows->messages[rows->message_count++];
    copy->row = *row;
    copy->row.kind = keep(rows, row->kind);
    copy->row.name = keep(rows, row->name);
    copy->row.path = keep(rows, row->path);
    copy->row.payload = keep(rows, row->payload);
    copy->repeated = repeated;
    return CASCADE_OK;
}

cascade_err
dump_rows_load(dump_rows *rows, const cascade_store_driver *driver, void *self,
               const cascade_uuid *id)
{
    cascade_load_sink sink = {.context = rows,
                              .on_cascade = read_cascade,
                              .on_execution = read_execution,
                              .on_event = read_event,
                              .on_message = read_message};

    clear(rows);
    return driver->load(self, id, 1,
                        CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS |
                            CASCADE_LOAD_MESSAGES,
                        &sink);
}

static void
add_execution_text(csc_buf *out, const cascade_execution_row *row)
{
    csc_buf_add_format(out, "row %d\n", row->function_id);
    add_id(out, "id", &row->id);
    add_id(out, "cascade_id", &row->cascade_id);
    add_number(out, "status", row->status);
    add_text(out, "node_instance_id", row->node_instance_id);
    add_text(out, "node_name", row->node_name);
    add_text(out, "input", row->input);
    add_text(out, "full_output", row->full_output);
    add_text(out, "location", row->location);
    add_text(out, "error", row->error);
    add_number(out, "started_at", row->started_at_ms);
    add_number(out, "completed_at", row->completed_at_ms);
}

void
dump_rows_text(csc_buf *out, const dump_rows *rows)
{
    csc_buf_add_format(out, "rows found=%d\n", rows->found);
    if (!rows->found)
        return;
    add_id(out, "cascade", &rows->cascade.id);
    add_number(out, "status", rows->cascade.status);
    add_number(out, "fn_id", rows->cascade.fn_id);
    add_text(out, "user_id", rows->cascade.user_id);
    add_number(out, "created_at", rows->cascade.created_at_ms);
    add_number(out, "updated_at", rows->cascade.updated_at_ms);
    for (size_t i = 0; i < rows->execution_count; i++)
        add_execution_text(out, &rows->executions[i]);
    for (size_t i = 0; i < rows->event_count; i++) {
        const cascade_event_row *event = &rows->events[i];

        csc_buf_add_format(out, "event of %d\n", event->function_id);
        add_id(out, "cascade_id", &event->cascade_id);
        add_text(out, "key", event->key);
        add_text(out, "value", event->value);
        add_text(out, "ui_value", event->ui_value);
        add_number(out, "created_at", event->created_at_us);
    }
}

cascade_err
dump_rows_hydrate(const dump_rows *rows, csc_state *state)
{
    bool again = true;
    cascade_err err = CASCADE_OK;

    csc_state_init(state, &rows->cascade.id);
    while (again && err == CASCADE_OK) {
        err = csc_state_apply_cascade(state, &rows->cascade);
        for (size_t i = 0; i < rows->execution_count && err == CASCADE_OK; i++)
            err = csc_state_apply_execution(state, &rows->executions[i]);
        for (size_t i = 0; i < rows->event_count && err == CASCADE_OK; i++)
            err = csc_events_apply_event(state, &rows->events[i]);
        if (err == CASCADE_OK)
            err = csc_state_begin_again(state, &again);
    }
    if (err == CASCADE_OK)
        csc_state_settle(state);
    return err;
}

/* ---- Differences -------------------------------------------------------- */

void
dump_differ(const char *what, const char *left, const char *right)
{
    size_t at = 0;
    size_t begin = 0;

    while (left[at] != '\0' && left[at] == right[at]) {
        at++;
        if (left[at - 1] == '\n')
            begin = at;
    }
    fprintf(stderr, "%s differ at byte %zu:\n  %.*s\n  %.*s\n", what, at,
            (int)strcspn(left + begin, "\n"), left + begin,
            (int)strcspn(right + begin, "\n"), right + begin);
    if (getenv("CASCADE_TEST_DUMP") != NULL)
        fprintf(stderr, "---- left\n%s---- right\n%s", left, right);
}
