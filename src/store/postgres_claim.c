/* SPDX-License-Identifier: MIT
 *
 * Claiming, in two round trips:
 *
 *   look   for each queue and priority level one probe of an index for what is
 *          due, and one for what comes next; all sent at once. None walks over
 *          runs that only wait, however many there are
 *   take   the best of them: UPDATE ... WHERE engine_id IS NULL
 *
 * Looking takes no locks. Two engines may see the same runs; the row locks of
 * the UPDATE decide, in the order of ids, and the slower one gets fewer. Who
 * got nothing at all though something was due looks again, a few times.
 *
 * An UPDATE that had to wait keeps the lock even of rows that do not match any
 * more. So a late claim may hold runs that another engine has claimed since,
 * and whose batch is on its way; the two could wait for each other. It is the
 * claim that gives in, after a tenth of a second, long before the server looks
 * for deadlocks. It then tries a part of the runs only, drawn by lot: one that
 * somebody holds does not keep the others from being claimed.
 *
 * Taking locks the incarnation's row against its removal: a run is never
 * claimed for an incarnation that is gone. If the answer is lost, runs may be
 * owned that nobody here knows of; the engine attaches anew then, which frees
 * them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "store/postgres_internal.h"

#define PRIORITIES 10
#define CALLS_PER_QUEUE (2 * PRIORITIES + 2)
#define ROUNDS_MAX 5
#define CLAIM_MAX 1000
#define LOCK_TIMEOUT_MS "100"

typedef struct candidate {
    cascade_uuid cascade_id;
    int64_t priority;
    int64_t wake_at_ms;
    size_t rank; /* 0: the first to be claimed */
} candidate;

/* A run that was claimed, with the rank it had as a candidate. */
typedef struct taken {
    cascade_claimed claimed;
    size_t rank;
} taken;

typedef struct claim_state {
    const cascade_claim *claim;
    cascade_claimed *claimed;
    size_t count;
    int64_t next_wake_at_ms;
    candidate *candidates;
    size_t candidate_count;
    size_t candidate_room;
    unsigned held; /* rounds that gave in to a lock */
    taken *taken;  /* there before the runs are ours: then nothing may fail */
    csc_postgres_rows nodes;
} claim_state;

/* ---- Look ---------------------------------------------------------------- */

static void
fill_probe(const claim_state *state, size_t queue, csc_postgres_call *calls,
           csc_postgres_params *params, int priority)
{
    const cascade_claim *claim = state->claim;
    csc_postgres_params *due = &params[0];
    csc_postgres_params *next = &params[1];

    calls[0] =
        (csc_postgres_call){.statement = CSC_POSTGRES_CLAIM_DUE, .params = due};
    csc_postgres_params_init(due);
    csc_postgres_params_text(due, claim->queues[queue]);
    csc_postgres_params_i32(due, priority);
    csc_postgres_params_i32(due, claim->suspect_from);
    csc_postgres_params_bool(due, claim->suspects);
    csc_postgres_params_i64(due, (int64_t)claim->limit);
    calls[1] = (csc_postgres_call){.statement = CSC_POSTGRES_CLAIM_NEXT,
                                   .params = next};
    csc_postgres_params_init(next);
    csc_postgres_params_text(next, claim->queues[queue]);
    csc_postgres_params_i32(next, priority);
}

/* How many calls it are: who knows no nodes can have nothing that needs one. */
static size_t
fill_needs(claim_state *state, size_t queue, csc_postgres_call *calls,
           csc_postgres_params *params)
{
    const cascade_claim *claim = state->claim;

    calls[0] = (csc_postgres_call){.statement = CSC_POSTGRES_CLAIM_NEEDS_NEXT,
                                   .params = &params[0]};
    csc_postgres_params_init(&params[0]);
    csc_postgres_params_text(&params[0], claim->queues[queue]);
    if (claim->node_count == 0)
        return 1;
    calls[1] = (csc_postgres_call){.statement = CSC_POSTGRES_CLAIM_NEEDS_DUE,
                                   .params = &params[1]};
    csc_postgres_params_init(&params[1]);
    csc_postgres_params_text(&params[1], claim->queues[queue]);
    csc_postgres_params_rows(&params[1], &state->nodes);
    csc_postgres_params_i32(&params[1], claim->suspect_from);
    csc_postgres_params_bool(&params[1], claim->suspects);
    csc_postgres_params_i64(&params[1], (int64_t)claim->limit);
    return 2;
}

static void
note_next(claim_state *state, const PGresult *result)
{
    int64_t wake_at_ms;

    if (PQntuples(result) == 0 || PQgetisnull(result, 0, 0))
        return;
    wake_at_ms = csc_postgres_result_i64(result, 0, 0);
    if (state->next_wake_at_ms == CASCADE_TIME_NONE ||
        wake_at_ms < state->next_wake_at_ms)
        state->next_wake_at_ms = wake_at_ms;
}

static cascade_err
note_due(claim_state *state, const PGresult *result)
{
    size_t more = (size_t)PQntuples(result);

    if (csc_mem_grow((void **)&state->candidates, &state->candidate_room,
                     state->candidate_count + more,
                     sizeof(state->candidates[0])) != 0)
        return csc_fail_memory();
    for (int row = 0; row < PQntuples(result); row++)
        state->candidates[state->candidate_count++] =
            (candidate){.cascade_id = csc_postgres_result_uuid(result, row, 0),
                        .priority = csc_postgres_result_i64(result, row, 1),
                        .wake_at_ms = csc_postgres_result_i64(result, row, 2)};
    return CASCADE_OK;
}

static cascade_err
note_results(claim_state *state, const csc_postgres_call *calls, size_t count)
{
    cascade_err err = CASCADE_OK;

    /* The first is the look at the incarnation. */
    for (size_t i = 1; i < count && err == CASCADE_OK; i++) {
        if (calls[i].statement == CSC_POSTGRES_CLAIM_NEXT ||
            calls[i].statement == CSC_POSTGRES_CLAIM_NEEDS_NEXT)
            note_next(state, calls[i].result);
        else
            err = note_due(state, calls[i].result);
    }
    return err;
}

static cascade_err
fail_fenced(void)
{
    return csc_fail(CASCADE_ERR_FENCED,
                    "claim: this incarnation was removed; attach a new one");
}

static size_t
fill_look(claim_state *state, csc_postgres_call *calls,
          csc_postgres_params *params)
{
    size_t at = 1;

    csc_postgres_params_init(&params[0]);
    csc_postgres_params_uuid(&params[0], &state->claim->engine_id);
    calls[0] = (csc_postgres_call){.statement = CSC_POSTGRES_CLAIM_LOOK,
                                   .params = &params[0]};
    for (size_t queue = 0; queue < state->claim->queue_count; queue++) {
        for (int p = PRIORITIES - 1; p >= 0; p--, at += 2)
            fill_probe(state, queue, &calls[at], &params[at], p);
        at += fill_needs(state, queue, &calls[at], &params[at]);
    }
    return at;
}

static cascade_err
look(csc_postgres_conn *conn, claim_state *state)
{
    size_t room = 1 + state->claim->queue_count * CALLS_PER_QUEUE;
    csc_postgres_call *calls = csc_mem_zalloc(room, sizeof(*calls));
    csc_postgres_params *params = csc_mem_zalloc(room, sizeof(*params));
    cascade_err err = CASCADE_OK;

    state->candidate_count = 0;
    state->next_wake_at_ms = CASCADE_TIME_NONE;
    if (calls == NULL || params == NULL) {
        err = csc_fail_memory();
        goto out;
    }
    room = fill_look(state, calls, params);
    err = csc_postgres_conn_read(conn, "claim", calls, room);
    if (err != CASCADE_OK)
        goto out;
    if (csc_postgres_result_i64(calls[0].result, 0, 0) == 0)
        err = fail_fenced();
    else
        err = note_results(state, calls, room);
out:
    if (calls != NULL)
        csc_postgres_conn_clear(calls, room);
    csc_mem_free(calls);
    csc_mem_free(params);
    return err;
}

/* ---- Take ---------------------------------------------------------------- */

static int
compare_rank(const void *a, const void *b)
{
    const candidate *left = a;
    const candidate *right = b;

    if (left->priority != right->priority)
        return left->priority > right->priority ? -1 : 1;
    if (left->wake_at_ms != right->wake_at_ms)
        return left->wake_at_ms < right->wake_at_ms ? -1 : 1;
    return csc_uuid_compare(&left->cascade_id, &right->cascade_id);
}

static int
compare_id(const void *a, const void *b)
{
    return csc_uuid_compare(&((const candidate *)a)->cascade_id,
                            &((const candidate *)b)->cascade_id);
}

/* How many of the first `count` stay when each has a chance of 1 in 2^held;
 * the last one stays where none would. */
static size_t
thin_out(claim_state *state, size_t count, const cascade_random *random)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if ((csc_random_u64(random) & ((1u << state->held) - 1)) == 0 ||
            (i + 1 == count && kept == 0))
            state->candidates[kept++] = state->candidates[i];
    }
    return kept;
}

/* Keeps the best `limit`, in the order of ids. */
static void
choose(claim_state *state, const cascade_random *random)
{
    size_t count = state->candidate_count;

    qsort(state->candidates, count, sizeof(candidate), compare_rank);
    if (count > state->claim->limit)
        count = state->claim->limit;
    count = thin_out(state, count, random);
    for (size_t i = 0; i < count; i++)
        state->candidates[i].rank = i;
    qsort(state->candidates, count, sizeof(candidate), compare_id);
    state->candidate_count = count;
}

static int
compare_taken(const void *a, const void *b)
{
    size_t left = ((const taken *)a)->rank;
    size_t right = ((const taken *)b)->rank;

    return left < right ? -1 : left > right;
}

/* Writes what was taken in the order in which it should run. */
static void
note_taken(claim_state *state, const PGresult *result)
{
    size_t count = (size_t)PQntuples(result);

    for (size_t i = 0; i < count; i++) {
        taken *row = &state->taken[i];
        candidate key;
        const candidate *found;

        key.cascade_id = csc_postgres_result_uuid(result, (int)i, 0);
        found = bsearch(&key, state->candidates, state->candidate_count,
                        sizeof(key), compare_id);
        row->rank = found == NULL ? state->candidate_count : found->rank;
        row->claimed.cascade_id = key.cascade_id;
        row->claimed.claim_no = csc_postgres_result_i64(result, (int)i, 1);
        row->claimed.takeovers =
            (int32_t)csc_postgres_result_i64(result, (int)i, 2);
    }
    qsort(state->taken, count, sizeof(taken), compare_taken);
    for (size_t i = 0; i < count; i++)
        state->claimed[i] = state->taken[i].claimed;
    state->count = count;
}

/* How a claim failed: that others were faster is no failure. */
static cascade_err
judge(claim_state *state, cascade_err err, const csc_postgres_trouble *trouble)
{
    if (trouble->call == NULL)
        return err;
    if (trouble->call->statement == CSC_POSTGRES_CLAIM_CHECK &&
        strcmp(trouble->sqlstate, "22012") == 0)
        return fail_fenced();
    if (strcmp(trouble->sqlstate, "55P03") != 0)
        return err;
    state->held++;
    return CASCADE_OK;
}

static cascade_err
take_ids(csc_postgres_conn *conn, claim_state *state, csc_postgres_rows *ids)
{
    const cascade_claim *claim = state->claim;
    csc_postgres_params timeout;
    csc_postgres_params check;
    csc_postgres_params some;
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_LOCK_TIMEOUT, .params = &timeout},
        {.statement = CSC_POSTGRES_CLAIM_CHECK, .params = &check},
        {.statement = CSC_POSTGRES_CLAIM_TAKE, .params = &some},
    };
    csc_postgres_trouble trouble;
    cascade_err err;

    csc_postgres_params_init(&timeout);
    csc_postgres_params_text(&timeout, LOCK_TIMEOUT_MS);
    csc_postgres_params_init(&check);
    csc_postgres_params_uuid(&check, &claim->engine_id);
    csc_postgres_params_init(&some);
    csc_postgres_params_uuid(&some, &claim->engine_id);
    csc_postgres_params_rows(&some, ids);
    csc_postgres_params_rows(&some, &state->nodes);
    csc_postgres_params_i32(&some, claim->suspect_from);
    csc_postgres_params_bool(&some, claim->suspects);
    err = csc_postgres_conn_write(conn, "claim", calls, 3, &trouble);
    if (err == CASCADE_OK)
        note_taken(state, calls[2].result);
    else if (!conn->broken)
        err = judge(state, err, &trouble);
    csc_postgres_conn_clear(calls, 3);
    return err;
}

static cascade_err
take(csc_postgres_conn *conn, claim_state *state)
{
    csc_postgres_rows ids = {.count = 0};
    cascade_err err = CASCADE_OK;

    csc_postgres_rows_start(&ids, "u");
    for (size_t i = 0; i < state->candidate_count; i++)
        csc_postgres_rows_uuid(&ids, 0, &state->candidates[i].cascade_id);
    state->taken = csc_mem_zalloc(state->candidate_count, sizeof(taken));
    if (state->taken != NULL && csc_postgres_rows_good(&ids))
        err = take_ids(conn, state, &ids);
    else
        err = csc_fail_memory();
    csc_mem_free(state->taken);
    state->taken = NULL;
    csc_postgres_rows_fini(&ids);
    return err;
}

/* ---- The move ------------------------------------------------------------ */

static cascade_err
claim_some(csc_postgres_conn *conn, void *context)
{
    claim_state *state = context;
    cascade_err err = CASCADE_OK;

    state->count = 0;
    state->held = 0;
    for (int round = 0; round < ROUNDS_MAX && err == CASCADE_OK; round++) {
        err = look(conn, state);
        if (err != CASCADE_OK || state->candidate_count == 0)
            break;
        choose(state, conn->store->config->random);
        err = take(conn, state);
        if (state->count > 0)
            break;
    }
    return err;
}

cascade_err
csc_postgres_claim_runs(void *self, const cascade_claim *claim,
                        cascade_claimed *claimed, cascade_claim_result *result)
{
    claim_state state = {.claim = claim, .claimed = claimed};
    cascade_err err = CASCADE_OK;

    if (claim->limit < 1 || claim->limit > CLAIM_MAX)
        return csc_fail(CASCADE_ERR_INVALID,
                        "claim: the limit is %zu; give 1 to %d", claim->limit,
                        CLAIM_MAX);
    csc_postgres_rows_start(&state.nodes, "s");
    for (size_t i = 0; i < claim->node_count; i++)
        csc_postgres_rows_text(&state.nodes, 0, claim->nodes[i]);
    if (csc_postgres_rows_good(&state.nodes))
        err = csc_postgres_pool_run(self, CSC_POSTGRES_IF_UNDONE, claim_some,
                                    &state);
    else
        err = csc_fail_memory();
    if (err == CASCADE_OK) {
        result->count = state.count;
        result->next_wake_at_ms = state.next_wake_at_ms;
    }
    csc_postgres_rows_fini(&state.nodes);
    csc_mem_free(state.candidates);
    return err;
}
