/* SPDX-License-Identifier: MIT
 *
 * The first rows of a cascade.
 */
#ifndef CSC_CHANGE_BUILD_START_H
#define CSC_CHANGE_BUILD_START_H

#include "cascade/cascade.h"
#include "cascade/store.h"

typedef struct csc_build_env csc_build_env;
typedef struct csc_build_start csc_build_start;

cascade_err csc_start_add_rows(const csc_build_env *env,
                               const csc_build_start *start,
                               cascade_change *change);

#endif
