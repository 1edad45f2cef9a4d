/* SPDX-License-Identifier: MIT
 *
 * A signal that is awaited, with a timeout. One order is paid, by its key; the
 * other is not paid in time.
 *
 *   signals [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>

static cascade_err
order(cascade_node *node, void *user)
{
    const int64_t *wait_ms = user;
    cJSON *paid = NULL;
    cascade_err err = cascade_node_await(node, "paid", *wait_ms, &paid);

    if (err == CASCADE_ERR_TIMEOUT)
        return cascade_node_output(node, cJSON_CreateString("not paid"));
    if (err != CASCADE_OK)
        return err;
    return cascade_node_output(node, paid);
}

/* Called for the same payment again, it changes nothing: one request id is one
 * signal. */
static cascade_err
pay(cascade_store *store, const char *key)
{
    return cascade_signal_key(
        store, NULL, key, "paid", cJSON_CreateNumber(12),
        CASCADE_OPTIONS(cascade_signal_options, .request_id = "payment-1"));
}

/* Whether the order with that key ends with `expected`. */
static int
ends_with(cascade_store *store, const char *node, const char *key,
          const char *expected)
{
    cascade_outcome *end = NULL;
    cascade_err err = cascade_run_result(
        store, node, NULL, CASCADE_OPTIONS(cascade_start_options, .key = key),
        -1, NULL, &end);
    int is = err == CASCADE_OK && end->result != NULL &&
             strcmp(end->result, expected) == 0;

    cascade_outcome_free(end);
    return is;
}

int
main(int argc, char **argv)
{
    int64_t day_ms = INT64_C(24) * 60 * 60 * 1000;
    int64_t moment_ms = 20;
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_started started;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "order", order, &day_ms, NULL) ||
        cascade_engine_register(engine, "hasty", order, &moment_ms, NULL) ||
        cascade_engine_start(engine) ||
        cascade_start(store, "order", NULL,
                      CASCADE_OPTIONS(cascade_start_options, .key = "order-1"),
                      &started) ||
        pay(store, "order-1"))
        fprintf(stderr, "signals: %s\n", cascade_errmsg());
    else
        failed = !ends_with(store, "order", "order-1", "12") ||
                 !ends_with(store, "hasty", "order-2", "\"not paid\"");
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
