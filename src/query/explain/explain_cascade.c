/* SPDX-License-Identifier: MIT
 *
 * What holds for a cascade as a whole. Several things may: that its owner is
 * gone, and that no other engine is there to take it.
 *
 *   its seal is of    SEAL, and nobody takes it
 *   other rows
 *   it has ended      ENDED, and MESSAGES as long as some are not received
 *   a retry or a      RESETS
 *   rerun is made
 *   it has no run     NO_RUN
 *   an engine has it  OWNED, or OWNER_EXPIRED, OWNER_GONE: then it is free
 *                     soon; and SET_ASIDE where it has put it off (pace.c)
 *   nobody has it     LATER, or FREE where it is due and nothing is in the way,
 *                     or TURN where its queue has limits (explain_turn.c)
 *
 * In the way of who would take it are: PAUSED and QUEUE_PAUSED; NO_ENGINE;
 * UNKNOWN_NODE, which an owner has found out (it is recorded in the run), or
 * which is foreseen of what is due first.
 *
 * Who lives, what it serves, and which nodes it knows is what the engines say
 * about themselves. One that says nothing, of an earlier release, is taken to
 * serve nothing.
 */
#include "query/explain/explain.h"

#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/data/arena.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "state/state.h"
#include "store/store.h"

/* ---- Engines ------------------------------------------------------------ */

static bool
has_name(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static const cascade_engine_info *
find_owner(const csc_facts *facts)
{
    size_t count = cascade_engine_list_count(facts->engines);

    for (size_t i = 0; facts->info->owned && i < count; i++) {
        const cascade_engine_info *engine =
            cascade_engine_list_get(facts->engines, i);

        if (csc_uuid_equal(&engine->engine_id, &facts->info->engine_id))
            return engine;
    }
    return NULL;
}

bool
csc_explain_cascade_is_owned(const csc_facts *facts)
{
    const cascade_engine_info *owner = find_owner(facts);

    return owner != NULL && owner->lease_left_ms > 0;
}

/* Whether an engine that lives serves the queue, and knows `node` (NULL: any).
 */
static bool
is_served(const csc_facts *facts, const char *node)
{
    size_t count = cascade_engine_list_count(facts->engines);

    for (size_t i = 0; i < count; i++) {
        const cascade_engine_info *engine =
            cascade_engine_list_get(facts->engines, i);

        if (engine->lease_left_ms > 0 &&
            !csc_uuid_is_brief(&engine->engine_id) &&
            has_name(engine->queues, engine->queue_count, facts->info->queue) &&
            (node == NULL || has_name(engine->nodes, engine->node_count, node)))
            return true;
    }
    return false;
}

/* Of those that live, how many do not say what they serve. */
static size_t
count_silent(const csc_facts *facts)
{
    size_t count = cascade_engine_list_count(facts->engines);
    size_t silent = 0;

    for (size_t i = 0; i < count; i++) {
        const cascade_engine_info *engine =
            cascade_engine_list_get(facts->engines, i);

        silent += engine->lease_left_ms > 0 && engine->version[0] == '\0';
    }
    return silent;
}

/* ---- What is in the way ------------------------------------------------- */

static bool
is_due(const csc_facts *facts)
{
    return facts->info->wake_at_ms <= facts->now_ms;
}

/* The node that has to be known for `exec` to go on; NULL when any engine may
 * record what becomes of it. */
static const char *
node_of(const csc_facts *facts, const csc_exec *exec)
{
    if (csc_view_is_wait(exec))
        exec = csc_view_find(facts->state, exec->parent);
    if (exec == NULL || exec->part != CSC_PART_NONE || exec->external != NULL ||
        csc_join_verdict(exec) == CSC_VERDICT_SKIP)
        return NULL;
    return exec->name;
}

/* The node without which it does not go on: as its last owner said, else that
 * of what is due first. NULL when there is none to be known. */
static const char *
needed_node(const csc_facts *facts)
{
    const csc_state *state = facts->state;

    if (facts->info->needs[0] != '\0')
        return facts->info->needs;
    if (state->queue_count == 0 ||
        csc_due_queue_time(state->queue[0]) > facts->now_ms)
        return NULL;
    return node_of(facts, state->queue[0]);
}

bool
csc_explain_cascade_is_paused(const csc_facts *facts)
{
    return csc_view_is_paused(facts->state) ||
           facts->queue_paused_ms != CASCADE_TIME_NONE;
}

static void
explain_paused(const csc_facts *facts, cascade_explanation *out)
{
    const char *request = facts->pause_request;
    cascade_cause *cause = NULL;

    if (!csc_view_is_paused(facts->state))
        return;
    cause = csc_explain_add(out, CASCADE_REASON_PAUSED);
    if (cause == NULL)
        return;
    cause->function_id = facts->state->paused;
    if (request == NULL) {
        csc_explain_say(out,
                        "it is paused by execution %d, as the run before was: "
                        "resume it",
                        (int)cause->function_id);
        return;
    }
    cause->name = csc_arena_strdup(&out->arena, request);
    csc_explain_say(out, "it is paused by execution %d, request %s: resume it",
                    (int)cause->function_id, request);
}

static void
explain_paused_queue(const csc_facts *facts, cascade_explanation *out)
{
    cascade_cause *cause = NULL;

    if (facts->queue_paused_ms == CASCADE_TIME_NONE)
        return;
    cause = csc_explain_add(out, CASCADE_REASON_QUEUE_PAUSED);
    if (cause == NULL)
        return;
    cause->name = csc_arena_strdup(&out->arena, facts->info->queue);
    cause->at_ms = facts->queue_paused_ms;
    csc_explain_say(out, "queue %s is paused since %s: resume the queue",
                    facts->info->queue,
                    csc_explain_time(&out->arena, cause->at_ms));
}

static void
explain_unserved(const csc_facts *facts, cascade_explanation *out)
{
    const char *queue = facts->info->queue;
    size_t silent = count_silent(facts);
    cascade_cause *cause = csc_explain_add(out, CASCADE_REASON_NO_ENGINE);

    if (cause == NULL)
        return;
    cause->name = csc_arena_strdup(&out->arena, queue);
    if (silent == 0)
        csc_explain_say(
            out, "no live engine serves queue %s: start one that does", queue);
    else
        csc_explain_say(out,
                        "no live engine says that it serves queue %s (%zu say "
                        "nothing of what they serve): start one that does",
                        queue, silent);
}

/* `node` is what it needs. */
static void
explain_unknown(const csc_facts *facts, const char *node,
                cascade_explanation *out)
{
    cascade_cause *cause = csc_explain_add(out, CASCADE_REASON_UNKNOWN_NODE);

    if (cause == NULL)
        return;
    cause->name = csc_arena_strdup(&out->arena, node);
    if (strcmp(node, CSC_NOBODY_NAME) == 0)
        csc_explain_say(out, "a node of it has a name that none can be "
                             "registered under (1 to 128 bytes of UTF-8): "
                             "terminate it, or rename the node in its row");
    else
        csc_explain_say(
            out,
            "no live engine of queue %s knows node %s: start one that does%s",
            facts->info->queue, node,
            csc_check_name("node name", node) == CASCADE_OK
                ? ""
                : " (it is registered with `foreign` set)");
}

/* Whether something keeps engines from taking it; says what. */
static bool
explain_obstacles(const csc_facts *facts, cascade_explanation *out)
{
    const char *node = needed_node(facts);
    bool served = is_served(facts, NULL);
    bool known = node == NULL || is_served(facts, node);

    if (!served)
        explain_unserved(facts, out);
    if (!known && (served || facts->info->needs[0] != '\0'))
        explain_unknown(facts, node, out);
    return !served || !known;
}

/* ---- Who has it --------------------------------------------------------- */

static void
explain_owner(const csc_facts *facts, const cascade_engine_info *owner,
              cascade_explanation *out)
{
    bool lives = owner->lease_left_ms > 0;
    char id[CASCADE_UUID_TEXT_SIZE];
    const char *until = NULL;
    cascade_cause *cause = csc_explain_add(
        out, lives ? CASCADE_REASON_OWNED : CASCADE_REASON_OWNER_EXPIRED);

    if (cause == NULL)
        return;
    cause->id = owner->engine_id;
    cause->at_ms = csc_clock_add(facts->now_ms, owner->lease_left_ms);
    cascade_uuid_format(&owner->engine_id, id);
    until = csc_explain_time(&out->arena, cause->at_ms);
    if (lives)
        csc_explain_say(out,
                        "engine %s (pid %lld) has it, with a lease until %s",
                        id, (long long)owner->pid, until);
    else
        csc_explain_say(out,
                        "engine %s (pid %lld) has it, but its lease ended at "
                        "%s: the next engine that looks removes it",
                        id, (long long)owner->pid, until);
}

static void
explain_gone(const csc_facts *facts, cascade_explanation *out)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    cascade_cause *cause = csc_explain_add(out, CASCADE_REASON_OWNER_GONE);

    if (cause == NULL)
        return;
    cause->id = facts->info->engine_id;
    csc_explain_say(out,
                    "engine %s had it, and is gone: the next engine that looks "
                    "sets it free",
                    cascade_uuid_format(&cause->id, id));
}

static void
explain_later(const csc_facts *facts, cascade_explanation *out)
{
    cascade_cause *cause = csc_explain_add(out, CASCADE_REASON_LATER);

    if (cause == NULL)
        return;
    if (csc_due_queue_wake_at(facts->state) == CASCADE_TIME_NONE) {
        csc_explain_say(out, "nothing of it is due at any time: it waits to be "
                             "told of something");
        return;
    }
    cause->at_ms = facts->info->wake_at_ms;
    csc_explain_say(out, "nothing of it is due before %s",
                    csc_explain_time(&out->arena, cause->at_ms));
}

static void
explain_free(const csc_facts *facts, cascade_explanation *out)
{
    cascade_cause *cause = csc_explain_add(out, CASCADE_REASON_FREE);

    if (cause == NULL)
        return;
    cause->at_ms = facts->info->wake_at_ms;
    csc_explain_say(out, "it is due since %s: an engine of queue %s takes it",
                    csc_explain_time(&out->arena, cause->at_ms),
                    facts->info->queue);
}

/* It is nobody's, or its owner is no more. The time of what is paused is when
 * it is to be looked at, which says nothing of what is due. */
static void
explain_taking(const csc_facts *facts, cascade_explanation *out)
{
    bool obstacles = explain_obstacles(facts, out);

    if (facts->info->owned || csc_view_is_paused(facts->state) ||
        facts->seal.broken)
        return;
    if (!is_due(facts))
        explain_later(facts, out);
    else if (obstacles || csc_explain_cascade_is_paused(facts))
        return;
    else if (facts->info->turn || facts->turn.kept)
        csc_explain_turn(facts, out);
    else
        explain_free(facts, out);
}

static void
explain_suspect(const csc_facts *facts, cascade_explanation *out)
{
    int32_t takeovers = facts->info->takeovers;
    int32_t trials = facts->info->trials;
    cascade_cause *cause = NULL;

    if (takeovers < CSC_SUSPECT_FROM)
        return;
    cause = csc_explain_add(out, CASCADE_REASON_SUSPECT);
    if (cause == NULL)
        return;
    if (facts->info->owned && trials > 0)
        trials--; /* that one is not over */
    cause->count = takeovers;
    csc_explain_say(out,
                    "%d engines in a row have died with it, %d of them while "
                    "it ran alone: so it is run, and what runs then fails in "
                    "the end; look what the node does to its process",
                    (int)takeovers, (int)trials);
}

static void
explain_aside(const csc_facts *facts, cascade_explanation *out)
{
    cascade_cause *cause = NULL;

    if (facts->aside.tries == 0)
        return;
    cause = csc_explain_add(out, CASCADE_REASON_SET_ASIDE);
    if (cause == NULL)
        return;
    cause->count = facts->aside.tries;
    cause->at_ms = csc_clock_add(facts->now_ms, facts->aside.left_ms);
    csc_explain_say(out,
                    "it is set aside: %d commits of it were not done within "
                    "the store's deadline of %lld ms; it is loaded anew at %s: "
                    "record less at once, or raise deadline_ms",
                    (int)cause->count, (long long)facts->deadline_ms,
                    csc_explain_time(&out->arena, cause->at_ms));
}

/* ---- The whole ---------------------------------------------------------- */

static void
explain_end(const csc_facts *facts, cascade_explanation *out)
{
    bool failed = facts->state->recorded == CASCADE_ERROR;
    const cascade_uuid *next = &facts->state->continued_as;
    char id[CASCADE_UUID_TEXT_SIZE];
    const char *at = NULL;
    cascade_cause *cause = csc_explain_add(out, CASCADE_REASON_ENDED);

    if (cause == NULL)
        return;
    cause->name = failed ? "ERROR" : "COMPLETED";
    cause->at_ms = facts->state->updated_at_ms;
    at = csc_explain_time(&out->arena, cause->at_ms);
    if (failed) {
        csc_explain_say(out,
                        "it has ended as ERROR at %s: look at its error, and "
                        "retry it",
                        at);
    } else if (!csc_uuid_is_nil(next)) {
        cause->id = *next;
        csc_explain_say(out, "it has continued as cascade %s at %s",
                        cascade_uuid_format(next, id), at);
    } else {
        csc_explain_say(out, "it has ended as COMPLETED at %s", at);
    }
}

/* Nothing but the rows that it prepares comes behind its receipt. */
static void
explain_reset(const csc_facts *facts, cascade_explanation *out)
{
    const csc_state *state = facts->state;
    int32_t receipt = csc_view_unfinished(state);
    bool retry = csc_supersede_from(&state->course, receipt) == CSC_COURSE_NONE;
    cascade_cause *cause = NULL;

    if (receipt == CSC_COURSE_NONE)
        return;
    cause = csc_explain_add(out, CASCADE_REASON_RESETS);
    if (cause == NULL)
        return;
    cause->function_id = receipt;
    cause->name = retry ? CSC_RETRY_NAME : CSC_RERUN_NAME;
    cause->count = (int64_t)state->fn_id - receipt;
    csc_explain_say(out,
                    "a %s of it (execution %d) is carried out in several "
                    "commits: %lld rows are prepared, and run once all are",
                    retry ? "retry" : "rerun", (int)receipt,
                    (long long)cause->count);
}

static void
explain_messages(const csc_facts *facts, cascade_explanation *out)
{
    cascade_cause *cause = NULL;

    if (facts->message_count == 0)
        return;
    cause = csc_explain_add(out, CASCADE_REASON_MESSAGES);
    if (cause == NULL)
        return;
    cause->count = (int64_t)facts->message_count;
    cause->name = csc_arena_strdup(&out->arena, facts->message);
    cause->at_ms = facts->message_at_ms;
    if (facts->message_count == 1) {
        csc_explain_say(out,
                        "a message for it (%s) waits to be received since "
                        "%s",
                        facts->message,
                        csc_explain_time(&out->arena, cause->at_ms));
        return;
    }
    csc_explain_say(out,
                    "%zu%s messages for it wait to be received, the first one "
                    "(%s) since %s",
                    facts->message_count,
                    facts->more_messages ? " or more" : "", facts->message,
                    csc_explain_time(&out->arena, cause->at_ms));
}

static void
explain_stray(cascade_explanation *out)
{
    if (csc_explain_add(out, CASCADE_REASON_NO_RUN) != NULL)
        csc_explain_say(out, "it has no run, so no engine finds it: adopt it");
}

static void
explain_run(const csc_facts *facts, cascade_explanation *out)
{
    const cascade_engine_info *owner = find_owner(facts);

    if (owner != NULL)
        explain_owner(facts, owner, out);
    else if (facts->info->owned)
        explain_gone(facts, out);
    explain_aside(facts, out);
    explain_paused(facts, out);
    explain_paused_queue(facts, out);
    if (!csc_explain_cascade_is_owned(facts))
        explain_taking(facts, out);
    explain_suspect(facts, out);
}

void
csc_explain_cascade(const csc_facts *facts, cascade_explanation *out)
{
    csc_explain_seal(&facts->seal, out);
    if (facts->state->recorded != CASCADE_RUNNING)
        explain_end(facts, out);
    else if (!facts->info->has_run)
        explain_stray(out);
    else
        explain_run(facts, out);
    explain_reset(facts, out);
    explain_messages(facts, out);
}
