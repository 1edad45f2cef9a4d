/* SPDX-License-Identifier: MIT
 *
 * wait: how a cascade ends, once it has.
 */
#include "text/words.h"
#include "which.h"

static void
put_lines(struct out *out, const cascade_outcome *outcome, bool payloads)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    out_format(out, "%s %s\n", cascade_uuid_format(&outcome->id, id),
               words_status(outcome->status));
    if (outcome->error != NULL) {
        out_text(out, outcome->error);
        out_plain(out, "\n");
    }
    if (payloads && outcome->result != NULL) {
        out_payload(out, outcome->result);
        out_plain(out, "\n");
    }
}

static cascade_err
put_outcome(struct out *out, const cascade_outcome *outcome, bool payloads)
{
    struct object object;

    if (!out->json) {
        put_lines(out, outcome, payloads);
        return CASCADE_OK;
    }
    object_init(&object);
    object_id(&object, "id", &outcome->id);
    object_text(&object, "status", words_status(outcome->status));
    object_text(&object, "error", outcome->error);
    words_payload(&object, "result", outcome->result, payloads);
    return out_object(out, &object);
}

int
run_wait(struct session *session)
{
    const struct settings *settings = session->settings;
    int64_t timeout_ms = settings_has(settings, OPTION_TIMEOUT)
                             ? settings->number[OPTION_TIMEOUT]
                             : -1;
    cascade_outcome *outcome = NULL;
    cascade_uuid id;
    int code = which_one(session, &id, NULL);
    cascade_err err = CASCADE_OK;

    if (code != EXIT_DONE)
        return code;
    err = cascade_wait_result(session->store, &id, timeout_ms, &outcome);
    if (err != CASCADE_OK)
        return session_fail(NULL, err);
    code = outcome->status == CASCADE_COMPLETED ? EXIT_DONE : EXIT_FAILED;
    err = put_outcome(&session->out, outcome,
                      settings_has(settings, OPTION_PAYLOADS));
    cascade_outcome_free(outcome);
    return err == CASCADE_OK ? code : session_end(NULL, err);
}
