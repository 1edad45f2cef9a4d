/* SPDX-License-Identifier: MIT */
#include "process/flow.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/check.h"

#define BACKOFF_MS 5
#define SLEEP_MS 3
#define START_MAX 10000
#define GATE_LOOK_NS 1000000

int
flow_open_log(const test_place *place)
{
    char path[PLACE_PATH];

    return open(place_path(place, FLOW_LOG, path),
                O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

void
flow_append(int fd, const char *text)
{
    char line[FLOW_LINE + 1];
    ssize_t written = 0;

    snprintf(line, sizeof(line), "%-*.*s\n", FLOW_LINE - 1, FLOW_LINE - 1,
             text);
    written = write(fd, line, FLOW_LINE);
    (void)written; /* a missing line shows when the log is checked */
}

void
flow_note(const test_flow *flow, const cascade_node *node)
{
    char text[FLOW_LINE];
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(text, sizeof(text), "%s %d %s %lld", cascade_node_request_id(node),
             cascade_node_attempt(node), flow->who,
             now.tv_sec * 1000LL + now.tv_nsec / 1000000);
    flow_append(flow->log_fd, text);
}

void
flow_tell(const test_place *place, size_t *from, oracle *o)
{
    char path[PLACE_PATH];
    FILE *log = fopen(place_path(place, FLOW_LOG, path), "re");
    char line[FLOW_LINE + 1];
    char id[FLOW_LINE];
    int attempt = 0;
    long long at_ms = 0;

    if (log == NULL)
        return; /* nothing yet */
    assert_int_equal(0, fseek(log, (long)*from, SEEK_SET));
    while (fgets(line, sizeof(line), log) != NULL) {
        assert_int_equal(3,
                         sscanf(line, "%s %d %*s %lld", id, &attempt, &at_ms));
        oracle_ran(o, id, attempt, at_ms);
        *from += FLOW_LINE;
    }
    fclose(log);
}

bool
flow_reenters(const char *request_id)
{
    return strstr(request_id, "/part#") != NULL ||
           strstr(request_id, "/last#") != NULL;
}

void
flow_pass(flow_gate *gate)
{
    const struct timespec pause = {.tv_nsec = GATE_LOOK_NS};

    if (gate->open || atomic_fetch_sub(&gate->passes, 1) > 0)
        return;
    atomic_fetch_add(&gate->waiting, 1);
    while (!gate->open)
        nanosleep(&pause, NULL);
    atomic_fetch_sub(&gate->waiting, 1);
}

void
flow_work(const test_flow *flow)
{
    struct timespec time = {.tv_sec = flow->work_us / 1000000,
                            .tv_nsec = flow->work_us % 1000000 * 1000};

    nanosleep(&time, NULL);
}

static void
work(const test_flow *flow)
{
    flow_work(flow);
    if (flow->gate != NULL)
        flow_pass(flow->gate);
}

static cascade_err
trace(cascade_node *node)
{
    return cascade_node_put(node, "trace",
                            cJSON_CreateNumber(cascade_node_function_id(node)));
}

static cascade_err
root(cascade_node *node, void *user)
{
    uint32_t parts[FLOW_PARTS];
    const cascade_spawn_options all = {
        .size = sizeof(all), .after = parts, .after_count = FLOW_PARTS};
    cascade_err err = CASCADE_OK;

    flow_note(user, node);
    work(user);
    for (int i = 0; i < FLOW_PARTS && err == CASCADE_OK; i++) {
        err = cascade_node_spawn(node, "part", NULL, NULL);
        parts[i] = cascade_node_spawned(node);
    }
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "join", NULL, &all);
    return err == CASCADE_OK ? trace(node) : err;
}

static cascade_err
pick(cascade_node *node, void *arg, cJSON **result)
{
    flow_note(arg, node);
    work(arg);
    *result = cJSON_CreateTrue();
    return trace(node);
}

/* With attempts of its own. */
static cascade_err
try_to_pick(cascade_node *node, void *arg, cJSON **result)
{
    if (cascade_node_attempt(node) > 1)
        return pick(node, arg, result);
    flow_note(arg, node);
    return cascade_node_error(node, "the first attempt fails");
}

static cascade_err
step(cascade_node *node, void *user)
{
    const cascade_step_options options = {.size = sizeof(options),
                                          .backoff_ms = BACKOFF_MS};

    if (cascade_node_function_id(node) != 2)
        return cascade_node_step(node, "pick", pick, user, NULL, NULL);
    return cascade_node_step(node, "pick", try_to_pick, user, &options, NULL);
}

static cascade_err
part(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    flow_note(user, node);
    work(user);
    if (cascade_node_function_id(node) == 1 && cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "the first attempt fails");
    err = step(node, user);
    return err == CASCADE_OK ? trace(node) : err;
}

/* Sees every value before it: root's, and two of each part. */
static cascade_err
join(cascade_node *node, void *user)
{
    const test_flow *flow = user;
    const cascade_spawn_options later = {.size = sizeof(later),
                                         .delay_ms = flow->delay_ms};
    const cJSON *values = NULL;
    cascade_err err = CASCADE_OK;

    flow_note(user, node);
    work(user);
    err = cascade_node_history(node, "trace", &values);
    if (err != CASCADE_OK)
        return err;
    if (cJSON_GetArraySize(values) != 1 + 2 * FLOW_PARTS)
        return cascade_node_fail(node, "%d values", cJSON_GetArraySize(values));
    err = cascade_node_spawn(node, "last", NULL, &later);
    return err == CASCADE_OK ? trace(node) : err;
}

static cascade_err
last(cascade_node *node, void *user)
{
    const test_flow *flow = user;
    cascade_err err = CASCADE_OK;

    flow_note(user, node);
    err = cascade_node_sleep(node, "rest",
                             flow->sleep_ms > 0 ? flow->sleep_ms : SLEEP_MS);
    if (err != CASCADE_OK)
        return err;
    work(user);
    err = trace(node);
    return err == CASCADE_OK ? cascade_node_output(node, cJSON_CreateTrue())
                             : err;
}

cascade_err
flow_register(cascade_engine *engine, test_flow *flow)
{
    const cascade_node_options options = {.size = sizeof(options),
                                          .backoff_ms = BACKOFF_MS};
    static const struct {
        const char *name;
        cascade_node_fn fn;
    } nodes[FLOW_NODES] = {
        {"root", root}, {"part", part}, {"join", join}, {"last", last}};
    int known = flow->ignorant ? FLOW_NODES - 1 : FLOW_NODES;
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < known && err == CASCADE_OK; i++)
        err = cascade_engine_register(engine, nodes[i].name, nodes[i].fn, flow,
                                      &options);
    return err;
}

void
flow_start(cascade_store *store, size_t count)
{
    static const cascade_first first = {.size = sizeof(first), .node = "root"};
    static cascade_start_spec specs[START_MAX];
    static cascade_started started[START_MAX];

    assert_true(count <= START_MAX);
    for (size_t i = 0; i < count; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1};
    assert_ok(cascade_start_many(store, specs, count, started));
}
