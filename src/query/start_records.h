/* SPDX-License-Identifier: MIT
 *
 * What the first executions of many cascades record of them, by one load. A row
 * that cannot be read hides nothing of the other cascades.
 */
#ifndef CSC_QUERY_START_RECORDS_H
#define CSC_QUERY_START_RECORDS_H

#include "cascade/cascade.h"
#include "state/start_record.h"

typedef enum csc_family_state {
    CSC_FAMILY_FOREIGN, /* nothing is recorded: another program began it */
    CSC_FAMILY_RECORDED,
    CSC_FAMILY_UNREADABLE /* cascade_errmsg() tells why */
} csc_family_state;

/* Receives that of the id at `at`, which may be told again until the call
 * returns; `meta` is taken. */
typedef void (*csc_family_sink)(void *context, size_t at,
                                csc_family_state state, csc_meta *meta);

/* Of cascades by ascending ids, up to a page of the store's list; those without
 * an execution 0 are not told. */
cascade_err csc_start_records_read(cascade_store *store,
                                   const cascade_uuid *ids, size_t count,
                                   csc_family_sink sink, void *context);

#endif
