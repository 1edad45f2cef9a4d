/* SPDX-License-Identifier: MIT
 *
 * A queue with limits: three mails at once, and one for each customer. Who runs
 * them sees that it is never more.
 *
 *   queues [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <cascade/manage.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define CUSTOMERS 4
#define MAILS 5

struct count {
    atomic_int of_customer[CUSTOMERS];
    atomic_int in_all;
    atomic_int too_many;
};

static cascade_err
mail(cascade_node *node, void *user)
{
    struct count *now = user;
    int customer = cascade_node_input(node)->valueint;

    if (atomic_fetch_add(&now->of_customer[customer], 1) >= 1 ||
        atomic_fetch_add(&now->in_all, 1) >= 3)
        atomic_fetch_add(&now->too_many, 1);
    usleep(2000);
    atomic_fetch_sub(&now->in_all, 1);
    atomic_fetch_sub(&now->of_customer[customer], 1);
    return CASCADE_OK;
}

static cascade_err
set_limits(cascade_store *store)
{
    return cascade_queue_set(
        store, "mail",
        CASCADE_OPTIONS(cascade_queue_limits, .running_max = 3,
                        .key_running_max = 1,
                        .reason = "the mail server's rule", .by = "anna"),
        NULL);
}

static cascade_err
send_all(cascade_store *store, cascade_uuid ids[CUSTOMERS * MAILS])
{
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < CUSTOMERS * MAILS && err == CASCADE_OK; i++) {
        cascade_started started;
        char customer[32];

        snprintf(customer, sizeof(customer), "customer-%d", i % CUSTOMERS);
        err = cascade_start(store, "mail", cJSON_CreateNumber(i % CUSTOMERS),
                            CASCADE_OPTIONS(cascade_start_options,
                                            .queue = "mail",
                                            .limit_key = customer),
                            &started);
        if (err == CASCADE_OK)
            ids[i] = started.id;
    }
    for (int i = 0; i < CUSTOMERS * MAILS && err == CASCADE_OK; i++)
        err = cascade_wait(store, &ids[i], -1, NULL);
    return err;
}

int
main(int argc, char **argv)
{
    static const char *const served[] = {"mail"};
    const cascade_engine_options options = {
        .size = sizeof(options), .queues = served, .queue_count = 1};
    struct count now = {.in_all = 0};
    cascade_uuid ids[CUSTOMERS * MAILS];
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        set_limits(store) || cascade_engine_open(store, &options, &engine) ||
        cascade_engine_register(engine, "mail", mail, &now, NULL) ||
        cascade_engine_start(engine) || send_all(store, ids))
        fprintf(stderr, "queues: %s\n", cascade_errmsg());
    else
        failed = atomic_load(&now.too_many) != 0;
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
