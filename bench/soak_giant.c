/* SPDX-License-Identifier: MIT */
#include "soak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 1000
#define FAN 9000 /* in one commit: an execution may spawn 10,000 */
#define PAYLOAD_BYTES 262144
#define KIB 1024

/* What is left to be made: the input, or all of it. */
static size_t
left_of(const soak *s, cascade_node *node)
{
    const cJSON *input = cascade_node_input(node);

    return cJSON_IsNumber(input) ? (size_t)input->valuedouble : s->size;
}

/* The node again, when something is left. */
static cascade_err
go_on(cascade_node *node, const char *name, size_t left)
{
    if (left == 0)
        return CASCADE_OK;
    return cascade_node_spawn(node, name, cJSON_CreateNumber((double)left),
                              NULL);
}

static size_t
portion_of(size_t left, size_t max)
{
    return left < max ? left : max;
}

static cascade_err
return_at_once(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static cascade_err
spawn_many(cascade_node *node, size_t count)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, SOAK_SMALL, NULL, NULL);
    return err;
}

static cascade_err
executions(cascade_node *node, void *user)
{
    size_t left = left_of(user, node);
    size_t count = portion_of(left, BATCH);
    cascade_err err = spawn_many(node, count);

    return err == CASCADE_OK ? go_on(node, "executions", left - count) : err;
}

static cascade_err
fan_out(cascade_node *node, void *user)
{
    size_t left = left_of(user, node);
    size_t count = portion_of(left, FAN);
    cascade_err err = spawn_many(node, count);

    return err == CASCADE_OK ? go_on(node, "fan_out", left - count) : err;
}

/* The next part comes after all of this one. */
static cascade_err
joins(cascade_node *node, void *user)
{
    size_t left = left_of(user, node);
    size_t count = portion_of(left, BATCH);
    uint32_t after[BATCH];
    const cascade_spawn_options join = {
        .size = sizeof(join), .after = after, .after_count = count};
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        err = cascade_node_spawn(node, SOAK_SMALL, NULL, NULL);
        after[i] = cascade_node_spawned(node);
    }
    if (err != CASCADE_OK || left == count)
        return err;
    return cascade_node_spawn(
        node, "joins", cJSON_CreateNumber((double)(left - count)), &join);
}

static cascade_err
children(cascade_node *node, void *user)
{
    cJSON *inputs[BATCH] = {NULL};
    cascade_uuid ids[BATCH];
    size_t left = left_of(user, node);
    size_t count = portion_of(left, BATCH);
    cascade_err err = cascade_node_start_children(node, "c", SOAK_SMALL, inputs,
                                                  count, NULL, ids);

    return err == CASCADE_OK ? go_on(node, "children", left - count) : err;
}

static cascade_err
context(cascade_node *node, void *user)
{
    size_t left = left_of(user, node);
    size_t count = portion_of(left, BATCH);
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        err = cascade_node_put(node, "k", cJSON_CreateNumber((double)i));
    return err == CASCADE_OK ? go_on(node, "context", left - count) : err;
}

/* A KiB of output for each of its size. */
static cascade_err
payload(cascade_node *node, void *user)
{
    size_t left = left_of(user, node);
    size_t count = portion_of(left, PAYLOAD_BYTES / KIB);
    char *text = bench_alloc(PAYLOAD_BYTES + 1, 1);
    cascade_err err;

    memset(text, 'x', count * KIB);
    err = cascade_node_output(node, cJSON_CreateString(text));
    free(text);
    return err == CASCADE_OK ? go_on(node, "payload", left - count) : err;
}

static cascade_err
messages(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "go", -1, NULL);
}

const soak_giant soak_giants[] = {
    {"executions", executions, false}, {"fan_out", fan_out, false},
    {"joins", joins, false},           {"children", children, false},
    {"context", context, false},       {"payload", payload, false},
    {"messages", messages, true},
};
const size_t soak_giant_count = sizeof(soak_giants) / sizeof(soak_giants[0]);

void
soak_register(soak *s)
{
    bench_check("register", cascade_engine_register(s->engine, SOAK_SMALL,
                                                    return_at_once, s, NULL));
    for (size_t i = 0; i < soak_giant_count; i++)
        bench_check("register",
                    cascade_engine_register(s->engine, soak_giants[i].name,
                                            soak_giants[i].fn, s, NULL));
}

void
soak_send(const soak *s, const cascade_uuid *id)
{
    for (size_t i = 0; i < s->size; i++) {
        int64_t begun_ns = bench_now_ns();

        bench_check("signal",
                    cascade_signal(s->leader, id, "letter", NULL, NULL));
        bench_sleep_ms(1 + (bench_now_ns() - begun_ns) / 1000000);
    }
    bench_check("signal", cascade_signal(s->leader, id, "go", NULL, NULL));
}
