/* SPDX-License-Identifier: MIT
 *
 * Child cascades: each line of a bill is a cascade of its own, with a history
 * of its own, and the bill waits for the results of all.
 *
 *   children [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>

#define LINES 3

static cascade_err
line(cascade_node *node, void *user)
{
    const cJSON *price = cascade_node_input(node);

    (void)user;
    return cascade_node_output(node,
                               cJSON_CreateNumber(2 * price->valuedouble));
}

static cascade_err
bill(cascade_node *node, void *user)
{
    cJSON *prices[LINES];
    cascade_uuid ids[LINES];
    double total = 0;
    cascade_err err = CASCADE_OK;

    (void)user;
    for (int i = 0; i < LINES; i++)
        prices[i] = cJSON_CreateNumber(i + 1);
    err = cascade_node_start_children(node, "lines", "line", prices, LINES,
                                      NULL, ids);
    for (int i = 0; i < LINES && err == CASCADE_OK; i++) {
        cJSON *result = NULL;

        err = cascade_node_await_child(node, &ids[i], &result);
        if (err == CASCADE_OK)
            total += cJSON_GetNumberValue(result);
        cJSON_Delete(result);
    }
    if (err != CASCADE_OK)
        return err;
    return cascade_node_output(node, cJSON_CreateNumber(total));
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
        cascade_engine_register(engine, "bill", bill, NULL, NULL) ||
        cascade_engine_register(engine, "line", line, NULL, NULL) ||
        cascade_engine_start(engine) ||
        cascade_run_result(store, "bill", NULL, NULL, -1, NULL, &end))
        fprintf(stderr, "children: %s\n", cascade_errmsg());
    else
        failed = end->result == NULL || strcmp(end->result, "12") != 0;
    cascade_outcome_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
