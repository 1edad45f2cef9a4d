/* SPDX-License-Identifier: MIT
 *
 * What a worker process does: one engine on the place's store, with the flow's
 * nodes, until SIGTERM. It looks after its figures meanwhile.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/engine.h"
#include "process/flow.h"
#include "process/freeze.h"
#include "process/worker.h"

#define LOOK_EVERY_MS 5
#define STOP_LIMIT_MS 30000

static cascade_engine *running;

static void
on_term(int signal)
{
    (void)signal;
    cascade_engine_request_stop(running);
}

static cascade_err
crash(cascade_node *node, void *user)
{
    const char *how = user;
    const struct rlimit no_core = {0, 0};

    (void)node;
    setrlimit(RLIMIT_CORE, &no_core);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    _exit(3);
}

static cascade_err
register_nodes(cascade_engine *engine, test_flow *flow, worker_options *options)
{
    cascade_err err = flow_register(engine, flow);

    if (err == CASCADE_OK && options->crash[0] != '\0')
        err = cascade_engine_register(engine, "crash", crash, options->crash,
                                      NULL);
    return err;
}

static void
tell(cascade_engine *engine, worker_figures *figures)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    if (cascade_engine_get_stats(engine, &stats) != CASCADE_OK)
        return;
    figures->executions = stats.executions;
    figures->attempts = stats.attempts;
    figures->fences = stats.fences;
    figures->losses = stats.losses;
    figures->takeovers = stats.takeovers;
    figures->held = stats.held;
    figures->refusals = stats.refusals;
}

static cascade_err
run(cascade_engine *engine, worker_shared *shared)
{
    cascade_err err = CASCADE_ERR_TIMEOUT;

    running = engine;
    signal(SIGTERM, on_term);
    shared->figures.started = 1;
    while (err == CASCADE_ERR_TIMEOUT) {
        err = cascade_engine_wait(engine, LOOK_EVERY_MS);
        tell(engine, &shared->figures);
    }
    if (err == CASCADE_OK)
        err = cascade_engine_stop(engine, STOP_LIMIT_MS);
    signal(SIGTERM, SIG_IGN);
    return err;
}

static void
print_line(void *context, cascade_log_level level, const char *line)
{
    (void)level;
    fprintf(stderr, "%s: %s\n", (const char *)context, line);
}

static cascade_err
open_store(worker_shared *shared, cascade_store **store)
{
    const test_place *place = &shared->place;
    bool loud = getenv("CASCADE_TEST_LOG") != NULL;
    const cascade_store_options store_options = {
        .size = sizeof(store_options),
        .schema = place->schema[0] == '\0' ? NULL : place->schema,
        .durability = place->relaxed ? CASCADE_DURABILITY_RELAXED
                                     : CASCADE_DURABILITY_FULL,
        .log = loud ? print_line : NULL,
        .log_context = shared->name};
    const char *freeze = shared->options.freeze;

    if (freeze[0] == '\0')
        return cascade_store_open(place->url, &store_options, store);
    return cascade_store_open_driver(freeze_driver(place, freeze), place->url,
                                     &store_options, store);
}

static cascade_err
serve(worker_shared *shared, test_flow *flow)
{
    const cascade_engine_options options = {
        .size = sizeof(options),
        .worker_count = shared->options.threads,
        .lease_ms = shared->options.lease_ms,
        .poll_interval_ms = shared->options.poll_ms,
        .poison_limit = shared->options.poison_limit};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_err err = open_store(shared, &store);

    if (err == CASCADE_OK)
        err = cascade_engine_open(store, &options, &engine);
    if (err == CASCADE_OK && shared->options.host[0] != '\0')
        memcpy(engine->host, shared->options.host,
               sizeof(shared->options.host));
    if (err == CASCADE_OK)
        err = register_nodes(engine, flow, &shared->options);
    if (err == CASCADE_OK)
        err = cascade_engine_start(engine);
    if (err == CASCADE_OK)
        err = run(engine, shared);
    if (err != CASCADE_OK)
        fprintf(stderr, "%s: %s: %s\n", shared->name, cascade_err_name(err),
                cascade_errmsg());
    if (cascade_engine_close(engine) != CASCADE_OK)
        return err;
    (void)cascade_store_close(store);
    return err;
}

int
worker_main(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    worker_shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    test_flow flow = {.log_fd = -1};
    cascade_err err = CASCADE_OK;

    if (shared == MAP_FAILED) {
        perror(path);
        return 1;
    }
    close(fd);
    flow.log_fd = flow_open_log(&shared->place);
    flow.work_us = shared->options.work_us;
    flow.who = shared->name;
    err = serve(shared, &flow);
    close(flow.log_fd);
    munmap(shared, sizeof(*shared));
    return err == CASCADE_OK ? 0 : 1;
}
