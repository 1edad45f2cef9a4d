/* SPDX-License-Identifier: MIT
 *
 * Looking after a store: why a cascade does not go on, its executions, and the
 * deletion of what has ended.
 *
 *   look [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <cascade/manage.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static cascade_err
order(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "paid", -1, NULL);
}

/* Prints each cause in words; tells whether `reason` is one of them. */
static bool
explain(cascade_store *store, const cascade_uuid *id, cascade_reason reason)
{
    cascade_explanation *why = NULL;
    bool found = false;

    if (cascade_explain(store, id, &why) != CASCADE_OK)
        return false;
    for (size_t i = 0; i < cascade_explanation_count(why); i++) {
        const cascade_cause *cause = cascade_explanation_get(why, i);

        printf("%s\n", cause->text);
        found = found || cause->reason == reason;
    }
    cascade_explanation_free(why);
    return found;
}

static size_t
history(cascade_store *store, const cascade_uuid *id)
{
    cascade_snapshot *it = NULL;
    size_t count = 0;

    if (cascade_snapshot_load(store, id, NULL, &it) != CASCADE_OK)
        return 0;
    count = cascade_snapshot_count(it, CASCADE_PART_HISTORY);
    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(it, CASCADE_PART_HISTORY, i);

        printf("%d %s, %d attempts\n", (int)info->function_id, info->node_name,
               info->attempts);
    }
    cascade_snapshot_free(it);
    return count;
}

/* Deletes what completed, however short ago; nothing that failed. */
static int64_t
purge(cascade_store *store)
{
    cascade_progress total = {.done = 0};
    cascade_err err =
        cascade_purge(store,
                      CASCADE_OPTIONS(cascade_purge_options, .completed_ms = 0,
                                      .failed_ms = -1),
                      &total);

    return err == CASCADE_OK ? total.done : -1;
}

static bool
is_there(cascade_store *store, const cascade_uuid *id)
{
    cascade_info *info = NULL;
    bool is = cascade_get(store, id, &info) != CASCADE_ERR_NOT_FOUND;

    cascade_info_free(info);
    return is;
}

int
main(int argc, char **argv)
{
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_started started;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "order", order, NULL, NULL) ||
        cascade_engine_start(engine) ||
        cascade_start(store, "order", NULL, NULL, &started)) {
        fprintf(stderr, "look: %s\n", cascade_errmsg());
    } else {
        while (!explain(store, &started.id, CASCADE_REASON_SIGNAL))
            usleep(5000);
        failed = cascade_signal(store, &started.id, "paid", NULL, NULL) ||
                 cascade_wait(store, &started.id, -1, NULL) ||
                 !explain(store, &started.id, CASCADE_REASON_ENDED) ||
                 history(store, &started.id) != 3 || purge(store) != 1 ||
                 is_there(store, &started.id);
    }
    cascade_engine_close(engine);
    cascade_store_close(store);
    return failed;
}
