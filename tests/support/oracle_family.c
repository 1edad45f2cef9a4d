/* SPDX-License-Identifier: MIT
 *
 * Parents and children. See oracle.h.
 *
 *   parent  execution n: "cascade.child:NAME", "child": ID
 *   child   execution 0: "cascade": {..., "parent": ID, ...}
 *
 * Each run of a child names the parent, which names the first one, and is told
 * of the end of the last.
 */
#include <string.h>

#include "base/data/map.h"
#include "base/json/json.h"
#include "base/uuid.h"
#include "state/full_output.h"
#include "support/oracle_internal.h"

#define PARENT_ENDED "the parent ended before the child"
#define GOES_ON "cancelled: the child goes on by itself"

bool
oracle_parent_id(const dump_rows *rows, cascade_uuid *parent)
{
    csc_json_span span = oracle_meta_member(rows, "parent");

    return span.data != NULL && csc_full_output_uuid(span, parent);
}

/* `row` stands for a child; `*id` is its first run. */
static bool
child_id(const cascade_execution_row *row, cascade_uuid *id)
{
    csc_json_span span;

    return strncmp(row->node_name, CASCADE_CHILD_PREFIX,
                   strlen(CASCADE_CHILD_PREFIX)) == 0 &&
           oracle_member(row, "child", &span) && csc_full_output_uuid(span, id);
}

/* ---- Messages ----------------------------------------------------------- */

bool
oracle_is_of_family(const oracle_view *v, const char *path)
{
    const char *kind = path + CASCADE_UUID_TEXT_SIZE + strlen("message/");
    const oracle_cascade *child = NULL;
    cascade_uuid id;

    if (oracle_request_of(path) == NULL)
        return false;
    if (strncmp(kind, "parent/", 7) == 0)
        return oracle_parent_id(&v->rows, &id);
    if (strncmp(kind, "family/", 7) == 0)
        return oracle_has_family(v); /* to itself */
    if (strncmp(kind, "child/", 6) != 0 ||
        cascade_uuid_parse(kind + 6, &id) != CASCADE_OK)
        return false;
    child = csc_map_get(&v->o->cascades, &id);
    if (child == NULL || child->looks == 0)
        return child != NULL; /* it is looked at after this one */
    return oracle_parent_id(&child->rows, &id) &&
           csc_uuid_equal(&id, &v->c->id);
}

bool
oracle_has_family(const oracle_view *v)
{
    cascade_uuid id;

    for (size_t i = 0; i < v->count; i++)
        if (v->facts[i].child)
            return true;
    return oracle_parent_id(&v->rows, &id);
}

/* ---- In the end --------------------------------------------------------- */

/* What the parent was told is how the child has ended. */
static void
check_told(oracle *o, const oracle_cascade *c, const cascade_execution_row *row,
           const oracle_cascade *child)
{
    bool well = child->rows.cascade.status == CASCADE_COMPLETED;
    const char *error = row->error != NULL ? row->error : "";
    bool not_told =
        strcmp(error, PARENT_ENDED) == 0 || strcmp(error, GOES_ON) == 0;

    if (row->status == CASCADE_EXECUTION_RUNNING &&
        c->rows.cascade.status != CASCADE_ERROR)
        oracle_fail(o, "G1", &c->id, row->function_id,
                    "the end of this child was never told");
    if (row->status == CASCADE_EXECUTION_COMPLETED && !well)
        oracle_fail(o, "G1", &c->id, row->function_id,
                    "this child was said to have completed, but has failed");
    if (row->status == CASCADE_EXECUTION_FAILED && well && !not_told)
        oracle_fail(o, "G1", &c->id, row->function_id,
                    "this child was said to have failed, but has completed");
}

static void
check_children(oracle *o, const oracle_cascade *c)
{
    for (size_t i = 0; i < c->rows.execution_count; i++) {
        const cascade_execution_row *row = &c->rows.executions[i];
        const oracle_cascade *child = NULL;
        cascade_uuid id;

        if (!child_id(row, &id))
            continue;
        child = csc_map_get(&o->cascades, &id);
        if (child == NULL || child->looks == 0)
            oracle_fail(o, "G1", &c->id, row->function_id,
                        "names a child that never was");
        else if (!child->deleted)
            check_told(o, c, row, oracle_find_last(o, child));
    }
}

static bool
is_named(const oracle_cascade *parent, const cascade_uuid *child)
{
    cascade_uuid id;

    for (size_t i = 0; i < parent->rows.execution_count; i++)
        if (child_id(&parent->rows.executions[i], &id) &&
            csc_uuid_equal(&id, child))
            return true;
    return false;
}

void
oracle_check_family(oracle *o, const oracle_cascade *c)
{
    const oracle_cascade *parent = NULL;
    cascade_uuid id;

    check_children(o, c);
    if (!oracle_parent_id(&c->rows, &id) ||
        oracle_find_previous(o, &c->rows) != NULL)
        return;
    parent = csc_map_get(&o->cascades, &id);
    if (parent != NULL && parent->looks > 0 && !parent->deleted &&
        !is_named(parent, &c->id))
        oracle_fail(o, "G1", &c->id, ORACLE_NO_ID,
                    "is a child that its parent does not name");
}
