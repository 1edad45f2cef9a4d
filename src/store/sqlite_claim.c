/* SPDX-License-Identifier: MIT
 *
 * Claiming: S7, S8, S9.
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
 * It looks first in a read transaction: an engine asks often and finds nothing
 * most times, and a look takes no lock. When there is something it looks again
 * inside a write transaction, which no other claimer can be in, and takes what
 * it finds there. If we die before the commit, nothing is claimed; after it,
 * the runs are ours and are freed with our incarnation.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "store/sqlite_internal.h"

#define CLAIM_MAX 1000
#define NEEDS_SIZE 256

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
} candidate;

typedef struct claim_state {
    csc_sqlite_conn *conn;
    const cascade_claim *claim;
    int64_t now_ms;
    shelf *shelves;
    size_t shelf_count;
    size_t shelf_room;
    csc_arena texts;       /* the needs of the shelves */
    candidate *candidates; /* those of lower priorities behind the higher */
    size_t count;
    size_t room;
    int64_t next_wake_at_ms;
} claim_state;

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
        else if (strlen(text) >= NEEDS_SIZE)
            err = cascade_store_fail(CASCADE_ERR_CORRUPT,
                                     "table cascade_runs, column needs: a "
                                     "name of over %d bytes",
                                     NEEDS_SIZE - 1);
        else
            memcpy(needs, text, strlen(text) + 1);
    }
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
collect_shelves(claim_state *state)
{
    cascade_err err = CASCADE_OK;

    state->shelf_count = 0;
    csc_arena_clear(&state->texts);
    for (size_t i = 0; i < state->claim->queue_count; i++) {
        const char *queue = state->claim->queues[i];
        char needs[NEEDS_SIZE] = "";
        int32_t takeovers = -1;
        bool found = true;

        while (err == CASCADE_OK && found) {
            err = next_shelf(state->conn, queue, needs, &takeovers, &found);
            if (err == CASCADE_OK && found)
                err = add_shelf(state, queue, needs, takeovers);
        }
    }
    return err;
}

/* ---- Candidates ---------------------------------------------------------- */

static void
begin_look(csc_sqlite_call *call, const claim_state *state,
           csc_sqlite_sql_id id, const shelf *from, int priority)
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

static int
compare_candidates(const void *a, const void *b)
{
    const candidate *left = a;
    const candidate *right = b;

    if (left->wake_at_ms != right->wake_at_ms)
        return left->wake_at_ms < right->wake_at_ms ? -1 : 1;
    return memcmp(&left->cascade_id, &right->cascade_id, sizeof(cascade_uuid));
}

/* Each shelf gives its first ones; of all of them the first count. */
static cascade_err
collect_due(claim_state *state)
{
    size_t limit = state->claim->limit;
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
 * a claim, too late a one costs time. */
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

static cascade_err
look(claim_state *state)
{
    cascade_err err = check_alive(state->conn, state->claim);

    if (err == CASCADE_OK)
        err = collect_shelves(state);
    if (err == CASCADE_OK)
        err = collect_due(state);
    if (err == CASCADE_OK)
        err = find_next_wake(state);
    return err;
}

static cascade_err
take_candidates(claim_state *state)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < state->count && err == CASCADE_OK; i++) {
        csc_sqlite_call call;
        int changes = 0;

        csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_CLAIM_RUN);
        csc_sqlite_call_add_uuid(&call, &state->candidates[i].cascade_id);
        csc_sqlite_call_add_uuid(&call, &state->claim->engine_id);
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

    if (err != CASCADE_OK)
        return err;
    return csc_sqlite_txn_end(state->conn, look(state));
}

static cascade_err
take_with_lock(csc_sqlite *store, claim_state *state)
{
    cascade_err err = csc_sqlite_txn_begin_write(store, &state->conn);

    if (err != CASCADE_OK)
        return err;
    err = look(state);
    if (err == CASCADE_OK)
        err = take_candidates(state);
    return csc_sqlite_txn_end(state->conn, err);
}

static void
give(const claim_state *state, cascade_claimed *claimed,
     cascade_claim_result *result)
{
    for (size_t i = 0; i < state->count; i++) {
        const candidate *from = &state->candidates[i];

        claimed[i] = (cascade_claimed){.cascade_id = from->cascade_id,
                                       .claim_no = from->claim_no + 1,
                                       .takeovers = from->takeovers};
    }
    result->count = state->count;
    result->next_wake_at_ms = state->next_wake_at_ms;
}

cascade_err
csc_sqlite_claim_runs(void *self, const cascade_claim *claim,
                      cascade_claimed *claimed, cascade_claim_result *result)
{
    csc_sqlite *store = self;
    claim_state state = {.claim = claim};
    cascade_err err;

    if (claim->limit < 1 || claim->limit > CLAIM_MAX)
        return cascade_store_fail(CASCADE_ERR_INVALID,
                                  "claim: the limit is %zu; give 1 to %d",
                                  claim->limit, CLAIM_MAX);
    state.now_ms = csc_clock_wall_ms(store->config->clock);
    err = look_without_lock(store, &state);
    if (err == CASCADE_OK && state.count > 0)
        err = take_with_lock(store, &state);
    if (err == CASCADE_OK)
        give(&state, claimed, result);
    csc_arena_fini(&state.texts);
    csc_mem_free(state.shelves);
    csc_mem_free(state.candidates);
    return err;
}
