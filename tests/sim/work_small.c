/* SPDX-License-Identifier: MIT
 *
 * What goes on beside giants: a few nodes one after the other, of no weight.
 * sim_giant.c looks at how long that takes (G15). The last execution of a giant
 * is here, too.
 */
#include <stdio.h>
#include <string.h>

#include "sim/work.h"

#define CHAIN_MAX 3

static cascade_err
hop(cascade_node *node, sim_engine *engine)
{
    int left = sim_member(cascade_node_input(node), "left");
    cascade_err err = cascade_node_put(node, "a", cJSON_CreateNumber(left));

    (void)engine;
    if (err != CASCADE_OK || left == 0)
        return err;
    return cascade_node_spawn(node, "z.hop", sim_object("left", left - 1),
                              NULL);
}

static cascade_err
end(cascade_node *node, sim_engine *engine)
{
    (void)node;
    (void)engine;
    return CASCADE_OK;
}

static void
plan(sim_planned *planned, sim_random *random)
{
    (void)snprintf(planned->input, sizeof(planned->input), "{\"left\":%d}",
                   sim_between(random, 0, CHAIN_MAX));
    planned->expected = CASCADE_COMPLETED;
}

static const sim_node_def nodes[] = {
    {.name = "z.hop", .fn = hop}, {.name = "z.end", .fn = end, .unseen = true}};

const sim_workload sim_work_small = {.name = "small",
                                     .nodes = nodes,
                                     .node_count = 2,
                                     .first = "z.hop",
                                     .plan = plan};
