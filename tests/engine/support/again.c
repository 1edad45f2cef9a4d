/* SPDX-License-Identifier: MIT
 *
 * See again.h.
 */
#include "engine/support/again.h"

#include <stdio.h>
#include <string.h>

again *
again_of(void *user)
{
    return ((play *)user)->user;
}

/* ---- A graph ------------------------------------------------------------ */

cascade_err
again_fork(cascade_node *node, void *user)
{
    const uint32_t both[] = {1, 2};
    cascade_spawn_options joined = {
        .size = sizeof(joined), .after = both, .after_count = 2};
    cascade_err err = cascade_node_spawn(node, "left", NULL, NULL);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "right", NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "join", NULL, &joined);
    return err;
}

static cascade_err
output(cascade_node *node, const char *name, int number)
{
    cascade_err err = cascade_node_put(node, "seen", cJSON_CreateString(name));

    if (err == CASCADE_OK)
        err = cascade_node_output(node, cJSON_CreateNumber(number));
    return err;
}

cascade_err
again_left(cascade_node *node, void *user)
{
    atomic_fetch_add(&again_of(user)->steps[0], 1);
    return output(node, "left", 1);
}

cascade_err
again_right(cascade_node *node, void *user)
{
    again *a = again_of(user);

    atomic_fetch_add(&a->steps[1], 1);
    if (!atomic_load(&a->mended))
        return cascade_node_fail(node, "broken");
    return output(node, "right", 2);
}

cascade_err
again_join(cascade_node *node, void *user)
{
    const cJSON *outcomes = NULL;
    const cJSON *outcome = NULL;
    const cJSON *seen = NULL;
    int sum = 0;

    atomic_fetch_add(&again_of(user)->joined, 1);
    expect(cascade_node_outcomes(node, &outcomes) == CASCADE_OK);
    expect(cJSON_GetArraySize(outcomes) == 2);
    cJSON_ArrayForEach(outcome, outcomes)
    {
        const cJSON *number = cJSON_GetObjectItem(outcome, "output");

        expect(number != NULL);
        sum += number != NULL ? number->valueint : 0;
    }
    expect(cascade_node_history(node, "seen", &seen) == CASCADE_OK);
    expect(cJSON_GetArraySize(seen) == 2);
    return cascade_node_output(node, cJSON_CreateNumber(sum));
}

/* ---- A straight line ---------------------------------------------------- */

typedef struct line_step {
    again *a;
    int number;
} line_step;

static cascade_err
do_step(cascade_node *node, void *arg, cJSON **result)
{
    const line_step *step = arg;

    atomic_fetch_add(&step->a->steps[step->number], 1);
    *result = cJSON_CreateNumber(step->number + 1);
    return cascade_node_put(node, "steps",
                            cJSON_CreateNumber(step->number + 1));
}

cascade_err
again_line(cascade_node *node, void *user)
{
    again *a = again_of(user);
    cJSON *results = cJSON_CreateArray();
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&a->entered, 1);
    for (int i = 0; i < AGAIN_STEPS && err == CASCADE_OK; i++) {
        line_step step = {a, i};
        cJSON *result = NULL;

        err = cascade_node_step(node, "step", do_step, &step, NULL, &result);
        if (err == CASCADE_OK)
            cJSON_AddItemToArray(results, result);
        if (err == CASCADE_OK && i == 1 && !atomic_load(&a->mended))
            err = cascade_node_fail(node, "broken");
    }
    if (err == CASCADE_OK)
        return cascade_node_output(node, results);
    cJSON_Delete(results);
    return err;
}

/* ---- Commands ----------------------------------------------------------- */

static int64_t
wait_ms(const play *p)
{
    return p->mode == CASCADE_MODE_THREADS ? DB_WAIT_MS : 0;
}

static size_t
count_receipts(const play *p, const char *name)
{
    return play_count(p, name, CASCADE_EXECUTION_COMPLETED) +
           play_count(p, name, CASCADE_EXECUTION_FAILED);
}

typedef struct asked {
    const play *p;
    const char *name;
    size_t before;
} asked;

static bool
is_received(void *context)
{
    const asked *a = context;

    return count_receipts(a->p, a->name) > a->before;
}

/* Where nobody else does it. */
static void
play_on_until_received(play *p, asked *a)
{
    if (p->mode != CASCADE_MODE_THREADS)
        play_on(p, is_received, a);
}

cascade_err
again_retry(play *p, const char *request_id)
{
    cascade_request_options options = {.size = sizeof(options),
                                       .request_id = request_id,
                                       .reason = "mended",
                                       .wait_ms = wait_ms(p)};
    asked a = {p, "cascade.retry", count_receipts(p, "cascade.retry")};
    cascade_err err = cascade_retry(p->store, &p->id, &options);

    if (err == CASCADE_OK)
        play_on_until_received(p, &a);
    return err;
}

cascade_err
again_rerun(play *p, int32_t from, const char *request_id)
{
    cascade_rerun_options options = {.size = sizeof(options),
                                     .request_id = request_id,
                                     .reason = "once more",
                                     .wait_ms = wait_ms(p),
                                     .from = from};
    asked a = {p, "cascade.rerun", count_receipts(p, "cascade.rerun")};
    cascade_err err = cascade_rerun(p->store, &p->id, &options);

    if (err == CASCADE_OK)
        play_on_until_received(p, &a);
    return err;
}

/* ---- Looking ------------------------------------------------------------ */

void
again_check(play *p, cascade_status status, const char *context,
            const char *result)
{
    cascade_snapshot *snapshot = NULL;
    const char *got = NULL;

    play_await(p, &p->id, status);
    snapshot = play_snapshot(p);
    assert_string_equal(cascade_snapshot_context(snapshot), context);
    got = cascade_snapshot_result(snapshot);
    if (result == NULL)
        assert_null(got);
    else
        assert_string_equal(got != NULL ? got : "none", result);
    assert_int_equal(cascade_snapshot_error(snapshot) != NULL,
                     status == CASCADE_ERROR);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_ACTIVE), 0);
    cascade_snapshot_free(snapshot);
}

int32_t
again_superseded(const play *p, int32_t function_id)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    int32_t by = play_execution(snapshot, (size_t)function_id)->superseded_by;

    cascade_snapshot_free(snapshot);
    return by;
}

int32_t
again_find(const play *p, const char *node)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    int32_t found = -1;

    for (size_t i = 0; i < count; i++)
        if (strcmp(play_execution(snapshot, i)->node_name, node) == 0)
            found = play_execution(snapshot, i)->function_id;
    cascade_snapshot_free(snapshot);
    return found;
}

void
again_hand_over(play *p)
{
    cascade_store *former = p->store; /* one in memory is there while it is */

    db_close_engine(p->db, p->engine);
    play_open(p, p->db, p->mode);
    db_close_store(p->db, former);
}
