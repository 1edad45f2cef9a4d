/* SPDX-License-Identifier: MIT
 *
 * Exceptions that leave nodes, steps and compensations of a C++ program, which
 * has done nothing for it. Exits with 0 when all ended as exception.h says.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <cascade/cascade.h>
#include <cascade/manage.h>

namespace
{

#define CHECK(that)                                                    \
    do {                                                               \
        if (!(that)) {                                                 \
            std::fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__,         \
                         __LINE__, #that, cascade_errmsg());           \
            std::exit(1);                                              \
        }                                                              \
    } while (0)

/* Fails to be destroyed unless the stack is unwound. */
struct counted {
    static int alive;
    counted() { alive++; }
    ~counted() { alive--; }
};
int counted::alive;

/* The first attempt is left by an exception. */
cascade_err
throws_once(cascade_node *node, void *)
{
    counted here;

    if (cascade_node_attempt(node) == 1)
        throw std::runtime_error("the first one");
    return CASCADE_OK;
}

cascade_err
throws_number(cascade_node *, void *)
{
    throw 7;
}

cascade_err
step_throws(cascade_node *, void *, cJSON **)
{
    counted here;

    throw std::out_of_range("in the step");
}

cascade_err
step_works(cascade_node *, void *, cJSON **)
{
    return CASCADE_OK;
}

/* A step that is left has failed, and the node goes on. */
cascade_err
goes_on(cascade_node *node, void *)
{
    CHECK(cascade_node_step(node, "throws", step_throws, nullptr, nullptr,
                            nullptr) == CASCADE_ERR_FAILED);
    return cascade_node_step(node, "works", step_works, nullptr, nullptr,
                             nullptr);
}

cascade_err
undo_throws(cascade_node *, void *, const cJSON *)
{
    throw std::runtime_error("in the compensation");
}

cascade_err
is_undone(cascade_node *node, void *)
{
    const cascade_step_options once = {sizeof(once), 1, 0, 0, 0, 0};
    cascade_err err = cascade_node_compensate(node, "undo", undo_throws,
                                              nullptr, &once);

    if (err != CASCADE_OK)
        return err;
    throw std::runtime_error("behind a compensation");
}

/* The error with which a cascade of `node` ends; "" without one. */
void
run(cascade_store *store, cascade_engine *engine, const char *node,
    char *error, std::size_t size)
{
    cascade_started started;
    cascade_snapshot *snapshot = nullptr;
    const char *text = nullptr;

    CHECK(cascade_start(store, node, nullptr, nullptr, &started) ==
          CASCADE_OK);
    if (engine != nullptr)
        while (cascade_wait(store, &started.id, 0, nullptr) != CASCADE_OK)
            CHECK(cascade_engine_poll(engine, 0, nullptr) == CASCADE_OK);
    CHECK(cascade_wait(store, &started.id, -1, nullptr) == CASCADE_OK);
    CHECK(cascade_snapshot_load(store, &started.id, nullptr, &snapshot) ==
          CASCADE_OK);
    text = cascade_snapshot_error(snapshot);
    std::snprintf(error, size, "%s", text != nullptr ? text : "");
    cascade_snapshot_free(snapshot);
}

/* Others run while it handles what it threw. */
cascade_err
handles(cascade_node *node, void *)
{
    const int mine = cascade_node_input(node)->child->valueint;
    cascade_err err = CASCADE_OK;

    try {
        try {
            throw mine;
        } catch (int) {
            for (int i = 0; i < 3 && err == CASCADE_OK; i++)
                err = cascade_node_step(node, "works", step_works, nullptr,
                                        nullptr, nullptr);
            throw;
        }
    } catch (int other) {
        CHECK(other == mine);
    }
    return err;
}

void
handle_many(cascade_store *store)
{
    cascade_started started[50];
    cascade_status status = CASCADE_RUNNING;

    for (int i = 0; i < 50; i++) {
        cJSON *input = cJSON_CreateObject();

        cJSON_AddNumberToObject(input, "mine", i);
        CHECK(cascade_start(store, "handles", input, nullptr, &started[i]) ==
              CASCADE_OK);
    }
    for (int i = 0; i < 50; i++) {
        CHECK(cascade_wait(store, &started[i].id, -1, &status) == CASCADE_OK);
        CHECK(status == CASCADE_COMPLETED);
    }
}

void
check(cascade_mode mode, int fibers)
{
    cascade_engine_options options = {};
    cascade_node_options twice = {};
    cascade_node_options once = {};
    cascade_store *store = nullptr;
    cascade_engine *engine = nullptr;
    cascade_engine *polled = nullptr;
    char error[400];

    options.size = sizeof(options);
    options.mode = mode;
    options.fibers = fibers;
    options.worker_count = 2;
    twice.size = once.size = sizeof(once);
    twice.attempts_max = 2;
    twice.backoff_ms = 1;
    once.attempts_max = 1;
    CHECK(cascade_store_open("memory:", nullptr, &store) == CASCADE_OK);
    CHECK(cascade_engine_open(store, &options, &engine) == CASCADE_OK);
    CHECK(cascade_engine_register(engine, "once", throws_once, nullptr,
                                  &twice) == CASCADE_OK);
    CHECK(cascade_engine_register(engine, "number", throws_number, nullptr,
                                  &once) == CASCADE_OK);
    CHECK(cascade_engine_register(engine, "goes_on", goes_on, nullptr, &once) ==
          CASCADE_OK);
    CHECK(cascade_engine_register(engine, "undone", is_undone, nullptr,
                                  &once) == CASCADE_OK);
    CHECK(cascade_engine_register(engine, "handles", handles, nullptr, &once) ==
          CASCADE_OK);
    CHECK(cascade_engine_start(engine) == CASCADE_OK);
    polled = mode == CASCADE_MODE_THREADS ? nullptr : engine;

    run(store, polled, "once", error, sizeof(error));
    CHECK(std::strcmp(error, "") == 0);
    run(store, polled, "number", error, sizeof(error));
    CHECK(std::strstr(error, "it is no std::exception") != nullptr);
    run(store, polled, "goes_on", error, sizeof(error));
    CHECK(std::strcmp(error, "") == 0);
    run(store, polled, "undone", error, sizeof(error));
    CHECK(std::strstr(error, "behind a compensation") != nullptr);
    CHECK(counted::alive == 0);
    if (polled == nullptr)
        handle_many(store);

    CHECK(cascade_engine_close(engine) == CASCADE_OK);
    CHECK(cascade_store_close(store) == CASCADE_OK);
}

} // namespace

int
main()
{
    check(CASCADE_MODE_THREADS, -1);
    check(CASCADE_MODE_THREADS, 1);
    check(CASCADE_MODE_INLINE, 0);
    check(CASCADE_MODE_LOOP, 0);
    return 0;
}
