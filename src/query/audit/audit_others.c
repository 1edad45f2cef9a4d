/* SPDX-License-Identifier: MIT
 *
 * Cascades that another program began, or has written to: see ROWS OF OTHERS of
 * audit.h. What is asked here holds whatever program writes the tables.
 */
#include "query/audit/audit.h"

#include "cascade/cascade.h"
#include "cascade/rows.h"

void
csc_audit_others_event(csc_audit *audit, const cascade_event_row *row)
{
    int64_t next = (int64_t)csc_audit_highest(audit) + 1;

    if (csc_audit_find(audit, row->function_id) != NULL)
        return;
    if (audit->row.status == CASCADE_RUNNING && row->function_id == next)
        return; /* a node of a user interface has pushed it: its own is next */
    csc_audit_add(audit, CSC_AUDIT_WRITER, row->function_id,
                  "event %lld was written by execution %d, which is not there",
                  (long long)row->id, row->function_id);
}

static void
check_fn_id(csc_audit *audit)
{
    int32_t fn_id = audit->row.fn_id;

    if (csc_audit_find(audit, fn_id) == NULL)
        csc_audit_add(audit, CSC_AUDIT_FN_ID, -1,
                      "fn_id is %d, and there is no execution %d", fn_id,
                      fn_id);
}

/* They count from 0, from 1, or from below. */
static void
check_gaps(csc_audit *audit)
{
    int32_t first = audit->seen_count > 0 ? audit->seen[0].function_id : 0;

    csc_audit_gaps(audit, first > 1 ? 1 : first,
                   ": deleted, or asked for by another program and never used");
}

static void
check_status(csc_audit *audit)
{
    size_t running = 0;

    for (size_t i = 0; i < audit->seen_count; i++)
        running += audit->seen[i].status == CASCADE_EXECUTION_RUNNING;
    if (audit->row.status != CASCADE_RUNNING && running == audit->seen_count)
        csc_audit_add(audit, CSC_AUDIT_STATUS, -1,
                      "the cascade has ended, and no execution of it has");
    if (audit->row.status == CASCADE_RUNNING && audit->has_run && running == 0)
        csc_audit_add(
            audit, CSC_AUDIT_STATUS, -1,
            "the cascade is RUNNING and was adopted, and no execution "
            "of it is RUNNING");
}

static void
check_run(csc_audit *audit)
{
    bool running = audit->row.status == CASCADE_RUNNING;

    if (running && !audit->has_run)
        csc_audit_add(audit, CSC_AUDIT_RUN, -1,
                      "the cascade is RUNNING and has no run; adopt it, unless "
                      "the program that began it goes on with it");
    if (!running && audit->has_run && audit->message_count == 0)
        csc_audit_add(audit, CSC_AUDIT_RUN, -1,
                      "the cascade has ended and has a run, though no message "
                      "waits for it");
    if (audit->has_run)
        csc_audit_counters(audit);
}

/* It was created, and nothing was claimed for it: adoption ends it so. */
static bool
is_empty(const csc_audit *audit)
{
    return audit->seen_count == 0 && audit->row.fn_id == 0 &&
           audit->row.status != CASCADE_ERROR;
}

void
csc_audit_others_end(csc_audit *audit)
{
    if (!is_empty(audit)) {
        check_fn_id(audit);
        check_gaps(audit);
        check_status(audit);
    }
    check_run(audit);
}
