/* SPDX-License-Identifier: MIT
 *
 * Cascades that take down whoever loads them: always (they are to be ended
 * unread, before every engine is gone; unless they end in the engine that they
 * were born in), or a few times only. Nobody who was to be loaded with one is
 * to be blamed.
 */
#include <stdio.h>
#include <string.h>

#include "sim/work.h"

static cascade_err
begin(cascade_node *node, sim_engine *engine)
{
    cascade_err err = cascade_node_spawn(node, "b.middle", NULL, NULL);

    (void)engine;
    return err == CASCADE_OK ? cascade_node_spawn(node, "b.end", NULL, NULL)
                             : err;
}

static cascade_err
middle(cascade_node *node, sim_engine *engine)
{
    (void)engine;
    return cascade_node_spawn(node, "b.end", NULL, NULL);
}

static cascade_err
end(cascade_node *node, sim_engine *engine)
{
    (void)engine;
    return cascade_node_put(node, "a", cJSON_CreateString("survived"));
}

static void
plan(sim_planned *planned, sim_random *random)
{
    planned->kills = sim_chance(random, 50)
                         ? SIM_KILLS_ALWAYS
                         : (unsigned)sim_between(random, 1, 2);
    (void)snprintf(planned->input, sizeof(planned->input), "{\"bomb\":%u}",
                   planned->kills);
}

static const sim_node_def nodes[] = {{.name = "b.begin", .fn = begin},
                                     {.name = "b.middle", .fn = middle},
                                     {.name = "b.end", .fn = end}};

const sim_workload sim_work_bomb = {.name = "bomb",
                                    .weight = 3,
                                    .nodes = nodes,
                                    .node_count = 3,
                                    .first = "b.begin",
                                    .plan = plan};
