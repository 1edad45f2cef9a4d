/* SPDX-License-Identifier: MIT
 *
 * Two suspects at once: only one of them is on trial at a time, also while it
 * cannot be loaded; everything else goes on meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "cascade/manage.h"
#include "engine/engine.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define SUSPECTS 2
#define LOADS 4 /* that fail, at least */

typedef struct court {
    test_db *db;
    wrap_store *wrap;
    cascade_store *starter;
    cascade_store *store; /* through the wrap */
    cascade_engine *engine;
    cascade_uuid ids[SUSPECTS];
    atomic_bool ill; /* neither of them can be loaded */
    atomic_size_t loads;
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

static cascade_err
before(void *context, const wrap_call *call)
{
    court *c = context;

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

static court *
court_open(test_db *db)
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
    atomic_store(&c->ill, true);
    c->store = db_wrapped(db, c->wrap);
    c->engine = db_engine(db, c->store, &options);
    assert_ok(
        cascade_engine_register(c->engine, "work", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(c->engine));
    return c;
}

static bool
has_failed(void *context)
{
    return atomic_load(&((court *)context)->loads) >= LOADS;
}

static int
count_trials(court *c)
{
    int count = 0;

    for (size_t i = 0; i < SUSPECTS; i++) {
        cascade_info *info = NULL;

        assert_ok(cascade_get(c->starter, &c->ids[i], &info));
        count += info->trials > 0;
        cascade_info_free(info);
    }
    return count;
}

static void
one_suspect_is_on_trial_at_a_time(test_db *db)
{
    court *c = court_open(db);
    cascade_uuid other = db_start(c->starter, "work");

    assert_true(stores_until(has_failed, c));
    db_await(c->starter, &other, CASCADE_COMPLETED);
    assert_int_equal(count_trials(c), 1);
    atomic_store(&c->ill, false);
    for (size_t i = 0; i < SUSPECTS; i++)
        db_await(c->starter, &c->ids[i], CASCADE_COMPLETED);
    db_close_engine(db, c->engine);
    db_close_store(db, c->store);
    wrap_store_free(c->wrap);
    free(c);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"one_suspect_is_on_trial_at_a_time", one_suspect_is_on_trial_at_a_time,
         STORES_ALL},
    };

    return stores_run("engine_suspects", tests,
                      sizeof(tests) / sizeof(tests[0]), argc, argv);
}
