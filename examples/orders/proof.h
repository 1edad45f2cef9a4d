/* SPDX-License-Identifier: MIT
 *
 * The proof that a run with kills ended as one without would have. Read from
 * three sources, none of which is the engine's memory:
 *
 *   tables    through the public API: cascade_list, cascade_snapshot_load
 *   log       of the side effects, written by the outside world (effects.h)
 *   records   of what the tables held as done at each kill (record.h)
 *
 * WHAT IS PROVED
 *   lost       Every order has its cascade, and there is no other. It is
 *              COMPLETED, with exactly the executions and steps that the order
 *              asks for, each ended once. Each happened outside at least once,
 *              and nothing happened outside that the tables do not know. What a
 *              record holds as ended is still so.
 *   again      No line of the log after a kill carries a request id that was
 *              recorded as ended before it, nor an attempt that was recorded
 *              as failed.
 *   repeated   An effect that happened twice for one request and attempt has a
 *              kill in between: it was cut off before it was recorded. These
 *              are counted for each kill. Without a kill there are none.
 *   totals     For each order the goods reserved, picked and labelled and the
 *              money charged are what was ordered, once each request counts
 *              once, as the outside world counts that knows request ids.
 */
#ifndef ORDERS_PROOF_H
#define ORDERS_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"
#include "settings.h"

struct proof_kill {
    size_t in_flight;
    size_t ended;    /* executions and steps recorded as ended */
    size_t repeated; /* effects that it cut off, and that happened again */
};

struct proof {
    size_t orders;
    size_t cascades;
    size_t completed;  /* cascades */
    size_t executions; /* nodes and steps in the tables */
    size_t expected;   /* of them, those with an outside action */
    size_t happened;   /* of these, those that the log has as done */
    size_t lines;      /* effects in the log, repeated ones included */
    size_t declined;
    size_t torn; /* lines cut short by a kill */
    size_t repeated;
    size_t kill_count;
    struct proof_kill kills[RECORDS_MAX];
    int64_t ordered_cents;
    int64_t charged_cents; /* each request once */
    /* What is wrong, by what it speaks against. */
    size_t lost;
    size_t again;
    size_t unexplained;
    size_t totals;
};

/* Judges the run. The first things found wrong are told on stderr. False when
 * the sources cannot be read: then there is no judgement. */
bool proof_make(const struct settings *settings, struct proof *proof);

/* Nothing of it is wrong. */
bool proof_holds(const struct proof *proof);

#endif
