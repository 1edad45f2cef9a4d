/* SPDX-License-Identifier: MIT
 *
 * limit: how many cascades of a queue run at once.
 */
#include "settings.h"
#include "text/out.h"
#include "text/text.h"
#include "which.h"

#include <cascade/manage.h>

#include <string.h>

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

static const cascade_queue_info *
find_queue(const cascade_queue_list *list, const char *name)
{
    for (size_t i = 0; i < cascade_queue_list_count(list); i++) {
        const cascade_queue_info *queue = cascade_queue_list_get(list, i);

        if (strcmp(queue->name, name) == 0)
            return queue;
    }
    return NULL;
}

/* What is not given stays as it is, unless others change it meanwhile. */
static cascade_err
fill_limits(struct session *session, const char *queue,
            cascade_queue_limits *limits)
{
    const struct settings *settings = session->settings;
    const cascade_queue_info *info = NULL;
    cascade_queue_list *list = NULL;
    cascade_err err = cascade_queue_list_load(session->store, &list);

    if (err != CASCADE_OK)
        return err;
    info = find_queue(list, queue);
    limits->version = -1;
    if (info != NULL && info->limits_version > 0) {
        limits->version = info->limits_version;
        limits->running_max = info->running_max;
        limits->key_running_max = info->key_running_max;
    }
    if (settings_has(settings, OPTION_RUNNING))
        limits->running_max = (int)settings->number[OPTION_RUNNING];
    if (settings_has(settings, OPTION_KEY_RUNNING))
        limits->key_running_max = (int)settings->number[OPTION_KEY_RUNNING];
    cascade_queue_list_free(list);
    return CASCADE_OK;
}

int
run_limit(struct session *session)
{
    const struct settings *settings = session->settings;
    const char *queue = settings->operands[0];
    bool numbers = settings_has(settings, OPTION_RUNNING) ||
                   settings_has(settings, OPTION_KEY_RUNNING);
    cascade_queue_limits limits = {.size = sizeof(limits),
                                   .by = settings_by(settings),
                                   .reason = settings->text[OPTION_REASON]};
    int64_t version = 0;
    cascade_err err = CASCADE_OK;

    if (numbers == settings_has(settings, OPTION_NONE))
        return settings_refuse(settings, "it needs --running, --key-running or "
                                         "both, or --none alone");
    if (numbers)
        err = fill_limits(session, queue, &limits);
    if (err == CASCADE_OK && numbers)
        err = cascade_queue_set(session->store, queue, &limits, &version);
    else if (err == CASCADE_OK)
        err = cascade_queue_unset(session->store, queue);
    if (err == CASCADE_OK)
        err = put_limits(&session->out, queue, &limits, version);
    return session_end(NULL, err);
}
