/* SPDX-License-Identifier: MIT
 *
 * Nodes that fail for good, and others that run instead of them: a root spawns
 * tries, of which some fail; a second choice runs instead, and where that fails
 * too, a last resort. A join after all tries must come after those as well,
 * and see what each of them wrote; so must a second one, which comes after the
 * first alone.
 *
 *   root --> try, try, ... ---------> join, after all tries --> join
 *              | fails
 *              +--> second choice
 *                      | fails
 *                      +--> last resort
 */
#include <stdio.h>
#include <string.h>

#include "sim/work.h"

#define WIDTH_MAX 9

/* How deep the try of that number fails: 0 not at all, 2 to the last resort. */
static int
depth_of(int nth, int shift)
{
    return (nth + shift) % 3;
}

static cascade_err
root(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    uint32_t after[WIDTH_MAX];
    cascade_spawn_options all = {.size = sizeof(all), .after = after};
    int width = sim_member(input, "width");
    cascade_err err = CASCADE_OK;

    (void)engine;
    for (int i = 0; i < width && err == CASCADE_OK; i++) {
        cJSON *task = sim_object("task", i);

        cJSON_AddNumberToObject(task, "depth",
                                depth_of(i, sim_member(input, "shift")));
        err = cascade_node_spawn(node, "i.try", task, NULL);
        after[all.after_count++] = cascade_node_spawned(node);
    }
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "i.join", sim_object("width", width),
                                 &all);
    after[0] = cascade_node_spawned(node);
    all.after_count = 1;
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "i.join", sim_object("width", width),
                                 &all);
    return err;
}

static cascade_err
settle(cascade_node *node, const cJSON *task)
{
    return cascade_node_put(node, "a",
                            cJSON_CreateNumber(sim_member(task, "task")));
}

static cascade_err
try_it(cascade_node *node, sim_engine *engine)
{
    const cJSON *task = cascade_node_input(node);

    (void)engine;
    if (sim_member(task, "depth") > 0)
        return cascade_node_error(node, "task %d", sim_member(task, "task"));
    return settle(node, task);
}

/* The input of what runs instead: which node failed, why, and with what the
 * first in line was to do. */
static const cJSON *
failed_input(cascade_node *node, sim_engine *engine, const char *name)
{
    const cJSON *input = cascade_node_input(node);
    const cJSON *failed = cJSON_GetObjectItemCaseSensitive(input, "node");
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(input, "error");

    sim_expect(engine, node,
               cJSON_IsString(failed) && strcmp(failed->valuestring, name) == 0,
               "what runs instead is not told of which node");
    sim_expect(engine, node,
               cJSON_IsString(error) && error->valuestring[0] != '\0',
               "what runs instead is not told why");
    return cJSON_GetObjectItemCaseSensitive(input, "input");
}

static cascade_err
second_choice(cascade_node *node, sim_engine *engine)
{
    const cJSON *task = failed_input(node, engine, "i.try");

    if (sim_member(task, "depth") > 1)
        return cascade_node_fail(node, "not that either");
    return settle(node, task);
}

static cascade_err
last_resort(cascade_node *node, sim_engine *engine)
{
    return settle(node, failed_input(node, engine, "i.second"));
}

/* Each task once, whoever settled it. */
static cascade_err
join(cascade_node *node, sim_engine *engine)
{
    const cJSON *values = NULL;
    const cJSON *value = NULL;
    int width = sim_member(cascade_node_input(node), "width");
    int sum = 0;
    cascade_err err = cascade_node_history(node, "a", &values);

    if (err != CASCADE_OK)
        return err;
    cJSON_ArrayForEach(value, values) sum += 1 << value->valueint;
    sim_expect(engine, node, sum == (1 << width) - 1,
               "G7: a join does not see what ran instead");
    return cascade_node_output(node, cJSON_CreateNumber(sum));
}

static void
plan(sim_planned *planned, sim_random *random)
{
    (void)snprintf(
        planned->input, sizeof(planned->input), "{\"width\":%d,\"shift\":%d}",
        sim_between(random, 1, WIDTH_MAX), sim_between(random, 0, 2));
    planned->expected = CASCADE_COMPLETED;
}

static void
check(sim *s, const sim_planned *planned, const cascade_snapshot *snapshot)
{
    size_t tasks[3] = {0};
    int width = 0;
    int shift = 0;

    (void)sscanf(planned->input, "{\"width\":%d,\"shift\":%d", &width, &shift);
    for (int i = 0; i < width; i++)
        tasks[depth_of(i, shift)]++;
    sim_check(s, planned,
              sim_executions(snapshot, "i.try", CASCADE_EXECUTION_FAILED) ==
                      tasks[1] + tasks[2] &&
                  sim_executions(snapshot, "i.second",
                                 CASCADE_EXECUTION_COMPLETED) == tasks[1] &&
                  sim_executions(snapshot, "i.second",
                                 CASCADE_EXECUTION_FAILED) == tasks[2] &&
                  sim_executions(snapshot, "i.last",
                                 CASCADE_EXECUTION_COMPLETED) == tasks[2],
              "not each failure was answered once");
    sim_note_many(SIM_INSTEAD, tasks[1] + 2 * tasks[2]);
}

static const sim_node_def nodes[] = {
    {.name = "i.root", .fn = root},
    {.name = "i.try",
     .fn = try_it,
     .options = {.attempts_max = 2,
                 .backoff_ms = 20,
                 .final_failure = CASCADE_FINAL_INSTEAD,
                 .instead = "i.second"}},
    {.name = "i.second",
     .fn = second_choice,
     .options = {.final_failure = CASCADE_FINAL_INSTEAD, .instead = "i.last"}},
    {.name = "i.last", .fn = last_resort},
    {.name = "i.join", .fn = join}};

const sim_workload sim_work_instead = {.name = "instead",
                                       .weight = 15,
                                       .nodes = nodes,
                                       .node_count = 5,
                                       .first = "i.root",
                                       .survives = true,
                                       .plan = plan,
                                       .check = check};
