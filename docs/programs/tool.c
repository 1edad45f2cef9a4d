/* SPDX-License-Identifier: MIT
 *
 * Another program as a step: run without a shell, its output recorded.
 *
 *   tool [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>

static cascade_err
sorted(cascade_node *node, void *user)
{
    const char *const argv[] = {"sort", "-n", NULL};
    const cascade_program program = {.size = sizeof(program),
                                     .argv = argv,
                                     .input_text = "3\n1\n2\n",
                                     .timeout_ms = 60000,
                                     .check = true};
    cJSON *ran = NULL;
    cascade_err err = cascade_node_program(node, "sort", &program, NULL, &ran);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_output(
            node, cJSON_DetachItemFromObjectCaseSensitive(ran, "stdout"));
    cJSON_Delete(ran);
    return err;
}

int
main(int argc, char **argv)
{
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_outcome *end = NULL;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "sorted", sorted, NULL, NULL) ||
        cascade_engine_start(engine) ||
        cascade_run_result(store, "sorted", NULL, NULL, -1, NULL, &end))
        fprintf(stderr, "tool: %s\n", cascade_errmsg());
    else
        failed =
            end->result == NULL || strcmp(end->result, "\"1\\n2\\n3\\n\"") != 0;
    cascade_outcome_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
