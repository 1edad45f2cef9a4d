/* SPDX-License-Identifier: MIT
 *
 * Continue as new becomes rows.
 *
 *   this run                                   the next one
 *     node COMPLETED, {"continued_as":ID} ---> born in the same commit, with
 *     status COMPLETED                         the signals nobody has taken,
 *     |                                        paused if this one was, and as
 *     |                                        the last run of the root (S43)
 *     +-- message, after that commit --------> the same message, the same path
 *
 * Whether a cascade continues is decided by the state and the posts before
 * anything is built, so that the change of this run and that of the next agree.
 * If the process dies before the commit, neither is there, and the node runs
 * again; after it, both are.
 */
#include "change/build/builder.h"

#include <string.h>

#include "base/data/arena.h"
#include "base/data/tree.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/build/build.h"
#include "change/build/start.h"
#include "change/op.h"
#include "state/full_output.h"
#include "state/state.h"

/* ---- Whether ------------------------------------------------------------ */

/* A command that ends the cascade otherwise. */
static bool
has_command(const csc_post *post)
{
    for (const csc_message *m = post->messages; m != NULL; m = m->next)
        if (strcmp(m->kind, CSC_MESSAGE_CANCEL) == 0 ||
            strcmp(m->kind, CSC_MESSAGE_TERMINATE) == 0 ||
            strcmp(m->kind, CSC_MESSAGE_DELETE) == 0)
            return true;
    return false;
}

/* Nothing else runs, no cancellation either, but for children. */
static bool
is_alone(const csc_state *state, const csc_post *post)
{
    const csc_exec *exec = csc_view_find(state, post->function_id);

    csc_assert(state->children <= state->running);
    return exec != NULL && exec->status == CASCADE_EXECUTION_RUNNING &&
           state->running == state->children + 1;
}

const csc_post *
csc_next_run_add(const csc_state *state, const csc_post *posts)
{
    const csc_post *next = NULL;

    if (state->recorded != CASCADE_RUNNING)
        return NULL;
    for (const csc_post *p = posts; p != NULL; p = p->next) {
        if (has_command(p) || p->kind == CSC_POST_DEADLINE)
            return NULL;
        if (p->next_run.node != NULL && is_alone(state, p))
            next = p;
    }
    return next;
}

/* ---- The next run ------------------------------------------------------- */

/* NULL: the arena has failed. */
static const cascade_uuid *
own_root(const csc_build_env *env, const csc_state *state)
{
    cascade_uuid *root = csc_arena_alloc(env->arena, 1, sizeof(*root));
    csc_json_span span;

    if (root != NULL && (state->meta == NULL ||
                         !csc_json_read_member(state->meta, "root", &span) ||
                         !csc_full_output_uuid(span, root)))
        *root = state->id;
    return root;
}

/* Those of before, then those that have come with this change: in it nothing
 * waits that could have taken them. */
static void
collect_signals(const csc_build_env *env, const csc_state *state,
                const cascade_change *own, csc_build_start *start)
{
    size_t unread = csc_tree_count(&state->signals);
    size_t room = unread + own->insert_count;
    csc_build_signal *signals =
        csc_arena_alloc(env->arena, room, sizeof(*signals));
    size_t count = 0;

    if (signals == NULL)
        return; /* the arena has failed */
    for (size_t i = 0; i < unread; i++) {
        const csc_signal *signal = csc_signals_nth_signal(state, i);

        signals[count++] = (csc_build_signal){
            signal->name, signal->payload != NULL ? signal->payload : "{}"};
    }
    for (size_t i = 0; i < own->insert_count; i++)
        if (csc_signals_is_signal(&own->inserts[i]))
            signals[count++] = (csc_build_signal){own->inserts[i].node_name +
                                                      strlen(CSC_SIGNAL_PREFIX),
                                                  own->inserts[i].input};
    csc_assert(count <= room);
    start->signals = signals;
    start->signal_count = count;
}

/* Whether it is when this change is made. */
static bool
is_paused(const csc_state *state, const cascade_change *own)
{
    bool paused = csc_view_is_paused(state);

    for (size_t i = 0; i < own->insert_count; i++)
        csc_state_read_pause(&own->inserts[i], &paused);
    return paused;
}

/* It holds for all the runs: what is left of it, 0 without one. */
static int64_t
deadline_left(const csc_build_env *env, const csc_state *state)
{
    int64_t left_ms = 0;

    if (state->deadline_ms == CASCADE_TIME_NONE)
        return 0;
    left_ms = state->deadline_ms - env->delay_from_ms;
    return left_ms > 0 ? left_ms : 1;
}

cascade_err
csc_next_run_of(const csc_build_env *env, const csc_state *state,
                const csc_next_run *next, const cascade_change *own,
                cascade_change *change)
{
    const csc_build_first first = {next->node, next->input};
    bool child = !csc_uuid_is_nil(&state->parent);
    csc_build_start start = {.id = next->id,
                             .user_id = state->user_id,
                             .queue = csc_builder_queue(env, state),
                             .key = csc_builder_meta_text(env, state, "key"),
                             .limit_key =
                                 csc_builder_meta_text(env, state, "limit_key"),
                             .run_number = state->run_number + 1,
                             .priority = state->priority,
                             .depth = state->depth,
                             .parent = child ? &state->parent : NULL,
                             .child_id = &state->child_id,
                             .previous = &state->id,
                             .root = own_root(env, state),
                             .after_ms = own->cascade.updated_at_ms,
                             .deadline_ms = deadline_left(env, state),
                             .first = &first,
                             .first_count = 1};

    csc_assert(state->recorded == CASCADE_RUNNING && next->node != NULL);
    collect_signals(env, state, own, &start);
    start.paused = is_paused(state, own);
    return csc_start_add_rows(env, &start, change);
}

/* ---- What comes later --------------------------------------------------- */

/* A run that goes on, once it has ended, has a receipt that says so, and with
 * that a higher fn_id. */
bool
csc_next_run_is_unchanged(const csc_state *state, const csc_message *message)
{
    csc_json_span span;
    int64_t ended_at = 0;

    return csc_json_read_member(message->payload, CSC_ENDED_AT, &span) &&
           csc_json_read_i64(span, &ended_at) && ended_at == state->fn_id;
}

/* Who asked for the deletion of what had ended as it is now knew whether it had
 * continued, and that nobody needs it to find the next one: see
 * cascade_delete(). */
bool
csc_next_run_keep(struct csc_builder *b, const csc_message *message)
{
    csc_assert(strcmp(message->kind, CSC_MESSAGE_DELETE) == 0);
    if (csc_uuid_is_nil(&b->state->continued_as) || message->repeated ||
        csc_next_run_is_unchanged(b->state, message))
        return false;
    b->received[b->received_count++] = message->id;
    if (!csc_builder_has_ids(b, 1, false))
        return true;
    csc_builder_undelivered(
        b,
        csc_builder_receipt(b, message, CSC_MESSAGE_PREFIX CSC_MESSAGE_DELETE),
        "undelivered: the cascade had continued as new by then; ask for the "
        "deletion of this run anew");
    return true;
}

/* Deletion, retry and rerun are of this run alone; its children's ends are of
 * no use to the next one. */
const char *const csc_build_own_kinds[CSC_BUILD_OWN_KINDS] = {
    CSC_MESSAGE_DELETE, CSC_MESSAGE_RETRY, CSC_MESSAGE_RERUN, CSC_MESSAGE_CHILD,
    CSC_MESSAGE_FAMILY};

static bool
is_own(const csc_message *message)
{
    for (size_t i = 0; i < CSC_BUILD_OWN_KINDS; i++)
        if (strcmp(message->kind, csc_build_own_kinds[i]) == 0)
            return true;
    return false;
}

bool
csc_next_run_forward(struct csc_builder *b, const csc_message *message)
{
    if (csc_uuid_is_nil(&b->state->continued_as) || is_own(message))
        return false;
    csc_builder_send(
        b, &(cascade_message_row){.cascade_id = b->state->continued_as,
                                  .kind = message->kind,
                                  .name = message->name,
                                  .path = message->path,
                                  .payload = message->payload,
                                  .sent_at_ms = b->env->now_ms});
    return true;
}
