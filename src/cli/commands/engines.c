/* SPDX-License-Identifier: MIT
 *
 * engines, queues, stats: the store as a whole.
 */
#include "session.h"
#include "table.h"
#include "text/moment.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- engines ------------------------------------------------------------ */

static const struct table_column engine_columns[] = {
    {"ENGINE", 36, false},  {"HOST", 0, false},   {"PID", 0, true},
    {"STARTED", 20, false}, {"LEASE", 6, true},   {"LANES", 0, true},
    {"VERSION", 0, false},  {"QUEUES", 0, false}, {"NODES", 0, false},
};

/* "a,b"; "-" for none. */
static void
add_names(struct table *table, const char *const *names, size_t count)
{
    char *joined = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&joined, &len);

    if (stream == NULL) {
        table->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        fprintf(stream, "%s%s", i > 0 ? "," : "", names[i]);
    if (count == 0)
        fputc('-', stream);
    if (fclose(stream) == 0)
        table_add(table, STYLE_NONE, joined);
    else
        table->failed = true;
    free(joined);
}

static void
add_engine(struct table *table, const cascade_engine_info *engine)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char time[MOMENT_SIZE];
    char lease[MOMENT_SIZE];

    table_add(table, STYLE_NONE, cascade_uuid_format(&engine->engine_id, id));
    table_add(table, STYLE_NONE, engine->host);
    table_add_format(table, STYLE_NONE, "%" PRId64, engine->pid);
    table_add(table, STYLE_NONE, moment_text(engine->started_at_ms, time));
    table_add(table, engine->lease_left_ms < 0 ? STYLE_BAD : STYLE_NONE,
              moment_duration(engine->lease_left_ms, lease));
    table_add_format(table, STYLE_NONE, "%u", engine->lane_count);
    table_add(table, STYLE_NONE,
              *engine->version != '\0' ? engine->version : "-");
    add_names(table, engine->queues, engine->queue_count);
    add_names(table, engine->nodes, engine->node_count);
}

static cascade_err
put_engine(struct out *out, const cascade_engine_info *engine)
{
    struct object object;

    object_init(&object);
    object_id(&object, "engine_id", &engine->engine_id);
    object_text(&object, "host", engine->host);
    object_number(&object, "pid", engine->pid);
    object_time(&object, "started_at", engine->started_at_ms);
    object_number(&object, "lease_left_ms", engine->lease_left_ms);
    object_number(&object, "lanes", engine->lane_count);
    object_text(&object, "version", engine->version);
    object_texts(&object, "queues", engine->queues, engine->queue_count);
    object_texts(&object, "nodes", engine->nodes, engine->node_count);
    return out_object(out, &object);
}

int
run_engines(struct session *session)
{
    cascade_engine_list *list = NULL;
    struct table table;
    cascade_err err = cascade_engine_list_load(session->store, &list);

    if (err != CASCADE_OK)
        return session_fail(NULL, err);
    table_init(&table, engine_columns,
               sizeof(engine_columns) / sizeof(engine_columns[0]));
    for (size_t i = 0; i < cascade_engine_list_count(list) && err == CASCADE_OK;
         i++) {
        if (session->out.json)
            err = put_engine(&session->out, cascade_engine_list_get(list, i));
        else
            add_engine(&table, cascade_engine_list_get(list, i));
    }
    if (err == CASCADE_OK && !session->out.json)
        err = table_print(&table, &session->out);
    table_free(&table);
    cascade_engine_list_free(list);
    return session_end(NULL, err);
}

/* ---- queues ------------------------------------------------------------- */

static const struct table_column queue_columns[] = {
    {"QUEUE", 0, false},  {"OWNED", 0, true},   {"DUE", 0, true},
    {"LATER", 0, true},   {"NEEDING", 0, true}, {"DUE FOR", 6, true},
    {"SLOTS", 0, true},   {"AT ONCE", 0, true}, {"EACH KEY", 0, true},
    {"PAUSED", 0, false}, {"REASON", 0, false},
};

static void
add_maximum(struct table *table, const cascade_queue_info *queue, int maximum)
{
    if (queue->limits_version == 0)
        table_add(table, STYLE_NONE, "-");
    else if (maximum == 0)
        table_add(table, STYLE_NONE, "any");
    else
        table_add_format(table, STYLE_NONE, "%d", maximum);
}

static void
add_queue(struct table *table, const cascade_queue_info *queue, int64_t now_ms)
{
    char time[MOMENT_SIZE];
    bool is_due = queue->due_since_ms != CASCADE_TIME_NONE;

    table_add(table, STYLE_NONE, queue->name);
    table_add_format(table, STYLE_NONE, "%" PRId64, queue->owned);
    table_add_format(table, STYLE_NONE, "%" PRId64, queue->due);
    table_add_format(table, STYLE_NONE, "%" PRId64, queue->later);
    table_add_format(table, STYLE_NONE, "%" PRId64, queue->needing);
    table_add(table, STYLE_NONE,
              is_due ? moment_duration(now_ms - queue->due_since_ms, time)
                     : "-");
    if (queue->limits_version == 0)
        table_add(table, STYLE_NONE, "-");
    else
        table_add_format(table, STYLE_NONE, "%" PRId64, queue->slots);
    add_maximum(table, queue, queue->running_max);
    add_maximum(table, queue, queue->key_running_max);
    table_add(table, STYLE_BUSY,
              queue->paused ? moment_text(queue->paused_at_ms, time) : "-");
    table_add(table, STYLE_NONE,
              *queue->pause_reason != '\0' ? queue->pause_reason : "-");
}

static cascade_err
put_queue(struct out *out, const cascade_queue_info *queue)
{
    const char *request = queue->pause_request;
    const char *reason = queue->pause_reason;
    struct object object;

    object_init(&object);
    object_text(&object, "queue", queue->name);
    object_number(&object, "owned", queue->owned);
    object_number(&object, "due", queue->due);
    object_number(&object, "later", queue->later);
    object_number(&object, "needing", queue->needing);
    object_time(&object, "due_since", queue->due_since_ms);
    object_number(&object, "slots", queue->slots);
    object_number(&object, "limits_version", queue->limits_version);
    object_number(&object, "running_max", queue->running_max);
    object_number(&object, "key_running_max", queue->key_running_max);
    object_text(&object, "limits_by",
                *queue->limits_by != '\0' ? queue->limits_by : NULL);
    object_text(&object, "limits_reason",
                *queue->limits_reason != '\0' ? queue->limits_reason : NULL);
    object_bool(&object, "paused", queue->paused);
    object_time(&object, "paused_at", queue->paused_at_ms);
    object_text(&object, "pause_request", *request != '\0' ? request : NULL);
    object_text(&object, "pause_by",
                *queue->pause_by != '\0' ? queue->pause_by : NULL);
    object_text(&object, "pause_reason", *reason != '\0' ? reason : NULL);
    return out_object(out, &object);
}

int
run_queues(struct session *session)
{
    cascade_queue_list *list = NULL;
    struct table table;
    int64_t now_ms = session_now(session);
    cascade_err err = cascade_queue_list_load(session->store, &list);

    if (err != CASCADE_OK)
        return session_fail(NULL, err);
    table_init(&table, queue_columns,
               sizeof(queue_columns) / sizeof(queue_columns[0]));
    for (size_t i = 0; i < cascade_queue_list_count(list) && err == CASCADE_OK;
         i++) {
        if (session->out.json)
            err = put_queue(&session->out, cascade_queue_list_get(list, i));
        else
            add_queue(&table, cascade_queue_list_get(list, i), now_ms);
    }
    if (err == CASCADE_OK && !session->out.json)
        err = table_print(&table, &session->out);
    table_free(&table);
    cascade_queue_list_free(list);
    return session_end(NULL, err);
}

/* ---- stats -------------------------------------------------------------- */

int
run_stats(struct session *session)
{
    cascade_counts counts = {.size = sizeof(counts)};
    struct object object;
    cascade_err err = cascade_counts_load(session->store, &counts);

    if (err != CASCADE_OK)
        return session_fail(NULL, err);
    if (!session->out.json) {
        out_format(&session->out,
                   "running    %" PRId64 "\n"
                   "completed  %" PRId64 "\n"
                   "error      %" PRId64 "\n"
                   "messages   %" PRId64 "\n"
                   "erasing    %" PRId64 "\n",
                   counts.running, counts.completed, counts.failed,
                   counts.messages, counts.erasing);
        return EXIT_DONE;
    }
    object_init(&object);
    object_number(&object, "running", counts.running);
    object_number(&object, "completed", counts.completed);
    object_number(&object, "error", counts.failed);
    object_number(&object, "messages", counts.messages);
    object_number(&object, "erasing", counts.erasing);
    return session_end(NULL, out_object(&session->out, &object));
}
