/* SPDX-License-Identifier: MIT
 *
 * The cascade that the processes run:
 *
 *   root --> part, part, part --> join --> last
 *
 * Each part has one recorded step; the first part's first attempt fails. Every
 * execution and step leaves one line in the log of side effects and puts one
 * value of key "trace", so a finished cascade has FLOW_EXECUTIONS executions
 * and as many values, whatever was killed meanwhile.
 *
 * A line of the log is "<request id> <attempt> <who>\n", appended by one
 * write() before the work begins: what ran, in the order in which it began.
 */
#ifndef TESTS_PROCESS_FLOW_H
#define TESTS_PROCESS_FLOW_H

#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "process/place.h"

#define FLOW_PARTS 3
#define FLOW_EXECUTIONS (3 + 2 * FLOW_PARTS)
#define FLOW_NODES 4
#define FLOW_LOG "effects.log"

typedef struct test_flow {
    int log_fd;
    int64_t work_us;
    const char *who;
} test_flow;

/* The nodes: root, part, join, last. `flow` must outlive the engine. */
cascade_err flow_register(cascade_engine *engine, test_flow *flow);

/* One line in the log for the execution or step that runs. */
void flow_note(const test_flow *flow, const cascade_node *node);

/* Opens the log for appending; -1. */
int flow_open_log(const test_place *place);

/* Starts `count` cascades in one commit. */
void flow_start(cascade_store *store, size_t count);

#endif
