/* SPDX-License-Identifier: MIT
 *
 * Calls inside the application's own transaction: they take effect with its
 * commit, and leave nothing behind its rollback; one that fails takes back what
 * it wrote and no more; what must wait is refused.
 */
#include <stdio.h>
#include <string.h>

#include "api/connection.h"
#include "cascade/manage.h"

#define COUNT_CASCADES "SELECT count(*) FROM cascades"
#define COUNT_MESSAGES "SELECT count(*) FROM cascade_messages"
#define COUNT_ORDERS "SELECT count(*) FROM orders"

static void
open_with_orders(test_db *db, connection *it)
{
    connection_open(db, it);
    connection_run(it, it->kind->orders);
}

static void
check_rows(connection *it, int orders, int cascades, int messages)
{
    assert_int_equal(connection_count(it, COUNT_ORDERS), orders);
    assert_int_equal(connection_count(it, COUNT_CASCADES), cascades);
    assert_int_equal(connection_count(it, COUNT_MESSAGES), messages);
}

static void
insert_order(connection *it)
{
    connection_run(it, "INSERT INTO orders (node) VALUES ('ship')");
}

static cascade_uuid
start_key(cascade_store *store, const char *key, bool existed)
{
    const cascade_start_options options = {.size = sizeof(options), .key = key};
    cascade_started started;

    assert_ok(cascade_start(store, "ship", NULL, &options, &started));
    assert_int_equal(started.existed, existed);
    return started.id;
}

/* Whether `store` knows the cascade. */
static bool
knows(cascade_store *store, const cascade_uuid *id)
{
    cascade_info *info = NULL;
    cascade_err err = cascade_get(store, id, &info);

    cascade_info_free(info);
    return err == CASCADE_OK;
}

/* What is committed on another connection wakes no engine. */
static void
start_engine(test_db *db, cascade_store *store)
{
    const cascade_engine_options options = {
        .size = sizeof(options), .worker_count = 2, .poll_interval_ms = 20};
    cascade_engine *engine = db_engine(db, store, &options);

    assert_ok(
        cascade_engine_register(engine, "ship", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
}

/* ---- Both or neither ---------------------------------------------------- */

/* An engine of this process, on a handle of its own, runs what was committed,
 * and nothing before. */
static void
what_is_committed_runs(test_db *db)
{
    cascade_store *other = db_store(db);
    connection own;
    cascade_uuid id;

    start_engine(db, other);
    open_with_orders(db, &own);
    connection_begin(&own);
    insert_order(&own);
    id = db_start(own.store, "ship");
    assert_true(knows(own.store, &id));
    assert_false(knows(other, &id));
    connection_run(&own, "COMMIT");
    db_await(other, &id, CASCADE_COMPLETED);
    db_await(own.store, &id, CASCADE_COMPLETED);
    check_rows(&own, 1, 1, 0);
    connection_close(&own);
}

static void
send_all(cascade_store *store, const cascade_uuid *there)
{
    const cascade_request_options command = {.size = sizeof(command)};
    const cascade_start_options keyed = {.size = sizeof(keyed), .key = "two"};
    const cascade_first first = {.size = sizeof(first), .node = "ship"};
    const cascade_start_spec specs[2] = {
        {.size = sizeof(specs[0]), .first = &first, .first_count = 1},
        {.size = sizeof(specs[0]), .first = &first, .first_count = 1}};
    cascade_started many[2];
    cascade_started started;

    (void)db_start(store, "ship");
    (void)start_key(store, "one", false);
    assert_ok(cascade_start_many(store, specs, 2, many));
    assert_ok(cascade_start_with_signal(store, "ship", NULL, &keyed, "news",
                                        NULL, NULL, &started));
    assert_ok(cascade_signal(store, there, "news", NULL, NULL));
    assert_ok(cascade_signal(store, &started.id, "news", NULL, NULL));
    assert_ok(cascade_cancel(store, there, &command));
    assert_ok(cascade_queue_pause(store, "default", NULL));
}

static void
a_rollback_leaves_nothing(test_db *db)
{
    cascade_store *other = db_store(db);
    cascade_uuid there = db_start(other, "ship");
    connection own;

    open_with_orders(db, &own);
    connection_begin(&own);
    insert_order(&own);
    send_all(own.store, &there);
    check_rows(&own, 1, 6, 4);
    connection_run(&own, "ROLLBACK");
    check_rows(&own, 0, 1, 0);
    assert_int_equal(
        connection_count(&own, "SELECT count(*) FROM cascade_queues"), 0);

    connection_begin(&own);
    insert_order(&own);
    send_all(own.store, &there);
    connection_run(&own, "COMMIT");
    check_rows(&own, 1, 6, 4);
    assert_int_equal(
        connection_count(&own, "SELECT count(*) FROM cascade_queues"), 1);
    connection_close(&own);
}

/* The key is free again after a rollback, and taken after a commit. */
static void
keys_go_with_the_transaction(test_db *db)
{
    cascade_store *other = db_store(db);
    connection own;
    cascade_uuid id;
    cascade_uuid again;

    open_with_orders(db, &own);
    connection_begin(&own);
    id = start_key(own.store, "k", false);
    again = start_key(own.store, "k", true);
    assert_memory_equal(&id, &again, sizeof(id));
    connection_run(&own, "ROLLBACK");
    assert_false(knows(other, &id));

    connection_begin(&own);
    again = start_key(own.store, "k", false);
    assert_memory_equal(&id, &again, sizeof(id));
    connection_run(&own, "COMMIT");
    again = start_key(other, "k", true);
    assert_memory_equal(&id, &again, sizeof(id));
    connection_close(&own);
}

/* A key whose run has ended is started anew, in the transaction. */
static void
a_key_is_reused_within(test_db *db)
{
    const cascade_start_options anew = {
        .size = sizeof(anew), .key = "k", .reuse = CASCADE_REUSE_ENDED};
    cascade_store *other = db_store(db);
    connection own;
    cascade_uuid first;
    cascade_started second;

    start_engine(db, other);
    open_with_orders(db, &own);
    first = start_key(own.store, "k", false);
    db_await(own.store, &first, CASCADE_COMPLETED);
    connection_begin(&own);
    assert_ok(cascade_start(own.store, "ship", NULL, &anew, &second));
    assert_memory_not_equal(&first, &second.id, sizeof(first));
    connection_run(&own, "ROLLBACK");
    assert_false(knows(other, &second.id));
    connection_begin(&own);
    assert_ok(cascade_start(own.store, "ship", NULL, &anew, &second));
    connection_run(&own, "COMMIT");
    db_await(own.store, &second.id, CASCADE_COMPLETED);
    connection_close(&own);
}

/* ---- Errors ------------------------------------------------------------- */

/* What failed is gone, and the transaction goes on with what was before it. */
static void
an_error_takes_back_its_call_alone(test_db *db)
{
    const cascade_start_options keyed = {.size = sizeof(keyed), .key = "k"};
    const cascade_uuid nobody = {{7}};
    cascade_store *other = db_store(db);
    connection own;
    cascade_started started;
    cascade_uuid id;

    (void)other;
    open_with_orders(db, &own);
    connection_begin(&own);
    insert_order(&own);
    id = db_start(own.store, "ship");
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_signal(own.store, &nobody, "news", NULL, NULL));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_signal(own.store, &id, "a b", NULL, NULL));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_start(own.store, "cascade.x", NULL, NULL, &started));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_start_with_signal(own.store, "ship", NULL, &keyed,
                                           "a b", NULL, NULL, &started));
    insert_order(&own);
    connection_run(&own, "COMMIT");
    check_rows(&own, 2, 1, 0);
    connection_close(&own);
}

/* An execution of that path is there: the database refuses the start in its
 * middle, when the cascade has been inserted. */
static void
a_start_that_is_refused_midway_is_taken_back(test_db *db)
{
    cascade_store *other = db_store(db);
    connection own;
    cascade_started started;
    cascade_uuid taken = {{0x11, 0x22, 0x33, 0x44}};
    const cascade_start_options options = {.size = sizeof(options),
                                           .id = &taken};
    cascade_uuid id;
    char sql[512];
    char text[CASCADE_UUID_TEXT_SIZE];

    db->unsound = true;
    id = db_start(other, "ship");
    open_with_orders(db, &own);
    snprintf(sql, sizeof(sql),
             "UPDATE node_executions SET node_instance_id = '%s/-/ship#0'",
             cascade_uuid_format(&taken, text));
    connection_run(&own, sql);
    (void)id;
    connection_begin(&own);
    insert_order(&own);
    assert_fails(CASCADE_ERR_REFUSED,
                 cascade_start(own.store, "ship", NULL, &options, &started));
    check_rows(&own, 1, 1, 0);
    (void)db_start(own.store, "ship");
    connection_run(&own, "COMMIT");
    check_rows(&own, 1, 2, 0);
    connection_close(&own);
}

/* ---- Savepoints of the application --------------------------------------- */

static void
savepoints_of_the_application_nest(test_db *db)
{
    cascade_store *other = db_store(db);
    connection own;

    (void)other;
    open_with_orders(db, &own);
    connection_begin(&own);
    (void)db_start(own.store, "ship");
    connection_run(&own, "SAVEPOINT inner_one");
    insert_order(&own);
    (void)db_start(own.store, "ship");
    connection_run(&own, "SAVEPOINT inner_two");
    (void)db_start(own.store, "ship");
    connection_run(&own, "RELEASE SAVEPOINT inner_two");
    check_rows(&own, 1, 3, 0);
    connection_run(&own, "ROLLBACK TO SAVEPOINT inner_one");
    check_rows(&own, 0, 1, 0);
    (void)db_start(own.store, "ship");
    connection_run(&own, "COMMIT");
    check_rows(&own, 0, 2, 0);
    connection_close(&own);
}

/* ---- Reading ------------------------------------------------------------ */

static void
reading_sees_the_transaction(test_db *db)
{
    cascade_store *other = db_store(db);
    const cascade_list_options all = {.size = sizeof(all)};
    connection own;
    cascade_uuid id;
    cascade_page *page = NULL;
    cascade_snapshot *snapshot = NULL;

    open_with_orders(db, &own);
    connection_begin(&own);
    id = db_start_text(own.store, "ship", "{\"to\":\"Rome\"}");
    assert_ok(cascade_list(own.store, &all, &page));
    assert_int_equal(cascade_page_count(page), 1);
    cascade_page_free(page);
    assert_ok(cascade_list(other, &all, &page));
    assert_int_equal(cascade_page_count(page), 0);
    cascade_page_free(page);
    assert_ok(cascade_snapshot_load(own.store, &id, NULL, &snapshot));
    cascade_snapshot_free(snapshot);
    connection_run(&own, "ROLLBACK");
    connection_close(&own);
}

/* ---- What must wait ------------------------------------------------------ */

static void
what_must_wait_is_refused(test_db *db)
{
    cascade_store *other = db_store(db);
    const cascade_request_options waits = {.size = sizeof(waits),
                                           .wait_ms = 100};
    connection own;
    cascade_uuid id = db_start(other, "ship");
    cascade_status status;

    open_with_orders(db, &own);
    connection_begin(&own);
    insert_order(&own);
    assert_fails(CASCADE_ERR_MISUSE, cascade_wait(own.store, &id, 10, &status));
    assert_fails(CASCADE_ERR_MISUSE,
                 cascade_update(own.store, &id, "u", NULL, NULL, NULL));
    assert_fails(CASCADE_ERR_MISUSE, cascade_cancel(own.store, &id, &waits));
    connection_run(&own, "COMMIT");
    check_rows(&own, 1, 1, 0);
    connection_close(&own);
}

static const stores_test tests[] = {
    {"what_is_committed_runs", what_is_committed_runs, STORES_FILES},
    {"a_rollback_leaves_nothing", a_rollback_leaves_nothing, STORES_FILES},
    {"keys_go_with_the_transaction", keys_go_with_the_transaction,
     STORES_FILES},
    {"a_key_is_reused_within", a_key_is_reused_within, STORES_FILES},
    {"an_error_takes_back_its_call_alone", an_error_takes_back_its_call_alone,
     STORES_FILES},
    {"a_start_that_is_refused_midway_is_taken_back",
     a_start_that_is_refused_midway_is_taken_back, STORES_FILES},
    {"savepoints_of_the_application_nest", savepoints_of_the_application_nest,
     STORES_FILES},
    {"reading_sees_the_transaction", reading_sees_the_transaction,
     STORES_FILES},
    {"what_must_wait_is_refused", what_must_wait_is_refused, STORES_FILES},
};

int
main(int argc, char **argv)
{
    return stores_run("within", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
