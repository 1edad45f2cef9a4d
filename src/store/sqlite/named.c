/* SPDX-License-Identifier: MIT
 *
 * What messages name, of a claim: S20, S23, S55, S60, S87; see claim.c. A look
 * walks over it without the lock, and what it has found is taken, with the
 * lock, where it still is as it was.
 */
#include "store/sqlite/claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

#define UNNAMED_MAX 1000

static int
compare_named(const void *a, const void *b)
{
    const csc_sqlite_named *left = a;
    const csc_sqlite_named *right = b;

    if (left->priority != right->priority)
        return left->priority > right->priority ? -1 : 1;
    return csc_sqlite_claim_compare(&left->run, &right->run);
}

static void
cut_named(csc_sqlite_claiming *state)
{
    size_t limit = state->claim->limit;

    csc_assert(state->named_count <= 2 * state->claim->limit);
    if (state->named_count > 1)
        qsort(state->named, state->named_count, sizeof(csc_sqlite_named),
              compare_named);
    if (state->named_count > limit)
        state->named_count = limit;
}

static cascade_err
add_named(csc_sqlite_claiming *state, sqlite3_stmt *statement,
          const csc_sqlite_named *one)
{
    const char *kind = (const char *)sqlite3_column_text(statement, 8);
    csc_sqlite_candidate *run = NULL;

    if (kind == NULL)
        return csc_fail_memory();
    if (state->named_count == 2 * state->claim->limit)
        cut_named(state);
    if (csc_mem_grow((void **)&state->named, &state->named_room,
                     state->named_count + 1, sizeof(csc_sqlite_named)) != 0)
        return csc_fail_memory();
    state->named[state->named_count] = *one;
    run = &state->named[state->named_count++].run;
    (void)snprintf(run->message_kind, sizeof(run->message_kind), "%s", kind);
    return CASCADE_OK;
}

static cascade_err
add_stray(csc_sqlite_claiming *state, const cascade_uuid *cascade_id)
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
weigh_owned(csc_sqlite_claiming *state, sqlite3_stmt *statement)
{
    cascade_uuid owner;
    cascade_err err =
        csc_sqlite_row_uuid(statement, 6, "cascade_runs", "engine_id", &owner);

    if (err == CASCADE_OK && csc_uuid_equal(&owner, &state->claim->engine_id))
        state->messages = true;
    return err == CASCADE_ERR_CORRUPT ? csc_ok() : err; /* S74 */
}

static cascade_err
weigh_ended(csc_sqlite_claiming *state, sqlite3_stmt *statement,
            const cascade_uuid *cascade_id)
{
    const cascade_claim *claim = state->claim;
    csc_sqlite_named one = {
        .run = {.cascade_id = *cascade_id, .wake_at_ms = state->now_ms},
        .ended = true};

    if (claim->suspects || claim->queue_count == 0)
        return CASCADE_OK;
    one.queue = claim->queues[0];
    return add_named(state, statement, &one);
}

static cascade_err
weigh_free(csc_sqlite_claiming *state, sqlite3_stmt *statement,
           const cascade_uuid *cascade_id)
{
    const cascade_claim *claim = state->claim;
    csc_sqlite_named one = {
        .run = {.cascade_id = *cascade_id,
                .wake_at_ms = sqlite3_column_int64(statement, 1),
                .claim_no = sqlite3_column_int64(statement, 2),
                .takeovers = sqlite3_column_int(statement, 3),
                .trials = csc_sqlite_claim_trial(claim, statement, 9)},
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
weigh_named(csc_sqlite_claiming *state, sqlite3_stmt *statement,
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
note_unnamed(csc_sqlite_claiming *state, const char *behind)
{
    if (!state->unnamed)
        (void)snprintf(state->unnamed_behind, sizeof(state->unnamed_behind),
                       "%s", behind);
    state->unnamed = true;
}

/* The next one behind that. */
static cascade_err
collect_next(csc_sqlite_claiming *state, char *behind, bool *found)
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

cascade_err
csc_sqlite_named_collect(csc_sqlite_claiming *state)
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
take_one_named(csc_sqlite_claiming *state, const csc_sqlite_named *one,
               bool *taken)
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

cascade_err
csc_sqlite_named_take(csc_sqlite_claiming *state)
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
clear_stray(csc_sqlite_claiming *state, const cascade_uuid *id,
            const char *own_kinds, int64_t *left)
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
clear_strays(csc_sqlite_claiming *state)
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
clear_unnamed(csc_sqlite_claiming *state)
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

cascade_err
csc_sqlite_named_clear(csc_sqlite_claiming *state)
{
    cascade_err err = clear_strays(state);

    return err == CASCADE_OK ? clear_unnamed(state) : err;
}
