/* SPDX-License-Identifier: MIT
 *
 * A straight line: one node that calls steps in a loop, some under one name,
 * some with attempts of their own, sleeps now and then, and adds up what they
 * give. A step that was recorded must give what it gave then, and must not be
 * entered again; that no sleep is over early is for the oracle to tell.
 */
#include <stdio.h>
#include <string.h>

#include "sim/work.h"

#define STEPS_MAX 12
#define SLEEP_FIRST 3 /* after that step, and every so many further ones */
#define SLEEP_AFTER 5

/* One step of the line, as the input says. */
typedef struct line_step {
    int nth;
    int fails; /* so many attempts */
} line_step;

static cascade_err
add(cascade_node *node, sim_engine *engine, const void *arg, cJSON **result)
{
    const line_step *step = arg;
    cascade_err err = CASCADE_OK;

    if (sim_node_entries(node, engine) == 0)
        return cascade_node_error(node, "not told of");
    if (cascade_node_attempt(node) <= step->fails)
        return cascade_node_error(node, "attempt %d",
                                  cascade_node_attempt(node));
    *result = cJSON_CreateNumber(step->nth * 10);
    if (step->nth % 3 == 0)
        err = cascade_node_put(node, "b", cJSON_CreateNumber(step->nth));
    return err;
}

/* What the context has of this line so far, by the steps behind it. */
static void
check_own(cascade_node *node, sim_engine *engine, int put)
{
    const cJSON *last = NULL;
    cascade_err err = cascade_node_get(node, "b", &last);

    sim_expect(engine, node, err == CASCADE_OK && last->valueint == put,
               "G7: a line does not see what its steps wrote");
}

static cascade_err
line(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    cascade_step_options own = {.size = sizeof(own), .attempts_max = 4};
    int count = sim_member(input, "steps");
    int fails = sim_member(input, "fails");
    int put = 0;
    int sum = 0;

    own.backoff_ms = sim_member(input, "backoff");
    for (int i = 0; i < count; i++) {
        bool shaky = i % 4 == 2;
        line_step step = {i, shaky ? fails : 0};
        cJSON *result = NULL;
        cascade_err err = sim_step(node, engine, i % 2 == 0 ? "even" : "odd",
                                   add, &step, shaky ? &own : NULL, &result);

        if (err == CASCADE_ERR_FINAL && shaky && fails >= 4)
            continue;
        if (err != CASCADE_OK)
            return err;
        sim_expect(engine, node, result != NULL && result->valueint == i * 10,
                   "G3: a step gives another result than its own");
        cJSON_Delete(result);
        sum += i * 10;
        if (i % 3 == 0)
            put = i;
        check_own(node, engine, put);
        if (i % SLEEP_AFTER == SLEEP_FIRST)
            err = cascade_node_sleep(node, "nap", sim_member(input, "sleep"));
        if (err != CASCADE_OK)
            return err;
    }
    return cascade_node_output(node, cJSON_CreateNumber(sum));
}

static void
plan(sim_planned *planned, sim_random *random)
{
    static const int backoffs_ms[] = {1, 40, 900, 7000};
    static const int sleeps_ms[] = {0, 3, 600, 9000};

    (void)snprintf(planned->input, sizeof(planned->input),
                   "{\"steps\":%d,\"fails\":%d,\"backoff\":%d,"
                   "\"sleep\":%d}",
                   sim_between(random, 1, STEPS_MAX),
                   sim_chance(random, 20) ? 4 : sim_between(random, 0, 2),
                   backoffs_ms[sim_below(random, 4)],
                   sleeps_ms[sim_below(random, 4)]);
    planned->expected = CASCADE_COMPLETED;
}

/* None was asked for less than it slept. */
static void
check_sleeps(sim *s, const sim_planned *planned,
             const cascade_snapshot *snapshot, int ms)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);

    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i);

        if (strcmp(info->node_name, "cascade.sleep:nap") == 0)
            sim_check(s, planned,
                      info->not_before_ms >= info->started_at_ms + ms,
                      "G8: a sleep is shorter than it was asked for");
    }
}

static void
check(sim *s, const sim_planned *planned, const cascade_snapshot *snapshot)
{
    int steps = 0;
    int fails = 0;
    int backoff = 0;
    int sleep = 0;
    int sum = 0;
    size_t shaky = 0;
    size_t slept = 0;
    char expected[20];
    const char *result = cascade_snapshot_result(snapshot);

    (void)sscanf(planned->input,
                 "{\"steps\":%d,\"fails\":%d,\"backoff\":%d,\"sleep\":%d",
                 &steps, &fails, &backoff, &sleep);
    check_sleeps(s, planned, snapshot, sleep);
    for (int i = 0; i < steps; i++)
        if (i % 4 == 2 && fails >= 4)
            shaky++;
        else
            sum += i * 10;
    for (int i = SLEEP_FIRST; i < steps; i += SLEEP_AFTER)
        slept++;
    (void)snprintf(expected, sizeof(expected), "%d", sum);
    sim_check(s, planned, result != NULL && strcmp(result, expected) == 0,
              "the sum of the steps is wrong");
    sim_check(s, planned,
              cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY) ==
                  (size_t)steps + slept + 1,
              "the number of executions is not that of the steps and sleeps");
    sim_check(s, planned,
              sim_executions(snapshot, "cascade.sleep:nap",
                             CASCADE_EXECUTION_COMPLETED) == slept,
              "the number of sleeps is wrong");
    sim_note_many(SIM_SLEPT, slept);
    sim_check(s, planned,
              sim_executions(snapshot, "cascade.step:even",
                             CASCADE_EXECUTION_FAILED) == shaky,
              "the number of failed steps is wrong");
}

static const sim_node_def nodes[] = {{.name = "line", .fn = line}};

const sim_workload sim_work_line = {.name = "line",
                                    .weight = 25,
                                    .nodes = nodes,
                                    .node_count = 1,
                                    .first = "line",
                                    .plan = plan,
                                    .check = check};
