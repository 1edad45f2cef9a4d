/* SPDX-License-Identifier: MIT
 *
 * Nodes that listen: each awaits signals of two names in a loop, with and
 * without a time, takes a step now and then, and gives back what it heard.
 * Signals come early, late, in between, while it is parked and after its end
 * (sim_mail.c), some with its start, some twice. Some are cancelled, terminated
 * or deleted meanwhile: cancelled ones clean up in a step. Some are paused and
 * resumed, once or twice.
 *
 * So that each comes to its end there is a signal for every await: those with
 * a time may take them all.
 */
#include <stdio.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "sim/work.h"

#define ROUNDS_MAX 5
#define EXTRA_MAX 3
#define LATE -1 /* heard where nothing came in time */

static const char *
name_of(int round)
{
    return round % 3 == 2 ? "b" : "a";
}

/* ---- The node ----------------------------------------------------------- */

static cascade_err
note(cascade_node *node, sim_engine *engine, const void *arg, cJSON **result)
{
    (void)engine;
    *result = cJSON_CreateNumber(*(const int *)arg);
    return cascade_node_put(node, "noted", cJSON_CreateTrue());
}

/* The cascade is cancelled: no wait begins any more. */
static cascade_err
clean_up(cascade_node *node, sim_engine *engine)
{
    int round = 0;
    cascade_err err = sim_step(node, engine, "tidy", note, &round, NULL, NULL);

    if (err != CASCADE_OK)
        return err;
    sim_note(SIM_TIDIED);
    if (!engine->process->dead)
        sim_expect(engine, node, cascade_node_is_cancelled(node),
                   "a wait says that it is cancelled, the node does not");
    return CASCADE_ERR_CANCELLED;
}

static cascade_err
hear_one(cascade_node *node, sim_engine *engine, int round, cJSON *heard)
{
    const cJSON *input = cascade_node_input(node);
    bool timed = round % 2 == sim_member(input, "timed");
    cJSON *payload = NULL;
    int n = LATE;
    cascade_err err =
        cascade_node_await(node, name_of(round),
                           timed ? sim_member(input, "timeout") : -1, &payload);

    if (err != CASCADE_OK && err != CASCADE_ERR_TIMEOUT)
        return err;
    sim_expect(engine, node, timed || err == CASCADE_OK,
               "G8: an await without a time has timed out");
    if (err == CASCADE_OK)
        n = sim_member(payload, "n");
    cJSON_Delete(payload);
    cJSON_AddItemToArray(heard, cJSON_CreateNumber(n));
    if (round % 2 == 1)
        return sim_step(node, engine, "note", note, &round, NULL, NULL);
    return CASCADE_OK;
}

static cascade_err
listen(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    int rounds = sim_member(input, "rounds");
    cJSON *heard = cJSON_CreateArray();
    cascade_err err = CASCADE_OK;

    sim_node_take(engine, sim_member(input, "take"));
    for (int i = 0; i < rounds && err == CASCADE_OK; i++)
        err = hear_one(node, engine, i, heard);
    if (err == CASCADE_OK)
        return cascade_node_output(node, heard);
    cJSON_Delete(heard);
    return err == CASCADE_ERR_CANCELLED ? clean_up(node, engine) : err;
}

/* ---- The plan ----------------------------------------------------------- */

static sim_letter *
add_letter(sim_planned *planned, sim_random *random, const char *kind)
{
    sim_letter *letter = &planned->letters[planned->letter_count];

    *letter = (sim_letter){.times = sim_chance(random, 20) ? 2 : 1};
    (void)snprintf(letter->kind, sizeof(letter->kind), "%s", kind);
    (void)snprintf(letter->request_id, sizeof(letter->request_id),
                   "r#%u/\xc3\xa9", planned->letter_count);
    letter->at_ms = planned->start_ms + sim_between(random, 0, 20000);
    if (sim_chance(random, 40))
        letter->at_ms = planned->start_ms; /* as early as can be */
    planned->letter_count++;
    return letter;
}

static void
add_signal(sim_planned *planned, sim_random *random, const char *name)
{
    unsigned n = planned->letter_count;
    sim_letter *letter = add_letter(planned, random, "signal");

    (void)snprintf(letter->name, sizeof(letter->name), "%s", name);
    (void)snprintf(letter->payload, sizeof(letter->payload), "{\"n\":%u}", n);
    letter->by_key = planned->key[0] != '\0' && sim_chance(random, 30);
    letter->unnamed = n > 0 && sim_chance(random, 15);
    if (letter->unnamed)
        letter->times = 1;
}

static void
add_command(sim_planned *planned, sim_random *random)
{
    static const char *const kinds[] = {"cancel", "cancel", "terminate",
                                        "delete"};
    const char *kind = kinds[sim_below(random, 4)];

    /* A key would start a deleted one again. */
    if (strcmp(kind, "delete") == 0 && planned->key[0] != '\0')
        kind = "cancel";
    (void)add_letter(planned, random, kind);
    if (strcmp(kind, "cancel") == 0 && sim_chance(random, 30))
        (void)add_letter(planned, random, "cancel");
    planned->expected = 0;
}

/* A resume that is sent first would leave it paused for ever. */
static void
add_pause(sim_planned *planned, sim_random *random)
{
    sim_letter *resume = NULL;

    (void)add_letter(planned, random, "pause");
    resume = add_letter(planned, random, "resume");
    resume->after = planned->letter_count - 1;
}

static void
plan(sim_planned *planned, sim_random *random)
{
    static const int timeouts_ms[] = {0, 5, 800, 9000};
    int rounds = sim_between(random, 1, ROUNDS_MAX);

    planned->first_count = sim_chance(random, 30) ? 2 : 1;
    planned->together = 1;
    (void)snprintf(planned->input, sizeof(planned->input),
                   "{\"rounds\":%d,\"timed\":%d,\"timeout\":%d,\"take\":%d}",
                   rounds, sim_between(random, 0, 2),
                   timeouts_ms[sim_below(random, 4)],
                   sim_chance(random, 20) ? sim_between(random, 1, 200) : 0);
    planned->expected = CASCADE_COMPLETED;
    for (unsigned k = 0; k < planned->first_count; k++)
        for (int i = 0; i < rounds; i++)
            add_signal(planned, random, name_of(i));
    planned->letters[0].with_start = planned->key[0] != '\0' &&
                                     planned->first_count == 1 &&
                                     sim_chance(random, 60);
    for (unsigned k = sim_below(random, EXTRA_MAX + 1); k > 0; k--)
        add_signal(planned, random, sim_chance(random, 70) ? "a" : "c");
    if (sim_chance(random, 35))
        add_command(planned, random);
    for (int k = sim_chance(random, 40) ? sim_between(random, 1, 2) : 0;
         k > 0 && planned->letter_count + 2 <= SIM_LETTERS_MAX; k--)
        add_pause(planned, random);
}

/* ---- The check ---------------------------------------------------------- */

/* The number that the signal brought which this await took. */
static int
number_heard(const cascade_snapshot *snapshot,
             const cascade_execution_info *await)
{
    csc_json_span span;
    int64_t id = -1;
    int n = LATE;

    if (await->status == CASCADE_EXECUTION_COMPLETED &&
        csc_json_read_member(await->full_output, "signal", &span) &&
        csc_json_read_i64(span, &id))
        (void)sscanf(
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, (size_t)id)
                ->input,
            "{\"n\":%d}", &n);
    return n;
}

static void
count_await(const cascade_execution_info *await)
{
    csc_json_span span;
    int64_t id = -1;

    if (await->status != CASCADE_EXECUTION_COMPLETED)
        return;
    if (!csc_json_read_member(await->full_output, "signal", &span) ||
        !csc_json_read_i64(span, &id))
        sim_note(SIM_TIMED_OUT);
    else
        sim_note(id < await->function_id ? SIM_HEARD_EARLY : SIM_HEARD_WAITING);
}

static void
count_receipt(const cascade_execution_info *info)
{
    bool failed = info->status == CASCADE_EXECUTION_FAILED;

    if (strncmp(info->node_name, "cascade.signal:", 15) == 0 && failed)
        sim_note(SIM_UNDELIVERED);
    if (strcmp(info->node_name, "cascade.cancel") == 0 && failed)
        sim_note(SIM_CANCELLED);
    if (strcmp(info->node_name, "cascade.terminate") == 0 && failed)
        sim_note(SIM_TERMINATED);
    if (strcmp(info->node_name, "cascade.pause") == 0 && !failed)
        sim_note(SIM_PAUSED);
}

/* What the node gave back is what its awaits took, in their order. */
static void
check(sim *s, const sim_planned *planned, const cascade_snapshot *snapshot)
{
    const char *result = cascade_snapshot_result(snapshot);
    size_t all = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    csc_buf expected = {0};

    csc_buf_add_char(&expected, '[');
    for (size_t i = 0; i < all; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i);

        count_receipt(info);
        if (strncmp(info->node_name, "cascade.await:", 14) != 0)
            continue;
        count_await(info);
        if (expected.len > 1)
            csc_buf_add_char(&expected, ',');
        csc_buf_add_format(&expected, "%d", number_heard(snapshot, info));
    }
    csc_buf_add_char(&expected, ']');
    if (planned->first_count == 1 &&
        cascade_snapshot_info(snapshot)->status == CASCADE_COMPLETED)
        sim_check(s, planned,
                  result != NULL && strcmp(result, expected.data) == 0,
                  "G9: the node heard something else than its awaits took");
    csc_buf_fini(&expected);
}

static const sim_node_def nodes[] = {{.name = "listen", .fn = listen}};

const sim_workload sim_work_signals = {.name = "signals",
                                       .weight = 30,
                                       .nodes = nodes,
                                       .node_count = 1,
                                       .first = "listen",
                                       .plan = plan,
                                       .check = check};
