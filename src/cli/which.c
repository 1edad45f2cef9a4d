/* SPDX-License-Identifier: MIT
 *
 * A key stands for its current run; that it is there is found by whoever uses
 * the id.
 */
#include "which.h"

#include "text/text.h"

#include <stdlib.h>

/* Filters are no way to name one: they would be passed over in silence. */
static int
refuse_filters(const struct session *session)
{
    static const enum option_id filters[] = {OPTION_STATUS, OPTION_NODE,
                                             OPTION_QUEUE, OPTION_OLDER};
    const struct settings *settings = session->settings;

    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
        if (settings_has(settings, filters[i]))
            return settings_refuse(settings, "--%s goes with --all",
                                   option_table[filters[i]].name);
    if (settings_has(settings, OPTION_USER) &&
        !settings_has(settings, OPTION_KEY))
        return settings_refuse(
            settings, "--user goes with --key%s",
            command_has(settings->command, OPTION_ALL) ? " or --all" : "");
    return EXIT_DONE;
}

static int
by_key(struct session *session, cascade_uuid *id)
{
    const struct settings *settings = session->settings;

    return session_end(
        NULL, cascade_key_current(session->store, settings->text[OPTION_USER],
                                  settings->text[OPTION_KEY], id));
}

static int
by_text(struct session *session, const char *text, cascade_uuid *id)
{
    if (cascade_uuid_parse(text, id) == CASCADE_OK)
        return EXIT_DONE;
    return settings_refuse(session->settings, "'%s' is no id of a cascade",
                           text_shown(text));
}

int
which_one(struct session *session, cascade_uuid *id, int *taken)
{
    const struct settings *settings = session->settings;
    bool has_key = settings_has(settings, OPTION_KEY);
    int code = refuse_filters(session);

    if (code != EXIT_DONE)
        return code;
    if (taken != NULL)
        *taken = has_key ? 0 : 1;
    else if (has_key && settings->operand_count > 0)
        return settings_refuse(settings, "an ID or --key, not both");
    if (has_key)
        return by_key(session, id);
    if (settings->operand_count == 0)
        return settings_refuse(settings, "which cascade? Give an ID%s",
                               command_has(settings->command, OPTION_ALL)
                                   ? ", --key or --all"
                                   : " or --key");
    return by_text(session, settings->operands[0], id);
}

int
which_several(struct session *session, cascade_uuid **ids, size_t *count)
{
    const struct settings *settings = session->settings;
    size_t operands = (size_t)settings->operand_count;
    int code = EXIT_DONE;

    *count = operands;
    if (settings_has(settings, OPTION_KEY) || operands == 0)
        *count = 1;
    *ids = calloc(*count, sizeof(**ids));
    if (*ids == NULL) {
        fputs("cascade: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    if (settings_has(settings, OPTION_KEY) || operands == 0)
        return which_one(session, *ids, NULL);
    code = refuse_filters(session);
    for (size_t i = 0; i < operands && code == EXIT_DONE; i++)
        code = by_text(session, settings->operands[i], &(*ids)[i]);
    return code;
}

void
which_filters(struct session *session, cascade_list_options *options)
{
    const struct settings *settings = session->settings;

    *options = (cascade_list_options){
        .size = sizeof(*options),
        .user_id = settings->text[OPTION_USER],
        .status = (cascade_status)settings->number[OPTION_STATUS],
        .node = settings->text[OPTION_NODE],
        .queue = settings->text[OPTION_QUEUE],
    };
    if (options->queue == NULL)
        options->queue = settings->text[OPTION_WHOLE_QUEUE];
    if (settings_has(settings, OPTION_OLDER))
        options->updated_before_ms =
            session_now(session) - settings->number[OPTION_OLDER];
}
