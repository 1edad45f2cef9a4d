/* SPDX-License-Identifier: MIT
 *
 * Updates: a cascade that is asked, and answers; and a value that it publishes,
 * which others read without waking it.
 *
 *   updates [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <stdio.h>

static cascade_err
publish(cascade_node *node, void *arg, cJSON **result)
{
    const double *total = arg;

    (void)result;
    return cascade_node_publish(node, "total", cJSON_CreateNumber(*total));
}

/* Takes `add` until the basket holds more than 10. */
static cascade_err
basket(cascade_node *node, void *user)
{
    double total = 0;

    (void)user;
    while (total <= 10) {
        const char *ticket = NULL;
        cJSON *price = NULL;
        cascade_err err =
            cascade_node_await_update(node, "add", -1, &price, &ticket);

        if (err != CASCADE_OK)
            return err;
        total += cJSON_GetNumberValue(price);
        cJSON_Delete(price);
        err = cascade_node_step(node, "publish", publish, &total, NULL, NULL);
        if (err == CASCADE_OK)
            err = cascade_node_answer(node, ticket, cJSON_CreateNumber(total));
        if (err != CASCADE_OK)
            return err;
    }
    return CASCADE_OK;
}

static double
add(cascade_store *store, const cascade_uuid *id, double price)
{
    cJSON *answer = NULL;
    cascade_err err = cascade_update(
        store, id, "add", cJSON_CreateNumber(price),
        CASCADE_OPTIONS(cascade_update_options, .timeout_ms = 60000), &answer);
    double total = err == CASCADE_OK ? cJSON_GetNumberValue(answer) : -1;

    cJSON_Delete(answer);
    return total;
}

static double
published(cascade_store *store, const cascade_uuid *id)
{
    cJSON *value = NULL;
    cascade_err err = cascade_get_published(store, id, "total", &value);
    double total = err == CASCADE_OK ? cJSON_GetNumberValue(value) : -1;

    cJSON_Delete(value);
    return total;
}

int
main(int argc, char **argv)
{
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_started started;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "basket", basket, NULL, NULL) ||
        cascade_engine_start(engine) ||
        cascade_start(store, "basket", NULL, NULL, &started))
        fprintf(stderr, "updates: %s\n", cascade_errmsg());
    else
        failed = add(store, &started.id, 4) != 4 ||
                 published(store, &started.id) != 4 ||
                 add(store, &started.id, 8) != 12 ||
                 cascade_wait(store, &started.id, -1, NULL) != CASCADE_OK;
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
