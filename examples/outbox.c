/* SPDX-License-Identifier: MIT
 *
 * Delivers what an application orders in SQL: see outbox.sql.
 *
 *   outbox CONNINFO [POLL_MS]         until SIGINT or SIGTERM
 *
 * The application that orders needs no libcascade and no C: it calls functions
 * that lie in the database. What it starts there exists from its COMMIT on, and
 * cascade_wake() behind that has it found at once. To see that, have it poll
 * rarely by POLL_MS; else leave that alone: polling finds what a wake that was
 * forgotten, or lost with its connection, did not tell.
 */
#include <cascade/cascade.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

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
    cascade_engine_options options = {.size = sizeof(options)};
    cascade_store *store = NULL;
    int failed = 0;

    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: outbox CONNINFO [POLL_MS]\n");
        return 2;
    }
    if (argc == 3)
        options.poll_interval_ms = strtoll(argv[2], NULL, 10);
    failed = cascade_store_open(argv[1], NULL, &store) ||
             cascade_engine_open(store, &options, &engine) ||
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
