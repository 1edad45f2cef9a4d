/* SPDX-License-Identifier: MIT */
#include "time/made.h"

#include <string.h>

#include "base/support.h"
#include "time/civil.h"

#define NAME_SIZE 8

static void
put(uint8_t **at, int64_t number, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--)
        *(*at)++ = (uint8_t)((uint64_t)number >> (8 * i));
}

static void
put_header(uint8_t **at, const made_file *file, size_t changes, size_t kinds,
           size_t names)
{
    memcpy(*at, "TZif", 4);
    *at += 4;
    *(*at)++ = (uint8_t)file->version;
    memset(*at, 0, 15);
    *at += 15;
    put(at, 0, 4);
    put(at, 0, 4);
    put(at, 0, 4);
    put(at, (int64_t)changes, 4);
    put(at, (int64_t)kinds, 4);
    put(at, (int64_t)names, 4);
}

static void
put_block(uint8_t **at, const made_file *file, int time_size)
{
    put_header(at, file, file->change_count, file->kind_count,
               file->kind_count * NAME_SIZE);
    for (size_t i = 0; i < file->change_count; i++)
        put(at, file->changes[i].at_s, time_size);
    for (size_t i = 0; i < file->change_count; i++)
        put(at, file->changes[i].kind, 1);
    for (size_t i = 0; i < file->kind_count; i++) {
        put(at, file->kinds[i].offset_s, 4);
        put(at, file->kinds[i].is_dst, 1);
        put(at, (int64_t)(i * NAME_SIZE), 1);
    }
    for (size_t i = 0; i < file->kind_count; i++) {
        memset(*at, 0, NAME_SIZE);
        memcpy(*at, file->kinds[i].name, strlen(file->kinds[i].name));
        *at += NAME_SIZE;
    }
}

size_t
made_bytes(const made_file *file, uint8_t bytes[MADE_SIZE])
{
    uint8_t *at = bytes;

    if (file->version == '\0') {
        put_block(&at, file, 4);
        return (size_t)(at - bytes);
    }
    put_header(&at, file, 0, 1, 1);
    memset(at, 0, 7);
    at += 7;
    put_block(&at, file, 8);
    *at++ = '\n';
    memcpy(at, file->rule, strlen(file->rule));
    at += strlen(file->rule);
    *at++ = '\n';
    return (size_t)(at - bytes);
}

csc_zone *
made_zone_of(const char *name, const made_file *file)
{
    uint8_t bytes[MADE_SIZE];
    csc_zone *zone = NULL;

    if (csc_zone_create(name, bytes, made_bytes(file, bytes), &zone) !=
        CASCADE_OK)
        fail_msg("%s", cascade_errmsg());
    return zone;
}

csc_zone *
made_zone(const char *name, const char *rule)
{
    static const made_kind kind = {0, 0, "UTC"};

    return made_zone_of(name, &(made_file){'3', &kind, 1, NULL, 0, rule});
}

int64_t
made_s(const char *text)
{
    csc_civil_stamp stamp;

    if (csc_civil_parse("a test's time", text, &stamp) != CASCADE_OK)
        fail_msg("%s: %s", text, cascade_errmsg());
    return csc_civil_seconds(&stamp.civil) - stamp.offset_s;
}

csc_cron
made_cron(const char *text)
{
    csc_cron cron;

    if (csc_cron_parse("cron", text, CSC_CRON_OCPS, &cron) != CASCADE_OK)
        fail_msg("%s: %s", text, cascade_errmsg());
    return cron;
}
