/* SPDX-License-Identifier: MIT
 *
 * A worker that ends when it is told to: SIGTERM asks for the stop, and what is
 * under way is given up in order. Here it tells itself.
 *
 *   stop [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <signal.h>
#include <stdio.h>

/* A handler has no argument of ours. */
static cascade_engine *engine;

static void
on_term(int number)
{
    (void)number;
    cascade_engine_request_stop(engine);
}

static cascade_err
wait_long(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_sleep(node, "a-year", INT64_C(365) * 24 * 3600 * 1000);
}

/* Until somebody asks for the stop; then 20 seconds for what runs. */
static cascade_err
serve(void)
{
    cascade_err err = cascade_engine_wait(engine, -1);

    if (err == CASCADE_OK)
        err = cascade_engine_stop(engine, 20000);
    return err;
}

int
main(int argc, char **argv)
{
    struct sigaction term = {.sa_handler = on_term};
    cascade_store *store = NULL;
    cascade_info *info = NULL;
    cascade_started started;
    int failed = 1;

    sigemptyset(&term.sa_mask);
    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "wait", wait_long, NULL, NULL) ||
        sigaction(SIGTERM, &term, NULL) || cascade_engine_start(engine) ||
        cascade_start(store, "wait", NULL, NULL, &started) || raise(SIGTERM) ||
        serve() || cascade_get(store, &started.id, &info))
        fprintf(stderr, "stop: %s\n", cascade_errmsg());
    else
        failed = info->status != CASCADE_RUNNING || info->owned;
    cascade_info_free(info);
    signal(SIGTERM, SIG_DFL);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
