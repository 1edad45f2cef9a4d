/* SPDX-License-Identifier: MIT
 *
 * A saga: a journey is booked as a whole or not at all.
 *
 *   saga [STORE-URL]        default: memory:
 *
 * Flight and hotel are booked, each in a step that is recorded; then there is
 * no car. The node fails for good, and what it has booked is cancelled in
 * reverse order. Each cancellation is a step too: if the process dies in
 * between, the next one goes on with those that are not recorded yet.
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>

struct agency {
    const char *sold_out;
};

struct booking {
    struct agency *agency;
    const char *what;
};

static cascade_err
book(cascade_node *node, void *arg, cJSON **result)
{
    struct booking *booking = arg;

    if (strcmp(booking->what, booking->agency->sold_out) == 0)
        return cascade_node_fail(node, "no %s left", booking->what);
    printf("book %s\n", booking->what);
    *result = cJSON_CreateString(cascade_node_request_id(node));
    return *result != NULL ? CASCADE_OK : CASCADE_ERR_NO_MEMORY;
}

/* `user` is what the node was registered with; `input` was recorded. */
static cascade_err
cancel(cascade_node *node, void *user, const cJSON *input)
{
    (void)user;
    printf("cancel %s\n", cJSON_GetStringValue(input));
    return cascade_node_put(node, "cancelled", cJSON_Duplicate(input, true));
}

static cascade_err
travel(cascade_node *node, void *user)
{
    static const char *const wanted[] = {"flight", "hotel", "car"};
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < 3 && err == CASCADE_OK; i++) {
        struct booking booking = {.agency = user, .what = wanted[i]};

        err = cascade_node_step(node, wanted[i], book, &booking, NULL, NULL);
        if (err == CASCADE_OK)
            err = cascade_node_compensate(node, wanted[i], cancel,
                                          cJSON_CreateString(wanted[i]), NULL);
    }
    return err;
}

int
main(int argc, char **argv)
{
    struct agency agency = {.sold_out = "car"};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_snapshot *end = NULL;
    cascade_started started;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "travel", travel, &agency, NULL) ||
        cascade_engine_start(engine) ||
        cascade_start(store, "travel", NULL, NULL, &started) ||
        cascade_wait(store, &started.id, -1, NULL) ||
        cascade_snapshot_load(store, &started.id, NULL, &end))
        fprintf(stderr, "saga: %s\n", cascade_errmsg());
    else
        printf("%s\n%s\n", cascade_snapshot_error(end),
               cascade_snapshot_context(end));
    cascade_snapshot_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    return end == NULL;
}
