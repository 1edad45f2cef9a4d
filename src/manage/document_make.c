/* SPDX-License-Identifier: MIT
 *
 * The rows of a document as the start of a cascade, as they are or as those of
 * another one.
 *
 * ANOTHER CASCADE
 *   Its executions get new ids, in their order. A path that begins with an id,
 *   <id>/..., begins with the new one; any other, which another program made,
 *   is put behind it, since no two executions of a database may have the same.
 *   Of the record of its dispatch what ties it to others is left out: key,
 *   parent, child, previous. Children that it had started and that are RUNNING
 *   stay those of the old one, which they tell of their ends: their policy
 *   becomes "abandon", so that a cancellation or the end of the copy does not
 *   reach them, nor waits for them. Everything else says what it said.
 */
#include "manage/document.h"

#include <string.h>

#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/json/json_object.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "state/full_output.h"
#include "state/kind.h"
#include "state/start_record.h"
#include "state/state.h"

/* ---- The record of its dispatch ----------------------------------------- */

static cascade_execution_row *
find_first(const csc_document *document)
{
    for (size_t i = 0; i < document->execution_count; i++)
        if (document->executions[i].function_id == 0)
            return &document->executions[i];
    return NULL;
}

/* Puts `text` in the place of the meta. */
static cascade_err
replace_meta(csc_document *document, const csc_buf *text)
{
    cascade_execution_row *first = find_first(document);
    csc_record record;
    char *output = NULL;
    size_t before = 0;

    csc_assert(first != NULL); /* it has the meta */
    csc_full_output_read(first, &record);
    before = (size_t)(record.meta.data - first->full_output);
    if (!text->failed)
        output = csc_arena_format(
            &document->arena, "%.*s%s%s", (int)before, first->full_output,
            text->data, first->full_output + before + record.meta.len);
    if (output == NULL)
        return csc_fail_memory();
    first->full_output = output;
    csc_full_output_read(first, &record);
    document->meta = record.meta;
    return CASCADE_OK;
}

static bool
is_among(csc_json_span key, const char *const *names)
{
    for (; *names != NULL; names++)
        if (csc_json_read_is(key, *names))
            return true;
    return false;
}

/* Writes the meta anew, without some members and with another queue; NULL: the
 * same one. Its members stay in their order. */
static cascade_err
edit_meta(csc_document *document, const char *const *without, const char *queue)
{
    static const char *const moved[] = {"queue", NULL};
    csc_json_iter iter;
    csc_buf text = {0};
    cascade_err err = CASCADE_OK;

    if (document->meta.data == NULL)
        return CASCADE_OK;
    csc_json_read_iter_init(&iter, document->meta.data, document->meta.len);
    while (csc_json_read_next(&iter)) {
        if (is_among(iter.key, without))
            continue;
        csc_buf_add_text(&text, text.len == 0 ? "{\"" : ",\"");
        csc_buf_add(&text, iter.key.data, iter.key.len);
        csc_buf_add_text(&text, "\":");
        if (queue != NULL && is_among(iter.key, moved))
            csc_json_add_string(&text, queue);
        else
            csc_buf_add(&text, iter.value.data, iter.value.len);
    }
    csc_buf_add_text(&text, text.len == 0 ? "{}" : "}");
    err = replace_meta(document, &text);
    csc_buf_fini(&text);
    return err;
}

cascade_err
csc_document_make_move(csc_document *document, const char *queue)
{
    static const char *const none[] = {NULL};

    return edit_meta(document, none, queue);
}

/* ---- Another cascade ---------------------------------------------------- */

static const char *
rename_path(csc_document *document, const char *path, const char *id)
{
    cascade_uuid old;
    const char *rest = csc_kind_skip_id(path, &old);

    return csc_arena_join(&document->arena, id, rest != NULL ? "" : "/",
                          rest != NULL ? rest : path);
}

/* The record of a child that is RUNNING, with the policy "abandon". */
static cascade_err
abandon_child(csc_document *document, cascade_execution_row *row)
{
    csc_json_object object;
    csc_json_iter iter;
    csc_buf text = {0};
    csc_buf canonical = {0};
    cascade_err err = CASCADE_OK;

    csc_json_object_begin(&object, &text);
    csc_json_object_add_json(&object, "policy",
                             csc_full_output_policy(CASCADE_CHILD_ABANDON));
    csc_json_read_iter_init(&iter, row->full_output, strlen(row->full_output));
    while (csc_json_read_next(&iter))
        if (!csc_json_read_is(iter.key, "policy"))
            csc_json_object_add_member(&object, iter.key, iter.value);
    csc_json_object_end(&object);
    err = text.failed ? csc_fail_memory()
                      : csc_json_canon_stored("full_output", text.data,
                                              text.len, &canonical);
    if (err == CASCADE_OK)
        row->full_output =
            csc_arena_strndup(&document->arena, canonical.data, canonical.len);
    csc_buf_fini(&text);
    csc_buf_fini(&canonical);
    return err;
}

static cascade_err
abandon_children(csc_document *document)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < document->execution_count && err == CASCADE_OK;
         i++) {
        cascade_execution_row *row = &document->executions[i];

        if (row->status == CASCADE_EXECUTION_RUNNING &&
            csc_kind_of(row->node_name) == CSC_PART_CHILD &&
            row->full_output != NULL && row->full_output[0] == '{')
            err = abandon_child(document, row);
    }
    return err;
}

static cascade_err
rename_executions(csc_document *document, const char *id, int64_t now_ms,
                  const cascade_random *random)
{
    size_t count = document->execution_count;
    cascade_uuid *ids = csc_mem_zalloc(count + 1, sizeof(*ids));

    if (ids == NULL)
        return csc_fail_memory();
    csc_uuid_v7_many(now_ms, random, ids, count);
    for (size_t i = 0; i < count; i++) {
        cascade_execution_row *row = &document->executions[i];

        row->id = ids[i];
        row->cascade_id = document->cascade.id;
        row->node_instance_id =
            rename_path(document, row->node_instance_id, id);
    }
    csc_mem_free(ids);
    return CASCADE_OK;
}

cascade_err
csc_document_make_rename(csc_document *document, const cascade_uuid *id,
                         int64_t now_ms, const cascade_random *random)
{
    static const char *const ties[] = {"key",      "child", "parent",
                                       "previous", "root",  NULL};
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = CASCADE_OK;

    (void)cascade_uuid_format(id, text);
    document->cascade.id = *id;
    err = rename_executions(document, text, now_ms, random);
    for (size_t i = 0; i < document->event_count; i++)
        document->events[i].cascade_id = *id;
    for (size_t i = 0; i < document->message_count; i++) {
        cascade_message_row *row = &document->messages[i];

        row->cascade_id = *id;
        row->path = rename_path(document, row->path, text);
    }
    if (err == CASCADE_OK)
        err = abandon_children(document);
    if (err == CASCADE_OK)
        err = edit_meta(document, ties, NULL);
    if (err == CASCADE_OK && document->arena.failed)
        err = csc_fail_memory();
    return err;
}

/* ---- The start ---------------------------------------------------------- */

void
csc_document_make(const csc_document *document, const csc_meta *meta,
                  const char *queue, int64_t now_ms, cascade_change *change)
{
    if (queue == NULL)
        queue = csc_start_record_queue(meta);
    *change = (cascade_change){
        .cascade = document->cascade,
        .run_action = CASCADE_RUN_START,
        .inserts = document->executions,
        .insert_count = document->execution_count,
        .events = document->events,
        .event_count = document->event_count,
        .root = csc_uuid_is_nil(&meta->root) ? NULL : &meta->root,
        .run_number = meta->run_number};
    change->run =
        (cascade_run_row){.cascade_id = document->cascade.id,
                          .queue = queue,
                          .priority = meta->priority,
                          .limit_key = csc_start_record_limit_key(
                              meta->limit_key, document->cascade.user_id),
                          .wake_at_ms = now_ms};
}
