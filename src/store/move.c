/* SPDX-License-Identifier: MIT
 *
 * See move.h.
 */
#include "store/move.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

/* ---- Bounds -------------------------------------------------------------- */

static cascade_err
check_range(const char *move, const char *what, size_t value, size_t min,
            size_t max)
{
    csc_assert(min <= max);
    if (value >= min && value <= max)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID, "%s: %zu %s; give %zu to %zu", move,
                    value, what, min, max);
}

static cascade_err
check_count(const char *move, const char *what, size_t count)
{
    return check_range(move, what, count, 1, CASCADE_STORE_PAGE_MAX);
}

static cascade_err
check_lanes(uint32_t count)
{
    return check_range("attach", "lanes", count, 1, CASCADE_STORE_LANES_MAX);
}

static cascade_err
check_link(const cascade_link *link)
{
    return check_range("link", "receipts", link->receipt_count, 0,
                       CASCADE_LINKS_MAX);
}

static cascade_err
check_receive(const cascade_receive *receive)
{
    cascade_err err = check_range("receive", "messages", receive->limit, 1,
                                  CASCADE_RECEIVE_MAX);

    if (err == CASCADE_OK)
        err = check_range("receive", "messages of each cascade", receive->each,
                          1, CASCADE_RECEIVE_MAX);
    if (err == CASCADE_OK)
        err = check_range("receive", "cascades left out", receive->except_count,
                          0, CASCADE_RECEIVE_EXCEPT_MAX);
    return err;
}

static cascade_err
check_scan(const cascade_scan *scan)
{
    if (scan->events && scan->cascade_id == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "scan: the events of all cascades are asked for; name "
                        "one cascade");
    if (scan->children_only &&
        (scan->cascade_id == NULL || scan->events || !scan->running_only))
        return csc_fail(CASCADE_ERR_INVALID,
                        "scan: children_only is of the executions of one "
                        "cascade that are RUNNING");
    return check_range("scan", "rows", scan->limit, 1, CASCADE_SCAN_MAX);
}

static cascade_err
check_strays(cascade_stray kind, size_t limit)
{
    cascade_err err =
        check_range("strays", "as the kind", (size_t)kind,
                    CASCADE_STRAY_EXECUTIONS, CASCADE_STRAY_ENGINES);

    return err == CASCADE_OK
               ? check_range("strays", "ids", limit, 1, CASCADE_STRAYS_MAX)
               : err;
}

static cascade_err
check_limits(const cascade_limits_row *row)
{
    if (row->running_max < 0 || row->key_running_max < 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "set: maxima of %d runs and %d of each key; give 0 or "
                        "more",
                        (int)row->running_max, (int)row->key_running_max);
    return row->version >= CASCADE_LIMITS_ANY
               ? CASCADE_OK
               : csc_fail(CASCADE_ERR_INVALID,
                          "set: version %lld; give one from %d on",
                          (long long)row->version, CASCADE_LIMITS_ANY);
}

static cascade_err
check_starts(const cascade_submission *submission)
{
    for (size_t i = 0; i < submission->start_count; i++)
        if (submission->starts[i].run_action != CASCADE_RUN_START)
            return csc_fail(CASCADE_ERR_INVALID,
                            "submit: change %zu is no start; only starts can "
                            "be submitted",
                            i);
    return CASCADE_OK;
}

/* ---- Sub-tables ---------------------------------------------------------- */

static cascade_err
fail_lacking(const cascade_store *store, const char *table, const char *move)
{
    return csc_fail(CASCADE_ERR_UNSUPPORTED,
                    "the %s store has no sub-table `%s`, of which `%s` is "
                    "needed; use a store that has it",
                    store->driver->name, table, move);
}

/* ---- The core ------------------------------------------------------------ */

cascade_err
csc_move_migrate(const cascade_store *store, cascade_migrate mode)
{
    csc_assert(csc_lock_is_none_held());
    return store->driver->migrate(store->self, mode);
}

cascade_err
csc_move_now(const cascade_store *store, int64_t *now_ms)
{
    csc_assert(csc_lock_is_none_held());
    return store->driver->now(store->self, now_ms);
}

cascade_err
csc_move_attach(const cascade_store *store,
                const cascade_incarnation *incarnation)
{
    cascade_err err = check_lanes(incarnation->lane_count);

    csc_assert(csc_lock_is_none_held());
    return err == CASCADE_OK ? store->driver->attach(store->self, incarnation)
                             : err;
}

cascade_err
csc_move_renew(const cascade_store *store, const cascade_uuid *engine_id,
               int64_t lease_ms, int64_t *now_ms)
{
    csc_assert(csc_lock_is_none_held());
    return store->driver->renew(store->self, engine_id, lease_ms, now_ms);
}

cascade_err
csc_move_detach(const cascade_store *store, const cascade_uuid *engine_id)
{
    csc_assert(csc_lock_is_none_held());
    return store->driver->detach(store->self, engine_id);
}

cascade_err
csc_move_engines(const cascade_store *store, cascade_engine_sink sink,
                 void *context, bool *orphans)
{
    csc_assert(csc_lock_is_none_held());
    return store->driver->engines(store->self, sink, context, orphans);
}

cascade_err
csc_move_remove(const cascade_store *store, const cascade_uuid *dead,
                size_t dead_count, size_t limit, size_t *freed)
{
    csc_assert(csc_lock_is_none_held());
    return store->driver->remove(store->self, dead, dead_count, limit, freed);
}

cascade_err
csc_move_claim(const cascade_store *store, const cascade_claim *claim,
               cascade_claimed *claimed, cascade_claim_result *result)
{
    cascade_err err = check_count("claim", "runs", claim->limit);

    csc_assert(csc_lock_is_none_held());
    return err == CASCADE_OK
               ? store->driver->claim(store->self, claim, claimed, result)
               : err;
}

cascade_err
csc_move_load(const cascade_store *store, const cascade_uuid *ids, size_t count,
              unsigned parts, const cascade_load_sink *sink)
{
    cascade_err err = check_count("load", "ids", count);

    csc_assert(csc_lock_is_none_held());
    return err == CASCADE_OK
               ? store->driver->load(store->self, ids, count, parts, sink)
               : err;
}

cascade_err
csc_move_receive(const cascade_store *store, const cascade_receive *receive,
                 cascade_message_sink sink, void *context)
{
    cascade_err err = check_receive(receive);

    csc_assert(csc_lock_is_none_held());
    return err == CASCADE_OK
               ? store->driver->receive(store->self, receive, sink, context)
               : err;
}

cascade_err
csc_move_scan(const cascade_store *store, const cascade_scan *scan,
              const cascade_load_sink *sink)
{
    cascade_err err = check_scan(scan);

    csc_assert(csc_lock_is_none_held());
    return err == CASCADE_OK ? store->driver->scan(store->self, scan, sink)
                             : err;
}

cascade_err
csc_move_list(const cascade_store *store, const cascade_query *query,
              cascade_list_sink sink, void *context)
{
    cascade_err err = check_count("list", "cascades", query->limit);

    csc_assert(csc_lock_is_none_held());
    return err == CASCADE_OK
               ? store->driver->list(store->self, query, sink, context)
               : err;
}

cascade_err
csc_move_commit(const cascade_store *store, const cascade_batch *batch,
                bool *existed)
{
    csc_assert(csc_lock_is_none_held());
    return store->driver->commit(store->self, batch, existed);
}

cascade_err
csc_move_submit(const cascade_store *store,
                const cascade_submission *submission)
{
    cascade_err err = check_starts(submission);

    csc_assert(csc_lock_is_none_held());
    return err == CASCADE_OK ? store->driver->submit(store->self, submission)
                             : err;
}

cascade_err
csc_move_settle(const cascade_store *store, const cascade_uuid *engine_id,
                uint32_t lane, int64_t number, bool *committed)
{
    csc_assert(csc_lock_is_none_held());
    return store->driver->settle(store->self, engine_id, lane, number,
                                 committed);
}

cascade_err
csc_move_wait(const cascade_store *store, int wake_fd, int64_t timeout_ms,
              cascade_waited *result)
{
    csc_assert(csc_lock_is_none_held());
    return store->driver->wait(store->self, wake_fd, timeout_ms, result);
}

cascade_err
csc_move_wake(const cascade_store *store)
{
    csc_assert(csc_lock_is_none_held());
    return store->driver->wake(store->self);
}

/* ---- The sub-table chain ------------------------------------------------- */

cascade_err
csc_move_check_keys(const cascade_store *store)
{
    return store->driver->chain != NULL ? CASCADE_OK
                                        : fail_lacking(store, "chain", "key");
}

cascade_err
csc_move_key(const cascade_store *store, const char *user_id, const char *key,
             int32_t *run_number)
{
    cascade_err err = csc_move_check_keys(store);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    return store->driver->chain->key(store->self, user_id, key, run_number);
}

cascade_err
csc_move_find(const cascade_store *store, const char *const *paths,
              size_t count, cascade_found *found)
{
    cascade_err err = check_count("find", "paths", count);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (store->driver->chain == NULL) {
        memset(found, 0, count * sizeof(*found));
        return CASCADE_OK;
    }
    return store->driver->chain->find(store->self, paths, count, found);
}

cascade_err
csc_move_link(const cascade_store *store, const cascade_link *link)
{
    cascade_err err = check_link(link);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (store->driver->chain == NULL) {
        return CASCADE_OK;
    }
    return store->driver->chain->link(store->self, link);
}

cascade_err
csc_move_sweep(const cascade_store *store, const cascade_uuid *root,
               size_t limit, cascade_uuid *cursor, bool *more)
{
    cascade_err err = check_count("sweep", "roots", limit);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (store->driver->chain == NULL) {
        *more = false;
        return CASCADE_OK;
    }
    return store->driver->chain->sweep(store->self, root, limit, cursor, more);
}

/* ---- The sub-table manage ------------------------------------------------ */

cascade_err
csc_move_pause(const cascade_store *store, const char *queue, bool paused,
               const char *about, bool *changed)
{
    csc_assert(csc_lock_is_none_held());
    if (store->driver->manage == NULL)
        return fail_lacking(store, "manage", "pause");
    return store->driver->manage->pause(store->self, queue, paused, about,
                                        changed);
}

cascade_err
csc_move_queues(const cascade_store *store, cascade_queue_sink sink,
                void *context)
{
    csc_assert(csc_lock_is_none_held());
    if (store->driver->manage == NULL)
        return fail_lacking(store, "manage", "queues");
    return store->driver->manage->queues(store->self, sink, context);
}

cascade_err
csc_move_totals(const cascade_store *store, cascade_totals *totals)
{
    csc_assert(csc_lock_is_none_held());
    if (store->driver->manage == NULL)
        return fail_lacking(store, "manage", "totals");
    return store->driver->manage->totals(store->self, totals);
}

cascade_err
csc_move_schema(const cascade_store *store, cascade_migration_sink sink,
                void *context)
{
    csc_assert(csc_lock_is_none_held());
    if (store->driver->manage == NULL)
        return fail_lacking(store, "manage", "schema");
    return store->driver->manage->schema(store->self, sink, context);
}

cascade_err
csc_move_repair(const cascade_store *store, const cascade_repair *repairs,
                size_t count, bool *done)
{
    cascade_err err = check_count("repair", "cascades", count);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (store->driver->manage == NULL)
        return fail_lacking(store, "manage", "repair");
    return store->driver->manage->repair(store->self, repairs, count, done);
}

cascade_err
csc_move_purge(const cascade_store *store, const cascade_uuid *ids,
               size_t count, int64_t updated_before_ms, size_t *deleted)
{
    cascade_err err = check_count("purge", "cascades", count);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (store->driver->manage == NULL)
        return fail_lacking(store, "manage", "purge");
    return store->driver->manage->purge(store->self, ids, count,
                                        updated_before_ms, deleted);
}

cascade_err
csc_move_erase(const cascade_store *store, const cascade_uuid *engine_id,
               bool *more)
{
    csc_assert(csc_lock_is_none_held());
    if (store->driver->manage == NULL) {
        *more = false;
        return CASCADE_OK;
    }
    return store->driver->manage->erase(store->self, engine_id, more);
}

cascade_err
csc_move_strays(const cascade_store *store, cascade_stray kind, size_t limit,
                cascade_uuid *cursor, cascade_fault_sink sink, void *context,
                bool *more)
{
    cascade_err err = check_strays(kind, limit);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (store->driver->manage == NULL) {
        *more = false;
        return CASCADE_OK;
    }
    return store->driver->manage->strays(store->self, kind, limit, cursor, sink,
                                         context, more);
}

/* ---- The sub-table integrity --------------------------------------------- */

cascade_err
csc_move_seal(const cascade_store *store, const cascade_reseal *reseals,
              size_t count, bool *done)
{
    cascade_err err = check_count("seal", "cascades", count);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (store->driver->integrity == NULL)
        return fail_lacking(store, "integrity", "seal");
    return store->driver->integrity->seal(store->self, reseals, count, done);
}

cascade_err
csc_move_seals(const cascade_store *store, const cascade_uuid *after,
               size_t limit, cascade_seal_sink sink, void *context)
{
    cascade_err err = check_count("seals", "seals", limit);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (store->driver->integrity == NULL)
        return fail_lacking(store, "integrity", "seals");
    return store->driver->integrity->seals(store->self, after, limit, sink,
                                           context);
}

/* ---- The sub-table limits ------------------------------------------------ */

cascade_err
csc_move_set_limits(const cascade_store *store, const cascade_limits_row *row,
                    bool *done, int64_t *version)
{
    cascade_err err = check_limits(row);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (store->driver->limits == NULL)
        return fail_lacking(store, "limits", "set");
    return store->driver->limits->set(store->self, row, done, version);
}

cascade_err
csc_move_list_limits(const cascade_store *store, const char *only,
                     const char *after, size_t limit, cascade_limits_sink sink,
                     void *context)
{
    cascade_err err = check_count("limits", "queues", limit);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (store->driver->limits == NULL)
        return fail_lacking(store, "limits", "list");
    return store->driver->limits->list(store->self, only, after, limit, sink,
                                       context);
}

cascade_err
csc_move_drop_limits(const cascade_store *store, const char *queue, bool *done)
{
    csc_assert(csc_lock_is_none_held());
    if (store->driver->limits == NULL)
        return fail_lacking(store, "limits", "drop");
    return store->driver->limits->drop(store->self, queue, done);
}

cascade_err
csc_move_slots(const cascade_store *store, const char *queue, const char *key,
               size_t limit, cascade_slot_sink sink, void *context)
{
    cascade_err err = check_count("slots", "runs", limit);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (store->driver->limits == NULL)
        return fail_lacking(store, "limits", "slots");
    return store->driver->limits->slots(store->self, queue, key, limit, sink,
                                        context);
}

/* ---- The sub-table node_txn ---------------------------------------------- */

cascade_err
csc_move_begin(const cascade_store *store, int64_t limit_ms,
               cascade_native *native)
{
    csc_assert(csc_lock_is_none_held());
    if (store->driver->node_txn == NULL)
        return fail_lacking(store, "node_txn", "begin");
    return store->driver->node_txn->begin(store->self, limit_ms, native);
}

cascade_err
csc_move_finish(const cascade_store *store, cascade_native *native,
                const cascade_batch *batch, bool *existed)
{
    csc_assert(csc_lock_is_none_held());
    if (store->driver->node_txn == NULL)
        return fail_lacking(store, "node_txn", "finish");
    return store->driver->node_txn->finish(store->self, native, batch, existed);
}

cascade_err
csc_move_abandon(const cascade_store *store, cascade_native *native)
{
    csc_assert(csc_lock_is_none_held());
    if (store->driver->node_txn == NULL)
        return fail_lacking(store, "node_txn", "abandon");
    return store->driver->node_txn->abandon(store->self, native);
}
