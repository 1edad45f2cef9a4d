/* SPDX-License-Identifier: MIT
 *
 * The rows of a cascade against those of the look before: what was recorded is
 * there and unchanged (G3), and nothing goes back (G5). See oracle.h.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json/json.h"
#include "base/uuid.h"
#include "support/oracle_internal.h"

static bool
same_text(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return strcmp(a, b) == 0;
}

/* What no commit changes. */
static bool
same_origin(const cascade_execution_row *a, const cascade_execution_row *b)
{
    return csc_uuid_equal(&a->id, &b->id) &&
           same_text(a->node_instance_id, b->node_instance_id) &&
           same_text(a->node_name, b->node_name) &&
           same_text(a->input, b->input) &&
           same_text(a->location, b->location) &&
           a->started_at_ms == b->started_at_ms;
}

static bool
same_end(const cascade_execution_row *a, const cascade_execution_row *b)
{
    return a->status == b->status &&
           same_text(a->full_output, b->full_output) &&
           same_text(a->error, b->error) &&
           a->completed_at_ms == b->completed_at_ms;
}

static int64_t
attempts_of(const cascade_execution_row *row)
{
    csc_json_span span;
    int64_t number = 0;

    if (row->full_output != NULL &&
        csc_json_read_member(row->full_output, "attempts", &span))
        (void)csc_json_read_i64(span, &number);
    return number;
}

/* It was RUNNING. Trials are those of the last claim. */
static void
check_poison(const oracle_view *v, const oracle_fact *fact)
{
    const char *error = fact->row->error;

    if (v->o->poison_limit > 0 &&
        fact->row->status == CASCADE_EXECUTION_FAILED && error != NULL &&
        strncmp(error, "poisoned", 8) == 0 &&
        v->c->run.trial <= v->o->poison_limit)
        oracle_fail(v->o, "G6", &v->c->id, fact->row->function_id,
                    "poisoned in trial %" PRId32 ", after %" PRId32
                    " takeovers",
                    v->c->run.trial, v->c->run.takeovers);
}

static void
check_execution(const oracle_view *v, const cascade_execution_row *old)
{
    const oracle_fact *fact = oracle_fact_find(v, old->function_id);

    if (fact == NULL) {
        oracle_fail(v->o, "G3", &v->c->id, old->function_id,
                    "was there, and has vanished");
        return;
    }
    if (!same_origin(old, fact->row))
        oracle_fail(v->o, "G3", &v->c->id, old->function_id,
                    "is another execution than before: %s, was %s",
                    fact->row->node_instance_id, old->node_instance_id);
    if (old->status != CASCADE_EXECUTION_RUNNING) {
        if (!same_end(old, fact->row))
            oracle_fail(v->o, "G3", &v->c->id, old->function_id,
                        "was recorded, and has changed");
        return;
    }
    check_poison(v, fact);
    if (fact->attempts < attempts_of(old))
        oracle_fail(v->o, "G3", &v->c->id, old->function_id,
                    "its failed attempts went back from %" PRId64
                    " to %" PRId64,
                    attempts_of(old), fact->attempts);
}

/* What comes after the end is recorded as undelivered, and nothing else. */
static void
check_late(const oracle_view *v)
{
    for (size_t i = v->c->rows.execution_count; i < v->count; i++)
        if (!v->facts[i].undelivered)
            oracle_fail(v->o, "G3", &v->c->id, v->facts[i].row->function_id,
                        "is new though the cascade had ended");
    for (size_t i = 0; i < v->c->rows.execution_count && i < v->count; i++)
        if (v->c->rows.executions[i].status != v->facts[i].row->status)
            oracle_fail(v->o, "G3", &v->c->id, v->facts[i].row->function_id,
                        "has changed though the cascade had ended");
    if (v->rows.cascade.updated_at_ms != v->c->rows.cascade.updated_at_ms)
        oracle_fail(v->o, "G3", &v->c->id, ORACLE_NO_ID,
                    "the time of its end has changed");
}

/* Events in `rows` by that writer; those from `*at` on. */
static size_t
count_events(const dump_rows *rows, int32_t writer, size_t *at)
{
    size_t count = 0;

    for (*at = 0; *at < rows->event_count; (*at)++)
        if (rows->events[*at].function_id == writer)
            break;
    while (*at + count < rows->event_count &&
           rows->events[*at + count].function_id == writer)
        count++;
    return count;
}

/* The events of a writer are all there at once, and stay: they are those that
 * were there, or there were none and the writer had not ended. */
static void
check_events(const oracle_view *v, const cascade_execution_row *old)
{
    size_t old_at = 0;
    size_t new_at = 0;
    size_t old_count = count_events(&v->c->rows, old->function_id, &old_at);
    size_t new_count = count_events(&v->rows, old->function_id, &new_at);
    bool same = old_count == new_count;

    if (old->status == CASCADE_EXECUTION_RUNNING)
        return;
    for (size_t i = 0; i < new_count && same; i++) {
        const cascade_event_row *a = &v->c->rows.events[old_at + i];
        const cascade_event_row *b = &v->rows.events[new_at + i];

        same = a->id == b->id && same_text(a->key, b->key) &&
               same_text(a->value, b->value) &&
               same_text(a->ui_value, b->ui_value);
    }
    if (!same)
        oracle_fail(v->o, "G3", &v->c->id, old->function_id,
                    "its context events have changed: %zu, were %zu", new_count,
                    old_count);
}

static void
check_cascade(const oracle_view *v)
{
    const cascade_row *old = &v->c->rows.cascade;
    const cascade_row *now = &v->rows.cascade;

    if (now->fn_id < old->fn_id)
        oracle_fail(v->o, "G5", &v->c->id, ORACLE_NO_ID,
                    "fn_id went back from %" PRId32 " to %" PRId32, old->fn_id,
                    now->fn_id);
    if (old->status != CASCADE_RUNNING && now->status != old->status &&
        !oracle_has_course(&v->rows))
        oracle_fail(v->o, "G3", &v->c->id, ORACLE_NO_ID,
                    "ended with status %d, which is now %d", (int)old->status,
                    (int)now->status);
    if (old->status != CASCADE_RUNNING && !oracle_has_course(&v->rows))
        check_late(v);
    if (!same_text(now->user_id, old->user_id) ||
        now->created_at_ms != old->created_at_ms)
        oracle_fail(v->o, "G3", &v->c->id, ORACLE_NO_ID,
                    "its user or its time of birth has changed");
    if (now->updated_at_ms < now->created_at_ms)
        oracle_fail(v->o, "G3", &v->c->id, ORACLE_NO_ID,
                    "was written before it was created");
    if (v->run.found && v->c->run.found && v->run.claim_no < v->c->run.claim_no)
        oracle_fail(v->o, "G5", &v->c->id, ORACLE_NO_ID,
                    "claim_no went back from %" PRId64 " to %" PRId64,
                    v->c->run.claim_no, v->run.claim_no);
}

/* Of what is new: it was ended unread, for one death more than what ends an
 * execution. */
static void
check_unread(const oracle_view *v)
{
    for (size_t i = v->c->rows.execution_count; i < v->count; i++) {
        const cascade_execution_row *row = v->facts[i].row;

        if (v->o->poison_limit > 0 && row->error != NULL &&
            strncmp(row->error, "poisoned", 8) == 0 &&
            v->c->run.trial <= v->o->poison_limit + 1)
            oracle_fail(v->o, "G6", &v->c->id, row->function_id,
                        "ended unread in trial %" PRId32, v->c->run.trial);
    }
}

void
oracle_check_change(oracle_view *v)
{
    check_cascade(v);
    check_unread(v);
    for (size_t i = 0; i < v->c->rows.execution_count; i++) {
        check_execution(v, &v->c->rows.executions[i]);
        check_events(v, &v->c->rows.executions[i]);
    }
}
