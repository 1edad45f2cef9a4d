/* SPDX-License-Identifier: MIT
 *
 * cascade_seal_renew(): from seals by other keys to seals by the first one.
 *
 *   page of the list, and its seals --> by the first key: nothing to do
 *        |                              an engine has it: left
 *        v
 *   alone: all rows are read, and added both to the old seal and to the new one
 *        |   the old one does not fit, and there is no trust --> finding
 *        v
 *   the new one takes the place of the old, if that is still there (S80);
 *   else again, up to TRIES times, then it is left
 *
 * An engine that takes the cascade between reading and writing has its old seal
 * in memory, and writes its next one over the new one, by the old key: a good
 * seal too, which another call renews. Both have the same number: what was
 * counted in between is not told as put back (counter.h). If the process dies,
 * what is sealed is.
 */
#include "cascade/manage.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/audit/audit.h"
#include "query/audit/audit_read.h"
#include "query/audit/audit_seal.h"
#include "query/audit/faults.h"
#include "store/integrity.h"
#include "store/move.h"
#include "store/ring.h"
#include "store/seal.h"
#include "store/store.h"

#define PAGE CSC_AUDIT_GROUP_MAX
#define TRIES 3

/* A cascade of the page. */
typedef struct listed {
    cascade_uuid id;
    bool owned;
    bool current; /* it has a seal by the first key */
} listed;

typedef struct renewer {
    cascade_store *store;
    cascade_check_options options;
    cascade_check_report *report;
    listed page[PAGE];
    size_t count;
    csc_faults faults; /* of that page */
    csc_audit audit;   /* of the one that is read */
    csc_seal fresh;    /* of its rows, by the first key */
} renewer;

static bool
is_current(const renewer *r, const char *text)
{
    const csc_seal_key *key = NULL;

    return csc_ring_find(r->store->ring, text, &key) == CASCADE_OK &&
           key == csc_ring_current(r->store->ring);
}

/* ---- Telling ------------------------------------------------------------- */

static cascade_err
tell(renewer *r, const cascade_uuid *id, csc_audit_rule rule, const char *text)
{
    r->report->findings++;
    if (r->options.finding == NULL ||
        r->options.finding(r->options.context, id, -1, csc_audit_name(rule),
                           text))
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_STOPPED, "seal renew: its finding function "
                                         "ended it");
}

static cascade_err
tell_unreadable(renewer *r, const cascade_uuid *id, const char *text)
{
    r->report->unreadable++;
    return tell(r, id, CSC_AUDIT_READABLE, text);
}

/* What the audit says of seals. */
static cascade_err
tell_seals(renewer *r)
{
    cascade_err err = CASCADE_OK;

    for (const csc_audit_finding *f = r->audit.first;
         f != NULL && err == CASCADE_OK; f = f->next)
        if (f->rule == CSC_AUDIT_SEAL)
            err = tell(r, &r->audit.row.id, f->rule, f->text);
    return err;
}

static cascade_err
tell_progress(const renewer *r)
{
    const cascade_progress progress = {.seen = r->report->cascades,
                                       .done = r->report->repaired,
                                       .failed = r->report->findings};

    if (r->options.progress == NULL ||
        r->options.progress(r->options.context, &progress))
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_STOPPED, "seal renew: its progress function "
                                         "ended it");
}

/* ---- One ----------------------------------------------------------------- */

static cascade_err
add_execution(void *context, const cascade_execution_row *row)
{
    return csc_seal_add_execution(&((renewer *)context)->fresh, row);
}

static cascade_err
add_event(void *context, const cascade_event_row *row)
{
    csc_seal_add_event(&((renewer *)context)->fresh, row);
    return CASCADE_OK;
}

static cascade_err
put_seal(renewer *r, bool *done)
{
    cascade_seal_row was = csc_audit_seal_kept(&r->audit);
    cascade_seal_row made = {.number = 0};
    const cascade_reseal reseal = {.cascade_id = r->audit.row.id,
                                   .was = was.seal != NULL ? &was : NULL,
                                   .now = &made};
    csc_arena arena = {0};
    cascade_err err =
        csc_audit_seal_renew(&r->audit, &r->fresh, r->audit.row.status,
                             r->audit.row.fn_id, &arena, &made);

    *done = r->options.dry_run;
    if (err == CASCADE_OK && !*done)
        err = csc_move_seal(r->store, &reseal, 1, done);
    csc_arena_fini(&arena);
    r->report->repaired += err == CASCADE_OK && *done;
    return err;
}

/* All rows were read. */
static cascade_err
judge(renewer *r, bool *done)
{
    cascade_seal_row kept = csc_audit_seal_kept(&r->audit);
    bool broken = csc_audit_seal_is_broken(&r->audit);

    *done = true;
    if (broken && !r->options.trust)
        return tell_seals(r);
    if (!broken && is_current(r, kept.seal))
        return CASCADE_OK;
    return put_seal(r, done);
}

/* `*done`: there is nothing more to do; else somebody writes it. */
static cascade_err
renew_once(renewer *r, const cascade_uuid *id, bool *done)
{
    const cascade_load_sink tap = {
        .context = r, .on_execution = add_execution, .on_event = add_event};
    bool there = false;
    cascade_err err = csc_audit_list(r->store, id, &r->audit, &there);

    *done = !there;
    if (err != CASCADE_OK || !there)
        return err;
    if (r->audit.has_run && !csc_uuid_is_nil(&r->audit.run.engine_id))
        return CASCADE_OK;
    err = csc_audit_read(r->store, &r->audit, &tap);
    if (r->audit.arena.failed)
        return csc_fail_memory();
    *done = !csc_audit_seal_is_there(&r->audit);
    if (err != CASCADE_OK || *done || csc_audit_seal_moved(&r->audit))
        return err;
    return judge(r, done);
}

static cascade_err
renew_one(renewer *r, const cascade_uuid *id)
{
    char text[CSC_ERRMSG_SIZE];
    bool done = false;
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < TRIES && !done && err == CASCADE_OK; i++) {
        csc_seal_init(&r->fresh, csc_ring_current(r->store->ring), id);
        err = renew_once(r, id, &done);
        csc_seal_fini(&r->fresh);
        csc_audit_fini(&r->audit);
    }
    if (err == CASCADE_ERR_CORRUPT) {
        (void)snprintf(text, sizeof(text), "%s", cascade_errmsg());
        return tell_unreadable(r, id, text);
    }
    r->report->left += err == CASCADE_OK && !done;
    return err;
}

/* ---- Pages --------------------------------------------------------------- */

static cascade_err
note_listed(void *context, const cascade_row *row, const cascade_run_row *run)
{
    renewer *r = context;

    r->page[r->count++] =
        (listed){.id = row->id,
                 .owned = run != NULL && !csc_uuid_is_nil(&run->engine_id)};
    return CASCADE_OK;
}

static cascade_err
note_fault(void *context, const cascade_fault *fault)
{
    return csc_faults_add(&((renewer *)context)->faults, fault);
}

static cascade_err
pass_cascade(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
note_seal(void *context, const cascade_seal_row *row)
{
    renewer *r = context;

    for (size_t i = 0; i < r->count; i++)
        if (csc_uuid_equal(&r->page[i].id, &row->cascade_id))
            r->page[i].current = is_current(r, row->seal);
    return CASCADE_OK;
}

static cascade_err
note_message(void *context, const cascade_message_row *row, bool repeated)
{
    renewer *r = context;

    (void)repeated;
    r->report->messages += row->seal == NULL || !is_current(r, row->seal);
    return CASCADE_OK;
}

static cascade_err
read_seals(renewer *r)
{
    const cascade_load_sink sink = {.context = r,
                                    .on_cascade = pass_cascade,
                                    .on_message = note_message,
                                    .on_seal = note_seal};
    cascade_uuid ids[PAGE];

    for (size_t i = 0; i < r->count; i++)
        ids[i] = r->page[i].id;
    if (r->count == 0)
        return CASCADE_OK;
    return csc_move_load(r->store, ids, r->count,
                         CASCADE_LOAD_SEALS | CASCADE_LOAD_MESSAGES, &sink);
}

static cascade_err
renew_page(renewer *r)
{
    cascade_err err = read_seals(r);

    for (size_t i = 0; i < r->count && err == CASCADE_OK; i++) {
        const listed *one = &r->page[i];

        r->report->cascades++;
        if (one->current && (one->owned || !r->options.trust))
            continue;
        if (one->owned)
            r->report->left++;
        else
            err = renew_one(r, &one->id);
    }
    return err;
}

static cascade_err
tell_faults(renewer *r)
{
    cascade_err err = CASCADE_OK;

    for (const csc_fault *f = r->faults.first; f != NULL && err == CASCADE_OK;
         f = f->next)
        err = tell_unreadable(r, &f->id, f->text);
    csc_faults_clear(&r->faults);
    return err;
}

static cascade_err
renew_all(renewer *r)
{
    cascade_uuid after = {{0}};
    cascade_place place = {.more = false};
    cascade_query query = {
        .limit = PAGE, .on_fault = note_fault, .place = &place};
    cascade_err err = CASCADE_OK;

    do {
        r->count = 0;
        err = csc_move_list(r->store, &query, note_listed, r);
        if (r->count > 0)
            after = r->page[r->count - 1].id;
        query.after = &after;
        if (err == CASCADE_OK)
            err = tell_faults(r);
        if (err == CASCADE_OK)
            err = renew_page(r);
        if (err == CASCADE_OK)
            err = tell_progress(r);
    } while (err == CASCADE_OK && (r->count == PAGE || place.more));
    return err;
}

static cascade_err
renew_given(renewer *r)
{
    const cascade_query query = {.id = r->options.id, .limit = 1};
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = csc_move_list(r->store, &query, note_listed, r);

    if (err == CASCADE_OK && r->count == 0)
        return csc_fail(CASCADE_ERR_NOT_FOUND, "there is no cascade %s",
                        cascade_uuid_format(r->options.id, text));
    return err == CASCADE_OK ? renew_page(r) : err;
}

/* The store's own row says which key is needed to open the store. */
static cascade_err
renew_whole(renewer *r)
{
    const cascade_check_report *report = r->report;
    cascade_err err = renew_all(r);

    if (err != CASCADE_OK || r->options.dry_run || report->left > 0 ||
        report->messages > 0 || report->findings > 0)
        return err;
    return csc_integrity_renew(r->store);
}

/* ---- Public -------------------------------------------------------------- */

static cascade_err
check_renew(const renewer *r)
{
    if (r->options.counted != NULL || r->options.known != NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "seal renew: `counted` and `known` are for verify; "
                        "leave them out");
    if (r->store->ring == NULL)
        return csc_fail(CASCADE_ERR_UNSUPPORTED,
                        "seal renew: this store has no integrity");
    return csc_store_refuse_within(r->store, "cascade_seal_renew()");
}

cascade_err
cascade_seal_renew(cascade_store *store, const cascade_check_options *options,
                   cascade_check_report *report)
{
    cascade_check_report made = {0};
    renewer *r = NULL;
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || report == NULL || report->size < sizeof(size_t))
        return csc_fail(CASCADE_ERR_INVALID,
                        "seal renew: give a store, and a report with its size "
                        "set to sizeof(cascade_check_report)");
    r = csc_mem_zalloc(1, sizeof(*r));
    if (r == NULL)
        return csc_fail_memory();
    r->store = store;
    r->report = &made;
    err = csc_check_options("check options", options, &r->options,
                            sizeof(r->options));
    if (err == CASCADE_OK)
        err = check_renew(r);
    if (err == CASCADE_OK)
        err = r->options.id != NULL ? renew_given(r) : renew_whole(r);
    csc_faults_fini(&r->faults);
    csc_mem_free(r);
    made.size = report->size;
    memcpy(report, &made, made.size < sizeof(made) ? made.size : sizeof(made));
    return err == CASCADE_OK ? csc_ok() : err;
}
