/* SPDX-License-Identifier: MIT
 *
 * The runs of the key that sim_key.c is about. Each hears signals until none
 * comes in time, then ends as it is told to; with `left` it continues as new
 * behind each that it has heard.
 */
#include "sim/work.h"

#define HEARS_MAX 3

static cascade_err
end(cascade_node *node, const cJSON *input)
{
    if (sim_member(input, "fails") != 0)
        return cascade_node_fail(node, "told to");
    return CASCADE_OK;
}

static cascade_err
go_on(cascade_node *node, const cJSON *input)
{
    cJSON *carried = cJSON_Duplicate(input, true);

    cJSON_ReplaceItemInObjectCaseSensitive(
        carried, "left", cJSON_CreateNumber(sim_member(input, "left") - 1));
    return cascade_node_continue_as_new(node, NULL, carried);
}

static cascade_err
hear(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    cascade_err err = CASCADE_OK;

    (void)engine;
    for (int i = 0; i < HEARS_MAX && err == CASCADE_OK; i++) {
        err = cascade_node_await(node, "go", sim_member(input, "wait"), NULL);
        if (err == CASCADE_OK && sim_member(input, "left") > 0)
            return go_on(node, input);
    }
    return err == CASCADE_OK || err == CASCADE_ERR_TIMEOUT ? end(node, input)
                                                           : err;
}

static const sim_node_def nodes[] = {
    {.name = "k.hear", .fn = hear, .unseen = true}};

const sim_workload sim_work_key = {
    .name = "key", .nodes = nodes, .node_count = 1, .first = "k.hear"};
