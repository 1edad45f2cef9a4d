/* SPDX-License-Identifier: MIT
 *
 * Explanations: reads what is known of a cascade, and lets explain_cascade.c
 * and explain_execution.c say what follows from it. Only reads.
 *
 *   the row and its run     as cascade_get() reads them
 *   executions, messages    one load; the executions are applied to a state as
 *                           an engine applies them that takes the cascade over
 *                           (hydrate.c), so what waits for what is said by the
 *                           very rules by which it is run
 *   engines, the queue      what is in the way of taking it
 *   the seal                all rows, in a store with integrity
 *   slots                   of its queue, if that has limits
 *   engines of this handle  whether one of them has set it aside: that is in no
 *                           row
 *
 * These are several looks, one after the other. What changes between two of
 * them may make an explanation contradict itself; the next one does not.
 * Whether its queue is paused the store tells with the list of all queues,
 * which is to read a row for each cascade that has not ended. So it is asked
 * only for one that has a run.
 */
#include "query/explain/explain.h"

#include <stdio.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/op.h"
#include "query/engines.h"
#include "query/execution_info.h"
#include "query/link.h"
#include "state/state.h"
#include "store/move.h"
#include "store/store.h"

/* ---- Reading ------------------------------------------------------------ */

/* All that is read for one explanation. */
typedef struct reading {
    cascade_info *info;
    csc_state state;
    cascade_engine_list *engines;
    csc_facts facts;
    char *pause_request;
    char message[CASCADE_MESSAGE_KIND_MAX + 1];
} reading;

static cascade_err
note_cascade(void *context, const cascade_row *row)
{
    reading *r = context;

    return csc_state_apply_cascade(&r->state, row);
}

/* By its path, which is that of a message (signal.h), unless the run was born
 * paused. */
static cascade_err
note_pause(reading *r, const cascade_execution_row *row)
{
    static const char begin[] = "/message/" CSC_MESSAGE_PAUSE "/";
    const char *at = strstr(row->node_instance_id, begin);

    csc_mem_free(r->pause_request);
    r->pause_request = NULL;
    if (at == NULL)
        return CASCADE_OK;
    r->pause_request = csc_mem_strdup(at + strlen(begin));
    return r->pause_request != NULL ? CASCADE_OK : csc_fail_memory();
}

static cascade_err
note_execution(void *context, const cascade_execution_row *row)
{
    reading *r = context;
    cascade_err err = csc_state_apply_execution(&r->state, row);

    return err == CASCADE_OK && r->state.paused == row->function_id
               ? note_pause(r, row)
               : err;
}

static cascade_err
note_message(void *context, const cascade_message_row *row, bool repeated)
{
    reading *r = context;

    (void)repeated;
    if (r->facts.message_count++ > 0)
        return CASCADE_OK;
    (void)snprintf(r->message, sizeof(r->message), "%s", row->kind);
    r->facts.message = r->message;
    r->facts.message_at_ms = row->sent_at_ms;
    return CASCADE_OK;
}

static cascade_err
note_queue(void *context, const cascade_queue_row *row)
{
    reading *r = context;

    if (row->paused && strcmp(row->queue, r->info->queue) == 0)
        r->facts.queue_paused_ms = row->paused_at_ms;
    return CASCADE_OK;
}

/* Until the state knows what retries and reruns have superseded
 * (supersede.h). */
static cascade_err
load(cascade_store *store, const cascade_uuid *id, reading *r)
{
    cascade_load_sink sink = {.context = r,
                              .on_cascade = note_cascade,
                              .on_execution = note_execution,
                              .on_message = note_message};
    bool again = true;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && again) {
        r->facts.message_count = 0;
        err = csc_move_load(store, id, 1,
                            CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_MESSAGES,
                            &sink);
        if (err == CASCADE_OK)
            err = csc_state_begin_again(&r->state, &again);
    }
    return err;
}

/* The cascade with all of its own. */
static cascade_err
read_cascade(cascade_store *store, const cascade_uuid *id, reading *r)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = csc_get_read(store, id, &r->info);

    if (err == CASCADE_OK)
        err = load(store, id, r);
    if (err == CASCADE_OK && r->state.user_id == NULL)
        err = csc_fail(CASCADE_ERR_NOT_FOUND, "there is no cascade %s any more",
                       cascade_uuid_format(id, text));
    if (err != CASCADE_OK)
        return err;
    csc_state_settle(&r->state);
    r->facts.more_messages =
        r->facts.message_count >= CASCADE_LOAD_MESSAGES_MAX;
    return CASCADE_OK;
}

static cascade_err
read_all(cascade_store *store, const cascade_uuid *id, reading *r)
{
    cascade_err err = read_cascade(store, id, r);

    if (err == CASCADE_OK && r->info->has_run && store->driver->manage != NULL)
        err = csc_move_queues(store, note_queue, r);
    if (err == CASCADE_OK)
        err = csc_engines_read(store, true, &r->engines);
    if (err == CASCADE_OK)
        err = csc_move_now(store, &r->facts.now_ms);
    if (err == CASCADE_OK)
        err = csc_explain_seal_read(store, id, &r->facts.seal);
    if (err == CASCADE_OK)
        err = csc_explain_turn_read(store, r->info, &r->facts.turn);
    r->facts.aside = csc_store_find_aside(store, id);
    r->facts.deadline_ms = store->config.deadline_ms;
    r->facts.pause_request = r->pause_request;
    r->facts.info = r->info;
    r->facts.state = &r->state;
    r->facts.engines = r->engines;
    return err;
}

/* ---- Public ------------------------------------------------------------- */

static cascade_err
explain(cascade_store *store, const cascade_uuid *id,
        cascade_explanation *explanation)
{
    reading r = {.facts = {.queue_paused_ms = CASCADE_TIME_NONE}};
    cascade_err err = CASCADE_OK;

    csc_state_init(&r.state, id);
    err = read_all(store, id, &r);
    if (err == CASCADE_ERR_NOT_FOUND)
        err = csc_link_fail_absent(store, id);
    if (err == CASCADE_OK) {
        csc_explain_cascade(&r.facts, explanation);
        if (r.state.recorded == CASCADE_RUNNING)
            csc_explain_execution_all(&r.facts, explanation);
        if (explanation->arena.failed)
            err = csc_fail_memory();
    }
    cascade_engine_list_free(r.engines);
    cascade_info_free(r.info);
    csc_mem_free(r.pause_request);
    csc_state_fini(&r.state);
    return err;
}

cascade_err
cascade_explain(cascade_store *store, const cascade_uuid *id,
                cascade_explanation **explanation)
{
    cascade_explanation *made = NULL;
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || id == NULL || explanation == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "explain: an argument is NULL");
    made = csc_mem_zalloc(1, sizeof(*made));
    if (made == NULL)
        return csc_fail_memory();
    err = explain(store, id, made);
    if (err != CASCADE_OK) {
        cascade_explanation_free(made);
        return err;
    }
    *explanation = made;
    return csc_ok();
}

size_t
cascade_explanation_count(const cascade_explanation *explanation)
{
    return explanation->count;
}

const cascade_cause *
cascade_explanation_get(const cascade_explanation *explanation, size_t index)
{
    return index < explanation->count ? &explanation->causes[index] : NULL;
}

void
cascade_explanation_free(cascade_explanation *explanation)
{
    if (explanation == NULL)
        return;
    csc_mem_free(explanation->causes);
    csc_arena_fini(&explanation->arena);
    csc_mem_free(explanation);
}

const char *
cascade_reason_name(cascade_reason reason)
{
    static const char *const names[] = {
        [CASCADE_REASON_ENDED] = "ENDED",
        [CASCADE_REASON_OWNED] = "OWNED",
        [CASCADE_REASON_OWNER_EXPIRED] = "OWNER_EXPIRED",
        [CASCADE_REASON_OWNER_GONE] = "OWNER_GONE",
        [CASCADE_REASON_FREE] = "FREE",
        [CASCADE_REASON_LATER] = "LATER",
        [CASCADE_REASON_MESSAGES] = "MESSAGES",
        [CASCADE_REASON_UNKNOWN_NODE] = "UNKNOWN_NODE",
        [CASCADE_REASON_NO_ENGINE] = "NO_ENGINE",
        [CASCADE_REASON_PAUSED] = "PAUSED",
        [CASCADE_REASON_QUEUE_PAUSED] = "QUEUE_PAUSED",
        [CASCADE_REASON_SUSPECT] = "SUSPECT",
        [CASCADE_REASON_NO_RUN] = "NO_RUN",
        [CASCADE_REASON_SET_ASIDE] = "SET_ASIDE",
        [CASCADE_REASON_SEAL] = "SEAL",
        [CASCADE_REASON_RESETS] = "RESETS",
        [CASCADE_REASON_TURN] = "TURN",
        [CASCADE_REASON_RUNS] = "RUNS",
        [CASCADE_REASON_BACKOFF] = "BACKOFF",
        [CASCADE_REASON_DELAYED] = "DELAYED",
        [CASCADE_REASON_SLEEPS] = "SLEEPS",
        [CASCADE_REASON_SIGNAL] = "SIGNAL",
        [CASCADE_REASON_JOIN] = "JOIN",
        [CASCADE_REASON_CHILDREN] = "CHILDREN",
        [CASCADE_REASON_CHILD] = "CHILD",
        [CASCADE_REASON_EXTERNAL] = "EXTERNAL",
        [CASCADE_REASON_WAITS] = "WAITS",
        [CASCADE_REASON_CANCEL] = "CANCEL",
    };
    size_t count = sizeof(names) / sizeof(names[0]);

    if ((size_t)reason >= count || names[reason] == NULL)
        return "UNKNOWN";
    return names[reason];
}
