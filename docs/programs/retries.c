/* SPDX-License-Identifier: MIT
 *
 * Attempts, a failure for good, and a node that runs instead.
 *
 *   retries [STORE-URL]        default: memory:
 *
 *   fetch (third attempt) --> parse (fails for good) --> by-hand, instead
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>

static cascade_err
fetch(cascade_node *node, void *user)
{
    (void)user;
    if (cascade_node_attempt(node) < 3)
        return cascade_node_error(node, "the server does not answer");
    return cascade_node_spawn(node, "parse", NULL, NULL);
}

/* Another attempt would find the same: so there is none. */
static cascade_err
parse(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node, "line 1: no date");
}

/* Its input tells what failed: {"node": ..., "error": ..., "input": ...}. */
static cascade_err
by_hand(cascade_node *node, void *user)
{
    const cJSON *error =
        cJSON_GetObjectItemCaseSensitive(cascade_node_input(node), "error");

    (void)user;
    return cascade_node_output(node, cJSON_Duplicate(error, true));
}

int
main(int argc, char **argv)
{
    const cascade_node_options patient = {.size = sizeof(patient),
                                          .attempts_max = 10,
                                          .backoff_ms = 10,
                                          .backoff_max_ms = 1000,
                                          .backoff_percent = 200};
    const cascade_node_options replaced = {.size = sizeof(replaced),
                                           .final_failure =
                                               CASCADE_FINAL_INSTEAD,
                                           .instead = "by-hand"};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_outcome *end = NULL;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "fetch", fetch, NULL, &patient) ||
        cascade_engine_register(engine, "parse", parse, NULL, &replaced) ||
        cascade_engine_register(engine, "by-hand", by_hand, NULL, NULL) ||
        cascade_engine_start(engine) ||
        cascade_run_result(store, "fetch", NULL, NULL, -1, NULL, &end))
        fprintf(stderr, "retries: %s\n", cascade_errmsg());
    else
        failed = end->result == NULL ||
                 strcmp(end->result, "\"line 1: no date\"") != 0;
    cascade_outcome_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
