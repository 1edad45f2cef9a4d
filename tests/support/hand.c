/* SPDX-License-Identifier: MIT */
#include "support/hand.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "state/state.h"

static size_t blocks_before;

csc_state *
hand_fresh(void)
{
    static csc_state state;
    cascade_uuid id;

    blocks_before = csc_mem_live();
    (void)cascade_uuid_parse(HAND_ID, &id);
    csc_state_init(&state, &id);
    return &state;
}

void
hand_done(csc_state *state)
{
    csc_state_fini(state);
    assert_int_equal(csc_mem_live(), blocks_before);
}

void
hand_apply(csc_state *state, int32_t function_id, const char *path,
           const char *name, cascade_execution_status status,
           const char *full_output)
{
    const cascade_execution_row row = {
        .cascade_id = state->id,
        .function_id = function_id,
        .status = status,
        .node_instance_id = path,
        .node_name = name,
        .input = "{}",
        .full_output = full_output,
        .location = "server",
        .error = status == CASCADE_EXECUTION_FAILED ? "why" : NULL};

    assert_int_equal(csc_state_apply_execution(state, &row), CASCADE_OK);
}

void
hand_apply_under(csc_state *state, int32_t function_id, int32_t parent,
                 const char *name, uint32_t nth,
                 cascade_execution_status status, const char *full_output)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char path[300];

    (void)snprintf(path, sizeof(path), "%s/%d/%s#%u",
                   cascade_uuid_format(&state->id, id), (int)parent, name,
                   (unsigned)nth);
    hand_apply(state, function_id, path, name, status, full_output);
}

void
hand_put(csc_state *state, int32_t function_id, const char *key,
         const char *value)
{
    const cascade_event_row row = {.cascade_id = state->id,
                                   .function_id = function_id,
                                   .key = key,
                                   .value = value};

    assert_int_equal(csc_events_apply_event(state, &row), CASCADE_OK);
}
