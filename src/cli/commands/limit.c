/* SPDX-License-Identifier: MIT
 *
 * limit: how many cascades of a queue run at once.
 */
#include "settings.h"
#include "text/out.h"
#include "text/text.h"
#include "which.h"

#include <cascade/manage.h>

#define TRIES 10

static cascade_err
put_limits(struct out *out, const char *queue,
           const cascade_queue_limits *limits, int64_t version)
{
    struct object object;

    if (!out->json) {
        out_text(out, queue);
        if (version > 0)
            out_format(out, " version %lld\n", (long long)version);
        else
            out_format(out, " has no limits\n");
        return CASCADE_OK;
    }
    object_init(&object);
    object_text(&object, "queue", queue);
    object_number(&object, "limits_version", version);
    object_number(&object, "running_max", limits->running_max);
    object_number(&object, "key_running_max", limits->key_running_max);
    return out_object(out, &object);
}

/* What is not given stays as it is, unless others change it meanwhile. */
static cascade_err
fill_limits(struct session *session, const char *queue,
            cascade_queue_limits *limits)
{
    const struct settings *settings = session->settings;
    cascade_queue_limits there = {.size = sizeof(there), .version = -1};
    cascade_err err = cascade_queue_get(session->store, queue, &there);

    if (err != CASCADE_OK && err != CASCADE_ERR_NOT_FOUND)
        return err;
    limits->version = there.version;
    limits->running_max = there.running_max;
    limits->key_running_max = there.key_running_max;
    if (settings_has(settings, OPTION_RUNNING))
        limits->running_max = (int)settings->number[OPTION_RUNNING];
    if (settings_has(settings, OPTION_KEY_RUNNING))
        limits->key_running_max = (int)settings->number[OPTION_KEY_RUNNING];
    return CASCADE_OK;
}

/* Again, if others have changed them in between. */
static cascade_err
set_limits(struct session *session, const char *queue,
           cascade_queue_limits *limits, int64_t *version)
{
    cascade_err err = CASCADE_ERR_EXISTS;

    for (int i = 0; i < TRIES && err == CASCADE_ERR_EXISTS; i++) {
        err = fill_limits(session, queue, limits);
        if (err == CASCADE_OK)
            err = cascade_queue_set(session->store, queue, limits, version);
    }
    return err;
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
        err = set_limits(session, queue, &limits, &version);
    else
        err = cascade_queue_unset(session->store, queue);
    if (err == CASCADE_OK)
        err = put_limits(&session->out, queue, &limits, version);
    return session_end(NULL, err);
}
