/* SPDX-License-Identifier: MIT
 *
 * What the nodes do; see nodes.h. The user pointer of each is the watcher.
 */
#include "support/nodes.h"

#include <string.h>

#define DELAY_MS 2
#define PARK_MS 6
#define LEFT_COUNT 4

static void
note_entry(const cascade_node *node, const nodes_watcher *watcher)
{
    watcher->entered(watcher->context, node);
}

/* A tree of cJSON, NULL without memory, as an answer of the node. */
static cascade_err
give(cJSON **result, cJSON *made)
{
    *result = made;
    return made != NULL ? CASCADE_OK : CASCADE_ERR_NO_MEMORY;
}

static cascade_err
put_out(cascade_node *node, cJSON *output)
{
    return output != NULL ? cascade_node_output(node, output)
                          : CASCADE_ERR_NO_MEMORY;
}

/* ---- Graphs -------------------------------------------------------------- */

/* Two branches and what joins them. */
static cascade_err
fork_and_join(cascade_node *node, void *user)
{
    static const uint32_t both[2] = {1, 2};
    const cascade_spawn_options after = {
        .size = sizeof(after), .after = both, .after_count = 2};
    cJSON *input = NULL;
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_put_text(node, "k", "1", "\"one\"");
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "branch", NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "branch", NULL, NULL);
    if (err == CASCADE_OK)
        err = give(&input, cJSON_CreateNumber(3));
    return err == CASCADE_OK ? cascade_node_spawn(node, "join", input, &after)
                             : err;
}

/* The first of the two fails once. */
static cascade_err
branch(cascade_node *node, void *user)
{
    const char *key = cascade_node_function_id(node) == 1 ? "one" : "two";

    note_entry(node, user);
    if (cascade_node_attempt(node) == 1 && cascade_node_function_id(node) == 1)
        return cascade_node_error(node, "once");
    return cascade_node_put_text(node, key, "true", NULL);
}

static cascade_err
join(cascade_node *node, void *user)
{
    const cJSON *value = NULL;
    const cJSON *outcomes = NULL;
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_get(node, "one", &value);
    if (err == CASCADE_OK)
        err = cascade_node_get(node, "two", &value);
    if (err == CASCADE_OK)
        err = cascade_node_outcomes(node, &outcomes);
    if (err == CASCADE_OK)
        err = cascade_node_history(node, "k", &value);
    if (err == CASCADE_OK)
        err = put_out(node, cJSON_Duplicate(value, true));
    return err;
}

/* Two that fail for good, of which one is replaced, and one that goes on all
 * the same; one that waits for the first of them, one that fails with them, and
 * one that is skipped. */
static cascade_err
spare_one(cascade_node *node, void *user)
{
    static const uint32_t both[] = {1, 2};
    cascade_spawn_options after = {
        .size = sizeof(after), .after = both, .after_count = 2};
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_spawn(node, "spared", NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "replaced", NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "leaf", NULL, &after);
    after.on_failure = CASCADE_JOIN_FAIL;
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "spared", NULL, &after);
    after.on_failure = CASCADE_JOIN_SKIP;
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "leaf", NULL, &after);
    after.on_failure = CASCADE_JOIN_WAIT;
    after.first = 1;
    return err == CASCADE_OK ? cascade_node_spawn(node, "leaf", NULL, &after)
                             : err;
}

static cascade_err
doomed(cascade_node *node, void *user)
{
    note_entry(node, user);
    return cascade_node_fail(node, "never");
}

static cascade_err
leaf(cascade_node *node, void *user)
{
    note_entry(node, user);
    return put_out(node, cJSON_CreateString("leaf"));
}

/* Something else is running when it fails. */
static cascade_err
end_all(cascade_node *node, void *user)
{
    const cascade_spawn_options later = {.size = sizeof(later),
                                         .delay_ms = 3600000};
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_spawn(node, "doomed", NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "leaf", NULL, &later);
    return err;
}

/* ---- Time ---------------------------------------------------------------- */

/* The third attempt succeeds. */
static cascade_err
flaky(cascade_node *node, void *user)
{
    note_entry(node, user);
    if (cascade_node_attempt(node) < 3)
        return cascade_node_error(node, "attempt %d",
                                  cascade_node_attempt(node));
    return put_out(node, cJSON_CreateTrue());
}

/* A wait that is held in memory, and one that is parked. */
static cascade_err
wait_twice(cascade_node *node, void *user)
{
    static const uint32_t first = 1;
    const cascade_spawn_options soon = {.size = sizeof(soon),
                                        .delay_ms = DELAY_MS};
    const cascade_spawn_options late = {.size = sizeof(late),
                                        .delay_ms = PARK_MS,
                                        .after = &first,
                                        .after_count = 1};
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_spawn(node, "leaf", NULL, &soon);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "leaf", NULL, &late);
    return err;
}

/* Would sleep for an hour, but for the deadline; in between it tells how far it
 * is. */
static cascade_err
oversleep(cascade_node *node, void *user)
{
    const cJSON *progress = NULL;
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_heartbeat(node, cJSON_CreateNumber(1));
    if (err == CASCADE_OK)
        err = cascade_node_progress(node, &progress);
    return err == CASCADE_OK ? cascade_node_sleep(node, "hour", 3600000) : err;
}

/* ---- Straight lines ------------------------------------------------------ */

static cascade_err
give_seven(cascade_node *node, void *arg, cJSON **result)
{
    cascade_err err = CASCADE_OK;

    note_entry(node, arg);
    err = give(result, cJSON_CreateNumber(7));
    return err == CASCADE_OK ? cascade_node_put_text(node, "seven", "7", NULL)
                             : err;
}

static cascade_err
fail_once(cascade_node *node, void *arg, cJSON **result)
{
    cascade_err err = CASCADE_OK;

    note_entry(node, arg);
    if (cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "once");
    err = give(result, cJSON_CreateString("second"));
    return err == CASCADE_OK ? cascade_node_spawn(node, "leaf", NULL, NULL)
                             : err;
}

static cascade_err
take_steps(cascade_node *node, void *user)
{
    const cascade_step_options own = {
        .size = sizeof(own), .attempts_max = -1, .backoff_ms = 1};
    cJSON *result = NULL;
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    for (int i = 0; i < 2 && err == CASCADE_OK; i++)
        err = cascade_node_step(node, "seven", give_seven, user, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_sleep(node, "rest", 1);
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "own", fail_once, user, &own, &result);
    if (err == CASCADE_OK)
        err = cascade_node_output(node, result);
    return err;
}

static cascade_err
fail_always(cascade_node *node, void *arg, cJSON **result)
{
    (void)result;
    note_entry(node, arg);
    return cascade_node_error(node, "always");
}

static cascade_err
fail_in_step(cascade_node *node, void *user)
{
    const cascade_step_options twice = {
        .size = sizeof(twice), .attempts_max = 2, .backoff_ms = 1};

    note_entry(node, user);
    return cascade_node_step(node, "bad", fail_always, user, &twice, NULL);
}

/* The first of the two to be called fails once. */
static cascade_err
undo(cascade_node *node, void *user, const cJSON *input)
{
    note_entry(node, user);
    if (cJSON_IsNumber(input) && cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "once");
    return cascade_node_put(node, "undone", cJSON_CreateTrue());
}

/* Without a text of its own, which might be lost for want of memory. */
static cascade_err
undo_all(cascade_node *node, void *user)
{
    cJSON *input = NULL;
    int version = 0;
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_version(node, "change", 0, 2, &version);
    if (err == CASCADE_OK)
        err = cascade_node_compensate(node, "first", undo, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "seven", give_seven, user, NULL, NULL);
    if (err == CASCADE_OK)
        err = give(&input, cJSON_CreateNumber(version));
    if (err == CASCADE_OK)
        err = cascade_node_compensate(node, "second", undo, input, NULL);
    return err == CASCADE_OK ? CASCADE_ERR_FINAL : err;
}

/* ---- Signals ------------------------------------------------------------- */

/* What it heard is its output. */
static cascade_err
hear(cascade_node *node, void *user)
{
    cJSON *payload = NULL;
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_await(node, "news", -1, &payload);
    return err == CASCADE_OK ? cascade_node_output(node, payload) : err;
}

/* Two, one after the other, which are its output in that order. */
static cascade_err
hear_two(cascade_node *node, void *user)
{
    cJSON *heard = cJSON_CreateArray();
    cascade_err err = heard != NULL ? CASCADE_OK : CASCADE_ERR_NO_MEMORY;

    note_entry(node, user);
    for (int i = 0; i < 2 && err == CASCADE_OK; i++) {
        cJSON *payload = NULL;

        err = cascade_node_await(node, "news", -1, &payload);
        cJSON_AddItemToArray(heard, payload);
    }
    if (err == CASCADE_OK)
        return cascade_node_output(node, heard);
    cJSON_Delete(heard);
    return err;
}

static cascade_err
hear_nothing(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_await(node, "news", DELAY_MS, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "news", PARK_MS, NULL);
    return err == CASCADE_ERR_TIMEOUT
               ? put_out(node, cJSON_CreateString("late"))
               : err;
}

/* When it is cancelled it cleans up. */
static cascade_err
tidy(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_await(node, "never", -1, NULL);
    if (err != CASCADE_ERR_CANCELLED)
        return err;
    err = cascade_node_step(node, "seven", give_seven, user, NULL, NULL);
    return err == CASCADE_OK ? CASCADE_ERR_CANCELLED : err;
}

/* ---- Children ------------------------------------------------------------ */

/* Two of them, both waited for. */
static cascade_err
breed(cascade_node *node, void *user)
{
    cJSON *inputs[2] = {NULL, NULL};
    cascade_uuid ids[2];
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err =
        cascade_node_start_children(node, "two", "leaf", inputs, 2, NULL, ids);
    if (err == CASCADE_OK)
        err = cascade_node_await_children(node);
    return err == CASCADE_OK ? put_out(node, cJSON_CreateString("bred")) : err;
}

/* Some that wait, and are terminated when it ends. */
static cascade_err
have_many(cascade_node *node)
{
    const cascade_child_options options = {
        .size = sizeof(options), .when_parent_ends = CASCADE_CHILD_TERMINATE};
    cJSON *inputs[LEFT_COUNT] = {NULL};
    cascade_uuid ids[LEFT_COUNT];

    return cascade_node_start_children(node, "left", "tidy", inputs, LEFT_COUNT,
                                       &options, ids);
}

static cascade_err
leave_many(cascade_node *node, void *user)
{
    note_entry(node, user);
    return have_many(node);
}

static cascade_err
keep_many(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = have_many(node);
    return err == CASCADE_OK ? cascade_node_await(node, "never", -1, NULL)
                             : err;
}

/* One, which is awaited and waits itself. */
static cascade_err
rear(cascade_node *node, void *user)
{
    cascade_uuid id;
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_start_child(node, "one", "tidy", NULL, NULL, &id);
    return err == CASCADE_OK ? cascade_node_await_child(node, &id, NULL) : err;
}

/* What the deadline of a node that sleeps has it undo. */
static cascade_err
oversleep_undone(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_step(node, "seven", give_seven, user, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_compensate(node, "first", undo, NULL, NULL);
    return err == CASCADE_OK ? cascade_node_sleep(node, "hour", 3600000) : err;
}

/* ---- Runs and requests --------------------------------------------------- */

static int
number_in(const cJSON *object)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(object, "n");

    return cJSON_IsNumber(n) ? n->valueint : 0;
}

static cascade_err
give_number(cJSON **object, int n)
{
    *object = cJSON_CreateObject();
    if (cJSON_AddNumberToObject(*object, "n", n) != NULL)
        return CASCADE_OK;
    cJSON_Delete(*object);
    *object = NULL;
    return CASCADE_ERR_NO_MEMORY;
}

/* Three runs, each of which hears one signal. */
static cascade_err
relay(cascade_node *node, void *user)
{
    const cJSON *input = cascade_node_input(node);
    int run = number_in(input);
    cJSON *heard = NULL;
    cJSON *next = NULL;
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    if (input == NULL)
        return CASCADE_ERR_NO_MEMORY;
    err = cascade_node_await(node, "news", -1, &heard);
    if (err != CASCADE_OK || run == 2)
        return err == CASCADE_OK ? cascade_node_output(node, heard) : err;
    err = cascade_node_put(node, "heard", heard);
    if (err == CASCADE_OK)
        err = give_number(&next, run + 1);
    return err == CASCADE_OK ? cascade_node_continue_as_new(node, NULL, next)
                             : err;
}

static cascade_err
double_one(cascade_node *node)
{
    const char *ticket = NULL;
    cJSON *request = NULL;
    cJSON *answer = NULL;
    cascade_err err =
        cascade_node_await_update(node, "double", -1, &request, &ticket);

    if (err == CASCADE_OK)
        err = give_number(&answer, 2 * number_in(request));
    cJSON_Delete(request);
    return err == CASCADE_OK ? cascade_node_answer(node, ticket, answer) : err;
}

/* Answers `wanted` requests, and publishes how many. */
static cascade_err
answer(cascade_node *node, int wanted)
{
    cJSON *count = NULL;
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < wanted && err == CASCADE_OK; i++)
        err = double_one(node);
    if (err == CASCADE_OK)
        err = give(&count, cJSON_CreateNumber(wanted));
    return err == CASCADE_OK ? cascade_node_publish(node, "answered", count)
                             : err;
}

static cascade_err
answer_one(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = answer(node, 1);
    return err == CASCADE_OK ? put_out(node, cJSON_CreateString("one")) : err;
}

static cascade_err
answer_two(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = answer(node, 2);
    return err == CASCADE_OK ? put_out(node, cJSON_CreateString("two")) : err;
}

/* ---- Transactions -------------------------------------------------------- */

/* Rolled back the first time. */
static cascade_err
pay(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_put_text(node, "paid", "true", NULL);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "leaf", NULL, NULL);
    if (err == CASCADE_OK && cascade_node_attempt(node) == 1)
        err = cascade_node_error(node, "once");
    return err;
}

/* ---- Another program ----------------------------------------------------- */

/* What it said is its output. */
static cascade_err
run_program(cascade_node *node, void *user)
{
    static const char *const argv[] = {"/bin/echo", "said", NULL};
    const cascade_program program = {
        .size = sizeof(program), .argv = argv, .check = true};
    cJSON *result = NULL;
    cJSON *said = NULL;
    cascade_err err = CASCADE_OK;

    note_entry(node, user);
    err = cascade_node_program(node, "program", &program, NULL, &result);
    said = cJSON_DetachItemFromObjectCaseSensitive(result, "stdout");
    cJSON_Delete(result);
    return err == CASCADE_OK ? put_out(node, said) : err;
}

#define ENDLESS                                                    \
    {                                                              \
        .size = sizeof(cascade_node_options), .attempts_max = -1,  \
        .backoff_ms = 1, .backoff_max_ms = 8, .jitter_percent = -1 \
    }
#define TRANSACTIONAL                                               \
    {                                                               \
        .size = sizeof(cascade_node_options), .attempts_max = -1,   \
        .backoff_ms = 1, .backoff_max_ms = 8, .jitter_percent = -1, \
        .transactional = true                                       \
    }
#define SPARED                                                   \
    {                                                            \
        .size = sizeof(cascade_node_options), .attempts_max = 1, \
        .final_failure = CASCADE_FINAL_CONTINUE                  \
    }

#define LIMITED                                                     \
    {                                                               \
        .size = sizeof(cascade_node_options), .attempts_max = -1,   \
        .backoff_ms = 1, .backoff_max_ms = 8, .jitter_percent = -1, \
        .final_failure = CASCADE_FINAL_CONTINUE, .deadline_ms = 40  \
    }
#define REPLACED                                                  \
    {                                                             \
        .size = sizeof(cascade_node_options), .attempts_max = 1,  \
        .final_failure = CASCADE_FINAL_INSTEAD, .instead = "leaf" \
    }

#define TASK                                                        \
    {                                                               \
        .size = sizeof(cascade_external_options), .timeout_ms = 20, \
        .final_failure = CASCADE_FINAL_INSTEAD, .instead = "leaf"   \
    }

#define FORM                                     \
    {                                            \
        .size = sizeof(cascade_external_options) \
    }

static const struct {
    const char *name;
    cascade_node_fn fn;
    cascade_node_options options;
    cascade_external_options external; /* where `fn` is NULL */
} nodes[] = {
    {"fork", fork_and_join, ENDLESS, {0}},
    {"branch", branch, ENDLESS, {0}},
    {"join", join, ENDLESS, {0}},
    {"spare", spare_one, ENDLESS, {0}},
    {"spared", doomed, SPARED, {0}},
    {"replaced", doomed, REPLACED, {0}},
    {"doomed", doomed, ENDLESS, {0}},
    {"leaf", leaf, ENDLESS, {0}},
    {"end", end_all, ENDLESS, {0}},
    {"flaky", flaky, ENDLESS, {0}},
    {"wait", wait_twice, ENDLESS, {0}},
    {"steps", take_steps, ENDLESS, {0}},
    {"fails", fail_in_step, ENDLESS, {0}},
    {"task", NULL, {0}, TASK},
    {"undoes", undo_all, ENDLESS, {0}},
    {"hear", hear, ENDLESS, {0}},
    {"hear.two", hear_two, ENDLESS, {0}},
    {"late", hear_nothing, ENDLESS, {0}},
    {"tidy", tidy, ENDLESS, {0}},
    {"leave.many", leave_many, ENDLESS, {0}},
    {"keep.many", keep_many, ENDLESS, {0}},
    {"breed", breed, ENDLESS, {0}},
    {"rear", rear, ENDLESS, {0}},
    {"relay", relay, ENDLESS, {0}},
    {"answer", answer_two, ENDLESS, {0}},
    {"answer.one", answer_one, ENDLESS, {0}},
    {"program", run_program, ENDLESS, {0}},
    {"form", NULL, {0}, FORM},
    {"sleeps", oversleep, ENDLESS, {0}},
    {"limited", oversleep, LIMITED, {0}},
    {"undone", oversleep_undone, LIMITED, {0}},
    {"pay", pay, TRANSACTIONAL, {0}},
};

/* What is transactional is not on a store that has no such transactions. */
static cascade_err
register_node(cascade_engine *engine, const char *name, cascade_node_fn fn,
              const cascade_node_options *options, nodes_watcher *watcher)
{
    cascade_node_options plain = *options;
    cascade_err err =
        cascade_engine_register(engine, name, fn, watcher, options);

    if (err != CASCADE_ERR_UNSUPPORTED)
        return err;
    plain.transactional = false;
    return cascade_engine_register(engine, name, fn, watcher, &plain);
}

cascade_err
nodes_register(cascade_engine *engine, const char *without,
               nodes_watcher *watcher)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        if (nodes[i].fn == NULL)
            err = cascade_engine_register_external(engine, nodes[i].name,
                                                   &nodes[i].external);
        else if (without == NULL || strcmp(nodes[i].name, without) != 0)
            err = register_node(engine, nodes[i].name, nodes[i].fn,
                                &nodes[i].options, watcher);
        if (err != CASCADE_OK)
            return err;
    }
    return CASCADE_OK;
}
