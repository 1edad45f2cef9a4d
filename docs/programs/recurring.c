/* SPDX-License-Identifier: MIT
 *
 * Work that recurs: sleep, do it, and continue as a new run, so that no history
 * grows without end. Here it stops after three times.
 *
 *   recurring [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>

#define PERIOD_MS 20

static cascade_err
clean(cascade_node *node, void *arg, cJSON **result)
{
    int *cleaned = arg;

    (void)node;
    (void)result;
    ++*cleaned;
    return CASCADE_OK;
}

static cascade_err
nightly(cascade_node *node, void *user)
{
    const cJSON *input = cascade_node_input(node);
    double times = cJSON_IsNumber(input) ? input->valuedouble : 0;
    cascade_err err = cascade_node_sleep(node, "until-night", PERIOD_MS);

    if (err == CASCADE_OK)
        err = cascade_node_step(node, "clean", clean, user, NULL, NULL);
    if (err != CASCADE_OK)
        return err;
    if (times + 1 >= 3)
        return cascade_node_output(node, cJSON_CreateNumber(times + 1));
    return cascade_node_continue_as_new(node, NULL,
                                        cJSON_CreateNumber(times + 1));
}

int
main(int argc, char **argv)
{
    int cleaned = 0;
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_outcome *end = NULL;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "nightly", nightly, &cleaned, NULL) ||
        cascade_engine_start(engine) ||
        cascade_run_result(
            store, "nightly", NULL,
            CASCADE_OPTIONS(cascade_start_options, .key = "nightly"), -1, NULL,
            &end))
        fprintf(stderr, "recurring: %s\n", cascade_errmsg());
    else
        failed = cleaned != 3 || end->result == NULL ||
                 strcmp(end->result, "3") != 0;
    cascade_outcome_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
