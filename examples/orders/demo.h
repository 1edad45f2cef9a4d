/* SPDX-License-Identifier: MIT
 *
 * orders demo: run, kill, record, run again, and so on; then the proof.
 */
#ifndef ORDERS_DEMO_H
#define ORDERS_DEMO_H

#include "settings.h"

/* Runs the whole demo and prints it. True when everything held. */
bool demo_run(const struct settings *settings);

#endif
