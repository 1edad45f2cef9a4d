/* SPDX-License-Identifier: MIT
 *
 * Awaits, the signals they take, and a cancellation, in the rows of one
 * cascade. See oracle.h.
 *
 * Signals of a name are taken in the order of their function_ids, and of
 * several awaits that wait for it the first takes. `at` of an await is the
 * fn_id before the commit in which it took: so a signal below one that was
 * taken must have been taken in that commit or before, and an await before one
 * that has taken must have ended by then.
 */
#include <inttypes.h>
#include <string.h>

#include "state/supersede.h"
#include "support/oracle_internal.h"

#define AWAIT_PREFIX "cascade.await:"
#define SIGNAL_PREFIX "cascade.signal:"
#define UNKNOWN_PREFIX "cascade.message:"

static void
fail_fact(const oracle_view *v, const oracle_fact *fact, const char *guarantee,
          const char *what)
{
    oracle_fail(v->o, guarantee, &v->c->id, fact->row->function_id, "%s (%s)",
                what, fact->row->node_name);
}

static const char *
awaited(const oracle_fact *fact)
{
    return fact->row->node_name + strlen(AWAIT_PREFIX);
}

/* Whether `signal` is one that `await` waits for. */
static bool
is_for(const oracle_fact *signal, const oracle_fact *await)
{
    return signal->signal &&
           strcmp(signal->row->node_name + strlen(SIGNAL_PREFIX),
                  awaited(await)) == 0;
}

/* Who took a signal by fn_id `at`; NULL: nobody. */
static const oracle_fact *
taker_of(const oracle_view *v, const oracle_fact *signal, int64_t at)
{
    for (size_t i = 0; i < v->count; i++) {
        const oracle_fact *fact = &v->facts[i];

        if (fact->await && fact->took == signal->row->function_id &&
            fact->at <= at)
            return fact;
    }
    return NULL;
}

/* ---- Awaits ------------------------------------------------------------- */

/* It took the lowest that was unread, and nobody else has it. */
static void
check_taken(const oracle_view *v, const oracle_fact *await)
{
    const oracle_fact *took = oracle_fact_find(v, await->took);

    if (took == NULL || !is_for(took, await)) {
        fail_fact(v, await, "G9", "took what is no signal of its name");
        return;
    }
    if (taker_of(v, took, INT64_MAX) != await)
        fail_fact(v, await, "G9", "took a signal that another has taken");
    for (int64_t i = 0; i < await->took; i++)
        if (is_for(&v->facts[i], await) &&
            taker_of(v, &v->facts[i], await->at) == NULL)
            fail_fact(v, await, "G9", "passed over a signal that came before");
    for (int32_t i = 0; i < await->row->function_id; i++) {
        const oracle_fact *other = &v->facts[i];

        if (other->await && strcmp(awaited(other), awaited(await)) == 0 &&
            (!oracle_fact_ended(other) || other->at > await->at))
            fail_fact(v, await, "G9", "took before one that waited longer");
    }
}

/* No signal of its name was unread by fn_id `at`. */
static void
check_none(const oracle_view *v, const oracle_fact *await, int64_t at)
{
    for (size_t i = 0; i < v->count; i++)
        if ((int64_t)i <= at && is_for(&v->facts[i], await) &&
            taker_of(v, &v->facts[i], at) == NULL)
            fail_fact(v, await, "G9",
                      oracle_fact_ended(await)
                          ? "timed out though a signal was there"
                          : "waits though a signal is there");
}

static void
check_await(const oracle_view *v, const oracle_fact *await)
{
    bool took = await->took != ORACLE_NO_ID;

    switch (await->row->status) {
    case CASCADE_EXECUTION_COMPLETED:
        if (took == await->timed_out)
            fail_fact(v, await, "G9", "ended without a signal or a time");
        else if (took)
            check_taken(v, await);
        else
            check_none(v, await, await->at);
        break;
    case CASCADE_EXECUTION_RUNNING:
        check_none(v, await, INT64_MAX);
        break;
    case CASCADE_EXECUTION_FAILED:
        if (took)
            fail_fact(v, await, "G9", "took a signal, and failed");
        break;
    }
}

/* ---- Receipts ----------------------------------------------------------- */

/* Of a cascade that runs, too: what nobody knows, and what comes at the wrong
 * moment. */
static bool
may_be_refused(const cascade_execution_row *receipt)
{
    return strncmp(receipt->node_name, UNKNOWN_PREFIX,
                   strlen(UNKNOWN_PREFIX)) == 0 ||
           csc_supersede_is_receipt(receipt);
}

static void
check_receipt(const oracle_view *v, const oracle_fact *fact)
{
    if (fact->undelivered && !may_be_refused(fact->row) &&
        v->rows.cascade.status == CASCADE_RUNNING)
        fail_fact(v, fact, "G9", "is undelivered though the cascade runs");
    if (fact->undelivered &&
        strncmp(fact->row->error != NULL ? fact->row->error : "", "undelivered",
                11) != 0)
        fail_fact(v, fact, "G14", "does not say that it is undelivered");
    if (!oracle_fact_ended(fact) && !fact->cancel)
        fail_fact(v, fact, "G9", "is a receipt, and runs");
}

/* ---- Cancellation ------------------------------------------------------- */

/* Of what was there when it came: what waits, is due later or comes after
 * others has failed with it. What it met in between attempts goes on only when
 * it had parts. */
static bool
had_not_begun(const oracle_view *v, const oracle_fact *cancel,
              const oracle_fact *fact)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->facts[i].part && v->facts[i].parent == fact->row->function_id)
            return false;
    return (fact->not_before_ms != CASCADE_TIME_NONE &&
            fact->not_before_ms >
                cancel->row->started_at_ms + v->o->slack_ms) ||
           oracle_judge(&v->rows, fact->row) == ORACLE_WAIT;
}

/* A child may be born with the very cancellation: it is cancelled as well. */
static void
check_cancelled(const oracle_view *v, const oracle_fact *cancel,
                const oracle_fact *fact)
{
    bool later = fact->row->function_id > cancel->row->function_id;
    bool node = !fact->part && !fact->receipt && !fact->carried;

    if (oracle_fact_ended(fact)) {
        if (later && node && !fact->cancelled)
            fail_fact(v, fact, "G3", "began after the cascade was cancelled");
        return;
    }
    if (!later && cancel->from != ORACLE_NO_ID &&
        fact->row->function_id >= cancel->from)
        return; /* its slice is to come */
    if ((later && !fact->child) || fact->wait ||
        (node && had_not_begun(v, cancel, fact)))
        fail_fact(v, fact, "G3", "is to begin though the cascade is cancelled");
}

/* It lasts until all else has ended, and not longer. */
static void
check_cancel(const oracle_view *v, const oracle_fact *cancel)
{
    bool ended = oracle_fact_ended(cancel);
    bool last = true;

    for (size_t i = 0; i < v->count; i++) {
        const oracle_fact *fact = &v->facts[i];

        if (fact == cancel)
            continue;
        if (fact->cancel)
            fail_fact(v, fact, "G3", "cancels what is cancelled");
        last = last && oracle_fact_ended(fact) &&
               (!ended || fact->undelivered || fact->at <= cancel->at);
        if (v->rows.cascade.status == CASCADE_RUNNING)
            check_cancelled(v, cancel, fact);
    }
    if (ended && !last)
        fail_fact(v, cancel, "G3", "ended before all else had");
    if (!ended && last)
        fail_fact(v, cancel, "G2", "lasts though all else has ended");
}

void
oracle_check_waits(const oracle_view *v)
{
    for (size_t i = 0; i < v->count; i++) {
        const oracle_fact *fact = &v->facts[i];

        if (fact->await)
            check_await(v, fact);
        if (fact->receipt)
            check_receipt(v, fact);
        if (fact->cancel)
            check_cancel(v, fact);
    }
}
