/* SPDX-License-Identifier: MIT
 *
 * The limits of a queue, set from outside: a row of the store's, by which its
 * claims go.
 *
 *   cascade_queue_set() --> the row --> wake: engines claim, and are told
 *                                       (held/run/pause.c)
 *
 * If the process dies in between, or the wake is lost, engines are told by the
 * next claim that they make anyway.
 */
#include "cascade/manage.h"

#include <string.h>

#include "base/check.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json_object.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/store_limits.h"
#include "held/wakeup.h"
#include "store/move.h"
#include "store/store.h"

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
check_limits(const cascade_queue_limits *given, cascade_queue_limits *known)
{
    cascade_err err = CASCADE_OK;

    if (given == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "limits of a queue: NULL");
    err = csc_check_options("limits of a queue", given, known, sizeof(*known));
    if (err == CASCADE_OK && known->by != NULL)
        err = csc_check_text("by", known->by);
    if (err == CASCADE_OK && known->reason != NULL)
        err = csc_check_text("reason", known->reason);
    return err;
}

/* {"by":...,"reason":...}, each where it is so. */
static cascade_err
write_about(const cascade_queue_limits *limits, csc_buf *about)
{
    csc_json_object writer;

    csc_json_object_begin(&writer, about);
    csc_json_object_add_string(&writer, "by", limits->by);
    csc_json_object_add_string(&writer, "reason", limits->reason);
    csc_json_object_end(&writer);
    return about->failed ? csc_fail_memory() : CASCADE_OK;
}

/* The caller's numbers for versions leave 0, which is what is not set, to the
 * usual case. */
static int64_t
wanted_version(int64_t given)
{
    if (given == 0)
        return CASCADE_LIMITS_ANY;
    return given == -1 ? 0 : given;
}

static void
tell_engines(cascade_store *store)
{
    csc_wakeup_tell_all(store);
    (void)csc_move_wake(store);
}

static cascade_err
set_limits(cascade_store *store, const cascade_limits_row *row,
           int64_t *version)
{
    bool done = false;
    cascade_err err = csc_move_set_limits(store, row, &done, version);

    if (err != CASCADE_OK)
        return err;
    if (!done && *version == 0)
        return csc_fail(CASCADE_ERR_EXISTS,
                        "queue %s has no limits of version %lld; others may "
                        "have taken them away: set them anew",
                        row->queue, (long long)row->version);
    if (!done)
        return csc_fail(CASCADE_ERR_EXISTS,
                        "the limits of queue %s have version %lld; look at "
                        "them, and set them by that",
                        row->queue, (long long)*version);
    tell_engines(store);
    return CASCADE_OK;
}

cascade_err
cascade_queue_set(cascade_store *store, const char *queue,
                  const cascade_queue_limits *limits, int64_t *version)
{
    cascade_queue_limits known = {0};
    csc_buf about = {0};
    int64_t became = 0;
    cascade_err err = check_queue(store, queue, "limits of a queue");

    if (err == CASCADE_OK)
        err = check_limits(limits, &known);
    if (err == CASCADE_OK)
        err = write_about(&known, &about);
    if (err == CASCADE_OK) {
        const cascade_limits_row row = {
            .queue = queue,
            .version = wanted_version(known.version),
            .running_max = known.running_max,
            .key_running_max = known.key_running_max,
            .about = about.data};

        err = set_limits(store, &row, &became);
    }
    csc_buf_fini(&about);
    if (err != CASCADE_OK)
        return err;
    if (version != NULL)
        *version = became;
    return csc_ok();
}

static cascade_err
note_limits(void *context, const cascade_limits_row *row)
{
    cascade_queue_limits *limits = context;

    limits->running_max = row->running_max;
    limits->key_running_max = row->key_running_max;
    limits->version = row->version;
    return CASCADE_OK;
}

static cascade_err
read_limits(cascade_store *store, const char *queue,
            cascade_queue_limits *limits)
{
    cascade_err err =
        csc_move_list_limits(store, queue, "", 1, note_limits, limits);

    if (err == CASCADE_OK && limits->version == 0)
        err = csc_fail(CASCADE_ERR_NOT_FOUND, "queue %s has no limits", queue);
    return err;
}

cascade_err
cascade_queue_get(cascade_store *store, const char *queue,
                  cascade_queue_limits *limits)
{
    cascade_queue_limits known = {.version = 0};
    cascade_err err = check_queue(store, queue, "limits of a queue");

    if (err == CASCADE_OK && (limits == NULL || limits->size < sizeof(size_t)))
        err = csc_fail(CASCADE_ERR_INVALID,
                       "limits of a queue: give limits with their size set to "
                       "sizeof(cascade_queue_limits)");
    if (err == CASCADE_OK)
        err = read_limits(store, queue, &known);
    if (err != CASCADE_OK)
        return err;
    known.size = limits->size;
    memcpy(limits, &known,
           limits->size < sizeof(known) ? limits->size : sizeof(known));
    return csc_ok();
}

cascade_err
cascade_queue_unset(cascade_store *store, const char *queue)
{
    cascade_queue_limits there = {.version = 0};
    bool done = false;
    cascade_err err = check_queue(store, queue, "limits of a queue");

    if (err == CASCADE_OK)
        err = read_limits(store, queue, &there);
    if (err == CASCADE_OK) /* others may have been faster: they are gone */
        err = csc_move_drop_limits(store, queue, &done);
    if (err != CASCADE_OK)
        return err;
    tell_engines(store);
    return csc_ok();
}
