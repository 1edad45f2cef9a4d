/* SPDX-License-Identifier: MIT
 *
 * The calls of a cursor; see cursor.h. It only reads. What it has told is in
 * memory alone: whoever wants to go on after a crash opens another one.
 *
 * Between two looks without news it sleeps ever longer, up to 200 ms. That an
 * engine of this process has recorded the end of a cascade ends the sleep of a
 * cursor that follows it.
 */
#include "query/cursor/cursor.h"

#include "base/check.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "query/execution_info.h"
#include "query/wait.h"
#include "store/store.h"

/* ---- Opening ------------------------------------------------------------ */

static cascade_err
open_one(cascade_cursor *cursor, const cascade_uuid *id, bool from_start)
{
    cascade_info *info = NULL;
    cascade_err err = CASCADE_OK;

    cursor->one.id = *id;
    cursor->one.last = INT64_MIN;
    cursor->one.due = from_start;
    if (!from_start)
        return csc_cursor_skip(cursor->store, &cursor->one);
    err = csc_get_read(cursor->store, id, &info);
    cascade_info_free(info);
    return err;
}

static void
free_cursor(cascade_cursor *cursor)
{
    csc_cursor_forget(&cursor->one);
    csc_cursor_close_all(&cursor->crowd);
    cascade_info_free(cursor->info);
    csc_arena_fini(&cursor->arena);
    csc_mem_free(cursor);
}

static cascade_err
open_cursor(cascade_cursor *cursor, const cascade_cursor_options *options)
{
    cascade_err err = CASCADE_OK;

    if (cursor->all)
        err = csc_cursor_open_all(cursor, options->from_start);
    else
        err = open_one(cursor, options->id, options->from_start);
    if (err == CASCADE_OK)
        err = csc_watch_begin(&cursor->store->watches, &cursor->watch,
                              &cursor->one.id);
    return err;
}

cascade_err
cascade_cursor_open(cascade_store *store, const cascade_cursor_options *options,
                    cascade_cursor **cursor)
{
    cascade_cursor_options known = {0};
    cascade_cursor *made = NULL;
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || cursor == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "cursor: an argument is NULL");
    err = csc_check_options("cursor options", options, &known, sizeof(known));
    if (err != CASCADE_OK)
        return err;
    made = csc_mem_zalloc(1, sizeof(*made));
    if (made == NULL)
        return csc_fail_memory();
    csc_origin_mark(&made->origin);
    made->store = store;
    made->all = known.id == NULL;
    err = open_cursor(made, &known);
    if (err != CASCADE_OK) {
        free_cursor(made);
        return err;
    }
    *cursor = made;
    return csc_ok();
}

/* ---- Going on ----------------------------------------------------------- */

static cascade_err
follow_one(cascade_cursor *cursor)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = CASCADE_OK;

    if (cursor->now == NULL)
        csc_cursor_begin(cursor, &cursor->one);
    err = csc_cursor_follow(cursor);
    if (err == CASCADE_ERR_AGAIN && cursor->one.status != CASCADE_RUNNING)
        err = csc_fail(CASCADE_ERR_ENDED,
                       "cursor: cascade %s has ended, and all of it was told",
                       cascade_uuid_format(&cursor->one.id, id));
    return err;
}

static cascade_err
look(void *context, bool late)
{
    cascade_cursor *cursor = context;

    (void)late;
    return cursor->all ? csc_cursor_follow_all(cursor) : follow_one(cursor);
}

cascade_err
cascade_cursor_next(cascade_cursor *cursor, int64_t timeout_ms,
                    const cascade_news **news)
{
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(cursor) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (cursor == NULL || news == NULL || timeout_ms < -1)
        return csc_fail(CASCADE_ERR_INVALID,
                        "cursor: give a cursor, a place for the news, and a "
                        "timeout_ms of 0 or more, or -1 for no limit");
    if (timeout_ms != 0)
        err = csc_store_refuse_within(cursor->store, "cascade_cursor_next()");
    if (err != CASCADE_OK)
        return err;
    err =
        csc_get_until(cursor->store, &cursor->watch, timeout_ms, look, cursor);
    if (err == CASCADE_ERR_AGAIN)
        return csc_fail(CASCADE_ERR_TIMEOUT,
                        "cursor: nothing has changed within %lld ms",
                        (long long)timeout_ms);
    if (err != CASCADE_OK)
        return err;
    *news = &cursor->news;
    return csc_ok();
}

void
cascade_cursor_close(cascade_cursor *cursor)
{
    if (!csc_origin_is_here(cursor))
        return;
    if (cursor == NULL)
        return;
    csc_watch_end(&cursor->store->watches, &cursor->watch);
    free_cursor(cursor);
}
