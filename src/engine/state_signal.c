/* SPDX-License-Identifier: MIT
 *
 * Signals in the state: those that are unread, and which await took which.
 *
 * The row of an await that has ended names the signal it took. Live, that
 * signal is there, or its row comes with the same commit, a moment later. On
 * hydration rows come by function_id, so an await that was there first is
 * applied before its signal: then the pair is kept in `takings` until that
 * comes. Either way what the signal brought goes to the await, and stays there
 * as long as its straight-line node may ask for it.
 */
#include "engine/state_internal.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

bool
csc_state_is_signal(const cascade_execution_row *row)
{
    return row->status == CASCADE_EXECUTION_COMPLETED &&
           strncmp(row->node_name, CSC_SIGNAL_PREFIX,
                   strlen(CSC_SIGNAL_PREFIX)) == 0;
}

void
csc_state_free_signals(csc_state *state)
{
    for (size_t i = 0; i < state->signal_count; i++) {
        csc_mem_free(state->signals[i].name);
        csc_mem_free(state->signals[i].payload);
    }
    csc_mem_free(state->signals);
    csc_mem_free(state->takings);
}

/* What a row brings: NULL for {}. */
static cascade_err
copy_payload(const cascade_execution_row *row, char **payload)
{
    *payload = NULL;
    if (strcmp(row->input, "{}") == 0)
        return CASCADE_OK;
    *payload = csc_mem_strdup(row->input);
    return *payload != NULL ? CASCADE_OK : csc_fail_memory();
}

/* The await whose ended row names that signal; true when there is one. */
static bool
find_taking(csc_state *state, int32_t signal, int32_t *await)
{
    for (size_t i = 0; i < state->taking_count; i++) {
        if (state->takings[i].signal != signal)
            continue;
        *await = state->takings[i].await;
        state->takings[i] = state->takings[--state->taking_count];
        return true;
    }
    return false;
}

static void
give(csc_exec *await, char *payload)
{
    csc_mem_free(await->output);
    await->output = payload;
}

static cascade_err
keep_unread(csc_state *state, const cascade_execution_row *row,
            csc_signal signal)
{
    void *signals = state->signals;
    size_t at = state->signal_count;
    char *name = csc_mem_strdup(row->node_name + strlen(CSC_SIGNAL_PREFIX));

    if (name == NULL ||
        csc_mem_grow(&signals, &state->signal_room, state->signal_count + 1,
                     sizeof(csc_signal)) != 0) {
        csc_mem_free(name);
        return csc_fail_memory();
    }
    state->signals = signals;
    while (at > 0 && state->signals[at - 1].function_id > row->function_id)
        at--;
    memmove(&state->signals[at + 1], &state->signals[at],
            (state->signal_count - at) * sizeof(csc_signal));
    signal.function_id = row->function_id;
    signal.name = name;
    state->signals[at] = signal;
    state->signal_count++;
    return CASCADE_OK;
}

cascade_err
csc_state_add_signal(csc_state *state, const cascade_execution_row *row)
{
    csc_exec *await = NULL;
    char *payload = NULL;
    int32_t id = CSC_NO_PARENT;
    cascade_err err = copy_payload(row, &payload);

    if (err != CASCADE_OK)
        return err;
    if (find_taking(state, row->function_id, &id)) {
        await = csc_state_find(state, id);
        if (await != NULL)
            give(await, payload);
        else
            csc_mem_free(payload);
        return CASCADE_OK;
    }
    err = keep_unread(state, row, (csc_signal){.payload = payload});
    if (err != CASCADE_OK)
        csc_mem_free(payload);
    return err;
}

static cascade_err
add_taking(csc_state *state, int32_t await, int32_t signal)
{
    void *takings = state->takings;

    if (csc_mem_grow(&takings, &state->taking_room, state->taking_count + 1,
                     sizeof(csc_taking)) != 0)
        return csc_fail_memory();
    state->takings = takings;
    state->takings[state->taking_count++] = (csc_taking){await, signal};
    return CASCADE_OK;
}

cascade_err
csc_state_take_signal(csc_state *state, csc_exec *await, int32_t signal)
{
    for (size_t i = 0; i < state->signal_count; i++) {
        csc_signal *found = &state->signals[i];

        if (found->function_id != signal)
            continue;
        give(await, found->payload);
        csc_mem_free(found->name);
        state->signal_count--;
        memmove(found, found + 1,
                (state->signal_count - i) * sizeof(csc_signal));
        return CASCADE_OK;
    }
    return add_taking(state, await->function_id, signal);
}

const csc_signal *
csc_state_signal(const csc_state *state, const char *name, size_t *at)
{
    while (*at < state->signal_count) {
        const csc_signal *signal = &state->signals[(*at)++];

        if (strcmp(signal->name, name) == 0)
            return signal;
    }
    return NULL;
}
