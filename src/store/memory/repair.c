/* SPDX-License-Identifier: MIT
 *
 * Mending the memory store: repair and purge. Both leave alone what has a run
 * (somebody may be at work on it) or is not as the caller saw it; under the
 * mutex these are looked at and changed in one.
 *
 * A repair is made at once, one after the other, so that a second one for the
 * same cascade meets what the first has left; when one fails, those before it
 * are undone in the reverse order. A purge, too, is made or undone as a whole.
 */
#include "store/memory/internal.h"

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

/* ---- Repair ------------------------------------------------------------- */

typedef struct repair_plan {
    const cascade_repair *repair;
    csc_memory_run *run; /* new, and not the model's */
    csc_memory_key *key; /* the same */
    csc_memory_key_move key_move;
    csc_memory_seal *seal;       /* new; made: what it has taken the place of */
    csc_memory_cascade *cascade; /* the model's that was changed */
} repair_plan;

static bool
prepare(repair_plan *plan, const cascade_repair *repair)
{
    csc_assert(plan->run == NULL && plan->seal == NULL);
    plan->repair = repair;
    if (repair->seal != NULL) {
        plan->seal = csc_memory_seals_make(repair->seal);
        if (plan->seal == NULL)
            return false;
    }
    if (!repair->starts)
        return true;
    plan->run = csc_memory_runs_make(&repair->was.id, &repair->run);
    if (plan->run == NULL)
        return false;
    plan->run->row.engine_id = (cascade_uuid){{0}};
    plan->run->row.claim_no = 0;
    plan->run->row.takeovers = 0;
    plan->run->row.needs = NULL;
    plan->run->row.slot = 0;
    return true;
}

static void
discard(repair_plan *plan)
{
    csc_mem_free(plan->run);
    csc_mem_free(plan->key);
    csc_mem_free(plan->seal);
}

static bool
is_as_read(const csc_memory_cascade *cascade, const cascade_repair *repair)
{
    return cascade != NULL && cascade->run == NULL &&
           cascade->row.status == repair->was.status &&
           cascade->row.fn_id == repair->was.fn_id &&
           (repair->seal == NULL ||
            csc_memory_seals_is(cascade->seal, repair->was_seal));
}

/* Back again, too. */
static void
exchange_seal(repair_plan *plan)
{
    csc_memory_seal *other = plan->cascade->seal;

    csc_assert(plan->cascade != NULL);
    if (plan->repair->seal == NULL)
        return;
    plan->cascade->seal = plan->seal;
    plan->seal = other;
}

/* What can fail of it: a place for the run, and the key. */
static cascade_err
reserve(csc_memory_model *model, repair_plan *plan,
        const csc_memory_cascade *cascade)
{
    const cascade_repair *repair = plan->repair;
    char id[CASCADE_UUID_TEXT_SIZE];
    cascade_err err;

    csc_assert(csc_lock_is_held(&model->mutex) && plan->key == NULL);
    if (plan->run != NULL) {
        if (!csc_check_is_priority(plan->run->row.priority))
            return csc_fail(CASCADE_ERR_REFUSED,
                            "cascade %s: the priority of its run is not 0 to 9",
                            cascade_uuid_format(&repair->was.id, id));
        err = csc_memory_runs_reserve(model, &plan->run->row);
        if (err != CASCADE_OK)
            return err;
    }
    if (repair->key == NULL)
        return CASCADE_OK;
    plan->key = csc_memory_messages_make_key(cascade->row.user_id, repair->key,
                                             repair->run_number);
    if (plan->key == NULL)
        return csc_fail_memory();
    err = csc_memory_messages_move_key(model, plan->key, &plan->key_move);
    if (plan->key_move.row == plan->key)
        plan->key = NULL;
    return err;
}

static cascade_err
make(csc_memory_model *model, repair_plan *plan)
{
    const cascade_repair *repair = plan->repair;
    csc_memory_cascade *cascade =
        csc_map_get(&model->cascades, &repair->was.id);
    cascade_err err;

    csc_assert(csc_lock_is_held(&model->mutex) && plan->cascade == NULL);
    if (!is_as_read(cascade, repair))
        return CASCADE_OK;
    err = reserve(model, plan, cascade);
    if (err != CASCADE_OK)
        return err;
    plan->cascade = cascade;
    cascade->row.status = repair->status;
    cascade->row.fn_id = repair->fn_id;
    exchange_seal(plan);
    if (plan->run != NULL) {
        cascade->run = plan->run;
        plan->run = NULL;
        csc_memory_runs_place(model, cascade->run);
    }
    return CASCADE_OK;
}

static void
undo(csc_memory_model *model, repair_plan *plan)
{
    csc_memory_cascade *cascade = plan->cascade;
    csc_memory_key *row = plan->key_move.row;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (cascade == NULL)
        return;
    cascade->row.status = plan->repair->was.status;
    cascade->row.fn_id = plan->repair->was.fn_id;
    exchange_seal(plan);
    if (cascade->run != NULL) {
        csc_memory_runs_take(model, cascade->run);
        plan->run = cascade->run;
        cascade->run = NULL;
    }
    if (row != NULL && plan->key_move.before == 0)
        plan->key = row;
    csc_memory_messages_undo_key(model, &plan->key_move);
}

static cascade_err
make_all(csc_memory_model *model, repair_plan *plans, size_t count)
{
    cascade_err err = CASCADE_OK;
    size_t at = 0;

    csc_assert(csc_lock_is_held(&model->mutex));
    while (at < count && err == CASCADE_OK)
        err = make(model, &plans[at++]);
    while (err != CASCADE_OK && at > 0)
        undo(model, &plans[--at]);
    return err;
}

cascade_err
csc_memory_mend_repair(void *self, const cascade_repair *repairs, size_t count,
                       bool *done)
{
    csc_memory *memory = self;
    csc_arena arena = {0};
    repair_plan *plans;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    plans = csc_arena_alloc(&arena, count, sizeof(plans[0]));
    if (plans == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        if (!prepare(&plans[i], &repairs[i]))
            err = csc_fail_memory();
    }
    if (err != CASCADE_OK)
        goto out;
    csc_lock_take(&memory->model->mutex);
    err = make_all(memory->model, plans, count);
    csc_lock_give(&memory->model->mutex);
    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        done[i] = plans[i].cascade != NULL;
out:
    for (size_t i = 0; i < count; i++)
        discard(&plans[i]);
    csc_arena_fini(&arena);
    return err;
}

/* ---- Purge -------------------------------------------------------------- */

static bool
may_go(const csc_memory_model *model, const csc_memory_cascade *cascade,
       int64_t updated_before_ms)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    return cascade != NULL && cascade->row.status != CASCADE_RUNNING &&
           cascade->run == NULL &&
           cascade->row.updated_at_ms < updated_before_ms &&
           csc_map_get(&model->boxes, &cascade->row.id) == NULL;
}

static cascade_err
stage_purge(csc_memory_model *model, const cascade_uuid *ids, size_t count,
            int64_t updated_before_ms, csc_memory_deletion *deletions)
{
    csc_memory_cut room;

    csc_assert(csc_lock_is_held(&model->mutex));
    csc_memory_delete_begin(model, &room);
    for (size_t i = 0; i < count; i++) {
        const csc_memory_cascade *cascade =
            csc_map_get(&model->cascades, &ids[i]);

        if (may_go(model, cascade, updated_before_ms) &&
            csc_memory_delete_stage(model, &ids[i], &room, &deletions[i]) != 0)
            return csc_fail_memory();
    }
    return CASCADE_OK;
}

cascade_err
csc_memory_mend_purge(void *self, const cascade_uuid *ids, size_t count,
                      int64_t updated_before_ms, size_t *deleted)
{
    csc_memory_model *model = ((csc_memory *)self)->model;
    csc_arena arena = {0};
    csc_memory_deletion *deletions;
    size_t gone = 0;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    deletions = csc_arena_alloc(&arena, count, sizeof(deletions[0]));
    if (deletions == NULL)
        return csc_fail_memory();
    csc_lock_take(&model->mutex);
    err = stage_purge(model, ids, count, updated_before_ms, deletions);
    for (size_t i = count; i > 0 && err != CASCADE_OK; i--)
        csc_memory_delete_undo(model, &deletions[i - 1]);
    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        if (!deletions[i].staged)
            continue;
        csc_memory_delete_apply(model, &deletions[i]);
        gone++;
    }
    csc_lock_give(&model->mutex);
    csc_arena_fini(&arena);
    if (err == CASCADE_OK)
        *deleted = gone;
    return err;
}
