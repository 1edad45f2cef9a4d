/* SPDX-License-Identifier: MIT
 *
 * export and import: documents, one a line when written; read with any blanks
 * between and in them.
 */
#include "input.h"
#include "scan.h"
#include "which.h"

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

/* `*existed` becomes true when it is there already. */
static int
import_one(struct session *session, const char *document, bool *existed)
{
    const struct settings *settings = session->settings;
    const cascade_import_options options = {
        .size = sizeof(options),
        .new_ids = settings_has(settings, OPTION_NEW_IDS),
        .queue = settings->text[OPTION_INTO_QUEUE],
    };
    cascade_started started;
    cascade_err err =
        cascade_import(session->store, document, &options, &started);

    if (err != CASCADE_OK)
        return session_fail(NULL, err);
    *existed = *existed || started.existed;
    return session_end(NULL, put_imported(&session->out, &started));
}

/* Cuts the documents out of `text` in place. One that is there already is no
 * success, for nothing was changed; but the others follow, so that what broke
 * off may be repeated. */
static int
import_all(struct session *session, char *text)
{
    bool existed = false;
    int code = EXIT_DONE;

    text += scan_blanks(text);
    if (*text == '\0')
        return settings_refuse(session->settings, "there is no document");
    while (*text != '\0' && code == EXIT_DONE) {
        size_t len = scan_value(text);
        /* What has no end is for the library to refuse. */
        char *end = text + (len > 0 ? len : strlen(text));
        char behind = *end;
        *end = '\0';
        code = import_one(session, text, &existed);
        *end = behind;
        text = end + scan_blanks(end);
    }
    return code == EXIT_DONE && existed ? EXIT_REFUSED : code;
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
