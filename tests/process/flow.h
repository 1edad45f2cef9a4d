/* SPDX-License-Identifier: MIT
 *
 * The cascade that the processes run:
 *
 *   root --> part, part, part --> join --> last
 *
 * Each part has one recorded step; the first part's first attempt fails, and so
 * does that of the second part's step, which has attempts of its own. The last
 * node sleeps before it works. A node that waits for its step, or sleeps, is
 * entered again. Every execution and step leaves a line in the log of side
 * effects and puts one value of key "trace", so a finished cascade has
 * FLOW_EXECUTIONS executions and as many values, whatever was killed meanwhile;
 * and FLOW_SLEEPS sleeps, which leave nothing.
 *
 * A line of the log is "<request id> <attempt> <who> <time>", appended by one
 * write() before the work begins: what ran, in the order in which it began,
 * and when, in milliseconds UTC. All lines are FLOW_LINE bytes long, a divisor
 * of the page: a write that SIGKILL interrupts ends between two pages, so
 * there are no halves of lines.
 */
#ifndef TESTS_PROCESS_FLOW_H
#define TESTS_PROCESS_FLOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "process/place.h"
#include "support/oracle.h"

#define FLOW_PARTS 3
#define FLOW_EXECUTIONS (3 + 2 * FLOW_PARTS)
#define FLOW_SLEEPS 1
#define FLOW_NODES 4
#define FLOW_LINE 128
#define FLOW_LOG "effects.log"

/* Where nodes wait in the middle of their work, so that a test finds something
 * that is under way for as long as it needs. It may lie in shared memory. */
typedef struct flow_gate {
    atomic_int passes; /* so many go through while it is shut */
    atomic_bool open;
    atomic_int waiting; /* nodes in front of it */
} flow_gate;

typedef struct test_flow {
    int log_fd;
    flow_gate *gate; /* NULL: there is none */
    int64_t work_us;
    int64_t delay_ms; /* before the last node */
    int64_t sleep_ms; /* of the last node; 0: a few milliseconds */
    bool ignorant;    /* does not know the last node */
    const char *who;
} test_flow;

/* The nodes: root, part, join and, unless `ignorant`, last. `flow` must outlive
 * the engine. */
cascade_err flow_register(cascade_engine *engine, test_flow *flow);

/* What the outside does takes its time. */
void flow_work(const test_flow *flow);

/* Waits at the gate. */
void flow_pass(flow_gate *gate);

/* One line in the log for the execution or step that runs. */
void flow_note(const test_flow *flow, const cascade_node *node);

/* One line of any such log: cut or padded to FLOW_LINE bytes. */
void flow_append(int fd, const char *text);

/* Tells the oracle what the log says from place `*from` on, and moves that. */
void flow_tell(const test_place *place, size_t *from, oracle *o);

/* Whether a request id is that of an execution that waits: only a node that is
 * entered again. */
bool flow_reenters(const char *request_id);

/* Opens the log for appending; -1. */
int flow_open_log(const test_place *place);

/* Starts `count` cascades in one commit. */
void flow_start(cascade_store *store, size_t count);

#endif
