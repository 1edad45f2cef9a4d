/* SPDX-License-Identifier: MIT
 *
 * What every move of the file store begins and ends with.
 */
#include "file.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

/* ---- Time ---------------------------------------------------------------- */

int64_t
file_wall_ms(const file_store *f)
{
    return f->config->clock->wall_ms(f->config->clock->context);
}

int64_t
file_monotonic_ms(const file_store *f)
{
    return f->config->clock->monotonic_ns(f->config->clock->context) / 1000000;
}

int64_t
file_add_ms(int64_t at_ms, int64_t ms)
{
    int64_t sum;

    return __builtin_add_overflow(at_ms, ms, &sum) ? INT64_MAX : sum;
}

int64_t
file_real_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- A move -------------------------------------------------------------- */

/* Until the file is ours alone. */
cascade_err
file_lock(file_store *f)
{
    int64_t until_ms = file_add_ms(file_real_ms(), f->config->deadline_ms);
    int locked = -1;

    pthread_mutex_lock(&f->mutex);
    for (;;) {
        locked = flock(f->lock_fd, LOCK_EX | LOCK_NB);
        if (locked == 0 || errno != EWOULDBLOCK || file_real_ms() >= until_ms)
            break;
        poll(NULL, 0, 1);
    }
    if (locked == 0)
        return CASCADE_OK;
    pthread_mutex_unlock(&f->mutex);
    return cascade_store_fail(CASCADE_ERR_UNAVAILABLE,
                              "%s.lock is held by another: %s", f->path,
                              strerror(errno));
}

static void
unlock(file_store *f)
{
    flock(f->lock_fd, LOCK_UN);
    pthread_mutex_unlock(&f->mutex);
}

cascade_err
file_begin_read(file_store *f)
{
    cascade_err err = file_lock(f);

    if (err != CASCADE_OK)
        return err;
    err = state_read(&f->rows, f->path);
    if (err == CASCADE_OK && f->rows.version == 0)
        err = cascade_store_fail(CASCADE_ERR_SCHEMA, "there is no %s yet",
                                 f->path);
    if (err != CASCADE_OK)
        unlock(f);
    return err;
}

cascade_err
file_end_read(file_store *f, cascade_err err)
{
    unlock(f);
    return err;
}

/* A move that writes works on `next`. */
cascade_err
file_begin_write(file_store *f, state *next)
{
    cascade_err err = file_begin_read(f);

    if (err == CASCADE_OK)
        state_copy(next, &f->rows);
    return err;
}

/* Where the move is an error, or has changed nothing, the copy goes. */
cascade_err
file_end_write(file_store *f, state *next, cascade_err err, bool changed)
{
    if (err == CASCADE_OK && next->failed)
        err = cascade_store_fail(CASCADE_ERR_NO_MEMORY, "out of memory");
    if (err == CASCADE_OK && changed) {
        err = state_write(next, f->path);
        if (err == CASCADE_OK) {
            state before = f->rows;

            f->rows = *next;
            *next = before;
        }
    }
    state_free(next);
    unlock(f);
    return err;
}

cascade_err
file_fail_fenced(const char *move)
{
    return cascade_store_fail(CASCADE_ERR_FENCED,
                              "%s: this incarnation, or its lane, was removed; "
                              "attach a new one",
                              move);
}

/* ---- Looking ------------------------------------------------------------- */

row_key
file_key(const cascade_uuid *id, int64_t first, int64_t second)
{
    return (row_key){*id, first, second};
}

cascade_row *
find_cascade(const state *s, const cascade_uuid *id)
{
    return state_find(s, CASCADES, file_key(id, 0, 0));
}

cascade_run_row *
find_run(const state *s, const cascade_uuid *id)
{
    return state_find(s, RUNS, file_key(id, 0, 0));
}

cascade_execution_row *
find_execution(const state *s, const cascade_uuid *id, int32_t function_id)
{
    return state_find(s, EXECUTIONS, file_key(id, function_id, 0));
}

/* Goes on from `*at` through the rows whose key begins with `id`. */
void *
next_of(const state *s, int which, const cascade_uuid *id, size_t *at)
{
    void *row = NULL;
    const cascade_uuid *there = NULL;

    if (*at >= s->tables[which].count)
        return NULL;
    row = state_row(s, which, *at);
    switch (which) {
    case EXECUTIONS:
        there = &((cascade_execution_row *)row)->cascade_id;
        break;
    case EVENTS:
        there = &((cascade_event_row *)row)->cascade_id;
        break;
    default:
        there = &((cascade_message_row *)row)->cascade_id;
        break;
    }
    if (compare_ids(there, id) != 0)
        return NULL;
    ++*at;
    return row;
}

size_t
first_of(const state *s, int which, const cascade_uuid *id)
{
    return state_place(s, which, file_key(id, INT64_MIN, INT64_MIN));
}

size_t
length(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

bool
has_execution(const state *s, const char *path)
{
    for (size_t i = 0; i < s->tables[EXECUTIONS].count; i++) {
        const cascade_execution_row *row = state_row(s, EXECUTIONS, i);

        if (strcmp(row->node_instance_id, path) == 0)
            return true;
    }
    return false;
}

bool
is_taken(const state *s, const char *path)
{
    for (size_t i = 0; i < s->tables[MESSAGES].count; i++) {
        const cascade_message_row *row = state_row(s, MESSAGES, i);

        if (strcmp(row->path, path) == 0)
            return true;
    }
    return has_execution(s, path);
}

engine_row *
find_engine(const state *s, const cascade_uuid *id)
{
    return state_find(s, ENGINES, file_key(id, 0, 0));
}
