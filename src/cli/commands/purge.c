/* SPDX-License-Identifier: MIT
 *
 * purge: retention by hand. If it dies in the middle, what was deleted is, and
 * it may be started again.
 */
#include "ask.h"
#include "interrupt.h"
#include "text/moment.h"

#include <inttypes.h>
#include <string.h>

/* "Delete what completed before T, and what failed before T?" */
static bool
agreed(struct session *session, const cascade_purge_options *options)
{
    char completed[MOMENT_SIZE];
    char failed[MOMENT_SIZE];
    char question[256];
    int64_t now_ms = session_now(session);
    bool both = options->completed_ms >= 0 && options->failed_ms >= 0;

    moment_text(now_ms - options->completed_ms, completed);
    moment_text(now_ms - options->failed_ms, failed);
    snprintf(question, sizeof(question), "Delete all cascades that %s%s%s%s%s?",
             options->completed_ms >= 0 ? "completed before " : "",
             options->completed_ms >= 0 ? completed : "", both ? ", or " : "",
             options->failed_ms >= 0 ? "ended in error before " : "",
             options->failed_ms >= 0 ? failed : "");
    return ask(session, question);
}

static cascade_err
put_total(struct out *out, const cascade_progress *total)
{
    struct object object;

    if (!out->json) {
        out_format(out, "%" PRId64 " deleted\n", total->done);
        return CASCADE_OK;
    }
    object_init(&object);
    object_number(&object, "deleted", total->done);
    object_number(&object, "failed", total->failed);
    return out_object(out, &object);
}

int
run_purge(struct session *session)
{
    const struct settings *settings = session->settings;
    bool completed = settings_has(settings, OPTION_COMPLETED);
    bool failed = settings_has(settings, OPTION_FAILED);
    const cascade_purge_options options = {
        .size = sizeof(options),
        .completed_ms = completed ? settings->number[OPTION_COMPLETED] : -1,
        .failed_ms = failed ? settings->number[OPTION_FAILED] : -1,
        .progress = ask_progress,
    };
    cascade_progress total = {0};

    if (!completed && !failed)
        return settings_refuse(settings, "it needs --completed or --failed");
    if (!agreed(session, &options))
        return EXIT_REFUSED;
    interrupt_hold();
    cascade_err err = cascade_purge(session->store, &options, &total);
    ask_progress_end();
    int code = session_end(NULL, err);
    err = put_total(&session->out, &total);
    return code != EXIT_DONE ? code : session_end(NULL, err);
}
