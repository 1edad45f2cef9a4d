/* SPDX-License-Identifier: MIT
 *
 * libcascade in a loop of libuv: the nodes run in the thread of the loop.
 *
 *   libuv_loop [STORE-URL]        default: memory:
 *
 * A uv_poll_t watches cascade_engine_fd(), a uv_timer_t minds
 * cascade_engine_timeout_ms(); both end in turn(), which polls the engine and
 * sets the timer anew. The library's own thread waits for the database.
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <uv.h>

struct program {
    cascade_engine *engine;
    uv_poll_t readable;
    uv_timer_t due;
    uv_thread_t thread; /* of the loop */
    cascade_err err;
    int strays; /* entries in another thread */
    bool done;
};

/* Entered twice: before its sleep, and when the timer of the loop wakes it. */
static cascade_err
greet(cascade_node *node, void *user)
{
    struct program *program = user;
    uv_thread_t here = uv_thread_self();
    cascade_err err = cascade_node_sleep(node, "breath", 20);

    program->strays += !uv_thread_equal(&here, &program->thread);
    puts(err == CASCADE_SUSPENDED ? "greet sleeps" : "greet runs");
    program->done = err == CASCADE_OK;
    return err;
}

static void
turn(uv_timer_t *due)
{
    struct program *program = due->data;

    program->err = cascade_engine_poll(program->engine, 0, NULL);
    if (program->err || program->done)
        uv_stop(due->loop);
    else
        uv_timer_start(due, turn,
                       (uint64_t)cascade_engine_timeout_ms(program->engine), 0);
}

static void
on_readable(uv_poll_t *readable, int status, int events)
{
    (void)status;
    (void)events;
    turn(readable->data);
}

static void
close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    uv_close(handle, NULL);
}

int
main(int argc, char **argv)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_LOOP};
    struct program it = {.thread = uv_thread_self()};
    cascade_store *store = NULL;
    cascade_started started;

    it.due.data = &it;
    it.readable.data = &it.due;
    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) ||
        cascade_engine_open(store, &options, &it.engine) ||
        cascade_engine_register(it.engine, "greet", greet, &it, NULL) ||
        cascade_start(store, "greet", NULL, NULL, &started) ||
        cascade_engine_start(it.engine) ||
        uv_timer_init(uv_default_loop(), &it.due) ||
        uv_poll_init(uv_default_loop(), &it.readable,
                     cascade_engine_fd(it.engine)) ||
        uv_poll_start(&it.readable, UV_READABLE, on_readable) ||
        uv_timer_start(&it.due, turn, 0, 0) ||
        (uv_run(uv_default_loop(), UV_RUN_DEFAULT), it.err) ||
        cascade_engine_stop(it.engine, -1))
        fprintf(stderr, "libuv_loop: %s\n", cascade_errmsg());
    else if (it.strays == 0)
        puts("all in the thread of the loop");
    uv_walk(uv_default_loop(), close_handle, NULL);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    uv_loop_close(uv_default_loop());
    cascade_engine_close(it.engine);
    cascade_store_close(store);
    return !it.done || it.strays > 0;
}
