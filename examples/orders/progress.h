/* SPDX-License-Identifier: MIT
 *
 * One line that says how far the work is: overwritten in place on a terminal, a
 * new one every two seconds elsewhere.
 */
#ifndef ORDERS_PROGRESS_H
#define ORDERS_PROGRESS_H

#include <stddef.h>

#include "status.h"

/* Shows the line; `remark` (may be NULL) stands at its end. */
void progress_show(const struct status *status, size_t orders,
                   const char *remark);

/* Takes the line away from the terminal before something else is printed. */
void progress_end(void);

/* Writes `value` with a comma between groups of three digits into `text`, and
 * returns `text`. */
#define GROUPED_SIZE 32
char *grouped(unsigned long long value, char text[GROUPED_SIZE]);

#endif
