/* SPDX-License-Identifier: MIT
 *
 * Two suspects at once: only one of them is on trial at a time, also while it
 * cannot be loaded; everything else goes on meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "cascade/manage.h"
#include "state/state.h"
#include "store/store.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define SUSPECTS 2
#define LOADS 4  /* that fail, at least */
#define CLAIMS 8 /* after a refusal */

typedef struct court {
    test_db *db;
    wrap_store *wrap;
    cascade_store *starter;
    cascade_store *store; /* through the wrap */
    cascade_engine *engine;
    cascade_uuid ids[SUSPECTS];
    atomic_bool ill; /* neither of them can be loaded */
    atomic_size_t loads;
    atomic_bool strict;   /* the next step is refused */
    atomic_size_t claims; /* since it was */
    int claimed;          /* suspects, by then */
} court;

static bool
loads_suspect(const court *c, const wrap_call *call)
{
    if (call->move != WRAP_LOAD || (call->parts & CASCADE_LOAD_EXECUTIONS) == 0)
        return false;
    for (size_t i = 0; i < call->id_count * SUSPECTS; i++)
        if (csc_uuid_equal(&call->ids[i / SUSPECTS], &c->ids[i % SUSPECTS]))
            return true;
    return false;
}

/* A commit that has a step in it. */
static bool
has_step(const cascade_batch *batch)
{
    for (size_t i = 0; i < batch->change_count; i++) {
        const cascade_change *change = &batch->changes[i];

        for (size_t k = 0; k < change->insert_count; k++)
            if (strcmp(change->inserts[k].node_name, CSC_STEP_PREFIX "step") ==
                0)
                return true;
    }
    return false;
}

static cascade_err
before(void *context, const wrap_call *call)
{
    court *c = context;

    if (call->move == WRAP_CLAIM)
        atomic_fetch_add(&c->claims, 1);
    if (call->move == WRAP_COMMIT && atomic_load(&c->strict) &&
        has_step(call->batch)) {
        atomic_store(&c->claims, 0);
        return cascade_store_fail(CASCADE_ERR_REFUSED, "no steps");
    }
    if (!atomic_load(&c->ill) || !loads_suspect(c, call))
        return CASCADE_OK;
    atomic_fetch_add(&c->loads, 1);
    return cascade_store_fail(CASCADE_ERR_NO_MEMORY, "it cannot be loaded");
}

/* Owners of all runs, who are removed, one after the other. */
static void
make_suspects(court *c)
{
    const char *queues[] = {"default"};
    const char *nodes[] = {"work"};
    const cascade_store_driver *driver = c->starter->driver;
    size_t freed = 0;

    for (unsigned char i = 0; i < CSC_SUSPECT_FROM; i++) {
        cascade_incarnation owner = {.engine_id = {{1, i}},
                                     .host = "",
                                     .lease_ms = 60000,
                                     .lane_count = 1};
        cascade_claimed claimed[SUSPECTS];
        cascade_claim_result result = {0};
        cascade_claim claim = {.engine_id = owner.engine_id,
                               .queues = queues,
                               .queue_count = 1,
                               .nodes = nodes,
                               .node_count = 1,
                               .limit = SUSPECTS,
                               .suspect_from = INT32_MAX};

        assert_ok(driver->attach(c->starter->self, &owner));
        assert_ok(driver->claim(c->starter->self, &claim, claimed, &result));
        assert_int_equal(result.count, SUSPECTS);
        assert_ok(driver->remove(c->starter->self, &owner.engine_id, 1,
                                 SUSPECTS, &freed));
        assert_int_equal(freed, SUSPECTS);
    }
}

static cascade_err
nothing(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)arg;
    (void)result;
    return CASCADE_OK;
}

static bool
has_claimed(void *context)
{
    return atomic_load(&((court *)context)->claims) >= CLAIMS;
}

/* That are on trial, or have been. */
static int
count_claimed(court *c)
{
    int count = 0;

    for (size_t i = 0; i < SUSPECTS; i++) {
        cascade_info *info = NULL;

        assert_ok(cascade_get(c->starter, &c->ids[i], &info));
        count += info->trials > 0 || info->takeovers == 0;
        cascade_info_free(info);
    }
    return count;
}

/* Stays for a while though its step was refused, and the run expelled. */
static cascade_err
work(cascade_node *node, void *user)
{
    court *c = user;
    cascade_err err =
        cascade_node_step(node, "step", nothing, NULL, NULL, NULL);

    if (!atomic_exchange(&c->strict, false))
        return err;
    expect(err == CASCADE_ERR_REFUSED);
    expect(stores_until(has_claimed, c));
    c->claimed = count_claimed(c);
    return err;
}

static court *
court_open(test_db *db, bool ill, bool strict)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 2,
                                            .lease_ms = 60000,
                                            .poll_interval_ms = 20};
    court *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    c->db = db;
    c->starter = db_store(db);
    for (size_t i = 0; i < SUSPECTS; i++)
        c->ids[i] = db_start(c->starter, "work");
    make_suspects(c);
    c->wrap = wrap_store_create(db->url);
    assert_non_null(c->wrap);
    c->wrap->context = c;
    c->wrap->before = before;
    atomic_store(&c->ill, ill);
    atomic_store(&c->strict, strict);
    c->store = db_wrapped(db, c->wrap);
    c->engine = db_engine(db, c->store, &options);
    assert_ok(cascade_engine_register(c->engine, "work", work, c, NULL));
    assert_ok(cascade_engine_start(c->engine));
    return c;
}

static bool
has_failed(void *context)
{
    return atomic_load(&((court *)context)->loads) >= LOADS;
}

static void
court_close(court *c)
{
    db_close_engine(c->db, c->engine);
    db_close_store(c->db, c->store);
    wrap_store_free(c->wrap);
    free(c);
}

static void
one_suspect_is_on_trial_at_a_time(test_db *db)
{
    court *c = court_open(db, true, false);
    cascade_uuid other = db_start(c->starter, "work");

    assert_true(stores_until(has_failed, c));
    db_await(c->starter, &other, CASCADE_COMPLETED);
    assert_int_equal(count_claimed(c), 1);
    atomic_store(&c->ill, false);
    for (size_t i = 0; i < SUSPECTS; i++)
        db_await(c->starter, &c->ids[i], CASCADE_COMPLETED);
    court_close(c);
}

/* It is in no list then: neither held, nor to be loaded again yet. */
static void
no_other_is_while_one_that_was_expelled_is_in_a_function(test_db *db)
{
    court *c = court_open(db, false, true);

    db_ends both = {.store = c->starter, .ids = c->ids, .count = SUSPECTS};

    assert_true(stores_until(db_all_ended, &both));
    assert_int_equal(c->claimed, 1);
    court_close(c);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"one_suspect_is_on_trial_at_a_time", one_suspect_is_on_trial_at_a_time,
         STORES_ALL},
        {"no_other_is_while_one_that_was_expelled_is_in_a_function",
         no_other_is_while_one_that_was_expelled_is_in_a_function, STORES_ALL},
    };

    return stores_run("engine_suspects", tests,
                      sizeof(tests) / sizeof(tests[0]), argc, argv);
}
