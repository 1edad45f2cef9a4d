/* SPDX-License-Identifier: MIT
 *
 * Human approval: somebody decides, is reminded, or is late.
 *   approval [STORE-URL]        default: memory:
 *
 *   order --> boss   (no limit) -- approved, by main() --> ship
 *         |   clerk  (100 ms)   -- nobody decides -------> refund
 *         +-> remind, a little later
 * `boss` and `clerk` are external: the program may end while they wait.
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <unistd.h>

static cascade_err
order(cascade_node *node, void *user)
{
    const cascade_spawn_options later = {.size = sizeof(later), .delay_ms = 20};
    const char *desk = cJSON_GetStringValue(cascade_node_input(node));
    cascade_err err = cascade_node_spawn(node, desk, NULL, NULL);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    return cascade_node_spawn(node, "remind", NULL, &later);
}

static cascade_err
note(cascade_node *node, void *user)
{
    return cascade_node_put(node, cascade_node_name(node),
                            cJSON_CreateString(user));
}

/* Waits until the task alone is active: the reminder is out. Then says yes. */
static cascade_err
decide(cascade_store *store, const cascade_uuid *id)
{
    static const cascade_completion_spawn ship = {.size = sizeof(ship),
                                                  .node = "ship"};
    static const cascade_completion yes = {
        .size = sizeof(yes), .spawns = &ship, .spawn_count = 1};
    const cascade_execution_info *task = NULL;
    cascade_snapshot *it = NULL;
    cascade_err err = CASCADE_ERR_AGAIN;

    for (; err == CASCADE_ERR_AGAIN; usleep(5000)) {
        if (cascade_snapshot_load(store, id, NULL, &it))
            return CASCADE_ERR_FAILED;
        task = cascade_snapshot_get(it, CASCADE_PART_ACTIVE, 0);
        if (cascade_snapshot_count(it, CASCADE_PART_ACTIVE) == 1 && task->token)
            err = cascade_complete(store, id, task->node_instance_id,
                                   task->token, &yes, NULL);
        cascade_snapshot_free(it);
    }
    return err;
}

static void
show(cascade_store *store, const cascade_uuid *id)
{
    cascade_snapshot *end = NULL;

    if (cascade_wait(store, id, -1, NULL) == CASCADE_OK &&
        cascade_snapshot_load(store, id, NULL, &end) == CASCADE_OK)
        printf("%s\n", cascade_snapshot_context(end));
    cascade_snapshot_free(end);
}

int
main(int argc, char **argv)
{
    static const cascade_external_options clerk = {
        sizeof(clerk), 100, CASCADE_FINAL_INSTEAD, "refund"};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_started run[2];
    int failed =
        cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "order", order, NULL, NULL) ||
        cascade_engine_register(engine, "remind", note, "please", NULL) ||
        cascade_engine_register(engine, "ship", note, "today", NULL) ||
        cascade_engine_register(engine, "refund", note, "late", NULL) ||
        cascade_engine_register_external(engine, "boss", NULL) ||
        cascade_engine_register_external(engine, "clerk", &clerk) ||
        cascade_engine_start(engine) ||
        cascade_start(store, "order", cJSON_CreateString("boss"), NULL,
                      &run[0]) ||
        cascade_start(store, "order", cJSON_CreateString("clerk"), NULL,
                      &run[1]) ||
        decide(store, &run[0].id);

    if (failed)
        fprintf(stderr, "approval: %s\n", cascade_errmsg());
    for (int i = 0; i < 2 && !failed; i++)
        show(store, &run[i].id);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
