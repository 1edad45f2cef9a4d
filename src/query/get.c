/* SPDX-License-Identifier: MIT
 *
 * Looking from outside: get, list, wait. They read what is committed, by the
 * store's list move, and know nothing of engines; but for cascade_wait():
 *
 *   an engine of the handle holds it   no look; told of the end as it commits
 *   none does                          looks, ever more rarely; the looks of
 *                                      all calls at one moment are one
 */
#include "cascade/cascade.h"

#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/manage.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/execution_info.h"
#include "query/wait.h"
#include "state/state.h"
#include "store/move.h"
#include "store/store.h"

#define LIST_LIMIT 100
#define LIST_LIMIT_MAX 1000
#define LOOK_FIRST_MS 2
#define LOOK_MAX_MS 200
#define JOIN_MAX_MS 3600000 /* a look takes no longer */

/* ---- Infos -------------------------------------------------------------- */

static char *
put_text(char *at, const char *text, const char **place)
{
    size_t len = strlen(text) + 1;

    memcpy(at, text, len);
    *place = at;
    return at + len;
}

cascade_info *
csc_get_create(const cascade_row *row, const cascade_run_row *run)
{
    const char *queue = run != NULL ? run->queue : "";
    const char *needs = run != NULL && run->needs != NULL ? run->needs : "";
    const char *key =
        run != NULL && run->limit_key != NULL ? run->limit_key : "";
    bool paused = strcmp(needs, CSC_PAUSE_NAME) == 0;
    bool turn = strcmp(needs, CASCADE_NEEDS_TURN) == 0;
    size_t size = sizeof(cascade_info) + strlen(row->user_id) + strlen(queue) +
                  strlen(needs) + strlen(key) + 4;
    cascade_info *info = csc_mem_alloc(size);
    char *at;

    if (info == NULL)
        return NULL;
    at = (char *)(info + 1);
    *info = (cascade_info){.id = row->id,
                           .status = row->status,
                           .fn_id = row->fn_id,
                           .created_at_ms = row->created_at_ms,
                           .updated_at_ms = row->updated_at_ms,
                           .has_run = run != NULL};
    at = put_text(at, row->user_id, &info->user_id);
    at = put_text(at, queue, &info->queue);
    at = put_text(at, key, &info->limit_key);
    (void)put_text(at, paused || turn ? "" : needs, &info->needs);
    info->paused = paused;
    info->turn = turn;
    if (run == NULL)
        return info;
    info->priority = run->priority;
    info->wake_at_ms = run->wake_at_ms;
    info->owned = !csc_uuid_is_nil(&run->engine_id);
    info->engine_id = run->engine_id;
    info->takeovers = run->takeovers;
    info->trials = run->trial;
    return info;
}

void
cascade_info_free(cascade_info *info)
{
    csc_mem_free(info);
}

static cascade_err
note_info(void *context, const cascade_row *row, const cascade_run_row *run)
{
    cascade_info **info = context;

    csc_mem_free(*info);
    *info = csc_get_create(row, run);
    return *info != NULL ? CASCADE_OK : csc_fail_memory();
}

cascade_err
csc_get_read(cascade_store *store, const cascade_uuid *id, cascade_info **info)
{
    cascade_query query = {.id = id, .limit = 1};
    cascade_info *found = NULL;
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = csc_move_list(store, &query, note_info, &found);

    if (err == CASCADE_OK && found == NULL)
        err = csc_fail(CASCADE_ERR_NOT_FOUND, "there is no cascade %s",
                       cascade_uuid_format(id, text));
    if (err != CASCADE_OK) {
        csc_mem_free(found);
        return err;
    }
    *info = found;
    return CASCADE_OK;
}

cascade_err
csc_get_look(cascade_store *store, const cascade_uuid *id, bool *there)
{
    cascade_info *info = NULL;
    cascade_err err = csc_get_read(store, id, &info);

    *there = err == CASCADE_OK;
    cascade_info_free(info);
    return err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK : err;
}

cascade_err
cascade_get(cascade_store *store, const cascade_uuid *id, cascade_info **info)
{
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || id == NULL || info == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "get: an argument is NULL");
    err = csc_get_read(store, id, info);
    return err == CASCADE_OK ? csc_ok() : err;
}

/* ---- Waiting ------------------------------------------------------------ */

cascade_err
csc_get_pass(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

cascade_err
csc_get_check(const char *what, int64_t wait_ms)
{
    if (wait_ms >= -1)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID,
                    "%s: wait_ms is %lld; give 0 or more, or -1 for no limit",
                    what, (long long)wait_ms);
}

static int64_t
next_pause(int64_t look_ms)
{
    return look_ms * 2 < LOOK_MAX_MS ? look_ms * 2 : LOOK_MAX_MS;
}

cascade_err
csc_get_until(cascade_store *store, csc_watch *watch, int64_t timeout_ms,
              csc_look_fn look, void *context)
{
    int64_t end_ms = csc_clock_add(csc_clock_monotonic_ms(&csc_clock_system),
                                   timeout_ms < 0 ? INT64_MAX : timeout_ms);
    int64_t look_ms = LOOK_FIRST_MS;
    bool late = false;

    for (;;) {
        int64_t left = 0;
        cascade_err err = look(context, late);

        if (err != CASCADE_ERR_AGAIN)
            return err;
        left = csc_clock_left_ms(end_ms);
        if (left <= 0)
            return err;
        (void)csc_watch_wait(&store->watches, watch,
                             left < look_ms ? left : look_ms);
        late = look_ms == LOOK_MAX_MS;
        look_ms = next_pause(look_ms);
    }
}

/* A call of cascade_wait(). */
typedef struct waiting {
    cascade_store *store;
    csc_watch watch;
    bool held; /* by an engine of this handle, which tells the end */
    cascade_status status;
} waiting;

static cascade_err
note_status(void *context, const cascade_row *row)
{
    csc_watch_give(context, &row->id, row->status);
    return CASCADE_OK;
}

/* For all that want to know of a cascade at this moment. */
static void
look_for_all(cascade_store *store, const cascade_uuid *ids, size_t count)
{
    const cascade_load_sink sink = {.context = &store->watches,
                                    .on_cascade = note_status};

    csc_watch_done(&store->watches, csc_move_load(store, ids, count, 0, &sink));
}

static cascade_err
look_alone(waiting *w)
{
    cascade_info *info = NULL;
    cascade_err err = csc_get_read(w->store, &w->watch.id, &info);

    if (err != CASCADE_OK)
        return err;
    w->status = info->status;
    csc_mem_free(info);
    return CASCADE_OK;
}

/* One row of many may be at fault: then each looks alone. */
static cascade_err
look_with_others(waiting *w, int64_t timeout_ms)
{
    csc_watches *watches = &w->store->watches;
    cascade_uuid ids[CSC_WATCH_LOOK_MAX];
    size_t count = 0;
    csc_watch_look look = csc_watch_join(
        watches, &w->watch, timeout_ms < JOIN_MAX_MS ? timeout_ms : JOIN_MAX_MS,
        ids, &count, &w->status);
    cascade_err err = CASCADE_OK;

    if (look == CSC_WATCH_WANTED) {
        look_for_all(w->store, ids, count);
        look = csc_watch_take(watches, &w->watch, &w->status);
    }
    if (look == CSC_WATCH_FOUND)
        return CASCADE_OK;
    if (look == CSC_WATCH_NO_LOOK)
        return CASCADE_ERR_AGAIN;
    if (look == CSC_WATCH_FAILED)
        err = csc_watch_fail(watches);
    return err == CASCADE_OK || err == CASCADE_ERR_CORRUPT ? look_alone(w)
                                                           : err;
}

/* Whether it has ended: as it was told, or (`err`) as a look says. An end that
 * was told meanwhile counts, whatever the look says. */
static cascade_err
decide(waiting *w, cascade_err err)
{
    cascade_status told = csc_watch_ended(&w->store->watches, &w->watch);

    if (told != 0) {
        w->status = told;
        return CASCADE_OK;
    }
    return err == CASCADE_OK && w->status == CASCADE_RUNNING ? CASCADE_ERR_AGAIN
                                                             : err;
}

static cascade_err
look_ended(waiting *w, int64_t left_ms)
{
    cascade_err err = decide(w, CASCADE_ERR_AGAIN);

    w->held = false;
    if (err != CASCADE_ERR_AGAIN)
        return err;
    if (left_ms <= 0) /* the store has the last word */
        return decide(w, look_alone(w));
    w->held = csc_store_is_held(w->store, &w->watch.id);
    return w->held ? err : decide(w, look_with_others(w, left_ms));
}

/* While it is held there is nothing to look at, but whether it is still; and at
 * last the store: an end that others have seen is one, though the engine may
 * still be working in its commit. */
static cascade_err
wait_until_ended(waiting *w, int64_t timeout_ms)
{
    int64_t end_ms = csc_clock_add(csc_clock_monotonic_ms(&csc_clock_system),
                                   timeout_ms < 0 ? INT64_MAX : timeout_ms);
    int64_t look_ms = LOOK_FIRST_MS;

    for (;;) {
        int64_t left_ms = csc_clock_left_ms(end_ms);
        cascade_err err = look_ended(w, left_ms);
        int64_t pause_ms = w->held ? LOOK_MAX_MS : look_ms;

        if (err != CASCADE_ERR_AGAIN || left_ms <= 0)
            return err;
        left_ms = csc_clock_left_ms(end_ms);
        (void)csc_watch_wait(&w->store->watches, &w->watch,
                             left_ms < pause_ms ? left_ms : pause_ms);
        if (!w->held)
            look_ms = next_pause(look_ms);
    }
}

cascade_err
cascade_wait(cascade_store *store, const cascade_uuid *id, int64_t timeout_ms,
             cascade_status *status)
{
    waiting w = {.store = store};
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || id == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "wait: an argument is NULL");
    err = csc_store_refuse_within(store, "cascade_wait()");
    if (err == CASCADE_OK)
        err = csc_watch_begin(&store->watches, &w.watch, id);
    if (err != CASCADE_OK)
        return err;
    err = wait_until_ended(&w, timeout_ms);
    csc_watch_end(&store->watches, &w.watch);
    if (err == CASCADE_ERR_AGAIN)
        return csc_fail(CASCADE_ERR_TIMEOUT,
                        "the cascade has not ended within %lld ms",
                        (long long)timeout_ms);
    if (err != CASCADE_OK)
        return err;
    if (status != NULL)
        *status = w.status;
    return csc_ok();
}

/* ---- Listing ------------------------------------------------------------ */

struct cascade_page {
    cascade_info **infos;
    size_t count;
    size_t room;
    size_t unreadable;
};

static cascade_err
add_to_page(void *context, const cascade_row *row, const cascade_run_row *run)
{
    cascade_page *page = context;
    void *infos = page->infos;
    cascade_info *info = NULL;

    if (csc_mem_grow(&infos, &page->room, page->count + 1,
                     sizeof(cascade_info *)) != 0)
        return csc_fail_memory();
    page->infos = infos;
    info = csc_get_create(row, run);
    if (info == NULL)
        return csc_fail_memory();
    page->infos[page->count++] = info;
    return CASCADE_OK;
}

static cascade_err
count_fault(void *context, const cascade_fault *fault)
{
    (void)fault;
    ((cascade_page *)context)->unreadable++;
    return CASCADE_OK;
}

cascade_err
csc_get_check_filter(const char *what, const char *user_id, const char *node,
                     const char *queue, cascade_status status)
{
    cascade_err err = CASCADE_OK;

    if (user_id != NULL)
        err = csc_check_text("user id", user_id);
    if (err == CASCADE_OK && node != NULL)
        err = csc_check_text("node name", node);
    if (err == CASCADE_OK && queue != NULL)
        err = csc_check_name("queue", queue);
    if (err == CASCADE_OK && (status < 0 || status > CASCADE_ERROR))
        err =
            csc_fail(CASCADE_ERR_INVALID, "%s: there is no such status", what);
    return err;
}

static cascade_err
check_list(const cascade_list_options *o)
{
    if (o->limit > LIST_LIMIT_MAX)
        return csc_fail(CASCADE_ERR_INVALID,
                        "list: the limit is %zu; give at most %d, and go on "
                        "with `after`",
                        o->limit, LIST_LIMIT_MAX);
    return csc_get_check_filter("list", o->user_id, o->node, o->queue,
                                o->status);
}

/* Behind those that cannot be read it goes on, each time with a deadline of its
 * own. */
static cascade_err
fill_page(cascade_store *store, cascade_query *query, cascade_page *page)
{
    const size_t limit = query->limit;
    cascade_err err = CASCADE_OK;

    do {
        query->limit = limit - page->count;
        err = csc_move_list(store, query, add_to_page, page);
    } while (err == CASCADE_OK && query->place->more);
    return err;
}

cascade_err
cascade_list(cascade_store *store, const cascade_list_options *options,
             cascade_page **page)
{
    cascade_list_options known = {0};
    cascade_place place = {.more = false};
    cascade_query query = {
        .limit = LIST_LIMIT, .on_fault = count_fault, .place = &place};
    cascade_page *made = NULL;
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || page == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "list: an argument is NULL");
    err = csc_check_options("list options", options, &known, sizeof(known));
    if (err == CASCADE_OK)
        err = check_list(&known);
    if (err != CASCADE_OK)
        return err;
    query.user_id = known.user_id;
    query.status = known.status;
    query.node = known.node;
    query.after = known.after;
    query.queue = known.queue;
    query.updated_before_ms = known.updated_before_ms;
    if (known.limit != 0)
        query.limit = known.limit;
    made = csc_mem_zalloc(1, sizeof(*made));
    if (made == NULL)
        return csc_fail_memory();
    err = fill_page(store, &query, made);
    if (err != CASCADE_OK) {
        cascade_page_free(made);
        return err;
    }
    *page = made;
    return csc_ok();
}

size_t
cascade_page_count(const cascade_page *page)
{
    return page != NULL ? page->count : 0;
}

size_t
cascade_page_unreadable(const cascade_page *page)
{
    return page != NULL ? page->unreadable : 0;
}

const cascade_info *
cascade_page_get(const cascade_page *page, size_t index)
{
    return page != NULL && index < page->count ? page->infos[index] : NULL;
}

void
cascade_page_free(cascade_page *page)
{
    if (page == NULL)
        return;
    for (size_t i = 0; i < page->count; i++)
        csc_mem_free(page->infos[i]);
    csc_mem_free(page->infos);
    csc_mem_free(page);
}
