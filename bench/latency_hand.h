/* SPDX-License-Identifier: MIT
 *
 * What PostgreSQL takes by itself to reach another process; latency_hand.c
 * tells how.
 */
#ifndef BENCH_LATENCY_HAND_H
#define BENCH_LATENCY_HAND_H

#include "bench.h"

typedef struct latency_hand latency_hand;

/* The starter's side: makes the tables, before the runner serves. */
latency_hand *latency_hand_open(const bench *b);
void latency_hand_close(const bench *b, latency_hand *hand);
/* The runner's side: answers as long as the process lives. */
void latency_hand_serve(const bench *b);

/* Nanoseconds of a bare round trip of notifications. */
double latency_hand_ping(latency_hand *hand);
/* The same from a start by hand to its running in the process at `fd`. */
double latency_hand_start(latency_hand *hand, int fd);

#endif
