/* SPDX-License-Identifier: MIT
 *
 * Cascades that continue as new a few times. Each run takes a step, perhaps
 * awaits a signal, and hands on how many runs there were and what they heard:
 *
 *   run 1   {"count":0,"left":2,...} --> run 2   {"count":1,"left":1,...}
 *
 * by its first node or by another that this spawns. Before its last word it
 * says a wrong one, and attempts that fail say the right one: neither counts.
 * Signals come as they do to work_signals.c, to the first run or by key, and so
 * are there early, are carried over, or are sent on, and so do commands: some
 * are paused and resumed, which a repeated pause must not undo; some are
 * cancelled or terminated: then the chain ends early.
 */
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "sim/work.h"
#include "store/store.h"

#define EXTRA_MAX 2
#define ATTEMPTS_MAX 3
#define STEP_NAME "cascade.step:add"
#define COMMAND_PERCENT 20
#define PAUSE_PERCENT 30

/* ---- The nodes ---------------------------------------------------------- */

static cascade_err
add(cascade_node *node, sim_engine *engine, const void *arg, cJSON **result)
{
    const int *count = arg;

    (void)engine;
    *result = cJSON_CreateNumber(*count + 1);
    return cascade_node_put(node, "a", cJSON_CreateNumber(*count + 1));
}

static void
set_number(cJSON *object, const char *name, int value)
{
    cJSON_ReplaceItemInObjectCaseSensitive(object, name,
                                           cJSON_CreateNumber(value));
}

/* The signal that this run awaits, if any, goes with what is carried. */
static cascade_err
hear(cascade_node *node, sim_engine *engine, cJSON *carried)
{
    const cJSON *input = cascade_node_input(node);
    int bit = 1 << sim_member(input, "count");
    cJSON *heard = cJSON_GetObjectItemCaseSensitive(carried, "heard");
    cJSON *payload = NULL;
    cascade_err err = CASCADE_OK;

    if ((sim_member(input, "waits") & bit) == 0)
        return CASCADE_OK;
    err = cascade_node_await(node, "go", -1, &payload);
    sim_expect(engine, node, err != CASCADE_ERR_TIMEOUT,
               "G8: an await without a time has timed out");
    if (err == CASCADE_OK)
        cJSON_AddItemToArray(heard,
                             cJSON_CreateNumber(sim_member(payload, "n")));
    cJSON_Delete(payload);
    return err;
}

/* Takes `carried`. */
static cascade_err
go_on(cascade_node *node, cJSON *carried)
{
    bool fails = cascade_node_attempt(node) <= sim_member(carried, "fails");
    cascade_err err =
        cascade_node_continue_as_new(node, "r.turn", sim_object("left", 0));

    if (err != CASCADE_OK) {
        cJSON_Delete(carried);
        return err;
    }
    err = cascade_node_continue_as_new(node, NULL, carried);
    return err == CASCADE_OK && fails ? cascade_node_error(node, "no luck")
                                      : err;
}

static cascade_err
relay(cascade_node *node, sim_engine *engine)
{
    (void)engine;
    return go_on(node, cJSON_Duplicate(cascade_node_input(node), true));
}

/* Takes `carried`. */
static cascade_err
finish(cascade_node *node, const cJSON *input, cJSON *carried)
{
    if (sim_member(input, "left") == 0)
        return cascade_node_output(node, carried);
    if (sim_member(input, "relay") != 0)
        return cascade_node_spawn(node, "r.relay", carried, NULL);
    return go_on(node, carried);
}

static cascade_err
turn(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    int count = sim_member(input, "count");
    cJSON *carried = cJSON_Duplicate(input, true);
    cascade_err err = CASCADE_OK;

    sim_node_take(engine, sim_member(input, "take"));
    set_number(carried, "count", count + 1);
    set_number(carried, "left", sim_member(input, "left") - 1);
    err = sim_step(node, engine, "add", add, &count, NULL, NULL);
    if (err == CASCADE_OK)
        err = hear(node, engine, carried);
    if (err == CASCADE_OK)
        return finish(node, input, carried);
    cJSON_Delete(carried);
    return err;
}

/* ---- The plan ----------------------------------------------------------- */

static sim_letter *
add_letter(sim_planned *planned, sim_random *random, const char *kind)
{
    unsigned n = planned->letter_count++;
    sim_letter *letter = &planned->letters[n];

    *letter = (sim_letter){.times = sim_chance(random, 30) ? 2 : 1};
    (void)snprintf(letter->kind, sizeof(letter->kind), "%s", kind);
    (void)snprintf(letter->request_id, sizeof(letter->request_id), "r#%u", n);
    letter->at_ms = planned->start_ms;
    if (sim_chance(random, 60))
        letter->at_ms += sim_between(random, 0, 10000);
    return letter;
}

static void
add_signal(sim_planned *planned, sim_random *random, const char *name)
{
    unsigned n = planned->letter_count;
    sim_letter *letter = add_letter(planned, random, "signal");

    (void)snprintf(letter->name, sizeof(letter->name), "%s", name);
    (void)snprintf(letter->payload, sizeof(letter->payload), "{\"n\":%u}", n);
    letter->by_key = planned->key[0] != '\0' && sim_chance(random, 40);
    letter->unnamed = n > 0 && sim_chance(random, 10);
    if (letter->unnamed)
        letter->times = 1;
}

static sim_letter *
add_command(sim_planned *planned, sim_random *random, const char *kind)
{
    sim_letter *letter = add_letter(planned, random, kind);

    letter->by_key = planned->key[0] != '\0' && sim_chance(random, 40);
    return letter;
}

/* A resume that is sent first would leave it paused for ever. */
static void
add_pause(sim_planned *planned, sim_random *random)
{
    unsigned pause = planned->letter_count;

    (void)add_command(planned, random, "pause");
    add_command(planned, random, "resume")->after = pause + 1;
}

static void
plan(sim_planned *planned, sim_random *random)
{
    int left = sim_between(random, 1, SIM_RUNS_MAX - 1);
    int waits = (int)sim_below(random, 1u << (left + 1));

    (void)snprintf(
        planned->input, sizeof(planned->input),
        "{\"count\":0,\"fails\":%d,\"heard\":[],\"left\":%d,"
        "\"relay\":%d,\"take\":%d,\"waits\":%d}",
        sim_chance(random, 40) ? sim_between(random, 1, ATTEMPTS_MAX - 1) : 0,
        left, sim_chance(random, 40) ? 1 : 0,
        sim_chance(random, 20) ? sim_between(random, 1, 200) : 0, waits);
    planned->together = 1;
    planned->expected = CASCADE_COMPLETED;
    for (int run = 0; run <= left; run++)
        if ((waits >> run & 1) != 0)
            add_signal(planned, random, "go");
    for (unsigned i = sim_below(random, EXTRA_MAX + 1); i > 0; i--)
        add_signal(planned, random, sim_chance(random, 60) ? "go" : "c");
    planned->letters[0].with_start = planned->letter_count > 0 &&
                                     planned->key[0] != '\0' &&
                                     sim_chance(random, 50);
    if (sim_chance(random, PAUSE_PERCENT))
        add_pause(planned, random);
    if (sim_chance(random, COMMAND_PERCENT)) {
        (void)add_command(planned, random,
                          sim_chance(random, 60) ? "cancel" : "terminate");
        planned->expected = 0;
    }
}

/* ---- The check ---------------------------------------------------------- */

/* Each was heard once, but for those that may have been sent twice. */
static void
check_heard(sim *s, const sim_planned *planned, const cJSON *heard)
{
    unsigned times[SIM_LETTERS_MAX] = {0};
    const cJSON *n = NULL;

    cJSON_ArrayForEach(n, heard)
    {
        bool known = n->valueint >= 0 &&
                     n->valueint < (int)planned->letter_count &&
                     strcmp(planned->letters[n->valueint].name, "go") == 0;

        sim_check(s, planned, known, "G9: a run heard what nobody sent");
        if (known)
            sim_check(s, planned,
                      times[n->valueint]++ == 0 ||
                          planned->letters[n->valueint].unnamed,
                      "G9: two runs heard the same signal");
    }
}

static size_t
count_bits(int mask)
{
    size_t count = 0;

    for (; mask > 0; mask >>= 1)
        count += (size_t)(mask & 1);
    return count;
}

/* What the last run gave back is what all of them did. */
static void
check_result(sim *s, const sim_planned *planned, const cJSON *input,
             const cascade_snapshot *snapshot)
{
    const char *result = cascade_snapshot_result(snapshot);
    cJSON *output = cJSON_Parse(result != NULL ? result : "null");
    const cJSON *heard = cJSON_GetObjectItemCaseSensitive(output, "heard");

    sim_check(s, planned,
              sim_member(output, "count") == sim_member(input, "left") + 1,
              "the last run does not tell how many there were");
    sim_check(s, planned,
              (size_t)cJSON_GetArraySize(heard) ==
                  count_bits(sim_member(input, "waits")),
              "G9: what the runs heard was not handed on");
    check_heard(s, planned, heard);
    cJSON_Delete(output);
    sim_note(SIM_LAST_RUN);
}

/* By itself: the input that it was handed, and what it has done. */
static void
check_run(sim *s, const sim_planned *planned, int run, int last,
          const cascade_snapshot *snapshot)
{
    const cascade_execution_info *first =
        cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 0);
    cJSON *input = cJSON_Parse(first->input);
    char context[20];

    (void)snprintf(context, sizeof(context), "{\"a\":[%d]}", run + 1);
    sim_check(s, planned, strcmp(first->node_name, "r.turn") == 0,
              "a run begins with another node");
    sim_check(s, planned,
              sim_member(input, "count") == run &&
                  sim_member(input, "left") == last - run,
              "a run was born with another input");
    sim_check(
        s, planned,
        sim_executions(snapshot, STEP_NAME, CASCADE_EXECUTION_COMPLETED) == 1 &&
            strcmp(cascade_snapshot_context(snapshot), context) == 0,
        "a run has not done its step once");
    sim_check(s, planned,
              (cascade_snapshot_continued_as(snapshot) != NULL) == (run < last),
              "it continued as new more or less often than it should");
    cJSON_Delete(input);
}

/* The key's current run is the last one. */
static void
check_key(sim *s, const sim_planned *planned, int run, const cascade_uuid *id)
{
    cascade_uuid own = csc_uuid_v8("somebody", planned->key, run + 1);
    int32_t current = 0;

    if (planned->key[0] == '\0')
        return;
    sim_check(s, planned,
              s->eye->driver->chain->key(s->eye->self, "somebody", planned->key,
                                         &current) == CASCADE_OK &&
                  current == run + 1 && csc_uuid_equal(id, &own),
              "G10: the key's current run is not the last");
}

/* Whether another run follows; `*id` is that one's then. */
static bool
check_one(sim *s, const sim_planned *planned, const cJSON *input, int run,
          cascade_uuid *id)
{
    int last = sim_member(input, "left");
    cascade_snapshot *snapshot = NULL;
    const cascade_uuid *next = NULL;
    cascade_status status = CASCADE_RUNNING;

    if (cascade_snapshot_load(s->eye, id, NULL, &snapshot) != CASCADE_OK) {
        sim_check(s, planned, false, "one of its runs is not there");
        return false;
    }
    status = cascade_snapshot_info(snapshot)->status;
    next = cascade_snapshot_continued_as(snapshot);
    if (run > 0 && sim_check_poisoned(s, planned, snapshot))
        next = NULL;
    else if (status == CASCADE_COMPLETED)
        check_run(s, planned, run, last, snapshot);
    else
        sim_check(s, planned, planned->expected == 0, "a run has failed");
    if (next == NULL)
        check_key(s, planned, run, id);
    else
        *id = *next;
    if (status == CASCADE_COMPLETED && run == last)
        check_result(s, planned, input, snapshot);
    cascade_snapshot_free(snapshot);
    return next != NULL && run < last;
}

static void
check(sim *s, const sim_planned *planned, const cascade_snapshot *snapshot)
{
    cJSON *input = cJSON_Parse(planned->input);
    cascade_uuid id = planned->id;
    int run = 0;

    (void)snapshot; /* of the first run */
    while (check_one(s, planned, input, run, &id))
        run++;
    cJSON_Delete(input);
}

static const sim_node_def nodes[] = {
    {.name = "r.turn",
     .fn = turn,
     .options = {.attempts_max = ATTEMPTS_MAX, .backoff_ms = 20}},
    {.name = "r.relay",
     .fn = relay,
     .options = {.attempts_max = ATTEMPTS_MAX, .backoff_ms = 20}}};

const sim_workload sim_work_runs = {.name = "runs",
                                    .weight = 20,
                                    .nodes = nodes,
                                    .node_count = 2,
                                    .first = "r.turn",
                                    .plan = plan,
                                    .check = check};
