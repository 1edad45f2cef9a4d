/* SPDX-License-Identifier: MIT
 *
 * The moves of the wrapping driver that are in sub-tables: chains of runs,
 * management, integrity, limits of queues. See wrap_store.h.
 */
#include "support/wrap_internal.h"

/* ---- Chains, management and integrity ----------------------------------- */

static cascade_err
wrap_key(void *self, const char *user_id, const char *key, int32_t *run_number)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_KEY};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->chain->key(h->self, user_id, key, run_number));
}

static cascade_err
wrap_find(void *self, const char *const *paths, size_t count,
          cascade_found *where)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_FIND};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->chain->find(h->self, paths, count, where));
}

static cascade_err
wrap_link(void *self, const cascade_link *link)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_LINK};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found, h->inner->chain->link(h->self, link));
}

static cascade_err
wrap_sweep(void *self, const cascade_uuid *root, size_t limit,
           cascade_uuid *cursor, bool *more)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_SWEEP};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(
        h, &call, &found,
        h->inner->chain->sweep(h->self, root, limit, cursor, more));
}

static cascade_err
wrap_strays(void *self, cascade_stray kind, size_t limit, cascade_uuid *cursor,
            cascade_fault_sink sink, void *context, bool *more)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_STRAYS};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->manage->strays(h->self, kind, limit, cursor,
                                               sink, context, more));
}

static cascade_err
wrap_pause(void *self, const char *queue, bool paused, const char *about,
           bool *changed)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_PAUSE};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(
        h, &call, &found,
        h->inner->manage->pause(h->self, queue, paused, about, changed));
}

static cascade_err
wrap_queues(void *self, cascade_queue_sink sink, void *context)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_QUEUES};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->manage->queues(h->self, sink, context));
}

static cascade_err
wrap_totals(void *self, cascade_totals *totals)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_TOTALS};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->manage->totals(h->self, totals));
}

static cascade_err
wrap_schema(void *self, cascade_migration_sink sink, void *context)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_SCHEMA};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->manage->schema(h->self, sink, context));
}

static cascade_err
wrap_repair(void *self, const cascade_repair *repairs, size_t count, bool *done)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_REPAIR};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->manage->repair(h->self, repairs, count, done));
}

static cascade_err
wrap_purge(void *self, const cascade_uuid *ids, size_t count,
           int64_t updated_before_ms, size_t *deleted)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_PURGE};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->manage->purge(h->self, ids, count,
                                              updated_before_ms, deleted));
}

static cascade_err
wrap_erase(void *self, const cascade_uuid *engine_id, bool *more)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_ERASE, .engine_id = engine_id};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->manage->erase(h->self, engine_id, more));
}

static cascade_err
wrap_seal(void *self, const cascade_reseal *reseals, size_t count, bool *done)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_SEAL};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->integrity->seal(h->self, reseals, count, done));
}

static cascade_err
wrap_seals(void *self, const cascade_uuid *after, size_t limit,
           cascade_seal_sink sink, void *context)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_SEALS};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(
        h, &call, &found,
        h->inner->integrity->seals(h->self, after, limit, sink, context));
}

/* ---- Limits ------------------------------------------------------------- */

static cascade_err
set_limits(void *self, const cascade_limits_row *row, bool *done,
           int64_t *version)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_SET_LIMITS, .limits = row};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    err = h->inner->limits->set(h->self, row, done, version);
    call.done = done;
    return wrap_leave(h, &call, &found, err);
}

static cascade_err
list_limits(void *self, const char *only, const char *after, size_t limit,
            cascade_limits_sink sink, void *context)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_LIST_LIMITS, .queue = only};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(
        h, &call, &found,
        h->inner->limits->list(h->self, only, after, limit, sink, context));
}

static cascade_err
drop_limits(void *self, const char *queue, bool *done)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_DROP_LIMITS, .queue = queue};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    err = h->inner->limits->drop(h->self, queue, done);
    call.done = done;
    return wrap_leave(h, &call, &found, err);
}

static cascade_err
slots(void *self, const char *queue, const char *key, size_t limit,
      cascade_slot_sink sink, void *context)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_SLOTS, .queue = queue};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(
        h, &call, &found,
        h->inner->limits->slots(h->self, queue, key, limit, sink, context));
}

/* ---- The tables --------------------------------------------------------- */

const cascade_store_chain wrap_chain = {
    .size = sizeof(wrap_chain),
    .key = wrap_key,
    .find = wrap_find,
    .link = wrap_link,
    .sweep = wrap_sweep,
};

const cascade_store_manage wrap_manage = {
    .size = sizeof(wrap_manage),
    .pause = wrap_pause,
    .queues = wrap_queues,
    .totals = wrap_totals,
    .schema = wrap_schema,
    .repair = wrap_repair,
    .purge = wrap_purge,
    .erase = wrap_erase,
    .strays = wrap_strays,
};

const cascade_store_integrity wrap_integrity = {
    .size = sizeof(wrap_integrity),
    .seal = wrap_seal,
    .seals = wrap_seals,
};

const cascade_store_limits wrap_limits = {
    .size = sizeof(wrap_limits),
    .set = set_limits,
    .list = list_limits,
    .drop = drop_limits,
    .slots = slots,
};
