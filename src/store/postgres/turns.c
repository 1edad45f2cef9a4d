/* SPDX-License-Identifier: MIT
 *
 * Claims of queues that have limits: S96, S98, S99. A claim comes here when its
 * look has told that some of its queues are kept:
 *
 *   look   one statement, without a lock: which of them have something that is
 *          due, and seem to have room; and when something comes next
 *   then for each of those, beginning with another each time, a transaction:
 *   lock   the row of the queue
 *   sort   what is due and not sorted yet begins to wait by its key
 *   take   counts the slots of the queue, goes from key to key, counts those of
 *          each, and takes what there is room for
 *
 * THE MAXIMA. The count and the lock are two statements: in READ COMMITTED each
 * sees what was committed before it was sent, so the count sees the slots that
 * the holder of the lock before has given. One statement that locks and counts
 * sees what was there when it began to wait for the lock, and two claims would
 * give the last slot twice. Whoever ends or frees a run takes no lock: what is
 * counted is never too little.
 *
 * A claim that waits for the lock gives in soon, like the others (claim.c); it
 * finds the queue at its next look.
 *
 * Each queue is a transaction of its own, so nobody holds two of these locks.
 * When one fails behind another that has given runs, these are told, and the
 * failure is not: the next claim meets it. Only where the answer to a COMMIT is
 * missing, so that runs may be claimed unseen, it is the result.
 */
#include "store/postgres/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/turn.h"

enum {
    TURN_TAKEN = 1,
    TURN_WALK = 2
};

#define CALLS_MAX 5

/* One queue, in its transaction. */
typedef struct turn {
    csc_postgres_turns *turns;
    const char *queue;
    char from[CSC_TURN_FROM_SIZE];
    csc_postgres_params params[CALLS_MAX];
    csc_postgres_call calls[CALLS_MAX];
    size_t count;
} turn;

/* ---- Look ---------------------------------------------------------------- */

static void
note_next(csc_postgres_turns *turns, const PGresult *result)
{
    for (int row = 0; row < PQntuples(result); row++) {
        int64_t wake_at_ms = csc_postgres_result_i64(result, row, 3);

        if (!PQgetisnull(result, row, 3) &&
            (turns->next_wake_at_ms == CASCADE_TIME_NONE ||
             wake_at_ms < turns->next_wake_at_ms))
            turns->next_wake_at_ms = wake_at_ms;
    }
}

/* `due` has room for all of `queues`, the kept ones. One without a row has none
 * to give. */
static void
note_due(csc_postgres_turns *turns, const PGresult *result,
         const char *const *queues, size_t count, const char **due,
         size_t *due_count)
{
    for (int row = 0; row < PQntuples(result); row++) {
        int64_t place = csc_postgres_result_i64(result, row, 0);

        if (PQgetisnull(result, row, 1) || place < 1 || (size_t)place > count)
            continue;
        turns->suspects = turns->suspects || turns->claim->suspects;
        if (turns->claim->slots > 0 &&
            csc_postgres_result_i64(result, row, 1) != 0)
            due[(*due_count)++] = queues[place - 1];
    }
}

/* Without slots it only tells what comes next, and of suspects. */
static cascade_err
look(csc_postgres_conn *conn, csc_postgres_turns *turns,
     const char *const *queues, size_t count, const char **due,
     size_t *due_count)
{
    csc_postgres_rows rows = {.count = 0};
    csc_postgres_params all;
    csc_postgres_params named;
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_CLAIM_NEXT, .params = &named},
        {.statement = turns->claim->suspects ? CSC_POSTGRES_TURN_LOOK_SUSPECTS
                                             : CSC_POSTGRES_TURN_LOOK,
         .params = &all}};
    size_t call_count =
        turns->claim->slots > 0 || turns->claim->suspects ? 2 : 1;
    cascade_err err;

    csc_postgres_rows_start(&rows, "s");
    for (size_t i = 0; i < count; i++)
        csc_postgres_rows_text(&rows, 0, queues[i]);
    if (!csc_postgres_rows_good(&rows)) {
        csc_postgres_rows_fini(&rows);
        return csc_fail_memory();
    }
    csc_postgres_params_init(&named);
    csc_postgres_params_rows(&named, &rows);
    csc_postgres_params_init(&all);
    csc_postgres_params_rows(&all, &rows);
    csc_postgres_params_rows(&all, turns->nodes);
    csc_postgres_params_i32(&all, turns->claim->suspect_from);
    err = csc_postgres_conn_read(conn, "claim", calls, call_count);
    if (err == CASCADE_OK)
        note_next(turns, calls[0].result);
    if (err == CASCADE_OK && call_count > 1)
        note_due(turns, calls[1].result, queues, count, due, due_count);
    csc_postgres_conn_clear(calls, call_count);
    csc_postgres_rows_fini(&rows);
    return err;
}

/* ---- Take ---------------------------------------------------------------- */

static csc_postgres_params *
add_call(turn *it, csc_postgres_statement statement)
{
    csc_postgres_params *params = &it->params[it->count];

    csc_assert(it->count < CALLS_MAX);
    csc_postgres_params_init(params);
    it->calls[it->count++] =
        (csc_postgres_call){.statement = statement, .params = params};
    return params;
}

static void
fill_suspect(turn *it)
{
    const cascade_claim *claim = it->turns->claim;
    csc_postgres_params *params = add_call(it, CSC_POSTGRES_TURN_SUSPECT);

    csc_postgres_params_uuid(params, &claim->engine_id);
    csc_postgres_params_text(params, it->queue);
    csc_postgres_params_rows(params, it->turns->nodes);
    csc_postgres_params_i32(params, claim->suspect_from);
}

static void
fill_take(turn *it, size_t room)
{
    const cascade_claim *claim = it->turns->claim;
    csc_postgres_params *params = add_call(it, CSC_POSTGRES_TURN_SORT);

    csc_postgres_params_text(params, it->queue);
    csc_postgres_params_rows(params, it->turns->nodes);
    csc_postgres_params_i32(params, claim->suspect_from);
    params = add_call(it, CSC_POSTGRES_TURN_TAKE);
    csc_postgres_params_uuid(params, &claim->engine_id);
    csc_postgres_params_text(params, it->queue);
    csc_postgres_params_text(params, it->from);
    csc_postgres_params_i64(params, (int64_t)room);
    csc_postgres_params_i32(params, claim->suspect_from);
}

static void
fill(turn *it, size_t room)
{
    const cascade_claim *claim = it->turns->claim;

    csc_postgres_params_text(add_call(it, CSC_POSTGRES_LOCK_TIMEOUT),
                             CSC_POSTGRES_GIVE_IN_MS);
    csc_postgres_params_uuid(add_call(it, CSC_POSTGRES_CLAIM_CHECK),
                             &claim->engine_id);
    csc_postgres_params_text(add_call(it, CSC_POSTGRES_TURN_LOCK), it->queue);
    if (claim->suspects)
        fill_suspect(it);
    else
        fill_take(it, room);
}

/* That somebody else has the queue, or that it has no limits any more, is no
 * failure. */
static cascade_err
judge(const csc_postgres_trouble *trouble, cascade_err err)
{
    bool raised = strcmp(trouble->sqlstate, "22012") == 0;

    if (trouble->call == NULL)
        return err;
    if (raised && trouble->call->statement == CSC_POSTGRES_CLAIM_CHECK)
        return csc_fail(CASCADE_ERR_FENCED,
                        "claim: this incarnation was removed; attach a new "
                        "one");
    if (strcmp(trouble->sqlstate, "55P03") == 0 ||
        (raised && trouble->call->statement == CSC_POSTGRES_TURN_LOCK))
        return csc_ok();
    return err;
}

/* A run with its place in the order in which they should run. */
typedef struct taken {
    cascade_claimed claimed;
    int64_t nth;
    int64_t step;
} taken;

static int
compare_taken(const void *a, const void *b)
{
    const taken *left = a;
    const taken *right = b;

    if (left->nth != right->nth)
        return left->nth < right->nth ? -1 : 1;
    return left->step < right->step ? -1 : left->step > right->step;
}

static taken
read_taken(const PGresult *result, int row)
{
    return (taken){
        .claimed = {.cascade_id = csc_postgres_result_uuid(result, row, 1),
                    .claim_no = csc_postgres_result_i64(result, row, 2),
                    .takeovers =
                        (int32_t)csc_postgres_result_i64(result, row, 3),
                    .trials = (int32_t)csc_postgres_result_i64(result, row, 4),
                    .slot = true},
        .nth = csc_postgres_result_i64(result, row, 5),
        .step = csc_postgres_result_i64(result, row, 6)};
}

static csc_turn_walk
read_walk(const PGresult *result, int row)
{
    csc_turn_walk walk = {
        .room = (size_t)csc_postgres_result_i64(result, row, 5),
        .filled = csc_postgres_result_i64(result, row, 3) != 0};

    walk.ended = !walk.filled && csc_postgres_result_i64(result, row, 6) <
                                     CASCADE_CLAIM_KEYS_MAX;
    (void)snprintf(walk.from, sizeof(walk.from), "%s",
                   PQgetvalue(result, row, 7));
    return walk;
}

static void
end_walk(csc_postgres *store, turn *it, const csc_turn_walk *walk)
{
    bool again;

    csc_lock_take(&store->mutex);
    again = csc_turn_end(&store->turns, it->queue, walk);
    csc_lock_give(&store->mutex);
    it->turns->again = it->turns->again || again;
}

/* `room` is there for what was taken. */
static void
note_taken(csc_postgres *store, turn *it, const PGresult *result, taken *room)
{
    csc_postgres_turns *turns = it->turns;
    csc_turn_walk walk = {.count = 0};
    bool walked = false;
    size_t count = 0;

    for (int row = 0; row < PQntuples(result); row++) {
        if (csc_postgres_result_i64(result, row, 0) == TURN_TAKEN) {
            room[count++] = read_taken(result, row);
        } else {
            walk = read_walk(result, row);
            walked = true;
        }
    }
    if (count > 1)
        qsort(room, count, sizeof(room[0]), compare_taken);
    for (size_t i = 0; i < count; i++)
        turns->claimed[turns->count++] = room[i].claimed;
    walk.count = count;
    if (walked)
        end_walk(store, it, &walk);
}

static cascade_err
take_from(csc_postgres_conn *conn, turn *it, size_t room, taken *taken_room)
{
    csc_postgres_trouble trouble;
    const csc_postgres_call *last;
    cascade_err err;

    fill(it, room);
    last = &it->calls[it->count - 1];
    err =
        csc_postgres_conn_write(conn, "claim", it->calls, it->count, &trouble);
    if (err == CASCADE_OK) {
        note_taken(conn->store, it, last->result, taken_room);
        if (last[-1].statement == CSC_POSTGRES_TURN_SORT &&
            csc_postgres_result_i64(last[-1].result, 0, 0) == CSC_TURN_SORT_MAX)
            it->turns->again = true;
    } else if (!conn->broken) {
        if (strcmp(trouble.sqlstate, "55P03") == 0)
            it->turns->again = true; /* somebody else claims just now */
        err = judge(&trouble, err);
    }
    csc_postgres_conn_clear(it->calls, it->count);
    return err;
}

/* What a claim may still have. */
static size_t
room_left(const csc_postgres_turns *turns)
{
    csc_assert(turns->count <= turns->room);
    if (turns->claim->suspects && turns->count > 0)
        return 0;
    return turns->room - turns->count;
}

static cascade_err
take(csc_postgres_conn *conn, csc_postgres_turns *turns, const char *queue)
{
    csc_postgres *store = conn->store;
    size_t room = room_left(turns);
    turn it = {.turns = turns, .queue = queue};
    taken *taken_room = csc_mem_zalloc(room, sizeof(taken));
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    conn->doubtful = false; /* the queue before is decided */
    if (taken_room == NULL) /* there before the runs are ours */
        return csc_fail_memory();
    csc_lock_take(&store->mutex);
    csc_turn_begin(&store->turns, queue, it.from);
    csc_lock_give(&store->mutex);
    err = take_from(conn, &it, room, taken_room);
    csc_mem_free(taken_room);
    return err;
}

/* ---- The move ------------------------------------------------------------ */

static cascade_err
take_due(csc_postgres_conn *conn, csc_postgres_turns *turns,
         const char *const *due, size_t count)
{
    csc_postgres *store = conn->store;
    cascade_err err = CASCADE_OK;
    size_t first;

    csc_lock_take(&store->mutex);
    first = csc_turn_first(&store->turns, count);
    csc_lock_give(&store->mutex);
    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        if (room_left(turns) == 0)
            break;
        err = take(conn, turns, due[(first + i) % count]);
    }
    return err != CASCADE_OK && turns->count > 0 && !conn->doubtful ? csc_ok()
                                                                    : err;
}

cascade_err
csc_postgres_turns_claim(csc_postgres_conn *conn, csc_postgres_turns *turns)
{
    const cascade_claim *claim = turns->claim;
    const char **queues =
        csc_mem_zalloc(2 * claim->queue_count, sizeof(queues[0]));
    const char **due = NULL;
    size_t count = 0;
    size_t due_count = 0;
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    if (queues == NULL)
        return csc_fail_memory();
    due = queues + claim->queue_count;
    for (size_t i = 0; i < claim->queue_count; i++) {
        if (turns->kept[i])
            queues[count++] = claim->queues[i];
    }
    err = look(conn, turns, queues, count, due, &due_count);
    if (err == CASCADE_OK && due_count > 0)
        err = take_due(conn, turns, due, due_count);
    csc_mem_free(queues);
    return err;
}
