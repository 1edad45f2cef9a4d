/* SPDX-License-Identifier: MIT
 *
 * Parents and children. A parent starts a few children, awaits all of them in
 * one of three ways, records how each has ended, and leaves some others behind
 * when it ends:
 *
 *   f.parent   {"kids":[{"does":1,"k":0},...],"left":[...],"policy":p,...}
 *      |
 *      +-- kids   give a result, fail, sleep, need two attempts, or continue as
 *      |          new: awaited, {"ends":[1,-1,5]}
 *      +-- left   the same, or wait for ever: cancelled, terminated, or
 *                 abandoned and never waiting for ever
 *
 * Each end is told once and as it was. Some parents are cancelled, terminated
 * or deleted: then too all children end, as the oracle sees in the end.
 */
#include <stdio.h>
#include <string.h>

#include "base/json/json.h"
#include "sim/work.h"
#include "state/full_output.h"

#define KIDS_MAX 5
#define LEFT_MAX 2
#define LARGE_MAX 9 /* more than a slice of an engine with small ones */
#define ATTEMPTS_MAX 3
#define NAP_MS 3000
#define FAILED -1 /* an end, among the results */
#define KIDS_NAME CASCADE_CHILD_PREFIX "kids"
#define LEFT_NAME CASCADE_CHILD_PREFIX "left"
#define BY_CANCEL "cancelled: its parent has ended"
#define BY_TERMINATE "terminated: its parent has ended"

/* What a child does. */
typedef enum doing {
    GIVES,
    FAILS,
    GOES_ON, /* continues as new, and gives */
    NAPS,
    TIRES, /* fails at first */
    WAITS, /* for ever */
    DOINGS
} doing;

/* How the parent awaits. */
typedef enum manner {
    ALL_AT_ONCE,
    IN_ORDER,
    IN_REVERSE,
    MANNERS
} manner;

/* ---- The child ---------------------------------------------------------- */

static cascade_err
work(cascade_node *node, sim_engine *engine, const void *arg, cJSON **result)
{
    const int *n = arg;

    (void)engine;
    *result = cJSON_CreateNumber(*n);
    return cascade_node_put(node, "a", cJSON_CreateNumber(*n));
}

static cascade_err
give(cascade_node *node, sim_engine *engine)
{
    int n = 2 * sim_member(cascade_node_input(node), "k") + 1;
    cascade_err err = sim_step(node, engine, "work", work, &n, NULL, NULL);

    return err == CASCADE_OK ? cascade_node_output(node, sim_object("r", n))
                             : err;
}

static cascade_err
go_on(cascade_node *node)
{
    cJSON *input = cJSON_Duplicate(cascade_node_input(node), true);

    cJSON_ReplaceItemInObjectCaseSensitive(input, "does",
                                           cJSON_CreateNumber(GIVES));
    return cascade_node_continue_as_new(node, NULL, input);
}

static cascade_err
live(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    cascade_err err = CASCADE_OK;

    sim_node_take(engine, sim_member(input, "take"));
    switch ((doing)sim_member(input, "does")) {
    case FAILS:
        return cascade_node_fail(node, "out of order");
    case GOES_ON:
        return go_on(node);
    case NAPS:
        err = cascade_node_sleep(node, "nap", NAP_MS);
        break;
    case TIRES:
        if (cascade_node_attempt(node) == 1)
            return cascade_node_error(node, "tired");
        break;
    case WAITS:
        err = cascade_node_await(node, "never", -1, NULL);
        break;
    case GIVES:
    case DOINGS:
        break;
    }
    return err == CASCADE_OK ? give(node, engine) : err;
}

/* ---- The parent --------------------------------------------------------- */

/* Starts those of that member of the input. */
static cascade_err
start(cascade_node *node, const char *name,
      const cascade_child_options *options, cascade_uuid *ids)
{
    const cJSON *input = cascade_node_input(node);
    const cJSON *given = cJSON_GetObjectItemCaseSensitive(input, name);
    cJSON *inputs[LARGE_MAX] = {NULL};
    size_t count = 0;
    const cJSON *one = NULL;

    cJSON_ArrayForEach(one, given) inputs[count++] = cJSON_Duplicate(one, true);
    if (count == 0)
        return CASCADE_OK;
    return cascade_node_start_children(node, name, "f.kid", inputs, count,
                                       options, ids);
}

static cascade_err
leave(cascade_node *node)
{
    const cJSON *input = cascade_node_input(node);
    const cascade_child_options options = {
        .size = sizeof(options),
        .queue = "other",
        .delay_ms = sim_member(input, "delay"),
        .when_parent_ends = (cascade_child_end)sim_member(input, "policy")};
    cascade_uuid ids[LARGE_MAX];

    return start(node, "left", &options, ids);
}

static cascade_err
await_one(cascade_node *node, const cascade_uuid *id, int *end)
{
    cJSON *result = NULL;
    cascade_err err = cascade_node_await_child(node, id, &result);

    *end = err == CASCADE_OK ? sim_member(result, "r") : FAILED;
    cJSON_Delete(result);
    return err == CASCADE_ERR_FAILED ? CASCADE_OK : err;
}

static cascade_err
await_all(cascade_node *node, const cascade_uuid *ids, int count, int *ends)
{
    manner how = (manner)sim_member(cascade_node_input(node), "manner");
    cascade_err err = CASCADE_OK;

    if (how == ALL_AT_ONCE)
        err = cascade_node_await_children(node);
    for (int i = 0; i < count && err == CASCADE_OK; i++) {
        int at = how == IN_REVERSE ? count - 1 - i : i;

        err = await_one(node, &ids[at], &ends[at]);
    }
    return err;
}

static cascade_err
tell_ends(cascade_node *node, sim_engine *engine, int count, const int *ends)
{
    cJSON *output = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(output, "ends");
    cascade_err err = sim_step(node, engine, "work", work, &count, NULL, NULL);

    for (int i = 0; i < count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(ends[i]));
    if (err == CASCADE_OK)
        return cascade_node_output(node, output);
    cJSON_Delete(output);
    return err;
}

static cascade_err
raise_all(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    int count =
        cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(input, "kids"));
    bool early = sim_member(input, "early") != 0;
    cascade_uuid ids[KIDS_MAX];
    int ends[KIDS_MAX] = {0};
    cascade_err err = start(node, "kids", NULL, ids);

    if (err == CASCADE_OK && early)
        err = leave(node);
    if (err == CASCADE_OK)
        err = await_all(node, ids, count, ends);
    if (err == CASCADE_OK && !early)
        err = leave(node);
    return err == CASCADE_OK ? tell_ends(node, engine, count, ends) : err;
}

/* ---- The plan ----------------------------------------------------------- */

static cJSON *
draw_kid(sim_random *random, int k, doing last)
{
    cJSON *kid = sim_object("does", (int)sim_below(random, (unsigned)last + 1));

    cJSON_AddNumberToObject(kid, "k", k);
    if (sim_chance(random, 20))
        cJSON_AddNumberToObject(kid, "take", sim_between(random, 1, 200));
    return kid;
}

static cJSON *
draw_kids(sim_random *random, int count, doing last)
{
    cJSON *kids = cJSON_CreateArray();

    for (int k = 0; k < count; k++)
        cJSON_AddItemToArray(kids, draw_kid(random, k, last));
    return kids;
}

static void
add_command(sim_planned *planned, sim_random *random)
{
    static const char *const kinds[] = {"cancel", "cancel", "terminate",
                                        "delete"};
    const char *kind = kinds[sim_below(random, 4)];
    sim_letter *letter = &planned->letters[planned->letter_count++];

    /* A key would start a deleted one again. */
    if (strcmp(kind, "delete") == 0 && planned->key[0] != '\0')
        kind = "cancel";
    *letter = (sim_letter){.times = 1,
                           .at_ms = planned->start_ms +
                                    sim_between(random, 0, 2 * NAP_MS)};
    (void)snprintf(letter->kind, sizeof(letter->kind), "%s", kind);
    (void)snprintf(letter->request_id, sizeof(letter->request_id), "r#0");
    planned->expected = 0;
}

static void
plan(sim_planned *planned, sim_random *random)
{
    cJSON *input = sim_object("manner", (int)sim_below(random, MANNERS));
    int policy = (int)sim_below(random, CASCADE_CHILD_ABANDON + 1);
    bool early =
        sim_member(input, "manner") != ALL_AT_ONCE && sim_chance(random, 50);

    cJSON_AddNumberToObject(input, "policy", policy);
    cJSON_AddNumberToObject(input, "early", early ? 1 : 0);
    cJSON_AddNumberToObject(input, "delay",
                            sim_chance(random, 30) ? sim_between(random, 1, 90)
                                                   : 0);
    cJSON_AddItemToObject(
        input, "kids",
        draw_kids(random, sim_between(random, 1, KIDS_MAX), TIRES));
    cJSON_AddItemToObject(
        input, "left",
        draw_kids(random,
                  sim_chance(random, 20) ? LARGE_MAX
                                         : sim_between(random, 0, LEFT_MAX),
                  policy == CASCADE_CHILD_ABANDON ? TIRES : WAITS));
    (void)cJSON_PrintPreallocated(input, planned->input, sizeof(planned->input),
                                  false);
    cJSON_Delete(input);
    planned->together = 1;
    planned->expected = CASCADE_COMPLETED;
    if (sim_chance(random, 20))
        add_command(planned, random);
}

/* ---- The check ---------------------------------------------------------- */

/* What is looked at: a parent at its end, and one of its children. */
typedef struct family {
    sim *s;
    const sim_planned *planned;
    const cascade_snapshot *parent;
    cJSON *ends; /* as the parent told them */
    int policy;
    const cascade_execution_info *part; /* what stands for the child */
    cascade_snapshot *child;            /* its last run */
    size_t runs;
    bool poisoned;
} family;

static void
load_child(family *f)
{
    const cascade_uuid *next = NULL;
    csc_json_span span;
    cascade_uuid id;

    f->child = NULL;
    f->runs = 0;
    if (!csc_json_read_member(f->part->full_output, "child", &span) ||
        !csc_full_output_uuid(span, &id))
        return;
    do {
        cascade_snapshot *run = NULL;

        if (cascade_snapshot_load(f->s->eye, &id, NULL, &run) != CASCADE_OK)
            return;
        cascade_snapshot_free(f->child);
        f->child = run;
        f->runs++;
        next = cascade_snapshot_continued_as(run);
        if (next != NULL)
            id = *next;
    } while (next != NULL);
    f->poisoned = sim_check_poisoned(f->s, f->planned, f->child);
}

/* As its input says, where nobody disturbs it. */
static bool
ended_by_itself(const family *f)
{
    cascade_status status = cascade_snapshot_info(f->child)->status;
    const char *result = cascade_snapshot_result(f->child);
    cJSON *input = cJSON_Parse(f->part->input);
    bool fails = sim_member(input, "does") == FAILS;
    char expected[30];

    (void)snprintf(expected, sizeof(expected), "{\"r\":%d}",
                   2 * sim_member(input, "k") + 1);
    cJSON_Delete(input);
    if (fails)
        return status == CASCADE_ERROR &&
               strcmp(cascade_snapshot_error(f->child), "out of order") == 0;
    return status == CASCADE_COMPLETED && result != NULL &&
           strcmp(result, expected) == 0;
}

/* One that was awaited: what the parent knows of it. */
static void
check_kid(const family *f)
{
    bool well = cascade_snapshot_info(f->child)->status == CASCADE_COMPLETED;
    cJSON *input = cJSON_Parse(f->part->input);
    int k = sim_member(input, "k");
    const cJSON *end = cJSON_GetArrayItem(f->ends, k);

    cJSON_Delete(input);
    sim_check(f->s, f->planned, f->poisoned || ended_by_itself(f),
              "a child ended otherwise than its input says");
    sim_check(f->s, f->planned,
              (f->part->status == CASCADE_EXECUTION_COMPLETED) == well,
              "the end of a child was told otherwise than it was");
    sim_check(f->s, f->planned,
              end != NULL && end->valueint == (well ? 2 * k + 1 : FAILED),
              "the parent was given another result than its child had");
    sim_check(f->s, f->planned,
              well ||
                  strcmp(f->part->error, cascade_snapshot_error(f->child)) == 0,
              "the error of a child was not told");
    sim_note(well ? SIM_CHILD_RESULT : SIM_CHILD_ERROR);
    sim_note_many(SIM_CHILD_RUNS, f->runs > 1);
}

/* One that its parent did not wait for. */
static void
check_left(const family *f)
{
    const char *error = cascade_snapshot_error(f->child);
    const char *by =
        f->policy == CASCADE_CHILD_TERMINATE ? BY_TERMINATE : BY_CANCEL;
    bool ended = f->policy != CASCADE_CHILD_ABANDON && error != NULL &&
                 strcmp(error, by) == 0;

    sim_check(f->s, f->planned, f->poisoned || ended || ended_by_itself(f),
              "what becomes of a child is not what its parent said");
    sim_note(SIM_CHILD_LEFT);
    sim_note_many(SIM_CHILD_ENDED, ended);
    sim_note_many(SIM_CHILD_GOES_ON, f->policy == CASCADE_CHILD_ABANDON);
}

static void
check_child(family *f)
{
    bool left = strcmp(f->part->node_name, LEFT_NAME) == 0;

    load_child(f);
    if (f->child == NULL) {
        sim_check(f->s, f->planned, false, "a child is not there");
        return;
    }
    sim_check(f->s, f->planned,
              cascade_snapshot_info(f->child)->status != CASCADE_RUNNING,
              "a child has not ended");
    if (cascade_snapshot_info(f->parent)->status != CASCADE_COMPLETED)
        sim_note_many(SIM_CHILD_LEFT, left);
    else if (left)
        check_left(f);
    else
        check_kid(f);
    cascade_snapshot_free(f->child);
}

static size_t
count_of(const cJSON *input, const char *name)
{
    return (size_t)cJSON_GetArraySize(
        cJSON_GetObjectItemCaseSensitive(input, name));
}

static void
check(sim *s, const sim_planned *planned, const cascade_snapshot *snapshot)
{
    const char *result = cascade_snapshot_result(snapshot);
    cJSON *input = cJSON_Parse(planned->input);
    cJSON *output = cJSON_Parse(result != NULL ? result : "null");
    size_t all = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    size_t found[2] = {0, 0};
    bool well = cascade_snapshot_info(snapshot)->status == CASCADE_COMPLETED;
    family f = {.s = s,
                .planned = planned,
                .parent = snapshot,
                .ends = cJSON_GetObjectItemCaseSensitive(output, "ends"),
                .policy = sim_member(input, "policy")};

    for (size_t i = 0; i < all; i++) {
        f.part = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i);
        if (strncmp(f.part->node_name, CASCADE_CHILD_PREFIX,
                    strlen(CASCADE_CHILD_PREFIX)) != 0)
            continue;
        found[strcmp(f.part->node_name, LEFT_NAME) == 0]++;
        check_child(&f);
    }
    sim_check(s, planned,
              !well || (found[0] == count_of(input, "kids") &&
                        found[1] == count_of(input, "left")),
              "a child was started more or less often than once");
    sim_note_many(SIM_PARENT_ERROR, !well);
    cJSON_Delete(output);
    cJSON_Delete(input);
}

static const sim_node_def nodes[] = {
    {.name = "f.parent",
     .fn = raise_all,
     .options = {.attempts_max = ATTEMPTS_MAX, .backoff_ms = 20}},
    {.name = "f.kid",
     .fn = live,
     .options = {.attempts_max = ATTEMPTS_MAX, .backoff_ms = 20}}};

const sim_workload sim_work_family = {.name = "family",
                                      .weight = 15,
                                      .nodes = nodes,
                                      .node_count = 2,
                                      .first = "f.parent",
                                      .plan = plan,
                                      .check = check};
