/* SPDX-License-Identifier: MIT
 *
 * Cascades that were retried, run again or forked. Most rules speak of a course
 * without such commands; of these cascades the oracle checks what holds all the
 * same, and of the commands what they promise:
 *   what a receipt supersedes came before it, and of what it supersedes nothing
 *     is RUNNING
 *   what had completed by then is superseded only where it was undone
 *   an heir names what is superseded by the receipt that it stands under, and
 *     no two of one receipt name the same
 *   status and run row follow from what counts, and hydration agrees
 *   one that is carried out in several commits changes nothing before it is in
 *   force, and its message is there until all is done
 */
#include "support/oracle_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "state/state.h"
#include "state/supersede.h"

#define STEP_PREFIX "cascade.step:"
#define SAGA_PREFIX "cascade.saga:"

static void
fail_at(const oracle_view *v, const cascade_execution_row *row,
        const char *guarantee, const char *what)
{
    oracle_fail(v->o, guarantee, &v->c->id, row->function_id, "%s", what);
}

/* Its past was recorded in another cascade. */
static bool
is_fork(const cascade_execution_row *first)
{
    csc_json_span meta;
    csc_json_iter iter;

    if (first->function_id != 0 || !oracle_member(first, "cascade", &meta))
        return false;
    csc_json_read_iter_init(&iter, meta.data, meta.len);
    while (csc_json_read_next(&iter))
        if (csc_json_read_is(iter.key, "forked_from"))
            return true;
    return false;
}

/* The receipt of a command that is not carried out, or not yet, under which the
 * row stands; NULL where it does not. */
static const cascade_execution_row *
open_receipt(const dump_rows *rows, size_t at)
{
    const cascade_execution_row *row = &rows->executions[at];
    int64_t parent = oracle_parent_of(row->node_instance_id);

    if (parent < 0 || parent >= row->function_id)
        return NULL;
    row = &rows->executions[parent];
    return csc_supersede_is_receipt(row) &&
                   row->status != CASCADE_EXECUTION_COMPLETED
               ? row
               : NULL;
}

/* It is carried out, and what is made of it is to count once it is COMPLETED.
 */
static bool
is_under_way(const cascade_execution_row *row)
{
    return csc_supersede_is_receipt(row) &&
           row->status == CASCADE_EXECUTION_RUNNING;
}

bool
oracle_has_course(const dump_rows *rows)
{
    if (rows->execution_count > 0 && is_fork(&rows->executions[0]))
        return true;
    for (size_t i = 0; i < rows->execution_count; i++)
        if ((rows->executions[i].status != CASCADE_EXECUTION_FAILED &&
             csc_supersede_is_receipt(&rows->executions[i])) ||
            open_receipt(rows, i) != NULL)
            return true;
    return false;
}

/* Member `name` of the record, ORACLE_NO_ID without one. */
static int64_t
number_of(const cascade_execution_row *row, const char *name)
{
    csc_json_span span;
    int64_t number = ORACLE_NO_ID;

    if (oracle_member(row, name, &span))
        (void)csc_json_read_i64(span, &number);
    return number;
}

/* Whether the receipt names it, or comes to it by its `from`. */
static bool
is_superseded_by(const cascade_execution_row *receipt, int32_t id)
{
    int64_t from = number_of(receipt, "from");
    csc_json_span list;
    csc_json_iter iter;
    int64_t named = 0;

    if (id >= receipt->function_id)
        return false;
    if (from != ORACLE_NO_ID && id >= from)
        return true;
    if (!oracle_member(receipt, "supersedes", &list))
        return false;
    csc_json_read_iter_init(&iter, list.data, list.len);
    while (csc_json_read_next(&iter))
        if (csc_json_read_i64(iter.value, &named) && named == id)
            return true;
    return false;
}

/* From the last to the first: one that is superseded is void. */
bool *
oracle_find_counting(const dump_rows *all)
{
    const cascade_execution_row *rows = all->executions;
    bool *counts = calloc(all->execution_count + 1, sizeof(*counts));

    if (counts == NULL)
        abort();
    for (size_t i = 0; i < all->execution_count; i++)
        counts[i] = !is_under_way(&rows[i]) && open_receipt(all, i) == NULL;
    for (size_t r = all->execution_count; r > 0; r--) {
        if (!counts[r - 1] ||
            rows[r - 1].status != CASCADE_EXECUTION_COMPLETED ||
            !csc_supersede_is_receipt(&rows[r - 1]))
            continue;
        for (size_t i = 0; i + 1 < r; i++)
            counts[i] =
                counts[i] && !is_superseded_by(&rows[r - 1], (int32_t)i);
    }
    return counts;
}

int64_t
oracle_resumed_by(const cascade_execution_row *row)
{
    int64_t resumes = number_of(row, "resumes");

    return resumes < row->function_id ? resumes : ORACLE_NO_ID;
}

int32_t
oracle_origin_of(const dump_rows *rows, const cascade_execution_row *row)
{
    int64_t resumes = oracle_resumed_by(row);

    while (resumes >= 0) {
        row = &rows->executions[resumes];
        resumes = oracle_resumed_by(row);
    }
    return row->function_id;
}

static void
check_heir(const oracle_view *v, const cascade_execution_row *row,
           int64_t resumes)
{
    const cascade_execution_row *rows = v->rows.executions;
    int64_t parent = oracle_parent_of(row->node_instance_id);

    if (parent < 0 || parent >= row->function_id ||
        !csc_supersede_is_receipt(&rows[parent])) {
        fail_at(v, row, "G3", "resumes, but stands under no retry or rerun");
        return;
    }
    if (resumes >= parent || strcmp(rows[resumes].node_name, row->node_name) ||
        strcmp(rows[resumes].input, row->input) != 0)
        fail_at(v, row, "G3", "is not what it resumes");
    for (int64_t i = parent + 1; i < row->function_id; i++)
        if (number_of(&rows[i], "resumes") == resumes)
            fail_at(v, row, "G3", "resumes what another one does");
}

/* What is recorded stays so, unless its node is undone, or it is of children
 * that are gone: the oracle leaves that to others. */
static bool
is_done(const cascade_execution_row *row, int64_t before)
{
    int64_t at = number_of(row, "at");

    return row->status == CASCADE_EXECUTION_COMPLETED && at != ORACLE_NO_ID &&
           at < before &&
           (strncmp(row->node_name, "cascade.", 8) != 0 ||
            strncmp(row->node_name, STEP_PREFIX, strlen(STEP_PREFIX)) == 0);
}

static bool
has_undone(const oracle_view *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (strncmp(v->rows.executions[i].node_name, SAGA_PREFIX,
                    strlen(SAGA_PREFIX)) == 0)
            return true;
    return false;
}

/* Done is done: from where the cascade goes on, what had ended well by then is
 * not named among what is superseded. */
static void
check_receipt(const oracle_view *v, const cascade_execution_row *receipt)
{
    const cascade_execution_row *rows = v->rows.executions;
    int64_t from = number_of(receipt, "from");
    int64_t before = from != ORACLE_NO_ID ? from : receipt->function_id;

    if (receipt->status != CASCADE_EXECUTION_COMPLETED ||
        !csc_supersede_is_receipt(receipt) || has_undone(v))
        return;
    for (int64_t i = 0; i < before && i < receipt->function_id; i++)
        if (is_superseded_by(receipt, (int32_t)i) && is_done(&rows[i], before))
            fail_at(v, &rows[i], "G3", "was done, and is superseded");
}

/* Of a node, or a signal, and all that came in its place, one counts. */
static void
check_alone(const oracle_view *v, const bool *counts, size_t at)
{
    const cascade_execution_row *rows = v->rows.executions;
    int32_t origin = oracle_origin_of(&v->rows, &rows[at]);

    for (size_t i = 0; i < at && counts[at] && !is_fork(&rows[0]); i++)
        if (counts[i] && oracle_origin_of(&v->rows, &rows[i]) == origin)
            fail_at(v, &rows[at], "G3", "counts beside what it stands for");
}

static bool
has_message(const oracle_view *v, const char *path)
{
    for (size_t i = 0; i < v->rows.message_count; i++)
        if (strcmp(v->rows.messages[i].row.path, path) == 0)
            return true;
    return false;
}

/* Whether the commit that is to end it is still to come: it is superseded by
 * one of which the message is there. */
static bool
is_to_be_closed(const oracle_view *v, size_t at)
{
    const cascade_execution_row *rows = v->rows.executions;

    for (size_t r = at + 1; r < v->count; r++)
        if (csc_supersede_is_receipt(&rows[r]) &&
            rows[r].status == CASCADE_EXECUTION_COMPLETED &&
            is_superseded_by(&rows[r], (int32_t)at) &&
            has_message(v, rows[r].node_instance_id))
            return true;
    return false;
}

static void
check_left(const oracle_view *v, const bool *counts, size_t at)
{
    const cascade_execution_row *row = v->facts[at].row;
    bool last =
        at + 1 == v->count || open_receipt(&v->rows, v->count - 1) == row;

    if (is_under_way(row) && last && !has_message(v, row->node_instance_id))
        fail_at(v, row, "G2", "is under way, and nothing asks for it");
    if (!counts[at] && !oracle_fact_ended(&v->facts[at]) &&
        !is_under_way(row) && open_receipt(&v->rows, at) == NULL &&
        !is_to_be_closed(v, at))
        fail_at(v, row, "G2", "is superseded, and RUNNING");
}

static cascade_status
status_of(const oracle_view *v, const bool *counts)
{
    bool running = false;

    for (size_t i = 0; i < v->count; i++) {
        const oracle_fact *fact = &v->facts[i];

        if (!counts[i])
            continue;
        if (fact->row->status == CASCADE_EXECUTION_FAILED && !fact->continued)
            return CASCADE_ERROR;
        running = running || !oracle_fact_ended(fact);
    }
    return running ? CASCADE_RUNNING : CASCADE_COMPLETED;
}

static void
check_hydration(const oracle_view *v)
{
    csc_state state;

    if (dump_rows_hydrate(&v->rows, &state) != CASCADE_OK)
        oracle_fail(v->o, "G7", &v->c->id, ORACLE_NO_ID,
                    "cannot be hydrated: %s", cascade_errmsg());
    else if (csc_view_status(&state) != v->rows.cascade.status ||
             state.fn_id != v->rows.cascade.fn_id)
        oracle_fail(v->o, "G7", &v->c->id, ORACLE_NO_ID,
                    "hydrates to another state than its rows tell");
    csc_state_fini(&state);
}

void
oracle_check_course(const oracle_view *v)
{
    bool *counts = oracle_find_counting(&v->rows);
    const cascade_row *row = &v->rows.cascade;

    if (row->fn_id != (int32_t)v->count - 1)
        oracle_fail(v->o, "G5", &v->c->id, ORACLE_NO_ID,
                    "fn_id is %d with %zu executions", (int)row->fn_id,
                    v->count);
    for (size_t i = 0; i < v->count; i++) {
        const oracle_fact *fact = &v->facts[i];
        int64_t resumes = number_of(fact->row, "resumes");

        check_left(v, counts, i);
        if (resumes != ORACLE_NO_ID)
            check_heir(v, fact->row, resumes);
        check_receipt(v, fact->row);
        check_alone(v, counts, i);
    }
    if (row->status != status_of(v, counts))
        oracle_fail(v->o, "G2", &v->c->id, ORACLE_NO_ID,
                    "status is %d, by what counts it must be %d",
                    (int)row->status, (int)status_of(v, counts));
    if (!v->torn && row->status == CASCADE_RUNNING && !v->run.found)
        oracle_fail(v->o, "G2", &v->c->id, ORACLE_NO_ID,
                    "RUNNING, but has no run row");
    check_hydration(v);
    free(counts);
}
