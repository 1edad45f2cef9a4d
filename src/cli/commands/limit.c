/* SPDX-License-Identifier: MIT
 *
 * limit: how many cascades of a queue run at once.
 */
#include "settings.h"
#include "text/out.h"
#include "text/text.h"
#include "which.h"

#include <cascade/manage.h>

static cascade_err
put_limits(struct out *out, const char *queue,
           const cascade_queue_limits *limits, int64_t version)
{
    struct object object;

    if (!out->json) {
        out_text(out, queue);
        out_format(out, " version %lld\n", (long long)version);
        return CASCADE_OK;
    }
    object_init(&object);
    object_text(&object, "queue", queue);
    object_number(&object, "limits_version", version);
    object_number(&object, "running_max", limits->running_max);
    object_number(&object, "key_running_max", limits->key_running_max);
    return out_object(out, &object);
}

int
run_limit(struct session *session)
{
    const struct settings *settings = session->settings;
    const char *queue = settings->operands[0];
    const cascade_queue_limits limits = {
        .size = sizeof(limits),
        .running_max = (int)settings->number[OPTION_RUNNING],
        .key_running_max = (int)settings->number[OPTION_KEY_RUNNING],
        .by = settings_by(settings),
        .reason = settings->text[OPTION_REASON]};
    int64_t version = 0;
    cascade_err err = CASCADE_OK;

    if (!settings_has(settings, OPTION_NONE))
        err = cascade_queue_set(session->store, queue, &limits, &version);
    else if (settings_has(settings, OPTION_RUNNING) ||
             settings_has(settings, OPTION_KEY_RUNNING))
        return settings_refuse(settings, "--none takes no numbers");
    else
        err = cascade_queue_unset(session->store, queue);
    if (err == CASCADE_OK)
        err = put_limits(&session->out, queue, &limits, version);
    return session_end(NULL, err);
}
