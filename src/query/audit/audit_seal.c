/* SPDX-License-Identifier: MIT */
#include "query/audit/audit_seal.h"

#include <stdint.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/audit/audit.h"
#include "store/ring.h"
#include "store/seal.h"

struct csc_audit_seal {
    const csc_ring *ring;
    csc_seal seal;
    cascade_row row; /* without its text */
    csc_seal_kept kept;
    bool broken;
    bool moved; /* another one came behind the rows */
};

cascade_err
csc_audit_seal_begin(csc_audit *audit, const csc_ring *ring,
                     const cascade_row *row)
{
    csc_audit_seal *s = NULL;

    csc_audit_seal_fini(audit);
    if (ring == NULL)
        return CASCADE_OK;
    s = csc_mem_zalloc(1, sizeof(*s));
    if (s == NULL)
        return csc_fail_memory();
    s->ring = ring;
    s->row = *row;
    s->row.user_id = NULL;
    csc_seal_init(&s->seal, csc_ring_current(ring), &row->id);
    audit->seal = s;
    return CASCADE_OK;
}

/* Its key is that of the rows that follow. */
void
csc_audit_seal_take(csc_audit *audit, const cascade_seal_row *row)
{
    csc_audit_seal *s = audit->seal;
    const csc_seal_key *key = NULL;

    if (s == NULL)
        return;
    csc_seal_keep(&s->kept, row);
    if (csc_ring_find(s->ring, row->seal, &key) == CASCADE_OK)
        s->seal.key = key;
}

cascade_err
csc_audit_seal_execution(csc_audit *audit, const cascade_execution_row *row)
{
    return audit->seal != NULL ? csc_seal_add_execution(&audit->seal->seal, row)
                               : CASCADE_OK;
}

void
csc_audit_seal_event(csc_audit *audit, const cascade_event_row *row)
{
    if (audit->seal != NULL)
        csc_seal_add_event(&audit->seal->seal, row);
}

void
csc_audit_seal_message(csc_audit *audit, const cascade_message_row *row)
{
    if (audit->seal != NULL &&
        csc_ring_check_message(audit->seal->ring, row) != CASCADE_OK)
        csc_audit_add(audit, CSC_AUDIT_SEAL, -1, "message %lld: %s",
                      (long long)row->id, cascade_errmsg());
}

void
csc_audit_seal_compare(csc_audit *audit, const cascade_seal_row *row)
{
    csc_audit_seal *s = audit->seal;

    if (s != NULL && (!s->kept.found || s->kept.number != row->number))
        s->moved = true;
}

/* CASCADE_ERR_CORRUPT says what does not fit. */
static cascade_err
check(csc_audit_seal *s, const char *user_id)
{
    const csc_seal_key *key = NULL;
    cascade_err err = CASCADE_OK;

    if (!s->kept.found)
        return csc_fail(CASCADE_ERR_CORRUPT, "it has no seal");
    err = csc_ring_find(s->ring, s->kept.text, &key);
    if (err != CASCADE_OK)
        return err;
    s->row.user_id = user_id;
    err = csc_seal_check(&s->seal, &s->row, s->kept.number, s->kept.text);
    s->row.user_id = NULL;
    return err;
}

void
csc_audit_seal_end(csc_audit *audit)
{
    if (audit->seal == NULL || audit->seal->moved)
        return;
    audit->seal->broken = check(audit->seal, audit->user_id) != CASCADE_OK;
    if (audit->seal->broken)
        csc_audit_add(audit, CSC_AUDIT_SEAL, -1, "%s", cascade_errmsg());
}

bool
csc_audit_seal_is_broken(const csc_audit *audit)
{
    return audit->seal != NULL && audit->seal->broken;
}

cascade_seal_row
csc_audit_seal_kept(const csc_audit *audit)
{
    const csc_seal_kept *kept = &audit->seal->kept;

    return (cascade_seal_row){.cascade_id = audit->row.id,
                              .number = kept->number,
                              .seal = kept->found ? kept->text : NULL};
}

cascade_err
csc_audit_seal_renew(const csc_audit *audit, csc_seal *fresh,
                     cascade_status status, int32_t fn_id, csc_arena *arena,
                     cascade_seal_row *made)
{
    const cascade_change none = {.cascade = {.id = audit->row.id}};
    cascade_row row = audit->seal->row;
    csc_seal_next next;
    cascade_err err = CASCADE_OK;

    row.user_id = audit->user_id;
    row.status = status;
    row.fn_id = fn_id;
    fresh->number = audit->seal->kept.number;
    err = csc_seal_make(fresh, &row, &none, arena, &next);
    if (err != CASCADE_OK)
        return err;
    *made = (cascade_seal_row){
        .cascade_id = audit->row.id, .number = next.number, .seal = next.text};
    return CASCADE_OK;
}

bool
csc_audit_seal_is_there(const csc_audit *audit)
{
    return audit->seal != NULL;
}

bool
csc_audit_seal_moved(const csc_audit *audit)
{
    return audit->seal != NULL && audit->seal->moved;
}

void
csc_audit_seal_fini(csc_audit *audit)
{
    if (audit->seal == NULL)
        return;
    csc_seal_fini(&audit->seal->seal);
    csc_mem_free(audit->seal);
    audit->seal = NULL;
}
