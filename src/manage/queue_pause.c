/* SPDX-License-Identifier: MIT
 *
 * Pausing a queue from outside: a row of the store's, of which its claims tell.
 *
 *   cascade_queue_pause() --> the row --> wake: engines claim, and are told
 *                                         (pause.c)
 *
 * If the process dies in between, or the wake is lost, engines are told by the
 * next claim that they make anyway.
 */
#include "cascade/manage.h"

#include "base/check.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json_object.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "client/command.h"
#include "held/wakeup.h"
#include "store/move.h"
#include "store/store.h"

/* {"by":...,"reason":...,"request":...}, each where it is so. */
static cascade_err
write_about(const cascade_request_options *options, csc_buf *about)
{
    csc_json_object writer;

    csc_json_object_begin(&writer, about);
    csc_json_object_add_string(&writer, "by", options->by);
    csc_json_object_add_string(&writer, "reason", options->reason);
    csc_json_object_add_string(&writer, "request", options->request_id);
    csc_json_object_end(&writer);
    return about->failed ? csc_fail_memory() : CASCADE_OK;
}

static cascade_err
check_queue(const cascade_store *store, const char *queue, const char *what)
{
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "%s: store is NULL", what);
    err = csc_check_name("queue", queue);
    return err == CASCADE_OK ? csc_store_refuse_inside(store, what) : err;
}

static cascade_err
pause_queue(cascade_store *store, const char *queue, bool paused,
            const char *about, bool *changed)
{
    cascade_err err = csc_move_pause(store, queue, paused, about, changed);

    if (err != CASCADE_OK || !*changed)
        return err;
    csc_wakeup_tell_all(store);
    (void)csc_move_wake(store);
    return CASCADE_OK;
}

cascade_err
cascade_queue_pause(cascade_store *store, const char *queue,
                    const cascade_request_options *options)
{
    static const char what[] = "pause of a queue";
    const csc_command_spec spec = {.kind = what, .options = options};
    cascade_request_options known = {0};
    csc_buf about = {0};
    bool changed = false;
    cascade_err err = check_queue(store, queue, what);

    if (err == CASCADE_OK)
        err = csc_command_check(&spec, &known);
    if (err == CASCADE_OK)
        err = write_about(&known, &about);
    if (err == CASCADE_OK)
        err = pause_queue(store, queue, true, about.data, &changed);
    csc_buf_fini(&about);
    if (err != CASCADE_OK)
        return err;
    return changed ? csc_ok()
                   : csc_fail(CASCADE_ERR_EXISTS,
                              "%s: queue %s is paused already", what, queue);
}

cascade_err
cascade_queue_resume(cascade_store *store, const char *queue)
{
    static const char what[] = "resume of a queue";
    bool changed = false;
    cascade_err err = check_queue(store, queue, what);

    if (err == CASCADE_OK)
        err = pause_queue(store, queue, false, "{}", &changed);
    if (err != CASCADE_OK)
        return err;
    return changed ? csc_ok()
                   : csc_fail(CASCADE_ERR_NOT_FOUND,
                              "%s: queue %s is not paused", what, queue);
}
