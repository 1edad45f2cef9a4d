/* SPDX-License-Identifier: MIT
 *
 * All rows of one cascade, for cascade_adopt(): they are shown to an audit, to
 * what is counted besides, and, where there is integrity, to the seal that they
 * are to have.
 */
#include "manage/adopt_internal.h"

#include "base/check.h"
#include "base/error.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/audit/audit.h"
#include "query/audit/audit_read.h"
#include "query/audit/audit_seal.h"
#include "state/full_output.h"
#include "state/kind.h"
#include "store/ring.h"
#include "store/seal.h"
#include "store/store.h"

static csc_adopt_naming
naming_of(const char *name)
{
    if (csc_check_name("node name", name) == CASCADE_OK)
        return CSC_ADOPT_NAME_OWN;
    return csc_check_foreign_name("node name", name) == CASCADE_OK
               ? CSC_ADOPT_NAME_FOREIGN
               : CSC_ADOPT_NAME_NONE;
}

static cascade_err
add_fresh(csc_adopt_tally *t, const cascade_execution_row *row)
{
    return t->seals ? csc_seal_add_execution(&t->fresh, row) : CASCADE_OK;
}

static cascade_err
tally_execution(void *context, const cascade_execution_row *row)
{
    csc_adopt_tally *t = context;
    csc_record record;

    t->executions++;
    csc_full_output_read(row, &record);
    if (record.foreign)
        t->foreign++;
    if (row->status != CASCADE_EXECUTION_RUNNING)
        return add_fresh(t, row);
    if (csc_kind_of(row->node_name) == CSC_PART_CHILD) {
        if (t->children < CSC_ADOPT_NOTED_MAX) {
            t->child[t->children] = record.child;
            t->child_part[t->children] = row->function_id;
        }
        t->children++;
    } else if (csc_kind_of(row->node_name) == CSC_PART_NONE) {
        if (t->running < CSC_ADOPT_NOTED_MAX) {
            t->again[t->running] = row->function_id;
            t->names[t->running] = naming_of(row->node_name);
        }
        t->running++;
    }
    return add_fresh(t, row);
}

static cascade_err
tally_event(void *context, const cascade_event_row *row)
{
    csc_adopt_tally *t = context;
    cascade_uuid id;

    if (cascade_uuid_parse(row->key, &id) == CASCADE_OK)
        t->id_keys++;
    if (t->seals)
        csc_seal_add_event(&t->fresh, row);
    return CASCADE_OK;
}

/* CASCADE_ERR_CORRUPT: they cannot be. */
static cascade_err
read_rows(csc_adopter *a, const csc_adopt_target *t)
{
    const cascade_load_sink tap = {.context = &a->tally,
                                   .on_execution = tally_execution,
                                   .on_event = tally_event};
    const csc_ring *ring = a->store->ring;
    cascade_err err = csc_audit_begin(&a->audit, &t->row, NULL);

    csc_seal_fini(&a->tally.fresh);
    a->tally = (csc_adopt_tally){.seals = ring != NULL};
    if (ring != NULL)
        csc_seal_init(&a->tally.fresh, csc_ring_current(ring), &t->row.id);
    if (err == CASCADE_OK)
        err = csc_audit_read(a->store, &a->audit, &tap);
    return err == CASCADE_OK ? csc_audit_end(&a->audit, 1) : err;
}

static csc_adopt_verdict
judge_seal(csc_adopter *a, const char *left)
{
    if (a->store->ring == NULL)
        return CSC_ADOPT_HOLDS;
    if (!csc_audit_seal_is_there(&a->audit))
        return CSC_ADOPT_REFUSED;
    if (csc_audit_seal_moved(&a->audit))
        return CSC_ADOPT_MOVED;
    if (!csc_audit_seal_is_broken(&a->audit))
        return CSC_ADOPT_HOLDS;
    if (a->options.trust)
        return CSC_ADOPT_TRUSTED;
    csc_adopt_tell_seal(a, left);
    return CSC_ADOPT_REFUSED;
}

cascade_err
csc_adopt_read(csc_adopter *a, csc_adopt_target *t, const char *left)
{
    cascade_err err = read_rows(a, t);

    t->verdict = CSC_ADOPT_REFUSED;
    if (err == CASCADE_OK)
        t->verdict = judge_seal(a, left);
    if (err != CASCADE_ERR_CORRUPT)
        return err;
    csc_adopt_tell_unreadable(a, &t->row.id, cascade_errmsg());
    return CASCADE_OK;
}
