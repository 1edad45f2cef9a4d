/* SPDX-License-Identifier: MIT
 *
 * One look at one cascade.
 *
 *   BEGIN ---> FIRST ---> CHANGED ---> NEW ---> STATUS ---> over
 *     |                                                      ^
 *     +--- the row is as it was at the last look ------------+
 *
 * The row is read before the executions. So when it says that the cascade has
 * ended, all that is read behind it is final; and when the executions are ahead
 * of it, the next look finds another row, and in it nothing that was told.
 * What was RUNNING comes before what is new: so the function_ids ascend.
 *
 * That the row is the same means that nothing was committed since, but for one
 * case: two commits within a millisecond, neither of which adds an execution,
 * and the second of which comes behind the look. So a cascade that has changed
 * is looked at once more, AGAIN_MS later.
 *
 * Each step can be repeated after an error of the store: what was read is
 * noted only once it is told.
 */
#include "query/cursor/cursor.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/search.h"
#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/rows.h"
#include "cascade/snapshot.h"
#include "cascade/store.h"
#include "query/execution_info.h"
#include "state/full_output.h"
#include "store/move.h"
#include "store/store.h"

#define AGAIN_MS 1000
#define RUNNING_PAGE 1000

static int64_t
monotonic_ms(void)
{
    return csc_clock_monotonic_ms(&csc_clock_system);
}

/* ---- Prints ------------------------------------------------------------- */

/* FNV-1a. */
static uint64_t
mix(uint64_t print, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < len; i++)
        print = (print ^ at[i]) * UINT64_C(1099511628211);
    return print;
}

static uint64_t
mix_number(uint64_t print, int64_t number)
{
    return mix(print, &number, sizeof(number));
}

/* Of what makes it another one to those who follow it. A heartbeat changes
 * none of these. */
static uint64_t
print_of(const cascade_execution_row *row, const csc_record *record)
{
    uint64_t print = UINT64_C(14695981039346656037);

    print = mix_number(print, (int64_t)row->status);
    print = mix_number(print, record->attempts);
    print = mix_number(print, record->not_before_ms);
    print = mix_number(print, record->deadline_ms);
    print = mix(print, &record->token, sizeof(record->token));
    if (row->error != NULL)
        print = mix(print, row->error, strlen(row->error) + 1);
    return print;
}

/* ---- What is known ------------------------------------------------------ */

/* The place of `function_id`, or where it belongs. */
static size_t
place_of(const csc_follower *follower, int32_t function_id)
{
    return csc_search_i32(follower->known, follower->known_count,
                          sizeof(follower->known[0]),
                          offsetof(csc_known, function_id), function_id);
}

static csc_known *
find_known(const csc_follower *follower, int32_t function_id)
{
    size_t at = place_of(follower, function_id);

    return at < follower->known_count &&
                   follower->known[at].function_id == function_id
               ? &follower->known[at]
               : NULL;
}

static cascade_err
add_known(csc_follower *follower, const csc_known *known)
{
    size_t at = place_of(follower, known->function_id);
    void *items = follower->known;

    if (csc_mem_grow(&items, &follower->known_room, follower->known_count + 1,
                     sizeof(*known)) != 0)
        return csc_fail_memory();
    follower->known = items;
    memmove(&follower->known[at + 1], &follower->known[at],
            (follower->known_count - at) * sizeof(*known));
    follower->known[at] = *known;
    follower->known_count++;
    return CASCADE_OK;
}

static void
remove_known(csc_follower *follower, csc_known *known)
{
    size_t at = (size_t)(known - follower->known);

    follower->known_count--;
    memmove(known, known + 1, (follower->known_count - at) * sizeof(*known));
}

cascade_err
csc_cursor_know(csc_follower *follower, const cascade_execution_row *row)
{
    csc_known known = {.function_id = row->function_id};
    csc_record record;

    if (row->function_id > follower->last ||
        find_known(follower, row->function_id) != NULL)
        return CASCADE_OK;
    csc_full_output_read(row, &record);
    known.print = print_of(row, &record);
    return add_known(follower, &known);
}

void
csc_cursor_forget(csc_follower *follower)
{
    csc_mem_free(follower->known);
    follower->known = NULL;
    follower->known_count = 0;
    follower->known_room = 0;
}

/* ---- What is RUNNING ---------------------------------------------------- */

typedef cascade_err (*row_fn)(csc_follower *follower,
                              const cascade_execution_row *row);

typedef struct running {
    csc_follower *follower;
    row_fn note;
    int64_t from;
    size_t count; /* of the page */
} running;

static cascade_err
note_running(void *context, const cascade_execution_row *row)
{
    running *r = context;

    r->from = (int64_t)row->function_id + 1;
    r->count++;
    return row->function_id <= r->follower->last ? r->note(r->follower, row)
                                                 : CASCADE_OK;
}

/* Hands what is RUNNING, as far as it counts as told, to `note`. */
static cascade_err
read_running(cascade_store *store, csc_follower *follower, row_fn note)
{
    running r = {.follower = follower, .note = note, .from = INT32_MIN};
    cascade_load_sink sink = {.context = &r, .on_execution = note_running};
    cascade_scan scan = {.cascade_id = &follower->id,
                         .running_only = true,
                         .limit = RUNNING_PAGE};
    cascade_err err = CASCADE_OK;

    do {
        r.count = 0;
        scan.from = (int32_t)r.from;
        err = csc_move_scan(store, &scan, &sink);
    } while (err == CASCADE_OK && r.count == RUNNING_PAGE &&
             r.from <= follower->last);
    return err;
}

cascade_err
csc_cursor_know_running(cascade_store *store, csc_follower *follower)
{
    return read_running(store, follower, csc_cursor_know);
}

cascade_err
csc_cursor_skip(cascade_store *store, csc_follower *follower)
{
    cascade_info *info = NULL;
    cascade_err err = csc_get_read(store, &follower->id, &info);

    if (err != CASCADE_OK)
        return err;
    follower->told = true;
    follower->status = info->status;
    follower->fn_id = info->fn_id;
    follower->updated_at_ms = info->updated_at_ms;
    follower->last = info->fn_id;
    cascade_info_free(info);
    return csc_cursor_know_running(store, follower);
}

/* Whether it is as it was told. One that is RUNNING again is told, too. */
static cascade_err
compare(csc_follower *follower, const cascade_execution_row *row)
{
    csc_known *known = find_known(follower, row->function_id);
    csc_known fresh = {
        .function_id = row->function_id, .there = true, .due = true};
    csc_record record;

    if (known == NULL)
        return add_known(follower, &fresh);
    csc_full_output_read(row, &record);
    known->there = true;
    known->due = known->due || known->print != print_of(row, &record);
    return CASCADE_OK;
}

static cascade_err
find_changed(cascade_store *store, csc_follower *follower)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < follower->known_count; i++)
        follower->known[i].there = false;
    if (follower->last >= INT32_MIN)
        err = read_running(store, follower, compare);
    for (size_t i = 0; i < follower->known_count && err == CASCADE_OK; i++)
        if (!follower->known[i].there)
            follower->known[i].due = true;
    return err;
}

/* ---- Pages -------------------------------------------------------------- */

static cascade_err
note_row(void *context, const cascade_execution_row *row)
{
    cascade_cursor *cursor = context;
    size_t at = cursor->page_count;
    csc_record record;

    csc_full_output_read(row, &record);
    csc_execution_info_make(&cursor->arena, row, &record, true,
                            &cursor->page[at]);
    cursor->prints[at] = print_of(row, &record);
    cursor->page_count++;
    return cursor->arena.failed ? csc_fail_memory() : CASCADE_OK;
}

/* Up to `limit` executions of the cascade from there on. */
static cascade_err
read_page(cascade_cursor *cursor, int32_t from, size_t limit)
{
    cascade_load_sink sink = {.context = cursor, .on_execution = note_row};
    const cascade_scan scan = {
        .cascade_id = &cursor->now->id, .from = from, .limit = limit};
    cascade_err err = CASCADE_OK;

    csc_arena_clear(&cursor->arena);
    cursor->arena.failed = false;
    cursor->page_count = 0;
    cursor->page_at = 0;
    err = csc_move_scan(cursor->store, &scan, &sink);
    if (err != CASCADE_OK)
        cursor->page_count = 0;
    cursor->page_is_last = err == CASCADE_OK && cursor->page_count < limit;
    return err;
}

/* ---- News --------------------------------------------------------------- */

static cascade_err
tell_cascade(cascade_cursor *cursor)
{
    cursor->now->status = cursor->info->status;
    cursor->news = (cascade_news){.kind = CASCADE_CHANGE_CASCADE,
                                  .cascade_id = cursor->now->id,
                                  .status = cursor->info->status,
                                  .user_id = cursor->info->user_id};
    return CASCADE_OK;
}

static cascade_err
tell_execution(cascade_cursor *cursor, const cascade_execution_info *execution)
{
    cursor->news = (cascade_news){.kind = CASCADE_CHANGE_EXECUTION,
                                  .cascade_id = cursor->now->id,
                                  .status = cursor->info->status,
                                  .user_id = cursor->info->user_id,
                                  .execution = *execution};
    return CASCADE_OK;
}

/* The first one that was RUNNING and is due; AGAIN when there is none. */
static cascade_err
tell_changed(cascade_cursor *cursor)
{
    csc_follower *follower = cursor->now;
    size_t at = 0;

    while (at < follower->known_count) {
        csc_known *known = &follower->known[at];
        bool there = false;
        cascade_err err = CASCADE_OK;

        if (!known->due) {
            at++;
            continue;
        }
        err = read_page(cursor, known->function_id, 1);
        if (err != CASCADE_OK)
            return err;
        there = cursor->page_count == 1 &&
                cursor->page[0].function_id == known->function_id;
        cursor->page_at = cursor->page_count;
        known->due = false;
        known->print = cursor->prints[0];
        if (!there || cursor->page[0].status != CASCADE_EXECUTION_RUNNING)
            remove_known(follower, known);
        if (there)
            return tell_execution(cursor, &cursor->page[0]);
    }
    return CASCADE_ERR_AGAIN;
}

/* The next one above what was told; AGAIN when there is none. */
static cascade_err
tell_new(cascade_cursor *cursor)
{
    csc_follower *follower = cursor->now;
    const cascade_execution_info *execution = NULL;
    cascade_err err = CASCADE_OK;

    if (cursor->page_at == cursor->page_count) {
        int64_t from =
            follower->last < INT32_MIN ? INT32_MIN : follower->last + 1;

        if (cursor->page_is_last || from > INT32_MAX)
            return CASCADE_ERR_AGAIN;
        err = read_page(cursor, (int32_t)from, CSC_CURSOR_PAGE);
        if (err != CASCADE_OK)
            return err;
        if (cursor->page_count == 0)
            return CASCADE_ERR_AGAIN;
    }
    execution = &cursor->page[cursor->page_at];
    if (execution->status == CASCADE_EXECUTION_RUNNING)
        err = add_known(follower,
                        &(csc_known){.function_id = execution->function_id,
                                     .print = cursor->prints[cursor->page_at]});
    if (err != CASCADE_OK)
        return err;
    follower->last = execution->function_id;
    cursor->page_at++;
    return tell_execution(cursor, execution);
}

/* ---- A look ------------------------------------------------------------- */

bool
csc_cursor_has_changed(const csc_follower *follower, cascade_status status,
                       int32_t fn_id, int64_t updated_at_ms)
{
    return status != follower->status || fn_id != follower->fn_id ||
           updated_at_ms != follower->updated_at_ms ||
           (follower->again_ms != 0 && monotonic_ms() >= follower->again_ms);
}

void
csc_cursor_begin(cascade_cursor *cursor, csc_follower *follower)
{
    cursor->now = follower;
    cursor->step = CSC_CURSOR_BEGIN;
}

static void
end_look(cascade_cursor *cursor)
{
    cursor->now = NULL;
}

/* Reads the row; when that has changed, what is RUNNING. */
static cascade_err
begin_look(cascade_cursor *cursor)
{
    csc_follower *follower = cursor->now;
    cascade_info *info = NULL;
    cascade_err err = csc_get_read(cursor->store, &follower->id, &info);

    if (err == CASCADE_ERR_NOT_FOUND)
        end_look(cursor);
    if (err != CASCADE_OK)
        return err;
    cascade_info_free(cursor->info);
    cursor->info = info;
    if (!follower->due &&
        !csc_cursor_has_changed(follower, info->status, info->fn_id,
                                info->updated_at_ms)) {
        end_look(cursor);
        return CASCADE_ERR_AGAIN;
    }
    err = find_changed(cursor->store, follower);
    if (err != CASCADE_OK)
        return err;
    cursor->page_count = 0;
    cursor->page_at = 0;
    cursor->step = CSC_CURSOR_FIRST;
    return CASCADE_ERR_AGAIN;
}

/* Notes the row as looked at. */
static cascade_err
finish_look(cascade_cursor *cursor)
{
    csc_follower *follower = cursor->now;
    const cascade_info *info = cursor->info;

    if (follower->status != info->status)
        return tell_cascade(cursor);
    follower->again_ms = follower->fn_id != info->fn_id ||
                                 follower->updated_at_ms != info->updated_at_ms
                             ? monotonic_ms() + AGAIN_MS
                             : 0;
    follower->fn_id = info->fn_id;
    follower->updated_at_ms = info->updated_at_ms;
    follower->due = false;
    end_look(cursor);
    return CASCADE_ERR_AGAIN;
}

/* What one step finds; AGAIN when it has nothing (more) to tell. */
static cascade_err
take_step(cascade_cursor *cursor)
{
    switch (cursor->step) {
    case CSC_CURSOR_BEGIN:
        return begin_look(cursor);
    case CSC_CURSOR_FIRST:
        cursor->step = CSC_CURSOR_CHANGED;
        if (cursor->now->told)
            return CASCADE_ERR_AGAIN;
        cursor->now->told = true;
        return tell_cascade(cursor);
    case CSC_CURSOR_CHANGED:
        return tell_changed(cursor);
    case CSC_CURSOR_NEW:
        return tell_new(cursor);
    case CSC_CURSOR_STATUS:
        break;
    }
    return finish_look(cursor);
}

cascade_err
csc_cursor_follow(cascade_cursor *cursor)
{
    while (cursor->now != NULL) {
        csc_cursor_step step = cursor->step;
        cascade_err err = take_step(cursor);

        if (err != CASCADE_ERR_AGAIN)
            return err;
        if (step == CSC_CURSOR_CHANGED) {
            cursor->page_count = 0;
            cursor->page_at = 0;
            cursor->page_is_last = false;
        }
        if (step == CSC_CURSOR_CHANGED || step == CSC_CURSOR_NEW)
            cursor->step = step + 1;
    }
    return CASCADE_ERR_AGAIN;
}
