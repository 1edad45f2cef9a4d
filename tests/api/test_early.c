/* SPDX-License-Identifier: MIT
 *
 * Events that another program wrote of an execution before it had ended, as
 * Cascaide does: what the node had put when its process died, and what a user
 * pushed to it. Who comes after it sees them, now and on every attempt, and so
 * does the node itself when it runs again here.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/raw_sql.h"
#include "cascade/manage.h"

#define ID "0190eeee-0000-4000-8000-000000000001"

static const char *const rows[] = {
    "INSERT INTO cascades (id, status, fn_id, user_id, created_at, updated_at)"
    " VALUES ('" ID "', 'RUNNING', 2, 'ann', '2026-01-31 10:00:00',"
    "  '2026-01-31 10:00:01')",
    "INSERT INTO node_executions (id, node_instance_id, cascade_id, node_name,"
    " function_id, input_context, full_output, location, status, error,"
    " started_at, completed_at) VALUES"
    " ('0190eeee-0000-4000-8000-0000000000a0', 'init_0190eeee_0', '" ID "',"
    "  'init', 0, '{}', '{}', 'server', 'COMPLETED', NULL,"
    "  '2026-01-31 10:00:00', '2026-01-31 10:00:00'),"
    " ('0190eeee-0000-4000-8000-0000000000a1', 'chat_0190eeee_0', '" ID "',"
    "  'chat', 1, '{}', NULL, 'server', 'RUNNING', NULL,"
    "  '2026-01-31 10:00:00', NULL),"
    " ('0190eeee-0000-4000-8000-0000000000a2', 'side_0190eeee_0', '" ID "',"
    "  'side', 2, '{}', NULL, 'server', 'RUNNING', NULL,"
    "  '2026-01-31 10:00:00', NULL)",
    /* Of a clock that goes ahead of ours. */
    "INSERT INTO context_events (cascade_id, function_id, key, value,"
    " created_at) VALUES"
    " ('" ID "', 0, 'k', '\"0\"', '2026-01-31 10:00:00'),"
    " ('" ID "', 1, 'k', '\"early\"', '2999-01-31 10:00:00'),"
    " ('" ID "', 1, 'message', '\"hello\"', '2999-01-31 10:00:00')"};

/* What one node has read, each attempt: "," behind each. */
typedef struct seen {
    cascade_store *store;
    sem_t *begun; /* by the other one */
    char chat[400];
    char side[400];
    char last[400];
    atomic_int side_entries;
} seen;

static void
note(char *list, cascade_node *node)
{
    const cJSON *history = NULL;
    const cJSON *message = NULL;
    char *text = NULL;
    size_t len = strlen(list);

    expect(cascade_node_history(node, "k", &history) == CASCADE_OK);
    text = cJSON_PrintUnformatted(history);
    if (cascade_node_get(node, "message", &message) != CASCADE_OK)
        message = NULL;
    (void)snprintf(list + len, 400 - len, "%s%s,", text,
                   message != NULL ? message->valuestring : "");
    cJSON_free(text);
}

/* Its first attempt begins and ends while the other one is in its own. */
static cascade_err
chat(cascade_node *node, void *user)
{
    seen *it = user;

    note(it->chat, node);
    if (cascade_node_attempt(node) == 1) {
        stores_await(it->begun);
        return cascade_node_error(node, "again");
    }
    expect(cascade_node_put(node, "k", cJSON_CreateString("late")) ==
           CASCADE_OK);
    return CASCADE_OK;
}

static bool
has_chat_ended(cascade_store *store)
{
    cascade_snapshot *snapshot = NULL;
    cascade_uuid id;
    bool ended = false;

    if (!expect(cascade_uuid_parse(ID, &id) == CASCADE_OK) ||
        !expect(cascade_snapshot_load(store, &id, NULL, &snapshot) ==
                CASCADE_OK))
        return true;
    ended = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 1)->status ==
            CASCADE_EXECUTION_COMPLETED;
    cascade_snapshot_free(snapshot);
    return ended;
}

/* Attempts as long as the other one runs, and one more. */
static cascade_err
side(cascade_node *node, void *user)
{
    seen *it = user;
    bool ended = has_chat_ended(it->store);

    if (atomic_fetch_add(&it->side_entries, 1) == 0) {
        note(it->side, node);
        sem_post(it->begun);
    }
    if (!ended)
        return cascade_node_error(node, "again");
    note(it->side, node);
    return cascade_node_spawn(node, "last", NULL, NULL);
}

static cascade_err
last(cascade_node *node, void *user)
{
    seen *it = user;

    note(it->last, node);
    return CASCADE_OK;
}

static cascade_uuid
insert_rows(test_db *db)
{
    cascade_uuid id;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        raw_sql(db, rows[i]);
    assert_ok(cascade_uuid_parse(ID, &id));
    return id;
}

static cascade_engine *
start_engine(test_db *db, cascade_store *store, seen *it)
{
    const cascade_node_options options = {.size = sizeof(options),
                                          .attempts_max = -1,
                                          .backoff_ms = 1,
                                          .backoff_max_ms = 1};
    cascade_engine *engine = db_engine(db, store, NULL);

    assert_ok(cascade_engine_register(engine, "chat", chat, it, &options));
    assert_ok(cascade_engine_register(engine, "side", side, it, &options));
    assert_ok(cascade_engine_register(engine, "last", last, it, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

static void
run_all(test_db *db, cascade_store *store, const cascade_uuid *id, seen *it)
{
    cascade_check_report report = {.size = sizeof(report)};
    cascade_engine *engine = NULL;

    assert_ok(cascade_adopt(store, NULL, &report));
    engine = start_engine(db, store, it);
    db_await(store, id, CASCADE_COMPLETED);
    db_close_engine(db, engine);
}

static void
expect_context(cascade_store *store, const cascade_uuid *id, int32_t as_of,
               const char *wanted)
{
    const cascade_snapshot_options options = {.size = sizeof(options),
                                              .as_of = as_of};
    cascade_snapshot *snapshot = NULL;

    assert_ok(cascade_snapshot_load(store, id, &options, &snapshot));
    assert_string_equal(cascade_snapshot_context(snapshot), wanted);
    cascade_snapshot_free(snapshot);
}

#define EARLY "[\"0\",\"early\"]hello,"

static void
what_was_there_stays_on_every_attempt(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = insert_rows(db);
    seen it = {.store = store};
    cascade_snapshot *snapshot = NULL;
    sem_t begun;

    it.begun = &begun;
    assert_int_equal(sem_init(&begun, 0, 0), 0);
    run_all(db, store, &id, &it);
    assert_string_equal(it.chat, EARLY EARLY);
    assert_string_equal(it.side, EARLY EARLY);
    assert_string_equal(it.last, "[\"0\",\"early\",\"late\"]hello,");
    expect_context(store, &id, 1, "{\"k\":[\"0\"]}");
    expect_context(store, &id, 2,
                   "{\"k\":[\"0\",\"early\"],\"message\":[\"hello\"]}");
    expect_context(store, &id, 3,
                   "{\"k\":[\"0\",\"early\",\"late\"],"
                   "\"message\":[\"hello\"]}");
    assert_ok(cascade_snapshot_load(store, &id, NULL, &snapshot));
    assert_non_null(strstr(
        cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 1)->full_output,
        "\"written_by_libcascade\":{\"early\":2}"));
    cascade_snapshot_free(snapshot);
    sem_destroy(&begun);
}

/* In another engine, in the place of the one that it supersedes. */
static void
a_rerun_sees_what_was_there(test_db *db)
{
    const cascade_rerun_options options = {
        .size = sizeof(options), .from = 2, .wait_ms = 60000};
    cascade_store *store = db_store(db);
    cascade_uuid id = insert_rows(db);
    seen it = {.store = store};
    cascade_engine *engine = NULL;
    sem_t begun;

    it.begun = &begun;
    assert_int_equal(sem_init(&begun, 0, 0), 0);
    run_all(db, store, &id, &it);
    it.chat[0] = '\0';
    sem_post(&begun); /* the other one does not run again */
    engine = start_engine(db, store, &it);
    assert_ok(cascade_rerun(store, &id, &options));
    db_await(store, &id, CASCADE_COMPLETED);
    db_close_engine(db, engine);
    assert_string_equal(it.chat, EARLY EARLY);
    expect_context(store, &id, 0,
                   "{\"k\":[\"0\",\"early\",\"late\"],"
                   "\"message\":[\"hello\"]}");
    sem_destroy(&begun);
}

/* What had not ended there runs afresh, and finds them. */
static void
a_fork_has_what_was_there(test_db *db)
{
    const cascade_fork_options options = {.size = sizeof(options), .from = 2};
    cascade_store *store = db_store(db);
    cascade_uuid id = insert_rows(db);
    seen it = {.store = store};
    cascade_started started;
    sem_t begun;

    it.begun = &begun;
    assert_int_equal(sem_init(&begun, 0, 0), 0);
    run_all(db, store, &id, &it);
    assert_ok(cascade_fork(store, &id, &options, &started));
    expect_context(store, &started.id, 0,
                   "{\"k\":[\"0\",\"early\"],\"message\":[\"hello\"]}");
    sem_destroy(&begun);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_was_there_stays_on_every_attempt",
         what_was_there_stays_on_every_attempt, STORES_FILES},
        {"a_rerun_sees_what_was_there", a_rerun_sees_what_was_there,
         STORES_FILES},
        {"a_fork_has_what_was_there", a_fork_has_what_was_there, STORES_FILES},
    };

    return stores_run("early", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
