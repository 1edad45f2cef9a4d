/* SPDX-License-Identifier: MIT
 *
 * orders run: the program that does the work, and that is killed.
 */
#ifndef ORDERS_WORKER_H
#define ORDERS_WORKER_H

#include "settings.h"

/* Starts a cascade for each order, keyed by the order's id, and works until all
 * have ended. Run again after a kill, it goes on where the tables say. False,
 * and a word on stderr, when it was interrupted or something went wrong. */
bool worker_run(const struct settings *settings);

#endif
