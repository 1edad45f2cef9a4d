/* SPDX-License-Identifier: MIT
 *
 * Snapshots: the state of one cascade as of a function_id, from its rows alone.
 *
 * STATE AS OF k (exclusive)
 *   rows with function_id < k; of these an execution has ended, and its events
 *   are visible, only when at < k: the commit that ended it came before k was
 *   spawned. One that ended later is shown RUNNING, as it was then. Rows of
 *   another program have no `at`: their own function_id counts. Now: all rows.
 *
 * A load hands over executions first, so each event can be judged by the `at`
 * of its writer. Events of others (state.h), and those whose writer has no row,
 * count by their own function_id.
 *
 * What a retry or a rerun has superseded is in the history, but counts no
 * more. As of k only such commands count that lie before k. A receipt comes
 * after what it supersedes: where the rows bring some, they are read once more
 * (supersede.h), in another look, and so on until nothing new was met.
 *
 * The Cascaide form of the context is made when it is asked for: see
 * context_text.h.
 */
#include "cascade/snapshot.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/search.h"
#include "base/data/tree.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/context_text.h"
#include "query/execution_info.h"
#include "state/full_output.h"
#include "state/result.h"
#include "state/supersede.h"
#include "store/move.h"
#include "store/store.h"

/* Behind every function_id and every `at` that rows can have. */
#define AS_OF_NOW CSC_COURSE_NOW

/* Made when it is asked for, of a snapshot that is not to be changed. */
typedef struct late_text {
    _Atomic(char *) text;
} late_text;

/* When an execution counts. */
typedef struct place {
    int32_t at;     /* its end; else its function_id */
    int32_t events; /* those that it wrote itself */
    int32_t early;  /* of others: so many are still to come */
} place;

struct cascade_snapshot {
    csc_arena arena;
    cascade_info *info;
    int64_t as_of;
    bool ui;
    cascade_execution_info *executions;
    place *places; /* beside executions */
    size_t count;
    size_t room;
    size_t place_room;
    size_t *parts[CASCADE_PART_ERRORS + 1]; /* indices; HISTORY has none */
    size_t part_counts[CASCADE_PART_ERRORS + 1];
    csc_tree keys; /* csc_context_key */
    char *context;
    late_text *cascaide_context;
    const char *result;
    csc_result_rank result_rank;
    const char *error;
    cascade_uuid continued_as; /* all zero: none */
    csc_course course;
};

/* ---- Executions --------------------------------------------------------- */

static cascade_err
grow_executions(cascade_snapshot *snapshot)
{
    void *executions = snapshot->executions;
    void *places = snapshot->places;

    if (csc_mem_grow(&executions, &snapshot->room, snapshot->count + 1,
                     sizeof(*snapshot->executions)) != 0)
        return csc_fail_memory();
    snapshot->executions = executions;
    if (csc_mem_grow(&places, &snapshot->place_room, snapshot->count + 1,
                     sizeof(*snapshot->places)) != 0)
        return csc_fail_memory();
    snapshot->places = places;
    return CASCADE_OK;
}

/* What follows for the cascade from an execution that has ended. */
static void
note_outcome(cascade_snapshot *snapshot, const cascade_execution_row *row,
             const csc_record *record, const cascade_execution_info *info)
{
    bool user = strncmp(row->node_name, CSC_RESERVED_PREFIX,
                        strlen(CSC_RESERVED_PREFIX)) != 0;

    if (info->superseded_by != CSC_COURSE_NONE)
        return;
    if (user && info->output != NULL &&
        csc_result_take(&snapshot->result_rank, record->is_result,
                        row->function_id))
        snapshot->result = info->output;
    if (row->status == CASCADE_EXECUTION_COMPLETED &&
        !csc_uuid_is_nil(&record->continued_as))
        snapshot->continued_as = record->continued_as;
    if (row->status == CASCADE_EXECUTION_FAILED && !record->continued &&
        snapshot->error == NULL)
        snapshot->error = info->error != NULL ? info->error : "";
}

/* The row as it was when the snapshot's place was spawned. */
static void
fill_execution(cascade_snapshot *snapshot, const cascade_execution_row *row,
               const csc_record *record, cascade_execution_info *info)
{
    bool now = snapshot->places[snapshot->count].at < snapshot->as_of;

    csc_execution_info_make(&snapshot->arena, row, record, now, info);
    info->superseded_by = csc_supersede_by(&snapshot->course, row->function_id);
    if (info->superseded_by == row->function_id)
        info->superseded_by = CSC_COURSE_NONE; /* it is being carried out */
    if (now && row->status != CASCADE_EXECUTION_RUNNING)
        note_outcome(snapshot, row, record, info);
}

static place
place_of(const cascade_execution_row *row, const csc_record *record)
{
    bool running = row->status == CASCADE_EXECUTION_RUNNING;
    place it = {.at = row->function_id, .events = INT32_MAX};

    if (!running && record->at != CSC_RECORD_NO_AT)
        it.at = record->at;
    if (!running)
        it.events = it.at;
    if (record->early != CSC_RECORD_NO_EARLY)
        it.early = record->early;
    else if (running)
        it.early = INT32_MAX;
    return it;
}

static cascade_err
on_execution(void *context, const cascade_execution_row *row)
{
    cascade_snapshot *snapshot = context;
    csc_record record;
    cascade_err err = CASCADE_OK;

    if (row->function_id >= snapshot->as_of)
        return CASCADE_OK;
    err = grow_executions(snapshot);
    if (err != CASCADE_OK)
        return err;
    csc_full_output_read(row, &record);
    err = csc_supersede_note(&snapshot->course, row, &record);
    if (err != CASCADE_OK)
        return err;
    snapshot->places[snapshot->count] = place_of(row, &record);
    fill_execution(snapshot, row, &record,
                   &snapshot->executions[snapshot->count]);
    snapshot->count++;
    return snapshot->arena.failed ? csc_fail_memory() : CASCADE_OK;
}

/* ---- Events ------------------------------------------------------------- */

static place *
find_place(const cascade_snapshot *snapshot, int32_t writer)
{
    size_t at = csc_search_i32(
        snapshot->executions, snapshot->count, sizeof(snapshot->executions[0]),
        offsetof(cascade_execution_info, function_id), writer);

    return at < snapshot->count &&
                   snapshot->executions[at].function_id == writer
               ? &snapshot->places[at]
               : NULL;
}

/* Whether its next event was there as of the snapshot's place. */
static bool
is_visible(cascade_snapshot *snapshot, int32_t writer)
{
    place *it = NULL;

    if (writer >= snapshot->as_of)
        return false;
    it = find_place(snapshot, writer);
    if (it != NULL && it->early > 0) {
        it->early--;
        return true;
    }
    return csc_supersede_by(&snapshot->course, writer) == CSC_COURSE_NONE &&
           (it == NULL || it->events < snapshot->as_of);
}

static csc_context_key *
get_key(cascade_snapshot *snapshot, const char *name)
{
    csc_context_key *key = csc_context_find(&snapshot->keys, name);

    if (key != NULL)
        return key;
    key = csc_arena_alloc(&snapshot->arena, 1, sizeof(*key));
    if (key == NULL)
        return NULL;
    key->name = csc_arena_strdup(&snapshot->arena, name);
    if (key->name == NULL)
        return NULL;
    csc_context_put(&snapshot->keys, key);
    return key;
}

static cascade_err
on_event(void *context, const cascade_event_row *row)
{
    cascade_snapshot *snapshot = context;
    csc_context_value value = {.when = {.created_at_us = row->created_at_us,
                                        .function_id = row->function_id},
                               .text = row->value};
    csc_context_key *key = NULL;

    if (!is_visible(snapshot, row->function_id))
        return CASCADE_OK;
    if (snapshot->ui && row->ui_value != NULL)
        value.text = row->ui_value;
    value.text = csc_arena_strdup(&snapshot->arena, value.text);
    key = value.text != NULL ? get_key(snapshot, row->key) : NULL;
    return key != NULL ? csc_context_add(key, &value) : csc_fail_memory();
}

/* ---- Parts -------------------------------------------------------------- */

static bool
is_in(const cascade_execution_info *info, cascade_part part)
{
    if (info->superseded_by != CSC_COURSE_NONE)
        return false;
    if (part == CASCADE_PART_ACTIVE)
        return info->status == CASCADE_EXECUTION_RUNNING;
    return info->error != NULL;
}

/* RUNNING rows of a cascade that has ended ended with it: they are not active.
 */
static cascade_err
index_part(cascade_snapshot *snapshot, cascade_part part)
{
    bool over = snapshot->as_of == AS_OF_NOW &&
                snapshot->info->status != CASCADE_RUNNING;
    size_t *list = NULL;
    size_t count = 0;

    if (part == CASCADE_PART_ACTIVE && over)
        return CASCADE_OK;
    list = csc_arena_alloc(&snapshot->arena, snapshot->count, sizeof(*list));
    if (list == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < snapshot->count; i++)
        if (is_in(&snapshot->executions[i], part))
            list[count++] = i;
    snapshot->parts[part] = list;
    snapshot->part_counts[part] = count;
    return CASCADE_OK;
}

static cascade_err
finish(cascade_snapshot *snapshot)
{
    cascade_err err = CASCADE_OK;

    csc_context_sort(&snapshot->keys);
    err = csc_context_text(&snapshot->keys, &snapshot->context);
    snapshot->cascaide_context =
        csc_mem_zalloc(1, sizeof(*snapshot->cascaide_context));
    if (snapshot->cascaide_context == NULL)
        err = csc_fail_memory();
    if (err == CASCADE_OK)
        err = index_part(snapshot, CASCADE_PART_ACTIVE);
    if (err == CASCADE_OK)
        err = index_part(snapshot, CASCADE_PART_ERRORS);
    snapshot->part_counts[CASCADE_PART_HISTORY] = snapshot->count;
    return err;
}

/* ---- Public ------------------------------------------------------------- */

static cascade_err
on_cascade(void *context, const cascade_row *row)
{
    cascade_snapshot *snapshot = context;

    /* The run members were read a moment before; these are of the load. */
    snapshot->info->status = row->status;
    snapshot->info->fn_id = row->fn_id;
    snapshot->info->updated_at_ms = row->updated_at_ms;
    return CASCADE_OK;
}

static cascade_err
read_options(const cascade_snapshot_options *given, cascade_snapshot *snapshot)
{
    cascade_snapshot_options known = {0};
    cascade_err err =
        csc_check_options("snapshot options", given, &known, sizeof(known));

    if (err == CASCADE_OK && known.as_of < 0 && !known.bounded)
        err = csc_fail(CASCADE_ERR_INVALID,
                       "snapshot: as_of is %d; give a function_id, or 0 for "
                       "now, or set `bounded` for one that is negative",
                       (int)known.as_of);
    snapshot->as_of =
        known.bounded || known.as_of != 0 ? known.as_of : AS_OF_NOW;
    snapshot->ui = known.ui;
    return err;
}

static void
free_keys(cascade_snapshot *snapshot)
{
    csc_tree_node *node = csc_tree_pluck(&snapshot->keys);

    for (; node != NULL; node = csc_tree_pluck(&snapshot->keys))
        csc_mem_free(CSC_TREE_ITEM(node, csc_context_key, by_name)->values);
}

static void
free_late(late_text *late)
{
    if (late != NULL)
        csc_mem_free(atomic_load(&late->text));
    csc_mem_free(late);
}

/* What a look has brought, before another one. */
static void
forget(cascade_snapshot *snapshot)
{
    free_keys(snapshot);
    csc_arena_clear(&snapshot->arena);
    snapshot->count = 0;
    snapshot->result = NULL;
    snapshot->result_rank = (csc_result_rank){.any = false};
    snapshot->error = NULL;
    snapshot->continued_as = (cascade_uuid){{0}};
}

static cascade_err
load(cascade_store *store, const cascade_uuid *id, cascade_snapshot *snapshot)
{
    cascade_load_sink sink = {.context = snapshot,
                              .on_cascade = on_cascade,
                              .on_execution = on_execution,
                              .on_event = on_event};
    cascade_err err = csc_get_read(store, id, &snapshot->info);
    bool again = err == CASCADE_OK;

    while (again && err == CASCADE_OK) {
        forget(snapshot);
        err = csc_move_load(
            store, id, 1, CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS, &sink);
        again = snapshot->course.grew;
        if (err == CASCADE_OK)
            err = csc_supersede_settle(&snapshot->course, snapshot->as_of);
    }
    return err == CASCADE_OK ? finish(snapshot) : err;
}

cascade_err
cascade_snapshot_load(cascade_store *store, const cascade_uuid *id,
                      const cascade_snapshot_options *options,
                      cascade_snapshot **snapshot)
{
    cascade_snapshot *made = NULL;
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || id == NULL || snapshot == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "snapshot: an argument is NULL");
    made = csc_mem_zalloc(1, sizeof(*made));
    if (made == NULL)
        return csc_fail_memory();
    err = read_options(options, made);
    if (err == CASCADE_OK)
        err = load(store, id, made);
    if (err != CASCADE_OK) {
        cascade_snapshot_free(made);
        return err;
    }
    *snapshot = made;
    return csc_ok();
}

void
cascade_snapshot_free(cascade_snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    free_keys(snapshot);
    csc_supersede_fini(&snapshot->course);
    csc_mem_free(snapshot->info);
    csc_mem_free(snapshot->executions);
    csc_mem_free(snapshot->places);
    csc_mem_free(snapshot->context);
    free_late(snapshot->cascaide_context);
    csc_arena_fini(&snapshot->arena);
    csc_mem_free(snapshot);
}

const cascade_info *
cascade_snapshot_info(const cascade_snapshot *snapshot)
{
    return snapshot != NULL ? snapshot->info : NULL;
}

size_t
cascade_snapshot_count(const cascade_snapshot *snapshot, cascade_part part)
{
    if (snapshot == NULL || part < CASCADE_PART_HISTORY ||
        part > CASCADE_PART_ERRORS)
        return 0;
    return snapshot->part_counts[part];
}

const cascade_execution_info *
cascade_snapshot_get(const cascade_snapshot *snapshot, cascade_part part,
                     size_t index)
{
    if (index >= cascade_snapshot_count(snapshot, part))
        return NULL;
    if (part != CASCADE_PART_HISTORY)
        index = snapshot->parts[part][index];
    return &snapshot->executions[index];
}

const char *
cascade_snapshot_context(const cascade_snapshot *snapshot)
{
    return snapshot != NULL ? snapshot->context : NULL;
}

/* Of several threads that make it at once, the first one's stays. */
const char *
cascade_snapshot_cascaide_context(const cascade_snapshot *snapshot)
{
    late_text *late = snapshot != NULL ? snapshot->cascaide_context : NULL;
    char *there = late != NULL ? atomic_load(&late->text) : NULL;
    char *made = NULL;

    if (late == NULL || there != NULL)
        return there;
    if (csc_context_text_cascaide(&snapshot->keys, &made) != CASCADE_OK)
        return NULL;
    if (atomic_compare_exchange_strong(&late->text, &there, made))
        return made;
    csc_mem_free(made);
    return there;
}

const char *
cascade_snapshot_result(const cascade_snapshot *snapshot)
{
    return snapshot != NULL ? snapshot->result : NULL;
}

const char *
cascade_snapshot_error(const cascade_snapshot *snapshot)
{
    return snapshot != NULL ? snapshot->error : NULL;
}

const cascade_uuid *
cascade_snapshot_continued_as(const cascade_snapshot *snapshot)
{
    return snapshot == NULL || csc_uuid_is_nil(&snapshot->continued_as)
               ? NULL
               : &snapshot->continued_as;
}
