/* SPDX-License-Identifier: MIT
 *
 * How often and how soon something that failed is tried again; shared by nodes
 * and steps.
 */
#ifndef CSC_CHANGE_BACKOFF_H
#define CSC_CHANGE_BACKOFF_H

#include <stdbool.h>

#include "cascade/cascade.h"

typedef struct csc_attempts {
    int max; /* -1: no limit */
    int64_t backoff_ms;
    int64_t backoff_max_ms;
    int backoff_percent;
    int jitter_percent; /* 0: none */
} csc_attempts;

/* Applies the defaults and checks the limits; `what` names the node or step in
 * the error. */
cascade_err csc_backoff_init(csc_attempts *attempts, const char *what,
                             const csc_attempts *given);

/* Whether another attempt follows the `failed`th failure. */
bool csc_backoff_left(const csc_attempts *attempts, int32_t failed);

/* How long to wait after the `failed`th failure (1, 2, ...). */
int64_t csc_backoff_delay_ms(const csc_attempts *attempts, int32_t failed,
                             const cascade_random *random);

#endif
