/* SPDX-License-Identifier: MIT
 *
 * cascade_verify(): audits every cascade of a store (audit.h), and changes
 * nothing.
 *
 *   page of the list --> small ones together: one load of up to
 *        |               10,000 executions       --> clean: done
 *        |                  | something is found, or a row cannot be read
 *        |                  v
 *        +-- large ones --> alone: list, load or pages of scan, list
 *                              | the row and the run are the same before and
 *                              | after: what was found is told
 *                              | else again, up to TRIES times; then it is too
 *                              v busy to be judged: seen, without findings
 *
 * So what a page of the list and a load show of different moments is never told
 * as a violation. A row of a cascade, or of its run, that cannot be read is
 * told behind its page, and keeps no other from being judged. Behind them: what
 * no cascade leads to, seals without cascades, a counter outside. Memory: a
 * page of the list, and what an audit keeps of the executions of one group, or
 * of one cascade.
 */
#include "cascade/manage.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/audit/audit.h"
#include "query/audit/audit_family.h"
#include "query/audit/audit_read.h"
#include "query/audit/audit_seal.h"
#include "query/audit/counter.h"
#include "query/audit/faults.h"
#include "query/audit/seals.h"
#include "query/audit/strays.h"
#include "store/move.h"
#include "store/store.h"

#define PAGE CSC_AUDIT_GROUP_MAX
#define TRIES 3

typedef struct verifier {
    cascade_store *store;
    cascade_check_options options;
    cascade_check_report *report;
    csc_audit audits[PAGE]; /* of a page of the list, by id */
    size_t count;
    csc_faults faults; /* of that page */
    csc_audit alone;
} verifier;

/* What is not among the rows. */
static cascade_err
end_audit(cascade_store *store, csc_audit *audit)
{
    int32_t current_run = 1;
    cascade_err err = csc_audit_current_run(store, audit, &current_run);

    if (err == CASCADE_OK)
        err = csc_audit_links(store, audit);
    if (err == CASCADE_OK)
        err = csc_audit_family(store, audit);
    return err == CASCADE_OK ? csc_audit_end(audit, current_run) : err;
}

/* ---- Telling ------------------------------------------------------------ */

static cascade_err
stop(const char *what)
{
    return csc_fail(CASCADE_ERR_STOPPED, "verify: its %s function ended it",
                    what);
}

static void
count_audit(verifier *v, const csc_audit *audit)
{
    v->report->cascades++;
    v->report->executions += (int64_t)audit->seen_count;
    v->report->events += (int64_t)audit->event_count;
    v->report->unknown += !csc_audit_is_own(audit);
}

static cascade_err
tell_findings(verifier *v, const csc_audit *audit)
{
    v->report->findings += (int64_t)audit->finding_count;
    if (v->options.finding == NULL)
        return CASCADE_OK;
    for (const csc_audit_finding *f = audit->first; f != NULL; f = f->next)
        if (!v->options.finding(v->options.context, &audit->row.id,
                                f->function_id, csc_audit_name(f->rule),
                                f->text))
            return stop("finding");
    return CASCADE_OK;
}

/* Of a cascade whose row, or whose run's, cannot be read. */
static cascade_err
tell_fault(verifier *v, csc_audit_rule rule, const cascade_uuid *id,
           const char *text)
{
    v->report->findings++;
    if (v->options.finding == NULL ||
        v->options.finding(v->options.context, id, -1, csc_audit_name(rule),
                           text))
        return CASCADE_OK;
    return stop("finding");
}

static cascade_err
tell_faults(verifier *v, csc_audit_rule rule)
{
    int64_t more = (int64_t)v->faults.count - CSC_FAULTS_MAX;
    cascade_err err = CASCADE_OK;

    for (const csc_fault *f = v->faults.first; f != NULL && err == CASCADE_OK;
         f = f->next)
        err = tell_fault(v, rule, &f->id, f->text);
    if (err == CASCADE_OK && more > 0)
        v->report->findings += more;
    return err;
}

static cascade_err
tell_progress(const verifier *v)
{
    const cascade_progress progress = {.seen = v->report->cascades,
                                       .failed = v->report->findings};

    if (v->options.progress == NULL ||
        v->options.progress(v->options.context, &progress))
        return CASCADE_OK;
    return stop("progress");
}

/* ---- Alone -------------------------------------------------------------- */

/* Rows that cannot be read are a finding. */
static cascade_err
audit_once(verifier *v, const cascade_uuid *id, bool *there)
{
    cascade_err err = csc_audit_list(v->store, id, &v->alone, there);

    if (err != CASCADE_OK || !*there)
        return err;
    err = csc_audit_read(v->store, &v->alone, NULL);
    if (err == CASCADE_OK)
        return end_audit(v->store, &v->alone);
    if (err != CASCADE_ERR_CORRUPT)
        return err;
    csc_audit_add(&v->alone, CSC_AUDIT_READABLE, -1, "%s", cascade_errmsg());
    return v->alone.arena.failed ? csc_fail_memory() : CASCADE_OK;
}

/* The row of the list is what cannot be read. */
static cascade_err
tell_error(verifier *v, const cascade_uuid *id)
{
    char text[CSC_ERRMSG_SIZE];

    (void)snprintf(text, sizeof(text), "%s", cascade_errmsg());
    v->report->cascades++;
    return tell_fault(v, CSC_AUDIT_READABLE, id, text);
}

static cascade_err
verify_alone(verifier *v, const cascade_uuid *id)
{
    bool there = true;
    bool same = false;

    for (int i = 0; i < TRIES && !same; i++) {
        cascade_err err = audit_once(v, id, &there);

        if (err == CASCADE_OK && there)
            err = csc_audit_compare(v->store, &v->alone, &there, &same);
        same = same && !csc_audit_seal_moved(&v->alone);
        if (err == CASCADE_ERR_CORRUPT)
            return tell_error(v, id);
        if (err != CASCADE_OK || !there)
            return err;
    }
    count_audit(v, &v->alone);
    return same ? tell_findings(v, &v->alone) : CASCADE_OK;
}

/* ---- Pages -------------------------------------------------------------- */

/* Audits [from, to) of the page. */
static cascade_err
verify_group(verifier *v, size_t from, size_t to)
{
    cascade_err err =
        csc_audit_read_group(v->store, &v->audits[from], to - from);
    bool readable = err != CASCADE_ERR_CORRUPT;

    if (!readable)
        err = CASCADE_OK;
    for (size_t i = from; i < to && err == CASCADE_OK; i++) {
        cascade_uuid id = v->audits[i].row.id;

        if (readable)
            err = end_audit(v->store, &v->audits[i]);
        if (err == CASCADE_OK && readable && v->audits[i].finding_count == 0)
            count_audit(v, &v->audits[i]);
        else if (err == CASCADE_OK)
            err = verify_alone(v, &id);
        csc_audit_fini(&v->audits[i]);
    }
    return err;
}

static cascade_err
verify_page(verifier *v)
{
    cascade_err err = CASCADE_OK;
    size_t from = 0;

    while (from < v->count && err == CASCADE_OK) {
        cascade_uuid id = v->audits[from].row.id;
        int64_t size = v->audits[from].row.fn_id;
        size_t to = from + 1;

        if (size >= CSC_AUDIT_GROUP_EXECUTIONS) {
            err = verify_alone(v, &id);
            from++;
            continue;
        }
        while (to < v->count &&
               size + v->audits[to].row.fn_id < CSC_AUDIT_GROUP_EXECUTIONS)
            size += v->audits[to++].row.fn_id + INT64_C(1);
        err = verify_group(v, from, to);
        from = to;
    }
    return err;
}

static cascade_err
note_target(void *context, const cascade_row *row, const cascade_run_row *run)
{
    verifier *v = context;

    return csc_audit_begin(&v->audits[v->count++], row, run);
}

static cascade_err
note_fault(void *context, const cascade_fault *fault)
{
    return csc_faults_add(&((verifier *)context)->faults, fault);
}

static void
forget_page(verifier *v)
{
    csc_faults_clear(&v->faults);
    for (size_t i = 0; i < v->count; i++)
        csc_audit_fini(&v->audits[i]);
    v->count = 0;
}

static cascade_err
verify_all(verifier *v)
{
    cascade_uuid after = {{0}};
    cascade_place place = {.more = false};
    cascade_query query = {
        .limit = PAGE, .on_fault = note_fault, .place = &place};
    cascade_err err = CASCADE_OK;
    size_t listed_count = 0;

    do {
        err = csc_move_list(v->store, &query, note_target, v);
        listed_count = v->count;
        if (listed_count > 0)
            after = v->audits[listed_count - 1].row.id;
        query.after = &after;
        if (err == CASCADE_OK)
            err = tell_faults(v, CSC_AUDIT_READABLE);
        v->report->cascades += (int64_t)v->faults.count;
        if (err == CASCADE_OK)
            err = verify_page(v);
        forget_page(v);
        if (err == CASCADE_OK)
            err = tell_progress(v);
    } while (err == CASCADE_OK && (listed_count == PAGE || place.more));
    return err;
}

/* What no cascade leads to. */
static cascade_err
verify_strays(verifier *v)
{
    csc_strays strays = {.kind = 0};
    bool more = true;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && more) {
        err = csc_strays_next(v->store, &strays, &v->faults, &more);
        if (err == CASCADE_OK)
            err = tell_faults(v, CSC_AUDIT_STRAYS);
        if (err == CASCADE_OK)
            err = tell_progress(v);
    }
    csc_faults_clear(&v->faults);
    return err;
}

/* Where cascades have seals. */
static cascade_err
verify_seals(verifier *v)
{
    cascade_uuid after = {{0}};
    bool more = true;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && more) {
        err = csc_seals_next(v->store, &after, &v->faults, &more);
        if (err == CASCADE_OK)
            err = tell_faults(v, CSC_AUDIT_SEAL);
        if (err == CASCADE_OK && more)
            err = tell_progress(v);
    }
    csc_faults_clear(&v->faults);
    return err;
}

static cascade_err
tell_counter(void *context, const cascade_uuid *id, const char *text)
{
    return tell_fault(context, CSC_AUDIT_COUNTER, id, text);
}

/* Behind the seals: those that do not hold are told. */
static cascade_err
verify_counter(verifier *v)
{
    csc_counter counter = {.counted = v->options.counted,
                           .known = v->options.known,
                           .context = v->options.context,
                           .tell = tell_counter,
                           .tell_context = v};
    cascade_err err = CASCADE_OK;

    if (counter.counted == NULL && counter.known == NULL)
        return CASCADE_OK;
    err = csc_counter_walk(v->store, &counter);
    v->report->compared = counter.compared;
    return err;
}

static cascade_err
check_counter(const verifier *v)
{
    if (v->options.counted == NULL && v->options.known == NULL)
        return CASCADE_OK;
    if (v->options.id != NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "verify: a counter is of all cascades; leave out the "
                        "id");
    if (v->store->ring == NULL)
        return csc_fail(CASCADE_ERR_UNSUPPORTED,
                        "verify: a counter is of seals, and this store has no "
                        "integrity");
    return CASCADE_OK;
}

static cascade_err
verify_whole(verifier *v)
{
    cascade_err err = verify_all(v);

    if (err == CASCADE_OK)
        err = verify_strays(v);
    if (err == CASCADE_OK)
        err = verify_seals(v);
    return err == CASCADE_OK ? verify_counter(v) : err;
}

static cascade_err
verify_one(verifier *v)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    bool there = false;
    cascade_err err =
        csc_audit_list(v->store, v->options.id, &v->alone, &there);

    if (err == CASCADE_ERR_CORRUPT)
        return tell_error(v, v->options.id);
    if (err == CASCADE_OK && !there)
        err = csc_fail(CASCADE_ERR_NOT_FOUND, "there is no cascade %s",
                       cascade_uuid_format(v->options.id, text));
    return err == CASCADE_OK ? verify_alone(v, v->options.id) : err;
}

cascade_err
cascade_verify(cascade_store *store, const cascade_check_options *options,
               cascade_check_report *report)
{
    cascade_check_report made = {0};
    verifier *v = NULL;
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || report == NULL || report->size < sizeof(size_t))
        return csc_fail(CASCADE_ERR_INVALID,
                        "verify: give a store, and a report with its size set "
                        "to sizeof(cascade_check_report)");
    v = csc_mem_zalloc(1, sizeof(*v));
    if (v == NULL)
        return csc_fail_memory();
    v->store = store;
    v->report = &made;
    err = csc_check_options("check options", options, &v->options,
                            sizeof(v->options));
    if (err == CASCADE_OK)
        err = csc_store_refuse_within(store, "cascade_verify()");
    if (err == CASCADE_OK)
        err = check_counter(v);
    if (err == CASCADE_OK)
        err = v->options.id != NULL ? verify_one(v) : verify_whole(v);
    csc_audit_fini(&v->alone);
    csc_faults_fini(&v->faults);
    csc_mem_free(v);
    made.size = report->size;
    memcpy(report, &made, made.size < sizeof(made) ? made.size : sizeof(made));
    return err == CASCADE_OK ? csc_ok() : err;
}
