/* SPDX-License-Identifier: MIT
 *
 * The question before it tells how many there are, up to a page of the list:
 * counting millions would take as long as the command.
 */
#include "commands/many.h"

#include "ask.h"
#include "interrupt.h"
#include "text/words.h"
#include "which.h"

#include <inttypes.h>
#include <string.h>

#define COUNT_MAX 1000

static const struct {
    const char *name;
    cascade_request request;
    cascade_status status; /* of those that it is for; 0: any */
    const char *verb;
} requests[] = {
    {"cancel", CASCADE_REQUEST_CANCEL, CASCADE_RUNNING, "Cancel"},
    {"terminate", CASCADE_REQUEST_TERMINATE, CASCADE_RUNNING, "Terminate"},
    {"delete", CASCADE_REQUEST_DELETE, 0, "Delete"},
    {"pause", CASCADE_REQUEST_PAUSE, CASCADE_RUNNING, "Pause"},
    {"resume", CASCADE_REQUEST_RESUME, CASCADE_RUNNING, "Resume"},
    {"retry", CASCADE_REQUEST_RETRY, CASCADE_ERROR, "Retry"},
    {"rerun", CASCADE_REQUEST_RERUN, 0, "Run again"},
    {"fork", CASCADE_REQUEST_FORK, 0, "Fork"},
};

static size_t
place(const struct command *command)
{
    size_t i = 0;

    while (strcmp(requests[i].name, command->name) != 0)
        i++;
    return i;
}

cascade_request
many_request(const struct command *command)
{
    return requests[place(command)].request;
}

const char *
many_verb(const struct command *command)
{
    return requests[place(command)].verb;
}

/* "Delete 3 cascades? [y/N]", of those that there are now. */
static int
agree(struct session *session, const cascade_list_options *filters)
{
    cascade_list_options options = *filters;
    cascade_page *page = NULL;
    size_t at = place(session->settings->command);
    char what[64];

    options.limit = COUNT_MAX;
    if (options.status == 0)
        options.status = requests[at].status;
    cascade_err err = cascade_list(session->store, &options, &page);
    if (err != CASCADE_OK)
        return session_fail(NULL, err);
    size_t count = cascade_page_count(page);
    cascade_page_free(page);
    snprintf(what, sizeof(what), "%s%s", requests[at].verb,
             count == COUNT_MAX ? " at least" : "");
    return request_agreed(session, what, count) ? EXIT_DONE : EXIT_REFUSED;
}

static cascade_err
put_total(struct session *session, const cascade_progress *total)
{
    struct object object;

    if (!session->out.json) {
        out_format(&session->out,
                   "%" PRId64 " seen, %" PRId64 " asked, %" PRId64 " failed\n",
                   total->seen, total->done, total->failed);
        return CASCADE_OK;
    }
    object_init(&object);
    object_text(&object, "command", session->settings->command->name);
    object_number(&object, "seen", total->seen);
    object_number(&object, "done", total->done);
    object_number(&object, "failed", total->failed);
    return out_object(&session->out, &object);
}

static int
request_all(struct session *session, const cascade_list_options *filters)
{
    const struct settings *settings = session->settings;
    const cascade_many_options options = {
        .size = sizeof(options),
        .user_id = filters->user_id,
        .status = filters->status,
        .node = filters->node,
        .queue = filters->queue,
        .updated_before_ms = filters->updated_before_ms,
        .request_id = settings->text[OPTION_REQUEST_ID],
        .reason = settings->text[OPTION_REASON],
        .by = settings_by(settings),
        .from = (int32_t)settings->number[OPTION_FROM],
        .progress = ask_progress,
    };
    cascade_progress total = {0};

    interrupt_hold();
    cascade_err err = cascade_request_many(
        session->store, many_request(settings->command), &options, &total);
    ask_progress_end();
    int code = session_end(NULL, err);
    err = put_total(session, &total);
    if (code == EXIT_DONE)
        code = session_end(NULL, err);
    return code == EXIT_DONE && total.failed > 0 ? EXIT_REFUSED : code;
}

int
many_run(struct session *session)
{
    const struct settings *settings = session->settings;
    cascade_list_options filters;

    if (settings->operand_count > 0 || settings_has(settings, OPTION_KEY))
        return settings_refuse(settings, "IDs or --all, not both");
    if (settings_has(settings, OPTION_WAIT))
        return settings_refuse(settings, "--all does not --wait");
    which_filters(session, &filters);
    int code = agree(session, &filters);
    return code == EXIT_DONE ? request_all(session, &filters) : code;
}
