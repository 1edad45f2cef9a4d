/* SPDX-License-Identifier: MIT
 *
 * The end of the function_ids.
 *
 *   0 ................................ | kept | 2^31 - 2
 *     what the cascade does              what ends it
 *
 * The last ids of a cascade are kept for a termination, a deletion, a
 * cancellation, its deadline. What else needs an id is refused: a node is told
 * when it asks (part.c, effects.c), and where several ask for the last
 * ones, those who come too late fail. What is received and cannot be recorded
 * ends the cascade: nobody would ever see it otherwise.
 *
 * Rows of others may come with any function_id, so that not even those are left
 * that are kept. Then an execution that is RUNNING is what ends the cascade: it
 * fails. What comes for a cascade that has ended is not recorded then.
 */
#include "change/build/builder.h"

#include <string.h>

#include "base/error.h"
#include "cascade/cascade.h"
#include "change/build/build.h"
#include "change/build/end.h"
#include "change/op.h"
#include "state/state.h"

/* A node that is RUNNING: the last one, since what it has done is the least. */
static const csc_exec *
find_last(const struct csc_builder *b)
{
    for (size_t i = b->state->exec_count; i > 0; i--) {
        const csc_exec *exec = b->state->execs[i - 1].exec;

        if (exec != NULL && exec->status == CASCADE_EXECUTION_RUNNING &&
            exec->part == CSC_PART_NONE &&
            !csc_view_has(&b->ended_early, exec->function_id))
            return exec;
    }
    return NULL;
}

void
csc_last_ids_end_other(struct csc_builder *b, const char *error)
{
    const csc_exec *exec = NULL;

    csc_assert(!csc_builder_has_ids(b, 1, false));
    if (csc_builder_status(b) != CASCADE_RUNNING)
        return;
    if (csc_builder_is_cancelled(b)) {
        csc_command_close_cancel(b, error);
        return;
    }
    exec = find_last(b);
    if (exec == NULL)
        return;
    csc_end_fail(b,
                 &(csc_post){.kind = CSC_POST_FAIL,
                             .function_id = exec->function_id,
                             .attempts = exec->attempts,
                             .error = error},
                 exec);
    csc_builder_note_ended(b, exec);
}

/* The ends of children and completions are recorded with what they end; those
 * that end the cascade see to themselves. */
static bool
needs_id(const csc_message *message)
{
    static const char *const others[] = {
        CSC_MESSAGE_CHILD,     CSC_MESSAGE_COMPLETE, CSC_MESSAGE_FAMILY,
        CSC_MESSAGE_TERMINATE, CSC_MESSAGE_CANCEL,   CSC_MESSAGE_POISON};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(message->kind, others[i]) == 0)
            return false;
    return true;
}

bool
csc_last_ids_lack(struct csc_builder *b, const csc_message *message)
{
    if (!needs_id(message) || csc_builder_has_ids(b, 1, false))
        return false;
    csc_last_ids_end_other(b, CSC_USED_UP);
    return true;
}
