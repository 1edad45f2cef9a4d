/* SPDX-License-Identifier: MIT
 *
 * The seal of a cascade that is audited, in a store with integrity: rows are
 * shown to the audit and to this, in the order of a load, and what does not fit
 * in the end is a finding of V18. A cascade that is read in pages is not of one
 * moment: its seal is read before them and behind them, and where it has moved
 * nothing is told.
 */
#ifndef CSC_QUERY_AUDIT_AUDIT_SEAL_H
#define CSC_QUERY_AUDIT_AUDIT_SEAL_H

#include <stdbool.h>

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "store/ring.h"
#include "store/seal.h"

typedef struct csc_audit csc_audit;

/* The cascade's row: begins anew. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_audit_seal_begin(csc_audit *audit, const csc_ring *ring,
                                 const cascade_row *row);
/* What follows it; nothing happens where it was not begun. */
void csc_audit_seal_take(csc_audit *audit, const cascade_seal_row *row);
cascade_err csc_audit_seal_execution(csc_audit *audit,
                                     const cascade_execution_row *row);
void csc_audit_seal_event(csc_audit *audit, const cascade_event_row *row);
void csc_audit_seal_message(csc_audit *audit, const cascade_message_row *row);
/* The seal as it is behind all rows. */
void csc_audit_seal_compare(csc_audit *audit, const cascade_seal_row *row);

/* All rows were shown. */
void csc_audit_seal_end(csc_audit *audit);
/* Whether the cascade has not the seal of what was shown. */
bool csc_audit_seal_is_broken(const csc_audit *audit);
/* The seal that was read: number 0 and no text where there is none. Valid until
 * the audit ends. */
cascade_seal_row csc_audit_seal_kept(const csc_audit *audit);
/* What it becomes by the rows that were added to `fresh`: the next number, by
 * the key of that. The cascade's own row is to have that status and fn_id.
 * CASCADE_ERR_NO_MEMORY. */
cascade_err csc_audit_seal_renew(const csc_audit *audit, csc_seal *fresh,
                                 cascade_status status, int32_t fn_id,
                                 csc_arena *arena, cascade_seal_row *made);
/* Whether rows of it came: else somebody has deleted it meanwhile, and there is
 * nothing of a seal to ask for. */
bool csc_audit_seal_is_there(const csc_audit *audit);
/* Whether somebody wrote meanwhile. */
bool csc_audit_seal_moved(const csc_audit *audit);
void csc_audit_seal_fini(csc_audit *audit);

#endif
