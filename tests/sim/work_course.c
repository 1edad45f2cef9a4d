/* SPDX-License-Identifier: MIT
 *
 * Cascades that fail, and are retried and run again, at any time and several
 * times: a graph of leaves with a join, or a straight line of steps, sleeps and
 * awaits.
 * Whether a leaf or a step fails for good is decided by its path. What runs in
 * its place after a command has another path, and may do better.
 *
 * A command may come too early or too late, and is refused then; so a cascade
 * may end either way. One that completes has done each thing once, to whoever
 * looks at it: what was superseded is neither seen by the join nor added up.
 */
#include <stdio.h>
#include <string.h>

#include "base/json/json.h"
#include "sim/work.h"
#include "state/supersede.h"

#define WIDTH_MAX 5
#define COMMANDS_MAX 6
#define SIGNALS_MAX 4
#define FROM_MAX 12
#define WITHIN_MS 40000 /* letters are sent, from the start on */

/* ---- Failing ------------------------------------------------------------ */

/* The same in each attempt, and whoever takes it over. */
static bool
is_doomed(const cascade_node *node, int percent)
{
    uint32_t hash = UINT32_C(2166136261);

    for (const char *c = cascade_node_request_id(node); *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT32_C(16777619);
    return (int)((hash >> 8) % 100) < percent;
}

/* ---- The graph ---------------------------------------------------------- */

static cascade_err
spawn_leaves(cascade_node *node, const cJSON *input)
{
    uint32_t after[WIDTH_MAX];
    cascade_spawn_options options = {.size = sizeof(options)};
    int width = sim_member(input, "size");
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < width && err == CASCADE_OK; i++) {
        cJSON *leaf = sim_object("leaf", i);

        cJSON_AddNumberToObject(leaf, "fails", sim_member(input, "fails"));
        cJSON_AddNumberToObject(leaf, "nap", sim_member(input, "nap"));
        err = cascade_node_spawn(node, "c.leaf", leaf, NULL);
        after[i] = cascade_node_spawned(node);
    }
    options.after = after;
    options.after_count = (size_t)width;
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "c.join", sim_object("size", width),
                                 &options);
    return err;
}

static cascade_err
note(cascade_node *node, sim_engine *engine, const void *arg, cJSON **result)
{
    const int *leaf = arg;

    (void)engine;
    *result = NULL;
    return cascade_node_put(node, "log", cJSON_CreateNumber(*leaf));
}

static cascade_err
leaf(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    int nth = sim_member(input, "leaf");
    cascade_err err = sim_step(node, engine, "note", note, &nth, NULL, NULL);

    if (err == CASCADE_OK && nth % 2 == 1)
        err = cascade_node_sleep(node, "nap", sim_member(input, "nap"));
    if (err != CASCADE_OK)
        return err;
    if (is_doomed(node, sim_member(input, "fails")))
        return cascade_node_error(node, "a leaf that fails");
    return cascade_node_put(node, "a", cJSON_CreateNumber(nth));
}

/* Each leaf has written its number once; the order is that of those that made
 * it in the end. */
static bool
has_each_once(const cJSON *values, int width)
{
    const cJSON *value = NULL;
    unsigned seen = 0;
    int count = 0;

    cJSON_ArrayForEach(value, values)
    {
        seen |= 1U << value->valueint;
        count++;
    }
    return count == width && seen == (1U << width) - 1;
}

static cascade_err
join(cascade_node *node, sim_engine *engine)
{
    static const char *const keys[] = {"a", "log"};
    int width = sim_member(cascade_node_input(node), "size");

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const cJSON *values = NULL;
        cascade_err err = cascade_node_history(node, keys[i], &values);

        if (err != CASCADE_OK)
            return err;
        sim_expect(engine, node, has_each_once(values, width),
                   "G7: a join does not see each of its leaves once");
    }
    return cascade_node_output(node, cJSON_CreateNumber(width));
}

/* ---- The line ----------------------------------------------------------- */

typedef struct line_step {
    int nth;
    int fails;
} line_step;

static cascade_err
add(cascade_node *node, sim_engine *engine, const void *arg, cJSON **result)
{
    const line_step *step = arg;

    (void)engine;
    if (is_doomed(node, step->fails))
        return cascade_node_error(node, "a step that fails");
    *result = cJSON_CreateNumber(step->nth);
    return cascade_node_put(node, "b", cJSON_CreateNumber(step->nth));
}

/* Waits a while for a signal. A rerun may receive it anew, but a line, whatever
 * it was made of, hears none twice. */
static cascade_err
hear(cascade_node *node, sim_engine *engine, unsigned *heard)
{
    const cJSON *input = cascade_node_input(node);
    cJSON *payload = NULL;
    unsigned bit = 0;
    cascade_err err =
        cascade_node_await(node, "go", sim_member(input, "nap"), &payload);

    if (err == CASCADE_ERR_TIMEOUT)
        return CASCADE_OK;
    if (err != CASCADE_OK)
        return err;
    bit = 1U << sim_member(payload, "n");
    cJSON_Delete(payload);
    sim_expect(engine, node, (*heard & bit) == 0,
               "G9: a line hears a signal twice");
    *heard |= bit;
    return CASCADE_OK;
}

static cascade_err
run_line(cascade_node *node, sim_engine *engine, const cJSON *input)
{
    int count = sim_member(input, "size");
    unsigned heard = 0;
    int sum = 0;

    for (int i = 1; i <= count; i++) {
        line_step step = {i, sim_member(input, "fails")};
        cJSON *result = NULL;
        cascade_err err =
            sim_step(node, engine, "add", add, &step, NULL, &result);

        if (err == CASCADE_OK && i % 2 == 0)
            err = cascade_node_sleep(node, "nap", sim_member(input, "nap"));
        else if (err == CASCADE_OK)
            err = hear(node, engine, &heard);
        sim_expect(engine, node,
                   err != CASCADE_OK ||
                       (result != NULL && result->valueint == i),
                   "G3: a step gives another result than its own");
        cJSON_Delete(result);
        if (err != CASCADE_OK)
            return err;
        sum += i;
    }
    return cascade_node_output(node, cJSON_CreateNumber(sum));
}

static cascade_err
begin(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);

    if (sim_member(input, "line") != 0)
        return run_line(node, engine, input);
    return spawn_leaves(node, input);
}

/* ---- The plan ----------------------------------------------------------- */

static sim_letter *
add_letter(sim_planned *planned, sim_random *random, const char *kind)
{
    sim_letter *letter = &planned->letters[planned->letter_count];

    *letter = (sim_letter){.times = sim_chance(random, 20) ? 2 : 1};
    (void)snprintf(letter->kind, sizeof(letter->kind), "%s", kind);
    (void)snprintf(letter->request_id, sizeof(letter->request_id), "c#%u",
                   planned->letter_count);
    letter->at_ms = planned->start_ms + sim_between(random, 0, WITHIN_MS);
    planned->letter_count++;
    return letter;
}

static void
add_command(sim_planned *planned, sim_random *random)
{
    bool rerun = sim_chance(random, 45);
    sim_letter *letter = add_letter(planned, random, rerun ? "rerun" : "retry");

    if (rerun)
        (void)snprintf(letter->payload, sizeof(letter->payload),
                       "{\"from\":%d}", sim_between(random, 0, FROM_MAX));
}

static void
add_signal(sim_planned *planned, sim_random *random)
{
    sim_letter *letter = add_letter(planned, random, "signal");

    (void)snprintf(letter->name, sizeof(letter->name), "go");
    (void)snprintf(letter->payload, sizeof(letter->payload), "{\"n\":%u}",
                   planned->letter_count);
    if (sim_chance(random, 60))
        letter->at_ms = planned->start_ms;
}

static void
plan(sim_planned *planned, sim_random *random)
{
    static const int naps_ms[] = {0, 5, 800, 9000};

    (void)snprintf(planned->input, sizeof(planned->input),
                   "{\"line\":%d,\"size\":%d,\"fails\":%d,\"nap\":%d}",
                   sim_between(random, 0, 1), sim_between(random, 1, WIDTH_MAX),
                   sim_between(random, 0, 60), naps_ms[sim_below(random, 4)]);
    for (int k = sim_between(random, 1, COMMANDS_MAX); k > 0; k--)
        add_command(planned, random);
    for (int k = sim_between(random, 0, SIGNALS_MAX); k > 0; k--)
        add_signal(planned, random);
}

/* ---- The check ---------------------------------------------------------- */

static void
count_receipts(const cascade_snapshot *snapshot)
{
    sim_note_many(SIM_RETRIED, sim_executions(snapshot, CSC_RETRY_NAME,
                                              CASCADE_EXECUTION_COMPLETED));
    sim_note_many(SIM_RERUN, sim_executions(snapshot, CSC_RERUN_NAME,
                                            CASCADE_EXECUTION_COMPLETED));
    sim_note_many(
        SIM_COURSE_REFUSED,
        sim_executions(snapshot, CSC_RETRY_NAME, CASCADE_EXECUTION_FAILED) +
            sim_executions(snapshot, CSC_RERUN_NAME, CASCADE_EXECUTION_FAILED));
}

/* Signals that a rerun has received once more. */
static void
count_repeated(const cascade_snapshot *snapshot)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);

    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i);
        csc_json_span span;

        if (strcmp(info->node_name, "cascade.signal:go") == 0 &&
            csc_json_read_member(info->full_output, "resumes", &span))
            sim_note(SIM_RECEIVED_AGAIN);
    }
}

static void
check(sim *s, const sim_planned *planned, const cascade_snapshot *snapshot)
{
    const char *result = cascade_snapshot_result(snapshot);
    int line = 0;
    int size = 0;
    char expected[20];

    count_receipts(snapshot);
    count_repeated(snapshot);
    if (cascade_snapshot_info(snapshot)->status != CASCADE_COMPLETED)
        return;
    (void)sscanf(planned->input, "{\"line\":%d,\"size\":%d", &line, &size);
    (void)snprintf(expected, sizeof(expected), "%d",
                   line != 0 ? size * (size + 1) / 2 : size);
    sim_check(s, planned, result != NULL && strcmp(result, expected) == 0,
              "the result is not that of each thing done once");
}

static const sim_node_def nodes[] = {
    {.name = "c.begin", .fn = begin, .options = {.attempts_max = 1}},
    {.name = "c.leaf",
     .fn = leaf,
     .options = {.attempts_max = 2, .backoff_ms = 50}},
    {.name = "c.join", .fn = join}};

const sim_workload sim_work_course = {.name = "course",
                                      .weight = 20,
                                      .nodes = nodes,
                                      .node_count = 3,
                                      .first = "c.begin",
                                      .survives = true,
                                      .plan = plan,
                                      .check = check};
