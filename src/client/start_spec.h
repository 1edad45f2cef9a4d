/* SPDX-License-Identifier: MIT
 *
 * A cascade that is to be started, as the caller asks for it.
 */
#ifndef CSC_CLIENT_START_SPEC_H
#define CSC_CLIENT_START_SPEC_H

#include <stddef.h>

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "change/build/start.h"

typedef struct csc_start_spec {
    const cascade_first *first; /* the caller's, of the caller's size */
    size_t first_count;
    cascade_start_options options; /* with their defaults */
} csc_start_spec;

/* Reads element `at` of the caller's array, but for its first nodes, of which
 * there are as many as may be. CASCADE_ERR_INVALID. */
cascade_err csc_start_spec_read(const cascade_start_spec *specs, size_t at,
                                csc_start_spec *spec);

/* Copies the first nodes, with canonical inputs, into `arena`. `bytes` counts
 * what those of one call take: CASCADE_ERR_TOO_LARGE. */
cascade_err csc_start_spec_keep_first(const csc_start_spec *spec,
                                      const cascade_store *store,
                                      csc_arena *arena, size_t *bytes,
                                      csc_build_start *build);

#endif
