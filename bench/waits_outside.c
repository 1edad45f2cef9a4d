/* SPDX-License-Identifier: MIT
 *
 * From outside, with an answer.
 *
 *   completions   external executions that wait are completed by several
 *                 threads, each with an output, until the last is received;
 *                 and the time of a lone call that waits for that. The tokens
 *                 are read before
 *   updates       the time from the call to the answer, one in flight, each
 *                 called when the one before is answered, of cascades that
 *                 answer 20 each; and how many a second by several threads,
 *                 each with its own cascade
 */
#include "waits.h"

#include <stdlib.h>
#include <string.h>

#define UPDATES 20 /* that a cascade answers */
#define TOKEN_MAX 128

/* ---- Completions --------------------------------------------------------- */

typedef struct task {
    cascade_uuid cascade;
    char instance[TOKEN_MAX];
    char token[TOKEN_MAX];
} task;

static void
copy_text(char to[TOKEN_MAX], const char *from)
{
    if (from == NULL || strlen(from) >= TOKEN_MAX)
        bench_die("an external execution has no token");
    strcpy(to, from);
}

static void
read_task(waits *w, const cascade_uuid *id, task *t)
{
    cascade_snapshot *snapshot = NULL;
    const cascade_execution_info *info;

    bench_check("snapshot",
                cascade_snapshot_load(w->store, id, NULL, &snapshot));
    info = cascade_snapshot_get(snapshot, CASCADE_PART_ACTIVE, 0);
    if (info == NULL)
        bench_die("an external execution is not there");
    t->cascade = *id;
    copy_text(t->instance, info->node_instance_id);
    copy_text(t->token, info->token);
    cascade_snapshot_free(snapshot);
}

/* As many that wait, with their tokens. */
static task *
begin_tasks(waits *w, size_t count)
{
    cascade_started *started = waits_start(w, "task", NULL, count);
    task *tasks = bench_alloc(count, sizeof(*tasks));

    waits_rest(w, count);
    for (size_t i = 0; i < count; i++)
        read_task(w, &started[i].id, &tasks[i]);
    free(started);
    return tasks;
}

static void
complete(waits *w, const task *t, int64_t wait_ms)
{
    const cascade_complete_options options = {.size = sizeof(options),
                                              .wait_ms = wait_ms};
    const cascade_completion done = {.size = sizeof(done),
                                     .output_text = "{\"approved\":true}"};

    bench_check("complete", cascade_complete(w->store, &t->cascade, t->instance,
                                             t->token, &done, &options));
}

typedef struct completing {
    waits *w;
    const task *tasks;
} completing;

static void
complete_nth(void *context, size_t i)
{
    const completing *c = context;

    complete(c->w, &c->tasks[i], 0);
}

static void
measure_completions(waits *w)
{
    size_t count = bench_pick(w->b, 400, 2000, 5000);
    task *tasks = begin_tasks(w, count);
    completing c = {.w = w, .tasks = tasks};

    waits_begin(w);
    waits_call(w, count, complete_nth, &c);
    waits_drain(w);
    waits_end(w, "completions", "completions/s", (double)count);
    free(tasks);
}

static void
measure_completion(waits *w)
{
    task *t = begin_tasks(w, 1);
    int64_t asked_ns = bench_now_ns();

    complete(w, t, -1);
    waits_note_time(w, "completion.call_to_received",
                    (double)(bench_now_ns() - asked_ns));
    w->submissions++;
    waits_drain(w);
    free(t);
}

/* ---- Updates ------------------------------------------------------------- */

static cascade_err
desk(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    (void)user;
    for (size_t i = 0; i < UPDATES && err == CASCADE_OK; i++) {
        const char *ticket = NULL;

        err = cascade_node_await_update(node, "ask", -1, NULL, &ticket);
        if (err == CASCADE_OK)
            err = cascade_node_answer(node, ticket, NULL);
    }
    return err;
}

static void
ask(waits *w, const cascade_uuid *id)
{
    static const cascade_update_options options = {.size = sizeof(options),
                                                   .timeout_ms = -1};

    bench_check("update",
                cascade_update(w->store, id, "ask", NULL, &options, NULL));
}

static void
measure_update(waits *w)
{
    cascade_started *started = waits_start(w, "desk", NULL, 1);

    waits_rest(w, 1);
    for (size_t i = 0; i < UPDATES; i++) {
        int64_t asked_ns = bench_now_ns();

        ask(w, &started->id);
        waits_note_time(w, "update.call_to_answer",
                        (double)(bench_now_ns() - asked_ns));
        w->submissions++;
    }
    waits_drain(w);
    free(started);
}

typedef struct asking {
    waits *w;
    const cascade_started *desks;
} asking;

static void
ask_nth(void *context, size_t i)
{
    const asking *a = context;

    for (size_t n = 0; n < UPDATES; n++)
        ask(a->w, &a->desks[i].id);
}

static void
measure_updates(waits *w)
{
    size_t count = bench_pick(w->b, 2, 4, 10) * WAITS_CALLERS;
    cascade_started *desks = waits_start(w, "desk", NULL, count);
    asking a = {.w = w, .desks = desks};

    waits_rest(w, count);
    waits_begin(w);
    waits_call(w, count, ask_nth, &a);
    waits_end(w, "updates", "updates/s", (double)(count * UPDATES));
    w->submissions += (double)(count * (UPDATES - 1));
    waits_drain(w);
    free(desks);
}

/* ---- The part ------------------------------------------------------------ */

void
waits_register_outside(waits *w)
{
    /* A deadline keeps them in memory: without one they are parked at once. */
    const cascade_external_options options = {.size = sizeof(options),
                                              .timeout_ms = 600000};

    bench_check("register",
                cascade_engine_register_external(w->engine, "task", &options));
    waits_register(w, "desk", desk);
}

void
waits_outside(waits *w)
{
    size_t completions = bench_pick(w->b, 40, 200, 500);
    size_t desks = bench_pick(w->b, 2, 10, 25);

    measure_completions(w);
    for (size_t i = 0; i < completions; i++)
        measure_completion(w);
    for (size_t i = 0; i < desks; i++)
        measure_update(w);
    measure_updates(w);
}
