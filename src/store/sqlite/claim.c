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
#include "store/sqlite/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

#define UNNAMED_MAX 1000
/* The statement gives none that is longer: 256 bytes, or in UTF-16 128 units,
 * which are three bytes each at most. */
#define NEEDS_SIZE (3 * 128 + 1)

typedef struct shelf {
    const char *queue;
    const char *needs; /* "": none */
    int32_t takeovers;
    bool wanted;
} shelf;

typedef struct candidate {
    cascade_uuid cascade_id;
    int64_t wake_at_ms;
    int64_t claim_no;
    int32_t takeovers;
    int32_t trials; /* as this claim makes them */
    char message_kind[CASCADE_MESSAGE_KIND_MAX + 1]; /* "": none */
} candidate;

/* A cascade that messages name. */
typedef struct named {
    candidate run;
    const char *queue;
    int32_t priority;
    bool ended; /* no run row: it is to be made */
} named;

typedef struct claim_state {
    csc_sqlite_conn *conn;
    const cascade_claim *claim;
    int64_t now_ms;
    shelf *shelves;
    size_t shelf_count;
    size_t shelf_room;
    csc_arena texts;       /* the needs of the shelves */
    bool *paused;          /* each queue of the claim */
    candidate *candidates; /* those of lower priorities behind the higher */
    size_t count;
    size_t room;
    named *named; /* the first ones, `limit` at most once they are sorted */
    size_t named_count;
    size_t named_room;
    cascade_uuid *strays; /* named by messages, but not there */
    size_t stray_count;
    size_t stray_room;
    bool unnamed; /* messages of no id were passed over, the first behind: */
    char unnamed_behind[CASCADE_UUID_TEXT_SIZE];
    bool messages; /* for runs that were its own */
    int64_t next_wake_at_ms;
} claim_state;

/* ---- What messages name -------------------------------------------------- */

static int
compare_candidates(const void *a, const void *b)
{
    const candidate *left = a;
    const candidate *right = b;

    if (left->wake_at_ms != right->wake_at_ms)
        return left->wake_at_ms < right->wake_at_ms ? -1 : 1;
    return memcmp(&left->cascade_id, &right->cascade_id, sizeof(cascade_uuid));
}

static int
compare_named(const void *a, const void *b)
{
    const named *left = a;
    const named *right = b;

    if (left->priority != right->priority)
        return left->priority > right->priority ? -1 : 1;
    return compare_candidates(&left->run, &right->run);
}

static void
cut_named(claim_state *state)
{
    size_t limit = state->claim->limit;

    csc_assert(state->named_count <= 2 * state->claim->limit);
    if (state->named_count > 1)
        qsort(state->named, state->named_count, sizeof(named), compare_named);
    if (state->named_count > limit)
        state->named_count = limit;
}

static cascade_err
add_named(claim_state *state, sqlite3_stmt *statement, const named *one)
{
    const char *kind = (const char *)sqlite3_column_text(statement, 8);
    candidate *run = NULL;

    if (kind == NULL)
        return csc_fail_memory();
    if (state->named_count == 2 * state->claim->limit)
        cut_named(state);
    if (csc_mem_grow((void **)&state->named, &state->named_room,
                     state->named_count + 1, sizeof(named)) != 0)
        return csc_fail_memory();
    state->named[state->named_count] = *one;
    run = &state->named[state->named_count++].run;
    (void)snprintf(run->message_kind, sizeof(run->message_kind), "%s", kind);
    return CASCADE_OK;
}

static cascade_err
add_stray(claim_state *state, const cascade_uuid *cascade_id)
{
    csc_assert(state->stray_count <= CASCADE_CLAIM_STRAYS_MAX);
    if (state->stray_count == CASCADE_CLAIM_STRAYS_MAX)
        return CASCADE_OK;
    if (csc_mem_grow((void **)&state->strays, &state->stray_room,
                     state->stray_count + 1, sizeof(cascade_uuid)) != 0)
        return csc_fail_memory();
    state->strays[state->stray_count++] = *cascade_id;
    return CASCADE_OK;
}

/* The claim's own copy of the name, or NULL. */
static const char *
find_queue(const cascade_claim *claim, const char *queue)
{
    for (size_t i = 0; i < claim->queue_count; i++) {
        if (queue != NULL && strcmp(claim->queues[i], queue) == 0)
            return claim->queues[i];
    }
    return NULL;
}

static cascade_err
weigh_owned(claim_state *state, sqlite3_stmt *statement)
{
    cascade_uuid owner;
    cascade_err err =
        csc_sqlite_row_uuid(statement, 6, "cascade_runs", "engine_id", &owner);

    if (err == CASCADE_OK && csc_uuid_equal(&owner, &state->claim->engine_id))
        state->messages = true;
    return err == CASCADE_ERR_CORRUPT ? csc_ok() : err; /* S74 */
}

static cascade_err
weigh_ended(claim_state *state, sqlite3_stmt *statement,
            const cascade_uuid *cascade_id)
{
    const cascade_claim *claim = state->claim;
    named one = {
        .run = {.cascade_id = *cascade_id, .wake_at_ms = state->now_ms},
        .ended = true};

    if (claim->suspects || claim->queue_count == 0)
        return CASCADE_OK;
    one.queue = claim->queues[0];
    return add_named(state, statement, &one);
}

static int32_t
next_trial(const cascade_claim *claim, sqlite3_stmt *statement, int column)
{
    int32_t trial = sqlite3_column_int(statement, column);

    return claim->suspects && trial < INT32_MAX ? trial + 1 : trial;
}

static cascade_err
weigh_free(claim_state *state, sqlite3_stmt *statement,
           const cascade_uuid *cascade_id)
{
    const cascade_claim *claim = state->claim;
    named one = {.run = {.cascade_id = *cascade_id,
                         .wake_at_ms = sqlite3_column_int64(statement, 1),
                         .claim_no = sqlite3_column_int64(statement, 2),
                         .takeovers = sqlite3_column_int(statement, 3),
                         .trials = next_trial(claim, statement, 9)},
                 .priority = sqlite3_column_int(statement, 4)};
    const char *queue = NULL;
    cascade_err err = csc_sqlite_call_text(statement, 5, &queue);

    if (err != CASCADE_OK)
        return err;
    one.queue = find_queue(claim, queue);
    if (one.queue == NULL ||
        (one.run.takeovers >= claim->suspect_from) != claim->suspects)
        return CASCADE_OK;
    return add_named(state, statement, &one);
}

/* One cascade: a row of CSC_SQLITE_NEXT_NAMED. */
static cascade_err
weigh_named(claim_state *state, sqlite3_stmt *statement,
            const cascade_uuid *cascade_id)
{
    if (sqlite3_column_int(statement, 7) == 0)
        return add_stray(state, cascade_id);
    if (sqlite3_column_type(statement, 5) == SQLITE_NULL)
        return weigh_ended(state, statement, cascade_id);
    if (sqlite3_column_type(statement, 6) != SQLITE_NULL)
        return weigh_owned(state, statement);
    return weigh_free(state, statement, cascade_id);
}

/* Messages of no id stand behind that one. */
static void
note_unnamed(claim_state *state, const char *behind)
{
    if (!state->unnamed)
        (void)snprintf(state->unnamed_behind, sizeof(state->unnamed_behind),
                       "%s", behind);
    state->unnamed = true;
}

/* The next one behind that. */
static cascade_err
collect_next(claim_state *state, char *behind, bool *found)
{
    csc_sqlite_call call;
    cascade_uuid id;
    cascade_err err;

    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_NEXT_NAMED);
    csc_sqlite_call_add_text(&call, behind);
    err = csc_sqlite_call_next(&call, found);
    if (err == CASCADE_OK && *found &&
        sqlite3_column_int(call.statement, 10) != 0)
        note_unnamed(state, behind);
    *found = *found && sqlite3_column_type(call.statement, 0) != SQLITE_NULL;
    if (err == CASCADE_OK && *found)
        err = csc_sqlite_row_uuid(call.statement, 0, "cascade_messages",
                                  "cascade_id", &id);
    if (err == CASCADE_OK && *found)
        err = weigh_named(state, call.statement, &id);
    csc_sqlite_call_end(&call);
    if (err == CASCADE_OK && *found)
        (void)cascade_uuid_format(&id, behind);
    return err;
}

static cascade_err
collect_named(claim_state *state)
{
    char behind[CASCADE_UUID_TEXT_SIZE] = "";
    bool found = true;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && found)
        err = collect_next(state, behind, &found);
    cut_named(state);
    return err;
}

/* `*taken`: it was as it had been seen. */
static cascade_err
take_one_named(claim_state *state, const named *one, bool *taken)
{
    csc_sqlite_call call;
    int changes = 0;
    cascade_err err;

    csc_assert(csc_sqlite_txn_may_write(state->conn));
    csc_sqlite_call_begin(&call, state->conn,
                          one->ended ? CSC_SQLITE_CLAIM_ENDED
                                     : CSC_SQLITE_CLAIM_NAMED);
    csc_sqlite_call_add_uuid(&call, &one->run.cascade_id);
    csc_sqlite_call_add_uuid(&call, &state->claim->engine_id);
    if (one->ended) {
        csc_sqlite_call_add_text(&call, one->queue);
        csc_sqlite_call_add_i64(&call, state->now_ms);
    } else {
        csc_sqlite_call_add_i64(&call, one->run.claim_no);
        csc_sqlite_call_add_i64(&call, one->run.takeovers);
        csc_sqlite_call_add_text(&call, one->queue);
        csc_sqlite_call_add_i64(&call, one->run.trials);
    }
    err = csc_sqlite_call_run(&call, &changes);
    *taken = changes == 1;
    return err;
}

static cascade_err
take_named(claim_state *state)
{
    size_t count = state->named_count;
    cascade_err err = CASCADE_OK;

    state->named_count = 0;
    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        bool taken = false;

        err = take_one_named(state, &state->named[i], &taken);
        if (taken)
            state->named[state->named_count++] = state->named[i];
    }
    return err;
}

static cascade_err
clear_stray(claim_state *state, const cascade_uuid *id, const char *own_kinds,
            int64_t *left)
{
    static const csc_sqlite_statement statements[] = {CSC_SQLITE_MOVE_STRAYS,
                                                      CSC_SQLITE_DELETE_STRAYS};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_sqlite_txn_may_write(state->conn));
    for (size_t i = 0; i < 2 && *left > 0 && err == CASCADE_OK; i++) {
        csc_sqlite_call call;
        int changes = 0;

        csc_sqlite_call_begin(&call, state->conn, statements[i]);
        csc_sqlite_call_add_uuid(&call, id);
        csc_sqlite_call_add_i64(&call, *left);
        csc_sqlite_call_add_text(&call, own_kinds);
        err = csc_sqlite_call_run(&call, &changes);
        *left -= changes;
    }
    return err;
}

/* Sends on what goes to a last run, and deletes the rest: S55. */
static cascade_err
clear_strays(claim_state *state)
{
    const cascade_claim *claim = state->claim;
    int64_t left = CASCADE_CLAIM_STRAYS_MAX;
    csc_buf kinds = {0};
    cascade_err err = CASCADE_OK;

    if (state->stray_count == 0)
        return CASCADE_OK;
    csc_buf_add_text(&kinds, ",");
    for (size_t i = 0; i < claim->own_kind_count; i++)
        csc_buf_add_format(&kinds, "%s,", claim->own_kinds[i]);
    if (kinds.failed)
        err = csc_fail_memory();
    for (size_t i = 0; i < state->stray_count && left > 0 && err == CASCADE_OK;
         i++)
        err = clear_stray(state, &state->strays[i], kinds.data, &left);
    csc_buf_fini(&kinds);
    return err;
}

/* A portion of those that were passed over: they are nobody's, and each claim
 * would step over them (B5). */
static cascade_err
clear_unnamed(claim_state *state)
{
    csc_sqlite_call call;
    int changes = 0;

    csc_assert(csc_sqlite_txn_may_write(state->conn));
    if (!state->unnamed)
        return CASCADE_OK;
    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_DELETE_UNNAMED);
    csc_sqlite_call_add_text(&call, state->unnamed_behind);
    csc_sqlite_call_add_i64(&call, UNNAMED_MAX);
    return csc_sqlite_call_run(&call, &changes);
}

/* ---- Shelves ------------------------------------------------------------- */

static bool
knows(const cascade_claim *claim, const char *needs)
{
    if (needs[0] == '\0')
        return true;
    for (size_t i = 0; i < claim->node_count; i++) {
        if (strcmp(claim->nodes[i], needs) == 0)
            return true;
    }
    return false;
}

static cascade_err
add_shelf(claim_state *state, const char *queue, const char *needs,
          int32_t takeovers)
{
    const cascade_claim *claim = state->claim;
    const char *copy = csc_arena_strdup(&state->texts, needs);

    if (copy == NULL)
        return csc_fail_memory();
    if (csc_mem_grow((void **)&state->shelves, &state->shelf_room,
                     state->shelf_count + 1, sizeof(shelf)) != 0)
        return csc_fail_memory();
    state->shelves[state->shelf_count++] = (shelf){
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

static cascade_err
collect_shelves_of(claim_state *state, const char *queue)
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
is_paused(csc_sqlite_conn *conn, const char *queue, bool *paused)
{
    csc_sqlite_call call;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_IS_PAUSED);
    csc_sqlite_call_add_text(&call, queue);
    err = csc_sqlite_call_next(&call, paused);
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
collect_shelves(claim_state *state)
{
    const cascade_claim *claim = state->claim;
    cascade_err err = CASCADE_OK;

    state->shelf_count = 0;
    csc_arena_clear(&state->texts);
    for (size_t i = 0; i < claim->queue_count && err == CASCADE_OK; i++) {
        err = is_paused(state->conn, claim->queues[i], &state->paused[i]);
        if (err == CASCADE_OK && !state->paused[i])
            err = collect_shelves_of(state, claim->queues[i]);
    }
    return err;
}

/* ---- Candidates ---------------------------------------------------------- */

static void
begin_look(csc_sqlite_call *call, const claim_state *state,
           csc_sqlite_statement id, const shelf *from, int priority)
{
    csc_sqlite_call_begin(call, state->conn, id);
    csc_sqlite_call_add_text(call, from->queue);
    csc_sqlite_call_add_text(call, from->needs);
    csc_sqlite_call_add_i64(call, from->takeovers);
    csc_sqlite_call_add_i64(call, priority);
    csc_sqlite_call_add_i64(call, state->now_ms);
}

static cascade_err
add_candidate(claim_state *state, sqlite3_stmt *statement, int32_t takeovers)
{
    candidate *added;

    if (csc_mem_grow((void **)&state->candidates, &state->room,
                     state->count + 1, sizeof(candidate)) != 0)
        return csc_fail_memory();
    added = &state->candidates[state->count++];
    added->wake_at_ms = sqlite3_column_int64(statement, 1);
    added->claim_no = sqlite3_column_int64(statement, 2);
    added->takeovers = takeovers;
    added->trials = next_trial(state->claim, statement, 3);
    added->message_kind[0] = '\0';
    return csc_sqlite_row_uuid(statement, 0, "cascade_runs", "cascade_id",
                               &added->cascade_id);
}

static cascade_err
look_for_due(claim_state *state, const shelf *from, int priority, size_t limit)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    begin_look(&call, state, CSC_SQLITE_LIST_SHELF, from, priority);
    csc_sqlite_call_add_i64(&call, (int64_t)limit);
    err = csc_sqlite_call_next(&call, &row);
    while (err == CASCADE_OK && row) {
        err = add_candidate(state, call.statement, from->takeovers);
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(&call, &row);
    }
    csc_sqlite_call_end(&call);
    return err;
}

/* Each shelf gives its first ones; of all of them the first count. */
static cascade_err
collect_due(claim_state *state, size_t limit)
{
    cascade_err err = CASCADE_OK;

    csc_assert(limit <= state->claim->limit);
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
                      sizeof(candidate), compare_candidates);
            if (state->count > limit)
                state->count = limit;
        }
    }
    return err;
}

static cascade_err
look_for_wake(claim_state *state, const shelf *from, int priority)
{
    csc_sqlite_call call;
    int64_t wake_at_ms;
    bool row = false;
    cascade_err err;

    begin_look(&call, state, CSC_SQLITE_NEXT_WAKE, from, priority);
    err = csc_sqlite_call_next(&call, &row);
    if (err == CASCADE_OK && row) {
        wake_at_ms = sqlite3_column_int64(call.statement, 0);
        if (state->next_wake_at_ms == CASCADE_TIME_NONE ||
            wake_at_ms < state->next_wake_at_ms)
            state->next_wake_at_ms = wake_at_ms;
    }
    csc_sqlite_call_end(&call);
    return err;
}

/* On every shelf, also those that this claim passes: too early an answer costs
 * a claim, too late a one costs time. Who resumes a queue tells the waiters. */
static cascade_err
find_next_wake(claim_state *state)
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
look(claim_state *state, size_t limit)
{
    cascade_err err = collect_shelves(state);

    if (err == CASCADE_OK)
        err = collect_due(state, limit);
    if (err == CASCADE_OK)
        err = find_next_wake(state);
    return err;
}

static cascade_err
take_candidates(claim_state *state)
{
    cascade_err err = CASCADE_OK;

    csc_assert(csc_sqlite_txn_may_write(state->conn));
    for (size_t i = 0; i < state->count && err == CASCADE_OK; i++) {
        csc_sqlite_call call;
        int changes = 0;

        csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_CLAIM_RUN);
        csc_sqlite_call_add_uuid(&call, &state->candidates[i].cascade_id);
        csc_sqlite_call_add_uuid(&call, &state->claim->engine_id);
        csc_sqlite_call_add_i64(&call, state->candidates[i].trials);
        err = csc_sqlite_call_run(&call, &changes);
        if (err == CASCADE_OK && changes != 1)
            err = cascade_store_fail(CASCADE_ERR_CORRUPT,
                                     "table cascade_runs: an index gives a "
                                     "run that is not there");
    }
    return err;
}

static cascade_err
look_without_lock(csc_sqlite *store, claim_state *state)
{
    cascade_err err = csc_sqlite_txn_begin_read(store, &state->conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return csc_store_undone(err);
    err = check_alive(state->conn, state->claim);
    if (err == CASCADE_OK)
        err = collect_named(state);
    if (err == CASCADE_OK)
        err = look(state, state->claim->limit);
    return csc_store_undone(csc_sqlite_txn_end(state->conn, err));
}

static cascade_err
take_with_lock(csc_sqlite *store, claim_state *state)
{
    cascade_err err = csc_sqlite_txn_begin_write(store, &state->conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return csc_store_undone(err);
    err = check_alive(state->conn, state->claim);
    if (err == CASCADE_OK)
        err = take_named(state);
    if (err == CASCADE_OK)
        err = clear_strays(state);
    if (err == CASCADE_OK)
        err = clear_unnamed(state);
    if (err == CASCADE_OK)
        err = look(state, state->claim->limit - state->named_count);
    if (err == CASCADE_OK)
        err = take_candidates(state);
    return csc_sqlite_txn_end_told(state->conn, err);
}

static void
give_one(const candidate *from, cascade_claimed *claimed)
{
    claimed->cascade_id = from->cascade_id;
    claimed->claim_no = from->claim_no + 1;
    claimed->takeovers = from->takeovers;
    claimed->trials = from->trials;
    memcpy(claimed->message_kind, from->message_kind,
           sizeof(claimed->message_kind));
}

static void
give(const claim_state *state, cascade_claimed *claimed,
     cascade_claim_result *result)
{
    csc_assert(state->named_count + state->count <= state->claim->limit);
    for (size_t i = 0; i < state->named_count; i++)
        give_one(&state->named[i].run, &claimed[i]);
    for (size_t i = 0; i < state->count; i++)
        give_one(&state->candidates[i], &claimed[state->named_count + i]);
    result->count = state->named_count + state->count;
    result->next_wake_at_ms = state->next_wake_at_ms;
    result->messages = state->messages;
    for (size_t i = 0; result->paused != NULL && i < state->claim->queue_count;
         i++)
        result->paused[i] = state->paused[i];
}

cascade_err
csc_sqlite_claim_runs(void *self, const cascade_claim *claim,
                      cascade_claimed *claimed, cascade_claim_result *result)
{
    csc_sqlite *store = self;
    claim_state state = {.claim = claim};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    state.now_ms = csc_clock_wall_ms(store->config->clock);
    state.paused = csc_mem_zalloc(claim->queue_count, sizeof(bool));
    if (state.paused == NULL)
        return csc_fail_memory();
    err = look_without_lock(store, &state);
    if (err == CASCADE_OK &&
        (state.count + state.named_count + state.stray_count > 0 ||
         state.unnamed))
        err = take_with_lock(store, &state);
    if (err == CASCADE_OK)
        give(&state, claimed, result);
    csc_arena_fini(&state.texts);
    csc_mem_free(state.shelves);
    csc_mem_free(state.candidates);
    csc_mem_free(state.named);
    csc_mem_free(state.strays);
    csc_mem_free(state.paused);
    return err;
}
