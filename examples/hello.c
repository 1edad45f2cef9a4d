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
    const cascade_start_options once = {.size = sizeof(once), .key = "first"};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_snapshot *end = NULL;
    cascade_started started;

    if (cascade_store_open("sqlite:hello.db", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "greet", greet, NULL, NULL) ||
        cascade_engine_start(engine) ||
        cascade_start(store, "greet", NULL, &once, &started) ||
        cascade_wait(store, &started.id, -1, NULL) ||
        cascade_snapshot_load(store, &started.id, NULL, &end))
        fprintf(stderr, "%s\n", cascade_errmsg());
    else
        puts(cascade_snapshot_result(end));
    cascade_snapshot_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return end == NULL;
}
