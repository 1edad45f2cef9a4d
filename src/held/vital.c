/* SPDX-License-Identifier: MIT
 *
 * Signs of life of the parts of an engine. Who looks at them is engine/lease.c.
 */
#include "held/vital.h"

void
csc_vital_sign(csc_vital *vital)
{
    (void)atomic_fetch_add_explicit(&vital->signs, 1, memory_order_relaxed);
}
