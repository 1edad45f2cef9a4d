/* SPDX-License-Identifier: MIT
 *
 * Children: parents start theirs in one call, wait for all of them, then read
 * their results. A child is one node, which gives one.
 */
#include "waits.h"

#include <stdio.h>
#include <stdlib.h>

#define CHILDREN_MAX 1000

static cascade_err
child(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_output(node, cJSON_CreateNumber(1));
}

static cascade_err
read_results(cascade_node *node, const cascade_uuid *ids, size_t count)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        cJSON *result = NULL;

        err = cascade_node_await_child(node, &ids[i], &result);
        cJSON_Delete(result);
    }
    return err;
}

static cascade_err
parent(cascade_node *node, void *user)
{
    size_t count = (size_t)waits_number(node, "children");
    cascade_uuid *ids = bench_alloc(count, sizeof(*ids));
    cJSON **inputs = bench_alloc(count, sizeof(cJSON *));
    cascade_err err;

    err = cascade_node_start_children(node, "child", "child", inputs, count,
                                      NULL, ids);
    if (err == CASCADE_OK)
        err = cascade_node_await_children(node);
    if (err == CASCADE_OK)
        err = read_results(node, ids, count);
    free(inputs);
    free(ids);
    return err == CASCADE_OK ? waits_count(user) : err;
}

void
waits_register_children(waits *w)
{
    waits_register(w, "child", child);
    waits_register(w, "parent", parent);
}

static void
measure_parents(waits *w, const char *name, size_t parents, size_t children)
{
    char input[32];

    snprintf(input, sizeof(input), "{\"children\":%zu}", children);
    waits_expect(w, parents);
    waits_begin(w);
    free(waits_start(w, "parent", input, parents));
    waits_await(w);
    waits_end(w, name, "children/s", (double)(parents * children));
    waits_drain(w);
}

void
waits_children(waits *w)
{
    measure_parents(w, "children.10_a_parent", bench_pick(w->b, 200, 500, 1500),
                    10);
    measure_parents(w, "children.1000_a_parent", bench_pick(w->b, 2, 5, 15),
                    CHILDREN_MAX);
}
