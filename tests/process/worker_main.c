/* SPDX-License-Identifier: MIT
 *
 * What a worker process does: one engine on the place's store, with the flow's
 * nodes, until SIGTERM. It looks after its figures meanwhile.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "held/engine_state.h"
#include "process/crowd.h"
#include "process/flow.h"
#include "process/script.h"
#include "process/starter.h"
#include "process/watch.h"
#include "process/worker.h"
#include "support/nodes.h"

#define LOOK_EVERY_MS 5
#define STOP_LIMIT_MS 60000

static cascade_engine *running; /* NULL: an outsider */
static atomic_bool ended;

static void
on_term(int signal)
{
    (void)signal;
    ended = true;
    if (running != NULL)
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

static void
note_entry(void *context, const cascade_node *node)
{
    flow_note(context, node);
}

static cascade_err
register_nodes(cascade_engine *engine, test_flow *flow, const test_place *place,
               worker_options *options)
{
    static nodes_watcher watcher = {.entered = note_entry};
    static test_crowd crowd;
    cascade_err err = CASCADE_OK;

    watcher.context = flow;
    if (options->crowd)
        err = crowd_register(engine, &crowd, place, flow);
    else
        err = options->cast ? nodes_register(engine, NULL, &watcher)
                            : flow_register(engine, flow);
    if (err == CASCADE_OK && options->crash[0] != '\0')
        err = cascade_engine_register(engine, "crash", crash, options->crash,
                                      NULL);
    return err;
}

static void
begin(cascade_engine *engine, worker_shared *shared)
{
    running = engine;
    signal(SIGTERM, on_term);
    shared->figures.started = 1;
}

static cascade_err
run_threads(cascade_engine *engine, worker_shared *shared)
{
    cascade_err err = CASCADE_ERR_TIMEOUT;

    while (err == CASCADE_ERR_TIMEOUT) {
        err = cascade_engine_wait(engine, LOOK_EVERY_MS);
        worker_tell(engine, &shared->figures);
    }
    return err;
}

/* In the modes in which the host's thread does the work. */
static cascade_err
run_loop(cascade_engine *engine, worker_shared *shared)
{
    struct pollfd fd = {.fd = cascade_engine_fd(engine), .events = POLLIN};
    cascade_err err = CASCADE_OK;

    while (!ended && err == CASCADE_OK) {
        int64_t timeout_ms = cascade_engine_timeout_ms(engine);

        if (timeout_ms > LOOK_EVERY_MS)
            timeout_ms = LOOK_EVERY_MS;
        poll(&fd, 1, (int)timeout_ms);
        err = cascade_engine_poll(engine, 0, NULL);
        worker_tell(engine, &shared->figures);
    }
    return err;
}

static cascade_err
run(cascade_engine *engine, worker_shared *shared)
{
    cascade_err err = CASCADE_OK;

    begin(engine, shared);
    err = shared->options.mode == CASCADE_MODE_THREADS
              ? run_threads(engine, shared)
              : run_loop(engine, shared);
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
        .application_name = place->schema[0] == '\0' ? NULL : place->schema,
        .pooler = shared->options.pooler,
        .durability = place->relaxed || shared->options.relaxed
                          ? CASCADE_DURABILITY_RELAXED
                          : CASCADE_DURABILITY_FULL,
        .log = loud ? print_line : NULL,
        .log_context = shared->name};

    return cascade_store_open_driver(watch_driver(shared), place->url,
                                     &store_options, store);
}

static void
complain(const worker_shared *shared, cascade_err err)
{
    if (err != CASCADE_OK)
        fprintf(stderr, "%s: %s: %s\n", shared->name, cascade_err_name(err),
                cascade_errmsg());
}

/* Who only starts, or has a script. */
static cascade_err
stay_outside(cascade_store *store, worker_shared *shared)
{
    script_caller caller = {.store = store, .user = shared->options.user};
    cascade_err err = CASCADE_OK;

    begin(NULL, shared);
    if (shared->options.script == 0) {
        starter_run(store, shared, &ended);
        return CASCADE_OK;
    }
    err = scripts[shared->options.script - 1].call(&caller);
    complain(shared, err);
    return err;
}

/* Who runs an engine and starts beside it, in a thread of its own. */
static cascade_err
run_and_start(cascade_store *store, cascade_engine *engine,
              worker_shared *shared)
{
    test_starter starter = {.store = store, .shared = shared, .ended = &ended};
    cascade_err err = CASCADE_OK;

    if (shared->options.start_us == 0)
        return run(engine, shared);
    starter_begin(&starter);
    err = run(engine, shared);
    starter_end(&starter);
    return err;
}

static cascade_err
serve(cascade_store *store, worker_shared *shared, test_flow *flow)
{
    const cascade_engine_options options = {
        .size = sizeof(options),
        .mode = shared->options.mode,
        .suspend_steps = shared->options.suspend_steps,
        .lane_count = shared->options.lanes,
        .worker_count = shared->options.threads,
        .batch_cascades_max = shared->options.batch,
        .capacity = shared->options.capacity,
        .lease_ms = shared->options.lease_ms,
        .poll_interval_ms = shared->options.poll_ms,
        .park_after_ms = shared->options.park_ms,
        .poison_limit = shared->options.poison_limit};
    cascade_engine *engine = NULL;
    cascade_err err = cascade_engine_open(store, &options, &engine);

    if (err == CASCADE_OK && shared->options.host[0] != '\0')
        memcpy(engine->host, shared->options.host,
               sizeof(shared->options.host));
    if (err == CASCADE_OK)
        err = register_nodes(engine, flow, &shared->place, &shared->options);
    if (err == CASCADE_OK)
        err = cascade_engine_start(engine);
    if (err == CASCADE_OK)
        err = run_and_start(store, engine, shared);
    complain(shared, err);
    (void)cascade_engine_close(engine);
    return err;
}

static cascade_err
work(worker_shared *shared, test_flow *flow)
{
    cascade_store *store = NULL;
    cascade_err err = open_store(shared, &store);

    complain(shared, err);
    if (err == CASCADE_OK && shared->options.outsider)
        err = stay_outside(store, shared);
    else if (err == CASCADE_OK)
        err = serve(store, shared, flow);
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
    flow.gate = &shared->gate;
    flow.work_us = shared->options.work_us;
    flow.ignorant = shared->options.ignorant;
    flow.delay_ms = shared->options.delay_ms;
    flow.sleep_ms = shared->options.sleep_ms;
    flow.who = shared->name;
    err = work(shared, &flow);
    close(flow.log_fd);
    munmap(shared, sizeof(*shared));
    return err == CASCADE_OK ? 0 : 1;
}
