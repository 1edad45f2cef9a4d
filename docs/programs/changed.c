/* SPDX-License-Identifier: MIT
 *
 * Code that is changed while cascades run. An order begins with the old code,
 * and ends with the new: without the fee, which only new orders pay.
 *
 *   changed [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static cascade_err
price(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)arg;
    *result = cJSON_CreateNumber(20);
    return *result != NULL ? CASCADE_OK : CASCADE_ERR_NO_MEMORY;
}

/* Release 1. */
static cascade_err
order_old(cascade_node *node, void *user)
{
    cJSON *total = NULL;
    cascade_err err =
        cascade_node_step(node, "price", price, NULL, NULL, &total);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "paid", -1, NULL);
    if (err == CASCADE_OK)
        return cascade_node_output(node, total);
    cJSON_Delete(total);
    return err;
}

/* Release 2. */
static cascade_err
order_new(cascade_node *node, void *user)
{
    int fee = 0;
    cJSON *total = NULL;
    cascade_err err = cascade_node_version(node, "fee", 0, 1, &fee);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "price", price, NULL, NULL, &total);
    if (err == CASCADE_OK && fee == 1)
        cJSON_SetNumberValue(total, cJSON_GetNumberValue(total) + 3);
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "paid", -1, NULL);
    if (err == CASCADE_OK)
        return cascade_node_output(node, total);
    cJSON_Delete(total);
    return err;
}

/* Starts an order with this code, unless it is there. */
static cascade_err
begin(cascade_store *store, const char *key, cascade_uuid *id)
{
    cascade_started started;
    cascade_err err = cascade_start(
        store, "order", NULL,
        CASCADE_OPTIONS(cascade_start_options, .key = key), &started);

    if (err == CASCADE_OK)
        *id = started.id;
    return err;
}

/* Whether the price of an order is asked for, and recorded. */
static bool
is_priced(cascade_store *store, const cascade_uuid *id)
{
    cascade_info *info = NULL;
    bool is = cascade_get(store, id, &info) == CASCADE_OK && info->fn_id >= 1;

    cascade_info_free(info);
    return is;
}

static int
costs(cascade_store *store, const cascade_uuid *id, const char *expected)
{
    cascade_outcome *end = NULL;
    int is = cascade_signal(store, id, "paid", NULL, NULL) == CASCADE_OK &&
             cascade_wait_result(store, id, -1, &end) == CASCADE_OK &&
             end->result != NULL && strcmp(end->result, expected) == 0;

    cascade_outcome_free(end);
    return is;
}

static cascade_err
release(cascade_store *store, cascade_node_fn order, cascade_engine **engine)
{
    cascade_err err = cascade_engine_open(store, NULL, engine);

    if (err == CASCADE_OK)
        err = cascade_engine_register(*engine, "order", order, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_engine_start(*engine);
    return err;
}

int
main(int argc, char **argv)
{
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_uuid older;
    cascade_uuid newer;
    int failed = 1;
    cascade_err err =
        cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store);

    if (err == CASCADE_OK)
        err = release(store, order_old, &engine);
    if (err == CASCADE_OK)
        err = begin(store, "order-1", &older);
    while (err == CASCADE_OK && !is_priced(store, &older))
        usleep(1000);
    cascade_engine_close(engine);
    engine = NULL;

    if (err == CASCADE_OK)
        err = release(store, order_new, &engine);
    if (err == CASCADE_OK)
        err = begin(store, "order-2", &newer);
    if (err == CASCADE_OK)
        failed = !costs(store, &older, "20") || !costs(store, &newer, "23");
    else
        fprintf(stderr, "changed: %s\n", cascade_errmsg());
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
