/* SPDX-License-Identifier: MIT
 *
 * Steps: one node in a straight line. Its first attempt fails behind the second
 * step; the next attempt passes over both, since they are recorded.
 *
 *   steps [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>

struct shop {
    int charges;
};

static cascade_err
reserve(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)arg;
    *result = cJSON_CreateString("shelf 7");
    return *result != NULL ? CASCADE_OK : CASCADE_ERR_NO_MEMORY;
}

/* The request id is the same on every attempt of this step, and after every
 * crash: a bank that is given it can tell a repetition from a new charge. */
static cascade_err
charge(cascade_node *node, void *arg, cJSON **result)
{
    struct shop *shop = arg;

    shop->charges++;
    *result = cJSON_CreateString(cascade_node_request_id(node));
    return *result != NULL ? CASCADE_OK : CASCADE_ERR_NO_MEMORY;
}

static cascade_err
order(cascade_node *node, void *user)
{
    cJSON *shelf = NULL;
    cascade_err err =
        cascade_node_step(node, "reserve", reserve, NULL, NULL, &shelf);

    if (err == CASCADE_OK)
        err = cascade_node_step(node, "charge", charge, user, NULL, NULL);
    if (err == CASCADE_OK && cascade_node_attempt(node) == 1)
        err = cascade_node_error(node, "the printer is out of paper");
    if (err == CASCADE_OK)
        return cascade_node_output(node, shelf);
    cJSON_Delete(shelf);
    return err;
}

int
main(int argc, char **argv)
{
    const cascade_node_options soon = {.size = sizeof(soon), .backoff_ms = 10};
    struct shop shop = {.charges = 0};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_outcome *end = NULL;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "order", order, &shop, &soon) ||
        cascade_engine_start(engine) ||
        cascade_run_result(store, "order", NULL, NULL, -1, NULL, &end))
        fprintf(stderr, "steps: %s\n", cascade_errmsg());
    else
        failed = shop.charges != 1 || end->result == NULL ||
                 strcmp(end->result, "\"shelf 7\"") != 0;
    cascade_outcome_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
