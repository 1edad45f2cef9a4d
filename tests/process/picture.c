/* SPDX-License-Identifier: MIT */
#include "process/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/check.h"

#define LINES_MAX 64
#define UUID_LEN (CASCADE_UUID_TEXT_SIZE - 1)

/* ---- Texts --------------------------------------------------------------- */

/* Each id becomes a star. */
static void
blank_ids(char *text)
{
    cascade_uuid id;
    char part[CASCADE_UUID_TEXT_SIZE];

    for (char *at = text; strlen(at) >= UUID_LEN; at++) {
        snprintf(part, sizeof(part), "%s", at);
        if (cascade_uuid_parse(part, &id) != CASCADE_OK)
            continue;
        *at = '*';
        memmove(at + 1, at + UUID_LEN, strlen(at + UUID_LEN) + 1);
    }
}

static void add(char *text, const char *format, ...) CASCADE_PRINTF(2, 3);

static void
add(char *text, const char *format, ...)
{
    size_t len = strlen(text);
    int added = 0;
    va_list args;

    va_start(args, format);
    added = vsnprintf(text + len, PICTURE_SIZE - len, format, args);
    va_end(args);
    assert_true(added >= 0 && (size_t)added < PICTURE_SIZE - len);
}

static int
compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
sort_lines(char *text)
{
    char *copy = strdup(text);
    char *lines[LINES_MAX];
    size_t count = 0;
    char *rest = NULL;

    assert_non_null(copy);
    for (char *line = strtok_r(copy, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        assert_true(count < LINES_MAX);
        lines[count++] = line;
    }
    qsort(lines, count, sizeof(lines[0]), compare);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        add(text, "%s\n", lines[i]);
    free(copy);
}

/* ---- Cascades ------------------------------------------------------------ */

static const char *
or_none(const char *text)
{
    return text != NULL ? text : "-";
}

/* A completion that was sent twice may be recorded so: as undelivered. */
static bool
is_second(const cascade_execution_info *info)
{
    return strcmp(info->node_name, "cascade.message:complete") == 0 &&
           info->status == CASCADE_EXECUTION_FAILED;
}

/* A parent waits for children unless they were faster. */
static bool
is_wait_that_was_over(const cascade_execution_info *info)
{
    return strncmp(info->node_name, "cascade.gather:", 15) == 0 &&
           info->status == CASCADE_EXECUTION_COMPLETED;
}

static void
paint(char *text, const cascade_snapshot *snapshot, picture_kind kind)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);

    add(text, "status %d, result %s, error %s, context %s\n",
        (int)cascade_snapshot_info(snapshot)->status,
        or_none(cascade_snapshot_result(snapshot)),
        or_none(cascade_snapshot_error(snapshot)),
        cascade_snapshot_context(snapshot));
    for (size_t i = 0; i < count && kind != PICTURE_RUNS; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i);

        if (is_second(info) || is_wait_that_was_over(info))
            continue;
        add(text, "%s as %s: status %d, input %s, output %s, error %s\n",
            info->node_name, info->node_instance_id, (int)info->status,
            info->input, or_none(info->output), or_none(info->error));
    }
}

static char *
take_one(picture *p, cascade_store *store, const cascade_info *info,
         picture_kind kind)
{
    char *text = calloc(1, PICTURE_SIZE);
    cascade_snapshot *snapshot = NULL;
    cascade_err err = cascade_snapshot_load(store, &info->id, NULL, &snapshot);

    assert_non_null(text);
    if (err == CASCADE_ERR_NOT_FOUND)
        return text; /* deleted meanwhile */
    assert_ok(err);
    p->running += cascade_snapshot_info(snapshot)->status == CASCADE_RUNNING ||
                  info->has_run ||
                  cascade_snapshot_count(snapshot, CASCADE_PART_ACTIVE) > 0;
    paint(text, snapshot, kind);
    cascade_snapshot_free(snapshot);
    blank_ids(text);
    if (kind == PICTURE_SORTED)
        sort_lines(text);
    return text;
}

void
picture_take(picture *p, cascade_store *store, const char *user,
             picture_kind kind)
{
    const cascade_list_options options = {.size = sizeof(options),
                                          .user_id = user};
    char *texts[PICTURE_CASCADES] = {NULL};
    cascade_page *page = NULL;

    *p = (picture){0};
    assert_ok(cascade_list(store, &options, &page));
    p->cascades = cascade_page_count(page);
    assert_true(p->cascades <= PICTURE_CASCADES);
    for (size_t i = 0; i < p->cascades; i++)
        texts[i] = take_one(p, store, cascade_page_get(page, i), kind);
    cascade_page_free(page);
    qsort(texts, p->cascades, sizeof(texts[0]), compare);
    for (size_t i = 0; i < p->cascades; i++) {
        add(p->text, "%s", texts[i]);
        free(texts[i]);
    }
}
