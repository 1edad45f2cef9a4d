/* SPDX-License-Identifier: MIT
 *
 * Whether the rows of a document make sense together: what the tables would
 * refuse (an id, a function_id or a path twice), and what an audit finds
 * (audit.h): what this library never writes. A database that took such rows
 * could give a state that no course leads to.
 */
#include "manage/document.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "query/audit/audit.h"
#include "state/kind.h"
#include "state/start_record.h"

#define MESSAGE_PART "/message/"

static cascade_err
refuse_row(const char *list, size_t index, const char *why)
{
    return csc_fail(CASCADE_ERR_REFUSED, "import: %s[%zu] %s", list, index,
                    why);
}

static cascade_err
refuse(const char *why)
{
    return csc_fail(CASCADE_ERR_REFUSED, "import: %s", why);
}

static bool
is_own(const csc_document *document)
{
    return document->meta.data != NULL;
}

/* Receipts keep the path of their message, which may have been sent to an
 * earlier run. */
static bool
is_of_another(const csc_document *document, const char *path)
{
    cascade_uuid id;
    const char *rest = csc_kind_skip_id(path, &id);

    return rest != NULL && !csc_uuid_equal(&id, &document->cascade.id) &&
           strncmp(rest, MESSAGE_PART, strlen(MESSAGE_PART)) != 0;
}

static const char *
find_fault(const csc_document *document, const cascade_execution_row *row)
{
    bool running = row->status == CASCADE_EXECUTION_RUNNING;

    if (running && row->completed_at_ms != CASCADE_TIME_NONE)
        return "is RUNNING and has a completed_at";
    if (is_of_another(document, row->node_instance_id))
        return "has the node_instance_id of another cascade";
    if (is_own(document) && row->function_id < 0)
        return "has a negative function_id";
    return NULL;
}

static cascade_err
check_executions(const csc_document *document)
{
    for (size_t i = 0; i < document->execution_count; i++) {
        const cascade_execution_row *row = &document->executions[i];
        const char *fault = find_fault(document, row);

        if (fault == NULL && i > 0 && row->function_id <= row[-1].function_id)
            fault = row->function_id == row[-1].function_id
                        ? "has the function_id of the one before"
                        : "is out of order: give them by function_id";
        if (fault != NULL)
            return refuse_row("executions", i, fault);
    }
    return CASCADE_OK;
}

static cascade_err
check_events(const csc_document *document)
{
    for (size_t i = 0; i < document->event_count; i++) {
        const cascade_event_row *row = &document->events[i];

        if (i > 0 && row->function_id < row[-1].function_id)
            return refuse_row("events", i,
                              "is out of order: give them by function_id");
    }
    return CASCADE_OK;
}

/* ---- What may be there once --------------------------------------------- */

static int
compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int
compare_ids(const void *a, const void *b)
{
    return csc_uuid_compare(a, b);
}

/* The paths of executions and messages: one is the receipt of the other. */
static cascade_err
check_paths(const csc_document *document)
{
    size_t count = document->execution_count + document->message_count;
    const char **paths = csc_mem_zalloc(count + 1, sizeof(*paths));
    cascade_err err = CASCADE_OK;
    size_t at = 0;

    if (paths == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < document->execution_count; i++)
        paths[at++] = document->executions[i].node_instance_id;
    for (size_t i = 0; i < document->message_count; i++)
        paths[at++] = document->messages[i].path;
    qsort(paths, count, sizeof(*paths), compare_texts);
    for (size_t i = 1; i < count && err == CASCADE_OK; i++)
        if (strcmp(paths[i - 1], paths[i]) == 0)
            err = refuse("a node_instance_id, or the path of a message, is "
                         "there twice");
    csc_mem_free(paths);
    return err;
}

static cascade_err
check_ids(const csc_document *document)
{
    size_t count = document->execution_count;
    cascade_uuid *ids = csc_mem_zalloc(count + 1, sizeof(*ids));
    cascade_err err = CASCADE_OK;

    if (ids == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < count; i++)
        ids[i] = document->executions[i].id;
    qsort(ids, count, sizeof(*ids), compare_ids);
    for (size_t i = 1; i < count && err == CASCADE_OK; i++)
        if (csc_uuid_equal(&ids[i - 1], &ids[i]))
            err = refuse("two executions have the same id");
    csc_mem_free(ids);
    return err;
}

/* ---- The whole ---------------------------------------------------------- */

/* As the store would have it, with the run that it gets. */
static cascade_err
show_rows(const csc_document *document, const csc_meta *meta, csc_audit *audit)
{
    const cascade_run_row run = {.queue = csc_start_record_queue(meta),
                                 .priority = meta->priority};
    bool running = document->cascade.status == CASCADE_RUNNING;
    cascade_err err =
        csc_audit_begin(audit, &document->cascade, running ? &run : NULL);

    audit->document = true;
    for (size_t i = 0; i < document->execution_count && err == CASCADE_OK; i++)
        err = csc_audit_execution(audit, &document->executions[i]);
    for (size_t i = 0; i < document->event_count && err == CASCADE_OK; i++)
        err = csc_audit_event(audit, &document->events[i]);
    for (size_t i = 0; i < document->message_count && err == CASCADE_OK; i++)
        err = csc_audit_message(audit, &document->messages[i]);
    return err == CASCADE_OK ? csc_audit_end(audit, meta->run_number) : err;
}

static cascade_err
check_rows(const csc_document *document, const csc_meta *meta)
{
    csc_audit audit = {0};
    cascade_err err = show_rows(document, meta, &audit);

    if (err == CASCADE_OK && audit.first != NULL)
        err = csc_fail(CASCADE_ERR_REFUSED, "import: %s: %s",
                       csc_audit_name(audit.first->rule), audit.first->text);
    csc_audit_fini(&audit);
    return err;
}

/* What becomes the run is checked as a start would be. */
static cascade_err
check_meta(const csc_document *document)
{
    csc_meta meta;
    cascade_err err = csc_start_record_read(document->meta, &meta);

    if (err == CASCADE_OK && meta.queue != NULL)
        err = csc_check_name("import: the recorded queue", meta.queue);
    if (err == CASCADE_OK && meta.key != NULL)
        err = csc_check_text("import: the recorded key", meta.key);
    if (err == CASCADE_OK && meta.limit_key != NULL)
        err = csc_check_text("import: the recorded limit key", meta.limit_key);
    if (err == CASCADE_OK)
        err = check_rows(document, &meta);
    csc_start_record_fini(&meta);
    return err;
}

cascade_err
csc_document_check(const csc_document *document)
{
    cascade_err err = check_executions(document);

    if (err == CASCADE_OK)
        err = check_ids(document);
    if (err == CASCADE_OK)
        err = check_paths(document);
    if (err == CASCADE_OK)
        err = check_events(document);
    return err == CASCADE_OK ? check_meta(document) : err;
}
