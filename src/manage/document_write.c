/* SPDX-License-Identifier: MIT
 *
 * The rows of a cascade as text. Each list is written as its rows come; what
 * has grown beyond the limit ends the load.
 */
#include "manage/document.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json_object.h"
#include "base/mem.h"
#include "base/status.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "store/store.h"

static cascade_err
too_large(void)
{
    return csc_fail(CASCADE_ERR_TOO_LARGE,
                    "export: the document of the cascade is larger than %zu "
                    "bytes; copy the database instead",
                    CSC_DOCUMENT_MAX);
}

static csc_json_object
begin_row(csc_buf *rows)
{
    csc_json_object o;

    if (rows->len > 0)
        csc_buf_add_char(rows, ',');
    csc_json_object_begin(&o, rows);
    return o;
}

static cascade_err
end_row(csc_document_writer *writer, csc_json_object *o)
{
    size_t len = writer->cascade.len + writer->executions.len +
                 writer->events.len + writer->messages.len;

    csc_json_object_end(o);
    csc_arena_clear(&writer->arena);
    if (o->out->failed)
        return csc_fail_memory();
    return len > CSC_DOCUMENT_MAX ? too_large() : CASCADE_OK;
}

/* ---- Rows --------------------------------------------------------------- */

cascade_err
csc_document_write_cascade(void *context, const cascade_row *row)
{
    csc_document_writer *writer = context;
    csc_json_object o = begin_row(&writer->cascade);

    csc_json_object_add_id(&o, "id", &row->id);
    csc_json_object_add_number(&o, "fn_id", row->fn_id);
    csc_json_object_add_string(&o, "status", csc_status_word(row->status));
    csc_json_object_add_string(&o, "user_id", row->user_id);
    csc_json_object_add_number(&o, "created_at", row->created_at_ms);
    csc_json_object_add_number(&o, "updated_at", row->updated_at_ms);
    return end_row(writer, &o);
}

cascade_err
csc_document_write_execution(void *context, const cascade_execution_row *read)
{
    csc_document_writer *writer = context;
    cascade_execution_row written = *read;
    const cascade_execution_row *row = &written;
    csc_json_object o;

    if (!writer->with_tokens &&
        csc_document_token_hide_execution(writer, &written) != CASCADE_OK)
        return CASCADE_ERR_NO_MEMORY;
    o = begin_row(&writer->executions);

    csc_json_object_add_id(&o, "id", &row->id);
    csc_json_object_add_string(&o, "error", row->error);
    csc_json_object_add_string(&o, "status",
                               csc_status_execution_word(row->status));
    csc_json_object_add_string(&o, "location", row->location);
    csc_json_object_add_string(&o, "node_name", row->node_name);
    csc_json_object_add_number(&o, "started_at", row->started_at_ms);
    csc_json_object_add_json(&o, "full_output", row->full_output);
    csc_json_object_add_number(&o, "function_id", row->function_id);
    if (row->completed_at_ms != CASCADE_TIME_NONE)
        csc_json_object_add_number(&o, "completed_at", row->completed_at_ms);
    csc_json_object_add_json(&o, "input_context", row->input);
    csc_json_object_add_string(&o, "node_instance_id", row->node_instance_id);
    return end_row(writer, &o);
}

/* As in RFC 3339. */
static void
add_time_us(csc_json_object *o, const char *name, int64_t time_us)
{
    char text[CSC_TIME_TEXT_SIZE];
    char rfc[CSC_TIME_TEXT_SIZE];

    csc_clock_format_us(time_us, text);
    (void)snprintf(rfc, sizeof(rfc), "%.10sT%.15sZ", text, text + 11);
    csc_json_object_add_text(o, name, rfc);
}

static cascade_err
write_event(csc_document_writer *writer, const cascade_event_row *row)
{
    csc_json_object o = begin_row(&writer->events);

    csc_json_object_add_string(&o, "key", row->key);
    csc_json_object_add_json(&o, "value", row->value);
    csc_json_object_add_json(&o, "ui_value", row->ui_value);
    add_time_us(&o, "created_at", row->created_at_us);
    csc_json_object_add_number(&o, "function_id", row->function_id);
    return end_row(writer, &o);
}

cascade_err
csc_document_write_event(void *context, const cascade_event_row *row)
{
    csc_document_writer *writer = context;
    cascade_err err = CASCADE_OK;
    size_t at = 0;

    if (writer->piece_count > 0 &&
        writer->pieces[0].when.function_id != row->function_id)
        err = csc_document_sort_events(writer);
    at = writer->events.len + (writer->events.len > 0 ? 1 : 0);
    if (err == CASCADE_OK)
        err = write_event(writer, row);
    return err == CASCADE_OK ? csc_document_sort_note_event(writer, row, at)
                             : err;
}

cascade_err
csc_document_write_message(void *context, const cascade_message_row *read,
                           bool repeated)
{
    csc_document_writer *writer = context;
    cascade_message_row written = *read;
    const cascade_message_row *row = &written;
    csc_json_object o;

    writer->message_count++;
    if (repeated)
        return CASCADE_OK;
    if (!writer->with_tokens &&
        csc_document_token_hide_message(writer, &written) != CASCADE_OK)
        return CASCADE_ERR_NO_MEMORY;
    o = begin_row(&writer->messages);
    csc_json_object_add_string(&o, "kind", row->kind);
    csc_json_object_add_string(&o, "name", row->name);
    csc_json_object_add_string(&o, "path", row->path);
    csc_json_object_add_json(&o, "payload", row->payload);
    csc_json_object_add_number(&o, "sent_at", row->sent_at_ms);
    return end_row(writer, &o);
}

/* ---- The whole ---------------------------------------------------------- */

static void
add_list(csc_buf *out, const char *name, const csc_buf *rows)
{
    csc_buf_add_format(out, "\"%s\":[", name);
    csc_buf_add(out, rows->data, rows->len);
    csc_buf_add_char(out, ']');
}

cascade_err
csc_document_write_end(csc_document_writer *writer, char **text)
{
    csc_buf out = {0};
    size_t len = 0;
    cascade_err err = csc_document_sort_events(writer);

    if (err != CASCADE_OK)
        return err;
    csc_buf_add_char(&out, '{');
    add_list(&out, "events", &writer->events);
    csc_buf_add_text(&out, ",\"format\":\"" CSC_DOCUMENT_FORMAT "\"");
    csc_buf_add_text(&out, ",\"cascade\":");
    csc_buf_add(&out, writer->cascade.data, writer->cascade.len);
    csc_buf_add_format(&out, ",\"version\":%d,", CSC_DOCUMENT_VERSION);
    add_list(&out, "messages", &writer->messages);
    csc_buf_add_char(&out, ',');
    add_list(&out, "executions", &writer->executions);
    csc_buf_add_char(&out, '}');
    len = out.len;
    if (len > CSC_DOCUMENT_MAX) {
        csc_buf_fini(&out);
        return too_large();
    }
    *text = csc_buf_take(&out);
    return *text != NULL ? CASCADE_OK : csc_fail_memory();
}

void
csc_document_write_fini(csc_document_writer *writer)
{
    csc_buf_fini(&writer->cascade);
    csc_buf_fini(&writer->executions);
    csc_buf_fini(&writer->events);
    csc_mem_free(writer->pieces);
    csc_buf_fini(&writer->messages);
    csc_buf_fini(&writer->tokens);
    csc_arena_fini(&writer->arena);
}
