/* SPDX-License-Identifier: MIT
 *
 * explain: the library's sentences, one a line.
 */
#include "which.h"

#include <string.h>

static cascade_err
put_json(struct out *out, const cascade_cause *cause)
{
    static const cascade_uuid none = {{0}};
    bool has_id = memcmp(&cause->id, &none, sizeof(none)) != 0;
    struct object object;

    object_init(&object);
    object_text(&object, "reason", cascade_reason_name(cause->reason));
    object_place(&object, "function_id", cause->function_id);
    object_text(&object, "node", *cause->node != '\0' ? cause->node : NULL);
    object_text(&object, "name", *cause->name != '\0' ? cause->name : NULL);
    object_id(&object, "id", has_id ? &cause->id : NULL);
    object_time(&object, "at", cause->at_ms);
    object_number(&object, "count", cause->count);
    object_place(&object, "other", cause->other);
    object_text(&object, "text", cause->text);
    return out_object(out, &object);
}

static void
put_people(struct out *out, const cascade_cause *cause)
{
    out_plain(out, *cause->node != '\0' ? "  " : "");
    out_text(out, cause->text);
    out_plain(out, "\n");
}

int
run_explain(struct session *session)
{
    cascade_explanation *explanation = NULL;
    cascade_uuid id;
    int code = which_one(session, &id, NULL);

    if (code != EXIT_DONE)
        return code;
    cascade_err err = cascade_explain(session->store, &id, &explanation);
    if (err != CASCADE_OK)
        return session_fail(NULL, err);
    for (size_t i = 0;
         i < cascade_explanation_count(explanation) && err == CASCADE_OK; i++) {
        const cascade_cause *cause = cascade_explanation_get(explanation, i);
        if (session->out.json)
            err = put_json(&session->out, cause);
        else
            put_people(&session->out, cause);
    }
    code = session_end(NULL, err);
    cascade_explanation_free(explanation);
    return code;
}
