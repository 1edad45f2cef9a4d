/* SPDX-License-Identifier: MIT
 *
 * Heartbeats, and a limit for one attempt. `copy` saves how far it is; its
 * first attempt fails in the middle, the second goes on from there. `stuck`
 * takes too long, notices it, and returns.
 *
 *   heartbeat [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct work {
    int copied;
};

static cascade_err
copy(cascade_node *node, void *user)
{
    struct work *work = user;
    const cJSON *saved = NULL;
    int at = 0;
    cascade_err err = cascade_node_progress(node, &saved);

    if (err == CASCADE_OK)
        at = saved->valueint;
    else if (err != CASCADE_ERR_NOT_FOUND)
        return err;
    for (; at < 5; at++) {
        if (at == 3 && cascade_node_attempt(node) == 1)
            return cascade_node_error(node, "the disk is full");
        work->copied++;
        err = cascade_node_heartbeat(node, cJSON_CreateNumber(at + 1));
        if (err != CASCADE_OK)
            return err;
    }
    return cascade_node_spawn(node, "stuck", NULL, NULL);
}

/* What it does must end by itself: so it asks whether it is still wanted. */
static cascade_err
stuck(cascade_node *node, void *user)
{
    (void)user;
    while (cascade_node_attempt(node) == 1 && !cascade_node_is_cancelled(node))
        usleep(1000);
    if (cascade_node_is_cancelled(node))
        return CASCADE_ERR_FAILED;
    return cascade_node_output(node, cJSON_CreateNumber(5));
}

int
main(int argc, char **argv)
{
    const cascade_node_options beating = {.size = sizeof(beating),
                                          .backoff_ms = 10,
                                          .heartbeat_timeout_ms = 30000};
    const cascade_node_options limited = {
        .size = sizeof(limited), .backoff_ms = 10, .attempt_timeout_ms = 50};
    struct work work = {.copied = 0};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_outcome *end = NULL;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "copy", copy, &work, &beating) ||
        cascade_engine_register(engine, "stuck", stuck, NULL, &limited) ||
        cascade_engine_start(engine) ||
        cascade_run_result(store, "copy", NULL, NULL, -1, NULL, &end))
        fprintf(stderr, "heartbeat: %s\n", cascade_errmsg());
    else
        failed = work.copied != 5 || end->result == NULL ||
                 strcmp(end->result, "5") != 0;
    cascade_outcome_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
