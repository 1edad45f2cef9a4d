/* SPDX-License-Identifier: MIT
 *
 * Shows audits the rows of their cascades: several small ones by one load,
 * a large one in pages of scans. Of the latter the executions and the events
 * are not of one moment; whoever asks looks whether anything has changed.
 */
#include "query/audit/audit_read.h"

#include <stdlib.h>

#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/audit/audit.h"
#include "query/audit/audit_seal.h"
#include "store/move.h"
#include "store/ring.h"
#include "store/store.h"

#define SCAN_ROWS 5000
#define LOAD_PARTS                                                           \
    (CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS | CASCADE_LOAD_MESSAGES | \
     CASCADE_LOAD_SEALS)

/* Audits that rows are shown to. */
typedef struct reading {
    csc_audit *audits;
    size_t count;
    bool alone;
    bool behind; /* the rows: the seal is read again */
    const csc_ring *ring;
    const cascade_load_sink *tap;
    int32_t next; /* function_id of the next row, or of its event */
    int64_t last_event;
    size_t shown; /* rows of the page */
} reading;

static int
compare_audits(const void *id, const void *audit)
{
    return csc_uuid_compare(id, &((const csc_audit *)audit)->row.id);
}

static csc_audit *
find_audit(const reading *r, const cascade_uuid *id)
{
    return bsearch(id, r->audits, r->count, sizeof(*r->audits), compare_audits);
}

/* Of a group, the row as of the moment of the executions; of one that is read
 * alone, what was listed stays, which was before all of them. */
static cascade_err
show_cascade(void *context, const cascade_row *row)
{
    reading *r = context;
    csc_audit *audit = find_audit(r, &row->id);

    if (audit == NULL || r->behind)
        return CASCADE_OK;
    if (!r->alone) {
        audit->row = *row;
        audit->row.user_id = NULL;
    }
    return csc_audit_seal_begin(audit, r->ring, row);
}

static cascade_err
show_seal(void *context, const cascade_seal_row *row)
{
    reading *r = context;
    csc_audit *audit = find_audit(r, &row->cascade_id);

    if (audit != NULL && r->behind)
        csc_audit_seal_compare(audit, row);
    else if (audit != NULL)
        csc_audit_seal_take(audit, row);
    return CASCADE_OK;
}

static cascade_err
show_execution(void *context, const cascade_execution_row *row)
{
    reading *r = context;
    csc_audit *audit = find_audit(r, &row->cascade_id);
    cascade_err err = CASCADE_OK;

    r->next = row->function_id < INT32_MAX ? row->function_id + 1 : INT32_MAX;
    r->shown++;
    if (audit != NULL)
        err = csc_audit_execution(audit, row);
    if (audit != NULL && err == CASCADE_OK)
        err = csc_audit_seal_execution(audit, row);
    if (err == CASCADE_OK && r->tap != NULL)
        err = r->tap->on_execution(r->tap->context, row);
    return err;
}

static cascade_err
show_event(void *context, const cascade_event_row *row)
{
    reading *r = context;
    csc_audit *audit = find_audit(r, &row->cascade_id);
    cascade_err err = CASCADE_OK;

    r->next = row->function_id;
    r->last_event = row->id;
    r->shown++;
    if (audit != NULL)
        err = csc_audit_event(audit, row);
    if (audit != NULL)
        csc_audit_seal_event(audit, row);
    if (err == CASCADE_OK && r->tap != NULL)
        err = r->tap->on_event(r->tap->context, row);
    return err;
}

static cascade_err
show_message(void *context, const cascade_message_row *row, bool repeated)
{
    csc_audit *audit = find_audit(context, &row->cascade_id);

    (void)repeated;
    if (audit == NULL)
        return CASCADE_OK;
    csc_audit_seal_message(audit, row);
    return csc_audit_message(audit, row);
}

static cascade_err
load_rows(cascade_store *store, reading *r, unsigned parts)
{
    const cascade_load_sink sink = {.context = r,
                                    .on_cascade = show_cascade,
                                    .on_execution = show_execution,
                                    .on_event = show_event,
                                    .on_message = show_message,
                                    .on_seal = show_seal};
    cascade_uuid ids[CSC_AUDIT_GROUP_MAX];

    for (size_t i = 0; i < r->count; i++)
        ids[i] = r->audits[i].row.id;
    if (r->ring == NULL)
        parts &= ~(unsigned)CASCADE_LOAD_SEALS;
    return csc_move_load(store, ids, r->count, parts, &sink);
}

/* All executions, or all events, of one. */
static cascade_err
scan_rows(cascade_store *store, reading *r, bool events)
{
    const cascade_load_sink sink = {.context = r,
                                    .on_cascade = show_cascade,
                                    .on_execution = show_execution,
                                    .on_event = show_event};
    cascade_scan scan = {.cascade_id = &r->audits[0].row.id,
                         .events = events,
                         .limit = SCAN_ROWS};
    cascade_err err = CASCADE_OK;

    r->next = INT32_MIN;
    r->last_event = 0;
    do {
        scan.from = r->next;
        scan.after_event = r->last_event;
        r->shown = 0;
        err = csc_move_scan(store, &scan, &sink);
    } while (err == CASCADE_OK && r->shown == SCAN_ROWS);
    return err;
}

cascade_err
csc_audit_read_group(cascade_store *store, csc_audit *audits, size_t count)
{
    reading r = {.audits = audits, .count = count, .ring = store->ring};
    cascade_err err = load_rows(store, &r, LOAD_PARTS);

    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        csc_audit_seal_end(&audits[i]);
    return err;
}

/* In pages. */
static cascade_err
read_pages(cascade_store *store, reading *r)
{
    cascade_err err = CASCADE_OK;

    if (r->ring != NULL)
        err = load_rows(store, r, CASCADE_LOAD_SEALS);
    if (err == CASCADE_OK)
        err = scan_rows(store, r, false);
    if (err == CASCADE_OK)
        err = scan_rows(store, r, true);
    r->behind = true;
    if (err == CASCADE_OK)
        err = load_rows(store, r, CASCADE_LOAD_MESSAGES | CASCADE_LOAD_SEALS);
    return err;
}

cascade_err
csc_audit_read(cascade_store *store, csc_audit *audit,
               const cascade_load_sink *tap)
{
    reading r = {.audits = audit,
                 .count = 1,
                 .alone = true,
                 .ring = store->ring,
                 .tap = tap};
    cascade_err err = CASCADE_OK;

    if (audit->row.fn_id < CSC_AUDIT_GROUP_EXECUTIONS)
        err = load_rows(store, &r, LOAD_PARTS);
    else
        err = read_pages(store, &r);
    if (err == CASCADE_OK)
        csc_audit_seal_end(audit);
    return err;
}

/* ---- Lists -------------------------------------------------------------- */

typedef struct listed {
    csc_audit *audit;
    const csc_audit *as;
    bool there;
    bool same;
} listed;

static cascade_err
begin_listed(void *context, const cascade_row *row, const cascade_run_row *run)
{
    listed *l = context;

    l->there = true;
    return csc_audit_begin(l->audit, row, run);
}

cascade_err
csc_audit_list(cascade_store *store, const cascade_uuid *id, csc_audit *audit,
               bool *there)
{
    const cascade_query query = {.id = id, .limit = 1};
    listed l = {.audit = audit};
    cascade_err err = csc_move_list(store, &query, begin_listed, &l);

    *there = l.there;
    return err;
}

static bool
is_same(const csc_audit *audit, const cascade_row *row,
        const cascade_run_row *run)
{
    if (audit->row.status != row->status || audit->row.fn_id != row->fn_id ||
        audit->row.updated_at_ms != row->updated_at_ms ||
        audit->has_run != (run != NULL))
        return false;
    return run == NULL ||
           (audit->run.claim_no == run->claim_no &&
            audit->run.takeovers == run->takeovers &&
            audit->run.wake_at_ms == run->wake_at_ms &&
            csc_uuid_equal(&audit->run.engine_id, &run->engine_id));
}

static cascade_err
compare_listed(void *context, const cascade_row *row,
               const cascade_run_row *run)
{
    listed *l = context;

    l->there = true;
    l->same = is_same(l->as, row, run);
    return CASCADE_OK;
}

cascade_err
csc_audit_compare(cascade_store *store, const csc_audit *audit, bool *there,
                  bool *same)
{
    const cascade_query query = {.id = &audit->row.id, .limit = 1};
    listed l = {.as = audit};
    cascade_err err = csc_move_list(store, &query, compare_listed, &l);

    *there = l.there;
    *same = l.same;
    return err;
}

cascade_err
csc_audit_current_run(cascade_store *store, const csc_audit *audit,
                      int32_t *number)
{
    *number = 1;
    if (audit->meta.key == NULL || audit->meta.run_number == 1)
        return CASCADE_OK;
    return csc_move_key(store, audit->user_id, audit->meta.key, number);
}

/* ---- Links --------------------------------------------------------------- */

static bool
leads_to_others(const cascade_found *found, const cascade_uuid *root)
{
    return !csc_uuid_is_nil(&found->root) &&
           !csc_uuid_equal(&found->root, root);
}

/* `found`: of the root, and of the cascade itself. */
static void
check_links(csc_audit *audit, const cascade_found found[2])
{
    const cascade_found *last = &found[0];
    int32_t own = audit->meta.run_number;

    if (leads_to_others(&found[0], &audit->meta.root) ||
        leads_to_others(&found[1], &audit->meta.root)) {
        csc_audit_add(audit, CSC_AUDIT_LINKS, 0,
                      "the cascade continues others, and what was entered of "
                      "it leads to the runs of another root");
        return;
    }
    if (csc_uuid_is_nil(&last->root))
        return;
    if (last->run_number < own)
        csc_audit_add(audit, CSC_AUDIT_LINKS, 0,
                      "the cascade is run %d, and the last of its runs that "
                      "was entered is run %d; adopt it",
                      own, last->run_number);
    else if (last->run_number == own &&
             !csc_uuid_equal(&last->id, &audit->row.id))
        csc_audit_add(audit, CSC_AUDIT_LINKS, 0,
                      "the cascade is run %d, and another one was entered as "
                      "that",
                      own);
}

cascade_err
csc_audit_links(cascade_store *store, csc_audit *audit)
{
    char texts[2][CASCADE_UUID_TEXT_SIZE];
    const char *const paths[2] = {texts[0], texts[1]};
    cascade_found found[2];
    cascade_err err;

    if (!csc_audit_is_own(audit) || csc_uuid_is_nil(&audit->meta.root))
        return CASCADE_OK;
    (void)cascade_uuid_format(&audit->meta.root, texts[0]);
    (void)cascade_uuid_format(&audit->row.id, texts[1]);
    err = csc_move_find(store, paths, 2, found);
    if (err == CASCADE_OK)
        check_links(audit, found);
    return err;
}
