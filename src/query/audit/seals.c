/* SPDX-License-Identifier: MIT */
#include "query/audit/seals.h"

#include <stddef.h>

#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/audit/faults.h"
#include "store/move.h"
#include "store/store.h"

#define PAGE 200

/* A page of seals, by id, and which of them have a cascade. */
typedef struct page {
    cascade_uuid ids[PAGE];
    bool there[PAGE];
    size_t count;
} page;

static cascade_err
note_seal(void *context, const cascade_seal_row *row)
{
    page *p = context;

    p->there[p->count] = false;
    p->ids[p->count++] = row->cascade_id;
    return CASCADE_OK;
}

static cascade_err
note_cascade(void *context, const cascade_row *row)
{
    page *p = context;

    for (size_t i = 0; i < p->count; i++)
        if (csc_uuid_equal(&p->ids[i], &row->id))
            p->there[i] = true;
    return CASCADE_OK;
}

static cascade_err
look(cascade_store *store, page *p)
{
    const cascade_load_sink sink = {.context = p, .on_cascade = note_cascade};

    if (p->count == 0)
        return CASCADE_OK;
    return csc_move_load(store, p->ids, p->count, 0, &sink);
}

/* The id before it, which is not the nil id. */
static cascade_uuid
before(const cascade_uuid *id)
{
    cascade_uuid result = *id;

    for (size_t i = sizeof(result.bytes); i-- > 0;)
        if (result.bytes[i]-- != 0)
            break;
    return result;
}

static cascade_err
look_again(cascade_store *store, const cascade_uuid *id, csc_faults *found)
{
    const cascade_fault fault = {
        .id = *id,
        .text = "there is a seal, and no cascade: its rows were deleted"};
    cascade_uuid after = before(id);
    page again = {.count = 0};
    cascade_err err = csc_move_seals(store, &after, 1, note_seal, &again);

    if (err != CASCADE_OK || again.count == 0 ||
        !csc_uuid_equal(&again.ids[0], id))
        return err;
    return csc_faults_add(found, &fault);
}

cascade_err
csc_seals_next(cascade_store *store, cascade_uuid *after, csc_faults *found,
               bool *more)
{
    page p = {.count = 0};
    cascade_err err = CASCADE_OK;

    csc_faults_clear(found);
    *more = false;
    if (store->ring == NULL)
        return CASCADE_OK;
    err = csc_move_seals(store, after, PAGE, note_seal, &p);
    if (err == CASCADE_OK)
        err = look(store, &p);
    for (size_t i = 0; i < p.count && err == CASCADE_OK; i++)
        if (!p.there[i])
            err = look_again(store, &p.ids[i], found);
    *more = p.count == PAGE;
    if (p.count > 0)
        *after = p.ids[p.count - 1];
    return err;
}
