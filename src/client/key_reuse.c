/* SPDX-License-Identifier: MIT
 *
 * See key_reuse.h.
 *
 * Of two who terminate the same run each is told that it has ended, and both
 * come to the same next number: one starts that run, and the other finds it. So
 * the key is looked at once, before the call sends anything: a later look might
 * meet the run that the other has just started. A run that continued as new
 * while it was to be terminated has passed that on: the number counts from
 * where its chain has ended.
 */
#include "client/key_reuse.h"

#include "base/uuid.h"
#include "cascade/cascade.h"
#include "change/op.h"
#include "client/command.h"
#include "query/execution_info.h"
#include "query/run_chain.h"
#include "store/move.h"
#include "store/store.h"

cascade_err
csc_key_reuse_look(cascade_store *store, csc_key_run *run)
{
    cascade_info *info = NULL;
    cascade_err err = csc_get_read(store, &run->id, &info);

    run->status = err == CASCADE_OK ? info->status : 0;
    run->updated_at_ms = err == CASCADE_OK ? info->updated_at_ms : 0;
    cascade_info_free(info);
    return err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK : err;
}

static cascade_err
read_current(cascade_store *store, const char *user_id, const char *key,
             cascade_reuse reuse, csc_key_run *run)
{
    cascade_err err = csc_move_key(store, user_id, key, &run->number);

    run->status = CASCADE_RUNNING;
    run->updated_at_ms = 0;
    if (err != CASCADE_OK)
        return err;
    run->id = csc_uuid_v8(user_id, key, run->number);
    return run->number > 1 || reuse != CASCADE_REUSE_NEVER
               ? csc_key_reuse_look(store, run)
               : CASCADE_OK;
}

/* Whether the run had its end by continuing as new, between the look at its key
 * and the one at it: then it is not the current one. */
static cascade_err
has_continued(cascade_store *store, const char *user_id, const char *key,
              const csc_key_run *run, bool *continued)
{
    int32_t number = run->number;
    cascade_uuid next;
    cascade_err err = CASCADE_OK;

    *continued = false;
    if (run->status == CASCADE_COMPLETED)
        err = csc_move_key(store, user_id, key, &number);
    if (err != CASCADE_OK || number == run->number)
        return err;
    err = csc_run_chain_next(store, &run->id, &next);
    *continued = err == CASCADE_OK;
    return err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK : err;
}

cascade_err
csc_key_reuse_read(cascade_store *store, const char *user_id, const char *key,
                   cascade_reuse reuse, csc_key_run *run)
{
    bool continued = true;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && continued) {
        err = read_current(store, user_id, key, reuse, run);
        if (err == CASCADE_OK)
            err = has_continued(store, user_id, key, run, &continued);
    }
    return err;
}

/* Ends it, or what it has continued as by then, which is the run in `run` then.
 */
static cascade_err
terminate(cascade_store *store, csc_key_run *run)
{
    const cascade_request_options options = {
        .size = sizeof(options),
        .reason = "another run of its key was started",
        .wait_ms = store->config.deadline_ms};
    const csc_command_spec spec = {.kind = CSC_MESSAGE_TERMINATE,
                                   .options = &options};
    cascade_err err = csc_command_request(store, &run->id, &spec);

    if (err != CASCADE_OK && err != CASCADE_ERR_ENDED &&
        err != CASCADE_ERR_NOT_FOUND)
        return err;
    do {
        err = csc_run_chain_next(store, &run->id, &run->id);
        if (err == CASCADE_OK)
            run->number++;
    } while (err == CASCADE_OK);
    return err == CASCADE_ERR_NOT_FOUND ? csc_key_reuse_look(store, run) : err;
}

bool
csc_key_reuse_has(const csc_key_run *run)
{
    return run->number > 1 || run->status != 0;
}

cascade_err
csc_key_reuse_next(cascade_store *store, cascade_reuse reuse, csc_key_run *run,
                   int32_t *anew)
{
    bool ended =
        run->status == CASCADE_COMPLETED || run->status == CASCADE_ERROR;
    cascade_err err = CASCADE_OK;

    *anew = 0;
    if (ended &&
        (reuse == CASCADE_REUSE_NEVER ||
         (reuse == CASCADE_REUSE_FAILED && run->status == CASCADE_COMPLETED)))
        return CASCADE_OK;
    if (run->status == CASCADE_RUNNING && reuse != CASCADE_REUSE_TERMINATE)
        return CASCADE_OK;
    if (run->status == CASCADE_RUNNING)
        err = terminate(store, run);
    if (err == CASCADE_OK && run->number < INT32_MAX)
        *anew = run->number + 1;
    return err;
}
