/* SPDX-License-Identifier: MIT
 *
 * What a transactional node may not do, and how it may be registered.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cascade/manage.h"
#include "cascade/postgres.h"
#include "cascade/sqlite.h"
#include "engine/support/till.h"
#include "held/node_def.h"

static bool
is_sqlite(const test_db *db)
{
    return strncmp(db->url, "sqlite:", 7) == 0;
}

/* ---- Calls of the node -------------------------------------------------- */

static cascade_err
no_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)result;
    atomic_fetch_add((atomic_int *)arg, 1);
    return CASCADE_OK;
}

static cascade_err
no_undo(cascade_node *node, void *user, const cJSON *input)
{
    (void)node;
    (void)user;
    (void)input;
    return CASCADE_OK;
}

static void
expect_misuse(cascade_err err, const char *what)
{
    if (!expect(err == CASCADE_ERR_MISUSE))
        fprintf(stderr, "%s: %s\n", what, cascade_err_text(err));
    expect(strstr(cascade_errmsg(), what) != NULL);
    expect(strstr(cascade_errmsg(), "pay") != NULL);
}

/* Each of them would be a commit of its own. */
static cascade_err
try_everything(cascade_node *node, void *user)
{
    static const char *const argv[] = {"/bin/true", NULL};
    const cascade_program program = {.size = sizeof(program), .argv = argv};
    till *t = user;
    const char *ticket = NULL;
    cJSON *input = NULL;
    cascade_uuid id = {{1}};
    int version = 0;

    expect_misuse(cascade_node_step(node, "s", no_step, &t->other, NULL, NULL),
                  "a step");
    expect_misuse(cascade_node_program(node, "r", &program, NULL, NULL),
                  "a program");
    expect_misuse(cascade_node_sleep(node, "z", 1), "a sleep");
    expect_misuse(cascade_node_sleep_until(node, "z", 1), "a sleep");
    expect_misuse(cascade_node_await(node, "a", 1, NULL), "an await");
    expect_misuse(cascade_node_await_update(node, "u", 1, NULL, &ticket),
                  "an update");
    expect_misuse(cascade_node_answer(node, "u/path", cJSON_CreateTrue()),
                  "an answer");
    expect_misuse(cascade_node_start_child(node, "c", "pay", input, NULL, &id),
                  "a child");
    expect_misuse(cascade_node_await_child(node, &id, NULL), "an await");
    expect_misuse(cascade_node_await_children(node), "an await");
    expect_misuse(cascade_node_compensate(node, "u", no_undo, NULL, NULL),
                  "a compensation");
    expect_misuse(cascade_node_version(node, "v", 0, 1, &version), "a version");
    expect_misuse(cascade_node_heartbeat(node, cJSON_CreateTrue()),
                  "a heartbeat");
    expect(cascade_node_publish(node, "p", cJSON_CreateTrue()) == CASCADE_OK);
    return till_pay(node, t);
}

static const till_node trying[] = {
    {"pay", try_everything, {.transactional = true}}};

static void
what_would_be_another_commit_is_refused(test_db *db, cascade_mode mode)
{
    till *t = till_open(db, mode, trying, 1);

    till_run(t, "pay", CASCADE_COMPLETED);
    till_check(t, 0, 1, NULL);
    assert_int_equal(atomic_load(&t->other), 0);
    assert_int_equal(ledger_count(db, NULL), 1);
    till_close(t, 1);
}
TILL_MODES(what_would_be_another_commit_is_refused)

/* ---- Calls with the engine's own store ----------------------------------- */

#define EXPECT_INSIDE(call)                \
    expect((call) == CASCADE_ERR_MISUSE && \
           strstr(cascade_errmsg(), "cascade_node_store()") != NULL)

static cascade_err
ask_own_store(cascade_node *node, void *user)
{
    till *t = user;
    cascade_store *store = t->store[0];
    const cascade_uuid *id = cascade_node_cascade_id(node);
    const cascade_many_options many = {.size = sizeof(many), .user_id = "u"};
    const cascade_purge_options purge = {.size = sizeof(purge)};
    const cascade_rerun_options rerun = {.size = sizeof(rerun)};
    cascade_check_report report = {.size = sizeof(report)};
    cascade_started started;
    cJSON *answer = NULL;
    cascade_info *info = NULL;
    bool more = false;

    (void)more;
    EXPECT_INSIDE(cascade_start(store, "pay", NULL, NULL, &started));
    EXPECT_INSIDE(cascade_start_with_signal(store, "pay", NULL, NULL, "s", NULL,
                                            NULL, &started));
    EXPECT_INSIDE(cascade_signal(store, id, "s", NULL, NULL));
    EXPECT_INSIDE(cascade_signal_key(store, NULL, "k", "s", NULL, NULL));
    EXPECT_INSIDE(cascade_complete(
        store, id, "path", "01a204ac-92e2-79ad-bfdf-d02a39ed496b", NULL, NULL));
    EXPECT_INSIDE(cascade_cancel(store, id, NULL));
    EXPECT_INSIDE(cascade_terminate(store, id, NULL));
    EXPECT_INSIDE(cascade_delete(store, id, NULL));
    EXPECT_INSIDE(cascade_pause(store, id, NULL));
    EXPECT_INSIDE(cascade_resume(store, id, NULL));
    EXPECT_INSIDE(cascade_retry(store, id, NULL));
    EXPECT_INSIDE(
        cascade_request_many(store, CASCADE_REQUEST_CANCEL, &many, NULL));
    EXPECT_INSIDE(cascade_queue_pause(store, "q", NULL));
    EXPECT_INSIDE(cascade_queue_resume(store, "q"));
    EXPECT_INSIDE(cascade_queue_set(store, "q", NULL, NULL));
    EXPECT_INSIDE(cascade_queue_unset(store, "q"));
    EXPECT_INSIDE(cascade_update(store, id, "u", NULL, NULL, &answer));
    EXPECT_INSIDE(cascade_wait(store, id, 0, NULL));
    EXPECT_INSIDE(cascade_purge(store, &purge, NULL));
    EXPECT_INSIDE(cascade_verify(store, NULL, &report));
    EXPECT_INSIDE(cascade_adopt(store, NULL, &report));
    EXPECT_INSIDE(cascade_store_migrate(store));
    expect(cascade_rerun(store, id, &rerun) == CASCADE_ERR_MISUSE);
    expect(cascade_get(store, id, &info) == CASCADE_OK);
    cascade_info_free(info);
    return till_pay(node, t);
}

static void
what_waits_for_the_own_store_is_refused(test_db *db, cascade_mode mode)
{
    static const till_node nodes[] = {
        {"pay", ask_own_store, {.transactional = true}}};
    till *t = till_open(db, mode, nodes, 1);

    till_run(t, "pay", CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, NULL), 1);
    /* outside of it the thread may do so again */
    t->id = db_start(t->store[0], "pay");
    till_await(t, &t->id, CASCADE_COMPLETED);
    till_close(t, 2);
}
TILL_MODES(what_waits_for_the_own_store_is_refused)

static cascade_err
poll_again(cascade_node *node, void *user)
{
    till *t = user;
    cascade_err err = t->mode == CASCADE_MODE_THREADS
                          ? CASCADE_ERR_MISUSE
                          : cascade_engine_poll(t->engine[0], 0, NULL);

    expect(err == CASCADE_ERR_MISUSE);
    expect(cascade_engine_stop(t->engine[0], 0) == CASCADE_ERR_MISUSE);
    return till_pay(node, t);
}

static void
an_engine_is_not_polled_inside(test_db *db, cascade_mode mode)
{
    static const till_node nodes[] = {
        {"pay", poll_again, {.transactional = true}}};
    till *t = till_open(db, mode, nodes, 1);

    till_run(t, "pay", CASCADE_COMPLETED);
    till_close(t, 1);
}
TILL_MODES(an_engine_is_not_polled_inside)

/* ---- The handle --------------------------------------------------------- */

static cascade_err
ask_handles(cascade_node *node, void *user)
{
    till *t = user;
    sqlite3 *lite = NULL;
    PGconn *conn = NULL;
    cascade_store *store = NULL;
    bool own = strcmp(cascade_node_name(node), "pay") == 0;
    cascade_err wrong = own ? CASCADE_ERR_UNSUPPORTED : CASCADE_ERR_MISUSE;
    cascade_err right = own ? CASCADE_OK : CASCADE_ERR_MISUSE;

    expect(cascade_node_sqlite(node, &lite) ==
           (is_sqlite(t->db) ? right : wrong));
    expect(cascade_node_postgres(node, &conn) ==
           (is_sqlite(t->db) ? wrong : right));
    expect((lite != NULL) == (own && is_sqlite(t->db)));
    expect((conn != NULL) == (own && !is_sqlite(t->db)));
    if (!own)
        expect(cascade_node_store(node, &store) == CASCADE_ERR_MISUSE);
    expect(cascade_node_sqlite(node, NULL) == CASCADE_ERR_INVALID);
    expect(cascade_node_postgres(NULL, &conn) == CASCADE_ERR_INVALID);
    expect(cascade_node_store(NULL, &store) == CASCADE_ERR_INVALID);
    return CASCADE_OK;
}

static void
only_a_transactional_node_has_a_handle(test_db *db)
{
    static const till_node nodes[] = {
        {"pay", ask_handles, {.transactional = true}},
        {"plain", ask_handles, {0}}};
    till *t = till_open(db, CASCADE_MODE_THREADS, nodes, 2);

    till_run(t, "pay", CASCADE_COMPLETED);
    till_run(t, "plain", CASCADE_COMPLETED);
    till_close(t, 2);
}

/* ---- Registration ------------------------------------------------------- */

static cascade_err
register_with(cascade_engine *engine, const char *name, int64_t max_ms)
{
    const cascade_node_options options = {.size = sizeof(options),
                                          .transactional = true,
                                          .transaction_max_ms = max_ms};

    return cascade_engine_register(engine, name, till_pay, NULL, &options);
}

static cascade_engine *
make_engine(test_db *db, unsigned transaction_count)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .lease_ms = 8000,
                                            .transaction_count =
                                                transaction_count};

    return db_engine(db, db_store(db), &options);
}

static void
a_store_without_transactions_takes_none(test_db *db)
{
    cascade_engine *engine = make_engine(db, 0);

    assert_fails(CASCADE_ERR_UNSUPPORTED, register_with(engine, "pay", 0));
    assert_non_null(strstr(cascade_errmsg(), "pay"));
    assert_non_null(strstr(cascade_errmsg(), "memory"));
}

static void
its_time_is_limited(test_db *db)
{
    cascade_engine *engine = make_engine(db, 0);
    int64_t max_ms = is_sqlite(db) ? 4000 : INT64_C(86400000);
    const cascade_node_options plain = {.size = sizeof(plain),
                                        .transaction_max_ms = 5};
    const cascade_node_options beating = {.size = sizeof(beating),
                                          .transactional = true,
                                          .heartbeat_timeout_ms = 5};

    assert_fails(CASCADE_ERR_INVALID,
                 register_with(engine, "long", max_ms + 1));
    assert_non_null(strstr(cascade_errmsg(), "long"));
    assert_fails(CASCADE_ERR_INVALID, register_with(engine, "none", -1));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_engine_register(engine, "p", till_pay, NULL, &plain));
    assert_fails(
        CASCADE_ERR_INVALID,
        cascade_engine_register(engine, "b", till_pay, NULL, &beating));
    assert_ok(register_with(engine, "max", max_ms));
    assert_ok(register_with(engine, "standard", 0));
    assert_int_equal(csc_node_def_find(engine, "standard")->transaction_ms,
                     is_sqlite(db) ? 2000 : 60000);
}

static void
their_number_is_limited(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .transaction_count = 17};
    cascade_store *store = db_store(db);
    cascade_engine *engine = NULL;

    assert_fails(CASCADE_ERR_INVALID,
                 cascade_engine_open(store, &options, &engine));
}

static uint32_t
count_lanes(test_db *db, unsigned count, bool transactional)
{
    cascade_engine *engine = make_engine(db, count);
    cascade_engine_list *list = NULL;
    cascade_store *store = db_store(db);
    uint32_t lanes = 0;

    if (transactional)
        assert_ok(register_with(engine, "pay", 0));
    assert_ok(cascade_engine_start(engine));
    assert_ok(cascade_engine_list_load(store, &list));
    assert_int_equal(cascade_engine_list_count(list), 1);
    lanes = cascade_engine_list_get(list, 0)->lane_count;
    cascade_engine_list_free(list);
    db_close_engine(db, engine);
    return lanes;
}

/* Others have no lanes for what they do not run. */
static void
an_engine_has_lanes_for_them(test_db *db)
{
    bool sqlite = is_sqlite(db);

    assert_int_equal(count_lanes(db, 16, false), sqlite ? 1 : 2);
    assert_int_equal(count_lanes(db, 0, true), sqlite ? 2 : 6);
    assert_int_equal(count_lanes(db, 16, true), sqlite ? 2 : 18);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        TILL_TESTS(what_would_be_another_commit_is_refused),
        TILL_TESTS(what_waits_for_the_own_store_is_refused),
        TILL_TESTS(an_engine_is_not_polled_inside),
        {"only_a_transactional_node_has_a_handle",
         only_a_transactional_node_has_a_handle, STORES_FILES},
        {"a_store_without_transactions_takes_none",
         a_store_without_transactions_takes_none, STORES_MEMORY},
        {"its_time_is_limited", its_time_is_limited, STORES_FILES},
        {"their_number_is_limited", their_number_is_limited, STORES_FILES},
        {"an_engine_has_lanes_for_them", an_engine_has_lanes_for_them,
         STORES_FILES},
    };

    return stores_run("native_refuse", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
