/* SPDX-License-Identifier: MIT
 *
 * Claiming, in two round trips:
 *
 *   look   one statement: for each queue and priority level one probe of an
 *          index for what is due, and one for what comes next. None walks over
 *          runs that only wait, however many there are
 *   take   the best of them: UPDATE ... WHERE engine_id IS NULL. Before that,
 *          where the look has found such: deletes messages of cascades that are
 *          not there, and makes runs of ended cascades that messages name
 *
 * MESSAGES. Nothing tells that a run has messages but they themselves, so a
 * look walks over the cascades that are named, five hundred at most, whose runs
 * it looks up. Where more are named (by messages for others: those for free
 * runs are gone with the claim) the next look goes on where this one stopped,
 * and begins anew behind the last. So each is looked at again and again, and
 * that a claim has passed over a message costs time and nothing else: where a
 * walk goes on is a matter of this handle, nothing depends on it. A claim that
 * finds nothing behind that place looks from the first on. Looks that take
 * different ones do not share a walk: two that come by turns would each see the
 * same half of the cascades for ever.
 *
 * A run or an ended cascade may be claimed though its last message was received
 * a moment ago, by an owner that has given it up since. Its new owner finds
 * nothing to do, and does the same. The reverse cannot be: a message that a
 * look sees is there until a commit of the owner deletes it.
 *
 * A PAUSED QUEUE has a row in cascade_queues, which the look probes for each
 * queue that is asked for: from there on only those that are not paused are
 * looked through. What is taken is judged by that same look. So a claim that
 * came before a pause may still take what was due.
 *
 * A QUEUE THAT HAS LIMITS has a row too, and is left to turns.c: between the
 * look and the take, since what is taken there counts for the limit here. What
 * messages name is taken here, and has no slot. Where a queue has no limits any
 * more what waited for its turn is a run like others.
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
#include "store/postgres/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"
#include "store/turn.h"

#define ROUNDS_MAX 5

typedef struct candidate {
    cascade_uuid cascade_id;
    bool named; /* by a message: before the others */
    bool ended; /* has no run */
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
    bool messages; /* there are some for runs of this incarnation */
    cascade_uuid walk_from;
    bool midway;              /* the walk began behind the first, and is over */
    csc_postgres_rows absent; /* cascades that are named and not there */
    bool doubtful;            /* runs may have been claimed unseen */
    unsigned held;            /* rounds that gave in to a lock */
    taken *taken; /* there before the runs are ours: then nothing may fail */
    csc_postgres_rows queues;
    csc_postgres_rows open; /* those of the queues that are not paused */
    csc_postgres_rows nodes;
    csc_postgres_rows own_kinds;
    bool *is_open;            /* for each queue */
    bool *is_kept;            /* the same: it has limits, and is not paused */
    bool any_kept;            /* one of them is */
    bool *is_limited;         /* it has limits */
    bool turned;              /* those were claimed */
    csc_postgres_turns turns; /* what that has given */
} claim_state;

/* ---- Look ---------------------------------------------------------------- */

/* What a row of the look is. */
typedef enum look_kind {
    LOOK_ALIVE = 0, /* the incarnation is there; the batches of its lanes */
    LOOK_DUE = 1,
    LOOK_NEXT = 2,    /* wake_at, or NULL */
    LOOK_NAMED = 3,   /* free, and named by a message */
    LOOK_ENDED = 4,   /* named, there, and without a run */
    LOOK_ABSENT = 5,  /* named, and not there */
    LOOK_OWN = 6,     /* there are messages for runs of the incarnation */
    LOOK_WALK = 7,    /* where the next walk goes on; no such row: anew */
    LOOK_OPEN = 8,    /* a queue that is not paused and has no limits */
    LOOK_KEPT = 9,    /* one that has some, and is not paused */
    LOOK_LIMITED = 10 /* one that has some, and is paused */
} look_kind;

static void
fill_look(claim_state *state, csc_postgres_call *call,
          csc_postgres_params *params)
{
    const cascade_claim *claim = state->claim;

    csc_postgres_params_init(params);
    csc_postgres_params_uuid(params, &claim->engine_id);
    csc_postgres_params_rows(params, &state->queues);
    csc_postgres_params_rows(params, &state->nodes);
    csc_postgres_params_i32(params, claim->suspect_from);
    csc_postgres_params_i64(params, (int64_t)claim->limit);
    csc_postgres_params_uuid(params, &state->walk_from);
    *call = (csc_postgres_call){
        .statement = claim->suspects ? CSC_POSTGRES_CLAIM_LOOK_SUSPECTS
                                     : CSC_POSTGRES_CLAIM_LOOK,
        .params = params};
}

static void
note_next(claim_state *state, const PGresult *result, int row)
{
    int64_t wake_at_ms;

    if (PQgetisnull(result, row, 3))
        return;
    wake_at_ms = csc_postgres_result_i64(result, row, 3);
    if (state->next_wake_at_ms == CASCADE_TIME_NONE ||
        wake_at_ms < state->next_wake_at_ms)
        state->next_wake_at_ms = wake_at_ms;
}

static void
note_candidate(claim_state *state, const PGresult *result, int row,
               look_kind kind)
{
    state->candidates[state->candidate_count++] =
        (candidate){.cascade_id = csc_postgres_result_uuid(result, row, 1),
                    .named = kind != LOOK_DUE,
                    .ended = kind == LOOK_ENDED,
                    .priority = csc_postgres_result_i64(result, row, 2),
                    .wake_at_ms = csc_postgres_result_i64(result, row, 3)};
}

/* `place` counts from 1. */
static void
note_queue(claim_state *state, int64_t place, look_kind kind)
{
    size_t at = (size_t)place - 1;

    if (at >= state->claim->queue_count)
        return;
    if (kind != LOOK_OPEN) {
        state->is_limited[at] = true;
        state->is_kept[at] = kind == LOOK_KEPT;
        state->any_kept = state->any_kept || state->is_kept[at];
        return;
    }
    csc_postgres_rows_text(&state->open, 0, state->claim->queues[at]);
    state->is_open[at] = true;
}

static cascade_err
fail_fenced(void)
{
    return csc_fail(CASCADE_ERR_FENCED,
                    "claim: this incarnation was removed; attach a new one");
}

/* Nobody who forgot what is committed may take on more. */
static cascade_err
fail_lost(const claim_state *state, int64_t batches)
{
    return csc_fail(CASCADE_ERR_LOST,
                    "claim: the lanes show %lld batches where %lld were "
                    "committed: the server has lost commits",
                    (long long)batches, (long long)state->claim->batches);
}

/* What a look has told of the incarnation itself. */
typedef struct look_alive {
    bool alive;
    int64_t batches;
} look_alive;

static void
note_row(claim_state *state, const PGresult *result, int row, look_alive *own)
{
    look_kind kind = (look_kind)csc_postgres_result_i64(result, row, 0);
    cascade_uuid id = csc_postgres_result_uuid(result, row, 1);

    switch (kind) {
    case LOOK_ALIVE:
        own->alive = true;
        own->batches = csc_postgres_result_i64(result, row, 3);
        return;
    case LOOK_DUE:
    case LOOK_NAMED:
    case LOOK_ENDED:
        note_candidate(state, result, row, kind);
        return;
    case LOOK_NEXT:
        note_next(state, result, row);
        return;
    case LOOK_ABSENT:
        csc_postgres_rows_uuid(&state->absent, 0, &id);
        state->absent.count++;
        return;
    case LOOK_OWN:
        state->messages = true;
        return;
    case LOOK_WALK:
        state->walk_from = id;
        return;
    case LOOK_OPEN:
    case LOOK_KEPT:
    case LOOK_LIMITED:
        note_queue(state, csc_postgres_result_i64(result, row, 3), kind);
        return;
    }
}

static cascade_err
note_rows(claim_state *state, const PGresult *result)
{
    look_alive own = {.alive = false};

    if (csc_mem_grow((void **)&state->candidates, &state->candidate_room,
                     (size_t)PQntuples(result),
                     sizeof(state->candidates[0])) != 0)
        return csc_fail_memory();
    for (int row = 0; row < PQntuples(result); row++)
        note_row(state, result, row, &own);
    if (!csc_postgres_rows_good(&state->absent) ||
        !csc_postgres_rows_good(&state->open))
        return csc_fail_memory();
    if (!own.alive)
        return fail_fenced();
    return own.batches >= state->claim->batches ? CASCADE_OK
                                                : fail_lost(state, own.batches);
}

/* The claimer's walk, or a place for it. */
static csc_postgres_walk *
find_walk_locked(csc_postgres *store, const cascade_claim *claim)
{
    csc_postgres_walk *walk = store->walks;

    csc_assert(csc_lock_is_held(&store->mutex));
    for (size_t i = 0; i < CSC_POSTGRES_WALKS; i++, walk++)
        if (walk->suspects == claim->suspects &&
            csc_uuid_equal(&walk->engine_id, &claim->engine_id))
            return walk;
    walk = &store->walks[store->next_walk++ % CSC_POSTGRES_WALKS];
    *walk = (csc_postgres_walk){.engine_id = claim->engine_id,
                                .suspects = claim->suspects};
    return walk;
}

static void
start_walk(csc_postgres *store, claim_state *state)
{
    csc_lock_take(&store->mutex);
    state->walk_from = find_walk_locked(store, state->claim)->from;
    csc_lock_give(&store->mutex);
}

static void
end_walk(csc_postgres *store, claim_state *state)
{
    csc_postgres_walk *walk = NULL;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    walk = find_walk_locked(store, state->claim);
    state->midway =
        !csc_uuid_is_nil(&walk->from) && csc_uuid_is_nil(&state->walk_from);
    walk->from = state->walk_from;
    csc_lock_give(&store->mutex);
}

static cascade_err
look(csc_postgres_conn *conn, claim_state *state)
{
    csc_postgres_params params;
    csc_postgres_call call;
    cascade_err err;

    state->candidate_count = 0;
    state->next_wake_at_ms = CASCADE_TIME_NONE;
    csc_postgres_rows_start(&state->absent, "u");
    csc_postgres_rows_start(&state->open, "s");
    memset(state->is_open, 0, state->claim->queue_count);
    memset(state->is_kept, 0, state->claim->queue_count);
    memset(state->is_limited, 0, state->claim->queue_count);
    state->any_kept = false;
    start_walk(conn->store, state);
    fill_look(state, &call, &params);
    err = csc_postgres_conn_read(conn, "claim", &call, 1);
    if (err == CASCADE_OK) {
        memset(&state->walk_from, 0, sizeof(state->walk_from));
        err = note_rows(state, call.result);
    }
    if (err == CASCADE_OK)
        end_walk(conn->store, state);
    csc_postgres_conn_clear(&call, 1);
    return err;
}

/* ---- Take ---------------------------------------------------------------- */

static int
compare_rank(const void *a, const void *b)
{
    const candidate *left = a;
    const candidate *right = b;

    if (left->named != right->named)
        return left->named ? -1 : 1;
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

static int
compare_id_and_rank(const void *a, const void *b)
{
    int order = compare_id(a, b);

    return order != 0 ? order : compare_rank(a, b);
}

/* One that is due and named is there twice: keeps the better. */
static size_t
drop_doubles(candidate *candidates, size_t count)
{
    size_t kept = 0;

    qsort(candidates, count, sizeof(candidate), compare_id_and_rank);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || compare_id(&candidates[kept - 1], &candidates[i]) != 0)
            candidates[kept++] = candidates[i];
    }
    return kept;
}

/* How many of the first `count` stay when each has a chance of 1 in 2^held;
 * the last one stays where none would. */
static size_t
thin_out(claim_state *state, size_t count, const cascade_random *random)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if ((csc_clock_random_u64(random) & ((1u << state->held) - 1)) == 0 ||
            (i + 1 == count && kept == 0))
            state->candidates[kept++] = state->candidates[i];
    }
    return kept;
}

/* Keeps the best `limit`, in the order of ids. */
static void
choose(claim_state *state, const cascade_random *random)
{
    size_t count = drop_doubles(state->candidates, state->candidate_count);

    qsort(state->candidates, count, sizeof(candidate), compare_rank);
    if (count > state->claim->limit - state->turns.count)
        count = state->claim->limit - state->turns.count;
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

static void
note_taken(claim_state *state, const PGresult *result)
{
    for (int i = 0; i < PQntuples(result); i++) {
        taken *row = &state->taken[state->count++];
        candidate key = {.cascade_id = csc_postgres_result_uuid(result, i, 0)};
        const candidate *found;

        found = bsearch(&key, state->candidates, state->candidate_count,
                        sizeof(key), compare_id);
        row->rank = found == NULL ? state->candidate_count : found->rank;
        row->claimed.cascade_id = key.cascade_id;
        row->claimed.slot = false;
        row->claimed.claim_no = csc_postgres_result_i64(result, i, 1);
        row->claimed.takeovers = (int32_t)csc_postgres_result_i64(result, i, 2);
        row->claimed.trials = (int32_t)csc_postgres_result_i64(result, i, 3);
        (void)snprintf(row->claimed.message_kind,
                       sizeof(row->claimed.message_kind), "%s",
                       PQgetvalue(result, i, 4));
    }
}

/* Writes what was taken in the order in which it should run. */
static void
write_taken(claim_state *state)
{
    qsort(state->taken, state->count, sizeof(taken), compare_taken);
    for (size_t i = 0; i < state->count; i++)
        state->claimed[i] = state->taken[i].claimed;
}

/* How a claim failed: that others were faster is no failure, nor that an ended
 * cascade was deleted. */
static cascade_err
judge(claim_state *state, cascade_err err, const csc_postgres_trouble *trouble)
{
    if (trouble->call == NULL)
        return err;
    if (trouble->call->statement == CSC_POSTGRES_CLAIM_CHECK &&
        strcmp(trouble->sqlstate, "22012") == 0)
        return fail_fenced();
    if (strcmp(trouble->sqlstate, "55P03") != 0 &&
        !(trouble->call->statement == CSC_POSTGRES_CLAIM_ENDED &&
          strcmp(trouble->sqlstate, "23503") == 0))
        return err;
    state->held++;
    return CASCADE_OK;
}

/* One exchange and its parameters. */
typedef struct take_calls {
    csc_postgres_params params[6];
    csc_postgres_call calls[6];
    size_t count;
} take_calls;

static csc_postgres_params *
add_call(take_calls *take, csc_postgres_statement statement)
{
    csc_postgres_params *params = &take->params[take->count];

    csc_postgres_params_init(params);
    take->calls[take->count++] =
        (csc_postgres_call){.statement = statement, .params = params};
    return params;
}

/* Whether messages name some that have a run. These are taken before their
 * wake_at: what comes next is another run then than the look has told. */
static bool
takes_named(const claim_state *state)
{
    for (size_t i = 0; i < state->candidate_count; i++) {
        if (state->candidates[i].named && !state->candidates[i].ended)
            return true;
    }
    return false;
}

/* `ids` are the runs that there are, `ended` the cascades without one. */
static void
fill_take(claim_state *state, take_calls *take, csc_postgres_rows *ids,
          csc_postgres_rows *ended)
{
    const cascade_claim *claim = state->claim;
    csc_postgres_params *params;

    csc_postgres_params_text(add_call(take, CSC_POSTGRES_LOCK_TIMEOUT),
                             CSC_POSTGRES_GIVE_IN_MS);
    csc_postgres_params_uuid(add_call(take, CSC_POSTGRES_CLAIM_CHECK),
                             &claim->engine_id);
    if (state->absent.count > 0) {
        params = add_call(take, CSC_POSTGRES_CLAIM_DROP);
        csc_postgres_params_rows(params, &state->absent);
        csc_postgres_params_rows(params, &state->own_kinds);
    }
    if (ended->count > 0) {
        params = add_call(take, CSC_POSTGRES_CLAIM_ENDED);
        csc_postgres_params_uuid(params, &claim->engine_id);
        csc_postgres_params_rows(params, ended);
        csc_postgres_params_text(params, claim->queues[0]);
    }
    params = add_call(take, CSC_POSTGRES_CLAIM_TAKE);
    csc_postgres_params_uuid(params, &claim->engine_id);
    csc_postgres_params_rows(params, ids);
    csc_postgres_params_rows(params, &state->nodes);
    csc_postgres_params_i32(params, claim->suspect_from);
    csc_postgres_params_bool(params, claim->suspects);
    csc_postgres_params_bool(params, takes_named(state));
    csc_postgres_params_rows(params, &state->open);
    if (takes_named(state))
        csc_postgres_params_rows(add_call(take, CSC_POSTGRES_CLAIM_NEXT),
                                 &state->open);
}

static void
note_taken_call(claim_state *state, const csc_postgres_call *call)
{
    if (call->statement == CSC_POSTGRES_CLAIM_ENDED ||
        call->statement == CSC_POSTGRES_CLAIM_TAKE)
        note_taken(state, call->result);
    if (call->statement != CSC_POSTGRES_CLAIM_NEXT)
        return;
    state->next_wake_at_ms = CASCADE_TIME_NONE;
    for (int row = 0; row < PQntuples(call->result); row++)
        note_next(state, call->result, row);
}

static cascade_err
take_ids(csc_postgres_conn *conn, claim_state *state, csc_postgres_rows *ids,
         csc_postgres_rows *ended)
{
    take_calls taking = {.count = 0};
    csc_postgres_trouble trouble;
    cascade_err err;

    fill_take(state, &taking, ids, ended);
    err = csc_postgres_conn_write(conn, "claim", taking.calls, taking.count,
                                  &trouble);
    for (size_t i = 0; i < taking.count && err == CASCADE_OK; i++)
        note_taken_call(state, &taking.calls[i]);
    if (err == CASCADE_OK)
        write_taken(state);
    else if (!conn->broken)
        err = judge(state, err, &trouble);
    csc_postgres_conn_clear(taking.calls, taking.count);
    return err;
}

static cascade_err
take(csc_postgres_conn *conn, claim_state *state)
{
    csc_postgres_rows ids = {.count = 0};
    csc_postgres_rows ended = {.count = 0};
    cascade_err err = CASCADE_OK;

    csc_postgres_rows_start(&ids, "u");
    csc_postgres_rows_start(&ended, "u");
    for (size_t i = 0; i < state->candidate_count; i++) {
        csc_postgres_rows *rows = state->candidates[i].ended ? &ended : &ids;

        csc_postgres_rows_uuid(rows, 0, &state->candidates[i].cascade_id);
        rows->count++;
    }
    state->taken = csc_mem_zalloc(state->candidate_count + 1, sizeof(taken));
    if (state->taken != NULL && csc_postgres_rows_good(&ids) &&
        csc_postgres_rows_good(&ended))
        err = take_ids(conn, state, &ids, &ended);
    else
        err = csc_fail_memory();
    csc_mem_free(state->taken);
    state->taken = NULL;
    csc_postgres_rows_fini(&ids);
    csc_postgres_rows_fini(&ended);
    return err;
}

/* ---- The move ------------------------------------------------------------ */

/* The queues that have limits, once in a claim, whatever becomes of the rest.
 */
static cascade_err
claim_turns(csc_postgres_conn *conn, claim_state *state)
{
    const cascade_claim *claim = state->claim;
    cascade_err err;

    if (!state->any_kept || state->turned)
        return CASCADE_OK;
    state->turned = true;
    csc_lock_take(&conn->store->mutex);
    state->turns.room = csc_turn_room(&conn->store->turns, claim->slots,
                                      claim->limit, state->candidate_count > 0);
    csc_lock_give(&conn->store->mutex);
    err = csc_postgres_turns_claim(conn, &state->turns);
    if (err == CASCADE_OK)
        conn->doubtful = false; /* what was claimed is known */
    if (!claim->suspects &&
        csc_turn_was_cut(claim->slots, state->turns.room, state->turns.count))
        state->turns.again = true;
    return err;
}

/* Runs were claimed there: what fails behind that is left to the next claim,
 * but that more may have been claimed unseen. */
static cascade_err
forgive(const csc_postgres_conn *conn, const claim_state *state,
        cascade_err err)
{
    return err != CASCADE_OK && state->turns.count > 0 && !conn->doubtful
               ? csc_ok()
               : err;
}

static void
begin_claim(claim_state *state)
{
    state->count = 0;
    state->held = 0;
    state->messages = false;
    state->turned = false;
    state->turns.count = 0;
    state->turns.next_wake_at_ms = CASCADE_TIME_NONE;
    state->turns.again = false;
    state->turns.suspects = false;
}

static cascade_err
claim_some(csc_postgres_conn *conn, void *context)
{
    claim_state *state = context;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    begin_claim(state);
    for (int round = 0; round < ROUNDS_MAX && err == CASCADE_OK; round++) {
        bool some;

        conn->doubtful = false; /* the round before has claimed nothing */
        err = look(conn, state);
        if (err == CASCADE_OK)
            err = claim_turns(conn, state);
        if (state->turns.count == state->claim->limit)
            state->candidate_count = 0;
        some = state->candidate_count > 0;
        if (err == CASCADE_OK && !some && state->absent.count == 0 &&
            state->midway)
            continue;
        if (err != CASCADE_OK || (!some && state->absent.count == 0))
            break;
        choose(state, conn->store->config->random);
        err = take(conn, state);
        if (state->count > 0 || !some)
            break;
    }
    state->doubtful = conn->doubtful;
    return forgive(conn, state, err);
}

static void
fill_texts(csc_postgres_rows *rows, const char *const *texts, size_t count)
{
    csc_postgres_rows_start(rows, "s");
    for (size_t i = 0; i < count; i++)
        csc_postgres_rows_text(rows, 0, texts[i]);
}

static int64_t
earlier(int64_t a, int64_t b)
{
    if (a == CASCADE_TIME_NONE || b == CASCADE_TIME_NONE)
        return a == CASCADE_TIME_NONE ? b : a;
    return a < b ? a : b;
}

static void
write_result(const claim_state *state, cascade_claim_result *result)
{
    const csc_postgres_turns *turns = &state->turns;

    csc_assert(state->count + turns->count <= state->claim->limit);
    for (size_t i = 0; i < turns->count; i++)
        state->claimed[state->count + i] = turns->claimed[i];
    result->count = state->count + turns->count;
    result->next_wake_at_ms =
        earlier(state->next_wake_at_ms, turns->next_wake_at_ms);
    result->messages = state->messages;
    result->again = turns->again;
    result->suspects = turns->suspects && result->count == 0;
    for (size_t i = 0; i < state->claim->queue_count; i++) {
        if (result->paused != NULL)
            result->paused[i] = !state->is_open[i] && !state->is_kept[i];
        if (result->kept != NULL)
            result->kept[i] = state->is_limited[i];
    }
}

/* What the move fills. False when memory is out. */
static bool
make_rooms(claim_state *state)
{
    const cascade_claim *claim = state->claim;

    fill_texts(&state->queues, claim->queues, claim->queue_count);
    fill_texts(&state->nodes, claim->nodes, claim->node_count);
    csc_postgres_rows_text(&state->nodes, 0, CASCADE_NEEDS_TURN);
    fill_texts(&state->own_kinds, claim->own_kinds, claim->own_kind_count);
    state->is_open = csc_mem_zalloc(claim->queue_count + 1, sizeof(bool));
    state->is_kept = csc_mem_zalloc(claim->queue_count + 1, sizeof(bool));
    state->is_limited = csc_mem_zalloc(claim->queue_count + 1, sizeof(bool));
    state->turns = (csc_postgres_turns){
        .claim = claim,
        .nodes = &state->nodes,
        .kept = state->is_kept,
        .claimed = csc_mem_zalloc(
            (claim->slots < claim->limit ? claim->slots : claim->limit) + 1,
            sizeof(cascade_claimed))};
    return state->is_open != NULL && state->is_kept != NULL &&
           state->is_limited != NULL && state->turns.claimed != NULL &&
           csc_postgres_rows_good(&state->queues) &&
           csc_postgres_rows_good(&state->nodes) &&
           csc_postgres_rows_good(&state->own_kinds);
}

cascade_err
csc_postgres_claim_runs(void *self, const cascade_claim *claim,
                        cascade_claimed *claimed, cascade_claim_result *result)
{
    claim_state state = {.claim = claim, .claimed = claimed};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (make_rooms(&state))
        err = csc_postgres_pool_run(self, CSC_POSTGRES_IF_UNDONE, claim_some,
                                    &state);
    else
        err = csc_fail_memory();
    if (err == CASCADE_OK)
        write_result(&state, result);
    else if (!state.doubtful)
        err = csc_store_undone(err);
    csc_postgres_rows_fini(&state.queues);
    csc_postgres_rows_fini(&state.open);
    csc_postgres_rows_fini(&state.nodes);
    csc_postgres_rows_fini(&state.own_kinds);
    csc_postgres_rows_fini(&state.absent);
    csc_mem_free(state.is_open);
    csc_mem_free(state.is_kept);
    csc_mem_free(state.is_limited);
    csc_mem_free(state.turns.claimed);
    csc_mem_free(state.candidates);
    return err;
}
