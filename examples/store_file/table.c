/* SPDX-License-Identifier: MIT
 *
 * See table.h. The file is the arrays as they lie in memory, each row followed
 * by its texts, so it is for the machine and the build that wrote it: the head
 * tells the sizes of all rows, and another build refuses it.
 */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC INT64_C(0x31656c6966637363) /* "cscfile1" */
#define TEXTS_MAX 8
#define TEXT_MAX (1 << 30)

/* Where the texts and the key of a row lie. */
typedef struct shape {
    size_t size;
    size_t text_count;
    size_t texts[TEXTS_MAX];
    size_t id;
} shape;

#define ROW(member) offsetof(cascade_row, member)
#define EXECUTION(member) offsetof(cascade_execution_row, member)
#define EVENT(member) offsetof(cascade_event_row, member)
#define RUN(member) offsetof(cascade_run_row, member)
#define MESSAGE(member) offsetof(cascade_message_row, member)

static const shape shapes[TABLES] = {
    [CASCADES] = {sizeof(cascade_row), 1, {ROW(user_id)}, ROW(id)},
    [EXECUTIONS] = {sizeof(cascade_execution_row),
                    6,
                    {EXECUTION(node_instance_id), EXECUTION(node_name),
                     EXECUTION(input), EXECUTION(full_output),
                     EXECUTION(location), EXECUTION(error)},
                    EXECUTION(cascade_id)},
    [EVENTS] = {sizeof(cascade_event_row),
                3,
                {EVENT(key), EVENT(value), EVENT(ui_value)},
                EVENT(cascade_id)},
    [RUNS] = {sizeof(cascade_run_row),
              2,
              {RUN(queue), RUN(needs)},
              RUN(cascade_id)},
    [MESSAGES] = {sizeof(cascade_message_row),
                  5,
                  {MESSAGE(kind), MESSAGE(name), MESSAGE(path),
                   MESSAGE(payload), MESSAGE(seal)},
                  MESSAGE(cascade_id)},
    [ENGINES] = {sizeof(engine_row),
                 3,
                 {offsetof(engine_row, row.host),
                  offsetof(engine_row, row.about), offsetof(engine_row, boot)},
                 offsetof(engine_row, row.engine_id)},
    [LANES] = {sizeof(lane_row), 0, {0}, offsetof(lane_row, engine_id)},
};

/* ---- Texts --------------------------------------------------------------- */

typedef struct counted {
    size_t users;
    char text[];
} counted;

static counted *
counted_of(const char *text)
{
    return (counted *)(text - offsetof(counted, text));
}

static const char *
keep_text(state *s, const char *text, size_t len)
{
    counted *made = malloc(sizeof(*made) + len + 1);

    if (made == NULL) {
        s->failed = true;
        return NULL;
    }
    made->users = 1;
    memcpy(made->text, text, len);
    made->text[len] = '\0';
    return made->text;
}

static void
drop_text(const char *text)
{
    if (text != NULL && --counted_of(text)->users == 0)
        free(counted_of(text));
}

static const char **
text_of(int which, void *row, size_t i)
{
    return (const char **)((char *)row + shapes[which].texts[i]);
}

void
state_set_text(state *s, const char **place, const char *text)
{
    const char *before = *place;

    *place = text != NULL ? keep_text(s, text, strlen(text)) : NULL;
    drop_text(before);
}

/* ---- Rows ---------------------------------------------------------------- */

int
compare_ids(const cascade_uuid *a, const cascade_uuid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

bool
is_nil(const cascade_uuid *id)
{
    static const cascade_uuid nil;

    return compare_ids(id, &nil) == 0;
}

static row_key
key_of(int which, const void *row)
{
    row_key key = {.first = 0};

    memcpy(&key.id, (const char *)row + shapes[which].id, sizeof(key.id));
    if (which == EXECUTIONS)
        key.first = ((const cascade_execution_row *)row)->function_id;
    if (which == EVENTS) {
        key.first = ((const cascade_event_row *)row)->function_id;
        key.second = ((const cascade_event_row *)row)->id;
    }
    if (which == MESSAGES)
        key.first = ((const cascade_message_row *)row)->id;
    if (which == LANES)
        key.first = ((const lane_row *)row)->lane;
    return key;
}

static int
compare_keys(const row_key *a, const row_key *b)
{
    int by_id = compare_ids(&a->id, &b->id);

    if (by_id != 0)
        return by_id;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->second == b->second ? 0 : a->second < b->second ? -1 : 1;
}

void *
state_row(const state *s, int which, size_t at)
{
    return s->tables[which].rows + at * shapes[which].size;
}

size_t
state_place(const state *s, int which, row_key key)
{
    size_t low = 0;
    size_t high = s->tables[which].count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        row_key there = key_of(which, state_row(s, which, middle));

        if (compare_keys(&there, &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void *
state_find(const state *s, int which, row_key key)
{
    size_t at = state_place(s, which, key);
    row_key there;

    if (at == s->tables[which].count)
        return NULL;
    there = key_of(which, state_row(s, which, at));
    return compare_keys(&there, &key) == 0 ? state_row(s, which, at) : NULL;
}

/* Room for one more row, the place for which is made. */
static void *
make_room(state *s, int which, size_t at)
{
    table *t = &s->tables[which];
    size_t size = shapes[which].size;

    if (t->count == t->room) {
        size_t room = t->room * 2 + 16;
        char *rows = realloc(t->rows, room * size);

        if (rows == NULL) {
            s->failed = true;
            return NULL;
        }
        t->rows = rows;
        t->room = room;
    }
    memmove(t->rows + (at + 1) * size, t->rows + at * size,
            (t->count - at) * size);
    t->count++;
    return t->rows + at * size;
}

void
state_add(state *s, int which, const void *row)
{
    void *made = make_room(s, which, state_place(s, which, key_of(which, row)));

    if (made == NULL)
        return;
    memcpy(made, row, shapes[which].size);
    for (size_t i = 0; i < shapes[which].text_count; i++) {
        const char **place = text_of(which, made, i);

        *place = *place != NULL ? keep_text(s, *place, strlen(*place)) : NULL;
    }
}

void
state_remove(state *s, int which, size_t at)
{
    table *t = &s->tables[which];
    size_t size = shapes[which].size;

    for (size_t i = 0; i < shapes[which].text_count; i++)
        drop_text(*text_of(which, state_row(s, which, at), i));
    t->count--;
    memmove(t->rows + at * size, t->rows + (at + 1) * size,
            (t->count - at) * size);
}

void
state_remove_all(state *s, int which, const cascade_uuid *id)
{
    size_t at = state_place(s, which, (row_key){*id, INT64_MIN, INT64_MIN});

    while (at < s->tables[which].count) {
        row_key key = key_of(which, state_row(s, which, at));

        if (compare_ids(&key.id, id) != 0)
            break;
        state_remove(s, which, at);
    }
}

/* ---- All of it ----------------------------------------------------------- */

void
state_copy(state *copy, const state *s)
{
    *copy = *s;
    for (int which = 0; which < TABLES; which++) {
        table *t = &copy->tables[which];
        size_t bytes = t->count * shapes[which].size;

        t->room = t->count;
        t->rows = malloc(bytes + 1);
        if (t->rows == NULL) {
            *t = (table){.rows = NULL};
            copy->failed = true;
            continue;
        }
        if (bytes > 0)
            memcpy(t->rows, s->tables[which].rows, bytes);
        for (size_t at = 0; at < t->count; at++)
            for (size_t i = 0; i < shapes[which].text_count; i++) {
                const char *text =
                    *text_of(which, state_row(copy, which, at), i);

                if (text != NULL)
                    counted_of(text)->users++;
            }
    }
}

void
state_free(state *s)
{
    for (int which = 0; which < TABLES; which++) {
        while (s->tables[which].count > 0)
            state_remove(s, which, s->tables[which].count - 1);
        free(s->tables[which].rows);
    }
    memset(s, 0, sizeof(*s));
}

/* ---- The file ------------------------------------------------------------ */

static void
fill_head(const state *s, int64_t *head)
{
    head[0] = MAGIC;
    head[1] = s->version;
    head[2] = s->event_id;
    head[3] = s->message_id;
    for (int which = 0; which < TABLES; which++)
        head[4 + which] = (int64_t)shapes[which].size;
}

#define HEAD (4 + TABLES)

static void
read_text(state *s, FILE *file, const char **place, bool *good)
{
    int64_t len = -1;
    counted *made = NULL;

    *place = NULL;
    *good = *good && fread(&len, sizeof(len), 1, file) == 1 && len < TEXT_MAX;
    if (!*good || len < 0)
        return;
    made = malloc(sizeof(*made) + (size_t)len + 1);
    s->failed = s->failed || made == NULL;
    if (made == NULL)
        return;
    made->users = 1;
    made->text[len] = '\0';
    *good = len == 0 || fread(made->text, (size_t)len, 1, file) == 1;
    *place = made->text;
}

static bool
read_table(state *s, FILE *file, int which)
{
    int64_t count = 0;
    bool good = fread(&count, sizeof(count), 1, file) == 1;

    for (int64_t at = 0; at < count && good && !s->failed; at++) {
        void *row = make_room(s, which, (size_t)at);

        if (row == NULL)
            break;
        memset(row, 0, shapes[which].size);
        good = fread(row, shapes[which].size, 1, file) == 1;
        for (size_t i = 0; i < shapes[which].text_count; i++)
            read_text(s, file, text_of(which, row, i), &good);
    }
    return good;
}

static cascade_err
read_rest(state *s, FILE *file, const char *path)
{
    bool good = true;

    for (int which = 0; which < TABLES && good && !s->failed; which++)
        good = read_table(s, file, which);
    if (s->failed)
        return cascade_store_fail(CASCADE_ERR_NO_MEMORY,
                                  "there is no memory for %s", path);
    if (!good)
        return cascade_store_fail(CASCADE_ERR_CORRUPT, "%s ends too early",
                                  path);
    return CASCADE_OK;
}

cascade_err
state_read(state *s, const char *path)
{
    int64_t head[HEAD] = {0};
    int64_t known[HEAD];
    state fresh = {.version = 0};
    cascade_err err = CASCADE_OK;
    FILE *file = fopen(path, "rbe");

    if (file == NULL && errno == ENOENT && s->version == 0)
        return CASCADE_OK;
    if (file == NULL)
        return cascade_store_fail(
            errno == ENOENT ? CASCADE_ERR_LOST : CASCADE_ERR_SYSTEM,
            "%s cannot be opened: %s", path, strerror(errno));
    fill_head(s, known);
    if (fread(head, sizeof(head), 1, file) != 1 || head[0] != MAGIC ||
        memcmp(&head[4], &known[4], sizeof(head) - 4 * sizeof(head[0])) != 0)
        err = cascade_store_fail(CASCADE_ERR_SCHEMA,
                                 "%s is no file of this build of the store",
                                 path);
    if (err != CASCADE_OK || head[1] == s->version)
        goto out;
    fresh.version = head[1];
    fresh.event_id = head[2];
    fresh.message_id = head[3];
    err = read_rest(&fresh, file, path);
    if (err == CASCADE_OK) {
        state_free(s);
        *s = fresh;
    } else {
        state_free(&fresh);
    }
out:
    fclose(file);
    return err;
}

static void
write_rows(const state *s, FILE *file)
{
    int64_t head[HEAD];

    fill_head(s, head);
    fwrite(head, sizeof(head), 1, file);
    for (int which = 0; which < TABLES; which++) {
        int64_t count = (int64_t)s->tables[which].count;

        fwrite(&count, sizeof(count), 1, file);
        for (size_t at = 0; at < s->tables[which].count; at++) {
            void *row = state_row(s, which, at);

            fwrite(row, shapes[which].size, 1, file);
            for (size_t i = 0; i < shapes[which].text_count; i++) {
                const char *text = *text_of(which, row, i);
                int64_t len = text != NULL ? (int64_t)strlen(text) : -1;

                fwrite(&len, sizeof(len), 1, file);
                if (len > 0)
                    fwrite(text, (size_t)len, 1, file);
            }
        }
    }
}

/* The name is durable when its folder is. */
static bool
sync_folder(const char *path)
{
    char folder[1024];
    const char *slash = strrchr(path, '/');
    size_t len = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    int fd = -1;
    bool good = false;

    snprintf(folder, sizeof(folder), "%.*s%s", (int)len, path,
             len == 0 ? "." : "");
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    good = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return good;
}

cascade_err
state_write(state *s, const char *path)
{
    char beside[1100];
    FILE *file = NULL;
    bool good = false;

    if (s->failed)
        return cascade_store_fail(CASCADE_ERR_NO_MEMORY,
                                  "there is no memory for a copy of %s", path);
    snprintf(beside, sizeof(beside), "%s.new", path);
    s->version++;
    file = fopen(beside, "wbe");
    if (file != NULL) {
        write_rows(s, file);
        good = fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
        good = fclose(file) == 0 && good;
    }
    if (!good || rename(beside, path) != 0) {
        cascade_err err =
            cascade_store_fail(CASCADE_ERR_SYSTEM, "%s cannot be written: %s",
                               beside, strerror(errno));

        (void)unlink(beside);
        return err;
    }
    if (!sync_folder(path))
        return cascade_store_fail(CASCADE_ERR_UNAVAILABLE,
                                  "the folder of %s cannot be synced: %s", path,
                                  strerror(errno));
    return CASCADE_OK;
}
