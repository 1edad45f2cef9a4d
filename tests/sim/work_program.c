/* SPDX-License-Identifier: MIT
 *
 * The mix: a node that does what its input says, which may be anything that the
 * library offers, and may spawn more such nodes with programs of their own.
 *
 *   {"ops":[OP...],"fail":k,"final":1,"curse":1,"out":n}
 *     the ops in turn; then attempts 1 to k fail (what they did is dropped);
 *     then it fails for good, or gives an output (a cursed one)
 *   OP {"put":"a","v":n}          a value in the context
 *      {"spawn":"m.b","in":PROGRAM,"delay":ms,"pri":p,"after":1}
 *                                 a child; after all children before it
 *      {"step":"s","v":n,"own":m,"fails":k,"put":"b","spawn":...,"curse":1}
 *                                 a step, with attempts of its own (m) or not
 *      {"take":ms}                time, in which others go on, at first
 *      {"die":n}                  the process dies here, the first n times
 *      {"bad":1}                  calls that must be refused
 *
 * The model below reads the same program and says what must be in the tables:
 * it knows attempts, failures and their reach, and nothing of the engine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/work.h"

#define OWN_ATTEMPTS 3
#define CHILDREN_MAX 32
/* So often it is slow: an engine without threads cannot renew its lease while a
 * node runs, and a step does not begin after the lease has run out; one that is
 * slower than the lease before a step each time would never get there. */
#define SLOW_ENTRIES 2

/* ---- The nodes ---------------------------------------------------------- */

static const char *
text_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsString(item) ? item->valuestring : NULL;
}

static cascade_err
put(cascade_node *node, const cJSON *op)
{
    cJSON *value = NULL;

    if (sim_member(op, "curse") != 0)
        value = cJSON_CreateString(SIM_CURSE);
    else
        value = cJSON_CreateNumber(sim_member(op, "v"));
    if (sim_member(op, "v") % 5 == 1)
        return cascade_node_put_ui(node, text_of(op, "put"), value,
                                   cJSON_CreateString("for people"));
    return cascade_node_put(node, text_of(op, "put"), value);
}

static cascade_err
spawn(cascade_node *node, const cJSON *op)
{
    const cJSON *program = cJSON_GetObjectItemCaseSensitive(op, "in");
    cascade_spawn_options options = {.size = sizeof(options)};
    uint32_t after[CHILDREN_MAX];
    cJSON *input = cJSON_Duplicate(program, 1);

    options.delay_ms =
        sim_member(op, "step") == 0 ? sim_member(op, "delay") : 0;
    cJSON_AddNumberToObject(input, SIM_LATE, (double)options.delay_ms);
    options.priority = sim_member(op, "pri");
    if (sim_member(op, "after") != 0)
        options.after_count = cascade_node_spawned(node);
    for (uint32_t i = 0; i < options.after_count; i++)
        after[i] = i + 1;
    options.after = after;
    if (options.after_count > 0)
        sim_note(SIM_JOINED);
    return cascade_node_spawn(node, text_of(op, "spawn"), input, &options);
}

static cascade_err
step_body(cascade_node *node, sim_engine *engine, const void *arg,
          cJSON **result)
{
    const cJSON *op = arg;
    cascade_err err = CASCADE_OK;

    (void)engine;
    *result = cJSON_CreateNumber(sim_member(op, "v"));
    if (text_of(op, "put") != NULL)
        err = put(node, op);
    if (err == CASCADE_OK && text_of(op, "spawn") != NULL)
        err = spawn(node, op);
    if (err == CASCADE_OK &&
        cascade_node_attempt(node) <= sim_member(op, "fails"))
        err = cascade_node_error(node, "step, attempt %d",
                                 cascade_node_attempt(node));
    return err;
}

static cascade_err
step(cascade_node *node, sim_engine *engine, const cJSON *op)
{
    cascade_step_options own = {.size = sizeof(own),
                                .attempts_max = OWN_ATTEMPTS,
                                .backoff_ms = 1 + sim_member(op, "delay")};
    bool has_own = sim_member(op, "own") != 0;
    cJSON *result = NULL;
    cascade_err err = sim_step(node, engine, text_of(op, "step"), step_body, op,
                               has_own ? &own : NULL, &result);

    if (err == CASCADE_ERR_FINAL && has_own &&
        sim_member(op, "fails") >= OWN_ATTEMPTS)
        return CASCADE_OK;
    if (err == CASCADE_OK)
        sim_expect(engine, node,
                   result != NULL && result->valueint == sim_member(op, "v"),
                   "G3: a step gives another result than its own");
    cJSON_Delete(result);
    return err;
}

/* Each is refused where the node sees it, and leaves no trace (G13). */
static cascade_err
misuse(cascade_node *node, sim_engine *engine)
{
    uint32_t before = cascade_node_spawned(node);
    bool refused =
        cascade_node_put_text(node, "a", "{\"x\":", NULL) == CASCADE_ERR_JSON &&
        cascade_node_put_text(node, "", "1", NULL) == CASCADE_ERR_INVALID &&
        cascade_node_put_text(node, "a", "\"\\ud800\"", NULL) ==
            CASCADE_ERR_JSON &&
        cascade_node_spawn(node, "not a name", NULL, NULL) ==
            CASCADE_ERR_INVALID &&
        cascade_node_spawn(node, "cascade.step:x", NULL, NULL) ==
            CASCADE_ERR_INVALID &&
        cascade_node_output(node, NULL) == CASCADE_ERR_INVALID;

    sim_note(SIM_BAD_NODE_INPUT);
    sim_expect(engine, node, refused && cascade_node_spawned(node) == before,
               "G13: bad input is not refused inside a node");
    return CASCADE_OK;
}

static cascade_err
do_op(cascade_node *node, sim_engine *engine, const cJSON *op)
{
    if (text_of(op, "step") != NULL)
        return step(node, engine, op);
    if (text_of(op, "spawn") != NULL)
        return spawn(node, op);
    if (text_of(op, "put") != NULL)
        return put(node, op);
    if (sim_member(op, "bad") != 0)
        return misuse(node, engine);
    if (sim_node_entries(node, engine) <= SLOW_ENTRIES)
        sim_node_take(engine, sim_member(op, "take"));
    if (sim_node_entries(node, engine) <= (unsigned)sim_member(op, "die"))
        return sim_node_die(node, engine);
    return CASCADE_OK;
}

static cascade_err
run(cascade_node *node, sim_engine *engine)
{
    const cJSON *program = cascade_node_input(node);
    const cJSON *op = NULL;
    cascade_err err = CASCADE_OK;

    cJSON_ArrayForEach(op, cJSON_GetObjectItemCaseSensitive(program, "ops"))
    {
        err = do_op(node, engine, op);
        if (err != CASCADE_OK)
            return err;
    }
    if (cascade_node_attempt(node) <= sim_member(program, "fail"))
        return cascade_node_error(node, "attempt %d",
                                  cascade_node_attempt(node));
    if (sim_member(program, "final") != 0)
        return cascade_node_fail(node, "as its program says");
    if (sim_member(program, "curse") != 0)
        return cascade_node_output(node, cJSON_CreateString(SIM_CURSE));
    return cascade_node_output(node,
                               cJSON_CreateNumber(sim_member(program, "out")));
}

/* ---- The model ---------------------------------------------------------- */

typedef struct model {
    size_t executions;
    size_t puts;
    bool error; /* something ends the cascade */
} model;

static void model_run(model *m, const cJSON *program, const char *name);

/* What a put or a spawn leaves once it is recorded. */
static void
model_effects(model *m, const cJSON *op)
{
    if (text_of(op, "put") != NULL)
        m->puts++;
    if (text_of(op, "spawn") != NULL)
        model_run(m, cJSON_GetObjectItemCaseSensitive(op, "in"),
                  text_of(op, "spawn"));
}

/* The steps in turn, each with what it leaves; false when the node fails over
 * one of them. */
static bool
model_steps(model *m, const cJSON *ops)
{
    const cJSON *op = NULL;

    cJSON_ArrayForEach(op, ops)
    {
        int fails = sim_member(op, "fails");

        if (text_of(op, "step") == NULL)
            continue;
        if (sim_member(op, "own") == 0 && fails >= SIM_NODE_ATTEMPTS)
            return false;
        if (sim_member(op, "own") != 0 && fails >= OWN_ATTEMPTS) {
            m->executions++;
            continue;
        }
        if (sim_member(op, "curse") != 0)
            return false;
        m->executions++;
        model_effects(m, op);
    }
    return true;
}

static bool
holds_curse(const cJSON *program, const cJSON *ops)
{
    const cJSON *op = NULL;

    cJSON_ArrayForEach(op, ops) if (text_of(op, "step") == NULL &&
                                    sim_member(op, "curse") != 0) return true;
    return sim_member(program, "curse") != 0;
}

static void
model_run(model *m, const cJSON *program, const char *name)
{
    const cJSON *ops = cJSON_GetObjectItemCaseSensitive(program, "ops");
    const cJSON *op = NULL;
    bool completes = model_steps(m, ops);

    m->executions++;
    completes = completes && sim_member(program, "fail") < SIM_NODE_ATTEMPTS &&
                sim_member(program, "final") == 0 && !holds_curse(program, ops);
    if (!completes) {
        m->error = m->error || strcmp(name, "m.c") != 0;
        return;
    }
    cJSON_ArrayForEach(op, ops) if (text_of(op, "step") == NULL)
        model_effects(m, op);
}

static model
model_of(const sim_planned *planned)
{
    cJSON *program = cJSON_Parse(planned->input);
    model m = {0, 0, false};

    for (unsigned i = 0; i < planned->first_count; i++)
        model_run(&m, program, "m.a");
    cJSON_Delete(program);
    return m;
}

/* ---- Drawing a program -------------------------------------------------- */

static const char *
draw_node(sim_random *r)
{
    static const char *const names[] = {"m.a", "m.a", "m.b", "m.c", "m.r"};

    return names[sim_below(r, 5)];
}

static int
draw_delay(sim_random *r)
{
    static const int delays_ms[] = {0, 0, 5, 100, 3000, 20000};

    return delays_ms[sim_below(r, 6)];
}

static void draw_program(csc_buf *out, sim_random *r, int depth);

static void
draw_spawn(csc_buf *out, sim_random *r, int depth)
{
    csc_buf_add_format(out, "\"spawn\":\"%s\",\"in\":", draw_node(r));
    draw_program(out, r, depth - 1);
}

static void
draw_step(csc_buf *out, sim_random *r, int depth)
{
    bool own = sim_chance(r, 40);
    int fails = sim_chance(r, 70) ? 0 : sim_between(r, 1, own ? 3 : 2);

    csc_buf_add_format(out,
                       "{\"step\":\"s%u\",\"v\":%u,\"own\":%d,\"fails\":%d,"
                       "\"delay\":%d",
                       sim_below(r, 3), sim_below(r, 100), own, fails,
                       own ? draw_delay(r) / 10 : 0);
    if (sim_chance(r, 3))
        csc_buf_add_text(out, ",\"curse\":1,\"put\":\"log\"");
    else if (sim_chance(r, 40))
        csc_buf_add_format(out, ",\"put\":\"%s\"",
                           sim_chance(r, 50) ? "a" : "b");
    if (depth > 0 && sim_chance(r, 20)) {
        csc_buf_add_char(out, ',');
        draw_spawn(out, r, depth);
    }
    csc_buf_add_char(out, '}');
}

static void
draw_op(csc_buf *out, sim_random *r, int depth)
{
    unsigned what = sim_below(r, 100);

    if (what < 30) {
        csc_buf_add_format(out, "{\"put\":\"%s\",\"v\":%u}",
                           sim_chance(r, 50) ? "a" : "b", sim_below(r, 100));
    } else if (what < 55 && depth > 0) {
        csc_buf_add_char(out, '{');
        draw_spawn(out, r, depth);
        csc_buf_add_format(
            out, ",\"delay\":%d,\"pri\":%u,\"after\":%d}", draw_delay(r),
            sim_chance(r, 20) ? sim_below(r, 10) : 0, sim_chance(r, 30));
    } else if (what < 85) {
        draw_step(out, r, depth);
    } else if (what < 92) {
        csc_buf_add_format(out, "{\"take\":%d}",
                           sim_chance(r, 20) ? 15000 : draw_delay(r) / 2);
    } else if (what < 95) {
        csc_buf_add_format(out, "{\"die\":%u}", 1 + sim_below(r, 2));
    } else {
        csc_buf_add_text(out, "{\"bad\":1}");
    }
}

static void
draw_program(csc_buf *out, sim_random *r, int depth)
{
    int ops = sim_between(r, 0, 3);

    csc_buf_add_text(out, "{\"ops\":[");
    for (int i = 0; i < ops; i++) {
        if (i > 0)
            csc_buf_add_char(out, ',');
        draw_op(out, r, depth);
    }
    csc_buf_add_format(out, "],\"out\":%u", sim_below(r, 1000));
    if (sim_chance(r, 20))
        csc_buf_add_format(out, ",\"fail\":%u", 1 + sim_below(r, 3));
    else if (sim_chance(r, 4))
        csc_buf_add_format(out, ",\"fail\":%d", SIM_NODE_ATTEMPTS);
    if (sim_chance(r, 3))
        csc_buf_add_text(out, ",\"final\":1");
    if (sim_chance(r, 3))
        csc_buf_add_text(out, ",\"curse\":1");
    csc_buf_add_char(out, '}');
}

static void
plan(sim_planned *planned, sim_random *random)
{
    csc_buf text = {0};
    int depth = sim_between(random, 1, 4);
    model m;

    do {
        csc_buf_clear(&text);
        draw_program(&text, random, depth);
        if (text.len >= sizeof(planned->input))
            depth--;
    } while (text.len >= sizeof(planned->input));
    memcpy(planned->input, text.data, text.len + 1);
    csc_buf_fini(&text);
    if (sim_chance(random, 20))
        planned->first_count = 1 + sim_below(random, 3);
    m = model_of(planned);
    planned->expected = m.error ? CASCADE_ERROR : CASCADE_COMPLETED;
}

/* ---- The end ------------------------------------------------------------ */

static size_t
count_values(const cascade_snapshot *snapshot)
{
    cJSON *context = cJSON_Parse(cascade_snapshot_context(snapshot));
    const cJSON *key = NULL;
    size_t count = 0;

    cJSON_ArrayForEach(key, context) count += (size_t)cJSON_GetArraySize(key);
    cJSON_Delete(context);
    return count;
}

static void
note_errors(const cascade_snapshot *snapshot, cascade_status status)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_ERRORS);

    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(snapshot, CASCADE_PART_ERRORS, i);

        if (info->status != CASCADE_EXECUTION_FAILED)
            continue;
        if (strncmp(info->error, "the store refused", 17) == 0)
            sim_note(SIM_REFUSED_RECORD);
        if (status == CASCADE_COMPLETED &&
            strncmp(info->node_name, "cascade.", 8) != 0)
            sim_note(SIM_CONTINUED);
    }
}

static void
check(sim *s, const sim_planned *planned, const cascade_snapshot *snapshot)
{
    model m = model_of(planned);
    size_t executions = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    size_t puts = count_values(snapshot);

    note_errors(snapshot, cascade_snapshot_info(snapshot)->status);
    sim_check(s, planned,
              m.error ? executions <= m.executions : executions == m.executions,
              "has another number of executions than its program says");
    sim_check(s, planned, m.error ? puts <= m.puts : puts == m.puts,
              "has another number of values than its program says");
}

#define ATTEMPTS .attempts_max = SIM_NODE_ATTEMPTS

static const sim_node_def nodes[] = {
    {.name = "m.a", .fn = run, .options = {ATTEMPTS, .backoff_ms = 20}},
    {.name = "m.b",
     .fn = run,
     .options = {ATTEMPTS, .backoff_ms = 6000, .jitter_percent = -1}},
    {.name = "m.c",
     .fn = run,
     .options = {ATTEMPTS, .final_failure = CASCADE_FINAL_CONTINUE}},
    {.name = "m.r",
     .fn = run,
     .options = {ATTEMPTS, .backoff_ms = 300},
     .rare = true}};

const sim_workload sim_work_program = {.name = "program",
                                       .weight = 44,
                                       .nodes = nodes,
                                       .node_count = 4,
                                       .first = "m.a",
                                       .survives = true,
                                       .plan = plan,
                                       .check = check};
