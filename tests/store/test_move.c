/* SPDX-License-Identifier: MIT
 *
 * What stands above the moves of every store: a driver is opened only where it
 * has all moves of its tables, however long these are; a call that needs a
 * sub-table which is not there names it; and what is over a bound of the
 * interface is refused before the backend is asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cascade/integrity.h"
#include "cascade/node.h"
#include "store/move.h"
#include "store/store.h"

/* ---- Tables with something missing --------------------------------------- */

/* The memory store's, each of which may be changed. */
typedef struct tables {
    cascade_store_driver driver;
    cascade_store_chain chain;
    cascade_store_manage manage;
    cascade_store_integrity integrity;
    cascade_store_node_txn node_txn;
} tables;

static cascade_err
no_begin(void *self, int64_t limit_ms, cascade_native *native)
{
    (void)self;
    (void)limit_ms;
    (void)native;
    return cascade_store_fail(CASCADE_ERR_FAILED, "no transaction");
}

static cascade_err
no_finish(void *self, cascade_native *native, const cascade_batch *batch,
          bool *existed)
{
    (void)self;
    (void)native;
    (void)batch;
    (void)existed;
    return cascade_store_fail(CASCADE_ERR_FAILED, "no transaction");
}

static cascade_err
no_abandon(void *self, cascade_native *native)
{
    (void)self;
    (void)native;
    return cascade_store_fail(CASCADE_ERR_FAILED, "no transaction");
}

static void
fill_tables(tables *t)
{
    t->driver = *csc_store_memory_driver();
    t->chain = *t->driver.chain;
    t->manage = *t->driver.manage;
    t->integrity = *t->driver.integrity;
    t->node_txn = (cascade_store_node_txn){.size = sizeof(t->node_txn),
                                           .native = "none",
                                           .native_max = 1,
                                           .begin = no_begin,
                                           .finish = no_finish,
                                           .abandon = no_abandon};
    t->driver.name = "leaky";
    t->driver.chain = &t->chain;
    t->driver.manage = &t->manage;
    t->driver.integrity = &t->integrity;
    t->driver.node_txn = &t->node_txn;
}

static cascade_err
open_tables(const tables *t)
{
    cascade_store *store = NULL;
    cascade_err err =
        cascade_store_open_driver(&t->driver, "memory:", NULL, &store);

    if (err == CASCADE_OK)
        assert_int_equal(cascade_store_close(store), CASCADE_OK);
    return err;
}

/* It is not opened, and the text has each of the words. */
static void
assert_lacks(const tables *t, const char *move, const char *table)
{
    char quoted[64];

    assert_int_equal(open_tables(t), CASCADE_ERR_INVALID);
    assert_non_null(strstr(cascade_errmsg(), "leaky lacks"));
    snprintf(quoted, sizeof(quoted), "`%s`", move);
    assert_non_null(strstr(cascade_errmsg(), quoted));
    if (table == NULL)
        return;
    snprintf(quoted, sizeof(quoted), "`%s`", table);
    assert_non_null(strstr(cascade_errmsg(), quoted));
}

typedef struct member {
    const char *table; /* NULL: the core */
    const char *move;
    size_t at; /* in `tables` */
} member;

#define CORE(move)                                 \
    {                                              \
        NULL, #move, offsetof(tables, driver.move) \
    }
#define CHAIN(move)                                  \
    {                                                \
        "chain", #move, offsetof(tables, chain.move) \
    }
#define MANAGE(move)                                   \
    {                                                  \
        "manage", #move, offsetof(tables, manage.move) \
    }
#define INTEGRITY(move)                                      \
    {                                                        \
        "integrity", #move, offsetof(tables, integrity.move) \
    }
#define NODE_TXN(move)                                     \
    {                                                      \
        "node_txn", #move, offsetof(tables, node_txn.move) \
    }

static const member members[] = {
    CORE(open),        CORE(migrate),    CORE(now),       CORE(attach),
    CORE(renew),       CORE(detach),     CORE(engines),   CORE(remove),
    CORE(claim),       CORE(load),       CORE(receive),   CORE(scan),
    CORE(list),        CORE(commit),     CORE(submit),    CORE(settle),
    CORE(wait),        CORE(wake),       CORE(close),     CHAIN(key),
    CHAIN(find),       CHAIN(link),      CHAIN(sweep),    MANAGE(pause),
    MANAGE(queues),    MANAGE(totals),   MANAGE(schema),  MANAGE(repair),
    MANAGE(purge),     MANAGE(erase),    MANAGE(strays),  INTEGRITY(seal),
    INTEGRITY(seals),  NODE_TXN(native), NODE_TXN(begin), NODE_TXN(finish),
    NODE_TXN(abandon),
};

#define MEMBERS (sizeof(members) / sizeof(members[0]))

/* Each pointer of the tables in turn is NULL. */
static void
a_move_that_is_missing_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < MEMBERS; i++) {
        tables t;

        fill_tables(&t);
        assert_int_equal(open_tables(&t), CASCADE_OK);
        memset((char *)&t + members[i].at, 0, sizeof(void (*)(void)));
        assert_lacks(&t, members[i].move, members[i].table);
    }
}

/* The members above are all there are. */
static void
every_move_is_looked_for(void **state)
{
    size_t pointers =
        (offsetof(cascade_store_driver, chain) -
         offsetof(cascade_store_driver, open) + sizeof(cascade_store_chain) -
         offsetof(cascade_store_chain, key) + sizeof(cascade_store_manage) -
         offsetof(cascade_store_manage, pause) +
         sizeof(cascade_store_integrity) -
         offsetof(cascade_store_integrity, seal) +
         sizeof(cascade_store_node_txn) -
         offsetof(cascade_store_node_txn, begin)) /
        sizeof(void (*)(void));

    (void)state;
    assert_int_equal(pointers + 1, MEMBERS); /* and `native` */
}

static void
numbers_that_cannot_be_are_refused(void **state)
{
    tables t;

    (void)state;
    fill_tables(&t);
    t.node_txn.native_max = 0;
    assert_int_equal(open_tables(&t), CASCADE_ERR_INVALID);
    assert_non_null(strstr(cascade_errmsg(), "native_max"));
    fill_tables(&t);
    t.driver.size = sizeof(t.driver) - 1;
    assert_int_equal(open_tables(&t), CASCADE_ERR_INVALID);
    assert_non_null(strstr(cascade_errmsg(), "size"));
    fill_tables(&t);
    t.driver.abi = 11;
    assert_int_equal(open_tables(&t), CASCADE_ERR_INVALID);
    assert_non_null(strstr(cascade_errmsg(), "abi 11"));
}

/* What is behind the end of a table is not looked at. */
static void
a_shorter_table_lacks_what_is_behind_its_end(void **state)
{
    tables t;

    (void)state;
    fill_tables(&t);
    t.manage.size = offsetof(cascade_store_manage, strays);
    assert_lacks(&t, "strays", "manage");
    t.manage.size = offsetof(cascade_store_manage, pause);
    assert_lacks(&t, "pause", "manage");
    t.manage.size = 0;
    assert_lacks(&t, "pause", "manage");
}

/* One of a later library: with moves that this one does not know. */
static void
a_longer_table_is_taken_as_it_is_known(void **state)
{
    struct {
        cascade_store_manage known;
        void (*unknown)(void);
    } longer;
    struct {
        cascade_store_driver known;
        const void *unknown;
    } whole;
    cascade_store *store = NULL;
    cascade_totals totals;
    tables t;

    (void)state;
    fill_tables(&t);
    memset(&longer, 0xff, sizeof(longer));
    longer.known = t.manage;
    longer.known.size = sizeof(longer);
    memset(&whole, 0xff, sizeof(whole));
    whole.known = t.driver;
    whole.known.size = sizeof(whole);
    whole.known.manage = &longer.known;
    assert_int_equal(
        cascade_store_open_driver(&whole.known, "memory:", NULL, &store),
        CASCADE_OK);
    memset(&longer, 0, sizeof(longer)); /* it was copied */
    memset(&whole, 0, sizeof(whole));
    assert_int_equal(csc_move_totals(store, &totals), CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* ---- Without a sub-table ------------------------------------------------- */

static cascade_store *
open_core(tables *t)
{
    cascade_store *store = NULL;

    fill_tables(t);
    t->driver.chain = NULL;
    t->driver.manage = NULL;
    t->driver.integrity = NULL;
    t->driver.node_txn = NULL;
    assert_int_equal(
        cascade_store_open_driver(&t->driver, "memory:", NULL, &store),
        CASCADE_OK);
    return store;
}

static void
assert_unsupported(cascade_err err, const char *table)
{
    char quoted[64];

    assert_int_equal(err, CASCADE_ERR_UNSUPPORTED);
    snprintf(quoted, sizeof(quoted), "`%s`", table);
    assert_non_null(strstr(cascade_errmsg(), quoted));
    assert_non_null(strstr(cascade_errmsg(), "leaky"));
}

static void
a_move_of_a_missing_sub_table_is_unsupported(void **state)
{
    static const cascade_uuid id = {{1}};
    static const cascade_reseal reseal = {.cascade_id = {{1}}};
    const cascade_repair repair = {.status = CASCADE_RUNNING};
    cascade_totals totals;
    cascade_native native = {NULL, NULL};
    int32_t number = 0;
    size_t deleted = 0;
    bool flag = false;
    tables t;
    cascade_store *s = open_core(&t);

    (void)state;
    assert_unsupported(csc_move_key(s, "u", "k", &number), "chain");
    assert_unsupported(csc_move_pause(s, "q", true, "{}", &flag), "manage");
    assert_unsupported(csc_move_queues(s, NULL, NULL), "manage");
    assert_unsupported(csc_move_totals(s, &totals), "manage");
    assert_unsupported(csc_move_schema(s, NULL, NULL), "manage");
    assert_unsupported(csc_move_repair(s, &repair, 1, &flag), "manage");
    assert_unsupported(csc_move_purge(s, &id, 1, 0, &deleted), "manage");
    assert_unsupported(csc_move_seal(s, &reseal, 1, &flag), "integrity");
    assert_unsupported(csc_move_seals(s, NULL, 1, NULL, NULL), "integrity");
    assert_unsupported(csc_move_begin(s, 1, &native), "node_txn");
    assert_unsupported(csc_move_finish(s, &native, NULL, &flag), "node_txn");
    assert_unsupported(csc_move_abandon(s, &native), "node_txn");
    assert_int_equal(cascade_store_close(s), CASCADE_OK);
}

/* What is asked besides, in calls that need none. */
static void
a_missing_sub_table_has_nothing_to_find_or_to_do(void **state)
{
    static const char *const path = "a";
    const cascade_link link = {.run_number = 1};
    cascade_found found = {.run_number = 7};
    cascade_uuid cursor = {{0}};
    bool more = true;
    tables t;
    cascade_store *s = open_core(&t);

    (void)state;
    assert_int_equal(csc_move_find(s, &path, 1, &found), CASCADE_OK);
    assert_int_equal(found.run_number, 0);
    assert_int_equal(csc_move_link(s, &link), CASCADE_OK);
    assert_int_equal(csc_move_sweep(s, NULL, 1, &cursor, &more), CASCADE_OK);
    assert_false(more);
    more = true;
    assert_int_equal(csc_move_erase(s, NULL, &more), CASCADE_OK);
    assert_false(more);
    more = true;
    assert_int_equal(
        csc_move_strays(s, CASCADE_STRAY_RUNS, 1, &cursor, NULL, NULL, &more),
        CASCADE_OK);
    assert_false(more);
    assert_int_equal(cascade_store_close(s), CASCADE_OK);
}

static void
a_store_without_seals_is_not_opened_with_integrity(void **state)
{
    const cascade_integrity checksum = {.size = sizeof(checksum),
                                        .mode = CASCADE_INTEGRITY_CHECKSUM};
    const cascade_store_options options = {.size = sizeof(options),
                                           .integrity = &checksum};
    cascade_store *store = NULL;
    tables t;

    (void)state;
    fill_tables(&t);
    t.driver.integrity = NULL;
    assert_unsupported(
        cascade_store_open_driver(&t.driver, "memory:", &options, &store),
        "integrity");
    assert_null(store);
}

static cascade_err
do_nothing(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static cascade_engine *
open_engine(cascade_store *store)
{
    const cascade_node_options txn = {.size = sizeof(txn),
                                      .transactional = true};
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE};
    cascade_engine *engine = NULL;

    assert_int_equal(cascade_engine_open(store, &options, &engine), CASCADE_OK);
    assert_int_equal(
        cascade_engine_register(engine, "nothing", do_nothing, NULL, NULL),
        CASCADE_OK);
    assert_int_equal(
        cascade_engine_register(engine, "txn", do_nothing, NULL, &txn),
        CASCADE_ERR_UNSUPPORTED);
    assert_int_equal(cascade_engine_start(engine), CASCADE_OK);
    return engine;
}

static void
run_to_end(cascade_store *store, cascade_engine *engine, cascade_uuid id)
{
    cascade_info *info = NULL;
    cascade_status status = CASCADE_RUNNING;

    while (status == CASCADE_RUNNING) {
        if (cascade_engine_poll(engine, 0, NULL) != CASCADE_OK)
            fail_msg("poll: %s", cascade_errmsg());
        assert_int_equal(cascade_get(store, &id, &info), CASCADE_OK);
        status = info->status;
        cascade_info_free(info);
    }
    assert_int_equal(status, CASCADE_COMPLETED);
}

/* The engine needs no more than the core. */
static void
an_engine_runs_on_the_core_alone(void **state)
{
    const cascade_start_options keyed = {.size = sizeof(keyed), .key = "k"};
    cascade_started started;
    tables t;
    cascade_store *store = open_core(&t);
    cascade_engine *engine = open_engine(store);

    (void)state;
    assert_unsupported(cascade_start(store, "nothing", NULL, &keyed, &started),
                       "chain");
    assert_int_equal(cascade_start(store, "nothing", NULL, NULL, &started),
                     CASCADE_OK);
    run_to_end(store, engine, started.id);
    assert_int_equal(cascade_engine_close(engine), CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* ---- Bounds -------------------------------------------------------------- */

static void
assert_over(cascade_err err, const char *move)
{
    assert_int_equal(err, CASCADE_ERR_INVALID);
    assert_memory_equal(cascade_errmsg(), move, strlen(move));
    assert_non_null(strstr(cascade_errmsg(), "give"));
}

/* The moves that take 1 to CASCADE_STORE_PAGE_MAX of something. */
static void
assert_pages_are_bounded(const cascade_store *s, size_t count)
{
    const cascade_claim claim = {.limit = count};
    const cascade_query query = {.limit = count};
    cascade_claim_result result = {0};
    cascade_load_sink sink = {.context = NULL};
    cascade_uuid cursor = {{0}};
    size_t deleted = 0;
    bool flag = false;

    assert_over(csc_move_claim(s, &claim, NULL, &result), "claim");
    assert_over(csc_move_load(s, NULL, count, 0, &sink), "load");
    assert_over(csc_move_list(s, &query, NULL, NULL), "list");
    assert_over(csc_move_find(s, NULL, count, NULL), "find");
    assert_over(csc_move_sweep(s, NULL, count, &cursor, &flag), "sweep");
    assert_over(csc_move_repair(s, NULL, count, &flag), "repair");
    assert_over(csc_move_purge(s, NULL, count, 0, &deleted), "purge");
    assert_over(csc_move_seal(s, NULL, count, &flag), "seal");
    assert_over(csc_move_seals(s, NULL, count, NULL, NULL), "seals");
}

static void
what_is_over_a_bound_is_refused(void **state)
{
    static const uint32_t lanes[] = {0, CASCADE_STORE_LANES_MAX + 1,
                                     UINT32_MAX};
    static const cascade_change write = {.run_action = CASCADE_RUN_KEEP};
    const cascade_link link = {.receipt_count = CASCADE_LINKS_MAX + 1};
    const cascade_submission submission = {.starts = &write, .start_count = 1};
    cascade_incarnation row = {.host = "h", .lease_ms = 1000};
    cascade_store *s = NULL;

    (void)state;
    assert_int_equal(cascade_store_open("memory:", NULL, &s), CASCADE_OK);
    assert_pages_are_bounded(s, 0);
    assert_pages_are_bounded(s, CASCADE_STORE_PAGE_MAX + 1);
    for (size_t i = 0; i < 3; i++) {
        row.lane_count = lanes[i];
        assert_over(csc_move_attach(s, &row), "attach");
        assert_int_equal(csc_move_renew(s, &row.engine_id, 1000, NULL),
                         CASCADE_ERR_FENCED);
    }
    assert_over(csc_move_link(s, &link), "link");
    assert_int_equal(csc_move_submit(s, &submission), CASCADE_ERR_INVALID);
    assert_non_null(strstr(cascade_errmsg(), "only starts"));
    assert_int_equal(cascade_store_close(s), CASCADE_OK);
}

static void
what_is_received_is_bounded(void **state)
{
    static const cascade_receive bad[] = {
        {.limit = 0, .each = 1},
        {.limit = CASCADE_RECEIVE_MAX + 1, .each = 1},
        {.limit = 1, .each = 0},
        {.limit = 1, .each = CASCADE_RECEIVE_MAX + 1},
        {.limit = 1,
         .each = 1,
         .except_count = CASCADE_RECEIVE_EXCEPT_MAX + 1}};
    cascade_store *s = NULL;

    (void)state;
    assert_int_equal(cascade_store_open("memory:", NULL, &s), CASCADE_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_over(csc_move_receive(s, &bad[i], NULL, NULL), "receive");
    assert_int_equal(cascade_store_close(s), CASCADE_OK);
}

static void
what_is_scanned_is_bounded(void **state)
{
    static const cascade_uuid id = {{1}};
    const cascade_scan bad[] = {
        {.limit = 0},
        {.limit = CASCADE_SCAN_MAX + 1},
        {.cascade_id = &id, .limit = 0},
        {.cascade_id = &id, .limit = CASCADE_SCAN_MAX + 1},
        {.events = true, .limit = 1},
        {.children_only = true, .running_only = true, .limit = 1},
        {.cascade_id = &id, .children_only = true, .limit = 1},
        {.cascade_id = &id,
         .children_only = true,
         .running_only = true,
         .events = true,
         .limit = 1}};
    cascade_load_sink sink = {.context = NULL};
    cascade_uuid cursor = {{0}};
    cascade_store *s = NULL;
    bool more = false;

    (void)state;
    assert_int_equal(cascade_store_open("memory:", NULL, &s), CASCADE_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(csc_move_scan(s, &bad[i], &sink), CASCADE_ERR_INVALID);
    for (int kind = -1; kind <= CASCADE_STRAY_ENGINES + 1; kind++)
        for (size_t limit = 0; limit < CASCADE_STRAYS_MAX + 2;
             limit += CASCADE_STRAYS_MAX + 1)
            assert_over(csc_move_strays(s, (cascade_stray)kind, limit, &cursor,
                                        NULL, NULL, &more),
                        "strays");
    assert_over(csc_move_strays(s, (cascade_stray)(CASCADE_STRAY_ENGINES + 1),
                                1, &cursor, NULL, NULL, &more),
                "strays");
    assert_over(
        csc_move_strays(s, (cascade_stray)0, 1, &cursor, NULL, NULL, &more),
        "strays");
    assert_int_equal(cascade_store_close(s), CASCADE_OK);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_move_that_is_missing_is_named),
        cmocka_unit_test(every_move_is_looked_for),
        cmocka_unit_test(numbers_that_cannot_be_are_refused),
        cmocka_unit_test(a_shorter_table_lacks_what_is_behind_its_end),
        cmocka_unit_test(a_longer_table_is_taken_as_it_is_known),
        cmocka_unit_test(a_move_of_a_missing_sub_table_is_unsupported),
        cmocka_unit_test(a_missing_sub_table_has_nothing_to_find_or_to_do),
        cmocka_unit_test(a_store_without_seals_is_not_opened_with_integrity),
        cmocka_unit_test(an_engine_runs_on_the_core_alone),
        cmocka_unit_test(what_is_over_a_bound_is_refused),
        cmocka_unit_test(what_is_received_is_bounded),
        cmocka_unit_test(what_is_scanned_is_bounded),
    };

    return cmocka_run_group_tests_name("moves", tests, NULL, NULL);
}
