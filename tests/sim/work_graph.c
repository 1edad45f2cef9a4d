/* SPDX-License-Identifier: MIT
 *
 * Fan-out and join: a root spawns leaves (some delayed), and a join after all
 * of them, which must see what each leaf wrote, whatever came in between, and
 * what a step of each wrote too. Its output is the result of the cascade.
 */
#include <stdio.h>
#include <string.h>

#include "sim/work.h"

#define WIDTH_MAX 12

static cascade_err
root(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    uint32_t after[WIDTH_MAX];
    cascade_spawn_options options = {.size = sizeof(options)};
    int width = sim_member(input, "width");
    cascade_err err = CASCADE_OK;

    (void)engine;
    for (int i = 0; i < width && err == CASCADE_OK; i++) {
        cJSON *leaf = sim_object("leaf", i);

        cJSON_AddNumberToObject(leaf, "step", sim_member(input, "step"));
        options.delay_ms = i % 3 == 1 ? sim_member(input, "delay") : 0;
        cJSON_AddNumberToObject(leaf, SIM_LATE, (double)options.delay_ms);
        options.priority = i % 4 == 3 ? 9 : 0;
        err = cascade_node_spawn(node, "g.leaf", leaf, &options);
        after[i] = cascade_node_spawned(node);
    }
    options = (cascade_spawn_options){
        .size = sizeof(options), .after = after, .after_count = (size_t)width};
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "g.join", sim_object("width", width),
                                 &options);
    return err;
}

static cascade_err
leaf_step(cascade_node *node, sim_engine *engine, const void *arg,
          cJSON **result)
{
    (void)engine;
    (void)arg;
    *result = NULL;
    return cascade_node_put(node, "log", cJSON_CreateNumber(1));
}

static cascade_err
leaf(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    cascade_err err = CASCADE_OK;

    if (sim_member(input, "step") != 0)
        err = sim_step(node, engine, "log", leaf_step, NULL, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_put(node, "a",
                               cJSON_CreateNumber(sim_member(input, "leaf")));
    return err;
}

/* Each leaf once: 0 to width - 1, in the order of the spawns. */
static cascade_err
join(cascade_node *node, sim_engine *engine)
{
    const cJSON *values = NULL;
    const cJSON *value = NULL;
    int width = sim_member(cascade_node_input(node), "width");
    int at = 0;
    cascade_err err = cascade_node_history(node, "a", &values);

    if (err != CASCADE_OK)
        return err;
    sim_note(SIM_JOINED);
    cJSON_ArrayForEach(value, values)
        sim_expect(engine, node, value->valueint == at++,
                   "G7: a join does not see its leaves in order");
    sim_expect(engine, node, at == width, "G7: a join does not see all leaves");
    return cascade_node_output(node, sim_object("joined", at));
}

static void
plan(sim_planned *planned, sim_random *random)
{
    static const int delays_ms[] = {0, 30, 2000, 15000};

    (void)snprintf(planned->input, sizeof(planned->input),
                   "{\"width\":%d,\"delay\":%d,\"step\":%d}",
                   sim_between(random, 1, WIDTH_MAX),
                   delays_ms[sim_below(random, 4)], sim_between(random, 0, 1));
    planned->expected = CASCADE_COMPLETED;
}

static void
check(sim *s, const sim_planned *planned, const cascade_snapshot *snapshot)
{
    int width = 0;
    char expected[40];
    const char *result = cascade_snapshot_result(snapshot);

    (void)sscanf(planned->input, "{\"width\":%d", &width);
    (void)snprintf(expected, sizeof(expected), "{\"joined\":%d}", width);
    sim_check(s, planned,
              sim_executions(snapshot, "g.leaf", CASCADE_EXECUTION_COMPLETED) ==
                      (size_t)width &&
                  sim_executions(snapshot, "g.join",
                                 CASCADE_EXECUTION_COMPLETED) == 1,
              "not each leaf was there once");
    sim_check(s, planned, result != NULL && strcmp(result, expected) == 0,
              "the result is not what the join gave");
}

static const sim_node_def nodes[] = {{.name = "g.root", .fn = root},
                                     {.name = "g.leaf", .fn = leaf},
                                     {.name = "g.join", .fn = join}};

const sim_workload sim_work_graph = {.name = "graph",
                                     .weight = 25,
                                     .nodes = nodes,
                                     .node_count = 3,
                                     .first = "g.root",
                                     .plan = plan,
                                     .check = check};
