/* SPDX-License-Identifier: MIT */
#include <cascade/cascade.h>
#include <stdio.h>

static cascade_err
greet(cascade_node *node, void *user)
{
    (void)user;
    puts("greet runs");
    return cascade_node_output(node, cJSON_CreateString("hello, world"));
}

int
main(void)
{
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_outcome *end = NULL;

    if (cascade_store_open("sqlite:hello.db", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "greet", greet, NULL, NULL) ||
        cascade_engine_start(engine) ||
        cascade_run_result(
            store, "greet", NULL,
            CASCADE_OPTIONS(cascade_start_options, .key = "first"), -1, NULL,
            &end))
        fprintf(stderr, "%s\n", cascade_errmsg());
    else
        puts(end->error != NULL ? end->error : end->result);
    cascade_outcome_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return end == NULL;
}
