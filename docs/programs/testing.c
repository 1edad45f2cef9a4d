/* SPDX-License-Identifier: MIT
 *
 * A test of a workflow that waits for 30 days, in no time: the clock is the
 * test's own, the engine has no thread, and the store no file.
 *
 *   testing [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <stdbool.h>
#include <stdio.h>

static const int64_t day_ms = INT64_C(24) * 60 * 60 * 1000;

/* ---- What is tested ------------------------------------------------------ */

static cascade_err
remind(cascade_node *node, void *arg, cJSON **result)
{
    int *reminders = arg;

    (void)node;
    (void)result;
    ++*reminders;
    return CASCADE_OK;
}

static cascade_err
invoice(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_await(node, "paid", 30 * day_ms, NULL);

    if (err != CASCADE_ERR_TIMEOUT)
        return err;
    return cascade_node_step(node, "remind", remind, user, NULL, NULL);
}

/* ---- The test ------------------------------------------------------------ */

static int64_t
wall_ms(void *context)
{
    const int64_t *now_ms = context;

    return *now_ms;
}

static int64_t
monotonic_ns(void *context)
{
    const int64_t *now_ms = context;

    return *now_ms * 1000000;
}

/* Lets `ms` pass, and runs what is due then. */
static cascade_err
pass(cascade_engine *engine, int64_t *now_ms, int64_t ms)
{
    cascade_err err = CASCADE_OK;

    *now_ms += ms;
    do
        err = cascade_engine_poll(engine, 0, NULL);
    while (err == CASCADE_OK && cascade_engine_timeout_ms(engine) == 0);
    return err;
}

static bool
has_status(cascade_store *store, const cascade_uuid *id, cascade_status status)
{
    cascade_info *info = NULL;
    bool has =
        cascade_get(store, id, &info) == CASCADE_OK && info->status == status;

    cascade_info_free(info);
    return has;
}

/* After 29 days nothing has happened, after 30 one reminder is out. */
static bool
reminds_once(cascade_store *store, cascade_engine *engine, int64_t *now_ms,
             const int *reminders)
{
    cascade_started started;

    return !cascade_start(store, "invoice", NULL, NULL, &started) &&
           !pass(engine, now_ms, 0) && !pass(engine, now_ms, 29 * day_ms) &&
           has_status(store, &started.id, CASCADE_RUNNING) && *reminders == 0 &&
           !pass(engine, now_ms, day_ms) &&
           has_status(store, &started.id, CASCADE_COMPLETED) && *reminders == 1;
}

int
main(int argc, char **argv)
{
    int reminders = 0;
    int64_t now_ms = 1000 * day_ms;
    const cascade_clock clock = {&now_ms, wall_ms, monotonic_ns};
    const cascade_store_options own_time = {.size = sizeof(own_time),
                                            .clock = &clock};
    const cascade_engine_options no_thread = {.size = sizeof(no_thread),
                                              .mode = CASCADE_MODE_INLINE};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", &own_time, &store) ||
        cascade_engine_open(store, &no_thread, &engine) ||
        cascade_engine_register(engine, "invoice", invoice, &reminders, NULL) ||
        cascade_engine_start(engine))
        fprintf(stderr, "testing: %s\n", cascade_errmsg());
    else
        failed = !reminds_once(store, engine, &now_ms, &reminders);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
