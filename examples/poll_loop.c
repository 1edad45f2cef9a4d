/* SPDX-License-Identifier: MIT
 *
 * libcascade in a loop that the program owns: one thread, one poll(2).
 *
 *   poll_loop [STORE-URL]        default: memory:
 *
 * In CASCADE_MODE_LOOP all nodes run inside cascade_engine_poll(), in this
 * thread: no locks are needed. The library's own thread does the waiting for
 * the database, so the loop never blocks on it. The program's timer stands for
 * its sockets, its windows or whatever else it looks after.
 */
#include <cascade/cascade.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct program {
    bool landed;
    uint64_t ticks;
};

/* Counts down from {"from": n}, one execution a number. */
static cascade_err
count_down(cascade_node *node, void *user)
{
    struct program *program = user;
    const cJSON *from =
        cJSON_GetObjectItemCaseSensitive(cascade_node_input(node), "from");
    double number = cJSON_IsNumber(from) ? from->valuedouble : 0;

    printf("%.0f\n", number);
    if (number <= 0) {
        program->landed = true;
        return CASCADE_OK;
    }
    cJSON *next = cJSON_CreateObject();
    if (cJSON_AddNumberToObject(next, "from", number - 1) == NULL) {
        cJSON_Delete(next);
        return CASCADE_ERR_NO_MEMORY;
    }
    const cascade_spawn_options soon = {.size = sizeof(soon), .delay_ms = 20};
    return cascade_node_spawn(node, "count-down", next, &soon);
}

static cascade_err
loop(cascade_engine *engine, struct program *program, int timer)
{
    struct pollfd watched[] = {
        {.fd = cascade_engine_fd(engine), .events = POLLIN},
        {.fd = timer, .events = POLLIN},
    };
    while (!program->landed) {
        int64_t timeout_ms = cascade_engine_timeout_ms(engine);
        if (poll(watched, 2, timeout_ms > 1000 ? 1000 : (int)timeout_ms) < 0)
            return CASCADE_ERR_SYSTEM;
        uint64_t expired = 0;
        if (watched[1].revents != 0 && read(timer, &expired, 8) == 8)
            program->ticks += expired;
        cascade_err err = cascade_engine_poll(engine, 0, NULL);
        if (err != CASCADE_OK)
            return err;
    }
    return cascade_engine_stop(engine, -1);
}

int
main(int argc, char **argv)
{
    struct program program = {.landed = false};
    const struct itimerspec period = {{0, 5000000}, {0, 5000000}};
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_LOOP};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_started started;
    cJSON *input = cJSON_Parse("{\"from\": 3}");
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

    timerfd_settime(timer, 0, &period, NULL);
    bool ok =
        !cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store) &&
        !cascade_engine_open(store, &options, &engine) &&
        !cascade_engine_register(engine, "count-down", count_down, &program,
                                 NULL) &&
        !cascade_start(store, "count-down", input, NULL, &started) &&
        !cascade_engine_start(engine) && !loop(engine, &program, timer);
    if (ok)
        printf("landed; the loop was %s\n",
               program.ticks > 0 ? "free meanwhile" : "blocked");
    else
        fprintf(stderr, "poll_loop: %s\n", cascade_errmsg());
    cascade_engine_close(engine);
    cascade_store_close(store);
    close(timer);
    return ok ? 0 : 1;
}
