/* SPDX-License-Identifier: MIT
 *
 * cascade_adopt(): takes in cascades that are RUNNING and have no run.
 *
 *   page of the list
 *     |
 *     +-- RUNNING, no run ------> audited (audit.h): status and fn_id as the
 *     |                           executions say, a run with the queue and the
 *     |                           priority that are recorded
 *     +-- ended, no run --------> its key's row is brought up to its run number
 *     |
 *     +-- with a run -----------> left alone
 *
 *   what is to be changed of a page --> one repair of the store: all of it, but
 *                                       for what has changed meanwhile (S27)
 *
 * In a store with integrity the rows have to fit their seal first, and the next
 * seal is of them with what the repair makes of the cascade's row: it takes the
 * place of the one that was read in the very commit of the repair (S88). What
 * does not fit is told and left alone, without trust.
 *
 * A dry run ends before that repair. Engines are told behind each page. If the
 * process dies before that they find its runs when they poll; if it dies
 * between two pages, the first is adopted: the next call finds nothing to do
 * there. Messages are not made: what was sent, and had not been received when
 * the auxiliary tables were lost, is lost, and so is that a child has ended.
 * Such things are told, and counted as unknown.
 */
#include "manage/adopt_internal.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/status.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "held/wakeup.h"
#include "query/audit/audit.h"
#include "query/audit/audit_seal.h"
#include "query/audit/faults.h"
#include "query/start_records.h"
#include "state/start_record.h"
#include "store/move.h"
#include "store/ring.h"
#include "store/seal.h"
#include "store/store.h"

/* ---- Repairs ------------------------------------------------------------ */

static const char *
keep(csc_adopter *a, const char *text)
{
    return csc_arena_strdup(&a->arena, text);
}

static cascade_repair *
add_repair(csc_adopter *a, const cascade_row *row)
{
    cascade_repair *repair = &a->repairs[a->repair_count++];

    *repair = (cascade_repair){
        .was = *row, .status = row->status, .fn_id = row->fn_id};
    return repair;
}

/* The key's row, where it says an earlier run. */
static cascade_err
look_at_key(csc_adopter *a, const char *user_id, const csc_meta *meta,
            const cascade_uuid *id, bool *behind)
{
    int32_t current = 1;
    cascade_uuid own;
    cascade_err err = CASCADE_OK;

    *behind = false;
    if (meta->key == NULL || meta->run_number == 1)
        return CASCADE_OK;
    own = csc_uuid_v8(user_id, meta->key, meta->run_number);
    if (!csc_uuid_equal(&own, id))
        return CASCADE_OK;
    err = csc_move_key(a->store, user_id, meta->key, &current);
    *behind = err == CASCADE_OK && current < meta->run_number;
    return err;
}

static void
repair_key(csc_adopter *a, cascade_repair *repair, const csc_meta *meta)
{
    repair->key = keep(a, meta->key);
    repair->run_number = meta->run_number;
    csc_adopt_tell(
        a, &repair->was.id, -1, CSC_ADOPT_KEY,
        "it is run %d of its key, and the key's row said an earlier one",
        meta->run_number);
}

/* NULL: none that a run may be in. */
static const char *
recorded_queue(const csc_meta *meta)
{
    if (meta->queue == NULL ||
        csc_check_name("the recorded queue", meta->queue) != CASCADE_OK)
        return NULL;
    return meta->queue;
}

/* NULL: its user's. */
static const char *
recorded_limit_key(csc_adopter *a, const csc_meta *meta)
{
    if (meta->limit_key == NULL ||
        csc_check_text("the recorded limit key", meta->limit_key) != CASCADE_OK)
        return NULL;
    return keep(a, meta->limit_key);
}

static void
repair_row(csc_adopter *a, cascade_repair *repair)
{
    const cascade_uuid *id = &repair->was.id;
    const csc_meta *meta = &a->audit.meta;
    const char *queue = recorded_queue(meta);
    int32_t highest = csc_audit_highest(&a->audit);

    repair->status = csc_audit_status(&a->audit);
    repair->starts = repair->status == CASCADE_RUNNING;
    if (highest > repair->fn_id) {
        csc_adopt_tell(a, id, -1, CSC_ADOPT_FN_ID,
                       "fn_id was %d, and becomes %d", repair->fn_id, highest);
        repair->fn_id = highest;
    }
    if (!repair->starts) {
        csc_adopt_tell(a, id, -1, CSC_ADOPT_STATUS,
                       "it was RUNNING, and %s: it becomes %s",
                       repair->status == CASCADE_ERROR
                           ? "an execution of it has failed for good"
                           : "none of its executions is",
                       csc_status_word(repair->status));
        return;
    }
    repair->run = (cascade_run_row){
        .cascade_id = *id,
        .queue = keep(a, queue != NULL ? queue : CSC_QUEUE_DEFAULT),
        .priority = meta->priority,
        .limit_key = recorded_limit_key(a, meta),
        .wake_at_ms = a->now_ms};
    csc_adopt_tell(a, id, -1, CSC_ADOPT_RUN,
                   "it was RUNNING and had no run; it gets one%s",
                   queue != NULL ? ""
                                 : " in the queue default, as no other one is "
                                   "recorded that may be");
}

/* ---- Seals -------------------------------------------------------------- */

static const cascade_seal_row *
keep_seal(csc_adopter *a, cascade_seal_row row)
{
    cascade_seal_row *kept = NULL;

    if (row.seal == NULL)
        return NULL;
    row.seal = keep(a, row.seal);
    kept = csc_arena_alloc(&a->arena, 1, sizeof(*kept));
    if (kept != NULL)
        *kept = row;
    return kept;
}

/* That of what the repair makes of the rows that were read. */
static cascade_err
seal_repair(csc_adopter *a, cascade_repair *repair)
{
    cascade_seal_row made;
    cascade_err err = CASCADE_OK;

    if (a->store->ring == NULL)
        return CASCADE_OK;
    err = csc_audit_seal_renew(&a->audit, &a->tally.fresh, repair->status,
                               repair->fn_id, &a->arena, &made);
    if (err != CASCADE_OK)
        return err;
    repair->seal = keep_seal(a, made);
    repair->was_seal = keep_seal(a, csc_audit_seal_kept(&a->audit));
    return CASCADE_OK;
}

/* ---- One cascade -------------------------------------------------------- */

/* It was read: what is to be done, and what is told of it. */
static cascade_err
adopt_audited(csc_adopter *a, const csc_adopt_target *t)
{
    const cascade_uuid *id = &t->row.id;
    cascade_repair *repair = add_repair(a, &t->row);
    bool behind = false;
    cascade_err err =
        look_at_key(a, t->row.user_id, &a->audit.meta, id, &behind);

    if (err != CASCADE_OK)
        return err;
    a->report->executions += a->tally.executions;
    a->report->events += (int64_t)a->audit.event_count;
    repair_row(a, repair);
    if (behind)
        repair_key(a, repair, &a->audit.meta);
    err = seal_repair(a, repair);
    if (err != CASCADE_OK)
        return err;
    csc_adopt_tell_foreign(a, id);
    if (repair->starts)
        csc_adopt_tell_running(a, id);
    csc_adopt_tell_spawns(a, id);
    csc_adopt_tell_messages(a, id);
    return csc_adopt_tell_children(a, id);
}

/* Reads it: `*may`: nothing stands against a repair. */
static cascade_err
read_for_repair(csc_adopter *a, csc_adopt_target *t, bool *may)
{
    cascade_err err = csc_adopt_read(a, t, "it is left as it is");

    *may = err == CASCADE_OK &&
           (t->verdict == CSC_ADOPT_HOLDS || t->verdict == CSC_ADOPT_TRUSTED);
    return err;
}

static cascade_err
adopt_running(csc_adopter *a, csc_adopt_target *t)
{
    bool may = false;
    cascade_err err = read_for_repair(a, t, &may);

    return may ? adopt_audited(a, t) : err;
}

/* Its key's row seems to be behind it. Where seals can tell whether the rows
 * that say so are its own, all of them are read, and asked again. */
static cascade_err
raise_key_sealed(csc_adopter *a, csc_adopt_target *t)
{
    const csc_meta *meta = &a->audit.meta;
    cascade_repair *repair = NULL;
    bool behind = false;
    bool may = false;
    cascade_err err = read_for_repair(a, t, &may);

    if (may)
        err = look_at_key(a, t->row.user_id, meta, &t->row.id, &behind);
    if (err != CASCADE_OK || !behind)
        return err;
    repair = add_repair(a, &t->row);
    repair_key(a, repair, meta);
    return seal_repair(a, repair);
}

static cascade_err
note_any(void *context, const cascade_execution_row *row)
{
    *(int32_t *)context = row->function_id;
    return CASCADE_OK;
}

/* Other programs write a status as they come to it: what is hidden behind one
 * may have been meant to run, or not. */
static cascade_err
look_at_ended(csc_adopter *a, const csc_adopt_target *t)
{
    int32_t running = INT32_MIN;
    const cascade_load_sink sink = {.context = &running,
                                    .on_execution = note_any};
    const cascade_scan scan = {.cascade_id = &t->row.id,
                               .running_only = true,
                               .from = INT32_MIN,
                               .limit = 1};
    cascade_err err = CASCADE_OK;

    if (t->row.status == CASCADE_ERROR)
        return CASCADE_OK; /* what was RUNNING has ended with it */
    err = csc_move_scan(a->store, &scan, &sink);
    if (err != CASCADE_OK || running == INT32_MIN)
        return err;
    a->report->unknown++;
    csc_adopt_tell(
        a, &t->row.id, running, CSC_ADOPT_ENDED,
        "it is COMPLETED, and execution %d is RUNNING: it stays as it is",
        running);
    return CASCADE_OK;
}

static cascade_err
adopt_ended(csc_adopter *a, csc_adopt_target *t)
{
    bool behind = false;
    cascade_err err = CASCADE_OK;

    if (t->family == CSC_FAMILY_FOREIGN)
        return look_at_ended(a, t);
    err = look_at_key(a, t->row.user_id, &t->meta, &t->row.id, &behind);
    if (err != CASCADE_OK || !behind)
        return err;
    if (a->store->ring != NULL)
        return raise_key_sealed(a, t);
    repair_key(a, add_repair(a, &t->row), &t->meta);
    return CASCADE_OK;
}

/* ---- Pages -------------------------------------------------------------- */

static cascade_err
note_target(void *context, const cascade_row *row, const cascade_run_row *run)
{
    csc_adopter *a = context;
    csc_adopt_target *t = &a->targets[a->count++];

    *t = (csc_adopt_target){.row = *row, .has_run = run != NULL};
    t->row.user_id = keep(a, row->user_id);
    return t->row.user_id != NULL ? CASCADE_OK : csc_fail_memory();
}

static cascade_err
note_fault(void *context, const cascade_fault *fault)
{
    return csc_faults_add(&((csc_adopter *)context)->faults, fault);
}

static void
note_family(void *context, size_t at, csc_family_state state, csc_meta *meta)
{
    csc_adopter *a = context;
    csc_adopt_target *t = &a->targets[at];

    csc_start_record_fini(&t->meta);
    t->meta = *meta;
    *meta = (csc_meta){0};
    t->family = state;
    if (state == CSC_FAMILY_UNREADABLE && !t->has_run &&
        t->row.status != CASCADE_RUNNING)
        csc_adopt_tell_unreadable(a, &t->row.id, cascade_errmsg());
}

static cascade_err
read_families(csc_adopter *a)
{
    cascade_uuid ids[CSC_ADOPT_PAGE];

    for (size_t i = 0; i < a->count; i++)
        ids[i] = a->targets[i].row.id;
    return csc_start_records_read(a->store, ids, a->count, note_family, a);
}

/* There may be new runs. */
static void
tell_engines(cascade_store *store)
{
    csc_wakeup_tell_all(store);
    (void)csc_move_wake(store);
}

static cascade_err
make_repairs(csc_adopter *a)
{
    bool done[CSC_ADOPT_PAGE] = {false};
    int64_t before = a->report->repaired;
    cascade_err err = CASCADE_OK;

    if (a->arena.failed)
        return csc_fail_memory();
    if (a->options.dry_run)
        a->report->repaired += (int64_t)a->repair_count;
    if (a->options.dry_run || a->repair_count == 0)
        return CASCADE_OK;
    err = csc_move_repair(a->store, a->repairs, a->repair_count, done);
    for (size_t i = 0; i < a->repair_count && err == CASCADE_OK; i++)
        a->report->repaired += done[i];
    if (a->report->repaired > before)
        tell_engines(a->store);
    return err;
}

static cascade_err
adopt_page(csc_adopter *a)
{
    cascade_err err = read_families(a);

    csc_adopt_tell_faults(a);
    if (err == CASCADE_OK)
        err = a->told;
    for (size_t i = 0; i < a->count && err == CASCADE_OK; i++) {
        csc_adopt_target *t = &a->targets[i];

        a->report->cascades++;
        if (!t->has_run)
            err = t->row.status == CASCADE_RUNNING ? adopt_running(a, t)
                                                   : adopt_ended(a, t);
        if (err == CASCADE_OK)
            err = a->told;
    }
    if (err == CASCADE_OK)
        err = make_repairs(a);
    return err == CASCADE_OK ? csc_adopt_chain_enter(a) : err;
}

static void
forget_page(csc_adopter *a)
{
    for (size_t i = 0; i < a->count; i++)
        csc_start_record_fini(&a->targets[i].meta);
    csc_arena_clear(&a->arena);
    csc_faults_clear(&a->faults);
    a->count = 0;
    a->repair_count = 0;
}

static cascade_err
tell_progress(const csc_adopter *a)
{
    const cascade_progress progress = {.seen = a->report->cascades,
                                       .done = a->report->repaired};

    if (a->options.progress == NULL ||
        a->options.progress(a->options.context, &progress))
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_STOPPED,
                    "adopt: its progress function ended it");
}

static cascade_err
adopt_all(csc_adopter *a)
{
    cascade_uuid after = {{0}};
    cascade_place place = {.more = false};
    cascade_query query = {.id = a->options.id,
                           .limit = CSC_ADOPT_PAGE,
                           .on_fault = note_fault,
                           .place = &place};
    cascade_err err = csc_move_now(a->store, &a->now_ms);

    while (err == CASCADE_OK) {
        size_t listed = 0;

        err = csc_move_list(a->store, &query, note_target, a);
        listed = a->count;
        if (listed > 0)
            after = a->targets[listed - 1].row.id;
        query.after = &after;
        if (err == CASCADE_OK)
            err = adopt_page(a);
        forget_page(a);
        if (err == CASCADE_OK)
            err = tell_progress(a);
        if (listed < CSC_ADOPT_PAGE && !place.more)
            break;
    }
    return err;
}

static cascade_err
adopt(csc_adopter *a)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = adopt_all(a);

    if (err == CASCADE_OK && a->options.id != NULL && a->report->cascades == 0)
        err = csc_fail(CASCADE_ERR_NOT_FOUND, "there is no cascade %s",
                       cascade_uuid_format(a->options.id, text));
    return err;
}

cascade_err
cascade_adopt(cascade_store *store, const cascade_check_options *options,
              cascade_check_report *report)
{
    cascade_check_report made = {0};
    csc_adopter *a = NULL;
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || report == NULL || report->size < sizeof(size_t))
        return csc_fail(CASCADE_ERR_INVALID,
                        "adopt: give a store, and a report with its size set "
                        "to sizeof(cascade_check_report)");
    a = csc_mem_zalloc(1, sizeof(*a));
    if (a == NULL)
        return csc_fail_memory();
    a->store = store;
    a->report = &made;
    err = csc_check_options("check options", options, &a->options,
                            sizeof(a->options));
    if (err == CASCADE_OK &&
        (a->options.counted != NULL || a->options.known != NULL))
        err = csc_fail(CASCADE_ERR_INVALID,
                       "adopt: `counted` and `known` are for verify; leave "
                       "them out");
    if (err == CASCADE_OK)
        err = csc_store_refuse_within(store, "cascade_adopt()");
    if (err == CASCADE_OK)
        err = adopt(a);
    csc_audit_fini(&a->audit);
    csc_seal_fini(&a->tally.fresh);
    csc_faults_fini(&a->faults);
    csc_arena_fini(&a->arena);
    csc_mem_free(a);
    made.size = report->size;
    memcpy(report, &made, made.size < sizeof(made) ? made.size : sizeof(made));
    return err == CASCADE_OK ? csc_ok() : err;
}
