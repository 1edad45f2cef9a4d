/* SPDX-License-Identifier: MIT
 *
 * The watch over a store; see watch.h.
 */
#include "engine/support/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/data/buf.h"
#include "base/data/map.h"
#include "base/json/json.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "change/build/build.h"
#include "engine/support/mix.h"
#include "held/engine_state.h"
#include "held/lane/lane_queue.h"
#include "held/run/run.h"
#include "state/state.h"
#include "state/supersede.h"

#define FOLLOW_LIMIT_S 100 /* for what comes first to be followed */

typedef struct shadow {
    dump_rows rows;
    csc_state state;
    csc_buf picture; /* of the state, as of its last commit */
    cascade_uuid by; /* whose commit is in flight, or all zero, */
    uint32_t lane;   /* and in which of its lanes */
} shadow;

#define LANES (CSC_LANES_MAX + CSC_NATIVES_MAX)

/* What an incarnation has sent through each lane. */
typedef struct sent {
    int64_t decided[LANES];  /* number of the last that took effect */
    int64_t number[LANES];   /* of the last try */
    bool open[LANES];        /* whose outcome the engine cannot know */
    bool doubtful[LANES];    /* a try of that number had no answer */
    csc_buf text[LANES];     /* of the last try */
    cascade_uuid run[LANES]; /* FINISH: of which cascade */
} sent;

/* ---- Batches ------------------------------------------------------------ */

static sent *
find_sent(watch *w, const cascade_uuid *engine_id)
{
    sent *s = csc_map_get(&w->lanes, engine_id);

    if (s == NULL) {
        s = calloc(1, sizeof(*s));
        if (s == NULL || csc_map_put(&w->lanes, engine_id, s) != 0)
            abort();
    }
    return s;
}

static void
write_batch(csc_buf *out, const cascade_batch *batch)
{
    for (size_t i = 0; i < batch->change_count; i++) {
        const cascade_change *change = &batch->changes[i];
        dump_rows rows = {0};

        csc_buf_add_format(out, "action %d wake %lld status %d fn_id %d\n",
                           (int)change->run_action,
                           (long long)change->run.wake_at_ms,
                           (int)change->cascade.status, change->cascade.fn_id);
        rows.cascade.user_id = "";
        dump_rows_apply(&rows, change);
        rows.found = true;
        dump_rows_text(out, &rows);
        for (size_t u = 0; u < change->update_count; u++)
            csc_buf_add_format(
                out, "update %d %s %s\n", change->updates[u].function_id,
                change->updates[u].full_output, change->updates[u].error);
        dump_rows_fini(&rows);
    }
}

/* Sorted by cascade, each of them once. */
static void
check_order(const cascade_batch *batch)
{
    for (size_t i = 1; i < batch->change_count; i++)
        expect(csc_uuid_compare(&batch->changes[i - 1].cascade.id,
                                &batch->changes[i].cascade.id) < 0);
}

/* A try of a batch whose outcome is open must be the same batch again. */
static void
check_repeat(watch *w, const cascade_batch *batch)
{
    sent *s = find_sent(w, &batch->engine_id);
    csc_buf text = {0};

    write_batch(&text, batch);
    if (s->open[batch->lane]) {
        expect(s->number[batch->lane] == batch->number);
        if (!expect(strcmp(s->text[batch->lane].data, text.data) == 0))
            dump_differ("repeated batches", s->text[batch->lane].data,
                        text.data);
    } else {
        expect(batch->number == s->decided[batch->lane] + 1);
    }
    csc_buf_fini(&s->text[batch->lane]);
    s->text[batch->lane] = text;
    s->number[batch->lane] = batch->number;
}

/* ---- Comparing ---------------------------------------------------------- */

static void
compare(watch *w, const char *what, const csc_buf *left, const csc_buf *right)
{
    if (strcmp(left->data, right->data) == 0)
        return;
    w->unequal++;
    if (!expect(strcmp(left->data, right->data) == 0) && w->unequal < 5)
        dump_differ(what, left->data, right->data);
}

/* The engine's state of a cascade, if it holds it whole, as of the last
 * commit. */
static void
compare_live(watch *w, const cascade_uuid *engine_id, shadow *s)
{
    csc_buf live = {0};

    for (size_t i = 0; i < w->engine_count; i++) {
        cascade_engine *engine = w->engines[i];
        const csc_run *run = NULL;

        pthread_mutex_lock(&engine->mutex);
        if (engine->incarnation.attached &&
            csc_uuid_equal(&engine->incarnation.id, engine_id))
            run = csc_map_get(&engine->runs, &s->state.id);
        if (run != NULL && run->extent == CSC_EXTENT_WHOLE)
            dump_state(&live, &run->state);
        pthread_mutex_unlock(&engine->mutex);
    }
    if (live.len > 0) {
        w->live++;
        compare(w, "the engine's and the applied state", &live, &s->picture);
    }
    csc_buf_fini(&live);
}

static void
compare_hydrated(watch *w, const wrap_call *call, shadow *s)
{
    dump_rows rows = {0};
    csc_state state;
    csc_buf texts[3] = {{0}};

    if (!expect(dump_rows_load(&rows, w->wrap.inner, call->self,
                               &s->state.id) == CASCADE_OK))
        return;
    dump_rows_text(&texts[0], &s->rows);
    dump_rows_text(&texts[1], &rows);
    compare(w, "the committed and the loaded rows", &texts[0], &texts[1]);
    if (expect(dump_rows_hydrate(&rows, &state) == CASCADE_OK)) {
        dump_state(&texts[2], &state);
        compare(w, "the applied and the hydrated state", &s->picture,
                &texts[2]);
    }
    csc_state_fini(&state);
    w->compared++;
    for (size_t i = 0; i < 3; i++)
        csc_buf_fini(&texts[i]);
    dump_rows_fini(&rows);
}

/* ---- Following ---------------------------------------------------------- */

static shadow *
new_shadow(watch *w, const cascade_uuid *id)
{
    shadow *s = calloc(1, sizeof(*s));

    if (s == NULL || csc_map_put(&w->shadows, id, s) != 0)
        abort();
    csc_state_init(&s->state, id);
    return s;
}

static void
note_ended(const shadow *s, const cascade_execution_row *row)
{
    if (row->status == CASCADE_EXECUTION_RUNNING)
        return;
    for (size_t i = 0; i < s->rows.execution_count; i++)
        if (s->rows.executions[i].function_id == row->function_id)
            mix_note_recorded(s->rows.executions[i].node_instance_id);
}

/* Each execution and step has its events in one commit: the one that ended
 * it. */
static void
check_events(const shadow *s, const cascade_change *change)
{
    for (size_t i = 0; i < change->event_count; i++)
        for (size_t e = 0; e < s->rows.event_count; e++)
            expect(s->rows.events[e].function_id !=
                   change->events[i].function_id);
}

static void
expect_canonical(const char *text)
{
    csc_buf out = {0};

    if (text == NULL)
        return;
    expect(csc_json_canon("row", text, strlen(text), 1 << 20, &out) ==
           CASCADE_OK);
    expect(out.data != NULL && strcmp(out.data, text) == 0);
    csc_buf_fini(&out);
}

/* Every payload is what a jsonb would give back. */
static void
check_canonical(const cascade_change *change)
{
    for (size_t i = 0; i < change->update_count; i++)
        expect_canonical(change->updates[i].full_output);
    for (size_t i = 0; i < change->insert_count; i++) {
        expect_canonical(change->inserts[i].full_output);
        expect_canonical(change->inserts[i].input);
    }
    for (size_t i = 0; i < change->event_count; i++) {
        expect_canonical(change->events[i].value);
        expect_canonical(change->events[i].ui_value);
    }
}

/* An engine may claim and commit what was started before the thread that did
 * so is here: then that start comes first. */
static shadow *
await_shadow(watch *w, const cascade_uuid *id)
{
    shadow *s = csc_map_get(&w->shadows, id);
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += FOLLOW_LIMIT_S;
    while (s == NULL &&
           pthread_cond_timedwait(&w->followed, &w->mutex, &until) == 0)
        s = csc_map_get(&w->shadows, id);
    return s;
}

/* A retry or a rerun that is carried out. */
static bool
has_course(const cascade_change *change)
{
    for (size_t i = 0; i < change->insert_count; i++)
        if (change->inserts[i].status == CASCADE_EXECUTION_COMPLETED &&
            csc_supersede_is_receipt(&change->inserts[i]))
            return true;
    return false;
}

static void
follow(watch *w, const wrap_call *call, const cascade_change *change,
       bool existed)
{
    bool start = change->run_action == CASCADE_RUN_START;
    shadow *s = csc_map_get(&w->shadows, &change->cascade.id);

    if (start && existed)
        return;
    if (start && s == NULL)
        s = new_shadow(w, &change->cascade.id);
    else if (!expect(!start && s != NULL))
        return;
    expect(start || change->cascade.fn_id >= s->rows.cascade.fn_id);
    check_events(s, change);
    check_canonical(change);
    dump_rows_apply(&s->rows, change);
    for (size_t i = 0; i < change->update_count; i++)
        note_ended(s, &change->updates[i]);
    for (size_t i = 0; i < change->insert_count; i++)
        note_ended(s, &change->inserts[i]);
    if (has_course(change)) {
        csc_state_fini(&s->state); /* live it is loaded anew too */
        expect(dump_rows_hydrate(&s->rows, &s->state) == CASCADE_OK);
    } else {
        expect(csc_build_apply(&s->state, change) == CASCADE_OK);
    }
    csc_buf_clear(&s->picture);
    dump_state(&s->picture, &s->state);
    if (call->move != WRAP_SUBMIT) /* a submitted one may have gone on */
        compare_hydrated(w, call, s);
}

/* The commit of one cascade is in flight, and no other of that engine is. */
static void
take_flight(const cascade_batch *batch, shadow *s)
{
    if (csc_uuid_equal(&s->by, &batch->engine_id))
        expect(s->lane == batch->lane);
    s->by = batch->engine_id;
    s->lane = batch->lane;
}

static void
end_flight(watch *w, const cascade_uuid *id, const cascade_uuid *engine_id)
{
    shadow *s = csc_map_get(&w->shadows, id);

    if (s != NULL && csc_uuid_equal(&s->by, engine_id))
        memset(&s->by, 0, sizeof(s->by));
}

/* A commit begins, of a lane or of a transactional node, which is not repeated.
 */
static void
begin_commit(watch *w, const wrap_call *call)
{
    const cascade_batch *batch = call->batch;
    sent *sender = find_sent(w, &batch->engine_id);

    check_order(batch);
    if (call->move == WRAP_COMMIT)
        check_repeat(w, batch);
    else
        expect(!sender->open[batch->lane] &&
               batch->number > sender->decided[batch->lane]);
    sender->run[batch->lane] = batch->changes[0].cascade.id;
    for (size_t i = 0; i < batch->change_count; i++) {
        shadow *s = NULL;

        if (batch->changes[i].run_action == CASCADE_RUN_START)
            continue;
        s = await_shadow(w, &batch->changes[i].cascade.id);
        if (s == NULL)
            continue;
        take_flight(batch, s);
        if (!sender->open[batch->lane])
            compare_live(w, &batch->engine_id, s);
    }
    /* Until the engine is told otherwise. */
    sender->open[batch->lane] = true;
}

static cascade_err
before_move(void *context, const wrap_call *call)
{
    watch *w = context;

    if (call->move == WRAP_COMMIT || call->move == WRAP_FINISH) {
        pthread_mutex_lock(&w->mutex);
        begin_commit(w, call);
        pthread_mutex_unlock(&w->mutex);
    }
    return w->before != NULL ? w->before(w->context, call) : CASCADE_OK;
}

static void
after_commit(watch *w, const wrap_call *call)
{
    const cascade_batch *batch = call->batch;
    sent *s = find_sent(w, &batch->engine_id);

    if (s->decided[batch->lane] == batch->number)
        return; /* repeated: it took effect before */
    s->decided[batch->lane] = batch->number;
    w->commits++;
    for (size_t i = 0; i < batch->change_count; i++)
        follow(w, call, &batch->changes[i], call->existed[i]);
    pthread_cond_broadcast(&w->followed);
}

static cascade_err
after_move(void *context, const wrap_call *call, cascade_err answer)
{
    watch *w = context;

    pthread_mutex_lock(&w->mutex);
    if ((call->move == WRAP_COMMIT || call->move == WRAP_FINISH) &&
        answer == CASCADE_OK)
        after_commit(w, call);
    if (call->move == WRAP_SUBMIT && answer == CASCADE_OK)
        for (size_t i = 0; i < call->start_count; i++)
            if (csc_map_get(&w->shadows, &call->starts[i].cascade.id) == NULL)
                follow(w, call, &call->starts[i], call->existed[i]);
    if (call->move == WRAP_SUBMIT)
        pthread_cond_broadcast(&w->followed);
    pthread_mutex_unlock(&w->mutex);
    return answer;
}

/* A lane that commits has its number used up (S33), unless its batch took
 * effect: then that is told when it is repeated. */
static void
note_settled(sent *s, uint32_t lane, cascade_err answer, bool committed)
{
    if (s->text[lane].data == NULL) {
        s->open[lane] = answer == CASCADE_ERR_UNAVAILABLE;
    } else if (answer == CASCADE_OK && !committed) {
        s->open[lane] = false;
        s->doubtful[lane] = false;
        s->decided[lane] = s->number[lane] + 1;
    }
}

/* What has not taken effect may come to do so where it had no answer before. */
static void
note_tried(sent *s, uint32_t lane, cascade_err answer)
{
    bool undone = answer == CASCADE_ERR_AGAIN ||
                  answer == CASCADE_ERR_NOT_DONE ||
                  answer == CASCADE_ERR_REFUSED;

    s->doubtful[lane] =
        answer == CASCADE_ERR_UNAVAILABLE || (undone && s->doubtful[lane]);
    s->open[lane] = s->doubtful[lane];
}

/* What the engine is told in the end. */
static void
answered(void *context, const wrap_call *call, cascade_err answer)
{
    watch *w = context;
    bool settle = call->move == WRAP_SETTLE;
    const cascade_batch *batch = call->batch;
    sent *sender = NULL;
    uint32_t lane = 0;

    if (call->move != WRAP_COMMIT && call->move != WRAP_FINISH && !settle)
        return;
    pthread_mutex_lock(&w->mutex);
    sender = find_sent(w, settle ? call->engine_id : &batch->engine_id);
    lane = settle ? call->lane : batch->lane;
    if (settle)
        note_settled(sender, lane, answer,
                     answer == CASCADE_OK && *call->committed);
    else
        note_tried(sender, lane, answer);
    if (answer != CASCADE_ERR_UNAVAILABLE && settle)
        end_flight(w, &sender->run[lane], call->engine_id);
    for (size_t i = 0;
         !settle && !sender->open[lane] && i < batch->change_count; i++)
        end_flight(w, &batch->changes[i].cascade.id, &batch->engine_id);
    pthread_mutex_unlock(&w->mutex);
}

/* ---- The object --------------------------------------------------------- */

void
watch_init(watch *w, const char *url)
{
    memset(w, 0, sizeof(*w));
    assert_int_equal(wrap_store_init(&w->wrap, url), 0);
    pthread_mutex_init(&w->mutex, NULL);
    assert_int_equal(csc_lock_init_cond(&w->followed), CASCADE_OK);
    csc_map_init(&w->shadows);
    csc_map_init(&w->lanes);
    w->wrap.context = w;
    w->wrap.before = before_move;
    w->wrap.after = after_move;
    w->wrap.answered = answered;
}

void
watch_fini(watch *w)
{
    size_t at = 0;
    shadow *s = NULL;
    sent *lanes = NULL;

    while ((s = csc_map_next(&w->shadows, &at)) != NULL) {
        dump_rows_fini(&s->rows);
        csc_state_fini(&s->state);
        csc_buf_fini(&s->picture);
        free(s);
    }
    at = 0;
    while ((lanes = csc_map_next(&w->lanes, &at)) != NULL) {
        for (size_t i = 0; i < LANES; i++)
            csc_buf_fini(&lanes->text[i]);
        free(lanes);
    }
    csc_map_fini(&w->shadows);
    csc_map_fini(&w->lanes);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->followed);
    wrap_store_fini(&w->wrap);
}

void
watch_engine(watch *w, cascade_engine *engine)
{
    pthread_mutex_lock(&w->mutex);
    w->engines[w->engine_count++] = engine;
    pthread_mutex_unlock(&w->mutex);
}

void
watch_forget_engines(watch *w)
{
    pthread_mutex_lock(&w->mutex);
    w->engine_count = 0;
    pthread_mutex_unlock(&w->mutex);
}

void
watch_check(watch *w, size_t commits_min)
{
    print_message("%zu commits, %zu hydrated and %zu live states compared\n",
                  w->commits, w->compared, w->live);
    assert_true(w->commits >= commits_min);
    assert_true(w->compared >= w->commits);
    assert_true(w->live > 0);
    assert_int_equal(w->unequal, 0);
}
