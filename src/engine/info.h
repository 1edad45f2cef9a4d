/* SPDX-License-Identifier: MIT
 *
 * Rows of a store as cascade_info, for get, list and snapshots.
 */
#ifndef CSC_ENGINE_INFO_H
#define CSC_ENGINE_INFO_H

#include "cascade/store.h"

/* One block of memory, with its texts; NULL when out of memory. */
cascade_info *csc_info_create(const cascade_row *row,
                              const cascade_run_row *run);

/* Reads one cascade: CASCADE_ERR_NOT_FOUND. */
cascade_err csc_info_read(cascade_store *store, const cascade_uuid *id,
                          cascade_info **info);

#endif
