/* SPDX-License-Identifier: MIT */
#include "query/audit/strays.h"

#include <string.h>

#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "query/audit/faults.h"
#include "store/move.h"
#include "store/store.h"

/* The second look at a page. */
typedef struct look {
    const csc_faults *before;
    csc_faults *found;
    bool of_cascades;
} look;

static cascade_err
note(void *context, const cascade_fault *fault)
{
    return csc_faults_add(context, fault);
}

static bool
was_found(const csc_faults *before, const cascade_fault *fault)
{
    for (const csc_fault *f = before->first; f != NULL; f = f->next)
        if (csc_uuid_equal(&f->id, &fault->id) &&
            strcmp(f->text, fault->text) == 0)
            return true;
    return false;
}

static cascade_err
note_again(void *context, const cascade_fault *fault)
{
    const look *l = context;
    cascade_fault told = {.text = fault->text};

    if (!was_found(l->before, fault))
        return CASCADE_OK;
    if (l->of_cascades)
        told.id = fault->id;
    return csc_faults_add(l->found, &told);
}

static cascade_err
look_twice(cascade_store *store, csc_strays *strays, csc_faults *before,
           csc_faults *found, bool *more)
{
    look l = {.before = before,
              .found = found,
              .of_cascades = strays->kind < CASCADE_STRAY_LANES};
    cascade_uuid cursor = strays->cursor;
    cascade_err err = csc_move_strays(store, strays->kind, CASCADE_STRAYS_MAX,
                                      &strays->cursor, note, before, more);

    if (err != CASCADE_OK || before->count == 0)
        return err;
    strays->cursor = cursor;
    return csc_move_strays(store, strays->kind, CASCADE_STRAYS_MAX,
                           &strays->cursor, note_again, &l, more);
}

cascade_err
csc_strays_next(cascade_store *store, csc_strays *strays, csc_faults *found,
                bool *more)
{
    csc_faults before = {.count = 0};
    cascade_err err = CASCADE_OK;

    csc_faults_clear(found);
    if (strays->kind == 0)
        strays->kind = CASCADE_STRAY_EXECUTIONS;
    err = look_twice(store, strays, &before, found, more);
    csc_faults_fini(&before);
    if (err != CASCADE_OK || *more)
        return err;
    *more = strays->kind < CASCADE_STRAY_ENGINES;
    strays->kind++;
    strays->cursor = (cascade_uuid){{0}};
    return CASCADE_OK;
}
