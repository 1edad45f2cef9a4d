/* SPDX-License-Identifier: MIT
 *
 * What runs out of its time: a node that tells how far it is, books a few
 * things in steps, and then sleeps far beyond its deadline, or that of its
 * cascade. No engine may end it early, however the clocks go. At its own
 * deadline all that was booked is undone, whichever process died where, as long
 * as the cascade's own deadline leaves the time.
 */
#include <stdio.h>
#include <string.h>

#include "sim/work.h"

#define BOOKED_MAX 4
#define ATTEMPTS_MAX 3
#define DEADLINE_MS 4000 /* of the node */
#define SLEEP_MS 600000
#define UNDO_NAME "cascade.undo:cancel"
#define STEP_NAME "cascade.step:book"

static cascade_err
book(cascade_node *node, sim_engine *engine, const void *arg, cJSON **result)
{
    const int *nth = arg;

    (void)engine;
    *result = cJSON_CreateNumber(*nth);
    return cascade_node_put(node, "a", cJSON_CreateNumber(*nth));
}

static cascade_err
cancel(cascade_node *node, void *user, const cJSON *input)
{
    sim_engine *engine = sim_enter_undo(node, user);

    if (engine == NULL)
        return cascade_node_error(node, "the process is dead");
    return cascade_node_put(node, "a", cJSON_CreateNumber(-input->valueint));
}

static cascade_err
book_one(cascade_node *node, sim_engine *engine, int nth)
{
    cascade_err err = sim_step(node, engine, "book", book, &nth, NULL, NULL);

    if (err == CASCADE_OK)
        err = cascade_node_compensate(node, "cancel", cancel,
                                      cJSON_CreateNumber(nth), NULL);
    return err;
}

/* What it has told in an earlier entry is no more than there is. */
static cascade_err
tell(cascade_node *node, sim_engine *engine, int booked)
{
    const cJSON *progress = NULL;
    cascade_err err = cascade_node_progress(node, &progress);

    sim_expect(engine, node,
               err == CASCADE_ERR_NOT_FOUND || err == CASCADE_ERR_FENCED ||
                   (err == CASCADE_OK && progress->valueint == booked),
               "progress is not what a heartbeat has saved");
    return cascade_node_heartbeat(node, cJSON_CreateNumber(booked));
}

static cascade_err
overrun(cascade_node *node, sim_engine *engine)
{
    int booked = sim_member(cascade_node_input(node), "booked");
    cascade_err err = tell(node, engine, booked);

    for (int i = 0; i < booked && err == CASCADE_OK; i++)
        err = book_one(node, engine, i);
    return err == CASCADE_OK ? cascade_node_sleep(node, "long", SLEEP_MS) : err;
}

static void
plan(sim_planned *planned, sim_random *random)
{
    bool whole = sim_chance(random, 40);

    if (whole)
        planned->deadline_ms =
            planned->delay_ms + sim_between(random, 1, 2 * DEADLINE_MS);
    (void)snprintf(planned->input, sizeof(planned->input), "{\"booked\":%d}",
                   sim_between(random, 0, BOOKED_MAX));
    planned->expected = CASCADE_ERROR;
}

/* The nth of them to be recorded is the nth from the end to be registered. */
static void
check_undone(sim *s, const sim_planned *planned,
             const cascade_snapshot *snapshot)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    size_t booked =
        sim_executions(snapshot, STEP_NAME, CASCADE_EXECUTION_COMPLETED);
    int left = (int)booked;

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
    sim_check(s, planned, left == 0,
              "not all that was done is undone at the deadline");
    sim_note(SIM_OVER);
}

/* By the deadline of the cascade, of its node, or both in one. */
static void
check(sim *s, const sim_planned *planned, const cascade_snapshot *snapshot)
{
    const char *error = cascade_snapshot_error(snapshot);
    size_t whole =
        sim_executions(snapshot, "cascade.deadline", CASCADE_EXECUTION_FAILED);

    sim_check(s, planned,
              error != NULL && strstr(error, "deadline passed") != NULL,
              "it did not end at its deadline");
    sim_check(s, planned, whole <= (planned->deadline_ms > 0 ? 1u : 0u),
              "a deadline of the cascade that it does not have");
    if (whole == 0)
        check_undone(s, planned, snapshot);
    else
        sim_note(SIM_OVER_WHOLE);
}

static const sim_node_def nodes[] = {{.name = "l.overrun",
                                      .fn = overrun,
                                      .options = {.attempts_max = ATTEMPTS_MAX,
                                                  .backoff_ms = 20,
                                                  .deadline_ms = DEADLINE_MS}}};

const sim_workload sim_work_limits = {.name = "limits",
                                      .weight = 10,
                                      .nodes = nodes,
                                      .node_count = 1,
                                      .first = "l.overrun",
                                      .plan = plan,
                                      .check = check};
