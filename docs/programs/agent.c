/* SPDX-License-Identifier: MIT
 *
 * An agent: it waits for what somebody says, asks a model with the last turns
 * of the talk, keeps each turn in the context, publishes its answer, and
 * continues as a new run with a summary before its history grows long.
 *
 *   agent [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>

#define TURNS_SHOWN 2
#define TURNS_PER_RUN 3

/* Stands for a model: tells how many turns it was shown. */
static cascade_err
ask_model(cascade_node *node, const char *said, const cJSON *turns)
{
    char answer[128];
    cJSON *pair = cJSON_CreateObject();
    cascade_err err = CASCADE_OK;

    snprintf(answer, sizeof(answer), "%s: I see %d turns", said,
             cJSON_GetArraySize(turns));
    cJSON_AddStringToObject(pair, "said", said);
    cJSON_AddStringToObject(pair, "answer", answer);
    err = cascade_node_put(node, "turns", pair);
    if (err == CASCADE_OK)
        err = cascade_node_publish(node, "answer", cJSON_CreateString(answer));
    return err;
}

/* One turn is one step: the model is asked once for it, whatever crashes behind
 * that, and what is put and published in the step is recorded with it. */
static cascade_err
turn(cascade_node *node, void *arg, cJSON **result)
{
    const cJSON *turns = NULL;
    cascade_err err = cascade_node_history_part(node, "turns", -TURNS_SHOWN,
                                                TURNS_SHOWN, &turns, NULL);

    (void)result;
    if (err != CASCADE_OK)
        return err;
    return ask_model(node, arg, turns);
}

static cascade_err
next_run(cascade_node *node)
{
    size_t count = 0;
    const cJSON *none = NULL;
    cJSON *input = cJSON_CreateObject();
    cascade_err err =
        cascade_node_history_part(node, "turns", 0, 1, &none, &count);

    if (err != CASCADE_OK) {
        cJSON_Delete(input);
        return err;
    }
    cJSON_AddStringToObject(input, "summary", "they talked");
    cJSON_AddNumberToObject(input, "turns", (double)count);
    return cascade_node_continue_as_new(node, NULL, input);
}

static cascade_err
agent(cascade_node *node, void *user)
{
    (void)user;
    for (int i = 0; i < TURNS_PER_RUN; i++) {
        cJSON *said = NULL;
        cascade_err err = cascade_node_await(node, "say", -1, &said);
        char *text = cJSON_GetStringValue(said);
        bool over = text == NULL || strcmp(text, "bye") == 0;

        if (err != CASCADE_OK)
            return err;
        if (!over)
            err = cascade_node_step(node, "turn", turn, text, NULL, NULL);
        cJSON_Delete(said);
        if (err != CASCADE_OK)
            return err;
        if (over)
            return cascade_node_output(
                node, cJSON_Duplicate(cascade_node_input(node), true));
    }
    return next_run(node);
}

static cascade_err
say(cascade_store *store, const char *text)
{
    return cascade_signal_key(store, "anna", "talk-1", "say",
                              cJSON_CreateString(text), NULL);
}

int
main(int argc, char **argv)
{
    const cascade_start_options talk = {
        .size = sizeof(talk), .user_id = "anna", .key = "talk-1"};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_started started;
    cascade_outcome *end = NULL;
    char *answer = NULL;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "agent", agent, NULL, NULL) ||
        cascade_engine_start(engine) ||
        cascade_start(store, "agent", NULL, &talk, &started) ||
        say(store, "hello") || say(store, "what now") || say(store, "well") ||
        say(store, "bye") ||
        cascade_wait_result(store, &started.id, -1, &end) ||
        cascade_get_published_text(store, &started.id, "answer", &answer))
        fprintf(stderr, "agent: %s\n", cascade_errmsg());
    else
        failed = strcmp(answer, "\"well: I see 2 turns\"") != 0 ||
                 end->result == NULL ||
                 strcmp(end->result,
                        "{\"turns\":3,\"summary\":\"they talked\"}") != 0;
    cascade_text_free(answer);
    cascade_outcome_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
