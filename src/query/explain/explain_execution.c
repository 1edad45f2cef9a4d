/* SPDX-License-Identifier: MIT
 *
 * What each execution of a cascade waits for that has not ended: by what its
 * row says and by what it comes after, as the state has it. Whose time has come
 * waits for nothing any more: it RUNS, which means that an engine runs it now,
 * or does as soon as one has the cascade.
 */
#include "query/explain/explain.h"

#include <string.h>

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "state/state.h"

static bool
is_over(const csc_facts *facts, int64_t at_ms)
{
    return at_ms != CASCADE_TIME_NONE && at_ms <= facts->now_ms;
}

/* " until 2026-01-31 12:00:00 UTC", or "" without a time. */
static const char *
until(cascade_explanation *out, int64_t at_ms)
{
    const char *text = NULL;

    if (at_ms != CASCADE_TIME_NONE)
        text = csc_arena_format(&out->arena, " until %s",
                                csc_explain_time(&out->arena, at_ms));
    return text != NULL ? text : "";
}

static cascade_cause *
add(cascade_explanation *out, const csc_exec *exec, cascade_reason reason)
{
    cascade_cause *cause = csc_explain_add(out, reason);

    if (cause == NULL)
        return NULL;
    cause->function_id = exec->function_id;
    cause->node = csc_arena_strdup(&out->arena, exec->name);
    return cause;
}

/* ---- What runs ---------------------------------------------------------- */

/* Who runs it. What had begun goes on while the cascade is paused. */
static const char *
who_runs(const csc_facts *facts)
{
    bool owned = csc_explain_cascade_is_owned(facts);

    if (csc_explain_cascade_is_paused(facts))
        return owned ? "its engine runs it, or it waits to be resumed"
                     : "it waits to be resumed";
    return owned ? "its engine runs it, or does so next"
                 : "it waits for an engine to take the cascade";
}

static void
explain_runs(const csc_facts *facts, const csc_exec *exec,
             cascade_explanation *out)
{
    const char *what = "could run";

    if (add(out, exec, CASCADE_REASON_RUNS) == NULL)
        return;
    if (csc_view_is_wait(exec))
        what = "has waited to the end, which is to be recorded";
    else if (exec->external != NULL)
        what = "is past its deadline, which is to be recorded";
    csc_explain_say(out, "%d %s %s: %s", (int)exec->function_id, exec->name,
                    what, who_runs(facts));
}

/* ---- What comes after others -------------------------------------------- */

static void
say_joined(const csc_exec *exec, const cascade_cause *cause,
           cascade_explanation *out)
{
    bool gathers = exec->part == CSC_PART_GATHER;
    int place = (int)exec->function_id;
    int first = (int)cause->other;

    if (cause->count == 1)
        csc_explain_say(out, "%d %s comes after %s %d, which has not ended",
                        place, exec->name, gathers ? "its child" : "execution",
                        first);
    else
        csc_explain_say(out,
                        "%d %s comes after %lld %s that have not ended, of "
                        "which %d is the first",
                        place, exec->name, (long long)cause->count,
                        gathers ? "of its children" : "others", first);
}

static void
explain_join(const csc_exec *exec, cascade_explanation *out)
{
    const csc_join *join = exec->join;
    size_t pending = 0;
    int32_t first = -1;
    cascade_cause *cause =
        add(out, exec,
            exec->part == CSC_PART_GATHER ? CASCADE_REASON_CHILDREN
                                          : CASCADE_REASON_JOIN);

    if (cause == NULL)
        return;
    for (size_t i = exec->after.count; i > 0; i--) {
        const csc_join_slot *slot = &join->slots[i - 1];

        if (slot->ended)
            continue;
        pending++;
        first = slot->function_id;
    }
    cause->count = (int64_t)pending;
    cause->other = first;
    say_joined(exec, cause, out);
}

/* The first of its waits that goes on; -1 without one. */
static int32_t
find_wait(const csc_facts *facts, const csc_exec *exec)
{
    for (size_t i = 0; i < exec->parts.count; i++) {
        const csc_exec *part =
            csc_view_find(facts->state, exec->parts.items[i]);

        if (part != NULL && csc_view_is_wait(part) &&
            part->status == CASCADE_EXECUTION_RUNNING)
            return part->function_id;
    }
    return -1;
}

static void
explain_blocked(const csc_facts *facts, const csc_exec *exec,
                cascade_explanation *out)
{
    cascade_cause *cause = add(out, exec, CASCADE_REASON_WAITS);

    if (cause == NULL)
        return;
    cause->other = find_wait(facts, exec);
    csc_explain_say(out, "%d %s waits for its own wait %d to end",
                    (int)exec->function_id, exec->name, (int)cause->other);
}

/* ---- What is told of something ------------------------------------------ */

static void
explain_cancel(const csc_facts *facts, const csc_exec *exec,
               cascade_explanation *out)
{
    cascade_cause *cause = add(out, exec, CASCADE_REASON_CANCEL);

    if (cause == NULL)
        return;
    cause->count = (int64_t)facts->state->running - 1;
    csc_explain_say(out,
                    "%d %s ends the cascade once the other executions (%lld) "
                    "have ended",
                    (int)exec->function_id, exec->name,
                    (long long)cause->count);
}

static void
explain_child(const csc_exec *exec, cascade_explanation *out)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    cascade_cause *cause = add(out, exec, CASCADE_REASON_CHILD);

    if (cause == NULL)
        return;
    cause->id = exec->child;
    csc_explain_say(out,
                    "%d %s stands for child cascade %s, which has not "
                    "ended",
                    (int)exec->function_id, exec->name,
                    cascade_uuid_format(&exec->child, id));
}

static void
explain_external(const csc_exec *exec, cascade_explanation *out)
{
    cascade_cause *cause = add(out, exec, CASCADE_REASON_EXTERNAL);

    if (cause == NULL)
        return;
    cause->at_ms = exec->external->deadline_ms;
    csc_explain_say(out, "%d %s waits to be completed from outside%s",
                    (int)exec->function_id, exec->name,
                    until(out, cause->at_ms));
}

static void
explain_await(const csc_exec *exec, cascade_explanation *out)
{
    const char *name = exec->name + strlen(CSC_AWAIT_PREFIX);
    bool update = strncmp(name, CSC_UPDATE_NAME, strlen(CSC_UPDATE_NAME)) == 0;
    cascade_cause *cause = add(out, exec, CASCADE_REASON_SIGNAL);

    if (cause == NULL)
        return;
    cause->name = csc_arena_strdup(&out->arena, name);
    cause->at_ms = exec->not_before_ms;
    csc_explain_say(out, "%d %s awaits %s %s%s", (int)exec->function_id,
                    exec->name, update ? "update" : "signal",
                    update ? name + strlen(CSC_UPDATE_NAME) : name,
                    until(out, cause->at_ms));
}

/* ---- What has its time -------------------------------------------------- */

static void
explain_sleep(const csc_exec *exec, cascade_explanation *out)
{
    const char *name = exec->name + strlen(CSC_SLEEP_PREFIX);
    cascade_cause *cause = add(out, exec, CASCADE_REASON_SLEEPS);

    if (cause == NULL)
        return;
    cause->name = csc_arena_strdup(&out->arena, name);
    cause->at_ms = exec->not_before_ms;
    csc_explain_say(out, "%d %s sleeps%s", (int)exec->function_id, exec->name,
                    until(out, cause->at_ms));
}

static void
explain_delay(const csc_exec *exec, cascade_explanation *out)
{
    bool failed = exec->attempts > 0;
    const char *at = csc_explain_time(&out->arena, exec->not_before_ms);
    cascade_cause *cause = add(
        out, exec, failed ? CASCADE_REASON_BACKOFF : CASCADE_REASON_DELAYED);

    if (cause == NULL)
        return;
    cause->at_ms = exec->not_before_ms;
    if (!failed) {
        csc_explain_say(out, "%d %s is not to run before %s",
                        (int)exec->function_id, exec->name, at);
        return;
    }
    cause->count = exec->attempts;
    csc_explain_say(out, "%d %s failed in attempt %d, the next is due at %s",
                    (int)exec->function_id, exec->name, (int)exec->attempts,
                    at);
}

/* ---- All ---------------------------------------------------------------- */

/* Neither comes after others nor waits to be told. */
static void
explain_timed(const csc_facts *facts, const csc_exec *exec,
              cascade_explanation *out)
{
    int64_t due_ms = csc_due_queue_time(exec);

    if (is_over(facts, due_ms) ||
        (due_ms == CASCADE_TIME_NONE && exec->external == NULL &&
         exec->part != CSC_PART_AWAIT))
        explain_runs(facts, exec, out);
    else if (exec->external != NULL)
        explain_external(exec, out);
    else if (exec->part == CSC_PART_AWAIT)
        explain_await(exec, out);
    else if (exec->part == CSC_PART_SLEEP)
        explain_sleep(exec, out);
    else
        explain_delay(exec, out);
}

static void
explain(const csc_facts *facts, const csc_exec *exec, cascade_explanation *out)
{
    if (exec->part == CSC_PART_CANCEL)
        explain_cancel(facts, exec, out);
    else if (exec->part == CSC_PART_CHILD)
        explain_child(exec, out);
    else if (exec->join != NULL && exec->join->verdict == CSC_VERDICT_PENDING)
        explain_join(exec, out);
    else if (exec->blocked > 0)
        explain_blocked(facts, exec, out);
    else
        explain_timed(facts, exec, out);
}

void
csc_explain_execution_all(const csc_facts *facts, cascade_explanation *out)
{
    const csc_state *state = facts->state;

    for (size_t i = 0; i < state->exec_count && !out->arena.failed; i++) {
        const csc_exec *exec = state->execs[i].exec;

        if (exec != NULL && exec->status == CASCADE_EXECUTION_RUNNING)
            explain(facts, exec, out);
    }
}
