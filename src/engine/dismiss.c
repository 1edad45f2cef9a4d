/* SPDX-License-Identifier: MIT
 *
 * Dismissing: a cascade that was claimed only to be ended, or that has ended
 * and was claimed for its messages, is not loaded. So neither costs the more
 * the larger the cascade is.
 *
 *   claimed for a terminate, for a delete, or for the first time
 *     |
 *   read: its row, and its messages
 *     |
 *     +-- RUNNING, first to be ended --> read: its family (S24)
 *     |                                  |
 *     +-- ended in ERROR, and not -----> |
 *     |   asked to go on                 |
 *     +-- COMPLETED, and told of its     |
 *     |   children, or to be deleted     |
 *     |   as whoever asked has seen it ->|
 *     |                                  v
 *     +-- else: loaded whole             one commit, after which it has ended
 *
 * Such a run is `partial`: of its state there is what that commit is made of,
 * the fn_id of its row, its parent, its children. Executions that are not read
 * have no part in it: those that are RUNNING stay so in the table, and have
 * ended with their cascade. So what is recorded is what is recorded of a
 * cascade that is held whole.
 *
 * Nothing of a partial run ever begins: it is not advanced, and leaves memory
 * with the commit that it is made for. When the store refuses that one the
 * cascade is loaded whole, and the messages are received once more.
 *
 * A message that comes before the one that ends the cascade is received first,
 * which takes the whole: a signal may end a wait. What comes behind is recorded
 * as undelivered, for which the row is enough. What comes for a cascade that is
 * COMPLETED may have to be sent on to its next run, which its executions name.
 * And one that has no function_id left is ended by one of its executions.
 *
 * Nothing here is committed; if the process dies, the runs are freed as those
 * of any other claim.
 */
#include <string.h>

#include "base/json.h"
#include "engine/build.h"
#include "engine/engine.h"

typedef struct dismissal {
    cascade_engine *engine;
    csc_run *runs[CSC_CLAIM_MAX];
    size_t count;
    csc_map places; /* id -> run, of those that still may be dismissed */
    csc_inbox inbox;
} dismissal;

/* ---- Which -------------------------------------------------------------- */

static bool
asks_for_end(const char *kind)
{
    return strcmp(kind, CSC_MESSAGE_TERMINATE) == 0 ||
           strcmp(kind, CSC_MESSAGE_DELETE) == 0;
}

/* Whether of what comes anew the first message ends a cascade that is RUNNING.
 */
static bool
ends_first(const csc_post *post)
{
    const csc_message *message = post->messages;

    while (message != NULL && message->repeated)
        message = message->next;
    return message != NULL && asks_for_end(message->kind);
}

/* What a run that is COMPLETED need not be read for: its deletion is refused
 * where it continued after that was asked for (csc_build_keep_run). */
static bool
is_of_itself(const csc_state *state, const csc_message *message)
{
    if (strcmp(message->kind, CSC_MESSAGE_DELETE) == 0)
        return csc_build_is_unchanged(state, message);
    return strcmp(message->kind, CSC_MESSAGE_CHILD) == 0;
}

/* None is to be sent on to the next run. */
static bool
are_of_itself(const csc_state *state, const csc_post *post)
{
    const csc_message *message = post->messages;

    while (message != NULL && is_of_itself(state, message))
        message = message->next;
    return message == NULL;
}

/* A retry or a rerun is made of all rows. */
static bool
asks_for_all(const csc_post *post)
{
    const csc_message *message = post->messages;

    while (message != NULL && !csc_build_is_course(message))
        message = message->next;
    return message != NULL;
}

static bool
is_dismissed(const dismissal *d, const csc_run *run)
{
    const csc_post *post = csc_map_get(&d->inbox.posts, &run->state.id);

    if (run->state.user_id == NULL || post == NULL || asks_for_all(post))
        return false;
    if (run->state.recorded == CASCADE_RUNNING)
        return ends_first(post) && run->state.fn_id < CSC_FUNCTION_ID_MAX;
    return run->state.recorded == CASCADE_ERROR ||
           are_of_itself(&run->state, post);
}

/* Whether it may be, by what the claim says. The run of a cascade that has
 * ended is made anew: its claim is the first. */
static bool
is_candidate(const cascade_claimed *claimed)
{
    return asks_for_end(claimed->message_kind) ||
           (claimed->claim_no == 1 && claimed->message_kind[0] != '\0');
}

/* ---- Reading ------------------------------------------------------------ */

static cascade_err
apply_cascade(void *context, const cascade_row *row)
{
    dismissal *d = context;
    csc_run *run = csc_map_get(&d->places, &row->id);

    return run != NULL ? csc_state_apply_cascade(&run->state, row) : CASCADE_OK;
}

static cascade_err
apply_execution(void *context, const cascade_execution_row *row)
{
    dismissal *d = context;
    csc_run *run = csc_map_get(&d->places, &row->cascade_id);

    return run != NULL ? csc_state_apply_execution(&run->state, row)
                       : CASCADE_OK;
}

static cascade_err
keep_message(void *context, const cascade_message_row *row, bool repeated)
{
    dismissal *d = context;

    return csc_receive_message(&d->inbox, row, repeated);
}

static cascade_err
prepare(dismissal *d, const csc_reload *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        csc_run *run = NULL;

        if (!is_candidate(&wanted[i].claimed))
            continue;
        run = csc_run_create(d->engine, &wanted[i].claimed.cascade_id);
        if (run == NULL)
            return csc_fail_memory();
        d->runs[d->count++] = run;
        csc_run_note_claim(run, &wanted[i].claimed);
        run->partial = true;
        if (csc_map_put(&d->places, &run->state.id, run) != 0)
            return csc_fail_memory();
    }
    return CASCADE_OK;
}

/* Of the runs in the given state, or of all. */
static cascade_err
load(dismissal *d, bool running_only, unsigned parts)
{
    cascade_uuid ids[CSC_CLAIM_MAX];
    size_t count = 0;
    cascade_load_sink sink = {.context = d,
                              .on_cascade = apply_cascade,
                              .on_execution = apply_execution,
                              .on_message = keep_message};

    for (size_t i = 0; i < d->count; i++) {
        const csc_state *state = &d->runs[i]->state;

        if (csc_map_get(&d->places, &state->id) != NULL &&
            (!running_only || state->recorded == CASCADE_RUNNING))
            ids[count++] = state->id;
    }
    if (count == 0)
        return CASCADE_OK;
    return d->engine->driver->load(d->engine->driver_self, ids, count, parts,
                                   &sink);
}

static void
leave_others(dismissal *d)
{
    for (size_t i = 0; i < d->count; i++)
        if (!is_dismissed(d, d->runs[i]))
            (void)csc_map_remove(&d->places, &d->runs[i]->state.id);
}

static cascade_err
read_all(dismissal *d)
{
    cascade_err err = load(d, false, CASCADE_LOAD_MESSAGES);

    if (err != CASCADE_OK)
        return err;
    leave_others(d);
    return load(d, true, CASCADE_LOAD_FAMILY);
}

/* ---- Handing over ------------------------------------------------------- */

/* Its state says what its row does: of what was not read one is RUNNING, or is
 * why it has ended in ERROR. */
static void
make_ready(csc_run *run, const csc_post *messages)
{
    csc_state *state = &run->state;

    csc_state_settle(state);
    run->more_messages = messages->message_count >= CASCADE_LOAD_MESSAGES_MAX;
    if (state->recorded == CASCADE_RUNNING)
        state->running++;
    else if (state->recorded == CASCADE_ERROR)
        state->terminated = state->fn_id;
}

/* False when it is to be loaded whole after all. Locked. */
static bool
hand_over(dismissal *d, const cascade_uuid *id)
{
    csc_run *run = csc_map_get(&d->places, id);
    csc_post *messages = NULL;

    if (run == NULL || csc_hydrate_hold(d->engine, run) != CASCADE_OK)
        return false;
    messages = csc_receive_take(&d->inbox, id);
    make_ready(run, messages);
    csc_receive_post(d->engine, run, messages);
    return true;
}

static size_t
hand_over_all(dismissal *d, csc_reload *wanted, size_t count)
{
    size_t left = 0;

    pthread_mutex_lock(&d->engine->mutex);
    for (size_t i = 0; i < count; i++)
        if (!d->engine->attached ||
            !hand_over(d, &wanted[i].claimed.cascade_id))
            wanted[left++] = wanted[i];
    pthread_mutex_unlock(&d->engine->mutex);
    return left;
}

/* An error is no matter: who cannot be dismissed is loaded. */
size_t
csc_dismiss_claimed(cascade_engine *engine, csc_reload *wanted, size_t count)
{
    dismissal d = {.engine = engine, .inbox = {.engine = engine}};
    size_t left = count;
    cascade_err err = prepare(&d, wanted, count);

    if (err == CASCADE_OK && d.count > 0)
        err = read_all(&d);
    if (err == CASCADE_OK && d.count > 0)
        left = hand_over_all(&d, wanted, count);
    csc_receive_fini(&d.inbox);
    csc_map_fini(&d.places);
    pthread_mutex_lock(&engine->mutex);
    for (size_t i = 0; i < d.count; i++)
        csc_run_unref(d.runs[i]);
    pthread_mutex_unlock(&engine->mutex);
    return left;
}
