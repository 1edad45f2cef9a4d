/* SPDX-License-Identifier: MIT
 *
 * Registering nodes: those with a function, and external ones, which are
 * completed from outside. Only before the engine is started; from then on the
 * list does not change and is read without the lock. Nothing of it is durable:
 * each process registers its own.
 */
#include "cascade/cascade.h"

#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/fiber.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/origin.h"
#include "cascade/exception.h"
#include "cascade/store.h"
#include "change/backoff.h"
#include "held/engine_state.h"
#include "held/node_def.h"
#include "held/run/time_limit.h"
#include "node/node.h"
#include "store/store.h"

/* How long a transaction on PostgreSQL may be open: by default, at most. */
#define TRANSACTION_MS INT64_C(60000)
#define TRANSACTION_MAX_MS (INT64_C(24) * 60 * 60 * 1000)

/* Inserts by name, so that csc_node_def_find() can search. */
static cascade_err
insert_node(cascade_engine *engine, const csc_node_def *node)
{
    void *nodes = engine->nodes;
    size_t at = engine->node_count;

    csc_assert(csc_lock_is_held(&engine->mutex) &&
               engine->life == CSC_LIFE_NEW);
    if (csc_mem_grow(&nodes, &engine->node_room, at + 1, sizeof(*node)) != 0)
        return csc_fail_memory();
    engine->nodes = nodes;
    while (at > 0 && strcmp(engine->nodes[at - 1].name, node->name) > 0)
        at--;
    memmove(&engine->nodes[at + 1], &engine->nodes[at],
            (engine->node_count - at) * sizeof(*node));
    engine->nodes[at] = *node;
    engine->node_count++;
    return CASCADE_OK;
}

/* What is to happen when the node has failed for good. */
static cascade_err
check_instead(const char *name, cascade_final_failure final_failure,
              const char *other)
{
    bool instead = final_failure == CASCADE_FINAL_INSTEAD;

    if (final_failure != CASCADE_FINAL_ERROR &&
        final_failure != CASCADE_FINAL_CONTINUE && !instead)
        return csc_fail(CASCADE_ERR_INVALID,
                        "node %s: final_failure has no such value", name);
    if (instead != (other != NULL))
        return csc_fail(CASCADE_ERR_INVALID,
                        "node %s: `instead` and CASCADE_FINAL_INSTEAD go "
                        "together",
                        name);
    if (!instead)
        return CASCADE_OK;
    if (strcmp(other, name) == 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "node %s: `instead` must name another node", name);
    return csc_check_name("instead", other);
}

/* Whether a node of that name may be registered now. */
static cascade_err
check_new(const cascade_engine *engine, const char *name)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (engine->life != CSC_LIFE_NEW)
        return csc_fail(CASCADE_ERR_MISUSE,
                        "node %s: register nodes before the engine is started",
                        name);
    if (csc_node_def_find(engine, name) != NULL)
        return csc_fail(CASCADE_ERR_EXISTS,
                        "node %s is registered already with this engine", name);
    return CASCADE_OK;
}

/* Copies the texts and inserts it, if it may be. */
static cascade_err
add_node(cascade_engine *engine, csc_node_def *node, const char *name,
         const char *instead)
{
    cascade_err err = CASCADE_OK;

    csc_lock_take(&engine->mutex);
    err = check_new(engine, name);
    if (err == CASCADE_OK) {
        engine->calls.has_limits = engine->calls.has_limits ||
                                   node->limits.start_ms > 0 ||
                                   node->limits.deadline_ms > 0;
        node->name = csc_mem_strdup(name);
        node->instead = csc_mem_strdup(instead);
        node->waiting.instead = node->instead;
        err = node->name != NULL && (instead == NULL || node->instead != NULL)
                  ? insert_node(engine, node)
                  : csc_fail_memory();
    }
    csc_lock_give(&engine->mutex);
    if (err != CASCADE_OK) {
        csc_mem_free(node->name);
        csc_mem_free(node->instead);
        return err;
    }
    return csc_ok();
}

static cascade_err
check_node(const char *name, cascade_node_fn fn,
           const cascade_node_options *options, csc_node_def *node)
{
    csc_attempts given = {.max = options->attempts_max,
                          .backoff_ms = options->backoff_ms,
                          .backoff_max_ms = options->backoff_max_ms,
                          .backoff_percent = options->backoff_percent,
                          .jitter_percent = options->jitter_percent};
    cascade_err err = options->foreign
                          ? csc_check_foreign_name("node name", name)
                          : csc_check_name("node name", name);

    if (err != CASCADE_OK)
        return err;
    if (fn == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "node %s: fn is NULL; for one that is completed from "
                        "outside call cascade_engine_register_external()",
                        name);
    err = check_instead(name, options->final_failure, options->instead);
    if (err == CASCADE_OK)
        err = csc_time_limit_init(&node->limits, name, options);
    if (err != CASCADE_OK)
        return err;
    return csc_backoff_init(&node->attempts, name, &given);
}

/* A transaction on SQLite keeps the lease from being renewed. */
static cascade_err
check_transaction(const cascade_engine *engine, const char *name,
                  const cascade_node_options *options, csc_node_def *node)
{
    const char *native = csc_driver_native(engine->store->driver);
    bool alone = native != NULL && strcmp(native, CASCADE_NATIVE_SQLITE) == 0;
    int64_t lease_ms = engine->options.lease_ms;
    int64_t max_ms = alone ? lease_ms / 2 : TRANSACTION_MAX_MS;

    node->transactional = options->transactional;
    node->transaction_ms = options->transaction_max_ms;
    if (!node->transactional && node->transaction_ms != 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "node %s: transaction_max_ms is for a node that is "
                        "`transactional`",
                        name);
    if (!node->transactional)
        return CASCADE_OK;
    if (native == NULL)
        return csc_fail(CASCADE_ERR_UNSUPPORTED,
                        "node %s: the %s store has no transactions of nodes; "
                        "use SQLite or PostgreSQL, or register it without "
                        "`transactional`",
                        name, engine->store->driver->name);
    if (options->heartbeat_timeout_ms != 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "node %s: a transactional node has no heartbeats; give "
                        "attempt_timeout_ms or transaction_max_ms",
                        name);
    if (node->transaction_ms == 0)
        node->transaction_ms = alone ? lease_ms / 4 : TRANSACTION_MS;
    if (node->transaction_ms < 1 || node->transaction_ms > max_ms)
        return csc_fail(CASCADE_ERR_INVALID,
                        "node %s: transaction_max_ms is %lld; give 1 to %lld%s",
                        name, (long long)node->transaction_ms,
                        (long long)max_ms,
                        alone ? ", which is half of the engine's lease" : "");
    return CASCADE_OK;
}

cascade_err
cascade_engine_register(cascade_engine *engine, const char *name,
                        cascade_node_fn fn, void *user,
                        const cascade_node_options *options)
{
    return cascade_engine_register_guarded(engine, name, fn, user, options,
                                           NULL);
}

cascade_err
cascade_engine_register_guarded(cascade_engine *engine, const char *name,
                                cascade_node_fn fn, void *user,
                                const cascade_node_options *options,
                                cascade_guard_fn guard)
{
    cascade_node_options known = {0};
    csc_node_def node = {.fn = fn, .user = user, .guard = guard};
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(engine) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (engine == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "register: engine is NULL");
    err = csc_check_options("node options", options, &known, sizeof(known));
    if (err == CASCADE_OK)
        err = check_node(name, fn, &known, &node);
    if (err == CASCADE_OK)
        err = check_transaction(engine, name, &known, &node);
    if (err != CASCADE_OK)
        return err;
    node.final_failure = known.final_failure;
    node.destroy = known.destroy;
    node.thread = known.thread || known.transactional ||
                  (guard != NULL && !csc_fiber_has_exceptions());
    return add_node(engine, &node, name, known.instead);
}

cascade_err
cascade_engine_register_external(cascade_engine *engine, const char *name,
                                 const cascade_external_options *options)
{
    cascade_external_options known = {0};
    csc_node_def node = {0};
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(engine) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (engine == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "register: engine is NULL");
    err = csc_check_options("external options", options, &known, sizeof(known));
    if (err == CASCADE_OK)
        err = csc_check_name("node name", name);
    if (err == CASCADE_OK)
        err = check_instead(name, known.final_failure, known.instead);
    if (err != CASCADE_OK)
        return err;
    if (known.timeout_ms < 0 || known.timeout_ms > CSC_DELAY_MAX_MS)
        return csc_fail(CASCADE_ERR_INVALID,
                        "node %s: timeout_ms must lie between 0 and 100 years",
                        name);
    node.final_failure = known.final_failure;
    node.waiting.timeout_ms = known.timeout_ms;
    node.waiting.continued = known.final_failure != CASCADE_FINAL_ERROR;
    return add_node(engine, &node, name, known.instead);
}
