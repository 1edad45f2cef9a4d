/* SPDX-License-Identifier: MIT
 *
 * From a run that has continued as new to the next one, from outside: by the
 * record that the run ended with. Only reads.
 */
#include "engine/info.h"
#include "engine/record.h"
#include "engine/signal.h"

static cascade_err
note_nothing(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
note_record(void *context, const cascade_execution_row *row)
{
    cascade_uuid *next = context;
    csc_record record;

    if (row->status != CASCADE_EXECUTION_COMPLETED)
        return CASCADE_OK;
    csc_record_decode(row->full_output, &record);
    if (!csc_uuid_is_nil(&record.continued_as))
        *next = record.continued_as;
    return CASCADE_OK;
}

cascade_err
csc_follow_next(cascade_store *store, const cascade_uuid *id,
                cascade_uuid *next)
{
    cascade_uuid found = {{0}};
    cascade_load_sink sink = {.context = &found,
                              .on_cascade = note_nothing,
                              .on_execution = note_record};
    cascade_info *info = NULL;
    cascade_err err = csc_info_read(store, id, &info);

    if (err == CASCADE_OK && info->status == CASCADE_COMPLETED)
        err = store->driver->load(store->self, id, 1, CASCADE_LOAD_EXECUTIONS,
                                  &sink);
    cascade_info_free(info);
    if (err == CASCADE_OK && csc_uuid_is_nil(&found))
        err = csc_fail(CASCADE_ERR_NOT_FOUND,
                       "the cascade has not continued as new");
    if (err == CASCADE_OK)
        *next = found;
    return err;
}

cascade_err
csc_follow_sent(cascade_store *store, const cascade_uuid *id,
                cascade_sent *sent)
{
    cascade_uuid run = *id;
    cascade_info *info = NULL;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && *sent == CASCADE_SENT_ENDED) {
        err = csc_follow_next(store, &run, &run);
        if (err == CASCADE_OK)
            err = csc_info_read(store, &run, &info);
        if (err == CASCADE_OK && info->status == CASCADE_RUNNING)
            *sent = CASCADE_SENT;
        cascade_info_free(info);
        info = NULL;
    }
    if (err == CASCADE_OK || err == CASCADE_ERR_NOT_FOUND)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                    "it was sent, and the cascade had ended; whether a later "
                    "run of it goes on cannot be read: %s",
                    cascade_errmsg());
}
