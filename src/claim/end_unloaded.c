/* SPDX-License-Identifier: MIT
 *
 * Dismissing: a cascade that was claimed only to be ended, or that has ended
 * and was claimed for its messages, is not loaded. So neither costs the more
 * the larger the cascade is.
 *
 *   claimed for a terminate, for a delete, or for the first time; or deadly
 *     |
 *   read: its row, and its messages
 *     |
 *     +-- RUNNING, first to be ended --> read: its family (S24), the first of
 *     |                                  |     its children (S51)
 *     +-- ended in ERROR, and not -----> |
 *     |   asked to go on                 |     (where children are still to be
 *     |                                  |     told, a page of these: S52)
 *     +-- COMPLETED, and told of its     |
 *     |   children, or to be deleted     |
 *     |   as whoever asked has seen it, -|
 *     |   or what it continued as is     |
 *     |   known otherwise (sequel.h) --->|
 *     |                                  v
 *     +-- else: loaded whole             one commit, after which it has ended
 *
 * Such a run is PARTIAL: of its state there is what that commit is made of,
 * the fn_id of its row, its parent, its children, or those below `family_to`.
 * Executions that are not read have no part in it: those that are RUNNING stay
 * so in the table, and have ended with their cascade. So what is recorded is
 * what is recorded of a cascade that is held whole.
 *
 * WHOSE LOAD KILLS. A suspect that took down engines in trial as often as the
 * limit says, and one more that only loaded it to fail what was to run
 * (csc_suspect_is_deadly), is ended in the same way, whatever messages say, as
 * a dead letter: ERROR, "poisoned", which whoever waits for it and its parent
 * are told. Nobody knows what it would have made of its messages: these are
 * undelivered. A retry tries again, with all that again; where it is as deadly
 * as before that is undelivered too. So it has taken down a bounded number of
 * engines for each time that somebody asked for it.
 *
 *   claimed again, deadly --> read: its row, its family, its messages
 *     +-- RUNNING --> a message "poison" of our own; one commit
 *     +-- ended   --> its messages are undelivered, a retry too; one commit
 *
 * When that cannot be read now it is put off, never loaded.
 *
 * Nothing of a partial run ever begins: it is not advanced, and leaves memory
 * with the commit that it is made for. When the store refuses that one the
 * cascade is loaded whole, and the messages are received once more.
 *
 * A DELETION OF WHAT HAS ENDED is not kept by letters: where there are more
 * than one load gives, its last messages are looked at for one (S59). So are
 * the first, and what they say besides goes with the cascade. Where children
 * may not have been told of the end, these are told by that deletion
 * (family_end.c).
 *
 * A message that comes before the one that ends the cascade is received first,
 * which takes the whole: a signal may end a wait. What comes behind is recorded
 * as undelivered, for which the row is enough. What comes for a cascade that is
 * COMPLETED may have to be sent on to its next run, which its executions name:
 * it is read for that once.
 * And one that has no function_id left is ended by one of its executions.
 *
 * Nothing here is committed; if the process dies, the runs are freed as those
 * of any other claim.
 */
#include "claim/end_unloaded.h"

#include <string.h>

#include "base/data/arena.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/build/build.h"
#include "change/message_list.h"
#include "change/op.h"
#include "claim/claim.h"
#include "claim/hydrate.h"
#include "claim/receive.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/incarnation.h"
#include "held/log_queue.h"
#include "held/room/reload.h"
#include "held/room/suspect.h"
#include "held/run/drop.h"
#include "held/run/op_queue.h"
#include "held/run/run.h"
#include "held/run/sealing.h"
#include "held/run/sequel.h"
#include "held/vital.h"
#include "query/run_chain.h"
#include "state/state.h"
#include "store/move.h"

/* A page of a family: more than is told of it in one commit. */
#define REST_ROWS (1 + CSC_SLICE_BYTES / CSC_ROW_BYTES)
#define REST_BYTES ((size_t)1024 * 1024)

typedef struct dismissal {
    cascade_engine *engine;
    csc_run *runs[CSC_CLAIM_MAX];
    bool settled[CSC_CLAIM_MAX]; /* COMPLETED, and what it continued as, if it
                                    did, is known */
    size_t count;
    csc_map places; /* id -> run, of those that still may be dismissed */
    csc_inbox inbox;
    csc_inbox ends; /* S59, of those that have more than one load gives */
} dismissal;

/* ---- Which -------------------------------------------------------------- */

static bool
asks_for_end(const char *kind)
{
    return strcmp(kind, CSC_MESSAGE_TERMINATE) == 0 ||
           strcmp(kind, CSC_MESSAGE_DELETE) == 0;
}

/* Whether a retry or a rerun is carried out: it is gone on with before all
 * else. */
static bool
is_half_reset(const csc_post *post)
{
    const csc_message *message = post->messages;

    csc_assert(post->kind == CSC_POST_RECEIVE);
    while (message != NULL && !(message->repeated && csc_reset_is(message)))
        message = message->next;
    return message != NULL;
}

/* Whether of what comes anew the first message ends a cascade that is RUNNING.
 */
static bool
ends_first(const csc_post *post)
{
    const csc_message *message = post->messages;

    csc_assert(post->kind == CSC_POST_RECEIVE);
    while (message != NULL && message->repeated)
        message = message->next;
    return message != NULL && asks_for_end(message->kind) &&
           !is_half_reset(post);
}

/* What a run that is COMPLETED need not be read for: its deletion is refused
 * where it continued after that was asked for (csc_next_run_keep). */
static bool
is_of_itself(const csc_state *state, const csc_message *message)
{
    csc_assert(state->recorded == CASCADE_COMPLETED);
    if (strcmp(message->kind, CSC_MESSAGE_DELETE) == 0)
        return csc_next_run_is_unchanged(state, message);
    return strcmp(message->kind, CSC_MESSAGE_CHILD) == 0 ||
           strcmp(message->kind, CSC_MESSAGE_FAMILY) == 0;
}

/* None is to be sent on to the next run. */
static bool
are_of_itself(const csc_state *state, const csc_post *post)
{
    const csc_message *message = post->messages;

    csc_assert(state->recorded == CASCADE_COMPLETED);
    while (message != NULL && is_of_itself(state, message))
        message = message->next;
    return message == NULL;
}

/* A retry or a rerun is made of all rows. */
static bool
asks_for_all(const csc_post *post)
{
    const csc_message *message = post->messages;

    csc_assert(post->kind == CSC_POST_RECEIVE);
    while (message != NULL && !csc_reset_is(message))
        message = message->next;
    return message != NULL;
}

static bool
is_dismissed(const dismissal *d, size_t i)
{
    const csc_run *run = d->runs[i];
    const csc_post *post = csc_map_get(&d->inbox.posts, &run->state.id);

    csc_assert(i < d->count && d->runs[i]->extent != CSC_EXTENT_WHOLE);
    if (run->extent == CSC_EXTENT_UNREAD)
        return run->state.user_id != NULL &&
               run->state.fn_id < CSC_FUNCTION_ID_MAX;
    if (run->state.user_id == NULL || post == NULL || asks_for_all(post))
        return false;
    if (run->state.recorded == CASCADE_RUNNING)
        return ends_first(post) && run->state.fn_id < CSC_FUNCTION_ID_MAX;
    return run->state.recorded == CASCADE_ERROR || d->settled[i] ||
           are_of_itself(&run->state, post);
}

/* Whether it may be, by what the claim says. The run of a cascade that has
 * ended is made anew: its claim is the first. */
static bool
is_candidate(const cascade_engine *engine, const csc_reload *reload)
{
    const cascade_claimed *claimed = &reload->claimed;

    if (csc_suspect_is_deadly(engine, claimed->trials))
        return true;
    return reload->may_end &&
           (asks_for_end(claimed->message_kind) ||
            (claimed->claim_no == 1 && claimed->message_kind[0] != '\0'));
}

/* ---- Reading ------------------------------------------------------------ */

static cascade_err
apply_cascade(void *context, const cascade_row *row)
{
    dismissal *d = context;
    csc_run *run = csc_map_get(&d->places, &row->id);

    csc_vital_sign(&d->engine->lease.house);
    return run != NULL ? csc_sealing_take_cascade(run, row) : CASCADE_OK;
}

static cascade_err
apply_execution(void *context, const cascade_execution_row *row)
{
    dismissal *d = context;
    csc_run *run = csc_map_get(&d->places, &row->cascade_id);

    csc_vital_sign(&d->engine->lease.house);
    return run != NULL ? csc_sealing_take_execution(run, row) : CASCADE_OK;
}

static cascade_err
take_seal(void *context, const cascade_seal_row *row)
{
    dismissal *d = context;
    csc_run *run = csc_map_get(&d->places, &row->cascade_id);

    return run != NULL ? csc_sealing_take_seal(run, row) : CASCADE_OK;
}

static cascade_err
keep_message(void *context, const cascade_message_row *row, bool repeated)
{
    dismissal *d = context;

    csc_vital_sign(&d->engine->lease.house);
    return csc_receive_message(&d->inbox, row, repeated);
}

static cascade_err
prepare(dismissal *d, const csc_reload *wanted, size_t count)
{
    csc_assert(count <= CSC_CLAIM_MAX && d->count == 0);
    for (size_t i = 0; i < count; i++) {
        csc_run *run = NULL;

        if (!is_candidate(d->engine, &wanted[i]))
            continue;
        run = csc_run_create(d->engine, &wanted[i].claimed.cascade_id);
        if (run == NULL)
            return csc_fail_memory();
        d->runs[d->count++] = run;
        csc_run_note_claim(run, &wanted[i].claimed);
        run->extent = csc_suspect_is_deadly(d->engine, run->trials)
                          ? CSC_EXTENT_UNREAD
                          : CSC_EXTENT_PARTIAL;
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
                              .on_message = keep_message,
                              .on_seal = take_seal};

    csc_assert(d->count <= CSC_CLAIM_MAX);
    for (size_t i = 0; i < d->count; i++) {
        const csc_state *state = &d->runs[i]->state;

        if (csc_map_get(&d->places, &state->id) != NULL &&
            (!running_only || state->recorded == CASCADE_RUNNING))
            ids[count++] = state->id;
    }
    if (count == 0)
        return CASCADE_OK;
    return csc_move_load(d->engine->store, ids, count,
                         parts | csc_sealing_part(d->engine), &sink);
}

/* ---- Deletions in front ------------------------------------------------- */

static cascade_err
keep_end(void *context, const cascade_message_row *row, bool repeated)
{
    dismissal *d = context;

    csc_vital_sign(&d->engine->lease.house);
    return csc_receive_message(&d->ends, row, repeated);
}

/* Of those that have ended, and not to go on: whatever else is to come is
 * undelivered, so a deletion need not wait for it. */
static bool
may_go_first(const dismissal *d, size_t i)
{
    const csc_state *state = &d->runs[i]->state;
    csc_post *post = csc_map_get(&d->inbox.posts, &state->id);

    csc_assert(i < d->count);
    if (csc_map_get(&d->places, &state->id) == NULL || post == NULL ||
        d->runs[i]->extent == CSC_EXTENT_UNREAD)
        return false;
    csc_receive_loaded(post);
    return post->cut && !post->apart &&
           (state->recorded == CASCADE_ERROR ||
            (d->settled[i] && csc_uuid_is_nil(&state->continued_as)));
}

static cascade_err
read_ends(dismissal *d)
{
    cascade_uuid ids[CSC_CLAIM_MAX];
    size_t count = 0;
    const cascade_load_sink sink = {
        .context = d, .on_cascade = apply_cascade, .on_message = keep_end};

    csc_assert(d->ends.first == NULL);
    for (size_t i = 0; i < d->count; i++)
        if (may_go_first(d, i))
            ids[count++] = d->runs[i]->state.id;
    if (count == 0)
        return CASCADE_OK;
    return csc_move_load(d->engine->store, ids, count, CASCADE_LOAD_ENDS,
                         &sink);
}

static cascade_err
note_any(void *context, const cascade_execution_row *row)
{
    (void)row;
    *(bool *)context = true;
    return CASCADE_OK;
}

/* Whether it has children that it may not have told of its end. */
static cascade_err
look_for_children(dismissal *d, const csc_run *run, bool *any)
{
    const cascade_load_sink sink = {.context = any, .on_execution = note_any};
    const cascade_scan scan = {.cascade_id = &run->state.id,
                               .running_only = true,
                               .children_only = true,
                               .from = 1,
                               .limit = 1};

    csc_assert(run->extent == CSC_EXTENT_PARTIAL);
    if (run->state.recorded != CASCADE_ERROR)
        return CASCADE_OK;
    return csc_move_scan(d->engine->store, &scan, &sink);
}

/* The deletion is one of its last messages, or of its first ones. */
static cascade_err
bring_forward(dismissal *d, size_t i)
{
    csc_run *run = d->runs[i];
    csc_post *post = csc_map_get(&d->inbox.posts, &run->state.id);
    csc_post *ends = csc_map_get(&d->ends.posts, &run->state.id);
    size_t later = ends != NULL ? ends->deletions : 0;
    bool children = false;
    cascade_err err = CASCADE_OK;

    csc_assert(i < d->count);
    if (!may_go_first(d, i) || post->deletions + later == 0)
        return CASCADE_OK;
    err = look_for_children(d, run, &children);
    if (err != CASCADE_OK)
        return err;
    csc_assert(!run->deletes);
    run->deletes = children;
    if (ends != NULL && (children ? later < ends->message_count : later > 0)) {
        post = ends;
        err = csc_receive_instead(&d->inbox, &d->ends, &run->state.id);
    }
    if (err == CASCADE_OK && children)
        csc_message_list_delete_later(post);
    else if (err == CASCADE_OK)
        csc_message_list_delete_only(post);
    return err;
}

static cascade_err
bring_all_forward(dismissal *d)
{
    cascade_err err = read_ends(d);

    for (size_t i = 0; i < d->count && err == CASCADE_OK; i++)
        err = bring_forward(d, i);
    return err;
}

/* ---- Families ----------------------------------------------------------- */

/* Whether a load gave as many children as it gives at most. */
static bool
has_full_family(const csc_run *run)
{
    csc_assert(run->extent != CSC_EXTENT_WHOLE);
    return run->state.recorded == CASCADE_RUNNING &&
           run->state.children >= CASCADE_LOAD_FAMILY_MAX;
}

/* Those that were read are the first ones. */
static void
note_rest(csc_run *run)
{
    const csc_state *state = &run->state;

    csc_assert(run->family_to == 0 && run->extent != CSC_EXTENT_WHOLE);
    if (state->exec_count > 0)
        run->family_to = state->execs[state->exec_count - 1].function_id + 1;
}

/* From where on its children are still to be told; 0: none is. */
static int32_t
rest_from(const dismissal *d, const csc_run *run)
{
    const csc_post *post = csc_map_get(&d->inbox.posts, &run->state.id);
    const csc_message *message = post != NULL ? post->messages : NULL;
    int32_t from = 0;

    csc_assert(run->extent != CSC_EXTENT_WHOLE);
    for (; message != NULL; message = message->next) {
        int32_t told = csc_family_end_from(message);

        if (told != 0 && (from == 0 || told < from))
            from = told;
    }
    return from == 0 && run->deletes ? 1 : from;
}

/* The next ones of a cascade that has ended. */
static cascade_err
read_rest(dismissal *d, csc_run *run)
{
    const cascade_load_sink sink = {.context = d,
                                    .on_execution = apply_execution};
    const cascade_scan scan = {.cascade_id = &run->state.id,
                               .running_only = true,
                               .children_only = true,
                               .from = rest_from(d, run),
                               .limit = REST_ROWS,
                               .bytes_max = REST_BYTES};
    cascade_err err = CASCADE_OK;

    if (scan.from == 0 || run->state.recorded != CASCADE_ERROR)
        return CASCADE_OK;
    err = csc_move_scan(d->engine->store, &scan, &sink);
    note_rest(run);
    return err;
}

static cascade_err
read_families(dismissal *d)
{
    cascade_err err = load(d, true, CASCADE_LOAD_FAMILY);

    for (size_t i = 0; i < d->count && err == CASCADE_OK; i++) {
        csc_run *run = d->runs[i];

        if (csc_map_get(&d->places, &run->state.id) == NULL)
            continue;
        if (has_full_family(run))
            note_rest(run);
        err = read_rest(d, run);
    }
    return err;
}

/* Of those that are COMPLETED, and are not asked to go on. */
static cascade_err
find_sequels(dismissal *d)
{
    cascade_err err = CASCADE_OK;

    csc_assert(d->count <= CSC_CLAIM_MAX);
    for (size_t i = 0; i < d->count && err == CASCADE_OK; i++) {
        csc_state *state = &d->runs[i]->state;
        const csc_post *post = csc_map_get(&d->inbox.posts, &state->id);

        if (state->recorded == CASCADE_COMPLETED && post != NULL &&
            !asks_for_all(post) && !are_of_itself(state, post))
            err = csc_sequel_find(d->engine, state, &d->settled[i]);
    }
    return err;
}

static void
leave_others(dismissal *d)
{
    for (size_t i = 0; i < d->count; i++)
        if (!is_dismissed(d, i))
            (void)csc_map_remove(&d->places, &d->runs[i]->state.id);
}

/* In the place of its messages, which are received once it has ended. */
static cascade_err
condemn(dismissal *d, const csc_run *run)
{
    cascade_message_row row = {
        .cascade_id = run->state.id, .kind = CSC_MESSAGE_POISON, .name = ""};
    csc_post *told = csc_receive_take(&d->inbox, &run->state.id);
    csc_arena arena;
    cascade_err err = CASCADE_OK;

    csc_assert(run->extent == CSC_EXTENT_UNREAD &&
               run->state.recorded == CASCADE_RUNNING);
    if (told != NULL)
        csc_op_free(told);
    csc_arena_init(&arena);
    row.path =
        csc_run_chain_signal_path(d->engine->store, &arena, &run->state.id,
                                  row.kind, NULL, csc_clock_now_ms(d->engine));
    row.payload = csc_arena_format(
        &arena,
        "{\"reason\":\"%d engines in turn died while they held this cascade, "
        "the last one as it was to be loaded\"}",
        (int)run->takeovers);
    if (arena.failed)
        err = csc_fail_memory();
    else
        err = csc_receive_own(&d->inbox, &row);
    csc_arena_fini(&arena);
    return err;
}

static cascade_err
condemn_all(dismissal *d)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < d->count && err == CASCADE_OK; i++) {
        const csc_run *run = d->runs[i];

        if (run->extent == CSC_EXTENT_UNREAD &&
            run->state.recorded == CASCADE_RUNNING &&
            csc_map_get(&d->places, &run->state.id) != NULL)
            err = condemn(d, run);
    }
    return err;
}

static cascade_err
read_all(dismissal *d)
{
    cascade_err err = load(d, false, CASCADE_LOAD_MESSAGES);

    csc_assert(csc_lock_is_none_held() && d->count > 0);
    if (err == CASCADE_OK)
        err = find_sequels(d);
    if (err != CASCADE_OK)
        return err;
    leave_others(d);
    err = bring_all_forward(d);
    if (err == CASCADE_OK)
        err = read_families(d);
    return err == CASCADE_OK ? condemn_all(d) : err;
}

/* ---- Handing over ------------------------------------------------------- */

/* Its state says what its row does: of what was not read one is RUNNING, or is
 * why it has ended in ERROR. */
static void
make_ready(csc_run *run)
{
    csc_state *state = &run->state;

    csc_assert(run->extent != CSC_EXTENT_WHOLE && csc_run_is_held(run));
    csc_state_settle(state);
    if (state->recorded == CASCADE_RUNNING)
        state->running++;
    else if (state->recorded == CASCADE_ERROR)
        state->terminated = state->fn_id;
}

/* An end without a message: it is only to leave. */
static void
give_up(dismissal *d, csc_run *run)
{
    cascade_engine *engine = d->engine;
    cascade_err err =
        csc_op_queue_add_free(engine, run, csc_clock_now_ms(engine), NULL);

    csc_assert(csc_lock_is_held(&d->engine->mutex) &&
               run->extent == CSC_EXTENT_UNREAD);
    if (err != CASCADE_OK)
        csc_drop_load_anew(engine, run, err);
}

/* False when it is to be loaded whole after all, now. */
static bool
hand_over_locked(dismissal *d, const csc_reload *wanted)
{
    const cascade_uuid *id = &wanted->claimed.cascade_id;
    csc_run *run = csc_map_get(&d->places, id);
    csc_post *messages = NULL;
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&d->engine->mutex));
    if (run == NULL)
        return false;
    if (csc_hydrate_is_behind_locked(d->engine, wanted))
        return true;
    err = csc_sealing_check(run);
    if (err == CASCADE_OK)
        err = csc_hydrate_hold_locked(d->engine, run);
    if (err != CASCADE_OK && run->extent == CSC_EXTENT_UNREAD)
        csc_hydrate_later_locked(d->engine, wanted, err);
    if (err != CASCADE_OK)
        return run->extent == CSC_EXTENT_UNREAD;
    messages = csc_receive_take(&d->inbox, id);
    make_ready(run);
    if (messages != NULL)
        csc_receive_loaded(messages);
    if (run->extent == CSC_EXTENT_UNREAD)
        csc_log_queue_add(d->engine, CASCADE_LOG_ERROR,
                          "cascade %s is not loaded: %d engines in turn died",
                          cascade_uuid_format(id, text), (int)run->takeovers);
    if (messages != NULL)
        csc_receive_post_locked(d->engine, run, messages);
    else
        give_up(d, run);
    return true;
}

static size_t
hand_over_all(dismissal *d, csc_reload *wanted, size_t count)
{
    size_t left = 0;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&d->engine->mutex);
    for (size_t i = 0; i < count; i++)
        if (d->engine->incarnation.attached
                ? !hand_over_locked(d, &wanted[i])
                : !csc_suspect_is_deadly(d->engine, wanted[i].claimed.trials))
            wanted[left++] = wanted[i];
    csc_lock_give(&d->engine->mutex);
    csc_assert(left <= count);
    return left;
}

/* What is not to be loaded, and could not be ended now. */
static size_t
put_off_deadly(cascade_engine *engine, csc_reload *wanted, size_t count,
               cascade_err err)
{
    size_t left = 0;

    csc_assert(csc_lock_is_none_held() && err != CASCADE_OK);
    csc_lock_take(&engine->mutex);
    for (size_t i = 0; i < count; i++)
        if (!csc_suspect_is_deadly(engine, wanted[i].claimed.trials))
            wanted[left++] = wanted[i];
        else if (engine->incarnation.attached)
            csc_hydrate_later_locked(engine, &wanted[i], err);
    csc_lock_give(&engine->mutex);
    return left;
}

/* An error is no matter: who cannot be dismissed is loaded, or put off. */
size_t
csc_end_unloaded(cascade_engine *engine, csc_reload *wanted, size_t count)
{
    dismissal d = {.engine = engine,
                   .inbox = {.engine = engine},
                   .ends = {.engine = engine}};
    size_t left = count;
    cascade_err err = prepare(&d, wanted, count);

    csc_assert(csc_lock_is_none_held() && count <= CSC_CLAIM_MAX);
    if (err == CASCADE_OK && d.count > 0)
        err = read_all(&d);
    if (err == CASCADE_OK && d.count > 0)
        left = hand_over_all(&d, wanted, count);
    else if (err != CASCADE_OK)
        left = put_off_deadly(engine, wanted, count, err);
    for (size_t i = 0; i < left; i++)
        wanted[i].may_end = false;
    csc_receive_fini(&d.inbox);
    csc_receive_fini(&d.ends);
    csc_map_fini(&d.places);
    csc_lock_take(&engine->mutex);
    for (size_t i = 0; i < d.count; i++)
        csc_run_unref(d.runs[i]);
    csc_lock_give(&engine->mutex);
    return left;
}
