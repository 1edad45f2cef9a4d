/* SPDX-License-Identifier: MIT
 *
 * A graph: small nodes that spawn one another, and a context that they share.
 *
 *   graph [STORE-URL]        default: memory:
 *
 *   receive --> pack --> label
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>

static cascade_err
receive(cascade_node *node, void *user)
{
    cascade_err err =
        cascade_node_put(node, "customer", cJSON_CreateString("anna"));

    (void)user;
    if (err != CASCADE_OK)
        return err;
    return cascade_node_spawn(node, "pack", cJSON_CreateString("lamp"), NULL);
}

static cascade_err
pack(cascade_node *node, void *user)
{
    cJSON *item = cJSON_Duplicate(cascade_node_input(node), true);
    cascade_err err = cascade_node_put(node, "packed", item);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    return cascade_node_spawn(node, "label", NULL, NULL);
}

static cascade_err
label(cascade_node *node, void *user)
{
    const cJSON *customer = NULL;
    cascade_err err = cascade_node_get(node, "customer", &customer);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    return cascade_node_result(node, cJSON_Duplicate(customer, true));
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
        cascade_engine_register(engine, "receive", receive, NULL, NULL) ||
        cascade_engine_register(engine, "pack", pack, NULL, NULL) ||
        cascade_engine_register(engine, "label", label, NULL, NULL) ||
        cascade_engine_start(engine) ||
        cascade_run_result(store, "receive", NULL, NULL, -1, NULL, &end))
        fprintf(stderr, "graph: %s\n", cascade_errmsg());
    else
        failed = end->result == NULL || strcmp(end->result, "\"anna\"") != 0;
    cascade_outcome_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
