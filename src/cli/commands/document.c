/* SPDX-License-Identifier: MIT
 *
 * export and import: documents, one a line when written; read with any blanks
 * between and in them.
 */
#include "input.h"
#include "text/scan.h"
#include "which.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
run_export(struct session *session)
{
    const cascade_export_options options = {
        .size = sizeof(options),
        .tokens = settings_has(session->settings, OPTION_TOKENS),
    };
    cascade_uuid *ids = NULL;
    size_t count = 0;
    int code = which_several(session, &ids, &count);

    for (size_t i = 0; i < count && code == EXIT_DONE; i++) {
        char *document = NULL;
        char id[CASCADE_UUID_TEXT_SIZE];
        cascade_uuid_format(&ids[i], id);
        code = session_end(
            id, cascade_export(session->store, &ids[i], &options, &document));
        if (code == EXIT_DONE)
            out_json(&session->out, document);
        cascade_document_free(document);
    }
    free(ids);
    return code;
}

/* ---- import ------------------------------------------------------------- */

static cascade_err
put_imported(struct out *out, const cascade_started *started)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    struct object object;

    if (!out->json) {
        out_format(out, "%s %s\n", cascade_uuid_format(&started->id, id),
                   started->existed ? "existed" : "imported");
        return CASCADE_OK;
    }
    object_init(&object);
    object_id(&object, "id", &started->id);
    object_bool(&object, "existed", started->existed);
    return out_object(out, &object);
}

/* What has become of the documents of a file. */
struct tally {
    unsigned long read;
    unsigned long existed;
    unsigned long failed;
    int code; /* of the first that failed */
};

/* It is the document's fault: others may do. */
static bool
is_of_document(cascade_err err)
{
    return err == CASCADE_ERR_INVALID || err == CASCADE_ERR_JSON ||
           err == CASCADE_ERR_REFUSED || err == CASCADE_ERR_TOO_LARGE ||
           err == CASCADE_ERR_EXISTS || err == CASCADE_ERR_CORRUPT;
}

/* False when no more is to be tried. */
static bool
import_one(struct session *session, const char *document, struct tally *tally)
{
    const struct settings *settings = session->settings;
    const cascade_import_options options = {
        .size = sizeof(options),
        .new_ids = settings_has(settings, OPTION_NEW_IDS),
        .queue = settings->text[OPTION_INTO_QUEUE],
    };
    char what[40];
    cascade_started started;
    cascade_err err =
        cascade_import(session->store, document, &options, &started);
    bool fits = err == CASCADE_OK;

    tally->read++;
    if (fits)
        err = put_imported(&session->out, &started);
    if (err == CASCADE_OK) {
        tally->existed += started.existed;
        return true;
    }
    (void)snprintf(what, sizeof(what), "document %lu", tally->read);
    int code = session_fail(what, err);
    if (tally->failed++ == 0)
        tally->code = code;
    return !fits && is_of_document(err);
}

static int
import_end(const struct tally *tally)
{
    if (tally->failed > 0 && tally->read > 1)
        fprintf(stderr,
                "cascade import: of %lu documents %lu failed, %lu existed\n",
                tally->read, tally->failed, tally->existed);
    if (tally->failed > 0)
        return tally->code;
    return tally->existed > 0 ? EXIT_REFUSED : EXIT_DONE;
}

/* Cuts the documents out of `text` in place. One that is refused, or is there
 * already, is no success; but the others follow, so that what broke off may be
 * repeated. */
static int
import_all(struct session *session, char *text)
{
    struct tally tally = {0};
    bool more = true;

    text += scan_blanks(text);
    if (*text == '\0')
        return settings_refuse(session->settings, "there is no document");
    while (*text != '\0' && more) {
        size_t len = scan_value(text);
        /* What has no end is for the library to refuse. */
        char *end = text + (len > 0 ? len : strlen(text));
        char behind = *end;
        *end = '\0';
        more = import_one(session, text, &tally);
        *end = behind;
        text = end + scan_blanks(end);
    }
    return import_end(&tally);
}

int
run_import(struct session *session)
{
    const struct settings *settings = session->settings;
    char *text = NULL;
    int code = input_file(
        settings->operand_count > 0 ? settings->operands[0] : "-", &text);

    if (code == EXIT_DONE)
        code = import_all(session, text);
    free(text);
    return code;
}
