/* SPDX-License-Identifier: MIT
 *
 * The outside world of the demo: warehouses, a payment service, a carrier. It
 * takes 2-20 ms to answer a request and keeps a log of what was really done,
 * which a killed process cannot take back. The log is what the proof trusts.
 *
 * One line an action, written in one piece at the end of the file:
 *
 *   time_ms monotonic_ns pid order action outcome value attempt function_id
 *   cascade request .
 *
 * outcome is "done" or "declined", value the pieces or cents that it is about,
 * request the request id. The dot at the end tells a line that was cut short
 * from a whole one.
 */
#ifndef ORDERS_EFFECTS_H
#define ORDERS_EFFECTS_H

#include <stdbool.h>
#include <stdint.h>

#include <cascade/cascade.h>

struct effects {
    int fd;
    uint64_t seed;
    int permits_fd; /* 0: none are needed */
};

struct effect {
    const char *action;
    const char *order;
    int64_t value;
    unsigned decline_percent; /* how often the outside world says no */
};

/* Opens the log at `path`, which is created when missing. Where `permits_fd` is
 * not 0, each effect takes a byte from there, and waits until there is one.
 * False, and a word on stderr, when that fails. */
bool effects_open(const char *path, uint64_t seed, int permits_fd,
                  struct effects *effects);
void effects_close(struct effects *effects);

/* Asks the outside world for `effect` on behalf of `node`, with the node's (or
 * step's) request id. Blocks until it answers. When it declines, or the log
 * cannot be written, the error text of the attempt is set: return the error
 * from the node or step. Any thread. */
cascade_err effects_act(const struct effects *effects, cascade_node *node,
                        const struct effect *effect);

#endif
