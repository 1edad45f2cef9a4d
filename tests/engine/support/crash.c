/* SPDX-License-Identifier: MIT
 *
 * A process that dies and the next one; see crash.h.
 */
#include "engine/support/crash.h"

#include <string.h>

#include "store/store.h"

/* What all plays of a test have: the stores, which are closed behind it, and
 * how the first process dies. It is looked at as long as those are open, also
 * when a failed test has left its `crash`. */
static struct {
    wrap_store *wrap;
    cascade_store *store;
    cascade_store *wrapped;
    bool plays; /* nobody dies between two plays */
    bool late;  /* behind the effect */
    bool dead;
    size_t lives; /* moves until it dies */
} kept;

static void
lose_life(void)
{
    kept.dead = kept.dead || kept.lives == 0;
    kept.lives--;
}

static cascade_err
die_before(void *context, const wrap_call *call)
{
    (void)context;
    if (!kept.plays)
        return CASCADE_OK;
    if (call->move == WRAP_COMMIT && !kept.late)
        lose_life();
    return kept.dead ? CASCADE_ERR_UNAVAILABLE : CASCADE_OK;
}

static cascade_err
die_after(void *context, const wrap_call *call, cascade_err answer)
{
    (void)context;
    if (!kept.plays)
        return answer;
    if (call->move == WRAP_COMMIT && kept.late)
        lose_life();
    return kept.dead ? CASCADE_ERR_UNAVAILABLE : answer;
}

static void
begin(crash *c, size_t nth, cascade_store *store)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE,
                                            .poll_interval_ms = 20};
    const cascade_node_options node = {.size = sizeof(node),
                                       .attempts_max = 2,
                                       .backoff_ms = 1,
                                       .final_failure = c->final_failure};

    c->engines[nth] = db_engine(c->db, store, &options);
    assert_ok(cascade_engine_register(c->engines[nth], c->node,
                                      nth == 0 ? c->before : c->after, c->user,
                                      &node));
    assert_ok(cascade_engine_start(c->engines[nth]));
}

typedef struct grave {
    cascade_uuid engine_id;
    size_t count;
} grave;

static cascade_err
note_engine(void *context, const cascade_incarnation *row)
{
    grave *g = context;

    g->engine_id = row->engine_id;
    g->count++;
    return CASCADE_OK;
}

/* Its incarnation is named dead, so that the next process need not wait until
 * the lease has passed. */
static void
bury(const crash *c)
{
    const cascade_store_driver *driver = c->store->driver;
    grave g = {.count = 0};
    size_t freed = 0;

    assert_ok(driver->engines(c->store->self, note_engine, &g, NULL));
    assert_int_equal(g.count, 1);
    assert_ok(driver->remove(c->store->self, &g.engine_id, 1, 1, &freed));
}

static bool
is_over(void *context)
{
    crash *c = context;
    db_ends ends = {c->store, &c->id, 1, 0};

    return kept.dead || db_all_ended(&ends);
}

/* The first play of a test finds no store, and forgets the test before. */
static void
open_stores(test_db *db)
{
    if (db->store_count > 0)
        return;
    if (kept.wrap != NULL)
        wrap_store_free(kept.wrap);
    memset(&kept, 0, sizeof(kept));
    db->fake_time = db->backend->virtual_time;
    kept.wrap = wrap_store_create(db->url);
    assert_non_null(kept.wrap);
    kept.wrap->before = die_before;
    kept.wrap->after = die_after;
    kept.store = db_store(db);
    kept.wrapped = db_wrapped(db, kept.wrap);
}

bool
crash_play(crash *c, test_db *db, size_t at)
{
    db_ends ends;

    c->db = db;
    open_stores(db);
    kept.lives = at / 2;
    kept.late = at % 2 == 1;
    kept.dead = false;
    kept.plays = true;
    c->store = kept.store;
    begin(c, 0, kept.wrapped);
    c->id = db_start(c->store, c->node);
    assert_true(db_poll_until(db, &c->engines[0], 1, is_over, c));
    c->dead = kept.dead;
    if (c->dead) {
        bury(c);
        if (c->between != NULL)
            c->between(c);
        begin(c, 1, c->store);
        ends = (db_ends){c->store, &c->id, 1, 0};
        assert_true(db_poll_until(db, &c->engines[1], 1, db_all_ended, &ends));
    }
    return c->dead;
}

cascade_snapshot *
crash_load(const crash *c)
{
    cascade_snapshot *snapshot = NULL;

    assert_ok(cascade_snapshot_load(c->store, &c->id, NULL, &snapshot));
    return snapshot;
}

void
crash_end(crash *c)
{
    (void)cascade_engine_stop(c->engines[0], 0);
    for (size_t i = 0; i < 2; i++)
        if (c->engines[i] != NULL)
            db_close_engine(c->db, c->engines[i]);
    c->engines[1] = NULL;
    c->db->engine_count = 0; /* there are many plays in a test */
    kept.plays = false;
}
