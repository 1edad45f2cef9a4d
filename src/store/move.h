/* SPDX-License-Identifier: MIT
 *
 * The moves of a store, for all that stands above it: one function for each
 * move of store.h, of the same name. Here, and nowhere below, the arguments are
 * held against their bounds (CHECKED ABOVE), and a sub-table that the store
 * lacks is told:
 *
 *   chain      key: UNSUPPORTED. find finds nothing, link enters nothing, sweep
 *              has nothing to take: what is gone leads nowhere
 *   manage     UNSUPPORTED; but erase and strays have nothing to do, since such
 *              a store marks none, and nobody can look for strays
 *   integrity  UNSUPPORTED
 *   node_txn   UNSUPPORTED
 *   limits     UNSUPPORTED
 */
#ifndef CSC_STORE_MOVE_H
#define CSC_STORE_MOVE_H

#include "cascade/cascade.h"
#include "cascade/store.h"

/* ---- The core ------------------------------------------------------------ */

cascade_err csc_move_migrate(const cascade_store *store, cascade_migrate mode);
cascade_err csc_move_now(const cascade_store *store, int64_t *now_ms);
cascade_err csc_move_attach(const cascade_store *store,
                            const cascade_incarnation *incarnation);
cascade_err csc_move_renew(const cascade_store *store,
                           const cascade_uuid *engine_id, int64_t lease_ms,
                           int64_t *now_ms);
cascade_err csc_move_detach(const cascade_store *store,
                            const cascade_uuid *engine_id);
cascade_err csc_move_engines(const cascade_store *store,
                             cascade_engine_sink sink, void *context,
                             bool *orphans);
cascade_err csc_move_remove(const cascade_store *store,
                            const cascade_uuid *dead, size_t dead_count,
                            size_t limit, size_t *freed);
cascade_err csc_move_claim(const cascade_store *store,
                           const cascade_claim *claim, cascade_claimed *claimed,
                           cascade_claim_result *result);
cascade_err csc_move_load(const cascade_store *store, const cascade_uuid *ids,
                          size_t count, unsigned parts,
                          const cascade_load_sink *sink);
cascade_err csc_move_receive(const cascade_store *store,
                             const cascade_receive *receive,
                             cascade_message_sink sink, void *context);
cascade_err csc_move_scan(const cascade_store *store, const cascade_scan *scan,
                          const cascade_load_sink *sink);
cascade_err csc_move_list(const cascade_store *store,
                          const cascade_query *query, cascade_list_sink sink,
                          void *context);
cascade_err csc_move_commit(const cascade_store *store,
                            const cascade_batch *batch, bool *existed);
cascade_err csc_move_submit(const cascade_store *store,
                            const cascade_submission *submission);
cascade_err csc_move_settle(const cascade_store *store,
                            const cascade_uuid *engine_id, uint32_t lane,
                            int64_t number, bool *committed);
cascade_err csc_move_wait(const cascade_store *store, int wake_fd,
                          int64_t timeout_ms, cascade_waited *result);
cascade_err csc_move_wake(const cascade_store *store);

/* ---- The sub-table chain ------------------------------------------------- */

/* CASCADE_ERR_UNSUPPORTED where starts have no keys. */
cascade_err csc_move_check_keys(const cascade_store *store);
cascade_err csc_move_key(const cascade_store *store, const char *user_id,
                         const char *key, int32_t *run_number);
cascade_err csc_move_find(const cascade_store *store, const char *const *paths,
                          size_t count, cascade_found *found);
cascade_err csc_move_link(const cascade_store *store, const cascade_link *link);
cascade_err csc_move_sweep(const cascade_store *store, const cascade_uuid *root,
                           size_t limit, cascade_uuid *cursor, bool *more);

/* ---- The sub-table manage ------------------------------------------------ */

cascade_err csc_move_pause(const cascade_store *store, const char *queue,
                           bool paused, const char *about, bool *changed);
cascade_err csc_move_queues(const cascade_store *store, cascade_queue_sink sink,
                            void *context);
cascade_err csc_move_totals(const cascade_store *store, cascade_totals *totals);
cascade_err csc_move_schema(const cascade_store *store,
                            cascade_migration_sink sink, void *context);
cascade_err csc_move_repair(const cascade_store *store,
                            const cascade_repair *repairs, size_t count,
                            bool *done);
cascade_err csc_move_purge(const cascade_store *store, const cascade_uuid *ids,
                           size_t count, int64_t updated_before_ms,
                           size_t *deleted);
cascade_err csc_move_erase(const cascade_store *store,
                           const cascade_uuid *engine_id, bool *more);
cascade_err csc_move_strays(const cascade_store *store, cascade_stray kind,
                            size_t limit, cascade_uuid *cursor,
                            cascade_fault_sink sink, void *context, bool *more);

/* ---- The sub-table integrity --------------------------------------------- */

cascade_err csc_move_seal(const cascade_store *store,
                          const cascade_reseal *reseals, size_t count,
                          bool *done);
cascade_err csc_move_seals(const cascade_store *store,
                           const cascade_uuid *after, size_t limit,
                           cascade_seal_sink sink, void *context);

/* ---- The sub-table limits ------------------------------------------------ */

cascade_err csc_move_set_limits(const cascade_store *store,
                                const cascade_limits_row *row, bool *done,
                                int64_t *version);
cascade_err csc_move_list_limits(const cascade_store *store, const char *only,
                                 const char *after, size_t limit,
                                 cascade_limits_sink sink, void *context);
cascade_err csc_move_drop_limits(const cascade_store *store, const char *queue,
                                 bool *done);
cascade_err csc_move_slots(const cascade_store *store, const char *queue,
                           const char *key, size_t limit,
                           cascade_slot_sink sink, void *context);

/* ---- The sub-table node_txn ---------------------------------------------- */

cascade_err csc_move_begin(const cascade_store *store, int64_t limit_ms,
                           cascade_native *native);
cascade_err csc_move_finish(const cascade_store *store, cascade_native *native,
                            const cascade_batch *batch, bool *existed);
cascade_err csc_move_abandon(const cascade_store *store,
                             cascade_native *native);

#endif
