/* SPDX-License-Identifier: MIT
 *
 * The table and the verdicts, for a person.
 */
#ifndef ORDERS_REPORT_H
#define ORDERS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proof.h"
#include "settings.h"
#include "status.h"

/* What the supervisor saw of a kill, and of the worker it started after it. */
struct kill_report {
    int64_t at_ms; /* since the demo began */
    struct status after;
};

/* Prints the table and the verdicts. `kills` holds one report for each kill of
 * the proof; NULL when nobody saw them. True when all verdicts are good. */
bool report_print(const struct settings *settings, const struct proof *proof,
                  const struct kill_report *kills);

#endif
