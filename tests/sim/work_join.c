/* SPDX-License-Identifier: MIT
 *
 * Joins of all kinds over the same tasks, some of which fail, are made up for,
 * or come late. What each join must do follows from the order in which the
 * tasks happen to end, so it is not predicted here: the oracle works it out
 * from the rows, at each entry of a node and at each look. The last join comes
 * after all others, however they ended.
 *
 *   root --> task, task, ... --> wait n, fail n, skip n --> fail, skip
 *                                          \                  /
 *                                           +----> end <-----+
 */
#include <stdio.h>

#include "sim/work.h"

#define WIDTH_MAX 7
#define JOINS 5

typedef enum task_kind {
    GOOD,
    BAD,
    MADE_UP_FOR,
    DELAYED,
    KINDS
} task_kind;

static task_kind
kind_of(const cJSON *input, int nth)
{
    return (task_kind)((sim_member(input, "kinds") >> (2 * nth)) % KINDS);
}

static cascade_err
spawn_task(cascade_node *node, const cJSON *input, int nth)
{
    static const char *const names[] = {"j.task", "j.bad", "j.mend", "j.task"};
    task_kind kind = kind_of(input, nth);
    cascade_spawn_options options = {.size = sizeof(options),
                                     .delay_ms = kind == DELAYED ? 700 : 0};

    return cascade_node_spawn(node, names[kind], sim_object("task", nth),
                              &options);
}

/* A join of spawns `from` to `to`. */
static cascade_err
spawn_join(cascade_node *node, const char *name, uint32_t from, uint32_t to,
           uint32_t first, cascade_join on_failure)
{
    uint32_t after[WIDTH_MAX + JOINS];
    cascade_spawn_options options = {.size = sizeof(options),
                                     .after = after,
                                     .first = first,
                                     .on_failure = on_failure};

    for (uint32_t i = from; i <= to; i++)
        after[options.after_count++] = i;
    return cascade_node_spawn(node, name, NULL, &options);
}

static cascade_err
root(cascade_node *node, sim_engine *engine)
{
    static const cascade_join policies[] = {
        CASCADE_JOIN_WAIT, CASCADE_JOIN_FAIL, CASCADE_JOIN_SKIP};
    const cJSON *input = cascade_node_input(node);
    uint32_t width = (uint32_t)sim_member(input, "width");
    uint32_t first = (uint32_t)sim_member(input, "first") % (width + 1);
    cascade_err err = CASCADE_OK;

    (void)engine;
    for (int i = 0; i < (int)width && err == CASCADE_OK; i++)
        err = spawn_task(node, input, i);
    for (size_t i = 0; i < 3 && err == CASCADE_OK; i++)
        err = spawn_join(node, "j.join", 1, width, first, policies[i]);
    for (size_t i = 1; i < 3 && err == CASCADE_OK; i++)
        err = spawn_join(node, "j.join", width, width + 3, 0, policies[i]);
    return err == CASCADE_OK ? spawn_join(node, "j.end", width + 1,
                                          width + JOINS, 0, CASCADE_JOIN_WAIT)
                             : err;
}

static cascade_err
task(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    cascade_err err = cascade_node_put(
        node, "a", cJSON_CreateNumber(sim_member(input, "task")));

    (void)engine;
    return err == CASCADE_OK
               ? cascade_node_output(node, cJSON_Duplicate(input, true))
               : err;
}

static cascade_err
bad(cascade_node *node, sim_engine *engine)
{
    (void)engine;
    return cascade_node_fail(node, "as planned");
}

/* Tried twice, so that tasks may end in between. */
static cascade_err
join(cascade_node *node, sim_engine *engine)
{
    (void)engine;
    sim_note(SIM_JOINED);
    if (cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "the first time");
    return cascade_node_put(node, "b",
                            cJSON_CreateNumber(cascade_node_function_id(node)));
}

static cascade_err
end(cascade_node *node, sim_engine *engine)
{
    const cJSON *outcomes = NULL;
    cascade_err err = cascade_node_outcomes(node, &outcomes);

    if (err != CASCADE_OK)
        return err;
    sim_expect(engine, node, cJSON_GetArraySize(outcomes) == JOINS,
               "G7: the last join is not told of all others");
    return cascade_node_output(node, sim_object("joins", JOINS));
}

static void
plan(sim_planned *planned, sim_random *random)
{
    (void)snprintf(planned->input, sizeof(planned->input),
                   "{\"width\":%d,\"first\":%d,\"kinds\":%d}",
                   sim_between(random, 1, WIDTH_MAX),
                   sim_between(random, 0, WIDTH_MAX),
                   sim_between(random, 0, 1 << (2 * WIDTH_MAX)));
    planned->expected = CASCADE_COMPLETED;
}

static void
check(sim *s, const sim_planned *planned, const cascade_snapshot *snapshot)
{
    sim_check(
        s, planned,
        sim_executions(snapshot, "j.end", CASCADE_EXECUTION_COMPLETED) == 1 &&
            sim_executions(snapshot, "j.join", CASCADE_EXECUTION_COMPLETED) +
                    sim_executions(snapshot, "j.join",
                                   CASCADE_EXECUTION_FAILED) ==
                JOINS,
        "not each join has ended");
}

static const sim_node_def nodes[] = {
    {.name = "j.root", .fn = root},
    {.name = "j.task",
     .fn = task,
     .options = {.final_failure = CASCADE_FINAL_CONTINUE}},
    {.name = "j.bad",
     .fn = bad,
     .options = {.final_failure = CASCADE_FINAL_CONTINUE}},
    {.name = "j.mend",
     .fn = bad,
     .options = {.final_failure = CASCADE_FINAL_INSTEAD, .instead = "j.task"}},
    {.name = "j.join",
     .fn = join,
     .options = {.attempts_max = 3,
                 .backoff_ms = 300,
                 .final_failure = CASCADE_FINAL_CONTINUE}},
    {.name = "j.end", .fn = end}};

const sim_workload sim_work_join = {.name = "join",
                                    .weight = 15,
                                    .nodes = nodes,
                                    .node_count = 6,
                                    .first = "j.root",
                                    .survives = true,
                                    .plan = plan,
                                    .check = check};
