/* SPDX-License-Identifier: MIT
 *
 * Ids of 64 bits, and JSON as text: a payment is booked under an id that no
 * double holds, 9007199254740993, and the id comes through its cascade digit by
 * digit. The first node works with texts, the second with trees.
 *
 *     exact [JSON]     say, exact '{"id": 9007199254740993}'
 */
#include <cascade/cascade.h>
#include <inttypes.h>
#include <stdio.h>

/* Hands on what it was given, without reading it. */
static cascade_err
receive(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_spawn_text(node, "book", cascade_node_input_text(node),
                                   NULL);
}

/* Reads the id; the next one is {"id":...,"next":...}. */
static cascade_err
book(cascade_node *node, void *user)
{
    const cJSON *input = cascade_node_input(node);
    cJSON *output = cJSON_Duplicate(input, 1);
    int64_t id = 0;
    cascade_err err =
        cascade_json_get_int64(cJSON_GetObjectItem(input, "id"), &id);

    (void)user;
    if (err != CASCADE_OK) {
        cJSON_Delete(output);
        return cascade_node_fail(node, "no id: %s", cascade_errmsg());
    }
    printf("books %" PRId64 "\n", id);
    err = cascade_json_add_int64(output, "next", id + 1);
    if (err == CASCADE_OK)
        return cascade_node_output(node, output);
    cJSON_Delete(output);
    return err;
}

static cascade_err
play(cascade_store *store, const char *input)
{
    cascade_engine *engine = NULL;
    cascade_snapshot *end = NULL;
    cascade_started started;
    const char *result = NULL;
    cascade_err err = cascade_engine_open(store, NULL, &engine);

    if (err == CASCADE_OK)
        err = cascade_engine_register(engine, "receive", receive, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_engine_register(engine, "book", book, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_engine_start(engine);
    if (err == CASCADE_OK)
        err = cascade_start_text(store, "receive", input, NULL, &started);
    if (err == CASCADE_OK)
        err = cascade_wait(store, &started.id, -1, NULL);
    if (err == CASCADE_OK)
        err = cascade_snapshot_load(store, &started.id, NULL, &end);
    if (err != CASCADE_OK)
        fprintf(stderr, "%s\n", cascade_errmsg());
    result = end != NULL ? cascade_snapshot_result(end) : NULL;
    if (result != NULL)
        puts(result);
    else if (end != NULL)
        fprintf(stderr, "%s\n", cascade_snapshot_error(end));
    cascade_snapshot_free(end);
    cascade_engine_close(engine);
    return result != NULL ? CASCADE_OK : CASCADE_ERR_FAILED;
}

int
main(int argc, char **argv)
{
    cascade_store *store = NULL;
    cascade_err err = cascade_store_open("memory:", NULL, &store);

    if (err == CASCADE_OK)
        err = play(store, argc > 1 ? argv[1] : "{\"id\": 9007199254740993}");
    cascade_store_close(store);
    return err != CASCADE_OK;
}
