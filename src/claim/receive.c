/* SPDX-License-Identifier: MIT
 *
 * Receiving: messages in the store become posts of the runs they name.
 *
 *   store: receive, or load --> inbox: one RECEIVE post a cascade --> lane
 *
 * A message stays in the store until the commit that received it, so nothing
 * can be lost here, and each look shows again what is under way. Therefore a
 * run has one RECEIVE post at a time (run->mail), and while it has one, or is
 * being given up (FREEING), what is shown for it is passed over: it is looked
 * for again once that commit is done (CSC_MAIL_MORE). If the run was given up
 * by then, the message makes it claimable, by us or by others. A commit that is
 * done while the store looks may have received what it shows, so a run with
 * such a commit (`receipt`) is passed over as well.
 *
 * A run that is not in memory is passed over too: its load is to come, and
 * brings its messages; or it is being born, and they are looked for then.
 *
 * A look gives so many messages of each cascade, and where there are more than
 * one look gives, the next goes on with the cascades behind: a walk. So a
 * cascade that has thousands, and may not even be in memory, keeps no other
 * waiting for longer than a look. What waits to be loaded is not asked for, as
 * far as the store takes names; nor are those of which it is known that there
 * is more than they receive just now, as that is shown again each time. Who
 * finds in the middle of a walk that there is something to look for asks for
 * another one, from the first cascade on.
 *
 * Or it has left. What a claim has told of is looked for behind it: if the run
 * is ended or given up in between, or while that goes on, the claim has seen it
 * as owned, and the look does not, or finds it gone:
 *
 *   claim  told       look             over
 *     |-----+----------|----------------|
 *         |--commit--------------applied|            `left` has changed
 *                    |--commit---------------applied|    `receives` has
 *
 * Then another claim is made, which finds it by its message. But where the last
 * one was full, another follows by itself, as soon as there is room; while
 * there is none, to ask for one would only make for another look, which the
 * next to leave would meet in turn.
 *
 * A look is as large as takes an eighth of the store's deadline; one that fails
 * for time is followed by a quarter of it, down to one message (B3).
 *
 * What was read is held until its commit, as results are, and counts with them
 * (backlog_bytes_max). While these are too much, nobody looks; the commit that
 * makes them less wakes the housekeeper. So a look may pass the bound by what
 * one look gives. What waits behind a transaction does not keep anybody from
 * looking, as it may wait for long: of each such cascade that is one receipt.
 *
 * RETRY AND RERUN
 *   Such a message stands alone: what comes before it is received before, what
 *   comes after it after. It is made of all rows of the cascade, also of what
 *   has left memory, and nothing may run meanwhile:
 *
 *     received --> leaves: nothing begins; a commit in flight is awaited, what
 *        |         else was posted is dropped, functions are told to return
 *        |           |
 *        |         loaded anew, with a plan (reset_plan.h); its first
 *        |         message is that one, and is posted: one commit, or
 *        |         several (reset_slice.c), with nothing in between
 *        v           |
 *     refused by     +--> leaves again, and is loaded as it is now
 *     the state: recorded as undelivered. But whoever asks may know already of
 *     a commit that is in flight here: it is put off until that is applied
 *
 *   If the process dies in between, the message is still there. What it may
 *   have made of it is in the rows: then who loads them has it loaded for the
 *   rest before anything else is received (csc_receive_is_unfinished).
 */
#include "claim/receive.h"

#include <string.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/map.h"
#include "base/data/pace.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/build/build.h"
#include "change/completion.h"
#include "change/message_list.h"
#include "change/op.h"
#include "claim/stream.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/incarnation.h"
#include "held/room/mailbox.h"
#include "held/room/reload.h"
#include "held/run/drop.h"
#include "held/run/op_queue.h"
#include "held/run/run.h"
#include "held/run/sealing.h"
#include "state/reset_plan.h"
#include "state/state.h"
#include "state/supersede.h"
#include "store/move.h"
#include "store/store.h"

#define RECEIVE_MAX 1000 /* messages in one look; */
#define RECEIVE_EACH 4   /* the how manieth part of each cascade */
#define RECEIVE_BYTES ((size_t)8 * 1024) /* for each of them, on the average */
#define LOOK_SHARE 8 /* of the store's deadline: what a look is to take, */
#define SLOW_SHARE 2 /* and one that failed so late was too much, perhaps */
#define LOOK_MAX_MS 100
#define PAUSE_MAX_MS 10000
#define STORED_SHARE 8 /* a payload may be as much larger where it is stored */
#define INBOX_BYTES_MAX ((size_t)64 * 1024 * 1024)

/* ---- The inbox ---------------------------------------------------------- */

static csc_post *
inbox_post(csc_inbox *inbox, const cascade_uuid *id)
{
    csc_post *post = csc_map_get(&inbox->posts, id);

    csc_assert((inbox->first == NULL) == (inbox->last == NULL));
    if (post != NULL)
        return post;
    post = csc_op_create(CSC_POST_RECEIVE, -1);
    if (post == NULL)
        return NULL;
    post->cascade_id = *id;
    if (csc_map_put(&inbox->posts, &post->cascade_id, post) != 0) {
        csc_op_free(post);
        return NULL;
    }
    if (inbox->last != NULL)
        inbox->last->next = post;
    else
        inbox->first = post;
    inbox->last = post;
    return post;
}

static void
add_message(csc_post *post, csc_message *message)
{
    csc_assert(message->next == NULL &&
               (post->messages == NULL) == (post->message_count == 0));
    if (post->last_message != NULL)
        post->last_message->next = message;
    else
        post->messages = message;
    post->last_message = message;
    post->message_count++;
    post->deletions += strcmp(message->kind, CSC_MESSAGE_DELETE) == 0;
}

static size_t
message_bytes(const cascade_message_row *row)
{
    size_t slice =
        strcmp(row->kind, CSC_MESSAGE_CANCEL) == 0 ? CSC_SLICE_BYTES : 0;

    return strlen(row->payload) + strlen(row->path) + CSC_ROW_BYTES + slice;
}

/* A retry or a rerun that is to be carried out. */
static bool
stands_alone(const csc_message *message)
{
    return !message->repeated && csc_reset_is(message);
}

/* Only one of both gets into a change: also where it is repeated, as it may be
 * carried out in part. */
static bool
is_apart(const csc_post *post, const csc_message *message)
{
    csc_assert(post->last_message != NULL);
    return csc_reset_is(message) || csc_reset_is(post->last_message);
}

/* A change has what fits into a batch, one message at least; what is left comes
 * with the next look. In the order of their ids: behind one that is left, all
 * are. */
static bool
has_room(const csc_inbox *inbox, const csc_post *post,
         const cascade_message_row *row, const csc_message *message)
{
    csc_assert(post->deletions <= post->message_count);
    if (post->cut)
        return false;
    if (post->message_count == 0)
        return true;
    if (is_apart(post, message))
        return false;
    if (post->deletions == post->message_count)
        return true; /* these wait for others: command.c */
    return inbox->bytes < INBOX_BYTES_MAX &&
           post->effects.bytes + message_bytes(row) <=
               inbox->engine->options.batch_bytes_max;
}

static cascade_err
take_message(csc_inbox *inbox, const cascade_message_row *row, bool repeated)
{
    const csc_message told = {.kind = row->kind, .repeated = repeated};
    csc_post *post = inbox_post(inbox, &row->cascade_id);
    csc_message *message = NULL;

    if (post == NULL)
        return csc_fail_memory();
    inbox->count++;
    inbox->given_bytes += csc_store_message_bytes(row);
    inbox->last_id = row->cascade_id;
    if (!has_room(inbox, post, row, &told)) {
        post->apart = post->cut ? post->apart : is_apart(post, &told);
        post->cut = true;
        return CASCADE_OK;
    }
    message = csc_arena_alloc(&post->arena, 1, sizeof(*message));
    if (message == NULL)
        return csc_fail_memory();
    *message =
        (csc_message){.id = row->id,
                      .kind = csc_arena_strdup(&post->arena, row->kind),
                      .name = csc_arena_strdup(&post->arena, row->name),
                      .path = csc_arena_strdup(&post->arena, row->path),
                      .payload = csc_arena_strdup(&post->arena, row->payload),
                      .repeated = repeated};
    if (post->arena.failed)
        return csc_fail_memory();
    if (strcmp(row->kind, CSC_MESSAGE_COMPLETE) == 0 &&
        csc_completion_read(&post->arena, message->payload,
                            &message->completion) != CASCADE_OK)
        return csc_fail_memory();
    csc_assert(post->kind == CSC_POST_RECEIVE);
    add_message(post, message);
    post->effects.bytes += message_bytes(row);
    inbox->bytes += message_bytes(row);
    return CASCADE_OK;
}

/* One that nobody with a key has sent is taken out, as if it had been received
 * before: left there, it would have the cascade claimed for ever. The host is
 * told of it later: the store may hold a lock while it tells of the row. */
static bool
is_forged(csc_inbox *inbox, const cascade_message_row *row)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    if (csc_sealing_check_message(inbox->engine->store, row) == CASCADE_OK)
        return false;
    csc_buf_add_format(
        &inbox->forged, "cascade %s: a message of kind %s is not received: %s",
        cascade_uuid_format(&row->cascade_id, id), row->kind, cascade_errmsg());
    csc_buf_add_char(&inbox->forged, '\0');
    return true;
}

void
csc_receive_tell(csc_inbox *inbox)
{
    csc_buf *lines = &inbox->forged;

    for (size_t at = 0; at < lines->len; at += strlen(lines->data + at) + 1) {
        csc_assert(csc_lock_is_none_held());
        csc_log_add(&inbox->engine->store->log, CASCADE_LOG_ERROR, "%s",
                    lines->data + at);
    }
    csc_buf_fini(lines);
}

cascade_err
csc_receive_message(void *context, const cascade_message_row *row,
                    bool repeated)
{
    return take_message(context, row, repeated || is_forged(context, row));
}

cascade_err
csc_receive_own(csc_inbox *inbox, const cascade_message_row *row)
{
    return take_message(inbox, row, false);
}

csc_post *
csc_receive_take(csc_inbox *inbox, const cascade_uuid *id)
{
    csc_post *wanted = csc_map_get(&inbox->posts, id);
    csc_post **at = &inbox->first;
    csc_post *before = NULL;

    csc_assert(wanted == NULL || wanted->kind == CSC_POST_RECEIVE);
    if (wanted == NULL)
        return NULL;
    while (*at != wanted) {
        before = *at;
        at = &(*at)->next;
    }
    *at = wanted->next;
    if (inbox->last == wanted)
        inbox->last = before;
    wanted->next = NULL;
    (void)csc_map_remove(&inbox->posts, id);
    return wanted;
}

cascade_err
csc_receive_instead(csc_inbox *inbox, csc_inbox *from, const cascade_uuid *id)
{
    csc_post *former = csc_receive_take(inbox, id);
    csc_post *post = csc_receive_take(from, id);

    csc_assert(post != NULL);
    if (former != NULL)
        csc_op_free(former);
    if (csc_map_put(&inbox->posts, &post->cascade_id, post) != 0) {
        csc_op_free(post);
        return csc_fail_memory();
    }
    post->next = inbox->first;
    inbox->first = post;
    if (inbox->last == NULL)
        inbox->last = post;
    return CASCADE_OK;
}

void
csc_receive_loaded(csc_post *post)
{
    csc_assert(post->kind == CSC_POST_RECEIVE);
    post->cut = post->cut || post->message_count >= CASCADE_LOAD_MESSAGES_MAX;
}

void
csc_receive_fini(csc_inbox *inbox)
{
    csc_receive_tell(inbox);
    csc_run_free_posts(inbox->first, CASCADE_OK);
    csc_map_fini(&inbox->posts);
}

/* ---- Posting ------------------------------------------------------------ */

/* A run for a command that comes first, or without one. */
static void
match_plan(csc_run *run, const csc_message *message)
{
    csc_assert(csc_lock_is_held(&run->engine->mutex));
    if (run->plan == NULL ||
        (stands_alone(message) && run->plan->from == csc_reset_from(message)))
        return;
    csc_reset_plan_free(run->plan);
    run->plan = NULL;
}

/* Nothing of it begins until it is loaded for the command; the message is still
 * there then. */
static void
leave_for(cascade_engine *engine, csc_run *run, int32_t from, int32_t receipt)
{
    csc_assert(csc_lock_is_held(&engine->mutex) && csc_run_is_held(run));
    run->reload = (csc_reload){.claimed = csc_run_claimed(run),
                               .fail_id = -1,
                               .plans = true,
                               .from = from,
                               .receipt = receipt};
    csc_run_close(run, CSC_RUN_RELOADING);
    if (!csc_run_is_committing(run))
        csc_mailbox_leave(engine, run);
}

static void
leave_for_rest(cascade_engine *engine, csc_run *run, int32_t receipt)
{
    csc_assert(receipt != CSC_COURSE_NONE);
    leave_for(engine, run, csc_supersede_from(&run->state.course, receipt),
              receipt);
}

bool
csc_receive_is_unfinished(cascade_engine *engine, csc_run *run)
{
    int32_t receipt = csc_view_unfinished(&run->state);

    csc_assert(csc_lock_is_held(&engine->mutex) && csc_run_is_held(run));
    if (receipt == CSC_COURSE_NONE)
        return false;
    leave_for_rest(engine, run, receipt);
    return true;
}

/* It was carried out, but for the ends of what it supersedes: the message is
 * there until that is done too. */
static bool
is_unclosed(const csc_run *run, const csc_message *message)
{
    csc_assert(csc_lock_is_held(&run->engine->mutex));
    return message->repeated && csc_reset_is(message) && run->plan == NULL &&
           run->state.unclosed != CSC_COURSE_NONE &&
           run->extent == CSC_EXTENT_WHOLE;
}

void
csc_receive_go_on_locked(cascade_engine *engine, csc_run *run, csc_post *post)
{
    const csc_message *message = post != NULL ? post->messages : NULL;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&engine->mutex) && run->plan != NULL);
    while (message != NULL && !(message->repeated && csc_reset_is(message)))
        message = message->next;
    if (message != NULL)
        run->plan->message = message->id;
    if (post != NULL)
        csc_op_free(post);
    csc_mailbox_note_more(engine, run);
    err = csc_op_queue_add_slice(engine, run, run->plan->at.receipt);
    if (err == CASCADE_OK)
        csc_run_close(run, CSC_RUN_FREEING);
    else
        csc_drop_load_anew(engine, run, err);
}

/* For one commit: of those that follow nobody knew who asked. */
static bool
put_off(csc_run *run, const csc_message *message)
{
    csc_assert(csc_lock_is_held(&run->engine->mutex));
    if (!csc_run_is_committing(run))
        return false;
    if (run->put_off == message->id)
        return !run->has_waited;
    run->put_off = message->id;
    run->has_waited = false;
    return true;
}

static void
pass_over(csc_run *run, csc_post *post)
{
    csc_assert(csc_lock_is_held(&run->engine->mutex) &&
               post->kind == CSC_POST_RECEIVE);
    csc_mailbox_note_more(run->engine, run);
    csc_op_free(post);
}

void
csc_receive_post_locked(cascade_engine *engine, csc_run *run, csc_post *post)
{
    const csc_message *first = NULL;

    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert(post != NULL);
    first = post->messages;
    if (csc_run_is_receiving(run) || csc_run_is_leaving(run)) {
        pass_over(run, post);
        return;
    }
    csc_assert(csc_run_is_held(run) && first != NULL);
    match_plan(run, first);
    if (is_unclosed(run, first)) {
        leave_for_rest(engine, run, run->state.unclosed);
        csc_op_free(post);
        return;
    }
    if (stands_alone(first) && run->plan == NULL &&
        run->extent != CSC_EXTENT_UNREAD) {
        if (csc_reset_plan_refuse(&run->state, csc_reset_from(first)) ==
            CSC_REFUSAL_NONE) {
            leave_for(engine, run, csc_reset_from(first), 0);
            csc_op_free(post);
            return;
        }
        if (put_off(run, first)) {
            pass_over(run, post);
            return;
        }
    }
    if (run->receive_max > 0)
        csc_message_list_cut(post, run->receive_max,
                             run->state.recorded == CASCADE_ERROR);
    /* A deletion ends the cascade first, and stays. */
    csc_mailbox_post(engine, run, post->cut || post->deletions > 0);
    csc_op_queue_add(engine, run, post);
    if (run->plan != NULL)
        csc_run_close(run, CSC_RUN_FREEING);
}

/* Whether the look may have ended before all was given: by their number, or by
 * their bytes, which are counted as they are stored. */
static bool
has_more(const csc_inbox *inbox)
{
    csc_assert(inbox->rows_max > 0 && inbox->count <= inbox->rows_max);
    return inbox->count == inbox->rows_max ||
           inbox->given_bytes >= inbox->rows_max * RECEIVE_BYTES / STORED_SHARE;
}

/* Of one cascade. */
static size_t
each_max(size_t rows_max)
{
    csc_assert(rows_max > 0 && rows_max <= RECEIVE_MAX);
    return (rows_max + RECEIVE_EACH - 1) / RECEIVE_EACH;
}

/* Whether there may be messages of that one that the look did not give. */
static bool
is_cut(const csc_inbox *inbox, const csc_post *post)
{
    csc_assert(post->message_count <= inbox->count);
    return post->cut || post->message_count >= each_max(inbox->rows_max) ||
           (has_more(inbox) &&
            csc_uuid_equal(&inbox->last_id, &post->cascade_id));
}

/* One cascade's messages, as the store showed them after receipt `since`. */
static void
post_one(cascade_engine *engine, csc_post *post, uint64_t since, bool cut)
{
    csc_run *run = csc_map_get(&engine->runs, &post->cascade_id);

    csc_assert(csc_lock_is_held(&engine->mutex) &&
               since <= engine->mailbox.receipts);
    if (run == NULL) {
        engine->mailbox.passed_over = true;
        csc_op_free(post);
    } else if (run->receipt > since) {
        csc_mailbox_look_again(engine);
        csc_op_free(post);
    } else {
        csc_run_ref(run); /* it may leave memory at once */
        csc_receive_post_locked(engine, run, post);
        if (cut)
            csc_mailbox_note_more(engine, run);
        csc_run_unref(run);
    }
}

static void
post_all(cascade_engine *engine, csc_inbox *inbox, uint64_t since)
{
    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    while (inbox->first != NULL && engine->incarnation.attached &&
           engine->life == CSC_LIFE_RUNNING) {
        csc_post *post = csc_receive_take(inbox, &inbox->first->cascade_id);

        csc_assert(post != NULL);
        post_one(engine, post, since, is_cut(inbox, post));
    }
    engine->mailbox.receives++;
    if (engine->mailbox.left != engine->mailbox.left_seen &&
        !engine->mailbox.claim_more)
        csc_mailbox_claim_again(engine);
    csc_lock_give(&engine->mutex);
}

/* What waits to be loaded has its messages read then, and what is in hand is
 * looked for behind its commit. */
static size_t
leave_out(const cascade_engine *engine, cascade_uuid *except)
{
    const csc_reload *reload = engine->reloads.first;
    size_t count =
        csc_stream_ids_locked(engine, except, CASCADE_RECEIVE_EXCEPT_MAX);

    csc_assert(csc_lock_is_held(&engine->mutex));
    while (reload != NULL && count < CASCADE_RECEIVE_EXCEPT_MAX) {
        except[count++] = reload->claimed.cascade_id;
        reload = reload->next;
    }
    csc_assert(count <= CASCADE_RECEIVE_EXCEPT_MAX);
    return count + csc_mailbox_ids(engine, &except[count],
                                   CASCADE_RECEIVE_EXCEPT_MAX - count);
}

/* Begins a walk, or goes on with one. Gives the receipts so far. */
static uint64_t
begin_look(cascade_engine *engine, cascade_receive *receive,
           cascade_uuid *except)
{
    uint64_t since = 0;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    if (csc_uuid_is_nil(&engine->mailbox.receive_after))
        engine->mailbox.receive_due = false;
    receive->engine_id = engine->incarnation.id;
    receive->after = engine->mailbox.receive_after;
    receive->except_count = leave_out(engine, except);
    since = engine->mailbox.receipts;
    csc_lock_give(&engine->mutex);
    return since;
}

/* ---- How much one look reads --------------------------------------------- */

static const csc_pace_bounds look_bounds = {1, RECEIVE_MAX};

static int64_t
deadline_ns(const cascade_engine *engine)
{
    return engine->store->config.deadline_ms * CSC_MS_NS;
}

/* About as much as takes no large part of the deadline. */
static void
set_pace(cascade_engine *engine, const csc_inbox *inbox, int64_t took_ns)
{
    int64_t limit_ns = deadline_ns(engine) / LOOK_SHARE;
    bool full = inbox->count >= each_max(inbox->rows_max);

    csc_assert(csc_lock_is_held(&engine->mutex) && took_ns >= 0);
    if (limit_ns > LOOK_MAX_MS * CSC_MS_NS)
        limit_ns = LOOK_MAX_MS * CSC_MS_NS;
    engine->mailbox.look_rows =
        csc_pace_next(inbox->rows_max, took_ns, limit_ns, full, &look_bounds);
    engine->mailbox.look_pause_ms = 0;
}

/* A quarter next, at once; where that is less than a message none is looked for
 * for a while, twice as long each time: what is loaded brings its own. True
 * where it was not slow, and all wait. */
static bool
holds_all(cascade_engine *engine, const csc_inbox *inbox, int64_t took_ns)
{
    int64_t *pause_ms = &engine->mailbox.look_pause_ms;

    csc_assert(csc_lock_is_held(&engine->mutex) && took_ns >= 0);
    if (took_ns < deadline_ns(engine) / SLOW_SHARE)
        return true;
    engine->mailbox.look_rows = inbox->rows_max / 4;
    if (engine->mailbox.look_rows > 0)
        return false;
    engine->mailbox.look_rows = 1;
    if (*pause_ms == 0)
        *pause_ms = took_ns / CSC_MS_NS + 1;
    *pause_ms = *pause_ms * 2 < PAUSE_MAX_MS ? *pause_ms * 2 : PAUSE_MAX_MS;
    engine->mailbox.look_at_ns =
        csc_clock_now_ns(engine) + *pause_ms * CSC_MS_NS;
    return false;
}

/* What is not known is looked for from the first cascade on. */
static void
end_look(cascade_engine *engine, const csc_inbox *inbox, cascade_err err,
         int64_t took_ns)
{
    const cascade_uuid none = {{0}};
    bool more = err == CASCADE_OK && has_more(inbox);
    bool holds = false;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    if (err == CASCADE_OK)
        set_pace(engine, inbox, took_ns);
    else
        holds = holds_all(engine, inbox, took_ns);
    engine->mailbox.receive_after = more ? inbox->last_id : none;
    engine->mailbox.receive_due =
        engine->mailbox.receive_due || err != CASCADE_OK;
    csc_lock_give(&engine->mutex);
    if (holds)
        csc_clock_hold(engine);
}

void
csc_receive_look(cascade_engine *engine)
{
    cascade_uuid except[CASCADE_RECEIVE_EXCEPT_MAX];
    csc_inbox inbox = {.engine = engine};
    cascade_receive receive = {.except = except};
    uint64_t since = begin_look(engine, &receive, except);
    int64_t begun_ns = csc_clock_now_ns(engine);
    int64_t took_ns = 0;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    inbox.rows_max =
        engine->mailbox.look_rows > 0 ? engine->mailbox.look_rows : RECEIVE_MAX;
    receive.limit = inbox.rows_max;
    receive.each = each_max(inbox.rows_max);
    receive.bytes_max = inbox.rows_max * RECEIVE_BYTES;
    err =
        csc_move_receive(engine->store, &receive, csc_receive_message, &inbox);
    took_ns = csc_clock_now_ns(engine) - begun_ns;
    if (err == CASCADE_OK)
        post_all(engine, &inbox, since);
    else
        csc_log_add(&engine->store->log, CASCADE_LOG_WARNING,
                    "receiving failed: %s", cascade_errmsg());
    end_look(engine, &inbox, err, took_ns);
    csc_receive_fini(&inbox);
}
