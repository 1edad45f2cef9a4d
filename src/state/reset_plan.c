/* SPDX-License-Identifier: MIT
 *
 * See reset_plan.h. A fate may follow from that of an execution with a higher
 * function_id (a part's from its heir's), so they are given in passes: nodes,
 * parts, and what is lost with superseded steps.
 */
#include "state/reset_plan.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/count.h"
#include "base/data/arena.h"
#include "base/data/search.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "state/full_output.h"
#include "state/kind.h"
#include "state/state.h"
#include "state/supersede.h"

/* ---- Refusals ----------------------------------------------------------- */

static const struct {
    const char *text;
    cascade_err err;
} refusals[] = {
    [CSC_REFUSAL_NONE] = {"", CASCADE_OK},
    [CSC_REFUSAL_RUNNING] = {"undelivered: the cascade is RUNNING",
                             CASCADE_ERR_MISUSE},
    [CSC_REFUSAL_COMPLETED] = {"undelivered: the cascade has COMPLETED",
                               CASCADE_ERR_REFUSED},
    [CSC_REFUSAL_CONTINUED] = {"undelivered: the cascade has continued as new; "
                               "ask it of the next run, ",
                               CASCADE_ERR_MISUSE},
    [CSC_REFUSAL_ABSENT] = {"undelivered: there is no such function_id",
                            CASCADE_ERR_INVALID},
    [CSC_REFUSAL_SUPERSEDED] = {"undelivered: that function_id is superseded",
                                CASCADE_ERR_INVALID},
    [CSC_REFUSAL_ENDED] = {"undelivered: before that function_id the cascade "
                           "had ended already, and nothing is to be run again",
                           CASCADE_ERR_INVALID},
    [CSC_REFUSAL_TORN] = {"undelivered: the cascade is being deleted",
                          CASCADE_ERR_NOT_FOUND},
    [CSC_REFUSAL_UNREAD] = {"undelivered: one engine after the other died when "
                            "it was to load the cascade for that",
                            CASCADE_ERR_REFUSED},
    [CSC_REFUSAL_LATE] = {"undelivered: what it makes afresh was not recorded "
                          "within the store's deadline_ms, in commits however "
                          "small; open the store of the engine with a longer "
                          "one, and ask again",
                          CASCADE_ERR_TOO_LARGE},
    [CSC_REFUSAL_STORE] = {"undelivered: the store refuses what it makes "
                           "afresh",
                           CASCADE_ERR_REFUSED}};

const char *
csc_reset_plan_refusal_text(csc_refusal refusal)
{
    csc_assert((size_t)refusal < sizeof(refusals) / sizeof(refusals[0]));
    return refusals[refusal].text;
}

cascade_err
csc_reset_plan_refusal_err(const char *text)
{
    size_t count = sizeof(refusals) / sizeof(refusals[0]);

    for (size_t i = CSC_REFUSAL_NONE + 1; i < count; i++)
        if (strncmp(text, refusals[i].text, strlen(refusals[i].text)) == 0)
            return refusals[i].err;
    return CASCADE_ERR_REFUSED;
}

csc_refusal
csc_reset_plan_refuse(const csc_state *state, int32_t from)
{
    cascade_status status = csc_view_status(state);

    if (state->torn)
        return CSC_REFUSAL_TORN;
    if (!csc_uuid_is_nil(&state->continued_as))
        return CSC_REFUSAL_CONTINUED;
    if (from == CSC_COURSE_NONE)
        return status == CASCADE_RUNNING     ? CSC_REFUSAL_RUNNING
               : status == CASCADE_COMPLETED ? CSC_REFUSAL_COMPLETED
                                             : CSC_REFUSAL_NONE;
    if (from < 0 || from > state->fn_id)
        return CSC_REFUSAL_ABSENT;
    return csc_supersede_by(&state->course, from) != CSC_COURSE_NONE
               ? CSC_REFUSAL_SUPERSEDED
               : CSC_REFUSAL_NONE;
}

/* ---- Reading ------------------------------------------------------------ */

csc_plan *
csc_reset_plan_create(int32_t from)
{
    csc_plan *plan = csc_mem_zalloc(1, sizeof(*plan));

    if (plan == NULL)
        return NULL;
    plan->from = from;
    plan->at.receipt = plan->next.receipt = CSC_COURSE_NONE;
    return plan;
}

void
csc_reset_plan_go_on(csc_plan *plan, int32_t receipt)
{
    csc_assert(plan->count == 0);
    plan->at.receipt = receipt;
}

void
csc_reset_plan_clear(csc_plan *plan)
{
    csc_supersede_fini(&plan->course);
    csc_supersede_fini(&plan->own);
    csc_arena_clear(&plan->arena);
    plan->count = 0;
    plan->inserted = 0;
}

void
csc_reset_plan_free(csc_plan *plan)
{
    if (plan == NULL)
        return;
    csc_supersede_fini(&plan->course);
    csc_supersede_fini(&plan->own);
    csc_arena_fini(&plan->arena);
    csc_mem_free(plan->items);
    csc_mem_free(plan);
}

csc_plan_item *
csc_reset_plan_find(const csc_plan *plan, int32_t function_id)
{
    size_t at =
        csc_search_i32(plan->items, plan->count, sizeof(plan->items[0]),
                       offsetof(csc_plan_item, function_id), function_id);

    return at < plan->count && plan->items[at].function_id == function_id
               ? &plan->items[at]
               : NULL;
}

static void
read_after(csc_plan *plan, csc_plan_item *item, csc_json_span after)
{
    csc_json_iter iter;
    int64_t id = 0;
    size_t count = 0;
    int32_t *ids = NULL;

    csc_assert(item->after_count == 0);
    if (after.data == NULL)
        return;
    csc_json_read_iter_init(&iter, after.data, after.len);
    while (csc_json_read_next(&iter))
        count++;
    ids = csc_arena_alloc(&plan->arena, count, sizeof(*ids));
    if (ids == NULL)
        return; /* the arena has failed */
    item->after = ids;
    csc_json_read_iter_init(&iter, after.data, after.len);
    while (csc_json_read_next(&iter))
        if (csc_json_read_i64(iter.value, &id) && id >= 0 &&
            id < item->function_id)
            ids[item->after_count++] = (int32_t)id;
}

static void
read_record(csc_plan *plan, csc_plan_item *item, const csc_record *record)
{
    item->at = record->at != CSC_RECORD_NO_AT ? record->at : item->function_id;
    item->foreign = record->foreign;
    if (record->early != CSC_RECORD_NO_EARLY)
        item->early = record->early;
    else if (item->status == CASCADE_EXECUTION_RUNNING)
        item->early = INT32_MAX;
    item->continued = record->continued;
    item->cancelled = record->cancelled;
    item->attempts = record->attempts;
    item->first_count = record->first;
    item->priority = record->priority;
    item->instead_of = record->instead_of;
    item->resumes = record->resumes < item->function_id ? record->resumes
                                                        : CSC_RECORD_NO_ID;
    item->signal = record->signal;
    item->not_before_ms = record->not_before_ms;
    item->on_failure = record->on_failure;
    read_after(plan, item, record->after);
}

static void
read_row(csc_plan *plan, csc_plan_item *item, const cascade_execution_row *row)
{
    size_t prefix = strlen(CSC_RESERVED_PREFIX);
    bool user = strncmp(row->node_name, CSC_RESERVED_PREFIX, prefix) != 0;
    uint32_t occurrence = 0;
    bool ours = false;

    *item =
        (csc_plan_item){.function_id = row->function_id,
                        .parent = CSC_NO_PARENT,
                        .part = csc_kind_of(row->node_name),
                        .status = row->status,
                        .node = user,
                        .is_signal = strncmp(row->node_name, CSC_SIGNAL_PREFIX,
                                             strlen(CSC_SIGNAL_PREFIX)) == 0,
                        .heir = row->function_id};
    ours = csc_kind_path(row->node_instance_id, &row->cascade_id, &item->parent,
                         &occurrence);
    if (item->parent >= item->function_id)
        item->parent = CSC_NO_PARENT;
    item->first = ours && user && item->parent == CSC_NO_PARENT;
    item->name = csc_arena_strdup(&plan->arena, row->node_name);
}

static bool
is_rerun(const csc_plan *plan)
{
    return plan->from != CSC_COURSE_NONE;
}

/* Whether a row of it may be written anew. A fork has the rows. */
static bool
may_come_again(const csc_plan *plan, const csc_plan_item *item)
{
    if (plan->forks || (!item->node && !item->is_signal))
        return false;
    if (!is_rerun(plan))
        return item->status != CASCADE_EXECUTION_COMPLETED;
    return item->status == CASCADE_EXECUTION_RUNNING || item->cancelled ||
           item->function_id >= plan->from || item->at >= plan->from ||
           item->signal >= plan->from;
}

/* Inputs may be large, and most executions stand as they are. */
static void
read_texts(csc_plan *plan, csc_plan_item *item,
           const cascade_execution_row *row)
{
    if (!may_come_again(plan, item))
        return;
    item->input = csc_arena_strdup(&plan->arena, row->input);
    item->location = csc_arena_strdup(&plan->arena, row->location);
}

/* From the receipt on: how far it was carried out. */
static cascade_err
note_recorded(csc_plan *plan, const cascade_execution_row *row)
{
    int32_t parent = CSC_NO_PARENT;
    uint32_t occurrence = 0;
    csc_record record;

    csc_assert(row->function_id >= plan->at.receipt);
    if (row->function_id != plan->at.receipt) {
        plan->inserted += csc_kind_path(row->node_instance_id, &row->cascade_id,
                                        &parent, &occurrence) &&
                          parent == plan->at.receipt;
        return CASCADE_OK;
    }
    plan->at.in_force = row->status == CASCADE_EXECUTION_COMPLETED;
    plan->input = csc_arena_strdup(&plan->arena, row->input);
    if (plan->input == NULL)
        return csc_fail_memory();
    if (!plan->at.in_force)
        return CASCADE_OK;
    csc_full_output_read(row, &record);
    return csc_supersede_note(&plan->own, row, &record);
}

cascade_err
csc_reset_plan_add(csc_plan *plan, const cascade_execution_row *row)
{
    void *items = plan->items;
    csc_plan_item *item = NULL;
    csc_record record;

    if (plan->at.receipt != CSC_COURSE_NONE &&
        row->function_id >= plan->at.receipt)
        return note_recorded(plan, row);
    csc_assert(plan->count == 0 ||
               plan->items[plan->count - 1].function_id < row->function_id);
    if (csc_mem_grow(&items, &plan->room, plan->count + 1, sizeof(*item)) != 0)
        return csc_fail_memory();
    plan->items = items;
    item = &plan->items[plan->count++];
    csc_full_output_read(row, &record);
    read_row(plan, item, row);
    read_record(plan, item, &record);
    read_texts(plan, item, row);
    if (plan->arena.failed)
        return csc_fail_memory();
    return csc_supersede_note(&plan->course, row, &record);
}

/* ---- As of when --------------------------------------------------------- */

/* Behind all of it for a retry. */
static int64_t
as_of(const csc_plan *plan)
{
    if (is_rerun(plan))
        return plan->from;
    return plan->at.receipt != CSC_COURSE_NONE ? plan->at.receipt
                                               : CSC_COURSE_NOW;
}

/* Whether it was the cancellation from which the rerun begins that ended it:
 * one is in force at a time. */
static bool
is_cancelled_by(const csc_plan *plan, const csc_plan_item *item)
{
    const csc_plan_item *from =
        is_rerun(plan) ? csc_reset_plan_find(plan, plan->from) : NULL;

    return item->cancelled && from != NULL && from->part == CSC_PART_CANCEL;
}

static bool
has_ended(const csc_plan *plan, const csc_plan_item *item)
{
    return item->status != CASCADE_EXECUTION_RUNNING &&
           item->function_id < as_of(plan) && item->at < as_of(plan) &&
           item->signal < as_of(plan) && !is_cancelled_by(plan, item);
}

/* Whether what spawned it had ended. */
static bool
is_born(const csc_plan *plan, const csc_plan_item *item)
{
    const csc_plan_item *parent = NULL;

    if (item->function_id < as_of(plan) || item->first)
        return true;
    if (item->parent == CSC_NO_PARENT)
        return false;
    parent = csc_reset_plan_find(plan, item->parent);
    return parent != NULL && has_ended(plan, parent) &&
           csc_supersede_by(&plan->course, parent->function_id) ==
               CSC_COURSE_NONE;
}

/* ---- Nodes and receipts ------------------------------------------------- */

/* The function_id from which on the cascade was cancelled. */
static int64_t
find_cancel(const csc_plan *plan)
{
    csc_assert(!is_rerun(plan));
    for (size_t i = 0; i < plan->count; i++) {
        const csc_plan_item *item = &plan->items[i];

        if (item->part == CSC_PART_CANCEL && !item->continued &&
            item->status != CASCADE_EXECUTION_COMPLETED &&
            csc_supersede_by(&plan->course, item->function_id) ==
                CSC_COURSE_NONE)
            return item->function_id;
    }
    return CSC_COURSE_NOW;
}

static bool
ends_cascade(const csc_plan_item *item)
{
    return item->status == CASCADE_EXECUTION_FAILED && !item->continued;
}

static csc_fate
node_fate(const csc_plan *plan, const csc_plan_item *item, int64_t cancel)
{
    csc_assert(item->node);
    if (!is_born(plan, item))
        return CSC_FATE_OUT;
    if (!has_ended(plan, item))
        return CSC_FATE_AFRESH;
    if (is_rerun(plan) || item->status == CASCADE_EXECUTION_COMPLETED)
        return CSC_FATE_KEEP;
    return ends_cascade(item) || item->cancelled ||
                   (item->at >= cancel && !item->replaced)
               ? CSC_FATE_AFRESH
               : CSC_FATE_KEEP;
}

static csc_fate
receipt_fate(const csc_plan *plan, const csc_plan_item *item)
{
    csc_assert(!item->node);
    if (item->function_id >= as_of(plan))
        return CSC_FATE_OUT;
    if (!has_ended(plan, item))
        return CSC_FATE_SUPERSEDE;
    return !is_rerun(plan) && ends_cascade(item) ? CSC_FATE_SUPERSEDE
                                                 : CSC_FATE_KEEP;
}

static bool
is_part(const csc_plan_item *item)
{
    return item->part != CSC_PART_NONE && item->part != CSC_PART_CANCEL;
}

/* What parts and stand-ins tell of their nodes. */
static void
note_marks(csc_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const csc_plan_item *item = &plan->items[i];
        csc_plan_item *parent = NULL;

        if (item->parent == CSC_NO_PARENT || item->function_id >= as_of(plan) ||
            csc_supersede_by(&plan->course, item->function_id) !=
                CSC_COURSE_NONE)
            continue;
        parent = csc_reset_plan_find(
            plan, csc_supersede_heir_of(&plan->course, item->parent));
        if (parent == NULL)
            continue;
        if (item->part == CSC_PART_SAGA)
            parent->undone = true;
        if (item->instead_of != CSC_RECORD_NO_ID)
            parent->replaced = true;
    }
}

static void
give_nodes(csc_plan *plan)
{
    int64_t cancel = is_rerun(plan) ? CSC_COURSE_NOW : find_cancel(plan);

    for (size_t i = 0; i < plan->count; i++) {
        csc_plan_item *item = &plan->items[i];

        if (is_part(item))
            continue;
        if (csc_supersede_by(&plan->course, item->function_id) !=
            CSC_COURSE_NONE)
            item->fate = CSC_FATE_OUT;
        else if (item->node)
            item->fate = node_fate(plan, item, cancel);
        else
            item->fate = receipt_fate(plan, item);
    }
}

/* ---- Parts -------------------------------------------------------------- */

/* Whether all children that a gather has waited for are kept: of others their
 * end is not known any more. */
static bool
has_children(const csc_plan *plan, const csc_plan_item *gather)
{
    csc_assert(gather->part == CSC_PART_GATHER);
    for (size_t i = 0; i < gather->after_count; i++) {
        const csc_plan_item *child =
            csc_reset_plan_find(plan, gather->after[i]);

        if (child == NULL || child->fate != CSC_FATE_KEEP)
            return false;
    }
    return true;
}

/* Whether the heir of its node can do with it. Children come before those that
 * gather them. */
static bool
is_kept(const csc_plan *plan, const csc_plan_item *part, bool running)
{
    csc_assert(is_part(part));
    if (part->part == CSC_PART_CHILD && !plan->forks)
        return part->status == CASCADE_EXECUTION_COMPLETED ||
               (part->status == CASCADE_EXECUTION_RUNNING && running &&
                is_rerun(plan));
    return part->status == CASCADE_EXECUTION_COMPLETED &&
           has_ended(plan, part) &&
           (part->part != CSC_PART_GATHER || has_children(plan, part));
}

static csc_fate
part_fate(const csc_plan *plan, const csc_plan_item *part, bool running)
{
    const csc_plan_item *node = csc_reset_plan_find(
        plan, csc_supersede_heir_of(&plan->course, part->parent));

    csc_assert(is_part(part));
    if (csc_supersede_by(&plan->course, part->function_id) != CSC_COURSE_NONE ||
        part->function_id >= as_of(plan))
        return CSC_FATE_OUT;
    if (node == NULL || node->fate == CSC_FATE_KEEP)
        return has_ended(plan, part) || is_kept(plan, part, running)
                   ? CSC_FATE_KEEP
                   : CSC_FATE_SUPERSEDE;
    return node->fate == CSC_FATE_AFRESH && !node->undone &&
                   is_kept(plan, part, running)
               ? CSC_FATE_KEEP
               : CSC_FATE_SUPERSEDE;
}

static void
give_parts(csc_plan *plan, bool running)
{
    for (size_t i = 0; i < plan->count; i++)
        if (is_part(&plan->items[i]))
            plan->items[i].fate = part_fate(plan, &plan->items[i], running);
}

/* What spawned it; of an heir, what spawned the first one in whose place it
 * runs. */
static const csc_plan_item *
spawner_of(const csc_plan *plan, const csc_plan_item *item)
{
    int32_t origin = csc_supersede_origin(&plan->course, item->function_id);

    if (origin != item->function_id)
        item = csc_reset_plan_find(plan, origin);
    return item != NULL && item->parent != CSC_NO_PARENT
               ? csc_reset_plan_find(plan, item->parent)
               : NULL;
}

static void
take_lost(csc_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        csc_plan_item *item = &plan->items[i];
        const csc_plan_item *spawner = spawner_of(plan, item);

        if (spawner == NULL)
            continue;
        item->lost = spawner->lost || (item->node && is_part(spawner) &&
                                       spawner->fate == CSC_FATE_SUPERSEDE);
        if (item->lost && item->fate != CSC_FATE_OUT)
            item->fate = CSC_FATE_SUPERSEDE;
    }
}

/* ---- Deciding ----------------------------------------------------------- */

static int
compare_names(const void *a, const void *b, void *context)
{
    const csc_plan_item *items = context;
    size_t left = *(const size_t *)a;
    size_t right = *(const size_t *)b;
    int order = strcmp(items[left].name, items[right].name);

    csc_count_look();
    return order != 0 ? order : (left > right) - (left < right);
}

/* As in the paths of what one execution spawns: those of one name, in their
 * order. */
static cascade_err
number_heirs(csc_plan *plan)
{
    size_t count = 0;
    size_t *order =
        csc_arena_alloc(&plan->arena, plan->afresh_count, sizeof(*order));

    csc_assert(plan->afresh_count > 0);
    if (order == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].fate == CSC_FATE_AFRESH)
            order[count++] = i;
    csc_assert(count == plan->afresh_count);
    qsort_r(order, count, sizeof(*order), compare_names, plan->items);
    for (size_t i = 1; i < count; i++) {
        const csc_plan_item *before = &plan->items[order[i - 1]];
        csc_plan_item *item = &plan->items[order[i]];

        if (strcmp(before->name, item->name) == 0)
            item->nth = before->nth + 1;
    }
    return CASCADE_OK;
}

/* Whether a signal that an earlier rerun received once more is there without
 * it: that rerun is void now, and what it had superseded counts again. */
static bool
is_there_before(const csc_plan *plan, const csc_plan_item *item)
{
    while (item != NULL && item->resumes != CSC_RECORD_NO_ID) {
        item = csc_reset_plan_find(plan, item->resumes);
        if (item != NULL && item->fate == CSC_FATE_KEEP)
            return true;
    }
    return false;
}

/* Whether a rerun receives it once more. */
static bool
comes_again(const csc_plan *plan, const csc_plan_item *item,
            const csc_state *state)
{
    return is_rerun(plan) && !plan->forks && item->is_signal &&
           item->status == CASCADE_EXECUTION_COMPLETED &&
           item->function_id >= plan->from &&
           csc_supersede_by(&state->course, item->function_id) ==
               CSC_COURSE_NONE &&
           !is_there_before(plan, item);
}

/* What is to be written of it. */
static void
count_rows(csc_plan *plan, const csc_plan_item *item)
{
    plan->afresh_count += item->fate == CSC_FATE_AFRESH;
    plan->again_count += item->again;
    plan->close_count +=
        item->status == CASCADE_EXECUTION_RUNNING &&
        (item->fate == CSC_FATE_AFRESH || item->fate == CSC_FATE_SUPERSEDE);
    if ((item->fate == CSC_FATE_AFRESH || item->again) && item->input != NULL)
        plan->bytes += strlen(item->input);
}

static void
count_fates(csc_plan *plan, const csc_state *state)
{
    bool ended = false;
    bool runs = false;

    for (size_t i = 0; i < plan->count; i++) {
        csc_plan_item *item = &plan->items[i];

        runs = runs || item->fate == CSC_FATE_AFRESH;
        ended = ended || (item->fate == CSC_FATE_KEEP && ends_cascade(item) &&
                          !is_part(item));
        item->again = comes_again(plan, item, state);
        count_rows(plan, item);
    }
    if (is_rerun(plan) && (ended || !runs))
        plan->refusal = CSC_REFUSAL_ENDED;
}

void
csc_reset_plan_number(csc_plan *plan, int32_t receipt)
{
    int32_t id = receipt;

    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].fate == CSC_FATE_AFRESH)
            plan->items[i].heir = ++id;
}

size_t
csc_reset_plan_rows(const csc_plan *plan)
{
    return plan != NULL ? plan->afresh_count + plan->again_count : 0;
}

bool
csc_reset_plan_goes_on(const csc_plan *plan)
{
    csc_assert(plan->at.receipt != CSC_COURSE_NONE || !plan->at.in_force);
    return plan->at.receipt != CSC_COURSE_NONE && !plan->at.done;
}

/* Heirs come first, then signals. */
static void
find_place(csc_plan *plan)
{
    csc_plan_place *at = &plan->at;
    size_t left = plan->inserted;

    csc_assert(plan->at.receipt != CSC_COURSE_NONE);
    csc_reset_plan_number(plan, at->receipt);
    for (; at->heir < plan->count && left > 0; at->heir++)
        left -= plan->items[at->heir].fate == CSC_FATE_AFRESH;
    for (; at->signal < plan->count && left > 0; at->signal++) {
        left -= plan->items[at->signal].again;
        at->nth += plan->items[at->signal].again;
    }
    csc_assert(at->heir <= plan->count && at->signal <= plan->count);
}

/* The heirs are there: what it supersedes is closed, and all else stands. */
static cascade_err
decide_closed(csc_plan *plan)
{
    cascade_err err = csc_supersede_settle(&plan->own, CSC_COURSE_NOW);

    csc_assert(plan->at.in_force);
    plan->refusal = CSC_REFUSAL_NONE;
    for (size_t i = 0; i < plan->count; i++) {
        csc_plan_item *item = &plan->items[i];

        item->fate =
            csc_supersede_by(&plan->own, item->function_id) != CSC_COURSE_NONE
                ? CSC_FATE_SUPERSEDE
                : CSC_FATE_KEEP;
    }
    return err;
}

cascade_err
csc_reset_plan_decide(csc_plan *plan, const csc_state *state)
{
    cascade_err err = csc_supersede_settle(&plan->course, as_of(plan));
    bool running = !plan->forks && csc_view_status(state) == CASCADE_RUNNING;

    plan->ended = !plan->forks &&
                  (plan->at.in_force ? csc_view_status(state) == CASCADE_ERROR
                                     : state->recorded != CASCADE_RUNNING);
    if (err == CASCADE_OK && plan->at.in_force)
        return decide_closed(plan);
    plan->refusal = plan->forks ? CSC_REFUSAL_NONE
                                : csc_reset_plan_refuse(state, plan->from);
    plan->afresh_count = 0;
    plan->again_count = 0;
    plan->close_count = 0;
    plan->bytes = 0;
    if (err != CASCADE_OK || plan->refusal != CSC_REFUSAL_NONE)
        return err;
    note_marks(plan);
    give_nodes(plan);
    give_parts(plan, running);
    take_lost(plan);
    count_fates(plan, state);
    if (plan->at.receipt != CSC_COURSE_NONE)
        find_place(plan);
    return plan->afresh_count > 0 ? number_heirs(plan) : CASCADE_OK;
}
