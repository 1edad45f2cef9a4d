/* SPDX-License-Identifier: MIT
 *
 * See start_records.h. Only reads. A load that meets a row which cannot be read
 * ends there, so the cascades are loaded one by one then.
 */
#include "query/start_records.h"

#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/wait.h"
#include "state/full_output.h"
#include "state/start_record.h"
#include "store/move.h"
#include "store/store.h"

typedef struct reading {
    const cascade_uuid *ids;
    size_t count;
    size_t at; /* rows come in the order of the ids */
    csc_family_sink sink;
    void *context;
} reading;

static cascade_err
note_execution(void *context, const cascade_execution_row *row)
{
    reading *r = context;
    csc_record record;
    csc_meta meta;
    cascade_err err = CASCADE_OK;

    if (row->function_id != 0)
        return CASCADE_OK;
    while (r->at < r->count &&
           !csc_uuid_equal(&r->ids[r->at], &row->cascade_id))
        r->at++;
    if (r->at == r->count)
        return CASCADE_OK;
    csc_full_output_read(row, &record);
    err = csc_start_record_read(record.meta, &meta);
    if (err == CASCADE_OK)
        r->sink(r->context, r->at,
                record.meta.data != NULL ? CSC_FAMILY_RECORDED
                                         : CSC_FAMILY_FOREIGN,
                &meta);
    else
        csc_start_record_fini(&meta);
    return err;
}

/* Of `count` ids from the one at `from` on. */
static cascade_err
load(cascade_store *store, reading *r, size_t from, size_t count)
{
    const cascade_load_sink sink = {.context = r,
                                    .on_cascade = csc_get_pass,
                                    .on_execution = note_execution};

    r->at = from;
    return csc_move_load(store, &r->ids[from], count, CASCADE_LOAD_FAMILY,
                         &sink);
}

cascade_err
csc_start_records_read(cascade_store *store, const cascade_uuid *ids,
                       size_t count, csc_family_sink sink, void *context)
{
    reading r = {.ids = ids, .count = count, .sink = sink, .context = context};
    cascade_err err = count > 0 ? load(store, &r, 0, count) : CASCADE_OK;

    if (err != CASCADE_ERR_CORRUPT)
        return err;
    err = CASCADE_OK;
    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        csc_meta none = {.run_number = 1};

        err = load(store, &r, i, 1);
        if (err != CASCADE_ERR_CORRUPT)
            continue;
        sink(context, i, CSC_FAMILY_UNREADABLE, &none);
        err = CASCADE_OK;
    }
    return err;
}
