/* SPDX-License-Identifier: MIT
 *
 * Retry and rerun, as their callers see them. Both are messages (command.h);
 * whoever owns the cascade carries them out, or this call, where no engine is
 * alive (receive.c, reset.c).
 *
 * Whether a cascade may be retried is known for certain only to who carries it
 * out: of two that are retried at a time, the one that is received second finds
 * it RUNNING, and is recorded as undelivered. A rerun is looked at before, so
 * that a function_id that makes no sense is refused without a trace; it may
 * become superseded on the way.
 *
 * If the process dies in the call, the message is there or not; with a request
 * id of its own the caller may ask again, and is told of the one receipt.
 */
#include "cascade/manage.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/op.h"
#include "client/command.h"
#include "query/run_chain.h"
#include "state/full_output.h"
#include "state/reset_plan.h"
#include "state/supersede.h"
#include "store/move.h"
#include "store/store.h"

static cascade_err
tell_refusal(const char *kind, const char *text)
{
    return csc_fail(csc_reset_plan_refusal_err(text), "%s: %s", kind, text);
}

cascade_err
cascade_retry(cascade_store *store, const cascade_uuid *id,
              const cascade_request_options *options)
{
    return csc_command_request(store, id,
                               &(csc_command_spec){.kind = CSC_MESSAGE_RETRY,
                                                   .options = options,
                                                   .of_ended = true,
                                                   .refusal = tell_refusal});
}

/* ---- Rerun -------------------------------------------------------------- */

/* What is looked at before a rerun is asked for. */
typedef struct sight {
    csc_course course;
    int32_t from;
    const char *path; /* of the receipt; NULL: of a new request */
    bool cascade;
    bool there;    /* the function_id */
    bool received; /* it was asked for before */
} sight;

static cascade_err
see_cascade(void *context, const cascade_row *row)
{
    (void)row;
    ((sight *)context)->cascade = true;
    return CASCADE_OK;
}

static cascade_err
see_execution(void *context, const cascade_execution_row *row)
{
    sight *seen = context;
    csc_record record;

    seen->there = seen->there || row->function_id == seen->from;
    if (seen->path != NULL && strcmp(row->node_instance_id, seen->path) == 0)
        seen->received = true;
    csc_full_output_read(row, &record);
    return csc_supersede_note(&seen->course, row, &record);
}

static cascade_err
judge(sight *seen)
{
    cascade_err err = csc_supersede_settle(&seen->course, CSC_COURSE_NOW);
    int32_t by = CSC_COURSE_NONE;

    if (err != CASCADE_OK || seen->received)
        return err;
    if (!seen->cascade)
        return csc_fail(CASCADE_ERR_NOT_FOUND,
                        "rerun: there is no such cascade");
    if (!seen->there)
        return csc_fail(CASCADE_ERR_INVALID,
                        "rerun: the cascade has no function_id %d",
                        (int)seen->from);
    by = csc_supersede_by(&seen->course, seen->from);
    if (by != CSC_COURSE_NONE)
        return csc_fail(CASCADE_ERR_INVALID,
                        "rerun: function_id %d is superseded by %d; give one "
                        "that counts",
                        (int)seen->from, (int)by);
    return CASCADE_OK;
}

static cascade_err
look(cascade_store *store, const cascade_uuid *id,
     const cascade_rerun_options *options)
{
    csc_arena arena = {0};
    sight seen = {.from = options->from};
    cascade_load_sink sink = {.context = &seen,
                              .on_cascade = see_cascade,
                              .on_execution = see_execution};
    cascade_err err = CASCADE_OK;

    if (options->request_id != NULL) {
        seen.path = csc_run_chain_signal_path(
            store, &arena, id, CSC_MESSAGE_RERUN, options->request_id, 0);
        if (seen.path == NULL)
            err = csc_fail_memory();
    }
    if (err == CASCADE_OK)
        err = csc_move_load(store, id, 1, CASCADE_LOAD_EXECUTIONS, &sink);
    if (err == CASCADE_OK)
        err = judge(&seen);
    csc_supersede_fini(&seen.course);
    csc_arena_fini(&arena);
    return err;
}

cascade_err
cascade_rerun(cascade_store *store, const cascade_uuid *id,
              const cascade_rerun_options *options)
{
    cascade_rerun_options known = {0};
    cascade_request_options request = {.size = sizeof(request)};
    cascade_request_options checked = {0};
    const csc_command_spec spec = {.kind = CSC_MESSAGE_RERUN,
                                   .from = &known.from,
                                   .options = &request,
                                   .of_ended = true,
                                   .refusal = tell_refusal};
    cascade_err err =
        csc_check_options("rerun options", options, &known, sizeof(known));

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    request.request_id = known.request_id;
    request.reason = known.reason;
    request.by = known.by;
    request.wait_ms = known.wait_ms;
    if (err == CASCADE_OK && known.from < 0)
        err =
            csc_fail(CASCADE_ERR_INVALID,
                     "rerun: from is %d; give a function_id", (int)known.from);
    if (err == CASCADE_OK && store != NULL && id != NULL)
        err = csc_command_check(&spec, &checked);
    if (err == CASCADE_OK && store != NULL && id != NULL)
        err = look(store, id, &known);
    return err == CASCADE_OK ? csc_command_request(store, id, &spec) : err;
}
