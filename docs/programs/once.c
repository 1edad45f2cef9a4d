/* SPDX-License-Identifier: MIT
 *
 * What would be another at each entry of a node, by a name: a time, a number,
 * an id. The second attempt gets what the first one got.
 *
 *   once [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>

struct drawn {
    int64_t now_ms[2];
    uint64_t number[2];
    cascade_uuid id[2];
};

static cascade_err
draw(cascade_node *node, void *user)
{
    struct drawn *drawn = user;
    int at = cascade_node_attempt(node) - 1;
    cascade_err err = cascade_node_now(node, "begun", &drawn->now_ms[at]);

    if (err == CASCADE_OK)
        err = cascade_node_random(node, "lottery", &drawn->number[at]);
    if (err == CASCADE_OK)
        err = cascade_node_uuid(node, "ticket", &drawn->id[at]);
    if (err == CASCADE_OK && at == 0)
        err = cascade_node_error(node, "once more");
    return err;
}

int
main(int argc, char **argv)
{
    const cascade_node_options twice = {
        .size = sizeof(twice), .attempts_max = 2, .backoff_ms = 10};
    struct drawn drawn = {.now_ms = {0, 0}};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_outcome *end = NULL;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "draw", draw, &drawn, &twice) ||
        cascade_engine_start(engine) ||
        cascade_run_result(store, "draw", NULL, NULL, -1, NULL, &end))
        fprintf(stderr, "once: %s\n", cascade_errmsg());
    else
        failed = end->status != CASCADE_COMPLETED || drawn.now_ms[0] == 0 ||
                 drawn.now_ms[0] != drawn.now_ms[1] ||
                 drawn.number[0] != drawn.number[1] ||
                 memcmp(&drawn.id[0], &drawn.id[1], sizeof(drawn.id[0])) != 0;
    cascade_outcome_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
