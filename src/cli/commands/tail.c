/* SPDX-License-Identifier: MIT
 *
 * tail: the changes of one cascade, or of all, as they come. Each line is
 * written out at once. It waits in portions, to hear of SIGINT in between.
 */
#include "interrupt.h"
#include "text/moment.h"
#include "text/words.h"
#include "which.h"

#define PORTION_MS 500

static cascade_err
put_json(struct out *out, const cascade_news *news, struct words_with with)
{
    struct object object;
    bool cascade = news->kind == CASCADE_CHANGE_CASCADE;

    object_init(&object);
    object_text(&object, "kind", cascade ? "cascade" : "execution");
    object_id(&object, "cascade_id", &news->cascade_id);
    if (cascade) {
        object_text(&object, "status", words_status(news->status));
        object_text(&object, "user", news->user_id);
    } else {
        words_execution_info(&object, &news->execution, with);
    }
    return out_object(out, &object);
}

static void
put_execution(struct out *out, const cascade_execution_info *execution,
              bool payloads)
{
    char took[MOMENT_SIZE];
    int64_t took_ms = words_took_ms(execution, CASCADE_TIME_NONE);

    out_format(out, "%3d  ", (int)execution->function_id);
    out_text(out, execution->node_name);
    out_plain(out, "  ");
    out_styled(out, words_execution_style(execution->status),
               words_execution(execution->status));
    if (execution->completed_at_ms != CASCADE_TIME_NONE && took_ms >= 0)
        out_format(out, "  %s", moment_duration(took_ms, took));
    if (execution->error != NULL) {
        out_plain(out, "  ");
        out_text(out, execution->error);
    }
    if (payloads && execution->output != NULL) {
        out_plain(out, "  ");
        out_payload(out, execution->output);
    }
}

/* The time of a change is that of its row; one of a cascade has none. */
static void
put_people(struct out *out, const cascade_news *news, bool payloads)
{
    const cascade_execution_info *execution = &news->execution;
    char id[CASCADE_UUID_TEXT_SIZE];
    char time[MOMENT_SIZE];
    bool cascade = news->kind == CASCADE_CHANGE_CASCADE;
    int64_t at_ms = cascade ? CASCADE_TIME_NONE
                    : execution->completed_at_ms != CASCADE_TIME_NONE
                        ? execution->completed_at_ms
                        : execution->started_at_ms;

    out_format(out, "%-20s  %s  ", moment_text(at_ms, time),
               cascade_uuid_format(&news->cascade_id, id));
    if (cascade)
        out_styled(out, words_status_style(news->status),
                   words_status(news->status));
    else
        put_execution(out, execution, payloads);
    out_plain(out, "\n");
}

/* Until the one that is followed has ended, SIGINT, or an error. */
static int
follow(struct session *session, cascade_cursor *cursor)
{
    const struct words_with with = words_with(session->settings);
    const cascade_news *news = NULL;

    for (;;) {
        cascade_err err = cascade_cursor_next(cursor, PORTION_MS, &news);
        if (err == CASCADE_ERR_ENDED)
            return EXIT_DONE;
        if (err == CASCADE_OK && session->out.json)
            err = put_json(&session->out, news, with);
        else if (err == CASCADE_OK)
            put_people(&session->out, news, with.payloads);
        if (err != CASCADE_OK && err != CASCADE_ERR_TIMEOUT)
            return session_fail(NULL, err);
        if (!out_flush(&session->out))
            return EXIT_FAILED;
        if (interrupt_wait(0))
            return EXIT_INTERRUPTED;
    }
}

int
run_tail(struct session *session)
{
    const struct settings *settings = session->settings;
    cascade_cursor_options options = {
        .size = sizeof(options),
        .from_start = settings_has(settings, OPTION_FROM_START),
    };
    cascade_cursor *cursor = NULL;
    cascade_uuid id;
    int code = EXIT_DONE;

    if (settings->operand_count > 0 || settings_has(settings, OPTION_KEY)) {
        code = which_one(session, &id, NULL);
        options.id = &id;
    }
    if (code != EXIT_DONE)
        return code;
    interrupt_hold();
    cascade_err err = cascade_cursor_open(session->store, &options, &cursor);
    code =
        err == CASCADE_OK ? follow(session, cursor) : session_fail(NULL, err);
    cascade_cursor_close(cursor);
    return code;
}
