/* SPDX-License-Identifier: MIT
 *
 * Names and members here are read by programs: they stay as they are.
 */
#include "text/words.h"

#include "text/moment.h"

#include <cjson/cJSON.h>
#include <string.h>

/* Nothing may be put off by more than 100 years, so what is due later than that
 * less a while is due at no time. */
#define FAR_MS (INT64_C(99) * 365 * 24 * 3600 * 1000)

const char *
words_status(cascade_status status)
{
    switch (status) {
    case CASCADE_RUNNING:
        return "RUNNING";
    case CASCADE_COMPLETED:
        return "COMPLETED";
    case CASCADE_ERROR:
        return "ERROR";
    }
    return "UNKNOWN";
}

enum style
words_status_style(cascade_status status)
{
    switch (status) {
    case CASCADE_RUNNING:
        return STYLE_BUSY;
    case CASCADE_COMPLETED:
        return STYLE_GOOD;
    case CASCADE_ERROR:
        return STYLE_BAD;
    }
    return STYLE_NONE;
}

const char *
words_execution(cascade_execution_status status)
{
    switch (status) {
    case CASCADE_EXECUTION_RUNNING:
        return "RUNNING";
    case CASCADE_EXECUTION_COMPLETED:
        return "COMPLETED";
    case CASCADE_EXECUTION_FAILED:
        return "FAILED";
    }
    return "UNKNOWN";
}

enum style
words_execution_style(cascade_execution_status status)
{
    switch (status) {
    case CASCADE_EXECUTION_RUNNING:
        return STYLE_BUSY;
    case CASCADE_EXECUTION_COMPLETED:
        return STYLE_GOOD;
    case CASCADE_EXECUTION_FAILED:
        return STYLE_BAD;
    }
    return STYLE_NONE;
}

/* What takes no more than a word; NULL for what takes more. */
static const char *
state_word(const cascade_info *info, int64_t now_ms)
{
    bool needs = info->has_run && *info->needs != '\0';

    if (info->status != CASCADE_RUNNING)
        return "-";
    if (!info->has_run)
        return "no run: see cascade help adopt";
    if (info->paused)
        return "paused";
    if (info->owned)
        return "owned";
    if (info->turn)
        return "waits for its turn";
    if (!needs && (info->wake_at_ms == CASCADE_TIME_NONE ||
                   info->wake_at_ms - now_ms > FAR_MS))
        return "waits";
    return needs || info->wake_at_ms > now_ms ? NULL : "due";
}

const char *
words_state(const cascade_info *info, int64_t now_ms,
            char text[WORDS_STATE_SIZE])
{
    const char *word = state_word(info, now_ms);
    char time[MOMENT_SIZE];

    if (word != NULL)
        return word;
    if (*info->needs != '\0')
        snprintf(text, WORDS_STATE_SIZE, "needs node %s", info->needs);
    else
        snprintf(text, WORDS_STATE_SIZE, "waits until %s",
                 moment_text(info->wake_at_ms, time));
    return text;
}

void
words_info(struct object *object, const cascade_info *info)
{
    object_id(object, "id", &info->id);
    object_text(object, "status", words_status(info->status));
    object_text(object, "user", info->user_id);
    object_number(object, "fn_id", info->fn_id);
    object_time(object, "created_at", info->created_at_ms);
    object_time(object, "updated_at", info->updated_at_ms);
    object_text(object, "queue", info->has_run ? info->queue : NULL);
    object_number(object, "priority", info->has_run ? info->priority : 0);
    object_time(object, "wake_at",
                info->has_run ? info->wake_at_ms : CASCADE_TIME_NONE);
    object_id(object, "engine_id",
              info->has_run && info->owned ? &info->engine_id : NULL);
    object_number(object, "takeovers", info->has_run ? info->takeovers : 0);
    object_number(object, "trials", info->has_run ? info->trials : 0);
    object_text(object, "needs",
                info->has_run && *info->needs != '\0' ? info->needs : NULL);
    object_bool(object, "paused", info->has_run && info->paused);
}

void
words_payload(struct object *object, const char *name, const char *json,
              bool payloads)
{
    struct object payload;

    if (json == NULL) {
        object_text(object, name, NULL);
        return;
    }
    object_init(&payload);
    object_number(&payload, "bytes", (int64_t)strlen(json));
    if (payloads)
        object_payload(&payload, "value", json);
    object_object(object, name, &payload);
}

static bool
is_command(const char *node)
{
    static const char *const names[] = {"cascade.cancel", "cascade.terminate",
                                        "cascade.pause",  "cascade.resume",
                                        "cascade.retry",  "cascade.rerun"};
    size_t i = 0;

    while (i < sizeof(names) / sizeof(names[0]) && strcmp(node, names[i]) != 0)
        i++;
    return i < sizeof(names) / sizeof(names[0]);
}

void
words_asked(const cascade_execution_info *execution, struct words_asked *asked)
{
    *asked = (struct words_asked){0};
    if (!is_command(execution->node_name))
        return;
    asked->input = cJSON_Parse(execution->input);
    asked->by = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(asked->input, "by"));
    asked->reason = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(asked->input, "reason"));
}

void
words_asked_free(struct words_asked *asked)
{
    cJSON_Delete(asked->input);
}

struct words_with
words_with(const struct settings *settings)
{
    return (struct words_with){
        .payloads = settings_has(settings, OPTION_PAYLOADS),
        .tokens = settings_has(settings, OPTION_TOKENS),
    };
}

static bool
tells_token(const cascade_execution_info *execution)
{
    return strcmp(execution->node_name, "cascade.message:complete") == 0;
}

bool
words_shows_payloads(const cascade_execution_info *execution,
                     struct words_with with)
{
    return with.payloads && (with.tokens || !tells_token(execution));
}

void
words_execution_info(struct object *object,
                     const cascade_execution_info *execution,
                     struct words_with with)
{
    bool ended = execution->completed_at_ms != CASCADE_TIME_NONE;
    bool payloads = words_shows_payloads(execution, with);
    struct words_asked asked;

    object_number(object, "function_id", execution->function_id);
    object_place(object, "parent", execution->parent_function_id);
    object_text(object, "node", execution->node_name);
    object_text(object, "status", words_execution(execution->status));
    object_number(object, "attempts", execution->attempts);
    object_time(object, "started_at", execution->started_at_ms);
    object_time(object, "completed_at", execution->completed_at_ms);
    object_place(object, "duration_ms",
                 ended ? words_took_ms(execution, 0) : -1);
    object_time(object, "not_before", execution->not_before_ms);
    object_time(object, "deadline", execution->deadline_ms);
    object_text(object, "error", execution->error);
    object_text(object, "location", execution->location);
    object_text(object, "node_instance_id",
                with.tokens || !tells_token(execution)
                    ? execution->node_instance_id
                    : NULL);
    object_text(object, "token", with.tokens ? execution->token : NULL);
    object_place(object, "superseded_by", execution->superseded_by);
    words_asked(execution, &asked);
    object_text(object, "by", asked.by);
    object_text(object, "reason", asked.reason);
    words_asked_free(&asked);
    words_payload(object, "input", execution->input, payloads);
    words_payload(object, "output", execution->output, payloads);
}

int64_t
words_took_ms(const cascade_execution_info *execution, int64_t now_ms)
{
    int64_t end = execution->completed_at_ms;

    if (execution->started_at_ms == CASCADE_TIME_NONE)
        return -1;
    if (end == CASCADE_TIME_NONE)
        end = now_ms;
    return end < execution->started_at_ms ? 0 : end - execution->started_at_ms;
}

void
words_add_payload(struct table *table, const char *json, bool payloads)
{
    if (json == NULL)
        table_add(table, STYLE_FAINT, "-");
    else if (payloads)
        table_add_json(table, json);
    else
        table_add_format(table, STYLE_FAINT, "(%zu bytes)", strlen(json));
}
