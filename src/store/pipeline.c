/* SPDX-License-Identifier: MIT */
#include "store/pipeline.h"

#include <string.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/rows.h"
#include "store/move.h"
#include "store/store.h"

#define PATIENCE_MS 100
#define CONNECTIONS_PER_BATCH 4 /* there are, for each that is under way */

typedef enum place {
    QUEUED,
    LEADS,
    TAKEN,
    DONE,
    APART,
    LATE
} place;

/* Lies on its caller's stack. */
struct csc_pipeline_call {
    const cascade_submission *submission;
    size_t rows;
    size_t bytes;
    place place;
    int64_t queued_ms;     /* since when */
    csc_error_kept answer; /* once DONE */
    bool told;             /* another one tells the engines of it */
    pthread_cond_t cond;
    csc_pipeline_call *next; /* in the queue, in the batch, apart */
};

cascade_err
csc_pipeline_init(csc_pipeline *pipeline, size_t lanes, size_t connections)
{
    memset(pipeline, 0, sizeof(*pipeline));
    pipeline->usual = lanes > 1 ? 2 : 1;
    pipeline->most = connections / CONNECTIONS_PER_BATCH;
    if (pipeline->most <= pipeline->usual)
        pipeline->most = pipeline->usual + 1; /* one may hang */
    pipeline->patience_ms = PATIENCE_MS;
    return csc_lock_init_mutex(&pipeline->mutex);
}

void
csc_pipeline_fini(csc_pipeline *pipeline)
{
    csc_assert(pipeline->batches == 0 && pipeline->apart == NULL);
    csc_lock_fini_mutex(&pipeline->mutex);
}

/* ---- What a call brings -------------------------------------------------- */

static void
measure_start(csc_pipeline_call *c, const cascade_change *start)
{
    c->rows += 1 + start->insert_count + start->event_count + start->send_count;
    for (size_t i = 0; i < start->insert_count; i++)
        c->bytes += csc_store_execution_bytes(&start->inserts[i]);
    for (size_t i = 0; i < start->event_count; i++)
        c->bytes += csc_store_event_bytes(&start->events[i]);
    for (size_t i = 0; i < start->send_count; i++)
        c->bytes += csc_store_message_bytes(&start->sends[i]);
}

/* Whether it may go with others. */
static bool
measure(csc_pipeline_call *c)
{
    const cascade_submission *given = c->submission;

    if (given->start_count > CSC_PIPELINE_ROWS_MAX ||
        given->message_count > CSC_PIPELINE_ROWS_MAX)
        return false;
    for (size_t i = 0; i < given->start_count; i++) {
        if (given->starts[i].run_number > 1)
            return false;
        measure_start(c, &given->starts[i]);
    }
    c->rows += given->message_count;
    for (size_t i = 0; i < given->message_count; i++)
        c->bytes += csc_store_message_bytes(&given->messages[i]);
    return c->rows <= CSC_PIPELINE_ROWS_MAX &&
           c->bytes <= CSC_PIPELINE_BYTES_MAX;
}

static bool
has_start(const cascade_submission *given, const cascade_uuid *id)
{
    for (size_t i = 0; i < given->start_count; i++)
        if (csc_uuid_equal(&given->starts[i].cascade.id, id))
            return true;
    return false;
}

static bool
has_path(const cascade_submission *given, const char *path)
{
    for (size_t i = 0; i < given->message_count; i++)
        if (strcmp(given->messages[i].path, path) == 0)
            return true;
    return false;
}

/* Whether they bring the same cascade, or the same path. */
static bool
meet(const cascade_submission *a, const cascade_submission *b)
{
    for (size_t i = 0; i < a->start_count; i++)
        if (has_start(b, &a->starts[i].cascade.id))
            return true;
    for (size_t i = 0; i < a->message_count; i++)
        if (has_path(b, a->messages[i].path))
            return true;
    return false;
}

/* ---- The queue ----------------------------------------------------------- */

static void
enter_queue(csc_pipeline *p, csc_pipeline_call *c)
{
    csc_assert(csc_lock_is_held(&p->mutex));
    c->place = QUEUED;
    c->queued_ms = csc_clock_monotonic_ms(&csc_clock_system);
    c->next = NULL;
    if (p->last != NULL)
        p->last->next = c;
    else
        p->first = c;
    p->last = c;
    p->queued++;
}

static csc_pipeline_call *
pop(csc_pipeline *p)
{
    csc_pipeline_call *c = p->first;

    csc_assert(csc_lock_is_held(&p->mutex));
    p->first = c->next;
    p->queued--;
    if (p->first == NULL)
        p->last = NULL;
    c->next = NULL;
    return c;
}

static void
leave_queue(csc_pipeline *p, csc_pipeline_call *c)
{
    csc_pipeline_call *previous = NULL;
    csc_pipeline_call *at = p->first;

    csc_assert(csc_lock_is_held(&p->mutex));
    while (at != c) {
        previous = at;
        at = at->next;
    }
    if (previous == NULL) {
        (void)pop(p);
        return;
    }
    previous->next = c->next;
    p->queued--;
    if (p->last == c)
        p->last = previous;
}

static void
make_leader(csc_pipeline *p, csc_pipeline_call *c)
{
    csc_assert(csc_lock_is_held(&p->mutex));
    c->place = LEADS;
    c->next = NULL;
    p->batches++;
    p->under_way++;
}

/* Whether a batch of the queue is to go, beside those under way. */
static bool
may_go(const csc_pipeline *p)
{
    csc_assert(csc_lock_is_held(&p->mutex));
    return p->called == NULL && p->batches < p->usual && p->first != NULL &&
           p->queued >= p->under_way;
}

/* The rest of the queue, as far as the bounds go, behind the leader. */
static void
take_batch(csc_pipeline *p, csc_pipeline_call *leader)
{
    csc_pipeline_call *last = leader;
    size_t rows = leader->rows;
    size_t bytes = leader->bytes;

    csc_assert(csc_lock_is_held(&p->mutex));
    while (p->first != NULL) {
        rows += p->first->rows;
        bytes += p->first->bytes;
        if (rows > CSC_PIPELINE_BATCH_ROWS_MAX ||
            bytes > CSC_PIPELINE_BATCH_BYTES_MAX)
            return;
        last->next = pop(p);
        last = last->next;
        last->place = TAKEN;
        p->under_way++;
    }
}

/* Once, in the queue: it may be somewhere else then. */
static void
wait_in_queue(csc_pipeline *p, csc_pipeline_call *c, int64_t end_ms)
{
    int64_t left = csc_clock_left_ms(end_ms);
    int64_t patience = csc_clock_left_ms(c->queued_ms + p->patience_ms);

    csc_assert(csc_lock_is_held(&p->mutex));
    if (left <= 0) {
        leave_queue(p, c);
        c->place = LATE;
    } else if (patience <= 0 && p->first == c && p->batches < p->most) {
        make_leader(p, pop(p));
    } else {
        if (patience <= 0)
            patience = p->patience_ms;
        csc_lock_wait(&c->cond, &p->mutex, patience < left ? patience : left);
    }
}

/* ---- A batch ------------------------------------------------------------- */

typedef struct joined {
    csc_arena arena;
    cascade_change *starts;
    cascade_message_row *messages;
    cascade_submission submission;
} joined;

static cascade_err
make_room(joined *j, const csc_pipeline_call *batch)
{
    cascade_submission *all = &j->submission;

    for (const csc_pipeline_call *c = batch; c != NULL; c = c->next) {
        all->start_count += c->submission->start_count;
        all->message_count += c->submission->message_count;
    }
    j->starts =
        csc_arena_alloc(&j->arena, all->start_count + 1, sizeof(*all->starts));
    j->messages = csc_arena_alloc(&j->arena, all->message_count + 1,
                                  sizeof(*all->messages));
    all->existed =
        csc_arena_alloc(&j->arena, all->start_count + 1, sizeof(*all->existed));
    all->sent =
        csc_arena_alloc(&j->arena, all->message_count + 1, sizeof(*all->sent));
    return j->arena.failed ? csc_fail_memory() : CASCADE_OK;
}

/* In the order of the calls, and of each in its own. */
static void
join(joined *j, const csc_pipeline_call *batch)
{
    size_t starts = 0;
    size_t messages = 0;
    bool quiet = true;

    for (const csc_pipeline_call *c = batch; c != NULL; c = c->next) {
        const cascade_submission *given = c->submission;

        quiet = quiet && given->quiet;
        for (size_t i = 0; i < given->start_count; i++)
            j->starts[starts++] = given->starts[i];
        for (size_t i = 0; i < given->message_count; i++)
            j->messages[messages++] = given->messages[i];
    }
    j->submission.starts = j->starts;
    j->submission.messages = j->messages;
    j->submission.brief = true;
    j->submission.quiet = quiet;
}

static void
give_answers(const joined *j, const csc_pipeline_call *batch)
{
    size_t starts = 0;
    size_t messages = 0;

    for (const csc_pipeline_call *c = batch; c != NULL; c = c->next) {
        const cascade_submission *given = c->submission;

        for (size_t i = 0; i < given->start_count; i++)
            given->existed[i] = j->submission.existed[starts++];
        for (size_t i = 0; i < given->message_count; i++)
            given->sent[i] = j->submission.sent[messages++];
    }
}

static cascade_err
send_several(const cascade_store *store, const csc_pipeline_call *batch)
{
    joined j = {.starts = NULL};
    cascade_err err = make_room(&j, batch);

    if (err == CASCADE_OK) {
        join(&j, batch);
        err = csc_move_submit(store, &j.submission);
    }
    if (err == CASCADE_OK)
        give_answers(&j, batch);
    csc_arena_fini(&j.arena);
    return err;
}

static cascade_err
send_batch(const cascade_store *store, const csc_pipeline_call *batch)
{
    cascade_submission alone = *batch->submission;

    csc_assert(csc_lock_is_none_held());
    if (batch->next != NULL)
        return send_several(store, batch);
    alone.brief = true;
    return csc_move_submit(store, &alone);
}

/* What the outcome of a batch is to those in it. */
static place
judge(const csc_pipeline_call *batch, cascade_err err)
{
    bool answers = err == CASCADE_OK || err == CASCADE_ERR_UNAVAILABLE;
    bool asked = err != CASCADE_ERR_AGAIN || batch->submission->brief;

    if (answers || (batch->next == NULL && asked))
        return DONE;
    return APART;
}

static void
hand_over(csc_pipeline *p)
{
    csc_pipeline_call *next;

    csc_assert(csc_lock_is_held(&p->mutex));
    if (!may_go(p))
        return;
    next = pop(p);
    make_leader(p, next);
    p->called = next;
    pthread_cond_signal(&next->cond);
}

static void
lead(cascade_store *store, csc_pipeline_call *leader)
{
    csc_pipeline *p = &store->pipeline;
    csc_error_kept answer = {.err = CASCADE_OK};
    csc_pipeline_call *next = NULL;
    place end;

    csc_assert(csc_lock_is_held(&p->mutex));
    take_batch(p, leader);
    if (p->called == leader)
        p->called = NULL;
    hand_over(p);
    csc_lock_give(&p->mutex);
    answer.err = send_batch(store, leader);
    if (answer.err != CASCADE_OK)
        csc_error_keep(&answer, answer.err);
    csc_lock_take(&p->mutex);
    p->batches--;
    for (const csc_pipeline_call *c = leader; c != NULL; c = c->next)
        p->under_way--;
    hand_over(p);
    end = judge(leader, answer.err);
    for (csc_pipeline_call *c = leader; c != NULL; c = next) {
        next = c->next;
        c->place = end;
        c->told = end == DONE && c != leader && !leader->submission->quiet;
        c->answer.err = answer.err;
        if (answer.err != CASCADE_OK)
            c->answer = answer;
        if (c != leader)
            pthread_cond_signal(&c->cond);
    }
}

/* ---- Apart --------------------------------------------------------------- */

static bool
meets_apart(const csc_pipeline *p, const csc_pipeline_call *c)
{
    const csc_pipeline_call *other = p->apart;

    csc_assert(csc_lock_is_held(&p->mutex));
    while (other != NULL && !meet(other->submission, c->submission))
        other = other->next;
    return other != NULL;
}

/* With the mutex, which it gives up meanwhile. */
static cascade_err
go_apart(cascade_store *store, csc_pipeline_call *c)
{
    csc_pipeline *p = &store->pipeline;
    csc_pipeline_call **at = &p->apart;
    cascade_err err;

    csc_assert(csc_lock_is_held(&p->mutex));
    c->next = p->apart;
    p->apart = c;
    p->apart_count++;
    csc_lock_give(&p->mutex);
    err = csc_move_submit(store, c->submission);
    csc_lock_take(&p->mutex);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    p->apart_count--;
    return err;
}

/* ---- A call -------------------------------------------------------------- */

static cascade_err
fail_late(void)
{
    return csc_fail(CASCADE_ERR_NOT_DONE,
                    "it was not sent: what was sent before takes too long");
}

/* With the mutex. */
static cascade_err
go_through(cascade_store *store, csc_pipeline_call *c, int64_t end_ms)
{
    csc_pipeline *p = &store->pipeline;

    csc_assert(csc_lock_is_held(&p->mutex));
    if (meets_apart(p, c))
        c->place = APART;
    else
        enter_queue(p, c);
    if (c->place == QUEUED)
        hand_over(p);
    while (c->place == QUEUED)
        wait_in_queue(p, c, end_ms);
    if (c->place == LEADS)
        lead(store, c);
    while (c->place == TAKEN)
        pthread_cond_wait(&c->cond, &p->mutex);
    if (c->place == LATE)
        return fail_late();
    if (c->place == DONE)
        return c->answer.err == CASCADE_OK ? CASCADE_OK
                                           : csc_error_restore(&c->answer);
    if (csc_clock_left_ms(end_ms) <= 0)
        return fail_late(); /* nothing of its batch has taken effect */
    return go_apart(store, c);
}

cascade_err
csc_pipeline_submit(cascade_store *store, const cascade_submission *submission,
                    int64_t end_ms, bool *told)
{
    csc_pipeline_call c = {.submission = submission};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    *told = false;
    if (store->guest != NULL || !measure(&c) ||
        csc_lock_init_cond(&c.cond) != CASCADE_OK)
        return csc_move_submit(store, submission);
    csc_lock_take(&store->pipeline.mutex);
    err = go_through(store, &c, end_ms);
    csc_lock_give(&store->pipeline.mutex);
    *told = c.told;
    csc_lock_fini_cond(&c.cond);
    return err;
}
