/* SPDX-License-Identifier: MIT */
#include "query/audit/audit_family.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/audit/audit.h"
#include "query/audit/audit_read.h"
#include "query/run_chain.h"
#include "query/start_records.h"
#include "state/full_output.h"
#include "state/kind.h"
#include "state/start_record.h"
#include "store/move.h"

#define MESSAGE_PART "/message/"
#define PAGE CSC_AUDIT_GROUP_MAX

/* ---- Noting -------------------------------------------------------------- */

bool
csc_audit_family_path(const char *path, cascade_uuid *id)
{
    const char *rest = csc_kind_skip_id(path, id);

    return rest != NULL &&
           strncmp(rest, MESSAGE_PART, strlen(MESSAGE_PART)) == 0;
}

/* Many that follow each other are often of one. */
static cascade_err
note(csc_audit *audit, const csc_audit_kin *kin)
{
    const csc_audit_kin *last =
        audit->kin_count > 0 ? &audit->kin[audit->kin_count - 1] : NULL;
    void *all = audit->kin;

    if (last != NULL && !kin->child && !last->child &&
        csc_uuid_equal(&last->id, &kin->id))
        return CASCADE_OK;
    if (csc_mem_grow(&all, &audit->kin_room, audit->kin_count + 1,
                     sizeof(*audit->kin)) != 0)
        return csc_fail_memory();
    audit->kin = all;
    audit->kin[audit->kin_count++] = *kin;
    return CASCADE_OK;
}

static cascade_err
note_path(csc_audit *audit, const char *path, int32_t function_id)
{
    csc_audit_kin kin = {.function_id = function_id};

    if (!csc_audit_family_path(path, &kin.id) ||
        csc_uuid_equal(&kin.id, &audit->row.id))
        return CASCADE_OK;
    return note(audit, &kin);
}

cascade_err
csc_audit_family_execution(csc_audit *audit, const cascade_execution_row *row,
                           const csc_record *record)
{
    const csc_audit_kin kin = {.id = record->child,
                               .function_id = row->function_id,
                               .child = true,
                               .abandoned = record->when_parent_ends ==
                                            CASCADE_CHILD_ABANDON};

    if (row->status == CASCADE_EXECUTION_RUNNING &&
        csc_kind_of(row->node_name) == CSC_PART_CHILD)
        return csc_uuid_is_nil(&kin.id) ? CASCADE_OK : note(audit, &kin);
    return note_path(audit, row->node_instance_id, row->function_id);
}

cascade_err
csc_audit_family_message(csc_audit *audit, const cascade_message_row *row)
{
    return note_path(audit, row->path, -1);
}

/* By id, the children first. */
static int
compare_kin(const void *left, const void *right)
{
    const csc_audit_kin *a = left;
    const csc_audit_kin *b = right;
    int order = csc_uuid_compare(&a->id, &b->id);

    if (a->child != b->child)
        return a->child ? -1 : 1;
    if (order != 0)
        return order;
    return (a->function_id > b->function_id) -
           (a->function_id < b->function_id);
}

/* ---- What the others say ------------------------------------------------- */

/* One of them. */
typedef struct other {
    csc_meta meta;
    bool there; /* and it can be read; else the rest says nothing */
} other;

typedef struct others {
    other of[PAGE];
} others;

static void
note_other(void *context, size_t at, csc_family_state state, csc_meta *meta)
{
    other *o = &((others *)context)->of[at];

    csc_start_record_fini(&o->meta);
    o->meta = *meta;
    *meta = (csc_meta){0};
    o->there = state != CSC_FAMILY_UNREADABLE;
}

static void
forget_others(others *o, size_t count)
{
    for (size_t i = 0; i < count; i++)
        csc_start_record_fini(&o->of[i].meta);
    memset(o, 0, sizeof(*o));
}

/* As which its parent knows a cascade. */
static const cascade_uuid *
known_as(const csc_meta *meta, const cascade_uuid *id)
{
    return csc_uuid_is_nil(&meta->child) ? id : &meta->child;
}

/* ---- Children that are waited for ---------------------------------------- */

static void
check_child(csc_audit *audit, const csc_audit_kin *kin, const other *child)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    if (!child->there || kin->abandoned ||
        (csc_uuid_equal(&child->meta.parent, &audit->row.id) &&
         csc_uuid_equal(known_as(&child->meta, &kin->id), &kin->id)))
        return;
    csc_audit_add(audit, CSC_AUDIT_FAMILY, kin->function_id,
                  "execution %d waits for cascade %s, which is not its child",
                  kin->function_id, cascade_uuid_format(&kin->id, id));
}

static void
check_twice(csc_audit *audit, const csc_audit_kin *one,
            const csc_audit_kin *two)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_audit_add(audit, CSC_AUDIT_FAMILY, two->function_id,
                  "executions %d and %d wait for one child, %s",
                  one->function_id, two->function_id,
                  cascade_uuid_format(&one->id, id));
}

/* ---- The run before ------------------------------------------------------ */

static void
check_same_child(csc_audit *audit, const other *before)
{
    const csc_meta *meta = &audit->meta;
    const csc_meta *old = &before->meta;
    char id[CASCADE_UUID_TEXT_SIZE];

    if (csc_uuid_equal(&meta->parent, &old->parent) &&
        (csc_uuid_is_nil(&meta->parent) ||
         csc_uuid_equal(known_as(meta, &audit->row.id),
                        known_as(old, &meta->previous))))
        return;
    csc_audit_add(audit, CSC_AUDIT_FAMILY, 0,
                  "the cascade says that it is another child, or another's, "
                  "than the run before it, %s",
                  cascade_uuid_format(&meta->previous, id));
}

static cascade_err
check_run(cascade_store *store, csc_audit *audit, others *o)
{
    const cascade_uuid *id = &audit->meta.previous;
    char text[CASCADE_UUID_TEXT_SIZE];
    bool leads = false;
    cascade_err err = csc_start_records_read(store, id, 1, note_other, o);

    if (err != CASCADE_OK || !o->of[0].there)
        return err;
    check_same_child(audit, &o->of[0]);
    err = csc_run_chain_leads(store, id, &audit->row.id, &leads);
    if (err == CASCADE_OK && !leads)
        csc_audit_add(audit, CSC_AUDIT_FAMILY, 0,
                      "the cascade says that it continues %s, which has not "
                      "continued as it",
                      cascade_uuid_format(id, text));
    return err == CASCADE_ERR_CORRUPT ? CASCADE_OK : err;
}

static cascade_err
check_before(cascade_store *store, csc_audit *audit, others *o)
{
    const csc_meta *meta = &audit->meta;
    char id[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = CASCADE_OK;

    if (!csc_uuid_is_nil(&meta->previous))
        err = check_run(store, audit, o);
    else if (!csc_uuid_equal(known_as(meta, &audit->row.id), &audit->row.id))
        csc_audit_add(audit, CSC_AUDIT_FAMILY, 0,
                      "the cascade says that its parent knows it as %s, and "
                      "that it continues no run before it",
                      cascade_uuid_format(&meta->child, id));
    forget_others(o, 1);
    return err;
}

/* ---- Messages and receipts ----------------------------------------------- */

static void
tell_receipt(csc_audit *audit, const csc_audit_kin *kin)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    (void)cascade_uuid_format(&kin->id, id);
    if (kin->function_id < 0)
        csc_audit_add(audit, CSC_AUDIT_RECEIPT, -1,
                      "a message waits that is for cascade %s, which is no "
                      "earlier run of this one",
                      id);
    else
        csc_audit_add(audit, CSC_AUDIT_RECEIPT, kin->function_id,
                      "execution %d is the receipt of a message for cascade "
                      "%s, which is no earlier run of this one",
                      kin->function_id, id);
}

/* `*strange`: what was entered of one that is not there leads to another root.
 * Of an old one nothing need be left. */
static cascade_err
look_at_gone(cascade_store *store, const csc_audit *audit,
             const cascade_uuid *id, bool *strange)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    const char *path = cascade_uuid_format(id, text);
    cascade_found found = {.run_number = 0};
    cascade_err err = csc_move_find(store, &path, 1, &found);

    *strange = !csc_uuid_is_nil(&found.root) &&
               !csc_uuid_equal(&found.root, &audit->meta.root);
    return err;
}

static cascade_err
check_receipt(cascade_store *store, csc_audit *audit, const csc_audit_kin *kin,
              const other *run)
{
    const csc_meta *meta = &audit->meta;
    const csc_meta *old = &run->meta;
    const cascade_uuid *root =
        csc_uuid_is_nil(&old->root) ? &kin->id : &old->root;
    bool strange =
        csc_uuid_is_nil(&meta->root) && csc_uuid_is_nil(&meta->previous);
    cascade_err err = CASCADE_OK;

    if (csc_run_chain_has_key(&audit->row.id, audit->user_id, meta, &kin->id))
        return CASCADE_OK;
    if (csc_uuid_is_nil(&meta->root) && !strange)
        return CASCADE_OK; /* of a release that recorded none */
    if (!strange && run->there)
        strange = !csc_uuid_equal(root, &meta->root) ||
                  old->run_number >= meta->run_number;
    else if (!strange)
        err = look_at_gone(store, audit, &kin->id, &strange);
    if (err == CASCADE_OK && strange)
        tell_receipt(audit, kin);
    return err;
}

/* ---- The whole ----------------------------------------------------------- */

static cascade_err
check_one(cascade_store *store, csc_audit *audit, size_t at, const other *of)
{
    const csc_audit_kin *kin = &audit->kin[at];

    if (!kin->child)
        return check_receipt(store, audit, kin, of);
    check_child(audit, kin, of);
    return CASCADE_OK;
}

/* Of one kind, up to a page of different ids from the one at `from` on. */
static cascade_err
check_page(cascade_store *store, csc_audit *audit, size_t *from, others *o)
{
    const csc_audit_kin *first = &audit->kin[*from];
    cascade_uuid ids[PAGE] = {{{0}}};
    size_t places[PAGE];
    size_t count = 0;
    size_t i = *from;
    cascade_err err = CASCADE_OK;

    for (; i < audit->kin_count && audit->kin[i].child == first->child; i++) {
        const csc_audit_kin *kin = &audit->kin[i];

        if (count > 0 && csc_uuid_equal(&ids[count - 1], &kin->id)) {
            if (kin->child)
                check_twice(audit, kin - 1, kin);
            continue;
        }
        if (count == PAGE)
            break;
        places[count] = i;
        ids[count++] = kin->id;
    }
    *from = i;
    err = csc_start_records_read(store, ids, count, note_other, o);
    for (size_t n = 0; n < count && err == CASCADE_OK; n++)
        err = check_one(store, audit, places[n], &o->of[n]);
    forget_others(o, count);
    return err;
}

cascade_err
csc_audit_family(cascade_store *store, csc_audit *audit)
{
    bool continues = !csc_uuid_is_nil(&audit->meta.previous) ||
                     !csc_uuid_is_nil(&audit->meta.child);
    others *o = NULL;
    cascade_err err = CASCADE_OK;

    if (audit->kin_count == 0 && !continues)
        return CASCADE_OK;
    o = csc_mem_zalloc(1, sizeof(*o));
    if (o == NULL)
        return csc_fail_memory();
    if (continues)
        err = check_before(store, audit, o);
    if (audit->kin_count > 0)
        qsort(audit->kin, audit->kin_count, sizeof(*audit->kin), compare_kin);
    for (size_t from = 0; from < audit->kin_count && err == CASCADE_OK;)
        err = check_page(store, audit, &from, o);
    csc_mem_free(o);
    return err;
}
