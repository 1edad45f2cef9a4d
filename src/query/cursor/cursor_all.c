/* SPDX-License-Identifier: MIT
 *
 * Following all cascades: which of them there are to look at.
 *
 *   round --> discover   executions by id, from a while before the last round
 *     ^   |              on: of cascades not met before, and of others news
 *     |   +-> compare    the rows of those that are followed, 1,000 at a time
 *     |          |
 *     +-- look at each that is due (cursor_one.c)
 *
 * DISCOVERING
 *   Ids of executions begin with the time at which they were made (version 7),
 *   which is a while before they are committed, by clocks that may differ. So
 *   each round begins NEAR_MS before the last one, and one in FAR_EVERY_MS
 *   begins FAR_MS before: what is committed later than that after its id was
 *   made is not discovered by itself, only with what follows in its cascade.
 *   Ids of other forms are passed over: what other programs write is seen in
 *   cascades that are followed.
 *   Which executions were told is known by their function_ids, so none is told
 *   twice. A cascade that has ended is remembered for as long as discovering
 *   meets its executions.
 *
 * WHAT CANNOT BE READ
 *   keeps nobody from the others. Discovering passes over the millisecond of
 *   such an execution. A cascade of which anything cannot be read is set aside
 *   as one that has ended: it is told from its beginning, as far as that can be
 *   read, with an execution that comes when it is forgotten.
 *
 * BOUNDS
 *   LOOKS_MAX rows are compared in a round, in turn: of more cascades that have
 *   not ended each is compared every few rounds. FOLLOWERS_MAX are remembered;
 *   then the tenth is forgotten that was met first: it is discovered again with
 *   its next execution, and told from its beginning.
 */
#include "query/cursor/cursor.h"

#include <string.h>

#include "base/clock.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/audit/faults.h"
#include "store/move.h"
#include "store/store.h"

#define NEAR_MS 2000
#define FAR_MS INT64_C(60000)
#define FAR_EVERY_MS 15000
#define AHEAD_MS 3600000 /* no id of ours was made that far in the future */
#define FOLLOWERS_MAX 100000
#define LOOKS_MAX 10000
#define PAGE 1000

/* ---- Followers ---------------------------------------------------------- */

static void
free_follower(csc_follower *follower)
{
    csc_cursor_forget(follower);
    csc_mem_free(follower);
}

/* Drops those that are gone. */
static void
sweep(csc_crowd *crowd)
{
    size_t kept = 0;

    for (size_t i = 0; i < crowd->count; i++) {
        csc_follower *follower = crowd->items[i];

        if (!follower->gone) {
            crowd->items[kept++] = follower;
            continue;
        }
        (void)csc_map_remove(&crowd->by_id, &follower->id);
        free_follower(follower);
    }
    crowd->count = kept;
}

static void
make_room(csc_crowd *crowd)
{
    if (crowd->count < FOLLOWERS_MAX)
        return;
    for (size_t i = 0; i < FOLLOWERS_MAX / 10; i++)
        crowd->items[i]->gone = true;
    sweep(crowd);
}

/* A new one, of which nothing was told; NULL when out of memory. */
static csc_follower *
add_follower(csc_crowd *crowd, const cascade_uuid *id)
{
    csc_follower *follower = NULL;
    void *items = crowd->items;

    make_room(crowd);
    if (csc_mem_grow(&items, &crowd->room, crowd->count + 1,
                     sizeof(csc_follower *)) != 0)
        return NULL;
    crowd->items = items;
    follower = csc_mem_zalloc(1, sizeof(*follower));
    if (follower == NULL || csc_map_put(&crowd->by_id, id, follower) != 0) {
        csc_mem_free(follower);
        return NULL;
    }
    follower->id = *id;
    follower->last = INT64_MIN;
    follower->due = true;
    crowd->items[crowd->count++] = follower;
    return follower;
}

/* Of what cannot be read. */
static void
set_aside(csc_follower *follower)
{
    csc_cursor_forget(follower);
    follower->ended = true;
    follower->ended_ms = 0;
    follower->gone = false;
    follower->due = false;
    follower->last = INT64_MAX;
}

/* ---- Discovering -------------------------------------------------------- */

typedef struct discovery {
    csc_crowd *crowd;
    int64_t now_ms;
    bool opening; /* what is met is old */
    bool beyond;  /* the ids are none of ours from here on */
    cascade_uuid after;
    size_t count; /* of the page */
} discovery;

/* The first id that could be made at that time. */
static cascade_uuid
first_id(int64_t at_ms)
{
    cascade_uuid id = {{0}};

    for (size_t i = 0; i < 6; i++)
        id.bytes[i] = (unsigned char)((uint64_t)at_ms >> (40 - 8 * i));
    return id;
}

static int64_t
time_of(const cascade_uuid *id)
{
    int64_t at_ms = 0;

    for (size_t i = 0; i < 6; i++)
        at_ms = at_ms << 8 | id->bytes[i];
    return at_ms;
}

static cascade_err
note_discovered(void *context, const cascade_execution_row *row)
{
    discovery *d = context;
    csc_follower *follower = csc_map_get(&d->crowd->by_id, &row->cascade_id);

    d->after = row->id;
    d->count++;
    d->beyond =
        d->beyond || time_of(&row->id) > csc_clock_add(d->now_ms, AHEAD_MS);
    if (d->beyond)
        return CASCADE_OK;
    if (follower == NULL) {
        follower = add_follower(d->crowd, &row->cascade_id);
        if (follower == NULL)
            return csc_fail_memory();
        follower->ended = d->opening;
        follower->due = !d->opening;
    }
    if (d->opening && row->function_id > follower->last)
        follower->last = row->function_id;
    if (row->function_id > follower->last)
        follower->due = true;
    return CASCADE_OK;
}

static cascade_err
note_nothing(void *context, const cascade_execution_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

/* Whether the first execution from that time on can be read, or there is none.
 */
static cascade_err
try_from(cascade_cursor *cursor, int64_t at_ms, bool *readable)
{
    const cascade_uuid after = first_id(at_ms);
    const cascade_load_sink sink = {.on_execution = note_nothing};
    const cascade_scan scan = {.after = &after, .limit = 1};
    cascade_err err = csc_move_scan(cursor->store, &scan, &sink);

    *readable = err == CASCADE_OK;
    return err == CASCADE_ERR_CORRUPT ? CASCADE_OK : err;
}

/* The first one behind d->after cannot be read. Seeks the time from which on
 * one can be, in steps that double, and then between the last two. */
static cascade_err
pass_over(cascade_cursor *cursor, discovery *d)
{
    const int64_t end_ms = csc_clock_add(d->now_ms, AHEAD_MS);
    int64_t low_ms = time_of(&d->after); /* not from there */
    int64_t high_ms = INT64_MAX;         /* but from there */
    int64_t step_ms = 1;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK &&
           (high_ms == INT64_MAX ? low_ms < end_ms : high_ms - low_ms > 1)) {
        int64_t at_ms =
            low_ms + (high_ms == INT64_MAX ? step_ms : (high_ms - low_ms) / 2);
        bool readable = false;

        err = try_from(cursor, at_ms, &readable);
        if (readable)
            high_ms = at_ms;
        else
            low_ms = at_ms;
        step_ms *= 2;
    }
    d->beyond = high_ms == INT64_MAX;
    if (!d->beyond)
        d->after = first_id(high_ms);
    return err;
}

static cascade_err
discover(cascade_cursor *cursor, int64_t from_ms, int64_t now_ms, bool opening)
{
    discovery d = {.crowd = &cursor->crowd,
                   .now_ms = now_ms,
                   .opening = opening,
                   .after = first_id(from_ms > 0 ? from_ms : 0)};
    cascade_load_sink sink = {.context = &d, .on_execution = note_discovered};
    cascade_scan scan = {.limit = PAGE};
    cascade_err err = CASCADE_OK;
    bool passes = false;

    do {
        cascade_uuid after = d.after;

        d.count = 0;
        scan.after = &after;
        err = csc_move_scan(cursor->store, &scan, &sink);
        passes = err == CASCADE_ERR_CORRUPT;
        if (passes)
            err = pass_over(cursor, &d);
    } while (err == CASCADE_OK && (passes || d.count == PAGE) && !d.beyond);
    return err;
}

/* ---- Comparing ---------------------------------------------------------- */

static cascade_err
note_row(void *context, const cascade_row *row)
{
    const csc_crowd *crowd = context;
    csc_follower *follower = csc_map_get(&crowd->by_id, &row->id);

    if (follower == NULL)
        return CASCADE_OK;
    follower->gone = false;
    if (csc_cursor_has_changed(follower, row->status, row->fn_id,
                               row->updated_at_ms))
        follower->due = true;
    return CASCADE_OK;
}

/* Of those whose rows are read together. */
typedef struct some {
    csc_follower *items[PAGE];
    cascade_uuid ids[PAGE];
    size_t count;
} some;

static void
add(some *page, csc_follower *follower)
{
    page->ids[page->count] = follower->id;
    page->items[page->count++] = follower;
}

/* One by one. */
static cascade_err
compare_each(cascade_cursor *cursor, const some *page,
             const cascade_load_sink *sink)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < page->count && err == CASCADE_OK; i++) {
        err = csc_move_load(cursor->store, &page->ids[i], 1, 0, sink);
        if (err != CASCADE_ERR_CORRUPT)
            continue;
        set_aside(page->items[i]);
        err = CASCADE_OK;
    }
    return err;
}

/* Those that have no row any more stay marked as gone. */
static cascade_err
compare_page(cascade_cursor *cursor, some *page)
{
    cascade_load_sink sink = {.context = &cursor->crowd,
                              .on_cascade = note_row};
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < page->count; i++)
        page->items[i]->gone = true;
    err = csc_move_load(cursor->store, page->ids, page->count, 0, &sink);
    if (err == CASCADE_ERR_CORRUPT)
        err = compare_each(cursor, page, &sink);
    for (size_t i = 0; i < page->count && err != CASCADE_OK; i++)
        page->items[i]->gone = false;
    page->count = 0;
    return err;
}

/* The rows of those that have not ended and are not due anyway, LOOKS_MAX of
 * them at most. */
static cascade_err
compare(cascade_cursor *cursor)
{
    csc_crowd *crowd = &cursor->crowd;
    some page;
    size_t looks = 0;
    cascade_err err = CASCADE_OK;

    page.count = 0;
    for (size_t i = 0;
         i < crowd->count && looks < LOOKS_MAX && err == CASCADE_OK; i++) {
        csc_follower *follower = crowd->items[crowd->turn++ % crowd->count];

        if (follower->ended || follower->due)
            continue;
        add(&page, follower);
        looks++;
        if (page.count == PAGE)
            err = compare_page(cursor, &page);
    }
    if (err == CASCADE_OK && page.count > 0)
        err = compare_page(cursor, &page);
    crowd->turn = crowd->count > 0 ? crowd->turn % crowd->count : 0;
    return err;
}

/* ---- Rounds ------------------------------------------------------------- */

/* What had ended long before discovering begins is not met any more. What was
 * looked at since the last round has ended by now. */
static void
drop_ended(csc_crowd *crowd, int64_t now_ms)
{
    for (size_t i = 0; i < crowd->count; i++) {
        csc_follower *follower = crowd->items[i];

        if (!follower->ended || follower->due)
            continue;
        if (follower->ended_ms == 0)
            follower->ended_ms = now_ms;
        follower->gone = follower->ended_ms < crowd->far_ms - 2 * FAR_MS;
    }
    sweep(crowd);
}

static cascade_err
make_round(cascade_cursor *cursor)
{
    csc_crowd *crowd = &cursor->crowd;
    int64_t now_ms = 0;
    bool far = false;
    cascade_err err = csc_move_now(cursor->store, &now_ms);

    if (err != CASCADE_OK)
        return err;
    far = now_ms - crowd->far_ms >= FAR_EVERY_MS;
    err = discover(cursor,
                   far ? crowd->far_ms - FAR_MS : crowd->looked_ms - NEAR_MS,
                   now_ms, false);
    if (err == CASCADE_OK)
        err = compare(cursor);
    if (err != CASCADE_OK)
        return err;
    if (far)
        crowd->far_ms = now_ms;
    crowd->looked_ms = now_ms;
    crowd->pick = 0;
    drop_ended(crowd, now_ms);
    return CASCADE_OK;
}

/* Begins a look at the next one that is due; false when there is none. */
static bool
pick(cascade_cursor *cursor)
{
    csc_crowd *crowd = &cursor->crowd;

    while (crowd->pick < crowd->count) {
        csc_follower *follower = crowd->items[crowd->pick++];

        if (!follower->due)
            continue;
        csc_cursor_begin(cursor, follower);
        return true;
    }
    return false;
}

/* The look at `follower` is over. */
static void
note_looked(csc_follower *follower, cascade_err err)
{
    if (err == CASCADE_ERR_NOT_FOUND) {
        follower->gone = true;
        follower->due = false;
        return;
    }
    if (err == CASCADE_ERR_CORRUPT) {
        set_aside(follower);
        return;
    }
    follower->ended = follower->status != CASCADE_RUNNING;
    follower->ended_ms = 0;
    if (follower->ended)
        follower->again_ms = 0; /* all of it was there */
}

/* All that is due, until there are news: AGAIN when all was looked at. */
static cascade_err
look_at_due(cascade_cursor *cursor)
{
    while (cursor->now != NULL || pick(cursor)) {
        csc_follower *follower = cursor->now;
        cascade_err err = csc_cursor_follow(cursor);

        if (err == CASCADE_ERR_CORRUPT)
            cursor->now = NULL;
        if (cursor->now != NULL)
            return err;
        note_looked(follower, err);
        if (err != CASCADE_ERR_AGAIN && err != CASCADE_ERR_NOT_FOUND &&
            err != CASCADE_ERR_CORRUPT)
            return err;
    }
    return CASCADE_ERR_AGAIN;
}

cascade_err
csc_cursor_follow_all(cascade_cursor *cursor)
{
    cascade_err err = look_at_due(cursor);

    if (err != CASCADE_ERR_AGAIN)
        return err;
    err = make_round(cursor);
    return err == CASCADE_OK ? look_at_due(cursor) : err;
}

/* ---- Opening ------------------------------------------------------------ */

typedef struct opening {
    csc_crowd *crowd;
    bool from_start;
    cascade_uuid after;
    size_t count; /* of the page */
} opening;

/* One that has not ended. */
static cascade_err
note_there(void *context, const cascade_row *row, const cascade_run_row *run)
{
    opening *o = context;
    csc_follower *follower = csc_map_get(&o->crowd->by_id, &row->id);

    (void)run;
    o->after = row->id;
    o->count++;
    if (follower == NULL)
        follower = add_follower(o->crowd, &row->id);
    if (follower == NULL)
        return csc_fail_memory();
    follower->ended = false;
    follower->told = !o->from_start;
    follower->due = o->from_start;
    follower->status = row->status;
    follower->fn_id = row->fn_id;
    follower->updated_at_ms = row->updated_at_ms;
    follower->last = o->from_start ? INT64_MIN : row->fn_id;
    return CASCADE_OK;
}

static cascade_err
list_there(cascade_cursor *cursor, bool from_start)
{
    opening o = {.crowd = &cursor->crowd, .from_start = from_start};
    cascade_place place = {.more = false};
    cascade_query query = {.status = CASCADE_RUNNING,
                           .limit = PAGE,
                           .on_fault = csc_faults_pass,
                           .place = &place};
    cascade_uuid after;
    cascade_err err = CASCADE_OK;

    do {
        o.count = 0;
        err = csc_move_list(cursor->store, &query, note_there, &o);
        after = o.after;
        query.after = &after;
    } while (err == CASCADE_OK && (o.count == PAGE || place.more));
    return err;
}

static cascade_err
note_running(void *context, const cascade_execution_row *row)
{
    opening *o = context;
    csc_follower *follower = csc_map_get(&o->crowd->by_id, &row->cascade_id);

    o->after = row->id;
    o->count++;
    return follower != NULL && !follower->ended ? csc_cursor_know(follower, row)
                                                : CASCADE_OK;
}

/* Each by itself. */
static cascade_err
know_each(cascade_cursor *cursor)
{
    csc_crowd *crowd = &cursor->crowd;
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < crowd->count && err == CASCADE_OK; i++) {
        csc_follower *follower = crowd->items[i];

        if (follower->ended)
            continue;
        err = csc_cursor_know_running(cursor->store, follower);
        if (err != CASCADE_ERR_CORRUPT)
            continue;
        set_aside(follower);
        err = CASCADE_OK;
    }
    return err;
}

/* What of them is RUNNING counts as told. */
static cascade_err
know_running(cascade_cursor *cursor)
{
    opening o = {.crowd = &cursor->crowd};
    cascade_load_sink sink = {.context = &o, .on_execution = note_running};
    cascade_uuid after;
    cascade_scan scan = {.running_only = true, .limit = PAGE};
    cascade_err err = CASCADE_OK;

    do {
        o.count = 0;
        err = csc_move_scan(cursor->store, &scan, &sink);
        after = o.after;
        scan.after = &after;
    } while (err == CASCADE_OK && o.count == PAGE);
    return err == CASCADE_ERR_CORRUPT ? know_each(cursor) : err;
}

cascade_err
csc_cursor_open_all(cascade_cursor *cursor, bool from_start)
{
    csc_crowd *crowd = &cursor->crowd;
    int64_t now_ms = 0;
    cascade_err err = csc_move_now(cursor->store, &now_ms);

    if (err == CASCADE_OK)
        err = discover(cursor, now_ms - FAR_MS, now_ms, true);
    if (err == CASCADE_OK)
        err = list_there(cursor, from_start);
    if (err == CASCADE_OK && !from_start)
        err = know_running(cursor);
    crowd->looked_ms = now_ms;
    crowd->far_ms = now_ms;
    return err;
}

void
csc_cursor_close_all(csc_crowd *crowd)
{
    for (size_t i = 0; i < crowd->count; i++)
        free_follower(crowd->items[i]);
    csc_mem_free(crowd->items);
    csc_map_fini(&crowd->by_id);
}
