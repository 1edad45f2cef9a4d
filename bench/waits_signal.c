/* SPDX-License-Identifier: MIT
 *
 * Signals.
 *
 *   many       cascades that wait are sent 5 signals each, in turn, by several
 *              threads; none of them waits for the cascades. The time ends when
 *              the last cascade has got its last
 *   one        one in flight: a cascade waits, its signal is sent, its node
 *              goes on behind the await
 *   begun by   several threads start cascades, each with its first signal, in
 *              one transaction
 */
#include "waits.h"

#include <stdlib.h>

#define SIGNALS 5
#define NAME "go"

static cascade_err
taker(cascade_node *node, void *user)
{
    double signals = waits_number(node, "signals");
    cascade_err err = CASCADE_OK;

    for (double i = 0; i < signals && err == CASCADE_OK; i++)
        err = cascade_node_await(node, NAME, -1, NULL);
    return err == CASCADE_OK ? waits_count(user) : err;
}

void
waits_register_signals(waits *w)
{
    waits_register(w, "taker", taker);
}

static cJSON *
make_payload(void)
{
    cJSON *payload = cJSON_CreateObject();

    cJSON_AddStringToObject(payload, "text", "what the signal tells");
    return payload;
}

static void
send_one(waits *w, const cascade_uuid *id)
{
    bench_check("signal",
                cascade_signal(w->store, id, NAME, make_payload(), NULL));
}

/* ---- Many ---------------------------------------------------------------- */

typedef struct sending {
    waits *w;
    const cascade_started *to;
    size_t count; /* cascades */
} sending;

static void
send_nth(void *context, size_t i)
{
    const sending *s = context;

    send_one(s->w, &s->to[i % s->count].id);
}

static void
measure_many(waits *w)
{
    size_t count = bench_pick(w->b, 400, 2000, 5000);
    double signals = (double)(count * SIGNALS);
    cascade_started *ids = waits_start(w, "taker", "{\"signals\":5}", count);
    sending s = {.w = w, .to = ids, .count = count};

    waits_rest(w, count);
    waits_expect(w, count);
    waits_begin(w);
    waits_call(w, count * SIGNALS, send_nth, &s);
    waits_note(w, "signals.sent",
               signals * 1e9 / (double)(bench_now_ns() - w->span.begun_ns),
               "signals/s");
    waits_await(w);
    waits_end(w, "signals.received", "signals/s", signals);
    waits_drain(w);
    free(ids);
}

/* ---- One ----------------------------------------------------------------- */

static void
measure_one(waits *w)
{
    cascade_started *started = waits_start(w, "taker", "{\"signals\":1}", 1);
    int64_t asked_ns;

    waits_rest(w, 1);
    waits_expect(w, 1);
    asked_ns = bench_now_ns();
    send_one(w, &started->id);
    waits_note_time(w, "signal.send_call", (double)(bench_now_ns() - asked_ns));
    waits_await(w);
    waits_note_time(w, "signal.send_to_running",
                    (double)(atomic_load(&w->counted_ns) - asked_ns));
    w->submissions++;
    waits_drain(w);
    free(started);
}

/* ---- Begun by a signal --------------------------------------------------- */

static void
start_nth(void *context, size_t i)
{
    waits *w = context;
    cJSON *input = cJSON_CreateObject();
    cascade_started started;

    (void)i;
    cJSON_AddNumberToObject(input, "signals", 1);
    bench_check("start with a signal",
                cascade_start_with_signal(w->store, "taker", input, NULL, NAME,
                                          make_payload(), NULL, &started));
}

static void
measure_begun(waits *w)
{
    size_t count = bench_pick(w->b, 400, 2000, 5000);

    waits_expect(w, count);
    waits_begin(w);
    waits_call(w, count, start_nth, w);
    waits_await(w);
    waits_end(w, "start_with_signal", "cascades/s", (double)count);
    waits_drain(w);
}

void
waits_signals(waits *w)
{
    size_t samples = bench_pick(w->b, 40, 200, 500);

    measure_many(w);
    for (size_t i = 0; i < samples; i++)
        measure_one(w);
    measure_begun(w);
}
