/* SPDX-License-Identifier: MIT
 *
 * Reading one cascade in portions: one that is too large to be read in one go,
 * by its bytes or for the deadline.
 *
 *   its row --> executions, page by page --> events, page by page
 *      ^                                        |            |
 *      +-- receipts of retries were met (supersede.h) --+       |
 *                                                            v
 *                                       held <-- messages, the first ones
 *
 * There is one portion in a round of the housekeeper, or a few short ones, so
 * whatever else it has to do waits for a portion at most. Several such cascades
 * take turns.
 *
 * A page is bounded in rows and in bytes. One that was not read in time is
 * asked for once more with half the rows, from where it came to. When not even
 * one row can be read, what was read is let go, and it is begun anew later.
 *
 * What is read at several times is one state all the same: the cascade was
 * claimed before, and nobody but its owner writes it. If that is lost meanwhile
 * what was read is dropped; before this side knows of it, what comes of such a
 * state is fenced. Messages, which anybody may send, are read in the end, and
 * at once.
 */
#include "claim/stream.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "claim/hydrate.h"
#include "claim/receive.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/incarnation.h"
#include "held/room/reload.h"
#include "held/room/room.h"
#include "held/room/suspect.h"
#include "held/room/waiting.h"
#include "held/run/run.h"
#include "held/run/sealing.h"
#include "held/vital.h"
#include "state/reset_plan.h"
#include "state/state.h"
#include "store/move.h"
#include "store/store.h"

#define ROUND_MS 5        /* of turns, and the last one of them */
#define PORTION_ROWS 1000 /* at first */
#define PORTION_BYTES ((size_t)1024 * 1024)
#define SETTLE_MAX 10000                  /* executions in a portion */
#define PORTION_SHORT_NS (20 * CSC_MS_NS) /* the next may have more rows */
#define PORTION_LONG_NS (100 * CSC_MS_NS) /* it is to have less */
#define RETRY_MS 20                       /* and longer each time, up to */
#define RETRY_MAX_MS 5000
#define TRIES_MAX 8 /* for one row */

typedef enum phase {
    STEP_ROW,
    STEP_EXECUTIONS,
    STEP_EVENTS,
    STEP_SETTLE, /* what has ended is let go */
    STEP_MESSAGES,
    STEP_OVER
} phase;

struct csc_stream {
    csc_stream *next;
    cascade_engine *engine;
    cascade_uuid engine_id; /* for whom it is read */
    csc_reload reload;
    csc_run *run;
    csc_inbox inbox;
    phase step;
    cascade_scan scan; /* the next page */
    size_t given;      /* rows of the last one */
    cascade_err err;   /* a row makes no sense */
    unsigned failures; /* since the last portion that was read */
    unsigned tries;    /* of these: for one row */
    int64_t at_ns;     /* not before */
};

/* ---- Rows --------------------------------------------------------------- */

/* It comes with the messages too, behind all that its seal is compared with. */
static cascade_err
take_cascade(void *context, const cascade_row *row)
{
    csc_stream *s = context;

    if (s->step == STEP_ROW)
        s->err = csc_sealing_take_cascade(s->run, row);
    return CASCADE_OK;
}

static cascade_err
take_seal(void *context, const cascade_seal_row *row)
{
    csc_stream *s = context;

    if (s->err == CASCADE_OK)
        s->err = csc_sealing_take_seal(s->run, row);
    return CASCADE_OK;
}

static cascade_err
take_execution(void *context, const cascade_execution_row *row)
{
    csc_stream *s = context;

    csc_assert(s->step == STEP_EXECUTIONS);
    csc_vital_sign(&s->engine->lease.house);
    s->given++;
    s->scan.from = row->function_id + 1;
    if (s->err == CASCADE_OK && s->run->plan != NULL)
        s->err = csc_reset_plan_add(s->run->plan, row);
    if (s->err == CASCADE_OK)
        s->err = csc_sealing_take_execution(s->run, row);
    return CASCADE_OK;
}

static cascade_err
take_event(void *context, const cascade_event_row *row)
{
    csc_stream *s = context;

    csc_assert(s->step == STEP_EVENTS);
    csc_vital_sign(&s->engine->lease.house);
    s->given++;
    s->scan.from = row->function_id;
    s->scan.after_event = row->id;
    if (s->err == CASCADE_OK)
        s->err = csc_sealing_take_event(s->run, row);
    return CASCADE_OK;
}

static cascade_err
take_message(void *context, const cascade_message_row *row, bool repeated)
{
    csc_stream *s = context;

    csc_assert(s->step == STEP_MESSAGES);
    return csc_receive_message(&s->inbox, row, repeated);
}

/* ---- Portions ------------------------------------------------------------ */

static cascade_load_sink
sink_of(csc_stream *s)
{
    return (cascade_load_sink){.context = s,
                               .on_cascade = take_cascade,
                               .on_execution = take_execution,
                               .on_event = take_event,
                               .on_message = take_message,
                               .on_seal = take_seal};
}

static cascade_err
load(csc_stream *s, unsigned parts)
{
    cascade_load_sink sink = sink_of(s);

    csc_assert(s->run->life == CSC_RUN_LOADING);
    return csc_move_load(s->engine->store, &s->run->state.id, 1, parts, &sink);
}

static void
begin_pages(csc_stream *s, phase step)
{
    csc_assert(step == STEP_EXECUTIONS || step == STEP_EVENTS);
    s->step = step;
    s->scan.events = step == STEP_EVENTS;
    s->scan.from = 0;
    s->scan.after_event = 0;
}

static cascade_err
read_row(csc_stream *s)
{
    cascade_err err = load(s, csc_sealing_part(s->engine));

    csc_assert(s->step == STEP_ROW);
    if (err != CASCADE_OK)
        return err;
    if (s->run->state.user_id == NULL)
        s->step = STEP_OVER;
    else
        begin_pages(s, STEP_EXECUTIONS);
    return CASCADE_OK;
}

/* All executions and events are there, unless they are to be read again. */
static void
end_pages(csc_stream *s)
{
    bool again = false;

    csc_assert(s->step == STEP_EVENTS);
    s->err = csc_state_begin_again(&s->run->state, &again);
    s->step = again ? STEP_ROW : STEP_SETTLE;
    if (again && s->run->plan != NULL)
        csc_reset_plan_clear(s->run->plan);
}

static cascade_err
read_page(csc_stream *s)
{
    cascade_load_sink sink = sink_of(s);
    cascade_err err = CASCADE_OK;

    csc_assert(s->step == STEP_EXECUTIONS || s->step == STEP_EVENTS);
    s->given = 0;
    err = csc_move_scan(s->engine->store, &s->scan, &sink);
    if (err != CASCADE_OK || s->given > 0)
        return err;
    if (s->step == STEP_EXECUTIONS)
        begin_pages(s, STEP_EVENTS);
    else
        end_pages(s);
    return CASCADE_OK;
}

static cascade_err
read_messages(csc_stream *s)
{
    cascade_err err = CASCADE_OK;

    csc_assert(s->step == STEP_MESSAGES);
    csc_receive_fini(&s->inbox); /* of a try before */
    s->inbox = (csc_inbox){.engine = s->engine};
    err = load(s, CASCADE_LOAD_MESSAGES);
    csc_receive_tell(&s->inbox); /* a stream is freed under the lock */
    if (err == CASCADE_OK)
        s->step = STEP_OVER;
    return err;
}

static cascade_err
read_portion(csc_stream *s)
{
    csc_assert(csc_lock_is_none_held() && s->run->life == CSC_RUN_LOADING);
    switch (s->step) {
    case STEP_ROW:
        return read_row(s);
    case STEP_EXECUTIONS:
    case STEP_EVENTS:
        return read_page(s);
    case STEP_SETTLE:
        if (csc_state_settle_some(&s->run->state, SETTLE_MAX))
            s->step = STEP_MESSAGES;
        return CASCADE_OK;
    case STEP_MESSAGES:
        return read_messages(s);
    case STEP_OVER:
        return CASCADE_OK;
    }
    return CASCADE_OK;
}

/* A portion took so long. */
static void
adapt(csc_stream *s, int64_t took_ns)
{
    csc_assert(s->scan.limit > 0 && s->scan.limit <= CASCADE_SCAN_MAX);
    s->failures = 0;
    s->tries = 0;
    if (took_ns > PORTION_LONG_NS && s->scan.limit > 1)
        s->scan.limit /= 2;
    else if (took_ns < PORTION_SHORT_NS &&
             s->scan.limit <= CASCADE_SCAN_MAX / 2)
        s->scan.limit *= 2;
}

/* False when it is not tried again from here. */
static bool
try_smaller(csc_stream *s)
{
    int64_t ms = RETRY_MS;

    csc_assert(s->scan.limit > 0 && s->tries <= s->failures);
    for (unsigned i = 0; i < s->failures && ms < RETRY_MAX_MS; i++)
        ms *= 2;
    s->failures++;
    if (s->given > 0)
        s->tries = 0;
    else if (s->scan.limit == 1)
        s->tries++;
    s->given = 0;
    if (s->scan.limit > 1)
        s->scan.limit /= 2;
    s->at_ns = csc_clock_now_ns(s->engine) + ms * CSC_MS_NS;
    return s->tries < TRIES_MAX;
}

/* ---- Beginning and end --------------------------------------------------- */

static void
free_stream_locked(csc_stream *s)
{
    csc_assert(csc_lock_is_held(&s->engine->mutex));
    csc_receive_fini(&s->inbox);
    if (s->run != NULL)
        csc_run_unref(s->run);
    csc_mem_free(s);
}

static csc_stream *
create_stream(cascade_engine *engine, const csc_reload *reload)
{
    csc_stream *s = csc_mem_zalloc(1, sizeof(*s));

    csc_assert(csc_lock_is_none_held());
    if (s == NULL)
        return NULL;
    s->engine = engine;
    s->reload = *reload;
    s->inbox.engine = engine;
    s->run = csc_run_create(engine, &reload->claimed.cascade_id);
    if (s->run == NULL)
        goto failed;
    csc_run_note_claim(s->run, &reload->claimed);
    if (csc_hydrate_plan(s->run, reload) != CASCADE_OK)
        goto failed;
    s->scan = (cascade_scan){.cascade_id = &s->run->state.id,
                             .limit = PORTION_ROWS,
                             .bytes_max = PORTION_BYTES};
    return s;
failed:
    csc_lock_take(&engine->mutex);
    free_stream_locked(s);
    csc_lock_give(&engine->mutex);
    return NULL;
}

static bool
is_suspect(const csc_stream *s)
{
    return csc_suspect_is_one(s->engine, &s->reload.claimed);
}

cascade_err
csc_stream_begin(cascade_engine *engine, const csc_reload *reload)
{
    csc_stream *s = create_stream(engine, reload);
    csc_stream **at = &engine->reloads.streams;

    csc_assert(csc_lock_is_none_held() && engine->reloads.in_hand > 0);
    if (s == NULL)
        return csc_fail_memory();
    csc_lock_take(&engine->mutex);
    s->engine_id = engine->incarnation.id;
    if (reload->large)
        csc_room_take_place(engine, s->run);
    while (*at != NULL)
        at = &(*at)->next;
    *at = s;
    engine->reloads.stream_count++;
    csc_assert(engine->reloads.stream_count <= CSC_STREAMS_MAX);
    engine->reloads.stream_suspects += is_suspect(s);
    csc_lock_give(&engine->mutex);
    return CASCADE_OK;
}

/* CASCADE_ERR_AGAIN when there is no memory for it now. */
static cascade_err
weigh(csc_stream *s)
{
    bool second = false;

    csc_assert(s->run->life == CSC_RUN_LOADING);
    csc_lock_take(&s->engine->mutex);
    second = csc_room_is_second(s->engine, s->run);
    csc_lock_give(&s->engine->mutex);
    return second ? CASCADE_ERR_AGAIN : CASCADE_OK;
}

/* Whether it is still read for the incarnation that there is. */
static bool
is_wanted_locked(const csc_stream *s)
{
    csc_assert(csc_lock_is_held(&s->engine->mutex));
    return s->engine->incarnation.attached &&
           csc_uuid_equal(&s->engine_id, &s->engine->incarnation.id);
}

/* What was read is held, or, on an error, read anew later. */
static void
settle_locked(csc_stream *s, cascade_err err)
{
    cascade_engine *engine = s->engine;

    csc_assert(csc_lock_is_held(&s->engine->mutex) &&
               s->run->life == CSC_RUN_LOADING);
    if (!is_wanted_locked(s))
        return;
    if (err == CASCADE_ERR_AGAIN)
        csc_waiting_add(engine, &s->reload);
    else if (err == CASCADE_OK || err == s->err)
        csc_hydrate_take_in_locked(
            engine, s->run, &s->reload,
            csc_receive_take(&s->inbox, &s->reload.claimed.cascade_id), err);
    else
        csc_hydrate_later_locked(engine, &s->reload, err);
}

static void
end_stream(csc_stream *s, cascade_err err)
{
    cascade_engine *engine = s->engine;
    csc_stream **at = &engine->reloads.streams;

    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK)
        err = s->err = csc_hydrate_complete(s->run);
    csc_lock_take(&engine->mutex);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    csc_assert(engine->reloads.stream_count > 0);
    engine->reloads.stream_count--;
    engine->reloads.stream_suspects -= is_suspect(s);
    settle_locked(s, err);
    csc_assert(engine->reloads.in_hand > 0);
    engine->reloads.in_hand--;
    engine->reloads.at_ns = 0; /* another one may have waited for its place */
    free_stream_locked(s);
    csc_lock_give(&engine->mutex);
}

void
csc_stream_fini(cascade_engine *engine)
{
    csc_lock_take(&engine->mutex);
    while (engine->reloads.streams != NULL) {
        csc_stream *next = engine->reloads.streams->next;

        free_stream_locked(engine->reloads.streams);
        engine->reloads.streams = next;
    }
    csc_lock_give(&engine->mutex);
}

/* ---- Turns --------------------------------------------------------------- */

/* The first one that is due goes to the end. */
static csc_stream *
take_turn(cascade_engine *engine, bool *wanted)
{
    int64_t now_ns = csc_clock_now_ns(engine);
    csc_stream **at = &engine->reloads.streams;
    csc_stream *s = NULL;

    csc_lock_take(&engine->mutex);
    while (*at != NULL && is_wanted_locked(*at) && (*at)->at_ns > now_ns)
        at = &(*at)->next;
    s = *at;
    if (s != NULL) {
        *at = s->next;
        while (*at != NULL)
            at = &(*at)->next;
        *at = s;
        s->next = NULL;
        *wanted = is_wanted_locked(s);
    }
    csc_lock_give(&engine->mutex);
    return s;
}

static void
tell_failure(const csc_stream *s)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_log_add(&s->engine->store->log, CASCADE_LOG_WARNING,
                "reading a portion of cascade %s failed: %s",
                cascade_uuid_format(&s->reload.claimed.cascade_id, id),
                cascade_errmsg());
}

/* False where there was none, or where it failed. */
static bool
have_turn(cascade_engine *engine)
{
    int64_t begun_ns = csc_clock_now_ns(engine);
    bool wanted = false;
    csc_stream *s = take_turn(engine, &wanted);
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (s == NULL)
        return false;
    if (!wanted) {
        end_stream(s, CASCADE_ERR_FENCED);
        return true;
    }
    err = read_portion(s);
    if (err == CASCADE_OK) {
        int64_t took_ns = csc_clock_now_ns(engine) - begun_ns;

        s->run->read_ns += took_ns;
        adapt(s, took_ns);
        err = s->err == CASCADE_OK ? weigh(s) : s->err;
    } else {
        tell_failure(s);
        if (err == CASCADE_ERR_UNAVAILABLE && try_smaller(s))
            return false;
    }
    if (err != CASCADE_OK || s->step == STEP_OVER)
        end_stream(s, err);
    return err == CASCADE_OK;
}

/* Turns that take little time, one after another: a small one that is alone,
 * as it was read with a large one before, is not to wait for as many rounds as
 * it has parts. */
void
csc_stream_round(cascade_engine *engine)
{
    int64_t until_ns = csc_clock_now_ns(engine) + ROUND_MS * CSC_MS_NS;

    while (have_turn(engine) && csc_clock_now_ns(engine) < until_ns)
        continue;
}

int64_t
csc_stream_next_ns_locked(const cascade_engine *engine)
{
    const csc_stream *s = engine->reloads.streams;
    int64_t at_ns = INT64_MAX;

    csc_assert(csc_lock_is_held(&engine->mutex));
    for (; s != NULL; s = s->next)
        if (s->at_ns < at_ns)
            at_ns = s->at_ns;
    return at_ns;
}

size_t
csc_stream_ids_locked(const cascade_engine *engine, cascade_uuid *ids,
                      size_t max)
{
    const csc_stream *s = engine->reloads.streams;
    size_t count = 0;

    csc_assert(csc_lock_is_held(&engine->mutex));
    for (; s != NULL && count < max; s = s->next)
        ids[count++] = s->reload.claimed.cascade_id;
    return count;
}
