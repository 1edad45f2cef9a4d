/* SPDX-License-Identifier: MIT
 *
 * Retention: see purge.h. cascade_purge() makes one pass in the calling thread,
 * and erases there what is marked (S41 of store.h), so that nothing is left
 * where no engine runs; engines make passes of their own, see retention.c.
 */
#include "query/audit/purge.h"

#include "base/check.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/audit/erasure.h"
#include "query/execution_info.h"
#include "query/link.h"
#include "query/start_records.h"
#include "state/start_record.h"
#include "store/move.h"
#include "store/store.h"

/* Of a batch, by fn_id, unless one cascade has more: what goes at once. */
#define BATCH_EXECUTIONS CASCADE_DELETE_ROWS_MAX
#define CHECKS_MAX 20     /* of runs among others, in a portion */
#define WAITING_MAX 10000 /* more are left to the next pass */
#define SWEEP_ROOTS 1000  /* that are looked at in a portion */
#define AGE_MAX_MS INT64_C(3153600000000) /* 100 years */

int64_t
csc_purge_before(int64_t now_ms, int64_t age_ms)
{
    int64_t before_ms = now_ms - age_ms + 1;

    if (age_ms < 0)
        return CASCADE_TIME_NONE;
    return before_ms > 0 ? before_ms : 1; /* 0 would be any time */
}

static int64_t
before_of(const csc_purge *purge, cascade_status status)
{
    switch (status) {
    case CASCADE_COMPLETED:
        return purge->completed_before_ms;
    case CASCADE_ERROR:
        return purge->failed_before_ms;
    case CASCADE_RUNNING:
        break;
    }
    return CASCADE_TIME_NONE;
}

/* ---- Pages -------------------------------------------------------------- */

static cascade_err
note_row(void *context, const cascade_row *row, const cascade_run_row *run)
{
    csc_purge *purge = context;

    purge->listed++;
    purge->after = row->id;
    if (run == NULL && row->status == purge->status &&
        row->updated_at_ms < before_of(purge, purge->status))
        purge->rows[purge->count++] = (csc_purge_row){
            .id = row->id,
            .fn_id = row->fn_id,
            .link = {.id = row->id, .root = row->id, .run_number = 1}};
    return CASCADE_OK;
}

/* What cannot be read stays. Each status has a pass of its own, and this is in
 * all of them: it is counted once. */
static cascade_err
note_fault(void *context, const cascade_fault *fault)
{
    csc_purge *purge = context;

    (void)fault;
    if (purge->status == purge->first)
        purge->total.failed++;
    return CASCADE_OK;
}

/* Of what cannot be read it is not known what it belongs to: it stays. */
static void
note_family(void *context, size_t at, csc_family_state state, csc_meta *meta)
{
    csc_purge_row *row = &((csc_purge *)context)->rows[at];

    row->previous = meta->previous;
    row->link.run_number = meta->run_number;
    if (!csc_uuid_is_nil(&meta->root))
        row->link.root = meta->root;
    row->child = !csc_uuid_is_nil(&meta->parent);
    row->unreadable = state == CSC_FAMILY_UNREADABLE;
    csc_start_record_fini(meta);
}

static cascade_err
read_families(csc_purge *purge)
{
    cascade_uuid ids[CSC_PURGE_PAGE];

    for (size_t i = 0; i < purge->count; i++)
        ids[i] = purge->rows[i].id;
    return csc_start_records_read(purge->store, ids, purge->count, note_family,
                                  purge);
}

/* Which of them have continued as new. */
static cascade_err
read_links(csc_purge *purge)
{
    cascade_link links[CSC_PURGE_PAGE];
    cascade_err err = CASCADE_OK;

    if (purge->status != CASCADE_COMPLETED || purge->count == 0)
        return CASCADE_OK;
    for (size_t i = 0; i < purge->count; i++)
        links[i] = purge->rows[i].link;
    err = csc_link_look(purge->store, links, purge->count);
    for (size_t i = 0; i < purge->count && err == CASCADE_OK; i++)
        purge->rows[i].link = links[i];
    return err;
}

/* The next status that is asked for; false when there is none. */
static bool
begin_status(csc_purge *purge)
{
    cascade_status status = purge->status;

    do {
        if (status == CASCADE_ERROR)
            return false;
        status =
            status == CASCADE_COMPLETED ? CASCADE_ERROR : CASCADE_COMPLETED;
    } while (before_of(purge, status) == CASCADE_TIME_NONE);
    if (purge->first == 0)
        purge->first = status;
    purge->status = status;
    purge->after = (cascade_uuid){{0}};
    purge->place.more = false;
    purge->last = false;
    return true;
}

/* No index leads to what was written long ago: a list that asked for that
 * might walk over all cascades to find a few. */
static cascade_err
read_page(csc_purge *purge)
{
    const cascade_uuid after = purge->after;
    const cascade_query query = {.after =
                                     csc_uuid_is_nil(&after) ? NULL : &after,
                                 .limit = CSC_PURGE_PAGE,
                                 .on_fault = note_fault,
                                 .place = &purge->place};
    cascade_err err = CASCADE_OK;

    purge->listed = 0;
    purge->count = 0;
    purge->at = 0;
    err = csc_move_list(purge->store, &query, note_row, purge);
    if (err != CASCADE_OK)
        return err;
    purge->total.seen += (int64_t)purge->count;
    purge->last = purge->listed < CSC_PURGE_PAGE && !purge->place.more;
    if (purge->count > 0)
        err = read_families(purge);
    if (purge->count > 0 && err == CASCADE_OK)
        err = read_links(purge);
    return err;
}

/* ---- Runs among others -------------------------------------------------- */

/* Whether the run before is there, and is to be deleted itself. */
static cascade_err
look_before(const csc_purge *purge, const csc_purge_row *row, bool *there,
            bool *goes)
{
    cascade_info *info = NULL;
    cascade_err err = CASCADE_OK;

    *there = false;
    *goes = false;
    if (csc_uuid_is_nil(&row->previous))
        return CASCADE_OK;
    err = csc_get_read(purge->store, &row->previous, &info);
    *there = err == CASCADE_OK;
    if (*there)
        *goes = before_of(purge, info->status) != CASCADE_TIME_NONE &&
                info->updated_at_ms < before_of(purge, info->status);
    cascade_info_free(info);
    return err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK : err;
}

static cascade_err
make_wait(csc_purge *purge, const csc_purge_row *row)
{
    csc_purge_row *copy = NULL;

    if (purge->waiting.count >= WAITING_MAX ||
        csc_map_get(&purge->waiting, &row->previous) != NULL)
        return CASCADE_OK;
    copy = csc_mem_alloc(sizeof(*copy));
    if (copy == NULL)
        return csc_fail_memory();
    *copy = *row;
    if (csc_map_put(&purge->waiting, &row->previous, copy) == 0)
        return CASCADE_OK;
    csc_mem_free(copy);
    return csc_fail_memory();
}

/* The status of a later run; 0: it is not there. */
static cascade_err
read_status(const csc_purge *purge, const cascade_uuid *id,
            cascade_status *status)
{
    cascade_info *info = NULL;
    cascade_err err = csc_get_read(purge->store, id, &info);

    *status = err == CASCADE_OK ? info->status : (cascade_status)0;
    cascade_info_free(info);
    return err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK : err;
}

/* From one that has ended to the next, a page of its records. What was not
 * entered is by now, so that the other runs of the chain need not walk. */
static cascade_err
walk_on(csc_purge *purge, csc_purge_walk *walk)
{
    bool more = true;
    cascade_err err =
        csc_link_seek(purge->store, &walk->run, &walk->read, &more);

    if (err != CASCADE_OK || more)
        return err;
    walk->over = csc_uuid_is_nil(&walk->run.next);
    if (walk->over)
        return walk->hops > 0 ? csc_link_enter(purge->store, &walk->run)
                              : CASCADE_OK;
    walk->run = (cascade_link){.id = walk->run.next,
                               .root = walk->run.root,
                               .run_number = walk->run.next_number};
    walk->hops++;
    walk->met = false;
    return CASCADE_OK;
}

/* One read on the way to the last run of those that it leads to. */
static cascade_err
walk_one(csc_purge *purge, csc_purge_walk *walk)
{
    cascade_status status = 0;
    cascade_err err = CASCADE_OK;

    if (walk->met)
        return walk_on(purge, walk);
    err = read_status(purge, &walk->run.id, &status);
    walk->met = true;
    walk->read = 0;
    walk->running = status == CASCADE_RUNNING;
    walk->over = status != CASCADE_COMPLETED;
    if (err == CASCADE_OK && walk->running && walk->hops > 0)
        err = csc_link_enter(purge->store, &walk->run);
    return err;
}

/* Whether it leads to a run that goes on, as far as the portion goes. */
static cascade_err
find_last(csc_purge *purge, csc_purge_row *row, int *checks, bool *more)
{
    csc_purge_walk *walk = &row->walk;
    cascade_err err = CASCADE_OK;

    if (csc_uuid_is_nil(&walk->run.id))
        walk->run = (cascade_link){.id = row->link.next,
                                   .root = row->link.root,
                                   .run_number = row->link.next_number};
    while (err == CASCADE_OK && !walk->over && (*checks)++ < CHECKS_MAX)
        err = walk_one(purge, walk);
    *more = err == CASCADE_OK && !walk->over;
    return err;
}

/* Of what has no link to a later run the records tell. */
static cascade_err
seek_next(csc_purge *purge, csc_purge_row *row, int *checks, bool *more)
{
    cascade_err err = CASCADE_OK;

    *more = csc_uuid_is_nil(&row->link.next);
    while (err == CASCADE_OK && *more && (*checks)++ < CHECKS_MAX)
        err = csc_link_seek(purge->store, &row->link, &row->read, more);
    if (err == CASCADE_OK && !*more)
        row->sought = true;
    return err;
}

/* Whether one that is among others may be deleted now: not where the run before
 * it or a parent finds one that goes on by it. */
static cascade_err
check_row(csc_purge *purge, csc_purge_row *row, int *checks, bool *may,
          bool *more)
{
    bool there = false;
    bool waits = false;
    cascade_err err = look_before(purge, row, &there, &waits);

    (*checks)++;
    *may = false;
    if (err != CASCADE_OK)
        return err;
    if (waits)
        return make_wait(purge, row);
    *may = true;
    if (!(row->child || there) || purge->status != CASCADE_COMPLETED)
        return CASCADE_OK;
    if (!row->sought)
        err = seek_next(purge, row, checks, more);
    if (err != CASCADE_OK || *more || csc_uuid_is_nil(&row->link.next))
        return err;
    err = find_last(purge, row, checks, more);
    *may = !row->walk.running;
    return err;
}

/* ---- Batches ------------------------------------------------------------ */

/* Those that waited for what is gone come next, in front of the rest of the
 * page: what is decided leaves room there. */
static void
release_waiting(csc_purge *purge)
{
    for (size_t i = 0; i < purge->batch_count; i++) {
        csc_purge_row *row = csc_map_remove(&purge->waiting, &purge->batch[i]);

        if (row == NULL)
            continue;
        purge->rows[--purge->at] = *row;
        csc_mem_free(row);
    }
}

static cascade_err
delete_batch(csc_purge *purge)
{
    size_t deleted = 0;
    cascade_err err = CASCADE_OK;

    if (purge->batch_count == 0)
        return CASCADE_OK;
    err = csc_move_purge(purge->store, purge->batch, purge->batch_count,
                         before_of(purge, purge->status), &deleted);
    if (err != CASCADE_OK)
        return err;
    purge->total.done += (int64_t)deleted;
    purge->total.failed += (int64_t)(purge->batch_count - deleted);
    if (deleted == purge->batch_count)
        release_waiting(purge);
    return CASCADE_OK;
}

/* What is to become of a row; `*more`: it is to be looked at again. What cannot
 * be read stays. */
static cascade_err
decide_row(csc_purge *purge, csc_purge_row *row, int *checks, bool *may,
           bool *more)
{
    cascade_err err = CASCADE_OK;

    *may = !row->unreadable;
    *more = false;
    if (row->unreadable)
        purge->total.failed++;
    else if (row->child || !csc_uuid_is_nil(&row->previous))
        err = check_row(purge, row, checks, may, more);
    if (err == CASCADE_OK && !*more && *may &&
        !csc_uuid_is_nil(&row->link.next)) {
        err = csc_link_keep(purge->store, &row->link);
        (*checks)++;
    }
    if (err != CASCADE_ERR_CORRUPT)
        return err;
    purge->total.failed++;
    *may = false;
    *more = false;
    return CASCADE_OK;
}

/* Takes rows of the page, up to the size of a batch. */
static cascade_err
fill_batch(csc_purge *purge)
{
    int64_t size = 0;
    int checks = 0;

    purge->batch_count = 0;
    while (purge->at < purge->count && checks < CHECKS_MAX) {
        csc_purge_row *row = &purge->rows[purge->at];
        int64_t executions = (int64_t)row->fn_id + 1;
        bool may = false;
        bool more = false;
        cascade_err err = CASCADE_OK;

        if (purge->batch_count > 0 && size + executions > BATCH_EXECUTIONS)
            break;
        err = decide_row(purge, row, &checks, &may, &more);
        if (err != CASCADE_OK || more)
            return err;
        purge->at++;
        if (!may)
            continue;
        purge->batch[purge->batch_count++] = row->id;
        size += executions;
    }
    return CASCADE_OK;
}

cascade_err
csc_purge_next(csc_purge *purge, bool *more)
{
    *more = true;
    if (purge->at < purge->count) {
        cascade_err err = fill_batch(purge);

        return err == CASCADE_OK ? delete_batch(purge) : err;
    }
    if (purge->status == 0 || purge->last)
        *more = begin_status(purge);
    if (*more)
        return read_page(purge);
    return csc_move_sweep(purge->store, NULL, SWEEP_ROOTS, &purge->swept, more);
}

void
csc_purge_fini(csc_purge *purge)
{
    size_t at = 0;
    void *row = NULL;

    while ((row = csc_map_next(&purge->waiting, &at)) != NULL)
        csc_mem_free(row);
    csc_map_fini(&purge->waiting);
}

/* ---- The call ----------------------------------------------------------- */

static cascade_err
check_age(const char *name, int64_t age_ms)
{
    if (age_ms >= -1 && age_ms <= AGE_MAX_MS)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID,
                    "purge option %s is %lld; give -1 to %lld", name,
                    (long long)age_ms, (long long)AGE_MAX_MS);
}

/* Erases what a portion has marked, and in the end what others have left. */
static cascade_err
run(csc_purge *purge, const cascade_purge_options *options)
{
    bool more = true;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && more) {
        int64_t done = purge->total.done;

        err = csc_purge_next(purge, &more);
        if (err == CASCADE_OK && (purge->total.done > done || !more))
            err = csc_erasure_finish_all(purge->store, INT64_MAX);
        if (err == CASCADE_OK && options->progress != NULL &&
            !options->progress(options->context, &purge->total))
            err = csc_fail(CASCADE_ERR_STOPPED,
                           "purge: its progress function ended it");
    }
    return err;
}

static cascade_err
make_pass(cascade_store *store, const cascade_purge_options *options,
          cascade_progress *total)
{
    csc_purge *purge = csc_mem_zalloc(1, sizeof(*purge));
    int64_t now_ms = 0;
    cascade_err err = CASCADE_OK;

    if (purge == NULL)
        return csc_fail_memory();
    err = csc_move_now(store, &now_ms);
    purge->store = store;
    purge->completed_before_ms =
        csc_purge_before(now_ms, options->completed_ms);
    purge->failed_before_ms = csc_purge_before(now_ms, options->failed_ms);
    if (err == CASCADE_OK)
        err = run(purge, options);
    *total = purge->total;
    csc_purge_fini(purge);
    csc_mem_free(purge);
    return err;
}

cascade_err
cascade_purge(cascade_store *store, const cascade_purge_options *options,
              cascade_progress *total)
{
    cascade_purge_options known = {0};
    cascade_progress made = {0};
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || options == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "purge: %s is NULL",
                        store == NULL ? "store" : "options");
    err = csc_check_options("purge options", options, &known, sizeof(known));
    if (err == CASCADE_OK)
        err = check_age("completed_ms", known.completed_ms);
    if (err == CASCADE_OK)
        err = check_age("failed_ms", known.failed_ms);
    if (err == CASCADE_OK)
        err = csc_store_refuse_within(store, "cascade_purge()");
    if (err == CASCADE_OK)
        err = make_pass(store, &known, &made);
    if (total != NULL)
        *total = made;
    return err == CASCADE_OK ? csc_ok() : err;
}
