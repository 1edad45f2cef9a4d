/* SPDX-License-Identifier: MIT
 *
 * start, signal, complete: what is handed to cascades.
 */
#include "input.h"
#include "text/words.h"
#include "which.h"

#include <stdlib.h>
#include <string.h>

/* ---- start -------------------------------------------------------------- */

/* Whether it has ended in the time, and how. */
static int
wait_end(struct session *session, const cascade_uuid *id, const char **status)
{
    int64_t wait_ms = session->settings->number[OPTION_WAIT_END];
    cascade_status reached = CASCADE_RUNNING;
    cascade_err err = cascade_wait(session->store, id, wait_ms, &reached);

    if (err == CASCADE_ERR_TIMEOUT)
        reached = CASCADE_RUNNING;
    else if (err != CASCADE_OK)
        return session_fail(NULL, err);
    *status = words_status(reached);
    if (reached == CASCADE_RUNNING)
        return EXIT_NOT_YET;
    return reached == CASCADE_COMPLETED ? EXIT_DONE : EXIT_FAILED;
}

/* People are told the id before the wait, for it may be broken off. */
static bool
put_id(struct out *out, const cascade_started *started)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    if (out->json)
        return true;
    out_format(out, "%s%s", cascade_uuid_format(&started->id, id),
               started->existed ? " existed" : "");
    return out_flush(out);
}

/* `status` is NULL where nothing was waited for. */
static cascade_err
put_status(struct out *out, const cascade_started *started, const char *status)
{
    struct object object;

    if (!out->json) {
        out_format(out, "%s%s\n", status != NULL ? " " : "",
                   status != NULL ? status : "");
        return CASCADE_OK;
    }
    object_init(&object);
    object_id(&object, "id", &started->id);
    object_bool(&object, "existed", started->existed);
    object_text(&object, "status", status);
    return out_object(out, &object);
}

static cascade_err
start(struct session *session, const char *input, cascade_started *started)
{
    const struct settings *settings = session->settings;
    const cascade_first first = {.size = sizeof(first),
                                 .node = settings->operands[0],
                                 .input_text = input};
    int64_t reuse = settings->number[OPTION_REUSE];
    cascade_uuid id;
    cascade_start_options options = {
        .size = sizeof(options),
        .user_id = settings->text[OPTION_START_USER],
        .key = settings->text[OPTION_START_KEY],
        .queue = settings->text[OPTION_INTO_QUEUE],
        .priority = (int)settings->number[OPTION_PRIORITY],
        .delay_ms = settings->number[OPTION_DELAY],
        .deadline_ms = settings->number[OPTION_DEADLINE],
        .reuse = (cascade_reuse)(reuse > 0 ? reuse - 1 : 0),
        .limit_key = settings->text[OPTION_LIMIT_KEY],
    };
    const cascade_start_spec spec = {.size = sizeof(spec),
                                     .first = &first,
                                     .first_count = 1,
                                     .options = &options};

    if (settings_has(settings, OPTION_ID)) {
        (void)cascade_uuid_parse(settings->text[OPTION_ID], &id);
        options.id = &id;
    }
    return cascade_start_many(session->store, &spec, 1, started);
}

/* Where it is not known whether it was started, its id is to be looked up. */
static int
fail_start(cascade_err err, const cascade_started *started)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    int code = session_fail(NULL, err);

    if (err == CASCADE_ERR_OUTCOME_UNKNOWN)
        fprintf(stderr, "`cascade show %s` tells whether it was started.\n",
                cascade_uuid_format(&started->id, id));
    return code;
}

int
run_start(struct session *session)
{
    cascade_started started;
    char *input = NULL;
    const char *status = NULL;
    int code = input_read(session, OPTION_INPUT, &input);

    if (code != EXIT_DONE)
        return code;
    cascade_err err = start(session, input, &started);
    free(input);
    if (err != CASCADE_OK)
        return fail_start(err, &started);
    if (!put_id(&session->out, &started))
        return EXIT_FAILED;
    if (settings_has(session->settings, OPTION_WAIT_END))
        code = wait_end(session, &started.id, &status);
    err = put_status(&session->out, &started, status);
    return code != EXIT_DONE ? code : session_end(NULL, err);
}

/* ---- signal ------------------------------------------------------------- */

/* What it is sent to may be a run of a key: that is found by the library, for
 * the key may go on to its next run meanwhile. */
static cascade_err
send_signal(struct session *session, const cascade_uuid *id, const char *name,
            const char *payload)
{
    const struct settings *settings = session->settings;
    const cascade_signal_options options = {
        .size = sizeof(options),
        .request_id = settings->text[OPTION_REQUEST_ID],
    };

    if (settings_has(settings, OPTION_KEY))
        return cascade_signal_key_text(
            session->store, settings->text[OPTION_USER],
            settings->text[OPTION_KEY], name, payload, &options);
    return cascade_signal_text(session->store, id, name, payload, &options);
}

static cascade_err
put_done(struct out *out, const cascade_uuid *id, const char *outcome)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    struct object object;

    if (!out->json) {
        out_format(out, "%s %s\n", cascade_uuid_format(id, text), outcome);
        return CASCADE_OK;
    }
    object_init(&object);
    object_id(&object, "id", id);
    object_text(&object, "outcome", outcome);
    return out_object(out, &object);
}

int
run_signal(struct session *session)
{
    const struct settings *settings = session->settings;
    char *payload = NULL;
    cascade_uuid id;
    int taken = 0;
    int code = which_one(session, &id, &taken);

    if (code != EXIT_DONE)
        return code;
    if (settings->operand_count != taken + 1)
        return settings_refuse(settings, "it needs %s",
                               taken == 0 ? "NAME alone, with --key"
                                          : settings->command->operands);
    code = input_read(session, OPTION_PAYLOAD, &payload);
    if (code != EXIT_DONE)
        return code;
    code =
        session_end(NULL, send_signal(session, &id, settings->operands[taken],
                                      payload != NULL ? payload : "{}"));
    free(payload);
    if (code != EXIT_DONE)
        return code;
    return session_end(NULL, put_done(&session->out, &id, "sent"));
}

/* ---- complete ----------------------------------------------------------- */

static cascade_err
complete(struct session *session, const cascade_uuid *id, const char *token,
         const char *output)
{
    const struct settings *settings = session->settings;
    const cascade_completion completion = {
        .size = sizeof(completion),
        .error = settings->text[OPTION_ERROR],
        .output_text = output,
    };
    const cascade_complete_options options = {
        .size = sizeof(options),
        .wait_ms = settings->number[OPTION_WAIT],
    };

    return cascade_complete(session->store, id, settings->operands[1], token,
                            &completion, &options);
}

/* Reads what the command line may leave to files. Only one thing is standard
 * input. */
static int
read_completion(const struct session *session, char **token, char **output)
{
    const struct settings *settings = session->settings;
    const char *given = settings->text[OPTION_OUTPUT];

    if (given != NULL && strcmp(given, "-") == 0 &&
        strcmp(settings->operands[2], "-") == 0)
        return settings_refuse(settings, "the token or the output comes from "
                                         "standard input, not both");
    int code = input_secret(settings->operands[2], token);
    return code == EXIT_DONE ? input_read(session, OPTION_OUTPUT, output)
                             : code;
}

int
run_complete(struct session *session)
{
    bool waits = settings_has(session->settings, OPTION_WAIT);
    char *token = NULL;
    char *output = NULL;
    cascade_err err = CASCADE_OK;
    cascade_uuid id;
    int code = which_one(session, &id, NULL);

    if (code == EXIT_DONE)
        code = read_completion(session, &token, &output);
    if (code == EXIT_DONE)
        err = complete(session, &id, token, output);
    free(output);
    free(token);
    if (code != EXIT_DONE)
        return code;
    /* Here that is no wait of ours: its own deadline has passed. */
    if (err == CASCADE_ERR_TIMEOUT) {
        (void)session_fail(NULL, err);
        return EXIT_REFUSED;
    }
    if (err == CASCADE_OK)
        err = put_done(&session->out, &id, waits ? "done" : "asked");
    return session_end(NULL, err);
}
