/* SPDX-License-Identifier: MIT
 *
 * A rule in plain English: what csc_cron_parse() has understood, not what was
 * written, so that who reads it sees a mistake:
 *
 *   0 9 * * MON-FRI     at 09:00, on Monday to Friday
 *   5-59/15 * * * *     at minutes 5, 20, 35 and 50 of every hour
 *   0 12 13 * +FRI      at 12:00, on the 13th of the month where that is Friday
 *   0 12 13 * FRI       at 12:00, on the 13th of the month or on Friday
 *   0 0 31 2 *          at 00:00, on the 31st of the month, in February, which
 *                       never comes
 *
 * Texts are added to a buffer, which remembers when there was no memory.
 */
#ifndef CSC_TIME_DESCRIBE_H
#define CSC_TIME_DESCRIBE_H

#include "base/data/buf.h"
#include "time/cron.h"
#include "time/dst.h"
#include "time/interval.h"

void csc_describe_cron(const csc_cron *cron, csc_buf *out);

/* "every 1h30m"; the phase is not told. */
void csc_describe_interval(const csc_interval *interval, csc_buf *out);

/* What the rule does when clocks change: "follows real time when clocks
 * change", "a time that clocks leave out: right behind it; one that they show
 * twice: the first". */
void csc_describe_changes(const csc_dst_rule *rule, csc_buf *out);

#endif
