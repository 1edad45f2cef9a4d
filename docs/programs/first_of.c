/* SPDX-License-Identifier: MIT
 *
 * A join of the first: three mirrors are asked, two of which are down, and the
 * first answer is taken.
 *
 *   first_of [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>

#define MIRRORS 3

static cascade_err
ask_all(cascade_node *node, void *user)
{
    uint32_t asked[MIRRORS];

    (void)user;
    for (int i = 0; i < MIRRORS; i++) {
        cascade_err err =
            cascade_node_spawn(node, "ask", cJSON_CreateNumber(i), NULL);
        if (err != CASCADE_OK)
            return err;
        asked[i] = cascade_node_spawned(node);
    }
    return cascade_node_spawn(
        node, "take", NULL,
        CASCADE_OPTIONS(cascade_spawn_options, .after = asked,
                        .after_count = MIRRORS, .first = 1,
                        .on_failure = CASCADE_JOIN_FAIL));
}

static cascade_err
ask(cascade_node *node, void *user)
{
    int mirror = cascade_node_input(node)->valueint;

    (void)user;
    if (mirror != 1)
        return cascade_node_fail(node, "mirror %d is down", mirror);
    return cascade_node_output(node, cJSON_CreateString("the file"));
}

/* The outcomes are in the order of the spawns: here that of mirror 1 counts. */
static cascade_err
take(cascade_node *node, void *user)
{
    const cJSON *outcomes = NULL;
    const cJSON *outcome = NULL;
    cascade_err err = cascade_node_outcomes(node, &outcomes);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    cJSON_ArrayForEach(outcome, outcomes)
    {
        const cJSON *output =
            cJSON_GetObjectItemCaseSensitive(outcome, "output");

        if (output != NULL)
            return cascade_node_result(node, cJSON_Duplicate(output, true));
    }
    return cascade_node_fail(node, "nobody has answered");
}

int
main(int argc, char **argv)
{
    const cascade_node_options on_without = {
        .size = sizeof(on_without), .final_failure = CASCADE_FINAL_CONTINUE};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_outcome *end = NULL;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "ask-all", ask_all, NULL, NULL) ||
        cascade_engine_register(engine, "ask", ask, NULL, &on_without) ||
        cascade_engine_register(engine, "take", take, NULL, NULL) ||
        cascade_engine_start(engine) ||
        cascade_run_result(store, "ask-all", NULL, NULL, -1, NULL, &end))
        fprintf(stderr, "first_of: %s\n", cascade_errmsg());
    else
        failed =
            end->result == NULL || strcmp(end->result, "\"the file\"") != 0;
    cascade_outcome_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
