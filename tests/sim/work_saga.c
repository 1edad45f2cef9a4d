/* SPDX-License-Identifier: MIT
 *
 * Nodes that fail for good and are undone: one books a few things in steps,
 * registers what cancels each, and fails, at once or with its last attempt.
 * Each must be cancelled once, in reverse order, whichever processes do so; a
 * cancellation may fail a few times first. In front of it all it asks for a
 * version, which must be the same at every entry.
 */
#include <stdio.h>
#include <string.h>

#include "sim/work.h"

#define BOOKED_MAX 5
#define ATTEMPTS_MAX 3
#define VERSION 4
#define UNDO_NAME "cascade.undo:cancel"

static cascade_err
book(cascade_node *node, sim_engine *engine, const void *arg, cJSON **result)
{
    const int *nth = arg;

    (void)engine;
    *result = cJSON_CreateNumber(*nth);
    return cascade_node_put(node, "a", cJSON_CreateNumber(*nth));
}

/* It sees all that was booked, and what was cancelled before it. */
static cascade_err
cancel(cascade_node *node, void *user, const cJSON *input)
{
    sim_engine *engine = sim_enter_undo(node, user);
    const cJSON *values = NULL;
    int nth = sim_member(input, "nth");
    int booked = sim_member(cascade_node_input(node), "booked");
    cascade_err err = CASCADE_OK;

    if (engine == NULL)
        return cascade_node_error(node, "the process is dead");
    if (cascade_node_attempt(node) <= sim_member(input, "fails"))
        return cascade_node_error(node, "no answer");
    err = cascade_node_history(node, "a", &values);
    sim_expect(engine, node,
               err == CASCADE_OK &&
                   cJSON_GetArraySize(values) == booked + (booked - 1 - nth),
               "G7: a compensation does not see what was done and undone");
    return cascade_node_put(node, "a", cJSON_CreateNumber(-nth));
}

static cascade_err
book_one(cascade_node *node, sim_engine *engine, int nth)
{
    cJSON *undo = sim_object("nth", nth);
    cascade_err err = sim_step(node, engine, "book", book, &nth, NULL, NULL);

    if (err != CASCADE_OK) {
        cJSON_Delete(undo);
        return err;
    }
    cJSON_AddNumberToObject(undo, "fails",
                            sim_member(cascade_node_input(node), "fails"));
    return cascade_node_compensate(node, "cancel", cancel, undo, NULL);
}

static cascade_err
travel(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    int version = 0;
    cascade_err err =
        cascade_node_version(node, "change", 0, VERSION, &version);

    if (err != CASCADE_OK)
        return err;
    sim_expect(engine, node, version == VERSION,
               "G3: a version is not the recorded one");
    for (int i = 0; i < sim_member(input, "booked") && err == CASCADE_OK; i++)
        err = book_one(node, engine, i);
    if (err != CASCADE_OK)
        return err;
    if (sim_member(input, "last") != 0)
        return cascade_node_error(node, "full");
    return cascade_node_fail(node, "full");
}

static void
plan(sim_planned *planned, sim_random *random)
{
    (void)snprintf(planned->input, sizeof(planned->input),
                   "{\"booked\":%d,\"fails\":%d,\"last\":%d}",
                   sim_between(random, 0, BOOKED_MAX),
                   sim_between(random, 0, ATTEMPTS_MAX - 1),
                   sim_chance(random, 30) ? 1 : 0);
    planned->expected = CASCADE_ERROR;
}

/* The nth of them to be recorded is the nth from the end to be registered. */
static void
check(sim *s, const sim_planned *planned, const cascade_snapshot *snapshot)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    int booked = 0;
    int left = 0;

    (void)sscanf(planned->input, "{\"booked\":%d", &booked);
    left = booked;
    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i);
        int nth = -1;

        if (strcmp(info->node_name, UNDO_NAME) != 0)
            continue;
        (void)sscanf(strrchr(info->node_instance_id, '#'), "#%d", &nth);
        sim_check(s, planned,
                  info->status == CASCADE_EXECUTION_COMPLETED && nth == --left,
                  "what was done is not undone in reverse order");
    }
    sim_check(s, planned, left == 0, "not all that was done is undone");
    sim_check(s, planned,
              sim_executions(snapshot, "cascade.saga:fail",
                             CASCADE_EXECUTION_COMPLETED) ==
                  (booked > 0 ? 1 : 0),
              "the decision to undo is not recorded once");
    sim_check(s, planned, strcmp(cascade_snapshot_error(snapshot), "full") == 0,
              "the error of what was undone is lost");
    sim_note_many(SIM_UNDONE, (size_t)booked);
}

static const sim_node_def nodes[] = {
    {.name = "s.travel",
     .fn = travel,
     .options = {.attempts_max = ATTEMPTS_MAX, .backoff_ms = 20}}};

const sim_workload sim_work_saga = {.name = "saga",
                                    .weight = 12,
                                    .nodes = nodes,
                                    .node_count = 1,
                                    .first = "s.travel",
                                    .plan = plan,
                                    .check = check};
