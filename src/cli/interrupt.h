/* SPDX-License-Identifier: MIT
 *
 * SIGINT for what goes on until somebody ends it: held back, and asked for
 * where it suits, so that nothing is cut in the middle.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

/* From now on SIGINT waits to be asked for. */
void interrupt_hold(void);

/* Waits up to `ms` milliseconds; true when SIGINT has come. */
bool interrupt_wait(int64_t ms);

#endif
