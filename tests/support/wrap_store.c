/* SPDX-License-Identifier: MIT
 *
 * The wrapping driver; see wrap_store.h. Every move is one function: announce
 * it, forward it, report the answer. Those of sub-tables are in wrap_tables.c.
 */
#include "support/wrap_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "support/wrap_internal.h"

#define MIGRATE_TRIES 100

static wrap_fault
take_fault(wrap_store *wrap, wrap_move move)
{
    wrap_rule *rule = &wrap->rules[move];
    wrap_fault found = {0};

    pthread_mutex_lock(&wrap->mutex);
    if (rule->skip > 0 && rule->times > 0) {
        rule->skip--;
    } else if (rule->times > 0) {
        rule->times--;
        found = (wrap_fault){true, rule->when, rule->err};
    }
    pthread_mutex_unlock(&wrap->mutex);
    if (found.hit)
        atomic_fetch_add(&wrap->faults, 1);
    return found;
}

static cascade_err
tell(cascade_err err)
{
    return cascade_store_fail(err, "a fault of the test");
}

static cascade_err
report(wrap_store *wrap, const wrap_call *call, cascade_err err)
{
    if (wrap->answered != NULL)
        wrap->answered(wrap->context, call, err);
    return err;
}

/* What is done before a move: an error is its answer. */
cascade_err
wrap_enter(wrap_handle *h, wrap_call *call, wrap_fault *found)
{
    wrap_store *wrap = h->wrap;
    cascade_err err = CASCADE_OK;

    call->number = atomic_fetch_add(&wrap->counts[call->move], 1) + 1;
    call->self = h->self;
    if (h->config.sealed != h->outer->sealed) /* a test has said so since */
        h->config.sealed = h->outer->sealed;
    *found = (wrap_fault){0};
    if (wrap->before != NULL)
        err = wrap->before(wrap->context, call);
    if (err == CASCADE_OK)
        *found = take_fault(wrap, call->move);
    if (found->hit && found->when == WRAP_BEFORE)
        err = found->err;
    return err == CASCADE_OK ? err : report(wrap, call, tell(err));
}

/* What is done after it. */
cascade_err
wrap_leave(wrap_handle *h, const wrap_call *call, const wrap_fault *found,
           cascade_err answer)
{
    wrap_store *wrap = h->wrap;
    cascade_err err = answer;

    if (wrap->after != NULL)
        err = wrap->after(wrap->context, call, answer);
    if (err == CASCADE_OK && found->hit && found->when == WRAP_AFTER)
        err = found->err;
    return report(wrap, call, err == answer ? answer : tell(err));
}

/* ---- The moves ---------------------------------------------------------- */

/* Opens the real store; one that the test says is not open is closed again. */
static cascade_err
open_inner(wrap_handle *h)
{
    wrap_call call = {.move = WRAP_OPEN};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);
    cascade_err told = err;

    if (err != CASCADE_OK)
        return err;
    err = h->inner->open(h->wrap->inner_url, &h->config, &h->self);
    call.self = h->self;
    told = wrap_leave(h, &call, &found, err);
    if (err == CASCADE_OK && told != CASCADE_OK)
        h->inner->close(h->self);
    return told;
}

static cascade_err
wrap_open(const char *url, const cascade_store_config *config, void **self)
{
    void *pointer = NULL;
    wrap_handle *h = calloc(1, sizeof(*h));
    cascade_err err = CASCADE_OK;

    if (h == NULL || sscanf(url, "wrap:%p", &pointer) != 1) {
        free(h);
        return tell(CASCADE_ERR_INVALID);
    }
    h->wrap = pointer;
    h->inner = h->wrap->inner;
    h->config = *config;
    h->outer = config;
    if (h->wrap->inner_deadline_ms != 0)
        h->config.deadline_ms = h->wrap->inner_deadline_ms;
    err = open_inner(h);
    if (err != CASCADE_OK) {
        free(h);
        return err;
    }
    *self = h;
    return CASCADE_OK;
}

/* A deadline that is short on purpose may be too short for all of that on a
 * machine that is busy; what was done stays. */
static cascade_err
migrate_inner(const wrap_handle *h, cascade_migrate mode)
{
    cascade_err err = h->inner->migrate(h->self, mode);

    for (int i = 0; i < MIGRATE_TRIES && err == CASCADE_ERR_UNAVAILABLE &&
                    h->wrap->inner_deadline_ms != 0;
         i++)
        err = h->inner->migrate(h->self, mode);
    return err;
}

static cascade_err
wrap_migrate(void *self, cascade_migrate mode)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_MIGRATE};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found, migrate_inner(h, mode));
}

static cascade_err
wrap_now(void *self, int64_t *now_ms)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_NOW};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found, h->inner->now(h->self, now_ms));
}

static cascade_err
wrap_attach(void *self, const cascade_incarnation *incarnation)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_ATTACH,
                      .engine_id = &incarnation->engine_id};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found, h->inner->attach(h->self, incarnation));
}

static cascade_err
wrap_renew(void *self, const cascade_uuid *engine_id, int64_t lease_ms,
           int64_t *now_ms)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_RENEW};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->renew(h->self, engine_id, lease_ms, now_ms));
}

static cascade_err
wrap_detach(void *self, const cascade_uuid *engine_id)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_DETACH};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found, h->inner->detach(h->self, engine_id));
}

static cascade_err
wrap_engines(void *self, cascade_engine_sink sink, void *context, bool *orphans)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_ENGINES};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->engines(h->self, sink, context, orphans));
}

static cascade_err
wrap_remove(void *self, const cascade_uuid *dead, size_t dead_count,
            size_t limit, size_t *freed)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_REMOVE};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    err = h->inner->remove(h->self, dead, dead_count, limit, freed);
    call.freed = freed;
    return wrap_leave(h, &call, &found, err);
}

static cascade_err
wrap_claim(void *self, const cascade_claim *claim, cascade_claimed *claimed,
           cascade_claim_result *result)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_CLAIM};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    err = h->inner->claim(h->self, claim, claimed, result);
    call.claimed = result;
    call.claims = claimed;
    return wrap_leave(h, &call, &found, err);
}

/* A load or a scan whose rows are counted. */
typedef struct loading {
    wrap_store *wrap;
    const wrap_call *call;
    const cascade_load_sink *sink;
} loading;

static cascade_err
see_row(wrap_store *wrap, const wrap_call *call, size_t bytes)
{
    return wrap->row != NULL ? wrap->row(wrap->context, call, bytes)
                             : CASCADE_OK;
}

static cascade_err
give_cascade(void *context, const cascade_row *row)
{
    const loading *l = context;

    return l->sink->on_cascade(l->sink->context, row);
}

static cascade_err
give_execution(void *context, const cascade_execution_row *row)
{
    const loading *l = context;
    cascade_err err = see_row(l->wrap, l->call, csc_store_execution_bytes(row));

    atomic_fetch_add(&l->wrap->rows, 1);
    return err != CASCADE_OK ? tell(err)
                             : l->sink->on_execution(l->sink->context, row);
}

static cascade_err
give_event(void *context, const cascade_event_row *row)
{
    const loading *l = context;
    cascade_err err = see_row(l->wrap, l->call, csc_store_event_bytes(row));

    atomic_fetch_add(&l->wrap->rows, 1);
    return err != CASCADE_OK ? tell(err)
                             : l->sink->on_event(l->sink->context, row);
}

static cascade_err
give_message(void *context, const cascade_message_row *row, bool repeated)
{
    const loading *l = context;
    cascade_err err = see_row(l->wrap, l->call, csc_store_message_bytes(row));

    return err != CASCADE_OK
               ? tell(err)
               : l->sink->on_message(l->sink->context, row, repeated);
}

static cascade_err
give_seal(void *context, const cascade_seal_row *row)
{
    const loading *l = context;

    return l->sink->on_seal(l->sink->context, row);
}

static cascade_err
wrap_load(void *self, const cascade_uuid *ids, size_t count, unsigned parts,
          const cascade_load_sink *sink)
{
    wrap_handle *h = self;
    wrap_call call = {
        .move = WRAP_LOAD, .ids = ids, .id_count = count, .parts = parts};
    loading l = {h->wrap, &call, sink};
    const cascade_load_sink counted = {.context = &l,
                                       .on_cascade = give_cascade,
                                       .on_execution = give_execution,
                                       .on_event = give_event,
                                       .on_message = give_message,
                                       .on_seal = give_seal};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->load(h->self, ids, count, parts, &counted));
}

static cascade_err
wrap_commit(void *self, const cascade_batch *batch, bool *existed)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_COMMIT, .batch = batch};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    err = h->inner->commit(h->self, batch, existed);
    call.existed = existed;
    return wrap_leave(h, &call, &found, err);
}

static cascade_err
wrap_submit(void *self, const cascade_submission *submission)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_SUBMIT,
                      .starts = submission->starts,
                      .start_count = submission->start_count,
                      .submission = submission};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    err = h->inner->submit(h->self, submission);
    call.existed = submission->existed;
    return wrap_leave(h, &call, &found, err);
}

/* A look for messages, which are counted. */
typedef struct receiving {
    wrap_store *wrap;
    const wrap_call *call;
    cascade_message_sink sink;
    void *context;
} receiving;

static cascade_err
give_received(void *context, const cascade_message_row *row, bool repeated)
{
    const receiving *r = context;
    cascade_err err = see_row(r->wrap, r->call, csc_store_message_bytes(row));

    return err != CASCADE_OK ? tell(err) : r->sink(r->context, row, repeated);
}

static cascade_err
wrap_receive(void *self, const cascade_receive *receive,
             cascade_message_sink sink, void *context)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_RECEIVE};
    receiving r = {h->wrap, &call, sink, context};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->receive(h->self, receive, give_received, &r));
}

static cascade_err
wrap_scan(void *self, const cascade_scan *scan, const cascade_load_sink *sink)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_SCAN, .scan = scan};
    loading l = {h->wrap, &call, sink};
    const cascade_load_sink counted = {
        .context = &l, .on_execution = give_execution, .on_event = give_event};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->scan(h->self, scan, &counted));
}

/* A list that leaves out. */
typedef struct listing {
    const wrap_store *wrap;
    cascade_list_sink sink;
    void *context;
} listing;

static cascade_err
list_some(void *context, const cascade_row *row, const cascade_run_row *run)
{
    const listing *l = context;

    if (l->wrap->listed != NULL && !l->wrap->listed(l->wrap->context, &row->id))
        return CASCADE_OK;
    return l->sink(l->context, row, run);
}

static cascade_err
wrap_list(void *self, const cascade_query *query, cascade_list_sink sink,
          void *context)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_LIST};
    listing l = {h->wrap, sink, context};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->list(h->self, query, list_some, &l));
}

static cascade_err
begin_inner(const wrap_handle *h, int64_t limit_ms, cascade_native *native)
{
    const wrap_natives *lent = h->wrap->natives;

    return lent != NULL ? lent->begin(h->wrap->context, limit_ms, native)
                        : h->inner->node_txn->begin(h->self, limit_ms, native);
}

static cascade_err
finish_inner(const wrap_handle *h, cascade_native *native,
             const cascade_batch *batch, bool *existed)
{
    const wrap_natives *lent = h->wrap->natives;
    const wrap_inner inner = {h->inner, h->self};

    return lent != NULL
               ? lent->finish(h->wrap->context, &inner, native, batch, existed)
               : h->inner->node_txn->finish(h->self, native, batch, existed);
}

static cascade_err
abandon_inner(const wrap_handle *h, cascade_native *native)
{
    const wrap_natives *lent = h->wrap->natives;

    return lent != NULL ? lent->abandon(h->wrap->context, native)
                        : h->inner->node_txn->abandon(h->self, native);
}

static cascade_err
settle_inner(const wrap_handle *h, const cascade_uuid *engine_id, uint32_t lane,
             int64_t number, bool *committed)
{
    const wrap_natives *lent = h->wrap->natives;
    const wrap_inner inner = {h->inner, h->self};

    return lent != NULL
               ? lent->settle(h->wrap->context, &inner, engine_id, lane, number,
                              committed)
               : h->inner->settle(h->self, engine_id, lane, number, committed);
}

static cascade_err
wrap_begin(void *self, int64_t limit_ms, cascade_native *native)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_BEGIN};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    err = begin_inner(h, limit_ms, native);
    if (err != CASCADE_OK)
        return wrap_leave(h, &call, &found, err);
    err = wrap_leave(h, &call, &found, err);
    if (err != CASCADE_OK)
        (void)abandon_inner(h, native);
    return err;
}

/* Where the store is not asked, the transaction ends all the same: S30. */
static cascade_err
wrap_finish(void *self, cascade_native *native, const cascade_batch *batch,
            bool *existed)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_FINISH, .batch = batch};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK) {
        (void)abandon_inner(h, native);
        return err;
    }
    err = finish_inner(h, native, batch, existed);
    call.existed = existed;
    return wrap_leave(h, &call, &found, err);
}

static cascade_err
wrap_abandon(void *self, cascade_native *native)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_ABANDON};
    wrap_fault found;
    cascade_err err = CASCADE_OK;

    (void)wrap_enter(h, &call, &found);
    err = abandon_inner(h, native);
    (void)wrap_leave(h, &call, &found, CASCADE_OK);
    return err;
}

static cascade_err
wrap_settle(void *self, const cascade_uuid *engine_id, uint32_t lane,
            int64_t number, bool *committed)
{
    wrap_handle *h = self;
    wrap_call call = {
        .move = WRAP_SETTLE, .engine_id = engine_id, .lane = lane};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    err = settle_inner(h, engine_id, lane, number, committed);
    call.committed = committed;
    return wrap_leave(h, &call, &found, err);
}

static cascade_err
wrap_wait(void *self, int wake_fd, int64_t timeout_ms, cascade_waited *result)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_WAIT};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found,
                      h->inner->wait(h->self, wake_fd, timeout_ms, result));
}

static cascade_err
wrap_wake(void *self)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_WAKE};
    wrap_fault found;
    cascade_err err = wrap_enter(h, &call, &found);

    if (err != CASCADE_OK)
        return err;
    return wrap_leave(h, &call, &found, h->inner->wake(h->self));
}

static void
wrap_close(void *self)
{
    wrap_handle *h = self;
    wrap_call call = {.move = WRAP_CLOSE};
    wrap_fault none;

    (void)wrap_enter(h, &call, &none);
    h->inner->close(h->self);
    call.self = NULL;
    (void)wrap_leave(h, &call, &none, CASCADE_OK);
    free(h);
}

/* ---- The object --------------------------------------------------------- */

static const cascade_store_driver moves = {
    .abi = CASCADE_STORE_ABI,
    .size = sizeof(cascade_store_driver),
    .open = wrap_open,
    .migrate = wrap_migrate,
    .now = wrap_now,
    .attach = wrap_attach,
    .renew = wrap_renew,
    .detach = wrap_detach,
    .engines = wrap_engines,
    .remove = wrap_remove,
    .claim = wrap_claim,
    .load = wrap_load,
    .receive = wrap_receive,
    .scan = wrap_scan,
    .list = wrap_list,
    .commit = wrap_commit,
    .submit = wrap_submit,
    .settle = wrap_settle,
    .wait = wrap_wait,
    .wake = wrap_wake,
    .close = wrap_close,
};

/* What the real store, or a test, has of them. */
static void
set_node_txn(wrap_store *wrap, const char *native, uint32_t max)
{
    wrap->node_txn = (cascade_store_node_txn){.size = sizeof(wrap->node_txn),
                                              .native = native,
                                              .native_max = max,
                                              .begin = wrap_begin,
                                              .finish = wrap_finish,
                                              .abandon = wrap_abandon};
    wrap->driver.node_txn = &wrap->node_txn;
}

static void
set_moves(wrap_store *wrap)
{
    const cascade_store_driver *inner = wrap->inner;

    wrap->driver = moves;
    wrap->driver.name = inner->name;
    wrap->driver.lane_max = inner->lane_max;
    wrap->driver.server_clock = inner->server_clock;
    wrap->driver.chain = inner->chain != NULL ? &wrap_chain : NULL;
    wrap->driver.manage = inner->manage != NULL ? &wrap_manage : NULL;
    wrap->driver.integrity = inner->integrity != NULL ? &wrap_integrity : NULL;
    wrap->driver.limits = inner->limits != NULL ? &wrap_limits : NULL;
    if (inner->node_txn != NULL)
        set_node_txn(wrap, inner->node_txn->native,
                     inner->node_txn->native_max);
}

int
wrap_store_init(wrap_store *wrap, const char *url)
{
    memset(wrap, 0, sizeof(*wrap));
    if (csc_store_driver_find(url, &wrap->inner) != CASCADE_OK)
        return -1;
    snprintf(wrap->inner_url, sizeof(wrap->inner_url), "%s", url);
    snprintf(wrap->url, sizeof(wrap->url), "wrap:%p", (void *)wrap);
    pthread_mutex_init(&wrap->mutex, NULL);
    set_moves(wrap);
    return 0;
}

void
wrap_store_fini(wrap_store *wrap)
{
    pthread_mutex_destroy(&wrap->mutex);
}

wrap_store *
wrap_store_create(const char *url)
{
    wrap_store *wrap = calloc(1, sizeof(*wrap));

    if (wrap == NULL || wrap_store_init(wrap, url) == 0)
        return wrap;
    free(wrap);
    return NULL;
}

void
wrap_store_free(wrap_store *wrap)
{
    wrap_store_fini(wrap);
    free(wrap);
}

void
wrap_store_lend(wrap_store *wrap, const wrap_natives *natives)
{
    wrap->natives = natives;
    set_node_txn(wrap, natives->name, natives->max);
}

void
wrap_store_fail(wrap_store *wrap, wrap_move move, size_t skip, size_t times,
                wrap_when when, cascade_err err)
{
    pthread_mutex_lock(&wrap->mutex);
    wrap->rules[move] = (wrap_rule){skip, times, when, err};
    pthread_mutex_unlock(&wrap->mutex);
}

size_t
wrap_store_count(wrap_store *wrap, wrap_move move)
{
    return atomic_load(&wrap->counts[move]);
}
