/* SPDX-License-Identifier: MIT
 *
 * The runs of a cascade that continued as new. See oracle.h.
 *
 *   run 1  last execution: "continued_as": ID 2
 *   run 2  execution 0: "cascade": {..., "previous": ID 1, "run_number": 2}
 *          then the signals that run 1 had not read, counted from 0, and
 *          a pause where run 1 was paused
 */
#include <inttypes.h>
#include <string.h>

#include "base/data/map.h"
#include "base/json/json.h"
#include "base/uuid.h"
#include "state/full_output.h"
#include "support/oracle_internal.h"

csc_json_span
oracle_meta_member(const dump_rows *rows, const char *name)
{
    csc_json_iter iter;
    csc_json_span meta;
    size_t len = strlen(name);

    if (rows->execution_count == 0 ||
        !oracle_member(&rows->executions[0], "cascade", &meta))
        return (csc_json_span){0};
    csc_json_read_iter_init(&iter, meta.data, meta.len);
    while (csc_json_read_next(&iter))
        if (iter.key.len == len && memcmp(iter.key.data, name, len) == 0)
            return iter.value;
    return (csc_json_span){0};
}

int64_t
oracle_run_number(const dump_rows *rows)
{
    csc_json_span span = oracle_meta_member(rows, "run_number");
    int64_t number = 1;

    if (span.data != NULL)
        (void)csc_json_read_i64(span, &number);
    return number;
}

const oracle_cascade *
oracle_find_previous(oracle *o, const dump_rows *rows)
{
    csc_json_span span = oracle_meta_member(rows, "previous");
    cascade_uuid id;

    if (span.data == NULL || !csc_full_output_uuid(span, &id))
        return NULL;
    return csc_map_get(&o->cascades, &id);
}

bool
oracle_next_run(const dump_rows *rows, cascade_uuid *next)
{
    csc_json_span span;

    for (size_t i = 0; i < rows->execution_count; i++)
        if (rows->executions[i].status == CASCADE_EXECUTION_COMPLETED &&
            oracle_member(&rows->executions[i], "continued_as", &span))
            return csc_full_output_uuid(span, next);
    return false;
}

const oracle_cascade *
oracle_find_next(oracle *o, const oracle_cascade *c)
{
    const oracle_cascade *next = NULL;
    cascade_uuid id;

    if (oracle_next_run(&c->rows, &id))
        next = csc_map_get(&o->cascades, &id);
    return next != NULL && next->looks > 0 && !next->deleted ? next : NULL;
}

const oracle_cascade *
oracle_find_last(oracle *o, const oracle_cascade *c)
{
    const oracle_cascade *next = oracle_find_next(o, c);

    while (next != NULL) {
        c = next;
        next = oracle_find_next(o, c);
    }
    return c;
}

/* Of the rows alone. */
void
oracle_check_run(const oracle_view *v)
{
    int64_t carried = 0;
    cascade_uuid next;

    for (size_t i = 0; i < v->count; i++) {
        const oracle_fact *fact = &v->facts[i];

        if (fact->carried && oracle_run_number(&v->rows) < 2)
            oracle_fail(v->o, "G9", &v->c->id, (int32_t)i,
                        "is carried over, but this is the first run");
        if (fact->carried && fact->signal && fact->nth != carried++)
            oracle_fail(v->o, "G9", &v->c->id, (int32_t)i,
                        "is not the next of those carried over");
    }
    if (oracle_next_run(&v->rows, &next) &&
        v->rows.cascade.status != CASCADE_COMPLETED)
        oracle_fail(v->o, "G1", &v->c->id, ORACLE_NO_ID,
                    "has continued, but is not COMPLETED");
}

/* Signals of each name that nobody had taken, in `rows`. */
static size_t
count_unread(const dump_rows *rows)
{
    size_t unread = 0;

    for (size_t i = 0; i < rows->execution_count; i++) {
        const cascade_execution_row *row = &rows->executions[i];
        csc_json_span span;

        if (row->status != CASCADE_EXECUTION_COMPLETED)
            continue;
        unread += strncmp(row->node_name, "cascade.signal:", 15) == 0;
        unread -= strncmp(row->node_name, "cascade.await:", 14) == 0 &&
                  oracle_member(row, "signal", &span);
    }
    return unread;
}

static size_t
count_carried(const dump_rows *rows)
{
    size_t carried = 0;

    for (size_t i = 0; i < rows->execution_count; i++)
        carried +=
            strncmp(rows->executions[i].node_name, "cascade.signal:", 15) ==
                0 &&
            oracle_request_of(rows->executions[i].node_instance_id) == NULL;
    return carried;
}

void
oracle_check_previous(oracle *o, const oracle_cascade *c)
{
    const oracle_cascade *previous = oracle_find_previous(o, &c->rows);
    cascade_uuid id;

    if (previous == NULL || previous->looks == 0 || previous->deleted)
        return;
    if (!oracle_next_run(&previous->rows, &id) || !csc_uuid_equal(&id, &c->id))
        oracle_fail(o, "G1", &c->id, ORACLE_NO_ID,
                    "is a next run that the one before does not name");
}

void
oracle_check_next(oracle *o, const oracle_cascade *c)
{
    const oracle_cascade *next = oracle_find_next(o, c);
    cascade_uuid id;

    if (!oracle_next_run(&c->rows, &id))
        return;
    if (next == NULL) {
        const oracle_cascade *known = csc_map_get(&o->cascades, &id);

        if (known == NULL || !oracle_may_be_gone(known))
            oracle_fail(o, "G1", &c->id, ORACLE_NO_ID,
                        "has continued as what is not there");
        return;
    }
    if (oracle_run_number(&next->rows) != oracle_run_number(&c->rows) + 1)
        oracle_fail(o, "G10", &next->id, ORACLE_NO_ID,
                    "is not the next run after the one before");
    if (next->rows.cascade.created_at_ms < c->rows.cascade.updated_at_ms &&
        !oracle_has_course(&c->rows))
        oracle_fail(o, "G1", &next->id, ORACLE_NO_ID,
                    "was created before the run before had ended");
    if (count_carried(&next->rows) != count_unread(&c->rows))
        oracle_fail(o, "G9", &next->id, ORACLE_NO_ID,
                    "%zu signals are carried over, of %zu",
                    count_carried(&next->rows), count_unread(&c->rows));
    oracle_check_sent_on(o, c);
}
