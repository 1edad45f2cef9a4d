/* SPDX-License-Identifier: MIT
 *
 * Joins: one cascade after the other spawns 1,000 branches, which do nothing,
 * and a join that comes after all of them; in turn, the same without the join.
 * What a branch costs is the time of the whole by the number of its branches.
 */
#include "waits.h"

#include <stdlib.h>

#define BRANCHES 1000

static cascade_err
branch(cascade_node *node, void *user)
{
    (void)node;
    return waits_count(user);
}

static cascade_err
fan(cascade_node *node, void *user)
{
    uint32_t after[BRANCHES];
    const cascade_spawn_options join = {
        .size = sizeof(join), .after = after, .after_count = BRANCHES};
    cascade_err err = CASCADE_OK;

    (void)user;
    for (size_t i = 0; i < BRANCHES && err == CASCADE_OK; i++) {
        err = cascade_node_spawn(node, "branch", NULL, NULL);
        after[i] = cascade_node_spawned(node);
    }
    if (err != CASCADE_OK || waits_number(node, "join") == 0)
        return err;
    return cascade_node_spawn(node, "branch", NULL, &join);
}

void
waits_register_joins(waits *w)
{
    waits_register(w, "branch", branch);
    waits_register(w, "fan", fan);
}

/* Nanoseconds, up to the commit of the end. */
static double
measure_fan(waits *w, const char *input, size_t nodes)
{
    int64_t begun_ns = bench_now_ns();

    waits_expect(w, nodes);
    free(waits_start(w, "fan", input, 1));
    waits_await(w);
    waits_drain(w);
    return (double)(bench_now_ns() - begun_ns);
}

void
waits_joins(waits *w)
{
    size_t fans = bench_pick(w->b, 5, 10, 20);
    double joined = 0;
    double alone = 0;

    for (size_t i = 0; i < fans; i++) {
        joined += measure_fan(w, "{\"join\":1}", BRANCHES + 1);
        alone += measure_fan(w, "{\"join\":0}", BRANCHES);
    }
    waits_note(w, "join.with", joined / 1000 / (double)(fans * BRANCHES),
               "us/branch");
    waits_note(w, "join.without", alone / 1000 / (double)(fans * BRANCHES),
               "us/branch");
    waits_note(w, "join.ratio", joined / alone, "x");
}
