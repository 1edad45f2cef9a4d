/* SPDX-License-Identifier: MIT
 *
 * Engines on stores with integrity: what they write is sealed, which is looked
 * at when the last handle of a test is closed; and of what somebody has
 * changed, nothing goes on.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "engine/support/mix.h"
#include "engine/support/play.h"
#include "held/engine_state.h"
#include "state/state.h"
#include "store/seal.h"
#include "store/store.h"
#include "support/sealed.h"

#define CASCADES 60
#define OF_CASCADES " WHERE cascade_id IN (SELECT id FROM cascades)"

/* ---- What is written ----------------------------------------------------- */

static bool
all_have_ended(void *context)
{
    const cascade_store *store = context;
    cascade_totals totals;

    return store->driver->manage->totals(store->self, &totals) == CASCADE_OK &&
           totals.running == 0;
}

static void
whatever_was_written_has_its_seal(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine_options options = {.size = sizeof(options)};
    cascade_engine *engine = NULL;
    cascade_uuid ids[CASCADES];
    size_t count = 0;

    mix_reset();
    engine = db_engine(db, store, &options);
    mix_register(engine);
    assert_ok(cascade_engine_start(engine));
    mix_start(store, ids, CASCADES);
    assert_true(stores_until(all_have_ended, store));
    assert_true(sealed_all(store, &count));
    assert_true(count >= CASCADES);
}

/* ---- What was changed ---------------------------------------------------- */

static cascade_err
put_one(cascade_node *node, void *user, cJSON **result)
{
    (void)user;
    (void)result;
    return cascade_node_put(node, "key", play_number(1));
}

static cascade_err
put_and_await(cascade_node *node, void *user)
{
    cascade_err err =
        cascade_node_step(node, "puts", put_one, user, NULL, NULL);

    return err == CASCADE_OK ? cascade_node_await(node, "news", -1, NULL) : err;
}

static bool
has_warned(void *context)
{
    return atomic_load(&((const play *)context)->db->warnings) > 0;
}

/* Somebody changes what a parked cascade has written. What wakes it then is
 * left where it is. */
static void
tamper(test_db *db, const char *sql)
{
    play p = {.nodes = {{"waits", put_and_await}}};
    cascade_totals totals;

    play_begin(&p, db, CASCADE_MODE_THREADS, "waits");
    play_until_left(&p);
    assert_int_equal(db_sql(db, sql), 0);
    db->unsound = true;
    atomic_store(&db->warnings, 0);
    assert_ok(cascade_signal(p.store, &p.id, "news", NULL, NULL));
    play_on(&p, has_warned, &p);
    assert_int_equal(
        play_count(&p, "cascade.await:news", CASCADE_EXECUTION_RUNNING), 1);
    assert_ok(p.store->driver->manage->totals(p.store->self, &totals));
    assert_int_equal(totals.messages, 1);
    play_end(&p);
}

#define TAMPER(name, sql)         \
    static void name(test_db *db) \
    {                             \
        tamper(db, sql);          \
    }

TAMPER(an_edited_cascade_does_not_go_on,
       "UPDATE cascades SET user_id = 'other'")
TAMPER(an_edited_execution_does_not_go_on,
       "UPDATE node_executions SET location = 'here' WHERE function_id = 0")
TAMPER(a_deleted_event_is_missed, "DELETE FROM context_events")
TAMPER(an_event_that_was_added_is_found,
       "INSERT INTO context_events (key, value, function_id, cascade_id)"
       " SELECT 'key', '2', 1, id FROM cascades")
TAMPER(an_edited_seal_is_none,
       "UPDATE cascade_seals SET number = number + 1" OF_CASCADES)
TAMPER(without_a_seal_nothing_goes_on, "DELETE FROM cascade_seals" OF_CASCADES)

#define FORGED 300

static bool
all_are_taken_out_and_told(void *context)
{
    const play *p = context;
    cascade_totals totals;

    return p->store->driver->manage->totals(p->store->self, &totals) ==
               CASCADE_OK &&
           totals.messages == 0 && atomic_load(&p->db->warnings) >= FORGED;
}

/* None that somebody has sent by SQL is received, and each has its line in the
 * log; the next one is. */
static void
forged_messages_are_not_received(test_db *db)
{
    play p = {.nodes = {{"waits", put_and_await}}};
    char id[CASCADE_UUID_TEXT_SIZE];
    char sql[600];

    play_begin(&p, db, CASCADE_MODE_THREADS, "waits");
    play_until_left(&p);
    cascade_uuid_format(&p.id, id);
    (void)snprintf(
        sql, sizeof(sql),
        "WITH RECURSIVE n (n) AS"
        " (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %d)"
        " INSERT INTO cascade_messages (cascade_id, kind, name, path,"
        " payload, sent_at) SELECT '%s', 'signal', 'news',"
        " '%s/message/signal/forged' || n, '{}', 0 FROM n",
        FORGED, id, id);
    assert_int_equal(db_sql(db, sql), 0);
    atomic_store(&db->warnings, 0);
    play_on(&p, all_are_taken_out_and_told, &p);
    assert_int_equal(
        play_count(&p, "cascade.await:news", CASCADE_EXECUTION_RUNNING), 1);
    assert_int_equal(
        play_count(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED), 0);
    assert_ok(cascade_signal(p.store, &p.id, "news", NULL, NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_end(&p);
}

/* ---- What is counted ----------------------------------------------------- */

#define LEAVES 200
#define LATER_MS (INT64_C(3600) * 1000)

static cascade_err
spawn_and_await(cascade_node *node, void *user)
{
    static const cascade_spawn_options later = {.size = sizeof(later),
                                                .delay_ms = LATER_MS};
    cascade_err err = CASCADE_OK;

    (void)user;
    for (int i = 0; i < LEAVES && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, "leaf", NULL, &later);
    return err;
}

/* What the engine counts of a cascade with so many executions that wait. */
static size_t
count_bytes(test_db *db)
{
    play p = {.nodes = {{"spreads", spawn_and_await}},
              .park_after_ms = 2 * LATER_MS};
    size_t bytes = 0;

    play_begin(&p, db, CASCADE_MODE_THREADS, "spreads");
    play_until(&p, "leaf", CASCADE_EXECUTION_RUNNING, LEAVES);
    while (bytes < LEAVES * sizeof(csc_exec)) {
        pthread_mutex_lock(&p.engine->mutex);
        bytes = p.engine->room.small_bytes + p.engine->room.large_bytes;
        pthread_mutex_unlock(&p.engine->mutex);
        sched_yield();
    }
    play_end(&p);
    return bytes;
}

static void
what_a_seal_keeps_of_a_cascade_is_counted(test_db *db)
{
    size_t sealed = count_bytes(db);
    size_t plain = 0;

    (void)unsetenv("CASCADE_TEST_SEALED");
    plain = count_bytes(db);
    (void)setenv("CASCADE_TEST_SEALED", "hmac", 1);
    assert_true(sealed >= plain + LEAVES * sizeof(csc_seal_live));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"whatever_was_written_has_its_seal", whatever_was_written_has_its_seal,
         STORES_ALL},
        {"an_edited_cascade_does_not_go_on", an_edited_cascade_does_not_go_on,
         STORES_FILES},
        {"an_edited_execution_does_not_go_on",
         an_edited_execution_does_not_go_on, STORES_FILES},
        {"a_deleted_event_is_missed", a_deleted_event_is_missed, STORES_FILES},
        {"an_event_that_was_added_is_found", an_event_that_was_added_is_found,
         STORES_FILES},
        {"an_edited_seal_is_none", an_edited_seal_is_none, STORES_FILES},
        {"without_a_seal_nothing_goes_on", without_a_seal_nothing_goes_on,
         STORES_FILES},
        {"forged_messages_are_not_received", forged_messages_are_not_received,
         STORES_FILES},
        {"what_a_seal_keeps_of_a_cascade_is_counted",
         what_a_seal_keeps_of_a_cascade_is_counted, STORES_MEMORY},
    };

    (void)setenv("CASCADE_TEST_SEALED", "hmac", 1);
    return stores_run("sealed", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
