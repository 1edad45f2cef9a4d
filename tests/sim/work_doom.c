/* SPDX-License-Identifier: MIT
 *
 * Nodes that take their process down: always (it must be recorded as poisoned,
 * and its cascade end, before every engine is gone), or a few times only; alone
 * or beside others of the same cascade, which must not be blamed.
 */
#include <stdio.h>
#include <string.h>

#include "sim/work.h"

static cascade_err
doom(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    unsigned deaths = (unsigned)sim_member(input, SIM_DEADLY);

    if (sim_node_entries(node, engine) <= deaths)
        return sim_node_die(node, engine);
    return cascade_node_put(node, "a", cJSON_CreateString("survived"));
}

static cascade_err
bystander(cascade_node *node, sim_engine *engine)
{
    (void)engine;
    return cascade_node_put(node, "a", cJSON_CreateString("bystander"));
}

static cascade_err
begin(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    cJSON *doomed = cJSON_CreateObject();
    int beside = sim_member(input, "beside");
    cascade_err err = CASCADE_OK;

    (void)engine;
    cJSON_AddNumberToObject(doomed, SIM_DEADLY, sim_member(input, "deaths"));
    for (int i = 0; i < beside && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, "d.bystander", NULL, NULL);
    if (err != CASCADE_OK) {
        cJSON_Delete(doomed);
        return err;
    }
    return cascade_node_spawn(node, "d.doom", doomed, NULL);
}

static void
plan(sim_planned *planned, sim_random *random)
{
    bool always = sim_chance(random, 50);

    (void)snprintf(
        planned->input, sizeof(planned->input), "{\"deaths\":%d,\"beside\":%d}",
        always ? 1000 : sim_between(random, 1, 2), sim_between(random, 0, 3));
    planned->expected = always ? CASCADE_ERROR : CASCADE_COMPLETED;
}

static const sim_node_def nodes[] = {{.name = "d.begin", .fn = begin},
                                     {.name = "d.doom", .fn = doom},
                                     {.name = "d.bystander", .fn = bystander}};

const sim_workload sim_work_doom = {.name = "doom",
                                    .weight = 6,
                                    .nodes = nodes,
                                    .node_count = 3,
                                    .first = "d.begin",
                                    .plan = plan};
