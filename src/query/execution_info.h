/* SPDX-License-Identifier: MIT
 *
 * Rows of a store as cascade_info and cascade_execution_info, for get, list,
 * snapshots and cursors.
 */
#ifndef CSC_QUERY_EXECUTION_INFO_H
#define CSC_QUERY_EXECUTION_INFO_H

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/snapshot.h"
#include "state/full_output.h"

/* One block of memory, with its texts; NULL when out of memory. */
cascade_info *csc_get_create(const cascade_row *row,
                             const cascade_run_row *run);

/* Reads one cascade: CASCADE_ERR_NOT_FOUND. */
cascade_err csc_get_read(cascade_store *store, const cascade_uuid *id,
                         cascade_info **info);
/* Whether it is there. */
cascade_err csc_get_look(cascade_store *store, const cascade_uuid *id,
                         bool *there);

/* One execution, with its texts in the arena, where running out of memory
 * shows. `now`: as its row is; else as it was when it was inserted. Whether it
 * is superseded the row does not tell: -1. */
void csc_execution_info_make(csc_arena *arena, const cascade_execution_row *row,
                             const csc_record *record, bool now,
                             cascade_execution_info *info);

#endif
