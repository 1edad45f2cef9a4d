/* SPDX-License-Identifier: MIT
 *
 * Export and import: see document.h.
 *
 *   export   one load: the rows of one moment
 *   import   one submission: the start of the cascade with all that it has had,
 *            and its messages. What has ended comes without a run (store.h,
 *            CASCADE_RUN_START), what is RUNNING with a free one.
 *
 * If the process dies during an import, the cascade is there or it is not; a
 * repeated one finds it there. With the ids of the document that is seen before
 * anything is sent, as the store takes the same execution 0 for a repetition.
 *
 * THE KEY
 *   A cascade that keeps its ids keeps its key: its id is made of it. Whether
 *   it is the current run says the store's row of the key, which may be ahead
 *   (there were later runs: then it stays), or just behind (it moves on with
 *   the start, S22). Where runs in between are missing, the import is refused:
 *   the key would lead to a run before it.
 */
#include "manage/document.h"

#include "base/check.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "client/submit.h"
#include "engine/erasure.h"
#include "query/execution_info.h"
#include "query/link.h"
#include "state/start_record.h"
#include "store/move.h"
#include "store/store.h"

/* ---- Export ------------------------------------------------------------- */

static cascade_err
load_document(cascade_store *store, const cascade_uuid *id,
              csc_document_writer *writer)
{
    const cascade_load_sink sink = {
        .context = writer,
        .on_cascade = csc_document_write_cascade,
        .on_execution = csc_document_write_execution,
        .on_event = csc_document_write_event,
        .on_message = csc_document_write_message,
    };
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = csc_move_load(
        store, id, 1,
        CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS | CASCADE_LOAD_MESSAGES,
        &sink);

    if (err != CASCADE_OK)
        return err;
    if (writer->cascade.len == 0)
        return csc_fail(CASCADE_ERR_NOT_FOUND, "there is no cascade %s",
                        cascade_uuid_format(id, text));
    if (writer->message_count == CASCADE_LOAD_MESSAGES_MAX)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "export: %d messages or more wait for the cascade; "
                        "export it when an engine has received them",
                        CASCADE_LOAD_MESSAGES_MAX);
    return CASCADE_OK;
}

cascade_err
cascade_export(cascade_store *store, const cascade_uuid *id,
               const cascade_export_options *options, char **document)
{
    cascade_export_options known = {0};
    csc_document_writer writer = {0};
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || id == NULL || document == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "export: an argument is NULL");
    err = csc_check_options("export options", options, &known, sizeof(known));
    if (err != CASCADE_OK)
        return err;
    writer.with_tokens = known.tokens;
    err = load_document(store, id, &writer);
    if (err == CASCADE_OK)
        err = csc_document_write_end(&writer, document);
    csc_document_write_fini(&writer);
    return err == CASCADE_OK ? csc_ok() : err;
}

void
cascade_document_free(char *document)
{
    csc_mem_free(document);
}

/* ---- Import ------------------------------------------------------------- */

static cascade_err
choose_key(cascade_store *store, const csc_meta *meta, cascade_change *change)
{
    int32_t current = 0;
    cascade_err err = CASCADE_OK;

    if (meta->key == NULL || meta->run_number == 1)
        return CASCADE_OK; /* a key without a row is at its first run */
    err = csc_move_key(store, change->cascade.user_id, meta->key, &current);
    if (err != CASCADE_OK || current >= meta->run_number)
        return err;
    if (current < meta->run_number - 1)
        return csc_fail(CASCADE_ERR_REFUSED,
                        "import: the cascade is run %d of its key, and the "
                        "store knows of run %d only; import the runs in "
                        "between first, or use new ids",
                        meta->run_number, current);
    change->key = meta->key;
    change->run_number = meta->run_number;
    return CASCADE_OK;
}

static cascade_err
check_chain(cascade_store *store, const cascade_change *change)
{
    const cascade_row *row = &change->cascade;
    const cascade_link run = {.id = row->id,
                              .root = change->root != NULL ? *change->root
                                                           : row->id,
                              .run_number = change->run_number};

    return csc_link_begin(store, &run, row->status == CASCADE_COMPLETED,
                          "import");
}

static cascade_err
send(cascade_store *store, csc_document *document, const cascade_change *change,
     cascade_started *started)
{
    cascade_sent *sent = csc_arena_alloc(
        &document->arena, document->message_count + 1, sizeof(*sent));
    cascade_submission submission = {.starts = change,
                                     .start_count = 1,
                                     .existed = &started->existed,
                                     .messages = document->messages,
                                     .message_count = document->message_count,
                                     .sent = sent};
    cascade_err err = CASCADE_OK;

    if (sent == NULL)
        return csc_fail_memory();
    err = csc_submit(store, &submission, "import");
    started->existed = err == CASCADE_OK && started->existed;
    return err;
}

/* A key whose number has moved on meanwhile counts as an existing cascade too.
 * An id that is still being erased does, or as made by an earlier try: the
 * first execution that is left there has the document's id. */
static cascade_err
check_existed(cascade_store *store, const cascade_change *change,
              const cascade_started *started)
{
    bool there = false;
    int32_t current = 0;
    cascade_err err = CASCADE_OK;

    err = csc_get_look(store, &started->id, &there);
    if (err != CASCADE_OK && !started->existed)
        return CASCADE_OK; /* as it was told */
    if (err == CASCADE_OK && !there && change->key != NULL)
        err =
            csc_move_key(store, change->cascade.user_id, change->key, &current);
    if (err != CASCADE_OK || there)
        return err;
    if (change->key == NULL || current < change->run_number)
        return csc_erasure_fail("import", &started->id);
    return csc_fail(CASCADE_ERR_REFUSED,
                    "import: another run of the cascade's key was started "
                    "meanwhile");
}

static cascade_err
start(cascade_store *store, csc_document *document, const csc_meta *meta,
      const cascade_import_options *options, cascade_started *started)
{
    cascade_change change;
    cascade_started made = {.id = document->cascade.id, .existed = false};
    int64_t now_ms = 0;
    cascade_err err = csc_move_now(store, &now_ms);

    if (err != CASCADE_OK)
        return err;
    csc_document_make(document, meta, options->queue, now_ms, &change);
    err = check_chain(store, &change);
    if (err == CASCADE_OK)
        err = choose_key(store, meta, &change);
    if (err == CASCADE_OK)
        err = send(store, document, &change, &made);
    if (err == CASCADE_OK)
        err = check_existed(store, &change, &made);
    if (err == CASCADE_OK || err == CASCADE_ERR_OUTCOME_UNKNOWN)
        *started = made;
    return err;
}

static cascade_err
start_document(cascade_store *store, csc_document *document,
               const cascade_import_options *options, cascade_started *started)
{
    csc_meta meta = {0};
    cascade_err err = CASCADE_OK;

    if (options->queue != NULL)
        err = csc_document_make_move(document, options->queue);
    if (err == CASCADE_OK)
        err = csc_start_record_read(document->meta, &meta);
    if (err == CASCADE_OK && !options->new_ids)
        err = csc_document_prove(store, document, &meta);
    if (err == CASCADE_OK)
        err = start(store, document, &meta, options, started);
    csc_start_record_fini(&meta);
    return err;
}

static cascade_err
choose_ids(cascade_store *store, csc_document *document)
{
    cascade_uuid id;
    int64_t now_ms = 0;
    cascade_err err = csc_store_get_now(store, &now_ms);

    if (err != CASCADE_OK)
        return err;
    id = csc_uuid_v7(now_ms, &store->random);
    return csc_document_make_rename(document, &id, now_ms, &store->random);
}

static cascade_err
import_document(cascade_store *store, csc_document *document,
                const cascade_import_options *options, cascade_started *started)
{
    bool there = false;
    cascade_err err = CASCADE_OK;

    if (options->new_ids)
        err = choose_ids(store, document);
    else
        err = csc_get_look(store, &document->cascade.id, &there);
    if (err == CASCADE_OK && !there)
        err = csc_document_token_give(document, &store->random);
    if (err != CASCADE_OK)
        return err;
    if (!there)
        return start_document(store, document, options, started);
    *started = (cascade_started){.id = document->cascade.id, .existed = true};
    return CASCADE_OK;
}

cascade_err
cascade_import(cascade_store *store, const char *document,
               const cascade_import_options *options, cascade_started *started)
{
    cascade_import_options known = {0};
    csc_document read = {0};
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || document == NULL || started == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "import: an argument is NULL");
    err = csc_check_options("import options", options, &known, sizeof(known));
    if (err == CASCADE_OK && known.queue != NULL)
        err = csc_check_name("queue", known.queue);
    if (err == CASCADE_OK)
        err = csc_store_refuse_within(store, "cascade_import()");
    if (err == CASCADE_OK)
        err = csc_document_read(document, &read);
    if (err == CASCADE_OK)
        err = import_document(store, &read, &known, started);
    csc_document_read_fini(&read);
    return err == CASCADE_OK ? csc_ok() : err;
}
