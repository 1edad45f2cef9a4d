/* SPDX-License-Identifier: MIT
 *
 * What a store has besides cascades: engines, queues, counts, the schema. Each
 * call is one move of the store, of which the rows are copied; nothing is
 * changed, but by cascade_store_migrate().
 */
#include "query/engines.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/store.h"
#include "cascade/store_limits.h"
#include "query/capabilities.h"
#include "store/move.h"
#include "store/store.h"

/* ---- Engines ------------------------------------------------------------ */

struct cascade_engine_list {
    csc_arena arena; /* owns the texts */
    bool brief;      /* with those of single calls */
    cascade_engine_info *items;
    size_t count;
    size_t room;
};

static cascade_err
add_engine(void *context, const cascade_incarnation *row)
{
    cascade_engine_list *list = context;
    void *items = list->items;
    csc_about about;

    if (!list->brief && csc_uuid_is_brief(&row->engine_id))
        return CASCADE_OK;
    if (!csc_capabilities_decode(&list->arena, row->about, &about) ||
        csc_mem_grow(&items, &list->room, list->count + 1,
                     sizeof(*list->items)) != 0)
        return csc_fail_memory();
    list->items = items;
    list->items[list->count++] = (cascade_engine_info){
        .engine_id = row->engine_id,
        .host = csc_arena_strdup(&list->arena, row->host),
        .pid = row->pid,
        .started_at_ms = row->started_at_ms,
        .lease_left_ms = row->lease_ms,
        .lane_count = row->lane_count,
        .version = about.version,
        .queues = about.queues,
        .queue_count = about.queue_count,
        .nodes = about.nodes,
        .node_count = about.node_count,
    };
    return list->arena.failed ? csc_fail_memory() : CASCADE_OK;
}

static int
compare_engines(const void *left, const void *right)
{
    const cascade_engine_info *a = left;
    const cascade_engine_info *b = right;

    if (a->started_at_ms != b->started_at_ms)
        return a->started_at_ms < b->started_at_ms ? -1 : 1;
    return csc_uuid_compare(&a->engine_id, &b->engine_id);
}

cascade_err
csc_engines_read(cascade_store *store, bool brief, cascade_engine_list **list)
{
    cascade_engine_list *made = csc_mem_zalloc(1, sizeof(*made));
    cascade_err err = CASCADE_OK;

    if (made == NULL)
        return csc_fail_memory();
    made->brief = brief;
    err = csc_move_engines(store, add_engine, made, NULL);
    if (err != CASCADE_OK) {
        cascade_engine_list_free(made);
        return err;
    }
    if (made->count > 0)
        qsort(made->items, made->count, sizeof(*made->items), compare_engines);
    *list = made;
    return CASCADE_OK;
}

cascade_err
cascade_engine_list_load(cascade_store *store, cascade_engine_list **list)
{
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || list == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "engines: an argument is NULL");
    err = csc_engines_read(store, false, list);
    return err == CASCADE_OK ? csc_ok() : err;
}

size_t
cascade_engine_list_count(const cascade_engine_list *list)
{
    return list->count;
}

const cascade_engine_info *
cascade_engine_list_get(const cascade_engine_list *list, size_t index)
{
    return index < list->count ? &list->items[index] : NULL;
}

void
cascade_engine_list_free(cascade_engine_list *list)
{
    if (list == NULL)
        return;
    csc_mem_free(list->items);
    csc_arena_fini(&list->arena);
    csc_mem_free(list);
}

/* ---- Queues ------------------------------------------------------------- */

struct cascade_queue_list {
    csc_arena arena; /* owns the texts */
    cascade_queue_info *items;
    size_t count;
    size_t room;
    const char *last_limits; /* of a page of them: behind that one, */
    size_t limits;           /* and how many there were */
};

#define LIMITS_PAGE 1000

static cascade_err
add_queue(void *context, const cascade_queue_row *row)
{
    cascade_queue_list *list = context;
    csc_arena *arena = &list->arena;
    void *items = list->items;

    if (csc_mem_grow(&items, &list->room, list->count + 1,
                     sizeof(*list->items)) != 0)
        return csc_fail_memory();
    list->items = items;
    list->items[list->count++] = (cascade_queue_info){
        .name = csc_arena_strdup(arena, row->queue),
        .paused = row->paused,
        .paused_at_ms = row->paused_at_ms,
        .pause_request = csc_capabilities_member(arena, row->about, "request"),
        .pause_by = csc_capabilities_member(arena, row->about, "by"),
        .pause_reason = csc_capabilities_member(arena, row->about, "reason"),
        .owned = row->owned,
        .slots = row->slots,
        .due = row->due,
        .later = row->later,
        .needing = row->needing,
        .due_since_ms = row->due_since_ms,
        .limits_by = "",
        .limits_reason = "",
    };
    return arena->failed ? csc_fail_memory() : CASCADE_OK;
}

static cascade_queue_info *
find_queue(cascade_queue_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

/* It may be that of a queue in which nothing is. */
static cascade_err
add_limits(void *context, const cascade_limits_row *row)
{
    static const cascade_queue_row none = {.about = "{}",
                                           .paused_at_ms = CASCADE_TIME_NONE,
                                           .due_since_ms = CASCADE_TIME_NONE};
    cascade_queue_list *list = context;
    csc_arena *arena = &list->arena;
    cascade_queue_row empty = none;
    cascade_queue_info *info = find_queue(list, row->queue);
    cascade_err err = CASCADE_OK;

    empty.queue = row->queue;
    if (info == NULL)
        err = add_queue(list, &empty);
    if (err != CASCADE_OK)
        return err;
    if (info == NULL)
        info = &list->items[list->count - 1];
    info->limits_version = row->version;
    info->running_max = row->running_max;
    info->key_running_max = row->key_running_max;
    info->limits_by = csc_capabilities_member(arena, row->about, "by");
    info->limits_reason = csc_capabilities_member(arena, row->about, "reason");
    list->last_limits = info->name;
    list->limits++;
    return arena->failed ? csc_fail_memory() : CASCADE_OK;
}

/* A store without limits has none to tell. */
static cascade_err
read_limits(cascade_store *store, cascade_queue_list *list)
{
    cascade_err err = CASCADE_OK;

    list->last_limits = "";
    do {
        list->limits = 0;
        err = csc_move_list_limits(store, NULL, list->last_limits, LIMITS_PAGE,
                                   add_limits, list);
    } while (err == CASCADE_OK && list->limits == LIMITS_PAGE);
    return err == CASCADE_ERR_UNSUPPORTED ? csc_ok() : err;
}

static int
compare_queues(const void *a, const void *b)
{
    return strcmp(((const cascade_queue_info *)a)->name,
                  ((const cascade_queue_info *)b)->name);
}

cascade_err
cascade_queue_list_load(cascade_store *store, cascade_queue_list **list)
{
    cascade_queue_list *made = NULL;
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || list == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "queues: an argument is NULL");
    made = csc_mem_zalloc(1, sizeof(*made));
    if (made == NULL)
        return csc_fail_memory();
    err = csc_move_queues(store, add_queue, made);
    if (err == CASCADE_OK)
        err = read_limits(store, made);
    if (err == CASCADE_OK && made->count > 1)
        qsort(made->items, made->count, sizeof(made->items[0]), compare_queues);
    if (err != CASCADE_OK) {
        cascade_queue_list_free(made);
        return err;
    }
    *list = made;
    return csc_ok();
}

size_t
cascade_queue_list_count(const cascade_queue_list *list)
{
    return list->count;
}

const cascade_queue_info *
cascade_queue_list_get(const cascade_queue_list *list, size_t index)
{
    return index < list->count ? &list->items[index] : NULL;
}

void
cascade_queue_list_free(cascade_queue_list *list)
{
    if (list == NULL)
        return;
    csc_mem_free(list->items);
    csc_arena_fini(&list->arena);
    csc_mem_free(list);
}

/* ---- Counts ------------------------------------------------------------- */

cascade_err
cascade_counts_load(cascade_store *store, cascade_counts *counts)
{
    cascade_totals totals = {0};
    cascade_counts known;
    size_t size = 0;
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || counts == NULL || counts->size < sizeof(size_t))
        return csc_fail(CASCADE_ERR_INVALID,
                        "counts: give a store, and counts with their size set "
                        "to sizeof(cascade_counts)");
    err = csc_move_totals(store, &totals);
    if (err != CASCADE_OK)
        return err;
    known = (cascade_counts){.size = counts->size,
                             .running = totals.running,
                             .completed = totals.completed,
                             .failed = totals.failed,
                             .messages = totals.messages,
                             .erasing = totals.erasing};
    size = counts->size < sizeof(known) ? counts->size : sizeof(known);
    memcpy(counts, &known, size);
    return csc_ok();
}

/* ---- The schema --------------------------------------------------------- */

typedef struct migrations {
    cascade_migration *items;
    size_t room;
    size_t count; /* of those there are */
} migrations;

static cascade_err
add_migration(void *context, const cascade_migration_row *row)
{
    migrations *list = context;
    cascade_migration *item = NULL;
    size_t len = strlen(row->name);

    if (list->count++ >= list->room)
        return CASCADE_OK;
    item = &list->items[list->count - 1];
    *item = (cascade_migration){.number = row->number,
                                .applied_at_ms = row->applied_at_ms};
    if (len > sizeof(item->name) - 1)
        len = sizeof(item->name) - 1;
    memcpy(item->name, row->name, len);
    return CASCADE_OK;
}

cascade_err
cascade_migration_list(cascade_store *store, cascade_migration *items,
                       size_t room, size_t *count)
{
    migrations list = {.items = items, .room = room};
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || count == NULL || (items == NULL && room > 0))
        return csc_fail(CASCADE_ERR_INVALID, "migrations: an argument is NULL");
    err = csc_move_schema(store, add_migration, &list);
    if (err != CASCADE_OK)
        return err;
    *count = list.count;
    return csc_ok();
}

cascade_err
cascade_store_migrate(cascade_store *store)
{
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "migrate: store is NULL");
    err = csc_store_refuse_within(store, "cascade_store_migrate()");
    if (err == CASCADE_OK)
        err = csc_move_migrate(store, CASCADE_MIGRATE_AUTO);
    return err == CASCADE_OK ? csc_ok() : err;
}
