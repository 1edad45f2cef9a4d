/* SPDX-License-Identifier: MIT
 *
 * See link.h.
 */
#include "query/link.h"

#include <stdio.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/error.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/execution_info.h"
#include "state/full_output.h"
#include "store/move.h"
#include "store/store.h"

#define PAGE_ROWS 1000
#define PAGE_BYTES (1 << 20)
#define TURNS_MAX 10 /* each one means that a run was deleted meanwhile */

/* ---- Which have continued ------------------------------------------------ */

/* What was entered of the root of each, in `arena`. */
static cascade_err
find_roots(cascade_store *store, csc_arena *arena, const cascade_link *runs,
           size_t count, cascade_found **found)
{
    const char **paths = csc_arena_alloc(arena, count, sizeof(*paths));
    char *ids = csc_arena_alloc(arena, count, CASCADE_UUID_TEXT_SIZE);

    *found = csc_arena_alloc(arena, count, sizeof(**found));
    if (arena->failed)
        return csc_fail_memory();
    for (size_t i = 0; i < count; i++)
        paths[i] = cascade_uuid_format(&runs[i].root,
                                       ids + i * CASCADE_UUID_TEXT_SIZE);
    return csc_move_find(store, paths, count, *found);
}

static void
note_found(cascade_link *run, const cascade_found *found)
{
    bool continued =
        !csc_uuid_is_nil(&found->root) && found->run_number > run->run_number;

    run->next = continued ? found->id : (cascade_uuid){{0}};
    run->next_number = continued ? found->run_number : 0;
}

cascade_err
csc_link_look(cascade_store *store, cascade_link *runs, size_t count)
{
    csc_arena arena = {0};
    cascade_found *found = NULL;
    cascade_err err = find_roots(store, &arena, runs, count, &found);

    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        note_found(&runs[i], &found[i]);
    csc_arena_fini(&arena);
    return err;
}

typedef struct seeking {
    cascade_link *run;
    int32_t behind; /* the last execution */
} seeking;

static cascade_err
note_next(void *context, const cascade_execution_row *row)
{
    seeking *s = context;
    csc_record record;

    s->behind = row->function_id + 1;
    if (row->status != CASCADE_EXECUTION_COMPLETED)
        return CASCADE_OK;
    csc_full_output_read(row, &record);
    if (csc_uuid_is_nil(&record.continued_as))
        return CASCADE_OK;
    s->run->next = record.continued_as;
    s->run->next_number = s->run->run_number + 1;
    return CASCADE_OK;
}

cascade_err
csc_link_seek(cascade_store *store, cascade_link *run, int32_t *from,
              bool *more)
{
    seeking s = {.run = run, .behind = *from};
    const cascade_load_sink sink = {.context = &s, .on_execution = note_next};
    const cascade_scan scan = {.cascade_id = &run->id,
                               .from = *from,
                               .limit = PAGE_ROWS,
                               .bytes_max = PAGE_BYTES};
    cascade_err err = csc_move_scan(store, &scan, &sink);

    if (err != CASCADE_OK)
        return err;
    *more = csc_uuid_is_nil(&run->next) && s.behind > *from;
    *from = s.behind;
    return CASCADE_OK;
}

/* ---- Before it is deleted ------------------------------------------------ */

cascade_err
csc_link_keep(cascade_store *store, const cascade_link *run)
{
    if (csc_uuid_is_nil(&run->next))
        return CASCADE_OK;
    return csc_move_link(store, run);
}

cascade_err
csc_link_keep_found(cascade_store *store, cascade_link *run)
{
    cascade_err err = csc_link_look(store, run, 1);

    if (err != CASCADE_OK || csc_uuid_equal(&run->id, &run->root))
        return err;
    return csc_link_keep(store, run);
}

/* ---- Beginning ----------------------------------------------------------- */

static cascade_err
enter(cascade_store *store, const cascade_link *run)
{
    const cascade_link chain = {.id = run->root,
                                .root = run->root,
                                .next = run->id,
                                .next_number = run->run_number};

    return csc_move_link(store, &chain);
}

cascade_err
csc_link_behind(cascade_store *store, const cascade_link *runs, size_t count,
                bool *behind)
{
    csc_arena arena = {0};
    cascade_found *found = NULL;
    cascade_err err =
        count > 0 ? find_roots(store, &arena, runs, count, &found) : CASCADE_OK;

    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        behind[i] = csc_uuid_is_nil(&found[i].root) ||
                    found[i].run_number < runs[i].run_number;
    csc_arena_fini(&arena);
    return err;
}

cascade_err
csc_link_enter(cascade_store *store, const cascade_link *run)
{
    bool behind = false;
    cascade_err err = csc_link_behind(store, run, 1, &behind);

    return behind ? enter(store, run) : err;
}

static cascade_err
find_last(cascade_store *store, const cascade_uuid *id, cascade_found *found)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    const char *path = cascade_uuid_format(id, text);

    return csc_move_find(store, &path, 1, found);
}

static cascade_err
sweep_chain(cascade_store *store, const cascade_uuid *root)
{
    cascade_uuid cursor = {{0}};
    bool more = true;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && more)
        err = csc_move_sweep(store, root, 1, &cursor, &more);
    return err;
}

static cascade_err
fail_taken(const cascade_link *run, const cascade_found *last, const char *what)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char text[CASCADE_UUID_TEXT_SIZE];

    return csc_fail(CASCADE_ERR_REFUSED,
                    "%s: cascade %s has continued as new, and was deleted "
                    "since; what is sent to it comes to the last run, %s: use "
                    "that, or another id",
                    what, cascade_uuid_format(&run->id, id),
                    cascade_uuid_format(&last->id, text));
}

cascade_err
csc_link_begin(cascade_store *store, const cascade_link *run, bool ended,
               const char *what)
{
    cascade_found last = {.run_number = 0};
    bool there = false;
    cascade_err err = find_last(store, &run->root, &last);

    if (err != CASCADE_OK || csc_uuid_is_nil(&last.root) ||
        csc_uuid_equal(&last.id, &run->id))
        return err;
    err = csc_get_look(store, &last.id, &there);
    if (err == CASCADE_OK && !there)
        return sweep_chain(store, &run->root);
    if (err != CASCADE_OK || ended || last.run_number <= run->run_number)
        return err;
    err = csc_get_look(store, &run->id, &there);
    return err == CASCADE_OK && !there ? fail_taken(run, &last, what) : err;
}

cascade_err
csc_link_begin_first(cascade_store *store, const cascade_uuid *id,
                     const char *what)
{
    const cascade_link run = {.id = *id, .root = *id, .run_number = 1};

    return csc_link_begin(store, &run, false, what);
}

/* ---- Sending on ---------------------------------------------------------- */

static cascade_err
turn(cascade_store *store, csc_link_way *way, bool *again)
{
    cascade_found found;
    cascade_err err = find_last(store, &way->run, &found);

    if (err != CASCADE_OK || csc_uuid_is_nil(&found.root) ||
        csc_uuid_equal(&found.id, &way->run))
        return err;
    way->run = found.id;
    way->turns++;
    *again = true;
    return CASCADE_OK;
}

cascade_err
csc_link_turn(cascade_store *store, cascade_err sent_err, cascade_sent sent,
              csc_link_way *way, bool *again)
{
    bool looks = sent_err == CASCADE_OK && sent == CASCADE_SENT_ABSENT &&
                 way->turns < TURNS_MAX;
    cascade_err err = sent_err;

    *again = false;
    if (looks)
        err = turn(store, way, again);
    if (err == CASCADE_OK || (!looks && way->turns == 0))
        return err;
    return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                    "the cascade is not there, and it is not known whether a "
                    "later run of it was reached: %s",
                    cascade_errmsg());
}

cascade_err
csc_link_fail_absent(cascade_store *store, const cascade_uuid *id)
{
    char text[256];
    char last[CASCADE_UUID_TEXT_SIZE];
    csc_link_way way = {.run = *id};
    bool leads = false;

    (void)snprintf(text, sizeof(text), "%s", cascade_errmsg());
    if (turn(store, &way, &leads) != CASCADE_OK || !leads)
        return csc_fail(CASCADE_ERR_NOT_FOUND, "%s", text);
    return csc_fail(CASCADE_ERR_NOT_FOUND,
                    "%s: it has continued as new, and was deleted since; what "
                    "is sent to it comes to the last run, %s",
                    text, cascade_uuid_format(&way.run, last));
}
