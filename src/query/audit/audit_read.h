/* SPDX-License-Identifier: MIT
 *
 * From a store to audits.
 */
#ifndef CSC_QUERY_AUDIT_AUDIT_READ_H
#define CSC_QUERY_AUDIT_AUDIT_READ_H

#include "cascade/cascade.h"
#include "cascade/store.h"

typedef struct csc_audit csc_audit;

#define CSC_AUDIT_GROUP_MAX 200
/* Of a cascade, or a group, that is read by one load. */
#define CSC_AUDIT_GROUP_EXECUTIONS 10000

/* Begins an audit with what the store lists of the cascade. */
cascade_err csc_audit_list(cascade_store *store, const cascade_uuid *id,
                           csc_audit *audit, bool *there);
/* Whether it lists the same still. */
cascade_err csc_audit_compare(cascade_store *store, const csc_audit *audit,
                              bool *there, bool *same);

/* Shows all rows of the cascades, which are begun, by ascending ids. */
cascade_err csc_audit_read_group(cascade_store *store, csc_audit *audits,
                                 size_t count);
/* The same for one of any size; `tap` (may be NULL) is shown its executions and
 * events as well. */
cascade_err csc_audit_read(cascade_store *store, csc_audit *audit,
                           const cascade_load_sink *tap);

/* The number of the current run of its key; 1 where that is no matter. */
cascade_err csc_audit_current_run(cascade_store *store, const csc_audit *audit,
                                  int32_t *number);

/* What was entered of the runs of which the cascade is a later one, where
 * something was: it may have been swept with the last of them. */
cascade_err csc_audit_links(cascade_store *store, csc_audit *audit);

#endif
