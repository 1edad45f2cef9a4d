/* SPDX-License-Identifier: MIT
 *
 * Claims of queues that have limits: S96, S98, S99. The write transaction of a
 * claim (claim.c) is the lock: what it counts is what there is, since nobody
 * else gives slots meanwhile.
 *
 *   look   without the lock: is there something due, and does there seem to be
 *          room; when does something come next
 *   sort   what is due moves from its shelf to that of the runs which wait by
 *          their keys, some hundreds at a time
 *   walk   from key to key, one seek each, until as many have room as runs are
 *          wanted. Then each gives its share, the first of all keys before the
 *          second of any
 *
 * A suspect is taken from its shelf: the first of some that has room.
 *
 * Keys are walked over from one to the next that is greater, as the database
 * has them in order; so a place of turn.h, which is behind a key by a byte 1,
 * is made that key again.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/sqlite/claim.h"
#include "store/turn.h"

/* A key that the walk was at. */
typedef struct walk_key {
    char key[CSC_TURN_FROM_SIZE];
    size_t room;
    size_t begin; /* of its runs among the candidates */
    size_t count;
} walk_key;

/* A kept queue in one claim. */
typedef struct turn {
    csc_sqlite_claiming *state;
    csc_sqlite_claiming
        due; /* the shelves and candidates of this queue alone */
    const csc_sqlite_queue *limits;
    const char *queue;
    walk_key *keys; /* CASCADE_CLAIM_KEYS_MAX of them */
    size_t key_count;
    size_t found; /* of them with room */
} turn;

static turn
begin_turn(csc_sqlite_claiming *state, size_t at)
{
    turn it = {.state = state,
               .limits = &state->queues[at],
               .queue = state->claim->queues[at]};

    it.due.conn = state->conn;
    it.due.claim = state->claim;
    it.due.now_ms = state->now_ms;
    return it;
}

static void
end_turn(turn *it)
{
    csc_arena_fini(&it->due.texts);
    csc_mem_free(it->due.shelves);
    csc_mem_free(it->due.candidates);
    csc_mem_free(it->keys);
}

/* ---- Room ---------------------------------------------------------------- */

/* Of `max` (0: none) slots, counted by a statement: up to `most` of those that
 * are free. `key` may be NULL: of the queue. */
static cascade_err
read_room(const turn *it, int64_t max, const char *key, size_t most,
          size_t *room)
{
    csc_sqlite_call call;
    bool row = false;
    int64_t used = 0;
    cascade_err err;

    *room = most;
    if (max <= 0)
        return CASCADE_OK;
    csc_sqlite_call_begin(&call, it->state->conn,
                          key == NULL ? CSC_SQLITE_COUNT_SLOTS
                                      : CSC_SQLITE_COUNT_KEY_SLOTS);
    csc_sqlite_call_add_text(&call, it->queue);
    if (key != NULL)
        csc_sqlite_call_add_text(&call, key);
    csc_sqlite_call_add_i64(&call, max);
    err = csc_sqlite_call_next(&call, &row);
    if (err == CASCADE_OK && row)
        used = sqlite3_column_int64(call.statement, 0);
    csc_sqlite_call_end(&call);
    if (used >= max)
        *room = 0;
    else if ((uint64_t)(max - used) < most)
        *room = (size_t)(max - used);
    return err;
}

static cascade_err
read_queue_room(const turn *it, size_t most, size_t *room)
{
    return read_room(it, it->limits->running_max, NULL, most, room);
}

static cascade_err
read_key_room(const turn *it, const char *key, size_t most, size_t *room)
{
    return read_room(it, it->limits->key_running_max, key, most, room);
}

/* ---- Keys ---------------------------------------------------------------- */

/* The first key from `from` on. */
static cascade_err
next_key(const turn *it, const char *from, char key[CSC_TURN_FROM_SIZE],
         bool *found)
{
    char behind[CSC_TURN_FROM_SIZE];
    csc_sqlite_call call;
    const char *text = NULL;
    size_t len = strlen(from);
    cascade_err err;

    (void)snprintf(behind, sizeof(behind), "%s", from);
    if (len > 0)
        behind[len - 1] = '\0';
    csc_sqlite_call_begin(&call, it->state->conn, CSC_SQLITE_NEXT_TURN);
    csc_sqlite_call_add_text(&call, it->queue);
    csc_sqlite_call_add_text(&call, behind);
    csc_sqlite_call_add_i64(&call, len == 0);
    err = csc_sqlite_call_next(&call, found);
    if (err == CASCADE_OK && *found)
        err = csc_sqlite_call_text(call.statement, 0, &text);
    if (err == CASCADE_OK && *found)
        (void)snprintf(key, CSC_TURN_FROM_SIZE, "%s", text);
    csc_sqlite_call_end(&call);
    return err;
}

/* The same, around the end; none that the walk was at. */
static cascade_err
next_around(const turn *it, const char *start, const char *from, bool *around,
            char key[CSC_TURN_FROM_SIZE], bool *found)
{
    cascade_err err = next_key(it, from, key, found);

    if (err == CASCADE_OK && !*found && !*around) {
        *around = true;
        err = next_key(it, "", key, found);
    }
    if (err == CASCADE_OK && *found && *around && start[0] != '\0' &&
        strcmp(key, start) >= 0)
        *found = false;
    return err;
}

/* Goes from key to key until enough have room, and tells how it has ended. */
static cascade_err
walk_keys(turn *it, size_t room, csc_turn_walk *walk)
{
    char start[CSC_TURN_FROM_SIZE];
    bool around = walk->from[0] == '\0';
    bool more = true;
    cascade_err err = CASCADE_OK;

    memcpy(start, walk->from, sizeof(start));
    while (err == CASCADE_OK && it->key_count < CASCADE_CLAIM_KEYS_MAX &&
           it->found < room) {
        walk_key *at = &it->keys[it->key_count];

        err = next_around(it, start, walk->from, &around, at->key, &more);
        walk->ended = err == CASCADE_OK && !more;
        if (err != CASCADE_OK || !more)
            break;
        err = read_key_room(it, at->key, room, &at->room);
        it->found += at->room > 0;
        it->key_count++;
        csc_turn_behind(at->key, walk->from);
    }
    walk->room = room;
    walk->filled = it->found >= room;
    return err;
}

/* ---- Runs ---------------------------------------------------------------- */

/* The first runs of a key. */
static cascade_err
list_runs(turn *it, walk_key *at, size_t share)
{
    size_t limit = at->room < share ? at->room : share;
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    at->begin = it->due.count;
    if (limit == 0)
        return CASCADE_OK;
    csc_sqlite_call_begin(&call, it->state->conn, CSC_SQLITE_LIST_TURNS);
    csc_sqlite_call_add_text(&call, it->queue);
    csc_sqlite_call_add_text(&call, at->key);
    csc_sqlite_call_add_i64(&call, (int64_t)limit);
    err = csc_sqlite_call_next(&call, &row);
    while (err == CASCADE_OK && row) {
        err = csc_sqlite_claim_add(&it->due, call.statement,
                                   sqlite3_column_int(call.statement, 4));
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(&call, &row);
    }
    csc_sqlite_call_end(&call);
    at->count = it->due.count - at->begin;
    return err;
}

static cascade_err
take_run(turn *it, const csc_sqlite_candidate *run)
{
    csc_sqlite_claiming *state = it->state;

    csc_assert(state->turn_count < state->claim->limit);
    state->turns[state->turn_count++] = *run;
    return csc_sqlite_claim_own(state, run, true);
}

static cascade_err
take_shares(turn *it, size_t room, size_t *taken)
{
    size_t share = csc_turn_share(room, it->found);
    cascade_err err = CASCADE_OK;

    it->due.count = 0;
    for (size_t i = 0; i < it->key_count && err == CASCADE_OK; i++)
        err = list_runs(it, &it->keys[i], share);
    for (size_t nth = 0; nth < share; nth++) {
        for (size_t i = 0; i < it->key_count && err == CASCADE_OK; i++) {
            if (nth >= it->keys[i].count || *taken == room)
                continue;
            err = take_run(it, &it->due.candidates[it->keys[i].begin + nth]);
            (*taken)++;
        }
    }
    return err;
}

/* ---- Sort ---------------------------------------------------------------- */

/* The shelves of what is due and does not wait by its key. */
static cascade_err
collect_unsorted(turn *it)
{
    cascade_err err = csc_sqlite_claim_shelve(&it->due, it->queue);

    for (size_t i = 0; i < it->due.shelf_count; i++) {
        csc_sqlite_shelf *shelf = &it->due.shelves[i];

        if (strcmp(shelf->needs, CASCADE_NEEDS_TURN) == 0)
            shelf->wanted = false;
    }
    return err;
}

static cascade_err
sort_run(const turn *it, const csc_sqlite_candidate *run)
{
    csc_sqlite_call call;

    csc_sqlite_call_begin(&call, it->state->conn, CSC_SQLITE_SORT_RUN);
    csc_sqlite_call_add_uuid(&call, &run->cascade_id);
    return csc_sqlite_call_run(&call, NULL);
}

static cascade_err
sort_due(turn *it)
{
    cascade_err err = collect_unsorted(it);

    if (err == CASCADE_OK)
        err = csc_sqlite_claim_due(&it->due, CSC_TURN_SORT_MAX);
    for (size_t i = 0; i < it->due.count && err == CASCADE_OK; i++)
        err = sort_run(it, &it->due.candidates[i]);
    if (it->due.count == CSC_TURN_SORT_MAX)
        it->state->again = true;
    return err;
}

/* ---- Suspects ------------------------------------------------------------ */

static cascade_err
read_suspect_room(const turn *it, const csc_sqlite_candidate *run, size_t *room)
{
    char key[CSC_TURN_FROM_SIZE] = "";
    csc_sqlite_call call;
    const char *text = NULL;
    bool row = false;
    cascade_err err;

    csc_sqlite_call_begin(&call, it->state->conn, CSC_SQLITE_GET_LIMIT_KEY);
    csc_sqlite_call_add_uuid(&call, &run->cascade_id);
    err = csc_sqlite_call_next(&call, &row);
    if (err == CASCADE_OK && row)
        err = csc_sqlite_call_text(call.statement, 0, &text);
    if (text != NULL)
        (void)snprintf(key, sizeof(key), "%s", text);
    csc_sqlite_call_end(&call);
    return err == CASCADE_OK ? read_key_room(it, key, 1, room) : err;
}

static cascade_err
take_suspect(turn *it)
{
    size_t room = 0;
    cascade_err err = read_queue_room(it, 1, &room);

    if (err != CASCADE_OK || room == 0)
        return err;
    err = csc_sqlite_claim_shelve(&it->due, it->queue);
    if (err == CASCADE_OK)
        err = csc_sqlite_claim_due(&it->due, CSC_TURN_SUSPECTS_MAX);
    for (size_t i = 0; i < it->due.count && err == CASCADE_OK; i++) {
        err = read_suspect_room(it, &it->due.candidates[i], &room);
        if (err != CASCADE_OK || room == 0)
            continue;
        err = sort_run(it, &it->due.candidates[i]); /* it may have no key */
        return err == CASCADE_OK ? take_run(it, &it->due.candidates[i]) : err;
    }
    return err;
}

/* ---- Take ---------------------------------------------------------------- */

static cascade_err
take_by_keys(turn *it, size_t most)
{
    csc_turn_places *places = &it->state->conn->store->turns;
    csc_turn_walk walk = {.count = 0};
    size_t room = 0;
    cascade_err err = sort_due(it);

    csc_turn_begin(places, it->queue, walk.from);
    it->keys = csc_mem_zalloc(CASCADE_CLAIM_KEYS_MAX, sizeof(walk_key));
    if (it->keys == NULL)
        return csc_fail_memory();
    if (err == CASCADE_OK)
        err = read_queue_room(it, most, &room);
    if (err == CASCADE_OK)
        err = walk_keys(it, room, &walk);
    if (err == CASCADE_OK && it->found > 0)
        err = take_shares(it, room, &walk.count);
    if (err == CASCADE_OK && csc_turn_end(places, it->queue, &walk))
        it->state->again = true;
    return err;
}

cascade_err
csc_sqlite_turns_take(csc_sqlite_claiming *state, size_t room)
{
    const cascade_claim *claim = state->claim;
    size_t first = 0;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_sqlite_txn_may_write(state->conn));
    if (room == 0)
        return CASCADE_OK;
    state->turns = csc_mem_zalloc(claim->limit, sizeof(state->turns[0]));
    if (state->turns == NULL)
        return csc_fail_memory();
    first = csc_turn_first(&state->conn->store->turns, claim->queue_count);
    for (size_t i = 0; i < claim->queue_count && err == CASCADE_OK; i++) {
        size_t at = (first + i) % claim->queue_count;
        turn it;

        if (!state->queues[at].kept || state->turn_count >= room ||
            (claim->suspects && state->turn_count > 0))
            continue;
        it = begin_turn(state, at);
        err = claim->suspects ? take_suspect(&it)
                              : take_by_keys(&it, room - state->turn_count);
        end_turn(&it);
    }
    return err;
}

/* ---- Look ---------------------------------------------------------------- */

/* Whether something is, that this claim is for. */
static cascade_err
find_due(turn *it, bool *due)
{
    char key[CSC_TURN_FROM_SIZE];
    cascade_err err = CASCADE_OK;

    *due = false;
    if (!it->state->claim->suspects)
        err = next_key(it, "", key, due);
    if (err != CASCADE_OK || *due)
        return err;
    err = csc_sqlite_claim_due(&it->due, 1);
    *due = it->due.count > 0;
    return err;
}

static cascade_err
look_at(turn *it)
{
    const cascade_claim *claim = it->state->claim;
    bool due = false;
    size_t room = 0;
    cascade_err err = csc_sqlite_claim_shelve(&it->due, it->queue);

    if (err == CASCADE_OK)
        err = csc_sqlite_claim_next(&it->due);
    if (err == CASCADE_OK && (claim->slots > 0 || claim->suspects))
        err = find_due(it, &due);
    if (err == CASCADE_OK && due && claim->slots > 0)
        err = read_queue_room(it, 1, &room);
    if (err != CASCADE_OK || !due)
        return err;
    it->state->suspects = it->state->suspects || claim->suspects;
    it->state->turns_due = it->state->turns_due || room > 0;
    return CASCADE_OK;
}

cascade_err
csc_sqlite_turns_look(csc_sqlite_claiming *state)
{
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    for (size_t i = 0; i < state->claim->queue_count && err == CASCADE_OK;
         i++) {
        turn it;

        if (!state->queues[i].kept)
            continue;
        it = begin_turn(state, i);
        err = look_at(&it);
        if (err == CASCADE_OK)
            csc_sqlite_claim_note_next(state, it.due.next_wake_at_ms);
        end_turn(&it);
    }
    return err;
}
