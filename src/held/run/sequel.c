/* SPDX-License-Identifier: MIT
 *
 * See sequel.h.
 */
#include "held/run/sequel.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/op.h"
#include "held/engine_state.h"
#include "state/state.h"
#include "store/move.h"

#define LARGE_FROM 64 /* a fn_id: smaller ones are read for no more */

/* ---- What was in memory ------------------------------------------------- */

/* The place of the cascade, or else the oldest. */
static csc_sequel *
place_of(cascade_engine *engine, const cascade_uuid *id)
{
    csc_sequel *oldest = &engine->sequels[engine->sequel_at];

    csc_assert(csc_lock_is_held(&engine->mutex) &&
               engine->sequel_at < CSC_SEQUELS);
    for (size_t i = 0; i < CSC_SEQUELS; i++)
        if (csc_uuid_equal(&engine->sequels[i].id, id))
            return &engine->sequels[i];
    engine->sequel_at = (engine->sequel_at + 1) % CSC_SEQUELS;
    return oldest;
}

void
csc_sequel_note_locked(cascade_engine *engine, const csc_state *state)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (state->fn_id < LARGE_FROM)
        return;
    *place_of(engine, &state->id) = (csc_sequel){
        .id = state->id, .next = state->continued_as, .fn_id = state->fn_id};
}

static bool
remembers(cascade_engine *engine, csc_state *state)
{
    bool found = false;

    csc_lock_take(&engine->mutex);
    for (size_t i = 0; i < CSC_SEQUELS && !found; i++) {
        const csc_sequel *sequel = &engine->sequels[i];

        found = sequel->fn_id == state->fn_id &&
                csc_uuid_equal(&sequel->id, &state->id);
        if (found)
            state->continued_as = sequel->next;
    }
    csc_lock_give(&engine->mutex);
    return found;
}

/* ---- What its last execution says --------------------------------------- */

typedef struct last_row {
    int32_t fn_id;
    bool tells;
} last_row;

/* Of those that csc_next_run_forward() would have sent on. */
static bool
is_sent_on(const char *name)
{
    return strncmp(name, CSC_SIGNAL_PREFIX, strlen(CSC_SIGNAL_PREFIX)) == 0 ||
           strcmp(name, CSC_CANCEL_NAME) == 0 ||
           strcmp(name, CSC_TERMINATE_NAME) == 0 ||
           strcmp(name, CSC_PAUSE_NAME) == 0 ||
           strcmp(name, CSC_RESUME_NAME) == 0;
}

static cascade_err
look_at_last(void *context, const cascade_execution_row *row)
{
    last_row *last = context;

    last->tells = row->function_id == last->fn_id &&
                  row->status == CASCADE_EXECUTION_FAILED &&
                  is_sent_on(row->node_name) && row->error != NULL &&
                  strcmp(row->error, CSC_UNDELIVERED) == 0;
    return CASCADE_OK;
}

cascade_err
csc_sequel_find(cascade_engine *engine, csc_state *state, bool *known)
{
    last_row last = {.fn_id = state->fn_id};
    const cascade_load_sink sink = {.context = &last,
                                    .on_execution = look_at_last};
    const cascade_scan scan = {
        .cascade_id = &state->id, .from = state->fn_id, .limit = 1};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held() && state->recorded == CASCADE_COMPLETED);
    *known = remembers(engine, state);
    if (*known || state->fn_id < LARGE_FROM)
        return CASCADE_OK;
    err = csc_move_scan(engine->store, &scan, &sink);
    *known = err == CASCADE_OK && last.tells;
    return err;
}
