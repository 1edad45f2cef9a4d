/* SPDX-License-Identifier: MIT
 *
 * Joins: who waits for whom, what runs in the place of what failed, what a
 * joined execution sees, and when it is decided. See state.h for the model.
 *
 * A slot may be taken back: between the row that ends an execution and the row
 * of the one that runs instead, both of one commit, the slot has ended. So
 * slots are counted up and down, and a verdict may go back to PENDING; nobody
 * looks in between.
 */
#include "state/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "state/full_output.h"
#include "state/state.h"
#include "state/supersede.h"

/* ---- Verdicts ----------------------------------------------------------- */

csc_verdict
csc_join_judge(const csc_join *join, size_t count, uint32_t good, uint32_t bad)
{
    size_t needed = count;

    if (join->first > 0 && join->first < count)
        needed = join->first;
    if (good >= needed)
        return CSC_VERDICT_RUN;
    if (bad <= count - needed)
        return good + bad + join->late < count
                   ? CSC_VERDICT_PENDING
                   : CSC_VERDICT_RUN; /* rows that make no sense */
    return join->on_failure == CASCADE_JOIN_SKIP ? CSC_VERDICT_SKIP
                                                 : CSC_VERDICT_FAIL;
}

bool
csc_join_is_bad(const csc_join *join, cascade_execution_status status,
                bool skipped)
{
    switch (join->on_failure) {
    case CASCADE_JOIN_WAIT:
        return false;
    case CASCADE_JOIN_FAIL:
        return status == CASCADE_EXECUTION_FAILED;
    case CASCADE_JOIN_SKIP:
        return status == CASCADE_EXECUTION_FAILED || skipped;
    }
    return false;
}

csc_verdict
csc_join_verdict(const csc_exec *exec)
{
    return exec->join != NULL ? exec->join->verdict : CSC_VERDICT_RUN;
}

bool
csc_join_is_dead(const csc_exec *exec)
{
    csc_verdict verdict = csc_join_verdict(exec);

    return verdict == CSC_VERDICT_FAIL || verdict == CSC_VERDICT_SKIP;
}

void
csc_join_set_due(csc_exec *exec, int64_t not_before_ms)
{
    exec->not_before_ms =
        csc_join_is_dead(exec) ? CASCADE_TIME_NONE : not_before_ms;
    if (exec->join != NULL)
        exec->join->not_before_ms = not_before_ms;
}

/* The slots have changed: into the queue, or out of it. */
static cascade_err
judge(csc_state *state, csc_exec *exec)
{
    csc_join *join = exec->join;
    csc_verdict verdict =
        csc_join_judge(join, exec->after.count, join->good, join->bad);

    csc_assert(join->good + join->bad + join->late <= exec->after.count);
    if (exec->status != CASCADE_EXECUTION_RUNNING || verdict == join->verdict)
        return CASCADE_OK;
    csc_due_queue_dequeue(state, exec);
    csc_assert(join->verdict != CSC_VERDICT_PENDING || exec->blocked > 0);
    if (join->verdict == CSC_VERDICT_PENDING)
        exec->blocked--;
    if (verdict == CSC_VERDICT_PENDING)
        exec->blocked++;
    join->verdict = verdict;
    csc_join_set_due(exec, join->not_before_ms);
    return csc_due_queue_enqueue(state, exec);
}

/* ---- What is seen ------------------------------------------------------- */

/* Adds ascending `from` to ascending `to`: from behind, in place. */
static cascade_err
add_ids(csc_ids *to, const csc_ids *from)
{
    void *items = to->items;
    size_t a = to->count;
    size_t b = from->count;
    size_t at = a + b;
    size_t kept = 0;

    if (csc_mem_grow(&items, &to->room, at, sizeof(*to->items)) != 0)
        return csc_fail_memory();
    to->items = items;
    while (b > 0) {
        int32_t id = from->items[b - 1];

        if (a > 0 && to->items[a - 1] >= id) {
            if (to->items[a - 1] == id)
                b--;
            id = to->items[--a];
        } else {
            b--;
        }
        to->items[--at] = id;
        kept++;
    }
    memmove(&to->items[a], &to->items[at], kept * sizeof(*to->items));
    to->count = a + kept;
    csc_assert(to->count <= to->room);
    return CASCADE_OK;
}

/* `waiter` may see what `exec`, which has ended, wrote and joined. What ended
 * before the waiter's place (at < place) is visible anyway. */
static cascade_err
extend_seen(csc_exec *waiter, const csc_exec *exec)
{
    cascade_err err = CASCADE_OK;

    csc_assert(exec->status != CASCADE_EXECUTION_RUNNING);
    if (exec->at < waiter->place)
        return CASCADE_OK;
    err = csc_state_add_id(&waiter->seen, exec->function_id);
    if (err == CASCADE_OK && exec->seen.count > 0)
        err = add_ids(&waiter->seen, &exec->seen);
    return err;
}

cascade_err
csc_join_add_late(const csc_state *state, csc_exec *exec, csc_json_span late)
{
    csc_json_iter iter;
    int64_t id = 0;
    cascade_err err = CASCADE_OK;

    if (late.data == NULL || exec->status == CASCADE_EXECUTION_RUNNING)
        return CASCADE_OK;
    csc_json_read_iter_init(&iter, late.data, late.len);
    while (err == CASCADE_OK && csc_json_read_next(&iter))
        if (csc_json_read_i64(iter.value, &id) && id >= 0 && id <= INT32_MAX)
            err = csc_state_add_id(
                &exec->late,
                csc_supersede_heir_of(&state->course, (int32_t)id));
    return err;
}

/* ---- Slots -------------------------------------------------------------- */

/* The slot of a member of `after`; NULL when it is none. */
static csc_join_slot *
slot_of(const csc_exec *join, int32_t id)
{
    size_t at = csc_view_id_place(&join->after, id);

    return join->join != NULL && at < join->after.count &&
                   join->after.items[at] == id
               ? &join->join->slots[at]
               : NULL;
}

static void
count_slot(csc_join *join, const csc_join_slot *slot, bool up)
{
    uint32_t *count = &join->good;

    if (slot->late)
        count = &join->late;
    else if (slot->bad)
        count = &join->bad;
    csc_assert(up || *count > 0);
    *count = up ? *count + 1 : *count - 1;
}

/* `exec` has ended in its slot, in time or late; NULL: it is long gone. */
static void
end_slot(csc_exec *waiter, csc_join_slot *slot, const csc_exec *exec)
{
    csc_assert(waiter->join != NULL);
    if (slot == NULL || slot->ended || slot->late ||
        (exec != NULL && slot->function_id != exec->function_id))
        return;
    slot->late = exec != NULL && csc_view_has(&exec->late, waiter->function_id);
    slot->ended = !slot->late;
    slot->bad = exec != NULL && slot->ended &&
                csc_join_is_bad(waiter->join, exec->status, exec->skipped);
    count_slot(waiter->join, slot, true);
}

/* `exec`, which `waiter` comes after, has ended. */
static cascade_err
end_in(csc_state *state, csc_exec *waiter, const csc_exec *exec)
{
    cascade_err err = CASCADE_OK;

    csc_assert(exec->status != CASCADE_EXECUTION_RUNNING);
    if (waiter->join == NULL)
        return CASCADE_OK;
    if (!csc_view_has(&exec->late, waiter->function_id)) {
        if (waiter->status == CASCADE_EXECUTION_RUNNING &&
            exec->ended_ms > waiter->since_ms)
            waiter->since_ms = exec->ended_ms;
        err = extend_seen(waiter, exec);
    }
    if (err != CASCADE_OK)
        return err;
    end_slot(waiter, slot_of(waiter, exec->function_id), exec);
    if (exec->stands_for != CSC_NO_PARENT)
        end_slot(waiter, slot_of(waiter, exec->stands_for), exec);
    return judge(state, waiter);
}

/* Whether the join may ask for the output of `exec`: of a sibling, or of what
 * runs instead of one, or, of an heir, whose heir it is not. Others are no
 * predecessors that we record. */
static bool
may_ask(const csc_state *state, const csc_exec *waiter, const csc_exec *exec)
{
    return (waiter->resumes != CSC_NO_PARENT && state->course.any) ||
           exec->siblings == waiter->siblings ||
           exec->function_id > waiter->function_id;
}

/* It stands in one slot less. */
static cascade_err
let_go(csc_state *state, const csc_exec *waiter, int32_t function_id)
{
    csc_exec *exec = csc_view_find(state, function_id);

    if (exec == NULL || exec->holders == 0)
        return CASCADE_OK;
    csc_assert(exec->wanted <= exec->holders);
    exec->holders--;
    if (may_ask(state, waiter, exec))
        exec->wanted--;
    if (exec->wanted > 0 || exec->status == CASCADE_EXECUTION_RUNNING)
        return CASCADE_OK;
    return csc_state_add_id(&state->ended, function_id);
}

/* From now on `exec`, which may have ended, stands in the slot. */
static cascade_err
enter_slot(csc_state *state, csc_exec *waiter, csc_join_slot *slot,
           csc_exec *exec)
{
    cascade_err err = CASCADE_OK;

    csc_assert(waiter->join != NULL);
    if (slot->ended || slot->late)
        count_slot(waiter->join, slot, false);
    slot->ended = false;
    slot->late = false;
    slot->bad = false;
    if (waiter->status == CASCADE_EXECUTION_RUNNING) {
        exec->holders++;
        if (may_ask(state, waiter, exec))
            exec->wanted++;
        if (slot->function_id != exec->function_id)
            err = let_go(state, waiter, slot->function_id);
    }
    slot->function_id = exec->function_id;
    if (err != CASCADE_OK)
        return err;
    if (exec->status != CASCADE_EXECUTION_RUNNING)
        return end_in(state, waiter, exec);
    err = csc_state_add_id(&exec->waiters, waiter->function_id);
    return err == CASCADE_OK ? judge(state, waiter) : err;
}

/* The one whose failure spawned it; NULL in rows that make no sense. */
static const csc_exec *
find_failed(const csc_state *state, const csc_exec *stand_in)
{
    const csc_exec *failed = csc_view_find(state, stand_in->parent);

    return failed != NULL && failed->status != CASCADE_EXECUTION_RUNNING &&
                   failed->at < stand_in->function_id
               ? failed
               : NULL;
}

/* Whether `stand_in` runs in the place of one that ended too late for the
 * join: then it is too late too. */
static bool
is_too_late(const csc_state *state, const csc_exec *stand_in,
            const csc_exec *join)
{
    const csc_exec *failed = find_failed(state, stand_in);

    csc_assert(stand_in->stands_for != CSC_NO_PARENT);
    return failed != NULL && csc_view_has(&failed->late, join->function_id);
}

/* ---- Inserting ---------------------------------------------------------- */

/* Whether `exec` is of the kind that may stand in a slot of the join. */
static bool
may_stand_in(const csc_exec *join, const csc_exec *exec)
{
    csc_assert(join->part == CSC_PART_NONE || join->part == CSC_PART_GATHER);
    return exec->part ==
           (join->part == CSC_PART_GATHER ? CSC_PART_CHILD : CSC_PART_NONE);
}

static bool
may_come_after(const csc_state *state, const csc_exec *exec, int64_t id)
{
    const csc_exec *other = NULL;

    if (id < 0 || id >= exec->function_id)
        return false;
    other = csc_view_find(state, (int32_t)id);
    return other == NULL || may_stand_in(exec, other);
}

/* What makes no sense is passed over. */
static cascade_err
read_after(const csc_state *state, csc_exec *exec, csc_json_span after)
{
    csc_json_iter iter;
    int64_t id = 0;
    cascade_err err = CASCADE_OK;

    csc_assert(exec->after.count == 0);
    csc_json_read_iter_init(&iter, after.data, after.len);
    while (err == CASCADE_OK && csc_json_read_next(&iter))
        if (csc_json_read_i64(iter.value, &id) &&
            may_come_after(state, exec, id))
            err = csc_state_add_id(&exec->after, (int32_t)id);
    return err;
}

static cascade_err
make_join(csc_state *state, csc_exec *exec, const csc_record *record)
{
    csc_join *join = csc_mem_zalloc(1, sizeof(*join));

    if (join == NULL)
        return csc_fail_memory();
    csc_assert(exec->join == NULL && exec->after.count > 0);
    exec->join = join;
    if (exec->part == CSC_PART_NONE) {
        join->first = (uint32_t)record->first;
        join->on_failure = record->on_failure;
    }
    join->not_before_ms = exec->not_before_ms;
    join->slots = csc_mem_zalloc(exec->after.count, sizeof(*join->slots));
    if (join->slots == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < exec->after.count; i++)
        join->slots[i].function_id = exec->after.items[i];
    csc_index_enter_slots(state, exec);
    if (exec->status == CASCADE_EXECUTION_RUNNING)
        exec->blocked++;
    return CASCADE_OK;
}

static cascade_err
fill_slot(csc_state *state, csc_exec *exec, csc_join_slot *slot)
{
    csc_exec *other = csc_view_find(state, slot->function_id);

    csc_assert(exec->join != NULL);
    if (other != NULL)
        return enter_slot(state, exec, slot, other);
    end_slot(exec, slot, NULL);
    return judge(state, exec);
}

/* Stand-ins come behind those that wait for them; but rows may be applied in
 * any order. */
static cascade_err
fill_with_stand_ins(csc_state *state, csc_exec *exec)
{
    cascade_err err = CASCADE_OK;

    csc_assert(exec->join != NULL);
    for (size_t i = 0; i < exec->after.count && err == CASCADE_OK; i++) {
        csc_join_slot *slot = &exec->join->slots[i];
        csc_exec *other =
            csc_index_next_stand_in(state, slot->after, CSC_STATE_FIRST);

        while (other != NULL && err == CASCADE_OK) {
            if (other != exec && may_stand_in(exec, other) &&
                !is_too_late(state, other, exec))
                err = enter_slot(state, exec, slot, other);
            other =
                csc_index_next_stand_in(state, slot->after, other->function_id);
        }
    }
    return err;
}

cascade_err
csc_join_insert_after(csc_state *state, csc_exec *exec,
                      const csc_record *record)
{
    cascade_err err = read_after(state, exec, record->after);

    csc_assert(exec->join == NULL);
    if (err != CASCADE_OK || exec->after.count == 0)
        return err;
    err = make_join(state, exec, record);
    for (size_t i = 0; i < exec->after.count && err == CASCADE_OK; i++)
        err = fill_slot(state, exec, &exec->join->slots[i]);
    return err == CASCADE_OK ? fill_with_stand_ins(state, exec) : err;
}

/* Whether `waiter` has joined one of `joined`, in time. */
static bool
comes_behind(const csc_state *state, const csc_exec *waiter,
             const csc_ids *joined)
{
    for (size_t i = 0; i < joined->count; i++) {
        const csc_exec *exec = csc_view_find(state, joined->items[i]);

        if (csc_view_has(&waiter->after, joined->items[i]) &&
            !csc_view_has(&exec->late, waiter->function_id))
            return true;
    }
    return false;
}

/* Enters the slots of those that come after the one it stands for; those that
 * came after these, and see what they joined, are on hydration there too: the
 * joins that have ended and see `exec` are in ascending `joined`. */
static cascade_err
stand_in_for(csc_state *state, csc_exec *exec, csc_exec *waiter,
             csc_ids *joined)
{
    csc_join_slot *slot = slot_of(waiter, exec->stands_for);
    cascade_err err = CASCADE_OK;

    csc_assert(exec->stands_for != CSC_NO_PARENT);
    if (slot != NULL && !is_too_late(state, exec, waiter))
        err = enter_slot(state, waiter, slot, exec);
    if (err == CASCADE_OK && exec->status != CASCADE_EXECUTION_RUNNING &&
        comes_behind(state, waiter, joined))
        err = extend_seen(waiter, exec);
    if (err == CASCADE_OK && waiter->status != CASCADE_EXECUTION_RUNNING &&
        csc_view_has(&waiter->seen, exec->function_id))
        err = csc_state_add_id(joined, waiter->function_id);
    return err;
}

/* Adds the joins that come after that one. */
static cascade_err
add_followers(const csc_state *state, int32_t function_id, csc_ids *joins)
{
    const csc_join_slot *slot =
        csc_index_next_slot(state, function_id, CSC_STATE_FIRST);
    cascade_err err = CASCADE_OK;

    while (slot != NULL && err == CASCADE_OK) {
        err = csc_state_add_id(joins, slot->join);
        slot = csc_index_next_slot(state, function_id, slot->join);
    }
    return err;
}

/* A join has a higher function_id than what it comes after, so those that come
 * after one are looked at behind it. */
static cascade_err
enter_slots(csc_state *state, csc_exec *exec, csc_ids *joins, csc_ids *joined)
{
    cascade_err err = add_followers(state, exec->stands_for, joins);

    csc_assert(exec->stands_for != CSC_NO_PARENT);
    for (size_t i = 0; i < joins->count && err == CASCADE_OK; i++) {
        csc_exec *waiter = csc_view_find(state, joins->items[i]);
        size_t before = joined->count;

        if (waiter == NULL || waiter == exec || waiter->join == NULL ||
            !may_stand_in(waiter, exec))
            continue;
        err = stand_in_for(state, exec, waiter, joined);
        if (err == CASCADE_OK && joined->count > before)
            err = add_followers(state, waiter->function_id, joins);
    }
    return err;
}

cascade_err
csc_join_stand_in(csc_state *state, csc_exec *exec)
{
    const csc_exec *failed = find_failed(state, exec);
    cascade_err err = CASCADE_OK;
    csc_ids joins = {0};
    csc_ids joined = {0};

    csc_assert(exec->part == CSC_PART_NONE);
    if (exec->stands_for == CSC_NO_PARENT)
        return CASCADE_OK;
    err = enter_slots(state, exec, &joins, &joined);
    if (err == CASCADE_OK && failed != NULL && failed->late.count > 0)
        err = add_ids(&exec->late, &failed->late);
    csc_mem_free(joins.items);
    csc_mem_free(joined.items);
    return err;
}

/* ---- Ending ------------------------------------------------------------- */

/* A wait is over: its node goes on. */
static cascade_err
unblock_parent(csc_state *state, csc_exec *parent)
{
    csc_assert(parent->status == CASCADE_EXECUTION_RUNNING);
    if (parent->blocked == 0)
        return CASCADE_OK;
    parent->blocked--;
    return parent->blocked == 0 ? csc_due_queue_enqueue(state, parent)
                                : CASCADE_OK;
}

cascade_err
csc_join_release_waiters(csc_state *state, csc_exec *exec)
{
    cascade_err err = CASCADE_OK;

    csc_assert(exec->status != CASCADE_EXECUTION_RUNNING);
    for (size_t i = 0; i < exec->waiters.count && err == CASCADE_OK; i++) {
        csc_exec *waiter = csc_view_find(state, exec->waiters.items[i]);

        if (waiter == NULL || waiter->status != CASCADE_EXECUTION_RUNNING)
            continue;
        if (exec->part != CSC_PART_NONE && exec->parent == waiter->function_id)
            err = unblock_parent(state, waiter);
        else
            err = end_in(state, waiter, exec);
    }
    exec->waiters.count = 0;
    return err;
}

cascade_err
csc_join_release_slots(csc_state *state, csc_exec *exec)
{
    cascade_err err = CASCADE_OK;

    csc_assert(exec->status != CASCADE_EXECUTION_RUNNING);
    for (size_t i = 0;
         exec->join != NULL && i < exec->after.count && err == CASCADE_OK; i++)
        err = let_go(state, exec, exec->join->slots[i].function_id);
    return err;
}

void
csc_join_add_sibling(csc_state *state, csc_exec *exec)
{
    if (exec->part != CSC_PART_NONE)
        return;
    exec->siblings = state->siblings_from;
    if (exec->parent == state->siblings_of)
        return;
    for (size_t i = state->course.any ? 0 : state->exec_count; i > 0; i--) {
        csc_exec *sibling = state->execs[i - 1].exec;

        if (state->execs[i - 1].function_id < state->siblings_from)
            break;
        if (sibling == NULL || sibling->part != CSC_PART_NONE ||
            sibling->wanted > 0)
            continue;
        csc_mem_free(sibling->output);
        sibling->output = NULL;
    }
    state->siblings_of = exec->parent;
    state->siblings_from = exec->function_id;
    exec->siblings = exec->function_id;
}

void
csc_join_trim(csc_state *state, csc_exec *exec)
{
    csc_assert(exec->status != CASCADE_EXECUTION_RUNNING);
    csc_index_leave_slots(state, exec);
    csc_join_free_join(exec);
    if (exec->wanted > 0 || exec->part != CSC_PART_NONE)
        return;
    csc_mem_free(exec->output);
    exec->output = NULL;
}

void
csc_join_free_join(csc_exec *exec)
{
    if (exec->join != NULL)
        csc_mem_free(exec->join->slots);
    csc_mem_free(exec->join);
    exec->join = NULL;
    csc_mem_free(exec->after.items);
    csc_mem_free(exec->seen.items);
    csc_mem_free(exec->late.items);
    exec->after = (csc_ids){0};
    exec->seen = (csc_ids){0};
    exec->late = (csc_ids){0};
}
