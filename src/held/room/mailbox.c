/* SPDX-License-Identifier: MIT
 *
 * What an engine notes about messages between its looks: whether there may be
 * some, for whom a look was in vain, and which commits have received. The looks
 * themselves are in claim/receive.c.
 */
#include "held/room/mailbox.h"

#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/room/answers.h"
#include "held/room/reload.h"
#include "held/room/room.h"
#include "held/run/drop.h"
#include "held/run/run.h"
#include "held/wakeup.h"

void
csc_mailbox_leave(cascade_engine *engine, csc_run *run)
{
    csc_reload reload = {.claimed = csc_run_claimed(run), .fail_id = -1};

    csc_assert(csc_lock_is_held(&engine->mutex) && !csc_run_is_committing(run));
    csc_drop_expel(engine, run,
                   run->life == CSC_RUN_RELOADING ? &run->reload : &reload,
                   CASCADE_ERR_FENCED);
}

void
csc_mailbox_claim_again(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    engine->wakeup.told = true;
    csc_wakeup_house_locked(engine);
}

void
csc_mailbox_look_again(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    engine->mailbox.receive_due = true;
    csc_mailbox_claim_again(engine);
}

void
csc_mailbox_note_more(cascade_engine *engine, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    run->mail =
        csc_run_is_receiving(run) ? CSC_MAIL_RECEIVING_MORE : CSC_MAIL_MORE;
    if (!csc_run_is_held(run) || !csc_run_is_receiving(run) ||
        run->in_hand_at != NULL)
        return;
    run->in_hand_next = engine->mailbox.in_hand;
    run->in_hand_at = &engine->mailbox.in_hand;
    if (run->in_hand_next != NULL)
        run->in_hand_next->in_hand_at = &run->in_hand_next;
    engine->mailbox.in_hand = run;
    csc_assert(engine->mailbox.in_hand == run && *run->in_hand_at == run);
}

void
csc_mailbox_post(cascade_engine *engine, csc_run *run, bool more)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert(!csc_run_is_receiving(run));
    more = more || csc_run_has_more_mail(run);
    run->mail = CSC_MAIL_RECEIVING;
    if (more)
        csc_mailbox_note_more(engine, run);
    csc_assert(csc_run_is_receiving(run));
}

/* Whether the engine has it in memory, and goes on with it. Without a lease
 * another one may have it by now. */
static bool
holds_locked(cascade_engine *engine, const cascade_uuid *id, void *context)
{
    const csc_run *run = csc_map_get(&engine->runs, id);

    csc_assert(csc_lock_is_held(&engine->mutex));
    (void)context;
    return run != NULL && csc_run_is_held(run) && !csc_run_is_leaving(run) &&
           csc_clock_has_lease_locked(engine) &&
           engine->life == CSC_LIFE_RUNNING;
}

/* Where it has, it looks for messages. */
static bool
looks_locked(cascade_engine *engine, const cascade_uuid *id, void *context)
{
    if (!holds_locked(engine, id, context))
        return false;
    engine->mailbox.receive_due = true;
    csc_wakeup_house_locked(engine);
    csc_wakeup_host_locked(engine);
    return true;
}

/* Whether for each of them some engine of the handle says yes. */
static bool
ask_for_all(cascade_store *store, csc_question *question,
            const cascade_message_row *messages, size_t count)
{
    bool all = true;

    for (size_t i = 0; i < count && all; i++)
        all = csc_answers_ask(store, question, &messages[i].cascade_id, NULL);
    return all;
}

bool
csc_mailbox_are_held(cascade_store *store, const cascade_message_row *messages,
                     size_t count)
{
    return ask_for_all(store, holds_locked, messages, count);
}

bool
csc_mailbox_tell(cascade_store *store, const cascade_message_row *messages,
                 size_t count)
{
    return ask_for_all(store, looks_locked, messages, count);
}

static void
take_out(csc_run *run)
{
    if (run->in_hand_at == NULL)
        return;
    csc_assert(*run->in_hand_at == run);
    *run->in_hand_at = run->in_hand_next;
    if (run->in_hand_next != NULL)
        run->in_hand_next->in_hand_at = run->in_hand_at;
    run->in_hand_at = NULL;
}

void
csc_mailbox_forget(cascade_engine *engine, csc_run *run)
{
    bool any = run->mail != CSC_MAIL_NONE;

    csc_assert(csc_lock_is_held(&engine->mutex));
    take_out(run);
    run->mail = csc_run_is_receiving(run) ? CSC_MAIL_RECEIVING : CSC_MAIL_NONE;
    if (any)
        csc_mailbox_look_again(engine);
    csc_assert(run->in_hand_at == NULL);
}

size_t
csc_mailbox_ids(const cascade_engine *engine, cascade_uuid *ids, size_t max)
{
    const csc_run *run = engine->mailbox.in_hand;
    size_t count = 0;

    csc_assert(csc_lock_is_held(&engine->mutex));
    for (; run != NULL && count < max; run = run->in_hand_next)
        ids[count++] = run->state.id;
    return count;
}

void
csc_mailbox_done(cascade_engine *engine, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert(csc_run_is_receiving(run));
    take_out(run);
    run->mail = csc_run_has_more_mail(run) ? CSC_MAIL_MORE : CSC_MAIL_NONE;
    run->receipt = ++engine->mailbox.receipts;
    csc_assert(!csc_run_is_receiving(run) && run->in_hand_at == NULL);
}

void
csc_mailbox_born(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (!engine->mailbox.passed_over)
        return;
    engine->mailbox.passed_over = false;
    csc_mailbox_look_again(engine);
}

void
csc_mailbox_left(cascade_engine *engine, const csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    engine->mailbox.left++;
    if (run->receives != engine->mailbox.receives &&
        !engine->mailbox.claim_more)
        csc_mailbox_claim_again(engine);
}

void
csc_mailbox_again(cascade_engine *engine, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (run->mail != CSC_MAIL_MORE)
        return;
    run->mail = CSC_MAIL_NONE;
    csc_mailbox_look_again(engine);
}

int64_t
csc_mailbox_next_ns(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (!engine->mailbox.receive_due &&
        csc_uuid_is_nil(&engine->mailbox.receive_after))
        return INT64_MAX;
    return csc_room_may_receive(engine) ? engine->mailbox.look_at_ns
                                        : INT64_MAX;
}

bool
csc_mailbox_is_due(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return csc_mailbox_next_ns(engine) <= csc_clock_now_ns(engine);
}
