/* SPDX-License-Identifier: MIT
 *
 * Map and reduce: the words of a text, counted in chunks at the same time.
 *   map_reduce [STORE-URL]        default: memory:
 *
 *   split --> count, count, count --> sum
 *
 * `split` spawns one `count` for each chunk, and `sum` after all of them: a
 * join. Each chunk's words are put into the context, where `sum` finds them in
 * the order in which the chunks were spawned, whichever was counted first. If
 * the process dies, the next one counts only those chunks that are not counted.
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>

#define CHUNKS 4

static const char *const chunks[CHUNKS] = {
    "what the hammer what the chain",
    "in what furnace was thy brain",
    "what the anvil what dread grasp",
    "dare its deadly terrors clasp",
};

static cascade_err
split(cascade_node *node, void *user)
{
    uint32_t counts[CHUNKS];
    cascade_spawn_options join = {.size = sizeof(join)};

    (void)user;
    for (int i = 0; i < CHUNKS; i++) {
        cascade_err err = cascade_node_spawn(
            node, "count", cJSON_CreateString(chunks[i]), NULL);
        if (err != CASCADE_OK)
            return err;
        counts[i] = cascade_node_spawned(node);
    }
    join.after = counts;
    join.after_count = CHUNKS;
    return cascade_node_spawn(node, "sum", NULL, &join);
}

static cascade_err
count(cascade_node *node, void *user)
{
    const char *at = cJSON_GetStringValue(cascade_node_input(node));
    int words = 0;

    (void)user;
    for (at += strspn(at, " "); *at != '\0'; at += strspn(at, " ")) {
        at += strcspn(at, " ");
        words++;
    }
    return cascade_node_put(node, "words", cJSON_CreateNumber(words));
}

static cascade_err
sum(cascade_node *node, void *user)
{
    const cJSON *words = NULL;
    const cJSON *chunk = NULL;
    double total = 0;
    cascade_err err = cascade_node_history(node, "words", &words);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    cJSON_ArrayForEach(chunk, words) total += chunk->valuedouble;
    return cascade_node_output(node, cJSON_CreateNumber(total));
}

int
main(int argc, char **argv)
{
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_snapshot *end = NULL;
    cascade_started started;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "split", split, NULL, NULL) ||
        cascade_engine_register(engine, "count", count, NULL, NULL) ||
        cascade_engine_register(engine, "sum", sum, NULL, NULL) ||
        cascade_engine_start(engine) ||
        cascade_start(store, "split", NULL, NULL, &started) ||
        cascade_wait(store, &started.id, -1, NULL) ||
        cascade_snapshot_load(store, &started.id, NULL, &end))
        fprintf(stderr, "map_reduce: %s\n", cascade_errmsg());
    else
        printf("%s\n%s words\n", cascade_snapshot_context(end),
               cascade_snapshot_result(end));
    cascade_snapshot_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return end == NULL;
}
