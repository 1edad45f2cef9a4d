/* SPDX-License-Identifier: MIT
 *
 * What holds for a cascade as a whole, as every store has it: each reason as
 * long as it holds, and just after; and nothing else beside it.
 *
 * The engines are rows (incarnations that say what they serve), so that they
 * own, die and come as a test says; a real one only where something is to run.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/manage.h"
#include "engine/support/peer.h"
#include "query/explain/explain.h"
#include "state/kind.h"
#include "state/state.h"
#include "store/store.h"
#include "support/rows.h"

#define HOUR_MS (INT64_C(3600) * 1000)
#define KNOWS_N "{\"nodes\":[\"n\"],\"queues\":[\"default\"],\"version\":\"1\"}"
#define KNOWS_X "{\"nodes\":[\"x\"],\"queues\":[\"default\"],\"version\":\"1\"}"
#define ELSEWHERE "{\"nodes\":[\"n\"],\"queues\":[\"other\"],\"version\":\"1\"}"

/* ---- Engines that are rows ---------------------------------------------- */

static cascade_uuid
attach_as(cascade_store *store, cascade_uuid id, const char *about)
{
    const cascade_incarnation row = {.engine_id = id,
                                     .host = "h",
                                     .pid = 7,
                                     .lease_ms = HOUR_MS,
                                     .lane_count = 1,
                                     .about = about};

    assert_ok(store->driver->attach(store->self, &row));
    return id;
}

static cascade_uuid
attach(cascade_store *store, const char *about)
{
    return attach_as(
        store,
        csc_uuid_v7(csc_clock_wall_ms(&csc_clock_system), &store->random),
        about);
}

/* It takes up to `count` cascades that wait for node "n". */
static void
claim(cascade_store *store, const cascade_uuid *engine_id, size_t count)
{
    static const char *const names[] = {"default", "n"};
    cascade_claimed claimed[4];
    cascade_claim_result result = {0};
    const cascade_claim asked = {.engine_id = *engine_id,
                                 .queues = names,
                                 .queue_count = 1,
                                 .nodes = names + 1,
                                 .node_count = 1,
                                 .limit = count,
                                 .slots = count,
                                 .suspect_from = INT32_MAX};

    assert_ok(store->driver->claim(store->self, &asked, claimed, &result));
    assert_int_equal(result.count, count);
}

/* Batch `number` of the engine writes nothing of the cascade but this of its
 * run. */
static void
commit(cascade_store *store, const cascade_uuid *engine_id, int64_t number,
       const cascade_uuid *id, cascade_run_action action,
       const cascade_run_row *run)
{
    test_rows rows;
    cascade_change *change = NULL;
    bool existed = false;
    cascade_batch batch = {
        .engine_id = *engine_id, .number = number, .change_count = 1};

    rows_init(&rows, 1, csc_clock_wall_ms(&csc_clock_system));
    change = rows_write(&rows, *id, 0);
    change->run_action = action;
    change->run = *run;
    change->run.cascade_id = *id;
    batch.changes = change;
    assert_ok(store->driver->commit(store->self, &batch, &existed));
    rows_fini(&rows);
}

/* ---- Checks ------------------------------------------------------------- */

/* The causes of the cascade, without those of its executions: "OWNED SUSPECT".
 */
static void
list_reasons(cascade_store *store, const cascade_uuid *id, char *text,
             size_t size)
{
    cascade_explanation *explanation = NULL;

    assert_ok(cascade_explain(store, id, &explanation));
    text[0] = '\0';
    for (size_t i = 0; i < cascade_explanation_count(explanation); i++) {
        const cascade_cause *cause = cascade_explanation_get(explanation, i);

        if (cause->reason < CASCADE_REASON_RUNS)
            snprintf(text + strlen(text), size - strlen(text), "%s%s",
                     i > 0 ? " " : "", cascade_reason_name(cause->reason));
    }
    cascade_explanation_free(explanation);
}

static void
check_reasons(cascade_store *store, const cascade_uuid *id, const char *wanted)
{
    char text[200];

    list_reasons(store, id, text, sizeof(text));
    assert_string_equal(text, wanted);
}

/* The first cause with that reason, of an explanation to be freed. */
static const cascade_cause *
find(cascade_store *store, const cascade_uuid *id, cascade_reason reason,
     cascade_explanation **explanation)
{
    assert_ok(cascade_explain(store, id, explanation));
    for (size_t i = 0; i < cascade_explanation_count(*explanation); i++) {
        const cascade_cause *cause = cascade_explanation_get(*explanation, i);

        if (cause->reason == reason)
            return cause;
    }
    fail_msg("%s is no cause", cascade_reason_name(reason));
    return NULL;
}

/* That there is such a cause, with this name and text, in which %I stands for
 * its id and %T for its time. Gives both. */
static cascade_cause
check_cause(cascade_store *store, const cascade_uuid *id, cascade_reason reason,
            const char *name, const char *text)
{
    cascade_explanation *explanation = NULL;
    const cascade_cause *cause = find(store, id, reason, &explanation);
    csc_arena arena = {0};
    char wanted[400] = "";
    char uuid[CASCADE_UUID_TEXT_SIZE];
    cascade_cause copy = *cause;

    for (; *text != '\0'; text++) {
        size_t len = strlen(wanted);

        if (strncmp(text, "%I", 2) == 0)
            strcat(wanted, cascade_uuid_format(&cause->id, uuid));
        else if (strncmp(text, "%T", 2) == 0)
            strcat(wanted, csc_explain_time(&arena, cause->at_ms));
        else
            snprintf(wanted + len, sizeof(wanted) - len, "%c", *text);
        text += *text == '%';
    }
    assert_string_equal(cause->text, wanted);
    assert_string_equal(cause->name, name);
    assert_string_equal(cause->node, "");
    csc_arena_fini(&arena);
    cascade_explanation_free(explanation);
    copy.name = copy.node = copy.text = NULL;
    return copy;
}

static bool
is_about(int64_t at_ms, int64_t wanted_ms)
{
    return at_ms > wanted_ms - HOUR_MS / 4 && at_ms < wanted_ms + HOUR_MS / 4;
}

static int64_t
store_now(cascade_store *store)
{
    int64_t now_ms = 0;

    assert_ok(cascade_store_now(store, &now_ms));
    return now_ms;
}

typedef struct expectation {
    cascade_store *store;
    const cascade_uuid *id;
    const char *reasons;
} expectation;

static bool
is_met(void *context)
{
    const expectation *e = context;
    char text[200];

    list_reasons(e->store, e->id, text, sizeof(text));
    return strcmp(text, e->reasons) == 0;
}

static void
await_reasons(cascade_store *store, const cascade_uuid *id, const char *reasons)
{
    expectation e = {store, id, reasons};

    assert_true(stores_until(is_met, &e));
}

/* ---- Owners ------------------------------------------------------------- */

static void
it_is_owned_until_the_lease_has_expired(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "n");
    cascade_uuid owner = attach(store, KNOWS_N);
    cascade_cause cause;

    check_reasons(store, &id, "FREE");
    claim(store, &owner, 1);
    check_reasons(store, &id, "OWNED");
    cause = check_cause(store, &id, CASCADE_REASON_OWNED, "",
                        "engine %I (pid 7) has it, with a lease until %T");
    assert_true(csc_uuid_equal(&cause.id, &owner));
    assert_true(is_about(cause.at_ms, store_now(store) + HOUR_MS));
    assert_ok(store->driver->renew(store->self, &owner, 1, NULL));
    await_reasons(store, &id, "OWNER_EXPIRED NO_ENGINE");
    cause = check_cause(store, &id, CASCADE_REASON_OWNER_EXPIRED, "",
                        "engine %I (pid 7) has it, but its lease ended at %T: "
                        "the next engine that looks removes it");
    assert_true(csc_uuid_equal(&cause.id, &owner));
    assert_true(is_about(cause.at_ms, store_now(store)));
    (void)attach(store, KNOWS_N);
    check_reasons(store, &id, "OWNER_EXPIRED");
    assert_ok(store->driver->renew(store->self, &owner, HOUR_MS, NULL));
    check_reasons(store, &id, "OWNED");
}

/* Two cascades of an engine that dies, of which the first one is set free. */
static void
its_owner_is_gone_until_it_is_set_free(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid ids[2] = {db_start(store, "n"), db_start(store, "n")};
    cascade_uuid owner = attach(store, KNOWS_N);
    cascade_cause cause;
    char text[200];
    size_t freed = 0;
    size_t left = 0;

    claim(store, &owner, 2);
    (void)attach(store, KNOWS_N);
    assert_ok(store->driver->remove(store->self, &owner, 1, 1, &freed));
    assert_int_equal(freed, 1);
    list_reasons(store, &ids[0], text, sizeof(text));
    left = strcmp(text, "FREE") == 0 ? 1 : 0;
    check_reasons(store, &ids[left], "OWNER_GONE");
    check_reasons(store, &ids[1 - left], "FREE");
    cause = check_cause(store, &ids[left], CASCADE_REASON_OWNER_GONE, "",
                        "engine %I had it, and is gone: the next engine that "
                        "looks sets it free");
    assert_true(csc_uuid_equal(&cause.id, &owner));
    assert_ok(store->driver->remove(store->self, NULL, 0, 1, &freed));
    check_reasons(store, &ids[left], "FREE");
}

/* ---- Free --------------------------------------------------------------- */

static void
it_is_free_when_an_engine_can_take_it(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "n");
    cascade_uuid engine;
    cascade_cause cause;

    check_reasons(store, &id, "NO_ENGINE");
    check_cause(store, &id, CASCADE_REASON_NO_ENGINE, "default",
                "no live engine serves queue default: start one that does");
    (void)attach_as(store, csc_uuid_v8("a", "call", 1), KNOWS_N);
    (void)attach(store, ELSEWHERE);
    check_reasons(store, &id, "NO_ENGINE");
    (void)attach(store, NULL);
    check_cause(store, &id, CASCADE_REASON_NO_ENGINE, "default",
                "no live engine says that it serves queue default (1 say "
                "nothing of what they serve): start one that does");
    engine = attach(store, KNOWS_N);
    check_reasons(store, &id, "FREE");
    cause = check_cause(store, &id, CASCADE_REASON_FREE, "",
                        "it is due since %T: an engine of queue default takes "
                        "it");
    assert_true(is_about(cause.at_ms, store_now(store)));
    assert_ok(store->driver->detach(store->self, &engine));
    check_reasons(store, &id, "NO_ENGINE");
}

static void
its_node_is_unknown_until_an_engine_knows_it(test_db *db)
{
    static const char unknown[] =
        "no live engine of queue default knows node n: start one that does";
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "n");

    (void)attach(store, KNOWS_X);
    check_reasons(store, &id, "UNKNOWN_NODE");
    check_cause(store, &id, CASCADE_REASON_UNKNOWN_NODE, "n", unknown);
    (void)attach(store, ELSEWHERE);
    check_reasons(store, &id, "UNKNOWN_NODE");
    (void)attach(store, KNOWS_N);
    check_reasons(store, &id, "FREE");
}

/* As the engine says that gave it up. */
static void
its_last_owner_did_not_know_a_node(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "n");
    cascade_uuid engine = attach(store, KNOWS_N);
    const cascade_run_row needing = {.needs = "z", .wake_at_ms = 1};

    claim(store, &engine, 1);
    commit(store, &engine, 1, &id, CASCADE_RUN_FREE, &needing);
    check_reasons(store, &id, "UNKNOWN_NODE");
    check_cause(store, &id, CASCADE_REASON_UNKNOWN_NODE, "z",
                "no live engine of queue default knows node z: start one that "
                "does");
    assert_ok(store->driver->detach(store->self, &engine));
    check_reasons(store, &id, "NO_ENGINE UNKNOWN_NODE");
    (void)attach(store, "{\"nodes\":[\"z\"],\"queues\":[\"default\"]}");
    check_reasons(store, &id, "FREE");
}

/* The cascade has one more execution, with that record; where it comes behind
 * the first one, that has failed. Then it is free. */
static void
go_on(cascade_store *store, const cascade_uuid *engine_id, int64_t number,
      const cascade_uuid *id, const char *name, const char *full_output)
{
    char path[CASCADE_UUID_TEXT_SIZE + 40];
    char uuid[CASCADE_UUID_TEXT_SIZE];
    test_rows rows;
    cascade_change *change = NULL;
    cascade_execution_row *row = NULL;
    bool existed = false;
    cascade_batch batch = {
        .engine_id = *engine_id, .number = number, .change_count = 1};

    rows_init(&rows, (uint64_t)number, store_now(store));
    change = rows_write(&rows, *id, 1);
    change->run_action = CASCADE_RUN_FREE;
    change->run.wake_at_ms = 1;
    row = rows_insert(&rows, change, 1, name);
    row->full_output = full_output;
    snprintf(path, sizeof(path), "%s/0/%s#0", cascade_uuid_format(id, uuid),
             name);
    row->node_instance_id = path;
    if (csc_kind_of(name) == CSC_PART_NONE)
        rows_update(&rows, change, 0, "{\"at\":0,\"continue\":true}")->status =
            CASCADE_EXECUTION_FAILED;
    batch.changes = change;
    assert_ok(store->driver->commit(store->self, &batch, &existed));
    rows_fini(&rows);
}

/* What any engine records needs none that knows the node. */
static void
its_next_node_is_unknown(test_db *db)
{
    static const struct {
        const char *name;
        const char *record;
        const char *reasons;
    } cases[] = {
        {"cascade.sleep:nap", "{\"not_before\":1}", "UNKNOWN_NODE"},
        {"task",
         "{\"token\":\"01890000-0000-7000-8000-00000000abcd\","
         "\"deadline\":1}",
         "FREE"},
        {"j", "{\"after\":[0],\"on_failure\":\"skip\"}", "FREE"},
        {"j", "{\"after\":[0],\"on_failure\":\"fail\"}", "UNKNOWN_NODE"}};
    cascade_store *store = db_store(db);
    cascade_uuid engine = attach(store, KNOWS_N);
    cascade_uuid ids[4];

    for (int i = 0; i < 4; i++)
        ids[i] = db_start(store, "n");
    claim(store, &engine, 4);
    for (int i = 0; i < 4; i++)
        go_on(store, &engine, i + 1, &ids[i], cases[i].name, cases[i].record);
    check_reasons(store, &ids[0], "FREE");
    check_reasons(store, &ids[3], "UNKNOWN_NODE");
    assert_ok(store->driver->detach(store->self, &engine));
    (void)attach(store, KNOWS_X);
    for (int i = 0; i < 4; i++)
        check_reasons(store, &ids[i], cases[i].reasons);
}

/* ---- Later -------------------------------------------------------------- */

static cascade_uuid
start_later(cascade_store *store, int64_t delay_ms)
{
    const cascade_start_options options = {.size = sizeof(options),
                                           .delay_ms = delay_ms};
    cascade_started started;

    assert_ok(cascade_start(store, "n", NULL, &options, &started));
    return started.id;
}

static void
nothing_of_it_is_due_before_its_time(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = start_later(store, HOUR_MS);
    cascade_uuid soon = start_later(store, 1);
    cascade_cause cause;

    check_reasons(store, &id, "NO_ENGINE LATER");
    (void)attach(store, KNOWS_N);
    check_reasons(store, &id, "LATER");
    cause = check_cause(store, &id, CASCADE_REASON_LATER, "",
                        "nothing of it is due before %T");
    assert_true(is_about(cause.at_ms, store_now(store) + HOUR_MS));
    await_reasons(store, &soon, "FREE");
}

static void
a_millisecond_later_it_is_due(test_db *db)
{
    cascade_store *store = NULL;
    cascade_uuid id;

    db->fake_time = true;
    store = db_store(db);
    id = start_later(store, 1000);
    (void)attach(store, KNOWS_N);
    fake_clock_advance(&db->clock, 999);
    check_reasons(store, &id, "LATER");
    fake_clock_advance(&db->clock, 1);
    check_reasons(store, &id, "FREE");
}

static cascade_err
await_signal(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "go", -1, NULL);
}

static bool
is_parked(void *context)
{
    return db_stats(context).parked > 0 && db_stats(context).held == 0;
}

/* A real engine, which parks it, and lives on. */
static void
no_time_ends_what_waits_for_a_signal(test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .lease_ms = HOUR_MS,
                                            .mode = CASCADE_MODE_INLINE,
                                            .park_after_ms = 1};
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, &options);
    cascade_uuid id;
    cascade_cause cause;

    assert_ok(cascade_engine_register(engine, "n", await_signal, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "n");
    check_reasons(store, &id, "FREE");
    assert_true(db_poll_until(db, &engine, 1, is_parked, engine));
    check_reasons(store, &id, "LATER");
    cause = check_cause(store, &id, CASCADE_REASON_LATER, "",
                        "nothing of it is due at any time: it waits to be told "
                        "of something");
    assert_true(cause.at_ms == CASCADE_TIME_NONE);
}

/* ---- Messages ----------------------------------------------------------- */

static bool
is_left(void *context)
{
    return db_stats(context).unknown_nodes > 0 && db_stats(context).held == 0;
}

static void
messages_wait_until_they_are_received(test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .lease_ms = HOUR_MS,
                                            .mode = CASCADE_MODE_INLINE};
    cascade_store *store = db_store(db);
    cascade_engine *engine = NULL;
    cascade_uuid id = db_start(store, "n");
    cascade_cause cause;

    assert_ok(cascade_signal(store, &id, "go", NULL, NULL));
    check_reasons(store, &id, "NO_ENGINE MESSAGES");
    check_cause(store, &id, CASCADE_REASON_MESSAGES, "signal",
                "a message for it (signal) waits to be received since %T");
    assert_ok(cascade_signal(store, &id, "go", NULL, NULL));
    cause = check_cause(store, &id, CASCADE_REASON_MESSAGES, "signal",
                        "2 messages for it wait to be received, the first one "
                        "(signal) since %T");
    assert_int_equal(cause.count, 2);
    assert_true(is_about(cause.at_ms, store_now(store)));
    engine = db_engine(db, store, &options);
    assert_ok(cascade_engine_start(engine));
    assert_true(db_poll_until(db, &engine, 1, is_left, engine));
    check_reasons(store, &id, "UNKNOWN_NODE");
}

static void
of_many_messages_the_first_are_counted(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "n");

    for (int i = 0; i < CASCADE_LOAD_MESSAGES_MAX - 1; i++)
        assert_ok(cascade_signal(store, &id, "go", NULL, NULL));
    check_cause(store, &id, CASCADE_REASON_MESSAGES, "signal",
                "99 messages for it wait to be received, the first one "
                "(signal) since %T");
    for (int i = 0; i < 2; i++)
        assert_ok(cascade_signal(store, &id, "go", NULL, NULL));
    check_cause(store, &id, CASCADE_REASON_MESSAGES, "signal",
                "100 or more messages for it wait to be received, the first "
                "one (signal) since %T");
}

/* ---- Paused ------------------------------------------------------------- */

/* By commands that are carried out where no engine is alive. */
static void
it_is_paused_until_it_is_resumed(test_db *db)
{
    const cascade_request_options look = {.size = sizeof(look),
                                          .request_id = "a/look"};
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "n");
    cascade_uuid engine;
    cascade_explanation *explanation = NULL;
    cascade_cause cause;

    assert_ok(cascade_pause(store, &id, &look));
    assert_ok(cascade_pause(store, &id, NULL));
    check_reasons(store, &id, "PAUSED NO_ENGINE");
    cause = check_cause(store, &id, CASCADE_REASON_PAUSED, "a/look",
                        "it is paused by execution 1, request a/look: resume "
                        "it");
    assert_int_equal(cause.function_id, 1);
    engine = attach(store, KNOWS_N);
    check_reasons(store, &id, "PAUSED");
    assert_string_equal(
        find(store, &id, CASCADE_REASON_RUNS, &explanation)->text,
        "0 n could run: it waits to be resumed");
    cascade_explanation_free(explanation);
    assert_ok(store->driver->detach(store->self, &engine));
    assert_ok(cascade_resume(store, &id, NULL));
    check_reasons(store, &id, "NO_ENGINE UNKNOWN_NODE");
    (void)attach(store, KNOWS_N);
    check_reasons(store, &id, "FREE");
}

static void
it_is_paused_until_it_is_cancelled(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "n");

    assert_ok(cascade_pause(store, &id, NULL));
    check_reasons(store, &id, "PAUSED NO_ENGINE");
    assert_ok(cascade_cancel(store, &id, NULL));
    check_reasons(store, &id, "ENDED");
}

/* The next run is paused from its beginning on. */
static cascade_err
continue_paused(cascade_node *node, void *user)
{
    const cascade_request_options received = {.size = sizeof(received),
                                              .wait_ms = -1};

    expect(cascade_pause(user, cascade_node_cascade_id(node), &received) ==
           CASCADE_OK);
    return cascade_node_continue_as_new(node, "n", NULL);
}

static void
what_has_continued_names_the_next_run(test_db *db)
{
    const cascade_engine_options options = {
        .size = sizeof(options), .lease_ms = HOUR_MS, .worker_count = 1};
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, &options);
    cascade_uuid id;
    cascade_cause cause;

    assert_ok(
        cascade_engine_register(engine, "c", continue_paused, store, NULL));
    assert_ok(cascade_engine_register(engine, "n", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "c");
    db_await(store, &id, CASCADE_COMPLETED);
    cause = check_cause(store, &id, CASCADE_REASON_ENDED, "COMPLETED",
                        "it has continued as cascade %I at %T");
    id = cause.id;
    await_reasons(store, &id, "PAUSED");
    cause = check_cause(store, &id, CASCADE_REASON_PAUSED, "",
                        "it is paused by execution 1, as the run before was: "
                        "resume it");
    assert_int_equal(cause.function_id, 1);
    assert_ok(cascade_resume(store, &id, NULL));
    await_reasons(store, &id, "ENDED");
}

static bool
is_paused(void *context)
{
    const expectation *e = context;
    cascade_info *info = NULL;
    bool paused = false;

    assert_ok(cascade_get(e->store, e->id, &info));
    paused = info->paused;
    cascade_info_free(info);
    return paused;
}

/* By an engine that looks at it again in an hour, which is no time of its. */
static void
what_an_engine_has_paused_is_not_due_later(test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .lease_ms = HOUR_MS,
                                            .mode = CASCADE_MODE_INLINE};
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, &options);
    cascade_uuid id = db_start(store, "n");
    expectation e = {store, &id, NULL};

    assert_ok(cascade_engine_register(engine, "n", await_signal, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    assert_ok(cascade_pause(store, &id, NULL));
    assert_true(db_poll_until(db, &engine, 1, is_paused, &e));
    check_reasons(store, &id, "PAUSED");
}

static void
its_queue_is_paused_until_it_is_resumed(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "n");
    cascade_uuid engine = attach(store, KNOWS_N);
    bool changed = false;
    cascade_explanation *explanation = NULL;
    cascade_cause cause;

    assert_ok(store->driver->manage->pause(store->self, "other", true, "{}",
                                           &changed));
    check_reasons(store, &id, "FREE");
    assert_ok(store->driver->manage->pause(store->self, "default", true, "{}",
                                           &changed));
    check_reasons(store, &id, "QUEUE_PAUSED");
    cause = check_cause(store, &id, CASCADE_REASON_QUEUE_PAUSED, "default",
                        "queue default is paused since %T: resume the queue");
    assert_true(is_about(cause.at_ms, store_now(store)));
    assert_ok(store->driver->detach(store->self, &engine));
    check_reasons(store, &id, "QUEUE_PAUSED NO_ENGINE");
    engine = attach(store, KNOWS_N);
    assert_ok(store->driver->manage->pause(store->self, "default", false, NULL,
                                           &changed));
    check_reasons(store, &id, "FREE");
    claim(store, &engine, 1);
    assert_ok(store->driver->manage->pause(store->self, "default", true, "{}",
                                           &changed));
    check_reasons(store, &id, "OWNED QUEUE_PAUSED");
    assert_string_equal(
        find(store, &id, CASCADE_REASON_RUNS, &explanation)->text,
        "0 n could run: its engine runs it, or it waits to be resumed");
    cascade_explanation_free(explanation);
}

static cascade_cause
check_turn(cascade_store *store, const cascade_uuid *id, int running_max,
           int key_running_max, const char *text)
{
    const cascade_queue_limits limits = {.size = sizeof(limits),
                                         .running_max = running_max,
                                         .key_running_max = key_running_max};

    assert_ok(cascade_queue_set(store, "default", &limits, NULL));
    check_reasons(store, id, "TURN");
    return check_cause(store, id, CASCADE_REASON_TURN, "default", text);
}

static void
it_waits_for_its_turn_in_a_queue_with_limits(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid first = db_start(store, "n");
    cascade_uuid engine = attach(store, KNOWS_N);
    cascade_uuid id;
    cascade_cause cause;

    (void)check_turn(store, &first, 0, 1,
                     "it is due since %T, and there is a slot for it in queue "
                     "default: an engine of that takes it in its turn");
    claim(store, &engine, 1);
    check_reasons(store, &first, "OWNED");
    id = db_start(store, "n");
    cause = check_turn(store, &id, 7, 1,
                       "it is due since %T, and waits for its turn in queue "
                       "default: 1 of 1 slots of its key are in use, by %I");
    assert_memory_equal(&cause.id, &first, sizeof(first));
    assert_int_equal(cause.count, 1);
    (void)check_turn(store, &id, 1, 0,
                     "it is due since %T, and waits for its turn in queue "
                     "default: 1 of 1 slots of its queue are in use, by %I");
}

/* ---- Suspects ----------------------------------------------------------- */

static void
it_is_a_suspect_from_three_deaths_on_until_it_commits(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "n");
    const cascade_run_row kept = {0};
    cascade_cause cause;
    cascade_uuid peer;

    (void)attach(store, KNOWS_N);
    for (int32_t deaths = 0; deaths < 3; deaths++) {
        check_reasons(store, &id, "FREE");
        peer = peer_own(store, "n", deaths);
        peer_remove(store, &peer);
    }
    check_reasons(store, &id, "FREE SUSPECT");
    cause = check_cause(store, &id, CASCADE_REASON_SUSPECT, "",
                        "3 engines in a row have died with it, 0 of them while "
                        "it ran alone: so it is run, and what runs then fails "
                        "in the end; look what the node does to its process");
    assert_int_equal(cause.count, 3);
    peer = peer_own(store, "n", 3);
    peer_remove(store, &peer);
    peer = peer_own(store, "n", 4);
    check_reasons(store, &id, "OWNED SUSPECT");
    cause = check_cause(store, &id, CASCADE_REASON_SUSPECT, "",
                        "4 engines in a row have died with it, 1 of them while "
                        "it ran alone: so it is run, and what runs then fails "
                        "in the end; look what the node does to its process");
    assert_int_equal(cause.count, 4);
    commit(store, &peer, 1, &id, CASCADE_RUN_RESET, &kept);
    check_reasons(store, &id, "OWNED");
}

/* ---- Without a run ------------------------------------------------------ */

static void
it_has_no_run_until_it_gets_one(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "n");
    cascade_uuid engine = attach(store, KNOWS_N);
    const cascade_run_row none = {0};
    cascade_repair repair = {
        .was = {.id = id, .status = CASCADE_RUNNING, .user_id = "anonymous"},
        .status = CASCADE_RUNNING,
        .starts = true,
        .run = {.cascade_id = id, .queue = "default"}};
    bool done = false;

    claim(store, &engine, 1);
    commit(store, &engine, 1, &id, CASCADE_RUN_END, &none);
    check_reasons(store, &id, "NO_RUN");
    check_cause(store, &id, CASCADE_REASON_NO_RUN, "",
                "it has no run, so no engine finds it: adopt it");
    assert_ok(store->driver->manage->repair(store->self, &repair, 1, &done));
    assert_true(done);
    check_reasons(store, &id, "FREE");
}

/* ---- Ended -------------------------------------------------------------- */

static cascade_err
fail_for_good(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node, "the secret 4711");
}

static void
it_has_ended_until_it_is_retried(test_db *db)
{
    const cascade_engine_options options = {
        .size = sizeof(options), .lease_ms = HOUR_MS, .worker_count = 1};
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, &options);
    cascade_uuid good;
    cascade_uuid bad;
    cascade_explanation *explanation = NULL;

    assert_ok(cascade_engine_register(engine, "n", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "f", fail_for_good, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    good = db_start(store, "n");
    bad = db_start(store, "f");
    db_await(store, &good, CASCADE_COMPLETED);
    db_await(store, &bad, CASCADE_ERROR);
    check_reasons(store, &good, "ENDED");
    check_cause(store, &good, CASCADE_REASON_ENDED, "COMPLETED",
                "it has ended as COMPLETED at %T");
    check_cause(store, &bad, CASCADE_REASON_ENDED, "ERROR",
                "it has ended as ERROR at %T: look at its error, and retry "
                "it");
    assert_ok(cascade_explain(store, &bad, &explanation));
    assert_int_equal(cascade_explanation_count(explanation), 1);
    cascade_explanation_free(explanation);
    db_close_engine(db, engine);
    assert_fails(CASCADE_ERR_ENDED,
                 cascade_signal(store, &good, "go", NULL, NULL));
    check_reasons(store, &good, "ENDED MESSAGES");
    assert_ok(cascade_retry(store, &bad, NULL));
    (void)attach(store, "{\"nodes\":[\"f\"],\"queues\":[\"default\"]}");
    check_reasons(store, &bad, "FREE");
}

/* What it says of its executions belongs to those that have not ended. */
static void
its_executions_follow(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "n");
    cascade_uuid engine = attach(store, KNOWS_N);
    cascade_explanation *explanation = NULL;
    const cascade_cause *cause =
        find(store, &id, CASCADE_REASON_RUNS, &explanation);

    assert_int_equal(cascade_explanation_count(explanation), 2);
    assert_int_equal(cause->function_id, 0);
    assert_string_equal(cause->node, "n");
    assert_string_equal(cause->text, "0 n could run: it waits for an engine to "
                                     "take the cascade");
    assert_int_equal(cascade_explanation_get(explanation, 0)->function_id, -1);
    cascade_explanation_free(explanation);
    claim(store, &engine, 1);
    cause = find(store, &id, CASCADE_REASON_RUNS, &explanation);
    assert_string_equal(cause->text,
                        "0 n could run: its engine runs it, or does so next");
    cascade_explanation_free(explanation);
}

/* A rerun has put others in the place of those that were RUNNING. */
static void
what_is_superseded_is_left_out(test_db *db)
{
    const cascade_rerun_options rerun = {.size = sizeof(rerun), .from = 0};
    const cascade_engine_options options = {.size = sizeof(options),
                                            .lease_ms = HOUR_MS,
                                            .mode = CASCADE_MODE_INLINE,
                                            .park_after_ms = 1};
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, &options);
    cascade_uuid id;
    cascade_explanation *explanation = NULL;
    size_t listed = 0;

    assert_ok(cascade_engine_register(engine, "n", await_signal, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "n");
    assert_true(db_poll_until(db, &engine, 1, is_parked, engine));
    db_close_engine(db, engine);
    assert_ok(cascade_rerun(store, &id, &rerun));
    assert_ok(cascade_explain(store, &id, &explanation));
    for (size_t i = 0; i < cascade_explanation_count(explanation); i++) {
        const cascade_cause *cause = cascade_explanation_get(explanation, i);

        if (cause->reason < CASCADE_REASON_RUNS)
            continue;
        assert_true(cause->function_id > 2);
        listed++;
    }
    assert_int_equal(listed, 1);
    cascade_explanation_free(explanation);
}

/* ---- Mistakes and memory ------------------------------------------------ */

static void
what_is_not_there_is_not_explained(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_explanation *explanation = NULL;
    cascade_uuid id = csc_uuid_v8("a", "b", 1);

    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_explain(store, &id, &explanation));
    assert_fails(CASCADE_ERR_INVALID, cascade_explain(NULL, &id, &explanation));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_explain(store, NULL, &explanation));
    assert_fails(CASCADE_ERR_INVALID, cascade_explain(store, &id, NULL));
    assert_null(explanation);
    cascade_explanation_free(NULL);
}

static void
running_out_of_memory_is_told(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = start_later(store, HOUR_MS);
    cascade_explanation *explanation = NULL;
    cascade_err err = CASCADE_ERR_NO_MEMORY;
    size_t live = 0;
    size_t nth = 0;

    (void)attach(store, KNOWS_X);
    assert_ok(cascade_signal(store, &id, "go", NULL, NULL));
    for (live = csc_mem_live(); err != CASCADE_OK; nth++) {
        assert_int_equal(csc_mem_live(), live);
        (void)csc_mem_fail_at(nth + 1, 0);
        err = cascade_explain(store, &id, &explanation);
        (void)csc_mem_fail_at(0, 0);
        assert_true(err == CASCADE_OK || err == CASCADE_ERR_NO_MEMORY);
    }
    assert_true(nth > 10);
    cascade_explanation_free(explanation);
    assert_int_equal(csc_mem_live(), live);
}

#define ON_ALL(name)            \
    {                           \
#name, name, STORES_ALL \
    }

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        ON_ALL(it_is_owned_until_the_lease_has_expired),
        ON_ALL(its_owner_is_gone_until_it_is_set_free),
        ON_ALL(it_is_free_when_an_engine_can_take_it),
        ON_ALL(its_node_is_unknown_until_an_engine_knows_it),
        ON_ALL(its_last_owner_did_not_know_a_node),
        {"its_next_node_is_unknown", its_next_node_is_unknown, STORES_MEMORY},
        ON_ALL(nothing_of_it_is_due_before_its_time),
        {"a_millisecond_later_it_is_due", a_millisecond_later_it_is_due,
         STORES_VIRTUAL},
        ON_ALL(no_time_ends_what_waits_for_a_signal),
        ON_ALL(messages_wait_until_they_are_received),
        ON_ALL(of_many_messages_the_first_are_counted),
        ON_ALL(it_is_paused_until_it_is_resumed),
        ON_ALL(it_is_paused_until_it_is_cancelled),
        ON_ALL(what_has_continued_names_the_next_run),
        ON_ALL(what_an_engine_has_paused_is_not_due_later),
        ON_ALL(its_queue_is_paused_until_it_is_resumed),
        ON_ALL(it_waits_for_its_turn_in_a_queue_with_limits),
        ON_ALL(it_is_a_suspect_from_three_deaths_on_until_it_commits),
        ON_ALL(it_has_no_run_until_it_gets_one),
        ON_ALL(it_has_ended_until_it_is_retried),
        ON_ALL(its_executions_follow),
        ON_ALL(what_is_superseded_is_left_out),
        ON_ALL(what_is_not_there_is_not_explained),
        {"running_out_of_memory_is_told", running_out_of_memory_is_told,
         STORES_MEMORY},
    };

    return stores_run("explain_stores", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
