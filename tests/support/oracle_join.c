/* SPDX-License-Identifier: MIT
 *
 * What a join must do, worked out from the rows alone. See oracle.h.
 *
 * Each of its `after` set is the head of a line: the one itself, and where that
 * has failed, the one that its failure spawned, and so on. The line has ended
 * when its last one has; unless one of them says that it was too late for this
 * join (`late`): then it had not ended when the join was decided. By what has
 * ended the join is to run, to fail or to be skipped, or it waits.
 */
#include <string.h>

#include "support/oracle_internal.h"

static bool
names(csc_json_span list, int64_t wanted)
{
    csc_json_iter iter;
    int64_t id = 0;

    csc_json_read_iter_init(&iter, list.data, list.len);
    while (list.data != NULL && csc_json_read_next(&iter))
        if (csc_json_read_i64(iter.value, &id) && id == wanted)
            return true;
    return false;
}

static const cascade_execution_row *
row_at(const dump_rows *rows, int64_t function_id)
{
    if (function_id < 0 || function_id >= (int64_t)rows->execution_count)
        return NULL;
    return &rows->executions[function_id];
}

bool
oracle_is_late(const cascade_execution_row *row, int64_t join)
{
    csc_json_span late;

    return row->status != CASCADE_EXECUTION_RUNNING &&
           oracle_member(row, "late", &late) && names(late, join);
}

/* What runs instead of one that failed; NULL when nothing does. */
static const cascade_execution_row *
next_in_line(const dump_rows *rows, const cascade_execution_row *row)
{
    csc_json_span spawned;
    csc_json_iter iter;
    int64_t id = 0;

    if (row->status != CASCADE_EXECUTION_FAILED ||
        !oracle_member(row, "spawned", &spawned))
        return NULL;
    csc_json_read_iter_init(&iter, spawned.data, spawned.len);
    return csc_json_read_next(&iter) && csc_json_read_i64(iter.value, &id) &&
                   id > row->function_id
               ? row_at(rows, id)
               : NULL;
}

oracle_place
oracle_place_of(const dump_rows *rows, int64_t head, int64_t join)
{
    oracle_place place = {.row = row_at(rows, head)};
    const cascade_execution_row *next = place.row;
    csc_json_span span;

    while (next != NULL) {
        place.row = next;
        next = oracle_is_late(next, join) ? NULL : next_in_line(rows, next);
    }
    if (place.row == NULL || oracle_is_late(place.row, join))
        return place;
    if (place.row->status == CASCADE_EXECUTION_FAILED)
        place.end = ORACLE_BADLY;
    else if (place.row->status == CASCADE_EXECUTION_COMPLETED)
        place.end = oracle_member(place.row, "skipped", &span) ? ORACLE_SKIPPED
                                                               : ORACLE_WELL;
    return place;
}

/* ---- Verdicts ----------------------------------------------------------- */

static int64_t
first_of(const cascade_execution_row *row)
{
    csc_json_span span;
    int64_t first = 0;

    if (oracle_member(row, "first", &span))
        (void)csc_json_read_i64(span, &first);
    return first;
}

static bool
is_policy(const cascade_execution_row *row, const char *policy)
{
    csc_json_span span;

    return oracle_member(row, "on_failure", &span) &&
           csc_json_read_is(span, policy);
}

static bool
is_bad(const cascade_execution_row *join, oracle_end end)
{
    if (is_policy(join, "\"fail\""))
        return end == ORACLE_BADLY;
    return is_policy(join, "\"skip\"") &&
           (end == ORACLE_BADLY || end == ORACLE_SKIPPED);
}

oracle_tally
oracle_count(const dump_rows *rows, const cascade_execution_row *join)
{
    oracle_tally t = {0};
    csc_json_span after;
    csc_json_iter iter;
    int64_t id = 0;

    if (!oracle_member(join, "after", &after))
        return t;
    csc_json_read_iter_init(&iter, after.data, after.len);
    for (; csc_json_read_next(&iter); t.all++) {
        oracle_place place = {0};

        if (!csc_json_read_i64(iter.value, &id))
            continue;
        place = oracle_place_of(rows, id, join->function_id);
        if (place.end == ORACLE_OPEN)
            continue;
        if (is_bad(join, place.end))
            t.bad++;
        else
            t.good++;
    }
    t.needed = first_of(join) > 0 ? first_of(join) : t.all;
    return t;
}

oracle_verdict
oracle_judge(const dump_rows *rows, const cascade_execution_row *join)
{
    oracle_tally t = oracle_count(rows, join);

    if (t.good >= t.needed)
        return ORACLE_RUN;
    if (t.bad + t.needed <= t.all)
        return ORACLE_WAIT;
    return is_policy(join, "\"skip\"") ? ORACLE_SKIP : ORACLE_FAIL;
}

/* ---- The rows of a join ------------------------------------------------- */

static void
fail_join(const oracle_view *v, const oracle_fact *fact, const char *what)
{
    oracle_fail(v->o, "G1", &v->c->id, fact->row->function_id, "%s", what);
}

/* What it was recorded as is what it had to become. */
static void
check_end(const oracle_view *v, const oracle_fact *fact)
{
    oracle_verdict verdict = oracle_judge(&v->rows, fact->row);
    csc_json_span span;
    bool skipped = oracle_member(fact->row, "skipped", &span);
    oracle_verdict was = ORACLE_RUN;

    if (!oracle_fact_ended(fact) || fact->cancelled || fact->over)
        return;
    if (verdict == ORACLE_WAIT)
        fail_join(v, fact, "ended before what it comes after");
    if (fact->attempts == 0)
        was = skipped ? ORACLE_SKIP : ORACLE_FAIL;
    if (was != verdict || skipped != (was == ORACLE_SKIP) ||
        (was == ORACLE_FAIL) != (fact->attempts == 0 &&
                                 fact->row->status == CASCADE_EXECUTION_FAILED))
        fail_join(v, fact, "was run, or not run, against its predecessors");
}

static int64_t
at_of(const cascade_execution_row *row)
{
    csc_json_span span;
    int64_t at = ORACLE_NO_ID;

    if (oracle_member(row, "at", &span))
        (void)csc_json_read_i64(span, &at);
    return at;
}

/* Those that counted ended before the join, and before those too late. */
static void
check_order(const oracle_view *v, const oracle_fact *fact)
{
    csc_json_iter iter;
    int64_t id = 0;
    int64_t last = ORACLE_NO_ID;
    int64_t late = INT64_MAX;

    csc_json_read_iter_init(&iter, fact->after.data, fact->after.len);
    while (csc_json_read_next(&iter)) {
        int64_t join = fact->row->function_id;
        oracle_place place = {0};

        if (!csc_json_read_i64(iter.value, &id))
            continue;
        place = oracle_place_of(&v->rows, id, join);
        if (place.end != ORACLE_OPEN && at_of(place.row) > last)
            last = at_of(place.row);
        if (place.row != NULL && oracle_is_late(place.row, join) &&
            at_of(place.row) < late)
            late = at_of(place.row);
    }
    if (late < last)
        fail_join(v, fact,
                  "one that it joined ended after one too late for it");
    if (late != INT64_MAX && !fact->over &&
        oracle_judge(&v->rows, fact->row) == ORACLE_WAIT)
        fail_join(v, fact, "one was too late for it, though it is not decided");
    if (oracle_fact_ended(fact) && !fact->cancelled && last > fact->at)
        fail_join(v, fact, "ended before what it comes after");
}

void
oracle_check_join(const oracle_view *v, const oracle_fact *fact)
{
    oracle_tally t = {0};
    csc_json_span span;

    if (fact->after.data == NULL) {
        if (oracle_member(fact->row, "first", &span) ||
            oracle_member(fact->row, "on_failure", &span) ||
            oracle_member(fact->row, "skipped", &span))
            fail_join(v, fact, "has the record of a join, and is none");
        return;
    }
    t = oracle_count(&v->rows, fact->row);
    if (oracle_member(fact->row, "first", &span) &&
        first_of(fact->row) >= t.all)
        fail_join(v, fact, "waits for the first of fewer");
    if (t.good > t.needed || t.bad > t.all - t.needed + 1)
        fail_join(v, fact, "joined more than it waited for");
    check_end(v, fact);
    check_order(v, fact);
}

/* Each that it was too late for came after it, or after what it stands for. */
void
oracle_check_late(const oracle_view *v, const oracle_fact *fact)
{
    csc_json_iter iter;
    csc_json_span late;
    int64_t id = 0;
    int64_t last = ORACLE_NO_ID;

    if (!oracle_member(fact->row, "late", &late))
        return;
    if (!oracle_fact_ended(fact))
        fail_join(v, fact, "is too late, and has not ended");
    csc_json_read_iter_init(&iter, late.data, late.len);
    while (csc_json_read_next(&iter)) {
        const oracle_fact *join =
            csc_json_read_i64(iter.value, &id) ? oracle_fact_find(v, id) : NULL;

        if (join == NULL || id <= last ||
            (!names(join->after, fact->row->function_id) &&
             !names(join->after, fact->instead_of)))
            fail_join(v, fact, "is too late for what does not wait for it");
        last = id;
    }
}
