/* SPDX-License-Identifier: MIT
 *
 * Claiming: S7, S8, S9, S20, S25, S47.
 *
 * The index of free runs is ordered by (queue, needs, takeovers, priority,
 * wake_at). What a claim may have is decided by the first three alone: they
 * make a *shelf*, and a shelf is taken or passed as a whole.
 *
 *   queue "mail"   needs ''      takeovers 0   p 9: wake_at ...  p 0: ...
 *                  needs ''      takeovers 3   ...
 *                  needs 'pack'  takeovers 0   ...
 *
 * A claim walks the shelves of its queues (one seek each; there are few), then
 * looks at each shelf once per priority, highest first. So it costs the same
 * with 100,000 parked runs, with 100,000 that need a node it does not know, and
 * with 100,000 suspects.
 *
 * A queue that is paused has no shelves: one look for each queue, in the
 * transaction that looks at its shelves, so what is taken is of no queue that
 * was paused before.
 *
 * Nor has a queue that has limits, but for turns.c. What is taken there counts
 * for the limit of the claim.
 *
 * Before the shelves come the cascades that messages name. These are few, since
 * who owns a cascade receives its messages soon: all of them are walked, one
 * seek each. Where there is no message that is one seek in an empty index.
 *
 *   free run, queue asked for   taken, whatever its wake_at and needs, also
 *                               where the queue is paused
 *   own run                     told: `messages`
 *   no run row                  the cascade has ended: the row is made anew
 *   no such cascade             the messages are deleted, in portions
 *   no id                       so are these (S87): what is left of them is
 *                               stepped over each time
 *
 * Rows that cannot be read are passed over by the statements themselves, before
 * they count (S74): a walk that was given one could not go on behind it.
 *
 * It looks first in a read transaction: an engine asks often and finds nothing
 * most times, and a look takes no lock. When there is something, a write
 * transaction, which no other claimer can be in, takes what messages named a
 * moment ago where it still is as it was (so that walk keeps no writer
 * waiting), looks at the shelves again and takes what it finds there. If we die
 * before the commit, nothing is claimed; after it, the runs are ours and are
 * freed with our incarnation.
 */
#include "store/sqlite/claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

/* The statement gives none that is longer: 256 bytes, or in UTF-16 128 units,
 * which are three bytes each at most. */
#define NEEDS_SIZE (3 * 128 + 1)

/* ---- Candidates ---------------------------------------------------------- */

int
csc_sqlite_claim_compare(const void *a, const void *b)
{
    const csc_sqlite_candidate *left = a;
    const csc_sqlite_candidate *right = b;

    if (left->wake_at_ms != right->wake_at_ms)
        return left->wake_at_ms < right->wake_at_ms ? -1 : 1;
    return memcmp(&left->cascade_id, &right->cascade_id, sizeof(cascade_uuid));
}

int32_t
csc_sqlite_claim_trial(const cascade_claim *claim, sqlite3_stmt *statement,
                       int column)
{
    int32_t trial = sqlite3_column_int(statement, column);

    return claim->suspects && trial < INT32_MAX ? trial + 1 : trial;
}

/* ---- Shelves ------------------------------------------------------------- */

static bool
knows(const cascade_claim *claim, const char *needs)
{
    if (needs[0] == '\0' || strcmp(needs, CASCADE_NEEDS_TURN) == 0)
        return true;
    for (size_t i = 0; i < claim->node_count; i++) {
        if (strcmp(claim->nodes[i], needs) == 0)
            return true;
    }
    return false;
}

static cascade_err
add_shelf(csc_sqlite_claiming *state, const char *queue, const char *needs,
          int32_t takeovers)
{
    const cascade_claim *claim = state->claim;
    const char *copy = csc_arena_strdup(&state->texts, needs);

    if (copy == NULL)
        return csc_fail_memory();
    if (csc_mem_grow((void **)&state->shelves, &state->shelf_room,
                     state->shelf_count + 1, sizeof(csc_sqlite_shelf)) != 0)
        return csc_fail_memory();
    state->shelves[state->shelf_count++] = (csc_sqlite_shelf){
        .queue = queue,
        .needs = copy,
        .takeovers = takeovers,
        .wanted = knows(claim, needs) &&
                  (takeovers >= claim->suspect_from) == claim->suspects,
    };
    return CASCADE_OK;
}

/* Moves (needs, takeovers) on to the next shelf of the queue. */
static cascade_err
next_shelf(csc_sqlite_conn *conn, const char *queue, char needs[NEEDS_SIZE],
           int32_t *takeovers, bool *found)
{
    csc_sqlite_call call;
    const char *text;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_NEXT_SHELF);
    csc_sqlite_call_add_text(&call, queue);
    csc_sqlite_call_add_text(&call, needs);
    csc_sqlite_call_add_i64(&call, *takeovers);
    err = csc_sqlite_call_next(&call, found);
    if (err == CASCADE_OK && *found) {
        text = (const char *)sqlite3_column_text(call.statement, 0);
        *takeovers = sqlite3_column_int(call.statement, 1);
        if (text == NULL)
            err = csc_fail_memory();
        else
            (void)snprintf(needs, NEEDS_SIZE, "%s", text);
    }
    csc_sqlite_call_end(&call);
    return err;
}

cascade_err
csc_sqlite_claim_shelve(csc_sqlite_claiming *state, const char *queue)
{
    char needs[NEEDS_SIZE] = "";
    int32_t takeovers = -1;
    bool found = true;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && found) {
        err = next_shelf(state->conn, queue, needs, &takeovers, &found);
        if (err == CASCADE_OK && found)
            err = add_shelf(state, queue, needs, takeovers);
    }
    return err;
}

static cascade_err
look_at_queue(csc_sqlite_conn *conn, const char *name, csc_sqlite_queue *queue)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    *queue = (csc_sqlite_queue){.paused = false};
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_LOOK_QUEUE);
    csc_sqlite_call_add_text(&call, name);
    err = csc_sqlite_call_next(&call, &row);
    if (err == CASCADE_OK && row) {
        queue->paused = sqlite3_column_int(call.statement, 0) != 0;
        queue->limited = sqlite3_column_int(call.statement, 1) != 0;
        queue->kept = queue->limited && !queue->paused;
        queue->running_max = sqlite3_column_int64(call.statement, 2);
        queue->key_running_max = sqlite3_column_int64(call.statement, 3);
    }
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
collect_shelves(csc_sqlite_claiming *state)
{
    const cascade_claim *claim = state->claim;
    cascade_err err = CASCADE_OK;

    state->shelf_count = 0;
    csc_arena_clear(&state->texts);
    for (size_t i = 0; i < claim->queue_count && err == CASCADE_OK; i++) {
        csc_sqlite_queue *queue = &state->queues[i];

        err = look_at_queue(state->conn, claim->queues[i], queue);
        if (err == CASCADE_OK && !queue->paused && !queue->kept)
            err = csc_sqlite_claim_shelve(state, claim->queues[i]);
    }
    return err;
}

/* ---- What is due --------------------------------------------------------- */

static void
begin_look(csc_sqlite_call *call, const csc_sqlite_claiming *state,
           csc_sqlite_statement id, const csc_sqlite_shelf *from, int priority)
{
    csc_sqlite_call_begin(call, state->conn, id);
    csc_sqlite_call_add_text(call, from->queue);
    csc_sqlite_call_add_text(call, from->needs);
    csc_sqlite_call_add_i64(call, from->takeovers);
    csc_sqlite_call_add_i64(call, priority);
    csc_sqlite_call_add_i64(call, state->now_ms);
}

cascade_err
csc_sqlite_claim_add(csc_sqlite_claiming *state, sqlite3_stmt *statement,
                     int32_t takeovers)
{
    csc_sqlite_candidate *added;

    if (csc_mem_grow((void **)&state->candidates, &state->room,
                     state->count + 1, sizeof(csc_sqlite_candidate)) != 0)
        return csc_fail_memory();
    added = &state->candidates[state->count++];
    added->wake_at_ms = sqlite3_column_int64(statement, 1);
    added->claim_no = sqlite3_column_int64(statement, 2);
    added->takeovers = takeovers;
    added->trials = csc_sqlite_claim_trial(state->claim, statement, 3);
    added->message_kind[0] = '\0';
    return csc_sqlite_row_uuid(statement, 0, "cascade_runs", "cascade_id",
                               &added->cascade_id);
}

static cascade_err
look_for_due(csc_sqlite_claiming *state, const csc_sqlite_shelf *from,
             int priority, size_t limit)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    begin_look(&call, state, CSC_SQLITE_LIST_SHELF, from, priority);
    csc_sqlite_call_add_i64(&call, (int64_t)limit);
    err = csc_sqlite_call_next(&call, &row);
    while (err == CASCADE_OK && row) {
        err = csc_sqlite_claim_add(state, call.statement, from->takeovers);
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(&call, &row);
    }
    csc_sqlite_call_end(&call);
    return err;
}

/* Each shelf gives its first ones; of all of them the first count. */
cascade_err
csc_sqlite_claim_due(csc_sqlite_claiming *state, size_t limit)
{
    cascade_err err = CASCADE_OK;

    state->count = 0;
    for (int p = CSC_SQLITE_PRIORITIES - 1; p >= 0 && state->count < limit;
         p--) {
        size_t begin = state->count;

        for (size_t i = 0; i < state->shelf_count && err == CASCADE_OK; i++) {
            if (!state->shelves[i].wanted)
                continue;
            err = look_for_due(state, &state->shelves[i], p, limit - begin);
            if (err == CASCADE_OK && state->count > begin)
                qsort(state->candidates + begin, state->count - begin,
                      sizeof(csc_sqlite_candidate), csc_sqlite_claim_compare);
            if (state->count > limit)
                state->count = limit;
        }
    }
    return err;
}

void
csc_sqlite_claim_note_next(csc_sqlite_claiming *state, int64_t wake_at_ms)
{
    if (wake_at_ms != CASCADE_TIME_NONE &&
        (state->next_wake_at_ms == CASCADE_TIME_NONE ||
         wake_at_ms < state->next_wake_at_ms))
        state->next_wake_at_ms = wake_at_ms;
}

static cascade_err
look_for_wake(csc_sqlite_claiming *state, const csc_sqlite_shelf *from,
              int priority)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    begin_look(&call, state, CSC_SQLITE_NEXT_WAKE, from, priority);
    err = csc_sqlite_call_next(&call, &row);
    if (err == CASCADE_OK && row)
        csc_sqlite_claim_note_next(state,
                                   sqlite3_column_int64(call.statement, 0));
    csc_sqlite_call_end(&call);
    return err;
}

/* On every shelf, also those that this claim passes: too early an answer costs
 * a claim, too late a one costs time. Who resumes a queue tells the waiters. */
cascade_err
csc_sqlite_claim_next(csc_sqlite_claiming *state)
{
    cascade_err err = CASCADE_OK;

    state->next_wake_at_ms = CASCADE_TIME_NONE;
    for (size_t i = 0; i < state->shelf_count; i++) {
        for (int p = 0; p < CSC_SQLITE_PRIORITIES && err == CASCADE_OK; p++)
            err = look_for_wake(state, &state->shelves[i], p);
    }
    return err;
}

/* ---- The move ------------------------------------------------------------ */

static cascade_err
check_alive(csc_sqlite_conn *conn, const cascade_claim *claim)
{
    csc_sqlite_call call;
    bool row = false;
    int64_t batches = 0;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_GET_ENGINE);
    csc_sqlite_call_add_uuid(&call, &claim->engine_id);
    err = csc_sqlite_call_next(&call, &row);
    if (err == CASCADE_OK && row)
        batches = sqlite3_column_int64(call.statement, 0);
    csc_sqlite_call_end(&call);
    if (err != CASCADE_OK)
        return err;
    if (!row)
        return cascade_store_fail(CASCADE_ERR_FENCED,
                                  "claim: this incarnation was removed; attach "
                                  "a new one");
    if (batches < claim->batches)
        return cascade_store_fail(
            CASCADE_ERR_LOST,
            "claim: the lanes show %lld batches where %lld were committed: the "
            "file was replaced by an older one",
            (long long)batches, (long long)claim->batches);
    return CASCADE_OK;
}

/* Up to `limit` of the runs that are due. */
static cascade_err
look(csc_sqlite_claiming *state, size_t limit)
{
    cascade_err err = collect_shelves(state);

    if (err == CASCADE_OK)
        err = csc_sqlite_claim_due(state, limit);
    if (err == CASCADE_OK)
        err = csc_sqlite_claim_next(state);
    if (err == CASCADE_OK)
        err = csc_sqlite_turns_look(state);
    return err;
}

cascade_err
csc_sqlite_claim_own(const csc_sqlite_claiming *state,
                     const csc_sqlite_candidate *run, bool slot)
{
    csc_sqlite_call call;
    int changes = 0;
    cascade_err err;

    csc_assert(csc_sqlite_txn_may_write(state->conn));
    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_CLAIM_RUN);
    csc_sqlite_call_add_uuid(&call, &run->cascade_id);
    csc_sqlite_call_add_uuid(&call, &state->claim->engine_id);
    csc_sqlite_call_add_i64(&call, run->trials);
    csc_sqlite_call_add_i64(&call, slot);
    err = csc_sqlite_call_run(&call, &changes);
    if (err == CASCADE_OK && changes != 1)
        err = cascade_store_fail(CASCADE_ERR_CORRUPT,
                                 "table cascade_runs: an index gives a run "
                                 "that is not there");
    return err;
}

static cascade_err
take_turns(csc_sqlite_claiming *state, size_t limit)
{
    const cascade_claim *claim = state->claim;
    size_t room = csc_turn_room(&state->conn->store->turns, claim->slots, limit,
                                state->count > 0);
    cascade_err err = csc_sqlite_turns_take(state, room);

    if (!claim->suspects &&
        csc_turn_was_cut(claim->slots, room, state->turn_count))
        state->again = true;
    return err;
}

/* What is due, and of kept queues before that: both within the limit. */
static cascade_err
take_due(csc_sqlite_claiming *state)
{
    size_t limit = state->claim->limit - state->named_count;
    cascade_err err = look(state, limit);

    if (err == CASCADE_OK && state->turns_due)
        err = take_turns(state, limit);
    if (state->count > limit - state->turn_count)
        state->count = limit - state->turn_count;
    for (size_t i = 0; i < state->count && err == CASCADE_OK; i++)
        err = csc_sqlite_claim_own(state, &state->candidates[i], false);
    return err;
}

static cascade_err
look_without_lock(csc_sqlite *store, csc_sqlite_claiming *state)
{
    cascade_err err = csc_sqlite_txn_begin_read(store, &state->conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return csc_store_undone(err);
    err = check_alive(state->conn, state->claim);
    if (err == CASCADE_OK)
        err = csc_sqlite_named_collect(state);
    if (err == CASCADE_OK)
        err = look(state, state->claim->limit);
    return csc_store_undone(csc_sqlite_txn_end(state->conn, err));
}

static cascade_err
take_with_lock(csc_sqlite *store, csc_sqlite_claiming *state)
{
    cascade_err err = csc_sqlite_txn_begin_write(store, &state->conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return csc_store_undone(err);
    err = check_alive(state->conn, state->claim);
    if (err == CASCADE_OK)
        err = csc_sqlite_named_take(state);
    if (err == CASCADE_OK)
        err = csc_sqlite_named_clear(state);
    if (err == CASCADE_OK)
        err = take_due(state);
    return csc_sqlite_txn_end_told(state->conn, err);
}

static void
give_one(const csc_sqlite_candidate *from, bool slot, cascade_claimed *claimed)
{
    claimed->cascade_id = from->cascade_id;
    claimed->claim_no = from->claim_no + 1;
    claimed->takeovers = from->takeovers;
    claimed->trials = from->trials;
    memcpy(claimed->message_kind, from->message_kind,
           sizeof(claimed->message_kind));
    claimed->slot = slot;
}

static void
give(const csc_sqlite_claiming *state, cascade_claimed *claimed,
     cascade_claim_result *result)
{
    size_t count = 0;

    csc_assert(state->named_count + state->turn_count + state->count <=
               state->claim->limit);
    for (size_t i = 0; i < state->named_count; i++)
        give_one(&state->named[i].run, false, &claimed[count++]);
    for (size_t i = 0; i < state->count; i++)
        give_one(&state->candidates[i], false, &claimed[count++]);
    for (size_t i = 0; i < state->turn_count; i++)
        give_one(&state->turns[i], true, &claimed[count++]);
    result->count = count;
    result->next_wake_at_ms = state->next_wake_at_ms;
    result->messages = state->messages;
    result->again = state->again;
    result->suspects = state->suspects && count == 0;
    for (size_t i = 0; i < state->claim->queue_count; i++) {
        if (result->paused != NULL)
            result->paused[i] = state->queues[i].paused;
        if (result->kept != NULL)
            result->kept[i] = state->queues[i].limited;
    }
}

cascade_err
csc_sqlite_claim_runs(void *self, const cascade_claim *claim,
                      cascade_claimed *claimed, cascade_claim_result *result)
{
    csc_sqlite *store = self;
    csc_sqlite_claiming state = {.claim = claim};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    state.now_ms = csc_clock_wall_ms(store->config->clock);
    state.queues = csc_mem_zalloc(claim->queue_count, sizeof(state.queues[0]));
    if (state.queues == NULL)
        return csc_fail_memory();
    err = look_without_lock(store, &state);
    if (err == CASCADE_OK &&
        (state.count + state.named_count + state.stray_count > 0 ||
         state.unnamed || state.turns_due))
        err = take_with_lock(store, &state);
    if (err == CASCADE_OK)
        give(&state, claimed, result);
    csc_arena_fini(&state.texts);
    csc_mem_free(state.shelves);
    csc_mem_free(state.candidates);
    csc_mem_free(state.named);
    csc_mem_free(state.strays);
    csc_mem_free(state.turns);
    csc_mem_free(state.queues);
    return err;
}
