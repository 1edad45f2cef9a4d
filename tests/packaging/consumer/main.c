/* SPDX-License-Identifier: MIT
 *
 * What a stranger to the source tree would build first: one node, one cascade,
 * run to its end on the memory store.
 */
#include <cascade/cascade.h>

#include <stdio.h>
#include <string.h>

static cascade_err
greet(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_put(node, "greeting", cJSON_CreateString("hello"));
}

static cascade_err
run(cascade_store *store, cascade_engine *engine)
{
    cascade_started started;
    cascade_status status;
    cascade_err err =
        cascade_engine_register(engine, "greet", greet, NULL, NULL);

    if (err == CASCADE_OK)
        err = cascade_engine_start(engine);
    if (err == CASCADE_OK)
        err = cascade_start(store, "greet", NULL, NULL, &started);
    if (err == CASCADE_OK)
        err = cascade_wait(store, &started.id, 60000, &status);
    if (err == CASCADE_OK && status != CASCADE_COMPLETED)
        err = CASCADE_ERR_FAILED;
    return err;
}

int
main(void)
{
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_err err = cascade_store_open("memory:", NULL, &store);

    if (err == CASCADE_OK)
        err = cascade_engine_open(store, NULL, &engine);
    if (err == CASCADE_OK)
        err = run(store, engine);
    if (err != CASCADE_OK)
        fprintf(stderr, "%s: %s\n", cascade_err_name(err), cascade_errmsg());
    cascade_engine_close(engine);
    cascade_store_close(store);
    if (err != CASCADE_OK)
        return 1;
    printf("%s\n", cascade_version());
    return 0;
}
