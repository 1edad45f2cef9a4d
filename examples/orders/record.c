/* SPDX-License-Identifier: MIT
 *
 * Records are taken through the public API alone: cascade_list() and
 * cascade_snapshot_load(). On PostgreSQL the server may still be committing
 * what the killed process sent last, so a record may miss the newest rows. It
 * never holds too much, and what it holds is what the proof insists on.
 */
#include "record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cascade/cascade.h>

#include "view.h"

static bool
path_of(const struct settings *settings, size_t number, char *path)
{
    int len = snprintf(path, SETTINGS_PATH_MAX, "%s/kill-%zu", settings->folder,
                       number);
    return len < SETTINGS_PATH_MAX;
}

bool
record_exists(const struct settings *settings, size_t number)
{
    char path[SETTINGS_PATH_MAX];
    return path_of(settings, number, path) && access(path, F_OK) == 0;
}

/* ---- Taking ------------------------------------------------------------- */

static void
write_executions(FILE *file, const cascade_snapshot *snapshot)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *execution =
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i);
        bool running = execution->status == CASCADE_EXECUTION_RUNNING;
        fprintf(file, "%s %d %s\n", running ? "running" : "ended",
                execution->attempts, execution->node_instance_id);
    }
}

static cascade_err
write_cascades(FILE *file, cascade_store *store, const struct view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        cascade_snapshot *snapshot = NULL;
        cascade_err err =
            cascade_snapshot_load(store, &view->ids[i], NULL, &snapshot);
        if (err != CASCADE_OK)
            return err;
        write_executions(file, snapshot);
        cascade_snapshot_free(snapshot);
    }
    return CASCADE_OK;
}

static cascade_err
write_record(FILE *file, cascade_store *store, const struct settings *settings)
{
    struct view view;
    struct stat log = {.st_size = 0};
    size_t in_flight = 0;

    cascade_err err =
        view_count(store, settings->name, CASCADE_RUNNING, &in_flight);
    if (err != CASCADE_OK)
        return err;
    err = view_load(store, settings->name, 0, &view);
    if (err != CASCADE_OK)
        return err;
    /* Without a log there was no effect yet. */
    (void)stat(settings->effects, &log);
    fprintf(file, "effects %lld\n", (long long)log.st_size);
    fprintf(file, "cascades %zu in_flight %zu\n", view.count, in_flight);
    err = write_cascades(file, store, &view);
    view_free(&view);
    return err;
}

/* The record appears under its name only once it is whole. */
static bool
write_file(const char *path, cascade_store *store,
           const struct settings *settings)
{
    char part[SETTINGS_PATH_MAX + 8];
    snprintf(part, sizeof(part), "%s.part", path);
    FILE *file = fopen(part, "we");
    if (file == NULL) {
        fprintf(stderr, "orders: cannot write %s: %s\n", part, strerror(errno));
        return false;
    }
    cascade_err err = write_record(file, store, settings);
    if (err != CASCADE_OK)
        fprintf(stderr, "orders: cannot read the store: %s\n",
                cascade_errmsg());
    bool written = ferror(file) == 0;
    written = fclose(file) == 0 && written;
    if (err == CASCADE_OK && written && rename(part, path) == 0)
        return true;
    if (err == CASCADE_OK)
        fprintf(stderr, "orders: cannot write %s\n", path);
    unlink(part);
    return false;
}

bool
record_take(const struct settings *settings)
{
    char path[SETTINGS_PATH_MAX];
    cascade_store *store = NULL;
    size_t number = 1;

    while (number <= RECORDS_MAX && record_exists(settings, number))
        number++;
    if (number > RECORDS_MAX || !path_of(settings, number, path)) {
        fprintf(stderr, "orders: no room for another record\n");
        return false;
    }
    if (cascade_store_open(settings->store, NULL, &store) != CASCADE_OK) {
        fprintf(stderr, "orders: %s\n", cascade_errmsg());
        return false;
    }
    bool ok = write_file(path, store, settings);
    cascade_store_close(store);
    return ok;
}

/* ---- Reading ------------------------------------------------------------ */

static int
by_request(const void *a, const void *b)
{
    const struct record_line *x = a;
    const struct record_line *y = b;
    return strcmp(x->request, y->request);
}

static bool
read_line(char *text, struct record *record)
{
    char *end = NULL;
    bool ended = strncmp(text, "ended ", 6) == 0;
    if (!ended && strncmp(text, "running ", 8) != 0)
        return false;
    long attempts = strtol(text + (ended ? 6 : 8), &end, 10);
    if (*end != ' ' || attempts < 0 || attempts > 1000000)
        return false;
    record->lines[record->count++] = (struct record_line){
        .request = end + 1, .attempts = (int)attempts, .ended = ended};
    record->ended += ended ? 1 : 0;
    return true;
}

static bool
read_head(struct record *record)
{
    const char *effects = text_file_next(&record->text);
    const char *cascades = text_file_next(&record->text);
    return effects != NULL && cascades != NULL &&
           sscanf(effects, "effects %zu", &record->effects_len) == 1 &&
           sscanf(cascades, "cascades %zu in_flight %zu", &record->cascades,
                  &record->in_flight) == 2;
}

static bool
read_text(struct record *record)
{
    size_t lines = 0;
    for (size_t i = 0; i < record->text.len; i++)
        lines += record->text.data[i] == '\n' ? 1 : 0;
    record->lines = calloc(lines + 1, sizeof(*record->lines));
    if (record->lines == NULL || !read_head(record))
        return false;
    for (char *line = text_file_next(&record->text); line != NULL;
         line = text_file_next(&record->text))
        if (!read_line(line, record))
            return false;
    qsort(record->lines, record->count, sizeof(*record->lines), by_request);
    return true;
}

bool
record_read(const struct settings *settings, size_t number,
            struct record *record)
{
    char path[SETTINGS_PATH_MAX];

    *record = (struct record){.lines = NULL};
    if (!path_of(settings, number, path) ||
        !text_file_read(path, &record->text))
        return false;
    if (read_text(record))
        return true;
    fprintf(stderr, "orders: %s is no record\n", path);
    record_free(record);
    return false;
}

void
record_free(struct record *record)
{
    free(record->lines);
    text_file_free(&record->text);
    *record = (struct record){.lines = NULL};
}

const struct record_line *
record_find(const struct record *record, const char *request)
{
    struct record_line key = {.request = request};
    return bsearch(&key, record->lines, record->count, sizeof(key), by_request);
}
