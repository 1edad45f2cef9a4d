/* SPDX-License-Identifier: MIT
 *
 * Delivers what an application orders in SQL: see outbox.sql.
 *
 *   outbox CONNINFO         until SIGINT or SIGTERM
 *
 * The application that orders needs no libcascade and no C: it calls functions
 * that lie in the database. What it starts there exists from its COMMIT on, and
 * cascade_wake() behind that has it found at once: to show it, this program
 * polls rarely. A real one keeps the default, for a wake that is forgotten, or
 * lost with its connection.
 */
#include <cascade/cascade.h>
#include <signal.h>
#include <stdio.h>

static cascade_engine *engine;

static void
on_signal(int signal)
{
    (void)signal;
    cascade_engine_request_stop(engine);
}

/* May run again after a crash: the request id tells the outside that it is the
 * same delivery. */
static cascade_err
deliver(cascade_node *node, void *user)
{
    const cJSON *item =
        cJSON_GetObjectItemCaseSensitive(cascade_node_input(node), "item");

    (void)user;
    if (!cJSON_IsString(item))
        return cascade_node_fail(node, "an order without an item");
    printf("deliver a %s (%s)\n", item->valuestring,
           cascade_node_request_id(node));
    fflush(stdout);
    return CASCADE_OK;
}

int
main(int argc, char **argv)
{
    const cascade_engine_options rarely = {.size = sizeof(rarely),
                                           .poll_interval_ms = 600000};
    cascade_store *store = NULL;
    int failed = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: outbox CONNINFO\n");
        return 2;
    }
    failed = cascade_store_open(argv[1], NULL, &store) ||
             cascade_engine_open(store, &rarely, &engine) ||
             cascade_engine_register(engine, "deliver", deliver, NULL, NULL) ||
             cascade_engine_start(engine);
    if (!failed) {
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
        puts("ready");
        fflush(stdout);
        failed = cascade_engine_wait(engine, -1) != CASCADE_OK;
    }
    if (failed)
        fprintf(stderr, "outbox: %s\n", cascade_errmsg());
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed != 0;
}
