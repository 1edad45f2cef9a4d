/* SPDX-License-Identifier: MIT
 *
 * show: one snapshot. What stands in it is of one moment.
 */
#include "commands/show.h"
#include "table.h"
#include "text/moment.h"
#include "text/scan.h"
#include "text/words.h"
#include "which.h"

#include <stdlib.h>
#include <string.h>

static void
put_field(struct out *out, const char *name, enum style style, const char *text)
{
    out_format(out, "%-10s  ", name);
    if (style == STYLE_NONE)
        out_text(out, text);
    else
        out_styled(out, style, text);
    out_plain(out, "\n");
}

/* A payload as a field: itself, or how long it is. */
static void
put_payload_field(struct out *out, const char *name, const char *json,
                  bool payloads)
{
    if (json == NULL)
        return;
    out_format(out, "%-10s  ", name);
    if (payloads)
        out_payload(out, json);
    else
        out_format(out, "(%zu bytes)", strlen(json));
    out_plain(out, "\n");
}

/* When it was written, and how long ago that is. */
static void
put_time_field(struct out *out, const char *name, int64_t at_ms, int64_t now_ms)
{
    char time[MOMENT_SIZE];
    char age[MOMENT_SIZE];
    char text[2 * MOMENT_SIZE + 8];

    snprintf(text, sizeof(text), "%s (%s ago)", moment_text(at_ms, time),
             moment_duration(now_ms - at_ms, age));
    put_field(out, name, STYLE_NONE, text);
}

static void
put_run_fields(struct out *out, const cascade_info *info, int64_t now_ms)
{
    char text[WORDS_STATE_SIZE];
    char id[CASCADE_UUID_TEXT_SIZE];

    if (info->status == CASCADE_RUNNING)
        put_field(out, "State", STYLE_NONE, words_state(info, now_ms, text));
    if (!info->has_run)
        return;
    snprintf(text, sizeof(text), "%s, priority %d", info->queue,
             info->priority);
    put_field(out, "Queue", STYLE_NONE, text);
    if (info->owned)
        put_field(out, "Engine", STYLE_NONE,
                  cascade_uuid_format(&info->engine_id, id));
}

static void
put_head(struct session *session, const cascade_snapshot *snapshot,
         int64_t now_ms, bool payloads)
{
    struct out *out = &session->out;
    const cascade_info *info = cascade_snapshot_info(snapshot);
    const cascade_uuid *next = cascade_snapshot_continued_as(snapshot);
    const char *error = cascade_snapshot_error(snapshot);
    char id[CASCADE_UUID_TEXT_SIZE];

    put_field(out, "Cascade", STYLE_HEAD, cascade_uuid_format(&info->id, id));
    put_field(out, "Status", words_status_style(info->status),
              words_status(info->status));
    put_run_fields(out, info, now_ms);
    put_field(out, "User", STYLE_NONE, info->user_id);
    put_time_field(out, "Created", info->created_at_ms, now_ms);
    put_time_field(out, "Updated", info->updated_at_ms, now_ms);
    if (next != NULL)
        put_field(out, "Next run", STYLE_NONE, cascade_uuid_format(next, id));
    put_payload_field(out, "Result", cascade_snapshot_result(snapshot),
                      payloads);
    if (error != NULL)
        put_field(out, "Error", STYLE_NONE, error);
}

/* ---- Executions --------------------------------------------------------- */

/* Deeper ones stand there too: a chain of 1,000 must not be 1,000 wide. */
#define DEPTH_MAX 12

static const struct table_column columns[] = {
    {"FN", 3, true},        {"NODE", 0, false},   {"STATUS", 9, false},
    {"STARTED", 20, false}, {"TOOK", 6, true},    {"TRIES", 0, true},
    {"INPUT", 0, false},    {"OUTPUT", 0, false}, {"NOTE", 0, false},
};

/* Who asked for a command, and why. */
static void
add_asked(struct table *table, const cascade_execution_info *execution)
{
    struct words_asked asked;

    words_asked(execution, &asked);
    if (asked.by != NULL && asked.reason != NULL)
        table_add_format(table, STYLE_NONE, "by %s: %s", asked.by,
                         asked.reason);
    else if (asked.by != NULL)
        table_add_format(table, STYLE_NONE, "by %s", asked.by);
    else
        table_add(table, STYLE_NONE, asked.reason != NULL ? asked.reason : "-");
    words_asked_free(&asked);
}

/* Why it counts no more, why it failed, or what it waits for; "-" for nothing
 * of this. */
static void
add_note(struct table *table, const cascade_execution_info *execution)
{
    char time[MOMENT_SIZE];

    if (execution->superseded_by >= 0)
        table_add_format(table, STYLE_FAINT, "superseded by %d%s%s",
                         (int)execution->superseded_by,
                         execution->error != NULL ? ": " : "",
                         execution->error != NULL ? execution->error : "");
    else if (execution->error != NULL)
        table_add(table, STYLE_BAD, execution->error);
    else if (execution->token != NULL)
        table_add(table, STYLE_BUSY, "waits for its completion");
    else if (execution->status == CASCADE_EXECUTION_RUNNING &&
             execution->not_before_ms != CASCADE_TIME_NONE)
        table_add_format(table, STYLE_BUSY, "not before %s",
                         moment_text(execution->not_before_ms, time));
    else
        add_asked(table, execution);
}

static void
add_execution(struct table *table, const cascade_execution_info *execution,
              size_t depth, int64_t now_ms, struct words_with with)
{
    bool payloads = words_shows_payloads(execution, with);
    char time[MOMENT_SIZE];
    char took[MOMENT_SIZE];
    int64_t took_ms = words_took_ms(execution, now_ms);
    int indent = 2 * (int)(depth < DEPTH_MAX ? depth : DEPTH_MAX);

    table_add_format(table, STYLE_NONE, "%d", (int)execution->function_id);
    table_add_format(table, STYLE_NONE, "%*s%s", indent, "",
                     execution->node_name);
    table_add(table, words_execution_style(execution->status),
              words_execution(execution->status));
    table_add(table, STYLE_NONE, moment_text(execution->started_at_ms, time));
    table_add(table, STYLE_NONE,
              took_ms < 0 ? "-" : moment_duration(took_ms, took));
    table_add_format(table, STYLE_NONE, "%d", execution->attempts);
    words_add_payload(table, execution->input, payloads);
    words_add_payload(table, execution->output, payloads);
    add_note(table, execution);
}

static cascade_err
put_executions(struct out *out, const cascade_snapshot *snapshot,
               int64_t now_ms, struct words_with with)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    struct tree_place *places = tree_create(snapshot);
    struct table table;
    cascade_err err = CASCADE_OK;

    if (places == NULL)
        return count == 0 ? CASCADE_OK : CASCADE_ERR_NO_MEMORY;
    table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++)
        add_execution(&table,
                      cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY,
                                           places[i].index),
                      places[i].depth, now_ms, with);
    out_plain(out, "\n");
    err = table_print(&table, out);
    table_free(&table);
    free(places);
    return err;
}

/* What `cascade complete` needs of those that wait for it. */
static void
put_externals(struct out *out, const cascade_snapshot *snapshot, bool tokens)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_ACTIVE);
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *execution =
            cascade_snapshot_get(snapshot, CASCADE_PART_ACTIVE, i);
        if (execution->token == NULL)
            continue;
        if (!any)
            out_format(out, "\nWaiting for their completion%s\n",
                       tokens ? "" : " (--tokens shows their tokens)");
        any = true;
        out_plain(out, "  ");
        out_text(out, execution->node_instance_id);
        if (tokens)
            out_format(out, " %s", execution->token);
        out_plain(out, "\n");
    }
}

/* ---- Context ------------------------------------------------------------ */

static void
add_key(struct table *table, const struct scan_part *key, bool payloads)
{
    char *name = strndup(key->name, key->name_len); /* a text of JSON */
    char *values = strndup(key->value, key->value_len);

    if (name == NULL || values == NULL) {
        table->failed = true;
    } else {
        table_add_json(table, name);
        table_add_format(table, STYLE_NONE, "%zu", scan_count(values));
        words_add_payload(table, values, payloads);
    }
    free(values);
    free(name);
}

static cascade_err
put_context(struct out *out, const char *context, bool payloads)
{
    static const struct table_column keys[] = {
        {"KEY", 0, false}, {"VALUES", 0, true}, {"CONTEXT", 0, false}};
    struct scan_part key;
    struct table table;
    cascade_err err = CASCADE_OK;

    if (scan_count(context) == 0)
        return CASCADE_OK;
    table_init(&table, keys, sizeof(keys) / sizeof(keys[0]));
    while (scan_next(&context, &key))
        add_key(&table, &key, payloads);
    out_plain(out, "\n");
    err = table_print(&table, out);
    table_free(&table);
    return err;
}

/* ---- Both --------------------------------------------------------------- */

static cascade_err
put_people(struct session *session, const cascade_snapshot *snapshot,
           struct words_with with)
{
    int64_t now_ms = session_now(session);

    put_head(session, snapshot, now_ms, with.payloads);
    cascade_err err = put_executions(&session->out, snapshot, now_ms, with);
    put_externals(&session->out, snapshot, with.tokens);
    if (err == CASCADE_OK)
        err = put_context(&session->out, cascade_snapshot_context(snapshot),
                          with.payloads);
    return err;
}

int
run_show(struct session *session)
{
    const struct settings *settings = session->settings;
    const cascade_snapshot_options options = {
        .size = sizeof(options),
        .as_of = (int32_t)settings->number[OPTION_AT],
        .bounded = settings_has(settings, OPTION_AT),
        .ui = settings_has(settings, OPTION_UI),
    };
    const struct words_with with = words_with(settings);
    cascade_snapshot *snapshot = NULL;
    cascade_uuid id;
    int code = which_one(session, &id, NULL);

    if (code != EXIT_DONE)
        return code;
    cascade_err err =
        cascade_snapshot_load(session->store, &id, &options, &snapshot);
    if (err == CASCADE_OK)
        err = session->out.json ? show_json(&session->out, snapshot, with)
                                : put_people(session, snapshot, with);
    code = session_end(NULL, err);
    cascade_snapshot_free(snapshot);
    return code;
}
