/* SPDX-License-Identifier: MIT */
#include "raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *
raw_style_name(raw_style style)
{
    static const char *const names[] = {"line", "graph", "start"};

    return names[style];
}

size_t
raw_style_commits(raw_style style, size_t steps)
{
    if (style == RAW_START)
        return 1;
    return steps + (style == RAW_LINE ? 2 : 1);
}

const char *
raw_method_name(raw_method method)
{
    static const char *const names[RAW_METHODS] = {"arrays", "cte", "rows"};

    return names[method];
}

int64_t
raw_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
raw_now_text(char text[RAW_TIME_SIZE])
{
    int64_t now_ms = raw_now_ms();
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm parts;
    size_t len;

    gmtime_r(&seconds, &parts);
    len = strftime(text, RAW_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &parts);
    snprintf(text + len, RAW_TIME_SIZE - len, ".%03d", (int)(now_ms % 1000));
}

static uint64_t
next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

cascade_uuid
raw_id(uint64_t *seed)
{
    uint64_t parts[2] = {next_random(seed), next_random(seed)};
    uint64_t now_ms = (uint64_t)raw_now_ms();
    cascade_uuid id;

    memcpy(id.bytes, parts, sizeof(id.bytes));
    for (int i = 0; i < 6; i++)
        id.bytes[i] = (unsigned char)(now_ms >> (40 - 8 * i));
    id.bytes[6] = (unsigned char)(0x70 | (id.bytes[6] & 0x0f));
    id.bytes[8] = (unsigned char)(0x80 | (id.bytes[8] & 0x3f));
    return id;
}

raw_cascade
raw_cascade_make(uint64_t *seed)
{
    raw_cascade cascade = {.id = raw_id(seed)};

    cascade_uuid_format(&cascade.id, cascade.text);
    return cascade;
}

const char *
raw_node_name(raw_style style, size_t function_id)
{
    if (style == RAW_GRAPH)
        return "graph";
    return function_id == 0 ? "line" : "cascade.step:step";
}

const char *
raw_path(char text[RAW_TEXT_MAX], const raw_cascade *cascade, raw_style style,
         size_t function_id)
{
    if (function_id == 0)
        snprintf(text, RAW_TEXT_MAX, "%s/-/%s#0", cascade->text,
                 raw_node_name(style, 0));
    else if (style == RAW_GRAPH)
        snprintf(text, RAW_TEXT_MAX, "%s/%zu/graph#0", cascade->text,
                 function_id - 1);
    else
        snprintf(text, RAW_TEXT_MAX, "%s/0/cascade.step:step#%zu",
                 cascade->text, function_id - 1);
    return text;
}

const char *
raw_input(char text[RAW_TEXT_MAX], const raw_work *work, size_t function_id)
{
    if (work->style != RAW_GRAPH)
        return "{}";
    snprintf(text, RAW_TEXT_MAX, "{\"left\":%zu}",
             work->steps - 1 - function_id);
    return text;
}

const char *
raw_output(char text[RAW_TEXT_MAX], const raw_work *work, size_t function_id)
{
    bool graph = work->style == RAW_GRAPH;
    const char *cascade =
        function_id == 0 ? "\"cascade\":{\"queue\":\"default\",\"priority\":0},"
                         : "";
    char spawned[40] = "";

    if (graph && function_id + 1 < work->steps)
        snprintf(spawned, sizeof(spawned), "\"spawned\":[%zu],",
                 function_id + 1);
    if (!graph && function_id > 0)
        snprintf(spawned, sizeof(spawned), "\"keys\":[\"" RAW_KEY "\"],");
    snprintf(text, RAW_TEXT_MAX, "{\"at\":%zu,%s%s\"attempts\":1}",
             graph             ? function_id
             : function_id > 0 ? function_id - 1
                               : work->steps,
             cascade, spawned);
    return text;
}

/* ---- Either database ----------------------------------------------------- */

struct raw {
    raw_work work;
    raw_postgres *postgres; /* one of the two is NULL */
    raw_sqlite *sqlite;
};

raw *
raw_open(const bench *b, bench_kind kind, const char *name,
         const raw_work *work)
{
    raw *r = bench_alloc(1, sizeof(raw));

    r->work = *work;
    if (kind == BENCH_SQLITE)
        r->sqlite = raw_sqlite_open(b, name, &r->work);
    else
        r->postgres = raw_postgres_open(b, name, &r->work);
    return r;
}

double
raw_run(raw *r)
{
    const raw_work *work = &r->work;
    size_t executions =
        work->steps * work->batch * work->groups * work->connections;
    double seconds = r->sqlite != NULL ? raw_sqlite_run(r->sqlite)
                                       : raw_postgres_run(r->postgres);

    return (double)executions / seconds;
}

bool
raw_is_warm(const raw *r)
{
    return r->sqlite == NULL || raw_sqlite_is_warm(r->sqlite);
}

size_t
raw_commits(const raw *r)
{
    const raw_work *work = &r->work;
    size_t each = raw_style_commits(work->style, work->steps);

    return each * work->groups * work->connections;
}

void
raw_close(raw *r)
{
    if (r->sqlite != NULL)
        raw_sqlite_close(r->sqlite);
    else
        raw_postgres_close(r->postgres);
    free(r);
}
