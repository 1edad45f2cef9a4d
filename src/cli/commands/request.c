/* SPDX-License-Identifier: MIT
 *
 * Commands to cascades: cancel, terminate, pause, resume, retry, delete, and
 * rerun; fork has a file of its own.
 *
 *   IDs or --key         one call each, an answer each
 *   --all with filters   one call for all (many.c)
 *   --queue alone        pause, resume: the queue itself
 */
#include "ask.h"
#include "commands/many.h"
#include "which.h"

#include <stdlib.h>
#include <string.h>

/* ---- One by one --------------------------------------------------------- */

typedef cascade_err (*request_fn)(struct session *session,
                                  const cascade_uuid *id);

static cascade_request_options
request_options(const struct session *session)
{
    const struct settings *settings = session->settings;

    return (cascade_request_options){
        .size = sizeof(cascade_request_options),
        .request_id = settings->text[OPTION_REQUEST_ID],
        .reason = settings->text[OPTION_REASON],
        .by = settings_by(settings),
        .wait_ms = settings->number[OPTION_WAIT],
    };
}

static cascade_err
request_one(struct session *session, const cascade_uuid *id)
{
    static const struct {
        cascade_request request;
        cascade_err (*call)(cascade_store *store, const cascade_uuid *id,
                            const cascade_request_options *options);
    } calls[] = {
        {CASCADE_REQUEST_CANCEL, cascade_cancel},
        {CASCADE_REQUEST_TERMINATE, cascade_terminate},
        {CASCADE_REQUEST_DELETE, cascade_delete},
        {CASCADE_REQUEST_PAUSE, cascade_pause},
        {CASCADE_REQUEST_RESUME, cascade_resume},
        {CASCADE_REQUEST_RETRY, cascade_retry},
    };
    const cascade_request_options options = request_options(session);
    cascade_request request = many_request(session->settings->command);
    size_t i = 0;

    while (calls[i].request != request)
        i++;
    return calls[i].call(session->store, id, &options);
}

static cascade_err
rerun_one(struct session *session, const cascade_uuid *id)
{
    const cascade_request_options common = request_options(session);
    const cascade_rerun_options options = {
        .size = sizeof(options),
        .request_id = common.request_id,
        .reason = common.reason,
        .by = common.by,
        .wait_ms = common.wait_ms,
        .from = (int32_t)session->settings->number[OPTION_FROM],
    };

    return cascade_rerun(session->store, id, &options);
}

/* The text of an error is read before anything else is called: it is the
 * library's until then. */
int
request_answer(struct session *session, const char *id, const char *outcome,
               const cascade_uuid *made, cascade_err err)
{
    char other[CASCADE_UUID_TEXT_SIZE];
    struct out *out = &session->out;
    struct object object;
    int code = session_end(id, err);

    if (!out->json && err == CASCADE_OK)
        out_format(out, "%s %s%s%s\n", id, outcome, made != NULL ? " as " : "",
                   made != NULL ? cascade_uuid_format(made, other) : "");
    if (!out->json)
        return code;
    object_init(&object);
    object_text(&object, "id", id);
    object_text(&object, "command", session->settings->command->name);
    object_text(&object, "outcome", err == CASCADE_OK ? outcome : "failed");
    object_text(&object, "text", err == CASCADE_OK ? NULL : cascade_errmsg());
    object_text(&object, "error",
                err == CASCADE_OK ? NULL : cascade_err_name(err));
    if (made != NULL)
        object_id(&object, "made", made);
    err = out_object(out, &object);
    return code != EXIT_DONE ? code : session_end(NULL, err);
}

/* Asks each, also behind one that fails; the first of those decides. */
static int
each(struct session *session, const cascade_uuid *ids, size_t count,
     request_fn request)
{
    bool waits = settings_has(session->settings, OPTION_WAIT);
    char id[CASCADE_UUID_TEXT_SIZE];
    int code = EXIT_DONE;

    for (size_t i = 0; i < count; i++) {
        cascade_uuid_format(&ids[i], id);
        cascade_err err = request(session, &ids[i]);
        int one =
            request_answer(session, id, waits ? "done" : "asked", NULL, err);
        code = code == EXIT_DONE ? one : code;
    }
    return code;
}

/* ---- Which way ---------------------------------------------------------- */

bool
request_agreed(struct session *session, const char *what, size_t count)
{
    char question[128];

    snprintf(question, sizeof(question), "%s %zu cascade%s?", what, count,
             count == 1 ? "" : "s");
    return ask(session, question);
}

static int
several(struct session *session, request_fn request, bool asks)
{
    cascade_uuid *ids = NULL;
    size_t count = 0;
    int code = which_several(session, &ids, &count);

    if (code == EXIT_DONE && asks &&
        !request_agreed(session, many_verb(session->settings->command), count))
        code = EXIT_REFUSED;
    if (code == EXIT_DONE)
        code = each(session, ids, count, request);
    free(ids);
    return code;
}

/* The queue itself. */
static int
whole_queue(struct session *session, bool pause)
{
    const struct settings *settings = session->settings;
    const char *queue = settings->text[OPTION_WHOLE_QUEUE];
    const cascade_request_options options = request_options(session);
    struct object object;
    cascade_err err = pause
                          ? cascade_queue_pause(session->store, queue, &options)
                          : cascade_queue_resume(session->store, queue);

    if (err != CASCADE_OK)
        return session_fail(queue, err);
    if (!session->out.json) {
        out_text(&session->out, queue);
        out_plain(&session->out, pause ? " paused\n" : " resumed\n");
        return EXIT_DONE;
    }
    object_init(&object);
    object_text(&object, "queue", queue);
    object_bool(&object, "paused", pause);
    return session_end(NULL, out_object(&session->out, &object));
}

int
run_request(struct session *session)
{
    const struct settings *settings = session->settings;
    cascade_request request = many_request(settings->command);
    bool asks = request == CASCADE_REQUEST_TERMINATE ||
                request == CASCADE_REQUEST_DELETE;

    if (settings_has(settings, OPTION_ALL))
        return many_run(session);
    if (settings_has(settings, OPTION_WHOLE_QUEUE) &&
        settings->operand_count == 0 && !settings_has(settings, OPTION_KEY))
        return whole_queue(session, request == CASCADE_REQUEST_PAUSE);
    return several(session, request_one, asks);
}

int
run_rerun(struct session *session)
{
    if (!settings_has(session->settings, OPTION_FROM))
        return settings_refuse(session->settings, "it needs --from");
    if (settings_has(session->settings, OPTION_ALL))
        return many_run(session);
    return several(session, rerun_one, true);
}
